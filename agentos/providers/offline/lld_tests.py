"""Write section 10 of a design: scenarios, commands, manual tests."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.documents.tables import render_table
from agentos.providers.offline.blueprint import Blueprint
from agentos.providers.offline.proofs import HEADER, Proof, prove


def scenario_id(position: int) -> str:
    """Return the id of the n-th scenario: 010, 020, ..."""
    return f"{position * 10:03d}"


def write_tests(blueprint: Blueprint, extra: Sequence[Proof] = ()) -> str:
    """Return section 10 with one scenario for each requirement, and what else is wanted."""
    proofs = [*(prove(demand, blueprint) for demand in blueprint.demands), *extra]
    rows = [proof.cells(scenario_id(n)) for n, proof in enumerate(proofs, 1)]
    return (
        "## 10. Verification & Testing\n\n### 10.1 Test Scenarios\n\n"
        f"{render_table(HEADER, rows)}\n\n"
        f"### 10.2 Test Commands\n\n```bash\n{_commands(blueprint)}\n```\n\n"
        f"### 10.3 Manual Tests\n\n{_manual(blueprint)}"
    )


def _commands(blueprint: Blueprint) -> str:
    python = [change.path for change in blueprint.test_files if change.path.endswith(".py")]
    other = [change.path for change in blueprint.test_files if not change.path.endswith(".py")]
    lines = [f"pytest {' '.join(python)} -v"] if python or not other else []
    lines += [f"# and, with the runner that the repository uses for it: {path}" for path in other]
    if not blueprint.test_files:
        lines.insert(0, "# the issue names no test file; the new one of 2.1 is found by the runner")
    return "\n".join(lines)


def _manual(blueprint: Blueprint) -> str:
    manual = [note.text for note in blueprint.issue.testing_notes if "manual" in note.group.casefold()]
    if not manual:
        return "None: every scenario is automated."
    listed = "\n".join(f"{n}. {text}" for n, text in enumerate(manual, 1))
    return f"The issue asks for these by hand, in addition to the automated scenarios:\n\n{listed}"
