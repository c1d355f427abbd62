/// Implementation of cuda/analysis/factor_pattern.hpp, with a few lanes per row. Where rows are permuted, the position
/// of an entry in its new row is the number of smaller columns; long rows are sorted all together.

#include "cuda/analysis/factor_pattern.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/support/instantiate.hpp"
#include "cuda/base/flag.cuh"
#include "cuda/base/scalar.cuh"
#include "cuda/base/scan.cuh"
#include "cuda/base/search.cuh"
#include "cuda/base/sort.cuh"
#include "cuda/base/thread_id.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 256;
constexpr int lanes = 8;  ///< per row

/// Row and lane of this thread.
template <class I> struct RowLane {
  std::size_t row = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / lanes;
  I lane = static_cast<I>(threadIdx.x % lanes);
};

template <class I> unsigned blocks_of_rows(I rows)
{
  return blocks_for(static_cast<std::size_t>(rows) * lanes, threads_a_block);
}

/// Adds up over the lanes of a row.
template <class I> __device__ I sum_of_row(I own)
{
  const unsigned group = group_of(lanes);
  for (int offset = lanes / 2; offset; offset /= 2) own += __shfl_xor_sync(group, own, offset);
  return own;
}

/// Counts the entries below and above the diagonal of each row, if there are arrays for that, and sets `flawed` if a
/// row has columns that do not ascend or are not below n, or no diagonal.
template <class I>
__global__ void inspect_rows(DevicePattern<I> A, I* below, I* above, unsigned* flawed)
{
  const RowLane<I> own;
  if (own.row >= static_cast<std::size_t>(A.n)) return;
  const I i = static_cast<I>(own.row), begin = A.row_begin[i], end = A.row_begin[i + 1];
  I lower = 0, upper = 0;
  bool good = true;
  for (I k = begin + own.lane; k < end; k += lanes) {
    const I j = A.column[k];
    good = good && j < A.n && j > (k > begin ? A.column[k - 1] : I(-1));
    lower += j < i;
    upper += j > i;
  }
  lower = sum_of_row(lower), upper = sum_of_row(upper);
  if (!good || lower + 1 + upper != end - begin) set_flag_once(flawed);
  if (below && own.lane == 0) below[i] = lower, above[i] = upper;
}

/// The arrays into which rows are split. lower, upper: columns; lower_source is nullptr for IC.
template <class I> struct FactorRows {
  const I *lower_begin, *upper_begin;
  I *lower, *upper, *lower_source, *upper_source, *diagonal_source;
};

/// One row of them.
template <class I> class FactorRow {
public:
  __device__ FactorRow(const FactorRows<I>& rows, I i)
      : rows_(rows), i_(i), lower_begin_(rows.lower_begin[i]), upper_begin_(rows.upper_begin[i]),
        below_(rows.lower_begin[i + 1] - lower_begin_)
  {
  }

  /// Stores an entry.
  ///   rank    its position in the whole row, in which all entries below the diagonal come first
  ///   source  its index in A
  __device__ void store(I rank, I column, I source) const
  {
    if (rank == below_) {
      rows_.diagonal_source[i_] = source;
    } else if (rank < below_) {
      rows_.lower[lower_begin_ + rank] = column;
      if (rows_.lower_source) rows_.lower_source[lower_begin_ + rank] = source;
    } else {
      const I to = upper_begin_ + (rank - below_ - 1);
      rows_.upper[to] = column;
      rows_.upper_source[to] = source;
    }
  }

private:
  const FactorRows<I>& rows_;
  I i_, lower_begin_, upper_begin_, below_;
};

template <class I> __global__ void cut_rows(DevicePattern<I> A, FactorRows<I> rows)
{
  const RowLane<I> own;
  if (own.row >= static_cast<std::size_t>(A.n)) return;
  const I i = static_cast<I>(own.row), begin = A.row_begin[i];
  const FactorRow<I> to(rows, i);
  for (I k = begin + own.lane; k < A.row_begin[i + 1]; k += lanes) to.store(k - begin, A.column[k], k);
}

