"""`dayleaf store redact ID`: a text goes out of everything that is kept, and a search of all bytes
proves it.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sqlite3
import subprocess
import sys
import unicodedata
import urllib.parse
from pathlib import Path

import pytest
import yaml
from harness import talks
from harness.command import on_terminal
from harness.hook import ROOT
from harness.session import Session, work
from harness.stubs import provider
from harness.vault import put

from memory.core import approvals, frontmatter, layout
from memory.health import erasure
from memory.hook import receipts
from memory.store import conversations, ledger

SECRET = "gh" + "p_" + "Zk3Qw9LmT7" + "xR2vBn8KcJ4hYd6PfS1gA5uE"
WORD = "Falken" + "stein-Übung"  # a name that no finder of secrets knows


def holders(place, *texts: str) -> list[str]:
    """Every file below the home and the shared tier, the runtime apart, that holds a text in any
    form: by this test's own search.
    """
    found = []
    for root in (place.home, place.shared):
        for path in Path(root).rglob("*"):
            if (
                not path.is_file()
                or path.is_symlink()
                or "runtime" in path.relative_to(root).parts[:1]
            ):
                continue
            data = path.read_bytes()
            low = data.lower()
            for text in texts:
                forms = [
                    said.encode(code)
                    for one in (text, text.lower(), text.upper())
                    for said, code in (
                        (one, "utf-8"),
                        (json.dumps(one)[1:-1], "ascii"),
                        (one, "utf-16-le"),
                        (one, "utf-16-be"),
                    )
                ]
                exact = [base64.b64encode(b"x" * n + text.encode())[4:-4] for n in range(3)]
                if (
                    any(form.lower() in low for form in forms)
                    or any(form in data for form in exact)
                    or text.lower() in path.name.lower()
                ):
                    found.append(str(path))
    return sorted(set(found))


@pytest.fixture
def planted(ok, place, tmp_path):
    """A secret everywhere: a hand-written record, its index, vectors, digests, answers, archive,
    receipts, logs, journal, temps.
    """
    good = provider(tmp_path)
    put(
        place,
        "p/learnings/deploy.md",
        "Deploy key",
        f"The deploy token is {SECRET} and works.",
        tags="deploy",
    )
    put(place, "p/learnings/deploy-old.md", "Deploy key before", f"Before: {SECRET.upper()}")
    ok("index", "build")
    ok("config", "set", "embeddings.provider.command", good.command)
    ok("config", "set", "embeddings.provider.args", json.dumps(list(good.args)))
    ok("index", "build", "--embeddings")
    ok("recall", "--semantic", "deploy token")
    ok("distill", "what is the deploy token?", "--provider", "extract")
    ok("forget", "deploy-old")
    home = Path(place.home)
    session = Path(place.cache, "sessions", "s1.json")
    session.parent.mkdir(exist_ok=True)
    session.write_text('{"v":2}\n' + json.dumps({"facts": f"export T={SECRET}"}))
    receipts.write(place.receipts("s1"), {"v": 1, "event": "start", "transcript": f"/x/{SECRET}"})
    (home / "log" / "errors.jsonl").write_text(json.dumps({"why": f'line "{SECRET}"'}) + "\n")
    (home / "log" / "bug-1.txt").write_text(f"Traceback {SECRET}\n")
    before = f"---\nid: deploy\n---\nThe deploy token is {SECRET}.\n".encode()
    kept = approvals.files.sha256(before)
    (Path(place.private) / "archive" / "before").mkdir(parents=True, exist_ok=True)
    (Path(place.private) / "archive" / "before" / f"{kept}.md").write_bytes(before)
    (Path(place.private) / "journal.jsonl").write_text(
        json.dumps({"v": 1, "run": "1", "do": "change", "before": kept}) + "\n"
    )
    approvals.save_approved_bytes(place.home, before)
    approvals.append_decision(place.home, place.key, "r-9", kept, "approve", "tester", 1795271452.0)
    ledger.append_event(ledger.ledgers(place)[0], "deploy", "use", 1795271452.0)
    (Path(place.private) / "learnings" / ".dayleaf-999999-0").write_text(SECRET)
    for name in ("other.walls", "other.met", "other.turned"):
        (Path(place.cache) / name).write_text(json.dumps({"said": [SECRET]}))
    (Path(place.cache) / "x.seg.damaged").write_bytes(
        SECRET.encode("utf-16-le") + base64.b64encode(b"12" + SECRET.encode())
    )
    return home


def test_a_secret_goes_from_everywhere(ok, run, place, planted):
    """The plan first, which changes nothing; then everything, proven by a search that this test
    does on its own.
    """
    there = holders(place, SECRET)
    assert len(there) >= 10
    assert "nothing was changed" in ok("redact", "deploy")
    assert holders(place, SECRET) == there
    mtime = os.stat(place.private + "/learnings/deploy.md").st_mtime_ns
    done = run("redact", "deploy", "--apply")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of " in done.stdout and SECRET not in done.stdout + done.stderr
    assert holders(place, SECRET) == []
    record = Path(place.private, "learnings/deploy.md")
    assert "The deploy token is [redacted:github-token#" in record.read_text()
    assert record.stat().st_mtime_ns == mtime and record.stat().st_mode & 0o777 == 0o644
    assert "the approval of r-9 contained it" in done.stdout
    assert not Path(place.home, "cache/queries.db").exists() and not list(
        Path(place.cache).glob("other.*")
    )
    assert "Deploy key" in ok("recall", "deploy token")
    assert "index is correct" in ok("index", "verify")


def test_what_is_appended_to_stays_whole(ok, place, planted):
    """Logs are covered in place: same size, same lines, still JSON; the journal follows its bytes
    to their new hash.
    """
    log, before = Path(place.home, "log/errors.jsonl"), Path(place.home, "log/errors.jsonl").stat()
    ok("redact", "deploy", "--apply")
    assert log.stat().st_size == before.st_size and log.stat().st_ino == before.st_ino
    assert "[redacted:" in json.loads(log.read_text())["why"]
    kept = json.loads(Path(place.private, "journal.jsonl").read_text())["before"]
    data = Path(place.private, f"archive/before/{kept}.md").read_bytes()
    assert approvals.files.sha256(data) == kept and b"[redacted:" in data
    assert json.loads(Path(place.cache, "sessions/s1.json").read_text().split("\n")[1])[
        "facts"
    ].startswith("export T=[redacted:")
    assert "before" in ok("restore", "deploy-old")


def test_a_named_text_goes_too(ok, run, place):
    """From stdin, in any case, escaped, in names of files; other records only where that is asked
    for.
    """
    put(
        place,
        "p/learnings/a.md",
        "Plan " + WORD,
        "We call it %s." % WORD.lower(),
        links='[{"relation": "related_to", "target": "b"}]',
    )
    put(place, "p/learnings/b.md", "Other", "also " + WORD)
    put(place, "g/learnings/c.md", "Third", json.dumps(WORD))
    put(place, "p/learnings/plan-%s.md" % WORD, "Named", "nothing else")
    ok("index", "build")
    done = run("redact", "a", "--text", "-", "--apply", stdin=WORD + "\n")
    assert done.returncode == 1 and "--everywhere" in done.stdout
    assert [Path(path).name for path in holders(place, WORD) if "/cache/" not in path] == [
        "c.md",
        "b.md",
        "plan-%s.md" % WORD,
    ]
    assert WORD.lower() not in (done.stdout + done.stderr).lower()
    done = run("redact", "b", "--text", "-", "--apply", "--everywhere", stdin=WORD)
    assert (done.returncode, done.stderr) == (0, "")
    assert holders(place, WORD) == []
    assert "[redacted:text#" in ok("show", "a")
    assert "0 of " in done.stdout


def test_what_was_made_of_a_conversation_loses_the_text_with_it(run, place):
    """Its session's note and checkpoints; what a person wrote there, and others, are named."""
    day = "2026-11-20"
    for name, kind, source in (
        ("conversations/%s/talk" % day, "conversation", "auto"),
        ("notes/%s/note" % day, "note", "auto"),
        ("checkpoints/%s/work" % day, "checkpoint", "auto"),
        ("checkpoints/%s/byhand" % day, "checkpoint", "human"),
        ("learnings/other", "learning", "auto"),
    ):
        head = {"id": name.rpartition("/")[2], "kind": kind, "source": source, "session": "s-1"}
        put(place, "p/%s.md" % name, "Named", "About " + WORD, **head)
    done = run("redact", "talk", "--text", "-", "--apply", stdin=WORD)
    assert done.returncode == 1 and "removed it from 3 files" in done.stdout
    left = {Path(path).name for path in holders(place, WORD) if "/cache/" not in path}
    assert left == {"byhand.md", "other.md"}


