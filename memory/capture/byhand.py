"""Checkpoints that a person asks for: a note, and a handoff made from a session."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from memory.capture import checkpointoutline
from memory.capture.checkpointpage import fit_sections
from memory.capture.turns import COMMIT, FILE, GOES_ON, LINK, Turn
from memory.core import UsageError, clock, layout
from memory.core.plaintext import clip_at_word, one_line
from memory.core.records import Record, meta_text, parse_steps
from memory.hook import handoffs
from memory.session import entries, git
from memory.store import activeplan, store

NOTE = 70  # characters of a note's title


def write_note(
    keeper: store.Store,
    place: layout.Place,
    words: str,
    labels: Iterable[str],
    session: str,
    now: float,
    source: str = "human",
    unattended: bool = False,
) -> Record:
    """Write a checkpoint from a person's note.

    words: the note (markdown; <private> parts are left out).  session: id of the running session,
    or "".  unattended: a program runs it.  Raises UsageError for an empty note.
    """
    words = entries.clean(words)
    if not words:
        raise UsageError("the checkpoint is empty; give the note as an argument or on stdin")
    head = git.read_head(place.git)
    first = re.split(r"(?<=[.!?;])\s|[。！？]|\n", words.lstrip("#-* "), maxsplit=1)[0].rstrip(".;")
    extra = {
        "created": clock.iso(now),
        "trigger": "manual",
        "branch": head.branch,
        "commit": head.commit,
        "plan": activeplan.find_plan_between(keeper, now, now),
        "unattended": unattended,
    }
    title, body = one_line(first, NOTE), words + "\n"
    return keeper.same_lately(title, body) or keeper.add(
        "checkpoint",
        title,
        body,
        tags=tuple(labels),
        source=source,
        session=layout.valid_id(session),
        extra={k: v for k, v in extra.items() if v},
    )


# ---- a handoff

BODY, TITLE, BRANCH = 2000, 100, 40  # characters
_STANDS, _LINE, _REQUEST, _ASKED = 900, 240, 160, 80  # characters
_FILES = 12  # files that are named
_MOST = {"Next": 6, "Open": 6, "Decisions": 4, "Last requests": 3}  # lines


class HandoffDraft(NamedTuple):
    """A handoff before it is written.  sources: the ids of its checkpoints."""

    title: str
    body: str
    sources: tuple[str, ...]


def _split_note(note: Record | None) -> dict[str, list[str]]:
    sections = handoffs.split_note_sections(note) if note else {}
    return {name: [line.removeprefix("- ") for line in lines] for name, lines in sections.items()}


def draft_handoff(
    checkpoints: Sequence[Record],
    plan: Record | None,
    history: Sequence[Turn] = (),
    note: Record | None = None,
    uncommitted: Container[str] = (),
) -> HandoffDraft:
    """Make a handoff of at most 2,000 characters, with its sources last.

    checkpoints: of one session, newest first, at least one.  plan: the active one, or None.
    history: the turns of the conversation.  note: of the session, or None; its lines come first.
    uncommitted: paths with changes by git.
    """
    pages = [checkpointoutline.split_sections(record.body) for record in checkpoints]
    newest_page, note_lines = pages[0], _split_note(note)
    decisions = dict.fromkeys(
        line for page in pages for line in reversed(page.get("decisions", ()))
    )
    sections_found = {
        "Where it stands": note_lines.get("") or newest_page.get("outcome", []),
        "Notes": [] if "outcome" in newest_page else newest_page[""],
        "Work": _list_work(pages, history, uncommitted),
        "Next": [*(note_lines.get("Next") or newest_page.get("next") or ()), *_format_plan(plan)],
        "Open": note_lines.get("Open") or newest_page.get("open", []),
        "Decisions": note_lines.get("Decisions") or [*decisions],
        "Last requests": [] if note else _list_requests(pages, history),
    }
    sections = []
    for name, lines in sections_found.items():
        width = _STANDS if name == "Where it stands" else _LINE
        sections.append((name, [clip_at_word(line, width) for line in lines[: _MOST.get(name)]], 1))
    sources_line = _format_sources(checkpoints)
    if note and note_lines.get(""):
        by = handoffs.format_note_author(note)
        sources_line = "%s, in the words of a note by %s." % (sources_line.rstrip("."), by)
    page = fit_sections(sections, BODY - len(sources_line) - 2).lstrip("\n")
    text = page + "\n" + sources_line + "\n"
    ids = tuple(record.id for record in checkpoints)
    return HandoffDraft(_format_title(checkpoints[0]), text, ids)


def _format_title(checkpoint: Record) -> str:
    branch = meta_text(checkpoint, "branch")
    lead = "Handoff%s: " % (" (%s)" % clip_at_word(branch, BRANCH) if branch else "")
    return one_line(lead + one_line(checkpoint.title), TITLE)


def reword_draft(made: HandoffDraft, lines: Sequence[str], by: str) -> HandoffDraft:
    """Return a draft in a model's words, with its sources.

    by: the model's provider.
    """
    end = made.body.rstrip("\n").rpartition("\n")[2]
    listed = "\n".join("- " + line.replace("\n", "\n  ") for line in lines)
    return made._replace(body="%s\n\nWritten by %s.  %s\n" % (listed, by, end))


def _list_work(
    pages: Sequence[dict[str, list[str]]], history: Sequence[Turn], uncommitted: Container[str]
) -> list[str]:
    """Return lines on the last commit and pull request, and uncommitted edits."""
    done_lines = [line for page in reversed(pages) for line in page.get("done", ())]
    commits = [line for line in done_lines if line.startswith("commit ")]
    pulls = [line for line in done_lines if line.startswith("pull request ")]
    edited: dict[str, None] = {}
    for piece in (piece for turn in history for piece in turn.pieces):
        if piece.kind == COMMIT:
            edited.clear()
            commits.append("commit %s: %s" % (piece.name, piece.text))
        elif piece.kind == LINK:
            pulls.append("pull request " + piece.text)
        elif piece.kind == FILE and piece.text in uncommitted:
            edited[piece.text.rpartition("/")[2]] = None
    names = [*edited]
    more = " and %d more" % (len(names) - _FILES) if len(names) > _FILES else ""
    changed = ["edited since, not committed: " + ", ".join(names[:_FILES]) + more] if names else []
    return [*("last " + line for line in commits[-1:]), *pulls[-1:], *changed]


def _list_requests(pages: Sequence[dict[str, list[str]]], history: Sequence[Turn]) -> list[str]:
    requests = [turn.request for turn in history if turn.request and turn.asked != GOES_ON]
    if not history:
        turn_lines = [line for page in reversed(pages) for line in page.get("turns", ())]
        requests = [line[len("09:00 ") :].partition(" → ")[0] for line in turn_lines]
    return [*dict.fromkeys(one_line(request, _REQUEST) for request in reversed(requests))]


def _format_plan(plan: Record | None) -> list[str]:
    """Return [a line with a plan's open steps], [] without a plan."""
    if plan is None:
        return []
    left = "; ".join(text for _, is_ticked, text in parse_steps(plan.body) if not is_ticked)
    return ["plan [%s] %s: %s" % (plan.id, one_line(plan.title), left or "no open step")]


def _format_sources(checkpoints: Sequence[Record]) -> str:
    """Return a sentence with the ids of checkpoints, day, branch and commit."""
    day = clock.format_local_day(checkpoints[0].created)
    ids = ", ".join("[%s]" % record.id for record in checkpoints[:4])
    ids += " and %d more" % (len(checkpoints) - 4) if len(checkpoints) > 4 else ""
    branch, commit = (meta_text(checkpoints[0], key) for key in ("branch", "commit"))
    named = [" on branch `%s`" % branch] if branch else []
    named += [" at commit " + commit] if commit else []
    return one_line("From %s (%s)%s." % (ids, day, ",".join(named)), 140)
