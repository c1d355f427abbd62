#include "solves.hpp"

#include <new>

#include "../core/instantiate.hpp"

namespace syncfree {
namespace {

template <class V> std::size_t bytes(const std::vector<V>& v) { return v.size() * sizeof(V); }

/// A triangle transposed: the CSR of T^T is the CSC of T.
template <class V, class I> struct Transposed {
  std::vector<I> begin, column, source;  ///< source: where an entry stands in the triangle
  std::vector<V> value;

  explicit Transposed(const PatternView<I>& T) : begin(T.n + 1), column(T.nnz()), source(T.nnz()), value(T.nnz())
  {
    for (I k = 0; k < T.nnz(); ++k) ++begin[T.column[k] + 1];
    for (I i = 0; i < T.n; ++i) begin[i + 1] += begin[i];
    std::vector<I> next(begin.begin(), begin.end());
    for (I i = 0; i < T.n; ++i)
      for (I k = T.row_begin[i]; k < T.row_begin[i + 1]; ++k) {
        const I to = next[T.column[k]]++;
        column[to] = i;
        source[to] = k;
      }
  }

  void refresh(const V* from)
  {
    for (std::size_t k = 0; k < value.size(); ++k) value[k] = from[source[k]];
  }

  std::size_t size() const { return bytes(begin) + bytes(column) + bytes(source) + bytes(value); }
};

template <class T, class V, class I> class StoredSolves : public FactorSolves<T, I> {
public:
  using Solver = TriangularSolver<T, V, I>;

  StoredSolves(const FactorPattern<I>& pattern, std::string strategy, int threads)
      : pattern_(pattern), strategy_(std::move(strategy)), threads_(threads)
  {
  }

  Status make()
  {
    Status status = make_host_solver<T, V, I>(strategy_, {true, pattern_.lower(), nullptr, nullptr}, threads_, &lower_);
    if (status.ok())
      status = make_host_solver<T, V, I>(strategy_, {false, pattern_.upper(), nullptr, nullptr}, threads_, &upper_);
    return status;
  }

  void refresh(const FactorValues<T>& values) override
  {
    if constexpr (std::is_same_v<T, V>) {
      lower_value_ = values.lower.data();
      upper_value_ = values.upper.data();
      inverse_pivot_ = values.inverse_pivot.data();
    } else {
      stored_.lower.assign(values.lower.begin(), values.lower.end());
      stored_.upper.assign(values.upper.begin(), values.upper.end());
      stored_.inverse_pivot.assign(values.inverse_pivot.begin(), values.inverse_pivot.end());
      lower_value_ = stored_.lower.data();
      upper_value_ = stored_.upper.data();
      inverse_pivot_ = stored_.inverse_pivot.data();
    }
    lower_->refresh(lower_value_, nullptr);
    upper_->refresh(upper_value_, inverse_pivot_);
    if (transposes_) refresh_transposes(transposes_.get());
  }

  Status prepare_transposes() override
  try {
    if (transposes_) return {};
    auto made = std::make_unique<Transposes>(pattern_);
    Status status = make_host_solver<T, V, I>(strategy_, made->upper_view(), threads_, &made->upper_solver);
    if (status.ok())
      status = make_host_solver<T, V, I>(strategy_, made->lower_view(), threads_, &made->lower_solver);
    if (!status.ok()) return status;
    refresh_transposes(made.get());
    transposes_ = std::move(made);
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  void solve(Triangle triangle, const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    solver(triangle).solve(b, x, columns, conjugate);
  }

  T inverse_pivot(I i) const override { return static_cast<T>(inverse_pivot_[i]); }

  FactorValues<T> values() const override
  {
    if (!inverse_pivot_) return {};
    return {{lower_value_, lower_value_ + pattern_.lower_column.size()},
            {upper_value_, upper_value_ + pattern_.upper_column.size()},
            {inverse_pivot_, inverse_pivot_ + pattern_.n}};
  }

  std::size_t value_bytes() const override
  {
    return (pattern_.lower_column.size() + pattern_.upper_column.size() + pattern_.n) * sizeof(V);
  }

  std::size_t plan_bytes() const override { return lower_->describe().bytes + upper_->describe().bytes; }

  std::size_t transpose_bytes() const override
  {
    if (!transposes_) return 0;
    return transposes_->lower.size() + transposes_->upper.size() + transposes_->lower_solver->describe().bytes +
           transposes_->upper_solver->describe().bytes;
  }

private:
  struct Transposes {
    I n;
    Transposed<V, I> lower, upper;  ///< of L and of U
    std::unique_ptr<Solver> lower_solver, upper_solver;

    explicit Transposes(const FactorPattern<I>& pattern)
        : n(pattern.n), lower(pattern.lower()), upper(pattern.upper())
    {
    }
    TriangleView<V, I> upper_view() const
    {
      return {true, {n, upper.begin.data(), upper.column.data()}, nullptr, nullptr};
    }
    TriangleView<V, I> lower_view() const
    {
      return {false, {n, lower.begin.data(), lower.column.data()}, nullptr, nullptr};
    }
  };

  void refresh_transposes(Transposes* transposes) const
  {
    if (!inverse_pivot_) return;
    transposes->lower.refresh(lower_value_);
    transposes->upper.refresh(upper_value_);
    transposes->lower_solver->refresh(transposes->lower.value.data(), nullptr);
    transposes->upper_solver->refresh(transposes->upper.value.data(), inverse_pivot_);
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
  std::string strategy_;
  int threads_;
  std::unique_ptr<Solver> lower_, upper_;
  std::unique_ptr<Transposes> transposes_;
  FactorValues<V> stored_;  ///< used where V is not T
  const V* lower_value_ = nullptr;
  const V* upper_value_ = nullptr;
  const V* inverse_pivot_ = nullptr;
};

template <class T, class V, class I>
Status make_stored(const FactorPattern<I>& pattern, const std::string& strategy, int threads,
                   std::unique_ptr<FactorSolves<T, I>>* out)
{
  auto solves = std::make_unique<StoredSolves<T, V, I>>(pattern, strategy, threads);
  Status status = solves->make();
  if (status.ok()) *out = std::move(solves);
  return status;
}

}  // namespace

template <class T, class I>
Status make_factor_solves(const FactorPattern<I>& pattern, const std::string& strategy, int threads,
                          bool single_storage, std::unique_ptr<FactorSolves<T, I>>* out)
try {
  if (single_storage) return make_stored<T, single_t<T>>(pattern, strategy, threads, out);
  return make_stored<T, T>(pattern, strategy, threads, out);
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(T, I)                                                                                  \
  template Status make_factor_solves<T, I>(const FactorPattern<I>&, const std::string&, int, bool, \
                                           std::unique_ptr<FactorSolves<T, I>>*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
