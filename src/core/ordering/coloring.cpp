#include "coloring.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

template <class I> I degree(const PatternView<I>& G, I v) { return G.row_begin[v + 1] - G.row_begin[v]; }

/// Marks the colours of a vertex's neighbours.
template <class I> class Taken {
public:
  Taken(const PatternView<I>& G, I least) : G_(G)
  {
    I most = 0;
    for (I v = 0; v < G.n; ++v) most = std::max(most, degree(G, v));
    last_.assign(static_cast<std::size_t>(least) + static_cast<std::size_t>(most) + 1, I(-1));
  }

  void look_at_neighbors(I v, const Array<I>& color)
  {
    for (I k = G_.row_begin[v]; k < G_.row_begin[v + 1]; ++k) {
      const I c = color[G_.column[k]];
      if (c >= 0) last_[c] = v;
    }
    vertex_ = v;
  }
  bool has(I c) const { return last_[c] == vertex_; }
  I least_free(I c) const
  {
    while (has(c)) ++c;
    return c;
  }

private:
  PatternView<I> G_;
  std::vector<I> last_;  ///< of each colour, the last vertex one of whose neighbours has it
  I vertex_ = -1;
};

template <class I, class Key> Array<I> sort_by(I n, const Key& key)
{
  using Keyed = std::pair<decltype(key(I())), I>;
  std::vector<Keyed> keyed;
  keyed.reserve(static_cast<std::size_t>(n));
  for (I v = 0; v < n; ++v) keyed.emplace_back(key(v), v);
  std::sort(keyed.begin(), keyed.end());
  Array<I> order(static_cast<std::size_t>(n));
  std::transform(keyed.begin(), keyed.end(), order.begin(), [](const Keyed& k) { return k.second; });
  return order;
}

}  // namespace

template <class I> Array<I> order_by_degree(PatternView<I> G)
{
  return sort_by(G.n, [&](I v) { return std::make_pair(degree(G, v), mix_bits(static_cast<std::uint64_t>(v))); });
}

template <class I> Coloring<I> color_greedily(PatternView<I> G, const Array<I>& order)
{
  Coloring<I> made = {Array<I>(static_cast<std::size_t>(G.n), I(-1)), 0};
  Taken<I> taken(G, I(1));
  for (const I v : order) {
    taken.look_at_neighbors(v, made.color);
    made.color[v] = taken.least_free(0);
    made.count = std::max<I>(made.count, made.color[v] + 1);
  }
  return made;
}

template <class I>
Coloring<I> color_near_targets(PatternView<I> G, const Array<I>& order, const Array<I>& target, I K)
{
  Coloring<I> made = {Array<I>(static_cast<std::size_t>(G.n), I(-1)), 0};
  Taken<I> taken(G, K);
  for (const I v : order) {
    taken.look_at_neighbors(v, made.color);
    I c = target[v];
    for (I tried = 0; tried < K && taken.has(c); ++tried) c = c + 1 == K ? I(0) : c + 1;
    made.color[v] = taken.has(c) ? taken.least_free(K) : c;
    made.count = std::max<I>(made.count, made.color[v] + 1);
  }
  return made;
}

template <class I> void drop_empty_colors(Coloring<I>* of)
{
  std::vector<I> number(static_cast<std::size_t>(of->count), I(0));
  for (const I c : of->color) number[c] = 1;
  I count = 0;
  for (I& c : number) c = c ? count++ : count;
  for (I& c : of->color) c = number[c];
  of->count = count;
}

#define INSTANTIATE(I)                                                                                     \
  template Array<I> order_by_degree<I>(PatternView<I>);                                                    \
  template Coloring<I> color_greedily<I>(PatternView<I>, const Array<I>&);                                 \
  template Coloring<I> color_near_targets<I>(PatternView<I>, const Array<I>&, const Array<I>&, I); \
  template void drop_empty_colors<I>(Coloring<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
