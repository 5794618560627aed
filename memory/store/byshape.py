"""Secrets by their form or surroundings: private keys, structure around a value."""

from __future__ import annotations

import binascii
import re
from typing import Callable, Iterator, Sequence

from memory.store.byname import is_made_up, is_random, is_secret, is_uuid, remove_markers
from memory.store.secretshapes import (
    ACCOUNTS,
    BODY,
    COMPOSED,
    EASY,
    EASY_HOST,
    FOLLOWED,
    GUTTER,
    HOST,
    KEY_ENCODED,
    KEY_END,
    KEY_GAP,
    KEY_HEAD,
    KEY_TAIL,
    LINE_END,
    SHAPES,
    STOCK,
    USERINFO,
    WORDY,
    Span,
    WordOffsets,
    find_offsets,
    rx,
)

PLAIN_COOKIES = "path domain expires max-age samesite priority".split()  # attributes of one


def find_private_keys(text: str) -> Iterator[Span]:
    """Find private keys; a header line without a body is none."""
    marks = ("PRIVATE KEY", "Private-Lines")
    near = merge_windows(sorted(at for mark in marks for at in find_offsets(text, mark)), 40, 90)
    done = 0
    for head in (match for window in near for match in rx(KEY_HEAD).finditer(text, *window)):
        if head.start() >= done:
            done, has_body = _find_key_end(text, head.end())
            if has_body:
                yield head.start(), done, "private-key"
    for end in (match for window in near for match in rx(KEY_END).finditer(text, *window)):
        start = end.start()
        if start >= done:  # the head is cut off
            start = _find_body_start(text, start, done)
        done = max(done, end.end())
        if start < end.start():
            yield start, done, "private-key"
    if "LS0tLS1CRUdJTi" in text:
        for match in rx(KEY_ENCODED).finditer(text):
            if b"PRIVATE" in binascii.a2b_base64(match[0][:32]):
                yield match.start(), match.end(), "private-key"


def _find_key_end(text: str, at: int) -> tuple[int, bool]:
    """Return (end of a private key, whether it has a body)."""
    end = _find_body_end(text, at)
    tail = rx(KEY_GAP + KEY_TAIL).match(text, end)
    # an ellipsis or a line that is no Base64 cuts the body
    if not tail and end > at:
        tail = rx(KEY_TAIL).search(text, end, end + 20000)
        tail = tail if tail and tail[1] == "END" else None
    if not tail:
        return end, end > at
    return tail.end(), end > at or bool(rx(r"[A-Za-z0-9+/]{16}").search(text, at, tail.start()))


def _find_body_end(text: str, at: int) -> int:
    end, begun, line = at, False, rx(LINE_END + "?" + GUTTER + r"[\"'`]?" + BODY)
    while True:
        match = line.match(text, at)
        if not match or match.end() == at:
            return end
        if match["b"]:
            if not _is_body_line(match["b"], text[match.end() : match.end() + 1], begun):
                return end
            end, begun = match.end(), True
        at = match.end()


def _is_body_line(row: str, after: str, begun: bool) -> bool:
    """Tell whether a line is of a private key's body.  begun: it follows another."""
    if after in ("_", ":", "(") or (len(row) < 16 and not begun):
        return False
    if len(row) >= 40 or row.endswith("="):
        return True
    return begun and rx(r"[A-Z0-9+/]").search(row) is not None


