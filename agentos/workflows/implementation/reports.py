"""Write the lineage files, the implementation report and the test report of an item."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentos.documents.provenance import RECORDED, mark_recorded
from agentos.documents.tables import render_row
from agentos.documents.verdict import parse_verdict, render_verdict
from agentos.item import State
from agentos.money import format_dollars
from agentos.proving.inspection import plain_id, scenario_of
from agentos.proving.judging import judge_regression, name_lines
from agentos.proving.runners.runs import TestOutcome, TestRun
from agentos.repository.publish import Artifacts
from agentos.settings import LOOP
from agentos.workflows.implementation.blueprint import Blueprint, read_blueprint
from agentos.workflows.implementation.held_out import held_scenarios
from agentos.workflows.implementation.kept import Kept
from agentos.workflows.implementation.proving import best_iteration, find_kept
from agentos.workflows.implementation.state import (
    ImplementationState,
    Iteration,
    Scaffold,
    Slip,
    count_attempts,
)
from agentos.workflows.implementation.unreachable import claims_of, say_claims

_MOST_LISTED = 50
_NOTHING = "nothing"
_NOT_IMPORTED = "cannot be imported"
_RED = frozenset({str(TestOutcome.FAILED), str(TestOutcome.ERROR)})
_ENDS: Mapping[str, str] = {
    State.IMPLEMENTED: "Implemented",
    State.NEEDS_REVISION: "Not begun: the test plan needs revision",
    State.NEEDS_DISCUSSION: "Not begun: the reviewer has a question",
}
_ENDS_WHEN_BEGUN: Mapping[str, str] = {
    State.NEEDS_REVISION: "Not delivered: the review of the code found harm",
    State.NEEDS_DISCUSSION: "Not delivered: the reviewer has a question",
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
{turns}"""
_TURNS = """
Tests and code were written turn by turn: {links}.
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
{kept}{held_out}
## Coverage of the declared files

Lines that ran in the tests or in processes that they started.

{coverage}
{unreached}
## The repository's whole suite

{suite}
"""
_KEPT = """
## What must not change

Their tests may pass without the code; they prove that it is kept, not that it is new.

{kept}"""
_UNREACHED = """
Lines that do not count, because no test can reach them here:

{lines}"""
_HELD_OUT = """
## Held out

Whoever wrote the code did not see the tests of the scenarios {scenarios}.
"""
_TURNS_FILE = "-turns.md"
_TEST_HEAD = ("Test", "Scenario", "Without the code", "With the code", "Shows")
_UNPROVEN = """
## Not noticed by any test

{unproven}"""


def artifacts_of(state: ImplementationState) -> Artifacts:
    """Return the lineage files and the two reports."""
    blueprint = read_blueprint(state["source"], state["item"])
    lineage = {}
    for number, (name, text) in enumerate(_lineage_files(state), start=1):
        lineage[f"{number:03d}-{name}"] = text
    turns = [name for name in lineage if name.endswith(_TURNS_FILE)]
    reports = {
        "implementation-report.md": render_implementation(state, blueprint, turns),
        "test-report.md": render_tests(state, blueprint),
    }
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
        yield from _before("tests", attempt, state)
        yield "tests.md", attempt["answer"]
        if attempt["problems"]:
            yield "tests-refused.md", _list(attempt["problems"])
    for iteration in state["iterations"]:
        yield from _before("code", iteration, state)
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


def _before(
    role: str, attempt: Scaffold | Iteration, state: ImplementationState
) -> Iterator[tuple[str, str]]:
    """Yield what led to an attempt: its turns in one file, or each answer that could not
    be applied.
    """
    slips = attempt.get("slips", ())
    if state.get("writer") == LOOP:
        if slips:
            yield f"{role}{_TURNS_FILE}", _show_turns(slips)
        return
    for slip in slips:
        yield f"{role}.md", slip["answer"]
        yield f"{role}-not-applied.md", slip["reply"]


