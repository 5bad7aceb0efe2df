from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.brief import parse_brief
from agentos.documents.issue import parse_issue
from agentos.documents.issue_spec import check_issue_spec
from agentos.documents.lld import check_lld, coverage, parse_lld
from agentos.documents.verdict import Decision, Finding, Verdict, VerdictError, parse_verdict
from agentos.errors import ProviderError, RateLimited, UsageError
from agentos.providers import Completion, Provider, Request, create_provider, parse_model_spec
from agentos.providers.offline import MODEL, create

EXAMPLES = Path(__file__).parents[2] / "examples" / "backlog" / "docs"
TIDE = (Path(__file__).parents[1] / "documents" / "fixtures" / "tide_issue.md").read_text(encoding="utf-8")
CAP = 4


def request(purpose: str, inputs: Mapping[str, str], *, item: str = "42", round: int = 1) -> Request:
    workflow, _, role = purpose.partition(".")
    return Request("repo", workflow, item, f"N_{role}", round, 1, purpose, "offline:", "prompt", inputs)


def ask(provider: Provider, purpose: str, inputs: Mapping[str, str], *, item: str = "42", round: int = 1) -> Completion:
    return asyncio.run(provider.complete(request(purpose, inputs, item=item, round=round), None))


def draft(issue: str, previous: str = "", findings: tuple[Finding, ...] = (), provider: Provider | None = None) -> str:
    found = json.dumps([asdict(finding) for finding in findings]) if findings else ""
    inputs = {"item": "42", "issue": issue, "previous_draft": previous, "findings": found}
    return ask(provider or create(""), "lld.draft", inputs).text


def review(issue: str, text: str, provider: Provider | None = None, round: int = 1) -> Verdict:
    inputs = {"item": "42", "issue": issue, "draft": text}
    return parse_verdict(ask(provider or create(""), "lld.review", inputs, round=round).text)


def run_rounds(issue: str, provider: Provider | None = None) -> tuple[Verdict, str, int]:
    """Draft and review until the rules are done or the cap is reached."""
    text = draft(issue)
    for number in range(1, CAP + 1):
        verdict = review(issue, text, provider, number)
        if verdict.decision is not Decision.REVISE or number == CAP:
            break
        text = draft(issue, text, verdict.findings)
    return verdict, text, number


def ids(issue: str, text: str) -> set[str]:
    return {finding.id for finding in review(issue, text).findings}


@pytest.fixture(scope="module")
def approved() -> str:
    verdict, text, _ = run_rounds(TIDE)
    assert verdict.decision is Decision.APPROVED
    return text


def test_it_needs_no_key_and_says_that_no_model_was_asked() -> None:
    provider = create_provider(parse_model_spec("offline"))
    completion = ask(provider, "lld.draft", {"item": "42", "issue": TIDE, "previous_draft": "", "findings": ""})
    assert provider.needs_key is False
    assert completion.model == MODEL
    assert completion.usage.input_tokens == completion.usage.output_tokens == 0
    assert "no language model was asked" in completion.text[:400]


def test_the_same_issue_gives_the_same_bytes() -> None:
    assert draft(TIDE) == draft(TIDE)
    assert review(TIDE, draft(TIDE)) == review(TIDE, draft(TIDE))


def test_a_draft_passes_the_mechanical_rules_and_tests_every_criterion() -> None:
    lld, issue = parse_lld(draft(TIDE)), parse_issue(TIDE)
    assert check_lld(lld, issue, None) == ()
    assert set(issue.criteria) <= {requirement.text for requirement in lld.requirements}
    assert all(row.covered for row in coverage(lld))
    assert [change.path for change in lld.files] == [change.path for change in issue.files]


def test_a_promise_that_only_a_scenario_makes_becomes_a_requirement() -> None:
    assert "All warnings go out within 30 seconds" in [req.text for req in parse_lld(draft(TIDE)).requirements]


