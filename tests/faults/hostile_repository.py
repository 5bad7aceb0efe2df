"""Work on a repository in which everything that git can be told to run is a trap: none
may spring.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from agentos.errors import AgentOSError
from agentos.repository.git.cleanup import forget_merged, remove_worktree
from agentos.repository.git.committing import commit_to_branch
from agentos.repository.git.names import branch_of, slug_of
from agentos.repository.git.opening import open_worktree
from agentos.repository.git.reading import changed_files, read_file
from agentos.repository.git.repository import find_repository, resolve_commit
from agentos.repository.git.run import GitError
from agentos.repository.git.salvage import list_snapshots, restore_to
from agentos.repository.git.snapshots import restore, take
from tests.faults.figures import Figures, main
from tests.repository.git.ground import bundle_item, deliver_item

_HOOK_NAMES = """
applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman post-index-change
"""
HOOKS = tuple(_HOOK_NAMES.split())
CONFIGURED = {
    "core.fsmonitor": "{}",
    "core.pager": "{}",
    "core.editor": "{}",
    "core.askPass": "{}",
    "core.sshCommand": "{}",
    "core.gitProxy": "{}",
    "core.alternateRefsCommand": "{}",
    "sequence.editor": "{}",
    "diff.external": "{}",
    "interactive.diffFilter": "{}",
    "credential.helper": "!{}",
    "gpg.program": "{}",
    "gpg.ssh.defaultKeyCommand": "{}",
    "commit.gpgSign": "true",
    "tag.gpgSign": "true",
    "log.showSignature": "true",
    "pager.log": "{}",
    "alias.ls-tree": "!{}",
    "alias.read-tree": "!{}",
    "alias.status": "!{}",
    "uploadpack.packObjectsHook": "{}",
    "remote.origin.url": "ext::{}",
    "remote.origin.promisor": "true",
    "remote.origin.vcs": "ext",
    "remote.origin.uploadpack": "{}",
    "remote.origin.receivepack": "{}",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "submodule.recurse": "true",
    "submodule.lib.update": "!{}",
    "submodule.lib.url": "ext::{}",
    "filter.trap.clean": "{}",
    "filter.trap.smudge": "{}",
    "filter.trap.required": "true",
    "filter.trap=a.b.clean": "{}",
    "filter.trap=a.b.smudge": "{}",
    "filter.long.process": "{}",
    "diff.trap.command": "{}",
    "diff.trap.textconv": "{}",
    "merge.trap.driver": "{}",
    "trailer.trap.command": "{}",
    "tar.trap.command": "{}",
    "gc.auto": "1",
    "gc.recentObjectsHook": "{}",
    "core.hooksPath": "hooks-of-its-own",
}
ATTRIBUTES = "*.py filter=trap diff=trap merge=trap\n*.md filter=trap=a.b diff=trap merge=trap\n*.txt filter=long diff=trap\n"
TITLES = (
    "; touch {0}",
    "$(touch {0})",
    "`touch {0}`",
    "--upload-pack=touch {0}",
    "-c core.pager=touch {0}",
    "x\ntouch {0}\n",
    "| touch {0} &",
    "ext::touch {0}",
    "@{{-1}}; touch {0}",
    "../../../hooks/post-checkout",
    "HEAD",
    ".lock",
    "\0\x1b[2J",
)
REVISIONS = (
    "--upload-pack=touch {0}",
    "-h",
    "$(touch {0})",
    "HEAD; touch {0}",
    ":/x",
    "--exec=touch {0}",
    "a\nb",
    "",
)
SEEN_BY_ANYBODY = 3
"""So many traps at least must spring for a user's own git, or the ground is not
hostile.
"""


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Lay all traps in so many repositories and work in them."""
    figures = Figures(
        "hostile_repository",
        seed,
        count,
        {"traps": 0, "titles": 0, "sprung": 0, "sprung_for_users": 0},
    )
    rng = random.Random(seed)
    for number in range(1, count + 1):
        place = folder / f"round-{number}"
        repository, sprung = _lay_traps(place)
        figures.add("traps", len(HOOKS) + len(CONFIGURED))
        with _as_user(place):
            _work(figures, repository, place, sprung, rng.choice(TITLES))
            _misuse(figures, repository, place, sprung)
            _plant_in_worktree(figures, repository, place, sprung)
        figures.add("sprung", len(_names(sprung)))
        figures.expect(not _names(sprung), f"round {number}: ran {_names(sprung)}")
        _spring(repository)
        figures.raise_to("sprung_for_users", len(_names(sprung)))
        figures.expect(
            len(_names(sprung)) >= SEEN_BY_ANYBODY,
            f"round {number}: only {_names(sprung)} are traps",
        )
    return figures


