"""Read the environment of this process, and choose what each child inherits.

No other module reads `os.environ`, and every list of inherited variables is here. They
are allow-lists, so that a child never sees a key it should not have. A name that ends
in `*` matches all variables with that prefix.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from agentos.state.programs import search_path

_PROXIES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
_CERTIFICATES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
)

WORKER: tuple[str, ...] = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR"),
    *("VIRTUAL_ENV", "XDG_STATE_HOME"),
    *("AGENTOS_HOME", "AGENTOS_XDG", "AGENTOS_SANDBOX"),
)
INSTALLING_WORKER = (*WORKER, "PIP_*", *_PROXIES, *_CERTIFICATES)
"""For a worker that builds a repository's environment."""
SANDBOX_SUPERVISOR = ("LD_LIBRARY_PATH",)
PYTHON = ("PATH", "HOME", "LANG")
"""For an interpreter that reports its version."""
PIP = (
    *("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "NETRC", "PIP_*"),
    *("CC", "CXX", "CFLAGS", "CPPFLAGS", "LDFLAGS", "PKG_CONFIG_PATH"),
    *("LD_LIBRARY_PATH", "SOURCE_DATE_EPOCH"),
    *_PROXIES,
    *_CERTIFICATES,
)
GIT = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
GIT_PUSH = (
    *("USER", "LOGNAME", "LANG", "XDG_*"),
    # How git asks for a password or finds a key.
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH*", "GIT_SSL_*", "GNUPGHOME"),
    *("DBUS_SESSION_BUS_ADDRESS", "PASSWORD_STORE_DIR", "GCM_*"),
    *("GITHUB_TOKEN", "GH_*"),
    *_PROXIES,
    *_CERTIFICATES,
)
CLAUDE = ("PATH", "LANG", "LC_ALL", *_PROXIES, *_CERTIFICATES)


def environment() -> Mapping[str, str]:
    """Return the variables of this process."""
    return os.environ


def set_variable(name: str, value: str) -> None:
    """Set a variable of this process, for its imports and its children."""
    os.environ[name] = value


def inherit(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that have one of these names.

    `PATH` is always set and has only absolute entries.
    """
    names = set(names)
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    inherited = {
        name: value
        for name, value in environ.items()
        if name in names or name.startswith(prefixes)
    }
    if "PATH" in names:
        inherited["PATH"] = search_path(environ)
    return inherited
