/// What courier_plan.hpp declares.

#include "courier_plan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

#include "instantiate.hpp"
#include "parallel.hpp"
#include "syncfree/ready.hpp"

namespace syncfree {
namespace {

/// An entry of the own block whose row is so many levels back has long been computed: it may as well come by mail.
constexpr std::int64_t recent_levels = 12;
/// Part of the rows that may have more recent entries than `near`.
constexpr double most_crowded = 0.05;
/// Rows that are looked at where a choice needs no more.
constexpr std::int64_t sample = 4096;

/// Rows of one level that keep a block busy: measured on an H200 for rows of few and of many entries.
constexpr double rows_a_step = 16, long_rows_a_step = 1.5, long_row = 16;

/// The rows that a choice looks at.
template <class I, class Look> void for_sample(I n, Look look)
{
  const I stride = static_cast<I>(std::max<std::int64_t>(1, n / sample));
  for (I row = stride / 2; row < n; row += stride) look(row);
}

/// How far the far neighbours of the rows of a sample are: the mean of the entries in the outer half. Rows that read
/// nobody are left out.
template <class I> std::vector<double> find_reaches(const PatternView<I>& T)
{
  std::vector<double> reach;
  for_sample(T.n, [&](I row) {
    std::int64_t longest = 0, sum = 0, count = 0;
    const auto distance = [&](I k) { return std::abs(static_cast<std::int64_t>(row) - T.column[k]); };
    for (I k = T.row_begin[row]; k < T.row_begin[row + 1]; ++k) longest = std::max<std::int64_t>(longest, distance(k));
    for (I k = T.row_begin[row]; k < T.row_begin[row + 1]; ++k)
      if (2 * distance(k) >= longest) sum += distance(k), ++count;
    if (count > 0) reach.push_back(static_cast<double>(sum) / static_cast<double>(count));
  });
  return reach;
}

/// The median, 0 of nothing.
double middle_of(std::vector<double> some)
{
  if (some.empty()) return 0;
  std::nth_element(some.begin(), some.begin() + some.size() / 2, some.end());
  return some[some.size() / 2];
}

/// On a grid this is a plane or, of a plane, a line. 0 where rows read nobody.
template <class I> std::int64_t typical_reach(const PatternView<I>& T)
{
  return std::llround(middle_of(find_reaches(T)));
}

/// As many blocks as levels can keep busy, with borders where neighbours lie side by side: a block holds a whole number
/// of reaches, or a reach a whole number of blocks.
template <class I> std::int64_t choose_rows(const PatternView<I>& T, I levels, std::int64_t most)
{
  const double n = static_cast<double>(T.n), width = n / static_cast<double>(levels);
  const bool is_long = static_cast<double>(T.nnz()) > long_row * n;
  const double busy = width / (is_long ? long_rows_a_step : rows_a_step);
  const auto wanted = std::max<std::int64_t>(1, static_cast<std::int64_t>(n / std::max(1.0, busy)));
  const std::int64_t reach = typical_reach(T), rows = std::min(most, wanted);
  if (reach == 0) return rows;
  if (2 * reach <= rows) return rows / reach * reach;
  std::int64_t best = 0;
  const auto off = [&](std::int64_t r) {
    return std::abs(std::log(static_cast<double>(r) / static_cast<double>(wanted)));
  };
  for (std::int64_t parts = 1; parts <= 64 && parts <= reach; ++parts)
    if (reach % parts == 0 && reach / parts <= most && (best == 0 || off(reach / parts) < off(best)))
      best = reach / parts;
  return best ? best : rows;
}

/// To start a thread in every loop takes as long as some thousand entries do.
template <class I> int worthwhile_threads(const PatternView<I>& T, int most)
{
  return static_cast<int>(std::min<std::int64_t>(most, 1 + (T.nnz() + static_cast<std::int64_t>(T.n)) / 20000));
}

/// What a block adds to the plan's arrays.
template <class I> struct Part {
  std::vector<std::uint32_t> step_end, bundle_begin, bundle_position, far_place;
  std::vector<I> far_source;
};

template <class I> class Planner {
public:
  Planner(PatternView<I> T, bool lower, const LevelSets<I>& levels, const CourierRule& rule, CourierPlan<I>* plan)
      : T_(T), lower_(lower), levels_(levels), rule_(rule), threads_(worthwhile_threads(T, rule.threads)),
        plan_(*plan), depth_(T.n), wanted_(T.n), mail_(T.n)
  {
  }

  Status run()
  {
    find_depth();
    cut();
    part_.resize(plan_.block.size());
    plan_.near = rule_.near ? rule_.near : choose_near();
    for_blocks([this](std::size_t t) { sort_rows(plan_.block[t]); });
    plan_.warps = rule_.warps ? rule_.warps : choose_warps();
    plan_.source = Array<I>(plan_.row.size() * plan_.near);
    for_blocks([this](std::size_t t) {
      make_steps(plan_.block[t], &part_[t]);
      choose_near_entries(plan_.block[t]);
    });
    number_mail();
    plan_.index = Array<std::uint16_t>(plan_.row.size() * CourierPlan<I>::units_of(plan_.near) * courier_fields);
    plan_.far_lanes = choose_far_lanes();
    for_blocks([this](std::size_t t) {
      write(plan_.block[t], part_[t]);
      bundle(&plan_.block[t], &part_[t]);
    });
    return gather();
  }

private:
  template <class Body> void for_blocks(Body body) const { for_parts(threads_, plan_.block.size(), body); }

  bool in_block(const RowBlock& block, I row) const
  {
    return row >= block.first_row && row < block.first_row + static_cast<std::int64_t>(block.rows);
  }
  std::int64_t first(const RowBlock& block) const { return block.first_page * courier_page; }

  void find_depth()
  {
    for_parts(threads_, static_cast<std::size_t>(levels_.count), [this](std::size_t level) {
      for (I k = levels_.level_begin[level]; k < levels_.level_begin[level + 1]; ++k)
        depth_[levels_.row[k]] = static_cast<I>(level);
    });
  }

  void cut()
  {
    if (T_.n == 0) return;
    const std::int64_t most = std::min(rule_.most_rows, courier_most_rows);
    const std::int64_t rows = std::min(most, rule_.rows > 0 ? rule_.rows : choose_rows(T_, levels_.count, most));
    std::int64_t pages = 0;
    for (std::int64_t begin = 0; begin < T_.n; begin += rows) {
      RowBlock block;
      block.rows = static_cast<std::uint32_t>(std::min<std::int64_t>(rows, T_.n - begin));
      block.first_row = lower_ ? begin : T_.n - begin - block.rows;
      block.first_page = pages;
      block.pages = (block.rows + courier_page - 1) / courier_page;
      pages += block.pages;
      plan_.block.push_back(block);
    }
    plan_.most_rows = plan_.block.front().rows;
    plan_.row = Array<I>(static_cast<std::size_t>(pages) * courier_page);
  }

  const RowBlock& block_of(I row) const
  {
    const std::int64_t rows = plan_.most_rows;
    return plan_.block[(lower_ ? static_cast<std::int64_t>(row) : T_.n - 1 - static_cast<std::int64_t>(row)) / rows];
  }

  /// The least number for which few rows have more recent entries in their block.
  int choose_near() const
  {
    static constexpr int sizes[] = {2, 4, 8, 16};
    std::int64_t crowded[4] = {}, rows = 0;
    for_sample(T_.n, [&](I row) {
      std::int64_t recent = 0;
      for (I k = T_.row_begin[row]; k < T_.row_begin[row + 1]; ++k)
        recent += in_block(block_of(row), T_.column[k]) && depth_[T_.column[k]] + recent_levels >= depth_[row];
      for (int s = 0; s < 4; ++s) crowded[s] += recent > sizes[s];
      ++rows;
    });
    int s = 0;
    const double most = most_crowded * static_cast<double>(rows);
    while (sizes[s] < rule_.most_near && static_cast<double>(crowded[s]) > most) ++s;
    return sizes[s];
  }

  /// By level, those of one level ascending.
  void sort_rows(const RowBlock& block)
  {
    const I begin = static_cast<I>(block.first_row);
    I least = depth_[begin], most = least;
    for (std::uint32_t k = 0; k < block.rows; ++k) {
      least = std::min(least, depth_[begin + k]);
      most = std::max(most, depth_[begin + k]);
    }
    std::vector<std::uint32_t> next(static_cast<std::size_t>(most - least) + 2, 0);
    for (std::uint32_t k = 0; k < block.rows; ++k) ++next[depth_[begin + k] - least + 1];
    for (std::size_t d = 1; d < next.size(); ++d) next[d] += next[d - 1];
    I* row = plan_.row.data() + first(block);
    for (std::uint32_t k = 0; k < block.rows; ++k) row[next[depth_[begin + k] - least]++] = begin + static_cast<I>(k);
    std::fill(row + block.rows, row + block.pages * courier_page, I(-1));
  }

  /// For twice the mean width of a level in a block: levels begin and end narrow.
  int choose_warps() const
  {
    std::vector<double> width(plan_.block.size());
    for_blocks([&](std::size_t t) {
      const RowBlock& block = plan_.block[t];
      const I* row = plan_.row.data() + first(block);
      std::int64_t count = 1;
      for (std::uint32_t p = 1; p < block.rows; ++p) count += depth_[row[p]] != depth_[row[p - 1]];
      width[t] = static_cast<double>(block.rows) / static_cast<double>(count);
    });
    const double mean = std::accumulate(width.begin(), width.end(), 0.0) / std::max<double>(1, width.size());
    const int most = plan_.near == rule_.most_near ? rule_.most_warps_of_long : rule_.most_warps;
    return std::clamp(static_cast<int>((2 * mean + 31) / 32), 1, most);
  }

  void make_steps(RowBlock& block, Part<I>* part)
  {
    const I* row = plan_.row.data() + first(block);
    const std::uint32_t most = 32 * static_cast<std::uint32_t>(plan_.warps);
    std::uint32_t begin = 0;
    for (std::uint32_t p = 1; p <= block.rows; ++p) {
      if (p < block.rows && depth_[row[p]] == depth_[row[begin]] && p - begin < most) continue;
      part->step_end.push_back(p);
      begin = p;
    }
    block.steps = static_cast<std::uint32_t>(part->step_end.size());
    block.first_width = part->step_end.front();
  }

  /// Of each position the latest entries of its own block, the last one last. Who is read otherwise has to send mail.
  void choose_near_entries(const RowBlock& block)
  {
    for (std::int64_t at = first(block); at < first(block) + block.pages * courier_page; ++at) {
      const I row = plan_.row[at];
      std::array<I, 16> near;
      int count = 0;
      for (I k = row < 0 ? 0 : T_.row_begin[row]; k < (row < 0 ? 0 : T_.row_begin[row + 1]); ++k) {
        const I column = T_.column[k];
        I out = k;
        if (in_block(block, column)) out = keep(&near, &count, k);
        if (out >= 0) wanted_[T_.column[out]].store(1, unordered);
      }
      for (int j = 0; j < plan_.near; ++j) plan_.source[plan_.near_place(at, j)] = j < count ? near[j] : I(-1);
    }
  }

  /// Puts entry k among the latest; returns the one that has to go, or -1.
  I keep(std::array<I, 16>* near, int* count, I k) const
  {
    const auto depth = [&](I e) { return depth_[T_.column[e]]; };
    I out = -1;
    if (*count == plan_.near) {
      if (depth(k) < depth((*near)[0])) return k;
      out = (*near)[0];
      std::copy(near->begin() + 1, near->begin() + *count, near->begin());
      --*count;
    }
    int j = (*count)++;
    for (; j > 0 && depth((*near)[j - 1]) > depth(k); --j) (*near)[j] = (*near)[j - 1];
    (*near)[j] = k;
    return out;
  }

  void number_mail()
  {
    for_blocks([this](std::size_t t) {
      RowBlock& block = plan_.block[t];
      for (std::uint32_t k = 0; k < block.rows; ++k) block.mails += wanted_[block.first_row + k].load(unordered);
    });
    for (RowBlock& block : plan_.block) {
      block.first_mail = plan_.mails;
      plan_.mails += block.mails;
    }
    for_blocks([this](std::size_t t) {
      const RowBlock& block = plan_.block[t];
      std::uint32_t place = block.first_mail;
      for (std::int64_t at = first(block); at < first(block) + block.rows; ++at) {
        const I row = plan_.row[at];
        mail_[row] = wanted_[row].load(unordered) ? place++ : courier_no_mail;
      }
    });
  }

  I near_entries(std::int64_t at) const
  {
    I count = 0;
    for (int j = 0; j < plan_.near; ++j) count += plan_.source[plan_.near_place(at, j)] >= 0;
    return count;
  }
  I far_entries(std::int64_t at) const
  {
    const I row = plan_.row[at];
    return row < 0 ? 0 : T_.row_begin[row + 1] - T_.row_begin[row] - near_entries(at);
  }

  int choose_far_lanes() const
  {
    std::int64_t rows = 0, far = 0;
    for_sample(static_cast<std::int64_t>(plan_.row.size()), [&](std::int64_t at) {
      rows += far_entries(at) > 0;
      far += far_entries(at);
    });
    return far <= 10 * rows ? 1 : far <= 40 * rows ? 4 : 32;
  }

  void write(const RowBlock& block, const Part<I>& part)
  {
    const int last = CourierPlan<I>::units_of(plan_.near) * courier_fields - 1;
    const std::uint32_t zero = block.rows;
    std::size_t step = 0;
    for (std::uint32_t p = 0; p < block.pages * courier_page; ++p) {
      const std::int64_t at = first(block) + p;
      const auto set = [&](int field, std::uint32_t v) {
        plan_.index[plan_.field_place(at, field)] = static_cast<std::uint16_t>(v);
      };
      while (step + 1 < part.step_end.size() && p >= part.step_end[step]) ++step;
      const bool more = step + 1 < part.step_end.size();
      const I row = plan_.row[at];
      const std::uint32_t own = row < 0 ? zero : static_cast<std::uint32_t>(row - block.first_row);
      set(0, far_entries(at) > 0 ? own | courier_far : own);
      for (int j = 0; j < plan_.near; ++j) {
        const I k = plan_.source[plan_.near_place(at, j)];
        set(j + 1, k < 0 ? zero : static_cast<std::uint32_t>(T_.column[k] - block.first_row));
      }
      for (int field = plan_.near + 1; field < last - 2; ++field) set(field, 0);
      const std::uint32_t mail = row < 0 ? courier_no_mail : mail_[row];
      set(last - 2, more && row >= 0 ? part.step_end[step + 1] - part.step_end[step] : 0);
      set(last - 1, mail);
      set(last, mail >> 16);
    }
  }

  void bundle(RowBlock* block, Part<I>* part) const
  {
    int lane = 32;
    for (std::uint32_t p = 0; p < block->rows; ++p) {
      const std::int64_t at = first(*block) + p;
      if (!plan_.reads_mail(at)) continue;
      if (lane == 32) {
        lane = 0;
        ++block->bundles;
        part->bundle_begin.push_back(static_cast<std::uint32_t>(part->far_place.size() / 32));
        part->bundle_position.resize(part->bundle_position.size() + 32, ~0u);
      }
      put_into_bundle(p, at, lane, part);
      lane += plan_.far_lanes;
    }
  }

  void put_into_bundle(std::uint32_t position, std::int64_t at, int lane, Part<I>* part) const
  {
    const std::size_t lanes = static_cast<std::size_t>(plan_.far_lanes), begin = part->bundle_begin.back();
    const std::size_t layers = (static_cast<std::size_t>(far_entries(at)) + lanes - 1) / lanes;
    if ((begin + layers) * 32 > part->far_place.size()) {
      part->far_place.resize((begin + layers) * 32, courier_no_mail);
      part->far_source.resize((begin + layers) * 32, I(-1));
    }
    for (std::size_t l = 0; l < lanes; ++l) *(part->bundle_position.end() - 32 + lane + l) = position;
    const I row = plan_.row[at];
    std::size_t e = 0;
    for (I k = T_.row_begin[row]; k < T_.row_begin[row + 1]; ++k) {
      bool near = false;
      for (int j = 0; j < plan_.near; ++j) near = near || plan_.source[plan_.near_place(at, j)] == k;
      if (near) continue;
      const std::size_t to = (begin + e / lanes) * 32 + lane + e % lanes;
      part->far_place[to] = mail_[T_.column[k]];
      part->far_source[to] = k;
      ++e;
    }
  }

  /// The parts one behind the other.
  Status gather()
  {
    std::int64_t steps = 0, bundles = 0;
    std::vector<std::size_t> layers(plan_.block.size() + 1, 0);
    for (std::size_t t = 0; t < plan_.block.size(); ++t) {
      plan_.block[t].first_step = steps;
      plan_.block[t].first_bundle = bundles;
      steps += plan_.block[t].steps;
      bundles += plan_.block[t].bundles;
      layers[t + 1] = layers[t] + part_[t].far_place.size() / 32;
    }
    if (layers.back() >= courier_no_mail)
      return failed(Code::invalid_argument, "2^32 layers of mail; take level_order");
    plan_.step_end.resize(steps);
    if (plan_.block.empty()) return {};
    plan_.bundle_begin.resize(bundles + 1, static_cast<std::uint32_t>(layers.back()));
    plan_.bundle_position.resize(32 * bundles);
    plan_.far_place = Array<std::uint32_t>(32 * layers.back());
    plan_.far_source = Array<I>(32 * layers.back());
    for_blocks([&](std::size_t t) {
      const RowBlock& block = plan_.block[t];
      const Part<I>& part = part_[t];
      std::copy(part.step_end.begin(), part.step_end.end(), plan_.step_end.begin() + block.first_step);
      std::copy(part.bundle_position.begin(), part.bundle_position.end(),
                plan_.bundle_position.begin() + 32 * block.first_bundle);
      std::copy(part.far_place.begin(), part.far_place.end(), plan_.far_place.begin() + 32 * layers[t]);
      std::copy(part.far_source.begin(), part.far_source.end(), plan_.far_source.begin() + 32 * layers[t]);
      for (std::uint32_t k = 0; k < block.bundles; ++k)
        plan_.bundle_begin[block.first_bundle + k] = part.bundle_begin[k] + static_cast<std::uint32_t>(layers[t]);
    });
    return {};
  }

  PatternView<I> T_;
  bool lower_;
  const LevelSets<I>& levels_;
  const CourierRule& rule_;
  const int threads_;
  CourierPlan<I>& plan_;
  Array<I> depth_;
  std::vector<std::atomic<unsigned char>> wanted_;  ///< by row: does somebody read it by mail?
  Array<std::uint32_t> mail_;                       ///< by row: place in the mailbox
  std::vector<Part<I>> part_;                       ///< by block
};

}  // namespace

template <class I> bool reaches_regularly(PatternView<I> T)
{
  constexpr double most = 0.05, part = 0.7;  // of the reach, and of the rows
  const std::vector<double> reaches = find_reaches(T);
  const double typical = middle_of(reaches);
  const auto is_typical = [typical](double r) { return std::abs(r - typical) <= std::max(1.0, most * typical); };
  const auto count = std::count_if(reaches.begin(), reaches.end(), is_typical);
  return static_cast<double>(count) >= part * static_cast<double>(std::max<std::size_t>(reaches.size(), 1));
}

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
  template bool reaches_regularly<I>(PatternView<I>);                                               \
  template Status make_courier_plan<I>(PatternView<I>, bool, const LevelSets<I>&, const CourierRule&, \
                                       CourierPlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
