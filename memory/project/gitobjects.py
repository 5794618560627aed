"""Objects of a git repository without a git process: loose ones and packs (index version 2, both
kinds of delta).

The repository's configuration has no effect, no link out of the git directory is followed, and
every reading is bounded: an object that is too large, damaged or elsewhere (alternates, shallow and
partial clones, SHA-256) is Missing, never wrong.
"""

from __future__ import annotations

import struct
import zlib
from typing import Iterator, NamedTuple

from memory.core import files, layout

OBJECT_LIMIT = 4 << 20  # bytes of one object
DEPTH = 300  # deltas of one object; git makes 50, with --aggressive 250
PACKS = 200  # packs that are looked into
TREE_ENTRIES = 50_000  # files of a commit that are walked
DELTA_BYTES = 64 << 20  # of all deltas of one object
KEPT_BYTES = 16 << 20  # of cached trees, and of cached bases of deltas
_TYPES = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFFSET, _REFERENCE = 6, 7  # types of deltas
_TREE = 0o040000
_MORE = 0x80  # bit of a number's byte: another byte follows
_COPY = 0x80  # bit of a delta's instruction: copy from the base


class Missing(Exception):
    """A git object is absent or cannot be read within the bounds."""


def _sha1(head: bytes, data: bytes) -> str:
    # Without `hashlib` where possible, whose import costs 0.4 of a bare start.
    try:
        from _sha1 import sha1 as digest  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha1 as digest
    state = digest(head)
    state.update(data)
    result: str = state.hexdigest()
    return result


class _Pack:
    """A pack's index and, once needed, its data, as open files."""

    def __init__(self, path: str):
        self.path, self.data_fd = path, -1
        self.index_fd = files.open_read(path + ".idx", follow=False)
        head = files.read_at(self.index_fd, 8 + 1024, 0)
        self.fan = list(struct.unpack(">256I", head[8:].ljust(1024, b"\0")))
        self.count, size = self.fan[-1], files.posix.fstat(self.index_fd).st_size
        has_magic, least = head[:8] == b"\xfftOc\0\0\0\2", 1032 + 28 * self.count + 40
        if not has_magic or size < least or self.fan != sorted(self.fan):
            self.close()
            raise OSError(22, "no pack index of version 2", path)

    def close(self) -> None:
        for fd in (self.index_fd, self.data_fd):
            if fd >= 0:
                files.posix.close(fd)

    def find(self, prefix: str) -> list[tuple[str, int]]:
        """Return up to two (hash, position in the index) with a prefix."""
        first = int(prefix[:2], 16)
        low = self.fan[first - 1] if first else 0
        return layout.find_in_pack(self.index_fd, low, self.fan[first], prefix)

    def data_offset(self, number: int) -> int:
        """Return where the object at an index position begins in the data."""
        at = self._read_integer(4, 1032 + 24 * self.count + 4 * number)
        if at < 1 << 31:
            return at
        # a row's number in the table of long offsets
        return self._read_integer(8, 1032 + 28 * self.count + 8 * (at & 0x7FFFFFFF))

    def _read_integer(self, size: int, at: int) -> int:
        return int.from_bytes(files.read_at(self.index_fd, size, at), "big")

    def read_header(self, at: int) -> tuple[int, int, bytes, int]:
        """Return (type, size, bytes at an offset, header's length)."""
        if self.data_fd < 0:
            self.data_fd = files.open_read(self.path + ".pack", follow=False)
        piece = files.read_at(self.data_fd, 4096, at)
        # a bit _MORE, 3 of the type, 4 of the size; then _MORE and 7 of the size
        size, used = piece[0] & 15, 1
        while piece[used - 1] & _MORE:
            size |= (piece[used] & 127) << (4 + 7 * (used - 1))
            used += 1
        return piece[0] >> 4 & 7, size, piece, used

    def inflate(self, at: int, size: int, piece: bytes) -> bytes:
        """Inflate an object.  piece: its first bytes, compressed; `at`: of the rest."""
        if size > OBJECT_LIMIT:
            raise Missing
        engine = zlib.decompressobj()
        out = [engine.decompress(piece, size + 1)]
        got = len(out[0])
        while not engine.eof and got <= size:
            more = engine.unconsumed_tail or files.read_at(self.data_fd, 1 << 16, at)
            at += 0 if engine.unconsumed_tail else len(more)
            if not more:
                break
            out.append(engine.decompress(more, size + 1 - got))
            got += len(out[-1])
        if got != size:
            raise Missing
        return b"".join(out)


