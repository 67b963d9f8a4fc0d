"""The demonstration: two tabs answer at once, one is stopped, the heatmap goes on."""

import math
import time
from typing import NamedTuple

from app.bootstrap import RunningApp
from app.chats.tree import ChatId, TurnState
from app.demo.narrator import Narrator
from app.demo.visitor import DemoFailedError, Visitor
from app.settings.declarations import MAX_TOKENS
from app.views.chat_pane import ChatPane

ANSWER_TOKENS = 80
STOPPED_AFTER = 25


class Tab(NamedTuple):
    """A tab with its chat."""

    pane: ChatPane
    chat: ChatId


async def play(app: RunningApp, visitor: Visitor) -> None:
    """Raises `DemoFailedError` with the sentence of what did not work."""
    began = time.monotonic()
    narrator = Narrator(app.services.store)
    app.services.tasks.start(narrator.narrate(), "narrate")
    app.services.settings[MAX_TOKENS] = ANSWER_TOKENS
    await visitor.enters()
    sky = await _asks("Why is the sky blue?", "sky", app, visitor, narrator)
    await visitor.opens_tab()
    fox = await _asks("Tell me a short story about a fox.", "fox", app, visitor, narrator)

    await visitor.sees("A first word in both tabs", lambda: min(map(narrator.tokens, (sky.chat, fox.chat))) > 0)
    print(f"(both answer at once, {time.monotonic() - began:.1f} s after the window came up)", flush=True)
    await visitor.sees("The middle of an answer", lambda: narrator.tokens(fox.chat) >= STOPPED_AFTER)
    await visitor.takes_picture("streaming")
    await _stops(fox, visitor, narrator)
    await visitor.takes_picture("stopped")
    await _watches_to_the_end(sky, visitor, narrator)
    await _looks_at_probabilities(visitor)


async def _asks(text: str, name: str, app: RunningApp, visitor: Visitor, narrator: Narrator) -> Tab:
    pane = await visitor.sends(text)
    print(f"[{name}] > {text}", flush=True)
    chat = app.services.store.open_tabs()[-1].id
    narrator.follow(chat, name)
    return Tab(pane, chat)


async def _stops(tab: Tab, visitor: Visitor, narrator: Narrator) -> None:
    tab.pane.composer.stop.click()
    await visitor.sees("Stopping", lambda: _state(tab, narrator) is not TurnState.STREAMING, 30)
    if _state(tab, narrator) is not TurnState.STOPPED:
        raise DemoFailedError("The answer ended before it could be stopped.")
    narrator.finish(tab.chat, tab.pane.status.text())


async def _watches_to_the_end(tab: Tab, visitor: Visitor, narrator: Narrator) -> None:
    await visitor.goes_to_the_other_tab()
    await visitor.sees("The end of the other answer", lambda: _state(tab, narrator) is not TurnState.STREAMING)
    if _state(tab, narrator) is not TurnState.COMPLETE:
        raise DemoFailedError(f"The other answer did not end well: {tab.pane.status.text()}.")
    narrator.finish(tab.chat, tab.pane.status.text())


async def _looks_at_probabilities(visitor: Visitor) -> None:
    visitor.toggles_heatmap()
    token = await visitor.points_at_least_certain_token()
    logprob = token.logprobs.logprob if token.logprobs else None
    print(f"(least certain: {token.piece.text!r} with {math.exp(logprob or 0):.1%})", flush=True)
    await visitor.takes_picture("heatmap-light")
    visitor.darkens()
    await visitor.points_at_least_certain_token()
    await visitor.takes_picture("heatmap-dark")


def _state(tab: Tab, narrator: Narrator) -> TurnState | None:
    answer = narrator.answer(tab.chat)
    return None if answer is None else answer.state
