"""What one line of a transcript says."""

from __future__ import annotations

import pytest

from memory.session.entries import (
    ENDED,
    INTERRUPTED,
    NOTIFIED,
    PLAN,
    PROMPT,
    REPORT,
    RESULT,
    SLASH,
    STEER,
    SUMMARY,
    TEAM,
    TITLE,
    TODOS,
    parse_entries,
    parse_queued,
)

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). "
)


def _line(content, **more):
    return {
        "type": "user",
        "uuid": "u",
        "timestamp": "2026-01-05T10:00:00.000Z",
        "message": {"role": "user", "content": content},
        **more,
    }


def _result(text, data=None, failed=False, **more):
    block = {"type": "tool_result", "tool_use_id": "c", "content": text, "is_error": failed}
    return _line([block], toolUseResult=data, **more)


def _told(record):
    return [(e.kind, e.name, e.text) for e in parse_entries(record)]


def test_a_refusal_comes_with_its_reason_beside_the_result():
    text = REFUSED + "To tell you how to proceed, the user said:\nuse the other function"
    result, steer = parse_entries(_result(text, "Error: " + text, failed=True))
    assert (result.kind, result.refused, result.failed) == (RESULT, True, True)
    assert (steer.kind, steer.name, steer.text, steer.id) == (
        STEER,
        "refused",
        "use the other function",
        "c",
    )


def test_a_refusal_without_a_reason_has_no_text():
    stop = REFUSED + "STOP what you are doing and wait for the user to tell you how to proceed."
    assert _told(_result(stop, failed=True))[1:] == [(STEER, "refused", "")]


def test_each_answer_in_a_menu_is_an_entry():
    data = {"questions": [], "answers": {"Which store?": "Files", "Which cut?": "By turn"}}
    assert _told(_result("User has answered your questions: …", data))[1:] == [
        (STEER, "answer", "Which store? → Files"),
        (STEER, "answer", "Which cut? → By turn"),
    ]


def test_an_answer_says_whether_the_menu_offered_it():
    menu = {"question": "Which?", "options": [{"label": "Files"}, {"label": "Files, zipped"}]}
    for answer, offered in (("Files", True), ("Files, zipped, Files", True), ("Mail", False)):
        data = {"questions": [menu], "answers": {"Which?": answer}}
        (entry,) = parse_entries(_result("…", data))[1:]
        assert entry.data is offered, answer


def test_an_answer_may_hold_several_choices_and_a_note():
    noted = {
        "answers": {"Which store?": ["Files", "Mail"]},
        "annotations": {"Which store?": {"notes": "only plain ones"}},
    }
    assert _told(_result("…", noted))[1:] == [
        (STEER, "answer", "Which store? → Files, Mail (only plain ones)")
    ]


def test_an_approved_plan_is_told_with_its_text():
    text = (
        "User has approved your plan. You can now start coding.\n\n## Approved Plan:\n"
        "# Split the reader\n\n1. Cut it"
    )
    assert _told(_result(text, {"plan": "# Split the reader\n\n1. Cut it", "isAgent": False}))[
        1:
    ] == [(STEER, "plan", ""), (PLAN, "", "# Split the reader\n\n1. Cut it")]
    block = {"type": "tool_result", "tool_use_id": "c", "content": text}
    assert _told(_line([block, {"type": "text", "text": "keep the names"}]))[1:] == [
        (STEER, "plan", "keep the names"),
        (PLAN, "", "# Split the reader\n\n1. Cut it"),
    ]
    assert _told(_result(text))[2] == (PLAN, "", "# Split the reader\n\n1. Cut it")


def test_a_prompt_that_carries_a_plan_is_told_as_both_without_the_clients_line():
    text = (
        "Implement the following plan:\n\n# Split the reader\n\n1. Cut it\n\n\n"
        "If you need specific details from before exiting plan mode (like exact code snippets), "
        "read the full transcript at: /w/s.jsonl"
    )
    assert _told(_line(text)) == [
        (PROMPT, "", "Implement the following plan:\n\n# Split the reader\n\n1. Cut it"),
        (PLAN, "", "# Split the reader\n\n1. Cut it"),
    ]


