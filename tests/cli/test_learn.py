"""The verbs that write records: learn, checkpoint, forget, restore, edit, new; and the switches on
and off.
"""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from harness import talks, vault
from harness.command import dayleaf, on_terminal, one_line_error
from harness.conversations import week
from harness.session import Session, work

from memory.core import files, frontmatter
from memory.hook import receipts
from memory.knowledge import walls
from memory.store import conversations

TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."
KEY = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


@pytest.fixture
def edits(env, project, tmp_path):
    """Run `dayleaf` with an editor that is a line of sh about the file "$1": edits(edit, *words) ->
    CompletedProcess.
    """

    def call(edit, *words, **more):
        editor = tmp_path / "an editor"
        editor.write_text("#!/bin/sh\n%s\n" % edit)
        editor.chmod(0o755)
        return dayleaf(env, project)(*words, **{"EDITOR": "'%s'" % editor, **more})

    return call


def test_what_is_learnt_is_found_at_once(ok):
    """A learning is a file and a hit before the next command."""
    kept = json.loads(
        ok("learn", TEXT, "--tag", "auth", "--version", "2.1", "--confidence", "high", "--json")
    )
    assert Path(kept["path"]).read_text(encoding="utf-8").endswith(TEXT + "\n")
    assert (kept["title"], kept["tags"], kept["versions"], kept["confidence"], kept["source"]) == (
        "Pin the JWT issuer in tests",
        ["auth"],
        ["2.1"],
        "high",
        "human",
    )
    found = json.loads(ok("recall", "jwt issuer", "--json"))
    assert [hit["id"] for hit in found["hits"]] == [kept["id"]]
    assert found["backend"] and not found["stale"]


def test_a_learning_from_the_clients_shell_is_the_agents(ok, run):
    """Inside the client the model writes, whatever the call says of whose it is."""
    assert json.loads(ok("learn", "x is y", "--json", CLAUDECODE="1"))["source"] == "agent"
    assert json.loads(ok("learn", "w is x", "--json", GEMINI_CLI="1"))["source"] == "agent"
    assert "only a person" in run("learn", "y is z", "--source", "human", CLAUDECODE="1").stderr


@pytest.mark.parametrize("words", [["-"], []], ids=["dash", "none"])
def test_a_text_may_come_from_stdin(ok, words):
    """`-`, or no words at all, read stdin, in any language."""
    kept = json.loads(ok("learn", *words, "--json", stdin="버튼을 누르면 저장된다.\n둘째 줄.\n"))
    assert kept["title"] == "버튼을 누르면 저장된다"
    assert "둘째 줄." in ok("show", kept["id"])


def test_tiers_are_chosen_by_option(ok, home, project):
    """--global is for every project, --shared goes into the repository."""
    assert json.loads(ok("learn", "a global one", "--global", "--json"))["path"].startswith(
        home + "/.dayleaf/global/"
    )
    assert json.loads(ok("learn", "a shared one", "--shared", "--json"))["path"].startswith(
        project + "/.dayleaf/learnings/"
    )


def test_a_checkpoint_by_hand_is_written(ok):
    """A note becomes a checkpoint of the session, tagged."""
    kept = json.loads(
        ok(
            "checkpoint",
            "Moved auth to v2. Next: the docs.",
            "--tag",
            "auth",
            "--session",
            "s-1",
            "--json",
        )
    )
    assert (kept["kind"], kept["title"], kept["tags"]) == (
        "checkpoint",
        "Moved auth to v2",
        ["auth"],
    )
    assert [
        hit["id"] for hit in json.loads(ok("recall", "--kind", "checkpoint", "--json"))["hits"]
    ] == [kept["id"]]


