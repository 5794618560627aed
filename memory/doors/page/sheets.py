"""HTML of a page: templates that escape, and safe HTML of a record's markdown.

No name from a request ever becomes a template's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markupsafe import Markup

from memory.core import clock, layout
from memory.core.plaintext import format_age, format_count, one_line, strip_hidden
from memory.doors.page.onefile import FOLDER, format_day
from memory.terminal import localtimes, screen

if TYPE_CHECKING:
    from memory.doors.page.projects import Project

MOST_LINE = 2000  # characters of one line
MOST_MARKDOWN = 1 << 18  # characters of one text
TAGS = set(
    "p br hr h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s a table thead tbody tr th "
    "td".split()
)
ATTRIBUTES = {
    "a": {"href", "title", "class"},
    "code": {"class"},
    "ol": {"start"},
    "th": {"align"},
    "td": {"align"},
}
UNITS = {"y": "year", "mo": "month", "d": "day", "h": "hour", "m": "minute"}


class Sheet(NamedTuple):
    """The content of a page: `values` for the template `name`."""

    name: str
    title: str
    values: dict[str, Any]


def render_sheet(
    sheet: Sheet, base: str, part: bool = False, root: str = "", projects: Sequence[Project] = ()
) -> str:
    """Render a sheet as HTML with links below `base`; `part` omits the frame."""

    def to_record(id: str) -> str:
        return "%s/record/%s" % (base, quote(id, safe=""))

    def to_session(entry: dict[str, Any]) -> str:
        if entry["by_hand"]:
            return to_record(entry["record"])
        return "%s/session/%s" % (base, quote(entry["id"], safe=""))

    template = make_environment().get_template(sheet.name + ".html")
    return template.render(
        sheet.values,
        title=sheet.title,
        page=sheet.name,
        base=base,
        part=part,
        root=root or base,
        projects=projects,
        to_record=to_record,
        to_session=to_session,
    )


@lru_cache(1)
def make_environment() -> Environment:
    """Return the templates' environment, which escapes values."""
    templates = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters.update(
        source_line=screen.format_source,
        markdown=_render_markdown,
        inline=_render_inline,
        line=one_line,
        day=clock.day,
        age=format_age,
        count=format_count,
        minute=localtimes.to_local,
        localised=lambda record: localtimes.localize_body(record, record.body),
        project=layout.project_name,
        ago=_format_age,
        hour=lambda instant: clock.iso(instant)[11:16],
        dayname=_format_day,
    )
    return templates


def load_templates() -> None:
    """Load the templates before the first request."""
    for path in FOLDER.glob("*.html"):
        make_environment().get_template(path.name)


# ---- markdown


def _format_day(day: str, today: str) -> str:
    at, now = clock.parse(day) or 0.0, clock.parse(today) or 0.0
    near = {0.0: "Today · ", clock.DAY: "Yesterday · "}.get(now - at, "")
    named = format_day(day)
    return near + (named.rpartition(" ")[0] if day[:4] == today[:4] else named)


def _format_age(seconds: float) -> str:
    """Format an age as `3 hours ago` or `just now`."""
    age = format_age(seconds)
    if age == "0m":
        return "just now"
    number = age.rstrip(ascii_lowercase)
    return format_count(int(number), UNITS[age[len(number) :]]) + " ago"


@pass_context
def _render_markdown(context: Context, text: str) -> Markup:
    return markdown_to_html(text, context["to_record"])


def markdown_to_html(text: str, to_record: Callable[[str], str]) -> Markup:
    """Convert markdown to safe HTML without raw markup and pictures.

    to_record: returns the address for a `[[link]]`.
    """
    shown = strip_hidden(text)
    left = len(shown) - MOST_MARKDOWN
    html = _make_parser().render(shown[:MOST_MARKDOWN], {"to_record": to_record})
    safe = nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
    more = "<p>… %s more are in the file</p>" % format_count(left, "character") if left > 0 else ""
    return Markup(safe + more)


def _render_inline(text: str) -> Markup:
    html = _make_parser().renderInline(one_line(text, MOST_LINE), {"to_record": lambda id: ""})
    return Markup(nh3.clean(html, tags={"code", "em", "strong", "s"}, attributes={}))


@lru_cache(1)
def _make_parser() -> MarkdownIt:
    parser = (
        MarkdownIt("commonmark", {"html": False, "linkify": False})
        .enable(["table", "strikethrough"])
        .disable("image")
    )
    parser.inline.ruler.before("link", "to_record", _parse_record_link)
    parser.core.ruler.push("below", _lower_headings)
    return parser


def _parse_record_link(state: StateInline, silent: bool) -> bool:
    """Parse `[[target]]` or `[[target|label]]`, a rule for markdown-it."""
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


def _lower_headings(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h%d" % min(int(token.tag[1]) + 1, 6)
