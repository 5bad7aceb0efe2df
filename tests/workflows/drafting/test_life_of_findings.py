"""Findings from the first review to the last, and looks on the way: through the real
graph, with scripted models.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentos.documents.ledger import LedgerFile, Said, read_ledger_file, waive
from agentos.gateway.providers import Completion
from agentos.item import Item, Outcome, State
from agentos.kinds import Kind
from agentos.repository.paths import document_path, lineage_folders
from agentos.repository.publish import Artifacts
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
BRIEF = """# Export members

We need our members in a spreadsheet.

- `shelf export --csv` writes one row for each member
"""
CODE = """\
def export_members(path: str) -> int:
    with open(path, "w") as file:
        return file.write("")
"""
QUOTE = {
    "path": "shelf/members.py",
    "line": 2,
    "text": 'with open(path, "w") as file:',
}
ROW = {
    "requirement": "R2",
    "text": "An empty list gives a header row",
    "scenarios": [],
    "covered": False,
}
WRONG = (
    'issue: "gives a file" - shelf/members.py:2 `with open(path, "w") as file:` - an'
    " existing file is replaced"
)
FORGED = {"path": "shelf/members.py", "line": 2, "text": "file = open(path)"}


def finding(
    text: str, tier: str = "high", basis: str = "text", *quotes: dict[str, Any]
) -> dict[str, Any]:
    """Return a finding as a reviewer writes it."""
    return {
        "id": "N1",
        "tier": tier,
        "category": "safety",
        "section": "2.5",
        "text": text,
        "basis": basis,
        "quotes": list(quotes),
    }


def verdict(decision: str, *findings: dict[str, Any], **more: Any) -> str:
    """Return the answer of a reviewer."""
    given = {
        "decision": decision,
        "summary": f"{decision}, as scripted.",
        "earlier": [],
        "findings": list(findings),
        "resolved_questions": [],
        "source_errors": [],
        "questions": [],
        "coverage": [],
        **more,
    }
    return json.dumps({"look": None, "verdict": given})


def look(*lines: str) -> str:
    """Return a reviewer's request to look."""
    return json.dumps({"look": lines, "verdict": None})


def said_of(id: str, state: str, reason: str = "as scripted") -> dict[str, str]:
    return {"id": id, "state": state, "reason": reason}


class Models:
    """Give scripted answers by role, and keep what was asked."""

    def __init__(self, drafts: list[str], reviews: list[str]) -> None:
        self._answers = {"draft": list(drafts), "review": list(reviews)}
        self.asked: list[tuple[str, list[str]]] = []

    async def __call__(self, **question: Any) -> Completion:
        """Answer one question."""
        role = question["role"]
        texts = [message.text for message in question["messages"]]
        self.asked.append((role, texts))
        return Completion(self._answers[role].pop(0), f"scripted {role}")

    @property
    def calls(self) -> str:
        """The roles that were asked, by their first letters."""
        return "".join(role[0] for role, _ in self.asked)

    def last(self, role: str) -> str:
        """Return the last message that a role was sent."""
        return [texts for asked, texts in self.asked if asked == role][-1][-1]


