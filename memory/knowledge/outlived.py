"""What came of a user's word, and what later work makes of lessons: they go, or say what is no longer so, but for those that a
person accepted.

    its commit was reverted                       goes
    what it names lost its definition, or         goes, where another session's cause or remedy names it, or a remedy of its own
    is said to be removed                         session
    what it names is called otherwise             says so, before who named it: ``Since 2026-11-20: `a` is called `b`.``
    what its remedy brought is reported           says so in its frontmatter; goes, where the report names three such things
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

from memory.capture import causes, checkpointpage, choices, gist, turns, upshot
from memory.capture.turns import Turn
from memory.core import clock, config, files
from memory.core.layout import PRIVATE, TRUNKS, Place
from memory.core.plaintext import one_line, sentences
from memory.core.records import Record
from memory.knowledge import history
from memory.session import commandline, deeds, lasting, mending
from memory.session.latepattern import Late
from memory.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.knowledge.walls import Row

SAID = 300  # characters of what somebody says themselves
FEW = 2  # files that a turn changed, where they are told
FAILING = Late(
    r"(?im)[❌✗][^\n]{0,160}\b(?:tests?|build|suite)\b|"
    r"\b(?:tests?|build|suite)\b (?:is|are)?\W{0,80}(?:still )?fail(?:s|ing)?\b(?! (?:before|first))")
SPEAKS = Late(r"(?i)\b(?:we|you|i|this|it|why|how|what)\b|[?？]")  # to somebody, of something that was said before
MOSTLY, NEW = 0.3, 3  # share of a request's words that one thing said there has; words that tell what came of it
CAME = 2.0  # from which score on a sentence tells what came of a turn (upshot.scored)
_QUOTED, _PROSE = re.compile(r"`([^`]+)`"), re.compile(r"(?<![\w./:-])[^\W\d_]{2,}(?![\w./:(])")
SINCE = "reported_since"  # the key of a lesson that tells what the user reported later of what its remedy names
RARE = 3  # reports that name a thing, at most, where it tells that they are of the same matter
SEEN = "dayleaf, seen in 2 sessions"
ITSELF = 3  # names that a report shares with what a remedy brought, where it is the remedy itself that is at fault
_BEFORE = re.compile(r"(?m)^      - .*$|`[^`\n]*` → |− `[^`\n]*`")  # lines that went
_WORD = re.compile(r"\w+")
_ABANDONS = Late(  # begins a clause with the order, and ends it with what is given up
    r"(?:\A|[.,;!:] |\b(?:let'?s|please|and|then|now|just|we (?:can|should|will|must)|i(?:'ll| will| want to)) )"
    r"(?:abandon|discard|scrap|ditch|throw away|give up(?: on)?) (?:(?:the|this|that|my|our|current|whole|entire|old) ){0,3}"
    r"(?:branch|pull request|pr)(?: #?\d+)?(?=\W*\Z|[.,;!]| and\b| again\b| for now\b| instead\b)|"
    r"브랜치[는를]? ?(?:버리자|버려|폐기하자|폐기해)|ブランチ[はを]?(?:破棄し|捨て)(?!な)|"
    r"(?<!不要)(?<!别)放弃(?:这个|当前)?分支", re.I)
_DONE = re.compile(r"- (?:edited|made|ran) |      ")  # what was done, in a lesson's remedy
_CALLED = re.compile(r"\nSince [\d-]{10}: `(?P<old>[^`\n]+)` is called `(?P<new>[^`\n]+)`\.\n")
_NAMED_BY = b"\nNamed by the "  # how the line begins that says who named a cause


def came_of(said: str, held: Sequence[Turn], number: int) -> str:
    """Return the sentence that tells what came of what a user said in a turn, "" for none: of its final statement, of the next
    turn that did what it came to, of a plan that was approved for it.

    It has two words of it; where something was done and the user hardly said more, of the whole request, or one where it says
    what was changed.  Nothing is told where a later turn that was asked about the same changed files again.  number: of the turn,
    from 0.
    """
    turn, words, asked = held[number], upshot.words_of(said), upshot.words_of(held[number].request)
    agreed = () if turn.did else [at for at, link in enumerate(turns.follow(held)) if link == (number, turns.AGREES)]
    later = [at for at in agreed if held[at].did][:1]
    texts = [text for at in (number, *later) for _, text in upshot.scored(gist.outcome(held[at]))]
    texts += [aim for one in held[number:number + 2] for piece in one.pieces if piece.name == turns.APPROVED
              for aim in lasting.aim(piece.text) if aim != said]
    mostly = len(words & asked) >= MOSTLY * len(asked) and bool(later or turn.did)
    found = [(_shared(text, words), _shared(text, words | asked) * mostly, -at, text)
             for at, text in enumerate(texts) if _stands(text)]
    own, whole, _, text = max(found, key=lambda one: (max(one[0], 1), *one[1:3]), default=(0, 0, 0, ""))
    if max(own, whole) < 2:
        text = _came(turn) if turn.did and mostly else ""
        text = text if _shared(text, words) and len(upshot.words_of(text) - words) >= NEW else ""
    again = any(_shared(text, upshot.words_of(one.request)) > 1 and choices.files_of(one)
                for one in held[number + 1:] if not causes.is_ordered(one.request))
    return text.rstrip(":") if not again else ""


def where(turn: Turn) -> tuple[str, ...]:
    """Return the files of the project that a turn changed, tests and pages apart, where they are at most FEW."""
    found = tuple(dict.fromkeys(piece.text for piece in turn.pieces if piece.kind == turns.FILE and piece.text[:1] not in "/~"
                                and not commandline.TEST_FILE.search(piece.text) and not deeds.PAGE.search(piece.text)))
    return found if len(found) <= FEW else ()


def scope(title: str, changed: Sequence[str], said: str, asked: str) -> list[str]:
    """Return paragraphs that say where a user's word applies: what the work was called, where that is no deed and speaks of the
    same and of more, and the files that were changed.  said: all that is told of it; asked: what it was said to."""
    about, known = upshot.words_of(title), upshot.words_of(said)
    near = about & known and len(about - known - upshot.words_of(asked)) >= NEW and not (
        SPEAKS.search(title) or deeds.REPORTS.match(title))
    found = ["Context: %s" % one_line(title)] if near else []
    named = [checkpointpage.quoted(path) for path in changed if path not in said]
    found += ["In: %s" % ", ".join(named)] if named else []
    return [line for one in found for line in (one, "")]


def abandoned(branch: str, held: Sequence[Turn], after: Sequence[Turn]) -> str | None:
    """Return what a standup says of a branch that the user gave up: `abandoned: `, and the sentence that said why, where one
    speaks of what the branch is named by; None for any other.

    held: the turns on it.  after: those on the next branch, the first of which that did something may be asked to leave it.
    """
    moved = next((at for at, turn in enumerate(after, 1) if turn.did), 1)
    near = [*held, *after[:moved]]
    asked = [at for at, turn in enumerate(near) if at >= len(held) - 1 and len(turn.request) <= SAID
             and any(_ABANDONS.search(one) for one in sentences(turn.request) if one[-1:] not in "?？")]
    if not held or not asked or branch in TRUNKS:
        return None
    before = [turn for turn in near[:asked[0]] if turn.said()][-1:]
    words = upshot.words_of(re.sub(r"[/_-]", " ", branch))
    told = [(len(words & upshot.words_of(text)), -at, text) for turn in before
            for at, (_, text) in enumerate(upshot.sentences_of(gist.outcome(turn)))]
    most, _, why = max(told, default=(0, 0, ""))
    return "abandoned" + (": " + upshot.bare(why).rstrip(":") if most >= 2 else "")


def left_failing(held: Sequence[Turn], number: int) -> bool:
    """Tell whether the last turn that changed a file of a turn's says in the end that something fails.  number: of it, from 0."""
    mine = choices.files_of(held[number])
    last = [turn for turn in held[number:] if mine & choices.files_of(turn)][-1:]
    return any(FAILING.search(gist.outcome(turn)) for turn in last)


