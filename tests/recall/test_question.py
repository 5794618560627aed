"""What is asked: options, filters, versions, words without an answer."""

from __future__ import annotations

import json
from unicodedata import normalize

import pytest
from harness import vault
from harness.asking import ask, ids, write
from harness.candidates import FITS, WORTH, listed

from memory.core import UsageError, clock, records
from memory.hook import fence
from memory.index import builder
from memory.recall import question, search


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"kind": "checkpoint"}, {"c-today", "c-yesterday"}),
        ({"kind": ["rule", "checkpoint"]}, {"r-pin", "c-today", "c-yesterday"}),
        ({"tag": "auth"}, {"l-jwt"}),
        ({"tag": "#Auth,jwt"}, {"l-jwt"}),
        ({"tag": "auth,build"}, set()),
        ({"topic": "login"}, {"l-jwt"}),
        ({"topic": "build"}, {"l-docker"}),
        ({"file": "jwt.py"}, {"l-jwt", "c-today"}),
        ({"file": "src/auth/jwt.py"}, {"l-jwt", "c-today"}),
        ({"branch": "ui"}, {"c-yesterday"}),
        ({"session": "s-1"}, {"c-today"}),
        ({"since": "2d"}, {"l-jwt", "c-today", "c-yesterday"}),
        ({"from": "2026-10-01", "to": "2026-10-05"}, {"l-redis"}),
        ({"days": 1}, {"c-today"}),
    ],
)
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
    parts = {
        h.record.id: dict(h.parts)["version"]
        for h in ask(store, now, "jwt issuer layer caching", version="2.0").hits
    }
    assert (parts["l-jwt"], parts["l-docker"], parts["r-pin"]) == (1.0, 0.95, 0.7)


def test_context_tags_raise_a_record(store, now):
    """1 + 0.1 * weight, shown among the parts."""
    found = ask(store, now, "jwt", context_tags="auth=2")
    named = {hit.record.id: dict(hit.parts)["tags"] for hit in found.hits}
    assert named["l-jwt"] == pytest.approx(1.2) and named["c-today"] == 1.0


def test_gaps_name_the_words_that_no_record_holds(store, now):
    """For the prompt to contribute."""
    assert ask(store, now, "jwt kafka zookeeper").known_gaps == ("kafka", "zookeeper")


@pytest.mark.parametrize(
    "given",
    [
        {"limit": 0},
        {"limit": "x"},
        {"limit": 10**9},
        {"min-score": "nan"},
        {"since": "soonish"},
        {"days": 0},
        {"context-tags": "a=b"},
        {"query": True},
        {"colour": "red"},
    ],
)
def test_a_malformed_option_is_refused(given, now):
    """One line, exit 2."""
    with pytest.raises(UsageError):
        question.query_from_options(given, now, clock.utc)


@pytest.mark.parametrize(("asked", "held", "fit"), FITS)
@pytest.mark.parametrize("way", ["words", "typo", "newest", "files", "stop words"])
def test_a_recall_scores_by_the_table_and_never_shows_a_disjoint_one(
    place, now, asked, held, fit, way
):
    """Through the index, a misspelling, a listing, common words alone, and the files where there is
    no index.
    """
    vault.put(
        place,
        "p/learnings/a.md",
        "Importer",
        "the importer drops rows and so it is",
        **({} if held == "-" else {"versions": "[%s]" % held}),
    )
    vault.put(place, "p/learnings/z.md", "Zebra", "stripes", versions="[99]")
    if way != "files":
        builder.build(place, now)
    text = {
        "words": "importer rows",
        "typo": "imporetr",
        "newest": "",
        "files": "importer rows",
        "stop words": "so it is",
    }[way]
    found = search.recall(
        place, vault.settings(), search.Query(text, versions=tuple(listed(asked))), now, clock.utc
    )
    assert [hit.record.id for hit in found.hits] == ([] if fit is None else ["a"])
    if fit and way != "newest":
        assert dict(found.hits[0].parts)["version"] == WORTH[fit] and found.backend.startswith(
            "lexical"
        )


