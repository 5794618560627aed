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


def _any(*forms: str) -> str:
    """Return an expression of any of the forms."""
    return "(?:" + "|".join(forms) + ")"


_LEAD = (
    r"(?:.{2,160}[,，] ?(?:and |并且|所以)?(?=(?:from now on|以后|今后|往后)\W*\w))??"
    r"(?:(?:(?:and|also|no|please|pls|for god'?s sake|oh|ugh|um|btw|but|ok|okay|so|yes|well|again|"
    r"hey|just|then|aber|bitte|ganz allgemein|und|nein|а|вообще|да|и|нет|пожалуйста)\b|"
    r"그리고|아|근데|另外|还有|对了)[,:，]?\s{0,3}){0,3}"
)
# --- English.  Verbs for what an agent does, not a product
_DO = (
    r"(?:add|answer|ask|assum|call|check|choos|commit|creat|delet|deploy|do|edit|end|explain|follow|"
    r"keep|leav|mak|mention|mock|nam|open|plan|propos|pull|pass|prefix|push|put|read|reformat|rename|reply|"
    r"review|run|say|start|test|touch|try|us|verify|work|wrap|writ)"
)
# behind "from now on": the user tells of themselves, and wants nothing
_SELF_EN = (
    r"(?!,? i(?:'(?:m|ll|ve)\b| (?!(?:(?:do not|don'?t|never|always|only|just|\w+ly) )?(?:want|"
    r"need|expect|prefer|wish|would|like|ask|insist|demand|require|hope|love|hate)\b)))"
)
_NOW_EN = (
    r"(?:from (?:here|now|this point|today) (?:on(?:wards?)?|forwards?)|starting (?:now|today))"
)
_LATER_EN = (
    r"(?:(?:all(?: my| our| your)?|any|each|every|this or any) "
    r"(?:(?:bigger|future|later|new|other|single) )?|future )"
    r"(?:chat|conversation|project|repo|repositorie|session|task)s?"
)
_RULE_EN = _any(
    r"(?:(?:an? |my |new |our |the )?(?:general|hard|house|permanent|standing|strict) "
    r"(?:instruction|order|preference|rule)s?)",
    r"(?:note|rule) for the future|for future reference|memori[sz]e",
    r"(?:learn|note|save|store) (?:it|that|this)(?: about me| as an? \w+| down| permanently)?",
)
# how long an order holds, said before it
_LASTING_EN = _any(
    r"as a (?:\w+ )?rule|generally|henceforth|in general|in (?:the )?future|permanently",
    r"next time(?: and [^,:]{3,40})?|under no circumstances|whatever the task",
    r"(?:across|for|in) " + _LATER_EN,
    r"(?:any|each|every) ?time you [^,]{3,60},",
    r"(?:whenever|(?:for|in) (?:all|any|each|every|the) [^,:]{2,40}) you [^,:]{3,60}[,:]",
)
# and behind it
_LASTS_EN = _any(
    _NOW_EN + r"(?: out)?",
    r",? always|ever(?: again)?|every (?:single )?time|for good|forever|from you again",
    r"going forward|in (?:the )?future|like every time|no exceptions|permanently",
    r"now (?:and|or) (?:in the future|later)|(?:across|between|for|in) " + _LATER_EN,
    r"unless (?:asked|i|told)\b.{0,60}|without (?:asking|telling) me\b.{0,40}",
    r"(?:after|before) (?:any|each|every) (?:answer|change|commit|edit|merge|push|reply)\b.{0,60}",
    r"before you (?:say|tell me) .{0,20}(?:done|finished|ready)",
)
# the user says that it was said before
_TOLD_EN = _any(
    r"how (?:many times|often)(?: do i (?:have|need) to (?:repeat|say|tell)\b[^,:]{0,30})?",
    r"i(?:'ve| have)? (?:already )?(?:said|told you)(?: (?:already|before|it|so|that|you))*",
    r"(?:said|told you) (?:it |that |this )?(?:an? \w+ times|before|last \w+)",
    r"for the \d{1,4}\w\w time",
)
_NOT_EN = r"(?:do not|don'?t|never|no|quit|stop) "
# the beginning of an order, or of a rule of the project
_ORDER_EN = r"(?:(?:also|always|and|just|only|please|pls) )?" + _any(
    _NOT_EN,
    r"(?:we (?:always |do not |don'?t |never |only )?)?" + _DO + r"e?\b",
    r"you (?:are to|have to|must|need to|should|(?:are|can|may) ?not)\b",
    r"i (?:always )?(?:expect|need|prefer|want|would like)\b|i'd (?:like|prefer)\b",
    # any other word that may be a verb
    r"(?!(?:an?|all|any|but|did|does|each|every|h[aeo]\w*|i|i'\w+|if|in|is|it|it's|its|my|no|not|"
    r"our|she|so|some|th\w+|to|w[aeh]\w*|yes|you\w*)\b)[a-z']{2,20}(?<![^s]s)\b"
    r"(?! (?:\w+(?<!it)s|can|could|had|has|have|is|may|might|must|should|was|were|will|would)\b)",
)
_EN = _any(
    _any(_NOW_EN, r"from now(?! on)|(?:going|moving) forward") + r"\b(?=\W*\w)" + _SELF_EN,
    r"[^?,]{2,80} from (?:here|now) on[:,]? " + _ORDER_EN,
    _LASTING_EN + r"[,:;]?(?: -)? " + _ORDER_EN,
    r"(?:it is |treat (?:it|that|this) as )?" + _RULE_EN + r"(?:[,:]| that\b| for [^:]{2,40}:)",
    _any(
        r"(?:always|avoid|do not|don'?t|i want you|i'd like you|never|no|only|quit|stop|use|you)\b",
        _DO + r"e?\b(?! into| up)",
    )
    + r"[^?]{3,160}\b"
    + _LASTS_EN
    + r"[.!]?\Z",
    r"(?:do not|don'?t|no more) [^?]{3,80}\bany ?more[,.!]?(?:\Z|,? (?:not|ok|please)\b)",
    _any(_NOT_EN, r"(?:always|only|we|when you)\b", _DO + r"e?\b") + r"[^?]{3,160}\b" + _TOLD_EN,
    r"(?:we |you (?:have to|must|need to|should) )?(?:always|never) (?:\w+ly )?"
    + _DO
    + r"e?\b(?! into| up)",
    r"(?:quit|stop) " + _DO + r"\w{0,2}ing (?!(?:it|that|the|this)\b)",
    r"(?:every ?time|when(?:ever)?) (?:i ask|you) [^?]{3,80},? (?:please\b|(?:always|never) \w)",
    r"[^?]{4,160}\bplease remember (?:it|that|this)[.!]?\Z",
    r"i (?:need|want) you to (?:always|never)\b",
    r"(?:do not|don'?t) (?:you )?ever\b",
    r"(?:do not|don'?t|never) forget (?:that|to)\b",
    r"(?:keep in mind|remember)(?: also| always)?(?: for |:| that\b| to\b| you\b)",
    r"make it a (?:habit|rule) to\b|you are never to\b|i never want to see\b|if you are ever\b",
    r"(?:add|note|put|save|write) (?:it |that |this )?(?:for next time|"
    r"(?:in|into|to)(?: the| your)? (?:agents\.md|claude\.md|memory)(?:[:,]| that))",
    r"(?:i (?:always |\w+ly )?)?prefer (?!(?:an?|it|option|th\w+|your)\b|\w+ \d)(?-i:[a-z])",
    r"[^?]{0,80}\bi always (?:expect|need|prefer|want)\b",
    r"use (?!it\b|th)[^?.,]{2,60} (?:for|in) (?:all |our |the )[^?.,]{2,50}[.!]?\Z",
    r"in (?:our|this) (?:code ?base|monorepo|project|repo|repository),? "
    r"(?:always|don'?t|it'?s|never|no|use|we)\b",
    r"we (?:always|do not|don'?t|never|only|use) [^?]{3,100}"
    r"\b(?:here|in this (?:code ?base|project|repo|repository))\b",
)
# --- German
_SELF_DE = (
    r"(?! (?:sind wir|(?!will|möcht|brauch|erwart|bevorzug|hätt|wünsch|mag|würd|bitt)\w+ ich)\b)"
)
_DE = _any(
    r"(?:ab (?:heute|jetzt|sofort)|von (?:heute|jetzt|nun) an|fortan|für alle (?:kommenden|"
    r"künftigen|weiteren) (?:sessions|sitzungen))\b" + _SELF_DE,
    r"(?:(?:generell|grundsätzlich) gilt:|für die zukunft:|(?:immer|jedes mal), wenn du|"
    r"(?:beim|für das|fürs) nächste[ns]? mal:?) \w",
    r"(?:(?:zu)?künftig|in zukunft)\b" + _SELF_DE + r"(?! (?:k[aöo]nn|w[iüä]r|werden))",
    r"(?:immer|nie(?:mals)?) (?!noch\b|wieder\b|mehr\b|wenn\b|d(?:er|ie|as)|ge\w+(?:t|en)\b|"
    r"\w+iert\b)\w",
    r"wir (?!bekommen|landen|haben|hatten|sehen|kriegen|sind|waren|wissen|k[oö]nn)\w{2,20} "
    r"(?:immer|nie(?:mals)?|grundsätzlich)\b",
    r"(?:fass|rühr|änder|lösch|schreib|mach|nutz|benutz|verwend|commit|push|füg|entfern|start|führ|"
    r"setz|leg|nimm|lass)\w{0,3} [^?]{0,120}\b"
    r"(?:nie(?:mals)?|ab (?:jetzt|sofort)|in zukunft|künftig|jedes mal)\b",
    r"(?:merk dir|denk daran|vergiss nicht)\b|ich (?:bevorzuge|mag lieber|hätte lieber)\b(?! dies)",
    r"hör (?:\w+ )?auf\b",
    r"(?:verwende|(?:be)?nutze|schreib\w{0,3}) (?!dies|das\b|den\b|die\b|es\b|hier\b)[^?]{2,60} "
    r"(?:in|für|statt) (?!dies|den\b|dem\b|das\b)[^?]{2,60}\Z",
)
_TOLD_DE = r"(?:wie oft(?: denn)? noch|wie (?:schon )?gesagt|zum \w+sten mal)"
# --- Russian
_SELF_RU = r"(?!,? (?:я (?!не хо|хо|предпоч|прошу|жду|требу|жела)|(?:у )?меня\b))"
_ORDER_RU = r"\w{2,20}(?:й|йте|ите|(?<!л)и)\b"
_RU = _any(
    r"(?:в дальнейшем|во всех (?:будущих|новых|следующих) (?:сессиях|чатах)|впредь|"
    r"возьми за правило|каждый раз,? когда ты|на будущее:?|отныне|с сегодняшнего дня|"
    r"с этого момента|сохрани в память)\b" + _SELF_RU,
    r"(?:всегда|никогда не|больше не) " + _ORDER_RU,
    r"мы (?:всегда|никогда не) (?!получа|вид|име|попада|теря)\w{3,20}[еи]м\b",
    r"(?:запомни(?:те)?|не забывай(?:те)?)\b|я предпочитаю\b(?! эт)|(?:перестань|прекрати)\b",
    r"[^?]{4,120}\bни при каких (?:обстоятельствах|условиях)\b|(?:добавь|запиши) в claude\.md\b",
    r"хватит (?:же |уже )?\w+ть\b|не " + _ORDER_RU + r"[^?]{3,120}\bникогда\b",
    r"(?:дела|запуска|использу|показыва|проверя|спрашива|пиш)(?:й|и)(?:те)? [^?]{0,20}всегда\b",
    r"используй (?!эт|е[ёг]|здесь|тут)[^?]{2,60} (?:в|для|вместо) (?!эт)[^?]{2,60}\Z",
)
_TOLD_RU = r"(?:сколько раз (?:\w+ )?(?:говори|повторя|проси)\w+|сколько можно)"
# --- Korean
_ORDER_KO = r"(?:줘요?|세요|십시오|마|[마해줘]라|말아요?|[말하두]자|합시다|[할말] 것)[.!]?\Z"
_KO = _any(
    r"(?:앞으로|이제부터|지금부터|[다담]음?부턴?|(?:다음|새) (?:세션|대화)에서도|"
    r"이후 모든 작업에서|[^?]{2,40}앞으로[는도] |[^?]{0,30}어떤 경우에도)"
    r"(?!.*(?:수 있|보여)야)[^?]{2,120}(?:(?:야 ?(?:해|한다|함)|면 ?됨)[.!]?\Z|" + _ORDER_KO + r")",
    r"우리는? [^?]{0,20}(?:항상|언제나|절대로?) [^?]{2,60}"
    r"(?:않아|않는다|않습니다|안 써|해|한다|합니다)[.!]?\Z",
    r"[^?]{0,20}(?:항상|언제나|절대로?|매번|다시는|늘) [^?]{2,120}" + _ORDER_KO,
    r"[^?]{0,30}(?:몇 ?번(?:을|이나)? ?(?:말|얘기)|(?:저번|전|지난번)에도 (?:말|얘기))[^?]{4,120}"
    r"(?:지 ?마|말고|말라고|니까)",
    r"[^?]{4,120}(?:라니까요?[.!]?|지 ?마 (?:앞으로|다음부터)[.!]?)\Z",
    r"기억해(?! ?[나내])|(?:claude\.md|메모리)에 (?:저장|적어|추가)|영구 규칙",
    r"[^?]{2,60}(?:선호해|선호합니다|선호한다|더 좋아해|더 좋아합니다)",
    r"[^?]{2,60}(?:그만|더 이상) [^?]{0,30}" + _ORDER_KO,
    r"(?![이그저] |여기)[^?]{1,30}(?:에는|에서는|에선) [^?]{1,40}"
    r"(?:써(?: ?줘)?|쓰세요|사용(?:해 ?줘|하세요))[.!]?\Z",
)
# --- Japanese
_ORDER_JA = r"(?:て|ないで|[てで](?:くだ|下)さい|ること|ましょう|ように)[。！.!]?\Z"
_JA = _any(
    r"(?:今後は?(?!の|も)|これからは|以後|次(?:回)?(?:から|以降))[^?？]{2,120}"
    r"(?:(?:[うくすつぶむる]な|ないこと|お願いします)[。！]?\Z|" + _ORDER_JA + r")",
    r"(?!こ[のこ]|その)[^?？]{0,30}(?:必ず|常に|いつも|毎回|絶対に)[^?？]{2,120}" + _ORDER_JA,
    r"二度と[^?？]{2,60}(?:ないで|な[。！]?\Z)|[^?？]{4,80}(?:と|って)言ってる?(?:よね|でしょ)",
    r"[^?？]{0,30}(?:何[回度]も|前に?も)言[^?？]{4,80}(?:やめて|ないで|禁止|だけ)",
    r"[^?？]{4,80}(?:うち|この(?:チーム|プロジェクト))の(?:やり方|ルール|規約|方針)",
    r"[^?？]{0,30}決して[^?？]{2,60}ない",
    r"覚えて(?:おいて|ください|くれ)|メモリに保存して|claude\.mdに[^?？]{2,80}(?:追記|書い)|恒久的な",
    r"(?![こそあ](?:れ|の|っち|ちら)|以前|前の)[^?？]{2,60}(?:好み(?:ます|です)|好きです|(?:方|ほう)がいいです)",
    r"[^?？]{2,60}の[をは]やめて",
    r"(?![こそあ](?:れ|の|こ))[^?？]{1,30}(?:では|には)[^?？]{1,40}"
    r"(?:使って|使用して|書いて)(?:ください)?[。！]?\Z",
)
# --- Chinese
_SELF_ZH = r"(?![,，]?我(?!们|只?[想要]|不[想要]|希望|需要|更?喜欢|偏好|倾向))"
_ZH = _any(
    r"从(?:现在(?:开始|起)|今以后)" + _SELF_ZH,
    r"(?:以后|今后|往后)(?!再|的|会|可能|考虑|[^，,]*哪)" + _SELF_ZH,
    r"(?:以后|今后|之后)的(?:每个|所有)(?:会话|项目)|凡是给我",
    r"我们[^?？]{0,20}(?:从不|绝不|(?:总是|始终)使用|总是先)|[^?？]{0,20}(?:永远|千万|绝对)不要",
    r"(?:咱们|我们)(?:这个)?(?:仓库|项目|团队)[^?？]{0,30}(?:统一|一律|只用|不用|禁止)",
    r"请?记住(?:[,，:：]|要|不要|别|每次|以后|总是|先|我们)",
    r"(?:请?记入|请?写进|把这条写进) ?(?:长期记忆|memory|claude\.md)",
    r"我(?:更)?(?:喜欢|偏好|倾向)(?!于?[这那])",
    r"(?:不要|不准|别)再[^?？]{2,60}(?:什么|任何)时候都|[^?？]{2,60}以后都(?:这样|一样)",
    r"(?:说了(?:多少|几|好几)[遍次]了?|(?:之前|前面|上次|已经)就?(?:跟你)?[说讲]过了?)[，, ]?"
    r"[^?？]{0,20}(?:别|不要|不用|一律|统一|要用)",
    r"别再(?!次|[^，,。]*了)",
    r"(?![^?？]{0,4}[这那此该])[^?？]{1,20}(?:中|里)请?(?:使用|用)(?![到户了来于的不])[^?？了]{1,40}\Z",
)
# --- French, Spanish, Italian, Portuguese
_ROMANCE = _any(
    r"(?:à partir de maintenant|désormais|dorénavant|à l'avenir|(?:a partir )?de ahora|en adelante|"
    r"de aquí en adelante|como norma general|d(?:'|a )ora in (?:avanti|poi)|"
    r"da qui in (?:avanti|poi)|in futuro|a partir de agora|de agora em diante|"
    r"daqui (?:em|para|pra) (?:diante|frente))"
    r"\b(?=\W*\w)",
    r"(?:retiens qu|souviens-toi qu|recuerda que|ricordati|lembre-se)|ne \w{2,20} jamais\b",
)
# an order behind the complaint that it was said before
_AGAIN = r".{0,60}?\b" + _any(
    _TOLD_EN + r"[,:;.]{1,3} (?=" + _ORDER_EN + r")",
    _TOLD_DE + r"[,:.]{1,3} (?=kein|nicht\b|nie|immer\b|nur\b|wir\b|bitte\b|nimm\b|nutz)",
    _TOLD_RU + r"[,:.]{1,3} (?=не\b|никаких\b|только\b|всегда\b|у нас\b|" + _ORDER_RU + r")",
)
_FORM = LazyPattern(
    "(?i)%s(?P<again>)|%s(?P<wish>%s)"
    % (_AGAIN, _LEAD, _any(_EN, _DE, _RU, _KO, _JA, _ZH, _ROMANCE))
)
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
# a question, but none that only asks "ok?"; an order about one line of a file
_NO_WISH = LazyPattern(r"(?i)(?<!\bok)(?<!\bokay)[?？]\Z|[:：]\Z|\blines? \d")
_STOP = LazyPattern(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])|\s[–—]\s|;\s")


