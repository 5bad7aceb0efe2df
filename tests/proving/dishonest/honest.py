"""Honest work that looks like some of the dishonest work, and must pass."""

from __future__ import annotations

from tests.proving.dishonest.case import Case
from tests.proving.dishonest.old_failures import FAILING

BLOCKED = Case(
    name="blocked_with_cause",
    title="Codes of articles",
    does="`code(name)` returns the code of an article as the table in `docs/codes.md` says, which is not in this repository.",
    files={"stock/codes.py": "Add", "tests/test_codes.py": "Add"},
    scenarios="| 010 | Code | Auto | nail | As in the table | Equal | R1 |",
    tests="blocked: the design refers to `docs/codes.md`, which does not exist; no code of any article is known\n",
    named=r"no code of any article is known",
)
CASES = (
    Case(
        name="what_must_not_change",
        title="Counts of one dozen",
        does="`pieces(12)` returns `1 dozen`. All other counts read as before.",
        files={"stock/units.py": "Modify", "tests/test_dozen.py": "Add"},
        requirements="- R1: A dozen is named.\n- R2: All other counts are unchanged.",
        scenarios="""
| 010 | A dozen | Auto | 12 | `1 dozen` | Equal | R1 |
| 020 | Other counts | Regression | 1, 13 | As before | Equal | R2 |
""",
        tests=r"""
kept: 020: these counts read like this today

```python
# File: tests/test_dozen.py
from stock.units import pieces


def test_010_a_dozen():
    assert pieces(12) == "1 dozen"


def test_020_other_counts():
    assert pieces(1) == "1 piece"
    assert pieces(13) == "13 pieces"
```
""",
        code=r"""
```python
# Edit: stock/units.py
<<<<<<< SEARCH
        return "1 piece"
=======
        return "1 piece"
    if count == 12:
        return "1 dozen"
>>>>>>> REPLACE
```
""",
    ),
    Case(
        name="skipped_on_another_platform",
        title="Names of files",
        does="`file_name(article)` returns the name with `/` as `_` and `.txt` behind.",
        files={"stock/names.py": "Add", "tests/test_file_names.py": "Add"},
        scenarios="| 010 | Slashes | Auto | `a/b` | `a_b.txt` | Equal | R1 |",
        tests=r"""
```python
# File: tests/test_file_names.py
import sys

import pytest

from stock.names import file_name


@pytest.mark.skipif(sys.platform == "win32", reason="posix paths")
def test_010_slashes(tmp_path):
    path = tmp_path / file_name("nail/steel")
    path.write_text("3")
    assert path.name == "nail_steel.txt"
```
""",
        code=r'''
```python
# File: stock/names.py
"""Names of files."""


def file_name(article):
    """Return the file name of an article."""
    return article.replace("/", "_") + ".txt"
```
''',
    ),
    Case(
        name="a_constant_function",
        title="The version of the format",
        does="`format_version()` returns 3, the version of the file format. It takes nothing.",
        files={"stock/formats.py": "Add", "tests/test_formats.py": "Add"},
        scenarios="| 010 | Version | Auto | Nothing | 3 | Equal | R1 |",
        tests=r"""
```python
# File: tests/test_formats.py
from stock.formats import format_version


def test_010_version():
    assert format_version() == 3
```
""",
        code=r'''
```python
# File: stock/formats.py
"""The format of files."""


def format_version():
    """Return the version of the format."""
    return 3
```
''',
    ),
    Case(
        name="reads_the_environment",
        title="The currency of the environment",
        does="`currency()` returns the environment variable `STOCK_CURRENCY` in capitals, or `EUR` if it is not set or empty.",
        files={"stock/currencies.py": "Add", "tests/test_currencies.py": "Add"},
        scenarios="""
| 010 | Set | Auto | `chf` | `CHF` | Equal | R1 |
| 020 | Not set | Auto | Nothing | `EUR` | Equal | R1 |
""",
        tests=r"""
```python
# File: tests/test_currencies.py
from stock.currencies import currency


def test_010_set(monkeypatch):
    monkeypatch.setenv("STOCK_CURRENCY", "chf")
    assert currency() == "CHF"


def test_020_not_set(monkeypatch):
    monkeypatch.delenv("STOCK_CURRENCY", raising=False)
    assert currency() == "EUR"
```
""",
        code=r'''
```python
# File: stock/currencies.py
"""Currencies."""

import os


def currency():
    """Return the currency that the environment asks for."""
    return os.environ.get("STOCK_CURRENCY", "").upper() or "EUR"
```
''',
    ),
    BLOCKED,
    Case(
        name="asserts_in_a_loop",
        title="Articles that begin with a letter",
        does="`starting(counts, letter)` returns the sorted names of articles that begin with a letter, in either case.",
        files={"stock/letters.py": "Add", "tests/test_letters.py": "Add"},
        scenarios="| 010 | N | Auto | nail, Nut, screw | `Nut`, `nail` | Equal | R1 |",
        tests=r"""
```python
# File: tests/test_letters.py
from stock.letters import starting

COUNTS = {"screw": 1, "nail": 2, "Nut": 3}


def test_010_n():
    found = starting(COUNTS, "n")
    assert len(found) == 2
    for name in found:
        assert name.lower().startswith("n")
    assert found == sorted(found)
```
""",
        code=r'''
```python
# File: stock/letters.py
"""Find articles."""


def starting(counts, letter):
    """Return the articles that begin with a letter."""
    return sorted(name for name in counts if name.lower().startswith(letter.lower()))
```
''',
    ),
    Case(
        name="deletes_what_the_design_deletes",
        title="Prices without sharing",
        does="`split_evenly` is removed from `stock/money.py`; nothing uses it. `add_up(texts)` returns the sum of prices in cents.",
        files={"stock/money.py": "Modify", "tests/test_sums.py": "Add"},
        scenarios="""
| 010 | Sum | Auto | `1.50`, `2` | 350 | Equal | R1 |
| 020 | Gone | Auto | `split_evenly` | No such name | Not there | R1 |
""",
        tests=r"""
```python
# File: tests/test_sums.py
from stock import money


def test_010_sum():
    assert money.add_up(["1.50", "2"]) == 350


def test_020_gone():
    assert not hasattr(money, "split_evenly")
```
""",
        code=r'''
```python
# Edit: stock/money.py
<<<<<<< SEARCH
def split_evenly(cents, people):
    """Return what each pays; the first pay the rest."""
    share, rest = divmod(cents, people)
    return [share + 1] * rest + [share] * (people - rest)
=======
def add_up(texts):
    """Return the sum of prices in cents."""
    return sum(to_cents(text) for text in texts)
>>>>>>> REPLACE
```
''',
    ),
    Case(
        name="a_table_that_the_design_gives",
        title="Signs of currencies",
        does="`sign(currency)` returns `€` for EUR, `$` for USD and `£` for GBP, and raises KeyError for all others.",
        files={"stock/signs.py": "Add", "tests/test_signs.py": "Add"},
        scenarios="""
| 010 | Signs | Auto | EUR, USD, GBP | €, $, £ | Equal | R1 |
| 020 | Others | Auto | XXX | KeyError | Raised | R1 |
""",
        tests=r"""
```python
# File: tests/test_signs.py
import pytest

from stock.signs import sign


@pytest.mark.parametrize(("currency", "wanted"), [("EUR", "€"), ("USD", "$"), ("GBP", "£")])
def test_010_signs(currency, wanted):
    assert sign(currency) == wanted


def test_020_others():
    with pytest.raises(KeyError):
        sign("XXX")
```
""",
        code=r'''
```python
# File: stock/signs.py
"""Signs of currencies."""

_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£"}


def sign(currency):
    """Return the sign of a currency."""
    return _SIGNS[currency]
```
''',
    ),
    Case(
        name="beside_an_old_failure",
        title="Halves",
        does="`halves(count)` in `stock/units.py` returns the number of halves: 6 for 3.",
        files={"stock/units.py": "Modify", "tests/test_halves.py": "Add"},
        base=FAILING,
        scenarios="| 010 | Halves | Auto | 3 | 6 | Equal | R1 |",
        tests=r"""
```python
# File: tests/test_halves.py
from stock.units import halves


def test_010_halves():
    assert halves(3) == 6
```
""",
        code=r'''
```python
# Edit: stock/units.py
<<<<<<< SEARCH
    return f"{count} pieces"
=======
    return f"{count} pieces"


def halves(count):
    """Return the number of halves."""
    return count * 2
>>>>>>> REPLACE
```
''',
    ),
    Case(
        name="a_fake_clock_and_a_value_that_is_equal",
        title="Moments of counts",
        does="`Moment(article)` has `seconds` from `time.time()`; moments of the same article and second are equal.",
        files={"stock/moments.py": "Add", "tests/test_moments.py": "Add"},
        scenarios="""
| 010 | The clock | Auto | A clock at 5.7 | 5 | Equal | R1 |
| 020 | Equal | Auto | The same, another | True, False | Equal | R1 |
""",
        tests=r"""
```python
# File: tests/test_moments.py
from stock import moments


def test_010_the_clock(monkeypatch):
    monkeypatch.setattr(moments.time, "time", lambda: 5.7)
    assert moments.Moment("nail").seconds == 5


def test_020_equal(monkeypatch):
    monkeypatch.setattr(moments.time, "time", lambda: 5.7)
    nail = moments.Moment("nail")
    assert nail == moments.Moment("nail")
    assert nail != moments.Moment("nut")
    assert nail != "nail"
```
""",
        code=r'''
```python
# File: stock/moments.py
"""When something was counted."""

import time


class Moment:
    """When an article was counted."""

    def __init__(self, article):
        self.article = article
        self.seconds = int(time.time())

    def __eq__(self, other):
        if not isinstance(other, Moment):
            return NotImplemented
        return (self.article, self.seconds) == (other.article, other.seconds)
```
''',
    ),
)
