/// Linear finite elements for  -div grad u + u  on tetrahedra between random points, in units in which points are about
/// one apart; rows in reverse Cuthill-McKee order, along a space-filling curve or in random order. The corners of the
/// cube around the points are fixed at zero, so the matrix is positive definite. Obtuse angles give positive
/// off-diagonal entries, as usual on such meshes.

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "delaunay.hpp"
#include "generate.hpp"

namespace bench {
namespace {

using Index = std::int32_t;
using Graph = std::vector<std::vector<Index>>;  // neighbours of every node, ascending, without itself
using Vector = std::array<double, 3>;

constexpr Index corners = 8;  // points before the nodes

Graph neighbours_of(const Tetrahedra& mesh)
{
  Graph graph(mesh.point.size() - corners);
  for (const auto& t : mesh.of)
    for (const Index a : t)
      for (const Index b : t)
        if (a != b && a >= corners && b >= corners) graph[a - corners].push_back(b - corners);
  for (auto& row : graph) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  return graph;
}

/// Appends the connected part of the graph around `start`, by distance from it and then by degree.
void cuthill_mckee(const Graph& graph, Index start, std::vector<bool>* taken, std::vector<Index>* order)
{
  std::vector<Index> next;
  std::size_t done = order->size();
  (*taken)[start] = true;
  order->push_back(start);
  for (; done < order->size(); ++done) {
    next.clear();
    for (const Index q : graph[(*order)[done]])
      if (!(*taken)[q]) next.push_back(q), (*taken)[q] = true;
    std::stable_sort(next.begin(), next.end(), [&](Index a, Index b) { return graph[a].size() < graph[b].size(); });
    order->insert(order->end(), next.begin(), next.end());
  }
}

/// Returns a node far from others: the last one of a search that starts at the last one of a search.
Index far_from(const Graph& graph, Index start, const std::vector<bool>& taken)
{
  for (int sweep = 0; sweep < 2; ++sweep) {
    std::vector<bool> seen = taken;
    std::vector<Index> order;
    cuthill_mckee(graph, start, &seen, &order);
    start = order.back();
  }
  return start;
}

/// order[i] = node that becomes row i
std::vector<Index> reverse_cuthill_mckee(const Graph& graph)
{
  std::vector<Index> order;
  std::vector<bool> taken(graph.size());
  for (std::size_t p = 0; p < graph.size(); ++p)
    if (!taken[p]) cuthill_mckee(graph, far_from(graph, static_cast<Index>(p), taken), &taken, &order);
  std::reverse(order.begin(), order.end());
  return order;
}

/// Interleaves the bits of a point's coordinates: its position on a Z-shaped curve through the cube (Morton 1966).
std::uint64_t place_on_curve(const Point& point)
{
  std::uint64_t place = 0;
  for (int bit = 22; bit > 1; --bit)  // 21 bits of each coordinate fit
    for (const std::int32_t x : point) place = 2 * place + (static_cast<std::uint32_t>(x) >> bit & 1);
  return place;
}

/// Returns order[i] = node that becomes row i: by key, then by node.
template <class Key>
std::vector<Index> by_key(std::size_t nodes, Key key)
{
  std::vector<std::pair<decltype(key(Index())), Index>> keyed;
  for (std::size_t p = 0; p < nodes; ++p) keyed.emplace_back(key(static_cast<Index>(p)), static_cast<Index>(p));
  std::sort(keyed.begin(), keyed.end());
  std::vector<Index> order;
  for (const auto& [_, p] : keyed) order.push_back(p);
  return order;
}

std::vector<Index> inverse(const std::vector<Index>& order)
{
  std::vector<Index> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<Index>(i);
  return place;
}

Matrix make_pattern(const Graph& graph, const std::vector<Index>& order, const std::vector<Index>& place)
{
  Matrix A;
  std::vector<Index> row;
  for (const Index p : order) {
    row.assign(1, place[p]);
    for (const Index q : graph[p]) row.push_back(place[q]);
    std::sort(row.begin(), row.end());
    A.column.insert(A.column.end(), row.begin(), row.end());
    A.row_begin.push_back(A.nnz());
  }
  A.value.assign(A.column.size(), 0.0);
  return A;
}

void add(Matrix* A, Index i, Index j, double value)
{
  const auto begin = A->column.begin();
  const auto k = std::lower_bound(begin + A->row_begin[i], begin + A->row_begin[i + 1], j) - begin;
  A->value[k] += value;
}

Vector cross(const Vector& a, const Vector& b)
{
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// K_ij = integral of grad phi_i . grad phi_j + phi_i phi_j over one tetrahedron. Gradients are the normals of the
/// faces over six volumes.
std::array<std::array<double, 4>, 4> element(const std::array<Vector, 4>& x)
{
  std::array<Vector, 3> e;
  for (int k = 0; k < 3; ++k)
    for (int d = 0; d < 3; ++d) e[k][d] = x[k + 1][d] - x[0][d];
  std::array<Vector, 4> normal = {Vector(), cross(e[1], e[2]), cross(e[2], e[0]), cross(e[0], e[1])};
  for (int d = 0; d < 3; ++d) normal[0][d] = -normal[1][d] - normal[2][d] - normal[3][d];
  const double six_volumes = dot(e[0], normal[1]);
  std::array<std::array<double, 4>, 4> K;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      K[i][j] = dot(normal[i], normal[j]) / (6 * six_volumes) + six_volumes / 120 * (i == j ? 2 : 1);
  return K;
}

Matrix assemble(const Tetrahedra& mesh, const Graph& graph, const std::vector<Index>& order)
{
  const std::vector<Index> place = inverse(order);
  Matrix A = make_pattern(graph, order, place);
  const double scale = std::cbrt(static_cast<double>(order.size())) / (cube_edge / 2);
  for (const auto& t : mesh.of) {
    std::array<Vector, 4> x;
    for (int c = 0; c < 4; ++c)
      for (int d = 0; d < 3; ++d) x[c][d] = scale * mesh.point[t[c]][d];
    const auto K = element(x);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        if (t[i] >= corners && t[j] >= corners) add(&A, place[t[i] - corners], place[t[j] - corners], K[i][j]);
  }
  return A;
}

}  // namespace

Matrix make_mesh(std::int64_t rows)
{
  const Tetrahedra mesh = triangulate(rows);
  const Graph graph = neighbours_of(mesh);
  return assemble(mesh, graph, reverse_cuthill_mckee(graph));
}

Matrix make_mesh_on_curve(std::int64_t rows)
{
  const Tetrahedra mesh = triangulate(rows);
  const auto key = [&](Index p) { return place_on_curve(mesh.point[p + corners]); };
  return assemble(mesh, neighbours_of(mesh), by_key(mesh.point.size() - corners, key));
}

Matrix make_mesh_at_random(std::int64_t rows)
{
  const Tetrahedra mesh = triangulate(rows);
  const auto key = [](Index p) { return random_of(p, -1, 11); };
  return assemble(mesh, neighbours_of(mesh), by_key(mesh.point.size() - corners, key));
}

}  // namespace bench
