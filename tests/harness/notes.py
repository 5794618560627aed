"""Notes as developers write them, with twins that say the same in another form and near-misses that
do not.
"""

from __future__ import annotations

import random
import re

from memory.core import records

NOUNS = (
    "queue worker cache token issuer session parser schema migration index build pipeline socket "
    "retry timeout upload handler router limiter broker cluster replica shard ledger webhook "
    "scheduler tenant invoice gateway"
).split()
VERBS = (
    "loses keeps blocks restarts flushes rejects repeats skips delays drops reorders truncates"
).split()
WHEN = (
    "after a restart",
    "under load",
    "while the disk is full",
    "when two writers meet",
    "on the second try",
    "at midnight",
    "behind the proxy",
    "in the staging cluster",
    "with an empty body",
    "once the token is old",
)
PLAIN = (
    "We saw it in the logs.",
    "It took a day to find.",
    "The team agreed on it.",
    "Others met it too.",
    "Keep it in mind.",
)
LATER = ("Good to know.", "Worth remembering.", "Thanks to the team.")

# Pairs that differ in a sign alone, or in what stands between backticks.
SIGNS = tuple(
    tuple("In the %s module %s" % (NOUNS[at % len(NOUNS)], said) for said in pair)
    for at, pair in enumerate(
        (
            ("stage it with `git add .` first.", "stage it with `git add *` first."),
            ("the page size is total / shards.", "the page size is total * shards."),
            ("start it with `server & client`.", "start it with `server && client`."),
            ("start it with server & client.", "start it with server && client."),
            ("the rest is total - used.", "the rest is total + used."),
            ("the rest is total % used.", "the rest is total / used."),
            ("the mask is `flags & 1`.", "the mask is `flags | 1`."),
            ("the mask is flags & bits.", "the mask is flags ^ bits."),
            ("pipe it with `sort | uniq`.", "pipe it with `sort > uniq`."),
            ("pipe it with `run > log`.", "pipe it with `run >> log`."),
            ("go up with `cd ..` before.", "go up with `cd .` before."),
            ("go up with `cd -` before.", "go up with `cd /` before."),
            ("it returns [] when idle.", "it returns {} when idle."),
            ("it returns () when idle.", "it returns [] when idle."),
            ("pass **kwargs on.", "pass *kwargs on."),
            ("pass **kwargs on.", "pass kwargs on."),
            ("the default is `''` there.", "the default is `' '` there."),
            ("match it with `^a.*$`.", "match it with `^a.+$`."),
            ("match it with `a;` only.", "match it with `a,` only."),
            ("call `save!` there.", "call `save` there."),
            ("call `empty?` there.", "call `empty!` there."),
            ("copy with `cp -r src/ dst`.", "copy with `cp -r src dst`."),
            ("remove it with `rm ./*` then.", "remove it with `rm . /*` then."),
            ('quote it as `"$1"` here.', "quote it as `'$1'` here."),
            (
                "the cron is `* * * * .`, in words hourly.",
                "the cron is `* * * * :`, in words hourly.",
            ),
            ("the type is `list[str]` there.", "the type is `list(str)` there."),
            ("use `a = b` there.", "use `a : b` there."),
            ("the wildcard is * for all.", "the wildcard is % for all."),
            ("the owner is @ by default.", "the owner is # by default."),
            ("the separator is \\ here.", "the separator is / here."),
            ("cut it at `. ` in the line.", "cut it at `, ` in the line."),
            ("join with _ between.", "join with - between."),
        )
    )
)


def sign_misses() -> list[records.Record]:
    """Return both notes of each pair of SIGNS: `sign3a` and `sign3b`."""
    return [
        note("sign%d%s" % (number, side), '"Of signs %d"' % number, said)
        for number, pair in enumerate(SIGNS)
        for side, said in zip("ab", pair)
    ]


def note(name: str, title: str, body: str, tags: str = "", day: int = 1) -> records.Record:
    """Return a learning as it is read from its file."""
    data = "---\nid: %s\ntitle: %s\ncreated: 2026-10-%02d\n%s---\n\n%s\n" % (
        name,
        title,
        1 + day % 28,
        "tags: %s\n" % tags if tags else "",
        body,
    )
    return records.from_bytes("p/learnings/%s.md" % name, data.encode(), 1.0)


