"""Records: what dayleaf makes of one markdown file, whoever wrote it.

Schema, version 1, of the frontmatter; every key may be missing, unknown keys are kept.

    id, title: an id is 1 to 64 ASCII letters, digits, `.`, `_` and `-`; a missing id, or one that
        is none, follows from the file's name, a missing title from the body
    kind: rule | learning | plan | resource | checkpoint | conversation; else the folder says it
    created, updated: ISO 8601, a bare day, or seconds since the epoch; else the path's date, else
        the file's time
    tags, topics, versions, aliases: lists, or one text with commas or `#` marks; `#tag` in the body
        is one too, and so are `categories`; an alias, also of `alias`, is a title
    links: list of {relation, target}, of `relation: target`, or of `[[target]]`; `[[target]]` in
        the body is one too, but not in an automatic record: there it is brackets that a command
        printed
    source: human | agent | auto
    confidence: low | medium | high
    pinned: true | false
    feedback: list of `day up|down: reason`

    rule: rationale (required)
    learning: accepted (an automatic one counts as a candidate without it, any other with `accepted:
        false`), accepted_by, harvest (a key of what a candidate was made of, so that what was
        rejected does not come back), session, commit, files
    imported: origin (imports.py)
    plan: status (active | done | dropped)
    resource: type, path, source_ref, refreshed
    checkpoint: session, branch, commit, files, since (when its first turn began), plan (id of the
        one that was active), conversation (id of the session's), imported (when an import brought
        it; expiry counts from then)
    conversation: session, branch, files, until (when the last entry told was made), written (12 hex
        of the SHA-256 of the body as dayleaf wrote it)
"""

from __future__ import annotations

from memory.core import clock, files, frontmatter, tokeniser
from memory.core.layout import ADDED, DATED_KINDS, FOLDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Optional, Tuple

KINDS = tuple(FOLDERS)
SOURCES = ("human", "agent", "auto")
CONFIDENCES = ("low", "medium", "high")
STATUSES = ("active", "done", "dropped")
TWO_SESSIONS = "dayleaf: two sessions say so"  # `accepted_by` of a learning that was met twice
HARVEST_KEY = "harvest"  # key of a candidate's frontmatter
TITLE_CHARS = 80  # of a title taken from the body
# names of a note that say nothing of it
UNTITLED = "|readme|index|untitled|unbenannt|note|notes|memo|document|제목 없음|無題|无标题|未命名"
READ_LIMIT = 1 << 20  # bytes of a file that are read and indexed
# what Obsidian fills in where a note is made of a template
OBSIDIAN_FIELDS = ("title", "date", "time")
_TRUE = ("true", "yes", "on", "1", "y")
_KIND_OF_FOLDER = {folder: kind for kind, folder in FOLDERS.items()}


class Link(tuple):  # type: ignore[type-arg]
    """A typed link to another record; `target` is an id, a name or a title."""

    __slots__ = ()

    def __new__(cls, relation: str, target: str) -> Link:
        return tuple.__new__(cls, (relation, target))

    @property
    def relation(self) -> str:
        return str(self[0])

    @property
    def target(self) -> str:
        return str(self[1])


