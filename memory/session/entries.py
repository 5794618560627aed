"""One line of the host's record of a session, parsed: a JSON object in, typed entries out.

The format is the host's own and changes between its versions: docs/transcripts.md says which line
carries what.

Left out: machine talk, lines of subagents in their parent's file, API errors, command bodies, and
all attachments but queued_command, for they hold dayleaf's own output.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import groupby
from typing import Any

from memory.store import redactor

PROMPT, SLASH, BANG, BANG_OUTPUT, TEXT, USE, RESULT, COMPACT = (
    "prompt slash bang banged text use result compact".split()
)
STEER, PLAN, TODOS, SUMMARY = "steer plan todos summary".split()
TITLE, REPORT, LINK = "title report link".split()
REWIND, ENDED, INTERRUPTED, TEAM = "rewind", "ended", "interrupted", "team"
NOTIFIED, TASK = "notified", "task"
# characters of a text kept until secrets are out of it; it is shortened only afterwards
CLIP = 2000
RUN = 4096  # signs in a row that no words have
PASTE = 4000  # characters of a block that was pasted, where a shorter one stands beside it
BETWEEN = 1000  # characters kept of lines that look typed between pasted ones
PARAGRAPH = 300  # characters of a line of words that no log has: somebody wrote or dictated it

# the client's errors of a call that the model repeats at once: nothing to remember
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
_RARE = 2  # lines with a beginning that is none of a log's
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])|[\x00-\x08\x0b-\x1f\x7f]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# Most short texts have neither tag nor escape: paths, branches, commands.
_PLAIN, _SHORT = re.compile(r"[\w./:@, -]*", re.A), 200
_TAG = re.compile(
    r"<(command-name|command-args|bash-input|bash-stdout|bash-stderr)>(.*?)(?:</\1>|\Z)", re.S
)
_NOTIFICATIONS = ("<task-notification", "<agent-notification", "<bash-notification")
_MACHINE = (
    *_NOTIFICATIONS,
    "<local-command-",
    "[Request interrupted",
    "Caveat: The messages below",
    "Operation stopped by hook: ",
    "This session is being continued from a previous conversation",
)
# A message that another session, an agent or a program sent, below the host's line about it.
_FOREIGN_MESSAGE = re.compile(
    r"(?:[^\n<]{1,99}:\n)?<(?:(?:teammate|agent|cross-session)-message[ >]|channel source=)"
)
_MESSAGE = re.compile(r"<([a-z-]{0,20}message|channel)\b([^>]{0,999})>(.*?)(?:</\1>|\Z)", re.S)
_SENDER = re.compile(r"\b(?:teammate_id|name|user|from)=[\"']?([^\"'>]{1,80})")
# What newer clients leave in place of what may hold account memory.
_WITHHELD = ("[conversation summary withheld", "[account memory text ")
# Tags that programs put around a prompt; _BEHIND: around their additions to it; _ASKED_IN: around
# the typed words.
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
_BY_PROGRAM = re.compile(r"\s*<(?:[a-z]+[_-]|channel )")
_IDE = re.compile(r"</?ide_[a-z_]{1,40}>")
# the host's additions at the end of a plan, and of a summary
_PLAN_HINT = re.compile(
    r"(?<!\n)\n*If (?:you need specific details from before exiting plan mode|"
    r"this plan can be broken down into) .*"
)
_CONTINUE_HINT = re.compile(
    r"(?<!\n)\n*(?:If you need specific details from before compaction|"
    r"Please continue the conversation from) .*",
    re.S,
)
# entrypoints of editors and apps, where a person types; all others but `cli` are programs
_APPS = re.compile(r"claude-(?!code-)|remote")
_PLAN_PROMPT = "Implement the following plan:"
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
_BY_USER = ("The user doesn't want to ", "The agent proposed a plan that was rejected by the user")
_REASON = re.compile(r"the user said:\n(.*)", re.S)
_WANTS_CLARITY = "The user wants to clarify these questions."
_CLARIFIED = re.compile(r'^- "(.+?)"\n  Answer: (.+)$', re.M)
_TRAILER = re.compile(
    r"(?:^agentId: \S{1,200} \(.{0,400}\)\s{0,80})?"
    r"(?:^<usage>[^<]{0,400}(?:<(?!/usage)[^<]{0,400}){0,20}</usage>\s{0,80})?\Z",
    re.M,
)
# a subagent's output up to its last call
_UP_TO_LAST_CALL = re.compile(r"\A(?:.*\n)?\[Tool: [^\n]*(?:\n|\Z)", re.S)
_TASK_PART = re.compile(r"<(?:task|shell)-id>([^<]{1,80})</|<tool-use-id>([^<]{1,80})</")
_TASK_STATUS = re.compile(r"<status>(failed|completed)</status>")
_TASK_EXIT = re.compile(r"\bexit code:? (\d{1,3})\b[^<]{0,20}</summary>")
_TASK_NAME = re.compile(r"<summary>Agent \"(.*?)\"", re.S)
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

    kind: PROMPT, SLASH, BANG (`!` command), BANG_OUTPUT, TEXT (the model's), USE (a tool call),
        RESULT, COMPACT, or
        STEER    the user's words by another way.  name: "while working" (typed while the model
            worked, or with the leave for the call `id`) | "answer" (text `question → answer`, one
            entry a question; data: the menu offered it) | "refused" (text the reason, or "") |
            "plan" (approved; text the remark, or "")
        PLAN     the text of a plan that was approved, or that a prompt asks to carry out (then
            beside the PROMPT)
        TODOS    a todo list: data is the list [(id, text, status)].  name: "list" for all of it;
            "delta", to be merged by id, where "" leaves text or status as it was.  id: "" for a
            list without ids.  status: pending | in_progress | completed | deleted
        SUMMARY  the text of the host's compaction summary
        TITLE    of a session.  name: "custom" (the user's; wins) | "ai" | "summary" (of the session
            that holds the line `id`, which may be another)
        REPORT   a subagent's last words.  name: its task, "" where only the call (`id`) tells
        LINK     a pull request: its URL
        REWIND   all since the instant `text` was taken back, before the prompt that follows
        ENDED    the host noted that the turn came to its end
        INTERRUPTED  the user stopped the turn
        NOTIFIED  the host told of a task; what the model says then answers no request
        TASK     the end of the background command `id`, or of the task `name`: failed, and text as
            the result of a command is
        TEAM     a message of another agent or session (name), or by a channel (data True)
    uuid: the line's id (a fork keeps it).
    at: ISO 8601 UTC.
    text: the words or the output, without <private> parts, dayleaf's blocks, the host's reminders.
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
        self.kind, self.text, self.id, self.name, self.data = kind, text, call, name, data
        self.failed, self.refused, self._record = failed, refused, record
        self.uuid = _str(record.get("uuid"))
        self.at = _str(record.get("timestamp"))

    def sibling_entry(self, kind: str, text: str) -> Entry:
        """Return an entry of another kind from the same line and call."""
        return Entry(kind, self._record, text, self.id)

    @property
    def branch(self) -> str:
        """The branch checked out, as the host noted it."""
        return clean(_str(self._record.get("gitBranch")))

    @property
    def by_subagent(self) -> bool:
        """Whether a subagent wrote the line."""
        return _is_sidechain(self._record)

    @property
    def prompt(self) -> str:
        """The host's id of the prompt on a user's line; hooks call it `prompt_id`."""
        return _str(self._record.get("promptId"))

    @property
    def raw_texts(self) -> list[str]:
        """All texts of the line, <private> parts included, pictures left out."""
        pending: list[Any] = [self._record]
        texts = []
        for value in pending:  # which grows as it is read
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, (dict, list)):
                pending.extend(value.values() if isinstance(value, dict) else value)
        return [text for text in texts if len(text) <= RUN << 8]

    @property
    def headless(self) -> bool:
        """Whether a program sent the prompt, and no person typed it."""
        record = self._record
        if _is_human(record) or record.get("imagePasteIds"):
            return False
        entrypoint = _str(record.get("entrypoint"))
        by_sdk = "sdk" in (record.get("promptSource"), record.get("turnOrigin"))
        return is_program(entrypoint) or (by_sdk and entrypoint in ("", "cli"))

    @property
    def cwd(self) -> str:
        """The working directory, which drifts with the model's `cd`."""
        return _str(self._record.get("cwd"))


