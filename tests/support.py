"""What the tests of commands share: a repository, a home, and real processes that are
watched as they run.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psutil

from agentos.kinds import Kind
from agentos.workflows.prompts.rendering import load_prompt, render_prompt
from tests.stand_in import record_answers

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
DRAFTERS = {"lld-workflow", "issue-workflow", "run_requirements_workflow.py"}
BUILDERS = {"implement-workflow", "run_implement_from_lld.py"}
KEPT = ("LANG", "LC_ALL", "TMPDIR", "TERM")
"""What commands of a test keep of the environment."""
PATIENCE = 120.0

ISSUE = """\
# Issue #{number}: Export list {number} as CSV

## User Story
As a keeper of lists, I want to export list {number}, so that I can open it in a spreadsheet.

## Objective
Add an export of list {number} to the command line.

## Requirements
1. `lists export {number} --format csv` writes the list to standard output.
2. A missing list ends with exit code 4 and the message `no such list`.

## Files to Create/Modify
- `lists/export.py`: the exporter
- `tests/test_export.py`: its tests

## Acceptance Criteria
- [ ] `lists export {number} --format csv` prints one line for each entry
- [ ] A field with a comma is quoted
- [ ] A missing list ends with exit code 4 and prints `no such list`
"""

BRIEF = """\
# Reminders for list {number}

People forget list {number}.

- Remind by e-mail 24 hours before an entry is due
- Send at most 1 reminder a day
- Let a person switch reminders off with `lists remind --off`
"""


@dataclass(frozen=True)
class World:
    """A repository and a home of its own."""

    repo: Path
    home: Path
    environ: Mapping[str, str]
    is_recorded: bool = True
    """Whether workflows that name no model are given recorded answers, which approve;
    without them the rules of offline make skeletons.
    """

    def run(
        self,
        *command: str,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Finished:
        """Run a command to its end."""
        with self.start(*command, environ=environ, cwd=cwd) as running:
            return running.finish()

    def start(
        self,
        *command: str,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Running:
        """Start a command in a session of its own."""
        if self.is_recorded:
            command = self.with_answers(*command)
        program = BIN / command[0]
        argv = [str(program) if program.exists() else command[0], *command[1:]]
        return Running(argv, {**self.environ, **(environ or {})}, cwd or self.repo)

    def with_answers(self, *command: str) -> tuple[str, ...]:
        """Return a workflow's command with recorded answers for its models."""
        models = [
            value
            for flag, value in itertools.pairwise(command)
            if flag in ("--drafter", "--reviewer")
        ]
        if any("answers=" in model for model in models):
            return command
        if not all(model.startswith("offline") for model in models):
            return command
        programs = {Path(word).name for word in command}
        if command[:2] in (("agentos", "lld"), ("agentos", "issue")):
            programs |= DRAFTERS
        if programs & BUILDERS:
            folder = self.repo / ".agentos" / "recorded"
        elif programs & DRAFTERS:
            folder = self.repo.parent / f"{self.repo.name}-recorded"
            record_answers(self.repo, folder)
        else:
            return command
        if not folder.is_dir():
            return command
        words = list(command)
        answers = f"answers={quote(str(folder))}"
        for flag in ("--drafter", "--reviewer"):
            place = words.index(flag) + 1 if flag in words else 0
            if place:
                joint = "," if ":" in words[place] else ":"
                words[place] += f"{joint}{answers}"
            else:
                words += [flag, f"offline:{answers}"]
        return tuple(words)

    def artefacts(self) -> dict[str, str]:
        """Return the hash of every file under docs but the inputs, dates aside."""
        found = {}
        for path in sorted((self.repo / "docs").rglob("*")):
            relative = path.relative_to(self.repo).as_posix()
            if path.is_file() and not relative.startswith(
                ("docs/issues/", "docs/briefs/")
            ):
                text = re.sub(
                    r"\d{4}-\d\d-\d\d(T[\d:]+Z)?", "DATE", path.read_text("utf-8")
                )
                found[relative] = hashlib.sha256(text.encode()).hexdigest()
        return found

    def leftovers(self) -> list[str]:
        """Return temporary files in the repository and unfinished state in the home."""
        temporary = [str(p.relative_to(self.repo)) for p in self.repo.rglob("*.tmp")]
        state = [
            str(path.relative_to(self.home))
            for folder in ("checkpoints", "locks")
            for path in (self.home / folder).rglob("*")
            if path.is_file()
        ]
        return temporary + state

    @property
    def run_folders(self) -> list[Path]:
        """The log folders of all runs, oldest first."""
        return sorted((self.home / "logs" / "parallel").iterdir())


def build_world(
    folder: Path,
    issues: int = 3,
    briefs: int = 0,
    name: str = "repo",
    home: str = "home",
) -> World:
    """Make a repository with numbered issues and briefs below a folder, and an
    environment without the user's own.
    """
    repo = folder / name
    for kind, count, template in (("issues", issues, ISSUE), ("briefs", briefs, BRIEF)):
        (repo / "docs" / kind).mkdir(parents=True, exist_ok=True)
        for number in range(1, count + 1):
            path = repo / "docs" / kind / f"{number}-export.md"
            path.write_text(template.format(number=number), "utf-8")
    environ = {name: os.environ[name] for name in KEPT if name in os.environ}
    environ |= {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(folder / "no-home"),
        "AGENTOS_HOME": str(folder / home),
    }
    return World(repo, folder / home, environ)


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def text(self) -> str:
        """Both streams."""
        return self.stdout + self.stderr


