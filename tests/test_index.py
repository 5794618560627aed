"""The index: built, searched, refreshed, verified, damaged."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from math import log

import pytest
import vault

from memory import delta, entry, index, indexer, query, records, segment, text
from memory.errors import IndexFault


def found(place, words, now, **options):
    """Ids that a query finds, best first."""
    opened = index.open_index(place)
    try:
        return [opened.doc(number).id for _, number in query.search(opened, text.terms(words), 10, **options)]
    finally:
        opened.close()


@pytest.fixture
def store(place):
    vault.put(place, "p/learnings/jwt.md", "JWT issuer", "The issuer must match; see src/auth/jwt.py.", tags="[auth]")
    vault.put(place, "p/learnings/cache.md", "Docker cache", "Use --no-cache when the layer is stale.", tags="[build]")
    vault.put(place, "p/checkpoints/2026-11-20/101500-fix.md", "Fixed the JWT issuer", "Edited src/auth/jwt.py.")
    vault.put(place, "s/rules/style.md", "Style", "Prefer plain functions.", rationale="they read well", tags="[python]")
    vault.put(place, "g/learnings/korean.md", "버튼 접근성", "버튼을 누르면 초점이 사라진다.")
    return place


@pytest.mark.parametrize(("words", "first"), [
    ("jwt issuer", "jwt"), ("no cache docker", "cache"), ("버튼", "korean"), ("src/auth/jwt.py", "jwt"), ("plain functions", "style")])
def test_a_query_finds_its_record(store, now, words, first):
    """Over all tiers and kinds."""
    indexer.build(store, now)
    assert found(store, words, now)[0] in (first, "101500-fix")


def test_scores_are_bm25(place, now):
    """Against the formula, computed here from scratch, within the quantisation of one impact in 115."""
    rnd = random.Random(5)
    bodies = {f"d{i}": " ".join(rnd.choice("alpha beta gamma delta epsilon zeta".split()) for _ in range(rnd.randrange(5, 40)))
              for i in range(30)}
    for name, body in bodies.items():
        vault.put(place, f"p/learnings/{name}.md", "x", body)
    opened = vault.built(place, now)
    counts = {n: text.tokens("x " * 3 + b) for n, b in bodies.items()}
    mean = sum(map(len, counts.values())) / len(counts)
    for score, number in query.search(opened, text.terms("gamma zeta"), 30):
        doc, want = counts[opened.doc(number).id], 0.0
        for term in ("gamma", "zeta"):
            df = sum(term in c for c in counts.values())
            tf = doc.count(term)
            norm = tf + 1.2 * (0.25 + 0.75 * len(doc) / mean)
            want += log(1 + (30 - df + 0.5) / (df + 0.5)) * tf * 2.2 / norm
        assert score == pytest.approx(want, abs=0.03)


def test_both_inverters_write_the_same_bytes(store, now):
    """The plain loop and NumPy, on mixed scripts and a long record that is cut at its headings."""
    long = "\n".join(f"## Part {i}\n" + "words about part%d " % i * 60 for i in range(12))
    vault.put(store, "p/learnings/long.md", "Long", long)
    one, count, _ = indexer.assemble(store, now, vectorised=False)
    other, _, _ = indexer.assemble(store, now, vectorised=True)
    assert one == other and count == 6


def test_more_documents_than_champions_give_the_same_bytes(place, now):
    """A term of over 1,024 documents has a champion list; both inverters agree on it."""
    for i in range(1100):
        vault.put(place, f"p/learnings/{i:04d}.md", f"common {i % 7}", "common " * (i % 5 + 1) + f"w{i}")
    one, _, _ = indexer.assemble(place, now, vectorised=False)
    other, _, _ = indexer.assemble(place, now, vectorised=True)
    assert one == other
    indexer.build(place, now)
    assert found(place, "common w1042", now)[0] == "1042"


def test_a_hit_in_a_long_record_names_its_section(place, now):
    """Sections carry their heading path."""
    body = "\n".join(f"# Setup\n## Step {name}\n" + f"text {name} " * 90 for name in ("alpha", "beta", "gamma"))
    vault.put(place, "p/learnings/long.md", "Guide", body * 3)
    opened = vault.built(place, now)
    best = opened.doc(query.search(opened, text.terms("beta"), 1)[0][1])
    assert "beta" in best.section and best.id == "long"


def test_verify_is_silent_for_a_fresh_index_and_names_what_differs(store, now):
    """Same input, same bytes; an edit, an addition and a deletion are each named."""
    indexer.build(store, now)
    assert indexer.verify(store, now + 99) == []
    path = vault.put(store, "p/learnings/jwt.md", "JWT audience", "changed")
    vault.touch(path, now + 50)
    vault.put(store, "p/learnings/new.md", "New", "new")
    os.unlink(store.path("s/rules/style.md"))
    assert {line.partition(":")[0] for line in indexer.verify(store, now)} == {
        "changed since it was indexed", "not in the index", "in the index, but no file"}


@pytest.mark.parametrize("change", ["add", "edit", "delete", "rename", "rename-save"])
def test_a_hand_change_is_seen_by_the_very_next_search(store, now, change):
    """Without any refresh: folders and files are compared when the index is opened."""
    indexer.build(store, now)
    path = store.path("p/learnings/jwt.md")
    if change == "add":
        vault.put(store, "p/learnings/kafka.md", "Kafka offsets", "Commit offsets after the batch.")
    elif change == "edit":
        vault.put(store, "p/learnings/jwt.md", "Kafka offsets", "Now about kafka, a longer text than before.")
    elif change == "delete":
        os.unlink(path)
    elif change == "rename":
        os.rename(path, store.path("p/learnings/renamed.md"))
    else:
        temp = vault.put(store, "p/learnings/.tmp.md", "Kafka offsets", "Saved by rename.", id="jwt")
        os.replace(temp, path)
    names = {"add": ["kafka"], "edit": ["jwt"], "rename-save": ["jwt"]}
    if change in names:
        assert found(store, "kafka", now) == names[change]
    elif change == "delete":
        assert found(store, "issuer", now) == ["101500-fix"]
    else:
        opened = index.open_index(store)
        hits = [opened.doc(n).name for _, n in query.search(opened, text.terms("issuer must match"), 5)]
        assert hits[0] == "p/learnings/renamed.md" and "p/learnings/jwt.md" not in hits


def test_a_first_folder_of_a_kind_is_seen(place, now):
    """A folder that was not there when the index was built."""
    vault.put(place, "p/learnings/a.md", "Alpha", "alpha")
    indexer.build(place, now)
    vault.put(place, "p/resources/doc.md", "Gateway manual", "gateway timeouts")
    assert found(place, "gateway", now) == ["doc"]


def test_a_folder_younger_than_the_index_stays_watched(place, now):
    """An index of an empty project; a first learning by a writer, a scan, then one by hand."""
    indexer.build(place, now)
    vault.put(place, "p/learnings/first.md", "Walrus", "walrus")
    indexer.refresh(place, now, names=["p/learnings/first.md"])
    indexer.refresh(place, now)
    vault.put(place, "p/learnings/second.md", "Teapot", "teapot")
    assert found(place, "teapot", now) == ["second"]
    indexer.refresh(place, now)
    vault.put(place, "p/learnings/third.md", "Kettle", "kettle")
    assert found(place, "kettle", now) == ["third"]


def test_a_refresh_appends_and_a_search_sees_both(store, now):
    """The delta's frame replaces the segment's document; the segment is not written again."""
    indexer.build(store, now)
    before = os.stat(index.segment_path(store)).st_mtime_ns
    vault.put(store, "p/learnings/jwt.md", "JWT audience", "The audience claim is a list.")
    assert indexer.refresh(store, now, names=["p/learnings/jwt.md"]).changed == 1
    assert os.stat(index.segment_path(store)).st_mtime_ns == before
    assert found(store, "audience", now) == ["jwt"]
    assert "jwt" not in found(store, "issuer match", now)


def test_a_full_refresh_finds_every_change_and_merges_when_many(place, now):
    """Added, changed and removed are counted; beyond a twentieth of the records it builds anew."""
    vault.learnings(place, 40)
    indexer.build(place, now)
    vault.put(place, "p/learnings/l001.md", "Changed", "changed")
    vault.put(place, "p/learnings/zz.md", "Added", "added")
    os.unlink(place.path("p/learnings/l002.md"))
    first = indexer.refresh(place, now)
    assert (first.added, first.changed, first.removed, first.built) == (1, 1, 1, False)
    assert indexer.refresh(place, now)[1:4] == (0, 0, 0)
    for i in range(30):
        vault.put(place, f"p/learnings/more{i}.md", "More", f"more {i}")
    assert indexer.refresh(place, now).built
    assert indexer.verify(place, now) == []


def test_a_same_size_edit_with_its_time_put_back_is_found_near_the_build(place, now):
    """Equal size and mtime prove nothing when the file was young at the build (git's racy entries)."""
    path = vault.put(place, "p/learnings/a.md", "Alpha", "first")
    vault.touch(path, now)
    indexer.build(place, now)
    vault.put(place, "p/learnings/a.md", "Alpha", "secnd")
    vault.touch(path, now)
    assert indexer.refresh(place, now).changed == 1


def test_random_edits_give_what_a_rebuild_gives(place, now):
    """After any sequence of writes, deletes and refreshes the index ranks as one built from nothing."""
    rnd = random.Random(11)
    words = "alpha beta gamma delta epsilon zeta eta theta".split()
    vault.learnings(place, 5)
    indexer.build(place, now)
    for step in range(60):
        name = f"p/learnings/r{rnd.randrange(8)}.md"
        if rnd.random() < 0.3:
            if os.path.exists(place.path(name)):
                os.unlink(place.path(name))
        else:
            vault.put(place, name, rnd.choice(words), " ".join(rnd.choices(words, k=rnd.randrange(3, 20))))
        indexer.refresh(place, now, names=[name] if rnd.random() < 0.5 else None)
        opened, data = index.open_index(place), indexer.assemble(place, now)[0]
        fresh = index.Index(place, segment.Segment("", data), delta.Delta(b""))
        for word in words:
            have = {opened.doc(n).id for _, n in query.search(opened, text.terms(word), 50)}
            want = {fresh.doc(n).id for _, n in query.search(fresh, text.terms(word), 50)}
            assert have == want, (step, word)
        assert (opened.learnings, opened.records) == (fresh.learnings, fresh.records)
        opened.close()


def test_only_accepted_learnings_are_pushable(place, now):
    """A candidate, a checkpoint and a rule are found by recall and never pushed."""
    vault.put(place, "p/learnings/mine.md", "Retry budget", "retry")
    vault.put(place, "p/learnings/auto.md", "Retry candidate", "retry", source="auto")
    vault.put(place, "p/learnings/accepted.md", "Retry accepted", "retry", source="auto", accepted="true")
    vault.put(place, "p/checkpoints/2026-11-20/1-a.md", "Retry work", "retry")
    indexer.build(place, now)
    assert sorted(found(place, "retry", now, push=True)) == ["accepted", "mine"]
    assert len(found(place, "retry", now)) == 4


def test_a_limit_on_postings_keeps_the_best(place, now):
    """Capped search returns the exact first result where a rare term decides."""
    for i in range(1500):
        vault.put(place, f"p/learnings/{i:04d}.md", f"shared topic {i}", f"shared words unique{i}")
    indexer.build(place, now)
    assert found(place, "shared words unique777", now, cap=50)[0] == "0777"


@pytest.mark.parametrize("damage", ["empty", "truncated", "text", "folder", "version", "flip"])
def test_a_damaged_index_is_noticed_set_aside_and_rebuilt(store, now, damage):
    """Opening raises IndexFault, never anything else; a refresh builds a new one and keeps the old for a look."""
    indexer.build(store, now)
    path = index.segment_path(store)
    data = open(path, "rb").read()
    if damage == "folder":
        os.unlink(path)
        os.mkdir(path)
    else:
        broken = {"empty": b"", "truncated": data[:-20], "text": b"hello" * 100, "version": b"DLSEG999" + data[8:],
                  "flip": data[:40] + bytes([data[40] ^ 255]) + data[41:]}[damage]
        with open(path, "wb") as file:
            file.write(broken)
    with pytest.raises(IndexFault):
        index.open_index(store)
    indexer.refresh(store, now)
    assert found(store, "issuer must match", now)[0] == "jwt"
    assert os.path.exists(path + ".damaged")


def test_no_bit_flip_does_more_than_misrank(store, now):
    """400 random damages: an answer, or IndexFault; nothing else is ever raised, and every name exists."""
    indexer.build(store, now)
    path, rnd = index.segment_path(store), random.Random(3)
    data = open(path, "rb").read()
    for _ in range(400):
        broken = bytearray(data)
        for _ in range(rnd.choice((1, 3, 20))):
            broken[rnd.randrange(len(broken))] = rnd.randrange(256)
        with open(path, "wb") as file:
            file.write(broken)
        try:
            opened = index.open_index(store)
            for words in ("jwt issuer", "버튼", "docker cache"):
                for _, number in query.search(opened, text.terms(words), 5):
                    opened.doc(number)
            opened.listed("learnings")
        except IndexFault:
            continue


def test_another_place_s_index_is_never_served(store, env, tmp_path, now):
    """The scope in the header is compared."""
    from memory import paths

    indexer.build(store, now)
    (tmp_path / "other").mkdir()
    other = paths.locate(env, str(tmp_path / "other"))
    os.makedirs(other.cache)
    os.link(index.segment_path(store), index.segment_path(other))
    with pytest.raises(IndexFault):
        index.open_index(other)


def test_a_torn_delta_is_read_up_to_the_tear(store, now):
    """A frame that was cut short is ignored, those before it count."""
    indexer.build(store, now)
    vault.put(store, "p/learnings/one.md", "Kafka one", "kafka")
    indexer.refresh(store, now, names=["p/learnings/one.md"])
    vault.put(store, "p/learnings/two.md", "Kafka two", "kafka")
    indexer.refresh(store, now, names=["p/learnings/two.md"])
    opened = index.open_index(store, watch=False)
    path = index.delta_path(store, opened.segment.generation)
    data = open(path, "rb").read()
    for cut in (1, 7, 40):
        with open(path, "wb") as file:
            file.write(data[:-cut])
        opened = index.open_index(store, watch=False)
        assert [d.id for d in opened.delta.docs] == ["one"]


def test_a_builder_does_not_wait_for_another(store, now):
    """While one process holds the lock, a second build says `busy` at once, and readers read."""
    from memory import files

    indexer.build(store, now)
    with files.Lock(store.cache + "/" + store.scope + ".lock"):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); from memory import paths, indexer, index\n"
                "place = paths.locate({'HOME': sys.argv[2]}, sys.argv[3]); print(indexer.build(place, 1.0).busy)\n"
                "index.open_index(place)")
        root = os.path.dirname(os.path.dirname(os.path.abspath(index.__file__)))
        done = subprocess.run([sys.executable, "-c", code, root, os.path.dirname(store.home), store.project],
                              capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "True\n"


def test_readers_and_writers_at_once_lose_nothing(place, now):
    """Four processes add 25 records each and refresh, while this one searches: all are found at the end."""
    vault.learnings(place, 3)
    indexer.build(place, now)
    code = ("import sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/tests']; import vault\n"
            "from memory import paths, indexer\nplace = paths.locate({'HOME': sys.argv[2]}, sys.argv[3])\n"
            "for i in range(25):\n name = 'p/learnings/w%s-%d.md' % (sys.argv[4], i)\n"
            " vault.put(place, name, 'Kafka', 'kafka')\n indexer.refresh(place, 1.0, names=[name] if i % 3 else None)\n")
    root = os.path.dirname(os.path.dirname(os.path.abspath(index.__file__)))
    children = [subprocess.Popen([sys.executable, "-c", code, root, os.path.dirname(place.home), place.project, str(n)])
                for n in range(4)]
    while any(child.poll() is None for child in children):
        try:
            index.open_index(place).close()
        except IndexFault:
            pytest.fail("a reader met a half-written index")
    assert all(child.returncode == 0 for child in children)
    indexer.refresh(place, now)
    assert index.open_index(place).records == 103


def test_without_an_index_the_files_are_read(store):
    """A small index in memory stands in: same answers, nothing written."""
    opened = index.from_files(store, 50)
    assert opened.doc(query.search(opened, text.terms("docker cache"), 1)[0][1]).id == "cache"
    assert not os.path.exists(store.cache)


def test_an_index_is_private(store, now):
    """Segment, delta and lock are 0600 in 0700."""
    indexer.build(store, now)
    indexer.refresh(store, now, names=["p/learnings/jwt.md"])
    assert {oct(os.stat(os.path.join(store.cache, f)).st_mode & 0o777) for f in os.listdir(store.cache)} == {"0o600"}
    assert oct(os.stat(store.cache).st_mode & 0o777) == "0o700"


def test_a_torn_frame_hides_nothing_and_the_next_refresh_builds_anew(place, now):
    """A writer died in the middle; what others appended after it counts, and the log does not grow for ever."""
    for name in ("one", "two", "three"):
        vault.put(place, "p/learnings/%s.md" % name, name.title(), name + " kafka")
    indexer.build(place, now)
    log = index.delta_path(place, indexer._generation(index.segment_path(place)))
    vault.put(place, "p/learnings/four.md", "Four", "four kafka")
    indexer.refresh(place, now, names=["p/learnings/four.md"])
    with open(log, "r+b") as file:
        file.truncate(os.path.getsize(log) - 5)
    vault.put(place, "p/learnings/five.md", "Five", "five kafka")
    indexer.refresh(place, now, names=["p/learnings/five.md"])
    opened = index.open_index(place, watch=False)
    assert opened.delta.torn and set(opened.delta.names) == {"p/learnings/five.md"}
    opened.close()
    assert indexer.refresh(place, now).built and not os.path.exists(log)
    assert indexer.verify(place, now) == []


@pytest.mark.parametrize("link", [".dayleaf", ".dayleaf/learnings"])
def test_a_shared_tier_that_leads_elsewhere_is_never_read(place, now, tmp_path, link):
    """A cloned repository could pass off any directory of markdown as shared: not built, not watched, not by an old index."""
    indexer.build(place, now)
    secret = tmp_path / "elsewhere"
    (secret / "learnings").mkdir(parents=True)
    (secret / "learnings" / "x.md").write_text("# Secret\n\nkafka secret\n")
    target = os.path.join(place.root, link)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.symlink(secret if link == ".dayleaf" else secret / "learnings", target)
    for again in (False, True):
        if again:
            indexer.build(place, now)
        opened = index.open_index(place)
        assert opened.records == 0 and not query.search(opened, [("kafka", 1.0)], 5)
        opened.close()
    with pytest.raises(OSError):
        place.open("s/learnings/x.md")


@pytest.mark.parametrize("seconds", [-1, -10**9, 0, 2**33])
def test_a_file_from_any_time_is_indexed(place, now, seconds):
    """Archives restore times before 1970; some tools write 0."""
    path = vault.put(place, "p/learnings/old.md", "Old", "kafka")
    os.utime(path, (seconds, seconds))
    indexer.build(place, now)
    assert index.open_index(place).records == 1 and indexer.refresh(place, now)[1:4] == (0, 0, 0)
    assert b"old.md" in index.frame(index.open_index(place), "p/learnings/old.md", entry, records)


def test_folders_that_came_below_a_new_folder_are_seen(place, now):
    """A team sorts its notes into learnings/team/infra, two levels that were not there."""
    vault.put(place, "p/learnings/one.md", "One", "kafka")
    indexer.build(place, now)
    vault.put(place, "p/learnings/team/infra/new.md", "New", "quorum")
    opened = index.open_index(place)
    assert opened.stale and list(opened.delta.names) == ["p/learnings/team/infra/new.md"]


def test_a_file_added_to_a_huge_folder_is_seen_at_once(place, now):
    """Of more than 1,024 files in a changed folder the names are compared, not their times."""
    for i in range(1100):
        vault.put(place, "p/learnings/n%04d.md" % i, "Note %d" % i, "kafka")
    indexer.build(place, now)
    vault.put(place, "p/learnings/added.md", "Added", "quorum")
    os.remove(place.path("p/learnings/n0003.md"))
    assert set(index.open_index(place).delta.names) >= {"p/learnings/added.md", "p/learnings/n0003.md"}


def test_a_learning_in_another_folder_stands_with_the_learnings(place, now):
    """Its frontmatter decides; the numbers of documents, and both inverters, follow."""
    for name, kind in (("plans/a", "learning"), ("learnings/b", "learning"), ("learnings/c", "plan"), ("checkpoints/d", "checkpoint")):
        vault.put(place, "p/%s.md" % name, name, "kafka " + name, kind=kind)
    indexer.build(place, now)
    opened = index.open_index(place)
    names = [opened.doc(n).name for n in range(4)]
    assert names == ["p/learnings/b.md", "p/plans/a.md", "p/checkpoints/d.md", "p/learnings/c.md"]
    assert opened.segment.pushable == 2 and [opened.segment.find(n)[0] for n in names] == [0, 1, 2, 3]
    assert indexer.assemble(place, now, vectorised=True)[0] == indexer.assemble(place, now, vectorised=False)[0]


def test_verify_notices_bytes_that_changed_behind_a_delta(place, now):
    """With a delta the segment's own checksum is what shows that its postings are not those that were written."""
    for i in range(20):
        vault.put(place, "p/learnings/n%d.md" % i, "Zebra %d" % i, "zebra")
    indexer.build(place, now)
    vault.put(place, "p/learnings/more.md", "More", "quagga")
    indexer.refresh(place, now, names=["p/learnings/more.md"])
    assert indexer.verify(place, now) == []
    path = index.segment_path(place)
    opened = index.open_index(place, watch=False)
    offset = opened.segment._at[2] + 4 * opened.segment.lookup("zebra")[0]
    opened.close()
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(bytes(40))
    assert ["not those that were written" in line for line in indexer.verify(place, now)] == [True]
    indexer.freshen({"cwd": place.project}, {"HOME": place.home.rpartition("/")[0], "CLAUDE_PROJECT_DIR": place.project}, now)
    assert indexer.verify(place, now) == []


def test_a_plan_that_is_done_is_no_active_plan(place, now):
    """Two newer plans that were just set to done must not hide the active one."""
    for i, status in enumerate(("active", "active", "active")):
        vault.put(place, "p/plans/n%d.md" % i, "Plan %d" % i, "steps", kind="plan", status=status, created="2026-11-0%d" % (i + 1))
    indexer.build(place, now)
    for i in (1, 2):
        vault.put(place, "p/plans/n%d.md" % i, "Plan %d" % i, "steps", kind="plan", status="done", created="2026-11-0%d" % (i + 1))
    assert [d.name for d in index.open_index(place).listed("plans")] == ["p/plans/n0.md"]


def test_what_stands_for_a_secret_is_no_topic(now):
    """The topics of a brief are words of people, not of redaction."""
    record = records.from_bytes("p/learnings/x.md", b"---\ntitle: Key [redacted:cloud-key#7817] opened staging\n---\nx\n", now)
    assert entry.topic_names(record) == ("key", "staging")
