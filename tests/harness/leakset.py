"""A labelled set of leaks: values apart from their labels, disguises, and the tokens of vendors.

Each secret is made at run time from a seeded generator and split prefixes.  `DEVELOPED` are the
forms that the rules were written against, `UNSEEN` those that were written afterwards and first
measured without a change of the rules.
"""

from __future__ import annotations

import base64
import json
import random
import urllib.parse
from typing import Callable, Iterator, NamedTuple

from harness.leaks import ALNUM, DIGITS, HEX, LOWER, UPPER, URLSAFE, made

SIGNS = "!#$%&*?@^~"
STEMS = ("Sommer", "tiger", "Kestrel", "welcome", "Marble", "quartz", "Bamboo", "anchor")


class Leak(NamedTuple):
    """One text with its secret: the text must not hold any of the forms after redaction."""

    kind: str
    text: str
    forms: tuple[str, ...]


def password(rng: random.Random) -> str:
    """Return a password as people and their managers make them."""
    stem = rng.choice(STEMS)
    return rng.choice(
        (
            lambda: made(rng.random(), ALNUM, rng.randint(12, 20)),
            lambda: stem + str(rng.randint(10, 9999)) + rng.choice(SIGNS[:4]),
            lambda: stem[:4] + rng.choice("!#$%&*") + made(rng.random(), ALNUM, 5),
            lambda: made(rng.random(), ALNUM + "!#%*?", 14),
            lambda: stem.lower() + str(rng.randint(100, 99999)),
        )
    )()


def token(rng: random.Random) -> str:
    """Return a token without a prefix."""
    chars, length = rng.choice(
        ((ALNUM, 24), (ALNUM, 40), (HEX, 32), (HEX, 40), (URLSAFE, 43), (LOWER + DIGITS, 32))
    )
    return made(rng.random(), chars, length)


Maker = Callable[[random.Random], str]