// Permuted rows

/// Longer rows are sorted, and counted by a whole thread block.
constexpr int most_ranked = 512;

/// A matrix in new orders. Row i is row row_order[i] of A, its columns are column_place[j].
///   row_place, column_place  inverses of the orders, or anything where these are no permutations
template <class I> struct PermutedView {
  DevicePattern<I> A;
  const I *row_order, *column_order, *row_place, *column_place;

  /// False if the orders prove to be no permutations.
  __device__ bool is_inverted(I i) const
  {
    const I row = row_order[i], column = column_order[i];
    const bool in_range = row >= 0 && row < A.n && column >= 0 && column < A.n;
    return in_range && row_place[row] == i && column_place[column] == i;
  }
  __device__ I begin(I i) const { return A.row_begin[row_order[i]]; }
  __device__ I length(I i) const { return A.row_begin[row_order[i] + 1] - begin(i); }
  __device__ I column(I k) const { return column_place[A.column[k]]; }
};

/// place[order[r]] = r. An order that is no permutation leaves gaps.
template <class I> __global__ void find_places(I n, const I* order, I* place)
{
  const std::size_t r = this_thread();
  if (r >= static_cast<std::size_t>(n)) return;
  const I at = order[r];
  if (at >= 0 && at < n) store_relaxed(place + at, static_cast<I>(r));
}

/// As inspect_rows(), of the permuted matrix; also sets `flawed` if an order is no permutation. Omits long rows.
template <class I>
__global__ void inspect_permuted_rows(PermutedView<I> P, I* below, I* above, unsigned* flawed)
{
  const RowLane<I> own;
  if (own.row >= static_cast<std::size_t>(P.A.n)) return;
  const I i = static_cast<I>(own.row);
  const bool good = P.is_inverted(i);
  const I length = good ? P.length(i) : I(0), begin = good ? P.begin(i) : I(0);
  if (length > most_ranked) return;
  I lower = 0, upper = 0;
  for (I e = own.lane; e < length; e += lanes) {
    const I j = P.column(begin + e);
    lower += j < i;
    upper += j > i;
  }
  lower = sum_of_row(lower), upper = sum_of_row(upper);
  if (lower + 1 + upper != length) set_flag_once(flawed);
  if (own.lane == 0) below[i] = lower, above[i] = upper;
}

/// Calls use(i, begin, length) in all threads of the block for each long row among its blockDim.x rows.
template <class I, class Use> __device__ void for_long_rows(const PermutedView<I>& P, const Use& use)
{
  __shared__ I begin[threads_a_block], length[threads_a_block];
  const std::size_t first = blockIdx.x * static_cast<std::size_t>(threads_a_block), row = first + threadIdx.x;
  const bool good = row < static_cast<std::size_t>(P.A.n) && P.is_inverted(static_cast<I>(row));
  length[threadIdx.x] = good ? P.length(static_cast<I>(row)) : I(0);
  begin[threadIdx.x] = good ? P.begin(static_cast<I>(row)) : I(0);
  __syncthreads();
  for (int r = 0; r < threads_a_block; ++r)
    if (length[r] > most_ranked) use(static_cast<I>(first + r), begin[r], length[r]);
}

template <class I> __global__ void inspect_long_rows(PermutedView<I> P, I* below, I* above, unsigned* flawed)
{
  for_long_rows(P, [&](I i, I begin, I length) {
    I lower = 0, upper = 0;
    for (I first = 0; first < length; first += threads_a_block) {
      const I e = first + static_cast<I>(threadIdx.x);
      const I j = e < length ? P.column(begin + e) : i;
      lower += __syncthreads_count(j < i);
      upper += __syncthreads_count(j > i);
    }
    if (threadIdx.x) return;
    if (lower + 1 + upper != length) set_flag_once(flawed);
    below[i] = lower, above[i] = upper;
  });
}

