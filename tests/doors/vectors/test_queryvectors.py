"""Vectors in recall: what they find, and that nothing is lost where they fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness import stubs, talks, vault
from harness.hook import ROOT

from memory.core import clock, config
from memory.doors.vectors import embedder, nearest, queryvectors, vectorfile, vectors
from memory.doors.vectors.queryvectors import QueryVectors, covers_script
from memory.health import goldens, measurements, worker
from memory.index import builder
from memory.recall import batch, search
from memory.store.store import Store

pytest.importorskip("numpy")


@pytest.fixture
def armed(command, place, env, now):
    """Settings with the provider, and learnings with vectors."""
    for name, body in (
        ("car", "The car needs oil."),
        ("bread", "Bread wants salt."),
        ("engine", "The engine is loud."),
        ("doctor", "A doctor came by."),
        ("garden", "Water the garden at dusk."),
    ):
        vault.put(place, "p/learnings/%s.md" % name, name.title(), body, tags="[%s]" % name)
    vault.learnings(place, 20)
    builder.build(place, now)
    words, _ = command
    settings = vault.settings()
    settings.values.update(
        {
            "embeddings.provider.command": words[0],
            "embeddings.provider.args": words[1:],
            "embeddings.modelLabel": "meanings",
        }
    )
    vectors.update(place, _provider(settings, env), env, now)
    return settings


def _provider(settings, env):
    from memory.doors.vectors import embedder

    return embedder.load_provider(settings, "", env)


def ask(place, settings, env, now, text, semantic=True, **options):
    """Answer one query with vectors at hand."""
    query = search.Query(text=text, semantic=semantic, **options)
    return search.recall(
        place, settings, query, now, clock.utc, semantic=QueryVectors(settings, "", env)
    )


def ids(found):
    """The ids of what was found."""
    return [hit.record.id for hit in found.hits]


def test_a_record_that_shares_no_word_is_found(place, armed, env, now):
    """By what it means; the answer says what ranked, and the parts show it."""
    assert "car" not in ids(ask(place, armed, env, now, "automobile", semantic=False))
    found = ask(place, armed, env, now, "automobile")
    assert ids(found)[0] == "car" and found.backend == "lexical + vectors (meanings)"
    assert dict(found.hits[0].parts)["vector"] > 0.0 and not found.notes


def test_a_turn_that_shares_no_word_is_shown(place, armed, env, now):
    """Words find the session by another turn; the one that vectors find stands in the passage
    first.
    """
    talks.put(
        place,
        [
            "## 10:00 plan the trip\n\nThe trip starts on Monday at nine, if it does not rain.\n\n",
            "## 10:10 what is in the yard?\n\nThe kfz there has a broken lamp.\n\n",
        ],
        title="Monday",
    )
    builder.build(place, now)
    vectors.update(place, _provider(armed, env), env, now)
    told, plain = (
        ask(place, armed, env, now, "the trip by automobile", semantic=semantic).hits[0].passage
        for semantic in (True, False)
    )
    assert "broken lamp" in told and "Monday at nine" in told
    assert "Monday at nine" in plain and "broken lamp" not in plain


def test_words_still_lead(place, armed, env, now):
    """What holds the word itself stands before what only means it."""
    vault.put(place, "p/learnings/auto.md", "Automobile", "The automobile club.", tags="[auto]")
    builder.build(place, now)
    assert ids(ask(place, armed, env, now, "automobile"))[:2] == ["auto", "car"]


def test_the_setting_makes_vectors_the_default(place, armed, env, now):
    """A query may still refuse them."""
    armed.values["recall.semantic"] = True
    assert "vectors" in ask(place, armed, env, now, "automobile", semantic=None).backend
    assert ask(place, armed, env, now, "automobile", semantic=False).backend == "lexical"
    armed.values["recall.semantic"] = False
    assert ask(place, armed, env, now, "automobile", semantic=None).backend == "lexical"


def test_the_same_query_starts_no_second_process(place, armed, env, now, command):
    """Its vector is kept across processes."""
    runs = command[1]
    before = runs()
    ask(place, armed, env, now, "automobile")
    ask(place, armed, env, now, "automobile")
    assert runs() == before + 1


def test_a_batch_asks_the_provider_once(place, armed, env, now, command):
    """However many queries it has, and each line gets its answer in order."""
    runs = command[1]
    before = runs()
    lines = [
        json.dumps({"id": i, "query": text})
        for i, text in enumerate(("automobile", "physician", "motor"))
    ]
    found = batch.answer_lines(
        lines,
        place,
        armed,
        now,
        clock.utc,
        search.Query(semantic=True),
        semantic=QueryVectors(armed, "", env),
    )
    assert [json.loads(line)["hits"][0]["id"] for line in found] == [
        "car",
        "doctor",
        "engine",
    ] and runs() == before + 1


def test_filters_hold_for_what_vectors_bring(place, armed, env, now):
    """Kind, tag and time, as for any hit."""
    assert ids(ask(place, armed, env, now, "automobile", tags=("car",))) == ["car"]
    assert ids(ask(place, armed, env, now, "automobile", tags=("bread",))) in ([], ["bread"])
    assert ids(ask(place, armed, env, now, "automobile", kinds=("rule",))) == []


def test_what_is_gone_or_changed_is_never_served_from_vectors(place, armed, env, now):
    """They say where to look; what is shown is the file."""
    os.unlink(place.path("p/learnings/car.md"))
    assert "car" not in ids(ask(place, armed, env, now, "automobile"))
    Path(place.path("p/learnings/engine.md")).write_text(
        "---\nid: engine\n---\nNothing of the kind.\n"
    )
    found = ask(place, armed, env, now, "motor")
    assert all("loud" not in hit.record.body for hit in found.hits)


FAULTS = {
    "dies": "sys.exit(3)",
    "lies": "for line in sys.stdin: pass\n",
    "garbage": "print('hello')",
    "short": "for line in sys.stdin: answer(json.loads(line)['id'], [1.0, 2.0])",
    "other dims": "for line in sys.stdin: answer(json.loads(line)['id'], [1.0] * 32)",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_provider_that_fails_costs_nothing_but_a_note(place, armed, env, now, tmp_path, fault):
    """The words rank, as without it."""
    bad = stubs.provider(tmp_path, FAULTS[fault])
    plain = ids(ask(place, armed, env, now, "car oil", semantic=False))
    armed.values.update(
        {"embeddings.provider.command": bad.command, "embeddings.provider.args": list(bad.args)}
    )
    found = ask(place, armed, env, now, "car oil")
    assert ids(found) == plain and found.backend == "lexical" and len(found.notes) == 1, found.notes
    assert "words" in found.notes[0]


def test_a_provider_that_hangs_is_left_within_its_time(
    place, armed, env, now, tmp_path, monkeypatch
):
    """A query waits no longer than it must."""
    bad = stubs.provider(tmp_path, "time.sleep(60)")
    armed.values.update(
        {
            "embeddings.provider.command": bad.command,
            "embeddings.provider.args": list(bad.args),
        }
    )
    monkeypatch.setattr(embedder, "SECONDS", 0.5)
    found = ask(place, armed, env, now, "car oil")
    assert ids(found)[0] == "car" and "timeout" in found.notes[0]


def test_without_vectors_or_provider_a_note_says_what_to_do(place, armed, env, now):
    """Removed by hand, damaged, or never set up."""
    path = vectorfile.vectors_path(place)
    data = bytearray(Path(path).read_bytes())
    data[100:200] = bytes(100)
    Path(path).write_bytes(data)
    assert "--embeddings` mends it" in ask(place, armed, env, now, "car oil").notes[0]
    os.unlink(path)
    assert "--embeddings` makes them" in ask(place, armed, env, now, "car oil").notes[0]
    found = ask(place, vault.settings(), env, now, "car oil")
    assert "install.sh --embeddings" in found.notes[0] and ids(found)[0] == "car"


def test_vectors_of_another_model_are_not_mixed(place, armed, env, now):
    """The label tells them apart."""
    armed.values["embeddings.modelLabel"] = "other"
    found = ask(place, armed, env, now, "car oil")
    assert found.backend == "lexical" and "another model" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("자동차 엔진", False),
        ("自動車", False),
        ("車 engine oil filter", True),
        ("Größe café", True),
        ("error 42", True),
        ("12345", True),
    ],
)
def test_a_latin_model_is_not_asked_about_other_scripts(text, known):
    """It knows no word of them, and its guess would push the right ones down."""
    assert covers_script("latin", text) == known and covers_script("all", text)


def test_a_query_in_another_script_is_ranked_by_words(place, armed, env, now, command, monkeypatch):
    """No worse than without vectors, no process, and it is said."""
    vault.put(place, "p/learnings/ko.md", "자동차", "자동차 엔진 오일", tags="[ko]")
    builder.build(place, now)
    real = embedder.load_provider
    monkeypatch.setattr(
        embedder, "load_provider", lambda *given: real(*given)._replace(scripts="latin")
    )
    before = command[1]()
    found = ask(place, armed, env, now, "자동차 엔진")
    assert (
        ids(found)[0] == "ko"
        and found.backend == "lexical"
        and "Latin" in found.notes[0]
        and command[1]() == before
    )


def test_new_records_get_their_vectors_in_the_background(place, armed, env, now):
    """Only where `index build --embeddings` has made some, and with the same model."""
    vault.put(place, "p/learnings/kfz.md", "Kfz", "Das kfz ist laut.", tags="[kfz]")
    worker._embed(worker.Job({}, env, now, place, armed, []))
    assert "p/learnings/kfz.md" in [
        name for name, _, _ in nearest.search(place, _vector(armed, env, "automobile"), 5)
    ]
    armed.values["embeddings.modelLabel"] = "other"
    vault.put(place, "p/learnings/more.md", "More", "More.", tags="[more]")
    worker._embed(worker.Job({}, env, now, place, armed, []))
    assert vectors.state(place)["behind"] == 1 and vectors.read_label(place) == "meanings"


def _vector(settings, env, text):
    from memory.doors.vectors import embedder

    return embedder.embed(_provider(settings, env), [("q", text)], env)["q"]


def test_a_question_to_a_small_store_loads_no_numpy(place, env, project, command, ok):
    """It would cost more than all the rest: neither a new question nor one that was asked before
    needs it.
    """
    vault.put(place, "p/learnings/car.md", "Car", "The car needs oil.", tags="[car]")
    ok("index", "build", "--embeddings", "--provider", " ".join(command[0]))
    words = ["recall", "--semantic", "--provider", " ".join(command[0]), "automobile"]
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-I", "-X", "importtime", str(ROOT / "memory"), *words],
            capture_output=True,
            cwd=project,
            env=env,
            text=True,
            timeout=60,
        )
        assert "ranked by words and vectors" in done.stdout
        assert "memory.doors.vectors.nearest" in done.stderr and "numpy" not in done.stderr


def test_the_vectors_of_a_project_cannot_name_a_command(project, home):
    """A cloned repository would run its own."""
    Path(project, ".dayleaf").mkdir()
    Path(project, ".dayleaf", "config.json").write_text(
        '{"embeddings.provider.command": "/bin/evil"}'
    )
    found = config.load(home + "/.dayleaf", project, {})
    assert found["embeddings.provider.command"] == "" and found.problems


def test_what_is_like_nothing_finds_nothing(place, armed, env, now, monkeypatch):
    """There is always a nearest record; below the floor it is no hit."""
    monkeypatch.setattr(queryvectors, "FLOOR", 0.3)
    found = ask(place, armed, env, now, "xylophone quartet")
    assert found.hits == () and "nothing found" in found.notes
    assert ids(ask(place, armed, env, now, "automobile"))[0] == "car"
    monkeypatch.setattr(queryvectors, "FLOOR", 1.0)
    assert ask(place, armed, env, now, "automobile").hits == ()


def test_the_floor_is_the_model_s(armed, env):
    """Measured for the built-in model."""
    armed.values["embeddings.provider.command"], armed.values["embeddings.modelLabel"] = (
        "minilm",
        "",
    )
    armed.values["embeddings.provider.args"] = []
    mine = QueryVectors(armed, "", env)
    assert mine._open()
    assert mine.floor == 0.28


def test_a_hit_by_vectors_says_so(place, armed, env, now):
    """Not that it stands beside a match, and not words that it does not hold."""
    assert ask(place, armed, env, now, "automobile").hits[0].why.startswith("near in meaning: ")
    assert (
        ask(place, armed, env, now, "oil automobile")
        .hits[0]
        .why.startswith("oil in the text; near in meaning: ")
    )


def test_a_batch_says_how_it_fell_back(place, armed, env, now):
    """As a single recall does."""
    armed.values["embeddings.provider.command"] = "/nonexistent"
    line = json.dumps({"id": 1, "query": "car"})
    base = search.Query(semantic=True)
    row = json.loads(
        next(
            batch.answer_lines(
                [line], place, armed, now, clock.utc, base, QueryVectors(armed, "", env)
            )
        )
    )
    single = ask(place, armed, env, now, "car")
    assert row["backend"] == single.backend == "lexical" and row["notes"] == list(single.notes)
    assert any("ranked by words only" in note for note in row["notes"])


def test_vectors_are_measured_where_they_are_armed(place, now, env, tmp_path):
    """As a ranker of its own; it is the one that recall uses where the setting says so."""
    vault.put(place, "p/learnings/a.md", "Kafka", "A rebalance needs a timeout.", id="l-a")
    vault.put(place, "p/learnings/b.md", "Pytest", "A fixture of ours.", id="l-b")
    made = stubs.provider(tmp_path)
    chosen = vault.settings(recall_semantic=True)
    chosen.values.update(
        {
            "embeddings.provider.command": made.command,
            "embeddings.provider.args": list(made.args),
            "embeddings.modelLabel": made.label,
        }
    )
    vectors.update(place, made, env, now)
    path = tmp_path / "g.yaml"
    path.write_text("queries:\n  - {query: kafka rebalance timeout, expect: [l-a]}\n")
    store = Store(place, chosen, now)
    golden, records = goldens.read(str(path), now, clock.utc), list(store.each())
    found = measurements.measure_rankers(
        store, env, golden, records, clock.utc, lambda ranker: None
    )
    assert found.main == "semantic" and found.measures["semantic"]["mrr"] == 1.0
