"""The local page in a real browser: what a person does there, by keys and on a phone; what its
rules of accessibility say.
"""

from __future__ import annotations

import contextlib
import http.server
import os
import shutil
import subprocess
import threading

import pytest
from harness import client, conversations, page, vault

from memory.core import layout
from memory.doors.page.pages import Pages

NOW = 1795271452.0  # 2026-11-21T14:30:52Z
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
QUIET = [
    *(
        "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
        "--disable-background-networking --disable-component-update --disable-sync"
    ).split(),
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
]
PATHS = (
    "/",
    "/session/two",
    "/record/l-cache",
    "/waiting",
    "/search?q=cache",
    "/knowledge",
    "/failures",
    "/charts",
    "/keys",
)
AXE = "axe-core@4.14.1"
driver = pytest.importorskip(
    "playwright.sync_api", reason="no playwright here; `install.sh --test` tries to bring it"
)
pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium here, such as Debian's package `chromium`"
)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """One browser for all tests of this file."""
    home = tmp_path_factory.mktemp("browser")
    with driver.sync_playwright() as play:
        started = play.chromium.launch(
            executable_path=CHROMIUM, args=QUIET, env={**os.environ, "HOME": str(home)}
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    top = tmp_path_factory.mktemp("page")
    made = Pages(
        page.stored(str(top / "home"), str(top / "project"), NOW), vault.settings(), lambda: NOW
    )
    with page.served(made) as served:
        yield served


@pytest.fixture
def opened(chromium, site):
    """Open the page in a window of its own: opened(width=..., color_scheme=...) -> the tab, on the
    timeline.
    """
    with contextlib.ExitStack() as after:

        def call(width=1280, **more):
            window = chromium.new_context(viewport={"width": width, "height": 800}, **more)
            after.callback(window.close)
            tab = window.new_page()
            tab.faults = []
            tab.on("pageerror", lambda error: tab.faults.append(str(error)))
            tab.on(
                "console",
                lambda said: tab.faults.append(said.text) if said.type == "error" else None,
            )
            tab.on(
                "request",
                lambda asked: (
                    tab.faults.append(asked.url) if "127.0.0.1" not in asked.url else None
                ),
            )
            address = site.gate.address()
            tab.goto(address)
            tab.base = address.partition("/open/")[0]
            assert tab.url == tab.base + "/"
            return tab

        yield call


def test_a_person_finds_an_answer_without_a_mouse(opened):
    """A key for the search, hits while the words are typed, an arrow and Enter to the record, keys
    back and on.
    """
    tab = opened()
    tab.keyboard.press("/")
    tab.keyboard.type("docker cac", delay=15)
    tab.wait_for_selector(".hit h2:has-text('Docker cache')")
    assert "result" in tab.text_content("#said")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/record/l-cache")
    assert tab.text_content("h1") == "Docker cache"
    for keys, ending in (("u", "/"), ("gw", "/waiting"), ("gk", "/knowledge"), ("gt", "/")):
        for key in keys:
            tab.keyboard.press(key)
        tab.wait_for_url(tab.base + ending)
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    assert tab.evaluate("document.activeElement.className") == "go"
    tab.keyboard.press("?")
    tab.wait_for_url("**/keys")
    assert tab.faults == []


def test_what_is_typed_and_wiped_leaves_the_page_as_it_was(opened):
    tab = opened()
    tab.fill("#q", "zebra")
    tab.wait_for_selector(".hit")
    tab.fill("#q", "")
    tab.wait_for_selector(".session")
    tab.fill("#q", "zebra")
    tab.press("#q", "Enter")
    tab.wait_for_url("**/search?q=zebra")
    assert page.SECRET in tab.text_content(".hits") and tab.faults == []


def test_no_record_runs_anything(opened):
    """Markup in a record is text; the browser reports no breach of the page's policy either."""
    tab = opened()
    tab.on("dialog", lambda box: tab.faults.append(box.message))
    tab.goto(tab.base + "/record/l-zebra")
    assert "<script>alert(1)</script>" in tab.text_content(".text") and tab.faults == []


def test_colours_follow_the_system_until_the_reader_says_otherwise(opened):
    """And stay so with the next page."""
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = opened(color_scheme="light"), opened(color_scheme="dark")
    by_day, by_night = light.evaluate(paper), dark.evaluate(paper)
    assert by_day != by_night
    dark.keyboard.press("d")
    dark.goto(dark.base + "/failures")
    assert dark.evaluate(paper) == by_day


def test_a_phone_shows_every_page_without_scrolling_sideways(opened):
    tab, wide = opened(width=360), []
    for path in PATHS:
        tab.goto(tab.base + path)
        wide += [path] * (tab.evaluate("document.documentElement.scrollWidth") > 360)
    assert wide == []


@pytest.fixture(scope="module")
def axe():
    """The rules of accessibility; the test is skipped where npm does not reach them."""
    folder = client.CACHE / AXE.replace("@", "-")
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        if not shutil.which("npm"):
            pytest.skip("no npm to install %s with" % AXE)
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), AXE],
            env=client.ENV,
            capture_output=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            pytest.skip("npm could not install " + AXE)
    return script.read_text(encoding="utf-8")


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_nothing_keeps_anybody_out(opened, axe, shade):
    """Every page, some in both colours: nothing serious or critical by axe's rules."""
    tab = opened(color_scheme=shade)
    found = []
    for path in PATHS[1:4] if shade == "dark" else PATHS:
        tab.goto(tab.base + path)
        tab.evaluate(axe)
        faults = tab.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
        )
        found += [
            (path, each["id"], [node["html"] for node in each["nodes"]][:2])
            for each in faults
            if each["impact"] in ("serious", "critical")
        ]
    assert found == []


