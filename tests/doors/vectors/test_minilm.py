"""The built-in provider: numbers as PyTorch gives them, and one line where something is missing."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from harness import vault
from harness.hook import ROOT

from memory.doors.vectors import embedder, minilm

np = pytest.importorskip("numpy")
SCRIPT = minilm.__file__
MISSING = [
    name for name in (minilm.PACKAGE, "tokenizers") if importlib.util.find_spec(name) is None
]
installed = pytest.mark.skipif(bool(MISSING), reason="not installed: " + ", ".join(MISSING))


def run(rows: list[dict], *args: str, **keys) -> subprocess.CompletedProcess:
    """Run the script as embedder does."""
    given = "".join(json.dumps(row) + "\n" for row in rows)
    return subprocess.run(
        [sys.executable, "-I", SCRIPT, *args],
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        **keys,
    )


@pytest.fixture
def provider(env) -> embedder.Provider:
    """The built-in provider under the settings' defaults."""
    settings = vault.settings()
    settings.values["embeddings.provider.command"] = "minilm"
    return embedder.load_provider(settings, "", env)


@installed
def test_vectors_are_those_of_the_reference():
    """The first numbers of three texts as PyTorch computes them; the third is longer than 256
    tokens.
    """
    known = json.loads((ROOT / "tests/data/minilm.json").read_text(encoding="utf-8"))
    done = run([{"id": str(i), "text": row["text"]} for i, row in enumerate(known)])
    found = {row["id"]: row["vector"] for row in map(json.loads, done.stdout.splitlines())}
    for i, row in enumerate(known):
        assert len(found[str(i)]) == 384
        assert found[str(i)][:8] == pytest.approx(row["first"], abs=2e-6)


@installed
def test_paraphrases_are_near_and_others_far(provider, env):
    """What means the same scores above 0.6, what has nothing to do with it below 0.2."""
    texts = [
        ("a", "The database migration failed because of a lock timeout."),
        ("b", "A lock timed out and so the DB migration did not go through."),
        ("c", "We baked an apple cake for the birthday."),
    ]
    found = embedder.embed(provider, texts, env)
    assert np.dot(found["a"], found["b"]) > 0.6
    assert abs(np.dot(found["a"], found["c"])) < 0.2 and abs(np.dot(found["b"], found["c"])) < 0.2


@installed
def test_a_text_has_one_vector_whatever_stands_beside_it(provider, env):
    """Batches with filling, and threads or none, change nothing but the last digits."""
    texts = [(str(i), " ".join(f"word{i}x{j}" for j in range(1 + i * 7 % 60))) for i in range(40)]
    together = embedder.embed(provider, texts, env)
    for ident, text in texts[::13]:
        alone = embedder.embed(provider, [(ident, text)], env)[ident]
        assert float(np.dot(alone, together[ident])) > 0.99999


@installed
def test_odd_texts_have_vectors(provider, env):
    """Nothing, controls and scripts that the model does not know are texts too."""
    texts = [
        ("empty", ""),
        ("zero", "\0"),
        ("han", "数据库"),
        ("surrogate", "\udc80"),
        ("long", "x" * 100000),
    ]
    assert len(embedder.embed(provider, texts, env)) == 5


@installed
def test_the_package_is_found_and_never_imported(tmp_path):
    """Its own __init__ would want PyTorch."""
    code = (
        "import importlib.util, sys; sys.argv = ['minilm']\n"
        f"spec = importlib.util.spec_from_file_location('minilm', {SCRIPT!r})\n"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
        f"module.find_model(); sys.exit('{minilm.PACKAGE}' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-I", "-c", code]).returncode == 0


