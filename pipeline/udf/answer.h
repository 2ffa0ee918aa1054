// What a subprocess answered for some rows, out of shared memory. Its bytes are outside bytes: the
// process runs foreign code, and may even change them while they are read. So every number is
// copied first, checked then, and used from the copy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "element/block.h"
#include "pipeline/udf/function_spec.h"

namespace headrace::udf {

struct Answer {
  struct Column {
    bool unchanged = false;
    std::vector<Cell> cells;  // a cell per row out; none when unchanged
  };

  std::vector<int64_t> status;      // per row asked: rows out of it, or -1: failed
  std::vector<std::string> errors;  // of the failed ones, in order
  std::vector<Column> columns;      // as the spec's outputs
  uint64_t rows_out = 0;
  uint64_t cpu_nanos = 0;
};

// The answer for `rows` rows; its cells lie in `arena`. DATA_LOSS says what is wrong with it.
absl::StatusOr<Answer> ReadAnswer(std::span<const std::byte> memory, const FunctionSpec& spec,
                                  size_t rows, Arena& arena);

}  // namespace headrace::udf
