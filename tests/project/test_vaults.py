"""Notes as other tools keep them: vaults, sites, and the stores and exports of other memories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.core import clock, layout
from memory.store.store import Store

HUGO = """+++
title = "Walrus \\"ingress\\" timeouts"
date = 2024-03-05T10:00:00+01:00
tags = [
  "ops",  # the team's
  'proxy',
]
weight = 3
[params]
title = "not this"
+++

Raise the proxy read timeout.
"""
NOTES = {
    "content/post/ingress-2.md": HUGO,
    "content/post/heron.md": "---\ntitle: 'Heron: a deploy'\ndate: 2024-04-06 07:08:09 +0200\n"
    "draft: true\n---\nRun the script.\n",
    "_posts/2023-02-03-otter-cache.markdown": '---\nlayout: post\ntitle: "Otter keys"\n---\nNew.\n',
    "_posts/2023-02-04-badger-queue.md": "---\nlayout: post\n---\nThey wait in line.\n",
    "rules/lynx-style.mdc": "---\ndescription: d\nglobs: '*.tsx'\n---\nUse named exports.\n",
    "Templates/Stoat daily.md": "# {{title}}\n\n<% tp.date.now() %>\n",
    "Weasel.md": "---\nalias: mustela\n---\nIt is small.\n",
    "Marten.md": "---\naliases: [pine marten]\n---\nIt eats at night. [[heron]]\n",
}
# what is asked for by: the title and the day that are found first
CALLED = {
    "ingress 2": ('Walrus "ingress" timeouts', "2024-03-05"),
    "heron": ("Heron: a deploy", "2024-04-06"),
    "otter cache": ("Otter keys", "2023-02-03"),
    "badger queue": ("badger queue", "2023-02-04"),
    "lynx style": ("lynx style", ""),
    "pine marten": ("Marten", ""),
    "mustela": ("Weasel", ""),
}


def written(folder: Path, notes: dict[str, str]) -> Path:
    """Write files by their names below a folder."""
    for name, text in notes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def records(place, settings):
    """The private records by their titles."""
    return {record.title: record for record in Store(place, settings, 0.0).each()}


@pytest.fixture
def brought(place, ok, run, tmp_path):
    """Import a folder of notes: brought(notes) -> (what was printed, records by title)."""
    from harness.vault import settings

    def call(notes):
        said = ok("import", "dir", str(written(tmp_path / "notes", notes)))
        assert "WARN  records" not in run("doctor").stdout
        return said, records(place, settings())

    return call


@pytest.mark.parametrize("way", ["tier", "import"])
def test_a_note_is_found_by_its_files_name(way, ok, tmp_path):
    """First of all, with its title and its day, whether it is read in place or imported."""
    vault = written(tmp_path / "vault", NOTES)
    ok("tier", "add", str(vault)) if way == "tier" else ok("import", "dir", str(vault))
    for asked, (title, day) in CALLED.items():
        first = json.loads(ok("recall", asked, "--json"))["hits"][0]
        assert first["title"] == title, asked
        assert first["created"].startswith(day), asked


@pytest.mark.parametrize("way", ["tier", "import"])
def test_a_note_is_found_by_its_folders_names(way, ok, tmp_path):
    """At any depth, in any language; a note that says the word itself stands first."""
    notes = {
        "Clients/Acme/March call.md": "The renewal is due in March.\n",
        "Projekte/Umzug_Büro/2024/Kisten.md": "Kartons bestellen.\n",
        "日本語/請求書/三月.md": "毎月。\n",
        "Other/said.md": "Acme called about the renewal.\n",
    }
    vault = written(tmp_path / "vault", notes)
    ok(*{"tier": ("tier", "add"), "import": ("import", "dir")}[way], str(vault))
    found = {
        query: [hit["title"] for hit in json.loads(ok("recall", query, "--json"))["hits"]]
        for query in ("acme", "umzug", "büro kisten", "請求書", "clients acme renewal")
    }
    assert found["acme"] == ["said", "March call"]
    assert found["umzug"] == found["büro kisten"] == ["Kisten"]
    assert found["請求書"] == ["三月"] and "March call" in found["clients acme renewal"]


def test_templates_of_an_added_folder_are_not_found(ok, tmp_path):
    """By their fields outside code, or by the folder in which the vault says it keeps them."""
    plain = {
        "Templates/Habits.md": "- [ ] Feed the stoat\n",
        "meta/plans/Week.md": "- [ ] Count the stoats\n",
        "Stoat day.md": "## Log of the stoat, {{date:YYYY-MM-DD}}\n",
        "Stoat sum.md": "Stoats: <%* tp.file.title %>\n",
    }
    kept = {
        "Stoat pages.md": "A stoat writes `{{title}}` in a page of Jinja.\n",
        "Stoat code.md": "The stoat's page:\n\n```\n<h1>{{ title }}</h1>\n```\n",
        "Stoat fields.md": "The stoat is in {{ cookiecutter.den }}.\n",
        "Templates.md": "How the stoat makes a note of a template.\n",
    }
    settings = {
        ".obsidian/templates.json": '{"folder": "Templates"}',
        ".obsidian/plugins/templater-obsidian/data.json": '{"templates_folder": "/meta/plans/"}',
    }
    ok("tier", "add", str(written(tmp_path / "vault", {**plain, **kept, **settings})))
    for asked in ("stoat stoats", ""):
        hits = json.loads(ok("recall", *asked.split(), "--kind", "resource", "--json"))["hits"]
        assert sorted(hit["name"].rpartition("/")[2] for hit in hits) == sorted(kept), asked
    assert "Feed" not in ok("recall", "feed", "--json")


@pytest.mark.parametrize("settings", ["", "[1]", '{"folder": 7}', '{"folder": " / "}'])
def test_broken_settings_of_a_vault_hide_nothing(ok, tmp_path, settings):
    vault = {"Stoat.md": "A stoat.\n", ".obsidian/templates.json": settings}
    ok("tier", "add", str(written(tmp_path / "vault", vault)))
    assert json.loads(ok("recall", "stoat", "--json"))["hits"]


def test_a_template_is_no_note(brought):
    """It is named, with what to do, and its placeholders are no title."""
    said, found = brought(NOTES)
    assert "skipped Templates/Stoat daily.md: a template" in said
    assert len(found) == len(NOTES) - 1 and not any("{{" in title for title in found)


def test_goldfishs_store_keeps_kinds_confidence_and_dates(brought):
    """A first heading in capitals names nothing; a brief is a plan."""
    said, found = brought(
        {
            ".memories/2026-04-17/190013_da68.md": "---\nid: checkpoint_da684810\n"
            "timestamp: 2026-04-17T19:00:13.271Z\ngit:\n  branch: main\n  commit: 3cbad7c\n"
            "  files:\n    - src/git.ts\nsummary: WHAT\ntype: checkpoint\nconfidence: 5\n---\n\n"
            "## WHAT\n\nPrepared the release of the heron.\n\n## WHY\n\nTypes failed.\n",
            ".memories/2026-04-18/200013_aa68.md": "---\nid: checkpoint_aa684810\n"
            "timestamp: 2026-04-18T20:00:13.271Z\nsummary: Chose the marten queue\n"
            "type: decision\nconfidence: 2\n---\n\nOtters retry.\n",
            ".memories/briefs/sprint.md": "---\nid: sprint\ntitle: Sprint\nstatus: active\n"
            "created: 2026-04-16T10:00:00.000Z\n---\n\nSubtract.\n",
        }
    )
    assert "3 new" in said and "trouble" not in said
    release = found["Prepared the release of the heron."]
    assert (release.kind, release.confidence) == ("checkpoint", "high")
    assert clock.iso(release.created) == "2026-04-17T19:00:13Z"
    assert release.meta["branch"] == "main" and release.meta["files"] == ["src/git.ts"]
    assert found["Chose the marten queue"].confidence == "low"
    assert found["Sprint"].kind == "plan"


def test_basic_memorys_notes_are_learnings_with_their_links(brought):
    """Its `type: note` is no note of dayleaf's; a confidence is a share, a source a word."""
    said, found = brought(
        {
            "auth/Token design.md": "---\ntitle: Token design\ntype: note\n"
            "permalink: auth/token-design\ntags:\n- auth\nsource: wikipedia\nconfidence: 0.9\n"
            "created: 2026-03-01 10:00:00+00:00\n---\n\n# Token design\n\n"
            "- [decision] Tokens are stateless #security\n\n- implements [[Api rules]]\n",
            "auth/Api rules.md": "---\ntitle: Api rules\ntype: note\n---\n\nLimit the rate.\n",
        }
    )
    assert "2 new" in said and "trouble" not in said
    design = found["Token design"]
    assert (design.kind, design.confidence) == ("learning", "high")
    assert clock.day(design.created) == "2026-03-01"
    assert [target for _, target in design.links] == ["Api rules"]


def test_only_in_an_added_folder_does_a_file_end_otherwise(place):
    """dayleaf's own records end in `.md`."""
    assert layout.is_record("a.mdc", layout.record_suffixes("a/x/a.mdc"))
    assert not layout.is_record("a.mdc", layout.record_suffixes("p/learnings/a.mdc"))
