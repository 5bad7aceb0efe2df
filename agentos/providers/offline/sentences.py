"""Split a claim into what triggers it and what must then be seen."""

from __future__ import annotations

from dataclasses import dataclass

from agentos.documents.words import keywords

_VERBS_TEXT = """
accepts adds affects allows answers appears applies are aren't asks avoids becomes begins belongs
blocks can can't cannot carries changes checks cleans closes completes contains continues converts
copies counts covers creates cuts deletes denies differs displays do does doesn't don't drops emits
ends escapes exists exits expires exports fails falls fills finds finishes gives goes has have holds
identifies ignores imports includes is isn't keeps leaves lets limits lists loads locks logs loses
makes marks matches migrates must named needs never offers opens parses passes pauses points prints
processes produces prompts puts reads receives records redirects refuses rejects releases remains
removes renders repeats replaces reports requires resets responds restores resumes returns retries
rolls rotates runs saves says sends sets should shall shows shuts skips sorts starts states stays
stops stores succeeds supports survives takes tells times tolerates triggers treats turns updates
uses validates waits warns will works writes fetches gets decides lasts names defaults describes
owns arrives reserves searches signs moves builds serves lends goes means equals exceeds joins
imports overlaps created written capped prefixed shared retained removed tested documented announces
reaches summarises upgrades
"""
_LONGEST = 2000
VERBS = frozenset(_VERBS_TEXT.split())
_AUXILIARIES = frozenset(("is", "are", "must", "should", "shall", "will", "can", "has", "have", "does", "do", "never"))
_BETWEEN = frozenset(("be", "not", "being", "been", "cannot", "doesn't", "don't", "isn't", "aren't", "also", "only"))
_IRREGULAR = {
    "kept": "keep",
    "shown": "show",
    "sent": "send",
    "written": "write",
    "told": "tell",
    "made": "make",
    "held": "hold",
    "lent": "lend",
    "paid": "pay",
    "found": "find",
    "given": "give",
    "read": "read",
}
_OPENERS = ("when ", "if ", "on ", "after ", "while ", "without ", "with ", "during ", "once ", "for ")
_MIDDLES = (" when ", " if ", " after ", " while ", " whenever ", " unless ")
_OPEN_ENDS = frozenset(("or", "and", "one", "at", "not", "only", "each", "even", "the"))
_RELATIVES = frozenset(("that", "which", "who", "whose"))
_REQUESTS = ("GET ", "POST ", "PUT ", "PATCH ", "DELETE ", "HEAD ")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim: its condition, its subject and what it says of it; parts may be empty."""

    condition: str
    subject: str
    effect: str


def split_claim(text: str) -> Claim:
    """Split a sentence by its words alone; a sentence without a verb is all effect."""
    flat = text[:_LONGEST].replace("\n", " ").strip().rstrip(".")
    lowered = flat.casefold()
    if lowered.startswith("given ") and " then " in lowered:
        cut = lowered.index(" then ")
        return Claim(flat[6:cut].rstrip(", "), "", flat[cut + 6 :])
    if lowered.startswith(_OPENERS):
        comma = _outside_code(flat, ", ")
        is_conditional = lowered.startswith(("when ", "if ", "while ", "once "))
        if comma > 0 and (is_conditional or not _split_verb(flat[:comma])[0]):
            opener = "" if lowered.startswith(("when ", "if ", "on ")) else flat.split(" ", 1)[0] + " "
            rest = _split_verb(flat[comma + 2 :])
            return Claim((opener + flat.split(" ", 1)[1][: comma - len(flat.split(" ", 1)[0]) - 1]).strip(), *rest)
    for middle in _MIDDLES:
        cut = _outside_code(flat, middle)
        if cut > 0 and _stands_alone(flat[:cut], flat[cut + len(middle) :]):
            condition = flat[cut + len(middle) :] if middle in (" when ", " if ") else flat[cut + 1 :]
            return Claim(condition, *_split_verb(flat[:cut]))
    return Claim("", *_split_verb(flat))


def _stands_alone(head: str, tail: str) -> bool:
    """Tell whether a sentence says something before its condition begins."""
    words = head.casefold().split()
    is_open = words[-1].strip(",") in _OPEN_ENDS
    return bool(_split_verb(head)[0]) and not is_open and len(keywords(head)) > 2 and len(keywords(tail)) > 1


def is_request(span: str) -> bool:
    """Tell whether something in backticks is a request over HTTP."""
    return span.startswith(_REQUESTS)


def is_option(span: str) -> bool:
    """Tell whether something in backticks is an option of a command."""
    return span.startswith("--") or (len(span) == 2 and span[0] == "-" and span[1].isalpha())


def base_verb(effect: str) -> str:
    """Return the verb of an effect without its ending, or nothing when it only says what something is."""
    words = [word.strip("`,.;:()") for word in effect[:300].casefold().split()]
    was_auxiliary = False
    while words and words[0] in _AUXILIARIES | _BETWEEN:
        was_auxiliary = was_auxiliary or words[0] in _AUXILIARIES
        words.pop(0)
    if not words:
        return ""
    verb = words[0]
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("ed") and len(verb) > 4:
        return _from_participle(verb)
    if was_auxiliary:
        return verb if verb in _BASES else ""
    return _from_third_person(verb)


def _from_third_person(verb: str) -> str:
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("sses", "shes", "ches", "xes", "oes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


def _from_participle(verb: str) -> str:
    bare = verb[:-2]
    if bare.endswith("i"):
        return bare[:-1] + "y"
    doubled = len(bare) > 2 and bare[-1] == bare[-2]
    if doubled and bare[-1] not in "lsf":
        return bare[:-1]
    if bare.endswith(
        ("nc", "rc", "rg", "rv", "lv", "dg", "ng", "rs", "ns", "ls", "bl", "pl", "tl", "st", "as", "us", "os")
    ):
        return bare if bare.endswith("st") else bare + "e"
    is_cluster = bare[-1] not in "aeiouy" and bare[-2] not in "aeiouy"
    if is_cluster or bare.endswith(("fix", "set", "er", "en", "el", "it", "ow", "in", "ain", "ail", "eat", "oad")):
        return bare
    return bare + "e"


def _split_verb(text: str) -> tuple[str, str]:
    position = 0
    in_code = depth = 0
    is_relative = False
    for word in text.split(" "):
        bare = word.strip(",.;:").casefold()
        if position and not in_code and not depth and bare in VERBS:
            if not is_relative:
                return text[:position].rstrip(), text[position:]
            is_relative = False
        is_relative = is_relative or bare in _RELATIVES
        in_code ^= word.count("`") & 1
        depth += word.count("(") - word.count(")")
        position += len(word) + 1
    return "", text


def _outside_code(text: str, wanted: str) -> int:
    """Find text that is neither in backticks nor in brackets."""
    start = 0
    while True:
        found = text.casefold().find(wanted, start)
        if found < 0:
            return -1
        before = text[:found]
        if before.count("`") % 2 == 0 and before.count("(") <= before.count(")"):
            return found
        start = found + 1


_BASES = frozenset(_from_third_person(verb) for verb in VERBS)
