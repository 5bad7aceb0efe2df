"""What an implementation leaves to read: its numbered papers, the implementation report and the test report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentos.artefacts import Artefacts
from agentos.documents.tables import render_row
from agentos.documents.verdict import parse_verdict, render_verdict
from agentos.inspection import plain_id, scenario_of
from agentos.money import say_dollars
from agentos.proofs.judging import name_lines
from agentos.proofs.runs import RED, Outcome, TestRun
from agentos.task import State
from agentos.workflows.implementation.blueprint import Blueprint, read_blueprint
from agentos.workflows.implementation.proving import best_iteration
from agentos.workflows.implementation.state import ImplementationState, Iteration

_ENDS = {
    State.IMPLEMENTED: "Implemented",
    State.NEEDS_REVISION: "Not begun: the test plan needs revision",
    State.NEEDS_DISCUSSION: "Not begun: the reviewer has a question",
}


def artefacts_of(state: ImplementationState) -> Artefacts:
    """Return the papers of the lineage and the two reports."""
    blueprint = read_blueprint(state["source"], state["item"])
    reports = {
        "implementation-report.md": render_implementation(state, blueprint),
        "test-report.md": render_tests(state, blueprint),
    }
    named = {f"{number:03d}-{name}": text for number, (name, text) in enumerate(_papers(state), start=1)}
    return Artefacts(papers=(named, reports))


def _papers(state: ImplementationState) -> Iterator[tuple[str, str]]:
    yield "design.md", state["source"]
    if state["plan"]:
        yield "plan-review.md", render_verdict(parse_verdict(state["plan"]), f"{state['item']}, test plan")
    for attempt in state["scaffolds"]:
        yield "tests.md", attempt["answer"]
        if attempt["problems"]:
            yield "tests-refused.md", _list(attempt["problems"])
    for iteration in state["iterations"]:
        yield "code.md", iteration["answer"]
        if iteration["refusals"]:
            yield "code-refused.md", iteration["feedback"] or _list(iteration["refusals"])
    if state["commit"]:
        facts = {name: state[name] for name in ("branch", "commit", "base", "touched")}
        yield "final.json", json.dumps(facts, indent=1) + "\n"


def render_implementation(state: ImplementationState, blueprint: Blueprint) -> str:
    """Say what was built against each requirement, and where it differs from the design."""
    decision = state["decision"]
    end = _ENDS.get(State(decision), decision) if decision in list(State) else f"Failed: {decision}"
    lines = [
        f"# {state['item']} - Implementation report",
        "",
        f"* **Design:** {blueprint.title}",
        f"* **End:** {end}",
        f"* **Message:** {state['message']}",
        f"* **Iterations:** {len(state['iterations'])}",
        f"* **Calls of models:** {state['calls']}",
        f"* **Cost:** {_say_cost(state)}",
        f"* **Base:** {state['base'] or 'none'}",
        f"* **Environment of the tests:** {state.get('environment') or 'as it was'}",
    ]
    if state["commit"]:
        lines += [f"* **Branch:** {state['branch']}", f"* **Commit:** {state['commit']}"]
    lines += ["", "## Requirements", "", *_requirement_rows(state, blueprint)]
    lines += ["", "## Files", "", *_file_rows(state, blueprint)]
    told = "Deviations from the design" if decision == State.IMPLEMENTED else "Why it ended"
    lines += ["", f"## {told}", "", _list(state["findings"]).rstrip() or "None."]
    if remarks := _plan_remarks(state):
        lines += ["", "## Remarks of the test plan's reviewer", "", *remarks]
    lines += ["", "## Iterations", "", *_iteration_rows(state)]
    if decision == State.IMPLEMENTED:
        lines += ["", state["stamp"]]
    return "\n".join(lines) + "\n"


def render_tests(state: ImplementationState, blueprint: Blueprint) -> str:
    """Give the evidence: the tests, red before the code and green after it, and what they reach."""
    best = best_iteration(state["iterations"], state["before"])
    red = _outcomes(state["red"])
    green = _outcomes(best["run"] if best else {})
    names = state["scaffolds"][-1]["names"] if state["scaffolds"] else []
    rows = [("Test", "Scenario", "Without the code", "With the code")]
    rows += [
        (f"`{name}`", scenario_of(name) or "-", _find(red, name) or "not run", _find(green, name) or "not run")
        for name in names
    ]
    lines = [f"# {state['item']} - Test report", "", f"* **Tests:** {len(names)}"]
    lines += [f"* **Scenarios:** {', '.join(blueprint.scenarios)}", "", "## Red and green", "", *_table(rows)]
    lines += ["", "## Coverage of the declared files", "", *_coverage_rows(best)]
    lines += ["", "## The repository's whole suite", "", _describe_suite(best, state["before"])]
    if state["unproven"]:
        lines += ["", "## Not noticed by any test", "", _list(state["unproven"]).rstrip()]
    return "\n".join(lines) + "\n"


def _say_cost(state: ImplementationState) -> str:
    cost = state.get("cost", 0)
    return say_dollars(cost) if cost else "nothing, by the prices that are known"


def _plan_remarks(state: ImplementationState) -> list[str]:
    findings = parse_verdict(state["plan"]).findings if state["plan"] else ()
    return [f"- {finding.id} ({finding.tier}): {finding.text}" for finding in findings]


def _requirement_rows(state: ImplementationState, blueprint: Blueprint) -> list[str]:
    best = best_iteration(state["iterations"], state["before"])
    green = _outcomes(best["run"] if best else {})
    by_scenario: dict[str, list[str]] = {}
    for name, outcome in green.items():
        by_scenario.setdefault(plain_id(scenario_of(name)), []).append(outcome)
    rows = [("Requirement", "Text", "Scenarios", "Proven")]
    for requirement, text in blueprint.requirements.items():
        scenarios = blueprint.covered_by.get(requirement, ())
        ends = [end for scenario in scenarios for end in by_scenario.get(scenario, ())]
        is_proven = bool(ends) and all(end == Outcome.PASSED for end in ends)
        rows.append((requirement, text, ", ".join(scenarios) or "-", "yes" if is_proven else "no"))
    return _table(rows)


def _file_rows(state: ImplementationState, blueprint: Blueprint) -> list[str]:
    touched = set(state["touched"])
    rows = [("File", "Declared", "Touched")]
    rows += [(f"`{path}`", str(kind), "yes" if path in touched else "no") for path, kind in blueprint.declared.items()]
    rows += [(f"`{path}`", "not declared", "yes") for path in sorted(touched - blueprint.declared.keys())]
    return _table(rows)


def _iteration_rows(state: ImplementationState) -> list[str]:
    rows = [("Iteration", "Passed", "Not passed", "Refused for")]
    for number, iteration in enumerate(state["iterations"], start=1):
        ends = list(_outcomes(iteration["run"]).values())
        passed = ends.count(Outcome.PASSED)
        first = iteration["refusals"][0] if iteration["refusals"] else "-"
        rows.append((str(number), str(passed), str(len(ends) - passed), first))
    return _table(rows) if len(rows) > 1 else ["None."]


def _coverage_rows(best: Iteration | None) -> list[str]:
    if best is None or not best["suite"]:
        return ["Not measured: the item's own tests were not green."]
    rows = [("File", "Lines run", "Of", "Missing")]
    for path, file in TestRun.from_data(best["suite"]).coverage.items():
        total = len(file.executed) + len(file.missing)
        rows.append((f"`{path}`", str(len(file.executed)), str(total), file.problem or name_lines(file) or "-"))
    return _table(rows)


def _describe_suite(best: Iteration | None, before: Mapping[str, Any]) -> str:
    if best is None or not best["suite"]:
        return "Not run: the item's own tests were not green."
    ends = list(_outcomes(best["suite"]).values())
    counts = [(outcome, ends.count(outcome)) for outcome in Outcome if outcome is not Outcome.PASSED]
    others = "".join(f", {count} {outcome}" for outcome, count in counts if count)
    said = f"{ends.count(Outcome.PASSED)} of {len(ends)} tests passed{others}."
    known = sum(end in RED for end in _outcomes(before).values())
    return f"{said} Before the change {known} failed." if known else said


def _outcomes(run: Mapping[str, Any]) -> dict[str, str]:
    return {str(test["id"]): str(test["outcome"]) for test in run.get("tests", ())}


def _find(outcomes: Mapping[str, str], name: str) -> str:
    """Return how a test ended; of one with parameters, all the ways."""
    ends = [end for each, end in outcomes.items() if each == name or each.startswith(f"{name}[")]
    return ", ".join(dict.fromkeys(ends))


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    head, *body = rows
    return [
        render_row(head),
        render_row(["---"] * len(head)),
        *(render_row([_flat(cell) for cell in row]) for row in body),
    ]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _list(lines: list[str]) -> str:
    return "".join(f"- {_flat(line)}\n" for line in lines)
