"""Secrets by the name before them, in scripts other than Latin too, and sentences that only speak
of them.
"""

from __future__ import annotations

import pytest

from memory.store.redactor import redact


@pytest.mark.parametrize(
    "template",
    [
        "비밀번호(admin): {}",
        "관리자 비밀번호 → {}",
        "| 비밀번호 | {} |",
        '"비밀번호": "{}"',
        '{{\\"암호\\": \\"{}\\"}}',
        "**패스워드**: {}",
        "비밀 번호: {}",
        "비번은 {}로 바꿨다",
        "パスワード（本番）：{}",
        "パスコード: {}",
        "暗証番号 = {}",
        "密码（生产）：{}",
        "密碼 => {}",
        "口令 | {}",
    ],
)
def test_a_password_goes_by_its_name_in_korean_japanese_and_chinese(template):
    """The name and its value may stand in a table, in JSON, with a hint in brackets, with an arrow
    or a particle between.
    """
    value = "kes" + "trel42"
    assert value not in redact("가.\n" + template.format(value) + "\n나.").text


@pytest.mark.parametrize("text", ["暗証番号は{}です", "暗証番号: {}", "핀번호: {}"])
def test_a_pin_goes_by_its_name(text):
    """Four digits are a secret where the name says that they are one."""
    assert "4829" not in redact(text.format("48" + "29")).text


@pytest.mark.parametrize(
    "text",
    [
        "비밀번호는 bcrypt로 해시한다",
        "비밀번호는 8자 이상",
        "비밀번호는 SHA256으로 저장",
        "암호화는 AES-256-GCM을 쓴다",
        "| 암호 | AES-256-GCM |",
        "암호: ${DB_PASS1}",
        "비밀번호(bcrypt 12): 느리다",
        "토큰은 JWT 형식이다",
        "토큰(JWT): RS256",
        "토큰 l-1a2b3c4d 참고",
        "토큰: 128000",
        "토큰: src/auth/token2.py",
        "비밀번호 변경: PR-4521",
        "비밀번호 검증은 src/auth/password2.py 참고",
        "パスワードは8文字以上",
        "パスワード(8文字以上): required",
        "パスワードを変更した commit 4b1d599dfc2a",
        "暗証番号は4桁",
        "暗証番号を 2026年に変えた",
        "핀번호를 2026년에 바꿨다",
        "密码错误 ORA-01017",
        "密码使用 bcrypt 加密",
        "密码字段 user_password2 已删除",
        "令牌过期时间 2026-11-21",
    ],
)
def test_a_sentence_about_passwords_stays_in_any_script(text):
    """What is said of passwords, tokens and ciphers, with names, tickets and sizes beside the word,
    is no secret.
    """
    assert redact(text).text == text


@pytest.mark.parametrize(
    "text", ["ｐａｓｓｗｏｒｄ：{}", "パスワード：ｋｅｓｔｒｅｌ４２", "Ｐａｓｓｗｏｒｔ: {} Ａ１"]
)
def test_full_width_letters_are_read_as_plain_ones(text):
    """Of the name and of the value; what is no secret keeps its own."""
    kept = redact("Ａ１ " + text.format("kes" + "trel42")).text
    assert not {"kestrel42", "ｋｅｓｔｒｅｌ４２"} & set(kept.replace("：", " ").split())
    assert kept.startswith("Ａ１ " + text[:5]) and "[redacted:" in kept
