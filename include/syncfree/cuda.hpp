#pragma once

/// The backend `cuda`: factor and solves on an NVIDIA GPU. Only builds with the CMake option SYNCFREE_CUDA have it;
/// this header needs no CUDA.

#include <cstdint>
#include <memory>
#include <string>

#include "syncfree/ordering_choice.hpp"
#include "syncfree/relaxation.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {

enum class Memory { host, device };

/// Interface of objects that work on the current CUDA device. Contract as the base class, except:
///   - patterns are in host memory, except in analyse_on_device(); the values of A, b and x are in the memory set by
///     use();
///   - with device memory a solve or sweep does not synchronise: x is valid for later work on the stream;
///   - calls on different streams are ordered by an event. One thread at a time may call an object: a call during a
///     call of another thread returns busy;
///   - a kernel whose threads have waited for each other for SolverOptions::wait_limit gives up: its
///     results are NaN, and the first later call that can detect it returns wait_expired(row, strategy) and does
///     nothing else; the following calls work as before;
///   - solves and sweeps with device memory may be captured in CUDA graphs, after one of the same kind and number of
///     columns that was not captured. A replay uses the values of the last refresh. It is invalid if generation() has
///     changed since the capture, or while there are no values: its x is NaN, and the next call of the object returns
///     stale_capture. Replays keep the order of the calls on one stream. Memory that graphs use is kept until they
///     are destroyed;
///   - an error that the program has left pending (cudaGetLastError()) is not reported; analyse() may clear it;
///   - cudaDeviceReset() frees memory that this library keeps in the process: no call of the library is allowed after
///     it;
///   - device_failure(CUDA's message) if a CUDA call fails; out_of_memory states the number of bytes if the device
///     has none left.
class UsesDevice {
public:
  virtual ~UsesDevice() = default;

  /// Sets memory and stream of the following calls.
  ///   memory  of the values of A, of b and of x; initially host
  ///   stream  a cudaStream_t; initially the default stream
  virtual void use(Memory memory, void* stream) = 0;

  /// Changes exactly when captured calls become invalid: in analyse(), and in a refresh() that makes a new plan.
  virtual std::uint64_t generation() const = 0;
};

/// orders() and pattern() are copied from the device at the first call; they are empty if that fails.
template <class T, class I> class CudaPreconditioner : public Preconditioner<T, I>, public UsesDevice {
public:
  /// analyse() of a pattern that also is in device memory, which saves the copy to the device.
  ///   on_device  equal to A, ready on the stream of use(); or empty
  virtual Status analyse_on_device(PatternView<I> A, PatternView<I> on_device, const SymbolicOptions<I>& symbolic,
                               const SolverOptions& options) = 0;

  /// has_pattern() for such a pattern.
  virtual Status has_pattern_on_device(PatternView<I> A, PatternView<I> on_device, bool* same) = 0;

  /// choose_ordering() (syncfree/ordering_choice.hpp), measured on the device; analysis and factor stay as they are. A
  /// pattern with a fault, which analyse() reports, has the given order. The values are in the memory of use().
  virtual Status choose_ordering(CsrView<T, I> A, PatternView<I> on_device, const OrderingRequest& request,
                                 OrderingChoice* out) = 0;
};

/// Creates the preconditioner. Never nullptr; throws nothing but std::bad_alloc. Does not access a device.
template <class T, class I> std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_preconditioner();

/// Creates the preconditioner by dense blocks; see make_host_block_preconditioner(). The strategies are `level_order`,
/// `tiled` and `auto`; choose_ordering() is an invalid argument.
template <class T, class I> std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_block_preconditioner();

/// Creates the same for a matrix that is given by entries; see make_host_blocked_preconditioner(). Full blocks are
/// found on the device, others on the host. Values are copied to blocks on the device, unless a matrix in host memory
/// has blocks that are not full.
template <class T, class I> std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_blocked_preconditioner();

/// Tests on the current device whether A consists of full blocks, as find_full_blocks() does (syncfree/blocks.hpp).
///   A          n x n, row offsets are checked; size divides n
///   on_device  equal to A, in device memory, or empty
///   stream     a cudaStream_t on which that is ready
///   full       [out] false if the device fails
///   errors     out_of_memory, device_failure
template <class I>
Status test_full_blocks_on_device(PatternView<I> A, PatternView<I> on_device, int size, void* stream, bool* full);

/// Predicts from a few rows whether ILU(0) of A by dense blocks, in natural order, will be solved by `tiled` with the
/// strategy `auto` on the current device: blocks are the points of a grid, and tiles of them are faster than levels.
///   A       n x n of full blocks; size divides n
///   tiled   [out] false if the device fails or the row offsets of A do not ascend
///   errors  out_of_memory, device_failure
template <class T, class I>
Status predict_tiles_of_blocks(PatternView<I> A, int size, bool* tiled);

/// Relaxation row by row: nodes return invalid_argument.
template <class T, class I> class CudaRelaxation : public Relaxation<T, I>, public UsesDevice {
public:
  /// See CudaPreconditioner; the matrix has a diagonal.
  virtual Status analyse_on_device(PatternView<I> A, PatternView<I> on_device, const SolverOptions& options) = 0;
  virtual Status has_pattern_on_device(PatternView<I> A, PatternView<I> on_device, bool* same) = 0;
};

template <class T, class I> std::unique_ptr<CudaRelaxation<T, I>> make_cuda_relaxation();

/// True if there is a device that can run this library's kernels; otherwise *why is a clause with the reason.
bool has_cuda_device(std::string* why);

}  // namespace syncfree
