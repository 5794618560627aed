"""Providers of vectors: a local command reads JSON Lines {"id", "text"} on stdin and writes {"id",
"vector"} on stdout.

One process a call, with its own session, an empty temporary directory, an environment of a few
harmless variables and the nesting guard, a deadline, and a cap on output.  Texts go through stdin:
argv is public.  An answer with one bad vector is rejected whole.

The vectors of queries are cached, so that a repeated query starts no provider.  Schema of
`<home>/cache/queries.db`, version 1 (PRAGMA user_version), SQLite: one table `queries` with `key`
(SHA-256 of the label, a zero byte and the query: the text itself is never stored), `vector` (u32
little-endian crc32, then float32 numbers) and `used` (seconds since the epoch).  At most MOST rows,
the ones used last.  A damaged cache counts as empty.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from math import fsum, isfinite, isnan, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from memory.core import ProviderError, UsageError, boundary, files, layout
from memory.store import process

if TYPE_CHECKING:
    import sqlite3

    from memory.core.config import Config
    from memory.core.layout import Place

    Vector = array[float]

BUILTIN, BUILTIN_LABEL = "minilm", "all-MiniLM-L6-v2"
LATIN, ALL = "latin", "all"
LEAST_DIMS, MOST_DIMS = 8, 8192
NUMBER_BYTES = 26  # of one number of a vector as JSON, its comma included
SLACK = 1 << 16  # bytes of output beside the vectors
SECONDS = 60.0  # for one run of a provider
NO_LIMIT = 10**9  # seconds
MOST = 500  # cached queries
FRESH = 3600.0  # seconds after which a use is recorded again
VERSION = 1
WAIT = 0.2  # seconds for another process's write

# The variables that a provider may see: nobody can name every secret that it must not.  A command
# that needs more (a key, a proxy) is wrapped in a script that sets it.
ENVIRONMENT = frozenset(
    "HOME USER LOGNAME LANG LANGUAGE TZ TMPDIR TEMP TMP SYSTEMROOT COMSPEC PATHEXT USERPROFILE "
    "APPDATA LOCALAPPDATA XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME OMP_NUM_THREADS "
    "OPENBLAS_NUM_THREADS MKL_NUM_THREADS LD_LIBRARY_PATH DYLD_LIBRARY_PATH CUDA_VISIBLE_DEVICES "
    "HF_HOME OLLAMA_HOST OLLAMA_MODELS".split()
)


class Provider(NamedTuple):
    """A command that embeds texts.

    command: a program, absolute or on PATH. label: the name of its model; vectors of two labels are
        never compared. timeout: seconds for one process. scripts: `latin` or `all`.
    """

    command: str
    args: tuple[str, ...]
    label: str
    timeout: float
    scripts: str = ALL

    @property
    def digest(self) -> str:
        """Sixteen hex digits of a hash of the command and its arguments."""
        words = "\0".join((self.command, *self.args))
        return files.sha256(words.encode("utf-8", "surrogateescape"))[:16]


def _split_command(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        message = "'%s' is not a command: %s; quote it as for a shell"
        raise UsageError(message % (command[:200], error)) from None


def load_provider(settings: Config, override: str, env: Mapping[str, str]) -> Provider | None:
    """Return the configured provider, or None.

    settings: `embeddings.*`. override: a command in shell syntax, `minilm`, or "" for the settings.
        env: DAYLEAF_HOME, HOME. Without `embeddings.modelLabel` the whole command is the label, so
        that other arguments mean another model. Raises UsageError for an invalid command.
    """
    command = str(settings["embeddings.provider.command"])
    args, label = settings["embeddings.provider.args"], str(settings["embeddings.modelLabel"])
    if not all(isinstance(word, str) for word in args):
        raise UsageError(
            "embeddings.provider.args is not a list of words; set it to the command's arguments"
        )
    words = _split_command(override)
    if words and words != [command]:
        command, args, label = words[0], words[1:], ""
    if not command:
        return None
    if any("\0" in word for word in (command, *args)):
        raise UsageError("embeddings.provider holds a zero byte; set it to a command")
    is_builtin = command == BUILTIN
    model = BUILTIN_LABEL if is_builtin else os.path.basename(command)
    label = label or " ".join((model, *args))
    if not is_builtin:
        return Provider(command, tuple(args), label, SECONDS, ALL)
    python = layout.find_home(dict(env)) + "/runtime/bin/python"
    if not files.exists(python):
        python = sys.executable
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), BUILTIN + ".py")
    return Provider(python, ("-I", script, *args), label, SECONDS, LATIN)


def embed(
    provider: Provider,
    texts: Sequence[tuple[str, str]],
    env: Mapping[str, str],
    deadline: float = NO_LIMIT,
) -> dict[str, Vector]:
    """Embed texts and return their vectors by id.

    float32 of length 1, all of one dimension. texts: (id, text), every id once. env: only
    ENVIRONMENT and PATH reach the provider. deadline: seconds, where less than the provider's
    timeout. Without texts no process starts. Raises ProviderError with the fault on one line.
    """
    if not texts:
        return {}
    argv = [_find_program(provider.command, env), *provider.args]
    rows = [
        json.dumps({"id": ident, "text": text.encode("utf-8", "replace").decode("utf-8")})
        for ident, text in texts
    ]
    stdin = ("\n".join(rows) + "\n").encode("ascii")
    limit = SLACK + len(texts) * (MOST_DIMS * NUMBER_BYTES + SLACK // 16)
    seconds = max(0.0, min(provider.timeout, deadline))
    out = _run(argv, stdin, seconds, _make_environment(env), limit)
    return _parse_vectors(out, [ident for ident, _ in texts])


# --- The process ----------------------------------------------------------------------------------


def _find_program(command: str, env: Mapping[str, str]) -> str:
    """Find a program, never in the current directory; raises ProviderError."""
    found = process.which(command, env)
    if found:
        return found
    why = " is not on PATH"
    if os.path.dirname(command):
        why = "; set embeddings.provider.command to an absolute path"
    raise ProviderError("command not found: %s%s" % (printable_line(command), why))


def _make_environment(env: Mapping[str, str]) -> dict[str, str]:
    if env.get(boundary.NESTED):
        raise ProviderError("a provider or model that dayleaf started cannot start a provider")
    passed = {
        key: value for key, value in env.items() if key in ENVIRONMENT or key.startswith("LC_")
    }
    return {**passed, "PATH": process.keep_absolute(env.get("PATH", "")), boundary.NESTED: "1"}


def _run(
    argv: Sequence[str], stdin: bytes, seconds: float, env: Mapping[str, str], limit: int
) -> bytes:
    """Run a command and return its stdout; raises ProviderError."""
    try:
        done = process.run(argv, stdin, seconds, env, "", limit)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ProviderError("%s does not start: %s" % (printable_line(argv[0]), why)) from None
    if done.full:
        raise ProviderError("over %d KB of output for %d bytes of text" % (limit >> 10, len(stdin)))
    if not done.in_time:
        raise ProviderError("timeout: no answer within %g s" % round(seconds, 2))
    if done.rc:
        status = "exit status %d" if done.rc > 0 else "killed by signal %d"
        lines = [line for line in done.err.decode("utf-8", "replace").splitlines() if line.strip()]
        why = printable_line(lines[0]) if lines else "nothing on stderr"
        raise ProviderError("%s: %s" % (status % abs(done.rc), why))
    return done.out


def printable_line(value: str) -> str:
    """Return a text as one short line of printable characters."""
    line = " ".join(value.split())[:160]
    return "".join(c if c.isprintable() else "?" for c in line)


# --- The answer -----------------------------------------------------------------------------------


def _parse_rows(out: bytes) -> Iterator[tuple[str, list[Any]]]:
    for number, line in enumerate(out.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            ident, vector = row["id"], row["vector"]
        except (ValueError, KeyError, TypeError, RecursionError):
            ident = vector = None
        if not isinstance(ident, str) or not isinstance(vector, list):
            raise ProviderError(
                'line %d of the output is not {"id": text, "vector": numbers}' % number
            )
        yield ident, vector


def _parse_vectors(out: bytes, ids: Sequence[str]) -> dict[str, Vector]:
    """Parse and check a provider's output; raises ProviderError."""
    found: dict[str, Vector] = {}
    wanted, dims = set(ids), 0
    for ident, values in _parse_rows(out):
        if ident not in wanted:
            raise ProviderError(
                "a vector for an id that was not asked for: '%s'" % printable_line(ident)
            )
        if ident in found:
            raise ProviderError("two vectors for the id '%s'" % printable_line(ident))
        dims = dims or len(values)
        if len(values) != dims:
            raise ProviderError("one vector has %d numbers, another %d" % (dims, len(values)))
        if not LEAST_DIMS <= dims <= MOST_DIMS:
            raise ProviderError(
                "vector of %d numbers; %d to %d are possible" % (dims, LEAST_DIMS, MOST_DIMS)
            )
        found[ident] = _normalise(values)
    if len(found) != len(wanted):
        raise ProviderError("%d of %d vectors" % (len(found), len(wanted)))
    return found


