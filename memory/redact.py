"""Redaction: secrets out of text before it is written anywhere.

Every rule is a row of a table below; the code only dispatches.  Five kinds of evidence, cheapest first:

    tokens      a literal prefix no other text has (`TOKENS`), then the token's whole character class
    blocks      private keys: PEM, PGP, SSH, PuTTY; with gutters, `\\n` escapes, cut at either end
    shapes      structure around a value (`SHAPES`): URL userinfo, headers, cookies, `curl -u`, netrc, key files
    names       `name = value` in any syntax, for the names in `NAMES`, through a filter against placeholders and code
    runs        a random-looking run right after the name of a vendor or of a credential

What one of them finds is then removed wherever else it stands in the text, and the whole is repeated until nothing more is
found, so that redacting twice changes nothing.  A value leaves `[redacted:github-token#a1f3]`: its kind and 16 bits of a
salted SHA-256, enough to tell two secrets apart in one store and nothing of the value itself.

Cost: prefixes are looked for in the joined runs of 16 and more token characters, names by `str.find`; an expression is
compiled on its first hit and reads a bounded stretch per hit, so that no input costs more than linear time.
Known misses: passwords of letters only, UUIDs without a name, secrets spelt in prose.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Dict, Iterator, List, Sequence, Set, Tuple

from memory import files

Span = Tuple[int, int, str]


@dataclass(frozen=True)
class Found:
    """One secret: its kind, the tag in its marker (4 hex digits), and how often it was replaced."""

    kind: str
    tag: str
    count: int


@dataclass(frozen=True)
class Redacted:
    """Text without its secrets, and what was taken out, in order of first appearance."""

    text: str
    found: Tuple[Found, ...]


# kind, literal prefixes, what follows.  The class runs to the token's end: a bounded count would leave the tail in clear.
TOKENS: Tuple[Tuple[str, str, str], ...] = (
    ("anthropic-key", "sk-ant-", r"[\w\-]{16,}"),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1- sk-lf-", r"[\w\-]{20,}"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{20,}"),
    ("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- GR1348941",
     r"[\w\-]{16,}(?:\.\w{2,}){0,3}"),
    ("slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxc- xoxd- xapp-", r"[\w\-%+/=]{10,}"),
    ("webhook-url", "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/"
     " discord.com/api/webhooks/ discordapp.com/api/webhooks/ .webhook.office.com/webhookb2/ hooks.zapier.com/hooks/catch/"
     " chat.googleapis.com/v1/spaces/", r"[\w\-/+@.?=&%]{16,}"),
    ("stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_", r"[A-Za-z0-9+/=]{10,}"),
    ("google-key", "AIza GOCSPX- ya29. 1//0", r"[\w\-.]{20,}"),
    ("aws-key", "ABSK bedrock-api-key- amzn.mws. amzn1.oa2-cs.v1.", r"[\w+/=\-]{30,}"),
    ("registry-token", "npm_ rubygems_ CLOJARS_ oy2 cio", r"[A-Za-z0-9]{30,}"),
    ("registry-token", "pypi-Ag", r"[\w\-]{30,}"),
    ("docker-token", "dckr_pat_ dckr_oat_", r"[\w\-]{16,}"),
    ("huggingface-token", "hf_ api_org_", r"[A-Za-z0-9]{24,}"),
    ("sendgrid-key", "SG.", r"[\w\-]{12,}\.[\w\-]{12,}"),
    ("digitalocean-token", "doo_v1_ dop_v1_ dor_v1_", r"[A-Fa-f0-9]{32,}"),
    ("databricks-token", "dapi dose", r"[a-f0-9]{32,}(?:-\d)?"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", r"[A-Za-z0-9]{20,}"),
    ("square-token", "sq0atp- sq0csp- sq0idp-", r"[\w\-]{20,}"),
    ("meta-token", "EAA", r"[\w\-]{50,}"),
    ("twilio-key", "SK", r"[0-9a-fA-F]{32}(?![\w])"),
    ("mailgun-key", "key- pubkey-", r"[A-Za-z0-9]{32}(?![\w])"),
    ("mail-key", "xkeysib- xsmtpsib-", r"[a-f0-9]{32,}-\w{8,}"),
    ("aws-key", "AKIA ASIA ABIA ACCA AROA AIDA AGPA AIPA ANPA ANVA A3T", r"[A-Z0-9]{16,17}(?![A-Za-z0-9])"),
    ("cloud-key", "LTAI AKID EZAK EZTK AKCp cmVmd HRKU- AQVN 4b1d", r"[\w\-]{16,}"),
    ("vault-token", "hvs. hvb. hvr.", r"[\w\-]{20,}"),
    ("vault-token", "s.", r"[A-Za-z0-9]{24}(?![\w.])"),
    ("atlassian-token", "ATATT3 ATCTT3 ATBB", r"[\w\-=.]{20,}"),
    ("grafana-token", "glc_ glsa_ eyJrIjoi", r"[\w+/=]{24,}"),
    ("linear-key", "lin_api_ lin_oauth_", r"\w{24,}"),
    ("notion-token", "ntn_ secret_", r"[A-Za-z0-9]{40,}"),
    ("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{40,}"),
    ("harness-token", "pat. sat.", r"[\w\-]{20,}\.\w{20,}\.\w{16,}"),
    ("discord-token", "mfa.", r"[\w\-]{60,}"),
    ("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[\w.]{20,}"),
    ("dynatrace-token", "dt0c01. dt0s01. dt0s16.", r"\w{20,}\.\w{20,}"),
    ("octopus-key", "API-", r"[A-Z0-9]{25,}(?!\w)"),
    ("launchdarkly-key", "sdk- mob- api-", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("hubspot-key", "pat-na1- pat-na2- pat-eu1-", r"[0-9a-f\-]{30,}"),
    ("plaid-token", "access-sandbox- access-development- access-production-", r"[0-9a-f\-]{30,}"),
    ("mapbox-token", "sk.eyJ tk.eyJ", r"[\w\-]{20,}\.[\w\-]{10,}"),
    ("yandex-token", "t1. YC", r"[\w\-=]{38,}(?:\.[\w\-=]{40,})?"),
    ("onepassword-key", "ops_eyJ A3-", r"[\w+/=\-]{30,}"),
    ("age-key", "AGE-SECRET-KEY- AGE-PLUGIN-", r"[A-Z0-9\-]{30,}"),
    ("cloudflare-key", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{100,}"),
    ("openshift-token", "sha256~", r"[\w\-]{40,}"),
    ("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", r"[\w%]{60,}"),
    ("api-token", "dnkey- duffel_live_ duffel_test_ FLWSECK_TEST- FLWSECK- fio-u- fo1_ fm1r_ fm1a_ fm2_ ico- rdme_ pnu_"
     " pplx- gsk_ xai- r8_ tgp_v1_ csk- pcsk_ lsv2_pt_ lsv2_sk_ tskey- p8e- CFPAT- s-s4t2 shippo_live_ shippo_test_"
     " sgp_ slk_ tfp_ aio_ AVNS_ AVNU_ figd_ figp_ sbp_ sb_secret_ nfp_ napi_ snyk_ bkua_ CCIPAT_ CCIPRJ_ ddp_ ddw_"
     " PMAK- NRAK- NRII- NRJS- NRRA- pul- pscale_tkn_ pscale_oauth_ pscale_pw_ sntrys_ sntryu_ squ_ sqp_ sqa_ tk-us-"
     " sm_aat_ sm_pat_ sm_sat_ phx_ phs_ whsk_ key_live_ key_test_ rpa_ e2b_ apify_api_ ctx7sk-"
     " cfut_ dtn_ tvly- jina_ nvapi- vck_ vcp_ vca_ sdp_ sc_live_ secret-token:", r"[\w\-+/=.]{19,}"),
    ("openai-key", "sk-", r"[\w\-]{20,}"),
)
# kind, needle inside the token, characters to step back from it, whole expression.
INNER: Tuple[Tuple[str, str, int, str], ...] = (
    ("jwt", "eyJ", 0, r"(?:(?<!\w)|(?<=\\[nrt])|(?<=%3D))eyJ[\w\-]{8,}(?:\.[\w\-]{4,}(?:\.[\w\-]*){0,3})(?![\w.]*\()"),
    ("jwt", "ZXlK", 0, r"ZXlK[\w+/]{60,}={0,2}"),
    ("telegram-token", ":AA", 12, r"(?<!\d)\d{6,12}:AA[\w\-]{30,}"),
    ("azure-secret", "Q~", 4, r"(?:(?<![\w~.\-+/])|(?<=\\[nrt])|(?<=%3D))[\w~.]{3}\dQ~[\w~.\-]{30,}"),
    ("azure-key", "AzCa", 90, r"(?<![\w+/])[\w+/]{20,90}AzCa[\w+/]{4,8}={0,2}"),
    ("azure-key", "+ASt", 90, r"(?<![\w+/])[\w+/]{60,86}\+ASt[\w+/]{4,8}={0,2}"),
    ("azure-key", "JQQJ99", 60, r"(?<!\w)\w{40,60}JQQJ99\w{20,}"),
    ("openai-key", "T3BlbkFJ", 90, r"(?<![\w\-])[\w\-]{16,90}T3BlbkFJ[\w\-]{16,}"),
    ("terraform-token", ".atlasv1.", 14, r"\w{14}\.atlasv1\.[\w\-=]{40,}"),
    ("mailchimp-key", "-us", 32, r"(?:(?<![\w~.\-+/])|(?<=\\[nrt])|(?<=%3D))[a-f0-9]{32}-us\d{1,2}(?!\w)"),
    ("maxmind-key", "_mmk", 36, r"(?<!\w)\w{6}_\w{29}_mmk(?!\w)"),
    ("paypal-token", "access_token$", 0, r"access_token\$(?:production|sandbox)\$\w{10,}\$[a-f0-9]{20,}"),
    ("password-hash", "$2a$ $2b$ $2x$ $2y$ $5$ $6$ $y$ $7$ $apr1$ $argon2 $scrypt$ $pbkdf2-", 0, r"\$(?:2[abxy]|5|6|y|7|apr1|argon2(?:id|i|d)|scrypt|pbkdf2-\w+)\$[\w./+=,$\-]{20,}"),
)
# kind, needles in the lower-case text ("~" is a space), characters after a needle to read, expression with a group `v`, how `v` is judged.
SHAPES: Tuple[Tuple[str, str, int, str, str], ...] = (
    ("url-password", "://", 420, r"://[^\s/@:\"'<>`\\]{0,120}:(?P<v>[^\s/\"'<>`]{1,256})@(?=[\w\[$%{.-])", "given"),
    ("url-token", "://", 300, r"://(?P<v>[\w\-.~%+]{16,255})@(?=[\w\[])", "random"),
    ("auth-header", "authorization", 4200,
     r"authorization[\"'\])\\]{0,4}\s{0,3}[:=,]\s{0,3}[\"'`\\]{0,4}"
     r"(?:(?:bearer|token|basic|digest|apikey|api-key|api-token|bot|key|jwt|oauth|negotiate|ntlm|splunk|sso-key|genie"
     r"key|klaviyo-api-key|discogs|snowflake)[ \t]+)?(?:[\"'])?(?P<v>[\w\-.~+/=%|:@]{6,4096})", "header"),
    ("bearer-token", "bearer", 4200, r"bearer[\"']?[ \t:=]{1,3}[\"'\\]{0,2}(?P<v>[\w\-.~+/=%|]{8,4096})", "header"),
    ("basic-auth", "basic", 1100, r"\bbasic[ \t]+(?P<v>[A-Za-z0-9+/]{6,1024}={0,2})", "basic"),
    ("cookie", "cookie", 4200, r"cookie\d?[\"'\]]{0,2}[ \t]{0,3}[:=, ][ \t]{0,3}[\"'\\]{0,3}(?P<v>[^\r\n\"'\\]{6,4096})", "cookie"),
    ("cookie", "sessid= sessionid= connect.sid= _session= sessid\": session_token= sid=", 600,
     r"(?:sessid|sessionid|connect\.sid|_session|session_token|(?<![a-z])sid)[\"']?[=:][ \"']{0,2}(?P<v>[\w\-.%+/=]{16,512})", "random"),
    ("curl-password", "curl wget --auth", 1500,
     r"\s(?:-[a-zA-Z]{0,6}[uUa]|--(?:proxy-)?user|--auth)(?:=|[ \t]{0,4})[\"']?[^\s:\"'/]{0,100}[\"']?:(?P<v>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'"
     r"|[^\s\"']{1,200})", "given"),
    ("curl-password", "curl", 1500, r"\s(?:-u|--user)(?:=|[ \t]{0,4})[\"'](?P<v>[^\s:\"']{8,100}):[\"']", "strong"),
    ("cli-password", "mysql mariadb sshpass redis-cli mongo ldapsearch smbclient twine docker podman helm", 500,
     r"(?:mysql\w{0,12}|mariadb\w{0,12}|sshpass|redis-cli|mongo\w{0,8}|ldap\w{3,8}|smbclient|twine|docker login|podman login|helm)"
     r"[^\n|;]{0,200}?\s-[paw] ?(?P<v>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|[^\s\"']{4,200})", "strong"),
    ("netrc-password", "machine login", 900, r"(?:machine\s{1,9}\S{1,200}\s{1,9}(?:login\s{1,9}\S{1,128}\s{1,9})?|\bdefault\s{1,9}login\s{1,9}\S{1,128}\s{1,9})"
     r"(?:account\s{1,9}\S{1,99}\s{1,9})?password\s{1,9}(?P<v>\S{3,256})", "given"),
    ("pgpass", ":5432: :3306:", 400, r":(?:5432|3306):[^\s:]{1,64}:[^\s:]{1,64}:(?P<v>[^\s:]{4,200})", "given"),
    ("jwk", "\"kty\" \\\"kty\\\"", 2500, r"\\*\"(?:d|p|q|dp|dq|qi|k)\\*\"[ \t]*:\s{0,4}\\*\"(?P<v>[\w\-]{16,2048})", "given"),
    ("signature", "sig= signature= x-amz-credential= x-amz-security-token= sig%3d signature%3d", 2200,
     r"(?:(?<![a-z])sig|signature|x-amz-credential|x-amz-security-token)(?:=|%3d)[\"']?(?P<v>[\w%+/\-.~]{16,2048}={0,2})", "random"),
    ("snmp-community", "snmp-server", 100, r"snmp-server community[ \t]+(?P<v>\S{4,64})", "strong"),
    ("oracle-password", "jdbc:oracle sqlplus", 300, r"(?:thin:|sqlplus )[^\s/:@]{1,60}/(?P<v>[^\s@]{3,100})@", "given"),
    ("piped-password", "echo printf", 300, r"(?:echo|printf)[ \t]+(?:-\w+[ \t]+)?[\"']?(?:\w{1,32}:)?(?P<v>[^\s\"'|]{5,200})[\"']?[ \t]*\|[ \t]*"
     r"(?:sudo|docker|podman|su|passwd|chpasswd|gh|cryptsetup|openssl|kinit|vault|gpg|helm|aws|az)\b", "strong"),
    ("sql-password", "identified", 300, r"identified[ \t]+(?:with[ \t]+\w+[ \t]+)?by[ \t]+(?:password[ \t]+)?[\"'](?P<v>[^\"'\n]{3,200})[\"']", "given"),
    ("cli-password", "securestring requirepass masterauth net~user secret~set", 300, r"(?:securestring(?: -string)?|requirepass|masterauth|net user \S{1,60}"
     r"|secret set \S{1,80} (?:--body|-b))[ =]{1,3}[\"']?(?P<v>[^\s\"']{5,200})", "strong"),
    ("cisco-password", "password~7 password~5 secret~5 secret~8 secret~9", 200, r"(?:password|secret) [5789] (?P<v>\S{8,200})", "given"),
    ("wifi-password", "wifi:", 300, r"wifi:[^\n]{0,100}?;p:(?P<v>[^;\n]{4,100})", "given"),
)
# The words that name a secret.  strong: any value that is no word, placeholder or code; medium: at least 8 characters that
# look random; weak: at least 20.
NAMES: Tuple[Tuple[str, str, str], ...] = (
    ("password", "strong", "pass pwd pw psk kennwort senha motdepasse"),
    ("secret", "strong", "secret geheimnis"),
    ("token", "medium", "token _pat jwt"),
    ("api-key", "medium", "key schl?ssel"),
    ("credential", "medium", "cred auth mnemonic seed"),
)
# What may follow a name without a mark between.
SUFFIX = {
    "pass": r"(?i:words?|wd|phrase|code|wort|confirm\w{0,12})?", "cred": r"(?i:s|entials?)?", "auth": r"(?i:key|pass|pwd|code)?",
    "seed": r"(?i:phrase|words)?", "token": "[sS]?", "key": "[sS]?", "secret": "[sS]?",
}
# Names in other scripts stand in sentences: what is taken is the next printable ASCII word.
WORDS: Tuple[Tuple[str, str, str], ...] = (
    ("password", "strong", "비밀번호|암호|패스워드|비번|パスワード|暗証番号|パスフレーズ|合言葉|密码|密碼|口令|пароль|contraseña"),
    ("secret", "strong", "비밀키|비밀 키|시크릿|개인키|秘密鍵|シークレット|密钥|密鑰|秘钥|私钥|私鑰"),
    ("token", "medium", "토큰|인증키|접근키|액세스키|접근 키|액세스 키|トークン|認証キー|アクセスキー|令牌|凭证|凭据|憑證|токен"),
    ("api-key", "medium", "api키|api 키|apiキー|api キー|schlüssel|api密钥"),
)
VENDORS = (
    "adafruit|adobe|airtable|aiven|algolia|alibaba|amplitude|anthropic|apify|artifactory|asana|atlassian|auth0|aws|azure|beamer|bitbucket"
    "|bittrex|brevo|bugsnag|buildkite|circleci|cloudflare|cloudinary|codecov|cohere|coinbase|confluent|consul|contentful|coveralls|datadog"
    "|deepgram|deepseek|dockerhub|discord|docusign|droneci|dropbox|elastic|elevenlabs|etsy|facebook|fastly|figma|finicity|finnhub|firebase"
    "|flickr|freshbooks|freshdesk|gemini|gitee|github|gitlab|gitter|gocardless|grafana|groq|heroku|honeycomb|hubspot|infura|instagram"
    "|intercom|jenkins|jfrog|jira|kraken|kucoin|launchdarkly|linear|linkedin|lob|logzio|looker|mailchimp|mailgun|mailjet|mapbox|mattermost"
    "|meraki|messagebird|mistral|mixpanel|mongodb|netlify|newrelic|new_relic|ngrok|notion|npm|nytimes|okta|onelogin|openai|opsgenie|pagerduty"
    "|paypal|pinecone|pingdom|pipedrive|plaid|planetscale|postmark|postman|pusher|quay|rapidapi|rollbar|salesforce|sendbird|sendgrid|sentry"
    "|shodan|shopify|slack|snyk|sonar|sourcegraph|splunk|spotify|square|squarespace|stripe|sumo|supabase|telegram|terraform|todoist|travis"
    "|trello|twilio|twitch|twitter|typeform|unsplash|vault|vercel|virustotal|vonage|wakatime|weatherapi|xray|yandex|zendesk|zoom"
)
MARKER = r"\[redacted:[a-z]+(?:-[a-z]+)*#[0-9a-f]{4}\]"
ESCAPE = r"(?:\x1b|\x9b|\\u001[bB]|\\x1[bB]|\\033|\\e)\[?[0-9;:?]{0,40}(?<=[\[\x9b0-9;])[A-Za-z]|[\u00ad\u200b-\u200f\u2060\ufeff]"
ESCAPES = ("\x1b", "\\u001", "\\x1", "\\033[", "\\e[")
INVISIBLE = tuple("\x9b\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
RUN = r"[A-Za-z0-9_\-./+=~%]{16,}"
PRIVATE_TAG = (
    r"(?:<|&(?:amp;){0,3}(?:lt|\#0*60|\#x0*3c);|\\+(?:u003|x3)c|%3c|＜)\s*(?P<close>\\*/?)\s*private(?![\w\-.:])"
    r"(?:(?:(?!<|&(?:amp;){0,3}lt;).){0,300}?(?:>|&(?:amp;){0,3}(?:gt|\#0*62|\#x0*3e);|\\+(?:u003|x3)e|%3e|＞))?"
)
PLACEHOLDER = (
    r"x{4}|\*{3}|\.{3}|…|•{2}|#{4}|_{4}|(?:^|[^a-z])(?:your|my|some|the|new|old)[-_ ]?(?:[a-z]+[-_ ]?)?(?:password|passwd|pwd|pass|secret"
    r"|token|key|api|app|user|db|value)|changeme|change[-_]?(?:me|this|it)|example|placeholder|dummy|redacted|replace[-_]?(?:me|with|this)|insert[-_]"
    r"|<[^>]*>|\{\{|\}\}|\$\{|\$\(|%\(|^%[a-z_]+%$|^\$[a-z_]+$|^\$[a-z_]+:|^\[.*\]$|^\{[^\"]*\}$|^<|^#\{|not[-_]?set|to[-_]?be[-_]|deadbeef"
    r"|^(?:0+|1+|123456?|abc123|test\d{0,4}|foo\w{0,4}|bar|none|null|true|false|undefined|secret|password|passwd|pass|token|pwd|string|hidden|masked)$"
)
STOCK = (
    r"user(?:name)?|postgres|root|admin|guest|test\w{0,4}|pw|pass\w{0,5}|my\w{0,8}|x+|y+|z+|\*+|[?%:]\w*|\d{1,5}(?:/\S{0,60})?"
)
CODE = (
    r"!?(?:[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)*[\[(]|[A-Za-z_$][\w$]*(?:(?:\?\.|::|->|\.)[A-Za-z_$][\w$]*)+(?:[^\w\-+/=]|$)"
    r"|[@&(\[{]|(?:function|async|await|new|return|lambda)\b|[$@%]\w+-$|(?:qr|qw|tr|m)[/({\[])"
)
PLACE = (
    r"process\.env|os\.environ|env[.\[]|import\.meta|System\.|self\.|this\.|secrets?\.|var\.|local\.|data\.|module\.|vault:|ssm:|op://"
    r"|file://|https?://|arn:|/[a-z]+/|\.{1,2}/|~/|[a-z]:\\"
)
WORDY = (
    r"(?:[a-z]*(?:[A-Z][a-z]+)*|[A-Z]+)\d{0,3}(?:[-_./: @](?:[a-z]*(?:[A-Z][a-z]+)*|[A-Z]+)\d{0,4})*|[\d.,:/\-]+[a-z]{0,3}"
    r"|\d{4}-\d\d-\d\d[T_ ]?[\d:.+Z\-]*|0[xX][0-9a-fA-F]{1,16}"
)
TECHNICAL = r"(?:scram-|pbkdf2-?|hmac-?)?(?:sha|latin|iso|md|utf|hs|rs|es|ps|ed|oauth|base|aes|rsa|argon|http|ipv|k8s|win|int|uint|float|varchar|char|min|max|node|python|py|php)[-_]?\d{1,5}\w{0,4}"
VETO_TAIL = (
    r"(?<=[a-z])(?:ids?|names?|urls?|files?|paths?|length|counts?|types?|fields?|stamp|hash)$|(?:^|[_.\-])(?:ids?|names?|urls?|uri|endpoint|path|paths|files?|filename|dir|counts?|length|len|size|types?|ttl|expir\w*|exp|limit|fields?|label"
    r"|hint|prompt|policy|strength|regex|pattern|format|refs?|arn|versions?|algorithms?|alg|hash|hashes|sha\d*|digest|checksum|md5|fingerprint"
    r"|commit|rev|revision|required|enabled|disabled|valid|header|parser|usage|used|budget|cost|price|per|rate|class|index|column|table|mapping"
    r"|store|manager|provider|service|stamp|date|time|at|age|status|state|error|errors|message|help|placeholder|input|element|selector|button|icon)$"
)
VETO_HEAD = (
    r"(?:public|pub|primary|foreign|sort|partition|cache|idempotency|host|map|dict|object|s3|row|unique|natural|shard|group|order|lookup|hash|index"
    r"|max|min|num|total|input|output|prompt|completion|public[_-]?key|page|next|continuation|sync|cursor|hot|short|mon|don|tur|dedupe|dedup|locale|i18n|translation"
    r"|get|set|has|is|verify|known)[_.\-]*"
)
GOOD_KEY = (
    r"(?:api|access|secret|private|auth|account|shared|sharedaccess|signing|sign|encryption|encrypt|crypto|cipher|aes|master|license|service|app|application|client"
    r"|session|storage|subscription|admin|deploy|ssh|hmac|jwt|webhook|bot|integration|project|write|server|consumer|preshared|root|user|rest|security"
    r"|primary|secondary|functions?|host|data|developer|dev|prod|live|test|ingest|license|x|wg|" + VENDORS + r")$"
)
NAME_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
SEPARATOR = (
    r"(?=(?P<tail>(?:[A-Za-z0-9_.]|-(?!>)){0,40}))(?P=tail)(?P<shut>(?:\[[^\]\s]{0,24}\]|\\{0,7}[\"'`)\]*]|%22|&quot;|&#3[49];){0,4})(?:"
    r"[ \t]{0,40}(?:[:][ \t]*(?:str|string|String|&str|&'static str|text|Text|SecretStr|Optional\[str\]|char\*|any)\??[ \t]*(?==))?"
    r"(?P<sign>:=|=>|={1,3}|\?=|\+=|::?|->|：|＝|%3[aAdD])(?:%22|&quot;|&#3[49];)?(?:[ \t]{0,80}(?:[|>][+-]?[ \t]*\r?\n[ \t]{1,40})?|\s{0,80}(?=\\{0,7}[\"']))"
    r"|[ \t]+(?P<verb>is|was|ist|war|lautet|est|es|to)[ \t:]{1,4}|(?P<call>,[ \t]*|\([ \t]*)(?=\\{0,7}[\"'])"
    r"|[\"']?,?\s{0,40}-?[ \t]{0,9}\\{0,7}[\"']?(?:[Vv]alue|VALUE|defaultValue|default)\\{0,7}[\"']?[ \t]{0,9}[:=][ \t]{0,9}"
    r"|(?P<tag>>)|[ \t]{1,20}\|[ \t]{0,20}|(?P<flag>[ \t]{1,4}))"
)
OPEN = r"[fFbBrRuUL@$]{0,2}(?P<q>\\{0,7}(?:\"\"\"|'''|[\"'`「『“”‘]))"
BARE = r"[^\s\"'`<>|]{1,160}"
STOP = r"[&;,?][\w .\-%]{1,30}=|=[A-Za-z_]{3,30}=|\\+[nrt\"'`]|[,;)\]}]+(?:$|[,;)\]}])|;$|\$\(|%2[26]|&quot;|&#3[49];|[\u2010-\uffff]"
PARTICLES = (
    r"[^\x00-\x7f\n]{0,8}[\s:=(*]{0,6}[「『“‘：＝は是为為]{0,3}\s{0,2}[\"'`(]{0,2}(?P<v>[\x21-\x7e]{4,256})"
)
CREDENTIAL = (
    r"(?:^|[^a-z])(?:api|access|secret|auth|private|signing|encryption|service|account|bot|deploy)?[-_ ]?(?:key|token|secret|password|passwd|credentials?|passphrase)s?"
    r"(?:[^a-z0-9\n][^\n]{0,30}|[:=]?[ \t]*\n[ \t]{0,8})?\Z"
)
BOUND = r"(?:{})[\w.\- ]{{0,30}}[\"'\])\\]{{0,4}}\s{{0,3}}(?:=>|:=|[:=,>|(]|is|->){{1,2}}\s{{0,3}}[\"'`\\(]{{0,4}}\Z"
HASHED = r"(?:sha\d*|md5|hash|digest|integrity|checksum|commit|revision|rev|etag|resolved|h1|fingerprint|version|uuid|guid|trace|span|request)[\w.\- ]{0,12}[\"']?\s{0,2}[:=\-]{0,2}\s{0,2}[\"']?\Z"
KEY_HEAD = r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: \d{1,4}"
KEY_END = r"-{4,5} ?END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
KEY_TAIL = r"-{4,5} ?(END|BEGIN) [A-Z0-9 ]{0,50}?KEY(?: BLOCK)? ?-{4,5}"
KEY_GAP = r"[\s\"'`+,;\\>#|*rn\d→:=.…]{0,40}(?!-{4,5} ?BEGIN)"
KEY_ENCODED = r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}={0,2}(?:\s{1,40}[A-Za-z0-9+/]{40,}={0,2}){0,400}"
REFERENCE = r"(?:url|host|path|image|repo\w*|ref|sha|tag|version|release)[\"']?\s*[:=]+\s*[\"']?\Z"
GUTTER = r"[ \t]*(?:\d{1,6}[ \t]*[→:|│\t]|\d{1,6}[ \t]{1,4}|[>#|+*│\-][ \t]?|//[ \t]?){0,3}[ \t]*"
BODY = r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|Encryption|Subject|Public-Lines|Key-Derivation|Argon2-\w+)[:][^\n]{0,200}|(?P<b>[A-Za-z0-9+/]{1,4096}={0,3}))?"
LINE_END = r"(?:[ \t\"'`+,;\\]*(?:\r?\n|\\{1,4}r?\\{0,4}n|\Z)|[ \t\"'`+,;\\]+)"


@lru_cache(maxsize=4096)
def _rx(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile on first use: the whole table would cost 40 ms at import, a text needs a few rows."""
    return re.compile(pattern, flags | re.ASCII)


