"""From a session's transcript to its checkpoints.

A checkpoint covers one open stretch of a session.  Stop makes or updates it once enough new work is there; PreCompact,
SessionEnd and recovery write and close it, and later work opens the next.  Nothing new: nothing written.

Without its state (`progress`) a session's transcript is read again from its start; `until` in the frontmatter of its
checkpoints (the instant of the last entry told) keeps what they tell from being told twice.
"""

from __future__ import annotations

import os
import re
from copy import deepcopy

from memory import (
    checkpoint,
    clock,
    config,
    files,
    frontmatter,
    git,
    hookio,
    lessons,
    paths,
    plans,
    progress,
    redact,
    shell,
    store,
    transcript,
)
from memory.errors import StoreError, UsageError
from memory.facts import Facts, absorb, say, worth
from memory.progress import State
from memory.records import Record
from memory.transcript import Entry, Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    OnChange = Callable[[str], None] | None

TRIGGERS = {"Stop": "stop", "PreCompact": "pre_compact", "SessionEnd": "session_end"}
_SEAM = "\n\x1e\n"  # `transcript.clean` leaves no such character in a text


class Capture:
    """One run of the worker for one session, under the session's lock."""

    def __init__(self, place: paths.Place, settings: config.Config, env: dict[str, str], now: float, session: str,
                 path: str, on_change: OnChange = None, stop: Stop | None = None):
        """stop: where an earlier stretch ended, for one that is told afterwards."""
        self.stop = stop
        self.place, self.settings, self.env, self.now = place, settings, env, now
        self.session, self.path, self.on_change = session, path, on_change
        self.folder = place.cache + "/sessions"
        self.said = ""
        self.foreign: set[str] = set()
        loaded = progress.load(self.folder + "/" + session + ".json")
        self.state = loaded or State(self.folder + "/" + session + ".json")
        if loaded is None:
            self.state.since = self._since()
        self.known = set(self.state.seen)
        for name in self.state.kin:
            self._add_kin(name)

    def run(self, trigger: str, said: str = "") -> str:
        """Read what is new and write the checkpoint if it is due; returns its name, or "" where nothing was written."""
        state, closing, self.said = self.state, trigger != "stop", transcript.clean(said)
        secret, until, name = state.secret, state.facts.until, ""
        state.units += self.read()
        if secret and (self.said or state.facts.until != until):
            self.rewind(1)  # a secret once named may stand bare in what is new: only together is it found
            self.read()
        if closing or state.units >= self.settings["capture.stopAfter"]:
            name = self.write(trigger)
            self._learn()
        if closing:
            self.close()
        progress.save(state)
        return name

    def read(self) -> int:
        """Take in all that is new, without secrets, and return the units of new work."""
        units = self.advance()
        if self.said and not self.state.facts.muted:
            say(self.state.facts, self.said)
        self.redact()
        return units

    def sources(self) -> list[tuple[str, str]]:
        """Return (key in the spans, path) of the transcript and of its subagents' transcripts."""
        agents = [path for path in transcript.agents(self.path, self.env)
                  if self.stop is None or transcript.began(path) <= self.stop.at]
        return [("", self.path), *((path.rpartition("/")[2], path) for path in agents)]

    def advance(self) -> int:
        """Read on from the offsets and return the units of new work."""
        state, units = self.state, 0
        roots = (self.place.root, self.place.project)
        for key, path in self.sources():
            span = state.spans.setdefault(key, [0, 0, 0])
            reading = transcript.read(path, span[0], self.stop.offset - span[0] if self.stop and not key else transcript.MOST)
            current, fresh = "", True
            for entry in reading:
                if entry.uuid != current:
                    current, fresh = entry.uuid, not entry.uuid or self._fresh(entry, key)
                if fresh:
                    units += absorb(state.facts, entry, roots, key)
            span[0] = reading.offset
            if not key:
                state.size = reading.offset
        return units

    def _fresh(self, entry: Entry, key: str) -> bool:
        """Tell whether an entry is told nowhere yet: not by this session, nor by the one it was forked from."""
        state = self.state
        if not state.first and not key:
            state.first = entry.uuid
            self._find_kin()
        short = progress.short_id(entry.uuid)
        if short in self.foreign or short in self.known:
            return False
        self.known.add(short)
        state.seen.add(short)
        return not state.since or entry.at > state.since

    def _find_kin(self) -> None:
        """Find the sessions whose transcript begins with the same entry: a fork copies history into its own file."""
        try:
            names = [n for n in sorted(os.listdir(self.folder)) if n.endswith(".json")]
        except OSError:
            return
        for name in names:
            if name != self.session + ".json" and progress.head(self.folder + "/" + name).get("first") == self.state.first:
                self.state.kin.append(name[:-5])
                self._add_kin(name[:-5])

    def _add_kin(self, name: str) -> None:
        other = progress.load(self.folder + "/" + name + ".json")
        if other is not None:
            self.foreign |= other.seen

    def rewind(self, index: int) -> None:
        """Forget what was read since the stretch's start (1) or the last write (2), to read it again."""
        state = self.state
        for span in state.spans.values():
            span[0] = span[index]
        state.facts = deepcopy(state.bases[index - 1])
        self.known = set()

    def redact(self) -> None:
        """Take secrets out of the facts, all texts at once: a value found in one is removed from every other."""
        if not self.settings["redact.enabled"]:
            return
        held: list[str] = []
        value = progress.plain(self.state.facts)
        _walk(value, held.append)
        allow, salt = self.settings["redact.allow"], self.place.key
        made = redact.redact(_SEAM.join(held), allow, salt)
        if not made.found:
            return
        self.state.secret = True
        texts = made.text.split(_SEAM)
        if len(texts) != len(held):  # an open PEM block runs to the end and takes the seams along
            texts = [redact.redact(one, allow, salt).text for one in held]
        rest = iter(texts)
        self.state.facts = progress.facts_of(_walk(value, lambda _: next(rest)))

    def told(self, day: str) -> list[tuple[str, str]]:
        """Return (name, instant of the last entry told) of this session's checkpoints from a day on."""
        found = []
        root = self.place.private + "/checkpoints"
        for name in [d + "/" + n for d in names(root) if d >= day for n in names(root + "/" + d)]:
            try:
                data = files.read(root + "/" + name, 1 << 14, follow=False)
            except OSError:
                continue
            meta = frontmatter.parse(data).meta if self.session.encode() in data else {}
            if meta.get("session") == self.session and isinstance(meta.get("until"), str):
                found.append(("p/checkpoints/" + name, meta["until"]))
        return found

    def _since(self) -> str:
        """Return up to which instant older checkpoints tell this session already, where the state was lost."""
        began = clock.parse(transcript.began(self.path))
        return "" if began is None else max((until for _, until in self.told(clock.day(began - clock.DAY))), default="")

    def write(self, trigger: str) -> str:
        """Make or update the stretch's checkpoint; returns its name, or "" where there is nothing to write."""
        state = self.state
        if state.name and not self._untouched():
            # A person edited or removed the file: it is theirs now, and what came since goes into a new one.
            state.name = state.checksum = ""
            self.rewind(2)
            for span in state.spans.values():
                span[1] = span[2]
            state.bases[0] = state.bases[1]
            self.read()
        if not worth(state.facts):
            return ""
        if not state.name:
            told = self.told(clock.day(self.now - clock.DAY)) if state.facts.until else []
            twin = [name for name, until in told if until == state.facts.until]
            if twin:  # written by a run that died before it could save its state
                state.name, state.checksum = twin[-1], files.sha256(files.read(self.place.path(twin[-1])))
        name = self._update(trigger) if state.name else self._add(trigger)
        state.units = 0
        for span in state.spans.values():
            span[2] = span[0]
        state.bases[1] = _carry(state.facts)
        return name

    def _untouched(self) -> bool:
        try:
            return files.sha256(files.read(self.place.path(self.state.name), 64 << 20)) == self.state.checksum
        except OSError:
            return False

    def _meta(self, trigger: str) -> dict[str, Any]:
        facts = self.state.facts
        head = git.head(self.place.git)
        made, changed = checkpoint.paths_of(facts)
        dead = trigger == "recovery"  # what is checked out now says nothing about a session of before
        return {"trigger": trigger, "branch": (facts.branch if dead else head.branch) or None,
                "commit": (next((h for h, *_ in reversed(facts.commits) if h), "") if dead else head.commit) or None,
                "files": (changed + made)[:40] or None, "plan": self._plan(dead) or None, "until": facts.until or None}

    def _plan(self, dead: bool) -> str:
        """Return the id of the plan that was active at some time of the stretch, or "".  dead: it ended with its last entry."""
        facts = self.state.facts
        stamps = [*(run.at for run in facts.runs), *(edit.at for edit in facts.edits)]
        began = clock.parse(min(filter(None, stamps), default=facts.until))
        ended = clock.parse(facts.until) if dead else None
        return plans.served(store.Store(self.place, self.settings, self.now), self.now if began is None else began,
                            self.now if ended is None else ended)

    def _add(self, trigger: str) -> str:
        state, instant, facts = self.state, self.now, self.state.facts
        if trigger == "recovery":
            instant = min(clock.parse(facts.until) or instant, instant)
        keeper = store.Store(self.place, self.settings, instant, on_change=self.on_change)
        extra = {key: value for key, value in self._meta(trigger).items() if value is not None}
        record = keeper.add("checkpoint", checkpoint.title(facts), checkpoint.body(facts), tags=checkpoint.tags(facts),
                            source="auto", session=self.session, extra=extra)
        state.name = record.name
        return self._prove(record.name)

    def _update(self, trigger: str) -> str:
        state = self.state
        keeper = store.Store(self.place, self.settings, self.now, on_change=self.on_change)
        old = files.read(self.place.path(state.name), 64 << 20)
        page = frontmatter.parse(old)
        told, meta = checkpoint.body(state.facts), self._meta(trigger)
        if page.body.strip() == told.strip() and (page.meta.get("trigger") == trigger or trigger == "recovery"):
            return ""
        changes = {"title": checkpoint.title(state.facts), "updated": clock.iso(self.now),
                   "tags": checkpoint.tags(state.facts) or None}
        meta["plan"] = meta["plan"] or page.meta.get("plan")  # the session served it, whatever became of it
        data = frontmatter.edit(old, {**changes, **meta})
        data = data[:frontmatter.split(data)[1]] + b"\n" + told.encode("utf-8")
        keeper.replace(state.name, data, state.checksum)
        return self._prove(state.name)

    def _prove(self, name: str) -> str:
        """Read a written checkpoint back; raises StoreError where it does not say what it should."""
        data = files.read(self.place.path(name), 64 << 20)
        page = frontmatter.parse(data)
        if page.meta.get("session") != self.session or page.meta.get("kind") != "checkpoint" or "## " not in page.body:
            raise StoreError("%s: the checkpoint reads back wrong; run `dayleaf doctor`" % name)
        self.state.checksum = files.sha256(data)
        return name

    def _learn(self) -> None:
        """Note what the stretch teaches, beside the checkpoint that tells it; the worker makes candidates of it."""
        state = self.state
        for lesson in lessons.lessons(state.facts) if state.name and self.settings["capture.lessons"] else ():
            if lesson.key not in state.learned and len(state.learned) < lessons.MOST:
                state.learned.append(lesson.key)
                state.lessons.append({**lesson._asdict(), "checkpoint": state.name})

    def close(self) -> None:
        """End the stretch: later work opens the next checkpoint."""
        state = self.state
        for span in state.spans.values():
            span[1] = span[2] = span[0]
        base = _carry(state.facts)
        state.facts, state.bases = deepcopy(base), [base, base]
        state.name = state.checksum = ""
        state.units, state.secret = 0, False


