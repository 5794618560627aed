"""Context tags: given, pinned, or derived from what the project's files say; what they weigh, and
where they are told.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from harness import vault
from harness.manifested import PYPROJECT, put

from memory.core import UsageError, approvals, clock
from memory.health import worker
from memory.hook import at_prompt, context
from memory.index import builder
from memory.project import manifests
from memory.recall import search

# ---- weights


@pytest.mark.parametrize(
    ("said", "tags"),
    [
        ("reviewer,jira-api=1.5", (("reviewer", 1.5), ("jira-api", 1.5))),
        ("a=1,b=2,c", (("a", 1.0), ("b", 2.0), ("c", 1.5))),
        ("a=3,c", (("a", 3.0), ("c", 3.0))),
        ("a, b", (("a", 1.5), ("b", 1.5))),
        ("", ()),
        ("none", ()),
        ("none, a = 2", (("a", 2.0),)),
    ],
)
def test_context_tags_take_the_mean_of_the_given_weights(said, tags):
    """A tag without a weight takes the mean of the given ones, or 1.5."""
    assert context.parse_weighted_tags(said) == tags and context.excludes_derived(said) is (
        "none" in said
    )


@pytest.mark.parametrize("said", ["a=x", "a=nan", "a=-1", "a=1e9", "a="])
def test_a_weight_that_is_no_number_is_refused(said):
    """One line that names the tag."""
    with pytest.raises(UsageError, match="a="):
        context.parse_weighted_tags(said)


def test_go_on_is_not_about_go():
    """The language's name is a word of every second prompt."""
    assert context.list_required_terms("Go") == ("golang",) and context.list_required_terms(
        "go-redis"
    ) == (
        "go",
        "redi",
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Unit Tests", "unit-tests"),
        ("unit_tests", "unit-tests"),
        ("PostgreSQL", "postgres"),
        ("Node.js", "node"),
        ("golang", "go"),
        ("#python", "Python"),
        ("K8s", "kubernetes"),
        ("버튼", "버튼"),
    ],
)
def test_a_tag_has_one_label_however_it_is_written(one, other):
    """Case, blanks and short names do not keep a rule from its project."""
    assert context.normalise_tag(one) == context.normalise_tag(other)


# ---- what a branch says


@pytest.mark.parametrize(
    ("branch", "words"),
    [
        ("feature/JIRA-12-jwt-refresh", "jira-12 jwt refresh"),
        ("main", ""),
        ("fix/main-menu", "menu"),
        ("release/2.1", ""),
        ("feature/v2.1", ""),
        ("kim/결제-버튼", "kim 결제 버튼"),
        ("hotfix/a1b2c3d4e5", ""),
        ("bugfix_cold_caches", "cold caches"),
        ("JIRA-12", "jira-12"),
        ("", ""),
        (
            "x/" + "-".join("word%d" % i for i in range(20)),
            " ".join("word%d" % i for i in range(8)),
        ),
    ],
)
def test_a_branch_says_its_subject(branch, words):
    """Its ticket and its words, none of what every branch is called."""
    assert " ".join(context.extract_branch_words(branch)) == words


# ---- what is kept for the hooks


def test_the_worker_keeps_what_the_manifests_say(place, env, project, now):
    """After a session's start; a manifest that changed is known after the next one; switched off,
    nothing is kept.
    """
    put(project, pyproject_dot_toml=PYPROJECT)
    event, quiet = {"session_id": "s1", "cwd": project}, {**env, "DAYLEAF_RUNTIME_AUTO": "0"}
    worker.after_start(event, quiet, now)
    assert context.read_manifest_tags(place)["django"] == "pyproject.toml"
    before = os.stat(context.tags_path(place))
    worker.after_start(event, quiet, now)
    assert (
        os.stat(context.tags_path(place)).st_ino == before.st_ino
        and before.st_mode & 0o777 == 0o600
    )
    put(project, pyproject_dot_toml="[project]\ndependencies = ['flask']\n")
    worker.after_start(event, quiet, now)
    assert "flask" in context.read_manifest_tags(
        place
    ) and "django" not in context.read_manifest_tags(place)


def test_a_kept_file_that_is_damaged_counts_as_none(place):
    """Every cut and every flipped byte of it; the next write mends it."""
    context.write_manifest_tags(place, {"python": "pyproject.toml", "버튼": "a b/c"})
    path = Path(context.tags_path(place))
    whole = path.read_bytes()
    assert context.read_manifest_tags(place) == {"python": "pyproject.toml", "버튼": "a b/c"}
    for at in range(len(whole)):
        for data in (whole[:at], whole[:at] + bytes((whole[at] ^ 1,)) + whole[at + 1 :]):
            path.write_bytes(data)
            assert context.read_manifest_tags(place) == {}
    context.write_manifest_tags(place, {"go": "go.mod"})
    assert context.read_manifest_tags(place) == {"go": "go.mod"}
    path.unlink()
    assert context.read_manifest_tags(place) == {}