/// Moves each entry of rows that are not long to its place: the number of smaller columns in its row.
template <class I> __global__ void rank_rows(PermutedView<I> P, FactorRows<I> rows)
{
  const RowLane<I> own;
  if (own.row >= static_cast<std::size_t>(P.A.n)) return;
  const I i = static_cast<I>(own.row), length = P.length(i), begin = P.begin(i);
  if (length > most_ranked) return;
  const FactorRow<I> to(rows, i);
  const unsigned group = group_of(lanes);
  for (I first = 0; first < length; first += lanes) {
    const I e = first + own.lane;
    const I j = e < length ? P.column(begin + e) : I(0);
    I rank = 0;
    for (I other = 0; other < length; other += lanes) {
      const I q = other + own.lane < length ? P.column(begin + other + own.lane) : P.A.n;
      for (int lane = 0; lane < lanes; ++lane) rank += __shfl_sync(group, q, lane, lanes) < j;
    }
    if (e < length) to.store(rank, j, begin + e);
  }
}

/// lengths[i] = length of row i if that is long; lengths[n] = 0
template <class I> __global__ void measure_long_rows(PermutedView<I> P, I* lengths)
{
  const std::size_t row = this_thread();
  if (row > static_cast<std::size_t>(P.A.n)) return;
  const I length = row < static_cast<std::size_t>(P.A.n) ? P.length(static_cast<I>(row)) : I(0);
  lengths[row] = length > most_ranked ? length : I(0);
}

/// Gathers the entries of long rows: the key (row, column) and the index in A.
template <class I>
__global__ void gather_long_rows(PermutedView<I> P, const I* long_begin, std::uint64_t* key, I* source)
{
  for_long_rows(P, [&](I i, I begin, I length) {
    for (I e = static_cast<I>(threadIdx.x); e < length; e += threads_a_block) {
      const I to = long_begin[i] + e;
      key[to] = static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(P.A.n) +
                static_cast<std::uint64_t>(P.column(begin + e));
      source[to] = begin + e;
    }
  });
}

template <class I>
__global__ void store_long_rows(I n, std::size_t count, const I* long_begin, const std::uint64_t* key, const I* source,
                                FactorRows<I> rows)
{
  const std::size_t k = this_thread();
  if (k >= count) return;
  const I i = static_cast<I>(key[k] / static_cast<std::uint64_t>(n));
  const I column = static_cast<I>(key[k] % static_cast<std::uint64_t>(n));
  FactorRow<I>(rows, i).store(static_cast<I>(k) - long_begin[i], column, source[k]);
}

/// Moves each entry of long rows to its place.
template <class I> void sort_long_rows(const PermutedView<I>& P, const FactorRows<I>& rows)
{
  const std::size_t n = static_cast<std::size_t>(P.A.n);
  const DeviceArray<I> begin(n + 1);
  launch(measure_long_rows<I>, {blocks_for(n + 1, threads_a_block), threads_a_block}, P, begin.data());
  const std::size_t count = static_cast<std::size_t>(add_up_and_read(begin));
  const DeviceArray<std::uint64_t> key(count), sorted_key(count);
  const DeviceArray<I> source(count), sorted_source(count);
  launch(gather_long_rows<I>, {blocks_for(n, threads_a_block), threads_a_block}, P, begin.data(), key.data(),
         source.data());
  sort_pairs(key.data(), sorted_key, source, sorted_source, bits_of(std::uint64_t{n} * n - 1));
  launch(store_long_rows<I>, {blocks_for(count, threads_a_block), threads_a_block}, P.A.n, count, begin.data(),
         sorted_key.data(), sorted_source.data(), rows);
}

// Both

/// Checks that each entry of L is the transpose of one of U.
template <class I> __global__ void find_partners(DevicePattern<I> L, DevicePattern<I> U, unsigned* flawed)
{
  const RowLane<I> own;
  if (own.row >= static_cast<std::size_t>(L.n)) return;
  const I i = static_cast<I>(own.row);
  for (I k = L.row_begin[i] + own.lane; k < L.row_begin[i + 1]; k += lanes) {
    const I p = L.column[k];
    if (find(U.column, U.row_begin[p], U.row_begin[p + 1], i) < 0) set_flag_once(flawed);
  }
}