def _carry(facts: Facts) -> Facts:
    """Return what the next stretch must know of the one before: open calls, last request, failures without a fix."""
    runs = sorted((*facts.failing, *facts.runs), key=lambda r: r.last)
    passed = {r.key: r.last for r in runs if r.outcome == shell.OK}
    failing = [r for r in runs if r.bad and passed.get(r.key, "") <= r.last]
    return Facts(pending=dict(facts.pending), tasks=dict(facts.tasks), muted=facts.muted, bang=facts.bang,
                 branch=facts.branch, cwd=facts.cwd, earlier=next(reversed(facts.requests), facts.earlier),
                 failing=failing[-10:], touched=list(dict.fromkeys([*facts.touched, *(e.path for e in facts.edits)]))[-100:])


def _walk(value: Any, visit: Callable[[str], Any]) -> Any:
    """Rebuild a value of dicts and lists with what `visit` makes of each text in it, instants and short words apart."""
    if isinstance(value, str):
        if len(value) < 7 or (len(value) == 24 and value.endswith("Z")):
            return value
        made = visit(value)
        return made if isinstance(made, str) else value
    if isinstance(value, dict):
        return {key: _walk(item, visit) for key, item in value.items()}
    return [_walk(item, visit) for item in value] if isinstance(value, list) else value


