"""The server: connections, routes, and the loop that it runs in."""

from __future__ import annotations

import asyncio
import threading
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tests.scenario.desk import Desk, Refused
from tests.scenario.formats import (
    Call,
    Format,
    HttpRequest,
    Refusal,
    Reply,
    Standing,
    dump,
    make_id,
    read_json,
)
from tests.scenario.formats.anthropic import Anthropic
from tests.scenario.formats.gemini import Gemini
from tests.scenario.formats.openai import OpenAI
from tests.scenario.ledger import Ledger
from tests.scenario.playing import answer, refuse
from tests.scenario.script import Kind, Script, ScriptError, change_script, load_script
from tests.scenario.wire import MAX_HEAD, BadHttp, Connection, Outgoing, read_request

DEFAULT_MODELS = {
    "anthropic": ("claude-sonnet-5", "claude-haiku-5-5"),
    "gemini": ("gemini-3-pro-preview", "gemini-3.5-flash"),
    "openai": ("gpt-6-sol", "gpt-6-luna"),
}
_ANTHROPIC, _GEMINI, _OPENAI = Anthropic(), Gemini(), OpenAI()
_BACKLOG = 2048
_JSON = ("content-type", "application/json")


class Scenario:
    """Serves a script on the loopback, in the loop that starts it."""

    def __init__(self, script: Script, ledger: Ledger) -> None:
        self.desk = Desk(script, ledger)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def start(self, port: int = 0) -> str:
        """Begin to listen and return the address."""
        loop = asyncio.get_running_loop()

        def connect() -> Connection:
            reader = asyncio.StreamReader(limit=MAX_HEAD, loop=loop)
            return Connection(reader, self._converse, loop=loop)

        self._server = await loop.create_server(
            connect, "127.0.0.1", port, backlog=_BACKLOG
        )
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        connection = writer.transport.get_protocol()
        assert isinstance(connection, Connection)
        outgoing = Outgoing(writer)
        try:
            while (
                outgoing.can_go_on
                and (request := await read_request(reader)) is not None
            ):
                connection.begin_answer(task)
                await self._respond(request, outgoing)
                connection.end_answer()
                if request.headers.get("connection", "").casefold() == "close":
                    break
        except (BadHttp, ValueError) as error:
            await outgoing.send(
                Reply(400, (("content-type", "text/plain"),), str(error).encode())
            )
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            connection.end_answer()
            self._open.discard(task)
            writer.close()

    async def _respond(self, request: HttpRequest, outgoing: Outgoing) -> None:
        if request.path.startswith("/__"):
            await outgoing.send(self._control(request))
            return
        format = pick_format(request)
        call = format.read_call(request)
        if isinstance(call, Call) and not request.path.endswith(
            ("count_tokens", ":countTokens")
        ):
            await self._complete(call, format, outgoing)
        else:
            await outgoing.send(
                self._look_up(request, format, call),
                is_head_only=request.method == "HEAD",
            )

    async def _complete(self, call: Call, format: Format, outgoing: Outgoing) -> None:
        decision = self.desk.receive(call)
        if isinstance(decision, Refused):
            await refuse(decision, format, self.desk, outgoing)
        else:
            await answer(decision, format, self.desk, outgoing)

    def _look_up(
        self, request: HttpRequest, format: Format, call: Call | Refusal | None
    ) -> Reply:
        """Answer what costs nothing and is in no ledger: counts, lists, and all that is
        wrong.
        """
        secret = format.find_secret(request)
        blank = Call(format.name, secret, "", (), False, request_id=make_id("req_011C"))
        if call is None and not asks_for_models(request):
            return format.refuse(
                Refusal(Kind.NOT_FOUND, message="Not found"), blank, Standing()
            )
        _, refusal = self.desk.identify(secret)
        if refusal is None and isinstance(call, Refusal):
            refusal = call
        if refusal is not None:
            return format.refuse(refusal, blank, Standing())
        if isinstance(call, Call):
            data = format.count_reply(call.input_tokens)
        else:
            data = format.list_models(
                self.desk.script.models or DEFAULT_MODELS[format.name]
            )
        return Reply(200, (_JSON, *format.headers(blank, Standing())), dump(data))

    def _control(self, request: HttpRequest) -> Reply:
        if request.path == "/__ledger" and request.method == "GET":
            return Reply(200, (_JSON,), dump(self.desk.ledger.summary()))
        if request.path != "/__script" or request.method != "POST":
            return Reply(
                404, (_JSON,), dump({"error": "use GET /__ledger or POST /__script"})
            )
        try:
            self.change(read_script_change(request.body))
        except ScriptError as error:
            return Reply(400, (_JSON,), dump({"error": str(error)}))
        return Reply(200, (_JSON,), dump({"changed": True}))

    def change(self, changes: Mapping[str, Any]) -> None:
        """Put new top-level entries in the place of the script's own."""
        self.desk.change(change_script(self.desk.script, changes))