def test_a_todo_list_is_told_whole_or_by_what_changed():
    whole = parse_entries(
        _result(
            "…",
            {
                "oldTodos": [],
                "newTodos": [{"content": "Cut", "status": "pending", "activeForm": "Cutting"}],
            },
        )
    )[1]
    assert (whole.kind, whole.name, whole.data) == (TODOS, "list", [("", "Cut", "pending")])
    made = parse_entries(_result("…", {"task": {"id": "1", "subject": "Cut"}}))[1]
    assert (made.kind, made.name, made.data) == (TODOS, "delta", [("1", "Cut", "pending")])
    done = parse_entries(
        _result(
            "…",
            {
                "success": True,
                "taskId": "1",
                "statusChange": {"from": "pending", "to": "completed"},
            },
        )
    )[1]
    assert done.data == [("1", "", "completed")]


def test_a_summary_of_the_client_is_told_without_its_analysis():
    text = (
        "This session is being continued from a previous conversation that ran out of context. The "
        "conversation is summarized below:\nAnalysis:\nLet me see.\n\nSummary:\n1. Request:\n"
        "   - Cut it\n\nIf you need specific details from before compaction (like exact code "
        "snippets), read the full transcript at: /w/s.jsonl\nPlease continue."
    )
    assert _told(_line(text, isCompactSummary=True)) == [(SUMMARY, "", "1. Request:\n   - Cut it")]


def test_a_session_has_titles():
    assert _told({"type": "summary", "summary": "Cut the reader", "leafUuid": "x"}) == [
        (TITLE, "summary", "Cut the reader")
    ]
    assert _told({"type": "ai-title", "aiTitle": "Cut"}) == [(TITLE, "ai", "Cut")]
    assert _told({"type": "custom-title", "customTitle": "Mine"}) == [(TITLE, "custom", "Mine")]


def test_a_subagents_last_words_are_a_report():
    data = {
        "status": "completed",
        "agentId": "a1",
        "content": [
            {"type": "text", "text": "It is cut.\nagentId: b (of another)\nDone."},
            {
                "type": "text",
                "text": (
                    "agentId: a1 (for resuming …)\n<usage>total_tokens: 3\ntool_uses: 0</usage>"
                ),
            },
        ],
    }
    report = parse_entries(_result("…", data))[1]
    assert (report.kind, report.text, report.id) == (
        REPORT,
        "It is cut.\nagentId: b (of another)\nDone.",
        "c",
    )


def test_slash_commands_of_old_clients_are_told_by_their_form():
    """They bear no mark that says whose they are."""
    asks = (
        "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n"
        "<command-args>a cut</command-args>"
    )
    own = (
        "<command-name>/exit</command-name>\n <command-message>exit</command-message>\n"
        " <command-args></command-args>"
    )
    words = own.replace("exit", "compact").replace("<command-args>", "<command-args>keep the names")
    assert [_told(_line(t)) for t in (asks, own, words)] == [
        [(SLASH, "", "/plan a cut")],
        [],
        [(SLASH, "", "/compact keep the names")],
    ]


def test_what_the_editor_adds_before_a_prompt_is_taken_out():
    text = "<ide_opened_file>The user opened the file a.go.</ide_opened_file>\nand here?"
    assert _told(_line([{"type": "text", "text": text}])) == [(PROMPT, "", "and here?")]


