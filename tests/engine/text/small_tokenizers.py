"""Small tokenizers of every kind, trained in a moment on a few sentences, and model folders around them."""

import functools
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from engine.text.model import TextModel

MARKERS = (
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>", "<pad>"),
    *("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    *("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
    *("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[THINK]", "[/THINK]"),
    *("<|user|>", "<|assistant|>", "<|system|>", "<|end|>"),
    *("<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>"),
    *("<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>"),
    *("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|SYSTEM_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>"),
    *("<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    *("<|start|>", "<|message|>", "<|channel|>", "<|return|>", "<|call|>", "<|constrain|>"),
    *("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"),
)
"""Declared special, as the families do."""

TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
"""Declared added but not special, as Qwen does."""

SAMPLE = (
    "Once upon a time there was a king who counted to 12345 and said: well, that's enough!",
    "Příliš žluťoučký kůň úpěl ďábelské ódy. Žádné ďábly nechci.",
    "你好，世界。今天天气很好。 日本語の文章です。",
    "नमस्ते दुनिया, यह एक वाक्य है।",
    "مرحبا بالعالم. שלום עולם, with English 42.",
    "def f(x):\n    return x + 1\n\n\tprint(f(2))\n",
    "👨‍👩‍👧‍👦 🇨🇿 👍🏽 🎉 flags and families",
    "user assistant system the answer is that this and then think end of turn im_start im_end",
)

SCRIPTS = (
    "A flag 🇨🇿, a family 👨‍👩‍👧‍👦, a thumb 👍🏽, and e\u0301 combined.",
    "你好，世界。繁體中文也要。",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "नमस्ते दुनिया। क्षत्रिय",
    "هذه جملة عربية تنتهي بنقطة. שלום English 42 עולם.",
    "zero\x00byte and\ttabs\r\nlines\n\n\n   spaces   ",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010fffd \ufeff \u200b \u202e",
)


@functools.cache
def byte_level() -> Tokenizer:
    """Byte-level BPE, as in GPT-2, Llama 3 and Qwen."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        SAMPLE, trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False)
    )
    return _with_markers(tokenizer, spaces="  ")


@functools.cache
def sentencepiece() -> Tokenizer:
    """SentencePiece BPE with byte fallback and a leading space at the very beginning, as in Mistral."""
    tokenizer = Tokenizer(_piece_model())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    tokenizer.decoder = _piece_decoder()
    return _with_markers(tokenizer)


@functools.cache
def legacy_sentencepiece() -> Tokenizer:
    """The same pieces with a normalizer that puts a space before every stretch of text, as in Llama 2."""
    tokenizer = Tokenizer(_piece_model())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = _piece_decoder()
    return _with_markers(tokenizer)


@functools.cache
def spaceless_sentencepiece() -> Tokenizer:
    """The same pieces without any leading space, as in Gemma."""
    tokenizer = Tokenizer(_piece_model())
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return _with_markers(tokenizer, spaces="▁▁")


@functools.cache
def unigram() -> Tokenizer:
    """Unigram with a Metaspace decoder; its vocabulary holds the markers, so plain text could match them."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<unk>", *MARKERS], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(SAMPLE * 3, trainer)
    return _with_markers(tokenizer)


@functools.cache
def word_piece() -> Tokenizer:
    """WordPiece: a decoder of which only the library knows the rules."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=500, special_tokens=["[UNK]", "[SEP]"], show_progress=False)
    tokenizer.train_from_iterator(SAMPLE, trainer)
    return _with_markers(tokenizer)


FAMILIES: tuple[Callable[[], Tokenizer], ...] = (
    byte_level,
    sentencepiece,
    legacy_sentencepiece,
    spaceless_sentencepiece,
    unigram,
    word_piece,
)


def write_folder(
    folder: Path,
    tokenizer: Tokenizer,
    *,
    template: str | None = None,
    config: Mapping[str, Any] | None = None,
    generation: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
) -> Path:
    """A model folder as far as text is concerned."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    if template is not None:
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    settings = {"tokenizer_config.json": config, "generation_config.json": generation, "config.json": model}
    for name, value in settings.items():
        if value is not None:
            (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder


def load(folder: Path, tokenizer: Tokenizer, *, now: Callable[[], datetime] = datetime.now, **files: Any) -> TextModel:
    return TextModel.load(write_folder(folder, tokenizer, **files), now=now)


def _piece_model() -> models.BPE:
    """Pieces learned with the space mark, with a vocabulary that begins as SentencePiece's does."""
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="never")
    learned.train_from_iterator(SAMPLE[:1] + SAMPLE[7:], trainers.BpeTrainer(vocab_size=200, show_progress=False))
    description = json.loads(learned.to_str())["model"]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *description["vocab"]]
    vocabulary = {name: place for place, name in enumerate(names)}
    merges = [tuple(merge) for merge in description["merges"]]
    return models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)


def _piece_decoder() -> decoders.Decoder:
    return decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )


def _with_markers(tokenizer: Tokenizer, spaces: str = "") -> Tokenizer:
    tokenizer.add_special_tokens([AddedToken(marker, special=True, normalized=False) for marker in MARKERS])
    tokenizer.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in TAGS])
    if spaces:
        tokenizer.add_tokens([AddedToken(spaces, special=False, normalized=False)])
    return tokenizer
