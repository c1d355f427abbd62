/// What split_rows.hpp declares.

#include "split_rows.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "instantiate.hpp"

namespace syncfree {
namespace {

template <class I> struct Entry {
  I column, source;
};

/// Takes the rows in the order of a serial solve and numbers new ones in that order.
template <class I> class Splitter {
public:
  Splitter(PatternView<I> T, I most, SplitRows<I>* out) : T_(T), most_(most), out_(out), place_(T.n) {}

  void add_row(I i)
  {
    entries_.clear();
    for (I k = T_.row_begin[i]; k < T_.row_begin[i + 1]; ++k) entries_.push_back({place_[T_.column[k]], k});
    while (entries_.size() > static_cast<std::size_t>(most_)) gather_in_partial_rows();
    place_[i] = append(i, entries_.data(), entries_.size());
  }

private:
  /// The entries become those of partial rows, as few and as equal as can be.
  void gather_in_partial_rows()
  {
    const std::size_t count = entries_.size(), most = static_cast<std::size_t>(most_);
    const std::size_t parts = (count + most - 1) / most;
    std::vector<Entry<I>> kept;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t from = count * part / parts, to = count * (part + 1) / parts;
      kept.push_back({append(I(-1), entries_.data() + from, to - from), I(-1)});
    }
    entries_ = std::move(kept);
  }

  I append(I row, const Entry<I>* entry, std::size_t count)
  {
    for (std::size_t e = 0; e < count; ++e) {
      out_->column.push_back(entry[e].column);
      out_->source.push_back(entry[e].source);
    }
    out_->row_begin.push_back(static_cast<I>(out_->column.size()));
    out_->row.push_back(row);
    return static_cast<I>(out_->row.size() - 1);
  }

  PatternView<I> T_;
  I most_;
  SplitRows<I>* out_;
  std::vector<I> place_;  ///< of a row that was added
  std::vector<Entry<I>> entries_;
};

/// From the order of an upper triangle's serial solve, last row first, to ascending rows.
template <class I> void turn_round(SplitRows<I>* rows)
{
  const I n = static_cast<I>(rows->row.size());
  SplitRows<I> turned;
  turned.row.assign(rows->row.rbegin(), rows->row.rend());
  turned.row_begin = {0};
  for (I r = n - 1; r >= 0; --r) {
    for (I k = rows->row_begin[r]; k < rows->row_begin[r + 1]; ++k) {
      turned.column.push_back(n - 1 - rows->column[k]);
      turned.source.push_back(rows->source[k]);
    }
    turned.row_begin.push_back(static_cast<I>(turned.column.size()));
  }
  *rows = std::move(turned);
}

}  // namespace

template <class I> Status split_long_rows(PatternView<I> T, bool lower, I most, SplitRows<I>* out)
try {
  SplitRows<I> rows;
  rows.row_begin = {0};
  rows.column.reserve(T.nnz());
  rows.source.reserve(T.nnz());
  Splitter<I> splitter(T, most, &rows);
  for (I step = 0; step < T.n; ++step) splitter.add_row(lower ? step : T.n - 1 - step);
  if (!lower) turn_round(&rows);
  *out = std::move(rows);
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) template Status split_long_rows<I>(PatternView<I>, bool, I, SplitRows<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
