"""Queries: their filters, read from options, and the terms of their text, weighed by what the
indexes hold.
"""

from __future__ import annotations

import re
from math import log
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from memory.core import UsageError, clock, records, tokeniser
from memory.core.layout import ADDED, FOLDERS
from memory.core.matches import Expansion
from memory.core.records import Record
from memory.hook import context, documents, loader
from memory.index.backend import Sieve
from memory.project import mentions
from memory.recall import fuzzy, look, rank, timewords
from memory.recall.shelf import Shelf

MOST_TERMS = 64
# characters of a query that count; of a pasted log the words are weighed in a fraction of a second
MOST_TEXT = 8000
SHORT = 0.5  # weight of a word's short or long form
UNKNOWN = 1.5  # times SHORT where no record holds the word itself
# documents added to those that hold a term: one that stands in one or two outweighs no three others
# by chance
RARE = 3.0
MOST_LIMIT = 10000
TYPES = ("doc", "script", "both")
_OPTIONS = frozenset(
    "query text since days from to kind kinds type tag tags topic topics file branch session "
    "version versions workspace context-tags limit min-score semantic lexical explain json".split()
)
# Stems of words that ask and name nothing: where no record holds them, nothing is missing.
ASKING = frozenset(
    "know happen use work chang fix add find make tell say explain last latest newest recent week "
    "month yesterday todai hour dai mani much long often ever thing stuff anyth someth about 몇 뭐 "
    "무엇 어떻 왜 언제 어디 누가 누구 어떤 얼마 얼마나 何 いつ どこ 怎么 什么 时候 谁 哪里 warum "
    "wie was wann wo wer welch".split()
)


_KIND_WORDS = {
    form: kind
    for kind, forms in {
        "checkpoint": "checkpoint checkpoints",
        "learning": "learning learnings lesson lessons",
        "rule": "rule rules",
        "resource": "resource resources",
        "plan": "plan plans",
        "conversation": "conversation conversations",
    }.items()
    for form in forms.split()
    if kind in FOLDERS
}
# Lines that a machine wrote: a traceback's, a log's, a shell prompt's, an error's.  What they say
# of time is not asked.
_MACHINE = re.compile(
    r"""(?: {4}|\t)|\s*(?:File "|at [\w.$<]+[(:]|Traceback |\d{4}-\d\d-\d\d[T ]\d\d:|\[\d"""
    r"""|[$>%] ?\S|\d\d:\d\d:\d\d|\||[+-]{3} |@@ )|\s*(?:npm |\S+: )?[\w.]*(?:err(?:or)?"""
    r"""|exception|warn(?:ing)?|fatal|panic|info|debug)(?:\[\w+\])?(?::\s|!\s|\s{2}|\])""",
    re.I,
)


class Query(NamedTuple):
    """A query: its text, its filters and its ranking options.

    since, until: seconds since the epoch, from `since` on and before `until`. kinds: any of them.
        type: of resources, doc or script. tags, topics: all of them. file: a path's end. session:
        an id or its start. versions: any of them counts, see rank.version_fit. workspace: "" for
        the present one, a name, or `all`. context_tags: (tag, weight). context_alone: leave out
        those that are pinned or derived. limit: 0 for `recall.limit`. semantic: None for the
        setting.
    """

    text: str = ""
    since: Optional[float] = None
    until: Optional[float] = None
    kinds: Tuple[str, ...] = ()
    type: str = ""
    tags: Tuple[str, ...] = ()
    topics: Tuple[str, ...] = ()
    file: str = ""
    branch: str = ""
    session: str = ""
    versions: Tuple[str, ...] = ()
    workspace: str = ""
    context_tags: Tuple[Tuple[str, float], ...] = ()
    context_alone: bool = False
    limit: int = 0
    min_score: Optional[float] = None
    semantic: Optional[bool] = None

    @property
    def sieve(self) -> Sieve:
        """The filters that an index answers itself."""
        return Sieve(self.kinds, self.since, self.until)


