"""What is shown of the files that a design declares and somebody has to change."""

from __future__ import annotations

from pathlib import Path

from tests.repository.context.test_what_is_named import FILLER, show

HEAD = '''\
"""Tests of the till."""

import json

import pytest

from shop.till import total

PRICES = [1, 2]


@pytest.fixture
def till():
    return PRICES


'''
TESTS = HEAD + FILLER.replace("def filler", "def test_filler")
README = """\
# The shop

It sells tables and chairs, also to people.

## Installation

Run the installer, wait for it, and restart everything. It adds what is missing.

## Taxes

Prices are rounded to cents before taxes are added; the rate is that of the country.

## License

Anybody may use it for everything.
"""
FILES = {
    "shop/till.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_till.py": TESTS,
    "README.md": README.replace("## License", "Nothing.\n" * 3_000 + "\n## License"),
    "CHANGELOG.md": "# Changes\n\n## 2.0\n\n- Now.\n\n"
    + "".join(f"## 1.{n}\n\n- Taxes --rate {n}\n\n" for n in range(300)),
}
DESIGN = """\
The rate of taxes is an option, `--rate`, tested beside `test_filler_700`.

| File | Change Type | Description |
|---|---|---|
| `shop/till.py` | Modify | the rate |
| `tests/test_till.py` | Modify | tests of the rate |
| `README.md` | Modify | how taxes are rounded, and for which country |
| `CHANGELOG.md` | Modify | one line |
"""


def part(text: str, path: str) -> str:
    """Return what is shown of a file."""
    _, _, rest = text.partition(f"#### `{path}`")
    return rest.partition("####")[0]


def test_a_declared_test_file_shows_what_it_imports_and_shares(tmp_path: Path) -> None:
    shown = part(show(tmp_path, FILES, DESIGN), "tests/test_till.py")
    for line in ("import json", "from shop.till import total", "def till():"):
        assert f"| {line}" in shown
    assert "Outline of" in shown


def test_a_document_shows_the_section_that_the_design_is_about(tmp_path: Path) -> None:
    shown = part(show(tmp_path, FILES, DESIGN), "README.md")
    assert "| ## Taxes" in shown
    assert "| ## Installation" not in shown
    assert "| # The shop" not in shown


def test_a_change_log_shows_its_beginning_and_no_old_entries(tmp_path: Path) -> None:
    text = show(tmp_path, FILES, DESIGN)
    shown = part(text, "CHANGELOG.md")
    assert "| - Now." in shown
    assert "--rate 20" not in shown
    assert len(shown) < 700
    unnamed = show(tmp_path / "other", FILES, DESIGN.replace("CHANGELOG", "OTHER"))
    assert "how changes are noted" in part(unnamed, "CHANGELOG.md")
