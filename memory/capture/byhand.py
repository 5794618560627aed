"""Checkpoints that a person asks for: a note, and a handoff that is made of a session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memory.capture import choices, conversationpage, deadends, gist, turns, upshot
from memory.capture.checkpointpage import ON_THE_WAY, Outline, fitted, outline
from memory.capture.conversationpage import cut_back
from memory.capture.gist import TRIVIAL
from memory.capture.turns import Turn
from memory.core import StoreError, UsageError, clock, files, layout
from memory.core.plaintext import at_word, one_line, sentences
from memory.core.records import Record, steps
from memory.session import deeds, git, transcript
from memory.session.latepattern import Late
from memory.store import store


def note(keeper: store.Store, place: layout.Place, words: str, labels: Iterable[str], session: str, now: float,
         source: str = "human") -> Record:
    """Write a checkpoint by hand; its title is the first clause of the note.

    words: the note (markdown; <private> parts are left out).  labels: tags.  session: id of the running session, or "".
    now: seconds since the epoch.  source: human or agent.  Raises UsageError for an empty note, StoreError where it reads
    back wrong.
    """
    from memory.store import activeplan

    words = transcript.clean(words)
    if not words:
        raise UsageError("the checkpoint is empty; give the note as an argument or on stdin")
    head = git.head(place.git)
    first = re.split(r"(?<=[.!?;])\s|[。！？]|\n", words.lstrip("#-* "), maxsplit=1)[0].rstrip(".;")
    extra = {"created": clock.iso(now), "trigger": "manual", "branch": head.branch, "commit": head.commit,
             "plan": activeplan.served(keeper, now, now)}
    title, body = one_line(first, gist.TITLE), words + "\n"
    record = keeper.same_lately("checkpoint", title, body) or keeper.add(
        "checkpoint", title, body, tags=tuple(labels), source=source, session=layout.safe_id(session),
        extra={k: v for k, v in extra.items() if v})
    if files.sha256(files.read(place.path(record.name), 64 << 20)) != record.checksum:
        raise StoreError("%s: the checkpoint cannot be read back; run `dayleaf doctor`" % record.name)
    return record


# ---- a handoff

BODY, TITLE, BRANCH = 2000, 100, 40  # characters
SAYS = 60  # characters of an outcome that says where work stands
_STANDS, _MOST, _SINCE, _LINE = 360, 240, 180, 240  # characters: of the last work, of what most came of, of what was said since
_MOST_UNITS, _ITEMS, _FEW = 3, 150, 3  # sentences told of an outcome, characters of a list after one, words that say too little
_LAST, _SINCE_THEN = "last: ", "asked since: "  # before what the last work came to; what was asked after it
_VERDICT, _LEANING, _LIKE = 1.3, 0.1, 0.6  # what a verdict tells; what a sentence keeps that leans; lines that tell the same
_DEED = re.compile(r"\W*(?:done|fixed|reverted|committed|pushed|updated|merged|rebased)\b[.!:]", re.I)
_TELLS, _ENDED = 1.5, re.compile(r"(?<=[.:;,!?]); ")  # what a request says by itself, at least; between lines that end
_NODS = frozenset("yes yeah yep sure okay great work works good nice fine thank thanks perfect".split())
_HALF = Late(r"\b(?:vs|e\.g|i\.e)\.\Z|\A(?:for example|or|and|but)\b", re.I)  # of a sentence
_OF_GIT = Late(r"\b(?:commits? ahead|ahead of|up to date with|working tree)\b", re.I)  # of a branch, which may be so no more
_POINTED = Late(r"\A(?:look|check|use|debug|see|read)\b|(?:^|[\s`(\"'])(?:~|/(?:tmp|var|home|Users|private))/", re.I)
_ASKS = Late(r"\A(?:does|do|did|how|what|why|when|where|which|who|if|i|you)\b", re.I)
_TALKS = Late(  # speaks to somebody, or is a line of code
    r"\A\W*(?:done|found|looking|perfect|great|good|for|no|let me|all (?:tests|done|good)|got it|yes|right|ok)\b|"
    r"\A(?:fixed|updated)[.!]|\s:?=\s", re.I)
_CONDITION = Late(r"now\b.* (?:if|when):?\Z", re.I)
_JOINT = Late(r"[,;:]? (?:and|or|when|so|with|but|which|by|even|after|because|since|that|instead|rather) ")
_HANGS = Late(r"\A(?:or|and|but|so|then)\b|[:：]\Z", re.I)  # on a sentence beside it
_LINES_OF_CODE = Late(r"(?:(?:\A|(?<=[.!?] ))\S[^:]{,80} (?:this|follows|like)"
                      r":)?\s{0,80}`[^`]{0,160}⏎[^`]{0,160}`")  # with their lead


class Draft(NamedTuple):
    """A handoff before it is written: title, markdown, and the ids of the checkpoints that it was made of."""

    title: str
    body: str
    sources: tuple[str, ...]


class Past(NamedTuple):
    """An earlier session of the branch: its newest checkpoint, and the turns of its conversation, () where it has none."""

    record: Record
    held: tuple[Turn, ...] = ()


def draft(checkpoints: Sequence[Record], plan: Record | None, held: Sequence[Turn] = (), before: Sequence[Past] = ()) -> Draft:
    """Make a handoff of at most 2,000 characters, which ends with the ids that it was made of.

    checkpoints: of one session, newest first, at least one: what is open and next is what the newest says, earlier ones add to
    decisions and commits.  plan: the active one, or None.  held: the turns of its conversation, whose last work says where it
    stands.  before: earlier sessions on the branch, newest first: a line tells each, what they tried in vain counts too.
    """
    told, held = [outline(record) for record in checkpoints], turns.joined(held)
    newest, branch = told[0], _text(checkpoints[0].meta.get("branch"))
    decisions = [line for one in told for line in one.decisions[::-1] if not line.endswith(("?", "？"))]
    never = _never(decisions, held, before) + [line for one in told for line in one.instead if "…" not in line]
    decided = [line for line in map(cut_back, decisions) if line and not any(upshot.same(line, one) for one in never)]
    stands, came = _results(checkpoints[0], told, held, never)
    requests = [line.removeprefix("(goes on)").strip() for one in told[::-1] for line in one.request] if not held else []
    requests = [line for line in requests if not TRIVIAL.match(line) and _asks(line)] or requests[:1]
    files = [turns.named("files: ", newest.files, upshot.LINE - 10)] if newest.files and not held else []
    ahead = [*choices.still_next(choices.folded(newest.next or gist.stated(held))[:5], held), *choices.put_off(held)]
    left = [*choices.left_open(newest.open, held)[:4], *newest.failing[-2:], *deadends.unmended(held)]
    state = turns.state(held, newest.files)
    sections = [
        ("The work", _matter(held, stands), 1),
        ("Where it stands" if newest.outcome else "Notes", [*_lines(stands, _STANDS), *state], 4),
        ("Done", _lines([*came[:6], *files], upshot.LINE), 2),
        ("Next", _lines(ahead[:6], _LINE), 1),
        ("Open", _lines(left, _LINE), 1),
        ("Do not try again", _lines(never[:6], 2 * upshot.LINE + SAYS), 4),
        ("Decisions", _lines(decided[:3], _LINE), 1),
        ("Before, on this branch", _lines(filter(None, map(_before, before)), 260)[:4], 2),
        ("Plan", _lines(_plan(plan), 100), 1),
        ("Request", _lines(dict.fromkeys(requests[:1] + requests[-1:]), 140), 1)]
    end = _sources(checkpoints)
    text = fitted(sections, BODY - len(end) - 2).lstrip("\n") + "\n" + end + "\n"
    return Draft(_title(checkpoints, branch, held, before), text, tuple(record.id for record in checkpoints))


def _results(newest: Record, told: Sequence[Outline], held: Sequence[Turn], never: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return (where work stands: what most came of it, what its last turns came to; what else was done).

    newest: checkpoint.  told: of all checkpoints, newest first.  never: what was given up.
    """
    stands = _since_work(held, newest.title) or _now(held) or [*map(_stands, told[0].outcome)] or list(told[0].said)
    commits = [line for one in told for line in one.commits]
    done = [turn for turn in deadends.kept(held) if _worked(turn) and not _answers(turn)]
    found = conversationpage.about(upshot.of_turns(done, "", commits[::-1]), _text(newest.meta.get("branch")))[::-1]
    found = [one for one in sorted(found, key=lambda one: -one.weight) if one.line not in never and "…" not in one.line]
    orders = [upshot.order(turn.request) for turn in done]
    asked = " ".join([*orders, *map(deeds.as_done, orders)]).lower()
    plain = [one for one in found if not (deeds.is_poor(one.line) or one.at and (
        upshot.is_order(one.line) or one.line.lower() in asked))]
    best = (one for one in plain if not (deeds.SIDE.search(one.line) or deeds.CHORE.match(one.line)))
    most = next(best, next(iter(plain or found if stands and stands[0].startswith(upshot.WORKED) else plain), None))
    if most and stands and not stands[0].startswith(ON_THE_WAY):
        stands = [one for one in stands if not one.startswith(upshot.WORKED)]
        if not any(most.line.rstrip(".") in said or not most.at and upshot.same(most.line, said)
                   for line in stands for said in (line, deeds.ASIDES.sub("", line))):
            whole = next((_told(gist.outcome(turn), _MOST) for turn in done if turn.at == most.at), "")
            stands = [whole if most.line.rstrip(".") in whole else most.line,
                      *(line if line.startswith(_SINCE_THEN) else _LAST + line for line in stands if _is_told(line))]
    stood = [said for line in stands for said in sentences(line)]
    shown = {turn.at for turn in done if any(said[-SAYS:].rstrip(".") in one_line(gist.outcome(turn)) for said in stood)}
    rest = [turn for turn in done if turn.at not in shown]
    found += [one for one in conversationpage.each(rest) if not _alike(one.line, [other.line for other in found])]
    found = [one for one in found if one.line not in stands and "…" not in one.line and not (one.at and (
        most and deeds.SIDE.search(one.line) or deeds.POINTS.match(one.line) or _HANGS.search(one.line) or _alike(one.line, stood)
        or one.at in shown and any(upshot.same(one.line, said) for said in stood)))]
    stands += [one for one in [deadends.verdict(held)] if one and not any(one.rstrip(".") in line for line in stands)]
    return stands, [one.line for one in found] or ["commit " + line for line in commits]