def test_without_the_package_one_line_says_how_to_set_it_up():
    """Exit status 1, nothing on stdout."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", SCRIPT],
        input='{"id":"a","text":"b"}\n',
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "the model is not installed; `install.sh --embeddings` sets it up\n"


@pytest.mark.parametrize(
    "line", ["{}", "x", "[]", '{"id": 1, "text": "b"}', '{"id": "a", "text": null}', ""]
)
def test_input_that_is_no_row_is_named(line, tmp_path):
    """The line's number stands in the message."""
    done = subprocess.run(
        [sys.executable, "-I", SCRIPT, str(tmp_path)],
        input='{"id": "a", "text": "b"}\n' + line + "\n",
        capture_output=True,
        text=True,
    )
    assert (
        done.returncode == 1
        and done.stderr.startswith("line 2 of the input")
        and done.stderr.count("\n") == 1
    )


def safetensors(path: Path, header: dict, data: bytes = b"") -> None:
    """Write a file of weights."""
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


DAMAGES = {
    "missing": None,
    "empty": b"",
    "no header": b"\xff" * 40,
    "not JSON": struct.pack("<Q", 4) + b"abcd" + bytes(8),
    "list": struct.pack("<Q", 2) + b"[]" + bytes(8),
    "short": struct.pack("<Q", 70)
    + b'{"a": {"dtype": "F32", "shape": [99], "data_offsets": [0, 396]}}      '
    + bytes(8),
    "other model": struct.pack("<Q", 2) + b"{}" + bytes(8),
}


@pytest.mark.parametrize("data", DAMAGES.values(), ids=DAMAGES)
def test_damaged_weights_are_one_line(tmp_path, data):
    """Whatever is wrong with the file, the message names it or what it lacks, and the remedy."""
    if data is not None:
        (tmp_path / "model.safetensors").write_bytes(data)
    done = run([{"id": "a", "text": "b"}], str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.count("\n") == 1, done.stderr
    assert "install.sh --embeddings" in done.stderr


def test_tensors_are_read_from_their_offsets(tmp_path):
    """Names, shapes and numbers as the format has them; what is not float32 is left alone."""
    numbers = np.arange(6, dtype="<f4")
    safetensors(
        tmp_path / "w",
        {
            "__metadata__": {"format": "pt"},
            "skip": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
            "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]},
        },
        bytes(8) + numbers.tobytes(),
    )
    found = minilm.map_weights(str(tmp_path / "w"))
    assert set(found) == {"a"} and (found["a"] == numbers.reshape(2, 3)).all()


def test_gelu_is_exact():
    """Against math.erf, over more than the range where it bends."""
    x = np.linspace(-8, 8, 4001, dtype=np.float32)
    exact = [0.5 * float(v) * (1 + math.erf(float(v) / math.sqrt(2))) for v in x]
    assert np.abs(minilm.gelu(x) - exact).max() < 2e-6


@pytest.mark.parametrize(
    "lengths", [[], [1], [256] * 9, [5] * 70, [256, 3, 3, 200, 1, 256], list(range(1, 256))]
)
def test_batches_are_of_similar_length_and_bounded(lengths):
    """Every text is in one batch; at most 32 texts and 1,024 tokens, filling included, go
    together.
    """
    found = list(minilm._batches(lengths))
    assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
    assert all(
        len(batch) <= 32 and len(batch) * max(lengths[i] for i in batch) <= 1024 for batch in found
    )
    flat = [lengths[number] for batch in found for number in batch]
    assert flat == sorted(flat)


def test_few_texts_use_one_thread(tmp_path):
    """Below FEW texts the threads of a matrix library only cost, beyond they are half the cores;
    the user's own choice stays.
    """
    code = (
        f"import sys, io, os; sys.path.insert(0, {str(ROOT)!r})\n"
        "from memory.doors.vectors import minilm\n"
        "minilm.embed = lambda *a: []\n"
        'class In: buffer = io.BytesIO(b\'{"id":"a","text":"b"}\\n\' * int(sys.argv[1]))\n'
        "sys.stdin = In; minilm.main(['x']); print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    env = {key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}

    def said(count: int, **more: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, str(count)],
            capture_output=True,
            text=True,
            env={**env, **more},
        )
        return done.stdout.strip()

    half = str(max(1, os.cpu_count() // 2))
    assert (said(7), said(8), said(7, OPENBLAS_NUM_THREADS="4")) == ("1", half, "4")
