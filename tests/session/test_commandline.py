"""Command lines cut into their simple commands, known by program and verb."""

from __future__ import annotations

import pytest

from memory.session import commandline, shell


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("python3 -m pytest -q tests", "pytest"),
        ("python -c 'import x'", "python -c"),
        ("python3.11 test_calc.py", "python test_calc.py"),
        ("FOO=1 sudo npm run build:prod", "npm run build:prod"),
        ("uv run pytest -x", "pytest"),
        ("timeout 30 cargo test --all", "cargo test"),
        ("git -C /x commit -m 'y z'", "git commit"),
        ("./gradlew test", "gradlew test"),
        ("npx vitest run", "vitest run"),
        ("docker compose up -d", "docker compose"),
        ("node scripts/x.js --y", "node x.js"),
        ("python3 /opt/dayleaf/bin/x", "dayleaf"),
        ("sed -i s/a/b/ x", "sed -i"),
        ("ls -la", "ls"),
        ("for f in *; do", ""),
        ("FOO=1", ""),
        ("timeout 60 go test ./...", "go test"),
        ("GOFLAGS=-mod=mod CGO_ENABLED=0 go test ./x", "go test"),
        ("RESULT=$(go test ./x 2>&1 | tail -3)", "go test"),
        ("BRANCH=$(git branch --show-current)", "git branch"),
        ("ROOT=$(pwd)", "pwd"),
        ("kubectl -n shop logs deploy/api --previous", "kubectl logs"),
        ("make -j 8 test", "make test"),
        ("npm --prefix web run build", "npm run build"),
        ("cargo +nightly clippy", "cargo clippy"),
        ("uv --directory api run --with x pytest -q", "pytest"),
        ("npx -y vitest run", "vitest run"),
        ("./gradlew :shop-core:test --tests '*Cart*'", "gradlew test"),
        ("git -c a=b -C x commit -m y", "git commit"),
        ("sudo -n systemctl restart x", "systemctl restart"),
        ("mvn -U clean install", "mvn clean"),
        ("make -n test", "make test"),
        ("time -p make test", "make test"),
        ("uv run --python 3.12 pytest", "pytest"),
    ],
)
def test_a_command_is_known_by_program_and_verb(command, key):
    """Wrappers, paths, assignments and options do not count, nor the value of an option."""
    assert commandline.parse_key(command) == key


def test_a_here_document_is_no_command():
    """The lines of a here-document and quoted separators do not cut a command."""
    assert commandline.split_commands(
        "cat > a.py <<'EOF'\nrm -rf /\nEOF\npytest \"a && b\"; ls"
    ) == [
        "cat > a.py <<EOF",
        'pytest "a && b"',
        "ls",
    ]


@pytest.mark.parametrize(
    ("command", "steps"),
    [
        (
            "cd x && go test 2>&1 | tail -5",
            [("", "cd x"), ("&&", "go test 2>&1"), ("|", "tail -5")],
        ),
        ("make || true; echo done", [("", "make"), ("||", "true"), (";", "echo done")]),
        (
            "X=$(git log | head -1) && npm test",
            [("", "X=$(git log | head -1)"), ("&&", "npm test")],
        ),
        ("go build ./... && \\\n  go vet", [("", "go build ./..."), ("&&", "go vet")]),
        ("# a remark\nmake", [(";", "make")]),
    ],
)
def test_a_line_is_cut_with_what_joins_its_commands(command, steps):
    """Quotes, `$(…)` and continued lines are no cuts; a line's end is one."""
    assert commandline.split_steps(command) == steps


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("go test", "test"),
        ("mise run test:ci", "test"),
        ("npm test", "test"),
        ("pytest", "test"),
        ("golangci-lint run", "lint"),
        ("mise run lint", "lint"),
        ("go vet", "lint"),
        ("npx tsc", "lint"),
        ("cargo clippy", "lint"),
        ("go build", "build"),
        ("make", "build"),
        ("mise run fmt", "format"),
        ("prettier", "format"),
        ("git commit", ""),
        ("mise run check", ""),
    ],
)
def test_what_a_command_does_is_known_by_its_name(key, kind):
    """Test, lint, build or format; a `check` may be any of them."""
    assert commandline.classify_key(key) == kind


