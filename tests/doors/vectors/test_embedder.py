"""Providers of vectors: what a good one gives, and one line for everything a bad one can do."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import stubs, vault
from harness.embedded import matrix
from harness.hook import ROOT

from memory.core import ProviderError, UsageError, config
from memory.doors.vectors import embedder

np = pytest.importorskip("numpy")

TEXTS = [
    ("a", "apple cake with pears"),
    ("b", "pears with an apple cake"),
    ("c", "locks of a database"),
]


def test_a_good_provider_gives_vectors_of_length_one(tmp_path, env):
    """Every id comes back once, as float32 of length 1, near texts near."""
    found = embedder.embed(stubs.provider(tmp_path), TEXTS, env)
    assert sorted(found) == ["a", "b", "c"]
    assert all(
        v.typecode == "f" and math.isclose(float(np.dot(v, v)), 1.0, abs_tol=1e-6)
        for v in found.values()
    )
    assert np.dot(found["a"], found["b"]) > 0.8 > 0.4 > np.dot(found["a"], found["c"])


def test_many_texts_do_not_block_the_pipes(tmp_path, env):
    """Megabytes go in while megabytes come out; no pipe holds either."""
    texts = [(str(i), f"word{i} " * 300) for i in range(2000)]
    found = embedder.embed(stubs.provider(tmp_path), texts, env)
    assert len(found) == 2000


def test_no_texts_start_no_process(tmp_path, env):
    """Nothing to embed is no reason to run anything."""
    assert embedder.embed(embedder.Provider("/nonexistent", (), "x", 1.0), [], env) == {}


def test_any_text_goes_through(tmp_path, env):
    """Line feeds, zero bytes, lone surrogates and emoji are one JSON line each."""
    texts = [("n", "a\nb"), ("z", "a\0b"), ("s", "a\udc80b"), ("e", "\U0001f600"), ("empty", "")]
    assert len(embedder.embed(stubs.provider(tmp_path), texts, env)) == 5


LIES = [
    (
        "fewer",
        (
            "rows = [json.loads(line) for line in sys.stdin]\nfor row in rows[1:]:\n"
            "    answer(row['id'], vector('x'))"
        ),
        "2 of 3 vectors",
    ),
    ("none", "sys.stdin.read()", "0 of 3 vectors"),
    ("never reads, ends", "pass", "0 of 3 vectors"),
    ("unknown id", stubs.GOOD + "answer('z', vector('x'))", "an id that was not asked for: 'z'"),
    ("twice", stubs.GOOD + "answer('a', vector('x'))", "two vectors for the id 'a'"),
    (
        "dims differ",
        (
            "n = 384\nfor line in sys.stdin:\n    answer(json.loads(line)['id'], "
            "vector('x', n))\n    n = 3"
        ),
        "one vector has 384 numbers, another 3",
    ),
    (
        "few dims",
        "for line in sys.stdin:\n    answer(json.loads(line)['id'], [1, 2])",
        "vector of 2 numbers; 8 to 8192",
    ),
    (
        "empty",
        "for line in sys.stdin:\n    answer(json.loads(line)['id'], [])",
        "vector of 0 numbers",
    ),
    (
        "NaN",
        "for line in sys.stdin:\n    answer(json.loads(line)['id'], [float('nan')] * 8)",
        "NaN",
    ),
    (
        "infinite",
        "for line in sys.stdin:\n    answer(json.loads(line)['id'], [1e308 * 10] * 8)",
        "infinite",
    ),
    (
        "beyond float",
        "for line in sys.stdin:\n    answer(json.loads(line)['id'], [10 ** 400] * 8)",
        "too large",
    ),
    ("zeros", "for line in sys.stdin:\n    answer(json.loads(line)['id'], [0.0] * 8)", "zeros"),
    (
        "text",
        "for line in sys.stdin:\n    answer(json.loads(line)['id'], ['1'] * 8)",
        "not a number",
    ),
    (
        "truth",
        "for line in sys.stdin:\n    answer(json.loads(line)['id'], [True] * 8)",
        "not a number",
    ),
    (
        "no list",
        "for line in sys.stdin:\n    answer(json.loads(line)['id'], {'0': 1})",
        "line 1 of the output",
    ),
    ("garbage", "print('Loading model...')" + stubs.GOOD, "line 1 of the output"),
    ("binary", "sys.stdout.buffer.write(bytes(range(256)) * 9)", "line 1 of the output"),
    ("nested", "print('[' * 100000)", "line 1 of the output"),
    (
        "dies",
        "sys.stderr.write('\\n  no such\\x1b[31m model\\nmore')\nsys.exit(3)",
        "exit status 3: no such?[31m model",
    ),
    (
        "dies after answering",
        stubs.GOOD + "sys.stdout.flush()\nos._exit(4)",
        "exit status 4: nothing on stderr",
    ),
    ("killed", "os.kill(os.getpid(), 9)", "killed by signal 9"),
]


@pytest.mark.parametrize(("body", "said"), [lie[1:] for lie in LIES], ids=[lie[0] for lie in LIES])
def test_a_lie_is_named_in_one_line(tmp_path, env, body, said):
    """Whatever a provider does wrong is a ProviderError that says what."""
    with pytest.raises(ProviderError) as error:
        embedder.embed(stubs.provider(tmp_path, body), TEXTS, env)
    assert said in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 250


def test_huge_numbers_have_a_direction_too(tmp_path, env):
    """A finite number whose square is not still gives a vector of length 1."""
    body = "for line in sys.stdin:\n    answer(json.loads(line)['id'], [1e300] * 8)"
    found = embedder.embed(stubs.provider(tmp_path, body), TEXTS[:1], env)
    assert abs(float(np.dot(found["a"], found["a"])) - 1) < 1e-6


@pytest.mark.parametrize(
    "body",
    ["time.sleep(60)", stubs.GOOD + "sys.stdout.flush()\ntime.sleep(60)"],
    ids=["never reads", "never ends"],
)
def test_a_hanging_provider_is_killed_at_the_deadline(tmp_path, env, body):
    """The caller's patience counts where it is less than the provider's own."""
    begun = time.monotonic()
    with pytest.raises(ProviderError, match=r"timeout: no answer within 0\.5 s"):
        embedder.embed(stubs.provider(tmp_path, body), [("a", "x" * 200000)], env, deadline=0.5)
    assert time.monotonic() - begun < 5


def test_the_whole_process_group_goes(tmp_path, env):
    """A child that the provider left behind does not outlive it."""
    mark = tmp_path / "alive"
    body = f"""
