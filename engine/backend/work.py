"""What the group knows of one row: its tokens with how far the model has read them."""

from typing import Final

from engine.backend.cache_kinds import Cache
from engine.backend.row import Row, RowProgress, SampledToken
from engine.contracts import FinishReason, TokenLogprobs

_RESERVED_ANSWER: Final = 256


class RowWork:
    """One row's token ids and caches. Owned by the group; `caches` holds them only while no batch does.

    Between units `read <= len(ids)`: the first `read` ids are in the caches. A row joins a batch, for the first time
    and after a rest alike, with everything read but its last id.
    """

    def __init__(self, row: Row, context_length: int) -> None:
        request = row.request
        self.row = row
        self.sampling = request.sampling
        self.captures = request.captures
        self.prompt_tokens = len(request.prompt)
        room = context_length - self.prompt_tokens
        self._limit = min(request.max_tokens, room)
        self._limit_reason = FinishReason.MAX_TOKENS if request.max_tokens <= room else FinishReason.CONTEXT_FULL
        forced = request.forced_prefix[: self._limit]
        self.ids: list[int] = [*request.prompt, *forced]
        self.read = 0
        self.cached = 0
        self.caches: list[Cache] | None = None
        self.drawn = len(forced)
        """Tokens of the answer that are forced or drawn, those still on the device included."""
        self._forced_end = len(self.ids)
        self.published = self.prompt_tokens
        """Where in the ids the reader's next token stands."""

    @property
    def reusable(self) -> int:
        """How many ids may come from stored work: the last one is fed, and forced ones are measured, anew."""
        return max(0, (self.prompt_tokens if self.has_forced else len(self.ids)) - 1)

    @property
    def unread(self) -> int:
        """Ids to be read before the row can decode."""
        return len(self.ids) - 1 - self.read

    @property
    def has_drawn_all(self) -> bool:
        """No further token may be drawn; the last ones may still be on the device."""
        return self.drawn >= self._limit

    @property
    def has_forced(self) -> bool:
        """Forced tokens wait to be measured and delivered."""
        return self.published < self._forced_end

    @property
    def is_on_device(self) -> bool:
        """A token was drawn that the host has not read."""
        return self.drawn > len(self.ids) - self.prompt_tokens

    @property
    def reserved(self) -> int:
        """Tokens there must be memory for before the row starts: what it has, with a good piece of its answer."""
        left = self._limit - (len(self.ids) - self.prompt_tokens)
        return len(self.ids) + max(0, min(left, _RESERVED_ANSWER))

    def report_progress(self) -> None:
        """Tell the reader how much of the prompt is read. The last token, which decoding reads, is not waited for."""
        total = self.prompt_tokens
        read = total if self.unread <= 0 else min(self.read, total)
        self.row.report_progress(RowProgress(read, total, self.cached))

    def fail(self, error: BaseException) -> None:
        """End the row; its caches are in doubt."""
        self.caches = None
        self.row.fail(error)

    def publish(self, token_id: int, logprobs: TokenLogprobs | None) -> None:
        """Deliver a drawn token, and finish the row when it was the last."""
        self.ids.append(token_id)
        self.published += 1
        self.row.deliver(SampledToken(token_id, logprobs))
        if token_id in self.row.request.end_ids:
            self.row.finish(FinishReason.END_OF_TURN)
        elif self.published - self.prompt_tokens >= self._limit:
            self.finish_at_limit()

    def publish_forced(self, logprobs: TokenLogprobs | None) -> None:
        """Deliver the next forced token."""
        self.row.deliver(SampledToken(self.ids[self.published], logprobs))
        self.published += 1

    def finish_at_limit(self) -> None:
        """The row has all the tokens it may have."""
        self.row.finish(self._limit_reason)
