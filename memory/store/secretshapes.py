"""The tables and expressions by which redaction finds secrets."""

from __future__ import annotations

import re
import string
from functools import lru_cache
from itertools import groupby
from typing import Iterator

from memory.core import plaintext
from memory.store.secretlabels import STEMS

Span = tuple[int, int, str]
_ASCII = bytes(range(128))
_ANY = b" " + b"a" * 255
_DEEP = 25  # groups within groups of a pattern; Python compiles no more than some hundred
SEAM = "\n\x1e\n"  # keeps texts apart that are searched together
VALUE = r"(?P<v>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|[^\s\"']{4,200})"  # of an option
# of a call, with its comma
ARGUMENT = r"(?:\"[^\"\n]{0,160}\"|'[^'\n]{0,160}'|[$\w.\[\]]{1,60})\s{0,3},\s{0,9}"
# How a value is judged, kind, characters to read after a needle, needles in the lower-case text
# ("~" is a space; before one that begins with it, more is read); expression with a group `v`.
SHAPES: tuple[tuple[str, str], ...] = (
    (
        "given url-password 420 ://",
        r"://[^\s/@:\"'<>`\\]{0,120}:(?P<v>[^\s/\"'<>`]{1,256})@(?=[\w\[$%{.-])",
    ),
    ("random url-token 300 ://", r"://(?P<v>[\w\-.~%+]{16,255})@(?=[\w\[])"),
    (
        "header auth-header 4200 authorization",
        r"authorization[\"'\])\\]{0,4}\s{0,3}[:=,](?:\s|\\t){0,3}[\"'`\\]{0,4}(?:(?:bearer|token"
        r"|basic|digest|apikey|api-key|api-token|bot|key|jwt|oauth|negotiate|ntlm|splunk|sso-key"
        r"|geniekey|klaviyo-api-key|discogs|snowflake)(?:[ \t]"
        r"|\\t)+)?(?:[\"'])?(?P<v>[\w\-.~+/=%|:@]{6,4096})",
    ),
    (
        "header bearer-token 4200 bearer",
        r"bearer[\"']?[ \t:=]{1,3}[\"'\\]{0,2}(?P<v>[\w\-.~+/=%|]{8,4096})",
    ),
    ("basic basic-auth 1100 basic", r"\bbasic[ \t]+(?P<v>[A-Za-z0-9+/]{6,1024}={0,2})"),
    (
        "cookie cookie 4200 cookie",
        r"cookie\d?[\"'\]]{0,2}[ \t]{0,3}[:=, ][ \t]{0,3}[\"'\\]{0,3}(?P<v>[^\r\n\"'\\]{6,4096})",
    ),
    (
        'random cookie 600 sessid= sessionid= connect.sid= _session= sessid": session_token= sid=',
        r"(?:sessid|sessionid|connect\.sid|_session|session_token"
        r"|(?<![a-z])sid)[\"']?[=:][ \"']{0,2}(?P<v>[\w\-.%+/=]{16,512})",
    ),
    ("cookie cookie 1500 curl", r"\s(?:-b|--cookie)[= ][\"']?(?P<v>[^\r\n\"']{6,4096})"),
    (
        "given curl-password 1500 curl wget --auth -creds",
        r"\s(?:-[a-zA-Z]{0,6}[uUa]|--(?:proxy-)?user|--auth|--(?:src-|dest-)?creds?)(?:="
        r"|[ \t]{0,4})[\"']?[^\s:\"'/]{0,100}[\"']?:(?P<v>\"[^\"\n]{1,200}\""
        r"|'[^'\n]{1,200}'|[^\s\"']{1,200})",
    ),
    (
        "strong cli-password 260 ~-p ~-a ~-w",
        r"(?:mysql\w{0,12}|mariadb\w{0,12}|sshpass|redis-cli|mongo\w{0,8}|ldap\w{3,8}|smbclient"
        r"|twine|docker login|podman login|helm)[^\n|;]{0,200}?\s-[paw] ?" + VALUE,
    ),
    (
        "given netrc-password 900 machine login",
        r"(?:machine\s{1,9}\S{1,200}\s{1,9}(?:login\s{1,9}\S{1,128}\s{1,9})?"
        r"|\bdefault\s{1,9}login\s{1,9}\S{1,128}\s{1,9})(?:account\s{1,9}\S{1,99}\s{1,9})?password"
        r"\s{1,9}(?P<v>\S{3,256})",
    ),
    (
        "given pgpass 400 :543 :330 :*:",
        r":(?:543\d|330\d|\*):[^\s:]{1,64}:[^\s:]{1,64}:(?P<v>[^\s:]{4,200})(?=\s|$|[\"'`)])",
    ),
    (
        "given jwk 2500 kty",
        r"\\*\"(?:d|p|q|dp|dq|qi|k)\\*\"[ \t]*:\s{0,4}\\*\"(?P<v>[\w\-]{16,2048})",
    ),
    (
        "random signature 2200 sig= signature= x-amz-credential= x-amz-security-token= sig%3d "
        "signature%3d",
        r"(?:(?<![a-z])sig|signature|x-amz-credential|x-amz-security-token)(?:="
        r"|%3d)[\"']?(?P<v>[\w%+/\-.~]{16,2048}={0,2})",
    ),
    ("strong snmp-community 100 snmp-server", r"snmp-server community[ \t]+(?P<v>\S{4,64})"),
    (
        "given oracle-password 300 jdbc:oracle sqlplus",
        r"(?:thin:|sqlplus )[^\s/:@]{1,60}/(?P<v>[^\s@]{3,100})@",
    ),
    (
        "strong piped-password 300 echo printf",
        r"(?:echo|printf)[ \t]+(?:-\w+[ \t]+)?(?:[\"']?%s(?:\\n)?[\"']?[ \t]+)?[\"']?(?:\w{1,32}:)?"
        r"(?P<v>[^\s\"'|]{5,200})[\"']?[ \t]*\|[ \t]*(?:sudo|docker|podman|su|passwd|chpasswd|gh"
        r"|cryptsetup|openssl|kinit|vault|gpg|helm|aws|az)\b",
    ),
    (
        "given sql-password 300 identified",
        r"identified[ \t]+(?:with[ \t]+\w+[ \t]+)?by[ \t]+(?:password[ \t]+)?[\"']"
        r"(?P<v>[^\"'\n]{3,200})[\"']",
    ),
    (
        "strong cli-password 300 securestring requirepass masterauth net~user secret~set",
        r"(?:securestring(?: -string)?|requirepass|masterauth|net user \S{1,60}"
        r"|secret set \S{1,80} (?:--body|-b))[ =]{1,3}[\"']?(?P<v>[^\s\"']{5,200})",
    ),
    (
        "given cisco-password 200 password~7 password~5 secret~5 secret~8 secret~9",
        r"(?:password|secret) [5789] (?P<v>\S{8,200})",
    ),
    (
        "given login-password 400 .login( basicauth( credential( credentials( "
        "passwordauthentication(",
        r"(?:\.login|basicauth|credentials?|passwordauthentication)\(\s{0,9}"
        + ARGUMENT
        + r"[\"'](?![/.$%])(?P<v>[^\s\"']{3,200}|(?:[a-z]{4} ){3}[a-z]{4})[\"']",
    ),
    (
        "strong login-password 400 .authenticate( .auth( auth=( auth:(",
        r"\.?auth(?:enticate)?[=:]?\(\s{0,9}"
        + ARGUMENT
        + r"[\"'](?![/.$%])(?P<v>[^\s\"']{3,200})[\"']",
    ),
    (
        "given login-password 600 getconnection( mysqli mysql_connect( pdo(",
        r"(?:getconnection|mysqli(?:_connect)?|mysql_connect|pdo)\(\s{0,9}"
        + ARGUMENT * 2
        + r"[\"'](?![/.$%])(?P<v>[^\s\"']{3,200})[\"']",
    ),
    (
        "strong login-password 160 ~/~",
        r"(?:계정|접속 ?정보|\b(?:log(?:ged)?[ -]?in|credentials?|creds|user(?:name)?|account"
        r"|(?:zugangs|anmelde|log-?in-?)daten))(?:[ \t]{1,3}(?:is|are"
        r"|with|as|using|for)\b)?[:=]?[ \t]{1,3}[\"'`(]?[\w.+@\-]{2,64}[\"'`]?[ \t]{1,3}/[ \t]{1,3}"
        r"[\"'`]?(?=\S{0,99}[A-Za-z])(?=\S{0,99}?\d\S{0,99}?\d"
        r"|\S{0,99}[!@#$%^&*])(?P<v>[^\s\"'`]{5,128}?)(?=[).,;:\"'`]{0,3}(?:\s|$))",
    ),
    (
        "strong login-password 160 ~/~",
        r"(?:[\w.+\-]@[\w\-]{1,63}\.[\w.]{2,40}|\b(?:admin(?:istrator)?|root|sa|postgres))"
        r"[\"'`]?[ \t]{1,3}/[ \t]{1,3}[\"'`]?(?=\S{0,99}[A-Za-z])(?=\S{0,99}?\d\S{0,99}?\d)"
        r"(?P<v>[^\s\"'`/]{6,128}?)(?=[).,;:\"'`]{0,3}(?:\s|$))",
    ),
    (
        "strong login-password 160 login~is logindaten login-daten zugangsdaten creds credentials",
        r"\b(?:login is|(?:creds|credentials|(?:zugangs|log-?in-?)daten)(?: are| sind)?:?)[ ]"
        r"[\"'`]?(?!localhost|host)[a-z][\w.+@\-]{1,63}[:/](?=\S{0,99}[A-Za-z])"
        r"(?=\S{0,99}?\d\S{0,99}?\d|\S{0,99}[!@#$%^&*])"
        r"(?P<v>[^\s\"'`/:]{6,128}?)(?=[).,;\"'`]{0,3}(?:\s|$))",
    ),
    (
        "given otp-secret 160 otp~seed 2fa~seed otp~secret 2fa~secret mfa~secret",
        r"(?:seed|secret)(?: key| is|:){0,2}[ ][\"'`]?(?=[A-Z ]{0,40}[2-7])"
        r"(?P<v>[A-Z2-7]{16,64}|(?:[A-Z2-7]{4}[ ]){3,15}[A-Z2-7]{4})(?![\w\-])",
    ),
    ("given masked 300 ::add-mask::", r"::add-mask::(?P<v>[^\s\"'$]{4,200})"),
    # Dialogues of clients and servers: FTP, SMTP (`Password:` in Base64), Redis.
    ("given login-password 300 331~", r"331 [^\n]{0,80}\n(?:[^\n]{0,20}> ?)?PASS (?P<v>\S{3,200})"),
    (
        "given login-password 300 334~ugfzc3dvcmq6",
        r"334 ugfzc3dvcmq6\r?\n(?:c: )?(?P<v>[A-Za-z0-9+/]{4,200}={0,2})",
    ),
    (
        "given redis-password 300 auth~",
        r"(?:redis[\w\-]{0,20}|:\d{4,5})> ?auth (?:\w{1,40} )?(?P<v>\S{3,200})",
    ),
    (
        "given redis-password 300 requirepass",
        r"requirepass\"?\r?\n(?:2\) )?\"?(?P<v>[^\s\"]{3,200})",
    ),
    # Options of programs: an account or a login beside `-p`, programs with `-P` or `-k`, a word
    # without an option.
    (
        "strong cli-password 260 ~-p ~-a ~-x",
        r"(?:\s-[uUD]|--user(?:name)?|\blog-?in\b|\b(?:7z[ar]?|rar|unrar|unzip|zip|ipmitool|sqlcmd"
        r"|bcp|isql|kinit|mosquitto_\w+|vncpasswd|cqlsh|steghide|xfreerdp|rdesktop|pg_\w+"
        r"|useradd|usermod"
        r"|impala-shell|beeline|snmp\w{3,10})\b)[^\n|;&]{0,160}?\s-[pPaAX][ =]?" + VALUE,
    ),
    (
        "strong cli-password 260 ~-k ~-pass",
        r"\b(?:openssl|gpg|ccrypt|mcrypt|cryptsetup|kubeseal)\b[^\n|;&]{0,160}?\s-(?:k|pass(?:in"
        r"|out)?)[ =](?:pass:)?" + VALUE,
    ),
    ("strong cli-password 120 ~/p: ~/pass", r"\s/p(?:ass(?:word)?)?:" + VALUE),
    ("strong cli-password 200 ~-u", r"\s-u[ =]?[\"']?[\w\\./\-]{1,64}%" + VALUE),
    (
        "strong cli-password 200 lftp~ ncftp",
        r"\b(?:lftp|ncftp\w{0,4})\b[^\n|;&]{0,80}?\s-u\s{1,3}[^\s,]{1,64},[ ]?" + VALUE,
    ),
    (
        "strong cli-password 200 http~ https~",
        r"\b(?:https?|xh|ab)\s[^\n|;&]{0,80}?-[aA][ ]{1,3}[^\s:\"']{1,64}:" + VALUE,
    ),
    (
        "strong cli-password 300 htpasswd",
        r"htpasswd(?:[ \t]{1,3}-\w{1,6}){0,3}[ \t]{1,3}-\w{0,4}b\w{0,4}(?:[ \t]{1,3}-\w{1,6}){0,3}"
        r"(?:[ \t]{1,3}[^\s\-]\S{0,160})?[ \t]{1,3}[^\s\-]\S{0,64}[ \t]{1,3}" + VALUE,
    ),
    (
        "strong cli-password 200 add_user change_password adduser user~add wpa_passphrase",
        r"\b(?:add_user|change_password|adduser|user add"
        r"|wpa_passphrase)\s{1,3}[\w.@\-]{1,64}\s{1,3}" + VALUE,
    ),
    ("strong cli-password 300 from-literal", r"from-literal[= ][\"']?[\w.\-]{1,64}=" + VALUE),
    (
        "random api-token 300 config:set secrets~set secret~put secrets~put env:set secret~create "
        "secrets~create",
        r"(?:config:set|env:set|secrets? (?:set|put"
        r"|create))\s{1,3}(?:-{0,2}[\w.\-]{1,40}\s{1,3}){0,4}?[\"']?[\w.]{1,64}=" + VALUE,
    ),
    ("bare api-token 200 ~-k~ ~-k=", r"\s-[kK][ =][\"']?(?P<v>[\w\-+/=.]{16,512})(?=[\s\"';|)]|$)"),
    (
        "bare api-token 200 auth~ login~ token~ secret~",
        r"\b(?:auth|login|signin|secret|token|api)\b[^\n|;&]{0,60}?\s-[tbsTS]"
        r"[ =][\"']?(?P<v>[\w\-+/=.]{16,512})(?=[\s\"';|)]|$)",
    ),
    (
        "bare api-token 200 login~ authenticate~",
        r"(?:^|[\n`$#>|;&][ \t]{0,3})[a-z][\w\-]{1,20}\s(?:auth\s)?(?:login|signin"
        r"|authenticate)\s{1,3}(?P<v>[\w\-+/=.]{16,512})(?=[\s\"';|`)]|$)",
    ),
    (
        "given login-password 200 assword",
        r"assword[^\n]{0,60}?[\n;][ \t]{0,9}send\w{0,5}\s{1,3}(?:--\s{1,3})?[\"']"
        r"(?P<v>[^\"'\\\n]{4,100})",
    ),
    (
        "strong login-password 200 <<< <(echo <(printf",
        r"(?:sudo|log-?in|pass|pw|crypt|kinit|docker|token|secret|createuser|gpg|openssl|auth"
        r"|cred)[^\n]{0,99}?(?:<<<[ ]?|<\((?:echo|printf)[ ](?:-\w[ ])?)" + VALUE,
    ),
    (
        "strong login-password 400 ftp~",
        r"\bftp\b[^\n]{0,120}\n(?:[^\n]{0,200}\n){0,4}?[ \t]{0,9}user[ ]\S{1,64}[ ]" + VALUE,
    ),
    ("strong login-password 200 ftp>~user", r"ftp> user[ ]\S{1,64}[ ]" + VALUE),
    (
        "bare url-token 300 ~/token/ /token/ /tokens/ /secret/ /secrets/ /apikey/ /api-key/",
        r"://[^\s\"'<>`]{1,200}/(?:tokens?|secrets?|api-?key)/(?P<v>(?=\S{0,99}?\d\S{0,99}?\d)"
        r"[\w\-.~]{16,255})",
    ),
    (
        'strong password 200 ~default ~"default',
        r"(?:^|\n)(?P<i>[ \t]{0,40})(?:[^\s:]{1,40} )?[\"']?\w{0,40}"
        r"(?:password|passphrase|secret|token|apikey)"
        r"[\"']?:[ \t]*\{?\r?\n(?:(?P=i)[ \t]+[^\n]{0,160}\n){0,8}?"
        r"(?P=i)[ \t]+[\"']?default[\"']?:[ \t]*" + VALUE,
    ),
    (
        "given cli-password 300 storepass keypass",
        r"\s-{1,2}(?:src|dest|new)?(?:store|key)pass(?:wd)?[ =]" + VALUE,
    ),
    ("given cli-password 300 pass:", r"[\"']pass:(?P<v>[^\"'\n]{4,120})[\"']"),
    (
        "given secret 500 put-parameter put-secret-value",
        r"put-(?:parameter|secret-value)(?=[^\n]{0,300}(?:securestring|secret-string|passw|token))"
        r"[^\n]{0,300}?\s--(?:value|secret-string)[= ]" + VALUE,
    ),
    (
        "strong password 460 variable",
        r"variable \"[\w\-]{0,60}(?:password|passphrase|secret|token)[\w\-]{0,20}\"[ ]?\{"
        r"[^{}]{0,300}?default\s{1,9}=[ ](?P<v>\"[^\"\n$]{4,160}\")",
    ),
    ("given login-password 200 pwd={ password={", r"(?:pwd|word)=\{(?P<v>[^;\"\n$]{4,99})\}[;\"]"),
    (
        "bare url-token 300 magic~link reset~link login~link",
        r"link[\w ]{0,24}[:\] (<]{1,4}https?://\S{1,200}[/=](?<!commit/)"
        r"(?P<v>[\w\-.~]{16,255})(?![^\s)>\"'`,])",
    ),
    (
        'strong password 300 value: value":',
        r"\bvalue\"?: ?" + VALUE + r",?\s{1,40}\"?(?:name|key)\"?: ?\"?\w{0,40}"
        r"(?:password|secret|token|api_?key)\b",
    ),
    ("random url-token 240 tok=", r"[?&]tok=(?P<v>[\w\-.~%]{16,200})"),
    ("given wifi-password 300 wifi:", r"wifi:[^\n]{0,100}?;p:(?P<v>[^;\n]{4,100})"),
)
# What must follow a needle that is frequent in code.
FOLLOWED = {"~/~": r" / [ \t]{0,2}\S{0,99}[\d!@#$%^&*]"}
# Three or four letters of each searched word in the lower-case text ("~" is a space), in eight
# groups with similar letters at each place.
GRAMS = (
    "code efau eimn fied hasl intf jeto nid= oken seed ~add",
    "331~ auth cftp chtw dd_u log~ pdo( rola zuga",
    "-lit -par :*: :// jwt kata key kty llav mdp tok=",
    "<<< ddus dvcm ftp~ hl?s http plus psk pwd vari",
    ':330 :add _pat clav cred cret curl gnat gn~i link lue" lue: sid" sid= sig% sig= wget',
    "bc:o chav echo ecur enha ennw g:se mysq ogin okie onic onne p-se v:se",
    ":543 _ses achi arer assw basi pass priv wifi",
    "~-a ~-k ~-p ~-u ~-w ~-x ~/p: ~/~ ~use",
)
# `user:password@host` in a line of configuration: the part before the "@", the host, and the names
# of accounts for which a value is believed that could be a group, a branch or a person.
USERINFO = r"(?:^|[\s\"'`=(\[{,;<>|])(?P<u>[A-Za-z][\w.\-]{0,63}):(?P<v>[^\s\"'`@/<>()\\]{6,128})\Z"
# Oracle's easy connect: the account and its password, then the host and the service.
EASY = r"(?:^|[\s\"'`=(])[A-Za-z]\w{0,63}/(?P<v>[^\s\"'`@/]{5,128})\Z"
EASY_HOST = r"//[\w.\-]{1,120}(?::\d{1,5})?/\w"
HOST = (
    r"(?!sha\d|[0-9a-f]{6,40}\b(?![.\-]))(?:(?:tcp|unix)\(|localhost\b|(?:\d{1,3}\.){3}\d{1,3}\b"
    r"|\[[0-9a-fA-F:]{2,45}\]|[A-Za-z][\w\-]{1,62}(?:\.[\w\-]{1,62}){0,8}(?![\w.\-(]))"
)
ACCOUNTS = frozenset(
    (
        "admin administrator app db dba elastic mongo mysql oracle postgres rabbitmq redis root sa "
        "service smtp svc sysadmin"
    ).split()
)
# Names of secrets.  strong: any value but a word, placeholder or code; medium: at least 8 random
# characters; weak: at least 20.
NAMES: tuple[tuple[str, str, str], ...] = (
    ("password", "strong", "pass pwd pw psk kennwort senha motdepasse"),
    ("secret", "strong", "secret geheimnis"),
    ("token", "medium", "token _pat jwt"),
    ("api-key", "medium", "key schl?ssel"),
    ("credential", "medium", "cred auth mnemonic seed"),
)
LEAST = {"strong": 5, "medium": 8, "weak": 20}  # characters of a value, by the tier of its name
# What may follow a name without a mark between.
SUFFIX = {
    "pass": r"(?i:words?|wd|phrase|code|wort|confirm\w{0,12})?",
    "cred": r"(?i:s|entials?)?",
    "auth": r"(?i:key|pass|pwd|code)?",
    "seed": r"(?i:phrase|words)?",
    "token": "[sS]?",
    "key": "[sS]?",
    "secret": "[sS]?",
}
# Names in other scripts: the next printable ASCII word is the value.  pin: 4 to 8 digits count too.
WORDS: tuple[tuple[str, str], ...] = (
    (
        "password strong",
        "비밀번호|암호|패스워드|비번|비밀 번호|パスワード|パスコード|暗証番号|パスフレーズ|"
        "合言葉|密码|密碼|口令|пароль|contraseña",
    ),
    ("password pin", "暗証番号|핀번호|핀 번호"),
    ("secret strong", "비밀키|비밀 키|시크릿|개인키|秘密鍵|シークレット|密钥|密鑰|秘钥|私钥|私鑰"),
    (
        "token medium",
        "토큰|인증키|접근키|액세스키|접근 키|액세스 키|トークン|認証キー|アクセスキー|令牌|"
        "權杖|凭证|凭据|憑證|токен",
    ),
    ("api-key medium", "api키|api 키|apiキー|api キー|schlüssel|api密钥"),
)
VENDORS = (
    "adafruit|adobe|airtable|aiven|algolia|alibaba|amplitude|anthropic|apify|artifactory|asana|"
    "atlassian|auth0|aws|azure|beamer|bitbucket|bittrex|brevo|bugsnag|buildkite|circleci|"
    "cloudflare|cloudinary|codecov|cohere|coinbase|confluent|consul|contentful|coveralls|datadog|"
    "deepgram|deepseek|dockerhub|discord|docusign|droneci|dropbox|elastic|elevenlabs|etsy|facebook|"
    "fastly|figma|finicity|finnhub|firebase|flickr|freshbooks|freshdesk|gemini|gitee|github|gitlab|"
    "gitter|gocardless|grafana|groq|heroku|honeycomb|hubspot|infura|instagram|intercom|jenkins|"
    "jfrog|jira|kraken|kucoin|launchdarkly|linear|linkedin|lob|logzio|looker|mailchimp|mailgun|"
    "mailjet|mapbox|mattermost|meraki|messagebird|mistral|mixpanel|mongodb|netlify|newrelic|"
    "new_relic|ngrok|notion|npm|nytimes|okta|onelogin|openai|opsgenie|pagerduty|paypal|pinecone|"
    "pingdom|pipedrive|plaid|planetscale|postmark|postman|pusher|quay|rapidapi|rollbar|salesforce|"
    "sendbird|sendgrid|sentry|shodan|shopify|slack|snyk|sonar|sourcegraph|splunk|spotify|square|"
    "squarespace|stripe|sumo|supabase|telegram|terraform|todoist|travis|trello|twilio|twitch|"
    "twitter|typeform|unsplash|vault|vercel|virustotal|vonage|wakatime|weatherapi|"
    "xray|yandex|zendesk|zoom"
)
MARKER = r"\[redacted:[a-z]+(?:-[a-z]+)*#[0-9a-f]{4}\]"
INVISIBLE = "[%s]" % "".join(
    "%s-%s" % (chr(low), chr(high)) for low, high in plaintext.INVISIBLE if low != 0xD800
)
ESCAPE = (
    r"(?:[\x1b\x9b]|\\(?:u001[bB]|x1[bB]|033|e))\[?[0-9;:?]{0,40}(?<=[\[\x9b0-9;])[A-Za-z]|"
    + INVISIBLE
)
ESCAPES = ("\x1b", "\\u001", "\\x1", "\\033[", "\\e[")
WRITTEN = r"\\(?:u001|x1|033|e)"
NAME_CHARS = string.ascii_letters + string.digits + "_.-"
# each byte to "a" where tokens are made of its character, else to a space
RUN_MASK = bytes(97 if chr(code) in NAME_CHARS + "/+=~%" else 32 for code in range(256))
LONG_RUN = b"a" * 16
PRIVATE_TAG = (
    r"(?:<|&(?:amp;){0,3}(?:lt|\#0*60|\#x0*3c);|\\+(?:u003|x3)c|%3c"
    r"|＜)\s*(?P<close>\\*/?)\s*private(?![\w\-.:])(?:(?:(?!<|&(?:amp;){0,3}lt;).){0,300}?(?:>"
    r"|&(?:amp;){0,3}(?:gt|\#0*62|\#x0*3e);|\\+(?:u003|x3)e|%3e|＞))?"
)
PLACEHOLDER = (
    r"x{4}|\*{3}|\.{3}|…|•{2}|#{4}|_{4}|(?:^|[^a-z])(?:your|my|some|the|new"
    r"|old)[-_ ]?(?:[a-z]+[-_ ]?)?(?:password|passwd|pwd|pass|secret|token|key|api|app|user|db"
    r"|value)|changeme|change[-_]?(?:me|this|it)|example|placeholder|dummy|redacted"
    r"|replace[-_]?(?:me|with|this)|insert[-_]|<[^>]*>|\{\{|\}\}|\$\{|\$\(|%\(|^%[a-z_]+%$"
    r"|^\$[a-z_]+$|^\$[a-z_]+:|^\[.*\]$|^\{[^\"]*\}$|^<|^#\{|not[-_]?set|to[-_]?be[-_]|deadbeef"
    r"|^(?:0+|1+|123456?|abc123|test\d{0,4}|foo\w{0,4}|bar|none|null|true|false|undefined|secret"
    r"|password|passwd|pass|token\d?|pwd|string|hidden|masked)$|^1password"
)
STOCK = (
    r"user(?:name)?|postgres|root|admin|guest|test\w{0,4}|pw|pass\w{0,5}|my\w{0,8}|x+|y+|z+|\*+"
    r"|[?%:]\w*|\d{1,5}(?:/\S{0,60})?"
)
CODE = (
    r"!?(?:[a-z]\w*!\[|[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)*[\[(]"
    r"|[A-Za-z_$][\w$]*(?:(?:\?\.|::|->|\.)[A-Za-z_$][\w$]*)+(?:[^\w\-+/=]|$)|[@&(\[{]|(?:function"
    r"|async|await|new|return|lambda)\b|[$@%]\w+-$|(?:qr|qw|tr|m)[/({\[])"
)
PLACE = (
    r"process\.env|os\.environ|env[.\[]|import\.meta|System\.|self\.|this\.|secrets?\.|var\."
    r"|local\.|data\.|module\.|vault:|ssm:|op://|file://|https?://|arn:|/[a-z]+/"
    r"|\.{1,2}/|~/|[a-z]:\\"
)
WORDY = (
    r"(?:[a-z]*(?:[A-Z][a-z]+)*|[A-Z]+)\d{0,3}(?:[-_./: @](?:[a-z]*(?:[A-Z][a-z]+)*"
    r"|[A-Z]+)\d{0,4})*|[\d.,:/\-]+[a-z]{0,3}|\d{4}-\d\d-\d\d[T_ ]?[\d:.+Z\-]*"
    r"|0[xX][0-9a-fA-F]{1,16}"
)
TECHNICAL = (
    r"(?:scram-|pbkdf2-?|hmac-?)?(?:sha|latin|iso|md|utf|hs|rs|es|ps|ed|oauth|base|aes|rsa|argon"
    r"|http|ipv|k8s|win|int|uint|float|varchar|char|min|max|node|python|py|php)[-_]?\d{1,5}\w{0,4}"
)
VETO_TAIL = (
    r"(?<=[a-z])(?:ids?|names?|urls?|files?|paths?|length|counts?|types?|fields?|stamp|hash)$|(?:^"
    r"|[_.\-])(?:ids?|names?|urls?|uri|endpoint|path|paths|files?|filename|dir|counts?|length|len"
    r"|size|types?|ttl|expir\w*|exp|limit|fields?|label|hint|prompt|policy|strength|regex|pattern"
    r"|format|refs?|arn|versions?|algorithms?|alg|hash|hashes|sha\d*|digest|checksum|md5"
    r"|fingerprint|commit|rev|revision|required|enabled|disabled|valid|header|parser|usage|used"
    r"|budget|cost|price|per|rate|class|index|column|table|mapping|store|manager|provider|service"
    r"|stamp|timeout|period|interval|days?|hours?|minutes?|seconds?|secs|ms|lifetime|attempts?"
    r"|tries|retries|rounds?|iterations?|rotation|history|hashers?|validators?|backends?|date|time"
    r"|at|age|status|state|error|errors|message|help|placeholder|input|element"
    r"|selector|button|icon)$"
)
VETO_HEAD = (
    r"(?:public|pub|primary|foreign|sort|partition|cache|idempotency|host|map|dict|object|s3|row"
    r"|unique|natural|shard|group|order|lookup|hash|index|max|min|num|total|input|output|prompt"
    r"|completion|public[_-]?key|page|next|continuation|sync|cursor|hot|short|mon|don|tur|dedupe"
    r"|dedup|locale|i18n|translation|get|set|has|is|verify|known)[_.\-]*"
)
GOOD_KEY = (
    r"(?:api|access|secret|private|auth|account|shared|sharedaccess|signing|sign|encryption|encrypt"
    r"|crypto|cipher|aes|master|license|service|app|application|client|session|storage|subscription"
    r"|admin|deploy|ssh|hmac|jwt|webhook|bot|integration|project|write|server|consumer|preshared"
    r"|root|user|rest|security|primary|secondary|functions?|host|data|developer|dev|prod|live|test"
    r"|ingest|license|x|wg|wpa\d?|wi-?fi|wlan|" + VENDORS + r")$"
)
# Names of a build's cache: words and versions, then usually the digest of a lock file.
COMPOSED = (
    r"(?=[^\n]{0,120}?[A-Za-z]{3})(?:(?:(?:[A-Z]?[a-z]{1,16}|[A-Z]{2,8}|macOS)\d{0,3}|v?\d{1,6}"
    r"|x86_64|[0-9a-f]{7,64})[-_|./: ]){1,12}(?:[0-9a-f]{7,128}|[A-Z]?[a-z]{1,16}\d{0,3})?"
)
DIGEST = r"(?i:sha(?:1|224|256|384|512)|md5|h1|10c0)[-:/=][A-Za-z0-9+/]{20,}"
# A password after its name and a space: letters, digits and a sign, unlike words of prose or code.
SPOKEN = (
    r"(?=[^\s!@#$%^&?]{0,63}[!@#$%^&?])(?=[^\s\d]{0,63}\d)(?=[^\sA-Za-z]{0,63}[A-Za-z])"
    r"(?![\w.\-]{1,64}@[\w\-]{1,64}\.)[\w!@#$%^&?.~\-]{8,64}(?!"
    r"[\w!@#$%^&*?=()<>{}\[\]|+/\\:\"'`~\-])"
)
SEPARATOR = (
    r"(?=(?P<tail>[\w.\-]{0,40}(?!(?<=-)>)))(?P=tail)(?P<shut>(?:\[[^\]\s]{0,24}\]"
    r"|\\{0,7}[\"'`)\]*]|%22|&quot;|&#3[49];){0,4})(?:[ \t]{0,40}(?:[:][ \t]*(?:str|string|String"
    r"|&str|&'static str|text|Text|SecretStr|Optional\[str\]|char\*|any)\??[ \t]*(?==))?(?P<sign>:="
    r"|=>|={1,3}|\?=|\+=|::?|->|：|＝|%3[aAdD])(?:%22|&quot;"
    r"|&#3[49];)?(?:\s{0,80}(?=\\{0,7}[\"'])|[ \t]{0,80}(?:[|>][+-]?[ \t]*\r?\n[ \t]{1,40})?)"
    r"(?:[\"']?\$\{\w{1,64}:?[-=]){0,2}|(?:\s{0,40}(?:[|]{2}=?|[?]{2}=?|[?]:)"
    r"|(?<=[)\]])\s{1,40}or)\s{1,40}(?=[\"'`])"
    r"|[\"']?,?\s{0,40}-?[ \t]{0,9}\\{0,7}[\"']?(?:[Vv]alue|VALUE|defaultValue"
    r"|default)\\{0,7}[\"']?[ \t]{0,9}[:=][ \t]{0,9}|[ \t]+(?P<verb>is|was|ist|war|lautet|est|es"
    r"|to)[ \t:]{1,4}|(?P<call>[,(]\s{0,40})(?=\\{0,7}[\"'])|(?P<tag>>)"
    r"|[ \t]{1,20}\|[ \t]{0,20}|(?P<flag>[ \t]{1,4}))"
)
OPEN = r"[fFbBrRuUL@$]{0,2}(?P<q>\\{0,7}(?:\"\"\"|'''|[\"'`「『“”‘]))"
BARE = r"[^\s\"'`<>|]{1,160}"
STOP = (
    r"[&;,?][\w .\-%]{1,30}=|=[A-Za-z_]{3,30}=|\\+[nrt\"'`]|[,;)\]}]+(?:$|[,;)\]}])|;$|\$\(|%2[26]"
    r"|&quot;|&#3[49];|[\u2010-\uffff]"
)
PARTICLES = (
    r"(?:(?P<sign>(?:[ \t]?[(（【\[][^\n()（）【】\[\]]{1,24}[)）】\]])?\\{0,7}[\"'`*]{0,2}\s{0,3}"
    r"(?:[-=]>|:=|[:=：＝|→⇒])\s{0,3})|[^\x00-\x7f\n]{0,8}[\s:=(*]{0,6}[「『“‘：＝は是为為]{0,3}"
    r"\s{0,2})\\{0,7}[\"'`(*「『“‘]{0,2}(?P<v>[\x21-\x7e]{4,256})"
)
COUNTED = tuple("年月日桁回個件文자년월일회개건")  # a number before one of these is no PIN
# the number of an error, an issue or a record, which sentences name beside such words
TICKET = r"[A-Z]{2,8}-\d{1,7}|[a-z]-[0-9a-f]{6,12}"
CREDENTIAL = (
    r"(?:^|[^a-z])(?:api|access|secret|auth|private|signing|encryption|service|account|bot"
    r"|deploy)?[-_ ]?(?:key|token|secret|password|passwd|credentials?"
    r"|passphrase)s?(?:[^a-z0-9\n][^\n]{0,30}|[:=]?[ \t]*\n[ \t]{0,8})?\Z"
)
BINDING = r"(?:=>|:=|[:=,>|(]|is|->){1,2}\s{0,3}[\"'`\\(]{0,4}\Z"
BOUND = r"(?:" + VENDORS + r")[\w.\- ]{0,30}[\"'\])\\]{0,4}\s{0,3}" + BINDING
HASHED = (
    r"(?:sha\d*|md5|hash|digest|integrity|checksum|commit|revision|rev|etag|resolved|h1|fingerprint"
    r"|version|uuid|guid|trace|span|request)[\w.\- ]{0,12}[\"']?\s{0,2}[:=\-]{0,2}\s{0,2}[\"']?\Z"
)
KEY_HEAD = (
    r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: \d{1,4}"
)
KEY_END = r"-{4,5} ?END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
KEY_TAIL = r"-{4,5} ?(END|BEGIN) [A-Z0-9 ]{0,50}?KEY(?: BLOCK)? ?-{4,5}"
KEY_GAP = r"[\s\"'`+,;\\>#|*rn\d→:=.…]{0,40}(?!-{4,5} ?BEGIN)"
KEY_ENCODED = r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}={0,2}(?:\s{1,40}[A-Za-z0-9+/]{40,}={0,2}){0,400}"
# the part of a webhook's address before the domain
WEB = r"(?:https?:(?:\\{0,4}/){2}[\w.\-]{0,64})?\Z"
REFERENCE = r"(?:url|host|path|image|repo\w*|ref|sha|tag|version|release)[\"']?\s*[:=]+\s*[\"']?\Z"
GUTTER = r"[ \t]*(?:\d{1,6}[ \t]*[→:|│\t]|\d{1,6}[ \t]{1,4}|[>#|+*│\-][ \t]?|//[ \t]?){0,3}[ \t]*"
BODY = (
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|Encryption|Subject|Public-Lines"
    r"|Key-Derivation|Argon2-\w+)[:][^\n]{0,200}|(?P<b>[A-Za-z0-9+/]{1,4096}={0,3}))?"
)
LINE_END = r"(?:[ \t\"'`+,;\\]*(?:\r?\n|\\{1,4}r?\\{0,4}n|\Z)|[ \t\"'`+,;\\]+)"


