"""What one line of the host's record of a session says: an object in, typed entries out.

The format is the host's own and changes between its versions: docs/transcripts.md says which line
carries what.

Left out: machine talk, lines of subagents in their parent's file, API errors, command bodies, and
all attachments but queued_command, for they hold dayleaf's own output.
"""

from __future__ import annotations

import json
import re

from memory.store import redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROMPT, SLASH, BANG, BANGED, TEXT, USE, RESULT, COMPACT = (
    "prompt slash bang banged text use result compact".split()
)
STEER, PLAN, TODOS, SUMMARY, TITLE, REPORT, LINK = (
    "steer plan todos summary title report link".split()
)
REWIND, ENDED, INTERRUPTED, TEAM = "rewind", "ended", "interrupted", "team"
NOTIFIED = "notified"
# characters of a text kept until secrets are out of it; it is shortened only afterwards
CLIP = 2000
RUN = 4096  # signs in a row that no words have

# what the client says of a call that the model repeats at once: no wall, and nothing to remember
PROTOCOL = re.compile(
    r"string to replace not found|has not been read yet|has been modified since|found \d+ matches"
    r"|no changes to make|inputvalidationerror|exceeds maximum allowed|cancelled:|sibling tool call"
    r"|user doesn't want|no such tool available|request interrupted",
    re.I,
)
_FENCES = re.compile(
    r"<(dayleaf-memory|system-reminder|local-command-caveat|task-notification)\b[^>]{0,400}>"
    r".*?(?:</\1\s*>|\Z)",
    re.S | re.I,
)
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])|[\x00-\x08\x0b-\x1f\x7f]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# What holds neither a tag nor an escape, as most short texts: paths, branches, commands.
_PLAIN, _SHORT = re.compile(r"[\w./:@, -]*", re.A), 200
_TAG = re.compile(
    r"<(command-name|command-args|bash-input|bash-stdout|bash-stderr)>(.*?)(?:</\1>|\Z)", re.S
)
_NOTED = ("<task-notification", "<agent-notification", "<bash-notification")
_MACHINE = (
    *_NOTED,
    "<local-command-",
    "[Request interrupted",
    "Caveat: The messages below",
    "Operation stopped by hook: ",
    "This session is being continued from a previous conversation",
)
# A message that another session, an agent or a program sent, below the host's line about it.
_SENT = re.compile(
    r"(?:[^\n<]{1,99}:\n)?<(?:(?:teammate|agent|cross-session)-message[ >]|channel source=)"
)
_MESSAGE = re.compile(r"<([a-z-]{0,20}message|channel)\b([^>]{0,999})>(.*?)(?:</\1>|\Z)", re.S)
_SENDER = re.compile(r"\b(?:teammate_id|name|user|from)=[\"']?([^\"'>]{1,80})")
# What newer clients leave in place of what may hold account memory.
_WITHHELD = ("[conversation summary withheld", "[account memory text ")
# Tags that programs put around a prompt, and those of them around what was typed.
_WRAPPER = re.compile(
    r"<((?:system|developer|user|task|session|project|environment|agent|app)[_-][\w-]{1,30}"
    r"|instructions?|context|rules|query|prompt|request|preamble|task)(?: [^<>]{0,200})?>",
    re.I,
)
_BEHIND = re.compile(r"(?:system|environment)[_-]\w{1,30}|user-prompt-submit-hook")
_ASKED_IN = re.compile(
    r"(?:user[_-](?:query|message|prompt|request|input)|query|prompt|request|task(?:[_-]\w+)?)\Z",
    re.I,
)
_PASTED = re.compile(r"</?pasted_content\b[^<>]{0,99}>")
_IDE = re.compile(r"</?ide_[a-z_]{1,40}>")
_OFFER = re.compile(
    r"(?<!\n)\n*If (?:you need specific details from before exiting plan mode|"
    r"this plan can be broken down into) .*"
)
_SUMMED = re.compile(
    r"(?<!\n)\n*(?:If you need specific details from before compaction|"
    r"Please continue the conversation from) .*",
    re.S,
)
_PLANNED = "Implement the following plan:"
_FEEDBACK = re.compile(r"\n\nUser feedback on this plan: (.*)", re.S)
_APPROVED = re.compile(r"User has approved (?:your|the) plan|User has approved exiting plan mode")
_PLAN_IN = re.compile(r"\n## Approved Plan(?: \(edited by user\))?:\n(.*)", re.S)
# a call that a user, a rule or a hook did not let run; what ran and failed has an exit code
_REFUSED = re.compile(
    r"(?!Exit code \d).{0,300}?(?:doesn't want to (?:proceed|take this action)|"
    r"permission (?:to use|for this)|haven't granted|has been denied|requires? approval|"
    r"rejected (?:tool use|by)|hook (?:[a-z]+ ){0,2}(?:error|denied|blocked)|"
    r"(?:blocked|denied|stopped) by (?:an? |the )?(?:\w+ )?hook|was blocked. for security)",
    re.S | re.I,
)
# without a terminal the host says "user-rejected" of what nobody was asked
_BY_USER = "The user doesn't want to "
_REASON = re.compile(r"the user said:\n(.*)", re.S)
_UNCLEAR = "The user wants to clarify these questions."
_CLARIFIED = re.compile(r'^- "(.+?)"\n  Answer: (.+)$', re.M)
_TRAILER = re.compile(
    r"(?:^agentId: \S{1,200} \(.{0,400}\)\s{0,80})?"
    r"(?:^<usage>[^<]{0,400}(?:<(?!/usage)[^<]{0,400}){0,20}</usage>\s{0,80})?\Z",
    re.M,
)
# of a subagent's output: all up to the last call
_WORK = re.compile(r"\A(?:.*\n)?\[Tool: [^\n]*(?:\n|\Z)", re.S)
_FOR = re.compile(r"<summary>Agent \"(.*?)\"", re.S)
_PULL = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/pull/\d+")
_TITLES = {
    "custom-title": ("custom", "customTitle"),
    "ai-title": ("ai", "aiTitle"),
    "summary": ("summary", "summary"),
}
# commands of the host that say nothing about the work, whatever their arguments
_CLIENTS = frozenset(
    "add-dir agents clear color config context copy cost diff doctor effort exit export fast fork "
    "help hooks ide keybindings login logout mcp memory mobile model output-style permissions "
    "plugin privacy-settings quit release-notes reload-plugins remote-control rename resume rewind "
    "sandbox skills stats status statusline tasks terminal-setup theme todos "
    "upgrade usage vim voice".split()
)


