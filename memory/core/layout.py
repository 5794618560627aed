"""Where things live: dayleaf's home, the workspace of a directory, the tiers, the cache.

A workspace is named `<name>-<8 hex>`.  The hex digits are the SHA-256 of the normalised git remote;
without one, of the real path of the main git root (worktrees and subdirectories share it); outside
git, of the directory.  Never a basename alone, so two clones named `api` do not share memories.
`.git` is read as files: no git process, nothing configured runs.

A remote, or a `.git` that lies elsewhere, is only a claim: anybody can write it.  It is believed
where `<home>/places.jsonl` has the path with that workspace; else the directory has a workspace of
its own until `adoption` finds a proof.

The past comes first: a path that was seen with the workspace of a remote keeps it when that remote
changes, goes, or is spelt otherwise, as long as the repository there is still the one with that
commit.  What a person decided holds whatever `.git` says.

Schema, version 1, of `places.jsonl`, one line a path:
{"v":1,"t":"<UTC>","key":"<workspace>","path":"<anchor>","by":"first", "commit":"<HEAD>"}; by:
`first` (the workspace was made there, or a worktree of it), `commit` (it holds a known one) or
`person`.  From a backup, without a path:
{"v":1,"t":"<UTC>","named":"<name by its remote>","key":"<workspace>","by":"restore","commit":""};
what a person declined: {"v":1,"t":"<UTC>","declined":"<workspace>","at":"<anchor>"}.
"""

from __future__ import annotations

from memory.core import IndexFault, StoreAway, UsageError, fastjson, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Tuple

# Folder of each kind, in the order in which kinds are shown.
FOLDERS = {
    "rule": "rules",
    "learning": "learnings",
    "plan": "plans",
    "resource": "resources",
    "checkpoint": "checkpoints",
    "conversation": "conversations",
    "note": "notes",
}
# kinds with a folder a day, of which there are many
DATED_KINDS = ("checkpoint", "conversation", "note")
TRANSCRIBED_KINDS = ("conversation", "note")  # kinds that tell what was said, for their user alone
# branches on which each session is work of its own
TRUNKS = ("", "main", "master", "trunk", "develop", "HEAD")
PRIVATE, SHARED, GLOBAL, ADDED = "p", "s", "g", "a"
TIER_NAMES = {PRIVATE: "private", SHARED: "shared", GLOBAL: "global", ADDED: "added"}
PLACES, PLACES_LIMIT = "/places.jsonl", 4 << 20
LOG_LIMIT = 4 << 20  # bytes of HEAD's log
CONFIG_BYTES = 1 << 18  # of a git configuration
# Hosts whose paths do not tell upper from lower case.
CASELESS_HOSTS = (
    "github.com",
    "gitlab.com",
    "bitbucket.org",
    "codeberg.org",
    "gitea.com",
    "dev.azure.com",
)
# Hosts of the same repositories: their ssh on the port of https, and what a browser shows.
HOST_ALIASES = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
MOVING = "/.moving"  # in the private tier: a record is on its way to the other one
OFFER_MESSAGE = "this may be %s: if it is yours, run `dayleaf store workspace claim` in a terminal"
RECEIPTS = "/log/receipts/"  # below the home: a folder for each workspace with a session
OFFERED = "/offered"  # below a cache: the workspace that a commit here is of, "" for none
REMOTE = "/remote-"  # below a cache: the user has heard that the remote gives this name
# below a cache: nothing proves that the directory is the project that it claims to be
UNPROVED = "/unproved"


def is_kind_allowed(kind: str, tier: str) -> bool:
    """Tell whether a tier may hold a kind of record."""
    return kind not in TRANSCRIBED_KINDS or tier == PRIVATE


def plugin_folder() -> str:
    """Return the folder of the running dayleaf, which holds `memory` and install.sh."""
    return __file__.replace("\\", "/").rpartition("/memory/")[0]


# puts `dayleaf` of a copy on a terminal's path; to be filled with the copy's folder
LINK_COMMAND = (
    "mkdir -p ~/.local/bin && ln -sf '%s/bin/dayleaf' ~/.local/bin/dayleaf; if the shell still "
    'does not find it: export PATH="$HOME/.local/bin:$PATH"'
)
# how the files of notes end in folders that other tools keep; a record of dayleaf's ends in `.md`
NOTE_SUFFIXES = (".md", ".markdown", ".mdc")