def _matter(held: Sequence[Turn], stands: Sequence[str]) -> list[str]:
    """Say what most was changed for: the plan, else the request that led there; not what stands, told of it, says as well."""
    done = deadends.kept(held)
    most = choices.files_of(_most(done) or Turn("", ""))
    way = next((deadends.way(done, turn) for turn in done if choices.files_of(turn) & most), [])
    plan = next((piece.text for turn in way for piece in turn.pieces if piece.name == turns.APPROVED), "")
    if plan:
        return ["the approved plan: " + upshot.in_full(gist.heading_of(plan), plan)]
    asked = [turn.request for turn in way if _asks(turn.request)]
    asked = [one for one in asked if gist.telling(gist.topic(one)) > _TELLS and not turns.agrees(one)] or asked
    lines = [deeds.LISTED.sub("", line) for one in asked[:1] for line in gist.prose(one) if line[:1] not in choices.PASTED]
    said = deeds.shortened(one_line(_ENDED.sub(" ", "; ".join(lines))), _LINE)
    return ["asked: “%s”" % said] if said and not _alike(said, stands[:1]) else []


def _is_told(line: str) -> bool:
    """Tell whether what the last work came to begins with what was done, or is so now, and not with tests and the like alone."""
    said = sentences(line) or [line]
    tells = said[0].startswith((upshot.FIXED, _SINCE_THEN)) or deeds.REPORTS.match(said[0]) or gist.wide(line)
    return bool(tells or deeds.NOW.search(said[0]) or deeds.PASSIVE.search(said[0])) and not all(map(deeds.SIDE.search, said))