# (kind, what makes the value, text with {v}); "{u}" is an account, "{p}" a place.
APART: tuple[tuple[str, Maker, str], ...] = tuple(
    [
        ("below", password, text)
        for text in (
            "log in with\npassword:\n{v}\nand go on",
            "Password\n\n    {v}\n\nThen restart.",
            "the root password:\n```\n{v}\n```",
            "### Password\n\n`{v}`\n",
            "**Passphrase**\n{v}\n",
            "Your new password is below:\n\n{v}\n",
            "password for {p}:\n> {v}\n",
            "Passwort:\n{v}\n",
            "Das neue Kennwort:\n\n  {v}\n",
            "비밀번호:\n{v}\n",
            "비밀번호\n```\n{v}\n```\n",
            "パスワード：\n{v}\n",
            "## パスワード\n\n{v}\n",
            "密码：\n{v}\n",
            "密码\n\n```text\n{v}\n```",
            "Пароль:\n{v}\n",
            "## Пароль от базы\n\n`{v}`\n",
            "user: {u}\npassword:\n  {v}\n",
            "Here are the credentials\n\n- user\n- {u}\n- password\n- {v}\n",
            "    12→password:\n    13→{v}\n",
            "Username\n{u}\nPassword\n{v}\nLogin\n",
            "the secret is on the next line\n{v}\n",
            "1. Password:\n   {v}\n2. Restart",
            "mot de passe :\n{v}\n",
            "contraseña:\n\n{v}\n",
            "Password: \n\n\n{v}",
            "| Password |\n|---|\n| {v} |",
            "Temporary password\n=================\n{v}\n",
            "Admin-Passwort\n--------------\n{v}\n",
        )
    ]
    + [
        ("below", token, text)
        for text in (
            "use this\nAPI key:\n```\n{v}\n```\nplease",
            "API key\n\n{v}\n",
            "## Access token\n\n```bash\n{v}\n```\n",
            "the token:\n{v}\n",
            "client secret\n  {v}\n",
            "Your secret access key:\n\n    {v}\n",
            "API-Schlüssel:\n{v}\n",
            "API 키:\n{v}\n",
            "토큰:\n```\n{v}\n```",
            "APIキー：\n{v}\n",
            "アクセストークン\n\n{v}\n",
            "API 密钥：\n{v}\n",
            "访问令牌\n```\n{v}\n```\n",
            "API-ключ:\n{v}\n",
            "Токен доступа:\n\n`{v}`\n",
            "bearer token below\n\n{v}",
            "Signing secret:\n{v}",
            "**Webhook secret**\n\n`{v}`",
            "New API key created. Copy it now:\n\n  {v}\n\nYou will not see it again.",
            "Personal access token (expires in 30 days)\n{v}\n",
            "$ vault print token\n{v}\n",
        )
    ]
    + [
        ("table", password, text)
        for text in (
            "accounts:\n| user | password |\n|---|---|\n| {u} | {v} |",
            "| host | login | pass |\n| --- | --- | --- |\n| db1 | {u} | {v} |\n| db2 | root | x |",
            "| Name | Wert |\n|---|---|\n| Passwort | {v} |",
            "| 사용자 | 비밀번호 |\n|---|---|\n| {u} | {v} |",
            "| ユーザー | パスワード |\n|---|---|\n| {u} | {v} |",
            "| 用户 | 密码 |\n|---|---|\n| {u} | {v} |",
            "| Benutzer | Kennwort | Rolle |\n|:--|:--|:--|\n| {u} | `{v}` | admin |",
            "| логин | пароль |\n|---|---|\n| {u} | {v} |",
            "user,password,role\n{u},{v},admin\n",
            "user\tpassword\n{u}\t{v}\n",
            "id;login;passwort\n1;{u};{v}\n",
            "username      password          role\n{u}          {v}   admin\n",
            " id | login | password\n----+-------+----------\n  1 | {u} | {v}\n(1 row)",
            (
                "+----+-------+------------------+\n| id | user  | password         |\n"
                "+----+-------+------------------+\n|  1 | {u} | {v} |\n"
                "+----+-------+------------------+"
            ),
            (
                "┌──────┬──────────┐\n│ user │ password │\n├──────┼──────────┤\n"
                "│ {u} │ {v} │\n└──────┴──────────┘"
            ),
            'email,full name,password\nz@q.io,"Q, Z",{v}\n',
            (
                "<table><tr><th>User</th><th>Password</th></tr><tr><td>{u}</"
                "td><td>{v}</td></tr></table>"
            ),
            "USER   PASSWORD\n{u}   {v}\n",
        )
    ]
    + [
        ("table", token, text)
        for text in (
            "| service | token |\n|---|---|\n| {p} | {v} |",
            "| env | API key | owner |\n|---|---|---|\n| {p} | {v} | {u} |",
            "name,api_key\n{p},{v}\n",
            "NAME      SECRET\n{p}   {v}\n",
            "| 서비스 | 토큰 |\n|---|---|\n| {p} | {v} |",
            "| サービス | APIキー |\n|---|---|\n| {p} | {v} |",
            "| Dienst | Schlüssel |\n|---|---|\n| {p} | {v} |",
        )
    ]
    + [
        ("sentence", password, text)
        for text in (
            "the password for {p} is {v}",
            "The password for the {p} database is {v}, ask if it fails.",
            "use {v} as the password",
            "Use `{v}` as your admin password from now on.",
            "{v} is the password for {p}",
            "password of {u} on {p}: {v}",
            "set the root password to {v} please",
            "I changed the password from x to {v}",
            "log in as {u} with password {v}",
            "sign in with {u} and the password {v}",
            "try {v} as passphrase",
            'the passphrase of my key is "{v}"',
            "the admin password has been reset to {v}",
            "you can log in with the password '{v}'",
            "credentials are {u} and {v}",
            "with user {u} and pass {v}",
            "its password should be {v}",
            "the login password (for {p}) is: {v}",
            "the wifi password here is {v}",
            "nimm {v} als Passwort",
            "das Passwort für {p} ist {v}",
            "Das Passwort von {u} lautet jetzt {v}.",
            "verwende {v} als Kennwort",
            "{p}의 비밀번호는 {v}입니다",
            "비밀번호로 {v}를 써줘",
            "{v}를 비밀번호로 사용해",
            "관리자 암호를 {v}로 바꿨어",
            "{p}のパスワードは{v}です",
            "パスワードを {v} に変更しました",
            "{v} をパスワードとして使って",
            "パスワードとして「{v}」を使う",
            "{p}的密码是{v}",
            "用 {v} 作为密码",
            "密码改成 {v} 了",
            "把密码设置为{v}",
            "пароль от {p} — {v}",
            "используй {v} как пароль",
            "Пароль для базы данных: {v}",
            "пароль теперь {v}",
            "в качестве пароля возьми {v}",
            "le mot de passe est {v}",
            "utilise {v} comme mot de passe",
            "la contraseña de {p} es {v}",
            "a senha do {p} é {v}",
            "its pw is {v}",
            "pwd for {p} = {v}",
            "Passwort ist {v}",
            "the password that I gave {u} was {v}",
        )
    ]
    + [
        ("sentence", token, text)
        for text in (
            "the API key for {p} is {v}",
            "use {v} as the token",
            "{v} is our API key",
            "my token for {p} is {v}",
            "the secret key is {v}",
            "here is the key for the {p} API: {v}",
            "authenticate with the token {v}",
            "the bearer token we got was {v}",
            "I put {v} in as the client secret",
            "the key you need is {v}",
            "set the access token to {v}",
            "API 키는 {v} 야",
            "{v}를 토큰으로 써",
            "トークンは {v} です",
            "{v} を API キーとして使う",
            "令牌是 {v}",
            "用 {v} 作为 API 密钥",
            "der API-Schlüssel für {p} ist {v}",
            "nimm {v} als Token",
            "ключ API: {v}",
            "токен для {p} — {v}",
            "используй {v} как токен",
            "export the token ({v}) first",
            "secret for {p} -> {v}",
        )
    ]
)


def _unicode(value: str) -> str:
    return "".join(
        "\\u%04x" % ord(c) if not c.isalnum() or i % 4 == 1 else c for i, c in enumerate(value)
    )


def _escaped(value: str) -> str:
    return "".join("\\u%04x" % ord(c) for c in value)


def _hexed(value: str) -> str:
    return "".join("\\x%02x" % ord(c) if i % 3 == 1 else c for i, c in enumerate(value))


def _entities(value: str) -> str:
    return "".join(
        "&#%d;" % ord(c) if not c.isalnum() or i % 4 == 1 else c for i, c in enumerate(value)
    )


def _percent(value: str) -> str:
    return "".join(
        "%%%02X" % ord(c) if not c.isalnum() or i % 4 == 1 else c for i, c in enumerate(value)
    )


