#include "blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "coloring.hpp"
#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

/// Blocks with their sizes, and how many edges of nodes link two of them.
template <class I> struct Coarse {
  Graph<I> graph;
  Array<I> links, rows;

  I count() const { return static_cast<I>(rows.size()); }
};

template <class I> class Matching {
public:
  Matching(const Coarse<I>& of, I B) : of_(of), B_(B), mate_(of.rows.size(), I(-1)), wish_(of.rows.size(), I(-1))
  {
    for (int pass = 0; pass < match_passes; ++pass)
      if (!shake_hands()) break;
  }

  bool any() const { return matched_; }
  /// Matched pairs and the other blocks, numbered by their smallest members. Returns how many there are.
  I number_pairs(Array<I>* number) const
  {
    I count = 0;
    number->resize(mate_.size());
    for (I v = 0; v < of_.count(); ++v)
      (*number)[v] = mate_[v] >= 0 && mate_[v] < v ? (*number)[mate_[v]] : count++;
    return count;
  }

private:
  bool shake_hands()
  {
    bool again = false;
    for (I v = 0; v < of_.count(); ++v)
      if (mate_[v] < 0) wish_[v] = preferred(v);
    for (I v = 0; v < of_.count(); ++v) {
      if (mate_[v] >= 0 || wish_[v] < 0 || wish_[wish_[v]] != v) continue;
      mate_[v] = wish_[v];
      again = true;
    }
    matched_ |= again;
    return again;
  }

  I preferred(I v) const
  {
    std::pair<std::int64_t, std::uint64_t> best = {-1, 0};
    I who = -1;
    for (I k = of_.graph.row_begin[v]; k < of_.graph.row_begin[v + 1]; ++k) {
      const I w = of_.graph.column[k];
      if (mate_[w] >= 0 || of_.rows[w] > B_ - of_.rows[v]) continue;
      const std::int64_t weight = (static_cast<std::int64_t>(of_.links[k]) << 16) / (of_.rows[v] + of_.rows[w]);
      if (weight < best.first) continue;
      const std::pair<std::int64_t, std::uint64_t> mine = {weight, mix_pair(std::min(v, w), std::max(v, w))};
      if (mine > best || (mine == best && w < who)) best = mine, who = w;
    }
    return who;
  }

  static std::uint64_t mix_pair(I less, I more)
  {
    return mix_bits(mix_bits(static_cast<std::uint64_t>(less)) + static_cast<std::uint64_t>(more));
  }

  const Coarse<I>& of_;
  I B_;
  Array<I> mate_, wish_;
  bool matched_ = false;
};

/// Adds up the links of the members of every new block.
template <class I> Coarse<I> join(const Coarse<I>& of, const Array<I>& number, I count)
{
  Coarse<I> made;
  Array<I> first(static_cast<std::size_t>(count), I(-1)), second = first, place = first;
  for (I v = 0; v < of.count(); ++v) (first[number[v]] < 0 ? first : second)[number[v]] = v;
  made.graph.row_begin.reserve(static_cast<std::size_t>(count) + 1);
  made.graph.row_begin.push_back(0);
  made.graph.column.reserve(of.graph.column.size());
  made.links.reserve(of.graph.column.size());
  made.rows.reserve(static_cast<std::size_t>(count));
  for (I b = 0; b < count; ++b) {
    const I begin = made.graph.row_begin.back();
    I rows = 0;
    for (const I v : {first[b], second[b]}) {
      if (v < 0) continue;
      rows += of.rows[v];
      for (I k = of.graph.row_begin[v]; k < of.graph.row_begin[v + 1]; ++k) {
        const I c = number[of.graph.column[k]];
        if (c == b) continue;
        if (place[c] < begin) {
          place[c] = static_cast<I>(made.graph.column.size());
          made.graph.column.push_back(c);
          made.links.push_back(0);
        }
        made.links[place[c]] += of.links[k];
      }
    }
    made.rows.push_back(rows);
    made.graph.row_begin.push_back(static_cast<I>(made.graph.column.size()));
  }
  return made;
}

}  // namespace

template <class I> NodeBlocks<I> join_nodes(const NodeGraph<I>& of, I B)
{
  Coarse<I> blocks = {of.graph, Array<I>(of.graph.column.size(), I(1)), {}};
  for (I v = 0; v < of.nodes(); ++v) blocks.rows.push_back(of.rows_of(v));
  Array<I> block(static_cast<std::size_t>(of.nodes())), number;
  for (I v = 0; v < of.nodes(); ++v) block[v] = v;

  for (int round = 0, rounds = rounds_of_joins(B); round < rounds; ++round) {
    const Matching<I> matching(blocks, B);
    if (!matching.any()) break;
    const I count = matching.number_pairs(&number);
    blocks = join(blocks, number, count);
    for (I& b : block) b = number[b];
  }
  return {std::move(block), std::move(blocks.graph)};
}

#define INSTANTIATE(I) template NodeBlocks<I> join_nodes<I>(const NodeGraph<I>&, I);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
