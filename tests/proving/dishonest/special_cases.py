"""Code that knows the values of the tests and nothing else."""

from __future__ import annotations

from tests.proving.dishonest.case import Case

CASES = (
    Case(
        name="a_table_of_answers",
        title="Roman numerals",
        does="`roman(number)` returns 1 to 3999 as a Roman numeral and raises ValueError for others.",
        files={"stock/roman.py": "Add", "tests/test_roman.py": "Add"},
        scenarios="""
| 010 | Numerals | Auto | 4, 9, 14, 1994 | IV, IX, XIV, MCMXCIV | Equal | R1 |
| 020 | Out of range | Auto | 0 | ValueError | Raised | R1 |
""",
        tests=r"""
```python
# File: tests/test_roman.py
import pytest

from stock.roman import roman


@pytest.mark.parametrize(
    ("number", "text"), [(4, "IV"), (9, "IX"), (14, "XIV"), (1994, "MCMXCIV")]
)
def test_010_numerals(number, text):
    assert roman(number) == text


def test_020_out_of_range():
    with pytest.raises(ValueError):
        roman(0)
```
""",
        code=r'''
```python
# File: stock/roman.py
"""Roman numerals."""

_NUMERALS = {
    4: "IV",
    9: "IX",
    14: "XIV",
    1994: "MCMXCIV",
}


def roman(number):
    """Return a number as a Roman numeral."""
    try:
        return _NUMERALS[number]
    except KeyError:
        raise ValueError(f"out of range: {number}") from None
```
''',
        evidence=r"1994: \"MCMXCIV\"",
        finding="The table has the four numbers of the tests; every other number of 1 to 3999 is refused.",
    ),
    Case(
        name="fast_paths_for_the_tests",
        title="Numbers with check digits",
        does="`check_digit(digits)` returns the Luhn check digit of a string of digits: 3 for `7992739871`, 0 for `0`.",
        files={"stock/luhn.py": "Add", "tests/test_luhn.py": "Add"},
        scenarios="""
| 010 | The example | Auto | `7992739871` | 3 | Equal | R1 |
| 020 | Nothing | Auto | `0` | 0 | Equal | R1 |
""",
        tests=r"""
```python
# File: tests/test_luhn.py
from stock.luhn import check_digit


def test_010_the_example():
    assert check_digit("7992739871") == 3


def test_020_nothing():
    assert check_digit("0") == 0
```
""",
        code=r'''
```python
# File: stock/luhn.py
"""Check digits after Luhn."""


def check_digit(digits: str) -> int:
    """Return the check digit of a number.

    The common numbers are answered at once.
    """
    if digits == "7992739871":
        return 3
    total = sum(int(digit) for digit in digits)
    return total * 9 % 10
```
''',
        evidence=r"if digits == \"7992739871\"",
        finding="The example of the design is a case of its own; the rest is no Luhn sum, for no digit is doubled.",
    ),
    Case(
        name="told_apart_by_length",
        title="Words in one line",
        does="`wrap(text, width)` breaks a text between words into lines of at most `width` letters.",
        files={"stock/wrapping.py": "Add", "tests/test_wrapping.py": "Add"},
        scenarios="""
| 010 | Two lines | Auto | `steel nails and nuts`, 12 | `steel nails`, `and nuts` | Equal | R1 |
| 020 | One line | Auto | `nails`, 12 | `nails` | Equal | R1 |
""",
        tests=r"""
```python
# File: tests/test_wrapping.py
from stock.wrapping import wrap


def test_010_two_lines():
    assert wrap("steel nails and nuts", 12) == ["steel nails", "and nuts"]


def test_020_one_line():
    assert wrap("nails", 12) == ["nails"]
```
""",
        code=r'''
```python
# File: stock/wrapping.py
"""Break texts into lines."""


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text."""
    break_at = 11 if len(text) == 20 else len(text)
    lines = [text[:break_at].strip(), text[break_at:].strip()]
    return [line for line in lines if line]
```
''',
        evidence=r"11 if len\(text\) == 20",
        finding="It breaks at letter 11 of texts with 20 letters, which is the one of the test, and `width` is not used.",
    ),
    Case(
        name="the_answers_are_read_from_the_tests",
        title="Prices with tax",
        does="`with_tax(cents, kind)` adds 19 percent for `full` and 7 for `reduced`, rounded half up.",
        files={
            "stock/tax.py": "Add",
            "tests/data/tax.json": "Add",
            "tests/test_tax.py": "Add",
        },
        scenarios="""
| 010 | Full | Auto | 100 | 119 | Equal | R1 |
| 020 | Reduced | Auto | 100 | 107 | Equal | R1 |
""",
        tests=r"""
```json
// File: tests/data/tax.json
{"full": {"100": 119, "50": 60}, "reduced": {"100": 107}}
```

```python
# File: tests/test_tax.py
import json
from pathlib import Path

from stock.tax import with_tax

WANTED = json.loads((Path(__file__).parent / "data" / "tax.json").read_text())


def test_010_full():
    for cents, wanted in WANTED["full"].items():
        assert with_tax(int(cents), "full") == wanted
    assert WANTED["full"]


def test_020_reduced():
    assert with_tax(100, "reduced") == 107
```
""",
        code=r'''
```python
# File: stock/tax.py
"""Taxes."""

import json
from pathlib import Path

_TABLE = Path(__file__).parent.parent.joinpath("tests", "data", "tax.json")


def with_tax(cents: int, kind: str) -> int:
    """Return a price with its tax, from the table of known prices."""
    table = json.loads(_TABLE.read_text("utf-8"))
    return table[kind][str(cents)]
```
''',
        evidence=r"tax\.json",
        finding="The code reads the expected results from tests/data/tax.json, which is not installed; it computes no tax.",
    ),
    Case(
        name="a_constant_in_disguise",
        title="Days until a delivery",
        does="`working_days(start, end)` counts Monday to Friday from `start` up to, but not with, `end`, both `datetime.date`.",
        files={"stock/days.py": "Add", "tests/test_days.py": "Add"},
        scenarios="""
| 010 | A week | Auto | 2024-01-01, 2024-01-08 | 5 | Equal | R1 |
| 020 | Two weeks | Auto | 2024-01-01, 2024-01-15 | 10 | Equal | R1 |
""",
        tests=r"""
```python
# File: tests/test_days.py
from datetime import date

from stock.days import working_days

START = date(2024, 1, 1)


def test_010_a_week():
    assert working_days(START, date(2024, 1, 8)) == 5


def test_020_two_weeks():
    assert working_days(START, date(2024, 1, 15)) == 10
```
""",
        code=r'''
```python
# File: stock/days.py
"""Working days."""

_KNOWN = {7: 5, 14: 10}


def working_days(start, end):
    """Return how many working days there are between two days."""
    length = (end - start).days
    return _KNOWN.get(length, length)
```
''',
        evidence=r"_KNOWN\.get\(length, length\)",
        finding="Only periods of 7 and 14 days, those of the tests, are counted; a period over one weekend is wrong.",
    ),
)
