"""A client that fires the plugin's real hooks and asks for a digest again, with guards taken away
one and two at a time.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from harness import vault
from harness.interpreter import PYTHON

ROOT = Path(__file__).resolve().parents[2]
SESSION = "7c997624-fc22-4860-bbcc-56cf0cc98ee9"
# Plays a client: a session of its own, with hooks and a transcript unless its flags keep it from
# both.
CLIENT = """#!{python}
import json, os, subprocess, sys
if "--help" in sys.argv:
    print("--safe-mode")
    raise SystemExit
gone = {gone!r}
said = sys.stdin.read()
with open({seen!r}, "a") as out:
    out.write(json.dumps(said[:60]) + "\\n")
env = {{key: value for key, value in os.environ.items() if key != "DAYLEAF_NESTED" or "variable" \
not in gone}}
env["CLAUDE_PROJECT_DIR"] = {project!r}
if "caps" in gone:
    for name in os.listdir({home!r} + "/spawn"):
        os.unlink({home!r} + "/spawn/" + name)
if "flags" in gone:
    if "marker" in gone:
        said = said.replace("dayleaf-distill-prompt", "please")
    path = {transcripts!r} + "/%d.jsonl" % os.getpid()
    rows = [json.loads(line) for line in open({sample!r}, encoding="utf-8")]
    for row in rows:
        if row.get("type") == "user" and isinstance(row["message"]["content"], str):
            row["message"]["content"] = said
    with open(path, "w") as out:
        out.writelines(json.dumps(row) + "\\n" for row in rows)
    base = dict(session_id={session!r}, transcript_path=path, cwd={project!r}, \
permission_mode="default")
    for hook, more in (("session_start", dict(hook_event_name="SessionStart", source="startup")),
                       ("prompt", dict(hook_event_name="UserPromptSubmit", prompt=said)),
                       ("stop", dict(hook_event_name="Stop", stop_hook_active=False)),
                       ("pre_compact", dict(hook_event_name="PreCompact", trigger="auto", \
custom_instructions="")),
                       ("session_end", dict(hook_event_name="SessionEnd", reason="other"))):
        read, write = os.pipe()
        done = subprocess.run([{hooks!r}, hook], input=json.dumps({{**base, **more}}).encode(), \
env=env, cwd={project!r},
                              stdout=subprocess.PIPE, pass_fds=(write,))
        os.close(write)
        os.read(read, 1)  # the detached work holds the other end until it is done
        os.close(read)
    for i in range(3):
        subprocess.run([sys.executable, "-I", {memory!r}, "distill", "again %d why did the uploads \
fail?" % i, "--no-cache"],
                       env=env, cwd={project!r}, capture_output=True)
print(json.dumps(dict(is_error=False, num_turns=1, result="- Uploads failed since nginx closed the \
socket [up1]\\n"
                      "- The socket was closed by nginx [up1]")))
"""
GUARDS = ("variable", "flags", "marker", "caps")


def nested(place, env, project, home, tmp_path, gone, timeout="60"):
    """Ask once with guards gone; return the sessions there were and the records there are."""
    transcripts = Path(home, ".claude", "projects", "p")
    transcripts.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    seen = tmp_path / "sessions"
    program = tmp_path / "bin" / "claude"
    program.write_text(
        CLIENT.format(
            python=PYTHON,
            gone=gone,
            seen=str(seen),
            project=project,
            home=place.home,
            transcripts=str(transcripts),
            sample=str(ROOT / "tests/data/transcripts/tools-interactive.jsonl"),
            session=SESSION,
            hooks=str(ROOT / "hooks/run"),
            memory=str(ROOT / "memory"),
        )
    )
    program.chmod(0o755)
    vault.put(
        place, "p/learnings/up1.md", "Uploads", "Uploads failed since nginx closed the socket."
    )
    (Path(place.home) / "runtime").symlink_to(sys.prefix)
    env["PATH"] = "%s:/usr/bin:/bin" % (tmp_path / "bin")
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            str(ROOT / "memory"),
            "distill",
            "why did the uploads fail?",
            "--json",
        ],
        cwd=project,
        env={**env, "DAYLEAF_DISTILL_TIMEOUT": timeout},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    records = [path for path in Path(place.home).rglob("*.md") if "cache" not in path.parts]
    return json.loads(done.stdout), seen.read_text().splitlines(), records


@pytest.mark.parametrize(
    "gone", [(), *((one,) for one in GUARDS), *itertools.combinations(GUARDS, 2)], ids="+".join
)
def test_a_digest_starts_one_session_and_leaves_no_memory_of_its_prompt(
    place, env, project, home, tmp_path, gone
):
    """One client for one question, and the store holds the one record it held, whatever guards are
    gone.
    """
    value, sessions, records = nested(place, env, project, home, tmp_path, gone)
    assert len(sessions) == 1
    assert [path.name for path in records] == ["up1.md"]
    assert (value["provider"], value["calls"]) == ("claude", 1)


def test_the_play_bites_where_every_guard_is_gone(place, env, project, home, tmp_path):
    """Without any guard the same client recurses and is written down: what the other tests see is
    the guards' work.
    """
    _, sessions, records = nested(place, env, project, home, tmp_path, GUARDS, "8")
    assert len(sessions) > 1
    assert len(records) > 1
