/*
  The number of CPU threads that our PC types use, how they report it, and that one thread takes
  over where several are slower.
*/

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "factored.hpp"
#include "matrices.hpp"
#include "syncfree/threads.hpp"

namespace {

/* If positive, each read of the steady clock advances it by this number of seconds. */
std::atomic<int> step{0};
std::atomic<long> made_up{0};

} // namespace

/* Replaces the clock of the whole program. */
extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept
{
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_MONOTONIC && step > 0) time->tv_sec += (made_up += step);
  return result;
}

namespace {

constexpr const char* types[] = {PCSYNCFREEILU, PCSYNCFREEICC, PCSYNCFREESOR};

std::string option_of(const std::string& name)
{
  return "-pc_syncfree_" + name;
}

PCOwner make_pc(Mat A, const std::string& type, const std::string& text)
{
  Options options(text);
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, type.c_str()));
  ok(PCSetFromOptions(pc));
  return pc;
}

void apply(PC pc)
{
  Mat A;
  ok(PCGetOperators(pc, nullptr, &A));
  VecOwner b = make_vector(random_numbers(rows(A), 3)), x = make_vector(rows(A));
  ok(PCApply(pc, b, x));
}

/* Returns the view after an application. */
std::string said(Mat A, const std::string& type, const std::string& text)
{
  const Options options(text);
  const PCOwner pc = make_pc(A, type, "");
  apply(pc);
  return view(pc);
}

/* Large enough for threads. */
MatOwner large() { return poisson_2d(120, 100); }

class Threads : public testing::Test {
 protected:
  void SetUp() override
  {
    unsetenv("OMP_NUM_THREADS");
    ASSERT_EQ(0, sched_getaffinity(0, sizeof all_, &all_));
  }
  void TearDown() override
  {
    step = 0;
    unsetenv("OMP_NUM_THREADS");
    sched_setaffinity(0, sizeof all_, &all_);
  }
  cpu_set_t all_;
};

TEST_F(Threads, are_one_where_nobody_says)
{
  MatOwner A = large();
  for (const char* type : types) {
    const std::string text = said(A, type, "");
    EXPECT_TRUE(contains(text, "threads: 1")) << text;
    EXPECT_TRUE(contains(text, "serial (one thread)")) << text;
  }
}

TEST_F(Threads, are_those_of_the_option_else_of_openmp)
{
  MatOwner A = large();
  for (const std::string type : types) {
    const std::string forced = option_of("strategy level_set "), option = option_of("threads 2 ");
    setenv("OMP_NUM_THREADS", "4,2", 1);
    EXPECT_TRUE(contains(said(A, type, forced), "threads: 4")) << said(A, type, forced);
    EXPECT_TRUE(contains(said(A, type, forced + "-omp_num_threads 3 "), "threads: 3")) << type;
    EXPECT_TRUE(contains(said(A, type, forced + "-omp_num_threads 3 " + option), "threads: 2")) << type;
    for (const char* senseless : {"", "many", "0", "-3"}) {
      setenv("OMP_NUM_THREADS", senseless, 1);
      EXPECT_TRUE(contains(said(A, type, forced), "threads: 1")) << type << ", " << senseless;
    }
    unsetenv("OMP_NUM_THREADS");
  }
}

/* The environment may be meant for a larger machine, so its value is reduced and not refused. */
TEST_F(Threads, of_openmp_are_at_most_those_that_may_be_asked_for)
{
  MatOwner A = poisson_2d(5, 5);
  PCOwner pc = make_pc(A, PCSYNCFREEILU, "");
  for (const char* many : {"40000", "4294967297", "99999999999999999999"}) {
    PetscInt threads;
    setenv("OMP_NUM_THREADS", many, 1);
    ok(PCSyncFreeGetThreads(pc, &threads));
    EXPECT_EQ(syncfree::most_threads(), threads) << many;
  }
  Options options("-omp_num_threads 40000");
  PetscInt threads;
  ok(PCSyncFreeGetThreads(pc, &threads));
  EXPECT_EQ(syncfree::most_threads(), threads);
}

