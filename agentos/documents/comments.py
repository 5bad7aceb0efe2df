"""Tell what of a Markdown line no reader sees."""

from __future__ import annotations


def cut_comments(line: str, in_comment: bool, closes_later: bool) -> tuple[str, str, bool]:
    """Return the line without comments, the comments, and whether one is still open."""
    kept: list[str] = []
    cut: list[str] = []
    position = start = 0
    margin = len(line) - len(line.lstrip())
    while True:
        if in_comment:
            end = line.find("-->", position)
            if end < 0:
                cut.append(line[start:])
                break
            cut.append(line[start : end + 3])
            position, in_comment = end + 3, False
            continue
        start = _comment_start(line, position)
        is_leading = start == margin
        if start < 0 or (line.find("-->", start + 4) < 0 and not closes_later and not is_leading):
            kept.append(line[position:])
            break
        kept.append(line[position:start])
        position, in_comment = start + 4, True
    visible = "".join(kept)
    if cut and "<!--" in visible:
        # What is left after a cut must not become a comment of its own.
        visible = visible.replace("<!--", "&lt;!--")
    return visible, "".join(cut), in_comment


def _comment_start(line: str, position: int) -> int:
    """Find where a comment begins, skipping code spans."""
    start = line.find("<!--", position)
    while True:
        if start < position:
            start = line.find("<!--", position)
        tick = line.find("`", position, start) if start >= 0 else -1
        if tick < 0:
            return start
        close = line.find("`", tick + 1)
        if close < 0:
            return start
        position = close + 1
