/// The preconditioner on a CUDA device. The pattern of ILU(0) and IC(0) in natural order, its levels and the plans that
/// `auto` takes are made there, from rows and columns that may be there already; other patterns and plans are made by
/// the core on the host. Numbers and solves stay on the device. As on the host: with A(r, c) = L U the solve of A x = b
/// is y_i = b_{r(i)}, L U z = y, x_{c(i)} = z_i, that of A^T x = b exchanges r and c and uses U^T L^T, and IC's
/// transposed solve is the solve itself.

#include <new>
#include <type_traits>

#include "analysis.hpp"
#include "core/instantiate.hpp"
#include "syncfree/cuda.hpp"
#include "syncfree/strategy.hpp"
#include "vectors.hpp"

namespace syncfree {
namespace cuda {
namespace {

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
    return analyse_there(A, {}, symbolic, options);
  }

  Status analyse_there(PatternView<I> A, PatternView<I> on_device, const SymbolicOptions<I>& symbolic,
                       const SolverOptions& options) override
  {
    factored_ = false;
    analysis_.reset();
    return guarded([&] {
      auto made = std::make_unique<Analysis<T, I>>();
      made->options = options;
      if (on_device.row_begin) SYNCFREE_CUDA(cudaStreamSynchronize(stream_));
      const Status status = make_analysis({A, on_device, symbolic}, made.get());
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
    s.rows = a.pattern.n;
    s.operations = a.pattern.counts.operations;
    s.lower_nnz = static_cast<std::int64_t>(a.pattern.lower_column.size());
    s.upper_nnz = static_cast<std::int64_t>(a.pattern.upper_column.size());
    s.single_storage = a.options.single_storage;
    s.factor_bytes = a.pattern.bytes() + a.factorization->value_bytes();
    s.plan_bytes = a.pattern.source_bytes() + a.lower_levels.row.bytes() + a.lower_levels.begin.bytes() +
                   a.factorization->plan_bytes() + a.row_order.bytes() + a.column_order.bytes() + a.work.bytes() +
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

  /// Copied from the device when it is first asked for.
  const FactorPattern<I>& pattern() const override
  {
    static const FactorPattern<I> none;
    if (!analysis_) return none;
    try {
      fetch_pattern(analysis_.get());
    } catch (const Failure&) {
      return none;
    } catch (const std::bad_alloc&) {
      return none;
    }
    return analysis_->made;
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

  void prepare_transposes()
  {
    Analysis<T, I>& a = *analysis_;
    if (a.solver[lower_transposed]) return;
    make_transposes(&a);
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
  bool natural() const { return analysis_->made.natural(); }
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
