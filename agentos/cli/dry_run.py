"""Show what a workflow command would run. Nothing here writes."""

from __future__ import annotations

import sys
from typing import Any

from agentos.backlog.estimate import estimate
from agentos.backlog.preview import Preview, RunOptions, preview_run
from agentos.backlog.triage.backlog import examine, read_backlog
from agentos.cli.command import Arguments
from agentos.cli.isolation import choose_isolation
from agentos.gateway.providers.records import OFFLINE
from agentos.state.terminal_text import print_clean
from agentos.state.wording import count
from agentos.workflows.parallel.coordinator import ParallelCoordinator
from agentos.workflows.prompts.overrides import check_overrides

MAX_COMPLAINTS = 20
MAX_JUDGED = 200
"""How many items are judged; `agentos triage` judges all of a large backlog."""


def show(options: RunOptions, arguments: Arguments) -> int:
    """Print the items that would run, their order, the estimated time, and what is
    wrong with them.
    """
    check_overrides(options.repository, options.workflow)
    options = choose_isolation(options, arguments.environ)
    config = options.config
    models = list(options.models.values())
    is_offline = all(model.split(":")[0] == OFFLINE for model in models)
    if not is_offline:
        # Refuse what the run would refuse: a missing price, a missing key.
        arguments.find_access(
            models, config.price, config.price_at_least, config.base_url
        )
    preview = preview_run(options, arguments.home, arguments.environ)
    selection = preview.selection
    total = len(selection.items)
    parallel = min(config.parallel, ParallelCoordinator.MAX_PARALLELISM)
    if config.parallel > parallel:
        print_clean(
            f"Warning: parallelism {config.parallel} capped at {parallel}\n",
            sys.stderr,
        )
    chain = preview.order.chain(total)
    expected = estimate(total, parallel, preview.earlier, is_offline, chain)
    # A design was judged by its reviewer already.
    most = MAX_JUDGED
    if options.builds:
        most = 0
    backlog = read_backlog(options, preview, most=most)
    refused = {reject.item for reject in selection.rejects}
    complaints = []
    findings: list[str] = []
    for judgment in examine(backlog):
        # A refused item is listed as such already.
        if judgment.item not in refused:
            complaints.append(judgment.to_json())
            findings += judgment.lines()
    items, lines = _describe_items(preview)
    document = {
        "dry_run": True,
        "workflow": options.workflow,
        "repository": str(options.repository),
        "parallel": parallel,
        "count": total,
        "standing": selection.counts,
        "estimated_seconds": round(expected.seconds, 1),
        **items,
        "judged": len(backlog.items),
        "complaints": complaints,
    }
    heading = [
        (
            f"Dry run mode: {count(total, 'item')} would be processed, {parallel} at a"
            " time, nothing was started"
        ),
        f"Items: {selection.describe()}",
        f"Estimated time: {expected.describe()}",
    ]
    command = f"agentos triage {options.workflow}"
    shown = [f"  {line}" for line in findings[:MAX_COMPLAINTS]]
    more = len(findings) - MAX_COMPLAINTS
    if more > 0:
        shown.append(f"  and {more} more: {command}")
    if len(backlog.items) < total and not options.builds:
        shown.append(
            f"  only the first {len(backlog.items)} of {total} items were judged; for"
            f" all: {command}"
        )
    if shown:
        shown.insert(0, "Triage:")
    arguments.print_result(document, heading + lines + shown)
    return 0


def _describe_items(preview: Preview) -> tuple[dict[str, Any], list[str]]:
    """Return the items and their order, as JSON data and as lines."""
    items, order = preview.selection.items, preview.order
    lines: list[str] = []
    rows = []
    for item in items:
        row = {
            "id": item.id,
            "label": item.label,
            "source": item.source,
        }
        rows.append(row)
        lines.append(f"  {item.label}  {item.source}")
    rejected = []
    for reject in preview.selection.rejects:
        rejected.append({"source": reject.item.source, "reason": reject.reason})
        lines.append(f"  refused  {reject.reason}")
    if order.after or order.blocked:
        lines.append("Order:")
    after = []
    for pair in order.after:
        item, other = items[pair.position], items[pair.other]
        edge = {
            "id": item.id,
            "after": other.id,
            "said": pair.said,
        }
        after.append(edge)
        lines.append(f"  {item.label} after {other.label}: {pair.said}")
    waiting = []
    for position, reason in order.blocked.items():
        item = items[position]
        waiting.append({"id": item.id, "reason": reason})
        lines.append(f"  {item.label} would not start: {reason}")
    lines += [f"Warning: {warning}" for warning in order.warnings]
    document = {
        "items": rows,
        "rejected": rejected,
        "order": after,
        "waiting": waiting,
        "warnings": order.warnings,
        "left_out": preview.collected.left_out_as_json(),
    }
    return document, lines
