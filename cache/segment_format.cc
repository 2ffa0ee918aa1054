#include "cache/segment_format.h"

#include <xxhash.h>

#include <bit>
#include <charconv>
#include <cstring>

#include "common/status.h"

namespace headrace {
namespace {

static_assert(std::endian::native == std::endian::little, "segments are little-endian");

constexpr std::string_view kHeaderMagic = "HRSEGMNT";
constexpr std::string_view kTrailerMagic = "HRSEGEND";
constexpr std::string_view kSuffix = ".hrseg";
constexpr size_t kWord = sizeof(uint64_t);
constexpr size_t kHexDigits = 32;
constexpr size_t kHeaderKeyAt = 16;
constexpr size_t kHeaderChecksumAt = kSegmentAlignment - kWord;
constexpr size_t kChunkBytes = 4 * kWord;
constexpr size_t kFrameBytes = 3 * kWord;

uint64_t WordAt(std::span<const std::byte> bytes, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, kWord);
  return word;
}

void PutWord(std::string& out, uint64_t word) {
  out.append(reinterpret_cast<const char*>(&word), kWord);
}

std::span<const std::byte> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

bool Begins(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

bool IsHex(std::string_view text) {
  for (const char c : text) {
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return false;
  }
  return true;
}

// The codes that ReasonOf reads.
constexpr absl::StatusCode kTorn = absl::StatusCode::kOutOfRange;
constexpr absl::StatusCode kDamaged = absl::StatusCode::kDataLoss;
constexpr absl::StatusCode kForeign = absl::StatusCode::kNotFound;
constexpr absl::StatusCode kVersion = absl::StatusCode::kUnimplemented;

}  // namespace

uint64_t SegmentChecksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string WriteSegmentHeader(const CacheKey& key) {
  std::string out(kHeaderMagic);
  PutWord(out, kSegmentVersion);
  out += key.prefix + key.place + key.version;
  out.resize(kHeaderChecksumAt);
  PutWord(out, SegmentChecksum(BytesOf(out)));
  return out;
}

uint64_t SegmentEndBytes(uint64_t chunks, uint64_t frames) {
  return SegmentRound(chunks * kChunkBytes + frames * kFrameBytes + kSegmentTrailerBytes);
}

std::string WriteSegmentEnd(const SegmentIndex& index, uint64_t footer_offset,
                            std::string_view header) {
  std::string out;
  for (const SegmentChunk& chunk : index.chunks) {
    for (const uint64_t word : {chunk.offset, chunk.bytes, chunk.checksum, chunk.frames})
      PutWord(out, word);
  }
  for (const SegmentFrame& frame : index.frames) {
    for (const uint64_t word : {frame.count, frame.offset, frame.bytes}) PutWord(out, word);
  }
  std::string trailer(kTrailerMagic);
  PutWord(trailer, footer_offset);
  PutWord(trailer, index.chunks.size());
  PutWord(trailer, index.frames.size());
  PutWord(trailer, index.records);
  PutWord(trailer, SegmentChecksum(BytesOf(out)));
  PutWord(trailer, WordAt(BytesOf(header), kHeaderChecksumAt));
  PutWord(trailer, SegmentChecksum(BytesOf(trailer)));
  out.resize(SegmentRound(out.size() + kSegmentTrailerBytes) - kSegmentTrailerBytes);
  return out + trailer;
}

absl::StatusOr<CacheKey> ParseSegmentHeader(std::span<const std::byte> header) {
  if (header.size() < kSegmentAlignment) return MakeStatus(kTorn, "it has no whole header");
  if (!Begins(header, kHeaderMagic)) {
    return MakeStatus(kForeign, "it does not begin with '{}'", kHeaderMagic);
  }
  if (const uint64_t version = WordAt(header, kHeaderMagic.size()); version != kSegmentVersion) {
    return MakeStatus(kVersion, "its format is {}, this version reads {}", version,
                      kSegmentVersion);
  }
  if (WordAt(header, kHeaderChecksumAt) != SegmentChecksum(header.first(kHeaderChecksumAt))) {
    return MakeStatus(kDamaged, "its header's checksum is wrong");
  }
  const auto* text = reinterpret_cast<const char*>(header.data()) + kHeaderKeyAt;
  return CacheKey{.prefix = std::string(text, kHexDigits),
                  .place = std::string(text + kHexDigits, kHexDigits),
                  .version = std::string(text + 2 * kHexDigits, kHexDigits)};
}

absl::StatusOr<SegmentTrailer> ParseSegmentTrailer(std::span<const std::byte> bytes,
                                                   std::span<const std::byte> header,
                                                   uint64_t file_bytes) {
  if (bytes.size() != kSegmentTrailerBytes || !Begins(bytes, kTrailerMagic)) {
    return MakeStatus(kTorn, "it has no trailer");
  }
  constexpr size_t kChecked = kSegmentTrailerBytes - kWord;
  if (WordAt(bytes, kChecked) != SegmentChecksum(bytes.first(kChecked))) {
    return MakeStatus(kDamaged, "its trailer's checksum is wrong");
  }
  if (WordAt(bytes, 6 * kWord) != WordAt(header, kHeaderChecksumAt)) {
    return MakeStatus(kForeign, "header and trailer are of two files");
  }
  SegmentTrailer out{.footer_offset = WordAt(bytes, kWord),
                     .footer_bytes = 0,
                     .footer_checksum = WordAt(bytes, 5 * kWord),
                     .chunks = WordAt(bytes, 2 * kWord),
                     .frames = WordAt(bytes, 3 * kWord),
                     .records = WordAt(bytes, 4 * kWord)};
  // A footer has more bytes than chunks and frames, so these bounds keep what follows from
  // overflowing.
  if (out.chunks > file_bytes || out.frames > file_bytes ||
      out.footer_offset % kSegmentAlignment != 0 || out.footer_offset < kSegmentAlignment ||
      out.footer_offset > file_bytes ||
      SegmentEndBytes(out.chunks, out.frames) != file_bytes - out.footer_offset) {
    return MakeStatus(kTorn, "its trailer does not fit its {} bytes", file_bytes);
  }
  out.footer_bytes = out.chunks * kChunkBytes + out.frames * kFrameBytes;
  return out;
}

absl::StatusOr<SegmentIndex> ParseSegmentFooter(std::span<const std::byte> footer,
                                                const SegmentTrailer& trailer) {
  if (footer.size() != trailer.footer_bytes ||
      footer.size() != trailer.chunks * kChunkBytes + trailer.frames * kFrameBytes) {
    return MakeStatus(kTorn, "its footer is cut off");
  }
  if (SegmentChecksum(footer) != trailer.footer_checksum) {
    return MakeStatus(kDamaged, "its footer's checksum is wrong");
  }
  SegmentIndex index;
  size_t at = 0;
  const auto next = [&] { return WordAt(footer, std::exchange(at, at + kWord)); };
  uint64_t end = kSegmentAlignment;
  uint64_t frames = 0;
  for (uint64_t i = 0; i < trailer.chunks; ++i) {
    SegmentChunk& chunk = index.chunks.emplace_back();
    chunk = {.offset = next(), .bytes = next(), .checksum = next(), .frames = next()};
    if (chunk.offset != end || chunk.bytes > trailer.footer_offset - end ||
        chunk.frames > trailer.frames - frames) {
      return MakeStatus(kDamaged, "its chunk {} lies outside", i);
    }
    end += SegmentRound(chunk.bytes);
    if (end > trailer.footer_offset) return MakeStatus(kDamaged, "its chunk {} lies outside", i);
    frames += chunk.frames;
  }
  if (frames != trailer.frames) return MakeStatus(kDamaged, "its chunks lack frames");
  size_t chunk = 0;
  uint64_t left = index.chunks.empty() ? 0 : index.chunks[0].frames;
  for (uint64_t i = 0; i < trailer.frames; ++i) {
    while (left == 0) left = index.chunks[++chunk].frames;
    --left;
    SegmentFrame& frame = index.frames.emplace_back();
    frame = {.count = next(), .offset = next(), .bytes = next()};
    const uint64_t room = index.chunks[chunk].bytes;
    if (frame.count == 0 || __builtin_add_overflow(index.records, frame.count, &index.records) ||
        frame.offset % kFrameAlignment != 0 || frame.offset > room ||
        frame.bytes > room - frame.offset) {
      return MakeStatus(kDamaged, "its frame {} lies outside", i);
    }
  }
  if (index.records != trailer.records) return MakeStatus(kDamaged, "its frames lack records");
  return index;
}

CacheDrop ReasonOf(const absl::Status& status) {
  switch (status.code()) {
    case kTorn:
      return CacheDrop::kTorn;
    case kDamaged:
      return CacheDrop::kDamaged;
    case kForeign:
      return CacheDrop::kForeign;
    case kVersion:
      return CacheDrop::kVersion;
    default:
      return CacheDrop::kUnreadable;
  }
}

std::string SegmentFileName(const CacheKey& key, uint64_t serial) {
  return fmt::format("{}-{}-{}.{:016x}{}", key.prefix, key.place, key.version, serial, kSuffix);
}

bool ParseSegmentFileName(std::string_view name, CacheKey& key, uint64_t& serial) {
  constexpr size_t kKeyLength = 3 * kHexDigits + 2;
  constexpr size_t kSerialDigits = 16;
  if (name.size() != kKeyLength + 1 + kSerialDigits + kSuffix.size()) return false;
  if (!name.ends_with(kSuffix) || name[kHexDigits] != '-' || name[2 * kHexDigits + 1] != '-' ||
      name[kKeyLength] != '.') {
    return false;
  }
  const std::string_view prefix = name.substr(0, kHexDigits);
  const std::string_view place = name.substr(kHexDigits + 1, kHexDigits);
  const std::string_view version = name.substr(2 * kHexDigits + 2, kHexDigits);
  const std::string_view digits = name.substr(kKeyLength + 1, kSerialDigits);
  if (!IsHex(prefix) || !IsHex(place) || !IsHex(version) || !IsHex(digits)) return false;
  std::from_chars(digits.data(), digits.data() + digits.size(), serial, 16);
  key = {std::string(prefix), std::string(place), std::string(version)};
  return true;
}

}  // namespace headrace
