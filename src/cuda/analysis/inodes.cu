/// Implementation of cuda/analysis/inodes.hpp. Comparing neighbouring rows finds runs, which are then cut into inodes
/// of one size.

#include "cuda/analysis/inodes.hpp"

#include <algorithm>
#include <limits>

#include "core/support/instantiate.hpp"
#include "cuda/base/scan.cuh"
#include "cuda/analysis/triangle.hpp"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 256;

template <class I> __device__ std::size_t this_step()
{
  return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
}

/// A triangle's rows in the order of a serial solve.
template <class I> struct Steps {
  DevicePattern<I> T;
  bool lower;

  __device__ I row_at(I step) const { return lower ? step : T.n - 1 - step; }
  __device__ I step(I row) const { return lower ? row : T.n - 1 - row; }
  __device__ I first_entry(I step) const { return T.row_begin[row_at(step)]; }
  __device__ I entry_count(I step) const { return T.row_begin[row_at(step) + 1] - first_entry(step); }
  /// Returns entry e of the row at that step, the farthest first.
  __device__ I entry_at(I step, I e) const { return first_entry(step) + (lower ? e : entry_count(step) - 1 - e); }
  /// Returns the step that entry e reads.
  __device__ I reads(I step, I e) const { return this->step(T.column[entry_at(step, e)]); }
};

/// begins[s] = 0 if step s reads step s - 1 and all that it reads, else 1; begins[n] = 0. A lane compares the length
/// of its row and its last entry; only if these match, a warp compares all entries.
template <class I> __global__ void find_runs(Steps<I> steps, I* begins)
{
  const std::size_t n = steps.T.n, s = this_step<I>();
  const I own = static_cast<I>(s < n ? s : 0);
  bool follows = own > 0;
  if (follows) {
    const I before = steps.entry_count(own - 1);
    follows = steps.entry_count(own) == before + 1 && steps.reads(own, before) == own - 1;
  }
  for (unsigned left = __ballot_sync(~0u, follows); left; left &= left - 1) {
    const int who = __ffs(static_cast<int>(left)) - 1;
    const I looked_at = __shfl_sync(~0u, own, who), entries = steps.entry_count(looked_at) - 1;
    bool same = true;
    for (I e = threadIdx.x % 32; same && e < entries; e += 32)
      same = steps.reads(looked_at, e) == steps.reads(looked_at - 1, e);
    same = __all_sync(~0u, same);
    if (static_cast<int>(threadIdx.x % 32) == who) follows = same;
  }
  if (s <= n) begins[s] = s < n && !follows ? 1 : 0;
}

/// True if a run or inode begins at step s; before[s] counts the begins before s.
template <class I> __device__ bool begins_at(const I* before, std::size_t s) { return before[s + 1] > before[s]; }

/// first[r] = the step where run or inode r begins; then the end of the last.
template <class I> __global__ void list_begins(std::size_t n, const I* before, I* first)
{
  const std::size_t s = this_step<I>();
  if (s < n && begins_at(before, s)) first[before[s]] = static_cast<I>(s);
  if (s == n) first[before[n]] = static_cast<I>(n);
}

/// Returns a step's position in its run.
template <class I> __device__ I position_in_run(const I* runs_before, const I* run, std::size_t s)
{
  return static_cast<I>(s) - run[runs_before[s + 1] - 1];
}

/// nodes[size - 2] = number of inodes of at most `size` rows into which the runs are cut
template <class I>
__global__ void count_nodes(std::size_t n, const I* runs_before, const I* run, unsigned* nodes)
{
  const std::size_t s = this_step<I>();
  const I position = s < n ? position_in_run(runs_before, run, s) : 1;
  for (int size = 2; size <= largest_node; ++size) {
    const int begun = __syncthreads_count(s < n && position % size == 0);
    if (threadIdx.x == 0 && begun > 0) red_add_part_relaxed(nodes + (size - 2), static_cast<unsigned>(begun));
  }
}

/// begins[s] = 1 if an inode begins at step s, else 0
template <class I>
__global__ void cut_runs(std::size_t n, const I* runs_before, const I* run, int size, I* begins)
{
  const std::size_t s = this_step<I>();
  if (s <= n) begins[s] = s < n && position_in_run(runs_before, run, s) % size == 0 ? 1 : 0;
}

/// Inodes in device memory.
template <class I> struct NodesOf {
  int size;
  I count;
  const I *first, *before;

  __device__ I node(I step) const { return before[step + 1] - 1; }
  __device__ I row_count(I node) const { return first[node + 1] - first[node]; }
};

