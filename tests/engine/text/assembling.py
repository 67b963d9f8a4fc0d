"""Ways to feed an assembler, and what its pieces must satisfy."""

from collections.abc import Iterable, Sequence

from engine.contracts import Part, TokenPiece
from engine.text.assembly import AssembledToken, MessageAssembler, MessageTokens


def assemble(model: MessageTokens, token_ids: Iterable[int], **options: object) -> list[AssembledToken]:
    """Every token of a whole message."""
    assembler = MessageAssembler(model, **options)  # type: ignore[arg-type]
    tokens = [token for token_id in token_ids for token in assembler.push(token_id)]
    return [*tokens, *assembler.finish()]


def text_of(tokens: Iterable[AssembledToken]) -> str:
    return "".join(token.piece.text for token in tokens)


def by_part(tokens: Iterable[AssembledToken]) -> dict[Part, str]:
    """The text of each part that has any."""
    texts: dict[Part, str] = {}
    for token in tokens:
        if token.piece.text:
            texts[token.piece.part] = texts.get(token.piece.part, "") + token.piece.text
    return texts


def check_spans(pieces: Sequence[TokenPiece]) -> None:
    """Spans tile the text: each piece with text covers just that; the others lie inside one character or are empty."""
    text = "".join(piece.text for piece in pieces)
    end = 0
    for piece in pieces:
        assert piece.start == end
        if piece.text:
            assert text[piece.start : piece.end] == piece.text
            end = piece.end
        else:
            assert piece.end - piece.start in (0, 1)
            assert piece.end <= len(text)
            assert not (piece.special or piece.removed) or piece.end == piece.start
    assert end == len(text)
