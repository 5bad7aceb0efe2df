"""Read which lines the test writer says no test can reach here.

They are left out of the coverage, and the reviewer of the code sees them with the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentos.documents.markdown import LineKind, scan
from agentos.proving.judging import UnreachableLines
from agentos.workflows.implementation.state import ImplementationState

HOW_TO_SAY = "unreachable: PATH 12-14: REASON"
_LONGEST = 2_000
_MOST = 100
_LINE = re.compile(
    r"[-*` ]{0,6}unreachable:[* ]*`?(?P<path>[^\s`]+)`?[ ,]+(?:lines? )?"
    r"(?P<first>[0-9]{1,7})(?:[-\u2013](?P<last>[0-9]{1,7}))?`?:[ ]*(?P<reason>\S.*)",
    re.IGNORECASE,
)


def read_unreachable(answer: str) -> list[UnreachableLines]:
    """Return the lines that an answer names, each with its reason."""
    found = []
    for row in scan(answer):
        if row.kind in (LineKind.CODE, LineKind.FENCE):
            continue
        match = _LINE.match(row.text[:_LONGEST])
        if match is None:
            continue
        first = int(match["first"])
        last = first
        if match["last"]:
            last = int(match["last"])
        reason = match["reason"]
        reason = reason.strip(" `*")
        named = UnreachableLines(match["path"], first, last, reason)
        found.append(named)
    return found[:_MOST]


def as_data(named: Iterable[UnreachableLines]) -> list[list[str]]:
    """Return lines as plain data for the state."""
    data = []
    for one in named:
        row = [one.path, str(one.first), str(one.last), one.reason]
        data.append(row)
    return data


def named_in(state: ImplementationState) -> list[UnreachableLines]:
    """Return all lines that the test writer has named."""
    found = []
    for path, first, last, reason in state.get("unreachable", ()):
        named = UnreachableLines(path, int(first), int(last), reason)
        found.append(named)
    return found
