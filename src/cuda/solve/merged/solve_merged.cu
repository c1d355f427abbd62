/// Strategy `merged`: consecutive levels are merged into groups in which no row waits for another
/// (core/plan/merge_plan.hpp), then solved as in level order.
///
///   x_i = sum over k in P_i of p_ik b_k - sum over k in R_i of r_ik x_k
///
/// This is a partitioned inverse (Alvarado and Schreiber 1993) with fill. The pattern is made once
/// (cuda/solve/merged/plan.hpp), the values of P and R in every refresh, which also checks the accuracy
/// (cuda/solve/merged/values.cuh); groups that lose too much are made smaller, down to single levels.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/support/instantiate.hpp"
#include "cuda/base/captured_solves.hpp"
#include "cuda/base/stream.hpp"
#include "cuda/solve/level_order/kernel.cuh"
#include "cuda/solve/merged/pair.cuh"
#include "cuda/solve/merged/plan.hpp"
#include "cuda/solve/merged/rule.hpp"
#include "cuda/solve/merged/values.cuh"
#include "syncfree/cuda/detail/mapped_word.hpp"

namespace syncfree::cuda {
namespace {

/// Largest backward error that is accepted for one right-hand side, so that the norm-wise one of others stays below
/// 1e-10 (float: 1e-4), and a growth up to which nothing is measured: errors of up to twice the growth in roundings
/// were observed.
template <class R> constexpr double most_error = sizeof(R) == 4 ? 3e-5 : 3e-11;
template <class R> constexpr double harmless_growth = sizeof(R) == 4 ? 90 : 3e3;

/// A merge plan on the device, with its values.
template <class T, class V, class I> class MergedRows {
public:
  MergedRows() = default;
  MergedRows(DeviceMergePlan<I> plan, cudaStream_t stream)
      : plan_(std::move(plan)), steps_(&plan_, stream), p_(plan_.p_column.size()), r_(plan_.r_column.size()),
        overlaps_(launches_can_overlap())
  {
    /* steps_ has what these contain */
    plan_.depth = DeviceArray<unsigned>();
    plan_.group_level = DeviceArray<I>();
    plan_.level_begin = DeviceArray<I>();
    allow_shared_memory(merge_blocks<T, V, I, LocalSlots>, block_bytes());
    allow_shared_memory(merge_blocks<T, V, I, FoundSlots>, block_bytes());
  }

  /// True if the longest row fits in the shared memory in which it is made.
  bool fit() const { return steps_.step_count() == 0 || memory_to_search().accumulator_bytes() <= block_bytes(); }

  /// Makes P's columns rows of the triangle, which are `row` by position; called once.
  void find_rows(const I* row, cudaStream_t stream)
  {
    launch(name_rows<I>, {blocks_for(p_.size(), 256), 256, 0, stream}, p_.size(), row, plan_.p_column.data());
  }

  /// Makes the values.
  ///   size  work space, one value for each row
  void make_numbers(const SourceRows<T, V, I>& A, real_t<T>* size, const ToldMaximum& growth,
                    cudaStream_t stream) const
  {
    const unsigned warps = blocks_for(rows() * 32, 128);
    launch(begin_rows<T, V, I>, {warps, 128, 0, stream}, A, merged_view(), size, growth);
    for (int step = 0; step < steps_.step_count(); ++step) {
      if (has_local_slots()) substitute_block<LocalSlots>(step, memory_of_locals(), stream);
      else substitute_block<FoundSlots>(step, memory_to_search(), stream);
    }
    launch(measure_growth<T, V, I>, {warps, 128, 0, stream, overlaps_}, merged_view(), size, growth);
  }

  MergedRhs<V, I> rhs() const { return {plan_.p_begin.data(), plan_.p_column.data(), as_device(p_.data())}; }
  StoredView<V, I> rest(I n, const I* row) const
  {
    return {n, plan_.r_begin.data(), plan_.r_column.data(), row, as_device(r_.data()), nullptr};
  }
  I groups() const { return plan_.groups; }
  std::int64_t levels() const { return plan_.longest; }
  double merged_entries() const { return static_cast<double>(p_.size() + r_.size()); }
  std::size_t merged_plan_bytes() const
  {
    return plan_.group.bytes() + plan_.group_begin.bytes() + steps_.step_bytes() + plan_.p_begin.bytes() +
           plan_.p_column.bytes() + plan_.p_local.bytes() + plan_.r_begin.bytes() + plan_.r_column.bytes() +
           plan_.r_local.bytes();
  }
  std::size_t merged_value_bytes() const { return p_.bytes() + r_.bytes(); }

private:
  /// Most for the accumulators of a warp if every column of a group has one: sixteen fit in a thread block's memory.
  static constexpr std::size_t most_accumulator_bytes = 12 << 10;

  /// Returns the bytes of shared memory that a thread block may use.
  static std::size_t block_bytes()
  {
    return static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) - 1024;
  }
  AccumulatorMemory memory_of_locals() const
  {
    return LocalSlots<V, I>::template memory<DeviceScalar<T>>(plan_.span);
  }
  AccumulatorMemory memory_to_search() const
  {
    return FoundSlots<V, I>::template memory_to_search<DeviceScalar<T>>(steps_.longest_row());
  }
  bool has_local_slots() const { return memory_of_locals().per_warp <= most_accumulator_bytes; }