@pytest.mark.parametrize("query", ["importer", ""])
def test_any_number_of_better_matches_for_other_versions_hide_nothing(place, now, query):
    """They take no place among the candidates, nor among the newest."""
    for i in range(300):
        vault.put(
            place,
            "p/learnings/l%d.md" % i,
            "Importer importer",
            "importer importer",
            versions="[1.0]",
            created="2026-11-20",
        )
    vault.put(
        place,
        "p/learnings/one.md",
        "Rows",
        "long ago the importer lost some",
        versions="[2.1]",
        created="2020-01-01",
    )
    builder.build(place, now)
    found = search.recall(
        place, vault.settings(), search.Query(query, versions=("2.1",), limit=5), now, clock.utc
    )
    assert [hit.record.id for hit in found.hits] == ["one"] and found.left_out == 0


def test_the_option_is_repeated_or_takes_commas(run, importer):
    """Either way, in any order."""
    for words in (("--version", "2.2", "--version", "2.1"), ("--version", "v2.1, v2.2")):
        hit = json.loads(run("recall", "importer", "--json", "--explain", *words).stdout)["hits"][0]
        assert hit["id"] == "a" and hit["parts"]["version"] == 1.0
    hits = json.loads(run("recall", "importer", "--json", "--version", "unversioned").stdout)[
        "hits"
    ]
    assert [hit["id"] for hit in hits] == ["c"]


@pytest.mark.parametrize(
    "words",
    [
        ("recall", "x", "--version", "2 .1"),
        ("distill", "x", "--version", "2.1,2 .2"),
        ("learn", "x is y", "--version", "2.1 2.2"),
        ("recall", "x", "--version", "2\u3000.1"),
    ],
)
def test_a_version_with_a_blank_is_refused(run, words):
    """One line, and nothing is written."""
    done = run(*words)
    assert (
        done.returncode == 2 and done.stderr.count("\n") == 1 and "contains a space" in done.stderr
    )
    assert json.loads(run("recall", "--json").stdout)["hits"] == []


def test_a_versions_line_is_read_however_it_is_written():
    """A list, a text with commas, a number."""
    for said in ("[2.1, 2.2]", "2.1, 2.2", "\n  - 2.1\n  - 2.2", "['2.1', \"2.2\"]"):
        record = records.from_bytes(
            "p/learnings/a.md", ("---\nversions: %s\n---\nx\n" % said).encode(), 0.0
        )
        assert record.versions == ("2.1", "2.2")
    assert fence.format_versions(record.versions) == "v2.1, v2.2"


def test_a_syllable_of_a_korean_word_finds_nothing(place, now):
    """`인` stands in many words: a word is asked for by its pairs of syllables, and its whole run
    weighs nothing beside them.
    """
    write(
        place,
        "p/learnings/a.md",
        "주문 조회가 느려서 인덱스를 추가했다.",
        id="index",
        title="인덱스 추가",
    )
    write(place, "p/learnings/b.md", "인증서가 만료되었다.", id="cert", title="인증서 만료")
    builder.build(place, now)
    assert ids(place, now, "인덱스를") == ["index"] and ids(place, now, "인쇄") == []
    assert ask(place, now, "인쇄").known_gaps == ("인쇄",)


def test_a_query_of_one_syllable_is_looked_for(place, now):
    """Nothing else was said."""
    write(place, "p/learnings/a.md", "API 키 없음", id="key")
    builder.build(place, now)
    assert ids(place, now, "키") == ["key"]