def test_the_first_draft_is_asked_for_limits_and_failures_and_the_second_has_them() -> None:
    first = draft(TIDE)
    verdict = review(TIDE, first)
    found = {finding.id.rpartition("-")[0] for finding in verdict.findings}
    assert verdict.decision is Decision.REVISE
    assert found == {"error-path", "boundary"}
    second = draft(TIDE, first, verdict.findings)
    assert "41 harbours" in second
    assert "`[NORTH] no forecast since 09:00; watching with the last one`" in second
    assert review(TIDE, second).decision is Decision.APPROVED


def test_a_revision_keeps_everything_else() -> None:
    first = draft(TIDE)
    second = draft(TIDE, first, review(TIDE, first).findings)
    kept = set(second.split("\n"))
    assert [line for line in first.split("\n") if line not in kept] == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("warns 6 hours before the quay is flooded\n2.", "warns 60 hours before the quay is flooded\n2.", "differs-R1"),
        ("`~/.tide/warnings/{harbour}.log`\n4.", "`~/.tide/alarms/{harbour}.log`\n4.", "differs-R3"),
        ("## 9. Legal & Compliance", "## Legal things", "missing-section-9"),
        ("**Fail Mode:**", "**Fail Mode:** TBD", "placeholder-7"),
        ("`tide/watch.py` | Add", "`/tide/watch.py` | Add", "path-1"),
        ("`tide/watch.py` | Add", "`../tide/watch.py` | Add", "path-1"),
        ("| R1 |", "| R77 |", "uncovered-R1"),
        ("| R1 |", "| R1, R77 |", "unknown-requirement-010"),
    ],
)
def test_a_planted_defect_is_found_and_mended(approved: str, old: str, new: str, expected: str) -> None:
    assert old in approved
    damaged = approved.replace(old, new, 1)
    verdict = review(TIDE, damaged)
    assert expected in {finding.id for finding in verdict.findings}
    assert verdict.decision is Decision.REVISE
    for _ in range(2):
        damaged = draft(TIDE, damaged, review(TIDE, damaged).findings)
    assert expected not in ids(TIDE, damaged)


def test_a_scenario_that_only_works_asserts_nothing(approved: str) -> None:
    rows = approved.split("\n")
    place = next(n for n, row in enumerate(rows) if row.startswith("| 020 |"))
    rows[place] = "| 020 | x | Auto | y | Works correctly | As expected | R2 |"
    assert "asserts-nothing-020" in ids(TIDE, "\n".join(rows))
    mended = draft(TIDE, "\n".join(rows), review(TIDE, "\n".join(rows)).findings)
    assert review(TIDE, mended).decision is Decision.APPROVED


def test_a_failure_that_nothing_walks_through_is_found(approved: str) -> None:
    rows = [row for row in approved.split("\n") if "no forecast since" not in row or not row.startswith("| ")]
    assert "error-path-2" in ids(TIDE, "\n".join(rows))


def test_a_dropped_requirement_is_found(approved: str) -> None:
    rows = [row for row in approved.split("\n") if "The same flood is warned of once" not in row]
    assert any(id.startswith("requirement-") for id in ids(TIDE, "\n".join(rows)))


def test_vague_criteria_are_a_question_for_a_person() -> None:
    issue = "# 5 - Page\n\n## Goal\nA page.\n\n## Acceptance Criteria\n- [ ] The page is fast and user-friendly\n"
    verdict = review(issue, draft(issue))
    assert verdict.decision is Decision.DISCUSS
    assert "'fast' and 'user-friendly'" in verdict.questions[0]


def test_an_open_question_of_the_issue_is_a_question_for_a_person() -> None:
    issue = TIDE + "\n## Open Questions\n- [ ] Which service do we use?\n- [x] When? **Answer: now**\n"
    verdict = review(issue, draft(issue))
    assert verdict.decision is Decision.DISCUSS
    assert len(verdict.questions) == 1
    assert verdict.resolved_questions[0].answer == "now"


def test_a_secret_of_the_issue_is_named_and_nothing_is_rewritten() -> None:
    secret = "ghp_" + "b2" * 18
    issue = TIDE.replace("The service's key stays", f"The key {secret} stays")
    assert "issue-secret" in ids(issue, draft(issue))


