/// The preconditioner on a CUDA device. The pattern of ILU(0) and IC(0), its levels and the plans that `auto` chooses
/// are made on the device, from rows and columns that may already be in device memory; other patterns and plans are
/// made by the core on the host. Values and solves stay on the device. As on the host: with A(r, c) = L U
/// the solve of A x = b is y_i = b_{r(i)}, L U z = y, x_{c(i)} = z_i; that of A^T x = b exchanges r and c and uses
/// U^T L^T; and IC's transposed solve is the solve itself. If the factor is of dense blocks, rows and entries of
/// patterns and orders are blocks, and vectors have block_size entries for each row.

#include <algorithm>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "core/support/instantiate.hpp"
#include "cuda/backend/call_scope.hpp"
#include "cuda/backend/choose_ordering.hpp"
#include "cuda/backend/pair_update.hpp"
#include "cuda/backend/prepared.hpp"
#include "cuda/backend/setup.hpp"
#include "cuda/base/device_info.hpp"
#include "cuda/base/vectors.hpp"
#include "syncfree/cuda.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
namespace cuda {
namespace {

template <class T, class I> class DevicePreconditioner : public CudaPreconditioner<T, I> {
public:
  ///   by_blocks  A and the factor are of dense blocks of SolverOptions::block_size
  explicit DevicePreconditioner(bool by_blocks) : by_blocks_(by_blocks)
  {
    if (by_blocks) calls_.count_block_rows();
  }

  /// Keeps the analysis alive for graphs that have captured solves.
  ~DevicePreconditioner() override { calls_.captures().keep_for_graphs(std::move(analysis_)); }

  void use(Memory memory, void* stream) override { calls_.use(memory, stream); }

  Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) override
  {
    return analyse_on_device(A, {}, symbolic, options);
  }

  Status analyse_on_device(PatternView<I> A, PatternView<I> on_device, const SymbolicOptions<I>& symbolic,
                       const SolverOptions& options) override
  {
    return calls_.alone([&] {
      std::unique_ptr<PreparedMatrix<I>> prepared = std::move(prepared_);
      if (prepared && !prepared->is_of(A, on_device)) prepared.reset();
      const Status status = calls_.in_order([&] {
        give_up_analysis();
        calls_.limit_waits(options.wait_limit);
        auto made = std::make_unique<Analysis<T, I>>();
        made->options = options;
        made->by_blocks = by_blocks_;
        made->captures = &calls_.captures();
        MemoryPool* const pool = MemoryPool::of_device();
        if (prepared) made->memory_before = prepared->memory_before;
        else if (pool) made->memory_before = pool->begin_peak();
        if (on_device.row_begin) SYNCFREE_CUDA(cudaStreamSynchronize(stream()));
        const Status status = make_analysis({A, on_device, symbolic, true, prepared.get()}, made.get());
        if (status.ok()) analysis_ = std::move(made);
        return status;
      });
      prepared.reset();
      const Status ended = calls_.in_order(
          [&] { return status.ok() && analysis_->pending_merge ? Status() : end_analysis(status.ok()); });
      return status.ok() ? ended : status;
    });
  }

  Status choose_ordering(CsrView<T, I> A, PatternView<I> on_device, const OrderingRequest& request,
                         OrderingChoice* out) override
  {
    return calls_.execute([&]() -> Status {
      prepared_.reset();
      if (by_blocks_) return failed(Code::invalid_argument, "no order of dense blocks is chosen by predicted times");
      SYNCFREE_CUDA(cudaStreamSynchronize(stream()));
      const ValuesToChooseBy<T> values = {A.value, calls_.on_device()};
      const Status status = choose_ordering_on_device<T, I>(A.pattern, on_device, values, request, out,
                                                            request.analysis_follows ? &prepared_ : nullptr);
      const Status ended = request.analysis_follows ? Status() : end_analysis(status.ok());
      return status.ok() ? ended : status;
    });
  }

  Status has_pattern(PatternView<I> A, bool* same) override { return has_pattern_on_device(A, {}, same); }

  Status has_pattern_on_device(PatternView<I> A, PatternView<I> on_device, bool* same) override
  {
    *same = false;
    if (!analysis_) return {};
    return calls_.execute([&]() -> Status {
      *same = is_made_of(*analysis_, A, on_device, stream());
      return {};
    });
  }