/// lengths[r] = entries of the inode at position r; lengths[count] = 0
template <class I> __global__ void measure_nodes(Steps<I> steps, NodesOf<I> nodes, const I* order, I* lengths)
{
  const std::size_t r = this_step<I>();
  if (r > static_cast<std::size_t>(nodes.count)) return;
  lengths[r] = r < static_cast<std::size_t>(nodes.count) ? steps.entry_count(nodes.first[order[r]]) : 0;
}

/// Lists the inodes that each inode reads, the nearest last; one warp per inode. Without `column` only counts them:
/// begin[v] becomes their number, and begin[count] 0.
template <class I> __global__ void read_nodes(Steps<I> steps, NodesOf<I> nodes, I* begin, I* column)
{
  const std::size_t v = this_step<I>() / 32;
  if (v > static_cast<std::size_t>(nodes.count)) return;
  const bool is_node = v < static_cast<std::size_t>(nodes.count);
  const I step = is_node ? nodes.first[v] : 0, entries = is_node ? steps.entry_count(step) : 0;
  const int lane = threadIdx.x % 32;
  I found = 0;
  for (I first = 0; first < entries; first += 32) {
    const I e = first + lane, node = e < entries ? nodes.node(steps.reads(step, e)) : -1;
    const bool is_last = node >= 0 && (e + 1 == entries || nodes.node(steps.reads(step, e + 1)) != node);
    const unsigned last = __ballot_sync(~0u, is_last);
    if (column && is_last) column[begin[v] + found + __popc(last & ((1u << lane) - 1))] = node;
    found += __popc(last);
  }
  if (!column && lane == 0) begin[v] = found;
}

/// Device pointers of a NodeRows.
template <class I> struct NodeRowsView {
  const I* begin;
  I *row, *column, *source, *inner;
};

/// Fills NodeRows, one warp per inode.
///   order, position  inodes in level order, and the position of each in it
template <class I>
__global__ void fill_nodes(Steps<I> steps, NodesOf<I> nodes, const I* order, const I* position, NodeRowsView<I> to)
{
  const std::size_t r = this_step<I>() / 32;
  if (r >= static_cast<std::size_t>(nodes.count)) return;
  const int lane = threadIdx.x % 32, size = nodes.size;
  const I node = order[r], step = nodes.first[node], rows = nodes.row_count(node);
  for (I e = lane; e < to.begin[r + 1] - to.begin[r]; e += 32) {
    const std::size_t k = to.begin[r] + e;
    const I read = steps.reads(step, e), of = nodes.node(read);
    to.column[k] = position[of] * size + read - nodes.first[of];
    for (int p = 0; p < size; ++p) to.source[k * size + p] = p < rows ? steps.entry_at(step + p, e) : -1;
  }
  if (lane < size) to.row[r * size + lane] = lane < rows ? steps.row_at(step + lane) : -1;
  if (lane != 0) return;
  const I entries = steps.entry_count(step);
  I* inner = to.inner + r * pairs_of(size);
  for (int p = 1; p < size; ++p)
    for (int q = 0; q < p; ++q) *inner++ = p < rows ? steps.entry_at(step + p, entries + q) : -1;
}

unsigned blocks_of(std::size_t threads) { return blocks_for(threads, threads_a_block); }

/// choose_node_size() of the runs.
template <class I>
int choose_size(std::size_t n, const DeviceArray<I>& runs_before, const DeviceArray<I>& run, cudaStream_t stream)
{
  DeviceArray<unsigned> counts(largest_node - 1);
  counts.fill(0, stream);
  launch(count_nodes<I>, {blocks_of(n), threads_a_block, 0, stream}, n, runs_before.data(), run.data(), counts.data());
  NodeCounts nodes;
  counts.read(nodes.data(), 0, nodes.size(), stream);
  return choose_node_size(nodes, static_cast<double>(n));
}

template <class I> NodesOf<I> nodes_view(const DeviceInodes<I>& nodes)
{
  return {nodes.size, nodes.count, nodes.first.data(), nodes.before.data()};
}

