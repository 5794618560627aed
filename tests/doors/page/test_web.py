"""The local page as a server: whom it lets in, on a real socket; what it answers to requests that a
browser's page could be made to send, or that nobody sends who means well.
"""

from __future__ import annotations

import re
import socket
import threading
import time

import pytest
from harness import page, vault

from memory.core import UsageError
from memory.doors.page import web
from memory.doors.page.pages import Pages

NOW = 1795271452.0  # 2026-11-21T14:30:52Z


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A store with something for each page."""
    top = tmp_path_factory.mktemp("web")
    return page.stored(str(top / "home"), str(top / "project"), NOW)


@pytest.fixture(scope="module")
def made(place):
    return Pages(place, vault.settings(), lambda: NOW)


@pytest.fixture(scope="module")
def site(made):
    with page.served(made) as served:
        yield served


@pytest.fixture(scope="module")
def browser(site):
    return page.Browser(site)


# Each is `METHOD /path` and headers that differ from those of the browser that was let in; {port}
# is the page's.
HOSTILE = {
    "a name that was pointed here": ("GET /", {"Host": "evil.example"}),
    "that name with the port": ("GET /", {"Host": "evil.example:{port}"}),
    "this host in front of it": ("GET /", {"Host": "127.0.0.1.evil.example:{port}"}),
    "another port": ("GET /", {"Host": "127.0.0.1:80"}),
    "no port": ("GET /", {"Host": "127.0.0.1"}),
    "no host": ("GET /", {"Host": ""}),
    "the host as a number": ("GET /", {"Host": "2130706433:{port}"}),
    "any address": ("GET /", {"Host": "0.0.0.0:{port}"}),
    "IPv6": ("GET /", {"Host": "[::1]:{port}"}),
    "a name and a password": ("GET /", {"Host": "127.0.0.1:{port}@evil.example"}),
    "another page": ("GET /", {"Origin": "https://evil.example"}),
    "a page without an origin": ("GET /", {"Origin": "null"}),
    "another server of this machine": ("GET /", {"Origin": "http://127.0.0.1:3000"}),
    "the same over TLS": ("GET /", {"Origin": "https://127.0.0.1:{port}"}),
    "a picture of another page": (
        "GET /",
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"},
    ),
    "a link of another page": (
        "GET /",
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ),
    "another port of this host": ("GET /", {"Sec-Fetch-Site": "same-site"}),
    "what is fetched ahead": ("GET /", {"Sec-Purpose": "prefetch"}),
    "a simple POST": ("POST /search", {"Content-Type": "text/plain", "Content-Length": "0"}),
    "a form": (
        "POST /review",
        {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": "0"},
    ),
    "what asks first": (
        "OPTIONS /",
        {"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"},
    ),
    "PUT": ("PUT /record/l-zebra", {"Content-Length": "0"}),
    "DELETE": ("DELETE /record/l-zebra", {}),
    "TRACE": ("TRACE /", {}),
    "CONNECT": ("CONNECT /", {}),
    "a method of nobody's": ("ZEBRA /", {}),
    "a body on a GET": ("GET /", {"Content-Length": "5"}),
    "a body in pieces": ("GET /", {"Transfer-Encoding": "chunked"}),
    "both lengths": ("GET /", {"Content-Length": "5", "Transfer-Encoding": "chunked"}),
    "a websocket": (
        "GET /",
        {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version": "13",
        },
    ),
    "HTTP/2 in clear": (
        "GET /",
        {
            "Connection": "Upgrade, HTTP2-Settings",
            "Upgrade": "h2c",
            "HTTP2-Settings": "AAMAAABkAAQ",
        },
    ),
    "no key": ("GET /", {"Cookie": ""}),
    "an empty key": ("GET /", {"Cookie": "dayleaf="}),
    "a guessed key": ("GET /", {"Cookie": "dayleaf=" + "A" * 43}),
    "a key of another shape": ("GET /", {"Cookie": "dayleaf=\xff; dayleaf"}),
    "a huge header": ("GET /", {"X-Long": "z" * 100_000}),
    "many headers": ("GET /", {"X-%d" % n: "z" * 50 for n in range(2000)}),
    "a huge address": ("GET /search?q=" + "z" * 100_000, {}),
    "the file of passwords": ("GET /../../../../etc/passwd", {}),
    "it in escapes": ("GET /%2e%2e/%2e%2e/%2e%2e/etc/passwd", {}),
    "it twice escaped": ("GET /%252e%252e%252fetc%252fpasswd", {}),
    "it by two slashes": ("GET //etc/passwd", {}),
    "it as a record": ("GET /record/../../../../etc/passwd", {}),
    "it as a record, escaped": ("GET /record/..%2f..%2f..%2fetc%2fpasswd", {}),
    "it as a session": ("GET /session/..%2f..%2fetc%2fpasswd", {}),
    "it as a project": ("GET /in/..%2f..%2f..%2fetc%2fpasswd/", {}),
    "it as a project, bare": ("GET /in/../../../etc/passwd", {}),
    "a project that is none": ("GET /in/none-00000000/record/l-zebra", {}),
    "it with a NUL": ("GET /record/%00/etc/passwd", {}),
    "a module of ours": ("GET /web.py", {}),
    "a template": ("GET /layout.html", {}),
    "a record's file": ("GET /record//p/learnings/zebra.md%00", {}),
    "backslashes": ("GET /..\\..\\etc\\passwd", {}),
}
ODD = {
    "HTTP/0.9": b"GET /\r\n\r\n",
    "no request": b"\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64,
    "noise": bytes(range(256)) * 8,
    "two requests in one": b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "another place whole": b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "folded": b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
}


def harmless(said: bytes) -> None:
    """It is no page, nothing of a record and nothing of a file is in it, and nobody else may read
    it.
    """
    assert not said.startswith(b"HTTP/1.1 2") and not re.match(rb"HTTP/1.1 30[0-8]", said), said[
        :200
    ]
    assert page.SECRET.encode() not in said and b"root:" not in said and b"Traceback" not in said
    assert b"access-control" not in said.lower()


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_request_reaches_nothing(browser, what):
    """It is refused in a line; what comes after it is served as ever."""
    line, heads = HOSTILE[what]
    method, path = line.split(" ", 1)
    told = {
        name.replace("-", "_"): value.replace("{port}", browser.port)
        for name, value in heads.items()
    }
    request = browser.head(path, method, **told)
    harmless(page.told(int(browser.port), request.decode("latin-1").encode("latin-1", "replace")))


@pytest.mark.parametrize("what", ODD)
def test_what_is_no_request_of_a_browser_reaches_nothing(site, browser, what):
    said = page.told(int(browser.port), ODD[what], wait=2)
    assert said == b"" or said.startswith(b"HTTP/1.1 4"), said[:200]


def test_after_all_that_it_still_answers(browser):
    """No request has ended it, or its key."""
    assert browser.get("/record/l-zebra")[0] == 200


def test_a_one_time_address_opens_once(made):
    """The key is a cookie that no script reads and no other page sends; the address is spent, and
    says so.
    """
    with page.served(made) as served:
        looked = page.Browser(served, "HEAD")
        assert looked.opened.startswith(b"HTTP/1.1 403") and looked.cookie == ""
        first = page.Browser(served)
        assert first.opened.startswith(b"HTTP/1.1 303")
        assert b"; HttpOnly; Path=%s/; SameSite=strict" % first.base.encode() in first.opened
        again = page.told(
            int(first.port), first.head(first.address.partition(first.base)[2], Cookie="")
        )
        assert (
            again.startswith(b"HTTP/1.1 403")
            and b"has been used" in again
            and b"press Enter where `dayleaf store view` runs" in again
        )
        second = page.Browser(served)
        assert second.get("/")[0] == first.get("/")[0] == 200
        assert (
            first.head("/open/" + "x" * 32).startswith(b"GET")
            and first.get("/open/" + "x" * 32)[0] == 303
        )


def test_an_address_that_nobody_opened_holds_ten_minutes(made):
    """By the page's own clock."""
    at = [0.0]
    with page.served(made, idle=1e9, clock=lambda: at[0]) as served:
        address = served.gate.address()
        at[0] = web.TICKET_SECONDS + 1
        port, path = re.match(r"http://[^:]*:(\d+)(.*)", address).groups()
        said = page.told(
            int(port),
            b"GET %s HTTP/1.1\r\nHost: localhost:%s\r\n\r\n" % (path.encode(), port.encode()),
        )
        assert said.startswith(b"HTTP/1.1 403") and b"too old" in said


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/search?q=cache",
        "/record/l-zebra",
        "/session/two",
        "/knowledge",
        "/knowledge?section=wish&live=1",
        "/failures",
        "/waiting",
        "/charts",
        "/?kind=all&text=cache&live=1",
        "/keys",
        "/record/none",
        "/page.css",
        "/page.js",
    ],
)
def test_every_answer_is_of_this_page_alone(browser, path):
    """Its headers forbid what is not of this server; nothing in it is a script, a style or an
    address from elsewhere.
    """
    status, head, body = browser.get(path)
    assert status == (404 if path.endswith("none") else 200)
    for line in (
        "default-src 'none'; script-src 'self'",
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
        "x-frame-options: DENY",
        "cache-control: no-store",
        "cross-origin-resource-policy: same-origin",
    ):
        assert line in head, line
    assert "server:" not in head and "set-cookie" not in head
    if "html" in head:
        assert not re.search(r"<script(?! src=\")|<style|\son\w+=|\sstyle=|javascript:", body)
        assert not re.findall(r"(?:src|action)=\"(?!%s/)[^\"]*\"" % re.escape(browser.base), body)
    assert page.SECRET in body or path != "/record/l-zebra"


