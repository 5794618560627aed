"""The page of a conversation: turns as markdown, and the markdown taken apart into turns again.

Format, version 1.  Each turn is a section of level 2, and nothing else is; headings inside are set in bold.

    ## 14:03 why does resume fail on a fresh clone?     UTC; `## 2026-01-24 09:10 …` where the day differs from the turn before
    > the request whole, quoted                         only where the heading does not hold it all

    > (while working) also check windows                what the user said in between; the mark says how: while working, answer,
                                                        refused Edit `a.go`, approved the plan (its text follows, quoted too)
    What the model said, as it is.

    - ✓ `go test ./...` (×3)                            a run: ✓ passed, ✗ failed, ⊘ refused, · anything else
    - ✗ `mise run lint` → exit 1: a.go:12:3: no ctx     outcome, and the line that tells why
    - ✗ Read `.golangci.yml` → failed: no such file     a call of another tool
    - created `a_test.go`, edited `a.go`
    - merged `fix-resume` (#6)                          or seen merged in a log
    - commit 1a2b3c4d5e: Fix resume on fresh clones
    - pull request https://github.com/o/r/pull/7
    - subagent (review of the diff): nothing found


`## 14:50 (summary by the client)` holds the client's summary of what it forgot at a compaction, and `## 14:50 (goes on) …` the
rest of a turn that a compaction cut.  `## 14:03 (taken back) …` is a turn that a rewind took back; what the model said in it is
marked too, and to who takes the page apart it says nothing.  The outcome of a turn is the last that the model said in it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.capture import gist, turns, upshot
from memory.capture.turns import COMMIT, CREATED, EDITED, FILE, GOES_ON, LINK, REPORT, RUN, SAID, SUMMARY, USER, Piece, Turn
from memory.core import tokeniser
from memory.core.plaintext import at_word, one_line, sentences
from memory.session import deeds, shell
from memory.session.latepattern import Late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HEADING, COMMAND, TELLING, REPORTED, ASKED = 72, 180, 200, 240, 4000  # characters
CODE = 14  # lines of a block of code
_SUBJECT, _MOST, _ADDS = 0.2, 7.9, 3  # added to a commit that bears the branch's name; other lines at most; words that tell more
_NAMING, _NAMED = 30, 3  # turns at either end of which one may name the work; words beside code that name a change
_DONE = "done as asked: "  # before a request of which no outcome tells
_BY_CLIENT = "(summary by the client)"
_GOES_ON, _WITHDRAWN = "(goes on) ", "(taken back) "
_BEFORE = {GOES_ON: _GOES_ON, turns.WITHDRAWN: _WITHDRAWN}  # a heading's request
_RUN = re.compile(r"- ([✓✗⊘·]) (?:(\w[\w.:-]*) )?(`{1,20})(?!`) ?(.{0,500}?) ?\3(?!`)(?: → (.{0,500}?))?(?: \(×(\d{1,9})\))?$")
_TOUCHED = tuple("- %s `" % word for word in (CREATED, EDITED, turns.REMOVED, turns.MERGED))
_FILES = re.compile(r"(created|edited|removed|merged) (`{1,20})(?!`) ?(.{0,240}?) ?\2(?!`)(?: \(#(\d{1,9})\))?(?:, |$)")
_COMMIT = re.compile(r"- commit ?([0-9a-f]{7,64})?: (.*)$")
_LINK = re.compile(r"- pull request (\S+)$")
_REPORT = re.compile(r"- subagent(?: \((.*?)\))?: (.*)$")
_USER = re.compile(r"> \((while working|answer|approved the plan|refused(?: [^)\n]*)?)\) ?(.*)$")
_COPIED = re.compile(r"\W*\d+\. \W*(?:files|all user messages|key technical|user messages)", re.I)
# heads what the client's summary says went wrong
_TRAPS = Late(r"\W{0,20}(?:\d{1,4}\.\s{0,8})?\W{0,20}(?:errors?|problems?)\b", re.I)
_GAVE_UP = Late(
    r"\buser(?:'s)?(?: final)?(?: question)? (?:feedback|suggest\w*|reject\w*|correct(?:ed|ion)|pointed out)\b|"
    r"\binitially \w+(?:ed|t|d|id|ade)\b|\b(?:later|then) removed\b|\brolled back\b|\bdid(?:n't| not) work\b|"
    r"\b(?:initial|first) (?:fix |\w+ )?(?:attempt|approach|implementation|solution|version)\b|"
    r"\btemporarily (?:removed|disabled|dropped)\b", re.I)
_ONLY_SAID = Late(r"\W*user(?:'s)?(?: \w+){0,2} (?:feedback|suggest\w*)\b", re.I)  # in reply to what, no line tells
HEAD = re.compile(r"## (?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d) ?(.*)$")


def render(turns: Iterable[Turn], day: str = "") -> str:
    """Write turns as markdown.

    day: that of the turn before the first, such as `2026-01-24`; "" for none, and the first heading then names no day.
    """
    parts = []
    for turn in turns:
        parts.append(_section(turn, bool(day) and turn.at[:10] != day))
        day = turn.at[:10] or day
    return "\n".join(parts)


def _section(turn: Turn, dated: bool) -> str:
    when = ((turn.at[:10] + " ") if dated else "") + (turn.at[11:16] or "00:00")
    asked = one_line(turn.request)
    head = at_word(asked, HEADING)
    if turn.asked == SUMMARY:
        return "\n\n".join(["## %s %s" % (when, _BY_CLIENT), *(_summed(text) for text in turn.said())]) + "\n"
    mark = _BEFORE.get(turn.asked, "")
    blocks = ["## %s %s%s" % (when, mark, head)]
    blocks[0] = blocks[0].rstrip()
    if turn.asked != GOES_ON and (head != asked or "\n" in turn.request.strip()):
        blocks.append(_quoted(turn.request))
    listed: list[str] = []
    for piece in turn.pieces:
        if piece.kind == SAID and gist.is_passing(piece.text):
            continue
        line = _line(piece)
        if not line:
            if listed:
                blocks.append("\n".join(listed))
                listed = []
            blocks.append((mark if turn.asked == turns.WITHDRAWN and piece.kind == SAID else "") + _block(piece))
        elif piece.kind in (FILE, turns.MERGED) and listed and listed[-1].startswith(_TOUCHED):
            listed[-1] += ", " + line[2:]
        else:
            listed.append(line)
    if listed:
        blocks.append("\n".join(listed))
    return "\n\n".join(blocks) + "\n"


def _summed(text: str) -> str:
    """Return what the client's summary adds to the turns above it: without its copies of requests, files and code."""
    lines = [line for line, code in tokeniser.coded(text.split("\n")) if not code]
    parts = re.split(r"(?m)^(?=\s{0,3}(?:#+ |\*\*)?\d+\. )", "\n".join(lines))
    return lowered(re.sub(r"\n{3,}", "\n\n", "".join(part for part in parts if not _COPIED.match(part)))) or "(nothing else)"


