/// Implements relaxation.hpp on a CUDA device, row by row: any strategy can solve with the triangles of A.

#include <cstdint>
#include <memory>
#include <utility>

#include "core/support/instantiate.hpp"
#include "cuda/backend/call_scope.hpp"
#include "cuda/backend/pair_update.hpp"
#include "cuda/backend/setup.hpp"
#include "cuda/sweep/sweep_values.hpp"
#include "syncfree/cuda.hpp"

namespace syncfree {
namespace cuda {
namespace {

template <class T, class I> class DeviceRelaxation : public CudaRelaxation<T, I> {
public:
  /// Keeps the analysis alive for graphs that have captured sweeps.
  ~DeviceRelaxation() override { calls_.captures().keep_for_graphs(take_made()); }

  void use(Memory memory, void* stream) override { calls_.use(memory, stream); }

  Status analyse(PatternView<I> A, const std::vector<I>& node_begin, const SolverOptions& options) override
  {
    if (!node_begin.empty()) return failed(Code::invalid_argument, "nodes are relaxed on the host only");
    return analyse_on_device(A, {}, options);
  }

  Status analyse_on_device(PatternView<I> A, PatternView<I> on_device, const SolverOptions& options) override
  {
    return calls_.execute([&] {
      give_up_analysis();
      calls_.limit_waits(options.wait_limit);
      auto made = std::make_unique<Analysis<T, I>>();
      made->captures = &calls_.captures();
      made->options = options;
      made->options.single_storage = false;
      if (on_device.row_begin) SYNCFREE_CUDA(cudaStreamSynchronize(calls_.stream()));
      const Status status = make_analysis({A, on_device, SymbolicOptions<I>(), false}, made.get());
      if (!status.ok()) return status;
      if (made->work.empty()) made->work = DeviceArray<T>(A.n);
      rest_ = DeviceArray<T>(A.n);
      values_ = std::make_unique<SweepValues<T, I>>(made->pattern);
      analysis_ = std::move(made);
      return status;
    });
  }

  Status has_pattern(PatternView<I> A, const std::vector<I>& node_begin, bool* same) override
  {
    *same = false;
    return node_begin.empty() ? has_pattern_on_device(A, {}, same) : Status();
  }

  Status has_pattern_on_device(PatternView<I> A, PatternView<I> on_device, bool* same) override
  {
    *same = false;
    if (!analysis_) return {};
    return calls_.execute([&]() -> Status {
      *same = is_made_of(*analysis_, A, on_device, calls_.stream());
      return {};
    });
  }

  Status refresh(CsrView<T, I> A, double omega, double shift, double least) override
  {
    return calls_.execute([&]() -> Status {
      has_numbers_ = false;
      if (!analysis_) return failed(Code::invalid_argument, "refresh() was called before analyse()");
      Analysis<T, I>& a = *analysis_;
      if (A.pattern.n != a.pattern.n || A.pattern.nnz() != a.nnz) return failed(Code::another_pattern);
      calls_.captures().take_numbers_away(calls_.stream());
      const T* value = calls_.values(&a.copies, A.value, a.nnz);
      const BadRows<I> bad = values_->refresh(value, omega, shift, least, calls_.stream());
      if (bad.not_finite >= 0) return not_finite_in_matrix(bad.not_finite);
      update_or_follow_merged(&a, calls_.stream(), [&] {
        const PairUpdate<T, I> update(a.solver[lower].get(), a.solver[upper].get(), values_->lower_values(),
                                      values_->upper_values(), values_->inverse_pivot(), calls_.stream());
        queue_update(&a, update);
        finish_update(&a, update, false);
      });
      has_numbers_ = true;
      calls_.captures().bring_numbers(calls_.stream());
      return bad.zero < 0 ? Status() : failed(Code::zero_pivot, bad.zero);
    });
  }

  Status relax(Sweep sweep, bool from_zero, I times, const T* b, T* x) override
  {
    return calls_.execute_solve([&]() -> Status {
      if (!has_numbers_) return failed(Code::invalid_argument, "relax() was called before refresh()");
      const auto n = static_cast<std::size_t>(analysis_->pattern.n);
      if (n == 0) return {};
      calls_.with_vectors(&analysis_->copies, n, !from_zero, b, x, [&](const T* right, T* found) {
        for (I t = 0; t < times; ++t) relax_once(sweep, from_zero && t == 0, right, found);
      });
      return calls_.end_solve(x, n);
    });
  }

  std::uint64_t generation() const override { return calls_.captures().generation(); }

  Summary summarize() const override
  {
    if (!analysis_) return {};
    Summary s = summarize_analysis(*analysis_);
    s.factor_bytes += values_->sweep_bytes();
    s.plan_bytes += rest_.bytes();
    s.captured_bytes = calls_.captures().captured_bytes();
    return s;
  }

private:
  /// Result of one analysis.
  struct Made {
    std::unique_ptr<Analysis<T, I>> analysis;
    std::unique_ptr<SweepValues<T, I>> values;  ///< refers to the analysis
    DeviceArray<T> rest;
  };
  Made take_made() { return {std::move(analysis_), std::move(values_), std::move(rest_)}; }

  /// Releases the analysis; it is kept if captured graphs may use it.
  void give_up_analysis()
  {
    CapturedSolves& captures = calls_.captures();
    has_numbers_ = false;
    captures.make_void();
    captures.take_numbers_away(calls_.stream());
    const Summary s = captures.any() ? summarize() : Summary();
    captures.keep(take_made(), s.factor_bytes + s.plan_bytes);
  }

  void relax_once(Sweep sweep, bool from_zero, const T* b, T* x)
  {
    if (sweep == Sweep::backward) backward(from_zero, b, x);
    else if (sweep == Sweep::forward) forward(from_zero, b, x);
    else if (from_zero) symmetric_from_zero(b, x);
    else symmetric(b, x);
  }

  void forward(bool from_zero, const T* b, T* x)
  {
    if (!from_zero) values_->begin_forward(b, x, work(), rest_.data(), calls_.stream());
    solve_triangle(lower, from_zero ? b : work(), x);
    values_->divide_by_pivots(x, calls_.stream());
  }

  void backward(bool from_zero, const T* b, T* x)
  {
    if (!from_zero) values_->begin_backward(b, x, work(), rest_.data(), calls_.stream());
    solve_triangle(upper, from_zero ? b : work(), x);
  }

  void symmetric_from_zero(const T* b, T* x)
  {
    solve_triangle(lower, b, work());
    if (values_->turns_for_nothing()) return solve_triangle(upper, work(), x, analysis_->overlaps);
    values_->turn(work(), nullptr, work(), calls_.stream());
    solve_triangle(upper, work(), x);
  }

  void symmetric(const T* b, T* x)
  {
    values_->begin_forward(b, x, work(), rest_.data(), calls_.stream());
    solve_triangle(lower, work(), x);
    values_->turn(x, rest_.data(), work(), calls_.stream());
    solve_triangle(upper, work(), x);
  }

  void solve_triangle(TriangleIndex which, const T* b, T* x, bool overlaps = false)
  {
    solve_column(analysis_->solver[which].get(), b, x, {false, overlaps}, calls_.stream());
  }
  T* work() const { return analysis_->work.data(); }

  CallScope calls_;
  std::unique_ptr<Analysis<T, I>> analysis_;
  std::unique_ptr<SweepValues<T, I>> values_;  ///< refers to the analysis
  DeviceArray<T> rest_;
  bool has_numbers_ = false;
};

}  // namespace
}  // namespace cuda

template <class T, class I> std::unique_ptr<CudaRelaxation<T, I>> make_cuda_relaxation()
{
  return std::make_unique<cuda::DeviceRelaxation<T, I>>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<CudaRelaxation<T, I>> make_cuda_relaxation<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
