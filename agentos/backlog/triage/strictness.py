"""Refuse items that are not ready, for a run that is strict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentos.backlog.inbox import Reject
from agentos.backlog.preview import Preview, RunOptions
from agentos.backlog.selection import Selection
from agentos.backlog.triage.backlog import Judgment, examine, read_backlog


def refuse_unready(options: RunOptions, preview: Preview) -> Selection:
    """Return the selection with every item refused that has a serious complaint."""
    selection = preview.selection
    backlog = read_backlog(options, preview)
    refused = {}
    for judgment in examine(backlog):
        if not judgment.is_serious:
            continue
        item = judgment.item
        reason = _explain(judgment)
        refused[item] = Reject(item, reason)
    rejects = list(selection.rejects)
    items = []
    for item in selection.items:
        if item in refused:
            rejects.append(refused[item])
        else:
            items.append(item)
    return replace(selection, items=tuple(items), rejects=tuple(rejects))


def _explain(judgment: Judgment) -> str:
    """Return one line about the first serious complaint."""
    serious = [each for each in judgment.complaints if each.is_serious]
    first = serious[0]
    name = Path(judgment.item.source).name
    what = f"{name}: not ready, {first.kind}: {first.what}"
    more = len(serious) - 1
    if more:
        what += f" (and {more} more)"
    return f"{what}; {first.advice}, or run without --strict"
