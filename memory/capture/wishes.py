"""Standing wishes: the user's own words that apply to later sessions too.

Only forms that can mean little else are taken, at the head of a sentence or clause: most sentences
with such words elsewhere are about the work at hand (evals/README.md has figures).  A wish
becomes a rule that waits for approval; the brief says it as the user's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from unicodedata import normalize

from memory.capture.turns import WITHDRAWN, list_user_texts
from memory.core import clock, tokeniser
from memory.core.layout import PRIVATE
from memory.core.plaintext import one_line
from memory.core.records import meta_text, parse_labels
from memory.hook import WISH_CHARS
from memory.session.latepattern import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.capture.turns import Turn
    from memory.core.records import Record
    from memory.store.store import Store

SAID = "said"  # key of a rule's head: the day on which the user said it last
TIMES = "times"  # key of a rule's head: on how many days or in how many sessions they said it
SAID_IN = "said_in"  # key of a rule's head: the later sessions that said it, by 8 digits
TAKEN_BACK = "taken_back"  # key of an archived rule's head: when a rewind withdrew it
CONTRARY_TO = "contrary_to"  # key of a rule's head: an approved rule that says the contrary
LEAST, MOST = 8, 240  # bytes of a wish; characters
EARLY = 60  # seconds by which a hook may note a wish before the transcript
SESSIONS = 20  # that are noted in SAID_IN
QUESTION = ("?", "？")  # ends what is no wish
_LEAD = (
    r"(?:.{2,160}[,，] ?(?:and |并且)?(?=(?:from now on|以后|今后)\W*\w))??"
    r"(?:(?:and|also|no|please|oh|btw|ok|okay|so|yes|well|again|hey|just|then|bitte|und|nein|"
    r"пожалуйста|и|да|нет)\b"
    r"[,:]?\s{1,3}){0,3}"
)
# verbs for what an agent does, not a product
_DO = (
    r"(?:add|answer|ask|assum|call|check|choos|commit|creat|deploy|do|edit|end|explain|follow|mak|"
    r"mention|mock|open|plan|propos|pull|push|put|read|reply|review|run|say|start|test|touch|try|"
    r"us|verify|work|writ)"
)
# behind "from now on": the user tells of themselves, and wants nothing
_SELF_EN = (
    r"(?!,? i(?:'(?:m|ll|ve)\b| (?!(?:(?:do not|don'?t|never|always|only|just|\w+ly) )?(?:want|"
    r"need|expect|prefer|wish|would|like|ask|insist|demand|require|hope|love|hate)\b)))"
)
_SELF_DE = (
    r"(?! (?:sind wir|(?!will|möcht|brauch|erwart|bevorzug|hätt|wünsch|mag|würd|bitt)\w+ ich)\b)"
)
_SELF_RU = r"(?!,? (?:я (?!не хо|хо|предпоч|прошу|жду|требу|жела)|(?:у )?меня\b))"
_SELF_ZH = r"(?![,，]?我(?!们|只?[想要]|不[想要]|希望|需要|更?喜欢|偏好|倾向))"
_EN = (
    r"(?:from (?:now|here) on|going forward)\b(?=\W*\w)"
    + _SELF_EN
    + r"|(?:we |you (?:must|should|have to|need to) )?"
    r"(?:always|never) (?:\w+ly )?" + _DO + r"e?\b(?! into| up)|stop " + _DO + r"\w?ing "
    r"(?!(?:the|this|that|it)\b)|(?:every ?time|whenever) (?:i ask|you) [^?]{3,80},? please\b|"
    r"(?:do not|don'?t) [^?]{3,120}\b(?:(?:ever(?: again)?|every ?time)[.!]?|"
    r"unless (?:i|asked|told)\b.*)\Z|(?:do not|don'?t|never) forget (?:to|that)\b|"
    r"(?:remember|keep in mind)(?: also| always)?(?: that\b| to\b|:| you\b)|"
    r"(?:i (?:always |\w+ly )?)?prefer (?!(?:an?|it|option|th\w+|your)\b|\w+ \d)(?-i:[a-z])|"
    r"use (?!th|it\b)[^?.,]{2,60} (?:in|for) (?:the |our |all )[^?.,]{2,50}[.!]?\Z|"
    r"(?:(?:always|never|only|please|no|do not|don'?t) |"
    + _DO
    + r"e?\b(?! into| up| it\b| th))[^?]{3,160}\bfrom (?:now|here) on[.!]?\Z"
)
_DE = (
    r"(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an)\b"
    + _SELF_DE
    + r"|(?:künftig|in zukunft)\b"
    + _SELF_DE
    + r"(?! (?:k[aöo]nn|w[iüä]r|werden))|(?:immer|nie(?:mals)?) (?!noch\b|wieder\b|mehr\b|wenn\b|"
    r"d(?:er|ie|as)|ge\w+(?:t|en)\b|\w+iert\b)\w|wir (?!bekommen|landen|haben|hatten|sehen|kriegen|"
    r"sind|waren|wissen|k[oö]nn)\w{2,20} (?:immer|nie(?:mals)?|grundsätzlich)\b|(?:fass|rühr|änder|"
    r"lösch|schreib|mach|nutz|benutz|verwend|commit|push|füg|entfern|start|führ|setz|leg|nimm|lass)"
    r"\w{0,3} [^?]{2,120}\bnie(?:mals)?\b|(?:merk dir|denk daran|vergiss nicht)\b|ich (?:bevorzuge|"
    r"mag lieber|hätte lieber)\b(?! dies)|hör auf\b|(?:verwende|(?:be)?nutze|schreib\w{0,3}) "
    r"(?!dies|das\b|den\b|die\b|es\b|hier\b)[^?]{2,60} (?:in|für|statt) "
    r"(?!dies|den\b|dem\b|das\b)[^?]{2,60}\Z"
)
_ORDER_RU = r"\w{2,20}(?:й|йте|ите|(?<!л)и)\b"
_RU = (
    r"(?:с этого момента|отныне|впредь|с сегодняшнего дня)\b"
    + _SELF_RU
    + r"|(?:всегда|никогда не) "
    + _ORDER_RU
    + r"|мы (?:всегда|никогда не) (?!получа|вид|име|попада|теря)\w{3,20}[еи]м\b|"
    r"(?:запомни(?:те)?|не забывай(?:те)?)\b|я предпочитаю\b(?! эт)|(?:перестань|прекрати)\b|"
    r"хватит \w+ть\b|не " + _ORDER_RU + r"[^?]{3,120}\bникогда\b|"
    r"используй (?!эт|е[ёг]|здесь|тут)[^?]{2,60} (?:в|для|вместо) (?!эт)[^?]{2,60}\Z"
)
_ORDER_KO = r"(?:줘요?|세요|십시오|마|[마해줘]라|말아요?|[말하두]자|합시다|[할말] 것)[.!]?\Z"
_KO = (
    r"(?:앞으로|이제부터|지금부터)[^?]{2,120}(?:(?:야 ?(?:해|한다|함)|면 ?됨)[.!]?\Z|"
    + _ORDER_KO
    + r")|우리는? [^?]{0,20}(?:항상|언제나|절대로?) [^?]{2,60}"
    r"(?:않아|않는다|않습니다|안 써|해|한다|합니다)[.!]?\Z"
    r"|[^?]{0,20}(?:항상|언제나|절대로?) [^?]{2,120}"
    + _ORDER_KO
    + r"|기억해(?! ?[나내])|[^?]{2,60}(?:선호해|선호합니다|선호한다|더 좋아해|더 좋아합니다)"
    r"|[^?]{2,60}(?:그만|더 이상) [^?]{0,30}"
    + _ORDER_KO
    + r"|(?![이그저] |여기)[^?]{1,30}(?:에는|에서는|에선) [^?]{1,40}"
    r"(?:써(?: ?줘)?|쓰세요|사용(?:해 ?줘|하세요))[.!]?\Z"
)
_ORDER_JA = r"(?:て|ないで|[てで](?:くだ|下)さい|ること|ましょう|ように)[。！.!]?\Z"
_JA = (
    r"(?:今後は?(?!の|も)|これからは|以後)[^?？]{2,120}(?:(?:[うくすつぶむる]な|お願いします)[。！]?\Z|"
    + _ORDER_JA
    + r")|[^?？]{0,30}(?:必ず|常に|いつも|毎回|絶対に)[^?？]{2,120}"
    + _ORDER_JA
    + r"|[^?？]{0,30}決して[^?？]{2,60}ない|覚えて(?:おいて|ください|くれ)|"
    r"(?![こそあ](?:れ|の|っち|ちら)|以前|前の)[^?？]{2,60}(?:好み(?:ます|です)|好きです|(?:方|ほう)がいいです)|"
    r"[^?？]{2,60}の[をは]やめて|"
    r"(?![こそあ](?:れ|の|こ))[^?？]{1,30}(?:では|には)[^?？]{1,40}(?:使って|使用して|書いて)(?:ください)?[。！]?\Z"
)
_ZH = (
    r"(?:从(?:现在(?:开始|起)|今以后)"
    + _SELF_ZH
    + r"|(?:以后|今后)(?!再|的|会|可能|考虑|[^，,]*哪)"
    + _SELF_ZH
    + r")|我们[^?？]{0,20}(?:从不|绝不|(?:总是|始终)使用|总是先)|[^?？]{0,20}(?:永远|千万|绝对)不要"
    r"|请?记住(?:[,，:：]|要|不要|别|每次|以后|总是|先|我们)|我(?:更)?(?:喜欢|偏好|倾向)(?!于?[这那])"
    r"|别再(?!次|[^，,。]*了)|(?![^?？]{0,4}[这那此该])[^?？]{1,20}(?:中|里)请?(?:使用|用)(?![到户了来于的不])[^?？了]{1,40}\Z"
)
_FORM = LazyPattern("(?i)" + _LEAD + "(?P<wish>" + "|".join((_EN, _DE, _RU, _KO, _JA, _ZH)) + ")")
# --- two wishes that say the contrary: the same words but for what a wish and a "no" are made of
_NO_MORE = (  # says no, whatever other "no" stands with it, as Russian and German double it
    r"\b(?:not|no|never|don'?t|stop|avoid|nicht|kein\w*|nie(?:mals)?|hör auf|не|нельзя|никогда|"
    r"перестань(?:те)?|прекрати(?:те)?|хватит)\b|지 ?(?:[는도] )?(?:마|말|않)|그만|금지|"
    r"ない|ません|やめ|禁止|[うくすつぬぶむる]な(?=[。！.!]?\Z)|[从绝]?不|别|勿|没|停止"
)
_NO_NO = (  # looks like a "no" and is none
    r"\b(?:(?:do not|don'?t|never) forget|vergiss nicht|не забывай(?:те)?)\b|잊지 ?(?:마|말)\w*|"
    r"忘れ(?:ないで|ずに)|(?:なければ|なくては|ないと)(?:なら|いけ)(?:ない|ません)|(?:不要忘|别忘)[记了]?"
)
_CUE = (  # says that it is a wish, for how long, and "use"
    r"\b(?:from (?:now|here) on|going forward|always|please|ever|again|any ?more|any longer|"
    r"every ?time|we|you|must|should|do|remember|i prefer|keep in mind|that|to|the|an?|also|"
    r"us(?:e|ing)|ab (?:jetzt|sofort)|von (?:jetzt|nun) an|künftig|in zukunft|immer|mehr|wieder|"
    r"bitte|wir|du|merk dir|denk daran|grundsätzlich|stets|dass|zu|d(?:er|ie|as|en|em|es)|"
    r"eine?[nrms]?|auch|(?:ver|an)wende\w*|(?:be)?nutz\w*|с (?:этого момента|сегодняшнего дня)|"
    r"отныне|впредь|всегда|больше|пожалуйста|мы|запомни(?:те)?|что|использ\w*)\b|앞으로[는도]?|"
    r"(?:이제|지금)부터[는도]?|항상|언제나|절대로?|꼭|반드시|무조건|매번|다시는|더 이상|더는|"
    r"이제|우리[는가]?|기억해 ?(?:둬|줘|주세요)?|今後は?|これからは?|以後|必ず|常に|いつも|毎回|"
    r"絶対に?|決して|一切|(?:くだ|下)さい|覚えて(?:おいて|ください)?|从现在(?:开始|起)|从今以后|"
    r"以后|今后|永远|千万|绝对|一律|务必|一定要?|必须|总是|始终|都|请|每次|记住|再|要|来|了|吧|"
    r"使用|采用|用|使(?=[っうわい])"
)
_NOT, _NO_NOT, _CUES = (LazyPattern("(?i)" + form) for form in (_NO_MORE, _NO_NO, _CUE))
_WITHOUT = LazyPattern(r"(?i)\b(?:without|ohne|без)\b|없이|なし|无")
# the last word of Korean, without what makes it a request; "use" is none
_VERB_KO = LazyPattern(
    r"(?<![가-힣])(?P<verb>[가-힣]{1,20}?)(?:지(?: ?[는도])?)?"
    r"(?: ?(?:마|말|않|줘|주|봐|것)[가-힣]{0,9}(?: 것| 줘\S{0,9})?){0,4}[.!\s]{0,3}\Z"
)
_USE_KO = ("써", "쓰", "쓸", "씁", "사용", "이용")
_PARTICLE_KO = LazyPattern(r"(?:을|를|은|는|이|가|도|만)\Z")
_SIGN = LazyPattern(r"[^\W\dぁ-ん]|\d+")
_HELD_JA = LazyPattern(r"(?<=[をはがにでもへと])(?![はをもが])[ぁ-ん]")
_STOP = LazyPattern(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])|\s[–—]\s|;\s")


def make_frontmatter(day: str) -> dict[str, str]:
    """Return the frontmatter of a rule made of a wish."""
    return {"rationale": "You said so on %s." % day, "suggested_by": "you", SAID: day}


def find_wishes(request: str) -> list[str]:
    """Return the standing wishes in a request, without joining words before them."""
    if len(request) > WISH_CHARS:
        return []
    return [*filter(None, map(_extract_wish, _split_sentences(request)))]


def _split_sentences(request: str) -> Iterator[str]:
    for row, is_code in tokeniser.mark_code(request.split("\n")):
        bare = row.strip().lstrip("-*• ").strip()
        if (
            not is_code
            and row[:4] != "    "
            and not bare.startswith((">", "|", "#", "<", "$", "/", "+"))
        ):
            yield from (part.strip() for part in _STOP.split(bare))


def _extract_wish(sentence: str) -> str:
    short = len(sentence.encode()) < LEAST
    if short or len(sentence) > MOST or sentence.endswith((*QUESTION, ":", "：")):
        return ""
    match = _FORM.match(sentence.replace("’", "'"))
    return sentence[match.start("wish") :] if match else ""


def list_wishes(turns: Iterable[Turn]) -> list[tuple[str, str]]:
    """Return the wishes that the user typed, each with its instant."""
    typed = ((turn.at, text) for turn in turns for text in list_user_texts(turn))
    return [(at, wish) for at, text in typed for wish in find_wishes(text)]


def save_wishes(keeper: Store, turns: Iterable[Turn], session: str) -> list[str]:
    """Save the wishes that the user typed as waiting rules; return their ids.

    A dropped wish is not written again, a wish with a secret never; a waiting wish counts once more
    on another day or in another session.
    """
    wishes = list_wishes(turns)
    if not wishes:
        return []
    from memory.hook import context  # of most sessions nothing is kept

    ids: list[str] = []
    for at, wish in wishes:
        title = one_line(wish, MOST)
        if "[redacted:" in keeper.cleaned(title):
            continue  # it is about a secret, and says nothing without it
        day = clock.format_local_day(clock.parse(at) or keeper.now)
        rule = keeper.same("rule", title, "")
        if rule:
            count_repeat(keeper, rule, at, session)
        if rule or is_dropped(keeper, title, at):
            continue
        extra = {**make_frontmatter(day), "created": at}
        kept = keeper.add(
            "rule", title, "", tags=[context.ALWAYS], source="auto", session=session, extra=extra
        )
        ids.append(kept.id)
    return ids


def withdraw_wishes(keeper: Store, turns: Sequence[Turn], session: str) -> None:
    """Archive a session's waiting wishes that rewinds took back."""
    gone = [replace(turn, asked="") for turn in turns if turn.asked == WITHDRAWN]
    stand = (turn for turn in turns if turn.asked != WITHDRAWN) if gone else ()
    said = {wish for _, wish in list_wishes(stand)}
    for at, wish in list_wishes(gone):
        rule = None if wish in said else keeper.same("rule", one_line(wish, MOST), "")
        if rule is None or meta_text(rule, "session") != session or not is_new(keeper, rule):
            continue
        if rule.created > (clock.parse(at) or keeper.now) - EARLY:  # else it was said before
            keeper.edit(rule.name, {TAKEN_BACK: clock.iso(keeper.now)}, True)
            keeper.archive(rule.name, "taken back by a rewind")


