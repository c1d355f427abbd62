/// Strategy `wavefront`: grids in a plane or in space in which each row reads its earlier neighbours only
/// (core/plan/pencil_grid.hpp, cuda/solve/wavefront/kernel.cuh).

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/choose/grid_times.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/analysis/triangle.hpp"
#include "cuda/base/flag.cuh"
#include "cuda/base/launch.hpp"
#include "cuda/solve/solver.hpp"
#include "cuda/solve/wavefront/kernel.cuh"
#include "cuda/solve/wavefront/wavefront.hpp"

namespace syncfree::cuda {
namespace {

/// A cell of a grid: its index in its line, its line in its plane, and its plane.
struct GridCell {
  std::int64_t cell, line, plane;

  template <Stencil reads> __device__ bool has(const PencilGrid& grid, int j) const
  {
    const Neighbour n = PencilForm<reads>::neighbour(j);
    if (n.cell > 0 && n.line > 0 && !grid.has_south_west) return false;
    return cell >= n.cell && cell - n.cell < grid.line && line >= n.line && plane >= n.plane;
  }
};

template <Stencil reads> __device__ std::int64_t distance(const PencilGrid& grid, int j)
{
  const Neighbour n = PencilForm<reads>::neighbour(j);
  return n.cell + grid.line * (n.line + grid.lines * n.plane);
}

/// Raises `other` if a row reads other rows than its stencil's neighbours; one thread per row.
template <class I, Stencil reads>
__global__ void compare_with_pencils(PencilGrid grid, DevicePattern<I> T, unsigned* other)
{
  const auto serial = static_cast<std::int64_t>(blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x);
  if (serial >= T.n) return;
  const GridCell at = {serial % grid.line, serial / grid.line % grid.lines, serial / grid.line / grid.lines};
  const std::int64_t row = grid.row_of_serial(serial);
  const I begin = T.row_begin[row], end = T.row_begin[row + 1];
  I k = 0;
  bool same = true;
  for (int j = 0; j < PencilForm<reads>::entries; ++j) {
    if (!at.has<reads>(grid, j)) continue;
    if (k == end - begin) return set_flag_once(other);
    const std::int64_t away = distance<reads>(grid, j);
    same = same && T.column[grid.lower ? end - 1 - k : begin + k] == (grid.lower ? row - away : row + away);
    ++k;
  }
  if (!same || k != end - begin) set_flag_once(other);
}

constexpr int filling_threads = 256;
static_assert(filling_threads == chunk_steps * pencils_per_group);

/// Fills the panel of one chunk per thread block; neighbouring threads have neighbouring steps of a pencil.
///   begin  row offsets of the triangle
template <class T, class V, class I, Stencil reads, bool scaled>
__global__ void __launch_bounds__(filling_threads)
fill_pencil_panels(PencilGrid grid, unsigned groups_x, unsigned chunks, const I* begin, const DeviceScalar<T>* value,
                const DeviceScalar<T>* inverse_diagonal, PencilPanel<DeviceScalar<V>, reads, scaled>* panel)
{
  using Panel = PencilPanel<DeviceScalar<V>, reads, scaled>;
  using N = DeviceScalar<T>;
  const int e = static_cast<int>(threadIdx.x) % chunk_steps, lane = static_cast<int>(threadIdx.x) / chunk_steps;
  const unsigned pencil_group = blockIdx.x / chunks, q = blockIdx.x % chunks;
  const PencilLane line = PencilGroup{pencil_group % groups_x, pencil_group / groups_x}.lane<reads>(grid, lane);
  const std::int64_t step = std::int64_t{q} * chunk_steps + e;
  const bool is_cell = line.has_cell(grid, step);
  const GridCell at = {step - line.lag, line.line_of_plane, line.plane};
  const std::int64_t row = is_cell ? grid.row_of_serial(line.serial(grid, step)) : 0;
  const N scale = scaled && is_cell ? inverse_diagonal[row] : N(1);
  I k = grid.lower ? begin[row + 1] - 1 : begin[row];
  for (int j = 0; j < Panel::entries; ++j) {
    DeviceScalar<V>& entry = panel[blockIdx.x].number[Panel::index_of(j, e * pencils_per_group + lane)];
    const bool has = is_cell && at.has<reads>(grid, j);
    entry = has ? DeviceScalar<V>(product(value[k], scale)) : DeviceScalar<V>(0);
    if (has) k += grid.lower ? -1 : 1;
  }
  if (scaled)
    panel[blockIdx.x].number[Panel::index_of(Panel::entries, e * pencils_per_group + lane)] = DeviceScalar<V>(scale);
}

/// Calls body(an integral constant) for the stencil; with_pencils(): body(stencil, scaled).
template <class Body> void with_reads(Stencil reads, Body body)
{
  switch (reads) {
    case Stencil::star5: return body(std::integral_constant<Stencil, Stencil::star5>());
    case Stencil::lower7: return body(std::integral_constant<Stencil, Stencil::lower7>());
    case Stencil::box9: return body(std::integral_constant<Stencil, Stencil::box9>());
    case Stencil::star7: return body(std::integral_constant<Stencil, Stencil::star7>());
  }
}
/// Calls body(true_type or false_type): whether stacks are rings, which only pencils in space have.
template <Stencil reads, class Body> void with_rings([[maybe_unused]] bool rings, Body body)
{
  if constexpr (PencilForm<reads>::in_space)
    if (rings) return body(std::true_type());
  body(std::false_type());
}
template <class Body> void with_pencils(Stencil reads, bool scaled, Body body)
{
  with_reads(reads, [&](auto form) {
    if (scaled) body(form, std::true_type());
    else body(form, std::false_type());
  });
}

constexpr unsigned least_slots = 3, most_slots = 16;

/// Shared memory of a thread block, at most: with more the L1 cache is left with less than half, and right-hand sides,
/// of which it keeps the rest of a sector for the next step, are read twice.
constexpr std::size_t most_memory = 195 << 10;

/// Stacks are rings where so many pencil groups with whole stacks, and so many slots, have no room: where they have,
/// whole stacks are faster. And pencil groups of a thread block with rings, at most. On an H200, 100^3 to 300^3.
constexpr unsigned groups_of_whole_stacks = 4;
constexpr unsigned slots_of_whole_stacks(bool is_double) { return is_double ? 3 : 4; }
constexpr unsigned most_groups_of_rings(bool is_double) { return is_double ? 4 : 5; }

/// Thread blocks of a cluster, at most, if more blocks wait than run: those of a cluster begin and end together.
constexpr unsigned most_blocks_of_many = 4;

/// Size of thread blocks and of their rings, for values N of the kernel and entries of type V.
template <class N, class V, Stencil reads, bool scaled> struct PencilBlocks {
  unsigned pencil_groups = 0, slots = 0;  ///< of a thread block; of a ring of panels; 0 if there is no room
  unsigned threads = 0;
  bool rings = false;  ///< stacks are rings, too
  std::size_t memory = 0;

  ///   may_ring  false: stacks must be whole
  PencilBlocks(const PencilGroupCounts& counts, unsigned most_slots, bool may_ring)
      : rings(may_ring && PencilForm<reads>::in_space && has_no_room_for_whole_stacks(counts))
  {
    with_rings<reads>(rings, [&](auto is_ring) { fit<is_ring.value>(counts, most_slots); });
  }

private:
  static constexpr bool is_double = sizeof(DeviceScalar<V>) > 4;

  static bool has_no_room_for_whole_stacks(const PencilGroupCounts& counts)
  {
    using Memory = PencilSharedMemory<N, PencilPanel<DeviceScalar<V>, reads, scaled>, reads, false>;
    return Memory::shared_bytes(groups_of_whole_stacks, static_cast<unsigned>(counts.steps),
                                slots_of_whole_stacks(is_double)) > std::min(memory_of_block(), most_memory);
  }

  template <bool is_ring> void fit(const PencilGroupCounts& counts, unsigned most_slots)
  {
    using Memory = PencilSharedMemory<N, PencilPanel<DeviceScalar<V>, reads, scaled>, reads, is_ring>;
    using Warps = PencilWarps<reads, N, is_ring>;
    const std::size_t most = columns_of<N> > 1 ? memory_of_block() : std::min(memory_of_block(), most_memory);
    const auto steps = static_cast<unsigned>(counts.steps);
    unsigned groups = Warps::pencil_groups;
    if (is_ring) {
      groups = std::min(groups, most_groups_of_rings(is_double));
      most_slots = std::min(most_slots, StackRing<reads>::most_slots);
    }
    while (groups > 0 && Memory::shared_bytes(groups, steps, least_slots) > most) --groups;
    if (groups == 0) return;
    const auto parts = (static_cast<unsigned>(counts.groups_z) + groups - 1) / groups;
    pencil_groups = (static_cast<unsigned>(counts.groups_z) + parts - 1) / parts;
    for (slots = most_slots; Memory::shared_bytes(pencil_groups, steps, slots) > most;) --slots;
    memory = Memory::shared_bytes(pencil_groups, steps, slots);
    threads = 32 * Warps::all;
  }
};

/// Returns the clusters in the order in which they can begin, each after those that it waits for: the adjacent cluster
/// begins when a pencil group has done `height` steps, the next one across planes when all groups of this one have done
/// `depth` steps. Hops are estimated in steps.
std::vector<std::uint32_t> clusters_by_begin(unsigned groups_x, unsigned group_z, unsigned cluster,
                                             unsigned pencil_groups)
{
  using Form = PencilForm<Stencil::star7>;
  constexpr unsigned hop = 20, hop_inside = 8;
  const unsigned to_adjacent = cluster * (Form::height + hop_inside) + hop;
  const unsigned to_next = pencil_groups * (Form::depth + hop_inside) + hop;
  std::vector<std::uint32_t> order(std::size_t{groups_x} * group_z);
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::uint32_t>(k);
  const auto begin = [&](std::uint32_t k) { return k % groups_x * to_adjacent + k / groups_x * to_next; };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return begin(a) < begin(b); });
  return order;
}

