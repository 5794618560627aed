"""The store loses nothing, publishes nothing torn, leaks nothing, and neither reads nor writes outside its tiers."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import string
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from memory import config, files, ids, paths, records, redact
from memory.errors import StoreError, UsageError
from memory.reader import Unreadable
from memory.store import Store

ROOT = str(Path(__file__).resolve().parents[1])
posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, links and signals")


@pytest.fixture
def store(place, now) -> Store:
    """The store of the project, with default settings."""
    return Store(place, config.load(place.home, "", {}), now)


def put(place, name: str, data) -> str:
    """Write a file by hand, as a person would, and return its name."""
    path = Path(place.path(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return name


def key() -> str:
    """A secret that no scanner of this repository should find."""
    return "AK" + "IA" + "Q3EGRXMPL7WZT2BH"


def snapshot(folder) -> dict:
    """Every file below a directory with its bytes."""
    found = [path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path): path.read_bytes() for path in found}


# ---- the tests' own ground


def test_no_test_can_touch_the_real_home(tmp_path, env, home):
    """Every way to a home directory, here, in a child process and without any variable, ends in the test's own."""
    inside = str(tmp_path) + os.sep
    assert home.startswith(inside) and env["HOME"] == home
    found = [os.path.expanduser("~"), os.path.expanduser("~" + "/.dayleaf"), str(Path.home()),
             paths.home(dict(os.environ)), paths.home(env)]
    if os.name != "nt":
        found.append(paths.home({}))  # by way of the password database
    code = "import os; print(os.path.expanduser('~')); print(os.environ['DAYLEAF_HOME'])"
    found += subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                            check=True).stdout.split("\n")[:2]
    assert [path for path in found if not path.startswith(inside)] == []
    assert not [name for name in os.environ if name.startswith("DAYLEAF_") and name != "DAYLEAF_HOME"]


# ---- adding and reading


def test_what_is_added_reads_back(store, place):
    """A record comes back with its fields, from a file whose name says what it is."""
    told = []
    store.on_change = told.append
    record = store.add("learning", "Fix the JWT issuer", "The audience differs.\n\n---\nx: y\n", tags=["auth"],
                       source="agent",
                       session="s-1", extra={"links": [{"relation": "proves", "target": "l-1"}], "own": "2.0"})
    assert record.name == "p/learnings/fix-the-jwt-issuer-%s.md" % record.id[2:6]
    assert (record.kind, record.title, record.tags, record.source) == ("learning", "Fix the JWT issuer", ("auth",),
                                                                       "agent")
    assert record.body == "The audience differs.\n\n---\nx: y\n" and record.created == store.now
    assert record.links == (("proves", "l-1"),) and record.meta["own"] == "2.0" and record.meta["session"] == "s-1"
    assert list(store.each()) == [record] and told == [record.name] and record.problems == ()


def test_a_checkpoint_is_filed_by_day_and_time(store, place):
    """Checkpoints stand in a folder per UTC day; a title without Latin letters leaves the kind's word."""
    record = store.add("checkpoint", "버튼을 고침", "text", tier="p", source="auto")
    assert record.name == "p/checkpoints/2026-11-21/143052-checkpoint-%s.md" % record.id[2:6]
    other = store.add("checkpoint", "x", "text", extra={"created": "2026-01-02T03:04:05Z"})
    assert other.name.startswith("p/checkpoints/2026-01-02/030405-x-") and other.created == 1767323045.0


def test_every_tier_takes_records(store, place):
    """Private, shared and global records stand where their tier says."""
    for tier, folder in (("p", place.private), ("s", place.shared), ("g", place.everyone)):
        record = store.add("rule", "T " + tier, "b", tier=tier, extra={"rationale": "r"})
        assert record.tier == tier and os.path.isfile(folder + record.name[1:])
    assert [name[0] for name in store.names()] == ["g", "p", "s"]
    assert [record.tier for record in store.each(["rule"])] == ["g", "p", "s"] and list(store.each(["plan"])) == []


