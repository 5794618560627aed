"""The store loses nothing, publishes nothing torn, leaks nothing, and neither reads nor writes
outside its tiers.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import stat
import string
import subprocess
import sys
import tempfile
from pathlib import Path
from unicodedata import normalize

import pytest
from harness import talks
from harness.vault import snapshot, write

from memory.core import StoreError, UsageError, config, files, layout
from memory.store import redactor
from memory.store.store import Store

ROOT = str(Path(__file__).resolve().parents[2])
posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, links and signals")


def key() -> str:
    """A secret that no scanner of this repository should find."""
    return "AK" + "IA" + "Q3EGRXMPL7WZT2BH"


# ---- the tests' own ground


def test_no_test_can_touch_the_real_home(tmp_path, env, home):
    """Every way to a home directory, here, in a child process and without any variable, ends in the
    test's own.
    """
    inside = str(tmp_path) + os.sep
    assert home.startswith(inside) and env["HOME"] == home
    found = [
        os.path.expanduser("~"),
        os.path.expanduser("~" + "/.dayleaf"),
        str(Path.home()),
        layout.find_home(dict(os.environ)),
        layout.find_home(env),
    ]
    if os.name != "nt":
        found.append(layout.find_home({}))  # by way of the password database
    code = "import os; print(os.path.expanduser('~')); print(os.environ['DAYLEAF_HOME'])"
    found += subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split("\n")[:2]
    assert [path for path in found if not path.startswith(inside)] == []
    assert not [
        name for name in os.environ if name.startswith("DAYLEAF_") and name != "DAYLEAF_HOME"
    ]


# ---- adding and reading


def test_what_is_added_reads_back(store, place):
    """A record comes back with its fields, from a file whose name says what it is."""
    told = []
    store.on_change = told.append
    record = store.add(
        "learning",
        "Fix the JWT issuer",
        "The audience differs.\n\n---\nx: y\n",
        tags=["auth"],
        source="agent",
        session="s-1",
        extra={"links": [{"relation": "proves", "target": "l-1"}], "own": "2.0"},
    )
    assert record.name == "p/learnings/fix-the-jwt-issuer-%s.md" % record.id[2:6]
    assert (record.kind, record.title, record.tags, record.source) == (
        "learning",
        "Fix the JWT issuer",
        ("auth",),
        "agent",
    )
    assert record.body == "The audience differs.\n\n---\nx: y\n" and record.created == store.now
    assert (
        record.links == (("proves", "l-1"),)
        and record.meta["own"] == "2.0"
        and record.meta["session"] == "s-1"
    )
    assert list(store.each()) == [record] and told == [record.name] and record.problems == ()


def test_a_checkpoint_is_filed_by_day_and_time(store, place):
    """Checkpoints stand in a folder per UTC day; a title without letters leaves the kind's word."""
    record = store.add("checkpoint", "버튼을 고침", "text", tier="p", source="auto")
    assert record.name == "p/checkpoints/2026-11-21/143052-버튼을-고침-%s.md" % record.id[2:6]
    unnamed = store.add("checkpoint", "👍", "text", source="auto")
    assert unnamed.name == "p/checkpoints/2026-11-21/143052-checkpoint-%s.md" % unnamed.id[2:6]
    other = store.add("checkpoint", "x", "text", extra={"created": "2026-01-02T03:04:05Z"})
    assert (
        other.name.startswith("p/checkpoints/2026-01-02/030405-x-")
        and other.created == 1767323045.0
    )


def test_every_tier_takes_records(store, place):
    """Private, shared and global records stand where their tier says."""
    for tier, folder in (("p", place.private), ("s", place.shared), ("g", place.everyone)):
        record = store.add("rule", "T " + tier, "b", tier=tier, extra={"rationale": "r"})
        assert record.tier == tier and os.path.isfile(folder + record.name[1:])
    assert [name[0] for name in store.names()] == ["g", "p", "s"]
    assert [record.tier for record in store.each(["rule"])] == ["g", "p", "s"] and list(
        store.each(["plan"])
    ) == []


