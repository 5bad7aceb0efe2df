"""Claude by the `claude -p` command, made a plain completion: one request, no tool, nothing read, nothing kept.

With a key of our pool, the child alone gets it, as ANTHROPIC_API_KEY. Without one, the user's own access is used, in
the order in which the command itself takes it: ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN, the login. A key that
happens to be in our environment is withheld from the child: the command would prefer it to the login, and calls that
were thought to be part of a subscription would be paid for one by one. A token is not: nobody sets one but to have the
command use it, most often together with the address of a gateway.

Asked is at the address of the key, else at ANTHROPIC_BASE_URL. One on this very machine is added to NO_PROXY, or the
key would go through the proxy that is meant for the world outside.

The login is lent as a copy without its refresh token. A child that renewed the login would get a new refresh token,
lose it with its private folder, and leave the user logged out. So an expired login is refused as such; `claude` renews
it, or CLAUDE_CODE_OAUTH_TOKEN from `claude setup-token` lasts for long batches.

A request that the API refuses for its thinking or effort, or for a model that it does not have, is sent once more by
the command, without the one or not streamed. The older version also repeats, up to twice, what an overloaded API or a
lost connection ended before the first event. Nothing prevents that; what is refused is not billed.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from agentos.errors import ProviderError, Sign, UsageError
from agentos.files import PRIVATE_DIRECTORY, remove_tree
from agentos.programs import find_program
from agentos.providers import NOTHING, Completion, Credential, Provider, Request
from agentos.providers.classify import Asked, clean_words
from agentos.providers.claude_cli.child import Ending, converse
from agentos.providers.claude_cli.environment import find_secret, make_environment, uses_login
from agentos.providers.claude_cli.transcript import Transcript
from agentos.providers.streaming import find_schema
from agentos.providers.waiting import Patience

COMMAND_VARIABLE = "AGENTOS_CLAUDE_COMMAND"
_NAME = "claude-cli"
_INSTALL = "npm install -g @anthropic-ai/claude-code"
_SYSTEM = "Give exactly what is asked for, in the form that is asked for, with nothing before or after it."

_OPTIONS = (
    *("-p", "--output-format", "stream-json", "--verbose"),
    # Without parts, a long answer is one line after minutes, and could not be told from silence.
    "--include-partial-messages",
    # A model that names a tool it does not have would be answered and asked again for ever.
    *("--tools", "", "--max-turns", "1"),
    # One turn may be four requests; money for less than one makes it one (see transcript.py).
    *("--max-budget-usd", "0.0000001"),
    # `@/path` in a prompt, which may quote anybody, reads that file even when there is no tool.
    *("--disallowedTools", "Read,Read(//**),Bash"),
    *("--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence"),
    *("--system-prompt", _SYSTEM),
)


def create(model: str) -> Provider:
    """Make the provider; no model means the one that the command takes by itself."""
    return ClaudeCliProvider(model, os.environ)


class ClaudeCliProvider:
    """Ask Claude by running a command for each request."""

    needs_key = False

    def __init__(self, model: str, environ: Mapping[str, str]) -> None:
        if not model.isprintable():
            raise UsageError(f"{model!r} is no model: write it as {_NAME}:MODEL, for example {_NAME}:sonnet")
        self._model = model.strip()
        self._environ = environ
        self._program = ""

    async def complete(self, request: Request, credential: Credential | None) -> Completion:
        """Run the command with the prompt on its standard input and return what it answered."""
        options = [*_OPTIONS, *([f"--model={self._model}"] if self._model else [])]
        schema = find_schema(request)
        if schema:
            options += ["--json-schema", json.dumps(schema)]
        asked = Asked(_NAME, self._model, find_secret(self._environ, credential))
        required = frozenset(schema.get("required", ())) if schema else None
        is_login = uses_login(self._environ, credential)
        transcript = Transcript(asked, request.max_output_tokens, required, is_login)
        limit = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_output_tokens)}
        # At the very beginning, a slash would make the prompt one of the command's own commands.
        prompt = f"\n{request.prompt}" if request.prompt.startswith("/") else request.prompt
        patience = Patience.of(request)
        try:
            ending = await self._run(options, limit, credential, prompt, patience, transcript)
            return transcript.complete(ending)
        except ProviderError as error:
            if error.consumed is None:
                error.consumed = transcript.consumed
            raise

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        """Do nothing: each call starts its own process."""

    async def close(self) -> None:
        """Do nothing: each call ends its own process."""

    async def check(self, credential: Credential | None) -> str:
        """Return the version of the command, which costs nothing and asks nobody."""
        lines = _Lines()
        ending = await self._run(["--version"], {}, credential, "", Patience(), lines)
        version = clean_words(lines.first, limit=80)
        if ending.code != 0 or not version:
            why = f"{self._program} --version does not tell a version: {clean_words(ending.complaint)}"
            raise ProviderError(why, consumed=NOTHING)
        return version

    async def _run(
        self,
        options: list[str],
        settings: Mapping[str, str],
        credential: Credential | None,
        prompt: str,
        patience: Patience,
        listener: Transcript | _Lines,
    ) -> Ending:
        program = self._find_program()
        with _private_folder() as folder:
            environ = {**make_environment(self._environ, folder, credential), **settings}
            command = [program, *options]
            return await converse(command, environ, folder, prompt.encode("utf-8", "replace"), patience, listener)

    def _find_program(self) -> str:
        if not self._program:
            wanted = self._environ.get(COMMAND_VARIABLE, "").strip() or "claude"
            found = find_program(wanted, self._environ)
            if not found:
                raise ProviderError(f"{wanted}: no such command; {_INSTALL}", sign=Sign.BAD_REQUEST, consumed=NOTHING)
            self._program = found
        return self._program


class _Lines:
    """Keeps the first line of an output."""

    has_begun = False

    def __init__(self) -> None:
        self.first = ""

    def take(self, line: bytes) -> bool:
        """Take a line; return whether no more is wanted."""
        self.first = self.first or line.decode("utf-8", "replace").strip()
        return False


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Make a folder with an empty one to work in and one for the command's own files; remove it all."""
    folder = Path(tempfile.mkdtemp(prefix="agentos-claude-"))
    try:
        for name in ("work", "config"):
            (folder / name).mkdir(mode=PRIVATE_DIRECTORY)
        yield folder
    finally:
        remove_tree(folder)
