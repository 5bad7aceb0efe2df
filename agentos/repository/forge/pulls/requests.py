"""Find the pull requests of a branch on a forge, and open one if there is none."""

from __future__ import annotations

from agentos.repository.forge import (
    Forge,
    Invalid,
    Proposal,
    Pull,
    Unavailable,
    Unclear,
)

ATTEMPTS = 3
PAUSE = 1.0
"""Seconds before the second attempt; before the third it is twice as long."""


def find_pulls(forge: Forge, branch: str) -> tuple[Pull, ...]:
    """Return the pull requests of a branch of the repository, the open one first, then
    the newest.
    """
    pulls = forge.list_pulls(branch)
    return tuple(sorted(pulls, key=lambda pull: (pull.state != "open", -pull.number)))


def open_pull(forge: Forge, proposal: Proposal) -> tuple[Pull, bool]:
    """Return the open pull request of the branch, and whether it is new.

    If a response is lost, there may be one now, so it is looked for again. Asking twice
    does no harm: a forge has at most one for a branch and its base.
    """
    trouble = ""
    for attempt in range(ATTEMPTS):
        if attempt and forge.pause(PAUSE * attempt):
            raise Unavailable("stopped")
        found = _find_open(forge, proposal.branch)
        if found:
            return found, bool(trouble)
        try:
            return forge.create_pull(proposal), True
        except Unclear as error:
            trouble = str(error)
        except Invalid as error:
            found = _find_open(forge, proposal.branch)
            if found:
                return found, bool(trouble)
            if proposal.is_draft:
                advice = "where drafts are not offered use --ready"
                raise Invalid(f"{error}; {advice}") from error
            raise
    found = _find_open(forge, proposal.branch)
    if found:
        return found, True
    raise Unavailable(f"{trouble}, {ATTEMPTS} times; run again")


def _find_open(forge: Forge, branch: str) -> Pull | None:
    for pull in find_pulls(forge, branch):
        if pull.state == "open":
            return pull
    return None
