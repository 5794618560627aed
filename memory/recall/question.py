"""Queries: filters parsed from options, and terms weighted by inverse document frequency."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import log
from typing import Any, Callable, NamedTuple

from memory.core import UsageError, clock, records, tokeniser
from memory.core.layout import ADDED
from memory.core.matches import Expansion
from memory.core.records import Record
from memory.hook import context, documents, loader
from memory.index.backend import Sieve
from memory.project import mentions
from memory.recall import fuzzy, look, rank, timewords
from memory.recall.shelf import Shelf

MOST_TERMS = 64
MOST_TEXT = 8000  # characters of a query that count, so that a pasted log takes no second
SHORT = 0.5  # weight of a word's short or long form
UNKNOWN = 1.5  # times SHORT where no record holds the word itself
# added to a document frequency, so that a term of one or two documents does not outweigh three
RARE = 3.0
MOST_LIMIT = 10000
TYPES = ("doc", "script", "both")
_OPTIONS = frozenset(
    "query text since days from to kind kinds type tag tags topic topics file branch session "
    "version versions workspace context-tags limit min-score semantic lexical explain json".split()
)
# Stems of question words and other words without a subject: no gaps where no record holds them.
_ASKING_ELSEWHERE = frozenset(
    "몇 뭐 무엇 무슨 어떻 왜 언제 어디 누가 누구 어떤 얼마 얼마나 했 한 일 작업 何 何を は何 "
    "いつ どこ 作業 仕事 怎么 什么 了什 我们 们做 做了 干了 了啥 时候 谁 哪里 工作 warum wie "
    "wann wo wer welch woran womit wir ich du haben habe hast hat war ist lief arbeit gemacht "
    "getan passiert erledigt sitzung sitzungen zusammenfassung fertig geschafft 뭘 끝냈 끝낸 완료 "
    "요약 세션 セッション まとめ やっ 終わ 会话 总结 完成 сессии сессий итоги закончил "
    "что чем кто мы было как почему когда где делал сдела случи работ".split()
)
_DOERS = frozenset("i we you they he she".split())  # the word after one is what they did
ASKING = _ASKING_ELSEWHERE.union(
    "know happen use work chang fix add find make tell say explain last latest newest recent week "
    "month yesterday todai hour dai mani much long often ever thing stuff anyth someth about done "
    "was session progress summari recap show list give remind finish complet achiev summar "
    "summaris came".split()
)
_KIND_WORDS = {"lesson": "learning", "lessons": "learning"}
for _kind in "checkpoint learning rule resource plan conversation".split():
    _KIND_WORDS.update(dict.fromkeys((_kind, _kind + "s"), _kind))
# A line that a machine wrote: of a traceback, log, shell, diff or error. Its dates are no filter.
_MACHINE_LINE = re.compile(
    r"""(?: {4}|\t)|\s*(?:File "|at [\w.$<]+[(:]|Traceback |\d{4}-\d\d-\d\d[T ]\d\d:|\[\d"""
    r"""|[$>%] ?\S|\d\d:\d\d:\d\d|\||[+-]{3} |@@ )|\s*(?:npm |\S+: )?[\w.]*(?:err(?:or)?"""
    r"""|exception|warn(?:ing)?|fatal|panic|info|debug)(?:\[\w+\])?(?::\s|!\s|\s{2}|\])""",
    re.I,
)


_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")


class Query(NamedTuple):
    """A query: its text, filters and ranking options.

    since, until: seconds since the epoch, `until` excluded. kinds: any of them. type: of resources,
        doc or script. tags, topics: all of them. file: a path's end. session: an id or its start.
        versions: any of them. workspace: "" for the present one, a name, or `all`. context_tags:
        (tag, weight). context_alone: without pinned and derived tags. limit: 0 for the default.
        semantic: None for the setting.
    """

    text: str = ""
    since: float | None = None
    until: float | None = None
    kinds: tuple[str, ...] = ()
    type: str = ""
    tags: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    file: str = ""
    branch: str = ""
    session: str = ""
    versions: tuple[str, ...] = ()
    workspace: str = ""
    context_tags: tuple[tuple[str, float], ...] = ()
    context_alone: bool = False
    limit: int = 0
    min_score: float | None = None
    semantic: bool | None = None

    @property
    def sieve(self) -> Sieve:
        return Sieve(self.kinds, self.since, self.until)