def test_a_tier_that_does_not_exist_is_a_matter_of_usage(store):
    with pytest.raises(UsageError, match="use"):
        store.add("plan", "t", "b", tier="x")


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
    write(place, first.name, "something else\n")
    again = store.add("learning", "T", "body")
    assert again.id == first.id and again.name != first.name
    assert Path(place.path(first.name)).read_text() == "something else\n"
    assert store.add("learning", "T", "body").name == again.name


@pytest.mark.parametrize(
    "title",
    [
        "../../etc/passwd",
        "/abs",
        "a/../../b",
        "nul\0byte",
        "back\\slash",
        "C:\\x",
        "file:///x",
        ".git/hooks/x",
        "x" * 300,
        "é" * 90,
        "é",
        "trailing. ",
        "CON",
        "nul.md",
        "x:ads",
        "~",
        "-rf",
        "",
        "\u202ertl",
        "line\nbreak",
        "\x1b[31m",
        "#",
        "---",
        "[[x]]",
        "ｅ．．／ｘ",
        "𠀀" * 90,
        "\ud800 half",
    ],
)
def test_a_title_reaches_a_path_only_as_a_slug(store, place, title):
    """Whatever the title, the file is letters, digits and `-`, in its folder, and the record reads
    back.
    """
    record = store.add("learning", title, "body of it")
    file = record.name.rpartition("/")[2]
    assert record.name.startswith("p/learnings/") and file.endswith(".md")
    assert len(file.encode()) <= 200 and len(file) < 64
    assert file[:-3].replace("-", "").isalnum() and file[0] != "-"
    assert "\n" not in record.title and record.problems == () and record.body == "body of it\n"
    assert os.listdir(place.private) == ["learnings"]


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("결제 버튼이 두 번 눌림", "결제-버튼이-두-번-눌림"),
        (normalize("NFD", "결제 버튼: Größe"), "결제-버튼-größe"),
        ("支払いボタンを、直す", "支払いボタンを-直す"),
        ("支付按钮（两次）", "支付按钮-两次"),
        ("Кнопка оплаты", "кнопка-оплаты"),
        ("हिन्दी में", "हिन्दी-में"),
        ("✔️ done 1️⃣", "done-1"),
    ],
)
def test_a_files_name_is_the_titles_own_letters_composed(store, title, stem):
    """Of any script; an emoji and what only picks a look are none."""
    name = store.add("learning", title, "text").name
    assert name.startswith("p/learnings/%s-" % stem)


def test_a_record_named_before_names_held_all_letters_is_found_again(store, place):
    """By its title: the file keeps the name that it has."""
    record = store.add("rule", "앞으로 항상 확인", "", extra={"rationale": "r"})
    folder = Path(place.private, "rules")
    (file,) = folder.iterdir()
    file.rename(folder / ("rule-%s.md" % record.id[2:6]))
    found = store.same("rule", "앞으로 항상 확인", "")
    assert found is not None and found.id == record.id
    assert store.same("rule", "앞으로 항상 검토", "") is None


NAMES = [
    "",
    "p",
    "p/",
    "/etc/passwd",
    "p/../../x.md",
    "p/learnings/../../../x.md",
    "p/learnings/..",
    "p/learnings/./x.md",
    "p//learnings/x.md",
    "p/learnings//x.md",
    "x/learnings/a.md",
    "p/secrets/a.md",
    "p/learnings/a.txt",
    "p/learnings/.hidden.md",
    "p/learnings/a\0.md",
    "p/learnings\\a.md",
    "p/learnings/..\\a.md",
    "p/.git/hooks/x.md",
    "../p/learnings/a.md",
    "p/learnings/a.md/",
    "p/learnings/a.md/../b.md",
    "p/archive/../learnings/../../x.md",
    "~/x.md",
    "p/learnings/" + "d/" * 600 + "x.md",
    "p/learnings/" + "x" * 300 + ".md",
    "p/learnings/absent.md",
    "C:/x.md",
    "p/config.json",
    "p/learnings",
    "s/../.git/config.md",
]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leaves_the_store(store, place, project, name):
    """Reading, changing, moving and finding by such a name is an error of one line, and touches
    nothing.
    """
    store.add("learning", "T", "body")
    Path(place.home, "x.md").write_text("outside")
    before = snapshot(Path(place.home).parent)
    for attempt in (
        lambda: store.read(name),
        lambda: store.raw(name),
        lambda: store.edit(name, {"a": "b"}),
        lambda: store.find(name or "-"),
        lambda: store.replace(name, b"x", "0" * 64),
        lambda: store.archive(name, "r"),
        lambda: store.restore(name),
    ):
        with pytest.raises(StoreError) as caught:
            attempt()
        assert "\n" not in str(caught.value) and "; " in str(caught.value)
    assert {
        path: data
        for path, data in snapshot(Path(place.home).parent).items()
        if not path.endswith(".lock")
    } == before


