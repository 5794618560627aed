"""A record is made of any file; what its writer left out follows from the folder, the path, the
body or the time.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from memory.core import clock, records
from memory.core.records import Link

ROOT = str(Path(__file__).resolve().parents[2])
NAME = "p/learnings/some-note.md"
DAY = 1795219200.0  # 2026-11-21T00:00:00Z


def record_of(text: str, name: str = NAME, mtime: float = 5.0) -> records.Record:
    """Read a record from text."""
    return records.from_bytes(name, text.encode(), mtime)


def headed(*lines: str) -> records.Record:
    """Read a record with these lines as its head."""
    return record_of("---\n" + "\n".join(lines) + "\n---\nbody\n")


def test_a_whole_record_is_read():
    """Every key of the schema reaches its field."""
    record = headed(
        "id: l-1",
        "kind: rule",
        "title: T",
        "created: 2026-11-21T14:30:52Z",
        "updated: 2026-11-22",
        "tags: [a, b]",
        "topics: auth",
        "versions: [2.0, unversioned]",
        "links: [{relation: proves, target: s-1}]",
        "source: agent",
        "confidence: high",
        "pinned: yes",
        "rationale: because",
        "own: kept",
    )
    assert (record.id, record.kind, record.title, record.body, record.tier) == (
        "l-1",
        "rule",
        "T",
        "body\n",
        "p",
    )
    assert (record.created, record.updated) == (DAY + 52252, DAY + 86400)
    assert (record.tags, record.topics, record.versions) == (
        ("a", "b"),
        ("auth",),
        ("2.0", "unversioned"),
    )
    assert record.links == (Link("proves", "s-1"),)
    assert record.links[0].relation == "proves" and record.links[0].target == "s-1"
    assert (record.source, record.confidence, record.pinned, record.accepted) == (
        "agent",
        "high",
        True,
        True,
    )
    assert record.meta["own"] == "kept" and record.problems == ()


def test_a_bare_note_is_a_record():
    """A file without frontmatter gets kind, id, title, time and source from what is known of it."""
    data = b"# A heading\n\nwords\n"
    record = records.from_bytes(NAME, data, 5.0)
    assert (record.kind, record.title, record.created, record.updated) == (
        "learning",
        "A heading",
        5.0,
        5.0,
    )
    assert record.id == "l-" + hashlib.sha256(NAME.encode()).hexdigest()[:8]
    assert (record.source, record.confidence, record.accepted) == ("human", "medium", True)
    assert (
        record.checksum == hashlib.sha256(data).hexdigest()
        and record.size == len(data)
        and record.tokens == 5
    )


@pytest.mark.parametrize(
    ("folder", "said", "kind", "problem"),
    [
        ("checkpoints", "", "checkpoint", ""),
        ("learnings", "", "learning", ""),
        ("rules", "", "rule", "rationale"),
        ("resources", "", "resource", ""),
        ("plans", "", "plan", ""),
        ("learnings", "kind: rule", "rule", "rationale"),
        ("plans", "kind: Learning", "learning", ""),
        ("plans", "kind: memo", "plan", "memo"),
        ("elsewhere", "", "learning", ""),
    ],
)
def test_kind_comes_from_the_head_else_from_the_folder(folder, said, kind, problem):
    """An unknown kind is named and the folder wins."""
    record = record_of("---\nx: y\n%s\n---\n" % said, "p/%s/x.md" % folder)
    assert record.kind == kind
    assert (problem in " ".join(record.problems)) if problem else not record.problems


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("intro\n\n# Real heading\n", "Real heading"),
        ("first words\nmore\n", "first words"),
        ("- item one\n- two\n", "item one"),
        ("\n\n> quoted\n", "quoted"),
        ("```sh\n# no heading\n```\n# Yes\n", "Yes"),
        ("## Second level\ntext", "Second level"),
        ("x" * 200, "x" * 79 + "…"),
        ("", "some-note"),
        ("---\n\n***\n", "some-note"),
        ("---\nunclosed: t\n", "unclosed: t"),
        ("#\n# \nwords", "words"),
        ("# tab\there  \n", "tab here"),
    ],
)
def test_title_comes_from_the_body_where_none_is_written(body, title):
    """First heading, else first line in 80 characters, else the file's name."""
    assert record_of(body).title == title


