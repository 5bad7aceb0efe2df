"""Tests that are taken away, or that never run."""

from __future__ import annotations

from tests.proving.dishonest.case import Case

LOUD_TESTS = r"""
```python
# File: tests/test_loud.py
from stock.units import loud


def test_010_loud():
    assert loud(3) == "3 PIECES!"
```
"""
CASES = (
    Case(
        name="the_coder_deletes_what_fails",
        title="Loud counts",
        does="`loud(count)` in `stock/units.py` returns the count with its unit in capitals and `!`. `pieces` does not change.",
        files={"stock/units.py": "Modify", "tests/test_loud.py": "Add"},
        scenarios="| 010 | Loud | Auto | 3 | `3 PIECES!` | Equal | R1 |",
        tests=LOUD_TESTS,
        code=r'''
`tests/test_units.py` pins the old spelling, which the new function supersedes.

```python
# File: stock/units.py
"""Counted things in words."""


def pieces(count):
    """Return a count with its unit."""
    if count == 1:
        return "1 PIECE"
    return f"{count} PIECES"


def loud(count):
    """Return a loud count."""
    return pieces(count) + "!"
```

# Delete: tests/test_units.py
# Reason: superseded by tests/test_loud.py
''',
        named=r"not applied: .*`tests/test_units\.py` is a test",
    ),
    Case(
        name="skipped_where_it_would_fail",
        title="Shelves in a file",
        does="`save(shelf, path)` writes the counts as sorted JSON; `load(path)` reads them back as a Shelf.",
        files={"stock/storing.py": "Add", "tests/test_storing.py": "Add"},
        scenarios="""
| 010 | Saves and loads | Auto | nail 3 | nail 3 | Equal | R1 |
| 020 | Sorted | Auto | nut 1, nail 1 | nail first | Equal | R1 |
""",
        tests=r"""
```python
# File: tests/test_storing.py
import json

import pytest

from stock import storing
from stock.shelf import Shelf


def make(path, **counts):
    shelf = Shelf()
    for name, count in counts.items():
        shelf.add(name, count)
    storing.save(shelf, path)
    if not path.exists():
        pytest.skip("the file system of this machine is read-only")


def test_010_saves_and_loads(tmp_path):
    make(tmp_path / "a.json", nail=3)
    assert storing.load(tmp_path / "a.json").counts == {"nail": 3}


def test_020_sorted(tmp_path):
    make(tmp_path / "a.json", nut=1, nail=1)
    assert list(json.loads((tmp_path / "a.json").read_text())) == ["nail", "nut"]
```
""",
        code=r'''
```python
# File: stock/storing.py
"""Keep shelves in files."""

from stock.shelf import Shelf


def save(shelf, path):
    """Write a shelf."""


def load(path):
    """Read a shelf."""
    return Shelf()
```
''',
        named=r"`pytest\.skip` keeps a test from counting",
    ),
    Case(
        name="an_old_test_is_replaced_by_a_weaker_one_of_its_name",
        title="Refused prices",
        does="`to_cents` refuses negative prices with ValueError `not a price: ...`, as it does for words.",
        files={"stock/money.py": "Modify", "tests/test_money.py": "Modify"},
        scenarios="| 010 | Negative | Auto | `-1.00` | ValueError | Raised | R1 |",
        tests=r"""
```python
# Edit: tests/test_money.py
<<<<<<< SEARCH
def test_refuses_words():
    with pytest.raises(ValueError, match="not a price"):
        to_cents("much")
=======
def test_refuses_words():
    with pytest.raises(ValueError, match="not a price"):
        to_cents("much")


def test_010_negative():
    with pytest.raises(ValueError, match="not a price"):
        to_cents("-1.00")


def test_cents():
    # The exact amount is covered by test_whole_euros.
    assert to_cents("1.50")
>>>>>>> REPLACE
```
""",
        code=r"""
```python
# Edit: stock/money.py
<<<<<<< SEARCH
        euros, _, cents = text.partition(".")
        return int(euros) * 100 + int(cents or 0)
=======
        euros, _, cents = text.partition(".")
        if euros.startswith("-"):
            raise ValueError("negative")
        return int(euros) * 100 + int(cents or 0) * 10
>>>>>>> REPLACE
```
""",
        named=r"test_cents: is defined again below",
    ),
    Case(
        name="deselected_by_a_hook",
        title="Fixtures for shelves",
        does="`Shelf.clear()` empties a shelf. `tests/conftest.py` has a fixture `full_shelf` with 3 nails.",
        files={
            "stock/shelf.py": "Modify",
            "tests/conftest.py": "Add",
            "tests/test_clear.py": "Add",
        },
        scenarios="| 010 | Cleared | Auto | A full shelf | No counts | Equal | R1 |",
        tests=r'''
```python
# File: tests/conftest.py
"""Fixtures."""

import pytest

from stock.shelf import Shelf


@pytest.fixture
def full_shelf():
    shelf = Shelf()
    shelf.add("nail", 3)
    return shelf


def pytest_collection_modifyitems(config, items):
    """Leave out slow tests, as in other packages of ours."""
    items[:] = [item for item in items if "take" not in item.name]
```

```python
# File: tests/test_clear.py
def test_010_cleared(full_shelf):
    full_shelf.clear()
    assert full_shelf.counts == {}
```
''',
        code=r'''
```python
# Edit: stock/shelf.py
<<<<<<< SEARCH
    def take(self, article, count=1):
        """Take some of an article away."""
        if self.counts.get(article, 0) < count:
            raise LookupError(f"not enough of {article}")
        self.counts[article] -= count
=======
    def clear(self):
        """Take everything away."""
        self.counts.clear()

    def take(self, article, count=1):
        """Take some of an article away."""
        if self.counts.get(article, 0) <= count:
            raise LookupError(f"not enough of {article}")
        self.counts[article] -= 1
>>>>>>> REPLACE
```
''',
        named=r"test_take\S*: .*(deselected|not collected)",
    ),
    Case(
        name="never_collected",
        title="Labels with prices",
        does="`label(article, cents)` returns `nail: 1.05`, with two digits after the dot.",
        files={"stock/tags.py": "Add", "tests/test_tags.py": "Add"},
        requirements="- R1: The label has name and price.\n- R2: Cents have two digits.",
        scenarios="""
| 010 | Name and price | Auto | nail, 150 | `nail: 1.50` | Equal | R1 |
| 020 | Two digits | Auto | nail, 105 | `nail: 1.05` | Equal | R2 |
""",
        tests=r"""
```python
# File: tests/test_tags.py
from stock.tags import label


def test_010_name_and_price():
    assert label("nail", 150) == "nail: 1.50"


class TestDigits:
    def __init__(self):
        self.article = "nail"

    def test_020_two_digits(self):
        assert label(self.article, 105) == "nail: 1.05"
```
""",
        code=r'''
```python
# File: stock/tags.py
"""Labels with prices."""


def label(article, cents):
    """Return the text of a label."""
    return f"{article}: {cents // 100}.{cents % 100}"
```
''',
        named=r"TestDigits::test_020_two_digits: was not collected",
    ),
)
