/// Implements cuda/solve/dense/dense_solver.hpp: one triangle, and L and U in one launch, by the kernel of
/// cuda/solve/dense/kernel.cuh.

#include "cuda/solve/dense/dense_solver.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include "core/support/instantiate.hpp"
#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/base/launch.hpp"
#include "cuda/solve/dense/kernel.cuh"

namespace syncfree::cuda {
namespace {

constexpr const char* own_name = "level_order";

template <int value> using Constant = std::integral_constant<int, value>;

template <int rows, class Body> void with_block_row(const DenseShape& shape, Body body)
{
  constexpr Constant<rows <= 4 ? 4 : 3> long_batch;
  constexpr Constant<2> short_batch;
  const bool is_short = shape.batch == short_batch;
  if (shape.lanes == 8) return body(Constant<rows>(), Constant<8>(), short_batch, std::true_type());
  if (shape.lanes == 16 && is_short) return body(Constant<rows>(), Constant<16>(), short_batch, std::true_type());
  if (shape.lanes == 16) return body(Constant<rows>(), Constant<16>(), long_batch, std::true_type());
  return body(Constant<rows>(), Constant<32>(), long_batch, std::true_type());
}
template <int rows, class Body> void with_part_of_block_row(Body body)
{
  body(Constant<rows>(), Constant<32>(), Constant<rows <= 4 ? 4 : 3>(), std::false_type());
}

/// Calls body(rows of a tile, lanes, batch, whether a tile is a block row), integral constants.
template <class Body> void with_shape(const DenseShape& shape, Body body)
{
  static_assert(largest_tile == 6, "if there are several tiles, they have 4 to 6 rows");
  if (shape.tiles > 1) {
    switch (shape.tile) {
      case 4: return with_part_of_block_row<4>(body);
      case 5: return with_part_of_block_row<5>(body);
      default: return with_part_of_block_row<6>(body);
    }
  }
  switch (shape.tile) {
    case 2: return with_block_row<2>(shape, body);
    case 3: return with_block_row<3>(shape, body);
    case 4: return with_block_row<4>(shape, body);
    case 5: return with_block_row<5>(shape, body);
    default: return with_block_row<6>(shape, body);
  }
}

/// How a kernel is launched.
///   ahead  thread blocks, as in solve_dense_rows()
struct DenseLaunch {
  DenseShape shape;
  LevelOrderBlocks blocks;
  unsigned ahead;
};

/// Queues a solve with `first`, and then with `second` if it has thread blocks.
template <class T, class V, class I>
void launch_dense(const DenseLaunch& how, const DenseRows<V, I>& first, const DenseRows<V, I>& second,
                  const unsigned (&thread_blocks)[2], typename DoubleBufferedMailbox<DeviceScalar<T>>::View mailbox,
                  TicketCounter* counter, const T* b, T* x, SolveMode mode, cudaStream_t stream)
{
  const LaunchParameters parameters = {thread_blocks[0] + thread_blocks[1], how.blocks.threads,
                                       how.blocks.shared_bytes(), stream, mode.overlaps};
  with_shape(how.shape, [&](auto rows, auto lanes, auto batch, auto whole) {
    launch(solve_dense_rows<DeviceScalar<T>, V, I, rows, lanes, batch, whole>, parameters, first, second, how.shape,
           thread_blocks[0], how.ahead, mailbox, counter, as_device(b), as_device(x), mode.conjugate);
  });
}

/// Chooses the thread blocks. Values are prefetched if those of both triangles do not stay in the L2 cache, for some
/// levels after those that are resident.
///   g            rows: tiles
///   value_bytes  of one triangle
template <class T, class V, class I>
DenseLaunch choose_launch(const DenseShape& shape, const Granularity& g, std::size_t value_bytes)
{
  constexpr double levels_ahead = 4;
  DenseLaunch how = {shape, choose_blocks(g, shape.lanes, enough_levels), 0};
  with_shape(shape, [&](auto rows, auto lanes, auto batch, auto whole) {
    const auto kernel = solve_dense_rows<DeviceScalar<T>, V, I, rows, lanes, batch, whole>;
    allow_shared_memory(kernel, how.blocks.shared_bytes());
    if (2 * value_bytes < static_cast<std::size_t>(device_attribute(cudaDevAttrL2CacheSize))) return;
    int resident = 0;
    const int threads = static_cast<int>(how.blocks.threads);
    SYNCFREE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, how.blocks.shared_bytes()));
    how.ahead = static_cast<unsigned>(resident * device_attribute(cudaDevAttrMultiProcessorCount) +
                                      levels_ahead * g.rows_a_level * lanes / threads);
  });
  return how;
}