/// True if solve_pencils() has a variant that inverts. It is for factorizations in which updates change pivots only.
constexpr bool can_invert_pencils(Stencil reads, bool scaled)
{
  return !scaled && (reads == Stencil::star5 || reads == Stencil::star7);
}

/// Solver with pencils that have the values of the factor, stored as V.
template <class T, class V, class I> class PencilSolver : public DeviceSolver<T, I> {
  using N = DeviceScalar<T>;
  using M = DeviceScalar<V>;  // of entries

public:
  ///   begin  row offsets of the triangle, in device memory
  PencilSolver(const PencilGrid& grid, Stencil reads, bool unit, const I* begin)
      : grid_(grid), reads_(reads), scaled_(!unit), begin_(static_cast<std::size_t>(grid.count_cells()) + 1)
  {
    SYNCFREE_CUDA(cudaMemcpyAsync(begin_.data(), begin, begin_.bytes(), cudaMemcpyDeviceToDevice, nullptr));
    with_pencils(reads_, scaled_, [&](auto form, auto scaled) {
      counts_ = PencilGroupCounts::count_groups<form.value>(grid_);
      panel_ = DeviceArray<unsigned char>(panels() * sizeof(PencilPanel<M, form.value, scaled.value>));
    });
    settle<V, false>(&one_);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  SolverTraits traits() const override
  {
    SolverTraits traits;
    traits.columns = true;
    traits.inverse = can_invert_pencils(reads_, scaled_);
    if (wide_chunks_) traits.interleaving = interleaving_of<T>(false);
    return traits;
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    if (v.count == 1) launch_pencils<V, false>(&one_, panel_.data(), v.b, v.x, mode, stream);
    else launch_pencil_columns(v, mode, stream);
  }

  bool prepare_columns() override
  {
    if (chunks_ || wide_chunks_) return false;
    with_pencils(reads_, scaled_, [&](auto form, auto scaled) {
      const PencilBlocks<ColumnPackOf<T>, V, form.value, scaled.value> wide(counts_, slots_of_many, false);
      const PencilBlocks<N, V, form.value, scaled.value> narrow(counts_, slots_of_many, false);
      several_ = wide.pencil_groups > 0 ? arrange<form.value>(wide, 1) : arrange<form.value>(narrow, 1);
      if (wide.pencil_groups > 0) wide_chunks_ = std::make_unique<WideChunks>(several_.exports, "wavefront");
      else chunks_ = std::make_unique<Chunks>(several_.exports, "wavefront");
      allow_shared_memory(solve_pencils<ColumnPackOf<T>, V, form.value, scaled.value, false, true>, memory_of_block());
      allow_shared_memory(solve_pencils<N, V, form.value, scaled.value, false, true>, memory_of_block());
    });
    return false;
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part != UpdatePart::rest) fill_panels<V>(value, inverse_diagonal, panel_.data(), stream);
  }

  void solve_inverse(const T* c, const T* b, T* y, cudaStream_t stream) override
  {
    with_pencils(reads_, scaled_, [&](auto form, auto scaled) {
      if constexpr (can_invert_pencils(form.value, scaled.value)) {
        DeviceArray<unsigned char> full;  // for the factorization, also if the factor is stored as another type
        if (!std::is_same_v<T, V>)
          full = DeviceArray<unsigned char>(panels() * sizeof(PencilPanel<N, form.value, scaled.value>));
        unsigned char* const panel = full.empty() ? panel_.data() : full.data();
        Place& place = std::is_same_v<T, V> ? one_ : inverse_;
        if (!place.launches) settle<T, true>(&place);
        fill_panels<T>(c, nullptr, panel, stream);
        launch_pencils<T, true>(&place, panel, b, y, {}, stream);
      }
    });
  }

  PlanSummary summarize_plan() const override
  {
    const std::string of = "groups of " + std::string(reads_ == Stencil::star7 ? "8 x 4" : "32") + " pencils";
    const Arrangement& one = one_.planned;
    const std::int64_t pencil_groups = one.pencil_groups,
                       rows = (counts_.groups_z + pencil_groups - 1) / pencil_groups;
    const std::string blocks = pencil_groups > 1 ? " blocks of " + std::to_string(pencil_groups) + " " : " ";
    const std::string text = std::to_string(counts_.groups_x * rows) + blocks + of +
                             (one.rings ? ", stacks in rings" : "") + in_clusters(one.cluster);
    const bool is_shared = !inverse_.launches || inverse_.launches == one_.launches;
    const std::size_t bytes = begin_.bytes() + one_.bytes() + inverse_.bytes() + several_.order.bytes() +
                              one_.launches->launch_bytes() + (is_shared ? 0 : inverse_.launches->launch_bytes()) +
                              (chunks_ ? chunks_->launch_bytes() : 0) +
                              (wide_chunks_ ? wide_chunks_->launch_bytes() : 0);
    return {text, bytes, panel_.bytes(), PlanForm::pencils};
  }

private:
  using Launches = ClusterLaunches<typename SingleReaderMailbox<N>::Memory>;
  using Chunks = ColumnLaunches<T, N, SingleReaderMailbox>;
  using WideChunks = ColumnLaunches<T, ColumnPackOf<T>, SingleReaderMailbox>;

  template <class Stored>
  void fill_panels(const T* value, const T* inverse_diagonal, unsigned char* panel, cudaStream_t stream)
  {
    with_pencils(reads_, scaled_, [&](auto form, auto scaled) {
      using Panel = PencilPanel<DeviceScalar<Stored>, form.value, scaled.value>;
      launch(fill_pencil_panels<T, Stored, I, form.value, scaled.value>,
             {static_cast<unsigned>(panels()), filling_threads, 0, stream}, grid_,
             static_cast<unsigned>(counts_.groups_x), static_cast<unsigned>(counts_.steps / chunk_steps), begin_.data(),
             as_device(value), as_device(inverse_diagonal), reinterpret_cast<Panel*>(panel));
    });
  }

  /// Assignment of the pencil groups to the thread blocks of a kernel.
  struct Arrangement {
    unsigned pencil_groups = 0, slots = 0, blocks = 0, threads = 0, cluster = 1;
    bool rings = false;
    std::size_t memory = 0, exports = 0;
    DeviceArray<std::uint32_t> order;
  };
  /// Thread blocks and mailboxes of the launches of a kernel for one column.
  struct Place {
    Arrangement planned, alone;  ///< alone: without clusters, once a launch with clusters is refused
    std::shared_ptr<Launches> launches;  ///< shared by places with equal blocks

    bool has_blocks_of(const Place& other) const
    {
      return planned.blocks == other.planned.blocks && planned.cluster == other.planned.cluster &&
             planned.pencil_groups == other.planned.pencil_groups;
    }
    std::size_t bytes() const { return planned.order.bytes() + alone.order.bytes(); }
  };
  ///   most  thread blocks of a cluster, at most
  template <Stencil reads, class Blocks> Arrangement arrange(const Blocks& made, unsigned most) const
  {
    Arrangement a;
    const auto groups_x = static_cast<unsigned>(counts_.groups_x);
    const auto group_z = (static_cast<unsigned>(counts_.groups_z) + made.pencil_groups - 1) / made.pencil_groups;
    const auto at_once = static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount));
    if (2 * groups_x * group_z > 3 * at_once) most = std::min(most, most_blocks_of_many);
    const unsigned clusters = (groups_x + most - 1) / most;
    a.pencil_groups = made.pencil_groups, a.slots = made.slots, a.memory = made.memory, a.threads = made.threads;
    a.rings = made.rings;
    a.cluster = (groups_x + clusters - 1) / clusters;
    a.blocks = clusters * a.cluster * group_z;
    a.exports = std::size_t{groups_x} * group_z *
              PencilForm<reads>::numbers_sent(static_cast<std::size_t>(counts_.steps), made.pencil_groups);
    if (group_z > 1)
      a.order = DeviceArray<std::uint32_t>(clusters_by_begin(clusters, group_z, a.cluster, made.pencil_groups));
    return a;
  }

  std::size_t panels() const
  {
    return static_cast<std::size_t>(counts_.pencil_groups()) * static_cast<std::size_t>(counts_.steps / chunk_steps);
  }

  /// Makes a place for the kernel with entries of type `Stored`. If T and V are equal, its blocks suit both kernels.
  template <class Stored, bool inverts> void settle(Place* place) const
  {
    with_pencils(reads_, scaled_, [&](auto form, auto scaled) {
      constexpr bool has_inverse = can_invert_pencils(form.value, scaled.value);
      if constexpr (!inverts || has_inverse) {
        const PencilBlocks<N, Stored, form.value, scaled.value> made(counts_, most_slots, true);
        with_rings<form.value>(made.rings, [&](auto rings) {
          const auto kernel = solve_pencils<N, Stored, form.value, scaled.value, inverts, false, rings.value>;
          allow_shared_memory(kernel, memory_of_block());
          if constexpr (has_inverse && !inverts && std::is_same_v<T, V>)
            allow_shared_memory(solve_pencils<N, T, form.value, scaled.value, true, false, rings.value>,
                                memory_of_block());
          place->planned = arrange<form.value>(
              made, most_blocks_of_cluster(kernel, {1, made.threads, made.memory, nullptr, false}));
        });
      }
    });
    const bool is_like_one = one_.launches && place->has_blocks_of(one_);
    place->launches = is_like_one ? one_.launches : std::make_shared<Launches>(place->planned.exports, "wavefront");
  }

  template <class Stored, bool inverts>
  void launch_pencils(Place* place, const unsigned char* panel, const T* b, T* x, SolveMode mode, cudaStream_t stream)
  {
    with_pencils(reads_, scaled_, [&](auto form, auto scaled) {
      if constexpr (!inverts || can_invert_pencils(form.value, scaled.value))
        with_rings<form.value>(place->planned.rings, [&](auto rings) {
          const auto kernel = solve_pencils<N, Stored, form.value, scaled.value, inverts, false, rings.value>;
          place->launches->launch_cluster(place->planned.cluster, [&](unsigned cluster, auto mailbox, auto* counter) {
            const bool is_alone = cluster < place->planned.cluster;
            if (is_alone && place->alone.blocks == 0)
              place->alone = arrange<form.value>(
                  PencilBlocks<N, Stored, form.value, scaled.value>(counts_, most_slots, true), 1);
            return try_launch(kernel, is_alone ? place->alone : place->planned, 1, panel, mailbox, counter,
                              Input<N>{as_device(b)}, Output<N>{as_device(x)}, stream, mode.overlaps);
          });
        });
    });
  }
  void launch_pencil_columns(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream)
  {
    with_pencils(reads_, scaled_, [&](auto form, auto scaled) {
      const auto wide = solve_pencils<ColumnPackOf<T>, V, form.value, scaled.value, false, true>;
      const auto narrow = solve_pencils<N, V, form.value, scaled.value, false, true>;
      if (wide_chunks_) launch_chunks<ColumnPackOf<T>>(wide, *wide_chunks_, v, mode, stream);
      else launch_chunks<N>(narrow, *chunks_, v, mode, stream);
    });
  }
  template <class K, class Kernel, class Launches>
  void launch_chunks(Kernel kernel, Launches& launches, const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream)
  {
    launches.launch_chunks(v, mode.overlaps, [&](unsigned chunks, auto mailbox, auto* counter, const Input<K>& b,
                                                 const Output<K>& x, bool overlap) {
      check(try_launch(kernel, several_, chunks, panel_.data(), mailbox, counter, b, x, stream, overlap),
            "solve_pencils");
    });
  }

  template <class Kernel, class Mail, class In, class Out>
  cudaError_t try_launch(Kernel kernel, const Arrangement& a, unsigned chunks, const unsigned char* panel,
                         const Mail& mailbox, TicketCounter* counter, const In& b, const Out& x, cudaStream_t stream,
                         bool overlaps) const
  {
    const PencilView view = {grid_,
                             a.order.empty() ? nullptr : a.order.data(),
                             panel,
                             static_cast<unsigned>(counts_.groups_x),
                             static_cast<unsigned>(counts_.groups_z),
                             a.pencil_groups,
                             a.blocks,
                             static_cast<unsigned>(counts_.steps),
                             a.slots,
                             a.cluster,
                             a.exports};
    const LaunchParameters parameters = {a.blocks * chunks, a.threads, a.memory, stream, overlaps, a.cluster};
    return cuda::try_launch(kernel, parameters, view, mailbox, counter, b, x);
  }

  PencilGrid grid_;
  Stencil reads_;
  bool scaled_;
  PencilGroupCounts counts_ = {};
  DeviceArray<I> begin_;
  DeviceArray<unsigned char> panel_;
  Place one_, inverse_;  ///< inverse_: of the kernel that inverts, if its entries are not stored as V
  Arrangement several_;
  std::unique_ptr<Chunks> chunks_;
  std::unique_ptr<WideChunks> wide_chunks_;
};

