"""What people wrote by hand gives no secret to the index, nor to a session."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import leaks
from harness.hook import fire, payload

from memory.core import config
from memory.store import writer
from memory.store.store import Store

PASSWORD, PIN = "Hunter2-Xy99z", "998877"
NOTE = (
    f"The FTP drop password is {PASSWORD}! for partner Zed.\n"
    f"<private>my pin {PIN}</private>\nZed uploads nightly.\n"
)
PART = (
    f"The toucan limit is 10 calls.\n<private>my pin {PIN}</private>\n"
    "Toucans of the zoo fly nightly.\n"
)
LIMIT = "what is the toucan limit, how many calls?"
ASKED = "how does partner Zed upload with FTP, and what is the toucan limit of calls?"


@pytest.fixture
def store(place, now) -> Store:
    return Store(place, config.load(place.home, "", {}), now)


def written(folder: str, name: str, text: str) -> Path:
    path = Path(folder, "learnings", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def kept(env) -> bytes:
    """Every byte that was derived of the records."""
    cache = Path(env["HOME"], ".dayleaf", "cache")
    return b"".join(path.read_bytes() for path in cache.rglob("*") if path.is_file()).lower()


def start(world, project, name="s1") -> str:
    event = payload("SessionStart", "startup", cwd=project, session_id=name)
    return fire("session_start", event, world).out.decode()


def ask(world, project, prompt, name="s2") -> str:
    event = payload("UserPromptSubmit", cwd=project, session_id=name, prompt=prompt)
    return fire("prompt", event, world).out.decode()


@pytest.mark.parametrize("tier", ["private", "shared"])
def test_a_password_in_a_note_by_hand_reaches_neither_the_index_nor_claude(
    tier, world, place, project, run
):
    """The rest of a note with a private part is given; the file stays as it is."""
    folder = getattr(place, tier)
    path = written(folder, "zed.md", NOTE)
    written(folder, "toucan.md", PART)
    run("index", "build")
    for said in (start(world, project), ask(world, project, LIMIT)):
        assert PASSWORD not in said and PIN not in said and "toucan limit is 10" in said
    assert PASSWORD not in ask(world, project, ASKED, "s3")
    for words in (["recall", "partner", "zed", "ftp"], ["show", "zed"]):
        out = run(*words, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="s2").stdout
        assert "nightly" in out and PASSWORD not in out and PIN not in out
    assert PASSWORD in run("show", "zed").stdout  # a person's own file, on a terminal
    assert PASSWORD.lower().encode() not in kept(world) and PIN.encode() not in kept(world)
    assert path.read_text(encoding="utf-8") == NOTE


def test_a_note_that_changes_while_a_session_runs_gives_no_private_part(world, place, project, run):
    """Nor the password that the index knew in it before."""
    written(place.private, "zed.md", NOTE)
    run("index", "build")
    written(place.private, "zed.md", NOTE + "More of Zed and his FTP uploads.\n")
    written(place.private, "toucan.md", PART)
    said = ask(world, project, LIMIT) + ask(world, project, ASKED, "s3")
    assert "toucan limit is 10" in said and PASSWORD not in said and PIN not in said


def test_a_person_hears_once_of_a_record_with_a_secret(world, place, project, run):
    """And again from `doctor`, until the file is mended."""
    path = written(place.private, "zed.md", NOTE)
    run("index", "build")
    said = [start(world, project, "s%d" % number) for number in range(3)]
    assert ["holds a secret" in one for one in said] == [False, True, False]
    assert "secrets    1 record" in run("doctor").stdout
    path.write_text("Zed uploads nightly by FTP.\n")
    start(world, project, "s8")
    assert "uploads nightly" in start(world, project, "s9")
    assert "secrets    " not in run("doctor").stdout


TOKEN = "gh" + "p_" + leaks.made("typed in", leaks.ALNUM, 36)
TYPED_IN = {  # by whether the file bears the checksum of what dayleaf wrote: where a person types
    "text": lambda text: text.replace("pulls.", "pulls with " + TOKEN),
    "title": lambda text: text.replace("title: ", "title: " + TOKEN + " "),
    "tag": lambda text: text.replace("tags: [deploy]", "tags: [deploy, %s]" % TOKEN),
    "heading": lambda text: text.replace("## 14:03", "## %s 14:03" % TOKEN),
    "unknown key": lambda text: text.replace("\n---\n", "\nremark: %s\n---\n" % TOKEN, 1),
}


@pytest.mark.parametrize("is_old", [False, True], ids=["of today", "of an older dayleaf"])
@pytest.mark.parametrize("where", TYPED_IN)
@pytest.mark.parametrize("kind", ["checkpoint", "handoff", "conversation", "note"])
def test_a_secret_typed_into_what_dayleaf_wrote_reaches_nobody(
    kind, where, is_old, store, world, place, project, run
):
    """What a person adds to a captured record is looked at like any note by hand."""
    body = "## 14:03 walrus deploy\n\nThe walrus registry logs in before it pulls.\n"
    folder = "checkpoint" if kind == "handoff" else kind
    record = store.add(folder, "Walrus deploy", body, tags=["deploy"], source="auto", session="s0")
    if kind == "handoff":
        record = store.promote(record.name, "p/checkpoints/handoff.md")
    run("index", "build")
    path = Path(place.path(record.name))
    text = path.read_text()
    assert "walrus" in run("recall", "walrus", CLAUDECODE="1").stdout
    key = "\n%s: %s" % (writer.CLEANED, record.meta[writer.CLEANED])
    text = TYPED_IN[where](text.replace(key, "") if is_old else text)
    assert TOKEN in text
    path.write_text(text)
    said = [
        start(world, project, "s1"),
        start(world, project, "s3"),
        ask(world, project, "how does the walrus registry log in?"),
    ]
    for words in (["recall", "walrus"], ["show", record.id], ["standup"], ["handoff", "--show"]):
        said += [run(*words, *more, CLAUDECODE="1").stdout for more in ([], ["--json"])]
    assert not [one for one in said if TOKEN in one] and path.read_text() == text
    assert TOKEN.lower().encode() not in kept(world)


def test_an_edit_is_given_to_the_next_start_but_not_with_a_secret(world, place, project, run):
    """A learning, a plan, a handoff: before anything has read the file again."""
    written(place.private, "toucan.md", PART)
    run("plan", "Toucan plan", "--step", "count the calls")
    run("handoff", "The toucan limit is half done")
    run("index", "build")
    for is_clean, added in ((True, "kestrels fly"), (False, "log in with " + TOKEN)):
        for path in Path(place.private).rglob("*.md"):
            path.write_text("%s\n%s\n" % (path.read_text().rstrip(), added))
        said = start(world, project)
        assert said.count("kestrels fly") == 3 * is_clean and TOKEN not in said


def test_an_edit_is_given_to_the_next_prompt_but_not_with_a_secret(world, place, project):
    start(world, project, "s4")
    prices = "Prices are integers in cents; never floats.\n"
    for number, added in enumerate((TOKEN, "")):
        written(place.shared, "prices%d.md" % number, prices + added)
        said = ask(world, project, "change the prices column to floats", "s4")
        assert ("integers in cents" in said) == (not added) and TOKEN not in said


@pytest.mark.parametrize("kind", ["auto", "human"])
@pytest.mark.parametrize(
    "key, value", [("enabled", "false"), ("allow", '["%s"]' % TOKEN)], ids=["off", "allowed"]
)
def test_what_settings_let_through_is_held_back_once_they_do_not(
    world, place, project, run, now, kind, key, value
):
    """At once, though nothing has read the files again."""
    assert not run("config", "set", "redact." + key, value).returncode
    store = Store(place, config.load(place.home, "", {}), now)
    store.add("checkpoint", "Fix the parser", "Fixed with %s.\n" % TOKEN, source=kind)
    store.add("learning", "Walrus login", "It logs in with %s.\n" % TOKEN, source=kind)
    run("index", "build")
    asked = "how does the walrus registry log in?"
    for is_told, name in ((True, "s1"), (False, "s2")):
        said = [start(world, project, name), ask(world, project, asked, name + "p")]
        said += [run("recall", w, CLAUDECODE="1").stdout for w in ("parser", "walrus")]
        told = [TOKEN in one for one in said]
        assert told[0] and told[2] if is_told else not any(told)
        Path(place.home, "config.json").write_text("{}")


def test_what_dayleaf_wrote_is_not_looked_at_again(store, place, monkeypatch):
    """Neither as it was written nor after changes of its own; a person's edit is."""
    from memory.index import builder
    from memory.store import redactor

    names = [store.add("checkpoint", "T", "Text", source="auto", session="s").name for _ in "ab"]
    store.edit(names[0], {"pinned": "true", "title": "Other"}, True)
    texts, redact = [], redactor.redact
    monkeypatch.setattr(
        redactor, "redact", lambda text, *more: texts.append(text) or redact(text, *more)
    )
    builder.build(place, 1.0)
    assert texts == []
    path = Path(place.path(names[0]))
    path.write_text(path.read_text() + "More.\n")
    builder.build(place, 2.0)
    assert texts


