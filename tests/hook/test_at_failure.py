"""A failed call gets the remedy that an earlier session found, once, and nothing where nothing is
known.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from harness import conversations, vault
from harness.hook import fire, harmless, payload

from memory.core import layout
from memory.hook import at_failure, wallkeys
from memory.knowledge import walls

FLAG = "Exit code 2\nunknown flag: --open\n\nUsage: acme issue list [flags]"
COMMAND = "acme issue list --open"


@pytest.fixture
def place(world) -> layout.Place:
    """The workspace of the project, with the week of an invented project and what is derived of
    it.
    """
    place = layout.locate(world, world["CLAUDE_PROJECT_DIR"])
    conversations.week(place)
    return place


@pytest.fixture
def fails(world, place, now):
    """Let a call fail: fails(error, command, tool=…) -> what the model gets, "" for nothing."""
    walls.update_walls(place, vault.settings(), now)

    def call(error=FLAG, given=COMMAND, tool="Bash", session="s-new", cwd="", **more) -> str:
        held = {"Bash": "command", "Read": "file_path", "Grep": "path"}.get(tool, "skill")
        event = payload(
            "PostToolUseFailure",
            "Bash",
            session_id=session,
            tool_name=tool,
            tool_input={held: given},
            error=error,
            cwd=cwd or world["CLAUDE_PROJECT_DIR"],
            **more,
        )
        answer = harmless(fire("failure", event, world))
        assert not Path(place.home, "log", "errors.jsonl").exists()
        return answer.context

    return call


def lines(text: str) -> list[str]:
    """What a block says, without the fence and its notice."""
    return text.split("\n")[2:-1]


def receipts(place, session="s-new") -> list[dict]:
    """The receipts of a session."""
    path = Path(place.receipts(session))
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# ---- what is told


def test_the_call_that_worked_stands_beside_the_call_that_failed_once(fails, place):
    assert lines(fails()) == [
        "failed the same way on 2026-11-18 (k-three, branch main): unknown flag: --open",
        "what worked: `acme issue list --state open`",
    ]
    assert fails() == ""
    assert fails(session="s-other") != ""
    (row,) = receipts(place)
    assert (row["event"], row["tool"], row["chosen"]) == (
        "wall",
        "Bash",
        [["k-three", 1.0, "wall: met in 1"]],
    )
    assert "--state" not in json.dumps(row) and row["chars"] > 100 and row["tokens"] > 20


def test_after_a_compaction_it_may_be_told_again(fails, place):
    """The client drops what it said; what the session was told five times is enough all the
    same.
    """
    assert fails()
    with open(place.receipts("s-new"), "a") as file:
        file.write('{"v":1,"t":"2026-11-21T14:00:00Z","event":"start","source":"compact"}\n')
    assert fails()


def test_another_call_with_the_same_words_is_no_wall(fails):
    """A line that would fit many programs counts together with the program and its verb."""
    assert fails(given="bolt ls --open") == ""
    assert fails("Exit code 2\nunknown flag: --shut") == ""


def test_the_session_that_met_it_is_not_told_of_itself(fails):
    assert fails(session="three") == ""


def test_who_looks_for_what_a_session_removed_is_told_so(place, fails, now):
    conversations.held(
        place,
        "gone",
        "2026-11-15",
        "## 09:00 tidy\n\n- ✓ `rm -rf src/old`\n- commit 1a2b3c4: Drop the old parts\n",
    )
    walls.update_walls(place, vault.settings(), now)
    told = fails("File does not exist.", given=str(Path(place.root) / "src/old/a.c"), tool="Read")
    assert lines(told) == [
        "`src/old` was removed on 2026-11-15 (k-gone, branch main): 1a2b3c4 Drop the old parts"
    ]


LINT = "- ✗ `make lint` → exit 1: a.c:1:2: the %s thing is wrong here (%s)"
CHANGE = "- changed for `the %s thing is wrong here (%s)`: `%s() // NOLINT(%s) on purpose`"


def linted(place, now, *rules: tuple[str, str]) -> None:
    """Write a session that met findings of some rules."""
    lines = [LINT % rules[0], *(CHANGE % (word, rule, word, rule) for word, rule in rules)]
    conversations.held(
        place,
        "rules",
        "2026-11-15",
        "## 09:00 lint\n\n" + "\n".join([*lines, "- ✓ `make lint`"]) + "\n",
    )
    walls.update_walls(place, vault.settings(), now)


def test_the_line_that_met_a_linters_rule_comes_wherever_it_fails(place, fails, now):
    """The rule is known by its name, not by the function that its line names."""
    linted(place, now, ("first", "rule-one"))
    told = fails(
        "Exit code 1\nsrc/b.c:9:1: another thing is wrong (rule-one)\n    write(1, b, n);\n    ^",
        "make lint",
    )
    assert lines(told) == [
        "the linter's rule `rule-one` on 2026-11-15 (k-rules, branch main): "
        "changed to: `first() // NOLINT(rule-one) on purpose`"
    ]


def test_a_finding_whose_text_says_its_remedy_gets_nothing(place, fails, now):
    """What was made of the code then is no remedy of the code that was just written."""
    page = "\n".join(
        [
            LINT % ("first", "rule-one"),
            "- changed for `the first thing is wrong here (rule-one)`: `const N = 4`",
            "- ✓ `make lint`",
        ]
    )
    conversations.held(place, "rules", "2026-11-15", "## 09:00 lint\n\n" + page + "\n")
    walls.update_walls(place, vault.settings(), now)
    assert (
        fails("Exit code 1\nsrc/b.c:9:1: the first thing is wrong here (rule-one)", "make lint")
        == ""
    )


def test_a_report_with_several_rules_brings_what_is_known_of_three(place, fails, now):
    rules = (
        ("first", "rule-one"),
        ("second", "rule-two"),
        ("third", "rule-three"),
        ("fourth", "rule-four"),
    )
    linted(place, now, *rules)
    error = "".join(
        "b.c:%d:2: the %s thing is wrong here (%s)\n" % (at, word, rule)
        for at, (word, rule) in enumerate(rules)
    )
    told = lines(fails(error, "make lint"))
    assert [line.split("`")[1] for line in told] == ["rule-one", "rule-two", "rule-three"]
    assert "`second() // NOLINT(rule-two)" in told[1]


# ---- a failure that a pipe hid


@pytest.fixture
def passes(world, fails):
    """Let a command end well: passes(its output, command) -> what the model gets, "" for
    nothing.
    """

    def call(output=FLAG, given=COMMAND + " 2>&1 | tail -5", **more) -> str:
        event = payload(
            "PostToolUse",
            "Bash",
            session_id="s-new",
            tool_input={"command": given},
            cwd=world["CLAUDE_PROJECT_DIR"],
            tool_response={"stdout": output, "stderr": "", "interrupted": False, **more},
        )
        return harmless(fire("masked", event, world)).context

    return call


def test_a_failure_that_a_pipe_hid_gets_the_remedy_at_once(passes, fails, place):
    """As a failed call does, once a session both together; the answer is of its own event."""
    assert passes("1 issue shown") == passes(given=COMMAND) == passes(interrupted=True) == ""
    assert (
        passes(given="cat issues.log | tail -5")
        == passes(given="cd logs && grep -n flag a.log | head")
        == ""
    )
    assert "what worked: `acme issue list --state open`" in passes()
    assert passes() == fails() == ""
    assert [row["event"] for row in receipts(place)] == ["wall"]


@pytest.mark.parametrize(
    "event",
    [
        {"tool_response": None},
        {"tool_response": "text"},
        {"tool_input": None},
        {"tool_input": {"command": 7}},
        {"tool_response": {"stdout": 7, "stderr": ["x"]}},
    ],
)
def test_odd_results_do_no_harm(event, place, world, handled_masked):
    """Nothing printed."""
    assert handled_masked(
        {
            **payload("PostToolUse", "Bash", session_id="s-new"),
            "tool_input": {"command": "make | tail"},
            **event,
        }
    ) == (None, False)


@pytest.fixture
def handled_masked(world):
    """Answer an event within the test's process."""
    return lambda event: at_failure.on_masked(event, world, time.time())


