/// Strategy `merged`: consecutive levels merged into groups whose rows do not wait for each other
/// (core/merge_plan.hpp), then solved as in level order.
///
///   x_i = sum over k in P_i of p_ik b_k - sum over k in R_i of r_ik x_k
///
/// The pattern is made once on the host, the numbers of P and R in every refresh on the device, with a launch for each
/// depth in a group. What merging costs in accuracy is looked at there, too (merge_numbers.cuh); groups that lose too
/// much are made smaller, down to the levels themselves.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/instantiate.hpp"
#include "level_order.cuh"
#include "merge_numbers.cuh"
#include "merge_rule.hpp"

namespace syncfree::cuda {
namespace {

/// The backward error that a preconditioner may have, and a growth with which it has not.
template <class R> constexpr double most_error = sizeof(R) == 4 ? 1e-4 : 1e-10;
template <class R> constexpr double harmless_growth = sizeof(R) == 4 ? 30 : 1e3;

/// A merge plan on the device, with its numbers.
template <class T, class V, class I> class MergedRows {
public:
  MergedRows() = default;
  MergedRows(const MergePlan<I>& plan, int threads)
      : span_(plan.r_local.empty() && !plan.r_column.empty() ? 0 : plan.span),
        levels_(plan.depth.empty() ? 1 : 1 + *std::max_element(plan.depth.begin(), plan.depth.end())),
        groups_(plan.groups), group_(plan.group), group_begin_(plan.group_begin),
        p_begin_(plan.p_begin.data(), plan.p_begin.size()),
        p_place_(plan.p_column.data(), plan.p_column.size()), r_begin_(plan.r_begin.data(), plan.r_begin.size()),
        r_place_(plan.r_column.data(), plan.r_column.size()),
        r_local_(plan.r_local.data(), plan.r_local.size()), p_(plan.p_column.size()), r_(plan.r_column.size())
  {
    sort_places(plan.depth, threads);
  }

  /// P's columns as rows of the triangle, which are `row` by place.
  void find_rows(const I* row)
  {
    p_row_ = DeviceArray<I>(p_place_.size());
    name_rows<<<blocks_for(p_row_.size(), 256), 256>>>(p_row_.size(), row, p_place_.data(), p_row_.data());
    check_launch("name_rows");
  }

  void make_numbers(const StoredView<V, I>& A, unsigned long long* growth, cudaStream_t stream) const
  {
    if (!slots_fit()) return launch<SearchedRow, 32>(A, growth, 0, stream);
    const bool long_rows = entries() > least_long_row * static_cast<double>(group_.size());
    if (long_rows) launch<SlottedRow, 128>(A, growth, static_cast<std::uint32_t>(span_), stream);
    else launch<SlottedRow, 32>(A, growth, static_cast<std::uint32_t>(span_), stream);
  }

  MergedSide<V, I> side() const { return {p_begin_.data(), p_row_.data(), numbers(p_.data())}; }
  StoredView<V, I> rest(I n, const I* row) const
  {
    return {n, r_begin_.data(), r_place_.data(), row, numbers(r_.data()), nullptr};
  }
  I groups() const { return groups_; }
  I levels() const { return levels_; }
  double entries() const { return static_cast<double>(p_.size() + r_.size()); }
  std::size_t plan_bytes() const
  {
    return group_.bytes() + group_begin_.bytes() + order_.bytes() + p_begin_.bytes() + p_place_.bytes() +
           p_row_.bytes() + r_begin_.bytes() + r_place_.bytes() + r_local_.bytes();
  }
  std::size_t value_bytes() const { return p_.bytes() + r_.bytes(); }

private:
  static constexpr double least_long_row = 64;  ///< mean entries of rows that are made by 128 threads
  /// Bytes that a block may use, and those of a row where there are many rows: nine fit on a multiprocessor.
  static std::size_t block_bytes()
  {
    return static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) - 1024;
  }
  static constexpr std::size_t row_bytes = 24 << 10, many_rows = 50000;

  bool slots_fit() const
  {
    return span_ > 0 && span_ * sizeof(T) <= (group_.size() > many_rows ? row_bytes : block_bytes());
  }

