#!/usr/bin/env python3
"""Measure recall from an organisation's index: `postgres.py load N`, `ask`, `vectors N`, of a
database that DAYLEAF_DSN names.

load: writes N generated records into SPACES workspaces (none on this machine), in two processes,
through the loader's own code. The texts are deterministic: some 80 words by Zipf's law over 40,000
words, with identifiers and paths (corpus.py). vectors: gives N of the records a vector around one
of N / 100 centres, asks for those near one of them, by signs first, then by pgvector, and compares
with all.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus
import psycopg

from memory.core import clock, config, layout
from memory.doors.postgres import migrations, postgres, rows
from memory.doors.vectors import vectorfile
from memory.recall import question, search

SPACES = 200
WARM = 5  # recalls of a client that are not counted
WORDS = 80  # of a body, in the mean


def key(space: int) -> str:
    return "team%d-%08x" % (space, space)


@functools.cache
def vocabulary() -> corpus.Text:
    """Return the words of all records."""
    return corpus.Text(7)


def texts(space: int, count: int):
    """Yield (name, file) of a workspace's records."""
    made = vocabulary()
    made.random = pick = random.Random(1000 + space)
    for number in range(count):
        topics = pick.sample(corpus.TECH, 2)
        local = [made.word() for _ in range(5)] + [made.identifier() for _ in range(2)]
        words = []
        for _ in range(max(15, int(pick.lognormvariate(4.2, 0.6)))):
            r = pick.random()
            words.append(
                pick.choice(local)
                if r < 0.12
                else pick.choice(topics)
                if r < 0.17
                else made.identifier()
                if r < 0.19
                else made.word()
            )
        title = "%s %s %s" % (topics[0].title(), topics[1], " ".join(pick.sample(local[:5], 2)))
        head = (
            "---\nid: s%03d-%06d\nkind: learning\ntitle: %s\ntags: [%s]\n"
            "created: 20%02d-%02d-%02dT10:00:00Z\n"
            "source: human\n---\n\n"
            % (
                space,
                number,
                json.dumps(title),
                ", ".join(topics),
                pick.randrange(23, 27),
                pick.randrange(1, 13),
                pick.randrange(1, 29),
            )
        )
        yield (
            "s/learnings/n%06d.md" % number,
            (head + " ".join(words).capitalize() + ".\n").encode(),
        )


def load_part(dsn: str, spaces: list[int], each: int) -> int:
    os.nice(5)
    done = 0
    with psycopg.connect(dsn, autocommit=True) as connection:
        for space in spaces:
            number = rows._ensure_workspace(connection, key(space))
            batch = []
            for name, data in texts(space, each):
                batch.append(rows.prepare_record(name, data, 1.0, "0123456789"))
                if len(batch) == 5000:
                    rows.write_batch(connection, number, batch, [])
                    done, batch = done + len(batch), []
            if batch:
                rows.write_batch(connection, number, batch, [])
                done += len(batch)
            print("%s %d" % (key(space), done), flush=True)
    return done


