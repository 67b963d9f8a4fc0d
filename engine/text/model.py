"""A model's text side, loaded from its folder: messages to tokens, tokens to bytes."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from engine.contracts import Message, Problem, ProblemError, Role
from engine.text.ends import read_end_ids
from engine.text.files import damaged
from engine.text.folder import TextFiles
from engine.text.protection import END_OF_CONTENT
from engine.text.repairs import with_remedy
from engine.text.tags import TagSyntax, opens_thinking
from engine.text.template import ChatTemplate
from engine.text.tokens import TokenCodec

MAX_PROMPT_CHARACTERS: Final = 4_000_000
"""About a million tokens. Up to there no single call holds the interpreter lock for 50 ms."""


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """A prompt as token ids. `opens_thinking`: the template has opened the thinking, the model only closes it."""

    token_ids: tuple[int, ...]
    opens_thinking: bool = False


class TextModel:
    """Everything textual about one model. It holds no state of a conversation and may be used from any thread."""

    def __init__(self, files: TextFiles, *, now: Callable[[], datetime] = datetime.now) -> None:
        """`now` is what templates call today. Raises whatever a malformed tokenizer leads to; `load` translates it."""
        self._codec = TokenCodec(files.tokenizer)
        self._named_tokens = files.named_tokens
        ends = [name for kind, name in files.named_tokens.items() if kind == "eos_token"]
        self.end_ids = read_end_ids(files.settings, ends, self._codec.added, files.template or "")
        self._bos_id = self._codec.added.get(files.named_tokens.get("bos_token", "")) if files.adds_bos else None
        self._template: ChatTemplate | None = None
        self._template_problem: Problem | None = None
        if files.template is not None:
            self._compile(files.template, files.template_name, now)

    @classmethod
    def load(cls, folder: Path, *, now: Callable[[], datetime] = datetime.now) -> Self:
        """Read the model's files. Raises `ProblemError`: `tokenizer_missing` or `tokenizer_damaged`.

        Takes some tenths of a second for a large vocabulary. A chat template that does not parse is no obstacle: the
        model can be used in raw mode.
        """
        files = TextFiles.read(folder)
        try:
            return cls(files, now=now)
        except Exception as error:  # the border to foreign data and the library that reads it
            raise damaged(folder / "tokenizer.json", "describes no tokenizer this program can read") from error

    @property
    def vocabulary_size(self) -> int:
        """One more than the largest id the tokenizer knows; the model's own logits may be wider."""
        return self._codec.vocabulary_size

    @property
    def has_template(self) -> bool:
        return self._template is not None or self._template_problem is not None

    @property
    def leading_spaces(self) -> int:
        return self._codec.leading_spaces

    @property
    def syntax(self) -> TagSyntax:
        return self._codec.syntax

    def token_bytes(self, token_id: int) -> bytes:
        """The token's own bytes; a special token's are its spelling. Empty for an id the tokenizer does not know."""
        return self._codec.token_bytes(token_id)

    def bytes_in_context(self, token_id: int, previous: int | None) -> bytes:
        """The bytes that the token adds to a text after `previous`; None at its beginning."""
        return self._codec.bytes_in_context(token_id, previous)

    def is_special(self, token_id: int) -> bool:
        """Whether the token is never shown as text: declared special, or an end of the answer."""
        return self._codec.is_special(token_id) or token_id in self.end_ids

    def special_content(self, token_id: int) -> str:
        """How an added token is written; empty for any other."""
        return self._codec.special_content(token_id)

    def encode_chat(
        self,
        messages: Sequence[Message],
        *,
        thinking: bool | None = None,
        continue_last: bool = False,
        raw: bool = False,
    ) -> EncodedPrompt:
        """The prompt for an answer to `messages`. No text in them becomes a control token.

        `thinking` goes to the template unless it is None. `continue_last` ends the prompt with the last message, an
        assistant's, instead of opening a new turn. `raw`, and a model without template, joins the texts as they are.
        Raises `ProblemError`: `prompt_empty`, `prompt_too_long`, or what the template could not do.
        """
        _check_length(messages)
        if raw or not self.has_template:
            prompt = EncodedPrompt(self._encode_raw("".join(message.content for message in messages)))
        else:
            rendered = self._render_or_explain(messages, thinking=thinking, continue_last=continue_last)
            prompt = EncodedPrompt(tuple(self._codec.encode_rendering(rendered)), opens_thinking(rendered))
        if not prompt.token_ids:
            raise ProblemError(Problem(code="prompt_empty", sentence="There is no text to begin with."))
        return prompt

    async def encode_chat_in_slices(
        self,
        messages: Sequence[Message],
        *,
        thinking: bool | None = None,
        continue_last: bool = False,
        raw: bool = False,
    ) -> EncodedPrompt:
        """The same prompt as `encode_chat` gives, while the caller's loop goes on.

        The work runs in a thread: the library encodes without the interpreter lock, and the rest holds it for some
        milliseconds at a time. So a text is never cut, which could change its tokens. A caller that is cancelled
        returns at once; the thread finishes unheard.
        """
        return await asyncio.to_thread(
            self.encode_chat, messages, thinking=thinking, continue_last=continue_last, raw=raw
        )

    def _compile(self, source: str, name: str, now: Callable[[], datetime]) -> None:
        try:
            self._template = ChatTemplate(source, name, now=now)
        except ProblemError as error:
            self._template_problem = error.problem

    def _encode_raw(self, text: str) -> tuple[int, ...]:
        """Plain text with what the tokenizer puts before a document, without what it puts behind."""
        ids = self._codec.encode_text(text)
        while ids and ids[-1] in self.end_ids and ids[-1] != self._bos_id:
            ids.pop()
        if self._bos_id is not None and ids[:1] != [self._bos_id]:
            ids.insert(0, self._bos_id)
        return tuple(ids)

    def _render_or_explain(self, messages: Sequence[Message], *, thinking: bool | None, continue_last: bool) -> str:
        def works(repaired: Sequence[Message]) -> bool:
            try:
                self._render(repaired, thinking=thinking, continue_last=continue_last)
            except ProblemError:
                return False
            return True

        try:
            return self._render(messages, thinking=thinking, continue_last=continue_last)
        except ProblemError as error:
            raise ProblemError(with_remedy(error.problem, messages, works)) from error

    def _render(self, messages: Sequence[Message], *, thinking: bool | None, continue_last: bool) -> str:
        if self._template is None:
            raise ProblemError(self._template_problem or _NO_TEMPLATE)
        turns = [
            {"role": message.role.value, "content": self._codec.stand_ins.protect(message.content)}
            for message in messages
        ]
        if continue_last:
            _check_continues(messages)
            turns[-1]["content"] += END_OF_CONTENT
        switches = {} if thinking is None else {"enable_thinking": thinking, "thinking": thinking}
        variables = {"tools": None, "documents": None, "add_generation_prompt": not continue_last, **switches}
        rendered = self._template.render(turns, {**self._named_tokens, **variables})
        return _cut_at_end(rendered, self._template.name) if continue_last else rendered


_NO_TEMPLATE: Final = Problem(code="template_missing", sentence="This model has no chat template.")


def _check_length(messages: Sequence[Message]) -> None:
    length = sum(len(message.content) for message in messages)
    if length > MAX_PROMPT_CHARACTERS:
        sentence = (
            f"The conversation has {length:,} characters, more than the {MAX_PROMPT_CHARACTERS:,} that are possible."
        )
        raise ProblemError(Problem(code="prompt_too_long", sentence=sentence, remedy="Shorten the longest message."))


def _check_continues(messages: Sequence[Message]) -> None:
    if not messages or messages[-1].role is not Role.ASSISTANT:
        raise ProblemError(Problem(code="nothing_to_continue", sentence="The last message is not the model's own."))


def _cut_at_end(rendered: str, name: str) -> str:
    """The rendering up to the end of the last message's text."""
    before, mark, _ = rendered.rpartition(END_OF_CONTENT)
    if not mark:
        sentence = f"The chat template ({name}) does not show the last message as it is, so it cannot be continued."
        raise ProblemError(Problem(code="template_cannot_continue", sentence=sentence))
    return before.replace(END_OF_CONTENT, "")