  /// Returns the memory of a wide row. Where slots are looked for, a table of all columns is used if it fits.
  ///   of_warp  memory of a row that a warp makes
  AccumulatorMemory memory_of_wide(const AccumulatorMemory& of_warp, unsigned warps) const
  {
    AccumulatorMemory memory = of_warp;
    memory.warps = warps;
    AccumulatorMemory mapping = memory;
    mapping.maps = true, mapping.table = FoundSlots<V, I>::table_bytes(plan_.span);
    return of_warp.table && mapping.accumulator_bytes() <= block_bytes() ? mapping : memory;
  }

  std::size_t rows() const { return plan_.group.size(); }
  MergedView<V, I> merged_view() const
  {
    return {static_cast<I>(rows()), plan_.group.data(),   plan_.group_begin.data(), plan_.p_begin.data(),
            plan_.r_begin.data(),   plan_.r_column.data(), plan_.p_local.data(),     plan_.r_local.data(),
            as_device(p_.data()),   as_device(r_.data())};
  }

  /// Launches a step. Few wide rows get more warps each; without any, blocks are as small as keeps all multiprocessors
  /// busy.
  template <template <class, class> class Slots>
  void substitute_block(int step, const AccumulatorMemory& of_warp, cudaStream_t stream) const
  {
    const std::size_t count = steps_.rows_of_step(step), wide = steps_.most_wide_rows(step);
    if (count == 0) return;
    const auto processors = static_cast<std::size_t>(device_attribute(cudaDevAttrMultiProcessorCount));
    unsigned warps = wide <= processors ? most_warps_of_row : most_warps_of_row / 2;
    while (warps > 1 && (warps * of_warp.accumulator_bytes() > block_bytes() || (!wide && count < warps * processors)))
      warps /= 2;
    const AccumulatorMemory of_block = memory_of_wide(of_warp, warps);
    const std::size_t turns = wide + (count + warps - 1) / warps;  // a bound
    const std::size_t bytes = std::max(warps * of_warp.accumulator_bytes(), wide ? of_block.accumulator_bytes() : 0);
    launch(merge_blocks<T, V, I, Slots>,
           {static_cast<unsigned>(std::min(turns, 8 * processors)), 32 * warps, bytes, stream, overlaps_},
           merged_view(), steps_.reads(step), count, steps_.wide_rows(step), of_block, of_warp);
  }