class Rarity(Dict[str, float]):
    """Map of a term to its idf over all searched workspaces.

    Each term is looked up once.
    """

    def __init__(self, terms: Terms):
        super().__init__()
        self._terms = terms

    def __bool__(self) -> bool:
        return True

    def __missing__(self, term: str) -> float:
        terms = self._terms
        self[term] = found = loader.idf(terms.documents, min(terms.df(term), terms.documents))
        return found


class Terms:
    """The terms of a query, weighed by rarity in all searched workspaces.

    Unknown terms bring their near neighbours.
    """

    def __init__(self, said: str, shelves: Sequence[Shelf], misspelt: bool = True):
        """Split and weigh a query's text.

        said: the text. misspelt: look for unknown words as misspellings. `notes` gets lines for the
            user.
        """
        self._said, self._shelves = said, shelves
        self.notes = (
            ["only the first %d characters of the query were used" % MOST_TEXT]
            if len(said) >= MOST_TEXT
            else []
        )
        self._raws = tokeniser.split(said)
        self.weights: Dict[str, float] = {}
        self.surface: Dict[str, str] = {}
        self.documents = max(1, sum(shelf.backend.documents for shelf in self._shelves))
        self.sequence: List[str] = []
        self._unknown: Dict[str, float] = {}
        self._guessed: Set[str] = set()
        self._terms = _weighted_tokens(self._raws)
        # the terms of each word
        self._of: Dict[str, Dict[str, None]] = {raw: {} for raw in self._raws}
        for raw, term, _ in self._terms:
            self._of[raw][term] = None
        known = [term for _, term, _ in self._terms]
        self._expect(
            lambda df: [df(term) for t in known for term in (t, *fuzzy.OTHERS.get(t, ()))],
            lambda df: fuzzy.join_compounds(self._raws, df),
        )
        for raw, term, weight in self._terms:
            self._add(term, weight, raw)
            if not self.sequence or self.sequence[-1] != term:
                self.sequence.append(term)
        self._vary()
        if misspelt:
            self._guess()
        self._trim()

    def _add(self, term: str, weight: float, word: str) -> None:
        if not self.df(term):
            self._unknown[term] = max(weight, self._unknown.get(term, 0.0))
        elif weight > self.weights.get(term, 0.0):
            self.weights[term] = weight
            self.surface.setdefault(term, word.strip("-./_"))

    def _expect(self, *asks: Callable[[Callable[[str], int]], object]) -> None:
        """Fetch from a database at once the frequencies that functions will ask."""
        distant = [shelf.backend for shelf in self._shelves if shelf.is_distant]
        terms: Dict[str, int] = {}
        for ask in asks if distant else ():
            ask(lambda term: terms.setdefault(term, 0))
        for backend in distant:
            backend.expect(list(terms))

    def read(self, pool: Sequence[look.Candidate], expansion: Expansion) -> None:
        """Look up the rarity of the terms in candidates' heads."""
        self._expect(
            lambda df: [
                df(term)
                for c in pool
                for raw in c.words.head
                for term in expansion[raw.strip("-./_")]
            ]
        )

    def df(self, term: str) -> int:
        found = sum(shelf.backend.df(term) for shelf in self._shelves)
        return found or int(any(shelf.is_known(term) for shelf in self._shelves))

    def _vary(self) -> None:
        """Add the short and long forms of the query's words."""
        for term, weight in [
            *self.weights.items(),
            *((term, UNKNOWN * weight) for term, weight in self._unknown.items()),
        ]:
            for other in fuzzy.OTHERS.get(term, ()):
                if self.df(other):
                    self._add(other, SHORT * weight, "%s~%s" % (term, other))
                    self._guessed.add(term)

    def _guess(self) -> None:
        """Add known words near the unknown ones."""
        self._join_and_bend()
        typed: Dict[str, str] = {}
        for raw, terms in self._of.items():
            low = raw.strip("-./_").lower()
            typed.update(dict.fromkeys(terms, low))
            if low and terms and not any(self.df(t) for t in terms):
                for half in fuzzy.split_compound(low, self.df):
                    self._add(half, fuzzy.VARIANT, raw)
        # What hyphens make is rarely a word of its own, and its parts are looked for anyway.
        wanted = {
            term: weight
            for term, weight in self._unknown.items()
            if weight >= tokeniser.PART
            and (fuzzy.is_fuzzable(term) or fuzzy.is_fuzzable(typed.get(term, "")))
        }
        if wanted:
            self._add_near(wanted, typed)

    def _add_near(self, wanted: Mapping[str, float], typed: Mapping[str, str]) -> None:
        """Add the known words that are near to misspelt terms.

        typed: the word as typed, by term.
        """
        near = fuzzy.scorer()
        if near is None:
            self.notes.append(
                "RapidFuzz is not installed, so misspelt words are not found; `dayleaf "
                "doctor` says how to mend it"
            )
            return
        for term, weight in wanted.items():
            word = typed.get(term, term)
            words = [
                w
                for shelf in self._shelves
                for w in shelf.backend.vocabulary(term[0], len(word) + 2)
            ]
            for other, similarity in fuzzy.neighbours(term, word, words, self.df, near):
                self._add(other, similarity * weight, "%s~%s" % (word, other))
                self._guessed.add(term)

    def _join_and_bend(self) -> None:
        """Add compounds written apart, and other forms of unknown Hangul terms."""
        for term, a, b in fuzzy.join_compounds(self._raws, self.df):
            self._add(term, fuzzy.VARIANT, a + " " + b)
        lost = [
            raw.strip("-./_").lower()
            for raw, terms in self._of.items()
            if not any(map(self.df, terms))
        ]
        self._expect(
            lambda df: [fuzzy.split_compound(word, df) for word in lost],
            lambda df: [fuzzy.hangul_forms(term, df) for term in self._unknown],
        )
        for term, weight in list(self._unknown.items()):
            for other in fuzzy.hangul_forms(term, self.df):
                self._add(other, SHORT * weight, "%s~%s" % (term, other))
                self._guessed.add(term)

    def _trim(self) -> None:
        if len(self.weights) > MOST_TERMS:
            best = sorted(self.weights, key=lambda t: (-self._value(t), t))[:MOST_TERMS]
            self.weights = {t: w for t, w in self.weights.items() if t in set(best)}
        self.sequence = [t for t in self.sequence if t in self.weights]

    def _value(self, term: str) -> float:
        return self.weights[term] * log(
            1.0 + self.documents / (RARE + min(self.df(term), self.documents))
        )

    def pairs(self) -> List[Tuple[str, float]]:
        return list(self.weights.items())

    def question(self) -> look.Question:
        sizes = [shelf.backend.lengths() for shelf in self._shelves]
        total = sum(documents for documents, _ in sizes)
        mean = sum(length for _, length in sizes) / total if total else 100.0
        weights = {t: self._value(t) for t in self.weights}
        return look.Question(weights, self.sequence, mean, self.surface, self._said, Rarity(self))

    def without(self, authors: Iterable[str]) -> look.Question:
        """Return the question without names of authors.

        A question of such names alone stays whole.
        """
        question = self.question()
        names = {term for author in authors for term in tokeniser.tokens(author)}
        left = {t: w for t, w in question.weights.items() if t not in names}
        if not left:
            return question
        return question._replace(weights=left, sequence=[t for t in self.sequence if t in left])

    def gaps(self) -> Tuple[str, ...]:
        """Return the query's words without any match in the records.

        Near spellings count as matches; dates, question words and common ones are no gaps. None
        where less than half of the words are gaps: then a record may answer.
        """
        found: Dict[str, None] = {}
        asked = 0
        for raw, terms in self._of.items():
            if not terms or any(term in ASKING or term in tokeniser.COMMON for term in terms):
                continue
            if clock.parse(raw) is not None:
                continue
            asked += 1
            if not any(self.df(term) or term in self._guessed for term in terms):
                found[raw.strip("-./_")] = None
        return tuple(found) if 2 * len(found) >= asked else ()


