"""Kill the coordinator or a worker in the middle of conversations of ten turns: no turn
that was answered is sent again, and the last answers are the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.faults import market
from tests.faults.figures import Figures, main
from tests.faults.scene import make_world, wait_deserted
from tests.scenario import ScenarioProcess
from tests.support import SIGKILL, World, wait_until

ITEMS = 3
TURNS = 10
KILLS_A_WORLD = 4
PROVIDERS = ("openai", "anthropic", "gemini")
SCRIPT: Mapping[str, Any] = {"latency": 0.05}
PACKAGE = "talking"
SOURCE = f'''\
"""A kind whose drafter answers in {TURNS} turns of one conversation."""

from dataclasses import replace

from agentos.kinds import Kind, KindRecord

RECORD = KindRecord(
    name="talk",
    label="TALK",
    inputs="docs/topics",
    source="topic",
    document="docs/talks/{{number}}.md",
    package="{PACKAGE}",
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
                for turn in range(1, {TURNS} + 1):
                    answer = await ask(messages=said, attempt=turn, **question)
                    text = f"Say more, {{turn}}."
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


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Kill so many times, a third of them with each provider."""
    begun = {"kills": 0, "worker_kills": 0, "worlds": 0, "turns": 0, "asked_again": 0}
    figures = Figures("kill_in_conversation", seed, count, begun)
    rng = random.Random(seed)
    while figures.values["kills"] < count:
        provider = PROVIDERS[figures.values["worlds"] % len(PROVIDERS)]
        figures.add("worlds")
        _torment(figures, folder / f"world-{figures.values['worlds']}", rng, provider)
    return figures


def make_talks(folder: Path) -> World:
    """Make a repository with topics, and the package of the kind on the path."""
    world = make_world(folder, 0)
    topics = world.repo / "docs" / "topics"
    topics.mkdir(parents=True)
    for number in range(1, ITEMS + 1):
        (topics / f"{number}.md").write_text(f"# Topic {number}\n\nSay it.\n", "utf-8")
    packages = folder / "packages"
    files = {
        f"{PACKAGE}/__init__.py": SOURCE,
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
    return replace(world, environ=environ, is_recorded=False)


def command(provider: str) -> tuple[str, ...]:
    """Return the command that holds all conversations at once."""
    return (
        *("agentos", "run", "talk", "--all", "--parallel", str(ITEMS)),
        *("--drafter", f"{provider}:m", "--reviewer", "offline:approve_after=1"),
        *("--price", f"{provider}:*=3/15", "--retries", "2"),
    )


def _keys(provider: str) -> list[dict[str, Any]]:
    return [{"provider": provider, "key": f"talk-{n}"} for n in (1, 2)]


@cache
def undisturbed(provider: str) -> dict[str, str]:
    """Return the documents of a run that nothing happened to."""
    with TemporaryDirectory(prefix="agentos-talks-") as folder:
        world = make_talks(Path(folder))
        with ScenarioProcess(dict(SCRIPT), Path(folder) / "server") as server:
            market.write_keys(world, server.url, _keys(provider))
            finished = world.run(*command(provider))
            assert finished.code == 0, finished.text
            assert len(server.ledger.admitted()) == ITEMS * TURNS, finished.text
        return world.artefacts()


def _torment(figures: Figures, folder: Path, rng: random.Random, provider: str) -> None:
    known = undisturbed(provider)
    world = make_talks(folder)
    where = f"world {figures.values['worlds']}, {provider}"
    answered: dict[tuple[str, str], int] = {}
    """The last call of each question that had an answer at a kill."""
    with ScenarioProcess(dict(SCRIPT), folder / "server") as server:
        market.write_keys(world, server.url, _keys(provider))
        for _ in range(min(KILLS_A_WORLD, figures.count - figures.values["kills"])):
            if not _kill(figures, world, server, rng, provider, where):
                break
            for item, question, number in _settled(world):
                answered.setdefault((item, question), number)
        finished = world.run(*command(provider))
        sent = len(server.ledger.admitted())
    figures.expect(finished.code == 0, f"{where}: {finished.text[-2000:]}")
    figures.expect("Traceback" not in finished.text, f"{where}: {finished.text}")
    # The rules that review leave rows too.
    drafted = f"SELECT item, question, MAX(id) FROM calls WHERE model = '{provider}:m'"
    rows = market.read_journal(world, f"{drafted} GROUP BY 1, 2")
    for item, question, number in rows:
        first = answered.get((item, question))
        figures.expect(
            first is None or first == number,
            f"{where}: {item} {question[:30]} was answered and sent again",
        )
    figures.expect(
        len(rows) == ITEMS * TURNS, f"{where}: {len(rows)} different questions"
    )
    figures.expect(world.artefacts() == known, f"{where}: other documents")
    figures.add("turns", len(rows))
    figures.add("asked_again", sent - ITEMS * TURNS)


def _kill(
    figures: Figures,
    world: World,
    server: ScenarioProcess,
    rng: random.Random,
    provider: str,
    where: str,
) -> bool:
    """Kill the coordinator, or a worker, at a random turn; return False when the
    command had ended by then.
    """
    before = len(server.ledger.admitted())
    is_worker = rng.random() < 0.5
    with world.start(*command(provider)) as running:
        turn = rng.randint(1, ITEMS * 3)
        if market.wait_calls(server, running, before + turn):
            running.ends_within(rng.uniform(0, 0.08))
        if running.process.poll() is not None:
            return False
        if is_worker and running.workers():
            rng.choice(running.workers()).kill()
            figures.add("worker_kills")
            wait_until(
                lambda: (
                    len(server.ledger.admitted()) > before + turn
                    or running.process.poll() is not None
                ),
                "it goes on",
            )
        if running.process.poll() is None:
            running.signal(SIGKILL)
        running.process.wait()
    figures.add("kills")
    figures.expect("Traceback" not in running.text, f"{where}: {running.text[-2000:]}")
    figures.expect_none(wait_deserted(world, 5.0), where)
    market.wait_settled(server)
    return True


def _settled(world: World) -> list[tuple[str, str, int]]:
    return market.read_journal(
        world, "SELECT item, question, id FROM calls WHERE state = 'settled'"
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, 60))