/// Result over all rows: RowCounts, entries of L and of U, and whether there is a fault.
struct PatternReport {
  unsigned long long most_lower, most_upper, most, operations, lower, upper;
  unsigned flawed;
};

template <class I>
__global__ void count_rows(I n, const I* lower_begin, const I* upper_begin, PatternReport* report)
{
  unsigned long long most_lower = 0, most_upper = 0, most = 0, operations = 0;
  const std::size_t threads = gridDim.x * static_cast<std::size_t>(blockDim.x);
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
       i < static_cast<std::size_t>(n); i += threads) {
    const auto l = static_cast<unsigned long long>(lower_begin[i + 1] - lower_begin[i]);
    const auto u = static_cast<unsigned long long>(upper_begin[i + 1] - upper_begin[i]);
    most_lower = max(most_lower, l);
    most_upper = max(most_upper, u);
    most = max(most, l + 1 + u);
    operations += 1 + u * (1 + 2 * u);
  }
  for (int offset = 16; offset; offset /= 2) {
    most_lower = max(most_lower, __shfl_xor_sync(~0u, most_lower, offset));
    most_upper = max(most_upper, __shfl_xor_sync(~0u, most_upper, offset));
    most = max(most, __shfl_xor_sync(~0u, most, offset));
    operations += __shfl_xor_sync(~0u, operations, offset);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    report->lower = static_cast<unsigned long long>(lower_begin[n]);
    report->upper = static_cast<unsigned long long>(upper_begin[n]);
  }
  if (threadIdx.x % 32) return;
  red_max_relaxed(&report->most_lower, most_lower);
  red_max_relaxed(&report->most_upper, most_upper);
  red_max_relaxed(&report->most, most);
  red_add_relaxed(&report->operations, operations);
}

/// Reads the report, including faults set by earlier launches; waits.
template <class I>
PatternReport count_pattern(DeviceFactorPattern<I>* p, const DeviceArray<PatternReport>& report,
                    const std::function<void()>& meanwhile = {})
{
  constexpr unsigned blocks = 1024;
  launch(count_rows<I>, {std::min(blocks, blocks_for(p->n, threads_a_block)), threads_a_block}, p->n,
         p->lower_begin.data(), p->upper_begin.data(), report.data());
  if (meanwhile) meanwhile();
  PatternReport found;
  report.read(&found, 0, 1, nullptr);
  const auto number = [](unsigned long long v) { return static_cast<std::int64_t>(v); };
  p->counts = {number(found.most_lower), number(found.most_upper), number(found.most), number(found.operations)};
  return found;
}

DeviceArray<PatternReport> empty_report()
{
  DeviceArray<PatternReport> report(1);
  report.fill(0, nullptr);
  return report;
}

/// True if each row of A is that of L, the diagonal and that of U, in sequence. For IC: if it ends with the last two.
template <class I> bool in_order(const FactorPattern<I>& p, const PatternView<I>& A)
{
  if (!p.natural()) return false;
  for (I i = 0; i < p.n; ++i) {
    const I diagonal = A.row_begin[i + 1] - (p.upper_begin[i + 1] - p.upper_begin[i]) - 1;
    if (diagonal < A.row_begin[i] || A.column[diagonal] != i) return false;
    const I before = p.lower_begin[i + 1] - p.lower_begin[i];
    if (p.kind == Kind::ilu && diagonal - before != A.row_begin[i]) return false;
  }
  return true;
}