def _weighted_tokens(raws: Sequence[str]) -> List[Tuple[str, str, float]]:
    """Return (raw token, term, weight) of a query's tokens."""
    found = [(raw, term, weight) for raw in raws for term, weight in tokeniser.expand(raw)]
    return [each for each in found if not tokeniser.is_loose(each[1])] or found


class Sense(NamedTuple):
    """A query with its time words and kinds read as filters.

    narrowed: whether time words made a filter. latest: whether it asks for the newest. about: the
        period of a date in it, which only weighs.
    """

    query: Query
    narrowed: bool
    latest: bool
    about: timewords.Span


def interpret(query: Query, now: float, offset: float) -> Sense:
    """Return the sense of a query's time words and kinds.

    Given filters stay as they are.
    """
    if not query.text:
        return Sense(query, False, False, timewords.OPEN)
    typed, pasted = _parted(query.text)
    times, kept, only, about = timewords.read(typed, now, offset)
    words = _content_words(" ".join((times.rest, *pasted)))
    given = query.since is not None or query.until is not None
    timed = not given and (times.since, times.until) != timewords.OPEN
    kinds = _wanted_kinds(query, words, timed or times.latest)
    if kinds:
        query, words = query._replace(text="", kinds=kinds), []
    if not words:
        return _wordless(query, times, timed)
    if given:
        return Sense(query, False, times.latest, about)
    timed = only != timewords.OPEN
    if timed or times.latest:
        query = query._replace(text=" ".join((kept, *pasted)), since=only[0], until=only[1])
    return Sense(query, timed, times.latest, about)


