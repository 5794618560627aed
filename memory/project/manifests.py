"""What a project's manifests say of it: languages, frameworks and tools, as context tags with the
file that names each.

Read are the root and one level below it (`api/`), in a monorepo the packages too (`packages/web/`):
at most MOST manifests of LIMIT bytes, nothing behind a symbolic link, nothing is run.  The grammar
of no manifest is read: what stands where names stand and is a known dependency counts.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from itertools import islice
from typing import Iterator

from memory.core import files
from memory.core.layout import Place
from memory.hook import context
from memory.hook.context import Tag

MOST, LIMIT = 64, 1 << 18  # manifests read, bytes of each
MOST_FOLDERS, MOST_ENTRIES = 256, 10_000  # folders listed, entries looked at in each
# folders whose folders are projects too
MONOREPO = frozenset("packages apps services libs modules crates".split())
_ELSEWHERE = frozenset(
    "node_modules vendor target dist build out venv env site-packages __pycache__ "
    "third_party".split()
)
# What a dependency's name stands behind: a line's begin (a key, an item, a line of go.mod), a quote
# or a colon (JSON, TOML, Gradle, Mix), a tag (Maven), the key of an image.
_NAME = re.compile(
    r"""(?m)(?:^[ \t]*(?:-[ \t]+|require[ \t]+|image:[ \t]*|\[[\w.-]*dependencies\.)?|["':>])"""
    r"([A-Za-z@][\w./-]{0,100})"
)

# dependencies that are tags themselves, in lower case with hyphens
_TAGS = (
    "django flask fastapi starlette aiohttp pydantic celery sqlalchemy alembic numpy pandas "
    "pytorch tensorflow scikit-learn pytest ruff mypy react react-native vue nuxt next svelte "
    "express fastify electron vite webpack eslint jest vitest playwright cypress typescript "
    "prisma typeorm graphql storybook junit rails sinatra rspec sidekiq phoenix ecto flutter "
    "tokio axum serde diesel xunit postgres mysql mongodb elasticsearch redis kafka rabbitmq jwt "
    "stripe kubernetes"
)
# other names of dependencies, by tag; a name that ends in `*` stands for all that begin so
_NAMES = {
    "django-rest-framework": "djangorestframework",
    "pytorch": "torch",
    "pytest": "pytest-*",
    "react": "react-dom",
    "svelte": "@sveltejs/kit",
    "angular": "@angular/core",
    "nestjs": "@nestjs/core",
    "tailwind": "tailwindcss",
    "jest": "ts-jest",
    "playwright": "@playwright/test",
    "prisma": "@prisma/client",
    "graphql": "graphene @apollo/server @apollo/client github.com/graphql-go/graphql",
    "spring": "org.springframework* spring-boot* spring-core spring-web*",
    "hibernate": "hibernate-core org.hibernate*",
    "junit": "junit-jupiter* org.junit*",
    "quarkus": "io.quarkus*",
    "rspec": "rspec-rails",
    "laravel": "laravel/framework",
    "symfony": "symfony/*",
    "phpunit": "phpunit/phpunit",
    "ecto": "ecto-sql",
    "gin": "github.com/gin-gonic/gin",
    "echo": "github.com/labstack/echo",
    "fiber": "github.com/gofiber/fiber",
    "actix": "actix-web",
    "aspnet": "microsoft.aspnetcore* microsoft.net.sdk.web",
    "entity-framework": "microsoft.entityframeworkcore*",
    "postgres": (
        "psycopg psycopg2 psycopg2-binary psycopg-binary asyncpg pg tokio-postgres postgresql "
        "npgsql postgrex github.com/jackc/pgx github.com/lib/pq"
    ),
    "mysql": "mysqlclient pymysql mysql2 mysql-connector-j mariadb",
    "sqlite": "better-sqlite3 sqlite3 rusqlite aiosqlite",
    "mongodb": "pymongo motor mongoose mongo",
    "elasticsearch": "@elastic/elasticsearch",
    "redis": (
        "aioredis ioredis jedis predis/predis django-redis redix github.com/redis/go-redis "
        "github.com/go-redis/redis"
    ),
    "kafka": (
        "kafka-python confluent-kafka aiokafka kafkajs kafka-clients spring-kafka rdkafka "
        "github.com/ibm/sarama github.com/segmentio/kafka-go confluentinc/cp-kafka"
    ),
    "rabbitmq": "pika aio-pika amqplib bunny",
    "grpc": "grpcio @grpc/grpc-js tonic google.golang.org/grpc grpc-*",
    "jwt": (
        "pyjwt python-jose jose jsonwebtoken ruby-jwt jjwt jjwt-* java-jwt express-jwt "
        "djangorestframework-simplejwt firebase/php-jwt github.com/golang-jwt/jwt guardian"
    ),
    "stripe": "stripe/stripe-php",
    "aws": "boto3 aws-sdk @aws-sdk/* aws-cdk-lib github.com/aws/aws-sdk-go*",
    "opentelemetry": "opentelemetry-* @opentelemetry/*",
    "sentry": "sentry-sdk @sentry/*",
    "docker": "testcontainers",
    "kubernetes": "k8s.io/client-go",
}
_DEPENDENCIES = {
    **dict(zip(_TAGS.split(), _TAGS.split())),
    **{name: tag for tag, names in _NAMES.items() for name in names.split()},
}
_STARTS = tuple((name[:-1], tag) for name, tag in _DEPENDENCIES.items() if name.endswith("*"))
# A manifest's name, `*` once for any letters -> the tags that it gives by being there.
_FILES = {
    "pyproject.toml": "python",
    "requirements*.txt": "python",
    "setup.cfg": "python",
    "setup.py": "python",
    "Pipfile": "python",
    "environment.yml": "python conda",
    "tox.ini": "python tox",
    "package.json": "javascript node",
    "tsconfig.json": "typescript",
    "deno.json": "typescript deno",
    "Cargo.toml": "rust",
    "go.mod": "go",
    "pom.xml": "java maven",
    "build.gradle": "java gradle",
    "build.gradle.kts": "kotlin gradle",
    "build.sbt": "scala sbt",
    "Gemfile": "ruby",
    "composer.json": "php",
    "*.csproj": "c# dotnet",
    "*.fsproj": "f# dotnet",
    "mix.exs": "elixir",
    "pubspec.yaml": "dart",
    "Package.swift": "swift",
    "CMakeLists.txt": "cmake",
    "Makefile": "make",
    "Dockerfile*": "docker",
    "Containerfile": "docker",
    "docker-compose*.yml": "docker docker-compose",
    "docker-compose*.yaml": "docker docker-compose",
    "compose*.yml": "docker docker-compose",
    "compose*.yaml": "docker docker-compose",
    "*.tf": "terraform",
    "Chart.yaml": "helm kubernetes",
    "kustomization.yaml": "kubernetes",
    ".gitlab-ci.yml": "gitlab-ci",
    "Jenkinsfile": "jenkins",
}
_STARRED = tuple(pattern for pattern in _FILES if "*" in pattern)
_BARE = frozenset(  # name no dependencies
    (
        "tox.ini tsconfig.json deno.json Package.swift CMakeLists.txt Makefile Dockerfile* "
        "Containerfile *.tf Chart.yaml kustomization.yaml .gitlab-ci.yml Jenkinsfile"
    ).split()
)


def project_tags(place: Place) -> tuple[Tag, ...]:
    """Return the context tags of a place from its manifests and branch, read anew."""
    return context.place_tags(place, derived(place.root))


def remember(place: Place) -> None:
    """Cache a place's manifest tags for the hooks; raises OSError."""
    context.cache_manifest_tags(place, derived(place.root))


def derived(root: str) -> dict[str, str]:
    """Return tag -> manifest nearest to the root (a path below it) of a project."""
    found: dict[str, str] = {}
    if not root:  # a workspace that is known by its private tier alone
        return found
    for path, tags, names in islice(_manifests(root), MOST):
        for tag in (*tags, *(_tags_of(root + "/" + path) if names else ())):
            found.setdefault(tag, path)
    return found


def marks(root: str) -> list[tuple[str, int, int]]:
    """Return (path, time in ns, size) of a project's manifests."""
    found = []
    for path, _, _ in islice(_manifests(root), MOST):
        with contextlib.suppress(OSError):
            seen = os.lstat(root + "/" + path)
            found.append((path, seen.st_mtime_ns, seen.st_size))
    return found


def _tags_of(path: str) -> list[str]:
    try:
        text = files.read(path, LIMIT, follow=False).decode("utf-8-sig", "replace")
    except OSError:
        return []
    return list(filter(None, map(_tag_of, names_in(text))))


def names_in(text: str) -> list[str]:
    return [name.lower().replace("_", "-") for name in _NAME.findall(text)]


def _tag_of(name: str) -> str:
    exact = _DEPENDENCIES.get(name) or _DEPENDENCIES.get(re.sub(r"/v\d+$", "", name), "")
    return exact or next((tag for start, tag in _STARTS if name.startswith(start)), "")


# ---- which files


def _pattern_of(name: str) -> str:
    """Return the key of `_FILES` for a file's name, or ""."""
    return name if name in _FILES else next((p for p in _STARRED if _fits(name, p)), "")


def _manifests(root: str) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield (path, tags by its name, whether it names dependencies) of each manifest."""
    folders, at = [""], 0
    while at < len(folders) and at < MOST_FOLDERS:
        folder = folders[at]
        at += 1
        names, below = _listed(root + "/" + folder)
        for name in names:
            pattern = _pattern_of(name)
            if pattern:
                yield folder + name, tuple(_FILES[pattern].split()), pattern not in _BARE
        if not folder:
            yield from _workflows(root)
        if not folder or (folder.count("/") == 1 and folder[:-1] in MONOREPO):
            folders += [folder + name + "/" for name in below]


def _fits(name: str, pattern: str) -> bool:
    head, _, tail = pattern.partition("*")
    return name.startswith(head) and name.endswith(tail)


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """Return (files, folders that may be projects) of a folder."""
    names: list[str] = []
    below: list[str] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for at, entry in enumerate(entries):
            if at >= MOST_ENTRIES:
                break
            if entry.is_file(follow_symlinks=False):
                names.append(entry.name)
            elif (
                entry.is_dir(follow_symlinks=False)
                and entry.name[0] != "."
                and entry.name not in _ELSEWHERE
            ):
                below.append(entry.name)
    return sorted(names), sorted(below)


def _workflows(root: str) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    with contextlib.suppress(OSError):
        if all(
            stat.S_ISDIR(os.lstat(root + "/.github" + part).st_mode) for part in ("", "/workflows")
        ):
            yield ".github/workflows", ("github-actions",), False
