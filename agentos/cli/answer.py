"""`agentos answer`: show a reviewer's questions and answer them."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from agentos.backlog.selection import normalize_id
from agentos.cli.command import (
    Arguments,
    Parser,
)
from agentos.cli.command_line import command_line
from agentos.documents.answers import Answer
from agentos.errors import BadInput, UsageError
from agentos.item import Item, State
from agentos.kinds import installed_kinds
from agentos.repository.answers import ANSWER_LIMIT, ANSWERS_LIMIT, save_answer
from agentos.state.files import read_regular
from agentos.state.records import ItemRecord, read_record


def add_arguments(parser: Parser) -> None:
    """Add the item, the answer and the options."""
    parser.add_argument("item", metavar="ITEM", help="an id such as 42, or LLD-42")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--text", help="the answer")
    group.add_argument(
        "--file",
        type=Path,
        metavar="FILE",
        help="read the answer from a file; - for standard input",
    )
    parser.add_argument(
        "--question",
        type=int,
        metavar="N",
        help="answer only question N (default: all open questions)",
    )
    parser.add_common_arguments()


def run(arguments: Arguments) -> int:
    """Show the questions of an item, or save an answer so that it runs again."""
    arguments.home.check_private()
    item, record = _find_item(arguments)
    questions = record.questions or (record.message,)
    if arguments.text is None and arguments.file is None:
        document = {"label": item.label, "questions": questions}
        arguments.print_result(document, _render(item, questions))
        return 0
    text = _read_answer(arguments)
    number = arguments.question
    if number is not None:
        if not 1 <= number <= len(questions):
            raise UsageError(
                f"--question {number}: {item.label} has questions 1 to {len(questions)}"
            )
        questions = (questions[number - 1],)
    today = datetime.now(UTC).date().isoformat()
    answer = Answer(" ".join(questions), text, today)
    try:
        with arguments.lock(item):
            path = save_answer(arguments.repository, item, answer)
    except BadInput as error:
        raise UsageError(str(error)) from None
    command = _command_again(arguments, item, record)
    line = f"{item.label} is pending again; the answer is in {path}. Continue with: "
    line += command
    document = {"label": item.label, "answered": questions, "file": path}
    arguments.print_result(document, [line])
    return 0


def _find_item(arguments: Arguments) -> tuple[Item, ItemRecord]:
    """Return the item with this id or label that waits for an answer."""
    name = arguments.item
    key = arguments.repository_key
    upper = name.upper()
    every = installed_kinds()
    kinds = [k for k in every if upper.startswith(f"{k.record.label}-")]
    if not kinds:
        kinds = list(every)
    found, waiting, followed = [], [], []
    for kind in kinds:
        item = Item(kind, normalize_id(name, kind), "")
        paths = arguments.home.item(key, item)
        record = read_record(paths.record)
        if record is None:
            continue
        found.append((item, record))
        if record.state is State.NEEDS_DISCUSSION:
            waiting.append((item, record))
        elif record.state is State.APPROVED and record.questions:
            # It follows a reading of the source that a person may correct.
            followed.append((item, record))
    waiting = waiting or followed
    if len(waiting) == 1:
        return waiting[0]
    if waiting:
        labels = [item.label for item, _ in waiting]
        choice = " or ".join(labels)
        raise UsageError(
            f"{name}: several items wait for an answer; name it as {choice}"
        )
    if found:
        item, record = found[0]
        raise UsageError(
            f"{item.label} is {record.state} and has no question; see: agentos status"
        )
    raise UsageError(f"{name}: no such item has been run here; see: agentos status")


def _render(item: Item, questions: tuple[str, ...]) -> Iterator[str]:
    yield f"{item.label} waits for an answer:"
    for number, text in enumerate(questions, 1):
        # A model wrote the text: on one line it cannot look like output of AgentOS.
        line = " ".join(text.split())
        yield f"  {number}. {line}"
    yield f"Answer with: agentos answer {item.label} --text '...' or --file FILE"


def _command_again(arguments: Arguments, item: Item, record: ItemRecord) -> str:
    """Return the command that runs an answered item again.

    It is the command of the run that asked: with other models the item would have
    another outcome, and without any it would only become a skeleton.
    """
    program = item.kind.record.command
    path = arguments.home.logs / record.run / "run.json"
    try:
        run = json.loads(read_regular(path, ANSWERS_LIMIT))
        command = str(run.get("command", ""))
    except (BadInput, ValueError, AttributeError):
        command = ""
    if not command.startswith((program, "agentos ")):
        parts = program.split()
        if arguments.repo is not None:
            parts += ["--repo", str(arguments.repo)]
        if record.source.startswith("github:"):
            source, _, _ = record.source.rpartition("#")
            parts += ["--source", source]
        command = shlex.join([*parts, "--issue", item.id])
    program, _, rest = command.partition(" ")
    called = command_line(program, arguments.environ)
    return f"{called} {rest}"


def _read_answer(arguments: Arguments) -> str:
    if arguments.text is not None:
        text = str(arguments.text)
    elif str(arguments.file) == "-":
        text = sys.stdin.read(ANSWER_LIMIT + 1)
    else:
        try:
            text = read_regular(arguments.file, ANSWERS_LIMIT).decode("utf-8-sig")
        except BadInput as error:
            raise UsageError(str(error)) from None
        except UnicodeDecodeError:
            raise UsageError(
                f"{arguments.file}: is not UTF-8 text; save it as UTF-8"
            ) from None
    if not text.strip():
        raise UsageError("the answer is empty; give it with --text or --file")
    if len(text) > ANSWER_LIMIT or "\0" in text:
        raise UsageError(
            f"the answer must be text of at most {ANSWER_LIMIT} characters; put the"
            " rest into the issue itself"
        )
    return text.encode("utf-8", "replace").decode()
