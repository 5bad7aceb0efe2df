"""Tell a test that fails for missing behavior from one that is wrong itself."""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from agentos.proving.runners.runs import (
    CollectionError,
    TestOutcome,
    TestResult,
    TestRun,
)

_STAND_INS = ("'NoneType'", "NotWrittenYet")
"""Words in the message of an operation on something that is not built yet."""

_SIGNATURE = re.compile(r"\(\) (?:missing|takes|got)\b")
"""A call that does not fit the function."""
_QUOTED = re.compile(r"'([\w.]+)'")
_BUILTINS = frozenset(dir(builtins))
_FAILED = (TestOutcome.FAILED, TestOutcome.ERROR)

Failure = TestResult | CollectionError
Cause = tuple[str, str, str]
"""Exception, first line of the message, and place: equal for failures of one cause."""

_PASSING = re.compile(r"0x[0-9a-f]{4,}|/(?:tmp|var/tmp)/[^\s'\":,]+")
"""Parts of a message that differ from test to test."""


def describe_cause(failure: Failure) -> str:
    """Return exception, first line of its message and place, as one line."""
    cause = _short(failure.exception)
    if not cause:
        cause = "failed"
    message = _first_line(failure)
    if message:
        cause = f"{cause}: {message}"
    if failure.file:
        place = f"{failure.file}:{failure.line}"
        cause = f"{cause} ({place})"
    return cause


class CauseGroup(NamedTuple):
    """The failures of one cause, in their order."""

    description: str
    failures: list[Failure]

    @property
    def names(self) -> list[str]:
        """The tests and files that fail for it."""
        return list(map(name_of, self.failures))


def name_of(failure: Failure) -> str:
    """Return the id of a test, or the path of a file that cannot be collected."""
    if isinstance(failure, CollectionError):
        return failure.path
    return failure.id


def failures_of(run: TestRun) -> list[Failure]:
    """Return what failed, files that could not be collected first."""
    failures: list[Failure] = list(run.collection_errors)
    for test in run.tests:
        outcome = test.outcome
        is_failure = outcome in _FAILED
        if is_failure:
            failures.append(test)
    return failures


def group_by_cause(failures: Iterable[Failure]) -> list[CauseGroup]:
    """Return the failures by cause, in the order of the first of each."""
    groups: dict[Cause, CauseGroup] = {}
    for failure in failures:
        cause = cause_of(failure)
        group = groups.get(cause)
        if group is None:
            description = describe_cause(failure)
            group = CauseGroup(description, [])
            groups[cause] = group
        group.failures.append(failure)
    return list(groups.values())


def cause_of(failure: Failure) -> Cause:
    """Return what failures of one cause have in common.

    A place in the test itself says nothing, unless it is that of an assertion.
    """
    kind = failure.exception
    if not kind and isinstance(failure, TestResult):
        outcome = failure.outcome
        kind = outcome.value
    message = _first_line(failure)
    message = _PASSING.sub("...", message)
    place = f"{failure.file}:{failure.line}"
    is_own = failure.file == failure.path
    if is_own and not _is_assertion(kind):
        place = ""
    return kind, message, place


def _first_line(failure: Failure) -> str:
    """Return the first line of the message, empty if there is none."""
    message = failure.message.strip()
    line, _, _ = message.partition("\n")
    return line.strip()


def causes_of(run: TestRun) -> dict[Cause, str]:
    """Return the causes for which tests of a run fail, each with the first of them."""
    found: dict[Cause, str] = {}
    for failure in failures_of(run):
        cause = cause_of(failure)
        name = name_of(failure)
        found.setdefault(cause, name)
    return found


def find_old_cause(
    failure: Failure, planned: Collection[str], known: Mapping[Cause, str]
) -> str:
    """Return the test that failed for the same cause before anything was built, empty
    if there is none.

    What is about a planned module, or is raised in one, is missing behavior, also when
    a test of the repository already asks for it.
    """
    if failure.module and failure.module in planned:
        return ""
    if _is_planned_file(failure.file, planned):
        return ""
    # Two tests may fail alike by chance, but not two that cannot find the same file.
    is_own = failure.file == failure.path
    if is_own and not _is_of_surroundings(failure.exception):
        return ""
    cause = cause_of(failure)
    return known.get(cause, "")


