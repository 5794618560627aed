"""Tell at a failed tool call the remedy of an earlier session, once.

A wall is found by its keys (wallkeys.py).  A hook says only what still stands in the record's file.
"""

from __future__ import annotations

from memory.core import boundary, config, files, layout
from memory.hook import receipts, wallkeys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator

    from memory.core.layout import Place

    Event = dict[str, Any]

MOST_PUSHES, MOST_RULES = 5, 3  # of a session, of one report of a linter
# programs that show what there is
_LOOKING = frozenset(
    "awk bat cat curl diff echo fd find for gh git grep head jq less ls man printf rg sed sort "
    "tail tree uniq wc which".split()
)


def on_failure(event: Event, env: dict[str, str], now: float) -> tuple[Event | None, bool]:
    """Answer a failed tool call with an earlier session's remedy, once."""
    return _answer_with_remedy(event, env, now, "PostToolUseFailure", _parse_call(event))


def on_masked(event: Event, env: dict[str, str], now: float) -> tuple[Event | None, bool]:
    """Answer a piped command whose output shows a known failure.

    A pipe hides a command's status.  Commands that only look around are passed over.
    """
    given, got = event.get("tool_input"), event.get("tool_response")
    command = given.get("command") if isinstance(given, dict) else None
    if not isinstance(command, str) or "|" not in command or not isinstance(got, dict):
        return None, False
    programs = (call.partition(" ")[0] for call in wallkeys.list_call_subjects("Bash", command))
    if _LOOKING.issuperset(programs):
        return None, False
    output = "\n".join(str(got.get(name) or "") for name in ("stdout", "stderr"))
    failed = {**event, "error": output, "is_interrupt": got.get("interrupted")}
    return _answer_with_remedy(event, env, now, "PostToolUse", _parse_call(failed))


def _answer_with_remedy(
    event: Event, env: dict[str, str], now: float, name: str, call: tuple[str, str, str] | None
) -> tuple[Event | None, bool]:
    """Answer a failed call with an earlier remedy, or return (None, False).

    name: of the hook's event.
    """
    session = layout.valid_id(event.get("session_id"))
    place = layout.locate(env, boundary.project_dir(event, env)) if call and session else None
    if place is None or call is None or not files.exists(wallkeys.walls_path(place)):
        return None, False
    settings = config.load_for_place(place, env)
    state = receipts.read_session(place.receipts(session))
    matches = [] if _is_silent(settings, state) else find_walls(place, session, state.walls, *call)
    if not matches:
        return None, False
    from memory.hook import fence

    block = fence.format_block(
        "wall",
        fence.format_walls(place, matches, _find_path_from_root(place, event.get("cwd"), call)),
    )
    row = {
        **receipts.build_row("wall", now, block, [match.receipt_row() for match in matches]),
        "tool": call[0][:64],
        "tag": receipts.parse_block_tag(block),
        "sigs": [mark for match in matches for mark in match.marks][:16],
    }
    receipts.write_or_log(env, place.receipts(session), row)
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": block}}, False


def _is_silent(settings: config.Config, state: receipts.SessionState) -> bool:
    """Tell whether remedies are off, or the session has had MOST_PUSHES."""
    if not settings["load.enabled"] or not settings["load.walls"]:
        return True
    return state.off or state.pushes >= MOST_PUSHES


def _parse_call(event: Event) -> tuple[str, str, str] | None:
    """Return (tool, input, error) of a failed call, or None."""
    tool, error, given = event.get("tool_name"), event.get("error"), event.get("tool_input")
    if not isinstance(tool, str) or not isinstance(error, str) or event.get("is_interrupt"):
        return None
    if tool not in wallkeys.TOOLS and not tool.startswith("mcp__"):
        return None
    start = error[:600].lower()
    if any(mark in start for mark in wallkeys.CLIENT_REFUSALS):
        return None
    values = [given.get(name) for name in wallkeys.INPUT_FIELDS] if isinstance(given, dict) else []
    value = next((value for value in values if isinstance(value, str)), "")
    if len(error) > 1 << 18:
        error = error[: 1 << 18] + "\n" + error[-(1 << 16) :]
    return tool, value[: wallkeys.MOST_GIVEN], error


