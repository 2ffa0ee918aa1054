// Blocks <-> the frames that a cache keeps of them. Rows are single records of one split; their
// numbers are kept, the split's own number is not: the same file may be another split of another
// job. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "cache/tier.h"
#include "element/block.h"
#include "element/frame.h"

namespace headrace {

// A frame of some of a block's rows, and the records that it covers.
struct CoveredFrame {
  uint64_t first = 0;
  uint64_t count = 0;
  Frame frame;  // of no bytes: none of the records has a row
};

// `block` is what is left of records [first, first + count). The frames borrow its cells and cover
// all of these records, in order. FAILED_PRECONDITION: its rows are not single, ascending records
// of the range.
absl::StatusOr<std::vector<CoveredFrame>> EncodeBlock(const Block& block, uint64_t first,
                                                      uint64_t count);

// A block whose cells borrow the frame's memory: rows of split `split`, and, settled, the records
// of the range that have no row. DATA_LOSS: the frame does not hold rows of `schema` and of its
// range.
absl::StatusOr<Block> DecodeFrame(const StoredFrame& stored, const SchemaPtr& schema,
                                  uint64_t split);

}  // namespace headrace
