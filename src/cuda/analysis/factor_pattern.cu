/// Implementation of cuda/analysis/factor_pattern.hpp, with a few lanes per row.

#include "cuda/analysis/factor_pattern.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/support/instantiate.hpp"
#include "cuda/base/flag.cuh"
#include "cuda/base/scalar.cuh"
#include "cuda/base/scan.cuh"
#include "cuda/base/search.cuh"
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

/// Counts the entries below and above the diagonal of each row, and sets `flawed` if a row has columns that do not
/// ascend or are not below n, or no diagonal.
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
  const unsigned group = group_of(lanes);
  for (int offset = lanes / 2; offset; offset /= 2) {
    lower += __shfl_xor_sync(group, lower, offset);
    upper += __shfl_xor_sync(group, upper, offset);
  }
  if (!good || lower + 1 + upper != end - begin) set_flag_once(flawed);
  if (own.lane == 0) below[i] = lower, above[i] = upper;
}

/// Splits rows. lower, upper: columns; lower_source is nullptr for IC.
template <class I>
__global__ void cut_rows(DevicePattern<I> A, const I* lower_begin, const I* upper_begin, I* lower, I* upper,
                         I* lower_source, I* upper_source, I* diagonal_source)
{
  const RowLane<I> own;
  if (own.row >= static_cast<std::size_t>(A.n)) return;
  const I i = static_cast<I>(own.row), begin = A.row_begin[i], diagonal = begin + lower_begin[i + 1] - lower_begin[i];
  if (own.lane == 0) diagonal_source[i] = diagonal;
  for (I k = begin + own.lane; k < A.row_begin[i + 1]; k += lanes) {
    if (k == diagonal) continue;
    const bool is_lower = k < diagonal;
    const I to = is_lower ? lower_begin[i] + k - begin : upper_begin[i] + k - diagonal - 1;
    (is_lower ? lower : upper)[to] = A.column[k];
    if (!is_lower) upper_source[to] = k;
    else if (lower_source) lower_source[to] = k;
  }
}

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
  DeviceFactorPattern<I> p;
  p.kind = kind;
  p.n = A.n;
  p.lower_begin = DeviceArray<I>(static_cast<std::size_t>(A.n) + 1);
  p.upper_begin = DeviceArray<I>(static_cast<std::size_t>(A.n) + 1);
  const DeviceArray<PatternReport> report = empty_report();
  for (const DeviceArray<I>* lengths : {&p.lower_begin, &p.upper_begin})
    SYNCFREE_CUDA(cudaMemsetAsync(lengths->data() + A.n, 0, sizeof(I), nullptr));
  launch(inspect_rows<I>, {blocks_of_rows(A.n), threads_a_block}, A, p.lower_begin.data(), p.upper_begin.data(),
                                                            &report.data()->flawed);
  exclusive_sum_in_place(p.lower_begin);
  exclusive_sum_in_place(p.upper_begin);
  const PatternReport found = count_pattern(&p, report, meanwhile);
  if (found.flawed) return false;
  p.lower_column = DeviceArray<I>(static_cast<std::size_t>(found.lower));
  p.upper_column = DeviceArray<I>(static_cast<std::size_t>(found.upper));
  make_sources(&p);
  launch(cut_rows<I>, {blocks_of_rows(A.n), threads_a_block}, A, p.lower_begin.data(), p.upper_begin.data(),
         p.lower_column.data(), p.upper_column.data(), p.lower_source.data(), p.upper_source.data(),
                                                        p.diagonal_source.data());
  if (kind == Kind::icc && !is_symmetric(p)) return false;
  *out = std::move(p);
  return true;
}

#define INSTANTIATE(I)                                                                                \
  template DeviceFactorPattern<I> upload_pattern<I>(const FactorPattern<I>&, const PatternView<I>&); \
  template bool split<I>(Kind, const DevicePattern<I>&, DeviceFactorPattern<I>*, const std::function<void()>&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
