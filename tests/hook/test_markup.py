"""The fence: what may stand in text for the model, and what that costs.

What is invisible is named here by Unicode's own properties, not by the tables of the fence.
"""

from __future__ import annotations

import random
import unicodedata

import pytest
from harness import timing

from memory.hook import fence

# DerivedCoreProperties of Unicode 15: Default_Ignorable_Code_Point.
IGNORABLE = {
    c
    for low, high in (
        (0xAD, 0xAD),
        (0x34F, 0x34F),
        (0x61C, 0x61C),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x200B, 0x200F),
        (0x202A, 0x202E),
        (0x2060, 0x206F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0),
        (0xFFF0, 0xFFF8),
        (0x1BCA0, 0x1BCA3),
        (0x1D173, 0x1D17A),
        (0xE0000, 0xE0FFF),
    )
    for c in range(low, high + 1)
}
JOINERS = "\u200c\u200d\ufe0f"
ENGLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in "gbeng") + "\U000e007f"

FRAMES = [
    "teammate-message",
    "channel",
    "ide_selection",
    "new-diagnostics",
    "session-start-hook",
    "claudeMd",
    "thinking",
    "EXTREMELY_IMPORTANT",
    "system-reminder",
    "system",
    "dayleaf-memory",
    "dayleaf-rules",
    "task-notification",
    "command-name",
    "local-command-stdout",
    "user",
    "human",
    "user-prompt-submit-hook",
    "persisted-output",
    "bash-stdout",
    "assistant",
    "antml:invoke",
    "function_calls",
    "invoke",
    "tool_result",
    "private",
    "ide_opened_file",
    "SYSTEM",
    "Human",
    "fork-boilerplate",
    "some-frame-of-tomorrow",
    "summary",
    "analysis",
    "|im_start|",
    "!-- x",
    "?xml",
    "\u0455ystem",
]


FORMS = [
    "<%s>",
    "</%s>",
    '<%s a="b">',
    "< %s>",
    "<\t/ %s >",
    "a <%s",
    "a <\n%s>",
    "x<%s>",
    "<<%s>",
    "\uff1c%s\uff1e",
    "<\u200b%s>",
    "<\ufe0f%s>",
    "List<%s>",
    "a < %s>",
]


@pytest.mark.parametrize("name", FRAMES)
def test_no_frame_of_the_host_is_opened_or_closed(name):
    """Known or not, a tag that is not on the list stands with a quotation mark in place of its
    bracket.
    """
    for form in FORMS:
        out = fence.clean(form % name)
        assert "<" not in out.replace("<‹", "") and "\uff1c" not in out.replace(
            "\uff1c\u0455", ""
        ), form
        assert fence.clean(out) == out


@pytest.mark.parametrize("name", [name for name in FRAMES if name.isascii()])
def test_a_character_that_nobody_sees_hides_no_tag(name):
    """The characters go before the tags are read."""
    for code in (
        0x200B,
        0xFE00,
        0xFE0F,
        0xE0100,
        0xE01EF,
        0x115F,
        0x1160,
        0x3164,
        0xFFA0,
        0x34F,
        0xAD,
        0x61C,
        0x180E,
        0xE0041,
        0x202E,
        7,
    ):
        for at in range(len(name) + 1):
            assert fence.clean("<" + name[:at] + chr(code) + name[at:] + ">")[0] == "‹"


@pytest.mark.parametrize(
    "text",
    [
        "a < b",
        "if (i < n) {",
        "x <= y",
        "x <- y",
        "v := <-ch",
        "1 << 4",
        "5 < 6",
        "<5 ms",
        'cout << "x" << endl',
        "cat <<EOF",
        "cat <<'EOF'",
        "<<-EOF",
        "diff <(a) <(b)",
        "List<String>",
        "Vec<u8>",
        "HashMap<String, Vec<u8>>",
        "fn f<T>(x: T)",
        "<T>",
        "<K, V>",
        "Promise<UserProfile>",
        "static_cast<int>(x)",
        "Foo<'a>",
        "Option<&str>",
        "::<Vec<_>>",
        '<div class="x">y</div>',
        "<br/>",
        "<p>a <b>c</b></p>",
        "<https://host/a>",
        "J <j.d@host>",
        "#include <stdio.h>",
    ],
)
def test_code_and_html_stay(text):
    """Comparisons, arrows, heredocs, type arguments, addresses and plain elements are no frames."""
    assert fence.clean(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "می‌خواهم کتاب‌ها را بخوانم",
        "نمی‌شود، خانه‌ای",
        "क्‍ष और न्‌",
        "श्रीमान् र्‍य",
        "ബ്‌",
        "မြန်မာ",
        "한국어 문장입니다.",
        "각",
        "日本語の文。か゛＜見出し＞",
        "繁體中文，简体中文",
        "👨‍👩‍👧 ❤️‍🔥 🏳️‍🌈 👩🏽‍💻 🐻‍❄️ 👁️‍🗨️ 🧑‍⚖️ ⛓️‍💥",
        "1️⃣ #️⃣ ⚠️ ✔️ ☎️ ➡️ ↔️ ©️ ™️ ㊙️ 〰️",
        "🇰🇷 🇮🇷 " + ENGLAND,
        "café, Ärger, ñandú, naïve",
        "עברית",
        "ไทย",
        "\ue0b0 powerline",
    ],
)
def test_text_in_any_script_stays(text):
    """What Persian, Hindi, Korean, Japanese and emoji need is kept to the last code point."""
    assert fence.clean(text) == text
    assert fence.clean(text + " <b>" + text) == text + " <b>" + text


