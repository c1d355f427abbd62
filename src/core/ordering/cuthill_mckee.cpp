/// A queue visits the vertices of a level in the order of their positions, and appends the new neighbours of each by
/// degree and index: that is the order by levels.

#include "cuthill_mckee.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

template <class I> class Search {
public:
  explicit Search(const PatternView<I>& G) : G_(G), seen_(static_cast<std::size_t>(G.n), 0)
  {
    made_.order.reserve(static_cast<std::size_t>(G.n));
    made_.level.resize(static_cast<std::size_t>(G.n));
  }

  /// Appends the component of a vertex, the smallest one that has no position yet.
  void append_component(I root)
  {
    auto& order = made_.order;
    const std::size_t first = order.size();
    for (int sweep = 0; sweep < root_sweeps && degree(root) > 0; ++sweep) {
      visit(root, false);
      std::size_t last = order.size() - 1;
      while (made_.level[order[last - 1]] == made_.level[order.back()]) --last;
      root = least(last);
      order.resize(first);
    }
    visit(root, true);
  }

  bool has_position(I vertex) const { return seen_[vertex] != 0; }
  CuthillMcKee<I> take() { return std::move(made_); }

private:
  I degree(I v) const { return G_.row_begin[v + 1] - G_.row_begin[v]; }
  bool precedes(I a, I b) const { return degree(a) != degree(b) ? degree(a) < degree(b) : a < b; }

  /// Vertex of least (degree, index) from a position of the order on
  I least(std::size_t from) const
  {
    const auto& order = made_.order;
    return *std::min_element(order.begin() + from, order.end(), [this](I a, I b) { return precedes(a, b); });
  }

  /// Breadth-first search; of a search that is not sorted only the set of vertices in each level is defined.
  void visit(I root, bool sorted)
  {
    auto& order = made_.order;
    ++stamp_;
    std::size_t at = order.size();
    seen_[root] = stamp_;
    made_.level[root] = 0;
    order.push_back(root);
    for (; at < order.size(); ++at) {
      const I v = order[at];
      const std::size_t children = order.size();
      for (I k = G_.row_begin[v]; k < G_.row_begin[v + 1]; ++k) {
        const I w = G_.column[k];
        if (seen_[w] == stamp_) continue;
        seen_[w] = stamp_;
        made_.level[w] = made_.level[v] + 1;
        order.push_back(w);
      }
      if (sorted) std::sort(order.begin() + children, order.end(), [this](I a, I b) { return precedes(a, b); });
    }
  }

  PatternView<I> G_;
  CuthillMcKee<I> made_;
  Array<std::make_unsigned_t<I>> seen_;  ///< last search that came to the vertex; 0: none
  std::make_unsigned_t<I> stamp_ = 0;    ///< of less than 2 n searches
};

}  // namespace

template <class I> CuthillMcKee<I> order_cuthill_mckee(PatternView<I> G)
{
  Search<I> search(G);
  for (I v = 0; v < G.n; ++v)
    if (!search.has_position(v)) search.append_component(v);
  return search.take();
}

#define INSTANTIATE(I) template CuthillMcKee<I> order_cuthill_mckee<I>(PatternView<I>);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
