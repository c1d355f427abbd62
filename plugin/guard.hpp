#pragma once

/*
  No exception crosses a frame of PETSc, which is C. So what PETSc is given to call is never a function f of this plugin
  but guarded<f>, and a function of syncfree_petsc.h does its work in a call of guarded<f>: an exception becomes
  PETSC_ERR_MEM or PETSC_ERR_LIB there. config/rules.py finds an entry that is not guarded.

  A part that fails is followed by what must happen all the same: log events end, arrays are given back (With...() here
  and in borrow.hpp), and a process takes part in the collective calls that the others wait in (Agree()).
*/

#include <petsclog.h>

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

PetscErrorCode OutOfMemory(const StackFrames &);
PetscErrorCode Unexpected(const StackFrames &, const char what[]);

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

/* f() within a log event of two objects */
template <class F> PetscErrorCode WithEvent(PetscLogEvent event, PetscObject a, PetscObject b, F &&f)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(event, a, b, 0, 0));
  ierr = Guard(f);
  PetscCall(PetscLogEventEnd(event, a, b, 0, 0));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f() between two readings of the device's clock (-log_view_gpu_time), if it works there */
template <class F> PetscErrorCode WithGpuTime(bool device, F &&f)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (device) PetscCall(PetscLogGpuTimeBegin());
  ierr = Guard(f);
  if (device) PetscCall(PetscLogGpuTimeEnd());
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends in an error on all processes of the communicator if one has an error: there in its own, elsewhere in one that
   tells of it. Of numbers that are given, too, each process gets the largest. Collective: a part that can fail on one
   process alone must end here before the next collective call. */
PetscErrorCode Agree(MPI_Comm, PetscErrorCode mine, int *number = nullptr);

} // namespace syncfree_plugin