@lru_cache(maxsize=4096)
def _prefixes() -> Tuple[Tuple[str, str, str], ...]:
    """The token table by single prefix, longest first, so that the most specific names the kind."""
    rows = [(prefix, kind, body) for kind, prefixes, body in TOKENS for prefix in prefixes.split()]
    return tuple(sorted(rows, key=lambda row: -len(row[0])))


def redact(text: str, allow: Sequence[str] = (), salt: str = "") -> Redacted:
    """Replace every secret in a text by a marker; the rest stays byte for byte.

    text: any length, ANSI escapes and line-number gutters are seen through.  allow: exact strings that may stay.
    salt: of the store, so that tags of two stores cannot be compared.  Redacting the result again changes nothing.
    """
    counts: Dict[Tuple[str, str], int] = {}
    while True:
        plain, cuts = _plain(text)
        spans = _clip(_spread(plain, _settle(plain, _find(plain), allow), allow), plain)
        if not spans:
            return Redacted(text, tuple(Found(kind, tag, n) for (kind, tag), n in counts.items()))
        parts: List[str] = []
        at = 0
        for start, end, kind in spans:
            tag = files.sha256((salt + "\0" + plain[start:end]).encode("utf-8", "surrogatepass"))[:4]
            counts[kind, tag] = counts.get((kind, tag), 0) + 1
            first, last = _origin(cuts, start), _origin(cuts, end - 1) + 1
            parts += (text[at:first], "[redacted:%s#%s]" % (kind, tag))
            at = last
        text = "".join(parts) + text[at:]


