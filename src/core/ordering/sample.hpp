#pragma once

/// The rows from which the discarded fill is measured: the same on the host and on the device.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coloring.hpp"

namespace syncfree {

/// Rows that are wanted, and entries that their neighbours may have together.
constexpr std::int64_t wanted_sample = 1000, most_sampled_entries = std::int64_t(1) << 24;

/// Row i is sampled if its mixed bits are divisible by this.
constexpr std::uint64_t sample_step(std::int64_t rows)
{
  return static_cast<std::uint64_t>(rows < 2 * wanted_sample ? 1 : rows / wanted_sample);
}

/// A row of the sample, and the entries of the rows that it reads.
template <class I> struct SampledRow {
  I row;
  std::int64_t met;
};

/// Keeps those rows that together meet few enough entries, but at least one.
///   Row   has the members of SampledRow
///   rows  by ascending mixed bits
template <class Row> void limit_sample(std::vector<Row>* rows)
{
  std::size_t kept = 0;
  std::int64_t entries = 0;
  for (const Row& r : *rows)
    if (entries + r.met <= most_sampled_entries) entries += r.met, (*rows)[kept++] = r;
  if (kept == 0 && !rows->empty()) kept = 1;
  rows->erase(rows->begin() + static_cast<std::ptrdiff_t>(kept), rows->end());
}

}  // namespace syncfree
