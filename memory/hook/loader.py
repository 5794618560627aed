"""Choose the learnings that a prompt gets unasked, and search the index.

strategies.py says what else is given, and when.  A prompt gets a learning only where its relevance
reaches RELEVANCE:

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
from memory.hook.segment import CHAMPIONS, SCALE
from memory.hook.strategies import (
    TopicMembership,
    build_categories,
    choose_strategy,
    classify_prompt,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

    from memory.core.config import Config
    from memory.hook.indexview import Index
    from memory.hook.segment import Doc
    from memory.hook.strategies import Strategy

    Terms = Sequence[tuple[str, float]]

DAMPING = 0.35
RELEVANCE = 1.2  # that a learning needs to come with a prompt (evals/run-push)
WEAK = 0.15  # strength of a term that counts as a match
# weight * idf / ln(1 + N) of a term that may bring a learning: half of 12 hold it, a third of 40,
# 150 of 1,000
TELLING = 0.28
STRONG = 1.3  # strength that one term alone must bring
EXACT = 1.25  # times the threshold: what a learning outside the category's topics must bring
CANDIDATES = 24  # records that are looked at, whatever their sections
UNKNOWN_WEIGHT = 0.75  # how much a word that no record holds counts against all
PIECE = 200  # characters of a prompt that are matched as one
WINDOW, MOST_WINDOWS = 320, 32  # characters of each part of a longer prompt; parts matched
_PLAN = "implement the following plan:"  # what the client puts before an approved plan
_POINTER = "read the full transcript at"  # in the line that the client puts below it
RARE = 0.45  # idf / ln(1 + N) of a handle: 40 of 1,000 documents hold it
NEAR_SHARE = 0.8  # share of the best learning's relevance that the others must have

# postings one query may score; 1-2 ms.  At 100,000 records the exact top 3 are in the capped top 5
# for 97.5 %
CAP = 12000
SHORT_LIST = 512  # postings of a list that is read without asking whether it can still matter
# a list this many times as long as the candidates is searched for each by bisection
BISECTION_FACTOR = 6
REFINED_CANDIDATES = 400  # that the long lists are searched for, at least


class Pick:
    """A learning chosen for a prompt.

    doc, number: its document.  reason: in words that hold no text of the prompt.
    """

    def __init__(self, doc: Doc, number: int, relevance: float, reason: str):
        self.doc, self.number, self.relevance, self.reason = doc, number, relevance, reason


class Choice:
    """All that is chosen for a prompt.

    picks: learnings, best first.
    candidates: the number scored.
    category: the prompt's, or "".
    misled: ids of misleading records.
    passages: see passages.py.
    below: [id, score] of the nearest passage below the threshold.
    walls: of a pasted error (at_failure.py).
    """

    def __init__(
        self,
        strategy: Strategy,
        picks: list[Pick],
        candidates: int,
        category: str = "",
        misled: frozenset[str] = frozenset(),
    ):
        self.strategy, self.picks = strategy, picks
        self.candidates, self.category, self.misled = candidates, category, misled
        self.passages: list[Any] = []
        self.below: list[list[Any]] = []
        self.walls: list[Any] = []


def choose_learnings(
    index: Index, prompt: str, mode: str, config: Config, shown: set[str]
) -> Choice:
    """Return the learnings chosen for a prompt, at most `load.top`.

    mode: the host's permission mode.  shown: ids that this session has seen.
    """
    strategy = choose_strategy(index.learnings, index.learning_tokens)
    if not index.learnings:
        return Choice(strategy, [], 0)
    stems = frozenset(term for term, _ in index.terms(prompt))
    table = build_categories()
    category = classify_prompt(stems, mode, table) if strategy.routed else ""
    if category:  # most prompts have none, and would pay for the list of topics
        table = build_categories(index.lists("brief").get("topics", ()), index.learnings)
        category = classify_prompt(stems, mode, table)
    member = TopicMembership(category, table.get(category, frozenset()) | stems)
    top = config["load.top"]
    picks, candidates = _find_best(index, prompt, top, member, shown)
    if not picks:
        return Choice(strategy, [], candidates, category)
    from memory.hook import fence

    misled = fence.read_misleading_ids(index.place)
    picks.sort(key=lambda pick: (pick.doc.id in misled, -pick.relevance, pick.number))
    least = NEAR_SHARE * picks[0].relevance
    picks = [pick for pick in picks[:top] if pick.relevance >= least]
    return Choice(strategy, picks, candidates, category, misled)


def _find_best(
    index: Index, prompt: str, top: int, member: TopicMembership, shown: set[str]
) -> tuple[list[Pick], int]:
    """Return (the best pick of each record, number of documents scored)."""
    best: dict[str, Pick] = {}
    candidates = 0
    for piece in split_prompt(prompt):
        terms = damp_common_terms(index.terms(piece))
        picks, scored = _find_matches(index, terms, top, member, shown)
        candidates += scored
        for pick in picks:
            before = best.get(pick.doc.id)
            if before is None or pick.relevance > before.relevance:
                best[pick.doc.id] = pick
    return list(best.values()), candidates


def find_written_since(index: Index, prompt: str, since: float, shown: set[str]) -> list[Pick]:
    """Return learnings about a prompt that were written since an instant.

    Two of their words are enough: the session's start would have given them.
    """
    terms = damp_common_terms(index.terms(prompt))
    worth = weigh_terms(index, terms)
    picks: list[Pick] = []
    for _, number in search(index, terms, CANDIDATES, PUSHED):
        doc = index.doc(number)
        if doc.id in shown or doc.ordinal or doc.mtime_ns < since * 1e9:
            continue
        parts, relevance = match_document(index, number, worth)
        if sum(term not in tokeniser.COMMON for term, _ in parts) > 1:
            picks.append(Pick(doc, number, relevance, "written since the session's start"))
    return picks


def extract_user_text(prompt: str) -> str:
    """Return the user's own words in a prompt.

    Without the client's additions; of an approved plan its heading.
    """
    text = prompt.strip()
    if _POINTER in text:
        text = "\n".join(line for line in text.split("\n") if _POINTER not in line).strip()
    while text[:1] == "<" and text.startswith(("<system-reminder>", "<ide_")):
        name = text[1 : text.find(">")]
        end = text.find("</" + name + ">")
        if end < 0:
            break
        text = text[end + len(name) + 3 :].lstrip()
    if text[: len(_PLAN)].lower() != _PLAN:
        return text
    plan = text[len(_PLAN) :].strip().split("\n")
    heading = next((line for line in plan if tokeniser.parse_heading(line)[0]), plan[0])
    return heading.strip("# ")[:PIECE]


def remove_blocks(text: str) -> str:
    """Return a text without the blocks made by `fence.format_block`."""
    while True:
        start = text.find("<%s part=" % FENCE)
        end = text.find("</%s>" % FENCE, start)
        if start < 0 or end < 0:
            return text
        text = text[:start].rstrip() + text[end + len(FENCE) + 3 :]


def split_prompt(prompt: str) -> list[str]:
    """Return the texts of a prompt that are matched separately.

    A long prompt's first line, last line and paragraphs.  Text pasted beside the user's own words
    would lower their coverage, and its weak words would add up to a match.
    """
    text = prompt.strip()
    if len(text) <= PIECE:
        return [text]
    first, last = text.partition("\n")[0], text.rpartition("\n")[2]
    if len(first) > PIECE:
        first = first[:PIECE].rpartition(" ")[0]
    if len(last) > PIECE:
        last = last[-PIECE:].partition(" ")[2]
    return list(dict.fromkeys((first, last, *split_paragraphs(text))))


def split_paragraphs(text: str) -> list[str]:
    """Return a text's paragraphs, cut to WINDOW characters if longer."""
    paragraphs: list[str] = []
    block = ""
    for line in map(str.strip, text.split("\n")):
        if block and (not line or len(block) + len(line) >= WINDOW):
            paragraphs.append(block)
            block = ""
        while len(line) > WINDOW:
            at = _find_cut(line)
            paragraphs.append(line[:at])
            line = line[at:].strip()
        if line:
            block += "\n" + line if block else line
    paragraphs += [block] if block else []
    half = MOST_WINDOWS // 2
    return paragraphs if len(paragraphs) <= MOST_WINDOWS else paragraphs[:half] + paragraphs[-half:]


