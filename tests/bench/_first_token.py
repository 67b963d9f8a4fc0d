"""Opens the real window with the real engine, asks one question, and says when the first token is there."""

import asyncio
import tempfile
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.bridge import loop
from tests.end_to_end.candor import answer_of, candor, until


async def _ask(application: QApplication, home: Path) -> None:
    async with candor(application, home, max_tokens=4) as program:
        await program.is_ready()
        pane = program.send("Say hello.")
        await until(lambda: bool(answer_of(pane)))
        print("first token", flush=True)
        await asyncio.sleep(0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        started = QApplication([])
        loop.run(started, _ask(started, Path(folder)))
