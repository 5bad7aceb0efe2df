"""Rank the files of a repository by their relevance to an issue, with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
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
_ENOUGH_NAMES = 4
_NEARBY = 40
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


_Names = Sequence[str]
_Found = dict[str, _Evidence]
"""Evidence by the path of the file."""
_Words = dict[str, str]
"""Words of a path by their stems."""


def rank(names: _Names, query: Query, reader: Reader) -> tuple[FileChoice, ...]:
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
            certain = replace(choice, is_named=True)
            first.append(certain)
            continue
        choice = _choose(name, by_text, in_folders, similar)
        if choice.score >= _ENOUGH:
            others.append(choice)
    first.sort(key=_best_first)
    others.sort(key=_best_first)
    chosen = first[:MAX_NAMED]
    chosen += others[:FEW]
    rest = others[FEW:MAX_OTHERS]
    for choice in rest:
        # All that follow have a lower score, too.
        if choice.score < _TELLING:
            break
        chosen.append(choice)
    return tuple(chosen)


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


def _find_named(names: _Names, query: Query) -> _Found:
    """Return the files that match a path of the issue, in full or by its end."""
    by_base: dict[str, list[str]] = {}
    for name in names:
        base = base_name(name)
        same = by_base.setdefault(base, [])
        same.append(name)
    found: _Found = {}
    for position, path in enumerate(query.paths):
        base = base_name(path)
        candidates = by_base.get(base, [])
        matches = _match(path, candidates)
        if len(matches) > _SEVERAL:
            continue
        score = 100 - position
        evidence = _Evidence(score, "named in the issue")
        for name in matches:
            found.setdefault(name, evidence)
    return found


def _match(path: str, candidates: _Names) -> _Names:
    """Return the file with exactly this path, or else those whose path ends with it."""
    if path in candidates:
        return [path]
    end = f"/{path}"
    return [name for name in candidates if name.endswith(end)]


def _find_in_folders(names: _Names, query: Query) -> _Found:
    found: _Found = {}
    for path in query.paths:
        if "." in base_name(path):
            continue
        folder = f"{path}/"
        shown = show_name(folder)
        reason = f"lies in `{shown}`, which the issue names"
        evidence = _Evidence(4, reason)
        for name in names:
            if name.startswith(folder):
                found.setdefault(name, evidence)
    return found


def _find_similar(names: _Names, query: Query) -> _Found:
    """Return the files whose path has words of the issue.

    The fewer files have a word, the more it counts.
    """
    shared = _shared_words(names, query.words)
    words_of = dict(shared)
    spread = _count_files(words_of.values())
    common = _common_from(len(names))

    def rarest_first(stem: str) -> tuple[int, str]:
        return spread[stem], stem

    found = {}
    for name, words in words_of.items():
        rare = [stem for stem in words if spread[stem] <= common]
        if not rare:
            continue
        rare.sort(key=rarest_first)
        base = base_name(name)
        words_of_base = name_words(base)
        points = 0.0
        for stem in rare:
            weight = 0.5
            if stem in words_of_base:
                weight = 1.5
            if spread[stem] > 5:
                weight *= 0.6
            points += weight
        quoted = []
        for stem in rare[:2]:
            word = words[stem]
            quoted.append(f"'{word}'")
        shown = " and ".join(quoted)
        reason = f"its path has {shown}, as the issue"
        score = min(points, 5.0)
        found[name] = _Evidence(score, reason)
    return found


def _count_files(words: Iterable[Iterable[str]]) -> Counter[str]:
    """Return how many files have each word, given the words of each file."""
    every = chain.from_iterable(words)
    return Counter(every)


def _common_from(total: int) -> float:
    """Return the number of files above which a word is too common to tell anything."""
    share = _COMMON_SHARE * total
    return max(3.0, share)


def _shared_words(
    names: _Names, wanted: Container[str]
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


def _find_by_text(order: _Names, query: Query, reader: Reader) -> _Found:
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
    spread = _count_files(present.values())
    common = _common_from(read)
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
            evidence = _judge(name, defined, used)
            found[name] = evidence
    return found


def _judge(name: str, defined: _Names, used: _Names) -> _Evidence:
    reasons = []
    if defined:
        listed = _list(defined)
        reasons.append(f"defines {listed}, which the issue names")
    if used:
        listed = _list(used)
        reasons.append(f"mentions {listed}")
    definitions = min(len(defined), _ENOUGH_NAMES)
    mentions = min(len(used), _ENOUGH_NAMES)
    score = 8.0 * definitions + mentions
    if not name.endswith(_CODE_ENDS):
        score /= 2
    reason = " and ".join(reasons)
    return _Evidence(score, reason)


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
    first = max(0, start - _NEARBY)
    before = text[first:start]
    last = end + _NEARBY
    after = text[end:last]
    preceding = before[-1:]
    following = after[:1]
    if _is_name_part(following):
        return False
    if _is_name_part(preceding):
        return False
    if preceding in ("", "\n"):
        rest = after.lstrip(" \t")
        if rest.startswith("=="):
            return False
        return rest.startswith(("=", ":"))
    if preceding not in " \t":
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


def _list(names: _Names) -> str:
    quoted = [f"`{name}`" for name in names[:3]]
    return ", ".join(quoted)
