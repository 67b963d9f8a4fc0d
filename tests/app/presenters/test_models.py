"""Where the models of a tab come from."""

import asyncio
from collections.abc import Sequence

import pytest

from app.chats.conversation import Conversation
from app.presenters.board import CHOOSE_HINT
from app.presenters.chat import ChatPresenter
from app.presenters.model_shelf import ModelShelf
from app.presenters.remedies import NO_MODEL, NO_MODEL_IN_FOLDER, Remedy
from app.presenters.services import Services
from app.presenters.window import WindowPresenter
from app.settings.declarations import DEFAULT_MODEL, MODEL_FOLDERS
from engine.contracts import ModelDescription, ModelSource, Problem
from tests.app.presenters.fake_screen import FakeChatView, FakeWindowView
from tests.fakes.scripted_engine import STARTER, ScriptedEngine

BROKEN = ModelDescription(
    id="/models/broken",
    name="Broken",
    source=ModelSource.FOLDER,
    problem=Problem(code="model_damaged", sentence="A shard is missing."),
)
OTHER = ModelDescription(id="/opened/other", name="Other", source=ModelSource.FOLDER)
OFFLINE = Problem(code="offline", sentence="The package index cannot be reached.", remedy="Check the connection.")
NO_START = Problem(code="engine_cannot_start", sentence="The engine cannot start.", remedy="Try again.")


@pytest.fixture
async def shelf(services: Services) -> ModelShelf:
    return services.shelf


async def test_the_wanted_model_is_chosen_then_the_default_then_the_starter_then_any(
    shelf: ModelShelf, engine: ScriptedEngine, services: Services
) -> None:
    engine.models = (BROKEN, OTHER, STARTER)
    await shelf.refresh()

    assert shelf.choose(OTHER.id) == OTHER
    assert shelf.choose("/models/gone") == STARTER
    assert shelf.choose(BROKEN.id) == STARTER
    services.settings[DEFAULT_MODEL] = OTHER.id
    assert shelf.choose(None) == OTHER

    engine.models = (BROKEN,)
    await shelf.refresh()
    assert shelf.choose(None) is None


async def test_without_a_model_the_starter_is_offered_and_installed_at_a_click(
    services: Services, engine: ScriptedEngine, view: FakeChatView, chat: ChatPresenter
) -> None:
    engine.models = (BROKEN,)
    await services.shelf.refresh()
    assert (view.problem, view.remedy_label) == (NO_MODEL, "Get the starter model")
    assert (view.send.enabled, view.send.reason) == (False, CHOOSE_HINT)

    engine.models = (BROKEN, STARTER)
    await chat.apply_remedy()

    assert len(engine.installations) == 1
    assert (view.problem, view.selected, view.send.enabled) == (None, STARTER.id, True)


async def test_an_installation_shows_how_far_it_is_and_says_why_it_failed(
    view: FakeChatView, services: Services
) -> None:
    engine = ScriptedEngine(models=(), loads_at_once=False)
    services = services._replace(engine=engine, shelf=ModelShelf(engine, services.settings, services.tasks))
    chat = ChatPresenter(view, services, Conversation(services.store), lambda: None)
    await services.shelf.refresh()

    installing = services.tasks.start(chat.apply_remedy(), "install")
    await engine.installation.progresses(43, 100, "downloading")
    assert view.status == "Downloading… 43 %"
    await engine.installation.fails(OFFLINE)
    await installing

    assert (view.problem, view.remedy_label) == (OFFLINE, Remedy.GET_STARTER)
    await chat.close()


async def test_a_message_without_a_model_stays_in_the_composer_with_the_reason(
    services: Services, engine: ScriptedEngine, view: FakeChatView, chat: ChatPresenter
) -> None:
    engine.models = ()
    await services.shelf.refresh()

    await chat.send("hello")

    assert view.draft == "hello"
    assert view.status == CHOOSE_HINT


async def test_an_engine_that_cannot_be_reached_is_tried_again_at_a_click(
    services: Services, engine: ScriptedEngine, view: FakeChatView, chat: ChatPresenter
) -> None:
    engine.problem = NO_START
    await services.shelf.refresh()
    assert (view.problem, view.remedy_label) == (NO_START, "Try again")

    engine.problem = None
    await chat.apply_remedy()

    assert (view.problem, view.remedy_label) == (None, "")


async def test_an_opened_folder_is_remembered_and_its_model_chosen_for_this_chat(
    services: Services, engine: ScriptedEngine, view: FakeChatView, chat: ChatPresenter
) -> None:
    engine.models = (STARTER, OTHER)

    await chat.open_folder("/opened")
    await chat.open_folder("/opened")

    assert engine.folders[-1] == ("/opened",)
    assert services.settings[MODEL_FOLDERS] == ("/opened",)
    assert view.selected == OTHER.id