def _task(command):
    return commandline.parse_tasks(command)[-1][1]


@pytest.mark.parametrize(
    ("command", "kind", "targets", "filters", "tags"),
    [
        (
            "go test ./cart/... -run TestTotal -count=1 -v",
            "test",
            ("cart/...",),
            ("TestTotal",),
            (),
        ),
        ("go test -tags=integration -timeout 60s ./cart", "test", ("cart",), (), ("integration",)),
        ("go test", "test", (".",), (), ()),
        (
            "cd api && pytest tests/test_a.py::test_b -k 'x or y' 2>&1",
            "test",
            ("tests/test_a.py::test_b",),
            ("x or y",),
            (),
        ),
        ("npm test -- --testNamePattern=cart", "test", (), ("cart",), ()),
        ("npx eslint src", "lint", ("src",), (), ()),
        ("golangci-lint run ./cart/...", "lint", ("cart/...",), (), ()),
        ("mise run test:slow -- -run TestOne", "test", (), ("TestOne",), ("slow",)),
        ("make check", "all", (), (), ()),
        ("make", "build", (), (), ()),
        ("cargo build --release", "build", (), (), ()),
        ("git push origin main", "", ("origin", "main"), (), ()),
    ],
)
def test_a_task_has_a_kind_targets_filters_and_tags(command, kind, targets, filters, tags):
    """Options and redirections aside."""
    task = _task(command)
    assert (task.kind, task.targets, task.filters, task.tags) == (kind, targets, filters, tags)


@pytest.mark.parametrize(
    ("wide", "narrow", "covered"),
    [
        ("go test ./...", "go test ./cart", True),
        ("go test ./cart", "go test ./...", False),
        ("go test ./api", "go test ./api/limits", False),
        ("go test ./api/...", "go test ./api/limits", True),
        ("go test ./... -run TestTotal", "go test ./cart -run TestTotal", True),
        ("npm test", "npx vitest run src/a.test.ts", False),
        ("make lint", "ruff check src", True),
        ("make check", "mise run lint", True),
        ("mise run test", "mise run test:ci", False),
        ("npm run ci", "npm test", True),
        ("go test ./... -run 'TestTotal$'", "go test ./cart -run TestTotalCents", False),
        ("pytest", "pytest tests/test_a.py -k x", True),
        ("pytest tests", "pytest tests/test_a.py::test_b", True),
        ("pytest tests/test_a.py", "pytest tests", False),
        ("npx vitest run", "go test ./...", False),
        ("cargo test", "cargo test -p store", True),
        ("cargo test -p store", "cargo test", False),
        ("cd web && npm test", "cd api && npm test", False),
        ("make lint", "go test ./...", False),
        ("go build ./...", "go build ./cmd/app", True),
        ("npm ci", "npm test", False),
    ],
)
def test_one_command_covers_another_where_it_tries_all_of_it(wide, narrow, covered):
    """The same target, a superset, the whole, by the same program or a script."""
    assert commandline.covers(_task(wide), _task(narrow)) is covered


def test_a_pipe_proves_only_what_it_was_judged_by():
    """Strictly; what a chain without one came through all passed."""
    chain = shell.Run(
        "1", "mise run lint | tail -3 && mise run test | tail -9", "mise run test", "passed"
    )
    assert [task.kind for task in commandline.find_passed_tasks(chain)] == ["lint", "test"]
    assert [task.kind for task in commandline.find_passed_tasks(chain, strict=True)] == ["test"]
    assert [
        t.kind
        for t in commandline.find_passed_tasks(
            shell.Run("1", "make lint; make test", "make test", "passed")
        )
    ] == ["test"]
