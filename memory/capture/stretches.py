"""From a session's transcript to its checkpoints.

A checkpoint covers one open stretch of a session.  Stop makes or updates it once enough new work is
there; PreCompact, SessionEnd, recovery and work on another branch write and close it, and later
work opens the next.  Nothing new: nothing written.

Without its state (`progress`) a session's transcript is read again from its start; `until` in the
frontmatter of its checkpoints (the instant of the last entry told) keeps what they tell from being
told twice.
"""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import replace
from functools import cached_property

from memory.capture import checkpointpage, conversationfile, leftout, progress, wishes
from memory.capture.checkpointpage import is_answered, is_worth_checkpoint
from memory.capture.facts import Facts, absorb, add_early_statement, set_session_title
from memory.capture.progress import Head, Heads, State
from memory.core import boundary, clock, config, files, frontmatter, layout
from memory.session import entries, git, transcript
from memory.session.entries import Entry
from memory.session.rewinds import Span
from memory.session.transcript import Source, Stop
from memory.store import redactor, store, writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    OnChange = Callable[[str], None] | None

# new edits, commands and prompts after which a Stop writes the checkpoint
STOP_AFTER = 8
# kinds of entries with the user's words
_TYPED = (entries.PROMPT, entries.SLASH, entries.STEER, entries.BANG)
_PAST = ("recovery", "switch")  # what ends a stretch that is told afterwards
_SPANS, _ROWS = 200, 12  # stretches that were taken back, and that can be told again
PORTION = 8 << 20  # bytes of a transcript that are read before it is asked whether to go on
_SEAM = "\n\x1e\n"  # `entries.clean` leaves no such character in a text


