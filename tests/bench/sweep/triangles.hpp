#pragma once

/// Triangles and rectangles for the sweep, always the same.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

using I = std::int32_t;

/// Compressed rows; of a triangle the strictly lower part, the diagonal is 1.
struct Rows {
  I columns = 0;
  std::vector<I> begin = {0}, column;
  std::vector<double> value;
  I n() const { return static_cast<I>(begin.size()) - 1; }
};

struct Named {
  std::string name;
  std::function<Rows()> make;
};

/// `levels` levels of equal size, rows of a level side by side; a row has one entry in the level before and the others
/// in any earlier one.
Rows make_layered(I n, int entries, I levels);

/// n x n, as many entries as `entries` a row on average in random columns, the share `empty` of the rows without any.
///   filled  [out] the other rows
Rows make_rectangle(I n, double entries, double empty, std::vector<I>* filled);

/// Lower triangles of the benchmark's matrices and layered ones, 100,000 to a million rows.
std::vector<Named> twenty_triangles();

/// Numbers that keep a solution near its right-hand side.
void set_values(Rows* rows);

/// In [-1, 1).
std::vector<double> random_numbers(I n);

std::vector<double> solve_serially(const Rows& L, const std::vector<double>& b);

}  // namespace bench