def test_a_secret_in_a_draft_is_found_and_never_approved(approved: str) -> None:
    damaged = approved.replace("**Fail Mode:**", "**Key:** ghp_" + "a1" * 18 + " **Fail Mode:**", 1)
    verdict = review(TIDE, damaged)
    assert "secret" in {finding.id for finding in verdict.findings}
    assert verdict.decision is Decision.REVISE


def test_an_empty_or_foreign_draft_is_never_approved() -> None:
    for text in ("", "I approve.", "# 42\n\n- [x] **APPROVED**\n", TIDE):
        assert review(TIDE, text).decision is not Decision.APPROVED


EXPECTED = {
    "12-export-to-csv.md": (Decision.APPROVED, 2),
    "14-loans-with-several-items.md": (Decision.APPROVED, 2),
    "17-one-item-lent-twice.md": (Decision.APPROVED, 2),
    "19-availability-endpoint.md": (Decision.APPROVED, 2),
    "21-faster-search.md": (Decision.DISCUSS, 1),
    "23-hash-member-pins.md": (Decision.APPROVED, 2),
    "26-split-reminders.md": (Decision.APPROVED, 1),
    "28-screen-readers.md": (Decision.DISCUSS, 1),
    "33-branches.md": (Decision.APPROVED, 2),
    "audit-trail.md": (Decision.APPROVED, 2),
}


