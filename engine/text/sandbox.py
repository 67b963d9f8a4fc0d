"""A Jinja environment whose templates can neither run for ever nor fill the memory."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from types import BuiltinMethodType, MethodType
from typing import Any, Final, NoReturn

from jinja2 import nodes
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from engine.text.bounded_operations import (
    bounded_filters,
    bounded_tests,
    check_binary,
    check_format,
    checked_arguments,
    joined,
)
from engine.text.metering import current_meter

_ITERATED: Final = "metered_items"
_COMPARED: Final = "weighed_value"
_JOINED: Final = "joined_text"


class TemplateRefusalError(Exception):
    """The template itself says no, through `raise_exception`."""


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox of the model families' templates, with every step metered.

    Jinja compiles to Python code, which nothing can interrupt from outside; so the template's syntax tree is changed
    before: what a loop iterates, what `~` joins and what is compared goes through a filter that asks the meter. Calls,
    operators and output have hooks of their own. One operation between two questions works on bounded values, which
    keeps the whole bounded. Malice that still slips through ends in the engine process, never in the window.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})
    concat = staticmethod(joined)

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            # Constants are folded while compiling, where no meter runs.
            optimized=False,
            finalize=_weighed_value,
            extensions=[LoopControlExtension, GenerationBlock],
        )
        self.filters = {**bounded_filters(), _ITERATED: _metered_items, _COMPARED: _weighed_value, _JOINED: joined}
        self.tests = bounded_tests()
        self.globals = {
            "range": safe_range,
            "dict": dict,
            "namespace": Namespace,
            "raise_exception": _raise_exception,
            "strftime_now": lambda pattern: _formatted_date(now(), pattern),
        }

    def parse_metered(self, source: str) -> nodes.Template:
        """The template's syntax tree with the meter's questions in it. Raises `TemplateSyntaxError`."""
        tree: nodes.Template = _AddMeter().visit(self.parse(source))
        return tree

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401
        check_binary(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401, N805
        current_meter().step()
        if isinstance(__obj, BuiltinMethodType | MethodType):
            args = checked_arguments(__obj.__self__, __obj.__name__, args)
        return super().call(__context, __obj, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:  # noqa: ANN401
        wrapped = super().wrap_str_format(value)
        if wrapped is None or not isinstance(value, BuiltinMethodType | MethodType):
            return wrapped

        def formatted(*arguments: object, **options: object) -> str:
            check_format(str(value.__self__), *arguments, *options.values())
            return wrapped(*arguments, **options)

        return formatted


class GenerationBlock(Extension):
    """`{% generation %}` marks what a model would be trained on; for rendering it is only its content."""

    tags = {"generation"}  # noqa: RUF012 - Jinja's own declaration

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _AddMeter(NodeTransformer):
    """Wraps the places of a template where work or text can multiply."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 - named after the node
        self.generic_visit(node)
        node.iter = _through(_ITERATED, node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802 - named after the node
        self.generic_visit(node)
        return _through(_JOINED, nodes.List(node.nodes, lineno=node.lineno))

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Expr:  # noqa: N802 - named after the node
        self.generic_visit(node)
        # Nested tuples can be keys, and hashing them has no question in between.
        return _through(_COMPARED, node) if node.ctx == "load" and node.items else node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802 - named after the node
        self.generic_visit(node)
        for operand in node.ops:
            operand.expr = _compared(operand.expr)
        node.expr = _compared(node.expr)
        return node


def _compared(node: nodes.Expr) -> nodes.Expr:
    return node if isinstance(node, nodes.Const) else _through(_COMPARED, node)


def _through(name: str, node: nodes.Node) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _metered_items(values: Iterable[object]) -> Iterator[object]:
    return current_meter().items(values)


def _weighed_value(value: object) -> object:
    current_meter().weigh(value)
    return value


def _raise_exception(message: object = "") -> NoReturn:
    raise TemplateRefusalError(str(message))


def _formatted_date(now: datetime, pattern: str) -> str:
    check_format(pattern)
    return now.strftime(pattern)