def _wordless(query: Query, times: timewords.Times, timed: bool) -> Sense:
    """Return the sense of a query that asks for a time or for kinds alone."""
    if timed:
        query = query._replace(text="", since=times.since, until=times.until)
    elif times.latest:
        query = query._replace(text="")
    return Sense(query, timed, times.latest, timewords.OPEN)


def _parted(text: str) -> Tuple[str, List[str]]:
    """Return (what a person typed on one line, lines of a machine's)."""
    lines = text.splitlines()
    pasted = [line for line in lines if _MACHINE.match(line)]
    return " ".join(line for line in lines if line not in pasted), pasted


def _content_words(text: str) -> List[str]:
    words = (raw.strip("-./_").lower() for raw in tokeniser.split(text))
    return [word for word in words if word and word not in tokeniser.STOP]


def _wanted_kinds(query: Query, words: Sequence[str], timed: bool) -> Tuple[str, ...]:
    """Return the kinds that a query of nothing else asks for, in the plural or by time."""
    if query.kinds or not all(word in _KIND_WORDS for word in words):
        return ()
    if not timed and not any(word.endswith("s") for word in words):
        return ()
    return tuple(dict.fromkeys(_KIND_WORDS[word] for word in words))


def query_from_options(
    given: Mapping[str, Any], now: float, offset: float, base: Optional[Query] = None
) -> Query:
    """Return a query from named options of a batch line or command.

    given: query or text, since, days, from, to, kind, type (doc, script, both), tag, topic, file,
        branch, session, version, workspace, context-tags, limit, min-score, semantic, lexical; `_`
        and `-` are one; lists or texts with commas where several may be given. base: values for
        options not given. Raises UsageError.
    """
    values = {key.replace("_", "-"): value for key, value in given.items() if value is not None}
    changes = _words_given(values)
    times = {
        key: option_text(key, values[key])
        for key in ("since", "days", "from", "to")
        if key in values
    }
    if times:
        changes["since"], changes["until"] = timewords.bounds(
            times.get("since", ""),
            times.get("days", ""),
            times.get("from", ""),
            times.get("to", ""),
            now,
            offset,
        )
    if "type" in values:
        changes["type"] = _type(values["type"])
        changes.setdefault("kinds", ("resource",))
    changes.update(_ranking_given(values))
    unknown = sorted(set(values) - _OPTIONS)
    if unknown:
        raise UsageError(
            "recall has no option '%s'; use one of %s"
            % (unknown[0][:40], ", ".join(sorted(_OPTIONS)))
        )
    return (base or Query())._replace(**changes)


