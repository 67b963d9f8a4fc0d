"""What the files of a model folder say about its text, gathered in one value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.contracts import Problem, ProblemError
from engine.text.files import read_recommendations, read_settings, read_text, read_tokenizer


@dataclass(frozen=True, slots=True)
class TextFiles:
    """`tokenizer` is the parsed `tokenizer.json`, for whoever builds a tokenizer from it to take over."""

    tokenizer: dict[str, Any]
    named_tokens: Mapping[str, str]
    template: str | None
    template_name: str
    settings: tuple[Mapping[str, Any], ...]
    adds_bos: bool

    @classmethod
    def read(cls, folder: Path) -> "TextFiles":
        """Raises `ProblemError`: `tokenizer_missing` or `tokenizer_damaged`."""
        tokenizer = read_tokenizer(folder / "tokenizer.json")
        if tokenizer is None:
            raise ProblemError(_missing(folder))
        config = read_settings(folder / "tokenizer_config.json")
        named = read_settings(folder / "special_tokens_map.json")
        template, name = _find_template(folder, config)
        return cls(
            tokenizer=tokenizer,
            named_tokens=dict(_named_tokens(named)) | dict(_named_tokens(config)),
            template=template,
            template_name=name,
            settings=(read_recommendations(folder / "generation_config.json"), read_settings(folder / "config.json")),
            adds_bos=config.get("add_bos_token") is True,
        )


def _missing(folder: Path) -> Problem:
    if (folder / "tokenizer.model").exists():
        sentence = "This model has its tokenizer only as tokenizer.model, without tokenizer.json."
    else:
        sentence = "This model has no tokenizer.json."
    return Problem(code="tokenizer_missing", sentence=sentence, remedy="Choose a folder that has this file.")


def _named_tokens(settings: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """`bos_token` and its kind; each is a string, or an object with its content."""
    for name, value in settings.items():
        content = value.get("content") if isinstance(value, dict) else value
        if name.endswith("_token") and isinstance(content, str):
            yield name, content


def _find_template(folder: Path, config: Mapping[str, Any]) -> tuple[str | None, str]:
    """The chat template with the name of its file: a file of its own counts most, as everywhere in the field."""
    own = read_text(folder / "chat_template.jinja")
    if own is not None:
        return own, "chat_template.jinja"
    configured = _default_template(config.get("chat_template"))
    if configured is not None:
        return configured, "tokenizer_config.json"
    separate = read_settings(folder / "chat_template.json")
    return _default_template(separate.get("chat_template")), "chat_template.json"


def _default_template(value: object) -> str | None:
    """A template, or of several named ones the default, or the first."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    named = {
        str(entry.get("name")): entry["template"]
        for entry in value
        if isinstance(entry, dict) and isinstance(entry.get("template"), str)
    }
    return named.get("default", next(iter(named.values()), None))
