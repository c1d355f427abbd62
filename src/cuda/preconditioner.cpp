/// The preconditioner on a CUDA device. Pattern work is done by the core on the host; numbers and solves stay on
/// the device. As on the host: with A(r, c) = L U the solve of A x = b is y_i = b_{r(i)}, L U z = y, x_{c(i)} = z_i,
/// that of A^T x = b exchanges r and c and uses U^T L^T, and IC's transposed solve is the solve itself.

#include <array>
#include <new>
#include <type_traits>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "core/row_reach.hpp"
#include "core/tiling.hpp"
#include "core/transpose.hpp"
#include "factorize.hpp"
#include "make_solver.hpp"
#include "merge_rule.hpp"
#include "solver.hpp"
#include "syncfree/cuda.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/strategy.hpp"
#include "vectors.hpp"

namespace syncfree {
namespace cuda {
namespace {

enum Which { lower, upper, lower_transposed, upper_transposed };

/// Everything that one analysis makes; it does not move, because its parts refer to each other.
template <class T, class I> struct Analysis {
  I nnz = 0;  ///< of A
  FactorPattern<I> pattern;
  SolverOptions options;
  Choice choice;
  LevelCounts levels;
  std::unique_ptr<DeviceFactorization<T, I>> factorization;
  std::array<std::unique_ptr<DeviceSolver<T, I>>, 4> solver;  ///< by Which; the transposed ones when first needed
  DeviceArray<I> row_order, column_order;                     ///< empty in the natural order
  DeviceArray<T> work;                                        ///< n numbers where orders or solvers ask for them
  DeviceArray<T> A_value, b, x;                               ///< copies, for callers with host memory
  PivotReport pivots;
  I bad_root = -2;  ///< as find_bad_root after a refresh; -2: not looked for yet
};

/// Puts calls on different streams in order. Calls that are captured have no place in that order: when a graph runs is
/// for the caller to arrange.
class StreamOrder {
public:
  ~StreamOrder()
  {
    if (event_) (void)cudaEventDestroy(event_);
  }
  void begin(cudaStream_t stream)
  {
    if (event_ && stream != last_ && !captured(stream)) SYNCFREE_CUDA(cudaStreamWaitEvent(stream, event_, 0));
  }
  void end(cudaStream_t stream)
  {
    if (captured(stream)) return;
    if (!event_) SYNCFREE_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    SYNCFREE_CUDA(cudaEventRecord(event_, stream));
    last_ = stream;
  }

private:
  static bool captured(cudaStream_t stream)
  {
    cudaStreamCaptureStatus status;
    SYNCFREE_CUDA(cudaStreamIsCapturing(stream, &status));
    return status != cudaStreamCaptureStatusNone;
  }

  cudaEvent_t event_ = nullptr;
  cudaStream_t last_ = nullptr;
};

template <class T, class I> class Implementation : public CudaPreconditioner<T, I> {
public:
  void use(Memory memory, void* stream) override
  {
    memory_ = memory;
    stream_ = static_cast<cudaStream_t>(stream);
  }

  Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) override
  {
    factored_ = false;
    analysis_.reset();
    return guarded([&] {
      auto made = std::make_unique<Analysis<T, I>>();
      made->options = options;
      Status status = make_analysis(A, symbolic, made.get());
      if (status.ok()) analysis_ = std::move(made);
      return status;
    });
  }

  Status refresh(CsrView<T, I> A, const PivotRule& rule) override
  {
    factored_ = false;
    return guarded([&]() -> Status {
      if (!analysis_) return failed(Code::invalid_argument, "refresh before analyse");
      Analysis<T, I>& a = *analysis_;
      if (A.pattern.n != a.pattern.n || A.pattern.nnz() != a.nnz)
        return failed(Code::invalid_argument, "the matrix has another pattern than the one that was analysed");
      a.bad_root = -2;
      if (memory_ == Memory::host) A.value = to_device(&a.A_value, A.value, a.nnz);
      const Status status = a.factorization->run(A, rule, stream_, &a.pivots);
      for (int which = 0; status.ok() && which < 4; ++which)
        if (a.solver[which]) refresh_solver(static_cast<Which>(which));
      factored_ = status.ok();
      return status;
    });
  }