class QueryTerms:
    """A query's terms, weighted by idf, with variants of unknown words.

    notes: lines for the user.
    """

    def __init__(self, text: str, shelves: Sequence[Shelf], fuzzy_words: bool):
        """Split and weight a query's text.

        fuzzy_words: add words that are spelt like unknown ones.
        """
        self._text, self._shelves = text, shelves
        self.notes: list[str] = []
        if len(text) >= MOST_TEXT:
            self.notes.append("only the first %d characters of the query were used" % MOST_TEXT)
        self._raws = tokeniser.split(text)
        self.weights: dict[str, float] = {}
        self.surface: dict[str, str] = {}
        self.documents = max(1, sum(shelf.backend.documents for shelf in self._shelves))
        self.sequence: list[str] = []
        self._unknown: dict[str, float] = {}
        self._guessed: set[str] = set()
        self._misspelt: dict[str, list[str]] = {}  # terms that a typed word may be
        self._terms = _weigh_tokens(self._raws)
        self._terms_by_word: dict[str, dict[str, None]] = {raw: {} for raw in self._raws}
        for raw, term, _ in self._terms:
            self._terms_by_word[raw][term] = None
        known = [term for _, term, _ in self._terms]
        self._prefetch(
            lambda df: [df(term) for t in known for term in (t, *fuzzy.OTHER_FORMS.get(t, ()))],
            lambda df: fuzzy.join_compounds(self._raws, df),
        )
        for raw, term, weight in self._terms:
            self._add(term, weight, raw)
            if not self.sequence or self.sequence[-1] != term:
                self.sequence.append(term)
        self._add_variants()
        if fuzzy_words:
            self._add_misspelt()
        self._keep_best()

    def _add(self, term: str, weight: float, word: str) -> None:
        """Add a term that a record holds, and note any other as unknown."""
        if not self.df(term):
            self._unknown[term] = max(weight, self._unknown.get(term, 0.0))
        elif weight > self.weights.get(term, 0.0):
            self.weights[term] = weight
            self.surface.setdefault(term, word.strip("-./_"))

    def _prefetch(self, *asks: Callable[[Callable[[str], int]], object]) -> None:
        """Fetch the frequencies that `asks` will ask for, in one database query."""
        distant = [shelf.backend for shelf in self._shelves if shelf.is_distant]
        terms: dict[str, int] = {}
        for ask in asks if distant else ():
            ask(lambda term: terms.setdefault(term, 0))
        for backend in distant:
            backend.expect(list(terms))

    def prefetch_heads(self, pool: Sequence[look.Candidate], expansion: Expansion) -> None:
        """Fetch the frequencies of the terms in candidates' titles and tags."""
        self._prefetch(
            lambda df: [
                df(term)
                for c in pool
                for raw in c.words.head
                for term in expansion[raw.strip("-./_")]
            ]
        )

    def df(self, term: str) -> int:
        """Return a term's document frequency in all searched workspaces."""
        found = sum(shelf.backend.df(term) for shelf in self._shelves)
        return found or int(any(shelf.is_known(term) for shelf in self._shelves))

    def _add_variants(self) -> None:
        """Add the short and long forms of the query's words."""
        for term, weight in [
            *self.weights.items(),
            *((term, UNKNOWN * weight) for term, weight in self._unknown.items()),
        ]:
            for other in fuzzy.OTHER_FORMS.get(term, ()):
                if self.df(other):
                    word = self.surface.get(term, term)
                    self._add(other, SHORT * weight, "%s (for %s)" % (other, word))
                    self._guessed.add(term)

    def _add_misspelt(self) -> None:
        """Add known words for unknown ones: compounds, halves, similar words."""
        self._add_compounds()
        typed: dict[str, str] = {}
        for raw, terms in self._terms_by_word.items():
            low = raw.strip("-./_").lower()
            typed.update(dict.fromkeys(terms, low))
            if low and terms and not any(self.df(t) for t in terms):
                for half in fuzzy.split_compound(low, self.df):
                    self._add(half, fuzzy.VARIANT, raw)
        # A hyphenated whole is rarely a word of its own, and its parts are searched anyway.
        wanted = {
            term: weight
            for term, weight in self._unknown.items()
            if weight >= tokeniser.PART
            and (fuzzy.is_fuzzable(term) or fuzzy.is_fuzzable(typed.get(term, "")))
        }
        if wanted:
            self._add_neighbours(wanted, typed)

    def _add_neighbours(self, wanted: Mapping[str, float], typed: Mapping[str, str]) -> None:
        """Add the known words spelt like unknown terms.

        typed: the word as typed, by term.
        """
        near = fuzzy.load_matcher()
        if near is None:
            self.notes.append(
                "RapidFuzz is not installed, so misspelt words are not found; `dayleaf "
                "doctor` says how to mend it"
            )
            return
        for term, weight in wanted.items():
            word = typed.get(term, term)
            words = self._list_vocabulary(term[0], len(word) + 2)
            for other, similarity in fuzzy.find_neighbours(term, word, words, self.df, near):
                if other not in self.weights:
                    self._misspelt.setdefault(word if word.isalpha() else term, []).append(other)
                self._add(other, similarity * weight, word)
                self._guessed.add(term)

    def settle_spellings(self, pool: Sequence[look.Candidate], expansion: Expansion) -> None:
        """Keep of a misspelt word's terms those that candidates spell with one slip, if any."""
        if not self._misspelt:
            return
        raws = {raw for c in pool for raw in (*c.words.head, *c.words.body)}
        for typed, terms in self._misspelt.items():
            spelt = fuzzy.choose_nearest(typed, terms, raws, expansion)
            shown = spelt or dict(zip(terms, terms))
            self.surface.update((t, "%s (for %s)" % (word, typed)) for t, word in shown.items())
            if spelt:
                self.weights = {
                    t: w for t, w in self.weights.items() if t in spelt or t not in terms
                }
                word = re.compile(re.escape(typed), re.I)
                self._text = word.sub(" ".join(spelt.values()), self._text)

    def _list_vocabulary(self, start: str, longest: int) -> list[str]:
        backends = [shelf.backend for shelf in self._shelves]
        return [word for backend in backends for word in backend.vocabulary(start, longest)]

    def _add_compounds(self) -> None:
        """Add compounds written apart, forms of hashes and of unknown Hangul terms."""
        for raw, term, weight in self._terms:
            for other in fuzzy.find_hashes(term, self._list_vocabulary):
                self._add(other, weight, raw)
                self._guessed.add(term)
        for term, a, b in fuzzy.join_compounds(self._raws, self.df):
            self._add(term, fuzzy.VARIANT, a + " " + b)
        unknown = [
            raw.strip("-./_").lower()
            for raw, terms in self._terms_by_word.items()
            if not any(map(self.df, terms))
        ]
        self._prefetch(
            lambda df: [fuzzy.split_compound(word, df) for word in unknown],
            lambda df: [fuzzy.find_hangul_forms(term, df) for term in self._unknown],
        )
        for term, weight in list(self._unknown.items()):
            for other in fuzzy.find_hangul_forms(term, self.df):
                self._add(other, SHORT * weight, "%s (for %s)" % (other, term))
                self._guessed.add(term)

    def _keep_best(self) -> None:
        if len(self.weights) > MOST_TERMS:
            best = sorted(self.weights, key=lambda t: (-self._weigh(t), t))[:MOST_TERMS]
            self.weights = {t: w for t, w in self.weights.items() if t in set(best)}
        self.sequence = [t for t in self.sequence if t in self.weights]

    def _weigh(self, term: str) -> float:
        return self.weights[term] * log(
            1.0 + self.documents / (RARE + min(self.df(term), self.documents))
        )

    def make_question(self, names: Iterable[str] = ()) -> look.Question:
        """Return the terms and weights for re-ranking, where possible without `names`."""
        sizes = [shelf.backend.lengths() for shelf in self._shelves]
        total = sum(documents for documents, _ in sizes)
        mean = sum(length for _, length in sizes) / total if total else 100.0
        ignored = {term for name in names for term in tokeniser.index_terms(name)}
        weights = {t: self._weigh(t) for t in self.weights}
        weights = {t: w for t, w in weights.items() if t not in ignored} or weights
        sequence = [t for t in self.sequence if t in weights]
        rarity = cache(lambda term: loader.idf(self.documents, self.df(term)))
        return look.Question(weights, sequence, mean, self.surface, self._text, rarity)

    def is_bare_question(self) -> bool:
        """Tell whether a question names no subject that a record holds.

        Words of ASKING name none.  In English only common words, and verbs after a pronoun, may
        stand beside them.
        """
        is_foreign = has_unknown = False
        for before, raw in zip(("", *self._raws), self._raws):
            terms = self._terms_by_word[raw]
            is_foreign = is_foreign or not _ASKING_ELSEWHERE.isdisjoint((raw, *terms))
            # a run without spaces holds more than the word that asks
            if not terms or (not _is_run(raw) and not ASKING.isdisjoint((raw, *terms))):
                continue
            heavy = {term for term, weight in tokeniser.expand(raw) if weight >= 1.0} - ASKING
            if any(map(self.df, heavy)):
                return False
            has_unknown = has_unknown or _is_subject(before, heavy)
        return is_foreign or not has_unknown

    def find_gaps(self) -> tuple[str, ...]:
        """Return the words that no record holds if they are half or more, else ().

        Near spellings count as held; dates, question words and common words are no gaps.
        """
        found: dict[str, None] = {}
        asked = 0
        for raw, terms in self._terms_by_word.items():
            is_common = any(term in ASKING or term in tokeniser.COMMON for term in terms)
            if not terms or is_common or clock.parse(raw) is not None:
                continue
            asked += 1
            if not any(self.df(term) or term in self._guessed for term in terms):
                found[raw.strip("-./_")] = None
        return tuple(found) if 2 * len(found) >= asked else ()


