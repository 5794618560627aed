"""Tell the user at a session's start where the work stands, and news once."""

from __future__ import annotations

from memory import __version__
from memory.core import boundary, clock, fastjson, files, layout
from memory.hook import announcements, fence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.hook.indexview import Index

    Event = dict[str, Any]

# keys of a hook's event: what the user has just heard of
READY = "dayleaf_ready"  # the runtime is there
RELEASE = "dayleaf_release"  # a newer version
OFFERED = "dayleaf_offered"  # the question whether a model may write notes
REMOTE = "dayleaf_remote"  # another remote
UNWRITTEN = "dayleaf_unwritten"  # runs of lost captures
SECRETS = "dayleaf_secrets"  # records with secrets
# files below the home
NEWER = "/log/newer"  # `VERSION MARKETPLACE`, then `heard` once the user has heard of it
SET_UP = "/log/setup.ready"  # seconds that the set-up took, until the user has heard of it
ASKED = "/log/notes.asked"  # there once the user was asked whether a model may write notes
OFFER = "/log/notes.offer"  # tokens of a note, measured on this user's sessions
# what a brief's records are by their reasons, with the ending of several
CONTENTS = (("handoff", "s"), ("active plan", "s"), ("rule", "s"), ("standing wish", "es"))


def format_greeting(index: Index, last: Any, branch: str, now: float) -> str:
    """Return the user's line on where the work stands and what waits, or "".

    last: the newest checkpoint of the branch, else of any, or None.
    """
    if last is None:
        return ""
    from memory.hook import handoffs

    last_branch, age = fence.clean_branch(last), format_age(now - last.created)
    # a title may only say what was asked
    outcome = handoffs.extract_outcome(last)
    title = handoffs.clip_at_clause(outcome, 120) if outcome else fence.clean_line(last.title, 100)
    text = "last on %s, %s: %s" % (last_branch or index.place.key, age, title)
    if branch and last_branch != branch:
        where = ", ".join(filter(None, (last_branch, age)))
        text = "no work on %s yet; newest: %s (%s)" % (fence.clean_line(branch, 80), title, where)
    return _add_waiting(index, text)


def format_contents(index: Index, reasons: Sequence[str]) -> str:
    """Return the user's line on what a brief without earlier work holds, or "".

    reasons: of its records.
    """
    labels = [reason.partition(":")[0] for reason in reasons]
    counts = [(labels.count(noun), noun, plural) for noun, plural in CONTENTS]
    held = ["%d %s%s" % (n, noun, plural if n > 1 else "") for n, noun, plural in counts if n]
    return _add_waiting(index, "from before: " + ", ".join(held)) if held else ""


def _add_waiting(index: Index, text: str) -> str:
    """Return a line to the user that ends with how many records wait."""
    count = count_waiting(index)
    if not count:
        return "dayleaf: " + text
    waiting = announcements.format_count(count, "record") + (" waits" if count == 1 else " wait")
    return "dayleaf: %s; %s for review" % (text.rstrip("."), waiting)


