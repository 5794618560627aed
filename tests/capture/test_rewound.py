"""What a rewind took back is told as withdrawn, whenever the session was captured: never as
outcome, title or next.
"""

from __future__ import annotations

import json
import re

import pytest
from harness import vault
from harness.session import Ending, gather

from memory.capture import wishes
from memory.capture.turns import Turn
from memory.core import clock, frontmatter
from memory.store import store


class Chain(Ending):
    """A session each line of which hangs on the one before."""

    parent = None

    def line(self, kind, content, **more):
        super().line(kind, content, **{"parentUuid": self.parent, **more})
        self.parent = json.loads(self.path.read_bytes().splitlines()[-1])["uuid"]
        return self

    def back(self, parent):
        """Rewind: what follows hangs on an earlier line."""
        self.parent = parent
        return self

    def attach(self, **more):
        """A line of the host's that others hang on."""
        return self.line(
            "attachment",
            "",
            attachment={"type": "hook_success", "content": "x" * 5000},
            message=None,
            **more,
        )

    def told(self):
        """Return title and body of each checkpoint, what says that it was taken back apart."""
        pages = [frontmatter.parse(text.encode()) for text in self.files()]
        return [
            (
                page.meta["title"],
                "\n".join(line for line in page.body.split("\n") if "taken back" not in line),
            )
            for page in pages
        ]


@pytest.fixture
def chain(env, project, now) -> Chain:
    """A session that has set up its parser."""
    return (
        Chain(env, project, now)
        .ask("Set up the parser")
        .edit("calc.py")
        .say("The parser is set up.")
    )


def quagga(chain):
    """Do what will be taken back, and return the line before it."""
    fork = chain.parent
    chain.ask("Now switch the cache to quagga").edit("cache.py").bash(
        "pytest -q quagga", "1 failed", 1
    )
    chain.tool(
        "TodoWrite",
        {},
        "ok",
        result={"newTodos": [{"content": "warm the quagga", "status": "pending"}]},
    )
    chain.say("The cache uses quagga now, because heron drops keys over 1 MB.")
    return fork


def ibex(chain):
    return (
        chain.ask("Now switch the cache to ibex instead")
        .edit("store.py")
        .say("The cache uses ibex now.")
    )


def check(chain):
    """No checkpoint tells of the one as done; the conversation holds it, marked."""
    for title, body in chain.told():
        assert "quagga" not in title + body
    last = chain.told()[-1]
    assert "ibex" in last[0] + last[1] and "store.py" in last[1]
    talk = chain.talk()
    assert re.findall("^## .*$", talk, re.M)[1].endswith(
        "(taken back) Now switch the cache to quagga"
    )
    assert (
        "(taken back) The cache uses quagga now, because heron" in talk
        and "quagga" not in talk.split("\n---\n")[0]
    )
    assert (
        re.search("^## [0-9: -]+Now switch the cache to ibex", talk, re.M)
        and talk.count("\n## ") == 3
    )


@pytest.mark.parametrize(
    "captured", [(), ("Stop",), ("PreCompact",), ("SessionEnd",), ("SessionEnd", "Stop")]
)
def test_what_was_taken_back_is_told_as_withdrawn(chain, captured):
    """Captured before the rewind or not, with the checkpoint open or closed."""
    fork = quagga(chain)
    for event in captured:
        chain.fire(event)
    ibex(chain.back(fork)).fire("SessionEnd")
    check(chain)
    texts = "".join(chain.files())
    assert re.search("^- .* taken back by a rewind: Now switch the cache to quagga", texts, re.M)
    before = [path.read_bytes() for path in (*chain.where(), *chain.talks())]
    chain.fire("SessionEnd")
    assert [path.read_bytes() for path in (*chain.where(), *chain.talks())] == before


def test_an_earlier_capture_of_the_part_that_stays_is_left(chain):
    """Its checkpoint tells what it told, byte for byte."""
    chain.fire("SessionEnd")
    (before,) = chain.files()
    ibex(chain.back(quagga(chain))).fire("SessionEnd")
    assert chain.files()[0] == before
    check(chain)


def test_a_checkpoint_that_a_person_changed_is_left_to_them(chain):
    """Even where a rewind took back what it tells."""
    fork = quagga(chain)
    chain.fire("SessionEnd")
    (path,) = chain.where()
    path.write_text(path.read_text() + "\nMine: keep quagga in mind.\n")
    ibex(chain.back(fork)).fire("SessionEnd")
    assert path.read_text().endswith("Mine: keep quagga in mind.\n")


def test_two_rewinds_one_after_the_other(chain):
    """And one that goes behind an earlier one."""
    fork = quagga(chain)
    chain.back(fork).ask("Now switch the cache to quagga again").edit("quagga.py").say(
        "It is quagga again."
    ).fire("Stop")
    ibex(chain.back(fork)).fire("SessionEnd")
    assert all("quagga" not in title + body for title, body in chain.told())
    assert chain.talk().count("## ") == 4 and chain.talk().count(" (taken back) Now") == 2


def test_a_rewind_to_the_very_start(env, project, now):
    """The first prompt has no line to hang on."""
    chain = Chain(env, project, now)
    chain.ask("Now switch the cache to quagga").edit("cache.py").say("The cache uses quagga now.")
    chain.fire("Stop")
    ibex(chain.back(None)).fire("SessionEnd")
    assert all("quagga" not in title + body for title, body in chain.told())


