"""Recall over real stores: plain files, an index on disk, one made in memory, none."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

import pytest
import vault

from memory import batch, config, fuzzy, index, indexer, lookup, paths, recall, shelf
from memory.errors import StoreError, UsageError

BACKENDS = ("index", "delta", "files")


def write(place, name, body, **meta):
    """One record file; returns its path."""
    path = Path(place.path(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    head = "".join("%s: %s\n" % pair for pair in meta.items())
    path.write_text("---\n%s---\n\n%s\n" % (head, body), encoding="utf-8")
    return path


def settings(place, **changes):
    """The defaults with some changes (`recall_limit` for `recall.limit`)."""
    found = config.load(place.home, "", {})
    found.values.update({key.replace("_", "."): value for key, value in changes.items()})
    return found


def ids(place, now, text="", **options):
    """The ids that a query finds."""
    return [hit.record.id for hit in ask(place, now, text, **options).hits]


def ask(place, now, text="", **options):
    """The answer to a query."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in options.items()}
    return recall.recall(place, settings(place), recall.options({"query": text, **given}, now, 0.0), now, 0.0)


def fill(place):
    """A small store of every kind in three tiers."""
    write(place, "p/learnings/jwt.md", "The JWT issuer must match `src/auth/jwt.py`, else tokens expire.", id="l-jwt",
          title="JWT issuer mismatch", created="2026-11-20T10:00:00Z", tags="[auth, jwt]", topics="[login]", versions="[2.0]")
    write(place, "s/learnings/docker.md", "Layer caching of docker builds with --no-cache.", id="l-docker",
          title="Docker layer caching", created="2026-11-12", tags="build", versions="[1.0, 2.0]")
    write(place, "g/learnings/redis.md", "Redis connection pool exhausted; raise max_connections.", id="l-redis",
          title="Redis pool", created="2026-10-05")
    write(place, "p/checkpoints/2026-11-21/140000-a.md", "Worked on the JWT refresh in getUserToken.", id="c-today",
          title="JWT refresh", created="2026-11-21T14:00:00Z", session="s-123", branch="main", files="[src/auth/jwt.py]")
    write(place, "p/checkpoints/2026-11-20/090000-b.md", "Button colours.", id="c-yesterday", title="Buttons",
          created="2026-11-20T09:00:00Z", session="s-99", branch="ui")
    write(place, "p/rules/r.md", "Always pin the issuer.", id="r-pin", title="Pin the issuer", rationale="it broke",
          created="2026-11-01")


@pytest.fixture(params=BACKENDS)
def store(request, place, now):
    """The same store behind an index on disk, with part of it in the delta, and without an index."""
    if request.param == "delta":
        write(place, "p/learnings/first.md", "Nothing of note.", id="l-first", title="First", created="2020-01-01")
        indexer.build(place, now)
    fill(place)
    if request.param == "index":
        indexer.build(place, now)
    return place


def test_words_find_the_records_that_hold_them(store, now):
    """The best match leads, and records without the words stay out."""
    found = ids(store, now, "jwt issuer mismatch")
    assert found[0] == "l-jwt" and "r-pin" in found and "l-docker" not in found and "l-redis" not in found


def test_identifiers_are_found_by_their_parts_and_wholes(store, now):
    """getUserToken by user token, usertoken and itself."""
    for text in ("getUserToken", "get_user_token", "user token", "usertoken"):
        assert ids(store, now, text)[0] == "c-today", text


def test_a_misspelt_word_finds_its_neighbour_and_is_no_gap(store, now):
    """Unknown words are fuzzed; what is near no word of the records is a gap, what only asks is not."""
    found = ask(store, now, "dokcer cachng")
    assert found.hits[0].record.id == "l-docker"
    assert found.known_gaps == ()
    assert ask(store, now, "what happened to dokcer on xylophones").known_gaps == ("xylophones",)
    assert "dokcer~docker" in found.hits[0].why


def test_a_known_word_is_never_fuzzed(place, now):
    """`test` does not bring `tent` where `test` is known."""
    write(place, "p/learnings/a.md", "A test.", id="a")
    write(place, "p/learnings/b.md", "A tent.", id="b")
    indexer.build(place, now)
    assert ids(place, now, "test") == ["a"]


