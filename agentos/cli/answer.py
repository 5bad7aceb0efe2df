"""`agentos answer`: see what a reviewer asked, and put the answer in."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

from agentos.cli.holding import held
from agentos.cli.parser import Parser
from agentos.cli.repository import repository_of
from agentos.documents.answers import Answer, parse_answers, render_answers
from agentos.errors import BadInput, UsageError
from agentos.files import SHARED_FILE, is_inside, read_regular, write_atomically
from agentos.home import Home, home_path, repository_key
from agentos.inbox.answered import ANSWERS_LIMIT
from agentos.places import answers_path
from agentos.plan.selection import normalise_id
from agentos.records import Record, read_record
from agentos.redaction import redact_json
from agentos.task import State, Task, Workflow
from agentos.untrusted import print_clean

LONGEST = 20_000
COMMANDS = {
    Workflow.LLD: "lld-workflow",
    Workflow.ISSUE: "issue-workflow",
    Workflow.IMPLEMENTATION: "implement-workflow",
}


def add_arguments(parser: Parser) -> None:
    """Declare what the command takes."""
    parser.add_argument("item", metavar="ITEM", help="the item's id, such as 42, or its label, such as LLD-42")
    given = parser.add_mutually_exclusive_group()
    given.add_argument("--text", help="the answer")
    given.add_argument("--file", type=Path, metavar="FILE", help="a file with the answer; - for standard input")
    parser.add_argument(
        "--question", type=int, metavar="N", help="the number of the question (default: all that are open)"
    )


def answer(args: argparse.Namespace) -> int:
    """Show the questions of an item, or put an answer in so that the item is pending again."""
    repository = repository_of(args)
    home = Home(home_path(os.environ))
    home.check_private()
    key = repository_key(repository)
    task, record = _find(home, key, args.item)
    if args.text is None and args.file is None:
        return _show(task, record, as_json=args.json)
    text = _read_answer(args)
    questions = _chosen(record, args.question, task)
    with held(home, key, task, "agentos answer"):
        path = _write(repository, task, Answer(" ".join(questions), text, _today()))
    if args.json:
        document = {"schema": 1, "label": task.label, "answered": list(questions), "file": path}
        sys.stdout.write(redact_json(json.dumps(document, indent=2)) + "\n")
    else:
        run = shlex.join((COMMANDS[task.workflow], *_places(args, record), "--issue", task.item))
        print_clean(f"{task.label} is pending again; the answer is in {path}. Go on with: {run}\n")
    return 0


def _find(home: Home, key: str, name: str) -> tuple[Task, Record]:
    """Return the item that waits for an answer under this id or label."""
    waiting: list[tuple[Task, Record]] = []
    ended: list[tuple[Task, Record]] = []
    for workflow in Workflow:
        labelled = next((other for other in Workflow if name.upper().startswith(f"{other.prefix}-")), workflow)
        if labelled is not workflow:
            continue
        task = Task(workflow, normalise_id(name, workflow), "")
        record = read_record(home.item(key, task).record)
        if record is not None:
            (waiting if record.state is State.NEEDS_DISCUSSION else ended).append((task, record))
    if len(waiting) == 1:
        return waiting[0]
    if waiting:
        labels = " or ".join(task.label for task, _ in waiting)
        raise UsageError(f"{name}: several items wait for an answer; name it as {labels}")
    if ended:
        task, record = ended[0]
        raise UsageError(f"{task.label} is {record.state}, nothing was asked; see: agentos status")
    raise UsageError(f"{name}: no such item has been run here; see: agentos status")


def _places(args: argparse.Namespace, record: Record) -> tuple[str, ...]:
    """Return the flags without which the item would not be found."""
    repository = ("--repo", str(args.repo)) if args.repo is not None else ()
    is_elsewhere = record.source.startswith("github:")
    return (*repository, *(("--source", record.source.rpartition("#")[0]) if is_elsewhere else ()))


def _show(task: Task, record: Record, *, as_json: bool) -> int:
    questions = _questions(record)
    if as_json:
        document = {"schema": 1, "label": task.label, "questions": list(questions)}
        sys.stdout.write(redact_json(json.dumps(document, indent=2)) + "\n")
        return 0
    # A question is a stranger's text: on one line it cannot pass for a line of ours.
    asked = (f"  {number}. {' '.join(text.split())}" for number, text in enumerate(questions, 1))
    lines = [f"{task.label} waits for an answer:", *asked]
    lines.append(f"Answer with: agentos answer {task.label} --text '...' or --file FILE")
    print_clean("\n".join(lines) + "\n")
    return 0


def _questions(record: Record) -> tuple[str, ...]:
    return record.questions or (record.message,)


def _chosen(record: Record, number: int | None, task: Task) -> tuple[str, ...]:
    questions = _questions(record)
    if number is None:
        return questions
    if not 1 <= number <= len(questions):
        raise UsageError(f"--question {number}: {task.label} has questions 1 to {len(questions)}")
    return (questions[number - 1],)


def _read_answer(args: argparse.Namespace) -> str:
    if args.text is not None:
        text = str(args.text)
    elif str(args.file) == "-":
        text = sys.stdin.read(LONGEST + 1)
    else:
        try:
            text = read_regular(args.file, ANSWERS_LIMIT).decode("utf-8-sig")
        except BadInput as error:
            raise UsageError(str(error)) from None
        except UnicodeDecodeError:
            raise UsageError(f"{args.file}: is not UTF-8 text; save it as UTF-8") from None
    if not text.strip():
        raise UsageError("the answer is empty; say it with --text or --file")
    if len(text) > LONGEST or "\0" in text:
        raise UsageError(f"the answer must be text of at most {LONGEST} characters; put the rest into the issue itself")
    return text.encode("utf-8", "replace").decode()


def _write(repository: Path, task: Task, new: Answer) -> str:
    """Add answers to the item's file; an answer to the same question replaces the earlier one."""
    name = answers_path(task.workflow, task.item)
    path = repository / name
    try:
        if not is_inside(path, repository):
            raise UsageError(f"{name}: leads outside the repository; remove the link and answer again")
        path.parent.mkdir(parents=True, exist_ok=True)
        before = parse_answers(read_regular(path, ANSWERS_LIMIT).decode("utf-8", "replace")) if path.exists() else ()
        kept = [answer for answer in before if answer.question != " ".join(new.question.split())]
        data = render_answers(task.label, [*kept, new]).encode()
        write_atomically(path, data, mode=SHARED_FILE)
    except BadInput as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{name}: cannot be written ({error.strerror}); check its permissions") from error
    return name


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
