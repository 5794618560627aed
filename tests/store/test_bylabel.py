"""Secrets whose label stands apart, and what merely stands near such a word."""

from __future__ import annotations

import pytest
from harness.leaks import ALNUM, HEX, made

from memory.store.redactor import clean, find_secrets, redact

VALUE = made("label", ALNUM, 16)


@pytest.mark.parametrize(
    "template",
    [
        "password:\n\n\n{}",
        "## Password\n\n```\n{}\n```",
        "| user | password |\n|---|---|\n| admin | {} |",
        "host,login,password\ndb1,root,{}\n",
        "the password for the staging database is {}",
        "use {} as the password",
        "비밀번호\n```\n{}\n```",
        "パスワードとして「{}」を使う",
        "把密码设置为{}",
        "nimm {} als Passwort",
        "пароль от базы — {}",
        "<th>Password</th></tr><tr><td>{}</td></tr>",
        "<key>Password</key>\n<string>{}</string>",
        "пароль администратора {}",
        "войди с паролем {}",
        "{} 가 관리자 비밀번호야",
        "{} を管理者パスワードとして使って",
        "pass for root on db1 is {}",
        "use this key for the API: {}",
        "1. password:\n2. {}",
        "1) API password:\r\n2) {}",
        "\\texttt{{password}}: \\texttt{{{}}}",
        "\\textbf{{Password:}} \\texttt{{{}}}",
        "Passwort für\nden Server: {}",
        "the password of\nthe build host: {}",
        "APIキー「{}」",
        "spring.datasource.password:\n  {}",
        "app.api.token =\n  {}",
        "auth/password:\n  {}",
        ".Password\n----\n{}\n----",
        "cat > /run/secrets/db_password <<EOF\n{}\nEOF",
        "cat <<'EOF' > secrets/api_token\n{}\nEOF",
        "echo {} > ~/.secrets/api_token",
        '!!! note "Password"\n    {}',
        "存取權杖：\n{}",
        "Der neue Freischaltcode für die API:\n{}",
    ],
)
def test_a_value_goes_wherever_its_label_reaches(template):
    """Below it, at the head of its column, in its sentence, in seven languages."""
    assert VALUE not in redact("Before.\n" + template.format(VALUE) + "\nAfter.").text


def test_a_label_reaches_as_far_as_is_documented_and_no_farther():
    """Eight lines and 420 characters after it, 160 before it in its own line."""
    ask = "ask the others\n"
    assert VALUE not in redact("the password for staging:\n" + 3 * ask + VALUE).text
    assert VALUE in redact("the password for staging:\n" + 8 * ask + VALUE).text
    assert VALUE not in redact("the password " + "really " * 30 + "is " + VALUE).text
    assert VALUE in redact("the password " + "really " * 60 + "is " + VALUE).text
    assert VALUE not in redact("use " + VALUE + " as the new password").text
    assert VALUE in redact("use " + VALUE + " as " + "really " * 23 + "the new password").text


def test_an_answer_to_a_question_goes():
    """Texts that are cleaned together follow one another: what is asked in one is told in the
    next.
    """
    config = {"redact.enabled": True, "redact.allow": ()}
    assert VALUE not in clean(["What is the password for the staging host?", VALUE], config, "")[1]
    assert clean(["What is the best name for the staging host?", VALUE], config, "")[1] == VALUE


