/// Linear finite elements (elements.hpp) on two kinds of tetrahedra, in units in which vertices are about one apart;
/// rows in reverse Cuthill-McKee order, along a space-filling curve or in random order, unknowns of a node together.
///
///   mesh  a Delaunay triangulation of random points; the corners of a cube around them, twice as wide, are fixed at
///         zero. Random points give flat tetrahedra and obtuse angles: diffusion with jumps has no IC(0) on them
///   tets  the grid of cells, each split at random, of examples/ksp/tutorials/tetrahedra.h: no tetrahedron is flat. The
///         boundary is fixed at zero

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "delaunay.hpp"
#include "elements.hpp"
#include "generate.hpp"
#include "tetrahedra.h"

namespace bench {
namespace {

using Index = std::int32_t;
using Graph = std::vector<std::vector<Index>>;  // neighbours of every node, ascending, without itself

/// Vertices and tetrahedra, in units in which vertices are about one apart.
struct Mesh {
  Index nodes = 0;
  std::vector<Index> node;                    ///< of every vertex: its number, -1 where it is fixed at zero
  std::vector<Vector> x;                      ///< of every vertex
  std::vector<std::array<Index, 4>> corners;  ///< vertices of every tetrahedron
  double low = 0, width = 1;                  ///< the box around the nodes is from low to low + width along each axis
};

/// Delaunay: the vertices of the cube are fixed, the points in it are nodes.
Mesh make_delaunay(std::int64_t nodes)
{
  constexpr Index fixed = 8;
  Tetrahedra made = triangulate(nodes);
  Mesh mesh;
  mesh.nodes = static_cast<Index>(made.point.size()) - fixed;
  mesh.width = std::cbrt(static_cast<double>(mesh.nodes));
  mesh.low = mesh.width / 2;
  for (const Point& p : made.point) {
    const Index node = static_cast<Index>(mesh.x.size()) - fixed;
    mesh.node.push_back(std::max(node, -1));
    Vector x;
    for (int d = 0; d < 3; ++d) x[d] = 2 * mesh.width * p[d] / cube_edge;
    mesh.x.push_back(x);
  }
  mesh.corners = std::move(made.of);
  return mesh;
}

/// Split cells: the vertices on the boundary are fixed.
Mesh make_cells(std::int64_t nodes)
{
  const std::int64_t n = edge(nodes, 3) + 1;
  Mesh mesh;
  mesh.nodes = static_cast<Index>((n - 1) * (n - 1) * (n - 1));
  mesh.width = static_cast<double>(n);
  for (std::int64_t v = 0; v < (n + 1) * (n + 1) * (n + 1); ++v) {
    Vector x;
    VertexPosition(n, v, x.data());
    for (double& along : x) along *= mesh.width;
    mesh.x.push_back(x);
    mesh.node.push_back(static_cast<Index>(InnerVertex(n, v)));
  }
  for (std::int64_t cell = 0; cell < n * n * n; ++cell) {
    std::int64_t tetrahedron[6][4];
    CellTetrahedra(n, cell, tetrahedron);
    for (const auto& t : tetrahedron)
      mesh.corners.push_back(
          {static_cast<Index>(t[0]), static_cast<Index>(t[1]), static_cast<Index>(t[2]), static_cast<Index>(t[3])});
  }
  return mesh;
}

Graph neighbours_of(const Mesh& mesh)
{
  Graph graph(mesh.nodes);
  for (const auto& t : mesh.corners)
    for (const Index a : t)
      for (const Index b : t)
        if (a != b && mesh.node[a] >= 0 && mesh.node[b] >= 0) graph[mesh.node[a]].push_back(mesh.node[b]);
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

/// Interleaves the bits of a place in the box: its position on a Z-shaped curve through the box (Morton 1966).
std::uint64_t place_on_curve(const Vector& x, const Mesh& mesh)
{
  std::uint64_t place = 0;
  for (int bit = 20; bit >= 0; --bit)
    for (const double along : x)
      place = 2 * place + (static_cast<std::uint32_t>((along - mesh.low) / mesh.width * 0x1p21) >> bit & 1);
  return place;
}

/// Returns order[i] = node that becomes row i: by key, then by node.
template <class Key>
std::vector<Index> by_key(Index nodes, Key key)
{
  std::vector<std::pair<decltype(key(Index())), Index>> keyed;
  for (Index p = 0; p < nodes; ++p) keyed.emplace_back(key(p), p);
  std::sort(keyed.begin(), keyed.end());
  std::vector<Index> order;
  for (const auto& [_, p] : keyed) order.push_back(p);
  return order;
}

std::vector<Index> at_random(Index nodes)
{
  return by_key(nodes, [](Index p) { return random_of(p, -1, 11); });
}

std::vector<Index> inverse(const std::vector<Index>& order)
{
  std::vector<Index> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<Index>(i);
  return place;
}

/// The pattern of one unknown a node; the rows of `unknowns` unknowns are made of it by in_blocks().
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
  return A;
}

/// Makes a block of unknowns of every entry, without values.
Matrix in_blocks(const Matrix& nodes, int unknowns)
{
  Matrix A;
  A.block = unknowns;
  for (std::int64_t i = 0; i < unknowns * nodes.n(); ++i) {
    for (std::int64_t k = nodes.row_begin[i / unknowns]; k < nodes.row_begin[i / unknowns + 1]; ++k)
      for (int c = 0; c < unknowns; ++c) A.column.push_back(unknowns * nodes.column[k] + c);
    A.row_begin.push_back(A.nnz());
  }
  A.value.assign(A.column.size(), 0.0);
  return A;
}

Element element_of(const Mesh& mesh, const std::array<Index, 4>& t)
{
  std::array<Vector, 4> x;
  Vector middle = {};
  for (int c = 0; c < 4; ++c) {
    x[c] = mesh.x[t[c]];
    for (int d = 0; d < 3; ++d) middle[d] += (x[c][d] - mesh.low) / (4 * mesh.width);
  }
  const Element e = make_element(x, middle);
  if (!(e.six_volumes > 0)) throw std::runtime_error("a tetrahedron of the mesh is turned inside out");
  return e;
}

/// Adds the block of corners i and j of a tetrahedron, whose nodes became `row` and `column`.
void add(const Form& form, const Element& e, int i, int j, Index row, Index column, const Matrix& nodes, Matrix* A)
{
  const auto begin = nodes.column.begin() + nodes.row_begin[row], end = nodes.column.begin() + nodes.row_begin[row + 1];
  const std::int64_t k = std::lower_bound(begin, end, column) - begin;
  for (int r = 0; r < form.unknowns; ++r)
    for (int c = 0; c < form.unknowns; ++c)
      A->value[A->row_begin[form.unknowns * row + r] + form.unknowns * k + c] += form.entry(e, i, j, r, c);
}

Matrix assemble(const Form& form, const Mesh& mesh, const Graph& graph, const std::vector<Index>& order)
{
  const std::vector<Index> place = inverse(order);
  const Matrix nodes = make_pattern(graph, order, place);
  Matrix A = in_blocks(nodes, form.unknowns);
  A.symmetric = form.symmetric;
  for (const auto& t : mesh.corners) {
    const Element e = element_of(mesh, t);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        const Index a = mesh.node[t[i]], b = mesh.node[t[j]];
        if (a >= 0 && b >= 0) add(form, e, i, j, place[a], place[b], nodes, &A);
      }
  }
  return A;
}

Matrix in_rcm_order(const Form& form, const Mesh& mesh)
{
  const Graph graph = neighbours_of(mesh);
  return assemble(form, mesh, graph, reverse_cuthill_mckee(graph));
}

Matrix in_random_order(const Form& form, const Mesh& mesh)
{
  return assemble(form, mesh, neighbours_of(mesh), at_random(mesh.nodes));
}

Mesh cells_for(const Form& form, std::int64_t rows) { return make_cells((rows + form.unknowns - 1) / form.unknowns); }

}  // namespace

