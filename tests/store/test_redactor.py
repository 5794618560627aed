"""Redaction: what must go, what must stay, and at what cost.

Every secret here is made at run time from a split prefix and a seeded generator: no file of the
repository looks like a leak.
"""

from __future__ import annotations

import base64
import random
import re
import time
from pathlib import Path

import pytest
from harness.leaks import ALNUM, DIGITS, HEX, KEY_FORMS, LOWER, UPPER, URLSAFE, made, pem, spent

from memory.core.records import Record
from memory.session import entries
from memory.store import redactor
from memory.store.redactor import (
    clean,
    clean_change,
    find_secrets,
    redact,
    strip_private,
    strip_private_record,
)

MARKER = re.compile(r"\[redacted:[a-z-]+#[0-9a-f]{4}\]")


def uuid_of(seed):
    """Return a string in the form of a UUID."""
    hexes = made(seed, HEX, 32)
    return "-".join((hexes[:8], hexes[8:12], hexes[12:16], hexes[16:20], hexes[20:]))


def vendor_tokens(seed=7):
    """Return one token per vendor shape, as (name, token)."""

    def t(name, prefix, chars, length, suffix=""):
        return name, prefix + made("%s%s" % (seed, name), chars, length) + suffix

    b32 = UPPER + "234567"
    dot = made((seed, "d1"), URLSAFE, 22)
    jwt = (
        "ey"
        + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
        + "ey"
        + "JzdWIiOiIx"
        + made((seed, "j1"), ALNUM, 30)
        + "."
        + made((seed, "j2"), URLSAFE, 43)
    )
    return [
        t("aws access key", "AK" + "IA", b32, 16),
        t("aws session key", "AS" + "IA", b32, 16),
        t("aws bedrock", "AB" + "SK", ALNUM, 120),
        t("github classic", "gh" + "p_", ALNUM, 36),
        t("github oauth", "gh" + "o_", ALNUM, 36),
        t("github app", "gh" + "s_", ALNUM, 36),
        t("github refresh", "gh" + "r_", ALNUM, 36),
        t("github fine", "github" + "_pat_", ALNUM + "_", 82),
        t("gitlab", "gl" + "pat-", URLSAFE, 20),
        t("gitlab deploy", "gl" + "dt-", URLSAFE, 20),
        t("gitlab runner", "GR13" + "48941", URLSAFE, 20),
        t(
            "gitlab routable",
            "gl" + "pat-",
            ALNUM,
            27,
            ".01." + made((seed, "gr"), LOWER + DIGITS, 9),
        ),
        (
            "slack bot",
            "xo" + "xb-" + "120349587612-" + "998877665544-" + made((seed, "s1"), ALNUM, 24),
        ),
        ("slack user", "xo" + "xp-" + "120349587612-" * 3 + made((seed, "s2"), HEX, 32)),
        ("slack app", "xa" + "pp-1-A0123BCDEF-" + "120349587612-" + made((seed, "s3"), HEX, 64)),
        (
            "slack webhook",
            "https://hooks.slack"
            + ".com/services/T0AB12CD3/B0EF45GH6/"
            + made((seed, "s4"), ALNUM, 24),
        ),
        (
            "discord webhook",
            "https://discord"
            + ".com/api/webhooks/1122334455667788/"
            + made((seed, "dw"), URLSAFE, 68),
        ),
        (
            "discord bot",
            "M"
            + made((seed, "db"), ALNUM, 23)
            + "."
            + made((seed, "db2"), URLSAFE, 6)
            + "."
            + made((seed, "db3"), URLSAFE, 38),
        ),
        t("stripe live", "sk_" + "live_", ALNUM, 24),
        t("stripe test", "sk_" + "test_", ALNUM, 99),
        t("stripe restricted", "rk_" + "live_", ALNUM, 24),
        t("stripe webhook", "wh" + "sec_", ALNUM, 32),
        t("openai old", "sk" + "-", ALNUM, 20, "T3Blbk" + "FJ" + made((seed, "oa"), ALNUM, 20)),
        t("openai project", "sk-" + "proj-", URLSAFE, 120),
        t("openrouter", "sk-" + "or-v1-", HEX, 64),
        t("deepseek", "sk" + "-", HEX, 32),
        t("anthropic", "sk-" + "ant-api03-", URLSAFE, 93, "AA"),
        t("anthropic admin", "sk-" + "ant-admin01-", URLSAFE, 93, "AA"),
        t("anthropic oauth", "sk-" + "ant-oat01-", URLSAFE, 93, "AA"),
        t("google api", "AI" + "za", URLSAFE, 35),
        t("google oauth", "ya" + "29.", URLSAFE, 60),
        t("google secret", "GOC" + "SPX-", URLSAFE, 28),
        t("npm", "np" + "m_", ALNUM, 36),
        t("pypi", "pyp" + "i-AgEIcHlwaS5vcmc", URLSAFE, 120),
        t("rubygems", "ruby" + "gems_", HEX, 48),
        t("huggingface", "h" + "f_", ALNUM, 34),
        ("sendgrid", "S" + "G." + dot + "." + made((seed, "sg"), URLSAFE, 43)),
        t("twilio", "S" + "K", HEX, 32),
        t("digitalocean", "dop" + "_v1_", HEX, 64),
        t("docker", "dckr" + "_pat_", URLSAFE, 27),
        t("databricks", "da" + "pi", HEX, 32),
        t("telegram", "61234" + "56789:AA", URLSAFE, 33),
        t("shopify", "shp" + "at_", HEX, 32),
        t("square", "sq0" + "atp-", URLSAFE, 22),
        t("mailgun", "ke" + "y-", HEX, 32),
        t("mailchimp", "", HEX, 32, "-us" + "12"),
        t("sendinblue", "xkey" + "sib-", HEX, 64, "-" + made((seed, "sb"), ALNUM, 16)),
        t("postman", "PM" + "AK-", HEX, 24, "-" + made((seed, "pm"), HEX, 34)),
        t("newrelic", "NR" + "AK-", UPPER + DIGITS, 27),
        t("pulumi", "pu" + "l-", HEX, 40),
        t("linear", "lin" + "_api_", ALNUM, 40),
        t("notion", "nt" + "n_", ALNUM, 46),
        t("planetscale", "pscale" + "_tkn_", ALNUM, 43),
        t("grafana", "gl" + "sa_", ALNUM, 32, "_" + made((seed, "gf"), HEX, 8)),
        t("vault", "hv" + "s.", URLSAFE, 95),
        t("terraform", "", ALNUM, 14, ".atlas" + "v1." + made((seed, "tf"), URLSAFE, 64)),
        t("doppler", "dp" + ".pt.", ALNUM, 43),
        t("sentry", "sntry" + "u_", HEX, 64),
        t("atlassian", "ATA" + "TT3", URLSAFE, 186),
        ("azure secret", "aB3" + "8" + "Q~" + made((seed, "az"), URLSAFE, 34)),
        t("perplexity", "pp" + "lx-", ALNUM, 48),
        t("groq", "gs" + "k_", ALNUM, 52),
        t("xai", "xa" + "i-", ALNUM, 80),
        t("replicate", "r" + "8_", ALNUM, 37),
        t("airtable", "pa" + "t", ALNUM, 14, "." + made((seed, "at"), HEX, 64)),
        t("easypost", "EZ" + "AK", ALNUM, 54),
        t("age", "AGE-SECRET" + "-KEY-1", UPPER + DIGITS, 58),
        t("figma", "fig" + "d_", URLSAFE, 40),
        t("supabase", "sb" + "p_", HEX, 40),
        t("tailscale", "ts" + "key-auth-", ALNUM, 12, "-" + made((seed, "ts"), ALNUM, 32)),
        t("facebook", "EA" + "AC", ALNUM, 140),
        t(
            "dynatrace",
            "dt0" + "c01.",
            UPPER + DIGITS,
            24,
            "." + made((seed, "dt"), UPPER + DIGITS, 64),
        ),
        t("heroku", "HR" + "KU-AA", URLSAFE, 58),
        t("clickhouse", "4b" + "1d", ALNUM, 38),
        t("crates", "ci" + "o", ALNUM, 32),
        t("nuget", "oy" + "2", LOWER + DIGITS, 43),
        t("yandex secret", "Y" + "C", URLSAFE, 38),
        (
            "onepassword secret",
            "A"
            + "3-"
            + "-".join(made((seed, "1p", n), UPPER + DIGITS, n) for n in (6, 11))
            + "-"
            + "-".join(made((seed, "1q", i), UPPER + DIGITS, 5) for i in range(3)),
        ),
        t("artifactory", "AK" + "Cp", ALNUM, 69),
        ("launchdarkly", "sd" + "k-" + uuid_of((seed, "ld"))),
        t("alibaba", "LT" + "AI", ALNUM, 20),
        t("langsmith", "lsv2" + "_pt_", HEX, 32, "_" + made((seed, "ls"), HEX, 10)),
        t("octopus", "AP" + "I-", UPPER + DIGITS, 26),
        t("sonar", "sq" + "p_", HEX, 40),
        t("readme", "rd" + "me_", LOWER + DIGITS, 70),
        t("hubspot", "pat-" + "na1-", HEX, 8, "-" + uuid_of((seed, "hs"))[9:]),
        t("circleci", "CCI" + "PAT_", ALNUM, 22, "_" + made((seed, "cc"), HEX, 40)),
        ("jwt", jwt),
        t("onepassword", "ops" + "_eyJ", ALNUM, 260),
    ]


