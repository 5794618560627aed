"""Serves bare git repositories under a folder over smart HTTP on loopback (needs `git
http-backend`).

    with GitHttp(folder) as g:  claude plugin marketplace add {g.url}/repo.git      (a git
    marketplace, no network)
"""

from __future__ import annotations

import os
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.loopback import Served


class GitHttp(Served):
    def __init__(self, root: str, port: int = 0):
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                pass

            def serve(self) -> None:
                path, _, query = self.path.partition("?")
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                env = {
                    "PATH": "/usr/local/bin:/usr/bin:/bin",
                    "GIT_PROJECT_ROOT": root,
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "REQUEST_METHOD": self.command,
                    "CONTENT_TYPE": self.headers.get("content-type", ""),
                    "REMOTE_ADDR": "127.0.0.1",
                    "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
                    "HOME": root,
                    "GIT_CONFIG_COUNT": "1",
                    "GIT_CONFIG_KEY_0": "safe.directory",
                    "GIT_CONFIG_VALUE_0": "*",
                }
                out = subprocess.run(
                    ["git", "http-backend"], input=body, env=env, capture_output=True
                ).stdout
                head, _, data = out.partition(b"\r\n\r\n")
                headers = dict(
                    line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line
                )
                self.send_response(int(headers.pop("Status", "200").split()[0]))
                for key, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = serve

        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        server.daemon_threads = True
        super().__init__(server)


def bare_clone(src: str, dest: str) -> None:
    """`dest` becomes a bare clone of the repository `src`, ready to be served (run again to
    update).
    """
    if not os.path.exists(dest):
        subprocess.run(["git", "clone", "-q", "--bare", src, dest], check=True)
    else:
        subprocess.run(
            ["git", "-C", dest, "fetch", "-q", src, "+refs/heads/*:refs/heads/*"], check=True
        )
