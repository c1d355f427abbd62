/// What courier_plan.hpp declares.

#include "courier_plan.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "instantiate.hpp"

namespace syncfree {
namespace {

/// An entry of the own block whose row is so many levels back has long been computed: it may as well come by mail.
constexpr std::int64_t recent_levels = 12;
/// Part of the rows that may have more recent entries than `near`.
constexpr double most_crowded = 0.05;

template <class I> class Planner {
public:
  Planner(PatternView<I> T, bool lower, const LevelSets<I>& levels, const CourierRule& rule, CourierPlan<I>* plan)
      : T_(T), lower_(lower), levels_(levels), rule_(rule), plan_(*plan), depth_(T.n), block_of_(T.n)
  {
    for (I level = 0; level < levels.count; ++level)
      for (I k = levels.level_begin[level]; k < levels.level_begin[level + 1]; ++k) depth_[levels.row[k]] = level;
  }

  Status run()
  {
    cut();
    plan_.near = rule_.near ? rule_.near : choose_near();
    sort_rows();
    plan_.warps = rule_.warps ? rule_.warps : choose_warps();
    for (std::size_t t = 0; t < plan_.block.size(); ++t) make_steps(t);
    split();
    number_mail();
    return write();
  }

private:
  RowBlock& block_with(I row) { return plan_.block[block_of_[row]]; }
  bool in_block(const RowBlock& block, I row) const
  {
    return row >= block.first_row && row < block.first_row + static_cast<std::int64_t>(block.rows);
  }
  std::int64_t work_of(I row) const { return 4 + (T_.row_begin[row + 1] - T_.row_begin[row]); }

  /// Blocks of equal work, none with too many rows.
  void cut()
  {
    std::int64_t work = 0;
    const std::int64_t blocks = std::max<std::int64_t>(1, std::min<std::int64_t>(rule_.blocks, T_.n));
    const std::int64_t most = std::max<std::int64_t>(1, std::min(rule_.rows, courier_most_rows));
    const double share = static_cast<double>(T_.nnz() + 4 * static_cast<std::int64_t>(T_.n)) / static_cast<double>(blocks);
    for (I step = 0; step < T_.n; ++step) {
      const I row = lower_ ? step : T_.n - 1 - step;
      const bool full = plan_.block.empty() || plan_.block.back().rows >= most ||
                        static_cast<double>(work) >= share * static_cast<double>(plan_.block.size());
      if (full) plan_.block.emplace_back();
      RowBlock& block = plan_.block.back();
      block.first_row = lower_ && block.rows > 0 ? block.first_row : row;
      ++block.rows;
      block_of_[row] = static_cast<I>(plan_.block.size() - 1);
      work += work_of(row);
    }
  }

  /// The least number for which few rows have more recent entries in their block.
  int choose_near() const
  {
    std::int64_t crowded[5] = {};
    static constexpr int sizes[] = {2, 4, 8, 16};
    for (I row = 0; row < T_.n; ++row) {
      std::int64_t recent = 0;
      for (I k = T_.row_begin[row]; k < T_.row_begin[row + 1]; ++k)
        recent += block_of_[T_.column[k]] == block_of_[row] && depth_[T_.column[k]] + recent_levels >= depth_[row];
      for (int s = 0; s < 4; ++s) crowded[s] += recent > sizes[s];
    }
    for (int s = 0; s < 3; ++s)
      if (sizes[s + 1] > rule_.most_near || static_cast<double>(crowded[s]) <= most_crowded * static_cast<double>(T_.n))
        return sizes[s];
    return sizes[3];
  }

  /// Rows of all blocks by level, in pages.
  void sort_rows()
  {
    std::int64_t pages = 0;
    for (RowBlock& block : plan_.block) {
      block.first_page = pages;
      block.pages = (block.rows + courier_page - 1) / courier_page;
      pages += block.pages;
    }
    plan_.row.assign(static_cast<std::size_t>(pages) * courier_page, I(-1));
    std::vector<std::int64_t> next;
    for (const RowBlock& block : plan_.block) next.push_back(block.first_page * courier_page);
    for (const I row : levels_.row) plan_.row[next[block_of_[row]]++] = row;
  }

  std::int64_t levels_of(const RowBlock& block) const
  {
    const I* row = plan_.row.data() + block.first_page * courier_page;
    std::int64_t count = 1;
    for (std::uint32_t p = 1; p < block.rows; ++p) count += depth_[row[p]] != depth_[row[p - 1]];
    return count;
  }

  /// For twice the mean width of a level in a block: levels begin and end narrow.
  int choose_warps() const
  {
    double width = 0;
    for (const RowBlock& block : plan_.block)
      width += static_cast<double>(block.rows) / static_cast<double>(levels_of(block));
    if (!plan_.block.empty()) width /= static_cast<double>(plan_.block.size());
    return std::clamp(static_cast<int>((2 * width + 31) / 32), 1, rule_.most_warps);
  }

  void make_steps(std::size_t t)
  {
    RowBlock& block = plan_.block[t];
    const I* row = plan_.row.data() + block.first_page * courier_page;
    const std::uint32_t most = 32 * static_cast<std::uint32_t>(plan_.warps);
    block.first_step = static_cast<std::int64_t>(plan_.step_end.size());
    std::uint32_t begin = 0;
    for (std::uint32_t p = 1; p <= block.rows; ++p) {
      if (p < block.rows && depth_[row[p]] == depth_[row[begin]] && p - begin < most) continue;
      plan_.step_end.push_back(p);
      begin = p;
    }
    block.steps = static_cast<std::uint32_t>(plan_.step_end.size() - block.first_step);
  }

  /// Moves the entries of row `row` that are near to the front of `entry`, latest last; returns how many.
  std::size_t near_first(I row, const RowBlock& block, std::vector<I>* entry) const
  {
    entry->resize(T_.row_begin[row + 1] - T_.row_begin[row]);
    for (std::size_t e = 0; e < entry->size(); ++e) (*entry)[e] = T_.row_begin[row] + static_cast<I>(e);
    const auto depth = [&](I k) { return depth_[T_.column[k]]; };
    auto end = std::stable_partition(entry->begin(), entry->end(), [&](I k) { return in_block(block, T_.column[k]); });
    if (end - entry->begin() > plan_.near) {
      std::stable_sort(entry->begin(), end, [&](I k, I j) { return depth(k) > depth(j); });
      end = entry->begin() + plan_.near;
      std::reverse(entry->begin(), end);
    } else {
      std::stable_sort(entry->begin(), end, [&](I k, I j) { return depth(k) < depth(j); });
    }
    return static_cast<std::size_t>(end - entry->begin());
  }

  /// The near entries of every position, and who has to send mail.
  void split()
  {
    plan_.source.assign(plan_.row.size() * plan_.near, I(-1));
    wanted_.assign(T_.n, 0);
    std::vector<I> entry;
    for (const RowBlock& block : plan_.block)
      for (std::uint32_t p = 0; p < block.rows; ++p) {
        const std::int64_t at = block.first_page * courier_page + p;
        const std::size_t near = near_first(plan_.row[at], block, &entry);
        for (std::size_t j = 0; j < near; ++j) plan_.source[near_place(at, j)] = entry[j];
        for (std::size_t j = near; j < entry.size(); ++j) wanted_[T_.column[entry[j]]] = 1;
      }
  }

  std::size_t near_place(std::int64_t position, std::size_t j) const
  {
    const std::int64_t page = position / courier_page;
    return (page * plan_.near + j) * courier_page + position % courier_page;
  }

  void number_mail()
  {
    mail_.assign(T_.n, courier_no_mail);
    for (RowBlock& block : plan_.block) {
      block.first_mail = plan_.mails;
      const I* row = plan_.row.data() + block.first_page * courier_page;
      for (std::uint32_t p = 0; p < block.rows; ++p)
        if (wanted_[row[p]]) mail_[row[p]] = plan_.mails++;
      block.mails = plan_.mails - block.first_mail;
    }
  }

  Status write()
  {
    plan_.index.assign(plan_.pages() * plan_.planes() * courier_page, 0);
    for (RowBlock& block : plan_.block) {
      block.first_far_row = static_cast<std::int64_t>(plan_.far_slot.size());
      block.first_far = static_cast<std::int64_t>(plan_.far_place.size());
      block.first_far_begin = static_cast<std::int64_t>(plan_.far_begin.size());
      plan_.far_begin.push_back(0);
      for (std::uint32_t p = 0; p < block.pages * courier_page; ++p) {
        const std::int64_t far = static_cast<std::int64_t>(plan_.far_place.size()) - block.first_far;
        if (far > 0xf0000000ll) return failed(Code::invalid_argument, "a block of rows with 2^32 entries");
        write_position(block, p);
      }
      block.far_rows = static_cast<std::uint32_t>(plan_.far_slot.size() - block.first_far_row);
    }
    return {};
  }

  void write_position(RowBlock& block, std::uint32_t p)
  {
    const std::int64_t at = block.first_page * courier_page + p;
    std::uint16_t* index = plan_.page_index(at / courier_page) + at % courier_page;
    const auto zero = static_cast<std::uint16_t>(block.rows);
    const I row = plan_.row[at];
    for (int j = 0; j < plan_.near; ++j) {
      const I k = plan_.source[near_place(at, j)];
      index[(j + 1) * courier_page] = k < 0 ? zero : static_cast<std::uint16_t>(T_.column[k] - block.first_row);
    }
    const std::uint32_t mail = row < 0 ? courier_no_mail : mail_[row];
    index[(plan_.near + 1) * courier_page] = static_cast<std::uint16_t>(mail);
    index[(plan_.near + 2) * courier_page] = static_cast<std::uint16_t>(mail >> 16);
    index[0] = row < 0 ? zero : static_cast<std::uint16_t>(row - block.first_row);
    if (row >= 0 && write_far(block, at)) index[0] |= courier_far;
  }

  /// The entries of a row that are not near; false if there are none.
  bool write_far(const RowBlock& block, std::int64_t at)
  {
    const I row = plan_.row[at];
    const std::size_t before = plan_.far_place.size();
    for (I k = T_.row_begin[row]; k < T_.row_begin[row + 1]; ++k) {
      bool near = false;
      if (in_block(block, T_.column[k]))
        for (int j = 0; j < plan_.near; ++j) near = near || plan_.source[near_place(at, j)] == k;
      if (near) continue;
      plan_.far_place.push_back(mail_[T_.column[k]]);
      plan_.far_source.push_back(k);
    }
    if (plan_.far_place.size() == before) return false;
    plan_.far_slot.push_back(static_cast<std::uint16_t>(row - block.first_row));
    plan_.far_begin.push_back(static_cast<std::uint32_t>(plan_.far_place.size() - block.first_far));
    return true;
  }

  PatternView<I> T_;
  bool lower_;
  const LevelSets<I>& levels_;
  const CourierRule& rule_;
  CourierPlan<I>& plan_;
  std::vector<I> depth_, block_of_;
  std::vector<char> wanted_;          ///< by row: does somebody read it by mail?
  std::vector<std::uint32_t> mail_;   ///< by row: place in the mailbox
};

}  // namespace

template <class I>
Status make_courier_plan(PatternView<I> T, bool lower, const LevelSets<I>& levels, const CourierRule& rule,
                         CourierPlan<I>* out)
try {
  if (static_cast<std::uint64_t>(T.n) >= courier_no_mail)
    return failed(Code::invalid_argument, "courier takes less than 2^32 rows; take level_order");
  CourierPlan<I> plan;
  const Status status = Planner<I>(T, lower, levels, rule, &plan).run();
  if (status.ok()) *out = std::move(plan);
  return status;
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I)                                                                              \
  template Status make_courier_plan<I>(PatternView<I>, bool, const LevelSets<I>&, const CourierRule&, \
                                       CourierPlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