@pytest.mark.parametrize(
    "text",
    [
        "a\u200db",
        "a\u200cb",
        "x\ufe0f",
        "한\u200d글",
        "日\ufe0f本",
        "می\u200c\u200c\u200cx",
        "👨\u200dx",
        "\u200d",
        "1\ufe0f2",
        "⚠\ufe0f\ufe0f",
        "⚠\ufe0e",
        "क\u200dx",
    ],
)
def test_a_joiner_that_joins_nothing_goes(text):
    """Beside Latin or ideographic letters, doubled, or at an edge it could carry a hidden
    message.
    """
    out = fence.clean(text)
    assert len(out) < len(text) and fence.clean(out) == out


def _drawn(rng, count):
    """Return random text: any code point, weighted to what is hidden, to what joins and to what
    could be a tag.
    """
    pools = (
        "<>/ \n\t",
        "<‹＜-_!|=\"'@:.",
        "abcXYZ019",
        JOINERS,
        "میक्न👨❤⚠🔥한日",
        "".join(map(chr, sorted(IGNORABLE)[:60])),
        ENGLAND,
    )
    out = []
    for _ in range(count):
        kind = rng.random()
        if kind < 0.15:
            out.append(chr(rng.randrange(0x110000)))
        elif kind < 0.25:
            out.append(
                rng.choice(
                    ("system-reminder", "T", "div", "List", "EOF", "thinking>", "</", "<", "< ")
                )
            )
        else:
            out.append(rng.choice(rng.choice(pools)))
    return "".join(out)


def _seen(text):
    """Assert that a text holds nothing that a reader cannot see, but for joiners beside what they
    join.
    """
    text = text.replace(ENGLAND, "")
    for i, c in enumerate(text):
        if c in JOINERS:
            before, after = text[i - 1 : i], text[i + 1 : i + 2]
            assert (
                before and not (before.isascii() and c != "\ufe0f") and before not in JOINERS[:2]
            ), ascii(text[max(0, i - 4) : i + 4])
            assert (
                unicodedata.category(before)
                in (
                    "So",
                    "Sk",
                    "Sm",
                    "Lo",
                    "Mn",
                    "Mc",
                    "Lm",
                    "Cn",
                    "Me",
                    "Po",
                    "Nd",
                    "Pd",
                    "Nl",
                    "No",
                    "Sc",
                    "Pe",
                )
                or before == "\ufe0f"
            )
            assert c == "\ufe0f" or not (after.isascii() and after.isalnum()), ascii(
                text[max(0, i - 4) : i + 4]
            )
        else:
            assert (
                ord(c) not in IGNORABLE
                and unicodedata.category(c) not in ("Cs",)
                and (c in "\n\t" or unicodedata.category(c) != "Cc")
            ), hex(ord(c))
            assert c not in "\u2028\u2029\ufff9\ufffa\ufffb"


def test_of_random_text_nothing_invisible_is_left_and_cleaning_twice_changes_nothing():
    """5,000 seeded texts: clean, UTF-8, a fixed point, and the same beside ordinary text."""
    rng = random.Random(21)
    for _ in range(5_000):
        text = _drawn(rng, rng.randint(1, 40))
        out = fence.clean(text)
        _seen(out)
        out.encode("utf-8")
        assert fence.clean(out) == out, ascii(text)


def test_every_code_point_alone():
    """Each of Unicode's 1,114,112 is kept or gone as its properties say."""

    def left(c):
        code = ord(c)
        gone = (
            code in IGNORABLE
            or unicodedata.category(c) == "Cs"
            or (unicodedata.category(c) == "Cc" and c not in "\n\t\r")
            or 0xFFF9 <= code <= 0xFFFB
        )
        return "" if gone else "\n" if c in "\r\u2028\u2029" else "‹" if c == "<" else c

    for start in range(0, 0x110000, 1024):
        codes = [chr(code) for code in range(start, start + 1024)]
        assert fence.clean("é".join(codes)) == "é".join(map(left, codes)), hex(start)


def test_cleaning_costs_little():
    """8,000 characters, with tags, emoji and Persian among them, take no noticeable part of a
    prompt.
    """
    text = ("The parser keeps a cursor <b>here</b>, x < y. ⚠️ می‌خواهم List<String> 👩‍💻\n" * 120)[
        :8000
    ]
    fence.clean(text)
    assert timing.spent(lambda: fence.clean(text), 0.01, tries=20) < 0.01
    for worst in ("<", "< ", "<a", "‹<", "\u200d", "⚠\ufe0f", "می\u200c", "＜"):
        text = worst * (100_000 // len(worst))
        assert timing.spent(lambda: fence.clean(text), 1.0) < 1.0, ascii(worst)
