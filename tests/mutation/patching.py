"""Puts the function bodies of a changed source into a module that is already imported."""

from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType


def patch(module: ModuleType, source: str) -> None:
    """Give every function and method of `module` its body in `source`.

    The function objects stay the same, so that whoever has imported them runs the new body too.
    """
    codes = dict(_codes(compile(source, str(module.__file__), "exec")))
    for owner, name, function in _functions(module):
        code = codes[function.__code__.co_qualname]
        try:
            function.__code__ = code
        except ValueError:
            # A body that lost its last `super()` has no cell for the class any more, and needs a new function.
            setattr(owner, name, FunctionType(code, module.__dict__, name, function.__defaults__))


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_qualname, constant
            yield from _codes(constant)


def _functions(module: ModuleType) -> Iterator[tuple[object, str, FunctionType]]:
    """Functions of the module and of its classes, with the object that has them as attributes."""
    for owner in (module, *(found for found in vars(module).values() if isinstance(found, type))):
        for name, found in list(vars(owner).items()):
            function = found.fget if isinstance(found, property) else found
            if isinstance(function, FunctionType) and function.__code__.co_filename == module.__file__:
                yield owner, name, function
