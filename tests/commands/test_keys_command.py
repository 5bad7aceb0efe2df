"""`agentos keys` in real processes: nothing that is typed, sent or stored is ever
shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agentos.gateway.keys.check import KeyCheck, try_keys
from agentos.gateway.keys.entries import make_key
from agentos.gateway.providers.classify import clean_words
from agentos.state.redaction import fingerprint
from tests.support import BIN, PATIENCE, SIGINT, Finished, World, ended_by

CANARY = "AIzaSyCANARY-0123456789abcdef"
NAME = fingerprint("gemini", CANARY)


def keys(
    world: World,
    *arguments: str,
    stdin: str = "",
    environ: Mapping[str, str] | None = None,
) -> Finished:
    """Run `agentos keys` with some standard input."""
    done = subprocess.run(
        [BIN / "agentos", "keys", *arguments],
        input=stdin.encode(),
        env={**world.environ, **(environ or {})},
        cwd=world.repo,
        capture_output=True,
        timeout=PATIENCE,
    )
    ended = Finished(done.returncode, done.stdout.decode(), done.stderr.decode(), 0.0)
    assert "CANARY" not in ended.text
    assert "Traceback" not in ended.text
    return ended


def key_file(world: World) -> Path:
    """Return where the key file is."""
    return world.home / "keys.toml"


class Prompt:
    """`agentos keys` on a terminal of its own."""

    def __init__(self, world: World, *arguments: str) -> None:
        self.shown = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(world.repo)
            os.execve(
                BIN / "agentos", ["agentos", "keys", *arguments], dict(world.environ)
            )

    def wait_for(self, text: bytes) -> None:
        """Wait until a text is shown."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            assert self._read(), self.shown

    def type(self, data: bytes) -> None:
        """Press keys."""
        os.write(self.terminal, data)

    def shows_what_is_typed(self) -> bool:
        """Tell whether the terminal echoes."""
        return bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO)

    def command_line(self) -> bytes:
        """Return what other users see of the process."""
        return (
            Path(f"/proc/{self.pid}/cmdline").read_bytes()
            + Path(f"/proc/{self.pid}/comm").read_bytes()
        )

    def finish(self) -> int:
        """Wait for the end; return the exit code."""
        self.drain()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def drain(self) -> None:
        """Take all that is shown until the terminal is closed."""
        while self._read():
            pass

    def _read(self) -> bool:
        if not select.select([self.terminal], [], [], PATIENCE)[0]:
            return False
        try:
            data = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.shown += data
        return bool(data)


def test_a_key_typed_at_a_terminal_is_never_shown(world: World) -> None:
    prompt = Prompt(world, "add", "gemini", "--group", "project one")
    prompt.wait_for(b"Key for gemini (it is not shown): ")
    assert not prompt.shows_what_is_typed()
    prompt.type(f" {CANARY} ".encode())
    assert b"CANARY" not in prompt.command_line()
    prompt.type(b"\n")
    assert prompt.finish() == 0
    assert b"CANARY" not in prompt.shown
    assert f"Added {NAME} (keys.toml, key 1)".encode() in prompt.shown
    assert f'key = "{CANARY}"' in key_file(world).read_text()
    assert key_file(world).stat().st_mode & 0o777 == 0o600
    assert world.home.stat().st_mode & 0o777 == 0o700


def test_ctrl_c_at_the_prompt_ends_the_command_and_mends_the_terminal(
    world: World,
) -> None:
    prompt = Prompt(world, "add", "gemini")
    # Held open, or the terminal would be gone with the command, and its settings with
    # it.
    prompt.wait_for(b"not shown): ")
    held = os.open(f"/proc/{prompt.pid}/fd/0", os.O_RDWR | os.O_NOCTTY)
    prompt.type(b"half-CANARY\x03")
    assert ended_by(os.waitstatus_to_exitcode(os.waitpid(prompt.pid, 0)[1]), SIGINT)
    assert prompt.shows_what_is_typed()
    os.close(held)
    prompt.drain()
    assert b"CANARY" not in prompt.shown
    assert b"Traceback" not in prompt.shown
    assert not key_file(world).exists()


