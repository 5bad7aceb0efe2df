"""A model that tests can do without a network: it writes dull designs and issues that
pass the mechanical check, and approves what passes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentos.backlog.inbox.answered import AnsweredInbox
from agentos.backlog.inbox.directory import DirectoryInbox
from agentos.documents.brief import parse_brief
from agentos.documents.findings import Finding, blocks_approval
from agentos.documents.issue import parse_issue
from agentos.documents.issue_spec import check_issue_spec, wish_coverage
from agentos.documents.lld import check_lld, coverage, parse_lld
from agentos.documents.tables import render_row
from agentos.documents.verdict import CoverageRow, Decision, Verdict, verdict_json
from agentos.gateway.providers.offline.recorded import ANSWERED
from agentos.item import Item
from agentos.kinds import DRAFTING, Kind

LLD = """\
# {item} - Feature: {title}

## 1. Context & Goal
* **Issue:** {item}
* **Objective:** {objective}
* **Status:** Draft
* **Related Issues:** None

### Open Questions
None

## 2. Proposed Changes
One module does what the issue asks for.

### 2.1 Files Changed

| File | Change Type | Description |
|------|-------------|-------------|
{files}

### 2.2 Dependencies
None are needed.

### 2.3 Data Structures
Plain strings.

### 2.4 Function Signatures
One function for each requirement.

### 2.5 Logic Flow
1. Read the input.
2. Give the result.

### 2.6 Technical Approach
The module is called by the command line.

### 2.7 Architecture Decisions

| Decision | Options Considered | Choice | Rationale |
|----------|--------------------|--------|-----------|
| Where the code lies | One module, several | One module | It is small |

## 3. Requirements
{requirements}

## 4. Alternatives Considered

| Option | Pros | Cons | Decision |
|--------|------|------|----------|
| Leave it | No work | No feature | Rejected |

## 5. Data & Fixtures
The tests make their own data.

## 6. Diagram
```mermaid
graph LR
  input --> result
```

## 7. Security & Safety Considerations
Nothing new is exposed.

**Fail Mode:** The command ends with a message.

**Recovery Strategy:** Run it again.

## 8. Performance & Cost Considerations
It takes less than a second and costs nothing.

## 9. Legal & Compliance
No personal data is touched.

## 10. Verification & Testing
Each requirement has a scenario.

### 10.1 Test Scenarios

| ID | Requirement | Scenario | Type | Input | Expected Output | Pass Criteria |
|----|-------------|----------|------|-------|-----------------|---------------|
{scenarios}

### 10.2 Test Commands
`pytest`

### 10.3 Manual Tests
None

## 11. Risks & Mitigations

| Risk | Impact | Likelihood | Mitigation |
|------|--------|------------|------------|
| The input is large | Low | Low | It is read in pieces |

## 12. Definition of Done
- [ ] All scenarios pass
"""
ISSUE = """\
# Issue #{item}: {title}

## User Story
As a user, I want {title}, so that my work is easier.

## Objective
{objective}

## UX Flow

### Scenario 1: it works
1. The user runs the command and sees the result.

### Scenario 2: it fails
1. The command fails and says why.

## Requirements
{requirements}

## Acceptance Criteria
{criteria}