def test_a_plan_that_the_client_sends_itself_is_a_prompt_of_the_users():
    """The user approved it "with a clear context"; the remark stands at its end."""
    text = (
        "Implement the following plan:\n\n# Split it\n\n\n"
        "If you need specific details from before exiting plan mode (like this), read the full "
        "transcript at: /w/s.jsonl\n\nUser feedback on this plan: keep the names"
    )
    assert _told(_line(text, origin={"kind": "auto-continuation"}, planContent="# Split it")) == [
        (
            PROMPT,
            "",
            (
                "Implement the following plan:\n\n# Split it\n\n"
                "User feedback on this plan: keep the names"
            ),
        ),
        (PLAN, "", "# Split it"),
    ]
    assert _told(_line("Go on.", origin={"kind": "auto-continuation"})) == []


def test_what_the_user_says_as_a_call_is_let_through_is_told():
    blocks = [
        {"type": "tool_result", "tool_use_id": "c", "content": "done"},
        {"type": "text", "text": "but keep it empty"},
    ]
    assert [(e.kind, e.name, e.text, e.id) for e in parse_entries(_line(blocks))][1:] == [
        (STEER, "while working", "but keep it empty", "c")
    ]
    blocks[1]["text"] = "[Request interrupted by user for tool use]"
    assert [e.kind for e in parse_entries(_line(blocks))] == [RESULT]


def test_words_given_to_the_model_as_it_works_are_told_and_the_machines_are_not():
    def row(prompt, **more):
        return {
            "type": "attachment",
            "attachment": {"type": "queued_command", "prompt": prompt, **more},
        }

    assert _told(row("also check windows", origin={"kind": "human"})) == [
        (STEER, "while working", "also check windows")
    ]
    assert _told(row([{"type": "text", "text": "see this"}, {"type": "image"}])) == [
        (STEER, "while working", "see this")
    ]
    assert _told(row("from another agent", origin={"kind": "peer"})) == []
    assert _told(row("forwarded", isMeta=True)) == []
    note = (
        "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>c</tool-use-id>\n"
        '<summary>Agent "count files" finished</summary>\n'
        "<result>42 files</result>\n<usage>…</usage>\n</task-notification>"
    )
    (report,) = parse_entries(row(note, origin={"kind": "task-notification"}))
    assert (report.kind, report.name, report.text) == (REPORT, "count files", "42 files")
    assert (
        _told({"type": "attachment", "attachment": {"type": "hook_success", "content": "ours"}})
        == []
    )


def test_private_parts_stay_out_of_all_that_the_user_says():
    hidden = "a <private>SECRET</private> b"
    told = [
        *_told(_result(REFUSED + "the user said:\n" + hidden, failed=True)),
        *_told(_line("Implement the following plan:\n" + hidden)),
        *_told(_result("…", {"answers": {hidden: hidden}})),
    ]
    assert not [row for row in told if row[0] != RESULT and "SECRET" in row[2]]


def test_a_call_that_a_rule_forbids_is_refused_without_words_of_the_users():
    text = "Permission to use Bash with command rm -r x has been denied."
    (result,) = parse_entries(_result(text, "Error: " + text, failed=True))
    assert result.refused
    (unasked,) = parse_entries(
        _result("touch in '/w' needs approval.", failed=True, toolDenialKind="user-rejected")
    )
    assert unasked.refused
    (stopped,) = parse_entries(_result(REFUSED, failed=True, toolDenialKind="interrupted"))
    assert not stopped.refused
    (forged,) = parse_entries(
        _result(REFUSED, failed=True, permissionDecision={"decision": "accept"})
    )
    assert not forged.refused
    (other,) = parse_entries(_result("Exit code 126\npermission denied", failed=True))
    assert not other.refused


NEVER_RAN = [
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). To tell you how to proceed, the "
    "user said:\nuse the other branch",
    (
        "The user doesn't want to take this action right now. STOP what you are doing and wait for "
        "the user to tell you how to proceed."
    ),
    "Permission to use Bash with command rm -rf build has been denied.",
    "Claude requested permissions to use Bash, but you haven't granted it yet.",
    "This command requires approval",
    "PreToolUse:Bash hook error: [guard.sh]: no pushes on Friday",
    "Permission for this action has been denied. Reason: it deletes data",
]


