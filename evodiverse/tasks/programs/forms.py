"""The forms of programs: texts that are equal for programs that differ only in layout, docstrings and local names."""

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

VERSION: Final = "2"
"""The version of the form, which begins with it, so that no two versions give a program the same key."""

# The place of a node gives its context, u"" equals "", and a comment is no part of a program.
_LEFT_OUT: Final = frozenset({"ctx", "kind", "type_comment"})
_REVEALING: Final = frozenset(
    {
        *("locals", "vars", "dir", "eval", "exec", "compile", "globals", "help", "builtins", "__builtins__"),
        *("inspect", "pydoc", "doctest", "symtable", "dis", "gc", "traceback", "marshal", "ctypes", "numexpr", "query"),
        *("signature", "getfullargspec", "get_type_hints", "getsource", "getdoc", "bmat", "__import__", "__file__"),
        *("_getframe", "_current_frames", "settrace", "setprofile", "tb_frame", "gi_frame", "cr_frame", "ag_frame"),
        *("f_locals", "f_back", "f_code", "__code__", "__closure__", "__annotations__", "__kwdefaults__", "__doc__"),
        *("__qualname__", "__signature__"),
    }
)
"""Names through which a program may see its local names, its docstrings or its text; pandas and numpy have some."""
_REVEALING_OF_OTHERS: Final = _REVEALING | {"__name__"}
_INDEXERS: Final = ("r_", "c_")

Write: TypeAlias = Callable[[Any], None]


class _Scope:
    """A module, class, function or comprehension, in which names are bound.

    Attributes:
        parent: The scope around it; None for the module.
        kind: The type of its node.
        bound: The names that it binds.
        kept: Those of them that may not be renamed.
        parameters: Those of them that are parameters.
        has_named_parameters: Whether a caller may name the parameters, or look at their names.
        declared: The names that it declares as global or nonlocal, with the type of the statement.
    """

    __slots__ = ("bound", "declared", "has_named_parameters", "kept", "kind", "parameters", "parent")

    def __init__(self, parent: "_Scope | None", kind: type[ast.AST]) -> None:
        self.parent, self.kind = parent, kind
        self.bound: set[str] = set()
        self.kept: set[str] = set()
        self.parameters: set[str] = set()
        self.has_named_parameters = True
        self.declared: dict[str, type[ast.stmt]] = {}

    def owner(self, name: str) -> "_Scope | None":
        """Return the function or comprehension whose local variable a name here is; None for any other name.

        The names of a class are attributes; functions in the class do not see them.
        """
        scope = self
        while scope.parent is not None:
            if scope is self or scope.kind is not ast.ClassDef:
                declared = scope.declared.get(name)
                if declared is ast.Global:
                    return None
                if declared is None and name in scope.bound:
                    return None if scope.kind is ast.ClassDef else scope
            scope = scope.parent
        return None

    def keeps(self, name: str) -> bool:
        """Return whether one of its variables may not be renamed."""
        return name in self.kept or (self.has_named_parameters and name in self.parameters)


_Reference: TypeAlias = tuple[_Scope, str]


def write_form(tree: ast.Module) -> str:
    """Return a text that is equal for equal programs.

    Programs are equal if they differ only in layout, comments, docstrings and local names: those that a function or a
    comprehension binds. A local name tells programs apart, however, if something else may depend on it:

    * the name of a parameter, which a caller may use, or look at; but not if the function is a local one that is only
      ever called, without keywords, or a ``lambda`` that is passed as ``key=``;
    * the name of a class, or of what is imported, unless it is imported ``as`` another name;
    * a name with two underscores in a row.

    All names and docstrings count in a program with type parameters, or with a name through which it may see them, such
    as ``locals``, ``eval`` or ``inspect``.

    Unlike the text of `ast.dump`, the form does not depend on Python's version.

    Args:
        tree: The tree of a program, of limited depth.
    """
    form = _Form(keeps_all=False)
    form.write(tree, _Scope(None, ast.Module))
    if form.is_revealing:
        form = _Form(keeps_all=True)
        form.write(tree, _Scope(None, ast.Module))
    return form.text()