def test_forgetting_archives_and_restoring_brings_back(ok):
    """`forget` takes a record out of recall, `restore` puts it back."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    assert "restore " + id in ok("forget", id)
    assert json.loads(ok("recall", "jwt", "--json"))["hits"] == []
    ok("restore", id)
    assert [hit["id"] for hit in json.loads(ok("recall", "jwt", "--json"))["hits"]] == [id]


def test_removing_for_good_wants_a_yes_and_says_what_went(run, ok, home):
    """--hard without a terminal needs --yes; then no byte of the text is left below the home, the
    index included.
    """
    id = json.loads(ok("learn", "quokkasecretword lives here", "--json"))["id"]
    assert "--yes" in one_line_error(run("forget", id, "--hard"), 2)
    assert ok("show", id)
    said = ok("forget", id, "--hard", "--yes")
    assert "removed " + id in said and ".md" in said
    left = [
        path
        for path in Path(home).rglob("*")
        if path.is_file() and b"quokkasecretword" in path.read_bytes()
    ]
    assert left == []


def test_what_was_derived_goes_with_a_record_in_every_checkout(ok, home, place, now):
    """The call that worked is text of the record; the walls of other records are written anew."""
    week(place)
    walls.update_walls(place, vault.settings(), now)
    for end in (".walls", ".met"):
        held = Path(place.cache, place.scope + end)
        assert b"--state open" in held.read_bytes()
        Path(place.cache, "other" + end).write_bytes(held.read_bytes())
    for end in (".turned", ".facts", ".claims", ".heads"):  # of the records' titles and sentences
        Path(place.cache, "other" + end).write_text("--state open")
    ok("forget", "k-three", "--hard", "--yes")
    assert [
        path
        for path in Path(home).rglob("*")
        if path.is_file() and b"--state open" in path.read_bytes()
    ] == []
    assert walls.update_walls(place, vault.settings(), now)


def test_a_record_in_the_archive_can_be_removed_for_good(ok, home):
    """Forgetting first and removing later works too."""
    id = json.loads(ok("learn", "quokkasecretword lives here", "--json"))["id"]
    ok("forget", id)
    ok("forget", id, "--hard", "--yes")
    assert holding(home, "quokka") == [] and not list(Path(home).rglob("*quokka*"))


def holding(home, text):
    """The names of files below the home whose bytes hold a text."""
    return [
        path.name
        for path in Path(home, ".dayleaf").rglob("*")
        if path.is_file() and text.encode() in path.read_bytes().lower()
    ]


def test_what_was_approved_of_a_rule_goes_with_it(ok, env, project, home):
    """The copy that an edit would be compared with is its whole text."""
    assert on_terminal(["keep", "never name quokka in commits"], env, project)[0] == 0
    id = json.loads(ok("rule", "list", "--json"))[0]["id"]
    assert holding(home, "quokka")
    ok("forget", id, "--hard", "--yes")
    assert holding(home, "quokka") == []


def test_a_record_goes_with_what_is_kept_for_a_way_back(ok, run, home, place):
    """Its text before an upkeep, the copy of a killed editor, a killed writer's temporary file, its
    file name in logs.  The twin that was merged into it is a record of its own, and is named.
    """
    for number in "12":
        vault.put(
            place,
            "p/learnings/quokka-host-%s.md" % number,
            "Quokka host",
            "The importer runs on host seventeen of the quokka cellar.",
            id="l-0000000" + number,
            tags="t" + number,
        )
    ok("index", "build")
    ok("upkeep", "--apply")
    (kept,) = Path(place.private, "learnings").glob("*.md")
    assert list(Path(place.private, "archive/learnings").glob("*.md"))
    id = kept.read_text().partition("id: ")[2][:10]
    assert Path(place.private, "archive/learnings").is_dir() and holding(home, "quokka")
    Path(place.cache, "edit-%s.md" % id).write_bytes(kept.read_bytes())
    Path(kept.parent, ".dayleaf-999999-0-x").write_bytes(kept.read_bytes())
    receipts.write(place.receipts("s1"), {"v": 1, "wrote": "p/learnings/" + kept.name})
    said = ok("forget", id, "--hard", "--yes")
    (twin,) = Path(place.private, "archive/learnings").glob("*.md")
    assert "its name still stands in archive: " in said and twin.name in said
    assert {twin.name} == {*holding(home, "quokka")} - {"log.jsonl", "journal.jsonl"}
    other = twin.read_text().partition("id: ")[2][:10]
    assert "still stands" not in ok("forget", other, "--hard", "--yes")
    assert holding(home, "quokka") == []
    run("undo")
    assert holding(home, "quokka") == []


def test_another_project_s_note_of_the_same_name_loses_nothing(ok, place):
    """Its archive's log still says where it lies."""
    log = Path(place.home, "workspaces/other-1a2b3c4d/archive/log.jsonl")
    log.parent.mkdir(parents=True)
    log.write_text('{"v":1,"id":"a","from":"learnings/a.md","to":"archive/learnings/a.md"}\n')
    before = log.read_bytes()
    vault.put(place, "p/learnings/a.md", "Mine", "of the quokka")
    ok("forget", "a", "--hard", "--yes")
    assert log.read_bytes() == before


