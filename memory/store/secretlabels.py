"""The words that label secrets, and the text between a label and its value."""

from __future__ import annotations

# Beginnings of labels in the lower-case text: far faster than the expression below.
STEMS = tuple(
    (
        "pass|recovery phrase|backup codes|recovery codes|seed phrase|mnemonic phrase|psk|pw|"
        "secret|token|key|cred|kennwort|geheimnis|zugang|senha|wachtwoord|parola|kata sandi|clave|"
        "mdp|jeton|llave|haslo|hasla|bearer|recovery seed|recovery words|seed words|accounts|"
        "chave|access code|auth code|alarm code|"
        "door code|entry code|gate code|safe code|security code|unlock code|login|log in|"
        "logged in|sign in|signed in|anmeld|identifiant|otp|2fa|unlock|pin|freischaltcode"
    ).split("|")
)
STEMS_BEYOND_ASCII = tuple(
    (
        "contraseña|schlüssel|hasło|hasła|şifre|lösenord|mật khẩu|парол|токен|ключ|секрет|비밀번호|"
        "비밀 번호|암호|패스워드|비번|시크릿|비밀키|토큰|인증키|api 키|api키|액세스 키|접근 키|"
        "パスワード|パスコード|パスフレーズ|暗証番号|合言葉|トークン|シークレット|秘密鍵|apiキー|"
        "api キー|アクセスキー|密码|密碼|口令|密钥|密鑰|秘钥|令牌|凭证|凭据|憑證|私钥|clé|"
        "логин|учётк|로그인|ログイン|登录|キー"
    ).split("|")
)
ALL_STEMS = STEMS + STEMS_BEYOND_ASCII
# Words for a password (any value but a word), a token (random), a key (random and long).
_PASSWORD = (
    r"(?:recovery|seed|mnemonic) (?:phrase|words|seed)"
    r"|pass(?:words?|wds?|phrases?|codes?|w[oö]rt(?:er|e|s)?|e\b|[ \-](?:words?|phrases?|codes?))"
    r"|pwd|pw|psk|kennw[oö]rt\w{0,2}|contraseñas?|senhas?|wachtwoord|parola|mdp|kata sandi|sandi"
    r"|has[lł][oa]|şifren?|lösenord(?:et)?|mật khẩu|парол(?:ями|ей|ем|ям|ях|[ьяеюи])"
    r"|비밀 ?번호|암호|패스워드|비번|パスワード|パスコード|パスフレーズ|暗証番号|合言葉"
    r"|密[码碼]|口令|clave"
    r"|zugangs\w{2,5}|geheim\w{1,5}|секрет[а-я]{0,2}|시크릿|비밀키|シークレット"
    r"|secrets?(?:[ _\-](?:access[ _\-])?keys?)?"
)
_TOKEN = (
    r"tokens?|jetons?|llaves?|bearer|토큰|인증키|トークン|токен[а-я]{0,2}|令牌|[凭憑][证据證]"
    r"|cred(?:ential)?s?|api ?키|(?:액세스|접근) ?키|(?:api|アクセス) ?キー"
    r"|(?:api[ _\-]?)?schlüssel|密[钥鑰]|秘[钥密]鍵?|私[钥鑰]|ключ[а-я]{0,2}|clés?"
)
_LOGIN = (
    r"(?<![a-z])(?:(?:access|auth|alarm|door|entry|gate|safe|security|unlock) codes?"
    r"|log(?:ged)?[ \-]?ins?|sign(?:ed)?[ \-]in|anmeld\w{1,8}|identifiants?|accounts|otp|2fa"
    r"|unlock|pin|freischaltcodes?)|логин\w{0,3}|учётк\w{0,3}|로그인|ログイン|登录"
)
LABEL = (
    r"(?:(?P<codes>(?:backup|recovery) codes)|(?P<password>%s)|(?P<token>%s)"
    r"|(?P<key>keys?|chaves?|(?:暗号化)?キー)|(?P<login>%s)|(?P<pass>pass))"
) % (_PASSWORD, _TOKEN, _LOGIN)
COMMAND = r"[ \t$]*pwd[ \t]*(?:\n|&&|[;)|]|\Z)"  # of a shell
# After `pass` as a password, not a passing.
NOUN = r"[ ](?:for|of|on|from|is|was)\b|[)\]]{0,2}[?.,:]|[)\]]?[ ]?\n"
# Before `pass` and behind it where tests or people do it, and nothing beside it is a value.
DOER = (
    r"(?i)(?:\b(?:them|they|it|all|both|to|not|now|still|will|must|should|do|does)"
    r"|\w(?:[bcdgkmnprt]|[lt]e|ase|ine)s)[ ]\Z"
)
DOES = (
    r"(?:[ ](?:for|of|on|from)\b(?!.*(?:\d|[:=]|\b(?:is|was)\b)).*)?"
    r"(?:[.?!](?:\s|\Z)|[ ]?(?:\n|\Z))"
)
# Around a label whose secret is a number.
PIN = r"\bpin\b|\bcode\b|passcode|пин|暗証|핀번호|비밀번호"
# After a label with its value beside it: no other word near is its secret.
ASSIGNED = r"\\{0,3}[\"'`\])]{0,3}[ \t]{0,3}(?::=|=>|[:=])[ \t]{0,3}[^\s`*|<!&\[({]"
# Other heads of a table with a column of passwords.
ACCOUNT = (
    r"user\w*|[账帐]号|用户|ユーザ|계정|사용자|логин|benutzer|konto|log-?in|account|e-?mail|name"
    r"|host\w*|server|service|role|url|id"
)
# No value: an assignment, a call, an expression, an identifier of the client's.
NO_VALUE = (
    r"[+\-]?[A-Za-z_][\w.\-]{0,60}(?:=|:\S)[^=]|[^\s(]{0,100}\([^\s)]{0,100}\)?"
    r"|(?i:required|optional)\b|[^\s]{0,100}\\[swdb]|[^\s]{0,100}[\[{][^\s]{0,60}[\]}]|(?:toolu|srvtoolu|msg|req|call"
    r"|chatcmpl)_|(?i:1password)\b|(?i:\S{0,20}secp\d{3})|\S{0,60}\s|[A-Z][A-Za-z]{1,60}/#?\d|\S{0,200}[\"'][,;:]"
)
# Words before or after a "key" that make it a secret.
KEYED = (
    r"(?:暗号化|api|access|secret|private|auth|account|shared|signing|encryption|master|licen[sc]e|service"
    r"|app|application|client|admin|deploy|webhook|bot|integration|project|server|recovery|backup"
    r"|root|user|developer|security|wpa\d?|wi-?fi|wlan)[ _\-]?\Z"
)
OF = (
    r"[ ]{1,2}(?:for|to|of|from|für|von|pour|de|от)\b[^\n]{0,30}?(?:api|service|account|server"
    r"|vault|admin|dashboard)\b"
)
GOES_ON = r"(?![1-3](?![a-z0-9]))[a-z0-9]"  # a longer word; a number may end a label
# After a label that is the name of something else.
NOT_LABEL = (
    r"(?![ \t]{1,3}[\w:.\-]{1,40}=[\"'])(?:[ _\-]{0,2}(?:hash\w*|lengths?|polic\w+|columns?"
    r"|managers?|generators?|strength|rotation|expir\w+|limits?|counts?|usage|ids?\b|names?\b"
    r"|files?\b|paths?\b|urls?\b|types?\b|formats?|headers?|validat\w+|checks?\b|tests?\b|page"
    r"|screen|button|resets?\b|protect\w*|based|free|less|store|storage|vault|handling|endpoint"
    r"|provider|service|class|method|function|pair|value pair|size|bits?|index|up\b|down\b|press"
    r"|board|stroke|word|frame|d\b|ing\b|ed\b|er\b)"
    r"|[\"']?:(?!\s{0,2}\n\d{1,2}[.)] )\s{0,3}\d{1,5}\b)"
)
OTHER = (
    r"\b(?:hash\w*|sha\d*|commit\w*|version|uuid|guid|digest|checksum|fingerprint|branch|length"
    r"|limit|max\w*|min\w*|port|lines?|column|bcrypt|scrypt|argon2\w*|encrypted|encoded|size|bytes?"
    r"|bits?|chars?|characters|seconds|minutes|days|release|tag|trace|request|fields?|inputs?"
    r"|box|form|prompts?)\b"
)
# The rest of a label's line: a word or two, a bracket, a colon.
REST = r"(?:[ \t]{0,3}[(\[（][^()\n\[\]（）]{0,40}[)\]）])?[^\n|│\t]{0,90}"
FILLING = (
    r"(?:[ \t>│|#*\x1e]{0,20}|\d{4}-\d\d-\d\dT[\d:.]{5,15}Z|[ \t>│|]{0,9}(?:`{3,}"
    r"|~{3,})[\w+\-]{0,20}[ \t]{0,9}|[ \t|│>]{0,9}[\-=_*~─━]{3,}[ \t|│]{0,9}"
    r"|[ \t]{0,9}\d{1,6}[→│|:\t][ \t]{0,20}(?:`{3,}[\w+\-]{0,20}|[\-=]{3,})?)\Z"
)
RULE = r"[\s|│┃+\-─━=:┼├┤╪╞╡╟╢┬┴┌┐└┘╔╗╚╝╠╣╬═║]{1,2000}\Z"
# A value behind markup: an element with attributes, a pair of elements, a value of its own, a tag,
# a here document.
STRUCTURED = (
    r"(?=\\{0,3}[\"']?[ \t]{0,3}(?:[:=,<>]|[\w:.\-]{1,40}=))"
    r"(?:[\"']?[ \t]{0,3}(?:[\w:.\-]{1,40}=(?:\"[^\"\n<>]{0,80}\""
    r"|'[^'\n<>]{0,80}')[ \t\r\n]{0,20}){0,4}>\s{0,80}(?:<!\[CDATA\[|<(?:value|string"
    r"|data)>\s{0,80})?|</[\w:.\-]{1,20}>(?:\s{0,80}<(?!/)[\w:.\-]{1,20}[^<>\n]{0,80}>){1,2}\s{0,80}"
    r"(?:<!\[CDATA\[)?|\\{0,3}[\"']?[ \t]{0,3}[:=]\s{0,9}\{\s{0,40}\\{0,3}[\"']?(?:value|val"
    r"|default|plain\w{0,5}|data|secret|content)\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}\\{0,3}[\"']"
    r"|\\{0,3}[\"'][ \t]{0,3},\s{0,40}\\{0,3}[\"'](?:value|val|default|content"
    r"|data)\\{0,3}[\"']\s{0,3}[:=]\s{0,3}\\{0,3}[\"']"
    r"|[\"']?[ \t]{0,3}[:=][ \t]{0,3}(?:(?:!{1,2}[\w:/.,\-]{1,40}"
    r"|&[\w\-]{1,40})[ \t]{1,3}){1,2}[\"']?|[\"']?[ \t]{0,3}[:=]?[ \t]{0,3}"
    r"<<[\-~]?[ \t]?[\"']?\w{1,20}[\"']?\r?\n[ \t]{0,40})(?P<v>[^\s<\"']{4,256})"
)
CODE = "[={}()<>$:]"  # in no head of a table
PROMPT = r"[ \t]{0,8}(?=([\w.@~:/\-]{0,40}))\1[$%❯#] "  # of a shell, before a command
PASSPHRASE = r"[A-Za-z]{3,12}(?:-[A-Za-z]{3,12}){3,9}"
HYPHENED = r"-(?<=[A-Za-z]{3}-)[A-Za-z]{3,12}-[A-Za-z]{3,12}-[A-Za-z]{3}"  # of one, by its hyphens
PHRASE = r"[A-Za-z][a-z]{2,11}(?:[-. ][A-Za-z][a-z]{2,11}){3,23}"  # alone in a cell or line
GROUPS = r"(?:[a-z0-9]{4,5} ){3}[a-z0-9]{4,5}"  # of letters, as application passwords have them
GROUPED = r"\n[ \t>#*`]{0,20}" + GROUPS + r"[ \t]*(?:\n|\Z)"
# Words with spaces between them, and words in the labels of such phrases.
_LETTER = "[A-Za-zÀ-ɏА-яЁё]"
WORDS = r"{0}{{2,14}}(?: (?:{0}{{2,14}}|\d{{1,4}})){{2,23}}".format(_LETTER)
OF_WORDS = r"phrase|frase|фраз|フレーズ|短语|words|seed"
QUOTED = r"[\"'“„«‘「『`][ \u00a0]?(?P<v>%s)[ \u00a0]?[\"'”“»’」』`]" % WORDS
BARE = (
    r"(?:(?<=[:,;\n>] )|(?<= is )|(?<= now )|(?<= ist )|(?<= est )|(?<= es ))(?P<v>%s)"
    r"(?=[.,;:)]|[ \t]*(?:\n|\Z))" % WORDS
)
GROUPED_BELOW = (
    r"(?:[^\n]{0,60}[:：]|(?=[ \t]*\n))[ \t]*(?:\n[ \t>#*`]*){0,2}(?P<v>%s)"
    r"[.\"'`]?[ \t]*(?:\n|\Z)"
) % GROUPS
# Words of a message, not of a passphrase.
MESSAGE = (
    r"\b(?:must|should|can|cannot|please|enter|not|is|are|was|be|invalid|wrong|too|required"
    r"|least|characters?|digits?|letters?)\b"
)
# In a cell: joined words or numbers; random hexadecimal digits.
CHOSEN_CELL = r"(?=.{0,40}[\d#!$%&*^+@])[^\s\x00-\x20]{5,64}|[A-Z]?[a-z]{3,12}[-_.][A-Z][a-z]{2,12}"
HEX = r"(?=[0-9]{0,12}[a-f])(?=[a-f]{0,12}\d)[0-9a-f]{20,80}"
# In a cell below a label when another cell is a secret.
LISTED_CELL = (
    r"\d{4,8}|(?=.{0,40}?(?:[\d!#$%&*^+]|[a-z][A-Z]))[^\s\x00-\x20]{5,64}|[a-z]{4,14}[-_.][a-z]{4,14}"
    r"|[\w\-]{1,14}(?: [\w\-]{1,14}){2,9}"
)
NAMED = r"(?:\b(?:name|key|id|field|label)[\"']?\s{0,2}[=:]\s{0,2}[\"']|[!?]{3}\+? \w+ \")\Z"
# After a label in a longer name, over its value; before a file's name.
OVER = r"[\"']?[ \t]{0,3}(?:[:=]\\?[ \t\r]*\n|<<|\n-{4})"
WRITTEN = r"(?<=\S )>>?[ \t]?[\w./~\-]{0,58}/\Z"
NO_CELL = (
    r"[A-Z]{2,8}-\d{1,7}\Z|v?\d+(?:\.\d+)+\Z|\d{4}-\d\d-\d\d|\d[\d.,]*[A-Za-z]{0,4}\Z(?<!\d{5})"
    r"|(?i:varchar|char|int|text|bool|sha|md5|bcrypt|argon)\w*|\S*[\\(){}\[\]<>=]|\$|[/~.]{1,2}/|\S+://"
)
