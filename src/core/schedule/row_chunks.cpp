#include "row_chunks.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

/// Constants of the simulated run, in nanoseconds. Only their ratios matter for the plan.
constexpr double row_cost = 1.5, entry_cost = 0.7;  ///< one core, matrix from memory
constexpr double step_cost = 20;                    ///< loop over a step, publishing it
constexpr double hand_over = 300;                   ///< latency from one core's store to another's load
constexpr double line_cost = 2;                     ///< per cache line of x that a chunk reads from earlier chunks
constexpr double foreign_cost = 3;                  ///< in addition, if another core wrote the line
constexpr int numbers_a_line = 8;
constexpr int least_rows = 16;                      ///< of a piece, if more pieces are cut for equal shares

/// What a position of the substitution costs: a row, or a row of dense blocks with its diagonal block.
struct PositionCosts {
  double row = row_cost, entry = entry_cost, line = line_cost, foreign = foreign_cost;
  int positions_a_line = numbers_a_line;
  int least_positions = least_rows;

  explicit PositionCosts(int block_size)
  {
    const double values = static_cast<double>(block_size) * block_size;
    if (block_size == 1) return;
    row = row_cost * block_size + entry_cost * values;
    entry = entry_cost * values;
    positions_a_line = std::max(1, numbers_a_line / block_size);
    const double lines = std::max(1.0, static_cast<double>(block_size) / numbers_a_line);
    line = line_cost * lines;
    foreign = foreign_cost * lines;
    least_positions = std::max(1, least_rows / block_size);
  }
};

/// Chunk c has the positions [begin[c], begin[c + 1]).
template <class I> struct Chunks {
  std::vector<I> begin, of_place;

  I count_chunks() const { return static_cast<I>(begin.size()) - 1; }
};

/// A pattern whose rows and columns are numbered in the order of substitution.
template <class I> struct Substitution {
  PatternView<I> T;
  bool lower;

  I turn(I i) const { return lower ? i : T.n - 1 - i; }

  /// The last position before s that the row at s reads, or -1.
  I nearest(I s) const
  {
    const I i = turn(s), begin = T.row_begin[i], end = T.row_begin[i + 1];
    if (begin == end) return -1;
    return turn(lower ? T.column[end - 1] : T.column[begin]);
  }
};

/// Cuts [begin, end) into equal pieces of about `cap` positions; if more than one, a multiple of `threads` pieces.
template <class I> void cut_evenly(I begin, I end, I cap, std::int32_t threads, int least, std::vector<I>* cuts)
{
  const std::int64_t length = end - begin;
  std::int64_t pieces = std::max<std::int64_t>(1, (length + cap / 2) / cap);
  const std::int64_t shared = (pieces + threads - 1) / threads * threads;
  if (pieces > 1 && length / shared >= least) pieces = shared;
  for (std::int64_t p = 0; p < pieces; ++p) cuts->push_back(begin + static_cast<I>(length * p / pieces));
}

/// Cuts where a row reads none of the previous (up to `cap`) rows, as the first row of a grid's line or plane does:
/// what starts there need not wait for the end of what comes before. Rows that read nothing cause no cut. The ranges
/// between the cuts are divided into equal chunks of about `cap` rows, so that those of neighbouring lines match; a
/// range shorter than cap / 8 is joined with the next.
template <class I> Chunks<I> cut(const Substitution<I>& order, I cap, std::int32_t threads, int least)
{
  Chunks<I> chunks;
  I begin = 0, recent = 0;
  for (I s = 1; s < order.T.n; ++s) {
    const I nearest = order.nearest(s);
    if (nearest >= 0 && nearest < recent && s - begin >= cap / 8) {
      cut_evenly(begin, s, cap, threads, least, &chunks.begin);
      begin = recent = s;
    } else if (s - recent == cap) {
      recent = s;
    }
  }
  if (order.T.n > 0) cut_evenly(begin, order.T.n, cap, threads, least, &chunks.begin);
  chunks.begin.push_back(order.T.n);
  chunks.of_place.resize(order.T.n);
  for (I c = 0; c < chunks.count_chunks(); ++c)
    std::fill(chunks.of_place.begin() + chunks.begin[c], chunks.of_place.begin() + chunks.begin[c + 1], c);
  return chunks;
}

/// Rule by which the next chunk is assigned to a thread.
///   first_to_finish  the thread that finishes it first in the simulated run
///   beside_sources   the thread that has most of what it reads, not counting the chunk before: on a grid a thread
///                    keeps its part of each line or plane, and only values at the borders move between cores. The
///                    first chunks, which read nothing else, are divided into equal shares.
enum class Placement { first_to_finish, beside_sources };

