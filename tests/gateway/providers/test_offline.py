from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.brief import parse_brief
from agentos.documents.findings import blocks_approval
from agentos.documents.issue import parse_issue
from agentos.documents.issue_spec import check_issue_spec
from agentos.documents.ledger import Ledger, Said, record_review
from agentos.documents.lld import check_lld, coverage, parse_lld
from agentos.documents.provenance import RECORDED, RULES, SCRIPTED, SIMULATED
from agentos.documents.verdict import Decision, Verdict, VerdictError, parse_verdict
from agentos.errors import ProviderError, RateLimited, UsageError
from agentos.gateway.providers import (
    Completion,
    Provider,
    Request,
    ask_once,
    create_provider,
    parse_model_spec,
)
from agentos.gateway.providers.offline import create
from agentos.gateway.providers.offline.filling import GAP
from agentos.gateway.providers.offline.rules import NOTICE
from agentos.workflows.drafting.repository_tree import RepositoryTree
from agentos.workflows.drafting.showing import show_reasons
from agentos.workflows.prompts.rendering import load_template
from tests.support import ROOT

EXAMPLES = ROOT / "examples" / "backlog"
RECORDINGS = ROOT / "examples" / "recorded"
DOCUMENTS = ROOT / "tests" / "documents"
STYLES = [
    *sorted((DOCUMENTS / "styles").glob("*.md")),
    *sorted((DOCUMENTS / "issues").rglob("*.md")),
]
TIDE = (DOCUMENTS / "fixtures" / "tide_issue.md").read_text("utf-8")
TEMPLATES = {
    "lld": load_template("agentos.workflows.drafting.lld", "lld"),
    "issue": load_template("agentos.workflows.drafting.issue", "issue"),
}
FILLER = (
    "42 GAP not in the issue Out of scope according to The issue's scenario brief -"
)
"""The words that the rules bring themselves."""


def request(
    purpose: str, inputs: Mapping[str, str], *, item: str = "42", round: int = 1
) -> Request:
    workflow, _, role = purpose.partition(".")
    return Request(
        "repo",
        workflow,
        item,
        f"N_{role}",
        round,
        1,
        purpose,
        "offline:",
        ask_once("prompt"),
        inputs,
    )


def ask(
    provider: Provider,
    purpose: str,
    inputs: Mapping[str, str],
    *,
    item: str = "42",
    round: int = 1,
) -> Completion:
    return asyncio.run(
        provider.complete(request(purpose, inputs, item=item, round=round), None)
    )


def draft(source: str, workflow: str = "lld", **more: str) -> str:
    name = "issue" if workflow == "lld" else "brief"
    inputs = {"item": "42", name: source, "template": TEMPLATES[workflow], **more}
    return ask(create(""), f"{workflow}.draft", inputs).text


def review(issue: str, text: str, options: str = "", round: int = 1) -> Completion:
    inputs = {"item": "42", "issue": issue, "draft": text}
    return ask(create(options), "lld.review", inputs, round=round)


def verdict_of(completion: Completion) -> Verdict:
    return parse_verdict(completion.text)


def words_of(*texts: str) -> set[str]:
    """Return the words of the texts, the numbers of list entries aside."""
    joined = re.sub(r"(?m)^\d+\.", "", "\n".join(texts))
    return set(re.findall(r"\w+", joined.casefold()))


def flat(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def test_it_needs_no_key_and_says_that_no_model_was_asked() -> None:
    provider = create_provider(parse_model_spec("offline"))
    inputs = {"item": "42", "issue": TIDE, "template": TEMPLATES["lld"]}
    completion = ask(provider, "lld.draft", inputs)
    assert provider.needs_key is False
    assert completion.model == RULES
    assert completion.usage.input_tokens == completion.usage.output_tokens == 0
    assert "no language model was asked" in completion.text[:400]


def test_the_same_issue_gives_the_same_bytes() -> None:
    assert draft(TIDE) == draft(TIDE)
    assert review(TIDE, draft(TIDE)) == review(TIDE, draft(TIDE))


def test_a_skeleton_has_the_issues_demands_and_files_and_marks_the_rest() -> None:
    lld, issue = parse_lld(draft(TIDE)), parse_issue(TIDE)
    demands = [*issue.criteria, *(one.text for one in issue.requirements)]
    assert [one.text for one in lld.requirements] == list(dict.fromkeys(demands))
    assert [file.path for file in lld.files] == [file.path for file in issue.files]
    assert list(lld.sections) == list(range(1, 13))
    assert not any(row.covered for row in coverage(lld))
    for empty in ("2.3", "2.4", "2.7", "10.1"):
        text = "\n".join(line.text for line in lld.subsections[empty].lines)
        assert GAP in text, empty


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.stem)
def test_no_word_is_invented_whatever_the_style_of_an_issue(path: Path) -> None:
    source = path.read_text("utf-8")
    text = draft(source)
    known = words_of(source, TEMPLATES["lld"], NOTICE, FILLER)
    assert words_of(text) - known == set()


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.stem)
def test_every_requirement_is_in_the_issue_word_for_word(path: Path) -> None:
    source = path.read_text("utf-8")
    for requirement in parse_lld(draft(source)).requirements:
        if GAP not in requirement.text:
            parts = [flat(part) for part in re.split("[;:|]", requirement.text)]
            assert all(part in flat(source) for part in parts), requirement.text


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.stem)
def test_no_word_is_invented_for_a_brief(path: Path) -> None:
    source = path.read_text("utf-8")
    known = words_of(source, TEMPLATES["issue"], NOTICE, FILLER, "Open Questions")
    assert words_of(draft(source, "issue")) - known == set()


