"""Standing wishes: what the user said that is to hold in later sessions too, word for word.

Only forms that can mean little else are taken, each at the beginning of a sentence: most sentences
with such words in the middle are about the work at hand (evals/README.md has the figures).  A wish
becomes a rule that waits for approval; the brief says it as the user's words.
"""

from __future__ import annotations

from memory.core import clock, tokeniser
from memory.core.layout import PRIVATE
from memory.core.plaintext import one_line
from memory.hook import WISH_CHARS
from memory.session.latepattern import Late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memory.capture.turns import Turn
    from memory.core.records import Record
    from memory.store.store import Store

SAID = "said"  # key of a rule's head: the day on which the user said it last
TIMES = "times"  # key of a rule's head: on how many days they said it
LEAST, MOST = 8, 240  # bytes of a wish; characters
_LEAD = (
    r"(?:(?:and|also|no|please|oh|btw|ok|okay|so|yes|well|again|hey|just|then|bitte|und|also|nein|"
    r"пожалуйста|и|да|нет)\b[,:]?\s{1,3}){0,3}"
)
_EN = (
    r"from (?:now|here) on\b|going forward\b|"
    r"(?:(?:you|we) (?:must |should |have to |need to )?)?(?:always|never) "
    r"(?!mind\b|got\b|had\b|did\b|was\b|were\b|made\b|saw\b|went\b|been\b|\w+ed\b)\w|"
    r"(?:do not|don'?t) [^?]{3,120}\bever(?: again)?[.!]?\Z|"
    r"(?:do not|don'?t|never) forget (?:to|that)\b|"
    r"(?:remember|keep in mind)(?: also| always)?(?: that\b| to\b|:| you\b)|"
    r"(?:i (?:always |really |strongly |generally |usually )?)?prefer \w|"
    r"stop \w{2,20}ing\b|"
    r"use (?!this\b|that\b|it\b)[^?.,]{2,60} (?:in|for|instead of|over|rather than|whenever) "
    r"(?:the |our |all |any |every |user)[^?.,]{2,50}[.!]?\Z|"
    r"my (?:\w{2,20} ){1,3}is [\w@]"
)
_DE = (
    r"(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an|künftig|in zukunft)\b|(?:immer|nie|niemals) \w"
    r"|wir \w{2,20} (?:immer|nie|niemals|grundsätzlich)\b|(?!ich |das |es |der |die |er |sie |da "
    r"|warum )\w{2,20} [^?]{2,120}\b(?:nie|niemals|nie wieder)\b|(?:merk dir|denk daran"
    r"|vergiss nicht)\b|ich (?:bevorzuge|mag lieber|hätte lieber)\b|hör auf\b|(?:verwende|benutze"
    r"|nutze|schreib\w{0,3}) [^?]{2,60} (?:in|für|statt) [^?]{2,60}\Z"
)
_RU = (
    r"(?:с этого момента|отныне|впредь|с сегодняшнего дня)\b|(?:мы )?(?:всегда|никогда) \w|"
    r"(?:запомни|не забывай)\b|я предпочитаю\b|(?:перестань|прекрати|хватит)\b|"
    r"не [^?]{3,120}\bникогда\b|(?:используй|пиши) [^?]{2,60} (?:в|для|вместо) [^?]{2,60}\Z"
)
_KO = (
    r"(?:앞으로|이제부터|지금부터)|(?:우리는? )?[^?]{0,20}(?:항상|언제나|절대로?) |"
    r"기억해|[^?]{2,60}(?:선호해|선호합니다|선호한다|더 좋아)|[^?]{2,60}(?:그만|더 이상)[^?]{0,30}"
    r"|[^?]{1,30}(?:에는|에서는|에선) [^?]{1,40}(?:써 ?줘|써\b|쓰세요|사용해|사용하)"
)
_JA = (
    r"(?:今後|これから|以後|今から)|[^?？]{0,30}(?:必ず|常に|いつも|毎回|絶対に|決して)|覚えて|"
    r"[^?？]{2,60}(?:好みます|好みです|好きです|方がいいです|ほうがいいです)|"
    r"[^?？]{2,60}(?:のをやめて|のはやめて|ないでください)|"
    r"[^?？]{1,30}(?:では|には)[^?？]{1,40}(?:使って|使用して|書いて)"
)
_ZH = (
    r"(?:从现在开始|从现在起|从今以后|以后|今后)|(?:我们)?[^?？]{0,20}(?:总是|始终|务必|永远不要"
    r"|绝不|从不|千万不要|绝对不要)|记住|我(?:更)?(?:喜欢|偏好|倾向)|(?:不要再|别再|停止)"
    r"|[^?？]{0,20}(?:中|里)(?:请)?(?:使用|用)[^?？]{1,40}"
)
_FORM = Late("(?i)" + _LEAD + "(?P<wish>" + "|".join((_EN, _DE, _RU, _KO, _JA, _ZH)) + ")")
_STOP = Late(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])|\s[–—]\s|;\s")


