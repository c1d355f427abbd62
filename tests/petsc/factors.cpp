/* Implements factors.hpp. */

#include "factors.hpp"

#include <algorithm>
#include <limits>

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void require(bool condition, const std::string& message)
{
  if (!condition) throw std::runtime_error(message);
}

void append(Rows& rows, const PetscInt* column, const PetscScalar* value, PetscInt count)
{
  rows.column.insert(rows.column.end(), column, column + count);
  rows.value.insert(rows.value.end(), value, value + count);
  rows.begin.push_back((PetscInt)rows.column.size());
}

Rows whole_matrix(Mat A)
{
  const PetscInt *begin, *column;
  const PetscScalar* value;
  const PetscInt n = rows(A);
  Rows all;
  ok(MatSeqAIJGetCSRAndMemType(A, &begin, &column, nullptr, nullptr));
  ok(MatSeqAIJGetArrayRead(A, &value));
  for (PetscInt i = 0; i < n; ++i) append(all, column + begin[i], value + begin[i], begin[i + 1] - begin[i]);
  ok(MatSeqAIJRestoreArrayRead(A, &value));
  return all;
}

/* (error + |x| pivot_error) / |pivot|; infinite if the pivot may be zero */
double divided(double error, const PetscScalar& x, const PetscScalar& pivot, double pivot_error)
{
  const double room = magnitude(pivot) - pivot_error;
  if (!(room > 0)) return infinity;
  return (error + magnitude(x) * pivot_error) / room + 3 * eps * magnitude(x);
}

}  // namespace

/* The rows of L in order, then the rows of U from the last to the first, each with its inverted diagonal at the end. */
Factor read_petsc_ilu(Mat F)
{
  const PetscInt *begin, *column;
  const PetscScalar* value;
  Factor f;
  f.n = rows(F);
  ok(MatSeqAIJGetCSRAndMemType(F, &begin, &column, nullptr, nullptr));
  ok(MatSeqAIJGetArrayRead(F, &value));
  for (PetscInt i = 0; i < f.n; ++i) append(f.lower, column + begin[i], value + begin[i], begin[i + 1] - begin[i]);
  std::vector<PetscInt> from((std::size_t)f.n), to((std::size_t)f.n);
  PetscInt k = f.n > 0 ? begin[f.n] : 0;
  for (PetscInt i = f.n - 1; i >= 0; --i) {
    from[(std::size_t)i] = k;
    while (column[k] != i) ++k;
    to[(std::size_t)i] = k++;
  }
  for (PetscInt i = 0; i < f.n; ++i) {
    const PetscInt a = from[(std::size_t)i], b = to[(std::size_t)i];
    append(f.upper, column + a, value + a, b - a);
    f.pivot.push_back(PetscScalar(1.0) / value[b]);
  }
  ok(MatSeqAIJRestoreArrayRead(F, &value));
  return f;
}

/* Row i contains -U(i, j) for U with unit diagonal, then 1 / D(i); L = U^T and our upper triangle is D U. */
Factor read_petsc_icc(Mat F, const Factor& like)
{
  PetscScalar* value;
  MatInfo info;
  Factor f = like;
  ok(MatGetInfo(F, MAT_LOCAL, &info));
  require((std::size_t)info.nz_used == like.upper.column.size() + like.pivot.size(),
          "PETSc's ICC factor has " + std::to_string((long long)info.nz_used) + " entries, ours " +
              std::to_string(like.upper.column.size() + like.pivot.size()));
  std::vector<PetscInt> next(f.lower.begin.begin(), f.lower.begin.end());
  ok(MatSeqSBAIJGetArray(F, &value));
  std::size_t k = 0;
  for (PetscInt i = 0; i < f.n; ++i) {
    const std::size_t a = (std::size_t)f.upper.begin[(std::size_t)i],
                      b = (std::size_t)f.upper.begin[(std::size_t)i + 1];
    const PetscScalar d = PetscScalar(1.0) / value[k + b - a];
    for (std::size_t p = a; p < b; ++p, ++k) {
      const auto row = (std::size_t)f.upper.column[p];
      const auto q = (std::size_t)next[row]++;
      require(q < (std::size_t)f.lower.begin[row + 1] && f.lower.column[q] == i, "our L is not the transpose of our U");
      f.lower.value[q] = -value[k];
      f.upper.value[p] = -value[k] * d;
    }
    f.pivot[(std::size_t)i] = d;
    ++k;
  }
  ok(MatSeqSBAIJRestoreArray(F, &value));
  return f;
}