TEST_F(Threads, beyond_the_limit_are_refused_in_words)
{
  MatOwner A = poisson_2d(8, 8);
  const std::string most = std::to_string(syncfree::most_threads());
  std::vector<std::string> bad = {"0", "-2", "40000", "2147483647"};
  if (sizeof(PetscInt) == 8) bad.insert(bad.end(), {"4294967297", "-4294967295"}); /* 1 if truncated to int */
  for (const std::string type : types)
    for (const std::string& value : bad) {
      const std::string text = option_of("strategy sync_free ") + option_of("threads ") + value;
      const Refusal refusal = refused([&]() -> PetscErrorCode {
        Options options(text);
        PC pc;
        PetscFunctionBeginUser;
        PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
        PCOwner owner(pc);
        PetscCall(PCSetOperators(pc, A, A));
        PetscCall(PCSetType(pc, type.c_str()));
        PetscCall(PCSetFromOptions(pc));
        PetscFunctionReturn(PETSC_SUCCESS);
      });
      EXPECT_EQ(PETSC_ERR_ARG_OUTOFRANGE, refusal.code) << text;
      for (const std::string& part : {option_of("threads"), value, most, std::string("cores")})
        EXPECT_TRUE(refusal.says(part)) << refusal.text;
    }
  for (const char* type : {PCSYNCFREEILU, PCSYNCFREEICC}) {
    PCOwner pc = make_pc(A, type, "");
    for (const std::string& value : bad) {
      const auto number = (PetscInt)std::stoll(value);
      const Refusal refusal = refused([&] { return PCSyncFreeSetThreads(pc, number); });
      EXPECT_EQ(PETSC_ERR_ARG_OUTOFRANGE, refusal.code) << value;
      EXPECT_TRUE(refusal.says(value) && refusal.says(most)) << refusal.text;
    }
    ok(PCSyncFreeSetThreads(pc, syncfree::most_threads()));
    apply(pc);
  }
}

TEST_F(Threads, are_no_more_than_rows)
{
  MatOwner A = poisson_2d(2, 2);
  for (const std::string type : types) {
    const std::string text = said(A, type, option_of("strategy sync_free ") + option_of("threads 7"));
    EXPECT_TRUE(contains(text, "threads: 4")) << text;
  }
}

TEST_F(Threads, are_recommended_in_the_view_where_more_would_promise_something)
{
  MatOwner A = large(), small = poisson_2d(20, 20);
  const int cores = syncfree::usable_cores(1);
  for (const std::string type : types) {
    const std::string option = option_of("threads");
    const auto is_told = [&](Mat of, const std::string& text) {
      return contains(said(of, type, text), "threads: 1; with " + option + " " + std::to_string(cores) + ": blocks (row blocks: predicted ");
    };
    if (cores > 1) {
      EXPECT_TRUE(is_told(A, "")) << said(A, type, "");
    }
    for (const std::string& text : {option_of("strategy serial"), option + " 2"})
      EXPECT_FALSE(contains(said(A, type, text), "; with ")) << said(A, type, text);
    EXPECT_FALSE(contains(said(small, type, ""), "; with ")) << said(small, type, "");
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int p = 0; p < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++p)
      if (CPU_ISSET(p, &all_)) CPU_SET(p, &one);
    ASSERT_EQ(0, sched_setaffinity(0, sizeof one, &one));
    EXPECT_FALSE(contains(said(A, type, ""), "; with ")) << said(A, type, "");
    ASSERT_EQ(0, sched_setaffinity(0, sizeof all_, &all_));
  }
}

std::string infos;
PetscErrorCode keep_info(FILE*, const char format[], va_list arguments)
{
  char text[1024];
  size_t length;
  PetscFunctionBegin;
  PetscCall(PetscVSNPrintf(text, sizeof text, format, &length, arguments));
  infos += text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three applications that take a second each on a simulated clock; the following ones use the true clock. */
TEST_F(Threads, that_are_slower_give_way_to_one_and_say_so)
{
  MatOwner A = large();
  for (const std::string type : types) {
    PCOwner pc = make_pc(A, type, option_of("threads 2"));
    step = 1;
    for (int k = 0; k < 3; k++) apply(pc);
    step = 0;
    EXPECT_FALSE(contains(view(pc), "serial")) << view(pc);
    const auto print = PetscVFPrintf;
    infos.clear();
    ok(PetscInfoAllow(PETSC_TRUE));
    PetscVFPrintf = keep_info;
    apply(pc);
    apply(pc);
    PetscVFPrintf = print;
    ok(PetscInfoAllow(PETSC_FALSE));
    const std::string text = view(pc), note = "Several threads were slower than predicted for one thread";
    EXPECT_TRUE(contains(text, "threads: 1")) << text;
    EXPECT_TRUE(contains(text, "but 3 applications took longer")) << text;
    EXPECT_FALSE(contains(text, "; with ")) << text;
    EXPECT_TRUE(contains(infos, note)) << infos;
    EXPECT_EQ(infos.find(note), infos.rfind(note)) << "it is said once";
  }
}

} // namespace
