"""What a project's manifests say of it: languages, frameworks and tools, as context tags with the
file that names each.

Read are the root and one level below it (`api/`), in a monorepo the packages too (`packages/web/`):
at most MOST manifests of LIMIT bytes, nothing behind a symbolic link, nothing is run.  Of a
manifest that is broken the name alone counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
from importlib import import_module
from itertools import islice
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from memory.core import files
from memory.core.layout import Place
from memory.hook import context
from memory.hook.context import Tag

MOST, LIMIT = 64, 1 << 18  # manifests read, bytes of each
MOST_FOLDERS, MOST_ENTRIES = 256, 10_000  # folders listed, entries looked at in each
# of a TOML file: tomllib takes 8 bytes for each two parts of a key, for each line
MOST_DOTS, DOTS_AND_LINES = 200, 100_000
# folders whose folders are projects too
MONOREPO = frozenset("packages apps services libs modules crates".split())
# the begin of a path of Go: a host, and what is below it
_MODULE = re.compile(r"[\w-]+(?:\.[\w-]+)+/")
_ELSEWHERE = frozenset(
    (
        "node_modules vendor target dist build out venv env site-packages __pycache__ third_party"
    ).split()
)

# A dependency's name, in lower case with hyphens -> the tag it gives; a name that ends in `*`
# stands for all that begin so.
_DEPENDENCIES = {
    name: tag
    for tag, names in {
        "django": "django",
        "django-rest-framework": "djangorestframework",
        "flask": "flask",
        "fastapi": "fastapi",
        "starlette": "starlette",
        "aiohttp": "aiohttp",
        "pydantic": "pydantic",
        "celery": "celery",
        "sqlalchemy": "sqlalchemy",
        "alembic": "alembic",
        "numpy": "numpy",
        "pandas": "pandas",
        "pytorch": "torch pytorch",
        "tensorflow": "tensorflow",
        "scikit-learn": "scikit-learn",
        "pytest": "pytest pytest-*",
        "ruff": "ruff",
        "mypy": "mypy",
        "react": "react react-dom",
        "react-native": "react-native",
        "vue": "vue",
        "nuxt": "nuxt",
        "next": "next",
        "svelte": "svelte @sveltejs/kit",
        "angular": "@angular/core",
        "express": "express",
        "nestjs": "@nestjs/core",
        "fastify": "fastify",
        "electron": "electron",
        "tailwind": "tailwindcss",
        "vite": "vite",
        "webpack": "webpack",
        "eslint": "eslint",
        "jest": "jest ts-jest",
        "vitest": "vitest",
        "playwright": "playwright @playwright/test",
        "cypress": "cypress",
        "typescript": "typescript",
        "prisma": "prisma @prisma/client",
        "typeorm": "typeorm",
        "graphql": "graphql graphene @apollo/server @apollo/client github.com/graphql-go/graphql",
        "storybook": "storybook",
        "spring": "org.springframework* spring-boot* spring-core spring-web*",
        "hibernate": "hibernate-core org.hibernate*",
        "junit": "junit junit-jupiter* org.junit*",
        "quarkus": "io.quarkus*",
        "rails": "rails",
        "sinatra": "sinatra",
        "rspec": "rspec rspec-rails",
        "sidekiq": "sidekiq",
        "laravel": "laravel/framework",
        "symfony": "symfony/*",
        "phpunit": "phpunit/phpunit",
        "phoenix": "phoenix",
        "ecto": "ecto ecto-sql",
        "flutter": "flutter",
        "gin": "github.com/gin-gonic/gin",
        "echo": "github.com/labstack/echo",
        "fiber": "github.com/gofiber/fiber",
        "tokio": "tokio",
        "axum": "axum",
        "actix": "actix-web",
        "serde": "serde",
        "diesel": "diesel",
        "aspnet": "microsoft.aspnetcore* microsoft.net.sdk.web",
        "entity-framework": "microsoft.entityframeworkcore*",
        "xunit": "xunit",
        "postgres": (
            "psycopg psycopg2 psycopg2-binary psycopg-binary asyncpg pg postgres tokio-postgres "
            "postgresql npgsql postgrex github.com/jackc/pgx github.com/lib/pq"
        ),
        "mysql": "mysqlclient pymysql mysql mysql2 mysql-connector-j mariadb",
        "sqlite": "better-sqlite3 sqlite3 rusqlite aiosqlite",
        "mongodb": "pymongo motor mongoose mongodb mongo",
        "elasticsearch": "elasticsearch @elastic/elasticsearch",
        "redis": (
            "redis aioredis ioredis jedis predis/predis django-redis redix "
            "github.com/redis/go-redis github.com/go-redis/redis"
        ),
        "kafka": (
            "kafka-python confluent-kafka aiokafka kafkajs kafka-clients spring-kafka rdkafka "
            "kafka github.com/ibm/sarama github.com/segmentio/kafka-go confluentinc/cp-kafka"
        ),
        "rabbitmq": "pika aio-pika amqplib bunny rabbitmq",
        "grpc": "grpcio @grpc/grpc-js tonic google.golang.org/grpc grpc-*",
        "jwt": (
            "pyjwt python-jose jose jsonwebtoken jwt ruby-jwt jjwt jjwt-* java-jwt express-jwt "
            "djangorestframework-simplejwt firebase/php-jwt github.com/golang-jwt/jwt guardian"
        ),
        "stripe": "stripe stripe/stripe-php",
        "aws": "boto3 aws-sdk @aws-sdk/* aws-cdk-lib github.com/aws/aws-sdk-go*",
        "opentelemetry": "opentelemetry-* @opentelemetry/*",
        "sentry": "sentry-sdk @sentry/*",
        "docker": "testcontainers",
        "kubernetes": "kubernetes k8s.io/client-go",
    }.items()
    for name in names.split()
}
_STARTS = tuple((name[:-1], tag) for name, tag in _DEPENDENCIES.items() if name.endswith("*"))


def project_tags(place: Place) -> Tuple[Tag, ...]:
    """Return the context tags of a place, read anew.

    From its manifests and its branch.
    """
    return context.place_tags(place, derived(place.root))


def remember(place: Place) -> None:
    """Cache a place's manifest tags for the hooks.

    Raises OSError.
    """
    context.cache_manifest_tags(place, derived(place.root))


def derived(root: str) -> Dict[str, str]:
    """Return tag -> manifest (a path below `root`) of a project.

    The file nearest to the root that names the tag.
    """
    found: Dict[str, str] = {}
    if not root:  # a workspace that is known by its private tier alone
        return found
    for path, tags, names_of in islice(_manifests(root), MOST):
        for tag in (*tags, *(_tags_of(root + "/" + path, names_of) if names_of else ())):
            found.setdefault(tag, path)
    return found


def marks(root: str) -> List[Tuple[str, int, int]]:
    """Return (path, time in ns, size) of a project's manifests.

    They differ where a manifest has changed.
    """
    found = []
    for path, _, _ in islice(_manifests(root), MOST):
        with contextlib.suppress(OSError):
            seen = os.lstat(root + "/" + path)
            found.append((path, seen.st_mtime_ns, seen.st_size))
    return found


def _tags_of(path: str, names_of: _Reader) -> List[str]:
    """Return the tags of a manifest's dependencies, [] where unreadable."""
    try:
        text = files.read(path, LIMIT, follow=False).decode("utf-8-sig", "replace")
        names = [name.lower().replace("_", "-") for name in names_of(text)]
    except (OSError, ValueError, RecursionError, ImportError):
        return []
    return [tag for name in names for tag in [_tag_of(name)] if tag]