def record_suffixes(name: str) -> Tuple[str, ...]:
    """Return the possible endings of an indexed file's name."""
    return NOTE_SUFFIXES if name[:1] == ADDED else (".md",)


def is_record(name: str, ends: Tuple[str, ...] = (".md",)) -> bool:
    """Tell whether a file's name is a record's.

    Not hidden, no copy made by an editor or synchroniser.  ends: its possible endings.
    """
    return (
        name.endswith(ends)
        and name[0] not in ".#"
        and not (
            "onflict" in name  # such as `x (Anna's conflicted copy 2026-11-28).md`
            and (
                ".sync-conflict-" in name
                or "conflicted copy" in name.partition("(")[2].partition(")")[0].lower()
            )
        )
    )


class Place:
    """A workspace as seen from a directory.

    home: dayleaf's directory.
    key: the workspace's name.
    project: the directory given.
    root, git: root of the surrounding checkout and its git directory; the directory itself and ""
    outside git.
    private, shared, everyone: the tiers' directories (`shared` is "" where there is none to be).
    cache: directory of derived files.
    scope: 8 hex naming the set of tiers, since worktrees share a workspace but not their shared
    tier.
    due: the name that `adoption` should give this workspace since its repository has a remote, or
    "".
    anchor: the path that a claim is believed of: the main root for its worktrees, else the root.
    claimed: the workspace that is claimed and not believed.
    named: the workspace's name by its remote, else by its path.
    """

    def __init__(
        self,
        home: str,
        key: str,
        project: str,
        root: str,
        git: str,
        shared: str,
        due: str = "",
        anchor: str = "",
        claimed: str = "",
        named: str = "",
    ):
        self.due, self.anchor, self.claimed = due, anchor or root, claimed
        self.named = named or key
        self.home, self.key, self.project = home, key, project
        self.root, self.git, self.shared = root, git, shared
        self.private = home + "/workspaces/" + key
        self.everyone = home + "/global"
        self.cache = home + "/cache/" + key
        self.scope = files.sha256("\n".join((key, shared)).encode("utf-8", "surrogateescape"))[:8]

    def tiers(self) -> List[Tuple[str, str]]:
        """Return (letter, directory) of each tier in scope."""
        pairs = [(PRIVATE, self.private), (SHARED, self.shared), (GLOBAL, self.everyone)]
        return [(letter, folder) for letter, folder in pairs if folder]

    def folder(self, tier: str, kind: str) -> str:
        """Return the directory of a kind in a tier (`p`, `s`, `g`)."""
        return dict(self.tiers())[tier] + "/" + FOLDERS[kind]

    def path(self, name: str) -> str:
        """Return the absolute path of a record or tier.

        name: such as `p/learnings/x.md`, or a tier's letter.  Raises IndexFault for other names.
        """
        root = dict(self.tiers()).get(name[:1])
        if root is None or name[1:2] not in ("", "/") or "/../" in name + "/" or "\0" in name:
            raise IndexFault(
                "'%s' names no record; `dayleaf index build` makes a new index" % name[:200]
            )
        return root + name[1:]

    def holds(self, name: str) -> bool:
        """Tell whether a file or folder, links resolved, lies in its tier.

        The shared tier must lie in the repository too: a cloned repository whose `.dayleaf`, or a
        folder in it, is a link would pass off other files as shared.
        """
        root = dict(self.tiers()).get(name[:1], "")
        if not root or not files.is_inside(root + name[1:], root):
            return False
        return name[:1] != SHARED or files.is_inside(root, self.root)

    def open(self, name: str) -> int:
        """Open a record's file for reading and return its descriptor.

        Raises OSError, also where the file lies outside its tier or its name is no record's.
        """
        path = self.path(name)
        if not is_record(name[name.rfind("/") + 1 :], record_suffixes(name)):
            raise OSError(1, "not a record's name", path)
        if name[:1] != SHARED:
            try:
                # resolving every part costs 30 us, and these tiers are the user's own
                return files.open_read(path, follow=False)
            except OSError:
                if not files.is_link(path):
                    raise
        if not self.holds(name):
            raise OSError(1, "a link out of the store", path)
        return files.open_read(path)

    def read(self, name: str, limit: int) -> Tuple[bytes, Any]:
        """Return (bytes of a record's file, its stat); raises as `open`."""
        fd = self.open(name)
        try:
            # before the bytes: a write in between then shows
            stat = files.posix.fstat(fd)
            return files.read_fd(fd, min(limit, stat.st_size)), stat
        finally:
            files.posix.close(fd)

    @property
    def receipts_folder(self) -> str:
        return self.home + RECEIPTS + self.key

    def receipts(self, session: str) -> str:
        return self.receipts_folder + "/" + session + ".jsonl"

    def misled(self) -> List[str]:
        """Return the paths of the workspace's and the global list of misleading records."""
        return [self.cache + "/misled", self.home + "/cache/global/misled"]


