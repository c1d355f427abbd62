/// Implementation of cuda/analysis/levels.hpp. On a grid levels follow from a row's grid point; they are guessed and
/// then verified for each row. Otherwise rows wait for each other. Then rows are sorted by level.

#include "cuda/analysis/levels.hpp"

#include <algorithm>
#include <memory>
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
  const I step = lower ? i : n - 1 - i, line = step / grid.line, cell = step - line * grid.line;
  return static_cast<unsigned>(1 + cell + line % grid.lines * grid.next_line + line / grid.lines * grid.next_plane);
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
    if (++turns % 64 != 0) continue;
    if (nanoseconds() - begin > patience) set_flag_once(late);
    if (__any_sync(~0u, load_relaxed(late) != 0)) return;
  }
}

__global__ void find_highest(std::size_t n, const unsigned* level, unsigned* highest)
{
  unsigned own = 0;
  for (std::size_t i = this_thread(); i < n; i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    own = max(own, level[i]);
  atomic_max(highest, own);
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
       unsigned most = ~0u)
      : T_(T), lower_(lower), grid_(grid), stream_(stream), patience_(patience ? patience : patience_for(T)),
        most_(most),
        can_(T.n > 0 && static_cast<std::uint64_t>(T.n) < ~0u), guessed_(can_ && grid.may_have_levels(T.n)),
        flag_(stream), level_(can_ ? T.n : 0)
  {
    if (guessed_) take_guess();
    else if (can_) wait_for_levels();
  }

  bool sort()
  {
    if (!can_ || !are_known()) return false;
    const std::size_t n = level_.size();
    sorted_ = DeviceArray<unsigned>(n), row_ = DeviceArray<I>(n);
    levels_.row = DeviceArray<I>(n);
    launch(number_rows<I>, {blocks_of(n), threads_a_block, 0, stream_}, n, row_.data());
    sort_pairs(level_.data(), sorted_, row_, levels_.row, bits_of(n), stream_);
    return true;
  }

  void count_levels()
  {
    const std::size_t n = level_.size();
    unsigned count;
    sorted_.read(&count, n - 1, 1, stream_);
    levels_.count = static_cast<I>(count);
    levels_.begin = DeviceArray<I>(static_cast<std::size_t>(count) + 1);
    launch(find_begins<I>, {blocks_of(n), threads_a_block, 0, stream_}, n, sorted_.data(), levels_.begin.data());
  }

  /// Returns the highest level of the rows that have one, which are all if that is at most `most`.
  unsigned highest(bool* is_all)
  {
    *is_all = !can_ || are_known();
    DeviceArray<unsigned> highest(1);
    highest.fill(0, stream_);
    constexpr unsigned most_blocks = 32;
    const unsigned blocks = std::min(most_blocks, blocks_of(level_.size()));
    launch(find_highest, {blocks, threads_a_block, 0, stream_}, level_.size(), level_.data(), highest.data());
    unsigned found = 0;
    highest.read(&found, 0, 1, stream_);
    return found;
  }

  DeviceLevels<I> take_levels()
  {
    SYNCFREE_CUDA(cudaStreamSynchronize(stream_));
    return std::move(levels_);
  }

private:
  void take_guess()
  {
    launch(take_levels_of_grid<I>, {blocks_of(level_.size()), threads_a_block, 0, stream_}, T_, lower_, grid_,
           level_.data(), flag_.data());
  }

  void wait_for_levels()
  {
    counter_ = DeviceArray<TicketCounter>(1);
    counter_.fill(0, stream_);
    level_.fill(0, stream_);
    launch(find_levels_by_waiting<I>, {blocks_of(level_.size()), threads_a_block, 0, stream_}, T_, lower_,
           level_.data(), counter_.data(), patience_, most_, flag_.data());
  }

  /// Returns false if it takes too long.
  bool are_known()
  {
    if (!flag_.is_raised()) return true;
    if (!guessed_) return false;
    flag_ = Flag(stream_);
    wait_for_levels();
    return !flag_.is_raised();
  }

  const DevicePattern<I> T_;
  const bool lower_;
  const Grid<I> grid_;
  const cudaStream_t stream_;
  const std::uint64_t patience_;
  const unsigned most_;
  const bool can_, guessed_;
  Flag flag_;  ///< the guess is wrong, or the search takes too long
  DeviceArray<unsigned> level_, sorted_;
  DeviceArray<TicketCounter> counter_;
  DeviceArray<I> row_;
  DeviceLevels<I> levels_;
};

template <class I>
LevelSearch<I>::LevelSearch(const DevicePattern<I>& T, bool lower, const Grid<I>& grid, cudaStream_t stream,
                            std::uint64_t patience)
    : work_(std::make_unique<Work>(T, lower, grid, stream, patience))
{
}
template <class I> LevelSearch<I>::LevelSearch(LevelSearch&&) noexcept = default;
template <class I> LevelSearch<I>::~LevelSearch() = default;
template <class I> bool LevelSearch<I>::sort() { return work_->sort(); }
template <class I> void LevelSearch<I>::count_levels() { work_->count_levels(); }
template <class I> DeviceLevels<I> LevelSearch<I>::take_levels() { return work_->take_levels(); }

template <class I>
bool find_levels(const DevicePattern<I>& T, bool lower, const Grid<I>& grid, DeviceLevels<I>* out,
                 cudaStream_t stream, std::uint64_t patience)
{
  LevelSearch<I> search(T, lower, grid, stream, patience);
  if (!search.sort()) return false;
  search.count_levels();
  *out = search.take_levels();
  return true;
}

template <class I>
LevelBound count_levels(const DevicePattern<I>& T, bool lower, const Grid<I>& grid, std::int64_t most,
                        cudaStream_t stream, std::uint64_t patience)
{
  typename LevelSearch<I>::Work search(T, lower, grid, stream, patience, static_cast<unsigned>(most));
  LevelBound found;
  bool is_all = false;
  const std::int64_t highest = search.highest(&is_all);
  found.has_more = !is_all;
  found.levels = is_all ? highest : std::min(highest, most);
  return found;
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
  template LevelBound count_levels<I>(const DevicePattern<I>&, bool, const Grid<I>&, std::int64_t, cudaStream_t, \
                                        std::uint64_t); \
  template DeviceLevels<I> upload_levels<I>(const LevelSets<I>&);                                                  \
  template LevelSets<I> download<I>(const DeviceLevels<I>&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
