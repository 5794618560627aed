"""Context: the tags that say what a project is about, and the approved rules that are in it.

Where a tag comes from, and what it weighs:

    given    `recall --context-tags "reviewer,jira-api=1.5"`; `none` among them leaves out all that
             follow
    project  derived from the project's manifests (manifests.py), weight 1
    branch   words of the branch that is checked out, weight 1
    always   the tag `always`, for rules alone

The first of these that names a tag decides its weight.  A tag meets one of a record where both have
the same `label`.

Schema, version 1, of `<cache>/<scope>.tags`, derived by the worker after a session's start, so that
a hook need not read manifests: a line `1 <crc32 of the rest, 8 hex>`, then a line
`<tag><tab><manifest>` for each tag.

Of the rules the index says which files are read (assembly.py); what a file holds now, and whether
that content is approved, decides.
"""

from __future__ import annotations

from zlib import crc32

from memory.core import UsageError, approvals, files, layout, tokeniser
from memory.hook import fence, indexview
from memory.hook.strategies import categories, category_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

    from memory.core.layout import Place
    from memory.hook.indexview import Index

# origins; any other one is the path of a manifest
GIVEN, BRANCH = "given", "branch"
PROMPT, CATEGORY = OF_PROMPT = ("prompt", "category")  # what of a context changes with every prompt
ALWAYS = "always"  # the tag of a rule that is in every context of a session's start
NONE = "none"  # the context tag that stands for no other than those given
DEFAULT_WEIGHT, DERIVED_WEIGHT, MOST_WEIGHT = 1.5, 1.0, 100.0
LIMIT = 1 << 16  # bytes of the kept file
BRANCH_WORDS = 8  # of one branch
# What a branch's name says of the work and not of its subject.
_PLAIN = frozenset(
    "main master trunk develop development dev head feature features feat fix fixes bugfix hotfix "
    "bug chore docs refactor release releases test tests wip tmp temp task issue ticket user "
    "users the and for with".split()
)
_ALIASES = {
    name: tag
    for tag, names in {
        "python": "py python3",
        "javascript": "js",
        "typescript": "ts",
        "go": "golang",
        "c#": "csharp",
        "rust": "rs",
        "ruby": "rb",
        "postgres": "postgresql psql",
        "node": "nodejs node.js",
        "vue": "vuejs vue.js",
        "react": "reactjs react.js",
        "next": "nextjs next.js",
        "express": "expressjs express.js",
        "rails": "ruby-on-rails",
        "spring": "spring-boot",
        "kubernetes": "k8s",
        "terraform": "tf",
        "dotnet": ".net",
        "aspnet": "asp.net asp.net-core",
    }.items()
    for name in names.split()
}


class Tag:
    """A context tag with its name, weight and origin.

    origin: `given`, `pinned`, `branch`, or the path of a manifest.
    """

    __slots__ = ("name", "origin", "weight")

    def __init__(self, name: str, weight: float, origin: str):
        self.name, self.weight, self.origin = name, weight, origin


def label(tag: str) -> str:
    """Return a tag's form for comparison.

    Lower case, blanks as hyphens, one name for synonyms.
    """
    name = "-".join(tag.lower().replace("_", " ").split()).lstrip("#")
    return _ALIASES.get(name, name)


def required_terms(tag: str) -> Tuple[str, ...]:
    """Return the terms that a text about a tag must hold.

    All the tag's words; in a script without blanks, all its pairs of letters.  () where the tag
    holds no word.  `go on` is no word about Go, so that tag needs `golang`.
    """
    if tag.lower().strip("# ") == "go":
        return ("golang",)
    words = {term for term, weight in tokeniser.terms(tag) if weight >= 1.0}
    return tuple(
        sorted(
            word
            for word in words
            if len(word) < 3 or not words.issuperset(word[i : i + 2] for i in range(len(word) - 1))
        )
    )


def weighted(said: str) -> Tuple[Tuple[str, float], ...]:
    """Return ((tag, weight), ...) of tags such as `reviewer,jira-api=1.5`.

    A tag without a weight takes the mean of the given weights, or 1.5.  `none` is no tag, see
    `is_alone`.  Raises UsageError for a weight that is no number from 0 to 100.
    """
    given: List[Tuple[str, Optional[float]]] = []
    for piece in said.split(","):
        tag, equals, weight = (part.strip() for part in piece.partition("="))
        if not tag or (tag.lower() == NONE and not equals):
            continue
        given.append((tag, _weight(piece, tag, weight) if equals else None))
    known = [value for _, value in given if value is not None]
    default = sum(known) / len(known) if known else DEFAULT_WEIGHT
    return tuple((tag, default if value is None else value) for tag, value in given)