class Entry:
    """A single event of a session, such as a prompt.

    kind: PROMPT, SLASH, BANG (`!` command), BANGED (its output), TEXT (the model's), USE (a tool
        call), RESULT, COMPACT, or
        STEER    the user's words by another way.  name: "while working" (typed while the model
                 worked, or with the leave for the call `id`) | "answer" (text `question → answer`,
                 one entry a question) | "refused" (text the reason, or "") | "plan" (approved; text
                 the remark, or "")
        PLAN     the text of a plan that was approved, or that a prompt asks to carry out (then
                 beside the PROMPT)
        TODOS    a todo list: data is the list [(id, text, status)].  name: "list" for all of it;
                 "delta", to be merged by id, where "" leaves text or status as it was.  id: "" for
                 a list without ids.  status: pending | in_progress |
                 completed | deleted
        SUMMARY  the text of the host's compaction summary
        TITLE    of a session.  name: "custom" (the user's; wins) | "ai" | "summary" (of the
                 session that holds the line `id`, which may be another)
        REPORT   a subagent's last words.  name: its task, "" where only the call (`id`)
                 tells
        LINK     a pull request: its URL
        REWIND   all since the instant `text` was taken back, before the prompt that follows
        ENDED    the host noted that the turn came to its end
        INTERRUPTED  the user stopped the turn
        NOTIFIED  the host told of a task; what the model says then answers no request
        TEAM     a message of another agent or session, or through a channel (data True); name:
                 whose
    uuid: the line's id (a fork keeps it).
    at: ISO 8601 UTC.
    text: the words or the output, with <private> parts, dayleaf's blocks and the host's reminders
        removed.
    id: of the tool call.
    name, data: the tool and its input (USE), or the host's structured result (RESULT).
    failed: the tool reported an error.
    refused: it did not run, as the user or a rule would not have it.
    """

    __slots__ = ("_record", "at", "data", "failed", "id", "kind", "name", "refused", "text", "uuid")

    def __init__(
        self,
        kind: str,
        record: dict[str, Any],
        text: str = "",
        call: str = "",
        name: str = "",
        data: Any = None,
        failed: bool = False,
        refused: bool = False,
    ):
        self.kind, self.text, self.id, self.name, self.data, self.failed = (
            kind,
            text,
            call,
            name,
            data,
            failed,
        )
        self.refused = refused
        self._record = record
        self.uuid = _str(record.get("uuid"))
        self.at = _str(record.get("timestamp"))

    def sibling_entry(self, kind: str, text: str) -> Entry:
        """Return another entry with the same line and call."""
        return Entry(kind, self._record, text, self.id)

    @property
    def branch(self) -> str:
        """The branch checked out, as the host noted."""
        return clean(_str(self._record.get("gitBranch")))

    @property
    def prompt(self) -> str:
        """The host's id of the prompt of a user's line.

        A hook gets the id as `prompt_id`.
        """
        return _str(self._record.get("promptId"))

    @property
    def raw_texts(self) -> list[str]:
        """The texts of the line, with their <private> parts; without pictures."""
        held: list[Any] = [self._record]
        found = []
        for value in held:
            if isinstance(value, str):
                found += [value] if len(value) <= RUN << 8 else []
            elif isinstance(value, (dict, list)):
                held.extend(value.values() if isinstance(value, dict) else value)
        return found

    @property
    def headless(self) -> bool:
        """Whether a program sent the prompt through the host's SDK.

        Then no person typed.
        """
        given = self._record
        through = given.get("entrypoint") or given.get("promptSource")
        return _str(through).startswith("sdk") and not (
            _is_human(given) or given.get("imagePasteIds")
        )

    @property
    def cwd(self) -> str:
        """The working directory, which drifts with the model's `cd`."""
        return _str(self._record.get("cwd"))