def names(folder: str) -> list[str]:
    """List a folder, hidden files apart; empty where there is none."""
    try:
        return sorted(n for n in os.listdir(folder) if not n.startswith("."))
    except OSError:
        return []


# --- where hooks and commands come in


def on_event(event: dict[str, Any], env: dict[str, str], now: float, on_change: OnChange = None) -> None:
    """Serve Stop, PreCompact and SessionEnd in the detached worker.

    event: the hook's payload.  env: the environment.  now: seconds since the epoch.  on_change: called with the name of
    a record that was written.  Raises OSError or StoreError, which the worker notes.
    """
    trigger = TRIGGERS.get(str(event.get("hook_event_name")))
    session, path = subject(event, env)
    if not trigger or not session:
        return
    place = paths.locate(env, hookio.project_dir(event, env))
    settings = config.load(place.home, place.root, env)
    if settings["capture.enabled"]:
        said = event.get("last_assistant_message")
        capture(place, settings, env, now, session, path, trigger, said if isinstance(said, str) else "", on_change)


def subject(event: dict[str, Any], env: dict[str, str]) -> tuple[str, str]:
    """Return (session, path of its transcript) of a hook's event; ("", "") where it is no person's session."""
    session = paths.safe_id(event.get("session_id"))
    path = transcript.trusted(event.get("transcript_path"), env)
    own = session and path and not event.get("agent_id") and not env.get(hookio.NESTED)
    return (session, path) if own else ("", "")