  /// Copied from the device on the first call; natural if the device fails.
  Orders<I> orders() const override
  {
    if (!analysis_) return {};
    try {
      fetch_orders(analysis_.get());
    } catch (const Failure&) {
      return {};
    }
    return analysis_->made.order_arrays();
  }

  Status refresh(CsrView<T, I> A, const PivotRule& rule) override
  {
    return calls_.alone([&] {
      prepared_.reset();
      const bool ends_plans = analysis_ && analysis_->pending_merge;
      const Status refreshed = calls_.in_order([&] {
        factored_ = false;  // only if the call is accepted
        return refresh_in_order(A, rule);
      });
      if (ends_plans) free_work_of_plans();
      if (!refreshed.ok()) return refreshed;
      factored_ = true;
      return calls_.bring_numbers();
    });
  }

  Status solve(Operation op, const T* b, T* x, const Columns<I>& columns) override
  {
    return calls_.execute_solve([&]() -> Status {
      if (!factored_) return not_factored();
      const bool conjugate = op == Operation::conjugate || op == Operation::adjoint;
      const bool whole = kind() == Kind::icc || op == Operation::none || op == Operation::conjugate;
      if (!whole) prepare_transposes();
      const TriangleIndex first = whole ? lower : upper_transposed, second = whole ? upper : lower_transposed;
      const bool together = columns.count > 1 && calls_.on_device() && n() > 0 && takes_columns(first, second);
      if (together) prepare_columns(first, second);
      const auto b_leading = static_cast<std::size_t>(columns.b_leading);
      const auto x_leading = static_cast<std::size_t>(columns.x_leading);
      for (I c = 0; c < columns.count;) {
        const int count = together ? static_cast<int>(std::min<I>(most_columns, columns.count - c)) : 1;
        const DeviceColumns<T> v = {b + c * b_leading, x + c * x_leading, b_leading, x_leading, count};
        if (count > 1) both(v, first, second, conjugate);
        else with_vectors(v.b, v.x, [&](const T* from, T* to) { both(first, second, from, to, conjugate); });
        c += count;
      }
      return calls_.end_solve(x, rows(), x_leading, static_cast<int>(columns.count));
    });
  }

  Status solve_forward_half(const T* b, T* x) override
  {
    return calls_.execute_solve([&]() -> Status {
      const Status status = check_half();
      if (!status.ok()) return status;
      with_vectors(b, x, [&](const T* from, T* to) {
        const Analysis<T, I>& a = *analysis_;
        T* y = a.has_given_order() ? to : a.work.data();
        if (!natural()) gather(n(), a.row_order.data(), from, y, stream(), block_size());
        solve_one(lower, natural() ? from : y, y, {});
        if (kind() == Kind::icc) scale_by_root(n(), inverse_pivot(), false, y, y, stream());
        if (y != to) scatter(n(), a.pattern.given_row.data(), y, to, stream());
      });
      return calls_.end_solve(x, rows());
    });
  }

  /// U is the stored one: PETSc's U for ILU, D U for IC, so that IC's half is (D U)^-1 D^(1/2) b.
  Status solve_backward_half(const T* b, T* x) override
  {
    return calls_.execute_solve([&]() -> Status {
      const Status status = check_half();
      if (!status.ok()) return status;
      with_vectors(b, x, [&](const T* from, T* to) {
        const Analysis<T, I>& a = *analysis_;
        T* z = natural() && a.has_given_order() ? to : a.work.data();  // b may be x
        T* solved = natural() ? to : z;
        const T* y = from;
        if (!a.has_given_order()) gather(n(), a.pattern.given_row.data(), from, z, stream()), y = z;
        if (kind() == Kind::icc) scale_by_root(n(), inverse_pivot(), true, y, z, stream()), y = z;
        solve_one(upper, y, solved, {});
        if (solved != to) scatter(n(), a.column_order.data(), solved, to, stream(), block_size());
      });
      return calls_.end_solve(x, rows());
    });
  }

  std::uint64_t generation() const override { return calls_.captures().generation(); }

  Summary summarize() const override
  {
    if (!analysis_) return {};
    const Analysis<T, I>& a = *analysis_;
    Summary s = summarize_analysis(a);
    s.factor_bytes += a.factorization->factor_value_bytes();
    s.plan_bytes += a.factorization->factor_plan_bytes();
    s.captured_bytes = calls_.captures().captured_bytes();
    s.pivots = a.pivots;
    s.peak_bytes = a.peak_bytes;
    return s;
  }

  LevelCounts levels() const override
  {
    return analysis_ ? analysis_->levels : LevelCounts();
  }

