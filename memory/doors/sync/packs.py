"""What goes from one of a person's machines to another: encrypted to their own key, with a proof
that its holder wrote it.

It is `<machine>/<number>.age`, or `<number>.base.age` for all there is.  Open, it is lines of JSON
below

    {"v":1,"dayleaf":"0.1.0","machine":"desk-1a2b3c4d","number":7}
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import zlib
from collections.abc import Iterable
from typing import Any

from memory import __version__
from memory.core import StoreError, files, layout
from memory.core.plaintext import one_line
from memory.health import agefile, bundle
from memory.store import archive

MOST = 1 << 30  # bytes that a message may unpack to
VERSION = 1
LOGS = ("ledger.jsonl", archive.FOLDER + "/" + archive.LOG)
_KEY = re.compile(r"[a-z0-9-]{1,60}-[0-9a-f]{8}\Z")
_FOLDERS = frozenset(layout.FOLDERS.values())
_MAC = 64  # hex digits in front of a message
_PACK = re.compile(r"(\d{6})(\.base)?\.age\Z")
_MACHINE = re.compile(r"[a-z0-9-]{1,60}\Z")


class Locked(StoreError):
    """A message encrypted to another key."""


class Damaged(StoreError):
    """A message that is incomplete or changed.

    It may be whole later.
    """


def new_key(path: str) -> None:
    """Write a key into a new file for its owner alone.

    Raises FileExistsError or another OSError.
    """
    identity = agefile.library().x25519.Identity.generate()
    files.create(
        path, ("# public key: %s\n%s\n" % (identity.to_public(), identity)).encode("ascii")
    )


def place_of(name: str) -> tuple[str, str]:
    """Return (tier's directory, path in it) of a synced file.

    The directory is below the home. ("", "") for any other name.
    """
    parts = name.split("/")
    size = 1 if parts[0] == "global" else 2
    inner = parts[size:]
    kept = inner[1:] if inner[:1] == [archive.FOLDER] else inner
    if (
        not _is_tier(parts)
        or len(kept) < 2
        or kept[0] not in _FOLDERS
        or (size == 1 and kept[0] in (layout.FOLDERS[kind] for kind in layout.SAID))
        or not _is_portable(name)
    ):
        return "", ""
    return "/".join(parts[:size]), "/".join(inner)


def _is_tier(parts: list[str]) -> bool:
    if parts[0] == "workspaces":
        return len(parts) > 2 and bool(_KEY.match(parts[1]))
    return parts[0] == "global"


def _is_portable(name: str) -> bool:
    """Tell whether every system allows a file's name, and nothing in it is hidden."""
    if not name.endswith(".md") or not name.isprintable():
        return False
    if any(part[:1] in ("", ".") for part in name.split("/")):
        return False
    return bundle.is_safe(bundle.HOME + "/" + name)


def log_of(name: str) -> str:
    """Return the tier's directory of a synced log, or ""."""
    root = next((name[: -len(log) - 1] for log in LOGS if name.endswith("/" + log)), "")
    return root if place_of(root + "/rules/x.md")[0] == root else ""


def packs(root: str) -> dict[str, dict[int, str]]:
    """Return each machine's file names by number.

    Raises OSError.
    """
    found: dict[str, dict[int, str]] = {}
    for machine in sorted(os.listdir(root)):
        folder = root + "/" + machine
        if _MACHINE.match(machine) and files.is_folder(folder) and files.inside(folder, root):
            rows = [(_PACK.match(file), file) for file in sorted(os.listdir(folder))]
            found[machine] = {int(hit[1]): file for hit, file in rows if hit}
    return found


def unread(every: dict[int, str], seen: int) -> tuple[list[int], bool]:
    """Return (a machine's unread numbers in order, whether some are missing).

    every: its files by number. seen: the last number read.
    """
    later = sorted(number for number in every if number > seen)
    bases = [number for number in later if ".base." in every[number]]
    start = bases[-1] if bases else seen + 1
    run = [
        number for at, number in enumerate(n for n in later if n >= start) if number == start + at
    ]
    return run, bool(later) and (not run or run[-1] != later[-1])


def sealed(lines: Iterable[dict[str, Any]], machine: str, number: int, key: Any) -> bytes:
    """Return a machine's file: encrypted, with proof of its writer.

    The proof shows that the holder of the key wrote it. key: one of `identities`, of age.
    """
    head = {"v": VERSION, "dayleaf": __version__, "machine": machine, "number": number}
    data = "\n".join(json.dumps(line, separators=(",", ":")) for line in (head, *lines)).encode(
        "ascii"
    )
    packed = zlib.compress(_proof(data, key) + data, 6)
    return bytes(agefile.library().encrypt(packed, [key.to_public()]))


def unsealed(data: bytes, machine: str, number: int, key: Any) -> list[dict[str, Any]]:
    """Return the lines of a machine's file.

    Raises Locked for another key, Damaged where it is not whole or another file, StoreError for a
    newer version's.
    """
    pyrage = agefile.library()
    try:
        engine = zlib.decompressobj()
        proved = engine.decompress(pyrage.decrypt(data, [key]), MOST)
        if not engine.eof or not hmac.compare_digest(proved[:_MAC], _proof(proved[_MAC:], key)):
            raise Damaged("it was written with another key")
        head, *lines = map(json.loads, proved[_MAC:].decode("ascii").split("\n"))
        if head["v"] > VERSION:
            raise StoreError(
                "it was written by a newer dayleaf (%s); update this one"
                % one_line(str(head["dayleaf"]), 20)
            )
        if (head["machine"], head["number"]) != (machine, number):
            raise Damaged("it belongs to another file")
        return lines
    except pyrage.DecryptError as error:
        raise (Locked if "matching keys" in str(error) else Damaged)(
            one_line(str(error), 120)
        ) from None
    except (zlib.error, ValueError, LookupError, TypeError) as error:
        raise Damaged(one_line(str(error), 120)) from None


def _proof(data: bytes, key: Any) -> bytes:
    secret = hashlib.sha256(b"dayleaf sync\0" + str(key).encode("ascii")).digest()
    return hmac.new(secret, data, "sha256").hexdigest().encode("ascii")