def _lay_traps(place: Path) -> tuple[Path, Path]:
    repository, sprung = place / "repo", place / "sprung"
    sprung.mkdir(parents=True)
    repository.mkdir()
    for name, text in {
        "a.py": "1\n",
        "b.md": "2\n",
        "c.txt": "3\n",
        ".gitattributes": ATTRIBUTES,
    }.items():
        (repository / name).write_text(text, "utf-8")
    (repository / ".gitmodules").write_text(
        f'[submodule "lib"]\n\tpath = lib\n\turl = ext::{_trap(place, "gitmodules")}\n\tupdate = !touch x\n',
        "utf-8",
    )
    _plain(repository, "init", "-q", "-b", "main", ".")
    _plain(repository, "add", "-A")
    head = "a" * 40
    _plain(repository, "update-index", "--add", "--cacheinfo", f"160000,{head},lib")
    _plain(repository, "commit", "-q", "-m", "First")
    for hooks in (
        repository / ".git/hooks",
        repository / ".git/hooks-of-its-own",
        repository / "hooks-of-its-own",
    ):
        hooks.mkdir(exist_ok=True)
        for name in HOOKS:
            (hooks / name).unlink(missing_ok=True)
            (hooks / name).symlink_to(_trap(place, f"hook-{name}"))
    included = place / "included"
    for key, value in CONFIGURED.items():
        target = (
            included
            if key.startswith(("filter", "merge"))
            else repository / ".git/config"
        )
        _plain(
            repository,
            "config",
            "--file",
            str(target),
            key,
            value.format(_trap(place, key)),
        )
    (repository / ".git/info/attributes").write_text(ATTRIBUTES, "utf-8")
    _plain(repository, "config", "include.path", str(included))
    return repository, sprung


def _trap(place: Path, name: str) -> Path:
    """Return a program that leaves a mark."""
    traps = place / "traps"
    traps.mkdir(exist_ok=True)
    path = traps / name.replace("/", "_").replace("=", "_")
    if not path.exists():
        path.write_text(
            f"#!/bin/sh\n: > '{place / 'sprung' / path.name}'\ncat 2>/dev/null </dev/null\n",
            "utf-8",
        )
        path.chmod(0o755)
    return path