# ---- secrets


def test_secrets_never_reach_the_disk(store, place, home):
    """Title, body and every frontmatter text lose secrets and private parts before anything is
    written.
    """
    secret = key()
    record = store.add(
        "learning",
        "Key " + secret,
        "use " + secret + " <private>my diary</private> end",
        tags=["t", secret],
        session=secret,
        extra={
            "files": ["a.py", "x " + secret],
            "links": [{"relation": "proves", "target": secret}],
            "note": secret,
        },
    )
    store.archive(record.name, "because of " + secret)
    everything = b"".join(snapshot(home).values())
    assert secret.encode() not in everything and b"diary" not in everything
    assert b"[redacted:" in everything and b" end\n" in everything


def test_a_value_found_in_one_field_goes_from_all(store):
    """What only the body shows to be a secret is taken out of the title as well."""
    value = "tr0ub4dor" + "Zq81xx"
    record = store.add("learning", "About " + value, "export DB_PASSWORD=" + value)
    assert value not in record.title and value not in record.body


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Rotated the API token", "Then restarted."),
        ("ab jetzt nie das Passwort loggen", ""),
        ("Importer", "PASSWORD=" + "ZkEnv" + "99x ./run"),
    ],
)
def test_a_word_for_a_secret_reaches_into_no_other_field(store, title, body):
    """A session, a branch or a reason after it is none, as long as it looks like none itself."""
    session = "7678627e-d2b8-4a6b-8499-15b491f93081"
    kept = {"branch": "feature/PAY-123-reset", "rationale": "audit-2026-11a"}
    record = store.add("learning", title, body, tags=["b-77x1"], session=session, extra=kept)
    assert record.meta["session"] == session and record.meta["tags"] == ["b-77x1"]
    assert {key: record.meta[key] for key in kept} == kept


def test_a_heading_names_what_stands_below_it(store):
    """A title and its text follow each other."""
    record = store.add("learning", "Staging password", "Zk9" + "mountain42")
    assert "mountain42" not in record.body


def test_an_open_key_block_takes_no_other_field_along(store):
    """A private key without its end loses its lines; title and other fields stay apart."""
    source = random.Random(1)
    lines = [
        "".join(source.choice(string.ascii_letters + string.digits) for _ in range(64))
        for _ in range(5)
    ]
    block = "\n".join(["-----BEGIN RSA PRIV" + "ATE KEY-----", *lines])
    record = store.add("learning", "Title", block, extra={"note": "stays"})
    assert record.title == "Title" and record.meta["note"] == "stays"
    assert not [line for line in lines if line in record.body]


def test_a_secret_that_runs_over_the_end_of_a_field_takes_only_that_field(store, monkeypatch):
    """Where a find swallows the mark between two texts, each text is searched by itself."""

    def cut(text, allow, salt):
        return redactor.Redacted(text.partition("OPEN")[0], (), {})

    monkeypatch.setattr(redactor, "redact", cut)
    record = store.add("learning", "Title OPEN end", "body", extra={"note": "stays"})
    assert (record.title, record.body, record.meta["note"]) == ("Title", "body\n", "stays")


def test_redaction_obeys_the_user(store):
    """Only the user's own setting turns it off, and private parts go even then."""
    store.config.values["redact.enabled"] = False
    record = store.add("learning", "T", key() + " <private>x</private>")
    assert key() in record.body and "private" not in record.body


