"""Escape tags and remove invisible characters in text for the model.

`fence.clean` loads this for a text that has tags or characters beyond ASCII.
"""

from __future__ import annotations

from memory.core.plaintext import INVISIBLE, find_private_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

# the three that writing needs, each in its place (`_remove_stray_joiners`)
_APART, _JOIN, _EMOJI = "\u200c", "\u200d", "\ufe0f"
# Scripts whose letters take another form beside a joiner: Arabic to N'Ko, those of India, Burmese,
# Khmer, Mongolian.
_JOINING = (
    (0x620, 0xDFF),
    (0x1000, 0x109F),
    (0x1780, 0x18AF),
    (0xA840, 0xA8FF),
    (0xFB50, 0xFDFF),
    (0xFE70, 0xFEFC),
    (0x11000, 0x11FFF),
)
_PICTURES = (
    (0xA9, 0xA9),
    (0xAE, 0xAE),
    (0x203C, 0x203C),
    (0x2049, 0x2049),
    (0x2122, 0x2122),
    (0x2139, 0x2139),
    (0x2194, 0x21AA),
    (0x231A, 0x23FF),
    (0x24C2, 0x24C2),
    (0x25AA, 0x27BF),
    (0x2934, 0x2935),
    (0x2B05, 0x2B55),
    (0x3030, 0x3030),
    (0x303D, 0x303D),
    (0x3297, 0x3299),
    (0x1F000, 0x1FAFF),
)
# The flags that are spelt in tag characters: England, Scotland, Wales.
_FLAGS = tuple(
    "\U0001f3f4%s\U000e007f" % "".join(chr(0xE0000 + ord(c)) for c in code)
    for code in ("gbeng", "gbsct", "gbwls")
)

# What a "<" may open.  Any other becomes "‹", so that no text closes the block or speaks as the
# host, whatever its tags are called: elements of HTML that only shape text, and types as the
# arguments of types.
_HTML = frozenset(
    "a abbr b blockquote br button code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img "
    "input kbd label li ol p pre s samp section select small span strong sub sup table tbody td "
    "textarea th thead tr u ul".split()
)
_TYPES = frozenset(
    "any bigint bool boolean byte char const double dyn f32 f64 float i16 i32 i64 i8 impl int long "
    "never number object short str string u16 u32 u64 u8 uint unknown unsigned usize void".split()
)
_SPEAKERS = ("system", "human", "assistant", "user")
_SPACE = " \t\n\xa0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class _VisibleTable(dict[int, "Any"]):
    """A `str.translate` table that drops invisible characters, but no joiners."""

    def __missing__(self, code: int) -> Any:
        hidden = (
            not 0x3164 < code < 0xD800
            and _is_in_ranges(chr(code), INVISIBLE)
            and chr(code) not in (_APART, _JOIN, _EMOJI)
        )
        self[code] = replacement = "\n" if code in (0x2028, 0x2029) else None if hidden else code
        return replacement


def escape_tags(text: str) -> str:
    """Return a text with "‹" for each "<" of an unsafe tag."""
    if "<" not in text:
        return text
    pieces = text.split("<")
    parts = [pieces[0]]
    for at, piece in enumerate(pieces[1:], 2):
        is_harmless = _is_harmless_tag(parts[-1], piece, at == len(pieces))
        parts.append(("<" if is_harmless else "‹") + piece)
    return "".join(parts)


def remove_invisible(text: str, control: dict[int, Any]) -> str:
    """Return a text without its invisible characters.

    A wide "<" before ASCII becomes "‹".  control: replacements of ASCII's control characters.
    """
    if _FLAGS[0][-1] in text:
        for flag in _FLAGS:
            if flag in text:
                return flag.join([remove_invisible(part, control) for part in text.split(flag)])
    text = text.translate(_VisibleTable(control))
    for joiner in (_EMOJI, _JOIN, _APART):
        if joiner in text:
            text = _remove_stray_joiners(text, joiner)
    for wide in "＜﹤":
        if wide in text:
            first, *rest = text.split(wide)
            text = first + "".join(
                ("‹" if part.lstrip(_SPACE + "/")[:1] < "\x80" else wide) + part for part in rest
            )
    return text


def _remove_stray_joiners(text: str, joiner: str) -> str:
    """Return a text without the joiners that join nothing."""
    out, *rest = text.split(joiner)
    for at, part in enumerate(rest, 1):
        before, after = out[-1:], part[:1] or (joiner if at < len(rest) else "")
        out += (joiner if _is_joiner_needed(before, joiner, after) else "") + part
    return out