  Status solve(Operation op, const T* b, T* x, const Columns<I>& columns) override
  {
    return guarded([&]() -> Status {
      if (!factored_) return not_factored();
      const bool conjugate = op == Operation::conjugate || op == Operation::adjoint;
      const bool whole = kind() == Kind::icc || op == Operation::none || op == Operation::conjugate;
      if (!whole) prepare_transposes();
      for (I c = 0; c < columns.count; ++c)
        with_vectors(b + static_cast<std::size_t>(c) * columns.b_leading,
                     x + static_cast<std::size_t>(c) * columns.x_leading, [&](const T* from, T* to) {
                       if (whole) both(lower, upper, from, to, conjugate);
                       else both(upper_transposed, lower_transposed, from, to, conjugate);
                     });
      return {};
    });
  }

  Status solve_forward_half(const T* b, T* x) override
  {
    return guarded([&]() -> Status {
      const Status status = check_half();
      if (!status.ok()) return status;
      with_vectors(b, x, [&](const T* from, T* to) {
        if (!natural()) gather(n(), analysis_->row_order.data(), from, to, stream_);
        run(lower, natural() ? from : to, to, false);
        if (kind() == Kind::icc) scale_by_root(n(), inverse_pivot(), false, to, to, stream_);
      });
      return status;
    });
  }

  /// U here is the stored one: PETSc's U for ILU, D U for IC, so that IC's half is (D U)^-1 D^(1/2) b.
  Status solve_backward_half(const T* b, T* x) override
  {
    return guarded([&]() -> Status {
      const Status status = check_half();
      if (!status.ok()) return status;
      with_vectors(b, x, [&](const T* from, T* to) {
        T* z = natural() ? to : analysis_->work.data();
        if (kind() == Kind::icc) scale_by_root(n(), inverse_pivot(), true, from, z, stream_);
        run(upper, kind() == Kind::icc ? z : from, z, false);
        if (z != to) scatter(n(), analysis_->column_order.data(), z, to, stream_);
      });
      return status;
    });
  }

  Summary summarize() const override
  {
    Summary s;
    if (!analysis_) return s;
    const Analysis<T, I>& a = *analysis_;
    s.strategy = a.choice.strategy;
    s.reason = a.choice.reason;
    s.lower_nnz = static_cast<std::int64_t>(a.pattern.lower_column.size());
    s.upper_nnz = static_cast<std::int64_t>(a.pattern.upper_column.size());
    s.single_storage = a.options.single_storage;
    s.factor_bytes = a.factorization->pattern_bytes() + a.factorization->value_bytes();
    s.plan_bytes = a.factorization->plan_bytes() + a.row_order.bytes() + a.column_order.bytes() + a.work.bytes() +
                   a.A_value.bytes() + a.b.bytes() + a.x.bytes();
    for (int which = 0; which < 4; ++which)
      if (const auto& solver = a.solver[which])
        (which < 2 ? s.plan_bytes : s.transpose_bytes) += solver->plan_bytes() + solver->value_bytes();
    s.plan = a.solver[lower]->describe();
    const std::string other = a.solver[upper]->describe();
    if (other != s.plan) s.plan = "L " + s.plan + "; U " + other;
    s.pivots = a.pivots;
    return s;
  }

  LevelCounts levels() const override
  {
    return analysis_ ? analysis_->levels : LevelCounts();
  }

  const FactorPattern<I>& pattern() const override
  {
    static const FactorPattern<I> none;
    return analysis_ ? analysis_->pattern : none;
  }

  /// Empty where the device does not give them.
  FactorValues<T> values() const override
  {
    FactorValues<T> v;
    if (!factored_) return v;
    const DeviceFactorization<T, I>& f = *analysis_->factorization;
    try {
      read(f.lower(), &v.lower);
      read(f.upper(), &v.upper);
      read(f.inverse_pivot(), &v.inverse_pivot);
    } catch (const Failure&) {
      v = FactorValues<T>();
    }
    return v;
  }

private:
  static Status not_factored() { return failed(Code::invalid_argument, "solve before a successful refresh"); }

