# Where `pip install ./plugin/python` builds (scikit-build-core sets SKBUILD): the prefix is the Python package
# syncfree_ilu, whose __init__.py is the module. Without PETSC_DIR, as variable or in the environment, PETSc is the one
# that the petsc4py of this Python runs, else the one that its package `petsc` holds; an error without either.
set(SYNCFREE_PYTHON_DIR .)
set(SYNCFREE_PYTHON_FILE __init__.py)

if(NOT PETSC_DIR AND NOT DEFINED ENV{PETSC_DIR})
  # -E: pip hides the packages of this Python from builds by variables of the environment
  execute_process(COMMAND ${Python3_EXECUTABLE} -E -c [[
import importlib, os
for name in ("petsc4py", "petsc"):
    try:
        found = importlib.import_module(name).get_config()
    except ImportError:
        continue
    if os.path.isdir(found.get("PETSC_DIR", "")):
        arch = found.get("PETSC_ARCH", "").split(os.pathsep)[0]
        print(name, found["PETSC_DIR"], arch, sep=";", end="")
        break
]] OUTPUT_VARIABLE petsc_of_python WORKING_DIRECTORY /)
  if(petsc_of_python)
    list(GET petsc_of_python 0 petsc_package)
    list(GET petsc_of_python 1 PETSC_DIR)
    list(GET petsc_of_python 2 PETSC_ARCH)
    message(STATUS "PETSC_DIR of Python's package ${petsc_package}: ${PETSC_DIR} ${PETSC_ARCH}")
  else()
    message(FATAL_ERROR "${Python3_EXECUTABLE} has neither petsc4py nor PyPI's petsc, whose PETSc the library would be "
      "for: make the virtual environment with --system-site-packages, install petsc4py there, or set PETSC_DIR")
  endif()
endif()
