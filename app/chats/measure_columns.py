"""What was measured of tokens as columns."""

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from app.chats.columns import FloatColumn, IntColumn, pack_floats, pack_ints, unpack_floats, unpack_ints
from app.chats.vocabulary import Entry, Places
from engine.contracts import TokenLogprobs, TopLogprob

_NO_RECORD = -2
_NO_TOP = -1


class MeasureColumns(msgspec.Struct, array_like=True):
    """`counts` is each token's number of candidates, or says that there is no record or no list."""

    counts: IntColumn
    chosen: list[FloatColumn]
    ranks: FloatColumn
    candidates: IntColumn
    candidate_values: list[FloatColumn]
    excluded_by: IntColumn


def pack_measures(
    logprobs: Sequence[TokenLogprobs | None], vocabulary: Places[Entry], names: Places[str | None]
) -> MeasureColumns:
    measured = [entry for entry in logprobs if entry is not None]
    candidates = [candidate for entry in measured for candidate in entry.top or ()]
    return MeasureColumns(
        counts=pack_ints([_candidate_count(entry) for entry in logprobs]),
        chosen=[pack_floats([getattr(entry, field) for entry in measured]) for field in _CHOSEN_FIELDS],
        ranks=pack_floats([entry.rank for entry in measured]),
        candidates=pack_ints([vocabulary.of((candidate.id, candidate.data)) for candidate in candidates]),
        candidate_values=[pack_floats([getattr(entry, field) for entry in candidates]) for field in _TOP_FIELDS],
        excluded_by=pack_ints([names.of(candidate.excluded_by) for candidate in candidates]),
    )


def unpack_measures(
    stored: MeasureColumns, vocabulary: Sequence[Entry], names: Sequence[str | None]
) -> tuple[TokenLogprobs | None, ...]:
    """Raises `ValueError` where the columns do not fit together."""
    candidates = _candidates(stored, vocabulary, names)
    chosen = zip(*map(unpack_floats, stored.chosen), unpack_floats(stored.ranks), strict=True)
    logprobs: list[TokenLogprobs | None] = []
    for count in unpack_ints(stored.counts):
        if count == _NO_RECORD:
            logprobs.append(None)
            continue
        logprob, adjusted, sampled, entropy, rank = next(chosen)
        top = None if count == _NO_TOP else tuple(islice(candidates, count))
        rank = None if rank is None else int(rank)
        logprobs.append(TokenLogprobs(logprob, top, adjusted, sampled, rank, entropy))
    return tuple(logprobs)


def _candidates(
    stored: MeasureColumns, vocabulary: Sequence[Entry], names: Sequence[str | None]
) -> Iterator[TopLogprob]:
    """By the column: a chat holds ten times as many candidates as tokens."""
    entries = [vocabulary[place] for place in unpack_ints(stored.candidates)]
    logprobs, adjusted, sampled = map(unpack_floats, stored.candidate_values)
    excluded_by = [names[place] for place in unpack_ints(stored.excluded_by)]
    if {len(column) for column in (logprobs, adjusted, sampled, excluded_by)} != {len(entries)}:
        raise ValueError("columns of different lengths")
    ids, data = [id_ for id_, _ in entries], [data for _, data in entries]
    return map(TopLogprob, ids, logprobs, data, adjusted, sampled, excluded_by)


def _candidate_count(entry: TokenLogprobs | None) -> int:
    if entry is None:
        return _NO_RECORD
    return _NO_TOP if entry.top is None else len(entry.top)


_CHOSEN_FIELDS = ("logprob", "adjusted", "sampled", "entropy")
_TOP_FIELDS = ("logprob", "adjusted", "sampled")