def test_an_empty_line_at_the_prompt_adds_nothing(world: World) -> None:
    prompt = Prompt(world, "add", "gemini")
    prompt.wait_for(b"not shown): ")
    prompt.type(b"\n")
    assert prompt.finish() == 2
    assert b"no key was given" in prompt.shown
    assert not key_file(world).exists()


def test_a_key_is_added_from_standard_input_listed_and_removed(world: World) -> None:
    options = (
        "--group",
        "team",
        "--max-parallel",
        "3",
        "--requests-per-minute",
        "60",
        "--tokens-per-minute",
        "1000",
    )
    assert (
        keys(world, "add", "gemini", *options, stdin=f"{CANARY}\n").stdout
        == f"Added {NAME} (keys.toml, key 1)\n"
    )
    listed = keys(world, "list")
    assert listed.code == 0
    heading, row = listed.stdout.splitlines()
    assert heading.split() == [
        "PROVIDER",
        "NAME",
        "GROUP",
        "SOURCE",
        "PARALLEL",
        "LIMITS",
        "STATE",
    ]
    for cell in (
        "gemini",
        NAME,
        "team",
        "keys.toml, key 1",
        "3",
        "60 requests/min, 1,000 tokens/min",
    ):
        assert cell in row
    again = keys(world, "add", "gemini", stdin=CANARY)
    assert (again.code, again.stderr) == (
        2,
        f"agentos keys: {NAME} is there already (keys.toml, key 1); nothing was added\n",
    )
    assert keys(world, "remove", NAME).stdout == f"Removed {NAME}\n"
    assert keys(world, "list").stdout.startswith("No keys. ")
    assert key_file(world).read_text() == ""


def test_the_list_is_one_json_document_with_the_problems_in_it(world: World) -> None:
    environ = {
        "GEMINI_API_KEYS": f"{CANARY},{CANARY}2",
        "GOOGLE_API_KEY": "another-CANARY",
    }
    ended = keys(world, "list", "--json", environ=environ)
    document = json.loads(ended.stdout)
    assert document["schema"] == 1
    assert [key["source"] for key in document["keys"]] == [
        "GEMINI_API_KEYS, key 1",
        "GEMINI_API_KEYS, key 2",
    ]
    assert document["keys"][0]["name"] == document["keys"][0]["group"] == NAME
    assert "GOOGLE_API_KEY" in document["problems"][0]
    plain = keys(world, "list", environ=environ)
    assert plain.stderr.startswith(
        "agentos keys: warning: GEMINI_API_KEYS, key 1 is used for gemini"
    )
    assert not world.home.exists()