def _came(turn: Turn) -> str:
    """Return the sentence that says best what a turn came to, "" for none."""
    found = [(not deeds.REPORTS.match(line), -score, line) for score, line in upshot.scored(gist.outcome(turn))]
    return min((one for one in found if not one[0] or -one[1] >= CAME), default=(False, 0.0, ""))[2]


def _shared(text: str, words: Set[str]) -> int:
    return len(words & upshot.words_of(text))


def _stands(text: str) -> bool:
    """Tell whether a sentence of a final statement says something by itself."""
    return (upshot.SHORTEST <= len(text) <= 2 * upshot.LINE and lasting.is_whole(text) and not lasting.leans(text.rstrip(":"))
            and len(_PROSE.findall(_QUOTED.sub("", text))) > 2)


def taken_away(every: Iterable[Turn]) -> dict[str, str]:
    """Return the names, in small letters, of what the model says to have taken away as a whole, each with the last instant."""
    found: dict[str, str] = {}
    for turn in every:
        for said in turn.said():
            for name in mending.taken_away(said) if "`" in said else ():
                found[name] = max(found.get(name, ""), turn.at)
    return found


def told(store: Store, session: str, one: Mapping[str, Any]) -> None:
    """Do what a session's work asks for: `reverts`, `gone` or `renamed`, as `progress.teach` keeps them."""
    if "reverts" in one:
        _withdraw(store, one["reverts"])
    elif "gone" in one:
        _withdraw_undefined(store, session, one["gone"])
    else:
        _rename(store, one["renamed"])


def _withdraw(store: Store, subject: str) -> None:
    """Archive the lessons whose commit was reverted, unless a person accepted them."""
    for record in _open(store):
        landed = [line for line in record.body.split("\n") if line.startswith("Commit") and line.endswith(": " + subject)]
        if landed:
            store.archive(record.name, "its commit was reverted")