def _block(piece: Piece) -> str:
    if piece.kind == USER:
        return _quoted(("(%s) %s" % (piece.name, lowered(piece.text))).rstrip())
    return lowered(piece.text)


def _line(piece: Piece) -> str:
    """Return a piece as a line of a list, "" for one that is prose."""
    if piece.kind == RUN:
        return run_line(piece)
    if piece.kind == FILE:
        return "- %s %s" % (piece.name, code(piece.text))
    if piece.kind == turns.MERGED:
        return "- merged %s%s" % (code(piece.text), " (#%s)" % piece.name if piece.name else "")
    if piece.kind == COMMIT:
        return ("- commit " + piece.name).rstrip() + ": " + one_line(piece.text, 200)
    if piece.kind == REPORT:
        return "- subagent%s: %s" % (" (%s)" % one_line(piece.name, 80).replace(")", "]") if piece.name else "",
                                     at_word(one_line(piece.text), REPORTED))
    return "- pull request " + piece.text if piece.kind == LINK else ""


def run_line(piece: Piece) -> str:
    """Return a run as a line: its mark, what ran, how it ended where it did not pass, and why."""
    mark = "✗" if piece.failed else {shell.OK: "✓", shell.DECLINED: "⊘"}.get(piece.outcome, "·")
    what = (piece.name + " " if piece.name else "") + code(at_word(one_line(piece.text), COMMAND))
    told = "" if piece.outcome == shell.OK else " → " + one_line(piece.outcome + (": " + piece.telling if piece.telling else ""),
                                                                  TELLING)
    return "- %s %s%s%s" % (mark, what, told, " (×%d)" % piece.times if piece.times > 1 else "")


