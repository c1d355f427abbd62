#include "breadth_first.hpp"

#include <algorithm>
#include <utility>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

template <class I> class Search {
public:
  explicit Search(const PatternView<I>& G) : G_(G)
  {
    queue_.reserve(static_cast<std::size_t>(G.n));
    made_.level.resize(static_cast<std::size_t>(G.n), I(-1));
    made_.component.resize(static_cast<std::size_t>(G.n));
  }

  bool has_level(I vertex) const { return made_.level[vertex] >= 0; }

  /// Searches the component of its smallest vertex.
  void search_component(I smallest)
  {
    queue_.clear();
    append(smallest, smallest, I(0));
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const I v = queue_[at];
      for (I k = G_.row_begin[v]; k < G_.row_begin[v + 1]; ++k)
        if (!has_level(G_.column[k])) append(G_.column[k], smallest, made_.level[v] + 1);
    }
    made_.count = std::max<I>(made_.count, made_.level[queue_.back()] + 1);
  }

  BreadthFirst<I> take() { return std::move(made_); }

private:
  void append(I v, I component, I level)
  {
    made_.level[v] = level;
    made_.component[v] = component;
    queue_.push_back(v);
  }

  PatternView<I> G_;
  BreadthFirst<I> made_;  ///< level -1: not known yet
  Array<I> queue_;        ///< the component's vertices, by level
};

}  // namespace

template <class I> BreadthFirst<I> search_breadth_first(PatternView<I> G)
{
  Search<I> search(G);
  for (I v = 0; v < G.n; ++v)
    if (!search.has_level(v)) search.search_component(v);
  return search.take();
}

#define INSTANTIATE(I) template BreadthFirst<I> search_breadth_first<I>(PatternView<I>);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
