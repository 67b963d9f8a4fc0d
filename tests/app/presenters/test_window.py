"""What the window does with its tabs."""

import asyncio

from app.chats.chat_file import ChatFile
from app.chats.store import ChatStore
from app.presenters.chat import ChatPresenter
from app.presenters.remedies import Remedy
from app.presenters.services import Services
from app.presenters.window import WindowPresenter
from app.settings.declarations import HEATMAP
from engine.contracts import Problem
from tests.app.presenters.fake_screen import FakeWindowView
from tests.app.presenters.manual_clock import ManualClock
from tests.fakes.scripted_engine import ScriptedEngine, ScriptedGeneration

CRASHED = Problem(code="engine_stopped", sentence="The engine crashed (SIGSEGV).", remedy="Send it again.")


async def asks(chat: ChatPresenter, text: str, engine: ScriptedEngine) -> ScriptedGeneration:
    """Send `text`, and the session it opens."""
    chat.send_soon(text)
    await asyncio.sleep(0)  # The task's first step opens the session.
    await engine.sessions[-1].started()
    return engine.sessions[-1]


async def test_a_new_window_has_one_empty_tab_with_the_starter_model_loaded(
    window: WindowPresenter, window_view: FakeWindowView, engine: ScriptedEngine
) -> None:
    (view,) = window_view.tabs.values()
    assert view.send.enabled
    assert list(window_view.titles.values()) == ["New chat"]
    assert [load.request.model for load in engine.loads] == [engine.models[0].id]


async def test_two_tabs_stream_at_once_and_keep_their_words_apart(
    window: WindowPresenter, window_view: FakeWindowView, engine: ScriptedEngine
) -> None:
    first, second = window.new_tab(), window.new_tab()
    _, first_view, second_view = window_view.tabs.values()
    await (await asks(first, "one", engine)).says("uno")
    await (await asks(second, "two", engine)).says("dos")
    await first.stop()
    await engine.sessions[1].says(" tres")

    assert first_view.last.text == "uno"
    assert second_view.last.text == "dos tres"
    assert engine.sessions[1].reasons == []
    await window.quit()


async def test_a_tab_is_named_by_the_users_first_words(
    window: WindowPresenter, window_view: FakeWindowView, engine: ScriptedEngine
) -> None:
    window.new_tab().send_soon("Why is the sky blue?\nTell me")
    await engine.session.opened()

    assert list(window_view.titles.values())[-1] == "Why is the sky blue? Tell me"
    await window.quit()


async def test_tabs_come_back_at_the_next_start_except_empty_and_closed_ones(
    window: WindowPresenter, window_view: FakeWindowView, engine: ScriptedEngine, services: Services
) -> None:
    for text in ("kept", "closed"):
        turn = window.new_tab().send_soon(text)
        await engine.session.says("yes")
        await engine.session.ends()
        await turn
    await window.close_tab(list(window_view.tabs)[-1])
    await window.quit()

    again = FakeWindowView()
    await WindowPresenter(again, services, lambda view, chat: None).start()

    assert list(again.titles.values()) == ["kept"]
    assert next(iter(again.tabs.values())).texts == ["kept", "yes"]


async def test_closing_the_last_tab_leaves_a_new_one(window: WindowPresenter, window_view: FakeWindowView) -> None:
    (tab,) = window_view.tabs
    await window.close_tab(tab)

    assert len(window_view.tabs) == 1
    assert tab not in window_view.tabs


async def test_quitting_with_running_answers_saves_them_and_lets_the_window_go(
    window: WindowPresenter, window_view: FakeWindowView, engine: ScriptedEngine, store: ChatStore
) -> None:
    chats = [window.new_tab() for _ in range(3)]
    for chat in chats:
        await (await asks(chat, "hello", engine)).says("Once upon")

    await window.quit()
    await window.quit()

    assert window_view.is_closed
    assert window.closed.is_set()
    assert [session.reasons for session in engine.sessions] == [["consumer_closed"]] * 3
    for chat in chats:
        assert chat.chat_id is not None
        assert store.read_chat(chat.chat_id).turns[-1].text == "Once upon"


async def test_an_engine_that_does_not_answer_cannot_keep_the_window_open(
    window: WindowPresenter, window_view: FakeWindowView, engine: ScriptedEngine
) -> None:
    turn = window.new_tab().send_soon("hello")
    await engine.session.says("Once upon")
    engine.session.ignores_cancellation = True

    await window.quit()

    assert window_view.is_closed
    await engine.session.gives_up()
    await turn


async def test_the_heatmap_is_remembered(
    window: WindowPresenter, window_view: FakeWindowView, services: Services
) -> None:
    window.show_heatmap(True)

    assert window_view.heatmap == [False, True]
    assert services.settings[HEATMAP] is True


async def test_a_tab_with_nothing_but_a_draft_comes_back_with_it(
    window: WindowPresenter, window_view: FakeWindowView, services: Services, clock: ManualClock
) -> None:
    window.new_tab().change_draft("half a thought")
    clock.advance(1000)

    again = FakeWindowView()
    await WindowPresenter(again, services, lambda view, chat: None).start()

    assert [view.draft for view in again.tabs.values()] == ["half a thought"]


async def test_a_tab_that_is_not_looked_at_reads_nothing_until_it_is(
    window: WindowPresenter, window_view: FakeWindowView, engine: ScriptedEngine, services: Services
) -> None:
    for text in ("one", "two"):
        session = await asks(window.new_tab(), text, engine)
        await session.says("yes")
        await session.ends()
    await window.quit()
    again = FakeWindowView()
    second_window = WindowPresenter(again, services, lambda view, chat: None)
    await second_window.start()
    behind, front = again.tabs.values()
    assert (behind.texts, front.texts) == ([], ["two", "yes"])

    second_window.select_tab(next(iter(again.tabs)))

    assert behind.texts == ["one", "yes"]


async def test_an_engine_that_ends_by_itself_is_said_in_every_tab_and_started_again(
    window: WindowPresenter, window_view: FakeWindowView, engine: ScriptedEngine
) -> None:
    window.new_tab()

    listed = len(engine.folders)
    window.engine_ended(CRASHED)
    await asyncio.sleep(0)  # The task's first step asks the engine.

    assert [view.problem for view in window_view.tabs.values()] == [CRASHED] * 2
    assert len(engine.folders) == listed + 1


async def test_an_engine_that_ends_while_it_starts_is_started_once_more_and_then_left_alone(
    window: WindowPresenter, engine: ScriptedEngine, services: Services
) -> None:
    engine.problem = Problem(code="engine_cannot_start", sentence="The engine cannot start.")
    listed = len(engine.folders)
    for _ in range(3):
        window.engine_ended(engine.problem)
        await asyncio.sleep(0)

    assert len(engine.folders) == listed + 2
    assert services.shelf.remedy is Remedy.TRY_AGAIN


async def test_chats_that_cannot_be_read_are_said_and_leave_a_usable_window(
    window: WindowPresenter, engine: ScriptedEngine, services: Services, file: ChatFile
) -> None:
    session = await asks(window.new_tab(), "one", engine)
    await session.says("yes")
    await window.quit()
    file.rows("DROP TABLE chunks")

    again = FakeWindowView()
    await WindowPresenter(again, services, lambda view, chat: None).start()

    assert "cannot be used" in again.engine_state
    assert list(again.titles.values()) == ["New chat"]
