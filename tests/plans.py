"""A repository with an issue, its approved design and scripted models, for tests of
what is built from it and of the review of its test plan.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.ledger import Ledger, read_ledger_file
from agentos.documents.verdict import (
    CoverageRow,
    Decision,
    EarlierFinding,
    EarlierState,
    Verdict,
    verdict_json,
)
from tests.designs import CODE, CODE_APPROVAL, TESTS, git
from tests.faults import market
from tests.faults.roles_model import Roles, serve_roles
from tests.stand_in import write_draft
from tests.support import World

MODELS = ("--drafter", "openai:scripted", "--price", "openai:*=3/15")
SINGLE = ("--writer", "single")
"""The scripted models write tests and code in single answers."""
DESIGN = "docs/lld/active/LLD-001.md"
LINEAGE = "docs/lineage/active/1-lld"
GAPS = {
    "a": "Scenario 010 does not say which number is given; name 2 and the result 3.",
    "b": "No scenario gives a text; add one that expects TypeError with 'number'.",
    "c": "Scenario 020 could pass with an empty implementation; name the message.",
    "d": "Scenario 020 does not say which number is given; name 2 and the result 3.",
}
ISSUE = """\
# 1 - Operation 1

## Objective
Add one to a number.

## Files
- `calc/op1.py` (new)
- `tests/test_op1.py` (new)

## Acceptance Criteria
- [ ] It works
"""


def verdict(
    decision: Decision,
    gaps: str = "",
    *,
    tier: Tier = Tier.HIGH,
    resolved: Sequence[str] = (),
    questions: Sequence[str] = (),
) -> str:
    """Return a reviewer's answer with these gaps."""
    findings = tuple(
        Finding(f"N{place}", tier, Category.QUALITY, "10.1", GAPS[gap])
        for place, gap in enumerate(gaps, 1)
    )
    earlier = tuple(
        EarlierFinding(id, EarlierState.RESOLVED, "in 10.1") for id in resolved
    )
    coverage = (CoverageRow("R1", "It works", ("010",), True),)
    return verdict_json(
        Verdict(
            decision, "As scripted.", findings, (), tuple(questions), coverage, earlier
        )
    )


ISSUE_CODE = {
    "tests": [TESTS.format(number=1)],
    "code": [CODE.format(number=1)],
    "diff": [CODE_APPROVAL],
}
"""The answers with which the design is built."""
REVISE, APPROVED, DISCUSS = Decision.REVISE, Decision.APPROVED, Decision.DISCUSS
APPROVAL = verdict(APPROVED)


class Shop:
    """A repository with an issue and its approved design, and scripted models."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.roles = Roles({})
        """The models of the last run, and what they were asked."""
        files = {
            "docs/issues/1.md": ISSUE,
            "calc/__init__.py": "",
            "tests/test_calc.py": "import calc\n\n\ndef test_calc():\n    assert calc\n",
        }
        for name, text in files.items():
            path = world.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        git(world.repo, "init", "--quiet", "--initial-branch=main")
        self.commit()

    def commit(self) -> None:
        """Commit everything."""
        git(self.world.repo, "add", "--all")
        git(self.world.repo, "commit", "--quiet", "--message=State")

    def draft(self, number: int) -> str:
        """Return a version of the design."""
        design = write_draft("lld.draft", {"item": "1", "issue": ISSUE})
        return design.replace("## 12.", f"Version {number} of this section.\n\n## 12.")

    def run(
        self,
        command: str,
        *more: str,
        plans: Sequence[str] = (),
        drafts: Sequence[str] = (),
        reviews: Sequence[str] = (APPROVAL,),
        tests: Sequence[str] = (),
        code: Sequence[str] = (),
        diffs: Sequence[str] = (),
    ) -> Any:
        """Run a command against scripted models."""
        answers = {
            "plan": plans,
            "draft": drafts,
            "review": reviews,
            "tests": tests or [TESTS.format(number=1)],
            "code": code or [CODE.format(number=1)],
            "diff": diffs or [CODE_APPROVAL],
        }
        with serve_roles(answers) as roles:
            entries = [{"provider": "openai", "key": "scripted-1"}]
            market.write_keys(self.world, roles.url, entries)
            which = () if "--ids" in more else ("--all",)
            how = SINGLE if command == "implement-workflow" else ()
            ended = self.world.run(command, *which, *MODELS, *how, *more)
        assert "Traceback" not in ended.text
        self.roles = roles
        return ended

    @property
    def counts(self) -> dict[str, int]:
        """How often each role was asked in the last run."""
        return self.roles.counts

    def design_it(self) -> None:
        """Have the design drafted and approved."""
        ended = self.run("lld-workflow", drafts=[self.draft(1)])
        assert "1 approved" in ended.stdout, ended.text
        self.commit()

    @property
    def design(self) -> str:
        """The design as it is now."""
        return (self.world.repo / DESIGN).read_text("utf-8")

    @property
    def ledger(self) -> Ledger:
        """The design's ledger."""
        path = self.world.repo / LINEAGE / "findings.json"
        return read_ledger_file(path.read_text("utf-8")).ledger

    @property
    def status(self) -> str:
        """How the implementation ended."""
        told = json.loads(self.world.run("agentos", "status", "--json").stdout)
        (found,) = [
            item["status"]
            for item in told["items"]
            if item["workflow"] == "implementation"
        ]
        return str(found)