TOKENS = vendor_tokens()
CONTEXTS = (
    "{}",
    "export TOKEN={}",
    '  12→  api_key: "{}",',
    '{{"content": "{{\\"k\\": \\"{}\\"}}"}}',
    "\x1b[32mok\x1b[0m \x1b[1m{}\x1b[0m done",
    "see {}.",
    "curl -H 'X-Api: {}' https://host/a",
    "line\\n{}\\nnext",
    "키는 {}입니다",
    "- `{}`",
    "https://h/p?x=1&k={}&y=2",
    "x%3D{}",
    "|{}|",
    "({})",
)


def named():
    """Return (text, secret) for values known only by what stands around them."""
    a20, a32, a40, h32, h40, h64 = (
        made("n%d" % i, chars, n)
        for i, (chars, n) in enumerate(
            ((ALNUM, 20), (ALNUM, 32), (ALNUM + "/+", 40), (HEX, 32), (HEX, 40), (HEX, 64))
        )
    )
    pw, pw2, u = "hX7" + "!pq2Zt", "Tr0ub" + "4dor&3", uuid_of("n")
    b64 = base64.b64encode(("svc:" + a20).encode()).decode()
    b88 = made("az", ALNUM + "+/", 86) + "=="
    rows = [
        ("aws_secret_access_key = {}", a40),
        ("AWS_SECRET_ACCESS_KEY={}", a40),
        ("'secretAccessKey': '{}'", a40),
        ("aws_session_token={}==", made("st", ALNUM + "/+", 300)),
        ("password={}", pw),
        ("PASSWORD: {}", pw2),
        ('"password": "{}"', pw),
        ("'passwd' => '{}',", pw),
        ("DB_PASS={}", pw),
        ("MYSQL_ROOT_PASSWORD={}", pw),
        ("spring.datasource.password={}", pw),
        ("Server=db;User Id=sa;Password={};Encrypt=true", pw),
        ("pwd={}; other", pw),
        ("passphrase = '{}'", pw2),
        ('{{\\"password\\": \\"{}\\"}}', pw),
        ('\\\\\\"password\\\\\\":\\\\\\"{}\\\\\\"', pw),
        ("<password>{}</password>", pw),
        ('<add key="Password" value="{}" />', pw),
        ("- name: DB_PASSWORD\n  value: {}", pw),
        ('{{"name":"API_TOKEN","value":"{}"}}', a32),
        ("--password {}", pw),
        ("--token={}", a32),
        ("--api-key {}", a32),
        ("| password | {} |", pw),
        ('const password: string = "{}";', pw),
        ("let apiKey = `{}`", a32),
        ('setPassword("{}")', pw),
        ('("token", "{}")', a32),
        ("password: |\n  {}\n", pw),
        ("my password is {}", pw),
        ("the password was {}.", pw),
        ("PGPASSWORD={} psql -h db", pw),
        ("api_key={}", h32),
        ("API_KEY: {}", h40),
        ("api-key: {}", u),
        ("X-API-Key: {}", u),
        ('"apiKey":"{}"', a20),
        ("client_secret={}", a40.replace("/", "x").replace("+", "y")),
        ('"client_secret" : "{}",', h64),
        ("SECRET_KEY = '{}'", "w3@" + made("dj", LOWER + DIGITS + "!@#$%^&*(-_=+)", 46) + "k9"),
        ("JWT_SECRET={}", a32),
        ("secret: {}", a20),
        ("signing_key: {}", a32),
        ("ENCRYPTION_KEY={}", h64),
        ("access_token={}&expires_in=3600", a32),
        ('"refresh_token": "{}"', a40),
        ("authToken: '{}'", a32),
        ("//registry.npmjs.org/:_authToken={}", u),
        ("_auth={}", b64),
        ('"auth": "{}"', b64),
        ("npm config set _authToken {}", "np" + "m_" + made("np", ALNUM, 36)),
        ("postgres://app:{}@db:5432/x", pw),
        ("postgresql://app:{}@db.internal/x", "qwe" + "rtzuiop"),
        ("redis://:{}@cache:6379/0", a20),
        ("mongodb+srv://u:{}@c.mongodb.net/t", pw2),
        ("https://x-access-token:{}@github.com/o/r.git", a40.replace("/", "a")),
        ("amqp://svc:{}@mq", pw),
        ("https://{}@o1.ingest.sentry.io/2", h32),
        ("ftp://joe:{}@host/f", "p%40ss" + "w0rd!"),
        ("admin:{}@db01", "Sommer" + "2024x"),
        ("dsn = app:{}@tcp(10.0.0.4:3306)/shop", "kx9!" + "vQ2m"),
        ("- root:{}@10.0.0.7:22", "Zz7#" + "pilot4"),
        ('smtp: "mailer:{}@smtp.local:587"', "Win" + "ter?2026"),
        ("BROKER=svc:{}@localhost:5672/x", "9v!k" + "estrel"),
        ("Authorization: Bearer {}", a32),
        ("authorization: bearer {}", h32),
        ('"Authorization": "Bearer {}"', a40),
        ("Authorization: Basic {}", b64),
        ("-H 'Authorization: Token {}'", h40),
        ("Authorization: {}", u),
        ("headers = {{'Authorization': 'Bearer {}'}}", a32),
        ("Bearer {}", a32),
        ('\\"Authorization\\": \\"Bearer {}\\"', a32),
        ("Proxy-Authorization: Basic {}", b64),
        ("Cookie: theme=dark; session={}; lang=en", a32),
        ("Set-Cookie: sid={}; Path=/; HttpOnly", h32),
        ("curl -b 'sessionid={}' https://h", a32),
        ("PHPSESSID={}", made("ps", LOWER + DIGITS, 26)),
        ("curl -u admin:{} https://h/api", pw),
        ("curl --user 'joe:{}' https://h", pw2),
        ("curl -sk -X POST \\\n  -u dev:{} https://h", pw),
        ('curl -u "joe:{}" https://h', "correct" + "horse"),
        ("mysql -u root -p{} db", pw),
        ("sshpass -p '{}' ssh h", pw),
        ("redis-cli -a {} ping", a20),
        ("docker login -u joe -p {} reg", pw),
        ("machine api.example.net login joe password {}", "letters" + "only"),
        ("machine h\n  login joe\n  password {}\n", pw),
        ("https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={}", h64),
        (
            "https://a.blob.core.windows.net/c/b?sv=2022&sig={}&se=2027",
            made("sig", ALNUM, 43) + "%3D",
        ),
        ("https://storage.googleapis.com/b/o?X-Goog-Signature={}", h64 * 4),
        ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=c", b88),
        (
            "Endpoint=sb://n/;SharedAccessKeyName=Root;SharedAccessKey={}",
            made("sb", ALNUM + "+/", 43) + "=",
        ),
        ("PrivateKey = {}", made("wg", ALNUM + "+/", 43) + "="),
        ('psk="{}"', pw),
        ("비밀번호: {}", pw),
        ("비밀번호는 {}입니다", pw),
        ("암호 = {}", pw2),
        ("토큰은 {} 이에요", a32),
        ("パスワード：{}", pw),
        ("パスワードは「{}」です", pw2),
        ("トークン: {}", a32),
        ("秘密鍵={}", a32),
        ("密码是 {}。", pw),
        ("密码：{}", pw2),
        ("口令: {}", pw),
        ("令牌：{}", a32),
        ("密钥 {}", a32),
        ("Passwort: {}", pw),
        ("Das Kennwort lautet {}", pw),
        ("API-Schlüssel: {}", a32),
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  blob: {}\n",
            base64.b64encode(b"some data here").decode(),
        ),
        (
            "apiVersion: v1\ndata:\n  extra: {}\nkind: Secret\n",
            base64.b64encode(b"admin:password").decode(),
        ),
        ("kind: Secret\nstringData:\n  conn: {}\ntype: Opaque", pw),
        ("adafruit_io = '{}'", made("ada", LOWER + DIGITS, 32)),
        ("datadog: {}", h40),
        ('heroku_x = "{}"', u),
        ("okta -> '{}'", "00" + made("ok", URLSAFE, 40)),
        ("mapbox({})", a40.replace("/", "q")),
        ("facebook app 1234567890123456|{}", made("fb", ALNUM, 27)),
        ("asana 1/1201234567890123:{}", h32),
        ("the API token we use is {} for now", a40.replace("/", "a").replace("+", "b")),
        (
            "root:{}:19000:0:99999:7:::",
            "$" + "6$" + made("sa", ALNUM, 8) + "$" + made("sh", ALNUM, 86),
        ),
        ('{{"kty":"RSA","n":"x","d":"{}"}}', made("jwk", URLSAFE, 200)),
        ("\x1b[36mpassword\x1b[0m=\x1b[33m{}\x1b[0m", pw),
        ("   7\tDB_PASSWORD={}", pw),
        ('  41→password = "{}"', pw),
        ("+API_TOKEN={}", a32),
        ("> token: {}", a32),
        (
            'mnemonic: "{}"',
            "legal winner thank year wave sausage worth useful legal winner thank yellow",
        ),
        ("GITHUB_PAT={}", a40.replace("/", "c")),
        ("snmp-server community {} ro", "c0mmun" + "1ty"),
        ("x-vault-token: {}", u),
        ('password="{}"', 'with \\"quote' + " 9Zx!7w"),
        ("Xxx-Token: {}", a20),
        ("secret_token: {}", a20),
        ("password1={}", pw),
        ("userPassword: '{}'", pw),
        ("DB_PASSWORD_STAGE={}", pw),
        ("&quot;password&quot;:&quot;{}&quot;", pw),
        ("%22password%22%3A%22{}%22", "hX7pq2Zt9"),
        ("ENV DB_PASSWORD {}", pw),
        ("'password' =>\n    '{}',", pw),
        ('"api_key" =>\n  "{}"', a32),
        ("```php\ndefine('DB_PASSWORD',\n  '{}');\n```", pw),
        ("setPassword(\n  '{}'\n)", pw),
        ("monkeypatch.setenv(\n    'API_TOKEN',\n    '{}',\n)", a32),
        ("Add DBPassword:\n  Type: String\n  NoEcho: true\n  Default: {}", pw),
        ('"DbPassword": {{\n  "Type": "String",\n  "Default": "{}"\n}}', pw),
        ("ftp> user bob {}", pw),
        ("https://hooks.example.com/token/{}", a32.replace("+", "x").replace("/", "y")),
        ("useradd -m -p '{}' bob", pw),
        ("usermod -p {} bob", pw),
        ('#define API_KEY "{}"', a32),
        ("echo '{}' | sudo -S true", pw),
        ("CREATE USER joe IDENTIFIED BY '{}';", "letters" + "only"),
        ("ALTER USER joe WITH PASSWORD '{}'", pw),
        ("requirepass {}", pw),
        ("jdbc:oracle:thin:scott/{}@//h:1521/x", pw),
        ("username joe password 7 {}", "0822" + "455D0A16"),
        ('ConvertTo-SecureString "{}" -AsPlainText', pw),
        ("h:5432:db:joe:{}", pw),
        ('gh secret set X --body "{}"', a32),
        ('{{"auths":{{"r.io":{{"auth":"{}"}}}}}}', b64),
        ("WIFI:S:net;T:WPA;P:{};;", pw),
        ("user=joe&password={}&x=1", pw.replace("!", "")),
        ("{{'Bearer': '{}'}}", a32),
        ("Digest: x\nCookie2: id={}", a32),
        ("API key:\n  {}", a40),
        ("password[prod] = '{}'", pw),
        ("login admin / {}", pw),
        ("login: admin / {}", "kes" + "trel4217"),
        ("Login with joe.doe / {}", "Win" + "ter2026"),
        ("credentials: root / {}", pw2),
        ("user admin / {} (staging)", pw),
        ("logged in as joe@x.io / {}", pw),
        ('smtp.login("me@corp.io", "{}")', pw),
        ("server.login(user, '{}')", "letters" + "onlypw"),
        ('s.login("me@corp.io", "{}")', "abcd " + "efgh ijkl mnop"),
        ("requests.get(u, auth=('joe', '{}'))", pw),
        ("HTTPBasicAuth('joe', '{}')", "letters" + "onlypw"),
        ('new NetworkCredential("u", "{}")', pw),
        ("mysqli_connect('h', 'u', '{}', 'db')", pw),
        ('DriverManager.getConnection(url, "sa", "{}")', pw),
        ("new PDO($dsn, 'joe', '{}')", pw),
        (".auth('joe', '{}')", pw),
        ('.setBasicAuth("joe", "{}")', pw),
        ("user: joe\nPASS: {}", "Win" + "ter2026"),
        ("PASS: {}", pw),
        ("pass: {}", "kes" + "trel42"),
        ("user joe, pass {}", pw),
        ("pw {} works", pw),
        ("password {}", pw2),
        ("const url = process.env.DB_PASSWORD || '{}'", pw),
        ('process.env["DB_PASSWORD"] ?? "{}"', pw),
        ('os.getenv("DB_PASSWORD") or "{}"', pw2),
        ("ENV['DB_PASSWORD'] || '{}'", pw),
        ("ENV['API_TOKEN'] ||= '{}'", a32),
        ('ENV.fetch("DB_PASSWORD", "{}")', pw),
        ("getenv('DB_PASSWORD') ?: '{}'", pw),
        ("${{DB_PASSWORD:-{}}}", pw),
        ("MYSQL_ROOT_PASSWORD: ${{X:-{}}}", pw),
        ('MYSQL_ROOT_PASSWORD: "${{X:-{}}}"', pw),
        ("MYSQL_ROOT_PASSWORD=${{X:={}}}", pw),
        ("DB_PASSWORD=${{A:-${{B:-{}}}}}", pw),
        ("ｐａｓｓｗｏｒｄ：{}", pw),
        ("ＡＰＩキー：{}", a32),
        ("WPA2 key: {}", a20),
        ("Wi-Fi key = {}", a20),
    ]
    return [(template.format(value), value) for template, value in rows]