class Desk:
    """A repository with one issue or brief, run as often as a test likes."""

    def __init__(self, folder: Path, kind: Kind = Kind.LLD) -> None:
        self.repo = folder / "repo"
        (self.repo / "shelf").mkdir(parents=True)
        (self.repo / "shelf/members.py").write_text(CODE, "utf-8")
        self.kind = kind
        self.source = BRIEF if kind is Kind.ISSUE else ISSUE
        self.document = self.repo / document_path(kind, "7")
        self.observed: list[tuple[str, str]] = []
        self._folder = folder
        self._lineage = self.repo / lineage_folders(kind, "7")[0]
        self._runs = 0
        inputs = {"item": "7", kind.record.source: self.source}
        document = write_draft(f"{kind}.draft", inputs)
        before, heading, after = document.rpartition("\n## ")
        self.drafts = [
            f"{before}\n\nRevision {number}.\n{heading}{after}" for number in range(9)
        ]

    def run(self, models: Models, **config: Any) -> Outcome:
        """Run the issue, and publish what the run left."""
        self._runs += 1
        assignment = Assignment(
            item=Item(self.kind, "7", "7.md"),
            text=self.source,
            digest=hashlib.sha256(self.source.encode()).hexdigest(),
            repository="",
            config=RunConfig(drafter="openai:a", reviewer="openai:b", **config),
        )
        store = SqliteStore(self._folder / f"checkpoint-{self._runs}.db")
        session = Session(
            assignment,
            self.repo,
            store,
            models,
            lambda what, text: self.observed.append((what, text)),
        )
        outcome, artifacts = asyncio.run(run_session(session, lambda _: None))
        self._publish(artifacts)
        return outcome

    def _publish(self, artifacts: Artifacts) -> None:
        self._lineage.mkdir(parents=True, exist_ok=True)
        for old in self._lineage.iterdir():
            old.unlink()
        (texts,) = artifacts.files
        for name, text in texts.items():
            (self._lineage / name).write_text(text, "utf-8")
        if artifacts.document:
            self.document.parent.mkdir(parents=True, exist_ok=True)
            self.document.write_text(artifacts.document, "utf-8")

    @property
    def stored(self) -> LedgerFile:
        """The ledger of the last run."""
        path = self._lineage / "findings.json"
        return read_ledger_file(path.read_text("utf-8"))

    def waive(self, id: str) -> None:
        """Waive a finding as a person does between two runs."""
        stored = self.stored
        said = Said("a person (somebody)", "2026-11-19")
        ledger = waive(stored.ledger, id, said, "we live with it")
        path = self._lineage / "findings.json"
        path.write_text(replace(stored, ledger=ledger).to_json(), "utf-8")

    @property
    def states(self) -> dict[str, str]:
        """The state of each finding."""
        return {entry.id: str(entry.state) for entry in self.stored.ledger.entries}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def notes(draft: str, *lines: str) -> str:
    """Return a draft with the writer's notes below it."""
    return "\n".join([draft, "```notes", *lines, "```", ""])


def test_a_false_finding_is_contested_with_a_quoted_line_and_withdrawn(
    desk: Desk,
) -> None:
    false = finding("The file is never closed.", "blocking")
    contested = 'F1: contested, shelf/members.py:9 `with open(path, "w") as file:` - closed by the block'
    models = Models(
        [desk.drafts[0], notes(desk.drafts[0], contested)],
        [
            verdict("REVISE", false),
            verdict("APPROVED", earlier=[said_of("F1", "withdrawn")]),
        ],
    )
    assert desk.run(models).state is State.APPROVED
    assert models.calls == "drdr"
    assert (
        'shelf/members.py:2 `with open(path, "w") as file:`: closed by the block'
        in (models.last("review"))
    )
    assert "contested by the writer" in models.last("review")
    assert desk.states == {"F1": "withdrawn"}


def test_the_second_contest_is_a_question_to_a_person(desk: Desk) -> None:
    contested = "F1: contested, it is closed"
    models = Models(
        [
            desk.drafts[0],
            notes(desk.drafts[0], contested),
            notes(desk.drafts[1], contested),
        ],
        [
            verdict("REVISE", finding("The file is never closed.")),
            verdict("REVISE", earlier=[said_of("F1", "open", "where?")]),
            verdict("APPROVED"),
        ],
    )
    outcome = desk.run(models)
    assert outcome.state is State.NEEDS_DISCUSSION
    (question,) = outcome.questions
    assert "The file is never closed." in question
    assert "Who is right?" in question


def test_what_the_reviewer_withdraws_after_the_second_contest_asks_nobody(
    desk: Desk,
) -> None:
    contested = "F1: contested, it is closed"
    models = Models(
        [
            desk.drafts[0],
            notes(desk.drafts[0], contested),
            notes(desk.drafts[1], contested),
        ],
        [
            verdict("REVISE", finding("The file is never closed.", "blocking")),
            verdict("REVISE", earlier=[said_of("F1", "open", "where?")]),
            verdict("APPROVED", earlier=[said_of("F1", "withdrawn", "I see")]),
        ],
    )
    assert desk.run(models).state is State.APPROVED
    assert desk.states == {"F1": "withdrawn"}