def _is_subject(before: str, terms: set[str]) -> bool:
    """Tell whether a word may be a subject: not common, not after a pronoun."""
    return before.lower() not in _DOERS and tokeniser.COMMON.isdisjoint(terms)


def _weigh_tokens(raws: Sequence[str]) -> list[tuple[str, str, float]]:
    """Return (raw token, term, weight); loose terms only if all are loose."""
    found = [(raw, term, weight) for raw in raws for term, weight in tokeniser.expand(raw)]
    return [each for each in found if not tokeniser.is_loose(each[1])] or found


class Interpretation(NamedTuple):
    """A query with its time words and kinds turned into filters.

    narrowed: whether time words made a filter. latest: whether it asks for the newest. about: the
        period of a date that only weighs. rest: the words without time. period: of all time words.
    """

    query: Query
    narrowed: bool
    latest: bool
    about: timewords.Span
    rest: str = ""
    period: timewords.Span = timewords.OPEN


def interpret(query: Query, now: float, offset: clock.Offset) -> Interpretation:
    """Turn time words and kinds in a query's text into filters; options win."""
    if not query.text:
        return Interpretation(query, False, False, timewords.OPEN)
    typed, pasted = _split_pasted(query.text)
    times = parse_times(typed, now, offset)
    rest = " ".join((times.rest, *pasted))
    words = _find_content_words(rest)
    given = query.since is not None or query.until is not None
    period = (times.since, times.until)
    timed = not given and period != timewords.OPEN
    kinds = _find_wanted_kinds(query, words, timed or times.latest)
    if kinds:
        query, words = query._replace(text="", kinds=kinds), []
    if not words:
        return _interpret_wordless(query, times, timed)
    if given:
        return Interpretation(query, False, times.latest, times.about)
    since, until = times.only
    timed = times.only != timewords.OPEN
    if timed or times.latest:
        query = query._replace(text=" ".join((times.kept, *pasted)), since=since, until=until)
    return Interpretation(query, timed, times.latest, times.about, rest, period)


