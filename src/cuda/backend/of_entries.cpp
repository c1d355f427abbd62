/// Block ILU on the device of a matrix that is given by entries (core/pattern/of_entries.hpp). Blocks that are full are
/// found on the device, others on the host. Values are copied to blocks on the device, except from a matrix in host
/// memory with padding.

#include "core/pattern/of_entries.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "core/pattern/grid.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/analysis/full_blocks.hpp"
#include "cuda/analysis/pattern_copy.hpp"
#include "cuda/backend/call_scope.hpp"
#include "cuda/base/vectors.hpp"
#include "cuda/solve/dense/dense_solver.hpp"
#include "syncfree/cuda.hpp"

namespace syncfree {
namespace cuda {
namespace {

template <class T, class I>
class DeviceBlockedPreconditioner : public PreconditionerOfEntries<T, I, CudaPreconditioner<T, I>> {
  using Base = PreconditionerOfEntries<T, I, CudaPreconditioner<T, I>>;

public:
  DeviceBlockedPreconditioner() : Base(make_cuda_block_preconditioner<T, I>()) {}

  void use(Memory memory, void* stream) override
  {
    this->set_alone([&] {
      calls_.use(memory, stream);
      this->blocks().use(memory, stream);
    });
  }

  std::uint64_t generation() const override { return this->blocks().generation(); }

  Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) override
  {
    return analyse_on_device(A, {}, symbolic, options);
  }
  Status analyse_on_device(PatternView<I> A, PatternView<I> on_device, const SymbolicOptions<I>& symbolic,
                           const SolverOptions& options) override
  {
    return execute([&] {
      const Borrowed pattern(&on_device_, on_device);
      if (on_device.row_begin) SYNCFREE_CUDA(cudaStreamSynchronize(calls_.stream()));
      return this->analyse_entries(A, symbolic, options);
    });
  }

  Status has_pattern(PatternView<I> A, bool* same) override { return has_pattern_on_device(A, {}, same); }

  Status has_pattern_on_device(PatternView<I> A, PatternView<I> on_device, bool* same) override
  {
    return execute([&]() -> Status {
      const Borrowed pattern(&on_device_, on_device);
      *same = this->has_pattern_of(A);
      return {};
    });
  }

  Status choose_ordering(CsrView<T, I> A, PatternView<I> on_device, const OrderingRequest& request,
                         OrderingChoice* out) override
  {
    return this->alone([&] { return this->blocks().choose_ordering(A, on_device, request, out); });
  }

  /// Solves use the caller's memory again.
  Status refresh(CsrView<T, I> A, const PivotRule& rule) override
  {
    return this->alone([&] {
      const Status status = calls_.execute([&] { return this->refresh_entries(A, rule); });
      this->blocks().use(calls_.on_device() ? Memory::device : Memory::host, calls_.stream());
      return status;
    });
  }

private:
  template <class Body> Status execute(Body body)
  {
    return this->alone([&] { return calls_.execute(body); });
  }

  /// The caller's pattern in device memory, during a call.
  class Borrowed {
  public:
    Borrowed(PatternView<I>* place, const PatternView<I>& pattern) : place_(place) { *place = pattern; }
    Borrowed(const Borrowed&) = delete;
    ~Borrowed() { *place_ = {}; }

  private:
    PatternView<I>* place_;
  };

  bool find_full_blocks(const PatternView<I>& A, const SolverOptions& options, BlockPattern<I>* out) override
  {
    const PatternOnDevice<I> rows(A, on_device_);
    if (!cuda::find_full_blocks(rows.pattern, options.block_size, &full_)) return false;
    BlockPattern<I> made;
    made.size = options.block_size;
    made.n = full_.n;
    made.row_begin.resize(full_.row_begin.size());
    made.column.resize(full_.column.size());
    copy_to_host(made.row_begin.data(), full_.row_begin.data(), made.row_begin.size());
    copy_to_host(made.column.data(), full_.column.data(), made.column.size());
    *out = std::move(made);
    return true;
  }

  bool has_full_blocks(const PatternView<I>& A, const BlockPattern<I>&) override
  {
    const PatternOnDevice<I> rows(A, on_device_);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));  // copies to the device may go on after the call
    return consists_of(full_, rows.pattern, calls_.stream());
  }

