"""What a project's manifests say: languages, frameworks and tools, each with the file that names
it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from harness.manifested import PYPROJECT, put

from memory.project import manifests

NAMED = {
    "pyproject_dot_toml": (PYPROJECT, "python django postgres pytest jwt celery"),
    "requirements-dev_dot_txt": (
        "# redis\n-r other.txt\nFlask_SQLAlchemy\nSQLAlchemy>=2\nfastapi[all]==1\n",
        "python sqlalchemy fastapi",
    ),
    "setup_dot_cfg": ("[options]\ninstall_requires =\n    flask>=2\n", "python flask"),
    "setup_dot_py": (
        "setup(install_requires=['starlette>=1', \"aiohttp\"])\n",
        "python starlette aiohttp",
    ),
    "Pipfile": ('[packages]\nredis = "*"\n', "python redis"),
    "package_dot_json": (
        (
            '{"dependencies":{"react":"1","@nestjs/core":"2"},"devDependencies":{"jest":"1",'
            '"jsonwebtoken":"9"}}'
        ),
        "javascript node react nestjs jest jwt",
    ),
    "Cargo_dot_toml": (
        (
            '[dependencies]\ntokio = { version = "1", features = ["full"] }\n'
            '[dependencies.serde]\nversion = "1"\n'
        ),
        "rust tokio serde",
    ),
    "go_dot_mod": (
        (
            "module x\nrequire (\n\tgithub.com/gin-gonic/gin v1.9.0\n"
            "\tgithub.com/golang-jwt/jwt/v5 v5.0.0 // indirect\n)\n"
        ),
        "go gin jwt",
    ),
    "pom_dot_xml": (
        (
            "<project><parent><groupId>org.springframework.boot</groupId></"
            "parent><artifactId>kafka-clients</artifactId></project>"
        ),
        "java maven spring kafka",
    ),
    "build_dot_gradle_dot_kts": (
        (
            'plugins { id("org.springframework.boot") version "3" }\n'
            'implementation("org.postgresql:postgresql:42")'
        ),
        "kotlin gradle spring postgres",
    ),
    "Gemfile": ("gem 'rails', '~> 7'\ngem \"jwt\"\n", "ruby rails jwt"),
    "composer_dot_json": ('{"require":{"laravel/framework":"^10"}}', "php laravel"),
    "api_dot_csproj": (
        '<Project Sdk="Microsoft.NET.Sdk.Web"><PackageReference Include="Npgsql" /></Project>',
        "c# dotnet aspnet postgres",
    ),
    "mix_dot_exs": ('defp deps do\n [{:phoenix, "~> 1.7"}]\n', "elixir phoenix"),
    "pubspec_dot_yaml": ("dependencies:\n  flutter:\n    sdk: flutter\n", "dart flutter"),
    "docker-compose_dot_yml": (
        'services:\n  db:\n    image: postgres:16\n  q:\n    image: "redis"\n',
        "docker docker-compose postgres redis",
    ),
    "Dockerfile": ("FROM x\n", "docker"),
    "Makefile": ("all:\n", "make"),
    "main_dot_tf": ("", "terraform"),
    "_dot_github__workflows__ci_dot_yml": ("on: push\n", "github-actions"),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_manifest_gives_its_language_and_frameworks(tmp_path, name):
    """Each tag is named with the file that it comes from; words that only stand near give none."""
    text, tags = NAMED[name]
    put(tmp_path, **{name: text})
    found = manifests.find_tags(str(tmp_path))
    assert set(found) == set(tags.split()) and len(set(found.values())) == 1
    assert Path(tmp_path, next(iter(found.values()))).exists()


def test_a_monorepo_is_read_one_level_below_and_no_deeper(tmp_path):
    """Folders of the root, and those in packages, apps, services; the nearest file names a tag."""
    put(
        tmp_path,
        Makefile="",
        api__go_dot_mod="module x\n",
        packages__web__package_dot_json='{"dependencies":{"vue":"3"}}',
        services__pay__requirements_dot_txt="django\n",
        apps__one__deep__Gemfile="",
        docs__a__b__mix_dot_exs="",
        node_modules__x__composer_dot_json="{}",
        _dot_venv__pyproject_dot_toml="",
        web__package_dot_json="{}",
    )
    assert manifests.find_tags(str(tmp_path)) == {
        "make": "Makefile",
        "go": "api/go.mod",
        "javascript": "web/package.json",
        "node": "web/package.json",
        "vue": "packages/web/package.json",
        "python": "services/pay/requirements.txt",
        "django": "services/pay/requirements.txt",
    }


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff\xfe\x00{",
        b'{"dependencies":' * 5000,
        b"[project]\ndependencies = [",
        b"a" * (1 << 20),
        b'"' * 100_000,
        b"[" * 100_000,
        b"=" * 100_000,
        b"a" + b".a" * 100_000 + b" = 1",
        b"[" + b"a." * 190 + b"b]\n" + b"a.b = 1\n" * 20_000,
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        "package.json",
        "pyproject.toml",
        "go.mod",
        "pom.xml",
        "setup.py",
        "requirements.txt",
        "Cargo.toml",
    ],
)
def test_a_broken_manifest_counts_by_its_name_alone(tmp_path, name, data):
    """Whatever is in it, the answer comes, and soon."""
    (tmp_path / name).write_bytes(data)
    assert 1 <= len(manifests.find_tags(str(tmp_path))) <= 2


def test_no_link_leads_out_and_nothing_is_endless(tmp_path):
    """Links are passed over, a pipe is not waited for, and of many manifests the first 64 are
    read.
    """
    away, root = tmp_path / "away", tmp_path / "root"
    put(away, package_dot_json="{}", workflows__ci_dot_yml="")
    root.mkdir()
    (root / "package.json").symlink_to(away / "package.json")
    (root / "linked").symlink_to(away)
    (root / ".github").symlink_to(away)
    os.mkfifo(root / "Gemfile")
    assert manifests.find_tags(str(root)) == {}
    for i in range(80):
        put(
            root,
            **{
                "p%02d__Gemfile" % i: "",
                "p%02d__mix_dot_exs" % i: "" if i < 79 else "{:phoenix, 1}",
            },
        )
    assert len(manifests.stat_manifests(str(root))) == 64 and set(
        manifests.find_tags(str(root))
    ) == {
        "ruby",
        "elixir",
    }
    assert manifests.find_tags("") == manifests.find_tags(str(root / "none")) == {}