def test_a_date_in_a_question_hides_nothing_and_lifts_what_is_near(place, now):
    """A record whose title has the date was written later; of two that are equal the one of that
    day leads.
    """
    write(
        place,
        "p/checkpoints/a.md",
        "Retries were kept.",
        id="later",
        title="Retries as of 2026-01-12",
        created="2026-03-01",
    )
    write(
        place,
        "p/checkpoints/b.md",
        "Retries were kept.",
        id="then",
        title="Retries",
        created="2026-01-12T10:00:00Z",
    )
    write(
        place,
        "p/checkpoints/c.md",
        "Retries were kept.",
        id="other",
        title="Retries",
        created="2026-06-12",
    )
    builder.build(place, now)
    found = ask(place, now, "what did we decide on 2026-01-12 about retries")
    assert found.hits[0].id in ("later", "then") and len(found.hits) == 3
    assert ids(place, now, "retries in January 2026")[1:] == ["then", "other"]
    assert dict(found.hits[0].parts)["date"] > 1.0
    assert ask(place, now, "retries of kafka on 2026-02-03").known_gaps == ("kafka",)
    assert ids(place, now, "retries before 2026-02-01") == ["then"]


@pytest.mark.parametrize(
    "query",
    [
        "what was done yesterday",
        "was haben wir gestern gemacht?",
        "woran haben wir gestern gearbeitet?",
        "was haben wir am 2026-11-20 gemacht?",
        "что мы делали вчера?",
        "что было сделано вчера",
        "어제 뭐 했지?",
        "어제 무엇을 했나요",
        "昨日何をしましたか",
        "昨日は何をした？",
        "昨天做了什么",
        "我们昨天做了什么？",
        "what did I finish yesterday",
        "what have we shipped yesterday?",
        "was war gestern?",
        "was lief gestern?",
        "was hast du gestern erledigt?",
        "die Arbeit von gestern",
        "работа за вчера",
        "어제 한 일",
        "어제 무슨 작업을 했어?",
        "어제 작업",
        "昨日の作業",
        "昨日の仕事は？",
        "昨天的工作",
        "昨天的工作内容",
        "昨天都干了啥",
        "yesterday's sessions",
        "show me yesterday’s work",
        "sessions from yesterday",
        "summary of yesterday",
        "what came out yesterday?",
        "where did we leave off yesterday?",
        "gestrige Sitzungen",
        "Zusammenfassung von gestern",
        "вчерашние сессии",
        "итоги вчера",
        "어제 세션",
        "어제 뭘 끝냈어?",
        "昨日のセッション",
        "昨日やったこと",
        "昨日のまとめ",
        "昨天的会话",
        "昨天的总结",
    ],
)
def test_a_question_with_no_word_but_its_time_lists_that_time(place, now, query):
    """Also where an older record is written in its language."""
    old = "Wir haben den Cache gemacht. Мы делали кэш. 우리는 캐시를 했다. 我们做了缓存。"
    for id, day, text in (("old", "2026-11-10", old), ("new", "2026-11-20", "Beta is fixed.")):
        file = "p/checkpoints/%s/100000-x.md" % day
        vault.put(place, file, "Work", text, id=id, kind="checkpoint", created=day + "T10:00Z")
    assert ids(place, now, query) == ["new"]


def test_common_words_that_records_hold_do_not_hide_what_is_of_that_time(place, now):
    """Where no record of the time holds them; those of other times are not meant."""
    for id, day, text in (("old", "2026-11-10", "We left it off."), ("new", "2026-11-20", "Beta.")):
        file = "p/checkpoints/%s/100000-x.md" % day
        vault.put(place, file, "Work", text, id=id, kind="checkpoint", created=day + "T10:00Z")
    assert ids(place, now, "what was left off yesterday?") == ["new"]
    assert ids(place, now, "left off") == ["old"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("was haben wir gestern am Cache gemacht?", ["old"]),
        ("昨天缓存做了什么", ["old"]),
        ("what did we do with kafka yesterday?", []),
        ("kafka gestern", []),
        ("what did we learn about kafka yesterday?", []),
        ("昨天的缓存工作", ["old"]),
        ("yesterday's kafka sessions", []),
        ("was haben wir vorgestern gemacht?", []),
    ],
)
def test_a_question_with_a_subject_searches_it(place, now, query, expected):
    """A record of another time, or none, rather than what the time has of other subjects."""
    old = "Der Cache ist schnell. 缓存很快。"
    for id, day, text in (("old", "2026-11-10", old), ("new", "2026-11-20", "Beta is fixed.")):
        file = "p/checkpoints/%s/100000-x.md" % day
        vault.put(place, file, "Work", text, id=id, kind="checkpoint", created=day + "T10:00Z")
    assert ids(place, now, query) == expected


