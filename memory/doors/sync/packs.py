"""Packs: the encrypted files that one of a person's machines sends to the others.

A pack is `<machine>/<number>.age`, or `<number>.base.age` with all records: encrypted to the
person's own key, with a proof that its holder wrote it.  Decrypted, it is lines of JSON below

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

MOST = 1 << 30  # bytes of a decompressed pack
VERSION = 1
LOGS = ("ledger.jsonl", archive.FOLDER + "/" + archive.LOG)
_WORKSPACE = re.compile(r"[a-z0-9-]{1,60}-[0-9a-f]{8}\Z")
_FOLDERS = frozenset(layout.FOLDERS.values())
_GLOBAL_FOLDERS = _FOLDERS.difference(layout.FOLDERS[kind] for kind in layout.TRANSCRIBED_KINDS)
_MAC = 64  # hex digits of the proof before a pack's lines
_PACK = re.compile(r"(\d{6})(\.base)?\.age\Z")
_MACHINE = re.compile(r"[a-z0-9-]{1,60}\Z")


class WrongKey(StoreError):
    """A pack encrypted to another key."""


class DamagedPack(StoreError):
    """An incomplete or changed pack.  It may be whole later."""


def write_new_key(path: str) -> None:
    """Write a new key into a private file.  Raises FileExistsError or another OSError."""
    identity = agefile.import_pyrage().x25519.Identity.generate()
    text = "# public key: %s\n%s\n" % (identity.to_public(), identity)
    files.create(path, text.encode("ascii"))


def tier_of_record(name: str) -> str:
    """Return the directory of a synced record's tier, "" for another name.

    name: below the home.
    """
    parts, folders = name.split("/"), _FOLDERS
    if parts[0] == "global":
        tier, inner, folders = "global", parts[1:], _GLOBAL_FOLDERS
    elif parts[0] == "workspaces" and len(parts) > 2 and _WORKSPACE.match(parts[1]):
        tier, inner = "/".join(parts[:2]), parts[2:]
    else:
        return ""
    kept = inner[1:] if inner[:1] == [archive.FOLDER] else inner
    is_record = len(kept) > 1 and kept[0] in folders and _is_portable(name)
    return tier if is_record else ""


def _is_portable(name: str) -> bool:
    """Tell whether every system allows a name, and no part is hidden."""
    if not name.endswith(".md") or not name.isprintable():
        return False
    if any(part[:1] in ("", ".") for part in name.split("/")):
        return False
    return bundle.is_safe_name(bundle.HOME + "/" + name)


def tier_of_log(name: str) -> str:
    """Return the directory of a synced log's tier, or ""."""
    root = next((name[: -len(log) - 1] for log in LOGS if name.endswith("/" + log)), "")
    return root if tier_of_record(root + "/rules/x.md") == root else ""


def list_packs(root: str) -> dict[str, dict[int, str]]:
    """Return the file names of each machine's packs by number.  Raises OSError."""
    found: dict[str, dict[int, str]] = {}
    for machine in sorted(os.listdir(root)):
        folder = root + "/" + machine
        if _MACHINE.match(machine) and files.is_folder(folder) and files.is_inside(folder, root):
            rows = [(_PACK.match(file), file) for file in sorted(os.listdir(folder))]
            found[machine] = {int(hit[1]): file for hit, file in rows if hit}
    return found


def select_unread(every: dict[int, str], seen: int) -> tuple[list[int], bool]:
    """Return (numbers of the packs to read, whether some are missing).

    every: its packs by number.  seen: the last number read.
    """
    later = [number for number in every if number > seen]
    bases = [number for number in later if ".base." in every[number]]
    start = end = max(bases, default=seen + 1)
    while end in every:
        end += 1
    return list(range(start, end)), bool(later) and end <= max(later)


def encrypt_pack(lines: Iterable[dict[str, Any]], machine: str, number: int, key: Any) -> bytes:
    """Encrypt a pack of lines, with a proof of its writer.

    key: one of age's `identities`.
    """
    head = {"v": VERSION, "dayleaf": __version__, "machine": machine, "number": number}
    text = "\n".join(json.dumps(line, separators=(",", ":")) for line in (head, *lines))
    data = text.encode("ascii")
    packed = zlib.compress(_sign(data, key) + data, 6)
    return bytes(agefile.import_pyrage().encrypt(packed, [key.to_public()]))


def decrypt_pack(data: bytes, machine: str, number: int, key: Any) -> list[dict[str, Any]]:
    """Return the lines of an encrypted pack.

    Raises WrongKey, DamagedPack (also for another pack), StoreError for a newer version's.
    """
    pyrage = agefile.import_pyrage()
    try:
        engine = zlib.decompressobj()
        plain = engine.decompress(pyrage.decrypt(data, [key]), MOST)
        proof, text = plain[:_MAC], plain[_MAC:]
        if not engine.eof or not hmac.compare_digest(proof, _sign(text, key)):
            raise DamagedPack("it was written with another key")
        head, *lines = map(json.loads, text.decode("ascii").split("\n"))
        if head["v"] > VERSION:
            raise StoreError(
                "it was written by a newer dayleaf (%s); update this one"
                % one_line(str(head["dayleaf"]), 20)
            )
        if (head["machine"], head["number"]) != (machine, number):
            raise DamagedPack("it belongs to another file")
        return lines
    except pyrage.DecryptError as error:
        fault = WrongKey if "matching keys" in str(error) else DamagedPack
        raise fault(one_line(str(error), 120)) from None
    except (zlib.error, ValueError, LookupError, TypeError) as error:
        raise DamagedPack(one_line(str(error), 120)) from None


def _sign(data: bytes, key: Any) -> bytes:
    secret = hashlib.sha256(b"dayleaf sync\0" + str(key).encode("ascii")).digest()
    return hmac.new(secret, data, "sha256").hexdigest().encode("ascii")