def _normalise(values: Sequence[Any]) -> Vector:
    """Return numbers as a vector of length 1; raises ProviderError."""
    if not all(type(value) in (int, float) for value in values):
        raise ProviderError("a vector holds something that is not a number")
    try:
        numbers = list(map(float, values))
    except OverflowError:
        raise ProviderError("a number in a vector is too large") from None
    if not all(map(isfinite, numbers)):
        what = "NaN" if any(map(isnan, numbers)) else "an infinite number"
        raise ProviderError(what + " in a vector")
    largest = max(map(abs, numbers))
    if not largest:
        raise ProviderError("a vector of only zeros")
    # before squaring: 1e300 is finite, its square is not
    numbers = [number / largest for number in numbers]
    length = sqrt(fsum(number * number for number in numbers))
    return array("f", [number / length for number in numbers])


# ---- the vectors of past queries


def queries_path(place: Place) -> str:
    """Return the path of the cache of query vectors."""
    return place.home + "/cache/queries.db"


def read_query_vector(place: Place, label: str, text: str, now: float) -> Any:
    """Return a query's cached vector by a model, or None."""
    import sqlite3

    if not files.exists(queries_path(place)):
        return None
    key = _query_key(label, text)
    try:
        with closing(_open_cache(place)) as base, base:
            row = base.execute("SELECT vector, used FROM queries WHERE key = ?", (key,)).fetchone()
            if row and not 0 <= now - row[1] < FRESH:
                base.execute("UPDATE queries SET used = ? WHERE key = ?", (now, key))
    except (sqlite3.Error, OSError, TypeError):
        return None
    return _unpack(row[0]) if row else None