class Record:
    """A record as its file holds it; never changed in place.

    name: its path in the index, such as `p/learnings/x.md`.
    accepted: False for a candidate, a learning that nobody accepted.
    meta: all keys as written.
    checksum: SHA-256 of the bytes given, at most READ_LIMIT of them.
    size: bytes of the file.
    tier: `p`, `s`, `g` or `a`.
    problems: lines such as `line 3: ...; remedy`.
    unsure, guessed: of frontmatter.Page; a rule with an unsure line is never in force, and of a
    guessed record nothing counts that has authority: no rationale, no `script`, no path.
    """

    def __init__(
        self,
        name: str,
        id: str,
        kind: str,
        title: str,
        body: str,
        created: float,
        updated: float,
        tags: Tuple[str, ...] = (),
        topics: Tuple[str, ...] = (),
        versions: Tuple[str, ...] = (),
        links: Tuple[Link, ...] = (),
        source: str = "human",
        confidence: str = "medium",
        pinned: bool = False,
        accepted: bool = True,
        meta: Optional[Dict[str, Any]] = None,
        checksum: str = "",
        size: int = 0,
        tier: str = "p",
        problems: Tuple[str, ...] = (),
        unsure: Tuple[int, ...] = (),
        guessed: bool = False,
    ):
        self.name, self.id, self.kind, self.title, self.body = name, id, kind, title, body
        self.created, self.updated = created, updated
        self.tags, self.topics, self.versions, self.links = tags, topics, versions, links
        self.source, self.confidence = source, confidence
        self.pinned, self.accepted = pinned, accepted
        self.meta: Dict[str, Any] = {} if meta is None else meta
        self.checksum, self.size, self.tier, self.problems = checksum, size, tier, problems
        self.unsure, self.guessed = unsure, guessed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.name, self.checksum))

    def __repr__(self) -> str:
        return "Record(%s, %s)" % (self.id, self.name)

    def replaced(self, **changes: Any) -> Record:
        """Return a copy with some fields changed."""
        return Record(**{**vars(self), **changes})

    @property
    def tokens(self) -> int:
        """Approximate tokens of the body: UTF-8 bytes over four, rounded up."""
        return tokeniser.count_tokens(self.body)

    @property
    def began(self) -> float:
        """The instant of the first thing that a session's record tells."""
        since = self.meta.get("since") if self.kind == "checkpoint" else None
        told = clock.parse(since) if isinstance(since, str) else None
        return self.created if told is None else min(self.created, told)

    @property
    def ended(self) -> float:
        """The last instant that a session's record tells of."""
        until = meta_text(self, "until") if self.kind in DATED_KINDS else ""
        return max(self.created, clock.parse(until) or 0.0)

    @property
    def derived_from(self) -> Tuple[str, ...]:
        """The ids from which this was made: targets of `derived_from`."""
        return tuple(link.target for link in self.links if link.relation == "derived_from")

    @property
    def aliases(self) -> Tuple[str, ...]:
        """Other titles of this record."""
        return parse_labels([self.meta.get("aliases") or "", self.meta.get("alias") or ""])

    @property
    def rationale(self) -> str:
        """The reason for a rule, "" in a guessed frontmatter."""
        return "" if self.guessed else _join_text(self.meta.get("rationale"))

    @property
    def end(self) -> str:
        """The kind of a record in links: a resource is `script` or `doc`."""
        if self.kind != "resource":
            return self.kind
        is_script = not self.guessed and _join_text(self.meta.get("type")).lower() == "script"
        return "script" if is_script else "doc"

    @property
    def path(self) -> str:
        """The path of a resource, "" in a guessed frontmatter."""
        return "" if self.guessed else meta_text(self, "path")

    @property
    def status(self) -> str:
        """The status of a plan; "" for other kinds."""
        if self.kind != "plan":
            return ""
        status = _join_text(self.meta.get("status")).lower()
        return status if status in STATUSES else "active"

    @property
    def active(self) -> bool:
        return self.status == "active"


def from_bytes(name: str, data: bytes, mtime: float) -> Record:
    """Return the record in a file's bytes; never raises for content.

    name: its path in the index.
    """
    return _build_record(name, data, mtime, frontmatter.parse(data))


def from_bytes_fast(name: str, data: bytes, mtime: float) -> Record:
    """Return a record as `from_bytes` does, without PyYAML, for hooks."""
    return _build_record(name, data, mtime, frontmatter.parse_fast(data))


def _build_record(name: str, data: bytes, mtime: float, page: frontmatter.Page) -> Record:
    meta, problems = page.meta, page.problems
    kind = _read_kind(name, meta, problems)
    # in a folder that another tool keeps these keys say what it means by them
    ours = [] if name[:1] == ADDED else problems
    source = _read_choice(meta, "source", SOURCES, "auto" if kind in DATED_KINDS else "human", ours)
    confidence = _read_choice(
        meta, "confidence", CONFIDENCES, "low" if source == "auto" else "medium", ours
    )
    _check_kind_keys(kind, meta, problems)
    own_text = "" if source == "auto" else page.body
    return Record(
        name,
        _read_id(name, kind, meta, problems),
        kind,
        _find_title(name, meta, page.body),
        page.body,
        _find_created(name, meta, mtime, problems),
        _read_instant(meta, "updated", problems) or mtime,
        tags=parse_labels([meta.get("tags"), meta.get("categories"), *find_tags(own_text)]),
        topics=parse_labels(meta.get("topics")),
        versions=parse_labels(meta.get("versions")),
        links=_collect_links(meta.get("links"), own_text),
        source=source,
        confidence=confidence,
        pinned=is_true(meta.get("pinned")),
        accepted=_is_accepted(kind, source, meta),
        meta=meta,
        checksum=files.sha256(data),
        size=len(data),
        tier=name[:1],
        problems=tuple(problems),
        unsure=tuple(page.unsure),
        guessed=page.guessed,
    )


