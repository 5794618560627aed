"""Text in a record that was not written for its reader: orders to the model, forged markup of the host, what is hidden.

Each sort is a row of a table, made to meet what attacks look like and to leave alone notes about prompts, tools and encodings:
markup within backticks is talked about, an emoji's own hidden characters are its own, a checksum is no blob.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from itertools import islice

from memory.evidence import spots

_OLD = r"(?:previous|prior|earlier|preceding|foregoing|above|existing|system)"
_ORDERS = r"(?:instructions?|prompts?|rules|directions|directives|guidelines|messages)"
# Orders to a model, in the languages that memories come in.
_SAID = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|of|the|your|my|those|these)\s+){0,3}"
    + _OLD + r"\s+(?:\w+\s+)?" + _ORDERS + r"\b"
    r"|\b(?:ignore|disregard|forget|override)\s+(?:all\s+(?:of\s+)?)?(?:your|everything\s+in\s+your)\s+(?:\w+\s+)?"
    + _ORDERS + r"\b"
    r"|\b(?:do not|don't|never)\s+(?:tell|inform|alert|notify|show)\s+(?:this\s+to\s+)?the\s+(?:user|human|developer)\b"
    r"(?!\s+(?:that|which|an?\b|the\b))"
    r"|\bwithout\s+(?:ever\s+)?(?:telling|informing|alerting|notifying)\s+the\s+(?:user|human|developer)\b"
    r"|\b(?:reveal|repeat|print|output|leak|disclose)\s+(?:\w+\s+)?(?:your|the)\s+(?:entire\s+|full\s+)?(?:system|hidden|initial)\s+prompt\b"
    r"|\byou\s+are\s+now\s+(?:in\s+)?(?:an?\s+)?(?:DAN\b|jailbroken|unrestricted|developer\s+mode|god\s+mode)"
    r"|^[^\w\n]{0,20}(?:important\s+)?(?:new|updated|override)\s+(?:system\s+)?instructions?\s*(?:for\s+(?:the\s+)?(?:ai|assistant|model|claude)\s*)?:"
    r"|\b(?:send|post|upload|exfiltrate|forward|append|include)\b(?:[^.\n]|\.(?=\w)){0,80}"
    r"(?:\b(?:api[ _-]?keys?|credentials|passwords?|secrets|tokens|private keys?|ssh keys?|environment variables?)\b|\.env\b)"
    r"(?:\s+[\w']+){0,5}\s+to\s+<?https?://"
    r"|(?:이전|위의?|앞의?|기존)\s*(?:모든\s*)?(?:지시|명령|지침|프롬프트)(?:\s*사항)?(?:들)?(?:을|를|은|는)?\s*(?:모두|전부)?\s*(?:무시|잊)"
    r"|(?:忽略|无视|無視|忘记|忘記|忽視)(?:掉|所有|之前|以上|上述|先前|前面|一切|全部|的){1,4}(?:指令|指示|提示|规则|規則|命令)"
    r"|(?:以前|これまで|上記|前|先)の(?:すべての|全ての)?(?:指示|命令|プロンプト|ルール)を(?:すべて|全て)?(?:無視|忘れ)"
    r"|\b(?:ignoriere|vergiss|missachte)\w*\s+(?:bitte\s+)?(?:alle\s+)?(?:vorherigen|bisherigen|obigen|früheren|vorigen)\s+"
    r"(?:Anweisungen|Instruktionen|Regeln|Befehle)\b", re.I | re.M)
# Markup that speaks as the host, the system or a tool.
_MARKUP = re.compile(
    r"</?(?:antml:\w+|function_calls|function_results|tool_use|tool_result|system-reminder|dayleaf-(?:memory|rules)|"
    r"user-prompt-submit-hook|local-command-stdout)\b[^<>\n]{0,200}>|<invoke\s+name=|<\|(?:im_start|im_end|system|endoftext)\|>|"
    r"\[/?INST\]|<</?SYS>>|\{\s*\"type\"\s*:\s*\"tool_use\"\s*,", re.I)
# Characters that reorder a line or spell in secret, those of a flag apart.
_HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069]|(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0001\U000e0020-\U000e007f]"
                     "|[\u200b\u200c\u2060-\u2064]{4,}")
# Addresses that carry something along, or run something.
_ADDRESS = re.compile(
    r"!?\]\(\s*<?(?:javascript:|data:text/html)|https?://[^\s<>()\"'`]{1,300}[?&][\w.-]{1,40}=(?:\$\(|\$\{|\{\{|<[A-Za-z_ ]+>)"
    r"|!\[[^\]\n]{0,200}\]\(\s*<?https?://[^\s()]{1,300}[?&][\w.-]{1,40}=[A-Za-z0-9+/_=%-]{64,}", re.I)
_BLOB = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{80,}(?:\r?\n[A-Za-z0-9+/]{40,})*={0,2}(?![A-Za-z0-9+/_-])")
_SORTS = (("an order to the model", _SAID), ("markup that speaks as the host", _MARKUP), ("hidden characters", _HIDDEN),
          ("an address that carries data", _ADDRESS))
MOST = 50  # places of a sort that are looked at
LONG = 1000  # characters from which base64 is a blob whatever it holds


def find(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line from 1, what it is) of each sort that stands in a text, at its first place."""
    for what, expression in _SORTS:
        for hit in islice(expression.finditer(text), MOST):
            if not _is_mentioned(text, hit.start(), hit.end()) or expression is _HIDDEN:
                yield text.count("\n", 0, hit.start()) + 1, what
                break
    for hit in islice(_BLOB.finditer(text), MOST):
        what = _blob(hit[0])
        if what:
            yield text.count("\n", 0, hit.start()) + 1, what
            break


def _is_mentioned(text: str, start: int, end: int) -> bool:
    """Tell whether something stands within backticks, on its line or in a fence: it is talked about."""
    line = text.rfind("\n", 0, start) + 1
    after = text.find("\n", end)
    if text.count("`", line, start) % 2 and "`" in text[end:after if after >= 0 else len(text)]:
        return True
    return sum(text.rfind("\n", 0, at) + 1 == at for at in spots(text[:start], "```")) % 2 == 1


def _blob(found: str) -> str:
    """Say what a run of base64 is, "" for a checksum or a long word."""
    joined = "".join(found.split())
    if joined.isalpha() and (joined.islower() or joined.isupper()) or re.fullmatch(r"[0-9a-fA-F]+|(.)\1*", joined):
        return ""
    try:
        data = base64.b64decode(joined + "=" * (-len(joined) % 4), validate=True)
        said = data.decode("utf-8")
    except ValueError:
        said = ""
    if " " in said and sum(char.isprintable() or char in "\n\t\r" for char in said) > 0.95 * len(said):
        return "text hidden in base64"
    is_long = len(joined) >= LONG and not joined.isalnum()
    return "a base64 blob of {:,} characters".format(len(joined)) if is_long else ""