def test_the_plan_asks_on_a_terminal(ok, env, project, place):
    """A text is asked for without echo, and nothing happens without a yes."""
    path = Path(put(place, "p/learnings/a.md", "A", "the " + WORD))
    put(place, "p/learnings/b.md", "B", "the " + WORD)
    status, shown = on_terminal(["redact", "a", "--text", WORD], env, project, ["no"])
    assert (
        status == 0
        and "nothing was changed" in shown
        and WORD in path.read_text()
        and "shell's history" in shown
    )
    status, shown = on_terminal(["redact", "a", "--text", WORD], env, project, ["yes", "yes"])
    assert status == 0 and holders(place, WORD) == []


def test_what_the_formats_are_made_of_stays(run, ok, place):
    """A text that would break every file is refused, a short one too, and where no secret is found
    the way is said.
    """
    put(place, "p/learnings/a.md", "A", "the session event of 2026")
    for text in ("session", "event", "2026", "abc", "", "A", "project"):
        done = run("redact", "a", "--text", "-", "--apply", stdin=text)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, text
    done = run("redact", "a")
    assert done.returncode == 1 and "--text -" in done.stderr
    assert "no record" in run("redact", "nothing", "--apply").stderr


def test_what_is_not_ours_is_named_and_left(run, place, project, env):
    """Settings, foreign files, the host's transcripts, git's history: said, with a remedy, and
    untouched.
    """
    put(place, "s/learnings/a.md", "A", "the " + WORD)
    Path(place.home).mkdir(exist_ok=True)
    config = Path(place.home, "config.json")
    config.write_text(json.dumps({"redact.allow": [WORD]}))
    foreign = Path(place.home, "notes.txt")
    foreign.write_text(WORD)
    folder = Path(env["HOME"], ".claude/projects/-x")
    folder.mkdir(parents=True)
    told = {
        "type": "user",
        "cwd": project,
        "timestamp": "2026-11-21T14:00:00Z",
        "message": {"content": WORD},
    }
    (folder / "0a1b.jsonl").write_text(json.dumps(told) + "\n")
    done = run("redact", "a", "--text", "-", "--apply", stdin=WORD)
    assert done.returncode == 1 and "2 of " in done.stdout
    for said in ("settings are yours", "not dayleaf's file", "0a1b.jsonl", "git filter-repo"):
        assert said in done.stdout
    assert (
        WORD in config.read_text() + json.loads(config.read_text())["redact.allow"][0]
        and foreign.read_text() == WORD
    )
    assert WORD not in Path(place.shared, "learnings/a.md").read_text()
    assert Path(place.shared, "learnings/a.md").stat().st_mode & 0o777 == 0o644