  /// Runs the body in the stream's order and turns what it throws into a Status.
  template <class Body> Status guarded(Body body)
  try {
    order_.begin(stream_);
    Status status = body();
    order_.end(stream_);
    return status;
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status make_analysis(PatternView<I> A, const SymbolicOptions<I>& symbolic, Analysis<T, I>* a)
  {
    if (a->options.threads < 1) return failed(Code::invalid_argument, "number of threads must be at least 1");
    const int threads = a->options.threads;
    Status status = check_pattern(A, threads);
    if (status.ok()) status = make_factor_pattern(A, symbolic, &a->pattern, threads);
    if (!status.ok()) return status;
    a->nnz = A.nnz();
    LevelSets<I> levels, upper_levels;
    status = find_both_levels(*a, &levels, &upper_levels);
    if (!status.ok()) return status;
    a->levels = {levels.count, upper_levels.count};
    a->choice = {a->options.strategy, "forced"};
    if (a->options.strategy == "auto") a->choice = choose_strategy(features(*a, levels));
    a->factorization = std::make_unique<DeviceFactorization<T, I>>(a->pattern, A, levels, a->options.single_storage);
    a->row_order = DeviceArray<I>(a->pattern.row_order);
    a->column_order = DeviceArray<I>(a->pattern.column_order);
    if (!a->pattern.natural()) a->work = DeviceArray<T>(A.n);
    const auto& f = *a->factorization;
    return make_both(a, lower, {true, a->pattern.lower(), nullptr, true, f.lower_pattern(), &levels}, upper,
                     {false, a->pattern.upper(), nullptr, false, f.upper_pattern(), &upper_levels});
  }

  static Status find_both_levels(const Analysis<T, I>& a, LevelSets<I>* lower_levels, LevelSets<I>* upper_levels)
  {
    Status status[2];
    for_parts(a.options.threads, 2, [&](std::size_t t) {
      status[t] = t ? make_level_sets(a.pattern.upper(), false, upper_levels, a.options.threads)
                    : make_level_sets(a.pattern.lower(), true, lower_levels, a.options.threads);
    });
    return status[0].ok() ? status[1] : status[0];
  }

  /// 0 where there are no tiles, or other levels than those of a grid.
  static double time_by_tiles(const PatternView<I>& lower, I levels)
  {
    constexpr std::int64_t room_for_numbers = 170000;  // bytes in a block, about
    const Grid<I> grid = find_grid(lower);
    const double usual = static_cast<double>(grid.line) + grid.lines + grid.planes;
    if (!grid.star || static_cast<double>(levels) > usual) return 0;
    const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
    return choose_tile(grid, room_for_numbers / static_cast<std::int64_t>(sizeof(T)), multiprocessors).time;
  }

  static ChoiceInput features(const Analysis<T, I>& a, const LevelSets<I>& levels)
  {
    const PatternView<I> lower = a.pattern.lower(), upper = a.pattern.upper();
    ChoiceInput f;
    f.on_device = true;
    f.threads = a.options.threads;
    f.expected_applies = a.options.expected_applies;
    f.rows = lower.n;
    f.nnz = static_cast<std::int64_t>(lower.nnz()) + upper.nnz();
    f.levels = levels.count;
    if (f.expected_applies == 0) return f;  // then nobody asks for what costs time to find
    f.longest = std::max(longest_of(lower, f.threads), longest_of(upper, f.threads));
    f.regular = reaches_regularly(lower);
    if (a.options.blocks.least_rows == 0) f.tiled_time = time_by_tiles(lower, levels.count);
    MergeForecast merged;
    const Status status = forecast_merge(lower, levels, rule_of<T, I>(a.options), &merged);
    if (!status.ok()) throw Failure{status};
    f.merged_groups = merged.groups;
    f.merged_entries = merged.entries;
    f.merged_longest = merged.longest;
    return f;
  }

  /// Two triangles side by side, and what their solvers ask for.
  static Status make_both(Analysis<T, I>* a, Which first, const DeviceTriangle<I>& of_first, Which second,
                          const DeviceTriangle<I>& of_second)
  {
    Status status[2];
    int device;
    SYNCFREE_CUDA(cudaGetDevice(&device));
    for_parts(a->options.threads, 2, [&](std::size_t t) {
      try {
        SYNCFREE_CUDA(cudaSetDevice(device));  // each thread has one of its own
        status[t] = make(a, t ? second : first, t ? of_second : of_first);
      } catch (const Failure& failure) {
        status[t] = failure.status;
      }
    });
    for (const Which which : {first, second}) {
      if (!status[0].ok() || !status[1].ok()) a->solver[which].reset();
      else if (!a->solver[which]->solves_in_place() && a->work.empty())
        a->work = DeviceArray<T>(of_first.pattern.n);
    }
    return status[0].ok() ? status[1] : status[0];
  }

  static Status make(Analysis<T, I>* a, Which which, const DeviceTriangle<I>& triangle)
  {
    SolverOptions chosen = a->options;
    chosen.strategy = a->choice.strategy;
    return make_device_solver(chosen, triangle, &a->solver[which]);
  }

  void prepare_transposes()
  {
    Analysis<T, I>& a = *analysis_;
    if (a.solver[lower_transposed]) return;
    const Transposed<I> Lt(a.pattern.lower()), Ut(a.pattern.upper());
    const Status status = make_both(&a, upper_transposed, {true, Ut.view(), Ut.source.data(), false},
                                    lower_transposed, {false, Lt.view(), Lt.source.data(), true});
    if (!status.ok()) throw Failure{status};
    refresh_solver(upper_transposed);
    refresh_solver(lower_transposed);
  }

  void refresh_solver(Which which)
  {
    const DeviceFactorization<T, I>& f = *analysis_->factorization;
    const bool of_L = which == lower || which == lower_transposed;
    analysis_->solver[which]->refresh((of_L ? f.lower() : f.upper()).data(), f.inverse_pivot().data(), stream_);
  }

  void run(Which which, const T* b, T* x, bool conjugate) { analysis_->solver[which]->solve(b, x, conjugate, stream_); }

  void run_next(Which which, const T* b, T* x, bool conjugate)
  {
    analysis_->solver[which]->solve_next(b, x, conjugate, stream_);
  }

  /// A whole solve of one column; transposed ones use the orders the other way round.
  void both(Which first, Which second, const T* b, T* x, bool conjugate)
  {
    Analysis<T, I>& a = *analysis_;
    if (natural()) {
      T* y = a.solver[second]->solves_in_place() ? x : a.work.data();
      run(first, b, y, conjugate);
      return run_next(second, y, x, conjugate);
    }
    const bool whole = first == lower;
    T* work = a.work.data();
    gather(n(), (whole ? a.row_order : a.column_order).data(), b, work, stream_);
    run(first, work, work, conjugate);
    run_next(second, work, work, conjugate);
    scatter(n(), (whole ? a.column_order : a.row_order).data(), work, x, stream_);
  }

  /// body(b, x) with device pointers; host vectors are copied there and back.
  template <class Body> void with_vectors(const T* b, T* x, Body body)
  {
    if (n() == 0) return;
    if (memory_ == Memory::device) return body(b, x);
    Analysis<T, I>& a = *analysis_;
    if (a.x.empty()) a.x = DeviceArray<T>(n());
    body(to_device(&a.b, b, n()), a.x.data());
    a.x.read(x, 0, a.x.size(), stream_);
  }

  /// Copies host memory into an array that is made when first needed.
  const T* to_device(DeviceArray<T>* array, const T* from, std::size_t size)
  {
    if (array->empty()) *array = DeviceArray<T>(size);
    if (size) SYNCFREE_CUDA(cudaMemcpyAsync(array->data(), from, array->bytes(), cudaMemcpyHostToDevice, stream_));
    return array->data();
  }

  void read(const DeviceArray<T>& from, Array<T>* to) const
  {
    to->resize(from.size());
    from.read(to->data(), 0, from.size(), stream_);
  }

  Status check_half()
  {
    if (!factored_) return not_factored();
    if (kind() == Kind::ilu) return {};
    I& row = analysis_->bad_root;
    if (row == -2) row = find_bad_root(n(), inverse_pivot(), stream_);
    if (row < 0) return {};
    T inverse;
    analysis_->factorization->inverse_pivot().read(&inverse, row, 1, stream_);
    const T pivot = T(1) / inverse;
    Status status = failed(Code::negative_pivot, row);
    status.value = real_part(pivot);
    status.imaginary = imaginary_part(pivot);
    return status;
  }

  I n() const { return analysis_->pattern.n; }
  Kind kind() const { return analysis_->pattern.kind; }
  bool natural() const { return analysis_->pattern.natural(); }
  const T* inverse_pivot() const { return analysis_->factorization->inverse_pivot().data(); }

  Memory memory_ = Memory::host;
  cudaStream_t stream_ = nullptr;
  StreamOrder order_;
  std::unique_ptr<Analysis<T, I>> analysis_;
  bool factored_ = false;
};

}  // namespace
}  // namespace cuda

template <class T, class I> std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_preconditioner()
{
  return std::make_unique<cuda::Implementation<T, I>>();
}

bool has_cuda_device(std::string* why)
{
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) (void)cudaGetLastError();
  else if (count > 0) error = cuda::check_kernels();
  if (error == cudaSuccess && count > 0) return true;
  *why = error == cudaSuccess ? "there is no device" : cudaGetErrorString(error);
  return false;
}

#define INSTANTIATE(T, I) template std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_preconditioner<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
