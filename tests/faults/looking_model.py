"""An OpenAI-compatible model for faults: it looks some turns, then writes or approves.

The answer depends on the conversation alone, so a question that is asked twice gets the
same answer. Each request is a line of the ledger, before it is answered.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from tests.stand_in import write_draft

LOOK_TURNS = 4
LATENCY = 0.05
LOOKS = (
    "outline shelf/lists.py",
    "symbol export_list",
    "search list shelf",
    "read shelf/lists.py 1-9\nhistory shelf/lists.py",
)
APPROVAL = {
    "decision": "APPROVED",
    "summary": "Looked at, and good.",
    "findings": [],
    "resolved_questions": [],
    "questions": [],
    "coverage": [],
}


def answer_to(messages: list[dict[str, str]], item: str, issue: str) -> str:
    """Return a look in the first turns, and the document or the verdict after them."""
    turn = sum(message["role"] == "assistant" for message in messages)
    is_review = messages[0]["content"].startswith("You review")
    if turn < LOOK_TURNS:
        looks = LOOKS[turn % len(LOOKS)]
        if is_review:
            return json.dumps({"look": looks.split("\n"), "verdict": None})
        return f"```look\n{looks}\n```"
    if is_review:
        return json.dumps({"look": None, "verdict": APPROVAL})
    return write_draft("lld.draft", {"item": item, "issue": issue})


class Handler(BaseHTTPRequestHandler):
    """Answers one request as a stream."""

    protocol_version = "HTTP/1.1"
    ledger = -1
    issues: ClassVar[dict[str, str]] = {}

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        """Note the question, and answer it."""
        length = int(self.headers.get("content-length", 0))
        messages = json.loads(self.rfile.read(length))["messages"]
        digest = hashlib.sha256(json.dumps(messages).encode()).hexdigest()
        os.write(self.ledger, f"{digest}\n".encode())
        prompt = messages[0]["content"]
        item = prompt.partition("## The issue (id ")[2].partition(")")[0]
        text = answer_to(messages, item, self.issues[item])
        time.sleep(LATENCY)
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        parts: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": {"content": text}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        rows = [
            json.dumps(
                {
                    "id": "x",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": "looking",
                    **part,
                }
            )
            for part in parts
        ]
        rows.append("[DONE]")
        body = "".join(f"data: {row}\n\n" for row in rows).encode()
        try:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            pass


class QuietServer(ThreadingHTTPServer):
    """A server that says nothing about clients that were killed."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let a lost connection be."""
        del request, client_address


def main() -> None:
    """Serve until it is killed; print the address first."""
    folder, ledger = map(Path, sys.argv[1:3])
    for path in folder.glob("*.md"):
        Handler.issues[str(int(path.stem.partition("-")[0]))] = path.read_text("utf-8")
    Handler.ledger = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    server = QuietServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
