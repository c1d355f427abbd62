/// Implements elements.hpp.

#include "elements.hpp"

#include <algorithm>
#include <cmath>

#include "generate.hpp"

namespace bench {
namespace {

Vector cross(const Vector& a, const Vector& b)
{
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Integral of grad phi_i . grad phi_j.
double stiffness(const Element& e, int i, int j) { return dot(e.normal[i], e.normal[j]) / (6 * e.six_volumes); }

/// Integral of phi_i phi_j.
double mass(const Element& e, int i, int j) { return e.six_volumes / 120 * (i == j ? 2 : 1); }

double decay(const Element& e, int i, int j, int, int) { return stiffness(e, i, j) + mass(e, i, j); }

double coefficient(const Vector& middle)
{
  std::int64_t box = 0;
  for (const double share : middle) box = 64 * box + 32 + static_cast<std::int64_t>(std::floor(6 * share));
  return std::pow(10.0, 4 * random_of(box, -1, 12));
}

double jumps(const Element& e, int i, int j, int, int) { return coefficient(e.middle) * stiffness(e, i, j); }

Vector flow(const Vector& middle) { return {1, 1 - middle[2], middle[1]}; }

double convection(const Element& e, int i, int j, int, int)
{
  const Vector v = flow(e.middle);
  std::array<double, 4> slope;  // integral of phi_k v . grad phi_m: the same for every k
  for (int m = 0; m < 4; ++m) slope[m] = dot(v, e.normal[m]) / 24;
  const auto more_diffusion = [&](int m) { return std::max({0.0, slope[i], slope[m]}); };
  double convected = slope[j];
  for (int m = 0; m < 4; ++m)
    if (i == j && m != i) convected += more_diffusion(m);
  if (i != j) convected -= more_diffusion(j);
  return 0.005 * stiffness(e, i, j) + convected;
}

/// The integral of  div u div w + 2 e(u) : e(w).
double elasticity(const Element& e, int i, int j, int r, int c)
{
  const Vector &a = e.normal[i], &b = e.normal[j];
  const double strained = (a[r] * b[c] + a[c] * b[r]) / (6 * e.six_volumes);
  return strained + (r == c ? stiffness(e, i, j) : 0);
}

}  // namespace

Element make_element(const std::array<Vector, 4>& x, const Vector& middle)
{
  std::array<Vector, 3> edge;
  for (int k = 0; k < 3; ++k)
    for (int d = 0; d < 3; ++d) edge[k][d] = x[k + 1][d] - x[0][d];
  Element e;
  e.normal = {Vector(), cross(edge[1], edge[2]), cross(edge[2], edge[0]), cross(edge[0], edge[1])};
  for (int d = 0; d < 3; ++d) e.normal[0][d] = -e.normal[1][d] - e.normal[2][d] - e.normal[3][d];
  e.six_volumes = dot(edge[0], e.normal[1]);
  e.middle = middle;
  return e;
}

Form decay_form() { return {1, true, decay}; }
Form jumps_form() { return {1, true, jumps}; }
Form convection_form() { return {1, false, convection}; }
Form elasticity_form() { return {3, true, elasticity}; }

}  // namespace bench
