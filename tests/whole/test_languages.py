"""A session in each language: captured, told at the next start, found, its wishes kept, noted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

import pytest
from harness import noted, vault
from harness.hook import fire, harmless, payload
from harness.session import Session

from memory.core import clock

NO_SUCH_TIME = "nothing from the time that the query names"


class Talk(NamedTuple):
    """What is said in a session about a pay button, and what is asked of it later.

    file: what the checkpoint's file name holds.  request, wish, answer: the session's one turn.
    outcome, next: words of the answer.
    query: with a word for yesterday.  never: the same with a word for another time.  asks: a prompt
    that wants to know it.  other: a prompt about something else.
    """

    file: str
    request: str
    answer: str
    wish: str
    outcome: str
    next: str
    query: str
    never: str
    asks: str
    other: str
    lesson: str
    proof: str


TALKS = {
    "ko": Talk(
        file="결제-버튼",
        request="결제 버튼을 두 번 누르면 주문이 두 개 생겨요. 고쳐 주세요.",
        answer="결제 버튼은 이제 응답이 올 때까지 비활성화됩니다. 결제사의 응답이 느려서 "
        "대기 시간은 8초로 정했습니다.\n\n"
        "다음 단계:\n- 환불 화면에도 같은 잠금을 넣기",
        wish="앞으로 커밋 전에 항상 `make lint`를 실행해 줘.",
        outcome="결제 버튼은 이제 응답이 올 때까지 비활성화됩니다",
        next="환불 화면에도 같은 잠금을 넣기",
        query="어제 결제 대기 시간",
        never="지난달 결제 대기 시간",
        asks="결제 대기 시간을 왜 8초로 정했지?",
        other="로그 파일을 날짜별로 나눠 줘.",
        lesson="결제사의 응답이 느리므로 대기 시간은 8초로 둔다",
        proof="결제사의 응답이 느려서 대기 시간은 8초로",
    ),
    "ja": Talk(
        file="支払いボタン",
        request="支払いボタンを二回押すと、注文が二つ作られます。直してください。",
        answer="支払いボタンは、応答が来るまで無効になります。決済会社の応答が遅いため、待ち時間は8秒に"
        "しました。\n\n"
        "次のステップ:\n- 返金画面にも同じロックを入れる",
        wish="今後はコミットの前に必ず`make lint`を実行して。",
        outcome="支払いボタンは、応答が来るまで無効になります",
        next="返金画面にも同じロックを入れる",
        query="昨日の決済の待ち時間",
        never="先月の決済の待ち時間",
        asks="決済の待ち時間はなぜ8秒にしたのですか？",
        other="ログファイルを日付ごとに分けてください。",
        lesson="決済会社の応答が遅いので、待ち時間は8秒にする",
        proof="決済会社の応答が遅いため、待ち時間は8秒に",
    ),
    "zh": Talk(
        file="支付按钮",
        request="点两次支付按钮会生成两个订单，请修复。",
        answer="支付按钮现在会一直禁用到收到响应为止。因为支付公司的响应很慢，所以等待时间定为8秒。\n\n"
        "下一步：\n- 在退款页面也加上同样的锁",
        wish="从现在开始，提交前总是运行 `make lint`。",
        outcome="支付按钮现在会一直禁用到收到响应为止",
        next="在退款页面也加上同样的锁",
        query="昨天支付的等待时间",
        never="上个月支付的等待时间",
        asks="支付的等待时间为什么定为8秒？",
        other="请把日志文件按日期分开。",
        lesson="支付公司的响应很慢，等待时间用8秒",
        proof="支付公司的响应很慢，所以等待时间定为8秒",
    ),
    "de": Talk(
        file="zahlungsschaltfläche",
        request="Wer die Zahlungsschaltfläche zweimal drückt, löst zwei Bestellungen aus. Bitte "
        "beheben.",
        answer="Die Zahlungsschaltfläche ist jetzt gesperrt, bis die Antwort da ist. Die Wartezeit "
        "beträgt 8 Sekunden, weil der Zahlungsdienst langsam antwortet.\n\n"
        "Nächste Schritte:\n- Die Erstattungsseite genauso sperren",
        wish="Ab jetzt bitte vor jedem Commit `make lint` ausführen.",
        outcome="Die Zahlungsschaltfläche ist jetzt gesperrt, bis die Antwort da ist",
        next="Die Erstattungsseite genauso sperren",
        query="gestern Wartezeit Zahlungsdienst",
        never="letzten Monat Wartezeit Zahlungsdienst",
        asks="Warum beträgt die Wartezeit für den Zahlungsdienst 8 Sekunden?",
        other="Teile die Protokolldateien bitte nach Datum auf.",
        lesson="Der Zahlungsdienst antwortet langsam; die Wartezeit beträgt darum 8 Sekunden",
        proof="weil der Zahlungsdienst langsam antwortet",
    ),
    "ru": Talk(
        file="кнопку-оплаты",
        request="Если нажать кнопку оплаты дважды, создаются два заказа. Исправь, пожалуйста.",
        answer="Кнопка оплаты теперь заблокирована, пока не придёт ответ. Время ожидания равно 8 "
        "секундам, потому что платёжный сервис отвечает медленно.\n\n"
        "Следующие шаги:\n- Так же заблокировать страницу возврата",
        wish="С этого момента всегда запускай `make lint` перед коммитом.",
        outcome="Кнопка оплаты теперь заблокирована, пока не придёт ответ",
        next="Так же заблокировать страницу возврата",
        query="вчера время ожидания платёжного сервиса",
        never="в прошлом месяце время ожидания платёжного сервиса",
        asks="Почему время ожидания платёжного сервиса равно 8 секундам?",
        other="Раздели файлы журнала по датам.",
        lesson="Платёжный сервис отвечает медленно, поэтому время ожидания равно 8 секундам",
        proof="платёжный сервис отвечает медленно",
    ),
}


class Past(NamedTuple):
    """A session of yesterday that went through the hooks: what was said, and where it is kept."""

    talk: Talk
    session: Session
    world: dict
    noted: str

    def asked(self, prompt, session="later"):
        """Return what a prompt of another session gets before the model."""
        event = payload("UserPromptSubmit", session_id=session, prompt=prompt)
        event["cwd"] = self.session.project
        return harmless(fire("prompt", event, self.world)).context


@pytest.fixture(params=TALKS)
def language(request) -> str:
    return request.param


@pytest.fixture
def talk(language) -> Talk:
    """What is said, in each language."""
    return TALKS[language]


@pytest.fixture
def past(language, talk, world, env, project) -> Past:
    """A session that the client 2.1.332 recorded, then the client's events in their order.

    The user typed the wish, then the request; the model read and edited a file and ran its test.
    """
    noon = time.time() // clock.DAY * clock.DAY - clock.DAY / 2
    session = Session(env, project, noon, "pay-button").replay("pay-" + language)
    vault.learnings(session.place, 12)
    told = {"session_id": session.name, "transcript_path": str(session.path), "cwd": project}
    for asked in (talk.wish, talk.request):
        harmless(fire("prompt", payload("UserPromptSubmit", prompt=asked, **told), world))
    stop = payload("Stop", last_assistant_message=talk.answer, **told)
    noted = harmless(fire("stop", stop, world)).message
    assert harmless(fire("session_end", payload("SessionEnd", "other", **told), world)).settled
    return Past(talk, session, world, noted)


def test_a_checkpoint_bears_the_titles_own_letters_and_the_wish_is_noted(past):
    """Its file's name is composed, safe for every file system, at most 200 bytes; the user hears of
    the wish word for word, and the request before it is none.
    """
    (file,) = past.session.where()
    name = file.name
    assert past.talk.file in name
    assert name == normalize("NFC", name) and len(name.encode()) <= 200
    text = file.read_text("utf-8")
    assert past.talk.outcome in text and "：;" not in text
    assert 'noted for later sessions: "%s"' % past.talk.wish in past.noted
    assert len(list(Path(past.session.place.private, "rules").glob("*.md"))) == 1


def test_recall_and_the_next_start_tell_what_was_said_yesterday(past, process):
    """In the words in which it was said, and nothing of another time."""
    found = process("recall", past.talk.query)
    assert past.talk.proof in "".join(found.stdout.split("\n"))
    assert NO_SUCH_TIME not in found.stdout
    assert NO_SUCH_TIME in process("recall", past.talk.never).stdout
    event = payload("SessionStart", "startup", session_id="later", cwd=past.session.project)
    brief = harmless(fire("session_start", event, past.world)).context
    assert past.talk.outcome in brief
    assert past.talk.next in brief
    assert "You said on" in brief and '"%s"' % past.talk.wish in brief


def test_a_prompt_that_asks_gets_the_answer_and_another_gets_none(past):
    """By what the prompt says, in a session that goes on and in one that begins."""
    assert past.asked(past.talk.other) == ""
    assert past.talk.proof in past.asked(past.talk.asks)
    assert past.talk.proof in past.asked(past.talk.asks, "begins")


def test_a_note_in_the_users_language_is_kept(talk, world, env, project, tmp_path):
    """Its title names the session, and its items stand by their quotes."""
    session = Session(env, project, time.time() - clock.DAY, "noted")
    answer = {
        "title": talk.outcome,
        "summary": talk.lesson,
        "lessons": [
            {"text": talk.lesson, "kind": "pitfall", "quote": talk.proof, "turn": "#1"},
            {"text": talk.next, "kind": "pitfall", "quote": talk.other, "turn": "#1"},
        ],
        "next": [{"text": talk.next, "quote": talk.next, "turn": "#2"}],
        "standing": [{"text": talk.wish, "quote": talk.wish, "turn": "#2"}],
    }
    noted.allow(session, noted.model(tmp_path, answer))
    session.ask(talk.request).edit("src/pay.ts", "-lock", "+unlock")
    session.say(talk.answer.partition("\n")[0] + "\n\n" + "1.\n" * 600)
    session.ask(talk.wish).say(talk.answer.partition("\n\n")[2])
    told = {"session_id": session.name, "transcript_path": str(session.path), "cwd": project}
    assert harmless(fire("session_end", payload("SessionEnd", "other", **told), world)).settled
    (note,) = noted.notes(session)
    text = note.read_text("utf-8")
    assert "title: " + talk.outcome in session.files()[-1]
    for kept in (talk.lesson, talk.proof, talk.next, talk.wish):
        assert kept in text
    assert talk.other not in text