def head(day: str) -> dict[str, str]:
    """Return the frontmatter of a rule said on a day."""
    return {"rationale": "You said so on %s." % day, "suggested_by": "you", SAID: day}


def wishes(request: str) -> list[str]:
    """Return the sentences of a request with a standing wish.

    Without a joining word before them.
    """
    if len(request) > WISH_CHARS:
        return []
    return [wish for wish in map(_wish, _sentences(request)) if wish]


def _sentences(request: str) -> Iterator[str]:
    """Yield the sentences of the user's prose.

    No quotation, table, heading or code.
    """
    for row, code in tokeniser.coded(request.split("\n")):
        bare = row.strip().lstrip("-*• ").strip()
        if (
            not code
            and row[:4] != "    "
            and not bare.startswith((">", "|", "#", "<", "$", "/", "+"))
        ):
            yield from (part.strip() for part in _STOP.split(bare))


def _wish(said: str) -> str:
    """Return the wish in a sentence, "" for none."""
    short = len(said.encode()) < LEAST
    if short or len(said) > MOST or said.endswith(("?", "？", ":", "：")):
        return ""
    found = _FORM.match(said.replace("’", "'"))
    return said[found.start("wish") :] if found else ""


def keep(keeper: Store, turns: Iterable[Turn], session: str) -> list[str]:
    """Write the wishes of typed requests as waiting rules; return their ids.

    A wish that a person dropped is not written again; a waiting wish counts once more on another
    day.
    """
    typed = [(turn.at, wishes(turn.request)) for turn in turns if turn.asked == "" and turn.request]
    said_then = [(at, said) for at, many in typed for said in many]
    if not said_then:
        return []
    from memory.hook import context  # of most sessions nothing is kept

    found: list[str] = []
    for at, said in said_then:
        title = one_line(said, MOST)
        day = clock.day(clock.parse(at) or keeper.now)
        there = keeper.same("rule", title, "")
        if there:
            _count(keeper, there, at, day)
        if there or is_gone(keeper, title):
            continue
        extra = {**head(day), "created": at}
        kept = keeper.add(
            "rule", title, "", tags=[context.ALWAYS], source="auto", session=session, extra=extra
        )
        found.append(kept.id)
    return found


def is_waiting(keeper: Store, rule: Record) -> bool:
    """Tell whether a private rule is an undecided wish."""
    if rule.tier != PRIVATE or not rule.meta.get(SAID):
        return False
    from memory.core import approvals  # most sessions say no wish again

    key = (approvals.workspace_of(rule.name, keeper.place.key), rule.id, rule.checksum)
    return key not in approvals.decisions(keeper.place.home, [rule.checksum])


def _count(keeper: Store, rule: Record, at: str, day: str) -> None:
    """Count a wish repeated on another day, later or earlier.

    An import reads the newest sessions first.  at: when it was said; day: the day of that.
    """
    last, first = str(rule.meta.get(SAID) or ""), clock.day(rule.created)
    if first <= day <= last or not is_waiting(keeper, rule):
        return
    times = str(rule.meta.get(TIMES) or "1")
    number = int(times) if times.isdigit() else 1
    moved: dict[str, object] = dict(head(day)) if day > last else {"created": at}
    keeper.edit(rule.name, {**moved, TIMES: number + 1}, True)


def is_gone(keeper: Store, title: str) -> bool:
    """Tell whether a rule with a title was forgotten or archived."""
    from memory.store import archive, writer

    stem = "/" + writer.slug("rule", title, "") + "-"
    return any(
        stem in "/" + move.home for move in archive.archived_moves(keeper.place.private).values()
    )
