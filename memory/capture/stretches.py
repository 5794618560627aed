"""Capture: a session's transcript to checkpoints.

A checkpoint covers one stretch of a session.  Stop writes or updates it after enough new work;
PreCompact, SessionEnd, recovery, another branch or sender write and close it, and later work opens
the next.

Without its state (`progress`) a session's transcript is read again, from the entries after `until`
in the frontmatter of its checkpoints (the instant of the last entry told).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from memory.capture import checkpointpage, conversationfile, leftout, progress, wishes
from memory.capture.checkpointpage import has_answer, is_worth_checkpoint
from memory.capture.facts import Facts, add_early_statement, add_entry, set_session_title
from memory.capture.progress import READ, START, WRITTEN, CaptureState, RecordHead, RecordHeads
from memory.core import boundary, clock, config, files, frontmatter, layout
from memory.core.records import Record
from memory.session import entries, git, transcript, whereabouts
from memory.session.entries import Entry
from memory.session.rewinds import WithdrawnSpan
from memory.session.transcript import StretchEnd, TranscriptReader
from memory.store import redactor, store, writer

# new edits, commands and prompts after which a Stop writes the checkpoint
STOP_AFTER = 8
# kinds of entries with the user's words
_TYPED = (entries.PROMPT, entries.SLASH, entries.STEER, entries.BANG)
_PAST = ("recovery", "switch")  # triggers after a stretch has ended
_SPANS, _ROWS = 200, 12  # spans withdrawn by rewinds; ended stretches that can be read again
PORTION = 8 << 20  # bytes of a transcript that are read before `pause` is asked
_SEAM = "\n\x1e\n"  # `entries.clean` leaves no such character in a text


@dataclass(eq=False)
class Capture:
    """A worker's run for one session, under the session's lock.

    stop: the end of an earlier stretch to be captured.
    ended: nobody writes the transcript any more.
    imported: the records are marked as imported.
    pause: tells after each PORTION whether to leave the rest for the next capture.
    shared_heads: shared with other captures.
    """

    place: layout.Place
    settings: config.Config
    env: dict[str, str]
    now: float
    session: str
    path: str
    on_change: Callable[[str], None] | None = None
    stop: StretchEnd | None = None
    ended: bool = False
    imported: bool = False
    source: TranscriptReader = transcript
    pause: Callable[[], bool] | None = None
    shared_heads: RecordHeads | None = None

    def __post_init__(self) -> None:
        self.folder, self.statement = self.place.cache + "/sessions", ""
        self.roots = self.place.root, self.place.project
        self.left = leftout.load(self.place, self.session)
        self.foreign: set[str] = set(self.left.ids)
        self.rewound = ""  # the first instant that a rewind read here withdrew
        self.heads = self.shared_heads or RecordHeads(self.place)
        state_path = self.folder + "/" + self.session + ".json"
        loaded = progress.load(state_path)
        self.state = loaded or CaptureState(state_path)
        if loaded is None:
            self.state.since = self._find_covered_until()
        self.private: set[str] = set()  # the words of <private> parts
        if self.state.private:
            before = self.source.read(self.path, 0, self.state.offset)
            self.private = {word for entry in before for word in _find_private_words(entry)}
        self.state.imported = clock.iso(self.now) if self.imported else ""
        self.known = set(self.state.seen)
        for name in self.state.kin:
            self._add_kin(name)

    def run(self, trigger: str, statement: str = "") -> str:
        """Read new entries; return the name of the checkpoint written, or ""."""
        state, self.statement, name = self.state, entries.clean(statement), ""
        self._catch_up()
        closing = trigger != "stop" and self.ends()
        is_due = trigger == "stop" and state.units >= STOP_AFTER
        if closing or is_due:
            name = self.write(trigger)
        if closing:
            self.close()
        if self._is_forgotten():
            progress.forget_texts(state)
        progress.save(state)
        return name

    def _catch_up(self) -> None:
        """Read new entries; after a rewind or with a secret, earlier ones again."""
        state = self.state
        secret, until = state.secret, state.facts.until
        state.units += self.read()
        if self.rewound:
            self._read_again()
        if secret and (self.statement or state.facts.until != until):
            # a new entry may hold a secret whose label stands before
            self.rewind(START)
            self.read()

    def _is_forgotten(self) -> bool:
        """Tell whether a person forgot all records of the session."""
        place, talk = self.place, self.state.talk
        is_kept = talk.startswith("p/") and files.exists(place.path(talk))
        if is_kept or self.checkpoints_since(""):
            return False
        root = place.home + "/workspaces/"
        if not any(files.is_folder(root + key + "/archive") for key in files.list_folder(root)):
            return False
        from memory.store import conversations

        return conversations.was_forgotten(place, self.session)

    def ends(self) -> bool:
        """Tell whether the stretch ends at the end of what was read."""
        return self.stop is None or not self.stop.switch or self._was_work_left() is not False

    def is_undecided(self) -> bool:
        """Read to a switch of branches; tell whether later entries decide it."""
        self.state.units += self.read()
        return bool(self.stop and self.stop.switch) and self._was_work_left() is None

    def _was_work_left(self) -> bool | None:
        reading = self.source.read(self.path, self.stop.offset if self.stop else 0)
        left = progress.was_work_left(self.state.facts, reading, self.roots)
        reading.close()
        return left

    def read(self) -> int:
        """Read and redact all new entries; return how much work they hold."""
        units = self.advance()
        if self.statement and not self.state.facts.muted:
            add_early_statement(self.state.facts, self.statement)
        self.redact()
        self.state.facts.forget_inputs()
        return units

    def _read_again(self) -> None:
        """Read all stretches again, from the first that a rewind withdrew."""
        state = self.state
        base: Facts | None = None
        for row in state.closed:
            if row.until >= self.rewound:
                base = self._reread_stretch(row, base or progress.parse_facts(row.base))
        if base:
            state.bases = [base, base]
        self.rewound = ""
        self.rewind(START)
        state.units += self.read() + STOP_AFTER  # it is written at once

    def _reread_stretch(self, row: progress.ClosedStretch, base: Facts) -> Facts:
        """Read an ended stretch again; return the facts for the next stretch."""
        again = copy(self)
        again.state = CaptureState(
            "",
            self.state.first,
            spans={key: [at, at, at] for key, at in row.start.items()},
            facts=deepcopy(base),
            bases=[base, base],
            spans_taken=self.state.spans_taken,
        )
        again.known, again.statement = set(), ""
        again.stop = StretchEnd(row.end.get("", 0), row.until)
        again.read()
        row.base = progress.serialize_facts(base)
        self.state.retold += again.state.facts.all_turns
        if row.name:
            self._rewrite_checkpoint(row, again.state.facts)
        return progress.carry_over(again.state.facts)

    def _rewrite_checkpoint(self, row: progress.ClosedStretch, facts: Facts) -> None:
        """Rewrite a checkpoint that no person changed or removed."""
        try:
            old = self._read_record(row.name)
        except OSError:
            return
        page = frontmatter.parse(old)
        if writer.body_checksum(page.body) != row.mark:
            return
        changes = self._make_head(facts, page.meta.get("created"))
        changes["updated"] = clock.iso(self.now)
        if page.meta.get("title") != row.title:
            del changes["title"], changes["aliases"]
        self._replace_page(row.name, old, changes, facts, files.sha256(old))
        row.mark, row.title = self._read_marks(row.name)

    def _replace_page(
        self, name: str, old: bytes, changes: dict[str, Any], facts: Facts, checksum: str
    ) -> str:
        """Rewrite a checkpoint unless its checksum changed; return the new checksum."""
        data = frontmatter.edit(old, changes)
        body = checkpointpage.render_body(facts).encode("utf-8")
        data = data[: frontmatter.split_head(data)[1]] + b"\n" + body
        self.heads.forget(name)
        return self._open_store().replace(name, data, checksum).checksum

    def _make_head(self, facts: Facts, created: object) -> dict[str, Any]:
        """Return a checkpoint's title, aliases, tags and files."""
        day = clock.day(clock.parse(str(created)) or self.now)
        heads = self.heads.list_day("checkpoints", day)
        taken = {head.title for head in heads if head.name != self.state.name}
        title, aliases = checkpointpage.choose_title(facts, taken)
        made, changed = checkpointpage.list_files(facts)
        return {
            "title": title,
            "aliases": aliases or None,
            "tags": checkpointpage.list_tags(facts) or None,
            "files": (changed + made)[:40] or None,
        }

    def _read_marks(self, name: str) -> tuple[str, str]:
        """Return (text's hash, title) of a checkpoint, ("", "") if unreadable."""
        try:
            page = frontmatter.parse(self._read_record(name))
        except OSError:
            return "", ""
        return writer.body_checksum(page.body), str(page.meta.get("title") or "")

    def _record_rewind(self, since: str, until: str) -> None:
        spans = self.state.spans_taken
        if not any(span.since <= since and until <= span.until for span in spans):
            kept = [span for span in spans if span.since < since or span.until > until]
            spans[:] = [*kept, WithdrawnSpan(since, until)][-_SPANS:]
            self.rewound = min(self.rewound or since, since)

    def _is_withdrawn(self, at: str) -> bool:
        return any(span.contains(at) for span in self.state.spans_taken)

    def sources(self) -> list[tuple[str, str]]:
        """Return (key in the spans, path) of the transcript and its subagents'."""
        agents, stop = self.source.agents(self.path, self.env), self.stop
        if stop:
            agents = [path for path in agents if self.source.began(path) <= stop.at]
        return [("", self.path), *((path.rpartition("/")[2], path) for path in agents)]

    def advance(self) -> int:
        """Read new lines; return how much new work they hold."""
        state, units = self.state, 0
        for key, path in self.sources():
            span = state.spans.setdefault(key, [0, 0, 0])
            end = self.stop.offset if self.stop and not key else span[READ] + transcript.READ_LIMIT
            while span[READ] < end and not (self.pause and self.pause()):
                start = span[READ] = self.left.next_readable(key, span[READ])
                units += self._read_portion(path, key, span, end)
                if span[READ] == start:
                    break
        return units

    def _read_portion(self, path: str, key: str, span: list[int], end: int) -> int:
        start, units = span[READ], 0
        room = min(end, self.left.next_pause(key, start)) - start
        for limit in (min(room, PORTION), room):  # all, where a line is longer
            if span[READ] == start and room > 0:
                units += self._read_file(path, key, span, limit)
        return units

    def _read_file(self, path: str, key: str, span: list[int], limit: int) -> int:
        state, units = self.state, 0
        reading = self.source.read(path, span[READ], limit, self.ended)
        uuid, is_new, at = "", True, ""
        after_pause = self.left.follows_pause(key, span[READ])
        titles = list[Entry]()
        withdrawn = Facts(branch=state.facts.branch, cwd=state.facts.cwd)
        for entry in reading:
            at = entry.at or at
            self.private.update(_find_private_words(entry))
            if after_pause and entry.kind in (entries.SUMMARY, entries.TITLE):
                continue  # the host's words of the whole session
            if entry.kind in (entries.REWIND, entries.TITLE):
                titles += self._handle_title(entry, at)
                continue
            if entry.uuid != uuid:
                uuid, is_new = entry.uuid, self._is_new(entry, key)
            if is_new:
                facts = withdrawn if self._is_withdrawn(at) else state.facts
                units += add_entry(facts, entry, self.roots, key)
        state.facts.withdraw(withdrawn)
        self._set_titles(titles)
        span[READ] = reading.offset
        if not key:
            state.size = reading.offset
        return units

    def _handle_title(self, entry: Entry, at: str) -> list[Entry]:
        """Record a rewind; return [entry] for a title that was not withdrawn."""
        if entry.kind == entries.REWIND:
            self._record_rewind(entry.text, entry.at)
            return []
        return [entry] if entry.name == "custom" or not self._is_withdrawn(at) else []

    def _set_titles(self, titles: list[Entry]) -> None:
        for entry in titles:  # a file begins with the names of other sessions too
            if entry.name != "summary" or progress.shorten_id(entry.id) in self.known:
                set_session_title(self.state.facts, entry)

    def _is_new(self, entry: Entry, key: str) -> bool:
        """Tell whether an entry is this session's own and unread."""
        if not entry.uuid:
            return True
        state = self.state
        if not state.first and not key:
            state.first = entry.uuid
            self._find_kin()
        short = progress.shorten_id(entry.uuid)
        if short in self.foreign or short in self.known:
            return False
        self.known.add(short)
        state.seen.add(short)
        return not state.since or entry.at > state.since

    def _find_kin(self) -> None:
        """Find forks: other sessions with the same first entry."""
        mine, first = progress.extract_uuid(self.session), self.state.first
        states = set(whereabouts.list_stems(self.folder, ".json"))
        paused = set(leftout.list_paused_sessions(self.place))
        for name in sorted((states | paused) - {self.session}):
            is_kin = progress.extract_uuid(name) == mine or self._read_first_entry(name) == first
            if is_kin or (name in paused and leftout.load(self.place, name).first == first):
                self.state.kin.append(name)
                self._add_kin(name)

    def _read_first_entry(self, session: str) -> str:
        firsts = self.heads.firsts
        if not firsts.get(session):
            head = progress.read_head("%s/%s.json" % (self.folder, session))
            firsts[session] = str(head.get("first") or "")
        return firsts[session]

    def _add_kin(self, name: str) -> None:
        self.foreign |= progress.read_seen_ids(self.folder + "/" + name + ".json")
        self.foreign |= leftout.load(self.place, name).ids

    def rewind(self, to: int) -> None:
        """Move offsets and facts back to START or WRITTEN."""
        state = self.state
        for span in state.spans.values():
            span[READ] = span[to]
        state.facts = deepcopy(state.bases[to - START])
        self.known = set()

    def redact(self) -> None:
        """Remove secrets from all texts of the facts at once."""
        value = progress.serialize_facts(self.state.facts)
        if self.private:
            self.state.private = True
            value = progress.map_texts(value, self._make_mask())
            self.state.facts = progress.parse_facts(value)
        if not self.settings["redact.enabled"]:
            return
        texts: list[str] = []
        progress.map_texts(value, texts.append)
        allow, salt = self.settings["redact.allow"], self.place.key
        redacted = redactor.redact(_SEAM.join(texts), allow, salt)
        if not redacted.found:
            return
        self.state.secret = True
        parts = redacted.text.split(_SEAM)
        if len(parts) != len(texts):  # an open PEM block runs to the end and takes the seams along
            parts = [redactor.redact(text, allow, salt).text for text in texts]
        rest = iter(parts)
        self.state.facts = progress.parse_facts(progress.map_texts(value, lambda _: next(rest)))

    def _make_mask(self) -> Callable[[str], str]:
        if not self.private:
            return str
        from memory.store import privatewords

        return privatewords.make_mask(self.private, self.place.key)

    def checkpoints_since(self, day: str) -> list[RecordHead]:
        heads = self.heads.list_since("checkpoints", day)
        return [head for head in heads if head.session == self.session and head.until]

    @cached_property
    def began(self) -> float | None:
        return clock.parse(self.source.began(self.path))

    def _find_covered_until(self) -> str:
        """Return the instant up to which present or former records tell, or ""."""
        if self.began is None:
            return ""
        since = clock.day(self.began - clock.DAY)
        ends = self._list_removed_until()
        for folder in ("checkpoints", "conversations"):
            for path in (folder, "archive/" + folder):
                heads = self.heads.list_since(path, since)
                ends += [head.until for head in heads if head.session == self.session]
        latest = clock.iso(self.now + clock.DAY)  # a later instant is of a wrong clock
        return max((end for end in ends if end < latest), default="")

    def _list_removed_until(self) -> list[str]:
        if not files.is_folder(self.place.private + "/archive"):
            return []
        from memory.store import conversations

        return conversations.list_removed_until(self.place, self.session)

    def write(self, trigger: str) -> str:
        """Write the stretch's checkpoint and return its name, "" for none."""
        state = self.state
        self._leave_edited_file()
        if self._is_forgotten():
            return ""
        self._keep_wishes()
        if not is_worth_checkpoint(state.facts) and not (state.name and state.facts.withdrawn):
            self._keep_answer()
            self._keep_name()
            return ""
        if not state.name:
            self._adopt_twin()
        # a crash behind the conversation would else leave its turns without a checkpoint
        if not files.exists(state.path):
            progress.save(CaptureState(state.path, since=state.since), synced=True)
        talk = self._update_conversation()
        write = self._update_checkpoint if state.name else self._add_checkpoint
        name = write(trigger, talk)
        self._keep_name()
        self._mark_written()
        return name

    def _keep_wishes(self) -> None:
        facts = self.state.facts
        if self.settings["capture.wishes"] and facts.typed:
            keeper = self._open_store()
            wishes.save_wishes(keeper, facts.turns, self.session)
            wishes.withdraw_wishes(keeper, [*self.state.retold, *facts.all_turns], self.session)

    def _keep_answer(self) -> None:
        """Update the conversation alone for an answer, or if more turns follow."""
        state = self.state
        # more turns follow, or a conversation goes on
        if self.stop or has_answer(state.facts) or state.retold or state.talk:
            self._update_conversation()

    def _keep_name(self) -> None:
        """Add the user's name for the session to records without it."""
        state, named = self.state, checkpointpage.find_given_name(self.state.facts)
        if not named:
            return

        def add_alias(record: Record) -> dict[str, Any]:
            known = named in (record.title, *record.aliases)
            return {} if known else {"aliases": [*record.aliases, named]}

        # the last checkpoint, where no open one bears the name, and the conversation
        rows = [] if state.name else [row for row in state.closed if row.name][-1:]
        names = [row.name for row in rows if self._read_marks(row.name) == (row.mark, row.title)]
        names += [state.talk] if conversationfile.is_unedited(self.place, state.talk) else []
        for name in names:
            self._open_store().edit(name, add_alias, bookkeeping=True)

    def _leave_edited_file(self) -> None:
        """Begin a new checkpoint if a person changed the open one."""
        state = self.state
        if not state.name or self._is_unedited():
            return
        state.name = state.checksum = ""
        conversationfile.end_stretch(state)
        self.rewind(WRITTEN)
        for span in state.spans.values():
            span[START] = span[WRITTEN]
        state.bases[0] = state.bases[1]
        self.read()

    def _adopt_twin(self) -> None:
        """Take over the checkpoint of a run that died before saving."""
        state = self.state
        if not state.facts.until:
            return
        ended = min(clock.parse(state.facts.until) or self.now, self.now)
        for head in self.checkpoints_since(clock.day(ended - clock.DAY)):
            if head.until == state.facts.until:
                state.name, state.checksum = head.name, files.sha256(self._read_record(head.name))

    def _mark_written(self) -> None:
        state = self.state
        state.units = 0
        for span in state.spans.values():
            span[WRITTEN] = span[READ]
        state.bases[1] = _copy_without_output(progress.carry_over(state.facts))

    def _is_unedited(self) -> bool:
        try:
            return files.sha256(self._read_record(self.state.name)) == self.state.checksum
        except OSError:
            return False

    def _find_checkout(self, is_past: bool) -> tuple[str, str]:
        """Return the work's (branch, commit).  is_past: by its facts, not by HEAD."""
        facts = self.state.facts
        if is_past:
            return facts.branch, next((hash for hash, *_ in reversed(facts.commits) if hash), "")
        head = git.read_head(self.place.git)
        # a trunk was checked out at the end
        is_left = head.branch in layout.TRUNKS and facts.branch not in layout.TRUNKS
        return facts.branch if is_left else head.branch, head.commit

    def _make_frontmatter(self, trigger: str, talk: str) -> dict[str, Any]:
        facts = self.state.facts
        is_past = trigger in _PAST  # the present checkout is not that of the work
        branch, commit = self._find_checkout(is_past)
        return {
            "trigger": trigger,
            "branch": self._make_mask()(branch) or None,
            "commit": commit or None,
            "plan": self._find_plan(is_past) or None,
            "since": self._find_start() or None,
            "until": facts.until or None,
            "conversation": talk or None,
            "unattended": facts.is_unattended or None,
            "imported": self.state.imported or None,
        }

    def _find_start(self) -> str:
        """Return when the first turn began, "" if in the last minute."""
        facts = self.state.facts
        at = facts.turns[0].at if facts.turns else ""
        return at if at[:16] < facts.until[:16] else ""

    def _update_conversation(self) -> str:
        state, named = self.state, ""
        if not state.talk:
            since = clock.day((self.began or self.now) - clock.DAY)
            named = next(filter(None, (head.talk for head in self.checkpoints_since(since))), "")
            if self.settings["capture.conversations"]:
                heads = self.heads.list_since(layout.FOLDERS[conversationfile.KIND], since)
                names = [head.name for head in heads if head.session == self.session]
                conversationfile.resume_newest(self.place, state, names)
        keeper = self._open_store()
        id = conversationfile.update_file(keeper, self.settings, state, self.session, named)
        self.heads.forget(state.talk)
        return id

    def _find_plan(self, is_past: bool) -> str:
        keeper = self._open_store()
        if not any(keeper.names(("plan",))):
            return ""
        from memory.store import activeplan

        ended = clock.parse(self.state.facts.until) if is_past else None
        at = self.now if ended is None else ended
        return activeplan.find_plan_between(keeper, at, at)

    def _add_checkpoint(self, trigger: str, talk: str) -> str:
        state, facts = self.state, self.state.facts
        instant = min(clock.parse(facts.until) or self.now, self.now)
        head = self._make_head(facts, clock.iso(instant))
        meta = {**head, **self._make_frontmatter(trigger, talk)}
        record = self._open_store(instant).add(
            "checkpoint",
            meta.pop("title"),
            checkpointpage.render_body(facts),
            tags=meta.pop("tags") or (),
            source="auto",
            session=self.session,
            extra={key: value for key, value in meta.items() if value is not None},
        )
        state.name, state.checksum = record.name, record.checksum
        self.heads.forget(record.name)
        return record.name

    def _open_store(self, now: float = 0.0) -> store.Store:
        return store.Store(self.place, self.settings, now or self.now, on_change=self.on_change)

    def _read_record(self, name: str) -> bytes:
        return files.read(self.place.path(name), 64 << 20)

    def _is_told(self, page: frontmatter.Page, talk: str) -> bool:
        """Tell whether a checkpoint's page already holds all facts."""
        same = page.body.strip() == checkpointpage.render_body(self.state.facts).strip()
        return same and (not talk or page.meta.get("conversation") == talk)

    def _update_checkpoint(self, trigger: str, talk: str) -> str:
        state = self.state
        old = self._read_record(state.name)
        page = frontmatter.parse(old)
        meta = self._make_frontmatter(trigger, talk)
        if trigger in (page.meta.get("trigger"), "recovery") and self._is_told(page, talk):
            return ""
        is_same_work = self.imported or trigger == "switch"
        updated = page.meta.get("updated") if is_same_work else clock.iso(self.now)
        changes = {**self._make_head(state.facts, page.meta.get("created")), "updated": updated}
        # a deleted conversation stays named
        meta["conversation"] = talk or page.meta.get("conversation")
        # the session worked for this plan, whatever became of it
        meta["plan"] = meta["plan"] or page.meta.get("plan")
        # a checkpoint written at the time knew these better than a recovery does
        if trigger == "recovery" and page.meta.get("trigger") != trigger:
            keys = ("trigger", "branch", "commit")
            meta.update({key: page.meta.get(key) or meta[key] for key in keys})
        changes.update(meta)
        state.checksum = self._replace_page(state.name, old, changes, state.facts, state.checksum)
        return state.name

    def close(self) -> None:
        """End the stretch; later work opens the next checkpoint."""
        state = self.state
        self._keep_offsets()
        conversationfile.end_stretch(state)
        for span in state.spans.values():
            span[START] = span[WRITTEN] = span[READ]
        state.facts = progress.carry_over(state.facts)
        base = _copy_without_output(state.facts)
        state.bases = [base, base]
        state.name = state.checksum = ""
        state.units, state.secret = 0, False

    def _keep_offsets(self) -> None:
        """Keep the offsets of this stretch for a later rewind."""
        state = self.state
        start, end = ({key: span[at] for key, span in state.spans.items()} for at in (START, READ))
        if start != end:
            mark, title = self._read_marks(state.name) if state.name else ("", "")
            until, base = state.facts.until, progress.serialize_facts(state.bases[0])
            row = (state.name, mark, title, start, end, until, base, state.day)
            state.closed = [*state.closed, progress.ClosedStretch(*row)][-_ROWS:]