def _tag_of(name: str) -> str:
    exact = _DEPENDENCIES.get(name) or _DEPENDENCIES.get(re.sub(r"/v\d+$", "", name), "")
    return exact or next((tag for start, tag in _STARTS if name.startswith(start)), "")


# ---- which files


def _manifests(root: str) -> Iterator[Tuple[str, Tuple[str, ...], Optional[_Reader]]]:
    """Yield (path, tags by its name, dependency reader) of each manifest."""
    folders, at = [""], 0
    while at < len(folders) and at < MOST_FOLDERS:
        folder = folders[at]
        at += 1
        names, below = _listed(root + "/" + folder)
        for name in names:
            pattern = name if name in _FILES else next((p for p in _STARRED if _fits(name, p)), "")
            if pattern:
                yield (folder + name, *_FILES[pattern])
        if not folder:
            yield from _workflows(root)
        if not folder or (folder.count("/") == 1 and folder[:-1] in MONOREPO):
            folders += [folder + name + "/" for name in below]


def _fits(name: str, pattern: str) -> bool:
    head, _, tail = pattern.partition("*")
    return name.startswith(head) and name.endswith(tail)


def _listed(folder: str) -> Tuple[List[str], List[str]]:
    """Return (files, folders that may be projects) of a folder."""
    names: List[str] = []
    below: List[str] = []
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


def _workflows(root: str) -> Iterator[Tuple[str, Tuple[str, ...], None]]:
    """Yield the folder of GitHub's workflows, if any."""
    with contextlib.suppress(OSError):
        if all(
            stat.S_ISDIR(os.lstat(root + "/.github" + part).st_mode) for part in ("", "/workflows")
        ):
            yield ".github/workflows", ("github-actions",), None


# ---- what they name


def _requirements(text: str) -> List[str]:
    """Return the names at the beginning of lines."""
    return re.findall(r"(?m)^[ \t]*(?:-[ \t]+)?([A-Za-z0-9@][\w./-]*)", text)


def _quoted(text: str) -> List[str]:
    """Return the names in quotes, without versions."""
    found = re.findall(
        r"""["']([A-Za-z@][\w./-]{0,200})(?:[:\[<>=~!; ][^"'\n]{0,200})?["']""", text
    )
    gradle = re.findall(r"""["']([\w.-]{1,200}):([\w.-]{1,200})(?::[^"'\n]{0,200})?["']""", text)
    return [
        *found,
        *(name for pair in gradle for name in pair),
        *re.findall(r"\{:(\w{1,80}),", text),
    ]


