"""A labelled sequence as the transcript that the host would have written: the keys and shapes are those of recorded ones.

Steps: ["ask", text], ["say", text], ["run", command, status, output], ["edit", path, old, new], ["make", path, content],
["cancel", command] (the user interrupts it), ["timeout", command], ["agent"] (what follows is a subagent's), ["main"] (it is
the session's own again).
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path

PROJECT = "/home/dev/src/repo"
BEGIN = 1795222115  # seconds since the epoch of the first line
UPDATED = "The file %s has been updated successfully. (file state is current in your context \u2014 no need to Read it back)"


class _Transcript:
    """The lines of a transcript and of its subagent's."""

    def __init__(self, session: str):
        self.session, self.number, self.agent = session, 0, ""
        self.lines: dict[str, list[str]] = {"": []}

    def add(self, kind: str, content: object, **more: object) -> None:
        from memory.core import clock

        self.number += 1
        name = uuid.uuid5(uuid.NAMESPACE_URL, "%s/%d" % (self.session, self.number))
        message: dict[str, object] = {"role": kind, "content": content}
        if kind == "assistant":
            message = {"id": "msg_%s" % name.hex[:24], "type": "message", "model": "claude-opus-5-5", **message,
                       "stop_reason": "tool_use"}
        record = {"parentUuid": None, "isSidechain": bool(self.agent), "type": kind, "message": message, "uuid": str(name),
                  "timestamp": clock.iso(BEGIN + 7 * self.number).replace("Z", ".485Z"), **more, "userType": "external",
                  "entrypoint": "cli", "cwd": PROJECT, "sessionId": self.session, "version": "2.1.329", "gitBranch": "main"}
        self.lines[self.agent].append(json.dumps(record, ensure_ascii=False))

    def call(self, name: str, given: dict, output: str, result: object, failed: bool = False) -> None:
        call = "toolu_%s%03d" % (self.session.replace("-", ""), self.number)
        self.add("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}])
        block = {"tool_use_id": call, "type": "tool_result", "content": output, **({"is_error": True} if failed else {})}
        self.add("user", [block], toolUseResult=result)


def write(steps: list[list], folder: Path, session: str) -> Path:
    """Write a sequence's transcript beneath the host's folder and return its path."""
    made = _Transcript(session)
    for step in steps:
        _STEPS[step[0]](made, *step[1:])
    path = folder / "projects" / "-home-dev-src-repo" / (session + ".jsonl")
    for agent, lines in made.lines.items():
        target = path.with_suffix("") / "subagents" / ("agent-%s.jsonl" % agent) if agent else path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _ask(made: _Transcript, text: str) -> None:
    made.add("user", text, origin={"kind": "human"}, promptSource="typed", turnOrigin="human")


def _say(made: _Transcript, text: str) -> None:
    made.add("assistant", [{"type": "text", "text": text}])


def _run(made: _Transcript, command: str, status: int, output: str) -> None:
    given = {"command": command, "description": "Run it"}
    if status:
        said = "Exit code %d\n%s" % (status, output)
        made.call("Bash", given, said, "Error: " + said, failed=True)
    else:
        made.call("Bash", given, output, {"stdout": output, "stderr": "", "interrupted": False, "isImage": False})


def _edit(made: _Transcript, path: str, old: str, new: str) -> None:
    whole = PROJECT + "/" + path
    lines = ["-" + line for line in old.splitlines()] + ["+" + line for line in new.splitlines()]
    patch = [{"oldStart": 1, "oldLines": len(old.splitlines()), "newStart": 1, "newLines": len(new.splitlines()), "lines": lines}]
    made.call("Edit", {"replace_all": False, "file_path": whole, "old_string": old, "new_string": new}, UPDATED % whole, {
        "filePath": whole, "oldString": old, "newString": new, "originalFile": old, "structuredPatch": patch,
        "userModified": False})


def _make(made: _Transcript, path: str, content: str) -> None:
    whole = PROJECT + "/" + path
    made.call("Write", {"file_path": whole, "content": content}, "File created successfully at: " + whole, {
        "type": "create", "filePath": whole, "content": content, "structuredPatch": [], "originalFile": None})


def _cancel(made: _Transcript, command: str) -> None:
    said = "[Request interrupted by user for tool use]"
    made.call("Bash", {"command": command}, said, "User rejected tool use", failed=True)


def _timeout(made: _Transcript, command: str) -> None:
    said = "Exit code 143\nCommand timed out after 2m 0.0s"
    made.call("Bash", {"command": command}, said, "Error: " + said, failed=True)


def _agent(made: _Transcript) -> None:
    made.agent = "a6ab4c1d35c99b649"
    made.lines[made.agent] = []


def _main(made: _Transcript) -> None:
    made.agent = ""


_STEPS = {"ask": _ask, "say": _say, "run": _run, "edit": _edit, "make": _make, "cancel": _cancel, "timeout": _timeout,
          "agent": _agent, "main": _main}