  /// Copied from the device on the first call; empty if the device fails.
  const FactorPattern<I>& pattern() const override
  {
    static const FactorPattern<I> none;
    if (!analysis_) return none;
    try {
      fetch_pattern(analysis_.get());
    } catch (const Failure&) {
      return none;
    }
    return analysis_->made;
  }

  /// Empty if the device fails.
  FactorValues<T> values() const override
  {
    FactorValues<T> v;
    if (!factored_) return v;
    const DeviceFactor<T, I>& f = *analysis_->factorization;
    try {
      read_values(f.lower_values(), &v.lower);
      read_values(f.upper_values(), &v.upper);
      read_values(f.inverse_pivot(), &v.inverse_pivot);
      if (!analysis_->has_given_order()) fetch_pattern(analysis_.get());
      put_in_given_order(*analysis_, &v);
    } catch (const Failure&) {
      v = FactorValues<T>();
    }
    return v;
  }

private:
  static Status not_factored()
  {
    return failed(Code::invalid_argument, "solve() was called before a successful refresh()");
  }

  Status refresh_in_order(CsrView<T, I> A, const PivotRule& rule)
  {
    if (!analysis_) return failed(Code::invalid_argument, "refresh() was called before analyse()");
    Analysis<T, I>& a = *analysis_;
    calls_.captures().take_numbers_away(stream());
    if (A.pattern.n != a.pattern.n || A.pattern.nnz() != a.nnz) return failed(Code::another_pattern);
    a.bad_root = -2;
    A.value = calls_.values(&a.copies, A.value, static_cast<std::size_t>(a.nnz) * a.block_values());
    const Status status = update_or_follow_merged(&a, stream(), [&] { return factor_and_update(A, rule); });
    if (!status.ok()) return status;
    pair_solvers();
    update_some({lower_transposed, upper_transposed});
    if (a.peak_bytes == 0) a.peak_bytes = peak_since(a.memory_before);
    return {};
  }

  /// Factors, and gives L's and U's solvers the values of the factor.
  Status factor_and_update(const CsrView<T, I>& A, const PivotRule& rule)
  {
    Analysis<T, I>& a = *analysis_;
    const PairUpdate<T, I> solvers(a.solver[lower].get(), a.solver[upper].get(), numbers(lower), numbers(upper),
                                      inverse_pivot(), stream());
    if (a.factorization->begin_factorization(A, rule, stream())) {
      const bool is_recorded = a.has_values && a.recorded.queue(a.factorization.get(), solvers, stream());
      if (!is_recorded) queue_update(&a, solvers);
    }
    bool made_again;
    const Status status = a.factorization->end(&a.pivots, &made_again);
    if (!status.ok()) return status;
    if (made_again) queue_update(&a, solvers);
    finish_update(&a, solvers, !made_again);  // with `loop` the stream may be busy, but that has no slow update
    a.has_values = true;
    return {};
  }

  /// Releases the analysis; it is kept if captured graphs may use it.
  void give_up_analysis()
  {
    CapturedSolves& captures = calls_.captures();
    factored_ = false;
    captures.make_void();
    captures.take_numbers_away(stream());
    std::size_t bytes = 0;
    if (analysis_ && captures.any()) {
      const Summary s = summarize();
      bytes = s.factor_bytes + s.plan_bytes + s.transpose_bytes;
    }
    captures.keep(std::move(analysis_), bytes);
  }

  /// Waits for the analysis's own streams and until memory that it no longer needs is free again; after a failure,
  /// which may be due to lack of memory, returns all idle memory to CUDA. Not called while plans of `merged` are
  /// pending, for which it would wait.
  static Status end_analysis(bool succeeded)
  {
    if (MemoryPool* pool = MemoryPool::of_device())
      SYNCFREE_CUDA(succeeded ? pool->flush_deferred_frees() : pool->trim());
    return {};
  }

  /// Called after the first refresh, whose outcome does not depend on it.
  static void free_work_of_plans()
  {
    MemoryPool* const pool = MemoryPool::of_device();
    if (pool && pool->flush_deferred_frees() != cudaSuccess) (void)cudaGetLastError();
  }

  static std::size_t peak_since(std::int64_t before)
  {
    MemoryPool* const pool = MemoryPool::of_device();
    return pool ? static_cast<std::size_t>(std::max<std::int64_t>(pool->peak() - before, 0)) : 0;
  }

