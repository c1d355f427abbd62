#pragma once

/// A Delaunay triangulation of random points in a cube: no sphere through the corners of a tetrahedron contains a
/// point.

#include <array>
#include <cstdint>
#include <vector>

namespace bench {

/// Integers below 2^23, so that the predicates can be decided exactly in 128 bits.
using Point = std::array<std::int32_t, 3>;
constexpr std::int32_t cube_edge = std::int32_t(1) << 23;

struct Tetrahedra {
  std::vector<Point> point;                     ///< the eight corners of a cube, then the points in it
  std::vector<std::array<std::int32_t, 4>> of;  ///< corners of each, det(b - a, c - a, d - a) > 0
};

/// Triangulates points in the middle of the cube, half an edge wide, the same in every run.
///   throws  std::runtime_error if two points coincide or four lie in a plane, which random ones do not
///   cost    expected O(n log n), about 10 us a point
///   source  Bowyer 1981, Watson 1981; order of insertion: Amenta, Choi, Rote 2003
Tetrahedra triangulate(std::int64_t points);

}  // namespace bench