def parse_times(text: str, now: float, offset: clock.Offset) -> timewords.Times:
    """Parse a text's time words, also in possessives: "yesterday's work".

    These count only where no subject is named.
    """
    times = timewords.parse(text, now, offset)
    if not _POSSESSIVE.search(text):
        return times
    other = timewords.parse(_POSSESSIVE.sub("", text), now, offset)
    is_timed = (other.since, other.until) != timewords.OPEN
    return other if is_timed and not names_subject(other.rest) else times


def names_subject(text: str, plain: frozenset[str] = ASKING) -> bool:
    """Tell whether a text has words other than `plain` and kinds of records."""
    raws = [raw for raw in _find_content_words(text) if raw not in plain.union(_KIND_WORDS)]
    # a run without spaces holds more than the word that asks
    return any(
        _is_run(raw) or plain.isdisjoint(term for term, _ in tokeniser.expand(raw)) for raw in raws
    )


def _is_run(raw: str) -> bool:
    return tokeniser.is_cjk(raw[0]) and not tokeniser.is_hangul(raw[0])


def _interpret_wordless(query: Query, times: timewords.Times, timed: bool) -> Interpretation:
    """Interpret a query that asks for a time or for kinds alone."""
    if timed:
        query = query._replace(text="", since=times.since, until=times.until)
    elif times.latest:
        query = query._replace(text="")
    return Interpretation(query, timed, times.latest, timewords.OPEN)


