#pragma once

/// Several right-hand sides in one launch. Columns are processed in chunks, each with as many columns as a value of
/// the kernel has parts (ColumnPack); the chunks of a row or tile are consecutive, so that its entries are read from
/// memory once.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "cuda/base/multivector.hpp"
#include "cuda/base/scalar.cuh"
#include "syncfree/cuda/detail/wait_monitor.hpp"

namespace syncfree::cuda {

/// Columns of a multivector: column c begins at at + c * leading. Interleaved: a chunk begins where its first column
/// does, and its columns are adjacent in each row, as one value of the kernel. E: an entry, or a const one.
template <class E> struct Vectors {
  E* at;
  std::size_t leading = 0;
  int count = 1;
  unsigned row_step = 1;  ///< from one row to the next; more than 1: interleaved

  __device__ Vectors chunk(unsigned which, int columns) const
  {
    const int first = static_cast<int>(which) * columns;
    return {at + static_cast<std::size_t>(first) * leading, leading, count - first, row_step};
  }
  __device__ bool interleaved() const { return row_step > 1; }
  template <class I> __device__ E* row_address(I row) const { return at + static_cast<std::size_t>(row) * row_step; }
};
template <class N> using Input = Vectors<const Entry<N>>;
template <class N> using Output = Vectors<Entry<N>>;

/// The chunk of columns of a thread block, and the number of chunks.
struct ChunkOfBlock {
  unsigned chunks = 1, which = 0;
};
/// Assigns the chunk in a launch of `blocks` tickets per chunk, with consecutive tickets for the chunks of a tile:
/// *ticket becomes the ticket within its chunk, *b and *x the chunk's columns.
template <class N>
__device__ ChunkOfBlock take_chunk(unsigned blocks, unsigned* ticket, Input<N>* b, Output<N>* x)
{
  const unsigned chunks = gridDim.x / blocks, which = *ticket % chunks;
  *ticket /= chunks;
  *b = b->chunk(which, columns_of<N>);
  *x = x->chunk(which, columns_of<N>);
  return {chunks, which};
}

/// Loads a row of a chunk, one value per column; with fewer columns than parts the last column is repeated.
template <class N, class I> __device__ N load_row(const Input<N>& b, I row)
{
  if constexpr (columns_of<N> == 1) {
    return b.at[row];
  } else {
    if (b.interleaved()) return *reinterpret_cast<const N*>(b.row_address(row));
    N v;
#pragma unroll
    for (int c = 0; c < columns_of<N>; ++c) v.part[c] = b.at[min(c, b.count - 1) * b.leading + row];
    return v;
  }
}
template <class N, class I> __device__ void store_row(const Output<N>& x, I row, const N& v)
{
  if constexpr (columns_of<N> == 1) {
    x.at[row] = v;
  } else if (x.interleaved()) {
    *reinterpret_cast<N*>(x.row_address(row)) = v;
  } else {
#pragma unroll
    for (int c = 0; c < columns_of<N>; ++c)
      if (c < x.count) x.at[c * x.leading + row] = v.part[c];
  }
}

/// Calls body(v) with a row step known at compile time; v is stored in columns or in chunks.
template <class N, class E, class Body> __device__ void with_known_step(Vectors<E> v, Body body)
{
  if constexpr (columns_of<N> > 1) {
    if (v.interleaved()) {
      v.row_step = columns_of<N>;
      return body(v);
    }
  }
  v.row_step = 1;
  body(v);
}

/// ColumnPack<real>; complex values go one column at a time.
template <class N> struct ColumnPackType {
  using type = N;
};
template <> struct ColumnPackType<float> {
  using type = ColumnPack<float>;
};
template <> struct ColumnPackType<double> {
  using type = ColumnPack<double>;
};
template <class T> using ColumnPackOf = typename ColumnPackType<DeviceScalar<T>>::type;

/// Returns the interleaving for kernels whose values have the columns of a ColumnPackOf.
template <class T> Interleaving interleaving_of(bool whole_rows) { return {columns_of<ColumnPackOf<T>>, whole_rows}; }

/// State that launches with several columns share. Box is a mailbox for values N. Each number of thread blocks has a
/// mailbox and a counter (ready.cuh, take_ticket()) of its own, so a launch has 1, 2, 4, 8 or 16 chunks.
template <class T, class N, template <class> class Box> class ColumnLaunches {
public:
  ///   slots         of a mailbox, for one chunk
  ///   name          as in TicketCounterMemory
  ///   most_columns  of a launch
  ColumnLaunches(std::size_t slots, const char* name, double most_columns = 32)
      : slots_(slots), name_(name), most_columns_(most_columns)
  {
  }

  /// Calls launch(chunks, view of the mailbox, counter, b, x, whether it overlaps) until all columns are done. The
  /// first launch may overlap with the preceding one; the others do not, as they may use the mailbox of the one
  /// before.
  template <class Launch> void launch_chunks(const DeviceColumns<T>& v, bool overlaps, Launch launch)
  {
    for (int first = 0, size; first < v.count; first += columns_of<N> << size) {
      const int left = (v.count - first + columns_of<N> - 1) / columns_of<N>;
      for (size = largest(); 1 << size > left;) --size;
      const LaunchMemory& memory = memory_of_launch(&size);
      const int count = std::min(v.count - first, columns_of<N> << size);
      launch(1u << size, memory.mailbox.mailbox_view(), memory.counter.data(),
             Input<N>{as_device(v.b) + first * v.b_leading, v.b_leading, count, v.b_row_step},
             Output<N>{as_device(v.x) + first * v.x_leading, v.x_leading, count, v.x_row_step},
             overlaps && first == 0);
    }
  }

  std::size_t launch_bytes() const
  {
    std::size_t all = 0;
    for (const auto& memory : memory_)
      if (memory) all += memory->mailbox.mailbox_bytes();
    return all;
  }

private:
  struct LaunchMemory {
    typename Box<N>::Memory mailbox;
    TicketCounterMemory counter;

    LaunchMemory(std::size_t slots, const char* name) : mailbox(slots), counter(name)
    {
      SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
    }
  };

  /// A mailbox takes at most 1/32 of the device's memory, and slots are numbered in 32 bits.
  int largest()
  {
    if (largest_ >= 0) return largest_;
    std::size_t free, all;
    SYNCFREE_CUDA(cudaMemGetInfo(&free, &all));
    const std::size_t most = std::min<std::size_t>(all / 32 / (2 * sizeof(N)), 0x7fffffff);
    const auto fits = [&](int size) {
      return slots_ << size <= most && (columns_of<N> << size) <= most_columns_;
    };
    for (largest_ = static_cast<int>(memory_.size()) - 1; largest_ > 0 && !fits(largest_);) --largest_;
    return largest_;
  }
  /// Allocates all smaller ones, too, so that fewer columns later allocate nothing; if memory is short, reduces *size
  /// to the largest that fits.
  const LaunchMemory& memory_of_launch(int* size)
  {
    for (int s = 0; s <= *size; ++s) try {
        auto& memory = memory_[static_cast<std::size_t>(s)];
        if (!memory) memory = std::make_unique<LaunchMemory>(slots_ << s, name_);
      } catch (const Failure& failure) {
        if (s == 0 || failure.status.code != Code::out_of_memory) throw;
        *size = largest_ = s - 1;
      }
    return *memory_[static_cast<std::size_t>(*size)];
  }

  std::size_t slots_;
  const char* name_;
  double most_columns_;
  int largest_ = -1;
  std::array<std::unique_ptr<LaunchMemory>, 5> memory_;
};

}  // namespace syncfree::cuda
