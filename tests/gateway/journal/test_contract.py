"""What every journal promises, and what the one on disk promises beyond."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from agentos.errors import FailureCause, ProviderError, UsageError
from agentos.gateway.budget import Caps, OverBudget
from agentos.gateway.journal import (
    CallCost,
    Journal,
    Settled,
    item_key,
    request_key,
    today,
)
from agentos.gateway.journal.memory import MemoryJournal
from agentos.gateway.journal.sqlite import KEPT_DAYS, SqliteJournal
from agentos.gateway.providers import Completion, Message, Request, Speaker, ask_once
from agentos.money import Cost
from agentos.usage import RateHeaders, Usage

ROOT = Path(__file__).resolve().parents[3]
DRAFT = Request(
    repository="r",
    workflow="lld",
    item="7",
    node="N1_design",
    round=1,
    attempt=1,
    purpose="lld.draft",
    model="openai:m",
    messages=ask_once("a question"),
    inputs={},
)
KEY = request_key(DRAFT)
ANSWER = Completion("text", "model", Usage(10, 20))
RUN = "run-1"

PREPARE = """
import sys
from dataclasses import replace
from pathlib import Path
from agentos.gateway.journal import request_key
from agentos.gateway.journal.sqlite import SqliteJournal
from agentos.money import Cost
from agentos.gateway.providers import Completion, Request, Usage, ask_once
DRAFT = Request("r", "lld", "7", "N1_design", 1, 1, "lld.draft", "openai:m", ask_once("a question"), {})
journal = SqliteJournal(Path(sys.argv[1]), sys.argv[2])
def wait():
    print("ready", flush=True)
    sys.stdin.readline()
"""


def start(program: str, path: Path, run: str = RUN) -> subprocess.Popen[str]:
    """Start a process of its own with an open journal, and wait until it says that it
    is ready.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", PREPARE + program, str(path), run],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def finish(child: subprocess.Popen[str]) -> str:
    """Let a process go on to its end and return what it said."""
    said, _ = child.communicate("\n", timeout=60)
    assert child.returncode == 0
    return said


