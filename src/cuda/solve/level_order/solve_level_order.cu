/// Strategy `level_order`: rows sorted by level, with values that are their own flags
/// (cuda/solve/level_order/solver.cuh); inodes if the triangle has them (cuda/solve/level_order/solve_inodes.cu).

#include "core/support/instantiate.hpp"
#include "cuda/solve/level_order/inode_solver.hpp"
#include "cuda/solve/level_order/solver.cuh"
#include "syncfree/options.hpp"

namespace syncfree::cuda {

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_level_order(const DeviceTriangle<I>& triangle, const SolverOptions& options)
{
  const bool in_blocks = triangle.blocks && triangle.form == PlanForm::any;
  const bool by_inodes = triangle.nodes && !triangle.source && triangle.form != PlanForm::rows && !in_blocks;
  if (by_inodes) return make_node_solver<T, V, I>(triangle);
  return std::make_unique<LevelOrderSolver<T, V, I, DoubleBufferedMailbox>>(triangle, options.threads);
}

#define INSTANTIATE(T, V, I)                                                                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_level_order<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