def sentence(chance: random.Random) -> str:
    """Return one fact: who does what, where, with which number."""
    one, two = chance.sample(NOUNS, 2)
    form = chance.choice(
        (
            "The %s %s the %s %s, so `src/%s/%s_%d.py` waits %d s.",
            "Use the %s that %s the %s %s; see src/%s/%s_%d.py, limit %d.",
            "If the %s %s the %s %s, run `make %s-%s-%d` with --depth %d.",
        )
    )
    return form % (
        one,
        chance.choice(VERBS),
        two,
        chance.choice(WHEN),
        one,
        two,
        chance.randrange(10_000),
        chance.randrange(2, 900),
    )


def planted(
    chance: random.Random, count: int, twins: int
) -> tuple[list[records.Record], list[records.Record]]:
    """Return notes of 1 to 30 sentences, and of some of them a twin (`base12` and `twin12`) in
    another form.
    """
    base, out = [], []
    for number in range(count):
        said = [
            sentence(chance) if at % 3 == 0 else chance.choice(PLAIN)
            for at in range(chance.choice((1, 2, 4, 8, 30)))
        ]
        title = said[0].split(",")[0].split(";")[0]
        base.append(note("base%d" % number, '"%s"' % title, " ".join(said), "queue", number))
    for record in chance.sample(base, twins):
        form = chance.randrange(4)
        body = record.body.strip()
        if form == 0:
            body = re.sub(
                r"(?<=[a-z.]) (?=[a-z])", lambda m: "\n" if chance.random() < 0.1 else " ", body
            )
        elif form == 1:
            body = re.sub(r"\. (?=[A-Z])", ".\n\n", body).rstrip(".")
        elif form == 2:
            body = re.sub(
                r"\b(The|Use|If|We|It|Keep)\b",
                lambda m: m[0].lower() if chance.random() < 0.5 else m[0].upper(),
                body,
            )
        else:
            body = (
                "- "
                + body.replace("the ", "the  ", 1).replace(", so", " , so", 1).rstrip(".")
                + "!"
            )
        out.append(
            note(
                record.id.replace("base", "twin"),
                '"%s"' % record.title,
                body,
                chance.choice(("", "later", "queue")),
            )
        )
    return base, out


def near_misses(
    chance: random.Random, base: list[records.Record], count: int
) -> list[records.Record]:
    """Return notes that differ from another note in one point.

    Another number, another file, words turned round, or fewer words.
    """
    out = []
    for number, record in enumerate(chance.sample(base, count)):
        body = record.body.strip()
        form = number % 8
        if form == 0:
            body = re.sub(
                r"(waits|limit|--depth) (\d+)",
                lambda m: "%s %d" % (m[1], int(m[2]) + 1),
                body,
                count=1,
            )
        elif form == 1:
            body = re.sub(
                r"_(\d+)\.py|-(\d+)`",
                lambda m: m[0].replace(m[1] or m[2], (m[1] or m[2]) + "1"),
                body,
                count=1,
            )
        elif form == 2:
            body = (
                body.replace("The ", "Not the ", 1)
                .replace("Use ", "Do not use ", 1)
                .replace("If ", "Unless ", 1)
            )
        elif form == 3:
            body = (
                body.replace(" s.", " ms.", 1)
                .replace(", limit", ", at most", 1)
                .replace("--depth", "--no-depth", 1)
            )
        elif form == 4:
            body = re.sub(r"\bthe (\w+)", "the other \\1", body, count=1)
        elif form == 5:
            words = body.split(" ")
            one, two = sorted(chance.sample(range(1, len(words)), 2))
            words[one], words[two] = words[two] + "x", words[one]
            body = " ".join(words)
        elif form == 6:
            body = body.replace("src/", "lib/", 1).replace("make ", "Make ", 1)
        else:
            body = body + " It never happens otherwise."
        assert body != record.body.strip(), form
        out.append(note("miss%d" % number, '"%s"' % record.title, body, "queue"))
    return out