Factor read_ours(Mat F)
{
  MatOwner L, U;
  ok(MatSyncFreeGetFactors(F, L.out(), U.out()));
  const Rows l = whole_matrix(L), u = whole_matrix(U);
  Factor f;
  f.n = rows(F);
  require(l.count() == f.n && u.count() == f.n, "L and U do not have the factor's size");
  for (PetscInt i = 0; i < f.n; ++i) {
    const PetscInt a = l.begin[(std::size_t)i], b = l.begin[(std::size_t)i + 1];
    const PetscInt c = u.begin[(std::size_t)i], d = u.begin[(std::size_t)i + 1];
    const auto row = " of row " + std::to_string((long long)i);
    require(b > a && l.column[(std::size_t)b - 1] == i && l.value[(std::size_t)b - 1] == PetscScalar(1.0),
            "L: no unit at the end" + row);
    require(d > c && u.column[(std::size_t)c] == i, "U: no diagonal at the start" + row);
    require(std::is_sorted(l.column.begin() + a, l.column.begin() + b), "L: columns do not ascend" + row);
    require(std::is_sorted(u.column.begin() + c, u.column.begin() + d), "U: columns do not ascend" + row);
    append(f.lower, l.column.data() + a, l.value.data() + a, b - a - 1);
    append(f.upper, u.column.data() + c + 1, u.value.data() + c + 1, d - c - 1);
    f.pivot.push_back(u.value[(std::size_t)c]);
  }
  return f;
}

/*
  c(i, j) = a(i, j) - sum of l(i, k) u(k, j) over k < min(i, j). With S the sum of the moduli, |a| <= |c| + S, and
  each of the m additions rounds a value of at most |c| + 2 S.
*/
void bound_errors(Factor& f, double relative)
{
  const auto n = (std::size_t)f.n;
  std::vector<double> moduli(n), passed(n), terms(n);
  f.lower.error.assign(f.lower.column.size(), 0.0);
  f.upper.error.assign(f.upper.column.size(), 0.0);
  f.pivot_error.assign(n, 0.0);

  const auto accumulated = [&](std::size_t j, double c) {
    return passed[j] + (terms[j] + 4) * eps * (c + 2 * moduli[j]);
  };
  const auto eliminate = [&](std::size_t p) {
    const auto k = (std::size_t)f.lower.column[p];
    const double l = magnitude(f.lower.value[p]), l_error = f.lower.error[p];
    for (auto q = (std::size_t)f.upper.begin[k]; q < (std::size_t)f.upper.begin[k + 1]; ++q) {
      const auto j = (std::size_t)f.upper.column[q];
      const double u = magnitude(f.upper.value[q]);
      moduli[j] += l * u;
      passed[j] += l * f.upper.error[q] + l_error * (u + f.upper.error[q]);
      terms[j] += 1;
    }
  };

  for (std::size_t i = 0; i < n; ++i) {
    const auto a = (std::size_t)f.lower.begin[i], b = (std::size_t)f.lower.begin[i + 1];
    const auto c = (std::size_t)f.upper.begin[i], d = (std::size_t)f.upper.begin[i + 1];
    const auto clear = [&](std::size_t j) { moduli[j] = passed[j] = terms[j] = 0; };
    clear(i);
    for (auto p = a; p < b; ++p) clear((std::size_t)f.lower.column[p]);
    for (auto q = c; q < d; ++q) clear((std::size_t)f.upper.column[q]);
    for (auto p = a; p < b; ++p) {
      const auto j = (std::size_t)f.lower.column[p];
      const PetscScalar l = f.lower.value[p];
      f.lower.error[p] = divided(accumulated(j, magnitude(l * f.pivot[j])), l, f.pivot[j], f.pivot_error[j]);
      eliminate(p);
    }
    f.pivot_error[i] = accumulated(i, magnitude(f.pivot[i]));
    for (auto q = c; q < d; ++q)
      f.upper.error[q] = accumulated((std::size_t)f.upper.column[q], magnitude(f.upper.value[q]));
  }
  for (std::size_t p = 0; p < f.lower.error.size(); ++p) f.lower.error[p] += relative * magnitude(f.lower.value[p]);
  for (std::size_t p = 0; p < f.upper.error.size(); ++p) f.upper.error[p] += relative * magnitude(f.upper.value[p]);
  for (std::size_t i = 0; i < n; ++i) f.pivot_error[i] += relative * magnitude(f.pivot[i]);
}

namespace {

void compare_entry(const PetscScalar& a, double bound, const PetscScalar& b, Difference& difference)
{
  ++difference.entries;
  if (!(bound <= 0.1 * magnitude(a)) && bound > 1e-6) ++difference.vacuous;
  if (!std::isfinite(bound)) return;
  const double distance = magnitude(a - b);
  if (distance == 0 && !std::isnan(magnitude(b))) return;
  const double ratio = std::isnan(distance) ? infinity : distance / bound;
  difference.worst = std::max(difference.worst, ratio);
}

void compare_rows(const char* name, const Rows& a, const Rows& b, Difference& difference)
{
  if (a.begin != b.begin || a.column != b.column) {
    difference.where += std::string("pattern of ") + name + ": " + std::to_string(a.column.size()) + " and " +
                        std::to_string(b.column.size()) + " entries; ";
    return;
  }
  for (std::size_t k = 0; k < a.value.size(); ++k) compare_entry(a.value[k], a.error[k], b.value[k], difference);
}

}  // namespace

