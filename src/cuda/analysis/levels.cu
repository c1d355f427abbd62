/// Implementation of cuda/analysis/levels.hpp. On a grid levels follow from a row's grid point; they are guessed and
/// then verified for each row. Otherwise rows wait for each other. Then rows are sorted by level, if they are wanted.

#include "cuda/analysis/levels.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/support/instantiate.hpp"
#include "cuda/base/flag.cuh"
#include "cuda/base/sort.cuh"
#include "cuda/base/thread_id.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 256;

/// Returns the level of a row on a grid, from 1.
template <class I> __device__ unsigned level_on(const Grid<I>& grid, I n, bool lower, I i)
{
  return static_cast<unsigned>(grid.level_of_step(lower ? i : n - 1 - i));
}

/// Sets `wrong` if a row reads an earlier one that is not in an earlier level of the grid.
template <class I> __global__ void compare_with_grid(DevicePattern<I> A, Grid<I> grid, unsigned* wrong)
{
  const std::size_t row = this_thread();
  if (row >= static_cast<std::size_t>(A.n)) return;
  const I i = static_cast<I>(row);
  const unsigned own = level_on(grid, A.n, true, i);
  bool good = true;
  for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
    const I j = A.column[k];
    good = good && (j < 0 || j >= i || level_on(grid, A.n, true, j) < own);
  }
  if (!good) set_flag_once(wrong);
}

/// Sets level[i] as on the grid, and checks that each is one more than the highest level that the row reads.
template <class I>
__global__ void take_levels_of_grid(DevicePattern<I> T, bool lower, Grid<I> grid, unsigned* level,
                                    unsigned* wrong)
{
  const std::size_t row = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (row >= static_cast<std::size_t>(T.n)) return;
  const I i = static_cast<I>(row);
  unsigned highest = 0;
  for (I k = T.row_begin[i]; k < T.row_begin[i + 1]; ++k)
    highest = max(highest, level_on(grid, T.n, lower, T.column[k]));
  const unsigned own = level_on(grid, T.n, lower, i);
  if (own != highest + 1) set_flag_once(wrong);
  level[i] = own;
}

/// owns       a thread owns one row, in the order of a serial solve
/// waits      for the levels of the rows that it reads, if they are not known yet; no lane waits in a loop of its
///            own, so rows of one warp may depend on each other
/// publishes  the row's level, from 1, which is its own flag
/// order      relaxed: the level itself is the message
/// progress   earlier rows belong to thread blocks with earlier tickets, or to this one; a thread that has waited for
///            longer than `patience`, or whose row has a level above `most`, sets a flag, and all end
/// result     reproducible, or none
/// source     Liu et al. 2016 for waiting without levels
template <class I>
__global__ void __launch_bounds__(threads_a_block)
find_levels_by_waiting(DevicePattern<I> T, bool lower, unsigned* level, TicketCounter* counter,
                       std::uint64_t patience, unsigned most, unsigned* late)
{
  const BlockTicket ticket = take_ticket(counter);
  const std::size_t step = ticket.index * threads_a_block + threadIdx.x;
  bool done = step >= static_cast<std::size_t>(T.n);
  const I i = done ? 0 : static_cast<I>(lower ? step : T.n - 1 - step);
  I left = done ? 0 : T.row_begin[i + 1] - T.row_begin[i];
  const I* entry = T.column + (done ? 0 : lower ? T.row_begin[i] : T.row_begin[i + 1] - 1);  // the nearest is read last
  const std::uint64_t begin = nanoseconds();
  unsigned highest = 0, turns = 0;
  while (!__all_sync(~0u, done)) {
    unsigned seen = 1;
    while (!done && left > 0 && (seen = load_relaxed(level + *entry)) != 0) {
      highest = max(highest, seen);
      --left;
      if (left > 0) entry += lower ? 1 : -1;
    }
    if (!done && left == 0) {
      store_relaxed(level + i, highest + 1);
      if (highest >= most) set_flag_once(late);
      done = true;
    }
    if (turns++ % 64 != 0) continue;
    if (nanoseconds() - begin > patience) set_flag_once(late);
    if (__any_sync(~0u, load_relaxed(late) != 0)) return;
  }
}

