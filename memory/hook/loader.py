"""The loader: which learnings a prompt gets unasked, and the search for them; strategies.py says
what else is given, and when.

A prompt gets a learning only where its relevance reaches RELEVANCE:

    strength  = sum over matched terms of damping * weight * idf / ln(1 + N) * impact / 115
    coverage  = sum over matched terms of damping * weight * idf, over the same sum of all terms of
              the prompt
    relevance = strength * coverage

A term which one record of N holds counts about 1 at 10 and at 10,000 records, and twice that in a
title.  Coverage tells a prompt about the learning from one about something else that shares two of
its words; a word that no record holds counts against all of them.  Words that say what to do and
not what about (`fix`, `add`, `run`, `test` …) are damped; one weak word alone never pushes
anything, and beside the most relevant learning only those come that are nearly as relevant.  A
record that misled (ledger.py) stands below all others and says so; where there are more than fit,
it is the first to stay away.  evals/README.md has the measurements.

The search, which recall shares, is BM25 over the segment and the delta, exact where it is cheap and
bounded where it is not.  Score of a document: sum over the query's terms of weight * idf * impact /
115, with idf = ln(1 + (N - df + 0.5) / (df + 0.5)) (Robertson and Sparck Jones, as Lucene writes
it).  Terms are read from the rarest on; reading stops when no unseen document can still enter the
best `limit`, and the long lists are then searched by bisection for the found candidates alone
(MaxScore).
"""

from __future__ import annotations

from _bisect import bisect_left
from math import log

from memory.core import tokeniser
from memory.hook import FENCE
from memory.hook.indexview import ALL, OTHERS, PUSHED
from memory.hook.strategies import Membership, categories, category_of, choose_strategy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, FrozenSet, List, Sequence, Set, Tuple

    from memory.core.config import Config
    from memory.hook.indexview import Index
    from memory.hook.strategies import Strategy

DAMPING = 0.35
RELEVANCE = 1.2  # that a learning needs to come with a prompt (evals/run-push)
WEAK = 0.15  # strength of a term that counts as a match
# weight * idf / ln(1 + N) of a term that may bring a learning: half of 12 hold it, a third of 40,
# 150 of 1,000
TELLING = 0.28
STRONG = 1.3  # strength that one term alone must bring
EXACT = 1.25  # times the threshold: what a learning outside the category's topics must bring
CANDIDATES = 24  # records that are looked at, whatever their sections
UNKNOWN = 0.75  # how much a word that no record holds counts against all
PIECE = 200  # characters of a prompt that are matched as one
WINDOW, MOST_WINDOWS = 320, 32  # characters of each part of a longer prompt; parts matched
_PLAN = "implement the following plan:"  # what the client puts before an approved plan
_POINTER = "read the full transcript at"  # in the line that the client puts below it
RARE = 0.45  # idf / ln(1 + N) of a handle: 40 of 1,000 documents hold it
NEARLY = 0.8  # share of the best learning's relevance that the others must have

# postings one query may score; 1-2 ms.  At 100,000 records the exact top 3 are in the capped top 5
# for 97.5 %
CAP = 12000
WORTH = 512  # postings of a list that is read without asking whether it can still matter
BISECTED = 6  # times the candidates that a list is long in which each is looked for by bisection
REFINED = 400  # candidates that the long lists are searched for, where no more are asked for


class Pick:
    """A learning chosen for a prompt.

    number: of its document.  reason: in words that hold no text of the prompt.
    """

    __slots__ = ("number", "reason", "relevance")

    def __init__(self, number: int, relevance: float, reason: str):
        self.number, self.relevance, self.reason = number, relevance, reason


class Choice:
    """The loader's choice for a prompt.

    picks: best first.
    candidates: the number scored.
    category: the prompt's, or "".
    misled: ids of misleading records.
    passages: see passages.py.
    below: [id, score] of the nearest passage below the threshold.
    walls: of a pasted error (at_failure.py).
    """

    __slots__ = (
        "below",
        "candidates",
        "category",
        "misled",
        "passages",
        "picks",
        "strategy",
        "walls",
    )

    def __init__(
        self,
        strategy: Strategy,
        picks: List[Pick],
        candidates: int,
        category: str = "",
        misled: FrozenSet[str] = frozenset(),
    ):
        self.strategy, self.picks, self.candidates, self.category = (
            strategy,
            picks,
            candidates,
            category,
        )
        self.misled = misled
        self.passages: List[Any] = []
        self.below: List[List[Any]] = []
        self.walls: List[Any] = []


