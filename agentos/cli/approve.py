"""`agentos approve`: approve a document in one's own name."""

from __future__ import annotations

from agentos.cli.command import Arguments, Parser, usage_errors
from agentos.cli.signable import find_document
from agentos.documents.findings import blocks_approval
from agentos.run.signing import sign

DESCRIPTION = """\
Approve a document in your own name: the design as it stands, edited or not, or the last draft of an item that a
reviewer did not approve. Findings that are still open are waived, and stay in the ledger with your name.

examples:
  agentos approve 42                        the design of issue 42
  agentos approve 42 --because "agreed with the team on Tuesday"
  agentos approve ISSUE-17                  the issue that was written from brief 17
"""
EPILOG = """\
exit codes:
  0    approved
  2    there is no such document, or the item is being run
"""


def add_arguments(parser: Parser) -> None:
    """Add the item and the reason."""
    parser.describe("agentos approve ITEM [--because TEXT]", DESCRIPTION, EPILOG)
    parser.add_argument("item", metavar="ITEM", help="an id such as 42, or ISSUE-17")
    parser.add_argument(
        "--because", metavar="TEXT", default="", help="why, for the ledger of findings"
    )
    parser.add_common_arguments()


def run(arguments: Arguments) -> int:
    """Approve a document."""
    document = find_document(arguments)
    item = document.item
    repository = arguments.repository
    key = arguments.repository_key
    waived = [
        entry.id for entry in document.ledger.open if blocks_approval(entry.finding)
    ]
    arguments.home.prepare(key)
    with arguments.lock(item), usage_errors(repository):
        path = sign(document, repository, arguments.home, key, arguments.because)
    line = f"{item.label} is approved by you: {path}"
    if waived:
        line += f"; waived: {', '.join(waived)}"
    result = {"label": item.label, "document": path, "waived": waived}
    arguments.print_result(result, [line])
    return 0