template <class T> constexpr bool may_have_pencils = std::is_floating_point_v<T>;

/// True if pencils fit and need not be padded too much. In space they gain less over tiles than in a plane.
template <class T> bool have_room(const PencilGrid& grid, Stencil reads, bool scaled)
{
  constexpr std::int64_t most_steps = 1 << 15, most_rows = 0x7fffffff;
  bool room = false;
  with_pencils(reads, scaled, [&](auto form, auto is_scaled) {
    const PencilGroupCounts counts = PencilGroupCounts::count_groups<form.value>(grid);
    const std::int64_t rows = grid.count_cells();
    constexpr double most_padding = PencilForm<form.value>::in_space ? 2 : 3;
    if (counts.steps > most_steps || rows > most_rows) return;
    if (counts.cells() > most_padding * static_cast<double>(rows)) return;
    // With whole stacks, which solves of several columns need.
    room = PencilBlocks<DeviceScalar<T>, T, form.value, is_scaled.value>(counts, most_slots, false).pencil_groups > 0;
  });
  return room;
}

double time_of(const PencilGrid& grid, Stencil reads)
{
  double time = 0;
  with_reads(reads, [&](auto form) {
    using Form = PencilForm<form.value>;
    const PencilGroupCounts counts = PencilGroupCounts::count_groups<form.value>(grid);
    const auto groups_x = static_cast<double>(counts.groups_x - 1), groups_z = static_cast<double>(counts.groups_z - 1);
    const double steps =
        static_cast<double>(counts.steps) + groups_x * Form::skew * Form::height + groups_z * Form::depth;
    time = time_of_pencil_work(
        {Form::in_space, steps, groups_x, groups_z, static_cast<double>(grid.count_cells())});
  });
  return time;
}

