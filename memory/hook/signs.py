"""Signs of life: what the user hears at a session's start, once."""

from __future__ import annotations

from memory import __version__
from memory.core import boundary, clock, fastjson, files, layout
from memory.hook import announcements, fence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.hook.indexview import Index

    Event = Dict[str, Any]

READY = "dayleaf_ready"  # key of a hook's event: the user has heard that the runtime is there
RELEASE = "dayleaf_release"  # key of a hook's event: the user has heard of a newer version
NEWER = "/log/newer"  # holds `VERSION MARKETPLACE`, then `heard` once the user has heard of it
SET_UP = "/log/setup.ready"  # holds the seconds that the set-up took until the user has heard of it
# below the home: the user has been asked whether a model may write notes
ASKED = "/log/notes.asked"
OFFER = "/log/notes.offer"  # below the home: tokens of a note, measured on this user's sessions
OFFERED = "dayleaf_offered"  # key of a hook's event: the user has just been asked
REMOTE = "dayleaf_remote"  # key of a hook's event: the user has heard of another remote
# key of a hook's event: the captures whose loss the user has heard of
UNWRITTEN = "dayleaf_unwritten"
SECRETS = "dayleaf_secrets"  # key of a hook's event: the user has heard of records with secrets


def greeting(found: Index, last: Any, branch: str, now: float) -> str:
    """Return the user's line on where the work stands.

    And how much waits for review; "" before there is any work.
    last: the newest checkpoint of the branch, else of any, or None.
    branch: the branch checked out, or "".
    """
    if last is None:
        return ""
    from memory.hook import handoffs

    of = fence.line(str(last.meta.get("branch") or ""), 80)
    # a title that only says what was asked tells nobody where the work stands
    came = handoffs.outcome_opening(last)
    title = handoffs.clause(came, 120) if came else fence.line(last.title, 100)
    said = "back on %s, %s: %s" % (of or found.place.key, ago(now - last.created), title)
    if branch and of != branch:
        said = "no work on %s yet; newest: %s (%s%s)" % (
            fence.line(branch, 80),
            title,
            (of + ", ") * bool(of),
            ago(now - last.created),
        )
    waits = waiting(found)
    if not waits:
        return "dayleaf: " + said
    verb = "waits" if waits == 1 else "wait"
    return "dayleaf: %s; %s %s for review" % (
        said.rstrip("."),
        announcements.many(waits, "record"),
        verb,
    )


