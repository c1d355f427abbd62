/* Implements petsc_test.hpp. */

#include "petsc_test.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "matrices.hpp"
#include "syncfree/strategy.hpp"

namespace {

std::string error_text;

}  // namespace

const std::string& last_error() { return error_text; }
void forget_errors() { error_text.clear(); }

PetscErrorCode record_error(MPI_Comm, int, const char* function, const char*, PetscErrorCode code, PetscErrorType type,
                            const char* message, void*)
{
  if (type == PETSC_ERROR_INITIAL) error_text.clear();
  if (message && *message) error_text += std::string(message) + " [" + function + "] ";
  return code;
}

Refusal refused(const std::function<PetscErrorCode()>& call)
{
  forget_errors();
  Refusal r;
  r.code = (int)call();
  r.text = last_error();
  forget_errors();
  return r;
}

bool has_no_plan(const std::string& strategy, const Refusal& refusal)
{
  if ((strategy != "tiled" && strategy != "wavefront") || !refusal.says("no plan: ")) return false;
  EXPECT_EQ((int)PETSC_ERR_SUP, refusal.code);
  EXPECT_TRUE(refusal.says("; use level_order (on a GPU), merged or auto")) << refusal.text;
  return true;
}

/* xorshift64* */
double Random::uniform()
{
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  return (double)((state_ * 2685821657736338717ull) >> 11) * 0x1p-53;
}

PetscScalar Random::scalar()
{
  const PetscReal re = (PetscReal)(2 * uniform() - 1);
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(re, (PetscReal)(2 * uniform() - 1));
#else
  return re;
#endif
}

PetscInt Random::integer(PetscInt below) { return (PetscInt)(uniform() * (double)below); }

Numbers random_numbers(PetscInt n, unsigned long long seed)
{
  Random random(seed);
  Numbers x((std::size_t)n);
  for (auto& v : x) v = random.scalar();
  return x;
}

VecOwner make_vector(PetscInt n)
{
  VecOwner x;
  ok(VecCreateSeq(PETSC_COMM_SELF, n, x.out()));
  return x;
}

VecOwner make_vector(const Numbers& numbers)
{
  VecOwner x = make_vector((PetscInt)numbers.size());
  PetscScalar* array;
  ok(VecGetArrayWrite(x, &array));
  std::copy(numbers.begin(), numbers.end(), array);
  ok(VecRestoreArrayWrite(x, &array));
  return x;
}

Numbers entries(Vec x)
{
  PetscInt n;
  const PetscScalar* array;
  ok(VecGetLocalSize(x, &n));
  ok(VecGetArrayRead(x, &array));
  Numbers numbers(array, array + n);
  ok(VecRestoreArrayRead(x, &array));
  return numbers;
}

MatOwner make_dense(PetscInt n, PetscInt columns, const Numbers& numbers)
{
  MatOwner X;
  PetscScalar* array;
  ok(MatCreateSeqDense(PETSC_COMM_SELF, n, columns, nullptr, X.out()));
  ok(MatDenseGetArrayWrite(X, &array));
  std::copy(numbers.begin(), numbers.end(), array);
  ok(MatDenseRestoreArrayWrite(X, &array));
  ok(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  return X;
}

Numbers dense_entries(Mat X)
{
  PetscInt n, columns;
  const PetscScalar* array;
  ok(MatGetLocalSize(X, &n, &columns));
  ok(MatDenseGetArrayRead(X, &array));
  Numbers numbers(array, array + n * columns);
  ok(MatDenseRestoreArrayRead(X, &array));
  return numbers;
}

Options::Options(const std::string& text)
{
  std::istringstream words(text);
  std::string word;
  while (words >> word)
    if (word.size() > 1 && word[0] == '-' && !std::isdigit((unsigned char)word[1])) names_.push_back(word);
  ok(PetscOptionsInsertString(nullptr, text.c_str()));
}

Options::~Options()
{
  for (const auto& name : names_) (void)PetscOptionsClearValue(nullptr, name.c_str());
}

std::string view(PC pc)
{
  char* text = nullptr;
  std::size_t length = 0;
  FILE* memory = open_memstream(&text, &length);
  {
    ViewerOwner viewer;
    ok(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, memory, viewer.out()));
    ok(PCView(pc, viewer));
    ok(PetscViewerFlush(viewer));
  }
  std::fclose(memory);
  std::string copy(text, length);
  std::free(text);
  return copy;
}

std::string string_view(PC pc)
{
  char text[512] = "";
  ViewerOwner viewer;
  ok(PetscViewerStringOpen(PETSC_COMM_SELF, text, sizeof(text), viewer.out()));
  ok(PCView(pc, viewer));
  return text;
}

PetscInt rows(Mat A)
{
  PetscInt m, n;
  ok(MatGetLocalSize(A, &m, &n));
  return m;
}

static bool there_is_a_device()
{
  PCOwner pc;
  const MatOwner A = poisson_2d(2, 2);
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetType(pc, PCSYNCFREEILU));
  ok(PCSetOperators(pc, A, A));
  ok(PCSyncFreeSetStrategy(pc, "level_order"));
  return !refused([&] { return PCSetUp(pc); }).says("Backend cuda is not available");
}

/* The other block strategies differ from recursive_block in their plans only, which tests/core and tests/host cover;
   wavefront has a plan for grids only, and tests in tests/cuda. */
static bool left_out(const std::string& strategy)
{
  return strategy == "column_block" || strategy == "row_block" || strategy == "wavefront";
}

static std::vector<std::string> strategies_of(const std::function<bool(const std::string&)>& backend)
{
  std::vector<std::string> names;
  for (const auto& info : syncfree::strategies())
    if (backend(info.backend) && !std::count(names.begin(), names.end(), info.name) && !left_out(info.name))
      names.push_back(info.name);
  return names;
}

const std::vector<std::string>& strategies()
{
  static const std::vector<std::string> names = strategies_of([](const std::string& backend) {
    static const bool device = syncfree::find_strategy("level_order") && there_is_a_device();
    return backend != "cuda" || device;
  });
  return names;
}

bool on_host(const std::string& strategy) { return syncfree::find_strategy(strategy)->backend == std::string("host"); }

std::vector<std::string> host_strategies()
{
  return strategies_of([](const std::string& backend) { return backend == "host"; });
}

bool on_one_thread(const std::string& strategy)
{
  const std::string end = "_block";
  return !on_host(strategy) || strategy == "serial" || strategy == "merged" || strategy == "tiled" ||
         (strategy.size() > end.size() && strategy.compare(strategy.size() - end.size(), end.size(), end) == 0);
}

std::vector<std::pair<std::string, int>> with_threads(const std::vector<std::string>& strategies,
                                                      const std::vector<int>& threads)
{
  std::vector<std::pair<std::string, int>> list;
  for (const auto& strategy : strategies)
    for (int count : threads)
      if (count == threads.front() || !on_one_thread(strategy)) list.emplace_back(strategy, count);
  return list;
}