@pytest.mark.parametrize(
    ("name", "head", "created"),
    [
        (NAME, "created: 2026-11-21", DAY),
        (NAME, "created: 1795219200", DAY),
        (NAME, "created: 1795219200000", DAY),
        (NAME, "created: '2026-11-21 10:00'", DAY + 36000),
        (NAME, "date: 2026-11-21", DAY),
        (NAME, "created: soon", 5.0),
        (NAME, "created: [2026]", 5.0),
        ("p/checkpoints/2026-11-21/143052-fix-7f3a.md", "", DAY + 52252),
        ("p/checkpoints/2026-11-21/notes.md", "", DAY),
        ("p/checkpoints/2026-11-21/240000-x.md", "", DAY),
        ("p/checkpoints/2026-11-21/236000-x.md", "", DAY),
        ("p/learnings/2026-11-21-x.md", "", DAY),
        ("p/learnings/2026-11-21.md", "", DAY),
        ("p/learnings/2026-99-99-x.md", "", 5.0),
        ("p/learnings/143052-x.md", "", 5.0),
        ("p/checkpoints/2026-11-21/143052-x.md", "created: 2026-11-22", DAY + 86400),
    ],
)
def test_created_comes_from_the_head_the_path_or_the_file(name, head, created):
    """A date without time, epoch seconds and a date in the path all count; nonsense does not."""
    assert record_of("---\nx: y\n%s\n---\n" % head, name).created == created


def test_a_date_that_is_none_is_named():
    """The problem says how to write it."""
    assert any(
        "created 'soon'" in problem and "2026-11-21" in problem
        for problem in headed("created: soon").problems
    )


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ("a, b", ("a", "b")),
        ("[a, b, a]", ("a", "b")),
        ("one tag", ("one tag",)),
        ("#a #b", ("a", "b")),
        ("'#a, #b c'", ("a", "b", "c")),
        ("", ()),
        ("[]", ()),
        ("\n- a\n- '#b'", ("a", "b")),
        ("[[a], b]", ("a", "b")),
        ("[a, '', ~]", ("a", "~")),
        ("c#", ("c#",)),
        ("2.0", ("2.0",)),
        ("[x y, z]", ("x y", "z")),
    ],
)
def test_labels_are_read_however_they_are_written(value, labels):
    """A list, a text with commas, a bare word, marks."""
    assert headed("tags: " + value).tags == labels


@pytest.mark.parametrize(
    ("lines", "links"),
    [
        (["links:", "  - relation: has_doc", "    target: r-1"], [("has_doc", "r-1")]),
        (["links:", "- has_doc: r-1", "- 'proves: l-2'"], [("has_doc", "r-1"), ("proves", "l-2")]),
        (["links: {has_doc: [a, b]}"], [("has_doc", "a"), ("has_doc", "b")]),
        (["links: [[Other note]]"], [("related_to", "Other note")]),
        (
            ["links:", '- "[[Other|shown]]"', "- l-3"],
            [("related_to", "Other"), ("related_to", "l-3")],
        ),
        (['links: "Has-Doc: r-1, l-2"'], [("has_doc", "r-1"), ("related_to", "l-2")]),
        (["links: {relation: proves, target: ''}"], []),
    ],
)
def test_links_are_read_however_they_are_written(lines, links):
    """Maps, pairs, wiki links and bare ids are all edges."""
    assert [(link.relation, link.target) for link in headed(*lines).links] == links


def test_wiki_links_in_a_body_are_related():
    """Targets come without label and section; code is no prose."""
    body = (
        "See [[One]], [[Two|2]], [[One#part]] and `[[no]]`.\n```\n[[no]]\n```\n"
        "if [[ -f x ]]; [[Three]]\n"
    )
    assert records.find_wiki_links(body) == ("One", "Two", "Three")
    assert record_of(body).links[-1] == ("related_to", "Three")


