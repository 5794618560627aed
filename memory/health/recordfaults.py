"""What is wrong in record files, line by line: what cannot be read, means nothing, leads nowhere or
must not stand there.

An error is what dayleaf cannot take as it was meant; a warning is what works, but hardly as it was
meant.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from memory.core import StoreError, UsageError, files, frontmatter, layout, plaintext, records
from memory.core.config import Config
from memory.core.layout import FOLDERS, Place
from memory.core.records import READ_LIMIT, Record
from memory.core.tokeniser import utf16
from memory.health import FAIL, WARN, Finding
from memory.hook import fence
from memory.project import sharing
from memory.recall import relations
from memory.store import activeplan, redactor
from memory.store.reader import WHOLE_LIMIT
from memory.store.secretshapes import spots
from memory.store.store import Store

TYPES = ("doc", "script")  # of a resource
ABOUT = "record"  # what every finding here is about
BODY_MOST = 16_000  # characters of a body that is not a document
_KEY = re.compile(
    r"(?:the )?(kind|id|source|confidence|status|created|updated)\b"
    r"|a rule needs a (rationale)|the key '([^']+)'"
)
_PROBLEM = re.compile(r"line (\d+): (.*)", re.S)


class Known(NamedTuple):
    """The names that links may use.

    targets: of records here. away: of archived ones. names: the files of each id.
    """

    targets: relations.Names
    away: dict[str, str]
    names: dict[str, list[str]]


def known(store: Store, found: Iterable[Record]) -> Known:
    """Return the names that links may use.

    found: the store's records.
    """
    nodes: list[relations.Node] = []
    names: dict[str, list[str]] = {}
    for record in found:
        nodes.append(relations.node(record))
        names.setdefault(record.id, []).append(record.name)
    return Known(
        relations.Names(nodes, store.successors()),
        relations.archived_ids_by_name(store.left()),
        names,
    )


def check_all(store: Store) -> tuple[int, list[Finding]]:
    """Check every record of a store's tiers.

    Returns (files looked at, faults by path and line).
    """
    found = list(store.each())
    skipped = [
        Finding(FAIL, ABOUT, one.reason, one.remedy, _path(store.place, one.name), max(one.line, 1))
        for one in store.skipped
    ]
    linked, out = known(store, found), list(skipped)
    for record in found:
        try:
            data = store.raw(record.name)
        except StoreError:  # gone meanwhile
            continue
        out += one(
            record.name, data, _path(store.place, record.name), store.place, store.config, linked
        )
    return len(found) + len(skipped), _sorted([*out, *_active(store.place, found)])


def check_files(store: Store, given: Sequence[str]) -> tuple[int, list[Finding]]:
    """Check files by their paths, in the store or outside.

    Returns (files looked at, faults by path and line). Raises UsageError for an unreadable file.
    """
    found = list(store.each())
    linked, out = known(store, found), list[Finding]()
    for path in given:
        try:
            data = files.read(path, WHOLE_LIMIT)
        except OSError as error:
            why = (error.strerror or "unreadable").lower()
            raise UsageError("%s: %s; give the path of a record's file" % (path, why)) from None
        name = _name(store, path)
        out += one(name, data, path, store.place, store.config, linked)
        out += [
            fault._replace(place=path)
            for fault in _active(store.place, found)
            if fault.place == _path(store.place, name)
        ]
    return len(given), _sorted(out)


def _sorted(found: Iterable[Finding]) -> list[Finding]:
    return sorted(found, key=lambda one: (one.place, one.line, one.is_error, one.what, one.remedy))


def one(
    name: str,
    data: bytes,
    path: str,
    place: Place,
    config: Config,
    linked: Known,
    secrets: bool = True,
) -> list[Finding]:
    """Return the findings of one file.

    name: its name in the index, or the one it would have. path: for the faults. linked: from
        `known`. secrets: look for these too.
    """
    if frontmatter.undecodable(data):
        return [Finding(FAIL, ABOUT, "not UTF-8 text", "save it as UTF-8", path, 1)]
    record, lines = records.from_bytes(name, data[:READ_LIMIT], 0.0), frontmatter.key_lines(data)
    text = data.decode("utf-8-sig", "replace")
    rows = [
        *_read(record, lines),
        *size_rows(record, len(data), lambda: data),
        *_keys(record, lines),
        *_versions(record, lines),
        *_hidden(text),
    ]
    at = sharing.marker_line(data)
    rows += (
        [
            (
                at,
                True,
                "it holds markers of an unfinished merge",
                "keep the right lines, remove the markers",
            )
        ]
        if at
        else []
    )
    rows += _links(record, text, lines, linked)
    rows += _resource(record, lines, place) if record.kind == "resource" else []
    rows += (
        secret_rows(text, config["redact.allow"], place.key)
        if secrets and config["redact.enabled"]
        else []
    )
    twins = [twin for twin in linked.names.get(record.id, ()) if twin != name]
    if twins:
        rows.append(
            (
                lines.get("id", 1),
                True,
                "%s is the id of %s too" % (record.id, _path(place, twins[0])),
                "change or remove the line `id:` in one of them",
            )
        )
    return _sorted(
        [
            Finding(FAIL if error else WARN, ABOUT, what, remedy, path, line)
            for line, error, what, remedy in rows
        ]
    )


Row = tuple[int, bool, str, str]


def _read(record: Record, lines: dict[str, int]) -> list[Row]:
    """Return the problems of reading as rows."""
    rows = []
    for problem in record.problems:
        match = _PROBLEM.match(problem)
        line, said = (int(match[1]), match[2]) if match else (1, problem)
        key = _KEY.match(said)
        if key and line == 1:
            line = lines.get(key[1] or key[2] or key[3], 1)
        what, _, remedy = said.rpartition("; ")
        remedy = "use one of these; now it is " + remedy if remedy.startswith("read as") else remedy
        rows.append((line, True, what or said, remedy if what else "correct it by hand"))
    return rows


def size_rows(record: Record, size: int, raw: Callable[[], bytes]) -> list[Row]:
    """Report a record longer than its readers accept.

    size: of its file. raw: returns its file's bytes.
    """
    if size > READ_LIMIT:
        data = raw()
        return [
            (
                data.count(b"\n", 0, READ_LIMIT) + 1,
                True,
                "only the first 1 MiB of %.1f is read" % (len(data) / READ_LIMIT),
                "split the file",
            )
        ]
    rule = record.kind == "rule" and utf16(record.body) > fence.ITEM_UNITS
    if not rule and (
        record.kind not in ("rule", "learning", "plan") or len(record.body) <= BODY_MOST
    ):
        return []
    first = frontmatter.parse(raw()[:READ_LIMIT]).head_lines + 1
    return [
        (
            first,
            False,
            "a prompt gets about %d characters of a rule, but this one has %d"
            % (fence.ITEM_UNITS, len(record.body)),
            "shorten it, and link to the explanation",
        )
        if rule
        else (
            first,
            False,
            "its body has %d characters" % len(record.body),
            "split it, or make it a resource, which may be long",
        )
    ]


def _keys(record: Record, lines: dict[str, int]) -> list[Row]:
    """Find keys without effect and rules that never bind."""
    rows: list[Row] = []
    if record.kind == "rule" and record.unsure and not record.problems:
        rows.append(
            (
                record.unsure[0],
                False,
                "can be read in two ways, so the rule never binds",
                "write its value on one line, in quotes",
            )
        )
    if "approved" in record.meta:
        rows.append(
            (
                lines.get("approved", 1),
                False,
                "`approved` in a file means nothing",
                "remove it; `dayleaf %s approve %s` in a terminal approves the %s"
                % (
                    ("resource", record.id, "script")
                    if record.kind == "resource"
                    else ("rule", record.id, "rule")
                ),
            )
        )
    weighed = record.kind == "learning" and (
        record.source == "auto" or "origin" in record.meta or not record.accepted
    )
    if "accepted" in record.meta and not weighed:
        rows.append(
            (
                lines.get("accepted", 1),
                False,
                "`accepted` means nothing for a %s by %s"
                % (
                    record.kind,
                    {"auto": "dayleaf itself", "agent": "an agent"}.get(record.source, "a human"),
                ),
                "remove it",
            )
        )
    return rows


def _versions(record: Record, lines: dict[str, int]) -> list[Row]:
    """Find versions with a blank, which match no other."""
    return [
        (
            lines.get("versions", 1),
            True,
            "the version '%s' contains a space" % version[:40],
            "separate several versions with commas",
        )
        for version in record.versions
        if len(version.split()) > 1
    ]


def _hidden(text: str) -> list[Row]:
    found = list(re.finditer(plaintext.HIDDEN, text))
    if not found:
        return []
    code, number = ord(found[0][0]), len(found)
    named = "U+%04X" % code + (", which starts an escape sequence" if code == 27 else "")
    what = (
        "a hidden character, " + named
        if number == 1
        else "%d hidden characters, the first %s" % (number, named)
    )
    return [(text.count("\n", 0, found[0].start()) + 1, True, what, "remove it")]


def secret_rows(text: str, allow: Sequence[str], salt: str) -> list[Row]:
    """Find secrets and private parts.

    allow: strings that may stay. salt: a place's key.
    """
    done = redactor.redact(text, allow, salt)
    rows = []
    for found in done.found:
        at = done.text.find("[redacted:%s#%s]" % (found.kind, found.tag))
        private = found.kind == "private"
        rows.append(
            (
                done.text.count("\n", 0, max(at, 0)) + 1,
                True,
                "a <private> part" if private else "a secret (%s)" % found.kind,
                "remove it"
                + (
                    ""
                    if private
                    else ", then replace the secret; `redact.allow` lets a string stay"
                ),
            )
        )
    return rows


def _links(record: Record, text: str, lines: dict[str, int], linked: Known) -> list[Row]:
    rows, source = list[Row](), relations.node(record)
    for link in record.links:
        line = line_of(link.target, text, lines.get("links", 1))
        edge = relations.edge(source, link.relation, link.target, linked.targets, linked.away)
        if edge.wrong:
            known = link.relation in relations.RELATIONS
            rows.append(
                (
                    line,
                    True,
                    edge.wrong,
                    "use related_to, or link other records" if known else "use one of these",
                )
            )
        if edge.away:
            rows.append(
                (
                    line,
                    False,
                    "it links to %s, which is archived" % link.target,
                    "`dayleaf store restore %s`, or remove the link" % edge.away,
                )
            )
        elif edge.dangling:
            near = linked.targets.nearest(link.target, source)
            rows.append(
                (
                    line,
                    False,
                    "it links to '%s', which is not a record here" % link.target[:80],
                    "did you mean %s '%s'? if not, remove the link" % (near.id, near.title[:80])
                    if near
                    else "give an id, a file or a title, or remove the link",
                )
            )
        elif edge.also:
            rows.append(
                (
                    line,
                    False,
                    "it links to '%s', the name of %d records; it means the newest, %s"
                    % (link.target[:80], len(edge.also) + 1, edge.to.id if edge.to else ""),
                    "name it by its id",
                )
            )
    return rows


def line_of(target: str, text: str, start: int) -> int:
    """Return the line from `start` on with a target, else `start`."""
    return next(
        (
            number
            for number, line in enumerate(text.split("\n"), 1)
            if number >= start and target in line
        ),
        start,
    )


def _resource(record: Record, lines: dict[str, int], place: Place) -> list[Row]:
    kind, path = records.meta_text(record, "type"), records.meta_text(record, "path")
    rows: list[Row] = []
    if kind and kind.lower() not in TYPES:
        rows.append(
            (
                lines.get("type", 1),
                True,
                "type '%s' is unknown" % kind[:40],
                "use one of " + ", ".join(TYPES),
            )
        )
    if not path:
        rows.append(
            (lines.get("path", 1), True, "a resource needs a path", "add a line `path: ...`")
        )
        return rows
    if record.tier == layout.SHARED and os.path.isabs(path):
        rows.append(
            (
                lines.get("path", 1),
                True,
                "the path of a shared resource is not relative to its repository",
                "write it relative to %s" % place.root,
            )
        )
        return rows
    root = place.root or place.project
    whole = (
        path
        if os.path.isabs(path)
        else root + "/" + path
        if root and record.tier != layout.GLOBAL
        else ""
    )
    if whole and "://" not in path and not files.exists(whole):
        rows.append(
            (
                lines.get("path", 1),
                True,
                "its path '%s' is gone" % path[:200],
                "correct the path, or `dayleaf record forget %s`" % record.id,
            )
        )
    return rows


def _active(place: Place, found: Iterable[Record]) -> list[Finding]:
    """Report each active plan but the newest, which alone counts."""
    standing = activeplan.active(found)
    return [
        Finding(
            WARN,
            ABOUT,
            "a newer plan is active too: %s" % standing[0].id,
            "`dayleaf plan done %s` or `plan drop %s`" % (plan.id, plan.id),
            _path(place, plan.name),
            1,
        )
        for plan in standing[1:]
    ]


def _name(store: Store, path: str) -> str:
    """Return a file's name in the index, or by its folder."""
    real = files.real_path(path)
    for letter, root in store.roots.items():
        if real.startswith(root + "/"):
            return letter + real[len(root) :]
    folder, _, file = real.rpartition("/")
    kind = folder.rpartition("/")[2]
    return "%s/%s/%s" % (
        layout.PRIVATE,
        kind if kind in FOLDERS.values() else FOLDERS["learning"],
        file,
    )


