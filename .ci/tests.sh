# What `./install.sh --test` runs; install.sh reads it, and its functions are those of install.sh.

# Makes the directory of the tests' files: in memory where there is room and programs may run, since each test waits for the disk.
test_folder() {
  scratch=$(mktemp -d /dev/shm/dayleaf-tests.XXXXXX 2>/dev/null) && printf '#!/bin/sh\n' >"$scratch/probe" &&
    chmod +x "$scratch/probe" && "$scratch/probe" 2>/dev/null &&
    [ "$(df -Pk "$scratch" | awk 'NR == 2 { print $4 }')" -gt 6000000 ] && return
  remove_scratch
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/dayleaf-tests.XXXXXX")
}

# tests WORDS: pytest, from the tests' environment.  What is compiled is kept, whatever the caller's setting: each worker would
# compile all tests anew, which is more than half of what it does before its first one.
tests() {
  PYTHONDONTWRITEBYTECODE='' DAYLEAF_TEST_CACHE="$cache" "$cache/venv/bin/python" -m pytest -q -p no:cacheprovider --basetemp="$scratch/files" \
    -o tmp_path_retention_policy=failed "$@"
}

# Checks and tests in an environment of their own: outside the checkout, since the client copies a plugin's whole folder.
run_tests() {
  cache="${DAYLEAF_TEST_CACHE:-${XDG_CACHE_HOME:-${HOME:?install.sh: HOME is not set; set it or DAYLEAF_TEST_CACHE}/.cache}/dayleaf-tests}"
  step 'test environment'
  make_environment "$cache/venv" 'yaml, frontmatter, rapidfuzz, numpy, pytest, xdist, mypy' 'dependencies dev'
  add_model "$cache/venv" "$cache/embeddings.log" || say "  no model for vectors here, so its tests are skipped ($(last "$cache/embeddings.log"))"
  add "$cache/venv" playwright "$cache/browser.log" "$(requirements browser)" ||
    say "  no browser driver here, so its tests are skipped ($(last "$cache/browser.log"))"
  cd "$root"
  failed=
  step 'ruff check'
  { "$cache/venv/bin/python" -m ruff check --no-cache . && "$cache/venv/bin/python" -m ruff format --check --no-cache .; } || failed="$failed ruff"
  umask 022  # some tests run as another user, who must be able to read the copies they make
  test_folder
  step 'mypy --strict memory/'
  tests --collect-only -qq >/dev/null 2>&1 &  # compiles the tests once, beside mypy: else each worker does
  compiling=$!
  "$cache/venv/bin/python" -m mypy --strict --cache-dir "$cache/mypy" memory/ || failed="$failed mypy"
  # of the scripts that measure: names, calls and returns, so that a rename in memory/ breaks none unseen
  # shellcheck disable=SC2046  # one file a word
  MYPYPATH=evals:bench "$cache/venv/bin/python" -m mypy --config-file= --cache-dir "$cache/mypy" --scripts-are-modules \
    --ignore-missing-imports --implicit-reexport --disable-error-code=arg-type --disable-error-code=assignment \
    --disable-error-code=index --disable-error-code=misc --disable-error-code=str-format --disable-error-code=union-attr \
    --disable-error-code=var-annotated $(grep -lI '^"""' evals/* bench/* 2>/dev/null) || failed="$failed mypy-scripts"
  wait "$compiling" || :
  step 'pytest: the tests that a clock decides, one after the other'
  # shellcheck disable=SC2046  # one file a word
  tests -m alone $(find tests -name 'test_*.py' -exec grep -l 'mark\.alone' {} +) || failed="$failed pytest-alone"
  step 'pytest: all others, on every core'
  workers=$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1))  # one more than cores: tests wait for processes
  tests -m 'not alone' -n "$workers" --maxprocesses 8 --dist worksteal || failed="$failed pytest"
  [ -z "$failed" ] || die "failed:$failed"
}
