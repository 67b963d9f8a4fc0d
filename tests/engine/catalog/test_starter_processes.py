"""Processes that install the starter model at once, or are killed while they do."""

import shutil
import subprocess
import sys

import msgspec

from tests.engine.catalog.scripted_install import Installing

INSTALL = """
import os, sys, time
from pathlib import Path
import msgspec
from engine.catalog.manifest import StarterManifest
from engine.catalog.staging import open_for_writing
from engine.catalog.staging import OpenFile
from engine.catalog.starter import StarterInstallation

def open_and_announce(path):
    if path.suffix == ".safetensors":
        print("writing", flush=True)
        if "die" in sys.argv:
            sys.stdin.read()
    return open_for_writing(path)

manifest = msgspec.json.decode(sys.argv[1], type=StarterManifest)
StarterInstallation(manifest, Path(sys.argv[2]), open_file=open_and_announce).install(lambda *_: None)
"""


def installing_process(tiny: Installing, *arguments: str) -> subprocess.Popen[str]:
    downloads = tiny.installation.root / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    shutil.copy(tiny.fetch.wheel, downloads)
    manifest = msgspec.json.encode(tiny.installation.manifest).decode()
    command = [sys.executable, "-c", INSTALL, manifest, str(tiny.installation.root), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_what_a_killed_process_left_is_cleared_away_by_the_next_run(tiny: Installing) -> None:
    with installing_process(tiny, "die") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.kill()
    models = tiny.installation.folder.parent
    assert not tiny.installation.folder.exists()
    assert list(models.glob(".tiny-instruct.stage-*"))
    tiny.run()

    assert tiny.installation.is_complete
    assert sorted(path.name for path in models.iterdir()) == [".tiny-instruct.lock", "tiny-instruct"]


def test_of_two_processes_at_once_one_converts_and_both_succeed(tiny: Installing) -> None:
    with installing_process(tiny) as one, installing_process(tiny) as other:
        outputs = [process.communicate(timeout=60)[0] for process in (one, other)]

    assert [one.returncode, other.returncode] == [0, 0]
    assert "".join(outputs) == "writing\n"
    assert tiny.installation.is_complete
