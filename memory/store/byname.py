"""Secrets by the name before them: assignments in any syntax, sentences, random runs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Callable, Iterator

from memory.store.secretshapes import (
    BARE,
    BINDING,
    BOUND,
    CODE,
    COMPOSED,
    COUNTED,
    CREDENTIAL,
    DIGEST,
    GOOD_KEY,
    HASHED,
    LEAST,
    MARKER,
    NAME_CHARS,
    NAMES,
    OPEN,
    PARTICLES,
    PLACE,
    PLACEHOLDER,
    REFERENCE,
    SEPARATOR,
    SPOKEN,
    STOP,
    SUFFIX,
    TECHNICAL,
    TICKET,
    VETO_HEAD,
    VETO_TAIL,
    WORDS,
    WORDY,
    Span,
    WordOffsets,
    rx,
)

VETOED = VETO_HEAD + "$"
# before tokens of Facebook and Asana: the application's or user's number
NUMBERED = r"\d{15,16}(?:\||%7c)$|[12]/1\d{12,}(?:/1\d{12,})?:\Z"
CALL_IDS = ("toolu_", "msg_", "req_", "call_")  # how the client's own identifiers begin
# over two lines only a call's first argument names the next one
FIRST_ARGUMENT = r"\w\(\s{0,9}[\"'][\w.\-]{0,40}\Z"
LEFT, RIGHT = 100, 480  # characters around a name that are searched for its value
_AHEAD = (
    r"[@&({]|!{1,2}[a-z][\w\-]{0,40}[ ]|\[(?!redacted:)|" + MARKER + r"(?![^\s\"'`,;&<>)\]}\\])"
)  # code, or a mere marker


def find_by_name(text: str, places: WordOffsets, tick: Callable[[], None]) -> Iterator[Span]:
    """Find the values of assignments to the names in `NAMES`."""
    done = 0
    known: dict[tuple[str, str, int], Span | None] = {}
    named = [(word, kind, tier) for kind, tier, words in NAMES for word in words.split()]
    hits = [(at, word, kind, tier) for word, kind, tier in named for at in places.offsets(word)]
    for at, word, kind, tier in sorted(hits):
        if at < done:
            continue
        low, high = max(0, at - LEFT), at + RIGHT
        piece = text[low:high]
        key = (word, piece, at - low)
        if key not in known:
            tick()
            known[key] = _find_assigned(piece, places.text[low:high], at - low, (word, kind, tier))
        span = known[key]
        # what follows the piece belongs to the value as well
        if span and span[1] >= RIGHT and high < len(text):
            span, low = _find_assigned(text, places.text, at, (word, kind, tier)), 0
        if span:
            done = low + span[1]
            yield low + span[0], done, kind


def _find_assigned(text: str, lower: str, at: int, name: tuple[str, str, str]) -> Span | None:
    word, kind, tier = name
    match = rx(SEPARATOR).match(text, at + len(word))
    if not match:
        return None
    left = lower[max(0, at - 48) : at]
    if match["flag"] and not _is_option(text, left, tier, match):
        return None
    if rx(_AHEAD).match(text, match.end()):
        return None
    start, end = _find_value(text, match.end())
    value = remove_markers(text[start:end])
    level = _grade_name(text, lower, at, word, tier, match) if len(value) >= LEAST[tier] else ""
    if not level or not _is_accepted(value, text[start - 1 : start], level, match):
        return None
    return start, _extend_value(text, start, end), kind


def _extend_value(text: str, start: int, end: int) -> int:
    """Return the end of an unquoted value, beyond what BARE matches too."""
    while end - start >= 160:
        rest = rx(BARE).match(text, end)
        if not rest or rx(STOP).match(rest[0]):
            break
        end += _value_length(rest[0])
    return end


def find_by_sentence(text: str, places: WordOffsets) -> Iterator[Span]:
    """Find the next ASCII word after a name in another script."""
    known: dict[tuple[str, str], tuple[int, int] | None] = {}
    for head, words in WORDS:
        kind, tier = head.split()
        for word in words.split("|"):
            for at in places.offsets(word):
                at += len(word)
                piece = text[at : at + RIGHT]
                if (tier, piece) not in known:
                    known[tier, piece] = _find_sentence_value(piece, tier)
                span = known[tier, piece]
                if span:
                    yield at + span[0], at + span[1], kind


def _find_sentence_value(piece: str, tier: str) -> tuple[int, int] | None:
    match = rx(r"[!-~]{4}").search(piece, 0, 60) and rx(PARTICLES).match(piece)
    if not match:
        return None
    value = match["v"][: _value_length(match["v"])].strip("\"'`()").rstrip(".,;")
    counts = piece[match.end("v") : match.end("v") + 1] in COUNTED
    if not _is_sentence_secret(value, tier, bool(match["sign"]), counts):
        return None
    start = piece.index(value, match.start("v"))
    return start, start + len(value)


def _is_sentence_secret(value: str, tier: str, signed: bool, counts: bool) -> bool:
    """Tell whether a word after a name is a secret.  counts: a unit follows it."""
    if tier == "pin":
        return not counts and bool(rx(r"\d{4,8}").fullmatch(value))
    return is_secret(value, tier, False) and (signed or not rx(TICKET).fullmatch(value))


def _grade_name(text: str, lower: str, at: int, word: str, tier: str, match: re.Match[str]) -> str:
    """Return the tier by which a name's value is judged, "" for no secret."""
    left, tail = lower[max(0, at - 48) : at], match["tail"]
    head = left[len(left.rstrip(NAME_CHARS)) :]
    if not _is_part_of_name(text, at, word, head, match) or _is_no_assignment(text, left, match):
        return ""
    if word == "pass" and not tail and _is_outcome(text, lower, at, match.end()):
        return ""
    is_method = match["call"] and "." in tail
    if is_method or _names_something_else(word, text[at - len(head) : at], tail):
        return ""
    is_whole_option = match["flag"] and left.endswith("--") and not tail
    if word != "key" or is_whole_option:
        return tier
    owner = left[-24:].rpartition("\n")[2].rstrip("_.- ")
    return tier if rx(GOOD_KEY).search(owner) else "weak"