def test_a_secret_in_a_files_name_is_found_everywhere(world, place, project, run):
    """The checks name it, nothing shares it, and no session is told it."""
    written(place.private, "walrus %s.md" % TOKEN, "---\nid: l-a0000003\n---\nwalrus text\n")
    written(place.private, "%s.md" % TOKEN, "")
    run("index", "build")
    said = [start(world, project), ask(world, project, "walrus text", "s4")]
    for words in (
        ["recall", "walrus"],
        ["show", "l-a0000003"],
        ["index", "export"],
        ["check"],
        ["audit"],
        ["graph"],
        ["stats"],
    ):
        said += [run(*words, *more, CLAUDECODE="1").stdout for more in ([], ["--json"])]
    assert not [one for one in said if TOKEN in one]
    for words in (["check"], ["audit", "--strict"], ["share", "l-a0000003"]):
        done = run(*words)
        assert done.returncode and "secret" in done.stdout and "name" in done.stdout, words
    written(place.shared, "b %s.md" % TOKEN, "walrus\n")
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    assert "in the file's name" in run("check", "--staged").stdout


def test_a_record_that_calls_itself_automatic_is_looked_at_in_the_shared_tier(
    world, place, project, run
):
    """A repository's file says of itself what it likes."""
    head = "---\nkind: checkpoint\nsource: auto\nsession: s7\ncreated: 2026-11-01\n---\n"
    path = Path(place.shared, "checkpoints", "x.md")
    path.parent.mkdir(parents=True)
    path.write_text(head + NOTE, encoding="utf-8")
    run("index", "build")
    assert PASSWORD.lower().encode() not in kept(world)