template <class I> bool has_pencils(const DeviceTriangle<I>& triangle, const PencilGrid& grid, Stencil reads)
{
  const Flag other;
  with_reads(reads, [&](auto form) {
    launch(compare_with_pencils<I, form.value>, {blocks_for(static_cast<std::size_t>(triangle.n()), 256), 256}, grid,
           triangle.on_device, other.data());
  });
  return !other.is_raised();
}

/// Returns the stencils that rows may have, by the longest row.
std::vector<Stencil> forms_of(std::int64_t longest, bool in_space)
{
  if (in_space) return longest == 3 ? std::vector<Stencil>{Stencil::star7} : std::vector<Stencil>{};
  if (longest == 2) return {Stencil::star5};
  if (longest == 3) return {Stencil::lower7, Stencil::box9};
  return longest == 4 ? std::vector<Stencil>{Stencil::box9} : std::vector<Stencil>{};
}

std::int64_t levels_of(const PencilGrid& grid, Stencil reads)
{
  std::int64_t levels = 0;
  with_reads(reads, [&](auto form) { levels = grid.count_stencil_levels<form.value>(); });
  return levels;
}

/// Returns the grids that the triangle may have, with their stencils. Pencils are as long as in `guess`, or one cell
/// longer, which a neighbour on one corner leaves open.
template <class T, class I>
std::vector<std::pair<PencilGrid, Stencil>> grids_like(const Grid<I>& guess, I rows, std::int64_t longest, bool lower,
                                                   bool scaled)
{
  std::vector<std::pair<PencilGrid, Stencil>> all;
  const bool in_space = guess.planes > 1;
  for (const Stencil reads : forms_of(longest, in_space))
    for (std::int64_t line = guess.line; line <= (in_space ? guess.line : guess.line + 1); ++line) {
      PencilGrid grid = {line, in_space ? std::int64_t{guess.lines} : rows / line, guess.planes, lower};
      grid.has_south_west = reads != Stencil::box9 || longest == 4;
      if (rows % line == 0 && grid.count_cells() == rows && have_room<T>(grid, reads, scaled))
        all.push_back({grid, reads});
    }
  return all;
}

}  // namespace

