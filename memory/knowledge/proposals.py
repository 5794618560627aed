"""Checkpoints and conversations to proposals: what a person may want to keep as a learning.  No model is asked.

    said       what a conversation's turns state for good: rules, wishes, plans and answers of the user's, root causes, limits,
               reasons; causes that several sessions name of the same things stand as one, and a user's later word alone
    failure    the same failure in two sessions, or twice in one checkpoint with a fix each time, and a cause that somebody
               named; what made it pass
    decision   a choice or change with its reason, or a cause; it names something technical, or two checkpoints say
               it, or a person called it one in a note
    fact       what at least three checkpoints of at least two sessions state in nearly the same words

Of a session with a conversation the checkpoints tell failures alone.  A checkpoint without a session counts as one of its
day's.  The newest wording stands for those that say the same.  Order: score, then key.  What is known (an accepted learning, a
candidate, an archived one, by key or by its words) is not proposed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from memory.capture import checkpointpage, conversationpage, gist, turns, upshot
from memory.capture.fixes import key_of, signature
from memory.core import clock, plaintext, tokeniser
from memory.core.plaintext import one_line, short
from memory.core.records import MADE_OF, Record
from memory.distill.digests import Bullet, Source, clean
from memory.distill.units import units
from memory.knowledge import outlived, statements
from memory.knowledge.statements import Shelf, Statement, Told
from memory.session import deeds, lasting

LIMIT, TITLE = 10, 80  # proposals; characters of a title
FACT_CHECKPOINTS, SESSIONS = 3, 2
_PATH = re.compile(r"(?<!\S)\S{1,80}(?::\d{1,80}){1,40}\S{0,80}|\S{0,80}/\S{1,80}")
_FILE = re.compile(r"\.(?:go|py|[jt]sx?|json|md|ya?ml|toml|rs|java|sh|txt|lock|sql|css|html)$")
_EMPTY = frozenset("error fail failed exit code line not no is the of in to but it".split())
SAME_QUESTION, FEWEST, SAME_THINGS = 0.7, 3, 2  # share and number of words of two questions, names of two causes, that both have
_MODELS = (statements.CAUSED, statements.LIMITED, statements.CHOSEN, statements.FOUNDED)  # what the model says
_BRACKET = re.compile(r"(?<!\s)\s*\[([^\[\]\n]{1,400})\](?!\()")
MOST_TAGS, MOST_CITED = 3, 12
FACT, FLOOR = 0.4, 0.44  # weight of a fact; score of a proposal
ABOUT, WHOLE = 2, 60  # words that a request shares with what was said there; terms up to which a learning is compared whole too


@dataclass(frozen=True)
class Proposal:
    """A learning that a person may accept.

    body: markdown.  from_ids: the checkpoints it rests on, oldest first.  reason: why it is proposed, one line.  key: 16 hex
    digits of what it was made of.  score: 0 to 1.
    """

    title: str
    body: str
    tags: tuple[str, ...]
    from_ids: tuple[str, ...]
    reason: str
    key: str
    score: float


@dataclass(frozen=True)
class _Draft:
    """A proposal with the words that it is compared by."""

    proposal: Proposal
    said: str


def harvest(checkpoints: Sequence[Record], known: Sequence[Record], limit: int = LIMIT,
            talks: Sequence[Record] = ()) -> list[Proposal]:
    """Propose learnings from checkpoints and conversations, best first, at most `limit`.

    known: learnings of every standing, archived ones too.  talks: conversations.
    """
    ordered = sorted(checkpoints, key=lambda record: (record.created, record.id))
    heard = {session(record) for record in talks}
    noted = [statement for record in ordered if session(record) not in heard for statement in statements.statements(record)]
    held = [(record, conversationpage.parse(record.body, clock.day(record.created)))
            for record in sorted(talks, key=lambda record: (record.created, record.id))]
    gone = outlived.taken_away(turn for _, said in held for turn in said)
    said = [told for record, every in held for told in statements.of_talk(record, every)
            if told.kind not in _MODELS or not any(gone.get(name, "") > told.at for name in told.names)]
    taught = {(str(record.meta.get("session")), str(record.meta.get("turn"))) for record in known if "turn" in record.meta}
    drafts = (*_failures(ordered), *_stated(noted), *_said(said, ordered, taught))
    return _fresh(sorted((draft for draft in drafts if draft.proposal.score >= FLOOR),
                         key=lambda draft: (-draft.proposal.score, draft.proposal.key)), known, limit)


def session(record: Record) -> str:
    """Name the session of a checkpoint; without one, its day."""
    said = record.meta.get("session")
    return said if isinstance(said, str) and said else clock.day(record.created)


def _key_of_text(said: str) -> str:
    return key_of("statement", *sorted(statements.terms_of(said)))


class _Known:
    """The learnings there are, and the proposals made: by key, and by what they say."""

    def __init__(self, known: Iterable[Record], drafts: Sequence[_Draft] = ()):
        known = list(known)
        self._keys = {str(record.meta.get(MADE_OF) or "") for record in known}
        said = [(text, statements.terms_of(text)) for record in known for text in _pieces(record)]
        self._shelf = Shelf(statements.frequency([*(terms for _, terms in said),
                                                  *(statements.terms_of(draft.said) for draft in drafts)]))
        for text, terms in said:
            self._shelf.put(text, terms)

    def has(self, said: str, key: str) -> bool:
        """Tell whether something has the key or says the same."""
        return key in self._keys or self._shelf.find(said, statements.terms_of(said)) >= 0

    def add(self, said: str, key: str) -> None:
        """Count something as known."""
        self._keys.add(key)
        self._shelf.put(said, statements.terms_of(said))


def _pieces(record: Record) -> list[str]:
    """Return the texts that a learning is compared by: its title, its sentences, and a short one as a whole."""
    body = clean(record.body)
    source = Source(record.id, record.kind, record.title, record.created, body, record.tier)
    whole = [body] if len(body) < 2000 and len(statements.terms_of(body)) <= WHOLE else []
    return [record.title, *whole, *(unit.text for unit in units(0, source, 2000) if unit.kind in ("prose", "item"))]


def _fresh(drafts: Sequence[_Draft], known: Sequence[Record], limit: int) -> list[Proposal]:
    there = _Known(known, drafts)
    out: list[Proposal] = []
    for draft in drafts:
        if len(out) == limit:
            break
        if not there.has(draft.said, draft.proposal.key):
            there.add(draft.said, draft.proposal.key)
            out.append(draft.proposal)
    return out


# --- Failures ---------------------------------------------------------------------------------------------------------

def _failures(ordered: Sequence[Record]) -> list[_Draft]:
    out = []
    for mark, seen in failures(ordered).items():
        sessions = len({session(one.record) for one in seen})
        if recurs(seen, sessions) and any(one.cause for one in seen):
            out.append(_failure(mark, seen, sessions))
    return out


def _failure(mark: tuple[str, str], seen: Sequence[Seen], sessions: int) -> _Draft:
    fixed = [one for one in seen if one.how]
    taken = Counter(step for one in fixed for step in set(steps(one.how)))
    last, sources = seen[-1], _distinct(one.record for one in seen)
    lines = ["%s fails with" % checkpointpage.quoted(last.command), "", "    " + last.error, "", "What made it pass:", ""]
    lines += ["- %s after %s (%s)" % (clock.day(one.record.created), one.how, one.record.id) for one in fixed[-6:]]
    causes = list(dict.fromkeys(one.cause for one in seen if one.cause))
    lines[4:4] = [*("Cause: " + cause for cause in causes[-3:]), ""]
    told = "failed in %s of %s, %s" % (plaintext.count(len(sources), "checkpoint"), plaintext.count(sessions, "session"),
                                       plaintext.count(len(fixed), "fix"))
    score = min(0.6 + 0.05 * min(len(sources), 4) + 0.1 * (max(taken.values()) > 1), 1.0)
    title = short("`%s` fails: %s" % (mark[0], last.error), TITLE)
    lines += ["", *_cited(sources)] if len(_distinct(one.record for one in fixed[-6:])) < len(sources) else []
    proposal = Proposal(title, "\n".join(lines) + "\n", _tags(sources), tuple(record.id for record in sources), told,
                        key_of("failure", *mark), round(score, 3))
    return _Draft(proposal, mark[0] + " " + last.error)


# --- Decisions and facts ----------------------------------------------------------------------------------------------

def _stated(every: Sequence[Statement]) -> list[_Draft]:
    out = []
    for group in statements.groups(every):
        sources = _distinct(one.record for one in group)
        sessions = len({session(record) for record in sources})
        newest = group[-1]
        technical = statements.names(newest.text) > 0
        if any(map(statements.decides, group)) and (technical or len(sources) > 1 or any(one.resolved for one in group)):
            kind = "a cause" if statements.explains(newest) else "a decision with its reason"
            weight = max(map(statements.weight, group))
            out.append(_statement(kind, newest, sources, sessions, weight))
        elif len(sources) >= FACT_CHECKPOINTS and sessions >= SESSIONS and technical and statements.is_lasting(newest):
            out.append(_statement("stated again and again", newest, sources, sessions, FACT))
    return out


def _statement(kind: str, newest: Statement, sources: Sequence[Record], sessions: int, weight: float) -> _Draft:
    told = "%s, in %s of %s" % (kind, plaintext.count(len(sources), "checkpoint"), plaintext.count(sessions, "session"))
    score = min(weight + 0.1 * min(sessions - 1, 3) + 0.02 * min(len(sources) - 1, 3), 1.0)
    where = one_line(newest.record.title, TITLE) if kind == "a cause" else ""  # what it was the cause of
    context = ["Context: %s" % where, ""] if where and where not in newest.text else []
    body = "\n".join([newest.text, "", *context, *_cited(sources)]) + "\n"
    proposal = Proposal(_title(newest.text), body, _tags(sources), tuple(record.id for record in sources), told,
                        _key_of_text(newest.text), round(score, 3))
    return _Draft(proposal, newest.text)


# --- What conversations say

def _said(every: Sequence[Told], checkpoints: Sequence[Record], taught: Set[tuple[str, str]]) -> list[_Draft]:
    """Make proposals of what conversations state; what says the same, or is a cause of the same things, stands as one.

    taught: (session, turn) of each learning that capture made; what the model said there is known.
    """
    groups: list[list[Told]] = []
    for told in every:
        near = [group for group in groups if any(_akin(told, other) for other in group)]
        groups = [*(group for group in groups if group not in near), [*(other for group in near for other in group), told]]
    return [_of_group(group, checkpoints) for group in groups if (group[0].kind != statements.EXPLAINED or _sessions(group) > 1)
            and not any(told.kind in _MODELS and (session(told.record), str(told.turn)) in taught for told in group)
            and not _is_overturned(group[-1], every)]


def _is_overturned(told: Told, every: Sequence[Told]) -> bool:
    """Tell whether a user later said the opposite of what one said."""
    return told.kind in statements.BY_USER and any(
        later.at > told.at and later.kind in statements.BY_USER and lasting.opposed(told.text, later.text + " " + later.said_to)
        for later in every)


@lru_cache(maxsize=4096)
def _terms(said: str) -> frozenset[str]:
    return statements.terms_of(said)  # of a text that is compared with each other one


def _same_question(one: Told, other: Told) -> bool:
    """Tell whether two answers answer the same question."""
    first, second = _terms(one.asked) - tokeniser.STOP, _terms(other.asked) - tokeniser.STOP
    shared = len(first & second)
    return shared >= FEWEST and shared >= SAME_QUESTION * min(len(first), len(second))


def _sessions(group: Sequence[Told]) -> int:
    return len({session(told.record) for told in group})


def _explains(cause: str, error: str) -> bool:
    """Tell whether a cause speaks of an error: by a word that is no path."""
    return bool(statements.terms_of(cause) & statements.terms_of(_PATH.sub(" ", error)) - _EMPTY)


def _akin(one: Told, other: Told) -> bool:
    """Tell whether two say the same, are causes that share the things they name, in one turn one of them, or came to the same."""
    if one.kind == statements.EXPLAINED or other.kind == statements.EXPLAINED:
        return one.kind == other.kind and _same_question(one, other)
    if statements.alike(_terms(one.text), _terms(other.text)):
        return True
    shared = [name for name in one.names & other.names if "/" not in name and not _FILE.search(name)]
    at_once, kinds = (one.record.id, one.turn) == (other.record.id, other.turn), {one.kind, other.kind}
    return kinds == {statements.CAUSED} and len(shared) >= (1 if at_once else SAME_THINGS) or (
        kinds == {statements.ANSWERED} and at_once and one.came == other.came != "")


def _of_group(group: Sequence[Told], checkpoints: Sequence[Record]) -> _Draft:
    best = max(group, key=lambda told: (statements.weight_of(told), told.at))
    sessions = _sessions(group)
    sources = _distinct(_source(told, checkpoints) for told in group)
    body = [best.text, ""]
    asked = best.asked if best.kind not in (statements.ANSWERED, statements.PLANNED) and best.asked[:1] != "/" else ""
    if best.said_to.startswith(turns.REFUSED):
        body += ["Said when the user %s." % best.said_to, ""]
    if best.message:
        body += ["In full: %s" % best.message, ""]
    elif asked and not upshot.same(asked, best.text) and (best.kind in statements.BY_USER or asked.endswith("?") or (
            deeds.is_whole(asked) and len(upshot.words_of(asked) & upshot.words_of(best.text)) >= ABOUT)):
        body += ["Asked: %s" % asked, ""]
    if best.kind in statements.BY_USER and statements.names(best.text) < ABOUT and not best.said_to.endswith("`"):
        body += outlived.scope(sources[-1].title, best.where, " ".join((best.text, best.message, best.came)), asked)
    body += ["What %s it: %s" % ("mended" if best.kind == statements.CAUSED else "came of", best.came), ""] if best.came else []
    others = ["- %s (%s)" % (told.text, told.at[:10]) for told in group if told is not best and told.text != best.text]
    body += ["Also:", "", *others[-4:], ""] if others else []
    refs = dict.fromkeys("%s#%d" % (told.record.id, told.turn) for told in group[-MOST_CITED:])
    body += ["From %s (%s)." % (", ".join(refs), best.at[:10])]
    named = {statements.EXPLAINED: gist.topic(best.asked), statements.PLANNED: best.said_to}
    return _Draft(Proposal(_title(named.get(best.kind) or best.text), "\n".join(body) + "\n", _tags(sources), tuple(
        record.id for record in sources), "%s, in %s" % (best.kind, plaintext.count(sessions, "session")),
        _key_of_text(best.text), round(min(statements.weight_of(best) + 0.1 * min(sessions - 1, 3), 1.0), 3)), best.text)


def _source(told: Told, checkpoints: Sequence[Record]) -> Record:
    """Return the checkpoint that tells a turn too, else the conversation itself."""
    own = [record for record in checkpoints if session(record) == session(told.record)]
    return next((record for record in own if clock.iso(record.created) >= told.at[:19]), own[-1] if own else told.record)


def of_bullets(bullets: Sequence[Bullet], provider: str, checkpoints: Sequence[Record], known: Sequence[Record],
               limit: int = LIMIT) -> list[Proposal]:
    """Return a model's bullets as proposals, in its order, each linked to the checkpoints it cites.

    bullets: checked ones, as distill gives them.  provider: who wrote them.
    """
    by_id = {record.id: record for record in checkpoints}
    drafts = []
    for number, bullet in enumerate(bullets):
        sources = sorted((by_id[id] for id in bullet.ids if id in by_id), key=lambda record: (record.created, record.id))
        said = _BRACKET.sub(lambda match: "" if set(match[1].split(", ")) <= set(by_id) else match[0], bullet.text).strip()
        if sources and said:
            body = "\n".join([said, "", *_cited(sources)]) + "\n"
            told = "distilled by %s from %s" % (provider, plaintext.count(len(sources), "checkpoint"))
            drafts.append(_Draft(Proposal(_title(said), body, _tags(sources), tuple(r.id for r in sources), told,
                                          _key_of_text(said), round(1 - number / 100, 3)), said))
    return _fresh(drafts, known, limit)


def _distinct(found: Iterable[Record]) -> list[Record]:
    return list({record.id: record for record in found}.values())


def _cited(sources: Sequence[Record]) -> list[str]:
    """Say where a proposal comes from, the newest last."""
    days = sorted({clock.day(record.created) for record in sources})
    more = "%d more, " % (len(sources) - MOST_CITED) if len(sources) > MOST_CITED else ""
    return ["From %s%s (%s)." % (more, ", ".join(record.id for record in sources[-MOST_CITED:]),
                                 days[0] if len(days) == 1 else days[0] + " to " + days[-1])]


def _tags(sources: Sequence[Record]) -> tuple[str, ...]:
    """Return the tags that at least half of the sources carry."""
    counts = Counter(tag for record in sources for tag in dict.fromkeys(record.tags))
    common = [tag for tag, count in counts.items() if 2 * count >= len(sources)]
    return tuple(sorted(common, key=lambda tag: (-counts[tag], tag))[:MOST_TAGS])


def _title(said: str) -> str:
    """Return the first clause of a statement that is long enough to stand alone."""
    return plaintext.at_word(one_line(said).rstrip(".。 "), TITLE)


_SECTION = re.compile(r"(?<!#)#{1,6}\s{1,80}(\S.{0,600}?)\s{0,80}$")
_CODE = r"(?:`` (?P<%s2>.{1,300}?) ``|`(?P<%s>[^`]{1,300})`)"
_FIXED = re.compile(r"- " + _CODE % ("a", "a") + r" → [\w ]{1,80}?(?:: (?P<why>.{0,600}))?; passed(?: \(" + _CODE % ("b", "b")
                    + r"\))? after (?P<how>(?:editing|running) `.{0,600})$")
_FAILED = re.compile(r"- ✗ " + _CODE % ("a", "a") + r" → [\w ]{1,80}: (?P<why>.{0,600}?)(?: \(×\d{1,80}\))?$")
_OPEN = re.compile(r"- " + _CODE % ("a", "a") + r" still fails: (?P<why>.{0,600})$")
_STEP = re.compile(r"`` .+? ``|`[^`]+`")
CAUSE = " — "  # stands before the cause of a failure
_LINE = 2000  # characters of a line that is read


@dataclass(frozen=True)
class Seen:
    """One checkpoint's word on a failure: the command, the error as it was printed, and what made it pass ("" if nothing
    did), such as "editing `a.py`", and the cause where somebody named it."""

    record: Record
    command: str
    error: str
    how: str
    cause: str = ""


def failures(checkpoints: Iterable[Record]) -> dict[tuple[str, str], list[Seen]]:
    """Return by signature (program and verb, normal form of the error) where a failure was seen, in the order given.

    A fix takes the place of the bare failure in the same checkpoint.
    """
    found: dict[tuple[str, str], list[Seen]] = {}
    for record in checkpoints:
        here: dict[tuple[str, str], list[Seen]] = {}
        for mark, seen in _seen(record):
            here.setdefault(mark, []).append(seen)
        for mark, several in here.items():
            found.setdefault(mark, []).extend([s for s in several if s.how] or several)
    return found


def _seen(record: Record) -> Iterable[tuple[tuple[str, str], Seen]]:
    heading = ""
    for line in record.body.split("\n"):
        title = _SECTION.match(line)
        heading = title[1] if title else heading
        pattern = {"Fixed": _FIXED, "Commands": _FAILED, "Open": _OPEN}.get(heading) if len(line) <= _LINE else None
        match = pattern.match(line) if pattern else None
        if match and match["why"]:
            command = match["a"] or match["a2"]
            error, _, cause = match["why"].partition(" ⏎ ")[0].strip().partition(CAUSE)
            mark = signature(command, error)
            if mark is not None:
                cause = cause if _explains(cause, error) else ""
                yield mark, Seen(record, command, error, match.groupdict().get("how") or "", cause)


def steps(how: str) -> list[str]:
    """Return the files or commands of what made a failure pass."""
    return [step.strip("` ") for step in _STEP.findall(how)]


def recurs(seen: Sequence[Seen], sessions: int) -> bool:
    """Tell whether a failure comes back and a fix is known: in two sessions, or twice in one checkpoint with a fix each time.

    sessions: of how many it was seen in.
    """
    fixed = [s for s in seen if s.how]
    return bool(fixed) and (sessions >= 2 or any(
        sum(s.record.id == one.record.id for s in fixed) >= 2 for one in fixed))
