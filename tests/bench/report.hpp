#pragma once

/// What the benchmark tells: a progress bar, a CSV file, tables.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// A bar on stderr that is written over, where stderr is a terminal; else one line for each matrix.
class StepCounters {
 public:
  StepCounters(int matrices, int kinds) : matrices_(matrices), kinds_(kinds) {}
  void begin(const std::string& matrix);
  void show(double share);  ///< of this kind, in [0, 1]
  void next();              ///< the next kind
  void end();

 private:
  int matrices_, kinds_, begun_ = 0, done_ = 0;
  double share_ = 0;
  std::string matrix_;
};

/// Sizes of scalars and indices, machine, commit and note: the last columns of every file, and their fields.
extern const char* const origin_header;
std::string origin_fields(const Options& o);

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};
using FileOwner = std::unique_ptr<FILE, CloseFile>;

/// The file of -bench_csv with its first line, which ends in the origin's columns; nullptr if none is wanted. Throws
/// where it cannot be written.
FileOwner open_csv(const Options& o, const char* columns);

/// Median and quartiles as three fields in milliseconds, each behind a comma.
void print_spread(FILE* file, const Spread& s);

/// Version of the vendor's library and algorithms of L and U as three fields, each behind a comma; empty where its
/// solver did not run.
void print_algorithms(FILE* file, const Vendor& v);

/// Matrix, kind and levels of fill, as in "7pt ilu(2)".
std::string title(const std::string& matrix, const Setting& s);

/// One row for every result, written as soon as it is there. Times in milliseconds, with quartiles or the median alone;
/// what was not measured is empty.
class CsvFile {
 public:
  explicit CsvFile(const Options& o);  ///< without a name none is written
  void add(const std::vector<Result>& results);

 private:
  FileOwner file_;
  std::string origin_;  // the last fields of every row
};

/// Every result beside PETSc's, the first of its group.
void print_table(const std::vector<std::vector<Result>>& groups);

/// Geometric means over the groups of speeds and memory, with the worst case of each.
void print_means(const std::vector<std::vector<Result>>& groups);

/// Which measurements other programs disturbed, as far as that can be seen.
void print_doubts(const std::vector<std::vector<Result>>& groups);

}  // namespace bench
