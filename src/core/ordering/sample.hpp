#pragma once

/// The rows from which the discarded fill is measured: the same on the host and on the device.

#include <algorithm>
#include <cstdint>
#include <utility>
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

/// Sorts the rows by their mixed bits and keeps those that together meet few enough entries, but at least one.
///   Row  has the members of SampledRow
template <class Row> void limit_sample(std::vector<Row>* rows)
{
  const auto bits = [](const Row& r) { return mix_bits(static_cast<std::uint64_t>(r.row)); };
  std::sort(rows->begin(), rows->end(), [&](const Row& a, const Row& b) { return bits(a) < bits(b); });
  std::vector<Row> kept;
  std::int64_t entries = 0;
  for (const Row& r : *rows)
    if (entries + r.met <= most_sampled_entries) kept.push_back(r), entries += r.met;
  if (kept.empty() && !rows->empty()) kept.push_back(rows->front());
  *rows = std::move(kept);
}

}  // namespace syncfree