def test_a_tool_whose_program_is_gone_says_so_whatever_it_is_given(place, fails, now):
    """The path in the error may have changed since."""
    gone = "ENOENT: no such file or directory, posix_spawn '/opt/acme/%s/agent'"
    page = "## 09:00 look\n\n- ✗ Glob `**/*.md` → failed: %s\n" % (gone % "2.1.14")
    conversations.held(place, "often", "2026-11-15", page)
    walls.update_walls(place, vault.settings(), now)
    told = lines(fails(gone % "2.1.15", "src/*.py", tool="Glob"))
    assert "could not be started" in told[1] and "`grep` and `find`" in told[1]


# ---- paths that are not there


@pytest.fixture
def missing(place, now, fails):
    """Sessions that looked for files which are elsewhere."""
    conversations.held(
        place,
        "lost",
        "2026-11-18",
        "## 09:00 look around\n\n- ✗ Read `conf/app.yml` → failed: File does not exist.\n"
        "- ✗ Grep `main` → failed: Path does not exist: %s/src/commands\n"
        "- edited `conf/app.yaml`, edited `src/main.c`\n\nSeen.\n" % place.root,
    )
    walls.update_walls(place, vault.settings(), now)
    return fails


def test_the_file_that_is_there_is_named(missing, place):
    Path(place.root, "conf").mkdir()
    Path(place.root, "conf/app.yaml").write_text("a: 1\n")
    Path(place.root, "CLAUDE.md").write_text("# Rules\n\nSettings stand in conf/app.yml.\n")
    Path(place.home, "cache", place.key, place.scope + ".met").unlink()
    walls.update_walls(place, vault.settings(), 0.0)
    (told,) = lines(
        missing(
            "<tool_use_error>File does not exist.</tool_use_error>",
            place.root + "/conf/app.yml",
            "Read",
        )
    )
    assert told == (
        "`conf/app.yml` was missing on 2026-11-18 (k-three, branch main; met in 2 sessions); here "
        "is `conf/app.yaml`; CLAUDE.md:3 names the wrong path"
    )
    Path(place.root, "CLAUDE.md").write_text("# Rules\n\n\nSettings stand in conf/app.yaml.\n")
    (told,) = lines(
        missing("File does not exist.", place.root + "/conf/app.yml", "Read", session="s-2")
    )
    assert told.endswith("here is `conf/app.yaml`")


