"""Context: the tags that say what a project is about, and the approved rules that are in it.

Where a tag comes from, and what it weighs:

    given    `recall --context-tags "reviewer,jira-api=1.5"`; `none` among them leaves out all that
             follow
    project  derived from the project's manifests (manifests.py), weight 1
    branch   words of the branch that is checked out, weight 1
    always   the tag `always`, for rules alone

The first of these that names a tag decides its weight.  A tag meets one of a record where both have
the same `normalise_tag`.

Schema, version 1, of `<cache>/<scope>.tags`, derived by the worker after a session's start, so that
a hook need not read manifests: a line `1 <crc32 of the rest, 8 hex>`, then a line
`<tag><tab><manifest>` for each tag.

Of the rules the index says which files are read (assembly.py); what a file holds now, and whether
that content is approved, decides.
"""

from __future__ import annotations

from zlib import crc32

from memory.core import UsageError, approvals, files, layout, tokeniser
from memory.hook import fence, indexview, loader
from memory.hook.strategies import build_categories, classify_prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Sequence

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
ABOUT = 0.4  # share of a wish's idf that a prompt about it holds: 31 of 459 prompts, 13 wishes
PROMPT_WISHES = 2  # that a prompt gets
WISH_REASON = "standing wish"
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


class ContextTag:
    """A tag of what a project is about.

    origin: `given`, `branch`, or a manifest's path.
    """

    def __init__(self, name: str, weight: float, origin: str):
        self.name, self.weight, self.origin = name, weight, origin


def normalise_tag(tag: str) -> str:
    """Return a tag in lower case and hyphenated; `py` becomes `python`."""
    name = "-".join(tag.lower().replace("_", " ").split()).lstrip("#")
    return _ALIASES.get(name, name)


def list_required_terms(tag: str) -> tuple[str, ...]:
    """Return the terms that a text about a tag must hold.

    All the tag's words; in a script without blanks, all its pairs of letters.  `go on` is no word
    about Go, so that tag needs `golang`.
    """
    if tag.lower().strip("# ") == "go":
        return ("golang",)
    words = {term for term, weight in tokeniser.query_terms(tag) if weight >= 1.0}

    def is_in_pairs(word: str) -> bool:
        return words.issuperset(word[i : i + 2] for i in range(len(word) - 1))

    return tuple(sorted(word for word in words if len(word) < 3 or not is_in_pairs(word)))


def parse_weighted_tags(text: str) -> tuple[tuple[str, float], ...]:
    """Return ((tag, weight), ...) of tags such as `reviewer,jira-api=1.5`.

    A tag without a weight takes the mean of the given weights, or 1.5.  `none` is no tag, see
    `excludes_derived`.  Raises UsageError for a weight beyond 0 to 100.
    """
    given: list[tuple[str, float | None]] = []
    for piece in text.split(","):
        tag, equals, weight = (part.strip() for part in piece.partition("="))
        if not tag or (tag.lower() == NONE and not equals):
            continue
        given.append((tag, _parse_weight(piece, tag, weight) if equals else None))
    weights = [value for _, value in given if value is not None]
    default = sum(weights) / len(weights) if weights else DEFAULT_WEIGHT
    return tuple((tag, default if value is None else value) for tag, value in given)


def _parse_weight(piece: str, tag: str, weight: str) -> float:
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


def excludes_derived(text: str) -> bool:
    """Tell whether `none` among given tags excludes derived tags."""
    return any(piece.strip().lower() == NONE for piece in text.split(","))


def extract_branch_words(name: str) -> tuple[str, ...]:
    """Return the subject words of a branch's name.

    `feature/JIRA-12-jwt-refresh` has jira-12, jwt and refresh, `main` has none.
    """
    words: dict[str, None] = {}
    for part in name.lower().replace("_", "-").replace(".", "-").split("/"):
        pieces = part.split("-")
        for piece, after in zip(pieces, [*pieces[1:], ""]):
            if piece in _PLAIN:
                continue
            if piece.isalpha() and after.isdigit():
                words[piece + "-" + after] = None
            elif len(piece) > 1 and piece not in tokeniser.STOP and not _is_number(piece):
                words[piece] = None
    return tuple(words)[:BRANCH_WORDS]


def _is_number(piece: str) -> bool:
    """Tell whether a branch's word is a number, version or hash."""
    if piece.lstrip("v").isdigit():
        return True
    is_hex = len(piece) >= 7 and not piece.strip("0123456789abcdef")
    return is_hex and any(map(str.isdigit, piece))


def list_place_tags(place: Place, derived: Mapping[str, str]) -> tuple[ContextTag, ...]:
    """Return the context tags of a place's branch and manifests (tag -> manifest)."""
    tags = [ContextTag(name, DERIVED_WEIGHT, path) for name, path in derived.items()]
    tags += [
        ContextTag(name, DERIVED_WEIGHT, BRANCH)
        for name in extract_branch_words(layout.read_branch(place.git))
    ]
    return merge_tags((), tags)