  DeviceMergePlan<I> plan_;
  MergeSteps<I> steps_;
  DeviceArray<V> p_, r_;
  bool overlaps_ = false;  ///< launches on values, each with the one before
};

/// Returns 1, 4, 8, 16 or 32 lanes for rows of the mean length, as measured on an H200: for ten factors of 34 to 180
/// entries per row, sixteen lanes were within 11 % of the best, eight within 16, thirty-two within 38. More lanes if
/// the triangle's longest row takes more than four batches per lane and one and a half groups still fit (memplus 1.4,
/// powerlaw 5000 2.1 times as fast).
inline int choose_lanes_of_merged(const Granularity& g)
{
  const double entries = g.entries_a_row;
  int lanes = entries <= 3 ? 1 : entries <= 8 ? 4 : entries <= 24 ? 8 : entries <= 256 ? 16 : 32;
  for (const int more : {4, 8, 16, 32})
    if (more > lanes && g.longest > 4 * level_order_batch * lanes && levels_that_fit(g, more, 2048) >= 1.5)
      lanes = more;
  return lanes;
}

template <class T, class V, class I> class MergedSolver : public DeviceSolver<T, I> {
public:
  MergedSolver(const DeviceTriangle<I>& triangle, const SolverOptions& options)
      : rule_(rule_of<V, I>(options, triangle.most_merged)), level_begin_(triangle.level_begins()),
        entries_(static_cast<std::size_t>(triangle.nnz()) + triangle.n()), longest_(triangle.longest()),
        unit_(triangle.unit), row_(triangle.rows_in_level_order()),
        pattern_(triangle.source ? DevicePattern<I>() : triangle.on_device), rows_(rows_for_search(triangle)),
        position_(pattern_.row_begin ? triangle.positions_in_level_order(row_.data()) : DeviceArray<I>()),
        columns_(triangle.n(), name()), work_(triangle.n()), counter_(name()), maximum_(2),
        pending_plan_(triangle.pending_plan), captures_(triangle.captures)
  {
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
    if (!pending_plan_) plan_groups();
  }
  ~MergedSolver() override
  {
    if (tells_) (void)MemoryPool::wait_for_device();
  }

  SolverTraits traits() const override
  {
    SolverTraits traits;
    traits.in_place = false;
    traits.columns = true;
    traits.slow_update = true;
    traits.interleaving = interleaving_of<T>(true);
    return traits;
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    if (v.count == 1) launch_merged(v.b, v.x, mode, stream);
    else launch_merged_columns(v, mode, stream);
  }

  /// The first update ends the pending plan.
  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    value_ = value, inverse_diagonal_ = unit_ ? nullptr : inverse_diagonal;
    if (part != UpdatePart::rest) queue_values(stream);
    if (part == UpdatePart::whole) SYNCFREE_CUDA(cudaStreamSynchronize(stream));
    if (part != UpdatePart::queued) check_values(stream);
  }

  std::uint64_t update_revision() const override { return revision_; }

  PlanSummary summarize_plan() const override
  {
    const std::size_t of_rows =
        row_.bytes() + position_.bytes() + rows_.begin.bytes() + rows_.column.bytes() + rows_.source.bytes();
    const std::size_t bytes = of_rows + merged_.merged_plan_bytes() + mailbox_bytes() + columns_.launch_bytes() +
                              work_.bytes() + test_.bytes();
    return {text(), bytes, merged_.merged_value_bytes(), PlanForm::groups};
  }

  /// In natural order only.
  std::unique_ptr<PairSolver<T>> make_pair_solver(const DeviceSolver<T, I>& first,
                                                  const Orders<I>& orders) const override
  {
    const auto* const L = dynamic_cast<const MergedSolver*>(&first);
    if (!L || orders.row || !L->gains_by_pair() || !gains_by_pair()) return nullptr;
    return std::make_unique<MergedPair<T, V, I, MergedSolver>>(*L, *this);
  }

  MergedTriangle<V, I> merged_triangle() const { return {rest(), merged_.rhs(), n()}; }
  int lanes() const { return lanes_; }
  const LevelOrderBlocks& blocks() const { return blocks_; }
  static const char* name() { return "merged"; }

private:
  using MailboxMemory = typename DoubleBufferedMailbox<DeviceScalar<T>>::Memory;

  bool gains_by_pair() const { return merged_gains_by_pair(n(), longest_); }

  void queue_values(cudaStream_t stream)
  {
    failure_.reset();
    if (pending_plan_) end_pending_plan(stream);
    if (planned_) make_numbers(stream);
  }

  /// Measures the growth of the values that have been made; merges fewer levels until they are accurate.
  void check_values(cudaStream_t stream)
  {
    if (failure_) throw *failure_;
    if (!planned_) plan_and_make_numbers(stream);
    read_growth();
    while (merged_.levels() > 1 && !is_accurate(stream)) {
      rule_.most_levels = std::isfinite(growth_) ? merged_.levels() / 2 : 1;
      plan_and_make_numbers(stream);
      read_growth();
    }
  }

  void plan_and_make_numbers(cudaStream_t stream)
  {
    plan_groups();
    make_numbers(stream);
    SYNCFREE_CUDA(cudaStreamSynchronize(stream));
  }

