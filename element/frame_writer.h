// Block -> Frame: what a worker sends. Called by whichever thread has the block; nothing is kept
// between calls.
//
// Big cells (and every batch) are borrowed in place: the frame keeps the block's arena alive, so
// the block's cells must not be changed until the frame is gone. Small cells of many rows are
// packed, one copy, into one buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "element/block.h"
#include "element/frame.h"

namespace headrace {

struct FrameMeta {
  uint64_t task = 0;
  uint64_t sequence = 0;  // counts this task's frames to one client, from 0
  uint64_t epoch = 0;
  uint64_t lease_floor = 0;
  bool batched = false;  // rows are batches
  std::optional<PiecePlace> place = std::nullopt;
};

// Rows [begin, end) of `block` as one frame. OUT_OF_RANGE names the largest field when the frame
// would exceed `max_bytes`; INTERNAL when a cell does not match its schema (a step's bug) or the
// rows of a field differ in rank (cut at FrameEnd). An error leaves the block as it was.
absl::StatusOr<Frame> WriteFrame(const Block& block, size_t begin, size_t end,
                                 const FrameMeta& meta, size_t max_bytes = kDefaultMaxFrameBytes);
// All rows.
absl::StatusOr<Frame> WriteFrame(const Block& block, const FrameMeta& meta,
                                 size_t max_bytes = kDefaultMaxFrameBytes);

// A frame without rows, which only says that its window ends here.
Frame WriteWindowEnd(const FrameMeta& meta);

// Where to cut a block of single records into frames: the end of the longest run of rows from
// `begin` with at most `target_bytes` in their cells and with one rank per field; always at least
// one row (begin < block.rows()).
size_t FrameEnd(const Block& block, size_t begin, size_t target_bytes);

}  // namespace headrace
