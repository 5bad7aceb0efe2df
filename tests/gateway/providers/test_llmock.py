"""Somebody else's server: llmock keeps buckets of requests and tokens for each key, and
judges how it was asked.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentos.gateway.journal.memory import MemoryJournal
from agentos.gateway.keys import Key
from agentos.gateway.keys.pool import Pool
from agentos.gateway.keys.store import Store
from agentos.gateway.providers import Request, ask_once
from agentos.gateway.server import Gateway, Reply

pytestmark = pytest.mark.slow

pytest.importorskip("llmock")

MODELS = {
    "anthropic": "claude-sonnet-4-6",
    "gemini": "gemini-2.5-pro",
    "openai": "gpt-4o",
}
SDKS = {"anthropic": "anthropic", "gemini": "google.genai", "openai": "openai"}
PATHS = {"anthropic": "/anthropic", "gemini": "/gemini", "openai": "/v1"}
REQUESTS, TOKENS = 60, 600_000
"""A minute, for each key; the buckets are full at first and are filled up again all the
time.
"""
BUDGET = 20_000
"""Tokens that each call reserves for its answer and that it is charged with: thirty of
them empty a bucket.
"""
PATIENCE = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """llmock in a process of its own."""
    log = tmp_path_factory.mktemp("llmock") / "log"
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    code = "from llmock.cli import app; app()"
    limits = [
        "--rpm",
        str(REQUESTS),
        "--tpm",
        str(TOKENS),
        "--response-style",
        "static",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                code,
                "serve",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                *limits,
            ],
            env={"PATH": os.environ["PATH"], "HOME": str(log.parent)},
            cwd=log.parent,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for_answer(url, process, log)
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE)


def wait_for_answer(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, log.read_text("utf-8", "replace")
        assert time.monotonic() < deadline, log.read_text("utf-8", "replace")
        try:
            get(f"{url}/health")
            return
        except OSError:
            time.sleep(0.05)


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=PATIENCE) as response:
        return json.load(response)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address but those of the test."""
    for name in list(os.environ):
        if name.startswith(
            ("ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_", "AGENTOS_")
        ) or name.endswith("_PROXY"):
            monkeypatch.delenv(name)
    # The only version of Gemini's API that llmock knows; the SDK's default is newer.
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v1beta")


def ask_many(
    provider: str, url: str, *, keys: int, calls: int, window: float
) -> tuple[list[Reply], list[str], list[dict[str, Any]]]:
    """Ask different questions all at once; return the answers, what was announced and
    what the server saw.
    """
    said: list[str] = []
    address = url + PATHS[provider]
    own = [
        Key(provider, f"sk-{provider}-{number}", f"group {number}", 8, address)
        for number in range(keys)
    ]

    async def ask() -> list[Reply]:
        pool = Pool(
            Store(":memory:", time.time), lambda: own, said.append, window=window
        )
        gateway = Gateway(MemoryJournal(), pool)
        model = f"{provider}:{MODELS[provider]}"
        requests = [
            Request(
                "r",
                "lld",
                str(number),
                "N1",
                1,
                1,
                "lld.draft",
                model,
                ask_once(f"Question {number}"),
                {},
                "",
                BUDGET,
            )
            for number in range(calls)
        ]
        try:
            return await asyncio.gather(
                *(gateway.answer(request) for request in requests)
            )
        finally:
            await gateway.close()
            pool.close()

    urllib.request.urlopen(
        urllib.request.Request(f"{url}/_llmock/reset", method="POST"), timeout=PATIENCE
    ).close()
    answers = asyncio.run(asyncio.wait_for(ask(), PATIENCE))
    assert len(answers) == calls
    assert all(answer.completion.text and answer.retries == 0 for answer in answers)
    return answers, said, get(f"{url}/_llmock/requests")["requests"]


@pytest.mark.parametrize("provider", sorted(MODELS))
def test_refusals_become_rests_and_every_call_is_answered(
    server: str, provider: str
) -> None:
    pytest.importorskip(SDKS[provider])
    # With a minute this short the pool does not hold itself back, so that the server
    # has to.
    answers, said, seen = ask_many(provider, server, keys=3, calls=95, window=0.05)
    refused = sum(record["status"] == 429 for record in seen)
    assert refused == sum("rate-limited, resting" in line for line in said) > 0
    assert {record["status"] for record in seen} == {200, 429}
    assert len(seen) - refused == 95
    assert len({answer.key for answer in answers}) == 3
    assert "Credential pool exhausted. Pausing all workflows..." in said


def test_with_one_key_nobody_is_asked_before_the_time_that_was_named(
    server: str,
) -> None:
    pytest.importorskip("openai")
    _, _, seen = ask_many("openai", server, keys=1, calls=32, window=0.05)
    assert {record["status"] for record in seen} == {200, 429}
    # It tells keys not apart, so only of a single one can it judge.
    verdict = get(f"{server}/_llmock/verdict")
    assert verdict["passed"], json.dumps(verdict, indent=1)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_who_tells_its_limits_in_headers_has_nothing_to_refuse(
    server: str, provider: str
) -> None:
    pytest.importorskip(SDKS[provider])
    _, said, seen = ask_many(provider, server, keys=3, calls=60, window=60.0)
    assert {record["status"] for record in seen} == {200}
    assert said == []
