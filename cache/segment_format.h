// How a segment file lies on disk: the rows of one split, as the disk tier keeps them. All numbers
// little-endian, everything that is read or written by itself begins at a multiple of 4096.
//
//   header   4096 bytes: "HRSEGMNT", u32 format version, u32 0, the three parts of the key (32
//   bytes
//            each), zeros, u64 checksum of all that is before it
//   chunks   each some frames (element/frame.h), one after another at multiples of 64
//   footer   per chunk:  u64 offset in the file, u64 bytes, u64 checksum, u64 frames in it
//            per frame:  u64 records that it covers, u64 offset in its chunk, u64 bytes (0: no
//            rows)
//   trailer  the file's last 64 bytes: "HRSEGEND", u64 footer offset, u64 chunks, u64 frames, u64
//            records, u64 checksum of the footer, u64 checksum of the header, u64 checksum of all
//            that is before it in the trailer
//
// Checksums are XXH3. A file without a right trailer was not finished. Pure functions over bytes
// that may come from anyone; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/cache_counters.h"
#include "cache/tier.h"

namespace headrace {

inline constexpr size_t kSegmentAlignment = 4096;
inline constexpr size_t kSegmentTrailerBytes = 64;
inline constexpr uint32_t kSegmentVersion = 1;

inline uint64_t SegmentRound(uint64_t bytes) {
  return (bytes + kSegmentAlignment - 1) / kSegmentAlignment * kSegmentAlignment;
}

struct SegmentChunk {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t checksum = 0;
  uint64_t frames = 0;
};
struct SegmentFrame {
  uint64_t count = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};
struct SegmentIndex {
  std::vector<SegmentChunk> chunks;
  std::vector<SegmentFrame> frames;  // of all chunks, in their order
  uint64_t records = 0;
};
struct SegmentTrailer {
  uint64_t footer_offset = 0;
  uint64_t footer_bytes = 0;
  uint64_t footer_checksum = 0;
  uint64_t chunks = 0;
  uint64_t frames = 0;
  uint64_t records = 0;
};

uint64_t SegmentChecksum(std::span<const std::byte> bytes);

// 4096 bytes.
std::string WriteSegmentHeader(const CacheKey& key);
// Footer and trailer, padded so that they end the file; `footer_offset` is where they go.
std::string WriteSegmentEnd(const SegmentIndex& index, uint64_t footer_offset,
                            std::string_view header);
// What WriteSegmentEnd gives for so many.
uint64_t SegmentEndBytes(uint64_t chunks, uint64_t frames);

// `header` is the file's first 4096 bytes, fewer only if it has no more. Errors of these three say
// by ReasonOf() why the file is of no use.
absl::StatusOr<CacheKey> ParseSegmentHeader(std::span<const std::byte> header);
// `trailer` is its last 64 bytes; the header is one that ParseSegmentHeader took.
absl::StatusOr<SegmentTrailer> ParseSegmentTrailer(std::span<const std::byte> trailer,
                                                   std::span<const std::byte> header,
                                                   uint64_t file_bytes);
absl::StatusOr<SegmentIndex> ParseSegmentFooter(std::span<const std::byte> footer,
                                                const SegmentTrailer& trailer);
CacheDrop ReasonOf(const absl::Status& status);

// "PREFIX-PLACE-VERSION.SERIAL.hrseg": serials tell two files for one slot apart.
std::string SegmentFileName(const CacheKey& key, uint64_t serial);
// False: not a name of ours.
bool ParseSegmentFileName(std::string_view name, CacheKey& key, uint64_t& serial);

}  // namespace headrace