def code(text: str) -> str:
    """Quote a text as one line of code, whatever signs it holds."""
    text = one_line(text)
    ticks = "`"
    while ticks in text:
        ticks += "`"
    return ticks + (" %s " % text if "`" in text else text) + ticks


def _quoted(text: str) -> str:
    return "\n".join(("> " + line).rstrip() for line in at_word(text.strip(), ASKED).split("\n"))


def lowered(text: str) -> str:
    """Return markdown without headings: they are set in bold, an open block of code is closed, a long one clipped."""
    out: list[str] = []
    fence, length = "", 0
    for line, inside in tokeniser.coded(text.strip().split("\n")):
        level, title = (0, "") if inside else tokeniser.heading(line)
        bare = line.strip()
        if not inside:
            fence = ""
        elif not fence:
            fence = bare[:len(bare) - len(bare.lstrip(bare[0]))]
        elif bare.startswith(fence) and not bare.strip(fence[0]):
            fence = ""
        length = length + 1 if inside else 0
        if length > CODE and fence:
            out += ["…"] if length == CODE + 1 else []
            continue
        out.append("**%s**" % title.replace("**", "") if level and title else "" if level else line)
    return "\n".join([*out, fence] if fence else out)


# --- a page taken apart


def parse(body: str, day: str = "") -> tuple[Turn, ...]:
    """Take the page of a conversation apart, edited by hand or not; text above the first turn belongs to none.

    body: markdown.  day: the day of the first turn, such as `2026-01-24`: that of the record's `created`.
    """
    found: list[Turn] = []
    for head, lines, marked in sections(body):
        day = head[1] or day
        asked, request = "", head[3]
        if request == _BY_CLIENT:
            asked, request = SUMMARY, ""
        elif request.startswith(_GOES_ON.rstrip()):
            asked, request = GOES_ON, request[len(_GOES_ON):]
        withdrawn = request.startswith(_WITHDRAWN.rstrip())
        turn = Turn("%sT%s:00.000Z" % (day, head[2]) if day else head[2], *(("", SUMMARY) if withdrawn else (request, asked)))
        if not withdrawn:
            _fill(turn, lines, marked)
        found.append(turn)
    return tuple(found)


def sections(body: str) -> Iterator[tuple[re.Match[str], list[str], list[bool]]]:
    """Yield (the match of its heading, its lines, whether each of them is code) of each turn."""
    head: re.Match[str] | None = None
    lines: list[str] = []
    marked: list[bool] = []
    for line, inside in tokeniser.coded(body.split("\n")):
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


def _fill(turn: Turn, lines: list[str], marked: list[bool]) -> None:
    """Sort the lines of a section into the pieces of its turn.  marked: which lines are code."""
    prose: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        first = line[:1]  # looked at first: most lines are prose, and a question by handle reads all of a month's
        made = _pieces(line) if first == "-" and not marked[number] else []
        said = _USER.match(line) if first == ">" and not marked[number] else None
        if said or (first == ">" and not turn.pieces and not turn.asked and not "".join(prose).strip()):
            last = number
            while last + 1 < len(lines) and lines[last + 1].startswith(">"):
                last += 1
            quoted = [one[2:] for one in lines[number:last + 1]]
            number = last
            if said:
                made = [Piece(USER, "\n".join([said[2], *quoted[1:]]).strip(), said[1])]
            else:
                turn.request = "\n".join(quoted)
                prose = []
        elif not made:
            prose.append(line)
        if made:
            _say(turn, prose)
            turn.pieces += made
        number += 1
    _say(turn, prose)


def _say(turn: Turn, prose: list[str]) -> None:
    text = "\n".join(prose).strip()
    prose.clear()
    if text:
        turn.pieces.append(Piece(SAID, text))


