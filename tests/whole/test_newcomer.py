"""A newcomer's first ten minutes, from an empty HOME to a note that is forgotten, by what README
shows and nothing else.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

from harness.client import claude_bin  # noqa: F401  (a fixture)
from harness.fake_anthropic import sent, tool
from harness.lab import PATH, PLUGIN, Lab, until
from harness.newcomer import runtime

README = Path(PLUGIN, "README.md").read_text(encoding="utf-8")
SHOWN = [
    line.strip().removeprefix("$ ").partition("  #")[0].strip()
    for block in re.findall(r"```console\n(.*?)```|((?:^ {4}\S.*\n)+)", README, re.S | re.M)
    for line in "".join(block).splitlines()
    if line.lstrip().startswith(("$ ", "./install.sh"))
]
MOST = 2  # commands that a step may take


def shown(*starts: str) -> list[list[str]]:
    """Return the words of the commands of a step, as README has them."""
    assert len(starts) <= MOST
    return [
        shlex.split(next(line for line in SHOWN if line == start or line.startswith(start + " ")))
        for start in starts
    ]


def registered(env: dict[str, str], wanted: list[str]) -> None:
    """Ask the client which plugins it has beside its own."""
    done = subprocess.run(
        ["claude", "plugin", "list", "--json"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert [
        row["id"] for row in json.loads(done.stdout) if not row["id"].endswith("@builtin")
    ] == wanted


def test_the_first_ten_minutes(tmp_path, claude_bin):  # noqa: F811
    """Set up, a session, is it working, keep, ask, the next session knows, forget, take it away: at
    most two commands a step.  Only the packages of the runtime are there before, since fetching
    them is another test's.
    """
    with Lab(tmp_path / "lab", claude_bin, runtime=False) as lab:
        runtime(lab.home)
        (lab.home / "bin").mkdir()
        (lab.home / "bin" / "claude").symlink_to(claude_bin)
        env = lab.env(
            {"PATH": "%s/bin:%s/.local/bin:%s" % (lab.home, lab.home, PATH), "PIP_NO_INDEX": "1"}
        )

        def step(*starts: str) -> str:
            said = ""
            for words in shown(*starts):
                program = PLUGIN + "/install.sh" if words[0] == "./install.sh" else words[0]
                done = subprocess.run(
                    [program, *words[1:]],
                    cwd=lab.repo,
                    env=env,
                    text=True,
                    capture_output=True,
                    timeout=120,
                    check=False,
                )
                assert done.returncode == 0, (words, done.stdout, done.stderr)
                said += done.stdout
            return said

        def session(prompt: str, *turns: object) -> str:
            lab.api.set_script({"turns": [*turns]})
            lab.api.server.requests.clear()
            run = lab.claude(
                "-p",
                prompt,
                "--permission-mode",
                "acceptEdits",
                "--allowedTools",
                "Bash",
                "--output-format",
                "json",
                env=env,
            )
            assert run.rc == 0, run
            return sent(lab.api.messages(tools=True)[0])

        assert "plugin dayleaf@dayleaf, read from %s" % PLUGIN in step("./install.sh")
        calc = str(lab.repo / "calc.py")
        session(
            "fix the add function",
            tool("Read", file_path=calc),
            tool("Edit", file_path=calc, old_string="a - b", new_string="a + b"),
            "The sign was wrong; add() is fixed.",
        )
        (kept,) = until(lambda: lab.records("checkpoints"))
        assert "The sign was wrong" in kept.read_text(encoding="utf-8")
        working = step("dayleaf", "dayleaf push why")
        assert "fix the add function" in working.lower()
        assert " 0 FAIL" in step("dayleaf doctor")
        assert "kept l-" in step("dayleaf learn")
        found = step("dayleaf recall", "dayleaf distill")
        assert found.count("issuer must match the tenant URL") >= 2
        told = session(
            "why does verify_token reject the issuer of a tenant with a trailing slash?",
            "The slash.",
        )
        assert (
            'part="brief"' in told
            and "The sign was wrong" in told
            and "a trailing slash breaks verify_token" in told
        )
        assert "archived l-" in step("dayleaf record forget")
        assert "issuer must match" not in step("dayleaf recall")
        registered(env, ["dayleaf@dayleaf"])
        assert "ready: " in step("./install.sh"), "a second run is without harm"
        registered(env, ["dayleaf@dayleaf"])
        assert "`./install.sh --uninstall`" in README
        done = subprocess.run(
            [PLUGIN + "/install.sh", "--uninstall"],
            cwd=lab.repo,
            env=env,
            text=True,
            capture_output=True,
            check=True,
        )
        registered(env, [])
        assert (
            "kept your memories" in done.stdout
            and kept.exists()
            and not (lab.home / ".local" / "bin" / "dayleaf").is_symlink()
        )
