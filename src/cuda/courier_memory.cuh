#pragma once

/// Strategy `courier`: what a thread block has in shared memory, and the warp that fills it.

#include <cuda_pipeline_primitives.h>

#include "columns.cuh"
#include "core/courier_plan.hpp"
#include "number.cuh"
#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {

template <class V> struct CourierView {
  const RowBlock* block;
  const RowRun* run;
  const uint4* unit;
  const Number<V>*value, *scale;  ///< scale nullptr: 1
  const std::uint32_t *bundle_begin, *bundle_position, *far_place;
  const Number<V>* far_value;
  std::uint32_t mails;
  std::uint32_t slots;  ///< of a block
  int depth;      ///< pages in shared memory, a power of two
  int warps;      ///< that compute
  int far_lanes;  ///< of a row that reads mail
};

/// Complex numbers take twice the registers.
template <class N> constexpr bool is_wide = sizeof(N) > 8;
template <class N, int near, bool alone>
constexpr int courier_threads = near == 2 && !alone && !is_wide<N> ? 768 : 512;
constexpr int courier_stride = 4;  ///< steps between two looks at the pages
/// Mail that a helper's lane has in flight.
template <class N, int near> constexpr int courier_batch = near == 2 ? 2 : is_wide<N> ? 4 : near == 4 ? 9 : 6;

template <class M> struct alignas(sizeof(M) > 8 ? 16 : 2 * sizeof(M)) Pair {
  M first, second;
};

/// Starts the copy of a number from memory to shared memory; there is no need of a register. Both stand where their
/// real parts may stand.
template <class N> __device__ void fetch_number(N* to, const N* from)
{
  using R = decltype(real_of(*from));
  for (unsigned part = 0; part < sizeof(N) / sizeof(R); ++part)
    __pipeline_memcpy_async(reinterpret_cast<R*>(to) + part, reinterpret_cast<const R*>(from) + part, sizeof(R));
}
/// A row's number in each column of a chunk.
template <class N, class I> __device__ void fetch_row(N* to, const Input<N>& b, I row)
{
  if constexpr (columns_of<N> == 1) {
    fetch_number(to, b.at + row);
  } else if (b.interleaved()) {
    __pipeline_memcpy_async(to, b.row(row), sizeof(N));
  } else {
#pragma unroll
    for (int c = 0; c < columns_of<N>; ++c) fetch_number(to->part + c, b.at + min(c, b.count - 1) * b.leading + row);
  }
}
/// Those that this thread has started.
inline __device__ void await_fetched_numbers()
{
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

/// What a block keeps in shared memory. The ring holds `depth` pages; what is read at once of a position is a cell of
/// one of its planes, each of which has depth * courier_page cells.
template <class N, class M, int near> struct CourierMemory {
  static constexpr int units = CourierPlan<int>::units_of(near), pairs = near / 2;
  static constexpr unsigned unit_bytes = courier_page * 16, pair_bytes = courier_page * 2 * sizeof(M);
  static constexpr unsigned scale_bytes = courier_page * sizeof(M);
  static constexpr unsigned page_bytes = units * unit_bytes + pairs * pair_bytes + scale_bytes;
  N* x;            ///< by slot: the right-hand side, then the number; behind them a zero and a place for waste
  uint4* unit;
  Pair<M>* pair;
  M* scale;
  N* mail;         ///< by cell: what a row reads by mail, added up; behind them a place for waste
  Gate *full, *empty;  ///< by page
  Progress* left;      ///< pages that nobody will read

  static constexpr std::size_t ring_begin(std::size_t slots) { return ((slots + 2) * sizeof(N) + 15) / 16 * 16; }
  static std::size_t bytes(std::size_t slots, int depth)
  {
    return ring_begin(slots) + depth * (page_bytes + courier_page * sizeof(N) + 2 * sizeof(Gate)) + sizeof(N) + 16;
  }

  __device__ CourierMemory(unsigned char* memory, std::uint32_t slots, int depth)
  {
    x = reinterpret_cast<N*>(memory);
    unsigned char* ring = memory + ring_begin(slots);
    unit = reinterpret_cast<uint4*>(ring);
    pair = reinterpret_cast<Pair<M>*>(ring + depth * (units * unit_bytes));
    scale = reinterpret_cast<M*>(ring + depth * (units * unit_bytes + pairs * pair_bytes));
    full = reinterpret_cast<Gate*>(ring + depth * page_bytes);
    empty = full + depth;
    mail = reinterpret_cast<N*>(empty + depth);
    left = reinterpret_cast<Progress*>(mail + depth * courier_page + 1);
  }
};

/// The warp that streams pages into the ring.
template <class N, class V, int near> class Fetching {
  using M = Number<V>;
  using Memory = CourierMemory<N, M, near>;

public:
  __device__ Fetching(const CourierView<V>& A, const RowBlock& block, const Memory& memory)
      : A_(A), block_(block), memory_(memory)
  {
  }

  __device__ void run()
  {
    if (copies_by_itself && threadIdx.x % 32 != 0) return;
    for (std::uint32_t q = 0; q < block_.pages; ++q) {
      const std::uint32_t at = q % A_.depth, round = q / A_.depth;
      if (round > 0) {
        memory_.empty[at].wait((round - 1) & 1, Spin(block_.first_row));
        if (threadIdx.x % 32 == 0) memory_.left->tell(q - A_.depth + 1);
      }
      fetch(block_.first_page + q, at, memory_.full[at]);
    }
  }

private:
  __device__ void fetch(std::size_t page, std::uint32_t at, Gate& gate)
  {
    const bool first = threadIdx.x % 32 == 0;
    if (copies_by_itself) gate.arrive_with(Memory::page_bytes - (A_.scale ? 0 : Memory::scale_bytes));
    for (int u = 0; u < Memory::units; ++u)
      copy(gate, memory_.unit + (u * A_.depth + at) * courier_page, A_.unit + (page * Memory::units + u) * courier_page,
           Memory::unit_bytes);
    const auto* pair = reinterpret_cast<const Pair<M>*>(A_.value);
    for (int j = 0; j < Memory::pairs; ++j)
      copy(gate, memory_.pair + (j * A_.depth + at) * courier_page, pair + (page * Memory::pairs + j) * courier_page,
           Memory::pair_bytes);
    if (A_.scale)
      copy(gate, memory_.scale + at * courier_page, A_.scale + page * courier_page, Memory::scale_bytes);
    if (copies_by_itself) return;
    __syncwarp();
    if (first) gate.arrive();
  }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  static constexpr bool copies_by_itself = true;
  static __device__ void copy(Gate& gate, void* to, const void* from, unsigned bytes)
  {
    gate.copy(to, from, bytes);
  }
#else
  static constexpr bool copies_by_itself = false;
  static __device__ void copy(Gate&, void* to, const void* from, unsigned bytes)
  {
    for (unsigned k = threadIdx.x % 32; k < bytes / 16; k += 32)
      static_cast<uint4*>(to)[k] = static_cast<const uint4*>(from)[k];
  }
#endif

  const CourierView<V>& A_;
  const RowBlock& block_;
  const Memory& memory_;
};

}  // namespace syncfree::cuda
