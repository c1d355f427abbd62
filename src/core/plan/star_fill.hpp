#pragma once

/// Computes the plan's data of one position or one ghost for a star stencil: on the host and on a device.

#include <cstdint>

#include "tile_plan.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/host_device.hpp"

namespace syncfree {

constexpr int star_row_capacity = row_capacities[0];
static_assert(star_row_capacity == 3 && TilePlan<int>::units_of(star_row_capacity) == 1);

/// Coordinates in a tile, or extents: cells, lines, planes, in the order of a serial solve.
struct TileCell {
  std::uint16_t at[3];
};

/// The fields of a position; in the tables the slots of neighbours are by axis.
struct alignas(16) StarFields {
  std::uint16_t of[fields_per_unit];
};

/// A value that an earlier tile along an axis sends: of a row in that tile's last face.
struct StarGhost {
  std::uint32_t axis, cell;  ///< cell: of the face
};

/// Offsets of the tables of one kind of tile.
struct StarKind {
  std::uint32_t position = 0, ghost = 0, face[3] = {};
};

/// Tables by kind, in host memory or on a device.
///   place, field  by position
///   ghost         in the order in which rows read them
///   face_exported     by axis and cell of the last face: its row's index among its tile's exported values
///   tiles         of the plan
template <class I> struct StarView {
  I rows = 0;
  bool lower = true;
  std::uint32_t slots = 0;
  AxisParts axis[3];
  StarKind kind[8];
  const TileCell* place = nullptr;
  const StarFields* field = nullptr;
  const StarGhost* ghost = nullptr;
  const std::uint16_t* face_exported = nullptr;
  const Tile* tiles = nullptr;

  /// Distance in rows to the neighbour along an axis.
  SYNCFREE_HD std::int64_t stride(int a) const
  {
    return a == 0 ? 1 : a == 1 ? axis[0].size : axis[0].size * axis[1].size;
  }
  /// Distance in tiles to the tile before along an axis: tiles are numbered line by line and plane by plane.
  SYNCFREE_HD std::int64_t tiles_along(int a) const
  {
    return a == 0 ? 1 : a == 1 ? axis[0].count : axis[0].count * axis[1].count;
  }
};

/// The plan's data of a position.
template <class I> struct StarPosition {
  StarFields field;
  I source[star_row_capacity + 1];
  I row;
};

template <class I> class StarTile {
public:
  SYNCFREE_HD StarTile(const StarView<I>& S, std::int64_t tile) : S_(S), tile_(tile)
  {
    part_[0] = tile % S.axis[0].count;
    part_[1] = tile / S.axis[0].count % S.axis[1].count;
    part_[2] = tile / (S.axis[0].count * S.axis[1].count);
    for (int a = 0; a < 3; ++a) {
      begin_[a] = S.axis[a].begin_of_part(part_[a]);
      number_ = 2 * number_ + (extent(a) < S.axis[a].largest());
    }
  }

  /// The tile's kind, in [0, 8).
  SYNCFREE_HD int kind() const { return number_; }
  SYNCFREE_HD std::int64_t extent(int a) const { return S_.axis[a].begin_of_part(part_[a] + 1) - begin_[a]; }

  SYNCFREE_HD std::int64_t row_of_cell(const TileCell& place) const
  {
    std::int64_t serial = 0;
    for (int a = 0; a < 3; ++a) serial += (begin_[a] + place.at[a]) * S_.stride(a);
    return S_.lower ? serial : S_.rows - 1 - serial;
  }

  /// Index in the mailbox of ghost g. At the grid's border no row reads the ghost; it is then replaced by an existing
  /// value, of the first axis along which there is an earlier tile.
  SYNCFREE_HD std::uint32_t place_of_ghost(std::uint32_t g) const
  {
    const StarGhost ghost = S_.ghost[S_.kind[number_].ghost + g];
    int a = static_cast<int>(ghost.axis);
    std::uint32_t cell = ghost.cell;
    if (part_[a] == 0)
      for (a = 0, cell = 0; part_[a] == 0;) ++a;
    const std::int64_t from = tile_ - S_.tiles_along(a);
    return S_.tiles[from].first_exported + S_.face_exported[S_.kind[StarTile(S_, from).kind()].face[a] + cell];
  }

  /// Computes the data of position p. Returns false if the row reads others than its neighbours.
  ///   T  the triangle, in the memory of the caller (host or device)
  SYNCFREE_HD bool fill_position(const PatternView<I>& T, std::uint32_t p, StarPosition<I>* out) const
  {
    const TileCell place = S_.place[S_.kind[number_].position + p];
    const StarFields of_kind = S_.field[S_.kind[number_].position + p];
    const std::int64_t row = row_of_cell(place);
    start_position(of_kind, static_cast<I>(row), out);
    int count = 0;
    for (I k = T.row_begin[row]; k < T.row_begin[row + 1]; ++k, ++count) {
      const int a = axis_of(S_.lower ? row - T.column[k] : T.column[k] - row);
      if (count == star_row_capacity || a < 0 || begin_[a] + place.at[a] == 0) return false;
      out->field.of[1 + count] = of_kind.of[1 + a];
      out->source[count] = k;
    }
    return true;
  }

  /// Fills a padding position, after a tile's last.
  SYNCFREE_HD void fill_nothing(StarPosition<I>* out) const
  {
    StarFields none = {};
    none.of[0] = static_cast<std::uint16_t>(S_.slots);
    none.of[fields_per_unit - 1] = no_ghost;
    start_position(none, I(-1), out);
  }

private:
  /// Sets everything but the entries.
  SYNCFREE_HD void start_position(const StarFields& field, I row, StarPosition<I>* out) const
  {
    out->field = field;
    out->row = row;
    for (int j = 0; j < star_row_capacity; ++j) out->field.of[1 + j] = static_cast<std::uint16_t>(S_.slots);
    for (int j = 0; j <= star_row_capacity; ++j) out->source[j] = I(-1);
  }

  SYNCFREE_HD int axis_of(std::int64_t distance) const
  {
    for (int a = 0; a < 3; ++a)
      if (distance == S_.stride(a)) return a;
    return -1;
  }

  const StarView<I>& S_;
  std::int64_t tile_, part_[3], begin_[3];
  int number_ = 0;
};

}  // namespace syncfree
