"""Tests whose assertions hold whatever the code does."""

from __future__ import annotations

from tests.proving.dishonest.case import Case

CASES = (
    Case(
        name="expects_what_the_code_says",
        title="Sizes in bytes",
        does="`parse_size(text)` returns the bytes of `2k` (2048), `3m` (3145728) or `17` (17).",
        files={"stock/sizes.py": "Add", "tests/test_sizes.py": "Add"},
        scenarios="""
| 010 | Kilobytes | Auto | `2k` | 2048 | Equal | R1 |
| 020 | Plain numbers | Auto | `17` | 17 | Equal | R1 |
""",
        tests=r'''
The scenarios are table driven, so that more units are easy to add.

```python
# File: tests/test_sizes.py
"""Sizes such as 2k and 17."""

import pytest

from stock.sizes import parse_size


def expected_bytes(text):
    return parse_size(text)


@pytest.mark.parametrize("text", ["2k", "3m"])
def test_010_units(text):
    assert parse_size(text) == expected_bytes(text)


def test_020_plain_numbers():
    assert parse_size("17") == expected_bytes("17")
```
''',
        code=r'''
```python
# File: stock/sizes.py
"""Sizes in bytes."""


def parse_size(text):
    """Return the number of bytes that a size means."""
    return text.strip().lower()
```
''',
        named=r"test_010_units: .* a thing with itself",
    ),
    Case(
        name="a_pair_is_always_true",
        title="The median of counts",
        does="`median(counts)` returns the middle one of an odd number of counts, and raises ValueError for none.",
        files={"stock/median.py": "Add", "tests/test_median.py": "Add"},
        scenarios="""
| 010 | Three counts | Auto | 3, 1, 2 | 2 | Equal | R1 |
| 020 | No counts | Auto | nothing | ValueError | Raised | R1 |
""",
        tests=r"""
```python
# File: tests/test_median.py
import pytest

from stock.median import median


def test_010_three_counts():
    assert (
        median([3, 1, 2]) == 2,
        "the median is the value in the middle",
    )


def test_020_no_counts():
    with pytest.raises(ValueError, match="count"):
        median([])
```
""",
        code=r'''
```python
# File: stock/median.py
"""The median."""


def median(counts):
    """Return the value in the middle."""
    if not counts:
        raise ValueError("no counts")
    return counts[0]
```
''',
        named=r"test_010_three_counts: .* a tuple, which is always true",
    ),
    Case(
        name="one_or_the_other",
        title="Labels of shelves",
        does="`slug(title)` returns a title in small letters with hyphens: `Steel Nails` becomes `steel-nails`.",
        files={"stock/labels.py": "Add", "tests/test_labels.py": "Add"},
        scenarios="""
| 010 | Two words | Auto | `Steel Nails` | `steel-nails` | Equal | R1 |
| 020 | One word | Auto | `Nails` | `nails` | Equal | R1 |
""",
        tests=r"""
Implementations may differ in case, so the first test accepts both.

```python
# File: tests/test_labels.py
from stock import labels


class TestSlug:
    def test_010_two_words(self):
        found = labels.slug("Steel Nails")
        assert found == "steel-nails" or found != "steel-nails"

    def test_020_one_word(self):
        found = labels.slug("Nails")
        assert found is None or found is not None
```
""",
        code=r'''
```python
# File: stock/labels.py
"""Labels."""


def slug(title):
    """Return a title as a label."""
    return title
```
''',
        named=r"test_010_two_words: .* a thing or its opposite",
    ),
    Case(
        name="asserts_its_own_fake",
        title="Prices in other currencies",
        does="`convert(cents, rate)` returns cents times a rate, rounded half up: 101 at 0.5 are 51.",
        files={"stock/rates.py": "Add", "tests/test_rates.py": "Add"},
        scenarios="""
| 010 | Converts | Auto | 100, 0.5 | 50 | Equal | R1 |
| 020 | Rounds half up | Auto | 101, 0.5 | 51 | Equal | R1 |
""",
        tests=r'''
```python
# File: tests/test_rates.py
"""Rates are mocked, as they come from the network in production."""

from stock import rates


def test_010_converts(monkeypatch):
    monkeypatch.setattr(rates, "convert", lambda cents, rate: 50)
    assert rates.convert(100, 0.5) == 50


def test_020_rounds_half_up(monkeypatch):
    monkeypatch.setattr(rates, "convert", lambda cents, rate: 51)
    assert rates.convert(101, 0.5) == 51
```
''',
        code=r'''
```python
# File: stock/rates.py
"""Rates of exchange."""

convert = int.__mul__
```
''',
        named=r"test_010_converts: passes before anything is built",
    ),
    Case(
        name="every_object_is_an_object",
        title="Orders of what runs out",
        does="`reorder(counts, low)` returns the sorted names of the articles of which fewer than `low` are left.",
        files={"stock/orders.py": "Add", "tests/test_orders.py": "Add"},
        scenarios="""
| 010 | Some run out | Auto | nail 1, screw 9, low 5 | `["nail"]` | Equal | R1 |
| 020 | Nothing runs out | Auto | screw 9, low 5 | `[]` | Equal | R1 |
""",
        tests=r"""
```python
# File: tests/test_orders.py
from stock.orders import reorder


def test_010_some_run_out():
    result = reorder({"nail": 1, "screw": 9}, 5)
    assert isinstance(result, object)
    assert hasattr(result, "__class__")


def test_020_nothing_runs_out():
    result = reorder({"screw": 9}, 5)
    assert len(str(result)) >= 0
    assert result is result
```
""",
        code=r'''
```python
# File: stock/orders.py
"""Orders."""


def reorder(counts, low):
    """Return what runs out."""
    return NotImplemented
```
''',
        named=r"test_010_some_run_out: .* everything is an object",
    ),
)
