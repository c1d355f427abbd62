#pragma once

/*
  No exception crosses a frame of PETSc, which is C. So what PETSc is given to call is never a function f of this plugin
  but guarded<f>, and a function of syncfree_petsc.h does its work in a call of guarded<f>: an exception becomes
  PETSC_ERR_MEM or PETSC_ERR_LIB there. config/rules.py finds an entry that is not guarded.
*/

#include <petscsys.h>

#include <exception>
#include <new>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

namespace syncfree_plugin {

/* PETSc's stack of function names, which debugging builds keep. PetscError() pops the frame of a function that returns
   an error; the frames that an exception leaves are popped here. */
class StackFrames {
public:
#if PetscDefined(USE_DEBUG) && !PetscDefined(HAVE_THREADSAFETY)
  void Restore() const
  {
    while (petscstack.currentsize > size_) PetscStackClearTop;
  }

private:
  int size_ = petscstack.currentsize;
#else
  void Restore() const { }
#endif
};

inline PetscErrorCode OutOfMemory(const StackFrames &frames)
{
  frames.Restore();
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory of the host");
}

inline PetscErrorCode Unexpected(const StackFrames &frames, const char what[])
{
  frames.Restore();
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "C++ exception: %s", what);
}

/* The error code of f(), also where f ends in an exception. With it a function can clean up after a part that fails:
   `ierr = Guard([&] { ... }); <give back>; PetscCall(ierr);`. */
template <class F> PetscErrorCode Guard(F &&f)
{
  const StackFrames frames;

  try {
    return f();
  } catch (const std::bad_alloc &) {
    return OutOfMemory(frames);
  } catch (const std::exception &e) {
    return Unexpected(frames, e.what());
  } catch (...) {
    return Unexpected(frames, "of an unknown type");
  }
}

template <auto f> struct GuardedCall;
template <class... Arguments, PetscErrorCode (*f)(Arguments...)> struct GuardedCall<f> {
  static PetscErrorCode Call(Arguments... arguments)
  {
    return Guard([&] { return f(arguments...); });
  }
};

/* f for PETSc to call */
template <auto f> constexpr auto guarded = &GuardedCall<f>::Call;

} // namespace syncfree_plugin
