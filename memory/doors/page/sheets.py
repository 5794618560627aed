"""HTML of what is shown: templates that escape, and a record's markdown made safe.

The templates, the style and the script are files of the folder `page`; a name from outside leads to
none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markupsafe import Markup

from memory.core import clock
from memory.core.plaintext import age, count, one_line, plain
from memory.core.records import Record
from memory.doors.page.onefile import FOLDER, day_name
from memory.terminal import localtimes, screen

if TYPE_CHECKING:
    from memory.doors.page.projects import Project

MOST_LINE = 2000  # characters of one line
MOST_MARKDOWN = 1 << 18  # characters of one text that are made into HTML
TAGS = set(
    (
        "p br hr h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s a table "
        "thead tbody tr th td"
    ).split()
)
ATTRIBUTES = {
    "a": {"href", "title", "class"},
    "code": {"class"},
    "ol": {"start"},
    "th": {"align"},
    "td": {"align"},
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
UNITS = {"y": "year", "mo": "month", "d": "day", "h": "hour", "m": "minute"}


class Sheet(NamedTuple):
    """The content of one address.

    name: of the template. values: for the template.
    """

    name: str
    title: str
    values: dict[str, Any]


def rendered(
    sheet: Sheet,
    base: str,
    part: bool = False,
    root: str = "",
    projects: Sequence[Project] = (),
) -> str:
    """Return the HTML of a sheet.

    base: the folder for links. part: its content alone, without the frame.
    """

    def to_record(id: str) -> str:
        return "%s/record/%s" % (base, quote(id, safe=""))

    def to_session(told: dict[str, Any]) -> str:
        return (
            to_record(told["record"])
            if told["by_hand"]
            else "%s/session/%s" % (base, quote(told["id"], safe=""))
        )

    return (
        environment()
        .get_template(sheet.name + ".html")
        .render(
            {
                **sheet.values,
                "title": sheet.title,
                "page": sheet.name,
                "base": base,
                "part": part,
                "root": root or base,
                "projects": projects,
                "to_record": to_record,
                "to_session": to_session,
            }
        )
    )


@lru_cache(1)
def environment() -> Environment:
    """Return the templates, with automatic escapes."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        source_line=screen.source_line,
        markdown=_markdown,
        inline=_inline,
        line=one_line,
        day=clock.day,
        age=age,
        count=count,
        minute=localtimes.minute,
        localised=_localised,
        ago=_ago,
        hour=lambda instant: clock.iso(instant)[11:16],
        dayname=_dayname,
    )
    return made


def prepare() -> None:
    """Make the templates ready, so that the first page need not."""
    for path in FOLDER.glob("*.html"):
        environment().get_template(path.name)


# ---- markdown


def _localised(record: Record) -> str:
    return localtimes.body(record, record.body)


def _dayname(day: str, today: str) -> str:
    at, now = clock.parse(day) or 0.0, clock.parse(today) or 0.0
    near = {0.0: "Today · ", clock.DAY: "Yesterday · "}.get(now - at, "")
    named = day_name(day)
    return near + (named.rpartition(" ")[0] if day[:4] == today[:4] else named)


def _ago(seconds: float) -> str:
    """Return how long ago something was: `3 hours ago`, `just now`."""
    said = age(seconds)
    number = said.rstrip(LETTERS)
    if not number:
        return "just now"
    return count(int(number), UNITS[said[len(number) :]]) + " ago"


@pass_context
def _markdown(context: Context, text: str) -> Markup:
    return html_of(text, context["to_record"])


def html_of(text: str, to_record: Callable[[str], str]) -> Markup:
    """Return safe HTML of markdown.

    No raw markup, no pictures, no addresses but those of the web and of records. to_record: returns
    the address of a record named by a `[[link]]`.
    """
    said = plain(text)
    left = len(said) - MOST_MARKDOWN
    html = _parser().render(said[:MOST_MARKDOWN], {"to_record": to_record})
    safe = nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
    more = "<p>… %s more are in the file</p>" % count(left, "character") if left > 0 else ""
    return Markup(safe + more)


def _inline(text: str) -> Markup:
    """Return one line of markdown as safe HTML without links."""
    html = _parser().renderInline(one_line(text, MOST_LINE), {"to_record": lambda id: ""})
    return Markup(nh3.clean(html, tags={"code", "em", "strong", "s"}, attributes={}))


@lru_cache(1)
def _parser() -> MarkdownIt:
    parser = (
        MarkdownIt("commonmark", {"html": False, "linkify": False})
        .enable(["table", "strikethrough"])
        .disable("image")
    )
    parser.inline.ruler.before("link", "to_record", _to_record)
    parser.core.ruler.push("below", _below)
    return parser


def _to_record(state: StateInline, silent: bool) -> bool:
    """Read `[[target]]` and `[[target|label]]`."""
    if not state.src.startswith("[[", state.pos):
        return False
    end = state.src.find("]]", state.pos + 2, state.posMax)
    target, _, label = state.src[state.pos + 2 : end].partition("|")
    target = target.partition("#")[0].strip()
    if end < 0 or not target or "[" in target or "\n" in target or len(target) > 200:
        return False
    if not silent:
        opened = state.push("link_open", "a", 1)
        opened.attrs = {"href": state.env["to_record"](target), "class": "record"}
        state.push("text", "", 0).content = label.strip() or target
        state.push("link_close", "a", -1)
    state.pos = end + 2
    return True


def _below(state: StateCore) -> None:
    """Lower headings below the page's own."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h%d" % min(int(token.tag[1]) + 1, 6)
