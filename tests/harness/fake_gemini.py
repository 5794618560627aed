"""Scripted fake of the Gemini API (generateContent / streamGenerateContent / countTokens), loopback
only.

    with FakeGemini(script) as api: api.url, api.requests

SCRIPT: {"rules": [{"when": {...}, "times": 1, "reply": R}], "turns": [R, ...], "default": R}
WHEN:   "text" (regex on the last content's text), "any_text", "system", "model", "stream", "tools"
        (true/false)
REPLY:  a string, or {"text": "...", "function_call": [{"name": "...", "args": {...}}], "finish":
"STOP",
        "usage": {...}, "delay": 0.1, "error": {"status": 429, "message": "...", "code":
        "RESOURCE_EXHAUSTED"}}
Turns are consumed by requests that offer tools and match no rule.  A request for structured output
(a response schema, e.g. the CLI's model router) that matches no rule gets a minimal instance of its
schema.
"""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

from harness.loopback import Fake, FakeServer

METHOD = re.compile(r"^/(?:v1|v1beta|v1alpha)/models/([^/:]+):(\w+)$")


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(text_of(c) for c in content)
    if isinstance(content, dict):
        if "parts" in content:
            return text_of(content["parts"])
        if "functionResponse" in content:
            return json.dumps(content["functionResponse"].get("response", {}))
        return str(content.get("text", ""))
    return ""


def instance(schema: dict[str, Any]) -> Any:
    """A minimal value that satisfies a (simple) JSON schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = str(schema.get("type", "string")).lower()
    if kind == "object":
        return {k: instance(v) for k, v in schema.get("properties", {}).items()}
    return {"array": [], "number": 1, "integer": 1, "boolean": False}.get(kind, "fake")


class Script:
    def __init__(self, spec: dict[str, Any] | None = None):
        spec = spec or {}
        self.rules = [dict(r) for r in spec.get("rules", [])]
        self.turns = list(spec.get("turns", []))
        self.default = spec.get("default", "OK.")
        self.lock = threading.Lock()

    def reply(self, model: str, stream: bool, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
        contents = body.get("contents") or [{}]
        checks = {
            "text": lambda v: re.search(v, text_of(contents[-1])),
            "any_text": lambda v: re.search(v, text_of(contents)),
            "system": lambda v: re.search(v, text_of(body.get("systemInstruction", {}))),
            "model": lambda v: re.search(v, model),
            "stream": lambda v: stream == v,
            "tools": lambda v: bool(body.get("tools")) == v,
        }
        with self.lock:
            picked, why = self.default, "default"
            for i, rule in enumerate(self.rules):
                if rule.get("used", 0) < rule.get("times", float("inf")) and all(
                    checks[k](v) for k, v in rule.get("when", {}).items()
                ):
                    rule["used"] = rule.get("used", 0) + 1
                    picked, why = rule["reply"], f"rule:{i}"
                    break
            else:
                config = body.get("generationConfig") or {}
                schema = config.get("responseJsonSchema") or config.get("responseSchema")
                if self.turns and body.get("tools"):
                    picked, why = self.turns.pop(0), "turn"
                elif schema:
                    picked, why = json.dumps(instance(schema)), "schema"
        return ({"text": picked} if isinstance(picked, str) else dict(picked)), why


def build_response(reply: dict[str, Any], model: str, body: dict[str, Any]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if reply.get("text"):
        parts.append({"text": reply["text"]})
    parts += [
        {"functionCall": {"name": c["name"], "args": c.get("args", {})}}
        for c in reply.get("function_call", [])
    ]
    used, made = max(1, len(json.dumps(body)) // 4), max(1, len(json.dumps(parts)) // 4)
    usage = {"promptTokenCount": used, "candidatesTokenCount": made, "totalTokenCount": used + made}
    usage.update(reply.get("usage", {}))
    return {
        "candidates": [
            {
                "index": 0,
                "finishReason": reply.get("finish", "STOP"),
                "content": {"role": "model", "parts": parts},
            }
        ],
        "usageMetadata": usage,
        "modelVersion": model,
        "responseId": "fake",
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeServer

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.record(self, None, "static")
        self._send(404, {"error": {"code": 404, "message": self.path, "status": "NOT_FOUND"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {"_unparsed": raw[:2000].decode("utf8", "replace")}
        path, _, query = self.path.partition("?")
        match = METHOD.match(path)
        if not match or match.group(2) not in (
            "generateContent",
            "streamGenerateContent",
            "countTokens",
        ):
            self.server.record(self, body, "unknown-path")
            return self._send(404, {"error": {"code": 404, "message": path, "status": "NOT_FOUND"}})
        model, verb = match.groups()
        if verb == "countTokens":
            self.server.record(self, body, "countTokens")
            return self._send(200, {"totalTokens": max(1, len(raw) // 4)})
        stream = verb == "streamGenerateContent"
        reply, why = self.server.script.reply(model, stream, body)
        self.server.record(self, body, why, reply)
        time.sleep(reply.get("delay", 0))
        if "error" in reply:
            err = reply["error"]
            return self._send(
                err.get("status", 500),
                {
                    "error": {
                        "code": err.get("status", 500),
                        "message": err.get("message", "scripted error"),
                        "status": err.get("code", "INTERNAL"),
                    }
                },
            )
        response = build_response(reply, model, body)
        if stream and "alt=sse" in query:
            self._send(
                200, b"data: " + json.dumps(response).encode() + b"\r\n\r\n", "text/event-stream"
            )
        else:
            self._send(200, [response] if stream else response)

    def _send(self, status: int, payload: Any, kind: str = "application/json") -> None:
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class FakeGemini(Fake):
    def __init__(self, script: dict[str, Any] | None = None, port: int = 0, log: str | None = None):
        super().__init__(Handler, Script(script), port, log)
