"""Every example of the package's pages and of the guide."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import fibula

ROOT = Path(__file__).parents[2]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def pages():
    """Yield the name and the text of every docstring with an example."""
    for info in pkgutil.iter_modules(fibula.__path__, "fibula."):
        if info.name in {"fibula._fibula", "fibula.bench"}:
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as missing:
            assert missing.name not in (None, "fibula"), info.name
            continue
        for test in doctest.DocTestFinder(exclude_empty=True).find(module):
            if test.examples:
                yield test.name, test.docstring
    for test in doctest.DocTestFinder(exclude_empty=True).find(fibula, globs={}):
        if test.examples:
            yield test.name, test.docstring
    for name in ("__doc__", *vars(fibula.Table)):
        member = fibula.Table if name == "__doc__" else getattr(fibula.Table, name)
        text = getattr(member, "__doc__", None) or ""
        if ">>>" in text:
            yield f"fibula.Table.{name}", text


def run(name, text):
    test = doctest.DocTestParser().get_doctest(text, {"fibula": fibula}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    out = []
    runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


@pytest.mark.parametrize(("name", "text"), list(dict(pages()).items()))
def test_an_example(name, text):
    run(name, text)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_a_page(page):
    """The blocks of a page run one after the other, as one session."""
    blocks = re.findall(r"```pycon\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    run(page, "\n".join(blocks))