class Capture:
    """A worker's run for one session, under the session's lock."""

    def __init__(
        self,
        place: layout.Place,
        settings: config.Config,
        env: dict[str, str],
        now: float,
        session: str,
        path: str,
        on_change: OnChange = None,
        stop: Stop | None = None,
        ended: bool = False,
        imported: bool = False,
        source: Source = transcript,
        pause: Callable[[], bool] | None = None,
        heads: Heads | None = None,
    ):
        """Load a session's state.

        heads: of the workspace's records, where other captures read them too.
        source: reads its transcript.
        pause: tells whether the rest is left for the next capture; asked after each PORTION.
        stop: the end of an earlier stretch to be captured afterwards.
        ended: nobody writes its transcript any more.
        imported: its checkpoints say that they came by an import, and when.
        """
        self.stop, self.ended, self.imported, self.source, self.pause = (
            stop,
            ended,
            imported,
            source,
            pause,
        )
        self.place, self.settings, self.env, self.now = place, settings, env, now
        self.session, self.path, self.on_change = session, path, on_change
        self.folder, self.said, self.roots = (
            place.cache + "/sessions",
            "",
            (place.root, place.project),
        )
        self.left = leftout.load(place, session)
        self.foreign: set[str] = set(self.left.ids)
        self.rewound = ""  # the instant from which on what was read here was taken back
        self.heads = heads or Heads(place)
        loaded = progress.load(self.folder + "/" + session + ".json")
        self.state = loaded or State(self.folder + "/" + session + ".json")
        if loaded is None:
            self.state.since = self._since()
        self.private: set[str] = set()  # what was said in <private> parts
        if self.state.private:
            before = self.source.read(path, 0, self.state.spans.get("", [0])[0])
            self.private = {word for entry in before for word in _private(entry)}
        self.known = set(self.state.seen)
        for name in self.state.kin:
            self._add_kin(name)

    def run(self, trigger: str, said: str = "") -> str:
        """Read the new entries and write the checkpoint if due.

        Returns the checkpoint's name, "" where nothing was written.
        """
        state, self.said, name = self.state, entries.clean(said), ""
        self._catch_up()
        closing = trigger != "stop" and self.ends()
        if closing or trigger == "stop" and state.units >= STOP_AFTER:
            name = self.write(trigger)
        if closing:
            self.close()
        if self._is_removed():
            progress.forget_texts(state)
        progress.save(state)
        return name

    def _catch_up(self) -> None:
        """Read the new entries, the old ones too for a secret."""
        state = self.state
        secret, until = state.secret, state.facts.until
        state.units += self.read()
        if self.rewound:
            self._read_again()
        if secret and (self.said or state.facts.until != until):
            # a secret once named may stand bare in what is new: only together is it found
            self.rewind(1)
            self.read()

    def _is_removed(self) -> bool:
        """Tell whether nothing of the session is left to go on from."""
        removed = conversationfile.is_removed(self.place, self.state, self.session)
        return removed and not self.checkpoints_since("")

    def ends(self) -> bool:
        """Tell whether the stretch ends at the reading's end.

        It does at every stop but a mere switch of branches.
        """
        return self.stop is None or not self.stop.switch or self._left() is not False

    def waits(self) -> bool:
        """Read to a switch of branches; tell whether it is undecided.

        Whether work was left there may not show yet.
        """
        self.state.units += self.read()
        return self._left() is None

    def _left(self) -> bool | None:
        reading = self.source.read(self.path, self.stop.offset if self.stop else 0)
        left = progress.was_work_left(self.state.facts, reading, self.roots)
        reading.close()
        return left

    def read(self) -> int:
        """Read all new entries, without secrets; return units of work."""
        units = self.advance()
        if self.said and not self.state.facts.muted:
            add_early_statement(self.state.facts, self.said)
        self.redact()
        return units

    def _read_again(self) -> None:
        """Read this session again, without its withdrawn parts."""
        state = self.state
        base: Facts | None = None
        for row in [row for row in state.closed if row.until >= self.rewound]:
            base = self._retell(row, base or progress.facts_of(row.base))
        state.bases = [base, base] if base else state.bases
        self.rewound = ""
        self.rewind(1)
        state.units += self.read() + STOP_AFTER  # it is written at once

    def _retell(self, row: progress.Closed, base: Facts) -> Facts:
        """Read an ended stretch again; return facts for the next stretch."""
        again = copy(self)
        spans = {key: [at, at, at] for key, at in row.start.items()}
        again.state = State(
            "",
            self.state.first,
            spans=spans,
            facts=deepcopy(base),
            bases=[base, base],
            spans_taken=self.state.spans_taken,
        )
        again.known, again.said, again.stop = set(), "", Stop(row.end.get("", 0), row.until)
        again.read()
        row.base = progress.plain(base)
        self.state.retold += again.state.facts.all_turns
        if row.name:
            self._rewrite(row, again.state.facts)
        return progress.carry(again.state.facts)

    def _rewrite(self, row: progress.Closed, facts: Facts) -> None:
        """Rewrite a checkpoint, unless a person changed or removed it."""
        try:
            old = self._read(row.name)
        except OSError:
            return
        page = frontmatter.parse(old)
        if writer.body_mark(page.body) != row.mark:
            return
        changes = {**self._head(facts, page.meta.get("created")), "updated": clock.iso(self.now)}
        if page.meta.get("title") != row.title:
            del changes["title"], changes["aliases"]
        self._replace(row.name, old, changes, facts, files.sha256(old))
        row.mark, row.title = self._marks(row.name)

    def _replace(
        self, name: str, old: bytes, changes: dict[str, Any], facts: Facts, checksum: str
    ) -> str:
        """Write a checkpoint of facts over the file of a checksum; return the new one."""
        data = frontmatter.edit(old, changes)
        told = checkpointpage.body(facts).encode("utf-8")
        data = data[: frontmatter.split(data)[1]] + b"\n" + told
        self.heads.forget(name)
        return self._store().replace(name, data, checksum).checksum

    def _head(self, facts: Facts, created: object) -> dict[str, Any]:
        """Return a checkpoint's title, aliases, tags and files."""
        day = clock.day(clock.parse(str(created)) or self.now)
        taken = {
            one.title
            for one in self.heads.of_day("checkpoints", day)
            if one.name != self.state.name
        }
        title, aliases = checkpointpage.title_and_request(facts, taken.__contains__)
        made, changed = checkpointpage.paths_of(facts)
        return {
            "title": title,
            "aliases": aliases or None,
            "tags": checkpointpage.tags(facts) or None,
            "files": (changed + made)[:40] or None,
        }

    def _marks(self, name: str) -> tuple[str, str]:
        """Return (text's mark, title) of a checkpoint."""
        try:
            page = frontmatter.parse(self._read(name))
        except OSError:
            return "", ""
        return writer.body_mark(page.body), str(page.meta.get("title") or "")

    def _take_back(self, since: str, until: str) -> None:
        """Record that a rewind withdrew everything between two instants."""
        spans = self.state.spans_taken
        if not any(span.since <= since and until <= span.until for span in spans):
            spans[:] = [
                *(span for span in spans if span.since < since or span.until > until),
                Span(since, until),
            ][-_SPANS:]
            self.rewound = min(self.rewound or since, since)

    def _is_withdrawn(self, at: str) -> bool:
        return any(span.holds(at) for span in self.state.spans_taken)

    def sources(self) -> list[tuple[str, str]]:
        """Return (key in the spans, path) of the session's transcripts.

        Its own, then its subagents'.
        """
        agents = [
            path
            for path in self.source.agents(self.path, self.env)
            if self.stop is None or self.source.began(path) <= self.stop.at
        ]
        return [("", self.path), *((path.rpartition("/")[2], path) for path in agents)]

    def _end(self, key: str, start: int) -> int:
        """Return the offset up to which to read a file."""
        if self.stop and not key:
            return self.stop.offset
        return start + transcript.MOST

    def advance(self) -> int:
        """Read new lines and return the units of new work."""
        state, units = self.state, 0
        for key, path in self.sources():
            span = state.spans.setdefault(key, [0, 0, 0])
            end = self._end(key, span[0])
            while span[0] < end and not (self.pause and self.pause()):
                start = span[0] = self.left.after(key, span[0])
                room = min(end, self.left.before(key, start)) - start
                for limit in (min(room, PORTION), room):  # a line may be longer than a portion
                    if span[0] == start and room > 0:
                        units += self._take(path, key, span, limit)
                if span[0] == start:
                    break
        return units

    def _take(self, path: str, key: str, span: list[int], limit: int) -> int:
        """Read new lines of one file; return units of new work."""
        state, units = self.state, 0
        reading = self.source.read(path, span[0], limit, self.ended)
        current, fresh, at = "", True, ""
        after_pause = self.left.began(key, span[0])
        titles, aside = list[Entry](), Facts(branch=state.facts.branch, cwd=state.facts.cwd)
        for entry in reading:
            at = entry.at or at
            self.private.update(_private(entry))
            if after_pause and entry.kind in (entries.SUMMARY, entries.TITLE):
                continue  # the host's words of the whole session
            if entry.kind in (entries.REWIND, entries.TITLE):
                titles += self._standing_title(entry, at)
                continue
            if entry.uuid != current:
                current, fresh = entry.uuid, self._fresh(entry, key)
            if fresh:
                facts = aside if self._is_withdrawn(at) else state.facts
                units += absorb(facts, entry, self.roots, key)
        state.facts.withdraw(aside)
        self._set_titles(titles)
        span[0] = reading.offset
        if not key:
            state.size = reading.offset
        return units

    def _standing_title(self, entry: Entry, at: str) -> list[Entry]:
        """Return [entry] for a title that no rewind took back; take back rewound turns."""
        if entry.kind == entries.REWIND:
            self._take_back(entry.text, entry.at)
            return []
        stands = entry.name == "custom" or not self._is_withdrawn(at)
        return [entry] if stands else []

    def _set_titles(self, titles: list[Entry]) -> None:
        for entry in titles:  # a file begins with the names of other sessions too
            if entry.name != "summary" or progress.short_id(entry.id) in self.known:
                set_session_title(self.state.facts, entry)

    def _fresh(self, entry: Entry, key: str) -> bool:
        """Tell whether an entry is new."""
        if not entry.uuid:
            return True
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
        """Find copies and forks of this session."""
        # Their transcript begins with the same entry, or has the same UUID; forks take
        # history along into their own file.
        mine = progress.identity(self.session)
        states = [name for name in files.visible_names(self.folder) if name.endswith(".json")]
        paused = leftout.names(self.place)
        for name in sorted({*(state[: -len(".json")] for state in states), *paused}):
            if name == self.session:
                continue
            if (
                progress.identity(name) == mine
                or self._first_of(name) == self.state.first
                or name in paused
                and leftout.load(self.place, name).first == self.state.first
            ):
                self.state.kin.append(name)
                self._add_kin(name)

    def _first_of(self, session: str) -> str:
        """Return the first entry of another captured session."""
        firsts = self.heads.firsts
        if not firsts.get(session):
            found = progress.head("%s/%s.json" % (self.folder, session)).get("first")
            firsts[session] = str(found or "")
        return firsts[session]

    def _add_kin(self, name: str) -> None:
        self.foreign |= progress.seen_entry_ids(self.folder + "/" + name + ".json")
        self.foreign |= leftout.load(self.place, name).ids

    def rewind(self, index: int) -> None:
        """Drop the facts since an earlier point, to read them again.

        index: 1 the stretch's start, 2 the last write.
        """
        state = self.state
        for span in state.spans.values():
            span[0] = span[index]
        state.facts = deepcopy(state.bases[index - 1])
        self.known = set()

    def redact(self) -> None:
        """Remove secrets from the facts, all texts at once.

        A value found in one text is removed from every other.
        """
        if self.private:
            self.state.private = True
            self.state.facts = progress.facts_of(
                progress.map_texts(progress.plain(self.state.facts), self._public)
            )
        if not self.settings["redact.enabled"]:
            return
        held: list[str] = []
        value = progress.plain(self.state.facts)
        progress.map_texts(value, held.append)
        allow, salt = self.settings["redact.allow"], self.place.key
        made = redactor.redact(_SEAM.join(held), allow, salt)
        if not made.found:
            return
        self.state.secret = True
        texts = made.text.split(_SEAM)
        if len(texts) != len(held):  # an open PEM block runs to the end and takes the seams along
            texts = [redactor.redact(one, allow, salt).text for one in held]
        rest = iter(texts)
        self.state.facts = progress.facts_of(progress.map_texts(value, lambda _: next(rest)))

    def _public(self, text: str) -> str:
        """Return a text without what was said in <private> parts."""
        if not self.private:
            return text
        from memory.store import privatewords

        return privatewords.take_out(text, self.private, self.place.key)

    def checkpoints_since(self, day: str) -> list[Head]:
        """Return this session's checkpoints since a day."""
        heads = self.heads.since("checkpoints", day)
        return [one for one in heads if one.session == self.session and one.until]

    @cached_property
    def began(self) -> float | None:
        """The instant of the session's first entry."""
        return clock.parse(self.source.began(self.path))

    def _since(self) -> str:
        """Return the instant up to which checkpoints cover the session."""
        told = (
            [] if self.began is None else self.checkpoints_since(clock.day(self.began - clock.DAY))
        )
        # no clock jump
        return max(
            (one.until for one in told if one.until < clock.iso(self.now + clock.DAY)), default=""
        )

    def write(self, trigger: str) -> str:
        """Write the stretch's checkpoint and return its name.

        "" where there is nothing to write.
        """
        state = self.state
        self._leave_changed()
        self._keep_wishes()
        forgotten = conversationfile.is_forgotten(self.place, state, self.session)
        if not is_worth_checkpoint(state.facts) and not (state.name and state.facts.withdrawn):
            if not forgotten:
                self._keep_answered()
            return ""
        if forgotten:
            if not self.checkpoints_since(""):
                return ""
            state.talk = conversationfile.GONE  # the conversation alone was forgotten
        if not state.name:
            self._adopt_twin()
        talk = self._converse()
        name = self._update(trigger, talk) if state.name else self._add(trigger, talk)
        self._mark_written()
        return name

    def _keep_answered(self) -> None:
        """Write an answered conversation without a checkpoint."""
        if is_answered(self.state.facts) or self.state.retold:
            self._converse()

    def _leave_changed(self) -> None:
        """Begin a new checkpoint after a person's change.

        The file is theirs now, and what came since goes into a new one.
        """
        state = self.state
        if not state.name or self._untouched():
            return
        state.name = state.checksum = ""
        conversationfile.close(state)
        self.rewind(2)
        for span in state.spans.values():
            span[1] = span[2]
        state.bases[0] = state.bases[1]
        self.read()

    def _adopt_twin(self) -> None:
        """Take over the checkpoint of a run that died unsaved."""
        state = self.state
        if not state.facts.until:
            return
        ended = min(clock.parse(state.facts.until) or self.now, self.now)
        told = self.checkpoints_since(clock.day(ended - clock.DAY))
        twin = [one.name for one in told if one.until == state.facts.until]
        if twin:
            state.name, state.checksum = twin[-1], files.sha256(self._read(twin[-1]))

    def _mark_written(self) -> None:
        state = self.state
        state.units = 0
        for span in state.spans.values():
            span[2] = span[0]
        state.bases[1] = _bare(progress.carry(state.facts))

    def _untouched(self) -> bool:
        try:
            return files.sha256(self._read(self.state.name)) == self.state.checksum
        except OSError:
            return False

    def _checkout(self, dead: bool) -> tuple[str, str]:
        """Return the (branch, commit) of the work."""
        facts = self.state.facts
        if dead:
            return facts.branch, next((h for h, *_ in reversed(facts.commits) if h), "")
        head = git.head(self.place.git)
        # a trunk was checked out at the end
        left = head.branch in layout.TRUNKS and facts.branch not in layout.TRUNKS
        return facts.branch if left else head.branch, head.commit

    def _meta(self, trigger: str, talk: str) -> dict[str, Any]:
        facts = self.state.facts
        dead = trigger in _PAST  # what is checked out now says nothing about what was done before
        branch, commit = self._checkout(dead)
        return {
            "trigger": trigger,
            "branch": self._public(branch) or None,
            "commit": commit or None,
            "plan": self._plan(dead) or None,
            "until": facts.until or None,
            "conversation": talk or None,
            "unattended": not facts.typed and bool(facts.asked) or None,
            "imported": clock.iso(self.now) if self.imported else None,
        }

    def _converse(self) -> str:
        """Update the session's conversation and return its id."""
        state = self.state
        named = since = ""
        if not state.talk:
            since = clock.day((self.began or self.now) - clock.DAY)
            named = next((one.talk for one in self.checkpoints_since(since) if one.talk), "")
            if self.settings["capture.conversations"]:
                heads = self.heads.since(layout.FOLDERS[conversationfile.KIND], since)
                conversationfile.find(
                    self.place, state, [one.name for one in heads if one.session == self.session]
                )
        id = conversationfile.keep(self._store(), self.settings, state, self.session, named)
        self.heads.forget(state.talk)
        return id

    def _keep_wishes(self) -> None:
        """Keep the user's standing wishes."""
        facts = self.state.facts
        forgotten = conversationfile.is_forgotten(self.place, self.state, self.session)
        if self.settings["capture.wishes"] and facts.typed and not forgotten:
            wishes.keep(self._store(), facts.turns, self.session)

    def _plan(self, dead: bool) -> str:
        """Return the id of the plan active at the stretch's end, or ""."""
        keeper = store.Store(self.place, self.settings, self.now)
        if not any(keeper.names(("plan",))):
            return ""
        from memory.store import activeplan

        ended = clock.parse(self.state.facts.until) if dead else None
        at = self.now if ended is None else ended
        return activeplan.plan_between(keeper, at, at)

    def _add(self, trigger: str, talk: str) -> str:
        state, instant, facts = self.state, self.now, self.state.facts
        if trigger in _PAST:
            instant = min(clock.parse(facts.until) or instant, instant)
        meta = {**self._head(facts, clock.iso(instant)), **self._meta(trigger, talk)}
        record = self._store(instant).add(
            "checkpoint",
            meta.pop("title"),
            checkpointpage.body(facts),
            tags=meta.pop("tags") or (),
            source="auto",
            session=self.session,
            extra={key: value for key, value in meta.items() if value is not None},
        )
        state.name, state.checksum = record.name, record.checksum
        self.heads.forget(record.name)
        return record.name

    def _store(self, now: float = 0.0) -> store.Store:
        """Return the store as of an instant."""
        return store.Store(self.place, self.settings, now or self.now, on_change=self.on_change)

    def _read(self, name: str) -> bytes:
        return files.read(self.place.path(name), 64 << 20)

    def _is_told(self, page: frontmatter.Page, talk: str) -> bool:
        """Tell whether a checkpoint has the facts and the conversation."""
        same = page.body.strip() == checkpointpage.body(self.state.facts).strip()
        return same and (not talk or page.meta.get("conversation") == talk)

    def _update(self, trigger: str, talk: str) -> str:
        state = self.state
        old = self._read(state.name)
        page = frontmatter.parse(old)
        meta = self._meta(trigger, talk)
        if trigger in (page.meta.get("trigger"), "recovery") and self._is_told(page, talk):
            return ""
        again = self.imported or trigger == "switch"  # the same work, told better
        when = page.meta.get("updated") if again else clock.iso(self.now)
        changes = {**self._head(state.facts, page.meta.get("created")), "updated": when}
        # a deleted conversation stays named
        meta["conversation"] = talk or page.meta.get("conversation")
        # the session worked for this plan, whatever became of it
        meta["plan"] = meta["plan"] or page.meta.get("plan")
        # the checkpoint written at that time knew these better than a recovery does
        if trigger == "recovery" and page.meta.get("trigger") != trigger:
            meta.update(
                {key: page.meta.get(key) or meta[key] for key in ("trigger", "branch", "commit")}
            )
        state.checksum = self._replace(
            state.name, old, {**changes, **meta}, state.facts, state.checksum
        )
        return state.name

    def close(self) -> None:
        """End the stretch: later work opens the next checkpoint."""
        state = self.state
        self._close_row()
        conversationfile.close(state)
        for span in state.spans.values():
            span[1] = span[2] = span[0]
        state.facts = progress.carry(state.facts)
        base = _bare(state.facts)
        state.bases = [base, base]
        state.name = state.checksum = ""
        state.units, state.secret = 0, False

    def _close_row(self) -> None:
        """Keep this stretch's offsets for a later rewind."""
        state = self.state
        start, end = ({key: span[at] for key, span in state.spans.items()} for at in (1, 0))
        if start != end:
            mark, title = self._marks(state.name) if state.name else ("", "")
            row = progress.Closed(
                state.name,
                mark,
                title,
                start,
                end,
                state.facts.until,
                progress.plain(state.bases[0]),
                state.day,
            )
            state.closed = [*state.closed, row][-_ROWS:]


