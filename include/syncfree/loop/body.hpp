#pragma once

/// How to write a loop body. A body is a struct whose members are the arrays of the loop, and whose operator() is one
/// iteration, as in a textbook:
///
///   struct LowerSolve {                                  // x = L^-1 b, L by rows with its diagonal last
///     int n;
///     const int *begin, *column;                         // index arrays: plain pointers
///     syncfree::Input<double> l_, b_;                    // read only
///     syncfree::InOut<double> x_;                        // read, written, added to
///     int iterations() const { return n; }
///     template <class At> SYNCFREE_HD void operator()(At& at, int i) const
///     {
///       const auto l = at[l_], b = at[b_];
///       const auto x = at[x_];
///       auto sum = b[i];
///       for (int k = begin[i]; k < begin[i + 1] - 1; ++k) sum -= l[k] * x[column[k]];
///       x[i] = sum / l[begin[i + 1] - 1];
///     }
///   };
///
/// `at` determines what an access does: PlainAccessor reads and writes, LoopTracer (syncfree/loop/trace.hpp) records
/// which entries are accessed. So the same text is the trace, the sequential loop and the parallel kernel.
///
/// Rules: iterations() and operator() are const and throw no exceptions of their own. Array values may only be used
/// in + - * / and sqrt(): no condition or index may depend on them. A copy of an entry of an InOut is `load(x[j])`;
/// `auto v = x[j]` would still refer to the array, and further use of v does not compile. A local value is
/// `number_t<At, T> sum(0)`. Contributions by += and -= form a sum that may be evaluated in any order.

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "syncfree/host_device.hpp"
#include "syncfree/ready.hpp"

/// A statement for the host only, or for the device only, in a function compiled for both.
#if defined(__CUDA_ARCH__)
#define SYNCFREE_ON_HOST(statement)
#define SYNCFREE_ON_DEVICE(statement) statement
#else
#define SYNCFREE_ON_HOST(statement) statement
#define SYNCFREE_ON_DEVICE(statement)
#endif

namespace syncfree {

/// An array that a loop only reads: `length` entries stored as V and read as T. It must not be written while the loop
/// runs, except that it may be the same as an InOut if each written entry is read here only by the iteration that
/// writes it.
template <class V, class T = V> struct Input {
  const V* data;
  std::int64_t length;
  const char* name;
};

/// An array that a loop reads, writes and adds to. Two InOut of a body do not overlap.
template <class T> struct InOut {
  T* data;
  std::int64_t length;
  const char* name;
};

/// The type of a scalar T in the loop.
template <class At, class T> using number_t = typename At::template Number<T>;

/// An entry of an InOut for accessors whose accesses are more than memory accesses. Lives within one expression.
///   Place  copyable; Number is the type as which the entry is read; load(), store(Number), add(Number)
template <class Place> class Element {
public:
  using Number = typename Place::Number;

  SYNCFREE_HD explicit Element(Place place) : place_(place) {}
  Element(const Element&) = delete;

  SYNCFREE_HD operator Number() && { return place_.load(); }
  SYNCFREE_HD void operator=(const Number& v) && { place_.store(v); }
  SYNCFREE_HD void operator=(Element&& other) && { place_.store(other.place_.load()); }
  SYNCFREE_HD void operator+=(const Number& v) && { place_.add(v); }
  SYNCFREE_HD void operator-=(const Number& v) && { place_.add(-v); }
  SYNCFREE_HD void operator*=(const Number& v) && { place_.store(place_.load() * v); }
  SYNCFREE_HD void operator/=(const Number& v) && { place_.store(place_.load() / v); }

  SYNCFREE_HD friend Number load(Element&& e) { return e.place_.load(); }
  SYNCFREE_HD friend Number operator-(Element&& e) { return -e.place_.load(); }

#define SYNCFREE_OPERATOR(op)                                                                                    \
  template <class U>                                                                                             \
  SYNCFREE_HD friend auto operator op(const U& u, Element&& e)->decltype(u op std::declval<Number>())            \
  {                                                                                                              \
    return u op e.place_.load();                                                                                 \
  }                                                                                                              \
  template <class U>                                                                                             \
  SYNCFREE_HD friend auto operator op(Element&& e, const U& u)->decltype(std::declval<Number>() op u)            \
  {                                                                                                              \
    return e.place_.load() op u;                                                                                 \
  }                                                                                                              \
  SYNCFREE_HD friend Number operator op(Element&& e, Element&& f) { return e.place_.load() op f.place_.load(); } \
  template <class U> /* u is not an array entry */                                                               \
  SYNCFREE_HD friend auto operator op##=(U& u, Element&& e)->decltype(u op##= std::declval<Number>())            \
  {                                                                                                              \
    return u op##= e.place_.load();                                                                              \
  }
  SYNCFREE_OPERATOR(+)
  SYNCFREE_OPERATOR(-)
  SYNCFREE_OPERATOR(*)
  SYNCFREE_OPERATOR(/)
#undef SYNCFREE_OPERATOR

private:
  Place place_;
};

/// Returns a copy that is independent of the array.
template <class T> SYNCFREE_HD T load(const T& v) { return v; }

/// An Input whose stored type differs from the type as which it is read.
template <class V, class T> struct ConvertedInput {
  const V* data;
  SYNCFREE_HD T operator[](std::int64_t k) const { return static_cast<T>(data[k]); }
};

/// Plain memory accesses: for the sequential loop, and the parallel one if no two threads add to the same entry.
struct PlainAccessor {
  template <class T> using Number = T;