class Entry(NamedTuple):
    """A row of a tree: mode and hash (40 hex digits)."""

    mode: int
    hash: str


class Objects:
    """Reads a repository's objects; a context manager.  git: a checkout's, "" for none."""

    def __init__(self, git: str):
        self.common = layout.find_common_git(git) if git else ""
        self.folder = self.common + "/objects"
        self._packs: list[_Pack] | None = None
        self._trees: dict[str, dict[bytes, Entry]] = {}
        self._bases: dict[tuple[_Pack, int], tuple[str, bytes]] = {}
        self._kept = self._bases_size = 0
        self._whole = self._inside = False

    def __enter__(self) -> Objects:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the open files; the reader may be used again."""
        for pack in self._packs or ():
            pack.close()
        self._packs = None
        self._bases.clear()

    @property
    def complete(self) -> bool:
        """Whether all objects are here: none elsewhere, unreadable or named by SHA-256."""
        self._open_packs()
        return self._whole

    def find(self, prefix: str) -> list[str]:
        """Return up to two hashes with a prefix of 4 to 40 hex digits."""
        found: set[str] = set()
        for pack in self._open_packs():
            found.update(hash for hash, _ in pack.find(prefix))
        names = files.list_folder(self.folder + "/" + prefix[:2]) if self._inside else []
        for name in names:
            if name.startswith(prefix[2:]) and len(name) == 38:
                found.add(prefix[:2] + name)
        return sorted(found)[:2]

    def read(self, hash: str) -> tuple[str, bytes]:
        """Return (type, content) of an object, checked against its hash; raises Missing."""
        try:
            kind, data = self._read_unchecked(hash)
        except (OSError, IndexError, ValueError, zlib.error):
            raise Missing from None
        # zlib's checksum does not cover the offset of a delta's base
        if _sha1(b"%s %d\0" % (kind.encode(), len(data)), data) != hash:
            raise Missing
        return kind, data

    def _read_unchecked(self, hash: str) -> tuple[str, bytes]:
        for pack in self._open_packs():
            for _, number in pack.find(hash):
                return self._read_packed(pack, pack.data_offset(number))
        return self._read_loose(hash)

    def tree_hash(self, commit: str) -> str:
        """Return the hash of a commit's tree; raises Missing."""
        kind, data = self.read(commit)
        if kind != "commit" or data[:5] != b"tree ":
            raise Missing
        return data[5:45].decode("ascii", "replace")

    def find_entry(self, commit: str, path: str) -> Entry | None:
        """Return a path's row in a commit, or None; raises Missing."""
        found: Entry | None = Entry(_TREE, self.tree_hash(commit))
        for part in path.encode("utf-8", "surrogateescape").split(b"/"):
            if found is None or found.mode != _TREE:
                return None
            found = self.read_tree(found.hash).get(part)
        return found

    def read_tree(self, tree: str) -> dict[bytes, Entry]:
        """Return the rows of a tree by name; raises Missing."""
        if tree in self._trees:
            return self._trees[tree]
        kind, data = self.read(tree)
        found: dict[bytes, Entry] = {}
        at = 0
        while kind == "tree" and at < len(data):
            end = data.find(b"\0", at)
            mode, _, name = data[at:end].partition(b" ")
            if end < 0 or not mode.isdigit():
                raise Missing
            found[name] = Entry(int(mode, 8), data[end + 1 : end + 21].hex())
            at = end + 21
        if self._kept + len(data) <= KEPT_BYTES:
            self._kept += len(data)
            self._trees[tree] = found
        return found

    def walk_files(self, commit: str) -> Iterator[tuple[str, str]]:
        """Yield (path, hash) of a commit's files.  Raises Missing, also above TREE_ENTRIES."""
        stack, seen = [("", self.tree_hash(commit))], 0
        while stack:
            prefix, tree = stack.pop()
            for name, row in self.read_tree(tree).items():
                seen += 1
                if seen > TREE_ENTRIES:
                    raise Missing
                path = prefix + name.decode("utf-8", "surrogateescape")
                if row.mode == _TREE:
                    stack.append((path + "/", row.hash))
                elif row.mode >> 12 == 8:  # no link, no submodule
                    yield path, row.hash

    def _open_packs(self) -> list[_Pack]:
        """Open the packs at the first call; set `_inside` and `_whole`."""
        if self._packs is not None:
            return self._packs
        self._packs = []
        if not self.common or not files.is_folder(self.folder):
            return self._packs
        folders = (self.folder + "/pack", self.folder)
        self._inside = all(files.is_inside(folder, self.common) for folder in folders)
        names = files.list_folder(self.folder + "/pack") if self._inside else []
        self._whole = self._inside and len(names) <= PACKS and not self._is_partial(names)
        for name in names[:PACKS]:
            if name.endswith(".idx"):
                try:
                    self._packs.append(_Pack(self.folder + "/pack/" + name[:-4]))
                except (OSError, IndexError):
                    self._whole = False
        return self._packs

    def _is_partial(self, names: list[str]) -> bool:
        elsewhere = (self.common + name for name in ("/shallow", "/objects/info/alternates"))
        if any(name.endswith(".promisor") for name in names) or any(map(files.exists, elsewhere)):
            return True
        try:
            config = files.read(self.common + "/config", 1 << 18).lower().replace(b" ", b"")
        except OSError:
            return True
        return b"objectformat=sha256" in config or b"partialclone=" in config

    def _read_loose(self, hash: str) -> tuple[str, bytes]:
        if not self._inside:
            raise Missing
        path = "%s/%s/%s" % (self.folder, hash[:2], hash[2:])
        data = files.read(path, OBJECT_LIMIT, follow=False)
        out = zlib.decompressobj().decompress(data, OBJECT_LIMIT + 64)
        head, _, content = out.partition(b"\0")
        kind, _, size = head.decode("ascii", "replace").partition(" ")
        if kind not in _TYPES.values() or not size.isdigit() or int(size) != len(content):
            raise Missing
        return kind, content

    def _read_packed(self, pack: _Pack, at: int) -> tuple[str, bytes]:
        deltas: list[tuple[int, bytes]] = []
        left = DELTA_BYTES
        while (pack, at) not in self._bases:
            kind, size, piece, used = pack.read_header(at)
            base = -1
            if kind == _OFFSET:
                back, used = read_offset(piece, used)
                base = at - back
            elif kind == _REFERENCE:
                hit = pack.find(piece[used : used + 20].hex())
                base, used = (pack.data_offset(hit[0][1]) if hit else -1), used + 20
            data = pack.inflate(at + len(piece), size, piece[used:])
            if kind in _TYPES:
                self._keep_base(pack, at, _TYPES[kind], data)
                break
            left -= len(data)
            if base < 12 or left < 0 or len(deltas) >= DEPTH:  # 12: the header of a pack
                raise Missing
            deltas.append((at, data))
            at = base
        name, data = self._bases[pack, at]
        for at, delta in reversed(deltas):
            data = _apply_delta(data, delta)
            self._keep_base(pack, at, name, data)
        return name, data

    def _keep_base(self, pack: _Pack, at: int, kind: str, data: bytes) -> None:
        self._bases_size += len(data)
        if self._bases_size > KEPT_BYTES:
            self._bases.clear()
            self._bases_size = len(data)
        self._bases[pack, at] = kind, data