def test_codes_and_numbers_are_not_fuzzed(place, now):
    """E0383 is another error than E0382."""
    write(place, "p/learnings/a.md", "Rust error E0382.", id="a")
    assert ids(place, now, "E0383") == [] and ids(place, now, "E0382") == ["a"]


def test_without_rapidfuzz_the_search_goes_on_and_says_so(store, now, monkeypatch):
    """A missing library costs the misspelt words alone."""
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    assert fuzzy.scorer() is None
    found = ask(store, now, "jwt dokcer")
    assert found.hits[0].record.id in ("l-jwt", "c-today") and any("RapidFuzz" in note for note in found.notes)


@pytest.mark.parametrize("query", ["버튼", "버튼을", "버튼이"])
def test_korean_forms_meet(place, now, query):
    """Particles do not part a word from itself, with or without spaces."""
    for i, body in enumerate(("버튼 중복 클릭", "버튼을 두 번 눌렀다", "결제버튼이 느리다")):
        write(place, "p/learnings/%d.md" % i, body, id="k%d" % i)
    write(place, "p/learnings/other.md", "세션 만료", id="other")
    indexer.build(place, now)
    assert sorted(ids(place, now, query)) == ["k0", "k1", "k2"]


def test_no_query_lists_the_newest_first(store, now):
    """By creation, whatever the kind."""
    found = ask(store, now, limit=3)
    assert [hit.record.id for hit in found.hits] == ["c-today", "l-jwt", "c-yesterday"]
    assert found.left_out >= 3


@pytest.mark.parametrize(("text", "expected"), [
    ("checkpoints from the last hour", ["c-today"]), ("yesterday", ["l-jwt", "c-yesterday"]),
    ("what did I do yesterday", ["l-jwt", "c-yesterday"]), ("jwt yesterday", ["l-jwt"]),
    ("buttons since Monday", ["c-yesterday"]),
    ("in October", ["l-redis"]), ("latest checkpoints", ["c-today", "c-yesterday"]), ("어제", ["l-jwt", "c-yesterday"]),
    ("gestern", ["l-jwt", "c-yesterday"]), ("last month", ["l-redis"])])
def test_time_words_filter(store, now, text, expected):
    """Periods, alone, with a kind and with content."""
    assert ids(store, now, text) == expected


def test_a_time_that_leaves_nothing_is_dropped_with_a_note(store, now):
    """Content first: the words may not have meant a filter. A time alone stays one."""
    found = ask(store, now, "redis yesterday")
    assert [hit.record.id for hit in found.hits] == ["l-redis"] and any("any time" in note for note in found.notes)
    empty = ask(store, now, "in March 2021")
    assert empty.hits == () and "nothing found" in empty.notes


@pytest.mark.parametrize(("options", "expected"), [
    ({"kind": "checkpoint"}, {"c-today", "c-yesterday"}),
    ({"kind": ["rule", "checkpoint"]}, {"r-pin", "c-today", "c-yesterday"}),
    ({"tag": "auth"}, {"l-jwt"}), ({"tag": "#Auth,jwt"}, {"l-jwt"}), ({"tag": "auth,build"}, set()),
    ({"topic": "login"}, {"l-jwt"}),
    ({"topic": "build"}, {"l-docker"}), ({"file": "jwt.py"}, {"l-jwt", "c-today"}),
    ({"file": "src/auth/jwt.py"}, {"l-jwt", "c-today"}),
    ({"branch": "ui"}, {"c-yesterday"}), ({"session": "s-1"}, {"c-today"}),
    ({"since": "2d"}, {"l-jwt", "c-today", "c-yesterday"}),
    ({"from": "2026-10-01", "to": "2026-10-05"}, {"l-redis"}), ({"days": 1}, {"c-today"})])
def test_filters_narrow_a_listing(store, now, options, expected):
    """Each filter alone, without a query."""
    assert set(ids(store, now, "", limit=50, **options)) - {"l-first"} == expected


def test_filters_narrow_a_search(store, now):
    """A filter and words together; a limit cuts after the filter."""
    assert ids(store, now, "jwt", kind="checkpoint", limit=1) == ["c-today"]
    assert ids(store, now, "jwt", tag="build") == []