def _alike(line: str, others: Iterable[str]) -> bool:
    return any(turns.cosine(upshot.words_of(line), upshot.words_of(one)) >= _LIKE for one in others)


def _title(checkpoints: Sequence[Record], branch: str, held: Sequence[Turn], before: Sequence[Past]) -> str:
    """Name the subject of the work: of the names that there are the one nearest to the branch's, else the branch.

    A trunk is about nothing by itself: there what most was changed for names it.
    """
    words, last = conversationpage.named_by(branch) if branch not in layout.TRUNKS else set(), one_line(checkpoints[0].title)
    names = [*(one.title for one in checkpoints), *conversationpage.names(held).titles, *(past.record.title for past in before)]
    work = _work(deadends.kept(held), names)
    names = [name for name in dict.fromkeys(names) if words and branch not in name and _is_subject(name)]
    shared = [len(words & upshot.words_of(name)) for name in names]
    called = one_line(re.sub(r"[-_]+", " ", deeds.TICKET.sub(" ", branch.rpartition("/")[2])))
    called = called if words and " " in called else ""  # one word names no work
    best = max(shared, default=0)
    near = names[shared.index(best)] if 3 * best >= 2 * max(1, len(words)) and (best > 1 or not called) else ""
    lead = "Handoff%s: " % (" (%s)" % at_word(branch, BRANCH) if branch else "")
    spoken = _TALKS.match(last) or not (deeds.is_balanced(last) and (deeds.REPORTS.match(last) or deeds.ORDER.match(last)))
    subject = near or called or next(filter(_is_subject, work), "") or spoken and _changed(held, TITLE - len(lead)) or last
    title = lead + one_line(subject)
    longer = "%s; last: %s" % (title, last)
    tells = _is_subject(last) and deeds.in_words(last) > 2 and not (deeds.CHORE.match(last) or deeds.SIDE.search(last))
    return longer if called and not near and tells and len(longer) <= TITLE else one_line(title, TITLE)


