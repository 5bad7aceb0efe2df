"""The settings under which git runs no command that a repository names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agentos.programs import search_path

_SETTINGS = {
    # Commands that a repository could have git start.
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "false",
    "sequence.editor": "false",
    "credential.helper": "",
    "diff.external": "",
    "interactive.diffFilter": "",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.defaultKeyCommand": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "merge.verifySignatures": "false",
    "protocol.allow": "never",
    "protocol.ext.allow": "never",
    "protocol.file.allow": "never",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "diff.submodule": "short",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "rerere.enabled": "false",
    # Bytes in are bytes out, and every name is its own.
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.ignoreCase": "false",
    "core.precomposeUnicode": "false",
    "core.symlinks": "true",
    "core.fileMode": "true",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "i18n.commitEncoding": "UTF-8",
    # The whole tree, with nothing remembered beside it.
    "core.sparseCheckout": "false",
    "core.splitIndex": "false",
    "core.untrackedCache": "false",
    "worktree.guessRemote": "false",
    "worktree.useRelativePaths": "false",
    # What was reported as saved is on the disk; others' locks on refs last a moment.
    "core.fsync": "committed,reference",
    "core.filesRefLockTimeout": "10000",
    "core.packedRefsTimeout": "10000",
}
NOBODY = ("AgentOS", "agentos@localhost")
"""Who makes what is not made in the user's name."""
_ENVIRONMENT = {
    "GIT_AUTHOR_NAME": NOBODY[0],
    "GIT_AUTHOR_EMAIL": NOBODY[1],
    "GIT_COMMITTER_NAME": NOBODY[0],
    "GIT_COMMITTER_EMAIL": NOBODY[1],
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    # Nothing is fetched, whatever stands in the configuration: a missing object must not start a command.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_KEPT_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "TMPDIR")
_OWN_MERGE = "git merge-file --marker-size=%L %A %O %B"
_DRIVERS = {
    ("filter", "clean"): "",
    ("filter", "smudge"): "",
    ("filter", "process"): "",
    ("filter", "required"): "false",
    ("diff", "command"): "",
    ("diff", "textconv"): "cat",
    ("diff", "cachetextconv"): "false",
    # An empty driver would count as a merge without conflict; this one is what git does where none is named.
    ("merge", "driver"): _OWN_MERGE,
    ("merge", "recursive"): "text",
    ("submodule", "update"): "none",
    ("tar", "command"): "false",
    ("remote", "vcs"): "",
    ("remote", "uploadpack"): "false",
    ("remote", "receivepack"): "false",
    ("trailer", "command"): "true",
    ("trailer", "cmd"): "true",
    ("gpg", "program"): "false",
    ("credential", "helper"): "",
}
MOST_DRIVERS = 500


def make_environment(environ: Mapping[str, str], *, is_users_own: bool = False) -> dict[str, str]:
    """Return the variables for git: nothing that steers it is inherited.

    The user's own configuration is left out, unless it is asked for, so that a run is the same for everybody.
    """
    kept = {name: environ[name] for name in _KEPT_VARIABLES if name in environ}
    own = {} if is_users_own else {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    return kept | _ENVIRONMENT | own | {"PATH": search_path(environ)}


def make_settings(configured: Iterable[str] = ()) -> dict[str, str]:
    """Return the settings that win over a repository's own, given the keys that stand there.

    Which filters and drivers a repository has is not known beforehand, so each is disarmed by its name.
    """
    return _SETTINGS | {
        key: _DRIVERS[(section, variable)]
        for key in configured
        for section, driver, variable in [_split(key)]
        if driver and (section, variable) in _DRIVERS
    }


def as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as variables: unlike in `-c`, a driver's name may hold `=` there and is still disarmed."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _split(key: str) -> tuple[str, str, str]:
    section, _, rest = key.partition(".")
    driver, _, variable = rest.rpartition(".")
    return section.lower(), driver, variable.lower()
