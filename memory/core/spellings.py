"""Where each verb of the command line stands, and how it was spelt before.

`VERBS` in `cli/main.py` and the rows of `store/permissions.py` are keyed by a verb's own word.  A
verb in MOVED is typed behind a family's: `store undo`.  Its own word alone, and an option that
became a word, still work in this release; the command line says the new spelling on stderr.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOVED = {
    "today": "",  # what plain `dayleaf` does
    "expand": "show transcript",
    "how": "show tool",
    "blame": "show file",
    "friction": "show walls",
    "harvest": "notes harvest",
    "edit": "record edit",
    "forget": "record forget",
    "feedback": "record feedback",
    "link": "record link",
    "graph": "record graph",
    "share": "record share",
    "unshare": "record unshare",
    "keep": "rule keep",
    "why": "push why",
    "on": "push on",
    "off": "push off",
    "status": "store status",
    "stats": "store stats",
    "view": "store view",
    "check": "store check",
    "audit": "store audit",
    "redact": "store redact",
    "upkeep": "store upkeep",
    "undo": "store undo",
    "backup": "store backup",
    "restore": "store restore",
    "import": "store import",
    "shared": "store shared",
    "sync": "store sync",
    "tier": "store tier",
    "workspace": "store workspace",
    "load": "debug load",
    "eval": "debug eval",
}
_ROWS = {new: row for row, new in MOVED.items() if new}
# one review goes through rules, scripts and candidates, one edit changes any record
_ROWS.update({"rule review": "review", "harvest review": "review", "rule edit": "edit"})
# Families: the verbs behind each first word, in the order of help.
FAMILIES: dict[str, list[str]] = {}
for _row, _new in MOVED.items():
    if _new:
        FAMILIES.setdefault(_new.partition(" ")[0], []).append(_row)
_SCOPES = {"--project": "project", "--mine": "mine"}
# Options that are spelt otherwise now, most as words, by verb.
OPTIONS = {
    "index": {"--" + word: word for word in "build refresh verify status export".split()},
    "notes": _SCOPES,
    "on": _SCOPES,
    "off": _SCOPES,
    "import": {"--all-projects": "--all"},
}


def spell_verb(row: str) -> str:
    """Return a verb as it is typed, without the program's name."""
    return MOVED.get(row, row)


def format_command(row: str) -> str:
    """Return a verb as it is typed, with the program's name."""
    return ("dayleaf " + spell_verb(row)).strip()


def parse_verb(argv: Sequence[str]) -> tuple[str, int]:
    """Return (verb, number of its words) at the start of a call."""
    row = _ROWS.get(" ".join(argv[:2]))
    return (row, 2) if row else (argv[0], 1) if argv else ("today", 0)


def replace_old_option(row: str, argv: Sequence[str]) -> tuple[list[str], str]:
    """Return (words with an old option replaced, that option or "")."""
    stop = argv.index("--") if "--" in argv else len(argv)
    known = OPTIONS.get(row, {})
    old = next((word for word in argv[:stop] if word in known), "")
    return [known[old] if old and word == old else word for word in argv], old
