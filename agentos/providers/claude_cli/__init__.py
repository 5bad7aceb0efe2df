"""Claude by the `claude -p` command, made a plain completion: one request, no tool, nothing read, nothing kept.

With a key, the child alone gets it, as ANTHROPIC_API_KEY. Without one, the user's own login is used, and a key that
happens to be in our environment is withheld from the child: the command would prefer it to the login, and calls that
were thought to be part of a subscription would be paid for one by one.

The login is lent as a copy without its refresh token. A child that renewed the login would get a new refresh token,
lose it with its private folder, and leave the user logged out. So an expired login is refused as such; `claude` renews
it, or CLAUDE_CODE_OAUTH_TOKEN from `claude setup-token` lasts for long batches.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from agentos.errors import BadInput, ProviderError, Sign, UsageError
from agentos.files import PRIVATE_DIRECTORY, read_regular, remove_tree, write_new
from agentos.providers import Completion, Credential, Provider, Request
from agentos.providers.classify import Asked, clean_words
from agentos.providers.claude_cli.child import Ending, converse
from agentos.providers.claude_cli.transcript import Transcript
from agentos.providers.streaming import find_schema, read_idle_timeout

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
_SETTINGS = {
    "TERM": "dumb",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    # The same request once more, not streamed, after a stream that failed.
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_SAFE_MODE": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_PASSED = ("PATH", "LANG", "LC_ALL", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", *_PROXIES, *map(str.lower, _PROXIES))
_LOGIN_VARIABLE = "CLAUDE_CODE_OAUTH_TOKEN"
_LOGIN_FILE = ".credentials.json"
_LOGIN_LIMIT = 1_000_000


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
        self._idle = read_idle_timeout(environ)
        self._program = ""

    async def complete(self, request: Request, credential: Credential | None) -> Completion:
        """Run the command with the prompt on its standard input and return what it answered."""
        options = [*_OPTIONS, *([f"--model={self._model}"] if self._model else [])]
        schema = find_schema(request)
        if schema:
            options += ["--json-schema", json.dumps(schema)]
        asked = Asked(_NAME, self._model, credential.secret if credential else "")
        required = frozenset(schema.get("required", ())) if schema else None
        transcript = Transcript(asked, request.max_output_tokens, required)
        limit = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_output_tokens)}
        # At the very beginning, a slash would make the prompt one of the command's own commands.
        prompt = f"\n{request.prompt}" if request.prompt.startswith("/") else request.prompt
        ending = await self._run(options, limit, credential, prompt, transcript)
        return transcript.complete(ending)

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        """Do nothing: each call starts its own process."""

    async def close(self) -> None:
        """Do nothing: each call ends its own process."""

    async def check(self, credential: Credential | None) -> str:
        """Return the version of the command, which costs nothing and asks nobody."""
        lines = _Lines()
        ending = await self._run(["--version"], {}, credential, "", lines)
        version = clean_words(lines.first, limit=80)
        if ending.code != 0 or not version:
            raise ProviderError(f"{self._program} --version does not tell a version: {clean_words(ending.complaint)}")
        return version

    async def _run(
        self,
        options: list[str],
        settings: Mapping[str, str],
        credential: Credential | None,
        prompt: str,
        listener: Transcript | _Lines,
    ) -> Ending:
        program = self._find_program()
        with _private_folder() as folder:
            environ = {**self._child_environment(folder, credential), **settings}
            command = [program, *options]
            return await converse(command, environ, folder, prompt.encode("utf-8", "replace"), self._idle, listener)

    def _find_program(self) -> str:
        if not self._program:
            wanted = self._environ.get(COMMAND_VARIABLE, "").strip() or "claude"
            found = shutil.which(wanted, path=self._environ.get("PATH"))
            if not found:
                raise ProviderError(f"{wanted}: no such command; {_INSTALL}", sign=Sign.BAD_REQUEST)
            # The child works in another folder.
            self._program = str(Path(found).absolute())
        return self._program

    def _child_environment(self, folder: Path, credential: Credential | None) -> dict[str, str]:
        passed = {name: self._environ[name] for name in _PASSED if name in self._environ}
        places = {"HOME": folder, "TMPDIR": folder, "CLAUDE_CONFIG_DIR": folder / "config"}
        environ = passed | _SETTINGS | {name: str(path) for name, path in places.items()}
        if credential is None:
            return environ | self._lend_login(folder / "config")
        secret, base_url = credential.secret.strip(), credential.base_url.strip()
        if not secret or not (secret + base_url).isascii() or not (secret + base_url).isprintable():
            raise ProviderError(f"the {_NAME} key holds characters that no key has", sign=Sign.AUTH)
        return environ | {"ANTHROPIC_API_KEY": secret} | ({"ANTHROPIC_BASE_URL": base_url} if base_url else {})

    def _lend_login(self, config: Path) -> dict[str, str]:
        """Copy what the user's login needs to be used, not to be renewed."""
        if token := self._environ.get(_LOGIN_VARIABLE):
            return {_LOGIN_VARIABLE: token}
        home = self._environ.get("CLAUDE_CONFIG_DIR") or Path(self._environ.get("HOME", "/nonexistent"), ".claude")
        try:
            login = json.loads(read_regular(Path(home, _LOGIN_FILE), _LOGIN_LIMIT))["claudeAiOauth"]
            lent = {"claudeAiOauth": {**login, "refreshToken": ""}}
        except (BadInput, ValueError, KeyError, TypeError, RecursionError):
            return {}
        write_new(config / _LOGIN_FILE, json.dumps(lent).encode(), is_durable=False)
        return {}


class _Lines:
    """Keeps the first line of an output."""

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
