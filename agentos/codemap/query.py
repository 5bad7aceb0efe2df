"""Read from an issue or a brief what of the repository it speaks of: paths, names of code, words, other items."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentos.documents.dependencies import dependencies
from agentos.documents.words import STOP_WORDS, code_spans, stem

_LONGEST = 200_000
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
    """What an issue names, in the order in which it does."""

    paths: tuple[str, ...]
    names: tuple[str, ...]
    """Identifiers of code."""
    words: frozenset[str]
    """Stems of the words that may occur in a file's path."""
    items: tuple[str, ...]
    """Ids of the items that this one depends on."""

    @property
    def bases(self) -> frozenset[str]:
        """Return the last parts of the paths."""
        return frozenset(path.rpartition("/")[2] for path in self.paths)


def read_query(source: str) -> Query:
    """Read the beginning of a text, in linear time."""
    text = source[:_LONGEST]
    tokens = [token.strip(".-+@").removeprefix("./") for token in _TOKEN.findall(text) if len(token) <= 300]
    paths = dict.fromkeys(token.strip("/") for token in tokens if _is_path(token))
    spans = [span for line in text.split("\n") if "`" in line for span in code_spans(line)]
    # A span of several words is a command line or a message: its words are not names of code.
    quoted = " ".join(span for span in spans if not _is_path(span) and " " not in span)
    names = dict.fromkeys(name for name in _NAME.findall(quoted) if _is_name(name))
    plain = " ".join(token for token in tokens if "/" not in token)
    names |= dict.fromkeys(name for name in _NAME.findall(plain) if _is_name(name) and _looks_like_code(name))
    return Query(
        tuple(path for path in paths if path)[:_MAX_PATHS],
        tuple(names)[:_MAX_NAMES],
        _words(text),
        dependencies(text)[:_MAX_ITEMS],
    )


def name_words(path: str) -> dict[str, str]:
    """Return the words in a path, its ending aside, by their stems."""
    return {stem(word): word for word in _split(_FILE_END.sub("", path))}


def _is_path(token: str) -> bool:
    if token.startswith("//") or ".." in token or not any(letter.isalpha() for letter in token):
        return False
    if "/" in token.strip("/"):
        return all(token.strip("/").split("/"))
    return bool(_FILE_END.search(token)) and not token[0].isdigit()


def _is_name(name: str) -> bool:
    return 4 <= len(name) <= 80 and name.casefold() not in _COMMON_NAMES


def _looks_like_code(name: str) -> bool:
    return "_" in name.strip("_") or bool(_CAMEL.search(name))


def _words(text: str) -> frozenset[str]:
    """Take the words of the first lines and those that occur often before the rest."""
    counts: dict[str, int] = {}
    for position, word in enumerate(_split(text)):
        counts[word] = counts.get(word, 0) + (3 if position < 30 else 1)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return frozenset(stem(word) for word in ranked[:_MAX_WORDS])


def _split(text: str) -> list[str]:
    spaced = _CAMEL.sub(lambda match: f"{match[0][:-1]} {match[0][-1]}", text)
    words = (word.casefold() for word in _WORD.findall(spaced))
    return [word for word in words if 3 <= len(word) <= 30 and word not in STOP_WORDS]
