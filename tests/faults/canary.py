"""Give keys that a server echoes in every form, and look for them wherever a run leaves
or shows anything.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from agentos.state.redaction import fingerprint
from agentos.state.variables import WORKER
from tests.faults import market
from tests.faults.figures import Figures, main
from tests.faults.scene import make_world, wait_deserted
from tests.scenario import ScenarioProcess
from tests.stand_in import write_draft
from tests.support import ISSUE, SIGINT, SIGKILL, Running, World, ended_by, wait_until

# Unlike any known key, so that only having been registered keeps them secret; each form
# of them is different.
IN_ENVIRONMENT = "canary-7Qw/9Zx+Rt2=Pl5~Kd8-environ"
IN_FILE = "canary-Hy4/mN0+Vb6=Zc3~Ls1-reviewer"
REFUSED = "canary-Uj9/eD2+Wk7=Xa5~Gf0-refused"
CANARIES = (IN_ENVIRONMENT, IN_FILE, REFUSED)
MARK = "[REDACTED]"
ITEMS = 6
FAILING = 3
ECHOED = {"1": "lld.draft", "6": "lld.review"}
"""Items of which an answer is full of keys."""
COPIES = 200
SET_BY_US = {
    "PYTHONPATH",
    "PYTHONUTF8",
    "LANGGRAPH_STRICT_MSGPACK",
    "LANGSMITH_TRACING",
}
NOT_SEARCHED = {"keys.toml"}


@dataclass(frozen=True)
class Ending:
    """A signal, the items that it strikes, and the calls that they wait for then."""

    number: int
    items: tuple[str, ...]
    purpose: str
    calls: int


ENDINGS = (
    Ending(SIGINT, ("2", "4"), "lld.review", 4),
    Ending(SIGKILL, ("1", "5"), "lld.draft", 2),
)
_READABLE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r.{3} \S+ \S+ \d+ *(.*)")
_LARGEST_REGION = 512 * 1024 * 1024


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Run, interrupt and kill with canary keys, so many times, and search everything
    each time.
    """
    figures = Figures(
        "canary",
        seed,
        count,
        {"hits": 0, "files": 0, "workers": 0, "memory_megabytes": 0.0},
    )
    for number in range(1, count + 1):
        _release(figures, folder / f"world-{number}", f"world {number}")
    figures.values["memory_megabytes"] = round(figures.values["memory_megabytes"])
    least = count * sum(len(ending.items) + 1 for ending in ENDINGS)
    figures.expect(
        figures.values["workers"] >= least,
        f"{figures.values['workers']} of {least} workers were looked at",
    )
    figures.expect(
        figures.values["hits"] == 0, f"{figures.values['hits']} places hold a key"
    )
    return figures


def forms(secret: str) -> Iterator[str]:
    """Yield a key in the forms that are claimed to be taken out."""
    data = secret.encode()
    yield from (
        secret,
        json.dumps(secret)[1:-1],
        quote(secret, safe=""),
        quote_plus(secret),
        data.hex(),
    )
    for lead in range(3):
        text = base64.b64encode(b"around"[:lead] + data + b"it").decode()
        yield text
        yield text.translate(str.maketrans("+/", "-_"))


NEEDLES = tuple({form[4:-4].encode() for secret in CANARIES for form in forms(secret)})
"""What is left of a form when its ends are changed or cut off: that much must not be
found either.
"""