@pytest.mark.parametrize(
    ("models", "problem"),
    [((STARTER, BROKEN), BROKEN.problem), ((STARTER,), NO_MODEL_IN_FOLDER)],
    ids=["broken", "empty"],
)
async def test_a_folder_without_a_usable_model_is_said_and_neither_remembered_nor_made_the_default(
    models: tuple[ModelDescription, ...],
    problem: Problem,
    services: Services,
    engine: ScriptedEngine,
    view: FakeChatView,
    chat: ChatPresenter,
) -> None:
    engine.models = models

    await chat.open_folder("/models/broken")

    assert view.problem == problem
    assert services.settings[MODEL_FOLDERS] == ()
    assert services.settings[DEFAULT_MODEL] is None
    assert view.selected == STARTER.id


async def test_a_broken_folder_is_said_even_where_there_is_no_other_model(
    engine: ScriptedEngine, view: FakeChatView, services: Services, chat: ChatPresenter
) -> None:
    engine.models = ()
    await services.shelf.refresh()
    engine.models = (BROKEN,)

    await chat.open_folder(BROKEN.id)

    assert (view.problem, view.remedy_label) == (BROKEN.problem, "Get the starter model")


async def test_a_usable_model_beside_a_broken_one_is_the_one_chosen(
    services: Services, engine: ScriptedEngine, view: FakeChatView, chat: ChatPresenter
) -> None:
    whole = ModelDescription(id="/models/whole", name="Whole", source=ModelSource.FOLDER)
    engine.models = (BROKEN, whole)

    await chat.open_folder("/models")

    assert (view.selected, view.problem) == (whole.id, None)
    assert services.settings[MODEL_FOLDERS] == ("/models",)


async def test_a_model_that_cannot_be_used_is_refused_with_its_problem(
    services: Services, engine: ScriptedEngine, view: FakeChatView, chat: ChatPresenter
) -> None:
    engine.models = (STARTER, BROKEN)
    await services.shelf.refresh()

    chat.choose_model(BROKEN.id)

    assert view.problem == BROKEN.problem
    assert services.settings[DEFAULT_MODEL] is None


async def test_an_engine_killed_while_it_starts_is_started_once_more_unasked(services: Services) -> None:
    class KilledOnce(ScriptedEngine):
        async def list_models(self, folders: Sequence[str] = ()) -> tuple[ModelDescription, ...]:
            self.problem = NO_START if not self.folders else None
            return await super().list_models(folders)

    engine = KilledOnce()
    shelf = ModelShelf(engine, services.settings, services.tasks)
    await shelf.refresh()

    assert (shelf.problem, shelf.models) == (None, (STARTER,))


async def test_each_chat_keeps_its_own_model(
    window: WindowPresenter, window_view: FakeWindowView, engine: ScriptedEngine, services: Services
) -> None:
    engine.models = (STARTER, OTHER)
    await services.shelf.refresh()
    first, second = window.new_tab(), window.new_tab()
    second.choose_model(OTHER.id)
    first.send_soon("one")
    second.send_soon("two")
    await asyncio.sleep(0)

    assert [session.request.model for session in engine.sessions] == [STARTER.id, OTHER.id]
    await window.quit()


async def test_a_tab_that_waits_for_its_model_tells_how_far_the_loading_is(
    view: FakeChatView, services: Services
) -> None:
    engine = ScriptedEngine(loads_at_once=False)
    services = services._replace(engine=engine, shelf=ModelShelf(engine, services.settings, services.tasks))
    chat = ChatPresenter(view, services, Conversation(services.store), lambda: None)
    await services.shelf.refresh()
    loading = services.tasks.start(services.shelf.load_ahead(STARTER), "load")
    await engine.loading.started()
    turn = chat.send_soon("hello")
    await engine.session.started()

    await engine.loading.progresses(43, 100, "load")
    assert view.status == "Loading Starter… 43 %"
    await engine.loading.ends()
    await loading
    assert view.status == "Waiting for the engine…"
    await chat.stop()
    await turn


async def test_a_message_that_has_its_model_loaded_first_says_so_until_the_engine_speaks(
    services: Services, engine: ScriptedEngine, view: FakeChatView, chat: ChatPresenter
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.started()
    assert view.status == "Loading Starter…"
    await engine.session.progresses(1, 2, "prefill")
    assert view.status == "Reading the prompt 50 %"
    await engine.session.ends()
    await turn

    again = chat.send_soon("again")
    await engine.session.started()
    assert view.status == "Waiting for the engine…"
    await chat.stop()
    await again

    services.shelf.bring_back()
    chat.send_soon("after a crash")
    await engine.session.started()
    assert view.status == "Loading Starter…"
    await chat.close()