class Elsewhere(http.server.SimpleHTTPRequestHandler):
    """Any address is an empty page."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>elsewhere</title>")

    def log_message(self, *_):
        """Nothing is logged."""


TRIES = """async address => {
  const said = [];
  const read = async (name, way) => { try { said.push(name + ": " + await (await fetch(address, \
way)).text()) } catch { } };
  await read("fetch", {credentials: "include"});
  await read("fetch without cors", {credentials: "include", mode: "no-cors"});
  await read("post", {credentials: "include", method: "POST", body: "x"});
  await Promise.all(["img", "script", "iframe", "object"].map(name => new Promise(done => {
    const made = document.createElement(name);
    made.onload = () => { if (made.contentDocument || !/frame|object/.test(name)) said.push(name + \
": loaded"); done() };
    made.onerror = done;
    made[name === "object" ? "data" : "src"] = address;
    document.body.append(made);
    setTimeout(done, 700);
  })));
  return said;
}"""


@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_a_page_of_another_server_gets_nothing(opened, host):
    """In a browser that has the key: neither one of this machine, which is the same site, nor one
    from elsewhere reads a thing.
    """
    tab = opened()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as evil:
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        answers = []
        tab.on(
            "response",
            lambda answer: answers.append(answer.status) if "/l-zebra" in answer.url else None,
        )
        for address in (
            tab.base + "/record/l-zebra",
            tab.base.replace("127.0.0.1", "evil.example") + "/record/l-zebra",
        ):
            tab.goto("http://%s:%d/" % (host, evil.server_port))
            heard = tab.evaluate(TRIES, address)
            assert [line for line in heard if line != "fetch without cors: "] == [], address
            tab.evaluate("address => { location.href = address }", address)
            tab.wait_for_url(address)
            assert tab.text_content("body") in (
                "the request came from another page",
                "this page does not belong to that host",
            )
        evil.shutdown()
        assert answers and set(answers) <= {403, 405}
    tab.goto(tab.base + "/record/l-zebra")
    assert page.SECRET in tab.text_content(".text")


def test_a_page_that_has_ended_says_so(chromium, tmp_path):
    """Instead of hits that never come."""
    made = Pages(
        page.stored(str(tmp_path / "h"), str(tmp_path / "p"), NOW), vault.settings(), lambda: NOW
    )
    window = chromium.new_context()
    with page.served(made) as served:
        tab = window.new_page()
        tab.goto(served.gate.address())
    tab.fill("#q", "zebra")
    tab.wait_for_selector("#gone:visible")
    window.close()


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A project of 70 sessions on two branches, and another one to switch to."""
    top = tmp_path_factory.mktemp("long")
    place = page.stored(str(top / "home"), str(top / "project"), NOW)
    for number in range(70):
        day = "2026-%02d-%02d" % (1 + number // 7, 1 + number % 7)
        conversations.noted(
            place, "s%02d" % number, day, page.OUTCOME, branch="odd" if number % 2 else "even"
        )
    (top / "other").mkdir()
    other = layout.locate({"HOME": str(top / "home")}, str(top / "other"))
    vault.put(other, "p/learnings/okapi.md", "Okapi", "It eats leaves.", id="l-okapi")
    with page.served(Pages(place, vault.settings(), lambda: NOW)) as served:
        yield served


@pytest.fixture
def scrolled(chromium, long):
    """The timeline of the long project in a window of its own."""
    window = chromium.new_context(viewport={"width": 1280, "height": 800})
    window.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = window.new_page()
    tab.faults = []
    tab.on("console", lambda said: tab.faults.append(said.text) if said.type == "error" else None)
    address = long.gate.address()
    tab.goto(address)
    tab.base = address.partition("/open/")[0]
    yield tab
    window.close()


def test_the_timeline_goes_on_as_one_scrolls(scrolled):
    """Down to the first session; each one once, each day under one heading."""
    tab, count = scrolled, ".session h3"
    assert tab.locator(count).count() < 74
    for _ in range(40):
        tab.keyboard.press("End")
        tab.wait_for_timeout(100)
        if not tab.locator("a[rel=next]").count():
            break
    addresses = tab.eval_on_selector_all(".session .go", "all => all.map(one => one.href)")
    days = tab.eval_on_selector_all(".day", "all => all.map(one => one.dataset.day)")
    assert len(addresses) == len(set(addresses)) == 74
    assert days == sorted(set(days), reverse=True) and tab.faults == []


def test_filters_work_as_one_types_and_chooses(scrolled):
    """The address says what is shown, so that a reload shows it again; back takes it off."""
    tab = scrolled
    tab.select_option("select[name=branch]", "odd")
    tab.wait_for_url("**branch=odd")
    assert set(tab.eval_on_selector_all("#list .branch", "all => all.map(o => o.textContent)")) == {
        "odd"
    }
    tab.fill("input[name=text]", "okapi")
    tab.wait_for_selector("text=Nothing fits")
    tab.reload()
    assert tab.input_value("input[name=text]") == "okapi"
    tab.click("text=show all")
    tab.wait_for_selector(".session")
    tab.fill("input[name=until]", "2026-03-04")
    tab.wait_for_selector("#list > .day[data-day='2026-03-04']:first-child")
    assert tab.faults == []


def test_a_project_is_switched_to_by_keys(scrolled):
    """The menu opens, its first line has the focus, and the other project's page comes."""
    tab = scrolled
    tab.keyboard.press("p")
    assert tab.evaluate("document.activeElement.closest('.projects') !== null")
    tab.click(".projects a:has-text('other')")
    tab.wait_for_url("**/in/other-*/")
    assert tab.text_content(".projects summary") == "other"
    for key in "gk":
        tab.keyboard.press(key)
    tab.wait_for_url("**/in/other-*/knowledge")
    assert "Okapi" in tab.text_content("#list") and tab.faults == []


def test_a_command_is_copied_and_shown(scrolled):
    """What stands on the clipboard is what the page says."""
    tab = scrolled
    tab.goto(tab.base + "/knowledge")
    tab.click("[data-copy='dayleaf record forget l-cache']")
    tab.wait_for_selector("#said.shown")
    assert tab.text_content("#said") == "Copied: dayleaf record forget l-cache"
    assert tab.evaluate("navigator.clipboard.readText()") == "dayleaf record forget l-cache"
    assert tab.faults == []


def test_it_works_without_a_script(opened):
    """A filter is sent by its button, a link leads to what is older, the menu is one of HTML."""
    tab = opened(java_script_enabled=False)
    tab.fill("input[name=text]", "hundred answers")
    tab.click("text=filter")
    assert tab.locator(".session").count() == 1 and "text=hundred" in tab.url
    tab.goto(tab.base + "/knowledge?section=rule")
    assert "Check the migration" in tab.text_content("#list") and tab.faults == []


def test_every_width_shows_the_whole_page(opened):
    """Nothing sticks out to the side."""
    tab = opened()
    wide = []
    for path in PATHS:
        tab.goto(tab.base + path)
        for width in (400, 800, 1600, 2000):
            tab.set_viewport_size({"width": width, "height": 800})
            across = tab.evaluate("document.documentElement.scrollWidth")
            wide += [(path, width)] * (across > width)
    assert wide == []