def test_there_are_enough_styles() -> None:
    assert len(STYLES) > 40


def test_a_template_of_the_repositorys_own_is_filled_by_its_headings() -> None:
    template = "# <fill in: id>\n\n## 3. Requirements\n1. <fill in: one>\n\n## Mood\n<fill in: how it feels>\n"
    text = draft("# 7 - T\n\n## Acceptance Criteria\n- it rings\n", template=template)
    assert "## 3. Requirements\n1. it rings\n" in text
    assert f"## Mood\n{GAP} how it feels]" in text


def test_rules_approve_nothing() -> None:
    design = (DOCUMENTS / "fixtures" / "tide_lld.md").read_text("utf-8")
    for text in (design, draft(TIDE), "", "- [x] **APPROVED**\n", TIDE):
        answer = review(TIDE, text)
        assert verdict_of(answer).decision is not Decision.APPROVED
        assert answer.model == RULES
    plan = ask(create(""), "implementation.review", {"design": design})
    assert verdict_of(plan).decision is not Decision.APPROVED


def test_rules_report_what_they_can_prove() -> None:
    found = {finding.id for finding in verdict_of(review(TIDE, draft(TIDE))).findings}
    assert {"uncovered", "unfilled-2"} <= found
    assert not any(id.startswith("uncovered-") for id in found)


def test_a_revision_keeps_everything_and_lists_what_was_asked() -> None:
    first = draft(TIDE)
    asked = verdict_of(review(TIDE, first, "fault=revise"))
    said = Said("scripted", "today")
    ledger, _ = record_review(Ledger(), asked, said, "t", "s")
    findings = show_reasons([], ledger)
    second = draft(TIDE, previous_draft=first, findings=findings)
    assert set(first.split("\n")) <= set(second.split("\n"))
    assert asked.findings[0].text in second


EXPECTED = {
    "12": (Decision.APPROVED, 2),
    "14": (Decision.APPROVED, 1),
    "17": (Decision.APPROVED, 2),
    "19": (Decision.APPROVED, 1),
    "21": (Decision.DISCUSS, 1),
    "23": (Decision.APPROVED, 1),
    "26": (Decision.APPROVED, 1),
    "28": (Decision.DISCUSS, 1),
    "31": (Decision.APPROVED, 1),
    "33": (Decision.APPROVED, 1),
}


def example(item: str) -> str:
    name = "audit-trail.md" if item == "31" else f"{item}-*.md"
    (path,) = (EXAMPLES / "docs" / "issues").glob(name)
    return path.read_text("utf-8")


@pytest.mark.parametrize("item", EXPECTED)
def test_a_recorded_design_passes_the_check_and_ends_as_its_readme_says(
    item: str,
) -> None:
    provider = create(f"answers={RECORDINGS}")
    issue = example(item)
    for number in (1, 2):
        inputs = {"item": item, "issue": issue}
        design = ask(provider, "lld.draft", inputs, item=item, round=number)
        lld = parse_lld(design.text)
        found = check_lld(lld, parse_issue(issue), None, RepositoryTree(EXAMPLES))
        assert [finding for finding in found if blocks_approval(finding)] == []
        judged = ask(provider, "lld.review", inputs, item=item, round=number)
        assert design.model == judged.model == RECORDED
        verdict = verdict_of(judged)
        if verdict.decision is not Decision.REVISE:
            break
    assert (verdict.decision, number) == EXPECTED[item]