def choose(index: Index, prompt: str, mode: str, config: Config, shown: Set[str]) -> Choice:
    """Return the learnings chosen for a prompt, at most `load.top`.

    mode: the host's permission mode.  shown: ids that this session has seen.
    """
    strategy = choose_strategy(index.learnings, index.learning_tokens)
    if not index.learnings:
        return Choice(strategy, [], 0)
    stems = frozenset(term for term, _ in index.terms(prompt))
    table = categories()
    category = category_of(stems, mode, table) if strategy.routed else ""
    if category:  # most prompts have none, and would pay for the list of topics
        table = categories(index.lists("brief").get("topics", ()), index.learnings)
        category = category_of(stems, mode, table)
    member = Membership(category, table.get(category, frozenset()) | stems)
    best, candidates = _best_by_id(index, prompt, config, member, shown)
    below: FrozenSet[str] = frozenset()
    if best:
        from memory.hook import fence

        below = fence.misled(index.place)
    order = [
        pick
        for _, pick in sorted(
            best.items(), key=lambda row: (row[0] in below, -row[1].relevance, row[1].number)
        )
    ]
    least = NEARLY * order[0].relevance if order else 0.0
    picks = [pick for pick in order[: config["load.top"]] if pick.relevance >= least]
    return Choice(strategy, picks, candidates, category, below)


def _best_by_id(
    index: Index, prompt: str, config: Config, member: Membership, shown: Set[str]
) -> Tuple[Dict[str, Pick], int]:
    """Return (the best pick of each record, number of records scored)."""
    best: Dict[str, Pick] = {}
    candidates = 0
    for piece in pieces(prompt):
        picks, scored = _matching(
            index, damp_common_terms(index.terms(piece)), config, member, shown
        )
        candidates += scored
        for pick in picks:
            id = index.doc(pick.number).id
            if id not in best or pick.relevance > best[id].relevance:
                best[id] = pick
    return best, candidates


def written_since(index: Index, prompt: str, since: float, shown: Set[str]) -> List[Pick]:
    """Return the learnings written since a session's start that a prompt names.

    Two of their words are enough: the start would have given them.
    since: seconds since the epoch.  shown: ids that this session has seen.
    """
    terms = damp_common_terms(index.terms(prompt))
    worth = term_worths(index, terms)
    picks: List[Pick] = []
    for _, number in search(index, terms, CANDIDATES, PUSHED):
        doc = index.doc(number)
        if doc.id in shown or doc.ordinal or doc.mtime_ns < since * 1e9:
            continue
        parts, relevance = match_document(index, number, worth)
        if sum(term not in tokeniser.COMMON for term, _ in parts) > 1:
            picks.append(Pick(number, relevance, "written since the session's start"))
    return picks


def user_text(prompt: str) -> str:
    """Return the user's own words in a prompt.

    Without the client's additions; of an approved plan its heading.
    """
    said = prompt.strip()
    if _POINTER in said:
        said = "\n".join(line for line in said.split("\n") if _POINTER not in line).strip()
    while said[:1] == "<" and said.startswith(("<system-reminder>", "<ide_")):
        name = said[1 : said.find(">")]
        end = said.find("</" + name + ">")
        if end < 0:
            break
        said = said[end + len(name) + 3 :].lstrip()
    if said[: len(_PLAN)].lower() != _PLAN:
        return said
    plan = said[len(_PLAN) :].strip().split("\n")
    return next((line for line in plan if tokeniser.heading(line)[0]), plan[0]).strip("# ")[:PIECE]


def without_blocks(text: str) -> str:
    """Return a text without the blocks made by `fence.block`.

    Earlier blocks are no part of the question.
    """
    while True:
        start = text.find("<%s part=" % FENCE)
        end = text.find("</%s>" % FENCE, start)
        if start < 0 or end < 0:
            return text
        text = text[:start].rstrip() + text[end + len(FENCE) + 3 :]


