"""Keep keys out of screens and logs: by their exact value first, by their looks second.

The exact values are those that were registered, as they are and in base64 (standard and URL-safe, wherever in a longer
text), percent-encoded, JSON-escaped and in hex. The looks are those of well-known keys and of headers that carry one.
Content is never changed: a prompt, an answer or a publication that holds a key is found here, and refused elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from agentos.documents.key_shapes import KEY_HINTS, KEY_SHAPES

REDACTED = "[REDACTED]"
SHORTEST = 8
"""Characters below which a value is too common a word to be taken out of every text."""
SHORTEST_KEY = 16
"""Characters below which a key without a known shape is a placeholder."""
LONGEST_WORD = 15
WORD_WITHOUT_VOWEL = 4
"""Letters that a word such as `http` may have without a vowel among them."""

_MARK = REDACTED.encode()
_SGR = re.compile(rb"\x1b\[[0-9;]{0,64}m")

# A key begins where no word is under way; the letter of an escape such as `\n` or `%20` is no part of a word. This is
# asked after the beginning of the shape, or the search could not skip to it.
_OPENING = r"(?:(?<![A-Za-z0-9]{0})|(?<=\\[nrtbf]{0})|(?<=\\u[0-9A-Fa-f]{{4}}{0})|(?<=%[0-9A-Fa-f]{{2}}{0}))"
_TOKEN = r"[A-Za-z0-9._~+/=-]{16,}"
_ASSIGNMENT = r"""[\\"' \t]{0,4}[:=,][ \t]{0,4}(?:b?\\{0,3}["'])?"""
_LOOKS = tuple(
    (re.compile(shape.encode()), replacement)
    for shape, replacement in (
        *((start + _OPENING.format(start) + rest, _MARK) for start, rest in KEY_SHAPES),
        *((rf"({start}(?i:earer)[ \t]{{1,4}}){_TOKEN}", rb"\1" + _MARK) for start in "bB"),
        *((rf"({start}-(?i:(?:goog-)?api-key){_ASSIGNMENT}){_TOKEN}", rb"\1" + _MARK) for start in "xX"),
    )
)
_HINTS = tuple((mark.encode(), tuple(hint.encode() for hint in hints)) for mark, hints in KEY_HINTS.items())
_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[-+.\w]+', re.DOTALL)


@dataclass(frozen=True, slots=True, repr=False)
class Redactor:
    """An immutable set of secrets and what it takes to find them."""

    secrets: frozenset[str] = frozenset()
    _forms: tuple[bytes, ...] = field(init=False, default=())
    _beginnings: re.Pattern[bytes] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        forms = {form for secret in self.secrets for form in forms_of(secret)}
        # The longest first, so that a secret that is part of another leaves nothing of that one behind.
        object.__setattr__(self, "_forms", tuple(sorted(forms, key=lambda form: (-len(form), form))))
        if forms:
            heads = b"|".join(sorted({re.escape(form[:SHORTEST]) for form in forms}))
            object.__setattr__(self, "_beginnings", re.compile(b"(?=" + heads + b")"))

    def knowing(self, secret: str) -> Redactor:
        """Return a redactor that knows one secret more."""
        return Redactor(self.secrets | {secret})

    def redact(self, text: str) -> str:
        """Return the text without secrets and without what looks like one."""
        return _change(text, self.redact_bytes)

    def find(self, text: str) -> str | None:
        """Return a secret that the text holds in any of its forms, None when it holds none."""
        data = text.encode("utf-8", "surrogatepass")
        if not any(form in data for form in self._forms):
            return None
        return next(secret for secret in self.secrets if any(form in data for form in forms_of(secret)))

    def redact_bytes(self, data: bytes) -> bytes:
        """Return the bytes without secrets, also without those that only colours keep apart."""
        data = _take_out_looks(self._take_out(data))
        if b"\x1b" in data:
            plain = _SGR.sub(b"", data)
            clean = _take_out_looks(self._take_out(plain))
            data = data if clean == plain else clean
        return data

    def redact_json(self, text: str) -> str:
        """Return JSON without secrets that is JSON still; a number that holds one becomes a string."""
        return text if self.redact(text) == text else _JSON_TOKEN.sub(self._redact_token, text)

    def _take_out(self, data: bytes) -> bytes:
        """Replace every form of every secret, and one that begins at the end of an unfinished line."""
        # One search for each literal: several times as fast as one pattern of them all.
        for form in self._forms:
            data = data.replace(form, _MARK)
        if self._beginnings is None or data.endswith(b"\n"):
            return data
        for match in self._beginnings.finditer(data, max(0, len(data) - len(self._forms[0]))):
            rest = data[match.start() :]
            if any(form.startswith(rest) for form in self._forms):
                return data[: match.start()] + _MARK
        return data

    def _redact_token(self, match: re.Match[str]) -> str:
        token = match[0]
        value = json.loads(token) if token.startswith('"') else token
        clean = self.redact(value)
        return token if clean == value else json.dumps(clean)


_redactor = Redactor()
_names: dict[str, str] = {}
_registering = threading.Lock()


def is_secret(key: str) -> bool:
    """Tell a key from a placeholder, such as `not-needed` for a server that asks for none.

    A key has the shape of a known service's, or at least 16 characters that are not just words and numbers with marks
    between them. A word has letters of one case, a vowel unless it is short, and no digits.
    """
    key = key.strip()
    if _has_known_shape(key):
        return True
    parts = re.findall(r"[^\W_]+", key)
    return len(key) >= SHORTEST_KEY and not all(map(_is_word_or_number, parts))


def register_key(key: str, name: str) -> bool:
    """Register a key under the name that does not tell it, unless it is a placeholder; say which it is."""
    return is_secret(key) and register(key, name)


def register(secret: str, name: str = "") -> bool:
    """Have a secret taken out of all that is shown from now on; say whether it is long enough for that."""
    global _redactor
    secret = secret.strip()
    if len(secret) < SHORTEST:
        return False
    with _registering:
        if secret not in _redactor.secrets:
            _names[secret] = name or f"secret-{hashlib.sha256(secret.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
            # Readers take no lock: they see the old redactor or the new one, whole.
            _redactor = _redactor.knowing(secret)
    return True


def find_secret(text: str) -> str:
    """Return the name of a secret of this process that the text holds in any form, empty when it holds none."""
    secret = _redactor.find(text)
    return "" if secret is None else _names[secret]


def registered() -> int:
    """Return how many secrets are known."""
    return len(_redactor.secrets)


def find_line_to_hide(text: str) -> int:
    """Return the number of the first line that holds a secret of this process or what looks like a key, 0 for none."""
    for number, row in enumerate(text.split("\n"), start=1):
        # Whole, or the beginning of a secret at its end would count too.
        if redact(f"{row}\n") != f"{row}\n":
            return number
    return 0


def redact(text: str) -> str:
    """Return the text without the secrets of this process and without what looks like a key."""
    return _redactor.redact(text)


def redact_bytes(data: bytes) -> bytes:
    """Return the bytes without the secrets of this process and without what looks like a key."""
    return _redactor.redact_bytes(data)


def redact_json(text: str) -> str:
    """Return a JSON text without the secrets of this process and without what looks like a key; it stays JSON."""
    return _redactor.redact_json(text)


def forms_of(secret: str) -> frozenset[bytes]:
    """Return a secret in all the forms in which it is looked for."""
    data = secret.encode("utf-8", "surrogatepass")
    digits = data.hex().encode()
    texts = {text.encode("utf-8", "surrogatepass") for text in (*_percent_forms(data), *_json_forms(secret))}
    return frozenset({data, digits, digits.upper(), *_base64_forms(data), *texts})


def _has_known_shape(key: str) -> bool:
    """Tell whether a key is one of a known service by its looks; words alone are not, whatever they begin with."""
    for start, rest in KEY_SHAPES:
        found = re.fullmatch(f"{start}({rest})", key)
        if found is not None:
            has_digit = any(map(str.isdigit, found[1]))
            return has_digit or found[1] not in (found[1].lower(), found[1].upper())
    return False


def _is_word_or_number(part: str) -> bool:
    if part.isdecimal():
        return len(part) < SHORTEST_KEY
    is_one_case = part in (part.lower(), part.upper(), part.capitalize())
    can_be_said = len(part) <= WORD_WITHOUT_VOWEL or not set("aeiouy").isdisjoint(part.lower())
    return part.isascii() and part.isalpha() and len(part) <= LONGEST_WORD and is_one_case and can_be_said


def _change(text: str, change: Callable[[bytes], bytes]) -> str:
    data = text.encode("utf-8", "surrogatepass")
    changed = change(data)
    return text if changed == data else changed.decode("utf-8", "surrogatepass")


def _take_out_looks(data: bytes) -> bytes:
    if not _may_hold_a_key(data):
        return data
    for look, replacement in _LOOKS:
        data = look.sub(replacement, data)
    return data


def _may_hold_a_key(data: bytes) -> bool:
    """Tell after a glance whether a closer look is worth it."""
    for mark, hints in _HINTS:
        if mark in data and any(hint in data for hint in hints):
            return True
    if b"-" in data and b"api-key" in data.lower():
        return True
    return b"earer" in data or (b"E" in data and b"bearer" in data.lower())


def _base64_forms(data: bytes) -> Iterator[bytes]:
    """Yield what base64 makes of `data`, alone and inside a longer text.

    Inside one, `data` begins at any of three places in a group of three bytes. The letters that it decides alone are
    those that share no bit with its neighbours.
    """
    from base64 import b64encode

    texts = [b64encode(data), b64encode(data).rstrip(b"=")]
    for lead in range(3):
        first, last = -(-8 * lead // 6), 8 * (lead + len(data)) // 6
        texts.append(b64encode(bytes(lead) + data)[first:last])
    for text in texts:
        yield text
        yield text.translate(bytes.maketrans(b"+/", b"-_"))


def _percent_forms(data: bytes) -> Iterator[str]:
    """Yield what the usual ways of percent-encoding make of `data`, with capital and with small digits."""
    from urllib.parse import quote, quote_plus

    spared = ("", "/", "!'()*", ";,/?:@&=+$!'()*#")
    texts = {quote(data, safe=characters) for characters in spared}
    texts |= {quote_plus(data), "".join(f"%{byte:02X}" for byte in data)}
    for text in texts:
        yield text
        yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text)


def _json_forms(secret: str) -> Iterator[str]:
    """Yield what JSON makes of a string, and of a string that holds JSON."""
    texts = {json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}
    texts |= {re.sub(r"\\u[0-9a-f]{4}", lambda code: rf"\u{code[0][2:].upper()}", text) for text in texts}
    texts |= {text.replace("/", r"\/") for text in texts}
    for text in texts:
        yield text
        yield json.dumps(text)[1:-1]