def entries(record: dict[str, Any]) -> list[Entry]:
    """Return the entries of one line of a transcript.

    [] where neither the user, the model nor the host speaks.
    """
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return _spoken(record, kind == "assistant")
    if kind == "system":
        return _noted_by_host(record)
    if kind == "attachment":
        return _attached(record)
    if kind == "pr-link":
        url = _PULL.match(_str(record.get("prUrl")))
        return [Entry(LINK, record, url.group())] if url else []
    name, key = _TITLES.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    title = clean(_str(record.get(key))) if key else ""
    return [Entry(TITLE, record, title, _str(record.get("leafUuid")), name)] if title else []


def _noted_by_host(record: dict[str, Any]) -> list[Entry]:
    """Return the compaction or turn's end in a system line."""
    subtype = record.get("subtype")
    if subtype == "compact_boundary":
        return [Entry(COMPACT, record)]
    ended = subtype == "turn_duration" or (
        subtype == "stop_hook_summary" and not record.get("preventedContinuation")
    )
    return [Entry(ENDED, record)] if ended and record.get("isSidechain") is not True else []


def _spoken(record: dict[str, Any], model: bool) -> list[Entry]:
    message = record.get("message")
    if not isinstance(message, dict) or record.get("isApiErrorMessage"):
        return []
    blocks = _content_blocks(message.get("content"))
    if record.get("isMeta"):
        return [] if model else _sent(record, joined(blocks)) or []
    if model:
        return [] if message.get("model") == "<synthetic>" else _message_entries(record, blocks)
    return _user_entries(record, blocks)


def _content_blocks(content: object) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _user_entries(record: dict[str, Any], blocks: list[dict[str, Any]]) -> list[Entry]:
    """Return the entries of a user's message, results first."""
    results = [
        entry for b in blocks if b.get("type") == "tool_result" for entry in _result(record, b)
    ]
    if not results or len(blocks) == 1:
        return results or _user_line_entries(record, joined(blocks))
    if '"tool_reference"' in json.dumps(blocks[0].get("content"))[:99]:
        return results  # what stands beside loaded tools is the host's
    # the user let the call run, and said this with it
    beside = queued(record, joined(blocks), results[-1].id)
    approved = next((e for e in results if e.kind == STEER and e.name == "plan"), None)
    if approved is None or not beside:
        return results + beside
    approved.text = beside[0].text
    return results


