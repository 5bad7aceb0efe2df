"""Kill the coordinator or a worker in the middle of conversations of ten turns, with
each provider: no turn that was answered is sent again, and the last answers are the
same bytes.

`claude-cli` runs each genuine claude command that is installed; without one it is left
out, and the figures say so. `offline` gives recorded answers to a model that reviews
them: a run without any model keeps its journal in memory.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from agentos.documents.verdict import Decision, Verdict, verdict_json
from tests.faults import market
from tests.faults.figures import Figures, main
from tests.faults.scene import make_world, wait_deserted
from tests.scenario import ScenarioProcess
from tests.support import NO_CLAUDE, PATIENCE, SIGKILL, Running, World, find_claudes

KILLS_A_WORLD = 4
OFFLINE = "offline"
CLAUDE = "claude-cli"
SLOWEST = 400.0
"""Seconds; the claude command takes seconds of computing for each turn."""
SCRIPT: Mapping[str, Any] = {"latency": 0.05}
APPROVED = Verdict(Decision.APPROVED, "This is a talk.", ())
REVIEWER = "openai:reviewing"
PACKAGE = "talking"
SOURCE = '''\
"""A kind whose drafter answers in TURNS turns of one conversation."""

from dataclasses import replace

from agentos.kinds import Kind, KindRecord

RECORD = KindRecord(
    name="talk",
    label="TALK",
    inputs="docs/topics",
    source="topic",
    document="docs/talks/{number}.md",
    package="talking",
)


def make_flow():
    from agentos.gateway.providers import Message, Speaker
    from agentos.workflows.drafting.flow import Drafting
    from agentos.workflows.drafting.kind import DraftingKind

    class Talking(Drafting):
        def context(self, session, identity):
            ask = session.ask

            async def talk(*, messages, attempt, **question):
                said = tuple(messages)
                for turn in range(1, TURNS + 1):
                    answer = await ask(messages=said, attempt=turn, **question)
                    text = f"Say more, {turn}."
                    said += (
                        Message(Speaker.ASSISTANT, answer.text),
                        Message(Speaker.USER, text, (len(text),)),
                    )
                return answer

            def choose(*, role, **question):
                return (talk if role == "draft" else ask)(role=role, **question)

            context = super().context(session, identity)
            return replace(context, ask=choose)

    return Talking(DraftingKind(Kind(RECORD.name), lambda *_: []))
'''
PROMPT = "inputs: item, topic{more}\n\nTalk about {{{{item}}}}.\n\n{{{{topic}}}}\n"
DRAFT = ", template, material; previous_draft, findings"
REVIEW = "; draft, earlier_findings"
RECORDED = "# What was recorded\n\nThis is the recorded talk about topic {number}.\n"


@dataclass(frozen=True)
class Talk:
    """Conversations with one provider, all at once."""

    provider: str
    model: str = "m"
    claude: str = ""
    """The claude command, for the provider that runs one."""
    items: int = 3
    turns: int = 10
    pause: float = 0.08
    """Seconds from the sending of a turn within which a kill comes: a turn and a bit."""

    @property
    def drafter(self) -> str:
        """The model as it is named to the command, and in the journal."""
        return f"{self.provider}:{self.model}"

    @property
    def all_turns(self) -> int:
        """How many questions there are."""
        return self.items * self.turns

    @property
    def command(self) -> tuple[str, ...]:
        """The command that holds all conversations."""
        words = ["agentos", "run", "talk", "--all", "--parallel", str(self.items)]
        words += ["--drafter", self.drafter, "--retries", "2"]
        words += ["--price", f"{self.paid}:*=3/15"]
        if self.provider == OFFLINE:
            return *words, "--reviewer", REVIEWER
        # What a simulation lets pass would be pending again in the next run.
        return *words, "--reviewer", "offline:answers=../recorded"

    @property
    def paid(self) -> str:
        """The provider that takes keys: that of the reviewer if the drafter is offline."""
        if self.provider == OFFLINE:
            return REVIEWER.partition(":")[0]
        return self.provider


def plain_talks() -> list[Talk]:
    """Return a talk with each provider that needs nothing installed."""
    recorded = Talk(OFFLINE, "latency=0.05,answers=../recorded")
    return [Talk("openai"), Talk("anthropic"), Talk("gemini"), recorded]


def claude_talks() -> list[Talk]:
    """Return a talk with each genuine claude command."""
    commands = find_claudes()
    return [Talk(CLAUDE, "sonnet", claude=path, pause=2.0) for path in commands]


def measure(
    seed: int, count: int, folder: Path, talks: Sequence[Talk] | None = None
) -> Figures:
    """Kill so many times, equally often with each provider and command."""
    begun = {"kills": 0, "worker_kills": 0, "worlds": 0, "turns": 0, "asked_again": 0}
    figures = Figures("kill_in_conversation", seed, count, begun)
    if talks is None:
        talks = plain_talks() + claude_talks()
        if not claude_talks():
            figures.values["left_out"] = f"{CLAUDE}: {NO_CLAUDE}"
    rng = random.Random(seed)
    for number, talk in enumerate(talks):
        left = (count + number) // len(talks)
        while left > 0:
            figures.add("worlds")
            place = folder / f"world-{figures.values['worlds']}"
            left -= _torment(figures, place, rng, talk, min(left, KILLS_A_WORLD))
    return figures


def make_talks(folder: Path, talk: Talk) -> World:
    """Make a repository with topics, and the package of the kind on the path."""
    world = make_world(folder, 0)
    topics = world.repo / "docs" / "topics"
    topics.mkdir(parents=True)
    for number in range(1, talk.items + 1):
        (topics / f"{number}.md").write_text(f"# Topic {number}\n\nSay it.\n", "utf-8")
        recorded = folder / "recorded" / str(number)
        recorded.mkdir(parents=True)
        draft = RECORDED.format(number=number)
        (recorded / "talk-draft-1.md").write_text(draft, "utf-8")
        review = verdict_json(APPROVED)
        (recorded / "talk-review-1.json").write_text(review, "utf-8")
    packages = folder / "packages"
    files = {
        f"{PACKAGE}/__init__.py": SOURCE.replace("TURNS", str(talk.turns)),
        f"{PACKAGE}/prompts/draft.md": PROMPT.format(more=DRAFT),
        f"{PACKAGE}/prompts/review.md": PROMPT.format(more=REVIEW),
        f"{PACKAGE}/templates/talk.md": "# A talk\n",
        "talking-1.dist-info/METADATA": "Name: talking\nVersion: 1\n",
        "talking-1.dist-info/entry_points.txt": (
            f"[agentos.workflows]\ntalk = {PACKAGE}:RECORD\n"
        ),
    }
    for name, text in files.items():
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    environ = {**world.environ, "PYTHONPATH": str(packages)}
    if talk.claude:
        temporary = folder / "tmp"
        temporary.mkdir()
        environ |= {"TMPDIR": str(temporary), "AGENTOS_CLAUDE_COMMAND": talk.claude}
    return replace(world, environ=environ, is_recorded=False)


@dataclass(frozen=True)
class Stage:
    """Where the conversations take place."""

    talk: Talk
    world: World
    count_sent: Callable[[], int]
    """Return how many turns were sent so far: as the server says, or the journal for a
    provider without one.
    """
    wait_settled: Callable[[], None]
    """Wait until the server has noted the end of every answer."""

    def finish(self) -> tuple[int, str]:
        """Run the command to its end; return the exit code and what was printed."""
        with self.world.start(*self.talk.command) as running:
            finished = running.finish(SLOWEST)
        return finished.code, finished.text

    def wait_sent(self, running: Running, turns: int) -> bool:
        """Wait until so many turns were sent; return False when the command has ended
        before.
        """
        deadline = time.monotonic() + PATIENCE
        while self.count_sent() < turns:
            assert time.monotonic() < deadline, running.text
            if running.process.poll() is not None:
                return False
            time.sleep(0.01)
        return True

    def leftovers(self) -> list[str]:
        """Return what is left of claude commands some seconds after a kill."""
        temporary = self.world.environ.get("TMPDIR", "")
        if not self.talk.claude:
            return []
        deadline = time.monotonic() + 5.0
        while True:
            left = [str(path) for path in Path(temporary).glob("agentos-claude-*")]
            left += _running_in(temporary)
            if not left or time.monotonic() > deadline:
                return [f"{name} is left behind" for name in left]
            time.sleep(0.02)


@contextmanager
def stage(talk: Talk, folder: Path) -> Iterator[Stage]:
    """Make a world for a talk, and start the server that answers."""
    world = make_talks(folder, talk)
    script = dict(SCRIPT)
    if talk.provider == OFFLINE:
        script["answer"] = [{"text": verdict_json(APPROVED)}]
    keys = [{"provider": talk.paid, "key": f"talk-{n}"} for n in (1, 2)]
    with ScenarioProcess(script, folder / "server") as server:
        market.write_keys(world, server.url, keys)

        def count_sent() -> int:
            if talk.provider == OFFLINE:
                return _count_journal(world, talk)
            return len(server.ledger.admitted())

        yield Stage(talk, world, count_sent, lambda: market.wait_settled(server))


@cache
def undisturbed(talk: Talk) -> dict[str, str]:
    """Return the documents of a run that nothing happened to."""
    with (
        TemporaryDirectory(prefix="agentos-talks-") as folder,
        stage(talk, Path(folder)) as made,
    ):
        code, text = made.finish()
        assert code == 0, text
        assert made.count_sent() == talk.all_turns, text
        return made.world.artefacts()


def _torment(
    figures: Figures, folder: Path, rng: random.Random, talk: Talk, kills: int
) -> int:
    """Kill at most so often until the conversations end; return how often."""
    known = undisturbed(talk)
    where = f"world {figures.values['worlds']}, {talk.drafter} {talk.claude}"
    answered: dict[tuple[str, str], int] = {}
    """The last call of each question that had an answer at a kill."""
    killed = 0
    with stage(talk, folder) as made:
        while killed < kills and _kill(figures, made, rng, where):
            killed += 1
            for item, question, number in _settled(made.world):
                answered.setdefault((item, question), number)
        code, text = made.finish()
        sent = made.count_sent()
    figures.expect(code == 0, f"{where}: {text[-2000:]}")
    figures.expect("Traceback" not in text, f"{where}: {text}")
    figures.expect_none(made.leftovers(), where)
    # The rules that review leave rows too.
    drafted = f"SELECT item, question, MAX(id) FROM calls WHERE {_is_turn(talk)}"
    rows = market.read_journal(made.world, f"{drafted} GROUP BY 1, 2")
    for item, question, number in rows:
        first = answered.get((item, question))
        figures.expect(
            first is None or first == number,
            f"{where}: {item} {question[:30]} was answered and sent again",
        )
    figures.expect(
        len(rows) == talk.all_turns, f"{where}: {len(rows)} different questions"
    )
    figures.expect(made.world.artefacts() == known, f"{where}: other documents")
    again = sent - talk.all_turns
    # At a kill, each conversation has one turn under way.
    figures.expect(
        0 <= again <= killed * talk.items,
        f"{where}: {again} turns more were sent, with {killed} kills",
    )
    figures.add("turns", len(rows))
    figures.add("asked_again", again)
    figures.add(f"kills_{talk.provider}", killed)
    return killed


def _kill(figures: Figures, made: Stage, rng: random.Random, where: str) -> bool:
    """Kill the coordinator, or a worker, at a random turn; return False when the
    command had ended by then.
    """
    talk, world = made.talk, made.world
    before = made.count_sent()
    is_worker = rng.random() < 0.5
    with world.start(*talk.command) as running:
        turn = rng.randint(1, max(1, talk.all_turns * 3 // 10))
        if made.wait_sent(running, before + turn):
            running.ends_within(rng.uniform(0, talk.pause))
        if running.process.poll() is not None:
            return False
        workers = running.workers()
        if is_worker and workers:
            sent = made.count_sent()
            rng.choice(workers).kill()
            figures.add("worker_kills")
            # It goes on: this raises if it does not.
            made.wait_sent(running, sent + 1)
        if running.process.poll() is None:
            running.signal(SIGKILL)
        running.process.wait()
    figures.add("kills")
    figures.expect("Traceback" not in running.text, f"{where}: {running.text[-2000:]}")
    figures.expect_none(wait_deserted(world, 5.0), where)
    figures.expect_none(made.leftovers(), where)
    made.wait_settled()
    return True


def _settled(world: World) -> list[tuple[str, str, int]]:
    return market.read_journal(
        world, "SELECT item, question, id FROM calls WHERE state = 'settled'"
    )


def _is_turn(talk: Talk) -> str:
    return f"model = '{talk.drafter}'"


def _count_journal(world: World, talk: Talk) -> int:
    """Return how many calls the journal has, also while a command writes it."""
    path = world.home / "journal.db"
    query = f"SELECT COUNT(*) FROM calls WHERE {_is_turn(talk)}"
    # It may not be there yet.
    with suppress(sqlite3.OperationalError):
        address = f"{path.as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as database:
            [(number,)] = database.execute(query)
            return int(number)
    return 0


def _running_in(temporary: str) -> list[str]:
    """Return the processes whose temporary folder is in this one."""
    mark = f"TMPDIR={temporary}{os.sep}".encode()
    found = []
    for process in psutil.process_iter():
        with suppress(OSError, psutil.Error):
            environ = Path(f"/proc/{process.pid}/environ").read_bytes()
            if mark in environ and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"process {process.pid} ({process.name()})")
    return found


if __name__ == "__main__":
    raise SystemExit(main(measure, 60))