def _names_something_else(word: str, head: str, tail: str) -> bool:
    """Tell whether a name, such as `primary_key_id`, names no secret."""
    if rx(VETO_TAIL).search(_to_snake_case(tail)):
        return True
    return word in ("key", "token") and rx(VETOED).search(_to_snake_case(head)) is not None


def _is_part_of_name(text: str, at: int, word: str, head: str, match: re.Match[str]) -> bool:
    """Tell whether a word is a whole part of the name after `head`."""
    tail = match["tail"]
    suffix = rx(SUFFIX.get(word, "")).match(tail)
    rest = tail[suffix.end() :] if suffix else tail
    camel = rest[:1].isupper() and text[match.end("tail") - len(rest) - 1].islower()
    if rest and not (camel or rest[0] in "_.-" or rest[0].isdigit()):
        return False
    if word in ("pw", "_pat", "psk", "jwt", "senha", "seed", "auth", "cred"):
        return not head[-1:].isalnum() or (text[at].isupper() and not text[at - 1].isupper())
    # bypass, compass, impasse, trespass, surpass
    joined = word == "pass" and head.endswith(("by", "om", "im", "es", "ur"))
    return not joined or bool(suffix and suffix[0])


def _is_no_assignment(text: str, left: str, match: re.Match[str]) -> bool:
    """Tell whether the syntax after a name assigns nothing."""
    sign, end = match["sign"], match.end()
    if match["tag"]:  # what follows the `>` of `<name>` is its value
        return not rx(r"<[\w:.\-]{0,48}$").search(left)
    # two texts that are compared, as a failed assertion shows them
    if sign and "==" in sign and left[-1:] in ("'", '"') and match["shut"]:
        return True
    if rx(r",\s*\n").match(match["call"] or ""):
        return not rx(FIRST_ARGUMENT).search(left)
    # a path, no space in it: `password_tests::sha256`
    return sign == "::" and match.end("sign") == end and text[end : end + 1] not in ("'", '"')


