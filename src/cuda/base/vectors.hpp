#pragma once

/// Operations on device vectors before and after the solves. Throws Failure.

#include <cstddef>

#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/status.hpp"

namespace syncfree::cuda {

/// y_i = b_{order(i)}, n blocks of block_size values
template <class T, class I>
void gather(I n, const I* order, const T* b, T* y, cudaStream_t stream, int block_size = 1);

/// x_{order(i)} = z_i, likewise
template <class T, class I>
void scatter(I n, const I* order, const T* z, T* x, cudaStream_t stream, int block_size = 1);

/// to[place[k]] = from[k] for k < count; the places are distinct
template <class T, class I>
void copy_to_places(std::size_t count, const I* place, const T* from, T* to, cudaStream_t stream);

/// x = D^(1/2) b if `up`, else D^(-1/2) b, with real nonnegative D = 1 / inverse_pivot; x == b is allowed.
template <class T, class I>
void scale_by_root(I n, const T* inverse_pivot, bool up, const T* b, T* x, cudaStream_t stream);

/// y = conj(b); y == b is allowed.
template <class T, class I> void conjugate_vector(I n, const T* b, T* y, cudaStream_t stream);

/// Returns the first row whose pivot is not real and nonnegative, -1 if there is none; waits.
template <class T, class I> I find_bad_root(I n, const T* inverse_pivot, cudaStream_t stream);

}  // namespace syncfree::cuda