def _split_pasted(text: str) -> tuple[str, list[str]]:
    """Split a text into typed words and lines pasted from machines."""
    lines = text.splitlines()
    pasted = [line for line in lines if _MACHINE_LINE.match(line)]
    return " ".join(line for line in lines if line not in pasted), pasted


def _find_content_words(text: str) -> list[str]:
    words = (raw.strip("-./_").lower() for raw in tokeniser.split(text))
    return [word for word in words if word and word not in tokeniser.STOP]


def _find_wanted_kinds(query: Query, words: Sequence[str], timed: bool) -> tuple[str, ...]:
    """Return the kinds that a query names, if it names nothing else.

    In the plural or with a time (`rules`, `the last plan`).
    """
    if query.kinds or not all(word in _KIND_WORDS for word in words):
        return ()
    if not timed and not any(word.endswith("s") for word in words):
        return ()
    return tuple(dict.fromkeys(_KIND_WORDS[word] for word in words))


def query_from_options(
    given: Mapping[str, Any], now: float, offset: clock.Offset, base: Query | None = None
) -> Query:
    """Build a query from named options of a batch line or command.

    given: _OPTIONS, with `-` or `_`; lists, or texts with commas, for several values. base: values
        for options not given. Raises UsageError.
    """
    values = {key.replace("_", "-"): value for key, value in given.items() if value is not None}
    changes = _parse_texts(values)
    keys = ("since", "days", "from", "to")
    if not values.keys().isdisjoint(keys):
        since, days, start, end = (
            read_text(key, values[key]) if key in values else "" for key in keys
        )
        changes["since"], changes["until"] = timewords.parse_bounds(
            since, days, start, end, now, offset
        )
    if "type" in values:
        changes["type"] = _parse_type(values["type"])
        changes.setdefault("kinds", ("resource",))
    changes.update(_parse_ranking(values))
    unknown = sorted(set(values) - _OPTIONS)
    if unknown:
        raise UsageError(
            "recall has no option '%s'; use one of %s"
            % (unknown[0][:40], ", ".join(sorted(_OPTIONS)))
        )
    return (base or Query())._replace(**changes)


