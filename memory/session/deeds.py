"""How deeds are told and ordered: the words of a change or a finding, and those around them that tell nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory.core import tokeniser
from memory.core.plaintext import at_word
from memory.session.latepattern import Late

WORK = (
    r"(?:re)?(?:add|adjust|align|allow|annotat|archiv|attach|block|bump|captur|chang|clarif|clean|clear|collaps|combin|complet|"
    r"configur|consolidat|convert|correct|cover|creat|declar|decreas|delet|deprecat|disabl|document|dropp|eliminat|embed|enabl|"
    r"ensur|exclud|expand|expos|extend|extract|filter|fix|group|guard|handl|hoist|implement|improv|increas|inlin|insert|install|"
    r"integrat|introduc|invert|isolat|limit|lower|merg|migrat|mov|nam|normali[sz]|order|pass|patch|port|pin|prevent|propagat|push|"
    r"rais|rebas|reduc|refactor|register|releas|remov|renam|replac|resolv|restor|restructur|revert|rework|rout|saniti[sz]|"
    r"shorten|simplif|skipp|solv|sort|speed|split|squash|stabili[sz]|stor|stripp|support|swapp|switch|tighten|track|tun|"
    r"unblock|unif|updat|upgrad|us|validat|verif|widen|wir|wrapp|writ)")
REPORTS = Late(
    r"(?:(?:%s)(?:ed|ied)|made|wrote|(?:re)?built|found|kept|cut|set|sped up|took|got rid|rewrote|ran)\b" % WORK, re.I)
PASSIVE = Late(
    r"\b(?:has|have|is|are|was|were)(?: now| been| all)* (?:%s)(?:ed|ied)\b|\bnow (?:\w+ly )?(?:\w+(?:s|ed)|be)\b|"
    r"s now (?!(?:the|an?|it|in|on|at|to|we|you|i|that|this|only|with|for|and|or)\b)[a-z]+ \w|"
    r"\b(?:is|are) now\b|\bno longer\b|\Athe (?:fix|changes?) (?:now )?%s(?:e?s|e|y|ies)?\b" % (WORK, WORK), re.I)
FOUND = Late(
    r"\b(?:root cause|culprit|because|turned out|caused by|the (?:bug|issue|problem|cause)\b.{0,30}\b(?:is|was))\b|"
    r"때문|원인|原因|ため|因为|Ursache|weil", re.I)
LABELLED = Late(r"(?:the )?(?:(?:root )?cause|bug|problem|issue|fix|solution|decision|finding|conclusion)s?\s*[:–-]", re.I)
FAULT = Late(r"(?:the )?(?:(?:[a-z]{1,80} ){0,6}root cause|cause|bug|problem|issue)s?(?:\s{0,80}[:–-]| (?:was|is)"
             r" that\b)\s{0,80}", re.I)
SAYS_FIXED = Late(r"\b(?:fix(?:ed|es)?|resolved|solution|solved)\b|고쳤|수정|直し|修正|修复|behoben", re.I)
LEAD = Late(
    r"\A(?:(?:all|the|both|every\w*|unit|integration)\b[^.:;!]{0,60}\b(?:pass(?:es|ing|ed)?|clean|green|complete[d]?|"
    r"done|success\w*)[^.:;!]{0,30}[.!]\s+|"
    r"(?:here(?:'s| is| are)|let me (?:create|summari[sz]e|give|provide))\b[^:;]{0,90}?(?::|\.(?=\s|\Z))\s*|"
    r"(?:summary|changes made|done|perfect|great)\s*[:.!]\s*)+", re.I)
LEADS = Late(  # all of a sentence that leads up to a list, or announces what comes
    r"(?:here(?:'s| is| are)\b.*:\Z|(?:now |next )?(?:dispatching|running|checking|looking)\b)", re.I)
AROUND = Late(
    r"\A(?:[✅✓✔☑🎉❌⚠️\s]+|\d+[.)]\s+|(?:p|step|task|part|phase|item|point)\s?#?\d+(?:\s#\d+)?\s*[:–—-]\s+|(?:perfect|great|"
    r"excellent|done|good|yes|right|correct|ok(?:ay)?|sure|you(?:'re| are) (?:absolutely )?right|got it|(?:final )?summary|"
    r"in summary|overview|result|(?:key )?changes?(?: made)?|(?:here's )?what (?:was|i) (?:done|did|changed|fixed|implemented|"
    r"added|updated)|so|now|also|then|finally)\b(?:[.!:,]+\s+|\s*[–—-]+\s+|[.!:]+$)|"
    r"(?:i(?:'ve| have)|we(?:'ve| have)?|i|ich habe|now i(?:'ve| have)?)\s+(?:just |now |also |successfully |completely )*"
    r"(?=(?:%s)(?:ed|ied)\b|made\b|found\b|wrote\b|set\b|kept\b|built\b)|successfully\s+)" % WORK, re.I)
EMPTY = Late(
    r"(?:all|the|both|unit|integration|every\w*|build|tests?|lint\w*|checks?|ci|code|everything|it|and|also|formatted|properly|"
    r"now|are|is|still|including|with|no|has|have|been|completed?|complete|done|ready|fix|fixed|changes?|implementation|task|"
    r"issues?|errors?|bugs?|problems?|root|cause|found|add(?:ed)?|verif(?:y|ied)|correctly|comprehensive|coverage|successfully|"
    r"successful|pass(?:es|ed|ing)?|clean(?:ly)?|green|compiles?|works?|working|tested|finished|linting|race|detection|\d+|updated|"
    r"files?|here's|here|summary|what|was|made|of|to|for|that|this|these|i|did|documentation|plan|commit(?:ted)?|pushed|good|"
    r"look(?:s|ing)?|go|session|work|be|merged?)", re.I)
ASIDE = Late(
    r"(?:here(?:'s| is| are)|the following|(?:let me|i'll|i will|i'd|i would|i think|i see|i need|i can|i don't|i understand)\b|"
    r"(?:if|when|once) (?:we|i|the|it|this|that)\b|would you|do you|want me|should i|shall i|"
    r"let me know|feel free|if you|you (?:can|may|could|should|need|might)|"
    r"(?:now )?(?:dispatching|running|checking|looking)|ready (?:to|for)|next\b|note\b|great question|good (?:catch|question|"
    r"point)|i (?:have|was|am)\b|i'm\b|one (?:more|last)\b|good (?:news|idea|call)\b|"
    r"(?:i(?:'ve| have)? )?(?:now )?(?:reviewed|looked|read|checked|analy[sz]ed|explored|examined)\b|looking at|based on|"
    r"(?:files?|lines?|tests?)(?: \w+)?:|before\b|after\b|example|usage|to (?:answer|test|verify|use|run)\b|"
    r"option \w+\b|recommend|alternativ|status\b|no[,!]|this (?:means|would|could|might))", re.I)
ORDER = Late(
    r"(?:\w+ly )?(?:re)?(?:add|allow|annotate|bump|change|clarify|clean|configure|consolidate|convert|correct|cover|create|debug|"
    r"delete|disable|document|drop|enable|extend|extract|fix|handle|hide|implement|improve|integrate|introduce|invert|limit|log|make|"
    r"merge|migrate|move|name|port|prevent|print|reduce|refactor|release|remove|rename|replace|report|resolve|restore|"
    r"restructure|revert|rework|show|simplify|skip|speed|split|store|support|switch|test|tighten|track|unify|update|upgrade|"
    r"use|validate|warn|wire|wrap|write)\b", re.I)
SHOULD = Late(r"\bshould (?!not\b)", re.I)
WISH = Late(r"\A(?:%s)|\bshould\b" % ORDER.pattern, re.I)
TESTS_TOO = Late(  # at the end of a change
    r"(?:,|(?<![\s,]))\s{1,80}(?:and|&|\+|with)\s{1,80}(?:(?:add(?:ed|s)?|updated?)"
    r"\s{1,80})?(?:\w{1,80} ){0,3}tests?\b.{0,160}\Z", re.I)
PAGE = Late(r"\.(?:md|mdx|rst|txt|adoc)\Z", re.I)  # a file that people read
OF_PAGE = Late(r"\.md\b|\b(?:docs?|document\w*|readme|plans?|adr|pages?|changelog|notes?|sections?)\b", re.I)
DOCUMENTS = Late(r"\b(?:docs|document(?:s|ed|ation)|readme|changelog)\b", re.I)
LISTED = Late(r"\A\s*(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
DETAIL = Late(r"\(?\blines? \d+|:\d+\b|^[`(\[]")
LEANS = Late(  # on what was said before, or cut in the middle
    r"[?…]|\b(?:both|it|its|this|that|these|those|them|each|same|above|here|there|again|me|my|let's|some(?:thing|how))\b|"
    r"\bthe (?:ones?|rest|others?|first|second|third|new (?:functionality|feature|code|behaviou?r|tests?|logic|changes?))\b|"
    r"\d, \d|: \d+[.)]|"
    r"\b(?:the|an?|to|of|for|and|or|with|that|which|if|is|are|in|on|from|so|when)\W*$", re.I)
LOOSE = Late(  # a name that is pasted, a path, a quotation that does not close, or cut in the middle
    r"""\A(?:[^\w`'"(.]|/|https?:|[^"]*"[^"]*\Z)|\b(?:which|but|because|that|and|or|the|an?|to|of|no)\W*\Z""", re.I)
SPOKEN = Late(r"\b(?:you|your|i|we|my|our|but|should|instead)\b|[?]", re.I)
CODE = Late(r"`[^`]{0,160}`?|\S{0,80}[_(./]\S{0,80}")
WORD = Late(r"(?!(?:the|an?|of|for|and|or|with|to|in|on|from|all|now)\b)[^\W\d]{2,}", re.I)
LINK = Late(r"\[([^\]]{1,160})\]\([^)\s]{0,160}\)")
CUT = Late(
    r"^.{,59}[:：]$|^(?:when(?:ever)?|if|while|once)\b[^,]*[:：]$|"
    r"\b(?:the|an?|to|of|for|and|or|with|that|which|is|are|was|were|in|on|from|so|when|if|by):?$", re.I)
_LED = Late(  # leads to a list, and tells nothing by itself
    r"\b(?:following|changes?|issues?|things|files|places|fix(?:es)?|tests?|cases|updates?|improvements|bugs?|problems?|output|results?|"
    r"summary|options?|steps|behaviou?r|format)\W*\Z", re.I)
_BY_DOING = Late(r" (?:by|via|through|with) \w+ing\Z")  # behind a deed, before the list of what that was
_LED_IN = 300  # characters of a line that may lead in
_BOTH = Late(r" (?:in|across) (?:both|all|two|three|four|\d+)(?: \w+)?(?=[:：]?\Z)", re.I)
_FIX_FOR = Late(r"\A(?:the )?(?:bug ?)?fix for (?:the )?", re.I)
_AFTER = Late(r"(?:after|now)(?: (?:the|this) (?:fix|change))?\s*:\s+(?=[A-Z][a-z]+\b|`)", re.I)  # before what is so since
_SUMMED = Late(  # a lead that names the deed: `a summary of the rename from …`
    r"(?:here(?:'s| is) )?(?:an? |the )?(?:\w{1,80} )?summary of (?:the |my )?"
    r"(?P<deed>rename|move|migration|removal|switch|replacement) (?:of |(?=from |to ))(?P<rest>[^:]{8,400}?)[:.]?\Z", re.I)
_DEEDS = {"rename": "Renamed", "move": "Moved", "migration": "Migrated", "removal": "Removed", "switch": "Switched",
          "replacement": "Replaced"}
LEANING = Late(  # on what was said before
    r"\b(?:it(?!['’]s \w+ to\b)|its|this|that|these|those|them|same|again|instead|also)\b|\btoo\W*\Z", re.I)
IMPLEMENTED, TESTED = "Implemented: ", "Tested: "  # before the heading of what was done
_SAYS_DONE = Late(
    r"\Anew\b|\b(?:fixed|added|removed|works?|working|done|updated|complete[d]?|implemented|resolved|merged)\W*\Z", re.I)
_OF_TESTS = Late(r"(?:\A|[/_.-])(?:tests?|spec|testing)(?:[/_.-]|\Z)", re.I)
POINTS = Late(
    r"(?:\w{1,80}ed )?(?:now )?(?:it|this|that|these|those|they|them|so|which|both (?:are|were|is|of|now|have)|"
    r"the (?:output|above|following))\b", re.I)
BACKWARD = Late(  # what only the session knows
    r"\A[^`]*\b(?:both(?! \w+s now\b)|these|those|the same|it|them|this|above)\b[^`]*\Z", re.I)
AIM = Late(r"\b(?:files?|pages?|docs|documentation) to [a-z]+ (?:\S+ ){2}", re.I)  # what pages were changed for
WOULD = Late(r"\b(?:would|could|might)\b|\b(?:we|you|i|it)['’]d\b", re.I)
PIECE = Late(  # what is left of an entry whose subject stands in its heading
    r"\w+(?:ed)? (?:(?:from|in|by|to|on|at|for|with|as|into|using|via|when|if|but)\b|\(|\d+\+)", re.I)
BEFORE = Late(r"(?:the )?(?:before|old(?: \w+)?|previously|pros?|cons?|options?|alternatives?)\b[^:]{0,30}:?\Z", re.I)
AT_FAULT = Late(  # names something as the fault
    r"\b(?:root cause|culprit|turned out|caused by|the (?:bug|issue|problem|cause)\b.{0,30}\b(?:is|was))\b|원인|原因|Ursache",
    re.I)
FAULTY = Late(r"\b(?:was|were) (?:n't |not )?\w+ing\b|\b(?:was|were)(?:n't| not)\b")
LISTS = Late(  # what a list that follows says
    r"\b(?:includes?|including|shows?|following|follows|returns?|supports?|contains?|is|are|was|like|uses?|to|by|with|for):\Z|"
    r"\b(?:checks|tests|asks|verifies) (?:if|whether)\b[^:]*:\Z", re.I)
BLAND = Late(  # a verdict on all of it, which names nothing
    r"\w+ed (?:exactly |just )?(?:that|this|the) (?:issue|bug|problem)\b[^`]*\Z|"
    r"fixed:? (?:the )?(?:[\w-]+ ){1,5}(?:issue|bug|problem)\W*\Z|"
    r"[\w ]+ed (?:one|two|several|some|\d+)(?: \w+)? (?:issues?|bugs?|problems?)\b[^`]*\Z|\w+ed(?: \w+){0,2}\Z|"
    r"\w+ed (?:\w+ )?imports?\b|made the (?:fix|changes?)\b(?! to)|"
    r"(?:the|both|all|everything|it)\b[^`_]*\b(?:clear|issues?|suite|updated|complete|fine|correct|"
    r"consistent|comprehensive|place|notes?)\W*\Z|the code (?:now )?passes\b|"
    r"\w+ed the (?:\w+ )?(?:notes?|docs|documentation|suite|comments?)\W*\Z", re.I)
VERDICT = Late(  # on all of it, which does not say what was done
    r"[^`]*\b(?:no|any) (?:outstanding|open|remaining|further|more) (?:issues?|problems?|findings)\b[^`]*\Z|"
    r"(?:both|all|everything|each|the \d+|\d+)\b.*\b(?:updated|addressed|fixed|resolved|handled|applied|made|done|complete[d]?|"
    r"implemented|verified|validated|tested|in place|pass(?:es|ed|ing)?|work(?:s|ing)?|block the \w+)\W*\Z", re.I)
UNTOLD = Late(  # in a heading: of what there is, not of what was done
    r"\b(?:summary|files?|changes|details|results?|matrix|tests?|status|output|overview|analysis|findings|root cause|problems?|"
    r"issues?|options?|pros|cons|why|how|what|example|usage|flow|before|after|plan|review|steps?|questions?|approach|states?|"
    r"recommend\w{0,80}|pr|key|next|remaining|notes?|current|existing|possible|comparison|background|context)\b|[?]|:\Z", re.I)
LOOKING = Late(r"(?:debug|review|tests?|use|do|work(?:ing)? on|look|investigate|explore|check|brainstorm|verify|validate|"
                      r"explain|discuss|research|analy[sz]e|[a-z]+-\d+)\b", re.I)
ADDS = Late(r"(?:added|introduced|created|enabled|set)\b", re.I)
TAKES = Late(r"(?:removed|reverted|dropped|deleted|undid|disabled)\b", re.I)
TICKET = Late(r"\b[a-z]{2,6}-?\d+\b|\d+", re.I)
COMMON = frozenset("bug bugs bugfix issue issues feat feature make sure not new when all task chore wip dev main branch".split())
BESIDES = Late(r"[\s,]+(?:too|also|as well|please|then|again|now)\W*\Z", re.I)  # at the end of a request
_TOO = Late(r"(?<![\s,])[\s,]+(?:too|also|as well)(?=\W*\Z)", re.I)
TAIL = Late(r" (?:[-–—] \w[^,;–—]{0,60}|(?:that|which) (?:now )?\w+s(?: if| whether| how| what)?)[:：]\Z", re.I)
COMMITTED = Late(r" \([0-9a-f]{7,40}\)\Z")  # the end of a commit's line
IN_CODE = Late(r"`[^`]*[A-Z_(/.][^`]*`")
MERGE = Late(r"merge (?:branch|remote|pull request|commit|main|master|origin)\b", re.I)
CHORE = Late(r"(?:docs?|chores?|tests?|style|ci|build|lint|fmt|wip)\b|"
                    r"(?:\w+(?:\([\w-]+\))?: )?(?:gofmt|address\b.*\b(?:feedback|comments?|review)\b)", re.I)
MINOR = Late(
    r"\b(?:imports?|unused|no longer needed|comments?|tests?|typos?|whitespace|gofmt|formatting|nolint|constants?|signatures?|"
    r"struct|fields?|parameters?|helpers?|the calls?)\b", re.I)
HOWEVER = Late(
    r"(?:however|but|unfortunately|still)\b.*\b(?:fail\w*|broke\w*|breaks?|wrong|not work\w*|doesn't work)\b", re.I)
ASKED = Late(  # how a request begins that orders something politely
    r"(?:(?:hi|hey|ok|okay|so|and|now|then|also|yes|yeah|yep|no|well|hm+|great|cool|perfect|thanks|alright|but)\b[\s,.!:;-]*)*"
    r"(?:(?:can|could|would|will) (?:you|we)|let'?s|please|(?:i (?:think|feel|guess) )?we (?:should|need to|want to)|"
    r"i(?:'d| would)?(?: also| do| really| just)* (?:like|want|need)(?: you)? to|help me(?: to)?)\b", re.I)
THEN = Late(  # after which a request orders something further on
    r"(?:^|[.,:;!?–-] )(?:(?:so|and|then|but|ok(?:ay)?|yes|maybe|also)[, ]{1,80}){0,40}(?:(?:can|could) (?:you|we)|let'?s|please|"
    r"we (?:should|need to)|i(?:'d| would) like to|i want to)(?: also| just| now| please| maybe){0,40} ", re.I)
KNOWN = Late(  # of something that was spoken of before
    r"(?:add|implement|create|introduce|include|write|do) the (?:[\w-]+ )?[\w-]+\Z", re.I)
NO_DEED = Late(  # what is ordered so changes nothing, or nothing that a name is for
    r"(?:\w+ly )?(?:take|double|triple|check|see|tell|explain|look|review|make (?:sure|me)|find|figure|understand|give|get|list|"
    r"print|generate (?:me|a)|run|try|do|go|commit|push|pull|stage|unstage|stash|merge|rebase|cherry|reply|answer|test|debug|"
    r"validate|verify|discuss|brainstorm|work|start|continue|keep|have|be|investigate|research|analy[sz]e|proof|summari[sz]e|"
    r"help|think|read|compare|ask|show me|write me|create (?:me|(?:an? )?(?:pr|commit|pull request|summary))|what|why|how|is|"
    r"are|does|did|when|where|which|who|i|you|it|that|there|this|maybe|if|not|we|just|instead|first|second|all|both|address|"
    r"fix (?:all|both|the (?:lint|tests?)))\b", re.I)
SINCE = Late(r"\b(?:has|have)(?: now| all)* been\b|\bno longer\b|\Athe (?:fix|changes?)\b", re.I)
TRY = Late(r"(?:now )?(?:please )?(?:try|run|give|restart|use|check|see|verify|open|test)\b", re.I)  # somebody is to do it
NOW = Late(r"(?<![.\w])(?:now|from now on|by default)\b(?![(-])", re.I)  # of what is so since the work
EXPLAINS = Late(  # how something is, and why; a heading and a report have none of it
    r"\b(?:is|are|was|were|has|have|had|can|does|did|do|will|would|should|must|because|since)\b|[.。]\Z", re.I)
FIX_OF = Late(r"fix(?:ed|es)?\b", re.I)
COMMAND = Late(r"`[a-z][\w-]*(?: [\w-]+)+`")  # quoted, of two words and more
CLAUSE = Late(  # where one begins
    r" [-–—] |; |, (?=(?:and|but|so|which|where|while|though|although|even|since|because|instead|rather|not|making|with|without|"
    r"as|\w+ing)\b)| \(|(?<=[.!?])\s| (?=(?:because|since|so that|which)\b)")
ASIDES = Late(r" \([^()`]*\)")
BEGINS = Late(r"(?:fixed: )?(?:when|if|while|after|before|as|once)\b", re.I)  # a clause whose sentence is still to come
NUMBERED_TASK = Late(r"\A(?:task|step|phase) \d+\s*[:.–-]\s+", re.I)
NUMBERED = Late(r"\d+[.)]\s")
SIDE = Late(  # what goes along with work: its tests, comments, imports and what a linter says
    r"\btests?\b(?! (?:harness|repo\w*|skill|server|script|mode|data)\b)|_tests?\b|\btest_|(?-i:\bTest[A-Z])|"
    r"\b(?:coverage|imports?|unused|dead code|duplicated? code|code duplication|"
    r"comments?|staticcheck|typos?|whitespace|gofmt|nolint|assertions?|"
    r"lint(?:er|ing)? (?:errors?|issues?))\b", re.I)
_INNER = Late(  # a name that only the code knows: of a function, a type, a field, a file of the source
    r"`[^`\s]{0,160}(?:\w\(|[a-z0-9][A-Z]|\w_\w|[a-z]\.[A-Z])[^`]{0,160}`|`(?:return|if|nil|func|var|const|def)\b[^`]{0,160}`|\b\w{1,80}\(\)|"
    r"\b[a-z]{1,80}[A-Z]\w{0,80}|\b[A-Z][a-z]{1,80}(?:[A-Z]{1,80}[a-z]{1,80}){2,80}\b|\b\w{1,80}_\w{1,80}|"
    r"`?[\w./-]{1,80}\.(?:go|py|ts|tsx|js|jsx|rs|java|rb|kt|c|h|cc|cpp|cs|php|swift|sql)\b(?::[\d-]{1,80})?`?")
_OBJECT = Late(r"(?:\w+(?:ed|de|ilt|lit)\s+(?:the |an? |both )?)?(?:%s)" % _INNER.pattern)  # what work is on
_BESIDE_OBJECT = 8  # words beside it that say something all the same
_IN_PLAIN = Late(r"[^\W\d_]{3,}")
_OF_CODE = frozenset(  # words that say no more than that it is code
    "the and for from with into that this which its all now also both new via function functions method methods struct field "
    "fields call calls calling called helper helpers constant constants type types typed parameter parameters package packages "
    "file files code logic check checks test tests uses use used using instead added updated changed removed created moved "
    "replaced extracted renamed fixed error errors return returns value values variable variables import imports string line "
    "lines".split())
_VAGUE = Late(  # of something that only who was there can tell
    r"(?:now,? )?(?:the|each|all|both|these|those) (?:\w{1,80} ){0,2}(?:function|code|output|prompt|message|"
    r"warning|check|file|list|"
    r"change|command|logic|method|label|title|item|column|hint|error|name|text|test|package|migration|implementation|truncation|"
    r"count|behaviou?r|naming|feature|design|structure|flow|approach|result|bug|issue|problem|(?:key )?fix)s?(?: text)? "
    r"(?:now|is|are|was|were|has|have|uses?|shows?|will|reads?)\b|"
    r"\w{1,80}ed the (?:script|function|code|file|logic|method|plan|check|list|command|comment|handler) "
    r"(?:to|so|with|and|that|which)\b|"
    r"(?:updated|revised|final|proposed|new) (?:the )?(?:recommendation|summary|plan|list|table|analysis|code|output|message|"
    r"design)s?\b",
    re.I)
_TOLD_OF = Late(  # in the third person, of something that only the lines around it name; or it goes on with them
    r"(?:verifies|tests|checks|ensures|returns|uses|shows|prints|handles|calls|creates|reads|writes|takes|falls|makes|validates|"
    r"detects|prevents|moves|stores|sets|adds|removes|now \w+s|now the user|but|and|same|since|because|so|otherwise|solution|"
    r"alternative|(?:the|this) (?:fix|change)s? (?:ensures?|means|makes? sure|explicitly))\b", re.I)
_PLACED = Late(  # where in a file or outside of the project, or by its number in a list
    r"\.\w+:\d+|\blines? \d+|(?:^|[\s`(\"'])(?:~|/(?:tmp|var|home|users|private))/|"
    r"\b(?:bug|issue|problem|step|option|item|point|finding) #?\d+\b|\w=\d", re.I)
OF_PULL = Late(r"\A(?:this (?:pr|pull request|branch|change)|the pr) (?=\w+s\b)", re.I)
_WHERE = Late(  # in the code
    r"(?<!\ball)(?<!\bare)(?<!\bis)(?<!\bbe) (?:in|inside|at|at the (?:start|end|top) of|to (?=`[^`]*/)) ?"
    r"`(?![~/])[^`\s]*(?:[a-z][A-Z]|[/_(])[^`\s]*`(?=\W*\Z)")
IN_PLACE = Late(r"\binstead of (?:an? |the )?(?:[\w-]+ ){0,3}?(?P<what>[\w-]+)(?=[,.;]|\Z)", re.I)
PLACE = Late(r"(?: (?:in|at))? \(?`?[\w./-]+\.\w+:\d[\d:,-]*`?\)?(?=[\s.,;:]|\Z)")  # where in a file; said aside

_FOR_OTHERS = Late(  # asks for the text of a pull request or a commit
    r"\A/(?:[\w-]+:)?(?:pr|commit|(?:create|open)-pr)\b|"
    r"\b(?:git|give|generate|create|write|draft|make|suggest|summari[sz]e|describe|need)\b.{0,30}"
    r"(?:\b(?:pr|pull request|commit)\b.{0,20}\b(?:descr\w*|summar\w*|message|title|body|text)\b|"
    r"\b(?:summar\w*|descri\w*|messaging|body)\b.{0,30}\b(?:pr|pull request|commit|changelog)\b)|"
    r"\b(?:summari[sz]e|describe)\b.{0,30}\b(?:pr|pull request|commit|changelog)\b", re.I)
_LABEL = Late(r"(?:(?:pr|pull request|commit) )?(?:summary|title|description|message)\s*[:–-]\s+", re.I)
_SUBJECT = Late(r"\w+(?:\([\w/-]+\))?!?: \S.{10,80}")


_VERB = Late(r"(?P<how>\w+ly )?(?P<verb>[a-z]+)\b(?=\s\S)", re.I)  # how an order begins
_SECOND = Late(r"\b(?P<and>and|or|then|but|also) (?P<verb>\w+(?:ly \w+)?)", re.I)  # may be another order
_ONLY_VERB = frozenset("add create delete ensure extract implement improve make remove rename replace rewrite update".split())
_BEHAVES = frozenset("allow ask display keep list notify print prompt show skip support use warn".split())  # of a program
_KNOWN = {"hide": "hid", "make": "made", "rewrite": "rewrote", "split": "split", "speed": "sped", "write": "wrote"}


def as_done(order: str) -> str:
    """Return an order as what was done, where each of its verbs is known: `Fixed the …`; else as it is."""
    match = _VERB.match(order)
    bare = ASIDES.sub("", order)
    more = [one for one in _SECOND.finditer(order) if ORDER.match(one["verb"]) and one[0] in bare]
    if not match or any(one["and"].lower() != "and" or one["verb"].lower() not in _ONLY_VERB for one in more):
        return order
    done = _past(match["verb"])
    if match["verb"].lower() in _BEHAVES or not (ORDER.match(order) or REPORTS.match(done)):
        return order
    for one in reversed(more):
        order = order[:one.start("verb")] + _past(one["verb"]) + order[one.end("verb"):]
    how = (match["how"] or "").lower()
    return (how + done)[:1].upper() + (how + done)[1:] + order[match.end():]


def _past(verb: str) -> str:
    verb = verb.lower()
    doubled = verb[-1] if re.fullmatch(r"[^aeiou]+[aeiou][^aeiouwxy]", verb) else ""
    return _KNOWN.get(verb) or re.sub(r"(?<=[^aeiou])y\Z", "i", verb).rstrip("e") + doubled + "ed"


def is_poor(line: str) -> bool:
    """Tell whether a teammate gets little of a line: a detail, a verdict, or one that only who was there understands."""
    return is_detail(line) or bool(_PLACED.search(line)) or any(one.match(line) for one in (_VAGUE, BLAND, _TOLD_OF))


def is_aside(line: str) -> bool:
    """Tell whether a line says nothing of the work itself: tests, comments and the like, a place, a verdict."""
    return bool(SIDE.search(line) or _PLACED.search(line)) or any(one.match(line) for one in (BLAND, _TOLD_OF))


def is_whole(line: str) -> bool:
    """Tell whether a name of some work stands by itself: it points at nothing said before, and is not cut."""
    return not LEANS.search(line)


def is_named(line: str) -> bool:
    """Tell whether a title names work: it stands by itself and is spoken to nobody."""
    return not any(one.search(line) for one in (LEANS, LOOSE, SPOKEN)) and line.count("`") % 2 == 0


def shortened(line: str, most: int) -> str:
    """Return a line in at most `most` characters: whole clauses where that leaves a third of it, else whole words."""
    line = ASIDES.sub("", line) if len(line) > most else line
    if len(line) <= most or BEGINS.match(line):
        return at_word(line, most)
    ends = [match.start() for match in CLAUSE.finditer(line) if most // 3 <= match.start() <= most]
    heads = (line[:end].rstrip(" ,;:-–—(") for end in reversed(ends))
    return next((head for head in heads if is_balanced(head) and not CUT.search(head)), at_word(line, most))


def trimmed(line: str) -> str:
    """Return what a line says was changed: without the tests that went with it, the label before an effect, the code after it."""
    bare = _WHERE.sub("", line)
    line = bare if in_words(bare) > 3 else line
    rest = TESTS_TOO.sub("", _TOO.sub("", line))
    line = rest if in_words(rest) > 2 and not SIDE.search(rest) else line
    label, _, effect = line.partition(" - ")
    if NOW.search(effect) and (inner(label) or in_words(label) <= 3):
        return effect[:1].upper() + effect[1:]
    head, _, how = line.partition(": ")
    return head if inner(how) and REPORTS.match(head) and in_words(head) > 3 and not inner(head) else line


def order_in(sentence: str) -> str:
    """Return a sentence that orders something without what it adds after a dash, and where in the code."""
    return re.split(r" [-–—] ", PLACE.sub("", sentence.rstrip("?!. ")))[0]


def page_of(line: str, paths: Sequence[str]) -> str:
    """Return ` (name)` of the last page, where pages alone were written and a line does not say so; else ""."""
    written = bool(paths) and all(map(PAGE.search, paths)) and not OF_PAGE.search(line)
    return " (%s)" % paths[-1].rpartition("/")[2] if written else ""


def inner(line: str) -> int:
    """Count the names in a line that only the code knows."""
    return len(_INNER.findall(line))


def without_inner(line: str) -> str:
    """Return a line without the names that only the code knows."""
    return _INNER.sub(" ", line)


def led(line: str) -> str:
    """Return a line that leads to a list without its colon, where it tells a change by itself; else as it is."""
    if not line.endswith((":", "：")) or len(line) > _LED_IN:
        return line
    bare = _BY_DOING.sub("", _BOTH.sub("", line).rstrip(":： "))
    tells = (REPORTS.match(bare) or NOW.match(bare)) and in_words(bare) > 3
    hangs = POINTS.match(bare) or any(one.search(bare + end) for one, end in ((_LED, ""), (LISTS, ":"), (CUT, ""), (LEANS, "")))
    return bare if tells and not hangs else line


def since(line: str) -> str:
    """Return a line that says what is so after a change as `Now …`, one that leads to a summary of a deed as the deed."""
    summed = _SUMMED.match(line)
    if summed and not (WOULD.search(line) or summed["deed"].lower() == "removal" and summed["rest"].startswith("from ")):
        return "%s %s" % (_DEEDS[summed["deed"].lower()], re.sub(r"\Afrom (?=`)", "", summed["rest"]))
    after = _AFTER.match(line)
    rest = line[after.end():] if after else ""
    return line if in_words(rest) <= 3 else rest if NOW.search(rest) else "Now %s" % (rest[:1].lower() + rest[1:])


def made(head: str, paths: Sequence[str]) -> str:
    """Return the heading of what was done as a line: with what was done to it, where it does not say so.  paths: of the files."""
    head = _FIX_FOR.sub("Fixed: ", head, count=1)
    tells = any(one.search(head) for one in (NOW, PASSIVE, _SAYS_DONE)) or REPORTS.match(head) or ORDER.match(head)
    only_tests = bool(paths) and all(map(_OF_TESTS.search, paths))
    return head if tells or ":" in head else (TESTED if only_tests else IMPLEMENTED) + head


def is_detail(line: str) -> bool:
    """Tell whether a line says little to somebody who does not know the code: its names, and few words beside them."""
    inner = [] if line.startswith("Renamed `") and "` → `" in line else _INNER.findall(line)
    words = {word.lower() for word in _IN_PLAIN.findall(_INNER.sub(" ", line))} - _OF_CODE
    least = _BESIDE_OBJECT if _OBJECT.match(line) else 2 + 2 * min(len(inner), 2)
    return bool(inner) and len(words) < least


def is_balanced(line: str) -> bool:
    """Tell whether what a line opens it closes: quotations, code, brackets."""
    return line.count("`") % 2 == 0 and line.count('"') % 2 == 0 and line.count("(") == line.count(")")


def in_words(line: str) -> int:
    """Count the words of a line beside the code's names; a command that it quotes is a word."""
    return len(WORD.findall(CODE.sub("", line))) + len(COMMAND.findall(line))


def described(request: str, statement: str) -> str:
    """Return what a statement calls the work, where the text of a pull request or commit was asked for; else ""."""
    if not _FOR_OTHERS.search(request[:200]):
        return ""
    for line, code in tokeniser.coded(statement.split("\n")):
        bare = line.strip()
        level, head = tokeniser.heading(bare)
        bold = bare.startswith("**") and bare.endswith("**") and bare.count("**") == 2
        if code and _SUBJECT.fullmatch(bare):
            return _LABEL.sub("", bare, count=1)
        called = "" if code else head if level else bare.strip("*") if bold else ""
        name = _LABEL.sub("", called, count=1).strip()
        if in_words(name) > 1 and not name.endswith(":") and (name != called or not UNTOLD.search(name)):
            return name
        item = None if code else LISTED.match(line)
        if item and ORDER.match(line[item.end():]) and in_words(line) > 2:
            return line[item.end():].strip()
    return ""