def find_home(env: Dict[str, str]) -> str:
    """Return dayleaf's directory.

    Raises UsageError without any home, StoreAway where it or its notes are on a lost disk.
    """
    given = env.get("DAYLEAF_HOME", "")
    if given:
        if not (given.startswith("/") or given[1:2] == ":"):
            raise UsageError("DAYLEAF_HOME must be an absolute path, not '%s'" % given)
        return _resolve_home(given.replace("\\", "/").rstrip("/"))
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    if not user:
        try:
            import pwd

            user = pwd.getpwuid(files.posix.getuid()).pw_dir
        except (ImportError, KeyError, AttributeError):
            raise UsageError("no HOME: set HOME or DAYLEAF_HOME") from None
    return _resolve_home(user.replace("\\", "/").rstrip("/") + "/.dayleaf")


def _resolve_home(path: str) -> str:
    home = files.real_path(path)
    if home != path and not files.exists(home):
        at = path.find("/", 1)
        while at > 0:
            refuse_lost(path[:at])
            at = path.find("/", at + 1)
        refuse_lost(path)
    refuse_lost(home + "/workspaces")
    refuse_lost(home + "/global")
    return home


def refuse_lost(path: str) -> None:
    """Raise StoreAway for a link to an absent place, such as an unmounted disk.

    Behind it a new store would be made, and hide or be hidden by the one that comes back.
    """
    if files.is_link(path) and not files.exists(path):
        raise StoreAway(
            "%s leads to %s, which is not there, so nothing is kept or recalled; bring it back "
            "(is a disk not mounted?), or remove the link to begin anew"
            % (path, files.real_path(path))
        )


def locate(env: Dict[str, str], directory: str) -> Place:
    """Return the workspace of a directory; raises UsageError without any home.

    directory: absolute.
    """
    base = find_home(env)
    project = files.real_path(directory.replace("\\", "/").rstrip("/") or "/")
    root, git = find_git(project)
    root = root or project
    common = find_common_git(git) if git else ""
    remote = _choose_remote(base, common, env)
    main = common.removesuffix("/.git") if git else find_lost_checkout(root)
    anchor = _find_anchor(root, git, common)
    origin = remote or main
    named = workspace_name(origin or project)
    if main and not git:  # a worktree whose main checkout is gone
        named = _read_last_workspace(base, main)[0] or named
    key = _find_kept_workspace(base, named, anchor, git, common)
    due = claimed = ""
    if not key:
        is_moved = origin not in ("", anchor)
        key, due, claimed = _choose_workspace(base, named, remote, is_moved, root, git, anchor)
    shared = root + "/.dayleaf"
    return Place(
        base, key, project, root, git, "" if shared == base else shared, due, anchor, claimed, named
    )


def _has_workspace(base: str, key: str) -> bool:
    return files.is_folder(base + "/workspaces/" + key)


def _choose_remote(base: str, common: str, env: Dict[str, str]) -> str:
    """Return the first spelling of a remote that has a workspace.

    Else the first spelling.
    """
    urls = list_remote_spellings(common, env) if common else []
    first = urls[0] if urls else ""
    return next((url for url in urls if _has_workspace(base, workspace_name(url))), first)