def _is_accepted(kind: str, source: str, meta: Dict[str, Any]) -> bool:
    accepted = meta.get("accepted")
    if kind != "learning" or not (accepted or source == "auto"):
        return True
    return is_true(accepted)


def make_derived_links(ids: Iterable[str]) -> List[Dict[str, str]]:
    """Return links `derived_from` to records, as frontmatter holds them."""
    return [{"relation": "derived_from", "target": id} for id in ids]


def id_letter(kind: str) -> str:
    return kind[:1]


def is_true(value: Any) -> bool:
    """Tell whether a text means yes, such as `true` or `on`."""
    return isinstance(value, str) and value.strip().lower() in _TRUE


def meta_text(record: Record, key: str) -> str:
    """Return a text of a record's head, "" for any other value."""
    value = record.meta.get(key)
    return value.strip() if isinstance(value, str) else ""


def parse_labels(value: Any) -> Tuple[str, ...]:
    """Return the labels in a value, in order, each once.

    value: a list, or one text with commas (`a, b`) or marks (`#a #b`).
    """
    if not value:
        return ()
    found: Dict[str, None] = {}
    for part in ",".join(flatten(value)).split(","):
        for label in part.split() if part.lstrip()[:1] == "#" else [part]:
            label = label.strip().lstrip("#").strip()
            if label:
                found[label] = None
    return tuple(found)


def _check_kind_keys(kind: str, meta: Dict[str, Any], problems: List[str]) -> None:
    if kind == "rule" and not _join_text(meta.get("rationale")):
        problems.append("line 1: a rule needs a rationale; add a line `rationale: ...`")
    if kind == "plan" and meta.get("status"):
        _read_choice(meta, "status", STATUSES, "active", problems)


def find_wiki_links(body: str) -> Tuple[str, ...]:
    """Return the targets of the wiki links outside code, in order.

    Reads `[[target]]`, `[[target|label]]` and `[[target#section]]`.  An embedded file that is no
    note, `![[x.png]]`, is left out.
    """
    if "[[" not in body:
        return ()
    found: Dict[str, None] = {}
    for line, code in tokeniser.mark_code(body.split("\n")):
        at = -1 if code else line.find("[[")
        while at >= 0:
            end = line.find("]]", at + 2)
            if end < 0:
                break
            target = line[at + 2 : end].partition("|")[0].partition("#")[0].rstrip()
            embeds = line[at - 1 : at] == "!" and _is_attachment(target)
            if not embeds and _is_target(target) and not line.count("`", 0, at) % 2:
                found[target] = None
            at = line.find("[[", end + 2)
    return tuple(found)


def _is_attachment(target: str) -> bool:
    return "." in target[-6:] and target[-3:].lower() != ".md"


def _is_target(text: str) -> bool:
    return bool(text[:1].strip()) and "[" not in text and len(text) <= 200


def find_tags(body: str) -> Tuple[str, ...]:
    """Return the tags of a text outside code and links, in order.

    Such as `#retry` or `#queue/retries`; a number alone is no tag.
    """
    found: Dict[str, None] = {}
    for line, code in tokeniser.mark_code(body.split("\n") if "#" in body else ()):
        prose = "" if code or "#" not in line else " ".join(line.split("`")[::2])
        for word in prose.split():
            word = word.lstrip("(")
            tag = word[1:].rstrip(".,;:!?)\"'")
            if word[:1] == "#" and _is_tag(tag):
                found[tag] = None
    return tuple(found)


def _is_tag(text: str) -> bool:
    if not text.strip("0123456789") or len(text) > 60:
        return False
    return all(c.isalnum() or c in "_-/" for c in text)