def _withdraw_undefined(store: Store, session: str, gone: dict[str, str]) -> None:
    """Archive the lessons that speak of what a session then removed: in their remedy; where another session named their cause,
    also in that, and in the lines that the remedy took away, which may be how its own session removed it."""
    for record in _open(store):
        cause, remedy, changed = _spoken(record)
        own = record.meta.get("session") == session
        told = remedy if own else cause + "\n" + remedy
        went = () if own else _WORD.findall("\n".join(_BEFORE.findall(changed)))
        name = next((name for name, at in gone.items() if (_quotes(told, name) or name in went)
                     and (clock.parse(at) or 0) > record.created), "")
        if name:
            store.archive(record.name, "what it speaks of is gone: " + name)


def _rename(store: Store, renamed: Mapping[str, Sequence[str]]) -> None:
    """Say in the lessons of before how what they name is called since; what was said of the same name before gives way."""
    for record in _open(store):
        told = _CALLED.sub("", record.body)
        since = {old: (new, at) for old, (new, at) in renamed.items() if (clock.parse(at) or 0) >= record.created + 1
                 and (_quotes(told, old) and not _quotes(told, new) or "`%s` is called `%s`." % (new, old) in record.body)}
        data = store.raw(record.name)
        before, mark, after = data.partition(_NAMED_BY)
        if not since or not mark:
            continue
        known = [match for match in _CALLED.finditer(before.decode("utf-8", "replace"))
                 if match["old"] in since or since.get(match["new"], ("",))[0] == match["old"]]
        for match in known:
            before = before.replace(match[0].encode(), b"", 1)
        lines = "".join("\nSince %s: `%s` is called `%s`.\n" % (at[:10], old, new) for old, (new, at) in since.items()
                        if _quotes(told, old))
        if before + lines.encode() + mark + after != data:
            store.replace(record.name, before + lines.encode() + mark + after, files.sha256(data))


def _spoken(record: Record) -> tuple[str, str, str]:
    """Return (the cause, what was said of its remedy, all of the remedy) of a lesson."""
    remedy = record.body.partition("\nWhat mended it:\n")[2].partition("\nNamed by the ")[0]
    return record.body.partition("\n")[0], "\n".join(line for line in remedy.split("\n") if not _DONE.match(line)), remedy


def _quotes(text: str, name: str) -> bool:
    """Tell whether something that a text sets in marks of code begins with a name."""
    return bool(re.search("`" + re.escape(name) + r"(?!\w)", text, re.I))


def look_back(place: Place, settings: config.Config, now: float, rows: Sequence[Row],
              on_change: Callable[[str], None] | None = None) -> None:
    """Archive the lessons that name what was later said to be removed; say in others what was reported since of their remedy.

    None that a person accepted.  rows: what `walls.known` returned.  Raises OSError or StoreError.
    """
    gone = [(row["session"], one) for row in rows for one in row["turned"] if mending.takes_away(one["said"], one["old"])]
    reports = [(row["session"], one) for row in rows for one in row["reported"]]
    often = Counter(name for _, one in reports for name in one["names"])
    store = Store(place, settings, now, on_change)
    for record in _open(store) if gone or reports else []:
        parts, session = _spoken(record), record.meta.get("session")
        said = next((one["said"] for other, one in gone if one["at"] > record.created and _quotes("\n".join(
            parts[:1 + (other != session)]), one["old"])), "")
        brought = {name for name in history.identifiers(_BEFORE.sub("", parts[2])) if often[name] <= RARE}
        since = [(one["at"], one["said"], len(brought.intersection(one["names"]))) for other, one in reports
                 if other != session and one["at"] > record.created and brought.intersection(one["names"])]
        wrong = next((said for _, said, shared in since if shared >= ITSELF), "")
        if said or wrong:
            store.archive(record.name, "what it speaks of is gone: " + said if said else "its remedy was reported: " + wrong)
        elif since:
            store.edit(record.name, {SINCE: "%s: %s" % (clock.day(max(since)[0]), max(since)[1])})


def _open(store: Store) -> list[Record]:
    """Return the lessons that capture wrote, and that no person accepted or brought back from the archive."""
    from memory.store import archive

    kept = archive.brought_back(store.roots[PRIVATE])
    return [record for record in store.each(("learning",)) if _is_open(record) and record.id not in kept]


def _is_open(record: Record) -> bool:
    """Tell whether capture wrote a record and no person accepted it."""
    return is_captured(record) and record.meta.get("accepted_by", SEEN) == SEEN and (
        "accepted_by" in record.meta or "accepted" not in record.meta)


def is_captured(record: Record) -> bool:
    """Tell whether capture wrote a record."""
    return record.source == "auto" and record.tier == PRIVATE and bool(record.meta.get("session"))


def undoes(later: str, earlier: str) -> bool:
    """Tell whether a line takes out again what an earlier one added."""
    if not (deeds.TAKES.match(later) and deeds.ADDS.match(earlier)):
        return False
    quoted = set(re.findall(r"`([^`]+)`", later)) & set(re.findall(r"`([^`]+)`", earlier))
    return bool(quoted) or upshot.same(later.partition(" ")[2], earlier.partition(" ")[2])
