"""The words for secrets: each is found from its stem, in each language, and what turns it into
something else.
"""

from __future__ import annotations

import re

import pytest

from memory.store import secretlabels

WORDS = (
    "password passwords passwd passphrase passcode passwort passwörter kennwort pwd pw secret "
    "secrets token tokens credential creds key keys geheimnis zugangsdaten senha wachtwoord parola "
    "contraseña schlüssel hasło şifre lösenord пароль пароля токен ключ секрет 비밀번호 암호 "
    "패스워드 비번 시크릿 토큰 인증키 パスワード パスコード トークン シークレット 秘密鍵 密码 密碼 "
    "口令 密钥 令牌 凭证 私钥"
).split()


@pytest.mark.parametrize("word", WORDS)
def test_a_word_for_a_secret_is_found_from_its_stem(word):
    """A stem tells where to look, and the expression reads the word to its end."""
    stems = secretlabels.STEMS + secretlabels.STEMS_BEYOND_ASCII
    places = [word.find(stem) for stem in stems if stem in word]
    matches = [re.compile(secretlabels.LABEL).match(word, at) for at in places]
    assert any(match and match.end() == len(word) for match in matches), (word, places)


def test_each_stem_begins_a_word():
    """No stem is looked for in vain: some word of its own begins with it."""
    for stem in secretlabels.STEMS + secretlabels.STEMS_BEYOND_ASCII:
        endings = ("", "word", "sdaten", "n", "ь")
        assert any(re.compile(secretlabels.LABEL).match(stem + ending) for ending in endings), stem


@pytest.mark.parametrize(
    "rest",
    [" hash", "_id", " length", " policy", "Manager", "s are", "_url", " file", " reset", "less"],
)
def test_a_word_that_goes_on_may_name_something_else(rest):
    """Of a hash, a length or a file no value follows; a plural and a verb change nothing."""
    found = re.compile(secretlabels.NOT_LABEL, re.I).match(rest)
    assert bool(found) == (rest != "s are")
