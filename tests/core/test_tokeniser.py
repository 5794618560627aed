"""The tokeniser: what is indexed, and what meets what."""

import pytest

from memory.core import tokeniser

TABLE = [
    ("getUserToken", ["getusertoken", "user", "token"]),
    ("user_token", ["usertoken", "user", "token"]),
    ("src/auth/jwt.py", ["src", "auth", "jwt", "py", "jwt.py"]),
    ("src/pkg/__init__.py", ["src", "pkg", "init", "py", "init__.py"]),
    ("DataArray.to_dataset", ["dataarray", "data", "arrai", "todataset", "dataset"]),
    ("--no-cache", ["no", "cach", "nocache"]),
    ("UCP1-independent", ["ucp1", "ucp", "1", "independ", "ucp1independent"]),
    ("HIV-1", ["hiv", "1", "hiv1"]),
    ("h5netcdf", ["h5netcdf", "5", "netcdf"]),
    ("HNF4A", ["hnf4a", "hnf", "4"]),
    ("amyloid-β", ["amyloid", "β"]),
    ("TNFα", ["tnfα", "tnf"]),
    ("E0382", ["e0382", "0382"]),
    ("3.10", ["3.10"]),
    ("v2.1.0", ["2.1.0", "v2"]),
    ("py3.11.4", ["py3", "py", "3", "11", "4", "py3.11.4", "3.11.4"]),
    ("app-2.0.0-rc.3", ["app", "2", "0", "rc", "3", "app-2.0.0-rc.3", "2.0.0"]),
    ("b6fd487", ["b6fd487"]),
    ("버튼을", ["버튼", "튼을", "버튼을", "버", "튼", "을"]),
    ("Café", ["cafe"]),
    ("JWT토큰", ["jwt", "토큰", "토", "큰"]),
    ("HTTPServer", ["httpserver", "http", "server"]),
    ("Piezo1", ["piezo1", "piezo", "1"]),
    ("running tests", ["run", "test"]),
]


@pytest.mark.parametrize(("word", "terms"), TABLE, ids=[t[0] for t in TABLE])
def test_a_word_gives_its_terms(word, terms):
    """Identifiers, paths, options, codes, versions, hashes and CJK runs."""
    assert tokeniser.index_terms(word) == terms


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("버튼", "버튼을 누르면"),
        ("버튼을", "버튼이 없다"),
        ("get_user_token", "call getUserToken()"),
        ("no-cache", "the noCache flag"),
        ("6.23.9", "Upgrade to v6.23.9, please"),
        ("v5.22.8", "5.22.8 broke it"),
        ("jwt.py", "see src/auth/jwt.py:42"),
        ("cafe", "Café"),
        ("ＪＷＴ", "jwt"),
        ("検索", "全文検索の設定"),
        ("缓存", "清除缓存文件"),
        ("платёжного сервиса", "Платёжный сервис отвечает"),
    ],
)
def test_what_people_write_meets_what_is_written(query, body):
    """A query and a text in another spelling share a term."""
    assert {t for t, _ in tokeniser.query_terms(query)} & set(tokeniser.index_terms(body))


def test_decomposed_and_composed_forms_give_the_same_terms():
    """A file name from a Mac (NFD) and a typed word (NFC) meet."""
    from unicodedata import normalize

    for word in ("버튼", "Größe", "ガイド"):
        assert tokeniser.index_terms(normalize("NFD", word)) == tokeniser.index_terms(word)


def test_what_only_joins_and_inflects_weighs_little_in_a_query():
    """Hiragana, and a single character of a word in Han or kana."""
    weights = dict(tokeniser.query_terms("支払いました"))
    assert weights["支払"] == weights["払い"] == 1.0 and weights["まし"] == tokeniser.ENDING
    assert weights["支"] == tokeniser.LONE and weights["た"] < tokeniser.ENDING


def test_stop_words_count_only_where_nothing_else_is_left():
    """`the cache` is about the cache; `to be` is about nothing else."""
    assert tokeniser.query_terms("the cache") == [("cach", 1.0)]
    assert [t for t, _ in tokeniser.query_terms("to be")] == ["to", "be"]


