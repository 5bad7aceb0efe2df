"""Show what a run would do. There is no write path here."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from agentos.home import Home
from agentos.plan.estimate import estimate
from agentos.plan.preview import Options, Preview, look_ahead
from agentos.triage.backlog import Judgement, examine
from agentos.triage.sighting import sight
from agentos.untrusted import print_clean
from agentos.workflows.overrides import check_overrides
from agentos.workflows.parallel.coordinator import ParallelCoordinator

MOST_COMPLAINTS = 20
MOST_JUDGED = 200
"""How many items are read and judged; all of a very large backlog are for `agentos triage`."""


def show(options: Options, home: Home, *, as_json: bool) -> int:
    """Print the count, the ids, their order, the estimated time and what is wrong with the items."""
    check_overrides(options.repository, options.workflow)
    is_offline = all(model.split(":")[0] == "offline" for model in (options.drafter, options.reviewer))
    if not is_offline:
        from agentos.cli.asking import means_of

        # What a run would be refused for is refused here too: a missing price, a missing key.
        means_of(options, home, os.environ)
    preview = look_ahead(options, home)
    selection = preview.selection
    parallel = min(options.parallel, ParallelCoordinator.MAX_PARALLELISM)
    if options.parallel > parallel:
        print_clean(f"Warning: parallelism {options.parallel} capped at {parallel}\n", sys.stderr)
    chain = preview.order.chain(len(selection.tasks))
    expected = estimate(len(selection.tasks), parallel, preview.earlier, is_offline, chain)
    # Designs were judged by their reviewer.
    backlog = sight(options, preview, most=0 if options.builds else MOST_JUDGED)
    refused = {reject.task for reject in selection.rejects}
    # What is refused is listed as such already.
    judged = [judgement for judgement in examine(backlog) if judgement.task not in refused]
    if as_json:
        document = {
            "schema": 1,
            "dry_run": True,
            "workflow": options.workflow,
            "repository": str(options.repository),
            "parallel": parallel,
            "count": len(selection.tasks),
            "standing": {str(standing): count for standing, count in selection.counts.items()},
            "estimated_seconds": round(expected.seconds, 1),
            "items": [{"id": t.item, "label": t.label, "source": t.source} for t in selection.tasks],
            "rejected": [{"source": r.task.source, "reason": r.reason} for r in selection.rejects],
            **_order_to_json(preview),
            "judged": len(backlog.tasks),
            "complaints": [judgement.to_json() for judgement in judged],
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return 0
    lines = [
        f"Dry run mode: {len(selection.tasks)} items would be processed, {parallel} at a time, nothing was started",
        f"Standing: {selection.describe()}",
        f"Estimated time: {expected.describe()}",
        *(f"  {task.label}  {task.source}" for task in selection.tasks),
        *(f"  refused  {reject.reason}" for reject in selection.rejects),
        *_order_lines(preview),
        *_complaint_lines(judged, len(backlog.tasks), len(selection.tasks), options),
    ]
    print_clean("\n".join(lines) + "\n")
    return 0


def _order_lines(preview: Preview) -> list[str]:
    tasks, order = preview.selection.tasks, preview.order
    lines = [f"  {tasks[pair.position].label} after {tasks[pair.other].label}: {pair.said}" for pair in order.after]
    lines += [f"  {tasks[position].label} would not start: {reason}" for position, reason in order.held.items()]
    return [*(["Order:"] if lines else []), *lines, *(f"Warning: {warning}" for warning in order.warnings)]


def _order_to_json(preview: Preview) -> dict[str, Any]:
    tasks, order = preview.selection.tasks, preview.order
    return {
        "order": [
            {"id": tasks[pair.position].item, "after": tasks[pair.other].item, "said": pair.said}
            for pair in order.after
        ],
        "waiting": [{"id": tasks[position].item, "reason": reason} for position, reason in order.held.items()],
        "warnings": list(order.warnings),
    }


def _complaint_lines(judged: Sequence[Judgement], looked_at: int, total: int, options: Options) -> list[str]:
    command = f"agentos triage {options.workflow}"
    complaints = [line for judgement in judged for line in judgement.lines()]
    lines = [f"  {line}" for line in complaints[:MOST_COMPLAINTS]]
    if len(complaints) > MOST_COMPLAINTS:
        lines.append(f"  and {len(complaints) - MOST_COMPLAINTS} more: {command}")
    if looked_at < total and not options.builds:
        lines.append(f"  judged were the first {looked_at} of {total} items; all: {command}")
    return ["Triage:", *lines] if lines else []