/// *highest = highest level of the rows that have one, initially 0
__global__ void find_highest(std::size_t n, const unsigned* level, unsigned* highest)
{
  unsigned own = 0;
  for (std::size_t i = this_thread(); i < n; i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    own = max(own, level[i]);
  own = __reduce_max_sync(~0u, own);
  if (threadIdx.x % 32 == 0 && load_relaxed(highest) < own) atomic_max(highest, own);
}

template <class I> __global__ void number_rows(std::size_t n, I* row)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) row[i] = static_cast<I>(i);
}

/// Writes the begin of each level in the sorted rows, and the end of the last.
template <class I> __global__ void find_begins(std::size_t n, const unsigned* level, I* begin)
{
  const std::size_t r = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (r >= n) return;
  if (r == 0 || level[r] != level[r - 1]) begin[level[r] - 1] = static_cast<I>(r);
  if (r + 1 == n) begin[level[r]] = static_cast<I>(n);
}

/// Returns about the nanoseconds of a pass on the host.
template <class I> std::uint64_t patience_for(const DevicePattern<I>& T)
{
  return 500000 + 4 * (static_cast<std::uint64_t>(T.n) + static_cast<std::uint64_t>(T.nnz));
}

unsigned blocks_of(std::size_t rows) { return blocks_for(rows, threads_a_block); }

}  // namespace

/// State of the search.
template <class I> class LevelSearch<I>::Work {
public:
  Work(const DevicePattern<I>& T, bool lower, const Grid<I>& grid, cudaStream_t stream, std::uint64_t patience,
       unsigned most)
      : T_(T), lower_(lower), grid_(grid), stream_(stream), patience_(patience ? patience : patience_for(T)),
        most_(most),
        can_(T.n > 0 && static_cast<std::uint64_t>(T.n) < ~0u), guessed_(can_ && grid.may_have_levels(T.n)),
        outcome_(1), level_(can_ ? T.n : 0)
  {
    if (guessed_) take_guess();
    else if (can_) start_waiting();
  }

  LevelBound bound()
  {
    if (!can_) return {};
    const bool all = are_known();
    const std::int64_t highest = read_outcome().highest;
    return all ? LevelBound{highest, false} : LevelBound{std::min<std::int64_t>(highest, most_), true};
  }

  void lift_bound(unsigned most = no_bound)
  {
    if (!can_ || most_ >= most || are_known()) return;
    most_ = most;
    if (most == no_bound) patience_ = patience_for(T_);
    wait_for_levels();
  }

  bool sort()
  {
    lift_bound();
    if (!can_ || !are_known()) return false;
    if (is_sorted_) return true;
    const std::size_t n = level_.size(), count = read_outcome().highest;
    sorted_ = DeviceArray<unsigned>(n), row_ = DeviceArray<I>(n);
    levels_ = {static_cast<I>(count), DeviceArray<I>(n), DeviceArray<I>(count + 1)};
    launch(number_rows<I>, {blocks_of(n), threads_a_block, 0, stream_}, n, row_.data());
    sort_pairs(level_.data(), sorted_, row_, levels_.row, bits_of(count), stream_);
    launch(find_begins<I>, {blocks_of(n), threads_a_block, 0, stream_}, n, sorted_.data(), levels_.begin.data());
    return is_sorted_ = true;
  }

  DeviceLevels<I> take_levels()
  {
    SYNCFREE_CUDA(cudaStreamSynchronize(stream_));
    return std::move(levels_);
  }

private:
  /// What the launches tell the host.
  struct Outcome {
    unsigned stopped;  ///< not 0: the guess is wrong, or the search takes too long or has found more levels
    unsigned highest;  ///< level of the rows that have one
  };

  void take_guess()
  {
    outcome_.fill(0, stream_);
    launch(take_levels_of_grid<I>, {blocks_of(level_.size()), threads_a_block, 0, stream_}, T_, lower_, grid_,
           level_.data(), &outcome_.data()->stopped);
    end_launches();
  }

  void start_waiting()
  {
    level_.fill(0, stream_);
    wait_for_levels();
  }

  /// Levels that are known already remain.
  void wait_for_levels()
  {
    counter_ = DeviceArray<TicketCounter>(1);
    counter_.fill(0, stream_);
    outcome_.fill(0, stream_);
    launch(find_levels_by_waiting<I>, {blocks_of(level_.size()), threads_a_block, 0, stream_}, T_, lower_,
           level_.data(), counter_.data(), patience_, most_, &outcome_.data()->stopped);
    end_launches();
  }

  void end_launches()
  {
    constexpr unsigned rows_a_thread = 16;
    const unsigned blocks = blocks_for(level_.size(), rows_a_thread * threads_a_block);
    launch(find_highest, {blocks, threads_a_block, 0, stream_}, level_.size(), level_.data(),
           &outcome_.data()->highest);
    read_.reset();
  }

  /// Waits for the last launch.
  const Outcome& read_outcome()
  {
    if (read_) return *read_;
    Outcome outcome;
    outcome_.read(&outcome, 0, 1, stream_);
    return read_.emplace(outcome);
  }

  /// Returns false if it takes too long, or if there are more levels than `most`.
  bool are_known()
  {
    if (!read_outcome().stopped) return true;
    if (!guessed_) return false;
    guessed_ = false;
    start_waiting();
    return !read_outcome().stopped;
  }

  const DevicePattern<I> T_;
  const bool lower_;
  const Grid<I> grid_;
  const cudaStream_t stream_;
  std::uint64_t patience_;
  unsigned most_;  ///< levels
  const bool can_;
  bool guessed_;  ///< the levels are those of the grid
  DeviceArray<Outcome> outcome_;
  std::optional<Outcome> read_;
  DeviceArray<unsigned> level_, sorted_;
  DeviceArray<TicketCounter> counter_;
  DeviceArray<I> row_;
  DeviceLevels<I> levels_;
  bool is_sorted_ = false;
};

