"""What stands for records that no model could read."""

from __future__ import annotations

from harness.sources import source

from memory.core import tokeniser
from memory.distill import condense


def test_what_is_not_quoted_is_named_where_the_budget_allows():
    """At a fifth of the length the words that a developer looks for stand there, each once and verbatim."""
    chat = " ".join("We talked about the weather, the food and the long way home on day number %s." % word
                    for word in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"))
    chat += " " + chat.replace("day", "week").replace("weather", "garden") + " " + chat.replace("day", "month").replace("food", "music")
    named = ["src/auth/jwt.py", "getUserToken", "proxy_read_timeout", "--no-cache", "3f9a1c2d", "E0382"]
    body = "The upload failed at night.\n\n" + chat.replace(" on day number six", " beside " + " and then ".join(named))
    digest = condense.condense("why did the upload fail", [source(body)], tokeniser.count_tokens(body) // 5)
    said = digest.bullets[0].text
    assert said.startswith("The upload failed at night.")
    assert all(said.count(word) == 1 for word in named)


def test_the_budget_is_filled_and_never_exceeded():
    """A model reads it: what is left of the budget goes to whatever else the records name."""
    body = " ".join("The upload worker %d stopped in queue/worker_%d.py." % (n, n) for n in range(60))
    for budget in (30, 100, 300):
        digest = condense.condense("why did the workers stop", [source(body)], budget)
        assert 0.6 * budget < digest.tokens_out <= budget