def is_program(entrypoint: str) -> bool:
    """Tell by its entrypoint whether a program runs the host's client."""
    return entrypoint not in ("", "cli") and not _APPS.match(entrypoint)


def parse_entries(record: dict[str, Any]) -> list[Entry]:
    """Return the entries of one line of a transcript, [] for none."""
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return _parse_message(record, kind == "assistant")
    if kind == "system":
        return _parse_system_line(record)
    if kind == "attachment":
        return _parse_attachment(record)
    if kind == "pr-link":
        url = _PULL.match(_str(record.get("prUrl")))
        return [Entry(LINK, record, url.group())] if url else []
    name, key = _TITLES.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    title = clean(_str(record.get(key))) if key else ""
    return [Entry(TITLE, record, title, _str(record.get("leafUuid")), name)] if title else []


def _parse_system_line(record: dict[str, Any]) -> list[Entry]:
    subtype = record.get("subtype")
    if subtype == "compact_boundary":
        return [Entry(COMPACT, record)]
    is_stop = subtype == "stop_hook_summary" and not record.get("preventedContinuation")
    ended = subtype == "turn_duration" or is_stop
    return [Entry(ENDED, record)] if ended and not _is_sidechain(record) else []


def _parse_message(record: dict[str, Any], model: bool) -> list[Entry]:
    message = record.get("message")
    if not isinstance(message, dict) or record.get("isApiErrorMessage"):
        return []
    blocks = _content_blocks(message.get("content"))
    if record.get("isMeta"):
        return [] if model else _parse_sent_messages(record, join_text(blocks)) or []
    if model:
        return [] if message.get("model") == "<synthetic>" else _parse_model_message(record, blocks)
    return _parse_user_message(record, blocks)