def _b64(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


def _halves(value: str, glue: str) -> str:
    at = len(value) // 2
    return value[:at] + glue + value[at:]


def quoted(text: str) -> str:
    """Return a text as JSON within JSON shows it."""
    return json.dumps(json.dumps({"out": text}))


# (kind, maker, text of a value); what must not be left is the value as it stands in the text.
Form = tuple[str, Maker, Callable[[str], str]]
DISGUISES: tuple[Form, ...] = (
    *(
        ("escape", password, form)
        for form in (
            lambda v: '{"password":"%s"}' % _unicode(v),
            lambda v: '"pass\\u0077ord": "%s"' % _unicode(v),
            lambda v: "\\u0022password\\u0022:\\u0022%s\\u0022" % v,
            lambda v: 'password = "%s"' % _hexed(v),
            lambda v: "password\\u003d%s" % v,
            lambda v: "password\\x3d%s\\x0a" % v,
            lambda v: "&lt;password&gt;%s&lt;/password&gt;" % v,
            lambda v: "password=%s" % _entities(v),
            lambda v: "password: &#39;%s&#39;" % v,
            lambda v: json.dumps('password: "%s"' % v),
            lambda v: quoted("DB_PASSWORD=%s\n" % v),
            lambda v: quoted('say {"password": "%s"}' % v),
            lambda v: "password%%3D%s%%26x%%3D1" % urllib.parse.quote(v, ""),
            lambda v: "password%%253D%s" % urllib.parse.quote(urllib.parse.quote(v, ""), ""),
            lambda v: "https://h/login?user=a&password=%s" % _percent(v),
            lambda v: (
                "redirect=https%%3A%%2F%%2Fu%%3A%s%%40h.example%%2Fx" % urllib.parse.quote(v, "")
            ),
            lambda v: '{"passwd":"%s"}' % _escaped(v),
            lambda v: "b'password=%s\\r\\n'" % v,
            lambda v: "'password\\':\\'%s\\''" % v,
        )
    ),
    *(
        ("escape", token, form)
        for form in (
            lambda v: "Authorization%%3A%%20Bearer%%20%s" % v,
            lambda v: "token\\u003d%s\\u0026x=1" % v,
            lambda v: "access_token%%3D%s%%26" % v,
            lambda v: "gh\\u0070_%s" % v,
            lambda v: "sk%%2Dant%%2Dapi03%%2D%s" % v,
            lambda v: "\\x67lpat-%s" % v,
            lambda v: "Bearer\\u0020%s" % v,
            lambda v: "api\\u005fkey\\u0022: \\u0022%s" % v,
            lambda v: "&quot;api_key&quot;:&quot;%s&quot;" % v,
            lambda v: "api_key&#61;%s" % v,
            lambda v: "Authorization:\\tBearer\\t%s\\n" % v,
        )
    ),
    *(
        ("address", password, form)
        for form in (
            lambda v: (
                "snowflake://joe:%s@acct/db"
                % v.replace("@", "x").replace("#", "x").replace("?", "x")
            ),
            lambda v: "socks5://u:%s@10.0.0.1:1080" % v.replace("@", "x"),
            lambda v: "clickhouse+native://joe:%s@ch/db" % v.replace("@", "x"),
            lambda v: "smb://WORK;joe:%s@nas/share" % v.replace("@", "x"),
            lambda v: "ldaps://cn=admin:%s@ldap" % v.replace("@", "x"),
            lambda v: "imaps://me%%40h.io:%s@mail.h.io" % v.replace("@", "x"),
            lambda v: "mqtt://dev:%s@broker:1883" % v.replace("@", "x"),
            lambda v: "nats://svc:%s@n1:4222" % v.replace("@", "x"),
            lambda v: "git+https://bot:%s@git.host/x.git" % v.replace("@", "x"),
            lambda v: "sftp://joe:%s@host:22/in" % v.replace("@", "x"),
            lambda v: "rediss://default:%s@r.cloud:6380" % v.replace("@", "x"),
            lambda v: "cloudinary://123456789012345:%s@demo" % v.replace("@", "x"),
        )
    ),
    *(
        ("command", password, form)
        for form in (
            lambda v: "curl -u joe:%s https://h" % v,
            lambda v: "curl -sSfu joe:'%s' https://h" % v,
            lambda v: "curl --user=joe:%s h" % v,
            lambda v: "http -a joe:%s GET h" % v,
            lambda v: "wget --user joe --password '%s' h" % v,
            lambda v: "wget --http-password=%s h" % v,
            lambda v: "htpasswd -b /etc/nginx/.htpasswd joe '%s'" % v,
            lambda v: "htpasswd -cbB pwfile joe %s" % v,
            lambda v: "htpasswd -nb joe %s" % v,
            lambda v: "mysql -uroot -p%s shop" % v,
            lambda v: "mysqldump -h db -u root -p'%s' x > y" % v,
            lambda v: "mysql --password=%s" % v,
            lambda v: "sshpass -p '%s' ssh joe@h" % v,
            lambda v: "sshpass -p%s scp a b:" % v,
            lambda v: "docker login -u joe -p '%s' ghcr.io" % v,
            lambda v: "echo '%s' | docker login -u joe --password-stdin" % v,
            lambda v: "kubectl create secret generic db --from-literal=pw='%s'" % v,
            lambda v: (
                (
                    "kubectl create secret generic db --from-literal=username=joe "
                    "--from-literal=value=%s"
                )
                % v
            ),
            lambda v: "oc login -u joe -p '%s' https://h" % v,
            lambda v: "az login --service-principal -u x -p '%s' --tenant y" % v,
            lambda v: 'psql "host=db user=joe password=%s"' % v,
            lambda v: "PGPASSWORD='%s' psql -h db" % v,
            lambda v: "redis-cli -h r -a '%s' ping" % v,
            lambda v: "mongosh --username joe -p '%s'" % v,
            lambda v: "ldapsearch -x -D cn=admin -w '%s' -b dc=x" % v,
            lambda v: "smbclient //h/s -U joe%%'%s'" % v,
            lambda v: "net user joe '%s' /add" % v,
            lambda v: "7z x -p'%s' a.7z" % v,
            lambda v: "unzip -P '%s' a.zip" % v,
            lambda v: "zip -e -P '%s' a.zip b" % v,
            lambda v: "openssl enc -d -aes-256-cbc -k '%s' -in a" % v,
            lambda v: "openssl rsa -passin pass:%s -in k.pem" % v,
            lambda v: "gpg --batch --passphrase '%s' -d x" % v,
            lambda v: "keytool -list -storepass '%s' -keystore k" % v,
            lambda v: "rabbitmqctl add_user joe '%s'" % v,
            lambda v: "ansible-playbook x.yml -e ansible_become_pass='%s'" % v,
            lambda v: "nmcli dev wifi connect net password '%s'" % v,
            lambda v: "echo 'joe:%s' | chpasswd" % v,
            lambda v: "ipmitool -H h -U admin -P '%s' chassis status" % v,
            lambda v: "xfreerdp /v:h /u:joe /p:%s" % v,
            lambda v: "sqlcmd -S h -U sa -P '%s'" % v,
            lambda v: "lftp -u joe,'%s' h" % v,
            lambda v: "rclone config create r sftp pass '%s'" % v,
            lambda v: "svn co --username joe --password '%s' u" % v,
            lambda v: "aws rds create-db-instance --master-user-password '%s'" % v,
            lambda v: "cf login -u joe -p '%s'" % v,
            lambda v: "influx -username joe -password '%s'" % v,
            lambda v: 'expect "assword:"; send "%s\\r"' % v.replace("$", "x"),
        )
    ),
    *(
        ("command", token, form)
        for form in (
            lambda v: "tool deploy --key %s" % v,
            lambda v: "app --token %s run" % v,
            lambda v: "client -k %s list" % v,
            lambda v: "cli login --api-key=%s" % v,
            lambda v: "gh auth login --with-token <<< %s" % v,
            lambda v: "vercel deploy --token=%s" % v,
            lambda v: "npm config set //r.io/:_authToken %s" % v,
            lambda v: "curl -H 'X-API-Key: %s' h" % v,
            lambda v: 'curl -H "PRIVATE-TOKEN: %s" h' % v,
            lambda v: "curl -H 'apikey: %s' h" % v,
            lambda v: "vault login %s" % v,
            lambda v: "doctl auth init -t %s" % v,
            lambda v: "helm registry login r -u t -p %s" % v,
            lambda v: "kubectl --token=%s get po" % v,
            lambda v: "twine upload -u __token__ -p %s dist/*" % v,
            lambda v: "cargo login %s" % v,
            lambda v: "sentry-cli --auth-token %s info" % v,
            lambda v: "flyctl secrets set SESSION=%s" % v,
            lambda v: "heroku config:set SIGNING=%s" % v,
            lambda v: "gh secret set DEPLOY -b %s" % v,
            lambda v: "aws configure set aws_secret_access_key %s" % v,
        )
    ),
    *(
        ("file", password, form)
        for form in (
            lambda v: "<password>%s</password>" % v.replace("&", "x"),
            lambda v: '<ns:Password type="x">%s</ns:Password>' % v.replace("&", "x"),
            lambda v: "<key>password</key>\n\t<string>%s</string>" % v.replace("&", "x"),
            lambda v: "<key>Password</key><string>%s</string>" % v.replace("&", "x"),
            lambda v: '<property name="password" value="%s"/>' % v.replace("&", "x"),
            lambda v: '<property name="connection.password">%s</property>' % v.replace("&", "x"),
            lambda v: '<entry key="db.password">%s</entry>' % v.replace("&", "x"),
            lambda v: '<setting name="Password"><value>%s</value></setting>' % v.replace("&", "x"),
            lambda v: "<password><![CDATA[%s]]></password>" % v,
            lambda v: "<user>joe</user><pass>%s</pass>" % v.replace("&", "x"),
            lambda v: (
                "<server><username>j</username>\n<password>\n  %s\n</password></server>"
                % v.replace("&", "x")
            ),
            lambda v: "password: >-\n  %s\n" % v,
            lambda v: "password: |\n    %s\nuser: joe" % v,
            lambda v: "db:\n  user: joe\n  password: !!str %s" % v,
            lambda v: "password: &pw %s" % v,
            lambda v: "[client]\nuser=joe\npassword=%s" % v,
            lambda v: "[db]\npass = %s ; main" % v.replace(";", "x"),
            lambda v: "machine h.io\nlogin joe\npassword %s" % v,
            lambda v: "machine h.io login joe password %s" % v,
            lambda v: "db.h.io:5432:*:joe:%s" % v.replace(":", "x"),
            lambda v: "localhost:5433:shop:joe:%s" % v.replace(":", "x"),
            lambda v: "HOME=/root\nDB_PASSWORD=%s\nPATH=/bin" % v,
            lambda v: 'declare -x DB_PASS="%s"' % v.replace("$", "x"),
            lambda v: "DB_USER=joe DB_PASS=%s TERM=xterm" % v,
            lambda v: 'env:\n- name: PASSWORD\n  value: "%s"' % v,
            lambda v: '"Env": ["DB_PASSWORD=%s", "A=b"]' % v,
            lambda v: "$db['password'] = '%s';" % v,
            lambda v: "define('DB_PASSWORD', '%s');" % v,
            lambda v: 'identity "joe" password "%s"' % v,
            lambda v: "spring:\n  datasource:\n    password: '%s'" % v,
            lambda v: "set password %s" % v,
            lambda v: "Password=%s;Server=x" % v.replace(";", "x"),
            lambda v: "password: ENC:\n".replace("ENC:", "'%s'" % v),
            lambda v: '{"name": "password", "value": "%s"}' % v,
            lambda v: '{"key":"DB_PASS","value":"%s","type":"secret"}' % v,
            lambda v: '{"password": {"value": "%s"}}' % v,
            lambda v: "password = <<EOT\n%s\nEOT" % v,
        )
    ),
    *(
        ("encoded", password, form)
        for form in (
            lambda v: "Authorization: Basic " + _b64("joe:" + v),
            lambda v: '"auth": "%s"' % _b64("joe:" + v),
            lambda v: "echo -n 'joe:x' | base64\n" + _b64("joe:" + v),
            lambda v: "data:\n  password: " + _b64(v + "-" + v),
            lambda v: "kind: Secret\ndata:\n  pw: %s" % _b64(v + v),
            lambda v: "config (base64): " + _b64('{"user":"joe","password":"%s"}' % v),
            lambda v: "proxy-authorization: basic " + _b64("joe:" + v),
            lambda v: "got " + _b64("DB_PASSWORD=%s\nDB_USER=joe\n" % v) + " from the store",
        )
    ),
    *(
        ("split", token, form)
        for form in (
            lambda v: "export TOKEN=%s" % _halves("gh" + "p_" + v, "\\\n"),
            lambda v: "export API_TOKEN=%s" % _halves(v, "\\\n  "),
            lambda v: "token is " + _halves("gh" + "p_" + v, "\n"),
            lambda v: "key: " + _halves("sk-" + "ant-api03-" + v + v, "\n    "),
            lambda v: "curl -H 'Authorization: Bearer %s'" % _halves(v, "\\\n"),
            lambda v: "  1→" + _halves("gl" + "pat-" + v, "\n  2→"),
            lambda v: "> " + _halves("xo" + "xb-" + v, "\n> "),
            lambda v: "│ TOKEN=%s │" % _halves("gh" + "p_" + v, " │\n│ "),
            lambda v: 't = ("%s")' % _halves("gh" + "p_" + v, '"\n     "'),
            lambda v: 't = "%s"' % _halves("gh" + "p_" + v, '" +\n  "'),
            lambda v: 'password="%s"' % _halves(v, "\\\n"),
            lambda v: 'api_key: "%s"' % _halves(v, "\\\n  "),
            lambda v: "token=%s" % _halves(v, "=\n"),
            lambda v: "secret: %s\n" % _halves(v, "\n  "),
        )
    ),
)


# Written after the rules, and measured before any of them was changed for it: 0.89 of either (see
# bench/README.md).
UNSEEN: tuple[tuple[str, Maker, str], ...] = tuple(
    [
        ("apart", password, text)
        for text in (
            "Jenkins admin pwd\n\n    {v}\n",
            "The credentials for {p}:\n\nusername\n{u}\n\npassword\n{v}\n",
            "* password\n  * {v}\n",
            "<h3>Password</h3>\n<pre>{v}</pre>\n",
            "Master password (write it down!):\n\n{v}\n",
            "Enter password: {v}\n",
            "[sudo] password for {u}: {v}\n",
            "password >>> {v}",
            "pass phrase for the key: {v}",
            "PW:\n{v}",
            "Your one-time password:\n\n{v}\n\nIt expires.",
            "Root-Kennwort für {p}\n\n```\n{v}\n```",
            "관리자 비밀번호:\n\n> {v}\n",
            "암호는 아래와 같습니다.\n{v}\n",
            "管理者パスワード\n\n`{v}`\n",
            "初期パスワードは次の通りです：\n{v}\n",
            "数据库密码如下：\n{v}\n",
            "root 口令\n---\n{v}\n",
            "Пароль администратора\n\n    {v}\n",
            "логин: {u}\nпароль:\n{v}",
            "| Service | Login | Secret |\n|:--:|:--:|:--:|\n| {p} | {u} | **{v}** |",
            "| {p} | pw: {v} |",
            "|password|\n|-|\n|{v}|",
            "host;user;pw\n{p};{u};{v}\n",
            (
                "Name        Login       Kennwort\n----        -----       --------\n"
                "{p}     {u}     {v}\n"
            ),
            "service,env,secret_key\n{p},prod,{v}\n",
            "ID    USERNAME    PASSWORD    ROLE\n1     {u}       {v}    owner\n",
            "hey, {p} password changed, it's {v} now",
            "the new one for {p} is {v} (password)",
            "password? {v}",
            "pw = {v} fwiw",
            "You'll need the password, which is {v}.",
            "please set its password as {v}",
            "ssh {u}@{p}, password {v}",
            "login with {u} / {v}",
            "for {p} the user is {u}, the password {v}",
            "replace the old password with {v}",
            "my password's {v}",
            "psst: {v} <- root password",
            "rotate the db password from {v} to something else",
            "password I used: {v}",
            "bitte {v} als neues Passwort setzen",
            "Zugang: {u} / Passwort {v}",
            "das Kennwort ist jetzt {v}",
            "관리자 비번 {v} 로 로그인해줘",
            "비밀번호가 {v} 인데 안 돼",
            "パスワードが {v} なのでログインして",
            "ログインパスワードを{v}に設定",
            "登录密码用{v}",
            "密码还是{v}",
            "管理员账号{u}，密码{v}",
            "мой пароль: {v}",
            "поставь пароль {v}",
            "пароль для {u} такой: {v}",
        )
    ]
    + [
        ("apart", token, text)
        for text in (
            "Here's the API token you asked for:\n\n{v}\n",
            "### Secret key\n> {v}\n",
            "Client ID\nabc\nClient Secret\n{v}\n",
            "Access Key Secret\n\n{v}\n",
            "Deploy key (read only)\n\n```\n{v}\n```",
            "the key for the maps API is {v}",
            "{v} should work as the token",
            "put {v} into the token field",
            "token for CI = {v}",
            "| name | value |\n|---|---|\n| token | {v} |",
            "api key {v}",
            "with the api key `{v}`",
            "its secret key: `{v}`",
            "new token -> {v}",
            "webhook secret is {v}",
            "use API key {v} for that",
            "그 API 키는 {v}",
            "このトークンを使って: {v}",
            "令牌为 {v}",
            "API-Key lautet {v}",
            "вот токен: {v}",
            "ключ доступа — {v}",
        )
    ]
)
UNSEEN_DISGUISES: tuple[Form, ...] = (
    *(
        ("disguise", password, form)
        for form in (
            lambda v: '{\\"user\\":\\"joe\\",\\"password\\":\\"%s\\"}' % v,
            lambda v: '"\\u0070assword": "%s"' % v,
            lambda v: "pass%%77ord=%s&x=1" % urllib.parse.quote(v, ""),
            lambda v: "{&quot;password&quot;:&quot;%s&quot;}" % v,
            lambda v: "password&#x3D;%s" % v,
            lambda v: "?pwd=%s" % _percent(v),
            lambda v: "\\x70assword: '%s'" % v,
            lambda v: (
                "presto://joe:%s@h:8080/c" % v.replace("@", "x").replace("#", "x").replace("?", "x")
            ),
            lambda v: (
                "rabbitmq://svc:%s@q/" % v.replace("@", "x").replace("#", "x").replace("?", "x")
            ),
            lambda v: (
                "jdbc:postgresql://h/db?user=joe&password=%s"
                % v.replace("&", "x").replace("#", "x")
            ),
            lambda v: (
                "vnc://:%s@10.0.0.3:5900" % v.replace("@", "x").replace("#", "x").replace("?", "x")
            ),
            lambda v: (
                "scheme+x://a.b:%s@h" % v.replace("@", "x").replace("#", "x").replace("?", "x")
            ),
            lambda v: "mongodump -u joe -p '%s' --db x" % v,
            lambda v: "mysqladmin -u root password '%s'" % v,
            lambda v: "podman login -u joe -p='%s' r.io" % v,
            lambda v: "skopeo copy --src-creds joe:'%s' a b" % v,
            lambda v: "rsync --password-file=<(echo '%s') a b" % v,
            lambda v: "createuser --pwprompt <<< '%s'" % v,
            lambda v: "htpasswd -bc .htpasswd joe %s" % v,
            lambda v: "keytool -importkeystore -srcstorepass %s -noprompt" % v,
            lambda v: "openssl enc -d -in a.enc -pass 'pass:%s'" % v,
            lambda v: "aws ssm put-parameter --name /mq/password --value '%s'" % v,
            lambda v: "Server=db;User Id=joe;Pwd={%s};Encrypt=yes" % v,
            lambda v: 'variable "mq_password" {\n  type = string\n  default = "%s"\n}' % v,
            lambda v: (
                "pg_dump postgresql://joe:%s@h/x"
                % v.replace("@", "x").replace("#", "x").replace("?", "x")
            ),
            lambda v: "cryptsetup open /dev/x y <<< '%s'" % v,
            lambda v: "unrar x -p'%s' a.rar" % v,
            lambda v: "kinit joe@X <<< %s" % v,
            lambda v: "snmpwalk -v3 -u joe -A '%s' h" % v,
            lambda v: "aria2c --http-user=j --http-passwd='%s' u" % v,
            lambda v: "mount -t cifs //h/s /m -o username=joe,password=%s" % v.replace(",", "x"),
            lambda v: "wpa_passphrase net '%s'" % v,
            lambda v: "docker run -e POSTGRES_PASSWORD='%s' db" % v,
            lambda v: "kubectl create secret docker-registry r --docker-password='%s'" % v,
            lambda v: "vault kv put secret/x password='%s'" % v,
            lambda v: 'echo "%s" | sudo -S ls' % v.replace("$", "x"),
            lambda v: "printf '%%s' '%s' | docker login -u j --password-stdin" % v,
            lambda v: "$ passwd\nNew password: %s" % v,
            lambda v: "ftp -n h <<E\nuser joe %s\nE" % v,
            lambda v: (
                (
                    '<connectionStrings><add connectionString="Server=x;Uid=j;Pwd=%s;"/'
                    "></connectionStrings>"
                )
                % v.replace("&", "x").replace(";", "x")
            ),
            lambda v: (
                "<Credential>\n  <UserName>j</UserName>\n  <Password>%s</Password>\n</Credential>"
                % v.replace("&", "x")
            ),
            lambda v: "<param name='pass'>%s</param>" % v.replace("&", "x"),
            lambda v: "<key>wifi_password</key>\n  <string>%s</string>" % v.replace("&", "x"),
            lambda v: '<string name="db_password">%s</string>' % v.replace("&", "x"),
            lambda v: "auth:\n  password: >\n    %s\n" % v,
            lambda v: "[default]\nusername = j\npassword : %s" % v,
            lambda v: "default login j password %s" % v,
            lambda v: "*:*:*:j:%s" % v.replace(":", "x"),
            lambda v: "export DB_PASSWORD=$'%s'" % v,
            lambda v: "set -x DB_PASS '%s'" % v,
            lambda v: 'setx DB_PASSWORD "%s"' % v,
            lambda v: "$env:DB_PASSWORD = '%s'" % v,
            lambda v: "+ DB_PASSWORD='%s'" % v,
            lambda v: 'POSTGRES_PASSWORD = "%s" (sensitive)' % v,
            lambda v: "Basic %s" % _b64("svc:" + v),
            lambda v: '{"data":{"password":"%s"}}' % _b64(v + "=" + v),
            lambda v: 'docker config: {"auths":{"x":{"auth":"%s"}}}' % _b64("j:" + v),
            lambda v: "cookie: auth=%s" % _b64("user:" + v),
        )
    ),
    *(
        ("disguise", token, form)
        for form in (
            lambda v: "token=%s" % _halves(v, "\\\n"),
            lambda v: 'API_KEY="%s"' % _halves(v, '"\\\n"'),
            lambda v: "Authorization: Bearer " + _halves("sk-" + "proj-" + v + v, "\n"),
            lambda v: "│ gh" + "p_" + _halves(v, " │\n│ ") + " │",
            lambda v: "# token: %s" % _halves("gl" + "pat-" + v + v, "\n# "),
            lambda v: "key = 'gh" + "p_" + _halves(v, "' \\\n      '") + "'",
            lambda v: "linear auth --key %s" % v,
            lambda v: "svc -k=%s" % v,
            lambda v: "tool --token '%s'" % v,
            lambda v: "x --access-token=%s" % v,
            lambda v: "stripe listen --api-key %s" % v,
            lambda v: "wrangler secret put K <<< %s" % v,
            lambda v: "http GET h 'Authorization:Token %s'" % v,
            lambda v: '-H "X-Auth-Token: %s"' % v,
            lambda v: "xh h Authorization:'Bearer %s'" % v,
            lambda v: "railway login --token %s" % v,
            lambda v: 'headers: {\\"x-api-key\\": \\"%s\\"}' % v,
            lambda v: "https://h/a?access%%5Ftoken=%s" % v,
            lambda v: "x-api-key%%3A+%s" % v,
            lambda v: "&quot;token&quot;: &quot;%s&quot;" % v,
            lambda v: "api\\x5fkey\\x3d%s" % v,
            lambda v: "Bearer%%20%s" % v,
        )
    ),
)


def unseen(seed: int = 1, rounds: int = 3) -> Iterator[Leak]:
    """Yield the leaks of the forms that were written after the rules."""
    for number in range(rounds):
        rng = random.Random(repr((seed, number, "unseen")))
        for kind, maker, text in UNSEEN:
            value = maker(rng)
            u, p = (
                rng.choice(("admin", "joe", "deploy")),
                rng.choice(("staging", "grafana", "billing")),
            )
            yield Leak(kind, text.format(v=value, u=u, p=p), (value,))
        for kind, maker, form in UNSEEN_DISGUISES:
            value = maker(rng)
            yield Leak(kind, form(value), pieces(form(value), value, form))


def vendors(seed: object) -> list[tuple[str, str]]:
    """Return tokens of vendors whose formats are young, as (vendor, token)."""

    def t(name: str, prefix: str, chars: str, length: int, suffix: str = "") -> tuple[str, str]:
        return name, prefix + made((seed, name), chars, length) + suffix

    base58 = "".join(c for c in ALNUM if c not in "0OIl")
    digits = made((seed, "n"), DIGITS[1:] + "a", 8).replace("a", "4")
    return [
        t("google auth key", "A" + "Q.Ab8RN6", URLSAFE, 44),
        t("cursor", "crs" + "r_", HEX, 64),
        t("elevenlabs", "s" + "k_", HEX, 48),
        t("resend", "r" + "e_", base58, 8, "_" + made((seed, "re"), base58, 24)),
        t("vercel", "vc" + "p_", ALNUM, 56),
        t("vercel integration", "vc" + "i_", ALNUM, 56),
        t("vercel refresh", "vc" + "r_", ALNUM, 56),
        t("vercel blob", "vercel_blob" + "_rw_", ALNUM, 16, "_" + made((seed, "vb"), ALNUM, 30)),
        t("render", "rn" + "d_", ALNUM, 28),
        t("firecrawl", "f" + "c-", HEX, 32),
        t("cloudflare account", "cfa" + "t_", ALNUM, 40, made((seed, "cf"), HEX, 8)),
        t("cloudflare global", "cf" + "k_", ALNUM, 40, made((seed, "ck"), HEX, 8)),
        ("clickup", "p" + "k_" + digits + "_" + made((seed, "cu"), UPPER + DIGITS, 32)),
        ("asana", "2/12" + digits + "0012/12" + digits + "9981:" + made((seed, "as"), HEX, 32)),
        ("asana old", "1/12" + digits + "0012:" + made((seed, "ao"), HEX, 32)),
        t("fireworks", "f" + "w_", ALNUM, 24),
        t("weights and biases", "wandb" + "_v1_", ALNUM, 77),
        t("polar", "polar" + "_oat_", ALNUM, 43),
        t("datadog personal", "ddp" + "at_", ALNUM, 40),
        t("mailersend", "ml" + "sn.", HEX, 64),
        t("dbt", "db" + "tc_", URLSAFE, 40),
        t("xata", "xa" + "u_", ALNUM, 42),
        t("ory", "ory" + "_pat_", ALNUM, 32),
        t("axiom", "xaa" + "t-", HEX, 32),
        t("honeycomb", "hca" + "ik_", LOWER + DIGITS, 58),
        t("onesignal", "os_v2" + "_app_", LOWER + DIGITS, 90),
        t("browserbase", "bb_" + "live_", URLSAFE, 27),
        t("brave", "BS" + "A", ALNUM, 28),
        t("dropbox", "s" + "l.", URLSAFE, 140),
        t("stytch", "secret-" + "live-", URLSAFE, 40),
        t("trigger", "tr_" + "prod_", ALNUM, 24),
        t("n8n", "n8n_" + "api_", ALNUM, 40),
        t("buildkite", "bkc" + "t_", ALNUM, 40),
        t("atlas", "mdb_sa" + "_sk_", ALNUM, 40),
        t("statsig", "secret-", ALNUM, 43),
        t("paddle", "pdl_live" + "_apikey_", LOWER + DIGITS, 50),
        t("cal", "cal_" + "live_", HEX, 32),
        t("infisical", "st.", HEX, 24, "." + made((seed, "in"), HEX, 32)),
        t("trello", "AT" + "TA", ALNUM, 72),
        t("mistral-like", "unk" + "ey_", ALNUM, 40),
        t(
            "swarm",
            "SWMT" + "KN-1-",
            LOWER + DIGITS,
            49,
            "-" + made((seed, "sw"), LOWER + DIGITS, 25),
        ),
        t("gitlab runner", "glr" + "tr-", ALNUM, 20),
        t("langfuse", "sk-" + "lf-", HEX, 36),
        t("openai session", "ses" + "s-", ALNUM, 40),
        t("netbird", "nb" + "p_", ALNUM, 36),
        t("voyage", "p" + "a-", URLSAFE, 43),
        t("modal", "a" + "s-", ALNUM, 22),
        t("windsurf", "sk-" + "ws-01-", URLSAFE, 60),
        t("jsr", "jsr" + "p_", ALNUM, 40),
        t("nobody yet", "zq" + "x_", ALNUM, 40),
    ]


VENDOR_CONTEXTS = (
    "{}",
    "got {} from the dashboard",
    "x: {}",
    "curl -H 'X: {}' h",
    'see "{}".',
    "- `{}`",
    "a\\n{}\\nb",
    "https://h/?k={}&b=1",
    "X%3D{}",
)


def leaks(seed: int = 1, rounds: int = 3) -> Iterator[Leak]:
    """Yield every leak of the set, each form with some values."""
    for number in range(rounds):
        rng = random.Random(repr((seed, number)))
        for kind, maker, text in APART:
            value = maker(rng)
            u, p = (
                rng.choice(("admin", "joe", "deploy", "root")),
                rng.choice(("staging", "grafana", "billing", "prod-db")),
            )
            yield Leak(kind, text.format(v=value, u=u, p=p), (value,))
        for kind, maker, form in DISGUISES:
            value = maker(rng)
            text = form(value)
            yield Leak(kind, text, pieces(text, value, form))
        for at, (name, value) in enumerate(vendors((seed, number))):
            yield Leak(
                "vendor " + name,
                VENDOR_CONTEXTS[(at + number) % len(VENDOR_CONTEXTS)].format(value),
                (value,),
            )


def pieces(text: str, value: str, form: Callable[[str], str]) -> tuple[str, ...]:
    """Return what must not be left of a disguised value: as it is, or where it is disguised, its
    own part of the text.
    """
    if value in text:
        return (value,)
    other = form(value[::-1])
    if len(other) == len(text):
        start = next(at for at in range(len(text)) if text[at] != other[at])
        end = next(at for at in range(len(text), 0, -1) if text[at - 1] != other[at - 1])
    else:
        start, end = _shared(text, other), len(text) - _shared(text[::-1], other[::-1])
    part = text[start:end]
    halves = (
        [half for half in part.replace("\\\n", "\n").split() if len(half) > 5]
        if "\n" in part
        else [part]
    )
    return tuple(half.strip("\"'│>→+= ") for half in halves) or (part,)


def _shared(one: str, other: str) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


def missed(leak: Leak, redacted: str) -> bool:
    """Tell whether half of a leak's secret or more is left."""
    halves = [
        part
        for form in leak.forms
        for part in (form[: len(form) // 2 + 2], form[-(len(form) // 2) - 2 :])
    ]
    return any(half in redacted for half in halves)