def ago(seconds: float) -> str:
    """Return an age in words, such as `5 min ago` or `3 days ago`."""
    for size, unit in ((2 * clock.DAY, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return "%d %s ago" % (seconds // min(size, clock.DAY), unit)
    return "just now"


def waiting(found: Index) -> int:
    """Count the records that wait for a person's review.

    Candidates and rules, as the index knows them, and scripts by others.
    """
    from memory.hook import segment

    count = len(
        [n for n in found.lists("brief").get("candidates", ()) if n not in found.delta.gone]
    )
    count += sum(
        doc.ordinal == 0 and doc.kind == "learning" and not doc.flags & segment.ACCEPTED
        for doc in found.delta.docs
    )
    rules = found.listed("rules")
    if rules:
        from memory.core import approvals

        decided = {
            (space, id, digest[:16]) for space, id, digest in approvals.decisions(found.place.home)
        }
        key = found.place.key
        count += sum(
            (approvals.workspace_of(doc.name, key), doc.id, doc.checksum.hex()) not in decided
            for doc in rules
        )
    return count + announcements.scripts_waiting(found.place)


def notices(place: Place, settings: Config, event: Event, now: float) -> str:
    """Return the one-time notices at a session's start.

    Failures since the last start, faulty settings, records and rules by others.
    """
    lines = list(settings.problems[:3])
    claimed = event.get(boundary.CLAIMS)
    if claimed:
        from memory.core import environment

        lines += [environment.IGNORED % row for row in claimed.items()]
    if place.claimed and files.exists(place.cache + layout.UNPROVED):
        lines.append(
            "`.git` says that this is %s, but nothing proves it, so the private memory of %s is "
            "not shown; if it is yours, run `dayleaf store workspace claim` in a terminal"
            % (place.claimed, place.claimed)
        )
    lines += workspace_notice(place, event)
    try:
        lines += announcements.announcement(place, event)
    except (OSError, ValueError):
        pass
    lines += secrets_notice(place, event)
    lines += interrupted_captures_notice(place, event, now)
    failures = unreported_failures(place.home)
    if failures:
        last = failures[-1]
        lines.append(
            "%s since the last session (%s: %s %s); `dayleaf doctor` says more"
            % (
                announcements.many(len(failures), "failure"),
                last.get("where"),
                last.get("error"),
                last.get("detail") or last.get("at") or "",
            )
        )
    lines += foreign_runtime(place, event)
    lines += notes_offer(place, settings, event)
    lines += runtime_notice(place, settings, event)
    lines += release_notice(place, event)
    return "dayleaf: " + "\ndayleaf: ".join(lines) if lines else ""


def workspace_notice(place: Place, event: Event) -> List[str]:
    """Return the line about the other workspace that this repository may be of.

    One with its commit; or the one that its remote names by now, once.
    """
    named = layout.other_remote(place)
    if named and not files.exists(place.cache + layout.REMOTE + named):
        event[REMOTE] = True
        return [
            "this repository has another remote now, but still the memory of %s; if it is another "
            "project, `dayleaf store workspace claim %s` in a terminal gives it its own memory"
            % (place.key, named)
        ]
    lost = "" if place.git else layout.lost_checkout(place.root)
    if lost:
        return [
            "the `.git` of this worktree leads to %s, which is gone; `git worktree repair` in the "
            "checkout that was moved mends it" % fence.line(lost, 120)
        ]
    try:
        key = files.read(place.cache + layout.OFFERED, 256).decode("utf-8", "replace").strip()
    except OSError:
        return []
    if not key or place.claimed:
        return []
    return [
        "this repository %s %s, whose memory is not shown here; if it is the same project, run "
        "`dayleaf store workspace claim` in a terminal"
        % (layout.reason_of(place, key), fence.line(key, 80))
    ]


def secrets_path(place: Place) -> str:
    """Return the path of the count of records that hold secrets.

    It holds `COUNT HEARD`, both numbers of records.
    """
    return place.cache + "/" + place.scope + ".secrets"


def counted_secrets(place: Place) -> List[int]:
    """Return [number of records with secrets, number announced]."""
    try:
        words = files.read(secrets_path(place), 64).split()
    except OSError:
        return [0, 0]
    known = len(words) == 2 and all(map(bytes.isdigit, words))
    return [int(word) for word in words] if known else [0, 0]


def secrets_notice(place: Place, event: Event) -> List[str]:
    """Return the line about records that hold secrets, once."""
    count, heard = counted_secrets(place)
    if count <= heard:
        return []
    event[SECRETS] = True
    return [
        "%s a secret, so Claude gets nothing of %s unasked; `dayleaf store check` names the lines"
        % (
            announcements.many(count, "record") + (" holds" if count == 1 else " hold"),
            "it" if count == 1 else "them",
        )
    ]


def foreign_mark(place: Place) -> str:
    """Return the path that marks a foreign runtime as announced.

    One for each machine.
    """
    machine = " ".join(files.posix.uname()[:2]) if hasattr(files.posix, "uname") else ""
    return place.home + "/log/foreign-" + files.sha256(machine.encode("utf-8", "replace"))[:8]


def foreign_runtime(place: Place, event: Event) -> List[str]:
    """Return the line about a runtime made on another machine.

    Once on each machine.
    """
    path = event.get(boundary.FOREIGN)
    if not path or files.exists(foreign_mark(place)):
        return []
    return [
        "%s does not run on this machine, so hooks use the system's Python; run "
        "'%s/install.sh' here, or set DAYLEAF_HOME to a folder of this machine's own"
        % (path, layout.plugin())
    ]


def notes_offer(place: Place, settings: Config, event: Event) -> List[str]:
    """Return the question whether a model may write notes.

    Asked once, after a worker has measured their cost.
    """
    if settings.sources["notes.provider"] != "default" or files.exists(place.home + ASKED):
        return []
    try:
        tokens = int(files.read(place.home + OFFER, 32))
    except (OSError, ValueError):
        return []
    event[OFFERED] = True
    return [
        "a model can write a note of each session, for about %d tokens; it gets the conversation, "
        "without secrets, through your Claude account. In a terminal, type `dayleaf notes on` "
        "or `dayleaf notes off`" % tokens
    ]


def runtime_notice(place: Place, settings: Config, event: Event) -> List[str]:
    """Return the line about the runtime's installation.

    In progress, failed, or ready; "ready" is shown once.
    """
    root = layout.plugin()
    if files.exists(place.home + "/runtime/bin/python"):
        try:
            seconds = files.read(place.home + SET_UP, 32).decode("ascii", "replace").strip()
        except OSError:
            return []
        event[READY] = True
        return [
            "the runtime is ready (it took %s s); for `dayleaf` in your terminal: %s"
            % (seconds, layout.LINK_COMMAND % root),
            "there, `dayleaf store import transcripts --all --ask` offers your past sessions",
        ]
    if not settings["runtime.auto"]:
        return []
    try:
        said = (
            files.read(place.home + "/log/setup.log", 1 << 16)
            .decode("utf-8", "replace")
            .strip()
            .rpartition("\n")[2]
        )
    except OSError:
        said = ""
    if said.startswith("install.sh: "):
        return [
            "the runtime could not be set up: %s; '%s/install.sh' --runtime tries again"
            % (said[12:312], root)
        ]
    path = place.home
    while not files.exists(path) and path.strip("/"):
        path = path.rpartition("/")[0]
    if not files.is_folder(path):
        return ["%s is no directory, so nothing is kept; set HOME or DAYLEAF_HOME" % path]
    return [
        "recall and distill are being set up in the background; sessions are recorded meanwhile"
    ]


def release_notice(place: Place, event: Event) -> List[str]:
    """Return the line about a newer version, once for each version."""
    try:
        words = files.read(place.home + NEWER, 256).decode("ascii", "replace").split()
    except OSError:
        return []
    if len(words) != 2 or words[0] == __version__:
        return []
    event[RELEASE] = True
    return [
        "version %s is available, this is %s; to update: `claude plugin update dayleaf@%s`"
        % (words[0], __version__, words[1])
    ]


def unreported_failures(home: str) -> List[Dict[str, Any]]:
    """Return the failures not yet shown at a session start.

    The worker after the start moves the mark.
    """
    try:
        mark = int(files.read(home + "/log/said", 32) or b"0")
    except (OSError, ValueError):
        mark = 0
    try:
        data = files.read(home + "/log/errors.jsonl", 1 << 20)
    except OSError:
        return []
    return fastjson.rows(data[mark if mark <= len(data) else 0 :])[-50:]


def interrupted_captures_notice(place: Place, event: Event, now: float) -> List[str]:
    """Return the line about interrupted captures not yet reported.

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

    cut = [row for row in attempts.unfinished(place, now) if not row["said"]]
    if not cut:
        return []
    event[UNWRITTEN] = [row["run"] for row in cut]
    at = clock.parse(str(cut[-1].get("t"))) or now
    said = clock.iso(at + clock.local_offset(at))
    when = (
        said[11:16]
        if said[:10] == clock.day(now + clock.local_offset(now))
        else said[:16].replace("T", " ")
    )
    others = " and %s before it" % announcements.many(len(cut) - 1, "other") if len(cut) > 1 else ""
    return [
        (
            "the session of %s%s left no checkpoint and is being captured again; "
            "`dayleaf doctor` says more"
        )
        % (when, others)
    ]
