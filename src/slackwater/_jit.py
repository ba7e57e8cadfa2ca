"""The one door to the compiler: how every compiled loop of the package is built.

Only ``_loops.py`` modules import this file, and they are imported when first needed, so that importing
slackwater does not pay for importing numba.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import llvmlite.binding
import numba
from llvmlite import ir
from numba.core import event
from numba.core.cgutils import get_or_insert_function, unpack_tuple
from numba.extending import intrinsic

from slackwater._code_cache import LoopCache, writable_folder
from slackwater.deadline import NEVER, deadline_of_thread

F = TypeVar("F", bound=Callable[..., Any])
_PATIENCE = 1.0  # seconds of compiling that nobody is told about

# Lets LLVM reorder and fuse sums, which is what vectorises a reduction. A comparison with NaN stays false ("nnan" is
# absent), but do not count on what arithmetic makes of NaN: older LLVMs take x·0 + y for y.
REORDER = frozenset({"reassoc", "contract", "arcp", "nsz"})


class _CompilingNote(event.Listener):  # type: ignore[misc]
    """One line in a terminal or notebook where compiling takes more than a second: why the first fit takes so long."""

    def __init__(self) -> None:
        self._depth, self._spent, self._began = 0, 0.0, 0.0
        self._timer: threading.Timer | None = None
        self._shown = False

    def on_start(self, event: Any) -> None:
        """Begin to wait, unless a loop is compiled on behalf of another."""
        self._depth += 1
        if self._depth == 1 and not self._shown:
            self._began = time.perf_counter()
            self._timer = threading.Timer(max(0.0, _PATIENCE - self._spent), self._show)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """Remember how long it took."""
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._spent += time.perf_counter() - self._began

    def _show(self) -> None:
        self._shown = True
        folder = writable_folder()
        where = "set NUMBA_CACHE_DIR to a folder to keep them in" if folder is None else f"kept in {folder.parent}"
        if "ipykernel" in sys.modules or _is_terminal(sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                print(f"slackwater: compiling loops for this processor, some seconds, once ({where})", file=sys.stderr)


def _is_terminal(stream: Any) -> bool:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return bool(stream.isatty())
    return False


event.register("numba:compile", _CompilingNote())


def compiled(function: F) -> F:
    """Compile ``function`` to machine code; it releases the GIL and is kept on disk between runs."""
    return _build(function, fastmath=False)


def compiled_fusing(function: F) -> F:
    """As ``compiled``, with a product and a sum free to be one instruction, which rounds once."""
    return _build(function, fastmath={"contract"})


def compiled_reordering(function: F) -> F:
    """As ``compiled``, with sums free to be reordered (last-bit differences, several times the speed)."""
    return _build(function, fastmath=set(REORDER))


def compiled_summing(function: F) -> F:
    """As ``compiled``, with sums free to be reordered and nothing else: NaN is never lost, whatever the LLVM."""
    return _build(function, fastmath={"reassoc"})


def compiled_without_nan(function: F) -> F:
    """As ``compiled_reordering``, for values none of which is NaN: ``larger`` and ``smaller`` are vectorised."""
    return _build(function, fastmath=set(REORDER | {"nnan"}))


def called(builder: Any, name: str, result: Any, arguments: Sequence[Any]) -> Any:
    """A function that LLVM knows by its name, for ``builder`` to call."""
    return get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


def _of_two(name: str) -> Any:
    """LLVM's own choice of one of two numbers. A loop that compares and assigns is not taken for a maximum."""

    def choose(context: Any, one: Any, other: Any) -> Any:
        number, kind = (numba.float64, ir.DoubleType())
        if one == other == numba.float32:
            number, kind = (numba.float32, ir.FloatType())

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.call(called(builder, f"llvm.{name}.f{number.bitwidth}", kind, [kind, kind]), arguments)

        return number(number, number), emit

    return intrinsic(choose)


larger, smaller = _of_two("maxnum"), _of_two("minnum")


@functools.cache
def processor_has(feature: str) -> bool:
    """Whether the processor has a set of instructions (by LLVM's name), and loops are compiled for this processor."""
    theirs_alone = not (numba.config.CPU_NAME or numba.config.CPU_FEATURES)
    return theirs_alone and bool(llvmlite.binding.get_host_cpu_features().get(feature))


def emitted(emit: Callable[..., None]) -> Any:
    """A function for compiled loops that ``emit(builder, kinds, arguments)`` writes for LLVM.

    It is called with a tuple of values whose types tell what to write, ``kinds`` being the names of these types, and
    with a tuple of arguments. No result.
    """

    def choose(context: Any, telling: Any, arguments: Any) -> Any:
        kinds = [kind.name for kind in telling]

        def write(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            emit(builder, kinds, unpack_tuple(builder, given[1]))
            return context.get_dummy_value()

        return numba.void(telling, arguments), write

    return intrinsic(choose)


def _build(function: F, **options: Any) -> F:
    options.update(nogil=True, error_model="numpy")
    if function.__name__.startswith("_"):  # by convention called from compiled code only: quicker to compile
        options.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    dispatcher: Any = numba.njit(**options)(function)
    dispatcher._cache = LoopCache(function)
    compile_now = dispatcher._compile_for_args

    def compile_aside(*arguments: Any, **named: Any) -> Any:
        """Compile, or load, in a thread that a fit need not wait for when it has to end; what it makes is kept."""
        deadline = deadline_of_thread()
        if deadline is NEVER:
            return compile_now(*arguments, **named)
        return deadline.aside(lambda: compile_now(*arguments, **named))

    dispatcher._compile_for_args = compile_aside
    return dispatcher  # type: ignore[no-any-return]
