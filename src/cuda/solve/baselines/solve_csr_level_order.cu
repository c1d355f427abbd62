/// Strategy `csr_level_order`: the method of Su et al. 2020 with all changes that keep a separate flag for each value.
/// Rows are sorted by level, entries are loaded before the wait, and the parallel granularity decides between one
/// thread and more lanes per row (cuda/solve/level_order/solver.cuh).

#include "core/support/instantiate.hpp"
#include "cuda/solve/level_order/solver.cuh"
#include "syncfree/options.hpp"

namespace syncfree::cuda {

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_csr_level_order(const DeviceTriangle<I>& triangle,
                                                             const SolverOptions& options)
{
  return std::make_unique<LevelOrderSolver<T, V, I, FlaggedMailbox>>(triangle, options.threads);
}

#define INSTANTIATE(T, V, I)                                                                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_csr_level_order<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