def _path(place: Place, name: str) -> str:
    root = dict(place.tiers()).get(name[:1])
    return root + name[1:] if root else name


_OLD = r"(?:previous|prior|earlier|preceding|foregoing|above|existing|system)"
_ORDERS = r"(?:instructions?|prompts?|rules|directions|directives|guidelines|messages)"
# Orders to a model, in the languages that memories come in.
_SAID = re.compile(
    (
        r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|of|the|your|my"
        r"|those|these)\s+){0,3}"
    )
    + _OLD
    + r"\s+(?:\w+\s+)?"
    + _ORDERS
    + (
        r"\b|\b(?:ignore|disregard|forget|override)\s+(?:all\s+(?:of\s+)?)?(?:your"
        r"|everything\s+in\s+your)\s+(?:\w+\s+)?"
    )
    + _ORDERS
    + (
        r"\b|\b(?:do not|don't|never)\s+(?:tell|inform|alert|notify"
        r"|show)\s+(?:this\s+to\s+)?the\s+(?:user|human|developer)\b(?!\s+(?:that|which|an?\b"
        r"|the\b))|\bwithout\s+(?:ever\s+)?(?:telling|informing|alerting|notifying)\s+the\s+(?:user"
        r"|human|developer)\b|\b(?:reveal|repeat|print|output|leak|disclose)\s+(?:\w+\s+)?(?:your"
        r"|the)\s+(?:entire\s+|full\s+)?(?:system|hidden|initial)\s+prompt\b"
        r"|\byou\s+are\s+now\s+(?:in\s+)?(?:an?\s+)?(?:DAN\b|jailbroken|unrestricted"
        r"|developer\s+mode|god\s+mode)|^[^\w\n]{0,20}(?:important\s+)?(?:new|updated"
        r"|override)\s+(?:system\s+)?instructions?\s*(?:for\s+(?:the\s+)?(?:ai|assistant|model"
        r"|claude)\s*)?:|\b(?:send|post|upload|exfiltrate|forward|append|include)\b(?:[^.\n]"
        r"|\.(?=\w)){0,80}(?:\b(?:api[ _-]?keys?|credentials|passwords?|secrets|tokens"
        r"|private keys?|ssh keys?|environment variables?)\b"
        r"|\.env\b)(?:\s+[\w']+){0,5}\s+to\s+<?https?://|(?:이전|위의?|앞의?"
        r"|기존)\s*(?:모든\s*)?(?:지시|명령|지침|프롬프트)(?:\s*사항)?(?:들)?(?:을|를|은"
        r"|는)?\s*(?:모두|전부)?\s*(?:무시|잊)|(?:忽略|无视|無視|忘记|忘記|忽視)(?:掉|所有|之前"
        r"|以上|上述|先前|前面|一切|全部|的){1,4}(?:指令|指示|提示|规则|規則|命令)|(?:以前|これまで"
        r"|上記|前|先)の(?:すべての|全ての)?(?:指示|命令|プロンプト|ルール)を(?:すべて"
        r"|全て)?(?:無視|忘れ)|\b(?:ignoriere|vergiss"
        r"|missachte)\w*\s+(?:bitte\s+)?(?:alle\s+)?(?:vorherigen|bisherigen|obigen|früheren"
        r"|vorigen)\s+(?:Anweisungen|Instruktionen|Regeln|Befehle)\b"
    ),
    re.I | re.M,
)
# Markup that speaks as the host, the system or a tool.
_MARKUP = re.compile(
    r"</?(?:antml:\w+|function_calls|function_results|tool_use|tool_result|system-reminder"
    r"|dayleaf-(?:memory|rules)|user-prompt-submit-hook|local-command-stdout)\b[^<>\n]{0,200}>"
    r"|<invoke\s+name=|<\|(?:im_start|im_end|system|endoftext)\|>|\[/?INST\]|<</?SYS>>"
    r"|\{\s*\"type\"\s*:\s*\"tool_use\"\s*,",
    re.I,
)
# Characters that reorder a line or spell in secret, those of a flag apart.
_CONCEALED = re.compile(
    "[\u202a-\u202e\u2066-\u2069]|(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0001\U000e0020-"
    "\U000e007f]|[\u200b\u200c\u2060-\u2064]{4,}"
)
# Addresses that carry something along, or run something.
_ADDRESS = re.compile(
    r"!?\]\(\s*<?(?:javascript:|data:text/html)|https?://[^\s<>()\"'`]{1,300}[?&][\w.-]{1,40}="
    r"(?:\$\(|\$\{|\{\{|<[A-Za-z_ ]+>)|!\[[^\]\n]{0,200}\]\(\s*<?https?://[^\s()]{1,300}[?&]"
    r"[\w.-]{1,40}=[A-Za-z0-9+/_=%-]{64,}",
    re.I,
)
BLOB = 80  # characters of a line of base64
_BLOB = re.compile(
    r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{%d,}(?:\r?\n[A-Za-z0-9+/]{40,})*={0,2}(?![A-Za-z0-9+/_-])"
    % BLOB
)
# What a match holds at the least, in small letters: one word of each group of a row.  No other text
# is searched: most are not.
_NEEDS = tuple(
    tuple(tuple(tuple(group.split()) for group in row) for row in rows)
    for rows in (
        (
            (
                "ignore disregard forget override bypass",
                "instruction prompt rules directi guidelines messages",
            ),
            ("user human developer", "tell inform alert notify show", "not don't never without"),
            ("prompt", "system hidden initial", "reveal repeat print output leak disclose"),
            ("you", "are", "now", "dan jailbroken unrestricted developer god"),
            ("instruction", ":", "new updated override"),
            (
                "http",
                "://",
                "send post upload exfiltrate forward append include",
                "key credential password secret token variable .env",
            ),
            ("이전 위 앞 기존", "무시 잊"),
            ("忽略 无视 無視 忘记 忘記 忽視",),
            ("を", "無視 忘れ"),
            ("ignoriere vergiss missachte",),
        ),
        (
            (
                "<",
                (
                    "antml: function_ tool_ system-reminder dayleaf- user-prompt-submit-hook "
                    "local-command-stdout <invoke <| <<sys>>"
                ),
            ),
            ("inst]",),
            ("{", "tool_use"),
        ),
        (("](", "javascript: data:text/html"), ("http", "=$( =${ ={{ =<"), ("![", "http", "=")),
    )
)
_SORTS = (
    ("an order to the model", _SAID, _NEEDS[0]),
    ("markup that speaks as the host", _MARKUP, _NEEDS[1]),
    ("hidden characters", _CONCEALED, ()),
    ("an address that carries data", _ADDRESS, _NEEDS[2]),
)
# what `re.I` takes for these letters and `lower` does not
_FOLDED = {0x130: "i", 0x131: "i", 0x17F: "s"}
MOST = 50  # places of a sort that are looked at
LONG = 1000  # characters from which base64 is a blob whatever it holds


