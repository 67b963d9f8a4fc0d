"""A GGUF header is either read completely or refused in a sentence, whatever its bytes."""

import contextlib
import struct
from pathlib import Path

import gguf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.catalog.gguf_header import read_header
from engine.contracts import ProblemError
from tests.engine.catalog.tiny_gguf import MERGES, TOKENS, shapes, write_tiny_gguf

COUNT_OF_TENSORS = 8
COUNT_OF_METADATA = 16


def edited(source: Path, target: Path, at: int, content: bytes) -> Path:
    original = source.read_bytes()
    target.write_bytes(original[:at] + content + original[at + len(content) :])
    return target


def problem_of(path: Path) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        read_header(path)
    return caught.value


def test_the_header_agrees_with_an_independent_reader(tiny_gguf: Path) -> None:
    header = read_header(tiny_gguf)
    independent = {tensor.name: tensor for tensor in gguf.GGUFReader(tiny_gguf).tensors}

    assert {name: entry.shape for name, entry in header.tensors.items()} == shapes()
    for name, entry in header.tensors.items():
        assert entry.offset == independent[name].data_offset
        assert entry.byte_count == independent[name].n_bytes
    assert header.metadata["tokenizer.ggml.tokens"] == TOKENS
    assert header.metadata["tokenizer.ggml.merges"] == MERGES
    assert header.metadata["llama.rope.freq_base"] == 5000.0


def test_a_file_cut_anywhere_is_damaged(tiny_gguf: Path, tmp_path: Path) -> None:
    content = tiny_gguf.read_bytes()
    cut = tmp_path / "cut.gguf"
    for length in [*range(400), *range(400, len(content), 1499), len(content) - 1]:
        cut.write_bytes(content[:length])

        assert problem_of(cut).problem.code == "model_damaged", length


@pytest.mark.parametrize("at", [COUNT_OF_TENSORS, COUNT_OF_METADATA])
@pytest.mark.parametrize("count", [1 << 63, 1 << 40, 1 << 20])
def test_counts_beyond_the_file_are_refused_before_anything_is_allocated(
    tiny_gguf: Path, tmp_path: Path, at: int, count: int
) -> None:
    path = edited(tiny_gguf, tmp_path / "counts.gguf", at, struct.pack("<Q", count))

    assert problem_of(path).problem.code == "model_damaged"


def test_a_text_longer_than_the_file_is_refused(tiny_gguf: Path, tmp_path: Path) -> None:
    path = edited(tiny_gguf, tmp_path / "text.gguf", 24, struct.pack("<Q", 1 << 62))

    assert "text of" in problem_of(path).problem.sentence


@pytest.mark.parametrize(
    ("at", "content", "code"),
    [
        (0, b"GGML", "model_damaged"),
        (4, struct.pack("<I", 1), "model_unsupported"),
        (4, struct.pack(">I", 3), "model_unsupported"),
    ],
)
def test_other_files_and_other_versions_are_named(
    tiny_gguf: Path, tmp_path: Path, at: int, content: bytes, code: str
) -> None:
    problem = problem_of(edited(tiny_gguf, tmp_path / "other.gguf", at, content)).problem

    assert problem.code == code
    assert "other.gguf" in problem.sentence
    assert problem.remedy


def test_a_tensor_that_lies_beyond_the_file_is_refused(tiny_gguf: Path, tmp_path: Path) -> None:
    name = b"output_norm.weight"
    offset_at = tiny_gguf.read_bytes().index(name) + len(name) + 4 + 8 + 4
    path = edited(tiny_gguf, tmp_path / "offset.gguf", offset_at, struct.pack("<Q", 1 << 63))

    assert "output_norm.weight" in problem_of(path).problem.sentence


def test_an_unknown_number_format_is_named(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "k.gguf")
    name = b"output_norm.weight"
    kind_at = path.read_bytes().index(name) + len(name) + 4 + 8
    edited(path, path, kind_at, struct.pack("<I", gguf.GGMLQuantizationType.IQ2_XXS))

    assert problem_of(path).problem.code == "model_unsupported"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 12_000), st.binary(min_size=1, max_size=9)), min_size=1, max_size=4))
def test_a_damaged_header_gives_a_declared_error_or_a_header(
    tiny_gguf: Path, tmp_path: Path, edits: list[tuple[int, bytes]]
) -> None:
    path = tmp_path / "mutated.gguf"
    path.write_bytes(tiny_gguf.read_bytes())
    for at, content in edits:
        edited(path, path, at, content)
    with contextlib.suppress(ProblemError):
        tensors = read_header(path).tensors.values()
        assert all(entry.offset + entry.byte_count <= path.stat().st_size for entry in tensors)