def test_all_was_taken_back_and_nothing_followed(chain):
    """A checkpoint that stands tells no more of it as done."""
    chain.fire("SessionEnd")
    fork = quagga(chain)
    chain.fire("PreCompact")
    chain.back(fork).ask("thanks").say("You are welcome.").fire("SessionEnd")
    assert all("quagga" not in title + body for title, body in chain.told())


def test_parallel_calls_and_late_lines_are_no_branches(chain):
    """Results hang each on its own call, hooks and queues on what stood when they began."""
    chain.ask("Look at both files")
    top = chain.parent
    for name in ("a", "b"):
        chain.line(
            "assistant",
            [{"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "cat " + name}}],
        )
    first, second = (json.loads(line)["uuid"] for line in chain.path.read_bytes().splitlines()[-2:])
    for parent, name in ((first, "a"), (second, "b")):
        chain.line(
            "user",
            [{"type": "tool_result", "tool_use_id": name, "content": "text"}],
            parentUuid=parent,
        )
    chain.say("Both are fine, since each has its own header and neither of them is read twice.")
    chain.ask("Now add ibex").attach(parentUuid=top).edit("store.py").attach(parentUuid=first).say(
        "Added ibex."
    )
    chain.line(
        "user", [{"type": "tool_result", "tool_use_id": "a", "content": "late"}], parentUuid=first
    )
    chain.fire("SessionEnd")
    assert (
        "taken back" not in chain.talk() + "".join(chain.files())
        and chain.talk().count("\n## ") == 3
    )


@pytest.mark.parametrize("parent", ["null", "summary", "kept"])
def test_a_compaction_is_no_rewind(chain, parent):
    """The chain begins anew there; what was kept may hang on a line of before."""
    kept = chain.parent
    chain.line(
        "system",
        "",
        subtype="compact_boundary",
        parentUuid=None,
        logicalParentUuid=kept,
        message=None,
    )
    chain.line(
        "user",
        "This session is being continued\nSummary:\nThe parser was set up.",
        isCompactSummary=True,
    )
    chain.fire("PreCompact")
    ibex(chain.back({"null": None, "summary": chain.parent, "kept": kept}[parent])).fire(
        "SessionEnd"
    )
    assert "taken back" not in chain.talk() + "".join(chain.files())


def test_a_rewind_behind_a_compaction(chain):
    """Both stretches tell no more what was taken back."""
    fork = quagga(chain)
    chain.line(
        "system",
        "",
        subtype="compact_boundary",
        parentUuid=None,
        logicalParentUuid=chain.parent,
        message=None,
    )
    chain.line(
        "user",
        "This session is being continued\nSummary:\nThe cache uses quagga.",
        isCompactSummary=True,
    )
    chain.fire("PreCompact")
    chain.ask("Test quagga too").edit("test_quagga.py").say("Quagga is tested.").fire("SessionEnd")
    ibex(chain.back(fork)).fire("SessionEnd")
    assert all("quagga" not in title + body for title, body in chain.told())
    assert len(re.findall(r"^## .*\(taken back\)", chain.talk(), re.M)) == 3


def test_a_prompt_that_hangs_on_a_line_that_is_nowhere_takes_nothing_back(chain):
    """A copy that lacks lines, or a client that wrote none."""
    ibex(chain.back("00000000-0000-4000-8000-000000000000")).fire("SessionEnd")
    assert "taken back" not in chain.talk() + "".join(chain.files())


def test_facts_of_a_whole_transcript_leave_it_out_too(chain):
    """What a checkpoint by hand is made of."""
    ibex(chain.back(quagga(chain)))
    facts = gather(str(chain.path), chain.env)
    assert [turn.request for turn in facts.turns] == [
        "Set up the parser",
        "Now switch the cache to ibex instead",
    ]
    assert [turn.request for turn in facts.withdrawn] == [
        "Now switch the cache to quagga"
    ] and not facts.todos


def list_wishes(chain):
    keeper = store.Store(chain.place, vault.settings(), chain.now)
    return sorted(rule.title for rule in keeper.each(("rule",)))


@pytest.mark.parametrize("captured", [(), ("Stop",), ("PreCompact",), ("SessionEnd",)])
def test_a_wish_that_was_taken_back_waits_no_more(chain, captured):
    """One said elsewhere does, and what is said again after a rewind."""
    chain.ask("Never use tabs.").say("Noted.").fire("PreCompact")
    chain.clock += 100
    fork = quagga(chain)
    chain.ask("From now on always use quagga.\n\nNever use tabs.\n\nNever use heron.").say("Noted.")
    for event in captured:
        chain.fire(event)
    ibex(chain.back(fork)).ask("Never use heron.").say("Noted.").fire("SessionEnd")
    assert list_wishes(chain) == ["Never use heron.", "Never use tabs."]
    chain.ask("From now on always use quagga.").say("Noted.").fire("SessionEnd")
    assert "From now on always use quagga." in list_wishes(chain)


@pytest.mark.parametrize("decided", [False, True])
def test_a_wish_that_the_prompt_left_at_once_is_taken_back_too(chain, decided):
    """Its instant is the hook's; one that a person confirmed stays."""
    fork, at = quagga(chain), clock.iso(chain.now - 5000 + chain.clock)
    keeper = store.Store(chain.place, vault.settings(), chain.now)
    (id,) = wishes.save_wishes(keeper, [Turn(at, "Always use quagga.")], chain.name)
    if decided:
        (rule,) = keeper.each(("rule",))
        vault.approve(chain.place, chain.place.path(rule.name), id, chain.now)
    chain.ask("Always use quagga.").say("Noted.")
    ibex(chain.back(fork)).fire("SessionEnd")
    assert list_wishes(chain) == ["Always use quagga."] * decided