def format_age(seconds: float) -> str:
    """Return an age in words, such as `5 min ago` or `3 days ago`."""
    for size, unit in ((2 * clock.DAY, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return "%d %s ago" % (seconds // min(size, clock.DAY), unit)
    return "just now"


def count_waiting(index: Index) -> int:
    """Count the candidates, rules and scripts that wait for a person's review."""
    from memory.hook import segment

    count = len(index.live(index.lists("brief").get("candidates", ())))
    count += sum(
        doc.ordinal == 0 and doc.kind == "learning" and not doc.flags & segment.ACCEPTED
        for doc in index.delta.docs
    )
    rules = index.listed("rules")
    if rules:
        from memory.core import approvals

        decisions = approvals.read_decisions(index.place.home)
        decided = {(space, id, digest[:16]) for space, id, digest in decisions}
        key = index.place.key
        count += sum(
            (approvals.approval_workspace(doc.name, key), doc.id, doc.checksum.hex()) not in decided
            for doc in rules
        )
    return count + announcements.count_waiting_scripts(index.place)


def format_notices(place: Place, settings: Config, event: Event, now: float) -> str:
    """Return the one-time notices at a session's start as lines."""
    lines = list(settings.problems[:3])
    claimed = event.get(boundary.CLAIMS)
    if claimed:
        from memory.core import environment

        lines += [environment.IGNORED % row for row in claimed.items()]
    if place.claimed:
        proof = "; if a commit here proves it, the next start or `/clear` brings its memory"
        if files.exists(place.cache + layout.UNPROVED):
            proof = (
                ", but nothing proves it, so its private memory is not shown; if it is yours, run "
                "`dayleaf store workspace claim` in a terminal"
            )
        lines.append("`.git` says that this is " + place.claimed + proof)
    lines += workspace_notice(place, event)
    try:
        lines += announcements.new_records_notice(place, event)
    except (OSError, ValueError):
        pass
    lines += secrets_notice(place, event)
    lines += interrupted_captures_notice(place, event, now)
    failures = read_unreported_failures(place.home)
    if failures:
        last = failures[-1]
        lines.append(
            "%s since the last session (%s: %s %s); `dayleaf doctor` says more"
            % (
                announcements.format_count(len(failures), "failure"),
                last.get("where"),
                last.get("error"),
                last.get("detail") or last.get("at") or "",
            )
        )
    lines += foreign_runtime_notice(place, event)
    lines += notes_offer_notice(place, settings, event)
    lines += unwritable_notice(place) or runtime_notice(place, settings, event)
    lines += release_notice(place, event)
    return "dayleaf: " + "\ndayleaf: ".join(lines) if lines else ""


def workspace_notice(place: Place, event: Event) -> list[str]:
    """Return a line on another workspace that this repository may have.

    By its commits, or by its present remote; the latter once.
    """
    named = layout.find_other_remote(place)
    if named and not files.exists(place.cache + layout.REMOTE + named):
        event[REMOTE] = True
        return [
            "this repository has another remote now, but still the memory of %s; if it is another "
            "project, `dayleaf store workspace claim %s` in a terminal gives it its own memory"
            % (place.key, named)
        ]
    lost = "" if place.git else layout.find_lost_checkout(place.root)
    if lost:
        return [
            "the `.git` of this worktree leads to %s, which is gone; `git worktree repair` in the "
            "checkout that was moved mends it" % fence.clean_line(lost, 120)
        ]
    key = "" if place.claimed else layout.find_unproved(place)
    return [layout.format_offer(place, key)] if key else []


def _read_text(path: str) -> str:
    """Return a small file's text, "" if unreadable."""
    try:
        return files.read(path, 1 << 16).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def secrets_path(place: Place) -> str:
    """Return the path of the file that counts records with secrets."""
    return place.cache + "/" + place.scope + ".secrets"


def read_secret_counts(place: Place) -> list[int]:
    """Return [number of records with secrets, number announced]."""
    try:
        words = files.read(secrets_path(place), 64).split()
    except OSError:
        return [0, 0]
    is_whole = len(words) == 2 and all(map(bytes.isdigit, words))
    return [int(word) for word in words] if is_whole else [0, 0]


def secrets_notice(place: Place, event: Event) -> list[str]:
    """Return a line on records that hold secrets, once."""
    count, heard = read_secret_counts(place)
    if count <= heard:
        return []
    event[SECRETS] = True
    return [
        "%s a secret, so Claude gets nothing of %s unasked; `dayleaf store check` names the lines"
        % (
            announcements.format_count(count, "record") + (" holds" if count == 1 else " hold"),
            "it" if count == 1 else "them",
        )
    ]


def foreign_mark_path(place: Place) -> str:
    """Return the path of the file that marks a foreign runtime as announced here."""
    machine = " ".join(files.posix.uname()[:2]) if hasattr(files.posix, "uname") else ""
    return place.home + "/log/foreign-" + files.sha256(machine.encode("utf-8", "replace"))[:8]


def foreign_runtime_notice(place: Place, event: Event) -> list[str]:
    """Return a line on a runtime made on another machine, once."""
    path = event.get(boundary.FOREIGN)
    if not path or files.exists(foreign_mark_path(place)):
        return []
    return [
        "%s does not run on this machine, so hooks use the system's Python; run "
        "'%s/install.sh' here, or set DAYLEAF_HOME to a folder of this machine's own"
        % (path, layout.plugin_folder())
    ]


def notes_offer_notice(place: Place, settings: Config, event: Event) -> list[str]:
    """Return the question whether a model may write notes, once.

    Asked after a worker has measured their cost.
    """
    if settings.sources["notes.provider"] != "default" or files.exists(place.home + ASKED):
        return []
    try:
        count, _, price = _read_text(place.home + OFFER).partition(", ")
        tokens = "%d tokens" % int(count) + (", " + price if price else "")
    except ValueError:
        return []
    event[OFFERED] = True
    return [
        "a model can write a note of each session, for about %s; it gets the conversation, "
        "without secrets, through your Claude account. In a terminal, type `dayleaf notes on` "
        "or `dayleaf notes off`" % tokens
    ]


def unwritable_notice(place: Place) -> list[str]:
    """Return a line on a folder that nothing can be written into."""
    for path in (place.cache, place.private):
        while not files.exists(path) and path.strip("/"):
            path = path.rpartition("/")[0]
        if not files.posix.access(path + "/.", files.posix.W_OK):
            return ["%s cannot be written, so nothing is kept; mend it or set DAYLEAF_HOME" % path]
    return []


def runtime_notice(place: Place, settings: Config, event: Event) -> list[str]:
    """Return lines on the runtime: being set up, failed, or ready once."""
    root = layout.plugin_folder()
    if files.exists(place.home + "/runtime/bin/python"):
        seconds = _read_text(place.home + SET_UP)
        if not seconds:
            return []
        event[READY] = True
        return [
            "the runtime is ready (it took %s s); for `dayleaf` in your terminal: %s"
            % (seconds, layout.LINK_COMMAND % root),
            "there, `dayleaf store import transcripts --all --ask` offers your past sessions",
        ]
    if not settings["runtime.auto"]:
        return []
    last = _read_text(place.home + "/log/setup.log").rpartition("\n")[2]
    if last.startswith("install.sh: "):
        return [
            "the runtime could not be set up: %s; '%s/install.sh' --runtime tries again"
            % (last[12:312], root)
        ]
    return [
        "recall and distill are being set up in the background; sessions are recorded meanwhile"
    ]


def release_notice(place: Place, event: Event) -> list[str]:
    """Return a line on a newer version, once for each version."""
    words = _read_text(place.home + NEWER).split()
    if len(words) != 2 or words[0] == __version__:
        return []
    event[RELEASE] = True
    return [
        "version %s is available, this is %s; to update: `claude plugin update dayleaf@%s`"
        % (words[0], __version__, words[1])
    ]


def read_unreported_failures(home: str) -> list[dict[str, Any]]:
    """Return the logged failures that no session's start has told yet."""
    try:
        mark = int(files.read(home + "/log/said", 32) or b"0")
    except (OSError, ValueError):
        mark = 0
    try:
        data = files.read(home + "/log/errors.jsonl", 1 << 20)
    except OSError:
        return []
    return fastjson.parse_rows(data[mark if mark <= len(data) else 0 :])[-50:]


def interrupted_captures_notice(place: Place, event: Event, now: float) -> list[str]:
    """Return a line on interrupted captures, reported once.

    The worker marks them as reported.  attempts.py describes the log; where every capture came to
    its end, its lines are only counted.
    """
    try:
        data = files.read(place.home + "/log/captures/" + place.key + ".jsonl", 1 << 20)
    except OSError:
        return []
    if data.count(b'"do":"asked"') <= data.count(b'"do":"done"') + data.count(b'"do":"said"'):
        return []
    from memory.core import attempts

    rows = [row for row in attempts.list_unfinished(place, now) if not row["said"]]
    if not rows:
        return []
    event[UNWRITTEN] = [row["run"] for row in rows]
    at = clock.parse(str(rows[-1].get("t"))) or now
    instant = clock.iso(at + clock.local_offset(at))
    is_today = instant[:10] == clock.day(now + clock.local_offset(now))
    when = instant[11:16] if is_today else instant[:16].replace("T", " ")
    if len(rows) > 1:
        when += " and %s before it" % announcements.format_count(len(rows) - 1, "other")
    return [
        "the session of %s left no checkpoint and is being captured again; "
        "`dayleaf doctor` says more" % when
    ]
