/// Cuts a triangle into blocks and chooses a kernel for each.

#include "block_plan.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

#include "core/support/instantiate.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {

const char* name_of(BlockKernel kernel)
{
  switch (kernel) {
    case BlockKernel::diagonal: return "diagonal";
    case BlockKernel::level_set: return "level_set";
    case BlockKernel::sync_free: return "csc_sync_free";
    case BlockKernel::level_order: return "level_order";
    case BlockKernel::vendor: return "cusparse";
    case BlockKernel::scalar_csr: return "scalar_csr";
    case BlockKernel::vector_csr: return "vector_csr";
    case BlockKernel::scalar_dcsr: return "scalar_dcsr";
    case BlockKernel::vector_dcsr: return "vector_dcsr";
  }
  return "";
}

/// least_rows is 20 rows per core: 16,896 cores of the H200, 4,608 of the Titan RTX.
static constexpr BlockTable tables[] = {
    {"h200", 337920, 1000, 1e9, 2, 0, 0, INT64_MAX, BlockKernel::level_order, true, 16, 1, 0.03},
    {"paper", 92160, 1e300, 15, 20, 1, 100, 20000, BlockKernel::sync_free, false, 12, 0.5, 0.15}};

const BlockTable* find_block_table(const std::string& name)
{
  for (const BlockTable& table : tables)
    if (name == table.name) return &table;
  return nullptr;
}

const std::vector<const char*>& block_table_names()
{
  static const std::vector<const char*> names = [] {
    std::vector<const char*> list;
    for (const BlockTable& table : tables) list.push_back(table.name);
    return list;
  }();
  return names;
}

BlockKernel choose_triangle_kernel(const BlockTable& table, double entries_a_row, std::int64_t levels)
{
  if (levels <= 1) return BlockKernel::diagonal;
  if (levels > table.vendor_levels) return BlockKernel::vendor;
  if (entries_a_row <= table.single_entries && levels <= table.single_levels) return BlockKernel::level_set;
  if (entries_a_row <= table.level_set_entries && levels <= table.level_set_levels) return BlockKernel::level_set;
  return table.otherwise;
}

BlockKernel choose_rectangle_kernel(const BlockTable& table, double entries_a_row, double empty_ratio)
{
  if (table.by_filled_rows && empty_ratio < 1) entries_a_row /= 1 - empty_ratio;
  if (entries_a_row <= table.scalar_entries)
    return empty_ratio <= table.scalar_empty ? BlockKernel::scalar_csr : BlockKernel::scalar_dcsr;
  return empty_ratio <= table.vector_empty ? BlockKernel::vector_csr : BlockKernel::vector_dcsr;
}

Status read_block_options(const BlockOptions& options, BlockTable* out)
{
  const BlockTable* table = find_block_table(options.table);
  if (!table) return failed(Code::invalid_argument, "unknown table of block kernels: " + options.table);
  if (options.cut_rows < 0)
    return failed(Code::invalid_argument, "minimum number of rows of a block must not be negative");
  *out = *table;
  if (options.cut_rows > 0) {  // forced, whatever the levels are
    out->least_rows = options.cut_rows;
    out->most_rows_a_level = 1e300;
  }
  return {};
}

