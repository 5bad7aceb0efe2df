"""The example on the page about issues is read as the page says."""

from __future__ import annotations

import re

from agentos.documents.issue import parse_issue
from tests.support import ROOT


def test_the_example_has_the_title_and_the_criterion_that_the_page_names() -> None:
    page = (ROOT / "docs/issues.md").read_text("utf-8")
    found = re.search(r"^```markdown\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    issue = parse_issue(found[1])
    (criterion,) = issue.criteria
    said = " ".join(page.split())
    assert f'the title is "{issue.title}", and the criterion is "{criterion}"' in said
