#include "breadth_first.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

template <class I> class Search {
public:
  explicit Search(const PatternView<I>& G) : G_(G), seen_(static_cast<std::size_t>(G.n), 0)
  {
    queue_.reserve(static_cast<std::size_t>(G.n));
    made_.level.resize(static_cast<std::size_t>(G.n));
    made_.component.resize(static_cast<std::size_t>(G.n));
  }

  bool has_level(I vertex) const { return seen_[vertex] != 0; }

  /// Searches the component of its smallest vertex.
  void search_component(I smallest, int root_sweeps)
  {
    visit(smallest);
    for (int sweep = 0; sweep < root_sweeps && queue_.size() > 1; ++sweep) visit(least_of_last_level());
    for (const I v : queue_) made_.component[v] = smallest;
    made_.count = std::max<I>(made_.count, made_.level[queue_.back()] + 1);
  }

  BreadthFirst<I> take() { return std::move(made_); }

private:
  I least_of_last_level() const
  {
    const auto key = [this](I v) { return std::make_pair(G_.row_begin[v + 1] - G_.row_begin[v], v); };
    auto last = queue_.end() - 1;
    while (made_.level[*(last - 1)] == made_.level[queue_.back()]) --last;
    return *std::min_element(last, queue_.end(), [&](I a, I b) { return key(a) < key(b); });
  }

  void visit(I root)
  {
    ++stamp_;
    queue_.clear();
    const auto append = [this](I v, I level) {
      seen_[v] = stamp_;
      made_.level[v] = level;
      queue_.push_back(v);
    };
    append(root, I(0));
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const I v = queue_[at];
      for (I k = G_.row_begin[v]; k < G_.row_begin[v + 1]; ++k)
        if (seen_[G_.column[k]] != stamp_) append(G_.column[k], made_.level[v] + 1);
    }
  }

  PatternView<I> G_;
  BreadthFirst<I> made_;
  Array<I> queue_;                       ///< the component's vertices, by level
  Array<std::make_unsigned_t<I>> seen_;  ///< last search that came to the vertex; 0: none
  std::make_unsigned_t<I> stamp_ = 0;    ///< of less than 2 n searches
};

}  // namespace

template <class I> BreadthFirst<I> search_breadth_first(PatternView<I> G, int root_sweeps)
{
  Search<I> search(G);
  for (I v = 0; v < G.n; ++v)
    if (!search.has_level(v)) search.search_component(v, root_sweeps);
  return search.take();
}

#define INSTANTIATE(I) template BreadthFirst<I> search_breadth_first<I>(PatternView<I>, int);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
