"""How faults, causes and remedies are spoken of: what is reported, named, changed, and the words that take a remedy back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memory.core import tokeniser
from memory.core.plaintext import at_word, one_line, sentences
from memory.session import lasting
from memory.session.latepattern import Late

ROW = -2
NONE, CHANGED, CALLED = 0.0, 1.0, 2.0  # how surely a sentence tells a remedy: not; it says what was changed; it calls it the fix
STEP, MOST_STEPS = 160, 5  # characters of a step of a remedy; steps that are told
_LONGEST = 330  # characters of a sentence that is told
_CALLS = re.compile(r"(?=\bgh )")
_REPLY = Late(  # up to the same mark; one that is cut, or holds an escaped mark, tells nothing
    r"""(?:\bbody=|(?<!\S)--body[ =]|(?<!\S)-b )(?P<mark>["'])(?:fixed|done|addressed|resolved)\b"""
    r"""(?: (?:in|by) `?[0-9a-f]{7,40}`?)?[^\w`"'\n]{0,40}(?P<said>(?:(?!(?P=mark))[^\\\n]){15,300})(?P=mark)""", re.I)
_OPENING, _TOLD = 200, 240  # characters of a request that may name another cause, and of a mend in a list
_READ = 1000  # characters of a sentence that is judged
_NOUN = r"(?:fix|solution|resolution|remedy|해결|修正|対処|解决|修复|lösung)"
_LABEL = Late(
    r"\A(?:the |my |core |root cause |simple |proper |actual )*" + _NOUN +
    r"(?: (?:was|is)(?: to| simple| easy| straightforward| small)?)?\s{0,20}(?:\([^()]{0,200}\)\s{0,20})?[:：–—]\s*|"
    r"\A(?:the )?(?:proper |actual |simple(?:st)? )?fix (?:was|is) (?:to\s+|(?=(?!working)\w+ing\b))", re.I)
_FIXED = Late(r"\A(?:i |we )?(?:fixed|solved|resolved|mended)(?: (?:this|it|that))? by\s+(?=\w+ing\b)", re.I)
_PLACE = Late(  # what a line of a list begins with before it says what was changed there
    r"\A(?:`[^`]+`|[\w./-]+\.\w+(?::[\d-]+)?|lines? [\d-]+)(?: \([^()]*\))?\s*(?:[-–—]|:)\s+", re.I)
_VERB = (
    r"(?:added|changed|updated|replaced|removed|moved|switched|wrapped|renamed|extended|reset|cleared|converted|passed|skipped|"
    r"split|rewrote|made|set|ensured|reworked|refactored|created|extracted|introduced|increased|reduced|modified|excluded|stripped|"
    r"captured|declared|restored|registered|pinned|installed|upgraded|disabled|enabled|fixed|corrected|adjusted)")
_TESTS = r"tests?(?! (?:harness|helper|runner|script)s?\b)"
_CHANGED = Late(
    r"(?:so )?(?:(?:i|we)(?:'ve| have)? )?(?:now |also |just |then )?" + _VERB +
    r"\b(?! (?:(?:\w+ ){0,2}(?:" + _TESTS + r"|issues|bugs|problems)\b|all\b|"
    r"(?:a |the )?(?:" + _TESTS + r"|issue|bug|problem|build|lint\w*|comments?|imports?|summary)\b))|"
    r"(?:`[^`]+` )?now (?:also |correctly |properly |it )*(?:uses|checks|reads|writes|calls|passes|skips|sets|clears|returns|"
    r"takes|looks|keeps|compares|strips|excludes|includes|matches|copies|falls|runs|opens)\b|"
    r"(?:the |both |all )?(?:`[^`]+`|[\w -]){3,60} (?:has|have) (?:now )?been " + _VERB + r"\b(?! (?:in|at|on|with|by)\b)|"
    r"(?:the |this )?[\w -]{3,40} now (?:also |correctly |properly )?(?:uses|checks|creates|calls|skips|returns|keeps|includes|"
    r"writes|excludes|generates|requires|passes)\b|"
    r"now (?:the|this) [`\w./-]+(?: [`\w-]+)?:\Z", re.I)
_THE_FIX = Late(
    r"\A(?:the )?(?:fix|change)(?: (?:at|in|to) \S+)? (?:now )?"
    r"(?!(?:is|was|works|applies|handles|needs|looks|seems)\b)\w+s\b", re.I)
_VAGUE = Late(
    r"[?？]\W*\Z|\b(?:likely|probabl[ey]|possibl[ey]|perhaps|maybe|might|could|alternativ\w+|options?|would|suggest\w*|recommend\w*|"
    r"if (?:you|we|i)|let me|let's|i'll|i will|we'll|you can)\b|\bsee (?:above|below)\b|…\W*\Z|"
    r"\b(?:new|same|updated) (?:logic|approach|fix|behaviou?r|pattern)\b", re.I)
_OVER = Late(
    r"\W*(?:the |my |proposed |final )*(?:" + _NOUN + r"(?:es|s)?|changes made|what (?:i|was) (?:fixed|changed)|"
    r"how (?:it|i|this) (?:was )?fixed(?: it)?)(?:\s*\([^()]*\)|\s+applied|\s+made|\s+implemented)?\W*\Z", re.I)

OUTLIVES = Late(  # in a cause: a flag, a variable of the environment, a path, a library's call, a tool or file that stays
    r"(?<!\w)--\w|\b[A-Z_]{3,}=|(?<!\w)[/~.]\w+[/.]|\b[a-z]\w*\.[A-Z]\w+|\b[a-z_]+\.[a-z_]+\(|"
    r"\b(?:windows|macos|linux|docker|git|ci|locale|time ?zone|encoding|utf-8|cache|version|default)\b", re.I)
SEES_NOW = Late(r"\Anow (?=i (?:can |have |finally )*(?:see|understand|found|know|got)\b)", re.I)
BEFORE, AFTER = (Late(r"(?:\d+[.)])?\W{0,8}(?:%s)\W{0,4}[:：]\W{0,4}\s(?P<said>[\w`].+)" % word, re.I)
                 for word in ("before", "after|now"))
_WRONG = Late(r"(?:the )?(?:issue|problem|bug|finding|cause|root cause|what was wrong|before)s?", re.I)  # heads of a table
_MEND = Late(r"(?:the )?(?:fix|solution|resolution|remedy|after)(?:es|s)?", re.I)
ITEM = Late(r"\A\s*(?:[-+•]|\*\s|\d+[.)])\s*")  # what an item of a list begins with
_AWAY = (
    r"\b(?:removed|deleted|dropped|got rid of|retired|abandoned)(?: (?:the|our|its|old|dead|unused|whole|entire|now|obsolete))*"
    r" `%s(?:\(\))?`(?: (?:function|method|helper|wrapper|class|struct|type|flag|option|package|module|command|file|hook|setting|"
    r"script|dependency|library|table|branch|service|worker|cache)s?)?(?: (?:completely|entirely|altogether))?(?:\W*\Z|[,;.(]|"
    r" (?:and|since|because|as|after|which|in favou?r of|from the (?:code ?base|code|project|repo(?:sitory)?))\b)|"
    r"\bthe (?:now |since )?(?:removed|deleted|dropped|retired) `%s(?:\(\))?`(?! (?:calls?|checks?|lines?|uses?|fields?)\b)")
_ANY_AWAY = Late(_AWAY.replace("%s", r"(?P<one>[^`\n]{3,80}?)", 1).replace("%s", r"(?P<other>[^`\n]{3,80}?)", 1), re.I)
PLANS = Late(  # what is said of a mend right before it is made; to look at something mends nothing
    r"\A\W*(?:so |now |instead,? )?(?:i(?:'ll| will| need to| should| have to)|we (?:need to|have to|should)|let me|let's) "
    r"(?:just |now |also |simply )?(?P<said>(?:add|pass|use(?! (?:grep|find|rg)\b)|change|remove|move|replace|skip|set|include|"
    r"exclude|make|extend|handle|return|call|create|wrap|convert|store|keep(?! \w+ing\b)|reset|clear|sort|switch|split|copy|save|"
    r"load|strip|filter|ensure)\b(?! (?:this|it|that|the (?:tests?|issue|bug|problem|fix|code))\b)"
    r"(?! (?:an? |some |the )?(?:\w+ )?(?:tests?|logs?|debug\w*)\b)(?!.*\bto (?:see|find|understand|look|check)\b).+)", re.I)
NAMES_OTHER = Late(r"\A(?:(?:ah|oh|ok|sorry|no|wait|yes|hm+|i (?:remember|see|found|know)(?: (?:now|it|out))?)\b\W*)*"
                   r"the (?:issue|problem|error|cause|reason) was (?:that|because)\b", re.I)  # what who reported it says later
DENIES = Late(  # what the user says next of a cause that was none
    r"(?i)\A\W*(?:(?:no+|nope|nah)\b(?!\w* (?:problem|worries))|wrong\b|(?:that|this)(?:'s| is)(?: still)? (?:not|wrong)|"
    r"not (?:quite|right|really|the)|(?:it |this |that )?(?:still |also )?(?:doesn't|didn't|does not|did not) (?:work|help|fix)|"
    r"hm+,? (?:no|but|still)|still (?:not|the same|fail|broken|see|gett)|(?:it|this|that)(?:'s| is)? still|"
    r"same (?:issue|problem|error)|then i (?:would|'d)|revert|undo|roll ?back|(?:please|can you) (?:revert|undo)|"
    r"아니|違|不是|不对|nein\b)|\b(?:revert (?:that|this|it|the)|undo (?:that|this|it|the)|"
    r"not the (?:issue|problem|cause|reason)|then i(?: would|'d) (?:want|rather|like|prefer))\b")
RETRACTS = Late(  # what the model says later of one
    r"(?i)\bmisdiagnos\w+|\b(?:was|were) (?:wrong|incorrect|unnecessary|a mistake)\b|"
    r"\bnot (?:actually )?the (?:actual |real |root )?(?:cause|issue|problem|bug)\b|"
    r"\bthe (?:actual|real) (?:root cause|cause|issue|problem|bug)\b|\bunrelated to\b|"
    r"\bmy (?:earlier|previous|first|last|initial) (?:fix|analysis|assumption|explanation|change)\b|"
    r"\bmy fix\b.{0,70}\b(?:caus|br[eo]k|fail)\w*|\b(?:reverted|rolled back|took back|undid) (?:the|that|this|my)\b")

STILL = Late(  # what the model says of a mend that did not mend it
    r"\A\W*(?:still|hm+|that (?:didn't|did not)|(?:it|this|that)(?:'s| is) still|not (?:quite|yet))\b|"
    r"\b(?:likely|must be|probably) (?:the|in the) (?:\w+ )?(?:issue|problem|cause)\b", re.I)
REPORTS = Late(  # what a person says of something that is wrong
    r"(?i)\b(?:bugs?|errors?|fail(?:s|ed|ing|ures?)?|broken?|breaks|wrong(?:ly)?|incorrect(?:ly)?|unexpected|crash\w*|"
    r"hang(?:s|ing)?|panics?|stuck|slow|flaky|missing|lost|empty|"
    r"(?:does|did|do|is|are|was|were|has|have|can|could|should)(?:n't| not)\b(?! (?:we|it|there|you|that)\b)|no longer|"
    r"not (?:work|show|set|sav|be|found|there|populat|gett|see|captur|stor)\w*|still (?:see|get|show|not|the|being|there)\w*|"
    r"instead of|(?:why|how come) (?:is|are|do|does|did|was|were|am|has|have|would) (?!we\b|you\b)\w+|somehow|ends? up|"
    r"(?:shows?|see|gets?|lists?) (?:no|nothing|only|0)|but (?:it|they|there|only|now)|expected|weird|strange|odd|inflated|"
    r"problems?|issues?|conflicts?|regress\w*|leaks?|overwrit\w+|overrid\w+|duplicat\w*|twice|misleading|delay|"
    r"timed? ?out|vulnerab\w+)\b|"
    r"실패|오류|에러|안 (?:되|돼)|失敗|エラー|動かない|できない|报错|错误|失败|不工作|Fehler|kaputt|schlägt fehl")
ASKED = Late(r"(?i)\W*(?:how(?! come)|what|which|where|when|who|is|are|do|does|did|should|would|could|can)\b")
PLAINLY = Late(
    r"(?i)\b(?:bugs?|errors?|fail(?:s|ed|ing|ures?)?|broken?|wrong(?:ly)?|crash\w*|hang(?:s|ing)?|panics?|not work\w*|doesn't|"
    r"couldn't|can't|isn't|aren't|no longer|somehow|lost|missing|ends? up)\b|"
    r"실패|오류|에러|失敗|エラー|报错|错误|失败|Fehler|kaputt")
ORDERS = Late(
    r"(?i)\W*(?:(?:can|could) you |please |let'?s |and |then |though )*(?:add|create|write|make|run|explain|though|implement|"
    r"fix|check|look|review|update|we (?:can|could|should)|(?:can|could|should) we|i think we (?:should|could|can|need))\b"
    r"(?! (?:why|if|at) .{12})")
ADVISES = Late(r"(?i)\b(?:consider|recommend|suggest)\w*\b")
FIXED = Late(  # what the outcome says where something was wrong, and no longer is
    r"(?im)\A\W*(?:(?:done|perfect|great|excellent|good)\W+)*fixed\b|\bthe (?:fix|bug|root cause)\b|"
    r"\b(?:bug|fix(?:es)?|problem)\W*$|\bfixed (?:the|a|this|that|it|both|all)\b|수정했|直しました|修复了|behoben")
AT_LINE = Late(r"\s*[\w./-]+\.\w+:\d+(?::\d+)?: \S")  # how a tool reports on a place
GRANTS = Late(  # how a reply begins that did what a comment asked for
    r"\W*(?:(?:perfect|great|excellent|good|all)\W+)*(?:i(?:'ve| have) )?(?:fixed|done|added|removed|changed|updated|replaced|"
    r"you(?:'re| are) (?:\w+ )?(?:right|correct)|(?:good|great|fair|valid) (?:point|catch)|the (?:fix|change)|both|implemented|"
    r"all tests pass)\b", re.I)
PASTED = Late(
    r"(?im)^.{0,400}?(?:\b(?:error|fatal|panic|exception|traceback)\b\s*[:(]|--- FAIL|\bFAIL\b|exit (?:code|status) [1-9]|"
    r"^\w[\w .-]{0,30}: (?:cannot|could not|no such|unknown|unable to|permission denied)\b|"
    r": (?:not found|no such file or directory)\b|\w{1,80}\.\w{1,80}:\d{1,9}(?::\d{1,9})?: |\bfailed\b).*$")


# --- how a cause is named

NAMED = (
    r"(?:(?:root|actual|real|true|underlying|original|core|main|key|remaining|first|second)[\s-]{1,8}){0,6}"
    r"(?P<word>root causes?|causes?|culprits?|reason|insight|bugs?|issues?|problems?|flaw|fault|mistake|gotcha|catch|"
    r"ursache|(?:근본 ?)?원인|(?:根本)?原因)")
ROOT = Late(r"\broot[\s-]cause\b|\bat the source\b|근본 ?원인|根本原因", re.I)
LEAD = Late(
    r"\A(?:[✅❌⚠️🎉🔧•→\s*-]+|(?:\d+|[A-Z]\d?)[.)]\s+|(?:i see|found (?:it|the \w+(?: \w+)?)|got it|now i (?:see|understand)|"
    r"good catch|so|and|but|before|ok|okay|right|interesting|yes|perfect|great|ah|actually|indeed|"
    r"summary(?: of (?:changes|the fix))?|looking at (?:the |this )?[\w ]{3,30})\b\s*"
    r"(?:[-–—,.:!]+\s+|\s(?=the (?:issue|problem|bug|root|cause))))+", re.I)
FOUND_IT = Late(  # and what it is follows in the same sentence
    r"\A\W*(?:\w+[,!.]? )?(?:i(?:'ve| have| can| now)* )?(?:(?:found|see) (?:it|(?:the|another) (?:actual |real |root |main )?"
    r"(?:bug|issue|problem|cause|culprit)))\s*[-–—:!]+\s+(?=\S.{39})", re.I)
LABEL = Late(
    r"(?:the |this |das |die )?" + NAMED + r"(?: here| now| (?:of|with|behind|for) [^:.]{3,60}?)?"
    r"(?:(?:\s{1,20}(?:is|was|are|were))?\s{0,20}[:：–—](?:\s+|\Z)|\s-\s+|"
    r"\s{1,20}(?:occurr(?:s|ed)|happen(?:s|ed)|arose|arises|came|comes|stem(?:s|med))\s{1,20}(?:because|when|since|"
    r"due to|from)\s+|"
    r"\s{1,20}(?:is|was|were|ist|war)\s{1,20}(?:(?:likely )?(?:that|because|how|due to|caused by|dass)\s{1,20})?|"
    r"(?:은|는|は|是)\s*)", re.I)
LATE = Late(  # a label behind other words
    r".{0,80}\b(?:root cause|culprit)\b(?: (?:of|behind|for|here) [^:.]{0,60}?)?(?:\s*[:–—]\s+|\s+(?:is|was)\s+(?:that\s+)?)",
    re.I)
PAST = Late(r"\s(?:was|were|war)\b|[:：]\s*\Z")
WHY = Late(r"because|due to|since|as it|caused by|turn(?:ed|s) out|때문|ため|原因|因为|weil", re.I)
TOLD = Late(
    r"\b(?:fail(?:s|ed|ing|ures?)?|broke(?:n)?|crash(?:es|ed|ing)?|hangs?|hung|panic(?:s|ked)?|occur(?:s|red)?|"
    r"happen(?:s|ed)?|errors?|lost|missing|missed|skipped|wrong|ignored|rejected|times? out|flaky|"
    r"(?:does|did|do|could|can)(?:n't| ?not) (?:work|show|appear|run|match|find|compile|build|install|start|load|resolve|exist|"
    r"connect|parse|reach|pass|detect|trigger|fire|update|return|save|restore|see)|undefined|unknown|not found|unavailable|"
    r"in use|taken|denied|refused|stale|empty)\b.{0,90}?\b(?:because(?: of)?|due to|since (?:the|it|a|we|our)|as it)\b|"
    r"(?<=.{8})\b(?:(?:was|were|is|are) (?:being )?caused by|turn(?:ed|s) out (?:that|to be))\b|"
    r"실패.{0,40}때문|때문에.{0,40}실패|失敗.{0,40}(?:ため|原因)|ため.{0,30}失敗|因为.{0,60}失败|失败.{0,40}因为|"
    r"(?:schlug|schlägt|\bfehl\w{1,40}).{0,60}\bweil\b", re.I)
SUPPOSED = Late(
    r"[?？]|\b(?:likely|probabl[ey]|possibl[ey]|potential(?:ly)?|perhaps|maybe|might|may(?! not be)|"
    r"could(?:n't)? (?:be|cause|have|lead|also)|seems?|appears? to|suspect|assume|presum\w+|looks? like|i think|not sure|unclear|"
    r"whether|would(?:n't)? (?:you|be|need|like|have|require|make|mean|recommend|suggest|also|still)|should|needs? to|"
    r"if (?:you|we|i)|let me|let's|i'll|i will|we'll|hypothes\w+)\b", re.I)
OWN = Late(
    r"\b(?:i|i'm|i've|i'd|my|myself|me)\b|\b(?:your|you) (?:description|request)\b|\bsubagent renamed\b", re.I)
LEANS = Late(
    r"\W{0,40}(?:it|its|it's|this(?! (?:version|project|repo|package|library|machine|database|release)\w*\b)|that|that's|these|"
    r"those|they|them|he|she|both(?! `)|so|also|[^,;:.]{0,90}(?<! and)(?<! but)(?<! or) also|"
    r"then|there|here|one|another|in (?:how|the (?:design|logic|way))|"
    r"the (?:above|following|same|visualization)|exactly|twofold|clear|becoming|real|fixed|still|now|only|partially|about|with|"
    r"line \d+)\b|\A(?:in|on|at) [^,]{3,120}\Z", re.I)
POINTS = Late(
    r"\b(?:create|do|use|support|have|set|find|see|call|handle|add|remove|expose|fix|cause|show)s? "
    r"(?:it|this|that|them|these)\b", re.I)
CUT = Late(
    r"[:：…]\W*\Z|\b(?:the|an?|to|of|for|and|or|with|that|which|is|are|was|were|so|when|because|if|since|while)\W*\Z|→|⏎|"
    r"\bsee (?:above|below)\b")
TRIVIAL = Late(
    r"\b(?:unused|missing .{0,20}imports?|imports? (?:is|was) missing|typos?|gofmt|formatting|whitespace|scop(?:e|ing) issue|"
    r"redeclared|undefined: \w+|syntax error|(?:lint(?:er)?|errcheck|dupl|goconst) (?:issue|warning|error)s?|merge conflict|"
    r"staged changes (?:don|do not|fail)\w*|"
    r"\A(?:moving|renaming|deleting|removing|refactoring) .{3,80} (?:broke|created|caused|introduced)|"
    r"(?:the|this) (?:merge|rebase) (?:brought|introduced|left|added|pulled|took))\b",
    re.I)
FINDING = Late(r"\W*(?:the )?" + NAMED + r"\W*\Z", re.I)
SEES = Late(  # somebody has come to see what is wrong
    r"\b(?:see|saw|found|find|understand|know|got|identified|spotted|located|pinpointed)\b(?: [\w-]{1,80}){0,4}? (?:it|why|"
    r"what(?:'s| is| was)? (?:going )?(?:wrong|on|happen\w{1,80})|" + NAMED + r")\b|"
    + NAMED.replace("?P<word>", "?:") + r" (?:is|was) (?:\w{1,80} )?(?:clear|obvious|apparent|visible|evident)\b", re.I)
AGREES = Late(  # with what somebody reports; what it is follows
    r"\W*(?:you(?:'re| are) (?:absolutely |completely |totally )?(?:right|correct)|(?:valid|good|great|fair) "
    r"(?:feedback|point|concern|catch|finding))(?: [-–—][^.!]{3,40})?[.!]\Z", re.I)
OWN_ACT = Late(r"(?:when|after|because|since|once) i (?!'|am\b|was\b)\w+", re.I)  # what a sentence begins with
SUBJECT = Late(r"\A(?:It|This|That) (?=(?:fail|broke|crash|hang|is failing)\w*\b)")
_WORD = Late(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_CODE = Late(r"[^\W\d]\w{2,}")
QUOTED = Late(r"`([^`]+)`|['\"]([\w./:@ -]{3,60})['\"]")
COMMON = frozenset(
    "test tests error errors fail failed fails file files line code with that this from when does have been were into session "
    "only because which true false nil null string value call calls path name type main run running should expected "
    "package".split())
SAME = 0.6  # of the words of the shorter of two causes that the other has


class Mend(NamedTuple):
    """A sentence that says what was changed.

    surety: of mending's.  steps: the list below it.  block: the same number for the items of one list, -1 for no item, ROW for a
    table's row.
    """

    surety: float
    said: str
    steps: tuple[str, ...] = ()
    block: int = -1


def told(sentence: str) -> tuple[float, str]:
    """Return (how surely a sentence says what mended something, it without its label).  sentence: one line, without marks."""
    if len(sentence) > _READ or _VAGUE.search(sentence):
        return NONE, ""
    for pattern in (_LABEL, _FIXED):
        rest = pattern.sub("", sentence, count=1)
        if rest != sentence:
            return CALLED, rest
    if _THE_FIX.match(sentence):
        return CALLED, sentence
    place = _PLACE.match(sentence)
    return (CHANGED, sentence) if _CHANGED.match(sentence, place.end() if place else 0) else (NONE, "")


def planned(text: str) -> Mend | None:
    """Return what a statement says is to be changed next, as an order; None where it says nothing of it."""
    said = next(filter(None, map(PLANS.match, sentences(one_line(text.replace("**", ""))))), None)
    order = whole(said["said"].rstrip(" :：.")) if said and not _VAGUE.search(said["said"]) else ""
    return Mend(CHANGED, order) if order else None


def replies(commands: Iterable[str], item: str) -> list[Mend]:
    """Return what replies to a reviewer's comment, by calls of a code host, say to have mended it.  item: its number."""
    calls = [call for command in commands if item in command for call in _CALLS.split(command)]
    return [Mend(CALLED, lasting.capital(match["said"].rstrip(" ."))) for call in calls for match in [_REPLY.search(call)]
            if match and item in re.findall(r"\d{5,}", call[:match.start()])]


def is_named_otherwise(requests: Iterable[str], cause: str) -> bool:
    """Tell whether who reported a failure says in a later request that it was something else than a cause."""
    return any(NAMES_OTHER.search(request[:_OPENING]) and not meet(cause, request) for request in requests)


def without_place(sentence: str) -> str:
    """Return a sentence without the file or function that it begins with."""
    return _PLACE.sub("", sentence, count=1)


def is_over(heading: str) -> bool:
    """Tell whether what stands below a heading is a remedy."""
    return bool(_OVER.match(heading))


def takes_away(sentence: str, name: str) -> bool:
    """Tell whether a sentence says that a thing is gone as a whole, not a call or a check of it, nor from one place alone."""
    return bool(re.search(_AWAY.replace("%s", re.escape(name)), sentence, re.I))


def taken_away(text: str) -> list[str]:
    """Return the names of what a text says to be gone as a whole, in small letters and without `()`."""
    return [name.removesuffix("()").lower() for line in text.split("\n") for match in _ANY_AWAY.finditer(line)
            for name in (match["one"] or match["other"],)]


def mended(text: str) -> list[Mend]:
    """Return what a text says was changed, in its order.

    What stands below a heading `The fix` is one; an item or sentence that ends in a colon takes its list along.
    """
    stripped = [line.strip() for line, code in tokeniser.coded(text.split("\n")) if not code]
    told_of = ["%s: %s → %s" % row for row in rows(stripped) if all(row)]
    found = [Mend(CALLED, whole(one), (), ROW) for one in told_of if whole(one)]
    lines = [line for line in stripped if line and line[0] not in "|>"]
    below, over, taken, begun = False, -1, 0, dict[str, int]()  # the line at which each list that is not over began, by its mark
    for number, line in enumerate(lines):
        if number < taken:
            continue
        level, head = tokeniser.heading(line)
        bold = tokeniser.is_bold(line)
        bare = (head if level else ITEM.sub("", line, count=1)).replace("**", "").strip()
        surety, rest = told(ITEM.sub("", bare, count=1)) if (level or bold) and below else (NONE, "")
        if surety and whole(rest):  # a heading below `The fix`
            found.append(Mend(CALLED, whole(rest), (), over))
        elif level or bold:
            below, begun, over = is_over(bare.rstrip(":：")), {}, number
        if level or bold:
            continue
        kind = mark(line)
        begun = {**begun, kind: begun.get(kind, number)} if kind else {}
        below_it = [at_word(one, STEP) for one in nested(lines, number)] if bare.endswith((":", "：")) else []
        for sentence in sentences(bare):
            surety, rest = told(sentence)
            steps = tuple(below_it[:MOST_STEPS]) if rest.endswith((":", "：")) else ()
            said = whole(rest) or (rest.strip(" :：") if steps else "")
            if surety and said:
                taken = number + 1 + len(below_it) if steps else 0
                found.append(Mend(CALLED if below else surety, said, steps, begun.get(kind, -1)))
    return found


def whole(sentence: str) -> str:
    """Return a sentence that says what was changed, "" where it is cut or too long."""
    said = lasting.capital(sentence.strip(" :："))
    return said if 15 < len(said) <= _LONGEST and not CUT.search(said.replace("→", "to")) else ""


# --- lists

def listed(lines: Sequence[str]) -> list[str]:
    """Return the items of a list that begins with the first line, at most three."""
    found: list[str] = []
    for line in lines[:3]:
        if not ITEM.match(line) or found and line.rstrip().endswith((":", "：")):
            break
        found.append(_bare(line))
    return found


def rows(lines: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return (where, what was wrong, what was changed) of each row of the tables that have a column for the last two."""
    found: list[tuple[str, str, str]] = []
    wrong = mend = -1
    for line in lines:
        cells = [cell.replace("**", "").strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        heads = [next((at for at, cell in enumerate(cells) if word.fullmatch(cell)), -1) for word in (_WRONG, _MEND)]
        if min(heads) >= 0 or not cells:
            wrong, mend = heads
        elif min(wrong, mend) >= 0 and len(cells) > max(wrong, mend) and not set(cells[wrong]) <= set("-: "):
            place = " ".join(cell for at, cell in enumerate(cells) if at not in (wrong, mend) and not cell.isdigit())
            found.append((place, cells[wrong], cells[mend]))
    return found


def nested(lines: Sequence[str], number: int) -> list[str]:
    """Return the items that stand below a line, of another kind of list than the line itself."""
    kind = mark(lines[number + 1]) if number + 1 < len(lines) else ""
    end = next((at for at in range(number + 1, len(lines)) if mark(lines[at]) != kind), len(lines))
    items = lines[number + 1:end] if kind and kind != mark(lines[number]) else ()
    return [_bare(line) for line in items if not line.endswith((":", "："))]


def mark(line: str) -> str:
    """Return the kind of list that a line is an item of: its mark, 1 for any number; "" for none."""
    item = ITEM.match(line)
    return ("1" if item[0].strip()[:1].isdigit() else item[0].strip()) if item else ""


def as_item(mend: Mend) -> str:
    """Return what was changed as an item of a list."""
    return "\n".join(["- " + at_word(mend.said, _TOLD) + ":" * bool(mend.steps), *("  - " + one for one in mend.steps)])


def _bare(line: str) -> str:
    return one_line(ITEM.sub("", line, count=1).replace("**", "")).strip().rstrip(".;")


# --- what two texts speak of


def words(text: str) -> frozenset[str]:
    """Return the words of a text that name something in code, in small letters."""
    quoted = {word for pair in QUOTED.findall(text) for part in pair for word in _WORD.findall(part)}
    return frozenset(word.lower() for word in _WORD.findall(text)
                     if re.search(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]|[A-Za-z]\d", word) or word in quoted)


def plain_words(text: str) -> set[str]:
    """Return the words of a text that tell what it is about."""
    return {word for word in tokeniser.tokens(text) if len(word) > 3 and not word.isdigit()} - tokeniser.STOP - COMMON


def meet(cause: str, other: str, least: int = 2) -> bool:
    """Tell whether a cause and an error, or a command, speak of the same: by a name of code, or `least` words."""
    return bool(words(cause) & words(other)) or len(plain_words(cause) & plain_words(other)) >= least


def code(text: str) -> set[str]:
    """Return the words of lines of code, in small letters."""
    return {word.lower() for word in _CODE.findall(text)}


def same(one: str, other: str) -> bool:
    """Tell whether two causes say nearly the same."""
    first, second = ({word for word in tokeniser.tokens(text) if word not in tokeniser.STOP} for text in (one, other))
    return len(first & second) >= SAME * max(1, min(len(first), len(second)))