def _find_cut(line: str) -> int:
    """Return where a long line is cut: behind a sentence, a word, else at WINDOW."""
    at = line.rfind(". ", 0, WINDOW) + 1 or line.rfind(" ", 0, WINDOW)
    return at if at > 0 else WINDOW


def _find_matches(
    index: Index, terms: Terms, top: int, member: TopicMembership, shown: set[str]
) -> tuple[list[Pick], int]:
    """Return (matching learnings, number of documents scored)."""
    norm, wanted = log(1.0 + index.documents), CANDIDATES + len(shown)
    while True:
        hits = search(index, terms, wanted, PUSHED, least=RELEVANCE * norm, telling=TELLING * norm)
        picks, records = _pick_matches(index, hits, terms, member, shown)
        # The sections of one long learning may fill all places: then search on behind them.
        is_complete = len(hits) < wanted or wanted >= index.documents
        if is_complete or len(picks) >= top or records >= CANDIDATES:
            return picks, len(hits)
        wanted *= 4


def _pick_matches(
    index: Index,
    hits: Sequence[tuple[float, int]],
    terms: Terms,
    member: TopicMembership,
    shown: set[str],
) -> tuple[list[Pick], int]:
    """Return (learnings among hits that may be pushed, number of new records seen)."""
    least, worth = RELEVANCE * log(1.0 + index.documents), weigh_terms(index, terms)
    picks: list[Pick] = []
    done = set(shown)
    seen: set[str] = set()
    for score, number in hits:
        if score < least:  # relevance is never above strength
            break
        doc = index.doc(number)
        if doc.id in done:
            continue
        seen.add(doc.id)
        parts, relevance = match_document(index, number, worth)
        in_category = not member.category or any(map(member.__getitem__, doc.topics))
        reason = "%d of %d terms" % (len(parts), len(terms))
        if member.category:
            reason += (", topic of " if in_category else ", exact outside ") + member.category
        if not explain_refusal(relevance, parts, "" if in_category else member.category):
            done.add(doc.id)
            picks.append(Pick(doc, number, relevance, reason))
    return picks, len(seen)