  void pair_solvers()
  {
    Analysis<T, I>& a = *analysis_;
    if (a.pair && a.pair->accept_new_values()) return;
    const std::size_t bytes = a.pair ? a.pair->pair_bytes() : 0;
    calls_.captures().keep(std::move(a.pair), bytes);
    a.pair = make_pair_if_possible(*a.solver[lower], *a.solver[upper], {a.row_order.data(), a.column_order.data()});
  }

  void prepare_transposes()
  {
    Analysis<T, I>& a = *analysis_;
    if (a.solver[lower_transposed]) return;
    make_transposes(&a);
    try {
      update_some({upper_transposed, lower_transposed});
    } catch (...) {
      a.solver[upper_transposed].reset();
      a.solver[lower_transposed].reset();
      throw;
    }
  }

  void update_some(std::initializer_list<TriangleIndex> some)
  {
    for (const TriangleIndex which : some)
      if (analysis_->solver[which]) update_solver(which);
  }

  void update_solver(TriangleIndex which)
  {
    analysis_->solver[which]->update_values(numbers(which), inverse_pivot(), UpdatePart::whole, stream());
  }

  /// Values of the factor that this solver uses.
  const T* numbers(TriangleIndex which) const
  {
    const DeviceFactor<T, I>& f = *analysis_->factorization;
    return (which == lower || which == lower_transposed ? f.lower_values() : f.upper_values()).data();
  }

  void solve_one(TriangleIndex which, const T* b, T* x, SolveMode mode)
  {
    solve_column(analysis_->solver[which].get(), b, x, mode, stream());
  }

  /// A complete solve of one column; transposed solves exchange the orders.
  void both(TriangleIndex first, TriangleIndex second, const T* b, T* x, bool conjugate)
  {
    Analysis<T, I>& a = *analysis_;
    if (first == lower && a.pair) return a.pair->solve_pair(b, x, conjugate, stream());
    if (natural()) {
      T* y = a.solver[second]->traits().in_place ? x : a.work.data();
      solve_one(first, b, y, {conjugate});
      return solve_one(second, y, x, {conjugate, a.overlaps});
    }
    const bool whole = first == lower;
    T* work = a.work.data();
    gather(n(), (whole ? a.row_order : a.column_order).data(), b, work, stream(), block_size());
    solve_one(first, work, work, {conjugate});
    solve_one(second, work, work, {conjugate, a.overlaps});
    scatter(n(), (whole ? a.column_order : a.row_order).data(), work, x, stream(), block_size());
  }

  static constexpr int most_columns = 32;  ///< solved at once

  bool takes_columns(TriangleIndex first, TriangleIndex second) const
  {
    return analysis_->solver[first]->traits().columns && analysis_->solver[second]->traits().columns;
  }

  void prepare_columns(TriangleIndex first, TriangleIndex second)
  {
    for (const TriangleIndex which : {first, second})
      if (analysis_->solver[which]->prepare_columns()) update_solver(which);
  }

  /// The same for several columns: uses the work array if there are orders, or if solvers cannot work in place.
  void both(const DeviceColumns<T>& v, TriangleIndex first, TriangleIndex second, bool conjugate)
  {
    Analysis<T, I>& a = *analysis_;
    auto &first_solver = *a.solver[first], &second_solver = *a.solver[second];
    const std::size_t rows = this->rows();
    T* x = v.x;
    if (natural() && both_interleaved(v, &first_solver, &second_solver, conjugate)) return;
    const SolveMode mode = {conjugate}, next = {conjugate, a.overlaps};
    if (natural() && second_solver.traits().in_place) {
      first_solver.solve(v, mode, stream());
      return second_solver.solve({x, x, v.x_leading, v.x_leading, v.count}, next, stream());
    }
    widen_work(rows * v.count);
    T* work = a.wide_work.data();
    if (natural()) {
      first_solver.solve({v.b, work, v.b_leading, rows, v.count}, mode, stream());
      return second_solver.solve({work, x, rows, v.x_leading, v.count}, next, stream());
    }
    const bool whole = first == lower;
    for (std::size_t c = 0; c < static_cast<std::size_t>(v.count); ++c)
      gather(n(), (whole ? a.row_order : a.column_order).data(), v.b + c * v.b_leading, work + c * rows, stream(),
             block_size());
    first_solver.solve({work, x, rows, v.x_leading, v.count}, mode, stream());
    second_solver.solve({x, work, v.x_leading, rows, v.count}, next, stream());
    for (std::size_t c = 0; c < static_cast<std::size_t>(v.count); ++c)
      scatter(n(), (whole ? a.column_order : a.row_order).data(), work + c * rows, x + c * v.x_leading, stream(),
              block_size());
  }

