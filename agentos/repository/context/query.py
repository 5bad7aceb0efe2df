"""Read what an issue or a brief mentions: paths, names in code, lines of tracebacks,
options and messages, words, other items.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from agentos.documents.dependencies import dependencies
from agentos.documents.markdown import LineKind, scan
from agentos.documents.words import STOP_WORDS, code_spans, stem
from agentos.repository.context.focus import find_focus
from agentos.repository.context.guesses import guess_names, title_of

_LONGEST = 200_000
_LONGEST_TOKEN = 300
_TOKEN = re.compile(r"[A-Za-z0-9_.@+/-]+")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*(?:\.\w+)*)\(")
_EMPTY_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*(?:\.\w+)*)\(\)")
_METHOD = re.compile(r"(?<!\w)(?:\.[A-Za-z_]\w{0,60}){0,6}\.([A-Za-z_]\w{0,60})\(")
"""A method of what another call returns."""
_SPECIAL = re.compile(
    r"(?<![\w.])(repr|str|len|hash|bool|iter|next|format)\(([a-z]\w{1,60})\)"
)
_ENTRY = re.compile(r"""(?<![\w.])([A-Za-z_][\w.]*)\[["']([^"'\]\[\n]{1,80})["']\]""")
_WORD = re.compile(r"[A-Za-z]+")
_CAMEL = re.compile(r"[A-Z][a-z0-9]+[A-Z]|[a-z0-9][A-Z]")
_FILE_END = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_FRAME = re.compile(r'File "([^"\n]{1,300})", line (\d{1,7})(?:, in ([\w.<>]{1,100}))?')
_LINE = re.compile(r"(?::|#L)(\d{1,7})(?!\d)")
_RAISED = ("Error", "Exception", "Warning")
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]{1,60}")
_VARIABLE = re.compile(r"(?<!\w)[A-Z][A-Z0-9]*_[A-Z0-9_]{1,60}(?!\w)")
_QUOTED = re.compile(
    r"\"([^\"\n]{6,160})\"|\u201c([^\u201d\n]{6,160})\u201d|(?<!\w)'([^'\n]{6,160})'(?!\w)"
)
_DATA = re.compile(r"\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'")
_KEYWORD = re.compile(r"\w{1,80}=(?!=)")
_PROMPT = ">>> "
_STATEMENTS = ("import ", "from ", "def ", "class ", "return ", "@", "for ", "if ")
_MOST_PATHS = 60
_MOST_GUESSES = 60
_MOST_NAMES = 60
_MOST_FRAMES = 30
_MOST_TEXTS = 40
_MOST_WORDS = 120
_MOST_ITEMS = 10
_SHORTEST_NAME = 4
_LONGEST_NAME = 80
_COMMON = """
self true false none null int str bool float list dict tuple set any path file name type value error import from class
def return print test tests main args kwargs user data item items key keys id code text line lines json http https get
post
"""
DOCUMENTS = ("README", "CHANGELOG", "CHANGES", "HISTORY", "NEWS", "CONTRIBUTING")
"""Files of the root that people name without an ending."""
_COMMON_NAMES = frozenset(_COMMON.split())

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of a file, as a traceback or a link names it."""

    path: str
    line: int
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """What an issue mentions, in its order."""

    paths: tuple[str, ...]
    names: tuple[str, ...]
    """Identifiers in code, with dots if they were written so."""
    guesses: tuple[str, ...]
    """Words that may be names, too."""
    title: str
    frames: tuple[Frame, ...]
    texts: tuple[str, ...]
    """Options, variables of the environment and messages, to be searched for."""
    words: frozenset[str]
    """Stems of the words that may occur in a file's path."""
    items: tuple[str, ...]
    """Ids of the items that this one depends on."""
    source: str
    """The text itself."""
    declared: tuple[str, ...]
    """The files that a design changes."""
    called: str
    """What the text is: an issue, a brief or a design."""


def read_query(
    source: str,
    called: str,
) -> Query:
    """Read the beginning of a text, in linear time."""
    text = source[:_LONGEST]
    code = list(_code_of(text))
    focus = find_focus(text, called)
    paths = _paths(text)
    names = [*_names_in(focus.text), *_names(text, code)]
    frames = _frames(text)
    texts = _texts(text, code)
    items = dependencies(text)
    guesses = guess_names(text)
    return Query(
        paths=_first(paths, _MOST_PATHS),
        names=_first(names, _MOST_NAMES),
        guesses=_first(guesses, _MOST_GUESSES),
        title=title_of(text),
        frames=_first(frames, _MOST_FRAMES),
        texts=_first(texts, _MOST_TEXTS),
        words=_words(text),
        items=items[:_MOST_ITEMS],
        source=text,
        declared=focus.paths,
        called=called,
    )


def is_weak(name: str) -> bool:
    """Tell whether a name says little, because it is short or a common word."""
    if "." in name:
        return False
    if len(name) < _SHORTEST_NAME:
        return True
    return name.casefold() in _COMMON_NAMES


def name_words(path: str) -> dict[str, str]:
    """Return the words in a path without its ending, by their stems."""
    words = {}
    for word in _split(_FILE_END.sub("", path)):
        words[stem(word)] = word
    return words


def _first(
    found: Iterable[Thing],
    most: int,
) -> tuple[Thing, ...]:
    """Return the first things, each once."""
    distinct = dict.fromkeys(found)
    return tuple(distinct)[:most]