@pytest.mark.parametrize(
    "text",
    [
        "the password is stored in db1",
        "password hash:\n" + made("h", HEX, 40),
        "the token limit is 4096",
        "Reset the password in step2.",
        "password policy:\n12characters",
        "password: 12. Then the length",
        "1. password:\n2. host",
        "\\texttt{password}: \\texttt{str}",
        "the password \\textit{bonneau2012} studied",
        "password for\nthe server: db1.internal.example",
        "the password for\nthe box is set in step2",
        "| key | type |\n|---|---|\n| user_id2 | int |",
        "| token | count |\n|---|---|\n| foo2 | 12 |",
        "the commit with the password fix is 1a2b3c4d5e6f",
        "key:\n- item1\n- item2",
        "the secret to speed is O2",
        "password\nreset2024.md",
        "--- PASS: TestTwo7Parts\n=== RUN   TestTwo7Parts/7_hex_chars",
        "token\ntoolu_" + made("t", ALNUM, 24),
        "use sha256 as the password hash",
        "The API key goes into config.v2.yaml",
        "password:\nhttps://h.example/reset/12",
        "const password = new Password2FA()\nfoo7",
        "Passwords are hashed with argon2id",
        "the key is to use Python3",
        "token: see section 4.2\n\nv2.10.3",
        "비밀번호는 8자 이상이어야 한다",
        "密码长度至少12位",
        "pass the id 42 as the key",
        "a secret that only user2 knows",
        "name,key\nfoo,bar2\n",
        "the password field is called pwd2",
        "primary key:\n" + made("p", ALNUM, 24),
        "-----BEGIN PUBLIC KEY-----\n" + made("pub", ALNUM, 60),
        "cache key is linux-node18-" + made("c", HEX, 20),
        "KeyError: 'password'\n  File \"a.py\", line 12",
    ],
)
def test_what_merely_stands_near_a_label_stays(text):
    """Names, versions, files, hashes, counts and code below or beside such a word are no values of
    it.
    """
    assert find_secrets("One.\n" + text + "\nTwo.") == {}


@pytest.mark.parametrize(
    "template",
    [
        "the wifi password ({} last time)",
        "it asks for a password, type {} there",
        "the password, `{}`, is in the wiki",
    ],
)
def test_a_word_with_digits_and_signs_in_the_line_of_a_password_goes(template):
    """Whatever words stand between, also in brackets and in quotes."""
    said = "Violet" + "3986" + "%"
    assert said not in redact("Before.\n" + template.format(said) + "\nAfter.").text


@pytest.mark.parametrize(
    "text",
    [
        "the password for it comes from 1password item 2",
        "auth2.ts 파일의 비밀번호 검증",
        "the password is checked in auth.ts#L42, see #4512",
        "does the password test pass on python311?",
    ],
)
def test_a_name_in_the_line_of_a_password_stays(text):
    """A product, a file, a line of one, a version."""
    assert redact("Before.\n" + text + "\nAfter.").found == ()


# What a person chooses: a word with digits, words without any.
CHOSEN = "Gr4nit" + "." + "Lotse" + "47"
PHRASE = "-".join(("lantern", "gravel", "otter", "marble"))


@pytest.mark.parametrize(
    "template",
    [
        "### Staging admin password\n\n```\n{}\n```",
        "## Database password\n\nHere it is, keep it safe:\n\n```text\n{}\n```",
        "**Password**\n: {}",
        "| Service | User | Password |\n|---|---|---|\n| board | admin | {} |",
        "NAME                 VALUE\nADMIN_PASSWORD       {}\nMODE   production",
        "user_name\tpassword\nfrieda\t{}",
        "[10:42] A: what was the password of the shop again?\n[10:43] B: {}",
        "Q: Which password do I use for the demo?\nA: it's {}",
        "password ....... {}",
        "Benutzer admin und Kennwort „{}“",
    ],
)
@pytest.mark.parametrize("value", [CHOSEN, PHRASE], ids=["a word with digits", "words"])
def test_a_password_that_a_person_chose_goes_too(template, value):
    """Under its heading, in its column, in the answer to a question."""
    assert value not in redact(template.format(value) + "\n").text


