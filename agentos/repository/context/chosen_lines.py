"""Choose the lines of a file that an issue or a design is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentos.documents.change_logs import is_change_log
from agentos.documents.changes import is_test
from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.callees import find_callees
from agentos.repository.context.chosen_tests import choose_tests
from agentos.repository.context.excerpts import Excerpt, numbers_in
from agentos.repository.context.focus import DESIGN
from agentos.repository.context.mentions import Mention, has_text
from agentos.repository.context.query import Frame, Query, looks_like_code
from agentos.repository.look.asking import Range
from agentos.repository.look.definitions import Definition, is_python
from agentos.repository.look.searching import around
from agentos.repository.look.texts import FileText

_BODY_LINES = 160
"""Lines up to which a definition is shown as a whole."""
_BEGINNING = 60
_HEAD_OF_CLASS = 30
_NEAR_FRAME = 12
_FEW_LINES = 24
_ENTRY_LINES = 16
"""Lines of a change log that show where the next entry goes, and its form."""
_STATEMENT_LINES = 30
"""Lines up to which a function is shown whole for a text in it."""
_MOST_CHOSEN = 100
_HITS_OF_TEXT = 3
_MOST_HITS = 15
_MOST_TITLES = 2_000
_SHORTEST_TITLE = 4
_MADE_BY = "__init__"

_Definitions = Sequence[Definition]


def choose_lines(
    text: FileText,
    mention: Mention,
    query: Query,
    files: BoundedFiles,
    *,
    is_named: bool,
    small: int,
) -> Excerpt:
    """Return what of a file the issue is about, the most important first.

    A file that the issue names is shown whole up to a `small` number of characters,
    a larger one by its outline and the lines with what the issue mentions.
    """
    excerpt = Excerpt(text)
    total = len(text.lines)
    if is_named and len(text.source) <= small:
        excerpt.add(1, total)
        return excerpt
    definitions = files.definitions(text.path)
    if is_named and is_change_log(text.path) and query.called == DESIGN:
        excerpt.add(1, _ENTRY_LINES)
        return excerpt
    framed = []
    for frame in mention.frames:
        function = _function_of(frame, definitions)
        _add_frame(excerpt, frame, function)
        if function is not None:
            framed.append(function)
    if is_named and is_test(text.path) and is_python(text.path):
        choose_tests(excerpt, mention, definitions)
        return excerpt
    chosen = mention.definitions[:_MOST_CHOSEN]
    searched = list(mention.texts)
    if is_named:
        chosen += _titled(definitions, query.source)[:_MOST_CHOSEN]
        searched += query.texts
        searched += filter(looks_like_code, mention.used)
        excerpt.title = "Outline of"
        excerpt.listed += definitions
    excerpt.listed += chosen
    for definition in chosen:
        _add_body(excerpt, definition, definitions)
    _add_classes(excerpt, [*framed, *chosen], definitions)
    excerpt.called += find_callees(text, chosen, files)
    hits = _find_lines(text, searched, excerpt.ranges)
    for place in _enclose(hits, definitions):
        excerpt.add_if_room(*place)
    if not excerpt.ranges and not excerpt.others:
        excerpt.add(1, _FEW_LINES)
    return excerpt


def _titled(
    definitions: _Definitions,
    source: str,
) -> list[Definition]:
    """Return the sections whose headings occur in a text, letter by letter."""
    found = []
    for definition in definitions[:_MOST_TITLES]:
        title = definition.name.strip("`*_ ")
        if len(title) < _SHORTEST_TITLE:
            continue
        is_title = title[0].isupper()
        if is_title and has_text(source, title):
            found.append(definition)
    return found


def _add_body(
    excerpt: Excerpt,
    definition: Definition,
    definitions: _Definitions,
) -> None:
    """Show a definition; of a long one its beginning, and what is defined in it.

    What is in a class is chosen by its own name, so the whole class comes last.
    """
    first = definition.first
    last = definition.last
    inner = _inside(definition, definitions)
    if last - first >= _BODY_LINES:
        end = first + _BEGINNING - 1
        excerpt.add(first, end)
        excerpt.listed += inner
    elif inner and last - first > _HEAD_OF_CLASS:
        excerpt.add(first, inner[0].first - 1)
        excerpt.listed += inner
        excerpt.add_if_room(first, last)
    else:
        excerpt.add(first, last)


def _inside(
    definition: Definition,
    definitions: _Definitions,
) -> list[Definition]:
    """Return what is defined in a definition."""
    inside = range(definition.first + 1, definition.last + 1)
    return [inner for inner in definitions if inner.first in inside]


def _add_classes(
    excerpt: Excerpt,
    chosen: _Definitions,
    definitions: _Definitions,
) -> None:
    """Show how the objects are made whose methods are shown, and list their other
    methods.
    """
    by_name = {definition.name: definition for definition in definitions}
    owners = []
    for method in chosen:
        owner, _, _ = method.name.rpartition(".")
        owners.append(owner)
    for name in dict.fromkeys(owners):
        owner_definition = by_name.get(name)
        made_by = by_name.get(f"{name}.{_MADE_BY}")
        if owner_definition is None:
            continue
        excerpt.listed += _inside(owner_definition, definitions)
        if made_by is not None:
            excerpt.add(owner_definition.first, owner_definition.line)
            _add_body(excerpt, made_by, definitions)


def _add_frame(
    excerpt: Excerpt,
    frame: Frame,
    function: Definition | None,
) -> None:
    """Show the function of a frame; without one, or in a long one, lines around the
    place.
    """
    line = frame.line
    before = line - _NEAR_FRAME
    after = line + _NEAR_FRAME
    if function is None:
        excerpt.add(before, after)
        return
    first = function.first
    last = function.last
    if last - first < _BODY_LINES:
        excerpt.add(first, last)
        return
    excerpt.add(first, function.line)
    excerpt.add(before, after)


def _function_of(
    frame: Frame,
    definitions: Iterable[Definition],
) -> Definition | None:
    """Return the function that a frame names, preferably the one with its line: the
    file may have changed since a traceback was printed.
    """
    _, _, wanted = frame.symbol.rpartition(".")
    found = None
    for definition in definitions:
        _, _, name = definition.name.rpartition(".")
        if not wanted or name != wanted:
            continue
        if definition.first <= frame.line <= definition.last:
            return definition
        found = found or definition
    return found


def _find_lines(
    text: FileText,
    searched: Iterable[str],
    ranges: Sequence[Range],
) -> list[int]:
    """Return the first lines with each text, other than those shown anyway."""
    shown = numbers_in(ranges)
    found: list[int] = []
    for wanted in dict.fromkeys(searched):
        if not has_text(text.source, wanted):
            continue
        fresh = []
        for number, line in enumerate(text.lines, 1):
            if number in shown:
                continue
            if has_text(line, wanted):
                fresh.append(number)
        found += fresh[:_HITS_OF_TEXT]
    return list(dict.fromkeys(found))[:_MOST_HITS]


def _enclose(
    numbers: Iterable[int],
    definitions: _Definitions,
) -> list[Range]:
    """Return each line with the whole short function or class that it stands in, or
    with some lines around it.
    """
    places = []
    for number in numbers:
        longest = 0
        widest = around([number])
        for definition in definitions:
            lines = definition.last - definition.first
            if not longest < lines <= _STATEMENT_LINES:
                continue
            if definition.first <= number <= definition.last:
                longest = lines
                widest = [(definition.first, definition.last)]
        places += widest
    return places
