"""Context tags from a project's manifests: its languages, frameworks and tools, each with the file
that names it.

Read are the root and one level below it (`api/`), in a monorepo the packages too (`packages/web/`):
at most MOST_MANIFESTS of MANIFEST_BYTES each, nothing behind a symbolic link, nothing is run.  No
grammar is parsed: a known dependency counts where a name may stand.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import islice
from typing import Iterator

from memory.core import files
from memory.core.layout import Place
from memory.hook import context
from memory.hook.context import ContextTag

MOST_MANIFESTS, MANIFEST_BYTES = 64, 1 << 18  # manifests read, bytes of each
MOST_FOLDERS, MOST_ENTRIES = 256, 10_000  # folders listed, entries looked at in each
# folders whose folders are projects too
MONOREPO = frozenset("packages apps services libs modules crates".split())
_SKIPPED_FOLDERS = frozenset(
    "node_modules vendor target dist build out venv env site-packages __pycache__ "
    "third_party".split()
)
# A dependency's name begins a line (a key, an item, a line of go.mod), or follows a quote or colon
# (JSON, TOML, Gradle, Mix), a tag (Maven) or the key `image:`.
_NAME = re.compile(
    r"""(?m)(?:^[ \t]*(?:-[ \t]+|require[ \t]+|image:[ \t]*|\[[\w.-]*dependencies\.)?|["':>])"""
    r"([A-Za-z@][\w./-]{0,100})"
)

# dependencies whose name is the tag, in lower case with hyphens
_TAGS = (
    "django flask fastapi starlette aiohttp pydantic celery sqlalchemy alembic numpy pandas "
    "pytorch tensorflow scikit-learn pytest ruff mypy react react-native vue nuxt next svelte "
    "express fastify electron vite webpack eslint jest vitest playwright cypress typescript "
    "prisma typeorm graphql storybook junit rails sinatra rspec sidekiq phoenix ecto flutter "
    "tokio axum serde diesel xunit postgres mysql mongodb elasticsearch redis kafka rabbitmq jwt "
    "stripe kubernetes"
)
# other names of dependencies, by tag; a final `*` stands for any rest
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
_PREFIXES = tuple((name[:-1], tag) for name, tag in _DEPENDENCIES.items() if name.endswith("*"))
# manifests by the tags of a project that has one; a `*` stands for any letters
_MANIFESTS = {
    "python": "pyproject.toml requirements*.txt setup.cfg setup.py Pipfile",
    "python conda": "environment.yml",
    "python tox": "tox.ini",
    "javascript node": "package.json",
    "typescript": "tsconfig.json",
    "typescript deno": "deno.json",
    "rust": "Cargo.toml",
    "go": "go.mod",
    "java maven": "pom.xml",
    "java gradle": "build.gradle",
    "kotlin gradle": "build.gradle.kts",
    "scala sbt": "build.sbt",
    "ruby": "Gemfile",
    "php": "composer.json",
    "c# dotnet": "*.csproj",
    "f# dotnet": "*.fsproj",
    "elixir": "mix.exs",
    "dart": "pubspec.yaml",
    "swift": "Package.swift",
    "cmake": "CMakeLists.txt",
    "make": "Makefile",
    "docker": "Dockerfile* Containerfile",
    "docker docker-compose": (
        "docker-compose*.yml docker-compose*.yaml compose*.yml compose*.yaml"
    ),
    "terraform": "*.tf",
    "helm kubernetes": "Chart.yaml",
    "kubernetes": "kustomization.yaml",
    "gitlab-ci": ".gitlab-ci.yml",
    "jenkins": "Jenkinsfile",
}
_FILES = {name: tags for tags, names in _MANIFESTS.items() for name in names.split()}
_GLOBS = tuple(pattern for pattern in _FILES if "*" in pattern)
_WITHOUT_DEPENDENCIES = frozenset(  # name no dependencies
    (
        "tox.ini tsconfig.json deno.json Package.swift CMakeLists.txt Makefile Dockerfile* "
        "Containerfile *.tf Chart.yaml kustomization.yaml .gitlab-ci.yml Jenkinsfile"
    ).split()
)


def project_tags(place: Place) -> tuple[ContextTag, ...]:
    """Return the context tags of a place from its manifests and branch."""
    return context.list_place_tags(place, find_tags(place.root))


def cache_tags(place: Place) -> None:
    """Cache a place's manifest tags for the hooks; raises OSError."""
    context.write_manifest_tags(place, find_tags(place.root))


def find_tags(root: str) -> dict[str, str]:
    """Return each tag of a project with the manifest that gives it."""
    found: dict[str, str] = {}
    # no root: a workspace of a private tier alone
    for path, tags, has_names in islice(_find_manifests(root) if root else (), MOST_MANIFESTS):
        for tag in (*tags, *(_read_tags(root + "/" + path) if has_names else ())):
            found.setdefault(tag, path)
    return found


def stat_manifests(root: str) -> list[tuple[str, int, int]]:
    """Return (path, time in ns, size) of a project's manifests."""
    found = []
    for path, _, _ in islice(_find_manifests(root), MOST_MANIFESTS):
        with suppress(OSError):
            info = os.lstat(root + "/" + path)
            found.append((path, info.st_mtime_ns, info.st_size))
    return found


def _read_tags(path: str) -> list[str]:
    try:
        text = files.read(path, MANIFEST_BYTES, follow=False).decode("utf-8-sig", "replace")
    except OSError:
        return []
    return list(filter(None, map(_find_tag, extract_names(text))))


def extract_names(text: str) -> list[str]:
    return [name.lower().replace("_", "-") for name in _NAME.findall(text)]


def _find_tag(name: str) -> str:
    exact = _DEPENDENCIES.get(name) or _DEPENDENCIES.get(re.sub(r"/v\d+$", "", name), "")
    return exact or next((tag for start, tag in _PREFIXES if name.startswith(start)), "")


# ---- which files


def _find_pattern(name: str) -> str:
    return name if name in _FILES else next((p for p in _GLOBS if _matches(name, p)), "")


def _find_manifests(root: str) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield (path, tags of its name, whether it names dependencies)."""
    folders = [""]
    for folder in islice(folders, MOST_FOLDERS):  # grows meanwhile
        names, below = _list_folder(root + "/" + folder)
        for name in names:
            pattern = _find_pattern(name)
            if pattern:
                tags = tuple(_FILES[pattern].split())
                yield folder + name, tags, pattern not in _WITHOUT_DEPENDENCIES
        github = root + "/.github"
        if not folder and _is_real_folder(github) and _is_real_folder(github + "/workflows"):
            yield ".github/workflows", ("github-actions",), False
        if not folder or (folder.count("/") == 1 and folder[:-1] in MONOREPO):
            folders += [folder + name + "/" for name in below]


def _matches(name: str, pattern: str) -> bool:
    head, _, tail = pattern.partition("*")
    return name.startswith(head) and name.endswith(tail)


def _list_folder(folder: str) -> tuple[list[str], list[str]]:
    """Return (files, folders that may be projects) of a folder."""
    names: list[str] = []
    below: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for at, entry in enumerate(entries):
            if at >= MOST_ENTRIES:
                break
            if entry.is_file(follow_symlinks=False):
                names.append(entry.name)
            elif entry.name[0] == "." or entry.name in _SKIPPED_FOLDERS:
                continue
            elif entry.is_dir(follow_symlinks=False):
                below.append(entry.name)
    return sorted(names), sorted(below)


def _is_real_folder(path: str) -> bool:
    return files.is_folder(path) and not files.is_link(path)
