"""What a caller asks for when it wants an answer."""

import enum

import msgspec


class Role(enum.StrEnum):
    """Who speaks in a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation as plain text. The text can never become control tokens."""

    role: Role
    content: str


class SamplingSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the next token is drawn. The defaults leave the model's distribution untouched.

    `temperature` 0 is greedy. `top_k` 0, `top_p` 1 and `min_p` 0 switch that filter off. `seed` None lets the engine
    choose one; the outcome tells which. Penalties follow mlx-lm: `repetition_penalty` divides or multiplies raw logits
    (1 is off), presence and frequency penalties are subtracted (0 is off), each over the last `penalty_window` tokens.
    `logit_bias` is added to raw logits by token id.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 64
    logit_bias: dict[int, float] = {}


class CaptureSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What to measure at every step. What is off is absent from the record, never zero.

    `logprob`: the chosen token's log-probability under the model's raw logits. `top_k` (0 to 100): that many most
    probable tokens of the raw logits. `stages`: the same values after penalties and bias, and again in the
    distribution drawn from. `entropy`: of the full raw distribution, in nats. `rank`: the chosen token's place, 0 for
    the best.
    """

    logprob: bool = True
    top_k: int = 0
    stages: bool = False
    entropy: bool = False
    rank: bool = False


class Overflow(enum.StrEnum):
    """What to do with a conversation that is longer than the model can read."""

    REFUSE = "refuse"
    KEEP_LAST_TURNS = "keep_last_turns"
    """Keep the system prompt and as many of the last turns as fit; the result says which messages were left out."""


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="generate"):
    """One answer asked of one model.

    `model` is the id of a `ModelDescription`. `sampling` None takes what the model's makers recommend. `max_tokens`
    None means as many as the context has room for. `stop` ends the answer before any of these texts is shown.
    `thinking` is passed to the template when not None. `continue_last` goes on with a last assistant message instead
    of opening a new turn. `forced_prefix` is token ids that the answer begins with, exactly. `raw` skips the
    template: the contents are joined and encoded as plain text.
    """

    model: str
    messages: tuple[Message, ...]
    sampling: SamplingSettings | None = None
    captures: CaptureSettings = CaptureSettings()
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    thinking: bool | None = None
    overflow: Overflow = Overflow.REFUSE
    continue_last: bool = False
    forced_prefix: tuple[int, ...] = ()
    raw: bool = False


class PromptFit(msgspec.Struct, frozen=True, kw_only=True):
    """How a conversation fits into a model's context, in tokens.

    `full_tokens` is what the whole conversation takes, `prompt_tokens` what would be sent. `left_out` are places in the
    request's messages that would not be.
    """

    prompt_tokens: int
    full_tokens: int
    limit: int
    left_out: tuple[int, ...] = ()

    @property
    def room(self) -> int:
        """At most this many tokens can be answered."""
        return max(0, self.limit - self.prompt_tokens)

    @property
    def excess(self) -> int:
        """By how much the whole conversation is longer than the context."""
        return max(0, self.full_tokens - self.limit)


class ScoreRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="score"):
    """Measure given tokens without generating any.

    The tokens are the prompt that `messages` make, template and all (the texts as they are when `raw`), followed by
    `token_ids`, such as another model's answer. Every one of them is committed in order with what `captures` asks for;
    the first has no measurement, since nothing comes before it. `thinking` and `continue_last` as in generation.
    """

    model: str
    messages: tuple[Message, ...] = ()
    token_ids: tuple[int, ...] = ()
    captures: CaptureSettings = CaptureSettings()
    thinking: bool | None = None
    continue_last: bool = False
    raw: bool = False