def _most(held: Sequence[Turn]) -> Turn | None:
    """Return the turn that changed most files, the first of several, None where none changed any."""
    found = max(held, key=lambda turn: len(choices.files_of(turn)), default=None)
    return found if found and choices.files_of(found) else None


def _work(held: Sequence[Turn], names: Sequence[str]) -> list[str]:
    """Name the work of turns: by its commits, by what others were told, by the turn that changed most, by names that fit it."""
    commits = [piece.text for turn in held for piece in turn.pieces if piece.kind == turns.COMMIT]
    made = [one for one in commits[::-1] if deeds.in_words(one) > 2 and not (deeds.CHORE.match(one) or deeds.MERGE.match(one))]
    told = [deeds.described(turn.request, gist.outcome(turn)) for turn in reversed(held) if turn.asked != turns.SUMMARY]
    most = _most(held)
    plans = [gist.heading_of(p.text) for p in most.pieces if p.name == turns.APPROVED] if most else []
    came = [one.line for one in upshot.of_turns([most] if most else [])]
    came = [line for line in came if not (deeds.is_poor(line) or deeds.MINOR.search(line))]
    found = [*made, *told, *plans, *(_orders(held, most) if most else ()), *came]
    said = upshot.words_of(most.request + " " + gist.outcome(most)) if most else set()
    found += [name for name in names if not most or len(upshot.words_of(name) & said) > 1]
    found = sorted(filter(None, found), key=lambda name: bool(deeds.SIDE.search(name)))
    return [deeds.shortened(one, gist.TITLE) for one in found if not deeds.LOOKING.match(one)]


def _orders(held: Sequence[Turn], turn: Turn) -> list[str]:
    """Return what was ordered on the way to a turn, from the one that it goes back to on."""
    asked = ((upshot.order(one.request), gist.topic(one.request)) for one in deadends.way(held, turn))
    return [order or topic * upshot.is_order(topic) for order, topic in asked]


def _changed(held: Sequence[Turn], most: int) -> str:
    """Say what the turn that changed most came to, or all did, else which files it changed; "" for none.  most: characters."""
    if not (turn := _most(deadends.kept(held))):
        return ""
    came = [one.line for found in (upshot.of_turns([turn])[:1], upshot.of_turns(held)[:2]) for one in found]
    told = [_headed(line.rstrip("."), most) for line in (*came[:1], upshot.best(gist.outcome(turn)), *came[1:])]
    files = [name.rpartition("/")[2] for name in sorted(choices.files_of(turn))]
    return next((line for line in told if line and not deeds.SIDE.search(line)), "") or turns.named("changes of ", files, most)