def test_ten_additions_at_once_are_all_kept(world: World) -> None:
    running = []
    for number in range(10):
        process = subprocess.Popen(
            [BIN / "agentos", "keys", "add", "gemini"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=dict(world.environ),
        )
        running.append((process, f"{CANARY}-{number}"))
    for process, secret in running:
        assert process.stdin is not None
        process.stdin.write(secret.encode())
        process.stdin.close()
    for process, _ in running:
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait(PATIENCE) == 0, said
        process.stderr.close()
    document = json.loads(keys(world, "list", "--json").stdout)
    assert {key["name"] for key in document["keys"]} == {
        fingerprint("gemini", secret) for _, secret in running
    }
    assert sorted(path.name for path in world.home.iterdir()) == [
        "keys.toml",
        "keys.toml.lock",
    ]


def test_a_server_without_a_key_is_added_by_its_address_alone(world: World) -> None:
    assert (
        keys(world, "add", "openai", "--base-url", "http://127.0.0.1:11434/v1").code
        == 0
    )
    assert "http://127.0.0.1:11434/v1" in keys(world, "list").stdout
    assert keys(world, "add", "openai").code == 2
    assert (
        keys(world, "add", "gemini", "--base-url", "http://127.0.0.1:11434/v1").code
        == 2
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("add", "gemini", "--key", CANARY),
            "--key: not accepted: other users can read",
        ),
        (("add", f"--api-key={CANARY}", "gemini"), "--api-key: not accepted"),
        (("add", "gemini", CANARY), "never given as an argument"),
        (
            ("add", CANARY),
            "a provider that does not exist; known are anthropic, claude-cli, gemini, openai",
        ),
        (("add", "gemni"), "did you mean 'gemini'?"),
        (("add",), "PROVIDER"),
        (("add", "gemini", f"--{CANARY}"), "unknown option"),
        (("add", "gemini", "--max-paralel", "3"), "did you mean --max-parallel?"),
        (("add", "gemini", "--max-parallel", CANARY), "must be a whole number"),
        (("add", "gemini", "--max-parallel", "0"), "from 1 to 1,000"),
        (
            ("add", "gemini", "--base-url", f"https://u:{CANARY}@h/"),
            "user name or password",
        ),
        (("add", "gemini"), "no key was given"),
        (("remove", CANARY), "no key has this name; see: agentos keys list"),
        (("remove", "gemini-00000000"), "no key has this name"),
        ((CANARY,), "no such command; use one of list, add, remove, check"),
        (("check",), "there are no keys to check"),
    ],
)
def test_a_command_that_cannot_be_used_repeats_no_key(
    world: World, arguments: tuple[str, ...], said: str
) -> None:
    ended = keys(world, *arguments)
    assert ended.code == 2
    assert said in ended.stderr
    assert not world.home.exists()


def test_two_lines_of_standard_input_are_no_key(world: World) -> None:
    ended = keys(world, "add", "gemini", stdin=f"{CANARY}\n{CANARY}\n")
    assert ended.code == 2
    assert "paste the key alone" in ended.stderr
    assert "over 4,096" in keys(world, "add", "gemini", stdin="k" * 100_000).stderr


def test_a_key_of_the_environment_is_not_removed_but_its_variable_is_named(
    world: World,
) -> None:
    ended = keys(world, "remove", NAME, environ={"GEMINI_API_KEY_2": CANARY})
    assert ended.code == 2
    assert f"{NAME}: comes from GEMINI_API_KEY_2 in the environment" in ended.stderr


@pytest.mark.parametrize(
    "arguments", [("list",), ("check",), ("remove", NAME), ("add", "gemini")]
)
@pytest.mark.parametrize("fault", ["mode", "toml", "home"])
def test_an_unusable_key_file_stops_every_command_and_is_left_alone(
    world: World, arguments: tuple[str, ...], fault: str
) -> None:
    assert keys(world, "add", "gemini", stdin=CANARY).code == 0
    if fault == "mode":
        key_file(world).chmod(0o644)
    elif fault == "toml":
        key_file(world).write_text(f"[[key]]\nkey = {CANARY}\n")
    else:
        world.home.chmod(0o777)
    before = key_file(world).read_bytes()
    ended = keys(world, *arguments, stdin="another-key")
    assert ended.code == 2
    assert {"mode": "chmod 600", "toml": "line 2, column", "home": "chmod go-w"}[
        fault
    ] in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert key_file(world).read_bytes() == before


def test_help_is_complete(world: World) -> None:
    for arguments in ((), ("--help",)):
        text = keys(world, *arguments).stdout
        for word in (
            "examples:",
            "exit codes:",
            "files:",
            "environment",
            "GEMINI_API_KEYS",
            "check",
        ):
            assert word in text
    shown = keys(world, "add", "--help").stdout
    assert "--requests-per-minute" in shown
    assert shown.startswith("usage: agentos keys add ")
    assert "agentos keys list" in world.run("agentos", "--help").stdout


