"""A prompt turned into the block that goes before the model, and what the brief shares with it.

This is the blocking path: it opens the index without a lock, re-reads every file it shows, and writes one receipt.
"""

from __future__ import annotations

from memory.core import IndexFault, boundary, clock, config, files, layout, tokeniser
from memory.hook import fence, indexview, loader, receipts, segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.hook.indexview import Index

    Event = Dict[str, Any]
    Chosen = List[List[Any]]

FILES_READ = 50  # files ranked where there is no index
ITEM_UNITS = 1100  # UTF-16 units of one record in a prompt's block
MARK_UNITS = 120  # of why a record is stale
LEAST_UNITS = 200  # less room than this shows nothing of use
PASSAGE_CHARS, PASSAGE_WORDS = 200_000, 40  # of a body, and of a prompt, that decide where a long body is shown from
READ_CHARS = 8000  # characters of a prompt's start and of its end that choose: all of a pasted log cost 0.7 s a megabyte


def on_prompt(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer UserPromptSubmit with the learnings and rules that matter to it: most prompts get nothing."""
    prompt = event.get("prompt")
    if not isinstance(prompt, str) or event.get("agent_id") or is_machine(prompt):
        return None, False
    place, settings, path, state = opened_session(event, env)
    if not settings["load.enabled"] or not settings["load.prompt"] or state.off:
        return None, False
    said = ends(prompt)
    found, (choice, block, shown, unfit) = consult(place, event, env, "prompt index",
                                            lambda found: _chosen(found, event, said, settings, state), said)
    tokens = tokeniser.count_tokens(block)
    saved = max(0, found.learning_tokens - tokens) if block else 0
    if path:
        identity = event.get("prompt_id")
        write_receipt(env, path, {
            "v": 1, "t": clock.iso(now), "event": "prompt", "prompt": layout.safe_id(identity),
            "query": files.sha256(prompt.encode("utf-8", "replace"))[:8], "strategy": choice.strategy.name,
            "tag": tag_of(block), "candidates": choice.candidates, "chosen": shown,
             "chars": tokeniser.utf16(block), "tokens": tokens,
            "ms": elapsed_ms(now), "saved": saved, **({"unfit": unfit} if unfit else {}),
            **({"stale": True} if found.stale else {}), **({"unread": found.unread} if found.unread else {})})
    return output("UserPromptSubmit", block, ""), found.stale or scan_due(place, now)


def _chosen(found: Index, event: Event, prompt: str, settings: Config,
            state: receipts.Session) -> Tuple[loader.Choice, str, Chosen, List[str]]:
    """Choose for a prompt: (what was picked, the block, what it shows, ids that found no room)."""
    mode = event.get("permission_mode")
    choice = loader.choose(found, prompt, mode if isinstance(mode, str) else "", settings, state.shown)
    block, shown = with_prompt(found, choice, prompt, settings, state, mode if isinstance(mode, str) else "")
    fitted = {item[0] for item in shown}
    return choice, block, shown, [id for id in (found.doc(pick.number).id for pick in choice.picks) if id not in fitted]


def scan_due(place: Place, now: float) -> bool:
    """Tell whether the last scan of all files is long enough ago that the worker should make another."""
    try:
        return not 0 <= now - files.posix.stat(indexview.scan_path(place)).st_mtime < indexview.SCAN_EVERY
    except OSError:
        return True


def is_machine(prompt: str) -> bool:
    """Tell whether a prompt is not a person's request: the host's notification, a slash command, our own distiller's.

    A command is `/name` of letters, digits, `-`, `_` and `:`, alone or before a blank; `/srv/jobs/x.py` is a path.
    """
    start = prompt.lstrip()[:256]
    if start[:1] == "/":
        return start.split(None, 1)[0][1:].replace("-", "").replace("_", "").replace(":", "").isalnum()
    return start.startswith(("<task-notification", "<command-", "<local-command")) or "dayleaf-distill-prompt" in start[:64]


def ends(prompt: str) -> str:
    """Return the start and the end of a long prompt, where people say what they want; a short one as it is."""
    return prompt if len(prompt) <= 2 * READ_CHARS else prompt[:READ_CHARS] + "\n" + prompt[-READ_CHARS:]


def opened(place: Place, prompt: str = "") -> Index:
    """Open the index of a place; where it is missing or damaged, a small one of the files in memory that a prompt may want."""
    try:
        return indexview.open_index(place)
    except Exception:
        return indexview.from_files(place, FILES_READ, prompt, talks=False)


def consult(place: Place, event: Event, env: Dict[str, str], where: str, work: Callable[[Index], Any],
            prompt: str = "") -> Tuple[Index, Any]:
    """Return (the index of a place, closed, what `work` made of it); where it fails, both of the files alone.

    A flipped bit can pass every check of the reader and surface as any error at all.  Then the failure goes to the log
    under `where`, and the event tells the detached refresh to build anew.  An error that the files give too is raised.
    prompt: what the files are chosen for.
    """
    found: Optional[Index] = None
    try:
        found = indexview.open_index(place)
        return found, work(found)
    except Exception as error:
        fault = error
        damaged = found is not None or not _is_absent(place, error)
    finally:
        if found is not None:
            found.close()
    found = indexview.from_files(place, FILES_READ, prompt, talks=False)
    result = work(found)
    if damaged:
        event[indexview.DAMAGED] = True
        boundary.note(env, where, fault)
    return found, result


def _is_absent(place: Place, error: Exception) -> bool:
    """Tell whether an index did not open because there is none yet, or one of another version: that is no failure."""
    if not isinstance(error, IndexFault):
        return False
    try:
        head = files.read(indexview.segment_path(place), segment.HEADER_SIZE)
    except OSError:
        return not files.exists(indexview.segment_path(place))
    if head[:8] != segment.MAGIC:
        return head[:5] == segment.MAGIC[:5]
    return len(head) == segment.HEADER_SIZE and segment.HEADER.unpack_from(head)[3] != tokeniser.VERSION


def with_prompt(found: Index, choice: loader.Choice, prompt: str, settings: Config, state: receipts.Session,
                mode: str = "") -> Tuple[str, Chosen]:
    """Return (the block for a prompt, what it shows); ("", []) where nothing reaches the threshold.

    mode: the host's permission mode.
    """
    budget = fence.Budget(settings["load.promptChars"] - fence.overhead("prompt"))
    chosen: Chosen = []
    picks = [(found.doc(p.number), p.relevance, p.reason) for p in choice.picks]
    if not picks and not state.prompts and choice.strategy.recent:
        below = loader.misled(found.place)
        recent = [d for d in found.listed("learnings") if d.id not in state.shown and d.id not in below]
        picks = [(d, 0.0, "recent: no match on the first prompt") for d in recent[:settings["load.recent"]]]
    picked = [(record, relevance, reason, found.mark(record)) for doc, relevance, reason in picks
              for record in reread(found, [doc]) if record.accepted and record.kind == "learning"]
    picked.sort(key=lambda row: bool(row[3]))  # what is stale stands below what is not
    asked, of_place = _ruled(found, prompt, mode, settings, state, {row[0].id for row in picked})
    add_rules(asked, budget, chosen, found.mark)
    for record, relevance, reason, mark in picked:
        if budget.left < LEAST_UNITS:
            break
        if budget.take(item(record, min(ITEM_UNITS, budget.left - 1), prompt, record.id in choice.misled, mark)):
            chosen.append([record.id, round(relevance, 3), reason + (", stale" if mark else "")])
    add_rules(of_place, budget, chosen)
    return (fence.block("prompt", budget.lines, budget.rules), chosen) if chosen else ("", [])


def _ruled(found: Index, prompt: str, mode: str, settings: Config, state: receipts.Session,
           shown: set[str]) -> Tuple[Sequence[Tuple[Any, str]], Sequence[Tuple[Any, str]]]:
    """Return (rules that a prompt or a shown record brings, those that the place brings), each with the reason."""
    if not settings["load.rules"] or not found.has_rules:
        return (), ()
    from memory.hook import binding

    ruled = binding.with_prompt(found, prompt, mode, settings, state.shown, shown)
    of_place = [pair for pair in ruled if binding.is_of_place(pair[1])]
    return [pair for pair in ruled if pair not in of_place], of_place


def item(record: Any, units: int, prompt: str = "", misled: bool = False, mark: str = "") -> str:
    """Write one record for the model: a line that names it, then its body, in at most `units` UTF-16 units.

    prompt: what a body that does not fit is shown for; see `passage`.  misled: whether it did.  mark: why the
    record is stale, "" where it is not.
    """
    origin = {"s": ", shared through this repository", "g": ", global"}.get(record.tier, "")
    origin += ", reported as misleading" if misled else ""
    id = fence.line(record.id, 64)
    held = ", " + fence.versions(record.versions) if record.versions else ""
    head = "## [%s] %s (%s, %s%s%s%s)" % (id, fence.line(record.title, 160), record.kind, clock.day(record.created), held,
                                          origin, marked(mark))
    room = units - tokeniser.utf16(head) - 1
    content = passage(fence.clean(record.body).strip(), prompt, room)
    if record.kind == "rule" and record.rationale:  # whoever knows the reason can tell where the rule ends
        content = (content + "\nWhy: " + fence.line(record.rationale, ITEM_UNITS // 2)).lstrip("\n")
    if record.kind == "checkpoint":  # its own headings stand below the line that names it
        content = ("\n" + content).replace("\n## ", "\n### ").lstrip("\n")
    body = fence.clip(content, room, " … (`dayleaf show %s` for the rest)" % id)
    return head + ("\n" + body if body else "")


def marked(mark: str) -> str:
    """Write why a record is stale as one more part of what stands behind its title; "" for no mark."""
    return ", STALE: " + fence.line(mark, MARK_UNITS) if mark else ""


def passage(body: str, prompt: str, units: int) -> str:
    """Return a body that is longer than `units` with its first line and then from where the prompt's rarest word stands.

    The head of a pasted log says nothing of its line 411.  Whole words are no matter here, so this is a search of substrings.
    """
    low = body[:PASSAGE_CHARS].lower()
    if len(body) <= units or len(low) != len(body[:PASSAGE_CHARS]):  # a letter whose small form has another length
        return body
    words = sorted({word.strip("\"'`.,:;!?()[]") for word in prompt.lower().split()}, key=lambda word: (-len(word), word))
    found = [(low.count(word), -len(word), word) for word in words[:PASSAGE_WORDS] if len(word) > (3 if word.isascii() else 1)]
    found = [row for row in found if row[0]]
    at = low.find(min(found)[2]) if found else 0
    if at < units * 2 // 3:
        return body
    return body[:min(body.find("\n") + 1 or 160, 160)].rstrip() + "\n…\n" + body[body.rfind("\n", 0, at) + 1 or at:]


class Lean:
    """What a block shows of a record whose file has not changed since it was indexed."""

    __slots__ = ("accepted", "body", "checksum", "created", "id", "kind", "tier", "title", "versions")

    def __init__(self, doc: Any, title: str, body: str, versions: Sequence[str]):
        self.id, self.kind, self.tier, self.created = doc.id, doc.kind, doc.tier, float(doc.created)
        self.title, self.body, self.accepted = title, body, bool(doc.flags & 1 << 8)
        self.checksum: str = doc.checksum.hex()
        self.versions = versions


def lean(doc: Any, data: bytes) -> Optional[Lean]:
    """Read title and body of a simple file; None where only `records` can tell.

    That reader (records, frontmatter) costs 0.1 of a bare start to load, and nothing it would say of an unchanged file
    is new: the checksum has just been compared.
    """
    end = data.find(b"\n---\n", 3)
    if data[:4] != b"---\n" or end < 0 or b"\r" in data:
        return None
    at = data.find(b"\ntitle: ", 3, end + 1)
    if at < 0 or data.find(b"\ntitle:", at + 1, end) >= 0:
        return None
    line = data[at + 8:data.find(b"\n", at + 1)].strip()
    if line[:1] == b'"':
        line, quoted = line[1:-1] if line[-1:] == b'"' and len(line) > 1 else b"", True
    else:
        quoted = False
    odd = b'"' in line or b"\\" in line or not (quoted or line[:1].isalnum()) or b" #" in line or b": " in line
    try:
        held = _versions(data[:end].decode("utf-8"))
        return None if not line or odd or held is None else Lean(doc, line.decode("utf-8"), data[end + 5:].decode("utf-8"), held)
    except UnicodeDecodeError:
        return None


def _versions(head: str) -> Optional[Sequence[str]]:
    """Read the versions of a head that has them as a list on one line; None where only `records` can tell."""
    at = head.find("\nversions:")
    if at < 0:
        return ()
    line = head[at + 10:].partition("\n")[0].strip()
    inner = [word.strip() for word in line[1:-1].split(",")]
    bare = [word[1:-1] if word[:1] == word[-1:] == '"' else word for word in inner]
    simple = line[:1] == "[" and line[-1:] == "]" and head.find("\nversions:", at + 1) < 0
    return bare if simple and all(word.replace(".", "").replace("-", "").isalnum() for word in bare) else None


def reread(found: Index, docs: Iterable[Any], whole: bool = False) -> Iterable[Any]:
    """Re-read the files of documents, since the index may be behind them; a file that is gone is left out.

    whole: all that a record says (plans, rules); else the lean reading where it is enough.
    """
    for doc in docs:
        try:
            fd = found.place.open(doc.name)
        except OSError:
            found.stale = True
            continue
        try:
            stat = files.posix.fstat(fd)
            data = files.read_fd(fd, min(stat.st_size, 1 << 20))
            mtime = stat.st_mtime
        finally:
            files.posix.close(fd)
        same = files.sha256(data)[:16] == doc.checksum.hex()
        found.stale = found.stale or not same
        record = lean(doc, data) if same and not whole else None
        if record is None:
            from memory.core import records

            yield records.skim(doc.name, data, mtime)
        else:
            yield record


def add_rules(ruled: Iterable[Tuple[Any, str]], budget: fence.Budget, chosen: Chosen,
              mark: Callable[[Any], str] = lambda record: "") -> None:
    """Add rules that are in context, with the reason that `binding.in_context` gave; a linked one leaves room for its record.

    mark: says why one is stale.
    """
    for record, reason in ruled:
        room = budget.left - (LEAST_UNITS if reason.startswith("rule: linked") else 1)
        said = item(record, ITEM_UNITS, mark=mark(record))
        if tokeniser.utf16(said) > room:
            said = item(record, room, mark=mark(record)) if room >= LEAST_UNITS else ""
        if said and budget.take(said, rule=True):
            chosen.append([record.id, 1.0, reason])


def opened_session(event: Event, env: Dict[str, str]) -> Tuple[Place, Config, str, receipts.Session]:
    place = layout.locate(env, boundary.project_dir(event, env))
    settings = config.load(place.home, place.root, env)
    session = layout.safe_id(event.get("session_id"))
    path = place.receipts(session) if session else ""
    return place, settings, path, receipts.session(path) if path else receipts.Session()


def write_receipt(env: Dict[str, str], path: str, row: Dict[str, Any]) -> None:
    """Write the receipt; a full disk or a read-only home costs the receipt and not the answer."""
    try:
        receipts.write(path, row)
    except OSError as error:
        boundary.note(env, "receipt", error)


def output(name: str, block: str, message: str) -> Optional[Event]:
    output: Event = {}
    if block:
        output["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": block}
    if message:
        output["systemMessage"] = message
    return output or None


def tag_of(block: str) -> str:
    """Return the tag of a block, "" for none."""
    return block[block.find('tag="') + 5:][:8] if block else ""


def elapsed_ms(now: float) -> int:
    return max(0, int((clock.now() - now) * 1000))
