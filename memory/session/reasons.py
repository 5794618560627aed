"""How causes are spoken of: what a sentence that names one begins with, and what makes it a supposition, a slip or no cause."""

from __future__ import annotations

import re

NAMED = (
    r"(?:(?:root|actual|real|true|underlying|original|core|main|key|remaining|first|second)[\s-]+)*"
    r"(?P<word>root causes?|causes?|culprits?|reason|insight|bugs?|issues?|problems?|flaw|fault|mistake|gotcha|catch|"
    r"ursache|(?:근본 ?)?원인|(?:根本)?原因)")
LEAD = re.compile(
    r"\A(?:[✅❌⚠️🎉🔧•→\s*-]+|(?:\d+|[A-Z]\d?)[.)]\s+|(?:i see|found (?:it|the \w+(?: \w+)?)|got it|now i (?:see|understand)|"
    r"good catch|so|and|but|before|ok|okay|right|interesting|yes|perfect|great|ah|actually|indeed|"
    r"summary(?: of (?:changes|the fix))?|looking at (?:the |this )?[\w ]{3,30})\b\s*"
    r"(?:[-–—,.:!]+\s+|\s(?=the (?:issue|problem|bug|root|cause))))+", re.I)
LABEL = re.compile(
    r"(?:the |this |das |die )?" + NAMED + r"(?: here| now| (?:of|with|behind|for) [^:.]{3,60}?)?"
    r"(?:(?:\s+(?:is|was|are|were))?\s*[:：–—](?:\s+|\Z)|\s-\s+|"
    r"\s+(?:occurr(?:s|ed)|happen(?:s|ed)|arose|arises|came|comes|stem(?:s|med))\s+(?:because|when|since|due to|from)\s+|"
    r"\s+(?:is|was|were|ist|war)\s+(?:(?:likely )?(?:that|because|how|due to|caused by|dass)\s+)?|(?:은|는|は|是)\s*)", re.I)
LATE = re.compile(  # a label behind other words
    r".{0,80}\b(?:root cause|culprit)\b(?: (?:of|behind|for|here) [^:.]{0,60}?)?(?:\s*[:–—]\s+|\s+(?:is|was)\s+(?:that\s+)?)",
    re.I)
PAST = re.compile(r"\s(?:was|were|war)\b|[:：]\s*\Z")
WHY = re.compile(r"because|due to|since|as it|caused by|turn(?:ed|s) out|때문|ため|原因|因为|weil", re.I)
TOLD = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|broke(?:n)?|crash(?:es|ed|ing)?|hangs?|hung|panic(?:s|ked)?|occur(?:s|red)?|"
    r"happen(?:s|ed)?|errors?|lost|missing|missed|skipped|wrong|ignored|rejected|times? out|flaky|"
    r"(?:does|did|do|could|can)(?:n't| ?not) (?:work|show|appear|run|match|find|compile|build|install|start|load|resolve|exist|"
    r"connect|parse|reach|pass|detect|trigger|fire|update|return|save|restore|see)|undefined|unknown|not found|unavailable|"
    r"in use|taken|denied|refused|stale|empty)\b.{0,90}?\b(?:because(?: of)?|due to|since (?:the|it|a|we|our)|as it)\b|"
    r"(?<=.{8})\b(?:(?:was|were|is|are) (?:being )?caused by|turn(?:ed|s) out (?:that|to be))\b|"
    r"실패.{0,40}때문|때문에.{0,40}실패|失敗.{0,40}(?:ため|原因)|ため.{0,30}失敗|因为.{0,60}失败|失败.{0,40}因为|"
    r"(?:schlug|schlägt|fehl\w+).{0,60}\bweil\b", re.I)
SUPPOSED = re.compile(
    r"[?？]|\b(?:likely|probabl[ey]|possibl[ey]|perhaps|maybe|might|may(?! not be)|"
    r"could(?:n't)? (?:be|cause|have|lead|also)|seems?|appears? to|suspect|assume|presum\w+|looks? like|i think|not sure|unclear|"
    r"whether|would(?:n't)? (?:you|be|need|like|have|require|make|mean|recommend|suggest|also|still)|should|needs? to|"
    r"if (?:you|we|i)|let me|let's|i'll|i will|we'll|hypothes\w+)\b", re.I)
OWN = re.compile(
    r"\b(?:i|i'm|i've|i'd|my|myself|me)\b|\b(?:your|you) (?:description|request)\b|\bsubagent renamed\b", re.I)
LEANS = re.compile(
    r"\W*(?:it|its|it's|this(?! (?:version|project|repo|package|library|machine|database|release)\w*\b)|that|that's|these|"
    r"those|they|them|he|she|both|so|also|then|there|here|one|another|in (?:how|the (?:design|logic|way))|"
    r"the (?:above|following|same|visualization)|exactly|twofold|clear|becoming|real|fixed|still|now|only|partially|about|with|"
    r"line \d+)\b|\A(?:in|on|at) [^,]{3,120}\Z", re.I)
POINTS = re.compile(
    r"\b(?:create|do|use|support|have|set|find|see|call|handle|add|remove|expose|fix|cause|show)s? "
    r"(?:it|this|that|them|these)\b", re.I)
CUT = re.compile(
    r"[:：…]\W*\Z|\b(?:the|an?|to|of|for|and|or|with|that|which|is|are|was|were|so|when|because|if|since|while)\W*\Z|→|⏎|"
    r"\bsee (?:above|below)\b")
TRIVIAL = re.compile(
    r"\b(?:unused|missing .{0,20}imports?|imports? (?:is|was) missing|typos?|gofmt|formatting|whitespace|scop(?:e|ing) issue|"
    r"redeclared|undefined: \w+|syntax error|(?:lint(?:er)?|errcheck|dupl|goconst) (?:issue|warning|error)s?|merge conflict|"
    r"staged changes|\A(?:moving|renaming|deleting|removing|refactoring) .{3,80} (?:broke|created|caused|introduced)|"
    r"(?:the|this) (?:merge|rebase) (?:brought|introduced|left|added|pulled|took))\b",
    re.I)
FINDING = re.compile(r"\W*(?:the )?" + NAMED + r"\W*\Z", re.I)
SEES = re.compile(  # somebody has come to see what is wrong
    r"\b(?:see|saw|found|find|understand|know|got|identified|spotted|located|pinpointed)\b(?: [\w-]+){0,4}? (?:it|why|"
    r"what(?:'s| is| was)? (?:going )?(?:wrong|on|happen\w+)|" + NAMED + r")\b|"
    + NAMED.replace("?P<word>", "?:") + r" (?:is|was) (?:\w+ )?(?:clear|obvious|apparent|visible|evident)\b", re.I)
AGREES = re.compile(  # with what somebody reports; what it is follows
    r"\W*(?:you(?:'re| are) (?:absolutely |completely |totally )?(?:right|correct)|(?:valid|good|great|fair) "
    r"(?:feedback|point|concern|catch|finding))(?: [-–—][^.!]{3,40})?[.!]\Z", re.I)
OWN_ACT = re.compile(r"(?:when|after|because|since|once) i (?!'|am\b|was\b)\w+", re.I)  # what a sentence begins with
SUBJECT = re.compile(r"\A(?:It|This|That) (?=(?:fail|broke|crash|hang|is failing)\w*\b)")


def capital(text: str) -> str:
    """Return a sentence with a capital first where it begins with a plain word, and not with a name of code."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+(?:'[a-z]+)? ", text) else text
