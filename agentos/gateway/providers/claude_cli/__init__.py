"""Ask Claude through the `claude -p` command, restricted to a plain completion: one
request, no tools, nothing read, nothing kept.

With a key of our pool, only the child gets it, as ANTHROPIC_API_KEY. Without one, the
user's own access is used, in the order of the command itself: ANTHROPIC_AUTH_TOKEN,
CLAUDE_CODE_OAUTH_TOKEN, the login. A key that happens to be in our environment is
withheld from the child: the command would prefer it to the login, and calls that were
expected to be part of a subscription would be billed one by one. A token is passed on:
it is set only for the command, most often together with the address of a gateway.

The address is that of the key, else ANTHROPIC_BASE_URL. An address on this machine is
added to NO_PROXY, or the key would go through the proxy for the outside world.

The login is copied without its refresh token. A child that renewed the login would get
a new refresh token, lose it with its private folder, and leave the user logged out. So
an expired login is refused; `claude` renews it, or CLAUDE_CODE_OAUTH_TOKEN from
`claude setup-token` lasts for long batches.

The command repeats a request once that the API refuses for its thinking or effort, or
for an unknown model, without the parameter or without streaming. The older version also
repeats, up to twice, a request that an overloaded API or a lost connection ended before
the first event. Nothing prevents that; refused requests are not billed.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agentos.errors import FailureCause, ProviderError, UsageError
from agentos.gateway.providers import Completion, Credential, Provider, Request
from agentos.gateway.providers.classify import CallInfo, clean_words
from agentos.gateway.providers.claude_cli.child import ChildExit, converse
from agentos.gateway.providers.claude_cli.environment import (
    find_secret,
    make_environment,
    uses_login,
)
from agentos.gateway.providers.claude_cli.transcript import Transcript
from agentos.gateway.providers.streaming import find_schema
from agentos.gateway.providers.waiting import Patience
from agentos.state.files import PRIVATE_DIRECTORY, remove_tree
from agentos.state.programs import find_program
from agentos.state.variables import environment
from agentos.usage import NOTHING

COMMAND_VARIABLE = "AGENTOS_CLAUDE_COMMAND"
_NAME = "claude-cli"
_INSTALL = "npm install -g @anthropic-ai/claude-code"
_SYSTEM = (
    "Give exactly what is asked for, in the form that is asked for, with nothing before"
    " or after it."
)

_OPTIONS = (
    *("-p", "--output-format", "stream-json", "--verbose"),
    # Without partial messages, a long answer is one line after minutes of silence.
    "--include-partial-messages",
    # A model that calls an unknown tool would be answered and asked again forever.
    *("--tools", "", "--max-turns", "1"),
    # One turn may be four requests; a budget below one limits it to one (see
    # transcript.py).
    *("--max-budget-usd", "0.0000001"),
    # `@/path` in a prompt, which may quote anybody, reads that file even without tools.
    *("--disallowedTools", "Read,Read(//**),Bash"),
    *(
        "--setting-sources",
        "",
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--no-session-persistence",
    ),
    *("--system-prompt", _SYSTEM),
)


def create(model: str) -> Provider:
    """Create the provider; without a model, the command's default is used."""
    return ClaudeCliProvider(model, environment())


class ClaudeCliProvider(Provider):
    """Ask Claude by running a command for each request."""

    def __init__(self, model: str, environ: Mapping[str, str]) -> None:
        if not model.isprintable():
            raise UsageError(
                f"{model!r} is not a model: write it as {_NAME}:MODEL, for example"
                f" {_NAME}:sonnet"
            )
        self._model = model.strip()
        self._environ = environ
        self._program = ""

    async def complete(
        self, request: Request, credential: Credential | None
    ) -> Completion:
        """Run the command with the prompt on standard input and return its answer."""
        options = [*_OPTIONS, *([f"--model={self._model}"] if self._model else [])]
        schema = find_schema(request)
        if schema:
            options += ["--json-schema", json.dumps(schema)]
        asked = CallInfo(_NAME, self._model, find_secret(self._environ, credential))
        required = frozenset(schema.get("required", ())) if schema else None
        is_login = uses_login(self._environ, credential)
        transcript = Transcript(asked, request.max_output_tokens, required, is_login)
        settings = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_output_tokens)}
        if request.thinking:
            settings["MAX_THINKING_TOKENS"] = str(request.thinking)
        if request.effort:
            options.append(f"--effort={request.effort}")
        # A leading slash would make the prompt one of the command's own commands.
        prompt = request.prompt
        if prompt.startswith("/"):
            prompt = f"\n{prompt}"
        patience = Patience.of(request)
        try:
            ending = await self._run(
                options, settings, credential, prompt, patience, transcript
            )
            return transcript.complete(ending)
        except ProviderError as error:
            if error.consumed is None:
                error.consumed = transcript.consumed
            raise

    async def check(self, credential: Credential | None) -> str:
        """Return the version of the command, which costs nothing and calls nobody."""
        lines = _Lines()
        ending = await self._run(["--version"], {}, credential, "", Patience(), lines)
        version = clean_words(lines.first, limit=80)
        if ending.code != 0 or not version:
            why = (
                f"{self._program} --version does not tell a version:"
                f" {clean_words(ending.complaint)}"
            )
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
    ) -> ChildExit:
        program = self._find_program()
        with _private_folder() as folder:
            environ = {
                **make_environment(self._environ, folder, credential),
                **settings,
            }
            command = [program, *options]
            return await converse(
                command,
                environ,
                folder,
                prompt.encode("utf-8", "replace"),
                patience,
                listener,
            )

    def _find_program(self) -> str:
        if not self._program:
            wanted = self._environ.get(COMMAND_VARIABLE, "").strip() or "claude"
            found = find_program(wanted, self._environ)
            if not found:
                raise ProviderError(
                    f"{wanted}: no such command; {_INSTALL}",
                    cause=FailureCause.BAD_REQUEST,
                    consumed=NOTHING,
                )
            self._program = found
        return self._program


class _Lines:
    """Keep the first line of an output."""

    has_begun = False

    def __init__(self) -> None:
        self.first = ""

    def take(self, line: bytes) -> bool:
        """Take a line; return whether no more is wanted."""
        self.first = self.first or line.decode("utf-8", "replace").strip()
        return False


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Create a temporary folder for the working directory and the command's files."""
    folder = Path(tempfile.mkdtemp(prefix="agentos-claude-"))
    try:
        for name in ("work", "config"):
            (folder / name).mkdir(mode=PRIVATE_DIRECTORY)
        yield folder
    finally:
        remove_tree(folder)
