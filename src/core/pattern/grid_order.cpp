/// Implements grid_order.hpp. The point of a row follows from those of the earlier rows that it reads: a row next to
/// the corner begins an axis, another row that reads one continues that one's axis, and a row that reads several has
/// the largest of their coordinates along each axis.

#include "grid_order.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

using Point = std::uint64_t;

constexpr int bits = 21;  ///< of a coordinate
constexpr Point field = (Point(1) << bits) - 1;

constexpr Point unit_of(int axis) { return Point(1) << (bits * axis); }
constexpr Point along(Point point, int axis) { return point & (field * unit_of(axis)); }
constexpr std::int64_t coordinate(Point point, int axis)
{
  return static_cast<std::int64_t>(point >> (bits * axis) & field);
}
constexpr bool is_unit(Point step) { return step == unit_of(0) || step == unit_of(1) || step == unit_of(2); }
constexpr Point all_units = unit_of(0) + unit_of(1) + unit_of(2);

/// Finds the point of which three are one step behind. These are along different axes, as steps are 3 own - a - b - c.
inline bool meet(Point a, Point b, Point c, Point* own)
{
  *own = (a + b + c + all_units) / 3;
  return is_unit(*own - a) && is_unit(*own - b) && is_unit(*own - c);
}

/// The same for two, of a point with two coordinates; one of two equal ones would be no step behind.
inline bool meet(Point a, Point b, Point* own)
{
  int coordinates = 0;
  *own = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const Point most = std::max(along(a, axis), along(b, axis));
    *own += most;
    coordinates += most > 0;
  }
  return coordinates == 2 && is_unit(*own - a) && is_unit(*own - b);
}

template <class I> class PointFinder {
public:
  PointFinder(const PatternView<I>& A, GridPoints<I>* found) : A_(A), found_(*found) {}

  /// Returns false at the first row that contradicts.
  bool visit_all()
  {
    found_.point.resize(static_cast<std::size_t>(A_.n));
    found_.point[0] = 0;
    for (I row = 1; row < A_.n; ++row)
      if (!visit(row)) return false;
    return points_ == A_.n;
  }

private:
  bool visit(I row)
  {
    Point* const point = found_.point.data();
    const I* const column = A_.column + A_.row_begin[row];
    const I entries = A_.row_begin[row + 1] - A_.row_begin[row];
    const auto is_before = [row](I c) { return c >= 0 && c < row; };
    I before = 0;
    while (before < entries && is_before(column[before])) ++before;
    switch (before) {
      case 1: return follow_axis(row, point[column[0]], point + row);
      case 2: return meet(point[column[0]], point[column[1]], point + row);
      case 3: return meet(point[column[0]], point[column[1]], point[column[2]], point + row);
      default: return false;
    }
  }

  /// The row reads the corner or the last row of an axis.
  bool follow_axis(I row, Point before, Point* own)
  {
    int axis = 0;
    if (before == 0) {
      if (found_.axes == 3) return false;
      axis = found_.axes++;
      found_.first[axis] = row;
    } else {
      while (axis < 3 && along(before, axis) != before) ++axis;
    }
    if (axis == 3 || coordinate(before, axis) + 1 != found_.side[axis]) return false;
    *own = before + unit_of(axis);
    points_ += points_ / found_.side[axis]++;
    return points_ <= A_.n && static_cast<Point>(found_.side[axis]) < field;
  }

  const PatternView<I>& A_;
  GridPoints<I>& found_;
  std::int64_t points_ = 1;  ///< of a grid with the sides found so far
};

}  // namespace

template <class I> bool find_grid_points(const PatternView<I>& A, GridPoints<I>* out)
{
  GridPoints<I> found;
  if (!may_come_by_levels(A) || !PointFinder<I>(A, &found).visit_all()) return false;
  *out = std::move(found);
  return true;
}

template <class I> bool order_by_points(const GridPoints<I>& points, const GridAxes& axis, Array<I>* row)
{
  constexpr I none = -1;
  const std::int64_t line = points.side[axis[0]], lines = points.side[axis[1]];
  Array<I> made(points.point.size());
  std::fill(made.begin(), made.end(), none);
  for (std::size_t r = 0; r < made.size(); ++r) {
    const Point p = points.point[r];
    I& at = made[static_cast<std::size_t>(coordinate(p, axis[0]) +
                                          line * (coordinate(p, axis[1]) + lines * coordinate(p, axis[2])))];
    if (at != none) return false;
    at = static_cast<I>(r);
  }
  *row = std::move(made);
  return true;
}

#define INSTANTIATE(I)                                                      \
  template bool find_grid_points<I>(const PatternView<I>&, GridPoints<I>*); \
  template bool order_by_points<I>(const GridPoints<I>&, const GridAxes&, Array<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