def capture(place: paths.Place, settings: config.Config, env: dict[str, str], now: float, session: str, path: str,
            trigger: str, said: str = "", on_change: OnChange = None) -> str:
    """Capture one session up to now.

    path: what `transcript.trusted` returned.  trigger: stop | pre_compact | session_end | recovery.  said: the model's
    last statement where the transcript may lag (Stop).  Returns the name of the checkpoint written, or "".
    """
    with files.Lock(place.cache + "/sessions/" + session + ".lock", wait=trigger != "stop") as held:
        return Capture(place, settings, env, now, session, path, on_change).run(trigger, said) if held else ""


def gather(path: str, env: dict[str, str], roots: tuple[str, ...] = ()) -> Facts:
    """Return the facts of a whole transcript and its subagents, in memory and with their secrets (`Store` redacts)."""
    facts = Facts()
    for key, source in [("", path), *((p.rpartition("/")[2], p) for p in transcript.agents(path, env))]:
        for entry in transcript.read(source):
            absorb(facts, entry, roots, key)
    return facts


def note(keeper: store.Store, place: paths.Place, words: str, labels: Iterable[str], session: str,
         now: float) -> Record:
    """Write a checkpoint by hand; its title is the first clause of the note.

    words: the note (markdown; <private> parts are left out).  labels: tags.  session: id of the running session, or "".
    now: seconds since the epoch.  Raises UsageError for an empty note, StoreError where it reads back wrong.
    """
    words = transcript.clean(words)
    if not words:
        raise UsageError("an empty checkpoint: give the note as an argument or on stdin")
    head = git.head(place.git)
    first = re.split(r"(?<=[.!?;])\s|[。！？]|\n", words.lstrip("#-* "), maxsplit=1)[0].rstrip(".;")
    extra = {"created": clock.iso(now), "trigger": "manual", "branch": head.branch, "commit": head.commit,
             "plan": plans.served(keeper, now, now)}
    title = checkpoint.one_line(first, checkpoint.TITLE)
    record = keeper.add("checkpoint", title, words + "\n", tags=tuple(labels), source="human",
                        session=paths.safe_id(session), extra={k: v for k, v in extra.items() if v})
    if files.sha256(files.read(place.path(record.name), 64 << 20)) != record.checksum:
        raise StoreError("%s: the checkpoint reads back wrong; run `dayleaf doctor`" % record.name)
    return record