def test_versions_order_and_exclude(store, now):
    """Exact over superset over unversioned, disjoint out."""
    write(store, "p/learnings/v3.md", "jwt issuer mismatch", id="l-v3", versions="[3.0]")
    found = ids(store, now, "jwt issuer layer caching", version="2.0")
    assert "l-v3" not in found and found.index("l-jwt") < found.index("r-pin")
    parts = {h.record.id: dict(h.parts)["version"] for h in ask(store, now, "jwt issuer layer caching", version="2.0").hits}
    assert (parts["l-jwt"], parts["l-docker"], parts["r-pin"]) == (1.0, 0.95, 0.7)


def test_context_tags_raise_a_record(store, now):
    """1 + 0.1 * weight, shown among the parts."""
    found = ask(store, now, "jwt", context_tags="auth=2")
    named = {hit.record.id: dict(hit.parts)["tags"] for hit in found.hits}
    assert named["l-jwt"] == pytest.approx(1.2) and named["c-today"] == 1.0


def test_the_parts_make_the_score(store, now):
    """What --explain prints adds up."""
    for hit in ask(store, now, "jwt issuer").hits:
        named = dict(hit.parts)
        relevance = named["bm25"] + named["window"] + named["proximity"] + named["title"]
        assert hit.score == pytest.approx(relevance * named["factor"] * named["source"])


def test_a_score_below_the_least_is_left_out(store, now):
    """--min-score."""
    best = ask(store, now, "jwt issuer").hits[0].score
    assert len(ids(store, now, "jwt issuer", min_score=best - 1e-9)) == 1


def test_a_query_of_common_words_is_looked_for_in_the_texts(place, now):
    """No index holds stop words, so the newest records are read."""
    write(place, "p/learnings/a.md", "To be or not to be.", id="a", title="Quote")
    write(place, "p/learnings/b.md", "Docker.", id="b", title="Other")
    indexer.build(place, now)
    assert ids(place, now, "to be or not to be") == ["a"]


@pytest.mark.parametrize("text", ["!!!", "😀", "\x00\x01", "''\"\"", "-- -", "a" * 5000, "jwt " * 3000, "🇩🇪 ​ ﷽"])
def test_odd_queries_are_answered(store, now, text):
    """Nothing raises, whatever the text."""
    assert isinstance(ask(store, now, text), recall.Found)


def test_gaps_name_the_words_that_no_record_holds(store, now):
    """For the prompt to contribute."""
    assert ask(store, now, "jwt kafka zookeeper").known_gaps == ("kafka", "zookeeper")


def test_an_edit_takes_effect_on_the_very_next_recall(place, now):
    """The index was built before; what is shown is the file."""
    fill(place)
    indexer.build(place, now)
    write(place, "p/learnings/jwt.md", "Now about kafka partitions.", id="l-jwt", title="Kafka", created="2026-11-20T10:00:00Z")
    found = ask(place, now, "kafka partitions")
    assert found.hits[0].record.body == "Now about kafka partitions.\n" and found.stale
    assert "l-jwt" not in ids(place, now, "mismatch expire")


def test_a_deleted_file_is_gone_at_once_even_where_the_index_does_not_notice(place, now, monkeypatch):
    """Also with the freshness layers off, nothing deleted or edited is ever shown as it was."""
    fill(place)
    indexer.build(place, now)
    monkeypatch.setattr(index, "changed_frames", lambda found: [])
    Path(place.path("p/learnings/jwt.md")).unlink()
    write(place, "p/checkpoints/2026-11-21/140000-a.md", "jwt, but other text", id="c-today", title="Edited")
    found = ask(place, now, "jwt")
    assert [hit.record.title for hit in found.hits] == ["Edited"] and found.stale


def test_a_renamed_file_stays_one_hit(place, now):
    """A rename is a deletion and an addition."""
    fill(place)
    indexer.build(place, now)
    os.rename(place.path("p/learnings/jwt.md"), place.path("p/learnings/renamed.md"))
    found = ask(place, now, "jwt issuer mismatch")
    assert [h.record.name for h in found.hits if h.record.id == "l-jwt"] == ["p/learnings/renamed.md"]


