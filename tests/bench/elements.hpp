#pragma once

/// Linear finite elements on tetrahedra: the entries of their matrices for several equations.

#include <array>

namespace bench {

using Vector = std::array<double, 3>;

/// One tetrahedron, in units in which the nodes of a mesh are about one apart.
struct Element {
  std::array<Vector, 4> normal;  ///< of the face opposite of each corner, inward, as long as twice its area
  double six_volumes = 0;        ///< so the gradient of corner i's function is normal[i] / six_volumes
  Vector middle = {};            ///< as a share of the box around the nodes: [0, 1]^3, outside of it beyond
};

/// x has positive orientation: det(x1 - x0, x2 - x0, x3 - x0) > 0.
Element make_element(const std::array<Vector, 4>& x, const Vector& middle);

/// An equation: the entry of unknown r of corner i and unknown c of corner j of a tetrahedron.
struct Form {
  int unknowns = 1;
  bool symmetric = true;
  double (*entry)(const Element& e, int i, int j, int r, int c) = nullptr;
};

/// -div grad u + u
Form decay_form();

/// -div(a grad u) where a is constant in each of 6 x 6 x 6 boxes, 1 to 10^4, its logarithm at random.
Form jumps_form();

/// -0.005 div grad u + v . grad u in a flow v through the box, which turns: over the distance of two nodes convection
/// is about 200 times as strong as diffusion. Each element has just as much more diffusion as makes the entries of its
/// convection off the diagonal at most zero (discrete upwinding: Kuzmin & Turek 2002, there for the whole matrix).
Form convection_form();

/// Linear elasticity with a Poisson ratio of 1/4.
Form elasticity_form();

}  // namespace bench
