"""What readers make of bytes that nobody wrote so: 2,000 seeded mutations of a whole file each, and
nothing raises out.
"""

from __future__ import annotations

import json
import os
import random

import pytest
from harness import vault
from harness.hook import ROOT

from memory.capture import progress
from memory.core import StoreError, config, fastjson, files, frontmatter, records, tokeniser
from memory.hook import at_prompt, delta, indexview, loader, receipts
from memory.index import builder
from memory.session import transcript

# read here: the fixtures give every test an environment of its own
WHOLE = os.environ.get("DAYLEAF_TEST_FAULTS") == "all"
COUNT = 2_000
ODD = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"---\n",
    b"\n---\n",
    b"\r",
    b"\r\n",
    b"\t",
    b": ",
    b"- ",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b"'",
    b"\\",
    b"\\ud800",
    b"&a *a",
    b"<<: *a",
    b"!!python/object:x",
    b"null",
    b"1e999",
    b"-1",
    b"9" * 400,
    b"[" * 300,
    b'{"a":' * 200,
    b"\xe2\x80\xa8",
    b"true",
    b"\n",
    b"0",
    b"2026-13-45T99:99:99Z",
)


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Return a whole file with one to five places changed: bits, pieces gone, doubled or moved, odd
    text put in, the end cut off.
    """
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(out) + 1)
        end = min(len(out), at + rng.choice((1, 3, 20, 200)))
        way = rng.randrange(6)
        if way == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif way == 1:
            del out[at:end]
        elif way == 2:
            out[at:at] = out[at:end]
        elif way == 3:
            out[at : end if rng.random() < 0.5 else at] = rng.choice(ODD)
        elif way == 4:
            piece = out[at:end]
            del out[at:end]
            to = rng.randrange(len(out) + 1)
            out[to:to] = piece
        elif rng.random() < 0.2:
            del out[at:]
    return bytes(out)


VALUES = (
    None,
    True,
    0,
    -1,
    1e308,
    10**30,
    "",
    "x",
    "\ud800",
    "\0",
    [],
    {},
    [[]],
    [1],
    [[1]],
    [{}],
    [[[]]],
    [None],
    {"a": [1]},
    {"type": 1},
    "2026-13-45",
    ["x"] * 50,
)


def altered(rng: random.Random, value):
    """Return what was parsed of JSON with one place changed: another value, or none."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.15:
        return rng.choice(VALUES)
    at = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
    if rng.random() < 0.1:
        return (
            {key: item for key, item in value.items() if key != at}
            if isinstance(value, dict)
            else [*value[:at], *value[at + 1 :]]
        )
    copy = value.copy()
    copy[at] = altered(rng, value[at])
    return copy


def lines(seed: int, samples: list[bytes], count: int = COUNT):
    """Yield mutations of files of JSON lines in turn: of some lines' values in every other one,
    else of the bytes.
    """
    rng = random.Random(seed)
    for number in range(count):
        data = samples[number % len(samples)]
        if number % 2:
            out = [
                json.dumps(altered(rng, json.loads(line))).encode() if rng.random() < 0.5 else line
                for line in data.splitlines()
                if line.endswith(b"}")
            ]
            yield b"\n".join(out) + b"\n"
        else:
            yield mutated(rng, data)


def each(seed: int, samples: list[bytes], count: int = COUNT):
    """Yield mutations of some files in turn."""
    rng = random.Random(seed)
    for number in range(count):
        yield mutated(rng, samples[number % len(samples)])


def test_a_record_is_read_whatever_its_bytes_are():
    """Both readers take the same body, all of it is text, and an edit of one key leaves the body
    alone.
    """
    samples = [
        (
            b"---\nid: l-1\ntitle: Retries\ntags: [a, 'b c', \"d\"]\n"
            b"created: 2026-11-21T14:30:52Z\nlinks:\n  - relation: related_to\n    target: x\n"
            b"---\n\n# Head\n\nBody of it.\n"
        ),
        (
            "---\r\ntitle: 재시도\r\nversions: [2.1, 3]\r\nnote: |\r\n  two\r\n"
            "  lines\r\n---\r\n본문\r\n"
        ).encode(),
        b"# No head\n\ntext\n",
        b"---\nkind: rule\nrationale: >-\n  why\n  so\n---\nx\n",
    ]
    for data in each(1, samples):
        page, quick = frontmatter.parse(data), frontmatter.parse_fast(data)
        assert page.body == quick.body and isinstance(page.meta, dict), data
        json.dumps([page.body, page.meta, page.problems]).encode()
        page.body.encode("utf-8")
        frontmatter.find_key_lines(data)
        record = records.from_bytes("p/learnings/x.md", data, 0.0)
        (record.id + record.title + record.kind + "".join(record.tags)).encode("utf-8")
        records.from_bytes_fast("p/learnings/x.md", data, 0.0)
        if page.readable:
            try:
                edited = frontmatter.edit(data, {"updated": "2026-11-22T00:00:00Z"})
            except StoreError as error:  # a head that is not understood is left as it is
                assert str(error).startswith("line ")
                continue
            assert frontmatter.parse(edited).body.strip() == page.body.strip(), data


