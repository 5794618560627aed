"""A newer version in the client's copy of the marketplace: found by the worker, said at one
start.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.hook import ROOT, fire, harmless, payload

import memory
from memory.health import releases


def wrote(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


@pytest.fixture
def installed(tmp_path):
    """The folder of a copy that the client made of a plugin in a git marketplace."""
    copy = tmp_path / "plugins" / "cache" / "market" / "dayleaf" / memory.__version__
    copy.mkdir(parents=True)
    for part in ("memory", "hooks"):
        (copy / part).symlink_to(ROOT / part)
    return copy


@pytest.fixture
def offer(tmp_path):
    """Give the client's copy of the marketplace a version: offer(version)."""

    def call(
        version: str, folder: str = "plugins/marketplaces/market", source: object = "./plugin"
    ) -> None:
        place = tmp_path / folder
        entry = {"name": "dayleaf", "source": source}
        wrote(
            place / ".claude-plugin" / "marketplace.json", {"plugins": [{"name": "other"}, entry]}
        )
        wrote(
            place / "plugin" / ".claude-plugin" / "plugin.json",
            {"name": "dayleaf", "version": version},
        )

    return call


def test_a_newer_version_is_said_at_one_start(installed, offer, env, project):
    """The start that finds it says nothing, the next one says it, the third nothing; a still newer
    one is said again.
    """

    def heard() -> list[str]:
        answer = fire(
            "session_start",
            payload("SessionStart", "startup", cwd=project),
            plugin=installed,
            env={**env, "CLAUDE_PROJECT_DIR": project, "DAYLEAF_RUNTIME_AUTO": "0"},
        )
        assert harmless(answer).settled
        return [line for line in answer.message.splitlines() if "claude plugin update" in line]

    offer(memory.__version__)
    assert [heard(), heard()] == [[], []]
    for version in ("9.0.0", "9.1.0"):
        offer(version)
        assert [heard(), heard(), heard()] == [
            [],
            [
                (
                    "dayleaf: version %s is available, this is %s; to update: `claude plugin "
                    "update dayleaf@market`"
                )
                % (version, memory.__version__)
            ],
            [],
        ]
    offer(memory.__version__)
    heard()
    assert not Path(env["HOME"], ".dayleaf", "log", "newer").exists()


@pytest.mark.parametrize(
    "version, newer",
    [
        ("0.2.0", True),
        ("0.10.0", True),
        ("1.0", True),
        ("0.1.0", False),
        ("0.0.9", False),
        ("0.1", False),
        ("", False),
        ("9; rm", False),
        ("９.0.0", False),
    ],
)
def test_versions_are_compared_by_their_numbers(installed, offer, version, newer):
    """What is no version is none."""
    offer(version)
    assert releases.find_newer(str(installed), "0.1.0") == (
        (version, "market") if newer else ("", "")
    )


def test_the_client_says_where_its_copy_stands(installed, offer, tmp_path):
    """By its list of marketplaces; without one, beside its other copies."""
    offer("8.0.0")
    offer("9.0.0", "elsewhere")
    wrote(
        tmp_path / "plugins" / "known_marketplaces.json",
        {"market": {"installLocation": str(tmp_path / "elsewhere")}},
    )
    assert releases.find_newer(str(installed), "0.1.0") == ("9.0.0", "market")


@pytest.mark.parametrize("source", ["../plugin", "./a/../../plugin", {"source": "url"}, None])
def test_a_plugin_outside_the_marketplace_tells_no_version(installed, offer, source):
    """Its manifest is not on this disk, or not the marketplace's."""
    offer("9.0.0", source=source)
    assert releases.find_newer(str(installed), "0.1.0") == ("", "")


def test_a_checkout_is_its_own_newest(tmp_path):
    """A folder that is read in place stands in no cache."""
    assert releases.find_newer(str(ROOT), "0.1.0") == ("", "")