def _private(entry: Entry) -> set[str]:
    """Return what a line of the user's says in <private> parts."""
    if entry.kind not in _TYPED or not any("privat" in text.lower() for text in entry.raw_texts):
        return set()
    from memory.store import privatewords

    return privatewords.values(entry.raw_texts)


def _bare(facts: Facts) -> Facts:
    """Return a copy of facts without the output of passing runs.

    It is learnt anew where the facts are read again.  Kept in each base it made up half of the
    state, which is written at the end of every stretch.
    """
    return deepcopy(replace(facts, printed={}))


def subject(event: dict[str, Any], env: dict[str, str]) -> tuple[str, str]:
    """Return (session, transcript's path) of a hook's event.

    ("", "") where the session is no person's.
    """
    session = layout.safe_id(event.get("session_id"))
    if not session or event.get("agent_id") or env.get(boundary.NESTED):
        return "", ""
    path = transcript.trusted(event.get("transcript_path"), env)
    if not path:
        from memory.session import whereabouts  # it moved, or is not there yet

        path = whereabouts.find(env, session)
    return (session, path) if path else ("", "")


def capture(
    place: layout.Place,
    settings: config.Config,
    env: dict[str, str],
    now: float,
    session: str,
    path: str,
    trigger: str,
    said: str = "",
    on_change: OnChange = None,
    pause: Callable[[], bool] | None = None,
) -> str:
    """Capture one session up to now.

    path: what `transcript.trusted` returned.  trigger: stop | pre_compact | session_end | recovery.
    said: the model's last statement where the transcript may lag (Stop).  pause: see Capture.
    Returns the name of the checkpoint written, or "".
    """
    with files.Lock(place.cache + "/sessions/" + session + ".lock", wait=trigger != "stop") as held:
        if not held:
            return ""
        made = Capture(
            place,
            settings,
            env,
            now,
            session,
            path,
            on_change,
            ended=trigger == "recovery",
            pause=pause,
        )
        stops = progress.switches(path, made.state.spans.get("", [0])[0], made.state.facts.branch)
        for made.stop in stops:
            if trigger == "stop" and made.waits():
                return made.run(trigger)  # what follows is read with the next turn
            made.run("switch")
        made.stop = None
        return made.run(trigger, said)