def test_a_suggestion_is_declined_and_nobody_is_asked(desk: Desk) -> None:
    high = {**finding("It loses data."), "id": "N2"}
    other = {**finding("The header has no encoding."), "id": "N3"}
    declined = "F2: declined, the names follow the issue"
    models = Models(
        [
            desk.drafts[0],
            notes(desk.drafts[1], "F1: done, 2.5", declined),
            notes(desk.drafts[2], "F3: done, 2.5", declined),
        ],
        [
            verdict("REVISE", high, finding("Use shorter names.", "suggestion")),
            verdict("REVISE", other, earlier=[said_of("F1", "resolved")]),
            verdict("APPROVED", earlier=[said_of("F3", "resolved")]),
        ],
    )
    outcome = desk.run(models)
    assert outcome.state is State.APPROVED
    assert outcome.questions == ()
    assert "- F2 declined: the names follow the issue" in models.last("review")
    assert desk.states == {"F1": "resolved", "F2": "open", "F3": "resolved"}


def test_a_text_may_stay_if_all_that_was_found_in_it_is_declined(desk: Desk) -> None:
    declined = "F1: declined, the names follow the issue"
    models = Models(
        [desk.drafts[0], notes(desk.drafts[0], declined)],
        [
            verdict("REVISE", finding("Use shorter names.", "suggestion")),
            verdict("APPROVED"),
        ],
    )
    assert desk.run(models).state is State.APPROVED


def test_what_binds_cannot_be_declined(desk: Desk) -> None:
    declined = "F1: declined, it is closed"
    models = Models(
        [desk.drafts[0], notes(desk.drafts[0], declined)],
        [
            verdict("REVISE", finding("The file is never closed.")),
            verdict("APPROVED", earlier=[said_of("F1", "withdrawn")]),
        ],
    )
    assert desk.run(models).state is State.APPROVED
    assert "F1 contested: it is closed" in models.last("review")


def test_nothing_is_asked_if_all_that_held_up_an_approval_is_waived(
    desk: Desk,
) -> None:
    found = verdict("REVISE", finding("It loses data.", "blocking"))
    desk.run(Models([desk.drafts[0]], [found]), max_rounds=1)
    desk.waive("F1")
    models = Models([], [])
    outcome = desk.run(models)
    assert (outcome.state, outcome.calls) == (State.APPROVED, 0)
    assert outcome.message == "approved with what a person has waived: F1"
    assert "Revision 0." in desk.document.read_text("utf-8")


@pytest.mark.parametrize(
    "review",
    [
        verdict("REVISE", finding("It loses data."), coverage=[ROW]),
        verdict("REVISE", finding("Use shorter names.", "suggestion")),
    ],
    ids=["not covered", "only the summary says why"],
)
def test_a_waiver_settles_nothing_else(desk: Desk, review: str) -> None:
    desk.run(Models([desk.drafts[0]], [review]), max_rounds=1)
    desk.waive("F1")
    models = Models([desk.drafts[2]], [verdict("APPROVED")])
    assert desk.run(models).state is State.APPROVED
    assert models.calls == "dr"


def test_whoever_waives_what_is_disputed_has_answered(desk: Desk) -> None:
    contested = "F1: contested, it is closed"
    models = Models(
        [
            desk.drafts[0],
            notes(desk.drafts[0], contested),
            notes(desk.drafts[1], contested),
        ],
        [
            verdict("REVISE", finding("The file is never closed.")),
            verdict("REVISE", earlier=[said_of("F1", "open", "where?")]),
            verdict("APPROVED"),
        ],
    )
    assert desk.run(models).state is State.NEEDS_DISCUSSION
    desk.waive("F1")
    models = Models([], [])
    assert desk.run(models).state is State.APPROVED
    assert models.calls == ""


def test_a_draft_that_a_rule_refused_is_drafted_again_with_the_reason(
    desk: Desk,
) -> None:
    before, _, after = desk.drafts[0].partition("## 11.")
    refused = f"{before}## 12.{after.partition('## 12.')[2]}"
    assert desk.run(Models([refused], []), max_rounds=1).state is State.NEEDS_REVISION
    models = Models([desk.drafts[1]], [verdict("APPROVED")])
    assert desk.run(models).state is State.APPROVED
    told = reasons_in(models.last("draft"))
    assert "Refused by a mechanical check:\n- missing-section-11" in told