def _choose_workspace(
    base: str, named: str, remote: str, is_moved: bool, root: str, git: str, anchor: str
) -> Tuple[str, str, str]:
    """Return a path's (workspace, planned workspace, unproved workspace).

    The planned one is to be taken over by `adoption`; the unproved one waits for `workspace claim`.
    named: the workspace that the path would have now.
    is_moved: whether another checkout or a remote names it.
    """
    own = workspace_name(anchor)
    if _is_new_remote(base, named, remote) and is_own_checkout(root, git, anchor):
        # The repository got its remote after its first notes: they count until `adoption` has moved
        # them.
        return own if _has_workspace(base, own) else named, named, ""
    if is_moved and not is_known_path(base, named, anchor):
        return own, "", named if _has_workspace(base, named) else ""
    return named, "", ""


def _find_kept_workspace(base: str, named: str, anchor: str, git: str, common: str) -> str:
    """Return a path's last workspace if it still counts, or ""."""
    past, commit, by = _read_last_workspace(base, anchor)
    if past in ("", named) or not _has_workspace(base, past):
        return ""
    if by == "person":
        return past
    own = workspace_name(anchor)
    if past == own:
        return ""
    kept = _has_commit(git, common, commit) if git else not _has_workspace(base, own)
    return past if kept else ""


def _is_new_remote(base: str, key: str, remote: str) -> bool:
    """Tell whether a remote is no local folder and has no workspace yet."""
    if not remote or _has_workspace(base, key):
        return False
    return remote[0] != "/" or not files.is_folder(remote)


def find_lost_checkout(root: str) -> str:
    """Return the main checkout named by a broken `.git` file, or ""."""
    line = read_first_line(root + "/.git")
    target = line[7:].strip() if line.startswith("gitdir:") else ""
    main, _, name = target.partition("/.git/worktrees/")
    return _resolve(root, main) if name else ""


def _find_anchor(root: str, git: str, common: str) -> str:
    """Return the root of a worktree's main checkout, else `root`."""
    # The main repository must itself list the checkout as its worktree.
    if git == common or not git.startswith(common + "/worktrees/"):
        return root
    back = _resolve(git, read_first_line(git + "/gitdir"))
    return common.removesuffix("/.git") if back == root + "/.git" else root


def is_own_checkout(root: str, git: str, anchor: str) -> bool:
    """Tell whether a checkout's git objects are its own.

    They lie in the checkout, or in a repository that surrounds it or lists it as a worktree.
    """
    if not git:
        return False
    if anchor != root:
        return True
    common = files.real_path(find_common_git(git))
    if common.startswith(root + "/"):
        return True
    holder, git_folder, _ = (common + "/").partition("/.git/")
    return bool(holder and git_folder) and (root + "/").startswith(holder + "/")


def format_place_row(key: str, path: str) -> str:
    """Format the key and path of a `places.jsonl` line."""
    return '"key":%s,"path":%s' % (fastjson.quote(key), fastjson.quote(path))


def is_known_path(base: str, key: str, path: str) -> bool:
    """Tell whether a path was seen with a workspace before."""
    return format_place_row(key, path).encode("ascii") in _read_places(base)


def _read_places(base: str) -> bytes:
    try:
        return files.read(base + PLACES, PLACES_LIMIT)
    except OSError:
        return b""


def read_place_rows(base: str) -> List[Dict[str, Any]]:
    return fastjson.parse_rows(_read_places(base))


def list_known_paths(place: Place) -> List[str]:
    rows = (row for row in read_place_rows(place.home) if row.get("key") == place.key)
    return [row["path"] for row in rows if isinstance(row.get("path"), str)]


def find_workspace_at(rows: List[Dict[str, Any]], path: str, instant: str) -> str:
    """Return the workspace of a path at an instant, or "".

    rows: of `places.jsonl`.  instant: as written there.
    """
    here = [row for row in rows if row.get("path") == path]
    before = [row for row in here if str(row.get("t")) <= instant]
    row = (before or here[:1] or [{}])[-1]
    return str(row.get("key") or "")


