"""The tokens' places in a message as columns."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import msgspec

from app.chats.columns import IntColumn, pack_ints, unpack_ints
from app.chats.vocabulary import Entry, Places
from engine.contracts import Part, Removal, TokenPiece


class PieceColumns(msgspec.Struct, array_like=True):
    """One column per field, without the text itself, which is stored beside the record.

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


def pack_pieces(pieces: Sequence[TokenPiece], vocabulary: Places[Entry], names: Places[str | None]) -> PieceColumns:
    first = pieces[0].start if pieces else 0
    lengths = [len(piece.text) for piece in pieces]
    stands_at = accumulate(lengths, initial=first)
    return PieceColumns(
        tokens=pack_ints([vocabulary.of((piece.id, piece.data)) for piece in pieces]),
        first_offset=first,
        text_lengths=pack_ints(lengths),
        start_shifts=pack_ints([piece.start - at for piece, at in zip(pieces, stands_at, strict=False)]),
        length_shifts=pack_ints([piece.end - piece.start - len(piece.text) for piece in pieces]),
        parts=pack_ints([names.of(piece.part) for piece in pieces]),
        specials=pack_ints([piece.special for piece in pieces]),
        removals=pack_ints([names.of(piece.removed) for piece in pieces]),
    )


def unpack_pieces(
    stored: PieceColumns, vocabulary: Sequence[Entry], names: Sequence[str | None], text: str
) -> tuple[TokenPiece, ...]:
    """Raises `ValueError` where the columns do not fit together."""
    entries = [vocabulary[place] for place in unpack_ints(stored.tokens)]
    lengths = unpack_ints(stored.text_lengths)
    reads = list(accumulate(lengths, initial=0))
    shifts = zip(reads, unpack_ints(stored.start_shifts), strict=False)
    starts = [stored.first_offset + read + shift for read, shift in shifts]
    sizes = map(sum, zip(lengths, unpack_ints(stored.length_shifts), strict=True))
    removals = [names[place] for place in unpack_ints(stored.removals)]
    fields = zip(
        entries,
        [text[begin:end] for begin, end in pairwise(reads)],
        starts,
        [start + size for start, size in zip(starts, sizes, strict=True)],
        [Part(names[place] or "") for place in unpack_ints(stored.parts)],
        map(bool, unpack_ints(stored.specials)),
        [None if removed is None else Removal(removed) for removed in removals],
        strict=True,
    )
    return tuple(TokenPiece(id_, data, *rest) for (id_, data), *rest in fields)
