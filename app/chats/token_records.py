"""The tokens of an answer as compact records."""

import zlib
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, islice
from typing import Generic, NamedTuple, TypeVar

import msgspec

from app.chats.columns import FloatColumn, IntColumn, pack_floats, pack_ints, unpack_floats, unpack_ints
from engine.contracts import Part, Removal, TokenLogprobs, TokenPiece, TopLogprob

_NO_RECORD = -2
_NO_TOP = -1

T = TypeVar("T")


class TokenRecords(NamedTuple):
    """Tokens in order, with what was measured of each."""

    pieces: tuple[TokenPiece, ...] = ()
    logprobs: tuple[TokenLogprobs | None, ...] = ()

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def by_part(self) -> Iterator[tuple[Part, "TokenRecords"]]:
        """The stretches of neighbours in the same part of the message."""
        for part, tokens in groupby(zip(self.pieces, self.logprobs, strict=True), lambda token: token[0].part):
            pieces, logprobs = zip(*tokens, strict=True)
            yield part, TokenRecords(pieces, logprobs)


class _Vocabulary(msgspec.Struct, array_like=True):
    """Each distinct (id, bytes) once; tokens and candidates refer to it by place."""

    ids: IntColumn
    lengths: IntColumn
    joined: bytes


class _Pieces(msgspec.Struct, array_like=True):
    """The tokens' places in the message, without the text itself.

    A span nearly always starts where the text stands and is as long as the text: only the difference is kept.
    """

    tokens: IntColumn
    first_offset: int
    text_lengths: IntColumn
    start_shifts: IntColumn
    length_shifts: IntColumn
    parts: IntColumn
    specials: IntColumn
    removals: IntColumn


class _Measures(msgspec.Struct, array_like=True):
    """What was measured; `counts` is the number of candidates, or says that there is no record or no list."""

    counts: IntColumn
    chosen: list[FloatColumn]
    ranks: FloatColumn
    candidates: IntColumn
    candidate_values: list[FloatColumn]
    excluded_by: IntColumn


class _Record(msgspec.Struct, array_like=True, tag="tokens/1"):
    vocabulary: _Vocabulary
    names: list[str | None]
    pieces: _Pieces
    measures: _Measures


class _Places(Generic[T]):
    """Gives each distinct value its place in a list."""

    def __init__(self) -> None:
        self._places: dict[T, int] = {}

    def of(self, value: T) -> int:
        return self._places.setdefault(value, len(self._places))

    def values(self) -> list[T]:
        return list(self._places)


def encode_tokens(records: TokenRecords) -> bytes:
    """Everything but the text, which is stored beside it for reading and search. Exact, also for NaN and infinities.

    Columns of equal fields compress to about 80 bytes a token with ten alternatives. Byte order is little-endian, as
    on every machine Candor runs on.
    """
    vocabulary, names = _Places[tuple[int, bytes]](), _Places[str | None]()
    pieces = _encode_pieces(records.pieces, vocabulary, names)
    measures = _encode_measures(records.logprobs, vocabulary, names)
    entries = vocabulary.values()
    listed = _Vocabulary(
        pack_ints([id_ for id_, _ in entries]),
        pack_ints([len(data) for _, data in entries]),
        b"".join(data for _, data in entries),
    )
    return zlib.compress(msgspec.msgpack.encode(_Record(listed, names.values(), pieces, measures)))


def decode_tokens(record: bytes, text: str) -> TokenRecords:
    """The inverse. Raises `ValueError` for a record that is damaged or does not belong to `text`."""
    try:
        stored = msgspec.msgpack.decode(zlib.decompress(record), type=_Record)
        vocabulary = _decode_vocabulary(stored.vocabulary)
        pieces = tuple(_decode_pieces(stored.pieces, vocabulary, stored.names, text))
        logprobs = tuple(_decode_measures(stored.measures, vocabulary, stored.names))
    except (zlib.error, msgspec.MsgspecError, IndexError, StopIteration, RuntimeError) as error:
        raise ValueError("damaged token record") from error
    if len(pieces) != len(logprobs) or sum(len(piece.text) for piece in pieces) != len(text):
        raise ValueError("token record does not fit its text")
    return TokenRecords(pieces, logprobs)