def joined(content: object) -> str:
    """Return the text of a message's content."""
    if isinstance(content, list):
        return "\n".join(
            [
                _str(b.get("text"))
                for b in content
                if isinstance(b, dict) and b.get("type") == "text"
            ]
        )
    return _str(content)


def pull(text: str) -> str:
    """Return the last pull request's URL in an output, or ""."""
    found = _PULL.findall(text)
    return found[-1] if found else ""


def _message_entries(record: dict[str, Any], blocks: list[dict[str, Any]]) -> list[Entry]:
    found = []
    for block in blocks:
        if block.get("type") == "text":
            text = clean(_str(block.get("text")))
            if text and not text.startswith(_WITHHELD):
                found.append(Entry(TEXT, record, text))
        elif block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            call, name = _str(block.get("id")), _str(block.get("name"))
            found.append(Entry(USE, record, call=call, name=name, data=block["input"]))
    return found


def _is_refused(record: dict[str, Any], text: str) -> bool:
    """Tell whether a failed call was refused."""
    if "toolDenialKind" in record:
        return record["toolDenialKind"] in ("user-rejected", "permission-rule")
    return "permissionDecision" not in record and bool(_REFUSED.match(text))


def _result(record: dict[str, Any], block: dict[str, Any]) -> list[Entry]:
    """Return the entries of a tool's result."""
    text, call, data = (
        joined(block.get("content")),
        _str(block.get("tool_use_id")),
        record.get("toolUseResult"),
    )
    failed = block.get("is_error") is True
    refused = failed and _is_refused(record, text)
    found = [Entry(RESULT, record, text, call, data=data, failed=failed, refused=refused)]
    if refused:
        return found + (_refusal(record, text, call) if text.startswith(_BY_USER) else [])
    if failed:
        return found
    if isinstance(data, dict):
        found += _todos(record, call, data) or _report(record, call, data)
        answers = data.get("answers")
        if isinstance(answers, dict):
            return found + _answers(record, call, answers, data)
    return found + (_approval(record, text, call, data) if _APPROVED.match(text) else [])


def _refusal(record: dict[str, Any], text: str, call: str) -> list[Entry]:
    said = _REASON.search(text)
    reason = _str(record.get("userFeedback")) or (said.group(1) if said else "")
    if reason.startswith(_UNCLEAR):
        reason = "; ".join(
            question + " → " + answer for question, answer in _CLARIFIED.findall(reason)
        )
    return [Entry(STEER, record, clean(reason), call, "refused")]


def _answers(
    record: dict[str, Any], call: str, answers: dict[str, Any], data: dict[str, Any]
) -> list[Entry]:
    found, notes = [], data.get("annotations")
    for question, answer in answers.items():
        said = ", ".join(map(_str, answer)) if isinstance(answer, list) else _str(answer)
        note = notes.get(question) if isinstance(notes, dict) else None
        note = _str(note.get("notes")) if isinstance(note, dict) else ""
        words = clean(said + (" (" + note + ")" if note else ""))
        if words:
            found.append(
                Entry(STEER, record, clean(_str(question)) + " → " + words, call, "answer")
            )
    response = clean(_str(data.get("response")))
    return found + ([Entry(STEER, record, response, call, "answer")] if response else [])


def _approval(record: dict[str, Any], text: str, call: str, data: object) -> list[Entry]:
    inside = _PLAN_IN.search(text)
    plan = _str(data.get("plan")) if isinstance(data, dict) else ""
    plan = clean(plan or (inside.group(1) if inside else ""))
    remark = _FEEDBACK.search(text[: inside.start()] if inside else text)
    found = [Entry(STEER, record, clean(remark.group(1)) if remark else "", call, "plan")]
    return found + ([Entry(PLAN, record, plan, call)] if plan else [])