@dataclass
class Running:
    """A command that runs; its output is collected line by line."""

    argv: list[str]
    environ: Mapping[str, str]
    cwd: Path
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.started = time.monotonic()
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            self.argv,
            cwd=self.cwd,
            env=dict(self.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.threads = [
            threading.Thread(target=self._collect, args=(stream, lines), daemon=True)
            for stream, lines in (
                (self.process.stdout, self.out),
                (self.process.stderr, self.err),
            )
        ]
        for thread in self.threads:
            thread.start()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @property
    def pid(self) -> int:
        """The coordinator's process id."""
        return self.process.pid

    def wait_for(self, pattern: str, *, times: int = 1) -> None:
        """Wait until a pattern has been printed."""
        expression = re.compile(pattern)

        def is_there() -> bool:
            return (
                sum(bool(expression.search(line)) for line in [*self.out, *self.err])
                >= times
            )

        deadline = time.monotonic() + PATIENCE
        with self.changed:
            while not is_there():
                left = deadline - time.monotonic()
                assert left > 0, (
                    f"{pattern!r} was not printed; printed was:\n{self.text}"
                )
                assert self.process.poll() is None or any(
                    t.is_alive() for t in self.threads
                ), self.text
                self.changed.wait(min(left, 0.5))

    def ends_within(self, seconds: float) -> bool:
        """Wait for the end for so long; tell whether it came."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def finish(self, patience: float = PATIENCE) -> Finished:
        """Wait for the end."""
        assert self.ends_within(patience), (
            f"did not end; {self._describe_threads()}; printed was:\n{self.text}"
        )
        code = self.process.returncode
        seconds = time.monotonic() - self.started
        for thread in self.threads:
            thread.join(PATIENCE)
        return Finished(code, "".join(self.out), "".join(self.err), seconds)

    def signal(self, number: int) -> None:
        """Send a signal to the coordinator alone."""
        os.kill(self.pid, number)

    def descendants(self) -> list[psutil.Process]:
        """Return all processes that the command has started."""
        try:
            return psutil.Process(self.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def workers(self) -> list[psutil.Process]:
        """Return the worker processes that have work: not the fork server, not those
        that wait for work.
        """
        return [
            process
            for process in self.descendants()
            if _is_child_of_another(process, self.pid) and _has_work(process)
        ]

    def _describe_threads(self) -> str:
        """Say what the kernel sees each thread of a command do that does not end."""
        found = []
        for task in Path(f"/proc/{self.pid}/task").glob("*"):
            with contextlib.suppress(OSError):
                found.append(
                    f"{(task / 'comm').read_text().strip()}: {(task / 'wchan').read_text()}"
                )
        signals = [
            line
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines()
            if line[:3] == "Sig"
        ]
        return ", ".join([*found, *signals])

    @property
    def text(self) -> str:
        """Everything printed so far."""
        return "".join(self.out) + "".join(self.err)

    def _collect(self, stream: Iterator[bytes], lines: list[str]) -> None:
        for line in stream:
            with self.changed:
                lines.append(line.decode("utf-8", "replace"))
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()


def _is_child_of_another(process: psutil.Process, pid: int) -> bool:
    try:
        return process.ppid() != pid
    except psutil.NoSuchProcess:
        return False


def _has_work(worker: psutil.Process) -> bool:
    """Tell a worker with work by its stdout, which is a pipe to the coordinator."""
    try:
        return os.readlink(f"/proc/{worker.pid}/fd/1").startswith("pipe:")  # noqa: PTH115
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until something is so, looking often."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.01)


def wait_gone(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Return those that are still there after some seconds."""
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return [process for process in alive if _is_there(process)]


def _is_there(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def fill_prompt(workflow: str, role: str, **inputs: str) -> str:
    """Return a prompt of a workflow, in which what is not given is empty."""
    package = Kind(workflow).record.package
    declared = load_prompt(package, role).inputs
    return render_prompt(package, role, {**dict.fromkeys(declared, ""), **inputs})


def find_claudes() -> list[str]:
    """Return the genuine claude commands: those that the environment names, else the
    one on the path.
    """
    named = [
        name
        for name in os.environ.get("AGENTOS_CLAUDE_COMMANDS", "").split(":")
        if name
    ]
    if named:
        # One that is not there is let fail, as it was asked for.
        return [shutil.which(name) or name for name in named]
    found = shutil.which(os.environ.get("AGENTOS_CLAUDE_COMMAND") or "claude")
    return [found] if found else []


NO_CLAUDE = (
    "no claude command: npm install -g @anthropic-ai/claude-code, or set AGENTOS_CLAUDE_COMMAND, "
    "or AGENTOS_CLAUDE_COMMANDS to several with colons between"
)


def ended_by(code: int, number: int) -> bool:
    """Tell whether an exit code means death by that signal, as the system or as a shell
    says it.
    """
    return code in (-number, 128 + number)


SIGINT, SIGTERM, SIGHUP, SIGKILL = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGKILL,
)
