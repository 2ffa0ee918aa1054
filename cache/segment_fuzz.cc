// Any bytes: the segment's parsers refuse them, or give an index that stays inside of the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "cache/segment_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto key = ParseSegmentHeader(bytes); !key.ok()) (void)ReasonOf(key.status());
  // Checksums would keep the fuzzer out of the footer's parser: let the trailer's be right.
  constexpr size_t kWords = 4 * sizeof(uint64_t);
  if (size < kWords) return 0;
  uint64_t words[4];
  __builtin_memcpy(words, data, kWords);
  const std::span<const std::byte> footer = bytes.subspan(kWords);
  SegmentTrailer trailer{.footer_offset = words[0],
                         .footer_bytes = footer.size(),
                         .footer_checksum = SegmentChecksum(footer),
                         .chunks = words[1] % 64,
                         .frames = words[2] % 256,
                         .records = words[3]};
  const auto index = ParseSegmentFooter(footer, trailer);
  if (!index.ok()) return 0;
  size_t frame = 0;
  for (const SegmentChunk& chunk : index->chunks) {
    if (chunk.offset > trailer.footer_offset || chunk.bytes > trailer.footer_offset - chunk.offset)
      std::abort();
    for (uint64_t i = 0; i < chunk.frames; ++i, ++frame) {
      const SegmentFrame& f = index->frames.at(frame);
      if (f.offset > chunk.bytes || f.bytes > chunk.bytes - f.offset) std::abort();
    }
  }
  if (frame != index->frames.size()) std::abort();
  return 0;
}
