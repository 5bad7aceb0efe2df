"""Append and drop whole tables of the key file without changing any other line.

A valid key file has a table header on a line of its own and nowhere else: no value is
a list, and no string holds a line break. So tables are found by their headers, without
following strings and brackets. The caller checks the result with a parser.
"""

from __future__ import annotations


def append_table(text: str, table: str) -> str:
    """Put a table at the end, after a blank line."""
    if not text:
        return table
    if not text.endswith("\n"):
        text += "\n"
    return f"{text}\n{table}"


def drop_table(text: str, name: str, place: int) -> str | None:
    """Return the text without the `place`-th `[[name]]` table; None without one.

    Comments above the header and after the last value stay. One blank line goes with
    the table, so that adding and dropping one changes nothing.
    """
    lines = text.split("\n")
    first = None
    end = len(lines)
    for number, line in enumerate(lines):
        bare = line.lstrip()
        if not bare.startswith("["):
            continue
        if first is not None:
            end = number
            break
        if _is_header(line, name):
            if place == 0:
                first = number
            place -= 1
    if first is None:
        return None
    while _is_blank_or_comment(lines[end - 1]):
        end -= 1
    before = lines[:first]
    after = lines[end:]
    is_last = all(map(_is_blank, after))
    if is_last and before and _is_blank(before[-1]):
        before.pop()
    elif len(after) > 1 and _is_blank(after[0]):
        after.pop(0)
    kept = before + after
    return "\n".join(kept)


def _is_header(line: str, name: str) -> bool:
    """Return whether a line is `[[name]]`, in any spelling."""
    import tomllib

    try:
        return tomllib.loads(line) == {name: [{}]}
    except ValueError:
        return False


def _is_blank(line: str) -> bool:
    return not line.strip()


def _is_blank_or_comment(line: str) -> bool:
    bare = line.lstrip()
    return _is_blank(line) or bare.startswith("#")
