"""Parsers of tree-sitter, loaded in the cheapest way and with a limit to the time that one text may take.

A hook is a process per tool call. The packages' own `__init__` bring `typing`, `importlib.resources` and with it
`pathlib`, `tempfile` and `random`, for type declarations and highlighting queries that nobody asks for here: two thirds
of the time of loading them. So the compiled modules inside are loaded under their own names; an ordinary
`import tree_sitter` afterwards finds and shares them.
"""

from __future__ import annotations

import sys
import time
from _thread import allocate_lock  # `threading` has the same, and much besides that takes time to load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from tree_sitter import Language, Parser, Tree

SECONDS = 1.0
"""Longest time for one parse. Ordinary code takes milliseconds; hostile code can take the square of its length."""

_WHOLE = 4096
_loading = allocate_lock()
"""Held while a grammar is loaded: a module that two threads load at once has two of each type, which do not mix."""
_ENDLESS = frozenset(["tree_sitter_perl"])
"""Grammars whose scanner never comes back from a heredoc that ends without a newline."""
_languages: dict[str, Language] = {}


def parse(package: str, source: bytes, *, function: str = "language") -> Tree | None:
    """Parse `source` (UTF-8) with the grammar in `package` ("tree_sitter_bash"), or None when it takes too long.

    `function` names the package's function that gives the language (php and typescript have several).
    Raises ImportError when the package is not installed.
    """
    parser = _parser(package, function)
    if package in _ENDLESS and not source.endswith(b"\n"):
        source += b"\n"
    if len(source) <= _WHOLE:
        return parser.parse(source)
    deadline = time.monotonic() + SECONDS
    end = len(source)

    def chunk(offset: int, _point: object) -> bytes:
        nonlocal end
        if offset < end and time.monotonic() > deadline:
            end = min(end, offset)
        return source[offset : min(offset + _WHOLE, end)] or (b"\n" if offset == end < len(source) else b"")

    tree = parser.parse(chunk)
    return None if end < len(source) else tree


def _parser(package: str, function: str) -> Parser:
    """A parser of its own for each text, so that nothing of one text is left for the next."""
    key = f"{package}.{function}"
    with _loading:
        core = _compiled("tree_sitter")
        if key not in _languages:
            language = getattr(_compiled(package), function)()
            _languages[key] = core.Language(_capsule(language) if isinstance(language, int) else language)
    parser: Parser = core.Parser(_languages[key])
    return parser


def _capsule(address: int) -> object:
    """A bare address in the form that tree-sitter documents; the package for Perl still gives the address itself."""
    import ctypes

    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, b"tree_sitter.Language", None)


def _compiled(package: str) -> ModuleType:
    """The compiled module `_binding` of a tree-sitter package, without the package's own `__init__`."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    name = f"{package}._binding"
    if name in sys.modules:
        return sys.modules[name]
    above = PathFinder.find_spec(package)
    spec = above and PathFinder.find_spec(name, above.submodule_search_locations)
    if not spec or not spec.loader:
        raise ImportError(f"{package} has no compiled grammar", name=package)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
