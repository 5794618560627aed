"""Which approved rules are in context: of a prompt, of the project and its branch, of a record that is shown.

A part of the blocking path that is loaded where there are rules.  The index says which files are read (assembly.py); what a
file holds now, and whether that content is approved, decides.
"""

from __future__ import annotations

from memory.core import approvals, files, tokeniser
from memory.hook import at_prompt, contexttags, fence, loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Tuple

    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.hook.indexview import Index

PROMPT, CATEGORY = OF_PROMPT = ("prompt", "category")  # what of a context changes with every prompt


class Context:
    """What a rule's tags may meet: `texts` by their names (the terms of the prompt, those of its category too, those of the
    branch), and the `labels` of the place's context tags, each with its origin."""

    __slots__ = ("labels", "texts")

    def __init__(self, texts: Dict[str, frozenset[str]], labels: Dict[str, str]):
        self.texts, self.labels = texts, labels

    def of_prompt(self) -> Context:
        """Return what of it holds where the prompt does not say what it is about: `yes`, `run the tests`."""
        return self if not self.texts[PROMPT] <= tokeniser.COMMON else Context(
            {name: terms for name, terms in self.texts.items() if name in OF_PROMPT}, {})


def context_of(place: Place, prompt: str, mode: str, settings: Config) -> Context:
    """Return the context of a prompt, or with "" of a session's start.

    mode: the host's permission mode.  What the manifests say is read from what the worker kept of them, the branch from git's
    own file.
    """
    stems = frozenset(term for term, _ in tokeniser.terms(prompt))
    category = loader.category_of(stems, mode, loader.categories(settings["load.routes"])) if prompt else ""
    tags = contexttags.around(place, settings, contexttags.kept(place))
    own = (contexttags.PINNED, contexttags.BRANCH)
    on_branch = " ".join(tag.name for tag in tags if tag.origin == contexttags.BRANCH)
    return Context({PROMPT: stems, CATEGORY: stems.union(term for term, _ in tokeniser.terms(category)),
                    contexttags.BRANCH: frozenset(term for term, _ in tokeniser.terms(on_branch))},
                   {contexttags.label(tag.name): tag.origin if tag.origin in own else "project" for tag in tags})


def near_rules(found: Index, about: Context, ids: Iterable[str], before: Iterable[str] = ()) -> List[Any]:
    """Return the documents of the rules that may be in a context, newest first.

    ids: records that are shown, or may be.  before: ids that this session has seen.  The index knows the tags and links of
    its rules (assembly.py); one that it has not read yet may be in any context.
    """
    table, numbers = found.lists("watch").get("ruled", {}), set()
    for key, wanted in (*(("words", terms) for terms in about.texts.values()), ("labels", about.labels), ("links", ids)):
        held = table.get(key, {})
        for word in wanted if held else ():
            numbers.update(held.get(word, ()))
    for needed, held in table.get("phrases", ()):
        if any(terms.issuperset(needed) for terms in about.texts.values()):
            numbers.update(held)
    docs = [found.doc(n) for n in numbers if n not in found.delta.gone]
    docs += [doc for doc in found.delta.docs if doc.ordinal == 0 and doc.kind == "rule"]
    return sorted((doc for doc in docs if doc.id not in before), key=lambda doc: (-doc.created, doc.name))


def approved_rules(found: Index, docs: Iterable[Any]) -> List[Any]:
    """Return the rules among documents whose exact content is approved, in their order, each content once.

    A rule is read whole from its file; one behind a link, or with a line that can be read in two ways, counts for nothing.
    """
    read = [record for record in at_prompt.reread(found, docs, whole=True) if record.kind == "rule" and not record.unsure]
    if not read:
        return []
    place, approved = found.place, approvals.approved(found.place.home, [record.checksum for record in read])
    kept: Dict[str, Any] = {}
    for record in read:
        if (approvals.workspace_of(record.name, place.key), record.id, record.checksum) in approved \
                and not files.is_link(place.path(record.name)):
            kept.setdefault(record.checksum, record)
    return list(kept.values())


def is_met(tag: str, terms: frozenset[str]) -> bool:
    """Tell whether terms hold a tag: all its words; for a script without blanks, such as Chinese, all its pairs of characters."""
    whole = contexttags.needs(tag)
    return bool(whole) and terms.issuperset(whole)


def in_context(rules: Iterable[Any], about: Context, shown: Iterable[str]) -> List[Tuple[Any, str]]:
    """Return (rule, reason) for each rule in context: by a tag, or by a link to a record of `shown`.

    A rule without tags and links is in no context.
    """
    found = []
    for record in rules:
        linked = [link.target for link in record.links if link.target in shown]
        reason = _tag_reason(record, about) or ("rule: linked with " + fence.line(linked[0], 64) if linked else "")
        if reason:
            found.append((record, reason))
    return found


def _tag_reason(record: Any, about: Context) -> str:
    """Say which tag of a rule its context holds and where it comes from, the prompt first; "" for none."""
    for origin, terms in about.texts.items():
        for tag in record.tags:
            if is_met(tag, terms):
                return "rule: tag %s (%s)" % (fence.line(tag, 64), origin)
    for tag in record.tags:
        origin = about.labels.get(contexttags.label(tag), "")
        if origin:
            return "rule: tag %s (%s)" % (fence.line(tag, 64), origin)
    return ""


def is_of_place(reason: str) -> bool:
    """Tell whether a rule is in context by the place, and not by a prompt or a link."""
    return reason.startswith("rule: tag ") and not reason.endswith(tuple("(%s)" % name for name in OF_PROMPT))


def with_prompt(found: Index, prompt: str, mode: str, settings: Config, before: Iterable[str],
                shown: set[str]) -> List[Tuple[Any, str]]:
    """Return (rule, why) of the approved rules in a prompt's context that this session has not seen.

    mode: the host's permission mode.  before: ids that this session has seen.  shown: ids of the records that go with the
    prompt.  Rules of the place stood in the brief; one that did not (it is new, or had no room) comes with the next prompt
    that says what it is about.
    """
    about = context_of(found.place, prompt, mode, settings).of_prompt()
    return in_context(approved_rules(found, near_rules(found, about, shown, before)), about, shown)
