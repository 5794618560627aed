"""Words that developers write short: `auth` finds authentication, and authentication finds `auth`."""

from __future__ import annotations

from typing import Dict, FrozenSet

from memory import text

# Forms of one word.  Only what is short for one thing: `res` is result, response and resource.
FORMS = (
    "arg argument; param parameter; config configuration cfg; dir directory; db database; auth authentication; env "
    "environment; msg message; func function fn; doc document documentation; repo repository; dep dependency; async "
    "asynchronous; init initialize initialise; impl implementation; attr attribute; var variable; str string; int integer; "
    "bool boolean; dict dictionary; num number; max maximum; min minimum; tmp temp temporary; info information; spec "
    "specification; lib library; pkg package; ref reference; prod production; js javascript; ts typescript; dim dimension; "
    "coord coordinate; idx index; img image; btn button; err error; char character; len length; val value; obj object; "
    "kwarg keyword; elem element; exec execute; cmd command; ctx context; req request; resp response; app application; "
    "admin administrator; dev development; cert certificate; addr address; del delete; perf performance; regex regexp; gen "
    "generate; conn connection; sync synchronize; mem memory; proc process; calc calculate; desc description; eval "
    "evaluate; struct structure; sec second; ms millisecond; decl declaration; concat concatenate; diff difference; avg "
    "average; rand random; col column; arr array; vec vector; pos position; freq frequency; prob probability; stat "
    "statistics")
OTHERS: Dict[str, FrozenSet[str]] = {
    stem: stems - {stem}
    for stems in (frozenset(map(text.stem, forms.split())) for forms in FORMS.split(";")) for stem in stems}
