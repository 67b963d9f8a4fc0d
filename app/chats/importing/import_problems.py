"""Why a file cannot be imported, in the user's words."""

from engine.contracts import Problem


def not_recognised() -> Problem:
    return Problem(
        code="import_not_recognised",
        sentence="This file holds no conversations that Candor knows how to read.",
        remedy="Choose a JSON file exported by Candor, ChatGPT (conversations.json), LM Studio or Open WebUI.",
    )


def is_archive() -> Problem:
    return Problem(
        code="import_archive",
        sentence="This file is an archive.",
        remedy="Unpack it and choose the file conversations.json in it.",
    )


def newer_version() -> Problem:
    return Problem(
        code="import_newer",
        sentence="This file was exported by a newer Candor.",
        remedy="Update Candor to import it.",
    )


def too_large(size: int, limit: int) -> Problem:
    return Problem(
        code="import_too_large",
        sentence=f"This file has {size / 2**30:.1f} GB; up to {limit / 2**30:.0f} GB can be imported.",
        remedy="Export fewer conversations at a time.",
    )


def unreadable(name: str) -> Problem:
    return Problem(
        code="import_unreadable",
        sentence=f"{name} cannot be read.",
        remedy="Check that the file is there and that you may read it.",
    )
