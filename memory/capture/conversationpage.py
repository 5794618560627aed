"""The page of a conversation: turns as markdown, and markdown parsed into turns.

Format, version 1.  Each turn is a section of level 2, and nothing else is; headings inside are set
in bold.

    ## 14:03 why does resume fail on a fresh clone?     UTC; `## 2026-01-24 09:10 …` on a new day
    > the request whole, quoted                         only where the heading does not hold it all

    > (while working) also check windows                the user's words in between; or answer,
                                                        refused Edit `a.go`, approved the plan
                                                        (its text follows, quoted too)
    The model's words, as they are.

    - ✓ `go test ./...` (×3)                            ✓ passed, ✗ failed, ⊘ refused, · all else
    - ✗ `mise run lint` → exit 1: a.go:12:3: no ctx     outcome, and the line that tells why
    - ✗ Read `.golangci.yml` → failed: no such file     a call of another tool
    - created `a_test.go`, edited `a.go`
    - changed for `no ctx (noctx)`: `run(ctx)`          what an edit put where a finding was
    - merged `fix-resume` (#6)                          or seen merged in a log
    - commit 1a2b3c4d5e: Fix resume on fresh clones
    - pull request https://github.com/o/r/pull/7
    - subagent (review of the diff): nothing found


`## 14:50 (summary by the client)` holds the client's summary at a compaction, and `## 14:50 (goes
on) …` the rest of a turn that a compaction cut.  `## 14:03 (taken back) …` is a turn that a rewind
withdrew; the model's words in it are marked too, and a parser skips them.  The outcome of a turn is
the model's last statement in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from memory.capture import turns
from memory.capture.turns import (
    COMMIT,
    CREATED,
    EDITED,
    FILE,
    GOES_ON,
    LINK,
    REPORT,
    RUN,
    SAID,
    SUMMARY,
    USER,
    Piece,
    Turn,
)
from memory.core import tokeniser
from memory.core.plaintext import clip_at_word, one_line, strip_bold
from memory.session import entries, shell

HEADING, COMMAND, TELLING, REPORTED, ASKED = 72, 180, 200, 240, 4000  # characters
LAST = 1500  # characters from the end of a request that is cut
LEADS = 120  # characters of a line that only leads on to a call
TEAMMATE = "(teammate "  # before the request of another agent of the team
CODE = 14  # lines of a block of code
_BY_CLIENT = "(summary by the client)"
_GOES_ON, _WITHDRAWN = "(goes on) ", "(taken back) "
_BEFORE = {GOES_ON: _GOES_ON, turns.WITHDRAWN: _WITHDRAWN}  # the request in a heading
_RUN = re.compile(
    r"- ([✓✗⊘·]) (?:(\w[\w.:-]*) )?(`{1,20})(?!`) ?(.{0,500}?) ?\3(?!`)(?: → (.{0,500}?))?"
    r"(?: \(×(\d{1,9})\))?$"
)
_TOUCHED = tuple("- %s `" % word for word in (CREATED, EDITED, turns.REMOVED, turns.MERGED))
_FILES = re.compile(
    r"(created|edited|removed|merged) (`{1,20})(?!`) ?(.{0,240}?) ?\2(?!`)(?: \(#"
    r"(\d{1,9})\))?(?:, |$)"
)
_MET = re.compile(
    r"- changed for (`{1,20})(?!`) ?(.{1,300}?) ?\1(?!`): (`{1,20})(?!`) ?(.{1,300}?) ?\3$"
)
_COMMIT = re.compile(r"- commit ?([0-9a-f]{7,64})?: (.*)$")
_LINK = re.compile(r"- pull request (\S+)$")
_REPORT = re.compile(r"- subagent(?: \((.{0,200}?)\))?: (.*)$")
_USER = re.compile(r"> \((while working|answer|approved the plan|refused(?: [^)\n]*)?)\) ?(.*)$")
_BY_USER = re.compile(r"(?m)^> (?=\((?:while working|answer|approved the plan|refused))")
_COPIED = re.compile(r"\W*\d+\. \W*(?:files|all user messages|key technical|user messages)", re.I)
HEAD = re.compile(r"## (?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d) ?(.*)$")


def render(turns: Iterable[Turn], day: str = "") -> str:
    """Return turns as markdown.

    day: of the turn before, such as `2026-01-24`; with "" the first heading names no day.
    """
    parts = []
    for turn in turns:
        parts.append(_render_turn(turn, bool(day) and turn.at[:10] != day))
        day = turn.at[:10] or day
    return "\n".join(parts)


def _render_turn(turn: Turn, dated: bool) -> str:
    when = ((turn.at[:10] + " ") if dated else "") + (turn.time or "00:00")
    if turn.asked == SUMMARY:
        blocks = ["## %s %s" % (when, _BY_CLIENT), *map(_clean_summary, turn.statements())]
        return "\n\n".join(blocks) + "\n"
    request = one_line(turn.request)
    head = clip_at_word(request, HEADING)
    mark = _BEFORE.get(turn.asked, "")
    blocks = [("## %s %s%s" % (when, mark, head)).rstrip()]
    is_cut = head != request or "\n" in turn.request.strip()
    # a quotation below a heading counts as the request
    if turn.asked != GOES_ON and (is_cut or _is_quotation(turn.pieces[:1])):
        blocks.append(_quote(turn.request))
    blocks += _render_pieces(turn.pieces, mark if turn.asked == turns.WITHDRAWN else "")
    return "\n\n".join(blocks) + "\n"


def _is_quotation(pieces: list[Piece]) -> bool:
    """Tell whether one of some pieces is a quotation by the model."""
    return any(piece.kind == SAID and piece.text.lstrip().startswith(">") for piece in pieces)


def _render_pieces(pieces: list[Piece], mark: str) -> list[str]:
    """Return pieces in markdown, each statement behind a mark."""
    shown = [piece for at, piece in enumerate(pieces) if not _is_lead_in(pieces, at)]
    blocks: list[str] = []
    for is_prose, group in groupby(shown, lambda piece: piece.kind in (SAID, USER)):
        if is_prose:
            for piece in group:
                blocks.append((mark if piece.kind == SAID else "") + _render_prose(piece))
        else:
            blocks.append("\n".join(_format_list(group)))
    return blocks


def _format_list(pieces: Iterable[Piece]) -> list[str]:
    """Return pieces as list lines; neighbouring files share a line."""
    lines: list[str] = []
    for piece in pieces:
        line = _format_piece(piece)
        if piece.kind in (FILE, turns.MERGED) and lines and lines[-1].startswith(_TOUCHED):
            lines[-1] += ", " + line[2:]
        else:
            lines.append(line)
    return lines


def _is_lead_in(pieces: Sequence[Piece], number: int) -> bool:
    """Tell whether a piece is a short line that announces a call."""
    piece, after = pieces[number], pieces[number + 1 : number + 2]
    if piece.kind != SAID or not after or after[0].kind not in (RUN, FILE):
        return False
    bare = piece.text.strip()
    return len(bare) < LEADS and "\n" not in bare and bare.endswith((":", "："))


def _clean_summary(text: str) -> str:
    """Return the client's summary without the parts that copy the session."""
    lines = [line for line, is_code in tokeniser.mark_code(text.split("\n")) if not is_code]
    parts = re.split(r"(?m)^(?=\s{0,3}(?:#+ |\*\*)?\d+\. )", "\n".join(lines))
    kept = "".join(part for part in parts if not _COPIED.match(part))
    return replace_headings(re.sub(r"\n{3,}", "\n\n", kept)) or "(nothing else)"