def parse_steps(body: str) -> List[Tuple[int, bool, str]]:
    """Return (line of the body, ticked, text) of each step.

    A step is a task item `- [ ]` or `- [x]` outside fenced code.  Lines count from 0.
    """
    steps: List[Tuple[int, bool, str]] = []
    lines = body.split("\n") if "[" in body else ()
    for number, (line, code) in enumerate(tokeniser.mark_code(lines)):
        bullet, rest, *_ = [*line.split(None, 1), "", ""]
        is_numbered = bullet[:-1].isdigit() and bullet[-1:] in (".", ")")
        if code or not (is_numbered or bullet in ("-", "*", "+", "•")):
            continue
        if rest[:3] in ("[ ]", "[x]", "[X]") and not rest[3:4].strip():
            steps.append((number, rest[1] != " ", rest[3:].strip()))
    return steps


def _join_text(value: Any) -> str:
    if not value:
        return ""
    return " ".join((value if isinstance(value, str) else ", ".join(flatten(value))).split())


def flatten(value: Any) -> List[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return ["%s: %s" % (key, ", ".join(flatten(item))) for key, item in value.items()]
    if not isinstance(value, (list, tuple)):
        return []
    return [text for item in value for text in flatten(item)]


def _read_kind(name: str, meta: Dict[str, Any], problems: List[str]) -> str:
    written = _join_text(meta.get("kind")).lower()
    if written in FOLDERS:
        return written
    parts = name.split("/")
    if parts[1:2] == ["archive"]:
        del parts[1]
    kind = "resource" if name[:2] == ADDED + "/" else "learning"
    kind = _KIND_OF_FOLDER.get(parts[1], kind) if len(parts) > 2 else kind
    if written:
        problems.append(
            "line 1: the kind '%s' is not one of %s; read as a %s"
            % (written[:40], ", ".join(KINDS), kind)
        )
    return kind


def _read_id(name: str, kind: str, meta: Dict[str, Any], problems: List[str]) -> str:
    written = meta.get("id")
    if isinstance(written, str) and written:
        # An id stands in what the model reads and in commands it is told to run, so it is nothing
        # but a word of any script; other tools' ids look like paths (`2025-11-10/013435_9fa8`).
        if (
            len(written) <= 128
            and all(c.isalnum() or c in "._-/:+@#=,~%" for c in written)
            and all(part.strip(".") for part in written.split("/"))
        ):
            return written
        problems.append(
            "line 1: the id is not usable and was ignored; write letters, digits and any of "
            "`._-/:+@#=,~%`, or remove it"
        )
    return id_letter(kind) + "-" + files.sha256(name.encode("utf-8", "surrogateescape"))[:8]


def _read_choice(
    meta: Dict[str, Any], key: str, allowed: Tuple[str, ...], default: str, problems: List[str]
) -> str:
    value = _join_text(meta.get(key)).lower()
    if value in allowed:
        return value
    if value:
        problems.append(
            "line 1: %s '%s' is not one of %s; read as %s"
            % (key, value[:40], ", ".join(allowed), default)
        )
    return default


def _find_title(name: str, meta: Dict[str, Any], body: str) -> str:
    title = _join_text(meta.get("title"))
    if title:
        return title
    heading = find_heading(body)
    if name[:1] == ADDED and (not heading or has_template_fields(heading)):
        heading = note_name(name)
    return heading or _find_first_line(body) or name.rpartition("/")[2].rpartition(".")[0] or name


def _find_first_line(body: str) -> str:
    """Return the first line of text, shortened to a title, or ""."""
    at = 0
    while at < len(body):
        end = body.find("\n", at)
        end = len(body) if end < 0 else end
        line = " ".join(body[at : min(end, at + 1000)].lstrip("#>*- \t").split())
        if line and not line.startswith(("```", "~~~", "===")):
            return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"
        at = end + 1
    return ""


def has_template_fields(text: str) -> bool:
    """Tell whether a text has template fields, such as `{{title}}`."""
    return "<%" in text or ("{{" in text and "}}" in text)


def is_note_template(meta: Dict[str, Any], body: str) -> bool:
    """Tell whether a note is a template.

    Its heading or a value of its head has fields, or its text has those that Obsidian fills in.
    """
    if has_template_fields(find_heading(body) + "".join(map(str, meta.values()))):
        return True
    if "{{" not in body and "<%" not in body:
        return False
    lines = [line for line, code in tokeniser.mark_code(body.split("\n")) if not code]
    return any(_has_obsidian_field(line) for line in lines if "`" not in line)


def _has_obsidian_field(line: str) -> bool:
    fields = [piece.partition("}}")[0].partition(":")[0] for piece in line.split("{{")[1:]]
    calls = [piece.lstrip("-_*+~ ") for piece in line.split("<%")[1:]]
    return any(field.strip() in OBSIDIAN_FIELDS for field in fields) or any(
        call.startswith("tp.") for call in calls
    )


def _is_jekyll_post(stem: str) -> bool:
    day = stem[:11].split("-")  # 2026-11-21-title
    return (
        [len(part) for part in day] == [4, 2, 2, 0]
        and "".join(day).isdigit()
        and " " not in stem
        and any(map(str.isalpha, stem[11:]))
    )


def note_name(path: str) -> str:
    """Return a note's name, "" where it tells nothing.

    A date, `README` or a hash tells nothing.
    """
    stem = path[path.rfind("/") + 1 :]
    stem = stem.rpartition(".")[0] or stem
    if _is_jekyll_post(stem):
        stem = stem[11:]
    if "_" in stem or "-" in stem and " " not in stem:
        stem = " ".join(stem.replace("_", " ").replace("-", " ").split())
    return stem if _is_meaningful_name(stem) else ""


def _is_meaningful_name(stem: str) -> bool:
    letters = list(filter(str.isalpha, stem))
    least = 3 if stem.isascii() else 1
    if len(letters) < least or stem.lower().rstrip(" ()0123456789") in UNTITLED.split("|"):
        return False
    is_hash = all(c in "abcdefABCDEF" for c in letters) and any(c.isdigit() for c in stem)
    return not is_hash


def find_heading(body: str) -> str:
    """Return the first level-one heading outside fenced code, or ""."""
    text = "\n" + body
    at = text.find("\n# ")
    while at >= 0:
        line = " ".join(text[at + 3 : at + 1001].partition("\n")[0].split())
        if line and not text.count("\n```", 0, at) % 2:
            return line[:200]
        at = text.find("\n# ", at + 1)
    return ""


def _read_instant(meta: Dict[str, Any], key: str, problems: List[str]) -> Optional[float]:
    value = meta.get(key)
    if not value:
        return None
    instant = clock.parse(value) if isinstance(value, str) else None
    if instant is None:
        problems.append(
            "line 1: %s '%s' is not a date; write it as 2026-11-21 or 2026-11-21T14:30:52Z"
            % (key, _join_text(value)[:40])
        )
    return instant


def _find_created(name: str, meta: Dict[str, Any], mtime: float, problems: List[str]) -> float:
    for key, faults in (("created", problems), ("date", [])):
        instant = _read_instant(meta, key, faults)
        if instant is not None:
            return instant
    dated = clock.date_in_path(name)
    return mtime if dated is None else dated


def _collect_links(value: Any, body: str) -> Tuple[Link, ...]:
    wiki = [Link("related_to", target) for target in find_wiki_links(body)]
    return tuple(dict.fromkeys([*parse_links(value), *wiki]))


def parse_links(value: Any) -> List[Link]:
    """Return the links in a value of the key `links`, in order."""
    if isinstance(value, dict):
        if "target" in value:
            pairs = [(_join_text(value.get("relation")), value["target"])]
        else:
            pairs = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, str):
        parts = [part.partition(": ") for part in value.split(",")]
        pairs = [(head, target) if colon else ("", head) for head, colon, target in parts]
    else:
        items = value if isinstance(value, list) else ()
        return [link for item in items for link in parse_links(item)]
    return [
        Link(_normalise_relation(relation), _parse_target(text))
        for relation, item in pairs
        for text in flatten(item)
        if _parse_target(text)
    ]


def _normalise_relation(text: str) -> str:
    return text.strip().lower().replace("-", "_").replace(" ", "_") or "related_to"


def _parse_target(text: str) -> str:
    text = text.strip()
    if text.startswith("[[") and text.endswith("]]"):
        text = text[2:-2].partition("|")[0].partition("#")[0]
    return text.strip()
