"""Hits: the results of recall, in the one shape that terminal, `--json` and the fence render.

Ranking makes a hit of a record and its score; `add_display_fields` adds age, group and claims.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from memory.core import approvals, clock, layout, plaintext
from memory.core.records import Record
from memory.hook import context, documents, fence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.layout import Place
    from memory.hook.context import ContextTag
    from memory.project.claims import Claim

Parts = tuple[tuple[str, float], ...]
# groups of records that nobody approved
_UNBOUND = frozenset(("pending", "rejected", "waiting", "refused"))
BY_CLIENT = "(summary by the client)"  # request of a turn that the client wrote itself
# a note above weak hits
HARDLY = "the records hardly tell of this; what follows is the nearest"
NEWEST = "newest first"  # why a hit of a query without text is listed
REQUEST = 40  # characters of a request above what was said


class Quote(NamedTuple):
    """Windows of a record that answer a question.

    id: of the record. turn: of a conversation, else 0. at: the turn's minute in UTC, such as
    `2026-01-23T14:03`. asked: its request. text: the windows, with … between. created: the
    record's instant.
    """

    id: str
    turn: int
    at: str
    asked: str
    text: str
    created: float = 0.0

    @property
    def head(self) -> str:
        """The turn's minute and request, "" without a turn."""
        if not self.turn:
            return ""
        minute = self.at.replace("T", " ")
        if self.asked == BY_CLIENT:
            return minute + ", " + BY_CLIENT[1:-1]
        asked = plaintext.clip_at_word(plaintext.one_line(self.asked), REQUEST)
        return '%s, asked "%s"' % (minute, asked) if asked else minute

    @property
    def stated(self) -> str:
        """The head for a model, its minute marked as UTC."""
        return "%s UTC%s" % (self.head[:16], self.head[16:])


class Hit(NamedTuple):
    """A record found by a query or linked with a hit.

    created: seconds since the epoch. tier: private | shared | global. tokens: of the body. labels:
        tags, then topics. source: human | agent | auto. rationale, scope: of a rule, its reason
        and its contexts (tags and link targets). source_path: of a resource, its file as written.
        workspace: the place's key, or `global`. path: the record's file. origin: source of a text
        without a file on this machine.
    score: 0 for a record that is only linked. parts: the score's numbers by name. why: the reasons,
        on one line. section: heading path of the best section. linked_from: id of the hit that
        links here. relation: the link's name as seen from there. update: of what it is newer than,
        in words, if updates.py put it first.
    Of a session: conversation: id of its conversation. turn: number of the turn found, from 1.
        turn_text: its text. talk: the conversation's record, if a turn was found. quotes: windows
        about the query. others: ids of its other checkpoints found. unattended: nobody typed.
    For display: age: seconds since it was written. group: `rule` (approved), `pending` or
        `rejected` rule; `plan` (active), `past`; `script` (approved), `waiting` or `refused`
        script; `learning` or `candidate`; `doc`, `checkpoint`. claims: names in the record,
        checked. freshness: FRESH | STALE | UNKNOWN.
    """

    record: Record
    id: str
    kind: str
    title: str
    body: str
    created: float
    tier: str
    tokens: int
    versions: tuple[str, ...]
    labels: tuple[str, ...]
    confidence: str
    source: str
    rationale: str
    scope: tuple[str, ...]
    source_path: str
    workspace: str
    path: str
    origin: str = ""
    score: float = 0.0
    parts: Parts = ()
    why: str = ""
    section: str = ""
    linked_from: str = ""
    relation: str = ""
    update: str = ""
    conversation: str = ""
    turn: int = 0
    quotes: tuple[Quote, ...] = ()
    turn_text: str = ""
    talk: Record | None = None
    others: tuple[str, ...] = ()
    unattended: bool = False
    age: float = 0.0
    group: str = ""
    claims: tuple[Claim, ...] = ()
    freshness: str = "UNKNOWN"

    @property
    def passage(self) -> str:
        """The joined quotes, each turn under its minute and request."""
        return "\n\n".join(
            "%s:\n%s" % (q.stated, q.text) if q.turn else q.text for q in self.quotes
        )

    @property
    def gone(self) -> tuple[Claim, ...]:
        """The claims that no longer hold."""
        return tuple(claim for claim in self.claims if claim.stands is False)


