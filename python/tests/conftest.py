"""What the tests share."""

from pathlib import Path

import pytest
from hypothesis import settings

# The same cases each time, so that a run tells of the change and not of the day. Other cases:
# pytest --hypothesis-profile=default
settings.register_profile("same cases", deadline=None, derandomize=True)
settings.load_profile("same cases")

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def data():
    """Real tables, where the checkout has them beside it."""
    if not DATA.is_dir():
        pytest.skip("no shared/data beside the checkout")
    return DATA