def _render_prose(piece: Piece) -> str:
    if piece.kind == USER:
        return _quote(("(%s) %s" % (piece.name, replace_headings(piece.text))).rstrip())
    return _BY_USER.sub(">  ", replace_headings(piece.text))


def _format_piece(piece: Piece) -> str:
    kind, name, text = piece.kind, piece.name, piece.text
    if kind == RUN:
        return format_run(piece)
    if kind == FILE:
        return "- %s %s" % (name, format_code(text))
    if kind == turns.MERGED:
        return "- merged " + format_code(text) + (" (#%s)" % name if name else "")
    if kind == turns.MET:
        finding = format_code(clip_at_word(name, TELLING))
        return "- changed for %s: %s" % (finding, format_code(text))
    if kind == COMMIT:
        return ("- commit " + name).rstrip() + ": " + one_line(text, 200)
    if kind == REPORT:
        task = " (%s)" % one_line(name, 80).replace(")", "]") if name else ""
        return "- subagent%s: %s" % (task, clip_at_word(one_line(text), REPORTED))
    return "- pull request " + text


def format_run(piece: Piece) -> str:
    """Return a run as a list line, with a failure's cause."""
    mark = "✗" if piece.failed else {shell.OK: "✓", shell.DECLINED: "⊘"}.get(piece.outcome, "·")
    tool = piece.name + " " if piece.name else ""
    line = "- %s %s%s" % (mark, tool, format_code(clip_at_word(one_line(piece.told), COMMAND)))
    if piece.outcome != shell.OK:
        cause = ": " + piece.telling if piece.telling else ""
        line += " → " + one_line(piece.outcome + cause, TELLING)
    return line + (" (×%d)" % piece.times if piece.times > 1 else "")