@pytest.mark.parametrize("said", NEVER_RAN)
def test_what_a_user_a_rule_or_a_hook_stopped_is_refused(said):
    first, *_ = parse_entries(_result(said, "Error: " + said, failed=True))
    assert first.refused


# ---- what the host notes of turns, tasks and teams


def rows(*records):
    """The entries of some lines, as (kind, name, text, data)."""
    return [
        (one.kind, one.name, one.text, one.data)
        for record in records
        for one in parse_entries(record)
    ]


def user(text, **more):
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


@pytest.mark.parametrize(
    ("record", "kinds"),
    [
        ({"type": "system", "subtype": "turn_duration", "durationMs": 5}, [ENDED]),
        (
            {"type": "system", "subtype": "stop_hook_summary", "preventedContinuation": False},
            [ENDED],
        ),
        ({"type": "system", "subtype": "stop_hook_summary", "preventedContinuation": True}, []),
        ({"type": "system", "subtype": "turn_duration", "isSidechain": True}, []),
        (user("[Request interrupted by user]"), [INTERRUPTED]),
        (user("[Request interrupted by user for tool use]"), [INTERRUPTED]),
    ],
)
def test_the_host_notes_how_a_turn_ended(record, kinds):
    assert [kind for kind, *_ in rows(record)] == kinds


def test_a_list_of_tasks_tells_the_state_of_each():
    """Whatever was told of them before."""
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "#1 [completed] Move it"}
    told = {
        "tasks": [
            {"id": "1", "subject": "Move it", "status": "completed"},
            {"id": 2, "subject": "Test it", "status": "pending"},
        ]
    }
    [_, (kind, name, _, data)] = rows(user([result], toolUseResult=told))
    assert (kind, name) == (TODOS, "list")
    assert data == [("1", "Move it", "completed"), ("2", "Test it", "pending")]


def test_a_teammates_message_is_told_as_theirs():
    """What their client sends as JSON says no word, but for a task that is handed out."""
    said = (
        '<teammate-message teammate_id="lead" color="blue">\n'
        "Review the cache key.\n</teammate-message>"
    )
    idle = (
        '<teammate-message teammate_id="ann">{"type":"idle_notification",'
        '"from":"ann"}</teammate-message>'
    )
    task = (
        '<teammate-message teammate_id="lead">{"type":"task_assignment","taskId":"4",'
        '"subject":"Move it","description":"To disk"}</teammate-message>'
    )
    told = rows(user(said), user(idle), user(task))
    assert [row for row in told if row[0] != NOTIFIED] == [
        (TEAM, "lead", "Review the cache key.", None),
        (TEAM, "lead", "Move it: To disk", None),
    ]


BANNER = "Another session sent a message:\n"
NOTE = "\n\nNobody typed this message."
REPORTED = (
    '<agent-message from="a0f1">\n[Report of a subagent.]\n  The cache is cut.\n\n'
    "  Nothing is left.\n</agent-message>"
)
PEER = '<cross-session-message from="l1" name="The other">\nUse tabs.\n</cross-session-message>'
CHANNEL = '<channel source="chat" chat_id="1" user="ann">\nbuild it\n</channel>'
MATE = '<teammate-message teammate_id="bo">\nIt is cut.\n</teammate-message>'


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (MATE, (TEAM, "bo", "It is cut.")),
        (PEER, (TEAM, "The other", "Use tabs.")),
        (CHANNEL, (TEAM, "ann", "build it")),
        (REPORTED, (REPORT, "", "The cache is cut.\nNothing is left.")),
    ],
)
@pytest.mark.parametrize(
    "around", ["%s", BANNER + "%s" + NOTE, "<system-reminder>x</system-reminder>\n\n%s"]
)
def test_what_another_session_or_a_channel_sends_is_told_as_theirs(sent, told, around):
    """Below the host's line about it or without, typed as the client's own or not, and while the
    model works; a person may ask about such a message.
    """
    raw = around % sent
    quiet = {"isMeta": True, "origin": {"kind": "peer"}, "turnOrigin": "peer"}
    for record in (user(raw), user(raw, turnOrigin="sdk", promptSource="sdk")):
        assert [row[:3] for row in rows(record)] == [(NOTIFIED, "", ""), told]
    if "system-reminder" not in raw:
        assert [row[:3] for row in rows(user(raw, **quiet))] == [told]
        attached = {"type": "queued_command", "prompt": raw, "origin": {"kind": "peer"}}
        assert [row[:3] for row in rows({"type": "attachment", "attachment": attached})] == [told]
        assert [(one.kind, one.text) for one in parse_queued(user(""), raw)] == [(told[0], told[2])]
    asked = rows(user(raw, origin={"kind": "human"}))
    assert [row[0] for row in asked] == [PROMPT]