def from_record(record: Record, workspace: str, path: str, origin: str = "") -> Hit:
    """Make a hit of a record, without score and display fields."""
    is_rule = record.kind == "rule"
    scope: tuple[str, ...] = ()
    if is_rule and not record.guessed:
        scope = (*record.tags, *(link.target for link in record.links))
    return Hit(
        record,
        record.id,
        record.kind,
        record.title,
        record.body,
        record.created,
        layout.TIER_NAMES.get(record.tier, record.tier),
        record.tokens,
        record.versions,
        labels=(*record.tags, *record.topics),
        confidence=record.confidence,
        source=record.source,
        rationale=record.rationale if is_rule else "",
        scope=scope,
        source_path=record.path if record.kind == "resource" else "",
        workspace="global" if record.tier == layout.GLOBAL else workspace,
        path=path,
        origin=origin,
        conversation=_find_conversation_id(record),
        unattended=fence.is_unattended(record),
    )


def _find_conversation_id(record: Record) -> str:
    if record.kind == "conversation":
        return record.id
    return fence.field(record, "conversation") if record.kind == "checkpoint" else ""


class Turn(NamedTuple):
    """A turn of a conversation.

    number: from 1. at: its minute in UTC (`2026-01-23T14:03`). request: in the heading.
    """

    number: int
    at: str
    request: str
    text: str

    @property
    def answer(self) -> str:
        """The text without its heading and the quoted request."""
        return fence.split_turn(self.text)[1]


def split_turns(record: Record) -> list[Turn]:
    out: list[Turn] = []
    day = clock.iso(record.created)[:10]
    for heading, text in documents.split_turns(record.body):
        if heading:
            if heading[4:5] == "-":  # `2026-01-23 14:03 request` where the day changes
                day, heading = heading[:10], heading[11:]
            out.append(Turn(len(out) + 1, "%sT%s" % (day, heading[:5]), heading[5:].strip(), text))
    return out


def find_turns_of_time(record: Record, since: float | None, until: float | None) -> list[Turn]:
    """Return a conversation's turns between `since` and `until`.

    A turn lasts its minute, the last one until the conversation ends.
    """
    turns: list[Turn] = split_turns(record)
    if since is None and until is None:
        return turns
    found = []
    for turn in turns:
        at = clock.parse(turn.at) or record.created
        end = max(at + 59.0, record.ended) if turn is turns[-1] else at + 59.0
        if (since is None or since <= end) and (until is None or at < until):
            found.append(turn)
    return found


class RecallResult(NamedTuple):
    """The answer to a query.

    hits: best first. notes: lines on the search. backend: of the ranking. left_out: number of
    matches beyond the limit. stale: the index needs a refresh. known_gaps: words of the query that
    no record holds. linked: records linked with the hits. rescan: not every file was compared with
    the index, or a refresh would save reading some. plan: the active plan, if not among the hits.
    weak: the hits hardly tell of it. raw: all hits are of sessions. context: the context tags
    that counted. corrected: the query without misspelt words, if it has any.
    """

    hits: tuple[Hit, ...]
    notes: tuple[str, ...]
    backend: str
    left_out: int
    stale: bool
    known_gaps: tuple[str, ...]
    linked: tuple[Hit, ...] = ()
    raw: bool = False
    context: tuple[ContextTag, ...] = ()
    rescan: bool = False
    plan: Hit | None = None
    weak: bool = False
    corrected: str = ""


def add_display_fields(hits: Iterable[Hit], place: Place, now: float) -> list[Hit]:
    """Add age, group and claims to hits.

    place: where the query was asked. now: seconds since the epoch. Claims of records from other
        workspaces are not checked against this one's files.
    """
    from memory.project import claims

    out, decided = [], approvals.read_decisions(place.home)
    with claims.open_checkout(place) as checkout:
        for hit in hits:
            here = hit.workspace == place.key
            named = checkout.check(hit.record) if here else claims.Claims((), claims.UNKNOWN)
            out.append(
                hit._replace(
                    age=now - hit.created,
                    claims=named.claims,
                    freshness=named.state,
                    group=find_group(
                        hit.record, hit.workspace, decided, place.root if here else ""
                    ),
                )
            )
    return out


