#pragma once

/*
  No exception may cross a stack frame of PETSc, which is C. Therefore the functions that PETSc calls are not functions f
  of this plugin but guarded<f>, and a function of syncfree_petsc.h does its work in a call of guarded<f>, which turns an
  exception into PETSC_ERR_MEM or PETSC_ERR_LIB. config/rules.py finds entry points that are not guarded.

  Some work must be done even after a failure: log events end, arrays are restored (With...() here and in borrow.hpp),
  and a process takes part in the collective calls in which the others wait (Agree()).
*/

#include <petsclog.h>

#include <exception>
#include <new>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

namespace syncfree_plugin {

/* PETSc's stack of function names, which exists in debug builds. PetscError() pops the frame of a function that returns
   an error; Restore() pops the frames that an exception skipped. */
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

/* Returns the error code of f(), also if f throws. Lets a function clean up after a failure:
   `ierr = Guard([&] { ... }); <restore>; PetscCall(ierr);`. */
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
    return Unexpected(frames, "unknown type");
  }
}

template <auto f> struct GuardedCall;
template <class... Arguments, PetscErrorCode (*f)(Arguments...)> struct GuardedCall<f> {
  static PetscErrorCode Call(Arguments... arguments)
  {
    return Guard([&] { return f(arguments...); });
  }
};

/* Wrapper of f that PETSc may call */
template <auto f> constexpr auto guarded = &GuardedCall<f>::Call;

/* Calls f() within a log event of two objects. */
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

/* Calls f(), timed by the device's clock (-log_view_gpu_time) if f runs on the device. */
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

/* Returns an error on all processes of the communicator if one has an error: there its own, on the others one that
   reports it. `number`, if given, becomes the maximum over the processes. Collective: code that can fail on one process
   alone must end here before the next collective call. */
PetscErrorCode Agree(MPI_Comm, PetscErrorCode mine, int *number = nullptr);

} // namespace syncfree_plugin
