#pragma once

namespace syncfree::cuda {

/// Returns the position of q in the ascending columns [begin, end), or -1.
template <class I> __device__ I find(const I* column, I begin, I end, I q)
{
  const I last = end;
  while (begin < end) {
    const I middle = begin + (end - begin) / 2;
    if (column[middle] < q) begin = middle + 1;
    else end = middle;
  }
  return begin < last && column[begin] == q ? begin : I(-1);
}

}  // namespace syncfree::cuda