def test_a_link_out_of_the_store_is_not_followed(place, now, tmp_path, monkeypatch):
    """A file that was replaced by a link after the build is not read through it, noticed or not."""
    fill(place)
    indexer.build(place, now)
    monkeypatch.setattr(index, "changed_frames", lambda found: [])
    secret = tmp_path / "secret.md"
    secret.write_text("jwt issuer secret", encoding="utf-8")
    path = Path(place.path("p/learnings/jwt.md"))
    path.unlink()
    path.symlink_to(secret)
    assert all("secret" not in hit.record.body for hit in ask(place, now, "jwt issuer secret").hits)


def test_sections_of_a_long_record_are_one_hit_that_names_its_section(place, now):
    """The best section stands for the record."""
    filler = "Filler words about nothing in particular. " * 60
    heads = ("# Guide\n\n", "## Docker\n\n", "## Kafka setup\n\nkafka brokers. ", "## Kafka again\n\nkafka. ")
    body = "\n\n".join(head + filler for head in heads)
    write(place, "p/resources/guide.md", body, id="guide", title="Guide", type="doc")
    indexer.build(place, now)
    found = ask(place, now, "kafka brokers")
    assert len(found.hits) == 1 and found.hits[0].section == "Guide > Kafka setup"


def test_a_damaged_index_is_noticed_and_the_files_are_searched(place, now):
    """Random damage never raises, never shows what no file holds, and a broken directory is said."""
    fill(place)
    indexer.build(place, now)
    path = Path(index.segment_path(place))
    whole = path.read_bytes()
    pick = random.Random(7)
    bodies = {p.read_text(encoding="utf-8") for p in Path(place.private).rglob("*.md")}
    bodies |= {p.read_text(encoding="utf-8") for p in Path(place.shared).rglob("*.md")}
    bodies |= {p.read_text(encoding="utf-8") for p in Path(place.everyone).rglob("*.md")}
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(pick.choice((1, 4, 64))):
            data[pick.randrange(len(data))] = pick.randrange(256)
        path.write_bytes(bytes(data[:pick.choice((len(data), len(data), pick.randrange(len(data)))) or 1]))
        for hit in ask(place, now, "jwt issuer docker kafak").hits:
            assert any(hit.record.body.strip() in body for body in bodies)
    path.write_bytes(whole[:40])
    found = ask(place, now, "jwt issuer")
    assert found.hits[0].record.id == "l-jwt" and found.stale and found.backend == "lexical, from the files"
    assert any("index build" in note for note in found.notes)


def test_index_and_files_give_the_same_answer(place, now):
    """Ranking does not depend on where the index stands, and not on who asks again."""
    fill(place)
    without = ask(place, now, "jwt issuer refresh")
    indexer.build(place, now)
    with_index = ask(place, now, "jwt issuer refresh")
    assert [(h.record.id, h.score, h.parts) for h in without.hits] == [(h.record.id, h.score, h.parts) for h in with_index.hits]
    assert ask(place, now, "jwt issuer refresh") == with_index


def test_freshness_of_named_files_is_checked_when_shown(store, now):
    """STALE while the named file is missing, FRESH once it is there."""
    def states():
        return {hit.record.id: hit.freshness for hit in ask(store, now, "jwt issuer").hits}

    assert states()["c-today"] == "STALE" and states()["r-pin"] == "UNKNOWN"
    source = Path(store.root, "src/auth/jwt.py")
    source.parent.mkdir(parents=True)
    source.write_text("x", encoding="utf-8")
    assert states()["c-today"] == states()["l-jwt"] == "FRESH"


