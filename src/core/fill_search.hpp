#pragma once

/// Fill of bounded level, row by row. Entry (i, j) has level l where l + 1 is the length of the shortest path
/// i -> ... -> j in the graph of the matrix whose inner vertices are all below min(i, j) (Hysom & Pothen 2001). So
/// row i of U is what a breadth-first search from i reaches above i when it goes on from vertices below i only, and
/// needs no other row of U.

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "graph.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

template <class I> Status too_many_entries()
{
  return failed(Code::invalid_argument,
                "the factor has more entries than " + std::to_string(8 * sizeof(I)) +
                    "-bit indices can count; lower the levels of fill or use wider indices");
}

/// A set of numbers below n that gives them back in ascending order, each once: a bit for each number, and two floors
/// whose bits say which words of the floor below are not 0.
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

  /// use(number) for all, and then none is left.
  ///   least   no number is below it
  template <class Use> void take(I least, const Use& use)
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

/// The searches of one thread.
template <class I> class RowSearch {
public:
  RowSearch(const PatternView<I>& G, int levels)
      : G_(G), levels_(levels), mark_(G.n, I(-1)), inner_(G.n), reached_(G.n)
  {
  }

  /// Appends row i of U to *columns.
  void run(I i, Array<I>* columns)
  {
    source_ = i;
    mark_[i] = i;
    count_ = 0;
    if (levels_ == 0) collect(i);
    else expand(i);
    std::size_t begin = 0;
    for (int length = 1; length <= levels_ && begin < count_; ++length)
      for (const std::size_t end = count_; begin < end; ++begin) {
        if (length < levels_) expand(inner_[begin]);
        else collect(inner_[begin]);
      }
    reached_.take(i, [&](I j) { columns->push_back(j); });
  }

  /// After run(i): is (i, i) an entry, or filled by a path that returns to i?
  bool closes() const
  {
    const auto leads_back = [&](I v) { return has_entry(G_, v, source_); };
    return leads_back(source_) || std::any_of(inner_.begin(), inner_.begin() + count_, leads_back);
  }

private:
  /// Without a branch for each entry, for it would be taken as often as not.
  void expand(I v)
  {
    const I* k = G_.column + G_.row_begin[v];
    const I* const end = G_.column + G_.row_begin[v + 1];
    I* const mark = mark_.data();
    I* const inner = inner_.data();
    const I source = source_;
    std::size_t count = count_;
    for (; k < end && *k <= source; ++k) {
      inner[count] = *k;
      count += mark[*k] != source;
      mark[*k] = source;
    }
    count_ = count;
    for (; k < end; ++k) reached_.insert(*k);
  }

  /// The last step: what is not above the source leads nowhere.
  void collect(I v)
  {
    const I begin = G_.row_begin[v];
    for (I k = G_.row_begin[v + 1]; k > begin && G_.column[k - 1] > source_; --k) reached_.insert(G_.column[k - 1]);
  }

  PatternView<I> G_;
  int levels_;
  I source_ = -1;
  Array<I> mark_;   ///< the row in whose search a vertex was last met
  Array<I> inner_;  ///< count_ vertices below the source, in the order in which they were met; room for n
  std::size_t count_ = 0;
  AscendingSet<I> reached_;
};

/// The rows of U, found in parts that threads take in turn.
template <class I> class FillSearch {
public:
  ///   needs_diagonal   is a row without (i, i), be it entry or fill, a failure?
  FillSearch(const PatternView<I>& G, int levels, bool needs_diagonal, int threads)
      : G_(G), levels_(levels), needs_diagonal_(needs_diagonal), threads_(threads),
        found_((static_cast<std::size_t>(G.n) + rows - 1) / rows), missing_(found_.size(), I(-1))
  {
  }

  ///   errors  missing_diagonal(row of G), invalid_argument if I cannot count the entries; throws std::bad_alloc
  Status run(Array<I>* row_begin, Array<I>* column)
  {
    row_begin->resize(static_cast<std::size_t>(G_.n) + 1);
    for_parts(threads_, static_cast<std::size_t>(threads_), [&](std::size_t) { work(row_begin->data()); });
    for (const I row : missing_)
      if (row >= 0) return failed(Code::missing_diagonal, row);
    if (entries_ > most || !make_offsets(threads_, row_begin)) return too_many_entries<I>();
    column->resize(static_cast<std::size_t>(row_begin->back()));
    for_parts(threads_, found_.size(), [&](std::size_t part) {
      std::copy(found_[part].begin(), found_[part].end(), column->begin() + (*row_begin)[first(part)]);
      Array<I>().swap(found_[part]);
    });
    return {};
  }

private:
  static constexpr std::size_t rows = 512;  ///< in a part
  static constexpr std::size_t most = static_cast<std::size_t>(std::numeric_limits<I>::max());

  static I first(std::size_t part) { return static_cast<I>(part * rows); }

  /// One thread's share. Who comes too late for a part needs no arrays.
  void work(I* row_begin)
  {
    std::unique_ptr<RowSearch<I>> search;
    Array<I> columns;
    for (std::size_t part = next_++; part < found_.size() && entries_ <= most; part = next_++) {
      if (!search) search = std::make_unique<RowSearch<I>>(G_, levels_);
      columns.clear();
      search_part(part, search.get(), row_begin, &columns);
      found_[part] = columns;
      entries_ += columns.size();
    }
  }

  void search_part(std::size_t part, RowSearch<I>* search, I* row_begin, Array<I>* columns)
  {
    const std::size_t end = std::min((part + 1) * rows, static_cast<std::size_t>(G_.n));
    for (I i = first(part); static_cast<std::size_t>(i) < end; ++i) {
      const std::size_t before = columns->size();
      search->run(i, columns);
      row_begin[i + 1] = static_cast<I>(columns->size() - before);
      if (!needs_diagonal_ || search->closes()) continue;
      missing_[part] = i;
      return;
    }
  }

  PatternView<I> G_;
  int levels_;
  bool needs_diagonal_;
  int threads_;
  std::vector<Array<I>> found_;          ///< by part: its rows, one behind the other
  std::vector<I> missing_;               ///< by part: the first row without a diagonal entry, or -1
  std::atomic<std::size_t> next_{0};     ///< part
  std::atomic<std::size_t> entries_{0};  ///< found so far
};

}  // namespace syncfree
