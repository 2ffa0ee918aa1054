// How the bytes of a request and of its answer lie in a slot's shared memory: int64 words (little
// endian) first, so that Python reads all of them in one call; then columns as in a frame
// (proto/headrace/v1/frame.proto): rows back to back, bytes as offsets and data, each part 64-byte
// aligned. host.py holds the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::udf {

inline constexpr size_t kHeaderWords = 16;
inline constexpr size_t kColumnWords = 16;
inline constexpr size_t kDimsWords = 7;  // of a row of a ragged column: rank, then six dims

enum RequestWord : size_t {
  kRequestRows = 0,
  kRequestColumns = 1,
  kRequestKeysAt = 2,  // two uint64 per row, when the function draws numbers
  kRequestSingle = 4,  // 1: every row is a call of its own, whatever the function takes
};

enum AnswerWord : size_t {
  kAnswerMark = 0,  // 1
  kAnswerRows = 1,
  kAnswerRowsOut = 2,
  kAnswerColumns = 3,
  kAnswerStatusAt = 4,  // an int64 per row of the request: rows out of it, or -1: failed; or
                        // kEveryRow: one came out of each
  kAnswerErrors = 5,
  kAnswerErrorOffsetsAt = 6,
  kAnswerErrorDataAt = 7,
  kAnswerErrorBytes = 8,
  kAnswerCpuNanos = 9,
  kAnswerUsedBytes = 10,
  // Of slot 0 alone, of no block, and written by the worker: the last sequence that was handed
  // over. While it is larger than the one that was just done, more is in the socket, and an answer
  // may wait for the next ones.
  kAnswerPosted = 13,
  kAnswerSequence = 14,  // these two: written while the function runs
  kAnswerProgress = 15,  // the row that is being worked on
};

enum ColumnWord : size_t {
  kColumnKind = 0,
  kColumnRank = 1,
  kColumnDims = 2,  // six
  kColumnDataAt = 8,
  kColumnDataBytes = 9,
  kColumnOffsetsAt = 10,  // bytes: items + 1
  kColumnDimsAt = 11,     // ragged: kDimsWords per row
  kColumnItems = 12,
};

inline constexpr int64_t kEveryRow = -1;

// kUnchanged, in answers only: each row keeps what it had in the field of that name.
enum ColumnKind : int64_t { kDense = 0, kRagged = 1, kUnchanged = 2 };

// A message over the socket, either way, is one or more of these: operation, slot, sequence, size
// of the slot's memory.
struct Message {
  int64_t operation = 0;
  int64_t slot = 0;
  int64_t sequence = 0;
  int64_t bytes = 0;
};
inline constexpr int64_t kLoad = 1;
inline constexpr int64_t kBlock = 2;
inline constexpr size_t kSlots = 32;  // blocks that a subprocess may have at a time

}  // namespace headrace::udf
