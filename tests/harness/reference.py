"""The part of `docs/reference.md` that is made of the tables: `PYTHONPATH=.:tests python -m
harness.reference` writes it anew.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from pathlib import Path

from memory.cli import main
from memory.core import config, spellings
from memory.store import permissions
from memory.terminal.arguments import PROGRAMS, TASKS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "reference.md"
BEGIN, END = "<!-- %s: made of the tables -->\n", "<!-- end of %s -->\n"
COMMON = (main.TAG, main.VERSION, *main.TIERS, main.WORKSPACE)
OTHERS = "today " + PROGRAMS[1]
WHO = {permissions.SESSION: "", permissions.TYPED: "‡", permissions.PERSON: "†"}


def commands() -> str:
    """Return the commands by group: words, purpose, who may run it, options with what they mean."""
    out = ["- %s: %s" % (_shown(flag, given), given["help"]) for flag, given in COMMON] + [""]
    for heading, names, _ in (*TASKS, ("Alone, and called by other programs", OTHERS, "")):
        out += ["### " + heading, ""]
        for name in names.split():
            rows = [name, *spellings.FAMILIES.get(name, ())]
            for row in rows if name in main.VERBS else rows[1:]:
                out += _command(row, main.VERBS[row])
    return "\n".join(out)


def _command(name: str, verb: main.Verb) -> list[str]:
    out = [
        "**`%s`**%s  %s.%s"
        % (
            headed(name, verb),
            WHO[permissions.required_caller(name)],
            verb.purpose,
            _decided(name),
        ),
        "",
    ]
    rows = [
        "- `%s`: %s%s"
        % (
            (word + " " + part.words).strip(),
            part.purpose,
            "; takes `%s`" % part.flags.replace(" ", "` `") * bool(part.flags and word != "search"),
        )
        for word, part in verb.parts.items()
    ]
    out += [*rows, ""] if rows else []
    options = [one for one in verb.options if one.rest["help"] is not argparse.SUPPRESS]
    common = [one.flag for one in options if one in COMMON and verb.parts == {}]
    options = [one for one in options if one not in COMMON]
    filtered = name != "recall" and all(one in verb.options for one in main.FILTERS)
    if filtered:
        options = [one for one in options if one not in main.FILTERS]
        out += ["- the filters of `recall`, from `--since` to `--explain`"]
    out += ["- %s: %s" % (", ".join(shown), said) for said, shown in _by_help(options).items()]
    if common and not filtered:
        out += ["- also `%s`" % "`, `".join(common)]
    return [*out, ""] if out[-1] else out


def _by_help(options: Iterable[tuple[str, dict]]) -> dict[str, list[str]]:
    """Return options by what they mean."""
    found: dict[str, list[str]] = {}
    for flag, given in options:
        found.setdefault(given.get("help", ""), []).append(_shown(flag, given))
    return found


def headed(name: str, verb: main.Verb) -> str:
    """Return a command's words without the program's name, which stands alone."""
    return (spellings.spell_verb(name) + " " + verb.words).strip() or "dayleaf"


def _decided(name: str) -> str:
    """Return the words of a command that fewer may use than the command."""
    words = permissions.VERBS[name].words
    if not words:
        return ""
    return "  %s %s." % (WHO[next(iter(words.values()))], ", ".join("`%s`" % one for one in words))


def _shown(flag: str, given: dict) -> str:
    return "`%s`" % " ".join(filter(None, (flag, given.get("metavar"))))


def settings() -> str:
    """Return every setting with its default and what its line in `core/config.py` says of it."""
    source = (ROOT / "memory" / "core" / "config.py").read_text(encoding="utf-8")
    said = {
        key: beside or " ".join(line.strip(" #") for line in above.splitlines())
        for above, key, beside in re.findall(
            r'(?m)^((?:    # .*\n)*)    "([\w.]+)": .*?,(?:  # (.*))?$', source
        )
        if above or beside
    }
    rows = [
        "| `%s`%s | `%s` | %s |"
        % (
            key,
            "*" * (key in config.PROJECT_KEYS),
            json.dumps(default),
            said[key].replace(" |", ","),
        )
        for key, default in config.DEFAULTS.items()
    ]
    return "\n".join(
        [
            "| key | default | what it is |",
            "| --- | --- | --- |",
            *rows,
            "",
        ]
    )


def renewed(text: str) -> str:
    """Return the document with the parts that are made of the tables as they are now."""
    for name, made in (("commands", commands()), ("settings", settings())):
        begin, end = BEGIN % name, END % name
        text = re.sub(
            re.escape(begin) + ".*?" + re.escape(end),
            lambda _, now=begin + "\n" + made + "\n" + end: now,
            text,
            flags=re.S,
        )
    return text


if __name__ == "__main__":
    DOCUMENT.write_text(renewed(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