def format_code(text: str) -> str:
    """Return a text as one line of markdown code."""
    text = one_line(text)
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return ticks + (" %s " % text if "`" in text else text) + ticks


def _quote(text: str) -> str:
    return "\n".join(("> " + line).rstrip() for line in _clip_quote(text.strip()).split("\n"))


def _clip_quote(text: str) -> str:
    """Return a text cut in its middle, where mostly a paste stands."""
    if len(text) <= ASKED + entries.count_dictated(text):
        return text
    end = text[-LAST:]
    space = re.search(r"\n" if "\n" in end[: LAST // 2] else r"\s", end)
    rest = end[space.end() if space else 0 :].lstrip()
    head = clip_at_word(text[:ASKED], ASKED - LAST)
    return entries.join_ends(text, head, rest, ASKED)


def replace_headings(text: str) -> str:
    """Return markdown with headings in bold and long blocks of code cut."""
    out: list[str] = []
    fence, length = "", 0
    for line, inside in tokeniser.mark_code(text.strip().split("\n")):
        fence = _find_open_fence(line.strip(), fence) if inside else ""
        length = length + 1 if inside else 0
        if length > CODE and fence:
            out += ["…"] if length == CODE + 1 else []
            continue
        out.append(line if inside else _replace_heading(line))
    return "\n".join([*out, fence] if fence else out)


def _find_open_fence(bare: str, fence: str) -> str:
    """Return the fence still open after a line of code, or ""."""
    if not fence:
        return bare[: len(bare) - len(bare.lstrip(bare[0]))]
    return "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence


def _replace_heading(line: str) -> str:
    level, title = tokeniser.parse_heading(line)
    if not level:
        return line
    return "**%s**" % strip_bold(title) if title else ""


# --- parsing


def parse(body: str, day: str = "") -> tuple[Turn, ...]:
    """Parse a conversation's page into turns.

    body: markdown, perhaps edited by hand.
    day: of the first turn, such as `2026-01-24`: that of the record's `created`.
    """
    found: list[Turn] = []
    for head, lines, marked in split_sections(body):
        day = head[1] or day
        asked, request = "", head[3]
        if request == _BY_CLIENT:
            asked, request = SUMMARY, ""
        elif request.startswith(_GOES_ON.rstrip()):
            asked, request = GOES_ON, request[len(_GOES_ON) :]
        elif request.startswith(TEAMMATE):
            asked = turns.TEAM
        at = "%sT%s:00.000Z" % (day, head[2]) if day else head[2]
        if request.startswith(_WITHDRAWN.rstrip()):
            turn = Turn(at, "", SUMMARY)
        else:
            turn = Turn(at, request, asked)
            _parse_section(turn, lines, marked)
        found.append(turn)
    return tuple(found)


def split_sections(body: str) -> Iterator[tuple[re.Match[str], list[str], list[bool]]]:
    """Yield each turn: (heading's match, lines, their flags for code)."""
    head: re.Match[str] | None = None
    lines: list[str] = []
    marked: list[bool] = []
    for line, inside in tokeniser.mark_code(body.split("\n")):
        match = None if inside or not line.startswith("## ") else HEAD.match(line)
        if match:
            if head:
                yield head, lines, marked
            head, lines, marked = match, [], []
        else:
            lines.append(line)
            marked.append(inside)
    if head:
        yield head, lines, marked


def _parse_line(line: str, is_code: bool) -> tuple[list[Piece], re.Match[str] | None]:
    """Return (pieces of a list line, match of a user's line or None)."""
    # the first character decides: most lines are prose, and `fix` reads all lines of a month
    first = line[:1]
    if first == "-" and not is_code:
        return _parse_list_line(line), None
    return [], _USER.match(line) if first == ">" and not is_code else None


def _is_at_request(turn: Turn, prose: list[str]) -> bool:
    """Tell whether of a turn only the heading has been read."""
    return not turn.pieces and not turn.asked and not "".join(prose).strip()


def _find_quote_end(lines: list[str], number: int) -> int:
    while number + 1 < len(lines) and lines[number + 1].startswith(">"):
        number += 1
    return number


def _parse_section(turn: Turn, lines: list[str], marked: list[bool]) -> None:
    """Add what a turn's lines tell: its request and pieces."""
    prose: list[str] = []
    number, has_request = 0, False
    while number < len(lines):
        line = lines[number]
        made, said = _parse_line(line, marked[number])
        asks = line[:1] == ">" and not has_request and _is_at_request(turn, prose)
        if said or asks:
            last = _find_quote_end(lines, number)
            quoted = [line[2:] for line in lines[number : last + 1]]
            number = last
            if said:
                made = [Piece(USER, "\n".join([said[2], *quoted[1:]]).strip(), said[1])]
            else:
                turn.request, has_request = "\n".join(quoted), True
                prose = []
        elif not made:
            prose.append(line)
        if made:
            _flush_prose(turn, prose)
            turn.pieces += made
        number += 1
    _flush_prose(turn, prose)


def _flush_prose(turn: Turn, prose: list[str]) -> None:
    text = "\n".join(prose).strip()
    prose.clear()
    if text:
        turn.pieces.append(Piece(SAID, text))


def _parse_run(match: re.Match[str]) -> Piece:
    mark, tool, _, command, outcome, count = match.groups("")
    outcome = outcome or (shell.OK if mark == "✓" else "")
    return Piece(RUN, command, tool, outcome, int(count or 1))


def _parse_list_line(line: str) -> list[Piece]:
    if not line.startswith("- "):
        return []
    run = _RUN.match(line)
    if run:
        return [_parse_run(run)]
    if line.startswith(_TOUCHED):
        return [
            Piece(how, what, number) if how == turns.MERGED else Piece(FILE, what, how)
            for how, _, what, number in _FILES.findall(line[2:])
        ]
    met = _MET.match(line)
    if met:
        return [Piece(turns.MET, met[4], met[2])]
    for pattern, kind in ((_COMMIT, COMMIT), (_REPORT, REPORT)):
        match = pattern.match(line)
        if match:
            return [Piece(kind, match[2], match[1] or "")]
    link = _LINK.match(line)
    return [Piece(LINK, link[1])] if link else []
