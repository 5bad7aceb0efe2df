"""Describe how a repository is built and how its tests are run, from its own files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentos.documents.changes import is_named_as_test
from agentos.documents.strict_json import StrictJsonError, load_strict
from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.python_versions import describe_python
from agentos.repository.context.running import infer_test_run
from agentos.repository.look.listing import base_name
from agentos.repository.look.masking import MASK, shorten, show_name
from agentos.repository.look.showing import merge, number_lines
from agentos.repository.look.texts import FileText
from agentos.state.wording import count

_PROJECT_LIMIT = 100_000
_CONFIGURED = """
pytest.ini .pytest.ini setup.cfg tox.ini noxfile.py makefile justfile tasks.py .travis.yml .gitlab-ci.yml cargo.toml go.mod
pom.xml build.gradle build.gradle.kts cmakelists.txt mix.exs gemfile composer.json
"""
_CONFIGURATIONS = frozenset(_CONFIGURED.split())
_WORKFLOWS = ".github/workflows/"
_SCRIPTS = ("test", "tests", "test.sh", "run_tests.sh", "check")
_SECTIONS = ("pytest", "tool:pytest", "testenv")
_RUNS = re.compile(
    r"\b(?:pytest|py\.test|unittest|tox|nox|coverage run|make (?:test|check)|npm test"
    r"|npm run test|yarn test|cargo test|go test|hatch (?:run )?test|scripts/test"
    r"|mvn test|gradle test|rspec|phpunit|ctest)\b"
)
_MOST_FILES = 8
_LINES_OF_FILE = 6
_LINES_OF_SECTION = 12
_LONGEST_RUN = 200
_TEST_FOLDERS = 5
_FIXTURES = "conftest.py"
_MOST_FIXTURES = 12
_MOST_ENTRIES = 20
_LONGEST_VALUE = 240
_OPTIONAL = "optional dependencies (tests get those of a test or dev group)"

Rows = list[str]


def describe_building(
    paths: Sequence[str], files: BoundedFiles, shown: Iterable[str]
) -> Iterator[str]:
    """Yield paragraphs: the project, its tests, its fixtures, and the lines of other
    files that run tests; not of files that are `shown` elsewhere.
    """
    hidden = set(shown)
    rows: Rows = []
    for path, summarize in _PROJECTS.items():
        if path in hidden:
            continue
        text = files.read(path)
        if text is None:
            continue
        if len(text.source) <= _PROJECT_LIMIT:
            summary = summarize(text.source)
            rows.append(f"- `{path}`: {summary}")
    rows += describe_python(files)
    rows += _describe_tests(paths)
    rows += _describe_fixtures(paths, files)
    runs = list(_show_runs(paths, files, hidden))
    if not runs:
        rows += infer_test_run(paths, files)
    if rows:
        yield "\n".join(rows)
    yield from runs


def _show_runs(
    paths: Sequence[str], files: BoundedFiles, hidden: Container[str]
) -> Iterator[str]:
    """Yield the lines of each file that says how tests are run."""
    found = 0
    for path in sorted(filter(_runs_tests, paths)):
        if path in hidden or found == _MOST_FILES:
            continue
        lines = _lines_about_tests(path, files)
        if not lines:
            continue
        found += 1
        name = show_name(path)
        title = f"`{name}`:"
        yield "\n".join([title, *lines])


def find_test_runs(text: FileText) -> list[int]:
    """Return the numbers of the first lines that run tests."""
    numbers = []
    for number, line in enumerate(text.lines, 1):
        if len(line) <= _LONGEST_RUN and _RUNS.search(line):
            numbers.append(number)
        if len(numbers) == _LINES_OF_FILE:
            break
    return numbers


def _runs_tests(path: str) -> bool:
    """Tell whether a file is one that may say how tests are run."""
    if path.startswith(_WORKFLOWS):
        return path.endswith((".yml", ".yaml"))
    folder, _, base = path.rpartition("/")
    if folder in ("scripts", "script", "bin"):
        return base in _SCRIPTS
    return not folder and base.casefold() in _CONFIGURATIONS


def _lines_about_tests(path: str, files: BoundedFiles) -> Rows:
    text = files.read(path)
    if text is None:
        return []
    ranges = []
    if path.endswith((".ini", ".cfg")):
        for section in files.definitions(path):
            if section.name.startswith(_SECTIONS):
                last = min(section.last, section.first + _LINES_OF_SECTION)
                ranges.append((section.first, last))
    if not ranges:
        ranges = [(number, number) for number in find_test_runs(text)]
    return number_lines(text.lines, merge(ranges))


def _describe_tests(paths: Sequence[str]) -> Rows:
    """Return where the tests are and what they are called."""
    in_folder: dict[str, list[str]] = {}
    total = 0
    for path in filter(is_named_as_test, paths):
        folder, _, base = path.rpartition("/")
        if base == _FIXTURES:
            continue
        total += 1
        same = in_folder.setdefault(folder or ".", [])
        same.append(base)
    if not total:
        return []
    parts = []
    frequent = sorted(in_folder, key=lambda folder: (-len(in_folder[folder]), folder))
    for folder in frequent[:_TEST_FOLDERS]:
        bases = in_folder[folder]
        number = count(len(bases), "file")
        example = show_name(bases[0])
        shown = show_name(folder)
        parts.append(f"`{shown}/`: {number}, such as {example}")
    listed = "; ".join(parts)
    return [f"- tests, {count(total, 'file')}: {listed}"]


def _describe_fixtures(paths: Iterable[str], files: BoundedFiles) -> Rows:
    rows: Rows = []
    for path in paths:
        if base_name(path) != _FIXTURES or len(rows) == _TEST_FOLDERS:
            continue
        text = files.read(path)
        if text is None:
            continue
        names = []
        for definition in files.definitions(path):
            decorators = text.lines[definition.first - 1 : definition.line - 1]
            if any("fixture" in line for line in decorators):
                names.append(show_name(definition.name))
        if names:
            listed = ", ".join(names[:_MOST_FIXTURES])
            rows.append(f"- fixtures in `{show_name(path)}`: {listed}")
    return rows


def _python_project(text: str) -> str:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return _unreadable("TOML", text)
    project = _table(data, "project")
    tools = _table(data, "tool")
    line_length = _table(tools, "ruff").get("line-length")
    if not line_length:
        line_length = _table(tools, "black").get("line-length")
    rows = [
        ("name", project.get("name")),
        ("dependencies", project.get("dependencies")),
        (_OPTIONAL, _table(project, "optional-dependencies")),
        ("dependency groups", _table(data, "dependency-groups")),
        ("commands", _table(project, "scripts")),
        ("poetry dependencies", _table(_table(tools, "poetry"), "dependencies")),
        ("build backend", _table(data, "build-system").get("build-backend")),
        ("tools configured", list(tools)),
        ("line length", line_length),
        ("pytest", _table(_table(tools, "pytest"), "ini_options")),
    ]
    return _join(rows)


def _node_project(text: str) -> str:
    try:
        data = load_strict(text)
    except StrictJsonError:
        return _unreadable("JSON", text)
    if not isinstance(data, dict):
        return "is not a JSON object"
    names = (
        "name",
        "type",
        "engines",
        "scripts",
        "dependencies",
        "devDependencies",
        "workspaces",
        "packageManager",
    )
    return _join([(name, data.get(name)) for name in names])


def _unreadable(language: str, text: str) -> str:
    if MASK in text:
        return "has lines that look like a credential, and is not summarized"
    return f"is not valid {language}"


def _table(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    if not isinstance(value, dict):
        return {}
    return value


def _join(rows: Iterable[tuple[str, Any]]) -> str:
    parts = []
    for name, value in rows:
        if value:
            shown = shorten(_flat(value), _LONGEST_VALUE)
            parts.append(f"{name}: {shown}")
    return "; ".join(parts) or "says nothing of note"


def _flat(value: Any) -> str:
    """Show a value on one line; of nested tables only the names."""
    if isinstance(value, dict):
        pairs = []
        for name, inner in value.items():
            is_table = isinstance(inner, dict)
            pairs.append(name if is_table else f"{name}={_flat(inner)}")
        value = pairs
    if isinstance(value, list):
        shown = []
        for entry in value[:_MOST_ENTRIES]:
            is_nested = isinstance(entry, list | dict)
            shown.append("..." if is_nested else _flat(entry))
        if len(value) > _MOST_ENTRIES:
            shown.append("...")
        return ", ".join(shown)
    return " ".join(shorten(str(value), 160).replace("`", "'").split())


_PROJECTS = {"pyproject.toml": _python_project, "package.json": _node_project}