def die(child: subprocess.Popen[str]) -> None:
    """Kill a process as nothing can prevent."""
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a journal may be."""
    return tmp_path / "journal.db"


@pytest.fixture
def disk(path: Path) -> Iterator[SqliteJournal]:
    """A journal on disk, empty."""
    journal = SqliteJournal(path, RUN)
    yield journal
    journal.close()


@pytest.fixture(params=["memory", "disk"])
def journal(request: pytest.FixtureRequest, path: Path) -> Iterator[Journal]:
    """Each implementation, empty."""
    makers: dict[str, Callable[[], Journal]] = {
        "memory": lambda: MemoryJournal(RUN),
        "disk": lambda: SqliteJournal(path, RUN),
    }
    journal = makers[request.param]()
    yield journal
    journal.close()


def ask(
    journal: Journal,
    request: Request = DRAFT,
    answer: Completion = ANSWER,
    cost: int = 5,
) -> None:
    """Have a question asked and answered."""
    call = journal.begin(request_key(request), request, 100)
    journal.settle(call.call_id, answer, Cost.exactly(cost), 1.5)


def test_what_was_settled_is_returned_and_nothing_else(journal: Journal) -> None:
    assert journal.settled(KEY) is None
    ask(journal)
    assert journal.settled(KEY) == Settled(ANSWER, Cost.exactly(5), 1.5)
    for other in (
        replace(DRAFT, messages=ask_once("another question")),
        replace(DRAFT, model="another:model"),
        replace(DRAFT, schema="verdict"),
        replace(DRAFT, round=2),
        replace(DRAFT, attempt=2),
        replace(DRAFT, node="N3_review"),
        replace(DRAFT, item="8"),
        replace(DRAFT, workflow="issue"),
        replace(DRAFT, repository="other"),
    ):
        assert journal.settled(request_key(other)) is None


TURNS = (
    Message(Speaker.SYSTEM, "you review"),
    Message(Speaker.USER, "a question"),
    Message(Speaker.ASSISTANT, "an answer"),
    Message(Speaker.USER, "another question"),
)


def test_a_turn_is_known_by_the_whole_conversation_before_it(journal: Journal) -> None:
    asked = replace(DRAFT, messages=TURNS)
    ask(journal, asked)
    assert journal.settled(request_key(asked)) is not None
    others = [TURNS[1:], TURNS[:2], TURNS[3:], (*TURNS, TURNS[-1])]
    for position, message in enumerate(TURNS):
        longer = replace(message, text=f"{message.text}.")
        others.append((*TURNS[:position], longer, *TURNS[position + 1 :]))
        swapped = replace(message, speaker=TURNS[position - 1].speaker)
        others.append((*TURNS[:position], swapped, *TURNS[position + 1 :]))
    # The same words in other portions.
    others.append(ask_once("\n".join(message.text for message in TURNS)))
    others.append(
        (*TURNS[:1], Message(Speaker.USER, "a question\nan answer"), TURNS[3])
    )
    for messages in others:
        assert journal.settled(request_key(replace(DRAFT, messages=messages))) is None


def test_a_single_question_is_found_by_the_hash_that_it_always_had() -> None:
    digest = "d2ea1a87eed6bcccae56b2a6f131f6cf7d17f78d6e773f6e4a3ae57b9a1faa86"
    assert KEY.question == f"N1_design/1/1/{digest}"


def test_a_call_that_was_only_begun_or_that_failed_is_not_settled(
    journal: Journal,
) -> None:
    call = journal.begin(KEY, DRAFT, 100)
    assert not call.was_sent_before
    assert journal.settled(KEY) is None
    journal.abandon(call.call_id, "overloaded", Cost())
    assert journal.settled(KEY) is None
    assert not journal.begin(KEY, DRAFT, 100).was_sent_before


def test_an_item_that_ended_is_forgotten_alone_and_its_cost_stays(
    journal: Journal,
) -> None:
    seventy = replace(DRAFT, item="70")
    ask(journal)
    ask(journal, seventy)
    journal.forget_item("r", "lld", "7")
    assert journal.settled(KEY) is None
    assert journal.settled(request_key(seventy)) == Settled(
        ANSWER, Cost.exactly(5), 1.5
    )
    assert journal.spent(item=item_key("r", "lld", "7")).most == 5
    ask(journal, answer=replace(ANSWER, text="another"))
    assert journal.settled(KEY) == Settled(
        replace(ANSWER, text="another"), Cost.exactly(5), 1.5
    )


@pytest.mark.parametrize(
    "text",
    ["", "x" * 4_000_000, "\0 \ud800 \U0001f600 \r\n"],
    ids=["empty", "long", "odd"],
)
def test_an_answer_comes_back_as_it_was(journal: Journal, text: str) -> None:
    answer = replace(ANSWER, text=text, rate_headers=RateHeaders(requests_left=3))
    ask(journal, answer=answer)
    assert journal.settled(KEY) == Settled(
        replace(answer, rate_headers=None), Cost.exactly(5), 1.5
    )


def test_names_that_are_no_unicode_do_no_harm(journal: Journal) -> None:
    odd = replace(DRAFT, item="\udcff", model="openai:\udcff")
    ask(journal, odd, replace(ANSWER, model="\ud800"))
    assert journal.settled(request_key(odd)) is not None
    journal.abandon(journal.begin(KEY, DRAFT, 1).call_id, "\ud800" * 9_000, Cost(0, 1))


def test_a_call_counts_at_its_worst_until_it_has_ended(journal: Journal) -> None:
    call = journal.begin(KEY, DRAFT, 100)
    assert journal.spent().most == 100
    journal.settle(call.call_id, ANSWER, Cost.exactly(7), 1.0)
    assert journal.spent().most == 7
    journal.abandon(journal.begin(KEY, DRAFT, 100).call_id, "refused", Cost())
    journal.abandon(journal.begin(KEY, DRAFT, 100).call_id, "cut off", Cost(0, 100))
    assert journal.spent(RUN).most == 107


def test_sums_are_told_apart_by_run_item_and_day(journal: Journal) -> None:
    ask(journal, cost=1)
    ask(journal, replace(DRAFT, item="8"), cost=2)
    assert journal.spent(RUN, day=today()).most == 3
    assert journal.spent(item=item_key("r", "lld", "8")).most == 2
    assert journal.spent(RUN, item_key("r", "lld", "7"), today()).most == 1
    assert (
        not journal.spent("another run")
        + journal.spent(day="2000-01-01")
        + journal.spent(item="9")
    )


def test_costs_are_told_by_item_node_and_model(journal: Journal) -> None:
    ask(journal)
    ask(journal, replace(DRAFT, round=2))
    ask(journal, replace(DRAFT, node="N3_review", model="gemini:m"))
    journal.begin(request_key(replace(DRAFT, item="8")), replace(DRAFT, item="8"), 100)
    assert journal.costs(RUN) == [
        CallCost("r/lld/7", "N1_design", "openai:m", 2, 0, 20, 40, Cost.exactly(10)),
        CallCost("r/lld/7", "N3_review", "gemini:m", 1, 0, 10, 20, Cost.exactly(5)),
        CallCost("r/lld/8", "N1_design", "openai:m", 1, 0, 0, 0, Cost(0, 100)),
    ]
    assert journal.costs("another run") == []
    assert journal.repeated(RUN) == 0


def test_costs_of_a_repository_leave_out_others(journal: Journal) -> None:
    ask(journal)
    for other in ("r2", "r-2", "s"):
        ask(journal, replace(DRAFT, repository=other, item="8"))
    assert [cost.item for cost in journal.costs_in("r")] == ["r/lld/7"]
    assert journal.costs_in("q") == []


def test_absurd_numbers_from_a_provider_are_kept_within_reason(
    journal: Journal,
) -> None:
    for cost, tokens in ((10**40, 10**40), (-5, -5)):
        ask(journal, answer=replace(ANSWER, usage=Usage(tokens, tokens)), cost=cost)
    assert 0 <= journal.spent().most <= 10**15
    assert journal.costs(RUN)[0].input_tokens <= 10**15


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        (Caps(per_run=120), "for this run .*is reached.*--max-cost"),
        (Caps(per_item=120), "for this item is reached.*--max-cost-per-item"),
        (Caps(per_day=120), r"for today \(UTC\) is reached.*midnight"),
    ],
)
def test_a_call_that_could_break_a_cap_is_refused_without_a_trace(
    journal: Journal, caps: Caps, words: str
) -> None:
    ask(journal, cost=80)
    with pytest.raises(OverBudget, match=words) as caught:
        journal.begin(KEY, DRAFT, 41, caps)
    assert (caught.value.cause, caught.value.failure, caught.value.may_fit_later) == (
        FailureCause.BUDGET,
        "budget",
        False,
    )
    assert journal.spent().most == 80
    assert sum(cost.calls for cost in journal.costs(RUN)) == 1
    journal.begin(KEY, DRAFT, 40, caps)


def test_a_call_that_may_fit_when_others_settle_is_told_apart(journal: Journal) -> None:
    caps = Caps(per_run=120)
    other = journal.begin(KEY, DRAFT, 100, caps)
    with pytest.raises(OverBudget, match=r"reserved for calls under way") as caught:
        journal.begin(KEY, DRAFT, 100, caps)
    assert caught.value.may_fit_later
    with pytest.raises(OverBudget) as caught:
        journal.begin(KEY, DRAFT, 121, caps)
    assert not caught.value.may_fit_later
    journal.settle(other.call_id, ANSWER, Cost.exactly(20), 1.0)
    journal.begin(KEY, DRAFT, 100, caps)


def test_what_is_on_disk_is_there_for_the_next_process(path: Path) -> None:
    first = SqliteJournal(path, RUN)
    ask(first)
    first.close()
    program = "print(journal.settled(request_key(DRAFT)).completion.text, journal.spent('run-1').most)"
    assert finish(start("wait();" + program, path)) == "text 5\n"


def test_the_database_is_private_from_the_start_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        journal = SqliteJournal(path, RUN)
        ask(journal)
    finally:
        os.umask(before)
    files = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert files == {
        "journal.db": 0o600,
        "journal.db-wal": 0o600,
        "journal.db-shm": 0o600,
    }
    journal.close()


def test_a_call_of_a_killed_process_is_asked_again_once_and_stays_counted(
    path: Path,
) -> None:
    die(start("journal.begin(request_key(DRAFT), DRAFT, 100); wait()", path))
    journal = SqliteJournal(path, "run-2")
    assert journal.settled(KEY) is None
    assert journal.spent().most == journal.spent(RUN).most == 100
    again = journal.begin(KEY, DRAFT, 60)
    assert again.was_sent_before
    journal.abandon(again.call_id, "overloaded", Cost())
    retry = journal.begin(KEY, DRAFT, 60)
    assert not retry.was_sent_before
    journal.settle(retry.call_id, ANSWER, Cost.exactly(7), 1.0)
    assert (journal.repeated("run-2"), journal.repeated(RUN)) == (1, 0)
    assert (journal.spent("run-2").most, journal.spent().most) == (7, 107)
    journal.forget_item("r", "lld", "7")
    assert not journal.begin(KEY, DRAFT, 60).was_sent_before
    journal.close()


def test_a_call_of_a_killed_process_cannot_be_waited_for(path: Path) -> None:
    die(start("journal.begin(request_key(DRAFT), DRAFT, 100); wait()", path))
    journal = SqliteJournal(path, "run-2")
    with pytest.raises(OverBudget) as caught:
        journal.begin(KEY, DRAFT, 100, Caps(per_day=150))
    assert not caught.value.may_fit_later
    journal.close()


def test_a_call_that_another_process_has_under_way_is_not_lost(path: Path) -> None:
    child = start("journal.begin(request_key(DRAFT), DRAFT, 100); wait()", path)
    journal = SqliteJournal(path, "run-2")
    with pytest.raises(OverBudget) as caught:
        journal.begin(KEY, DRAFT, 100, Caps(per_day=150))
    assert caught.value.may_fit_later
    assert not journal.begin(KEY, DRAFT, 100).was_sent_before
    die(child)
    journal.close()


def test_processes_settle_different_requests_at_once(path: Path) -> None:
    program = """
