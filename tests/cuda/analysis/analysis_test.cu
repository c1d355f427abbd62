/// The analyses on the device find the same as those on the host.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "../../watchdog.hpp"
#include "../device_patterns.hpp"
#include "core/inode_patterns.hpp"
#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/host_analysis.hpp"
#include "cuda/analysis/inodes.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/analysis/pattern_copy.hpp"
#include "syncfree/cuda.hpp"

namespace syncfree::cuda {
namespace {

constexpr std::uint64_t patient = 60'000'000'000;  ///< nanoseconds, enough also under a sanitizer

/// Joins both triangles and a full diagonal.
template <class I> OwnedPattern<I> joined(const OwnedPattern<I>& L, const OwnedPattern<I>& U)
{
  OwnedPattern<I> A;
  A.n = L.n;
  for (I i = 0; i < A.n; ++i) {
    const auto append = [&](const OwnedPattern<I>& T) {
      A.column.insert(A.column.end(), T.column.begin() + T.row_begin[i], T.column.begin() + T.row_begin[i + 1]);
    };
    append(L);
    A.column.push_back(i);
    append(U);
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

template <class I> OwnedPattern<I> stencil(I x, I y, I z, bool box)
{
  return joined(stencil_triangle<I>(x, y, z, box, true), stencil_triangle<I>(x, y, z, box, false));
}

template <class I> std::vector<OwnedPattern<I>> matrices()
{
  std::vector<OwnedPattern<I>> all = {stencil<I>(13, 9, 11, false), stencil<I>(12, 10, 7, true),
                                      stencil<I>(60, 45, 1, false), random_matrix<I>(5, 700, 2),
                                      joined(random_deep_triangle<I>(8, 900, 1, true),
                                             random_deep_triangle<I>(9, 900, 1, false)),
                                      line_pattern<I>(3000), random_matrix<I>(1, 1, 100)};
  OwnedPattern<I> one_long = line_pattern<I>(500);  // its last row reads all others
  one_long.column.resize(one_long.row_begin[499]);
  for (I j = 0; j < 500; ++j) one_long.column.push_back(j);
  one_long.row_begin[500] = static_cast<I>(one_long.column.size());
  all.push_back(one_long);
  return all;
}

template <class I> class Analyses : public testing::Test {};
TYPED_TEST_SUITE(Analyses, Indices);

///   brought  what upload_pattern() makes of `made`
template <class I>
void expect_pattern(const DeviceFactorPattern<I>& p, const FactorPattern<I>& made,
                    const DeviceFactorPattern<I>& brought)
{
  EXPECT_EQ(host(p.lower_begin), plain(made.lower_begin));
  EXPECT_EQ(host(p.lower_column), plain(made.lower_column));
  EXPECT_EQ(host(p.upper_begin), plain(made.upper_begin));
  EXPECT_EQ(host(p.upper_column), plain(made.upper_column));
  EXPECT_EQ(host(p.lower_source), host(brought.lower_source));
  EXPECT_EQ(host(p.upper_source), host(brought.upper_source));
  EXPECT_EQ(host(p.diagonal_source), host(brought.diagonal_source));
}

TYPED_TEST(Analyses, cut_rows_as_the_host_does)
{
  using I = TypeParam;
  for (const auto& A : matrices<I>()) {
    FactorPattern<I> made;
    ASSERT_TRUE(make_factor_pattern(A.view(), {}, &made).ok());
    DeviceFactorPattern<I> p;
    ASSERT_TRUE(split(Kind::ilu, OnDevice<I>(A).view(), &p));
    const DeviceFactorPattern<I> brought = upload_pattern(made, A.view());
    expect_pattern(p, made, brought);
    EXPECT_EQ(p.counts.operations, count_operations(made));
    std::int64_t most = 0;
    for (I i = 0; i < A.n; ++i) most = std::max<std::int64_t>(most, A.row_begin[i + 1] - A.row_begin[i]);
    EXPECT_EQ(p.counts.most, most);
    EXPECT_EQ(brought.counts.most_lower, p.counts.most_lower);
    EXPECT_EQ(brought.counts.most_upper, p.counts.most_upper);
  }
}

/// Row offsets keep their type. The copy is made of rows in host memory, or of rows that are on the device already.
TYPED_TEST(Analyses, keep_rows_in_four_bytes_an_entry)
{
  using I = TypeParam;
  for (const auto& A : matrices<I>()) {
    const OnDevice<I> there(A);
    for (const bool is_there : {false, true}) {
      PatternView<I> on_device;
      if (is_there) on_device = {A.n, there.row_begin.data(), there.column.data()};
      const DevicePatternCopy<I> kept(PatternOnDevice<I>(A.view(), on_device));
      EXPECT_EQ(kept.pattern_copy_bytes(), 4 * A.column.size() + sizeof(I) * A.row_begin.size());
      const auto are_rows_of = [&](const OwnedPattern<I>& other) {
        return has_same_rows<I>({}, kept.pattern_copy_view(), other.view(), {}, nullptr);
      };
      EXPECT_TRUE(are_rows_of(A));
      for (const std::int64_t difference : {std::int64_t{1}, std::int64_t{1} << 32}) {
        if (difference > std::numeric_limits<I>::max()) continue;
        for (const std::size_t k : {std::size_t{0}, A.column.size() / 2, A.column.size() - 1}) {
          OwnedPattern<I> other = A;
          other.column[k] += static_cast<I>(difference);
          EXPECT_FALSE(are_rows_of(other)) << k;
        }
      }
      OwnedPattern<I> other = A;
      ++other.row_begin[A.n / 2];
      EXPECT_FALSE(are_rows_of(other));
    }
  }
}

/// The caller then examines the rows itself to report the flaw.
TYPED_TEST(Analyses, refuse_rows_with_a_flaw)
{
  using I = TypeParam;
  const OwnedPattern<I> good = stencil<I>(9, 8, 7, false);
  DeviceFactorPattern<I> p;
  ASSERT_TRUE(split(Kind::ilu, OnDevice<I>(good).view(), &p));
  ASSERT_TRUE(split(Kind::icc, OnDevice<I>(good).view(), &p));
  EXPECT_TRUE(p.lower_source.empty());
  const I middle = good.row_begin[200];
  const auto refused = [&](const OwnedPattern<I>& A) { return !split(Kind::ilu, OnDevice<I>(A).view(), &p); };
  OwnedPattern<I> bad = good;
  std::swap(bad.column[middle], bad.column[middle + 1]);
  EXPECT_TRUE(refused(bad)) << "columns descend";
  bad = good;
  bad.column[middle + 1] = bad.column[middle];
  EXPECT_TRUE(refused(bad)) << "a column twice";
  bad = good;
  bad.column[good.row_begin[201] - 1] = good.n;
  EXPECT_TRUE(refused(bad)) << "a column out of range";
  bad = good;
  bad.column[middle] = -1;
  EXPECT_TRUE(refused(bad)) << "a negative column";
  bad = good;
  for (I k = middle; k < good.row_begin[201]; ++k)
    if (bad.column[k] == 200) bad.column[k] = 201 - (bad.column[k + 1] == 201 ? 2 : 0);
  EXPECT_TRUE(refused(bad)) << "no diagonal";
  const OwnedPattern<I> odd = joined(random_triangle<I>(3, 200, 5, true), random_triangle<I>(4, 200, 5, false));
  EXPECT_FALSE(refused(odd));
  EXPECT_FALSE(split(Kind::icc, OnDevice<I>(odd).view(), &p)) << "IC of an unsymmetric pattern";
}

/// n rows of 1 to `most` entries in a symmetric pattern, and two rows and columns that meet every other row.
template <class I> OwnedPattern<I> with_long_rows(unsigned seed, I n, I most)
{
  std::mt19937 random(seed);
  const auto below = [&](I bound) { return static_cast<I>(random() % static_cast<unsigned>(bound)); };
  std::vector<std::set<I>> rows(n);
  const auto couple = [&](I i, I j) { rows[i].insert(j), rows[j].insert(i); };
  for (I i = 0; i < n; ++i) {
    rows[i].insert(i);
    for (I e = i % 50 ? below(5) : below(most); e > 0; --e) couple(i, below(n));
  }
  for (I j = 0; j < n; ++j) couple(n / 3, j);
  for (I j = 0; j < n; j += 2) couple(n / 2, j);
  std::vector<std::vector<I>> plain_rows;
  for (const auto& row : rows) plain_rows.emplace_back(row.begin(), row.end());
  return pattern_of(plain_rows);
}

/// Splits A in these orders on the device and on the host; returns true if both have succeeded.
template <class I>
bool permutes_as_the_host_does(Kind kind, const OwnedPattern<I>& A, const std::vector<I>& row,
                               const std::vector<I>& column)
{
  SymbolicOptions<I> symbolic;
  symbolic.kind = kind;
  symbolic.row_order = row.data(), symbolic.column_order = column.data();
  FactorPattern<I> made;
  const bool is_made = make_factor_pattern(A.view(), symbolic, &made).ok();
  const OnDevice<I> there(A);
  const DeviceArray<I> row_order(row), column_order(row == column ? std::vector<I>() : column);
  const Orders<I> orders = {row_order.data(), row == column ? row_order.data() : column_order.data()};
  DeviceFactorPattern<I> p;
  EXPECT_TRUE(has_full_rows(there.view()));
  EXPECT_EQ(split_permuted(kind, there.view(), orders, &p), is_made);
  if (!is_made) return false;
  const DeviceFactorPattern<I> brought = upload_pattern(made, A.view());
  expect_pattern(p, made, brought);
  EXPECT_EQ(p.counts.operations, brought.counts.operations);
  EXPECT_EQ(p.counts.most, brought.counts.most);
  EXPECT_EQ(p.counts.most_lower, brought.counts.most_lower);
  EXPECT_EQ(p.counts.most_upper, brought.counts.most_upper);
  return true;
}

TYPED_TEST(Analyses, permute_rows_as_the_host_does)
{
  using I = TypeParam;
  std::vector<OwnedPattern<I>> all = matrices<I>();
  all.push_back(with_long_rows<I>(1, 1900, 400));
  all.push_back(with_long_rows<I>(2, 700, 30));
  all.push_back(with_long_rows<I>(3, 513, 513));
  for (unsigned seed = 0; seed < all.size(); ++seed) {
    SCOPED_TRACE(seed);
    const OwnedPattern<I>& A = all[seed];
    const std::vector<I> order = random_order<I>(seed, A.n);
    std::vector<I> reverse(order.rbegin(), order.rend());
    EXPECT_TRUE(permutes_as_the_host_does(Kind::ilu, A, order, order));
    EXPECT_TRUE(permutes_as_the_host_does(Kind::ilu, A, reverse, reverse));
    (void)permutes_as_the_host_does(Kind::ilu, A, order, reverse);  // may lack a diagonal entry
  }
  for (const auto& A : {stencil<I>(13, 9, 11, false), with_long_rows<I>(1, 1900, 400), with_long_rows<I>(4, 60, 60)})
    EXPECT_TRUE(permutes_as_the_host_does(Kind::icc, A, random_order<I>(9, A.n), random_order<I>(9, A.n)));
}

/// Columns move to where the row's last entry stays on the diagonal.
TYPED_TEST(Analyses, permute_rows_and_columns_differently)
{
  using I = TypeParam;
  const I n = 4000;
  std::vector<std::vector<I>> rows(n);
  for (I i = 0; i < n; ++i)
    for (const I j : {i, (i + 1) % n, (i + 7) % n, (i * 3) % n})
      if (std::find(rows[i].begin(), rows[i].end(), j) == rows[i].end()) rows[i].push_back(j);
  for (auto& row : rows) std::sort(row.begin(), row.end());
  for (I j = 0; j < n; j += 3)
    if (j != 100 && j != 101 && j != 107 && j != 300) rows[100].push_back(j);
  std::sort(rows[100].begin(), rows[100].end());
  const OwnedPattern<I> A = pattern_of(rows);
  const std::vector<I> row = random_order<I>(3, n);
  std::vector<I> column = row;
  for (I& c : column) c = (c + 1) % n;
  EXPECT_TRUE(permutes_as_the_host_does(Kind::ilu, A, row, column));
  std::swap(column[5], column[6]);
  EXPECT_FALSE(permutes_as_the_host_does(Kind::ilu, A, row, column)) << "two diagonal entries are missing";
}

TYPED_TEST(Analyses, refuse_what_cannot_be_permuted)
{
  using I = TypeParam;
  const OwnedPattern<I> good = stencil<I>(9, 8, 7, false);
  const std::vector<I> order = random_order<I>(5, good.n);
  for (const I wrong : {I(-1), good.n, order[300], std::numeric_limits<I>::max(), std::numeric_limits<I>::min()}) {
    std::vector<I> bad = order;
    bad[200] = wrong;
    EXPECT_FALSE(permutes_as_the_host_does(Kind::ilu, good, bad, bad)) << wrong;
    EXPECT_FALSE(permutes_as_the_host_does(Kind::icc, good, bad, bad)) << wrong;
    EXPECT_FALSE(permutes_as_the_host_does(Kind::ilu, good, bad, order)) << wrong;
    EXPECT_FALSE(permutes_as_the_host_does(Kind::ilu, good, order, bad)) << wrong;
  }
  std::vector<I> other = order;
  std::swap(other[0], other[1]);
  EXPECT_FALSE(permutes_as_the_host_does(Kind::icc, good, order, other));
  const OwnedPattern<I> odd = joined(random_triangle<I>(3, 200, 5, true), random_triangle<I>(4, 200, 5, false));
  const std::vector<I> of_odd = random_order<I>(5, 200);
  const DeviceArray<I> there(of_odd);
  DeviceFactorPattern<I> p;
  EXPECT_FALSE(split_permuted<I>(Kind::icc, OnDevice<I>(odd).view(), {there.data(), there.data()}, &p));
  OwnedPattern<I> bad = good;
  for (I k = good.row_begin[200]; k < good.row_begin[201]; ++k)
    if (bad.column[k] == 200) bad.column[k] = 201 - (bad.column[k + 1] == 201 ? 2 : 0);
  EXPECT_FALSE(has_full_rows(OnDevice<I>(bad).view())) << "no diagonal";
  bad = good;
  bad.column[good.row_begin[201] - 1] = good.n;
  EXPECT_FALSE(has_full_rows(OnDevice<I>(bad).view())) << "a column out of range";
}

TYPED_TEST(Analyses, fetch_some_rows)
{
  using I = TypeParam;
  for (const auto& A : matrices<I>()) {
    std::vector<I> rows;
    for (I row = 0; row < A.n; row += 1 + row % 7) rows.push_back(row);
    for (const auto& some : {rows, std::vector<I>()}) {
      const SampledRows<I> fetched = fetch_rows(OnDevice<I>(A).view(), some);
      EXPECT_EQ(fetched.n, A.n);
      EXPECT_EQ(fetched.row, some);
      ASSERT_EQ(fetched.row_begin.size(), some.size() + 1);
      for (std::size_t s = 0; s < some.size(); ++s) {
        const auto begin = A.column.begin();
        EXPECT_EQ(std::vector<I>(fetched.column.begin() + fetched.row_begin[s],
                                 fetched.column.begin() + fetched.row_begin[s + 1]),
                  std::vector<I>(begin + A.row_begin[some[s]], begin + A.row_begin[some[s] + 1]));
      }
    }
  }
}

TYPED_TEST(Analyses, find_the_levels_of_the_host)
{
  using I = TypeParam;
  for (const auto& A : matrices<I>()) {
    FactorPattern<I> made;
    ASSERT_TRUE(make_factor_pattern(A.view(), {}, &made).ok());
    for (const bool lower : {true, false}) {
      const PatternView<I> T = lower ? made.lower() : made.upper();
      LevelSets<I> truth;
      ASSERT_TRUE(make_level_sets(T, lower, &truth).ok());
      OwnedPattern<I> copy;
      copy.n = T.n;
      copy.row_begin.assign(T.row_begin, T.row_begin + T.n + 1);
      copy.column.assign(T.column, T.column + T.nnz());
      const OnDevice<I> there(copy);
      Grid<I> wrong = find_grid(T, lower);
      wrong.next_line += 1;
      for (const Grid<I>& grid : {find_grid(A.view(), lower), Grid<I>(), wrong}) {
        DeviceLevels<I> levels;
        ASSERT_TRUE(find_levels(there.view(), lower, grid, &levels, nullptr, patient));
        const LevelSets<I> found = download(levels);
        EXPECT_EQ(found.count, truth.count);
        EXPECT_EQ(plain(found.row), plain(truth.row));
        EXPECT_EQ(found.level_begin, truth.level_begin);
      }
    }
  }
}

/// Expects every entry of T once, for its row and column, and the nearest column last.
template <class I> void expect_all_entries(const PatternView<I>& T, bool lower, const DeviceInodes<I>& nodes,
                                           const NodeRows<I>& there)
{
  const auto row = host(there.row), begin = host(there.begin), column = host(there.column), source = host(there.source),
             inner = host(there.inner);
  std::vector<int> seen(T.nnz());
  const auto see = [&](I entry, I own, I read) {
    EXPECT_EQ(entry < 0, own < 0);
    if (entry < 0 || own < 0) return;
    EXPECT_TRUE(T.row_begin[own] <= entry && entry < T.row_begin[own + 1]) << own;
    EXPECT_EQ(T.column[entry], read);
    ++seen[entry];
  };
  ASSERT_EQ(begin.size(), static_cast<std::size_t>(nodes.count) + 1);
  for (I r = 0; r < nodes.count; ++r) {
    const I* own = row.data() + r * nodes.size;
    for (I k = begin[r]; k < begin[r + 1]; ++k) {
      EXPECT_TRUE(k == begin[r] || (row[column[k]] > row[column[k - 1]]) == lower);
      for (int p = 0; p < nodes.size; ++p) see(source[k * nodes.size + p], own[p], row[column[k]]);
    }
    const I* entry = inner.data() + r * pairs_of(nodes.size);
    for (int p = 1; p < nodes.size; ++p)
      for (int q = 0; q < p; ++q) see(*entry++, own[p], own[q]);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), T.nnz());
}

TYPED_TEST(Analyses, find_nodes)
{
  using I = TypeParam;
  for (const auto& [A, size] : patterns_with_inodes<I>()) {
    FactorPattern<I> made;
    ASSERT_TRUE(make_factor_pattern(A.view(), {}, &made).ok());
    for (const bool lower : {true, false}) {
      SCOPED_TRACE(testing::Message() << A.n << " rows, nodes of " << size << (lower ? ", lower" : ", upper"));
      const PatternView<I> T = lower ? made.lower() : made.upper();
      const InodesByForce<I> truth(T, lower);
      EXPECT_EQ(truth.size, size);
      OwnedPattern<I> copy;
      copy.n = T.n;
      copy.row_begin.assign(T.row_begin, T.row_begin + T.n + 1);
      copy.column.assign(T.column, T.column + T.nnz());
      const OnDevice<I> there(copy);
      for (const std::uint64_t patience : {patient, std::uint64_t(1)}) {
        DeviceInodes<I> nodes;
        ASSERT_EQ(InodeSearch<I>(there.view(), lower).find(&nodes, patience), size > 0);
        EXPECT_EQ(nodes.size, size);
        if (size == 0) continue;
        EXPECT_EQ(host(nodes.first), truth.first);
        EXPECT_EQ(host(nodes.before), truth.before);
        EXPECT_EQ(host(nodes.levels.row), truth.row);
        EXPECT_EQ(host(nodes.levels.begin), truth.level_begin);
        expect_all_entries(T, lower, nodes, order_nodes(there.view(), lower, nodes));
      }
    }
  }
}

/// Fills what is allocated next with other values: an entry that is not written is then seen.
template <class I> void poison(std::size_t count)
{
  for (int k = 0; k < 40; ++k) DeviceArray<I>(count).fill(0x5a, nullptr);
  ASSERT_EQ(MemoryPool::of_device()->flush_deferred_frees(), cudaSuccess);
}

template <class I> void expect_same(const PermutedRows<I>& a, const PermutedRows<I>& b)
{
  EXPECT_EQ(host(a.begin), host(b.begin));
  EXPECT_EQ(host(a.column), host(b.column));
  EXPECT_EQ(host(a.source), host(b.source));
}

template <class I> void expect_same(const DeviceLevels<I>& a, const DeviceLevels<I>& b)
{
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(host(a.row), host(b.row));
  EXPECT_EQ(host(a.begin), host(b.begin));
}

template <class I> void expect_same(const DeviceInodes<I>& a, const DeviceInodes<I>& b)
{
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.entries, b.entries);
  for (const auto part : {&DeviceInodes<I>::first, &DeviceInodes<I>::before, &DeviceInodes<I>::begin,
                          &DeviceInodes<I>::column})
    EXPECT_EQ(host(a.*part), host(b.*part));
  expect_same(a.levels, b.levels);
}

/// Compares what the host packs with what the device makes: L, U, counts, levels, rows by level, inodes.
template <class I> void expect_equal_analyses(Kind kind, const OwnedPattern<I>& A)
{
  const OnDevice<I> there(A);
  DeviceFactorPattern<I> split_there;
  ASSERT_TRUE(split(kind, there.view(), &split_there));
  SymbolicOptions<I> options;
  options.kind = kind;
  FactorPattern<I> made;
  ASSERT_TRUE(make_factor_pattern(A.view(), options, &made).ok());
  poison<I>(A.column.size());
  PackedUpload upload;
  const DeviceFactorPattern<I> packed = pack_pattern(made, A.view(), &upload);
  LevelSets<I> levels[2];
  DeviceLevels<I> packed_levels[2];
  DeviceInodes<I> packed_nodes[2];
  PermutedRows<I> by_level[2];
  LevelPositions<I> positions[2];
  for (const bool lower : {true, false}) {
    const PatternView<I> T = lower ? made.lower() : made.upper();
    ASSERT_TRUE(make_level_sets(T, lower, &levels[lower]).ok());
    packed_levels[lower] = pack_levels(levels[lower], &upload);
    by_level[lower] = pack_rows_by_level(T, lower, levels[lower], &positions[lower], &upload);
    packed_nodes[lower] = pack_inodes(find_inodes(T, lower), &upload);
  }
  upload.send_all(nullptr);
  expect_pattern(packed, made, split_there);
  EXPECT_EQ(packed.kind, split_there.kind);
  EXPECT_EQ(packed.n, split_there.n);
  EXPECT_EQ(packed.counts.most_lower, split_there.counts.most_lower);
  EXPECT_EQ(packed.counts.most_upper, split_there.counts.most_upper);
  EXPECT_EQ(packed.counts.most, split_there.counts.most);
  EXPECT_EQ(packed.counts.operations, split_there.counts.operations);
  for (const bool lower : {true, false}) {
    SCOPED_TRACE(lower ? "lower" : "upper");
    const DevicePattern<I> T = lower ? split_there.lower() : split_there.upper();
    DeviceLevels<I> found;
    ASSERT_TRUE(find_levels(T, lower, Grid<I>(), &found, nullptr, patient));
    expect_same(packed_levels[lower], found);
    expect_same(by_level[lower], permute_rows<I>(T, nullptr, found.row.data(), true, !lower));
    EXPECT_EQ(host(positions[lower].row), host(found.row));
    EXPECT_EQ(host(positions[lower].position), host(inverse_permutation(T.n, found.row.data())));
    DeviceInodes<I> nodes;
    EXPECT_EQ(InodeSearch<I>(T, lower).find(&nodes, patient), packed_nodes[lower].size > 0);
    expect_same(packed_nodes[lower], nodes);
  }
}

TYPED_TEST(Analyses, are_equal_on_host_and_device)
{
  using I = TypeParam;
  for (const auto& A : matrices<I>()) expect_equal_analyses(Kind::ilu, A);
  for (const auto& [A, size] : patterns_with_inodes<I>()) expect_equal_analyses(Kind::ilu, A);
  for (unsigned seed = 0; seed < 20; ++seed)
    expect_equal_analyses(Kind::ilu, random_matrix<I>(seed, 1 + 37 * I(seed), 1 + seed % 9));
  for (const auto& A : {stencil<I>(13, 9, 11, false), stencil<I>(12, 10, 7, true)})
    expect_equal_analyses(Kind::icc, A);
}

/// On a long chain the device would be much slower than the host.
TYPED_TEST(Analyses, give_up_where_a_chain_is_long)
{
  using I = TypeParam;
  std::vector<std::vector<I>> rows(200000);
  for (I i = 1; i < 200000; ++i) rows[i].push_back(i - 1);
  const OnDevice<I> chain(pattern_of(rows));
  DeviceLevels<I> levels;
  EXPECT_FALSE(find_levels(chain.view(), true, Grid<I>(), &levels, nullptr, 1'000'000));
}

}  // namespace
}  // namespace syncfree::cuda
