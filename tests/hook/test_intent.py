"""Which prompts ask the memory."""

from __future__ import annotations

import pytest

from memory.hook import intent


@pytest.mark.parametrize(
    "prompt",
    [
        "can you tell me again why resume writes the marker first",
        "Remind me which port the proxy takes",
        "what was the name of the field that holds the agent",
        "didn't we already fix this?",
        "explain it to me once more, please",
        "sag mir nochmal, warum der Proxy den Port wechselt",
        "wie hieß die Datei mit den Fristen?",
        "왜 재시도가 다섯 번인지 다시 설명해 줘",
        "지난번에 포트를 왜 바꿨지?",
        "設定ファイルの名前は何だっけ",
        "もう一度教えてください",
        "再告诉我一次为什么要先写标记",
        "那个配置文件叫什么来着",
        "напомни, какой порт у прокси",
        "объясни ещё раз, зачем нужен маркер",
    ],
)
def test_a_prompt_that_asks_the_memory_is_known(prompt):
    """In the languages of its users, by what people say who were told before."""
    assert intent.asks_past(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "yes",
        "run the tests again",
        "can you check again?",
        "explain this function",
        "tell me when it is done",
        "Führe die Tests nochmal aus",
        "테스트를 실행해 줘",
        "テストを実行して",
        "再跑一次测试",
        "запусти тесты ещё раз",
        "добавь напоминание, так как мы забываем",
        "add a test",
    ],
)
def test_a_prompt_that_asks_for_work_does_not_ask_the_memory(prompt):
    """Doing something again is work."""
    assert not intent.asks_past(prompt)