def test_what_else_names_a_removed_record_is_said(ok, run, place):
    """Another note that quotes its title is the user's own, and is named."""
    ok("learn", "The quokka server is down")
    vault.put(place, "p/learnings/other.md", "Other", "See 'The quokka server is down'.")
    done = run("forget", "The quokka server is down", "--hard", "--yes")
    assert "its name still stands in other record: " in done.stdout and "other.md" in done.stdout


def test_a_session_that_goes_on_after_it_was_forgotten_leaves_no_trace(ok, env, project, now, home):
    """Its later words stand nowhere, in no state either."""
    session = Session(env, project, now)
    work(session.ask("Add the quokka login in src/a.py")).say("The quokka has a login.")
    session.fire("SessionEnd")
    ok("forget", "--session", session.name, "--yes")
    work(session.ask("and the numbat export"), name="o").say("Numbat exported.")
    session.fire("Stop")
    session.fire("SessionEnd")
    assert holding(home, "numbat") == []


def test_a_session_that_goes_on_after_it_was_removed_leaves_no_trace(ok, env, project, now, home):
    """Nothing that is said in it is kept, in no state either."""
    session = Session(env, project, now)
    work(session.ask("Add the quokka login in src/a.py")).say("The quokka has a login.")
    session.fire("PreCompact")
    work(session.ask("one more thing for the quokka"), name="n").say("Quokka done.")
    session.fire("Stop")
    receipts.write(session.place.receipts(session.name), {"v": 1, "event": "start"})
    ok("forget", "--session", session.name, "--hard", "--yes")
    assert holding(home, "quokka") == [] and not files.exists(session.place.receipts(session.name))
    work(session.ask("and the quokka export"), name="o").say("Quokka exported.")
    session.fire("Stop")
    session.fire("SessionEnd")
    assert holding(home, "quokka") == []


@pytest.mark.parametrize(
    "words",
    [
        ["learn", "<private>foo. bar</private>"],
        ["learn", "<private>foo</private>", "--title", "T"],
        ["checkpoint", "<private>foo</private>"],
    ],
    ids=" ".join,
)
def test_nothing_is_kept_of_what_is_private(run, place, words):
    """A learning or note that is all private leaves no empty file, whatever its title."""
    assert "nothing is left to keep: all of it is marked private" in one_line_error(run(*words), 2)
    assert not list(Path(place.private).rglob("*.md"))


def test_the_same_words_with_another_tag_get_it(ok, home):
    """Today or later, the file that is there takes the tags; other words are another learning."""
    first = json.loads(ok("learn", "Issuers must match.", "--tag", "auth", "--json"))
    path = Path(first["path"])
    # as if it had been written long ago
    path.write_text(path.read_text().replace("created: 20", "created: 19", 1))
    assert ok("learn", "Issuers must match.", "--tag", "jwt", "--version", "2").startswith(
        "already there " + first["id"]
    )
    again = json.loads(ok("learn", "Issuers must match.", "--json"))
    assert (again["id"], again["tags"], again["versions"]) == (first["id"], ["auth", "jwt"], ["2"])
    assert ok("learn", "Issuers must match. Always.", "--title", "Issuers must match").startswith(
        "kept"
    )
    assert len(list(Path(home).rglob("issuers*.md"))) == 2


def test_the_same_words_of_a_candidate_are_kept(ok, place):
    """What nobody accepted is not pushed: the user's own words must be."""
    folder = Path(place.folder("p", "learning"))
    folder.mkdir(parents=True)
    (folder / "issuers-must-match-1a2b.md").write_text(
        "---\ntitle: Issuers must match\nsource: auto\n---\nIssuers must match.\n"
    )
    assert ok("learn", "Issuers must match.").startswith("kept")


