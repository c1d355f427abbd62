/// Implements relaxation.hpp on CPU threads. With L and U the scaled triangles, s the scaled right-hand side and
/// r = s - L x, where x is new:
///   forward    (I + L) x = s + (1 - omega) x_old - U x_old
///   backward   (I + U) x = r + (1 - omega) x_old

#include "syncfree/relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>
#include <string>

#include "core/pattern/pattern_copy.hpp"
#include "core/schedule/row_chunks.hpp"
#include "core/support/instantiate.hpp"
#include "solves.hpp"
#include "syncfree/call_guard.hpp"
#include "syncfree/strategy.hpp"
#include "syncfree/threads.hpp"
#include "team_monitor.hpp"

namespace syncfree {
namespace {

/// Inverts an n x n matrix, stored by rows, in place, by Gauss-Jordan elimination with row exchanges; `place` has n
/// entries. Returns false if the matrix is singular.
template <class T> bool invert(T* a, std::size_t n, std::size_t* place)
{
  bool regular = true;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t p = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[i * n + k]) > std::abs(a[p * n + k])) p = i;
    place[k] = p;
    if (p != k) std::swap_ranges(a + k * n, a + (k + 1) * n, a + p * n);
    regular = regular && std::abs(a[k * n + k]) != 0;  // a NaN after an overflow is not a zero
    const T inverse = T(1) / a[k * n + k];
    a[k * n + k] = T(1);
    for (std::size_t j = 0; j < n; ++j) a[k * n + j] *= inverse;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const T factor = a[i * n + k];
      a[i * n + k] = T(0);
      for (std::size_t j = 0; j < n; ++j) a[i * n + j] -= multiply(factor, a[k * n + j]);
    }
  }
  for (std::size_t k = n; k-- > 0;)
    for (std::size_t i = 0; i < n && place[k] != k; ++i) std::swap(a[i * n + k], a[i * n + place[k]]);
  return regular;
}

/// An inode: its rows [begin, end), and the offset of the inverse of its diagonal block, stored by rows.
template <class I> struct Node {
  I begin, end;
  std::size_t inverse;

  std::size_t row_count() const { return static_cast<std::size_t>(end - begin); }
};

/// Result of one analysis; it is never moved, because its parts refer to each other.
template <class T, class I> struct Sweeps {
  I nnz = 0;  ///< of A
  FactorPattern<I> pattern;         ///< A without its diagonal blocks
  std::vector<Node<I>> node;        ///< empty if each row is its own inode
  std::vector<std::size_t> place;   ///< work array with the size of the largest inode
  Array<T> inverse;                 ///< of the diagonal blocks, times omega
  FactorValues<T> values;           ///< of the scaled rows; pivots are 1
  std::unique_ptr<FactorSolves<T, I>> solves;
  std::vector<T> right, rest;       ///< s and r
  Choice choice;
  bool is_auto = false;  ///< `auto` on one thread
  int threads = 1;       ///< of the solves
  TeamMonitor watch;       ///< monitors sweeps if `auto` has chosen
  double omega = 1;
};

template <class I> Status check_nodes(const PatternView<I>& A, const std::vector<I>& begin)
{
  if (begin.empty()) return {};
  const bool ascend = std::adjacent_find(begin.begin(), begin.end(), std::greater_equal<>()) == begin.end();
  if (!ascend || begin.front() != 0 || begin.back() != A.n)
    return failed(Code::invalid_argument, "first rows of nodes must ascend from 0 to " + std::to_string(A.n));
  for (std::size_t k = 1; k < begin.size(); ++k) {
    const I first = A.row_begin[begin[k - 1]], count = A.row_begin[begin[k - 1] + 1] - first;
    for (I row = begin[k - 1]; row < begin[k]; ++row)
      if (A.row_begin[row + 1] - A.row_begin[row] != count ||
          !std::equal(A.column + first, A.column + first + count, A.column + A.row_begin[row]))
        return failed(Code::invalid_argument, "the columns of row " + std::to_string(row) + " differ from those of " +
                                                  "row " + std::to_string(begin[k - 1]) + " of its node");
  }
  return {};
}