wait()
for round in range(50):
    request = replace(DRAFT, item=sys.argv[2], round=round)
    call = journal.begin(request_key(request), request, 100)
    journal.settle(call.call_id, Completion(f"{sys.argv[2]} {round}", "m", Usage(1, 1)), Cost.exactly(1), 0.1)
"""
    children = [start(program, path, run) for run in ("a", "b", "c")]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        finish(child)
    journal = SqliteJournal(path, RUN)
    assert journal.spent().most == 150
    for run in ("a", "b", "c"):
        for round in range(50):
            settled = journal.settled(
                request_key(replace(DRAFT, item=run, round=round))
            )
            assert settled is not None
            assert settled.completion.text == f"{run} {round}"
    journal.close()


def test_an_answer_with_a_flipped_bit_was_never_settled(
    disk: SqliteJournal, path: Path
) -> None:
    ask(disk)
    with sqlite3.connect(path) as other:
        (text,) = other.execute("SELECT text FROM answers").fetchone()
        other.execute("UPDATE answers SET text = ?", (bytes([text[0] ^ 1]) + text[1:],))
    other.close()
    assert disk.settled(KEY) is None
    assert disk.spent().most == 5
    assert disk.begin(KEY, DRAFT, 10).was_sent_before
    assert disk.repeated(RUN) == 1


def test_a_newer_journal_is_refused_and_left_alone(path: Path) -> None:
    SqliteJournal(path, RUN).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    before = path.read_bytes()
    for reads in (False, True):
        with pytest.raises(UsageError, match="newer AgentOS"):
            SqliteJournal(path, RUN, is_reader=reads)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.glob("*corrupt*")] == []


def spoil_by_garbage(path: Path) -> None:
    path.write_bytes(b"no database" * 1_000)


def spoil_by_cutting(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(5_000)


def spoil_by_emptying(path: Path) -> None:
    path.write_bytes(b"")


def spoil_by_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def spoil_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def spoil_by_another_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE birds (name)")
    other.close()


SPOILERS = [
    spoil_by_garbage,
    spoil_by_cutting,
    spoil_by_emptying,
    spoil_by_link,
    spoil_by_folder,
    spoil_by_another_database,
]


@pytest.mark.parametrize("spoil", SPOILERS)
def test_a_damaged_journal_is_set_aside_with_a_notice(
    path: Path, spoil: Callable[[Path], None]
) -> None:
    first = SqliteJournal(path, RUN)
    ask(first)
    first.close()
    spoil(path)
    journal = SqliteJournal(path, RUN)
    assert "journal.db.corrupt-1" in journal.notice
    assert os.path.lexists(path.with_name("journal.db.corrupt-1"))
    ask(journal)
    assert journal.settled(KEY) == Settled(ANSWER, Cost.exactly(5), 1.5)
    journal.close()
    again = SqliteJournal(path, RUN)
    assert again.notice == ""
    again.close()


def test_processes_that_find_damage_at_once_set_it_aside_once(path: Path) -> None:
    path.write_bytes(b"no database" * 1_000)
    program = (
        "call = journal.begin(request_key(DRAFT), DRAFT, 9).call_id\n"
        "journal.settle(call, Completion('x', 'm'), Cost.exactly(1), 1); wait()"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", PREPARE + program, str(path), str(number)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for child in children:
        finish(child)
    assert [file.name for file in path.parent.glob("*corrupt*")] == [
        "journal.db.corrupt-1"
    ]
    journal = SqliteJournal(path, RUN)
    assert journal.spent().most == 4
    journal.close()


def test_whatever_bits_flip_no_wrong_answer_is_given(tmp_path: Path) -> None:
    clean = tmp_path / "clean.db"
    journal = SqliteJournal(clean, RUN)
    for round in range(20):
        text = "".join(random.Random(round).choices("abcdefgh \n", k=3_000))
        ask(journal, replace(DRAFT, round=round), replace(ANSWER, text=text))
    right = {
        round: journal.settled(request_key(replace(DRAFT, round=round)))
        for round in range(20)
    }
    journal.close()
    data = clean.read_bytes()
    for seed in range(60):
        spoiled = bytearray(data)
        chance = random.Random(seed)
        for _ in range(chance.randint(1, 4)):
            spoiled[chance.randrange(len(spoiled))] ^= 1 << chance.randrange(8)
        path = tmp_path / f"{seed}.db"
        path.write_bytes(spoiled)
        with suppress(UsageError, ProviderError):
            journal = SqliteJournal(path, RUN)
            with closing(journal):
                for round, settled in right.items():
                    assert journal.settled(
                        request_key(replace(DRAFT, round=round))
                    ) in (None, settled)


def test_damage_that_shows_late_is_found_by_the_next_process(path: Path) -> None:
    journal = SqliteJournal(path, RUN)
    for round in range(10):
        text = random.Random(round).randbytes(100_000).hex()
        ask(journal, replace(DRAFT, round=round), replace(ANSWER, text=text))
    journal.close()
    data = bytearray(path.read_bytes())
    page = int.from_bytes(data[16:18], "big")
    with sqlite3.connect(path) as other:
        (root,) = other.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'calls_by_question'"
        ).fetchone()
    other.close()
    data[(root - 1) * page : root * page] = b"\xff" * page
    path.write_bytes(data)
    journal = SqliteJournal(path, RUN)
    assert journal.notice == ""
    with pytest.raises(ProviderError, match="journal") as caught:
        journal.settled(KEY)
    assert caught.value.failure == "infra"
    journal.close()
    journal = SqliteJournal(path, RUN)
    assert "corrupt-1" in journal.notice
    assert journal.settled(KEY) is None
    journal.close()


def test_a_full_disk_is_told_and_passes(path: Path) -> None:
    program = """