def find_group(
    record: Record, workspace: str, decided: dict[approvals.Approval, str], root: str
) -> str:
    """Return a record's group for display; see `Hit`."""
    if record.tier == layout.ADDED:
        return "doc"  # nobody approves or accepts what stands there
    if record.kind == "rule" and record.unsure:
        return "pending"
    if record.kind == "rule":
        decision = decided.get(
            (approvals.approval_workspace(record.name, workspace), record.id, record.checksum), ""
        )
        return {"approve": "rule", "reject": "rejected"}.get(decision, "pending")
    if record.kind == "plan":
        return "plan" if record.active else "past"
    if record.end == "script":
        decision = approvals.find_script_decision(record, workspace, root, decided)
        return {"approve": "script", "reject": "refused"}.get(decision, "waiting")
    return "candidate" if record.kind == "learning" and not record.accepted else record.end


# ---- JSON


def record_json(record: Record) -> dict[str, Any]:
    links = [{"relation": link.relation, "target": link.target} for link in record.links]
    return {
        "id": record.id,
        "kind": record.kind,
        "title": record.title,
        "name": record.name,
        "tier": layout.TIER_NAMES[record.tier],
        "created": clock.iso(record.created),
        "updated": clock.iso(record.updated),
        "tags": list(record.tags),
        "topics": list(record.topics),
        "versions": list(record.versions),
        "links": links,
        "source": record.source,
        "confidence": record.confidence,
        "pinned": record.pinned,
        "accepted": record.accepted,
        "tokens": record.tokens,
        "checksum": record.checksum,
    }


def record_fields_json(hit: Hit) -> dict[str, Any]:
    """Return a hit's record as plain data, without score and match."""
    special: dict[str, dict[str, Any]] = {
        "rule": {"rationale": hit.rationale, "scope": list(hit.scope)},
        "resource": {"source_path": hit.source_path},
    }
    binding = hit.record.accepted and hit.group not in _UNBOUND
    return {
        **record_json(hit.record),
        "accepted": binding,
        "path": hit.path,
        "workspace": hit.workspace,
        "origin": hit.origin,
        "group": hit.group,
        "age": int(hit.age),
        "freshness": hit.freshness,
        "claims": [claim_json(claim) for claim in hit.claims],
        **special.get(hit.kind, {}),
    }


def to_json(hit: Hit) -> dict[str, Any]:
    """Return a hit with its record as plain data."""
    match: dict[str, Any] = {"score": round(hit.score, 6)}
    if hit.linked_from:
        match = {"linkedFrom": hit.linked_from, "relation": hit.relation}
    session = {
        "conversation": hit.conversation,
        "turn": hit.turn,
        "others": list(hit.others),
        "unattended": hit.unattended,
    }
    return {
        **record_fields_json(hit),
        **match,
        "section": hit.section,
        "passage": hit.passage,
        "why": hit.why,
        "parts": dict(hit.parts),
        **(session if hit.kind in layout.DATED_KINDS else {}),
        "gone": [claim_json(claim) for claim in hit.gone],
    }


def result_json(found: RecallResult, query: str) -> dict[str, Any]:
    """Return the answer to a query as plain data."""
    return {
        "query": query,
        "hits": [to_json(hit) for hit in found.hits],
        "linked": [to_json(hit) for hit in found.linked],
        "backend": found.backend,
        "stale": found.stale,
        "leftOut": found.left_out,
        "notes": list(found.notes),
        "gaps": list(found.known_gaps),
        "weak": found.weak,
        "plan": record_fields_json(found.plan) if found.plan else None,
        "contextTags": context.to_json(found.context),
    }


def claim_json(claim: Claim) -> dict[str, Any]:
    return {"kind": claim.kind, "name": claim.name, "stands": claim.stands, "reason": claim.reason}