def strip_private(text: str) -> str:
    """Leave out what stands between <private> and </private>, tags included.

    It fails closed: any case, attributes, spaces, nesting, entity- or JSON-escaped tags; unclosed means to the text's end.
    """
    for _ in range(3):
        spans = _private(text, _lower(text))
        if not spans:
            return text
        kept, at = [], 0
        for start, end in spans:
            kept.append(text[at:start])
            at = end
        text = "".join(kept) + text[at:]
    spans = _private(text, _lower(text))  # tags that only arise by leaving out others are an attempt to hide one
    return text[:spans[0][0]] if spans else text


def _private(text: str, lower: str, mentions: str = "") -> List[Tuple[int, int]]:
    """Return the private stretches; a tag right after a character of `mentions` is talked about, not used."""
    spans: List[Tuple[int, int]] = []
    depth = start = 0
    windows = _windows(lower, ("private",), 400, 48)
    for tag in (tag for a, b in windows for tag in _rx(PRIVATE_TAG, re.I | re.S).finditer(text, a, b)):
        if mentions and text[tag.start() - 1:tag.start()] == mentions:
            continue
        if not tag["close"]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                spans.append((start, tag.end()))
    return [*spans, (start, len(text))] if depth else spans


def _plain(text: str) -> Tuple[str, Tuple[List[int], List[int]]]:
    """Take escapes and zero-width characters out; return the rest and where, in it, how much was cut so far."""
    at: List[int] = [-1]
    gone: List[int] = [0]
    if not any(sign in text for sign in (ESCAPES if text.isascii() else ESCAPES + INVISIBLE)):
        return text, (at, gone)
    parts, last = [], 0
    for cut in _rx(ESCAPE).finditer(text):
        parts.append(text[last:cut.start()])
        last = cut.end()
        at.append(cut.start() - gone[-1])
        gone.append(gone[-1] + last - cut.start())
    return "".join(parts) + text[last:], (at, gone)


