"""The tokens of an answer as compact records."""

import zlib
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import msgspec

from app.chats.measure_columns import MeasureColumns, pack_measures, unpack_measures
from app.chats.piece_columns import PieceColumns, pack_pieces, unpack_pieces
from app.chats.vocabulary import Entry, Places, Vocabulary, pack_vocabulary, unpack_vocabulary
from engine.contracts import Part, TokenLogprobs, TokenPiece


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


class _Record(msgspec.Struct, array_like=True, tag="tokens/1"):
    vocabulary: Vocabulary
    names: list[str | None]
    pieces: PieceColumns
    measures: MeasureColumns


def encode_tokens(records: TokenRecords) -> bytes:
    """Everything but the text, which is stored beside it for reading and search. Exact, also for NaN and infinities.

    Columns of equal fields compress to 100 to 200 bytes a token with ten alternatives, less the more tokens there are.
    Byte order is little-endian, as on every machine Candor runs on.
    """
    vocabulary, names = Places[Entry](), Places[str | None]()
    pieces = pack_pieces(records.pieces, vocabulary, names)
    measures = pack_measures(records.logprobs, vocabulary, names)
    record = _Record(pack_vocabulary(vocabulary.values()), names.values(), pieces, measures)
    return zlib.compress(msgspec.msgpack.encode(record))


def decode_tokens(record: bytes, text: str) -> TokenRecords:
    """The inverse. Raises `ValueError` for a record that is damaged or does not belong to `text`."""
    try:
        stored = msgspec.msgpack.decode(zlib.decompress(record), type=_Record)
        vocabulary = unpack_vocabulary(stored.vocabulary)
        pieces = unpack_pieces(stored.pieces, vocabulary, stored.names, text)
        logprobs = unpack_measures(stored.measures, vocabulary, stored.names)
    except (zlib.error, msgspec.MsgspecError, IndexError, StopIteration) as error:
        raise ValueError("damaged token record") from error
    if len(pieces) != len(logprobs) or sum(len(piece.text) for piece in pieces) != len(text):
        raise ValueError("token record does not fit its text")
    return TokenRecords(pieces, logprobs)