# ---- rules


def rule(place, now, id, tags, tier="p", text="") -> str:
    """Write a rule and approve it; its body names it."""
    path = vault.put(
        place,
        "%s/rules/%s.md" % (tier, id),
        "Rule " + id,
        text or "Obey-%s." % id,
        tags,
        rationale="x",
    )
    approvals.append_decision(
        place.home,
        approvals.approval_workspace(tier + "/", place.key),
        id,
        approvals.files.sha256(Path(path).read_bytes()),
        "approve",
        "t",
        now,
    )
    return path


def block(answer) -> str:
    """What a hook's answer puts before the model."""
    return (answer[1].get("hookSpecificOutput") or {}).get("additionalContext", "")


def reasons(place) -> list[str]:
    """The reasons of the newest receipt."""
    return [
        item[2]
        for item in json.loads(Path(place.receipts("s1")).read_text().splitlines()[-1])["chosen"]
    ]


@pytest.fixture
def python(place, project, now):
    """A project in Python with twelve learnings and an approved rule for it."""
    put(project, pyproject_dot_toml=PYPROJECT)
    manifests.cache_tags(place)
    vault.learnings(place, 12)
    rule(place, now, "py", "[Python, packaging]", "g")
    rule(place, now, "go", "[go]")
    builder.build(place, now)
    return place


def test_a_rule_of_the_project_stands_at_the_sessions_start(python, handled):
    """Once: no prompt gets it again, until a compaction drops it."""
    assert "Obey-py." in block(handled("start", source="startup")) and reasons(python) == [
        "rule: tag Python (project)"
    ]
    assert "Obey-go." not in block(handled("start", source="startup"))
    assert "Obey" not in block(handled("prompt", prompt="why do the zebras fail?"))
    assert "Obey-py." in block(handled("start", source="compact"))


def test_a_rule_that_the_start_did_not_show_waits_for_a_prompt_that_says_something(
    python, handled, now
):
    """One approved since, or a start before anything was kept: `yes` still gets nothing."""
    handled("start", source="startup")
    rule(python, now, "late", "[django]")
    for prompt in ("yes", "ok, go on", "run the tests", "looks good, commit it"):
        assert "Obey" not in block(handled("prompt", prompt=prompt))
    assert "Obey-late." in block(
        handled("prompt", prompt="the zebra is striped")
    ) and "rule: tag django (project)" in reasons(python)
    assert "Obey" not in block(handled("prompt", prompt="another zebra"))


def test_the_branch_that_is_checked_out_counts_at_once(python, handled, now):
    """Its words as a prompt's: all of a tag's must stand in it."""
    rule(python, now, "b", "[cache keys]")
    builder.build(python, now)
    handled("start", source="startup")
    Path(python.git, "HEAD").write_text("ref: refs/heads/fix/cache-zebra\n")
    assert "Obey-b." not in block(handled("prompt", prompt="the keys of zebras"))
    Path(python.git, "HEAD").write_text("ref: refs/heads/fix/cold-cache-keys\n")
    assert "Obey-b." in block(handled("prompt", prompt="the zebra is striped")) and reasons(
        python
    ) == ["rule: tag cache keys (branch)"]


def test_the_rules_of_the_project_leave_the_prompt_its_learnings(python, handled, now):
    """However many there are: what the prompt itself asks for comes first."""
    for i in range(60):
        rule(python, now, "p%d" % i, "[python]", text="Long. " * 60)
    rule(python, now, "asked", "[word003x1]")
    builder.build(python, now)
    start = block(handled("start", source="startup"))
    assert start.count("## [p") > 10 and len(start) <= 9500
    shown = block(handled("prompt", prompt="word003x1 word003x2"))
    assert "Obey-asked." in shown and "word003x4" in shown and len(shown) <= 2500


def test_a_changed_rule_is_in_no_context_whatever_the_index_says(python, handled, now):
    """The index only chooses which files are read; the file and its approval decide."""
    path = Path(python.path("g/rules/py.md"))
    stat = path.stat()
    path.write_text(path.read_text().replace("Obey-py.", "Obey-px."))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert "Obey" not in block(handled("start", source="startup"))


# ---- recall


