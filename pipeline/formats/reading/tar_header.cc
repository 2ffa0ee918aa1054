#include "pipeline/formats/reading/tar_header.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kMaxPayload = 1 << 20;  // bytes of one extended header
constexpr char kGnuSparseMap = 1;        // our own mark for the blocks that follow an 'S' header

// Field positions of a ustar header.
constexpr size_t kSizeAt = 124;
constexpr size_t kSizeBytes = 12;
constexpr size_t kChecksumAt = 148;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kTypeAt = 156;
constexpr size_t kMagicAt = 257;
constexpr size_t kPrefixAt = 345;
constexpr size_t kPrefixBytes = 155;
constexpr size_t kGnuExtendedAt = 482;
constexpr size_t kGnuMapExtendedAt = 504;

std::string_view Text(std::span<const std::byte> block, size_t at, size_t bytes) {
  const std::string_view field(reinterpret_cast<const char*>(block.data()) + at, bytes);
  return field.substr(0, field.find('\0'));
}

// Octal digits, spaces around them; an empty field is 0.
std::optional<uint64_t> Octal(std::span<const std::byte> block, size_t at, size_t bytes) {
  std::string_view field = Text(block, at, bytes);
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  uint64_t value = 0;
  for (char c : field) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

std::optional<uint64_t> Size(std::span<const std::byte> block) {
  const unsigned first = std::to_integer<unsigned>(block[kSizeAt]);
  if ((first & 0x80) == 0) return Octal(block, kSizeAt, kSizeBytes);
  // GNU's base 256 for sizes past 8 GiB; the top bits must be clear.
  if (first != 0x80) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 1; i < kSizeBytes; ++i) {
    if (value >> 55 != 0) return std::nullopt;
    value = value << 8 | std::to_integer<uint64_t>(block[kSizeAt + i]);
  }
  return value;
}

bool ChecksumIsRight(std::span<const std::byte> block) {
  const auto stored = Octal(block, kChecksumAt, kChecksumBytes);
  if (!stored) return false;
  uint64_t as_unsigned = 0;
  int64_t as_signed = 0;  // some old writers summed signed chars
  for (size_t i = 0; i < kTarBlock; ++i) {
    const bool inside = i >= kChecksumAt && i < kChecksumAt + kChecksumBytes;
    const auto c =
        inside ? static_cast<unsigned char>(' ') : std::to_integer<unsigned char>(block[i]);
    as_unsigned += c;
    as_signed += static_cast<signed char>(c);
  }
  return *stored == as_unsigned || static_cast<int64_t>(*stored) == as_signed;
}

absl::Status Damaged(std::string_view what) {
  return DataLoss("{}, so the members behind it cannot be found; write the archive again", what);
}

void PutOctal(uint64_t value, size_t at, size_t digits, std::span<std::byte> block) {
  for (size_t i = digits; i-- > 0; value >>= 3)
    block[at + i] = static_cast<std::byte>('0' + (value & 7));
}
void PutText(std::string_view text, size_t at, std::span<std::byte> block) {
  std::memcpy(block.data() + at, text.data(), text.size());
}

}  // namespace

void WriteTarHeader(std::string_view name, uint64_t size, char type, std::span<std::byte> block) {
  std::fill(block.begin(), block.end(), std::byte{0});
  PutText(name.substr(0, kTarNameBytes), 0, block);
  PutOctal(0644, 100, 7, block);  // mode
  PutOctal(0, 108, 7, block);     // owner
  PutOctal(0, 116, 7, block);     // group
  if (size < uint64_t{1} << 33) {
    PutOctal(size, kSizeAt, kSizeBytes - 1, block);
  } else {
    block[kSizeAt] = std::byte{0x80};
    for (size_t i = 0; i < 8; ++i) {
      block[kSizeAt + kSizeBytes - 1 - i] = static_cast<std::byte>(size >> (8 * i));
    }
  }
  PutOctal(0, 136, 11, block);  // modification time
  block[kTypeAt] = static_cast<std::byte>(type);
  PutText(std::string_view("ustar\0"
                           "00",
                           8),
          kMagicAt, block);
  PutText("        ", kChecksumAt, block);
  uint64_t sum = 0;
  for (std::byte b : block) sum += std::to_integer<uint64_t>(b);
  PutOctal(sum, kChecksumAt, 6, block);
  block[kChecksumAt + 6] = std::byte{0};
}

