"""Write the lineage files, the implementation report and the test report of an item."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentos.documents.provenance import RECORDED, mark_recorded
from agentos.documents.tables import render_row
from agentos.documents.verdict import parse_verdict, render_verdict
from agentos.item import State
from agentos.money import format_dollars
from agentos.proving.inspection import plain_id, scenario_of
from agentos.proving.judging import name_lines
from agentos.proving.runners.runs import RED, TestOutcome, TestRun
from agentos.repository.publish import Artifacts
from agentos.workflows.implementation.blueprint import Blueprint, read_blueprint
from agentos.workflows.implementation.proving import best_iteration
from agentos.workflows.implementation.state import (
    ImplementationState,
    Iteration,
    Slip,
    count_attempts,
)

_ENDS: Mapping[str, str] = {
    State.IMPLEMENTED: "Implemented",
    State.NEEDS_REVISION: "Not begun: the test plan needs revision",
    State.NEEDS_DISCUSSION: "Not begun: the reviewer has a question",
}
_IMPLEMENTATION_REPORT = """\
# {item} - Implementation report

* **Design:** {design}
* **End:** {end}
* **Message:** {message}
* **Iterations:** {iterations}
* **Calls of models:** {calls}
* **Cost:** {cost}
* **Base:** {base}
* **Environment of the tests:** {environment}
{branch}
## Requirements

{requirements}

## Files

{files}

## {findings_title}

{findings}
{remarks}{note}
## Iterations

{attempts}
"""
_BRANCH = """\
* **Branch:** {branch}
* **Commit:** {commit}
"""
_REMARKS = """
## Remarks of the test plan's reviewer

{remarks}
"""
_NOTE = """
## What a person said

{note}
"""
_TEST_REPORT = """\
# {item} - Test report

* **Tests:** {count}
* **Scenarios:** {scenarios}

## Red and green

{tests}

## Coverage of the declared files

{coverage}

## The repository's whole suite

{suite}
"""
_UNPROVEN = """
## Not noticed by any test

