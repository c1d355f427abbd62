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

/// Makes `levels` levels of equal size, each of consecutive rows; a row has one entry in the previous level and the
/// others in any earlier one.
Rows make_layered(I n, int entries, I levels);

/// Makes an n x n pattern with on average `entries` entries per row in random columns; the share `empty` of the rows
/// has none.
///   filled  [out] the other rows
Rows make_rectangle(I n, double entries, double empty, std::vector<I>* filled);

/// Lower triangles of the benchmark's matrices and layered ones, 100,000 to a million rows.
std::vector<Named> twenty_triangles();

/// Sets values that keep a solution near its right-hand side.
void set_values(Rows* rows);

/// Returns values in [-1, 1).
std::vector<double> random_numbers(I n);

std::vector<double> solve_serially(const Rows& L, const std::vector<double>& b);

}  // namespace bench
