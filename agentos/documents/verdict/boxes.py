"""Read a list of check boxes that offers decisions."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.documents.verdict.decisions import read_decision
from agentos.documents.verdict.marks import Box, Option
from agentos.documents.verdict.model import Decision, VerdictError


def read_boxes(run: Sequence[tuple[int, Option]], *, is_verdict: bool) -> tuple[int, Option] | None:
    """Return the one checked box of a list with its line, None when the list offers no decision.

    In a verdict section a list with a decision must have exactly one box checked, or `VerdictError` is raised.
    Elsewhere a list counts only when every box of it is a decision in capitals: other lists are to-do lists.
    """
    stated = [read_decision(option.text) for _, option in run]
    if not any(stated) or (not is_verdict and not all(one is not None and one.is_emphatic for one in stated)):
        return None
    checked = [entry for entry in run if entry[1].box in (Box.CHECKED, Box.STRANGE)]
    if len(checked) > 1:
        raise VerdictError(f"two boxes are checked, on line {checked[0][0]} too", checked[1][0])
    if checked:
        line, option = checked[0]
        return line, option if option.box is Box.CHECKED else Option(option.box, f"? {option.text}")
    only = stated[0]
    if len(run) == 1 and run[0][1].box is Box.CROSSED and only is not None and only.decision is not Decision.APPROVED:
        return run[0]
    raise VerdictError("no box is checked", run[0][0])
