/// Fuzz target: a matrix made of bytes through the interface of Preconditioner on the host: checks, analysis, refreshes
/// and solves. A solve is right to rounding where no number is extreme, and an object that has served others gives the
/// bits of a fresh one.

#include "syncfree/solver.hpp"

#include <memory>

#include "expect.hpp"

namespace syncfree::fuzz {
namespace {

using Object = Preconditioner<double, int>;

/// All that analyse() gets, and what it is about the matrix that oracles need to know.
struct Input {
  Matrix A;
  std::vector<int> row_order, column_order;
  SymbolicOptions<int> symbolic;
  SolverOptions options;

  bool reproducible() const
  {
    const StrategyInfo* info = find_strategy(options.strategy, "host");
    return options.threads == 1 && (options.strategy == "auto" || (info && info->reproducible));
  }
  bool keeps_dominance() const { return A.dominant && row_order == column_order; }
};

void make_symbolic(Bytes* in, Input* input)
{
  static const int levels[] = {0, 0, 0, 1, 2, 3, 13, -1};
  input->symbolic.kind = in->one_in(3) ? Kind::icc : Kind::ilu;
  input->symbolic.levels = levels[in->below(8)];
  input->symbolic.diagonal_fill = in->one_in(3);
  const int orders = in->below(8);  // most have none
  if (orders < 5) return;
  input->row_order = make_order(in, input->A.n);
  input->column_order = orders == 7 ? make_order(in, input->A.n) : input->row_order;
  input->symbolic.row_order = input->row_order.data();
  input->symbolic.column_order = input->column_order.data();
  if (in->one_in(32)) input->symbolic.column_order = nullptr;
}

/// Code and row of a check agree with the pattern.
void require_check(const Matrix& A, bool valid)
{
  const Status status = check_pattern(A.pattern());
  require_words(status);
  require(status.ok() == valid, "check_pattern() accepts a valid pattern and no other");
  require(status.row >= -1 && status.row < std::max(1, A.n), "the row of an error is one of the matrix");
  require(check_row_offsets(A.pattern()).ok() == (valid || status.code != Code::bad_row_offsets),
          "check_row_offsets() agrees with check_pattern()");
}

/// Nothing works without an analysis.
void require_refusals(Object* object, const Matrix& A)
{
  bool same = true;
  double none = 0;
  require(object->has_pattern(A.pattern(), &same).ok() && !same, "no analysis, no pattern");
  require(object->refresh(A.view(), {}).code == Code::invalid_argument, "no refresh before an analysis");
  require(object->solve(Operation::none, &none, &none, {1, A.n, A.n}).code == Code::invalid_argument,
          "no solve before a refresh");
}

/// Two solves for one right-hand side, in the order of the factor.
void require_solved(const Object& object, const Input& input, const Factor& F, Operation op,
                    const std::vector<double>& b, const std::vector<double>& x)
{
  if (!F.tame || !is_tame(b) || !is_tame(x)) return;
  const bool merged = object.summarize().strategy == "merged";
  if (merged && !input.keeps_dominance()) return;
  const FactorPattern<int>& p = object.pattern();
  const bool transposed = p.kind == Kind::ilu && (op == Operation::transpose || op == Operation::adjoint);
  std::vector<double> of_b = b, of_x = x;
  for (std::size_t i = 0; i < b.size() && !p.natural(); ++i) {
    of_b[i] = b[transposed ? p.column_order[i] : p.row_order[i]];
    of_x[i] = x[transposed ? p.row_order[i] : p.column_order[i]];
  }
  require_solution(F, transposed, of_b, of_x, merged);
}

/// Solves with all operations and several columns. Returns all solutions.
std::vector<double> solve_all(Object* object, const Input& input, const std::vector<double>& b, int columns)
{
  const std::size_t n = static_cast<std::size_t>(input.A.n);
  const Factor F(object->pattern(), object->values());
  std::vector<double> all, x(n);
  const std::vector<double> first(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(n));
  for (const Operation op : {Operation::none, Operation::transpose, Operation::adjoint, Operation::conjugate}) {
    std::fill(x.begin(), x.end(), NAN);
    const Status status = object->solve(op, first.data(), x.data(), {1, input.A.n, input.A.n});
    require(status.ok(), "a solve after a refresh: " + status.message());
    require_solved(*object, input, F, op, first, x);
    all.insert(all.end(), x.begin(), x.end());
  }
  if (input.reproducible()) {
    require(same_bits(all.data(), all.data() + 3 * n, n), "the conjugate of a real factor is the factor");
    require(same_bits(all.data() + n, all.data() + 2 * n, n), "the adjoint of a real factor is its transpose");
  }
  const double mark = 12345.678;
  const int leading = input.A.n + 1;
  std::vector<double> many(static_cast<std::size_t>(leading) * columns, mark);
  const Status status = object->solve(Operation::none, b.data(), many.data(), {columns, input.A.n, leading});
  require(status.ok(), "columns are solved");
  for (int c = 0; c < columns; ++c) {
    const double* begin = many.data() + static_cast<std::size_t>(c) * leading;
    require(begin[n] == mark, "what is between columns stays");
    x.assign(begin, begin + n);
    require_solved(*object, input, F, Operation::none, {b.data() + c * n, b.data() + (c + 1) * n}, x);
  }
  all.insert(all.end(), many.begin(), many.end());
  return all;
}

/// The two halves, one after the other, are the solve.
void require_halves(Object* object, const Input& input, const std::vector<double>& b)
{
  const std::size_t n = static_cast<std::size_t>(input.A.n);
  const std::vector<double> right(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(n));
  std::vector<double> half(n), x(n);
  const Status forward = object->solve_forward_half(right.data(), half.data());
  require(forward.ok() || forward.code == Code::negative_pivot, "half a solve: " + forward.message());
  if (!forward.ok()) return;
  require(object->solve_backward_half(half.data(), x.data()).ok(), "the other half");
  require_solved(*object, input, Factor(object->pattern(), object->values()), Operation::none, right, x);
}

void require_factored(const Object& object, const Input& input)
{
  const PivotReport pivots = object.summarize().pivots;
  const Factor F(object.pattern(), object.values());
  if (pivots.shifts != 0 || pivots.shift_amount != 0 || !F.tame || !is_tame(input.A.value)) return;
  require_factor(F, object.pattern(), input.A, input.options.single_storage ? 4e-7 : 8e-16);
}

/// Refreshes, and solves if that was possible. Returns what a fresh object must give, too.
std::vector<double> refresh_and_solve(Object* object, const Input& input, const PivotRule& rule,
                                      const std::vector<double>& b, int columns)
{
  const Status status = object->refresh(input.A.view(), rule);
  require_words(status);
  require(status.ok() || status.code == Code::zero_pivot || status.code == Code::not_finite,
          "only pivots fail: " + status.message());
  if (!status.ok()) {
    double none = 0;
    require(status.row >= 0 && status.row < input.A.n, "the row of a pivot is one of the factor");
    require(object->solve(Operation::none, &none, &none, {1, 1, 1}).code == Code::invalid_argument,
            "no solve after a refresh that failed");
    return {static_cast<double>(status.code), static_cast<double>(status.row), status.value};
  }
  require_factored(*object, input);
  std::vector<double> all = solve_all(object, input, b, columns);
  require_halves(object, input, b);
  return all;
}

/// An object of another matrix, which it must forget.
void serve_another(Object* object, const SolverOptions& options)
{
  const Matrix small{2, {0, 2, 4}, {0, 1, 0, 1}, {4, 1, 1, 4}};
  double b[] = {5, 5}, x[2];
  if (!object->analyse(small.pattern(), {}, options).ok()) return;
  require(object->refresh(small.view(), {}).ok(), "a small matrix is factored");
  require(object->solve(Operation::transpose, b, x, {1, 2, 2}).ok(), "and solved");
  require(std::abs(x[0] - 1) + std::abs(x[1] - 1) < 1e-5, "with its solution");
}

/// A matrix of another pattern: it is known for what it is, and refused or factored without harm.
void try_another_pattern(Bytes* in, Object* object, const Input& input)
{
  bool same = false;
  require(object->has_pattern(input.A.pattern(), &same).ok() && same, "has_pattern() knows its pattern");
  const Matrix other = mutated(in, input.A);
  require(object->has_pattern(other.pattern(), &same).ok(), "has_pattern() looks at any pattern");
  const bool equal = other.row_begin == input.A.row_begin && other.column == input.A.column;
  require(same || !equal, "an equal pattern is the pattern");
  require(!same || equal || input.symbolic.kind == Kind::icc, "another pattern is another pattern");
  const Status status = object->refresh(other.view(), {});
  require_words(status);
  const bool copies_rows = object->pattern().natural() && input.symbolic.levels == 0 && !input.symbolic.diagonal_fill;
  if (copies_rows && input.symbolic.kind == Kind::ilu && other.row_begin != input.A.row_begin)
    require(!status.ok(), "rows of another length are refused");
}

/// Refreshes and solves by dense blocks. Returns what a fresh object must give, too.
std::vector<double> refresh_and_solve_by_blocks(Object* object, const Input& input, const PivotRule& rule)
{
  const std::size_t n = static_cast<std::size_t>(input.A.n);
  const Status status = object->refresh(input.A.view(), rule);
  require_words(status);
  std::vector<double> b(n, 1), x(n, NAN), half(n, NAN), both(n, NAN), all;
  if (!status.ok()) {
    const bool of_values = status.code == Code::zero_pivot || status.code == Code::not_finite;
    require(of_values || (status.code == Code::invalid_argument && rule.shift != Shift::none),
            "only pivots and shifts of entries fail: " + status.message());
    require(!of_values || (status.block_row && status.row >= 0 && status.row * input.options.block_size < input.A.n),
            "the row of a pivot is a block row");
    require(object->solve(Operation::none, b.data(), x.data(), {1, input.A.n, input.A.n}).code ==
                Code::invalid_argument,
            "no solve after a refresh that failed");
    return {static_cast<double>(status.code), static_cast<double>(status.row), status.value};
  }
  for (const Operation op : {Operation::none, Operation::transpose}) {
    require(object->solve(op, b.data(), x.data(), {1, input.A.n, input.A.n}).ok(), "a solve by blocks");
    all.insert(all.end(), x.begin(), x.end());
  }
  require(object->solve_forward_half(b.data(), half.data()).ok(), "half a solve by blocks");
  require(object->solve_backward_half(half.data(), both.data()).ok(), "the other half by blocks");
  if (input.options.threads == 1) require(same_bits(both.data(), all.data(), n), "two halves are the solve");
  return all;
}

/// The matrix in dense blocks of a size from the input, by an object that has served others.
void run_by_blocks(Bytes* in)
{
  Input input;
  std::vector<int> nodes;
  input.A = make_pattern(in, &nodes);
  make_symbolic(in, &input);
  const bool valid = is_valid(input.A);
  static const char* const strategies[] = {"auto", "serial", "blocks"};
  input.options.block_size = in->below(12) - 1;
  input.options.strategy = strategies[in->below(3)];
  input.options.threads = in->one_in(16) ? 2 : 1;
  const std::unique_ptr<Object> object = make_host_blocked_preconditioner<double, int>();
  SolverOptions twos = input.options;
  twos.block_size = 2;
  twos.threads = 1;
  if (in->one_in(2)) serve_another(object.get(), twos);
  const Status status = object->analyse(input.A.pattern(), input.symbolic, input.options);
  require_words(status);
  if (!status.ok()) return require_refusals(object.get(), input.A);
  require(valid && input.options.block_size > 0 && input.A.n % input.options.block_size == 0,
          "an invalid pattern and a size that does not divide n are refused");
  bool same = false;
  require(object->has_pattern(input.A.pattern(), &same).ok() && same, "has_pattern() knows its pattern by blocks");
  const PivotRule rules[] = {make_rule(in), make_rule(in)};
  make_values(in, &input.A);
  (void)refresh_and_solve_by_blocks(object.get(), input, rules[0]);
  make_values(in, &input.A);
  const auto reused = refresh_and_solve_by_blocks(object.get(), input, rules[1]);
  const std::unique_ptr<Object> fresh = make_host_blocked_preconditioner<double, int>();
  require(fresh->analyse(input.A.pattern(), input.symbolic, input.options).ok(), "blocks can be analysed again");
  const auto expected = refresh_and_solve_by_blocks(fresh.get(), input, rules[1]);
  if (input.options.threads == 1) require(same_bits(reused, expected), "a reused object of blocks is as a fresh one");
}

void run(Bytes* in)
{
  Input input;
  std::vector<int> nodes;
  input.A = make_pattern(in, &nodes);
  make_symbolic(in, &input);
  input.options = make_options(in);
  const bool valid = is_valid(input.A);
  require_check(input.A, valid);
  const std::unique_ptr<Object> object = make_host_preconditioner<double, int>();
  if (in->one_in(2)) serve_another(object.get(), input.options);
  const Status status = object->analyse(input.A.pattern(), input.symbolic, input.options);
  require_words(status);
  if (!status.ok()) {
    require(valid || status.code != Code::ok, "an invalid pattern is refused");
    if (valid) input.A.value.resize(input.A.column.size());
    return valid ? require_refusals(object.get(), input.A) : void();
  }
  require(valid, "an invalid pattern is refused");
  const int columns = 1 + in->below(4);
  const PivotRule rules[] = {make_rule(in), make_rule(in)};
  const bool wild = in->one_in(4);
  make_values(in, &input.A);
  const std::vector<double> b = make_vector(in, static_cast<std::size_t>(input.A.n) * columns, wild);
  (void)refresh_and_solve(object.get(), input, rules[0], b, columns);
  make_values(in, &input.A);
  const std::vector<double> reused = refresh_and_solve(object.get(), input, rules[1], b, columns);

  const std::unique_ptr<Object> fresh = make_host_preconditioner<double, int>();
  require(fresh->analyse(input.A.pattern(), input.symbolic, input.options).ok(), "what was analysed once can be again");
  const std::vector<double> expected = refresh_and_solve(fresh.get(), input, rules[1], b, columns);
  if (input.reproducible()) require(same_bits(reused, expected), "a reused object gives the bits of a fresh one");
  try_another_pattern(in, object.get(), input);
  const std::vector<double> again = refresh_and_solve(object.get(), input, rules[1], b, columns);
  if (input.reproducible()) require(same_bits(again, expected), "another pattern leaves nothing behind");
}

}  // namespace
}  // namespace syncfree::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
  syncfree::fuzz::Bytes in(data, size);
  syncfree::fuzz::run(&in);
  syncfree::fuzz::Bytes again(data, size);
  syncfree::fuzz::run_by_blocks(&again);
  return 0;
}