  template <class T> SYNCFREE_HD const T* operator[](const Input<T>& a) const { return a.data; }
  template <class T> SYNCFREE_HD T* operator[](const InOut<T>& a) const { return a.data; }
  template <class V, class T> SYNCFREE_HD ConvertedInput<V, T> operator[](const Input<V, T>& a) const
  {
    return {a.data};
  }
};

/// Returns the offset of an array in its body, in units of 8 bytes: it identifies the array, as it is the same in
/// every body of that type. Outside [0, 64) if the array is not a member of the body.
template <class Body, class Array> SYNCFREE_HD std::int64_t place_in(const Body* body, const Array& array)
{
  static_assert(sizeof(Body) <= 64 * 8, "a loop body has at most 512 bytes");
  const auto offset = reinterpret_cast<const char*>(&array) - reinterpret_cast<const char*>(body);
  return offset >= 0 && offset < static_cast<std::ptrdiff_t>(sizeof(Body)) ? offset / 8 : -1;
}

/// How host threads add to an entry to which others may add concurrently.
struct AddAmongThreads {
  template <class T> static SYNCFREE_HD void add([[maybe_unused]] T* entry, [[maybe_unused]] const T& v)
  {
    SYNCFREE_ON_HOST(add_atomically(entry, v));
  }
};

/// An entry to which others may add concurrently.
template <class T, class Add = AddAmongThreads> struct SharedPlace {
  using Number = T;
  T* entry;
  bool shared;

  SYNCFREE_HD T load() const { return *entry; }
  SYNCFREE_HD void store(const T& v) const { *entry = v; }
  SYNCFREE_HD void add(const T& v) const
  {
    if (shared) Add::add(entry, v);
    else *entry += v;
  }
};

template <class T, class Add> struct SharedArray {
  T* data;
  bool shared;
  SYNCFREE_HD Element<SharedPlace<T, Add>> operator[](std::int64_t k) const
  {
    return Element<SharedPlace<T, Add>>(SharedPlace<T, Add>{data + k, shared});
  }
};

/// Accesses as PlainAccessor, but with Add for additions to the arrays in a bit mask of place_in().
template <class Body, class Add = AddAmongThreads> class SharedAccessor {
public:
  template <class T> using Number = T;

  SYNCFREE_HD SharedAccessor(const Body* body, std::uint64_t shared) : body_(body), shared_(shared) {}

  template <class V, class T> SYNCFREE_HD auto operator[](const Input<V, T>& a) const { return PlainAccessor()[a]; }
  template <class T> SYNCFREE_HD SharedArray<T, Add> operator[](const InOut<T>& a) const
  {
    return {a.data, (shared_ >> place_in(body_, a) & 1) != 0};
  }

private:
  const Body* body_;
  std::uint64_t shared_;
};

}  // namespace syncfree