def _release(figures: Figures, folder: Path, where: str) -> None:
    world = _make_world(folder)
    outputs: list[str] = []
    with ScenarioProcess(_script(), folder / "server") as server:
        environ = {
            "OPENAI_API_KEY": IN_ENVIRONMENT,
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        market.write_keys(
            world,
            server.url,
            [
                {"provider": "gemini", "key": IN_FILE},
                {"provider": "openai", "key": REFUSED, "group": "refused"},
            ],
        )
        told = world.run(*market.command("-vv"), environ=environ)
        figures.expect(
            told.code == 1, f"{where}: ended with {told.code}: {told.text[-2000:]}"
        )
        calls = [(call.item, call.purpose) for call in server.ledger.admitted()]
        in_json = world.run(*_some("2", "--redo", "--json"), environ=environ)
        figures.expect(
            in_json.code == 0,
            f"{where}, --json: ended with {in_json.code}: {in_json.text[-2000:]}",
        )
        outputs += [told.text, in_json.text]
        for ending in ENDINGS:
            server.change(
                fault=[
                    {"kind": "silence", "in_stream": True, "purpose": ending.purpose}
                ]
            )
            outputs.append(_cut_short(figures, world, environ, server, ending, where))
    _expect_marks(figures, told.text, where)
    _expect_refusals(figures, world, told.text, calls, where)
    for number, text in enumerate(outputs, start=1):
        _look_into(figures, text.encode(), f"{where}: output {number}")
    _search_files(figures, world, folder, where)
    _search_git(figures, world, where)


def _some(*more: str) -> tuple[str, ...]:
    command = list(market.command("-vv"))
    command[1:2] = ["--ids"]
    command[2:2] = more
    return tuple(command)


def _make_world(folder: Path) -> World:
    world = make_world(folder, ITEMS)
    (folder / "tmp").mkdir()
    subprocess.run(["git", "init", "-q", str(world.repo)], check=True)
    return World(
        world.repo, world.home, {**world.environ, "TMPDIR": str(folder / "tmp")}
    )


def _script() -> dict[str, Any]:
    """Return a script whose answers and errors are full of keys; a long row of them is
    cut wherever a stream is.
    """
    echo = " ".join(form for secret in CANARIES for form in forms(secret))
    row = " ".join([IN_ENVIRONMENT] * COPIES)
    inputs = {
        "item": "1",
        "issue": ISSUE.format(number=1),
        "previous_draft": "",
        "findings": "",
    }
    draft = write_draft("lld.draft", inputs).rstrip()
    answers = [
        {
            "purpose": purpose,
            "item": item,
            "text": f"{draft}\n\nEcho: {echo}\n\n{row}\n",
        }
        for item, purpose in ECHOED.items()
    ]
    said = f"the key {echo} may not do this"
    faults = [
        {
            "kind": "auth",
            "key": REFUSED,
            "message": f"Incorrect API key provided: {said}",
        },
        {
            "kind": "bad-request",
            "item": str(FAILING),
            "purpose": "lld.draft",
            "message": said,
        },
        {
            "kind": "server-error",
            "item": "5",
            "purpose": "lld.review",
            "at": [1],
            "message": said,
        },
        {
            "kind": "overloaded",
            "item": "2",
            "purpose": "lld.review",
            "at": [1],
            "in_stream": True,
            "message": said,
        },
    ]
    return {"answer": answers, "fault": faults, "latency": 0.2}


def _cut_short(
    figures: Figures,
    world: World,
    environ: dict[str, str],
    server: ScenarioProcess,
    ending: Ending,
    where: str,
) -> str:
    """End a run in mid-call, after a look at every process that it has started."""
    before = len(server.ledger.admitted())
    for item in ending.items:
        # A text that was judged against the same issue would not be judged again.
        (issue,) = (world.repo / "docs/issues").glob(f"{item}*.md")
        issue.write_text(f"{issue.read_text('utf-8')}\nOnce more.\n", "utf-8")
    with world.start(*_some(*ending.items), environ=environ) as running:
        market.wait_calls(server, running, before + ending.calls)
        wait_until(lambda: len(running.workers()) >= 2, "two workers have work")
        _look_at_workers(figures, running, where)
        running.signal(ending.number)
        finished = running.finish()
    is_struck = ended_by(finished.code, ending.number)
    figures.expect(
        is_struck, f"{where}: ended with {finished.code}: {finished.text[-1000:]}"
    )
    figures.expect_none(wait_deserted(world, 5.0), where)
    return finished.text


def _look_at_workers(figures: Figures, running: Running, where: str) -> None:
    if not any(
        needle in data for _, data in _read_memory(running.pid) for needle in NEEDLES
    ):
        figures.add("searches_that_see_nothing")
        figures.misses.append(
            f"{where}: not even the coordinator's memory holds a key, so the search is blind"
        )
    for process in running.descendants():
        name = f"{where}: process {process.pid}"
        try:
            environ = Path(f"/proc/{process.pid}/environ").read_bytes()
            _look_into(figures, environ, f"{name}, environment")
            _look_into(
                figures,
                Path(f"/proc/{process.pid}/cmdline").read_bytes(),
                f"{name}, command line",
            )
            for region, data in _read_memory(process.pid):
                figures.add("memory_megabytes", len(data) / 1e6)
                _look_into(
                    figures, data, f"{name}, memory {region or 'without a name'}"
                )
        except (FileNotFoundError, ProcessLookupError):
            continue
        names = {
            entry.partition(b"=")[0].decode() for entry in environ.split(b"\0") if entry
        }
        surplus = {
            n
            for n in names
            if n not in WORKER and n not in SET_BY_US and not n.startswith("LC_")
        }
        figures.expect(not surplus, f"{name}: has {sorted(surplus)} in its environment")
        figures.add("workers")


def _read_memory(pid: int) -> Iterator[tuple[str, bytes]]:
    """Give all that a process has mapped and may read, region by region."""
    maps = Path(f"/proc/{pid}/maps").read_text("utf-8", "replace")
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps.splitlines():
            found = _READABLE.match(line)
            if found is None or found[3].startswith("[v"):
                continue
            start, end = int(found[1], 16), int(found[2], 16)
            try:
                yield (
                    found[3],
                    os.pread(memory.fileno(), min(end - start, _LARGEST_REGION), start),
                )
            except OSError:
                # Nothing is behind it, as with files that were cut since.
                continue


def _look_into(figures: Figures, data: bytes, where: str) -> None:
    for needle in NEEDLES:
        if (at := data.find(needle)) >= 0:
            figures.add("hits")
            around = data[max(0, at - 40) : at + len(needle) + 20]
            figures.misses.append(f"{where}: holds a key: {around!r}")
            return


def _search_files(figures: Figures, world: World, folder: Path, where: str) -> None:
    for place in (world.home, world.repo, folder / "tmp"):
        for path in sorted(place.rglob("*")):
            if (
                path.is_file()
                and not path.is_symlink()
                and path.name not in NOT_SEARCHED
            ):
                figures.add("files")
                _look_into(
                    figures, path.read_bytes(), f"{where}: {path.relative_to(folder)}"
                )
                _look_into(figures, str(path).encode(), f"{where}: a file's name")
    answers = [
        zlib.decompress(text)
        for (text,) in market.read_journal(world, "SELECT text FROM answers")
    ]
    figures.expect(bool(answers), f"{where}: the journal holds no answer to look into")
    for answer in answers:
        _look_into(figures, answer, f"{where}: an answer in the journal")


def _expect_marks(figures: Figures, told: str, where: str) -> None:
    """Expect that something stands on the screen where the keys were: nothing was
    merely left out.
    """
    (failed,) = [
        line for line in told.splitlines() if f"[LLD-{FAILING}] FAILED" in line
    ]
    figures.expect(MARK in failed, f"{where}: no mark in {failed!r}")
    refused = [
        line for line in told.splitlines() if "is refused and not used again" in line
    ]
    figures.expect(
        len(refused) == 1 and MARK in refused[0], f"{where}: no mark in {refused}"
    )


def _expect_refusals(
    figures: Figures,
    world: World,
    told: str,
    calls: Sequence[tuple[str, str]],
    where: str,
) -> None:
    """Expect that an answer with keys ended its item, was asked for once and is
    counted, and that its key is named.
    """
    names = tuple(
        fingerprint(provider, secret)
        for provider in ("openai", "gemini")
        for secret in CANARIES
    )
    for item, purpose in ECHOED.items():
        (failed,) = [
            line for line in told.splitlines() if f"[LLD-{item}] FAILED" in line
        ]
        is_told = "(secret)" in failed and any(name in failed for name in names)
        figures.expect(is_told, f"{where}: is not told of as secret: {failed!r}")
        asked = calls.count((item, purpose))
        figures.expect(
            asked == 1, f"{where}: the {purpose} of {item} was asked for {asked} times"
        )
    held = market.read_journal(
        world, "SELECT cost FROM calls WHERE reason LIKE 'the answer held the key %'"
    )
    figures.expect(
        len(held) >= len(ECHOED),
        f"{where}: the journal tells of {len(held)} answers with a key",
    )
    figures.expect(
        all(cost > 0 for (cost,) in held),
        f"{where}: an answer with a key is not counted: {held}",
    )


def _search_git(figures: Figures, world: World, where: str) -> None:
    """Commit all that is there, as a person would, and look into every object."""
    identity = [
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    for arguments in (["add", "-A"], [*identity, "commit", "-q", "-m", "x"]):
        subprocess.run(
            ["git", "-C", str(world.repo), *arguments], check=True, capture_output=True
        )
    listing = [
        "git",
        "-C",
        str(world.repo),
        "cat-file",
        "--batch-all-objects",
        "--batch",
    ]
    objects = subprocess.run(listing, check=True, capture_output=True).stdout
    figures.expect(MARK.encode() not in objects, f"{where}: a document was changed")
    _look_into(figures, objects, f"{where}: git's objects")


if __name__ == "__main__":
    raise SystemExit(main(measure, 3))