def make_frontmatter(day: str) -> dict[str, str]:
    """Return the frontmatter of a rule that a wish became."""
    return {"rationale": "You said so on %s." % day, "suggested_by": "you", SAID: day}


def find_wishes(request: str) -> list[str]:
    """Return the standing wishes in a request, without words before them."""
    if len(request) > WISH_CHARS:
        return []
    return [*filter(None, map(_extract_wish, _split_sentences(request)))]


def _split_sentences(request: str) -> Iterator[str]:
    for row, is_code in tokeniser.mark_code(request.split("\n")):
        bare = row.strip().lstrip("-*• ").strip()
        is_said = row[:4] != "    " and not bare.startswith((">", "|", "#", "<", "$", "/", "+"))
        if is_said and not is_code:
            yield from (part.strip() for part in _STOP.split(bare))


def _extract_wish(sentence: str) -> str:
    short = len(sentence.encode()) < LEAST
    if short or len(sentence) > MOST or _NO_WISH.search(sentence):
        return ""
    match = _FORM.match(sentence.replace("’", "'"))
    return sentence[match.start(match.lastgroup or 0) :] if match else ""


def list_wishes(turns: Iterable[Turn]) -> list[tuple[str, str]]:
    """Return the wishes that the user typed, each with its instant."""
    typed = ((turn.at, text) for turn in turns for text in list_user_texts(turn))
    return [(at, wish) for at, text in typed for wish in find_wishes(text)]


def save_wishes(keeper: Store, turns: Iterable[Turn], session: str) -> list[str]:
    """Save the user's wishes as waiting rules; return their ids.

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
    """Tell whether a wish came from a session, or counted for it."""
    counted = parse_labels(rule.meta.get(SAID_IN))
    return session[:8] in (*counted, meta_text(rule, "session")[:8], "")


def count_repeat(keeper: Store, rule: Record, at: str, session: str) -> bool:
    """Count a waiting wish that was said again; tell whether it counted."""
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
    keeper.edit(rule.name, moved, bookkeeping=True)
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
    """Tell whether two wishes ask for a thing and for its opposite."""
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
    """Return (whether a wish says no, other words, Korean verb or "")."""
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
