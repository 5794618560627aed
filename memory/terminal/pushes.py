"""What reached the model, and what would, in lines: for why, load and status."""

from __future__ import annotations

from typing import Any

from memory.core import clock
from memory.core.plaintext import count, one_line, plain
from memory.hook import named
from memory.terminal import screen

PROMPTS = ("prompt", "agent")  # events of receipts that answer a prompt, a person's or a subagent's
NEAREST = 3  # of what stayed below the threshold in a session


def off(found: list[dict[str, str]]) -> list[str]:
    """Write where pushes are off."""
    return [one_line("pushes: off %s; %s" % (one["where"], one["remedy"])) for one in found]


def pushed(value: dict[str, Any], now: float) -> list[str]:
    """Return the lines of `accounts.report`: each start and prompt with the records that it got."""
    if not value["session"]:
        return ["nothing was put before a prompt here yet"]
    out = ["session " + value["session"]]
    empty: list[str] = []
    near: list[str] = []
    for event in value["events"]:
        if event["event"] in PROMPTS and not event["chosen"] and len(value["events"]) > 1:
            empty.append(event["event"])
            near += _below(event)
            continue
        out += ["", *_event(event, now)]
    if empty:
        counts = ((empty.count(event), what) for event, what in zip(PROMPTS, ("prompt", "subagent")))
        out += ["", "%s got nothing" % " and ".join(count(*one) for one in counts if one[0])]
        out += ["  nearest, below the threshold: " + "  ".join(sorted(near, reverse=True)[:NEAREST])] if near else []
    return out


def _below(event: dict[str, Any]) -> list[str]:
    """Return what came nearest to the threshold of an event, as score and id."""
    found = event.get("below")
    return ["%.2f %s" % (_real(item[1]), one_line(str(item[0]))) for item in found
            if isinstance(item, list) and len(item) == 2] if isinstance(found, list) else []


def _event(event: dict[str, Any], now: float) -> list[str]:
    instant = clock.parse(str(event.get("t"))) or now
    asked = event.get("prompt") or event.get("query")
    what = {"start": "start (%s)" % event.get("source"), "prompt": "prompt %s" % asked, "agent": "subagent of prompt %s" % asked,
            "wall": "failed %s, known from another session" % event.get("tool"),
            "off": "switched off", "on": "switched on"}.get(event["event"], str(event["event"]))
    head = "%s  %s" % (clock.iso(instant), one_line(what))
    if event["event"] == "wall":
        head += "  %s, %s ms" % (count(_int(event, "chars"), "character"), _int(event, "ms"))
    elif event["event"] not in ("start", *PROMPTS):
        return [head]
    head += "" if event["event"] == "wall" else "  %s, %s scored, %s, %s ms" % (
        event.get("strategy") or "no strategy", count(_int(event, "candidates"), "candidate"),
        count(_int(event, "chars"), "character"), _int(event, "ms"))
    head += "  LOST: it did not reach the model" if event.get("lost") else ""
    rows = [["%.2f" % _real(item["score"]), one_line(item["id"]),
             one_line(item["title"]) or "(no longer there)", one_line(item["reason"])]
            for item in event["chosen"]]
    unfit = event.get("unfit")
    left = ["  did not fit: " + one_line(", ".join(map(str, unfit)))] if isinstance(unfit, list) and unfit else []
    left += ["  below the threshold: " + one for one in _below(event)]
    left += ["  the index was behind the files"] if event.get("stale") is True else []
    unread = _int(event, "unread")
    left += ["  %s not looked at, for want of an index" % count(unread, "file")] if unread > 0 else []
    return [head, *(screen.table(rows, "  ", (0,)) or
                   ["  counts and titles only" if _int(event, "chars") else "  nothing"]), *left]


def _int(event: dict[str, Any], key: str) -> int:
    return int(_real(event.get(key)))


def _real(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def loaded(value: dict[str, Any], explain: bool) -> list[str]:
    """Write what `accounts.load` returned.  explain: every candidate, and the block itself."""
    out = ["strategy %s: %s, %s tokens%s" % (
        value["strategy"], count(value["learnings"], "learning"), "{:,}".format(value["learningTokens"]),
        ", category " + value["category"] if value["category"] else "")]
    out += off(value["off"])
    if not value["enabled"] and not value["off"]:
        out.append("pushes: off with a prompt; load.prompt is false (`dayleaf config list`)")
    given = sum(pick["reason"] == value["strategy"] for pick in value["picks"])
    said = named(value["strategy"]).said(given, value["learnings"])
    out += [said] if said and not value["off"] else []
    rows = [["%.2f" % pick["relevance"], pick["id"], one_line(pick["title"]), pick["reason"]] for pick in value["picks"]]
    head = "chosen" if value["enabled"] and not value["off"] else "would be chosen"
    chosen = ["", "%s (%s):" % (head, count(len(rows), "record")), *screen.table(rows, "  ", (0,))]
    out += chosen if rows else ["nothing reaches the model"]
    if value["didNotFit"]:
        out += ["", "did not fit:"] + ["  %s  %s" % (one["id"], one_line(one["title"])) for one in value["didNotFit"]]
    out += ["", "below the threshold of passages, %.2f:" % value["passageThreshold"], *screen.table(
        [["%.2f" % one["relevance"], one["id"], one_line(one["title"])] for one in value["below"]], "  ", (0,))] \
        if value["below"] else []
    out += ["", "%s, %s tokens; %s tokens saved against loading every learning" % (
        count(value["characters"], "character"), value["tokens"], "{:,}".format(value["saved"]))]
    if explain:
        rows = [["%.2f" % one["relevance"], one["id"], one_line(one["title"]), one["leftOut"] or "chosen",
                 "  ".join("%s %.2f" % (one_line(term), part) for term, part in one["terms"].items())]
                for one in value["considered"]]
        if rows:
            out += ["", "candidates (the best %d, threshold %.2f):" % (len(rows), value["threshold"]),
                    *screen.table(rows, "  ", (0,))]
        out += ["", plain(value["block"])] if value["block"] else []
    return out