def test_a_page_is_head_alone_where_that_is_asked(browser):
    status = page.told(int(browser.port), browser.head("/", "HEAD"))
    assert status.startswith(b"HTTP/1.1 200") and status.endswith(b"\r\n\r\n")


def test_who_does_not_say_what_he_wants_is_cut_off(made, monkeypatch):
    """A request that comes byte by byte holds its connection for a while, and nobody else's."""
    monkeypatch.setattr(web, "REQUEST_TIMEOUT", 0.2)
    with page.served(made) as served:
        browser = page.Browser(served)
        slow = [
            socket.create_connection(("127.0.0.1", int(browser.port)), timeout=5) for _ in range(30)
        ]
        for link in slow:
            link.sendall(b"GET / HTTP/1.1\r\nHost: 127")
        assert browser.get("/keys")[0] == 200
        time.sleep(0.4)
        for link in slow:
            with link:
                assert page.rest(link) == b""
        assert browser.get("/keys")[0] == 200


def test_it_ends_when_nobody_looks(made):
    """A request that was refused is no look."""
    at = [0.0]
    served = web.Site(made, web.open_socket(0), 60, lambda: at[0])
    ended = []
    thread = threading.Thread(target=lambda: ended.append(served.run()), daemon=True)
    thread.start()
    browser = page.Browser(served)
    at[0] = 50.0
    assert browser.get("/keys")[0] == 200
    at[0] = 100.0
    harmless(page.told(int(browser.port), browser.head("/", Host="evil.example")))
    at[0] = 111.0
    thread.join(10)
    assert ended == [True]


def test_a_fault_is_said_and_the_page_goes_on(place, capsys):
    """In the browser by its kind alone, in the terminal with its place."""
    broken = Pages(place, vault.settings(), lambda: NOW)
    broken.stats = lambda: {}["zebra"]
    with page.served(broken) as served:
        browser = page.Browser(served)
        status, _, body = browser.get("/charts")
        assert (status, body) == (500, "a bug in dayleaf (KeyError)")
        assert browser.get("/keys")[0] == 200
    assert "please report it" in capsys.readouterr().err


@pytest.mark.parametrize("port", [65536, -1])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(UsageError, match="cannot be used"):
        web.open_socket(port)


def test_a_port_that_is_taken_is_refused(site, browser):
    with pytest.raises(
        UsageError,
        match=r"port %s cannot be used \(address already in use\); leave --port out" % browser.port,
    ):
        web.open_socket(int(browser.port))