def test_each_vendor_token_goes_whole_in_every_context():
    """A token with a known prefix leaves no part of eight characters, wherever it stands."""
    missed = []
    for name, token in TOKENS:
        for context in CONTEXTS:
            out = redact(context.format(token)).text
            if any(token[i : i + 8] in out for i in range(6, len(token) - 7)):
                missed.append((name, context))
    assert len(missed) <= 0.01 * len(TOKENS) * len(CONTEXTS), missed


@pytest.mark.parametrize(("text", "secret"), named())
def test_a_value_known_by_its_surroundings_goes(text, secret):
    """Names, headers, URLs, command lines and files in several languages give their value away."""
    assert secret not in redact("Before.\n" + text + "\nAfter.").text


GIT_SHA, SHA64 = made("sha", HEX, 40), made("sha64", HEX, 64)
KEEP = [
    "['password',\n 'x', 'oauth2_Provider9']",
    "https://example.com/o/r/token/AbstractTokenParser2Test",
    "PasswordPolicy:\n  Type: String\n  Default: Strict8\n",
    "TokenTtl:\n  Type: Number\n  Default: 3600\n",
    "usermod -aG docker user2024",
    "the reset link https://github.com/o/r/commit/" + GIT_SHA,
    "/oauth2/token:\n  post:\n    operationId: oauth2TokenExchange",
    "- value: my-config_v2\n  name: TOKEN_REGION",
    "> src/password holds parse_v2_header and abc123-def",
    "Tests pass on the machine.\n\nThe kestrelquux17 host runs them.",
    "All the suites pass.\nThe kestrelquux17 host is up.",
    "Tests pass on the machine\nThe kestrelquux17 host runs them.",
    "# All the checks pass\n\nThe kestrelquux17 host is up.",
    "They pass on both of them!\nkestrelquux17 is up.",
    "commit " + GIT_SHA,
    GIT_SHA[:7] + " fix token refresh",
    "HEAD is now at " + GIT_SHA[:9],
    "index 83db48f..bf2a1c9 100644",
    "github.com/o/r/commit/" + GIT_SHA,
    "uses: actions/checkout@" + GIT_SHA,
    "id: " + uuid_of("k"),
    "session: " + uuid_of("s"),
    "session_id=" + uuid_of("s2"),
    "request_id: " + uuid_of("r"),
    '"sessionId":"' + uuid_of("t") + '"',
    "Trace " + uuid_of("u"),
    '"integrity": "sha512-' + base64.b64encode(bytes(range(64))).decode() + '"',
    "integrity sha1-" + base64.b64encode(bytes(range(20))).decode(),
    "golang.org/x/oauth2 v0.15.0 h1:" + made("go", ALNUM + "+/", 43) + "=",
    "    --hash=sha256:" + SHA64,
    'checksum = "' + SHA64 + '"',
    "sha256:" + SHA64,
    "token-types@4.2.1:",
    '  resolved "https://registry.yarnpkg.com/jsonwebtoken/-/jsonwebtoken-9.0.0.tgz#'
    + GIT_SHA
    + '"',
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + made("pk", ALNUM + "+/", 43) + " joe@host",
    "ssh-rsa AAAAB3NzaC1yc2E" + made("rsa", ALNUM + "+/", 300) + " key",
    "data:image/png;base64,iVBORw0KGgo" + made("png", ALNUM + "+/", 400),
    "-----BEGIN CERTIFICATE-----\nMIID"
    + made("crt", ALNUM + "+/", 60)
    + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB"
    + made("pub", ALNUM + "+/", 60)
    + "\n-----END PUBLIC KEY-----",
    "the file starts with -----BEGIN RSA PRIVATE"
    + " KEY----- and ends with -----END RSA PRIVATE"
    + " KEY-----",
    "grep -r 'BEGIN PRIVATE KEY' .",
    "public_key: " + made("pubk", ALNUM, 44),
    '"publicKey": "' + made("pubk2", ALNUM, 44) + '"',
    "token: <your-token>",
    "API_KEY=xxxxxxxxxxxxxxxxxxxx",
    "password: changeme",
    "TOKEN=${TOKEN}",
    "TOKEN=${TOKEN:-$CI_TOKEN1}",
    "DB_PASSWORD: ${DB_PASSWORD:-changeme1}",
    "DB_PASSWORD=${X:-$(cat /run/pw1)}",
    "DB_PASSWORD=${X:-/run/secrets/db1}",
    "DB_PASSWORD=${DB_PASSWORD:?set it in line 2}",
    "const key = process.env.API_KEY || 'local1'",
    "const password = options.password || 'changeme'",
    "if (user.password || user.token2) {",
    "this.token ?? 'none'",
    "ｐａｓｓｗｏｒｄは８文字以上",
    "password: ${{ secrets.DB_PASSWORD }}",
    "api_key = process.env.API_KEY",
    'key = os.environ["API_KEY"]',
    "password = {{ .Values.password }}",
    "password = get_password()",
    "token: string",
    "token: string;",
    "const token = await getToken(user.id)",
    "password: str = None",
    "self.password = password",
    "secret = settings.SECRET_KEY",
    "token = tokens[0]",
    "if (password !== confirm) {",
    "token = request.headers.get('X-Token')",
    "api_key=os.getenv('KEY1')",
    'password = input("Password: ")',
    'f"Bearer {token}"',
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "-H 'Authorization: Bearer YOUR_API_KEY'",
    "sk-your-api-key-here",
    "gh" + "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "AK" + "IAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "postgres://user:password@localhost/db",
    "https://<user>:<password>@host",
    "postgres://$USER:$PASS@db",
    "redis://localhost:6379/0",
    "http://host:8080/@scope/pkg",
    "git@github.com:o/r.git",
    "https://host/a:b@c",
    "max_tokens: 4096",
    "token_count=128000",
    '"tokens": 15000',
    "total_tokens=123456",
    "tokenizer: cl100k_base",
    "passed: 12, failed: 0",
    "password_reset_url: https://h/reset",
    "secretName: db-creds-v2",
    "tokenUrl: https://h/oauth2/token",
    "secretKeyRef:\n  name: db\n  key: password1",
    "author: joe2024",
    "authority: example.org",
    "auth: oauth2",
    "key: value1",
    "key=lambda x: x[1]",
    "primary_key: user_id_2",
    "cache-key: linux-node18-" + SHA64[:20],
    "keyboard: us-intl-2",
    "monkey = 'chimp12345'",
    "sort_key=created_at",
    "hotkey: ctrl+shift+p",
    '"key": "ArrowLeft"',
    "password: isidztpi",
    "The password must be at least 12 characters long.",
    "the token is valid for 3600 seconds",
    "Forgot your password? Reset it.",
    "a secret is something 1 person knows",
    "token expired at 2026-11-21T10:00:00Z",
    "skip the password: it is not needed",
    "passphrase: none",
    "secret: true",
    "token: null",
    "password: 'Password'",
    "!function(e,t){var n=e.token,r=t.password;n&&(r.key=n)}({token:e.a,password:t.b})",
    "a.token=function(){return this.t},a.secret=!0,a.key=void 0",
    "import { getToken } from './auth/token2'",
    "from auth import password_hasher as ph2",
    "def password(self, value: str) -> None:",
    "curl -u user:password https://h",
    'curl -u "$USER:$PASS" https://h',
    "curl -u <user:password> https://h",
    "sha256sum: " + SHA64,
    'ETag: "' + made("et", HEX, 32) + '"',
    "md5=" + made("m5", HEX, 32),
    "nonce-" + "abc",
    "docker pull r/i@sha256:" + SHA64,
    "gpg: key 0x1A2B3C4D5E6F7A8B",
    "Basic usage of the command",
    "basic authentication is required",
    "Bearer authentication",
    "bearer token authentication scheme",
    "Cookie: a=b",
    "Set-Cookie: name=value; Path=/; SameSite=Lax",
    "the login page password field",
    "kind: SecretStore\nspec:\n  data:\n    - secretKey: api-key",
    "node_modules/@types/jsonwebtoken/index.d.ts",
    "src/auth/token_store/refresh_tokens_v2.py",
    "https://host/path/to/some-long-page-title-2024?page=2&sort=asc",
    "ver=1.2.3-beta.4+build.20261121",
    "eyJ" + "hbGciOi",
    "a1b2c3d4-not-a-secret-file-name.test.ts",
    "mailto:JaneDoe42@example.org",
    "To:joe.Roe99@example.org,ann2B@example.org",
    "FROM node:20.11-Alpine3@sha256:" + SHA64,
    "npm:Left2Pad@latest",
    "chown deploy:WebGroup2@host",
    "repo:Release2026@main",
    "user:group1@host",
    "git@github.com:Org2/repo@v2",
    "uses: actions/checkout@v4",
    "at Object.<anonymous>:Foo2Bar@1a2b3c4d",
    "obj:Node7List@6d06d69c",
    "acct:Joe2024@example.social",
    "alice:bob99@chat.example.org",
    "12:30:45@host7",
    "비밀번호를 입력하세요",
    "토큰 3개를 썼다",
    "パスワードを入力してください",
    "トークン数は 4096 です",
    "请输入密码。",
    "密钥管理 v2",
    "Passwort vergessen?",
    "- [ ] rotate the API key (see docs/keys.md)",
    "MY_TOKEN=$(cat /run/token)",
    "password_file: /run/secrets/db1",
    "PasswordHash = Sha256Hash",
    "openai_api_base: https://api.openai.com/v1",
    "github_repository: owner/name-2",
    "github_sha=" + GIT_SHA,
    "gitlab_project_id: 12345678",
    "aws_region = us-east-1",
    "slack_channel: C0123ABCDEF",
    "stripe_price: price_" + "basic",
    "sentry_release: v2.1.0-" + GIT_SHA[:12],
    "npm version 10.2.4",
    "DB_PASSWORD=changeme123",
    "password: your_password_1",
    "PASSWORD='xxxx1234'",
    'password = "example1!"',
    "password: ${DB_PASS1}",
    "secret: {{ vault_pw1 }}",
    "password: <pass1>",
    "token: 0x1A2B3C4D",
    "encryption: aes-256-gcm",
    "signing_algorithm: RS256",
    "password: sha256",
    "hash_algorithm=argon2id",
    "idempotency_key: " + uuid_of("i"),
    "next_page_token=" + made("np", ALNUM, 30),
    "export PASSWORD",
    "--password-file ./pw.txt",
    "--token-limit 4096",
    "-p 8080:8080",
    "docker run -p 8080:80 -u 1000:1000 img",
]


