"""Find the tests of what an issue names, and show how they begin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from agentos.documents.changes import is_named_as_test, is_test
from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.mentions import Mentions
from agentos.repository.context.query import name_words
from agentos.repository.look.definitions import is_python
from agentos.repository.look.listing import base_name
from agentos.repository.look.masking import show_name
from agentos.repository.look.showing import fit, number_lines
from agentos.repository.look.texts import FileText
from agentos.state.wording import count

_MOST_NAMES = 3
_MOST_COUNTED = 50
_IN_PATH = 100
"""How much it counts that a file of tests is called as what it tests."""
_HEAD_LINES = 60


def find_nearest_tests(
    paths: Iterable[str],
    mentions: Mentions,
    files: BoundedFiles,
    named: Iterable[str],
) -> dict[str, str]:
    """Return the file of tests of each of the first names that are defined, then those
    that are called as the files that the issue names or quotes; with what they test.
    """
    tests = [path for path in paths if is_python(path) and is_test(path)]
    found: dict[str, str] = {}
    for name in mentions.defined[:_MOST_NAMES]:
        best = _best(tests, name, files)
        if best:
            found.setdefault(best, name)
    quoted = [path for path, mention in mentions.by_path.items() if mention.has_lines]
    modules = [path for path in [*named, *quoted] if is_python(path)]
    for module in modules[:_MOST_NAMES]:
        for test in _called_as(module, tests):
            found.setdefault(test, module)
    return found


def show_head(
    path: str,
    files: BoundedFiles,
    limit: int,
) -> Iterator[str]:
    """Yield the beginning of a file of tests: what it imports, prepares and shares."""
    text = files.read(path)
    if text is None:
        return
    last = _line_before_tests(text, files)
    while last and not text.lines[last - 1].strip():
        last -= 1
    if not last:
        return
    size = count(len(text.lines), "line")
    name = show_name(path)
    head = f"#### `{name}` (how the nearest tests begin; {size}{text.remark})"
    rows = number_lines(text.lines, [(1, last)])
    yield fit([head, "", *rows], limit)


def largest_test_file(
    paths: Iterable[str],
    files: BoundedFiles,
) -> str:
    """Return the file with the most text among the tests, empty if there is none."""
    sizes = []
    for path in paths:
        if not is_python(path) or not is_named_as_test(path):
            continue
        text = files.read(path)
        if text is not None and base_name(path) != "conftest.py":
            sizes.append((-len(text.source), path))
    return min(sizes)[1] if sizes else ""


def _best(
    tests: Sequence[str],
    name: str,
    files: BoundedFiles,
) -> str:
    """Return the file of tests that mentions a name most; its path counts, too."""
    _, _, last = name.rpartition(".")
    word = re.compile(rf"(?<!\w){re.escape(last)}(?!\w)")
    words = set(name_words(name))
    best = ""
    most = 0
    for path in tests:
        text = files.read(path)
        if text is None or last not in text.source:
            continue
        number = len(word.findall(text.source))
        score = min(number, _MOST_COUNTED)
        base = base_name(path)
        if score and not words.isdisjoint(name_words(base)):
            score += _IN_PATH
        if score > most:
            most = score
            best = path
    return best


def _called_as(
    module: str,
    tests: Sequence[str],
) -> Iterator[str]:
    """Yield the tests that have the name of a module in theirs."""
    stem = base_name(module).removesuffix(".py")
    names = (f"test_{stem}.py", f"{stem}_test.py")
    for test in tests:
        if base_name(test) in names:
            yield test


def _line_before_tests(
    text: FileText,
    files: BoundedFiles,
) -> int:
    """Return the last line above the first test."""
    last = min(len(text.lines), _HEAD_LINES)
    for definition in files.definitions(text.path):
        _, _, name = definition.name.rpartition(".")
        if name.startswith("test"):
            return min(last, definition.first - 1)
    return last
