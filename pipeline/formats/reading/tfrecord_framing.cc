#include "pipeline/formats/reading/tfrecord_framing.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <bit>

namespace headrace {

static_assert(std::endian::native == std::endian::little, "TFRecord's integers are little endian");

uint32_t Crc32c(std::span<const std::byte> bytes) {
  uint32_t crc = ~uint32_t{0};
  while (!bytes.empty()) {
    const size_t n = std::min<size_t>(bytes.size(), 1u << 30);  // the length is an int there
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(n), crc);
    bytes = bytes.subspan(n);
  }
  return ~crc;
}

uint32_t MaskedCrc32c(std::span<const std::byte> bytes) {
  return std::rotr(Crc32c(bytes), 15) + 0xa282ead8u;
}

std::optional<uint64_t> ParseTfrecordHeader(const std::byte* header) {
  if (LoadU32(header + 8) != MaskedCrc32c({header, 8})) return std::nullopt;
  return LoadU64(header);
}

void WriteTfrecordHeader(uint64_t length, std::byte* header) {
  std::memcpy(header, &length, 8);
  const uint32_t crc = MaskedCrc32c({header, 8});
  std::memcpy(header + 8, &crc, 4);
}

}  // namespace headrace
