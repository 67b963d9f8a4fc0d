"""A disk without room."""

from app.chats.chat_file import ChatFile


class FullDisk:
    """Lets SQLite answer as on a full disk: the file may not grow."""

    def __init__(self, file: ChatFile) -> None:
        self._file = file

    def fill(self) -> None:
        ((pages,),) = self._file.rows("PRAGMA page_count")
        self._file.rows(f"PRAGMA max_page_count = {pages}")

    def free(self) -> None:
        self._file.rows("PRAGMA max_page_count = 1000000")