def _todos(record: dict[str, Any], call: str, data: dict[str, Any]) -> list[Entry]:
    """Return the todo list, or its changes, in a structured result."""
    tasks, whole, task = data.get("tasks"), data.get("newTodos"), data.get("task")
    change = data.get("statusChange")
    if isinstance(tasks, list):  # of TaskList: the states of all, whatever was told before
        return [
            Entry(TODOS, record, "", call, "list", [row for row in map(_todo, tasks) if row[0]])
        ]
    if isinstance(whole, list):
        return [Entry(TODOS, record, "", call, "list", [*map(_todo, whole)])]
    made = _todo(task)
    if isinstance(change, dict) and data.get("taskId"):
        made = (str(data["taskId"]), "", _status(change.get("to")))
    elif not all(made):
        return []
    return [Entry(TODOS, record, "", call, "delta", [made])]


def _todo(task: object) -> tuple[str, str, str]:
    """Return (id, text, status) of a task."""
    task = task if isinstance(task, dict) else {}
    text = clean(_str(task.get("subject")) or _str(task.get("content")))
    return str(task.get("id") or ""), text, _status(task.get("status"))


def _status(value: object) -> str:
    return (
        value
        if isinstance(value, str) and value in ("in_progress", "completed", "deleted")
        else "pending"
    )


def _report(record: dict[str, Any], call: str, data: dict[str, Any]) -> list[Entry]:
    """Return a subagent's last words."""
    task, name = data.get("task"), ""
    done = data.get("agentId") and data.get("status") == "completed"
    text = joined(data.get("content")) if done else ""
    if (
        isinstance(task, dict)
        and task.get("task_type") == "local_agent"
        and task.get("status") == "completed"
    ):
        name = clean(_str(task.get("description")))
        text = _WORK.sub("", _str(task.get("result")) or _str(task.get("output")))
    text = clean(_TRAILER.sub("", text))
    return [Entry(REPORT, record, text, call, name)] if text else []


def _notified(record: dict[str, Any], raw: str) -> list[Entry]:
    """Return a subagent's report from a host's notification."""
    text = raw.partition("<result>")[2].rpartition("</result>")[0]
    name = _FOR.search(raw)
    said = clean(_TRAILER.sub("", text)) if text and name else ""
    if not said or not name or record.get("isSidechain") is True:
        return []
    return [Entry(REPORT, record, said, name=clean(name[1]))]


def _attached(record: dict[str, Any]) -> list[Entry]:
    """Return the user's words from an attachment."""
    attached = record.get("attachment")
    if not isinstance(attached, dict) or attached.get("type") != "queued_command":
        return []
    raw, origin = joined(attached.get("prompt")), attached.get("origin")
    if raw.lstrip().startswith(_NOTED):
        return _notified(record, raw)
    sent = _sent(record, raw)
    if sent is not None:
        return sent
    by = origin.get("kind") if isinstance(origin, dict) else None
    if attached.get("isMeta") or record.get("isMeta") or by not in (None, "human"):
        return []
    return queued(record, raw)


def queued(record: dict[str, Any], raw: str, call: str = "") -> list[Entry]:
    """Return the words typed while the model worked.

    [] for the host's words and its commands.
    """
    text = clean(_without_pastes(_without_ide(raw)))
    command = text[1:].partition(" ")[0] if text.startswith("/") else ""
    if (
        not text
        or command in _CLIENTS
        or raw.lstrip().startswith(_MACHINE)
        or record.get("isSidechain") is True
    ):
        return []
    sent = [] if _is_clients(raw) else _sent(record, raw)
    return [Entry(STEER, record, text, call, "while working")] if sent is None else sent