def _encode_pieces(
    pieces: Sequence[TokenPiece], vocabulary: _Places[tuple[int, bytes]], names: _Places[str | None]
) -> _Pieces:
    first = pieces[0].start if pieces else 0
    stands_at = list(accumulate((len(piece.text) for piece in pieces), initial=first))
    return _Pieces(
        tokens=pack_ints([vocabulary.of((piece.id, piece.data)) for piece in pieces]),
        first_offset=first,
        text_lengths=pack_ints([len(piece.text) for piece in pieces]),
        start_shifts=pack_ints([piece.start - at for piece, at in zip(pieces, stands_at, strict=False)]),
        length_shifts=pack_ints([piece.end - piece.start - len(piece.text) for piece in pieces]),
        parts=pack_ints([names.of(piece.part) for piece in pieces]),
        specials=pack_ints([piece.special for piece in pieces]),
        removals=pack_ints([names.of(piece.removed) for piece in pieces]),
    )


def _decode_pieces(
    stored: _Pieces, vocabulary: Sequence[tuple[int, bytes]], names: Sequence[str | None], text: str
) -> Iterator[TokenPiece]:
    columns = (
        stored.tokens,
        stored.text_lengths,
        stored.start_shifts,
        stored.length_shifts,
        stored.parts,
        stored.specials,
        stored.removals,
    )
    read = 0
    for token, length, start_shift, length_shift, part, special, removal in zip(
        *map(unpack_ints, columns), strict=True
    ):
        id_, data = vocabulary[token]
        start = stored.first_offset + read + start_shift
        end = start + length + length_shift
        piece_text = text[read : read + length]
        read += length
        removed = names[removal]
        yield TokenPiece(
            id_,
            data,
            piece_text,
            start,
            end,
            Part(names[part]),
            bool(special),
            None if removed is None else Removal(removed),
        )


def _encode_measures(
    logprobs: Sequence[TokenLogprobs | None], vocabulary: _Places[tuple[int, bytes]], names: _Places[str | None]
) -> _Measures:
    measured = [entry for entry in logprobs if entry is not None]
    candidates = [candidate for entry in measured for candidate in entry.top or ()]
    return _Measures(
        counts=pack_ints([_candidate_count(entry) for entry in logprobs]),
        chosen=[pack_floats([getattr(entry, field) for entry in measured]) for field in _CHOSEN_FIELDS],
        ranks=pack_floats([entry.rank for entry in measured]),
        candidates=pack_ints([vocabulary.of((candidate.id, candidate.data)) for candidate in candidates]),
        candidate_values=[pack_floats([getattr(entry, field) for entry in candidates]) for field in _TOP_FIELDS],
        excluded_by=pack_ints([names.of(candidate.excluded_by) for candidate in candidates]),
    )


def _decode_measures(
    stored: _Measures, vocabulary: Sequence[tuple[int, bytes]], names: Sequence[str | None]
) -> Iterator[TokenLogprobs | None]:
    candidates = _decode_candidates(stored, vocabulary, names)
    chosen = zip(*map(unpack_floats, stored.chosen), unpack_floats(stored.ranks), strict=True)
    for count in unpack_ints(stored.counts):
        if count == _NO_RECORD:
            yield None
            continue
        logprob, adjusted, sampled, entropy, rank = next(chosen)
        top = None if count == _NO_TOP else tuple(islice(candidates, count))
        yield TokenLogprobs(logprob, top, adjusted, sampled, None if rank is None else int(rank), entropy)


def _decode_candidates(
    stored: _Measures, vocabulary: Sequence[tuple[int, bytes]], names: Sequence[str | None]
) -> Iterator[TopLogprob]:
    """By the column: a chat holds ten times as many candidates as tokens."""
    entries = [vocabulary[place] for place in unpack_ints(stored.candidates)]
    logprobs, adjusted, sampled = map(unpack_floats, stored.candidate_values)
    excluded_by = [names[place] for place in unpack_ints(stored.excluded_by)]
    if {len(column) for column in (logprobs, adjusted, sampled, excluded_by)} != {len(entries)}:
        raise ValueError("columns of different lengths")
    ids, data = [id_ for id_, _ in entries], [data for _, data in entries]
    return map(TopLogprob, ids, logprobs, data, adjusted, sampled, excluded_by)


def _decode_vocabulary(stored: _Vocabulary) -> list[tuple[int, bytes]]:
    lengths = unpack_ints(stored.lengths)
    ends = list(accumulate(lengths))
    data = [stored.joined[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    return list(zip(unpack_ints(stored.ids), data, strict=True))


def _candidate_count(entry: TokenLogprobs | None) -> int:
    if entry is None:
        return _NO_RECORD
    return _NO_TOP if entry.top is None else len(entry.top)


_CHOSEN_FIELDS = ("logprob", "adjusted", "sampled", "entropy")
_TOP_FIELDS = ("logprob", "adjusted", "sampled")
