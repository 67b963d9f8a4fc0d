"""The conversion of a GGUF file to a model folder that mlx-lm loads."""

import json
import mmap
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from engine.catalog import gguf_tokenizer
from engine.catalog.gguf_header import GgufHeader, read_header
from engine.catalog.gguf_llama import LlamaConfig
from engine.catalog.gguf_metadata import GgufMetadata
from engine.catalog.gguf_names import EMBEDDING, ArchitectureConfig
from engine.catalog.gguf_weights import GROUP_SIZE, StoredTensor, WeightForm
from engine.catalog.problems import damaged, unsupported
from engine.catalog.safetensors_file import encode
from engine.catalog.staging import StagedFolder

WEIGHTS_FILE: Final = "model.safetensors"

_ARCHITECTURES: Final[Mapping[str, Callable[[GgufMetadata, int, Container[str]], ArchitectureConfig]]] = {
    "llama": LlamaConfig,
}

OnBytes = Callable[[int, int], None]
"""Told the bytes of weights written so far, with their total."""


class GgufConversion:
    """One GGUF file, checked and ready to be written as a model folder.

    Creating it reads the header only. Raises ProblemError where the file is damaged or of a kind Candor cannot convert.
    """

    def __init__(self, source: Path, form: WeightForm) -> None:
        header = read_header(source)
        metadata = GgufMetadata(header.metadata, source)
        vocabulary_size = _vocabulary_size(header, source)
        config = _architecture(metadata, vocabulary_size, header)
        self._source = source
        self._config = config.to_json()
        self._tensors = _placed(header, config, source, form)
        self._tokenizer = gguf_tokenizer.build(metadata, vocabulary_size)

    @property
    def weight_bytes(self) -> int:
        """What the weights will take on the disk, without the file's header."""
        return sum(layout.byte_count for tensor in self._tensors for layout in tensor.layouts())

    def write_to(self, folder: StagedFolder, on_bytes: OnBytes) -> None:
        """Write every file of the model into `folder`. Holds one tensor in memory at a time."""
        for name, text in self._text_files():
            folder.write(name, [text.encode()])
        with self._source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            layouts = [layout for tensor in self._tensors for layout in tensor.layouts()]
            folder.write(WEIGHTS_FILE, encode(layouts, self._weights(content, on_bytes)))

    def _weights(self, content: mmap.mmap, on_bytes: OnBytes) -> Iterator[memoryview]:
        written, total = 0, self.weight_bytes
        for tensor in self._tensors:
            for piece in tensor.contents(content):
                yield piece
                written += piece.nbytes
                on_bytes(written, total)

    def _text_files(self) -> Iterator[tuple[str, str]]:
        tokens = self._tokenizer
        ids = {
            "bos_token_id": tokens.bos_token_id,
            "eos_token_id": list(tokens.eos_token_ids),
            "pad_token_id": tokens.pad_token_id,
        }
        yield "config.json", _json(self._config | _quantisation(self._tensors) | ids)
        yield "generation_config.json", _json(ids)
        yield from tokens.files.items()


def _architecture(metadata: GgufMetadata, vocabulary_size: int, header: GgufHeader) -> ArchitectureConfig:
    name = metadata.required("general.architecture", str)
    architecture = _ARCHITECTURES.get(name)
    if architecture is None:
        raise unsupported(metadata.path, f"the architecture {name}")
    return architecture(metadata, vocabulary_size, header.tensors)


def _vocabulary_size(header: GgufHeader, source: Path) -> int:
    """Rows of the embedding, which may be more than there are tokens."""
    embedding = header.tensors.get(EMBEDDING)
    if embedding is None:
        raise damaged(source, "it has no token embedding")
    return embedding.shape[0]


def _placed(header: GgufHeader, config: ArchitectureConfig, source: Path, form: WeightForm) -> list[StoredTensor]:
    """Every tensor in its slot: none missing, none of another shape, none left over."""
    unused, stored = dict(header.tensors), []
    for slot in config.slots():
        entry = unused.pop(slot.source, None)
        if entry is None or entry.shape != slot.shape:
            raise damaged(source, f"its tensor {slot.source} is missing or has another shape than its metadata says")
        stored.append(StoredTensor(slot.target, entry, form))
    if unused:
        raise unsupported(source, f"the tensor {next(iter(unused))}")
    return stored


def _quantisation(tensors: Sequence[StoredTensor]) -> dict[str, object]:
    """What `config.json` says of packed weights: the bits of most, then each that differs, such as the embedding."""
    bits = {tensor.name.removesuffix(".weight"): tensor.entry.kind.bits for tensor in tensors if tensor.is_quantised}
    if not bits:
        return {}
    ((usual, _),) = Counter(bits.values()).most_common(1)
    layers = {name: {"group_size": GROUP_SIZE, "bits": own} for name, own in bits.items() if own != usual}
    return {"quantization": {"group_size": GROUP_SIZE, "bits": usual, **layers}}


def _json(content: Mapping[str, object]) -> str:
    known = {key: value for key, value in content.items() if value is not None}
    return json.dumps(known, indent=2) + "\n"
