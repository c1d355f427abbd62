#pragma once

/// The output of the benchmark: a progress bar, a CSV file, tables.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// A progress bar on stderr if it is a terminal; else one line for each matrix.
class Progress {
 public:
  Progress(int matrices, int kinds) : matrices_(matrices), kinds_(kinds) {}
  void begin(const std::string& matrix);
  void show(double share);  ///< completed share of this kind, in [0, 1]
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

/// Opens the file of -bench_csv and writes its first line, which ends in the origin's columns; returns nullptr if none
/// is requested. Throws if it cannot be written.
FileOwner open_csv(const Options& o, const char* columns);

/// Prints median and quartiles as three fields in milliseconds, each after a comma.
void print_spread(FILE* file, const Spread& s);

/// Prints the version of the vendor's library and the algorithms of L and U as three fields, each after a comma; empty
/// if its solver did not run.
void print_algorithms(FILE* file, const Vendor& v);

/// Returns matrix, kind and levels of fill, as in "7pt ilu(2)".
std::string title(const std::string& matrix, const Setting& s);

/// Writes one row for every result as soon as it is available. Times in milliseconds, with quartiles or the median
/// alone; fields that were not measured are empty.
class CsvFile {
 public:
  explicit CsvFile(const Options& o);  ///< without a name no file is written
  void add(const std::vector<Result>& results);

 private:
  FileOwner file_;
  std::string origin_;  // the last fields of every row
};

/// Prints every result relative to PETSc's, the first of its group.
void print_table(const std::vector<std::vector<Result>>& groups);

/// Prints geometric means over the groups of speeds and memory, with the worst case of each.
void print_means(const std::vector<std::vector<Result>>& groups);

/// Prints the measurements that other programs disturbed, as far as that is detectable.
void print_doubts(const std::vector<std::vector<Result>>& groups);

}  // namespace bench