def read_offset(piece: bytes, used: int) -> tuple[int, int]:
    """Return (a number in git's offset encoding, index behind it)."""
    found = piece[used] & 127
    while piece[used] & _MORE:
        used += 1
        found = (found + 1) << 7 | piece[used] & 127
    return found, used + 1


def _read_size(delta: bytes, at: int) -> tuple[int, int]:
    """Return (a number, 7 bits a byte, lowest first; index behind it)."""
    size = shift = 0
    while True:
        byte = delta[at]
        size |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if not byte & _MORE:
            return size, at


def _read_copy(delta: bytes, at: int, code: int) -> tuple[int, int, int]:
    """Return (start, size, end of the instruction) of a copy from the base."""
    start = size = 0
    for bit in range(7):
        if code >> bit & 1:
            if bit < 4:
                start |= delta[at] << 8 * bit
            else:
                size |= delta[at] << 8 * (bit - 4)
            at += 1
    return start, size or 0x10000, at


def _apply_delta(base: bytes, delta: bytes) -> bytes:
    """Return an object's bytes: its base with a delta applied.  Raises Missing."""
    before, at = _read_size(delta, 0)
    after, at = _read_size(delta, at)
    out: list[bytes] = []
    if before != len(base) or after > OBJECT_LIMIT:
        raise Missing
    length = 0
    while at < len(delta) and length <= after:
        code, at = delta[at], at + 1
        if not code & _COPY:
            out.append(delta[at : at + code])
            at += code
        else:
            start, size, at = _read_copy(delta, at, code)
            out.append(base[start : start + size])
        length += len(out[-1])
    if length != after:
        raise Missing
    return b"".join(out)