def test_a_banner_without_a_message_is_a_question():
    assert [row[:3] for row in rows(user(BANNER + "what does that mean?"))] == [
        (PROMPT, "", BANNER + "what does that mean?")
    ]


@pytest.mark.parametrize(
    ("noted", "asks"),
    [
        ({"turnOrigin": "scheduled", "scheduledTaskId": "f1"}, False),
        ({"turnOrigin": "peer"}, False),
        ({"turnOrigin": "sdk", "promptSource": "sdk"}, True),
        ({"turnOrigin": "human", "promptSource": "suggestion_accepted"}, True),
        ({"turnOrigin": "another kind", "origin": {"kind": "human"}}, True),
    ],
)
def test_the_host_notes_who_began_a_turn(noted, asks):
    assert [row[0] for row in rows(user("check the build", **noted))] == [PROMPT] * asks


@pytest.mark.parametrize(
    ("noted", "headless"),
    [
        ({"entrypoint": "sdk-cli", "promptSource": "sdk", "turnOrigin": "sdk"}, True),
        ({"entrypoint": "sdk-cli"}, True),
        ({"promptSource": "sdk"}, True),
        ({"turnOrigin": "sdk"}, True),
        ({"entrypoint": "cli", "promptSource": "sdk"}, True),
        ({"entrypoint": "claude-code-github-action"}, True),
        ({"entrypoint": "mcp"}, True),
        ({"entrypoint": "local-agent"}, True),
        ({"entrypoint": "local-agent", "origin": {"kind": "human"}}, False),
        ({"entrypoint": "sdk-cli", "promptSource": "sdk", "turnOrigin": "human"}, False),
        ({"entrypoint": "sdk-cli", "promptSource": "sdk", "imagePasteIds": [1]}, False),
        ({"entrypoint": "claude-vscode", "promptSource": "sdk"}, False),
        ({"entrypoint": "claude-desktop", "promptSource": "sdk"}, False),
        (
            {"entrypoint": "remote_mobile", "promptSource": "sdk", "origin": {"kind": "human"}},
            False,
        ),
        ({"entrypoint": "cli", "promptSource": "typed"}, False),
        ({"entrypoint": "cli"}, False),
        ({"entrypoint": "claude-jetbrains"}, False),
        ({}, False),
    ],
)
def test_in_a_terminal_an_editor_and_an_app_a_person_asks(noted, headless):
    (asked,) = parse_entries(user("fix the cache key", **noted))
    assert asked.headless is headless


@pytest.mark.parametrize("close", ["</pasted_content>", '</pasted_content id="6c">'])
def test_what_was_pasted_is_quoted_below_what_was_typed(close):
    """Alone it is what was asked."""
    paste = '\n\n<pasted_content id="6c">\nError: no key\n  at line 3\n%s' % close
    told = rows(user(paste + "\n\nfix this crash"), user(paste), user("why?" + paste + "\n"))
    assert [text for _, _, text, _ in told] == [
        "fix this crash\n> Error: no key\n>   at line 3",
        "Error: no key\n  at line 3",
        "why?\n\n\n> Error: no key\n>   at line 3",
    ]
    (steer,) = parse_queued(user(""), paste + "\nalso this")
    assert steer.text == "also this\n> Error: no key\n>   at line 3"