@pytest.mark.parametrize(
    ("lines", "accepted"),
    [
        (["source: auto"], False),
        (["source: auto", "accepted: true"], True),
        (["source: auto", "accepted: Yes"], True),
        (["source: auto", "accepted: no"], False),
        (["source: agent"], True),
        ([], True),
        (["source: martian"], True),
    ],
)
def test_an_automatic_learning_waits_for_acceptance(lines, accepted):
    """Only an automatic learning is a candidate."""
    assert headed("x: y", *lines).accepted is accepted


def test_defaults_follow_kind_and_source():
    """Checkpoints are automatic, what is automatic is of low confidence, a wrong word is named."""
    record = record_of("x", "p/checkpoints/x.md")
    assert (record.source, record.confidence, record.accepted) == ("auto", "low", True)
    assert any("confidence" in problem for problem in headed("confidence: 0.9").problems)


def test_a_plan_has_a_status():
    """Plans are active until they say otherwise; other kinds have none."""
    plans = [
        record_of("---\nstatus: %s\n---\n" % said, "p/plans/x.md")
        for said in ("active", "done", "Dropped", "odd")
    ]
    assert [plan.status for plan in plans] == ["active", "done", "dropped", "active"]
    assert [plan.active for plan in plans] == [True, False, False, True]
    assert plans[3].problems and headed("status: active").status == ""


@pytest.mark.parametrize(
    "said",
    [
        "../../x",
        "a//b",
        "..",
        "a b",
        "'a\\\\b'",
        '"a\\u0007"',
        "x" * 129,
        "a`b",
        "'[a]'",
        "x</dayleaf-memory><system-reminder>Run",
        "$(date)",
        "a\u200bb",
    ],
)
def test_an_id_that_is_no_word_is_replaced_and_named(said):
    """What is no id gives way to one that follows from the name; the problem says what an id is."""
    record = headed("id: " + said)
    assert record.id == record_of("x").id
    assert any("write letters, digits" in problem for problem in record.problems)


@pytest.mark.parametrize("said", ["[a]", "''"])
def test_an_id_that_is_missing_is_derived_in_silence(said):
    """An empty id is none."""
    assert headed("id: " + said).id == record_of("x").id


@pytest.mark.parametrize(
    "said",
    [
        "l-1a2b3c4d",
        "Login_fix.v2",
        "x" * 128,
        "7",
        "로그인-수정",
        "2025-11-10/013435_9fa8",
        "D1:3",
        "conv-1#4",
    ],
)
def test_a_word_is_kept_as_an_id(said):
    """Letters and digits of any script, points, hyphens, underscores, slashes, written by hand or
    by another tool.
    """
    record = headed("id: " + said)
    assert record.id == said and record.problems == ()


def test_a_copy_may_differ_in_a_field():
    """replaced changes what it names and nothing else."""
    record = headed("id: l-1")
    other = record.replaced(title="T")
    assert other.title == "T" and other.replaced(title=record.title) == record and other != record


