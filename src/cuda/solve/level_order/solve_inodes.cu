/// Implements cuda/solve/level_order/inode_solver.hpp: inodes sorted by level, with values that are their own
/// flags. What the rows of an inode read is polled once for all of them: dependent inodes wait once, not for each row.
///
///   x_p = (b_p - sum_k value_pk x_{column_k} - sum over q < p of inner_pq x_q) / diagonal_p

#include "cuda/solve/level_order/inode_solver.hpp"

#include "core/support/instantiate.hpp"
#include "cuda/analysis/inodes.hpp"
#include "cuda/base/launch.hpp"
#include "cuda/solve/level_order/kernel.cuh"

namespace syncfree::cuda {
namespace {

/// NodeRows with their values, as a kernel reads them.
///   inverse_diagonal  nullptr: 1; else by position of a row
template <class V, class I> struct NodesView {
  I n;  ///< inodes
  const I *begin, *column, *row;
  const DeviceScalar<V> *value, *inner, *inverse_diagonal;
};

template <class T, class V, class I> class StoredNodes {
public:
  explicit StoredNodes(const DeviceTriangle<I>& triangle)
      : nodes_(triangle.nodes->count), size_(triangle.nodes->size),
        rows_(order_nodes(triangle.on_device, triangle.lower, *triangle.nodes)), value_(rows_.source.size()),
        inner_(rows_.inner.size()), inverse_diagonal_(triangle.unit ? 0 : rows_.row.size())
  {
  }

  void update_nodes(const T* value, const T* inverse_diagonal, cudaStream_t stream)
  {
    gather_rounded(value_, rows_.source.data(), value, stream);
    gather_rounded(inner_, rows_.inner.data(), value, stream);
    gather_rounded(inverse_diagonal_, rows_.row.data(), inverse_diagonal, stream, 1);
  }

  I nodes() const { return nodes_; }
  int node_size() const { return size_; }  ///< rows of an inode
  std::size_t operands() const { return rows_.column.size(); }
  NodesView<V, I> nodes_view() const
  {
    return {nodes_, rows_.begin.data(), rows_.column.data(), rows_.row.data(), as_device(value_.data()),
            as_device(inner_.data()), inverse_diagonal_.empty() ? nullptr : as_device(inverse_diagonal_.data())};
  }
  std::size_t node_plan_bytes() const
  {
    return rows_.row.bytes() + rows_.begin.bytes() + rows_.column.bytes() + rows_.source.bytes() + rows_.inner.bytes();
  }
  std::size_t node_value_bytes() const { return value_.bytes() + inner_.bytes() + inverse_diagonal_.bytes(); }

private:
  I nodes_;
  int size_;
  NodeRows<I> rows_;
  DeviceArray<V> value_, inner_, inverse_diagonal_;
};

/// Entries k, k + lanes, ... of an inode, as far as they are less than `end`, with a value for each of its rows.
template <class N, class M, class I, int size, int lanes, class Chunk> struct NodeBatch {
  static constexpr int entries = level_order_batch;
  I column[entries];  ///< mailbox slot of its operand
  Entry<N> value[entries][size];
  N seen[entries];
  bool live[entries], waits[entries];

  __device__ void load_entries(const I* columns, const M* values, I k, I end, Chunk chunk)
  {
#pragma unroll
    for (int e = 0; e < entries; ++e) {
      const std::size_t entry = static_cast<std::size_t>(k) + e * lanes;
      live[e] = waits[e] = k + e * lanes < end;
      column[e] = live[e] ? chunk.slot_of(columns[entry]) : 0;
#pragma unroll
      for (int p = 0; p < size; ++p) value[e][p] = live[e] ? Entry<N>(values[entry * size + p]) : Entry<N>(0);
    }
  }

  /// Polls once for each operand that is missing; returns true if none is.
  __device__ bool poll_operands(const DoubleBufferedMailbox<N>& box)
  {
    bool complete = true;
#pragma unroll
    for (int e = 0; e < entries; ++e)
      if (waits[e]) seen[e] = box.poll_slot(column[e]);
#pragma unroll
    for (int e = 0; e < entries; ++e) {
      waits[e] = waits[e] && !box.has_arrived(seen[e]);
      complete = complete && !waits[e];
    }
    return complete;
  }

  /// As Batch::stop_waiting().
  __device__ void stop_waiting()
  {
#pragma unroll
    for (int e = 0; e < entries; ++e) waits[e] = false;
  }

  __device__ void add_to(N (&sum)[size], bool conjugate) const
  {
#pragma unroll
    for (int e = 0; e < entries; ++e)
#pragma unroll
      for (int p = 0; p < size; ++p)
        if (live[e]) sum[p] += product(conjugate ? conjugate_of(value[e][p]) : value[e][p], seen[e]);
  }
};

/// The triangle inside an inode; every lane has all of it.
template <class N, class V, class I, int size> struct NodeTriangle {
  static constexpr int pairs = pairs_of(size);
  Entry<N> inner[pairs], inverse[size];

  __device__ void load_node(const NodesView<V, I>& L, std::size_t node, bool conjugate)
  {
    using E = Entry<N>;
#pragma unroll
    for (int k = 0; k < pairs; ++k) inner[k] = E(L.inner[node * pairs + k]);
#pragma unroll
    for (int p = 0; p < size; ++p) inverse[p] = L.inverse_diagonal ? E(L.inverse_diagonal[node * size + p]) : E(1);
    if (!conjugate) return;
#pragma unroll
    for (E& v : inner) v = conjugate_of(v);
#pragma unroll
    for (E& v : inverse) v = conjugate_of(v);
  }

  /// Replaces right-hand sides by solutions.
  __device__ void solve_node(N (&v)[size]) const
  {
#pragma unroll
    for (int p = 0; p < size; ++p) {
#pragma unroll
      for (int q = 0; q < p; ++q) v[p] -= product(inner[pairs_of(p) + q], v[q]);
      v[p] = product(v[p], inverse[p]);
    }
  }
};

/// b is read after the previous launch has ended, everything else before: that launch may still be running.
///
/// owns       `lanes` lanes of a warp own one inode of `size` rows, with `many` for one chunk of columns; a thread
///            block owns as many as it has room for, consecutive in level order, with the chunks of an inode adjacent
/// waits      for the values of earlier inodes, all of a batch polled at once; no lane waits alone in a loop, so inodes
///            of one warp may depend on each other
/// publishes  the values of the inode's rows, lane p that of row p; prepares their slots for the next launch
/// order      relaxed, the value itself is the message, and slots are cleared one launch ahead
/// progress   inodes at earlier positions belong to thread blocks with earlier tickets, or to this warp or thread block
/// result     reproducible: the order of additions depends on the inode only
/// source     as solve_in_level_order; with inodes: this library
template <class N, class V, class I, int size, int lanes, bool many>
__global__ void __launch_bounds__(level_order_threads)
solve_nodes_in_level_order(NodesView<V, I> L, typename DoubleBufferedMailbox<N>::View memory, TicketCounter* counter,
                           Input<N> b, Output<N> x, unsigned chunks, bool conjugate)
{
  static_assert(size <= lanes);
  using Chunk = std::conditional_t<many, OneOfChunks, OneChunk>;
  constexpr int step = level_order_batch * lanes;
  const BlockTicket ticket = take_ticket(counter);
  const DoubleBufferedMailbox<N> box(memory, static_cast<std::size_t>(L.n) * size * (many ? chunks : 1), ticket.launch);
  std::size_t node = ticket.index * (blockDim.x / lanes) + threadIdx.x / lanes;
  Chunk chunk;
  if constexpr (many) {
    chunk = {static_cast<unsigned>(node % chunks), chunks};
    node /= chunks;
    b = b.chunk(chunk.which, columns_of<N>);
    x = x.chunk(chunk.which, columns_of<N>);
  }
  const int lane = threadIdx.x % lanes;
  const bool live = node < static_cast<std::size_t>(L.n);
  if (!live) node = 0;
  I k = live ? L.begin[node] + lane : 0;
  const I end = live ? L.begin[node + 1] : 0;
  NodeBatch<N, DeviceScalar<V>, I, size, lanes, Chunk> now, ahead;
  now.load_entries(L.column, L.value, k, end, chunk);
  ahead.load_entries(L.column, L.value, k + step, end, chunk);
  NodeTriangle<N, V, I, size> triangle;
  triangle.load_node(L, node, conjugate);
  const bool owns = live && lane < size;  // row `lane` of the inode
  const I own_row = owns ? L.row[node * size + lane] : -1;
  const std::size_t own = owns ? chunk.slot_of(node * size + lane) : 0;
  if (owns) box.prepare_slot(own);
  wait_for_primary_launch();
  trigger_dependent_launch();
  N rhs[size], sum[size];
#pragma unroll
  for (int p = 0; p < size; ++p) {
    const I row = live ? L.row[node * size + p] : -1;
    rhs[p] = row >= 0 ? load_row<N>(b, row) : N(0);
    sum[p] = N(0);
  }
  __syncwarp();  // x may be b: all lanes of the inode must have read all its rows
  const unsigned group = group_of(lanes);
  bool summed = !live, done = !live;
  SYNCFREE_MAY_NANOSLEEP
  for (BoundedWait wait(own_row); !__all_sync(~0u, done);) {
    if (!summed && now.poll_operands(box)) {
      now.add_to(sum, conjugate);
      k += step;
      summed = k >= end;
      if (!summed) {
        now = ahead;
        ahead.load_entries(L.column, L.value, k + step, end, chunk);
      }
    }
    const bool complete = (__ballot_sync(~0u, summed) & group) == group && !done;
    if (!__any_sync(~0u, complete)) {
      if (!wait.is_over_for_warp()) continue;
      now.stop_waiting();
#pragma unroll
      for (N& s : sum) s = quiet_nan<N>();  // this batch may not have been polled
      continue;
    }
    N value[size];
#pragma unroll
    for (int p = 0; p < size; ++p) {
      N total = sum[p];
      for (int offset = lanes / 2; offset; offset /= 2) total += shfl_xor(total, offset);
      value[p] = rhs[p] - total;
    }
    triangle.solve_node(value);
    if (complete && owns) {
      N mine = value[0];
#pragma unroll
      for (int p = 1; p < size; ++p)
        if (lane == p) mine = value[p];
      box.publish_value(own, mine);
      if (own_row >= 0) store_row<N>(x, own_row, mine);
    }
    done = done || complete;
  }
}

/// Calls body(an integral constant) for the rows of an inode.
template <class Body> void with_size(int size, Body body)
{
  if (size == 2) return body(std::integral_constant<int, 2>());
  static_assert(largest_node == 3);
  body(std::integral_constant<int, 3>());
}

template <class T, class V, class I> class InodeSolver : public DeviceSolver<T, I> {
public:
  explicit InodeSolver(const DeviceTriangle<I>& triangle)
      : nodes_(triangle), granularity_(granularity(nodes_, triangle.nodes->levels.count)),
        lanes_(granularity_.entries_a_row <= 20 ? 8 : 16),
        blocks_(choose_blocks(granularity_, lanes_, enough_levels)),
        memory_(static_cast<std::size_t>(nodes_.nodes()) * nodes_.node_size()),
        columns_(static_cast<std::size_t>(nodes_.nodes()) * nodes_.node_size(), "level_order",
                 columns_in_cache(granularity_.rows_a_level * nodes_.node_size())),
        counter_("level_order")
  {
    with_kernel([&](auto kernel) { allow_shared_memory(kernel, blocks_.shared_bytes()); });
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  SolverTraits traits() const override
  {
    SolverTraits traits;
    traits.columns = true;
    traits.interleaving = interleaving_of<T>(true);
    return traits;
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    if (v.count == 1) launch_inodes(v.b, v.x, mode, stream);
    else launch_inode_columns(v, mode, stream);
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::rest) return;
    nodes_.update_nodes(value, inverse_diagonal, stream);
  }

  PlanSummary summarize_plan() const override
  {
    const std::string text = "nodes of " + std::to_string(nodes_.node_size()) + " rows, " + std::to_string(lanes_) +
                             " lanes a node" + blocks_.describe_blocks();
    const std::size_t bytes = nodes_.node_plan_bytes() + memory_.mailbox_bytes() + columns_.launch_bytes();
    return {text, bytes, nodes_.node_value_bytes(), PlanForm::inodes};
  }

private:
  static constexpr int lanes_of_columns = 8;

  static Granularity granularity(const StoredNodes<T, V, I>& nodes, I levels)
  {
    Granularity g;
    g.rows_a_level = static_cast<double>(nodes.nodes()) / static_cast<double>(levels);
    g.entries_a_row = static_cast<double>(nodes.operands()) / static_cast<double>(nodes.nodes());
    return g;
  }

  unsigned blocks(unsigned lanes, unsigned threads) const
  {
    return blocks_for(static_cast<std::size_t>(nodes_.nodes()) * lanes, threads);
  }

  /// Calls body(the kernel for one column).
  template <class Body> void with_kernel(Body body) const
  {
    with_size(nodes_.node_size(), [&](auto size) {
      if (lanes_ == 8) body(solve_nodes_in_level_order<DeviceScalar<T>, V, I, size, 8, false>);
      else body(solve_nodes_in_level_order<DeviceScalar<T>, V, I, size, 16, false>);
    });
  }

  void launch_inodes(const T* b, T* x, SolveMode mode, cudaStream_t stream)
  {
    with_kernel([&](auto kernel) {
      const LaunchParameters parameters = {blocks(static_cast<unsigned>(lanes_), blocks_.threads), blocks_.threads,
                                 blocks_.shared_bytes(), stream, mode.overlaps};
      launch(kernel, parameters, nodes_.nodes_view(), memory_.mailbox_view(), counter_.data(),
             Input<DeviceScalar<T>>{as_device(b)}, Output<DeviceScalar<T>>{as_device(x)}, 1u, mode.conjugate);
    });
  }

  void launch_inode_columns(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream)
  {
    using N = ColumnPackOf<T>;
    with_size(nodes_.node_size(), [&](auto size) {
      columns_.launch_chunks(v, mode.overlaps, [&](unsigned chunks, auto mailbox, auto* counter, const Input<N>& b,
                                                   const Output<N>& x, bool overlap) {
        constexpr unsigned threads = level_order_threads;
        launch(solve_nodes_in_level_order<N, V, I, size, lanes_of_columns, true>,
               {blocks(lanes_of_columns * chunks, threads), threads, 0, stream, overlap}, nodes_.nodes_view(), mailbox,
               counter, b, x, chunks, mode.conjugate);
      });
    });
  }

  StoredNodes<T, V, I> nodes_;
  Granularity granularity_;
  int lanes_;
  LevelOrderBlocks blocks_;
  typename DoubleBufferedMailbox<DeviceScalar<T>>::Memory memory_;
  ValueLaunches<T> columns_;
  TicketCounterMemory counter_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_node_solver(const DeviceTriangle<I>& triangle)
{
  return std::make_unique<InodeSolver<T, V, I>>(triangle);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<DeviceSolver<T, I>> make_node_solver<T, V, I>(const DeviceTriangle<I>&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