def merge_tags(
    given: Sequence[tuple[str, float]], others: Sequence[ContextTag]
) -> tuple[ContextTag, ...]:
    """Merge a query's tags with others; of equal tags the first counts.

    given: (tag, weight) of the query, which come first.
    """
    tags: dict[str, ContextTag] = {}
    for tag in (*[ContextTag(name, weight, GIVEN) for name, weight in given], *others):
        tags.setdefault(normalise_tag(tag.name), tag)
    return tuple(tags.values())


def to_json(tags: Sequence[ContextTag]) -> list[dict[str, Any]]:
    return [{"tag": tag.name, "weight": tag.weight, "from": tag.origin} for tag in tags]


def tags_path(place: Place) -> str:
    return place.cache + "/" + place.scope + ".tags"


def write_manifest_tags(place: Place, derived: Mapping[str, str]) -> None:
    """Write the tags of manifests (tag -> manifest) to the cache, if changed."""
    rest = "".join("%s\t%s\n" % pair for pair in derived.items()).encode("utf-8", "surrogateescape")
    files.replace_if_changed(tags_path(place), b"1 %08x\n" % crc32(rest) + rest)


def read_manifest_tags(place: Place) -> dict[str, str]:
    """Return the cached tags of a place's manifests as tag -> manifest."""
    try:
        head, _, rest = files.read(tags_path(place), LIMIT).partition(b"\n")
    except OSError:
        return {}
    if head != b"1 %08x" % crc32(rest):
        return {}
    lines = rest.decode("utf-8", "surrogateescape").split("\n")
    rows = [line.partition("\t") for line in lines if line]
    return {tag: path for tag, _, path in rows}


# ---- rules in context


class Context:
    """The texts and labels that the tags of rules may match.

    texts: terms by name: of the prompt, of the prompt with its category, and of the branch.
    labels: of the place's context tags, each with its origin.
    """

    def __init__(self, texts: dict[str, frozenset[str]], labels: dict[str, str]):
        self.texts, self.labels = texts, labels

    def narrow_to_prompt(self) -> Context:
        """Return the context, without its place for a prompt of common words.

        Such a prompt is `yes` or `run the tests`.
        """
        if not self.texts[PROMPT] <= tokeniser.COMMON:
            return self
        return Context({name: self.texts[name] for name in OF_PROMPT}, {})


def build_context(place: Place, prompt: str, mode: str) -> Context:
    """Build the context of a prompt; the prompt "" is a session's start."""
    stems = frozenset(term for term, _ in tokeniser.query_terms(prompt))
    category = classify_prompt(stems, mode, build_categories()) if prompt else ""
    labels = {ALWAYS: ALWAYS}
    branch_tags = []
    for tag in list_place_tags(place, read_manifest_tags(place)):
        is_branch = tag.origin == BRANCH
        labels[normalise_tag(tag.name)] = BRANCH if is_branch else "project"
        if is_branch:
            branch_tags.append(tag.name)
    texts = {
        PROMPT: stems,
        CATEGORY: stems.union(term for term, _ in tokeniser.query_terms(category)),
        BRANCH: frozenset(term for term, _ in tokeniser.query_terms(" ".join(branch_tags))),
    }
    return Context(texts, labels)


def find_candidate_rules(
    index: Index, about: Context, ids: Iterable[str], before: Iterable[str] = ()
) -> list[Any]:
    """Return the documents of rules that may apply in a context, newest first.

    ids: records that are shown, or may be.  before: ids that this session has seen.
    A rule not indexed yet may be in any context.
    """
    table = index.lists("watch").get("ruled", {})
    numbers: set[int] = set()
    wanted: list[tuple[str, Iterable[str]]] = [("words", terms) for terms in about.texts.values()]
    for key, names in (*wanted, ("labels", about.labels), ("links", ids)):
        numbers_by_name = table.get(key, {})
        for name in names if numbers_by_name else ():
            numbers.update(numbers_by_name.get(name, ()))
    for needed, ruled in table.get("phrases", ()):
        if any(terms.issuperset(needed) for terms in about.texts.values()):
            numbers.update(ruled)
    docs = [index.doc(number) for number in index.live(numbers)]
    docs += [doc for doc in index.delta.docs if doc.ordinal == 0 and doc.kind == "rule"]
    docs.sort(key=lambda doc: (-doc.created, doc.name))
    return [doc for doc in docs if doc.id not in before]


def read_approved_rules(index: Index, docs: Iterable[Any]) -> list[Any]:
    """Return the rules whose exact content is approved, each content once.

    A rule behind a link, or with an ambiguous line, does not count.
    """
    return _select_approved(index.place, _read_rules(index, docs))


def _read_rules(index: Index, docs: Iterable[Any]) -> list[Any]:
    records = indexview.reread(index, docs, whole=True)
    return [record for record in records if record.kind == "rule" and not record.unsure]