def test_a_log_that_is_written_meanwhile_loses_no_line(ok, place, env):
    """Another process appends receipts all the while."""
    put(place, "p/learnings/a.md", "A", "the " + SECRET)
    path = Path(place.receipts("s2"))
    path.parent.mkdir(parents=True)
    loop = (
        "i=0; while [ $i -lt 4000 ]; do i=$((i+1)); echo "
        '"{\\"v\\":1,\\"n\\":$i,\\"x\\":\\"%s\\"}" >> "%s"; done'
    ) % (SECRET, path)
    writer = subprocess.Popen(["sh", "-c", loop], env=env)
    while writer.poll() is None:
        Path(place.private, "learnings/a.md").write_text(
            "---\nid: a\ntitle: A\n---\n\nthe " + SECRET + "\n"
        )
        subprocess.run(
            [sys.executable, "-I", str(ROOT / "memory"), "store", "redact", "a", "--apply"],
            env=env,
            cwd=place.root,
            capture_output=True,
        )
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["n"] for row in rows] == list(range(1, 4001))


@pytest.mark.parametrize(
    "form",
    [
        "plain",
        "upper",
        "broken",
        "quoted",
        "json",
        "json broken",
        "double",
        "percent",
        "utf-16-le",
        "utf-16-be",
        "base64",
        "base64+1",
        "base64+2",
        "url64",
        "nfd",
        "term",
    ],
)
def test_every_form_is_found(form):
    """Each alone, between other bytes."""
    text = 'Zürich key"7' if form not in ("term", "percent") else "my_secret-token_v77"
    quoted = json.dumps(text)[1:-1]
    data = {
        "plain": text.encode(),
        "upper": text.upper().encode(),
        "broken": text.replace(" ", "\r\n  ").encode(),
        "quoted": text.replace(" ", "\n> ").encode(),
        "json broken": json.dumps(text.replace(" ", "\n"))[1:-1].encode(),
        "json": quoted.encode(),
        "double": json.dumps(quoted)[1:-1].encode(),
        "percent": urllib.parse.quote(text).encode(),
        "utf-16-le": text.encode("utf-16-le"),
        "utf-16-be": text.encode("utf-16-be"),
        "base64": base64.b64encode(text.encode() + b"--"),
        "base64+1": base64.b64encode(b"a" + text.encode() + b"--"),
        "base64+2": base64.b64encode(b"ab" + text.encode() + b"--"),
        "url64": base64.urlsafe_b64encode(text.encode()),
        "nfd": unicodedata.normalize("NFD", text).encode(),
        "term": b"mysecrettokenv77",
    }[form]
    found = erasure.make_finder({text: "[redacted:text#0000]"})
    if form == "term":
        assert found.count(b"my_secret-token_v77")
        return
    assert found.count(b"\x00\xff" + data + b"\xff") == 1
    assert found.count(b"nothing of the kind") == 0
    masked = bytearray(data)
    for at, mask in found.find_masks(data):
        masked[at : at + len(mask)] = mask
    assert len(masked) == len(data) and not found.count(bytes(masked))