@pytest.mark.parametrize(
    "command",
    [
        "$ pass show work/board",
        "$ cat /var/lib/ci/secrets/initialAdminPassword",
        "me@host:~$ vault get --name /prod/db/password --plain",
    ],
)
def test_what_a_command_printed_alone_goes(command):
    """Where the command names a secret, be it in a path."""
    assert VALUE not in redact(command + "\n" + VALUE + "\n").text
    assert redact(command + "\n3 entries\n").text == command + "\n3 entries\n"


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("passphrase for the vault:\nlantern gravel otter marble\n", "lantern gravel otter"),
        ("Your app password:\n\n    bxgm qqxf vujp xudz\n", "bxgm qqxf"),
        ("Backup codes:\n4fae2-bf74c\n473e1-78d1c\n", "473e1-78d1c"),
        ("331 Password required.\nPASS garten2031\n230 ok", "garten2031"),
        ("334 UGFzc3dvcmQ6\nZ2FydGVuMjAzMQ==\n", "Z2FydGVuMjAzMQ"),
        ("admin / Garten_Tor2031 works", "Garten_Tor2031"),
        ('echo "::add-mask::garten_tor"', "garten_tor"),
        ("127.0.0.1:6379> AUTH default garten_tor2031\n", "garten_tor2031"),
        ("credentials for the drop:\n\nftp.h.example\nwilma\nGarten*2031\n", "Garten*2031"),
        ("ADMIN  PASSWORD        PASSWORD2\nroot   a8Kd02mWq1     q7LdX92mPz", "q7LdX92mPz"),
    ],
)
def test_words_groups_codes_and_protocols_go(text, gone):
    """As applications, wallets, servers and registries show them."""
    assert gone not in redact(text).text


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Zugangsdaten: kunde01 / Garten!2031", "Garten!2031"),
        ("Login-Daten wilma / Garten20x31", "Garten20x31"),
        ("계정: wilma / Garten20x31", "Garten20x31"),
        ("login is wilma:Garten20x31 on the jump host", "Garten20x31"),
        ("use these creds: admin/Garten2031!", "Garten2031!"),
        ("wifi: SSID Guests pw Garten2031", "Garten2031"),
        ('the key\'s passphrase is "ox lantern gravel otter"', "lantern gravel"),
        ('passphrase: "ox lantern gravel otter"', "lantern gravel"),
        ("otp seed " + "JBSWY3DP" + "EHPK3PXP", "EHPK3PXP"),
        ("2FA secret: " + "jbsw y3dp " + "ehpk 3pxp", "ehpk 3pxp"),
    ],
)
def test_what_people_type_to_hand_over_an_account_goes(text, gone):
    """The account's name beside it may stay."""
    assert gone not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "login is localhost:8443x1",
        "login is at https://h.example:8080/x1",
        "login is done in src/auth/login22.py",
        "Login-Daten siehe wilma / vault",
        "SSID Guests pw reset in 2031",
        "the otp seed is only made once more",
        'ssh prints the passphrase prompt "please enter it again"',
        'a passphrase is "any text that you like"',
    ],
)
def test_sentences_about_accounts_stay(text):
    """None of their words is a secret."""
    assert find_secrets(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "'passwd',\n'quad2d',\n'rot90d',",
        "'puts', 'pwd', 'qld',\n'quad2d', 'rgb2gray', 'rad2deg',",
        "passphrase: twice and the callback should verify that both match\n",
        "password,\npkcs12_iter\n",
        "proxy_password\nperl5lib_verbosity\n",
        "credentials are described in RFC:\nhttps://h.example/rfc4\nkeyring>=15.2.0\n",
        "what is a password?\n  (?P<value>\\d+)",
        "password: !vault-ref data/db",
    ],
)
def test_lists_names_and_sentences_below_such_a_word_stay(text):
    """Of the standard library's files and of packages."""
    assert find_secrets("One.\n" + text + "\nTwo.") == {}


@pytest.mark.parametrize("said", ["The login pass for staging.", "redis pass.", "pass of wifi"])
def test_a_pass_that_nothing_does_keeps_its_value_below(said):
    """Tests and people pass; what has a pass has a password."""
    value = "kestrel" + "quux17"
    assert value not in redact(said + "\n" + value).text


@pytest.mark.parametrize("value", ["Tr0ub4dor&3", "zebra.Moon.9"])
@pytest.mark.parametrize(
    "text",
    [
        "Use %s as the\npassword of the staging database.",
        "Use %s as\nthe password of the staging database.",
        "%s is the\npassword of the staging database",
        "The API\nkey of the deployment is %s.",
        "> The API\n> key of the deployment is %s.",
        "note: >\n  Use %s as the\n  password of the staging database.\n",
        "> > Use %s as the\n> > password of the staging database.",
        "# Use %s as the\n# password of the staging database",
        "- Use %s as\r\n  the password of the staging database.",
    ],
)
def test_a_sentence_of_several_lines_is_read_as_one(text, value):
    """In a quotation, a comment or a folded text too."""
    kept = redact(text % value).text
    assert value not in kept and kept.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "d433741427b6877ad55923341a50eb16e45dff40 inject the API key at build time\n"
        "9679d32fa3317400baf63580256651a93d059e29 allow one license",
        "Ask for the password of the host\nserver: db-42.Prod.example\n",
        "# Reset of the password\nthe build Tr0ub4dor-3 runs nightly",
    ],
)
def test_lines_that_are_no_sentence_are_not_joined(text):
    assert redact(text).text == text
