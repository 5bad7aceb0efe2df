"""Rank the files of a repository by their relevance to an issue, with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from agentos.repository.context.listing import base_name
from agentos.repository.context.query import Query, name_words
from agentos.repository.context.reading import Reader
from agentos.repository.context.showing import show_name

MAX_NAMED = 40
MAX_OTHERS = 20
FEW = 5
"""Number of other files that are shown even with a low score."""
_SEVERAL = 4
_COMMON_SHARE = 0.25
_OCCURRENCES = 20
_ENOUGH = 1.0
_TELLING = 2.0
_LANGUAGES = """
.py .pyi .js .jsx .ts .tsx .mjs .cjs .go .rs .java .kt .kts .scala .rb .php .c .h .cc .cpp .hpp .cs .swift .m .ex .exs
.erl .hs .ml .clj .lua .sh .bash .sql .proto .graphql .vue .svelte .dart .r .jl .pl
"""
_CODE_ENDS = tuple(_LANGUAGES.split())
_DEFINING = (
    "def class function func fn struct interface type enum trait const let var module"
    " record protocol table mod"
)
_DEFINING_WORDS = frozenset(_DEFINING.split())


@dataclass(frozen=True, slots=True)
class FileChoice:
    """A file that is worth showing, and why."""

    name: str
    score: float
    reason: str
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Why a file is relevant, and how much that counts."""

    score: float
    reason: str


_Found = dict[str, _Evidence]
"""Evidence by the path of the file."""
_Words = dict[str, str]
"""Words of a path by their stems."""


def rank(names: Sequence[str], query: Query, reader: Reader) -> tuple[FileChoice, ...]:
    """Return the files that the issue names, then the others by their score."""
    named = _find_named(names, query)
    in_folders = _find_in_folders(names, query)
    similar = _find_similar(names, query)

    # The reader stops at a limit, so the likeliest files are read first.
    def likeliest(name: str) -> tuple[bool, float, bool, str]:
        score = _choose(name, in_folders, similar).score
        is_named = name in named
        is_code = name.endswith(_CODE_ENDS)
        return not is_named, -score, not is_code, name

    order = sorted(names, key=likeliest)
    by_text = _find_by_text(order, query, reader)
    first = []
    others = []
    for name in order:
        if name in named:
            choice = _choose(name, named, by_text)
            first.append(replace(choice, is_named=True))
            continue
        choice = _choose(name, by_text, in_folders, similar)
        if choice.score >= _ENOUGH:
            others.append(choice)
    first.sort(key=_best_first)
    others.sort(key=_best_first)
    rest = others[FEW:MAX_OTHERS]
    telling = [choice for choice in rest if choice.score >= _TELLING]
    return (*first[:MAX_NAMED], *others[:FEW], *telling)


def _choose(name: str, *kinds: _Found) -> FileChoice:
    """Add up the evidence for a file; the first two reasons are shown."""
    score = 0.0
    reasons = []
    for found in kinds:
        if name not in found:
            continue
        evidence = found[name]
        score += evidence.score
        reasons.append(evidence.reason)
    reason = "; ".join(reasons[:2])
    return FileChoice(name, score, reason)


def _best_first(choice: FileChoice) -> tuple[float, str]:
    return -choice.score, choice.name


def _find_named(names: Sequence[str], query: Query) -> _Found:
    """Return the files that match a path of the issue, in full or by its end."""
    by_base: dict[str, list[str]] = {}
    for name in names:
        base = base_name(name)
        by_base.setdefault(base, []).append(name)
    found: _Found = {}
    for position, path in enumerate(query.paths):
        matches = []
        candidates = by_base.get(base_name(path), [])
        for name in candidates:
            if name == path:
                matches = [path]
                break
            if name.endswith(f"/{path}"):
                matches.append(name)
        if len(matches) > _SEVERAL:
            continue
        evidence = _Evidence(100 - position, "named in the issue")
        for name in matches:
            found.setdefault(name, evidence)
    return found


def _find_in_folders(names: Sequence[str], query: Query) -> _Found:
    found: _Found = {}
    for path in query.paths:
        if "." in base_name(path):
            continue
        folder = f"{path}/"
        reason = f"lies in `{show_name(folder)}`, which the issue names"
        evidence = _Evidence(4, reason)
        for name in names:
            if name.startswith(folder):
                found.setdefault(name, evidence)
    return found