def test_every_workspace_is_searched_and_named(place, env, now, tmp_path):
    """`all` reads every private tier, the global one once; a name picks one."""
    fill(place)
    other_dir = tmp_path / "otherproject"
    other_dir.mkdir()
    other = paths.locate(env, str(other_dir))
    write(other, "p/learnings/jwt.md", "jwt issuer in another project", id="l-other", title="JWT there", files="[gone.py]")
    write(other, "s/learnings/local.md", "jwt shared there", id="l-hidden")
    found = ask(place, now, "jwt issuer redis", workspace="all")
    where = {hit.record.id: hit.workspace for hit in found.hits}
    assert where["l-jwt"] == place.key and where["l-other"] == other.key and where["l-redis"] == "global"
    assert "l-hidden" not in where
    assert [hit.record.id for hit in found.hits].count("l-redis") == 1
    assert ids(place, now, "", workspace="all", limit=50).count("l-redis") == 1
    assert {h.record.id: h.freshness for h in found.hits}["l-other"] == "UNKNOWN"
    parts = {hit.record.id: dict(hit.parts)["context"] for hit in found.hits}
    assert parts["l-jwt"] == 1.0 and parts["l-other"] == 0.0
    assert "l-other" in ids(place, now, "jwt", workspace=other.key)
    assert "l-jwt" not in ids(place, now, "jwt", workspace="otherproject")
    with pytest.raises(UsageError, match="no workspace"):
        ask(place, now, "jwt", workspace="nowhere")


def test_a_persons_record_leads_over_a_captured_one_with_the_same_text(place, now):
    """Curated outranks captured, whatever the ages."""
    write(place, "p/learnings/z.md", "same text here", id="z-human", title="Same", source="human", created="2020-01-01")
    write(place, "p/learnings/a.md", "same text here", id="a-auto", title="Same", source="auto", created="2026-11-21")
    assert ids(place, now, "same text") == ["z-human", "a-auto"]


def test_uses_and_outcomes_count(place, now):
    """What the ledger knows moves equal matches."""
    for name in "ab":
        write(place, "p/learnings/%s.md" % name, "same text here", id=name, title="Same", created="2026-11-01")
    query = recall.Query(text="same text")
    def run(**known):
        return [h.record.id for h in recall.recall(place, settings(place), query, now, 0.0, **known).hits]

    assert run() == ["a", "b"] and run(uses={"b": 5}) == ["b", "a"]
    assert run(outcomes={"a": (0, 5)}) == ["b", "a"] and run(outcomes={"b": (3, 0)}) == ["b", "a"]


def test_each_adjustment_can_be_left_out(place, now):
    """By `recall.without`; the words still rank."""
    write(place, "p/learnings/a.md", "same text here", id="a", title="Same", created="2026-11-20", source="auto", tags="[x]")
    write(place, "p/learnings/b.md", "same text here", id="b", title="Same", created="2024-11-20", source="human", versions="[2]")
    query = recall.Query(text="same text", versions=("2",), context_tags=(("x", 5.0),))
    def parts(*without):
        chosen = vault.settings(recall_without=list(without))
        found = recall.recall(place, chosen, query, now, 0.0, uses={"a": 9}, outcomes={"a": (5, 0)})
        return {hit.record.id: dict(hit.parts) for hit in found.hits}

    names = {"recency", "frequency", "outcomes", "version", "tags"}
    assert names <= set(parts()["a"]) and parts()["b"]["source"] > 1.0
    for name in names:
        assert name not in parts(name)["a"] and names - {name} <= set(parts(name)["a"])
    assert {found["source"] for found in parts("source").values()} == {1.0}


def test_semantic_search_is_refused_with_a_note(store, now):
    """The answer says which backend ranked."""
    found = ask(store, now, "jwt", semantic=True)
    assert found.hits and found.backend.startswith("lexical") and any("semantic" in note for note in found.notes)


def test_a_batch_answers_line_by_line(store, now):
    """Options and an instant on each line; a bad line gives an error and the rest goes on."""
    lines = [json.dumps({"id": 1, "query": "jwt issuer", "limit": 1}), "", "not json", json.dumps(["no", "object"]),
             json.dumps({"id": "x", "query": "jwt", "kind": "nonsense"}), json.dumps({"id": "y", "query": "jwt", "wrong": 1}),
             json.dumps({"id": 2, "query": "yesterday", "now": "2026-11-22T10:00:00Z"}),
             json.dumps({"id": 3, "query": "jwt", "tag": ["auth"]}),
             json.dumps({"id": 4, "query": ["jwt"]})]
    out = [json.loads(line) for line in batch.batch(lines, store, settings(store), now, 0.0)]
    assert out[0]["id"] == 1 and [hit["id"] for hit in out[0]["hits"]] == ["l-jwt"] and out[0]["hits"][0]["score"] > 0
    assert out[1]["id"] is None and "error" in out[1] and "error" in out[2]
    assert out[3]["id"] == "x" and "nonsense" in out[3]["error"] and "wrong" in out[4]["error"]
    assert [hit["id"] for hit in out[5]["hits"]] == ["c-today"]
    assert [hit["id"] for hit in out[6]["hits"]] == ["l-jwt"] and "error" in out[7]


