"""The server of the local page: authorization, routes, end after idle time.

It listens on 127.0.0.1 and only reads: every request is a GET without a body.  The gate admits a
request with this host's name, from this page or no page, below a folder with a random name, and
with a key.  The key is a cookie of that folder, so that no other server of this machine gets it; a
browser gets it for a one-time address.

An address names a page, a file in STATIC_FILES, a project, or a record or session by id; no part of
it becomes a path.
"""

from __future__ import annotations

import asyncio
import gc
import hmac
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from memory.core import DayleafError, UsageError
from memory.doors.page.onefile import read_template
from memory.doors.page.pages import Pages
from memory.doors.page.projects import Projects
from memory.doors.page.sheets import Sheet, render_sheet
from memory.doors.page.timeline import SESSION, Filter
from memory.terminal.call import warn

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
HOST, COOKIE = "127.0.0.1", "dayleaf"
TICKET_SECONDS = 600.0  # life of a one-time address
REQUEST_TIMEOUT = 10.0  # seconds until a connection must have sent its request
MAX_HEADER_BYTES = 65536
STATIC_FILES = {"page.css": "text/css", "page.js": "text/javascript", "leaf.svg": "image/svg+xml"}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
        "'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
    "Connection": "close",
}
EXPIRED = (
    "this address has been used or is too old; for a new one, press Enter where `dayleaf store "
    "view` runs, or start it again"
)


class Gate:
    """ASGI middleware that admits one person's browser.

    clock: monotonic. folder: of the page. seen: time of the last admitted request.
    """

    def __init__(self, inner: Any, port: int, clock: Callable[[], float]):
        self._inner, self._clock, self._port = inner, clock, port
        self._hosts = ["%s:%d" % (host, port) for host in (HOST, "localhost")]
        self._key = secrets.token_urlsafe(32)
        self._ticket, self._until = "", 0.0
        self.folder = "/" + secrets.token_hex(8)
        self.seen = clock()

    def address(self) -> str:
        """Return a new one-time address, in place of the old."""
        self._ticket, self._until = secrets.token_urlsafe(24), self._clock() + TICKET_SECONDS
        return "http://%s:%d%s/open/%s" % (HOST, self._port, self.folder, self._ticket)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request; add HEADERS to the answer."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refuse(scope) or self._authorize(scope)
        if answer is not None:
            await answer(scope, receive, send_with_headers)
            return
        self.seen = self._clock()
        inside = scope["path"][len(self.folder) :]
        inner = {**scope, "path": inside, "raw_path": inside.encode()}
        await self._inner(inner, receive, send_with_headers)

    def _refuse(self, scope: Message) -> Response | None:
        """Return the error for a foreign request, else None."""
        size = len(scope["raw_path"]) + len(scope["query_string"])
        size += sum(len(name) + len(value) for name, value in scope["headers"])
        if size > MAX_HEADER_BYTES:
            return PlainTextResponse("the request is too long", 431)
        headers = Headers(scope=scope)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("this page only reads", 405, {"Allow": "GET, HEAD"})
        if _has_body(headers):
            return PlainTextResponse("a request to this page has no body", 400)
        host = headers.getlist("host")
        if len(host) != 1 or host[0] not in self._hosts:
            return PlainTextResponse("this page does not belong to that host", 403)
        if _is_foreign(headers, "http://" + host[0]):
            return PlainTextResponse("the request came from another page", 403)
        if "purpose" in headers or "sec-purpose" in headers:
            return PlainTextResponse("this page is not prefetched", 403)
        if not scope["path"].startswith(self.folder + "/"):
            return PlainTextResponse("there is nothing here", 404)
        return None

    def _authorize(self, scope: Message) -> Response | None:
        """Return the answer to a one-time address or a missing key, else None."""
        path = scope["path"][len(self.folder) + 1 :]
        is_open = path.startswith("open/")
        given = path[5:] if is_open and scope["method"] == "GET" else ""
        is_fresh = bool(self._ticket) and self._clock() < self._until
        fits = is_fresh and hmac.compare_digest(given.encode(), self._ticket.encode())
        if not (fits or self._has_key(scope)):
            return PlainTextResponse(EXPIRED, 403)
        if not is_open:
            return None
        self._ticket = "" if fits else self._ticket
        home = self.folder + "/"
        answer = RedirectResponse(home, 303)
        answer.set_cookie(COOKIE, self._key, path=home, httponly=True, samesite="strict")
        return answer

    def _has_key(self, scope: Message) -> bool:
        cookies: SimpleCookie = SimpleCookie()
        for value in Headers(scope=scope).getlist("cookie"):
            try:
                cookies.load(value)
            except CookieError:
                return False
        given = cookies[COOKIE].value if COOKIE in cookies else ""
        return hmac.compare_digest(given.encode(), self._key.encode())


# ---- what each address shows


Get = Callable[[str], str]  # returns a parameter of an address, "" for none


def _read_filter(get: Get) -> Filter:
    given = {name: get(name).strip() for name in Filter._fields}
    given["kind"], given["words"] = given["kind"] or SESSION, get("text")
    return Filter(**given)