/// Computes the levels of the inodes; on the host if the device would take too long.
template <class I>
void find_levels_of_nodes(const Steps<I>& steps, cudaStream_t stream, std::uint64_t patience, DeviceInodes<I>* nodes)
{
  const std::size_t count = nodes->count;
  const unsigned blocks = blocks_of(32 * (count + 1));
  nodes->begin = DeviceArray<I>(count + 1);
  launch(read_nodes<I>, {blocks, threads_a_block, 0, stream}, steps, nodes_view(*nodes), nodes->begin.data(), nullptr);
  nodes->entries = add_up_and_read(nodes->begin, stream);
  nodes->column = DeviceArray<I>(static_cast<std::size_t>(nodes->entries));
  launch(read_nodes<I>, {blocks, threads_a_block, 0, stream}, steps, nodes_view(*nodes), nodes->begin.data(),
                                                        nodes->column.data());
  const DevicePattern<I> read = nodes->pattern();
  if (find_levels<I>(read, true, {}, &nodes->levels, stream, patience)) return;
  nodes->levels = upload_levels(DeviceTriangle<I>(true, read, -1, true).levels());
}

}  // namespace

template <class I>
InodeSearch<I>::InodeSearch(const DevicePattern<I>& T, bool lower, cudaStream_t stream)
    : T_(T), lower_(lower), stream_(stream)
{
  const std::size_t n = T.n;
  constexpr std::uint64_t most = std::numeric_limits<I>::max();  // slots outnumber rows
  if (n == 0 || n > std::min<std::uint64_t>(most / 2, ~0u - 1)) return;
  runs_before_ = DeviceArray<I>(n + 1);
  launch(find_runs<I>, {blocks_of(n + 1), threads_a_block, 0, stream}, Steps<I>{T, lower}, runs_before_.data());
  exclusive_sum_in_place(runs_before_, stream);
}

template <class I> bool InodeSearch<I>::find(DeviceInodes<I>* out, std::uint64_t patience) const
{
  if (runs_before_.empty()) return false;
  const Steps<I> steps = {T_, lower_};
  const std::size_t n = T_.n;
  const I runs = read_total(runs_before_, stream_);
  if (!are_few_nodes(static_cast<double>(runs), 2, static_cast<double>(n))) return false;
  const DeviceArray<I> run(static_cast<std::size_t>(runs) + 1);
  launch(list_begins<I>, {blocks_of(n + 1), threads_a_block, 0, stream_}, n, runs_before_.data(), run.data());
  DeviceInodes<I> nodes;
  nodes.size = choose_size(n, runs_before_, run, stream_);
  if (nodes.size == 0) return false;
  nodes.before = DeviceArray<I>(n + 1);
  launch(cut_runs<I>, {blocks_of(n + 1), threads_a_block, 0, stream_}, n, runs_before_.data(), run.data(), nodes.size,
                                                        nodes.before.data());
  nodes.count = add_up_and_read(nodes.before, stream_);
  nodes.first = DeviceArray<I>(static_cast<std::size_t>(nodes.count) + 1);
  launch(list_begins<I>, {blocks_of(n + 1), threads_a_block, 0, stream_}, n, nodes.before.data(), nodes.first.data());
  find_levels_of_nodes(steps, stream_, patience, &nodes);
  *out = std::move(nodes);
  return true;
}

template <class I> NodeRows<I> order_nodes(const DevicePattern<I>& T, bool lower, const DeviceInodes<I>& nodes)
{
  const Steps<I> steps = {T, lower};
  const std::size_t count = nodes.count, row_slots = count * nodes.size;
  const I* order = nodes.levels.row.data();
  NodeRows<I> rows;
  rows.begin = DeviceArray<I>(count + 1);
  launch(measure_nodes<I>, {blocks_of(count + 1), threads_a_block}, steps, nodes_view(nodes), order, rows.begin.data());
  const auto entries = static_cast<std::size_t>(add_up_and_read(rows.begin));
  rows.row = DeviceArray<I>(row_slots);
  rows.column = DeviceArray<I>(entries);
  rows.source = DeviceArray<I>(entries * nodes.size);
  rows.inner = DeviceArray<I>(count * pairs_of(nodes.size));
  const DeviceArray<I> position = inverse_permutation(nodes.count, order);
  const NodeRowsView<I> to = {rows.begin.data(), rows.row.data(), rows.column.data(), rows.source.data(),
                              rows.inner.data()};
  launch(fill_nodes<I>, {blocks_of(32 * count), threads_a_block}, steps, nodes_view(nodes), order, position.data(), to);
  SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  return rows;
}

#define INSTANTIATE(I)                                                                           \
  template class InodeSearch<I>;                                                                \
  template NodeRows<I> order_nodes<I>(const DevicePattern<I>&, bool, const DeviceInodes<I>&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
