#include "row_chunks.hpp"

#include <algorithm>
#include <new>

#include "instantiate.hpp"

namespace syncfree {
namespace {

/// What the simulated run is made of, in nanoseconds. Only the ratios matter.
constexpr double row_cost = 3, entry_cost = 1.5;  ///< one core, matrix from memory
constexpr double step_cost = 20;                  ///< loop over a step, publishing it
constexpr double hand_over = 300;                 ///< from one core's store to another's load

/// Chunk c has the places [begin[c], begin[c + 1]).
template <class I> struct Chunks {
  std::vector<I> begin, of_place;

  I count() const { return static_cast<I>(begin.size()) - 1; }
};

/// A pattern whose rows and columns are counted in the order of substitution.
template <class I> struct Substitution {
  PatternView<I> T;
  bool lower;

  I turn(I i) const { return lower ? i : T.n - 1 - i; }

  /// The place nearest before s that the row at s reads, or -1.
  I nearest(I s) const
  {
    const I i = turn(s), begin = T.row_begin[i], end = T.row_begin[i + 1];
    if (begin == end) return -1;
    return turn(lower ? T.column[end - 1] : T.column[begin]);
  }
};

/// Cuts where a row reads nothing of the chunk at hand, as the first row of a grid's line or plane does:
/// what starts there need not wait for the end of the chunk before. Rows that read nobody cut nothing.
/// Chunks have at most about `cap` rows; a piece shorter than an eighth of that joins its predecessor.
template <class I> Chunks<I> cut(const Substitution<I>& order, I cap)
{
  const I least = cap / 8;
  Chunks<I> chunks;
  chunks.begin.push_back(0);
  for (I s = 1; s < order.T.n; ++s) {
    const I begin = chunks.begin.back(), length = s - begin, nearest = order.nearest(s);
    if (length < cap && (nearest < 0 || nearest >= begin)) continue;
    const std::size_t last = chunks.begin.size() - 1;
    if (length < least && last > 0 && s - chunks.begin[last - 1] <= cap + least) chunks.begin[last] = s;
    else chunks.begin.push_back(s);
  }
  if (order.T.n > 0) chunks.begin.push_back(order.T.n);
  chunks.of_place.resize(order.T.n);
  for (I c = 0; c < chunks.count(); ++c)
    std::fill(chunks.of_place.begin() + chunks.begin[c], chunks.of_place.begin() + chunks.begin[c + 1], c);
  return chunks;
}

/// Hands out chunks in order, each to the thread that can start it first.
template <class I> class Simulation {
public:
  Simulation(const Substitution<I>& order, std::int32_t threads, I cap)
      : order_(order),
        threads_(threads),
        chunks_(cut(order, cap)),
        owner_(chunks_.count()),
        step_(chunks_.count()),
        finish_(chunks_.count()),
        free_(threads),
        steps_(threads),
        latest_(threads),
        waited_(static_cast<std::size_t>(threads) * threads),
        own_wait_begin_(1)
  {
  }

  void run()
  {
    for (I c = 0; c < chunks_.count(); ++c) {
      find_sources(c);
      const std::int32_t t = first_to_start(c);
      serial_time_ += cost(c);
      free_[t] = finish_[c] = start_of(t) + cost(c) + step_cost;
      owner_[c] = t;
      step_[c] = ++steps_[t];
      record_waits(t);
    }
  }

  double time() const { return free_.empty() ? 0 : *std::max_element(free_.begin(), free_.end()); }

  RowChunks<I> plan() const
  {
    RowChunks<I> plan;
    plan.threads = threads_;
    plan.speedup = time() > 0 ? serial_time_ / time() : 1;
    plan.thread_step.assign(threads_ + 1, 0);
    for (std::int32_t t = 0; t < threads_; ++t) plan.thread_step[t + 1] = plan.thread_step[t] + steps_[t];
    const I steps = chunks_.count();
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
  double cost(I c) const
  {
    const I a = order_.turn(chunks_.begin[c]), z = order_.turn(chunks_.begin[c + 1] - 1);
    const I first = std::min(a, z), last = std::max(a, z);
    return row_cost * static_cast<double>(last + 1 - first) +
           entry_cost * static_cast<double>(order_.T.row_begin[last + 1] - order_.T.row_begin[first]);
  }

  /// latest_[t]: 1 + the last chunk of thread t that chunk c reads, 0 if none. The steps of a thread end in
  /// order, so it stands for all.
  void find_sources(I c)
  {
    std::fill(latest_.begin(), latest_.end(), 0);
    const I a = order_.turn(chunks_.begin[c]), z = order_.turn(chunks_.begin[c + 1] - 1);
    const I first = order_.T.row_begin[std::min(a, z)], last = order_.T.row_begin[std::max(a, z) + 1];
    for (I k = first; k < last; ++k) {
      const I source = chunks_.of_place[order_.turn(order_.T.column[k])];
      if (source == c) continue;
      I& latest = latest_[owner_[source]];
      latest = std::max<I>(latest, source + 1);
    }
  }

  /// When thread t could start the chunk whose sources were found last.
  double start_of(std::int32_t t) const
  {
    double start = free_[t];
    for (std::int32_t q = 0; q < threads_; ++q)
      if (q != t && latest_[q] > 0) start = std::max(start, finish_[latest_[q] - 1] + hand_over);
    return start;
  }

  /// Among equals the owner of the chunk before: its cache holds what this one reads.
  std::int32_t first_to_start(I c) const
  {
    std::int32_t best = c > 0 ? owner_[c - 1] : 0;
    double earliest = start_of(best);
    for (std::int32_t t = 0; t < threads_; ++t) {
      const double start = free_[t] < earliest ? start_of(t) : earliest;
      if (start < earliest) {
        earliest = start;
        best = t;
      }
    }
    return best;
  }

  /// Waits that an earlier step of thread t did not do already.
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
  Chunks<I> chunks_;
  std::vector<std::int32_t> owner_;  ///< thread of each chunk
  std::vector<I> step_;              ///< 1 + its place among the steps of that thread
  std::vector<double> finish_, free_;
  std::vector<I> steps_, latest_, waited_;
  std::vector<StepWait> own_wait_;  ///< by chunk
  std::vector<I> own_wait_begin_;
  double serial_time_ = 0;
};

}  // namespace

template <class I> Status make_row_chunks(PatternView<I> T, bool lower, std::int32_t threads, RowChunks<I>* out)
try {
  if (threads < 1) return failed(Code::invalid_argument, "number of threads must be at least 1");
  RowChunks<I> best;
  for (I cap : {I(512), I(128), I(32)}) {
    Simulation<I> simulation({T, lower}, threads, cap);
    simulation.run();
    RowChunks<I> plan = simulation.plan();
    if (best.threads == 0 || plan.speedup > 1.05 * best.speedup) best = std::move(plan);
    if (best.speedup > 0.9 * threads) break;  // good enough to save the other trials
  }
  *out = std::move(best);
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) template Status make_row_chunks<I>(PatternView<I>, bool, std::int32_t, RowChunks<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
