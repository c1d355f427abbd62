/// Fuzz target: a matrix made of bytes through the interface of Relaxation on the host: analysis with nodes, refreshes
/// and sweeps. Sweeps are those of a loop over the rows where no number is extreme, and an object that has served
/// others gives the bits of a fresh one.

#include "syncfree/relaxation.hpp"

#include <memory>

#include "expect.hpp"

namespace syncfree::fuzz {
namespace {

using Object = Relaxation<double, int>;

struct Input {
  Matrix A;
  std::vector<int> node_begin;
  SolverOptions options;
  double omega = 1, shift = 0, least = 0;

  bool reproducible() const
  {
    const StrategyInfo* info = find_strategy(options.strategy, "host");
    return options.threads == 1 && (options.strategy == "auto" || (info && info->reproducible));
  }
};

/// One sweep over rows that are their own nodes.
void relax_rows(const Input& input, bool forward, const std::vector<double>& b, std::vector<Wide>* x)
{
  const Matrix& A = input.A;
  for (int t = 0; t < A.n; ++t) {
    const int i = forward ? t : A.n - 1 - t;
    Wide sum = b[i], diagonal = input.shift;
    for (int k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] == i) diagonal += A.value[k];
      else sum -= A.value[k] * (*x)[A.column[k]];
    (*x)[i] = (1 - static_cast<Wide>(input.omega)) * (*x)[i] + input.omega * sum / diagonal;
  }
}

/// Dominant rows damp errors, so that a bound relative to the largest number holds.
void require_swept(const Input& input, Sweep sweep, int times, const std::vector<double>& b,
                   const std::vector<double>& before, const std::vector<double>& x)
{
  if (!input.A.dominant || !input.node_begin.empty() || !is_tame(b) || !is_tame(before)) return;
  if (!(input.omega > 0 && input.omega <= 1 && std::abs(input.shift) < 0.5)) return;
  std::vector<Wide> expected(before.begin(), before.end());
  Wide largest = 0;
  for (int t = 0; t < times; ++t) {
    if (sweep != Sweep::backward) relax_rows(input, true, b, &expected);
    if (sweep != Sweep::forward) relax_rows(input, false, b, &expected);
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max({largest, std::abs(expected[i]), std::abs(static_cast<Wide>(before[i])),
                        std::abs(static_cast<Wide>(b[i]))});
  for (std::size_t i = 0; i < x.size(); ++i)
    require(std::abs(x[i] - expected[i]) <= 1e-11L * largest, "sweeps are a loop's, in row " + std::to_string(i));
}

std::vector<double> refresh_and_relax(Object* object, const Input& input, const std::vector<double>& b,
                                      const std::vector<double>& before)
{
  const Status status = object->refresh(input.A.view(), input.omega, input.shift, input.least);
  require_words(status);
  require(status.ok() || status.code == Code::zero_pivot || status.code == Code::not_finite,
          "only values fail: " + status.message());
  std::vector<double> all{static_cast<double>(status.code), static_cast<double>(status.row)};
  require(status.ok() || (status.row >= 0 && status.row < input.A.n), "the row of an error is one of the matrix");
  for (const Sweep sweep : {Sweep::forward, Sweep::backward, Sweep::symmetric})
    for (const bool from_zero : {false, true}) {
      const int times = from_zero ? 2 : 1;
      std::vector<double> x = before;
      if (from_zero) x.assign(before.size(), NAN);
      const Status relaxed = object->relax(sweep, from_zero, times, b.data(), x.data());
      require(relaxed.ok() == (status.code != Code::not_finite), "sweeps run if all is finite");
      if (!relaxed.ok()) continue;
      all.insert(all.end(), x.begin(), x.end());
      if (status.ok()) require_swept(input, sweep, times, b, from_zero ? std::vector<double>(x.size()) : before, x);
    }
  return all;
}

void make_numbers(Bytes* in, Input* input)
{
  static const double omegas[] = {1, 0.5, 1.9, 0, -1, 3, 1e300, NAN}, shifts[] = {0, 0.25, -1, 1e-300, 1e300, NAN};
  input->omega = omegas[in->one_in(2) ? in->below(8) : 0];
  input->shift = shifts[in->one_in(2) ? in->below(6) : 0];
  input->least = in->one_in(4) ? in->byte() / 64.0 : 0;
  make_values(in, &input->A);
}

void try_another_pattern(Bytes* in, Object* object, const Input& input)
{
  bool same = false;
  require(object->has_pattern(input.A.pattern(), input.node_begin, &same).ok() && same, "has_pattern() knows it");
  const Matrix other = mutated(in, input.A);
  require(object->has_pattern(other.pattern(), input.node_begin, &same).ok(), "has_pattern() looks at any pattern");
  require(same == (other.row_begin == input.A.row_begin && other.column == input.A.column),
          "another pattern is another pattern");
  require_words(object->refresh(other.view(), 1, 0, 0));
}

void run(Bytes* in)
{
  Input input;
  input.A = make_pattern(in, &input.node_begin);
  input.options = make_options(in);
  const bool valid = is_valid(input.A);
  const std::unique_ptr<Object> object = make_host_relaxation<double, int>();
  if (in->one_in(2)) {
    const Matrix small{2, {0, 2, 4}, {0, 1, 0, 1}, {4, 1, 1, 4}};
    if (object->analyse(small.pattern(), {}, input.options).ok())
      require(object->refresh(small.view(), 1, 0, 0).ok(), "a small matrix relaxes");
  }
  const Status status = object->analyse(input.A.pattern(), input.node_begin, input.options);
  require_words(status);
  require(valid || !status.ok(), "an invalid pattern is refused");
  if (!status.ok()) {
    double none = 0;
    require(object->relax(Sweep::forward, true, 1, &none, &none).code == Code::invalid_argument,
            "no sweep before a refresh");
    return;
  }
  const std::size_t n = static_cast<std::size_t>(input.A.n);
  const bool wild = in->one_in(4);
  make_numbers(in, &input);
  const std::vector<double> b = make_vector(in, n, wild), before = make_vector(in, n, wild);
  (void)refresh_and_relax(object.get(), input, b, before);
  make_numbers(in, &input);
  const std::vector<double> reused = refresh_and_relax(object.get(), input, b, before);

  const std::unique_ptr<Object> fresh = make_host_relaxation<double, int>();
  require(fresh->analyse(input.A.pattern(), input.node_begin, input.options).ok(), "what was analysed can be again");
  const std::vector<double> expected = refresh_and_relax(fresh.get(), input, b, before);
  if (input.reproducible()) require(same_bits(reused, expected), "a reused object gives the bits of a fresh one");
  try_another_pattern(in, object.get(), input);
  const std::vector<double> again = refresh_and_relax(object.get(), input, b, before);
  if (input.reproducible()) require(same_bits(again, expected), "another pattern leaves nothing behind");
}

}  // namespace
}  // namespace syncfree::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
  syncfree::fuzz::Bytes in(data, size);
  syncfree::fuzz::run(&in);
  return 0;
}
