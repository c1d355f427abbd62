#pragma once

/// Common to the tests of loops: loops given as tables, and random ones.

#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "syncfree/loop/body.hpp"
#include "syncfree/loop/trace.hpp"

namespace syncfree {

using Ints = std::vector<int>;

/// Iteration i performs op[k] on x[where[k]], for begin[i] <= k < begin[i + 1], and adds the values it reads to
/// seen[i]. All values are small integers, so sums are exact in any order.
struct Script {
  struct Table {
    Ints begin{0}, op, where;
    void line(const std::vector<std::pair<Access, int>>& accesses)
    {
      for (const auto& [access, at] : accesses) {
        op.push_back(access);
        where.push_back(at);
      }
      begin.push_back(static_cast<int>(op.size()));
    }
    int lines() const { return static_cast<int>(begin.size()) - 1; }
  };

  int lines;
  const int *begin, *op, *where;
  InOut<double> x_, seen_;

  int iterations() const { return lines; }

  template <class At> SYNCFREE_HD void operator()(At& at, int i) const
  {
    const auto x = at[x_];
    const auto seen = at[seen_];
    number_t<At, double> sum(0);
    for (int k = begin[i]; k < begin[i + 1]; ++k) {
      const int j = where[k];
      if (op[k] == reads) sum += x[j];
      if (op[k] == writes) x[j] = 1000 + i;
      if (op[k] == adds) x[j] += 3 * i + 1;
    }
    seen[i] = sum;
  }
};

///   x     `entries` values
///   seen  one value per line
inline Script script_of(const Script::Table& table, int entries, double* x = nullptr, double* seen = nullptr)
{
  return {table.lines(),      table.begin.data(),          table.op.data(),
          table.where.data(), {x, entries, "x"}, {seen, table.lines(), "seen"}};
}

/// Makes lines of up to `most` accesses, of the first `kinds` of reads, writes, adds.
inline Script::Table random_table(unsigned seed, int lines, int entries, int most, unsigned kinds = 3)
{
  std::mt19937 random(seed);
  Script::Table table;
  for (int i = 0; i < lines; ++i) {
    std::vector<std::pair<Access, int>> line;
    for (int k = static_cast<int>(random() % (most + 1)); k > 0; --k) {
      const auto access = static_cast<Access>(1u << random() % kinds);
      line.emplace_back(access, static_cast<int>(random() % entries));
    }
    table.line(line);
  }
  return table;
}

/// Makes lines that add to random entries and read the mirrored entry lines - 1 - i; some also write.
inline Script::Table random_table_of_affine_reads(unsigned seed, int lines)
{
  std::mt19937 random(seed);
  Script::Table table;
  for (int i = 0; i < lines; ++i) {
    std::vector<std::pair<Access, int>> line{{reads, lines - 1 - i}};
    for (int k = 0; k < 3; ++k) line.emplace_back(adds, static_cast<int>(random() % lines));
    if (random() % 5 == 0) line.emplace_back(writes, static_cast<int>(random() % lines));
    table.line(line);
  }
  return table;
}

/// Returns the values of a script after `run`, a function of the body.
template <class Run>
std::vector<double> numbers_of(const Script::Table& table, int entries, const Run& run)
{
  std::vector<double> x(entries + table.lines());
  std::iota(x.begin(), x.end(), 10.0);
  run(script_of(table, entries, x.data(), x.data() + entries));
  return x;
}

inline const auto in_sequence = [](const auto& body) {
  PlainAccessor at;
  for (auto i = body.iterations() * 0; i < body.iterations(); ++i) body(at, i);
};

}  // namespace syncfree