def test_an_archived_record_is_said_to_be_archived(run, ok):
    """Neither show, forget nor restore offers another record in its place, and the start of an id
    will do.
    """
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    other = json.loads(ok("learn", "Another one.", "--json"))["id"]
    ok("forget", id)
    for verb in ("show", "forget"):
        for text in (id, id[:6]):
            assert "is archived; `dayleaf store restore %s` brings it back" % id in one_line_error(
                run(verb, text), 1
            )
    ok("restore", id[:6])
    assert "it is in the store" in one_line_error(run("restore", id), 1)
    ok("forget", id)
    assert "--yes" in one_line_error(run("forget", id, "--hard"), 2)
    assert "is archived" in one_line_error(run("show", id), 1)
    assert "0 cached answers removed" in ok("forget", id, "--hard", "--yes")
    for verb in ("show", "forget", "restore"):
        said = one_line_error(run(verb, id), 1)
        assert "record '%s'; " % id in said and "did you mean" not in said and other not in said


def test_an_id_is_not_taken_for_one_that_is_merely_alike(run, ok):
    """Hexadecimal digits are alike by chance; what may be removed is never offered for that."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    # two that are no neighbours, which might be swapped
    one, other = ("%x" % (15 - int(id[at], 16)) for at in (5, 7))
    alike = id[:5] + one + id[6] + other + id[8:]
    assert id not in one_line_error(run("forget", alike), 1)


def test_a_folder_that_cannot_be_written_is_named(run, project, home):
    """The repository's, where the record was to be shared."""
    Path(project, ".dayleaf").write_text("in the way")
    said = one_line_error(run("learn", "x y", "--shared"), 1)
    assert said.endswith("the permissions of " + project) and home + "/.dayleaf" not in said


@pytest.fixture
def session(place):
    """A session with two checkpoints, a conversation, a learning that came of it; and another
    session's checkpoint.
    """
    talks.put(place)
    for number in (1, 2):
        vault.put(
            place,
            "p/checkpoints/2026-01-23/15000%d-x.md" % number,
            "Fixed resume %d" % number,
            "quokkanote",
            created="2026-01-23T15:00:0%dZ" % number,
            session=talks.SESSION,
            source="auto",
            conversation="c-7a1c0001",
        )
    vault.put(
        place,
        "p/learnings/markers.md",
        "Markers come first",
        "Write it, then read it.",
        session=talks.SESSION,
    )
    vault.put(
        place,
        "p/checkpoints/2026-01-24/150001-y.md",
        "Another session",
        session="other",
        source="auto",
    )
    return talks.SESSION


def test_forgetting_one_record_says_what_of_its_session_stays(ok, session):
    """A checkpoint's conversation, a conversation's checkpoints; of a learning nothing is said."""
    said = ok("forget", "150001-x")
    assert "  1 conversation and 1 checkpoint of its session stay; " in said
    assert "`dayleaf record forget --session %s` removes all" % session in said
    assert json.loads(ok("forget", "c-7a1c0001", "--json"))["stays"] == ["150002-x"]
    assert "--session" not in ok("forget", "markers") and "--session" not in ok(
        "forget", "150001-y"
    )


@pytest.fixture
def captured(env, project, now) -> Session:
    """A session that was captured, of a quokka."""
    session = Session(env, project, now)
    work(session.ask("Add the quokka login in src/a.py")).say("The quokka has a login.")
    session.fire("SessionEnd")
    return session


def _lose_state(session, lost):
    if lost:
        session.state.unlink()


def test_a_session_is_forgotten_as_a_whole_once_a_person_says_yes(run, ok, session, place):
    """It is shown first; without a yes all stays; the learning that came of it stays and is named;
    it can be brought back.
    """
    done = run("forget", "--session", session[:9])
    assert done.returncode == 2 and "--yes" in one_line_error(
        run("forget", "--session", session[:9], "--json"), 2
    )
    assert all(id in done.stdout for id in ("150001-x", "150002-x", "c-7a1c0001")) and ok(
        "show", "c-7a1c0001"
    )
    said = ok("forget", "--session", session, "--yes")
    assert (
        "archived 3 records of session " + session in said
        and "1 record made from it stays: markers" in said
    )
    left = json.loads(ok("recall", "--json", "--limit", "50"))["hits"]
    assert sorted(hit["id"] for hit in left) == ["150001-y", "markers"]
    assert conversations.was_forgotten(place, session)
    ok("restore", "c-7a1c0001")
    assert not conversations.was_forgotten(place, session) and "why does resume fail" in ok(
        "show", "c-7a1c0001"
    )


