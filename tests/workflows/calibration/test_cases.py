"""The cases are what they claim to be: sound designs, and the same designs with one
thing wrong.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from pathlib import Path

import pytest

from agentos.documents.findings import Category, Finding, Tier, blocks_approval
from agentos.documents.hazards import has_secret
from agentos.documents.issue import parse_issue
from agentos.documents.lld import check_lld, parse_lld
from agentos.gateway.providers.offline.rules import write_review
from agentos.state.redaction import redact
from agentos.workflows.calibration.case_files import (
    CLEAN,
    Case,
    CaseError,
    DefectClass,
    Edit,
    apply_edits,
    load_cases,
    read_folder,
)
from agentos.workflows.calibration.scoring import findings_about, is_about

CASES = load_cases()
CONTROLS = [case for case in CASES if case.defect is None]
DEFECTIVE = [case for case in CASES if case.defect is not None]
BASE = {case.name: case for case in CONTROLS if "." not in case.name}
BOILERPLATE = (
    "Error handling is insufficient and edge cases should be considered more thoroughly.",
    "The tests do not cover all requirements; add more scenarios and assertions.",
    "Security considerations should be expanded with more detail about possible attacks.",
    "The design is not clear enough to be implemented; please revise it and be more specific.",
    "Consider performance under load, logging, monitoring and documentation.",
    "The data structures and function signatures lack detail; describe types and return values.",
    "This section needs more work before it can be approved.",
)


def by_name(case: Case) -> str:
    """Return the name under which a test of a case is known."""
    return case.name


def test_there_is_enough_of_everything() -> None:
    counts = Counter(case.kind for case in CASES)
    assert len(BASE) >= 3
    assert counts[CLEAN] >= 3
    assert all(counts[kind] >= 2 for kind in DefectClass)
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_no_machine_sees_anything_in_a_case(case: Case) -> None:
    issue, design = parse_issue(case.source), parse_lld(case.draft)
    assert issue.title
    assert len(design.sections) == 12
    assert not any(map(blocks_approval, check_lld(design, issue, None)))


@pytest.mark.parametrize(
    "case",
    [case for case in DEFECTIVE if case.kind == DefectClass.LEAKED_SECRET],
    ids=by_name,
)
def test_a_leaked_secret_has_a_form_that_no_pattern_sees(case: Case) -> None:
    assert not has_secret(case.draft)
    assert redact(case.draft) == case.draft


@pytest.mark.parametrize("case", DEFECTIVE, ids=by_name)
def test_a_defect_is_a_small_edit_of_its_clean_design(case: Case) -> None:
    clean = BASE[case.name.partition(".")[0]]
    assert (case.item, case.source) == (clean.item, clean.source)
    changes = [
        line
        for line in difflib.unified_diff(
            clean.draft.split("\n"), case.draft.split("\n"), lineterm="", n=0
        )
        if line[0] in "+-" and not line.startswith(("+++", "---"))
    ]
    assert 0 < len(changes) <= 50, changes
    assert "\n\n\n\n" not in case.draft


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_nothing_that_a_reviewer_sees_gives_a_defect_away(case: Case) -> None:
    assert case.item.isdigit()
    assert not re.search(
        r"seed|defect|calibrat|deliberate", case.source + case.draft, re.IGNORECASE
    )


def test_ids_of_requirements_scenarios_and_steps_have_no_gaps() -> None:
    for case in CASES:
        design = parse_lld(case.draft)
        numbers = [int(scenario.id) for scenario in design.scenarios]
        assert numbers == list(range(10, 10 * len(numbers) + 1, 10)), case.name
        assert [r.id for r in design.requirements] == [
            f"R{n}" for n in range(1, len(design.requirements) + 1)
        ], case.name
        flow = [line.text for line in design.subsections["2.5"].lines]
        steps = [
            int(line.partition(".")[0]) for line in flow if re.match(r"\d+\. ", line)
        ]
        assert steps == list(range(1, len(steps) + 1)), case.name


@pytest.mark.parametrize("text", BOILERPLATE)
def test_no_boilerplate_counts_as_a_catch_whatever_section_it_names(text: str) -> None:
    for case in DEFECTIVE:
        assert case.defect is not None
        for section in ("", *case.defect.sections):
            finding = Finding("F1", Tier.HIGH, Category.QUALITY, section, text)
            assert not is_about(finding, case.defect), (case.name, section)


@pytest.mark.parametrize("case", DEFECTIVE, ids=by_name)
def test_the_reason_for_a_defect_said_as_a_finding_is_a_catch(case: Case) -> None:
    assert case.defect is not None
    finding = Finding(
        "F1", Tier.HIGH, Category.QUALITY, case.defect.sections[0], case.why
    )
    assert is_about(finding, case.defect)


def test_the_rules_catch_what_the_documentation_says() -> None:
    """Keep docs/commands/calibrate.md honest."""
    verdicts = {
        case.name: write_review(
            "lld.review", {"issue": case.source, "draft": case.draft}
        )
        for case in CASES
    }
    assert {str(verdicts[case.name].decision) for case in CONTROLS} == {"DISCUSS"}
    caught = Counter(
        case.kind
        for case in DEFECTIVE
        if case.defect and findings_about(case.defect, verdicts[case.name])
    )
    assert caught.total() == 0


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (Edit("no such passage", "x"), "0 times"),
        (Edit("two", "x"), "2 times"),
        (Edit(" ", "x"), "times"),
        (Edit("end", ""), "0 times"),
    ],
)
def test_an_edit_that_does_not_apply_exactly_once_is_refused(
    edit: Edit, complaint: str
) -> None:
    with pytest.raises(CaseError, match=complaint):
        apply_edits("one two\ntwo\nend", [edit], "case")


def test_an_empty_passage_takes_its_line_with_it() -> None:
    assert apply_edits("one\ntwo\nthree\n", [Edit("two", "")], "case") == "one\nthree\n"


@pytest.mark.parametrize(
    ("seeds", "complaint"),
    [
        (
            "## wrong-class: name\n~~~ old\na\n~~~\n~~~ new\nb\n~~~\n",
            "must be a class and a name",
        ),
        ("## clean\n", "must be a class and a name"),
        ("## clean: name\n", "needs edits"),
        (
            "## impossible-api: name\n~~~ old\na\n~~~\n~~~ new\nb\n~~~\n",
            "also sections and terms",
        ),
        ("## clean: name\n~~~ old\na\n~~~\n", "by turns"),
        ("## clean: name\n~~~ old\na\n~~~\n~~~ new\nb\n", "by turns"),
        ("## clean: name\n~~~ new\na\n~~~\n~~~ old\nb\n~~~\n", "by turns"),
    ],
)
def test_a_file_of_seeds_that_cannot_be_used_is_refused(
    tmp_path: Path, seeds: str, complaint: str
) -> None:
    for name, text in (("issue", "# 1 - Issue\n"), ("design", "a\n"), ("seeds", seeds)):
        (tmp_path / f"{name}.md").write_text(text, "utf-8")
    with pytest.raises(CaseError, match=complaint):
        list(read_folder(tmp_path))