def _find_body_start(text: str, at: int, floor: int) -> int:
    start, floor = at, max(floor, at - 20000)
    lines = rx(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{16,4096}={0,2}").finditer(text, floor, at)
    for match in reversed(list(lines)):
        if rx(r"[\s\"'`+,;\\>#|*rn\d→:=-]{0,60}").fullmatch(text, match.end(), start):
            start = match.start()
    return start


def find_by_shape(text: str, places: WordOffsets, tick: Callable[[], None]) -> Iterator[Span]:
    """Find secrets by what surrounds them, as the rows of `SHAPES` say."""
    for head, expression in SHAPES:
        judge, kind, reach, *needles = head.split()
        hits = [at for needle in needles for at in places.offsets(needle)]
        if hits and needles[0] in FOLLOWED:
            follows = rx(FOLLOWED[needles[0]]).match
            hits = [at for at in hits if follows(text, at)]
        back = 240 if needles[0][0] in "~<" else 12
        for start, end in merge_windows(sorted(hits), int(reach), back) if hits else ():
            tick()
            for match in rx(expression, re.I).finditer(text, start, end):
                yield from _judge_match(text, match, kind, judge)


def _judge_match(text: str, match: re.Match[str], kind: str, judge: str) -> Iterator[Span]:
    a, b = match.span("v")
    if text[a : a + 1] in ("'", '"') and b - a > 1:
        a, b = a + 1, b - (text[b - 1] == text[a])
    elif text[b - 1] == ")" and "(" not in text[a:b]:
        b -= 1
    if judge == "cookie":
        yield from _find_cookies(text, a, b)
    elif _is_accepted(text[a:b], judge):
        yield a, b, kind


def find_by_userinfo(text: str, tick: Callable[[], None]) -> Iterator[Span]:
    """Find passwords in `user:password@host` without a scheme."""
    for at in find_offsets(text, "@"):
        if text[at - 1 : at].isspace():
            continue
        if rx(EASY_HOST).match(text, at + 1):
            login = rx(EASY).search(text, max(0, at - 200), at)
            if login and _is_accepted(login["v"], "strong"):
                yield login.start("v"), at, "oracle-password"
            continue
        host = rx(HOST).match(text, at + 1)
        if not host:
            continue
        tick()
        login = rx(USERINFO).search(text, max(0, at - 200), at)
        if login and _is_mixed(login, host[0]) and _is_accepted(login["v"], "strong"):
            yield login.start("v"), at, "login-password"


def _is_mixed(login: re.Match[str], host: str) -> bool:
    """Tell whether a login's password has digits and signs.

    Of a known account, digits and both cases suffice.
    """
    value = login["v"]
    if not rx(r"\d").search(value):
        return False
    if rx(r"[!#$%^&*?~]").search(value):
        return True
    if host[-1] != "(" and login["u"].lower() not in ACCOUNTS:
        return False
    return bool(rx(r"[a-z]").search(value) and rx(r"[A-Z]").search(value))


def merge_windows(places: Sequence[int], reach: int, back: int = 12) -> list[tuple[int, int]]:
    """Return (start, end) around sorted offsets, overlapping windows merged."""
    windows: list[tuple[int, int]] = []
    for at in places:
        if windows and at - back <= windows[-1][1]:
            windows[-1] = (windows[-1][0], at + reach)
        else:
            windows.append((max(0, at - back), at + reach))
    return windows


def _is_accepted(value: str, judge: str) -> bool:
    value = remove_markers(value)
    if rx(r"\$\{?\w{1,60}\}?(?:[\"'\s/:@$]|\Z)").match(value):
        return False  # a variable
    return JUDGES[judge](value)


def _is_not_stock(value: str) -> bool:
    if len(value) <= 2 or is_made_up(value):
        return False
    return not rx(STOCK, re.I).fullmatch(value.strip("<>[]{}'"))


def _is_header_secret(value: str) -> bool:
    if is_made_up(value):
        return False
    is_long = len(value) >= 32 and not rx(WORDY).fullmatch(value)
    return is_long or is_random(value, 8) or is_uuid(value)


def _is_basic_auth(value: str) -> bool:
    """Tell whether a value is `user:password` in Base64."""
    try:
        return b":" in binascii.a2b_base64(value + "=" * (-len(value) % 4))[1:]
    except binascii.Error:
        return False


# by the first word of a row of SHAPES
JUDGES: dict[str, Callable[[str], bool]] = {
    "given": _is_not_stock,
    "random": lambda value: is_random(value, 16),
    "strong": lambda value: is_secret(value, "strong", True),
    "bare": lambda value: is_random(value, 16) and not rx(COMPOSED).fullmatch(value),
    "header": _is_header_secret,
    "basic": _is_basic_auth,
}


def _find_cookies(text: str, start: int, end: int) -> Iterator[Span]:
    pair = rx(r"(?<![^\s;,:=\"'])(?P<n>[\w.\-]{1,80})=(?P<v>[^\s;,]{6,4096})")
    for match in pair.finditer(text, start, end):
        name, value = match["n"].lower(), match["v"]
        if name in PLAIN_COOKIES or is_made_up(value):
            continue
        telling = rx(r"sess|sid|auth|tok|jwt|csrf|xsrf|remember|login|secret|key").search(name)
        if is_random(value, 12) or (telling and rx(r"\d").search(value)) or is_uuid(value):
            yield *match.span("v"), "cookie"


def find_kubernetes_secrets(text: str, places: WordOffsets) -> Iterator[Span]:
    seen, lower = 0, places.text
    for at in places.offsets("secret"):
        kind = rx(r"kind[\"']?[ \t]*:[ \t]*[\"']?\Z").search(lower, max(0, at - 40), at)
        if not kind or rx(r"\w").match(lower, at + 6):
            continue
        low = max(lower.rfind("\n---", seen, at), kind.start() - 8000, seen)
        high = lower.find("\n---", at, at + 8000)
        high = high if high >= 0 else min(len(text), at + 8000)
        seen = max(low, high)
        block = (
            r"(?:^|[\n{,])[^\n{]{0,12}?[ \t]*[\"']?(?:string)?data[\"']?[ \t]*:[ \t]*(?=[\r\n{])"
        )
        for data in rx(block, re.I).finditer(text, low, high):
            yield from _find_data_values(text, data.end(), high, len(_indent(data[0])))


def _find_data_values(text: str, start: int, end: int, indent: int) -> Iterator[Span]:
    row = rx(
        r"[\n{,][^\n{,]{0,12}?[ \t]*[\"']?[\w.\-]{1,80}[\"']?:[ \t]*"
        r"(?:[|>][+-]?[ \t]*\r?\n[ \t]*)?[\"']?(?P<v>[^\s\"',{}]{8,8192})"
    )
    for line in rx(r"[\n{,][^\n{,]*").finditer(text, start, end):
        if line[0][0] == "\n" and line[0].strip() and len(_indent(line[0])) <= indent:
            return
        match = row.match(text, line.start())
        if match and not is_made_up(match["v"]) and not match["v"].startswith("ENC["):
            yield match.start("v"), match.end("v"), "kubernetes-secret"


def _indent(line: str) -> str:
    rest = line.lstrip("\n{,")
    return rest[: len(rest) - len(rest.lstrip(" \t0123456789→:|"))]