@pytest.mark.parametrize(("kept", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_name_is_found_in_either_form_of_its_letters(place, now, kept, asked):
    """macOS gives file names in NFD; a keyboard types NFC."""
    held, typed = (normalize(form, "größe") for form in (kept, asked))
    vault.put(
        place,
        "p/checkpoints/2026-11-20/100000-x.md",
        "Sizes",
        "Checked `src/%s.go`." % held,
        id="c-1",
        kind="checkpoint",
        tags=held,
        branch="fix/" + held,
        files="lib/%s.py" % held,
        created="2026-11-20T10:00Z",
    )
    for given in (
        {"tag": typed},
        {"topic": "G" + typed[1:]},
        {"branch": "fix/" + typed},
        {"file": typed + ".py"},
        {"file": "src/%s.go" % typed},
    ):
        assert ids(place, now, "", **given) == ["c-1"], given
    assert not ids(place, now, "", branch="fix/" + "G" + typed[1:])


def test_what_a_machine_wrote_says_nothing_of_time(place, now):
    """A pasted log's `latest` and `yesterday` neither narrow nor lift; what is typed beside it
    does.
    """
    log = (
        "ERROR: latest migration of yesterday failed\n"
        '  File "/app/today.py", line 3, in recent\nwhy does kafka fail'
    )
    said = question.interpret(question.Query(log), now, clock.utc)
    assert (said.query.text, said.narrowed, said.latest, said.about) == (
        log,
        False,
        False,
        (None, None),
    )
    for said in (
        log + " since yesterday",
        "#123 since yesterday",
        "the kafka error: what happened yesterday",
        "at work yesterday",
    ):
        assert question.interpret(question.Query(said), now, clock.utc).narrowed
    for said in (
        "npm ERR! notsup latest version",
        "app.py:3: ValueError: latest",
        "panic: no latest node",
        "    return latest",
    ):
        assert not question.interpret(question.Query(said), now, clock.utc).latest


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("checkpoints", {"c-today", "c-yesterday"}),
        ("all my checkpoints", {"c-today", "c-yesterday"}),
        ("list learnings and rules", None),
        ("rules", {"r-pin"}),
    ],
)
def test_a_kind_s_name_alone_lists_it(store, now, query, expected):
    """In the plural; beside other words it is a word like any other."""
    found = ids(store, now, query, limit=50)
    assert expected is None or set(found) == expected
    assert (
        question.interpret(
            question.Query("plan the checkpoints of jwt"), now, clock.utc
        ).query.kinds
        == ()
    )
    assert question.interpret(question.Query("plan"), now, clock.utc).query.kinds == ()


def test_a_day_alone_lists_what_is_of_it_below_what_its_title_names(place, now):
    """Both, and the titled record alone where nothing is of that day."""
    title = "Outage of 2026-04-07"
    write(place, "p/learnings/a.md", "Down.", id="named", title=title, created="2026-05-01")
    assert ids(place, now, "2026-04-07") == ["named"]
    write(place, "p/learnings/b.md", "Up.", id="then", title="Up", created="2026-04-07T10:00:00Z")
    assert ids(place, now, "2026-04-07") == ["named", "then"]
    assert ids(place, now, "2026-05-01") == ["named"]


@pytest.mark.parametrize(
    ("type", "expected"),
    [("doc", ["d-guide"]), ("script", ["s-mint"]), ("both", ["d-guide", "s-mint"])],
)
def test_a_type_narrows_to_resources(shop, now, type, expected):
    """With words and without; another type is refused."""
    assert sorted(ids(shop, now, "", type=type, limit=50)) == expected
    assert ids(shop, now, "token", type=type) == [id for id in expected if id == "s-mint"]
    with pytest.raises(UsageError):
        ask(shop, now, "token", type="file")
