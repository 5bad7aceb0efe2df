"""Tell a test that fails for missing behaviour from one that is itself at fault."""

from __future__ import annotations

from collections.abc import Collection

from agentos.proofs.runs import CollectionError, TestResult

_BUILTINS = "builtins"
_STAND_INS = ("'NoneType'", "NotWrittenYet")
"""What a message names when something was done with a thing that is to be built, and stands there empty as yet."""


def name_cause(failure: TestResult | CollectionError) -> str:
    """Return exception, first line of its message and place, as one line."""
    kind = failure.exception.rpartition(".")[2] or "failed"
    first = next((line.strip() for line in failure.message.splitlines() if line.strip()), "")
    place = f" ({failure.file}:{failure.line})" if failure.file else ""
    return f"{kind}: {first}{place}" if first else f"{kind}{place}"


def find_fault(failure: TestResult | CollectionError, path: str, planned: Collection[str]) -> str:
    """Return why a failure is the fault of the test at `path` itself, empty when the behaviour is what is missing.

    Taken for missing behaviour: an import of a planned module or of a name in it, a name that a planned module or
    class does not have yet, a planned function called in its new way, and any exception that is not one of a wrongly
    written test. Taken for the test's own fault: wrong syntax, a fixture that does not exist, a name that is not
    defined in it, a wrong call of something that is not planned, an import of anything else.

    Which exceptions count is not narrowed further, also not when every planned module is new: a test that runs the
    code in another process sees its absence as whatever comes of an empty output or a file that is not there. Tests
    whose failure has to do with the stand-in for the code alone, such as those that read its text, are refused before
    they are run.
    """
    kind = failure.exception.rpartition(".")[2]
    is_in_test = failure.file in ("", path) or failure.file.endswith("conftest.py")
    cause = name_cause(failure)
    if kind in ("SyntaxError", "IndentationError", "TabError"):
        return f"{cause}; this is not valid Python"
    if kind in ("ModuleNotFoundError", "ImportError"):
        if not failure.module:
            return f"{cause}; the import names no module of the design"
        return "" if _is_planned_import(failure, planned) else f"{cause}; the design plans no module {failure.module}"
    if isinstance(failure, CollectionError) and not _is_planned(failure.module, planned):
        return f"{cause}; the file cannot be collected"
    if kind == "AttributeError" and is_in_test:
        is_missing = failure.module in (_BUILTINS, "") or _is_planned(failure.module, planned)
        return "" if is_missing else f"{cause}; {failure.module} is not part of the design"
    if kind == "TypeError" and is_in_test:
        is_stand_in = any(word in failure.message for word in _STAND_INS)
        is_missing = is_stand_in or _is_planned(failure.module, planned)
        return "" if is_missing else f"{cause}; the test itself makes a wrong call"
    if kind == "FixtureLookupError":
        return f"{cause}; define the fixture or do without it"
    if kind in ("NameError", "UnboundLocalError") and is_in_test:
        return f"{cause}; define or import the name"
    return ""


def _is_planned_import(failure: TestResult | CollectionError, planned: Collection[str]) -> bool:
    """Tell whether a planned module, a package that only it brings, or a name in it is what is missing."""
    if failure.exception == "ImportError":
        return _is_planned(failure.module, planned)
    return any(name == failure.module or name.startswith(f"{failure.module}.") for name in planned)


def _is_planned(module: str, planned: Collection[str]) -> bool:
    return bool(module) and module in planned
