"""The switch between projects: which there are, and what each shows."""

from __future__ import annotations

import pytest
from harness import page, vault

from memory.core import StoreError, layout
from memory.doors.page.pages import Pages
from memory.doors.page.projects import Projects

NOW = 1795271452.0  # 2026-11-21T14:30:52Z


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Two projects of one home; the page is opened in the first."""
    top = tmp_path_factory.mktemp("projects")
    place = page.stored(str(top / "home"), str(top / "project"), NOW)
    (top / "other").mkdir()
    other = layout.locate({"HOME": str(top / "home")}, str(top / "other"))
    vault.put(other, "p/learnings/okapi.md", "Okapi", "It eats leaves.", id="l-okapi")
    return Pages(place, vault.settings(), lambda: NOW), other


def test_each_project_has_its_pages_and_a_menu_leads_to_them(pages):
    """Under its own address, with nothing of another one in its lists."""
    made, other = pages
    with page.served(made) as site:
        browser = page.Browser(site)
        there = "/in/%s/" % other.key
        assert 'href="%s%s"' % (browser.base, there) in browser.get("/")[2]
        status, _, body = browser.get(there + "knowledge")
        assert status == 200 and "Okapi" in body and "Docker cache" not in body
        assert 'href="%s%swaiting"' % (browser.base, there) in body
        assert browser.get(there + "record/l-okapi")[0] == 200
        assert "Okapi" not in browser.get("/knowledge")[2]
        assert page.SECRET not in browser.get(there + "search?q=zebra")[2]


def test_a_project_that_is_not_there_is_said_and_no_folder_is_looked_at(pages):
    """By its exact name alone: no path, no start of a name."""
    projects = Projects(pages[0], {})
    for name in ("none", "..", "../global", pages[1].key[:-1], "", "/etc"):
        with pytest.raises(StoreError, match="there is no project"):
            projects.pages(name)
    with page.served(pages[0]) as site:
        status, _, body = page.Browser(site).get("/in/none/charts")
        assert status == 404 and "there is no project &#39;none&#39; here" in body


def test_the_menu_stands_only_where_there_is_a_choice(tmp_path):
    """One project is named and no menu."""
    place = page.stored(str(tmp_path / "home"), str(tmp_path / "project"), NOW)
    with page.served(Pages(place, vault.settings(), lambda: NOW)) as site:
        assert 'class="projects"' not in page.Browser(site).get("/")[2]
