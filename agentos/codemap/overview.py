"""The shape of a repository: its folders with the number of files in each, and how its tests lie."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.codemap.showing import show_name
from agentos.wording import count

MAX_ROWS = 60
_ROOT_FILES = 30
_SPLIT_FROM = 8


def describe_tree(names: Sequence[str], is_cut: bool) -> str:
    """Return folders and counts, going deeper where there are many files."""
    more = ", and more that were not looked at" if is_cut else ""
    rows = [f"{count(len(names), 'file')}{more}."]
    root = [name for name in names if "/" not in name]
    if root:
        rest = f" and {len(root) - _ROOT_FILES} more" if len(root) > _ROOT_FILES else ""
        rows.append(f"- in the root: {', '.join(f'`{show_name(name)}`' for name in root[:_ROOT_FILES])}{rest}")
    folders = _folder_rows([name.split("/") for name in names if "/" in name], 1)
    rows += folders[:MAX_ROWS]
    if len(folders) > MAX_ROWS:
        rows.append(f"- ... and {len(folders) - MAX_ROWS} more folders")
    return "\n".join(rows)


def describe_tests(names: Sequence[str]) -> str:
    """Return where tests lie and what they are called, empty when there are none."""
    tests = [name for name in names if _is_test(name)]
    if not tests:
        return ""
    by_folder: dict[str, list[str]] = {}
    for name in tests:
        by_folder.setdefault(name.rpartition("/")[0] or ".", []).append(name)
    largest = sorted(by_folder.items(), key=lambda pair: (-len(pair[1]), pair[0]))[:8]
    rows = [
        f"- `{show_name(folder)}/`: {count(len(found), 'file')}, such as `{show_name(found[0])}`"
        for folder, found in largest
    ]
    return "\n".join([f"{count(len(tests), 'file')} of tests:", *rows])


def _is_test(name: str) -> bool:
    base = name.rpartition("/")[2].casefold()
    return base.startswith("test_") or any(mark in base for mark in ("_test.", ".test.", ".spec.", "_spec."))


def _folder_rows(paths: Sequence[Sequence[str]], depth: int) -> list[str]:
    groups: dict[str, list[Sequence[str]]] = {}
    for parts in paths:
        if len(parts) > depth:
            groups.setdefault("/".join(parts[:depth]), []).append(parts)
    rows = []
    for folder, inside in sorted(groups.items()):
        rows.append(f"{'  ' * (depth - 1)}- `{show_name(folder)}/`: {len(inside)}{_endings(inside)}")
        if len(inside) >= _SPLIT_FROM and depth < 3:
            rows += _folder_rows(inside, depth + 1)
    return rows


def _endings(paths: Sequence[Sequence[str]]) -> str:
    counts: dict[str, int] = {}
    for parts in paths:
        _, dot, ending = parts[-1].rpartition(".")
        if dot and ending.isalnum() and len(ending) <= 8:
            counts[ending] = counts.get(ending, 0) + 1
    main = sorted(counts, key=lambda ending: (-counts[ending], ending))[:2]
    return f" ({', '.join(f'{counts[ending]} .{ending}' for ending in main)})" if main else ""
