"""What a tab does with a message."""

from app.chats.conversation import Conversation
from app.chats.store import ChatStore
from app.chats.tree import TurnState
from app.presenters.chat import ChatPresenter
from app.presenters.services import Services
from app.settings.declarations import MAX_TOKENS, TEMPERATURE
from engine.contracts import FinishReason, Message, Role
from tests.app.presenters.fake_screen import FakeChatView
from tests.app.presenters.manual_clock import ManualClock
from tests.app.presenters.stored import stored_branch
from tests.fakes.scripted_engine import STARTER, ScriptedEngine


async def test_an_answer_appears_piece_by_piece_with_its_logprobs(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.says("Once")
    assert view.texts == ["hello", "Once"]

    await engine.session.says(" upon a time")
    await engine.session.ends()
    await turn

    assert view.texts == ["hello", "Once upon a time"]
    assert len(view.last.logprobs) == 4
    assert view.last.note == ""
    assert view.problems == []


async def test_the_user_turn_is_stored_before_the_engine_is_asked(
    chat: ChatPresenter, engine: ScriptedEngine, store: ChatStore
) -> None:
    chat.send_soon("hello")
    await engine.session.opened()

    assert stored_branch(store, chat)[0] == (Role.USER, "hello", TurnState.COMPLETE)
    await chat.close()


async def test_stop_keeps_the_text_already_written(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView, store: ChatStore
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.says("Once upon")

    await chat.stop()
    await turn

    assert engine.sessions[0].reasons == ["requested"]
    assert view.last.text == "Once upon"
    assert view.last.note == "stopped"
    assert view.status.startswith("Stopped · 2 tokens")
    assert view.generating == [True, False]
    assert view.problems == []
    assert stored_branch(store, chat)[1] == (Role.ASSISTANT, "Once upon", TurnState.STOPPED)


async def test_the_model_is_told_the_whole_branch_but_not_answers_that_never_began(
    chat: ChatPresenter, engine: ScriptedEngine
) -> None:
    first = chat.send_soon("one")
    await engine.session.says("first answer")
    await chat.stop()
    await first
    second = chat.send_soon("two")
    await engine.session.started()
    await chat.stop()
    await second

    chat.send_soon("three")
    request = await engine.session.opened()

    assert request.messages == (
        Message(Role.USER, "one"),
        Message(Role.ASSISTANT, "first answer"),
        Message(Role.USER, "two\n\nthree"),
    )
    await chat.close()


async def test_the_request_carries_the_settings_and_asks_for_alternatives(
    chat: ChatPresenter, engine: ScriptedEngine, services: Services
) -> None:
    services.settings[TEMPERATURE] = 0.0
    services.settings[MAX_TOKENS] = 60

    chat.send_soon("hello")
    request = await engine.session.opened()

    assert request.model == STARTER.id
    assert request.sampling is not None
    assert (request.sampling.temperature, request.sampling.top_p) == (0.0, 0.95)
    assert (request.captures.logprob, request.captures.top_k) == (True, 10)
    assert request.max_tokens == 60
    await chat.close()


async def test_the_status_line_tells_loading_reading_answering_and_the_final_figures(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView, clock: ManualClock
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.progresses(0, None, "load")
    assert view.status == "Loading Starter…"
    await engine.session.progresses(43, 100, "prefill")
    assert view.status == "Reading the prompt 43 %"
    clock.advance(420)
    await engine.session.says("Once")
    assert view.status == "Answering · first token 0.42 s"
    clock.advance(1000)
    await engine.session.says(" upon a")
    assert view.status == "Answering · 2.0 tokens/s · first token 0.42 s"
    await engine.session.ends()
    await turn

    assert view.status == "Done · 3 tokens · 2.0 tokens/s · first token 0.25 s"


async def test_an_answer_cut_by_its_limit_says_so(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.says("Once")
    await engine.session.ends(FinishReason.MAX_TOKENS)
    await turn

    assert view.last.note == "reached the longest length allowed"


async def test_tokens_are_stored_within_a_second_while_they_stream(
    chat: ChatPresenter, engine: ScriptedEngine, store: ChatStore, clock: ManualClock
) -> None:
    chat.send_soon("hello")
    await engine.session.says("Once upon")
    assert stored_branch(store, chat)[1][1] == ""

    clock.advance(1000)

    assert stored_branch(store, chat)[1] == (Role.ASSISTANT, "Once upon", TurnState.STREAMING)
    await chat.close()


async def test_closing_the_tab_ends_its_session_and_keeps_the_text(
    chat: ChatPresenter, engine: ScriptedEngine, store: ChatStore, clock: ManualClock
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.says("Once upon")

    await chat.close()

    assert turn.done()
    assert engine.sessions[0].reasons == ["consumer_closed"]
    assert stored_branch(store, chat)[1] == (Role.ASSISTANT, "Once upon", TurnState.STOPPED)
    assert clock.pending == 0


async def test_a_draft_is_kept_a_moment_after_the_last_change(
    chat: ChatPresenter, services: Services, view: FakeChatView, clock: ManualClock
) -> None:
    chat.change_draft("half a thou")
    chat.change_draft("half a thought")
    clock.advance(1000)

    assert chat.chat_id is not None
    assert Conversation(services.store, chat.chat_id).draft == "half a thought"


async def test_a_reopened_chat_shows_the_same_messages_with_the_same_logprobs(
    chat: ChatPresenter, engine: ScriptedEngine, services: Services, view: FakeChatView
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.says("Once upon a time")
    await engine.session.ends()
    await turn

    reopened = FakeChatView()
    ChatPresenter(reopened, services, Conversation(services.store, chat.chat_id), lambda: None).show()

    assert reopened.texts == view.texts
    assert reopened.last.logprobs == view.last.logprobs
    assert reopened.selected == STARTER.id


async def test_what_a_screen_says_after_its_chat_was_closed_changes_nothing(
    chat: ChatPresenter, services: Services, clock: ManualClock
) -> None:
    chat.change_draft("a thought")
    await chat.close()
    chat.change_draft("a key that was still on its way")
    clock.advance(1000)

    assert chat.chat_id is not None
    assert Conversation(services.store, chat.chat_id).draft == "a thought"