class Serving:
    """A scenario in a thread of its own."""

    def __init__(
        self, scenario: Scenario, url: str, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.url = url
        self.ledger = scenario.desk.ledger
        self._scenario = scenario
        self._loop = loop

    def change(self, **changes: Any) -> None:
        """Change the script while it is played: `change(fault=[])` lifts all faults."""
        done: Future[None] = Future()

        def act() -> None:
            try:
                self._scenario.change(changes)
                done.set_result(None)
            except ScriptError as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(act)
        done.result(30)


@contextmanager
def serve(
    script: Script | Mapping[str, Any] | str | Path,
    *,
    port: int = 0,
    ledger_path: Path | None = None,
) -> Iterator[Serving]:
    """Serve a script in this process until the block ends."""
    loaded = load_script(script)
    ready: Future[Serving] = Future()
    thread = threading.Thread(
        target=_host,
        args=(loaded, port, ledger_path, ready),
        name="scenario",
        daemon=True,
    )
    thread.start()
    serving = ready.result(30)
    try:
        yield serving
    finally:
        serving._loop.call_soon_threadsafe(serving._loop.stop)
        thread.join(30)


def _host(
    script: Script, port: int, ledger_path: Path | None, ready: Future[Serving]
) -> None:
    loop = asyncio.new_event_loop()
    file = open_ledger(ledger_path)
    try:
        scenario = Scenario(script, Ledger(script.window, file))
        url = loop.run_until_complete(scenario.start(port))
        ready.set_result(Serving(scenario, url, loop))
        loop.run_forever()
        loop.run_until_complete(scenario.stop())
        loop.run_until_complete(loop.shutdown_default_executor())
    except BaseException as error:
        if ready.done():
            raise
        ready.set_exception(error)
    finally:
        loop.close()
        if file is not None:
            file.close()


def open_ledger(path: Path | None) -> TextIO | None:
    """Open a ledger's file for appending."""
    return None if path is None else path.open("a", encoding="utf-8")


def pick_format(request: HttpRequest) -> Format:
    """Tell by address and headers whose format a request is in."""
    if (
        request.path.startswith(("/v1beta", "/v1alpha"))
        or "x-goog-api-key" in request.headers
    ):
        return _GEMINI
    if (
        request.path.startswith("/v1/messages")
        or {"x-api-key", "anthropic-version"} & request.headers.keys()
    ):
        return _ANTHROPIC
    if request.path.endswith("/chat/completions") or "authorization" in request.headers:
        return _OPENAI
    return _ANTHROPIC


def asks_for_models(request: HttpRequest) -> bool:
    """Tell whether a request asks for the models."""
    return request.method == "GET" and request.path in (
        "/v1/models",
        "/v1beta/models",
        "/v1alpha/models",
        "/models",
    )


def read_script_change(body: bytes) -> Mapping[str, Any]:
    """Read changes of a script, in JSON or TOML."""
    values = read_json(body)
    if values is not None:
        return values
    try:
        return tomllib.loads(body.decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError as error:
        raise ScriptError(f"neither JSON nor TOML: {error}") from None