  Status analyse_blocks(const PatternView<I>& pattern, const SymbolicOptions<I>& symbolic,
                        const SolverOptions& options) override
  {
    const PatternView<I> there = {full_.n, full_.row_begin.data(), full_.column.data()};
    return this->blocks().analyse_on_device(pattern, full_.found() ? there : PatternView<I>(), symbolic, options);
  }

  const T* copy_values(const BlockPattern<I>& pattern, const T* value) override
  {
    const bool on_host = !calls_.on_device();
    this->blocks().use(on_host && !full_.found() ? Memory::host : Memory::device, calls_.stream());
    if (on_host && !full_.found()) {
      host_value_.resize(pattern.values());
      copy_to_blocks(pattern, value, host_value_.data());
      return host_value_.data();
    }
    if (value_.empty()) {
      place_ = DeviceArray<I>(pattern.place);
      SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));  // the copy may go on
      value_ = DeviceArray<T>(pattern.values());
      value_.fill(0, calls_.stream());  // zeros of the padding stay
    }
    if (full_.found()) {
      copy_to_full_blocks(full_, calls_.values(&copies_, value, pattern.values()), value_.data(), calls_.stream());
    } else {
      copy_to_places(place_.size(), place_.data(), value, value_.data(), calls_.stream());
    }
    return value_.data();
  }

  void drop_blocks() override
  {
    full_ = FullBlocks<I>();
    copies_ = Copies<T>();
    host_value_ = Array<T>();
    place_ = DeviceArray<I>();
    value_ = DeviceArray<T>();
  }

  std::size_t kept_bytes() const override
  {
    return full_.block_bytes() + copies_.copied_bytes() + host_value_.size() * sizeof(T) + place_.bytes() +
           value_.bytes();
  }

  CallScope calls_;
  PatternView<I> on_device_ = {};  ///< A of the current call, or empty
  FullBlocks<I> full_;             ///< or empty
  Copies<T> copies_;               ///< of A's values
  Array<T> host_value_;            ///< of blocks with padding, of a matrix in host memory
  DeviceArray<I> place_;           ///< of the entries in blocks with padding
  DeviceArray<T> value_;           ///< of the blocks
};

}  // namespace
}  // namespace cuda

template <class T, class I> std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_blocked_preconditioner()
{
  return std::make_unique<cuda::DeviceBlockedPreconditioner<T, I>>();
}

template <class I>
Status test_full_blocks_on_device(PatternView<I> A, PatternView<I> on_device, int size, void* stream, bool* full)
try {
  *full = false;
  if (on_device.row_begin) SYNCFREE_CUDA(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
  const cuda::PatternOnDevice<I> rows(A, on_device);
  *full = cuda::find_full_blocks<I>(rows.pattern, size, nullptr);
  return {};
} catch (const cuda::Failure& failure) {
  return failure.status;
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

/// Describes the points of a triangle of A, `size` consecutive rows each, from a few rows.
template <class I> static cuda::PointTriangle<I> guess_points(const PatternView<I>& A, int size, bool lower)
{
  cuda::PointTriangle<I> points;
  const I node = static_cast<I>(size);
  points.lower = points.unit = lower;
  points.block_size = size;
  points.n = A.n / node;
  points.nnz = (A.nnz() / node / node - points.n) / 2;
  const Grid<I> grid = find_grid(A, lower, node);
  if (!grid.may_have_levels(points.n)) return points;
  points.grid = grid;
  points.levels = static_cast<I>(grid.levels());
  const auto look = [&](I row) {
    std::int64_t entries = 0;
    for_side(A, lower, first_of_node(row, A.n, lower, node), [&](I) { ++entries; });
    points.longest = std::max(points.longest, entries / size);
  };
  for_sample(A.n, look, rows_for_grid);
  return points;
}

template <class T, class I>
Status predict_tiles_of_blocks(PatternView<I> A, int size, bool* tiled)
try {
  *tiled = false;
  if (!check_row_offsets(A).ok()) return {};
  const auto has_tiles = [&](bool lower) { return cuda::may_tile_points<T, T>(guess_points(A, size, lower)); };
  *tiled = has_tiles(true) && has_tiles(false);
  return {};
} catch (const cuda::Failure& failure) {
  return failure.status;
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) \
  template Status test_full_blocks_on_device<I>(PatternView<I>, PatternView<I>, int, void*, bool*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(T, I)                                                                      \
  template std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_blocked_preconditioner<T, I>(); \
  template Status predict_tiles_of_blocks<T, I>(PatternView<I>, int, bool*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
