#pragma once

/// The oracle of the factorization: dense matrices, the definition of the levels of fill and the IKJ elimination with
/// divisions, all in long double. Pivot rules are those of PETSc's MatPivotCheck_* and of its loop over attempts. It
/// shares no code with the library.

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "battery.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {

template <class T> using Wide = std::conditional_t<is_complex_v<T>, std::complex<long double>, long double>;

template <class T> Wide<T> widen(const T& v)
{
  if constexpr (is_complex_v<T>) return {v.real(), v.imag()};
  else return v;
}

/// n x n, row by row.
template <class W> struct Dense {
  std::int64_t n;
  std::vector<W> a;
  explicit Dense(std::int64_t size, W value = W(0)) : n(size), a(static_cast<std::size_t>(size * size), value) {}
  W& operator()(std::int64_t i, std::int64_t j) { return a[static_cast<std::size_t>(i * n + j)]; }
  const W& operator()(std::int64_t i, std::int64_t j) const { return a[static_cast<std::size_t>(i * n + j)]; }
};

/// The factorization task: A(row_order, column_order), natural if the orders are empty.
template <class T, class I> struct FactorTask {
  OwnedCsr<T, I> A;
  Kind kind = Kind::ilu;
  int levels = 0;
  std::vector<I> row_order, column_order;

  SymbolicOptions<I> symbolic() const
  {
    SymbolicOptions<I> s;
    s.kind = kind;
    s.levels = levels;
    s.diagonal_fill = levels > 0 || !row_order.empty();
    if (!row_order.empty()) s.row_order = row_order.data();
    if (!row_order.empty()) s.column_order = column_order.data();
    return s;
  }
  I row(I i) const { return row_order.empty() ? i : row_order[i]; }
  I column(I j) const { return column_order.empty() ? j : column_order[j]; }
};

/// The factor as in factor.hpp, or the first row that failed.
///   level  of each entry, `absent` where the factor has none
template <class T> struct OracleFactor {
  static constexpr int absent = 1 << 20;
  Dense<Wide<T>> L, U;
  Dense<int> level;
  std::int64_t failed_row = -1;
  PivotReport report;
  explicit OracleFactor(std::int64_t n) : L(n), U(n), level(n, absent) {}
};

template <class T, class I> class FactorOracle {
public:
  FactorOracle(const FactorTask<T, I>& task, const PivotRule& rule)
      : task_(task), rule_(rule), n_(task.A.n), a_(n_), made_(n_)
  {
  }

  OracleFactor<T> run()
  {
    permute();
    find_levels();
    if (rule_.shift == Shift::positive_definite) find_top();
    bool again = true;
    for (int attempts = 0; again && attempts < 100; ++attempts) again = attempt();
    if (again) made_.failed_row = pivot_row_;
    return made_;
  }

private:
  static constexpr int absent = OracleFactor<T>::absent;
  bool icc() const { return task_.kind == Kind::icc; }
  bool kept(std::int64_t i, std::int64_t j) const { return made_.level(i, j) != absent; }

  void permute()
  {
    for (I i = 0; i < n_; ++i) {
      const I row = task_.row(i);
      for (I j = 0; j < n_; ++j)
        for (I k = task_.A.row_begin[row]; k < task_.A.row_begin[row + 1]; ++k) {
          if (task_.A.column[k] != task_.column(j) || (icc() && j < i)) continue;
          a_(i, j) = widen(task_.A.value[k]);
          made_.level(i, j) = 0;
          if (icc()) a_(j, i) = a_(i, j);
          if (icc()) made_.level(j, i) = 0;
        }
      if (task_.symbolic().diagonal_fill) made_.level(i, i) = 0;
    }
  }

  void find_levels()
  {
    for (std::int64_t i = 0; i < n_; ++i) {
      for (std::int64_t p = 0; p < i; ++p)
        for (std::int64_t j = p + 1; kept(i, p) && j < n_; ++j) {
          const int fill = made_.level(i, p) + made_.level(p, j) + 1;
          if (fill <= task_.levels && fill < made_.level(i, j)) made_.level(i, j) = fill;
        }
    }
  }

  void find_top()
  {
    top_ = rule_.zero_pivot;
    for (I i = 0; i < n_; ++i) {
      long double sum = 0;
      for (I k = task_.A.row_begin[i]; k < task_.A.row_begin[i + 1]; ++k) {
        sum += std::abs(widen(task_.A.value[k]));
        if (task_.A.column[k] == i) sum -= std::abs(widen(task_.A.value[k])) + std::real(widen(task_.A.value[k]));
      }
      if (sum > top_) top_ = sum;
    }
    top_ *= 1.1L;
  }

  /// Factors once with the current shift. Returns true if another attempt is required.
  bool attempt()
  {
    int repaired = 0;
    made_.L = made_.U = Dense<Wide<T>>(n_);
    for (std::int64_t i = 0; i < n_; ++i) {
      eliminate(i);
      const Check check = check_pivot(i, &repaired);
      if (check == Check::restart) return true;
      if (check == Check::fail) {
        made_.failed_row = i;
        return false;
      }
    }
    if (rule_.shift == Shift::positive_definite && !icc() && fraction_ > 0 && shifts_ < 5) {
      high_ = fraction_;
      set_fraction((low_ + high_) / 2);
      return true;
    }
    const double added = repaired > 0 ? rule_.shift_amount : static_cast<double>(amount_);
    made_.report = {shifts_ + repaired, added, static_cast<double>(fraction_), static_cast<double>(top_)};
    return false;
  }

  void eliminate(std::int64_t i)
  {
    std::vector<Wide<T>> w(static_cast<std::size_t>(n_));
    for (std::int64_t j = 0; j < n_; ++j) w[j] = kept(i, j) ? a_(i, j) : Wide<T>(0);
    w[i] += amount_;
    for (std::int64_t p = 0; p < i; ++p) {
      if (!kept(i, p)) continue;
      const Wide<T> m = (icc() ? made_.U(p, i) : w[p]) / made_.U(p, p);
      made_.L(i, p) = m;
      for (std::int64_t j = p + 1; j < n_; ++j)
        if (kept(i, j)) w[j] -= m * made_.U(p, j);
    }
    for (std::int64_t j = i; j < n_; ++j) made_.U(i, j) = w[j];
    made_.L(i, i) = 1;
  }

  enum class Check { pass, restart, fail };

  Check check_pivot(std::int64_t i, int* repaired)
  {
    long double rs = 0;
    for (std::int64_t j = 0; j < n_; ++j) {
      if (j < i && !icc()) rs += std::abs(made_.L(i, j));
      if (j > i) rs += std::abs(made_.U(i, j));
    }
    pivot_row_ = i;
    const long double absolute = rule_.zero_pivot, relative = rule_.zero_pivot * rs;
    Wide<T>& pivot = made_.U(i, i);
    switch (rule_.shift) {
      case Shift::none: return std::abs(pivot) <= absolute ? Check::fail : Check::pass;
      case Shift::inblocks:
        if (std::abs(pivot) <= absolute) {
          pivot += rule_.shift_amount;
          ++*repaired;
        }
        return Check::pass;
      case Shift::nonzero:
        if (std::abs(pivot) > relative) return Check::pass;
        amount_ = shifts_ == 0 ? static_cast<long double>(rule_.shift_amount) : 2 * amount_;
        ++shifts_;
        return Check::restart;
      case Shift::positive_definite: break;
    }
    if (std::real(pivot) > relative) return Check::pass;
    if (shifts_ != 5) low_ = fraction_;
    set_fraction(shifts_ == 5 ? high_ : (low_ + high_) / 2);
    return Check::restart;
  }

  void set_fraction(long double fraction)
  {
    fraction_ = fraction;
    amount_ = fraction * top_;
    ++shifts_;
  }

  const FactorTask<T, I>& task_;
  PivotRule rule_;
  I n_;
  Dense<Wide<T>> a_;
  OracleFactor<T> made_;
  std::int64_t pivot_row_ = -1;
  int shifts_ = 0;
  long double amount_ = 0, fraction_ = 0, low_ = 0, high_ = 1, top_ = 0;
};

