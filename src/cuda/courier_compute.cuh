#pragma once

/// Strategy `courier`: the warps that compute.

#include "courier_memory.cuh"

namespace syncfree::cuda {

/// What the plan says of a position, as it is read from the ring.
template <class N, class M, int near> struct Record {
  using Memory = CourierMemory<N, M, near>;
  static constexpr bool has_values = near <= 4 && !is_wide<N>;  ///< else they are read where they are used
  uint4 unit[Memory::units];
  Pair<M> pair[has_values ? near / 2 : 1];
  M scale;

  __device__ void read(const Memory& memory, std::uint32_t cell, std::uint32_t cells, bool scaled)
  {
#pragma unroll
    for (int u = 0; u < Memory::units; ++u) unit[u] = memory.unit[u * cells + cell];
    if constexpr (has_values) read_pairs(pair, memory, cell, cells);
    scale = M(1);
    if (scaled) scale = memory.scale[cell];
  }

  static __device__ void read_pairs(Pair<M>* to, const Memory& memory, std::uint32_t cell, std::uint32_t cells)
  {
#pragma unroll
    for (int j = 0; j < near / 2; ++j) to[j] = memory.pair[j * cells + cell];
  }
};

/// A row of a step, as far as it is known before its numbers are. Places in x are counted in bytes.
template <class N, class M, int near> struct Station {
  std::uint32_t cell, to, slot[near], mail;
  N sum;  ///< the right-hand side and what comes by mail
  Pair<M> pair[near / 2];
  M scale;
  bool waits;

  /// Where `mine` is false the row is another thread's: its number goes to waste. Returns the place of the right-hand
  /// side, then a zero.
  __device__ std::uint32_t take(const Record<N, M, near>& record, bool mine, std::uint32_t waste)
  {
    constexpr int units = CourierMemory<N, M, near>::units;
    constexpr auto size = static_cast<std::uint32_t>(sizeof(N));
    const auto word = [&](int w) {
      const uint4& u = record.unit[w / 4];
      return w % 4 == 0 ? u.x : w % 4 == 1 ? u.y : w % 4 == 2 ? u.z : u.w;
    };
    waits = mine && (word(0) & courier_far);  // the other thread may have cleared the place before
    const std::uint32_t own = (word(0) & (courier_far - 1u)) * size;
    to = mine ? own : waste;
#pragma unroll
    for (int j = 0; j < near; ++j) {
      const std::uint32_t two = word((j + 1) / 2);
      slot[j] = ((j + 1) % 2 ? two >> 16 : two & 0xffffu) * size;
    }
    mail = mine ? word(4 * units - 1) : courier_no_mail;
    if constexpr (Record<N, M, near>::has_values) {
#pragma unroll
      for (int j = 0; j < near / 2; ++j) pair[j] = record.pair[j];
    }
    scale = record.scale;
    return mine ? own : waste - size;
  }
};

/// (sum - sum_j value_j number_j) scale in few dependent operations; the product of the latest number comes last.
template <class N, class M, int near>
__device__ N finish(const Station<N, M, near>& station, const N (&number)[near], bool conjugate)
{
  const auto stored = [&](const M& v) { return conjugate ? conjugate_of(N(v)) : N(v); };
  constexpr int ways = near >= 8 ? 4 : near / 2;
  N part[ways] = {};
  part[ways - 1] = station.sum;
#pragma unroll
  for (int j = 0; j < near; j += 2) {
    part[j % ways] -= product(stored(station.pair[j / 2].first), number[j]);
    part[(j + 1) % ways] -= product(stored(station.pair[j / 2].second), number[j + 1]);
  }
#pragma unroll
  for (int w = 1; w < ways; ++w) part[0] += part[w];
  return product(part[0], stored(station.scale));
}

/// A warp that computes: a lane a row, one step after the other. A step takes as long as its loads, operations and its
/// barrier depend on each other; all else is done for the next two steps in between. Nothing branches by lane.
template <class N, class V, int near, bool alone, class Box> class Computing {
  using M = Number<V>;
  using Stop = Station<N, M, near>;
  /// Rows with few near entries are prepared a step ahead; the others leave no registers for that.
  static constexpr bool looks_ahead = Record<N, M, near>::has_values;

public:
  __device__ Computing(const CourierView<V>& A, const RowBlock& block, const CourierMemory<N, M, near>& memory,
                       const Box& box, bool conjugate)
      : memory_(memory), box_(box), first_row_(block.first_row), warps_(A.warps), cells_(A.depth * courier_page),
        waste_((A.slots + 1) * static_cast<std::uint32_t>(sizeof(N))), scaled_(A.scale), conjugate_(conjugate),
        ahead_(courier_stride * 32 * A.warps), last_(block.rows), end_(block.width[0])
  {
  }

  /// Steps behind the last have no rows.
  __device__ void run(std::uint32_t steps)
  {
    Stop even, odd;
    find();
    enter_pages();
    read();
    if (looks_ahead) {
      prepare(&even);
      read();
    }
    for (std::uint32_t s = 0; s < steps; s += courier_stride) {
      leave_pages();
      enter_pages();
#pragma unroll
      for (int k = 0; k < courier_stride; k += 2) {
        step(even, &odd);
        step(odd, &even);
      }
    }
  }

private:
  __device__ N& number_at(std::uint32_t place) const
  {
    return *reinterpret_cast<N*>(reinterpret_cast<unsigned char*>(memory_.x) + place);
  }

  __device__ void step(Stop& now, Stop* next)
  {
    if constexpr (!looks_ahead) prepare(&now);
    if (looks_ahead && now.waits) wait_for_mail(now);
    N number[near];
#pragma unroll
    for (int j = 0; j < near; ++j) number[j] = number_at(now.slot[j]);
    if constexpr (!looks_ahead) {
      Record<N, M, near>::read_pairs(now.pair, memory_, now.cell, cells_);
      if (now.waits) wait_for_mail(now);
    } else {
      prepare(next);
    }
    const N result = finish<N, M, near>(now, number, conjugate_);
    number_at(now.to) = result;
    read();
    Tray<N>::clear(memory_.mail + (now.to == waste_ ? cells_ : now.cell));
    box_.put_if(now.mail != courier_no_mail, now.mail, result);
    __syncwarp();
    if (!alone) meet(1, 32 * warps_);
  }

  /// From the record at hand to the station of its step; read() gets the record of the step behind it then.
  __device__ void prepare(Stop* stop)
  {
    stop->cell = cell_;
    const N rhs = number_at(stop->take(record_, mine_, waste_));
    const N mail = Tray<N>::look(memory_.mail + cell_);
    const bool arrived = Tray<N>::arrived(mail);
    stop->sum = stop->waits & arrived ? rhs - mail : rhs;
    stop->waits = stop->waits & !arrived;
    floor_ = begin_;
    begin_ = end_;
    end_ += record_.unit[CourierMemory<N, M, near>::units - 1].z >> 16;
    find();
  }

  /// The row of this thread among positions begin_ to end_ - 1, else the last, which is not its own.
  __device__ void find()
  {
    const std::uint32_t p = begin_ + threadIdx.x;
    mine_ = p < end_;
    cell_ = min(p, end_ - 1) & (cells_ - 1);
  }
  __device__ void read() { record_.read(memory_, cell_, cells_, scaled_); }

  __device__ void wait_for_mail(Stop& now) const
  {
    Spin spin(first_row_);
    N mail;
    while (!Tray<N>::arrived(mail = Tray<N>::look(memory_.mail + now.cell))) spin.turn();
    now.sum -= mail;
  }

  /// Called by all warps behind a step, often enough: helpers wait for it with mail of the steps that come next.
  __device__ void leave_pages()
  {
    for (; left_ + courier_page <= floor_; left_ += courier_page)
      if (threadIdx.x == 0) memory_.empty[(left_ & (cells_ - 1)) / courier_page].arrive();
  }

  /// Those of the record at hand and of the next steps.
  __device__ void enter_pages()
  {
    for (; entered_ < min(end_ + ahead_, last_); entered_ += courier_page) {
      const unsigned round = (entered_ & cells_) != 0;
      memory_.full[(entered_ & (cells_ - 1)) / courier_page].wait(round, Spin(first_row_));
    }
  }

  const CourierMemory<N, M, near>& memory_;
  const Box& box_;
  const long long first_row_;
  const std::uint32_t warps_, cells_, waste_;
  const bool scaled_, conjugate_;
  const std::uint32_t ahead_, last_;      ///< positions of the steps until the next look at pages; of the block
  bool mine_ = false;
  std::uint32_t begin_ = 0, end_;         ///< of the step whose record is at hand
  std::uint32_t floor_ = 0;               ///< begin of the step before
  std::uint32_t cell_ = 0;                ///< of that record
  std::uint32_t entered_ = 0, left_ = 0;  ///< positions of the pages that are there, and that nobody will read
  Record<N, M, near> record_;
};

}  // namespace syncfree::cuda