import subprocess
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1.5); open({str(mark)!r}, 'w')"])
time.sleep(60)"""
    with pytest.raises(ProviderError, match="timeout"):
        embedder.embed(stubs.provider(tmp_path, body, timeout=0.7), TEXTS, env)
    time.sleep(1.5)
    assert not mark.exists()


def test_a_flood_is_cut_off(tmp_path, env):
    """Endless output ends at the limit, long before the deadline and the memory do."""
    begun = time.monotonic()
    with pytest.raises(ProviderError, match=r"over 7\d\d KB of output"):
        embedder.embed(
            stubs.provider(tmp_path, "while True:\n    sys.stdout.write('x' * 65536)"), TEXTS, env
        )
    assert time.monotonic() - begun < 10


def test_a_talkative_stderr_blocks_nothing(tmp_path, env):
    """Progress bars are read and dropped."""
    body = "sys.stderr.write('progress ' * 100000)" + stubs.GOOD
    assert len(embedder.embed(stubs.provider(tmp_path, body), TEXTS, env)) == 3


def test_no_secret_reaches_the_provider(tmp_path, env):
    """Only harmless variables pass, PATH without its relative entries; it stands in an empty
    directory that then goes.
    """
    out = tmp_path / "seen.json"
    body = (
        f"json.dump([dict(os.environ), os.getcwd(), os.listdir('.'), sys.argv], "
        f"open({str(out)!r}, 'w'))"
    ) + stubs.GOOD
    secrets = {
        "OPENAI_API_" + "KEY": "sk-" + "x" * 20,
        "GITHUB_" + "TOKEN": "ghp" + "_x",
        "ANTHROPIC_API_" + "KEY": "y",
        "AWS_SECRET_ACCESS_" + "KEY": "z",
        "CLAUDE_CODE_OAUTH_" + "TOKEN": "t",
        "MY_" + "PASSWORD": "p",
        "LD_PRELOAD": "/evil.so",
        "PYTHONPATH": "/evil",
        "PYTHONSTARTUP": "/evil.py",
        "BASH_ENV": "/evil",
        "DAYLEAF_HOME": "/x",
        "CLAUDECODE": "1",
        "HTTPS_PROXY": "http://user:pass@example.invalid",
    }
    hostile = {
        **env,
        **secrets,
        "PATH": "." + os.pathsep + "bin" + os.pathsep + env["PATH"],
        "LC_ALL": "C.UTF-8",
    }
    embedder.embed(stubs.provider(tmp_path, body), TEXTS, hostile)
    seen, folder, listed, argv = json.loads(out.read_text())
    assert (
        not secrets.keys() & seen.keys()
        and seen["DAYLEAF_NESTED"] == "1"
        and seen["LC_ALL"] == "C.UTF-8"
    )
    assert all(os.path.isabs(entry) for entry in seen["PATH"].split(os.pathsep))
    assert listed == [] and not os.path.exists(folder) and not any("apple" in word for word in argv)


def test_a_provider_starts_no_provider(tmp_path, env):
    """The guard of a nested process ends the recursion."""
    with pytest.raises(ProviderError, match="cannot start a provider"):
        embedder.embed(stubs.provider(tmp_path), TEXTS, {**env, "DAYLEAF_NESTED": "1"})


def test_a_command_is_found_by_absolute_path_or_on_path_alone(tmp_path, env, monkeypatch):
    """What lies in the current directory is never run; what does not start says so."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "evil").write_text("#!/bin/sh\ntouch ran\n")
    (here / "evil").chmod(0o755)
    (here / "broken").write_text("#!/nonexistent/interpreter\n")
    (here / "broken").chmod(0o755)
    monkeypatch.chdir(here)
    for command in ("evil", "./evil", "here/evil", "/nonexistent/x"):
        with pytest.raises(ProviderError, match="command not found"):
            embedder.embed(
                embedder.Provider(command, (), "x", 5.0),
                TEXTS,
                {**env, "PATH": "." + os.pathsep + env["PATH"]},
            )
    assert not (here / "ran").exists()
    with pytest.raises(ProviderError, match="does not start"):
        embedder.embed(embedder.Provider(str(here / "broken"), (), "x", 5.0), TEXTS, env)
    with pytest.raises(ProviderError, match=r"exit status|of 3 vectors"):
        embedder.embed(
            embedder.Provider("evil", (), "x", 5.0),
            TEXTS,
            {**env, "PATH": str(here) + os.pathsep + env["PATH"]},
        )


