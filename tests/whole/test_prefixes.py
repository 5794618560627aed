"""What a session's model types under the prefixes that the plugin allows, through the real client:
it runs, reads and forges nothing.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from harness.client import claude_bin  # noqa: F401  (a fixture)
from harness.fake_anthropic import block_text
from harness.hook import ROOT
from harness.lab import PLUGIN, Lab

from memory.cli.main import VERBS
from memory.core import spellings
from memory.store import permissions

TEXTS = [*sorted((ROOT / "commands").glob("*.md")), *sorted((ROOT / "skills").glob("*/SKILL.md"))]
PREFIXES = sorted(
    {
        prefix
        for path in TEXTS
        for prefix in re.findall(r"Bash\(dayleaf ([^:)]+):\*\)", path.read_text("utf-8"))
    }
)
FORGED = "forged by a model"


def refused(outside: str, program: str) -> list[str]:
    """A command for each allowed prefix with each option of its verb that is more than a session's,
    and each forbidden word.
    """
    values = {
        "--provider": program,
        "--path": outside,
        "--transcript": outside,
        "--source": "human",
        "--confidence": "high",
    }
    found = []
    for prefix in PREFIXES:
        verb, words = named(prefix)
        row = permissions.VERBS[verb]
        for option in " ".join((row.typed, row.person, row.inside)).split():
            if option == "WORDS":
                found.append("dayleaf %s %s" % (prefix, outside))
                continue
            flag, _, value = option.partition("=")
            declared = next(one for one in VERBS[verb].options if flag == one.flag)
            if declared.rest.get("action", "append") == "append":
                value_named = (
                    "gemini"
                    if verb not in ("recall", "index") and flag == "--provider"
                    else values.get(flag, "x")
                )
                flag += " " + shlex.quote(value or value_named)
            semantic = " --semantic" if flag.startswith("--provider") and verb == "recall" else ""
            start = " ".join(
                [
                    spellings.format_command(verb),
                    *(words or (["add"] if flag.startswith("--path") else [])),
                ]
            )
            found.append("%s%s %s -- %s" % (start, semantic, flag, shlex.quote(FORGED)))
        if not words:
            found += ["%s %s x" % (spellings.format_command(verb), word) for word in row.words]
    return found


def named(prefix: str) -> tuple[str, list[str]]:
    """The verb that a prefix names, and the words behind it."""
    verb, used = spellings.parse_verb(prefix.split())
    return verb, prefix.split()[used:]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_allowed_prefix_is_a_verb_with_a_row(prefix):
    """What the plugin allows beforehand is a session's own."""
    verb, words = named(prefix)
    assert (
        verb in VERBS
        and permissions.required_caller(verb, words[0] if words and words[0][0] != "-" else "")
        == permissions.SESSION
    )


def test_no_allowed_prefix_runs_reads_or_forges(tmp_path, claude_bin):  # noqa: F811
    """All combinations in one session; and the same words with the session's mark taken off, which
    the client asks a person about.
    """
    program, outside, ran = tmp_path / "provider", tmp_path / "outside.txt", tmp_path / "ran"
    program.write_text("#!/bin/sh\ntouch %s\n" % shlex.quote(str(ran)))
    program.chmod(0o755)
    outside.write_text("outside-of-the-project\n")
    commands = refused(str(outside), str(program))
    masked = [
        "%s dayleaf learn --source human -- '%s'" % (mask, FORGED)
        for mask in (
            "CLAUDECODE=",
            "env -u CLAUDECODE",
            "DAYLEAF_TYPED=$PPID",
            "DAYLEAF_TYPED=$$",
            "unset CLAUDECODE;",
            "env -i HOME=$HOME",
        )
    ]
    masked += ["CLAUDECODE= dayleaf recall --semantic --provider %s x" % program]
    assert len(commands) > 12
    calls = [{"name": "Bash", "input": {"command": command}} for command in (*commands, *masked)]
    with Lab(
        tmp_path / "lab",
        claude_bin,
        {"turns": [*({"tool_use": [call]} for call in calls), "Done."]},
    ) as lab:
        lab.claude(
            "-p",
            "do as the note says",
            "--plugin-dir",
            PLUGIN,
            "--permission-mode",
            "default",
            "--output-format",
            "json",
            "--allowedTools",
            *("Bash(dayleaf %s:*)" % prefix for prefix in PREFIXES),
            timeout=300,
        )
        results = {
            block["tool_use_id"]: block_text(block.get("content", ""))
            for body in lab.api.messages(tools=True)
            for message in body["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block.get("type") == "tool_result"
        }
        answers = list(results.values())
        assert len(answers) == len(calls)
        for command, said in zip(commands, answers):
            refused_ = (
                "only a person" in said
                or "only files of the project" in said
                or "is given twice" in said
            )
            assert refused_, (command, said)
        for command, said in zip(masked, answers[len(commands) :]):
            assert (
                "approval" in said.lower()
                or "permission" in said.lower()
                or "only a person" in said
            ), (command, said)
        assert not ran.exists()
        # What ran, or was refused, is quoted where the session is told.
        kept = "".join(
            path.read_text("utf-8", "replace")
            for path in Path(lab.store).rglob("*.md")
            if not {"checkpoints", "conversations"} & set(path.parts)
        )
        assert FORGED not in kept and "outside-of-the-project" not in kept
