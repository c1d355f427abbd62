/// `courier`: a plan of row blocks, meant for the device (core/courier_plan.hpp), on one thread. Every machine can so
/// test what a plan says.

#include <algorithm>
#include <new>

#include "../core/courier_plan.hpp"
#include "../core/instantiate.hpp"
#include "strategies.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {
namespace {

/// Small blocks, so that small matrices have several.
constexpr CourierRule host_rule = {300, 5, 0, 16, 0, 8};

template <class I> CourierPlan<I> plan_blocks(const PatternView<I>& pattern, bool lower)
{
  LevelSets<I> levels;
  CourierPlan<I> plan;
  if (!make_level_sets(pattern, lower, &levels).ok() ||
      !make_courier_plan(pattern, lower, levels, host_rule, &plan).ok())
    throw std::bad_alloc();
  return plan;
}

template <class T, class V, class I> class CourierSolver : public TriangularSolver<T, V, I> {
public:
  explicit CourierSolver(TriangleView<V, I> triangle)
      : triangle_(triangle), plan_(plan_blocks(triangle.pattern, triangle.lower)), mailbox_(plan_.mails)
  {
    std::size_t most = 0;
    for (const RowBlock& block : plan_.block) most = std::max<std::size_t>(most, block.rows);
    if (most > 0) x_.resize(most + 1);
  }

  void solve(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading)
      for (const RowBlock& block : plan_.block)
        conjugate ? solve_block<true>(block, b, x) : solve_block<false>(block, b, x);
  }

  void refresh(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe() const override
  {
    return {"courier", 1, plan_.bytes() + (x_.size() + mailbox_.size()) * sizeof(T)};
  }

private:
  template <bool conjugated> static T stored(const V& v)
  {
    return conjugated ? conjugate(static_cast<T>(v)) : static_cast<T>(v);
  }

  template <bool conjugated> void solve_block(const RowBlock& block, const T* b, T* x)
  {
    std::copy_n(b + block.first_row, block.rows, x_.begin());
    x_[block.rows] = T(0);
    std::uint32_t far_row = 0, begin = 0;
    for (std::uint32_t s = 0; s < block.steps; ++s) {
      const std::uint32_t end = plan_.step_end[block.first_step + s];
      for (std::uint32_t p = begin; p < end; ++p) far_row += read_mail<conjugated>(block, p, far_row);
      /* all that a step reads was there before it: its rows are done backwards */
      for (std::uint32_t p = end; p > begin; --p) solve_position<conjugated>(block, p - 1);
      begin = end;
    }
    std::copy_n(x_.begin(), block.rows, x + block.first_row);
  }

  const std::uint16_t* index_of(const RowBlock& block, std::uint32_t p) const
  {
    return plan_.page_index(block.first_page + p / courier_page) + p % courier_page;
  }

  /// Subtracts what the row at position p reads by mail, if it is the far_row-th that does; true if so.
  template <bool conjugated> bool read_mail(const RowBlock& block, std::uint32_t p, std::uint32_t far_row)
  {
    const std::uint16_t slot = *index_of(block, p);
    if (!(slot & courier_far)) return false;
    const std::uint32_t* begin = plan_.far_begin.data() + block.first_far_begin;
    for (std::uint32_t k = begin[far_row]; k < begin[far_row + 1]; ++k) {
      const I source = plan_.far_source[block.first_far + k];
      x_[slot & ~courier_far] -= multiply(stored<conjugated>(triangle_.value[source]),
                                          mailbox_[plan_.far_place[block.first_far + k]]);
    }
    return true;
  }

  template <bool conjugated> void solve_position(const RowBlock& block, std::uint32_t p)
  {
    const std::uint16_t* index = index_of(block, p);
    const std::size_t at = (block.first_page + p / courier_page) * courier_page;
    const auto own = static_cast<std::uint16_t>(index[0] & ~courier_far);
    const I* source = plan_.source.data() + at * plan_.near + p % courier_page;
    T sum = x_[own];
    for (int j = 0; j < plan_.near; ++j) {
      const I k = source[j * courier_page];
      if (k >= 0) sum -= multiply(stored<conjugated>(triangle_.value[k]), x_[index[(j + 1) * courier_page]]);
    }
    if (triangle_.inverse_diagonal)
      sum = multiply(sum, stored<conjugated>(triangle_.inverse_diagonal[plan_.row[at + p % courier_page]]));
    x_[own] = sum;
    const std::uint32_t mail = index[(plan_.near + 1) * courier_page] |
                               static_cast<std::uint32_t>(index[(plan_.near + 2) * courier_page]) << 16;
    if (mail != courier_no_mail) mailbox_[mail] = sum;
  }

  TriangleView<V, I> triangle_;
  CourierPlan<I> plan_;
  std::vector<T> x_;        ///< by slot
  std::vector<T> mailbox_;  ///< by place
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_courier(TriangleView<V, I> triangle, const SolverOptions&)
{
  return std::make_unique<CourierSolver<T, V, I>>(triangle);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_courier<T, V, I>(TriangleView<V, I>, const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
