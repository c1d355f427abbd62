/// Strategy `csr_level_order`: Su et al. 2020 as far as it goes without giving up the flag beside each number. Rows are
/// sorted by level, entries are loaded before the wait, and the parallel granularity decides between a thread and more
/// lanes a row (level_order.cuh).

#include "core/instantiate.hpp"
#include "level_order.cuh"

namespace syncfree::cuda {
namespace {

/// Threads that the device keeps busy at once; where levels offer fewer rows, more lanes share one.
constexpr double busy_threads = 132 * 256;

/// By entries a row as choose_lanes(), and more while the levels leave lanes idle and rows have entries for them.
template <class I> int lanes_by_granularity(const PatternView<I>& p, I levels)
{
  int lanes = choose_lanes(p);
  if (p.n == 0) return lanes;
  const double rows_a_level = static_cast<double>(p.n) / static_cast<double>(levels);
  const double entries_a_row = static_cast<double>(p.nnz()) / static_cast<double>(p.n);
  for (const int more : {4, 8, 32})
    if (more > lanes && entries_a_row > 2 * lanes && rows_a_level * more <= busy_threads) lanes = more;
  return lanes;
}

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_csr_level_order(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  const LevelsOf<I> levels(triangle);
  return std::make_unique<LevelOrderSolver<T, V, I, FlagBox>>(triangle, levels->row,
                                                              lanes_by_granularity(triangle.pattern, levels->count));
}

#define INSTANTIATE(T, V, I)                                                                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_csr_level_order<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
