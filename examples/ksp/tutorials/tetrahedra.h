/*
  A mesh of tetrahedra in the unit cube, in plain C: the vertices of a grid of n x n x n cells, moved at random by up to
  0.12 of a cell along each axis (on the boundary of the cube inside its faces), and each cell split into six tetrahedra
  along diagonals that are chosen at random and match where cells meet. So the number of neighbours varies from vertex
  to vertex, 14 on average and at most 26, and so do the angles, as in a mesh made by a generator; but unlike there all
  tetrahedra are of about one size, none is flat, and the vertices are numbered as in a grid, x fastest. RandomOrder()
  gives other numbers.

  Nothing is stored: vertices and tetrahedra follow from n and their number, the same in every run and process.

  Splitting by the least label: Dompierre, Labbe, Vallet & Camarero, How to subdivide pyramids, prisms and hexahedra
  into tetrahedra, 1999.
*/
#pragma once

#include <stdint.h>

/* Bits that look random, of a number: splitmix64 */
static inline uint64_t TetrahedraMix(uint64_t z)
{
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* A number in [-1, 1) */
static inline double TetrahedraRandom(int64_t k, int salt)
{
  return (double)(TetrahedraMix(TetrahedraMix((uint64_t)k) + (uint64_t)salt) >> 11) * 0x1p-52 - 1.0;
}

/* Indices of a vertex in the grid, each from 0 to n */
static inline void VertexPlace(int64_t n, int64_t vertex, int64_t place[3])
{
  place[0] = vertex % (n + 1);
  place[1] = vertex / (n + 1) % (n + 1);
  place[2] = vertex / ((n + 1) * (n + 1));
}

/* Coordinates of a vertex, 0 <= vertex < (n + 1)^3 */
static inline void VertexPosition(int64_t n, int64_t vertex, double x[3])
{
  int64_t place[3];

  VertexPlace(n, vertex, place);
  for (int d = 0; d < 3; d++) {
    const double moved = place[d] > 0 && place[d] < n ? 0.12 * TetrahedraRandom(vertex, d) : 0.0;

    x[d] = ((double)place[d] + moved) / (double)n;
  }
}

/* The number of a vertex among those inside of the cube, x fastest, from 0 to (n - 1)^3 - 1; -1 on the boundary */
static inline int64_t InnerVertex(int64_t n, int64_t vertex)
{
  int64_t place[3];

  VertexPlace(n, vertex, place);
  for (int d = 0; d < 3; d++)
    if (place[d] == 0 || place[d] == n) return -1;
  return place[0] - 1 + (n - 1) * (place[1] - 1 + (n - 1) * (place[2] - 1));
}

/* The six tetrahedra of a cell, 0 <= cell < n^3, as numbers of vertices; each has det(b - a, c - a, d - a) > 0.

   The cell's vertex of the least label is joined to both triangles of each face that does not touch it. Each face is cut
   through its vertex of the least label, so the cells on both sides cut it alike. Bit d of a corner's number is its place
   along axis d. */
static inline void CellTetrahedra(int64_t n, int64_t cell, int64_t tetrahedron[6][4])
{
  const int64_t first = cell % n + (n + 1) * (cell / n % n + (n + 1) * (cell / (n * n)));
  int64_t       vertex[8];
  uint64_t      label[8];
  int           least = 0, count = 0;

  for (int c = 0; c < 8; c++) {
    vertex[c] = first + (c & 1) + (n + 1) * ((c >> 1 & 1) + (n + 1) * (c >> 2));
    label[c]  = TetrahedraMix((uint64_t)vertex[c]);
    if (label[c] < label[least]) least = c;
  }
  for (int d = 0; d < 3; d++) {
    const int p = 1 << (d + 1) % 3, q = 1 << (d + 2) % 3; /* the axes of the face */
    int       m = 7 - least;

    for (int k = 1; k < 4; k++) {
      const int c = (7 - least) ^ (k & 1 ? p : 0) ^ (k & 2 ? q : 0);

      if (label[c] < label[m]) m = c;
    }
    for (int k = 0; k < 2; k++) {
      const int third = m ^ (k ? p : q);
      /* the directions from `least` to the face, then along it, are right-handed if this is even */
      const int flips = (least >> d & 1) + (m & p ? 1 : 0) + (m & q ? 1 : 0) + k;
      int64_t  *t     = tetrahedron[count++];

      t[0] = vertex[least];
      t[1] = vertex[m];
      t[2] = vertex[flips % 2 ? third : m ^ p ^ q];
      t[3] = vertex[flips % 2 ? m ^ p ^ q : third];
    }
  }
}

/* order[i] = a number below `count`, all of them in random order */
static inline void RandomOrder(int64_t count, int64_t order[])
{
  for (int64_t i = 0; i < count; i++) {
    const int64_t j = (int64_t)(TetrahedraMix((uint64_t)i) % (uint64_t)(i + 1));

    order[i] = order[j];
    order[j] = i;
  }
}