  std::string text() const
  {
    char text[160];
    const auto levels = static_cast<long long>(level_begin_.size() - 1);
    if (!planned_) return std::to_string(levels) + " levels, groups come with the numbers";
    int length = std::snprintf(text, sizeof text, "%lld levels in %lld groups of %lld at most, %.1f times the entries",
                               levels, static_cast<long long>(merged_.groups()),
                               static_cast<long long>(merged_.levels()),
                               merged_.merged_entries() / static_cast<double>(entries_));
    length += std::snprintf(text + length, sizeof text - length, ", norm-wise growth %.1e", growth_);
    if (error_ >= 0) std::snprintf(text + length, sizeof text - length, ", backward error %.1e", error_);
    return text + blocks_.describe_blocks();
  }

  /// Returns the rows by level, if a search has them already or there is no other pattern.
  PermutedRows<I> rows_for_search(const DeviceTriangle<I>& triangle) const
  {
    const bool has_rows = triangle.by_level && !triangle.by_level->begin.empty();
    return has_rows || !pattern_.row_begin ? level_ordered_rows(triangle, row_.data()) : PermutedRows<I>();
  }

  void plan_groups()
  {
    const bool by_row = pattern_.row_begin;
    const auto entries = static_cast<I>(rows_.column.size());
    const DevicePattern<I> rows = {n(), entries, rows_.begin.data(), rows_.column.data()};
    MergePlanner<I> merging(by_row ? pattern_ : rows, by_row ? row_.data() : nullptr, level_begin_, rule_, longest_);
    plan_groups(&merging);
  }

  /// Plans while the device factorizes. A failure is kept: the outcome of the factorization must be reported before it.
  void end_pending_plan(cudaStream_t stream)
  try {
    plan_groups(std::exchange(pending_plan_, nullptr), stream);
  } catch (const Failure& failure) {
    failure_ = failure;
  } catch (const std::bad_alloc&) {
    failure_ = Failure{failed(Code::out_of_memory)};
  }

  /// Makes the plan, in a stream of its own. If it fails half-way, the next refresh plans again.
  ///   follower  the stream that uses the plan first; waits if there is none
  void plan_groups(MergePlanner<I>* merging, std::optional<cudaStream_t> follower = {})
  {
    planned_ = false, ++revision_;
    const Stream own(StreamPriority::first);
    DeviceMergePlan<I> made;
    if (!merging->finish_plan(&made)) made = plan_on_host();
    auto before = std::exchange(merged_, MergedRows<T, V, I>(std::move(made), own.get()));
    if (!merged_.fit()) {
      merged_ = std::move(before);
      rule_.most_levels = 1;
      return plan_groups();
    }
    if (!uncounted_) give_up(std::move(before));
    merged_.find_rows(row_.data(), own.get());
    const auto rows = static_cast<double>(n());
    Granularity g;
    g.rows_a_level = rows / static_cast<double>(merged_.groups());
    g.entries_a_row = merged_.merged_entries() / rows;
    g.longest = longest_;
    lanes_ = choose_lanes_of_merged(g);
    blocks_ = choose_blocks(g, lanes_, enough_groups(g, lanes_));
    with_lanes(lanes_, [&](auto lanes) { allow_shared_memory(one_column<lanes>(), blocks_.shared_bytes()); });
    if (!uncounted_) begin_count();
    if (follower) follow_stream(own.get(), *follower);
    else own.wait();
    if (pattern_.row_begin) rows_ = PermutedRows<I>();
    uncounted_ = false, planned_ = true;
  }

  /// What the launches of a plan refer to.
  struct Launched {
    MergedRows<T, V, I> merged;
    std::optional<MailboxMemory> memory;
    ValueLaunches<T> columns;
    TicketCounterMemory counter;
  };

  /// Retires a plan: captured solves become void, and what they refer to is kept for their replays.
  void give_up(MergedRows<T, V, I> before)
  {
    if (!captures_) return;
    captures_->make_void();
    const bool held = captures_->any_since(planned_in_);
    planned_in_ = captures_->generation();
    if (!held) return;
    const std::size_t bytes =
        before.merged_plan_bytes() + before.merged_value_bytes() + mailbox_bytes() + columns_.launch_bytes();
    TicketCounterMemory counter(name());
    captures_->keep(Launched{std::move(before), std::move(memory_), std::move(columns_), std::move(counter_)}, bytes);
    counter_ = std::move(counter);
  }

