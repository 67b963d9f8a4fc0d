"""Conversations rendered by a model's own chat template, with every text protected."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from engine.contracts import Message, Problem, ProblemError, Role
from engine.text.protection import END_OF_CONTENT, StandIns
from engine.text.repairs import with_remedy
from engine.text.template import ChatTemplate


class ChatRenderer:
    """Renders conversations for one model. A template that does not parse is a problem at each use, not before.

    `named_tokens` (`bos_token` and its kind) go to the template under their names.
    """

    def __init__(
        self,
        source: str,
        name: str,
        *,
        named_tokens: Mapping[str, str],
        stand_ins: StandIns,
        now: Callable[[], datetime],
    ) -> None:
        self._name = name
        self._named_tokens = named_tokens
        self._stand_ins = stand_ins
        self._template: ChatTemplate | Problem
        try:
            self._template = ChatTemplate(source, name, now=now)
        except ProblemError as error:
            self._template = error.problem

    def render(self, messages: Sequence[Message], *, thinking: bool | None, continue_last: bool) -> str:
        """The prompt with protected texts. Raises `ProblemError`, which offers what works instead."""
        if continue_last and not (messages and messages[-1].role is Role.ASSISTANT):
            sentence = "There is no answer of the model at the end that could be continued."
            raise ProblemError(Problem(code="nothing_to_continue", sentence=sentence))

        def render(turns: Sequence[Message]) -> str:
            return self._render(turns, thinking=thinking, continue_last=continue_last)

        try:
            return render(messages)
        except ProblemError as error:
            raise ProblemError(with_remedy(error.problem, messages, render)) from error

    def _render(self, messages: Sequence[Message], *, thinking: bool | None, continue_last: bool) -> str:
        if isinstance(self._template, Problem):
            raise ProblemError(self._template)
        turns = [
            {"role": message.role.value, "content": self._stand_ins.protect(message.content)} for message in messages
        ]
        if continue_last:
            turns[-1]["content"] += END_OF_CONTENT
        switches = {} if thinking is None else {"enable_thinking": thinking, "thinking": thinking}
        variables = {"tools": None, "documents": None, "add_generation_prompt": not continue_last, **switches}
        rendered = self._template.render(turns, {**self._named_tokens, **variables})
        return self._cut_at_end(rendered) if continue_last else rendered

    def _cut_at_end(self, rendered: str) -> str:
        """The rendering up to the end of the last message's text."""
        before, mark, _ = rendered.rpartition(END_OF_CONTENT)
        if not mark:
            sentence = f"The chat template ({self._name}) does not show the last message as it is."
            raise ProblemError(Problem(code="template_cannot_continue", sentence=sentence))
        return before.replace(END_OF_CONTENT, "")