def test_a_quoted_line_that_is_nowhere_is_sent_back_once_and_then_binds_nobody(
    desk: Desk,
) -> None:
    forged = finding("The file is never closed.", "high", "code", FORGED)
    models = Models(
        [desk.drafts[0]],
        [verdict("REVISE", forged), verdict("APPROVED", forged)],
    )
    outcome = desk.run(models)
    assert models.calls == "drr"
    assert "not in the repository: N1: shelf/members.py:2" in models.last("review")
    assert outcome.state is State.APPROVED
    (entry,) = desk.stored.ledger.entries
    assert (entry.tier, entry.basis, entry.quotes) == ("suggestion", "memory", ())


def test_a_quoted_line_that_is_there_binds(desk: Desk) -> None:
    real = finding("Two exports overwrite each other.", "blocking", "code", QUOTE)
    models = Models(
        [desk.drafts[0], desk.drafts[1]],
        [
            verdict("REVISE", real),
            verdict("APPROVED", earlier=[said_of("F1", "resolved")]),
        ],
    )
    assert desk.run(models).state is State.APPROVED
    assert desk.states == {"F1": "resolved"}
    assert 'shelf/members.py:2 `with open(path, "w") as file:`' in models.last("draft")


def test_what_a_reviewer_only_remembers_does_not_hold_up_an_approval(
    desk: Desk,
) -> None:
    remembered = finding("open() may leak.", "blocking", "memory")
    outcome = desk.run(Models([desk.drafts[0]], [verdict("APPROVED", remembered)]))
    assert outcome.state is State.APPROVED
    assert outcome.findings == ("F1 (suggestion, 2.5): open() may leak.",)


def test_a_revision_for_what_is_only_remembered_is_sent_back_once_and_then_approved(
    desk: Desk,
) -> None:
    remembered = verdict("REVISE", finding("open() may leak.", "blocking", "memory"))
    models = Models([desk.drafts[0]], [remembered, remembered])
    outcome = desk.run(models)
    assert outcome.state is State.APPROVED
    assert models.calls == "drr"
    assert "rests on memory: N1" in models.last("review")
    assert "showed nothing that binds" in outcome.message
    assert outcome.findings == ("F1 (suggestion, 2.5): open() may leak.",)


def test_lost_lines_hold_up_nothing_the_second_time(desk: Desk) -> None:
    forged = verdict("REVISE", finding("It is not closed.", "high", "code", FORGED))
    models = Models([desk.drafts[0]], [forged, forged])
    assert desk.run(models).state is State.APPROVED
    assert models.calls == "drr"


REMEMBERED = {**finding("open() may leak.", "high", "memory"), "id": "N9"}


@pytest.mark.parametrize(
    "review",
    [
        verdict("REVISE", REMEMBERED, finding("It loses data.")),
        verdict("REVISE", REMEMBERED, coverage=[ROW]),
        verdict("REVISE", REMEMBERED, questions=["Who pays?"]),
        verdict("REVISE", finding("Use shorter names.", "suggestion")),
        verdict("REVISE"),
    ],
    ids=["a finding", "not covered", "a question", "a suggestion", "a summary"],
)
def test_a_revision_for_anything_else_is_made(desk: Desk, review: str) -> None:
    models = Models(desk.drafts[:2], [review, review])
    desk.run(models, max_rounds=2)
    assert models.calls == "drdr"


def test_what_is_remembered_does_not_settle_what_is_open(desk: Desk) -> None:
    models = Models(
        desk.drafts[:3],
        [
            verdict("REVISE", finding("It loses data.")),
            verdict("REVISE", REMEMBERED),
            verdict("APPROVED", earlier=[said_of("F1", "resolved")]),
        ],
    )
    assert desk.run(models).state is State.APPROVED
    assert models.calls == "drdrdr"


@pytest.mark.parametrize("kind", [Kind.ISSUE, Kind.LLD])
def test_a_new_finding_in_the_words_of_a_resolved_one_reaches_the_drafter(
    tmp_path: Path, kind: Kind
) -> None:
    desk = Desk(tmp_path, kind)
    words = "Scenario {} expects no value; name the file that is written."
    models = Models(
        desk.drafts[:3],
        [
            verdict("REVISE", finding(words.format("020"))),
            verdict(
                "REVISE",
                finding(words.format("040"), "blocking"),
                earlier=[said_of("F1", "resolved")],
            ),
            verdict("APPROVED", earlier=[said_of("F2", "resolved")]),
        ],
    )
    assert desk.run(models).state is State.APPROVED
    assert desk.states == {"F1": "resolved", "F2": "resolved"}
    assert f"- F2 (blocking, section 2.5): {words.format('040')}" in models.last(
        "draft"
    )


