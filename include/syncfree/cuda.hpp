#pragma once

/// The backend `cuda`: factor and solves on an NVIDIA GPU. Only builds with the CMake option SYNCFREE_CUDA have it;
/// this header needs no CUDA.

#include <cstdint>
#include <memory>
#include <string>

#include "syncfree/relaxation.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {

enum class Memory { host, device };

/// What works on the CUDA device that is current in each call. It keeps the contract of what it inherits from besides,
/// with these differences:
///   - patterns are host memory, but for analyse_on_device(); the values of A, b and x are where use() says;
///   - with device memory a solve or sweep does not synchronise: x is there for what comes later on the stream;
///   - calls on different streams are put in order by an event; an object is for one thread at a time: a call during
///     one of another thread is turned away with busy;
///   - a kernel whose threads wait for each other for longer than SolverOptions::wait_limit gives up: what it computes
///     is NaN, and the first call behind it that can know returns wait_expired(row, strategy) in place of what it was
///     to do; the next ones work as before;
///   - solves and sweeps with device memory may be captured in CUDA graphs, behind one of the same kind and as many
///     columns that was not. A replay has the numbers of the last refresh, and is void when generation() is no longer
///     what it was then, or while there are no numbers: its x is NaN, and the next call of the object reports
///     stale_capture. Replays keep the order of calls on one stream. What graphs hold is kept until they are destroyed;
///   - an error that the program has left (cudaGetLastError()) is not reported; analyse() may clear it;
///   - cudaDeviceReset() takes away what this library keeps in the process: afterwards nothing of it may be called;
///   - device_failure(CUDA's words) where CUDA refuses a call; out_of_memory names the bytes where the device has none.
class UsesDevice {
public:
  virtual ~UsesDevice() = default;

  /// For the calls that follow.
  ///   memory  of the values of A, of b and of x; at first host
  ///   stream  a cudaStream_t; at first the default stream
  virtual void use(Memory memory, void* stream) = 0;

  /// Changes exactly when captured calls become void: in analyse(), and in a refresh() that plans anew.
  virtual std::uint64_t generation() const = 0;
};

template <class T, class I> class CudaPreconditioner : public Preconditioner<T, I>, public UsesDevice {
public:
  /// analyse() of a pattern that is in device memory, too: then it need not be copied there.
  ///   on_device  equal to A, ready on the stream of use(); or empty
  virtual Status analyse_on_device(PatternView<I> A, PatternView<I> on_device, const SymbolicOptions<I>& symbolic,
                               const SolverOptions& options) = 0;

  /// has_pattern() of such a pattern.
  virtual Status has_pattern_on_device(PatternView<I> A, PatternView<I> on_device, bool* same) = 0;
};

/// Never nullptr; throws nothing but std::bad_alloc. Touches no device.
template <class T, class I> std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_preconditioner();

/// Sweeps row by row: nodes are invalid_argument.
template <class T, class I> class CudaRelaxation : public Relaxation<T, I>, public UsesDevice {
public:
  /// As CudaPreconditioner's, of a matrix with a diagonal.
  virtual Status analyse_on_device(PatternView<I> A, PatternView<I> on_device, const SolverOptions& options) = 0;
  virtual Status has_pattern_on_device(PatternView<I> A, PatternView<I> on_device, bool* same) = 0;
};

template <class T, class I> std::unique_ptr<CudaRelaxation<T, I>> make_cuda_relaxation();

/// Is there a device that can run this library's kernels? Else *why is a clause.
bool has_cuda_device(std::string* why);

}  // namespace syncfree