## Definition of Done
- [ ] All criteria are tested
"""


def write_draft(purpose: str, inputs: Mapping[str, str]) -> str:
    """Return a document for `lld.draft` or `issue.draft`, or its revision."""
    previous = inputs.get("previous_draft", "")
    if previous.strip():
        return _revise(previous, inputs.get("findings", ""))
    item = inputs.get("item", "")
    if purpose == "issue.draft":
        brief = parse_brief(inputs.get("brief", ""))
        wishes = [*brief.wishes, *brief.constraints] or [*brief.problem]
        return ISSUE.format(
            item=item,
            title=brief.title,
            objective=" ".join(brief.problem) or brief.title,
            requirements="\n".join(f"{n}. {text}" for n, text in enumerate(wishes, 1)),
            criteria="\n".join(f"- [ ] {text}" for text in wishes),
        )
    issue = parse_issue(inputs.get("issue", ""))
    demands = [*issue.criteria, *(one.text for one in issue.requirements)]
    demands = list(dict.fromkeys(demands)) or [issue.objective or issue.title]
    files = [render_row([f"`{f.path}`", f.change, "Part of it"]) for f in issue.files]
    return LLD.format(
        item=item,
        title=issue.title,
        objective=issue.objective or issue.title,
        files="\n".join(files) or f"| `feature_{item}.py` | Add | The feature |",
        requirements="\n".join(f"{n}. {text}" for n, text in enumerate(demands, 1)),
        scenarios="\n".join(
            render_row([f"{n}0", f"R{n}", f"Try {n}", "Auto", "It is run", text, "Met"])
            for n, text in enumerate(demands, 1)
        ),
    )


def _revise(previous: str, findings: str) -> str:
    found = re.findall(r"^- (\S+) \([^)]*\): (.*)$", findings, re.MULTILINE)
    for id, _ in found:
        # A file that is there is not added.
        path = id.removeprefix("existing-path-")
        previous = previous.replace(f"| `{path}` | Add |", f"| `{path}` | Modify |")
    lines = [f"- [ ] {id}: {text}" for id, text in found]
    return "\n".join([previous.rstrip(), *lines, ""])


def write_review(purpose: str, inputs: Mapping[str, str]) -> Verdict:
    """Return an approval, or what the mechanical check found."""
    draft = inputs.get("draft", "")
    findings: Sequence[Finding]
    rows: Sequence[CoverageRow]
    if purpose == "issue.review":
        issue, brief = parse_issue(draft), parse_brief(inputs.get("brief", ""))
        findings, rows = check_issue_spec(issue, brief), wish_coverage(issue, brief)
    else:
        lld, issue = parse_lld(draft), parse_issue(inputs.get("issue", ""))
        findings, rows = check_lld(lld, issue, None), coverage(lld)
    is_bad = any(blocks_approval(finding) for finding in findings)
    return Verdict(
        Decision.REVISE if is_bad or not rows else Decision.APPROVED,
        f"{len(findings)} findings.",
        tuple(findings[:100]),
        coverage=tuple(rows),
    )


def record_answers(repository: Path, folder: Path, rounds: int = 5) -> None:
    """Record a draft and an approval of it for every round of every issue and brief;
    what is recorded of the same input already stays.
    """
    for workflow in DRAFTING:
        if not (repository / workflow.record.inputs).is_dir():
            continue
        inbox = AnsweredInbox(
            DirectoryInbox(repository, workflow), repository, workflow
        )
        for item in inbox.collect().items:
            _record(inbox, item, folder / item.id, rounds)


def _record(inbox: AnsweredInbox, item: Item, folder: Path, rounds: int) -> None:
    source = inbox.load(item)
    mark = folder / f"{item.kind}-{source.digest}"
    if mark.exists():
        return
    record_item(folder, item.kind, item.id, source.text, rounds)
    mark.touch()


def record_item(
    folder: Path, workflow: Kind, item: str, text: str, rounds: int = 5
) -> None:
    """Record a draft and an approval of it for every round of one item."""
    source = "issue" if workflow is Kind.LLD else "brief"
    inputs = {"item": item, source: text}
    draft = write_draft(f"{workflow}.draft", inputs)
    verdict = write_review(f"{workflow}.review", {**inputs, "draft": draft})
    for place in (folder, folder / ANSWERED):
        place.mkdir(parents=True, exist_ok=True)
        for number in range(1, rounds + 1):
            name = f"{workflow}-draft-{number}.md"
            (place / name).write_text(f"{draft}- [ ] Draft {number}\n", "utf-8")
            name = f"{workflow}-review-{number}.json"
            (place / name).write_text(verdict_json(verdict), "utf-8")