def test_what_was_remembered_first_and_is_shown_then_binds(desk: Desk) -> None:
    text = "Two exports overwrite each other; take a lock."
    other = {**finding("The header has no encoding."), "id": "N2"}
    models = Models(
        desk.drafts[:3],
        [
            verdict("REVISE", finding(text, "blocking", "memory"), other),
            verdict(
                "REVISE",
                finding(text, "blocking", "code", QUOTE),
                earlier=[said_of("F2", "resolved")],
            ),
            verdict("APPROVED"),
            verdict("APPROVED", earlier=[said_of("F1", "resolved")]),
        ],
    )
    assert desk.run(models).state is State.APPROVED
    assert models.calls == "drdrdrr"
    assert "does not say what became of F1" in models.last("review")
    assert "- F1 (blocking, section 2.5)" in models.last("draft")


def test_a_reviewer_sees_what_does_not_count_any_more_and_why(desk: Desk) -> None:
    false = finding("The file is never closed.")
    other = {**finding("The header has no encoding."), "id": "N2"}
    models = Models(
        desk.drafts[:3],
        [
            verdict("REVISE", false, other),
            verdict("REVISE", earlier=[said_of("F1", "withdrawn", "it is closed")]),
            verdict("APPROVED", earlier=[said_of("F2", "resolved")]),
        ],
    )
    assert desk.run(models).state is State.APPROVED
    _, _, shown = models.last("review").partition("Waived by a person or withdrawn")
    assert "- F1 (high, section 2.5): The file is never closed." in shown
    assert "withdrawn by the reviewer: it is closed" in shown


def test_an_approval_that_is_silent_about_a_blocking_finding_is_asked_again(
    desk: Desk,
) -> None:
    models = Models(
        [desk.drafts[0], desk.drafts[1]],
        [
            verdict("REVISE", finding("It loses data.", "blocking")),
            verdict("APPROVED"),
            verdict("APPROVED", earlier=[said_of("F1", "resolved")]),
        ],
    )
    assert desk.run(models).state is State.APPROVED
    assert models.calls == "drdrr"
    assert "does not say what became of F1" in models.last("review")


def test_a_discussion_with_open_findings_goes_on_with_all_of_them(desk: Desk) -> None:
    three = [
        finding(text)
        for text in (
            "Nothing bounds the size of the upload.",
            "Time zones are mixed in the table.",
            "The migration cannot be taken back.",
        )
    ]
    for number, one in enumerate(three):
        one["id"] = f"N{number}"
    first = Models(
        [desk.drafts[0]], [verdict("DISCUSS", *three, questions=["Who pays?"])]
    )
    outcome = desk.run(first)
    assert outcome.state is State.NEEDS_DISCUSSION
    assert outcome.questions == ("Who pays?",)
    desk.source = (
        f"{ISSUE}\n## Open Questions\n\n- [x] Who pays? **Answer:** The club.\n"
    )
    second = Models(
        [desk.drafts[1]],
        [
            verdict(
                "APPROVED",
                earlier=[said_of(f"F{number}", "resolved") for number in (1, 2, 3)],
            )
        ],
    )
    assert desk.run(second).state is State.APPROVED
    prompt = second.last("draft")
    assert "Revision 0." in prompt
    assert all(one["text"] in prompt for one in three)
    assert "Asked of a person" not in prompt
    assert "-Revision 0.\n+Revision 1." in second.last("review")
    assert desk.states == {"F1": "resolved", "F2": "resolved", "F3": "resolved"}


def test_ids_are_never_given_twice_also_after_an_edit_of_the_issue(desk: Desk) -> None:
    revise = verdict("REVISE", finding("Nothing bounds the upload."))
    desk.run(Models([desk.drafts[0]], [revise]), max_rounds=1)
    desk.source = ISSUE.replace("one row", "one line")
    another = verdict("REVISE", finding("Time zones are mixed in the table."))
    models = Models([desk.drafts[1]], [another])
    desk.run(models, max_rounds=1)
    assert desk.states == {"F1": "withdrawn", "F2": "open"}
    assert "## The previous draft\n\n(none)" in models.last("draft")