import resource, signal
from agentos.errors import ProviderError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
before = resource.getrlimit(resource.RLIMIT_FSIZE)
call = journal.begin(request_key(DRAFT), DRAFT, 100)
big = Completion("".join(map(str, range(1_000_000))), "m")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
try:
    journal.settle(call.call_id, big, Cost.exactly(1), 1)
except ProviderError as error:
    print(error.failure)
resource.setrlimit(resource.RLIMIT_FSIZE, before)
print(journal.settled(request_key(DRAFT)), journal.spent().most)
journal.settle(call.call_id, big, Cost.exactly(1), 1)
print(journal.settled(request_key(DRAFT)).completion == big, journal.spent().most)
wait()
"""
    child = subprocess.run(
        [sys.executable, "-c", PREPARE + program, str(path), RUN],
        cwd=ROOT,
        input="\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert child.stdout.splitlines() == ["infra", "None 100", "True 1", "ready"], (
        child.stderr
    )


def test_items_are_forgotten_by_other_threads_while_one_asks(
    disk: SqliteJournal,
) -> None:
    with ThreadPoolExecutor(4) as threads:
        for number in range(50):
            request = replace(DRAFT, item=str(number))
            ask(disk, request)
            threads.submit(disk.forget_item, "r", "lld", str(number)).add_done_callback(
                lambda done: done.result()
            )
    assert disk.spent().most == 250
    assert all(
        disk.settled(request_key(replace(DRAFT, item=str(number)))) is None
        for number in range(50)
    )


def test_a_reader_creates_nothing_and_sees_what_a_writer_wrote(path: Path) -> None:
    assert SqliteJournal.reader(path) is None
    assert list(path.parent.iterdir()) == []
    journal = SqliteJournal(path, RUN)
    ask(journal)
    reader = SqliteJournal.reader(path)
    assert reader is not None
    assert reader.spent(RUN).most == 5
    with pytest.raises(ProviderError):
        ask(reader)
    reader.close()
    journal.close()


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="AGENTOS_HOME"):
        SqliteJournal(tmp_path / "no" / "journal.db", RUN)


def _note(path: Path, days: int, count: int = 1) -> None:
    """Have a call on each of so many days, the last of them `days` ago."""
    with closing(sqlite3.connect(path)) as database, database:
        for number in range(count):
            database.execute(
                "INSERT INTO calls (run, item, question, node, model, day, sent_at, pid, birth, state, is_repeated, "
                "reservation, cost) VALUES ('old', 'i', 'q', 'n', 'm', date('now', ?), '', 1, '', 'settled', 0, 7, 7)",
                (f"-{days + number} days",),
            )


def test_a_clock_that_jumps_drops_no_costs(path: Path) -> None:
    SqliteJournal(path, RUN).close()
    _note(path, days=100)
    with closing(SqliteJournal(path, RUN)) as journal:
        assert journal.spent().most == 7
        ask(journal)
    with closing(SqliteJournal(path, RUN)) as journal:
        assert journal.spent().most == 12


def test_what_lies_behind_the_last_days_with_calls_is_dropped(path: Path) -> None:
    SqliteJournal(path, RUN).close()
    _note(path, days=0, count=KEPT_DAYS + 5)
    with closing(SqliteJournal(path, RUN)) as journal:
        assert journal.spent().most == 7 * KEPT_DAYS
