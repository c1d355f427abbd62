#pragma once

/// The battery: named square matrices, each with a reason. A test that loops over battery() covers all of them.

#include <cstdint>
#include <string>
#include <vector>

#include "syncfree/csr.hpp"

namespace syncfree {

/// A matrix that owns its arrays: n x n CSR that includes the diagonal.
template <class T, class I> struct OwnedCsr {
  I n = 0;
  std::vector<I> row_begin{0};
  std::vector<I> column;
  std::vector<T> value;

  PatternView<I> pattern() const { return {n, row_begin.data(), column.data()}; }
  CsrView<T, I> view() const { return {pattern(), value.data()}; }
};

struct BatteryEntry {
  const char* name;
  const char* reason;
  bool sorted = true;      ///< columns ascend: check_pattern accepts it
  bool diagonal = true;    ///< every (i, i) is an entry
  bool factorable = true;  ///< ILU(0) meets no zero pivot; implies sorted and diagonal
  bool bounded = true;     ///< solutions stay within the range of float
};

/// Lists all matrices of the battery.
const std::vector<BatteryEntry>& battery();

/// Makes the matrix of that name, the same in every call. Values of factorable and bounded matrices are diagonally
/// dominant by rows, except `growth`, so solutions do not overflow.
///   seed    0, or another set of values on the same pattern
///   errors  std::invalid_argument for a name not in battery()
template <class T, class I> OwnedCsr<T, I> make_battery_matrix(const std::string& name, std::uint64_t seed = 0);

/// Makes the 7-point Poisson matrix with random positive coefficients on an x by y by z grid, x fastest.
template <class T, class I> OwnedCsr<T, I> make_poisson(I x, I y, I z, std::uint64_t seed = 0);

/// Makes n random values with real and imaginary parts in [-1, 1).
template <class T> std::vector<T> random_vector(std::size_t n, std::uint64_t seed);

}  // namespace syncfree