def _is_assertion(kind: str) -> bool:
    name = _short(kind)
    return name in ("AssertionError", "Failed")


def _short(kind: str) -> str:
    """Return the name of an exception without its module."""
    _, _, name = kind.rpartition(".")
    return name


def _is_of_surroundings(kind: str) -> bool:
    """Tell whether an exception says what the machine or the environment lacks."""
    if kind.startswith("subprocess."):
        return True
    known = getattr(builtins, kind, None)
    if not isinstance(known, type):
        return False
    return issubclass(known, OSError | ImportError)


def _is_planned_file(file: str, planned: Collection[str]) -> bool:
    path = file.removesuffix(".py")
    path = path.removesuffix("/__init__")
    module = path.replace("/", ".")
    if module in planned:
        return True
    for name in planned:
        ending = f".{name}"
        if module.endswith(ending):
            return True
    return False


def find_fault(failure: Failure, path: str, planned: Collection[str]) -> str:
    """Return why the test at `path` is wrong itself, empty when it fails for missing
    behavior.

    These count as missing behavior: an import of a planned module or of a name in it, a
    name that a planned module or class does not have yet, a planned function called in
    its new way, and any exception that is not typical of a wrong test. These count as
    the test's own fault: wrong syntax, a fixture that does not exist, a name that is
    not defined in it, a wrong call of something that is not planned, any other import.

    The exceptions are not narrowed further, even when every planned module is new: a
    test that runs the code in another process may fail in any way because of an empty
    output or a missing file. Tests that only fail because of the stand-in for the code,
    such as those that read its text, are refused before they are run.
    """
    fault = _fault(failure, path, planned)
    if not fault:
        return ""
    cause = describe_cause(failure)
    return f"{cause}; {fault}"


def _fault(failure: Failure, path: str, planned: Collection[str]) -> str:
    module = failure.module
    is_planned = module in planned
    if not module:
        is_planned = False
    kind = _short(failure.exception)
    match kind:
        case "SyntaxError" | "IndentationError" | "TabError":
            return "this is not valid Python"
        case "ModuleNotFoundError" | "ImportError":
            if not module:
                return "the import names no module of the design"
            if is_planned or _is_planned_package(failure, planned):
                return ""
            return f"the design plans no module {module}"
    if not is_planned and isinstance(failure, CollectionError):
        return "the file cannot be collected"
    if kind == "FixtureLookupError":
        return "define the fixture or do without it"
    # Code that is not written yet may fail in any way, so only a failure in the test or
    # in a conftest can be the test's own. No file means: nowhere in the repository.
    is_in_test = failure.file in ("", path)
    if not is_in_test and not failure.file.endswith("conftest.py"):
        return ""
    if kind in ("NameError", "UnboundLocalError"):
        return "define or import the name"
    if is_planned:
        return ""
    # An attribute of a builtin, such as None: planned code may return nothing yet.
    if kind == "AttributeError" and module not in ("builtins", ""):
        return f"{module} is not part of the design"
    if kind == "TypeError" and _is_wrong_call(failure.message):
        return "the test itself makes a wrong call"
    return ""


def _is_wrong_call(message: str) -> bool:
    """Tell whether a call does not fit its function; an object without a length or an
    order lacks what may be asked for.
    """
    if _is_about_stand_in(message):
        return False
    if _SIGNATURE.search(message):
        return True
    named = _QUOTED.findall(message)
    return _BUILTINS.issuperset(named)


def _is_about_stand_in(message: str) -> bool:
    return any(word in message for word in _STAND_INS)


def _is_planned_package(failure: Failure, planned: Collection[str]) -> bool:
    """Tell whether the missing module is a package that only planned modules bring."""
    if failure.exception == "ImportError":
        return False
    package = f"{failure.module}."
    return any(name.startswith(package) for name in planned)
