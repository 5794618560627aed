"""The verb `view`."""

from __future__ import annotations

import os
import sys
import threading
import time

from memory.cli.recall import find_dsn
from memory.cli.upkeep import find_work_tree
from memory.core import UsageError, clock
from memory.core.plaintext import format_count
from memory.doors import registry
from memory.recall.semantic import load_provider
from memory.terminal.call import Call, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.doors.page.pages import Pages
    from memory.doors.page.web import Site

IDLE = 30  # minutes without a request until the page ends


def view(call: Call) -> int:
    """Show the memory in a browser, or export it."""
    options = call.options
    if not options.export and options.private:
        raise UsageError("--private is for `dayleaf store view --export FILE`")
    if options.export and options.port is not None:
        raise UsageError("--export writes a file and serves nothing: leave --port out")
    if options.export:
        return _export(call)
    try:
        from memory.doors.page import pages
    except ImportError as error:
        raise registry.lacking("the page", "view", error) from None
    semantic = load_provider(call.settings, "", call.env)
    shown = pages.Pages(call.place, call.settings, clock.now, semantic, find_dsn(call))
    return _serve(call, shown)


def _serve(call: Call, pages: Pages) -> int:
    from memory.doors.page import sheets, web

    end = web.open_socket(call.options.port or 0)
    site = web.Site(pages, end, 60.0 * IDLE, time.monotonic, call.env)
    with call.spinner("reading the records"):
        sheets.load_templates()
        pages.timeline()
        pages.update()
        sheets.render_sheet(pages.timeline(), "")  # the first visit's page, into the caches
    address = site.gate.address()
    line = (
        "dayleaf store view: open this address once; Ctrl-C ends the page, as do %d minutes "
        "without a visit" % IDLE
    )
    call.answer({"address": address}, [line, "  " + address])
    threading.Thread(target=_print_addresses, args=(site,), daemon=True).start()
    try:
        if site.run():
            warn("stopped: no visit for %d minutes" % IDLE)
    except KeyboardInterrupt:
        pass
    pages.catalogue.save()
    return 0


def _print_addresses(site: Site) -> None:
    """Print another address each time Enter is pressed."""
    while sys.stdin.isatty() and sys.stdin.readline():
        print("  " + site.gate.address(), flush=True)


def _export(call: Call) -> int:
    from memory.doors.page import onefile

    options = call.options
    tree = find_work_tree(os.path.abspath(options.export)) if options.private else ""
    if tree:
        raise UsageError(
            "%s lies in the git work tree %s, where a commit would give your memories away; "
            "name a FILE elsewhere" % (options.export, tree)
        )
    onefile.require_free_path(options.export)
    with call.spinner("reading the records"):
        shown = onefile.read_contents(call.place, call.settings, call.now, options.private)
    size = onefile.save(options.export, shown)
    written, left = len(shown.records), shown.left_out
    line = "wrote %s with %s" % (options.export, format_count(written, "record"))
    if left:
        line += "; %s left out: --private takes them too" % format_count(left, "record")
    value = {"path": options.export, "records": written, "leftOut": left, "bytes": size}
    return call.answer(value, [line])