Difference compare(const Factor& a, const Factor& b)
{
  Difference difference;
  compare_rows("L", a.lower, b.lower, difference);
  compare_rows("U", a.upper, b.upper, difference);
  if (a.n != b.n) difference.where += "sizes differ; ";
  else
    for (std::size_t i = 0; i < a.pivot.size(); ++i)
      compare_entry(a.pivot[i], a.pivot_error[i], b.pivot[i], difference);
  return difference;
}

namespace {

/* x_i = b_i - sum over the row; `divide` by the pivot afterwards */
void solve_row(const Factor& f, const Rows& t, std::size_t i, bool divide, Bounded& x)
{
  PetscScalar sum = x.value[i];
  double moduli = magnitude(sum), error = x.error[i];
  const auto a = (std::size_t)t.begin[i], b = (std::size_t)t.begin[i + 1];
  for (auto p = a; p < b; ++p) {
    const auto j = (std::size_t)t.column[p];
    const double y = magnitude(x.value[j]);
    sum -= t.value[p] * x.value[j];
    moduli += magnitude(t.value[p]) * y;
    error += (magnitude(t.value[p]) + t.error[p]) * x.error[j] + t.error[p] * y;
  }
  error += (double)(b - a + 3) * eps * 2 * moduli;
  if (divide) {
    sum /= f.pivot[i];
    error = divided(error, sum, f.pivot[i], f.pivot_error[i]);
  }
  x.value[i] = sum;
  x.error[i] = error;
}

Rows transposed(const Rows& t)
{
  const auto n = (std::size_t)t.count();
  Rows r;
  r.begin.assign(n + 1, 0);
  for (PetscInt j : t.column) ++r.begin[(std::size_t)j + 1];
  for (std::size_t i = 0; i < n; ++i) r.begin[i + 1] += r.begin[i];
  r.column.resize(t.column.size());
  r.value.resize(t.column.size());
  r.error.resize(t.column.size());
  std::vector<PetscInt> next(r.begin.begin(), r.begin.end());
  for (std::size_t i = 0; i < n; ++i)
    for (auto p = (std::size_t)t.begin[i]; p < (std::size_t)t.begin[i + 1]; ++p) {
      const auto q = (std::size_t)next[(std::size_t)t.column[p]]++;
      r.column[q] = (PetscInt)i;
      r.value[q] = t.value[p];
      r.error[q] = t.error[p];
    }
  return r;
}

Bounded solve(const Factor& f, const Rows& t, bool ascending, bool divide, Bounded x)
{
  const auto n = (std::size_t)f.n;
  for (std::size_t k = 0; k < n; ++k) solve_row(f, t, ascending ? k : n - 1 - k, divide, x);
  return x;
}

}  // namespace

Bounded solve_lower(const Factor& f, const Bounded& b) { return solve(f, f.lower, true, false, b); }
Bounded solve_upper(const Factor& f, const Bounded& b) { return solve(f, f.upper, false, true, b); }
Bounded solve_upper_transposed(const Factor& f, const Bounded& b)
{
  return solve(f, transposed(f.upper), true, true, b);
}
Bounded solve_lower_transposed(const Factor& f, const Bounded& b)
{
  return solve(f, transposed(f.lower), false, false, b);
}

Bounded times_root_of_pivots(const Factor& f, const Bounded& b, bool inverse)
{
  Bounded x = b;
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    const PetscScalar root = PetscSqrtScalar(f.pivot[i]), by = inverse ? PetscScalar(1.0) / root : root;
    const double share = f.pivot_error[i] / magnitude(f.pivot[i]) + 6 * eps;
    x.value[i] *= by;
    x.error[i] = x.error[i] * magnitude(by) + share * magnitude(x.value[i]);
  }
  return x;
}

Bounded gather(const Bounded& x, const std::vector<PetscInt>& order)
{
  Bounded y = x;
  for (std::size_t k = 0; k < order.size(); ++k) {
    y.value[k] = x.value[(std::size_t)order[k]];
    y.error[k] = x.error[(std::size_t)order[k]];
  }
  return y;
}

Bounded scatter(const Bounded& x, const std::vector<PetscInt>& order)
{
  Bounded y = x;
  for (std::size_t k = 0; k < order.size(); ++k) {
    y.value[(std::size_t)order[k]] = x.value[k];
    y.error[(std::size_t)order[k]] = x.error[k];
  }
  return y;
}

Difference compare(const Bounded& reference, const Numbers& x)
{
  Difference difference;
  if (reference.value.size() != x.size()) {
    difference.where = "sizes differ";
    return difference;
  }
  for (std::size_t i = 0; i < x.size(); ++i) compare_entry(reference.value[i], reference.error[i], x[i], difference);
  return difference;
}