def pieces(prompt: str) -> List[str]:
    """Return the texts of a prompt that are matched separately.

    A long prompt into its first line, its last line, and its windows.  Pasted text stands below or
    above the user's own words, and would take its share of every coverage; and the weak words of a
    whole paste would add up to a match that none of its parts is.
    """
    whole = prompt.strip()
    if len(whole) <= PIECE:
        return [whole]
    first, last = whole.partition("\n")[0], whole.rpartition("\n")[2]
    if len(first) > PIECE:
        first = first[:PIECE].rpartition(" ")[0]
    if len(last) > PIECE:
        last = last[-PIECE:].partition(" ")[2]
    return list(dict.fromkeys((first, last, *windows(whole))))


def windows(text: str) -> List[str]:
    """Return a text's paragraphs, at most WINDOW characters each.

    Long paragraphs are cut at a line, a sentence or a word.
    """
    found: List[str] = []
    block = ""
    for line in text.split("\n"):
        line = line.strip()
        if block and (not line or len(block) + len(line) >= WINDOW):
            found.append(block)
            block = ""
        while len(line) > WINDOW:
            at = _cut(line)
            found.append(line[:at])
            line = line[at:].strip()
        block += ("\n" if block else "") + line if line else ""
    found += [block] if block else []
    half = MOST_WINDOWS // 2
    return found if len(found) <= MOST_WINDOWS else found[:half] + found[-half:]


def _cut(line: str) -> int:
    """Return where a long line is cut: a sentence, a word, else WINDOW."""
    at = line.rfind(". ", 0, WINDOW) + 1 or line.rfind(" ", 0, WINDOW)
    return at if at > 0 else WINDOW


def _matching(
    index: Index,
    terms: Sequence[Tuple[str, float]],
    config: Config,
    member: Membership,
    shown: Set[str],
) -> Tuple[List[Pick], int]:
    """Return (matching learnings, number of documents scored)."""
    norm, wanted = log(1.0 + index.documents), CANDIDATES + len(shown)
    while True:
        found = search(
            index,
            terms,
            wanted,
            PUSHED,
            least=RELEVANCE * norm,
            telling=TELLING * norm,
        )
        picks, records = _picked(index, found, terms, member, shown)
        # The sections of one long learning, shown or not, may fill all places: then the search goes
        # on behind them.
        if (
            len(found) < wanted
            or wanted >= index.documents
            or len(picks) >= config["load.top"]
            or records >= CANDIDATES
        ):
            return picks, len(found)
        wanted *= 4


def _picked(
    index: Index,
    found: Sequence[Tuple[float, int]],
    terms: Sequence[Tuple[str, float]],
    member: Membership,
    shown: Set[str],
) -> Tuple[List[Pick], int]:
    """Return (picks among candidates, number of new records looked at)."""
    least, worth = RELEVANCE * log(1.0 + index.documents), term_worths(index, terms)
    picks: List[Pick] = []
    seen: Set[str] = set(shown)
    looked: Set[str] = set()
    for score, number in found:
        if score < least:  # relevance is never above strength
            break
        doc = index.doc(number)
        if doc.id in seen:
            continue
        looked.add(doc.id)
        parts, relevance = match_document(index, number, worth)
        in_category = not member.category or any(map(member.__getitem__, doc.topics))
        reason = "%d of %d terms" % (len(parts), len(terms))
        if member.category:
            reason += (", topic of " if in_category else ", exact outside ") + member.category
        if not refusal(relevance, parts, "" if in_category else member.category):
            seen.add(doc.id)
            picks.append(Pick(number, relevance, reason))
    return picks, len(looked)


def match_document(
    index: Index, number: int, worth: Dict[str, float]
) -> Tuple[List[Tuple[str, float]], float]:
    """Return (each matched term's share of strength, relevance) of a document.

    worth: from `term_worths`.
    """
    norm = log(1.0 + index.documents)
    parts = [(term, value / norm) for term, value in shares(index, number, worth)]
    coverage = sum(worth[term] for term, _ in parts) / (sum(worth.values()) or 1.0)
    return parts, sum(part for _, part in parts) * coverage


