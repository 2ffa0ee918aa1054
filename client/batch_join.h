// Batches joined of rows that were left over at the ends of windows (`ordering: deterministic`).
// Thread-free.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "element/frame_reader.h"

namespace headrace {

// Records [begin, end) of the batch that is row 0 of `frame`.
struct RowRange {
  std::shared_ptr<const FrameView> frame;
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
};

// Records of the batch in row 0: of its provenance.
uint64_t RecordsIn(const FrameView& frame);
// Where they came from.
void AppendRuns(const RowRange& rows, std::vector<Run>& out);

struct JoinRule {
  bool padded = false;  // rows may differ in shape, and are filled up with
  double pad_value = 0;
};

// Records [begin, end) of `batch`, one range after the other, as one batch; padded, where they are,
// to the longest of the whole of `batch`. INVALID_ARGUMENT when rows differ that must not;
// DATA_LOSS when the frames do not fit each other.
absl::StatusOr<std::shared_ptr<const FrameView>> JoinRows(std::span<const RowRange> batch,
                                                          uint64_t begin, uint64_t end,
                                                          const JoinRule& rule);

}  // namespace headrace