def test_a_session_is_removed_for_good_with_what_the_archive_has_of_it(ok, session, home, place):
    """No byte of its text is left, but that it was forgotten is: a session that goes on writes none
    of it again.
    """
    ok("index", "build")
    ok("forget", "150001-x")
    done = json.loads(ok("forget", "--session", session, "--hard", "--yes", "--json"))
    assert sorted(done["removed"]) == ["150001-x", "150002-x", "c-7a1c0001"] and done["stays"] == [
        "markers"
    ]
    texts = (b"quokkanote", b"exponential backoff", b"never committed")
    assert [
        path
        for path in Path(home).rglob("*")
        if path.is_file() and any(text in path.read_bytes() for text in texts)
    ] == []
    assert conversations.was_forgotten(place, session)


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("hard", [[], ["--hard", "--yes"]], ids=str)
def test_a_conversation_that_was_forgotten_alone_is_not_written_again(captured, ok, hard, lost):
    """In the archive or for good; checkpoints go on."""
    (talk,) = captured.talks()
    ok("forget", str(frontmatter.parse(talk.read_bytes()).meta["id"]), *hard)
    _lose_state(captured, lost)
    work(captured.ask("and the numbat export"), name="o").fire("SessionEnd")
    assert len(captured.files()) == 2 and captured.talks() == []
    assert not conversations.was_forgotten(captured.place, captured.name)


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("hard", [[], ["--hard"]], ids=str)
@pytest.mark.parametrize("words", [["--mentions", "quokka"], ["--day", "2026-11-21"]], ids=str)
def test_a_session_goes_on_after_what_it_said_was_forgotten(captured, ok, words, hard, lost):
    """Its later words are captured, and the earlier ones stay away, whatever is left of it."""
    said = json.loads(ok("forget", *words, *hard, "--yes", "--json"))["forgotten"]
    assert len(said) == 2 and captured.files() == captured.talks() == []
    _lose_state(captured, lost)
    work(captured.ask("and the numbat export"), name="o").fire("SessionEnd")
    (text,) = captured.files()
    told = text + "".join(path.read_text() for path in captured.talks())
    assert "numbat" in told and "quokka" not in told


def test_a_session_is_asked_for_on_a_terminal(env, project, session, place):
    """What goes stands above the question; anything but yes leaves it."""
    status, shown = on_terminal(["forget", "--session", session], env, project, ["no"])
    assert (
        status == 2
        and "c-7a1c0001" in shown
        and "archive 3 records of session" in shown
        and "nothing was forgotten" in shown
    )
    status, shown = on_terminal(["forget", "--session", session], env, project, ["yes"])
    assert status == 0 and not list(Path(place.private).glob("conversations/*/*.md"))


def test_a_session_that_is_not_known_or_not_meant_alone_is_said(run, session, place):
    """One line each: unknown, two that begin alike, an id and a session at once."""
    vault.put(
        place, "p/checkpoints/2026-01-24/160000-z.md", "Alike", session="5e551099", source="auto"
    )
    assert "no session 'nowhere'" in one_line_error(
        run("forget", "--session", "nowhere", "--yes"), 1
    )
    assert "could be 5e551011" in one_line_error(run("forget", "--session", "5e5510", "--yes"), 1)
    assert "not both" in one_line_error(run("forget", "markers", "--session", session), 2)


def test_the_sessions_model_forgets_nothing(run, session):
    """Neither a record nor a session, with a yes or without."""
    for words in (
        ("forget", "markers"),
        ("forget", "--session", session, "--yes"),
        ("forget", "--session", session, "--hard", "--yes"),
    ):
        assert "only a person" in one_line_error(
            run(*words, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=session), 2
        )


