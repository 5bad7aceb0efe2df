"""The languages that blocks name behind their fences, and the files they stand for."""

from __future__ import annotations

LANGUAGES = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "ts": "typescript",
    "sh": "bash",
    "md": "markdown",
    "rs": "rust",
    "yml": "yaml",
    "yaml": "yaml",
    "toml": "toml",
    "json": "json",
    "go": "go",
    "html": "html",
}
_SHORT = {"py": "python", "python3": "python", "js": "javascript", "ts": "typescript"}
_SHORT |= {"md": "markdown", "yml": "yaml", "shell": "bash", "sh": "bash"}
_NEVER = frozenset({"console", "diff", "look", "text", "txt", "output", "pycon", "log"})


def language_of(path: str) -> str:
    """Return the language of a file, `text` if it is not known."""
    ending = path.rpartition(".")[2].casefold()
    return LANGUAGES.get(ending, "text")


def fits_language(path: str, language: str) -> bool:
    """Tell whether a block in a language may be the text of a file."""
    wanted = language_of(path)
    if language in _NEVER:
        return wanted == "text" and language in ("text", "txt")
    given = _SHORT.get(language, language)
    if not given or given == wanted:
        return True
    return given not in LANGUAGES.values() and wanted == "text"