/// Computes the factor of a task by definition. Cost O(n^3).
template <class T, class I> OracleFactor<T> oracle_factor(const FactorTask<T, I>& task, const PivotRule& rule)
{
  return FactorOracle<T, I>(task, rule).run();
}

/// Converts a factor to dense matrices; entries outside the pattern are 0.
template <class T, class I>
OracleFactor<T> make_dense(const FactorPattern<I>& pattern, const FactorValues<T>& values)
{
  OracleFactor<T> dense(pattern.n);
  for (I i = 0; i < pattern.n; ++i) {
    dense.L(i, i) = 1;
    dense.U(i, i) = Wide<T>(1) / widen(values.inverse_pivot[i]);
    dense.level(i, i) = 0;
    for (I k = pattern.lower_begin[i]; k < pattern.lower_begin[i + 1]; ++k) {
      dense.L(i, pattern.lower_column[k]) = widen(values.lower[k]);
      dense.level(i, pattern.lower_column[k]) = 0;
    }
    for (I k = pattern.upper_begin[i]; k < pattern.upper_begin[i + 1]; ++k) {
      dense.U(i, pattern.upper_column[k]) = widen(values.upper[k]);
      dense.level(i, pattern.upper_column[k]) = 0;
    }
  }
  return dense;
}

template <class W> long double largest(const Dense<W>& A)
{
  long double most = 0;
  for (const W& v : A.a) most = std::max<long double>(most, std::abs(v));
  return most;
}

template <class W> std::string compare(const char* name, const Dense<W>& made, const Dense<W>& truth, double tolerance)
{
  const long double bound = tolerance * largest(truth);
  for (std::int64_t i = 0; i < truth.n; ++i)
    for (std::int64_t j = 0; j < truth.n; ++j)
      if (!(std::abs(made(i, j) - truth(i, j)) <= bound))
        return std::string(name) + "(" + std::to_string(i) + "," + std::to_string(j) + ") is off by " +
               std::to_string(static_cast<double>(std::abs(made(i, j) - truth(i, j)) / largest(truth)));
  return {};
}

/// Returns an empty string if the patterns are equal and values agree within tolerance times the largest of each
/// triangle.
template <class T> std::string difference(const OracleFactor<T>& made, const OracleFactor<T>& truth, double tolerance)
{
  for (std::int64_t i = 0; i < truth.level.n; ++i)
    for (std::int64_t j = 0; j < truth.level.n; ++j)
      if ((made.level(i, j) < truth.absent) != (truth.level(i, j) < truth.absent))
        return "entry (" + std::to_string(i) + "," + std::to_string(j) + ") is in one pattern only";
  const std::string lower = compare("L", made.L, truth.L, tolerance);
  return lower.empty() ? compare("U", made.U, truth.U, tolerance) : lower;
}

}  // namespace syncfree