def test_what_lies_below_a_folder_that_is_not_there_is_known_by_it(missing, place):
    """Another file below it, by another tool; a file of another folder is no such wall."""
    (told,) = lines(
        missing("ls: src/commands/: No such file or directory", "ls src/commands/", "Bash")
    )
    assert told.startswith("`src/commands` was missing on 2026-11-18 (k-lost")
    assert "`src`" in told
    assert missing("File does not exist.", place.root + "/src/commands/run.c", "Read") == "", (
        "one wall is told once"
    )
    assert missing(
        "File does not exist.", place.root + "/src/commands/run.c", "Read", session="s-2"
    )
    assert missing("File does not exist.", place.root + "/src/other.c", "Read", session="s-3") == ""


def test_a_path_that_is_there_by_now_is_no_wall(missing, place):
    Path(place.root, "src/commands").mkdir(parents=True)
    assert (
        missing(
            "Path does not exist: %s/src/commands" % place.root,
            place.root + "/src/commands",
            "Grep",
        )
        == ""
    )


def test_a_shell_that_stands_in_another_folder_hears_where_the_path_is(fails, place, now):
    conversations.held(
        place,
        "moved",
        "2026-11-18",
        "## 09:00 test\n\n- edited `src/cache.c`\n"
        "- ✗ `cd src && make check` → exit 1: bash: line 1: cd: src/parts: No such file or "
        "directory\n- ✓ `make check`\n\nIt passes.\n",
    )
    walls.update_walls(place, vault.settings(), now)
    Path(place.root, "src/parts").mkdir(parents=True)
    told = lines(
        fails(
            "Exit code 1\nbash: line 1: cd: src/parts: No such file or directory",
            "cd src/parts && make check",
            cwd=place.root + "/src",
        )
    )
    assert told[1:] == [
        "what worked: `make check`",
        "`src/parts` exists from the project's root; the shell is elsewhere",
    ]


