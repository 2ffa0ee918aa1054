// A file that is read and written past the page cache, in multiples of 4096 bytes: what a cache
// keeps on disk must not push other files' pages out of memory. Where the file system refuses
// O_DIRECT the same calls go through the page cache, which is told to forget the pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace headrace {

// Memory for it: 4096-aligned, a multiple of 4096 long. Null: there is none.
struct FreeAligned {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<std::byte[], FreeAligned>;
AlignedMemory AllocateAligned(size_t bytes);

// One thread at a time.
class SegmentFile {
 public:
  // `direct`: try O_DIRECT. Create: ALREADY_EXISTS, RESOURCE_EXHAUSTED (bytes or inodes).
  static absl::StatusOr<std::unique_ptr<SegmentFile>> Create(const std::string& path, bool direct);
  static absl::StatusOr<std::unique_ptr<SegmentFile>> Open(const std::string& path, bool direct);
  ~SegmentFile();
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  // Offset, address and size are multiples of 4096. RESOURCE_EXHAUSTED: the file system is full.
  absl::Status WriteAt(uint64_t offset, std::span<const std::byte> bytes);
  // All of `out`, or OUT_OF_RANGE where the file ends before.
  absl::Status ReadAt(uint64_t offset, std::span<std::byte> out);
  absl::Status Sync();

  uint64_t bytes() const { return bytes_; }  // when it was opened
  bool direct() const { return direct_; }

 private:
  SegmentFile(int fd, bool direct, uint64_t bytes, std::string path)
      : fd_(fd), direct_(direct), bytes_(bytes), path_(std::move(path)) {}
  static absl::StatusOr<std::unique_ptr<SegmentFile>> OpenWith(const std::string& path, int flags,
                                                               bool direct);

  const int fd_;
  const bool direct_;
  const uint64_t bytes_;
  const std::string path_;
};

}  // namespace headrace