@pytest.mark.parametrize("text", KEEP)
def test_what_only_looks_like_a_secret_stays(text):
    """Hashes, identifiers, placeholders, code and prose are kept byte for byte."""
    assert redact("One.\n" + text + "\nTwo.").text == "One.\n" + text + "\nTwo."


def _sri(rng, bits):
    return "sha%d-%s" % (bits, base64.b64encode(rng.randbytes(bits // 8)).decode())


def tool_lines(rng):
    """Return lines of the form that runners, package managers, CI and git print, with names about
    passwords and keys.
    """

    def pick(words):
        return rng.choice(words.split())

    def hexes(n):
        return "".join(rng.choices(HEX, k=n))

    word = pick("token password secret key auth pass login session credential user") + pick(
        "_v2 _sha256 2 _3_parts V2 _7_hex_chars _utf8 _reset_2 _hs256"
    )
    camel = (
        "Test"
        + "".join(part.capitalize() for part in word.split("_"))
        + pick("SHA256 UTF8 V2 OAuth2 Base64 X509 AtUUID B2Sum")
    )
    system, tool = (
        pick("Linux macOS-arm64 ubuntu22 Windows-x64 linux-x86_64"),
        pick(
            "node-cache setup-go-1.24.1 cargo-v1 pip-3.11 yarn-berry-8 turbo-v2 gradle-8.5 "
            "npm-auth-token2 bazel-7"
        ),
    )
    name = pick(
        "jsonwebtoken token-types secret-store key-ring2 oauth2-client @auth/core password-hash-2 "
        "stripe okta-sdk npm-registry-auth"
    )
    setting = pick(
        "PASSWORD TOKEN SECRET API_KEY SESSION_SECRET AUTH_TOKEN passwordReset accessToken"
    ) + pick(
        "_TIMEOUT _RESET_TIMEOUT _MAX_AGE _MIN_LENGTH _TTL_SECONDS _ROTATION_INTERVAL "
        "_HISTORY_COUNT _ROUNDS _RETRIES _LIFETIME"
    )
    number = rng.choice((259200, 86400, 1209600, 600000, 7776000, 100000))
    return [
        "=== RUN   %s/%s" % (camel, word),
        "--- PASS: %s (0.%02ds)" % (camel, rng.randrange(99)),
        "    --- FAIL: %s/%s (0.00s)" % (camel, word),
        "--- SKIP: %s" % camel,
        "ok  \tgithub.com/o/r/%s\t0.0%ds" % (word, rng.randrange(99)),
        "PASS: %s" % camel,
        "PASS: tests/misc/%s.sh" % word,
        "PASS src/%s.test.ts (5.2 s)" % word,
        "PASS: LLVM :: Analysis/%s.ll (%d of 900)" % (word, rng.randrange(900)),
        "tests/test_%s.py::test_%s[v2-256] PASSED [ %d%%]" % (word, word, rng.randrange(99)),
        "FAILED tests/test_%s.py::test_key - KeyError: '%s_2'" % (word, word),
        "E       AssertionError: assert 'token-1' == '%s-2'" % word,
        "test %s::tests::%s ... ok" % (word, camel),
        "ok %d - %s parses" % (rng.randrange(99), word),
        "  ✓ %s keeps the password (12 ms)" % word,
        "# pass %d" % number,
        "Cache restored from key: %s-%s-%s" % (system, tool, hexes(64)),
        "Cache not found for input keys: %s-%s-%s, %s-%s" % (tool, system, hexes(40), tool, system),
        "Cache saved with key: %s-%s" % (tool, hexes(64)),
        "restore key %s-%s" % (system, hexes(40)),
        "Cache hit occurred on the primary key %s-%s-%s, not saving cache."
        % (system, tool, hexes(64)),
        "  key: %s-%s-%s" % (system, tool, hexes(rng.choice((8, 32, 64)))),
        "  key: v1-%s-%s" % (tool, hexes(40)),
        '      "integrity": "%s",' % _sri(rng, 512),
        "%s@^2.0.0: %s" % (name, _sri(rng, rng.choice((256, 384, 512)))),
        "    resolution: {integrity: %s}" % _sri(rng, 512),
        '<script src="https://js.%s.com/v3/" integrity="%s">'
        % (pick("stripe okta auth0"), _sri(rng, 384)),
        "secret: %s" % _sri(rng, 256),
        "  checksum: 10c0/%s" % hexes(128),
        'name = "%s"\nchecksum = "%s"' % (name, hexes(64)),
        "github.com/golang-jwt/jwt/v5 v5.2.1 h1:%s=" % made(rng.random(), ALNUM + "+/", 43),
        "   Compiling %s v2.%d.0" % (name, rng.randrange(40)),
        "%s = %d" % (setting, number),
        "%s=%d" % (setting, number),
        '  "%s": %d,' % (setting, number),
        "password_reset_timeout: %d" % number,
        "s.%s(ctx, id)" % (camel * 2)[4:28],
        "s.%s" % (word.title().replace("_", "") + "ResolverFactoryForSessions")[:24],
        "credential.helper=cache --timeout=36000",
        'url "https://%s.example.org/".insteadOf' % word,
        "remote.origin.url=git@github.com:o/%s.git" % word,
        "commit %s" % hexes(40),
        "Merge: %s %s" % (hexes(7), hexes(7)),
        "index %s..%s 100644" % (hexes(7), hexes(7)),
        "+++ b/src/%s.go" % word,
        "toolu_01%s" % made(rng.random(), ALNUM, 22),
        "user story / EPIC-%d" % rng.randrange(9999),
        "login page / %s" % word,
        "client.login(user, password)",
        'auth.login("GET", "/api/v2/users")',
        "gpg: using RSA key %s" % hexes(40).upper(),
        "SHA256:%s user@host" % made(rng.random(), ALNUM + "+/", 43),
    ]


def test_real_tool_output_keeps_every_byte():
    """Test runners, CI logs, lock files, git: at most one false hit in ten megabytes of what they
    print.
    """
    rng = random.Random(8)
    drawn_lines = "\n".join("\n".join(tool_lines(rng)) for _ in range(400))
    files = [
        path.read_text("utf-8")
        for path in sorted((Path(__file__).parents[1] / "data" / "tooloutput").iterdir())
    ]
    assert len(files) >= 8
    size, hits = 0, []
    for text in [drawn_lines, *files]:
        size += len(text)
        hits += [(mark, value[:80]) for value, mark in find_secrets(text).items()]
    assert len(hits) <= 0.1 * size / 1e6, hits[:20]


def test_only_what_is_surely_a_secret_goes_everywhere():
    """A password that could be a word is taken near its name, and does not take that word out of
    the rest.
    """
    rest = 8 * "and so on\n" + "--- RUN kestrel42 kestrel42"
    out = redact("password: kestrel42\n" + rest).text
    assert "password: [redacted:password#" in out and out.endswith(rest)


def test_a_marker_names_the_kind_and_a_salted_tag():
    """The marker tells two secrets apart without giving any part of either."""
    token = dict(TOKENS)["github classic"]
    result = redact("a %s b %s" % (token, token), salt="s1")
    assert re.fullmatch(
        r"a \[redacted:github-token#[0-9a-f]{4}\] b \[redacted:github-token#[0-9a-f]{4}\]",
        result.text,
    )
    assert [secret.kind for secret in result.found] == ["github-token"]
    assert result.found[0].tag in result.text
    assert redact(token, salt="s2").text != redact(token, salt="s1").text


def test_a_marker_that_stands_already_is_kept_and_hides_nothing():
    """A value around a marker loses its own parts only, and a made-up marker of no known form
    protects no text.
    """
    text = 'password="%s[redacted:token#a1f3]%s"' % ("aB3" + "!kd8", "xY9" + "!zQ")
    out = redact(text).text
    assert "[redacted:token#a1f3]" in out and "kd8" not in out and "xY9" not in out
    assert "xY9" not in redact("password=[redacted:token#a1f3]" + "xY9" + "!zQ").text
    token = dict(TOKENS)["github classic"]
    assert token not in redact("[redacted:%s#a1f3]" % token).text


def test_an_allowed_string_stays_and_protects_nothing_else():
    """`allow` takes exact strings: a secret that merely contains one still goes."""
    token, other = dict(TOKENS)["npm"], dict(TOKENS)["gitlab"]
    text = token + " " + other
    out = redact(text, allow=[token, other[:9]]).text
    assert token in out and other not in out


def test_a_value_found_once_goes_everywhere():
    """The second mention has no name beside it, is escaped or percent-encoded, and goes all the
    same.
    """
    value = "kd8" + "!Qz/4mT#w"
    text = 'password: "%s"\nlater %s again, %s and (%s)' % (
        value,
        value,
        value.replace("!", "%21").replace("/", "%2F").replace("#", "%23"),
        value,
    )
    out = redact(text).text
    assert "Qz" not in out and "mT" not in out
    key = pem(seed="twice")
    assert key[5] not in redact("\n".join(key) + "\n\nagain: " + key[5]).text


def test_text_around_a_secret_is_unchanged():
    """Between the markers the text is the original's, escapes included."""
    token = dict(TOKENS)["digitalocean"]
    text = "\x1b[1mÄ\u200b…\x1b[0m\r\n\tİ " + token + "\x1b[0m \ud800 end\n"
    assert MARKER.sub("@", redact(text).text) == text.replace(token, "@")


PRIVATE = [
    ("a <private>x9</private> b", "a  b"),
    ("a <PRIVATE>x9</Private> b", "a  b"),
    ("a <private reason='k'>x9</private > b", "a  b"),
    ("a < private >x9< / private > b", "a  b"),
    ("a <private>1<private>2</private>x9</private> b", "a  b"),
    ("a <private>x9 and no end", "a "),
    ("a &lt;private&gt;x9&lt;/private&gt; b", "a  b"),
    ("a &#60;private&#62;x9&#x3c;/private&#x3E; b", "a  b"),
    ("a \\u003cprivate\\u003ex9\\u003c/private\\u003e b", "a  b"),
    ("a <private>x9<\\/private> b", "a  b"),
    ("a &amp;lt;private&amp;gt;x9", "a "),
    ("a <private\n>x9\n</private\n> b", "a  b"),
    ("a <privat>x9</Privat> b", "a  b"),
    ("a [private]x9[/private] b", "a  b"),
    ("a <!--private-->x9<!--/private--> b", "a  b"),
    ("a <!-- private -->x9<!-- /private --> b", "a  b"),
    ("a [private]1<privat>x9[/private]x9</privat> b", "a  b"),
    ("a [private]1<private>x9[/private]x9</private> b", "a  b"),
]


@pytest.mark.parametrize(("text", "left"), PRIVATE)
def test_private_text_is_left_out(text, left):
    """Every spelling of the tag counts, and an open one hides the rest."""
    assert strip_private(text) == left
    assert "x9" not in redact(text).text


def test_a_tag_that_arises_by_leaving_out_another_counts():
    """Splitting a tag around another one hides nothing from the second look, however deep it
    goes.
    """
    assert strip_private("<pri<private>1</private>vate>x9</private>") == ""
    deep = "x9</private>"
    for _ in range(9):
        deep = "<pri<private>1</private>vate>" + deep.replace(
            "<private>", "<pri<private>1</private>vate>"
        )
    assert "x9" not in strip_private(deep)


VALUE = "4tBujKqZF6bC8FC11"
NAMED_BY_KEYS = [
    {"api_key": VALUE},
    {"api_key": {"live": VALUE}},
    {"api_key": {"live": {"value": VALUE}}},
    {"password": "\n" + VALUE + "\n"},
    {"auth": {"user": "bob", "password": VALUE}},
    {"secrets": [VALUE]},
    {"env": [{"name": "DB_PASSWORD", "value": VALUE}]},
    {"tags": ["password", VALUE]},
    {"Passwort": VALUE},
    {"密码": VALUE},
]


@pytest.mark.parametrize("head", NAMED_BY_KEYS)
def test_a_secret_that_keys_of_a_head_name_goes_everywhere(head):
    """Nested, listed, over lines; from the body too, as it is surely one."""
    config = {"redact.enabled": True, "redact.allow": ()}
    cleaned = clean(["A title", "It says %s here." % VALUE, head], config, "")
    assert VALUE not in str(cleaned) and list(cleaned[2]) == list(head)


def test_what_keys_do_not_name_stays():
    """Paths, checksums and tags beside words for secrets; a weak password where it is no value."""
    config = {"redact.enabled": True, "redact.allow": ()}
    head = {
        "files": ["src/token.py", "src/a1b2c3D4x.py", "Makefile"],
        "tags": ["token", "oauth2-flow", "sha1"],
        "commits": ["9fceb02 rotate the token", "1a2b3c4d add the key"],
        "origin": {"part": "Passwords", "path": "/n/p.md", "checksum": "ab12" * 16},
        "created": "2024-05-01",
    }
    assert clean(["A title", "A text", head], config, "")[2] == head
    cleaned = clean(["t", "in sommer23 we", {"password": "sommer23", "x": "sommer23"}], config, "")
    assert cleaned[1] == "in sommer23 we" and cleaned[2]["x"] == "sommer23"
    assert "sommer23" not in cleaned[2]["password"]


def test_a_mention_of_the_tag_in_backticks_is_kept_by_redact_alone():
    """Notes may speak of the tag: only `strip_private`, meant for transcripts, takes every tag at
    its word.
    """
    text = "Wrap it in `<private>` tags. Later <private>x9</private> and the rest."
    assert redact(text).text.startswith("Wrap it in `<private>` tags. Later [redacted:private#")
    assert redact(text).text.endswith("] and the rest.")
    assert strip_private(text) == "Wrap it in `"


@pytest.mark.parametrize(
    "text",
    [
        "no tags",
        "<privateKey>x</privateKey>",
        "<private-note>",
        "a private matter",
        "<p>x</p>",
        "List<privateer>",
        "List<Privat> kunden",
        "see [private](notes/private) and [private] of [scopes]",
        "<!-- private --> begins a section",
    ],
)
def test_other_tags_are_no_private_text(text):
    """Only the tag `private` itself counts."""
    assert strip_private(text) == text


def test_redacting_twice_changes_nothing():
    """The output of every case above is a fixed point, and so is a random mixture of them."""
    cases = (
        [text for text, _ in named()]
        + [token for _, token in TOKENS]
        + [form(pem()) for form in KEY_FORMS.values()]
        + KEEP
    )
    rng = random.Random(11)
    glue = (
        " ",
        "\n",
        "",
        "=",
        ": ",
        '"',
        "&",
        "://",
        "@",
        ",",
        "\\n",
        "password=",
        "[redacted:token#",
        "#a1f3]",
        "Bearer ",
    )
    mixed = [
        "".join(rng.choice(cases) + rng.choice(glue) for _ in range(rng.randint(1, 6)))
        for _ in range(300)
    ]
    for text in cases + mixed:
        once = redact(text, salt="x")
        twice = redact(once.text, salt="x")
        assert (twice.text, twice.found) == (once.text, ())


def test_a_seeded_secret_never_survives():
    """In random templates, between ordinary lines, no vendor token is left."""
    rng = random.Random(5)
    for round_number in range(12):
        tokens = vendor_tokens(100 + round_number)
        for name, token in tokens:
            lines = rng.sample(KEEP[:60], 3)
            lines.insert(rng.randint(0, 3), rng.choice(CONTEXTS[:10]).format(token))
            assert token not in redact("\n".join(lines)).text, name


@pytest.mark.parametrize(
    "gap", ["\u200b", "\u200d", "\ufe0f", "\u2060", "\u3164", "\U000e0041", "\u00ad", "\u034f"]
)
def test_a_character_that_nobody_sees_hides_no_private_part(gap):
    """Every way in drops what stands between the tags, whatever is invisible in their names."""
    for at in range(len("<private>") + 1):
        tag = "<private>"[:at] + gap + "<private>"[at:]
        text = "a " + tag + "x9</pri" + gap + "vate> b"
        assert "x9" not in strip_private(text) and strip_private(text).endswith(" b")
        assert "x9" not in redact(text).text
        assert (
            "x9"
            not in clean({"body": [text]}, {"redact.enabled": False, "redact.allow": ()}, "")[
                "body"
            ][0]
        )
        assert (
            "x9"
            not in strip_private_record(Record("p/x.md", "l-1", "learning", text, text, 0, 0)).body
        )
        assert "x9" not in entries.clean(text)


def test_a_text_that_takes_too_long_is_withheld_whole():
    """It fails closed: a marker stands for all of it, and for no other text that is cleaned beside
    it.
    """
    result = redact("ordinary words", seconds=-1)
    assert (
        re.fullmatch(r"\[redacted:unread#[0-9a-f]{4}\]", result.text)
        and result.found[0].kind == "unread"
    )
    assert redact(result.text).text == result.text
    assert redact("ordinary words").text == "ordinary words"


def test_a_text_that_takes_too_long_takes_no_other_along(monkeypatch):
    """Of several texts that are cleaned together each gets its own time when the whole takes too
    long.
    """
    once = redactor.redact
    monkeypatch.setattr(
        redactor,
        "redact",
        lambda text, *rest: once(text, *rest, seconds=-1 if "slow" in text else None),
    )
    cleaned = clean(["a slow one", "a fine one"], {"redact.enabled": True, "redact.allow": ()}, "")
    assert cleaned[0].startswith("[redacted:unread#") and cleaned[1] == "a fine one"


SIZE = 100_000
ATTACKS = {
    "token.": "token.",
    "pem begin": "-----BEGIN",
    "pem header": "-----BEGIN RSA PRIVATE" + " KEY-----",
    "pem end": "-----END RSA PRIVATE" + " KEY-----",
    "password=": "password=",
    "one letter": "a",
    "one digit": "1",
    "quotes": "\"'",
    "escaped quotes": '\\"',
    "scheme": "://",
    "userinfo": "://a:b",
    "jwt": "eyJ",
    "bearer": "bearer ",
    "cookie": "cookie: a=b;",
    "curl": "curl -u a:",
    "key:": "key: ",
    "spaces": " ",
    "newlines": "\n",
    "private": "<private>",
    "private close": "</private>",
    "split private": "<pri<private>",
    "ansi": "\x1b[0m",
    "half ansi": "\x1b[",
    "marker": "[redacted:token#a1f3]",
    "half marker": "[redacted:",
    "hex": "0123456789abcdef",
    "secret kind": "kind: secret\ndata:\n",
    "gutters": "   1→",
    "slashes": "/",
    "dots": ".",
    "password quote": 'password="',
    "names": "api_key_token_secret_",
    "sk": "sk-ant-",
    "aws": "AK" + "IA",
    "sig": "sig=",
    "korean": "비밀번호 ",
    "runs": "abcDEF123456GHI7 ",
    "assignments": "password=aB3xY9kQ\n",
    "backslashes": "\\",
    "login": "login a password ",
    "mysql": "mysql -p ",
    "percent": "%3D",
    "equals": "=",
    "dollar": "$2a$",
    "angle": "<",
    "pass": "pass",
    "auth": "authorization: ",
    "value": "key value=",
    "basic": "basic ",
    "azure": "Q~",
    "telegram": "12345678:AA",
    "pem escaped": "-----BEGIN PRIVATE" + " KEY-----\\nAAAA",
    "b64 pem": "LS0tLS1CRUdJTi",
    "base64 lines": "A" * 63 + "\n",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_repetition_costs_no_more_than_linear_time(name):
    """100 KB of one fragment, the worst input for an expression that backtracks, stays far from a
    second.
    """
    text = (ATTACKS[name] * SIZE)[:SIZE]
    assert spent(text, 1.0, tries=4) < 1.0


def test_many_distinct_secrets_cost_no_more_than_linear_time():
    """Propagation looks every value up at once."""
    text = "\n".join("password=%s" % made(i, ALNUM, 16) for i in range(3500))
    start = time.process_time()
    assert "password=[redacted:" in redact(text).text
    assert time.process_time() - start < 2.0


@pytest.mark.alone
def test_ordinary_text_is_read_fast():
    """A hundred kilobytes cost what some dozen looks at each of its words do, on any machine: 0.3
    s where that is 7 ms.
    """
    words = (
        " ".join(KEEP[:60]).split()
        + "the parser keeps a cursor and returns early when nothing matched in this module".split()
        * 20
    )
    rng = random.Random(3)
    text = " ".join(rng.choice(words) for _ in range(30_000))[:SIZE]
    redact(text)

    def looked() -> float:
        start = time.process_time()
        for word in text.split():
            re.match(r"[A-Za-z]+\d", word)
            len(word.lower())
        return time.process_time() - start

    # Each beside the other: a machine that is shared is now slow, now fast.
    assert min(spent(text, 0.0, tries=1) / min(looked() for _ in range(3)) for _ in range(5)) < 45


def test_of_a_page_that_grew_what_is_new_is_read_and_a_secret_goes_from_all_of_it():
    """Also where the label stands above the new lines, and where the value stood bare before it had
    one.
    """
    value = "hG7" + "kq2Lm9" * 3
    settings = {"redact.enabled": True, "redact.allow": []}
    page = "".join("Line %d of a long page.\n" % n for n in range(400))
    bare = page + "seen: %s\n" % value
    grown = bare + "The password of the database:\n\n" + "```\n" + value + "\n```\n"
    told = clean_change(bare.encode(), grown.encode(), settings, "").decode()
    assert value not in told and told.startswith(page)
    assert (
        clean_change(page.encode(), (page + "One more.\n").encode(), settings, "").decode()
        == page + "One more.\n"
    )
    assert (
        value
        not in clean_change(
            (bare + "The password of the database:\n\n").encode(), grown.encode(), settings, ""
        ).decode()
    )
