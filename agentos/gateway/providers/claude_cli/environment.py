"""Build the environment of the command: settings for a single request, the key or
login, and the address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from agentos.errors import BadInput, FailureCause, ProviderError
from agentos.gateway.providers import Credential
from agentos.gateway.providers.streaming import is_web_address
from agentos.state.files import read_regular, write_new
from agentos.state.variables import CLAUDE, inherit
from agentos.usage import NOTHING

_Environment = Mapping[str, str]
_Credential = Credential | None
_SETTINGS = {
    "TERM": "dumb",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    # The same request once more, not streamed, after a stream that failed.
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    # The same request once more after a refusal, or to another model.
    "CLAUDE_CODE_DISABLE_REFUSAL_RETRY": "1",
    "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK": "1",
    "CLAUDE_CODE_NO_MODEL_FALLBACK": "1",
    # The same request up to twice more after any status 400, each time with fewer
    # betas.
    "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
    # We measure silence ourselves: the command would give up after minutes and ask once
    # more.
    "API_TIMEOUT_MS": "90000000",
    "API_FORCE_IDLE_TIMEOUT": "0",
    "CLAUDE_ENABLE_BYTE_WATCHDOG": "0",
    "CLAUDE_ENABLE_STREAM_WATCHDOG": "0",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_SAFE_MODE": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
_ADDRESS_VARIABLE = "ANTHROPIC_BASE_URL"
_KEY_VARIABLE = "ANTHROPIC_API_KEY"
_TOKEN_VARIABLE = "ANTHROPIC_AUTH_TOKEN"
_LOGIN_VARIABLE = "CLAUDE_CODE_OAUTH_TOKEN"
_LOGIN_FILE = ".credentials.json"
_LOGIN_LIMIT = 1_000_000


def make_environment(
    ours: _Environment, folder: Path, credential: _Credential
) -> dict[str, str]:
    """Return the command's environment; its home is `folder`, to which a login is
    copied.
    """
    environ = inherit(CLAUDE, ours) | _SETTINGS
    config = folder / "config"
    environ |= {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "CLAUDE_CONFIG_DIR": str(config),
    }
    if name := find_secret_variable(ours, credential):
        environ[name] = _check_secret(find_secret(ours, credential), name)
    else:
        _lend_login(ours, config)
    address = _find_address(ours, credential)
    if address:
        environ |= {_ADDRESS_VARIABLE: address, **_avoid_proxy(address, environ)}
    return environ


def find_secret_variable(ours: _Environment, credential: _Credential) -> str:
    """Return the variable for the key or token, empty when a login file is used."""
    if credential is not None:
        return _KEY_VARIABLE
    if ours.get(_TOKEN_VARIABLE, "").strip():
        return _TOKEN_VARIABLE
    if ours.get(_LOGIN_VARIABLE, "").strip():
        return _LOGIN_VARIABLE
    return ""


def find_secret(ours: _Environment, credential: _Credential) -> str:
    """Return the key or token, empty when a login file is used."""
    if credential is not None:
        return credential.secret.strip()
    return ours.get(find_secret_variable(ours, credential), "").strip()


def uses_login(ours: _Environment, credential: _Credential) -> bool:
    """Return whether the command uses the user's login."""
    return find_secret_variable(ours, credential) in ("", _LOGIN_VARIABLE)


def _check_secret(secret: str, name: str) -> str:
    if not secret or not secret.isascii() or not secret.isprintable():
        what = "the claude-cli key" if name == _KEY_VARIABLE else name
        raise ProviderError(
            f"{what} holds characters that no key has",
            cause=FailureCause.AUTH,
            consumed=NOTHING,
        )
    return secret


def _find_address(ours: _Environment, credential: _Credential) -> str:
    address = ours.get(_ADDRESS_VARIABLE, "").strip()
    if credential is not None and credential.base_url.strip():
        address = credential.base_url.strip()
    if address and not (
        is_web_address(address) and address.isascii() and address.isprintable()
    ):
        why = f"claude-cli cannot be asked at {address[:100]!r}: check the base URL"
        raise ProviderError(why, cause=FailureCause.BAD_REQUEST, consumed=NOTHING)
    return address


def _avoid_proxy(address: str, environ: _Environment) -> dict[str, str]:
    """Return variables that keep requests to this machine, and their key, from a proxy."""
    host = urlsplit(address).hostname or ""
    if not _is_loopback(host):
        return {}
    listed = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    names = [listed, host, f"[{host}]"] if ":" in host else [listed, host]
    avoided = ",".join(name for name in names if name)
    return {"NO_PROXY": avoided, "no_proxy": avoided}


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _lend_login(ours: _Environment, config: Path) -> None:
    """Copy the user's login without the token that renews it."""
    home = ours.get("CLAUDE_CONFIG_DIR") or Path(
        ours.get("HOME", "/nonexistent"), ".claude"
    )
    try:
        login = json.loads(read_regular(Path(home, _LOGIN_FILE), _LOGIN_LIMIT))[
            "claudeAiOauth"
        ]
        lent = {"claudeAiOauth": {**login, "refreshToken": ""}}
    except (BadInput, ValueError, KeyError, TypeError, RecursionError):
        return
    write_new(config / _LOGIN_FILE, json.dumps(lent).encode(), is_durable=False)
