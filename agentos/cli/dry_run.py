"""Show what a run would do. There is no write path here."""

from __future__ import annotations

import json
import sys

from agentos.home import Home
from agentos.plan.estimate import estimate
from agentos.plan.preview import Options, look_ahead
from agentos.untrusted import print_clean
from agentos.workflows.parallel.coordinator import ParallelCoordinator


def show(options: Options, home: Home, *, as_json: bool) -> int:
    """Print the count, the ids and the estimated time."""
    preview = look_ahead(options, home)
    selection = preview.selection
    parallel = min(options.parallel, ParallelCoordinator.MAX_PARALLELISM)
    if options.parallel > parallel:
        print_clean(f"Warning: parallelism {options.parallel} capped at {parallel}\n", sys.stderr)
    is_offline = options.drafter.split(":")[0] == "offline"
    expected = estimate(len(selection.tasks), parallel, preview.earlier, is_offline)
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
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return 0
    lines = [
        f"Dry run mode: {len(selection.tasks)} items would be processed, {parallel} at a time, nothing was started",
        f"Standing: {selection.describe()}",
        f"Estimated time: {expected.describe()}",
        *(f"  {task.label}  {task.source}" for task in selection.tasks),
        *(f"  refused  {reject.reason}" for reject in selection.rejects),
    ]
    print_clean("\n".join(lines) + "\n")
    return 0