PAGES: dict[str, Callable[[Pages, Get], Sheet]] = {
    "/": lambda pages, get: pages.timeline(_read_filter(get), get("after")),
    "/search": lambda pages, get: pages.search(
        get("q"), get("kind"), get("topic"), get("since"), get("in"), bool(get("live"))
    ),
    "/session/{id}": lambda pages, get: pages.session(get("id")),
    "/record/{id:path}": lambda pages, get: pages.record(get("id")),
    "/knowledge": lambda pages, get: pages.knowledge(
        get("section") or "learning", get("text"), get("state"), get("after")
    ),
    "/failures": lambda pages, get: pages.failures(),
    "/waiting": lambda pages, get: pages.review(),
    "/charts": lambda pages, get: pages.stats(),
    "/keys": lambda pages, get: pages.keys(),
}


def make_application(projects: Projects, root: Callable[[], str]) -> Starlette:
    """Make the application behind the gate; `root` returns the page's folder."""

    def make_endpoint(make: Callable[[Pages, Get], Sheet]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            def get(name: str) -> str:
                return str(request.path_params.get(name) or request.query_params.get(name) or "")

            pages, base, status = projects.first, root(), 200
            project = str(request.path_params.get("project") or "")
            live = bool(get("live"))
            try:
                try:
                    if project:
                        pages = projects.pages(project)
                        base += "/in/" + quote(project, safe="")
                    sheet = make(pages, get)
                except DayleafError as error:
                    sheet = pages.fault(str(error))
                    status = 400 if isinstance(error, UsageError) else 404
                body = render_sheet(sheet, base, live, root(), projects.list_projects())
            except Exception as error:  # a bug must not end the server
                return _answer_bug(error)
            task = BackgroundTask(pages.update, live) if status == 200 else None
            return Response(body, status, media_type="text/html", background=task)

        return answer

    routes = [
        Route(start + path, make_endpoint(make))
        for start in ("", "/in/{project}")
        for path, make in PAGES.items()
    ]
    routes += [_make_file_route(name, kind) for name, kind in STATIC_FILES.items()]
    return Starlette(routes=routes, exception_handlers={404: _answer_not_found})


def _make_file_route(name: str, kind: str) -> Route:
    return Route("/" + name, lambda request: Response(read_template(name), media_type=kind))


def _answer_not_found(request: Request, error: Exception) -> Response:
    return PlainTextResponse("there is nothing here", 404)


def _answer_bug(error: Exception) -> Response:
    import traceback

    where = traceback.extract_tb(error.__traceback__)[-1]
    warn(
        "a bug in dayleaf (%s: %s, %s:%d); please report it"
        % (type(error).__name__, error, where.filename.rpartition("/")[2], where.lineno or 0)
    )
    return PlainTextResponse("a bug in dayleaf (%s)" % type(error).__name__, 500)


# ---- the server


class TimedProtocol(H11Protocol):
    """A connection for one request, closed if none comes in REQUEST_TIMEOUT."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(REQUEST_TIMEOUT, self._abort_if_idle)

    def _abort_if_idle(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.abort()


def open_socket(port: int) -> socket.socket:
    """Open a socket on 127.0.0.1; raise UsageError for a used port.

    port: 0 for a free one.
    """
    end = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere it would share a port that is taken
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        end.bind((HOST, port))
        end.listen(64)
    except (OSError, OverflowError) as error:
        end.close()
        why = getattr(error, "strerror", "") or "it is not a port"
        raise UsageError(
            "port %d cannot be used (%s); leave --port out to take a free one" % (port, why.lower())
        ) from None
    return end


class Site:
    """The page on one socket; `run` ends after `idle` seconds without a visit."""

    def __init__(
        self,
        pages: Pages,
        end: socket.socket,
        idle: float,
        clock: Callable[[], float],
        env: Mapping[str, str] = MappingProxyType({}),
    ):
        projects = Projects(pages, env)
        inner = make_application(projects, lambda: self.gate.folder)
        self.gate = Gate(inner, end.getsockname()[1], clock)
        self._end, self._idle, self._clock = end, idle, clock
        self._server = Server(
            Config(
                self.gate,
                http=TimedProtocol,
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                h11_max_incomplete_event_size=MAX_HEADER_BYTES,
                limit_concurrency=200,
                timeout_graceful_shutdown=2,
            )
        )

    def run(self) -> bool:
        """Serve until idle (True) or stopped (False)."""
        gc.collect()
        # a collection that visits modules and index amid a search takes 30 ms
        gc.freeze()
        return asyncio.run(self._run())

    def stop(self) -> None:
        self._server.should_exit = True

    async def _run(self) -> bool:
        served = asyncio.ensure_future(self._server.serve(sockets=[self._end]))
        while not served.done():
            await asyncio.wait([served], timeout=0.5)
            if self._clock() - self.gate.seen > self._idle:
                self.stop()
                await served
                return True
        await served
        return False


def _has_body(headers: Headers) -> bool:
    length = headers.getlist("content-length") or ["0"]
    return length != ["0"] or "transfer-encoding" in headers or "upgrade" in headers


def _is_foreign(headers: Headers, origin: str) -> bool:
    if any(given != origin for given in headers.getlist("origin")):
        return True
    sites = headers.getlist("sec-fetch-site")
    return any(site not in ("same-origin", "none") for site in sites)
