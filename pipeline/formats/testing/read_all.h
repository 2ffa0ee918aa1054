// For tests of formats: make a format by name, cut files, read everything. No binary links this.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/formats/format.h"

namespace headrace::testing_formats {

using Params = std::initializer_list<std::pair<std::string_view, v1::Value>>;

// The registered format; aborts the test program when it cannot be made (use MakeFormat for
// errors).
std::unique_ptr<Format> NewFormat(std::string_view name, Params params = {});
absl::StatusOr<std::unique_ptr<Format>> MakeFormat(std::string_view name, Params params = {});

struct ReadRow {
  Run run;
  std::vector<std::string> cells;  // the bytes of each column
};

// What a split, or all splits of a file, gave.
struct ReadOutcome {
  absl::Status error;  // what Open or Read returned
  std::vector<ReadRow> rows;
  std::vector<RowFailure> failures;
  std::vector<Run> settled;
  bool lost = false;

  // Column `column` of all rows.
  std::vector<std::string> Column(size_t column = 0) const;
  // Messages of the failures, one a line.
  std::string Messages() const;
};

// Reads one split with `limits`. Checks on the way that row and settled indices are 0, 1, 2, ...
// without a gap.
ReadOutcome ReadSplit(Format& format, FileSystem& files, const v1::Split& split, SchemaPtr schema,
                      const ReadLimits& limits = {});
// Lists `pattern`, makes splits of `target_bytes`, reads them all in order.
ReadOutcome ReadFiles(Format& format, FileSystem& files, const std::string& pattern,
                      uint64_t target_bytes = SplitOptions().target_bytes,
                      const ReadLimits& limits = {});
// The splits of one file, with ids.
std::vector<v1::Split> SplitsOf(Format& format, FileSystem& files, const std::string& pattern,
                                uint64_t target_bytes);

}  // namespace headrace::testing_formats