@pytest.fixture
def elsewhere(place, now, fails):
    """A session that looked for a file, and two others that tell of what is there: one file
    each.
    """
    conversations.held(
        place,
        "lost",
        "2026-11-18",
        "## 09:00 look\n\n- ✗ Read `src/queue` → failed: File does not exist.\n\nGone.\n",
    )
    for name in ("queue_read", "queue_write"):
        conversations.held(
            place, name, "2026-11-17", "## 09:00 build\n\n- edited `src/%s.c`\n\nDone.\n" % name
        )
    walls.update_walls(place, vault.settings(), now)
    return lambda session: fails(
        "File does not exist.", place.root + "/src/queue", "Read", session=session
    )


def test_a_path_is_named_while_a_record_tells_of_it_or_it_is_there(elsewhere, place):
    """The record that failed is not the one that knows the path."""
    (told,) = lines(elsewhere("s-1"))
    assert told.endswith("; known then: `src/queue_read.c`, `src/queue_write.c`")
    (path,) = Path(place.private, "conversations").glob("*/*-queue_read.md")
    text = path.read_text()
    path.unlink()
    (told,) = lines(elsewhere("s-2"))
    assert told.endswith("; known then: `src/queue_write.c`")
    (other,) = Path(place.private, "conversations").glob("*/*-queue_write.md")
    other.write_text(other.read_text().replace("queue_write", "[redacted:x#1234]"))
    assert elsewhere("s-3") == ""
    path.write_text(text)
    assert lines(elsewhere("s-4"))[0].endswith("; known then: `src/queue_read.c`")
    Path(place.root, "src").mkdir(exist_ok=True)
    Path(place.root, "src/queue_write.c").write_text("")
    assert lines(elsewhere("s-5"))[0].endswith("; here is `src/queue_write.c`")


# ---- what is not told


@pytest.mark.parametrize(
    "error",
    [
        "The user doesn't want to proceed with this tool use.\nunknown flag: --open",
        "[Request interrupted by user for tool use]\nunknown flag: --open",
        "",
        "\n\n",
        "Exit code 1",
    ],
)
def test_a_refusal_an_interrupt_and_nothing_at_all_get_nothing(fails, error):
    assert fails(error) == ""


def test_an_interrupted_call_and_tools_that_carry_their_own_remedy_get_nothing(fails):
    assert fails(is_interrupt=True) == ""
    assert fails(tool="Edit") == "" and fails(tool="Task") == ""
    assert fails(agent_id="a1", agent_type="Explore") != "", (
        "a subagent meets walls like its session"
    )


@pytest.mark.parametrize("off", [{"DAYLEAF_LOAD_WALLS": "false"}, {"DAYLEAF_LOAD_ENABLED": "0"}])
def test_switches_are_obeyed(fails, world, off):
    world.update(off)
    assert fails() == ""


def test_a_session_that_is_off_gets_nothing(fails, place):
    path = Path(place.receipts("s-new"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"v":1,"t":"2026-11-21T14:00:00Z","event":"off"}\n')
    assert fails() == ""


def test_what_was_edited_or_deleted_since_is_not_told(fails, place):
    """The look-up is behind the files: it may be silent, and never says what no longer stands
    there.
    """
    (path,) = Path(place.private, "conversations").glob("*/*-three.md")
    text = path.read_text()
    path.write_text(text.replace("--state open", "--[redacted:x#1234]"))
    assert fails() == ""
    path.write_text(
        text.replace("branch: main", "branch: other")
        .replace("id: k-three", "id: k-3")
        .replace("2026-11-18", "2026-11-17")
    )
    assert lines(fails())[0].startswith(
        "failed the same way on 2026-11-17 (k-3, branch other): "
    ), "its head is read as it is"
    path.unlink()
    assert fails(session="s-2") == ""


def test_a_conversation_that_goes_on_still_tells(fails, place):
    (path,) = Path(place.private, "conversations").glob("*/*-three.md")
    path.write_text(path.read_text() + "\n## 11:00 and now?\n\nNothing.\n")
    assert fails()


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"dayleaf walls 2 5\n",
        b"dayleaf walls 1 999999\nnonsense",
        b"dayleaf walls 1 x\n",
        b"\0" * 4096,
    ],
)
def test_a_look_up_that_is_damaged_or_of_another_version_is_silence(fails, place, damage):
    Path(wallkeys.walls_path(place)).write_bytes(damage)
    assert fails() == ""
    Path(wallkeys.walls_path(place)).unlink()
    assert fails() == ""


