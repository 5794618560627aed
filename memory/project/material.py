"""Resources: documents kept as snapshots, and scripts that stay where they are.

Schema, version 1, of a resource's own keys beside those of every record:

    type        doc | script; a missing one is a doc
    path        where it is: relative to the root of the checkout inside it, else absolute.  A
        shared resource lies in its repository, a global one has an absolute path.
    checksum    SHA-256 of the file's bytes as they were read
    source_ref  first 10 digits of the commit checked out where the file is, absent outside git
    refreshed   the instant at which it was read
    snapshot    16 digits of the SHA-256 of the body as it was written; another is a person's

The body of a doc is the file's text without secrets and without its frontmatter, which gives title
and tags.  The body of a script is the script's own description, then its text below the heading
SCRIPT; the file runs, not this copy.  A person's text above that heading stays.
"""

from __future__ import annotations

import os
import re
import stat as modes
from itertools import takewhile
from typing import Any, NamedTuple

from memory.core import StoreError, clock, files, frontmatter, records, walk
from memory.core.layout import GLOBAL, SHARED, Place
from memory.core.records import Record
from memory.project import otherfiles
from memory.store import activeplan
from memory.store.reader import open_beneath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.store.store import Store

LIMIT = 63 << 20  # bytes of a source: its record stays below 64 MiB
SCRIPT = "## Script"
FRESH, STALE, GONE = "fresh", "stale", "gone"
DESCRIPTION_LINES, HEAD_LINES = 40, 200
MOST_LISTED, HEAD_BYTES = 500, 4096  # resources whose times are compared; read of each
_SPECIAL = (
    (modes.S_ISDIR, "a directory"),
    (modes.S_ISFIFO, "a fifo"),
    (modes.S_ISSOCK, "a socket"),
    (modes.S_ISCHR, "a device"),
    (modes.S_ISBLK, "a device"),
)
_DOCSTRING = re.compile(r"""[rRuU]{0,2}("{3}|'{3})(.*?)\1""", re.S)
_BLOCK = re.compile(
    r"/\*+(?!\*)(.*?)\*/|<#(.*?)#>|=begin\n(.*?)\n=end|: <<'?(\w+)'?\n(.*?)\n\4\b", re.S
)
_COMMENT = re.compile(r"\s*(?:#|//|--|;|%|@?rem\b|'|::)+ ?(.*)", re.I)
LANGUAGES = {  # of a script, by the end of its name
    **{end: end for end in "sh bash zsh bat lua php fish sql awk r".split()},
    **{"js": "javascript", "mjs": "javascript", "ts": "typescript", "py": "python"},
    **{"rb": "ruby", "pl": "perl", "ps1": "powershell", "cmd": "bat"},
}


class Source(NamedTuple):
    """A file that was read.  path: with all links resolved."""

    path: str
    data: bytes
    runnable: bool

    @property
    def checksum(self) -> str:
        """SHA-256 of the bytes."""
        return files.sha256(self.data)


class Description(NamedTuple):
    """The title, text and tags that a resource takes from its file."""

    title: str
    body: str
    tags: tuple[str, ...]


class ResourceState(NamedTuple):
    """How a resource compares with its source.

    word: FRESH, STALE or GONE.  source: None where it cannot be read.
    """

    word: str
    why: str
    source: Source | None


# ---- the source


def resource_type(record: Record) -> str:
    """Return a resource's type, `doc` or `script`."""
    is_script = records.meta_text(record, "type").lower() == "script" and not record.guessed
    return "script" if is_script else "doc"


def read_source(record: Record, place: Place) -> Source:
    """Read the file of a resource; raises StoreError.

    A last part that is a link is refused.  A file that is swapped after the check is read from
    inside the same directory.
    """
    try:
        if record.guessed:
            raise StoreError(
                "line %d can be read in two ways without PyYAML; put its value in quotes"
                % record.unsure[0]
            )
        path = _resolve_path(record.path, record.tier, place)
        if files.is_link(path):
            raise StoreError("%s is a link; name the file itself" % path)
        real = files.real_path(path)
        check_allowed(real, record.tier, place, not os.path.isabs(record.path))
        return read_file(real)
    except StoreError as error:
        raise StoreError(
            "%s: %s (`dayleaf resource update %s --path PATH`)" % (record.id, error, record.id)
        ) from None


def _resolve_path(path: str, tier: str, place: Place) -> str:
    if not path or "\0" in path or "://" in path:
        raise StoreError("it names no path of a file" if path else "it has no path")
    if os.path.isabs(path):
        if tier == SHARED:
            raise StoreError(
                "the path of a shared resource must be relative to its repository, but '%s' is not"
                % path
            )
        return path
    if tier == GLOBAL:
        raise StoreError("the path of a global resource must be absolute, but '%s' is not" % path)
    return place.root.rstrip("/") + "/" + path