def test_parts_of_an_identifier_weigh_half_in_a_query():
    """The whole counts 1, its parts 0.5."""
    assert dict(tokeniser.query_terms("parseHeader")) == {
        "parseheader": 1.0,
        "pars": 0.5,
        "header": 0.5,
    }


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("motoring", "motor"),
        ("hopping", "hop"),
        ("filing", "file"),
        ("happy", "happi"),
        ("relational", "relat"),
        ("vietnamization", "vietnam"),
        ("triplicate", "triplic"),
        ("adjustment", "adjust"),
        ("controll", "control"),
        ("sky", "sky"),
        ("is", "is"),
    ],
)
def test_the_stemmer_gives_what_porter_wrote(word, stem):
    """Examples of the paper (M. Porter, 1980)."""
    assert tokeniser.stem(word) == stem


def test_tokens_are_bytes_over_four_rounded_up():
    """One rule for every estimate."""
    assert [tokeniser.count_tokens(t) for t in ("", "a", "abcd", "abcde", "버튼")] == [
        0,
        1,
        1,
        2,
        2,
    ]


def test_utf16_counts_what_the_host_counts():
    """An emoji is two units."""
    assert [tokeniser.count_utf16(t) for t in ("abc", "é", "😀")] == [3, 1, 2]


def test_hostile_text_is_no_error():
    """Control characters, surrogates, long runs: nothing raises, and nothing endless is indexed."""
    for word in ("\x00\x1b[31m", "a" * 10000, "\ud800", "-" * 5000, "/" * 3000, "🇰🇷" * 50, "_._-/"):
        assert all(len(term) <= 64 * 3 for term in tokeniser.index_terms(word))


def test_a_long_path_or_sentence_is_found_by_its_parts():
    """A token of more than 64 characters has no whole, but its parts, its file's name and its
    bigrams are terms.
    """
    path = "src/main/java/com/company/product/module/service/impl/AuthenticationServiceImpl.java"
    assert {
        "authenticationserviceimpl",
        "authenticationserviceimpl.java",
        "authent",
        "modul",
    } <= set(tokeniser.index_terms(path))
    sentence = "これは再試行の問題についての長い文章でありまして" * 4
    assert {"再試", "試行"} <= set(tokeniser.index_terms(sentence)) and {
        t for t, _ in tokeniser.query_terms("再試行")
    } & set(tokeniser.index_terms(sentence))


def test_base64_gives_no_terms():
    """Long runs of mixed letters and digits would fill the vocabulary with noise."""
    blob = "f7yaQvnnV/fPC5xM4oup/LskDIJ4smjujiV/q9Zb2Kd8Ww1x/aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1v"
    assert tokeniser.index_terms(blob) == [] and tokeniser.index_terms("x" * 65) == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("a\n```\nb\n```\nc", "01110"),
        ("````\n```\n````\nc", "1110"),
        ("~~~ sh\n```\n~~~\nc", "1110"),
        ("  ```py\n# b\n  ```\nc", "1110"),
        ("``` `x` ```\nc", "00"),
        ("```\nnever closed", "11"),
        ("```\n``` b\n```\nc", "1110"),
    ],
)
def test_code_is_what_stands_in_a_fence(body, code):
    """A fence is closed by one of its own marks, at least as long, alone on its line."""
    assert "".join("01"[inside] for _, inside in tokeniser.mark_code(body.split("\n"))) == code


@pytest.mark.parametrize(
    ("line", "level", "said"),
    [
        ("# A", 1, "A"),
        ("###\tA b ##", 3, "A b"),
        ("#A", 0, ""),
        ("####### A", 0, ""),
        (" # A", 0, ""),
        ("#", 0, ""),
        ("## ", 2, ""),
    ],
)
def test_a_heading_has_its_marks_before_a_blank(line, level, said):
    """One to six of them."""
    assert tokeniser.parse_heading(line) == (level, said)


@pytest.mark.parametrize(
    ("line", "bold"),
    [
        ("**Root cause**", True),
        ("**Root cause:**", True),
        ("**Root cause**:", True),
        ("**Root** cause", False),
        ("**a** and **b**", False),
        ("Root cause", False),
    ],
)
def test_a_line_is_bold_where_all_of_it_is(line, bold):
    """A colon may follow; two parts are no heading."""
    assert tokeniser.is_bold(line) is bold