class _Form:
    """A form that is written in one pass; what its names stand for is settled at the end, when all scopes are known.

    Args:
        keeps_all: Whether all names and docstrings count.

    Attributes:
        is_revealing: Whether the program may see its local names or docstrings.
    """

    def __init__(self, *, keeps_all: bool) -> None:
        self.is_revealing = False
        self._keeps_all = keeps_all
        self._parts: list[str | _Reference] = [VERSION]
        self._escaping: list[_Reference] = []  # names that are read, but not just to call them without keywords
        self._functions: list[tuple[_Reference, _Scope]] = []
        self._lambdas: list[_Scope] = []  # those passed as key=
        self._keywords: set[str | None] = set()

    def text(self) -> str:
        """Return the form, in which variables are numbers in the order of their first occurrence."""
        self._free_parameters()
        numbers: dict[_Reference, str] = {}
        known: dict[_Reference, str] = {}
        for part in self._parts:
            if isinstance(part, tuple) and part not in known:
                scope, name = part
                owner = None if self._keeps_all else scope.owner(name)
                if owner is None or owner.keeps(name):
                    known[part] = ascii(name)
                else:
                    known[part] = numbers.setdefault((owner, name), f"%{len(numbers)}")
        return "".join(known[part] if isinstance(part, tuple) else part for part in self._parts)

    def _free_parameters(self) -> None:
        """Find the functions whose parameters no caller can name."""
        escaping = {(scope.owner(name), name) for scope, name in self._escaping}
        for (scope, name), inner in self._functions:
            owner = scope.owner(name)
            inner.has_named_parameters = owner is None or (owner, name) in escaping
        for inner in self._lambdas:
            inner.has_named_parameters = not self._keywords.isdisjoint({None, *inner.parameters})

    def write(self, part: Any, scope: _Scope) -> None:
        """Write a node, a list or another value that stands in a scope."""
        if isinstance(part, ast.AST):
            _WRITERS.get(type(part), _Form._write_node)(self, part, scope)
        elif isinstance(part, list):
            self._parts.append("[")
            for item in part:
                self.write(item, scope)
                self._parts.append(",")
            self._parts.append("]")
        else:  # Python refuses to write very long integers in decimal
            self._parts.append(hex(part) if type(part) is int else ascii(part))

    def _write_node(self, node: ast.AST, scope: _Scope, written: Mapping[str, Write] | None = None) -> None:
        """Write a node, some of its fields in another way."""
        append = self._parts.append
        self.is_revealing |= type(node) in _REVEALS and _REVEALS[type(node)](node)
        append(f"{type(node).__name__}(")
        for name in _counting(node._fields):
            value = getattr(node, name, None)
            if value is not None and value != []:
                append(f"{name}=")
                if written is not None and name in written:
                    written[name](value)
                else:
                    self.write(value, scope)
                append(" ")
        append(")")

    def _refer(self, name: str, scope: _Scope) -> None:
        if name in _REVEALING:
            self.is_revealing = True
        self._parts.append((scope, name))

    def _bind(self, name: str, scope: _Scope, *, is_kept: bool = False) -> None:
        scope.bound.add(name)
        if is_kept or "__" in name:  # in a class A, __x stands for _A__x
            scope.kept.add(name)

    def _binder(self, scope: _Scope, *, is_kept: bool = False) -> Write:
        def bind(name: str) -> None:
            self._bind(name, scope, is_kept=is_kept)
            self._refer(name, scope)

        return bind

    def _body(self, node: Any) -> Any:
        return node.body if self._keeps_all else without_docstring(node)

    def _write_module(self, node: ast.Module, scope: _Scope) -> None:
        self._write_node(node, scope, {"body": lambda _: self.write(self._body(node), scope)})

    def _write_class(self, node: ast.ClassDef, scope: _Scope) -> None:
        inner = _Scope(scope, ast.ClassDef)
        name = self._binder(scope, is_kept=True)
        self._write_node(node, scope, {"name": name, "body": lambda _: self.write(self._body(node), inner)})

    def _write_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope) -> None:
        inner = _Scope(scope, type(node))
        if not node.decorator_list:
            self._functions.append(((scope, node.name), inner))
        written: dict[str, Write] = {
            "name": self._binder(scope),
            "args": lambda arguments: self._write_arguments(arguments, scope, inner),
            "body": lambda _: self.write(self._body(node), inner),
        }
        self._write_node(node, scope, written)

    def _write_lambda(self, node: ast.Lambda, scope: _Scope, *, is_key: bool = False) -> None:
        inner = _Scope(scope, ast.Lambda)
        if is_key:
            self._lambdas.append(inner)
        written: dict[str, Write] = {
            "args": lambda arguments: self._write_arguments(arguments, scope, inner),
            "body": lambda body: self.write(body, inner),
        }
        self._write_node(node, scope, written)

    def _write_arguments(self, node: ast.arguments, scope: _Scope, inner: _Scope) -> None:
        """Write parameters; their defaults and annotations stand in the scope around the function."""

        def bind(name: str) -> None:
            inner.parameters.add(name)
            self._bind(name, inner)
            self._refer(name, inner)

        def write(argument: ast.arg) -> None:
            self._write_node(argument, scope, {"arg": bind})

        def write_all(arguments: list[ast.arg]) -> None:
            for argument in arguments:
                write(argument)

        several = dict.fromkeys(("posonlyargs", "args", "kwonlyargs"), write_all)
        self._write_node(node, scope, {**several, "vararg": write, "kwarg": write})

    def _write_comprehension(self, node: ast.AST, scope: _Scope) -> None:
        """Write a comprehension; what its first loop runs over stands in the scope around it."""
        inner = _Scope(scope, ast.comprehension)

        def write_loops(loops: list[ast.comprehension]) -> None:
            first, *others = loops
            self._write_node(first, inner, {"iter": lambda iterable: self.write(iterable, scope)})
            self.write(others, inner)

        self._write_node(node, inner, {"generators": write_loops})

    def _write_walrus(self, node: ast.NamedExpr, scope: _Scope) -> None:
        """Write an assignment in an expression, which does not bind its name in a comprehension but around it."""
        around = scope
        while around.kind is ast.comprehension and around.parent is not None:
            around = around.parent
        bind = self._binder(around)
        self._write_node(node, scope, {"target": lambda target: bind(target.id)})

    def _write_name(self, node: ast.Name, scope: _Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            self._escaping.append((scope, node.id))
        else:
            self._bind(node.id, scope)
        self._refer(node.id, scope)

    def _write_call(self, node: ast.Call, scope: _Scope) -> None:
        is_plain = isinstance(node.func, ast.Name) and not node.keywords
        self._write_node(node, scope, {"func": lambda name: self._refer(name.id, scope)} if is_plain else None)

    def _write_keyword(self, node: ast.keyword, scope: _Scope) -> None:
        self._keywords.add(node.arg)
        is_key = node.arg == "key" and isinstance(node.value, ast.Lambda)
        written: dict[str, Write] = {"value": lambda value: self._write_lambda(value, scope, is_key=True)}
        self._write_node(node, scope, written if is_key else None)

    def _write_alias(self, node: ast.alias, scope: _Scope) -> None:
        self.is_revealing |= not _REVEALING.isdisjoint(node.name.split("."))
        if node.asname is None:
            self._bind(node.name.split(".")[0], scope, is_kept=True)
        self._write_node(node, scope, {"asname": self._binder(scope)})

    def _write_declaration(self, node: ast.Global | ast.Nonlocal, scope: _Scope) -> None:
        scope.declared |= dict.fromkeys(node.names, type(node))

        def refer(names: list[str]) -> None:
            for name in names:
                self._refer(name, scope)

        self._write_node(node, scope, {"names": refer})

    def _write_capture(self, node: ast.AST, scope: _Scope) -> None:
        bind = self._binder(scope)
        self._write_node(node, scope, {"name": bind, "rest": bind})


_WRITERS: Final[Mapping[type[ast.AST], Callable[..., None]]] = {
    ast.Module: _Form._write_module,
    ast.ClassDef: _Form._write_class,
    ast.FunctionDef: _Form._write_function,
    ast.AsyncFunctionDef: _Form._write_function,
    ast.Lambda: _Form._write_lambda,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _Form._write_comprehension),
    ast.NamedExpr: _Form._write_walrus,
    ast.Name: _Form._write_name,
    ast.Call: _Form._write_call,
    ast.keyword: _Form._write_keyword,
    ast.alias: _Form._write_alias,
    ast.Global: _Form._write_declaration,
    ast.Nonlocal: _Form._write_declaration,
    **dict.fromkeys((ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping), _Form._write_capture),
}


