"""Builds the app from its parts; decides nothing."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import NamedTuple

from PySide6.QtWidgets import QApplication

from app.bridge import loop
from app.bridge.faults import Faults
from app.bridge.loop_clock import LoopClock
from app.bridge.signals import connect
from app.bridge.task_owner import TaskOwner
from app.bridge.unix_signals import QUIT_SIGNALS, calling_on
from app.chats.store import ChatStore
from app.desktop.folders import Folders, locate, make_private
from app.desktop.log_file import start_logging, stop_logging
from app.desktop.single_instance import InstanceLock
from app.presenters.chat import ChatPresenter
from app.presenters.model_shelf import ModelShelf, RestartEngine
from app.presenters.services import Services
from app.presenters.views import ChatView
from app.presenters.window import WindowPresenter
from app.settings.settings import Settings
from app.views.chat_pane import ChatPane
from app.views.main_window import MainWindow
from engine.contracts import Engine
from engine.host.client import EngineClient
from engine.host.launch import launch_engine


class RunningApp(NamedTuple):
    """The parts that outlive their making."""

    presenter: WindowPresenter
    services: Services


def run(application: QApplication, window: MainWindow) -> None:
    """Live until the user quits."""
    loop.run(application, _live(window))


async def _live(window: MainWindow) -> None:
    folders = locate()
    engine = EngineClient(partial(launch_engine, folders.log.with_name("engine.log")))
    async with running(window, folders, engine, engine.restart) as app:
        engine.on_exit(app.presenter.engine_ended)
        await app.presenter.closed.wait()


@asynccontextmanager
async def running(
    window: MainWindow, folders: Folders, engine: Engine, restart_engine: RestartEngine | None = None
) -> AsyncIterator[RunningApp]:
    """The app around `window`, from its first to its last task. `restart_engine` is what helps when it is stuck."""
    async with AsyncExitStack() as stack:
        faults = Faults(partial(window.show_engine_state, "Something went wrong inside Candor; the log tells more."))
        stack.enter_context(faults.caught())
        store = _open_store(folders, stack)
        tasks = TaskOwner(faults.report)
        # In this order: the engine ends its sessions, so that no task waits for one.
        stack.push_async_callback(tasks.aclose)
        stack.push_async_callback(engine.aclose)
        settings = Settings(folders.settings)
        shelf = ModelShelf(engine, settings, tasks, restart_engine)
        services = Services(engine, store, settings, shelf, tasks, LoopClock())
        presenter = WindowPresenter(window, services, partial(_connect_tab, tasks))
        _connect_window(window, presenter, tasks)
        stack.enter_context(calling_on(QUIT_SIGNALS, lambda: tasks.start(presenter.quit(), "quit")))
        tasks.start(presenter.start(), "start")
        yield RunningApp(presenter, services)


def _open_store(folders: Folders, stack: AsyncExitStack) -> ChatStore:
    is_alone = True
    # Where nothing can be written, the store says so on the screen.
    with suppress(OSError):
        make_private(folders)
        stack.callback(stop_logging, start_logging(folders.log))
        lock = InstanceLock.take(folders.lock)
        is_alone = lock is not None
        if lock is not None:
            stack.callback(lock.release)
    store = ChatStore.open(folders.chats, lambda: time.time_ns() // 1_000_000, may_write=is_alone)
    stack.callback(store.close)
    return store


def _connect_window(window: MainWindow, presenter: WindowPresenter, tasks: TaskOwner) -> None:
    window.new_tab_requested.connect(presenter.new_tab)
    window.tab_selected.connect(presenter.select_tab)
    window.heatmap_toggled.connect(presenter.show_heatmap)
    connect(window.tab_close_requested, presenter.close_tab, tasks)
    connect(window.quit_requested, presenter.quit, tasks)


def _connect_tab(tasks: TaskOwner, view: ChatView, chat: ChatPresenter) -> None:
    assert isinstance(view, ChatPane)
    view.model_chosen.connect(chat.choose_model)
    view.draft_changed.connect(chat.change_draft)
    view.blank_submitted.connect(chat.explain_blank)
    view.send_requested.connect(chat.send_soon)
    connect(view.stop_requested, chat.stop, tasks)
    connect(view.folder_chosen, chat.open_folder, tasks)
    connect(view.remedy_requested, chat.apply_remedy, tasks)
