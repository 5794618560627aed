"""Receipts: what was put before the model, when and on what ground; ids and short hashes, never
text.

Schema, version 1: `log/receipts/<workspace>/<session>.jsonl`, one JSON object a line.

    v 1, t ISO instant, event start | prompt | agent | wall | off | on | lost
    start:  source (startup, resume, clear, compact, fork), transcript (path), host (the client's
      CLAUDE_CONFIG_DIR), brief (8 hex of the block, "" for none)
    prompt: prompt (the host's prompt id), query (8 hex of the prompt), tag (8 hex of the block, ""
      for none); where there are any: turns (8 hex of the heading of each turn in a passage,
      by the conversation's id), words (8 hex of each name in a passage, by the record's
      id), below ([[id, score]] of the passage that came nearest to the threshold), unfit (ids
      that were picked and found no room), stale (the index was behind the files), unread (how
      many files were not looked at, for want of an index), sigs (as of a wall, of the walls
      of an error that was pasted); met (16 bits of the hash of each of its first words, 4 hex
      digits each)
    agent:  the same of a subagent's prompt; the session itself has not seen what stands in it
    wall:   tool, sigs (8 hex of each key of the walls that a failed call met), tag
    lost:   tag, chosen and turns of a block that did not reach the model (health/worker.py); its
      records count as not shown
    all three: chosen [[id, score, reason]], chars and tokens of the block (UTF-16 units; older
    receipts have no tokens), ms;
      but a wall: strategy, candidates (how many were scored), saved (tokens that loading
      every learning would have cost beyond this)

The file is the session's state too: what stands in it was shown, until a start by clear or compact,
where the host drops its context.
"""

from __future__ import annotations

from memory.core import boundary, clock, fastjson, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 4 << 20
RESETS = ("clear", "compact", "fork")
TITLE_REASON = "title of another session"  # reason of a record whose title alone was shown


class SessionState:
    """The state of a session, read from its receipts.

    shown: ids shown since the last reset, of a conversation with the turn (`add_turn`).
    off: whether pushes are off.
    prompts: number since the last reset.
    brief: tag of the last brief.
    forgot: whether the client forgot earlier blocks (a compaction).
    walls: keys of the walls shown since the last reset.
    pushes: how many walls were shown at all.
    met: hashes of the words of its prompts.
    compacted: whether a compaction was the last reset.
    since: instant of its last start, "" for none.
    """

    def __init__(self) -> None:
        self.shown: set[str] = set()
        self.off = self.forgot = self.compacted = False
        self.prompts = 0
        self.brief = self.since = ""
        self.walls: set[str] = set()
        self.met: set[str] = set()
        self.pushes = 0


def read_session(path: str) -> SessionState:
    """Read a session's state from its receipts; without any, a new one."""
    state = SessionState()
    try:
        data = files.read(path, LIMIT)
    except OSError:
        return state
    for line in data.split(b"\n"):
        # most prompts got nothing, and need no parser
        if b'"event":"prompt"' in line and b'"chosen":[[' not in line:
            state.prompts += 1
            hashes = line.partition(b'"met":"')[2].partition(b'"')[0]
            state.met |= _split_hashes(hashes.decode("ascii", "replace"))
            continue
        if b'"event":"agent"' in line:  # what a subagent was given is no news to its session
            continue
        try:
            row = fastjson.parse(line) if line else {}
        except ValueError:
            continue
        if isinstance(row, dict):
            _apply_receipt(state, row)
    return state


def _split_hashes(hashes: str) -> set[str]:
    return {hashes[at : at + 4] for at in range(0, len(hashes), 4)}


def _apply_receipt(state: SessionState, row: dict[str, Any]) -> None:
    event = row.get("event")
    if event == "start":
        _apply_start(state, row)
    elif event in ("prompt", "wall"):
        _apply_shown(state, row)
        state.prompts += event == "prompt"
        if event == "wall":
            state.pushes += 1
            return  # a record that carries a remedy may still come whole
    elif event in ("off", "on"):
        state.off = event == "off"
    ids = [
        key
        for item in list_chosen(row)
        if isinstance(item[0], str) and item[2:] != [TITLE_REASON]
        for key in _list_turns(row, item[0]) or [item[0]]
    ]
    if event == "lost":
        state.shown.difference_update(ids)
        state.brief = "" if row.get("tag") == state.brief else state.brief
    else:
        state.shown.update(ids)


def add_turn(id: str, mark: str) -> str:
    """Return a conversation's id with the hash of a turn's heading."""
    return "%s#%s" % (id, mark)


def _list_turns(row: dict[str, Any], id: str) -> list[str]:
    turns = row.get("turns")
    marks = turns.get(id) if isinstance(turns, dict) else ()
    return [add_turn(id, mark) for mark in marks] if isinstance(marks, list) else []


def hash_text(text: str) -> str:
    return files.sha256(text.encode("utf-8", "replace"))[:8]


def _apply_start(state: SessionState, row: dict[str, Any]) -> None:
    source = row.get("source")
    compacted = source == "compact"
    state.since = str(row.get("t") or "")
    if source in RESETS:
        state.shown.clear()
        state.walls.clear()
        state.prompts = 0
        state.compacted = compacted
    state.forgot = state.forgot or compacted
    # after a compaction the brief tells of this session; a resume compares with the brief before
    if not compacted:
        state.brief = str(row.get("brief") or state.brief)


def _apply_shown(state: SessionState, row: dict[str, Any]) -> None:
    sigs, met = row.get("sigs"), row.get("met")
    if isinstance(sigs, list):
        state.walls.update(filter(None, map(str, sigs)))
    if isinstance(met, str):
        state.met |= _split_hashes(met)


def pauses_path(receipts_path: str) -> str:
    """Return the path of the file of a session's pauses (capture/leftout.py)."""
    return receipts_path.removesuffix("jsonl") + "left"


def get_receipt_tag(row: dict[str, Any]) -> str:
    """Return the tag of a receipt's block, "" without a block."""
    key = {"start": "brief", "prompt": "tag", "wall": "tag"}.get(str(row.get("event")), "")
    tag = row.get(key)
    return tag if isinstance(tag, str) and row.get("chars") else ""


def parse_block_tag(block: str) -> str:
    """Return the tag in a block's first line, or ""."""
    return block[block.find('tag="') + 5 :][:8] if block else ""


def list_chosen(row: dict[str, Any]) -> list[list[Any]]:
    """Return a receipt's well-formed rows [id, score, reason]."""
    rows = row.get("chosen")
    if not isinstance(rows, list):
        return []
    return [item for item in rows if isinstance(item, list) and item]


def build_row(event: str, now: float, block: str, shown: list[list[Any]]) -> dict[str, Any]:
    """Return the fields that the receipt of every block has.

    shown: rows [id, score, reason].
    """
    from memory.core import tokeniser

    return {
        "v": 1,
        "t": clock.iso(now),
        "event": event,
        "chosen": shown,
        "chars": tokeniser.count_utf16(block),
        "tokens": tokeniser.count_tokens(block),
        "ms": clock.elapsed_ms(now),
    }


def write(path: str, row: dict[str, Any]) -> None:
    files.append(path, (fastjson.dump(row) + "\n").encode("ascii"))


def write_or_log(env: dict[str, str], path: str, row: dict[str, Any]) -> None:
    """Append a receipt, or log why that failed: the answer stands without it."""
    try:
        write(path, row)
    except OSError as error:
        boundary.log_failure(env, "receipt", error)


def read(path: str) -> list[dict[str, Any]]:
    """Return every readable receipt of a file, oldest first."""
    return fastjson.parse_rows(files.read(path, LIMIT))
