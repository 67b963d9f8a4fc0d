"""A tokenizer built from GGUF metadata cuts real text as the rules of byte-level BPE say."""

import itertools
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import pytest
import regex  # type: ignore[import-untyped]
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from engine.catalog.gguf_header import read_header
from engine.catalog.gguf_metadata import GgufMetadata
from engine.catalog.gguf_tokenizer import build
from engine.catalog.starter import StarterInstallation
from tests.engine.catalog.tiny_gguf import TOKENS, byte_tokens, write_tiny_gguf

GPT2_WORDS = regex.compile(r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")

REAL_TEXT = [
    "The quick brown fox jumps over the lazy dog, doesn't it?  Yes — it's 'quick'!",
    "In 1969, 3.14159 and 1000000 were numbers; so are ²³ and Ⅷ and ١٢٣.",
    "def f(x):\n    return {'a': x ** 2,\t'b': [1, 22, 333]}\n\n\n",
    "Straße, naïve, Ελληνικά, Русский, العربية, हिन्दी, 日本語の文章。 中文，한국어",
    "👩‍👩‍👧 family 🏳️‍🌈 e\u0301 \u200b zero\u00a0width   trailing   ",
    "   leading\r\nwindows\r\n\x00\x7f control",
]


class IndependentBpe:
    """Byte-level BPE with single digits, straight from a list of tokens and merges."""

    def __init__(self, tokens: list[str], merges: list[str]) -> None:
        self.ids = {token: index for index, token in enumerate(tokens)}
        self.ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
        printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
        order = printable + [byte for byte in range(256) if byte not in printable]
        self.byte_characters = dict(zip(order, byte_tokens(), strict=True))

    def encode(self, text: str) -> list[int]:
        return [self.ids[part] for word in self.words(text) for part in self.merged(word)]

    def words(self, text: str) -> Iterator[str]:
        for piece in regex.split(r"(\p{N})", text):
            if len(piece) == 1 and unicodedata.category(piece).startswith("N"):
                yield piece
            else:
                yield from GPT2_WORDS.findall(piece)

    def merged(self, word: str) -> list[str]:
        parts = [self.byte_characters[byte] for byte in word.encode()]
        while len(parts) > 1:
            pairs = list(itertools.pairwise(parts))
            best = min(pairs, key=lambda pair: self.ranks.get(pair, len(self.ranks)))
            if best not in self.ranks:
                break
            at = pairs.index(best)
            parts[at : at + 2] = ["".join(best)]
        return parts


def built(path: Path) -> Tokenizer:
    metadata = GgufMetadata(read_header(path).metadata, path)
    return Tokenizer.from_str(build(metadata, len(TOKENS)).files["tokenizer.json"])


def test_merges_are_applied_in_their_order(tiny_gguf: Path) -> None:
    assert built(tiny_gguf).encode("hello w").tokens == ["hello", "Ġw"]


def test_control_tokens_are_found_in_a_text_and_their_ids_kept(tiny_gguf: Path) -> None:
    assert built(tiny_gguf).encode("<|im_start|>he<|im_end|>").ids == [1, TOKENS.index("he"), 2]


@pytest.mark.parametrize(("rule", "parts"), [("smollm", ["1", "2"]), ("gpt-2", ["12"])])
def test_the_named_rule_decides_whether_digits_stay_together(tmp_path: Path, rule: str, parts: list[str]) -> None:
    tokenizer = built(write_tiny_gguf(tmp_path / "tiny.gguf", metadata={"tokenizer.ggml.pre": rule}))

    assert [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str("12")] == parts


def test_a_beginning_is_added_only_where_the_file_asks_for_it(tmp_path: Path) -> None:
    asking = {"tokenizer.ggml.add_bos_token": True}
    tokenizer = built(write_tiny_gguf(tmp_path / "tiny.gguf", metadata=asking))

    assert tokenizer.encode("he").ids == [1, TOKENS.index("he")]
    assert tokenizer.encode("he", add_special_tokens=False).ids == [TOKENS.index("he")]


def test_every_end_of_an_answer_is_known(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf", metadata={"tokenizer.ggml.eot_token_id": 0})

    assert build(GgufMetadata(read_header(path).metadata, path), len(TOKENS)).eos_token_ids == (2, 0)


@pytest.fixture(scope="module")
def starter_metadata(starter_file: Path) -> dict[str, Any]:
    reader = gguf.GGUFReader(starter_file)
    return {key: field.contents() for key, field in reader.fields.items()}


@pytest.mark.starter
@pytest.mark.parametrize("text", REAL_TEXT)
def test_the_starter_tokenizer_agrees_with_an_independent_one(
    starter: StarterInstallation, starter_metadata: dict[str, Any], text: str
) -> None:
    oracle = IndependentBpe(starter_metadata["tokenizer.ggml.tokens"], starter_metadata["tokenizer.ggml.merges"])
    tokenizer = Tokenizer.from_file(str(starter.folder / "tokenizer.json"))
    ids = tokenizer.encode(text).ids

    assert ids == oracle.encode(text)
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


@pytest.mark.starter
def test_transformers_sees_the_tokens_the_starter_file_names(
    starter: StarterInstallation, starter_metadata: dict[str, Any]
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(str(starter.folder))
    tokens, kinds = starter_metadata["tokenizer.ggml.tokens"], starter_metadata["tokenizer.ggml.token_type"]

    assert tokenizer.convert_ids_to_tokens(range(len(tokens))) == tokens
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.chat_template == starter_metadata["tokenizer.chat_template"]
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == gguf.TokenType.CONTROL]
    assert len(control) == 17
    assert all(tokenizer.encode(token) == [tokens.index(token)] for token in control)