def is_waiting(keeper: Store, rule: Record) -> bool:
    """Tell whether a private rule is an undecided wish."""
    if rule.tier != PRIVATE or not rule.meta.get(SAID):
        return False
    from memory.core import approvals  # most sessions say no wish again

    key = (approvals.approval_workspace(rule.name, keeper.place.key), rule.id, rule.checksum)
    return key not in approvals.read_decisions(keeper.place.home, [rule.checksum])


def is_new(keeper: Store, rule: Record) -> bool:
    """Tell whether a private rule is an undecided wish, said once."""
    return TIMES not in rule.meta and is_waiting(keeper, rule)


def get_times(rule: Record) -> int:
    """Return how often a wish was said."""
    times = meta_text(rule, TIMES)
    return int(times) if times.isdigit() else 1


def is_said_in(rule: Record, session: str) -> bool:
    """Tell whether a wish is of a session, or counted for it."""
    counted = parse_labels(rule.meta.get(SAID_IN))
    return session[:8] in (*counted, meta_text(rule, "session")[:8], "")


def count_repeat(keeper: Store, rule: Record, at: str, session: str) -> bool:
    """Count that a waiting wish was said again; tell whether it was."""
    day = clock.format_local_day(clock.parse(at) or keeper.now)
    last, first = str(rule.meta.get(SAID) or ""), clock.format_local_day(rule.created)
    is_known = is_said_in(rule, session)
    if (is_known and first <= day <= last) or not is_waiting(keeper, rule):
        return False
    moved: dict[str, object] = {TIMES: get_times(rule) + 1}
    if not is_known:
        moved[SAID_IN] = [*parse_labels(rule.meta.get(SAID_IN)), session[:8]][-SESSIONS:]
    if day > last:
        moved.update(make_frontmatter(day))
    elif day < first:
        moved["created"] = at
    keeper.edit(rule.name, moved, True)
    return True