template <class I>
LevelSearch<I>::LevelSearch(const DevicePattern<I>& T, bool lower, const Grid<I>& grid, cudaStream_t stream,
                            std::uint64_t patience, unsigned most)
    : work_(std::make_unique<Work>(T, lower, grid, stream, patience, most))
{
}
template <class I> LevelSearch<I>::LevelSearch(LevelSearch&&) noexcept = default;
template <class I> LevelSearch<I>::~LevelSearch() = default;
template <class I> LevelBound LevelSearch<I>::bound() { return work_->bound(); }
template <class I> void LevelSearch<I>::lift_bound(unsigned most) { work_->lift_bound(most); }
template <class I> bool LevelSearch<I>::sort() { return work_->sort(); }
template <class I> DeviceLevels<I> LevelSearch<I>::take_levels() { return work_->take_levels(); }

template <class I>
bool find_levels(const DevicePattern<I>& T, bool lower, const Grid<I>& grid, DeviceLevels<I>* out,
                 cudaStream_t stream, std::uint64_t patience)
{
  LevelSearch<I> search(T, lower, grid, stream, patience);
  if (!search.sort()) return false;
  *out = search.take_levels();
  return true;
}

template <class I> bool follows_grid(const DevicePattern<I>& A, const Grid<I>& grid)
{
  const Flag wrong;
  launch(compare_with_grid<I>, {blocks_of(static_cast<std::size_t>(A.n)), threads_a_block}, A, grid, wrong.data());
  return !wrong.is_raised();
}

template <class I> DeviceLevels<I> upload_levels(const LevelSets<I>& levels)
{
  return {levels.count, DeviceArray<I>(levels.row), DeviceArray<I>(levels.level_begin)};
}

template <class I> LevelSets<I> download(const DeviceLevels<I>& levels)
{
  LevelSets<I> sets;
  sets.count = levels.count;
  sets.row.resize(levels.row.size());
  sets.level_begin.resize(levels.begin.size());
  levels.row.read(sets.row.data(), 0, sets.row.size(), nullptr);
  levels.begin.read(sets.level_begin.data(), 0, sets.level_begin.size(), nullptr);
  return sets;
}

#define INSTANTIATE(I)                                                                                      \
  template class LevelSearch<I>;                                                                            \
  template bool find_levels<I>(const DevicePattern<I>&, bool, const Grid<I>&, DeviceLevels<I>*, cudaStream_t, \
                               std::uint64_t);                                                             \
  template bool follows_grid<I>(const DevicePattern<I>&, const Grid<I>&);                                     \
  template DeviceLevels<I> upload_levels<I>(const LevelSets<I>&);                                                  \
  template LevelSets<I> download<I>(const DeviceLevels<I>&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