def _content_blocks(content: object) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return _keep_objects(content)


def _parse_user_message(record: dict[str, Any], blocks: list[dict[str, Any]]) -> list[Entry]:
    """Return the entries of a user's message, results first."""
    found = [block for block in blocks if block.get("type") == "tool_result"]
    results = [entry for block in found for entry in _parse_result(record, block)]
    if not results or len(blocks) == 1:
        return results or _parse_user_line(record, _join_typed(blocks))
    if '"tool_reference"' in json.dumps(blocks[0].get("content"))[:99]:
        return results  # what stands beside loaded tools is the host's
    # the user let the call run, and said this with it
    remarks = parse_queued(record, join_text(blocks), results[-1].id)
    approvals = (entry for entry in results if entry.kind == STEER and entry.name == "plan")
    approval = next(approvals, None)
    if approval is None or not remarks:
        return results + remarks
    approval.text = remarks[0].text
    return results


def join_text(content: object) -> str:
    blocks = _content_blocks(content)
    return "\n".join([_str(block.get("text")) for block in blocks if block.get("type") == "text"])


def _join_typed(blocks: list[dict[str, Any]]) -> str:
    """Return the text of a user's blocks, long ones beside short ones marked as pasted."""
    texts = [_str(block.get("text")) for block in blocks if block.get("type") == "text"]
    pasted = [len(text) > PASTE and not _is_by_program(text) for text in texts]
    if all(pasted) or any(map(_PASTED.search, texts)):
        return "\n".join(texts)
    form = "<pasted_content>\n%s\n</pasted_content>"
    return "\n".join([form % text if long else text for text, long in zip(texts, pasted)])


def _is_by_program(text: str) -> bool:
    return bool(_BY_PROGRAM.match(text) or _WRAPPER.match(text.lstrip()) or _is_host_text(text))


def find_pull_url(text: str) -> str:
    """Return the last pull request's URL in an output, or ""."""
    found: list[str] = _PULL.findall(text)
    return found[-1] if found else ""


