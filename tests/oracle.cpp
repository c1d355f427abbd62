#include "oracle.hpp"

#include <complex>
#include <limits>
#include <sstream>

#include "syncfree/scalar.hpp"

namespace syncfree {

template <class T, class I> OwnedCsr<T, I> oracle_ilu0(const OwnedCsr<T, I>& A)
{
  OwnedCsr<T, I> F = A;
  std::vector<I> place(A.n, -1), diagonal(A.n);  // index of column j in the current row; index of (i, i)
  for (I i = 0; i < A.n; ++i) {
    for (I k = F.row_begin[i]; k < F.row_begin[i + 1]; ++k) place[F.column[k]] = k;
    diagonal[i] = place[i];
    for (I k = F.row_begin[i]; k < diagonal[i]; ++k) {
      const I p = F.column[k];
      F.value[k] = F.value[k] / F.value[diagonal[p]];
      for (I q = diagonal[p] + 1; q < F.row_begin[p + 1]; ++q)
        if (place[F.column[q]] >= 0) F.value[place[F.column[q]]] -= F.value[k] * F.value[q];
    }
    for (I k = F.row_begin[i]; k < F.row_begin[i + 1]; ++k) place[F.column[k]] = -1;
  }
  return F;
}

template <class V, class T, class I>
OwnedTriangle<V, I> take_triangle(const OwnedCsr<T, I>& A, bool lower, bool unit, bool scaled)
{
  OwnedTriangle<V, I> R;
  R.lower = lower;
  R.n = A.n;
  for (I i = 0; i < A.n; ++i) {
    T diagonal = T(1);
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] == i) diagonal = A.value[k];
    const T scale = scaled ? T(1) / T(std::abs(diagonal)) : T(1);
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
      if (lower ? A.column[k] >= i : A.column[k] <= i) continue;
      R.column.push_back(A.column[k]);
      R.value.push_back(static_cast<V>(A.value[k] * scale));
    }
    R.row_begin.push_back(static_cast<I>(R.column.size()));
    if (!unit) R.inverse_diagonal.push_back(static_cast<V>(T(1) / diagonal));
  }
  return R;
}

template <class T, class V, class I>
Solution<T> oracle_solve(const TriangleView<V, I>& triangle, const T* b, bool conjugated)
{
  const PatternView<I>& pattern = triangle.pattern;
  const double unit_roundoff = std::numeric_limits<real_t<T>>::epsilon() / 2 * (is_complex_v<T> ? 4 : 1);
  const double least = std::numeric_limits<real_t<T>>::min();
  const auto number = [=](const V& v) { return conjugated ? conjugate(static_cast<T>(v)) : static_cast<T>(v); };
  Solution<T> solution{std::vector<T>(pattern.n), std::vector<double>(pattern.n)};
  for (I step = 0; step < pattern.n; ++step) {
    const I i = triangle.lower ? step : pattern.n - 1 - step;
    T sum = b[i];
    double inherited = 0, size = std::abs(b[i]);
    for (I k = pattern.row_begin[i]; k < pattern.row_begin[i + 1]; ++k) {
      const T l = number(triangle.value[k]);
      const I j = pattern.column[k];
      sum = sum - l * solution.x[j];
      inherited += std::abs(l) * solution.bound[j];
      size += static_cast<double>(std::abs(l)) * std::abs(solution.x[j]);
    }
    const T d = triangle.inverse_diagonal ? number(triangle.inverse_diagonal[i]) : T(1);
    solution.x[i] = triangle.inverse_diagonal ? sum * d : sum;
    const double entries = static_cast<double>(pattern.row_begin[i + 1] - pattern.row_begin[i]);
    solution.bound[i] = std::abs(d) * (inherited + (entries + 3) * (unit_roundoff * size + least)) + least;
  }
  return solution;
}

template <class T> std::string difference(const T* x, const Solution<T>& solution)
{
  for (std::size_t i = 0; i < solution.x.size(); ++i) {
    const bool finite = is_finite(x[i]);
    if (!finite && !is_finite(solution.x[i])) continue;
    const double error = std::abs(x[i] - solution.x[i]);
    if (finite && error <= 2.02 * solution.bound[i]) continue;  // each of two solves may differ by the bound
    std::ostringstream text;
    text.precision(17);
    text << "row " << i << " of " << solution.x.size() << " is " << x[i] << " instead of " << solution.x[i]
         << ", allowed difference " << 2 * solution.bound[i];
    return text.str();
  }
  return "";
}

#define INSTANTIATE_SOLVE(T, V, I)                                                                       \
  template OwnedTriangle<V, I> take_triangle<V, T, I>(const OwnedCsr<T, I>&, bool, bool, bool);          \
  template Solution<T> oracle_solve<T, V, I>(const TriangleView<V, I>&, const T*, bool);
#define INSTANTIATE(T, I)                                               \
  template OwnedCsr<T, I> oracle_ilu0<T, I>(const OwnedCsr<T, I>&);        \
  INSTANTIATE_SOLVE(T, T, I)
#define INSTANTIATE_INDEX(I)                                                  \
  INSTANTIATE(float, I)                                                \
  INSTANTIATE(double, I)                                               \
  INSTANTIATE(std::complex<float>, I)                    \
  INSTANTIATE(std::complex<double>, I)                   \
  INSTANTIATE_SOLVE(double, float, I)                                         \
  INSTANTIATE_SOLVE(std::complex<double>, std::complex<float>, I)
INSTANTIATE_INDEX(std::int32_t)
INSTANTIATE_INDEX(std::int64_t)

template std::string difference<float>(const float*, const Solution<float>&);
template std::string difference<double>(const double*, const Solution<double>&);
template std::string difference<std::complex<float>>(const std::complex<float>*, const Solution<std::complex<float>>&);
template std::string difference<std::complex<double>>(const std::complex<double>*,
                                                      const Solution<std::complex<double>>&);

}  // namespace syncfree
