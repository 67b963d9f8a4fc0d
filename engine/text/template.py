"""A model's chat template, rendered within bounds, with every failure a sentence."""

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, cast

from jinja2 import Template, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError, UndefinedError

from engine.contracts import Problem, ProblemError
from engine.text.metering import Meter, RenderLimits, TemplateLimitError, start_meter
from engine.text.sandbox import BoundedEnvironment, TemplateRefusalError

_SHOWN_MESSAGE: Final = 200


class ChatTemplate:
    """One compiled template. `name` is the file it came from, for the reader of a problem.

    Rendering holds no state: a template that fails can be used again at once.
    """

    def __init__(
        self,
        source: str,
        name: str,
        *,
        limits: RenderLimits | None = None,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        """Compile `source`. Raises `ProblemError` (`template_damaged`) when it does not parse."""
        self.name = name
        self.source = source
        self._limits = limits or RenderLimits()
        self._environment = BoundedEnvironment(now)
        start_meter(self._limits, 0)
        try:
            tree = self._environment.parse_metered(source)
            self._literals = {node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)}
            code = self._environment.compile(tree, name=name, filename=name)
            self._template = Template.from_code(self._environment, code, self._environment.globals)
        except TemplateSyntaxError as error:
            raise self._damaged(f"line {error.lineno}: {(error.message or 'syntax error').rstrip('.')}") from error
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self._damaged("it is too deeply nested") from error

    def render(self, messages: Sequence[Mapping[str, str]], variables: Mapping[str, object]) -> str:
        """The prompt as text. Raises `ProblemError`, which names the template, the line, and what it could not do."""
        meter = start_meter(self._limits, sum(len(message["content"]) for message in messages))
        try:
            context = self._template.new_context({"messages": list(messages), **variables})
            return "".join(_metered_output(self._template.root_render_func(context), meter))
        except Exception as error:  # the border to foreign code, which may raise anything
            raise ProblemError(self._problem(error)) from error

    def _problem(self, error: Exception) -> Problem:
        place = self._place(error.__traceback__)
        match error:
            case TemplateLimitError():
                return Problem(code="template_endless", sentence=f"The chat template ({place}) was stopped: {error}.")
            case TemplateRefusalError():
                said = self._own_words(str(error))
                return Problem(
                    code="template_refused", sentence=f"The chat template ({place}) refuses this conversation{said}."
                )
            case UndefinedError() | SecurityError() if self._is_own(str(error)):
                what = str(error).rstrip(".")
                return Problem(code="template_failed", sentence=f"The chat template ({place}) failed: {what}.")
            case _:
                # Other messages may quote a user's text.
                kind = type(error).__name__
                return Problem(code="template_failed", sentence=f"The chat template ({place}) failed with {kind}.")

    def _is_own(self, message: str) -> bool:
        """Every name quoted in a message of Jinja's stands in the template."""
        return all(name in self.source for name in re.findall("'([^']*)'", message) if not name.endswith(" object"))

    def _own_words(self, message: str) -> str:
        """What the template says, if the words are its own and not built from somebody's text."""
        return f': "{message.rstrip(".")}"' if message in self._literals and len(message) <= _SHOWN_MESSAGE else ""

    def _place(self, traceback: TracebackType | None) -> str:
        line = None
        while traceback is not None:
            template: Any = traceback.tb_frame.f_globals.get("__jinja_template__")
            if template is self._template:
                line = template.get_corresponding_lineno(traceback.tb_lineno)
            traceback = traceback.tb_next
        return self.name if line is None else f"{self.name}, line {line}"

    def _damaged(self, what: str) -> ProblemError:
        return ProblemError(
            Problem(code="template_damaged", sentence=f"The chat template ({self.name}) does not parse, {what}.")
        )


def _metered_output(parts: Iterator[str], meter: Meter) -> Iterator[str]:
    for part in parts:
        try:
            meter.step()
            meter.write(len(part))
        except TemplateLimitError as error:
            # Raised where the template stands, so that the problem can name the line.
            cast(Generator[str, None, None], parts).throw(error)
        yield part
