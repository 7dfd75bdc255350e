"""Runs a script as __main__ with the current folder importable, and with FILE_CONTENT when there is a file.

FILE_CONTENT is text: bytes that are not UTF-8 become U+FFFD, newlines stay as they are.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


def _run() -> None:
    import os
    import sys

    def without_this_file(kind: type, error: BaseException, trace: TracebackType | None) -> None:
        sys.__excepthook__(kind, error.with_traceback(trace and trace.tb_next and trace.tb_next.tb_next), None)

    main = sys.modules["__main__"].__dict__
    del sys.argv[0], main["_run"], main["TYPE_CHECKING"], main["annotations"]
    here, script = os.path.dirname(__file__), sys.argv[0]
    if sys.path and sys.path[0] == here:
        del sys.path[0]
    # last, so that a project's files never stand in for the standard library
    sys.path.append(os.getcwd())
    sys.excepthook = without_this_file
    main["__file__"], main["__doc__"] = script, None
    path = os.environ.get("FILE_CONTENT_PATH")
    if path is not None:
        with open(path, "rb") as stream:  # noqa: PTH123 - not slowed down by pathlib
            main["FILE_CONTENT"] = stream.read().decode("utf-8", "replace")
        main["FILE_CONTENT_PATH"] = path
    with open(script, "rb") as stream:  # noqa: PTH123
        code = stream.read()
    exec(compile(code, script, "exec", dont_inherit=True), main)  # noqa: S102 - it is what we are for


_run()