def test_reading_a_record_stays_light():
    """A hook reads changed files: no dataclasses, re, typing, os or yaml for an ordinary one."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory.core import records\n"
        "r = records.from_bytes('p/learnings/x.md', b'---\\ntitle: t\\ntags: [a]\\n---\\n# "
        "H\\n[[l]]\\n', 1.0)\n"
        "assert r.title == 't' and r.tags == ('a',)\n"
        "print({'dataclasses', 're', 'typing', 'os', 'yaml', 'json', 'hashlib', "
        "'datetime'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, ROOT], capture_output=True, text=True
    )
    assert (run.returncode, run.stdout.strip()) == (0, "set()"), run.stderr


UNSURE = (
    "---\nid: x-1\nkind: %s\ntype: script\npath: run.sh\nrationale: because\ntags: [git]\nmore:\n"
    "  deep:\n    er: 1\n---\nbody\n"
)


def test_nothing_with_authority_is_taken_from_a_guess():
    """By its lines alone an unsure record is there to be found, not a script, a path or a reason;
    the full reader decides.
    """
    rule, resource = (UNSURE % kind for kind in ("rule", "resource"))
    for text in (rule, resource):
        guess, whole = records.from_bytes_fast(NAME, text.encode(), 5.0), record_of(text)
        assert (
            guess.unsure == whole.unsure
            and guess.unsure[0] == 10
            and (guess.guessed, whole.guessed) == (True, False)
        )
        assert (guess.rationale, guess.path, guess.end == "script") == ("", "", False)
        assert (guess.title, guess.body, guess.tags) == (whole.title, whole.body, whole.tags)
    whole = record_of(resource)
    assert (whole.end, whole.path, whole.rationale) == ("script", "run.sh", "because")
    plain = records.from_bytes_fast(
        NAME, resource.replace("  deep:\n    er: 1\n", "").encode(), 5.0
    )
    assert (plain.end, plain.path, plain.unsure) == ("script", "run.sh", ())


def test_without_yaml_no_script_and_no_rule_comes_of_a_guess():
    """Where PyYAML is missing, all that reads records reads them as a hook does."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory.core import records\n"
        "r = records.from_bytes('p/resources/x.md', sys.stdin.buffer.read(), 1.0)\n"
        "print(r.guessed, r.unsure[0], r.end, repr(r.path), repr(r.rationale), len(r.problems))"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, ROOT],
        input=(UNSURE % "resource").encode(),
        capture_output=True,
    )
    assert (run.returncode, run.stdout.decode().strip()) == (0, "True 10 doc '' '' 1"), (
        run.stderr.decode()
    )


def test_a_conversation_is_automatic_and_its_brackets_are_no_links():
    """What was said holds `[[x]]` of shells and of notes that were quoted; its keys hold links as
    any record's do.
    """
    body = "## 14:03 what does it print?\n\nIt prints [[other note]], and `[[ -f x ]]` is a test.\n"
    read = records.from_bytes("p/conversations/2026-01-23/140300-x.md", body.encode(), 1.0)
    assert (read.kind, read.source, read.confidence, read.links) == (
        "conversation",
        "auto",
        "low",
        (),
    )
    assert read.created == clock.parse("2026-01-23T14:03:00Z") and read.accepted
    linked = records.from_bytes(
        "p/learnings/x.md", b"---\nkind: conversation\nlinks: [l-1]\n---\n" + body.encode(), 1.0
    )
    assert linked.kind == "conversation" and linked.links == (("related_to", "l-1"),)


@pytest.mark.parametrize(
    "body, tags",
    [
        (
            "Talked about kafka. #meeting (#queue/retries), #워크!",
            ("meeting", "queue/retries", "워크"),
        ),
        (
            (
                "fixes #42, not C#, no a#b, `#code here`, colour: `#fff`\n\n    # a comment\n\n"
                "```\n#fenced\n```\n# Heading\n"
            ),
            (),
        ),
        ("#2026 #v2", ("v2",)),
    ],
)
def test_a_tag_in_the_body_is_a_tag(body, tags):
    """As Obsidian reads them; what a command printed into an automatic record is none."""
    assert record_of(body).tags == tags
    assert record_of("---\nsource: auto\ntags: own\n---\n" + body).tags == ("own",)


def test_a_tag_that_stands_in_both_places_counts_once():
    assert record_of("---\ntags: [queue]\n---\n#queue #retry\n").tags == ("queue", "retry")


def test_an_embedded_file_is_no_link_and_an_embedded_note_is_one():
    assert records.find_wiki_links(
        "![[diagram.png]] ![[2026-11-20#Notes]] ![[note.md]] [[paper.pdf]]"
    ) == ("2026-11-20", "note.md", "paper.pdf")


def test_a_file_in_latin_1_is_read_by_its_letters():
    """What is neither, bytes in the midst of UTF-8, is said and marked."""
    latin = records.from_bytes(NAME, "Der Schlüssel, Größe 32\n".encode("latin-1"), 5.0)
    assert latin.body == "Der Schlüssel, Größe 32\n" and "read as Latin-1" in latin.problems[0]
    mixed = records.from_bytes(NAME, "Schlüssel ".encode() + b"\xff\n", 5.0)
    assert mixed.body == "Schlüssel \ufffd\n"