def test_past_queries_are_gone(place, ok, planted):
    """Their vectors tell what was asked."""
    base = sqlite3.connect(place.home + "/cache/queries.db")
    assert base.execute("SELECT count(*) FROM queries").fetchone()[0] == 1
    base.close()
    ok("redact", "deploy", "--apply")
    assert not Path(place.home, "cache/queries.db").exists()


def test_a_conversation_that_was_redacted_is_not_taken_for_a_hand_edit(ok, place):
    """What it says of its own text follows; one that a person changed stays theirs."""
    paths = [
        Path(
            place.path(
                talks.put(
                    place,
                    (talks.RESUME, "## 15:00 who is it?\n\nIt is %s.\n" % WORD),
                    id=id,
                    written=written,
                )
            )
        )
        for id, written in (("c-7a1c0001", True), ("c-7a1c0002", False))
    ]
    ok("index", "build")
    ok("redact", "c-7a1c0001", "--text", "-", "--apply", "--everywhere", stdin=WORD)
    assert holders(place, WORD) == []
    assert [conversations.is_edited_file(path.read_bytes()) for path in paths] == [False, True]
    assert all("[redacted:text#" in path.read_text() for path in paths)
    assert "[redacted:text#" in ok("show", "c-7a1c0001")


def test_an_archived_conversation_is_redacted_like_any_record(ok, place):
    """Brought back, it is dayleaf's own still."""
    talks.put(place, (talks.RESUME, "## 15:00 who is it?\n\nIt is %s.\n" % WORD))
    put(place, "p/learnings/a.md", "A", "the " + WORD)
    ok("forget", "c-7a1c0001")
    ok("redact", "a", "--text", "-", "--apply", "--everywhere", stdin=WORD)
    ok("restore", "c-7a1c0001")
    found = next(Path(place.private).glob("conversations/*/*.md"))
    assert WORD not in found.read_text() and not conversations.is_edited_file(found.read_bytes())


def head_of(path: Path) -> dict:
    """The head of a file as YAML itself reads it."""
    return yaml.safe_load(path.read_text("utf-8").split("---\n")[1])