/// Finds the sources if A has its rows in another order, or fewer entries.
template <class I>
void look_up_sources(const FactorPattern<I>& p, const PatternView<I>& A, DeviceFactorPattern<I>* out)
{
  std::vector<I> source(p.n), lower(p.lower_column.size()), upper(p.upper_column.size()), diagonal(p.n);
  for (I i = 0; i < p.n; ++i) {
    for (I k = p.lower_begin[i]; k < p.lower_begin[i + 1]; ++k) source[p.lower_column[k]] = -1;
    for (I k = p.upper_begin[i]; k < p.upper_begin[i + 1]; ++k) source[p.upper_column[k]] = -1;
    source[i] = -1;
    const I row = p.natural() ? i : p.row_order[i];
    for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k)
      source[p.natural() ? A.column[k] : p.column_place[A.column[k]]] = k;
    for (I k = p.lower_begin[i]; k < p.lower_begin[i + 1]; ++k) lower[k] = source[p.lower_column[k]];
    for (I k = p.upper_begin[i]; k < p.upper_begin[i + 1]; ++k) upper[k] = source[p.upper_column[k]];
    diagonal[i] = source[i];
  }
  if (p.kind == Kind::ilu) out->lower_source = DeviceArray<I>(lower);
  out->upper_source = DeviceArray<I>(upper);
  out->diagonal_source = DeviceArray<I>(diagonal);
}

/// Allocates the sources of a pattern whose columns are allocated.
template <class I> void make_sources(DeviceFactorPattern<I>* p)
{
  p->lower_source = DeviceArray<I>(p->kind == Kind::ilu ? p->lower_column.size() : 0);
  p->upper_source = DeviceArray<I>(p->upper_column.size());
  p->diagonal_source = DeviceArray<I>(p->n);
}

template <class I> bool is_symmetric(const DeviceFactorPattern<I>& p)
{
  if (p.lower_column.size() != p.upper_column.size()) return false;
  const Flag flawed;
  launch(find_partners<I>, {blocks_of_rows(p.n), threads_a_block}, p.lower(), p.upper(), flawed.data());
  return !flawed.is_raised();
}

/// Makes L and U. Returns false if a row is flawed or, for IC, if the pattern is not symmetric.
///   inspect(below, above, flawed)  queues a launch that counts the entries of each row
///   cut(counts, rows)              queues one that moves them, or waits for it
template <class I, class Inspect, class Cut>
bool split_rows(Kind kind, I n, const Inspect& inspect, const Cut& cut, const std::function<void()>& meanwhile,
                DeviceFactorPattern<I>* out)
{
  DeviceFactorPattern<I> p;
  p.kind = kind;
  p.n = n;
  p.lower_begin = DeviceArray<I>(static_cast<std::size_t>(n) + 1);
  p.upper_begin = DeviceArray<I>(static_cast<std::size_t>(n) + 1);
  const DeviceArray<PatternReport> report = empty_report();
  for (const DeviceArray<I>* lengths : {&p.lower_begin, &p.upper_begin})
    SYNCFREE_CUDA(cudaMemsetAsync(lengths->data() + n, 0, sizeof(I), nullptr));
  inspect(p.lower_begin.data(), p.upper_begin.data(), &report.data()->flawed);
  exclusive_sums_in_place(p.lower_begin, p.upper_begin);
  const PatternReport found = count_pattern(&p, report, meanwhile);
  if (found.flawed) return false;
  p.lower_column = DeviceArray<I>(static_cast<std::size_t>(found.lower));
  p.upper_column = DeviceArray<I>(static_cast<std::size_t>(found.upper));
  make_sources(&p);
  cut(p.counts, FactorRows<I>{p.lower_begin.data(), p.upper_begin.data(), p.lower_column.data(), p.upper_column.data(),
                              p.lower_source.data(), p.upper_source.data(), p.diagonal_source.data()});
  if (kind == Kind::icc && !is_symmetric(p)) return false;
  *out = std::move(p);
  return true;
}

}  // namespace