def test_a_batch_gives_what_single_queries_give(store, now):
    """What one query leaves in memory changes nothing for the next."""
    texts = ["jwt issuer", "dokcer", "버튼", "redis pool", "jwt issuer"]
    lines = [json.dumps({"id": i, "query": text}) for i, text in enumerate(texts)]
    out = [[hit["id"] for hit in json.loads(line)["hits"]] for line in batch.batch(lines, store, settings(store), now, 0.0)]
    assert out == [ids(store, now, text) for text in texts]


def test_an_edit_between_two_lines_of_a_batch_is_seen(place, now):
    """What was read for one line is not shown for the next where its file has changed."""
    fill(place)
    indexer.build(place, now)

    def lines():
        yield json.dumps({"id": 1, "query": "jwt issuer mismatch", "limit": 1})
        write(place, "p/learnings/jwt.md", "Nothing left of it.", id="l-jwt", title="Emptied")
        yield json.dumps({"id": 2, "query": "jwt issuer mismatch", "limit": 1})

    out = [[hit["id"] for hit in json.loads(line)["hits"]] for line in batch.batch(lines(), place, settings(place), now, 0.0)]
    assert out[0] == ["l-jwt"] and out[1] != ["l-jwt"]


def test_a_base_query_holds_for_every_line(store, now):
    """The command's own options, unless a line says otherwise."""
    lines = [json.dumps({"id": 1, "query": "jwt"}), json.dumps({"id": 2, "query": "jwt", "kind": "learning"})]
    base = recall.options({"kind": "checkpoint"}, now, 0.0)
    answers = batch.batch(lines, store, settings(store), now, 0.0, base)
    out = [[hit["id"] for hit in json.loads(line)["hits"]] for line in answers]
    assert out == [["c-today"], ["l-jwt"]]


@pytest.mark.parametrize("given", [{"limit": 0}, {"limit": "x"}, {"limit": 10**9}, {"min-score": "nan"}, {"since": "soonish"},
                                   {"days": 0}, {"context-tags": "a=b"}, {"query": True}, {"colour": "red"}])
def test_a_malformed_option_is_refused(given, now):
    """One line, exit 2."""
    with pytest.raises(UsageError):
        recall.options(given, now, 0.0)


def test_one_record_is_found_by_id_start_and_name(store, now):
    """What `show` prints; an unknown id names near ones."""
    find = lambda text: lookup.find_one(store, settings(store), text).id  # noqa: E731
    assert find("l-jwt") == find("l-jw") == find("p/learnings/jwt.md") == find("jwt") == "l-jwt"
    with pytest.raises(StoreError, match="l-jwt"):
        find("l-jvt")


SLIPS = {"dimensionns": "dimensions", "dimesnions": "dimensions", "diensions": "dimensions", "calclate": "calculate",
         "calculatin": "calculate", "runnign": "running", "indeing": "indexing", "triangulatin": "triangulation", "generaly": "generally"}


@pytest.mark.parametrize("typed", SLIPS)
def test_a_slip_that_hides_a_word_from_the_stemmer_is_found(place, now, typed):
    """In the ending, or before it: the index holds stems alone."""
    pytest.importorskip("rapidfuzz")
    for word in {*SLIPS.values(), "kitchen", "garden"}:
        write(place, "p/learnings/%s.md" % word, "All about %s here." % word, id=word, title="Note")
    indexer.build(place, now)
    assert ids(place, now, typed)[:1] == [SLIPS[typed]]


@pytest.mark.parametrize(("query", "found"), [("auth", "a"), ("db migration", "b"), ("configuration of the repository", "c"),
                                              ("authentication", "a")])
