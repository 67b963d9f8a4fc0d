"""What fits into a model's context, and what has to be left out when not everything does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.contracts import Message, Overflow, Problem, ProblemError, Role

CountTokens = Callable[[Sequence[Message]], int]


@dataclass(frozen=True, slots=True)
class ContextFit:
    """How a conversation fits. `left_out` are places in the messages given; sizes are tokens.

    `full_tokens` is what the whole conversation would take, `prompt_tokens` what `messages`, those kept, take.
    """

    messages: tuple[Message, ...]
    left_out: tuple[int, ...]
    full_tokens: int
    prompt_tokens: int
    limit: int

    @property
    def room(self) -> int:
        """At most this many tokens can be answered; at 0 the answer ends as "context full"."""
        return max(0, self.limit - self.prompt_tokens)

    @property
    def excess(self) -> int:
        """By how much the whole conversation is longer than the context."""
        return max(0, self.full_tokens - self.limit)


def fit_context(
    messages: Sequence[Message],
    count_tokens: CountTokens,
    *,
    limit: int,
    answer_room: int = 1,
    policy: Overflow = Overflow.KEEP_LAST_TURNS,
) -> ContextFit:
    """Choose the messages to send so that `answer_room` tokens remain for the answer.

    A turn is a user's message with all that follows up to the next; it is kept or left out as a whole, oldest first.
    System messages and the last turn are always kept. `count_tokens` must not give less for more turns; it is asked
    about log2(turns) times. Raises `ProblemError` (`context_full`) when even the least does not fit, or the policy
    refuses.
    """
    full = count_tokens(messages)
    if full + answer_room <= limit:
        return ContextFit(tuple(messages), (), full, full, limit)
    if policy is Overflow.REFUSE:
        raise ProblemError(_overflow("The conversation", full, limit, answer_room))
    starts = _turn_starts(messages)
    dropped = _fewest_dropped(messages, starts, lambda kept: count_tokens(kept) + answer_room <= limit)
    left_out = _left_out(messages, starts[dropped])
    kept = _kept(messages, left_out)
    tokens = count_tokens(kept)
    if tokens + answer_room > limit:
        raise ProblemError(_overflow("The last message, with the system prompt,", tokens, limit, answer_room))
    return ContextFit(kept, left_out, full, tokens, limit)


def _fewest_dropped(
    messages: Sequence[Message], starts: Sequence[int], fits: Callable[[Sequence[Message]], bool]
) -> int:
    """How many turns to leave out at least; all but the last when even that may not be enough."""
    low, high = min(1, len(starts) - 1), len(starts) - 1
    while low < high:
        middle = (low + high) // 2
        if fits(_kept(messages, _left_out(messages, starts[middle]))):
            high = middle
        else:
            low = middle + 1
    return low


def _turn_starts(messages: Sequence[Message]) -> list[int]:
    """Where turns begin; what stands before the first user's message is a turn of its own."""
    return sorted({0, *(place for place, message in enumerate(messages) if message.role is Role.USER)})


def _left_out(messages: Sequence[Message], start: int) -> tuple[int, ...]:
    return tuple(place for place in range(start) if messages[place].role is not Role.SYSTEM)


def _kept(messages: Sequence[Message], left_out: Sequence[int]) -> tuple[Message, ...]:
    gone = frozenset(left_out)
    return tuple(message for place, message in enumerate(messages) if place not in gone)


def _overflow(what: str, tokens: int, limit: int, answer_room: int) -> Problem:
    return Problem(
        code="context_full",
        sentence=f"{what} takes {tokens:,} tokens and leaves no room for {answer_room:,} more: the limit is {limit:,}.",
        remedy="Shorten the message, begin a new chat, or choose a larger context.",
    )