def test_what_says_the_same_is_found_whenever_it_was_written(store, place):
    """By kind, tier, title and words; a secret in the words is compared as it stands in the
    file.
    """
    secret = "AK" + "IA" + "Q7RSTUVW2X3Y4Z5A"
    first = store.add("learning", "One", "words\n", extra={"created": 1000.0})
    held = store.add("learning", "Key", "key %s\n" % secret)
    assert (
        store.same("learning", "One", "words") == first
        and store.same("learning", "Key", "key " + secret) == held
    )
    for kind, title, body, tier in (
        ("learning", "One", "other", "p"),
        ("learning", "On", "words", "p"),
        ("plan", "One", "words", "p"),
        ("learning", "One", "words", "g"),
    ):
        assert store.same(kind, title, body, tier) is None
    write(place, "p/learnings/two-1a2b.md", "---\ntitle: Two\nsource: auto\n---\nwords\n")
    assert store.same("learning", "Two", "words").name == "p/learnings/two-1a2b.md"


def test_a_candidate_is_found_by_nearly_its_words(store, place):
    """Case, spaces and the last stop say nothing, but that of an option does; an accepted record
    with the very words comes first.
    """
    head = "---\ntitle: Two\nsource: auto\n%s---\n"
    write(place, "p/learnings/two-1a2b.md", head % "" + "Größe: curl -k  fails.\n")
    for words in ("größe: curl -k fails", "Größe: curl\n-k fails。", "Gro\u0308ße: curl -k fails"):
        assert store.same("learning", "Two", words).name == "p/learnings/two-1a2b.md"
    for words in ("Größe: curl -K fails.", "Größe: curl -k fails often"):
        assert store.same("learning", "Two", words) is None
    note = head % "harvest: k\n" + "It fails\n\n> it failed\n\nFrom n-1 (2026-01-02).\n"
    write(place, "p/learnings/two-2b3c.md", note)
    assert store.same("learning", "Two", "it fails.").name == "p/learnings/two-2b3c.md"
    first = store.add("learning", "Two", "It fails\n")
    assert store.same("learning", "Two", "It fails") == first
    assert store.same("learning", "Two", "IT FAILS").name == "p/learnings/two-2b3c.md"
    store.edit("p/learnings/two-2b3c.md", {"accepted": True})
    assert store.same("learning", "Two", "IT FAILS") is None
    assert store.same("learning", "Two", "IT FAILS", nearly=True) is not None


# ---- changing


def test_an_edit_keeps_what_it_does_not_name(store, place):
    """Unknown keys, order, comments, line ends and the body stay byte for byte."""
    data = b"\xef\xbb\xbf---\r\n# mine\r\nown: 1\r\ntitle: Old # why\r\n---\r\nbody \xff\r\n"
    name = write(place, "p/learnings/x.md", data)
    record = store.edit(name, {"title": "New", "pinned": True})
    assert record.title == "New" and record.pinned
    assert Path(place.path(name)).read_bytes() == data.replace(b"Old", b"New").replace(
        b"why\r\n", b"why\r\npinned: true\r\n"
    )


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
    """A secret the file did not hold is taken out; one that a person wrote there is theirs to
    remove.
    """
    record = store.add("learning", "T", "body")
    assert (
        key()
        not in store.replace(
            record.name, store.raw(record.name) + key().encode(), record.checksum
        ).body
    )
    name = write(place, "p/learnings/mine.md", "---\ntitle: t\n---\n" + key() + "\n")
    assert key() in store.edit(name, {"pinned": "true"}).body
    assert key() not in str(
        store.edit(
            name, {"note": "x " + key()[::-1] + " y", "other": "AK" + "IA" + "ZZZGRXMPL7WZT2BH"}
        ).meta["other"]
    )


def test_a_failing_index_costs_no_record(store):
    """The record stands although telling the index of it failed."""

    def fail(name: str) -> None:
        raise OSError(28, "No space left on device")

    store.on_change = fail
    record = store.add("learning", "T", "body")
    assert store.read(record.name) == record


# ---- faults


