/// Implements processors.hpp and syncfree/threads.hpp.

#include "processors.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <sstream>

#include "syncfree/threads.hpp"

/// Functions of the process's OpenMP runtime, if it has one. Only the runtime knows which processors the main thread
/// could use before it was pinned.
extern "C" {
[[gnu::weak]] int omp_get_num_places();
[[gnu::weak]] int omp_get_place_num_procs(int place);
[[gnu::weak]] void omp_get_place_proc_ids(int place, int* processors);
}

namespace syncfree {
namespace {

/// True if the processor is the first of its siblings that this process may use. Lists ("0,64" or "0-1") ascend, but
/// may begin with a processor that the process may not use.
bool is_first_of(const std::string& siblings, std::size_t processor, const ProcessorSet& processors)
{
  std::istringstream list(siblings);
  for (std::size_t first, last; list >> first; list.ignore()) {
    last = first;
    if (list.peek() == '-') {
      list.ignore();
      list >> last;
    }
    for (std::size_t p = first; p <= std::min(last, processors.capacity() - 1); ++p)
      if (processors.has(p)) return p >= processor;
    if (list.peek() != ',') break;
  }
  return true;
}

/// Smallest quota of the folder and its parents; `read` returns that of one folder, 0 if it has none.
template <class Read> double least_quota(const std::string& mount, std::string path, const Read& read)
{
  double least = 0;
  for (;;) {
    const double quota = read(mount + path + "/");
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return least;
    path.erase(slash);
  }
}

/// Reads cpu.max: "max 100000" or "150000 100000".
double quota_of_version_2(const std::string& folder)
{
  std::ifstream file(folder + "cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && period > 0 ? quota / period : 0;
}

/// Reads cpu.cfs_quota_us, which is -1 if there is no quota, and the period.
double quota_of_version_1(const std::string& folder)
{
  std::ifstream quota_file(folder + "cpu.cfs_quota_us"), period_file(folder + "cpu.cfs_period_us");
  double quota = 0, period = 0;
  return quota_file >> quota && period_file >> period && quota > 0 && period > 0 ? quota / period : 0;
}

/// Quota of a line "0::/path" (version 2) or "4:cpu,cpuacct:/path" (version 1). A container may see its own cgroup as
/// the root of the mount, whatever the path says; the walk through the parents ends there.
double quota_of_line(const std::string& line, const std::string& cgroups)
{
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return 0;
  const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
  double least = 0;
  const auto look = [&](const std::string& mount, double (*read)(const std::string&)) {
    const double quota = least_quota(cgroups + mount, path == "/" ? "" : path, read);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  };
  if (controllers.empty()) {
    look("", quota_of_version_2);
    look("/unified", quota_of_version_2);
  } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
    look("/cpu", quota_of_version_1);
    look("/" + controllers, quota_of_version_1);
  }
  return least;
}

}  // namespace

void ProcessorSet::add_those_of(int thread)
{
  ProcessorSet set;
  if (sched_getaffinity(thread, set.mask_bytes(), set.words_.data()) != 0) return;
  CPU_OR_S(mask_bytes(), words_.data(), words_.data(), set.words_.data());
}

/// An OpenMP place with more processors than fit here is the whole machine; then the main thread may use all of them.
void ProcessorSet::add_places_of_openmp()
{
  if (!omp_get_num_places || !omp_get_place_num_procs || !omp_get_place_proc_ids) return;
  std::array<int, 1024> processors;
  const int places = omp_get_num_places(), most = static_cast<int>(processors.size());
  for (int place = 0; place < places; ++place) {
    const int count = omp_get_place_num_procs(place);
    if (count > most) continue;
    omp_get_place_proc_ids(place, processors.data());
    for (int k = 0; k < count; ++k)
      if (static_cast<std::size_t>(processors[k]) < capacity()) add_processor(static_cast<std::size_t>(processors[k]));
  }
}

ProcessorSet ProcessorSet::of_process()
{
  ProcessorSet set;
  set.add_those_of(getpid());
  set.add_those_of(0);
  set.add_places_of_openmp();
  return set;
}

int count_cores(const ProcessorSet& processors, const std::string& root)
{
  int cores = 0;
  for (std::size_t p = 0; p < processors.capacity(); ++p) {
    if (!processors.has(p)) continue;
    std::ifstream file(root + "/sys/devices/system/cpu/cpu" + std::to_string(p) + "/topology/thread_siblings_list");
    std::string siblings;
    std::getline(file, siblings);
    cores += is_first_of(siblings, p, processors);
  }
  return cores;
}

double processor_quota(const std::string& root)
{
  std::ifstream file(root + "/proc/self/cgroup");
  double least = 0;
  for (std::string line; std::getline(file, line);) {
    const double quota = quota_of_line(line, root + "/sys/fs/cgroup");
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  }
  return least;
}

int usable_cores(int ranks_on_node)
try {
  int cores = count_cores(ProcessorSet::of_process(), "");
  const double quota = processor_quota("");
  if (quota > 0) cores = static_cast<int>(std::min(static_cast<double>(cores), quota));
  return std::max(1, cores / std::max(1, ranks_on_node));
} catch (const std::bad_alloc&) {
  return 1;
}

int most_threads()
{
  constexpr int least = 64;
  return std::max(least, 4 * ProcessorSet::of_process().count_processors());
}

Status check_threads(int threads)
{
  if (threads < 1) return failed(Code::invalid_argument, "number of threads must be at least 1");
  const int most = threads == 1 ? 1 : most_threads();
  if (threads <= most) return {};
  return failed(Code::invalid_argument, std::to_string(threads) + " threads exceed the limit of this process, " +
                                            std::to_string(most));
}

}  // namespace syncfree
