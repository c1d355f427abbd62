/// Algorithm of Bowyer and Watson. To insert a point p: walk to the tetrahedron that contains it; around that one
/// collect all whose circumscribed sphere contains p; remove them; join p with every face of the cavity. Points are
/// inserted in rounds, each as large as all before it, and within a round along a snake through a grid of cells, so
/// that walks and cavities stay small.

#include "delaunay.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "generate.hpp"

namespace bench {
namespace {

__extension__ using Wide = __int128;

template <class N>
std::array<N, 3> minus(const Point& a, const Point& b)
{
  return {static_cast<N>(a[0] - b[0]), static_cast<N>(a[1] - b[1]), static_cast<N>(a[2] - b[2])};
}

template <class N>
N determinant(const std::array<N, 3>& a, const std::array<N, 3>& b, const std::array<N, 3>& c)
{
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

template <class N>
N square(const std::array<N, 3>& a)
{
  return a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
}

int sign(Wide v) { return (v > 0) - (v < 0); }

template <class N>
N volume(const Point& a, const Point& b, const Point& c, const Point& d)
{
  return determinant(minus<N>(b, a), minus<N>(c, a), minus<N>(d, a));
}

/// Returns the sign of det(b - a, c - a, d - a). The rounding error of the double is below 2^24, so beyond that its
/// sign is right.
int orientation(const Point& a, const Point& b, const Point& c, const Point& d)
{
  const double fast = volume<double>(a, b, c, d);
  if (std::abs(fast) > 0x1p24) return fast > 0 ? 1 : -1;
  return sign(volume<Wide>(a, b, c, d));
}

template <class N>
N sphere(const std::array<Point, 4>& t, const Point& p)
{
  const auto a = minus<N>(t[0], p), b = minus<N>(t[1], p), c = minus<N>(t[2], p), d = minus<N>(t[3], p);
  return square(a) * determinant(b, c, d) - square(b) * determinant(a, c, d) + square(c) * determinant(a, b, d) -
         square(d) * determinant(a, b, c);
}

/// Returns true if p is inside the sphere through the corners of t. The rounding error of the double is below 2^72.
bool in_sphere(const std::array<Point, 4>& t, const Point& p)
{
  const double fast = sphere<double>(t, p);
  if (std::abs(fast) > 0x1p72) return fast > 0;
  return sign(sphere<Wide>(t, p)) > 0;
}

using Four = std::array<std::int32_t, 4>;

/// Face i of a tetrahedron is the one without corner i.
struct Tetrahedron {
  Four corner;
  Four neighbour;     ///< across face i; -1: outside of the cube
  std::int32_t seen;  ///< the last point that tested it; dead: the slot is free
};
constexpr std::int32_t dead = -2;

/// A face of a new tetrahedron that contains the new point, identified by its two other corners.
struct Side {
  std::int64_t edge;
  std::int32_t tetrahedron, face;
  bool operator<(const Side& other) const { return edge < other.edge; }
};

class Triangulation {
 public:
  /// Starts with a cube cut into five: four of its corners cut off, and the rest.
  explicit Triangulation(std::vector<Point> points) : point_(std::move(points))
  {
    for (const Four& corner :
         {Four{0, 3, 5, 6}, Four{1, 0, 3, 5}, Four{2, 0, 3, 6}, Four{4, 0, 5, 6}, Four{7, 3, 5, 6}})
      all_.push_back({corner, {-1, -1, -1, -1}, -1});
    for (Tetrahedron& t : all_)
      if (orientation_of(t.corner) < 0) std::swap(t.corner[0], t.corner[1]);
    for (Tetrahedron& t : all_)
      for (int f = 0; f < 4; ++f) t.neighbour[f] = find_neighbour(t, f);
  }

  void insert(std::int32_t p)
  {
    hole_.assign(1, locate(p));
    all_[hole_[0]].seen = p;
    sides_.clear();
    made_.clear();
    for (std::size_t k = 0; k < hole_.size(); ++k)
      for (int f = 0; f < 4; ++f) cross(hole_[k], f, p);
    join();
    for (const std::int32_t t : hole_) all_[t].seen = dead;
    free_.insert(free_.end(), hole_.begin(), hole_.end());
    last_ = made_[0];
  }

  Tetrahedra take()
  {
    Tetrahedra result;
    for (const Tetrahedron& t : all_)
      if (t.seen != dead) result.of.push_back(t.corner);
    result.point = std::move(point_);
    return result;
  }

 private:
  int orientation_of(const Four& c) const
  {
    return orientation(point_[c[0]], point_[c[1]], point_[c[2]], point_[c[3]]);
  }

  std::int32_t find_neighbour(const Tetrahedron& t, int face) const
  {
    for (std::size_t k = 0; k < all_.size(); ++k) {
      const Four& other = all_[k].corner;
      int common = 0;
      for (int c = 0; c < 4; ++c) common += c != face && std::count(other.begin(), other.end(), t.corner[c]);
      if (common == 3 && &all_[k] != &t) return static_cast<std::int32_t>(k);
    }
    return -1;
  }

  /// Walks through faces that have p on their other side: in a Delaunay triangulation this ends.
  std::int32_t locate(std::int32_t p) const
  {
    std::int32_t t = last_;
    for (int f = 0; f < 4;) {
      Four moved = all_[t].corner;
      moved[f] = p;
      if (orientation_of(moved) >= 0) {
        ++f;
        continue;
      }
      t = all_[t].neighbour[f];
      if (t < 0) throw std::runtime_error("a point outside of the cube");
      f = 0;
    }
    return t;
  }

  bool conflicts(const Tetrahedron& t, std::int32_t p) const
  {
    return in_sphere({point_[t.corner[0]], point_[t.corner[1]], point_[t.corner[2]], point_[t.corner[3]]}, point_[p]);
  }

  /// Handles the neighbour across a face of the cavity: it joins the cavity, or it stays and gets a new neighbour.
  void cross(std::int32_t inside, int face, std::int32_t p)
  {
    const std::int32_t outside = all_[inside].neighbour[face];
    if (outside >= 0 && all_[outside].seen == p) return;
    if (outside >= 0 && conflicts(all_[outside], p)) {
      all_[outside].seen = p;
      hole_.push_back(outside);
      return;
    }
    const std::int32_t t = make(inside, face, p);
    if (outside < 0) return;
    for (std::int32_t& back : all_[outside].neighbour)
      if (back == inside) back = t;
  }

  /// Joins the face of `inside` with p. Slots of the cavity are not yet free, as their corners are still read.
  std::int32_t make(std::int32_t inside, int face, std::int32_t p)
  {
    Tetrahedron t = {all_[inside].corner, {-1, -1, -1, -1}, -1};
    t.corner[face] = p;
    t.neighbour[face] = all_[inside].neighbour[face];
    if (orientation_of(t.corner) <= 0) throw std::runtime_error("a flat tetrahedron: points coincide or are coplanar");
    std::int32_t place = static_cast<std::int32_t>(all_.size());
    if (free_.empty()) {
      all_.push_back(t);
    } else {
      place = free_.back();
      free_.pop_back();
      all_[place] = t;
    }
    made_.push_back(place);
    for (int f = 0; f < 4; ++f)
      if (f != face) sides_.push_back({edge_without(t.corner, face, f), place, f});
    return place;
  }

  static std::int64_t edge_without(const Four& corner, int first, int second)
  {
    std::int64_t end[2];
    int count = 0;
    for (int c = 0; c < 4; ++c)
      if (c != first && c != second) end[count++] = corner[c];
    return (std::min(end[0], end[1]) << 32) | std::max(end[0], end[1]);
  }

  /// Connects new tetrahedra: two of them meet at every edge of the cavity's surface.
  void join()
  {
    std::sort(sides_.begin(), sides_.end());
    for (std::size_t k = 0; k + 1 < sides_.size(); k += 2) {
      const Side &one = sides_[k], &two = sides_[k + 1];
      all_[one.tetrahedron].neighbour[one.face] = two.tetrahedron;
      all_[two.tetrahedron].neighbour[two.face] = one.tetrahedron;
    }
  }

  std::vector<Point> point_;
  std::vector<Tetrahedron> all_;
  std::vector<std::int32_t> free_, hole_, made_;
  std::vector<Side> sides_;
  std::int32_t last_ = 0;
};

/// Positions along a snake through cells that contain about two points each.
class Snake {
 public:
  explicit Snake(std::int64_t points) : cells_(std::max<std::int64_t>(1, std::llround(std::cbrt(points / 2.0)))) {}
  std::int64_t place(const Point& p) const
  {
    const std::int64_t z = cell(p[2]), y = z % 2 ? cells_ - 1 - cell(p[1]) : cell(p[1]);
    const std::int64_t row = z * cells_ + y;
    return row * cells_ + (row % 2 ? cells_ - 1 - cell(p[0]) : cell(p[0]));
  }

 private:
  /// The points fill the middle half of the cube.
  std::int64_t cell(std::int64_t x) const { return (x - cube_edge / 4) * cells_ / (cube_edge / 2); }
  std::int64_t cells_;
};

std::vector<Point> make_points(std::int64_t count)
{
  std::vector<Point> points;
  for (int corner = 0; corner < 8; ++corner) {
    Point p;
    for (int d = 0; d < 3; ++d) p[d] = corner >> d & 1 ? cube_edge - 1 : 0;
    points.push_back(p);
  }
  for (std::int64_t k = 0; k < count; ++k) {
    Point p;
    for (int d = 0; d < 3; ++d)
      p[d] = cube_edge / 4 + static_cast<std::int32_t>(random_of(k, -1 - d, 6) * (cube_edge / 2));
    points.push_back(p);
  }
  return points;
}

void sort_round(std::vector<Point>::iterator begin, std::vector<Point>::iterator end)
{
  const Snake snake(end - begin);
  std::vector<std::pair<std::int64_t, Point>> keyed;
  for (auto p = begin; p != end; ++p) keyed.emplace_back(snake.place(*p), *p);
  std::sort(keyed.begin(), keyed.end());
  for (const auto& k : keyed) *begin++ = k.second;
}

}  // namespace

Tetrahedra triangulate(std::int64_t count)
{
  std::vector<Point> points = make_points(count);
  for (std::int64_t begin = 8, end; begin < count + 8; begin = end) {
    end = std::min(count + 8, begin + std::max<std::int64_t>(begin, 64));
    sort_round(points.begin() + begin, points.begin() + end);
  }
  Triangulation triangulation(std::move(points));
  for (std::int64_t p = 8; p < count + 8; ++p) triangulation.insert(static_cast<std::int32_t>(p));
  return triangulation.take();
}

}  // namespace bench
