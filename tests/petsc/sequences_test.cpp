/*
  The life of a PC as a property: whatever was done with it and its matrix before, a PC gives the results of one made
  afresh on a copy of the matrix with the same options. They are equal bit by bit where the strategy is reproducible and
  its plan follows from the matrix; else they agree to 1e-12, by components or, as `merged` promises, by norm. Where the
  new PC fails, the old one fails with the same error or reason, and is usable afterwards.

  SYNCFREE_SEQUENCES random sequences of each type, from the seed SYNCFREE_SEED on, or for SYNCFREE_SECONDS. One that
  fails is shrunk and printed as a program in C.
*/

#include "sequences.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "../watchdog.hpp"
#include "life.hpp"

namespace {

long setting(const char name[], long otherwise)
{
  const char* value = std::getenv(name);
  return value ? std::atol(value) : otherwise;
}

std::vector<SequenceCase> cases()
{
  return {{"ilu", PCSYNCFREEILU, false, false},          {"icc", PCSYNCFREEICC, false, false},
          {"sor", PCSYNCFREESOR, false, false},          {"ilu_package", PCILU, true, false},
          {"icc_package", PCICC, true, false},           {"ilu_on_device", PCSYNCFREEILU, false, true},
          {"icc_on_device", PCSYNCFREEICC, false, true}, {"sor_on_device", PCSYNCFREESOR, false, true},
          {"ilu_package_on_device", PCILU, true, true},  {"ilu_of_blocks", PCSYNCFREEILU, false, false, 3},
          {"ilu_of_blocks_in_package", PCILU, true, false, 2}, {"ilu_of_blocks_on_device", PCSYNCFREEILU, false, true, 4},
          {"ilu_of_baij", PCSYNCFREEILU, false, false, 5, true},
          {"ilu_of_baij_in_package", PCILU, true, false, 2, true},
          {"ilu_of_baij_on_device", PCSYNCFREEILU, false, true, 3, true}};
}

std::string names_of(const Sequence& sequence)
{
  std::string names;
  for (const auto& operation : sequence.operations) names += std::string("\n  ") + operations()[operation.kind].name;
  return names;
}

/* Names the sequence that crashes. */
unsigned long long current;
PetscErrorCode name_sequence(int signal, void* context)
{
  std::fprintf(stderr, "crashed by SYNCFREE_SEED=%llu SYNCFREE_SEQUENCES=1\n", current);
  return PetscSignalHandlerDefault(signal, context);
}

class Sequences : public testing::TestWithParam<SequenceCase> {
 protected:
  Sequences() { ok(PetscPushSignalHandler(name_sequence, nullptr)); }
  ~Sequences() override { (void)PetscPopSignalHandler(); }

  /* Returns false if the sequence fails. */
  static bool passes(unsigned long long seed)
  {
    const SequenceCase kind = GetParam();
    const Sequence sequence = random_sequence(current = seed);
    const std::string failure = run(kind, sequence);
    if (failure.empty()) return true;
    std::string program;
    const Sequence less = shrink(kind, sequence);
    const std::string left = run(kind, less, &program);
    ADD_FAILURE() << "SYNCFREE_SEED=" << seed << " SYNCFREE_SEQUENCES=1:" << names_of(sequence) << "\n"
                  << failure << "\nleft of it:" << names_of(less) << "\n"
                  << left << "\n"
                  << program;
    return false;
  }
};

TEST_P(Sequences, leave_a_pc_as_if_made_afresh)
{
  if (GetParam().device_matrix && !has_device()) GTEST_SKIP() << "there is no device";
  using Clock = std::chrono::steady_clock;
  const long some = syncfree::short_run() ? 60 : GetParam().device_matrix ? 250 : 800,
             seconds = setting("SYNCFREE_SECONDS", 0), count = setting("SYNCFREE_SEQUENCES", some);
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  const syncfree::Watchdog watchdog("sequences", syncfree::patience + (int)seconds + (int)count);
  unsigned long long seed = (unsigned long long)setting("SYNCFREE_SEED", 1);
  const unsigned long long last = seed + (unsigned long long)count;
  while ((seconds ? Clock::now() < end : seed < last) && passes(seed)) ++seed;
  RecordProperty("sequences", std::to_string(seed));
}

INSTANTIATE_TEST_SUITE_P(Petsc, Sequences, testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
