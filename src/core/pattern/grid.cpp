/// Implements grid.hpp.

#include "grid.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

constexpr double least_part = 0.3;  ///< smallest fraction of the examined rows that must agree

/// Distances of the entries of an inode's first row, in inodes of `node` rows; ascending, each once.
template <class I, class Rows> std::vector<I> distances_of(const Rows& A, bool lower, I row, I node)
{
  std::vector<I> distance;
  for_side(A, lower, row, [&](I k) { distance.push_back((std::abs(row - A.column[k]) + node - 1) / node); });
  std::sort(distance.begin(), distance.end());
  distance.erase(std::unique(distance.begin(), distance.end()), distance.end());
  return distance;
}

/// Order-dependent hash of a sequence of words. Collisions are possible: what is concluded from it is a guess.
class Mixer {
public:
  void mix_in(std::uint64_t word)
  {
    mixed_ = (mixed_ ^ word) * 0x9e3779b97f4a7c15u;
    mixed_ ^= mixed_ >> 32;
  }
  std::uint64_t result() const { return mixed_; }

private:
  std::uint64_t mixed_ = 0x243f6a8885a308d3u;
};

/// Rows counted by a hash of the distances of their entries, in a hash table: sorting them takes several times as long,
/// which is much of the set-up of a small system.
template <class I> class RowKinds {
public:
  ///   most  rows
  explicit RowKinds(std::size_t most)
  {
    std::size_t size = 2;
    while (2 * size < 3 * most) size *= 2;
    kind_.resize(size);
  }

  void count_row(std::uint64_t distances, I row)
  {
    std::size_t at = distances & (kind_.size() - 1);
    while (kind_[at].rows > 0 && kind_[at].distances != distances) at = (at + 1) & (kind_.size() - 1);
    Kind& kind = kind_[at];
    kind.distances = distances;
    kind.first = kind.rows == 0 ? row : std::min(kind.first, row);
    ++kind.rows, ++all_;
  }

  /// Returns the first row of the largest kind, of several the one with the least hash, and its fraction of the rows.
  std::pair<I, double> most_frequent() const
  {
    Kind most;
    for (const Kind& kind : kind_)
      if (kind.rows > most.rows || (kind.rows == most.rows && kind.distances < most.distances)) most = kind;
    if (all_ == 0) return {0, 0.0};
    return {most.first, static_cast<double>(most.rows) / static_cast<double>(all_)};
  }

private:
  struct Kind {
    std::uint64_t distances = 0;
    I first = 0;
    unsigned rows = 0;
  };
  std::vector<Kind> kind_;
  std::size_t all_ = 0;
};

/// Examines about `count` rows, each the first of its inode. Returns the first row of the largest set of rows with
/// equal distances, and the fraction of the examined rows in that set.
template <class I, class Rows>
std::pair<I, double> find_most_alike(const Rows& A, bool lower, I node, std::int64_t count)
{
  RowKinds<I> kinds(2 * static_cast<std::size_t>(count));  // for_sample() looks at less than that
  const auto look = [&](I looked_at) {
    const I row = first_of_node(looked_at, A.n, lower, node);
    Mixer distances;
    for_side(A, lower, row, [&](I k) { distances.mix_in(static_cast<std::uint64_t>(std::abs(row - A.column[k]))); });
    kinds.count_row(distances.result(), row);
  };
  for_sample(A.n, look, count);
  return kinds.most_frequent();
}

/// Distances of the most frequent kind of row; empty if the rows differ too much, which a few rows mostly show.
template <class I, class Rows> std::vector<I> typical_distances(const Rows& A, bool lower, I node)
{
  if (find_most_alike(A, lower, node, few_rows_for_grid).second < least_part / 2) return {};
  const auto [row, part] = find_most_alike(A, lower, node, rows_for_grid);
  if (part < least_part) return {};
  return distances_of(A, lower, row, node);
}

/// Groups adjacent distances, which are one step along an axis and its neighbours: the first and the last of each
/// group.
template <class I> std::vector<std::pair<I, I>> clusters_of(const std::vector<I>& distance)
{
  std::vector<std::pair<I, I>> cluster;
  for (const I d : distance) {
    if (cluster.empty() || d > cluster.back().second + 2) cluster.push_back({d, d});
    else cluster.back().second = d;
  }
  return cluster;
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/// Finds the smallest level offsets from line to line and from plane to plane with which each row comes after those it
/// reads. Distances ascend, so that lines are handled before planes.
template <class I> void guess_levels(const std::vector<I>& distance, Grid<I>* grid)
{
  const std::int64_t line = grid->line, plane = line * grid->lines;
  for (const I d : distance) {
    const std::int64_t planes = grid->planes > 1 ? (d + plane / 2) / plane : 0, rest = d - planes * plane;
    const std::int64_t lines = divided_up(2 * rest - line, 2 * line), cells = rest - lines * line;
    if (planes > 0) {
      const std::int64_t least = divided_up(1 - cells - lines * grid->next_line, planes);
      grid->next_plane = static_cast<I>(std::max<std::int64_t>(grid->next_plane, least));
    } else if (lines > 0) {
      grid->next_line = static_cast<I>(std::max<std::int64_t>(grid->next_line, divided_up(1 - cells, lines)));
    }
  }
}

template <class I, class Rows> Grid<I> guess_grid(const Rows& A, bool lower, I node)
{
  const I cells = A.n / node;
  Grid<I> grid;
  grid.line = cells;
  const std::vector<I> distance = typical_distances<I>(A, lower, node);
  const auto cluster = clusters_of(distance);
  if (cluster.size() < 2 || cluster[0].first != 1) return grid;
  const I line = static_cast<I>((static_cast<std::int64_t>(cluster[1].first) + cluster[1].second) / 2);
  const bool solid = cluster.size() > 2;
  const I plane = solid ? static_cast<I>((static_cast<std::int64_t>(cluster[2].first) + cluster.back().second) / 2) : 0;
  if (line < 2 || (solid && (plane % line != 0 || cells % plane != 0))) return grid;
  grid.line = line;
  grid.lines = solid ? plane / line : static_cast<I>((static_cast<std::int64_t>(cells) + line - 1) / line);
  grid.planes = solid ? cells / plane : 1;
  grid.star = distance.size() == cluster.size() && cluster.size() <= 3 && cluster[0].second == 1 && cells % line == 0;
  guess_levels(distance, &grid);
  return grid;
}

}  // namespace

template <class I> Grid<I> find_grid(PatternView<I> A, bool lower, I node) { return guess_grid(A, lower, node); }
template <class I> Grid<I> find_grid(const SampledRows<I>& A, bool lower, I node) { return guess_grid(A, lower, node); }

#define INSTANTIATE(I)                                     \
  template Grid<I> find_grid<I>(PatternView<I>, bool, I); \
  template Grid<I> find_grid<I>(const SampledRows<I>&, bool, I);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