  /// Enlarges the work array. The previous one is kept for captured solves.
  void widen_work(std::size_t size)
  {
    DeviceArray<T>& work = analysis_->wide_work;
    if (work.size() >= size) return;
    DeviceArray<T> before = std::exchange(work, DeviceArray<T>(size));
    const std::size_t bytes = before.bytes();
    calls_.captures().keep(std::move(before), bytes);
  }

  /// Stores the values between L and U interleaved, if both solvers prefer that and there is memory. Returns false
  /// otherwise.
  bool both_interleaved(const DeviceColumns<T>& v, DeviceSolver<T, I>* first_solver, DeviceSolver<T, I>* second_solver,
                        bool conjugate)
  {
    Analysis<T, I>& a = *analysis_;
    const Interleaving between = first_solver->traits().interleaving;
    if (!a.interleaves || between.columns == 1 || !(between == second_solver->traits().interleaving)) return false;
    const auto columns = static_cast<unsigned>((v.count + between.columns - 1) / between.columns * between.columns);
    const std::size_t rows = this->rows(), leading = between.whole_rows ? 1 : rows;
    const unsigned step = between.whole_rows ? columns : static_cast<unsigned>(between.columns);
    try {
      widen_work(rows * columns);
    } catch (const Failure& failure) {
      if (failure.status.code != Code::out_of_memory) throw;
      a.interleaves = false;
      return false;
    }
    T* y = a.wide_work.data();
    first_solver->solve({v.b, y, v.b_leading, leading, v.count, 1, step}, {conjugate}, stream());
    second_solver->solve({y, v.x, leading, v.x_leading, v.count, step, 1}, {conjugate, a.overlaps}, stream());
    return true;
  }

  /// Calls body(b, x) with device pointers.
  template <class Body> void with_vectors(const T* b, T* x, Body body)
  {
    if (n() > 0) calls_.with_vectors(&analysis_->copies, rows(), false, b, x, body);
  }

  void read_values(const DeviceArray<T>& from, Array<T>* to) const
  {
    to->resize(from.size());
    from.read(to->data(), 0, from.size(), stream());
  }

  Status check_half()
  {
    if (!factored_) return not_factored();
    if (kind() == Kind::ilu) return {};
    I& row = analysis_->bad_root;
    if (row == -1) return {};
    DeviceArray<T> known;
    if (!analysis_->has_given_order()) {
      known = DeviceArray<T>(rows());
      scatter(n(), analysis_->pattern.given_row.data(), inverse_pivot(), known.data(), stream());
    }
    const DeviceArray<T>& inverses = known.empty() ? analysis_->factorization->inverse_pivot() : known;
    if (row == -2) row = find_bad_root(n(), inverses.data(), stream());
    if (row < 0) return {};
    T inverse;
    inverses.read(&inverse, row, 1, stream());
    const T pivot = T(1) / inverse;
    Status status = failed(Code::negative_pivot, row);
    status.value = real_part(pivot);
    status.imaginary = imaginary_part(pivot);
    return status;
  }

  I n() const { return analysis_->pattern.n; }
  std::size_t rows() const { return analysis_->vector_size(); }
  int block_size() const { return analysis_->options.block_size; }
  Kind kind() const { return analysis_->pattern.kind; }
  bool natural() const { return analysis_->row_order.empty(); }
  cudaStream_t stream() const { return calls_.stream(); }
  const T* inverse_pivot() const { return analysis_->factorization->inverse_pivot().data(); }

  const bool by_blocks_;
  CallScope calls_;
  std::unique_ptr<Analysis<T, I>> analysis_;
  std::unique_ptr<PreparedMatrix<I>> prepared_;  ///< from choose_ordering() to analyse()
  bool factored_ = false;
};

}  // namespace
}  // namespace cuda

template <class T, class I> std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_preconditioner()
{
  return std::make_unique<cuda::DevicePreconditioner<T, I>>(false);
}

template <class T, class I> std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_block_preconditioner()
{
  return std::make_unique<cuda::DevicePreconditioner<T, I>>(true);
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

#define INSTANTIATE(T, I)                                                              \
  template std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_preconditioner<T, I>(); \
  template std::unique_ptr<CudaPreconditioner<T, I>> make_cuda_block_preconditioner<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
