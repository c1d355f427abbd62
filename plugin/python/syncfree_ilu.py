"""Registers the PC types `syncfree_ilu`, `syncfree_icc` and `syncfree_sor` with the PETSc of petsc4py.

    import sys, petsc4py
    petsc4py.init(sys.argv)
    import syncfree_ilu

    pc.setType("syncfree_ilu")
    ...
    print(syncfree_ilu.running_strategy(pc))  # after the solve: ("serial", "host")

`__version__` is the version of the library.

The environment variable SYNCFREE_ILU_LIBRARY may name the library's file. Otherwise the library is searched for in the
directory of this file, then in the one where it was installed with this file (in the repository: build/host). `library()`
returns the path, for `-dll_append` in programs without Python.
"""

import ctypes
import os

try:
    import petsc4py
except ModuleNotFoundError as missing:
    raise ImportError(
        "syncfree_ilu needs petsc4py, which this Python lacks: make the virtual environment with --system-site-packages, "
        "or install petsc4py, then run pip install --force-reinstall ./plugin/python"
    ) from missing
import numpy
from petsc4py import PETSc

_NAME = "libsyncfree_ilu.so"
_FROM_HERE = "../../build/host"  # replaced by CMake in the installed file


def _candidates():
    named = os.environ.get("SYNCFREE_ILU_LIBRARY")
    if named:
        yield named
        return
    folder = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(folder, _NAME)
    yield os.path.normpath(os.path.join(folder, _FROM_HERE, _NAME))


def library():
    """Returns the path of the library to register. Raises FileNotFoundError, which lists the paths tried."""
    tried = list(_candidates())
    for path in tried:
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(
        f"{_NAME} not found in: {', '.join(tried)}; set SYNCFREE_ILU_LIBRARY to its path"
    )


def register():
    """Registers the types and returns the library; may be called again after PETSc was finalized and initialized again.

    Raises RuntimeError if PETSc is not initialized, or if the library does not load or was built for
    another PETSc; PETSc prints its own message on standard error.
    """
    if not PETSc.Sys.isInitialized():
        raise RuntimeError("call petsc4py.init() before syncfree_ilu.register()")
    path = library()
    needed = f"it must be built for {running_petsc()}"
    try:
        loaded = ctypes.CDLL(path)
        error = loaded.PetscDLLibraryRegister_syncfree_ilu()
    except (OSError, AttributeError) as problem:
        raise RuntimeError(f"{path} does not load: {problem}; {needed}") from problem
    if error:
        raise RuntimeError(f"{path} could not be registered (PETSc error {error}); {needed}")
    return loaded


def running_petsc():
    """Returns what a library must be built for: version, scalars, indices and place of the PETSc of petsc4py."""
    version = ".".join(map(str, PETSc.Sys.getVersion()))
    scalar, index = (numpy.dtype(kind).name for kind in (PETSc.ScalarType, PETSc.IntType))
    found = petsc4py.get_config()
    place = f"PETSC_DIR={found.get('PETSC_DIR', '')} PETSC_ARCH={found.get('PETSC_ARCH', '')}".strip()
    return f"PETSc {version}, scalars {scalar}, indices {index}, {place}"


def _version():
    version = ctypes.c_char_p()
    _library.PCSyncFreeGetVersion(ctypes.byref(version))
    return version.value.decode()


def running_strategy(pc):
    """Returns (strategy, backend) that run for a petsc4py PC on this process; (None, None) before the first analysis.

    Raises RuntimeError for a PC of another type; PETSc prints its own message on standard error.
    """
    strategy, backend = ctypes.c_char_p(), ctypes.c_char_p()
    handle = ctypes.c_void_p(pc.handle)
    error = _library.PCSyncFreeGetRunningStrategy(handle, ctypes.byref(strategy), ctypes.byref(backend))
    if error:
        raise RuntimeError(f"no running strategy for a PC of type {pc.getType()} (PETSc error {error})")
    return tuple(name.value and name.value.decode() for name in (strategy, backend))


_library = register()
__version__ = _version()