@contextmanager
def _as_user(place: Path) -> Iterator[None]:
    """Set the variables that steer git against us, as a hostile or careless shell
    would.
    """
    planted = {
        "HOME": str(place / "nobody"),
        "GIT_EXTERNAL_DIFF": str(_trap(place, "variable-diff")),
        "GIT_SSH_COMMAND": str(_trap(place, "variable-ssh")),
        "GIT_EDITOR": str(_trap(place, "variable-editor")),
        "GIT_PAGER": str(_trap(place, "variable-pager")),
        "GIT_DIR": str(place / "elsewhere"),
        "GIT_INDEX_FILE": str(place / "elsewhere-index"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(_trap(place, "variable-fsmonitor")),
        "PATH": f".:{os.environ['PATH']}:",
    }
    before = {name: os.environ.get(name) for name in planted}
    os.environ.update(planted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(
    figures: Figures, repository: Path, place: Path, sprung: Path, title: str
) -> None:
    """Do all that there is to do to an item."""
    title = title.format(sprung / "title")
    branch = branch_of("42", title)
    worktree = open_worktree(repository, place / "home/42", "42", branch)
    _write_program(worktree.path / "git", _trap(place, "git-in-the-worktree"))
    for name in ("a.py", "b.md", "c.txt", "-n", "--upload-pack=x", "$(touch x)"):
        (worktree.path / name).write_text(f"{name}\r\n", "utf-8", newline="")
    snapshot = take(worktree, "first")
    restored = restore(worktree, worktree.base)
    figures.expect(
        restored.saved is not None or restored.removed > 0,
        "nothing was there to restore",
    )
    restore(worktree, snapshot.commit)
    saved = read_file(worktree.git(), snapshot.commit, "a.py")
    figures.expect(saved == b"a.py\r\n", f"a filter changed the file: {saved!r}")
    figures.expect(
        len(changed_files(worktree.git(), worktree.base, snapshot.commit)) >= 6,
        "files are missing",
    )
    commit_to_branch(worktree, snapshot.commit, title, 1_700_000_000)
    list_snapshots(repository, place / "home")
    restore_to(worktree.git(), place / "out", snapshot.commit)
    deliver_item(worktree, bundle_item(worktree))
    commit = find_repository(repository).git().line("rev-parse", branch)
    _merge(figures, repository, worktree.base, commit)
    remove_worktree(worktree)
    forget_merged(repository, worktree.path, "42", "main")


def _merge(figures: Figures, repository: Path, base: str, commit: str) -> None:
    """Merge two changes of one file, where git would ask the driver."""
    git = find_repository(repository).git()
    old = git.line("rev-parse", f"{base}:a.py").encode()
    new = git.line("hash-object", "-w", "--stdin", data=b"other\n").encode()
    listing = git.run("ls-tree", "-z", base).replace(old, new)
    tree = git.line("mktree", "-z", "--missing", data=listing)
    other = git.line("commit-tree", tree, "-p", base, data=b"Other\n")
    try:
        git.run("merge-tree", "--write-tree", other, commit)
        figures.misses.append("a conflict was merged silently")
    except GitError as error:
        figures.expect(error.code == 1, f"the merge could not be tried: {error}")


def _misuse(figures: Figures, repository: Path, place: Path, sprung: Path) -> None:
    """Give git names that it, or a shell, could take for orders."""
    for title in TITLES:
        slug = slug_of(title.format(sprung / "title"))
        plain = (
            slug
            and len(slug) <= 40
            and not set(slug) - set("abcdefghijklmnopqrstuvwxyz0123456789-")
        )
        figures.expect(bool(plain), f"the title {title!r} became {slug!r}")
        figures.add("titles")
    git = find_repository(repository).git()
    for text in (*REVISIONS, *TITLES):
        name = text.format(sprung / "name")
        for attempt in (
            partial(resolve_commit, git, name),
            partial(open_worktree, repository, place / "home/43", "43", name),
            partial(open_worktree, repository, place / "home/43", name, "agentos/43-x"),
            partial(
                open_worktree, repository, place / "home/43", "43", "agentos/43-x", name
            ),
            partial(read_file, git, name, "a.py"),
            partial(changed_files, git, name, name),
        ):
            _try(figures, name, attempt)


def _try(figures: Figures, name: str, attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except AgentOSError as error:
        figures.expect("\n" not in str(error), f"{name!r}: said {error}")


def _plant_in_worktree(
    figures: Figures, repository: Path, place: Path, sprung: Path
) -> None:
    """Have generated code replace the `.git` of its worktree by a repository of its own
    with traps.
    """
    worktree = open_worktree(repository, place / "home/44", "44", "agentos/44-x")
    shutil.rmtree(worktree.path / ".git")
    _plain(worktree.path, "init", "-q", ".")
    _plain(
        worktree.path,
        "config",
        "core.fsmonitor",
        str(_trap(place, "planted-fsmonitor")),
    )
    _plain(
        worktree.path,
        "config",
        "filter.trap.clean",
        str(_trap(place, "planted-filter")),
    )
    alternates = worktree.path / ".git/objects/info/alternates"
    alternates.write_text(f"{repository}/.git/objects\n", "utf-8")
    (worktree.path / ".git/hooks").mkdir(exist_ok=True)
    for name in HOOKS:
        (worktree.path / ".git/hooks" / name).unlink(missing_ok=True)
        (worktree.path / ".git/hooks" / name).symlink_to(
            _trap(place, f"planted-{name}")
        )
    (worktree.path / "new.py").write_text("1\n", "utf-8")
    snapshot = take(worktree, "first")
    figures.expect(
        read_file(worktree.git(), snapshot.commit, "new.py") == b"1\n",
        "the planted folder hid a file",
    )
    open_worktree(repository, place / "home/44", "44", "agentos/44-x")
    figures.expect(
        not (worktree.path / ".git/hooks").exists(), "the planted folder is still there"
    )
    commit_to_branch(worktree, snapshot.commit, "Add", 1_700_000_000)
    deliver_item(worktree, bundle_item(worktree))


def _spring(repository: Path) -> None:
    """Use the repository as anybody would, to show that its traps work."""
    for arguments in (
        ("status",),
        ("add", "-A"),
        ("diff", "HEAD"),
        ("checkout", "-q", "-b", "other"),
        ("log", "-1"),
        ("fetch",),
    ):
        subprocess.run(
            ["git", *arguments],
            cwd=repository,
            capture_output=True,
            timeout=60,
            check=False,
        )


def _plain(folder: Path, *arguments: str) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    for role in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{role}_NAME": "a", f"GIT_{role}_EMAIL": "a@example.org"}
    subprocess.run(
        ["git", *arguments], cwd=folder, env=environ, check=True, capture_output=True
    )


def _write_program(path: Path, target: Path) -> None:
    path.write_text(f"#!/bin/sh\nexec '{target}'\n", "utf-8")
    path.chmod(0o755)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


if __name__ == "__main__":
    raise SystemExit(main(measure, 13))