  template <template <class, class, class, int> class Row, int lanes>
  void launch(const StoredView<V, I>& A, unsigned long long* growth, std::uint32_t span, cudaStream_t stream) const
  {
    const MergedView<V, I> view = {group_.data(), group_begin_.data(), p_begin_.data(), p_place_.data(),
                                   p_row_.data(), r_begin_.data(), r_place_.data(), r_local_.data(), span,
                                   numbers(p_.data()), numbers(r_.data())};
    const std::size_t bytes = span * sizeof(T);
    if (span) allow_shared_memory(merge_rows<T, V, I, Row, lanes>, block_bytes());
    std::size_t rows = lanes == 128 ? 1 : 4;
    if (bytes) rows = std::clamp<std::size_t>((48 << 10) / bytes, 1, rows);
    const auto threads = static_cast<unsigned>(rows) * lanes;
    for (I d = 0; d < levels_; ++d) {
      const I count = depth_begin_[d + 1] - depth_begin_[d];
      const unsigned blocks = blocks_for(static_cast<std::size_t>(count), static_cast<unsigned>(rows));
      merge_rows<T, V, I, Row, lanes><<<blocks, threads, rows * bytes, stream>>>(
          A, view, count, order_.data() + depth_begin_[d], growth);
    }
    check_launch("merge_rows");
  }

  void sort_places(const std::vector<I>& depth, int threads)
  {
    LevelSets<I> sets;
    sets.count = levels_;
    sort_by_depth(depth.data(), static_cast<I>(depth.size()), threads, &sets);
    depth_begin_ = std::move(sets.level_begin);
    order_ = DeviceArray<I>(sets.row);
  }

  std::size_t span_ = 0;  ///< 0: the plan has no local numbers
  I levels_ = 1;  ///< of the longest group
  I groups_ = 0;
  std::vector<I> depth_begin_;  ///< in order_
  DeviceArray<I> group_, group_begin_, order_, p_begin_, p_place_, p_row_, r_begin_, r_place_;
  DeviceArray<std::uint16_t> r_local_;
  DeviceArray<V> p_, r_;
};

/// 1, 4, 8 or 32 lanes for rows of so many entries, as measured on an H200.
inline int choose_lanes_of_merged(double entries)
{
  return entries <= 3 ? 1 : entries <= 8 ? 4 : entries <= 24 ? 8 : 32;
}

template <class T, class V, class I> class MergedSolver : public DeviceSolver<T, I> {
public:
  MergedSolver(const DeviceTriangle<I>& triangle, const SolverOptions& options)
      : rule_(rule_of<V, I>(options)), level_begin_(triangle.levels().level_begin), levels_(triangle.levels().count),
        entries_(static_cast<std::size_t>(triangle.nnz()) + triangle.n()),
        triangle_(triangle, level_order(triangle), true), memory_(0), work_(triangle.n()), counter_(1), reports_(2)
  {
    plan(triangle.pattern(), triangle.levels());
  }

  bool solves_in_place() const override { return false; }

  void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    if (b == x) b = copy(b, stream);
    with_lanes(lanes_, [&](auto lanes) { run<lanes>(b, x, conjugate, stream, false); });
  }
  void solve_next(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    if (b == x) return solve(b, x, conjugate, stream);
    with_lanes(lanes_, [&](auto lanes) { run<lanes>(b, x, conjugate, stream, overlaps_); });
  }

  void refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream) override
  {
    triangle_.refresh(value, inverse_diagonal, stream);
    make_numbers(stream);
    while (merged_.levels() > 1 && !is_accurate(stream)) {
      rule_.most_levels = std::isfinite(growth_) ? merged_.levels() / 2 : 1;
      plan_again();
      make_numbers(stream);
    }
  }

  std::string describe() const override
  {
    char text[160];
    int length = std::snprintf(text, sizeof text, "%lld levels in %lld groups of %lld at most, %.1f times the entries",
                               static_cast<long long>(levels_), static_cast<long long>(merged_.groups()),
                               static_cast<long long>(merged_.levels()),
                               merged_.entries() / static_cast<double>(entries_));
    length += std::snprintf(text + length, sizeof text - length, ", growth %.1e", growth_);
    if (error_ >= 0) std::snprintf(text + length, sizeof text - length, ", backward error %.1e", error_);
    return text;
  }

  std::size_t plan_bytes() const override
  {
    return triangle_.plan_bytes() + merged_.plan_bytes() + memory_.bytes() + work_.bytes() + test_.bytes();
  }
  std::size_t value_bytes() const override { return triangle_.value_bytes() + merged_.value_bytes(); }

