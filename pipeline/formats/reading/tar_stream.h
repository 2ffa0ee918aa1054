// The members of a tar archive in a RecordBuffer, one after the other. Owned by a reader, used by
// one thread.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/formats/reading/record_buffer.h"
#include "pipeline/formats/reading/tar_header.h"

namespace headrace {

class TarStream {
 public:
  explicit TarStream(RecordBuffer& buffer) : buffer_(buffer) {}

  // Passes over what is left of the present member, then reads the next header: the buffer stands
  // at its data. False at the end. DATA_LOSS for a damaged or cut header (offset() tells where), or
  // from below.
  absl::StatusOr<bool> Next();
  const TarMember& member() const { return parser_.member(); }
  // Of the present member's first header block.
  uint64_t offset() const { return offset_; }
  // All data of the present member as a cell; false when the archive ends before.
  absl::StatusOr<bool> Take(Cell& out);

 private:
  absl::Status PassData();
  absl::Status Extended(TarHeaderParser::Step& step);

  RecordBuffer& buffer_;
  TarHeaderParser parser_;
  uint64_t offset_ = 0;
  uint64_t data_ = 0;  // of the present member, not passed over yet
  uint64_t padding_ = 0;
};

}  // namespace headrace