def _origin(cuts: Tuple[List[int], List[int]], offset: int) -> int:
    return offset + cuts[1][bisect_right(cuts[0], offset) - 1]


def _find(text: str) -> List[Span]:
    lower = _lower(text)
    flat = lower if lower.isascii() else lower.encode("ascii", "replace").decode("ascii")  # one byte a character: found faster
    runs = [(m.start(), m[0]) for m in _rx(RUN).finditer(text) if not m[0].islower() or _rx(r"\d").search(m[0])]
    spans = [(start, end, "private") for start, end in _private(text, flat, "`")]
    spans += _blocks(text)
    spans += _tokens(text, runs)
    spans += _shapes(text, flat)
    spans += _manifests(text, flat)
    spans += _names(text, flat)
    if flat is not lower:
        spans += _sentences(text, lower)
    return spans + list(_runs(text, flat, runs))


def _lower(text: str) -> str:
    lower = text.lower()
    if len(lower) != len(text):  # "İ" becomes two characters: offsets would shift
        lower = "".join(c if len(c.lower()) > 1 else c.lower() for c in text)
    return lower


def _settle(text: str, spans: List[Span], allow: Sequence[str]) -> List[Span]:
    """Join overlapping spans (the earlier finder names the kind) and drop what is allowed."""
    order = {id(span): rank for rank, span in enumerate(spans)}
    joined: List[Tuple[int, int, str, int]] = []
    for span in sorted(spans, key=lambda s: (s[0], -s[1])):
        start, end, kind = span
        rank = order[id(span)]
        if any(text.find(a, max(0, end - len(a)), start + len(a)) >= 0 for a in allow if len(a) >= end - start):
            continue
        if joined and start < joined[-1][1]:
            a, b, other, best = joined[-1]
            joined[-1] = (a, max(b, end), kind if rank < best else other, min(rank, best))
        else:
            joined.append((start, end, kind, rank))
    return [(a, b, kind) for a, b, kind, _ in joined]


