"""The tokenizer in GGUF metadata as the files that Hugging Face's libraries read."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from engine.catalog.gguf_metadata import GgufMetadata
from engine.catalog.problems import damaged, unsupported

_CONTROL: Final = 3
_USER_DEFINED: Final = 4
"""Token types of llama.cpp: such tokens are found in a text before it is split."""

_SINGLE_DIGITS: Final = ("smollm", "starcoder", "refact", "command-r")
_GPT2: Final = ("gpt-2", "gpt2")
_END_KEYS: Final = ("eos", "eot", "eom")
"""Every token after which a model has nothing more to say: end of text, of turn, of message."""


@dataclass(frozen=True)
class TokenizerFiles:
    """The files of a tokenizer, by name, with the ids of tokens that end an answer."""

    files: Mapping[str, str]
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    pad_token_id: int | None


def build(metadata: GgufMetadata, vocabulary_size: int) -> TokenizerFiles:
    """Build the tokenizer's files; its ids must fit in `vocabulary_size` rows of the embedding."""
    tokens = _tokens(metadata, vocabulary_size)
    bos, pad = _token_id(metadata, "bos", tokens), _token_id(metadata, "padding", tokens)
    ends = [_token_id(metadata, key, tokens) for key in _END_KEYS]
    eos = tuple(dict.fromkeys(end for end in ends if end is not None))
    tokenizer = _byte_level_bpe(metadata, tokens)
    if metadata.optional("tokenizer.ggml.add_bos_token", bool, default=False) and bos is not None:
        tokenizer.post_processor = _beginning_with(tokens[bos], bos)
    return TokenizerFiles(dict(_files(metadata, tokenizer, tokens)), bos, eos, pad)


def _files(metadata: GgufMetadata, tokenizer: Tokenizer, tokens: list[str]) -> Iterator[tuple[str, str]]:
    yield "tokenizer.json", tokenizer.to_str()
    yield "tokenizer_config.json", json.dumps(_config(metadata, tokens), ensure_ascii=False, indent=2)
    if template := metadata.optional("tokenizer.chat_template", str):
        yield "chat_template.jinja", template


def _config(metadata: GgufMetadata, tokens: list[str]) -> dict[str, object]:
    architecture = metadata.required("general.architecture", str)
    config: dict[str, object] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "add_prefix_space": False,
        "model_max_length": metadata.required(f"{architecture}.context_length", int),
    }
    for key, role in (("bos", "bos"), ("eos", "eos"), ("unknown", "unk"), ("padding", "pad")):
        token_id = _token_id(metadata, key, tokens)
        if token_id is not None:
            config[f"{role}_token"] = tokens[token_id]
    return config


def _tokens(metadata: GgufMetadata, vocabulary_size: int) -> list[str]:
    tokens = metadata.sequence("tokenizer.ggml.tokens", str)
    if not 0 < len(tokens) <= vocabulary_size:
        raise damaged(metadata.path, f"it has {len(tokens)} tokens for {vocabulary_size} rows of its embedding")
    if len(set(tokens)) != len(tokens):
        raise damaged(metadata.path, "it holds a token twice")
    return tokens


def _token_id(metadata: GgufMetadata, role: str, tokens: list[str]) -> int | None:
    key = f"tokenizer.ggml.{role}_token_id"
    token_id = metadata.optional(key, int)
    if token_id is not None and not 0 <= token_id < len(tokens):
        raise damaged(metadata.path, f"its {key} is not a token")
    return token_id


def _byte_level_bpe(metadata: GgufMetadata, tokens: list[str]) -> Tokenizer:
    kind = metadata.required("tokenizer.ggml.model", str)
    if kind != "gpt2":
        raise unsupported(metadata.path, f"a tokenizer of kind {kind}")
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=_merges(metadata, vocabulary)))
    tokenizer.pre_tokenizer = _pre_tokenizer(metadata)
    tokenizer.decoder = decoders.ByteLevel()
    _add_tokens(tokenizer, metadata, tokens)
    return tokenizer


def _merges(metadata: GgufMetadata, vocabulary: Mapping[str, int]) -> list[tuple[str, str]]:
    merges: list[tuple[str, str]] = []
    for merge in metadata.sequence("tokenizer.ggml.merges", str):
        left, _, right = merge.partition(" ")
        if not (left in vocabulary and right in vocabulary and left + right in vocabulary):
            raise damaged(metadata.path, "one of its merges joins what are not tokens")
        merges.append((left, right))
    return merges


def _pre_tokenizer(metadata: GgufMetadata) -> pre_tokenizers.PreTokenizer:
    """How a text is cut before merging; llama.cpp keeps the rules of each name in `llama-vocab.cpp`."""
    rule = metadata.optional("tokenizer.ggml.pre", str, "gpt-2")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if rule in _SINGLE_DIGITS:
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level])
    if rule in _GPT2:
        return byte_level
    raise unsupported(metadata.path, f"the text splitting rule {rule}")


def _add_tokens(tokenizer: Tokenizer, metadata: GgufMetadata, tokens: list[str]) -> None:
    kinds = metadata.sequence("tokenizer.ggml.token_type", int)
    if len(kinds) != len(tokens):
        raise damaged(metadata.path, f"it gives {len(kinds)} types for {len(tokens)} tokens")
    added = [
        AddedToken(token, normalized=False, special=kind == _CONTROL)
        for token, kind in zip(tokens, kinds, strict=True)
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    tokenizer.add_tokens(added)


def _beginning_with(token: str, token_id: int) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(
        single=f"{token} $A", pair=f"{token} $A {token}:1 $B:1", special_tokens=[(token, token_id)]
    )