def test_a_learning_written_while_a_session_runs_comes_with_the_prompt_that_names_it(
    world, place, project, run
):
    """In a fresh project too; not a second time, and not with a prompt about something else."""
    start(world, project, "s4")
    written(place.shared, "prices.md", "Prices are integers in cents; never floats.\n")
    assert "integers in cents" not in ask(world, project, "rename the login page", "s4")
    assert "integers in cents" in ask(world, project, "change the prices column to floats", "s4")
    assert "integers in cents" not in ask(world, project, "are prices floats or integers?", "s4")


def test_a_record_that_git_could_not_merge_is_neither_given_nor_written_into(
    world, place, project, run
):
    """`doctor` names it, until the markers are gone."""
    text = (
        "Retries need a jitter.\n<<<<<<< HEAD\n30 percent\n=======\n25 percent\n>>>>>>> dcd8f51\n"
    )
    path = written(place.shared, "jitter.md", text)
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    run("index", "build")
    assert "percent" not in start(world, project)
    assert "percent" not in ask(world, project, "how much jitter do the retries need?")
    refused = run("feedback", "jitter", "up", "it helped")
    assert refused.returncode == 1 and "git could not merge it" in refused.stderr
    assert path.read_text() == text
    assert "git could not merge learnings/jitter.md" in run("doctor").stdout
    path.write_text("Retries need a jitter of 25 percent.\n")
    assert "25 percent" in start(world, project, "s9")
    assert "git could not merge" not in run("doctor").stdout


def test_a_second_build_knows_what_the_first_found(world, place, run, monkeypatch):
    """So it costs no more than one without secrets to find."""
    from memory.index import builder
    from memory.store import redactor

    for number in range(40):
        written(place.private, "n%d.md" % number, "Word%d of a note.\n" % number)
    written(place.private, "zed.md", NOTE)
    builder.build(place, 1.0)
    texts = []
    redact = redactor.redact
    monkeypatch.setattr(
        redactor, "redact", lambda text, *more: texts.append(text) or redact(text, *more)
    )
    builder.build(place, 2.0)
    assert not [text for text in texts if "Word" in text] and b"hunter2" not in kept(world)
