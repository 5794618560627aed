"""Find what a text names: tickets, files, identifiers, commits, ids of records, branches."""

from __future__ import annotations

from memory.hook import segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_EDGES = "\"'`.,:;!?()[]{}<>*|=…"
_HEX = frozenset("0123456789abcdef")
_NUMBERED = ("pr", "prs", "pull", "issue")  # words before a number that make it a handle
_TRACKERS = ("linear", "jira", "ticket", "issue", "story")  # words before a ticket in small letters
# No tickets: the names of standards.
_STANDARDS = frozenset("utf sha iso rfc gpt aes rsa md cp utc gmt tls http ip us ascii".split())
_DOMAINS = ("com", "io", "org", "net", "dev")


def extract_handles(text: str) -> list[str]:
    """Return a text's tickets, files, identifiers, hashes and options in lower case."""
    handles: dict[str, None] = {}
    before = ""
    for raw in text.split():
        word = raw.strip(_EDGES)
        handles.update((name.lower(), None) for name in _extract_word_handles(word, before))
        before = word.lower()
    return list(handles)


def extract_ids(text: str) -> list[str]:
    """Return the words of a text that may be ids of records or sessions."""
    words = [raw.strip(_EDGES) for raw in text.split()]
    # a session's id, or a record's such as c-1a2b3c4d
    ids = [word for word in words if len(word) == 36 or (len(word) == 10 and word[1] == "-")]
    return [id for id in ids if _HEX.issuperset(id[2:].replace("-", ""))]


def names_branch(text: str, branch: object) -> bool:
    """Tell whether a text names a branch or its ticket; plain words name none."""
    name, *tickets = map(str.lower, segment.list_branch_names(branch) or [""])
    words = {raw.strip(_EDGES).lower() for raw in text.split()} if name else set()
    if not words.isdisjoint(word for word in (name, str(branch).lower()) if not word.isalpha()):
        return True
    return bool(tickets) and any(name in tickets for name in extract_handles(text))


def is_ticket(name: str) -> bool:
    """Tell whether a handle names a ticket, issue or pull request."""
    head, _, number = name.partition("-")
    return name[:1] == "#" or (number.isdigit() and head.isalpha())


def _extract_word_handles(word: str, before: str) -> Sequence[str]:
    if "://" in word:
        return _extract_issue_numbers(word)
    if word[:3].lower() == "pr#":
        word, before = word[2:].partition("'")[0], "pr"
    if word[:2] == "--":
        return [word.partition("=")[0]] if len(word) > 5 else ()
    if _is_commit_hash(word):
        return [word]
    key = _parse_issue_number(word, before) or _parse_ticket(word, before)
    if key:
        return [key]
    return _extract_names(word.partition("(")[0].partition(":")[0].partition("=")[0])


def _extract_issue_numbers(url: str) -> list[str]:
    parts = url.split("/")
    return [
        "#" + number
        for part, number in zip(parts, parts[1:])
        if part in ("pull", "issues") and number.isdigit()
    ]


def _parse_issue_number(word: str, before: str) -> str:
    """Return a number as `#12` where it names an issue, else ""."""
    number = word.lstrip("#")
    if not number.isdigit():
        return ""
    is_handle = before in _NUMBERED or (word[0] == "#" and len(number) > 2)
    return "#" + number if is_handle else ""


def _is_commit_hash(word: str) -> bool:
    if word.isdigit() or word.isalpha():
        return False
    return 7 <= len(word) <= 40 and _HEX.issuperset(word)


def _parse_ticket(word: str, before: str) -> str:
    """Return the ticket that a word names, such as `ABC-12`, or ""."""
    is_branch = word.count("/") == 1 and word.count("-") > 1
    head, dash, number = word.rpartition("/")[2].partition("-")
    number = number.partition("-")[0] if is_branch else number
    if not number.isdigit() or not head.isalpha():
        return ""
    if not 2 <= len(head) <= 8 or head.lower() in _STANDARDS:
        return ""
    is_key = head.isupper() or is_branch or before in _TRACKERS
    return head + dash + number if is_key else ""


def _extract_names(word: str) -> Sequence[str]:
    """Return the file name in a word, else its identifiers."""
    file = word.rpartition("/")[2]
    stem, _, end = file.rpartition(".")
    if len(stem) > 1 and _is_extension(end):
        return [file]
    return [
        piece
        for piece in word.replace("/", ".").split(".")
        if len(piece) >= 6
        and piece.isascii()
        and piece.replace("_", "").isalnum()
        and ("_" in piece.strip("_") or _is_camel(piece))
    ]


def _is_extension(text: str) -> bool:
    """Tell whether a text is the extension of a file, not a domain."""
    if not text.isalpha() or not text.islower():
        return False
    return 1 < len(text) <= 5 and text not in _DOMAINS


def _is_camel(word: str) -> bool:
    return any(a.islower() and b.isupper() for a, b in zip(word, word[1:]))