def test_a_transcript_is_read_whatever_its_lines_are(tmp_path):
    """To its end, and again from where it ended: no line is read twice."""
    samples = [
        path.read_bytes()[:6_000]
        for path in sorted((ROOT / "tests/data/transcripts").rglob("*.jsonl"))
    ]
    path = tmp_path / "s.jsonl"
    for data in lines(2, samples):
        path.write_bytes(data)
        reading = transcript.read(str(path))
        for entry in reading:
            assert isinstance(entry.text, str) and isinstance(
                entry.branch + entry.prompt + entry.cwd, str
            )
        assert 0 <= reading.offset <= len(data) and not [
            entry for entry in transcript.read(str(path), reading.offset) if entry.record
        ]
        (
            transcript.compactions(str(path)),
            progress.find_branch_switches(str(path)),
            transcript.began(str(path)),
        )


def test_receipts_are_read_whatever_their_lines_are(tmp_path):
    """What a session was shown is a set of words, however the rest reads."""
    rows = [
        {
            "v": 1,
            "t": "2026-11-21T14:30:52Z",
            "event": "start",
            "source": "startup",
            "brief": "1a2b3c4d",
            "chosen": [["a", 1.0, "recent"]],
            "chars": 3,
        },
        {
            "v": 1,
            "t": "2026-11-21T14:31:52Z",
            "event": "prompt",
            "prompt": "p",
            "tag": "1a2b3c4d",
            "chosen": [["b", 2.0, "x"], ["c", 1, "y"]],
            "unfit": ["d"],
        },
        {
            "v": 1,
            "t": "2026-11-21T14:32:52Z",
            "event": "lost",
            "tag": "1a2b3c4d",
            "chosen": [["b", 2.0, "x"]],
        },
        {"v": 1, "t": "x", "event": "off"},
    ]
    path = str(tmp_path / "s.jsonl")
    for data in lines(3, ["".join(json.dumps(row) + "\n" for row in rows).encode()]):
        files.replace(path, data)
        state = receipts.read_session(path)
        assert (
            all(isinstance(id, str) for id in state.shown)
            and isinstance(state.prompts, int)
            and state.off in (True, False)
        )
        for row in receipts.read(path):
            receipts.list_chosen(row), receipts.get_receipt_tag(row)
        assert all(isinstance(row, dict) for row in fastjson.parse_rows(data))


def test_settings_are_read_whatever_their_bytes_are(tmp_path):
    """Each has the type of its default, from a user's file and from a project's."""
    home, root = str(tmp_path / "home"), str(tmp_path / "root")
    files.make_folder(home), files.make_folder(root + "/.dayleaf")
    sample = json.dumps(
        {
            "load.top": 3,
            "load": {"enabled": True, "recent": 2},
            "redact.allow": ["x"],
            "distill": {"command": ["a", "b"], "maxTokens": 300},
            "upkeep.expireDays": 90,
            "recall.semantic": False,
        }
    ).encode()
    kinds = {
        key: (int, float) if type(value) in (int, float) else type(value)
        for key, value in config.DEFAULTS.items()
    }
    for number, data in enumerate(lines(4, [sample])):
        files.replace((home, root + "/.dayleaf")[number % 2] + "/config.json", data)
        found = config.load(home, root, {})
        assert all(isinstance(found[key], kind) for key, kind in kinds.items()), data
        json.dumps(found.problems)


def test_a_delta_is_read_whatever_its_bytes_are(place, now):
    """A frame that is not whole is passed over; those that are stay."""
    vault.mixed(place)
    sample = indexview.build_from_files(place, 50).delta.data
    assert len(delta.Delta(sample).docs) == 5
    for data in each(5, [sample]):
        found = delta.Delta(data)
        found.search("docker"), found.vocabulary("d")
        assert len(found.docs) <= 10 and all(doc.id.encode("utf-8") for doc in found.docs)


@pytest.mark.parametrize("which", ["segment", "delta"])
def test_a_prompt_is_answered_whatever_the_index_holds(place, env, now, which):
    """By the index, or else by the files; what it fails with is noted and does not get out."""
    vault.mixed(place)
    builder.build(place, now)
    path = indexview.segment_path(place)
    if which == "delta":
        vault.put(place, "p/learnings/kafka.md", "Kafka offsets", "Commit offsets after the batch.")
        builder.refresh(place, now, names=["p/learnings/kafka.md"])
        path = indexview.delta_path(place, indexview.open_index(place).segment.generation)
    terms, right = tokeniser.query_terms("docker cache"), 0
    count = COUNT if WHOLE else 150
    for data in each(6, [files.read(path)], count):
        files.replace(path, data)
        _, hits = at_prompt.consult_index(
            place,
            {},
            env,
            "test",
            lambda found: [found.doc(number).id for _, number in loader.search(found, terms, 1)],
        )
        assert all(isinstance(id, str) for id in hits)
        right += hits == ["cache"]
    assert right >= 0.9 * count
