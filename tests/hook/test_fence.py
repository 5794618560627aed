"""The fence around plain text: what a prompt pays for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memory.hook import fence

ROOT = Path(__file__).resolve().parents[2]


def test_plain_text_is_cleaned_without_what_reads_tags_and_scripts():
    """Controls go, and `markup` is loaded only by a text with a tag or a letter beyond ASCII;
    arrows and dots are none.
    """
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory.hook import fence\n"
        "print(ascii(fence.clean(sys.argv[2])), 'memory.hook.markup' in sys.modules)"
    )
    for text, out in (
        ("a > b\x07\x1b[0m\r\n\tc", "'a > b[0m\\n\\tc' False"),
        ("<system>", "'\\u2039system>' True"),
        ("caf\xe9\u200b", "'caf\\xe9' True"),
        ("a \u2192 b\u2026\x07", "'a \\u2192 b\\u2026' False"),
    ):
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", code, str(ROOT), text],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == out + "\n"


@pytest.mark.parametrize(
    "text",
    [
        "word " * 90,
        "재시도에는 " * 60,
        "재시도에는" * 30 + "word " * 90,
        "word " * 30 + "재시도에는" * 60,
        "🙂" * 99,
    ],
)
def test_a_text_is_cut_to_bytes_in_any_script(text):
    """Never more than asked for, of that most of it, and nothing where there is no room."""
    for most in (400, 161, 60, 9):
        said = fence.clip_bytes(text, most)
        assert fence.count_bytes(said) <= most and (said.endswith(" …") or not said or said == text)
    assert (
        fence.count_bytes(fence.clip_bytes(text, 300)) >= 100
        and fence.clip_bytes(text, 1 << 20) == text
    )
    assert fence.clip_bytes(text, 0) == fence.clip_bytes(text, -9) == ""
