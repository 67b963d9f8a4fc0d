"""What every presenter works with."""

from typing import NamedTuple

from app.chats.store import ChatStore
from app.presenters.model_shelf import ModelShelf
from app.presenters.ports import Tasks
from app.settings.settings import Settings
from engine.contracts import Clock, Engine


class Services(NamedTuple):
    """Built once by the bootstrap; confined to the app's loop."""

    engine: Engine
    store: ChatStore
    settings: Settings
    shelf: ModelShelf
    tasks: Tasks
    clock: Clock
