"""The local page as a server: who may ask, what each address shows, and when it ends.

It listens on 127.0.0.1 alone and reads: every request is a GET without a body.  The gate lets a
request pass that names this host, comes from this page or from nowhere, lies beneath a folder with
a random name, and carries a key.  The key is a cookie of that folder, so that no other server of
this machine is ever sent it, and a browser gets it for a one-time address.

An address is a name: of a page, of a file in FILES, of a project, a record or a session by its id.
None becomes a path.
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
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from memory.core import DayleafError, UsageError
from memory.doors.page.onefile import raw
from memory.doors.page.pages import Pages
from memory.doors.page.projects import Projects
from memory.doors.page.sheets import Sheet, rendered
from memory.doors.page.timeline import SESSION, Filter
from memory.terminal.call import warn

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
HOST, COOKIE = "127.0.0.1", "dayleaf"
TICKET = 600.0  # seconds for which a one-time address holds
PATIENCE = 10.0  # seconds in which a connection has to say what it wants
MOST_HEAD = 65536  # bytes of a request's head
FILES = {"page.css": "text/css", "page.js": "text/javascript", "leaf.svg": "image/svg+xml"}
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
SPENT = (
    "this address has been used or is too old; for a new one, press Enter where `dayleaf store "
    "view` runs, or start it again"
)


class Gate:
    """ASGI middleware for the browser of a single person.

    inner: the application. clock: seconds that never go back. folder: of the page. seen: when a
        request was last admitted.
    """

    def __init__(self, inner: Any, port: int, clock: Callable[[], float]):
        self._inner, self._clock, self._port = inner, clock, port
        self._hosts = ["%s:%d" % (host, port) for host in (HOST, "localhost")]
        self._key = secrets.token_urlsafe(32)
        self._ticket, self._until = "", 0.0
        self.folder = "/" + secrets.token_hex(8)
        self.seen = clock()

    def address(self) -> str:
        """Make a new one-time address in place of the old."""
        self._ticket, self._until = secrets.token_urlsafe(24), self._clock() + TICKET
        return "http://%s:%d%s/open/%s" % (HOST, self._port, self.folder, self._ticket)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, each answer with HEADERS."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.lower().encode(), value.encode())
                        for name, value in HEADERS.items()
                        if name.lower().encode() not in there
                    ),
                ]
            await send(message)

        answer = self._refused(scope) or self._opened(scope)
        if answer is not None:
            await answer(scope, receive, guarded)
            return
        self.seen = self._clock()
        inside = scope["path"][len(self.folder) :]
        await self._inner({**scope, "path": inside, "raw_path": inside.encode()}, receive, guarded)

    def _refused(self, scope: Message) -> Response | None:
        """Return the refusal of a request not made by this page."""
        size = (
            len(scope["raw_path"])
            + len(scope["query_string"])
            + sum(len(n) + len(v) for n, v in scope["headers"])
        )
        if size > MOST_HEAD:
            return PlainTextResponse("the request is too long", 431)
        heads = _heads(scope)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("this page only reads", 405, {"Allow": "GET, HEAD"})
        if _has_body(heads):
            return PlainTextResponse("a request to this page has no body", 400)
        host = heads.get("host", [])
        if len(host) != 1 or host[0] not in self._hosts:
            return PlainTextResponse("this page does not belong to that host", 403)
        if _is_foreign(heads, "http://" + host[0]):
            return PlainTextResponse("the request came from another page", 403)
        if "purpose" in heads or "sec-purpose" in heads:
            return PlainTextResponse("this page is not prefetched", 403)
        return (
            None
            if scope["path"].startswith(self.folder + "/")
            else PlainTextResponse("there is nothing here", 404)
        )

    def _opened(self, scope: Message) -> Response | None:
        """Return the answer to a one-time address or a missing key."""
        said = scope["path"][len(self.folder) + 1 :]
        known = self._has_key(scope)
        if said.startswith("open/"):
            fits = bool(self._ticket) and hmac.compare_digest(
                said[5:].encode(), self._ticket.encode()
            )
            fits = fits and self._clock() < self._until and scope["method"] == "GET"
            if not (fits or known):
                return PlainTextResponse(SPENT, 403)
            self._ticket = "" if fits else self._ticket
            answer = RedirectResponse(self.folder + "/", 303)
            answer.set_cookie(
                COOKIE, self._key, path=self.folder + "/", httponly=True, samesite="strict"
            )
            return answer
        return None if known else PlainTextResponse(SPENT, 403)

    def _has_key(self, scope: Message) -> bool:
        cookies: SimpleCookie = SimpleCookie()
        for name, value in scope["headers"]:
            if name == b"cookie":
                try:
                    cookies.load(value.decode("latin-1"))
                except CookieError:
                    return False
        given = cookies[COOKIE].value if COOKIE in cookies else ""
        return hmac.compare_digest(given.encode(), self._key.encode())


# ---- what each address shows


class Asked:
    """A request: its project's pages, and its words by name."""

    def __init__(self, request: Request, projects: Projects, root: str):
        """root: the folder that the page lies in."""
        self._request, self.live = request, "live" in request.query_params
        key = request.path_params.get("project")
        self.projects, self.root = projects, root
        self.base = root + ("/in/" + quote(key, safe="") if key else "")
        self.key = str(key or projects.first.place.key)

    @property
    def pages(self) -> Pages:
        """The pages of the project.

        Raises StoreError for an unknown one.
        """
        return self.projects.pages(self.key)

    def word(self, name: str) -> str:
        """Return a word of the address, or ""."""
        request = self._request
        return str(request.path_params.get(name) or request.query_params.get(name) or "")

    def filter(self) -> Filter:
        """Return what the timeline is to show."""
        said = {name: self.word(name).strip() for name in Filter._fields if name != "words"}
        return Filter(**{**said, "kind": said["kind"] or SESSION, "words": self.word("text")})


