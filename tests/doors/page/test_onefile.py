"""One HTML file of records: its policy, its text, and that it needs no package."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import sys
from pathlib import Path

import pytest
from harness import page, vault

from memory.doors.page import onefile

NOW = 1795271452.0


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return the HTML of a store: shown(private)."""
    top = tmp_path_factory.mktemp("onefile")
    place = page.stored(str(top / "home"), str(top / "project"), NOW)
    return lambda private: onefile.render_page(
        onefile.read_contents(place, vault.settings(), NOW, private)
    )


def test_one_file_needs_nothing_else(shown):
    """Its policy names its own script and style by their hashes, and there are no others; no
    address leads out of it.
    """
    text = shown(True)
    policy = re.search(r"http-equiv=\"Content-Security-Policy\" content=\"([^\"]*)\"", text)[1]
    for name in ("script", "style"):
        (held,) = re.findall(r"<%s>(.*?)</%s>" % (name, name), text, re.S)
        digest = base64.b64encode(hashlib.sha256(held.encode()).digest()).decode()
        assert "%s-src 'sha256-%s'" % (name, digest) in policy
    assert "default-src 'none'" in policy and not re.findall(r"\s(?:src|action)=", text)
    assert all(target.startswith("#") for target in re.findall(r"<a[^>]* href=\"([^\"]*)\"", text))
    assert page.SECRET in html.unescape(text)
    assert "alert(1)" in text and "<script>alert" not in text
    assert "<h2>Thursday, 19 November 2026</h2>" in text


def test_one_file_holds_what_its_writer_chose(shown):
    """The shared tier alone, unless the private one was asked for; secrets never."""
    shared = shown(False)
    assert "Told to all" in shared and page.SECRET not in html.unescape(shared)
    assert "ghp_" not in shared and "[redacted:" in shared


def test_one_file_says_what_nobody_approved(shown):
    """A colleague who reads it must not take a waiting rule as binding."""
    said = shown(True)
    assert re.search('id="r-check".*\n.*<span class="tag pending">rule, waits</span>', said)
    assert re.search('id="l-maybe".*\n.*<span class="tag candidate">suggested</span>', said)
    assert re.search('id="l-zebra".*\n.*<span class="tag learning">learning</span>', said)


def test_one_file_is_written_without_the_pages_packages(run, ok, place, project, monkeypatch):
    """As a fresh installation has none of them."""
    vault.mixed(place)
    for name in ("nh3", "jinja2", "markdown_it", "markupsafe", "starlette", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("pages", "sheets", "web"):
        monkeypatch.delitem(sys.modules, "memory.doors.page." + name, raising=False)
        monkeypatch.delattr("memory.doors.page." + name, raising=False)
    assert "wrote x.html with 1 record" in ok("view", "--export", "x.html")
    assert "Prefer plain functions" in Path(project, "x.html").read_text(encoding="utf-8")