template <class T, class I> class HostRelaxation : public Relaxation<T, I> {
public:
  Status analyse(PatternView<I> A, const std::vector<I>& node_begin, const SolverOptions& options) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    sweeps_.reset();
    has_numbers_ = false;
    Status status = check_threads(options.threads);
    if (status.ok()) status = check_pattern(A, options.threads);
    if (status.ok()) status = check_nodes(A, node_begin);
    if (!status.ok()) return status;
    auto made = std::make_unique<Sweeps<T, I>>();
    made->nnz = A.nnz();
    make_nodes(A, node_begin, made.get());
    status = split_at_diagonal(A, made.get());
    if (!status.ok()) return status;
    made->right.resize(A.n), made->rest.resize(A.n);
    status = make_solves(options, made.get());
    if (!status.ok()) return status;
    made->threads = made->solves->describe_factor().threads;
    sweeps_ = std::move(made);
    return status;
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status has_pattern(PatternView<I> A, const std::vector<I>& node_begin, bool* same) override
  try {
    *same = sweeps_ && is_made_of(*sweeps_, A, node_begin);
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status refresh(CsrView<T, I> A, double omega, double shift, double least) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    if (!sweeps_) return failed(Code::invalid_argument, "refresh() was called before analyse()");
    has_numbers_ = false;
    if (A.pattern.n != sweeps_->pattern.n || A.pattern.nnz() != sweeps_->nnz) return failed(Code::another_pattern);
    const I other = find_row_of_other_length(A.pattern);
    if (other >= 0) return failed(Code::another_pattern, other);
    Sweeps<T, I>& s = *sweeps_;
    const I row = first_not_finite(A);
    if (row >= 0) return not_finite_in_matrix(row);
    s.omega = omega;
    const I bad = s.node.empty() ? scale_rows(A, shift, least) : scale_nodes(A, shift, least);
    const Status status = s.solves->update_factor(s.values);
    has_numbers_ = status.ok();
    return status.ok() && bad >= 0 ? failed(Code::zero_pivot, bad) : status;
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status relax(Sweep sweep, bool from_zero, I times, const T* b, T* x) override
  {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    if (!has_numbers_) return failed(Code::invalid_argument, "relax() was called before refresh()");
    TeamMonitor& watch = sweeps_->watch;
    if (!watch.watches() || times < 1) {
      relax_all(sweep, from_zero, times, b, x);
      return {};
    }
    const auto begin = team_clock();
    relax_all(sweep, from_zero, times, b, x);
    const double one = (team_clock() - begin) / static_cast<double>(times) / (sweep == Sweep::symmetric ? 2 : 1);
    if (watch.record_apply(one)) {
      sweeps_->solves->solve_alone(watch.works_alone());
      sweeps_->threads = sweeps_->solves->describe_factor().threads;
    }
    return {};
  }

  Summary summarize() const override
  {
    Summary made;
    if (!sweeps_) return made;
    const Sweeps<T, I>& s = *sweeps_;
    const Description solves = s.solves->describe_factor();
    made.strategy = solves.strategy;
    made.reason = s.watch.has_fallen_back() ? s.choice.reason + s.watch.reason() : s.choice.reason;
    made.threads = solves.threads;
    made.lower_nnz = static_cast<std::int64_t>(s.pattern.lower_column.size());
    made.upper_nnz = static_cast<std::int64_t>(s.pattern.upper_column.size());
    made.factor_bytes = s.solves->bytes_of_values() + s.inverse.size() * sizeof(T) +
                        (s.pattern.lower_begin.size() + s.pattern.upper_begin.size() + s.pattern.lower_column.size() +
                         s.pattern.upper_column.size()) * sizeof(I);
    made.plan_bytes = solves.bytes + (s.right.size() + s.rest.size()) * sizeof(T) + s.node.size() * sizeof(Node<I>);
    return made;
  }

  Choice choice_with(int threads) const override
  try {
    Choice choice;
    double seconds;
    if (!sweeps_ || !sweeps_->is_auto) return choice;
    if (!choose_for_sweeps(sweeps_->pattern, threads, &choice, &seconds).ok()) choice = {};
    return choice;
  } catch (const std::bad_alloc&) {
    return {};
  }

  bool fell_back() const override { return sweeps_ && sweeps_->watch.has_fallen_back(); }

private:
  static void make_nodes(const PatternView<I>& A, const std::vector<I>& begin, Sweeps<T, I>* s)
  {
    std::size_t inverse = 0, largest = 0;
    for (std::size_t k = 0; k + 1 < begin.size(); ++k) {
      s->node.push_back({begin[k], begin[k + 1], inverse});
      inverse += s->node.back().row_count() * s->node.back().row_count();
      largest = std::max(largest, s->node.back().row_count());
    }
    s->place.resize(largest);
    s->inverse.resize(s->node.empty() ? static_cast<std::size_t>(A.n) : inverse);
  }

  static bool is_made_of(const Sweeps<T, I>& s, const PatternView<I>& A, const std::vector<I>& node_begin)
  {
    if (A.n != s.pattern.n || A.nnz() != s.nnz) return false;
    if (s.node.empty() && node_begin.empty())
      return all_rows(A.n, worthwhile_threads(s.nnz, s.threads),
                      [&](I row) { return is_row_of(s.pattern, A, row, row, row + 1); });
    if (s.node.size() + 1 != node_begin.size()) return false;
    for (std::size_t k = 0; k < s.node.size(); ++k)
      if (s.node[k].begin != node_begin[k]) return false;
    bool same = true;
    for_rows(A.n, s, [&](I row, I begin, I end) { same = same && is_row_of(s.pattern, A, row, begin, end); });
    return same;
  }

  /// The first row whose length differs from the analysed one, so that A's values would be read out of range; -1 if
  /// none.
  I find_row_of_other_length(const PatternView<I>& A) const
  {
    const FactorPattern<I>& p = sweeps_->pattern;
    I found = -1;
    for_rows(A.n, *sweeps_, [&](I row, I begin, I end) {
      const I length = p.lower_begin[row + 1] - p.lower_begin[row] + (end - begin) +
                       (p.upper_begin[row + 1] - p.upper_begin[row]);
      if (A.row_begin[row + 1] - A.row_begin[row] != length && found < 0) found = row;
    });
    return found;
  }

  /// Calls body(row, first row of its inode, one past the inode's last row) for all rows in order.
  template <class Body> static void for_rows(I n, const Sweeps<T, I>& s, Body body)
  {
    if (s.node.empty())
      for (I row = 0; row < n; ++row) body(row, row, row + 1);
    for (const Node<I>& node : s.node)
      for (I row = node.begin; row < node.end; ++row) body(row, node.begin, node.end);
  }

  static Status split_at_diagonal(const PatternView<I>& A, Sweeps<T, I>* s)
  {
    FactorPattern<I>& p = s->pattern;
    p.n = A.n;
    p.lower_begin.resize(static_cast<std::size_t>(A.n) + 1), p.upper_begin.resize(static_cast<std::size_t>(A.n) + 1);
    p.lower_begin[0] = p.upper_begin[0] = 0;
    I missing = -1;
    for_rows(A.n, *s, [&](I row, I begin, I end) {
      const I *first = A.column + A.row_begin[row], *last = A.column + A.row_begin[row + 1];
      const I *diagonal = std::lower_bound(first, last, begin), *behind = std::lower_bound(diagonal, last, end);
      if (behind - diagonal != end - begin && missing < 0) missing = row;
      p.lower_begin[row + 1] = p.lower_begin[row] + static_cast<I>(diagonal - first);
      p.upper_begin[row + 1] = p.upper_begin[row] + static_cast<I>(last - behind);
    });
    if (missing >= 0) return failed(Code::missing_diagonal, missing);
    p.lower_column.resize(p.lower_begin[A.n]), p.upper_column.resize(p.upper_begin[A.n]);
    for (I row = 0; row < A.n; ++row) {
      const I lower = p.lower_begin[row + 1] - p.lower_begin[row], upper = p.upper_begin[row + 1] - p.upper_begin[row];
      std::copy_n(A.column + A.row_begin[row], lower, p.lower_column.begin() + p.lower_begin[row]);
      std::copy_n(A.column + A.row_begin[row + 1] - upper, upper, p.upper_column.begin() + p.upper_begin[row]);
    }
    s->values.lower.resize(p.lower_column.size()), s->values.upper.resize(p.upper_column.size());
    s->values.inverse_pivot.assign(static_cast<std::size_t>(A.n), T(1));
    return {};
  }

  /// The choice of `auto`, and the estimated time of a sweep on one thread: a solve and a product.
  static Status choose_for_sweeps(const FactorPattern<I>& pattern, int threads, Choice* choice, double* seconds)
  {
    ChoiceInput input;
    input.nnz = static_cast<std::int64_t>(pattern.lower_column.size() + pattern.upper_column.size());
    input.threads = threads;
    RowChunks<I> chunks;
    if (threads > 1) {
      const Status status = make_row_chunks(pattern.lower(), true, threads, &chunks);
      if (!status.ok()) return status;
      input.blocks_speedup = chunks.speedup;
    }
    *choice = choose_strategy(input);
    *seconds = 2 * chunks.serial_seconds;
    return {};
  }

  static Status make_solves(SolverOptions options, Sweeps<T, I>* s)
  {
    s->choice = {options.strategy, "forced"};
    if (options.strategy == "auto") {
      double seconds = 0;
      const Status status = choose_for_sweeps(s->pattern, options.threads, &s->choice, &seconds);
      if (!status.ok()) return status;
      s->is_auto = options.threads == 1;
      if (s->choice.strategy != "serial") s->watch.start_watching(seconds);
    }
    options.strategy = s->choice.strategy;
    options.single_storage = false;
    return make_factor_solves(s->pattern, options, &s->solves);
  }

  /// The first row that holds a NaN or an infinity, -1 if there is none. The serial search runs only after a failure.
  I first_not_finite(const CsrView<T, I>& A) const
  {
    const I nnz = A.pattern.nnz();
    bool finite = true;
#pragma omp parallel for num_threads(sweeps_->threads) schedule(static) reduction(&& : finite) if (sweeps_->threads > 1)
    for (I k = 0; k < nnz; ++k) finite = finite && is_finite(A.value[k]);
    if (finite) return -1;
    const T* first = std::find_if(A.value, A.value + nnz, [](const T& v) { return !is_finite(v); });
    const I *begin = A.pattern.row_begin, *end = begin + A.pattern.n + 1;
    return static_cast<I>(std::upper_bound(begin, end, static_cast<I>(first - A.value)) - begin - 1);
  }

  /// Computes the scaled rows. Returns the first row whose diagonal is zero or too small, or -1.
  I scale_rows(const CsrView<T, I>& A, double shift, double least)
  {
    Sweeps<T, I>& s = *sweeps_;
    const FactorPattern<I>& p = s.pattern;
    I bad = -1;
    for (I row = 0; row < p.n; ++row) {
      const T* value = A.value + A.pattern.row_begin[row];
      const I lower = p.lower_begin[row + 1] - p.lower_begin[row];
      const T diagonal = value[lower] + T(static_cast<real_t<T>>(shift));
      if (bad < 0 && (std::abs(diagonal) == 0 || std::abs(diagonal) < least)) bad = row;
      const T inverse = T(static_cast<real_t<T>>(s.omega)) / diagonal;
      s.inverse[row] = inverse;
      T* to = s.values.lower.data() + p.lower_begin[row];
      for (I k = 0; k < lower; ++k) to[k] = multiply(inverse, value[k]);
      const I upper = p.upper_begin[row + 1] - p.upper_begin[row];
      to = s.values.upper.data() + p.upper_begin[row];
      for (I k = 0; k < upper; ++k) to[k] = multiply(inverse, value[lower + 1 + k]);
    }
    return bad;
  }

  I scale_nodes(const CsrView<T, I>& A, double shift, double least)
  {
    Sweeps<T, I>& s = *sweeps_;
    I bad = -1;
    for (const Node<I>& node : s.node) {
      const std::size_t size = node.row_count();
      const I lower = s.pattern.lower_begin[node.begin + 1] - s.pattern.lower_begin[node.begin];
      T* inverse = s.inverse.data() + node.inverse;
      for (std::size_t i = 0; i < size; ++i) {
        const I row = node.begin + static_cast<I>(i);
        std::copy_n(A.value + A.pattern.row_begin[row] + lower, size, inverse + i * size);
        inverse[i * size + i] += T(static_cast<real_t<T>>(shift));
      }
      const bool small = size == 1 && std::abs(inverse[0]) < least;
      const bool regular = invert(inverse, size, s.place.data()) && !small;
      if (!regular && bad < 0) bad = node.begin;
      for (std::size_t k = 0; k < size * size; ++k) inverse[k] *= static_cast<real_t<T>>(s.omega);
      scale_node(A, node, 0, s.pattern.lower_begin, &s.values.lower);
      scale_node(A, node, lower + static_cast<I>(size), s.pattern.upper_begin, &s.values.upper);
    }
    return bad;
  }

  /// Scales the triangle's entries of the inode's rows; in A they start at entry `first` of each row.
  void scale_node(const CsrView<T, I>& A, const Node<I>& node, I first, const Array<I>& begin, Array<T>* to) const
  {
    const std::size_t size = node.row_count();
    const T* inverse = sweeps_->inverse.data() + node.inverse;
    const I count = begin[node.begin + 1] - begin[node.begin];
    for (std::size_t i = 0; i < size; ++i)
      for (I k = 0; k < count; ++k) {
        T sum(0);
        for (std::size_t j = 0; j < size; ++j)
          sum += multiply(inverse[i * size + j], value_of(A, node.begin + static_cast<I>(j), first + k));
        (*to)[begin[node.begin + static_cast<I>(i)] + k] = sum;
      }
  }

  static const T& value_of(const CsrView<T, I>& A, I row, I k) { return A.value[A.pattern.row_begin[row] + k]; }

  /// Computes s = omega (D + shift)^-1 b.
  void scale(const T* b)
  {
    Sweeps<T, I>& s = *sweeps_;
    if (s.node.empty()) return for_each([&](I row) { s.right[row] = multiply(s.inverse[row], b[row]); });
    for (const Node<I>& node : s.node)
      for (std::size_t i = 0; i < node.row_count(); ++i) {
        T sum(0);
        for (std::size_t j = 0; j < node.row_count(); ++j)
          sum += multiply(s.inverse[node.inverse + i * node.row_count() + j], b[node.begin + static_cast<I>(j)]);
        s.right[node.begin + static_cast<I>(i)] = sum;
      }
  }

  /// A symmetric sweep from x = 0; after its forward sweep r = x.
  void symmetric_from_zero(T* x)
  {
    Sweeps<T, I>& s = *sweeps_;
    s.solves->solve_factor(Triangle::lower, s.right.data(), x, one(), false);
    if (s.omega != 1) for_each([&](I row) { x[row] = multiply(T(1) + old_part(), x[row]); });
    s.solves->solve_factor(Triangle::upper, x, x, one(), false);
  }

  /// Forward sweep; leaves r in `rest`.
  void forward(bool from_zero, T* x)
  {
    Sweeps<T, I>& s = *sweeps_;
    if (from_zero) {
      s.solves->solve_factor(Triangle::lower, s.right.data(), x, one(), false);
      return for_each([&](I row) { s.rest[row] = x[row]; });
    }
    const PatternView<I> U = s.pattern.upper();
    for_each([&](I row) { s.rest[row] = product_of(U, s.values.upper, row, x) - multiply(old_part(), x[row]); });
    for_each([&](I row) { x[row] = s.right[row] - s.rest[row]; });
    s.solves->solve_factor(Triangle::lower, x, x, one(), false);
    for_each([&](I row) { s.rest[row] += x[row]; });
  }

  void rest_of_right(bool from_zero, const T* x)
  {
    Sweeps<T, I>& s = *sweeps_;
    const PatternView<I> L = s.pattern.lower();
    if (from_zero) for_each([&](I row) { s.rest[row] = s.right[row]; });
    else for_each([&](I row) { s.rest[row] = s.right[row] - product_of(L, s.values.lower, row, x); });
  }

  void backward(bool from_zero, T* x)
  {
    Sweeps<T, I>& s = *sweeps_;
    if (!from_zero) for_each([&](I row) { s.rest[row] += multiply(old_part(), x[row]); });
    s.solves->solve_factor(Triangle::upper, s.rest.data(), x, one(), false);
  }

  T old_part() const { return T(static_cast<real_t<T>>(1 - sweeps_->omega)); }
  Columns<I> one() const { return {1, sweeps_->pattern.n, sweeps_->pattern.n}; }

  static T product_of(const PatternView<I>& P, const Array<T>& value, I row, const T* x)
  {
    T sum(0);
    for (I k = P.row_begin[row]; k < P.row_begin[row + 1]; ++k) sum += multiply(value[k], x[P.column[k]]);
    return sum;
  }

  void relax_all(Sweep sweep, bool from_zero, I times, const T* b, T* x)
  {
    scale(b);
    for (I t = 0; t < times; ++t, from_zero = false) {
      if (from_zero && sweep == Sweep::symmetric) {
        symmetric_from_zero(x);
        continue;
      }
      if (sweep != Sweep::backward) forward(from_zero, x);
      else rest_of_right(from_zero, x);
      if (sweep != Sweep::forward) backward(from_zero && sweep == Sweep::backward, x);
    }
  }

  /// Calls body(row) for all rows, on several threads if the solves use several.
  template <class Body> void for_each(const Body& body) const
  {
    const I n = sweeps_->pattern.n;
    if (sweeps_->threads == 1) {
      for (I row = 0; row < n; ++row) body(row);
      return;
    }
#pragma omp parallel for num_threads(sweeps_->threads) schedule(static)
    for (I row = 0; row < n; ++row) body(row);
  }

  std::unique_ptr<Sweeps<T, I>> sweeps_;
  bool has_numbers_ = false;
  CallGuard busy_;
};

}  // namespace

template <class T, class I> std::unique_ptr<Relaxation<T, I>> make_host_relaxation()
{
  return std::make_unique<HostRelaxation<T, I>>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<Relaxation<T, I>> make_host_relaxation<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
