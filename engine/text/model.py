"""A model's text side, loaded from its folder: messages to tokens, tokens to bytes."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from engine.contracts import Message, Problem, ProblemError
from engine.text.chat import ChatRenderer
from engine.text.ends import read_end_ids
from engine.text.files import damaged
from engine.text.folder import TextFiles
from engine.text.tags import TagSyntax, closes_by_spelling, opens_thinking
from engine.text.tokens import TokenCodec

MAX_PROMPT_CHARACTERS: Final = 4_000_000
"""About a million tokens. Reading the ids of so long a prompt holds the interpreter lock for 30 to 120 ms."""


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """A prompt as token ids. `opens_thinking`: the template has opened the thinking, the model only closes it, and
    `closes_by_spelling`: with a tag that is no token of its own.
    """

    token_ids: tuple[int, ...]
    opens_thinking: bool = False
    closes_by_spelling: bool = False


class TextModel:
    """Everything textual about one model. It holds no state of a conversation and may be used from any thread."""

    def __init__(self, files: TextFiles, *, now: Callable[[], datetime] = datetime.now) -> None:
        """`now` is what templates call today. Raises whatever a malformed tokenizer leads to; `load` translates it."""
        self._codec = TokenCodec(files.tokenizer)
        ends = [name for kind, name in files.named_tokens.items() if kind == "eos_token"]
        self.end_ids = read_end_ids(files.settings, ends, self._codec.added, files.template or "")
        self._bos_id = self._codec.added.get(files.named_tokens.get("bos_token", "")) if files.adds_bos else None
        self._chat: ChatRenderer | None = None
        if files.template is not None:
            self._chat = ChatRenderer(
                files.template,
                files.template_name,
                named_tokens=files.named_tokens,
                stand_ins=self._codec.stand_ins,
                now=now,
            )

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
        return self._chat is not None

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
        if raw or self._chat is None:
            prompt = EncodedPrompt(self._encode_raw("".join(message.content for message in messages)))
        else:
            rendered = self._chat.render(messages, thinking=thinking, continue_last=continue_last)
            prompt = EncodedPrompt(
                tuple(self._codec.encode_rendering(rendered)),
                opens_thinking(rendered),
                closes_by_spelling(rendered, self._codec.syntax),
            )
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

    def _encode_raw(self, text: str) -> tuple[int, ...]:
        """Plain text with what the tokenizer puts before a document, without what it puts behind."""
        ids = self._codec.encode_text(text)
        while ids and ids[-1] in self.end_ids and ids[-1] != self._bos_id:
            ids.pop()
        if self._bos_id is not None and ids[:1] != [self._bos_id]:
            ids.insert(0, self._bos_id)
        return tuple(ids)


def _check_length(messages: Sequence[Message]) -> None:
    length = sum(len(message.content) for message in messages)
    if length > MAX_PROMPT_CHARACTERS:
        sentence = (
            f"The conversation has {length:,} characters, more than the {MAX_PROMPT_CHARACTERS:,} that are possible."
        )
        raise ProblemError(Problem(code="prompt_too_long", sentence=sentence, remedy="Shorten the longest message."))