def test_wrong_words_are_refused(store):
    """A kind, a source or a tier that does not exist is a matter of usage."""
    for wrong in ({"kind": "memo"}, {"source": "robot"}, {"tier": "x"}):
        with pytest.raises(UsageError, match="use"):
            store.add(**{"kind": "plan", "title": "t", "body": "b", **wrong})


def test_the_same_content_is_written_once(store):
    """Adding again returns the record that is there; another body or time makes another file."""
    first = store.add("learning", "T", "body")
    assert store.add("learning", "T", "body") == first
    names = {first.name, store.add("learning", "T", "other").name}
    store.now += 1
    names.add(store.add("learning", "T", "body").name)
    assert len(names) == 3 == len(list(store.names()))


def test_a_taken_name_of_other_content_is_passed_over(store, place):
    """Where other content has the name, the next four digits of the digest are used."""
    first = store.add("learning", "T", "body")
    os.unlink(place.path(first.name))
    put(place, first.name, "something else\n")
    again = store.add("learning", "T", "body")
    assert again.id == first.id and again.name != first.name
    assert Path(place.path(first.name)).read_text() == "something else\n"
    assert store.add("learning", "T", "body").name == again.name


@pytest.mark.parametrize("title", ["../../etc/passwd", "/abs", "a/../../b", "nul\0byte", "back\\slash", "C:\\x",
                                   "file:///x", ".git/hooks/x",
                                   "x" * 300, "é" * 90, "é", "trailing. ", "CON", "nul.md", "x:ads", "~", "-rf", "",
                                   "\u202ertl",
                                   "line\nbreak", "\x1b[31m", "#", "---", "[[x]]"])
