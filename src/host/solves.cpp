#include "solves.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "block/dense.hpp"
#include "block/solve.hpp"
#include "core/pattern/transpose.hpp"
#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

template <class Vector> std::size_t array_bytes(const Vector& v) { return v.size() * sizeof(v[0]); }

/// A transposed triangle with its values.
template <class V, class I> struct TransposedValues : Transposed<I> {
  int block_size;
  std::vector<V> value;

  TransposedValues(const PatternView<I>& T, int size)
      : Transposed<I>(T), block_size(size), value(this->source.size() * block_values(size))
  {
  }

  void copy_transposed(const V* from)
  {
    if (block_size == 1) {
      for (std::size_t k = 0; k < value.size(); ++k) value[k] = from[this->source[k]];
      return;
    }
    const std::size_t values = block_values(block_size);
    for (std::size_t k = 0; k < this->source.size(); ++k)
      transpose_block(block_size, from + values * static_cast<std::size_t>(this->source[k]), value.data() + values * k);
  }

  std::size_t transposed_bytes() const
  {
    return array_bytes(this->row_begin) + array_bytes(this->column) + array_bytes(this->source) + array_bytes(value);
  }
};

/// Rounds to V. Returns the position of the first value that V cannot represent, or the size.
template <class V, class T> std::size_t round_all(const Array<T>& from, Array<V>* to)
{
  to->resize(from.size());
  std::size_t first = from.size();
  for (std::size_t k = from.size(); k-- > 0;) {
    (*to)[k] = static_cast<V>(from[k]);
    if (!is_finite((*to)[k])) first = k;
  }
  return first;
}