def _is_joiner_needed(before: str, joiner: str, after: str) -> bool:
    """Tell whether a joiner changes how its neighbours are written."""
    picture = _is_in_ranges(before, _PICTURES)
    if joiner == _EMOJI:
        return picture or (before in tuple("#*0123456789") and after == "\u20e3")
    if joiner == _JOIN and (picture or before == _EMOJI):
        return _is_in_ranges(after, _PICTURES)
    free = not after.isalnum() and after not in (_APART, _JOIN)
    return _is_in_ranges(before, _JOINING) and (free or _is_in_ranges(after, _JOINING))


def _is_in_ranges(char: str, ranges: Sequence[Sequence[int]]) -> bool:
    code = ord(char or "\0")
    return any(low <= code <= high for low, high in ranges)


def _is_harmless_tag(before: str, after: str, last: bool) -> bool:
    """Tell whether a "<" opens no tag, or a harmless one."""
    if not after:
        return not last
    after = after.partition("‹")[0]
    head = after[:1]
    close = head == "/"
    if head in "=-(0123456789":  # or no head at all
        return True
    if head in _SPACE:
        return _is_comparison(before, after)
    name = _parse_name(after[close:])
    if before[-1:] == "<" and not close:
        return _is_heredoc(after)
    if _is_html(name, after[close + len(name) :][:1]):
        return True
    if close or not head.isascii():
        return False
    return _is_reference(after, name) or _is_type(before[-1:], after)


def _is_heredoc(after: str) -> bool:
    """Tell whether the second "<" of `<<` opens a heredoc's end mark."""
    return ">" not in after and _parse_name(after.lstrip("-~'\"\\")).isupper()


def _is_html(name: str, stop: str) -> bool:
    """Tell whether a name and the character behind it open harmless HTML."""
    return name in _HTML and stop in tuple("> /\n\t")


def _is_comparison(before: str, after: str) -> bool:
    """Tell whether a "<" before a blank compares or shifts."""
    operand = before.rstrip(" ")[-1:]
    is_operand = operand.isalnum() or operand in tuple(")]}<_'\"`%")
    return after[0] == " " and is_operand and ">" not in after


def _is_reference(after: str, name: str) -> bool:
    """Tell whether a "<" opens a URL, a C header or a mail address."""
    if after.startswith(("http://", "https://", "mailto:")):
        return True
    if after[len(name) :].startswith((".h>", ".hpp>")):
        return True
    address = after.partition(">")[0]
    return "@" in address[1:-1] and not any(c in address for c in " \n\t\"'=")


def _is_type(before: str, after: str) -> bool:
    """Tell whether a "<" opens the argument of a type."""
    bare = after.lstrip("&'[(*")
    name = _parse_name(bare)
    stop = bare[len(name) :][:1]
    if name.lower() in _SPEAKERS or stop not in ">,[]&|?:.(;* ":
        return False
    if len(name) < 3 and name[:1].isupper():
        return True
    glued = before.isalnum() or before in ("_", ":")
    capitalised = name[:1].isupper() and not name.isupper()
    return glued and (len(name) == 1 or name in _TYPES or capitalised)


def _parse_name(text: str) -> str:
    """Return the leading ASCII letters, digits and underscores of a text."""
    for end, char in enumerate(text):
        if not char.isascii() or not (char.isalnum() or char == "_"):
            return text[:end]
    return text


_OPENING = ("<", "&lt;", "&#60;", "&#x3c;", "u003c")  # how a tag begins, escaped too


def remove_private(text: str) -> str:
    """Return a text without <private>…</private>; an unclosed one goes to the end."""
    low = text.replace("İ", "I").lower()  # the one letter whose small form is longer
    for start, end in reversed(find_private_pairs(low)):
        text, low = text[:start] + text[end:], low[:start] + low[end:]
    at, last, depth = low.find("private"), 0, 0
    kept = []
    while at >= 0:
        before = low[max(0, at - 16) : at].rstrip(" \t\n\\")
        closes = before.endswith("/")
        before = before.rstrip("/ \t\n\\")
        if before.endswith(_OPENING) and not low[at + 7 : at + 8].isalnum():  # no longer word
            if not depth:
                start = max(low.rfind(mark, 0, at) for mark in _OPENING)
                kept.append(text[last:start])
            depth = max(0, depth - 1) if closes else depth + 1
            last = _find_tag_end(low, at)
        at = low.find("private", at + 7)
    return "".join(kept) + ("" if depth else text[last:])


def _find_tag_end(low: str, at: int) -> int:
    """Return the index behind the next ">", plain or escaped."""
    places = [(low.find(mark, at), len(mark)) for mark in (">", "&gt;", "u003e")]
    return min((start + size for start, size in places if start >= 0), default=len(low))
