"""Order a repository's files by what an issue says of them, each with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from agentos.codemap.query import Query, name_words
from agentos.codemap.reading import Reader
from agentos.codemap.showing import show_name

MAX_NAMED = 40
MAX_OTHERS = 20
FEW = 5
"""So many are shown also when little speaks for them."""
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
_DEFINING = "def class function func fn struct interface type enum trait const let var module record protocol table mod"
_DEFINING_WORDS = frozenset(_DEFINING.split())


@dataclass(frozen=True, slots=True)
class Choice:
    """A file that is worth showing, and why."""

    name: str
    score: float
    reason: str
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class _Sign:
    """Something that speaks for a file."""

    score: float
    reason: str


def rank(names: Sequence[str], query: Query, reader: Reader) -> tuple[Choice, ...]:
    """Return the files that the issue names, then those that define or use what it names, then those named alike."""
    named = _find_named(names, query)
    alike = _find_alike(names, query)
    in_named_folders = _find_in_folders(names, query)
    cheap = {name: _add_up(name, in_named_folders, alike) for name in names}
    order = sorted(names, key=lambda name: (name not in named, -cheap[name], not name.endswith(_CODE_ENDS), name))
    by_text = _find_by_text(order, query, reader)
    choices = []
    for name in order:
        kinds = (named, by_text) if name in named else (by_text, in_named_folders, alike)
        signs = [found[name] for found in kinds if name in found]
        score = sum(sign.score for sign in signs)
        if name in named or score >= _ENOUGH:
            choices.append(Choice(name, score, "; ".join(sign.reason for sign in signs[:2]), name in named))
    choices.sort(key=lambda choice: (-choice.score, choice.name))
    first = [choice for choice in choices if choice.is_named][:MAX_NAMED]
    others = [choice for choice in choices if not choice.is_named][:MAX_OTHERS]
    return (*first, *(choice for position, choice in enumerate(others) if position < FEW or choice.score >= _TELLING))


def _add_up(name: str, *signs: dict[str, _Sign]) -> float:
    return sum(found[name].score for found in signs if name in found)


def _find_named(names: Sequence[str], query: Query) -> dict[str, _Sign]:
    """Return the files that a path of the issue means, as a whole or by its end."""
    by_base: dict[str, list[str]] = {}
    for name in names:
        by_base.setdefault(name.rpartition("/")[2], []).append(name)
    found: dict[str, _Sign] = {}
    for position, path in enumerate(query.paths):
        same = [n for n in by_base.get(path.rpartition("/")[2], ()) if n == path or n.endswith(f"/{path}")]
        meant = [path] if path in same else same
        for name in meant if len(meant) <= _SEVERAL else ():
            found.setdefault(name, _Sign(100 - position, "named in the issue"))
    return found


def _find_in_folders(names: Sequence[str], query: Query) -> dict[str, _Sign]:
    folders = tuple(f"{path}/" for path in query.paths if "." not in path.rpartition("/")[2])
    found = {}
    for name in names if folders else ():
        if name.startswith(folders):
            folder = next(folder for folder in folders if name.startswith(folder))
            found[name] = _Sign(4, f"lies in `{show_name(folder)}`, which the issue names")
    return found


def _find_alike(names: Sequence[str], query: Query) -> dict[str, _Sign]:
    """Return the files whose path has words of the issue; the rarer a word is among the files, the more it counts."""
    words_of = dict(_shared_words(names, query.words))
    spread = Counter(stem for words in words_of.values() for stem in words)
    common = max(3.0, _COMMON_SHARE * len(names))
    found = {}
    for name, words in words_of.items():
        telling = sorted((stem for stem in words if spread[stem] <= common), key=lambda stem: (spread[stem], stem))
        if telling:
            base = name_words(name.rpartition("/")[2])
            points = sum((1.5 if stem in base else 0.5) * (1 if spread[stem] <= 5 else 0.6) for stem in telling)
            shown = " and ".join(f"'{words[stem]}'" for stem in telling[:2])
            found[name] = _Sign(min(points, 5.0), f"its path has {shown}, as the issue")
    return found


def _shared_words(names: Sequence[str], wanted: Container[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each path with its words that are wanted; those of a folder are looked up once."""
    of_folders: dict[str, dict[str, str]] = {}
    for name in names:
        folder, _, base = name.rpartition("/")
        if folder not in of_folders:
            of_folders[folder] = {stem: word for stem, word in name_words(folder).items() if stem in wanted}
        own = {stem: word for stem, word in name_words(base).items() if stem in wanted}
        yield name, of_folders[folder] | own if own else of_folders[folder]


def _find_by_text(order: Sequence[str], query: Query, reader: Reader) -> dict[str, _Sign]:
    """Return the files that define or mention a name of the issue; a name that many files mention says little."""
    present: dict[str, list[str]] = {}
    read = 0
    for name in order if query.names else ():
        text = reader.read(name)
        read += text is not None
        if text and (here := [identifier for identifier in query.names if identifier in text]):
            present[name] = here
    spread = Counter(identifier for here in present.values() for identifier in here)
    common = max(3.0, _COMMON_SHARE * read)
    found = {}
    for name, here in present.items():
        text = reader.read(name) or ""
        defined = [identifier for identifier in here if _is_defined(text, identifier)]
        used = [identifier for identifier in here if identifier not in defined and spread[identifier] <= common]
        if defined or used:
            found[name] = _judge(name, defined, used)
    return found


def _judge(name: str, defined: Sequence[str], used: Sequence[str]) -> _Sign:
    reasons = []
    if defined:
        reasons.append(f"defines {_list(defined)}, which the issue names")
    if used:
        reasons.append(f"mentions {_list(used)}")
    weight = 1.0 if name.endswith(_CODE_ENDS) else 0.5
    return _Sign(weight * (8 * min(len(defined), 4) + min(len(used), 4)), " and ".join(reasons[:2]))


def _is_defined(text: str, identifier: str) -> bool:
    return any(_defines(text, start, start + len(identifier)) for start in _occurrences(text, identifier))


def _occurrences(text: str, identifier: str) -> Iterator[int]:
    start = text.find(identifier)
    for _ in range(_OCCURRENCES):
        if start < 0:
            return
        yield start
        start = text.find(identifier, start + len(identifier))


def _defines(text: str, start: int, end: int) -> bool:
    """Tell whether a name stands after a word such as `def`, or at a line's beginning before an assignment."""
    before = text[max(0, start - 40) : start]
    after = text[end : end + 40]
    if after[:1].isalnum() or after[:1] == "_" or before[-1:].isalnum() or before[-1:] == "_":
        return False
    if not before or before.endswith("\n"):
        return after.lstrip(" \t")[:1] in ("=", ":") and not after.lstrip(" \t").startswith("==")
    words = before.rpartition("\n")[2].split()
    return before[-1] in " \t" and bool(words) and words[-1] in _DEFINING_WORDS


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names[:3])