def _user_line_entries(record: dict[str, Any], raw: str) -> list[Entry]:
    """Return the entries of a user line without tool results."""
    if record.get("isCompactSummary"):
        return _compacted(record, raw)
    if raw.lstrip().startswith("<system-reminder"):
        raw = clean(raw)
    start, theirs = raw.lstrip(), _is_human(record)
    # a plan that was approved "with a clear context" is sent by the host itself
    planned = start.startswith(_PLANNED)
    if start.startswith(_NOTED):
        return _notice(record) + _notified(record, raw)
    if start.startswith("[Request interrupted"):
        return _interrupted(record, start)
    sent = _sent(record, start)
    if sent is not None:
        return [Entry(NOTIFIED, record), *sent]
    if _is_machines(record, theirs, planned) or _is_hosts(raw):
        return []
    if start.startswith(("<command-", "<bash-")):
        return _commanded(record, start, theirs)
    return _planned_prompt(record, raw) if planned else _prompt(record, raw)


def _notice(record: dict[str, Any]) -> list[Entry]:
    return [] if record.get("isSidechain") is True else [Entry(NOTIFIED, record)]


def _compacted(record: dict[str, Any], raw: str) -> list[Entry]:
    """Return the client's summary of the turns before a compaction."""
    text = clean(_SUMMED.sub("", raw.partition("\nSummary:\n")[2] or raw.partition("\n")[2]))
    return [Entry(SUMMARY, record, text)] if text and not text.startswith(_WITHHELD) else []


def _interrupted(record: dict[str, Any], start: str) -> list[Entry]:
    """Return an interruption, and what the user typed at once."""
    said = clean(start.partition("]")[2])
    by_user = not record.get("interruptedByShutdown")
    told = [Entry(INTERRUPTED, record)] if by_user else []
    return told + ([Entry(PROMPT, record, said)] if said else [])


def _is_machines(record: dict[str, Any], theirs: bool, planned: bool) -> bool:
    """Tell whether the host notes that no person wrote a line.

    theirs: it notes that one did. planned: the line is an approved plan.
    """
    origin = record.get("origin")
    by = origin.get("kind") if isinstance(origin, dict) else None
    return (
        by not in (None, "human", "auto-continuation" if planned else "")
        or record.get("promptSource") == "system"
        # such as "task_notification", "scheduled", "peer"
        or not (theirs or planned or record.get("turnOrigin") in (None, "sdk"))
        or record.get("isSidechain") is True
    )


def _is_hosts(raw: str) -> bool:
    """Tell whether a text is in the host's own words."""
    start = raw.lstrip()
    return start.startswith(_MACHINE) or _is_clients(raw) or start.startswith(_WITHHELD)


def _prompt(record: dict[str, Any], raw: str) -> list[Entry]:
    if raw.lstrip().startswith("<ide_"):
        raw = _without_ide(raw)
    text = clean(_without_pastes(_unwrapped(raw)))
    return [Entry(PROMPT, record, text)] if text else []


def _planned_prompt(record: dict[str, Any], raw: str) -> list[Entry]:
    """Return an approved plan, behind its prompt."""
    text = clean(_OFFER.sub("", raw))
    plan = clean(_str(record.get("planContent")) or _FEEDBACK.sub("", text.partition(_PLANNED)[2]))
    return [Entry(kind, record, said) for kind, said in ((PROMPT, text), (PLAN, plan)) if said]


def _is_human(record: dict[str, Any]) -> bool:
    """Tell whether the host notes that a person asked."""
    origin = record.get("origin")
    by = origin.get("kind") if isinstance(origin, dict) else record.get("turnOrigin")
    return by == "human"


def _sent(record: dict[str, Any], raw: str) -> list[Entry] | None:
    """Return the messages of others, an agent's as its report."""
    if not _SENT.match(raw.lstrip()) or _is_human(record):
        return None
    found: list[Entry] = []
    for tag, head, said in _MESSAGE.findall(raw):
        said, text = _message_text(said)
        if tag == "agent-message":
            found.append(Entry(REPORT, record, clean(_indented_lines(said)) or text))
        elif text:
            by = _SENDER.findall(head) or ["unnamed"]
            person = tag == "channel" or None
            found.append(Entry(TEAM, record, text, name=clean(by[-1]), data=person))
    return [] if record.get("isSidechain") is True else found


def _message_text(said: str) -> tuple[str, str]:
    """Return a message's (raw, clean) text; of a task, its words."""
    text = clean(said)
    if not _is_clients(text):
        return said, text
    task = json.loads(text)
    said = ": ".join(filter(None, (_str(task.get("subject")), _str(task.get("description")))))
    return said, clean(said) if task.get("type") == "task_assignment" else ""