def test_a_title_reaches_a_path_only_as_a_slug(store, place, title):
    """Whatever the title, the file is `[a-z0-9-]`, in its folder, and the record reads back."""
    record = store.add("learning", title, "body of it")
    file = record.name.rpartition("/")[2]
    assert record.name.startswith("p/learnings/") and file.endswith(".md") and len(file) < 64
    assert set(file[:-3]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") and file[0] != "-"
    assert "\n" not in record.title and record.problems == () and record.body == "body of it\n"
    assert os.listdir(place.private) == ["learnings"]


NAMES = ["", "p", "p/", "/etc/passwd", "p/../../x.md", "p/learnings/../../../x.md", "p/learnings/..",
         "p/learnings/./x.md",
         "p//learnings/x.md", "p/learnings//x.md", "x/learnings/a.md", "p/secrets/a.md", "p/learnings/a.txt",
         "p/learnings/.hidden.md",
         "p/learnings/a\0.md", "p/learnings\\a.md", "p/learnings/..\\a.md", "p/.git/hooks/x.md", "../p/learnings/a.md",
         "p/learnings/a.md/", "p/learnings/a.md/../b.md", "p/archive/../learnings/../../x.md", "~/x.md",
         "p/learnings/" + "d/" * 600 + "x.md",
         "p/learnings/" + "x" * 300 + ".md", "p/learnings/absent.md", "C:/x.md", "p/config.json", "p/learnings",
         "s/../.git/config.md"]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leaves_the_store(store, place, project, name):
    """Reading, changing, moving and finding by such a name is an error of one line, and touches nothing."""
    store.add("learning", "T", "body")
    Path(place.home, "x.md").write_text("outside")
    before = snapshot(Path(place.home).parent)
    for attempt in (lambda: store.read(name), lambda: store.raw(name), lambda: store.edit(name, {"a": "b"}),
                    lambda: store.find(name or "-"),
                    lambda: store.replace(name, b"x", "0" * 64), lambda: store.archive(name, "r"),
                    lambda: store.restore(name)):
        with pytest.raises(StoreError) as caught:
            attempt()
        assert "\n" not in str(caught.value) and "; " in str(caught.value)
    assert {path: data for path,
            data in snapshot(Path(place.home).parent).items() if not path.endswith(".lock")} == before


# ---- secrets


def test_secrets_never_reach_the_disk(store, place, home):
    """Title, body and every frontmatter text lose secrets and private parts before anything is written."""
    secret = key()
    record = store.add("learning", "Key " + secret, "use " + secret + " <private>my diary</private> end", tags=["t",
                                                                                                                secret],
                       session=secret,
                       extra={"files": ["a.py", "x " + secret], "links": [{"relation": "proves", "target": secret}],
                              "note": secret})
    store.archive(record.name, "because of " + secret)
    everything = b"".join(snapshot(home).values())
    assert secret.encode() not in everything and b"diary" not in everything
    assert b"[redacted:" in everything and b" end\n" in everything


def test_a_value_found_in_one_field_goes_from_all(store):
    """What only the body shows to be a secret is taken out of the title as well."""
    value = "tr0ub4dor" + "Zq81xx"
    record = store.add("learning", "About " + value, "export DB_PASSWORD=" + value)
    assert value not in record.title and value not in record.body


def test_an_open_key_block_takes_no_other_field_along(store):
    """A private key without its end loses its lines; title and other fields stay apart."""
    source = random.Random(1)
    lines = ["".join(source.choice(string.ascii_letters + string.digits) for _ in range(64)) for _ in range(5)]
    block = "\n".join(["-----BEGIN RSA PRIV" + "ATE KEY-----", *lines])
    record = store.add("learning", "Title", block, extra={"note": "stays"})
    assert record.title == "Title" and record.meta["note"] == "stays"
    assert not [line for line in lines if line in record.body]


def test_a_secret_that_runs_over_the_end_of_a_field_takes_only_that_field(store, monkeypatch):
    """Where a find swallows the mark between two texts, each text is searched by itself."""
    def cut(text, allow, salt):
        return redact.Redacted(text.partition("OPEN")[0], ())

    monkeypatch.setattr(redact, "redact", cut)
    record = store.add("learning", "Title OPEN end", "body", extra={"note": "stays"})
    assert (record.title, record.body, record.meta["note"]) == ("Title", "body\n", "stays")


def test_redaction_obeys_the_user(store):
    """Only the user's own setting turns it off, and private parts go even then."""
    store.config.values["redact.enabled"] = False
    record = store.add("learning", "T", key() + " <private>x</private>")
    assert key() in record.body and "private" not in record.body


# ---- files that others wrote


def test_what_people_leave_is_read_or_skipped_with_a_reason(store, place):
    """Editors' and synchronisers' copies are no second memory; what cannot be read is named with a remedy."""
    put(place, "p/learnings/good.md", "# Good\n")
    put(place, "p/learnings/2026/deep.md", "# Deep\n")
    for left in ("a.sync-conflict-20261121-143052-ABCDEFG.md", "a (conflicted copy 2026-11-21).md",
                 "a (Alex's conflicted copy).md",
                 "a.md.orig", "a.md~", ".#a.md", ".a.md.swp", files.TEMP + "12-0", ".hidden.md", "a.txt", "#a.md"):
        put(place, "p/learnings/" + left, "# No\n")
    put(place, "p/learnings/wide.md", "# x\n".encode("utf-16"))
    put(place, "s/checkpoints/shared.md", "# Shared\n")
    put(place, "p/archive/learnings/old.md", "# Old\n")
    os.makedirs(place.path("p/learnings/folder.md"))
    assert [record.title for record in store.each()] == ["Deep", "Good", "Shared"]
    reasons = {skipped.name: (skipped.line, skipped.reason, skipped.remedy) for skipped in store.skipped}
    assert reasons["p/learnings/wide.md"] == (1, "not UTF-8 text", "save it as UTF-8")
    assert len(reasons) == 4 and all(remedy for _, _, remedy in reasons.values())


def test_a_large_file_is_read_in_part_and_said(store, place):
    """Of 5 MB the first 1 MiB is a record, with its problem; a change keeps the rest."""
    put(place, "p/learnings/big.md", "---\ntitle: Big\n---\n" + "word word\n" * 500000)
    record = store.read("p/learnings/big.md")
    assert record.title == "Big" and len(record.body) <= records.READ_LIMIT and record.size > 5000000
    assert "1 MiB" in record.problems[-1]
    store.edit(record.name, {"pinned": "true"})
    assert len(store.raw(record.name)) > 5000000 and store.read(record.name).pinned


@posix_only
def test_links_out_of_the_store_are_not_followed(store, place, project, tmp_path):
    """A link to a file, a directory or a sibling with the same start gives no byte of what lies outside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# Secret\n")
    sibling = Path(place.private + "-evil")
    sibling.mkdir(parents=True)
    (sibling / "secret.md").write_text("# Secret\n")
    real = put(place, "p/learnings/real.md", "# Real\n")
    folder = Path(place.path(real)).parent
    (folder / "file.md").symlink_to(outside / "secret.md")
    (folder / "sibling.md").symlink_to(sibling / "secret.md")
    (folder / "folder").symlink_to(outside)
    (folder / "inner.md").symlink_to("real.md")
    (folder / "broken.md").symlink_to("nowhere.md")
    os.symlink(outside, place.private + "/rules")
    os.mkfifo(str(folder / "pipe.md"))
    assert [record.title for record in store.each()] == ["Real", "Real"]
    assert not {"p/learnings/file.md", "p/learnings/sibling.md"} & set(store.names())
    list(store.each())
    assert {skipped.name.rpartition("/")[2] for skipped in store.skipped} == {"file.md", "sibling.md", "folder",
                                                                              "rules", "broken.md", "pipe.md"}
    for name in ("p/learnings/file.md", "p/learnings/folder/secret.md", "p/rules/secret.md", "p/learnings/sibling.md"):
        for attempt in (store.read, store.raw, lambda n: store.archive(n, "x"), lambda n: store.edit(n, {"a": "b"})):
            with pytest.raises(StoreError):
                attempt(name)
    with pytest.raises(StoreError):
        store.add("rule", "T", "b", extra={"rationale": "r"})
    assert os.listdir(outside) == ["secret.md"] and (outside / "secret.md").read_text() == "# Secret\n"


@posix_only
def test_a_shared_tier_that_points_elsewhere_is_left_alone(place, now, project, tmp_path):
    """A repository whose .dayleaf is a link to other files passes nothing off as its own."""
    other = tmp_path / "other"
    (other / "learnings").mkdir(parents=True)
    (other / "learnings" / "x.md").write_text("# Other\n")
    os.symlink(other, place.shared)
    store = Store(place, config.load(place.home, "", {}), now)
    assert list(store.each()) == [] and store.skipped[0].name == "s"
    with pytest.raises(StoreError, match="shared"):
        store.add("learning", "T", "b", tier="s")


@posix_only
def test_a_link_swapped_during_a_read_gives_nothing_away(store, place, tmp_path):
    """While a folder turns into a link and back, a read gives the record or an error, never what lies outside."""
    outside = tmp_path / "outside" / "sub"
    outside.mkdir(parents=True)
    (outside / "a.md").write_text("SECRET\n")
    name = put(place, "p/learnings/sub/a.md", "record\n")
    folder = place.path(name).rpartition("/")[0]
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            os.rename(folder, folder + "-")
            os.symlink(outside, folder)
            os.unlink(folder)
            os.rename(folder + "-", folder)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen, start = set(), time.monotonic()
    try:
        # On a busy machine one of the two may not turn up for seconds: the race is over once both have.
        while time.monotonic() < start + 1 or (len(seen) < 2 and time.monotonic() < start + 30):
            try:
                seen.add(store.read(name).body)
            except StoreError:
                seen.add("error")
    finally:
        ended.set()
        swapper.join()
    assert seen == {"record\n", "error"}


@posix_only
def test_a_link_that_appears_after_the_check_is_not_followed(store, place, tmp_path, monkeypatch):
    """The open itself refuses a link, whatever a check just before it saw."""
    (tmp_path / "secret.md").write_text("# Secret\n")
    os.makedirs(place.folder("p", "learning"))
    os.symlink(tmp_path / "secret.md", place.path("p/learnings/a.md"))
    monkeypatch.setattr(os.path, "islink", lambda path: False)
    with pytest.raises(StoreError):
        store.read("p/learnings/a.md")


@posix_only
def test_another_users_hard_link_is_refused(store, place, monkeypatch):
    """A second name of a file that is not ours may be anything."""
    name = put(place, "p/learnings/a.md", "x\n")
    os.link(place.path(name), place.path("p/learnings/b.md"))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StoreError, match="hard link"):
        store.read(name)


# ---- finding


def test_a_record_is_found_by_id_start_name_and_file(store):
    """All the ways a person names a record lead to it."""
    first = store.add("learning", "First", "a")
    store.add("plan", "Second", "b")
    for text in (first.id, first.id[:5], first.name, first.name.rpartition("/")[2], first.name.rpartition("/")[2][:-3],
                 " " + first.id + " "):
        assert store.find(text) == first


def test_what_is_not_found_names_what_is_near(store, place):
    """A slip gives the near id, not every id of the kind; a start of several ids says so."""
    archived = store.add("learning", "Old", "x")
    store.archive(archived.name, "r")
    with pytest.raises(StoreError, match="is archived; `dayleaf restore %s` brings" % archived.id):
        store.find(archived.id[:5])
    assert store.find_archived(archived.id).body == "x\n"
    for name in ("abcdef1", "abcdef2", "abcdef3", "abcdef4"):
        put(place, "p/learnings/%s.md" % name, "---\nid: %s\n---\n" % name)
    with pytest.raises(StoreError, match="did you mean") as caught:
        store.find("abcdxf1")
    assert "abcdef1" in str(caught.value) and str(caught.value).count("abcdef") == 1
    with pytest.raises(StoreError, match="may mean abcdef1, abcdef2, abcdef3"):
        store.find("abcd")
    with pytest.raises(StoreError, match="no record 'zzz'"):
        store.find("zzz")


@pytest.mark.parametrize(("typed", "near"), [
    ("l-1a2b3c4e", True), ("l-1a2b34d", True), ("l-1a2b3c44d", True), ("l-1a2bc34d", True), ("l-1a2b3c4", True),
    ("l-1a2b3d4e", False), ("l-2b1a3c4d", False), ("l-1a2b", False), ("", False)])
def test_only_a_slip_of_the_finger_is_near_an_id(typed, near):
    """One character other, less or more, or two swapped; two others make another id."""
    assert ids.is_slip(typed, "l-1a2b3c4d") is near


def test_short_ids_are_never_near_one_another():
    """`r-2` is no slip of `r-1`."""
    assert not ids.is_slip("r-2", "r-1")


def test_what_says_the_same_is_found_whenever_it_was_written(store, place):
    """By kind, tier, title and words; a secret in the words is compared as it stands in the file."""
    secret = "AK" + "IA" + "Q7RSTUVW2X3Y4Z5A"
    first = store.add("learning", "One", "words\n", extra={"created": 1000.0})
    held = store.add("learning", "Key", "key %s\n" % secret)
    assert store.same("learning", "One", "words") == first and store.same("learning", "Key", "key " + secret) == held
    for kind, title, body, tier in (("learning", "One", "other", "p"), ("learning", "On", "words", "p"),
                                    ("plan", "One", "words", "p"), ("learning", "One", "words", "g")):
        assert store.same(kind, title, body, tier) is None
    put(place, "p/learnings/two-1a2b.md", "---\ntitle: Two\nsource: auto\n---\nwords\n")
    assert store.same("learning", "Two", "words") is None


def test_of_a_duplicate_id_the_newest_counts(store, place):
    """Both files stay, the newer one is found, and the pair is reported."""
    for name, instant in (("old", 1000), ("new", 3000), ("mid", 2000)):
        put(place, "p/learnings/%s.md" % name, "---\nid: same\ntitle: %s\n---\n" % name)
        os.utime(place.path("p/learnings/%s.md" % name), (instant, instant))
    assert store.find("same").title == "new" and len(list(store.each())) == 3
    assert store.duplicates == {"same": ["p/learnings/mid.md", "p/learnings/new.md", "p/learnings/old.md"]}


def test_a_kind_is_found_in_any_folder(store, place):
    """A rule that stands among the learnings is a rule."""
    put(place, "p/learnings/x.md", "---\nkind: rule\nrationale: r\n---\n")
    assert [record.kind for record in store.each(["rule"])] == ["rule"] and list(store.each(["learning"])) == []


# ---- changing


def test_an_edit_keeps_what_it_does_not_name(store, place):
    """Unknown keys, order, comments, line ends and the body stay byte for byte."""
    data = b"\xef\xbb\xbf---\r\n# mine\r\nown: 1\r\ntitle: Old # why\r\n---\r\nbody \xff\r\n"
    name = put(place, "p/learnings/x.md", data)
    record = store.edit(name, {"title": "New", "pinned": True})
    assert record.title == "New" and record.pinned
    assert Path(place.path(name)).read_bytes() == data.replace(b"Old", b"New").replace(b"why\r\n",
                                                                                       b"why\r\npinned: true\r\n")


def test_a_replacement_rests_on_what_was_read(store, place):
    """Bytes that changed meanwhile are not overwritten."""
    record = store.add("learning", "T", "body")
    data = store.raw(record.name)
    after = store.replace(record.name, data + b"more\n", record.checksum)
    assert after.body == "body\nmore\n"
    with pytest.raises(StoreError, match="changed meanwhile"):
        store.replace(record.name, data, record.checksum)
    assert store.read(record.name) == after


def test_a_replacement_brings_no_new_secret(store, place):
    """A secret the file did not hold is taken out; one that a person wrote there is theirs to remove."""
    record = store.add("learning", "T", "body")
    assert key() not in store.replace(record.name, store.raw(record.name) + key().encode(), record.checksum).body
    name = put(place, "p/learnings/mine.md", "---\ntitle: t\n---\n" + key() + "\n")
    assert key() in store.edit(name, {"pinned": "true"}).body
    assert key() not in str(store.edit(name, {"note": "x " + key()[::-1] + " y",
                                              "other": "AK" + "IA" + "ZZZGRXMPL7WZT2BH"}).meta["other"])


def test_a_failing_index_costs_no_record(store):
    """The record stands although telling the index of it failed."""
    def fail(name: str) -> None:
        raise OSError(28, "No space left on device")

    store.on_change = fail
    record = store.add("learning", "T", "body")
    assert store.read(record.name) == record


# ---- the archive


def test_archive_and_restore_are_inverse(store, place):
    """A record goes to the archive with a line of log, and comes back byte for byte."""
    record = store.add("checkpoint", "T", "body")
    before = store.raw(record.name)
    away = store.archive(record.name, "too old")
    assert away == "p/archive/" + record.name[2:] and list(store.names()) == [] and store.raw(away) == before
    lines = [json.loads(line) for line in Path(place.private, "archive", "log.jsonl").read_text().splitlines()]
    assert lines == [{"v": 1, "t": "2026-11-21T14:30:52Z", "id": record.id, "from": record.name[2:], "to": away[2:],
                      "reason": "too old"}]
    assert store.restore(record.id) == record and list(store.names()) == [record.name]
    assert store.archive(record.name, "again") == away and store.restore(record.id) == record


def test_nothing_is_overwritten_on_the_way(store, place):
    """A taken place in the archive gets another name, a taken place in the store is an error that changes nothing."""
    record = store.add("learning", "T", "body")
    first = store.archive(record.name, "1")
    put(place, record.name, "# Another\n")
    second = store.archive(record.name, "2")
    assert first != second and store.raw(second) == b"# Another\n"
    put(place, record.name, "# Third\n")
    with pytest.raises(StoreError, match="another file stands there"):
        store.restore(record.id)
    assert store.raw(record.name) == b"# Third\n" and store.raw(first).endswith(b"body\n")


def test_what_was_never_archived_is_not_restored(store, place):
    """The error names near ids; a torn line of the log is passed over."""
    record = store.add("learning", "T", "body")
    store.archive(record.name, "r")
    with Path(place.private, "archive", "log.jsonl").open("ab") as log:
        log.write(b'{"v":1,"id":"l-')
    with pytest.raises(StoreError, match="no archived record.*" + record.id):
        store.restore(record.id[:-1] + "z")
    assert store.restore(record.id) == record


def test_a_planted_log_restores_nothing_outside(store, place):
    """A repository's archive log cannot make restore read or write elsewhere."""
    put(place, "s/archive/learnings/x.md", "# X\n")
    for home, away in (("../../evil.md", "archive/learnings/x.md"), ("learnings/x.md", "archive/../../../secret.md"),
                       ("config.json", "archive/learnings/x.md"), (".git/hooks/x.md", "archive/learnings/x.md")):
        Path(place.shared, "archive", "log.jsonl").write_text(json.dumps({"v": 1, "id": "x", "from": home,
                                                                          "to": away}) + "\n")
        with pytest.raises(StoreError):
            store.restore("x")
    assert Path(place.shared, "archive", "learnings", "x.md").exists() and os.listdir(place.shared) == ["archive"]


@posix_only
def test_a_planted_link_for_a_log_is_not_written_through(store, place, tmp_path):
    """A repository whose archive log is a link to another file gets no line appended there."""
    target = tmp_path / "profile"
    target.write_text("mine\n")
    record = store.add("learning", "T", "body", tier="s")
    os.mkdir(place.shared + "/archive")
    os.symlink(target, place.shared + "/archive/log.jsonl")
    with pytest.raises(StoreError, match="link"):
        store.archive(record.name, "r")
    assert target.read_text() == "mine\n" and store.read(record.name) == record


# ---- faults


@posix_only
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_modes_do_not_depend_on_the_umask(store, place, umask):
    """Private files are 0600 in directories 0700; shared ones, which are committed, 0644 in 0755."""
    old = os.umask(umask)
    try:
        for tier in "psg":
            record = store.add("learning", "T " + tier, "b", tier=tier)
            store.edit(record.name, {"pinned": "true"})
            store.archive(record.name, "r")
            store.add("checkpoint", "T " + tier, "b", tier=tier)
    finally:
        os.umask(old)
    for root, folder_mode, file_mode in ((place.home, 0o700, 0o600), (place.shared, 0o755, 0o644)):
        for path in [Path(root), *Path(root).rglob("*")]:
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (folder_mode if path.is_dir() else file_mode), (str(path), oct(mode))


@posix_only
def test_a_home_open_to_others_is_closed_or_refused(store, place, monkeypatch):
    """Write permission of group and world goes; another user's store is not written to."""
    record = store.add("learning", "T", "b")
    os.chmod(place.home, 0o777)
    store.edit(record.name, {"pinned": "true"})
    assert stat.S_IMODE(os.stat(place.home).st_mode) & 0o022 == 0
    owner = os.getuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(StoreError, match="another user"):
        store.add("learning", "U", "b")


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from memory import config, paths
from memory.store import Store
env = {"HOME": sys.argv[2]}
place = paths.locate(env, sys.argv[3])
store = Store(place, config.load(place.home, "", {}), 1795271452.0)
sys.stdin.readline()
for number in range(int(sys.argv[4])):
    print(store.add("learning", "T %d" % number, "the same body").name)
"""


def test_processes_that_add_at_once_make_one_file_each(home, project, store):
    """Four processes adding the same twenty records end with twenty files, and all name the same."""
    children = [subprocess.Popen([sys.executable, "-c", WRITER, ROOT, home, project, "20"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE,
                                 text=True) for _ in range(4)]
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [sorted(child.communicate(timeout=60)[0].split()) for child in children]
    assert [child.returncode for child in children] == [0] * 4
    assert said[0] == said[1] == said[2] == said[3] == list(store.names()) and len(said[0]) == 20


def in_child(action) -> int:
    """Run something in a forked copy of this process and return its wait status."""
    pid = os.fork()
    if not pid:
        status = 70
        try:
            status = action() or 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1]


@posix_only
def test_a_kill_before_publishing_leaves_a_temp_that_is_collected(store, place, now):
    """Killed between temp and link: no record is seen, and the next write removes the temp once it is an hour old."""
    store.add("learning", "Before", "b")

    def killed() -> None:
        files.posix.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        store.add("learning", "Lost", "b")

    assert os.WTERMSIG(in_child(killed)) == signal.SIGKILL
    folder = Path(place.folder("p", "learning"))
    left = [path for path in folder.iterdir() if path.name.startswith(files.TEMP)]
    assert len(left) == 1 and [record.title for record in store.each()] == ["Before"]
    os.utime(left[0], (now, now))
    store.add("learning", "Young", "b")
    assert left[0].exists()
    os.utime(left[0], (now - 7200, now - 7200))
    alive = folder / ("%s%d-0" % (files.TEMP, os.getpid()))
    alive.write_bytes(b"being written")
    os.utime(alive, (now - 7200, now - 7200))
    store.add("learning", "After", "b")
    assert not left[0].exists() and alive.exists()


@posix_only
def test_a_short_write_is_never_published(store, place):
    """Under a file size limit the write fails, and no file and no temp remains."""
    store.add("learning", "Small", "b")

    def limited() -> int:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
        try:
            store.add("learning", "Large", "word " * 4000)
        except StoreError:
            return 3
        return 0

    assert os.WEXITSTATUS(in_child(limited)) == 3
    assert sorted(os.listdir(place.folder("p", "learning"))) == [name.rpartition("/")[2] for name in store.names()]
    assert [record.title for record in store.each()] == ["Small"]


@posix_only
def test_without_hard_links_nothing_is_overwritten(store, place, monkeypatch):
    """exFAT and some FUSE mounts have no link(2): add, archive and restore work, and collide safely."""
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(files.posix, "link", refuse)
    monkeypatch.setattr(os, "link", refuse)
    record = store.add("learning", "T", "body")
    assert store.add("learning", "T", "body") == record
    store.archive(record.name, "r")
    put(place, record.name, "taken\n")
    with pytest.raises(StoreError):
        store.restore(record.id)
    os.unlink(place.path(record.name))
    assert store.restore(record.id).body == "body\n"
    assert not [name for name in os.listdir(place.folder("p", "learning")) if name.startswith(files.TEMP)]


@posix_only
def test_a_read_only_store_reads_on_and_loses_nothing(now, project):
    """Where nothing may be written, every write is a StoreError, reading works and all bytes stay."""
    base = Path(tempfile.mkdtemp())  # pytest's own directories are closed to the user that the child becomes
    try:
        os.chmod(base, 0o755)
        place = paths.locate({"DAYLEAF_HOME": str(base / "home")}, project)
        place.shared = ""
        store = Store(place, config.load(place.home, "", {}), now)
        record = store.add("learning", "T", "body")
        before = snapshot(base)
        user = 65534 if os.geteuid() == 0 else os.geteuid()
        for path in [base, *base.rglob("*")]:
            os.chown(path, user, -1)
            os.chmod(path, 0o500 if path.is_dir() else 0o400)

        def reads_only() -> int:
            if os.geteuid() == 0:
                os.setresuid(user, user, user)
            if store.read(record.name).body != "body\n" or len(list(store.each())) != 1:
                return 1
            for attempt in (lambda: store.add("learning", "U", "b"), lambda: store.edit(record.name, {"a": "b"}),
                            lambda: store.replace(record.name, b"x", record.checksum),
                            lambda: store.archive(record.name, "r")):
                try:
                    attempt()
                except StoreError:
                    continue
                return 2
            return 0

        status = in_child(reads_only)
        for path in [base, *base.rglob("*")]:
            os.chmod(path, 0o700)
        assert os.WEXITSTATUS(status) == 0 and snapshot(base) == before
    finally:
        shutil.rmtree(base)


@posix_only
def test_files_that_vanish_during_a_walk_are_skipped(store, place):
    """While another process adds and deletes, a walk never raises."""
    names = [put(place, "p/learnings/n%d.md" % i, "# n\n") for i in range(40)]
    ended = threading.Event()

    def churn() -> None:
        source = random.Random(1)
        while not ended.is_set():
            path = place.path(source.choice(names))
            if os.path.exists(path):
                os.unlink(path)
            else:
                Path(path).write_text("# n\n")

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(100):
            assert all(record.title in ("n", record.name[12:-3]) for record in store.each())
    finally:
        ended.set()
        thread.join()


def test_what_cannot_be_read_carries_its_reason(store):
    """The error holds the same four facts that a walk notes."""
    with pytest.raises(Unreadable) as caught:
        store.read("p/learnings/absent.md")
    assert caught.value.skipped.name == "p/learnings/absent.md" and caught.value.skipped.reason == "no such record"