def test_beside_tools_that_were_loaded_the_host_speaks():
    """A search for tools is answered by references to them; beside other results the user does."""
    loaded = {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": [{"type": "tool_reference", "tool_name": "TaskCreate"}],
    }
    spoken = {"type": "text", "text": "It is loaded."}
    assert [row[0] for row in rows(user([loaded, spoken]))] == [RESULT]
    said = {**loaded, "content": 'it says "tool_reference"'}
    assert [row[0] for row in rows(user([said, spoken]))] == [RESULT, STEER]


def test_a_client_that_shuts_down_is_no_user_who_interrupts():
    assert rows(user("[Request interrupted by user]", interruptedByShutdown=True)) == []


def test_words_behind_the_mark_of_an_interruption_are_a_prompt():
    assert rows(user("[Request interrupted by user for tool use]\nuse ninja instead")) == [
        (INTERRUPTED, "", "", None),
        (PROMPT, "", "use ninja instead", None),
    ]


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ('{"type":"task_assignment","taskId":"4"}', []),
        ("<task-notification><task-id>a</task-id></task-notification>", []),
        ("also check windows", ["also check windows"]),
        ('{"retries": 5} is what I want', ['{"retries": 5} is what I want']),
    ],
)
def test_of_the_queue_only_what_was_typed_counts(typed, kept):
    assert [one.text for one in parse_queued(user(""), typed)] == kept


@pytest.mark.parametrize(
    ("raw", "asked"),
    [
        (
            (
                "<system_instruction>\nYou work for a wrapper.\n"
                "</system_instruction>\n\nfix the cache key"
            ),
            "fix the cache key",
        ),
        (
            (
                "<environment_context>cwd: /w</environment_context>\n"
                "<user_query>fix the cache key</user_query>"
            ),
            "fix the cache key",
        ),
        ("<user_message>fix the cache key</user_message>", "fix the cache key"),
        (
            "<task>\nfix the cache key\n</task>\n\n"
            "<environment_details>\n# Open files\n</environment_details>",
            "fix the cache key",
        ),
        (
            "fix the cache key\n\n<user-prompt-submit-hook>\nAlways lint.\n"
            "</user-prompt-submit-hook>\n",
            "fix the cache key",
        ),
        ("<app-context>\nrules\n</app-context>\n\nfix the cache key", "fix the cache key"),
        ("what is <system_x>y</system_x>", "what is <system_x>y</system_x>"),
        ("<Button> does not render", "<Button> does not render"),
        ("why does <context> leak?", "why does <context> leak?"),
        (
            "<system_instruction>never closed\n\nfix it",
            "<system_instruction>never closed\n\nfix it",
        ),
    ],
)
def test_what_a_wrapper_puts_around_a_prompt_is_not_the_users(raw, asked):
    assert [text for kind, _, text, _ in rows(user(raw)) if kind == PROMPT] == [asked]


def test_a_wrapper_that_says_nothing_of_the_users_asks_nothing():
    """As where a paste became a file that it names; tags that people use ask by what is in them."""
    attached = "<system_instruction>\nRead these files first.\n- a.txt\n</system_instruction>\n\n"
    asked = rows(user(attached), user("<instructions>\nfix it\n</instructions>"))
    assert [text for _, _, text, _ in asked] == ["fix it"]


def test_placeholders_of_account_memory_say_nothing():
    withheld = "[conversation summary withheld: it may include account memory]"
    model = {
        "type": "assistant",
        "message": {"role": "assistant", "content": [{"type": "text", "text": withheld}]},
    }
    assert (
        rows(user(withheld), user("x\nSummary:\n" + withheld, isCompactSummary=True), model) == []
    )