def _headed(line: str, most: int) -> str:
    """Return a line as far as there is room for what it says first, "" where that ends nowhere."""
    ends = [len(line), *(match.start() for match in _JOINT.finditer(line) if not deeds.BEGINS.match(line))]
    heads = (line[:end] for end in sorted(ends, reverse=True) if most // 3 < end <= most)
    return next(filter(deeds.is_balanced, heads), "")


def _is_subject(name: str) -> bool:
    """Tell whether a title names work, rather than asks or says something."""
    return deeds.is_named(name) and deeds.is_balanced(name) and not (
        not name.startswith(upshot.FIXED) and deeds.EXPLAINS.search(name) or any(
            one.search(name) for one in (_ASKS, _TALKS, _POINTED)))


def _never(decisions: Sequence[str], held: Sequence[Turn], before: Sequence[Past]) -> list[str]:
    """Return what not to try again, each once: what the user forbade, and what was tried in vain, before too."""
    found = deadends.dead_ends(held)[::-1] + [line for line in decisions if deadends.forbids(line)]
    found += [line for past in before for line in deadends.dead_ends(past.held)[::-1][:2]]
    kept: list[str] = []
    for line in filter(None, (cut_back(one).rstrip(":") for one in found)):
        said = line.rpartition("the user: ")[2]
        if not any(upshot.same(line, one) or len(said) > SAYS // 2 and upshot.same(said, one) for one in kept):
            kept.append(line)
    return kept


def _asks(request: str) -> bool:
    """Tell whether a request says by itself what is wanted."""
    return gist.wide(request) or any(word.isalpha() for word in upshot.words_of(request) - _NODS)


def _told(statement: str, most: int, worked: bool = True) -> str:
    """Return the sentences of a statement that tell most, whole and in their order, in at most `most` characters.

    worked: it is of work, so that a fault that it names is one that was fixed, where it says so.
    """
    scores = {line: score for score, line in upshot.scored(statement, True)}
    found = list(upshot.sentences_of(statement))
    units = []
    for at, (kind, text) in enumerate(found):
        line = upshot.bare(text)
        verdict = _VERDICT * bool(deeds.VERDICT.match(line) and upshot.says(line))
        score = scores.get(line, scores.get(deeds.TAIL.sub("", line), verdict))
        if line.endswith((":", "：")) and kind != upshot.HEADING:
            items = _items(found[at + 1:])
            score = max(score, 1.0 * bool(items and (deeds.REPORTS.match(line) or _CONDITION.match(line))))
            line = line.rstrip(":： ") + (": " + items if items else "")
        line = upshot.mended(line, statement) if worked else line
        leans = deeds.LEANS.search(line) and deeds.in_words(line) <= _FEW
        if score and not (leans or _HALF.search(line) or _OF_GIT.search(line)):
            units.append((score * (_LEANING if deeds.POINTS.match(line) else 1), at, line.rstrip(".")))
    kept: list[tuple[float, int, str]] = []
    for unit in sorted(units, key=lambda unit: (-unit[0], unit[1])):
        if len(kept) < _MOST_UNITS and sum(len(line) + 2 for *_, line in kept) + len(unit[2]) <= most and not any(
                unit[2] in line for *_, line in kept):
            kept.append(unit)
    lines = [line for _, _, line in sorted(kept, key=lambda unit: unit[1])]
    lines[1:] = [line.removeprefix(upshot.FIXED) if lines[0].startswith(upshot.FIXED) else line for line in lines[1:]]
    return ". ".join(lines) + "." * bool(lines)


def _items(found: Sequence[tuple[str, str]]) -> str:
    """Return the items that begin some sentences, as many whole ones as there is room for."""
    kept: list[str] = []
    for kind, text in found[bool(found) and found[0][0] == upshot.HEADING:]:
        if kind != upshot.ITEM or text.endswith((":", "：")) or sum(map(len, kept)) + len(text) > _ITEMS:
            break
        kept.append(one_line(text).rstrip(". "))
    return "; ".join(kept)


def _stands(line: str) -> str:
    """Say where work stands by a line of a checkpoint, without praise, what leads up to it, tables and lines of code."""
    if line.startswith(ON_THE_WAY):
        return line
    bare = _LINES_OF_CODE.sub("", line).replace("**", "")
    bare = bare.partition(" | ")[0].rpartition(":")[0] or bare if bare.count(" | ") > 2 else bare
    return cut_back(conversationpage.telling(bare, _STANDS)).rstrip(":") or cut_back(line) or line


def _now(held: Sequence[Turn]) -> list[str]:
    """Return what the last turn came to; empty where it has not ended or says nothing."""
    last = gist.closing(held)
    came = _told(gist.outcome(last), _STANDS) if last and gist.is_finished(last) else ""
    return [came] if came else []


def _worked(turn: Turn) -> bool:
    """Tell whether a turn edited or committed something, was given a plan, or says that it did something."""
    if any(piece.kind in (turns.FILE, turns.COMMIT, turns.LINK) or piece.name == turns.APPROVED for piece in turn.pieces):
        return True
    said = gist.outcome(turn) if turn.asked != turns.SUMMARY else ""
    first = next((upshot.bare(text) for _, text in upshot.sentences_of(said)), "")
    return bool(deeds.REPORTS.match(first) or _DEED.match(said))


def _since_work(held: Sequence[Turn], title: str) -> list[str]:
    """Return what the last work came to and what was said since; empty where the last turn is that work or has not ended.

    What only commits, pushes or explains says nothing of the work, either.  title: of the work, where no turn says what it came
    to.
    """
    last = gist.closing(held)
    worked = [turn for turn in held if _worked(turn)]
    edited = [turn for turn in worked if len(gist.outcome(turn)) >= SAYS and gist.is_finished(turn) and not _answers(turn)]
    if not (last and worked and gist.is_finished(last) and gist.outcome(last)) or (edited or worked)[-1] is last:
        return []
    came = _told(gist.unasked(gist.outcome(edited[-1])), _STANDS) if edited else ""
    if not came and _is_subject(title) and any(piece.kind == turns.FILE for turn in worked for piece in turn.pieces):
        came = upshot.WORKED + one_line(title)
    said = gist.unasked(gist.outcome(last))
    whole = (text for _, text in upshot.sentences_of(said) if len(text) <= _SINCE and not _HANGS.search(text))
    written = deeds.described(last.request, said)
    since = "wrote “%s”" % written if written else _told(said, _SINCE, False) or next(whole, "")
    topic = "" if _worked(last) or not _asks(last.request) else gist.topic(last.request, 100)
    told = [(_SINCE_THEN + "%s → " % topic if topic else "") + since] if since and (topic or deeds.in_words(since) > _FEW) else []
    return [*filter(None, [came]), *told]


def _answers(turn: Turn) -> bool:
    """Tell whether a turn ends with an answer, though it may have edited something: it tells no result."""
    first = next((upshot.bare(text) for _, text in upshot.sentences_of(gist.outcome(turn))), "")
    return bool(deeds.ASIDE.match(first)) and not any(deeds.REPORTS.match(one.line) for one in upshot.of_turns([turn]))


def _lines(lines: Iterable[str], most: int) -> list[str]:
    """Return lines, each once and on one line; of what is too long the sentences that fit, else it is cut."""
    cut = ((line, at_word(line, most)) for line in map(one_line, lines) if line)
    return list(dict.fromkeys(short if short == line else cut_back(short) or short for line, short in cut))


def _before(past: Past) -> str:
    """Tell an earlier session in a line: its day, what came of it, its id; "" where nothing tells."""
    record, told = past.record, outline(past.record)
    branch, title = _text(record.meta.get("branch")), one_line(record.title)
    found = upshot.of_turns(choices.standing(past.held), "", told.commits) or upshot.of_lines(told.outcome, "", told.commits)
    lines = [one.line for one in conversationpage.about(found, branch)
             if not ("…" in one.line or deeds.SIDE.search(one.line) or deeds.CHORE.match(one.line))]
    best = [line for line in lines if not deeds.is_poor(line)][:2] or [title] * _is_subject(title)
    said = "; ".join(best if len("; ".join(best)) <= _SINCE else best[:1])
    return "%s: %s [%s]" % (clock.day(record.created), said, record.id) if said else ""


def _plan(plan: Record | None) -> list[str]:
    """Name a plan and its first open steps."""
    todo = ["open: " + text for _, ticked, text in steps(plan.body) if not ticked] if plan else []
    return ["[%s] %s" % (plan.id, plan.title), *todo[:5]] if plan else []


def _sources(checkpoints: Sequence[Record]) -> str:
    """Write where a handoff comes from: ids, branch and commit."""
    meta = checkpoints[0].meta
    ids = ", ".join("[%s]" % record.id for record in checkpoints[:4])
    ids += " and %d more" % (len(checkpoints) - 4) if len(checkpoints) > 4 else ""
    named = ((" on branch `%s`", _text(meta.get("branch"))), (" at commit %s", _text(meta.get("commit"))))
    return one_line("From %s%s." % (ids, ",".join(lead % name for lead, name in named if name)), 140)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
