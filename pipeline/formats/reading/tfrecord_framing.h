// How TFRecord files frame their records: length (8 bytes, little endian), masked CRC-32C of the
// length (4), the record, masked CRC-32C of the record (4). Shared by reader, writer and splitter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace headrace {

inline constexpr size_t kTfrecordHeaderBytes = 12;
inline constexpr size_t kTfrecordFooterBytes = 4;

uint32_t Crc32c(std::span<const std::byte> bytes);
// The CRC as TFRecord stores it: turned and shifted, since a CRC over bytes that hold CRCs is weak.
uint32_t MaskedCrc32c(std::span<const std::byte> bytes);

inline uint32_t LoadU32(const std::byte* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}
inline uint64_t LoadU64(const std::byte* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// The record length that the kTfrecordHeaderBytes at `header` hold; nothing when their checksum is
// wrong.
std::optional<uint64_t> ParseTfrecordHeader(const std::byte* header);
void WriteTfrecordHeader(uint64_t length, std::byte* header);

}  // namespace headrace
