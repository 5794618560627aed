"""Options among words: as a shell hands them on, and as a person types them into a slash
command.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from harness import vault
from harness.hook import ROOT

from memory.cli import main
from memory.terminal import arguments

ODD = 'what\'s the "fix"?; $(date)'


def test_words_after_two_dashes_are_text(ok):
    """`--` ends the options, so that a query may hold one; so does quoting it together with other
    words.
    """
    ok("learn", "--title", "pip", "--", "--no-cache", "is needed")
    assert "pip" in ok("recall", "--", "--no-cache")
    assert "pip" in ok("recall", "--no-cache is needed")


def test_options_may_stand_among_the_words(ok):
    """The words that are no option are the query, in their order."""
    assert (
        json.loads(ok("recall", "jwt", "--limit", "3", "issuer", "--json"))["query"] == "jwt issuer"
    )


RAW = [
    ("recall", "jwt issuer --limit 3", ["--limit=3"], "jwt issuer"),
    ("recall", "--kind learning jwt", ["--kind=learning"], "jwt"),
    ("recall", "jwt --limit 3 issuer", ["--limit=3"], "jwt issuer"),
    ("recall", "what does --limit do", [], "what does --limit do"),
    ("recall", "use --no-cache; --tag", [], "use --no-cache; --tag"),
    ("recall", "x --tag 'auth' --tag=\"db\"", ["--tag=auth", "--tag=db"], "x"),
    ("recall", "x --explain=3 --explain", ["--explain"], "x --explain=3"),
    ("recall", "  a   b\n c ", [], "a   b\n c"),
    ("recall", ODD, [], ODD),
    ("recall", "", [], ""),
    ("recall", "--kind nonsense jwt", [], "--kind nonsense jwt"),
    ("recall", "-- --limit 3", ["--limit=3"], "--"),
    ("learn", "the flag --tag must come first", [], "the flag --tag must come first"),
    ("learn", "--tag auth the flag --tag must come", ["--tag=auth"], "the flag --tag must come"),
    ("learn", "tokens expire --tag auth --global", ["--tag=auth", "--global"], "tokens expire"),
    ("learn", "--global --tag a", ["--global", "--tag=a"], ""),
    ("plan", 'Move retries --step "queue worker"', ["--step=queue worker"], "Move retries"),
    (
        "plan",
        "Move --step 'the worker' --step=\"the \u2019docs'\"",
        ["--step=the worker", "--step=the \u2019docs'"],
        "Move",
    ),
    ("plan", "--step what's wrong? it's late", ["--step=what's"], "wrong? it's late"),
    ("plan", 'drop p-1 --reason "no time', [], 'drop p-1 --reason "no time'),
    (
        "recall",
        "the 'old' and \"new\" way --limit 2 it's",
        ["--limit=2"],
        "the 'old' and \"new\" way it's",
    ),
    ("recall", '"what does --limit 3 do" --limit 2', ["--limit=2"], '"what does --limit 3 do"'),
    ("recall", "isn't --limit 3 what's asked", ["--limit=3"], "isn't what's asked"),
]


@pytest.mark.parametrize(
    ("verb", "raw", "options", "rest"), RAW, ids=[row[1] or "empty" for row in RAW]
)
def test_options_are_taken_out_of_typed_text(verb, raw, options, rest):
    """Known options with a fitting value are options; everything else stays as it was typed."""
    assert arguments.split_options(raw, main.VERBS[verb]) == (options, rest)


COMPLETED = [
    (["reca"], "recall"),
    (["resource", "re"], "refresh"),
    (["resource", "add", "--t"], "--type"),
    (["recall", "--kind", "learn"], "learning"),
    (["config", "get", "load.to"], "load.top"),
    (["index", "bu"], "build"),
    (["help", "dist"], "distill"),
    (["show", "l-"], "l-pin"),
    (["rule", "approve", "r"], "r-ask"),
    (["forget", ""], "l-pin"),
]


@pytest.mark.parametrize(
    ("words", "offered"), COMPLETED, ids=[" ".join(words) for words, _ in COMPLETED]
)
def test_what_may_stand_there_is_offered(ok, place, words, offered):
    """Verbs, words, options, their values, settings; records by id, with the title."""
    vault.put(place, "p/learnings/pin.md", "Pin the issuer", "In tests.", id="l-pin", tags="[auth]")
    vault.put(place, "p/rules/ask.md", "Ask first", "Always.", id="r-ask", rationale="a break")
    rows = [line.split("\t") for line in ok("completion", "bash", "--", *words).splitlines()]
    assert offered in [row[0] for row in rows] and all(len(row) == 2 for row in rows)
    if offered == "l-pin":
        assert ["l-pin", "Pin the issuer"] in rows


def test_completion_is_quiet_where_it_knows_nothing(ok, run):
    """A path is the shell's to complete, an unknown verb nobody's; a shell that is none is said."""
    for words in (
        ["import", "dir", "x"],
        ["nonsense", ""],
        ["recall", "wor"],
        ["recall", "--since", ""],
    ):
        assert ok("completion", "fish", "--", *words) == ""
    assert "takes a shell" in run("completion", "tcsh").stderr


def test_every_option_and_word_is_offered(ok):
    """Of each verb, from the table that its reader is made of."""
    for name, verb in main.VERBS.items():
        for words in [[name, word] for word in verb.parts] or [[name]]:
            part = verb.parts.get(words[-1])
            wanted = {
                option.flag
                for option in verb.options
                if option.rest.get("help") != "==SUPPRESS=="
                and (part is None or option.flag in part.flags.split())
            }
            said = ok("completion", "zsh", "--", *words, "--")
            assert {line.partition("\t")[0] for line in said.splitlines()} == {*wanted, "--json"}, (
                words
            )


SHELLS = {
    "bash": (
        'eval "$(dayleaf completion bash)"; COMP_WORDS=(dayleaf show l-) COMP_CWORD=2 '
        'COMP_TYPE=9; _dayleaf; echo "${COMPREPLY[@]}"'
    ),
    "zsh": (
        'autoload -Uz compinit && compinit -D -u; eval "$(dayleaf completion zsh)"; compadd() { '
        "print -r -- $values }; words=(dayleaf show l-) CURRENT=3; _dayleaf"
    ),
    "fish": 'dayleaf completion fish | source; complete -C "dayleaf show l-"',
}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shells_take_what_is_offered(shell, place, env, project, tmp_path):
    """Each sources its script and completes an id."""
    if not shutil.which(shell):
        pytest.skip("no %s here" % shell)
    vault.put(place, "p/learnings/pin.md", "Pin the issuer", "In tests.", id="l-pin", tags="[auth]")
    (tmp_path / "dayleaf").write_text(
        "#!/bin/sh\nexec '%s' -I '%s' \"$@\"\n" % (sys.executable, ROOT / "memory")
    )
    (tmp_path / "dayleaf").chmod(0o755)
    done = subprocess.run(
        [shell, "-c", SHELLS[shell]],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=60,
        env={**env, "PATH": "%s:%s" % (tmp_path, env["PATH"])},
    )
    assert "l-pin" in done.stdout and "Pin" not in done.stdout.replace(
        "l-pin\tPin the issuer", ""
    ), done.stderr
