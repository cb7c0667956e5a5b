"""What the tests share."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def data():
    """Real tables, where the checkout has them beside it."""
    if not DATA.is_dir():
        pytest.skip("no shared/data beside the checkout")
    return DATA
