"""Tests that fail without the code, and pass with any."""

from __future__ import annotations

from tests.proving.dishonest.case import Case

CASES = (
    Case(
        name="its_own_failure_is_swallowed",
        title="Weights in grams",
        does="`grams(text)` returns the grams of `2kg` (2000) or `5g` (5).",
        files={"stock/weights.py": "Add", "tests/test_weights.py": "Add"},
        scenarios="""
| 010 | Kilograms | Auto | `2kg` | 2000 | Equal | R1 |
| 020 | Grams | Auto | `5g` | 5 | Equal | R1 |
""",
        tests=r'''
```python
# File: tests/test_weights.py
"""Weights."""

import warnings

from stock.weights import grams


def test_010_kilograms():
    found = grams("2kg")
    try:
        assert found == 2000
    except AssertionError as error:
        warnings.warn(f"rounding differs on this platform: {error}", stacklevel=2)


def test_020_grams():
    assert grams("5g") == 5
```
''',
        code=r'''
```python
# File: stock/weights.py
"""Weights."""


def grams(text):
    """Return a weight in grams."""
    return int(text.rstrip("kg"))
```
''',
        named=r"tests/test_weights\.py, line 12: hides failing assertions",
    ),
    Case(
        name="a_loop_over_nothing",
        title="Report of full shelves",
        does="`full(shelves, most)` yields the name of each shelf, in order, on which `most` or more things stand.",
        files={"stock/full.py": "Add", "tests/test_full.py": "Add"},
        scenarios="""
| 010 | Full shelves | Auto | a 9, b 1, c 7, most 5 | a, c | Equal | R1 |
| 020 | Bad limit | Auto | most -1 | ValueError | Raised | R1 |
""",
        tests=r"""
```python
# File: tests/test_full.py
import pytest

from stock.full import full

SHELVES = {"a": 9, "b": 1, "c": 7}


def test_010_full_shelves():
    for name in full(SHELVES, 5):
        assert name in ("a", "c")
        assert SHELVES[name] >= 5


def test_020_bad_limit():
    with pytest.raises(ValueError, match="limit"):
        full(SHELVES, -1)
```
""",
        code=r'''
```python
# File: stock/full.py
"""Which shelves are full."""


def full(shelves, most):
    """Return the names of the full shelves."""
    if most < 0:
        raise ValueError("the limit is below 0")
    return [name for name in shelves if name is shelves]
```
''',
        named=r"test_010_full_shelves: passes, and none of its assertions ran",
    ),
    Case(
        name="returns_before_it_asserts",
        title="Prices with a discount",
        does="`discounted(cents, percent)` returns the price less the discount, rounded down: 199 less 10 percent are 179.",
        files={"stock/discounts.py": "Add", "tests/test_discounts.py": "Add"},
        scenarios="""
| 010 | Ten percent | Auto | 199, 10 | 179 | Equal | R1 |
| 020 | Nothing off | Auto | 199, 0 | 199 | Equal | R1 |
""",
        tests=r"""
```python
# File: tests/test_discounts.py
from stock.discounts import discounted


def test_010_ten_percent():
    price = discounted(199, 10)
    if not price:
        # Nothing to compare for articles without a price.
        return
    assert price == 179


def test_020_nothing_off():
    price = discounted(199, 0)
    if price is None:
        return
    assert price == 199
```
""",
        code=r'''
```python
# File: stock/discounts.py
"""Discounts."""


def discounted(cents, percent):
    """Return the price less a discount."""
    return None
```
''',
        named=r"test_010_ten_percent: passes, and none of its assertions ran",
    ),
    Case(
        name="any_error_will_do",
        title="Dates of delivery",
        does="`delivery(text)` returns the `datetime.date` of `2024-02-29`, and raises ValueError naming the text for `2023-02-29`.",
        files={"stock/delivery.py": "Add", "tests/test_delivery.py": "Add"},
        scenarios="""
| 010 | A leap day | Auto | `2024-02-29` | The date | Equal | R1 |
| 020 | No leap day | Auto | `2023-02-29` | ValueError | Raised | R2 |
""",
        requirements="- R1: Dates are read.\n- R2: Impossible dates are refused by name.",
        tests=r"""
```python
# File: tests/test_delivery.py
from datetime import date

import pytest

from stock import delivery as module


def test_010_a_leap_day():
    assert module.delivery("2024-02-29") == date(2024, 2, 29)


def test_020_no_leap_day():
    with pytest.raises(Exception):
        module.delivery("2023-02-29").refuse()
```
""",
        code=r'''
```python
# File: stock/delivery.py
"""Dates of delivery."""

from datetime import date


def delivery(text):
    """Return the date of a delivery."""
    year, month, day = map(int, text.split("-"))
    if month == 2 and day == 29 and year % 4:
        return date(year, 3, 1)
    return date(year, month, day)
```
''',
        named=r"test_020_no_leap_day: expects `Exception`",
    ),
    Case(
        name="asserts_something_else",
        title="Stock of two shelves",
        does="`merge(first, second)` returns a new Shelf with the articles of both; neither of them changes.",
        files={"stock/merging.py": "Add", "tests/test_merging.py": "Add"},
        scenarios="""
| 010 | Two shelves | Auto | nail 1; nail 2, nut 1 | nail 3, nut 1 | Equal | R1 |
| 020 | Both stay | Auto | The same | The same counts | Equal | R1 |
""",
        tests=r'''
```python
# File: tests/test_merging.py
"""Merging shelves."""

import pytest

from stock.merging import merge
from stock.shelf import Shelf


@pytest.fixture
def shelves():
    first, second = Shelf(), Shelf()
    first.add("nail")
    second.add("nail", 2)
    second.add("nut")
    return first, second


def test_010_two_shelves(shelves):
    first, second = shelves
    total = merge(first, second)
    assert total is not first
    assert first.counts["nail"] + second.counts["nail"] == 3
    assert second.counts["nut"] == 1


def test_020_both_stay(shelves):
    merge(*shelves)
    assert shelves[0].counts == {"nail": 1}
    assert shelves[1].counts == {"nail": 2, "nut": 1}
```
''',
        code=r'''
```python
# File: stock/merging.py
"""Merge shelves."""


def merge(first, second):
    """Return both shelves as one."""
    return None
```
''',
        evidence=r"\+    return None",
        finding="merge returns None; no test looks at what it returns, and section 2.4 asks for a new Shelf.",
    ),
)