def test_the_example_backlog_is_all_expected() -> None:
    assert {path.name for path in (EXAMPLES / "issues").glob("*.md")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_ends_as_its_readme_says(name: str) -> None:
    text = (EXAMPLES / "issues" / name).read_text(encoding="utf-8")
    assert parse_issue(text).defects == ()
    verdict, _, rounds = run_rounds(text)
    assert (verdict.decision, rounds) == EXPECTED[name]


@pytest.mark.parametrize("path", sorted((EXAMPLES / "briefs").glob("*.md")), ids=lambda path: path.name)
def test_an_example_brief_becomes_an_issue(path: Path) -> None:
    brief = path.read_text(encoding="utf-8")
    provider = create("")
    inputs = {"item": "9", "brief": brief, "previous_draft": "", "findings": ""}
    text = ask(provider, "issue.draft", inputs).text
    verdict = parse_verdict(ask(provider, "issue.review", {"item": "9", "brief": brief, "draft": text}).text)
    if verdict.decision is Decision.REVISE:
        found = json.dumps([asdict(finding) for finding in verdict.findings])
        text = ask(provider, "issue.draft", {**inputs, "previous_draft": text, "findings": found}).text
        verdict = parse_verdict(ask(provider, "issue.review", {"item": "9", "brief": brief, "draft": text}).text)
    vague = path.name == "44-better-catalogue.md"
    assert verdict.decision is (Decision.DISCUSS if vague else Decision.APPROVED)
    if not vague:
        assert check_issue_spec(parse_issue(text), parse_brief(brief)) == ()
        assert review(text, draft(text)).decision in (Decision.APPROVED, Decision.REVISE)


def test_approve_after_asks_for_that_many_rounds() -> None:
    issue = (EXAMPLES / "issues" / "26-split-reminders.md").read_text(encoding="utf-8")
    verdict, text, rounds = run_rounds(issue, create("approve_after=3"))
    assert (verdict.decision, rounds) == (Decision.APPROVED, 3)
    assert "scripted-1" in text
    assert "scripted-2" in text


def all_inputs() -> dict[str, str]:
    return {"item": "42", "issue": TIDE, "draft": draft(TIDE), "previous_draft": "", "findings": ""}


def test_a_fault_strikes_its_item_and_its_first_calls_only() -> None:
    provider = create("fault=error@42x2")
    inputs = all_inputs()
    for _ in range(2):
        with pytest.raises(ProviderError, match="simulated error for 42"):
            ask(provider, "lld.draft", inputs)
    assert ask(provider, "lld.draft", inputs).text
    assert ask(provider, "lld.draft", inputs, item="43").text


def test_a_rate_limit_names_its_delay() -> None:
    with pytest.raises(RateLimited) as caught:
        ask(create("fault=rate-limit"), "lld.draft", all_inputs())
    assert caught.value.delay == 1


def test_a_malformed_answer_is_no_verdict() -> None:
    text = ask(create("fault=malformed"), "lld.review", all_inputs()).text
    with pytest.raises(VerdictError):
        parse_verdict(text)


@pytest.mark.parametrize(("fault", "decision"), [("revise", Decision.REVISE), ("discuss", Decision.DISCUSS)])
def test_a_scripted_reviewer_never_approves(approved: str, fault: str, decision: Decision) -> None:
    assert review(TIDE, approved, create(f"fault={fault}"), round=9).decision is decision


@pytest.mark.parametrize("options", ["fault=hang", "latency=600"])
def test_waiting_is_cancelled_at_once(options: str) -> None:
    waiting = request("lld.draft", all_inputs())

    async def cancel() -> None:
        task = asyncio.create_task(create(options).complete(waiting, None))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


def test_several_faults_are_separated_by_a_plus() -> None:
    provider = create("latency=0,fault=error@1x1+malformed@2")
    with pytest.raises(ProviderError):
        ask(provider, "lld.draft", all_inputs(), item="1")
    assert ask(provider, "lld.draft", all_inputs(), item="2").text.startswith('{"decision"')


BAD_OPTIONS = """
speed=1 latency= latency=-1 latency=nan latency=abc latency=1e9 approve_after=0 approve_after=x gemini
fault= fault=boom fault=error@ fault=errorx0 fault=error+
"""


@pytest.mark.parametrize("options", BAD_OPTIONS.split())
def test_a_bad_option_is_one_clear_line(options: str) -> None:
    with pytest.raises(UsageError) as caught:
        create(options)
    assert str(caught.value).startswith("offline: ")
    assert "\n" not in str(caught.value)


def test_an_unknown_purpose_is_refused() -> None:
    with pytest.raises(ProviderError):
        ask(create(""), "lld.dance", {})


def test_findings_that_cannot_be_read_are_a_provider_error() -> None:
    with pytest.raises(ProviderError):
        ask(create(""), "lld.draft", {**all_inputs(), "previous_draft": "x", "findings": "[{}]"})


PARTS = st.sampled_from(
    """# 1 - T
## AC
- [ ] `x --y` shows 3 items within 5 seconds
## UX Flow
### Scenario 1: it fails
1. User runs `x`
```
| a | b |
|---|---|
## Files
- `a.py` — New
at most 10 things
<!--
""".splitlines(keepends=True)
)
ISSUES = st.lists(st.one_of(PARTS, st.text(max_size=30)), max_size=25).map("".join)


@given(ISSUES)
def test_any_issue_gets_a_draft_a_verdict_and_a_revision(issue: str) -> None:
    first = draft(issue)
    verdict = review(issue, first)
    assert list(parse_lld(first).sections) == list(range(1, 13))
    second = draft(issue, first, verdict.findings)
    assert review(issue, second).decision in Decision
    assert verdict.decision != Decision.APPROVED or all(row.covered for row in verdict.coverage)


@given(ISSUES, st.text(max_size=200))
def test_any_brief_gets_an_issue_and_a_verdict(brief: str, foreign: str) -> None:
    provider = create("")
    text = ask(provider, "issue.draft", {"item": "9", "brief": brief, "previous_draft": "", "findings": ""}).text
    for candidate in (text, foreign):
        parse_verdict(ask(provider, "issue.review", {"item": "9", "brief": brief, "draft": candidate}).text)


def test_a_megabyte_is_drafted_bounded_and_sent_back_to_a_person() -> None:
    issue = "# 1 - T\n\n## AC\n" + "".join(f"- [ ] `x{n} --y` shows value {n}\n" for n in range(30_000))
    text = draft(issue)
    assert len(text) < 300_000
    assert "the issue has to be split" in text
    assert review(issue, text).decision is Decision.DISCUSS
