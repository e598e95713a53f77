"""The forms of programs: texts that are equal for programs that differ only in layout, docstrings and local names."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
_PLAIN: Final = frozenset(
    {ast.BinOp, ast.Assign, ast.Tuple, ast.List, ast.Expr, ast.Compare, ast.If, ast.For, ast.AugAssign, ast.Return}
    | {ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Slice, ast.While, ast.Starred, ast.JoinedStr, ast.FormattedValue}
    | {kind for group in (ast.operator, ast.cmpop, ast.unaryop, ast.boolop) for kind in group.__subclasses__()}
)
"""The most frequent kinds of nodes that neither bind nor reveal anything; found here, they need not be matched."""
_TYPE_PARAMETERS: Final = frozenset({"TypeAlias", "TypeVar", "ParamSpec", "TypeVarTuple"})  # since Python 3.12


@dataclass(eq=False, slots=True)
class _Scope:
    """A module, class, function or comprehension, in which names are bound.

    Attributes:
        parent: The scope around it; None for the module.
        node: Its node.
        bound: The names that it binds.
        kept: Those of them that may not be renamed.
        parameters: Those of them that are parameters.
        has_named_parameters: Whether a caller may name the parameters, or look at their names.
        declared: The names that it declares as global or nonlocal, with the type of the statement.
    """

    parent: "_Scope | None"
    node: ast.AST
    bound: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    has_named_parameters: bool = True
    declared: dict[str, type[ast.stmt]] = field(default_factory=dict)

    def owner(self, name: str) -> "_Scope | None":
        """Return the function or comprehension whose local variable a name here is; None for any other name.

        The names of a class are attributes; functions in the class do not see them.
        """
        scope = self
        while scope.parent is not None:
            is_class = isinstance(scope.node, ast.ClassDef)
            if scope is self or not is_class:
                declared = scope.declared.get(name)
                if declared is ast.Global:
                    return None
                if declared is None and name in scope.bound:
                    return None if is_class else scope
            scope = scope.parent
        return None


_Reference: TypeAlias = tuple[_Scope, str]
_Fields: TypeAlias = Mapping[str, Sequence[tuple[_Scope, Any]]]
"""What to write in place of some fields of a node: for each, the parts with their scopes. A text is a name."""


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
    for keeps_all in (False, True):
        form = _Form(keeps_all=keeps_all)
        form.write(tree, _Scope(None, tree))
        if not form.is_revealing:
            break
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
        self._keys: set[ast.expr] = set()  # those passed as key=
        self._lambdas: list[_Scope] = []
        self._keywords: set[str | None] = set()

    def text(self) -> str:
        """Return the form, in which variables are numbers in the order of their first occurrence."""
        escaping = {(scope.owner(name), name) for scope, name in self._escaping}
        for (scope, name), inner in self._functions:  # those whose parameters no caller can name
            owner = scope.owner(name)
            inner.has_named_parameters = owner is None or (owner, name) in escaping
        for inner in self._lambdas:
            if inner.node in self._keys:
                inner.has_named_parameters = not self._keywords.isdisjoint({None, *inner.parameters})
        numbers: dict[_Reference, str] = {}

        @cache
        def tell(reference: _Reference) -> str:
            scope, name = reference
            owner = None if self._keeps_all else scope.owner(name)
            if owner is None or name in owner.kept or (owner.has_named_parameters and name in owner.parameters):
                return ascii(name)
            return numbers.setdefault((owner, name), f"%{len(numbers)}")

        return "".join(part if isinstance(part, str) else tell(part) for part in self._parts)

    def write(self, part: Any, scope: _Scope) -> None:
        """Write a node, a list or another value that stands in a scope."""
        append = self._parts.append
        if isinstance(part, ast.Name):
            if isinstance(part.ctx, ast.Load):
                self._escaping.append((scope, part.id))
            else:
                self._bind(part.id, scope)
            self._refer(part.id, scope)
        elif isinstance(part, ast.AST):
            written = {} if type(part) in _PLAIN else self._find_written(part, scope)
            append(f"{type(part).__name__}(")
            for name in part._fields:
                value = getattr(part, name, None)
                if value is not None and value != [] and name not in _LEFT_OUT:
                    append(f"{name}=")
                    if name in written:
                        for around, inner in written[name]:
                            (self._refer if isinstance(inner, str) else self.write)(inner, around)
                    else:
                        self.write(value, scope)
                    append(" ")
            append(")")
        elif isinstance(part, list):
            append("[")
            for item in part:
                self.write(item, scope)
                append(",")
            append("]")
        else:  # Python refuses to write very long integers in decimal
            append(hex(part) if type(part) is int else ascii(part))

    def _refer(self, name: str, scope: _Scope) -> None:
        self.is_revealing |= name in _REVEALING
        self._parts.append((scope, name))

    def _bind(self, name: str, scope: _Scope, *, is_kept: bool = False) -> list[_Reference]:
        scope.bound.add(name)
        if is_kept or "__" in name:  # in a class A, __x stands for _A__x
            scope.kept.add(name)
        return [(scope, name)]

    def _find_written(self, node: ast.AST, scope: _Scope) -> _Fields:
        """Note what a node binds or reveals, and return its fields that are names, or stand in other scopes."""
        match node:
            case ast.Constant(value=str(name)) | ast.Attribute(attr=name):
                self.is_revealing |= name in _REVEALING_OF_OTHERS
            case ast.Constant():
                pass
            case ast.Call(func=ast.Name(id=called), keywords=[]):
                return {"func": [(scope, called)]}
            case ast.Subscript(value=ast.Attribute(attr="r_" | "c_")):
                # numpy.r_["x, y"], unlike numpy.r_[x, y], reads the variables of its caller.
                self.is_revealing |= not isinstance(node.slice, ast.Tuple)
            case ast.AnnAssign():  # "(x): int" does not make x local, unlike "x: int"
                self.is_revealing |= isinstance(node.target, ast.Name) and not node.simple
            case ast.Module():
                return {"body": [(scope, self._body(node))]}
            case ast.ClassDef():
                inner = _Scope(scope, node)
                return {"name": self._bind(node.name, scope, is_kept=True), "body": [(inner, self._body(node))]}
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = _Scope(scope, node)
                if not node.decorator_list:
                    self._functions.append(((scope, node.name), inner))
                bound = self._bind(node.name, scope)
                return {"name": bound, "args": [(inner, node.args)], "body": [(inner, self._body(node))]}
            case ast.Lambda():
                inner = _Scope(scope, node)
                self._lambdas.append(inner)
                return {"args": [(inner, node.args)], "body": [(inner, node.body)]}
            case ast.arguments():
                around = scope.parent or scope  # for defaults, and for the annotations below
                lists = ("posonlyargs", "args", "kwonlyargs")
                names = {kind: [(scope, argument) for argument in getattr(node, kind)] for kind in lists}
                return {**names, "defaults": [(around, node.defaults)], "kw_defaults": [(around, node.kw_defaults)]}
            case ast.arg():
                scope.parameters.add(node.arg)
                return {"arg": self._bind(node.arg, scope), "annotation": [(scope.parent or scope, node.annotation)]}
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inner, (loop, *loops) = _Scope(scope, node), node.generators
                values = {name: [(inner, value)] for name, value in ast.iter_fields(node)}
                return {**values, "generators": [(inner, loop), (inner, loops)]}
            case ast.comprehension() if node in getattr(scope.node, "generators", ())[:1]:
                # What the first loop runs over stands in the scope around the comprehension.
                return {"iter": [(scope.parent or scope, node.iter)]}
            case ast.NamedExpr():
                around = scope
                while hasattr(around.node, "generators") and around.parent is not None:  # in a comprehension
                    around = around.parent
                return {"target": self._bind(node.target.id, around)}
            case ast.keyword():
                self._keywords.add(node.arg)
                if node.arg == "key":
                    self._keys.add(node.value)
            case ast.alias():
                first, *others = node.name.split(".")
                self.is_revealing |= not _REVEALING.isdisjoint({first, *others})
                return {"asname": self._bind(node.asname or first, scope, is_kept=node.asname is None)}
            case ast.Global() | ast.Nonlocal():
                scope.declared |= dict.fromkeys(node.names, type(node))
                return {"names": [(scope, declared) for declared in node.names]}
            case (
                ast.ExceptHandler(name=str(captured))
                | ast.MatchAs(name=str(captured))
                | ast.MatchStar(name=str(captured))
                | ast.MatchMapping(rest=str(captured))
            ):
                return dict.fromkeys(("name", "rest"), self._bind(captured, scope))
            case _ if type(node).__name__ in _TYPE_PARAMETERS:
                self.is_revealing = True
        return {}

    def _body(self, node: Any) -> Any:
        """Return the body of a module, class or function; without its docstring, unless that counts."""
        if self._keeps_all or ast.get_docstring(node, clean=False) is None:
            return node.body
        return node.body[1:] or [ast.Pass()]
