/// Strategy `cusparse`: cuSPARSE's SpSV on split triangles, and SpSM for several right-hand sides, as a strategy and as
/// the baseline of the others. The SpSV algorithm of a triangle is chosen when its first values arrive, before any
/// solve, so captured solves never contain a trial.
///
/// The diagonal of U is an entry of the matrix given to cuSPARSE. Values are rounded to V and stored as T, because SpSV
/// and SpSM use one scalar type throughout. SpSM makes an analysis of its own when a number of columns is first solved.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/support/instantiate.hpp"
#include "cuda/analysis/triangle.hpp"
#include "cuda/base/captured_solves.hpp"
#include "cuda/base/scalar.cuh"
#include "cuda/base/vectors.hpp"
#include "cuda/solve/baselines/cusparse.hpp"
#include "cuda/solve/baselines/cusparse_spsv.hpp"
#include "cuda/solve/solver.hpp"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {
namespace {

/// to[k] = from[source[k]] rounded to V, and 1 / inverse_diagonal[-1 - source[k]] if the source is negative
template <class T, class V, class I>
__global__ void fill_matrix(std::size_t count, const I* source, const DeviceScalar<T>* from,
                            const DeviceScalar<T>* inverse_diagonal, DeviceScalar<T>* to)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k >= count) return;
  const I s = source[k];
  to[k] = s >= 0 ? DeviceScalar<T>(DeviceScalar<V>(from[s])) : DeviceScalar<T>(1) / inverse_diagonal[-1 - s];
}

/// Compressed rows in host memory; `source` as in DeviceTriangle.
template <class I> struct HostRows {
  std::vector<I> begin{0}, column, source;
};

/// Returns the triangle as cuSPARSE requires it; its diagonal, unless it is 1, has the source -1 - row.
template <class I> HostRows<I> rows_with_diagonal(const DeviceTriangle<I>& triangle)
{
  const PatternView<I>& p = triangle.pattern();
  HostRows<I> rows;
  const auto add = [&](I column, I source) {
    rows.column.push_back(column);
    rows.source.push_back(source);
  };
  for (I i = 0; i < p.n; ++i) {
    if (!triangle.unit && !triangle.lower) add(i, -1 - i);
    for (I k = p.row_begin[i]; k < p.row_begin[i + 1]; ++k) add(p.column[k], triangle.source ? triangle.source[k] : k);
    if (!triangle.unit && triangle.lower) add(i, -1 - i);
    rows.begin.push_back(static_cast<I>(rows.column.size()));
  }
  return rows;
}

