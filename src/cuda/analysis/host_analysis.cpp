/// Implements cuda/analysis/host_analysis.hpp.

#include "cuda/analysis/host_analysis.hpp"

#include <algorithm>
#include <cstddef>

#include "core/choose/device_model.hpp"
#include "core/support/instantiate.hpp"
#include "syncfree/array.hpp"

namespace syncfree::cuda {
namespace {

template <class I> RowCounts count_rows(const FactorPattern<I>& made)
{
  RowCounts counts;
  for (I i = 0; i < made.n; ++i) {
    const std::int64_t lower = made.lower_begin[i + 1] - made.lower_begin[i];
    const std::int64_t upper = made.upper_begin[i + 1] - made.upper_begin[i];
    counts.most_lower = std::max(counts.most_lower, lower);
    counts.most_upper = std::max(counts.most_upper, upper);
    counts.most = std::max(counts.most, lower + 1 + upper);
  }
  counts.operations = count_operations(made);
  return counts;
}

/// Writes where the values of L, U and the diagonal are in A, whose rows end with the diagonal and U's, and for ILU
/// begin with L's.
///   lower  nullptr for IC
template <class I>
void write_sources(const FactorPattern<I>& made, const PatternView<I>& A, I* lower, I* upper, I* diagonal)
{
  for (I i = 0; i < made.n; ++i) {
    const I uppers = made.upper_begin[i + 1] - made.upper_begin[i], first_upper = A.row_begin[i + 1] - uppers;
    for (I e = 0; e < uppers; ++e) upper[made.upper_begin[i] + e] = first_upper + e;
    diagonal[i] = first_upper - 1;
    const I lowers = made.lower_begin[i + 1] - made.lower_begin[i];
    for (I e = 0; lower && e < lowers; ++e) lower[made.lower_begin[i] + e] = A.row_begin[i] + e;
  }
}

}  // namespace

bool host_analyses_faster(std::int64_t rows, std::int64_t entries)
{
  const DeviceModel& model = device_model;
  return model.host_analysis_row * static_cast<double>(rows) +
             model.host_analysis_entry * static_cast<double>(entries) <=
         model.device_analysis;
}

template <class I>
DeviceFactorPattern<I> pack_pattern(const FactorPattern<I>& made, const PatternView<I>& A, PackedUpload* upload)
{
  DeviceFactorPattern<I> p;
  p.kind = made.kind;
  p.n = made.n;
  p.counts = count_rows(made);
  upload->add_copy(&p.lower_begin, made.lower_begin);
  upload->add_copy(&p.lower_column, made.lower_column);
  upload->add_copy(&p.upper_begin, made.upper_begin);
  upload->add_copy(&p.upper_column, made.upper_column);
  I* const lower = made.kind == Kind::ilu ? upload->add(&p.lower_source, made.lower_column.size()) : nullptr;
  I* const upper = upload->add(&p.upper_source, made.upper_column.size());
  I* const diagonal = upload->add(&p.diagonal_source, static_cast<std::size_t>(made.n));
  write_sources(made, A, lower, upper, diagonal);
  return p;
}

template <class I> DeviceLevels<I> pack_levels(const LevelSets<I>& levels, PackedUpload* upload)
{
  DeviceLevels<I> packed;
  packed.count = levels.count;
  upload->add_copy(&packed.row, levels.row);
  upload->add_copy(&packed.begin, levels.level_begin);
  return packed;
}

template <class I>
PermutedRows<I> pack_rows_by_level(const PatternView<I>& T, bool lower, const LevelSets<I>& levels,
                                   LevelPositions<I>* positions, PackedUpload* upload)
{
  const std::size_t n = static_cast<std::size_t>(T.n), nnz = static_cast<std::size_t>(T.nnz());
  Array<I> place(n);
  for (std::size_t r = 0; r < n; ++r) place[levels.row[r]] = static_cast<I>(r);
  upload->add_copy(&positions->row, levels.row);
  upload->add_copy(&positions->position, place);
  PermutedRows<I> rows;
  I *const begin = upload->add(&rows.begin, n + 1), *const column = upload->add(&rows.column, nnz),
          *const source = upload->add(&rows.source, nnz);
  I to = 0;
  for (std::size_t r = 0; r < n; ++r) {
    const I first = T.row_begin[levels.row[r]], last = T.row_begin[levels.row[r] + 1];
    begin[r] = to;
    for (I e = 0; e < last - first; ++e, ++to) {
      const I k = lower ? first + e : last - 1 - e;
      column[to] = place[T.column[k]], source[to] = k;
    }
  }
  begin[n] = to;
  return rows;
}

template <class I> DeviceInodes<I> pack_inodes(const Inodes<I>& nodes, PackedUpload* upload)
{
  DeviceInodes<I> packed;
  packed.size = nodes.size;
  packed.count = nodes.count;
  packed.entries = static_cast<I>(nodes.column.size());
  upload->add_copy(&packed.first, nodes.first);
  upload->add_copy(&packed.before, nodes.before);
  upload->add_copy(&packed.begin, nodes.begin);
  upload->add_copy(&packed.column, nodes.column);
  packed.levels = pack_levels(nodes.levels, upload);
  return packed;
}

#define INSTANTIATE(I)                                                                                               \
  template DeviceFactorPattern<I> pack_pattern<I>(const FactorPattern<I>&, const PatternView<I>&, PackedUpload*);    \
  template DeviceLevels<I> pack_levels<I>(const LevelSets<I>&, PackedUpload*);                                       \
  template PermutedRows<I> pack_rows_by_level<I>(const PatternView<I>&, bool, const LevelSets<I>&,                   \
                                                 LevelPositions<I>*, PackedUpload*);                                 \
  template DeviceInodes<I> pack_inodes<I>(const Inodes<I>&, PackedUpload*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
