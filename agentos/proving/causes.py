"""Tell a test that fails for missing behavior from one that is wrong itself."""

from __future__ import annotations

from collections.abc import Collection

from agentos.proving.runners.runs import CollectionError, TestResult

_STAND_INS = ("'NoneType'", "NotWrittenYet")
"""Words in the message of an operation on something that is not built yet."""

Failure = TestResult | CollectionError


def describe_cause(failure: Failure) -> str:
    """Return exception, first line of its message and place, as one line."""
    cause = failure.exception.rpartition(".")[2]
    if not cause:
        cause = "failed"
    message = failure.message.strip()
    if message:
        first = message.splitlines()[0]
        cause = f"{cause}: {first.strip()}"
    if failure.file:
        place = f"{failure.file}:{failure.line}"
        cause = f"{cause} ({place})"
    return cause


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
    kind = failure.exception.rpartition(".")[2]
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
    if kind == "TypeError" and not _is_about_stand_in(failure.message):
        return "the test itself makes a wrong call"
    return ""


def _is_about_stand_in(message: str) -> bool:
    return any(word in message for word in _STAND_INS)


def _is_planned_package(failure: Failure, planned: Collection[str]) -> bool:
    """Tell whether the missing module is a package that only planned modules bring."""
    if failure.exception == "ImportError":
        return False
    package = f"{failure.module}."
    return any(name.startswith(package) for name in planned)
