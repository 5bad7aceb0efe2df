"""Make declared modules importable without behavior, so that tests fail for what is
missing.

A test that cannot import its subject proves nothing by failing. With a skeleton the
import succeeds, and the first use of anything that is not written raises
`NotImplementedError("not written yet: module.name")`. Only what happens while a test
module is imported works: naming things, their attributes and items, and deriving
classes from them. A test that passes nevertheless does not depend on the code that is
to be written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from agentos.documents.changes import is_test
from agentos.proving.inspection.parsing import Function, parse_python

_NO_SUBJECTS = frozenset(
    {"setup.py", "conftest.py", "noxfile.py", "tasks.py", "sitecustomize.py"}
)
_REMOVED = ("delete", "remove")

_HEAD = '"""Stands in for a module that is not written yet."""\n'
_RUN = (
    'if __name__ == "__main__":\n    raise NotImplementedError("not written yet: " +'
    " {module!r})\n"
)
_PLACEHOLDERS = '''
def _make_placeholders():
    """Return a maker of things that can be named and derived from, and nothing else."""
    uses = """
    call await aiter anext iter next len contains setitem delitem eq ne lt le gt ge bool enter exit aenter aexit str
    format bytes int float index complex round trunc floor ceil neg pos abs invert reversed fspath length_hint
    add radd iadd sub rsub isub mul rmul imul matmul rmatmul truediv rtruediv itruediv floordiv rfloordiv mod rmod
    divmod pow rpow and rand or ror xor rxor lshift rlshift rshift rrshift
    """.split()
    # Classes stay comparable: annotations compare them while a test module is imported.
    of_class = "call iter len contains setitem delitem lt le gt ge bool format reversed instancecheck".split()

    def refuse(self, *args, **kwargs):
        raise NotImplementedError("not written yet: " + type.__getattribute__(type(self), "told")(self))

    def inner(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return make(type(self).told(self) + "." + name, False)

    def item(self, key):
        return make(type(self).told(self) + "[...]", False)

    def told_of_class(cls):
        return type.__getattribute__(cls, "_not_written")

    def told_of_instance(self):
        return object.__getattribute__(self, "_not_written")

    shared = {"__getattr__": inner, "__getitem__": item, "__hash__": lambda self: id(self), "__test__": False}
    shared["__repr__"] = lambda self: "<not written yet: " + type(self).told(self) + ">"
    refusing = {"__%s__" % name: refuse for name in uses}
    instance = type("NotWrittenYet", (), {**refusing, **shared, "told": told_of_instance})
    refusing = {"__%s__" % name: refuse for name in of_class}
    kind = type("NotWrittenYetType", (type,), {**refusing, **shared, "told": told_of_class})
    plain = {name: value for name, value in kind.__dict__.items() if name != "__instancecheck__"}
    plain = {name: value for name, value in plain.items() if name not in ("__dict__", "__weakref__", "__bool__")}
    error_kind = type("NotWrittenYetType", (type,), plain)

    def make(path, is_top=True):
        name = path.rpartition(".")[2]
        if is_top and name[:1].isupper() and not name.isupper():
            is_error = name.endswith(("Error", "Exception", "Warning", "Exit", "Interrupt"))
            maker, bases = (error_kind, (Exception,)) if is_error else (kind, ())
            return maker(name, bases, {"_not_written": path, "__test__": False, "__module__": __name__})
        found = instance.__new__(instance)
        found.__dict__["_not_written"] = path
        return found

    return make


_make_placeholder = _make_placeholders()


def __getattr__(name):
    if name.startswith("__") or name.startswith("pytest") or name in ("setUpModule", "tearDownModule", "load_tests"):
        raise AttributeError(name)
__SUBMODULES__    placeholder = _make_placeholder(__MODULE__ + "." + name)
    globals()[name] = placeholder
    return placeholder
'''
_SUBMODULES = """\
    import importlib.util
    if importlib.util.find_spec(__name__ + "." + name) is not None:
        return importlib.import_module(__name__ + "." + name)
"""


def skeletons(
    declared: Mapping[str, str], read: Callable[[str], str | None]
) -> dict[str, str]:
    """Return texts of the declared Python files that let tests be imported and fail.

    `declared` maps a path in the repository to what is planned for it; `read` returns
    the current text of a path, None when there is none. Tests and files that need no
    change are left out. Existing behavior stays as it is.
    """
    made: dict[str, str] = {}
    for path, plan in declared.items():
        if not is_subject(path) or plan.strip().casefold().startswith(_REMOVED):
            continue
        text = read(path)
        skeleton = _of_new(path) if text is None else _of_existing(path, text)
        if skeleton is not None:
            made[path] = skeleton
    return made


def is_subject(path: str) -> bool:
    """Tell whether a path is a Python module of the code under test."""
    parts = PurePosixPath(path).parts
    if not parts or not path.endswith(".py") or parts[-1] in _NO_SUBJECTS:
        return False
    return not is_test(path)


def module_name(path: str) -> str:
    """Return the dotted name under which a file is imported."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts[:1] in (["src"], ["lib"]):
        parts = parts[1:]
    if parts[-1:] == ["__init__"]:
        parts = parts[:-1]
    return ".".join(parts)


def _of_new(path: str) -> str:
    module = module_name(path)
    return _HEAD + _placeholders(path) + "\n\n" + _RUN.format(module=module)


def _of_existing(path: str, text: str) -> str | None:
    module = parse_python(text)
    if not isinstance(module, ast.Module) or "__getattr__" in set(_bound_names(module)):
        return None
    return text.rstrip("\n") + "\n\n" + _placeholders(path)


def _placeholders(path: str) -> str:
    submodules = _SUBMODULES if PurePosixPath(path).name == "__init__.py" else ""
    return _PLACEHOLDERS.replace("__SUBMODULES__", submodules).replace(
        "__MODULE__", repr(module_name(path))
    )


def _bound_names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id