def _spread(text: str, spans: List[Span], allow: Sequence[str]) -> List[Span]:
    """Add every other place where a found value stands, as it is, percent-encoded or JSON-escaped."""
    kinds: Dict[str, str] = {}
    lengths: Dict[str, Set[int]] = {}
    for found, kind in {text[start:end]: kind for start, end, kind in spans}.items():
        for value in _forms(found, kind):
            kinds.setdefault(value, kind)
            lengths.setdefault(value[:6], set()).add(len(value))
    taken, extra = 0, []
    for at in [i for i in range(len(text) - 5) if text[i:i + 6] in lengths] if lengths else ():
        for length in sorted(lengths[text[at:at + 6]], reverse=True) if at >= taken else ():
            value = text[at:at + length]
            if value in kinds and (length >= 12 or _apart(text, at, at + length)):
                taken = at + length
                extra.append((at, taken, kinds[value]))
                break
    return _settle(text, spans + extra, allow)


def _forms(value: str, kind: str) -> Iterator[str]:
    if kind == "private":
        return
    if kind == "private-key":
        yield from _rx(r"[A-Za-z0-9+/]{40,}={0,2}").findall(value)
        return
    if len(value) < 6 or (len(value) < 10 and (value.isalpha() or value.isdigit())) or "[redacted:" in value:
        return
    yield value
    if len(value) <= 256:
        yield "".join("%%%02X" % b if chr(b) not in NAME_CHARS + "~" else chr(b) for b in value.encode("utf-8", "replace"))
        yield value.replace("\\", "\\\\").replace('"', '\\"')