@pytest.mark.parametrize("at", range(0, 4000, 97))
def test_a_flipped_byte_is_silence_or_the_truth(fails, place, at, now):
    """In one process: thirty hooks would tell no more."""
    path = Path(wallkeys.walls_path(place))
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 0x55
    path.write_bytes(data)
    found = at_failure.find_walls(place, "s-new", (), "Bash", COMMAND, FLAG)
    assert len(found) <= 1


# ---- bad input


def test_an_error_of_a_megabyte_is_looked_up_by_its_ends(fails):
    noise = "\n".join("worker %d says hello to the other workers" % n for n in range(30_000))
    assert len(noise) > 1 << 20
    assert "--state open" in fails("unknown flag: --open\n" + noise)
    assert "--state open" in fails(noise + "\nunknown flag: --open", session="s-2")
    assert fails("x" * (1 << 20), session="s-3") == ""


@pytest.mark.parametrize("given", ["a/" * 100_000, "/" * 100_000, "a/" * 2000])
def test_a_path_without_end_is_looked_up_by_its_begin(fails, given):
    began = time.monotonic()
    assert fails("File does not exist.", given, "Read") == ""
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "error",
    [
        "\0\x01\ud800 unknown flag: --open",
        "알 수 없는 옵션: --open\n오류: 파일이 없습니다",
        "‮\u200b" * 500,
        "cd: \0/x/\0: No such file or directory",
        "No such file or directory: " + "a/" * 5000,
    ],
)
def test_binary_korean_and_odd_text_do_no_harm(fails, error):
    fails(error)


def test_odd_payloads_do_no_harm(world, fails):
    for event in (
        {},
        {"tool_name": 7},
        {"tool_name": "Bash", "error": ["x"]},
        {"tool_name": "Bash", "error": "x", "tool_input": "y"},
        {"tool_name": "mcp__a__b", "error": FLAG, "tool_input": {"a": 1}, "session_id": "../../x"},
    ):
        assert harmless(fire("failure", event, world)).out == b""


def test_two_hundred_failures_in_a_row_get_five(place, fails, now):
    page = (
        "## 09:00 flags\n\n"
        + "".join(
            "- ✗ `acme do --f%s` → exit 2: unknown flag: --f%s\n- ✓ `acme do --g%s`\n"
            % ((chr(97 + n),) * 3)
            for n in range(20)
        )
        + "\nDone.\n"
    )
    conversations.held(place, "many", "2026-11-15", page)
    walls.update_walls(place, vault.settings(), now)
    given = [chr(97 + n % 20) for n in range(200)]
    told = []
    for letter in given[:8]:
        told.append(bool(fails("unknown flag: --f" + letter, "acme do --f" + letter)))
    assert told == [True] * 5 + [False] * 3
    event = {
        "session_id": "s-new",
        "tool_name": "Bash",
        "cwd": place.root,
        "tool_input": {"command": "acme do"},
    }
    answers = [
        at_failure.on_failure(
            {**event, "error": "unknown flag: --f" + letter}, {"HOME": place.home[:-9]}, now
        )
        for letter in given
    ]
    assert answers == [(None, False)] * 200


def test_a_secret_of_an_error_meets_its_redacted_twin(place, fails, now):
    """The record has the mark of a secret where the error has the secret; neither is said."""
    secret = "ghp_" + "a1B2" * 9
    conversations.held(
        place,
        "key",
        "2026-11-15",
        "## 09:00 push\n\n- ✗ `acme push` → exit 1: server refused the token "
        "[redacted:github-token#a1f3] of user\n"
        "- ✓ `acme push --as bot`\n\nDone.\n",
    )
    walls.update_walls(place, vault.settings(), now)
    told = fails("server refused the token %s of user" % secret, "acme push")
    assert "acme push --as bot" in told and secret not in told


# ---- what a wall is known by


def test_two_walls_of_a_session_are_told_each(fails, place, now):
    conversations.held(
        place,
        "push",
        "2026-11-15",
        "## 09:00 push\n\n- ✗ `acme push` → exit 1: the broker of the queue is away\n"
        "- ✓ `acme push --as bot`\n\nDone.\n",
    )
    walls.update_walls(place, vault.settings(), now)
    assert (
        fails()
        and "--as bot" in fails("the broker of the queue is away", "acme push")
        and not fails()
    )
