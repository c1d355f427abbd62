/// Number of cores that a process may use, from /proc and /sys of an invented machine and of this one.

#include "core/support/processors.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "syncfree/threads.hpp"

namespace syncfree {
namespace {

/// A temporary root folder with given files.
class Root {
public:
  explicit Root(const std::map<std::string, std::string>& files)
  {
    std::string name = (std::filesystem::temp_directory_path() / "syncfree-root-XXXXXX").string();
    path_ = mkdtemp(name.data());
    for (const auto& [file, text] : files) {
      const auto place = path_ / file;
      std::filesystem::create_directories(place.parent_path());
      std::ofstream(place) << text;
    }
  }
  ~Root() { std::filesystem::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

double quota(const std::map<std::string, std::string>& files) { return processor_quota(Root(files).path()); }

TEST(Quota, is_none_where_no_file_says_so)
{
  EXPECT_EQ(quota({}), 0);
  EXPECT_EQ(quota({{"proc/self/cgroup", ""}}), 0);
  EXPECT_EQ(quota({{"proc/self/cgroup", "nonsense\n:\n0\n0::\n"}}), 0);
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/a/b\n"}}), 0);
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "max 100000\n"}}), 0);
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "100000\n"}}), 0);
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "100000 0\n"}}), 0);
  EXPECT_EQ(quota({{"proc/self/cgroup", "4:cpu:/a\n"},
                   {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"},
                   {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}}),
            0);
}

TEST(Quota, of_version_2_is_the_least_on_the_way_up)
{
  const std::string own = "sys/fs/cgroup/pod/box/cpu.max", above = "sys/fs/cgroup/pod/cpu.max";
  const std::pair<const std::string, std::string> line = {"proc/self/cgroup", "0::/pod/box\n"};
  EXPECT_EQ(quota({line, {own, "250000 100000\n"}}), 2.5);
  EXPECT_EQ(quota({line, {own, "max 100000\n"}, {above, "400000 100000\n"}}), 4);
  EXPECT_EQ(quota({line, {own, "800000 100000\n"}, {above, "400000 100000\n"}}), 4);
  EXPECT_EQ(quota({line, {own, "50000 100000\n"}, {above, "400000 100000\n"}}), 0.5);
  EXPECT_EQ(quota({line, {"sys/fs/cgroup/cpu.max", "300000 100000\n"}}), 3) << "a container sees its own as the root";
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "300000 100000\n"}}), 3);
  const std::string both = "1:cpu:/\n0::/a\n";
  EXPECT_EQ(quota({{"proc/self/cgroup", both}, {"sys/fs/cgroup/unified/a/cpu.max", "100000 50000\n"}}), 2);
  EXPECT_EQ(quota({line, {"sys/fs/cgroup/other/cpu.max", "100000 100000\n"}}), 0);
}

TEST(Quota, of_version_1_is_that_of_the_controller_cpu)
{
  for (const std::string name : {"cpu", "cpu,cpuacct"}) {
    const std::pair<const std::string, std::string> line = {"proc/self/cgroup", "9:cpuset:/x\n4:" + name + ":/a/b\n"};
    const std::string folder = "sys/fs/cgroup/" + name + "/a/";
    EXPECT_EQ(quota({line,
                     {folder + "b/cpu.cfs_quota_us", "-1\n"},
                     {folder + "b/cpu.cfs_period_us", "100000\n"},
                     {folder + "cpu.cfs_quota_us", "600000\n"},
                     {folder + "cpu.cfs_period_us", "200000\n"}}),
              3)
        << name;
    EXPECT_EQ(quota({line, {folder + "b/cpu.cfs_quota_us", "100000\n"}}), 0) << "no period";
  }
  EXPECT_EQ(quota({{"proc/self/cgroup", "9:cpuset:/a\n"},
                   {"sys/fs/cgroup/cpuset/a/cpu.cfs_quota_us", "100000\n"},
                   {"sys/fs/cgroup/cpuset/a/cpu.cfs_period_us", "100000\n"}}),
            0)
      << "another controller";
}

