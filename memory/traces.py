"""Traces of a text: the forms in which its bytes may stand in a file, and the files that hold one of them.

Looked for are the text as it is and in other case, composed and decomposed, on one line, its long lines by themselves, as a
file's name has it, JSON-escaped once and twice, percent-encoded, in UTF-16, in base64 at any offset, and where it is one token as
the term of the index.  Case counts in base64 alone.
"""

from __future__ import annotations

import base64
import os
import re
from typing import Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Tuple
from unicodedata import normalize
from urllib.parse import quote

from memory import files, jsonio, paths
from memory.text import expand

SHORTEST = 4  # characters of a text that is looked for
LONG_LINE = 40  # characters from which a line of a text is looked for by itself
TERM = 8  # characters of an index term that stands for the text
ENCODED = 6  # bytes from which base64 is looked for
MOST = 1 << 40
SEARCHED = "as it is, in any case, on one line, JSON-escaped, percent-encoded, in UTF-16 and base64, as a term of the index"


class Finder(NamedTuple):
    """What finds texts: an expression over bytes, and by a form in lower case (in base64 as it is) the mark of its text."""

    expression: re.Pattern[bytes]
    marks: Mapping[bytes, str]

    def count(self, data: bytes) -> int:
        """Return how often the texts stand in some bytes."""
        return sum(1 for _ in self.expression.finditer(data))

    def mark(self, found: re.Match[bytes]) -> bytes:
        """Return what stands in the place of a hit, in the encoding that it has."""
        raw = found[0]
        mark = self.marks.get(raw) or self.marks.get(raw.lower()) or next(iter(self.marks.values()))
        wide = "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be" if raw[:1] == b"\0" else "ascii"
        return mark.encode(wide)

    def cleaned(self, data: bytes) -> bytes:
        """Return bytes with a mark in the place of each text."""
        return self.expression.sub(self.mark, data)

    def covered(self, data: bytes) -> bytes:
        """Return bytes of the same length in which each text is covered: for a file that others append to."""
        def cover(found: re.Match[bytes]) -> bytes:
            mark, size = self.mark(found), len(found[0])
            wide = b"*\0" if found[0][1:2] == b"\0" else b"\0*" if found[0][:1] == b"\0" else b"*"
            return (mark if len(mark) <= size else b"") + wide * ((size - (len(mark) if len(mark) <= size else 0)) // len(wide))

        return self.expression.sub(cover, data)


class Trace(NamedTuple):
    """A file that holds a text: its path, how often, and whether its name does."""

    path: str
    hits: int
    named: bool


def finder(texts: Mapping[str, str]) -> Finder:
    """Make what finds some texts.  texts: each with the ASCII mark that goes in its place."""
    exact: Dict[bytes, str] = {}
    anyhow: Dict[bytes, str] = {}
    for text, mark in texts.items():
        for form in forms(text):
            anyhow.setdefault(form.lower(), mark)
        for form in _in_base64(text):
            exact.setdefault(form, mark)
    ordered = sorted(anyhow, key=lambda form: (-len(form), form))
    parts = [re.escape(form) for form in ordered]
    parts += [b"(?-i:%s)" % re.escape(form) for form in sorted(exact, key=lambda form: (-len(form), form))]
    return Finder(re.compile(b"|".join(parts), re.I), {**anyhow, **exact})


def forms(text: str) -> Iterator[bytes]:
    """Yield the bytes by which a text may stand somewhere, case and base64 apart."""
    for plain in _plain(text):
        for said in (plain, jsonio.quote(plain)[1:-1], _escaped(plain), jsonio.quote(jsonio.quote(plain)[1:-1])[1:-1]):
            yield said.encode("utf-8", "surrogateescape")
        yield quote(plain, safe="-._~").encode("ascii")
        yield quote(plain, safe="/:@!$&'()*+,;=-._~").encode("ascii")
        yield plain.encode("utf-16-le", "surrogatepass")
        yield plain.encode("utf-16-be", "surrogatepass")
    if not any(char.isspace() for char in text):
        for term, weight in expand(text):
            if weight == 1.0 and len(term) >= TERM and any(char.isdigit() for char in term):
                yield term.encode("utf-8")


def _plain(text: str) -> List[str]:
    """Return the texts that say the same to a reader."""
    same = [text, text.casefold(), text.lower(), text.upper(), " ".join(text.split()), text.replace("\n", "\r\n")]
    same += [normalize("NFC", text), normalize("NFD", text)]
    same += [line.strip() for line in text.split("\n") if "\n" in text and len(line.strip()) >= LONG_LINE]
    slug = paths.slug(text, len(text))
    same += [slug, slug[:40].strip("-")] if len(slug) >= TERM and len(slug) * 2 > len(text) else []
    return [one for one in dict.fromkeys(same) if len(one) >= SHORTEST]


def _escaped(text: str) -> str:
    """Write a text as JSON does that leaves letters beyond ASCII alone."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _in_base64(text: str) -> Iterator[bytes]:
    """Yield the characters of base64 that a text alone decides, at each of three offsets, in both alphabets."""
    data = text.encode("utf-8", "surrogateescape")
    for offset in range(3) if len(data) >= ENCODED else ():
        encoded = base64.b64encode(b"\0" * offset + data)
        inner = encoded[(0, 2, 3)[offset]:(offset + len(data)) * 8 // 6]
        yield inner
        yield inner.translate(bytes.maketrans(b"+/", b"-_"))


def listed(roots: Iterable[str], without: Iterable[str] = ()) -> Iterator[str]:
    """Yield the path of every regular file below some directories, in order; links are not followed.

    without: directories that are left out.
    """
    passed = set(without)
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if folder + "/" + name not in passed)
            for name in sorted(names):
                if not os.path.islink(folder + "/" + name):
                    yield folder + "/" + name


def search(found: Finder, every: Iterable[str], told: Callable[[int], None] = lambda done: None) -> Tuple[int, List[Trace]]:
    """Return (files searched, those that hold a text).  told: of the files searched so far."""
    number, traces = 0, []
    for path in every:
        try:
            data = files.read(path, MOST, follow=False)
        except OSError:
            if not os.path.lexists(path):
                continue
            data = b""
        number += 1
        told(number)
        count = found.count(data)
        named = found.expression.search(path.rpartition("/")[2].encode("utf-8", "surrogateescape")) is not None
        if count or named:
            traces.append(Trace(path, count, named))
    return number, traces
"""Verdicts on what happened: failures, captures that came to nothing, ledgers, the journal, logs, leftovers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from memory import attempts, clock, files, journal, jsonio, ledger, paths, recovery, terminal
from memory.checkup import FAIL, OK, WARN, Check
from memory.errors import StoreError

RECENT = 7 * clock.DAY
TEMP_AGE = 3600.0  # seconds after which a temporary file is a leftover
UNUSED = 30 * clock.DAY  # since the last change, for a cache of no workspace
MUCH = 200 << 20  # bytes of receipts
FIX = "`dayleaf doctor --fix`"


def log(place: paths.Place, now: float) -> Iterator[Check]:
    """What failed in hooks lately, and faults of our own."""
    rows = _json_lines(place.home + "/log/errors.jsonl")[0]
    bugs = sorted(name for name in _listed(place.home + "/log") if name.startswith("bug-"))
    recent = [row for row in rows if now - (clock.parse(str(row.get("t"))) or 0.0) < RECENT]
    if recent:
        last = recent[-1]
        said = " ".join(str(last.get(key) or "") for key in ("t", "where", "error", "detail", "path", "at")).split()
        number = terminal.count(len(recent), "failure")
        yield Check(WARN, "log", "%s in hooks within 7 days, the last: %s" % (number, " ".join(said)),
                    "%s/log/errors.jsonl has them all" % place.home)
    else:
        yield Check(OK, "log", "no failure of a hook within 7 days (%d in all)" % len(rows))
    if bugs:
        number = terminal.count(len(bugs), "fault")
        yield Check(WARN, "log", "%s of dayleaf's own, the last in %s/log/%s" % (number, place.home, bugs[-1]),
                    "report it, then delete the file")


def _json_lines(path: str) -> tuple[list[dict[str, Any]], int]:
    """Return (the objects of a JSONL file, how many lines are none); an absent file has neither.  Raises OSError."""
    try:
        data = files.read(path, 16 << 20)
    except FileNotFoundError:
        return [], 0
    rows, torn = [], 0
    for line in data.split(b"\n"):
        try:
            row = jsonio.parse(line) if line.strip() else {}
        except ValueError:
            row = None
        if isinstance(row, dict):
            rows += [row] if row else []
        else:
            torn += 1
    return rows, torn


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def ledgers(place: paths.Place) -> Iterator[Check]:
    """Whether each ledger can be read, is whole, and is nobody else's to write."""
    for name in ("trust.jsonl", "spend.jsonl"):
        path = place.home + "/" + name
        try:
            rows, torn = _json_lines(path)
        except OSError as error:
            yield Check(FAIL, "ledgers", "%s cannot be read (%s)" % (path, error.strerror), "chmod 600 '%s'" % path)
            continue
        if files.exists(path) and os.name != "nt" and os.stat(path).st_mode & 0o022:
            yield Check(FAIL, "ledgers", "%s can be written by others: nothing in it counts" % path, "chmod 600 '%s'" % path)
        elif torn:
            yield Check(WARN, "ledgers", "%s has %s that cannot be read" % (path, terminal.count(torn, "line")),
                        "remove them by hand")
        else:
            yield Check(OK, "ledgers", "%s: %s" % (name, terminal.count(len(rows), "line")))
    for each in ledger.ledgers(place):
        yield from _outcomes(each)


def _outcomes(each: ledger.Ledger) -> Iterator[Check]:
    """What a ledger of uses and outcomes holds: silent where there is none yet."""
    if not files.exists(each.path):
        return
    if not os.access(each.path, os.R_OK | os.W_OK):
        yield Check(FAIL, "ledgers", "%s cannot be read and written: no use counts" % each.path, "chmod 600 '%s'" % each.path)
        return
    found = ledger.whole(each)
    if found.passed:
        yield Check(WARN, "ledgers", "%s has %s of a newer version, passed over" % (
            each.path, terminal.count(found.passed, "line")), "update dayleaf; they are kept")
    if found.torn:
        yield Check(WARN, "ledgers", "%s has %s that cannot be read" % (each.path, terminal.count(found.torn, "line")),
                    "remove them by hand")
    yield Check(OK, "ledgers", "%s: uses and outcomes of %s" % (each.path, terminal.count(len(found.rows), "record")))


def ends(place: paths.Place) -> Iterator[str]:
    """Yield the ledgers and logs whose last line has no end: a writer was killed in it."""
    named = [place.home + "/" + name for name in ("trust.jsonl", "spend.jsonl", "log/errors.jsonl")]
    named += [each.path for each in ledger.ledgers(place)] + [journal.path(place), attempts.path_of(place)]
    named += [root + "/archive/log.jsonl" for letter, root in place.tiers() if letter != paths.SHARED]
    for path in named:
        try:
            if files.is_torn(path):
                yield path
        except OSError:
            continue


def torn(place: paths.Place) -> Iterator[Check]:
    """Ledgers whose last line has no end: silent where there is none."""
    for path in ends(place):
        yield Check(WARN, "ledgers", "%s ends in the middle of a line" % path, FIX)


def undoing(place: paths.Place) -> Iterator[Check]:
    """What the journal of upkeep says: silent where there is none."""
    if not files.exists(journal.path(place)):
        return
    try:
        runs = journal.runs(place)
    except StoreError as error:
        yield Check(FAIL, "journal", *str(error).split("; ", 1))
        return
    if journal.cut(place):
        yield Check(WARN, "journal", "an upkeep of %s was cut short" % next(r.began for r in runs if r.run == journal.cut(place)),
                    "`dayleaf upkeep --apply` ends it, or `dayleaf undo` takes it back")
    else:
        yield Check(OK, "journal", terminal.count(len(runs), "run") + " of upkeep")


def captures(place: paths.Place, env: dict[str, str], now: float) -> Iterator[Check]:
    """Captures that were cut short, and sessions whose transcript holds more than their checkpoints tell."""
    cut = attempts.unfinished(place, now)
    lost = dict(recovery.lost(place, env, now, paths.safe_id(env.get("CLAUDE_CODE_SESSION_ID"))))
    for row in cut[-3:]:
        session = str(row.get("session"))
        if session in lost or not row["said"]:
            yield Check(WARN, "captures", "the capture of %s (session %s) was cut short" % (row.get("t"), session),
                        "the next session's start tries it again")
    waiting = sorted(set(lost) - {str(row.get("session")) for row in cut[-3:]})
    if waiting:
        yield Check(WARN, "captures", "%s wrote less than happened, such as %s" % (
            terminal.count(len(waiting), "session"), waiting[0]), "the next session's start recovers them")
    elif not lost and all(row["said"] for row in cut):
        yield Check(OK, "captures", "every session that ended here is written down")


def logs(place: paths.Place) -> Iterator[Check]:
    """How much the receipts take."""
    number = size = 0
    for folder, _, names in os.walk(place.home + "/log/receipts"):
        for name in names:
            try:
                size += os.lstat(folder + "/" + name).st_size
                number += 1
            except OSError:
                continue
    yield Check(WARN if size > MUCH else OK, "receipts", "{} of {:,} KB".format(terminal.count(number, "file"), size >> 10),
                "delete the oldest in '%s/log/receipts'; `why` and `stats` forget them" % place.home if size > MUCH else "")


def leftovers(place: paths.Place, now: float) -> Iterator[str]:
    """Yield temporary files of writers that are gone, and damaged indexes that were moved aside, older than an hour."""
    roots = [*(root for _, root in place.tiers()), place.cache, place.home + "/log", place.home + "/cache/global"]
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                path = folder + "/" + name
                if _is_old(path, now) and (_is_abandoned(name) or (root == place.cache and name.endswith(".damaged"))):
                    yield path
    for name in _listed(place.home):
        if _is_abandoned(name) and _is_old(place.home + "/" + name, now):
            yield place.home + "/" + name


def _is_abandoned(name: str) -> bool:
    """Tell whether a name is that of a temporary file whose process is gone."""
    pid = name[len(files.TEMP):].partition("-")[0]
    return name.startswith(files.TEMP) and not (pid.isdigit() and files.alive(int(pid)))


def _is_old(path: str, now: float) -> bool:
    try:
        return now - os.lstat(path).st_mtime > TEMP_AGE
    except OSError:
        return False


def temps(place: paths.Place, now: float) -> Iterator[Check]:
    """What killed writers left behind, and caches that belong to nothing."""
    left = list(leftovers(place, now))
    if left:
        number = terminal.count(len(left), "temporary file")
        yield Check(WARN, "temps", "%s of writers that were killed, such as %s" % (number, left[0]), FIX)
    else:
        yield Check(OK, "temps", "no temporary files are left")
    caches = list(orphans(place, now))
    if caches:
        yield Check(WARN, "temps", "%s of workspaces that are gone, such as %s" % (
            terminal.count(len(caches), "cache"), caches[0]), FIX)


def orphans(place: paths.Place, now: float) -> Iterator[str]:
    """Yield the caches of workspaces that have no private tier, no receipts, and no change for 30 days."""
    for key in sorted(_listed(place.home + "/cache")):
        folder = place.home + "/cache/" + key
        if key in (place.key, "global") or os.path.islink(folder) or not files.is_folder(folder):
            continue
        kept = (place.home + "/workspaces/" + key, place.home + "/log/receipts/" + key)
        if not any(map(files.exists, kept)) and now - _changed(folder) > UNUSED:
            yield folder


def _changed(folder: str) -> float:
    """Return when something in a directory was last changed: seconds since the epoch."""
    newest = 0.0
    for at, _, names in os.walk(folder):
        for path in (at, *(at + "/" + name for name in names)):
            try:
                newest = max(newest, os.lstat(path).st_mtime)
            except OSError:
                continue
    return newest