def _find_private_words(entry: Entry) -> set[str]:
    if entry.kind not in _TYPED or not any("privat" in text.lower() for text in entry.raw_texts):
        return set()
    from memory.store import privatewords

    return privatewords.extract_words(entry.raw_texts)


def _copy_without_output(facts: Facts) -> Facts:
    # half of a state's bytes; a later reading learns it anew
    return deepcopy(replace(facts, printed={}))


def find_session(event: dict[str, Any], env: dict[str, str]) -> tuple[str, str]:
    """Return (session, transcript's path) of an event, ("", "") for none."""
    session = layout.valid_id(event.get("session_id"))
    if not session or event.get("agent_id") or env.get(boundary.NESTED):
        return "", ""
    path = transcript.validate_path(event.get("transcript_path"), env)
    path = path or whereabouts.find_transcript(env, session)  # it moved, or is not there yet
    return (session, path) if path else ("", "")


def capture(
    place: layout.Place,
    settings: config.Config,
    env: dict[str, str],
    now: float,
    session: str,
    path: str,
    trigger: str,
    statement: str = "",
    on_change: Callable[[str], None] | None = None,
    pause: Callable[[], bool] | None = None,
) -> str:
    """Capture one session up to now.

    path: from `transcript.validate_path`.  trigger: stop | pre_compact | session_end | recovery.
    statement: the model's last one, which the transcript may lack (Stop).  pause: see Capture.
    Returns the name of the checkpoint written, or "".
    """
    lock = files.Lock(place.cache + "/sessions/" + session + ".lock", wait=trigger != "stop")
    with lock as is_locked:
        if not is_locked:
            return ""
        ended = trigger == "recovery"
        run = Capture(place, settings, env, now, session, path, on_change, ended=ended, pause=pause)
        start, facts = run.state.offset, run.state.facts
        stops = progress.find_branch_switches(path, start, facts.branch, facts.sent)
        for run.stop in stops:
            if trigger == "stop" and run.is_undecided():
                return run.run(trigger)  # the rest is read with the next turn
            run.run("switch")
        run.stop = None
        return run.run(trigger, statement)
