"""Find the files that tracebacks and links mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentos.repository.context.query import Frame
from agentos.repository.look.listing import base_name

_FOREIGN = ("site-packages/", "dist-packages/", "/lib/python")
_TELLS_NOTHING = ("__init__.py", "__main__.py")


def find_frames(
    frames: Iterable[Frame], paths: Iterable[str]
) -> list[tuple[str, Frame]]:
    """Return the frames that lie in one of the files, each with its path."""
    by_base: dict[str, list[str]] = {}
    for path in paths:
        base = base_name(path)
        same = by_base.setdefault(base, [])
        same.append(path)
    found = []
    for frame in frames:
        base = base_name(frame.path)
        candidates = by_base.get(base, [])
        path = _file_of(frame.path, candidates)
        if path:
            found.append((path, frame))
    return found


def _file_of(printed: str, candidates: Sequence[str]) -> str:
    """Return the only file whose path ends as a printed one, which is that of another
    machine; empty if there is none.
    """
    rest = printed
    while rest:
        is_whole = rest == printed
        if not is_whole and _tells_nothing(rest, printed):
            return ""
        matches = []
        for path in candidates:
            if path == rest:
                return path
            if path.endswith(f"/{rest}"):
                matches.append(path)
        if matches:
            is_clear = len(matches) == 1
            return matches[0] if is_clear else ""
        _, _, rest = rest.partition("/")
    return ""


def _tells_nothing(rest: str, printed: str) -> bool:
    """Tell whether only a name is left that files of other projects have, too."""
    if "/" in rest:
        return False
    if rest in _TELLS_NOTHING:
        return True
    return any(folder in printed for folder in _FOREIGN)