@lru_cache(maxsize=4096)
def rx(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a regular expression on first use: all would take 40 ms."""
    return re.compile(pattern, flags | re.ASCII)


def beyond_ascii(text: str) -> str:
    if text.isascii():
        return ""
    data = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return data.decode("utf-8", "surrogatepass")


_cached_beyond_ascii = lru_cache(maxsize=512)(beyond_ascii)


def write_pattern(words: list[str], at: int = 0, deep: int = 0) -> str:
    """Return a pattern of sorted words, grouped by their beginnings.

    words: a line end in them stands for a space or joint.  at: characters that all begin with.
    """
    if deep > _DEEP:
        return "(?:%s)" % "|".join(_escape_word(word[at:]) for word in reversed(words))
    branches, ends = [], False
    for sign, group in groupby(words, key=lambda word: word[at : at + 1]):
        same = list(group)
        letters = enumerate(zip(same[0], same[-1]))
        end = next((i for i, (first, last) in letters if first != last), len(same[0]))
        tail = write_pattern(same, end, deep + 1) if len(same) > 1 else ""
        branches += [_escape_word(same[0][at:end]) + tail] if sign else []
        ends = ends or not sign
    return "(?:%s)%s" % ("|".join(branches), "?" if ends else "")


def _escape_word(word: str) -> str:
    return r"[\W_]{1,3}".join(map(re.escape, word.split("\n")))


def find_offsets(text: str, needle: str) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)


@lru_cache(maxsize=1)
def _gram_tables() -> tuple[list[bytes], dict[str, list[tuple[str, str, int]]]]:
    """Return WordOffsets' tables: each byte's groups by place, needles by three letters."""
    needles = [needle for row in SHAPES for needle in row[0].split()[3:]]
    needles += [word for row in NAMES for word in row[2].split()]
    groups = [bytearray(256) for _ in range(4)]
    words: dict[str, list[tuple[str, str, int]]] = {}
    known = dict.fromkeys((*needles, *STEMS, "private"))
    for bit, line in enumerate(GRAMS):
        for gram in line.split():
            own = [needle for needle in known if gram in needle]
            letters = gram.replace("~", " ")
            for place, group in enumerate(groups):
                for code in letters[place : place + 1].encode() or range(256):
                    group[code] |= 1 << bit
            for needle in own:
                row = (needle, needle.replace("~", " "), needle.index(gram))
                words.setdefault(letters[:3], []).append(row)
                del known[needle]
    return [bytes(group) for group in groups], words


class WordOffsets:
    """The offsets of words in a text, all searched at once.

    text: in lower case, with a "?" for each character of `beyond` ASCII.  The groups of all
    characters, shifted by 0 to 3, are long integers; their "and" is not 0 where a gram may be.
    """

    def __init__(self, text: str, lower: str, beyond: str) -> None:
        self.text, self.lower, self.beyond = text, lower, beyond
        self._at: list[int] = []
        groups, words = _gram_tables()
        self._known: dict[str, list[int]] = {word: [] for row in words.values() for word, *_ in row}
        data = text.encode("ascii", "replace") + b"   "
        one, two, three, four = (
            int.from_bytes(data[place:].translate(group), "little")
            for place, group in enumerate(groups)
        )
        mask = (one & two & three & four).to_bytes(len(data), "little").translate(_ANY)
        at = mask.find(b"a")
        while at >= 0:
            for name, word, before in words.get(text[at : at + 3], ()):
                if text.startswith(word, at - before) and at >= before:
                    self._known[name].append(at - before)
            at = mask.find(b"a", at + 1)

    def offsets(self, needle: str) -> list[int]:
        known = self._known.get(needle)
        if known is None:
            ascii = needle.isascii()
            known = list(find_offsets(self.text, needle)) if ascii else self._beyond_ascii(needle)
            self._known[needle] = known
        return known

    def _beyond_ascii(self, word: str) -> list[int]:
        part = _cached_beyond_ascii(word) if self.beyond else ""
        if not part or part not in self.beyond:
            return []
        if len(self.beyond) > len(self.text) / 20:
            return list(find_offsets(self.lower, word))
        if not self._at:
            self._at = [at for at in find_offsets(self.text, "?") if self.lower[at] != "?"]
        skipped = word.index(part[0])
        begins = (self._at[place] - skipped for place in find_offsets(self.beyond, part))
        return [at for at in begins if at >= 0 and self.lower.startswith(word, at)]


def at_edge(text: str, at: int) -> bool:
    """Tell whether a token may begin at an offset, not inside a word."""
    before = text[at - 1 : at]
    if not (before.isalnum() or before == "_") or not before.isascii():
        return True
    escape = r"(?:\\[nrtfb]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2})\Z"
    return bool(rx(escape).search(text[max(0, at - 6) : at]))


def is_filler(value: str) -> bool:
    """Tell whether a token is made up (`ghp_xxxxxxxx`, `...EXAMPLE`)."""
    made_up = r"x{5}|X{5}|\.{3}|example|EXAMPLE|[Yy]our[-_]?|YOUR_|placeholder|<|\*{3}|0{12}"
    return len(set(value)) < 7 or bool(rx(made_up).search(value[:300]))