def test_a_refusal_without_findings_says_what_is_not_covered(desk: Desk) -> None:
    models = Models(
        [desk.drafts[0], desk.drafts[1]],
        [verdict("REVISE", coverage=[ROW]), verdict("APPROVED")],
    )
    assert desk.run(models).state is State.APPROVED
    prompt = models.last("draft")
    assert "REVISE, as scripted." in prompt
    assert "R2 (An empty list gives a header row): no scenario" in prompt


def resolved_by(basis: str) -> dict[str, str]:
    """Return a question that the reviewer answers."""
    return {
        "question": "Are links followed?",
        "answer": "No, ordinary files only.",
        "basis": basis,
    }


def reasons_in(prompt: str) -> str:
    """Return what a drafter is told to resolve."""
    return prompt.partition("## What to resolve")[2].partition("## Now")[0]


@pytest.mark.parametrize("decision", ["REVISE", "DISCUSS"])
def test_what_is_not_covered_and_what_is_settled_is_told_in_the_next_run(
    desk: Desk, decision: str
) -> None:
    parts = {"coverage": [ROW], "resolved_questions": [resolved_by("text")]}
    if decision == "DISCUSS":
        parts["questions"] = ["Who pays?"]
    models = Models([desk.drafts[0]], [verdict(decision, **parts)])
    desk.run(models, max_rounds=1)
    desk.source = (
        f"{ISSUE}\n## Open Questions\n\n- [x] Who pays? **Answer:** The club.\n"
    )
    models = Models([desk.drafts[1]], [verdict("APPROVED")])
    assert desk.run(models).state is State.APPROVED
    told = reasons_in(models.last("draft"))
    assert "R2 (An empty list gives a header row): no scenario" in told
    assert "carry the answers in:\n- Are links followed? Answer: No, ordinary" in told


def test_what_was_said_of_another_issue_is_no_reason(desk: Desk) -> None:
    models = Models([desk.drafts[0]], [verdict("REVISE", coverage=[ROW])])
    desk.run(models, max_rounds=1)
    desk.source = ISSUE.replace("one row", "one line")
    models = Models([desk.drafts[1]], [verdict("APPROVED")])
    desk.run(models)
    assert reasons_in(models.last("draft")).strip() == "(none)"


def test_an_answer_from_memory_is_not_carried_in(desk: Desk) -> None:
    remembered = verdict(
        "REVISE",
        finding("It loses data."),
        resolved_questions=[resolved_by("memory")],
    )
    models = Models(
        desk.drafts[:2],
        [remembered, verdict("APPROVED", earlier=[said_of("F1", "resolved")])],
    )
    desk.run(models)
    told = reasons_in(models.last("draft"))
    assert "carry the answers in" not in told
    assert "from memory; look the answer up" in told


def test_a_revision_and_a_question_go_on_and_end_with_the_question(desk: Desk) -> None:
    models = Models(
        [desk.drafts[0], desk.drafts[1]],
        [
            verdict("REVISE", finding("It loses data."), questions=["Which format?"]),
            verdict("APPROVED", earlier=[said_of("F1", "resolved")]),
        ],
    )
    outcome = desk.run(models)
    assert outcome.state is State.NEEDS_DISCUSSION
    assert outcome.questions == ("Which format?",)
    assert models.calls == "drdr"
    assert "Which format?" in models.last("draft")
    assert not desk.document.exists()


def test_an_issue_that_is_wrong_about_the_code_is_a_question_and_the_work_goes_on(
    desk: Desk,
) -> None:
    models = Models([notes(desk.drafts[0], WRONG)], [verdict("APPROVED")])
    outcome = desk.run(models)
    assert outcome.state is State.APPROVED
    (question,) = outcome.questions
    assert 'The source says "gives a file"' in question
    assert "an existing file is replaced" in question
    document = desk.document.read_text("utf-8")
    assert "Followed: an existing file is replaced" in document


def test_a_discussion_also_asks_whether_the_reading_is_right(desk: Desk) -> None:
    models = Models(
        [notes(desk.drafts[0], WRONG)], [verdict("DISCUSS", questions=["Who pays?"])]
    )
    first, second = desk.run(models).questions
    assert first == "Who pays?"
    assert 'The source says "gives a file"' in second