def _apart(text: str, start: int, end: int) -> bool:
    return not (text[start - 1:start].isalnum() or text[end:end + 1].isalnum()) or _edge(text, start)


def _clip(spans: List[Span], text: str) -> List[Span]:
    """Take markers that stand already out of the spans: what is left shrinks with every pass, so the passes end."""
    marks = [m.span() for m in _rx(MARKER).finditer(text)] if spans and "[redacted:" in text else []
    ends = [end for _, end in marks]
    out: List[Span] = []
    for start, end, kind in spans:
        for a, b in marks[bisect_right(ends, start):]:
            if a >= end:
                break
            if start < a:
                out.append((start, a, kind))
            start = max(start, b)
        if start < end:
            out.append((start, end, kind))
    return [span for span in out if _rx(r"\w").search(text, span[0], span[1])] if marks else out
    return out


def _hits(text: str, needle: str) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)


def _edge(text: str, at: int) -> bool:
    """Tell whether a token may begin here: no letter or digit before, unless it ends an escape (`\\n`, `%3D`, `\\u003d`)."""
    before = text[at - 1:at]
    if not (before.isalnum() or before == "_") or not before.isascii():
        return True
    return bool(_rx(r"(?:\\[nrtfb]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2})\Z").search(text[max(0, at - 6):at]))


def _filler(value: str) -> bool:
    """Tell a made-up token (`ghp_xxxxxxxx`, `...EXAMPLE`) from a real one."""
    made_up = r"x{5}|X{5}|\.{3}|example|EXAMPLE|[Yy]our[-_]?|YOUR_|placeholder|<|\*{3}|0{12}"
    return len(set(value)) < 7 or bool(_rx(made_up).search(value[:300]))


def _tokens(text: str, runs: List[Tuple[int, str]]) -> Iterator[Span]:
    joined, starts, at = "\n".join(run for _, run in runs), [], 0
    for _, run in runs:
        starts.append(at)
        at += len(run) + 1

    def hits(needle: str) -> Iterator[int]:
        for at in _hits(joined, needle):
            row = bisect_right(starts, at) - 1
            yield runs[row][0] + at - starts[row]

    for prefix, kind, body in _prefixes():
        if prefix not in joined:
            continue
        pattern, short = _rx(re.escape(prefix) + body), prefix[-1].isalnum() or len(prefix) < 5
        done = 0
        for at in hits(prefix):
            if at < done or (short and not _edge(text, at)):
                continue
            match = pattern.match(text, at)
            if match:
                done = match.end()
                value = match[0][len(prefix):]
                if not _filler(value) and (kind == "aws-key" or not _rx(WORDY).fullmatch(value[:512])):
                    yield at, done - len(value) + len(value.rstrip(".-/")), kind
    for kind, needles, back, expression in INNER:
        for needle in needles.split():
            outside = needle[0] in ":$"
            if needle not in (text if outside else joined):
                continue
            done = 0
            for at in _hits(text, needle) if outside else hits(needle):
                pattern = _rx(r"[\s\S]{0,%d}?(%s)" % (back, expression))
                match = pattern.match(text, max(done, at - back)) if at >= done else None
                if match:
                    done = match.end()
                    if not _filler(match[1]):
                        yield match.start(1), done, kind


def _blocks(text: str) -> Iterator[Span]:
    """Find private keys; a certificate or a public key stays, and so does a mere mention of the header line."""
    done = 0
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        for match in _rx(KEY_HEAD).finditer(text):
            if match.start() < done:
                continue
            end = _body(text, match.end())
            tail = _rx(KEY_GAP + KEY_TAIL).match(text, end)
            if not tail and end > match.end():  # the body is cut by an ellipsis or is no base64 to its end
                near = _rx(KEY_TAIL).search(text, end, end + 20000)
                tail = near if near and near[1] == "END" else None
            done = tail.end() if tail else end
            if end > match.end() or (tail and _rx(r"[A-Za-z0-9+/]{16}").search(text, match.end(), tail.start())):
                yield match.start(), done, "private-key"
        for match in _rx(KEY_END).finditer(text):
            start = _body_before(text, match.start(), done) if match.start() >= done else match.start()
            done = max(done, match.end())
            if start < match.start():
                yield start, done, "private-key"
    if "LS0tLS1CRUdJTi" in text:
        for match in _rx(KEY_ENCODED).finditer(text):
            if b"PRIVATE" in binascii.a2b_base64(match[0][:32]):
                yield match.start(), match.end(), "private-key"


def _body(text: str, at: int) -> int:
    """Return where the lines of a key's body end, after gutters, quotes, comments and escaped line ends."""
    end, wide, line = at, False, _rx(LINE_END + "?" + GUTTER + r"[\"'`]?" + BODY)
    while True:
        match = line.match(text, at)
        if not match or match.end() == at:
            return end
        body = match["b"] or ""
        if body:
            short = len(body) < 40 and not body.endswith("=")
            if text[match.end():match.end() + 1] in ("_", ":", "(") or (len(body) < 16 and not wide):
                return end
            if short and not (wide and _rx(r"[A-Z0-9+/]").search(body)):
                return end
            end, wide = match.end(), True
        at = match.end()