def match_document(
    index: Index, number: int, worth: dict[str, float]
) -> tuple[list[tuple[str, float]], float]:
    """Return a document's matched terms with their strength, and its relevance."""
    norm = log(1.0 + index.documents)
    parts = [(term, value / norm) for term, value in score_terms(index, number, worth)]
    coverage = sum(worth[term] for term, _ in parts) / (sum(worth.values()) or 1.0)
    return parts, sum(part for _, part in parts) * coverage


def weigh_terms(index: Index, terms: Terms) -> dict[str, float]:
    """Return the worth of each term: weight * idf.

    Of a term in no record a share of UNKNOWN_WEIGHT.  Coverage adds them up.
    """
    worth: dict[str, float] = {}
    for term, weight in terms:
        df = index.df(term)
        worth[term] = weight * idf(index.documents, df) * (1.0 if df else UNKNOWN_WEIGHT)
    return worth


def explain_refusal(relevance: float, parts: Sequence[tuple[str, float]], outside: str) -> str:
    """Return the reason against pushing a learning, or "".

    parts: the strength of each matched term.
    outside: the prompt's category where the learning has no topic of it, else ""; a learning that
        shares an identifier with the prompt is in every category.
    """
    if relevance < RELEVANCE:
        return "below %.2f" % RELEVANCE
    strengths = [part for _, part in parts]
    if sum(part > WEAK for part in strengths) < 2 and max(strengths, default=0.0) < STRONG:
        return "only one term"
    is_exact = relevance >= RELEVANCE * EXACT or any(is_identifier(term) for term, _ in parts)
    if not outside or is_exact:
        return ""
    return "outside %s, below %.2f" % (outside, RELEVANCE * EXACT)


def is_identifier(term: str) -> bool:
    """Tell whether a term is an identifier, path or file, as `verify_token`."""
    return "_" in term or "/" in term or "." in term


def damp_common_terms(terms: Terms) -> list[tuple[str, float]]:
    """Return terms with common words and numbers such as `4` weighing less."""
    damped = []
    for term, weight in terms:
        is_common = term in tokeniser.COMMON or (len(term) < 3 and term.isdigit())
        damped.append((term, weight * DAMPING if is_common else weight))
    return damped


# ---- the search


def idf(documents: int, df: int) -> float:
    """Return the inverse document frequency of a term.

    df: documents with the term; replaced documents may count, so at most `documents` are taken.
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
    terms: Terms,
    limit: int,
    part: int = ALL,
    cap: int = CAP,
    least: float = 0.0,
    telling: float = 0.0,
) -> list[tuple[float, int]]:
    """Return the best documents as (score, number), best first, ties by number.

    terms: (term, weight) of tokeniser.query_terms.  limit: how many.  part: ALL, PUSHED or OTHERS.
    cap: postings to score at the most.  least: the score below which a document is of no use.
    telling: weight * idf that one of a document's terms must have; other terms only add to what
    those found, so common words cost next to nothing.
    """
    best: dict[int, float] = {}
    gone = index.delta.gone
    if index.segment:
        best = _search_segment(index, terms, limit + len(gone), part, cap, least, telling)
    if gone:
        best = {number: score for number, score in best.items() if number not in gone}
    if index.delta.docs:
        _add_from_delta(best, index, terms, part, telling)
    floor = max(least, sorted(best.values())[-limit]) if len(best) > limit else least
    ranked = sorted([(-score, number) for number, score in best.items() if score >= floor])[:limit]
    return [(-score, number) for score, number in ranked]


def _add_from_delta(
    best: dict[int, float], index: Index, terms: Terms, part: int, telling: float
) -> None:
    """Add the scores of the delta's documents to `best`."""
    lists = []
    for term, weight in terms:
        hits = index.delta.search(term)
        if hits:
            lists.append((weight * idf(index.documents, index.df(term)) / SCALE, hits))
    # what a telling term finds
    found = {place for value, hits in lists if value * SCALE >= telling for place, _ in hits}
    for value, hits in lists:
        for place, impact in hits:
            if place in found and (part == ALL or (part == PUSHED) == index.delta.pushable[place]):
                number = index.base + place
                best[number] = best.get(number, 0.0) + value * impact


