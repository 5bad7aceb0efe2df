"""Keep keys out of screens and logs: first by exact value, then by shape.

The exact values are the registered secrets: verbatim, in base64 (standard and URL-safe,
at any offset of a longer text), percent-encoded, JSON-escaped and in hex. The shapes
are those of well-known keys and of headers that carry one. Content is never changed: a
prompt, an answer or a publication with a key in it is detected here and refused
elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterable, Iterator

from agentos.state.key_shapes import KEY_HINTS, KEY_SHAPES, KeyShape

REDACTED = "[REDACTED]"
SHORTEST = 8
"""Minimum length of a secret: shorter values are common words and would damage texts."""
SHORTEST_KEY = 16
"""Minimum length of a key without a known shape: anything shorter is a placeholder."""
LONGEST_WORD = 15
WORD_WITHOUT_VOWEL = 4
"""Maximum length of a word without a vowel, such as `http`."""

_REPLACEMENT = REDACTED.encode()
_SGR = re.compile(rb"\x1b\[[0-9;]{0,64}m")

# A key does not begin inside a word, but the letter of an escape such as `\n` or `%20`
# is not part of a word. The check follows the beginning of the shape, because a pattern
# that begins with a lookbehind cannot skip to the next literal.
_KEY = r"{0}(?:(?<![A-Za-z0-9]{0})|(?<=\\[nrtbf]{0})|(?<=\\u[0-9A-Fa-f]{{4}}{0})|(?<=%[0-9A-Fa-f]{{2}}{0})){1}"
_TOKEN = r"[A-Za-z0-9._~+/=-]{16,}"
_ASSIGNMENT = r"""[\\"' \t]{0,4}[:=,][ \t]{0,4}(?:b?\\{0,3}["'])?"""
_HEADERS = (
    rf"(b(?i:earer)[ \t]{{1,4}}){_TOKEN}",
    rf"(B(?i:earer)[ \t]{{1,4}}){_TOKEN}",
    rf"(x-(?i:(?:goog-)?api-key){_ASSIGNMENT}){_TOKEN}",
    rf"(X-(?i:(?:goog-)?api-key){_ASSIGNMENT}){_TOKEN}",
)
_SHAPES = [
    (re.compile(_KEY.format(start, rest).encode()), _REPLACEMENT)
    for start, rest in KEY_SHAPES
]
_SHAPES += [(re.compile(header.encode()), rb"\1" + _REPLACEMENT) for header in _HEADERS]
_known_shapes = list(KEY_SHAPES)
_added_starts: list[bytes] = []
_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[-+.\w]+', re.DOTALL)

_Match = re.Match[str]


class Redactor:
    """An immutable set of secrets with the patterns that find them."""

    def __init__(self, secrets: frozenset[str] = frozenset()) -> None:
        self.secrets = secrets
        forms = set[bytes]()
        heads = set[bytes]()
        for secret in secrets:
            forms |= forms_of(secret)
        for form in forms:
            head = form[:SHORTEST]
            heads.add(re.escape(head))
        # Longest first: replacing a secret that is part of a longer one would leave the
        # rest of the longer one behind.
        self._forms = sorted(sorted(forms), key=len, reverse=True)
        any_head = b"|".join(heads)
        self._beginnings = re.compile(b"(?=%b)" % any_head)

    def knowing(self, secret: str) -> Redactor:
        """Return a redactor that knows one more secret."""
        return Redactor(self.secrets | {secret})

    def redact(self, text: str) -> str:
        """Return the text without secrets and without anything shaped like a key."""
        data = _encode(text)
        redacted = self.redact_bytes(data)
        if redacted == data:
            return text
        return redacted.decode("utf-8", "surrogatepass")

    def find(self, text: str) -> str | None:
        """Return a secret that the text contains in any form, or None."""
        data = _encode(text)
        if not _contains_any(data, self._forms):
            return None
        for secret in self.secrets:
            if _contains_any(data, forms_of(secret)):
                return secret
        return None

    def redact_bytes(self, data: bytes) -> bytes:
        """Return the bytes without secrets, even those split by color sequences."""
        data = self._replace_secrets(data)
        data = _replace_shapes(data)
        if b"\x1b" not in data:
            return data
        plain = _SGR.sub(b"", data)
        redacted = self._replace_secrets(plain)
        redacted = _replace_shapes(redacted)
        if redacted == plain:
            return data
        return redacted

    def redact_json(self, text: str) -> str:
        """Return valid JSON without secrets; a number that contains one becomes a
        string.
        """
        if self.redact(text) == text:
            return text
        return _JSON_TOKEN.sub(self._redact_token, text)

    def _replace_secrets(self, data: bytes) -> bytes:
        """Replace every form of every secret, and the beginning of one at the end of an
        unfinished line.
        """
        # One search per literal is several times faster than one pattern of all.
        for form in self._forms:
            data = data.replace(form, _REPLACEMENT)
        if not self._forms:
            return data
        if data.endswith(b"\n"):
            return data
        longest = len(self._forms[0])
        tail = max(0, len(data) - longest)
        for match in self._beginnings.finditer(data, tail):
            start = match.start()
            rest = data[start:]
            for form in self._forms:
                if form.startswith(rest):
                    return data[:start] + _REPLACEMENT
        return data

    def _redact_token(self, match: _Match) -> str:
        token = match[0]
        value = token
        if token.startswith('"'):
            value = json.loads(token)
        redacted = self.redact(value)
        if redacted == value:
            return token
        return json.dumps(redacted)


_redactor = Redactor()
_names: dict[str, str] = {}
_registering = threading.Lock()


def is_secret(key: str) -> bool:
    """Return whether this is a key and not a placeholder such as `not-needed`.

    A key has the shape of a known service's keys, or at least 16 characters that are
    not just words and numbers with punctuation between them. A word has letters of one
    case, a vowel unless it is short, and no digits.
    """
    key = key.strip()
    if _has_known_shape(key):
        return True
    if len(key) < SHORTEST_KEY:
        return False
    parts = re.findall(r"[^\W_]+", key)
    return not all(map(_is_word_or_number, parts))


def register_key(key: str, name: str) -> bool:
    """Register a key under a name that does not reveal it, unless it is a placeholder;
    return whether it was registered.
    """
    if not is_secret(key):
        return False
    return register(key, name)


def register(secret: str, name: str = "") -> bool:
    """Redact a secret in all output from now on; return False if it is too short."""
    global _redactor
    secret = secret.strip()
    if len(secret) < SHORTEST:
        return False
    if not name:
        name = fingerprint("secret", secret)
    with _registering:
        if secret not in _redactor.secrets:
            _names[secret] = name
            # Readers take no lock: they see the old redactor or the new one, whole.
            _redactor = _redactor.knowing(secret)
    return True


def register_shape(shape: KeyShape) -> None:
    """Redact what has this shape in all output from now on, or raise `re.error`."""
    start, rest = shape
    pattern = _KEY.format(re.escape(start), rest)
    compiled = re.compile(pattern.encode())
    with _registering:
        if shape in _known_shapes:
            return
        _known_shapes.append(shape)
        _SHAPES.append((compiled, _REPLACEMENT))
        # Last, because it makes readers, which take no lock, try the pattern.
        _added_starts.append(start.encode())


def find_secret(text: str) -> str:
    """Return the name of a registered secret that the text contains in any form, or an
    empty string.
    """
    secret = _redactor.find(text)
    if secret is None:
        return ""
    return _names[secret]


def registered() -> int:
    """Return the number of registered secrets."""
    return len(_redactor.secrets)


def find_line_to_hide(text: str) -> int:
    """Return the number of the first line with a registered secret or anything shaped
    like a key, or 0.
    """
    rows = text.split("\n")
    for number, row in enumerate(rows, start=1):
        # Without the line end, the beginning of a secret at the end would count too.
        line = f"{row}\n"
        if redact(line) != line:
            return number
    return 0


def redact(text: str) -> str:
    """Return the text without registered secrets or anything shaped like a key."""
    return _redactor.redact(text)


def redact_bytes(data: bytes) -> bytes:
    """Return the bytes without registered secrets or anything shaped like a key."""
    return _redactor.redact_bytes(data)


def redact_json(text: str) -> str:
    """Return valid JSON without registered secrets or anything shaped like a key."""
    return _redactor.redact_json(text)


def forms_of(secret: str) -> frozenset[bytes]:
    """Return all encoded forms of a secret that are searched for."""
    data = _encode(secret)
    digits = data.hex()
    texts = [
        secret,
        digits,
        digits.upper(),
        *_percent_forms(data),
        *_json_forms(secret),
    ]
    forms = set(map(_encode, texts))
    forms.update(_base64_forms(data))
    return frozenset(forms)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _contains_any(data: bytes, parts: Iterable[bytes]) -> bool:
    return any(part in data for part in parts)


def _has_known_shape(key: str) -> bool:
    """Return whether a key has the shape of a known service's keys; words alone do not,
    whatever their prefix.
    """
    for start, rest in _known_shapes:
        shape = f"{re.escape(start)}({rest})"
        found = re.fullmatch(shape, key)
        if found is not None:
            token = found[1]
            if any(map(str.isdigit, token)):
                return True
            of_one_case = (token.lower(), token.upper())
            return token not in of_one_case
    return False


def _is_word_or_number(part: str) -> bool:
    if part.isdecimal():
        return len(part) < SHORTEST_KEY
    if not part.isascii():
        return False
    if not part.isalpha():
        return False
    if len(part) > LONGEST_WORD:
        return False
    lower = part.lower()
    spellings = (lower, part.upper(), part.capitalize())
    if part not in spellings:
        return False
    if len(part) <= WORD_WITHOUT_VOWEL:
        return True
    return not set("aeiouy").isdisjoint(lower)


def _replace_shapes(data: bytes) -> bytes:
    if not _may_contain_key(data):
        return data
    for shape, replacement in _SHAPES:
        data = shape.sub(replacement, data)
    return data


def _may_contain_key(data: bytes) -> bool:
    """Return quickly whether the patterns are worth running."""
    for character, hints in KEY_HINTS.items():
        if character not in data:
            continue
        if _contains_any(data, hints):
            return True
    if _contains_any(data, _added_starts):
        return True
    if b"-" in data:
        lower = data.lower()
        if b"api-key" in lower:
            return True
    if b"earer" in data:
        return True
    if b"E" not in data:
        return False
    return b"bearer" in data.lower()


def _base64_forms(data: bytes) -> Iterator[bytes]:
    """Yield the base64 forms of `data`, alone and inside a longer text.

    Base64 turns three bytes into four letters of six bits, so inside a longer text
    `data` begins at one of three offsets in a group. Only the letters that share no bit
    with a neighbor of `data` are always the same; the others are cut off.
    """
    from base64 import b64encode

    whole = b64encode(data)
    texts = [whole, whole.rstrip(b"=")]
    for offset in range(3):
        # The first letter that begins at or after `data`, and the last that ends in it.
        first = -(-8 * offset // 6)
        padded = bytes(offset) + data
        last = 8 * len(padded) // 6
        shifted = b64encode(padded)
        texts.append(shifted[first:last])
    url_safe = bytes.maketrans(b"+/", b"-_")
    for text in texts:
        yield text
        yield text.translate(url_safe)


def _percent_forms(data: bytes) -> Iterator[str]:
    """Yield the common percent-encodings of `data`, with upper and lower case
    digits.
    """
    from urllib.parse import quote, quote_plus

    every_byte = "".join(f"%{byte:02X}" for byte in data)
    texts = (
        every_byte,
        quote_plus(data),
        quote(data, safe=""),
        quote(data, safe="/"),
        quote(data, safe="!'()*"),
        quote(data, safe=";,/?:@&=+$!'()*#"),
    )
    for text in texts:
        yield text
        yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text)


def _json_forms(secret: str) -> Iterator[str]:
    """Yield the JSON encodings of a string, and of a string that contains JSON."""
    for is_ascii in (True, False):
        quoted = json.dumps(secret, ensure_ascii=is_ascii)
        lower = quoted[1:-1]
        upper = re.sub(r"\\u[0-9a-f]{4}", _upper_case_escape, lower)
        for text in (lower, upper):
            escaped = text.replace("/", r"\/")
            for form in (text, escaped):
                yield form
                nested = json.dumps(form)
                yield nested[1:-1]


def _upper_case_escape(escape: _Match) -> str:
    digits = escape[0].removeprefix(r"\u")
    return rf"\u{digits.upper()}"


def fingerprint(provider: str, secret: str) -> str:
    """Return a short name for a key that does not reveal it: `gemini-3fa1c27b`."""
    data = _encode(secret)
    digest = hashlib.sha256(data).hexdigest()
    return f"{provider}-{digest[:8]}"