private:
  void plan(const PatternView<I>& pattern, const LevelSets<I>& levels)
  {
    MergePlan<I> made;
    const Status status = make_merge_plan(pattern, levels, rule_, &made);
    if (!status.ok()) throw Failure{status};
    merged_ = MergedRows<T, V, I>(made, rule_.threads);
    merged_.find_rows(triangle_.view().row);
    Granularity g;
    g.rows_a_level = static_cast<double>(made.row.size()) / static_cast<double>(made.groups);
    g.entries_a_row = static_cast<double>(made.entries()) / static_cast<double>(made.row.size());
    lanes_ = choose_lanes_of_merged(g.entries_a_row);
    against_crowding_ = memory_against_crowding(g, lanes_, level_order_threads);
    with_lanes(lanes_, [&](auto lanes) {
      allow_shared_memory(solve_in_level_order<T, V, I, ValueBox, lanes, MergedSide<V, I>>, against_crowding_);
    });
    begin_count();
  }

  /// Launches are counted by their blocks, and other groups may mean another number of those.
  void begin_count()
  {
    SYNCFREE_CUDA(cudaDeviceSynchronize());
    memory_ = typename ValueBox<Number<T>>::Memory(triangle_.n());
    counter_.fill(0, nullptr);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  /// The stored triangle is its own pattern, with rows in the order of their levels.
  void plan_again()
  {
    const StoredView<V, I> A = triangle_.view();
    std::vector<I> begin(static_cast<std::size_t>(A.n) + 1), column;
    SYNCFREE_CUDA(cudaMemcpy(begin.data(), A.begin, begin.size() * sizeof(I), cudaMemcpyDeviceToHost));
    column.resize(begin.back());
    SYNCFREE_CUDA(cudaMemcpy(column.data(), A.column, column.size() * sizeof(I), cudaMemcpyDeviceToHost));
    LevelSets<I> levels;
    levels.count = levels_;
    levels.level_begin = level_begin_;
    levels.row.resize(A.n);
    std::iota(levels.row.begin(), levels.row.end(), I(0));
    plan({A.n, begin.data(), column.data()}, levels);
  }

  void make_numbers(cudaStream_t stream)
  {
    reports_.fill(0, stream);
    merged_.make_numbers(triangle_.view(), reports_.data(), stream);
    growth_ = report(0, stream);
    error_ = -1;
  }

  double report(std::size_t place, cudaStream_t stream) const
  {
    unsigned long long bits;
    double v;
    reports_.read(&bits, place, 1, stream);
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }

  bool is_accurate(cudaStream_t stream)
  {
    if (growth_ <= harmless_growth<real_t<V>>) return true;
    if (!std::isfinite(growth_)) return false;
    if (test_.empty()) test_ = DeviceArray<T>(triangle_.n());
    const unsigned blocks = blocks_for(triangle_.n(), 128);
    make_test_side<T, V, I><<<blocks, 128, 0, stream>>>(triangle_.view(), numbers(work_.data()));
    solve(work_.data(), test_.data(), false, stream);
    measure_backward_error<T, V, I><<<blocks, 128, 0, stream>>>(triangle_.view(), numbers(work_.data()),
                                                                numbers(test_.data()), reports_.data() + 1);
    check_launch("measure_backward_error");
    error_ = report(1, stream);
    return error_ <= most_error<real_t<V>>;
  }

  const T* copy(const T* b, cudaStream_t stream)
  {
    SYNCFREE_CUDA(cudaMemcpyAsync(work_.data(), b, work_.bytes(), cudaMemcpyDeviceToDevice, stream));
    return work_.data();
  }

  template <int lanes> void run(const T* b, T* x, bool conjugate, cudaStream_t stream, bool overlaps)
  {
    const unsigned blocks = blocks_for(static_cast<std::size_t>(triangle_.n()) * lanes, level_order_threads);
    launch(solve_in_level_order<T, V, I, ValueBox, lanes, MergedSide<V, I>>,
           {blocks, level_order_threads, against_crowding_, stream, overlaps},
           merged_.rest(triangle_.n(), triangle_.view().row), merged_.side(), memory_.view(), counter_.data(),
           numbers(b), numbers(x), conjugate);
  }

  MergeRule rule_;
  std::vector<I> level_begin_;  ///< of the levels that were merged
  I levels_;
  std::size_t entries_;  ///< of the triangle with its diagonal
  StoredTriangle<T, V, I> triangle_;
  MergedRows<T, V, I> merged_;
  typename ValueBox<Number<T>>::Memory memory_;
  DeviceArray<T> work_, test_;
  DeviceArray<unsigned long long> counter_, reports_;  ///< reports: growth and backward error, as bits of doubles
  const bool overlaps_ = launches_can_overlap();
  int lanes_ = 1;
  std::size_t against_crowding_ = 0;
  double growth_ = 0, error_ = -1;  ///< error -1: not measured
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_merged(const DeviceTriangle<I>& triangle, const SolverOptions& options)
{
  return std::make_unique<MergedSolver<T, V, I>>(triangle, options);
}

#define INSTANTIATE(T, V, I)                                                                        \
  template std::unique_ptr<DeviceSolver<T, I>> make_merged<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