def score_terms(index: Index, number: int, worth: dict[str, float]) -> list[tuple[str, float]]:
    """Return (term, score) of each matched term of a document."""
    segment = index.segment
    if segment is None or number >= segment.docs:
        at = number - index.base
        impacts_of = ((term, dict(index.delta.search(term)).get(at)) for term in worth)
        return [(term, worth[term] * impact / SCALE) for term, impact in impacts_of if impact]
    part = PUSHED if number < segment.pushable else OTHERS
    scores = []
    for term, value in worth.items():
        ids, impacts = index.postings(term, part)
        at = bisect_left(ids, number)
        if at < len(ids) and ids[at] == number:
            scores.append((term, value * impacts[at] / SCALE))
    return scores


def _search_segment(
    index: Index, terms: Terms, limit: int, part: int, cap: int, least: float, telling: float
) -> dict[int, float]:
    """Return the score of each of the segment's documents, by number."""
    lists = _order_lists(index, terms, part, telling)
    rest = _sum_rest([row[1] for row in lists])
    scores: dict[int, float] = {}
    get = scores.get
    used, threshold = 0, 0.0
    for i, row in enumerate(lists):
        length, _, value, _, _, _ = row
        if rest[i] < least or value * SCALE < telling:
            break
        # The threshold costs a sort of all scores: a short list is not worth it.
        if length > SHORT_LIST and len(scores) >= limit:
            threshold = sorted(scores.values())[-limit]
            if threshold >= rest[i] or used + length > cap:
                break
        ids, impacts = _read_list(index, part, row, cap - used)
        for number, impact in zip(ids, impacts):
            scores[number] = get(number, 0.0) + value * impact
        used += len(ids)
    else:
        return scores
    least = max(threshold, least) - rest[i]
    unread = [(value, term) for _, _, value, term, *_ in lists[i:]]
    return _refine_scores(index, unread, part, scores, least, max(limit, REFINED_CANDIDATES))


def _read_list(
    index: Index, part: int, row: tuple[int, float, float, str, int, int], room: int
) -> tuple[Any, bytes]:
    """Return a term's (document numbers, impacts); beyond `room` only the greatest."""
    length, _, _, term, offset, df = row
    if length > CHAMPIONS and length > room:
        return _read_champions(index, part, offset, df)
    return index.postings(term, part)


def _sum_rest(most: Sequence[float]) -> list[float]:
    """Return for each list the most that it and all later lists add to a score."""
    sums = [0.0]
    for value in reversed(most):
        sums.append(sums[-1] + value)
    return sums[::-1]


def _order_lists(
    index: Index, terms: Terms, part: int, telling: float
) -> list[tuple[int, float, float, str, int, int]]:
    """Return the terms' lists in the order in which they are read.

    Of each (length, greatest score, score of an impact, term, offset, df).
    """
    lists = []
    for term, weight in terms:
        entry = index.entry(term)
        if entry:
            offset, df, pushable, most = entry
            length = df if part == ALL else pushable if part == PUSHED else df - pushable
            if length:
                # over all documents, of segment and log
                value = weight * idf(index.documents, index.df(term)) / SCALE
                lists.append((length, value * most, value, term, offset, df))
    lists.sort(key=lambda row: (row[2] * SCALE < telling, row[0], row[4]))
    return lists


def _read_champions(index: Index, part: int, offset: int, df: int) -> tuple[Any, bytes]:
    """Return (document numbers, impacts) of a term's greatest impacts."""
    segment = index.segment
    assert segment is not None
    ids, impacts = segment.postings(offset, df, df, champions=True)
    if part == ALL:
        return ids, impacts
    border = bisect_left(ids, segment.pushable)
    kept = slice(border) if part == PUSHED else slice(border, None)
    return ids[kept], impacts[kept]


def _refine_scores(
    index: Index,
    rest: Sequence[tuple[float, str]],
    part: int,
    scores: dict[int, float],
    least: float,
    most: int,
) -> dict[int, float]:
    """Return the best candidates' scores with the unread terms added."""
    order = sorted((-score, number) for number, score in scores.items() if score >= least)[:most]
    kept = {number: -score for score, number in order}
    for value, term in rest:
        ids, impacts = index.postings(term, part)
        length = len(ids)
        if length < BISECTION_FACTOR * len(kept):
            for number, impact in zip(ids, impacts):
                if number in kept:
                    kept[number] += value * impact
            continue
        for number in kept:
            at = bisect_left(ids, number)
            if at < length and ids[at] == number:
                kept[number] += value * impacts[at]
    return kept