def _parse_model_message(record: dict[str, Any], blocks: list[dict[str, Any]]) -> list[Entry]:
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
    if "toolDenialKind" in record:
        return record["toolDenialKind"] in ("user-rejected", "permission-rule")
    return "permissionDecision" not in record and bool(_REFUSED.match(text))


def _parse_result(record: dict[str, Any], block: dict[str, Any]) -> list[Entry]:
    text, call = join_text(block.get("content")), _str(block.get("tool_use_id"))
    data = record.get("toolUseResult")
    failed = block.get("is_error") is True
    refused = failed and _is_refused(record, text)
    found = [Entry(RESULT, record, text, call, data=data, failed=failed, refused=refused)]
    if refused:
        return found + (_parse_refusal(record, text, call) if text.startswith(_BY_USER) else [])
    if failed:
        return found
    if isinstance(data, dict):
        found += _parse_todos(record, call, data) or _parse_report(record, call, data)
        found += _parse_shell_task(record, call, data.get("task"))
        if isinstance(data.get("answers"), dict):
            return found + _parse_answers(record, call, data)
    return found + (_parse_approval(record, text, call, data) if _APPROVED.match(text) else [])


def _parse_refusal(record: dict[str, Any], text: str, call: str) -> list[Entry]:
    match = _REASON.search(text)
    reason = _str(record.get("userFeedback")) or (match.group(1) if match else "")
    if reason.startswith(_WANTS_CLARITY):
        reason = "; ".join(" → ".join(pair) for pair in _CLARIFIED.findall(reason))
    return [Entry(STEER, record, clean(reason), call, "refused")]


def _parse_answers(record: dict[str, Any], call: str, data: dict[str, Any]) -> list[Entry]:
    found, notes, offered = [], data.get("annotations"), _list_labels(data.get("questions"))
    for question, answer in data["answers"].items():
        words = ", ".join(map(_str, answer)) if isinstance(answer, list) else _str(answer)
        note = notes.get(question) if isinstance(notes, dict) else None
        note = _str(note.get("notes")) if isinstance(note, dict) else ""
        words = clean(words + (" (" + note + ")" if note else ""))
        if words:
            is_offered = not _remove_texts(words, offered).strip(", ")
            words = clean(_str(question)) + " → " + words
            found.append(Entry(STEER, record, words, call, "answer", is_offered))
    response = clean(_str(data.get("response")))
    return found + ([Entry(STEER, record, response, call, "answer")] if response else [])


def _list_labels(questions: object) -> list[str]:
    """Return the labels that a menu offered, longest first."""
    menus = [menu.get("options") for menu in _keep_objects(questions)]
    labels = (option.get("label") for options in menus for option in _keep_objects(options))
    return sorted(map(_str, labels), key=len, reverse=True)