def settings(**changes):
    """Default settings with some of `embeddings.*` changed."""
    found = vault.settings()
    found.values.update(
        {"embeddings." + key.replace("_", "."): value for key, value in changes.items()}
    )
    return found


def test_no_provider_is_named_by_default(env):
    """Nothing is embedded unless somebody asks for it."""
    assert embedder.load_provider(settings(), "", env) is None


def test_settings_name_the_provider(env):
    """Command, arguments and label come from the settings; the words are the label where none is
    given.
    """
    found = embedder.load_provider(
        settings(provider_command="/opt/embed", provider_args=["-m", "small"]), "", env
    )
    assert found == embedder.Provider("/opt/embed", ("-m", "small"), "embed -m small", 60.0, "all")
    named = embedder.load_provider(
        settings(provider_command="/opt/embed", modelLabel="small-2"), "", env
    )
    assert named.label == "small-2" and named.digest != found.digest


def test_the_word_minilm_is_the_built_in_provider(env, home):
    """It runs in the runtime where there is one, isolated, and says that it reads Latin script."""
    found = embedder.load_provider(settings(provider_command="minilm"), "", env)
    assert (
        found.command == sys.executable
        and found.args[0] == "-I"
        and Path(found.args[1]).name == "minilm.py"
    )
    assert (found.label, found.scripts) == ("all-MiniLM-L6-v2", "latin")
    runtime = Path(home) / ".dayleaf/runtime/bin/python"
    runtime.parent.mkdir(parents=True)
    runtime.touch()
    assert embedder.load_provider(settings(), "minilm", env).command == str(runtime)


def test_an_override_brings_its_own_arguments_and_label(env):
    """`--provider` takes a command as a shell would read it; the settings' arguments belong to the
    settings' command.
    """
    base = settings(
        provider_command="/opt/embed", provider_args=["-m", "small"], modelLabel="small"
    )
    assert embedder.load_provider(base, "/opt/embed", env).args == ("-m", "small")
    other = embedder.load_provider(base, "/opt/other '--name=a b'", env)
    assert (other.command, other.args, other.label) == (
        "/opt/other",
        ("--name=a b",),
        "other --name=a b",
    )