@posix_only
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_modes_do_not_depend_on_the_umask(store, place, umask):
    """Private files are 0600 in directories 0700; shared ones, which are committed, 0644 in
    0755.
    """
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
from memory.core import config, layout
from memory.store.store import Store
env = {"HOME": sys.argv[2]}
place = layout.locate(env, sys.argv[3])
store = Store(place, config.load(place.home, "", {}), 1795271452.0)
sys.stdin.readline()
for number in range(int(sys.argv[4])):
    print(store.add("learning", "T %d" % number, "the same body").name)
"""


def test_processes_that_add_at_once_make_one_file_each(home, project, store):
    """Four processes adding the same twenty records end with twenty files, and all name the
    same.
    """
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, ROOT, home, project, "20"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
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
    """Killed between temp and link: no record is seen, and the next write removes the temp; one of
    another machine once it is an hour old.
    """
    store.add("learning", "Before", "b")

    def killed() -> None:
        files.posix.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        store.add("learning", "Lost", "b")

    assert os.WTERMSIG(in_child(killed)) == signal.SIGKILL
    folder = Path(place.folder("p", "learning"))
    left = [path for path in folder.iterdir() if path.name.startswith(files.TEMP_PREFIX)]
    assert len(left) == 1 and [record.title for record in store.each()] == ["Before"]
    os.utime(left[0], (now, now))
    away = folder / (files.TEMP_PREFIX + "99999999-0-elsewhere.1")
    away.write_bytes(b"being written")
    os.utime(away, (now, now))
    store.add("learning", "Young", "b")
    assert not left[0].exists() and away.exists()
    os.utime(away, (now - 7200, now - 7200))
    alive = folder / ("%s%d-0" % (files.TEMP_PREFIX, os.getpid()))
    alive.write_bytes(b"being written")
    os.utime(alive, (now - 7200, now - 7200))
    store.add("learning", "After", "b")
    assert not away.exists() and alive.exists()


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
    assert sorted(os.listdir(place.folder("p", "learning"))) == [
        name.rpartition("/")[2] for name in store.names()
    ]
    assert [record.title for record in store.each()] == ["Small"]


@posix_only
def test_without_hard_links_nothing_is_overwritten(store, place, monkeypatch):
    """exFAT and some FUSE mounts have no link(2): add, archive and restore work, and collide
    safely.
    """

    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(files.posix, "link", refuse)
    monkeypatch.setattr(os, "link", refuse)
    record = store.add("learning", "T", "body")
    assert store.add("learning", "T", "body") == record
    store.archive(record.name, "r")
    write(place, record.name, "taken\n")
    with pytest.raises(StoreError):
        store.restore(record.id)
    os.unlink(place.path(record.name))
    assert store.restore(record.id).body == "body\n"
    assert not [
        name
        for name in os.listdir(place.folder("p", "learning"))
        if name.startswith(files.TEMP_PREFIX)
    ]


@posix_only
def test_a_read_only_store_reads_on_and_loses_nothing(now, project):
    """Where nothing may be written, every write is a StoreError, reading works and all bytes
    stay.
    """
    # pytest's own directories are closed to the user that the child becomes
    base = Path(tempfile.mkdtemp())
    try:
        os.chmod(base, 0o755)
        place = layout.locate({"DAYLEAF_HOME": str(base / "home")}, project)
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
            for attempt in (
                lambda: store.add("learning", "U", "b"),
                lambda: store.edit(record.name, {"a": "b"}),
                lambda: store.replace(record.name, b"x", record.checksum),
                lambda: store.archive(record.name, "r"),
            ):
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


def test_a_conversation_is_filed_by_day_and_time_and_stays_private(store, place):
    """A day's folder keeps thousands of files findable; in a repository or for all projects none is
    written.
    """
    record = store.add(
        "conversation",
        "Resume on fresh clones",
        talks.RESUME,
        source="auto",
        session="s-1",
        extra={"created": 1795271452.0},
    )
    assert re.fullmatch(
        "p/conversations/2026-11-21/143052-resume-on-fresh-clones-[0-9a-f]{4}.md", record.name
    )
    assert store.read(record.name).body == talks.RESUME
    for tier in ("s", "g"):
        with pytest.raises(UsageError, match="private tier"):
            store.add("conversation", "x", talks.RESUME, tier=tier)
    assert not os.path.exists(place.path("s/conversations"))