def _keep_objects(values: object) -> list[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def _remove_texts(text: str, parts: list[str]) -> str:
    for part in parts:
        text = text.replace(part, "") if part else text
    return text


def _parse_approval(record: dict[str, Any], text: str, call: str, data: object) -> list[Entry]:
    plan_match = _PLAN_IN.search(text)
    plan = _str(data.get("plan")) if isinstance(data, dict) else ""
    plan = clean(plan or (plan_match.group(1) if plan_match else ""))
    remark_match = _FEEDBACK.search(text[: plan_match.start()] if plan_match else text)
    remark = clean(remark_match.group(1)) if remark_match else ""
    found = [Entry(STEER, record, remark, call, "plan")]
    return found + ([Entry(PLAN, record, plan, call)] if plan else [])


def _parse_todos(record: dict[str, Any], call: str, data: dict[str, Any]) -> list[Entry]:
    tasks, new_list, task = data.get("tasks"), data.get("newTodos"), data.get("task")
    change = data.get("statusChange")
    if isinstance(tasks, list):  # of TaskList: the states of all, whatever was told before
        rows = [row for row in map(_parse_todo, tasks) if row[0]]
        return [Entry(TODOS, record, "", call, "list", rows)]
    if isinstance(new_list, list):
        return [Entry(TODOS, record, "", call, "list", [*map(_parse_todo, new_list)])]
    todo = _parse_todo(task)
    if isinstance(change, dict) and data.get("taskId"):
        todo = (str(data["taskId"]), "", _parse_status(change.get("to")))
    elif not all(todo):
        return []
    return [Entry(TODOS, record, "", call, "delta", [todo])]


def _parse_todo(task: object) -> tuple[str, str, str]:
    """Return (id, text, status) of a task."""
    task = task if isinstance(task, dict) else {}
    text = clean(_str(task.get("subject")) or _str(task.get("content")))
    return str(task.get("id") or ""), text, _parse_status(task.get("status"))


def _parse_status(value: object) -> str:
    return str(value) if value in ("in_progress", "completed", "deleted") else "pending"


def _parse_report(record: dict[str, Any], call: str, data: dict[str, Any]) -> list[Entry]:
    task, name = data.get("task"), ""
    task = task if isinstance(task, dict) else {}
    done = data.get("agentId") and data.get("status") == "completed"
    text = join_text(data.get("content")) if done else ""
    if (task.get("task_type"), task.get("status")) == ("local_agent", "completed"):
        name = clean(_str(task.get("description")))
        text = _UP_TO_LAST_CALL.sub("", _str(task.get("result")) or _str(task.get("output")))
    text = clean(_TRAILER.sub("", text))
    return [Entry(REPORT, record, text, call, name)] if text else []


def _parse_shell_task(record: dict[str, Any], call: str, task: object) -> list[Entry]:
    """Return [a background command's end] from a structured result, or []."""
    told = task if isinstance(task, dict) and task.get("task_type") == "local_bash" else {}
    if told.get("status") not in ("failed", "completed"):
        return []
    code, failed = told.get("exitCode"), told["status"] == "failed"
    text = ("Exit code %s\n" % code if failed and code else "") + _str(told.get("output"))
    return [Entry(TASK, record, text, call, _str(told.get("task_id")), failed=failed)]


def _parse_notification(record: dict[str, Any], raw: str) -> list[Entry]:
    task = _TASK_NAME.search(raw)
    if not task and not _is_sidechain(record):
        return _parse_task_end(record, raw)
    if not task or _is_sidechain(record):
        return []
    text = raw.partition("<result>")[2].rpartition("</result>")[0]
    report = clean(_TRAILER.sub("", text))
    return [Entry(REPORT, record, report, name=clean(task[1]))] if report else []


def _parse_task_end(record: dict[str, Any], raw: str) -> list[Entry]:
    """Return [a background command's end] from a notification, or []."""
    status, code = _TASK_STATUS.search(raw), _TASK_EXIT.search(raw)
    parts = _TASK_PART.findall(raw)
    if not status or not parts:
        return []
    task, call = ("".join(column) for column in zip(*parts))  # each part has one of them
    failed = status[1] == "failed"
    text = "Exit code %s\n" % code[1] if code and failed else ""
    return [Entry(TASK, record, text, call, task, failed=failed)]


def _parse_attachment(record: dict[str, Any]) -> list[Entry]:
    attached = record.get("attachment")
    if not isinstance(attached, dict) or attached.get("type") != "queued_command":
        return []
    raw = _join_typed(_content_blocks(attached.get("prompt")))
    if raw.lstrip().startswith(_NOTIFICATIONS):
        return _parse_notification(record, raw)
    sent = _parse_sent_messages(record, raw)
    if sent is not None:
        return sent
    by_host = attached.get("isMeta") or record.get("isMeta")
    if by_host or _read_origin(attached) not in (None, "human"):
        return []
    return parse_queued(record, raw)


def parse_queued(record: dict[str, Any], raw: str, call: str = "") -> list[Entry]:
    """Return [words typed while the model worked], [] for the host's words."""
    text = clean(_quote_pastes(_strip_ide_tags(raw)))
    command = text[1:].partition(" ")[0] if text.startswith("/") else ""
    is_machine = raw.lstrip().startswith(_MACHINE) or _is_sidechain(record)
    if not text or command in _CLIENTS or is_machine:
        return []
    sent = [] if _parse_client_json(raw) else _parse_sent_messages(record, raw)
    return [Entry(STEER, record, text, call, "while working")] if sent is None else sent


def _parse_user_line(record: dict[str, Any], raw: str) -> list[Entry]:
    if record.get("isCompactSummary"):
        return _parse_summary(record, raw)
    if raw.lstrip().startswith("<system-reminder"):
        raw = clean(raw)
    start, typed = raw.lstrip(), _is_human(record)
    # a plan that was approved "with a clear context" is sent by the host itself
    is_plan = start.startswith(_PLAN_PROMPT)
    if start.startswith(_NOTIFICATIONS):
        return _parse_notice(record, raw)
    if start.startswith("[Request interrupted"):
        return _parse_interruption(record, start)
    sent = _parse_sent_messages(record, start)
    if sent is not None:
        return [Entry(NOTIFIED, record), *sent]
    if _is_machine_line(record, typed, is_plan) or _is_host_text(raw):
        return []
    if start.startswith(("<command-", "<bash-")):
        return _parse_command(record, start, typed)
    return _parse_plan_prompt(record, raw) if is_plan else _parse_prompt(record, raw)


def _parse_notice(record: dict[str, Any], raw: str) -> list[Entry]:
    report = _parse_notification(record, raw)
    return [] if _is_sidechain(record) else [Entry(NOTIFIED, record), *report]


def _parse_summary(record: dict[str, Any], raw: str) -> list[Entry]:
    text = clean(_CONTINUE_HINT.sub("", raw.partition("\nSummary:\n")[2] or raw.partition("\n")[2]))
    return [Entry(SUMMARY, record, text)] if text and not text.startswith(_WITHHELD) else []


def _parse_interruption(record: dict[str, Any], start: str) -> list[Entry]:
    """Return the interruption by the user, and the prompt typed with it."""
    prompt = clean(start.partition("]")[2])
    found = [] if record.get("interruptedByShutdown") else [Entry(INTERRUPTED, record)]
    return found + ([Entry(PROMPT, record, prompt)] if prompt else [])


def _is_machine_line(record: dict[str, Any], typed: bool, is_plan: bool) -> bool:
    """Tell whether the host notes that no person wrote a line.

    typed: the host notes that a person did.  is_plan: the line is an approved plan.
    """
    return (
        _read_origin(record) not in (None, "human", "auto-continuation" if is_plan else "")
        or record.get("promptSource") == "system"
        # such as "task_notification", "scheduled", "peer"
        or not (typed or is_plan or record.get("turnOrigin") in (None, "sdk"))
        or _is_sidechain(record)
    )


def _is_host_text(raw: str) -> bool:
    return raw.lstrip().startswith((*_MACHINE, *_WITHHELD)) or bool(_parse_client_json(raw))


def _parse_prompt(record: dict[str, Any], raw: str) -> list[Entry]:
    if raw.lstrip().startswith("<ide_"):
        raw = _strip_ide_tags(raw)
    text = clean(_quote_pastes(_unwrap_tags(raw)))
    return [Entry(PROMPT, record, text)] if text else []


def _parse_plan_prompt(record: dict[str, Any], raw: str) -> list[Entry]:
    text = clean(_PLAN_HINT.sub("", raw))
    plan = _str(record.get("planContent")) or _FEEDBACK.sub("", text.partition(_PLAN_PROMPT)[2])
    plan = clean(plan)
    return [Entry(kind, record, words) for kind, words in ((PROMPT, text), (PLAN, plan)) if words]


def _is_sidechain(record: dict[str, Any]) -> bool:
    """Tell whether a subagent wrote a line."""
    return record.get("isSidechain") is True


def _is_human(record: dict[str, Any]) -> bool:
    """Tell whether the host notes a person as the sender."""
    has_origin = isinstance(record.get("origin"), dict)
    return (_read_origin(record) if has_origin else record.get("turnOrigin")) == "human"


def _read_origin(holder: dict[str, Any]) -> object:
    """Return the kind of sender that a line or attachment notes, or None."""
    origin = holder.get("origin")
    return origin.get("kind") if isinstance(origin, dict) else None


def _parse_sent_messages(record: dict[str, Any], raw: str) -> list[Entry] | None:
    """Return the messages that other agents sent, None for any other text."""
    if not _FOREIGN_MESSAGE.match(raw.lstrip()) or _is_human(record):
        return None
    found: list[Entry] = []
    for tag, head, message in _MESSAGE.findall(raw):
        message, text = _parse_message_text(message)
        if tag == "agent-message":
            indented = re.findall(r"^  (.*)", message, re.M)  # by the client
            found.append(Entry(REPORT, record, clean("\n".join(indented)) or text))
        elif text:
            senders = _SENDER.findall(head) or ["unnamed"]
            is_person = tag == "channel" or None
            found.append(Entry(TEAM, record, text, name=clean(senders[-1]), data=is_person))
    return [] if _is_sidechain(record) else found


def _parse_message_text(raw: str) -> tuple[str, str]:
    """Return (raw, clean) text of a message, for a task its subject."""
    text = clean(raw)
    task = _parse_client_json(text)
    if not task:
        return raw, text
    raw = ": ".join(filter(None, (_str(task.get("subject")), _str(task.get("description")))))
    return raw, clean(raw) if task.get("type") == "task_assignment" else ""


def _parse_client_json(raw: str) -> dict[str, Any]:
    """Return the client's JSON object in a text, {} for another text."""
    text = raw.strip()
    if text[:1] != "{" or text[-1:] != "}":
        return {}
    try:
        value: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    keys = ("type", "task_type", "task_id")
    return value if any(isinstance(value.get(key), str) for key in keys) else {}


def parse_line(line: bytes) -> dict[str, Any]:
    """Return a line's JSON object, {} where torn or invalid."""
    try:
        record = json.loads(line.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _unwrap_tags(raw: str) -> str:
    """Return a prompt without the tags that programs add."""
    text, before = raw.strip(), ""
    while text != before:
        before = text
        text = _drop_last_part(_unwrap_first_tag(text))
    return text


def _unwrap_first_tag(text: str) -> str:
    tag = _WRAPPER.match(text)
    end = text.find("</%s>" % tag[1]) if tag else -1
    if not tag or end < 0:
        return text
    inside = text[tag.end() : end].strip()
    after = text[end + len(tag[1]) + 3 :].strip()
    is_alone = not after and not _BEHIND.match(tag[1])
    return inside if is_alone or _ASKED_IN.match(tag[1]) else after


def _drop_last_part(text: str) -> str:
    """Return a text without a program's tagged part at its end."""
    tag = text.rpartition("</")[2][:-1]
    start = text.rfind("\n<%s>" % tag) if _BEHIND.fullmatch(tag) else -1
    return text[:start].rstrip() if start >= 0 else text


def _quote_pastes(text: str) -> str:
    """Return a prompt with its pasted parts quoted after the typed words."""
    parts = _PASTED.split(text)  # typed and pasted parts take turns
    if len(parts) % 2 == 0:  # a tag is not closed
        return text
    if not "".join(parts[::2]).strip():
        return "\n\n".join(parts[1::2])
    if not parts[0].strip():
        parts = [*parts[2:], parts[1]]
    parts[1::2] = ["\n> %s\n" % part.strip().replace("\n", "\n> ") for part in parts[1::2]]
    return "".join(parts)


def _parse_command(record: dict[str, Any], raw: str, typed: bool) -> list[Entry]:
    parts = dict(_TAG.findall(raw))
    if "bash-input" in parts:
        return [Entry(BANG, record, clean(parts["bash-input"]))]
    if "bash-stdout" in parts or "bash-stderr" in parts:
        output = parts.get("bash-stdout", "") + "\n" + parts.get("bash-stderr", "")
        return [Entry(BANG_OUTPUT, record, clean(output))]
    name, arguments = parts.get("command-name", "").strip(), parts.get("command-args", "").strip()
    is_task = bool(arguments) and name.lstrip("/") not in _CLIENTS
    asks = is_task or raw.startswith("<command-message>")
    words = clean((name + " " + arguments).strip())
    return [Entry(SLASH, record, words)] if words and (typed or asks) else []


def _strip_ide_tags(raw: str) -> str:
    parts = _IDE.split(raw)
    if len(parts) % 2 == 0:  # a tag is not closed
        return raw
    return "".join([*(part.rstrip() for part in parts[:-1:2]), parts[-1]])


def clean(text: str) -> str:
    """Return a raw text without private and machine-made parts.

    Left out: <private> parts, base64, dayleaf's own blocks, reminders, escape sequences.  An
    unclosed block counts to the end of the text.
    """
    if len(text) < _SHORT and _PLAIN.fullmatch(text):
        return text.strip()
    text = redactor.strip_private(text)
    if len(text) > RUN:
        from memory.session import longlines  # most texts are short

        text = longlines.remove_binary(text)
    if "<" in text:
        text = _FENCES.sub("", text)
    if not text.isascii():  # a lone surrogate, which JSON allows, could never be written as UTF-8
        text = text.encode("utf-8", "replace").decode("utf-8")
    if _CONTROL.search(text):
        text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text.strip()


def clip_characters(value: str, most: int = CLIP) -> str:
    """Return the start of a text, cut at white space.

    A word is never cut: half a secret would no longer be recognised.
    """
    if len(value) <= most:
        return value
    head = value[:most]
    cut = max(head.rfind(" "), head.rfind("\n"))
    return (head[:cut] if cut > 0 else "").rstrip() + " …"


def join_ends(text: str, head: str, end: str, most: int) -> str:
    """Join a long text's head and end, its typed lines between them.

    most: characters of these lines.
    """
    between = text[text.rfind("\n", 0, len(head)) + 1 : len(text) - len(end)]
    return "\n".join(filter(None, (head, find_typed_lines(between, most), end)))


def find_typed_lines(text: str, most: int) -> str:
    """Return the lines of a pasted text that were typed, in order.

    Where pasted parts are quoted, all others, at most `most` characters; else those that stand
    alone among others' lines: words, not indented, with a beginning that hardly another line has.
    A line below a label may be its value, and is left out.
    """
    lines = text.split("\n")
    if any(line.startswith("> ") for line in lines):
        typed = [line[:1] != ">" for line in lines]
    else:
        firsts = [line.partition(" ")[0] for line in lines]
        counts, most = Counter(firsts), BETWEEN
        typed = [
            counts[first] <= _RARE and len(line) <= BETWEEN and _is_prose(line)
            for first, line in zip(firsts, lines)
        ]
    runs = list[tuple[int, str]]()
    for is_typed, rows in groupby(range(len(lines)), typed.__getitem__):
        first, *rest = rows
        run = "\n".join(lines[at] for at in (first, *rest)).strip("\n")
        above = "\n".join(lines[max(0, first - 2) : first]).rstrip()
        if is_typed and run and not above.endswith((":", "=", "：")):
            runs.append((first, run))
    kept = list[tuple[int, str]]()
    for first, run in sorted(runs, key=lambda row: len(row[1])):  # what is long was pasted
        kept.append((first, clip_characters(run, most)))
        most -= len(run) + 1
        if most <= 0:
            break
    return "\n".join(run for _, run in sorted(kept))


def count_dictated(text: str) -> int:
    """Return the characters of a text's long lines of words."""
    lines = (line for line in text.split("\n") if len(line) > PARAGRAPH)
    return sum(len(line) for line in lines if _is_prose(line))


def _is_prose(line: str) -> bool:
    """Tell whether a line is several words and little else."""
    if not line[:1].strip() or (line.isascii() and " " not in line.strip()):
        return False
    return sum(sign.isalpha() or sign == " " for sign in line) >= len(line) * 0.75


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""
