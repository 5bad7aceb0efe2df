"""What the models are shown, round by round: through the real graph and a real
checkpoint.
"""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.verdict import Decision, Verdict, verdict_json
from agentos.gateway.providers import Completion
from agentos.item import Item, Outcome, State
from agentos.kinds import Kind
from agentos.settings import RunConfig
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.flow import Session
from agentos.workflows.engine.runner import run_session
from agentos.workflows.engine.stores import SqliteStore
from tests.stand_in import write_draft

ISSUE = """# 7 - Export members as CSV

## Objective

Members can be exported by `export_members` in `shelf/members.py`.

## Acceptance Criteria

- [ ] `shelf export --csv` writes one row for each member
- [ ] An empty list gives a file with the header row only
"""
LOCK = Finding(
    "F1",
    Tier.HIGH,
    Category.SAFETY,
    "2.5",
    "Two exports at once write the same file; say what locks it.",
)


class Models:
    """Answer drafts by rules and reviews as told, and keep what was asked."""

    def __init__(self, *verdicts: Verdict) -> None:
        self._verdicts = list(verdicts)
        self.asked: list[dict[str, Any]] = []

    async def __call__(self, **question: Any) -> Completion:
        """Answer one question."""
        self.asked.append(question)
        if question["role"] == "draft":
            text = write_draft(
                "lld.draft",
                {**question["inputs"], "previous_draft": "", "findings": ""},
            )
            return Completion(
                text.replace("## 12.", f"Draft {question['round']}.\n\n## 12."), "rules"
            )
        return Completion(verdict_json(self._verdicts.pop(0)), "rules")

    def prompts(self, role: str) -> list[str]:
        """Return what a role was asked."""
        return [
            "\n".join(message.text for message in question["messages"])
            for question in self.asked
            if question["role"] == role
        ]


def run(folder: Path, models: Models) -> Outcome:
    """Run the issue in a repository."""
    assignment = Assignment(
        item=Item(Kind.LLD, "7", "docs/issues/7.md"),
        text=ISSUE,
        digest=hashlib.sha256(ISSUE.encode()).hexdigest(),
        repository="",
        config=RunConfig(max_rounds=3, drafter="openai:a", reviewer="openai:b"),
    )
    store = SqliteStore(folder / "checkpoint.db")
    session = Session(assignment, folder / "repo", store, models, lambda *_: None)
    outcome, _ = asyncio.run(run_session(session, lambda _: None))
    return outcome


def make_repository(folder: Path) -> Path:
    """Make a small repository."""
    repository = folder / "repo"
    (repository / "shelf").mkdir(parents=True)
    (repository / "shelf/members.py").write_text(
        "def export_members(path: str) -> int:\n    return 0\n", "utf-8"
    )
    return repository


def test_the_drafter_sees_the_whole_issue_the_code_and_what_is_to_be_mended(
    tmp_path: Path,
) -> None:
    make_repository(tmp_path)
    models = Models(
        Verdict(Decision.REVISE, "Mend it.", (LOCK,)),
        Verdict(Decision.APPROVED, "Good."),
    )
    assert run(tmp_path, models).state is State.APPROVED
    first, second = models.prompts("draft")
    assert ISSUE in first
    assert "def export_members(path: str) -> int" in first
    assert LOCK.text not in first
    assert LOCK.text in second
    assert "Draft 1." in second


def test_the_reviewer_sees_issue_draft_and_its_own_open_findings_and_no_chat_of_the_drafter(
    tmp_path: Path,
) -> None:
    make_repository(tmp_path)
    models = Models(
        Verdict(Decision.REVISE, "Mend it.", (LOCK,)),
        Verdict(Decision.APPROVED, "Good."),
    )
    run(tmp_path, models)
    first, second = models.prompts("review")
    assert ISSUE in first
    assert LOCK.text not in first
    assert "State each of these in `earlier`:\n- F1 (high, section 2.5)" in second
    assert "\n-Draft 1.\n+Draft 2.\n" in second
    assert "def export_members(path: str) -> int" in second


def test_a_repository_puts_its_own_prompt_and_template_in_place(tmp_path: Path) -> None:
    repository = make_repository(tmp_path)
    (repository / ".agentos/prompts").mkdir(parents=True)
    (repository / ".agentos/prompts/lld-review.md").write_text(
        "inputs: issue, draft\n\nBe strict.\n\n{{issue}}\n\n{{draft}}\n", "utf-8"
    )
    models = Models(Verdict(Decision.APPROVED, "Good."))
    assert run(tmp_path, models).state is State.APPROVED
    (prompt,) = models.prompts("review")
    assert prompt.startswith("Be strict.")


def test_an_approval_keeps_its_findings_and_a_discussion_its_questions(
    tmp_path: Path,
) -> None:
    make_repository(tmp_path)
    kept = run(tmp_path, Models(Verdict(Decision.APPROVED, "Good.", (LOCK,))))
    assert kept.findings == (f"F1 (high, 2.5): {LOCK.text}",)
    (tmp_path / "checkpoint.db").unlink()
    asked = run(
        tmp_path,
        Models(Verdict(Decision.DISCUSS, "Hm.", questions=("Who pays?", "When?"))),
    )
    assert asked.questions == ("Who pays?", "When?")


def test_a_loss_that_was_refused_does_not_pass_the_next_time(tmp_path: Path) -> None:
    make_repository(tmp_path)

    class Losing(Models):
        """Loses the same subsections in every revision."""

        async def __call__(self, **question: Any) -> Completion:
            answer = await super().__call__(**question)
            if question["role"] == "review" or question["round"] == 1:
                return answer
            before, _, rest = answer.text.partition("### 2.2")
            return Completion(
                before + "### 2.7" + rest.partition("### 2.7")[2], answer.model
            )

    models = Losing(
        Verdict(Decision.REVISE, "Mend it.", (LOCK,)),
        Verdict(Decision.APPROVED, "Good."),
    )
    outcome = run(tmp_path, models)
    assert outcome.state is not State.APPROVED
    third = models.asked[3]["inputs"]
    assert "### 2.4" in third["previous_draft"], (
        "the last draft that lost nothing is the one to revise"
    )
    assert LOCK.text in third["findings"], "what the review found is still to be mended"
    assert "lost-section-2.4" in third["findings"]


def test_a_reviewer_that_could_not_be_read_is_told_why(tmp_path: Path) -> None:
    make_repository(tmp_path)

    class Mumbling(Models):
        """Gives no verdict at first."""

        async def __call__(self, **question: Any) -> Completion:
            if question["role"] == "review" and question["attempt"] == 1:
                self.asked.append(question)
                return Completion("Well, well.", "rules")
            return await super().__call__(**question)

    models = Mumbling(Verdict(Decision.APPROVED, "Good."))
    assert run(tmp_path, models).state is State.APPROVED
    first, second = models.prompts("review")
    assert "could not be read" not in first
    assert second.startswith(first)
    assert "could not be read" in second
