#pragma once

/// How much memory the factor and the plan of its solves may take on a device.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "syncfree/options.hpp"

namespace syncfree {

constexpr double megabyte = 1e6;  ///< as views print them

/// The default limit: a multiple of what PETSc's factor takes, but not less than a small plan may take in any case.
constexpr double default_limit_in_factors = 6, least_default_limit = 64 * megabyte;

/// Returns the bytes of PETSc's incomplete factor as a matrix of type seqaij: values and column indices, and for each
/// row its offset, its diagonal's and an inverse pivot.
///   entries  that PETSc stores: of L, U and the diagonal, or, for IC, of U with the diagonal
inline double petsc_factor_bytes(double rows, double entries, std::size_t scalar_bytes, std::size_t index_bytes)
{
  const auto scalar = static_cast<double>(scalar_bytes), index = static_cast<double>(index_bytes);
  return entries * (scalar + index) + (rows + 1) * (2 * index + scalar);
}

/// Returns the limit in bytes that `auto` and `merged` keep to; infinity: none.
///   petsc_bytes  petsc_factor_bytes() of the same factor, for IC that of ILU: ours has both triangles
inline double memory_limit_in_force(const SolverOptions& options, double petsc_bytes)
{
  if (options.memory_limit > 0) return options.memory_limit * megabyte;
  return std::max(default_limit_in_factors * petsc_bytes, least_default_limit);
}

/// Returns the clause that a view has for a strategy that was not taken: "merged would take 210 MB, more than the
/// limit of 64 MB".
///   at_least  it would take `bytes` or more
std::string over_memory_limit(const std::string& strategy, double bytes, double limit, bool at_least = false);

}  // namespace syncfree