def _pieces(line: str) -> list[Piece]:
    """Return what a line of a list says of what was done, empty for any other line."""
    if not line.startswith("- "):
        return []
    run = _RUN.match(line)
    if run:
        mark, tool, _, command, result, count = run.groups()
        return [Piece(RUN, command, tool or "", result or (shell.OK if mark == "✓" else ""), int(count or 1))]
    if line.startswith(_TOUCHED):
        return [Piece(how, what, number) if how == turns.MERGED else Piece(FILE, what, how)
                for how, _, what, number in _FILES.findall(line[2:])]
    for pattern, kind in ((_COMMIT, COMMIT), (_REPORT, REPORT)):
        match = pattern.match(line)
        if match:
            return [Piece(kind, match[2], match[1] or "")]
    link = _LINK.match(line)
    return [Piece(LINK, link[1])] if link else []


def gave_up(summary: Turn) -> list[str]:
    """Return what the client's summary says went wrong and was given up, each with what it is about."""
    found: dict[str, list[str]] = {}
    head, trap = "", False
    for line in "\n".join(summary.said()).split("\n"):
        item = deeds.LISTED.match(line)
        text = one_line(line[item.end():] if item else line).replace("**", "")
        if line[:1].isdigit() or line[:1] in "*#":
            head, trap = "", bool(_TRAPS.match(line))
        elif trap and text:
            head = text if not item or text.endswith(":") or line.find(item[0].strip()) < 4 else head
            if _GAVE_UP.search(text):
                found.setdefault(head.rstrip(": "), []).extend([text] * (text != head))
    lines = (": ".join(filter(None, (head, "; ".join(texts)))) for head, texts in found.items())
    return [line for line in lines if len(line) <= 2 * TELLING and not _ONLY_SAID.match(line)]


# --- what work is called


class Names(NamedTuple):
    """What work may be called.  titles: the best first.  asked: one or none that finds it under any title, what was asked for."""

    titles: list[str]
    asked: list[str]


def names(held: Sequence[Turn], by_client: str = "", commits: Sequence[str] = ()) -> Names:
    """Return names for what was done: of the plan, the client, an order, a commit, what came out, a request.

    by_client: the title that the client gave the session.  commits: their subjects, oldest first.
    """
    held = [*held[:_NAMING], *held[_NAMING:][-_NAMING:]]
    plans = [gist.clause(gist.heading_of(p.text)) for turn in held for p in turn.pieces if p.name == turns.APPROVED]
    asked, ended = _asked(held), _ended(held)
    made = [gist.clause(one_line(subject)) for subject in reversed(commits)]
    found = [*reversed(plans), gist.clause(one_line(by_client)),
             *(one for one in asked if upshot.is_order(one) and _is_name(one)),
             *(one for one in made if not (deeds.CHORE.match(one) or deeds.MERGE.match(one))), *_came(held),
             *(one for one in asked if gist.telling(one) > 1.5), *made,
             *(one for one in ended if gist.telling(one) > 2), *asked, *ended[:2]]
    return Names([one for one in dict.fromkeys(found) if len(one) >= 4], [one for one in asked[:1] if gist.telling(one) > 1.5])


def _asked(held: Sequence[Turn]) -> list[str]:
    """Return what was asked for, what says most first; what files were changed for, and what was asked early, counts for more."""
    typed = [turn for turn in held if turn.asked in ("", turns.SLASH) and not gist.TRIVIAL.match(turn.request)]
    topics = [(gist.topic(turn.request), 0.25 * at - min(4, sum(p.kind == turns.FILE for p in turn.pieces)))
              for at, turn in enumerate(typed)]
    topics.sort(key=lambda pair: pair[1] + 1.5 * bool(deeds.LOOSE.search(pair[0])) - gist.telling(pair[0]))
    return [one for one, _ in topics]


def _came(held: Sequence[Turn]) -> list[str]:
    """Return what came out of turns as names: a change that a line tells in words, and more than a detail of one."""
    lines = [one.line for one in upshot.of_turns(held)[:3] if not one.line.startswith((deeds.IMPLEMENTED, deeds.TESTED))]
    faults = [line for line in lines if line.startswith(upshot.FIXED) and len(line) <= gist.TITLE]
    told = [line for line in lines if deeds.REPORTS.match(line) or _is_brief(line)]
    names = [gist.clause(line[:1].lower() + line[1:]) for line in told if not (
        line.startswith(upshot.FIXED) or deeds.PIECE.match(line) or deeds.DETAIL.search(line) or deeds.MINOR.search(line))]
    return [*(name for name in names if deeds.in_words(name) >= _NAMED and _is_name(name)), *faults]