def _parse_texts(values: Mapping[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for key in ("query", "text", "file", "branch", "session", "workspace"):
        if key in values:
            field = "text" if key == "query" else key
            changes[field] = read_text(key, values[key])[:MOST_TEXT]
    for key in ("kind", "tag", "topic", "version"):
        if key in values or key + "s" in values:
            changes[key + "s"] = _split_values(key, values.get(key, values.get(key + "s")))
    for version in changes.get("versions", ()):
        if len(version.split()) > 1:
            raise UsageError(
                "the version '%s' contains a space; separate several versions with commas"
                % version[:40]
            )
    return changes


def _parse_ranking(values: Mapping[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if "context-tags" in values:
        said = ",".join(_split_values("context-tags", values["context-tags"]))
        changes["context_tags"] = context.parse_weighted_tags(said)
        changes["context_alone"] = context.excludes_derived(said)
    if "limit" in values:
        changes["limit"] = int(_parse_number("limit", values["limit"], 1, MOST_LIMIT))
    if "min-score" in values:
        changes["min_score"] = _parse_number("min-score", values["min-score"], -1e9, 1e9)
    if "semantic" in values or "lexical" in values:
        changes["semantic"] = bool(values.get("semantic")) and not values.get("lexical")
    return changes


def _parse_type(value: Any) -> str:
    """Parse the wanted type of resources, "" for both."""
    said = read_text("type", value)
    if said not in TYPES:
        raise UsageError("no type '%s'; use one of %s" % (said[:40], ", ".join(TYPES)))
    return said if said != "both" else ""


def read_text(key: str, value: Any) -> str:
    """Return an option's value as text; raises UsageError for other types."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    raise UsageError("the option '%s' takes text, not %s" % (key, type(value).__name__))


def _split_values(key: str, value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, (list, tuple)) else [value]
    return tuple(
        piece.strip()
        for item in items
        for piece in read_text(key, item).split(",")
        if piece.strip()
    )


def _parse_number(key: str, value: Any, least: float, most: float) -> float:
    try:
        number = float(read_text(key, value))
    except ValueError:
        number = float("nan")
    if not least <= number <= most:
        raise UsageError("the option '%s' takes a number from %g to %g" % (key, least, most))
    return number


def passes_filters(query: Query, record: Record) -> bool:
    """Tell whether a record passes every filter; a note template never does."""
    if record.tier == ADDED and records.is_note_template(record.meta, record.body):
        return False
    return (
        _is_in_time(query, record)
        and _has_kind(query, record)
        and _has_labels(query, record)
        and _has_origin(query, record)
        and (not query.file or mentions.mentions_file(record, query.file))
    )


def _is_in_time(query: Query, record: Record) -> bool:
    is_late_enough = query.since is None or query.since <= record.ended
    return is_late_enough and (query.until is None or record.began < query.until)


def is_within(query: Query, record: Record) -> bool:
    """Tell whether a record's whole period is in the query's time."""
    return (query.since is None or query.since <= record.began) and (
        query.until is None or record.ended < query.until
    )


def _has_kind(query: Query, record: Record) -> bool:
    is_wanted = not query.kinds or record.kind in query.kinds
    return is_wanted and query.type in ("", record.end)


def _has_labels(query: Query, record: Record) -> bool:
    """Tell whether a record has the wanted versions, tags, topics (also as tags)."""
    if query.versions and rank.compare_versions(query.versions, record.versions) is None:
        return False
    if not query.tags and not query.topics:
        return True
    labels = {_fold(tag) for tag in record.tags}
    if any(_fold(tag.lstrip("#")) not in labels for tag in query.tags):
        return False
    if query.topics:
        labels |= {_fold(topic) for topic in record.topics} | set(documents.derive_topics(record))
    return all(_fold(topic) in labels for topic in query.topics)


def _fold(label: str) -> str:
    return tokeniser.compose(label).lower()


def _has_origin(query: Query, record: Record) -> bool:
    branch = str(record.meta.get("branch", ""))
    if query.branch and tokeniser.compose(branch) != tokeniser.compose(query.branch):
        return False
    return str(record.meta.get("session", "")).startswith(query.session)