@pytest.mark.parametrize("item", ["41", "42", "43", "44"])
def test_a_recorded_issue_takes_up_every_wish(item: str) -> None:
    (path,) = (EXAMPLES / "docs" / "briefs").glob(f"{item}-*.md")
    brief = path.read_text("utf-8")
    inputs = {"item": item, "brief": brief}
    provider = create(f"answers={RECORDINGS}")
    text = ask(provider, "issue.draft", inputs, item=item).text
    found = check_issue_spec(parse_issue(text), parse_brief(brief))
    assert not any(map(blocks_approval, found))
    verdict = verdict_of(ask(provider, "issue.review", inputs, item=item))
    expected = Decision.DISCUSS if item == "44" else Decision.APPROVED
    assert verdict.decision is expected


def test_an_answered_item_has_answers_of_its_own() -> None:
    provider = create(f"answers={RECORDINGS}")
    answered = example("21") + "\n## Open Questions\n\n- [x] Which? **Answer:** 200\n"
    inputs = {"item": "21", "issue": answered}
    assert verdict_of(ask(provider, "lld.review", inputs, item="21")).decision == (
        Decision.APPROVED
    )


def test_an_item_that_is_not_recorded_is_filled_by_rules() -> None:
    inputs = {"item": "42", "issue": TIDE, "template": TEMPLATES["lld"]}
    provider = create(f"answers={RECORDINGS}")
    assert ask(provider, "lld.draft", inputs).model == RULES


@pytest.mark.parametrize(
    ("purpose", "item", "round"),
    [("lld.draft", "12", 3), ("implementation.code", "42", 1)],
)
def test_an_answer_that_is_missing_is_one_clear_line(
    purpose: str, item: str, round: int
) -> None:
    provider = create(f"answers={RECORDINGS}")
    with pytest.raises(ProviderError, match="no answer is recorded in") as caught:
        ask(provider, purpose, {"item": item}, item=item, round=round)
    assert "\n" not in str(caught.value)


def test_no_rule_writes_code() -> None:
    with pytest.raises(ProviderError, match="no rule writes code"):
        ask(create(""), "implementation.code", {})


def test_approve_after_lets_a_draft_pass_without_an_approval() -> None:
    rounds = [review(TIDE, draft(TIDE), "approve_after=3", n) for n in (1, 2, 3)]
    assert [answer.model for answer in rounds] == [SCRIPTED, SCRIPTED, SIMULATED]
    assert all("APPROVED" not in answer.text for answer in rounds)


def all_inputs() -> dict[str, str]:
    return {
        "item": "42",
        "issue": TIDE,
        "draft": draft(TIDE),
        "template": TEMPLATES["lld"],
        "previous_draft": "",
        "findings": "",
    }


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


@pytest.mark.parametrize(
    ("fault", "decision"), [("revise", Decision.REVISE), ("discuss", Decision.DISCUSS)]
)
def test_a_scripted_reviewer_never_approves(fault: str, decision: Decision) -> None:
    answer = review(TIDE, draft(TIDE), f"fault={fault}", round=9)
    assert verdict_of(answer).decision is decision
    assert answer.model == SCRIPTED


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
    assert ask(provider, "lld.draft", all_inputs(), item="2").text.startswith(
        '{"decision"'
    )


BAD_OPTIONS = """
speed=1 latency= latency=-1 latency=nan latency=abc latency=1e9 approve_after=0 approve_after=x gemini
fault= fault=boom fault=error@ fault=errorx0 fault=error+ answers= answers=/no/such/folder
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
def test_any_issue_gets_all_sections_and_a_report(issue: str) -> None:
    text = draft(issue)
    assert list(parse_lld(text).sections) == list(range(1, 13))
    assert verdict_of(review(issue, text)).decision is not Decision.APPROVED


@given(ISSUES, st.text(max_size=200))
def test_any_brief_gets_an_issue_and_a_report(brief: str, foreign: str) -> None:
    text = draft(brief, "issue")
    for candidate in (text, foreign):
        inputs = {"item": "9", "brief": brief, "draft": candidate}
        answer = ask(create(""), "issue.review", inputs)
        assert verdict_of(answer).decision is not Decision.APPROVED


def test_a_megabyte_is_filled_in_and_bounded() -> None:
    issue = "# 1 - T\n\n## AC\n" + "".join(
        f"- [ ] `x{n} --y` shows value {n}\n" for n in range(25_000)
    )
    text = draft(issue)
    assert len(text) < 300_000
    assert f"{GAP} 24800 more" in text