template <class I> DeviceFactorPattern<I> upload_pattern(const FactorPattern<I>& made, const PatternView<I>& A)
{
  DeviceFactorPattern<I> p;
  p.kind = made.kind;
  p.n = made.n;
  p.lower_begin = DeviceArray<I>(made.lower_begin), p.lower_column = DeviceArray<I>(made.lower_column);
  p.upper_begin = DeviceArray<I>(made.upper_begin), p.upper_column = DeviceArray<I>(made.upper_column);
  if (p.n == 0) return p;
  if (in_order(made, A)) {
    make_sources(&p);
    const DeviceArray<I> begin(A.row_begin, static_cast<std::size_t>(A.n) + 1);
    find_sources_in_order(A.n, begin.data(), p.lower_begin.data(), p.upper_begin.data(), p.lower_source.data(),
                          p.upper_source.data(), p.diagonal_source.data());
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  } else {
    look_up_sources(made, A, &p);
  }
  count_pattern(&p, empty_report());
  return p;
}

template <class I>
bool split(Kind kind, const DevicePattern<I>& A, DeviceFactorPattern<I>* out, const std::function<void()>& meanwhile)
{
  if (A.n == 0) return false;
  const auto inspect = [&](I* below, I* above, unsigned* flawed) {
    launch(inspect_rows<I>, {blocks_of_rows(A.n), threads_a_block}, A, below, above, flawed);
  };
  const auto cut = [&](const RowCounts&, const FactorRows<I>& rows) {
    launch(cut_rows<I>, {blocks_of_rows(A.n), threads_a_block}, A, rows);
  };
  return split_rows(kind, A.n, inspect, cut, meanwhile, out);
}

template <class I> bool has_full_rows(const DevicePattern<I>& A)
{
  if (A.n == 0) return true;
  const Flag flawed;
  launch(inspect_rows<I>, {blocks_of_rows(A.n), threads_a_block}, A, nullptr, nullptr, flawed.data());
  return !flawed.is_raised();
}

template <class I>
bool split_permuted(Kind kind, const DevicePattern<I>& A, const Orders<I>& orders, DeviceFactorPattern<I>* out)
{
  const bool one_order = orders.row == orders.column;
  const bool too_many = static_cast<std::uint64_t>(A.n) >> 32;  // for the keys of sort_long_rows()
  if (A.n == 0 || too_many || (kind == Kind::icc && !one_order)) return false;
  const std::size_t n = static_cast<std::size_t>(A.n);
  DeviceArray<I> column_place(n), row_place(one_order ? 0 : n);
  column_place.fill(0xff, nullptr), row_place.fill(0xff, nullptr);  // what is no permutation leaves some unset
  const LaunchParameters by_row = {blocks_for(n, threads_a_block), threads_a_block};
  const LaunchParameters by_lanes = {blocks_of_rows(A.n), threads_a_block};
  launch(find_places<I>, by_row, A.n, orders.column, column_place.data());
  if (!one_order) launch(find_places<I>, by_row, A.n, orders.row, row_place.data());
  const PermutedView<I> P = {A, orders.row, orders.column, (one_order ? column_place : row_place).data(),
                             column_place.data()};
  const auto inspect = [&](I* below, I* above, unsigned* flawed) {
    launch(inspect_permuted_rows<I>, by_lanes, P, below, above, flawed);
    launch(inspect_long_rows<I>, by_row, P, below, above, flawed);
  };
  const auto cut = [&](const RowCounts& counts, const FactorRows<I>& rows) {
    launch(rank_rows<I>, by_lanes, P, rows);
    if (counts.most > most_ranked) sort_long_rows(P, rows);
  };
  return split_rows(kind, A.n, inspect, cut, {}, out);
}

#define INSTANTIATE(I)                                                                                           \
  template DeviceFactorPattern<I> upload_pattern<I>(const FactorPattern<I>&, const PatternView<I>&);             \
  template bool has_full_rows<I>(const DevicePattern<I>&);                                                       \
  template bool split_permuted<I>(Kind, const DevicePattern<I>&, const Orders<I>&, DeviceFactorPattern<I>*);     \
  template bool split<I>(Kind, const DevicePattern<I>&, DeviceFactorPattern<I>*, const std::function<void()>&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