def _toml(text: str) -> List[str]:
    """Return the dependencies of pyproject.toml, Cargo.toml and Pipfile.

    Raises ValueError for a file that would take minutes or gigabytes.
    """
    lines = text.split("\n")
    dots = max(line.count(".") for line in lines)
    if dots > MOST_DOTS or dots * len(lines) > DOTS_AND_LINES:
        raise ValueError("keys of too many parts")
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return list(_in_table(toml.loads(text.replace("\r\n", "\n"))))


def _in_table(table: Dict[str, Any]) -> Iterator[str]:
    """Yield the requirements in tables and lists of dependencies."""
    for key, value in table.items():
        depends = "dependenc" in key
        if isinstance(value, list) and depends:
            yield from _required(value)
        elif isinstance(value, dict) and (depends or key in ("packages", "dev-packages")):
            for name, wanted in value.items():
                yield from _required(wanted) if isinstance(wanted, list) else (name,)
        elif isinstance(value, dict):
            yield from _in_table(value)


def _required(listed: List[Any]) -> List[str]:
    """Return the names in requirements such as `psycopg2>=2.9`."""
    return [
        found[0]
        for item in listed
        if isinstance(item, str)
        for found in [re.match(r"[A-Za-z0-9][\w.-]*", item)]
        if found
    ]


def _package(text: str) -> List[str]:
    """Return the dependencies of package.json."""
    return _keys(
        text, "dependencies", "devDependencies", "peerDependencies", "optionalDependencies"
    )


def _composer(text: str) -> List[str]:
    """Return the dependencies of composer.json."""
    return _keys(text, "require", "require-dev")


def _keys(text: str, *tables: str) -> List[str]:
    value = json.loads(text)
    value = value if isinstance(value, dict) else {}
    return [name for table in tables if isinstance(value.get(table), dict) for name in value[table]]


def _modules(text: str) -> List[str]:
    """Return the modules required by go.mod."""
    words = (line.split() for line in text.split("\n"))
    named = (line[line[0] == "require" :][:2] for line in words if line)
    return [
        pair[0] for pair in named if len(pair) == 2 and pair[1][0] == "v" and _MODULE.match(pair[0])
    ]


def _maven(text: str) -> List[str]:
    """Return the groups and artifacts of pom.xml."""
    return re.findall(r"<(?:artifactId|groupId)>\s{0,200}([\w.-]{1,200})\s{0,200}<", text)


def _nuget(text: str) -> List[str]:
    """Return the packages and the SDK of a .NET project."""
    return re.findall(r"""(?:Include|Sdk)\s{0,20}=\s{0,20}["']([\w.]{1,200})["']""", text)


def _pubspec(text: str) -> List[str]:
    """Return the dependencies of pubspec.yaml."""
    return re.findall(r"(?m)^ {2}(\w+):", text)


def _images(text: str) -> List[str]:
    """Return the images of a Compose file."""
    return re.findall(r"""(?m)^[ \t]*image:[ \t]*["']?([\w./-]+)""", text)


_Reader = Callable[[str], List[str]]
# A manifest's name, `*` once for any letters -> the tags that it gives by being there, what reads
# its dependencies.
_FILES: Dict[str, Tuple[Tuple[str, ...], Optional[_Reader]]] = {
    "pyproject.toml": (("python",), _toml),
    "requirements*.txt": (("python",), _requirements),
    "setup.cfg": (("python",), _requirements),
    "setup.py": (("python",), _quoted),
    "Pipfile": (("python",), _toml),
    "environment.yml": (("python", "conda"), _requirements),
    "tox.ini": (("python", "tox"), None),
    "package.json": (("javascript", "node"), _package),
    "tsconfig.json": (("typescript",), None),
    "deno.json": (("typescript", "deno"), None),
    "Cargo.toml": (("rust",), _toml),
    "go.mod": (("go",), _modules),
    "pom.xml": (("java", "maven"), _maven),
    "build.gradle": (("java", "gradle"), _quoted),
    "build.gradle.kts": (("kotlin", "gradle"), _quoted),
    "build.sbt": (("scala", "sbt"), _quoted),
    "Gemfile": (("ruby",), _quoted),
    "composer.json": (("php",), _composer),
    "*.csproj": (("c#", "dotnet"), _nuget),
    "*.fsproj": (("f#", "dotnet"), _nuget),
    "mix.exs": (("elixir",), _quoted),
    "pubspec.yaml": (("dart",), _pubspec),
    "Package.swift": (("swift",), None),
    "CMakeLists.txt": (("cmake",), None),
    "Makefile": (("make",), None),
    "Dockerfile*": (("docker",), None),
    "Containerfile": (("docker",), None),
    **dict.fromkeys(
        ("docker-compose*.yml", "docker-compose*.yaml", "compose*.yml", "compose*.yaml"),
        (("docker", "docker-compose"), _images),
    ),
    "*.tf": (("terraform",), None),
    "Chart.yaml": (("helm", "kubernetes"), None),
    "kustomization.yaml": (("kubernetes",), None),
    ".gitlab-ci.yml": (("gitlab-ci",), None),
    "Jenkinsfile": (("jenkins",), None),
}
_STARRED = tuple(pattern for pattern in _FILES if "*" in pattern)