def _words_given(values: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the fields of a query that hold texts and lists of them."""
    changes: Dict[str, Any] = {}
    for key, field in (
        ("query", "text"),
        ("text", "text"),
        ("file", "file"),
        ("branch", "branch"),
        ("session", "session"),
        ("workspace", "workspace"),
    ):
        if key in values:
            changes[field] = option_text(key, values[key])[:MOST_TEXT]
    for key, field in (
        ("kind", "kinds"),
        ("tag", "tags"),
        ("topic", "topics"),
        ("version", "versions"),
    ):
        if key in values or key + "s" in values:
            changes[field] = _several(key, values.get(key, values.get(key + "s")))
    for version in changes.get("versions", ()):
        if len(version.split()) > 1:
            raise UsageError(
                "the version '%s' contains a space; separate several versions with commas"
                % version[:40]
            )
    return changes


def _ranking_given(values: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the fields of a query that say how many hits come, and how ranked."""
    changes: Dict[str, Any] = {}
    if "context-tags" in values:
        said = ",".join(_several("context-tags", values["context-tags"]))
        changes["context_tags"] = context.weighted(said)
        changes["context_alone"] = context.is_alone(said)
    if "limit" in values:
        changes["limit"] = int(_number("limit", values["limit"], 1, MOST_LIMIT))
    if "min-score" in values:
        changes["min_score"] = _number("min-score", values["min-score"], -1e9, 1e9)
    if "semantic" in values or "lexical" in values:
        changes["semantic"] = bool(values.get("semantic")) and not values.get("lexical")
    return changes


def _type(value: Any) -> str:
    """Return the wanted type of resources, "" for both."""
    said = option_text("type", value)
    if said not in TYPES:
        raise UsageError("no type '%s'; use one of %s" % (said[:40], ", ".join(TYPES)))
    return said if said != "both" else ""


def option_text(key: str, value: Any) -> str:
    """Return an option's value as text.

    Raises UsageError for a list, an object or a truth value.
    """
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    raise UsageError("the option '%s' takes text, not %s" % (key, type(value).__name__))


def _several(key: str, value: Any) -> Tuple[str, ...]:
    items = value if isinstance(value, (list, tuple)) else [value]
    return tuple(
        piece.strip()
        for item in items
        for piece in option_text(key, item).split(",")
        if piece.strip()
    )


def _number(key: str, value: Any, least: float, most: float) -> float:
    try:
        number = float(option_text(key, value))
    except ValueError:
        number = float("nan")
    if not least <= number <= most:
        raise UsageError("the option '%s' takes a number from %g to %g" % (key, least, most))
    return number


def passes(query: Query, record: Record) -> bool:
    """Tell whether a record passes every filter; a template passes none."""
    if record.tier == ADDED and records.is_note_template(record.meta, record.body):
        return False
    return (
        _is_in_time(query, record)
        and _is_of_kind(query, record)
        and _has_labels(query, record)
        and _is_of_session(query, record)
        and (not query.file or mentions.mentions(record, query.file))
    )


def _is_in_time(query: Query, record: Record) -> bool:
    if query.since is not None and record.created < query.since:
        return False
    return query.until is None or record.created < query.until


def _is_of_kind(query: Query, record: Record) -> bool:
    if query.kinds and record.kind not in query.kinds:
        return False
    return not query.type or record.end == query.type


def _has_labels(query: Query, record: Record) -> bool:
    """Tell whether a record has the wanted versions, tags and topics; a tag is a topic too."""
    if query.versions and rank.version_fit(query.versions, record.versions) is None:
        return False
    if not query.tags and not query.topics:
        return True
    held = {tag.lower() for tag in record.tags}
    if any(tag.lstrip("#").lower() not in held for tag in query.tags):
        return False
    if query.topics:
        held |= {topic.lower() for topic in record.topics} | set(documents.topic_names(record))
    return all(topic.lower() in held for topic in query.topics)


def _is_of_session(query: Query, record: Record) -> bool:
    if query.branch and str(record.meta.get("branch", "")) != query.branch:
        return False
    return str(record.meta.get("session", "")).startswith(query.session)
