"""The rules say of every text in the corpus exactly what is wrong with it."""

from __future__ import annotations

import pytest

from agentos.documents.findings import Tier
from agentos.documents.issue import parse_issue
from agentos.documents.lld import check_lld, parse_lld, unwrap
from tests.documents.llds.corpus import BASE, CASES, ISSUE, Case, Files

SOURCE = parse_issue(ISSUE)


def ids(
    text: str, previous: str | None = None, tree: Files | None = None
) -> frozenset[str]:
    before = parse_lld(previous) if previous is not None else None
    return frozenset(
        finding.id for finding in check_lld(parse_lld(text), SOURCE, before, tree)
    )


def named(case: Case) -> str:
    return case.name


def test_the_corpus_is_large_and_has_no_text_twice() -> None:
    assert (
        len({(case.text, case.previous, case.tree) for case in CASES})
        == len(CASES)
        >= 110
    )


@pytest.mark.parametrize("case", CASES, ids=named)
def test_exactly_the_flaws_of_a_design_are_found(case: Case) -> None:
    assert ids(case.text, case.previous, case.tree) == case.expected


@pytest.mark.parametrize("case", CASES, ids=named)
def test_every_finding_names_a_line_of_the_text(case: Case) -> None:
    before = parse_lld(case.previous) if case.previous is not None else None
    for finding in check_lld(parse_lld(case.text), SOURCE, before, case.tree):
        place, found, _ = finding.text.partition(": ")
        assert found
        assert place.startswith("Line ")
        assert 1 <= int(place.removeprefix("Line ")) <= case.text.count("\n") + 1


@pytest.mark.parametrize("case", CASES, ids=named)
def test_an_unwrapped_answer_is_the_same_design(case: Case) -> None:
    plain = unwrap(case.text)
    assert unwrap(plain) == plain
    assert parse_lld(plain) == parse_lld(case.text)
    assert ids(plain, case.previous, case.tree) == case.expected


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if not case.expected and case.tree is None],
    ids=named,
)
def test_a_clean_design_in_any_shape_holds_the_same(case: Case) -> None:
    lld = parse_lld(case.text)
    assert lld.number == 51
    assert list(lld.sections) == list(range(1, 13))
    assert [requirement.id for requirement in lld.requirements] == ["R1", "R2", "R3"]
    assert [scenario.id for scenario in lld.scenarios] == ["010", "020", "030", "040"]
    assert len(lld.decisions) == 2
    assert [(item.group, item.text) for item in lld.done] == [
        ("Code", "Typed and linted"),
        ("Tests", "Every scenario passes"),
    ]
    assert [bool(question.answer) for question in lld.open_questions] == [True, False]


def test_a_placeholder_that_the_issue_asks_for_may_stand() -> None:
    wanted = "Lines marked TODO are counted"
    source = parse_issue(
        ISSUE.replace(
            "- [ ] A crate that has a label is not printed again", f"- [ ] {wanted}"
        )
    )
    text = BASE.replace("A crate that has a label is not printed again", wanted)
    assert check_lld(parse_lld(text), source, None) == ()


WITHOUT_SECOND = (
    BASE.replace("2. A crate that has a label is not printed again\n", "")
    .replace("3. An empty", "2. An empty")
    .replace("| 030 | R3 |", "| 030 | R2 |")
    .replace("R1, R3", "R1")
)


@pytest.mark.parametrize(
    "answer",
    [
        "- [x] Is a crate that has a label printed again? **Answer:** Yes, each time.",
        "- [x] What of the old labels? **Answer:** Criterion 2 is withdrawn.",
        "- [x] What of AC-2? **Answer:** Drop it.",
    ],
)
def test_a_criterion_that_an_answer_changed_is_not_demanded(answer: str) -> None:
    design = parse_lld(WITHOUT_SECOND)
    (asked,) = check_lld(design, SOURCE, None)
    assert asked.id == "hint-criterion-2"
    source = parse_issue(f"{ISSUE}\n## Open Questions\n\n{answer}\n")
    assert check_lld(design, source, None) == ()


def test_a_hint_puts_two_texts_side_by_side() -> None:
    (asked,) = check_lld(parse_lld(WITHOUT_SECOND), SOURCE, None)
    assert asked.tier is Tier.SUGGESTION
    assert asked.text.endswith(
        "the issue says: 'A crate that has a label is not printed again'. Nearest in the"
        " design: 'Every scanned crate gets one label within 3 seconds'. Is it taken up?"
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("`depot/queue.py` | Test | New queue", set()),
        ("`depot/queue.py` | Test | The queue", {"absent-path-depot/queue.py"}),
        ("`depot/queue.py` |  | The queue", {"absent-path-depot/queue.py"}),
        ("`depot/crates.py` | Source | Add a lock", set()),
        ("`depot/crates.py` | Modify (add a lock) | x", set()),
        ("`depot/queue.py` | Modify (add a lock) | x", {"absent-path-depot/queue.py"}),
        ("`depot/queue.py` | New/Modify | x", set()),
        ("`depot/crates.py` → `depot/boxes.py` | Rename | x", set()),
        (
            "`depot/a.py` → `depot/b.py` | Rename | x",
            {"absent-path-depot/a.py", "absent-path-depot/b.py"},
        ),
        ("depot/crates.py, README.md | Modify | x", set()),
        ("`Label` in `depot/crates.py:12-20` | Modify | x", set()),
        ("`depot` | Add | more modules", set()),
    ],
)
def test_a_path_exists_or_is_declared_as_new(row: str, expected: set[str]) -> None:
    text = BASE.replace(
        "`depot/scanner.py` | Modify | Hand each scan to the printer", row
    )
    assert ids(text, tree=Files()) == expected


def test_a_missing_path_that_the_issue_names_is_only_remarked() -> None:
    source = parse_issue(ISSUE + "\n## Files\n\n- `depot/reader.py` (modify)\n")
    text = BASE.replace("`depot/scanner.py` |", "`depot/reader.py` |")
    found = check_lld(parse_lld(text), source, None, Files())
    assert [(finding.id, finding.tier) for finding in found] == [
        ("hint-absent-paths", Tier.SUGGESTION)
    ]


def test_a_mistyped_path_comes_with_the_right_one() -> None:
    text = BASE.replace("`depot/scanner.py` |", "`depot/scaner.py` |")
    assert (
        "did you mean `depot/scanner.py`?"
        in check_lld(parse_lld(text), SOURCE, None, Files())[0].text
    )
