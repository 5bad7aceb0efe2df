"""`agentos findings`: show what reviews found in a document, and waive a finding."""

from __future__ import annotations

from collections.abc import Iterator

from agentos.cli.command import Arguments, Parser, usage_errors
from agentos.cli.signable import find_document
from agentos.documents.ledger import Ledger, LedgerEntry, questions_for_person
from agentos.errors import UsageError
from agentos.plain_data import to_data
from agentos.run.signing import save_waiver

DESCRIPTION = """\
Show what reviews found in a document: each finding with its id, its state and who said what about it. The ledger is
findings.json in the lineage of the document.

examples:
  agentos findings 42                        the findings of the design of issue 42
  agentos findings 42 --waive F3 --because "we have one writer only"
  agentos findings ISSUE-17 --json           those of an issue, for programs
"""
EPILOG = """\
exit codes:
  0    shown, or waived
  2    there is no such document or finding, or the item is being run
"""


def add_arguments(parser: Parser) -> None:
    """Add the item, and the finding to waive."""
    parser.describe(
        "agentos findings ITEM [--waive ID --because TEXT]", DESCRIPTION, EPILOG
    )
    parser.add_argument("item", metavar="ITEM", help="an id such as 42, or ISSUE-17")
    parser.add_argument(
        "--waive", metavar="ID", help="accept the document with this open finding"
    )
    parser.add_argument(
        "--because", metavar="TEXT", default="", help="why, for the ledger of findings"
    )
    parser.add_common_arguments()


def run(arguments: Arguments) -> int:
    """Show the ledger, or waive a finding."""
    document = find_document(arguments)
    item = document.item
    if arguments.waive is None:
        if arguments.because:
            raise UsageError("--because goes with --waive ID")
        result = {"label": item.label, "ledger": to_data(document.ledger)}
        arguments.print_result(result, _render(item.label, document.ledger))
        return 0
    id = arguments.waive.upper()
    repository = arguments.repository
    key = arguments.repository_key
    with arguments.lock(item), usage_errors(repository):
        is_pending = save_waiver(
            document, repository, arguments.home, key, id, arguments.because
        )
    line = f"{item.label}: {id} is waived; it does not hold up the document any more"
    if is_pending:
        line += f"; go on with: {item.kind.record.command} --ids {item.id}"
    arguments.print_result({"label": item.label, "waived": id}, [line])
    return 0


def _render(label: str, ledger: Ledger) -> Iterator[str]:
    if not ledger.entries:
        reviews = len(ledger.reviews)
        yield f"{label}: no findings in {reviews} reviews"
    for entry in ledger.entries:
        yield from _render_entry(entry)
    for question in questions_for_person(ledger):
        yield f"Question for a person: {_line(question)}"


def _render_entry(entry: LedgerEntry) -> Iterator[str]:
    place = f", {_line(entry.section)}" if entry.section else ""
    head = f"{entry.id} {entry.state} ({entry.tier}, {entry.category}{place})"
    yield f"{head}: {_line(entry.text)}"
    for quote in entry.quotes:
        yield f"    {_line(quote.path)}:{quote.line}  {_line(quote.text)}"
    for change in entry.changes:
        reason = f": {_line(change.reason)}" if change.reason else ""
        yield f"    {change.on}  {change.state} by {_line(change.by)}{reason}"


def _line(text: str) -> str:
    # A model wrote the text: on one line it cannot look like output of AgentOS.
    return " ".join(text.split())