def load(dsn: str, records: int, spaces: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        migrations.migrate(connection)
    began = time.time()
    context = multiprocessing.get_context("spawn")
    jobs = [
        context.Process(
            target=load_part, args=(dsn, list(range(part, spaces, 2)), records // spaces)
        )
        for part in (0, 1)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT dayleaf.recount()")
        connection.execute("VACUUM ANALYZE")
        size = connection.execute(
            "SELECT pg_size_pretty(pg_database_size(current_database()))"
        ).fetchone()[0]
    print("loaded %d records in %.0f s; %s on disk" % (records, time.time() - began, size))


def questions(seed: int, count: int, spaces: int) -> list[tuple[str, str]]:
    """Return (query, workspace) pairs: five words of a record, one of them misspelt in every fourth
    query; in turn of all workspaces and of one.
    """
    made, pick = vocabulary(), random.Random(seed)
    found = []
    for at in range(count):
        space = pick.randrange(spaces)
        _, data = next(itertools.islice(texts(space, 50), pick.randrange(50), None))
        said = data.decode().split("---", 2)[2].split()
        words = [made.word(), *(word.strip(".`") for word in pick.sample(said, 4))]
        if at % 4 == 3:
            long = max(range(5), key=lambda i: len(words[i]))
            words[long] = words[long][:2] + words[long][3:]
        found.append((" ".join(words), "all" if at % 2 else key(space)))
    return found


def client(
    dsn: str, seed: int, count: int, spaces: int, pause: float, out: multiprocessing.Queue
) -> None:
    """Ask as one client does: a query after another, or one each `pause` seconds."""
    with tempfile.TemporaryDirectory() as home:
        os.mkdir(home + "/work")
        env = {"HOME": home}
        place = layout.locate(env, home + "/work")
        settings = config.load(place.home, "", env)
        asked, took = questions(seed, count + WARM, spaces), []
        for at, (text, workspace) in enumerate(asked):
            time.sleep(pause * random.random() * 2 if at >= WARM else 0)
            began, cpu = time.perf_counter(), time.process_time()
            with search.Searcher(place, settings, dsn=dsn) as searcher:
                found = searcher.answer(question.Query(text, workspace=workspace), 1.8e9, clock.utc)
            if at == WARM - 1:
                used = servers_cpu(dsn)
            if at >= WARM:
                took.append(
                    (
                        workspace == "all",
                        time.perf_counter() - began,
                        time.process_time() - cpu,
                        bool(found.hits),
                    )
                )
        print(
            "  server's CPU %.1f ms a recall" % (1000 * (servers_cpu(dsn) - used) / count),
            flush=True,
        )
        out.put(took)


def vectors(dsn: str, count: int, dims: int = 384) -> None:
    """Make vectors, and ask for the nearest in both ways."""
    import numpy as np

    pick, dayleaf = np.random.default_rng(1), psycopg.connect(dsn, autocommit=True)
    centres = pick.standard_normal((max(1, count // 100), dims)).astype(np.float32)
    made = (
        centres[pick.integers(0, len(centres), count)]
        + pick.standard_normal((count, dims)).astype(np.float32) * 0.8
    )
    made /= np.linalg.norm(made, axis=1)[:, None]
    scales, numbers = vectorfile.quantise(made)
    dayleaf.execute("DELETE FROM dayleaf.chunk")
    listed = dayleaf.execute(
        "SELECT workspace, id FROM dayleaf.record ORDER BY id LIMIT %s", (count,)
    ).fetchall()
    began = time.time()
    with (
        dayleaf.cursor() as cursor,
        cursor.copy(
            "COPY dayleaf.chunk (workspace, record, ordinal, dims, scale, code, numbers) FROM STDIN"
        ) as copy,
    ):
        for (space, record), scale, row in zip(listed, scales, numbers):
            copy.write_row(
                (space, record, 0, dims, scale, row.translate(rows._SIGNS).decode(), row)
            )
    dayleaf.execute(
        "UPDATE dayleaf.workspace SET label = 'bench', dims = %s, chunks = c.n FROM "
        "(SELECT workspace, count(*) AS n FROM dayleaf.chunk GROUP BY 1) c WHERE c.workspace = id",
        (dims,),
    )
    print("%d vectors sent in %.0f s" % (count, time.time() - began))
    asked = (
        made[pick.integers(0, count, 30)]
        + pick.standard_normal((30, dims)).astype(np.float32) * 0.02
    )
    matrix = (
        np.stack([np.frombuffer(row, np.int8) for row in numbers]).astype(np.float32)
        * np.array(scales, np.float32)[:, None]
    )
    for way in ("signs", "pgvector"):
        if way == "pgvector":
            began = time.time()
            dayleaf.execute("SELECT dayleaf.arm(%s)", (dims,))
            print("taken up by pgvector, its index made, in %.0f s" % (time.time() - began))
        dayleaf.execute("VACUUM ANALYZE dayleaf.chunk")
        postgres._close_all()
        base = postgres.open_database(dsn)
        remote = postgres.DatabaseIndex(base, base.spaces(), [])
        took, same, used = [], 0, servers_cpu(dsn)
        for vector in asked:
            start = time.perf_counter()
            found = remote.near("bench", vector, 100)[:10]
            took.append(1000 * (time.perf_counter() - start))
            best = set(np.argsort(-(matrix @ (vector / np.linalg.norm(vector))))[:10].tolist())
            same += len(
                best
                & {
                    listed.index((remote._base.spaces()[row.workspace].number, row.record))
                    for row in (remote.row(number) for number, _ in found)
                }
            )
        print(
            "%s: p50 %.0f, p95 %.0f ms, server's CPU %.0f ms, %.1f of the best 10"
            % (
                way,
                statistics.median(took),
                sorted(took)[28],
                1000 * (servers_cpu(dsn) - used) / 30,
                same / 30,
            )
        )


def servers_cpu(dsn: str) -> float:
    """Return the seconds of CPU that the backends of this process's pool have used; of a server on
    this machine.
    """
    with postgres.open_database(dsn).reading() as connection:
        pid = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
    fields = Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(dsn: str, clients: int, count: int, pause: float) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        spaces, documents = connection.execute(
            "SELECT count(*), sum(documents) FROM dayleaf.workspace"
        ).fetchone()
        connection.execute("SELECT pg_stat_reset()")
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    jobs = [
        context.Process(target=client, args=(dsn, 100 + n, count, spaces, pause, out))
        for n in range(clients)
    ]
    for job in jobs:
        job.start()
    answers = [row for _ in jobs for row in out.get(timeout=300)]
    for job in jobs:
        job.join()
    print(
        "%d documents, %d workspaces, %d clients, %s; load %.1f"
        % (
            documents,
            spaces,
            clients,
            "a recall after another" if not pause else "a recall each %g s" % pause,
            os.getloadavg()[0],
        )
    )
    for name, wanted in (
        ("all workspaces", (True,)),
        ("one workspace", (False,)),
        ("both", (True, False)),
    ):
        mine = [row for row in answers if row[0] in wanted]
        times = sorted(row[1] * 1000 for row in mine)
        print(
            "  %-15s p50 %6.1f  p95 %6.1f ms, client's CPU p50 %5.1f ms, %d of %d with hits"
            % (
                name,
                statistics.median(times),
                times[int(len(times) * 0.95)],
                statistics.median(row[2] * 1000 for row in mine),
                sum(row[3] for row in mine),
                len(mine),
            )
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("load", "ask", "vectors"))
    parser.add_argument(
        "records", type=int, nargs="?", default=1_000_000, help="load, vectors: how many"
    )
    parser.add_argument("--spaces", type=int, default=SPACES)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--count", type=int, default=100, help="ask: recalls of each client")
    parser.add_argument(
        "--pause",
        type=float,
        default=0.0,
        help="ask: seconds between a client's recalls, in the mean",
    )
    options = parser.parse_args()
    dsn = os.environ["DAYLEAF_DSN"]
    if options.what == "load":
        load(dsn, options.records, options.spaces)
    elif options.what == "vectors":
        vectors(dsn, options.records)
    else:
        ask(dsn, options.clients, options.count, options.pause)


if __name__ == "__main__":
    main()