def test_a_record_whose_head_names_the_text_stays_valid(ok, run, place):
    """In title, rationale, branch, files, links and tags, plain, quoted, listed and in a block; a
    tag that names it goes.
    """
    path = Path(place.private, "learnings/contoso-export.md")
    path.parent.mkdir(parents=True)
    path.write_text(
        "---\nid: l-1a2b3c4d\nkind: learning\ntitle: Contoso export is slow\n"
        "created: 2026-11-20T10:00:00Z\ntags: [contoso, export]\ntopics:\n  - contoso-api\n"
        "rationale: Contoso pays\nbranch: contoso\naliases: ['Contoso: the export', other]\n"
        "files: [src/contoso.py, src/b.py]\n# of Contoso\nnote: >-\n  long for\n  Contoso alone\n"
        'links: [{relation: related_to, target: "contoso notes"}]\nsource: human\n---\n\n'
        "Contoso waits.\n"
    )
    put(place, "p/learnings/only.md", "Contoso", "nothing else", tags="contoso")
    ok("index", "build")
    done = run("redact", "l-1a2b3c4d", "--text", "-", "--apply", "--everywhere", stdin="Contoso")
    assert (done.returncode, done.stderr) == (0, "") and holders(place, "Contoso") == []
    (there,) = Path(place.private, "learnings").glob("redacted-text-*-export.md")
    mark = re.fullmatch(r"redacted-text-([0-9a-f]{4})-export.md", there.name)[1]
    head = head_of(there)
    assert head["title"] == "[redacted:text#%s] export is slow" % mark
    assert (head["branch"], head["rationale"]) == (
        "[redacted:text#%s]" % mark,
        "[redacted:text#%s] pays" % mark,
    )
    assert head["tags"] == ["export"] and "topics" not in head
    assert head["files"] == ["src/[redacted:text#%s].py" % mark, "src/b.py"]
    assert head["links"][0]["target"] == "[redacted:text#%s] notes" % mark
    assert "0 errors" in ok("check") and "not valid YAML" not in ok("check")
    assert "tags" not in head_of(Path(place.private, "learnings/only.md"))


def test_a_file_name_stays_one_for_every_system(ok, run, place):
    """Also in the archive's log, by which a record is brought back."""
    ok("learn", "The importer runs on Kestrel in Lyon")
    ok("learn", "Kestrel is slow")
    ok("forget", "Kestrel is slow")
    run(
        "redact",
        "The importer runs on Kestrel in Lyon",
        "--text",
        "-",
        "--apply",
        "--everywhere",
        stdin="Kestrel",
    )
    assert holders(place, "Kestrel") == []
    names = [path.name for path in Path(place.home).rglob("*.md")]
    assert len(names) == 2 and not any(set(name) & set('<>:"|?*[]#') for name in names)
    log = json.loads(Path(place.private, "archive/log.jsonl").read_text())
    ok("restore", log["id"])
    assert Path(place.private, log["from"]).exists()


def test_the_mark_of_a_named_text_does_not_tell_it(ok, run, place):
    """Whoever knows the workspace cannot try names against it."""
    marks = set()
    for word in ("first", "second"):
        put(place, "p/learnings/%s.md" % word, word, "It is Hanbit Electronics.")
        run("redact", word, "--text", "-", "--apply", stdin="Hanbit Electronics")
        marks.update(re.findall("redacted:text#....", ok("show", word)))
    assert len(marks) == 2


def test_a_session_that_was_redacted_goes_on(run, env, project, now):
    """Its checkpoint and conversation are still dayleaf's own, and get what comes."""
    session = Session(env, project, now)
    work(session.ask("Contoso export is slow in src/export.py")).say("Streaming for Contoso.")
    session.fire("PreCompact")
    id = frontmatter.parse(session.where()[0].read_bytes()).meta["id"]
    done = run("redact", id, "--text", "-", "--apply", "--everywhere", stdin="Contoso")
    assert done.returncode == 0 and holders(session.place, "Contoso") == []
    work(session.ask("go on with the export tests"), name="n").say("They pass now.")
    session.fire("SessionEnd")
    assert "go on with the export tests" in session.talk() and "They pass now" in session.talk()
    assert holders(session.place, "Contoso") == [] and "0 errors" in run("check").stdout


@pytest.mark.parametrize("name", ["한빛", "김철수", "SAP", "LG"], ids="1234")
def test_a_short_name_goes(ok, run, place, name):
    """Two letters of Korean are a name; short capitals are one where they stand alone."""
    ok("learn", "%s wants the retry, %s에서" % (name, name.lower()))
    put(place, "p/learnings/other.md", "The algorithm of sapling", "first\n%s: second" % name)
    state = Path(place.cache, "sessions", "s1.json")
    state.parent.mkdir(exist_ok=True, parents=True)
    state.write_text(json.dumps({"sap": "call\n%s now" % name, "lg": 1}))
    done = run("redact", "other", "--text", "-", "--apply", "--everywhere", stdin=name)
    assert (done.returncode, done.stderr) == (0, "")
    kept = [path.read_text() for path in [*Path(place.private).rglob("*.md"), state]]
    assert len(kept) == 3 and name not in json.dumps(kept, ensure_ascii=False)
    assert (
        "wants the retry" in kept[0] + kept[1] and "The algorithm of sapling" in kept[0] + kept[1]
    )
    assert not any(re.search(r"\b%s\b" % name.lower(), page) for page in kept[:2])
    assert list(json.loads(kept[2])) == ["sap", "lg"]
    assert not list(Path(place.home).rglob("*%s*" % name.lower()))