def term_worths(index: Index, terms: Sequence[Tuple[str, float]]) -> Dict[str, float]:
    """Return the worth of each term: weight * idf.

    Of a term in no record a share of UNKNOWN.  Coverage adds them up.
    """
    found: Dict[str, float] = {}
    for term, weight in terms:
        df = index.df(term)
        found[term] = weight * idf(index.documents, df) * (1.0 if df else UNKNOWN)
    return found


def refusal(relevance: float, parts: Sequence[Tuple[str, float]], outside: str) -> str:
    """Return the reason against pushing a learning, or "".

    parts: the share of each matched term.
    outside: the prompt's category, where no topic of the learning belongs to it, else ""; a
        learning that shares an identifier with the prompt is in every category.
    """
    if relevance < RELEVANCE:
        return "below %.2f" % RELEVANCE
    strengths = [part for _, part in parts]
    if sum(part > WEAK for part in strengths) < 2 and max(strengths, default=0.0) < STRONG:
        return "only one term"
    if (
        outside
        and relevance < RELEVANCE * EXACT
        and not any(map(is_exact, (term for term, _ in parts)))
    ):
        return "outside %s, below %.2f" % (outside, RELEVANCE * EXACT)
    return ""


def is_exact(term: str) -> bool:
    """Tell whether a term is a whole identifier, path or file.

    `verify_token`, `src/jwt.py`: naming it is no coincidence.
    """
    return "_" in term or "/" in term or "." in term


def damp_common_terms(terms: Sequence[Tuple[str, float]]) -> List[Tuple[str, float]]:
    """Return terms with very common words and small numbers lowered.

    `4` is a part of `utf4` as of `ipv4`.
    """
    return [
        (
            term,
            weight * DAMPING
            if term in tokeniser.COMMON or (len(term) < 3 and term.isdigit())
            else weight,
        )
        for term, weight in terms
    ]


# ---- the search


def idf(documents: int, df: int) -> float:
    """Return the inverse document frequency of a term.

    df: documents with the term; replaced documents may count, so it is taken to be `documents` at
        most.
    """
    df = min(df, documents)
    return log(1.0 + (documents - df + 0.5) / (df + 0.5))


def is_rare(index: Index, name: str) -> bool:
    """Tell whether a handle occurs in some documents, but few."""
    terms = [term for term, _ in tokeniser.expand(name)] or [name.lstrip("#")]
    df = index.df(name) or min(index.df(term) for term in terms)
    return df > 0 and idf(index.documents, df) >= RARE * log(1.0 + index.documents)


def search(
    index: Index,
    terms: Sequence[Tuple[str, float]],
    limit: int,
    part: int = ALL,
    cap: int = CAP,
    least: float = 0.0,
    telling: float = 0.0,
) -> List[Tuple[float, int]]:
    """Return the best documents as (score, number), best first, ties by number.

    terms: (term, weight) as tokeniser.terms gives them.  limit: how many.  part: ALL, PUSHED or
    OTHERS.  cap: postings to score at the most.  least: the score below which a document is of no
    use.  telling: weight * idf that one of a document's terms must have; other terms only add to
    what those found, so common words cost next to nothing.
    """
    best = (
        _segment(index, terms, limit + len(index.delta.gone), part, cap, least, telling)
        if index.segment
        else {}
    )
    gone = index.delta.gone
    if gone:
        best = {number: score for number, score in best.items() if number not in gone}
    if index.delta.docs:
        _add_from_delta(best, index, terms, part, telling)
    floor = max(least, sorted(best.values())[-limit]) if len(best) > limit else least
    ranked = sorted([(-score, number) for number, score in best.items() if score >= floor])[:limit]
    return [(-score, number) for score, number in ranked]