PAGES: dict[str, Callable[[Asked], Sheet]] = {
    "/": lambda asked: asked.pages.timeline(asked.filter(), asked.word("after")),
    "/search": lambda asked: asked.pages.search(
        asked.word("q"),
        asked.word("kind"),
        asked.word("topic"),
        asked.word("since"),
        asked.word("in"),
        asked.live,
    ),
    "/session/{id}": lambda asked: asked.pages.session(asked.word("id")),
    "/record/{id:path}": lambda asked: asked.pages.record(asked.word("id")),
    "/knowledge": lambda asked: asked.pages.knowledge(
        asked.word("section") or "learning",
        *(asked.word(name) for name in ("text", "state", "after")),
    ),
    "/failures": lambda asked: asked.pages.failures(),
    "/waiting": lambda asked: asked.pages.review(),
    "/charts": lambda asked: asked.pages.stats(),
    "/keys": lambda asked: asked.pages.keys(),
}


def application(projects: Projects, root: Callable[[], str]) -> Starlette:
    """Return the application behind the gate.

    base: returns the page's folder.
    """

    def shown(make: Callable[[Asked], Sheet]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            asked = Asked(request, projects, root())
            try:
                sheet, status = _page_or_fault(asked, make)
                body = rendered(sheet, asked.base, asked.live, asked.root, projects.listed())
            except Exception as error:  # a bug ends no server
                return _faulted(error)
            return Response(body, status, media_type="text/html", background=_later(asked, status))

        return answer

    routes = [
        Route(start + path, shown(make))
        for start in ("", "/in/{project}")
        for path, make in PAGES.items()
    ]
    routes += [Route("/" + name, _file(name, kind)) for name, kind in FILES.items()]
    return Starlette(routes=routes, exception_handlers={404: _nothing})


def _later(asked: Asked, status: int) -> BackgroundTask | None:
    """Return what is brought up to date behind an answer."""
    return BackgroundTask(asked.pages.catch_up, asked.live) if status == 200 else None


def _file(name: str, kind: str) -> Callable[[Request], Response]:
    return lambda request: Response(raw(name), media_type=kind)


def _nothing(request: Request, error: Exception) -> Response:
    return PlainTextResponse("there is nothing here", 404)


def _page_or_fault(asked: Asked, make: Callable[[Asked], Sheet]) -> tuple[Sheet, int]:
    try:
        return make(asked), 200
    except UsageError as error:
        fault, status = str(error), 400
    except DayleafError as error:
        fault, status = str(error), 404
    try:
        return asked.pages.fault(fault), status
    except DayleafError:  # there is no such project
        asked.base = asked.root
        return asked.projects.first.fault(fault), status


def _faulted(error: Exception) -> Response:
    import traceback

    where = traceback.extract_tb(error.__traceback__)[-1]
    warn(
        "a bug in dayleaf (%s: %s, %s:%d); please report it"
        % (type(error).__name__, error, where.filename.rpartition("/")[2], where.lineno or 0)
    )
    return PlainTextResponse("a bug in dayleaf (%s)" % type(error).__name__, 500)


# ---- the server


class Impatient(H11Protocol):
    """A connection that is closed after PATIENCE idle seconds.

    It serves one request.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self.loop.call_later(PATIENCE, self._given_up)

    def _given_up(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.abort()


def listen(port: int) -> socket.socket:
    """Return a socket that listens on 127.0.0.1.

    port: 0 for a free one. Raises UsageError for a port that is taken.
    """
    end = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere it would share a port that is taken
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        end.bind((HOST, port))
        end.listen(64)
    except (OSError, OverflowError) as error:
        end.close()
        said = getattr(error, "strerror", "") or "it is not a port"
        raise UsageError(
            "port %d cannot be used (%s); leave --port out to take a free one"
            % (port, said.lower())
        ) from None
    return end


class Site:
    """The page on one socket, until `run` ends.

    idle: seconds without a request after which `run` ends.
    """

    def __init__(
        self,
        pages: Pages,
        end: socket.socket,
        idle: float,
        clock: Callable[[], float],
        env: Mapping[str, str] = MappingProxyType({}),
    ):
        projects = Projects(pages, env)
        inner = application(projects, lambda: self.gate.folder)
        self.gate = Gate(inner, end.getsockname()[1], clock)
        self._end, self._idle, self._clock = end, idle, clock
        self._server = Server(
            Config(
                self.gate,
                http=Impatient,
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                h11_max_incomplete_event_size=MOST_HEAD,
                limit_concurrency=200,
                timeout_graceful_shutdown=2,
            )
        )

    def run(self) -> bool:
        """Serve until idle (True) or stopped (False)."""
        gc.collect()
        # modules and the open index stay: to go through them all amid a search takes 30 ms
        gc.freeze()
        return asyncio.run(self._run())

    def stop(self) -> None:
        """End `run`."""
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


def _heads(scope: Message) -> dict[str, list[str]]:
    """Return the heads of a request, by name in lower case."""
    heads: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        heads.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return heads


def _has_body(heads: dict[str, list[str]]) -> bool:
    length = heads.get("content-length", ["0"])
    return length != ["0"] or "transfer-encoding" in heads or "upgrade" in heads


def _is_foreign(heads: dict[str, list[str]], origin: str) -> bool:
    """Tell whether a request comes from a page of another origin."""
    if any(said != origin for said in heads.get("origin", [])):
        return True
    sites = heads.get("sec-fetch-site", [])
    return any(site not in ("same-origin", "none") for site in sites)
