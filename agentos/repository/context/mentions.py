"""Find what an issue names in the files: definitions, frames of tracebacks, texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import filterfalse

from agentos.documents.changes import is_test
from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.frames import find_frames
from agentos.repository.context.places import DOCUMENT_ENDS, WantedName, count_distinct
from agentos.repository.context.query import Frame, Query
from agentos.repository.look.definitions import Definition
from agentos.repository.look.texts import FileText

_MOST_FILES = 3
"""Number of files above which a text is too common to be shown there."""
_MOST_HEADINGS = 2_000
_SHORTEST_HEAD = 12
_HEAD_WORDS = 3
_INSIDE_WORD = re.compile(r"[\w-]")

Names = list[str]
Definitions = list[Definition]
Frames = list[Frame]


class Mention:
    """What one file has of an issue."""

    def __init__(self) -> None:
        self.definitions: Definitions = []
        self.defined: Names = []
        self.used: Names = []
        """Names that it has without defining them."""
        self.texts: Names = []
        """Options, variables and messages."""
        self.frames: Frames = []

    @property
    def has_lines(self) -> bool:
        """Tell whether there are lines to show."""
        if self.definitions:
            return True
        if self.texts:
            return True
        return bool(self.frames)


class Mentions:
    """What the files have of an issue."""

    def __init__(self) -> None:
        self.by_path: dict[str, Mention] = {}
        self.defined: Names = []
        """The names whose definitions are shown, those of the title first."""
        self.in_title: set[str] = set()
        self.unclear: dict[str, int] = {}
        """Names with too many definitions to show them all, and how many."""
        self.read = 0
        """Number of files that were read."""

    def of(
        self,
        path: str,
    ) -> Mention:
        """Return what a file has."""
        mention = self.by_path.get(path)
        if mention is not None:
            return mention
        mention = Mention()
        self.by_path[path] = mention
        return mention


def find_mentions(
    order: Sequence[str],
    query: Query,
    files: BoundedFiles,
    named: Collection[str],
) -> Mentions:
    """Read the files in an order, and return what each has of the issue."""
    mentions = Mentions()
    names = list(map(WantedName, query.names))
    guesses = filterfalse(query.names.__contains__, query.guesses)
    names += [WantedName(guess, is_guess=True) for guess in guesses]
    texts = _Texts(query.texts)
    for path in order:
        text = files.read(path)
        if text is None:
            continue
        mentions.read += 1
        for name in names:
            if name.is_in(text):
                mention = mentions.of(path)
                mention.used.append(name.name)
                name.look_in(text, files)
        texts.look_in(text)
    for name in names:
        if _choose_places(name, mentions, named):
            mentions.defined.append(name.name)
    for defined in mentions.defined:
        if has_text(query.title, defined):
            mentions.in_title.add(defined)
    mentions.defined.sort(key=lambda name: name not in mentions.in_title)
    texts.add_to(mentions, mentions.defined)
    _find_headings(query, files, mentions)
    for path, frame in find_frames(query.frames, order):
        mention = mentions.of(path)
        mention.frames.append(frame)
    return mentions


def has_text(
    source: str,
    wanted: str,
) -> bool:
    """Tell whether a text has another as whole words: `--wait` is not in `--wait-for`."""
    start = source.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        following = source[end : end + 1]
        preceding = ""
        if start:
            preceding = source[start - 1]
        edges = preceding + following
        if not _INSIDE_WORD.search(edges):
            return True
        start = source.find(wanted, end)
    return False


class _Texts:
    """Searches files for options, variables and messages.

    What was put into a message differs, so if a message is nowhere, its beginning is
    taken.
    """

    def __init__(
        self,
        texts: Sequence[str],
    ) -> None:
        self._heads = {text: _head(text) for text in texts}
        self._whole: dict[str, Names] = {}
        self._begun: dict[str, Names] = {}

    def look_in(
        self,
        text: FileText,
    ) -> None:
        """Remember which of the texts a file has."""
        for wanted, head in self._heads.items():
            source = text.source
            if not has_text(source, head):
                continue
            begun = self._begun.setdefault(wanted, [])
            begun.append(text.path)
            if not has_text(source, wanted):
                continue
            whole = self._whole.setdefault(wanted, [])
            whole.append(text.path)

    def add_to(
        self,
        mentions: Mentions,
        names: Collection[str],
    ) -> None:
        """Add those that few files have, but no names whose definitions are shown."""
        for wanted, head in self._heads.items():
            if wanted in names:
                continue
            shown = wanted
            paths = self._whole.get(wanted)
            if paths is None:
                shown = head
                paths = self._begun.get(wanted, [])
            others = list(filterfalse(is_test, paths))
            if len(others) > _MOST_FILES:
                continue
            for path in others:
                mention = mentions.of(path)
                mention.texts.append(shown)
            if others:
                continue
            for path in paths[:_MOST_FILES]:
                mention = mentions.of(path)
                mention.used.append(shown)


def _head(text: str) -> str:
    """Return the beginning of a message, the whole if that would say too little."""
    words = text.split(" ")
    head = " ".join(words[:_HEAD_WORDS])
    if len(head) < _SHORTEST_HEAD:
        return text
    return head


def _choose_places(
    name: WantedName,
    mentions: Mentions,
    named: Collection[str],
) -> bool:
    """Add the definitions that a name means, unless they are too many; tell whether
    there are some.
    """
    places = name.choose(named)
    shown = name.name
    is_clear = name.is_clear(places)
    if not is_clear:
        if name.is_whole_in(places):
            mentions.unclear[shown] = count_distinct(places)
        places = []
    for place in places:
        mention = mentions.of(place.path)
        mention.definitions.append(place.definition)
        if shown in mention.used:
            mention.used.remove(shown)
            mention.defined.append(shown)
    is_telling = bool(places) if name.is_guess else name.tells_much
    if not is_telling:
        # A name that says little is worth nothing where it is only used.
        for mention in mentions.by_path.values():
            if shown in mention.used:
                mention.used.remove(shown)
    return bool(places)


def _find_headings(
    query: Query,
    files: BoundedFiles,
    mentions: Mentions,
) -> None:
    """Add the sections whose headings are quoted."""
    quoted = (*query.texts, *query.names)
    wanted = set(map(_plain_title, quoted))
    for path, mention in mentions.by_path.items():
        lowered = path.casefold()
        if not lowered.endswith(DOCUMENT_ENDS):
            continue
        # Most documents do not have to be parsed.
        text = files.read(path)
        if text is None or not _has_title(text, wanted):
            continue
        known = set(mention.definitions)
        headings = files.definitions(path)
        for heading in headings[:_MOST_HEADINGS]:
            if _plain_title(heading.name) not in wanted:
                continue
            if heading not in known:
                mention.definitions.append(heading)


def _has_title(
    text: FileText,
    wanted: Collection[str],
) -> bool:
    titles = map(_plain_title, text.lines)
    return any(title in wanted for title in titles)


def _plain_title(line: str) -> str:
    """Return a title without marks, in lower case."""
    title = line.strip("#`*_\"' \t")
    return title.casefold()