class WallMatch:
    """A known failure (wall) that a failed call met again.

    occurrence: the one to show.  marks: short hashes of the keys that count as shown with it.
    """

    def __init__(self, wall: dict[str, Any], occurrence: dict[str, Any], marks: list[str]):
        self.wall, self.occurrence, self.marks = wall, occurrence, marks
        self.sessions = max(1, int(wall.get("sessions") or 1))

    def receipt_row(self) -> list[Any]:
        return [self.occurrence["id"], 1.0, "wall: met in %d" % self.sessions]


def find_walls(
    place: Place, session: str, done: Iterable[str], tool: str, given: str, error: str
) -> list[WallMatch]:
    """Return the known failures (walls) that a failed call meets again.

    One wall, or several of a linter's rules.
    session: its own walls are left out, "" leaves out none.
    done: 8 hex of the keys shown to the session already.
    """
    try:
        fd = files.open_read(wallkeys.walls_path(place), follow=False)
    except OSError:
        return []
    try:
        return _match_keys(fd, place, session, done, list(_iterate_keys(place, tool, given, error)))
    # a damaged file tells nothing
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    finally:
        files.posix.close(fd)


def _match_keys(
    fd: int, place: Place, session: str, done: Iterable[str], wanted: list[str]
) -> list[WallMatch]:
    """Return the first wall with a wanted key; of linters' rules, several walls."""
    matches: list[WallMatch] = []
    known = set(done)
    table = wallkeys.read_key_table(fd)
    for key in wanted:
        hashed = wallkeys.hash_key(key)
        if hashed[:8] in known or (matches and key[:2] != wallkeys.RULE):
            continue
        wall = wallkeys.find_wall(fd, table, hashed.encode("ascii"))
        match = _match_wall(place, session, wall, key, wanted) if wall else None
        if match is None or known.intersection(match.marks):
            continue
        known.update(match.marks)
        matches.append(match)
        if key[:2] != wallkeys.RULE or len(matches) == MOST_RULES:
            break
    return matches


def _match_wall(
    place: Place, session: str, wall: dict[str, Any], key: str, wanted: list[str]
) -> WallMatch | None:
    """Return a wall with its first valid occurrence, or None without one."""
    occurrence = _find_occurrence_elsewhere(place, session, wall)
    if occurrence is None:
        return None
    return WallMatch(wall, occurrence, _list_key_marks(key, wall, wanted))


def _find_occurrence_elsewhere(place: Place, session: str, wall: dict[str, Any]) -> Any:
    """Return a wall's first valid occurrence in another session, or None."""
    from memory.hook import fence

    for row in wall.get("met") or ():
        if session and str(row.get("session")).endswith(session):
            continue
        occurrence = fence.refresh_occurrence(place, row)
        if occurrence:
            return occurrence if fence.keep_existing_paths(place, wall) else None
    return None


def _list_key_marks(key: str, wall: dict[str, Any], wanted: list[str]) -> list[str]:
    """Return short hashes of the keys that count as shown with a wall."""
    if key[:2] == "a|":  # a missing path
        kin = [other for other in wanted if other[:2] == "a|"]
    else:
        kin = [key, wallkeys.RULE + str(wall.get("rule") or key)]
    return [wallkeys.hash_key(other)[:8] for other in kin]


def _iterate_keys(place: Place, tool: str, given: str, error: str) -> Iterator[str]:
    """Yield a failure's keys, and keys of the missing folders above its path."""
    roots = (place.root, place.project)
    for key in wallkeys.build_failure_keys(tool, given, error, roots):
        if not key.startswith("a|"):
            yield key
            continue
        for path in [key[2:], *wallkeys.list_parent_folders(key[2:])]:
            if path[:1] != "/" and files.exists(place.root + "/" + path):
                break
            yield "a|" + path


def _find_path_from_root(place: Place, cwd: object, call: tuple[str, str, str]) -> str:
    """Return the path reported missing if it exists from the project's root, else ""."""
    if not isinstance(cwd, str) or cwd in ("", place.root):
        return ""
    tool, given, error = call
    paths = (
        wallkeys.find_missing_path(tool, given, line) for line in wallkeys.split_error_lines(error)
    )
    path = next(filter(None, paths), "")
    return path if path[:1] not in "/~." and files.exists(place.root + "/" + path) else ""