template <class T, class V, class I>
double time_of_pencils(const Grid<I>& grid, I rows, std::int64_t longest, std::int64_t levels)
{
  if constexpr (may_have_pencils<T>) {
    if (grid.lines <= 1) return 0;
    for (const auto& [lines, reads] : grids_like<T>(grid, rows, longest, true, true))
      if (levels == 0 || levels == levels_of(lines, reads)) return time_of(lines, reads);
  }
  return 0;
}

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_wavefront(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  const auto refuse = [](const char* why) { throw Failure{failed(Code::no_plan, why)}; };
  if constexpr (may_have_pencils<T>) {
    if (!triangle.on_device.row_begin || triangle.source) refuse("the pattern of the factor is not on the device");
    for (const auto& [grid, reads] :
         grids_like<T>(triangle.grid, triangle.n(), triangle.longest(), triangle.lower, !triangle.unit)) {
      if (triangle.grid.lines <= 1 || !has_pencils(triangle, grid, reads)) continue;
      return std::make_unique<PencilSolver<T, V, I>>(grid, reads, triangle.unit, triangle.on_device.row_begin);
    }
    refuse("the rows are not the points of a grid of 5, 7 or 9 points in its natural order, or pencils have no room");
  }
  refuse("wavefront requires real scalars");
  return nullptr;
}

#define INSTANTIATE(T, V, I)                                                                     \
  template std::unique_ptr<DeviceSolver<T, I>> make_wavefront<T, V, I>(const DeviceTriangle<I>&, \
                                                                       const SolverOptions&);    \
  template double time_of_pencils<T, V, I>(const Grid<I>&, I, std::int64_t, std::int64_t);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