{unproven}"""


def artifacts_of(state: ImplementationState) -> Artifacts:
    """Return the lineage files and the two reports."""
    blueprint = read_blueprint(state["source"], state["item"])
    reports = {
        "implementation-report.md": render_implementation(state, blueprint),
        "test-report.md": render_tests(state, blueprint),
    }
    lineage = {}
    for number, (name, text) in enumerate(_lineage_files(state), start=1):
        lineage[f"{number:03d}-{name}"] = text
    return Artifacts(files=(lineage, reports))


def _lineage_files(state: ImplementationState) -> Iterator[tuple[str, str]]:
    yield "design.md", state["source"]
    if state.get("note"):
        yield "note.md", f"{state['note']}\n"
    if state["plan"]:
        verdict = parse_verdict(state["plan"])
        review = render_verdict(verdict, f"{state['item']}, test plan")
        if state["reviewer"] == RECORDED:
            review = mark_recorded(review)
        yield "plan-review.md", review
    for attempt in state["scaffolds"]:
        yield from _slips("tests", attempt.get("slips", ()))
        yield "tests.md", attempt["answer"]
        if attempt["problems"]:
            yield "tests-refused.md", _list(attempt["problems"])
    for iteration in state["iterations"]:
        yield from _slips("code", iteration.get("slips", ()))
        yield "code.md", iteration["answer"]
        refusals = iteration["refusals"]
        if refusals:
            yield "code-refused.md", iteration["feedback"] or _list(refusals)
    for review in state.get("code_reviews", ()):
        verdict = parse_verdict(review)
        yield "code-review.md", render_verdict(verdict, f"{state['item']}, code")
    if state["commit"]:
        facts = {
            "branch": state["branch"],
            "commit": state["commit"],
            "base": state["base"],
            "touched": state["touched"],
        }
        yield "final.json", json.dumps(facts, indent=1) + "\n"


def _slips(role: str, slips: Sequence[Slip]) -> Iterator[tuple[str, str]]:
    for slip in slips:
        yield f"{role}.md", slip["answer"]
        yield f"{role}-not-applied.md", slip["reply"]


def render_implementation(state: ImplementationState, blueprint: Blueprint) -> str:
    """Report what was built for each requirement and where it differs from the
    design.
    """
    decision = state["decision"]
    is_implemented = decision == State.IMPLEMENTED
    end = f"Failed: {decision}"
    if decision in list(State):
        end = _ENDS.get(decision, decision)
    branch = ""
    if state["commit"]:
        branch = _BRANCH.format(branch=state["branch"], commit=state["commit"])
    cost = "nothing, by the prices that are known"
    if state.get("cost"):
        cost = format_dollars(state["cost"])
    report = _IMPLEMENTATION_REPORT.format(
        item=state["item"],
        design=blueprint.title,
        end=end,
        message=state["message"],
        iterations=count_attempts(state["iterations"]),
        calls=state["calls"],
        cost=cost,
        base=state["base"] or "none",
        environment=state.get("environment") or "as it was",
        branch=branch,
        requirements=_requirement_table(state, blueprint),
        files=_file_table(state, blueprint),
        findings_title="Deviations from the design"
        if is_implemented
        else "Why it ended",
        findings=_list(state["findings"]).rstrip() or "None.",
        remarks=_plan_remarks(state),
        note=_quote_note(state),
        attempts=_iteration_table(state),
    )
    if is_implemented:
        report += f"\n{state['stamp']}\n"
    return report


def render_tests(state: ImplementationState, blueprint: Blueprint) -> str:
    """Report the tests, red before the code and green after it, and the lines that they
    cover.
    """
    best = best_iteration(state["iterations"], state["before"])
    red = _outcomes(state["red"])
    green = _outcomes(best["run"] if best else {})
    names = state["scaffolds"][-1]["names"] if state["scaffolds"] else []
    rows = [
        (
            f"`{name}`",
            scenario_of(name) or "-",
            _find(red, name) or "not run",
            _find(green, name) or "not run",
        )
        for name in names
    ]
    report = _TEST_REPORT.format(
        item=state["item"],
        count=len(names),
        scenarios=", ".join(blueprint.scenarios),
        tests=_table(["Test", "Scenario", "Without the code", "With the code"], rows),
        coverage=_coverage_table(best),
        suite=_describe_suite(best, state["before"]),
    )
    if state["unproven"]:
        report += _UNPROVEN.format(unproven=_list(state["unproven"]))
    return report


def _quote_note(state: ImplementationState) -> str:
    note = state.get("note", "")
    if not note:
        return ""
    # Its headings are not those of the report.
    quoted = "\n".join(f"> {line}" for line in note.splitlines())
    return _NOTE.format(note=quoted)


def _plan_remarks(state: ImplementationState) -> str:
    if not state["plan"]:
        return ""
    findings = parse_verdict(state["plan"]).findings
    remarks = [
        f"- {finding.id} ({finding.tier}): {finding.text}" for finding in findings
    ]
    return _REMARKS.format(remarks="\n".join(remarks)) if remarks else ""


def _requirement_table(state: ImplementationState, blueprint: Blueprint) -> str:
    best = best_iteration(state["iterations"], state["before"])
    green = _outcomes(best["run"] if best else {})
    by_scenario: dict[str, set[str]] = {}
    for name, outcome in green.items():
        scenario = plain_id(scenario_of(name))
        by_scenario.setdefault(scenario, set()).add(outcome)
    rows = []
    for requirement, text in blueprint.requirements.items():
        scenarios = blueprint.covered_by.get(requirement, ())
        outcomes = set[str]()
        for scenario in scenarios:
            outcomes |= by_scenario.get(scenario, set())
        rows.append(
            (
                requirement,
                text,
                ", ".join(scenarios) or "-",
                "yes" if outcomes == {TestOutcome.PASSED} else "no",
            )
        )
    return _table(["Requirement", "Text", "Scenarios", "Proven"], rows)


def _file_table(state: ImplementationState, blueprint: Blueprint) -> str:
    touched = set(state["touched"])
    rows = []
    for path, change in blueprint.declared.items():
        rows.append((f"`{path}`", str(change), "yes" if path in touched else "no"))
    for path in sorted(touched - blueprint.declared.keys()):
        row = (f"`{path}`", "not declared", "yes")
        rows.append(row)
    return _table(["File", "Declared", "Touched"], rows)


def _iteration_table(state: ImplementationState) -> str:
    if not state["iterations"]:
        return "None."
    rows = []
    number = 0
    for iteration in state["iterations"]:
        name = "kept"
        if not iteration.get("is_kept"):
            number += 1
            name = str(number)
        outcomes = list(_outcomes(iteration["run"]).values())
        passed = outcomes.count(TestOutcome.PASSED)
        refusals = iteration["refusals"] or ["-"]
        rows.append(
            (
                name,
                str(passed),
                str(len(outcomes) - passed),
                refusals[0],
            )
        )
    return _table(["Iteration", "Passed", "Not passed", "Refused for"], rows)


def _coverage_table(best: Iteration | None) -> str:
    if best is None or not best["suite"]:
        return "Not measured: the item's own tests were not green."
    rows = []
    for path, file in TestRun.from_data(best["suite"]).coverage.items():
        executed = len(file.executed)
        rows.append(
            (
                f"`{path}`",
                str(executed),
                str(executed + len(file.missing)),
                file.problem or name_lines(file) or "-",
            )
        )
    return _table(["File", "Lines run", "Of", "Missing"], rows)


def _describe_suite(best: Iteration | None, before: Mapping[str, Any]) -> str:
    if best is None or not best["suite"]:
        return "Not run: the item's own tests were not green."
    counts = Counter(_outcomes(best["suite"]).values())
    text = f"{counts[TestOutcome.PASSED]} of {counts.total()} tests passed"
    for outcome in TestOutcome:
        if outcome is not TestOutcome.PASSED and counts[outcome]:
            text += f", {counts[outcome]} {outcome}"
    text += "."
    failed_before = sum(outcome in RED for outcome in _outcomes(before).values())
    if failed_before:
        text += f" Before the change {failed_before} failed."
    return text


def _outcomes(run: Mapping[str, Any]) -> dict[str, str]:
    outcomes = {}
    for test in run.get("tests", ()):
        outcomes[str(test["id"])] = str(test["outcome"])
    return outcomes


def _find(outcomes: Mapping[str, str], name: str) -> str:
    """Return the outcome of a test; for one with parameters, all distinct outcomes."""
    found = []
    for test, outcome in outcomes.items():
        is_asked_for = test == name or test.startswith(f"{name}[")
        if is_asked_for and outcome not in found:
            found.append(outcome)
    return ", ".join(found)


def _table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [
        render_row(head),
        render_row(["---"] * len(head)),
    ]
    for row in rows:
        cells = map(_flatten, row)
        lines.append(render_row(cells))
    return "\n".join(lines)


def _flatten(text: str) -> str:
    return " ".join(text.split())


def _list(lines: list[str]) -> str:
    return "".join(f"- {_flatten(line)}\n" for line in lines)