template <class T, class V, class I> class StoredSolves : public FactorSolves<T, I> {
public:
  using Solver = TriangularSolver<T, V, I>;

  StoredSolves(const FactorPattern<I>& pattern, const SolverOptions& options)
      : pattern_(pattern), options_(options), block_(block_values(options.block_size))
  {
  }

  Status make_solvers()
  {
    Status status = make_solver(options_, {true, pattern_.lower(), nullptr, nullptr}, &lower_);
    if (status.ok()) status = make_solver(options_, {false, pattern_.upper(), nullptr, nullptr}, &upper_);
    return status;
  }

  Status update_factor(const FactorValues<T>& values) override
  {
    if constexpr (std::is_same_v<T, V>) {
      point_to(values);
    } else {
      Status status = round_to_storage(values);
      if (!status.ok()) return status;
      point_to(stored_);
    }
    lower_->update_values(lower_value_, nullptr);
    upper_->update_values(upper_value_, inverse_pivot_);
    if (transposes_) refresh_transposes(transposes_.get());
    return {};
  }

  Status prepare_transposes() override
  try {
    if (transposes_) return {};
    auto made = std::make_unique<Transposes>(pattern_, options_.block_size);
    Status status = make_transposed(made->upper_view(), &made->upper_solver);
    if (status.ok()) status = make_transposed(made->lower_view(), &made->lower_solver);
    if (!status.ok()) return status;
    refresh_transposes(made.get());
    transposes_ = std::move(made);
    solve_alone(alone_);
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  void solve_factor(Triangle triangle, const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    solver(triangle).solve_triangle(b, x, columns, conjugate);
  }

  Status check_roots() const override
  {
    for (I i = 0; i < pattern_.n; ++i) {
      if (imaginary_part(inverse_pivot_[i]) == 0 && real_part(inverse_pivot_[i]) >= 0) continue;
      Status status = failed(Code::negative_pivot, i);
      const T pivot = T(1) / static_cast<T>(inverse_pivot_[i]);
      status.value = real_part(pivot);
      status.imaginary = imaginary_part(pivot);
      return status;
    }
    return {};
  }

  void scale_by_root(bool up, const T* b, T* x) const override
  {
    for (I i = 0; i < pattern_.n; ++i) {
      const real_t<T> root = std::sqrt(static_cast<real_t<T>>(real_part(inverse_pivot_[i])));
      x[i] = up ? b[i] / root : b[i] * root;
    }
  }

  FactorValues<T> factor_values() const override
  {
    if (!inverse_pivot_) return {};
    return {{lower_value_, lower_value_ + pattern_.lower_column.size() * block_},
            {upper_value_, upper_value_ + pattern_.upper_column.size() * block_},
            {inverse_pivot_, inverse_pivot_ + static_cast<std::size_t>(pattern_.n) * block_}};
  }

  std::size_t bytes_of_values() const override
  {
    return (pattern_.lower_column.size() + pattern_.upper_column.size() + pattern_.n) * block_ * sizeof(V);
  }

  Description describe_factor() const override
  {
    const Description upper = upper_->describe_solver();
    Description both = lower_->describe_solver();
    both.threads = std::max(both.threads, upper.threads);
    both.bytes += upper.bytes;
    return both;
  }

  void solve_alone(bool alone) override
  {
    alone_ = alone;
    lower_->work_alone(alone);
    upper_->work_alone(alone);
    if (!transposes_) return;
    transposes_->lower_solver->work_alone(alone);
    transposes_->upper_solver->work_alone(alone);
  }

  std::size_t transpose_bytes() const override
  {
    if (!transposes_) return 0;
    return transposes_->lower.transposed_bytes() + transposes_->upper.transposed_bytes() +
           array_bytes(transposes_->inverse_pivot) + transposes_->lower_solver->describe_solver().bytes +
           transposes_->upper_solver->describe_solver().bytes;
  }

private:
  struct Transposes {
    TransposedValues<V, I> lower, upper;  ///< of L and of U
    std::vector<V> inverse_pivot;         ///< transposed blocks; empty for entries
    std::unique_ptr<Solver> lower_solver, upper_solver;

    Transposes(const FactorPattern<I>& pattern, int size)
        : lower(pattern.lower(), size), upper(pattern.upper(), size),
          inverse_pivot(size == 1 ? 0 : static_cast<std::size_t>(pattern.n) * block_values(size))
    {
    }
    TriangleView<V, I> upper_view() const { return {true, upper.pattern_view(), nullptr, nullptr}; }
    TriangleView<V, I> lower_view() const { return {false, lower.pattern_view(), nullptr, nullptr}; }
  };

  void point_to(const FactorValues<V>& values)
  {
    lower_value_ = values.lower.data();
    upper_value_ = values.upper.data();
    inverse_pivot_ = values.inverse_pivot.data();
  }

  Status round_to_storage(const FactorValues<T>& values)
  {
    const std::size_t lower = round_all(values.lower, &stored_.lower) / block_;
    const std::size_t upper = round_all(values.upper, &stored_.upper) / block_;
    std::size_t pivot = round_all(values.inverse_pivot, &stored_.inverse_pivot) / block_;
    if (block_ == 1)
      for (std::size_t i = 0; i < pivot; ++i)
        if (stored_.inverse_pivot[i] == V(0)) pivot = i;
    const std::int64_t row =
      std::min({row_of_entry(pattern_.lower_begin, lower), row_of_entry(pattern_.upper_begin, upper),
                static_cast<std::int64_t>(pivot)});
    if (row >= pattern_.n) return {};
    Status status = failed(Code::not_finite, row);
    status.block_row = block_ > 1;
    return status;
  }

  /// The row of entry k; n for the position after the last entry.
  static std::int64_t row_of_entry(const Array<I>& begin, std::size_t k)
  {
    return std::upper_bound(begin.begin(), begin.end(), static_cast<I>(k)) - begin.begin() - 1;
  }

  Status make_solver(const SolverOptions& options, const TriangleView<V, I>& triangle,
                     std::unique_ptr<Solver>* out) const
  {
    if (options.block_size == 1) return make_host_solver<T, V, I>(options, triangle, out);
    *out = make_block_solver<T, V, I>(triangle, options);
    return {};
  }

  /// Makes a solver of a transpose; a serial one if `tiled` has a plan for L and U but none for the transpose.
  Status make_transposed(TriangleView<V, I> triangle, std::unique_ptr<Solver>* out) const
  {
    const Status status = make_solver(options_, triangle, out);
    if (status.code != Code::no_plan) return status;
    SolverOptions serial = options_;
    serial.strategy = "serial";
    return make_solver(serial, triangle, out);
  }

  void refresh_transposes(Transposes* transposes) const
  {
    if (!inverse_pivot_) return;
    transposes->lower.copy_transposed(lower_value_);
    transposes->upper.copy_transposed(upper_value_);
    for (std::size_t k = 0; k < transposes->inverse_pivot.size(); k += block_)
      transpose_block(options_.block_size, inverse_pivot_ + k, transposes->inverse_pivot.data() + k);
    const V* inverse_pivot = block_ == 1 ? inverse_pivot_ : transposes->inverse_pivot.data();
    transposes->lower_solver->update_values(transposes->lower.value.data(), nullptr);
    transposes->upper_solver->update_values(transposes->upper.value.data(), inverse_pivot);
  }

  Solver& solver(Triangle triangle)
  {
    switch (triangle) {
      case Triangle::lower: return *lower_;
      case Triangle::upper: return *upper_;
      case Triangle::upper_transposed: return *transposes_->upper_solver;
      case Triangle::lower_transposed: break;
    }
    return *transposes_->lower_solver;
  }

  const FactorPattern<I>& pattern_;
  SolverOptions options_;
  std::size_t block_;  ///< values of a block
  std::unique_ptr<Solver> lower_, upper_;
  std::unique_ptr<Transposes> transposes_;
  bool alone_ = false;
  FactorValues<V> stored_;  ///< used if V is not T
  const V* lower_value_ = nullptr;
  const V* upper_value_ = nullptr;
  const V* inverse_pivot_ = nullptr;
};

template <class T, class V, class I>
Status make_stored(const FactorPattern<I>& pattern, const SolverOptions& options,
                   std::unique_ptr<FactorSolves<T, I>>* out)
{
  auto solves = std::make_unique<StoredSolves<T, V, I>>(pattern, options);
  Status status = solves->make_solvers();
  if (status.ok()) *out = std::move(solves);
  return status;
}

}  // namespace

template <class T, class I>
Status make_factor_solves(const FactorPattern<I>& pattern, const SolverOptions& options,
                          std::unique_ptr<FactorSolves<T, I>>* out)
try {
  if (options.single_storage) return make_stored<T, single_t<T>>(pattern, options, out);
  return make_stored<T, T>(pattern, options, out);
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(T, I)                                                                                  \
  template Status make_factor_solves<T, I>(const FactorPattern<I>&, const SolverOptions&, \
                                           std::unique_ptr<FactorSolves<T, I>>*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