def _indented_lines(said: str) -> str:
    """Return the lines of a report, without the indent that the client adds."""
    return "\n".join(line[2:] for line in said.split("\n") if line.startswith("  "))


def _is_clients(raw: str) -> bool:
    """Tell whether a text is a JSON object from the client."""
    text = raw.strip()
    if text[:1] != "{" or text[-1:] != "}":
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and any(
        isinstance(value.get(key), str) for key in ("type", "task_type", "task_id")
    )


def _unwrapped(raw: str) -> str:
    """Return the user's words without a wrapper's tags around them."""
    text, before = raw.strip(), ""
    while text != before:
        before = text
        opened = _WRAPPER.match(text)
        end = text.find("</%s>" % opened[1]) if opened else -1
        if opened and end >= 0:
            rest = text[end + len(opened[1]) + 3 :].strip()
            inside = text[opened.end() : end].strip()
            alone = not rest and not _BEHIND.match(opened[1])
            text = inside if alone or _ASKED_IN.match(opened[1]) else rest
        last = text.rpartition("</")[2][:-1]
        at = text.rfind("\n<%s>" % last) if _BEHIND.fullmatch(last) else -1
        text = text[:at].rstrip() if at >= 0 else text
    return text


def _without_pastes(text: str) -> str:
    """Return a text with what was pasted as quotes behind what was typed first."""
    parts = _PASTED.split(text)
    if len(parts) % 2 == 0:  # a tag has no other
        return text
    if not "".join(parts[::2]).strip():
        return "\n\n".join(parts[1::2])
    if not parts[0].strip():
        parts = [*parts[2:], parts[1]]
    parts[1::2] = ["\n> %s\n" % part.strip().replace("\n", "\n> ") for part in parts[1::2]]
    return "".join(parts)


def _commanded(record: dict[str, Any], raw: str, theirs: bool) -> list[Entry]:
    """Return a slash or `!` command of the user's."""
    parts = dict(_TAG.findall(raw))
    if "bash-input" in parts:
        return [Entry(BANG, record, clean(parts["bash-input"]))]
    if "bash-stdout" in parts or "bash-stderr" in parts:
        return [
            Entry(
                BANGED,
                record,
                clean(parts.get("bash-stdout", "") + "\n" + parts.get("bash-stderr", "")),
            )
        ]
    name, given = parts.get("command-name", "").strip(), parts.get("command-args", "").strip()
    asks = raw.startswith("<command-message>") or (bool(given) and name.lstrip("/") not in _CLIENTS)
    words = clean((name + " " + given).strip())
    return [Entry(SLASH, record, words)] if words and (theirs or asks) else []


def _without_ide(raw: str) -> str:
    """Remove an editor's additions in tags."""
    parts = _IDE.split(raw)
    if len(parts) % 2 == 0:  # a tag has no other
        return raw
    return "".join([*(part.rstrip() for part in parts[:-1:2]), parts[-1]])


def clean(text: str) -> str:
    """Return a raw text without everything that must not be kept.

    <private> parts, base64, dayleaf's own blocks, reminders, escape sequences.  An unclosed block
    counts to the end of the text.
    """
    if len(text) < _SHORT and _PLAIN.fullmatch(text):
        return text.strip()
    text = redactor.strip_private(text)
    if len(text) > RUN:
        from memory.session import longlines  # most texts are short

        text = longlines.without_binary(text)
    if "<" in text:
        text = _FENCES.sub("", text)
    if not text.isascii():  # a lone surrogate, which JSON allows, could never be written as UTF-8
        text = text.encode("utf-8", "replace").decode("utf-8")
    if _CONTROL.search(text):
        text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text.strip()


def clip_characters(value: str, most: int = CLIP) -> str:
    """Return a text shortened at white space.

    A word is never cut: half a secret would no longer be recognised.
    """
    if len(value) <= most:
        return value
    head = value[:most]
    cut = max(head.rfind(" "), head.rfind("\n"))
    return (head[:cut] if cut > 0 else "").rstrip() + " …"


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""