_REVEALS: Final[Mapping[type[ast.AST], Callable[[Any], bool]]] = {
    ast.Attribute: lambda node: node.attr in _REVEALING_OF_OTHERS,
    ast.Constant: lambda node: type(node.value) is str and node.value in _REVEALING_OF_OTHERS,
    # "(x): int" does not make x local, unlike "x: int".
    ast.AnnAssign: lambda node: isinstance(node.target, ast.Name) and not node.simple,
    # numpy.r_["x, y"], unlike numpy.r_[x, y], reads the variables of its caller.
    ast.Subscript: lambda node: getattr(node.value, "attr", "") in _INDEXERS and not isinstance(node.slice, ast.Tuple),
    # Since Python 3.12.
    **{
        getattr(ast, name): lambda _: True
        for name in ("TypeAlias", "TypeVar", "ParamSpec", "TypeVarTuple")
        if hasattr(ast, name)
    },
}
"""Whether a node of a kind may let the program see its local names, docstrings or text."""


@cache
def _counting(fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in fields if name not in _LEFT_OUT)


def without_docstring(node: Any) -> list[ast.stmt]:
    """Return the body of a module, class or function without its docstring."""
    body: list[ast.stmt] = node.body
    return (body[1:] or [ast.Pass()]) if ast.get_docstring(node, clean=False) is not None else body