def _is_option(text: str, left: str, tier: str, match: re.Match[str]) -> bool:
    """Tell whether a name and a space introduce an option's value."""
    return bool(
        text[match.end() : match.end() + 1] in ("'", '"')
        or rx(r"(?:^|\s)(?:--?[\w\-]*|(?:env|arg|set|setenv|/v) [\w.:/\-]*)$").search(left)
        or (tier == "strong" and rx(SPOKEN).match(text, match.end()))
    )


def _is_outcome(text: str, lower: str, at: int, end: int) -> bool:
    """Tell whether `PASS` is the outcome of a test."""
    left = lower[max(0, at - 90) : at]
    if left.endswith(("--- ", "=== ")):
        return True
    if not text.startswith("PASS", at) or not rx(r"(?:^|\n)[^\w\n]{0,16}$").search(left):
        return False
    account = r"(?:user(?:name)?|login|e?mail|account)[\"']?[ \t]*[:=][ \t]*\S{1,60}\s{1,9}\Z"
    has_sign = rx(r"[^\s/:]{0,99}[!@$%^&*?~+|]").match(text, end)
    return not rx(account).search(left) and not has_sign


def _to_snake_case(name: str) -> str:
    return rx(r"(?<=[a-z0-9])(?=[A-Z])").sub("_", name).lower()


def _find_closing_quote(text: str, start: int, quote: str) -> int:
    last = {"「": "」", "『": "』", "“": "”", "‘": "’"}.get(quote, quote)
    if len(quote) != 1 or last != quote:
        return _find_closing_text(text, start, last)
    inner = rx(r"(?:[^\\\n%s]|\\[^\n]){1,4096}" % quote).match(text, start)
    return inner.end() if inner and text[inner.end() : inner.end() + 1] == quote else 0


def _find_closing_text(text: str, start: int, last: str) -> int:
    end, stop = text.find(last, start, start + 4096), text.find("\n", start, start + 4096)
    while end > 0 and text[end - 1] == "\\":  # a deeper quote inside the value
        end = text.find(last, end + len(last), start + 4096)
    return end if end > start and (stop < 0 or end < stop or len(last) == 3) else 0


def _find_value(text: str, at: int) -> tuple[int, int]:
    opened = rx(OPEN).match(text, at)
    if opened:
        at = opened.end()
        closed = _find_closing_quote(text, at, opened["q"])
        if closed:
            return at, closed
    bare = rx(BARE).match(text, at)
    if not bare:
        return at, at
    end = at + _value_length(bare[0])
    return at, end if end - at == 160 else at + len(text[at:end].rstrip(".,;:"))


def _value_length(word: str) -> int:
    stop = rx(STOP).search(word, 1)
    return stop.start() if stop else len(word)


def _is_accepted(value: str, before: str, level: str, match: re.Match[str]) -> bool:
    quoted = before in ("'", '"', "`", "「", "“", "『", "‘")
    if match["verb"] and not quoted and not rx(r"[\d@#$%^&*]").search(value):
        return False
    words = value.split()
    if quoted and len(words) > 1:
        if rx(r"[a-z]{3,9}(?: [a-z]{3,9}){11,23}").fullmatch(value):  # a wallet's phrase
            return True
        scheme = words[0].lower() in ("bearer", "basic", "token", "bot")
        if scheme:
            words = words[1:]
        elif level != "strong" or len(words) >= 6:
            return False
        return any(is_secret(word, level, False) for word in words)
    return is_secret(value, level, quoted)


def remove_markers(value: str) -> str:
    return rx(MARKER).sub("", value) if "[redacted:" in value else value


