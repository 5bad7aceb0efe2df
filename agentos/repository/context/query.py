"""Read what an issue or a brief mentions: paths, identifiers, words, other items."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from agentos.documents.dependencies import dependencies
from agentos.documents.words import STOP_WORDS, code_spans, stem
from agentos.repository.context.listing import base_name

_LONGEST = 200_000
_LONGEST_TOKEN = 300
_TOKEN = re.compile(r"[A-Za-z0-9_.@+/-]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[A-Za-z]+")
_CAMEL = re.compile(r"[A-Z][a-z0-9]+[A-Z]|[a-z0-9][A-Z]")
_FILE_END = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_MAX_PATHS = 60
_MAX_NAMES = 40
_MAX_WORDS = 120
_MAX_ITEMS = 10
_COMMON = """
self true false none null int str bool float list dict tuple set any path file name type value error import from class
def return print test tests main args kwargs user data item items key keys id code text line lines json http https get
post
"""
_COMMON_NAMES = frozenset(_COMMON.split())


@dataclass(frozen=True, slots=True)
class Query:
    """What an issue mentions, in its order."""

    paths: tuple[str, ...]
    names: tuple[str, ...]
    """Identifiers in code."""
    words: frozenset[str]
    """Stems of the words that may occur in a file's path."""
    items: tuple[str, ...]
    """Ids of the items that this one depends on."""

    @property
    def bases(self) -> frozenset[str]:
        """Return the last parts of the paths."""
        return frozenset(map(base_name, self.paths))


def read_query(source: str) -> Query:
    """Read the beginning of a text, in linear time."""
    text = source[:_LONGEST]
    paths: dict[str, None] = {}
    plain = []
    for token in _TOKEN.findall(text):
        if len(token) > _LONGEST_TOKEN:
            continue
        trimmed = token.strip(".-+@").removeprefix("./")
        if _is_path(trimmed):
            paths[trimmed.strip("/")] = None
        if "/" not in trimmed:
            plain.append(trimmed)
    paths.pop("", None)
    names = _quoted_names(text)
    for name in _NAME.findall(" ".join(plain)):
        if not _is_name(name):
            continue
        if _looks_like_code(name):
            names[name] = None
    return Query(
        paths=tuple(paths)[:_MAX_PATHS],
        names=tuple(names)[:_MAX_NAMES],
        words=_words(text),
        items=dependencies(text)[:_MAX_ITEMS],
    )


def name_words(path: str) -> dict[str, str]:
    """Return the words in a path without its ending, by their stems."""
    words = {}
    for word in _split(_FILE_END.sub("", path)):
        words[stem(word)] = word
    return words


def _quoted_names(text: str) -> dict[str, None]:
    """Return the identifiers in code spans, in order."""
    quoted = []
    for line in text.split("\n"):
        if "`" not in line:
            continue
        for span in code_spans(line):
            # A span with a space is a command line or a message, not an identifier.
            if " " in span or _is_path(span):
                continue
            quoted.append(span)
    found = _NAME.findall(" ".join(quoted))
    return dict.fromkeys(filter(_is_name, found))


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


def _is_name(name: str) -> bool:
    if not 4 <= len(name) <= 80:
        return False
    return name.casefold() not in _COMMON_NAMES


def _looks_like_code(name: str) -> bool:
    if "_" in name.strip("_"):
        return True
    return bool(_CAMEL.search(name))


def _words(text: str) -> frozenset[str]:
    """Return the stems of the most frequent words; the first words count more."""
    words = _split(text)
    counts = Counter(words)
    for word in words[:30]:
        counts[word] += 2
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return frozenset(map(stem, ranked[:_MAX_WORDS]))


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