Matrix make_mesh(std::int64_t rows) { return in_rcm_order(decay_form(), make_delaunay(rows)); }
Matrix make_mesh_at_random(std::int64_t rows) { return in_random_order(decay_form(), make_delaunay(rows)); }

Matrix make_mesh_on_curve(std::int64_t rows)
{
  const Mesh mesh = make_delaunay(rows);
  std::vector<Vector> x(mesh.nodes);
  for (std::size_t v = 0; v < mesh.x.size(); ++v)
    if (mesh.node[v] >= 0) x[mesh.node[v]] = mesh.x[v];
  const auto key = [&](Index p) { return place_on_curve(x[p], mesh); };
  return assemble(decay_form(), mesh, neighbours_of(mesh), by_key(mesh.nodes, key));
}

Matrix make_tets_jumps(std::int64_t rows) { return in_rcm_order(jumps_form(), cells_for(jumps_form(), rows)); }
Matrix make_tets_convection(std::int64_t rows)
{
  return in_rcm_order(convection_form(), cells_for(convection_form(), rows));
}
Matrix make_tets_elasticity(std::int64_t rows)
{
  return in_rcm_order(elasticity_form(), cells_for(elasticity_form(), rows));
}
Matrix make_tets_elasticity_at_random(std::int64_t rows)
{
  return in_random_order(elasticity_form(), cells_for(elasticity_form(), rows));
}

}  // namespace bench
