/// Implements split_rows.hpp.

#include "split_rows.hpp"

#include <new>
#include <utility>

#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"

namespace syncfree {
namespace {

/// Sizes of a row, or of all rows before a given one.
struct Sizes {
  std::int64_t rows = 0, entries = 0;
};

/// The new rows of each row are consecutive in the order of a serial solve, the row itself last. Their number and their
/// entries follow from the row's length, so each row is split independently.
template <class I> class Splitter {
public:
  Splitter(PatternView<I> T, bool lower, I most, int threads)
      : T_(T), lower_(lower), most_(most), threads_(threads), before_(static_cast<std::size_t>(T.n) + 1)
  {
    for (I step = 0; step < T.n; ++step) {
      const Sizes own = sizes_of(T.row_begin[row_at(step) + 1] - T.row_begin[row_at(step)]);
      before_[step + 1] = {before_[step].rows + own.rows, before_[step].entries + own.entries};
    }
  }

  SplitRows<I> split_all_rows()
  {
    const Sizes all = before_[T_.n];
    made_.row = Array<I>(static_cast<std::size_t>(all.rows));
    made_.row_begin = Array<I>(static_cast<std::size_t>(all.rows) + 1);
    made_.column = Array<I>(static_cast<std::size_t>(all.entries));
    made_.source = Array<I>(static_cast<std::size_t>(all.entries));
    made_.row_begin[all.rows] = static_cast<I>(all.entries);
    for_parts(threads_, parts_of(T_.n), [this](std::size_t part) {
      std::vector<Entry> entries;
      for (I step = first_of_part<I>(part); step < end_of_part(part, T_.n); ++step) split_row(step, &entries);
    });
    return std::move(made_);
  }

private:
  struct Entry {
    I column, source;
  };

  I row_at(I step) const { return lower_ ? step : T_.n - 1 - step; }

  std::size_t parts_for(std::size_t entries) const
  {
    return (entries + static_cast<std::size_t>(most_) - 1) / static_cast<std::size_t>(most_);
  }

  Sizes sizes_of(I length) const
  {
    Sizes own = {1, length};
    for (auto left = static_cast<std::size_t>(length); left > static_cast<std::size_t>(most_);) {
      left = parts_for(left);
      own.rows += static_cast<std::int64_t>(left);
      own.entries += static_cast<std::int64_t>(left);
    }
    return own;
  }

  /// Row number of new row `place` in the order of a serial solve; reversed for an upper triangle.
  I name_of(std::int64_t place) const
  {
    return static_cast<I>(lower_ ? place : before_[T_.n].rows - 1 - place);
  }

  void split_row(I step, std::vector<Entry>* entries)
  {
    const I i = row_at(step);
    Sizes at = before_[step];
    entries->clear();
    for (I k = T_.row_begin[i]; k < T_.row_begin[i + 1]; ++k) {
      const I column = T_.column[k];
      entries->push_back({name_of(before_[row_at(column) + 1].rows - 1), k});
    }
    while (entries->size() > static_cast<std::size_t>(most_)) gather_in_partial_rows(entries, &at);
    write_row(i, entries->data(), entries->size(), &at);
  }

  /// Moves the entries to as few partial rows as possible, of nearly equal length.
  void gather_in_partial_rows(std::vector<Entry>* entries, Sizes* at)
  {
    const std::size_t count = entries->size(), parts = parts_for(count);
    std::vector<Entry> kept;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t from = count * part / parts, to = count * (part + 1) / parts;
      kept.push_back({name_of(at->rows), I(-1)});
      write_row(I(-1), entries->data() + from, to - from, at);
    }
    *entries = std::move(kept);
  }

  void write_row(I row, const Entry* entry, std::size_t count, Sizes* at)
  {
    const I name = name_of(at->rows);
    const std::int64_t behind = at->entries + static_cast<std::int64_t>(count);
    const std::int64_t begin = lower_ ? at->entries : before_[T_.n].entries - behind;
    made_.row[name] = row;
    made_.row_begin[name] = static_cast<I>(begin);
    for (std::size_t e = 0; e < count; ++e) {
      made_.column[begin + static_cast<std::int64_t>(e)] = entry[e].column;
      made_.source[begin + static_cast<std::int64_t>(e)] = entry[e].source;
    }
    *at = {at->rows + 1, behind};
  }

  PatternView<I> T_;
  bool lower_;
  I most_;
  int threads_;
  std::vector<Sizes> before_;  ///< by step of a serial solve; the last element is the total
  SplitRows<I> made_;
};

}  // namespace

template <class I> Status split_long_rows(PatternView<I> T, bool lower, I most, SplitRows<I>* out, int threads)
try {
  *out = Splitter<I>(T, lower, most, threads).split_all_rows();
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) template Status split_long_rows<I>(PatternView<I>, bool, I, SplitRows<I>*, int);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