@pytest.fixture
def notes(place, project, now):
    """Two learnings of one text, the older tagged with what the project is made of."""
    put(project, pyproject_dot_toml=PYPROJECT)
    vault.put(
        place, "p/learnings/a.md", "Zebra", "zebra stripes fade", "[django]", created="2026-01-01"
    )
    vault.put(
        place, "p/learnings/b.md", "Zebra", "zebra stripes fade", "[rails]", created="2026-01-02"
    )
    builder.build(place, now)


def ask(run, *words) -> tuple[list[str], list[dict]]:
    """Ids in their order, and the context tags that counted."""
    value = json.loads(run("recall", "zebra stripes", "--json", *words).stdout)
    return [hit["id"] for hit in value["hits"]], value["contextTags"]


def test_what_the_project_is_made_of_ranks_higher(run, notes):
    """Weight 1 each, beside what is given; the given weight of a tag counts; `none` leaves the
    project out.
    """
    ids, tags = ask(run)
    assert ids == ["a", "b"] and {"tag": "django", "weight": 1.0, "from": "pyproject.toml"} in tags
    assert ask(run, "--context-tags", "none") == (["b", "a"], [])
    assert ask(run, "--context-tags", "none,rails") == (
        ["b", "a"],
        [{"tag": "rails", "weight": 1.5, "from": "given"}],
    )
    ids, tags = ask(run, "--context-tags", "rails=3,Django=2")
    assert ids == ["b", "a"] and tags[:2] == [
        {"tag": "rails", "weight": 3.0, "from": "given"},
        {"tag": "Django", "weight": 2.0, "from": "given"},
    ]
    assert [tag["tag"] for tag in tags].count("django") == 0 and "pytest" in [
        tag["tag"] for tag in tags
    ]


def test_explain_and_status_name_each_tag_and_its_file(ok, notes):
    """And which of them a hit carries."""
    said = ok("recall", "zebra", "--explain")
    assert (
        "context tags: python 1 (pyproject.toml), django 1 (pyproject.toml)" in said
        and "tags 1.100 (django)" in said
    )
    assert "context tags" not in ok("recall", "zebra")
    assert "  django    1  pyproject.toml\n" in ok("status")
    assert {"tag": "jwt", "weight": 1.0, "from": "pyproject.toml"} in json.loads(
        ok("status", "--json")
    )["contextTags"]


def test_a_tag_that_no_candidate_carries_changes_nothing(place, notes, now):
    """Neither a score nor its parts."""
    with search.Searcher(place, vault.settings()) as searcher:
        plain, same = (
            searcher.answer(
                search.Query("zebra", context_tags=tags, context_alone=True), now, clock.utc
            ).hits
            for tags in ((), (("absent", 9.0),))
        )
    assert plain == same and "tags" not in dict(plain[0].parts)


def test_load_says_which_tag_brings_a_rule(python, ok):
    """With where it comes from, as the start of a new session would show it."""
    Path(context.tags_path(python)).unlink()
    said = ok("load", "why does it fail?")
    assert "rule: tag Python (project), at the start" in said


def test_a_new_manifest_asks_the_same_question_anew(run, place, project, now, notes):
    """A kept answer of distill is one of the project as it was."""
    words = ("distill", "zebra stripes", "--provider", "extract")

    def kept() -> int:
        """How many answers and digests are kept once it was asked."""
        assert run(*words).returncode == 0
        return len(list(Path(place.cache, "digests").glob("*")))

    first = kept()
    assert kept() == first
    put(project, sub__go_dot_mod="module x\n")
    assert kept() > first


def test_context_is_read_once_from_one_small_file(place, now, monkeypatch):
    """The hook opens no manifest."""
    put(place.root, pyproject_dot_toml=PYPROJECT)
    manifests.cache_tags(place)
    opened = []
    real = at_prompt.files.read
    monkeypatch.setattr(
        at_prompt.files,
        "read",
        lambda path, *rest, **more: opened.append(path) or real(path, *rest, **more),
    )
    assert context.build_context(place, "zebra", "").labels["django"] == "project"
    assert opened == [context.tags_path(place), place.git + "/HEAD"]


def test_an_always_rule_stands_at_every_start(place, handled, now):
    """Of this project or of all, and with no other rule's tag."""
    for id, tier in (("here", "p"), ("everywhere", "g")):
        rule(place, now, id, "[always]", tier)
    rule(place, now, "go", "[go]")
    builder.build(place, now)
    shown = block(handled("start", source="startup"))
    assert "Obey-here." in shown and "Obey-everywhere." in shown and "Obey-go." not in shown
    assert set(reasons(place)) == {"rule: tag always (always)"}