@pytest.mark.parametrize("answer", ["Yes, right.", "No: it is never replaced."])
def test_an_answer_about_a_reading_settles_it(desk: Desk, answer: str) -> None:
    first = desk.run(Models([notes(desk.drafts[0], WRONG)], [verdict("APPROVED")]))
    (question,) = first.questions
    desk.source = (
        f"{ISSUE}\n## Open Questions\n\n- [x] {question} **Answer:** {answer}\n"
    )
    models = Models(
        [notes(desk.drafts[1], WRONG)],
        [
            verdict("REVISE", finding("It does not say when.")),
            verdict("APPROVED", earlier=[said_of("F1", "resolved")]),
        ],
    )
    outcome = desk.run(models)
    assert models.calls == "rdr"
    assert (outcome.state, outcome.questions) == (State.APPROVED, ())
    prompt = models.last("draft")
    assert "Revision 0." in prompt
    assert "Wrong in the source" not in prompt
    assert "Followed:" not in desk.document.read_text("utf-8")


def test_an_edited_design_is_reviewed_as_it_stands_and_nothing_else_is(
    desk: Desk,
) -> None:
    desk.run(Models([desk.drafts[0]], [verdict("APPROVED")]))
    text = desk.document.read_text("utf-8")
    desk.document.write_text(text.replace("Revision 0.", "Edited by hand."), "utf-8")
    models = Models([], [verdict("APPROVED")])
    assert desk.run(models).state is State.APPROVED
    assert models.calls == "r"
    assert "Edited by hand." in models.last("review")
    assert "Review Log" not in models.last("review").partition("## The design")[2]
    assert "Edited by hand." in desk.document.read_text("utf-8")


def test_a_design_that_is_edited_together_with_its_issue_is_reviewed_as_it_stands(
    desk: Desk,
) -> None:
    desk.run(Models([desk.drafts[0]], [verdict("APPROVED", finding("Bound it."))]))
    text = desk.document.read_text("utf-8")
    desk.document.write_text(text.replace("Revision 0.", "Edited by hand."), "utf-8")
    desk.source = ISSUE.replace("one row", "one line")
    models = Models([], [verdict("APPROVED")])
    assert desk.run(models).state is State.APPROVED
    assert models.calls == "r"
    assert "writes one line for each member" in models.last("review")
    assert "Edited by hand." in desk.document.read_text("utf-8")
    assert desk.states == {"F1": "withdrawn"}


def test_both_look_before_they_answer_and_what_they_saw_is_reported(
    desk: Desk,
) -> None:
    models = Models(
        ["```look\nsymbol export_members\n```", desk.drafts[0]],
        [look("read shelf/members.py 1-3", "search nowhere"), verdict("APPROVED")],
    )
    outcome = desk.run(models)
    assert outcome.state is State.APPROVED
    assert outcome.calls == 4
    assert 'with open(path, "w") as file:' in models.last("draft")
    assert "0 hits in" in models.last("review")
    looked = [text for what, text in desk.observed if what == "looked"]
    assert len(looked) == 2
    assert looked[0].startswith("drafter: symbol export_members")
    assert looked[1].startswith("reviewer: read shelf/members.py 1-3")
    prompts = [texts for role, texts in models.asked if role == "draft"]
    assert prompts[1][: len(prompts[0])] == prompts[0]


def test_who_only_looks_is_told_to_answer_and_then_ends(desk: Desk) -> None:
    endless = ["```look\nsearch x\n```"] * 20
    models = Models(endless, [])
    with pytest.raises(Exception, match="looked 4 times and wrote nothing"):
        desk.run(models, look_turns=2)
    assert models.calls == "ddddd"
    assert "Not answered: all 2 turns are used" in models.last("draft")


def test_without_turns_nobody_looks(desk: Desk) -> None:
    models = Models([desk.drafts[0]], [verdict("APPROVED")])
    desk.run(models, look_turns=0)
    assert "You cannot look at more" in models.last("draft")


def test_a_reviewer_is_told_what_a_person_was_asked_already(desk: Desk) -> None:
    models = Models(
        [desk.drafts[0], desk.drafts[1]],
        [verdict("REVISE", questions=["Which format?"]), verdict("APPROVED")],
    )
    desk.run(models)
    assert "Asked of a person already" in models.last("review")
    assert "- Which format?" in models.last("review")