@pytest.mark.parametrize(
    ("changes", "override"),
    [
        ({"provider_command": "/x", "provider_args": [1]}, ""),
        ({}, "a 'b"),
        ({"provider_command": "/x\0y"}, ""),
    ],
)
def test_what_is_no_command_is_a_usage_error(env, changes, override):
    """The message names the setting and the remedy."""
    with pytest.raises(UsageError):
        embedder.load_provider(settings(**changes), override, env)


def test_a_project_cannot_name_a_provider(tmp_path, env, home):
    """A cloned repository must not bring a command along."""
    for key in (key for key in config.DEFAULTS if key.startswith("embeddings.")):
        assert key not in config.PROJECT_KEYS
    (tmp_path / "clone/.dayleaf").mkdir(parents=True)
    (tmp_path / "clone/.dayleaf/config.json").write_text(
        json.dumps({"embeddings": {"provider": {"command": "/evil"}}})
    )
    found = config.load(home + "/.dayleaf", str(tmp_path / "clone"), {})
    assert found["embeddings.provider.command"] == "" and len(found.problems) == 1


def test_importing_the_embedder_does_not_import_numpy():
    """Who only asks whether there is a provider does not pay for NumPy."""
    code = (
        "import sys; from memory.doors.vectors import embedder, nearest, vectors; "
        "sys.exit('numpy' in sys.modules)"
    )
    root = str(ROOT)
    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0


# ---- past queries


def test_a_query_is_remembered_by_label_and_text(place, now):
    """The same numbers come back for the same words and label, and for nothing else."""
    vector = matrix(1, 64)[0]
    assert embedder.read_query_vector(place, "x", "how so", now) is None
    embedder.write_query_vector(place, "x", "how so", vector, now)
    assert (embedder.read_query_vector(place, "x", "how so", now) == vector).all()
    assert (
        embedder.read_query_vector(place, "y", "how so", now) is None
        and embedder.read_query_vector(place, "x", "how", now) is None
    )
    assert b"how so" not in Path(embedder.queries_path(place)).read_bytes()


def test_the_queries_used_last_stay(place, now, monkeypatch):
    """A use counts; beyond MOST the oldest go."""
    monkeypatch.setattr(embedder, "MOST", 5)
    for i in range(5):
        embedder.write_query_vector(place, "x", f"q{i}", np.ones(8), now + i)
    assert embedder.read_query_vector(place, "x", "q0", now + 9000) is not None
    for i in range(5, 9):
        embedder.write_query_vector(place, "x", f"q{i}", np.ones(8), now + i)
    kept = [
        i
        for i in range(9)
        if embedder.read_query_vector(place, "x", f"q{i}", now + 9000) is not None
    ]
    assert kept == [0, 5, 6, 7, 8]


def test_a_damaged_cache_is_an_empty_one(place, now):
    """At any byte, and as no database at all: a wrong vector never comes back, no error, and it
    works again after a write.
    """
    vector = matrix(1, 64)[0]
    path = Path(embedder.queries_path(place))
    embedder.write_query_vector(place, "x", "q", vector, now)
    good = path.read_bytes()
    at = good.index(vector.tobytes()[:16])
    for data in (
        b"",
        b"no database at all " * 50,
        good[:700],
        good[:at] + b"\xff" + good[at + 1 :],
        bytes(len(good)),
    ):
        path.write_bytes(data)
        assert embedder.read_query_vector(place, "x", "q", now) is None
        embedder.write_query_vector(place, "x", "q", vector, now)
        assert (embedder.read_query_vector(place, "x", "q", now) == vector).all()
    for at in range(0, len(good), 97):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
        found = embedder.read_query_vector(place, "x", "q", now)
        assert found is None or (found == vector).all()


def test_a_cache_that_cannot_be_written_changes_nothing(place, now, monkeypatch):
    """Another process writes, or a folder stands in the way."""
    embedder.write_query_vector(place, "x", "q", np.ones(8), now)
    monkeypatch.setattr(embedder, "WAIT", 0.05)
    holder = sqlite3.connect(embedder.queries_path(place))
    holder.execute("BEGIN EXCLUSIVE")
    embedder.write_query_vector(place, "x", "r", np.ones(8), now)
    assert embedder.read_query_vector(place, "x", "q", now) is None
    holder.rollback()
    holder.close()
    assert (
        embedder.read_query_vector(place, "x", "q", now) is not None
        and embedder.read_query_vector(place, "x", "r", now) is None
    )
    os.unlink(embedder.queries_path(place))
    os.mkdir(embedder.queries_path(place))
    embedder.write_query_vector(place, "x", "q", np.ones(8), now)
    assert embedder.read_query_vector(place, "x", "q", now) is None