/// Assigns chunks to threads, in order.
template <class I> class Simulation {
public:
  Simulation(const Substitution<I>& order, std::int32_t threads, I cap, Placement placement, const PositionCosts& costs)
      : order_(order),
        threads_(threads),
        placement_(placement),
        costs_(costs),
        chunks_(cut(order, cap, threads, costs.least_positions)),
        owner_(chunks_.count_chunks()),
        step_(chunks_.count_chunks()),
        line_seen_(order.T.n / costs.positions_a_line + 1),
        finish_(chunks_.count_chunks()),
        free_(threads),
        steps_(threads),
        latest_(threads),
        lines_(threads),
        lines_beside_(threads),
        waited_(static_cast<std::size_t>(threads) * threads),
        own_wait_begin_(1)
  {
  }

  void simulate_chunks()
  {
    if (placement_ == Placement::beside_sources) fresh_ = count_fresh();
    for (I c = 0; c < chunks_.count_chunks(); ++c) {
      find_sources(c);
      const std::int32_t t = placement_ == Placement::beside_sources ? beside_sources(c) : first_to_finish(c);
      serial_time_ += cost(c);
      free_[t] = finish_[c] = finish_of(c, t);
      owner_[c] = t;
      step_[c] = ++steps_[t];
      record_waits(t);
    }
  }

  double speedup() const
  {
    const double time = *std::max_element(free_.begin(), free_.end());
    return time > 0 ? serial_time_ / time : 1;
  }

  RowChunks<I> planned_chunks() const
  {
    RowChunks<I> plan;
    plan.threads = threads_;
    plan.speedup = speedup();
    plan.serial_seconds = 1e-9 * serial_time_;
    plan.thread_step.assign(threads_ + 1, 0);
    for (std::int32_t t = 0; t < threads_; ++t) plan.thread_step[t + 1] = plan.thread_step[t] + steps_[t];
    const I steps = chunks_.count_chunks();
    std::vector<I> chunk_of_step(steps);
    for (I c = 0; c < steps; ++c) chunk_of_step[plan.thread_step[owner_[c]] + step_[c] - 1] = c;
    plan.wait_begin.push_back(0);
    for (I c : chunk_of_step) {
      plan.begin.push_back(chunks_.begin[c]);
      plan.end.push_back(chunks_.begin[c + 1]);
      for (I w = own_wait_begin_[c]; w < own_wait_begin_[c + 1]; ++w) plan.wait.push_back(own_wait_[w]);
      plan.wait_begin.push_back(static_cast<I>(plan.wait.size()));
    }
    return plan;
  }

private:
  /// Cost of the chunk of the last find_sources(), on a core that has all its sources.
  double cost(I c) const
  {
    const auto [first, last] = entries_of_chunk(c);
    return costs_.row * static_cast<double>(chunks_.begin[c + 1] - chunks_.begin[c]) +
           costs_.entry * static_cast<double>(last - first) + costs_.line * static_cast<double>(lines_read_);
  }

  std::pair<I, I> entries_of_chunk(I c) const
  {
    const I a = order_.turn(chunks_.begin[c]), z = order_.turn(chunks_.begin[c + 1] - 1);
    return {order_.T.row_begin[std::min(a, z)], order_.T.row_begin[std::max(a, z) + 1]};
  }

  /// Number of first chunks that read only themselves and the chunk before.
  I count_fresh() const
  {
    for (I c = 0; c < chunks_.count_chunks(); ++c) {
      const auto [first, last] = entries_of_chunk(c);
      for (I k = first; k < last; ++k)
        if (chunks_.of_place[order_.turn(order_.T.column[k])] < c - 1) return c;
    }
    return chunks_.count_chunks();
  }

  /// Computes latest_[t] = 1 + the last chunk of thread t that chunk c reads, 0 if none (the steps of a thread finish
  /// in order, so it stands for all), and lines_[t] = number of cache lines of x that c reads from thread t.
  void find_sources(I c)
  {
    std::fill(latest_.begin(), latest_.end(), 0);
    std::fill(lines_.begin(), lines_.end(), 0);
    std::fill(lines_beside_.begin(), lines_beside_.end(), 0);
    lines_read_ = 0;
    const auto [first, last] = entries_of_chunk(c);
    for (I k = first; k < last; ++k) {
      const I place = order_.turn(order_.T.column[k]), source = chunks_.of_place[place];
      if (source == c) continue;
      const std::int32_t owner = owner_[source];
      latest_[owner] = std::max<I>(latest_[owner], source + 1);
      I& seen = line_seen_[place / costs_.positions_a_line];
      if (seen == c + 1) continue;
      seen = c + 1;
      ++lines_read_;
      ++lines_[owner];
      if (source < c - 1) ++lines_beside_[owner];
    }
  }

  /// Time at which thread t would finish the chunk of the last find_sources().
  double finish_of(I c, std::int32_t t) const
  {
    double start = free_[t];
    I foreign = 0;
    for (std::int32_t q = 0; q < threads_; ++q) {
      if (q == t || latest_[q] == 0) continue;
      start = std::max(start, finish_[latest_[q] - 1] + hand_over);
      foreign += lines_[q];
    }
    return start + step_cost + cost(c) + costs_.foreign * static_cast<double>(foreign);
  }

  /// Ties go to the owner of the chunk before, whose cache holds what this one reads.
  std::int32_t first_to_finish(I c) const
  {
    std::int32_t best = c > 0 ? owner_[c - 1] : 0;
    double earliest = finish_of(c, best);
    for (std::int32_t t = 0; t < threads_; ++t) {
      const double finish = free_[t] < earliest ? finish_of(c, t) : earliest;
      if (finish < earliest) {
        earliest = finish;
        best = t;
      }
    }
    return best;
  }

  std::int32_t beside_sources(I c) const
  {
    if (c < fresh_) {
      const double middle = 0.5 * (static_cast<double>(chunks_.begin[c]) + static_cast<double>(chunks_.begin[c + 1]));
      return static_cast<std::int32_t>(threads_ * middle / static_cast<double>(chunks_.begin[fresh_]));
    }
    const auto most = std::max_element(lines_beside_.begin(), lines_beside_.end());
    return *most > 0 ? static_cast<std::int32_t>(most - lines_beside_.begin()) : owner_[c - 1];
  }

  /// Records the waits that no earlier step of thread t has done.
  void record_waits(std::int32_t t)
  {
    for (std::int32_t q = 0; q < threads_; ++q) {
      if (q == t || latest_[q] == 0) continue;
      const I needed = step_[latest_[q] - 1];
      I& waited = waited_[static_cast<std::size_t>(t) * threads_ + q];
      if (needed <= waited) continue;
      waited = needed;
      own_wait_.push_back({q, static_cast<std::int64_t>(needed)});
    }
    own_wait_begin_.push_back(static_cast<I>(own_wait_.size()));
  }

  Substitution<I> order_;
  std::int32_t threads_;
  Placement placement_;
  PositionCosts costs_;
  Chunks<I> chunks_;
  std::vector<std::int32_t> owner_;  ///< thread of each chunk
  std::vector<I> step_;              ///< 1 + its index among the steps of that thread
  std::vector<I> line_seen_;         ///< 1 + the last chunk that reads the cache line
  std::vector<double> finish_, free_;
  std::vector<I> steps_, latest_, lines_, lines_beside_, waited_;
  std::vector<StepWait> own_wait_;  ///< by chunk
  std::vector<I> own_wait_begin_;
  double serial_time_ = 0;
  I lines_read_ = 0;
  I fresh_ = 0;  ///< first chunks, which beside_sources divides into equal shares
};

}  // namespace

template <class I>
Status make_row_chunks(PatternView<I> T, bool lower, std::int32_t threads, RowChunks<I>* out, int block_size)
try {
  if (threads < 1) return failed(Code::invalid_argument, "number of threads must be at least 1");
  const PositionCosts costs(block_size);
  RowChunks<I> best;
  const auto try_plan = [&](I cap, Placement placement) {
    Simulation<I> simulation({T, lower}, threads, cap, placement, costs);
    simulation.simulate_chunks();
    if (best.threads == 0 || simulation.speedup() > 1.05 * best.speedup) best = simulation.planned_chunks();
  };
  for (int rows : {512, 128, 32}) {
    const I cap = static_cast<I>(std::max(1, rows / block_size));
    const double before = best.speedup;
    try_plan(cap, Placement::beside_sources);
    if (best.speedup < 0.5 * threads) try_plan(cap, Placement::first_to_finish);
    if (best.speedup > 0.85 * threads) break;           // good enough to skip the other trials
    if (best.speedup > 0.5 * threads && best.speedup <= before) break;  // smaller chunks only cost more
  }
  *out = std::move(best);
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) \
  template Status make_row_chunks<I>(PatternView<I>, bool, std::int32_t, RowChunks<I>*, int);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