template <class T, class V, class I> class CusparseSolver : public DeviceSolver<T, I> {
public:
  CusparseSolver(const DeviceTriangle<I>& triangle, const HostRows<I>& rows)
      : n_(triangle.n()), begin_(rows.begin), column_(rows.column), source_(rows.source),
        value_(rows.column.size()), captures_(triangle.captures)
  {
    SYNCFREE_CUSPARSE(cusparseCreate(handle_.out()));
    SYNCFREE_CUSPARSE(cusparseCreateCsr(matrix_.out(), n_, n_, rows.column.size(), begin_.data(), column_.data(),
                                        value_.data(), index_type<I>, index_type<I>, CUSPARSE_INDEX_BASE_ZERO,
                                        data_type<T>));
    cusparseFillMode_t fill = triangle.lower ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
    cusparseDiagType_t diagonal = triangle.unit ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
    SYNCFREE_CUSPARSE(cusparseSpMatSetAttribute(matrix_, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
    SYNCFREE_CUSPARSE(cusparseSpMatSetAttribute(matrix_, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
  }

  SolverTraits traits() const override
  {
    SolverTraits traits;
    traits.columns = true;
    return traits;
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    if (v.count == 1) solve_one(v.b, v.x, mode.conjugate, stream);
    else solve_several(v, mode.conjugate, stream);
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::queued) return;
    fill_values(value, inverse_diagonal, stream);
  }

  PlanSummary summarize_plan() const override
  {
    std::size_t bytes = begin_.bytes() + column_.bytes() + source_.bytes() + (solve_ ? solve_->buffer_bytes() : 0);
    for (const auto& c : columns_) bytes += c->buffer_bytes();
    return {text_, bytes, value_.bytes()};
  }

private:
  static constexpr std::size_t most_analyses = 8;  ///< analyses that are kept

  void solve_one(const T* b, T* x, bool conjugate, cudaStream_t stream)
  {
    const bool turn = conjugate && is_complex_v<T>;
    if (turn) conjugate_vector(n_, b, x, stream);
    SYNCFREE_CUSPARSE(cusparseSetStream(handle_, stream));
    SYNCFREE_CUSPARSE(cusparseDnVecSetValues(b_, const_cast<T*>(turn ? x : b)));
    SYNCFREE_CUSPARSE(cusparseDnVecSetValues(x_, x));
    SYNCFREE_CUSPARSE(solve_->solve_vector(arguments()));
    if (turn) conjugate_vector(n_, x, x, stream);
  }

  void solve_several(const DeviceColumns<T>& v, bool conjugate, cudaStream_t stream)
  {
    const bool turn = conjugate && is_complex_v<T>;
    const DeviceColumns<T> in_place = {v.x, v.x, v.x_leading, v.x_leading, v.count};
    if (turn) conjugate_columns(v, stream);
    SYNCFREE_CUSPARSE(cusparseSetStream(handle_, stream));
    const DeviceColumns<T>& from = turn ? in_place : v;
    analysed_for(from).solve_columns(from);
    if (turn) conjugate_columns(in_place, stream);
  }

  void fill_values(const T* value, const T* inverse_diagonal, cudaStream_t stream)
  {
    SYNCFREE_CUSPARSE(cusparseSetStream(handle_, stream));
    if (!value_.empty()) {
      launch(fill_matrix<T, V, I>, {blocks_for(value_.size(), 256), 256, 0, stream}, value_.size(), source_.data(),
             as_device(value), as_device(inverse_diagonal), as_device(value_.data()));
    }
    if (!solve_) return analyse_values(stream);
    if (value_.empty()) return;  // cuSPARSE rejects an update without values
    SYNCFREE_CUSPARSE(solve_->update(handle_, value_.data()));
    if constexpr (CusparseColumns<T>::takes_new_numbers)
      for (auto& c : columns_) c->update(value_.data());
    else give_up_columns();
  }

  SpsvArguments arguments() const { return {handle_, matrix_, b_, x_}; }

  /// Chooses the algorithm, with vectors that are not read afterwards: the analysis requires some.
  void analyse_values(cudaStream_t stream)
  {
    if (n_ == 0) return;
    DeviceArray<T> b(n_), x(n_);
    b.fill(0, stream);
    for (const auto& [vector, array] : {std::pair(&b_, &b), std::pair(&x_, &x)})
      if (*vector) SYNCFREE_CUSPARSE(cusparseDnVecSetValues(*vector, array->data()));
      else SYNCFREE_CUSPARSE(cusparseCreateDnVec(vector->out(), n_, array->data(), data_type<T>));
    SpsvChoice<T> choice;
    solve_ = choice.choose(arguments(), value_.data(), stream);
    text_ = choice.text();
  }

  void give_up_columns()
  {
    if (columns_.empty()) return;
    if (captures_) captures_->make_void(), captures_->keep(std::move(columns_), 0);
    columns_.clear();
  }

  CusparseColumns<T>& analysed_for(const DeviceColumns<T>& v)
  {
    for (auto& c : columns_)
      if (c->fits(v)) return *c;
    const bool held = captures_ && captures_->any();  // by graphs, which need new values in it at each refresh
    if (columns_.size() >= most_analyses && !held) columns_.erase(columns_.begin());
    columns_.push_back(std::make_unique<CusparseColumns<T>>(handle_, matrix_, n_, v));
    return *columns_.back();
  }

  void conjugate_columns(const DeviceColumns<T>& v, cudaStream_t stream)
  {
    for (std::size_t c = 0; c < static_cast<std::size_t>(v.count); ++c)
      conjugate_vector(n_, v.b + c * v.b_leading, v.x + c * v.x_leading, stream);
  }

  I n_;
  DeviceArray<I> begin_, column_, source_;
  DeviceArray<T> value_;
  CapturedSolves* captures_;  ///< or nullptr
  CusparseHandle handle_;
  CusparseMatrix matrix_;
  CusparseVector b_, x_;
  std::unique_ptr<Spsv<T>> solve_;  ///< with the chosen algorithm
  std::string text_;
  std::vector<std::unique_ptr<CusparseColumns<T>>> columns_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_cusparse(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  return std::make_unique<CusparseSolver<T, V, I>>(triangle, rows_with_diagonal(triangle));
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<DeviceSolver<T, I>> make_cusparse<T, V, I>(const DeviceTriangle<I>&, const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