def test_short_forms_and_long_ones_find_one_another(place, now, query, found):
    """A developer writes `db` and means the database; the word itself still counts most."""
    write(place, "p/learnings/a.md", "The authentication needs both headers.", id="a", title="Login")
    write(place, "p/learnings/b.md", "The database wants its migrations in order.", id="b", title="Order")
    write(place, "p/learnings/c.md", "The repo holds a config for each host.", id="c", title="Hosts")
    write(place, "p/learnings/d.md", "authority", id="d", title="Other")
    indexer.build(place, now)
    assert ids(place, now, query)[0] == found
    write(place, "p/learnings/e.md", "The auth header.", id="e", title="Login too")
    indexer.build(place, now)
    assert set(ids(place, now, "auth")[:2]) == {"a", "e"} and ids(place, now, "auth")[0] == "e"


def test_the_neighbours_in_a_conversation_are_found(place, now):
    """An answer without the words of the question comes with it, where short notes of one session stand side by side."""
    turns = ["Ann: what breaks the jwt issuer check?", "Ben: the clock of the container.", "Ann: lunch?", "Ben: sure, at noon."]
    for i, text in enumerate(turns):
        write(place, "p/checkpoints/%03d.md" % i, text, id="t%d" % i, session="s1", speaker=text[:3],
              created="2026-11-0%d" % (i + 1))
    for i in range(5):
        write(place, "p/checkpoints/9%02d.md" % i, "Ann: other talk %d" % i, id="o%d" % i, session="s2", speaker="Ann")
    indexer.build(place, now)
    assert set(ids(place, now, "jwt issuer check", limit=2)) == {"t0", "t1"}


def test_short_learnings_of_sessions_are_no_conversation(place, now):
    """They name the session they came from, yet their titles count as of any learning."""
    for i in range(6):
        write(place, "p/learnings/n%d.md" % i, "jwt issuer", id="n%d" % i, session="s1", title="Note %d" % i)
    write(place, "p/learnings/x.md", "jwt", id="x", session="s2", title="JWT issuer")
    indexer.build(place, now)
    found = ask(place, now, "jwt issuer")
    assert found.hits[0].record.id == "x" and dict(found.hits[0].parts)["title"] > 0.0


def test_recall_writes_nothing(place, now):
    """Neither an index nor anything else comes of asking."""
    fill(place)
    before = sorted(str(p) for p in Path(place.home).rglob("*"))
    ask(place, now, "jwt dokcer yesterday")
    assert sorted(str(p) for p in Path(place.home).rglob("*")) == before


def test_an_empty_store_answers(place, now):
    """Nothing found is an answer."""
    found = ask(place, now, "jwt")
    assert found.hits == () and "nothing found" in found.notes and ask(place, now).hits == ()


def test_an_edit_of_any_file_is_found_at_once(place, now):
    """Appended in place to an old file, which no folder's time gives away; and in a folder of a new folder."""
    for i in range(400):
        vault.put(place, "p/learnings/n%03d.md" % i, "Note %d" % i, "kafka")
    indexer.build(place, now)
    with open(place.path("p/learnings/n005.md"), "a") as file:
        file.write("\nquorum\n")
    found = ask(place, now, "quorum")
    assert [hit.record.name for hit in found.hits] == ["p/learnings/n005.md"] and found.stale
    vault.put(place, "p/learnings/team/infra/new.md", "New", "zebra")
    assert [hit.record.name for hit in ask(place, now, "zebra").hits] == ["p/learnings/team/infra/new.md"]


def test_a_file_added_to_a_folder_of_many_is_found_at_once(place, now):
    """A folder of more files than the hooks list."""
    for i in range(index.MOST_LISTED + 1):
        vault.put(place, "p/learnings/n%04d.md" % i, "Note %d" % i, "kafka")
    indexer.build(place, now)
    vault.put(place, "p/learnings/new.md", "New", "zebra")
    found = ask(place, now, "zebra")
    assert [hit.record.name for hit in found.hits] == ["p/learnings/new.md"] and found.stale


