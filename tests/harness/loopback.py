"""Servers on loopback for tests: one that keeps what it was asked, and what starts and ends with a
`with`.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET_HEADERS = {"x-api-key", "x-goog-api-key", "authorization", "cookie"}


class FakeServer(ThreadingHTTPServer):
    """Answers by a script and keeps each request without its secrets.

    log: a file for the requests too.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self, port: int, handler: type[BaseHTTPRequestHandler], script: Any, log: str | None
    ):
        self.script, self.log_path = script, log
        self.requests: list[dict[str, Any]] = []
        self.log_lock = threading.Lock()
        super().__init__(("127.0.0.1", port), handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError)):
            super().handle_error(request, client_address)

    def record(
        self, handler: BaseHTTPRequestHandler, body: Any, why: str, response: Any = None
    ) -> None:
        headers = {
            k.lower(): ("<redacted>" if k.lower() in SECRET_HEADERS else v)
            for k, v in handler.headers.items()
        }
        path = re.sub(r"([?&]key=)[^&]*", r"\1<redacted>", handler.path)
        with self.log_lock:
            entry = {
                "n": len(self.requests) + 1,
                "ts": time.time(),
                "method": handler.command,
                "path": path,
                "why": why,
                "headers": headers,
                "body": body,
                "response": response,
            }
            self.requests.append(entry)
            if self.log_path:
                with open(self.log_path, "a", encoding="utf8") as f:
                    f.write(json.dumps(entry, ensure_ascii=False) + "\n")


class Served:
    """A server that runs inside `with`; `port` and `url` are known before."""

    def __init__(self, server: ThreadingHTTPServer):
        self.server = server
        self.port = server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.server.shutdown()
        self.server.server_close()


class Fake(Served):
    """A `FakeServer` that runs inside `with`."""

    def __init__(
        self,
        handler: type[BaseHTTPRequestHandler],
        script: Any,
        port: int = 0,
        log: str | None = None,
    ):
        super().__init__(FakeServer(port, handler, script, log))

    @property
    def requests(self) -> list[dict[str, Any]]:
        return list(self.server.requests)