def _add_from_delta(
    best: Dict[int, float],
    index: Index,
    terms: Sequence[Tuple[str, float]],
    part: int,
    telling: float,
) -> None:
    """Add the scores of the documents that the index's log holds."""
    base = index.segment.docs if index.segment else 0
    documents = index.documents
    found = [
        (weight * idf(documents, index.df(term)) / 115.0, hits)
        for term, weight in terms
        for hits in (index.delta.search(term),)
        if hits
    ]
    told = {place for value, hits in found if value * 115.0 >= telling for place, _ in hits}
    for value, hits in found:
        for place, impact in hits:
            if place in told and (part == ALL or (part == PUSHED) == index.delta.pushable[place]):
                best[base + place] = best.get(base + place, 0.0) + value * impact


def shares(index: Index, number: int, worth: Dict[str, float]) -> List[Tuple[str, float]]:
    """Return (term, share of the score) for a document's terms.

    worth: from `term_worths`.
    """
    segment = index.segment
    if segment is None or number >= segment.docs:
        at = number - (segment.docs if segment else 0)
        held = ((term, dict(index.delta.search(term)).get(at)) for term in worth)
        return [(term, worth[term] * impact / 115.0) for term, impact in held if impact]
    part = PUSHED if number < segment.pushable else OTHERS
    found = []
    for term, value in worth.items():
        ids, impacts = index.postings(term, part)
        at = bisect_left(ids, number)
        if at < len(ids) and ids[at] == number:
            found.append((term, value * impacts[at] / 115.0))
    return found


def _segment(
    index: Index,
    terms: Sequence[Tuple[str, float]],
    limit: int,
    part: int,
    cap: int,
    least: float,
    telling: float,
) -> Dict[int, float]:
    """Return the score of each of the segment's documents, by number."""
    segment = index.segment
    assert segment is not None
    found = []
    for term, weight in terms:
        entry = index.entry(term)
        if entry:
            offset, df, pushable, most = entry
            length = df if part == ALL else pushable if part == PUSHED else df - pushable
            if length:
                # Over all documents: one record in the segment and twelve in the log are thirteen.
                value = weight * idf(index.documents, index.df(term)) / 115.0
                found.append((length, value * most, value, term, offset, df))
    found.sort(key=lambda item: (item[2] * 115.0 < telling, item[0], item[4]))
    rest = [0.0] * (len(found) + 1)
    for i in range(len(found) - 1, -1, -1):
        rest[i] = rest[i + 1] + found[i][1]
    scores: Dict[int, float] = {}
    get = scores.get
    used, cut, threshold = 0, len(found), 0.0
    for i, (length, _, value, term, offset, df) in enumerate(found):
        if rest[i] < least or value * 115.0 < telling:
            cut = i
            break
        # The threshold costs a sort of all scores: it is only asked where a list is long enough to
        # be worth skipping.
        if length > WORTH and len(scores) >= limit:
            threshold = sorted(scores.values())[-limit]
            if threshold >= rest[i] or used + length > cap:
                cut = i
                break
        if length > 1024 and used + length > cap:
            ids, impacts = segment.postings(offset, df, df, champions=True)
            if part != ALL:
                border = bisect_left(ids, segment.pushable)
                kept = slice(border) if part == PUSHED else slice(border, None)
                ids, impacts = ids[kept], impacts[kept]
        else:
            ids, impacts = index.postings(term, part)
        for number, impact in zip(ids, impacts):
            scores[number] = get(number, 0.0) + value * impact
        used += len(ids)
    if cut == len(found):
        return scores
    return _refine(
        index,
        [(item[2], item[3]) for item in found[cut:]],
        part,
        scores,
        max(threshold, least) - rest[cut],
        max(limit, REFINED),
    )


def _refine(
    index: Index,
    rest: Sequence[Tuple[float, str]],
    part: int,
    scores: Dict[int, float],
    least: float,
    most: int,
) -> Dict[int, float]:
    """Return the best candidates with the long lists' scores added."""
    order = sorted((-score, number) for number, score in scores.items() if score >= least)[:most]
    kept = {number: -score for score, number in order}
    for value, term in rest:
        ids, impacts = index.postings(term, part)
        length = len(ids)
        if length < BISECTED * len(kept):
            for number, impact in zip(ids, impacts):
                if number in kept:
                    kept[number] += value * impact
            continue
        for number in kept:
            at = bisect_left(ids, number)
            if at < length and ids[at] == number:
                kept[number] += value * impacts[at]
    return kept