@pytest.mark.parametrize("most_files", [100, 8])
def test_any_number_of_edits_is_found_at_once(place, now, monkeypatch, most_files):
    """More than are searched beside the index: from an index in memory, and in a store too large for one beside it all the same."""
    monkeypatch.setattr(shelf, "MOST_READ", 3)
    monkeypatch.setattr(shelf, "MOST_FILES", most_files)
    for i in range(20):
        vault.put(place, "p/learnings/n%02d.md" % i, "Note %d" % i, "kafka")
    indexer.build(place, now)
    for i in range(5):
        vault.put(place, "p/learnings/n%02d.md" % i, "Note %d" % i, "zebra")
    found = ask(place, now, "zebra", limit=50)
    assert len(found.hits) == 5 and found.stale
    assert len(ask(place, now, "kafka", limit=50).hits) == 15
    assert any("5 files changed" in note for note in found.notes) == (most_files == 100)


def test_more_edits_than_can_be_read_are_said(place, now, monkeypatch):
    """Nothing is missed without a word."""
    monkeypatch.setattr(shelf, "MOST_READ", 1)
    monkeypatch.setattr(shelf, "MOST_FILES", 3)
    for i in range(8):
        vault.put(place, "p/learnings/n%d.md" % i, "Note %d" % i, "kafka")
    indexer.build(place, now)
    for i in range(5):
        vault.put(place, "p/learnings/n%d.md" % i, "Note %d" % i, "zebra")
    found = ask(place, now, "zebra")
    assert len(found.hits) == 3 and found.stale and any("3 of 5 changed files" in note for note in found.notes)


def test_a_long_record_does_not_hide_a_short_one(place, now):
    """Sixty sections that match fill every place of a list of sections; the note with the answer is still found."""
    section = "\n\n## Part %d\n\n" + "postgres pooling timeout " * 20
    vault.put(place, "p/learnings/big.md", "Postgres pooling timeout", "".join(section % i for i in range(60)))
    vault.put(place, "p/learnings/short.md", "Pgbouncer", "The postgres pooling timeout comes from pgbouncer.")
    indexer.build(place, now)
    assert {hit.record.name for hit in ask(place, now, "postgres pooling timeout").hits} == {"p/learnings/big.md", "p/learnings/short.md"}


@pytest.mark.parametrize("options", [{}, {"kind": "learning"}])
def test_the_places_are_counted_in_records_however_long_they_are(place, now, options):
    """A thousand sections are one record, a dozen long records are twelve; few of their sections are read."""
    section = "\n\n## Part %d\n\n" + "postgres pooling timeout " * 17
    vault.put(place, "p/learnings/huge.md", "Postgres pooling timeout", "".join(section % i for i in range(1000)))
    for n in range(12):
        vault.put(place, "p/learnings/big%02d.md" % n, "Postgres pooling timeout", "".join(section % i for i in range(20)))
    vault.put(place, "p/learnings/short.md", "Pgbouncer", "The postgres pooling timeout comes from pgbouncer.")
    indexer.build(place, now)
    started = time.process_time()
    assert len(ask(place, now, "postgres pooling timeout", limit=14, **options).hits) == 14
    assert len(ask(place, now, "postgres pooling timeout", **options).hits) == 10
    assert time.process_time() - started < 1.0  # 0.1 s; 2 s where every section is read


def test_a_filter_finds_what_stands_behind_thousands(place, now):
    """Beyond query.CAP postings only the best 1,024 of a common word are read; a filter must look behind them."""
    others = "alpha beta gamma delta epsilon zeta theta kappa"
    for i in range(1500):
        vault.put(place, "p/checkpoints/2026-11-20/%06d-x.md" % i, "Deploy", "deploy deploy deploy " + others)
    vault.put(place, "p/learnings/one.md", "Releases", "A long note about other things, which says deploy once. " + "word " * 300)
    indexer.build(place, now)
    assert [hit.record.name for hit in ask(place, now, "deploy " + others, kind="learning").hits] == ["p/learnings/one.md"]


@pytest.mark.parametrize("said", ["???", "🎉", "-- --", "…"])
def test_a_query_without_a_word_finds_nothing_and_says_so(place, now, said):
    """It is no empty query, which lists the newest."""
    vault.put(place, "p/learnings/one.md", "One", "kafka")
    indexer.build(place, now)
    found = ask(place, now, said)
    assert not found.hits and "no word to look for in the query" in found.notes
    assert ask(place, now, "").hits