def _body_before(text: str, at: int, floor: int) -> int:
    """Return where the body begins whose end line stands at `at` (its first lines were cut off), not before `floor`."""
    start, floor = at, max(floor, at - 20000)
    for match in reversed(list(_rx(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{16,4096}={0,2}").finditer(text, floor, at))):
        if _rx(r"[\s\"'`+,;\\>#|*rn\d→:=-]{0,60}").fullmatch(text, match.end(), start):
            start = match.start()
    return start


def _shapes(text: str, lower: str) -> Iterator[Span]:
    for kind, needles, reach, expression, judge in SHAPES:
        for start, end in _windows(lower, [needle.replace("~", " ") for needle in needles.split()], reach):
            for match in _rx(expression, re.I).finditer(text, start, end):
                a, b = match.span("v")
                if text[a:a + 1] in ("'", '"') and b - a > 1:
                    a, b = a + 1, b - (text[b - 1] == text[a])
                if kind == "cookie" and judge == "cookie":
                    yield from _crumbs(text, a, b)
                elif _judge(text[a:b], judge):
                    yield a, b, kind


def _windows(lower: str, needles: Sequence[str], reach: int, back: int = 12) -> List[Tuple[int, int]]:
    """Return the stretches to read after the needles (and a little before), joined where they meet."""
    out: List[Tuple[int, int]] = []
    for at in sorted(at for needle in needles for at in _hits(lower, needle)):
        if out and at - back <= out[-1][1]:
            out[-1] = (out[-1][0], at + reach)
        else:
            out.append((max(0, at - back), at + reach))
    return out


def _judge(value: str, judge: str) -> bool:
    """Decide on a value whose place is already evidence; given: anything that is no placeholder."""
    value = _bare_of_markers(value)
    if judge == "given":
        return len(value) > 2 and not _made_up(value) and not _rx(STOCK, re.I).fullmatch(value.strip("<>[]{}'"))
    if judge == "random":
        return _random(value, 16)
    if judge == "strong":
        return _secret(value, "strong", True)
    if judge == "header":
        long = len(value) >= 32 and not _rx(WORDY).fullmatch(value)
        return not _made_up(value) and (long or _random(value, 8) or _is_uuid(value))
    try:
        return b":" in binascii.a2b_base64(value + "=" * (-len(value) % 4))[1:]
    except binascii.Error:
        return False


def _crumbs(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the values of a cookie header that carry something; attributes such as Path stay."""
    for match in _rx(r"(?<![^\s;,:=])(?P<n>[\w.\-]{1,80})=(?P<v>[^\s;,]{6,4096})").finditer(text, start, end):
        if match["n"].lower() in ("path", "domain", "expires", "max-age", "samesite", "priority") or _made_up(match["v"]):
            continue
        telling = _rx(r"sess|sid|auth|tok|jwt|csrf|xsrf|remember|login|secret|key", re.I).search(match["n"])
        if _random(match["v"], 12) or (telling and _rx(r"\d").search(match["v"])) or _is_uuid(match["v"]):
            yield match.start("v"), match.end("v"), "cookie"


def _manifests(text: str, lower: str) -> Iterator[Span]:
    """Find the data of Kubernetes secrets: the block says what its values are, their names need not."""
    seen = 0
    if "secret" not in lower or "kind" not in lower:
        return
    for hit in _rx(r"kind[\"']?[ \t]*:[ \t]*[\"']?secret\b").finditer(lower):
        low, high = lower.rfind("\n---", seen, hit.start()), lower.find("\n---", hit.end(), hit.end() + 8000)
        low, high = max(low, hit.start() - 8000, seen), high if high >= 0 else min(len(text), hit.end() + 8000)
        seen = max(low, high)
        block = r"(?:^|[\n{,])[^\n{]{0,12}?[ \t]*[\"']?(?:string)?data[\"']?[ \t]*:[ \t]*(?=[\r\n{])"
        for data in _rx(block, re.I).finditer(text, low, high):
            yield from _rows(text, data.end(), high, len(_indent(data[0])))


def _rows(text: str, start: int, end: int, indent: int) -> Iterator[Span]:
    row = _rx(r"[\n{,][^\n{,]{0,12}?[ \t]*[\"']?[\w.\-]{1,80}[\"']?:[ \t]*(?:[|>][+-]?[ \t]*\r?\n[ \t]*)?[\"']?"
              r"(?P<v>[^\s\"',{}]{8,8192})")
    for line in _rx(r"[\n{,][^\n{,]*").finditer(text, start, end):
        if line[0][0] == "\n" and line[0].strip() and len(_indent(line[0])) <= indent:
            return
        match = row.match(text, line.start())
        if match and not _made_up(match["v"]) and not match["v"].startswith("ENC["):
            yield match.start("v"), match.end("v"), "kubernetes-secret"


def _indent(line: str) -> str:
    rest = line.lstrip("\n{,")
    return rest[:len(rest) - len(rest.lstrip(" \t0123456789→:|"))]


def _names(text: str, lower: str) -> Iterator[Span]:
    done = 0
    hits = [(at, word, kind, tier) for kind, tier, words in NAMES for word in words.split() for at in _hits(lower, word)]
    for at, word, kind, tier in sorted(hits):
        match = _rx(SEPARATOR).match(text, at + len(word)) if at >= done else None
        level = _level(text, lower, at, word, tier, match) if match else ""
        if not match or not level:
            continue
        start, end = _value(text, match.end())
        if _accept(text, start, end, level, match):
            while end - start >= 160 and (rest := _rx(BARE).match(text, end)) and not _rx(STOP).match(rest[0]):
                end += _cut(rest[0])  # BARE is bounded: what follows belongs to the value as well
            done = end
            yield start, end, kind


def _sentences(text: str, lower: str) -> Iterator[Span]:
    """Find values after a name in a script without spaces: the next ASCII word, whatever particles and brackets are between."""
    for kind, tier, words in WORDS:
        for word in words.split("|"):
            for at in _hits(lower, word) if max(word) in lower else ():  # one character is found ten times as fast
                match = _rx(PARTICLES).match(text, at + len(word))
                value = match["v"][:_cut(match["v"])].strip("\"'`()").rstrip(".,;") if match else ""
                if match and _secret(value, tier, False):
                    start = text.index(value, match.start("v"))
                    yield start, start + len(value), kind


def _level(text: str, lower: str, at: int, word: str, tier: str, match: re.Match[str]) -> str:
    """Grade a name, read whole: which filter its value has to pass, or "" where the name names something else."""
    left, tail = lower[max(0, at - 48):at], match["tail"]
    head = left[len(left.rstrip(NAME_CHARS)):]
    suffix = _rx(SUFFIX.get(word, "")).match(tail)
    rest = tail[suffix.end():] if suffix else tail
    camel = rest[:1].isupper() and text[match.end("tail") - len(rest) - 1].islower()
    if rest and not (camel or rest[0] in "_.-" or rest[0].isdigit()):
        return ""
    if word in ("pw", "_pat", "psk", "jwt", "senha", "seed", "auth", "cred") and head[-1:].isalnum() and not text[at].isupper():
        return ""
    if word == "pass" and not suffix and head.endswith(("by", "om", "im", "es", "ur")):
        return ""
    if match["tag"] and not _rx(r"<[\w:.\-]{0,48}$").search(left):
        return ""
    if match["flag"] and not (_rx(r"(?:^|\s)(?:--?[\w\-]*|(?:env|arg|set|setenv|/v) [\w.:/\-]*)$").search(left)
                              or text[match.end():match.end() + 1] in ("'", '"')):
        return ""
    if (match["call"] and "." in tail) or _rx(VETO_TAIL).search(_snake(tail)):
        return ""
    if word in ("key", "token") and _rx(VETO_HEAD + "$").search(_snake(text[at - len(head):at])):
        return ""
    return tier if word != "key" or _rx(GOOD_KEY).search(left[-24:].rstrip("_.- ")) else "weak"


def _snake(name: str) -> str:
    return _rx(r"(?<=[a-z0-9])(?=[A-Z])").sub("_", name).lower()


def _value(text: str, at: int) -> Tuple[int, int]:
    """Return the span of the value that begins at `at`: inside its quotes, or the bare word without what follows it."""
    opened = _rx(OPEN).match(text, at)
    if opened:
        quote, start = opened["q"], opened.end()
        last = {"「": "」", "『": "』", "“": "”", "‘": "’"}.get(quote, quote)
        if len(quote) == 1 and last == quote:
            inner = _rx(r"(?:[^\\\n%s]|\\[^\n]){1,4096}" % quote).match(text, start)
            if inner and text[inner.end():inner.end() + 1] == quote:
                return start, inner.end()
        else:
            end, stop = text.find(last, start, start + 4096), text.find("\n", start, start + 4096)
            while end > 0 and text[end - 1] == "\\":  # a deeper quote inside the value
                end = text.find(last, end + len(last), start + 4096)
            if end > start and (stop < 0 or end < stop or len(last) == 3):
                return start, end
        at = start
    bare = _rx(BARE).match(text, at)
    if not bare:
        return at, at
    end = at + _cut(bare[0])
    return at, end if end - at == 160 else at + len(text[at:end].rstrip(".,;:"))


def _cut(word: str) -> int:
    stop = _rx(STOP).search(word, 1)
    return stop.start() if stop else len(word)


def _accept(text: str, start: int, end: int, level: str, match: re.Match[str]) -> bool:
    value, quoted = _bare_of_markers(text[start:end]), text[start - 1:start] in ("'", '"', "`", "「", "“", "『", "‘")
    if match["verb"] and not quoted and not _rx(r"[\d@#$%^&*]").search(value):
        return False
    words = value.split()
    if quoted and len(words) > 1:
        if _rx(r"[a-z]{3,9}(?: [a-z]{3,9}){11,23}").fullmatch(value):
            return True
        scheme = words[0].lower() in ("bearer", "basic", "token", "bot")
        return (scheme or (level == "strong" and len(words) < 6)) and any(_secret(w, level, False) for w in words[scheme:])
    return _secret(value, level, quoted)


def _bare_of_markers(value: str) -> str:
    return _rx(MARKER).sub("", value) if "[redacted:" in value else value


def _made_up(value: str) -> bool:
    return bool(_rx(PLACEHOLDER, re.I).search(value[:200])) or len(set(value)) < 3


def _is_uuid(value: str) -> bool:
    return len(value) == 36 and bool(_rx(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").fullmatch(value))


def _secret(value: str, tier: str, quoted: bool) -> bool:
    """Judge the value of a name: long and irregular enough for the name's tier, and no placeholder, code, path or word."""
    head = value[:128]
    if len(value) < {"strong": 5, "medium": 8, "weak": 20}[tier]:
        return False
    if _rx(PLACE).match(head) or (not (quoted and tier == "strong") and _rx(CODE).match(head)):
        return False
    return _irregular(value, tier) and not _made_up(head)


def _irregular(value: str, tier: str) -> bool:
    head = value[:128].strip("*")
    if tier == "weak":
        return _random(value, 20) and not _rx(r"[0-9a-fA-F]+").fullmatch(head)
    if tier == "medium":
        return _random(value, 8) or _is_uuid(value)
    kinds = sum(bool(_rx(p).search(head)) for p in (r"[a-z]", r"[A-Z]", r"\d", r"[!@#$%^&*?~+=/\\|:;,.]"))
    if head.isdigit():
        return 6 <= len(value) <= 20
    if _rx(TECHNICAL, re.I).fullmatch(head) or _rx(r"\d{4}-\d\d-\d\d([T ].*)?").fullmatch(head):
        return _random(value, 16)
    if kinds < 4 and _rx(r"[\w\-./]*[/.]\w{1,5}|\d[\d.,:\-/]*\w{0,3}").fullmatch(head):  # a file, a version, a size
        return _random(value, 16)
    if _rx(r"\d").search(head):
        slug = _rx(r"[A-Za-z]+(?:[-_.][A-Za-z]*\d{0,4})+").fullmatch(head)
        return kinds > 1 and not (slug and not _rx(r"[A-Z].*[a-z]|[a-z].*[A-Z]").search(head))
    if kinds > 1 and _rx(r"[!@#$%^&*?~+|]").search(head[:-1]):
        return not _rx(r"[A-Za-z]+(?:[&|+*/%] ?[A-Za-z]+)+|[A-Za-z.]+@[A-Za-z]+\.[A-Za-z.]+").fullmatch(head)
    return len(value) >= 12 and kinds > 1 and _jagged(value)


def _jagged(value: str) -> bool:
    """Tell random letters from words: the average stretch of one class (a capital begins a new one) is short."""
    pieces = _rx(r"[A-Z]?[a-z]+|[A-Z]+|\d+").findall(value[:200])
    return len(pieces) > 3 and sum(map(len, pieces)) < 2.9 * len(pieces)


def _random(value: str, least: int) -> bool:
    """Tell a random string of at least `least` characters: many different ones, letters and digits in short stretches."""
    head = value[:200]
    if len(value) < least or len(set(head)) < min(9, len(head) * 0.5) or _rx(WORDY).fullmatch(head) or _made_up(head):
        return False
    digits = sum(c.isdigit() for c in head)
    if not digits or digits == len(head):
        return not digits and len(value) >= 16 and _jagged(value) and _rx(r"[A-Z]").search(head) is not None
    if _rx(r"[0-9a-fA-F]+").fullmatch(head):
        return len(head) >= max(least, 12)
    mixed = len(_rx(r"\d[A-Za-z]").findall(head))
    return _jagged(value) or mixed > (len(value) < 20) + (2 if _rx(r"[-_./ ]").search(head) else 0)


def _runs(text: str, lower: str, runs: List[Tuple[int, str]]) -> Iterator[Span]:
    """Find random-looking runs by what stands right before them: a vendor's name and a sign, or a word for a credential."""
    for at, run in runs:
        if not _rx(r"\d").search(run):
            continue
        word = run.lstrip("-./+=~%_")
        if text[at - 1:at] == "\\" and run[0] in "nrt":
            word = run[1:]
        name = _rx(r"[\w\-]{1,60}(?:=+|%3[dD])").match(word)
        if name and len(word) - name.end() >= 15:
            word = word[name.end():]
        start = at + len(run) - len(word)
        word = word.rstrip(".-/")
        if len(word) < 15 or ("/" in word and _rx(r"(?:/|^)[a-z\-]{3,}/|\.[a-z]{1,5}$").search(word)):
            continue
        before = lower[max(0, start - 72):start]
        if _rx(r"\d{15,16}(?:\||%7c)$|[12]/1\d{12,}(?:/1\d{12,})?:\Z").search(before):
            yield start, start + len(word), "api-token"
        elif _rx(r"[MNO][A-Za-z0-9]{23,27}\.[\w\-]{6}\.[\w\-]{27,}").fullmatch(word):
            yield start, start + len(word), "discord-token"
        elif _rx(HASHED).search(before[-40:]):
            continue
        elif _rx(BOUND.format(VENDORS)).search(before):
            if not _rx(REFERENCE).search(before[-24:]) and (_is_uuid(word) or _random(word, 15)):
                yield start, start + len(word), "api-token"
        elif len(word) >= 20 and _rx(CREDENTIAL).search(before[-48:]):
            if _rx(VETO_HEAD + r"(?:key|token)\b").search(before[-40:]):
                continue
            mixed = _rx(r"[a-z]").search(word) and _rx(r"[G-Z]").search(word)
            if mixed and not _is_uuid(word) and _random(word, 20):
                yield start, start + len(word), "api-token"