def _is_brief(line: str) -> bool:
    """Tell whether a line tells an effect in the room of a name."""
    return len(line) <= gist.TITLE and bool(deeds.NOW.search(line)) and not (deeds.is_poor(line) or deeds.inner(line))


def _is_name(line: str) -> bool:
    """Tell whether a line stands as a name: whole, spoken to nobody, and more than a detail."""
    return not (deeds.MINOR.search(line) or deeds.LOOSE.search(line) or deeds.SPOKEN.search(line))


def _ended(held: Sequence[Turn]) -> list[str]:
    """Return the openings of what turns came to, what says most first."""
    ended = [gist.clause(gist.plain(gist.outcome(turn))) for turn in reversed(held)
             if turn.asked != turns.SUMMARY and gist.outcome(turn)]
    return sorted(ended, key=lambda line: -gist.telling(line))


def about(found: Iterable[upshot.Upshot], branch: str) -> list[upshot.Upshot]:
    """Return upshots, those weighing more that share words with the branch's name, and those less that add few to it."""
    own, words = upshot.words_of(re.sub(r"[-_./]", " ", branch)), named_by(branch)
    kept = []
    for one in found:
        shared = len(words & upshot.words_of(deeds.without_inner(deeds.IN_CODE.sub(" ", one.line))))
        adds = not own or one.told or len(upshot.words_of(one.line) - own) >= _ADDS
        bonus = 0.0 if not shared else _SUBJECT if deeds.COMMITTED.search(one.line) else 1.5 if shared == 1 else 2.5
        most = max(one.weight, _MOST if not deeds.COMMITTED.search(one.line) else one.weight + bonus)
        kept.append(one._replace(weight=min(one.weight + bonus, most) if adds else one.weight - 1.0))
    return kept


def named_by(branch: str) -> set[str]:
    """Return the words of a branch's name that say what its work is about."""
    words = upshot.words_of(re.sub(r"[-_./]", " ", deeds.TICKET.sub(" ", branch.rpartition("/")[2]))) - deeds.COMMON
    return {word for word in words if not deeds.ORDER.fullmatch(word)}


def each(held: Sequence[Turn]) -> list[upshot.Upshot]:
    """Return what each turn since the last commit came to that changed files, those of most files first.

    It is the line that tells most, else what was asked for, where that stands by itself.
    """
    since = max((at + 1 for at, turn in enumerate(held) if any(piece.kind == COMMIT for piece in turn.pieces)), default=0)
    found = []
    for turn in held[since:]:
        files = {piece.text for piece in turn.pieces if piece.kind == FILE}
        topic = gist.topic(turn.request, upshot.LINE)
        whole = upshot.is_order(topic) and not (deeds.LEANING.search(topic) or deeds.LOOSE.search(topic))
        told = [one.line for one in upshot.of_turns([turn])[:1]] or [_DONE + topic] * whole
        found += [upshot.Upshot(float(len(files)), line, turn.at) for line in told if files and not deeds.SIDE.search(line)]
    return sorted(found, key=lambda one: -one.weight)


def telling(line: str, most: int) -> str:
    """Return a statement on one line, at most `most` characters, without the sentences that say nothing."""
    pairs = ((one, upshot.bare(deeds.LEAD.sub("", one))) for one in sentences(deeds.LEAD.sub("", line)))
    kept = [one for one, said in pairs if said and (upshot.says(said) or one.endswith(":")) and not (
        said.endswith(("?", "？")) or deeds.LEADS.match(said))]
    return at_word(deeds.LEAD.sub("", upshot.bare(" ".join(kept))), most)


def cut_back(line: str) -> str:
    """Return a line that was cut without the sentence that is not whole; "" where no other is in it."""
    return " ".join(one for one in sentences(line) if not one.endswith("…")) if line.endswith("…") else line