def _find_similar(names: Sequence[str], query: Query) -> _Found:
    """Return the files whose path has words of the issue.

    The fewer files have a word, the more it counts.
    """
    words_of = dict(_shared_words(names, query.words))
    spread = Counter(chain.from_iterable(words_of.values()))
    common = max(3.0, _COMMON_SHARE * len(names))
    found = {}
    for name, words in words_of.items():
        rare = [stem for stem in words if spread[stem] <= common]
        if not rare:
            continue
        rare.sort(key=lambda stem: (spread[stem], stem))
        base = name_words(base_name(name))
        points = 0.0
        for stem in rare:
            weight = 0.5
            if stem in base:
                weight = 1.5
            if spread[stem] > 5:
                weight *= 0.6
            points += weight
        quoted = [f"'{words[stem]}'" for stem in rare[:2]]
        shown = " and ".join(quoted)
        reason = f"its path has {shown}, as the issue"
        score = min(points, 5.0)
        found[name] = _Evidence(score, reason)
    return found


def _shared_words(
    names: Sequence[str], wanted: Container[str]
) -> Iterator[tuple[str, _Words]]:
    """Yield each path with its words that are wanted."""
    of_folders: dict[str, _Words] = {}
    for name in names:
        folder, _, base = name.rpartition("/")
        if folder not in of_folders:
            of_folders[folder] = _wanted_words(folder, wanted)
        own = _wanted_words(base, wanted)
        words = of_folders[folder]
        if own:
            words = words | own
        yield name, words


def _wanted_words(path: str, wanted: Container[str]) -> _Words:
    words = name_words(path)
    return {stem: word for stem, word in words.items() if stem in wanted}


def _find_by_text(order: Sequence[str], query: Query, reader: Reader) -> _Found:
    """Return the files that define or mention an identifier of the issue.

    Mentions of an identifier that many files have do not count.
    """
    if not query.names:
        return {}
    present: dict[str, list[str]] = {}
    read = 0
    for name in order:
        text = reader.read(name)
        if text is None:
            continue
        read += 1
        here = [identifier for identifier in query.names if identifier in text]
        if here:
            present[name] = here
    spread = Counter(chain.from_iterable(present.values()))
    common = max(3.0, _COMMON_SHARE * read)
    found = {}
    for name, here in present.items():
        text = reader.read(name) or ""
        defined = []
        used = []
        for identifier in here:
            if _is_defined(text, identifier):
                defined.append(identifier)
            elif spread[identifier] <= common:
                used.append(identifier)
        if defined or used:
            found[name] = _judge(name, defined, used)
    return found


def _judge(name: str, defined: Sequence[str], used: Sequence[str]) -> _Evidence:
    reasons = []
    if defined:
        listed = _list(defined)
        reasons.append(f"defines {listed}, which the issue names")
    if used:
        listed = _list(used)
        reasons.append(f"mentions {listed}")
    score = 8.0 * min(len(defined), 4)
    score += min(len(used), 4)
    if not name.endswith(_CODE_ENDS):
        score /= 2
    return _Evidence(score, " and ".join(reasons))


def _is_defined(text: str, identifier: str) -> bool:
    start = text.find(identifier)
    for _ in range(_OCCURRENCES):
        if start < 0:
            return False
        end = start + len(identifier)
        if _defines(text, start, end):
            return True
        start = text.find(identifier, end)
    return False


def _defines(text: str, start: int, end: int) -> bool:
    """Tell whether a name follows a word such as `def`, or begins a line and is
    assigned.
    """
    first = max(0, start - 40)
    before = text[first:start]
    after = text[end : end + 40]
    if _is_name_part(after[:1]):
        return False
    if _is_name_part(before[-1:]):
        return False
    if not before or before.endswith("\n"):
        rest = after.lstrip(" \t")
        if rest.startswith("=="):
            return False
        return rest.startswith(("=", ":"))
    if before[-1] not in " \t":
        return False
    line = before.rpartition("\n")[2]
    words = line.split()
    if not words:
        return False
    return words[-1] in _DEFINING_WORDS


def _is_name_part(character: str) -> bool:
    if character == "_":
        return True
    return character.isalnum()


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names[:3])