def _select_approved(place: Place, rules: Sequence[Any]) -> list[Any]:
    if not rules:
        return []
    approved = approvals.read_approved(place.home, [rule.checksum for rule in rules])
    kept: dict[str, Any] = {}
    for rule in rules:
        key = (approvals.approval_workspace(rule.name, place.key), rule.id, rule.checksum)
        if key in approved and not files.is_link(place.path(rule.name)):
            kept.setdefault(rule.checksum, rule)
    return list(kept.values())


def matches_tag(tag: str, terms: frozenset[str]) -> bool:
    """Tell whether terms hold all the words of a tag."""
    needed = list_required_terms(tag)
    return bool(needed) and terms.issuperset(needed)


def select_rules(
    rules: Iterable[Any], about: Context, shown: Iterable[str]
) -> list[tuple[Any, str]]:
    """Return (rule, reason) for each rule in context.

    It is by a tag, or a link to a record of `shown`.  A rule without tags and links is in none.
    """
    selected = []
    for rule in rules:
        reason = _explain_match(rule, about)
        linked = [link.target for link in rule.links if link.target in shown]
        if linked and not reason:
            reason = "rule: linked with " + fence.clean_line(linked[0], 64)
        if reason:
            selected.append((rule, reason))
    return selected


def _explain_match(record: Any, about: Context) -> str:
    """Return a reason that names a rule's matching tag and its origin, or ""."""
    for origin, terms in about.texts.items():
        for tag in record.tags:
            if matches_tag(tag, terms):
                return "rule: tag %s (%s)" % (fence.clean_line(tag, 64), origin)
    for tag in record.tags:
        origin = about.labels.get(normalise_tag(tag), "")
        if origin:
            return "rule: tag %s (%s)" % (fence.clean_line(tag, 64), origin)
    return ""


def applies_by_place(reason: str) -> bool:
    """Tell from a rule's reason whether it applies by its place alone."""
    by_prompt = tuple("(%s)" % name for name in OF_PROMPT)
    return reason.startswith("rule: tag ") and not reason.endswith(by_prompt)


def find_prompt_rules(
    index: Index, prompt: str, mode: str, before: Iterable[str], shown: set[str]
) -> tuple[list[tuple[Any, str]], list[Any]]:
    """Return (approved rules with reasons, standing wishes), new to the session.

    before: ids that this session has seen.  shown: ids of the records that go with the prompt.
    The brief had the rules of the place; one that it lacked (new, or without room) comes with the
    next prompt that says what it is about.  So does a wish.
    """
    about = build_context(index.place, prompt, mode).narrow_to_prompt()
    rules = _read_rules(index, find_candidate_rules(index, about, shown, before))
    ruled = select_rules(_select_approved(index.place, rules), about, shown)
    near = [rule for rule in rules if _is_wish_about(index, rule, about.texts[PROMPT])]
    return ruled, list_wishes(index.place, near)[:PROMPT_WISHES]


def _is_wish_about(index: Index, rule: Any, terms: frozenset[str]) -> bool:
    """Tell whether a rule is a wish whose words `terms` hold, by their idf."""
    if not fence.field(rule, "said"):
        return False
    wish = {term for term, _ in tokeniser.query_terms(rule.title)} - tokeniser.COMMON
    if wish.isdisjoint(terms):
        return False
    rarity = {term: loader.idf(index.documents, index.df(term)) for term in wish}
    held = sum(idf for term, idf in rarity.items() if term in terms)
    return held >= ABOUT * sum(rarity.values())


def list_wishes(place: Place, rules: Iterable[Any]) -> list[Any]:
    """Return the user's undecided wishes among rules, most repeated and newest first."""
    # a wish of others is a claim; a name begins with its tier
    said = [r for r in rules if r.name[0] == layout.PRIVATE and fence.field(r, "said")]
    if not said:
        return []
    decided = approvals.read_decisions(place.home, [rule.checksum for rule in said])
    keys = [(approvals.approval_workspace(r.name, place.key), r.id, r.checksum) for r in said]
    wishes = [rule for rule, key in zip(said, keys) if key not in decided]
    return sorted(
        wishes,
        key=lambda rule: ((fence.field(rule, "times") or "1").zfill(4), fence.field(rule, "said")),
        reverse=True,
    )


def add_wish(wish: Any, index: Index, budget: fence.Budget) -> bool:
    """Add a wish's line with its day and commands; tell whether it fits."""
    rule = fence.field(wish, "contrary_to")
    contrary = ", contrary to %s" % fence.clean_line(rule, 40) if rule and index.by_id(rule) else ""
    line = (
        '- You said on %s: "%s" (not confirmed%s: `dayleaf review`; '
        "`dayleaf record forget %s` drops it)"
    ) % (
        fence.clean_line(fence.field(wish, "said"), 10),
        fence.clean_line(wish.title, 240),
        contrary,
        fence.clean_id(wish),
    )
    if not budget.take(line):
        return False
    budget.chosen.append([wish.id, 1.0, WISH_REASON])
    return True