def format_remote_row(named: str, key: str) -> str:
    """Format the name and key of a `places.jsonl` line from a backup."""
    return '"named":%s,"key":%s' % (fastjson.quote(named), fastjson.quote(key))


def explain_relation(place: Place, key: str) -> str:
    """Return the verb that relates a place to another workspace.

    For a message: `was seen as`, `has the remote of` or `holds a commit of`.
    """
    if is_known_path(place.home, key, place.anchor):
        return "was seen as"
    if format_remote_row(place.named, key).encode("ascii") in _read_places(place.home):
        return "has the remote of"
    return "holds a commit of"


def format_offer(place: Place, key: str) -> str:
    return (
        "this repository %s %s, whose memory is not shown here; if it is the same project, run "
        "`dayleaf store workspace claim` in a terminal" % (explain_relation(place, key), key)
    )


def find_other_remote(place: Place) -> str:
    """Return the workspace that a place's remote names if it keeps another, else ""."""
    if place.due or place.claimed or place.named in (place.key, workspace_name(place.anchor)):
        return ""
    return place.named if place.git else ""


def find_unproved(place: Place) -> str:
    """Return the workspace that a place claims, or is offered by its commit, or ""."""
    key = place.claimed or slug(read_first_line(place.cache + OFFERED), 60)
    folders = (place.home + folder + key for folder in ("/workspaces/", RECEIPTS))
    return key if key and any(map(files.is_folder, folders)) else ""


def _read_last_workspace(base: str, path: str) -> Tuple[str, str, str]:
    """Return a path's last (workspace, commit, by), or three ""."""
    data = _read_places(base)
    named = ('"path":%s,' % fastjson.quote(path)).encode("ascii")
    at = data.rfind(named)
    if at < 0:
        return "", "", ""
    line = data[data.rfind(b"\n", 0, at) + 1 :].partition(b"\n")[0]
    row = (fastjson.parse_rows(line) or [{}])[0]
    key, commit, by = (
        value if isinstance(value, str) else "" for value in map(row.get, ("key", "commit", "by"))
    )
    return key, commit, by


def _has_commit(git: str, common: str, commit: str) -> bool:
    """Tell whether a repository has a commit: loose, in its log or in a pack."""
    if not commit:
        return True
    loose = files.list_folder("%s/objects/%s" % (common, commit[:2]))
    if any(name.startswith(commit[2:]) for name in loose):
        return True
    try:
        if commit.encode("ascii", "replace") in files.read(git + "/logs/HEAD", LOG_LIMIT):
            return True
    except OSError:
        pass
    packs = common + "/objects/pack/"
    names = files.list_folder(packs)
    return any(_is_packed(packs + name, commit) for name in names if name.endswith(".idx"))


def _is_packed(path: str, prefix: str) -> bool:
    """Tell whether a pack's index names an object."""
    try:
        fd = files.open_read(path, follow=False)
    except OSError:
        return False
    try:
        # behind 8 bytes: how many objects there are up to each first byte
        head, first = files.read_at(fd, 1032, 0), int(prefix[:2], 16)
        low = int.from_bytes(head[4 + 4 * first : 8 + 4 * first], "big") if first else 0
        high = int.from_bytes(head[8 + 4 * first : 12 + 4 * first], "big")
        return head[:4] == b"\xfftOc" and bool(find_in_pack(fd, low, high, prefix))
    except (OSError, ValueError):
        return False
    finally:
        files.posix.close(fd)