def test_a_conversation_that_is_edited_is_a_persons_from_then_on(edits, session, place):
    """Its text alone: a link leaves it dayleaf's own."""
    path = next(Path(place.private).glob("conversations/*/*.md"))
    assert edits("true", "link", "c-7a1c0001", "markers").returncode == 0
    assert "markers" in path.read_text() and not conversations.is_edited_file(path.read_bytes())
    assert (
        edits("sed -i 's/never committed/left out/' \"$1\"", "edit", "c-7a1c0001").returncode == 0
    )
    assert conversations.is_edited_file(path.read_bytes())


def test_a_day_a_file_or_a_text_is_forgotten_once_it_was_shown(run, ok, session, place):
    """What goes stands there first; without a yes all stays; the options narrow one another."""
    done = run("forget", "--day", "2026-01-24")
    assert done.returncode == 2 and "150001-y" in done.stdout and "150001-x" not in done.stdout
    assert "no record matches" in ok("forget", "--mentions", "nowhere to be seen", "--yes")
    vault.put(place, "p/learnings/parser.md", "The parser", "It reads `src/parse.c` by line.")
    assert json.loads(ok("forget", "--file", "src/parse.c", "--yes", "--json"))["forgotten"] == [
        "parser"
    ]
    ok("restore", "parser")
    said = json.loads(
        ok("forget", "--mentions", "quokkanote", "--day", "2026-01-23", "--yes", "--json")
    )["forgotten"]
    assert said == ["150002-x", "150001-x"] and ok("show", "150001-y")
    assert "not both" in one_line_error(run("forget", "markers", "--day", "yesterday"), 2)
    assert "only a person" in one_line_error(
        run("forget", "--day", "2026-01-24", "--yes", CLAUDECODE="1"), 2
    )


def test_a_text_is_found_however_it_is_composed(ok):
    """As a file system or another keyboard spells it."""
    typed = unicodedata.normalize("NFD", "Müller & Söhne zahlen spät")
    id = json.loads(ok("learn", typed, "--json"))["id"]
    said = ok("forget", "--mentions", "MÜLLER", "--yes")
    assert "archived 1 record" in said and id in said
    assert "other projects and the archive were not searched" in said
    assert id in ok("forget", "--mentions", "müller", "--hard", "--yes")


def test_a_session_is_not_narrowed_by_a_text(run, session):
    """Else all of it would go though the text is not in it."""
    done = run("forget", "--mentions", "quokkanote", "--session", session, "--yes")
    assert "leave --mentions out" in one_line_error(done, 2)


def test_what_the_team_has_is_told_apart_before_it_goes(run, place):
    """A yes would take it from everybody."""
    vault.put(place, "p/learnings/a.md", "Mine", "of the quokka")
    vault.put(place, "s/learnings/b.md", "Ours", "of the quokka")
    shown = run("forget", "--mentions", "quokka").stdout
    assert re.search(r"shared +Ours", shown) and "shared  Mine" not in shown
    assert "2 records, 1 of them shared" in run("forget", "--mentions", "quokka").stderr


def test_a_no_is_not_answered_with_what_a_yes_needs(env, project, place):
    """It was given in a terminal."""
    vault.put(place, "p/learnings/a.md", "Mine", "of the quokka")
    for words in (["forget", "--mentions", "quokka"], ["forget", "a", "--hard"]):
        status, shown = on_terminal(words, env, project, ["n"])
        assert status == 2 and "nothing was forgotten" in shown or "was not removed" in shown
        assert "in a terminal" not in shown


def test_what_a_session_learns_waits_until_a_person_or_another_session_says_so(ok, handled):
    """Recall finds it meanwhile; no prompt and no brief gets it."""
    text = "The gannet service listens on port 9999 always"
    said = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "one"}
    assert "candidate" in ok("learn", text, **said)
    assert "already there" in ok("learn", text, **said)
    (hit,) = json.loads(ok("recall", "gannet", "--json"))["hits"]
    assert (hit["accepted"], hit["source"]) == (False, "agent")
    prompt = {"session_id": "two", "prompt": "which port does the gannet service use?"}
    assert "9999" not in str(handled("prompt", **prompt)) + str(handled("start", session_id="two"))
    assert "candidate" not in ok("learn", text, **{**said, "CLAUDE_CODE_SESSION_ID": "two"})
    (hit,) = json.loads(ok("recall", "gannet", "--json"))["hits"]
    assert hit["accepted"]
    assert "9999" in str(handled("start", session_id="three"))