def is_dropped(keeper: Store, title: str, at: str = "") -> bool:
    """Tell whether a rule with a title was forgotten or archived.

    at: of a wish said again, which counts where only a contrary one before it took its place.
    """
    archived = (rule for rule in keeper.archived("rule", title) if TAKEN_BACK not in rule.meta)
    gone = [rule.id for rule in archived if rule.title == title]
    if not gone or not at:
        return bool(gone)
    away, said = keeper.away(), clock.parse(at) or keeper.now
    heirs = {away[id][1].into for id in gone}
    overtaken = any(r.id in heirs and r.created < said for r in keeper.each(("rule",)))
    return "" in heirs or not overtaken


def are_contrary(one: str, other: str) -> bool:
    """Tell whether two wishes ask for a thing and for its contrary."""
    (no, these, verb), (not_no, those, other_verb) = map(_split_wish, (one, other))
    if no == not_no or not these or len(these) != len(those):
        return False
    denied, wanted = (verb, other_verb) if no else (other_verb, verb)
    if not wanted.startswith(denied[:-1]) or bool(denied) != bool(wanted):
        return False
    rest = [*those]
    for word in these:
        same = next((each for each in rest if _is_same_word(word, each)), "")
        if not same:
            return False
        rest.remove(same)
    return True


def _split_wish(said: str) -> tuple[bool, list[str], str]:
    """Return (whether a wish says no, its other words, its Korean verb)."""
    said = _NO_NOT.sub(" ", said.replace("’", "'").lower())
    no = bool(_NOT.search(said)) != bool(_WITHOUT.search(said))
    bare, verb = _CUES.sub(" ", said), ""
    if "가" <= max(said) <= "힣":
        match = _VERB_KO.search(bare)
        if match:
            verb, bare = match["verb"], bare[: match.start()]
        verb = "" if verb.startswith(_USE_KO) else normalize("NFD", verb)
        words = [_PARTICLE_KO.sub("", word.strip(",.!:")) for word in _NOT.sub(" ", bare).split()]
        return no, sorted(filter(None, words)), verb
    bare = _NOT.sub(" ", bare)
    if tokeniser.has_cjk(said):
        return no, sorted({*_SIGN.findall(bare), *_HELD_JA.findall(bare)}), ""
    return no, sorted(set(re.findall(r"\w(?:[\w./#+-]*\w)?", _WITHOUT.sub(" ", bare)))), ""


def _is_same_word(one: str, other: str) -> bool:
    """Tell whether two words differ at most in their endings."""
    least = max(3, min(len(one), len(other)) - 2)
    return one == other or (one.isalpha() and one[:least] == other[:least])
