/*
  Tutorial: a parallel kernel from its sequential loop, with the headers of petsc-syncfree alone.

    c++ -std=c++17 -O2 -fopenmp -I PREFIX/include smoother.cpp -o smoother && ./smoother
    nvcc -std=c++17 -O2 -x cu -I PREFIX/include smoother.cpp -o smoother && ./smoother   # on an NVIDIA GPU as well

  The kernel is a Gauss-Seidel sweep for the 5-point Laplacian of a grid, without a matrix: each point becomes the mean of
  its neighbours and its source, in the order of the points. A point reads two neighbours that are new and two that are
  still old, so whoever parallelizes it by hand has to order both. Here nobody does: the struct Smooth is the sequential
  loop and nothing else, and Loop finds out which points wait for which.
*/
#include <syncfree/loop/loop.hpp>

#if defined(__CUDACC__)
#include <syncfree/cuda/loop.cuh>
#endif

#include <algorithm>
#include <cstdio>
#include <vector>

using syncfree::InOut;
using syncfree::Input;

// x(p, q) = (b(p, q) + x(p - 1, q) + x(p + 1, q) + x(p, q - 1) + x(p, q + 1)) / 4 in a grid of m by m points with a rim
struct Smooth {
  int           m;
  Input<double> b_;
  InOut<double> x_;

  int iterations() const { return m * m; }

  template <class At> SYNCFREE_HD void operator()(At& at, int i) const
  {
    const auto b = at[b_];
    const auto x = at[x_];
    const int width = m + 2, c = (i / m + 1) * width + i % m + 1;
    x[c] = (b[c] + x[c - 1] + x[c + 1] + x[c - width] + x[c + width]) / 4.0;
  }
};

// Numbers in bounds: the same for every way to run.
static std::vector<double> numbers(int count)
{
  std::vector<double> v(count);
  for (int k = 0; k < count; ++k) v[k] = k * 7919 % 1000 / 1000.0;
  return v;
}

#if defined(__CUDACC__)
// The same struct as a kernel. The trace takes the body whose index arrays the host can read (this one has none), a run
// the body whose arrays are all on the device.
static bool smooth_on_device(const Smooth &body, int sweeps)
{
  const std::size_t bytes = body.x_.length * sizeof(double);
  double           *b = nullptr, *x = nullptr;
  bool              ran = cudaMalloc(&b, bytes) == cudaSuccess && cudaMalloc(&x, bytes) == cudaSuccess;

  ran = ran && cudaMemcpy(b, body.b_.data, bytes, cudaMemcpyHostToDevice) == cudaSuccess;
  ran = ran && cudaMemcpy(x, body.x_.data, bytes, cudaMemcpyHostToDevice) == cudaSuccess;

  Smooth on_device = body;
  on_device.b_.data = b;
  on_device.x_.data = x;
  syncfree::cuda::DeviceLoop<Smooth> loop;
  ran = ran && loop.trace(body).ok();
  for (int sweep = 0; sweep < sweeps; ++sweep) ran = ran && loop.execute(on_device, nullptr).ok();

  ran = ran && cudaMemcpy(body.x_.data, x, bytes, cudaMemcpyDeviceToHost) == cudaSuccess; // waits for the runs
  cudaFree(b);
  cudaFree(x);
  return ran;
}
#endif

int main()
{
  const int           m = 300, points = (m + 2) * (m + 2), sweeps = 10;
  const auto          b = numbers(points);
  std::vector<double> x = numbers(points), sequential = x;

  // the truth: the same struct in a for-loop
  const Smooth            reference{m, {b.data(), points, "b"}, {sequential.data(), points, "x"}};
  syncfree::PlainAccessor plain;
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (int i = 0; i < reference.iterations(); ++i) reference(plain, i);

  // traced once, run many times
  const Smooth           body{m, {b.data(), points, "b"}, {x.data(), points, "x"}};
  syncfree::Loop<Smooth> loop;
  bool                   ran = loop.trace(body).ok();
  for (int sweep = 0; sweep < sweeps; ++sweep) ran = ran && loop.execute(body, 4).ok();
  bool same = ran && x == sequential;
  std::printf("%d points, %d sweeps on 4 threads: %s\n", m * m, sweeps, same ? "bit by bit the sequential loop" : "NOT the sequential loop");

#if defined(__CUDACC__)
  // sums and a quotient, no products: nothing is rounded otherwise on a GPU
  const auto start = numbers(points);
  std::copy(start.begin(), start.end(), x.begin()); // where the body looks for it
  const bool same_on_device = smooth_on_device(body, sweeps) && x == sequential;
  std::printf("%d points, %d sweeps on a GPU: %s\n", m * m, sweeps, same_on_device ? "bit by bit the sequential loop" : "NOT the sequential loop");
  same = same && same_on_device;
#endif

  // what a mistake looks like: an array without the last point that is read
  const Smooth           shorter{m, {b.data(), points, "b"}, {x.data(), points - 2, "x"}};
  const syncfree::Status refusal = loop.trace(shorter);
  std::printf("refused: %s\n", refusal.detail.c_str());
  return same && !refusal.ok() ? 0 : 1;
}