def is_made_up(value: str) -> bool:
    return bool(rx(PLACEHOLDER).search(value[:200].lower())) or len(set(value)) < 3


def is_uuid(value: str) -> bool:
    return len(value) == 36 and bool(
        rx(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").fullmatch(value)
    )


def _is_too_short(value: str, tier: str) -> bool:
    return len(value) < LEAST[tier] or (value.isalpha() and len(value) < 12)


@lru_cache(maxsize=4096)
def is_secret(value: str, tier: str, quoted: bool) -> bool:
    """Tell whether a name's value is no word, placeholder, path or code."""
    head = value[:128]
    if _is_too_short(value, tier):
        return False
    if rx(PLACE).match(head) or rx(DIGEST).match(head):
        return False
    if not (quoted and tier == "strong") and rx(CODE).match(head):
        return False
    return _is_irregular(value, tier) and (tier != "strong" or not is_made_up(head))


def _is_irregular(value: str, tier: str) -> bool:
    head = value[:128].strip("*")
    if tier == "weak":
        if not is_random(value, 20) or rx(r"[0-9a-fA-F]+").fullmatch(head):
            return False
        return not rx(COMPOSED).fullmatch(value)
    if tier == "medium":
        return _is_irregular_token(value, head)
    return _is_irregular_password(value, head)


def _is_irregular_token(value: str, head: str) -> bool:
    if is_identifier(value) and len(rx(r"\d").findall(head)) < len(head) / 8:
        return False
    if rx(r"(?:[\w.\-]{1,40}/)+(?:\.env|[\w\-]{1,40}\.[a-z]{1,5})").fullmatch(value):
        return False
    return is_random(value, 8) or (is_uuid(value) and not is_made_up(value))


def _is_irregular_password(value: str, head: str) -> bool:
    classes = (r"[a-z]", r"[A-Z]", r"\d", r"[!@#$%^&*?~+=/\\|:;,.]")
    kinds = sum(rx(sign).search(head) is not None for sign in classes)
    if head.isdigit():
        return 6 <= len(value) <= 20
    if _is_technical(head, kinds):
        return is_random(value, 16)
    if rx(r"\d").search(head):
        return kinds > 1 and not _is_slug(head)
    if kinds > 1 and rx(r"[!@#$%^&*?~+|]").search(head[:-1]):
        sum_or_address = r"[A-Za-z]+(?:[&|+*/%] ?[A-Za-z]+)+|[A-Za-z.]+@[A-Za-z]+\.[A-Za-z.]+"
        return not rx(sum_or_address).fullmatch(head)
    return len(value) >= 12 and kinds > 1 and is_jagged(value)


def _is_technical(head: str, kinds: int) -> bool:
    """Tell whether a text may be a date, file, version or size."""
    if rx(TECHNICAL, re.I).fullmatch(head) or rx(r"\d{4}-\d\d-\d\d([T ].*)?").fullmatch(head):
        return True
    if kinds > 3:
        return False
    return rx(r"[\w\-./]*[/.]\w{1,5}|\d[\d.,:\-/]*\w{0,3}").fullmatch(head) is not None


def _is_slug(head: str) -> bool:
    """Tell whether a text is joined words of one case, perhaps numbered."""
    slug = rx(r"[A-Za-z]+(?:[-_.][A-Za-z]*\d{0,4})+").fullmatch(head)
    return bool(slug) and not rx(r"[A-Z].*[a-z]|[a-z].*[A-Z]").search(head)


def is_jagged(value: str) -> bool:
    """Tell whether case and digits change more often than in words."""
    pieces = rx(r"[A-Z]?[a-z]+|[A-Z]+|\d+").findall(value[:200])
    return len(pieces) > 3 and sum(map(len, pieces)) < 2.9 * len(pieces)


def is_identifier(value: str) -> bool:
    """Tell whether a value is a name in code, such as `TestToken3PartsAtUUID`."""
    if not rx(r"[A-Za-z_]\w+").fullmatch(value[:80]):
        return False
    if rx(r"(?:Test|Benchmark|Fuzz)[A-Z]").match(value):
        return True
    words = rx(r"[A-Z]?[a-z]*[aeiou][a-z]*").findall(value[:80])  # what is pronounceable
    return sum(len(word) for word in words if len(word) > 2) > 0.55 * len(value[:80])


def _is_random_letters(value: str, head: str) -> bool:
    if len(value) < 16 or head.islower() or _is_monotonous(head):
        return False
    return is_jagged(value) and rx(r"[A-Z]").search(head) is not None


def _is_monotonous(head: str) -> bool:
    """Tell whether a text is words, a placeholder, a digest or repetitive."""
    if len(set(head)) < min(9, len(head) * 0.5) or rx(WORDY).fullmatch(head):
        return True
    return is_made_up(head) or rx(DIGEST).match(head) is not None


@lru_cache(maxsize=4096)
def is_random(value: str, least: int) -> bool:
    """Tell whether a value is random, and of at least `least` characters."""
    head = value[:200]
    digits = sum(map(str.isdigit, head))
    if len(value) < least or digits == len(head):
        return False
    if not digits:
        return _is_random_letters(value, head)
    if _is_monotonous(head):
        return False
    if rx(r"[0-9a-fA-F]+").fullmatch(head):
        return len(head) >= max(least, 12)
    if is_jagged(value):
        return True
    most_in_words = (1 if len(value) < 20 else 0) + (2 if rx(r"[-_./ ]").search(head) else 0)
    return len(rx(r"\d[A-Za-z]").findall(head)) > most_in_words


def find_by_run(text: str, lower: str, runs: list[tuple[int, str]]) -> Iterator[Span]:
    """Find random characters behind the name of a vendor or credential."""
    digit = rx(r"\d").search
    for at, run in runs:
        if digit(run):
            start, word = _trim_run(text, at, run)
            kind = _classify_run(word, lower[max(0, start - 72) : start])
            if kind:
                yield start, start + len(word), kind


def _trim_run(text: str, at: int, run: str) -> tuple[int, str]:
    """Return (start, text) of a run without the name and signs around it."""
    word = run.lstrip("-./+=~%_")
    if text[at - 1 : at] == "\\" and run[0] in "nrt":
        word = run[1:]
    name = rx(r"[\w\-]{1,60}(?:=+|%3[dD])").match(word)
    if name and len(word) - name.end() >= 15:
        word = word[name.end() :]
    return at + len(run) - len(word), word.rstrip(".-/")


def _classify_run(word: str, before: str) -> str:
    is_path = "/" in word and rx(r"(?:/|^)[a-z\-]{3,}/|\.[a-z]{1,5}$").search(word)
    if len(word) < 15 or word.startswith(CALL_IDS) or is_path:
        return ""
    if before.rstrip("\n").endswith(("|", "%7c", ":")) and rx(NUMBERED).search(before):
        return "api-token"
    if rx(r"[MNO][A-Za-z0-9]{23,27}\.[\w\-]{6}\.[\w\-]{27,}").fullmatch(word):
        return "discord-token"
    if not (is_uuid(word) or is_random(word, 15)) or rx(HASHED).search(before[-40:]):
        return ""
    if rx(BINDING).search(before[-16:]) and rx(BOUND).search(before):
        return "" if rx(REFERENCE).search(before[-24:]) else "api-token"
    return "api-token" if _is_credential(word, before) else ""


def _is_credential(word: str, before: str) -> bool:
    if len(word) < 20 or not rx(CREDENTIAL).search(before[-48:]):
        return False
    if rx(VETO_HEAD + r"[ ]?(?:key|token)\b").search(before[-40:]) or rx(COMPOSED).fullmatch(word):
        return False
    mixed = bool(rx(r"[a-z]").search(word) and rx(r"[G-Z]").search(word))
    return mixed and not is_uuid(word) and is_random(word, 20) and not is_identifier(word)