absl::Status TarHeaderParser::Header(std::span<const std::byte> block, Step& step) {
  if (std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; })) {
    step = Step::kEnd;
    return absl::OkStatus();
  }
  if (!ChecksumIsRight(block)) return Damaged("the checksum of a tar header is wrong");
  const auto size = Size(block);
  if (!size || *size > INT64_MAX / 2) return Damaged("a tar header holds no valid size");
  const char type = static_cast<char>(block[kTypeAt]);
  if (type == 'x' || type == 'g' || type == 'L' || type == 'K' || type == 'X') {
    if (*size > kMaxPayload) {
      return Damaged(fmt::format("an extended tar header of {} bytes is over the limit of {}",
                                 *size, kMaxPayload));
    }
    extended_ = type;
    payload_ = static_cast<size_t>(*size);
    step = Step::kExtended;
    return absl::OkStatus();
  }
  return Finish(block, *size, type, step);
}

absl::Status TarHeaderParser::Finish(std::span<const std::byte> block, uint64_t size, char type,
                                     Step& step) {
  // Which types are files, and which have data, as Python's tarfile sees it.
  const bool no_data = type >= '1' && type <= '6';
  member_.regular = type == '0' || type == '\0' || type == '7' || type == 'S';
  member_.sparse = type == 'S' || pax_sparse_;
  member_.size = no_data ? 0 : pax_size_.value_or(global_size_.value_or(size));
  if (pax_path_ || long_name_ || global_path_) {
    member_.name = pax_path_ ? *pax_path_ : long_name_ ? *long_name_ : *global_path_;
  } else {
    member_.name.clear();
    // GNU's own magic ("ustar  ") has other things in the prefix's place.
    if (std::memcmp(block.data() + kMagicAt, "ustar\0", 6) == 0) {
      if (const std::string_view prefix = Text(block, kPrefixAt, kPrefixBytes); !prefix.empty()) {
        member_.name.append(prefix).append("/");
      }
    }
    member_.name.append(Text(block, 0, kTarNameBytes));
  }
  if (type == '\0' && member_.name.ends_with('/')) member_.regular = false;
  long_name_.reset();
  pax_path_.reset();
  pax_size_.reset();
  pax_sparse_ = false;
  step = Step::kMember;
  if (type == 'S' && block[kGnuExtendedAt] != std::byte{0}) {
    extended_ = kGnuSparseMap;
    payload_ = kTarBlock;
    step = Step::kExtended;
  }
  return absl::OkStatus();
}

absl::Status TarHeaderParser::Extended(std::span<const std::byte> payload, Step& step) {
  const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
  step = Step::kExtended;
  switch (extended_) {
    case kGnuSparseMap:
      if (payload[kGnuMapExtendedAt] == std::byte{0}) step = Step::kMember;
      return absl::OkStatus();
    case 'L':
      long_name_ = std::string(text.substr(0, text.find('\0')));
      break;
    case 'x':
    case 'X':
      HR_RETURN_IF_ERROR(ParsePax(text, false));
      break;
    case 'g':
      HR_RETURN_IF_ERROR(ParsePax(text, true));
      break;
    default:
      break;  // 'K': where a link points
  }
  payload_ = 0;
  return absl::OkStatus();
}

absl::Status TarHeaderParser::ParsePax(std::string_view records, bool global) {
  // "27 path=images/0001.jpg\n": the length counts itself.
  while (!records.empty() && records.front() != '\0') {
    size_t length = 0;
    const auto [end, error] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(end - records.data());
    if (error != std::errc() || digits >= records.size() || *end != ' ' || length <= digits + 1 ||
        length > records.size() || records[length - 1] != '\n') {
      return Damaged("a pax header holds a record without valid length");
    }
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return Damaged("a pax header holds a record without '='");
    HR_RETURN_IF_ERROR(PaxRecord(record.substr(0, equals), record.substr(equals + 1), global));
    records.remove_prefix(length);
  }
  return absl::OkStatus();
}

absl::Status TarHeaderParser::PaxRecord(std::string_view key, std::string_view value, bool global) {
  if (key == "path" || key == "GNU.sparse.name") {
    (global ? global_path_ : pax_path_) = std::string(value);
  } else if (key == "size") {
    uint64_t size = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (error != std::errc() || end != value.data() + value.size() || size > INT64_MAX / 2) {
      return Damaged("a pax header holds no valid size");
    }
    (global ? global_size_ : pax_size_) = size;
  }
  if (key.starts_with("GNU.sparse.")) pax_sparse_ = true;
  return absl::OkStatus();
}

}  // namespace headrace