@pytest.mark.parametrize("again", ["%s", "%s.", "  %s\n"])
def test_what_a_person_says_too_is_theirs(ok, handled, again):
    """Nothing of it waits or stands twice."""
    text = "The gannet service listens on port 9999 always"
    ok("learn", text, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="one")
    assert ok("learn", again % text, "--tag", "ports").startswith("kept l-")
    (hit,) = json.loads(ok("recall", "gannet", "--json"))["hits"]
    assert (hit["accepted"], hit["tags"]) == (True, ["ports"])
    assert "no candidate" in ok("notes", "harvest", "list")
    assert ok("learn", text).startswith("already there")
    assert "9999" in str(handled("start", session_id="two"))


def test_a_day_takes_the_sessions_that_had_a_turn_then(run, place):
    """Begun the evening before; a day on which nothing was said takes nothing."""
    late = talks.LINT.replace("2026-01-24", "2026-01-26")
    end = "2026-01-26T09:12:30.125Z"
    talks.put(place, (*talks.TURNS[:2], late), until=end)
    head = {"session": talks.SESSION, "source": "auto", "created": "2026-01-23T15:00:00Z"}
    vault.put(place, "p/checkpoints/2026-01-23/150000-a.md", "A", "Retries", until=end, **head)
    alone = {**head, "session": "another", "until": end}
    vault.put(place, "p/checkpoints/2026-01-23/150001-b.md", "B", "No conversation", **alone)
    ids = ("c-7a1c0001", "150000-a", "150001-b")

    def taken(day: str) -> set[str]:
        shown = run("forget", "--day", day).stdout
        return {id for id in ids if id in shown}

    assert taken("2026-01-22") == set() and taken("2026-01-25") == {"150001-b"}
    assert taken("2026-01-23") == taken("2026-01-26") == set(ids)


def test_another_session_may_say_nearly_the_same(ok):
    said = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "one"}
    ok("learn", "The gannet service listens on port 9999", **said)
    again = "the Gannet service  listens on port 9999."
    assert "candidate" in ok("learn", again, **said)
    assert "candidate" not in ok("learn", again, **{**said, "CLAUDE_CODE_SESSION_ID": "two"})
    assert "candidate" not in ok("learn", again, **{**said, "CLAUDE_CODE_SESSION_ID": "three"})
    (hit,) = json.loads(ok("recall", "gannet", "--json"))["hits"]
    assert hit["accepted"]


GANNET = "The gannet service listens on port 9999 behind the old proxy of the depot"
ONE = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "one"}
TWO = {**ONE, "CLAUDE_CODE_SESSION_ID": "two"}


@pytest.mark.parametrize("where", [("--global",), ("--shared",), ("--title", "Ports")])
def test_a_candidate_goes_where_its_person_says_it(ok, place, where):
    """To another tier or title: one record, accepted, and nothing waits beside it."""
    ok("learn", GANNET, **ONE)
    assert ok("learn", GANNET, *where).startswith("kept l-")
    (hit,) = json.loads(ok("recall", "gannet", "--json"))["hits"]
    tier = {"--global": "global", "--shared": "shared"}.get(where[0], "private")
    assert (hit["accepted"], hit["tier"]) == (True, tier)
    assert "no candidate" in ok("notes", "harvest", "list")
    assert ok("learn", GANNET, **TWO).startswith("already there")
    assert len(json.loads(ok("recall", "gannet", "--json"))["hits"]) == 1


def test_a_session_that_may_be_the_same_accepts_nothing(ok):
    """One of the two has no name; other words of a title are the same learning."""
    ok("learn", GANNET, "--title", "Ports", **ONE)
    assert "candidate" in ok("learn", GANNET, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="")
    assert "already there" in ok("learn", GANNET, **TWO)
    (hit,) = json.loads(ok("recall", "gannet", "--json"))["hits"]
    assert hit["accepted"] and hit["title"] == "Ports"