def _code_of(text: str) -> Iterator[str]:
    """Yield the code spans, the lines of code blocks, and what was typed at a prompt."""
    for line in scan(text):
        if line.kind is LineKind.CODE:
            yield line.text
        elif line.text.startswith(_PROMPT):
            yield line.text.removeprefix(_PROMPT)
        else:
            yield from code_spans(line.text)


def _paths(text: str) -> Iterator[str]:
    for token in _TOKEN.findall(text):
        if len(token) > _LONGEST_TOKEN:
            continue
        trimmed = token.strip(".-+@")
        trimmed = trimmed.removeprefix("./")
        is_document = trimmed in DOCUMENTS
        if is_document or _is_path(trimmed):
            yield trimmed.strip("/")
    for name in _NAME.findall(text):
        if "." in name:
            # It may be a module.
            module = name.replace(".", "/")
            yield f"{module}.py"


def _is_path(token: str) -> bool:
    if token.startswith("//"):
        return False
    if ".." in token:
        return False
    if not any(map(str.isalpha, token)):
        return False
    inner = token.strip("/")
    if "/" in inner:
        return all(inner.split("/"))
    if token[0].isdigit():
        return False
    return bool(_FILE_END.search(token))


def _names_in(text: str) -> Iterator[str]:
    code = _code_of(text)
    return _names(text, list(code))


def _names(
    text: str,
    code: Iterable[str],
) -> Iterator[str]:
    """Yield what is written as code, then what looks like code."""
    called = []
    for part in code:
        # Neither a text in quotes nor the name of an argument is a name of code.
        plain = _DATA.sub("", part)
        plain = _KEYWORD.sub("", plain)
        called += _CALL.findall(plain)
        called += _METHOD.findall(plain)
        called += _specials(plain)
        entries = _ENTRY.findall(part)
        for table, key in entries:
            yield f"{table}.{key}"
        # A span with a space is a command line or a message.
        if entries or " " in part or "/" in part:
            continue
        for name in _NAME.findall(plain):
            yield from _whole_name(name)
    for name in called:
        yield from _whole_name(name)
    for name in _EMPTY_CALL.findall(text):
        yield from _whole_name(name)
    for token in _TOKEN.findall(text):
        if "/" in token:
            continue
        for name in _NAME.findall(token):
            _, _, last = name.rpartition(".")
            if looks_like_code(last):
                yield from _whole_name(name)


def _specials(code: str) -> Iterator[str]:
    """Yield the method that a function of Python calls: `repr(job)` is that of a job."""
    for function, argument in _SPECIAL.findall(code):
        words = argument.split("_")
        owner = "".join(map(str.capitalize, words))
        yield f"{owner}.__{function}__"


def _whole_name(name: str) -> Iterator[str]:
    if len(name) > _LONGEST_NAME:
        return
    plain = name.removeprefix("self.")
    plain = plain.removeprefix("cls.")
    if plain.strip("_"):
        yield plain


def looks_like_code(name: str) -> bool:
    """Tell whether a name is none that prose has."""
    if "_" in name.strip("_"):
        return True
    return bool(_CAMEL.search(name))


def _frames(text: str) -> Iterator[Frame]:
    for path, line, symbol in _FRAME.findall(text):
        name = symbol.strip("<>")
        yield _frame(path, line, name)
    for word in text.split():
        short = word[:_LONGEST_TOKEN]
        place = _LINE.search(short)
        if not place:
            continue
        start = place.start()
        path = short[:start].lstrip("([<{`'\"*")
        if _FILE_END.search(path):
            yield _frame(path, place[1])


def _frame(
    path: str,
    line: str,
    symbol: str = "",
) -> Frame:
    with_slashes = path.replace("\\", "/")
    number = int(line)
    return Frame(with_slashes, number, symbol)


def _raised(text: str) -> Iterator[str]:
    """Yield the messages of exceptions."""
    for line in text.split("\n"):
        name, colon, message = line[:_LONGEST_TOKEN].partition(": ")
        if not colon:
            continue
        if name.endswith(_RAISED):
            yield message.strip()


def _texts(
    text: str,
    code: Iterable[str],
) -> Iterator[str]:
    yield from _raised(text)
    yield from _OPTION.findall(text)
    yield from _VARIABLE.findall(text)
    for alternatives in _QUOTED.findall(text):
        yield from _quotation("".join(alternatives))
    for part in code:
        line = part.strip().removeprefix(_PROMPT)
        if " " in line and not line.startswith(_STATEMENTS):
            yield line


def _quotation(text: str) -> Iterator[str]:
    """Yield a text in quotes; an ordinary word counts only where it is in quotes, too."""
    if text.isalpha() and not looks_like_code(text):
        yield f'"{text}"'
        yield f"'{text}'"
    else:
        yield text


def _words(text: str) -> frozenset[str]:
    """Return the stems of the most frequent words; the first words count more."""
    words = _split(text)
    counts = Counter(words)
    for word in words[:30]:
        counts[word] += 2
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return frozenset(map(stem, ranked[:_MOST_WORDS]))


def _split(text: str) -> list[str]:
    """Return the words of a text in lower case, those of an identifier one by one."""
    spaced = _CAMEL.sub(lambda match: f"{match[0][:-1]} {match[0][-1]}", text)
    words = []
    for match in _WORD.findall(spaced):
        word = match.casefold()
        if not 3 <= len(word) <= 30:
            continue
        if word not in STOP_WORDS:
            words.append(word)
    return words
