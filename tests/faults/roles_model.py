"""An OpenAI-compatible model in this process that answers each role from a script.

A role is known by the first words of its prompt. The same conversation gets the same
answer every time, and each new one the next of its role, the last one again and again.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from threading import Lock, Thread
from typing import Any

from tests.faults.looking_model import QuietServer

ROLES = {
    "You review the test plan": "plan",
    "You write the low-level design": "draft",
    "You review the low-level design": "review",
    "You write the tests": "tests",
    "You write the code": "code",
    "You review a finished change": "diff",
}


@dataclass
class Roles:
    """The script, and what was asked."""

    answers: Mapping[str, Sequence[str]]
    latency: float = 0.0
    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """The role and the whole conversation of each question, in order."""
    _known: dict[str, str] = field(default_factory=dict)
    _turns: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def answer(self, messages: list[dict[str, str]]) -> str:
        """Return the answer to a conversation."""
        conversation = "\n\n".join(message["content"] for message in messages)
        role = next(
            (name for start, name in ROLES.items() if conversation.startswith(start)),
            "other",
        )
        with self._lock:
            self.asked.append((role, conversation))
            if conversation not in self._known:
                texts = self.answers.get(role) or [f"nothing is scripted for {role}"]
                place = min(self._turns[role], len(texts) - 1)
                self._turns[role] += 1
                self._known[conversation] = texts[place]
            return self._known[conversation]

    @property
    def counts(self) -> dict[str, int]:
        """How often each role was asked."""
        return dict(Counter(role for role, _ in self.asked))

    def prompts(self, role: str) -> list[str]:
        """Return what a role was asked."""
        return [text for asked, text in self.asked if asked == role]


@contextmanager
def serve_roles(
    answers: Mapping[str, Sequence[str]], latency: float = 0.0
) -> Iterator[Roles]:
    """Serve a script on the loopback."""
    with serve(Roles(answers, latency)) as roles:
        yield roles


@contextmanager
def serve(roles: Roles) -> Iterator[Roles]:
    """Serve models on the loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_POST(self) -> None:
            """Answer one request as a stream."""
            length = int(self.headers.get("content-length", 0))
            text = roles.answer(json.loads(self.rfile.read(length))["messages"])
            time.sleep(roles.latency)
            body = _stream(text)
            try:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                pass

    server = QuietServer(("127.0.0.1", 0), Handler)
    roles.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield roles
    finally:
        server.shutdown()
        server.server_close()


def _stream(text: str) -> bytes:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    parts: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": text}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    ]
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1}
    rows = [json.dumps({**head, "model": "scripted", **part}) for part in parts]
    rows.append("[DONE]")
    return "".join(f"data: {row}\n\n" for row in rows).encode()
