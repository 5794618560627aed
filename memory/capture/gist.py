"""What turns come to: their outcomes, what comes next, what is open, and a name for all of it.

Everything is taken from what was said, word for word; nothing is concluded.  What people and models say on the way ("Now let
me run the tests:") tells nothing the day after, and is left out everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from memory.capture import turns
from memory.capture.turns import APPROVED, SAID, SUMMARY, USER, Turn
from memory.core import tokeniser
from memory.core.plaintext import at_word, one_line, sentences
from memory.session import deeds
from memory.session.latepattern import Late

TITLE, REQUEST, OUTCOME, DECISION, STEP, QUESTION = 70, 140, 330, 220, 200, 240  # characters
_SUBSTANCE, _LONG, _SAYS = 80, 400, 75  # characters of a statement that says something by itself, that cannot but, of an item
_CODE_LINES, _CODE_LINE, _CODE = 6, 70, 180  # of code that a sentence introduces: lines, characters of one and of all
UNANSWERED, _MOST_STEPS, _MOST_QUESTIONS = "asked and not answered: ", 6, 2

TRIVIAL = Late(
    r"(?:y|yes|yep|yeah|ok|okay|k|go|go on|go ahead|continue|proceed|sure|thanks?|thank you|do it|please|no|done|next|push|"
    r"commit|try again|retry|"
    r"looks good|lgtm|perfect|great|nice|cool|"
    r"네|응|예|계속|はい|続けて|继续|好|好的|是|ja|weiter|danke)(?: please| it| that| then)?[\s.!~]*\Z", re.I)
_ON_THE_WAY = Late(
    r"(?:(?:now|next|first|then|ok|okay|good|great|perfect|excellent|right|alright|so|and|but|also|finally|hmm|wait|actually|"
    r"since \w+|interesting)\b[\s,.!:;-]*)*"
    r"(?:let me\b|let's (?:check|see|look|run|try|verify|also|first|now|fix|update|add|start|read|find)\b|i'll\b|i will\b|"
    r"i'm going to\b|"
    r"i am going to\b|i need to\b|i should\b|i'm (?:now )?(?:checking|looking|running|reading)|now i\b|time to\b|going to\b|"
    r"checking\b|looking at\b|running\b|reading\b)", re.I)
_DONE = Late(r"(?:all )?(?:done|finished|complete[d]?|fixed|ready|good|perfect|great|clean)\b", re.I)
_OPENERS = Late(r"\A(?:(?:perfect|great|excellent|awesome|good|sure|absolutely|nice|got it|i see|"
                r"good (?:question|idea|point|catch|call)|great (?:question|idea|point|catch))[!.]+\s+)+", re.I)
_LEADS_UP = Late(r"(?:now |great|perfect|excellent|based on|here(?:'s| is| are)|i(?:'ve| have|'ll)|let me|my |this is|#+ )",
                       re.I)
_PLAIN_HEADING = Late(r"(?:the |my |final |overall |fix |implementation )*(?:summary|overview|result|results|changes|"
                      r"changes made|"
                      r"what (?:i|was) \w+|done|complete|answer|findings|analysis|conclusion)\b.{0,24}", re.I)
_CAUSE = Late(
    r"\b(?:root cause|because|the (?:issue|problem|bug|reason|cause|culprit)\b.{0,40}\b(?:is|was|were|are)|turn(?:s|ed) out|"
    r"caused by|due to|"
    r"was missing|were missing|weil|wegen|grund|ursache)\b|때문|이유|ため|理由|因为|因為|由于|由於|原因", re.I)
_CUE = Late(
    r"\b(?:causes?\b|caused by|culprit|because|due to|bugs?\b|issues?\b|problems?\b|turn(?:s|ed) out|insight|found it\b|flaw|"
    r"fault|mistake|"
    r"reason\b|you(?:'re| are) (?:\w+ )?(?:right|correct)\b|(?:valid|good|great|fair) (?:feedback|point|concern|catch|finding)\b|"
    r"before\**:|weil\b|ursache)|때문|원인|ため|原因|因为", re.I)
_AHEAD = Late(
    r"\b(?:next steps?|next up|"
    r"remaining(?= (?:\w+ )?(?:work|steps?|tasks?|items?|todos?|issues?|phases?|problems?|failures?)\b|\W*$)|"
    r"still (?:need|to do|missing|open)|left to do|follow[- ]ups?|not yet|todo|to do|"
    r"nächste\w*|noch (?:nicht|offen)|steht noch)\b|다음|남은|아직|残り|次に|次は|次の|まだ|下一步|接下来|還需|还需|待办", re.I)
_BY_HAND = Late(r"\W*(?:(?:required|manual|remaining) (?:setup|steps?|actions?)|(?:setup|steps?) required)\b", re.I)
_AFTER = Late(r"(?i)(?:^|[;,.]\s*|\s)(?:next(?: steps?| up)?|todo|다음(?: 단계)?|次|下一步|als nächstes)\s*[:：]\s*(\S.+)")
_POLITE = Late(
    r"\A(?:(?:hi|hey|hello|ok|okay|so|and|now|please|pls|also|yes|yeah|no|well|hm+|great|cool|perfect|thanks|"
    r"alright)\b[\s,.!:;-]*|"
    r"(?:can|could|would|will) (?:you|we)(?: please| maybe| also| now| just)*\s+|"
    r"(?:i(?:'d| would)? (?:like|want|need)(?: you)? to|i want|help me(?: to)?|let'?s|you (?:can|should)|we (?:should|"
    r"need to|want to)|"
    r"(?:please )?(?:check|see|tell me|look at|find out|understand|make sure|explain)(?: if| whether| to me)?(?= (?:how|why|"
    r"what|where|if|when)))\s+)+",
    re.I)
_POINTS = Late(r"\b(?:this|that|these|those|it|its|again|same|above|them|here|there|thing|things|something|problem|"
               r"issue|changes?|error|"
               r"tests? pass|done|all)\b", re.I)
_WISHES, _ADDRESSES = 3, Late(r"\b(?:i|we|you)\b", re.I)  # what a wish says by itself, at least; speaks to somebody
_LOOKS = Late(r"(?:(?:take a )?look|review|explain|check|show|see|tell|add (?:this|it)|all (?:lint|tests))\b", re.I)
_BREAK = Late(r"(?<=[.!?;])\s|[。！？]|\n| [-–—] |: |, (?=\w+ \w+)| \(")
_JOINT = Late(r" (?=(?:because|so|and|but|when|which|that|where|while|instead|since|after|before|with|without|for|"
              r"from|into|to|in|on|of)\b)|, ")


# --- statements


def plain(statement: str, most: int = 0) -> str:
    """Return a statement as one line: without list marks and headings that say nothing, of code only what a sentence introduces.

    most: characters at most, 0 for any.  Where there is more, the beginning stays, and so does the last sentence, which often is
    the verdict or an offer; items of a list are shortened, to no less than what says something, before any is left out.
    """
    parts = _parts(statement)
    line = _joined(parts)
    if not most or len(line) <= most:
        return line
    items = [at for at, (item, _) in enumerate(parts) if item]
    if len(items) > 1:
        each = max(_SAYS, (most - sum(len(text) for item, text in parts if not item)) // len(items) - 2)
        parts = [(item, at_word(text, each) if item else text) for item, text in parts]
        line = _joined(parts)
    end = (sentences(parts[-1][1]) or [""])[-1] if not parts[-1][0] and len(parts) > 1 else ""
    if len(line) > most and 0 < len(end) <= most // 3 and not is_on_the_way(end):
        return at_word(line[:-len(end)].rstrip() if line.endswith(end) else line, most - len(end) - 1) + " " + end
    return at_word(line, most)


def _joined(parts: Sequence[tuple[bool, str]]) -> str:
    out: list[str] = []
    for item, text in parts:
        if item and out and not out[-1].endswith((":", ".", ";", "!", "?", ",")):
            out[-1] += ";"
        out.append(text)
    return _OPENERS.sub("", one_line(" ".join(out)), count=1)


def _parts(statement: str) -> list[tuple[bool, str]]:
    """Return (whether it is an item of a list, the text) of each line of a statement that says something."""
    out: list[tuple[bool, str]] = []
    shown = 0
    for line, code in tokeniser.coded(statement.strip().split("\n")):
        bare = line.strip()
        if code:
            if out and bare and not bare.startswith(("```", "~~~")) and shown <= _CODE and out[-1][1].endswith((":", "`")):
                shown += _quote(out, bare, shown)
            continue
        shown = 0
        if not bare or set(bare) <= set("|-=:* "):
            continue
        level, head = tokeniser.heading(bare)
        if not level and tokeniser.is_bold(bare):
            level, head = 1, bare.strip("*: ")
        if level:
            if not _PLAIN_HEADING.fullmatch(head.strip("*: ")):
                out.append((False, head.strip("*: ") + ":"))
            continue
        item = deeds.LISTED.match(bare)
        text = bare[item.end():] if item else bare
        out.append((bool(item), text.replace("**", "").replace("__", "").rstrip("|").lstrip("| ")))
    return out


def _quote(out: list[tuple[bool, str]], line: str, shown: int) -> int:
    """Add a line of code to the last part, or a mark where it has too many; return the characters that it takes up.

    shown: characters of the lines before it."""
    mark, before = out[-1]
    full = shown and (before.count("⏎") >= _CODE_LINES - 1 or shown + len(line) > _CODE)
    said = "…" if full else at_word(line.replace("`", "'"), _CODE_LINE)
    out[-1] = mark, (before[:-1] + " ⏎ " if shown else before + " `") + said + "`"
    return _CODE + 1 if full else len(said)


def prose(text: str) -> list[str]:
    """Return the lines of a text that are no code, stripped, without empty ones."""
    return [line.strip() for line, code in tokeniser.coded(text.split("\n")) if line.strip() and not code]


def is_on_the_way(statement: str) -> bool:
    """Tell whether a statement only announces what is done next, so that nothing came of it yet."""
    if len(statement) >= _LONG:
        return False
    lines = [(line.strip(), code) for line, code in tokeniser.coded(statement.strip().split("\n")) if line.strip()]
    last, code = lines[-1] if lines else ("", False)
    if code or tokeniser.heading(last)[0] or last.startswith("|"):
        return False
    last = deeds.LISTED.sub("", last, count=1).replace("**", "").strip()
    return not last or last.endswith((":", "：")) or bool(_ON_THE_WAY.match((sentences(last) or [last])[-1]))


def is_announced(sentence: str) -> bool:
    """Tell whether a sentence says what is done next, or that something is done."""
    return bool(_ON_THE_WAY.match(sentence) or _DONE.match(sentence))


def is_passing(statement: str) -> bool:
    """Tell whether a statement says nothing but what is done next."""
    if not is_on_the_way(statement):
        return False
    rest = [one for one in sentences(plain(statement)) if not _ON_THE_WAY.match(one) and not one.endswith((":", "："))]
    return len(" ".join(rest)) < _SUBSTANCE


def is_finished(turn: Turn) -> bool:
    """Tell whether a turn came to an end: the last thing in it is what the model said, and that announces nothing more."""
    told = [piece for piece in turn.pieces if piece.kind not in (turns.COMMIT, turns.LINK, turns.MERGED, turns.REPORT)]
    return bool(told) and told[-1].kind == turns.SAID and not is_on_the_way(told[-1].text)


def outcome(turn: Turn) -> str:
    """Return the final statement of a turn, as it was said; "" where the turn came to none."""
    said = turn.said()
    if said and not is_on_the_way(said[-1]):
        return said[-1]
    found = next((text for text in reversed(said) if len(text) >= _SUBSTANCE and not is_passing(text)), "")
    return _arrived(found) if is_on_the_way(found) else found


def _arrived(statement: str) -> str:
    """Return a statement without its end where that only announces what is done next."""
    lines = statement.rstrip().split("\n")
    head, last = lines[:-1], sentences(lines[-1])
    while last and (_ON_THE_WAY.match(last[-1]) or last[-1].endswith((":", "："))):
        last.pop()
    return "\n".join([*head, " ".join(last)]).rstrip()


def unasked(statement: str) -> str:
    """Return a statement without the questions at its end, which whatever was said next has answered."""
    lines = statement.rstrip().split("\n")
    while lines and (not lines[-1].strip() or sentences(lines[-1])[-1].rstrip("*_ ").endswith(("?", "？"))):
        rest = sentences(lines.pop())[:-1]
        lines += [" ".join(rest)] if rest else []
    return "\n".join(lines) or statement


def findings(report: str) -> str:
    """Return a report without the sentences at its start that only lead up to it."""
    lines = report.strip().split("\n")
    while lines and (not lines[0].strip() or _LEADS_UP.match(lines[0].strip()) or is_on_the_way(lines[0])):
        lines.pop(0)
    return "\n".join(lines)


def wide(value: str) -> bool:
    """Tell whether a text is written in a script without spaces or with particles: fewer characters say as much."""
    return not value.isascii() and any(map(tokeniser.is_cjk, value))


def statements(text: str) -> Iterator[str]:
    """Yield the sentences of a text, one line each; a heading or sentence that ends in a colon takes its list along."""
    lines = [line for line in prose(text) if line[:1] != "|"]
    number = 0
    while number < len(lines):
        line = lines[number]
        level, head = tokeniser.heading(line)
        item = deeds.LISTED.match(line)
        bare = (head if level else line[item.end():] if item else line).replace("**", "").replace("__", "").strip()
        number += 1
        if bare.endswith((":", "：")) or level:
            taken: list[str] = []
            while number < len(lines) and len(taken) < 4 and deeds.LISTED.match(lines[number]) and not item:
                taken.append(deeds.LISTED.sub("", lines[number], count=1).replace("**", "").strip().rstrip("."))
                number += 1
            if taken and not level:
                yield one_line(bare + " " + "; ".join(taken))
            elif taken:
                yield from (one_line(one) for one in taken)
            continue
        yield from map(one_line, sentences(bare))


def leading(text: str) -> Iterator[str]:
    """Yield the sentences of a text that stand in one line with the beginning of a list: `statements` leaves them out."""
    for line in prose(text):
        if line.endswith((":", "：")):
            yield from sentences(deeds.LISTED.sub("", line, count=1).replace("**", ""))[:-1]


# --- causes


def may_name_cause(statement: str) -> bool:
    """Tell whether a word of causes stands in a statement, so that it is worth a closer look."""
    return bool(_CUE.search(statement))


def causes(statement: str) -> list[str]:
    """Return the sentences of a statement that name a cause."""
    return [one for one in statements(statement) if 24 <= len(one) <= 400 and _CAUSE.search(one)
            and not one.endswith(("?", "？", ":", "：")) and not _ON_THE_WAY.match(one)]


# --- what comes next, what is open


def next_steps(statement: str) -> list[str]:
    """Return up to four sentences of a statement that say what comes next, each from its `next:` on; of a `Next steps:` line its
    list."""
    lines = prose(statement)
    for number, line in enumerate(lines):
        bare = line.strip("#*_ ")
        if bare.endswith((":", "：")) or tokeniser.heading(line)[0] or line.startswith("**") and line.endswith("**"):
            leads = len(line) < 80 and (_AHEAD.search(line) or _BY_HAND.match(line)) and not deeds.REPORTS.match(bare)
            listed = [x for x in lines[number + 1:number + 6] if deeds.LISTED.match(x)] if leads else []
            if listed:
                return [one_line(deeds.LISTED.sub("", x, count=1).replace("**", "")) for x in listed][:4]
    found = [s for s in statements(statement) if (_AHEAD.search(s) or _AFTER.search(s))
             and not _ON_THE_WAY.match(s) and not s.endswith(("?", ":"))]
    return [match[1] if match else s for s in found[:4] for match in [_AFTER.search(s)]]


def before_next(sentence: str) -> str:
    """Return what a sentence says before its `next:`."""
    match = _AFTER.search(sentence)
    return sentence[:match.start()].rstrip(" ;,.") if match else sentence


def ahead(held: Sequence[Turn], todos: Iterable[Sequence[str]]) -> list[str]:
    """Return what comes next, each in a line.

    These are: a request without an answer, what the model was about to do, a plan that nobody began, open todos, stated steps.
    todos: (text, status, …) of the list as it stood at the end.
    """
    steps, turn = list[str](), closing(held)
    if turn is not None:
        plan = next((p.text for p in reversed(turn.pieces) if p.kind == USER and p.name == APPROVED), "")
        if not plan:
            steps += [UNANSWERED + at_word(plain(turn.request), STEP)] * is_unanswered(turn)
            steps += [at_word("about to: " + one, STEP) for one in _intent(turn) if not is_finished(turn)]
        elif not any(piece.kind == turns.FILE for piece in turn.pieces):
            steps.append("carry out the approved plan: " + at_word(heading_of(plan), 120))
    steps += [at_word(one_line(text), STEP) for text, status, *_ in todos if status != "completed"]
    if turn is not None:
        steps += [at_word(step, STEP) for step in next_steps(outcome(turn)) if not _DONE.match(step) and len(step) > 8]
    return list(dict.fromkeys(steps))[:_MOST_STEPS]


def is_unanswered(turn: Turn) -> bool:
    """Tell whether nothing was done for a request, and nothing said but what comes next."""
    said = (one for piece in turn.pieces for one in (sentences(plain(piece.text)) if piece.kind == SAID else [""]))
    idle = turn.asked or TRIVIAL.match(turn.request) or turns.agrees(turn.request) or is_finished(turn)
    return bool(turn.request) and not idle and all(map(is_announced, said))


def closing(held: Sequence[Turn]) -> Turn | None:
    """Return the turn that says where the work stands: the last one, apart from thanks and the like; None for none."""
    asked = [turn for turn in held if turn.asked not in (SUMMARY, turns.SLASH) or turn.pieces and turn.asked != SUMMARY]
    telling = [turn for turn in asked if not TRIVIAL.match(turn.request) or len(outcome(turn)) >= _SUBSTANCE or any(
        piece.kind != SAID for piece in turn.pieces)]
    return next(reversed(telling or asked), None)


def _intent(turn: Turn) -> list[str]:
    """Return what the model last said that it would do, without the words around it; empty where it did not say."""
    said = turn.said()[-1:] if turn.pieces and turn.pieces[-1].kind == SAID else []
    found = [one for one in sentences(plain(said[0])) if _ON_THE_WAY.match(one)] if said and is_on_the_way(said[0]) else []
    return [re.sub(r"\A" + _ON_THE_WAY.pattern + r"\s*", "", one, flags=re.I).strip(" :.") or one for one in found[-1:]]


def questions(held: Sequence[Turn]) -> list[str]:
    """Return the questions at the end of the last final statement: nobody has answered them."""
    last = closing(held)
    lines = prose(outcome(last)) if last and is_finished(last) else []
    said = [one for line in lines[-2:] for one in sentences(one_line(deeds.LISTED.sub("", line, count=1).replace("**", "")))]
    return [at_word(one, QUESTION) for one in said[-3:] if one.endswith(("?", "？")) and len(one) > 5][-_MOST_QUESTIONS:]


def stated(held: Sequence[Turn]) -> list[str]:
    """Return the next steps that the last turn ends with, as it lists them."""
    last = closing(held)
    return next_steps(outcome(last)) if last and is_finished(last) else []


# --- names


def heading_of(plan: str) -> str:
    """Return the heading of a plan, or its first line."""
    lines = prose(plan)
    heads = [head for level, head in map(tokeniser.heading, lines) if level]
    head = (heads or lines or [""])[0]
    return one_line(re.sub(r"(?i)^(?:implementation )?plan\s*[:–-]\s*", "", head.replace("**", "")).replace("`", ""))


def topic(request: str, most: int = TITLE) -> str:
    """Return what a request is about, at most `most` characters, cut where a clause ends; "" where it says nothing."""
    lines = prose(request)
    own = [line for line in lines if not line.startswith((">", "|", "http://", "https://", "@", "/", "<"))] or lines
    for line in own[:3]:
        bare = one_line(deeds.LISTED.sub("", line.lstrip("#> "), count=1).replace("**", ""))
        bare = _POLITE.sub("", bare, count=1).strip(" ,.:;-!?\"'") or bare
        words = [w for w in tokeniser.tokens(bare) if w not in tokeniser.STOP]
        if len(set(words)) >= 2 or any(map(tokeniser.is_cjk, bare)):
            return clause(bare, most)
    return ""


def wish(request: str, most: int) -> str:
    """Return what a request asks to be otherwise, in its first sentence; "" where that does not stand by itself."""
    line = next(iter(sentences(topic(request, most))), "")
    whole = deeds.WISH.search(line) and deeds.is_whole(line) and telling(line) > _WISHES and not _ADDRESSES.search(line)
    return line + '"' * (line.count('"') % 2) if whole else ""


def clause(line: str, most: int = TITLE) -> str:
    """Shorten a line to whole clauses, or else to whole words; code is not cut where a clause ends before it."""
    line = line.strip(" ,.:;-")
    if len(line) <= most:
        return line
    for pattern, least in ((_BREAK, 24), (_JOINT, 32), (_BREAK, 16)):
        ends = [match.start() for match in pattern.finditer(line) if least <= match.start() <= most]
        ends = [end for end in ends if line.count("`", 0, end) % 2 == 0]
        if ends:
            return line[:ends[-1]].strip(" ,.:;-(")
    at = line.rfind(" ", 0, most + 1)
    return line[:at if at > 16 else most].strip(" ,.:;-(")


def telling(line: str) -> float:
    """Return how much a line says by itself: its distinct words that mean something, those that point elsewhere taken off."""
    if wide(line):
        return 4.0
    words = {word for word in tokeniser.tokens(line) if word not in tokeniser.STOP and len(word) > 2}
    return min(6, len(words)) - 1.5 * len(_POINTS.findall(line)) - 1.5 * bool(_LOOKS.match(line))