def find_in_pack(fd: int, low: int, high: int, prefix: str) -> List[Tuple[str, int]]:
    """Return (hash, position) of at most two objects with a prefix.

    fd: of the index, version 2.  low, high: the positions with the prefix's first byte.
    prefix: hex digits, two at least.
    """
    wanted, end = bytes.fromhex(prefix.ljust(40, "0")), high
    while low < high:
        middle = (low + high) // 2
        if files.read_at(fd, 20, 1032 + 20 * middle) < wanted:
            low = middle + 1
        else:
            high = middle
    block = files.read_at(fd, 20 * max(0, min(2, end - low)), 1032 + 20 * low).hex()
    pairs = [(block[at : at + 40], low + at // 40) for at in range(0, len(block), 40)]
    return [pair for pair in pairs if pair[0].startswith(prefix)]


def workspace_name(source: str) -> str:
    """Return the name of a workspace by its remote or directory."""
    name = slug(source.rstrip("/").rpartition("/")[2]) or "root"
    return name + "-" + files.sha256(source.encode("utf-8", "surrogateescape"))[:8]


def find_git(directory: str) -> Tuple[str, str]:
    """Return (root of the checkout, its git directory) around a directory.

    ("", "") outside git; no git directory where a `.git` file leads nowhere.
    """
    at = directory
    while True:
        dot = at.rstrip("/") + "/.git"
        if files.is_folder(dot):
            return at or "/", dot
        try:
            text = files.read(dot, 4096).decode("utf-8", "surrogateescape")
        except OSError:
            text = ""
        if text.startswith("gitdir:"):
            git = _resolve(at, text[7:].strip())
            return at, git if files.is_folder(git) else ""
        if not at.strip("/"):
            return "", ""
        at = at.rpartition("/")[0]


def find_common_git(git: str) -> str:
    """Return the git directory shared by all worktrees."""
    try:
        target = files.read(git + "/commondir", 4096).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return git
    return _resolve(git, target)


def _resolve(folder: str, path: str) -> str:
    return files.real_path(path if path.startswith("/") else folder + "/" + path)


def read_first_line(path: str) -> str:
    """Return the first line of a git file, "" where unreadable."""
    try:
        return files.read(path, 4096).decode("utf-8", "replace").partition("\n")[0].strip()
    except (OSError, ValueError):
        return ""


def parse_ref(line: str) -> str:
    """Return the ref in `ref: refs/heads/main`, "" for an unsafe one."""
    ref = line[4:].strip() if line.startswith("ref:") else ""
    is_safe = ".." not in ref and "\\" not in ref and ref.isprintable()
    return ref if is_safe and ref.startswith("refs/") else ""


def project_name(key: str) -> str:
    """Return a workspace's key without the digits at its end."""
    return key.rpartition("-")[0] or key


def read_branch(git: str, head: str = "") -> str:
    """Return the branch checked out, or "".

    git: the checkout's git directory, or "".  head: the line of its HEAD, where known already.
    """
    ref = parse_ref(head or read_first_line(git + "/HEAD")) if git else ""
    return ref[11:] if ref.startswith("refs/heads/") and ref != "refs/heads/.invalid" else ""


def read_remote(git: str) -> str:
    """Return the normalised URL of a repository's remote, or ""."""
    return (list_remote_spellings(git, {}) or [""])[0]


def list_remote_spellings(git: str, env: Dict[str, str]) -> List[str]:
    """Return a remote's normalised URL and its other spellings.

    The remote is `origin`, else the first.  env: HOME, for the user's own `insteadOf` where the URL
    has a short name as host.
    """
    remotes, short = _read_urls(git + "/config")
    url = remotes.get("origin") or next(iter(remotes.values()), "")
    plain = normalise_remote(url)
    if not plain:
        return []
    host = plain.partition("/")[0]
    if host and "." not in host and env.get("HOME"):  # a short name, such as `work:team/api`
        for path in ("/.gitconfig", "/.config/git/config"):
            short = {**_read_urls(env["HOME"] + path)[1], **short}
    long = normalise_remote(_expand_url(url, short))
    folded = long.lower() if long.partition("/")[0] in CASELESS_HOSTS else long
    return [*dict.fromkeys(filter(None, (folded, long, plain)))]


def _expand_url(url: str, short: Dict[str, str]) -> str:
    """Return a URL with the longest fitting `insteadOf` replaced."""
    prefix = max(filter(url.startswith, short), key=len, default="")
    return short[prefix] + url[len(prefix) :] if prefix else url


def _read_urls(path: str) -> Tuple[Dict[str, str], Dict[str, str]]:
    """Return the remotes' URLs and the `insteadOf` prefixes of a git config."""
    remotes: Dict[str, str] = {}
    short: Dict[str, str] = {}
    for section, name, key, value in read_git_config(path):
        if (section, key) == ("remote", "url"):
            remotes.setdefault(name, value)
        elif (section, key) == ("url", "insteadof"):
            short[value] = name
    return remotes, short


def read_git_config(path: str) -> Iterator[Tuple[str, str, str, str]]:
    """Yield (section, subsection, key, value) of a git configuration."""
    try:
        text = files.read(path, CONFIG_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return
    section = name = ""
    for line in text.split("\n"):
        line = line.strip()
        if line.startswith("["):  # `[remote "origin"]`, `[remote "x"] key = value`
            head, _, line = line[1:].partition('"]' if '"]' in line else "]")
            section, _, name = head.partition(" ")
            section, name, line = section.lower(), name.strip().strip('"'), line.strip()
        if line[:1] not in ("", "#", ";"):
            key, equals, value = line.partition("=")
            value = value.strip() if equals else "true"
            if value[:1] == '"':
                value = value[1:].partition('"')[0]
            elif " #" in value or " ;" in value:
                value = value.partition(" #")[0].partition(" ;")[0].strip()
            yield section, name, key.strip().lower(), value


def normalise_remote(url: str) -> str:
    """Return a remote's URL as `host/path`.

    So the ssh and https forms of one repository are one workspace.  Credentials, scheme, port,
    query and `.git` go; the host is lower-cased.  A relative path names no repository: "".
    """
    host, path = _split_url(url.strip().rstrip("/"))
    path = path[:-4] if path.lower().endswith(".git") else path
    if not path.strip("/"):
        return ""
    host = HOST_ALIASES.get(host.lower(), host)
    parts = path.strip("/").split("/")
    if host == "dev.azure.com" and len(parts) == 4:
        # v3/A/B/REPO by ssh, A/B/_git/REPO by https
        parts = parts[1:] if parts[0] == "v3" else [*parts[:2], parts[3]]
        path = "/".join([*parts[:2], "_git", parts[2]])
    return (host.lower() + "/" + path.strip("/")) if host else "/" + path.strip("/")


def _split_url(url: str) -> Tuple[str, str]:
    """Return the host and path of a URL, or two ""."""
    if "://" in url:
        scheme, _, rest = url.partition("://")
        if scheme.lower() == "file":
            return "", rest
        host, _, path = rest.partition("?")[0].partition("/")  # a query may hold a token
        path = path.rstrip("/")
        host = host.rpartition("@")[2]
        return host.partition("]")[0] + "]" if host[:1] == "[" else host.partition(":")[0], path
    if url.startswith("/"):
        return "", url
    before = url.partition(":")[0]  # `git@host:path`
    if before == url or "/" in before or len(before) < 2:
        return "", ""
    colon = "]:" if "]:" in url else ":"
    host, _, path = url.partition(colon)
    return host.rpartition("@")[2] + colon[:-1], path


def slug(text: str, most: int = 40) -> str:
    """Return text as `[a-z0-9-]`.

    Nothing else from outside ever enters a path, a record's file name apart.
    """
    out = []
    for c in text.lower():
        if ("a" <= c <= "z") or ("0" <= c <= "9"):
            out.append(c)
        elif out and out[-1] != "-":
            out.append("-")
    return "".join(out)[:most].strip("-")


def file_slug(title: str, most: int = 40) -> str:
    """Return a title as letters and digits for a file's name.

    Of any script, small and composed (NFC), so that every file system keeps it as it is.
    """
    if title.isascii():
        return slug(title, most)
    from unicodedata import category, normalize

    out = ""
    for c in normalize("NFC", title.lower()):
        # a vowel sign belongs to its letter; what picks the look of a letter or an emoji does not
        if c.isalnum() or (
            out[-1:].strip("-") and category(c) in ("Mn", "Mc") and not "\ufe00" <= c <= "\ufe0f"
        ):
            out += c
        elif out[-1:] not in ("", "-"):
            out += "-"
    return out[:most].strip("-")


def valid_id(text: object) -> str:
    """Return the id of a session or prompt, "" if invalid.

    Valid: `[A-Za-z0-9._-]`, 1 to 128 characters, no leading dot.
    """
    if not isinstance(text, str) or not text.isascii() or text[:1] in ("", "."):
        return ""
    return text if len(text) <= 128 and all(c.isalnum() or c in "._-" for c in text) else ""