namespace {

/// Rows and columns of a block, in positions; equal for a triangle.
template <class I> struct Range {
  I first_row, rows, first_column, columns;
  bool triangle() const { return first_row == first_column; }
};

template <class I> class Cutter {
public:
  Cutter(PatternView<I> T, bool lower, const BlockTable& table)
      : T_(T), table_(table), row_(T.n), position_(T.n), depth_(T.n), sorted_(T.n)
  {
    for (I p = 0; p < T.n; ++p) place_row(lower ? p : T.n - 1 - p, p);
  }

  void cut(BlockShape shape)
  {
    if (shape == BlockShape::recursive) return cut_recursively(0, T_.n);
    I parts = 1;
    while (T_.n / (2 * parts) >= least_rows()) parts *= 2;
    const auto border = [&](I part) { return static_cast<I>(static_cast<std::int64_t>(T_.n) * part / parts); };
    for (I part = 0; part < parts; ++part) {
      const I first = border(part), end = border(part + 1);
      if (shape == BlockShape::row && part > 0) ranges_.push_back({first, end - first, 0, first});
      ranges_.push_back({first, end - first, first, end - first});
      if (shape == BlockShape::column && end < T_.n) ranges_.push_back({end, T_.n - end, first, end - first});
    }
  }

  void extract(BlockPlan<I>* plan)
  {
    sort_entries();
    plan->column.reserve(T_.nnz());
    plan->source.reserve(T_.nnz());
    for (const Range<I>& range : ranges_)
      if (range.rows > 0) add_block(range, plan);
    plan->row = std::move(row_);
  }

private:
  I least_rows() const { return static_cast<I>(std::min<std::int64_t>(table_.least_rows, std::max<I>(T_.n, 1))); }

  void place_row(I row, I position)
  {
    row_[position] = row;
    position_[row] = position;
  }

  void cut_recursively(I first, I count)
  {
    const double rows_a_level = static_cast<double>(count) / static_cast<double>(sort_by_levels(first, count));
    if (count / 2 < least_rows() || rows_a_level > table_.most_rows_a_level) {
      ranges_.push_back({first, count, first, count});
      return;
    }
    const I half = count / 2;
    cut_recursively(first, half);
    ranges_.push_back({first + half, count - half, first, half});
    cut_recursively(first + half, count - half);
  }

  /// Stable sort by the levels that the rows have without the rows before `first`. Returns the number of levels.
  I sort_by_levels(I first, I count)
  {
    I levels = 1;
    for (I p = first; p < first + count; ++p) {
      I depth = 0;
      for (I k = T_.row_begin[row_[p]]; k < T_.row_begin[row_[p] + 1]; ++k) {
        const I q = position_[T_.column[k]];
        if (q >= first) depth = std::max<I>(depth, depth_[q] + 1);
      }
      depth_[p] = depth;
      levels = std::max<I>(levels, depth + 1);
    }
    level_begin_.assign(static_cast<std::size_t>(levels) + 1, 0);
    for (I p = first; p < first + count; ++p) ++level_begin_[depth_[p] + 1];
    std::partial_sum(level_begin_.begin(), level_begin_.end(), level_begin_.begin());
    for (I p = first; p < first + count; ++p) sorted_[level_begin_[depth_[p]]++] = row_[p];
    for (I k = 0; k < count; ++k) place_row(sorted_[k], first + k);
    return levels;
  }

  /// Sorts all entries by the position of their row, then of their column.
  void sort_entries()
  {
    begin_.resize(static_cast<std::size_t>(T_.n) + 1);
    entry_.resize(T_.nnz());
    begin_[0] = 0;
    for (I p = 0; p < T_.n; ++p) {
      const I row = row_[p], end = T_.row_begin[row + 1];
      I to = begin_[p];
      for (I k = T_.row_begin[row]; k < end; ++k) entry_[to++] = {position_[T_.column[k]], k};
      std::sort(entry_.begin() + begin_[p], entry_.begin() + to);
      begin_[p + 1] = to;
    }
  }

  /// Entries [begin, end) of entry_ of the row at position p that are in the range.
  std::pair<I, I> part_of(I p, const Range<I>& range) const
  {
    const auto first = entry_.begin() + begin_[p], last = entry_.begin() + begin_[p + 1];
    const auto before = [](const std::pair<I, I>& entry, I position) { return entry.first < position; };
    const auto from = std::lower_bound(first, last, range.first_column, before);
    const auto to = std::lower_bound(from, last, range.first_column + range.columns, before);
    return {static_cast<I>(from - entry_.begin()), static_cast<I>(to - entry_.begin())};
  }

  void add_block(const Range<I>& range, BlockPlan<I>* plan)
  {
    Block<I> block{};
    block.first_row = range.first_row;
    block.rows = range.rows;
    block.first_column = range.first_column;
    block.columns = range.columns;
    block.begin = plan->row_begin.size();
    block.entry = plan->column.size();
    block.stored_row = plan->stored_row.size();
    const std::size_t entries = measure(range, &block);
    if (!range.triangle() && entries == 0) return;
    const double rows = static_cast<double>(range.rows), mean = static_cast<double>(entries) / rows;
    const double empty_ratio = 1 - static_cast<double>(block.filled) / rows;
    block.kernel = range.triangle() ? choose_triangle_kernel(table_, mean, block.levels)
                                    : choose_rectangle_kernel(table_, mean, empty_ratio);
    block.stored = block.only_filled() ? block.filled : block.rows;
    plan->row_begin.push_back(0);
    for (I r = 0; r < range.rows; ++r) {
      const auto [from, to] = part_of(range.first_row + r, range);
      if (block.only_filled() && from == to) continue;
      for (I k = from; k < to; ++k) {
        plan->column.push_back(entry_[k].first - range.first_column);
        plan->source.push_back(entry_[k].second);
      }
      plan->row_begin.push_back(static_cast<I>(plan->column.size() - block.entry));
      if (block.only_filled()) plan->stored_row.push_back(r);
    }
    plan->blocks.push_back(block);
  }

  /// Counts the entries of the range; sets filled and levels.
  std::size_t measure(const Range<I>& range, Block<I>* block)
  {
    std::size_t entries = 0;
    for (I r = 0; r < range.rows; ++r) {
      const auto [from, to] = part_of(range.first_row + r, range);
      entries += static_cast<std::size_t>(to - from);
      block->filled += to > from;
      if (!range.triangle()) continue;
      I depth = 0;
      for (I k = from; k < to; ++k) depth = std::max<I>(depth, depth_[entry_[k].first] + 1);
      depth_[range.first_row + r] = depth;
      block->levels = std::max<I>(block->levels, depth + 1);
    }
    return entries;
  }

  PatternView<I> T_;
  BlockTable table_;
  std::vector<I> row_, position_;  ///< row of a position, position of a row
  std::vector<I> depth_;           ///< by position
  std::vector<I> sorted_, level_begin_;
  std::vector<Range<I>> ranges_;   ///< in the order of execution
  std::vector<I> begin_;           ///< by position, in entry_
  std::vector<std::pair<I, I>> entry_;  ///< position of the column, index in T
};

}  // namespace

template <class I>
Status make_block_plan(PatternView<I> T, bool lower, BlockShape shape, const BlockTable& table, BlockPlan<I>* out)
try {
  BlockPlan<I> plan;
  Cutter<I> cutter(T, lower, table);
  cutter.cut(shape);
  cutter.extract(&plan);
  *out = std::move(plan);
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) \
  template Status make_block_plan<I>(PatternView<I>, bool, BlockShape, const BlockTable&, BlockPlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