def check_allowed(real: str, tier: str, place: Place, relative: bool = False) -> None:
    """Raise StoreError for a file that a tier's resources may not name.

    real: its path, all links resolved.  relative: it must lie in the project.
    """
    if ".git" in real.lower().split("/"):
        raise StoreError("%s belongs to git; name a file of yours" % real)
    if (relative or tier == SHARED) and not files.is_inside(real, place.root):
        raise StoreError(
            "%s lies outside %s; name a file inside it%s"
            % (real, place.root, "" if tier == SHARED else ", or its absolute path")
        )


def read_file(real: str) -> Source:
    """Read a file, at most LIMIT bytes, following no link; raises StoreError.

    real: its path, all links resolved.
    """
    drive = "" if real.startswith("/") else real[:2]
    try:
        mode = os.stat(real).st_mode
        special = next((name for test, name in _SPECIAL if test(mode)), "")
        if special:
            raise StoreError("%s is %s; name a file" % (real, special))
        fd = open_beneath(drive + "/", real[len(drive) + 1 :].split("/"))
        try:
            data = files.read_fd(fd, LIMIT + 1)
            mode = os.fstat(fd).st_mode
        finally:
            os.close(fd)
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError("%s is not there; correct the path" % real) from None
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", "") or "not a path").lower()
        raise StoreError(
            "%s cannot be read: %s; mend its permissions or name another" % (real, why)
        ) from None
    if len(data) > LIMIT:
        raise StoreError("%s is larger than %d MiB; name a part of it" % (real, LIMIT >> 20))
    return Source(real, data, bool(mode & 0o111))


def guess_type(source: Source) -> str:
    """Return `script` for a runnable file or one with `#!`, else `doc`."""
    return "script" if source.runnable or source.data.startswith(b"#!") else "doc"


# ---- the record's text


def _decode_text(source: Source, anyway: bool) -> str:
    """Return a file's text; replace invalid bytes `anyway`, else raise StoreError."""
    try:
        if b"\0" in source.data:
            raise UnicodeError
        return source.data.decode("utf-8-sig")
    except UnicodeError:
        if not anyway:
            raise StoreError(
                "%s is not UTF-8 text; convert it first, such as with `iconv`" % source.path
            ) from None
    is_utf16 = source.data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return source.data.decode("utf-16" if is_utf16 else "utf-8", "replace").replace("\0", "")


def describe_source(source: Source, kind: str, anyway: bool = False) -> Description:
    """Return a file's title, body and tags for its resource; raises StoreError.

    anyway: read a document too that is no UTF-8 text.
    """
    text = _decode_text(source, anyway or kind == "script")
    name = source.path.rpartition("/")[2]
    if kind == "script":
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        own = extract_description(text)
        return Description(_script_title(name, own), _script_body(source, own, text), ())
    page = frontmatter.parse(text.encode("utf-8"))
    lines = page.body.split("\n", HEAD_LINES)[:HEAD_LINES]
    heading = next((line[2:].strip() for line in lines if line.startswith("# ")), "")
    title = str(page.meta.get("title") or heading or name)
    return Description(title, page.body, records.parse_labels(page.meta.get("tags")))


def _script_title(name: str, description: str) -> str:
    first = re.split(r"(?<=[.!?])\s|\n", description, maxsplit=1)[0].rstrip(". ")
    first = re.sub(r"^%s\s*[:-]+\s*" % re.escape(name), "", first)
    tells = first and not re.search(r"\busage\s*[:=]", first, re.I)
    return "%s: %s" % (name, first[:100]) if tells else name