int cores_of(const std::vector<std::size_t>& processors, const std::map<std::size_t, std::string>& siblings)
{
  std::map<std::string, std::string> files;
  for (const auto& [p, list] : siblings)
    files["sys/devices/system/cpu/cpu" + std::to_string(p) + "/topology/thread_siblings_list"] = list + "\n";
  ProcessorSet set;
  for (const std::size_t p : processors) set.add_processor(p);
  return count_cores(set, Root(files).path());
}

TEST(Cores, are_counted_once_for_all_their_hyperthreads)
{
  const std::map<std::size_t, std::string> far = {{0, "0,4"}, {1, "1,5"}, {4, "0,4"}, {5, "1,5"}};
  EXPECT_EQ(cores_of({0, 1, 4, 5}, far), 2);
  EXPECT_EQ(cores_of({0, 1}, far), 2);
  EXPECT_EQ(cores_of({0, 4}, far), 1);
  EXPECT_EQ(cores_of({4, 5}, far), 2) << "the first of each pair belongs to others";
  EXPECT_EQ(cores_of({}, far), 0);
  const std::map<std::size_t, std::string> near = {{0, "0-3"}, {1, "0-3"}, {2, "0-3"}, {3, "0-3"}, {4, "4-7"}};
  EXPECT_EQ(cores_of({0, 1, 2, 3, 4}, near), 2);
  EXPECT_EQ(cores_of({2, 3}, near), 1);
  EXPECT_EQ(cores_of({3, 4}, near), 2);
}

TEST(Cores, are_processors_where_nothing_tells)
{
  EXPECT_EQ(cores_of({0, 1, 7, 8191}, {}), 4);
  EXPECT_EQ(cores_of({0, 1, 2}, {{0, ""}, {1, "x"}, {2, "9-99999999"}}), 3);
  EXPECT_EQ(cores_of({0, 1, 2}, {{0, "5-"}, {1, "-"}, {2, ",,"}}), 3);
}

class Affinity : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(0, sched_getaffinity(0, sizeof all_, &all_)); }
  void TearDown() override { sched_setaffinity(0, sizeof all_, &all_); }
  cpu_set_t all_;
};

TEST_F(Affinity, limits_the_cores_of_this_process)
{
  const int cores = usable_cores(1);
  EXPECT_GE(cores, 1);
  EXPECT_LE(cores, CPU_COUNT(&all_));
  EXPECT_EQ(usable_cores(0), cores);
  EXPECT_EQ(usable_cores(1000000), 1);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int p = 0; p < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++p)
    if (CPU_ISSET(p, &all_)) CPU_SET(p, &one);
  ASSERT_EQ(0, sched_setaffinity(0, sizeof one, &one));
  EXPECT_EQ(ProcessorSet::of_process().count_processors(), 1);
  EXPECT_EQ(usable_cores(1), 1);
}

TEST_F(Affinity, is_that_of_the_main_thread_and_of_the_caller)
{
  if (CPU_COUNT(&all_) < 2) GTEST_SKIP() << "one processor";
  std::vector<cpu_set_t> one(2);
  for (int p = 0, found = 0; found < 2; ++p)
    if (CPU_ISSET(p, &all_)) CPU_SET(p, &one[found++]);
  ASSERT_EQ(0, sched_setaffinity(0, sizeof one[0], &one[0]));
  int seen = 0;
  std::thread([&] {
    sched_setaffinity(0, sizeof one[1], &one[1]);
    seen = ProcessorSet::of_process().count_processors();
  }).join();
  EXPECT_EQ(seen, 2);
}

TEST(ThreadsAskedFor, are_bounded_in_words)
{
  EXPECT_GE(most_threads(), std::max(64, 4 * usable_cores(1)));
  for (const int good : {1, 2, most_threads()}) EXPECT_TRUE(check_threads(good).ok()) << good;
  for (const int bad : {0, -1, most_threads() + 1, 1 << 30}) {
    const Status status = check_threads(bad);
    EXPECT_EQ(status.code, Code::invalid_argument) << bad;
    if (bad < 1) continue;
    EXPECT_NE(status.message().find(std::to_string(bad)), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(std::to_string(most_threads())), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace syncfree