def test_bash_completes_commands_providers_and_names(world: World) -> None:
    assert keys(world, "add", "gemini", stdin=CANARY).code == 0
    script = """
source <(agentos completion bash)
COMP_LINE="$1" COMP_POINT=${#1} COMP_WORDS=($1) COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )) COMP_TYPE=9
_python_argcomplete agentos
printf '%s\\n' "${COMPREPLY[@]}"
"""

    def complete(line: str) -> str:
        return world.run("bash", "-c", script, "complete", line).stdout

    assert "check" in complete("agentos keys ch")
    assert "gemini" in complete("agentos keys add gem")
    assert NAME in complete("agentos keys remove ")
    assert "--max-parallel" in complete("agentos keys add gemini --max")


@contextmanager
def serve(answer: Callable[[str, str], tuple[int, dict[str, object]]]) -> Iterator[str]:
    """Answer GET requests on loopback by path and key; return the base address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(
                self.path, self.headers.get("Authorization", "").removeprefix("Bearer ")
            )
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer_like_openai(path: str, key: str) -> tuple[int, dict[str, object]]:
    """Know one key, and repeat the others in the refusal, as the real one does in
    part.
    """
    if path.startswith("/v1/models") and key == f"good-{CANARY}":
        return 200, {
            "object": "list",
            "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "us"}],
        }
    message = f"Incorrect API key provided: {key} or {key[:9]}****{key[-4:]}. See https://example.invalid/keys."
    return 401, {
        "error": {
            "message": message,
            "type": "invalid_request_error",
            "code": "invalid_api_key",
        }
    }


def test_check_tells_of_each_key_whether_it_is_accepted(world: World) -> None:
    pytest.importorskip("agentos.gateway.providers.openai")
    good, bad = (
        fingerprint("openai", f"good-{CANARY}"),
        fingerprint("openai", f"bad-{CANARY}"),
    )
    with serve(answer_like_openai) as address:
        for secret in (f"good-{CANARY}", f"bad-{CANARY}"):
            assert (
                keys(world, "add", "openai", "--base-url", address, stdin=secret).code
                == 0
            )
        ended = keys(world, "check")
        assert ended.code == 1
        first, second = ended.stdout.splitlines()
        assert first.split()[:2] == [good, "ok:"]
        assert second.split()[:3] == [bad, "refused", "(auth):"]
        assert CANARY[-4:] not in second.replace(bad, "")
        assert keys(world, "check", good).code == 0
        assert keys(world, "check", bad).code == 1
        assert keys(world, "check", "openai-00000000").code == 2
    # The server is gone now.
    gone = keys(world, "check", good)
    assert gone.code == 1
    assert gone.stdout.split("  ")[1].startswith("cannot be reached (transient)")


def test_a_provider_that_does_not_answer_is_given_up() -> None:
    pytest.importorskip("agentos.gateway.providers.openai")
    asked, over = threading.Event(), threading.Event()

    def wait(path: str, key: str) -> tuple[int, dict[str, object]]:
        asked.set()
        over.wait(PATIENCE)
        return 500, {}

    async def collect(address: str) -> list[KeyCheck]:
        key = make_key(
            {"provider": "openai", "key": CANARY, "base_url": address}, "test"
        )
        return [finding async for finding in try_keys([key], patience=3.0)]

    with serve(wait) as address:
        (finding,) = asyncio.run(collect(address))
        over.set()
    assert asked.is_set()
    assert (finding.outcome, finding.detail) == (
        "cannot be reached",
        "no answer within 3 s",
    )


def test_words_of_a_provider_lose_the_key_and_every_telling_piece_of_it() -> None:
    said = f"wrong: {CANARY}, sk-A****cdef\nor '{CANARY[3:15]}' for abcdef"
    assert (
        clean_words(said, CANARY)
        == "wrong: [REDACTED], [REDACTED] or [REDACTED] for abcdef"
    )
    assert clean_words("fine", "") == "fine"
