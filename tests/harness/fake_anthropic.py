"""Scripted fake of the Anthropic Messages API (standard library, loopback only).

    with FakeAnthropic(script={"turns": ["hello"]}) as api:
        run_client(base_url=api.url); api.requests      # list of dicts, as in the log

SCRIPT (all keys optional)
    rules    list, first match wins: {"when": {...}, "times": 1, "reply": REPLY}
    turns    list of REPLY, consumed in order by requests that offer tools and hit no rule
    default  REPLY when the above are exhausted                (default: "OK.")
    builtin  false switches off the built-in rules (compaction summary, session title)

WHEN: every given test must hold
    text      regex searched in the text after the last assistant message (tool results included)
    any_text  regex searched in the text of all messages
    system    regex searched in the system prompt text
    model     regex searched in the model id
    tools     true/false: the request offers tools / offers none
    tool      name of a tool that must be offered
    stream    true/false
    nth       the n-th request (1-based) that passes the other tests

REPLY: a string (text), or {
    "text": "...", "thinking": "...",
    "tool_use": [{"name": "Bash", "input": {...}, "id": "toolu_x"}],   # id optional
    "content": [...raw blocks, instead of the above...],
    "stop_reason": "end_turn", "usage": {"input_tokens": 5}, "model": "...",
    "delay": 0.2, "chunk": 40, "chunk_delay": 0.0,
    "error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"} }
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler
from typing import Any

from harness.loopback import Fake, FakeServer

BUILTIN_RULES = [
    {
        "when": {
            "text": r"create a detailed summary of (the|this) conversation"
            r"|detailed summary of the conversation so far"
        },
        "reply": (
            "<analysis>scripted</analysis>\n<summary>FAKE-COMPACT-SUMMARY: the user and the "
            "assistant worked on the scripted task.</summary>"
        ),
    },
    {
        "when": {"tools": False, "system": r"(?i)title"},
        "reply": '{"title": "Fake session title", "isNewTopic": true}',
    },
]


def block_text(block: Any) -> str:
    """Return all text of a content value: a string, a block or a list of blocks."""
    if isinstance(block, str):
        return block
    if isinstance(block, list):
        return "\n".join(block_text(b) for b in block)
    if isinstance(block, dict):
        if block.get("type") == "tool_result":
            return block_text(block.get("content", ""))
        if block.get("type") == "tool_use":
            return json.dumps(block.get("input", {}))
        return str(block.get("text", ""))
    return ""


def sent(body: dict[str, Any]) -> str:
    """Return all text of the messages of a request, as the model reads it."""
    return "\n".join(block_text(message["content"]) for message in body["messages"])


def tool(name: str, **given: Any) -> dict[str, Any]:
    """Return a scripted turn of the model that uses one tool."""
    return {"tool_use": [{"name": name, "input": given}]}


class Script:
    """Decides the reply to a request.  Thread-safe; state is the number of uses of each entry."""

    def __init__(self, spec: dict[str, Any] | None = None):
        spec = spec or {}
        self.rules = [dict(r) for r in spec.get("rules", [])]
        self.builtin = [dict(r) for r in BUILTIN_RULES] if spec.get("builtin", True) else []
        self.turns = list(spec.get("turns", []))
        self.default = spec.get("default", "OK.")
        self.lock = threading.Lock()

    def reply(self, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
        with self.lock:
            reply, why = self._pick(body)
        return ({"text": reply} if isinstance(reply, str) else dict(reply)), why

    def _pick(self, body: dict[str, Any]) -> tuple[Any, str]:
        for name, rules in (("rule", self.rules), ("builtin", self.builtin)):
            for i, rule in enumerate(rules):
                if rule.get("used", 0) < rule.get("times", float("inf")) and self._match(
                    rule, body
                ):
                    rule["used"] = rule.get("used", 0) + 1
                    return rule["reply"], f"{name}:{i}"
        if self.turns and body.get("tools"):
            return self.turns.pop(0), "turn"
        return self.default, "default"

    @staticmethod
    def _match(rule: dict[str, Any], body: dict[str, Any]) -> bool:
        when, messages = rule.get("when", {}), body.get("messages") or [{}]
        tools = body.get("tools") or []
        last = max((i for i, m in enumerate(messages) if m.get("role") == "assistant"), default=-1)
        checks = {
            "text": lambda v: re.search(
                v, "\n".join(block_text(m.get("content", "")) for m in messages[last + 1 :])
            ),
            "any_text": lambda v: re.search(
                v, "\n".join(block_text(m.get("content", "")) for m in messages)
            ),
            "system": lambda v: re.search(v, block_text(body.get("system", ""))),
            "model": lambda v: re.search(v, body.get("model", "")),
            "tools": lambda v: bool(tools) == v,
            "tool": lambda v: any(t.get("name") == v for t in tools),
            "stream": lambda v: bool(body.get("stream")) == v,
        }
        if not all(checks[k](v) for k, v in when.items() if k != "nth"):
            return False
        if "nth" in when:
            rule["seen"] = rule.get("seen", 0) + 1
            return rule["seen"] == when["nth"]
        return True


def build_message(reply: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return the complete (non-streaming) Messages API response for a scripted reply."""
    content = reply.get("content")
    if content is None:
        content = []
        if reply.get("thinking"):
            content.append(
                {"type": "thinking", "thinking": reply["thinking"], "signature": "ZmFrZQ=="}
            )
        if reply.get("text"):
            content.append({"type": "text", "text": reply["text"]})
        for tool in reply.get("tool_use", []):
            content.append(
                {
                    "type": "tool_use",
                    "id": tool.get("id") or "toolu_" + uuid.uuid4().hex[:24],
                    "name": tool["name"],
                    "input": tool.get("input", {}),
                }
            )
    has_tool = any(b.get("type") == "tool_use" for b in content)
    usage = {
        "input_tokens": max(1, len(json.dumps(body)) // 4),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": max(1, len(json.dumps(content)) // 4),
        "service_tier": "standard",
    }
    usage.update(reply.get("usage", {}))
    return {
        "id": "msg_" + uuid.uuid4().hex[:24],
        "type": "message",
        "role": "assistant",
        "model": reply.get("model") or body.get("model", "claude-fake"),
        "content": content,
        "stop_reason": reply.get("stop_reason") or ("tool_use" if has_tool else "end_turn"),
        "stop_sequence": None,
        "usage": usage,
    }


def sse_events(message: dict[str, Any], chunk: int = 40):
    """Return the SSE events of a message, as (event name, data) pairs."""
    head = dict(
        message, content=[], stop_reason=None, usage=dict(message["usage"], output_tokens=1)
    )
    yield "message_start", {"type": "message_start", "message": head}
    for index, block in enumerate(message["content"]):
        kind = block["type"]
        empty: dict[str, Any] = {
            "text": {"type": "text", "text": ""},
            "thinking": {"type": "thinking", "thinking": "", "signature": ""},
            "tool_use": {**block, "input": {}},
        }.get(kind, block)
        yield (
            "content_block_start",
            {"type": "content_block_start", "index": index, "content_block": empty},
        )
        if index == 0:
            yield "ping", {"type": "ping"}
        deltas: list[dict[str, Any]] = []
        if kind == "text":
            deltas = [
                {"type": "text_delta", "text": block["text"][i : i + chunk]}
                for i in range(0, len(block["text"]), chunk)
            ]
        elif kind == "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block.get("signature", "ZmFrZQ==")},
            ]
        elif kind == "tool_use":
            raw = json.dumps(block["input"])
            deltas = [
                {"type": "input_json_delta", "partial_json": raw[i : i + chunk]}
                for i in range(0, len(raw), chunk)
            ]
        for delta in deltas:
            yield (
                "content_block_delta",
                {"type": "content_block_delta", "index": index, "delta": delta},
            )
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    yield (
        "message_delta",
        {
            "type": "message_delta",
            "usage": message["usage"],
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        },
    )
    yield "message_stop", {"type": "message_stop"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeServer

    def log_message(self, *args: Any) -> None:  # keep stderr quiet
        pass

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.server.record(self, None, "static")
        if path == "/v1/models":
            self._json(200, {"data": [], "has_more": False, "first_id": None, "last_id": None})
        else:
            self._json(
                404, {"type": "error", "error": {"type": "not_found_error", "message": path}}
            )

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {"_unparsed": raw[:2000].decode("utf8", "replace")}
        path = self.path.split("?")[0]
        if path == "/v1/messages/count_tokens":
            self.server.record(self, body, "count_tokens")
            return self._json(200, {"input_tokens": max(1, len(raw) // 4)})
        if path != "/v1/messages":
            self.server.record(self, body, "unknown-path")
            return self._json(
                404, {"type": "error", "error": {"type": "not_found_error", "message": path}}
            )
        reply, why = self.server.script.reply(body)
        message = build_message(reply, body)
        self.server.record(self, body, why, reply.get("error", message))
        time.sleep(reply.get("delay", 0))
        if "error" in reply:
            err = reply["error"]
            return self._json(
                err.get("status", 500),
                {
                    "type": "error",
                    "error": {
                        "type": err.get("type", "api_error"),
                        "message": err.get("message", "scripted error"),
                    },
                },
            )
        if not body.get("stream"):
            return self._json(200, message)
        self.send_response(200)
        for key, value in (
            ("content-type", "text/event-stream; charset=utf-8"),
            ("cache-control", "no-cache"),
            ("request-id", "req_" + uuid.uuid4().hex[:20]),
            ("transfer-encoding", "chunked"),
        ):
            self.send_header(key, value)
        self.end_headers()
        try:
            for event, data in sse_events(message, reply.get("chunk", 40)):
                self._chunk(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())
                if event == "content_block_delta" and reply.get("chunk_delay"):
                    time.sleep(reply["chunk_delay"])
            self._chunk(b"")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _json(self, status: int, payload: dict[str, Any]) -> None:
        data = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


class FakeAnthropic(Fake):
    """In-process server for tests: `with FakeAnthropic(script) as api: ... api.requests`."""

    def __init__(self, script: dict[str, Any] | None = None, port: int = 0, log: str | None = None):
        super().__init__(Handler, Script(script), port, log)

    def messages(self, tools: bool | None = None) -> list[dict[str, Any]]:
        """Bodies of the /v1/messages calls; tools=True keeps the agent loop, False the side
        calls.
        """
        return [
            r["body"]
            for r in self.requests
            if r["path"].split("?")[0] == "/v1/messages"
            and (tools is None or bool(r["body"].get("tools")) == tools)
        ]

    def set_script(self, script: dict[str, Any]) -> None:
        self.server.script = Script(script)
