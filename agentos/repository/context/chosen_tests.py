"""Choose the lines of a file of tests that is to be changed: what its tests share, the
tests that are about the same, and its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter

from agentos.repository.context.excerpts import Excerpt, numbers_in
from agentos.repository.context.mentions import Mention
from agentos.repository.look.definitions import Definition
from agentos.state.wording import count

_HEAD_LINES = 60
_TEST_LINES = 40
_MOST_TESTS = 4
_MOST_NAMES = 20
"""How many of the names count; what a design changes comes first."""
_END_LINES = 12
_IN_NAME = 3
"""How much it counts that a test is called as what is changed."""
_FEWEST = 2
"""What a test has to count to be shown."""

_Definitions = Sequence[Definition]


def choose_tests(
    excerpt: Excerpt,
    mention: Mention,
    definitions: _Definitions,
) -> None:
    """Add what a new test of the file needs to know."""
    total = len(excerpt.text.lines)
    tests = list(filter(is_test_function, definitions))
    helpers = _outside(tests, definitions)
    before = total
    if tests:
        before = tests[0].first - 1
    end = _beginning_of_end(tests, total)
    excerpt.add(1, min(before, _HEAD_LINES))
    excerpt.add(end, total)
    for helper in helpers:
        if helper.last <= before:
            excerpt.add(helper.first, helper.last)
    for test in _nearest(excerpt, mention, tests):
        excerpt.add(test.first, test.last)
    for helper in helpers:
        if _is_short(helper):
            excerpt.add_if_room(helper.first, helper.last)
    excerpt.title = "Outline without its tests, of"
    excerpt.listed += helpers
    if tests:
        number = count(len(tests), "test")
        excerpt.remark = f"It has {number}."


def _outside(
    tests: _Definitions,
    definitions: _Definitions,
) -> list[Definition]:
    """Return what is not defined in a test."""
    places = [(test.first, test.last) for test in tests]
    inside = numbers_in(places)
    return [each for each in definitions if each.first not in inside]


def _is_short(
    definition: Definition,
) -> bool:
    return definition.last - definition.first <= _TEST_LINES


def is_test_function(definition: Definition) -> bool:
    """Tell whether a definition is called as a test."""
    _, _, name = definition.name.rpartition(".")
    return name.startswith("test")


def _beginning_of_end(tests: _Definitions, total: int) -> int:
    """Return the line from which the end of a file is shown: that of its last test, if
    it is a short one.
    """
    short = total - _END_LINES + 1
    if tests and total - tests[-1].first < 2 * _END_LINES:
        return min(short, tests[-1].first)
    return short


def _nearest(
    excerpt: Excerpt,
    mention: Mention,
    tests: _Definitions,
) -> list[Definition]:
    """Return the tests with most of the names that are mentioned."""
    names = []
    for name in mention.used[:_MOST_NAMES]:
        _, _, last = name.rpartition(".")
        if last not in names:
            names.append(last)
    words = list(map(_as_word, names))
    counted = []
    for test in filter(_is_short, tests):
        first = test.first
        lines = excerpt.text.lines[first - 1 : test.last]
        body = "\n".join(lines)
        found = [word for word in words if word.search(body)]
        score = len(found)
        if _is_called_as(test, names):
            score += _IN_NAME
        if score >= _FEWEST:
            entry = (-score, len(lines), first, test)
            counted.append(entry)
    counted.sort(key=itemgetter(0, 1, 2))
    best = counted[:_MOST_TESTS]
    return [entry[-1] for entry in best]


def _is_called_as(
    test: Definition,
    names: Sequence[str],
) -> bool:
    plain = [name.strip("_") for name in names]
    return any(name in test.name for name in plain)


def _as_word(
    name: str,
) -> re.Pattern[str]:
    plain = re.escape(name)
    return re.compile(rf"(?<!\w){plain}(?!\w)")