def _script_body(source: Source, description: str, text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    code = "%s%s\n%s\n%s\n" % (fence, _find_language(source), text.rstrip("\n"), fence)
    return "\n\n".join([*([description] if description else ()), SCRIPT, code])


def extract_description(text: str) -> str:
    """Return a script's leading comment or docstring, or ""."""
    lines = text.split("\n", HEAD_LINES)[:HEAD_LINES]
    if lines[0].startswith("#!"):
        del lines[0]
    while lines and (
        not lines[0].strip() or re.match(r"#.*coding[:=]|@echo off|<\?php", lines[0], re.I)
    ):
        del lines[0]
    head = "\n".join(lines)
    block = _DOCSTRING.match(head) or _BLOCK.match(head)
    if block:
        inner = next(filter(None, reversed(block.groups())), "")
        own = [line.strip().lstrip("*").strip() for line in inner.split("\n")]
    else:
        comments = takewhile(bool, map(_COMMENT.fullmatch, lines))
        own = [comment[1].rstrip() for comment in comments if comment]
    return "\n".join(own[:DESCRIPTION_LINES]).strip()


def _find_language(source: Source) -> str:
    extension = source.path.rpartition("/")[2].rpartition(".")[2].lower()
    first = source.data[:200].split(b"\n")[0].decode("ascii", "replace")
    words = first.rpartition("/")[2].split() if first.startswith("#!") else []
    program = words[-1].rstrip("0123456789.").replace("node", "javascript") if words else ""
    return LANGUAGES.get(extension) or (program if program in LANGUAGES.values() else "")


def fingerprint(body: str) -> str:
    """Return 16 hex digits of a body's hash, for the key `snapshot`."""
    return files.sha256(body.strip().encode("utf-8", "replace"))[:16]


# ---- writing


def add_resource(
    store: Store, source: Source, kind: str, tier: str, title: str, more: dict[str, Any]
) -> Record:
    """Write a new resource and return it as read back; raises StoreError.

    kind: `doc` or `script`.  title: "" for its own.  more: keyword arguments of Store.add, and
    under `extra` more frontmatter.
    """
    own = describe_source(source, kind)
    body = _redact(store, own.body)
    extra = {
        "type": kind,
        **_source_keys(source, tier, store),
        "snapshot": fingerprint(body),
        **more.pop("extra", {}),
    }
    tags = more.pop("tags", ()) or own.tags
    title = title or own.title
    return store.add("resource", title, body, tier=tier, tags=tags, extra=extra, **more)


def _source_keys(source: Source, tier: str, store: Store) -> dict[str, Any]:
    return {
        "path": otherfiles.record_path(source.path, store.place, tier),
        "checksum": source.checksum,
        "source_ref": otherfiles.find_commit(source.path) or None,
        "refreshed": clock.iso(store.now),
    }


def _redact(store: Store, body: str) -> str:
    from memory.store import redactor

    cleaned: str = redactor.clean([body], store.config, store.place.key)[0]
    return cleaned


def find_resource(store: Store, real: str, tier: str) -> Record | None:
    """Return a tier's resource for a file, or None.  real: the file's path."""
    for record in store.each(("resource",)):
        if record.tier == tier and record.path:
            try:
                if files.real_path(_resolve_path(record.path, tier, store.place)) == real:
                    return record
            except StoreError:
                continue
    return None


def is_edited_by_hand(store: Store, record: Record) -> bool:
    """Tell whether a person wrote or changed a resource's body."""
    body = frontmatter.parse(store.raw(record.name)).body
    return bool(body.strip()) and record.meta.get("snapshot") != fingerprint(body)


def rewrite(store: Store, record: Record, source: Source) -> Record:
    """Write a source's present content into its resource; return the resource.

    A person's text above a script's heading SCRIPT stays.  Raises StoreError.
    """
    kind = resource_type(record)
    before = store.raw(record.name)
    page = frontmatter.parse(before)
    body = _redact(store, describe_source(source, kind).body)
    if kind == "script" and is_edited_by_hand(store, record):
        own = "\n" + page.body
        at = own.find("\n" + SCRIPT + "\n")
        mine = (own if at < 0 else own[:at]).strip("\n")
        body = mine + "\n\n" + body[("\n" + body).index("\n" + SCRIPT + "\n") :]
        digest = page.meta.get("snapshot") or "by hand"
    else:
        digest = fingerprint(body)
    keys = _source_keys(source, record.tier, store)
    origin = _update_origin(page.meta.get(otherfiles.ORIGIN), keys, digest)
    data = frontmatter.edit(before, {**keys, "snapshot": digest, **origin}, record.name)
    data = activeplan.replace_body(data, body, append=False, name=record.name)
    return store.replace(record.name, data, files.sha256(before))


def _update_origin(origin: Any, keys: dict[str, Any], digest: str) -> dict[str, Any]:
    if not isinstance(origin, dict) or "checksum" not in origin:
        return {}
    written = origin.get("written")
    if len(digest) == 16:
        written = digest + str(origin.get("written", ""))[16:]
    now = {"path": keys["path"], "checksum": keys["checksum"], "written": written}
    return {otherfiles.ORIGIN: {**origin, **now}}


# ---- how it stands


def compare_with_source(record: Record, place: Place) -> ResourceState:
    try:
        source = read_source(record, place)
    except StoreError as error:
        return ResourceState(GONE, str(error), None)
    if record.meta.get("checksum") == source.checksum:
        return ResourceState(FRESH, "", source)
    why = "changed since it was read" if record.meta.get("checksum") else "never read"
    return ResourceState(STALE, why, source)


def find_touched_scripts(place: Place) -> list[str]:
    """Return the names of scripts that may have changed since they were read.

    By their times alone; of at most MOST_LISTED resources, and none that is shared.
    """
    found = []
    for name, *_ in walk.walk(place, ("resource",))[0][:MOST_LISTED]:
        try:
            data = place.read(name, HEAD_BYTES)[0]
            if name[:1] == SHARED or b"script" not in data:
                continue
            record = records.from_bytes_fast(name, data, 0.0)
            read_at = clock.parse(records.meta_text(record, "refreshed")) or 0.0
            path = _resolve_path(record.path, record.tier, place)
            if resource_type(record) == "script" and os.stat(path).st_mtime >= read_at:
                found.append(name)
        except (OSError, ValueError, StoreError):
            continue
    return found


def refresh_script(store: Store, record: Record) -> Record:
    """Read a changed script again; return its resource; raises StoreError.

    A shared resource is not written: nobody asked for a change in the repository.
    """
    if record.kind != "resource" or resource_type(record) != "script":
        return record
    found = compare_with_source(record, store.place)
    if found.word != STALE or found.source is None:
        return record
    if record.tier == SHARED:
        return record.replaced(body=_redact(store, describe_source(found.source, "script").body))
    return rewrite(store, record, found.source)
