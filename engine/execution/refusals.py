"""What the core refuses: a promise of its caller was broken."""

import enum


class Refusal(enum.StrEnum):
    """The stable name of each refusal."""

    OVERLAPPING_PUBLICATION = "overlapping_publication"
    PUBLICATION_OUTSIDE_EXECUTION = "publication_outside_execution"
    PUBLISHED_AFTER_STOP = "published_after_stop"
    OUTPUT_LIMIT_EXCEEDED = "output_limit_exceeded"
    INVALID_OUTPUT_LIMIT = "invalid_output_limit"
    LOGPROBS_MISALIGNED = "logprobs_misaligned"
    PIECES_MISALIGNED = "pieces_misaligned"
    TOP_LOGPROBS_OVER_CAPACITY = "top_logprobs_over_capacity"
    INVALID_TOKEN_ID = "invalid_token_id"
    LOGPROBS_NEED_STREAM = "logprobs_need_stream"
    PIECES_NEED_STREAM = "pieces_need_stream"
    INVALID_PROGRESS = "invalid_progress"
    CONCURRENT_NEXT = "concurrent_next"
    SECOND_CONSUMER = "second_consumer"
    NOT_A_STREAM = "not_a_stream"
    BUFFER_OVERFLOW = "buffer_overflow"
    SCHEDULER_CLOSED = "scheduler_closed"
    FOREIGN_LOOP = "foreign_loop"
    OWN_OUTCOME = "own_outcome"


_SENTENCES = {
    Refusal.OVERLAPPING_PUBLICATION: "a publication is still open; await it before the next",
    Refusal.PUBLICATION_OUTSIDE_EXECUTION: "only a run that is executing may publish",
    Refusal.PUBLISHED_AFTER_STOP: "the callback answered False; no more tokens are taken",
    Refusal.OUTPUT_LIMIT_EXCEEDED: "more tokens than the plan's limit",
    Refusal.INVALID_OUTPUT_LIMIT: "the plan's limit is no whole number from 0 to 2^53 - 1",
    Refusal.LOGPROBS_MISALIGNED: "logprobs need one entry for each token",
    Refusal.PIECES_MISALIGNED: "pieces need one entry for each token",
    Refusal.TOP_LOGPROBS_OVER_CAPACITY: "more top logprobs than the session's capacity",
    Refusal.INVALID_TOKEN_ID: "a token id is no whole number from 0 to 2^32 - 1",
    Refusal.LOGPROBS_NEED_STREAM: "a collecting session has no place for logprobs",
    Refusal.PIECES_NEED_STREAM: "a collecting session has no place for pieces",
    Refusal.INVALID_PROGRESS: "progress must be finite, not negative and not beyond its total",
    Refusal.CONCURRENT_NEXT: "another read is still waiting",
    Refusal.SECOND_CONSUMER: "the session's only reader was taken before",
    Refusal.NOT_A_STREAM: "only a streaming session can be read",
    Refusal.BUFFER_OVERFLOW: "the reserved buffer has no room left",
    Refusal.SCHEDULER_CLOSED: "the scheduler is closed",
    Refusal.FOREIGN_LOOP: "a session belongs to the loop it was opened on; hand over with run_coroutine_threadsafe",
    Refusal.OWN_OUTCOME: "work inside a session cannot wait for its own outcome",
}


class RefusedError(RuntimeError):
    """A call was refused and left no trace; `refusal` says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(_SENTENCES[refusal])
        self.refusal = refusal