def _unpack(blob: Any) -> Any:
    """Return the vector of a blob with its checksum, None if damaged."""
    if (
        not isinstance(blob, bytes)
        or len(blob) % 4
        or len(blob) < 8
        or crc32(blob[4:]) != int.from_bytes(blob[:4], "little")
    ):
        return None
    found = array("f")
    found.frombytes(blob[4:])
    if sys.byteorder == "big":
        found.byteswap()
    return found


def write_query_vector(place: Place, label: str, text: str, vector: Any, now: float) -> None:
    """Cache a query's vector; a damaged cache is replaced, a failure ignored."""
    import sqlite3

    kept = array("f", vector)
    if sys.byteorder == "big":
        kept.byteswap()
    numbers = kept.tobytes()
    row = (_query_key(label, text), crc32(numbers).to_bytes(4, "little") + numbers, now)
    for _ in range(2):
        try:
            _insert_row(place, row)
            return
        except sqlite3.OperationalError:
            return  # locked, or a full disk
        except sqlite3.DatabaseError:
            files.remove(queries_path(place))
        except OSError:
            return


def _insert_row(place: Place, row: Any) -> None:
    with closing(_open_cache(place)) as base, base:
        base.execute("INSERT OR REPLACE INTO queries VALUES (?, ?, ?)", row)
        base.execute(
            "DELETE FROM queries WHERE key NOT IN (SELECT key FROM queries ORDER BY "
            "used DESC, key LIMIT ?)",
            (MOST,),
        )


def _open_cache(place: Place) -> sqlite3.Connection:
    import sqlite3

    path = queries_path(place)
    if not files.exists(path):
        with suppress(FileExistsError):
            files.create(path, b"")  # 0600, which SQLite keeps for its journal too
    base = sqlite3.connect(path, timeout=WAIT)
    try:
        base.execute("PRAGMA synchronous = OFF")  # a lost cache costs one call
        if base.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            base.executescript(
                "DROP TABLE IF EXISTS queries; CREATE TABLE queries (key BLOB PRIMARY KEY, vector "
                "BLOB, used REAL) WITHOUT ROWID; PRAGMA user_version = %d" % VERSION
            )
    except BaseException:
        base.close()
        raise
    return base


def _query_key(label: str, text: str) -> bytes:
    return bytes.fromhex(
        files.sha256(label.encode("utf-8", "replace"), b"\0", text.encode("utf-8", "replace"))
    )