  /// Renews counter and mailboxes: launches are counted by their thread blocks, which depend in number on the groups.
  void begin_count()
  {
    SYNCFREE_CUDA(MemoryPool::wait_for_device());
    const bool had_mailbox = memory_.has_value();
    memory_.reset();  // first: there may be no room for two
    if (had_mailbox) memory_.emplace(n());  // now: the next launch may be captured
    columns_ = ValueLaunches<T>(n(), name());
    counter_.restart();
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  /// Makes the plan on the host.
  DeviceMergePlan<I> plan_on_host() const
  {
    const bool by_row = pattern_.row_begin;
    std::vector<I> begin(row_.size() + 1), column(entries_ - row_.size());
    copy_to_host(begin.data(), by_row ? pattern_.row_begin : rows_.begin.data(), begin.size());
    copy_to_host(column.data(), by_row ? pattern_.column : rows_.column.data(), column.size());
    LevelSets<I> levels;
    levels.count = static_cast<I>(level_begin_.size() - 1);
    levels.level_begin = level_begin_;
    levels.row.resize(row_.size());
    if (by_row) copy_to_host(levels.row.data(), row_.data(), row_.size());
    else std::iota(levels.row.begin(), levels.row.end(), I(0));
    MergePlan<I> made;
    const Status status = make_merge_plan<I>({n(), begin.data(), column.data()}, levels, rule_, &made);
    if (!status.ok()) throw Failure{status};
    return upload_merge_plan(made, level_begin_);
  }

  void make_numbers(cudaStream_t stream)
  {
    tells_ = true;
    /* the work space is free while values are made */
    merged_.make_numbers(source_rows(), reinterpret_cast<real_t<T>*>(work_.data()), tell_in(told_growth_), stream);
    is_measured_ = !test_.empty() && memory_;
    if (is_measured_) measure_error(stream);
  }

  ToldMaximum tell_in(const Mapped<unsigned long long>& told)
  {
    return {maximum_.data(), reinterpret_cast<unsigned*>(maximum_.data() + 1), told.device_pointer()};
  }

  static double from_bits(unsigned long long bits)
  {
    double v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }
  /// Called when the launches that tell it have ended.
  void read_growth()
  {
    growth_ = from_bits(told_growth_.get()), error_ = -1;
    tells_ = false;
  }

  bool is_accurate(cudaStream_t stream)
  {
    if (growth_ <= harmless_growth<real_t<V>>) return true;
    if (!std::isfinite(growth_)) return false;
    if (!is_measured_) {
      const bool had_mailbox = memory_.has_value();
      if (!had_mailbox) make_mailbox();
      test_ = DeviceArray<T>(n());  // last: whoever finds it measures without making anything
      measure_error(stream);
      SYNCFREE_CUDA(cudaStreamSynchronize(stream));
      tells_ = false;
      if (may_measure_ahead()) {
        ++revision_;  // other launches follow now
      } else {
        test_ = DeviceArray<T>();
        if (!had_mailbox) memory_.reset();  // where L and U are solved in one launch it is not used again
      }
    }
    error_ = from_bits(told_error_.get());
    return error_ <= most_error<real_t<V>>;
  }

  /// True if the error is to be measured in every refresh once it had to be: of a small factor a wait takes longer than
  /// a solve, but vectors and mailbox must fit in the memory of the plan.
  bool may_measure_ahead() const
  {
    constexpr I most_rows = 1 << 15;
    const std::size_t bytes = merged_.merged_plan_bytes() + merged_.merged_value_bytes() + 3 * test_.bytes();
    return n() <= most_rows && static_cast<std::int64_t>(bytes) <= rule_.most_bytes;
  }

  /// Queues a solve with a known solution.
  void measure_error(cudaStream_t stream)
  {
    const unsigned blocks = blocks_for(n(), 128);
    tells_ = true;
    launch(make_test_side<T, V, I>, {blocks, 128, 0, stream}, source_rows(), as_device(work_.data()));
    launch_merged(work_.data(), test_.data(), {}, stream);
    launch(measure_backward_error<T, V, I>, {blocks, 128, 0, stream}, source_rows(), as_device(work_.data()),
           as_device(test_.data()), tell_in(told_error_));
  }

  const T* copy(const T* b, cudaStream_t stream)
  {
    SYNCFREE_CUDA(cudaMemcpyAsync(work_.data(), b, work_.bytes(), cudaMemcpyDeviceToDevice, stream));
    return work_.data();
  }

  void launch_merged(const T* b, T* x, SolveMode mode, cudaStream_t stream)
  {
    if (b == x) b = copy(b, stream), mode.overlaps = false;
    if (!memory_) make_mailbox();
    with_lanes(lanes_, [&](auto lanes) {
      const unsigned blocks = blocks_for(static_cast<std::size_t>(n()) * lanes, blocks_.threads);
      launch(one_column<lanes>(), {blocks, blocks_.threads, blocks_.shared_bytes(), stream, mode.overlaps}, rest(),
             merged_.rhs(), memory_->mailbox_view(), counter_.data(), Input<DeviceScalar<T>>{as_device(b)},
             Output<DeviceScalar<T>>{as_device(x)}, 1u, mode.conjugate);
    });
  }
  void make_mailbox()
  {
    memory_.emplace(n()), ++revision_;
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }
  std::size_t mailbox_bytes() const { return memory_ ? memory_->mailbox_bytes() : 0; }
  void launch_merged_columns(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream)
  {
    with_lanes(lanes_, [&](auto lanes) {
      solve_columns_in_level_order<T, V, I, lanes>(rest(), merged_.rhs(), v, &columns_, mode.conjugate, stream,
                                                   mode.overlaps);
    });
  }
  template <int lanes> static constexpr auto one_column()
  {
    return solve_in_level_order<DeviceScalar<T>, V, I, DoubleBufferedMailbox, lanes, MergedRhs<V, I>, false>;
  }
  I n() const { return static_cast<I>(row_.size()); }
  StoredView<V, I> rest() const { return merged_.rest(n(), row_.data()); }
  SourceRows<T, V, I> source_rows() const
  {
    SourceRows<T, V, I> rows = {n(), pattern_.row_begin, pattern_.column, row_.data(), position_.data()};
    if (!pattern_.row_begin)
      rows = {n(), rows_.begin.data(), rows_.column.data(), row_.data(), nullptr, rows_.source.data()};
    rows.value = as_device(value_);
    if (inverse_diagonal_) rows.inverse_diagonal = as_device(inverse_diagonal_);
    return rows;
  }

  MergeRule rule_;
  std::vector<I> level_begin_;  ///< of the levels that were merged
  std::size_t entries_;  ///< of the triangle with its diagonal
  std::int64_t longest_;  ///< entries of its longest row
  bool unit_;
  DeviceArray<I> row_;  ///< in the order of levels
  DevicePattern<I> pattern_;  ///< the triangle's, if its entries are in the order of the values; else empty
  PermutedRows<I> rows_;      ///< in the order of levels; if there is a pattern, only for the first search
  DeviceArray<I> position_;   ///< inverse of row_, if there is a pattern
  const T *value_ = nullptr, *inverse_diagonal_ = nullptr;  ///< of the factor, during an update
  MergedRows<T, V, I> merged_;
  std::optional<MailboxMemory> memory_;  ///< of launches for this triangle alone, made by the first
  ValueLaunches<T> columns_;
  DeviceArray<T> work_;
  TicketCounterMemory counter_;
  Mapped<unsigned long long> told_growth_, told_error_;
  bool tells_ = false;  ///< a launch that writes them may be running, but for recorded ones, which the factor awaits
  DeviceArray<unsigned long long> maximum_;  ///< ToldMaximum: of one launch at a time
  DeviceArray<T> test_;  ///< what a solve with a known solution gives; made when the growth was too large once
  bool is_measured_ = false;  ///< the error has been queued with the values
  int lanes_ = 1;
  LevelOrderBlocks blocks_;
  MergePlanner<I>* pending_plan_;  ///< the first plan, until the first update ends it; or nullptr
  CapturedSolves* captures_;   ///< or nullptr
  std::uint64_t planned_in_ = captures_ ? captures_->generation() : 0;  ///< the generation of the plan
  std::optional<Failure> failure_;
  std::uint64_t revision_ = 0;  ///< of the plan and of what its launches refer to
  bool planned_ = false, uncounted_ = true;  ///< uncounted: no launch yet
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
