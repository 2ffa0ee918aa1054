// A segment on its way to disk. The fill packs frames into chunks on whichever thread makes them;
// all I/O happens on the tier's one writer thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cache/segment_file.h"
#include "cache/segment_format.h"
#include "cache/segment_shelf.h"

namespace headrace {

// What is written at once.
struct PackedChunk {
  AlignedMemory memory;
  size_t capacity = 0;
  size_t bytes = 0;
  std::vector<SegmentFrame> frames;

  // False: there is no memory, and the chunk stays as it was. Frames of no bytes need none.
  bool Add(const NewFrame& frame, size_t usual_capacity);
  bool Fits(const NewFrame& frame) const;
};

// Used by the writer thread alone, but for failed(). Destroyed unfinished: its file goes.
class SegmentWriter {
 public:
  SegmentWriter(std::shared_ptr<SegmentShelf> shelf, CacheKey key, std::shared_ptr<void> lease);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  void Write(PackedChunk chunk);
  void Finish();
  // Thread-safe. The first failure is counted.
  void Fail(FillDrop reason);
  bool failed() const { return failed_; }

 private:
  absl::Status WriteChunk(PackedChunk& chunk);
  absl::Status WriteEnd();
  // Claims the bytes first.
  absl::Status Put(std::span<const std::byte> bytes);
  void FailWith(const absl::Status& status);
  void Discard();

  const std::shared_ptr<SegmentShelf> shelf_;
  const CacheKey key_;
  std::shared_ptr<void> lease_;
  const std::string path_;       // once it is whole
  const std::string temporary_;  // until then
  const std::string header_;
  std::unique_ptr<SegmentFile> file_;
  std::vector<Reservation> claims_;
  SegmentIndex index_;
  uint64_t offset_ = 0;
  absl::Duration time_ = absl::ZeroDuration();  // that writing took
  std::atomic<bool> failed_{false};
};

}  // namespace headrace
