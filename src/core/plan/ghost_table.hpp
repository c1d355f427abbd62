#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace syncfree {

/// The rows of other tiles that a tile reads, numbered in the order of insertion.
template <class I> class GhostTable {
public:
  /// Inserts a row unless it is present. Returns its number.
  std::uint32_t insert_row(I row)
  {
    if (2 * row_.size() >= table_.size()) grow();
    std::size_t at = hash_place(row);
    while (table_[at].row >= 0 && table_[at].row != row) at = next(at);
    if (table_[at].row < 0) {
      table_[at] = {row, static_cast<std::uint32_t>(row_.size())};
      row_.push_back(row);
    }
    return table_[at].number;
  }
  const std::vector<I>& ghost_rows() const { return row_; }

private:
  struct Entry {
    I row = -1;
    std::uint32_t number = 0;
  };
  std::size_t hash_place(I row) const
  {
    return (static_cast<std::uint64_t>(row) * 0x9e3779b97f4a7c15u >> 32) & (table_.size() - 1);
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (table_.size() - 1); }
  void grow()
  {
    std::vector<Entry> larger(std::max<std::size_t>(64, 2 * table_.size()));
    table_.swap(larger);
    for (std::size_t k = 0; k < row_.size(); ++k) {
      std::size_t at = hash_place(row_[k]);
      while (table_[at].row >= 0) at = next(at);
      table_[at] = {row_[k], static_cast<std::uint32_t>(k)};
    }
  }

  std::vector<Entry> table_;  ///< open addressing, a power of two
  std::vector<I> row_;
};

}  // namespace syncfree