def test_a_name_that_is_the_folder_s_goes_from_all_but_the_path(run, env, tmp_path, now):
    """The path is named; hooks, approvals and the session find their way by it as before."""
    project = tmp_path / "northwind-api"
    (project / ".git").mkdir(parents=True)
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n")
    session = Session(env, str(project), now)
    place = session.place
    receipts.write(
        place.receipts(session.name),
        {"v": 1, "event": "start", "transcript": str(session.path.parent / "northwind.jsonl")},
    )
    work(session.ask("Northwind pays late in src/pay.py")).say("Northwind is told.")
    session.fire("PreCompact")
    approvals.append_decision(place.home, place.key, "r-9", "a" * 64, "approve", "tester", now)
    id = frontmatter.parse(session.where()[0].read_bytes()).meta["id"]
    done = subprocess.run(
        [
            *(sys.executable, "-I", str(ROOT / "memory"), "store", "redact", id),
            *("--text", "-", "--everywhere", "--apply"),
        ],
        env=env,
        cwd=project,
        input="Northwind",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "it is the path of a project" in done.stderr and "northwind" not in done.stderr.lower()
    pages = [path for path in Path(place.private).rglob("*") if path.is_file()]
    assert pages and not [path for path in pages if b"northwind" in path.read_bytes().lower()]
    assert (place.key, "r-9", "a" * 64) in approvals.read_approved(place.home)
    work(session.ask("go on in src/b.py"), name="n").say("Done.")
    session.fire("SessionEnd")
    assert (
        "go on in src/b.py" in session.talk() and layout.locate(env, str(project)).key == place.key
    )


def test_what_an_open_session_has_said_does_not_come_back(run, env, project, now):
    """It is captured first, though its transcript was written just now; what it says afterwards
    is written without reading that again.
    """
    session = Session(env, project, now)
    receipts.write(session.place.receipts(session.name), {"v": 1, "event": "start"})
    work(session.ask("Kestrel login in src/a.py")).say("Kestrel has a login.")
    session.fire("PreCompact")
    work(session.ask("Kestrel export too"), name="n").bash("echo %s" % SECRET).say("Kestrel: ok.")
    id = frontmatter.parse(session.where()[0].read_bytes()).meta["id"]
    done = run("redact", id, "--text", "-", "--apply", "--everywhere", stdin="Kestrel")
    assert done.returncode == 0 and holders(session.place, "Kestrel") == []
    assert "session that says it again: end it" in done.stdout and "export too" in session.talk()
    work(session.ask("rename all"), name="o").say("It is %s." % SECRET)
    session.fire("SessionEnd")
    assert holders(session.place, "Kestrel") == [] and "rename all" in session.talk()


def test_a_plan_asks_for_no_option_that_was_given(run, place):
    """Other records are part of it then."""
    put(place, "p/learnings/a.md", "A", "the " + WORD)
    put(place, "p/learnings/b.md", "B", "the " + WORD)
    words = ("redact", "a", "--text", "-")
    assert "add --everywhere for the 1 other record" in run(*words, stdin=WORD).stdout
    assert "add --everywhere" not in run(*words, "--everywhere", stdin=WORD).stdout


def test_the_list_of_files_that_sync_needs_is_named_as_such(run, ok, place):
    """Edited by hand, it would bring the file back from another machine."""
    ok("learn", "The %s port is open" % WORD)
    (record,) = Path(place.private, "learnings").glob("*.md")
    state = Path(place.home, "sync", "state.json")
    state.parent.mkdir()
    state.write_text(json.dumps({"rows": {record.relative_to(place.home).as_posix(): []}}))
    put(place, "p/learnings/a.md", "A", "the " + WORD)
    done = run("redact", "a", "--text", "-", "--apply", "--everywhere", stdin=WORD)
    assert done.returncode == 1 and "sync keeps the old file name" in done.stdout
    assert "not dayleaf's file" not in done.stdout