def _weight(piece: str, tag: str, weight: str) -> float:
    try:
        value = float(weight)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= MOST_WEIGHT:
        raise UsageError(
            "the context tag '%s' needs a weight from 0 to 100, such as %s=1.5"
            % (piece.strip()[:60], tag[:40])
        )
    return value


def is_alone(said: str) -> bool:
    """Tell whether `none` is among given context tags.

    Then pinned and derived tags do not count.
    """
    return any(piece.strip().lower() == NONE for piece in said.split(","))


def branch_words(name: str) -> Tuple[str, ...]:
    """Return the subject words of a branch's name.

    `feature/JIRA-12-jwt-refresh` has jira-12, jwt and refresh, `main` has none.
    """
    found: Dict[str, None] = {}
    for part in name.lower().replace("_", "-").replace(".", "-").split("/"):
        pieces = part.split("-")
        for piece, after in zip(pieces, [*pieces[1:], ""]):
            if piece.isalpha() and piece not in _PLAIN and after.isdigit():
                found[piece + "-" + after] = None
            elif (
                len(piece) > 1
                and piece not in _PLAIN
                and piece not in tokeniser.STOP
                and not _is_number(piece)
            ):
                found[piece] = None
    return tuple(found)[:BRANCH_WORDS]


def _is_number(piece: str) -> bool:
    """Tell whether a branch's word is a number, version or hash."""
    digits = sum(map(str.isdigit, piece))
    return piece.lstrip("v").isdigit() or (
        digits > 0 and len(piece) >= 7 and not piece.strip("0123456789abcdef")
    )


def place_tags(place: Place, derived: Mapping[str, str]) -> Tuple[Tag, ...]:
    """Return the context tags of a place, each label once.

    Pinned tags, then those of its manifests and branch.
    derived: tag -> manifest; manifests and branch do not count where `context.derive` is off.
    """
    tags = [Tag(name, DERIVED_WEIGHT, path) for name, path in derived.items()]
    tags += [
        Tag(name, DERIVED_WEIGHT, BRANCH) for name in branch_words(layout.branch_of(place.git))
    ]
    return merge_tags((), tags)


def merge_tags(given: Sequence[Tuple[str, float]], others: Sequence[Tag]) -> Tuple[Tag, ...]:
    """Return the context tags of a query, each label once.

    given: (tag, weight) of the query, which come first.
    """
    found: Dict[str, Tag] = {}
    for tag in (*[Tag(name, weight, GIVEN) for name, weight in given], *others):
        found.setdefault(label(tag.name), tag)
    return tuple(found.values())


def to_json(tags: Sequence[Tag]) -> List[Dict[str, Any]]:
    """Return context tags for --json."""
    return [{"tag": tag.name, "weight": tag.weight, "from": tag.origin} for tag in tags]


def path_of(place: Place) -> str:
    """Return the path of the kept tags of a place's manifests."""
    return place.cache + "/" + place.scope + ".tags"


def cache_manifest_tags(place: Place, derived: Mapping[str, str]) -> None:
    """Write the tags of manifests to the cache, if changed.

    derived: tag -> manifest.  Raises OSError.
    """
    rest = "".join("%s\t%s\n" % pair for pair in derived.items()).encode("utf-8", "surrogateescape")
    files.update(path_of(place), b"1 %08x\n" % crc32(rest) + rest)


def cached_manifest_tags(place: Place) -> Dict[str, str]:
    """Return the kept tags of a place, tag -> manifest.

    {} where none are kept, or the file is damaged or of another version.
    """
    try:
        head, _, rest = files.read(path_of(place), LIMIT).partition(b"\n")
    except OSError:
        return {}
    if head != b"1 %08x" % crc32(rest):
        return {}
    rows = [
        line.partition("\t") for line in rest.decode("utf-8", "surrogateescape").split("\n") if line
    ]
    return {tag: path for tag, _, path in rows}


# ---- rules in context


class Context:
    """The texts and labels that the tags of rules may match.

    texts: terms by name: of the prompt, of the prompt with its category, and of the branch.
    labels: of the place's context tags, each with its origin.
    """

    __slots__ = ("labels", "texts")

    def __init__(self, texts: Dict[str, frozenset[str]], labels: Dict[str, str]):
        self.texts, self.labels = texts, labels

    def of_prompt(self) -> Context:
        """Return the context without the place for empty prompts.

        An empty prompt does not say what it is about: `yes`, `run the tests`.
        """
        return (
            self
            if not self.texts[PROMPT] <= tokeniser.COMMON
            else Context(
                {name: terms for name, terms in self.texts.items() if name in OF_PROMPT}, {}
            )
        )


