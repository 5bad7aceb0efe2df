"""Rank the files of a repository by their relevance to an issue, with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.mentions import Mention, Mentions, find_mentions
from agentos.repository.context.nearest_tests import find_nearest_tests
from agentos.repository.context.query import DOCUMENTS, Query, is_weak, name_words
from agentos.repository.look.listing import base_name
from agentos.repository.look.masking import shorten, show_name
from agentos.repository.look.naming import is_stub

MAX_NAMED = 40
MAX_OTHERS = 20
FEW = 5
"""Number of other files that are shown even with a low score."""
_SEVERAL = 4
_COMMON_SHARE = 0.25
_ENOUGH_NAMES = 4
_FRAME_SCORE = 20.0
_TESTS_SCORE = 6.0
_TITLE_SCORE = 10.0
_MODULE_SCORE = 30.0
_DECLARED_SCORE = 1_000
"""A file that a design changes comes before one that it only names."""
_LONGEST_SHOWN = 60
_ENOUGH = 1.0
_TELLING = 2.0
_LANGUAGES = """
.py .pyi .js .jsx .ts .tsx .mjs .cjs .go .rs .java .kt .kts .scala .rb .php .c .h .cc .cpp .hpp .cs .swift .m .ex .exs
.erl .hs .ml .clj .lua .sh .bash .sql .proto .graphql .vue .svelte .dart .r .jl .pl
"""
CODE_ENDS = tuple(_LANGUAGES.split())


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


@dataclass(frozen=True, slots=True)
class Ranking:
    """The files that are worth showing, the best first, and what they mention."""

    choices: tuple[FileChoice, ...]
    mentions: Mentions
    tests: tuple[str, ...]
    """The files of tests that are nearest to what is named."""


def rank(
    names: _Names,
    query: Query,
    files: BoundedFiles,
) -> Ranking:
    """Return the files that the issue names, then the others by their score."""
    named = _find_named(names, query)
    in_folders = _find_in_folders(names, query)
    similar = _find_similar(names, query)

    # Reading stops at a limit, so the likeliest files are read first.
    def likeliest(name: str) -> tuple[bool, float, bool, str]:
        score = _choose(name, in_folders, similar).score
        is_named = name in named
        is_code = name.endswith(CODE_ENDS)
        return not is_named, -score, not is_code, name

    order = sorted(names, key=likeliest)
    mentions = find_mentions(order, query, files, named)
    by_text = _find_by_mentions(mentions)
    tests = find_nearest_tests(names, mentions, files, named)
    of_tests = _tell_tests(tests)
    first = []
    others = []
    for name in order:
        if name in named:
            choice = _choose(name, named, of_tests, by_text)
            certain = replace(choice, is_named=True)
            first.append(certain)
            continue
        choice = _choose(name, of_tests, by_text, in_folders, similar)
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
    return Ranking(tuple(chosen), mentions, tuple(tests))


def _choose(
    name: str,
    *kinds: _Found,
) -> FileChoice:
    """Add up the evidence for a file; the first reason is shown."""
    score = 0.0
    reason = ""
    for found in kinds:
        if name not in found:
            continue
        evidence = found[name]
        score += evidence.score
        reason = reason or evidence.reason
    return FileChoice(name, score, reason)


def _best_first(choice: FileChoice) -> tuple[float, str]:
    return -choice.score, choice.name


def _find_named(
    names: _Names,
    query: Query,
) -> _Found:
    """Return the files that match a path of the issue, in full or by its end."""
    by_base: dict[str, list[str]] = {}
    for name in names:
        base = base_name(name)
        same = by_base.setdefault(base, [])
        same.append(name)
    found: _Found = {}
    reason = f"named in the {query.called}"
    for position, path in enumerate(query.paths):
        base = base_name(path)
        candidates = by_base.get(base, [])
        matches = _match(path, candidates)
        if path in DOCUMENTS:
            matches = _documents(path, names)
        if len(matches) > _SEVERAL:
            continue
        score = 100 - position
        for name in matches:
            if name in query.declared:
                score += _DECLARED_SCORE
            evidence = _Evidence(score, reason)
            found.setdefault(name, evidence)
    evidence = _Evidence(_MODULE_SCORE, reason)
    for name in query.names:
        # With dots, it is among the paths.
        if "." in name or is_weak(name):
            continue
        is_called = f"{name}(" in query.source
        if is_called:
            continue
        modules = by_base.get(f"{name}.py", [])
        if len(modules) == 1:
            module = modules[0]
            found.setdefault(module, evidence)
    return found


def _match(
    path: str,
    candidates: _Names,
) -> _Names:
    """Return the file with exactly this path, or else those whose path ends with it."""
    if path in candidates:
        return [path]
    end = f"/{path}"
    return [name for name in candidates if name.endswith(end)]


def _documents(
    title: str,
    names: _Names,
) -> _Names:
    matches = []
    for name in names:
        stem, _, _ = name.partition(".")
        if stem == title:
            matches.append(name)
    return matches


def _find_in_folders(
    names: _Names,
    query: Query,
) -> _Found:
    found: _Found = {}
    for path in query.paths:
        if "." in base_name(path):
            continue
        folder = f"{path}/"
        shown = show_name(folder)
        reason = f"in `{shown}`, which the {query.called} names"
        evidence = _Evidence(4, reason)
        for name in names:
            if name.startswith(folder):
                found.setdefault(name, evidence)
    return found


def _find_similar(
    names: _Names,
    query: Query,
) -> _Found:
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
        reason = f"{shown} in its path"
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
    names: _Names,
    wanted: Container[str],
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


def _wanted_words(
    path: str,
    wanted: Container[str],
) -> _Words:
    words = name_words(path)
    return {stem: word for stem, word in words.items() if stem in wanted}


def _find_by_mentions(mentions: Mentions) -> _Found:
    """Return the files that define or mention what the issue names.

    What many files mention does not count.
    """
    every = mentions.by_path.values()
    used_in = _count_files(mention.used for mention in every)
    common = _common_from(mentions.read)
    found = {}
    for name, mention in mentions.by_path.items():
        used = [each for each in mention.used if used_in[each] <= common]
        evidence = _judge(name, mention, used)
        is_titled = any(each in mentions.in_title for each in mention.defined)
        if is_titled:
            score = evidence.score + _TITLE_SCORE
            evidence = replace(evidence, score=score)
        if evidence.reason:
            found[name] = evidence
    return found


def _judge(
    name: str,
    mention: Mention,
    used: _Names,
) -> _Evidence:
    defined = mention.defined
    texts = mention.texts
    reason = ""
    if used:
        verb = "declares" if is_stub(name) else "mentions"
        reason = f"{verb} {_list(used)}"
    if texts:
        reason = f"has {_list(texts)}"
    if defined:
        reason = f"defines {_list(defined)}"
    if mention.frames:
        is_printed = any(frame.symbol for frame in mention.frames)
        reason = "in the traceback" if is_printed else "named with a line"
    score = 8.0 * _count_some(defined)
    score += 3.0 * _count_some(texts)
    score += _count_some(used)
    is_code = name.endswith(CODE_ENDS)
    if not is_code:
        score /= 2
    if mention.frames:
        score += _FRAME_SCORE
    return _Evidence(
        score,
        reason,
    )


def _tell_tests(tests: Mapping[str, str]) -> _Found:
    found = {}
    for path, name in tests.items():
        reason = f"tests of {_list([name])}"
        found[path] = _Evidence(_TESTS_SCORE, reason)
    return found


def _count_some(names: _Names) -> int:
    number = len(names)
    return min(number, _ENOUGH_NAMES)


def _list(names: _Names) -> str:
    quoted = []
    for name in names[:3]:
        short = shorten(name, _LONGEST_SHOWN)
        shown = show_name(short)
        quoted.append(f"`{shown}`")
    return ", ".join(quoted)