def find(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, sort) of the suspicious texts in a record.

    Each sort once, with its first line from 1.
    """
    flat = text.lower() if text.isascii() else text.translate(_FOLDED).lower()
    for what, expression, needs in _SORTS:
        for hit in islice(expression.finditer(text) if _may_hold(flat, needs) else (), MOST):
            if not _is_mentioned(text, hit.start(), hit.end()) or expression is _CONCEALED:
                yield text.count("\n", 0, hit.start()) + 1, what
                break
    long = max(map(len, text.split()), default=0) >= BLOB
    for hit in islice(_BLOB.finditer(text), MOST) if long else ():
        what = _blob(hit[0])
        if what:
            yield text.count("\n", 0, hit.start()) + 1, what
            break


def _may_hold(flat: str, needs: Sequence[Sequence[Sequence[str]]]) -> bool:
    """Tell whether a text holds the words that a match needs."""
    return (
        any(all(any(word in flat for word in group) for group in row) for row in needs)
        if needs
        else not flat.isascii()
    )


def _is_mentioned(text: str, start: int, end: int) -> bool:
    """Tell whether a match is only quoted, in backticks or a fence."""
    line = text.rfind("\n", 0, start) + 1
    after = text.find("\n", end)
    if text.count("`", line, start) % 2 and "`" in text[end : after if after >= 0 else len(text)]:
        return True
    return sum(text.rfind("\n", 0, at) + 1 == at for at in spots(text[:start], "```")) % 2 == 1


def _blob(found: str) -> str:
    """Describe the content of a base64 run."""
    joined = "".join(found.split())
    if (
        joined.isalpha()
        and (joined.islower() or joined.isupper())
        or re.fullmatch(r"[0-9a-fA-F]+|(.)\1*", joined)
    ):
        return ""
    try:
        data = base64.b64decode(joined + "=" * (-len(joined) % 4), validate=True)
        said = data.decode("utf-8")
    except ValueError:
        said = ""
    if " " in said and sum(char.isprintable() or char in "\n\t\r" for char in said) > 0.95 * len(
        said
    ):
        return "text hidden in base64"
    is_long = len(joined) >= LONG and not joined.isalnum()
    return "a base64 blob of {:,} characters".format(len(joined)) if is_long else ""