def context_of(place: Place, prompt: str, mode: str) -> Context:
    """Return the context of a prompt, or of a session's start ("").

    mode: the host's permission mode.
    The manifests' tags are read as the worker kept them, the branch from git's own file.
    """
    stems = frozenset(term for term, _ in tokeniser.terms(prompt))
    category = category_of(stems, mode, categories()) if prompt else ""
    tags = place_tags(place, cached_manifest_tags(place))
    own = (BRANCH,)
    on_branch = " ".join(tag.name for tag in tags if tag.origin == BRANCH)
    return Context(
        {
            PROMPT: stems,
            CATEGORY: stems.union(term for term, _ in tokeniser.terms(category)),
            BRANCH: frozenset(term for term, _ in tokeniser.terms(on_branch)),
        },
        {
            ALWAYS: ALWAYS,
            **{label(tag.name): tag.origin if tag.origin in own else "project" for tag in tags},
        },
    )


def near_rules(
    found: Index, about: Context, ids: Iterable[str], before: Iterable[str] = ()
) -> List[Any]:
    """Return the documents of rules possibly in a context, newest first.

    ids: records that are shown, or may be.
    before: ids that this session has seen.
    The index knows the tags and links of its rules (assembly.py); a rule not indexed yet may be in
    any context.
    """
    table, numbers = found.lists("watch").get("ruled", {}), set()
    for key, wanted in (
        *(("words", terms) for terms in about.texts.values()),
        ("labels", about.labels),
        ("links", ids),
    ):
        held = table.get(key, {})
        for word in wanted if held else ():
            numbers.update(held.get(word, ()))
    for needed, held in table.get("phrases", ()):
        if any(terms.issuperset(needed) for terms in about.texts.values()):
            numbers.update(held)
    docs = [found.doc(n) for n in numbers if n not in found.delta.gone]
    docs += [doc for doc in found.delta.docs if doc.ordinal == 0 and doc.kind == "rule"]
    return sorted(
        (doc for doc in docs if doc.id not in before), key=lambda doc: (-doc.created, doc.name)
    )


def approved_rules(found: Index, docs: Iterable[Any]) -> List[Any]:
    """Return the rules whose exact content is approved, each content once.

    A rule is read whole from its file; a rule behind a link, or with an ambiguous line, does not
    count.
    """
    read = [
        record
        for record in indexview.reread(found, docs, whole=True)
        if record.kind == "rule" and not record.unsure
    ]
    if not read:
        return []
    place, approved = (
        found.place,
        approvals.approved(found.place.home, [record.checksum for record in read]),
    )
    kept: Dict[str, Any] = {}
    for record in read:
        if (
            approvals.workspace_of(record.name, place.key),
            record.id,
            record.checksum,
        ) in approved and not files.is_link(place.path(record.name)):
            kept.setdefault(record.checksum, record)
    return list(kept.values())


def is_met(tag: str, terms: frozenset[str]) -> bool:
    """Tell whether terms hold all the words of a tag.

    For a script without blanks, such as Chinese, all its pairs of characters.
    """
    whole = required_terms(tag)
    return bool(whole) and terms.issuperset(whole)


def in_context(rules: Iterable[Any], about: Context, shown: Iterable[str]) -> List[Tuple[Any, str]]:
    """Return (rule, reason) for each rule in context.

    By a tag, or by a link to a record of `shown`.  A rule without tags and links is in no context.
    """
    found = []
    for record in rules:
        linked = [link.target for link in record.links if link.target in shown]
        reason = _tag_reason(record, about) or (
            "rule: linked with " + fence.line(linked[0], 64) if linked else ""
        )
        if reason:
            found.append((record, reason))
    return found


def _tag_reason(record: Any, about: Context) -> str:
    """Return a rule's matching tag and its origin, as a reason."""
    for origin, terms in about.texts.items():
        for tag in record.tags:
            if is_met(tag, terms):
                return "rule: tag %s (%s)" % (fence.line(tag, 64), origin)
    for tag in record.tags:
        origin = about.labels.get(label(tag), "")
        if origin:
            return "rule: tag %s (%s)" % (fence.line(tag, 64), origin)
    return ""


def is_of_place(reason: str) -> bool:
    """Tell whether a rule applies by its place alone.

    Not by the prompt or a link.
    """
    return reason.startswith("rule: tag ") and not reason.endswith(
        tuple("(%s)" % name for name in OF_PROMPT)
    )


def with_prompt(
    found: Index, prompt: str, mode: str, before: Iterable[str], shown: set[str]
) -> List[Tuple[Any, str]]:
    """Return (rule, reason) of the approved rules new to this session.

    mode: the host's permission mode.
    before: ids that this session has seen.
    shown: ids of the records that go with the prompt.
    Rules of the place stood in the brief; a rule that did not (new, or without room) comes with the
    next prompt that says what it is about.
    """
    about = context_of(found.place, prompt, mode).of_prompt()
    return in_context(approved_rules(found, near_rules(found, about, shown, before)), about, shown)
