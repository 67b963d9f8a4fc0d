"""Every small change that a careless edit could make to a module."""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = Callable[[ast.AST], ast.AST]

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One changed module: where, what, and the source that results."""

    line: int
    what: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, one change each, in the bodies of its functions."""
    tree = ast.parse(source)
    bodies = set(_bodies(tree))
    for index, node in enumerate(ast.walk(tree)):
        for what, change in _changes(node) if node in bodies else ():
            mutated = copy.deepcopy(tree)
            target = next(found for position, found in enumerate(ast.walk(mutated)) if position == index)
            replaced = _Replace(target, change(target)).visit(mutated)
            yield Mutant(getattr(node, "lineno", 0), what, ast.unparse(ast.fix_missing_locations(replaced)))


def _bodies(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when a function is called: no default, no decorator, no annotation."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                yield from _without_annotations(statement)


def _without_annotations(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _without_annotations(child)


class _Replace(ast.NodeTransformer):
    """Puts one node in place of another."""

    def __init__(self, target: ast.AST, replacement: ast.AST) -> None:
        self._target = target
        self._replacement = replacement

    def visit(self, node: ast.AST) -> ast.AST:
        return self._replacement if node is self._target else super().generic_visit(node)


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Compare():
            yield from _changed_comparisons(node)
        case ast.BoolOp():
            yield from _changed_conditions(node)
        case ast.UnaryOp(op=ast.Not()):
            yield "not x -> x", lambda found: found.operand if isinstance(found, ast.UnaryOp) else found
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _ARITHMETIC:
            yield f"{type(op).__name__} -> {_ARITHMETIC[type(op)].__name__}", _change_operator
        case ast.Constant(value=bool(value)):
            yield f"{value} -> {not value}", lambda _: ast.Constant(not value)
        case ast.Constant(value=int(number) | float(number)):
            yield f"{number} -> {number + 1}", lambda _: ast.Constant(number + 1)
        case ast.If() | ast.While() | ast.IfExp():
            yield "condition negated", _negate_test
        case ast.Return(value=ast.expr()) if not _is_falsy(node.value):
            yield "return None", lambda _: ast.Return(ast.Constant(None))
        case ast.Raise() | ast.Continue() | ast.AugAssign():
            yield f"{type(node).__name__.lower()} removed", lambda _: ast.Pass()
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield f"{ast.unparse(node)} removed", lambda _: ast.Pass()
        case ast.Assign(targets=[ast.Attribute()]):
            yield f"{ast.unparse(node)} removed", lambda _: ast.Pass()
        case _:
            return


def _changed_comparisons(node: ast.Compare) -> Iterator[tuple[str, Change]]:
    for position, op in enumerate(node.ops):
        new = _COMPARISONS[type(op)]

        def change(found: ast.AST, position: int = position, new: type[ast.cmpop] = new) -> ast.AST:
            assert isinstance(found, ast.Compare)
            found.ops[position] = new()
            return found

        yield f"{type(op).__name__} -> {new.__name__}", change


def _changed_conditions(node: ast.BoolOp) -> Iterator[tuple[str, Change]]:
    def swap(found: ast.AST) -> ast.AST:
        assert isinstance(found, ast.BoolOp)
        found.op = ast.Or() if isinstance(found.op, ast.And) else ast.And()
        return found

    yield "and <-> or", swap
    for position, value in enumerate(node.values):

        def drop(found: ast.AST, position: int = position) -> ast.AST:
            assert isinstance(found, ast.BoolOp)
            del found.values[position]
            return found if len(found.values) > 1 else found.values[0]

        yield f"without `{ast.unparse(value)}`", drop


def _change_operator(found: ast.AST) -> ast.AST:
    assert isinstance(found, ast.BinOp | ast.AugAssign)
    found.op = _ARITHMETIC[type(found.op)]()
    return found


def _negate_test(found: ast.AST) -> ast.AST:
    assert isinstance(found, ast.If | ast.While | ast.IfExp)
    found.test = ast.UnaryOp(ast.Not(), found.test)
    return found


def _is_falsy(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and not value.value