unsigned thread_blocks_of(std::size_t rows, const DenseLaunch& how)
{
  return blocks_for(rows * how.shape.tiles * how.shape.lanes, how.blocks.threads);
}

/// to[k] = from[index[k]]
template <class I> __global__ void take_indices(std::size_t count, const I* index, const I* from, I* to)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count) to[k] = from[index[k]];
}
/// Returns an empty array without `from`. On the null stream.
template <class I> DeviceArray<I> taken(I count, const I* index, const I* from)
{
  DeviceArray<I> to(from ? count : 0);
  if (!to.empty()) launch(take_indices<I>, {blocks_for(to.size(), 256), 256}, to.size(), index, from, to.data());
  return to;
}

template <class T, class V, class I> class DenseSolver;

/// Refers to the arrays of both solvers.
template <class T, class V, class I> class DensePair : public PairSolver<T> {
  using Solver = DenseSolver<T, V, I>;

public:
  DensePair(const Solver& L, const Solver& U, const Orders<I>& orders)
      : how_(of_both(L.how(), U.how())), first_(L.dense_rows()), second_(U.dense_rows()),
        operand_(places(first_, second_)), b_name_(taken(first_.n, first_.name, orders.row)),
        x_name_(taken(second_.n, second_.name, orders.column)),
        memory_(2 * static_cast<std::size_t>(first_.n) * how_.shape.size), counter_(own_name)
  {
    second_.operand = operand_.data();
    if (!b_name_.empty()) first_.name = b_name_.data();
    if (!x_name_.empty()) second_.name = x_name_.data();
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  bool accept_new_values() override
  {
    values_.announce();
    return true;
  }

  void solve_pair(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    const unsigned thread_blocks = thread_blocks_of(first_.n, how_);
    launch_dense<T, V, I>(how_, first_, second_, {thread_blocks, thread_blocks}, memory_.mailbox_view(),
                          counter_.data(), b, x, {conjugate, values_.may_overlap(stream)}, stream);
  }

  std::size_t pair_bytes() const override
  {
    return operand_.bytes() + b_name_.bytes() + x_name_.bytes() + memory_.mailbox_bytes();
  }

private:
  static DenseLaunch of_both(const DenseLaunch& L, const DenseLaunch& U)
  {
    return {U.shape, blocks_of_both(L.blocks, U.blocks), std::max(L.ahead, U.ahead)};
  }

  /// Returns by position in U the position of the same row in L.
  static DeviceArray<I> places(const DenseRows<V, I>& L, const DenseRows<V, I>& U)
  {
    const DeviceArray<I> position_in_L = inverse_permutation(L.n, L.name);
    return taken(U.n, U.name, position_in_L.data());
  }

  const DenseLaunch how_;
  DenseRows<V, I> first_, second_;
  DeviceArray<I> operand_, b_name_, x_name_;
  typename DoubleBufferedMailbox<DeviceScalar<T>>::Memory memory_;
  TicketCounterMemory counter_;
  NewValues values_;
};

template <class T, class V, class I> class DenseSolver : public DeviceSolver<T, I> {
public:
  explicit DenseSolver(const DeviceTriangle<I>& triangle)
      : DenseSolver(triangle, shape_of_blocks(triangle.block_size, triangle.longest() + 1))
  {
  }

  SolverTraits traits() const override
  {
    SolverTraits traits;
    traits.in_place = work_.empty();
    return traits;
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    const T* b = v.b;
    if (b == v.x && !work_.empty()) {  // tiles of a block row read all of its right-hand side
      SYNCFREE_CUDA(cudaMemcpyAsync(work_.data(), b, work_.bytes(), cudaMemcpyDeviceToDevice, stream));
      b = work_.data();
      mode.overlaps = false;
    }
    launch_dense<T, V, I>(how_, dense_rows(), dense_rows(), {thread_blocks_of(row_.size(), how_), 0},
                          memory_.mailbox_view(), counter_.data(), b, v.x, mode, stream);
  }

  std::unique_ptr<PairSolver<T>> make_pair_solver(const DeviceSolver<T, I>& first,
                                                  const Orders<I>& orders) const override
  {
    const auto* const L = dynamic_cast<const DenseSolver*>(&first);
    if (!L || L->how_.shape.lanes != how_.shape.lanes || L->how_.shape.batch != how_.shape.batch) return nullptr;
    return std::make_unique<DensePair<T, V, I>>(*L, *this, orders);
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::rest) return;
    const DenseSource<DeviceScalar<T>, I> from = {as_device(value), as_device(inverse_diagonal), rows_.source.data(),
                                                  row_.data(), transposed_};
    with_shape(how_.shape, [&](auto rows, auto lanes, auto, auto whole) {
      constexpr unsigned threads = 256;
      const unsigned blocks = blocks_for(row_.size() * how_.shape.tiles * lanes, threads);
      launch(store_dense_values<T, V, I, lanes, whole ? rows : 0>, {blocks, threads, 0, stream}, dense_rows(),
             how_.shape, from, as_device(value_.data()));
    });
  }

  PlanSummary summarize_plan() const override
  {
    const DenseShape& shape = how_.shape;
    const std::string size = std::to_string(shape.size);
    std::string text = "blocks of " + size + " x " + size + ", " + std::to_string(shape.lanes) + " lanes a block row";
    if (shape.tiles > 1) text += " of " + std::to_string(shape.tiles) + " tiles";
    const std::size_t bytes = row_.bytes() + rows_.begin.bytes() + rows_.column.bytes() + rows_.source.bytes() +
                              work_.bytes() + memory_.mailbox_bytes();
    return {text + how_.blocks.describe_blocks(), bytes, value_.bytes(), PlanForm::rows};
  }

  const DenseLaunch& how() const { return how_; }
  DenseRows<V, I> dense_rows() const
  {
    return {static_cast<I>(row_.size()), rows_.begin.data(), rows_.column.data(), row_.data(), nullptr,
            as_device(value_.data()), scaled_};
  }

private:
  DenseSolver(const DeviceTriangle<I>& triangle, const DenseShape& shape)
      : scaled_(!triangle.unit), transposed_(triangle.transposed_blocks), row_(triangle.rows_in_level_order()),
        rows_(level_ordered_rows(triangle, row_.data())),
        value_((static_cast<std::size_t>(triangle.nnz()) + (scaled_ ? row_.size() : 0)) * shape.size * shape.size),
        memory_(row_.size() * shape.size), counter_(own_name),
        work_(shape.tiles > 1 && scaled_ ? row_.size() * shape.size : 0),
        how_(choose_launch<T, V, I>(shape, granularity(triangle, shape), value_.bytes()))
  {
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  static Granularity granularity(const DeviceTriangle<I>& triangle, const DenseShape& shape)
  {
    Granularity g;
    const double rows = triangle.n() > 0 ? triangle.n() : 1, levels = triangle.n() > 0 ? triangle.level_count() : 1;
    g.rows_a_level = rows * shape.tiles / levels;
    g.entries_a_row = triangle.nnz() / rows * shape.size;
    return g;
  }

  const bool scaled_, transposed_;
  DeviceArray<I> row_;
  PermutedRows<I> rows_;
  DeviceArray<V> value_;
  typename DoubleBufferedMailbox<DeviceScalar<T>>::Memory memory_;
  TicketCounterMemory counter_;
  DeviceArray<T> work_;  ///< of solves in place, or empty
  const DenseLaunch how_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_dense_block_solver(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  return std::make_unique<DenseSolver<T, V, I>>(triangle);
}

#define INSTANTIATE(T, V, I)                                                                                     \
  template std::unique_ptr<DeviceSolver<T, I>> make_dense_block_solver<T, V, I>(const DeviceTriangle<I>&, \
                                                                               const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