def _show_turns(turns: Sequence[Slip]) -> str:
    parts = []
    for number, turn in enumerate(turns, start=1):
        answer = turn["answer"].strip()
        reply = turn["reply"].strip()
        parts.append(f"# Turn {number}\n\n{answer}\n\n## What came of it\n\n{reply}\n")
    return "\n".join(parts)


def render_implementation(
    state: ImplementationState, blueprint: Blueprint, turns: Sequence[str] = ()
) -> str:
    """Report what was built for each requirement and where it differs from the
    design.
    """
    decision = state["decision"]
    is_implemented = decision == State.IMPLEMENTED
    branch = ""
    if state["commit"]:
        branch = _BRANCH.format(branch=state["branch"], commit=state["commit"])
    cost = "nothing, by the prices that are known"
    if state.get("cost"):
        cost = format_dollars(state["cost"])
    report = _IMPLEMENTATION_REPORT.format(
        item=state["item"],
        design=blueprint.title,
        end=_say_end(state),
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
        findings=_findings_list(state),
        remarks=_plan_remarks(state),
        note=_quote_note(state),
        attempts=_iteration_table(state),
        turns=_link_turns(state, turns),
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
    kept = find_kept(state, blueprint)
    unreadable = _unreadable(state["red"])
    names = state["scaffolds"][-1]["names"] if state["scaffolds"] else []
    rows = []
    for name in names:
        without = _find(red, name) or "not run"
        if name.partition("::")[0] in unreadable:
            without = _NOT_IMPORTED
        with_code = _find(green, name) or "not run"
        proof = _judge_test(without, with_code)
        if proof == _NOTHING and _may_pass(name, state, kept):
            proof = "kept"
        scenario = scenario_of(name) or "-"
        rows.append((f"`{name}`", scenario, without, with_code, proof))
    report = _TEST_REPORT.format(
        item=state["item"],
        count=len(names),
        scenarios=", ".join(blueprint.scenarios),
        tests=_table(_TEST_HEAD, rows),
        kept=_kept_list(kept, blueprint),
        held_out=_held_out_list(state, blueprint),
        coverage=_coverage_table(best),
        unreached=_unreached_list(state),
        suite=_describe_suite(best, state["before"]),
    )
    if state["unproven"]:
        report += _UNPROVEN.format(unproven=_list(state["unproven"]))
    return report


def _say_end(state: ImplementationState) -> str:
    decision = state["decision"]
    if state["scaffolds"] and decision in _ENDS_WHEN_BEGUN:
        return _ENDS_WHEN_BEGUN[decision]
    if decision in list(State):
        return _ENDS.get(decision, decision)
    return f"Failed: {decision}"


def _findings_list(state: ImplementationState) -> str:
    """List what the item leaves: findings, and questions to a person."""
    asked = [f"the reviewer asks: {question}" for question in state["questions"]]
    lines = [*state["findings"], *asked]
    if not lines:
        return "None."
    return _list(lines).rstrip()


def _link_turns(state: ImplementationState, names: Sequence[str]) -> str:
    """Link the lineage files with the turns, from the folder of the report."""
    if not names:
        return ""
    folder = f"../../lineage/active/{state['item']}-implementation"
    links = [f"[{name}]({folder}/{name})" for name in names]
    return _TURNS.format(links=", ".join(links))


def _held_out_list(state: ImplementationState, blueprint: Blueprint) -> str:
    """List the scenarios whose tests the coder did not see, and which were dropped."""
    held = held_scenarios(state, blueprint)
    if not held:
        return ""
    listed = ", ".join(filter(held.__contains__, blueprint.scenarios))
    text = _HELD_OUT.format(scenarios=listed)
    dropped = state.get("held_dropped", [])
    if dropped:
        text += (
            f"\nThe reviewer found these wrong; they were dropped:\n\n{_list(dropped)}"
        )
    return text


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
    green = _by_scenario(_outcomes(best["run"] if best else {}))
    red = _by_scenario(_outcomes(state["red"]))
    unreadable = _unreadable(state["red"])
    for scaffold in state["scaffolds"][-1:]:
        for name in scaffold["names"]:
            if name.partition("::")[0] in unreadable:
                scenario = plain_id(scenario_of(name))
                red.setdefault(scenario, set()).add(str(TestOutcome.ERROR))
    kept = find_kept(state, blueprint)
    rows = []
    for requirement, text in blueprint.requirements.items():
        scenarios = blueprint.covered_by.get(requirement, ())
        without: set[str] = set()
        with_code: set[str] = set()
        for scenario in scenarios:
            without |= red.get(scenario, set())
            with_code |= green.get(scenario, set())
        proven = "no"
        if with_code == {TestOutcome.PASSED}:
            proven = _name_proof(without, requirement in kept.requirements)
        listed = ", ".join(scenarios) or "-"
        rows.append((requirement, text, listed, proven))
    return _table(["Requirement", "Text", "Scenarios", "Proven"], rows)


def _name_proof(without_code: Collection[str], is_kept: bool) -> str:
    """Return what tests show that pass with the code, by how they ended without it."""
    if not _RED.isdisjoint(without_code):
        return "yes"
    if is_kept:
        return "kept"
    return "no"


def _judge_test(without: str, with_code: str) -> str:
    """Return what a test shows that ended so without and with the code."""
    if with_code != TestOutcome.PASSED:
        return _NOTHING
    if without == _NOT_IMPORTED:
        return "proven"
    if _RED.isdisjoint(without.split(", ")):
        return _NOTHING
    return "proven"


def _may_pass(name: str, state: ImplementationState, kept: Kept) -> bool:
    """Tell whether a test is about what must not change, or was there before."""
    if plain_id(scenario_of(name)) in kept.scenarios:
        return True
    return name in state["scaffolds"][-1].get("earlier", ())


def _kept_list(kept: Kept, blueprint: Blueprint) -> str:
    """List the scenarios about what must not change, and who says so."""
    said = kept.scenarios
    listed = filter(said.__contains__, blueprint.scenarios)
    lines = [f"{scenario}: {said[scenario]}" for scenario in listed]
    if not lines:
        return ""
    return _KEPT.format(kept=_list(lines))


def _by_scenario(outcomes: Mapping[str, str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, outcome in outcomes.items():
        scenario = plain_id(scenario_of(name))
        found.setdefault(scenario, set()).add(outcome)
    return found


def _unreadable(run: Mapping[str, Any]) -> set[str]:
    """Return the files whose tests could not be collected."""
    return {str(error["path"]) for error in run.get("collection_errors", ())}


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


def _unreached_list(state: ImplementationState) -> str:
    lines = say_claims(claims_of(state))
    if not lines:
        return ""
    return _UNREACHED.format(lines=_list(lines))


def _describe_suite(best: Iteration | None, before: Mapping[str, Any]) -> str:
    if best is None or not best["suite"]:
        return "Not run: the item's own tests were not green."
    counts = Counter(_outcomes(best["suite"]).values())
    text = f"{counts[TestOutcome.PASSED]} of {counts.total()} tests passed"
    for outcome in TestOutcome:
        if outcome is not TestOutcome.PASSED and counts[outcome]:
            text += f", {counts[outcome]} {outcome}"
    text += "."
    regression = judge_regression(
        TestRun.from_data(before) if before else TestRun(),
        TestRun.from_data(best["suite"]),
    )
    parts = [text]
    if regression.known:
        parts.append("These failed before the change and still do:\n")
        parts.append(_list_at_most(regression.known))
    if regression.mended:
        parts.append("These failed before the change and pass now:\n")
        parts.append(_list_at_most(regression.mended))
    return "\n\n".join(map(str.strip, parts))


def _list_at_most(names: Sequence[str]) -> str:
    """List some names, and how many more there are."""
    lines = [f"`{name}`" for name in names[:_MOST_LISTED]]
    more = len(names) - _MOST_LISTED
    if more > 0:
        lines.append(f"and {more} more")
    return _list(lines)


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
