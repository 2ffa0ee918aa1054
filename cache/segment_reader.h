// A segment file, open for reading: checked as a whole when it is opened, chunk by chunk as it is
// read.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cache/segment_file.h"
#include "cache/segment_format.h"
#include "cache/tier.h"

namespace headrace {

struct OpenedSegment {
  std::unique_ptr<SegmentFile> file;
  SegmentIndex index;
};
// Errors say by ReasonOf() why it is of no use: it is not there, torn, damaged, another version's,
// or does not hold what `key` says.
absl::StatusOr<OpenedSegment> OpenSegment(const std::string& path, const CacheKey& key,
                                          bool direct);

// Gives the frames of an opened segment, in order. One thread at a time.
class SegmentReader {
 public:
  explicit SegmentReader(OpenedSegment segment) : segment_(std::move(segment)) {}
  // Nothing at the end. DATA_LOSS, OUT_OF_RANGE or the device's error, by ReasonOf().
  absl::StatusOr<std::optional<StoredFrame>> Next();
  uint64_t records() const { return segment_.index.records; }

 private:
  absl::Status ReadChunk();

  const OpenedSegment segment_;
  std::shared_ptr<std::byte> chunk_;  // lives on in the frames that were given out of it
  size_t next_chunk_ = 0;
  uint64_t frames_left_ = 0;  // of chunk_
  size_t next_frame_ = 0;
  uint64_t record_ = 0;
};

}  // namespace headrace
