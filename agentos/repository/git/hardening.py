"""Settings and variables with which git runs no command that a repository configures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agentos.state.variables import GIT, inherit

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
    # No conversion of contents, no folding of names.
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
    # The whole tree, without caches beside the index.
    "core.sparseCheckout": "false",
    "core.splitIndex": "false",
    "core.untrackedCache": "false",
    "worktree.guessRemote": "false",
    "worktree.useRelativePaths": "false",
    # What is reported as saved is on the disk; locks of others on refs are brief.
    "core.fsync": "committed,reference",
    "core.filesRefLockTimeout": "10000",
    "core.packedRefsTimeout": "10000",
}
NOBODY = ("AgentOS", "agentos@localhost")
"""Author of commits that are not made in the user's name."""
_ENVIRONMENT = {
    "GIT_AUTHOR_NAME": NOBODY[0],
    "GIT_AUTHOR_EMAIL": NOBODY[1],
    "GIT_COMMITTER_NAME": NOBODY[0],
    "GIT_COMMITTER_EMAIL": NOBODY[1],
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    # Nothing is fetched, whatever the configuration says: a missing object must not
    # start a command.
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
_OWN_MERGE = "git merge-file --marker-size=%L %A %O %B"
_DRIVERS = {
    ("filter", "clean"): "",
    ("filter", "smudge"): "",
    ("filter", "process"): "",
    ("filter", "required"): "false",
    ("diff", "command"): "",
    ("diff", "textconv"): "cat",
    ("diff", "cachetextconv"): "false",
    # An empty driver would count as a merge without conflict; this is git's default.
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


def make_environment(
    environ: Mapping[str, str], *, is_users_own: bool = False
) -> dict[str, str]:
    """Return the environment of git, which inherits nothing that steers it.

    The user's configuration is ignored unless `is_users_own`, so that a run is the
    same for everybody.
    """
    variables = inherit(GIT, environ) | _ENVIRONMENT
    if not is_users_own:
        variables |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    return variables


def make_settings(configured: Iterable[str] = ()) -> dict[str, str]:
    """Return settings that override a repository's own; `configured` are its keys.

    Filters and drivers have names of the repository's choice, so each is disarmed by
    its name.
    """
    settings = dict(_SETTINGS)
    for key in configured:
        section, _, rest = key.partition(".")
        driver, _, variable = rest.rpartition(".")
        disarmed = _DRIVERS.get((section.lower(), variable.lower()))
        if driver and disarmed is not None:
            settings[key] = disarmed
    return settings


def as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as variables, where, unlike in `-c`, a driver's name may contain
    `=`.
    """
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables
