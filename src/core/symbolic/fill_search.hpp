#pragma once

/// Fill of bounded level, row by row. Entry (i, j) has level l where l + 1 is the length of the shortest path
/// i -> ... -> j in the graph of the matrix whose inner vertices are all below min(i, j) (Hysom & Pothen 2001). So row
/// i of U consists of the vertices above i that a breadth-first search from i reaches if it continues only from
/// vertices below i. It needs no other row of U.

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/pattern/graph.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

template <class I> Status too_many_entries()
{
  return failed(Code::invalid_argument,
                "the factor has more entries than " + std::to_string(8 * sizeof(I)) +
                    "-bit indices can count; lower the levels of fill or use wider indices");
}

/// Set of integers in [0, n), enumerated in ascending order. A bitset with two summary levels, whose bits mark the
/// non-zero words of the level below.
template <class I> class AscendingSet {
public:
  explicit AscendingSet(I n)
  {
    std::size_t words = static_cast<std::size_t>(n);
    for (auto& floor : floor_) floor.assign(words = words / 64 + 1, 0);
  }

  void insert(I number)
  {
    std::size_t place = static_cast<std::size_t>(number);
    for (auto& floor : floor_) {
      std::uint64_t& word = floor[place / 64];
      const bool empty = word == 0;
      word |= std::uint64_t(1) << place % 64;
      if (!empty) return;
      place /= 64;
    }
  }

  /// Calls use(number) for all elements in ascending order and empties the set.
  ///   least   lower bound of the elements
  template <class Use> void drain_ascending(I least, const Use& use)
  {
    for (std::size_t top = static_cast<std::size_t>(least) >> 18; top < floor_[2].size(); ++top)
      take_bits(2, top, [&](std::size_t middle) {
        take_bits(1, middle, [&](std::size_t low) {
          take_bits(0, low, [&](std::size_t number) { use(static_cast<I>(number)); });
        });
      });
  }

private:
  template <class Use> void take_bits(int floor, std::size_t word, const Use& use)
  {
    std::uint64_t bits = floor_[floor][word];
    for (; bits; bits &= bits - 1) use(64 * word + static_cast<std::size_t>(__builtin_ctzll(bits)));
    floor_[floor][word] = 0;
  }

  std::vector<std::uint64_t> floor_[3];
};

/// Bounds on the highest vertex that walks of a given length reach from each vertex. They do not depend on a path's
/// source.
template <class I> class Reach {
public:
  ///   edges   length of the longest walk that is queried
  Reach(const PatternView<I>& G, int edges, int threads)
  {
    const auto last_neighbour = [G](I v) {
      return G.row_begin[v] < G.row_begin[v + 1] ? std::max(v, G.column[G.row_begin[v + 1] - 1]) : v;
    };
    bool further = edges > 1 && extend(G, threads, last_neighbour);
    while (further && static_cast<int>(highest_.size()) + 1 < std::min(edges, known)) {
      const I* const shorter = highest_.back().data();
      further = extend(G, threads, [=](I v) { return shorter[v]; });
    }
    if (further && edges > known) highest_.emplace_back(static_cast<std::size_t>(G.n), G.n);
  }

  /// For each vertex v: no walk of at most `edges` edges (at least 2) from v ends at a vertex above the result.
  const I* after(int edges) const
  {
    return highest_[std::min(static_cast<std::size_t>(edges) - 1, highest_.size()) - 1].data();
  }

private:
  static constexpr int known = 16;  ///< edges; for longer walks the bound is n

  /// Prepends one edge to the walks that lead from v to shorter(v). Returns false if no bound increases; then longer
  /// walks have the same bounds.
  template <class Shorter> bool extend(const PatternView<I>& G, int threads, const Shorter& shorter)
  {
    Array<I> now(static_cast<std::size_t>(G.n));
    std::atomic<bool> further{false};
    for_parts(threads, parts_of(G.n), [&](std::size_t part) {
      bool mine = false;
      for (I v = first_of_part<I>(part); v < end_of_part(part, G.n); ++v) {
        const I before = shorter(v);
        I highest = before;
        for (I k = G.row_begin[v]; k < G.row_begin[v + 1]; ++k) highest = std::max(highest, shorter(G.column[k]));
        now[v] = highest;
        mine |= highest > before;
      }
      if (mine) further = true;
    });
    highest_.push_back(std::move(now));
    return further;
  }

  std::vector<Array<I>> highest_;  ///< [m - 2]: after m edges
};

/// The searches of one thread, and their work arrays.
template <class I> class RowSearch {
public:
  ///   returning   true if paths back to the source matter
  RowSearch(const PatternView<I>& G, const Reach<I>& reach, int levels, bool returning)
      : G_(G), reach_(reach), levels_(levels), returning_(returning), mark_(G.n, I(-1)), inner_(G.n), reached_(G.n)
  {
  }

  /// Appends row i of U to *columns.
  void search_row(I i, Array<I>* columns)
  {
    source_ = i;
    mark_[i] = i;
    count_ = 0;
    expand(i, levels_);
    std::size_t begin = 0;
    for (int length = 1; length <= levels_ && begin < count_; ++length)
      for (const std::size_t end = count_; begin < end; ++begin) {
        if (length < levels_) expand(inner_[begin], levels_ - length);
        else collect(inner_[begin]);
      }
    reached_.drain_ascending(i, [&](I j) { columns->push_back(j); });
  }

  /// After search_row(i): true if (i, i) is an entry or is filled by a path that returns to i.
  bool closes() const
  {
    const auto leads_back = [&](I v) { return has_entry(G_, v, source_); };
    return leads_back(source_) || std::any_of(inner_.begin(), inner_.begin() + count_, leads_back);
  }

private:
  ///   left   edges that a path may have after v, at least 1
  void expand(I v, int left)
  {
    if (left == 1) return meet(v, [](I) { return true; });
    const I* const highest = reach_.after(left);
    meet(v, [=, least = returning_ ? source_ : source_ + 1](I w) { return highest[w] >= least; });
  }

  /// Records v's neighbours; of those below the source, only the `promising` ones. Has no branch for each of them,
  /// because it would be unpredictable.
  template <class Promising> void meet(I v, const Promising& promising)
  {
    const I* k = G_.column + G_.row_begin[v];
    const I* const end = G_.column + G_.row_begin[v + 1];
    I* const mark = mark_.data();
    I* const inner = inner_.data();
    const I source = source_;
    std::size_t count = count_;
    for (; k < end && *k <= source; ++k) {
      inner[count] = *k;
      count += (mark[*k] != source) & promising(*k);
      mark[*k] = source;
    }
    count_ = count;
    for (; k < end; ++k) reached_.insert(*k);
  }

  /// Last step of a path: only neighbours above the source matter.
  void collect(I v)
  {
    const I begin = G_.row_begin[v];
    for (I k = G_.row_begin[v + 1]; k > begin && G_.column[k - 1] > source_; --k) reached_.insert(G_.column[k - 1]);
  }

  PatternView<I> G_;
  const Reach<I>& reach_;
  int levels_;
  bool returning_;
  I source_ = -1;
  Array<I> mark_;   ///< row in whose search the vertex was last visited
  Array<I> inner_;  ///< count_ vertices below the source to continue from, in the order of visits; room for n
  std::size_t count_ = 0;
  AscendingSet<I> reached_;
};

/// Computes the rows of U, in parts that threads take dynamically.
template <class I> class FillSearch {
public:
  ///   levels           at least 1
  ///   needs_diagonal   true if a row without (i, i), as an entry or as fill, is a failure
  FillSearch(const PatternView<I>& G, int levels, bool needs_diagonal, int threads)
      : G_(G), reach_(G, levels, threads), levels_(levels), needs_diagonal_(needs_diagonal), threads_(threads),
        found_((static_cast<std::size_t>(G.n) + rows - 1) / rows), missing_(found_.size(), I(-1))
  {
  }

  ///   errors  missing_diagonal(row of G), invalid_argument if I cannot count the entries; throws std::bad_alloc
  Status search_rows(Array<I>* row_begin, Array<I>* column)
  {
    row_begin->resize(static_cast<std::size_t>(G_.n) + 1);
    for_parts(threads_, static_cast<std::size_t>(threads_), [&](std::size_t) { work(row_begin->data()); });
    if (entries_ > most) return too_many_entries<I>();
    for (const I row : missing_)
      if (row >= 0) return failed(Code::missing_diagonal, row);
    if (!make_offsets(threads_, row_begin)) return too_many_entries<I>();
    column->resize(static_cast<std::size_t>(row_begin->back()));
    for_parts(threads_, found_.size(), [&](std::size_t part) {
      std::copy(found_[part].begin(), found_[part].end(), column->begin() + (*row_begin)[first_row_of(part)]);
      Array<I>().swap(found_[part]);
    });
    return {};
  }

private:
  static constexpr std::size_t rows = 512;  ///< in a part
  static constexpr std::size_t most = static_cast<std::size_t>(std::numeric_limits<I>::max());

  static I first_row_of(std::size_t part) { return static_cast<I>(part * rows); }

  /// Work of one thread. A thread that gets no part allocates no arrays.
  void work(I* row_begin)
  {
    std::unique_ptr<RowSearch<I>> search;
    Array<I> columns;
    for (std::size_t part = next_++; part < found_.size() && entries_ <= most; part = next_++) {
      if (!search) search = std::make_unique<RowSearch<I>>(G_, reach_, levels_, needs_diagonal_);
      columns.clear();
      search_part(part, search.get(), row_begin, &columns);
      found_[part] = columns;
      entries_ += columns.size();
    }
  }

  void search_part(std::size_t part, RowSearch<I>* search, I* row_begin, Array<I>* columns)
  {
    const std::size_t end = std::min((part + 1) * rows, static_cast<std::size_t>(G_.n));
    for (I i = first_row_of(part); static_cast<std::size_t>(i) < end; ++i) {
      const std::size_t before = columns->size();
      search->search_row(i, columns);
      row_begin[i + 1] = static_cast<I>(columns->size() - before);
      if (needs_diagonal_ && missing_[part] < 0 && !search->closes()) missing_[part] = i;
    }
  }

  PatternView<I> G_;
  Reach<I> reach_;
  int levels_;
  bool needs_diagonal_;
  int threads_;
  std::vector<Array<I>> found_;          ///< by part: its rows, concatenated
  std::vector<I> missing_;               ///< by part: the first row without a diagonal entry, or -1
  std::atomic<std::size_t> next_{0};     ///< part
  std::atomic<std::size_t> entries_{0};  ///< found so far
};

}  // namespace syncfree
