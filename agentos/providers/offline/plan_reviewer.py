"""Review the test plan of a design by rules."""

from __future__ import annotations

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.lld import coverage, parse_lld
from agentos.documents.verdict import Decision, Verdict
from agentos.wording import count

MODEST = "Checked by rules: each requirement has a scenario, and each scenario says what is expected."


def review_plan(design: str) -> Verdict:
    """Approve a plan in which every requirement has a scenario and every scenario an expected result."""
    lld = parse_lld(design)
    rows = coverage(lld)
    findings = [
        Finding(f"P{number}", Tier.HIGH, Category.QUALITY, "10.1", text)
        for number, text in enumerate(
            [
                *(f"No scenario tests {row.requirement}: {row.text}" for row in rows if not row.covered),
                *(
                    f"Scenario {scenario.id} does not say what is expected; state the result."
                    for scenario in lld.scenarios
                    if not (scenario.expected.strip() or scenario.pass_criteria.strip())
                ),
            ],
            start=1,
        )
    ]
    return Verdict(
        decision=Decision.REVISE if findings else Decision.APPROVED,
        summary=MODEST if not findings else f"The test plan has {count(len(findings), 'gap')}: {findings[0].text}",
        findings=tuple(findings),
        coverage=rows,
    )
