// Protobuf's wire format (protobuf.dev/programming-guides/encoding), read in place: nothing is
// copied, nothing is allocated, every step is checked against the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace headrace {

enum class WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLength = 2,
  kGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5
};

// Over one message's bytes. Each read returns false when the bytes are damaged or at an end too
// early; the position then says where, and the reader is of no further use.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool done() const { return at_ == end_; }
  const char* position() const { return at_; }

  bool Varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) return false;
      const auto byte = static_cast<uint8_t>(*at_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << (shift & 63);
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool Tag(uint32_t& field, WireType& type) {
    uint64_t tag = 0;
    if (!Varint(tag) || tag > UINT32_MAX || tag < 8 || (tag & 7) > 5) return false;
    field = static_cast<uint32_t>(tag >> 3);
    type = static_cast<WireType>(tag & 7);
    return true;
  }
  bool Length(std::string_view& bytes) {
    uint64_t size = 0;
    if (!Varint(size) || size > static_cast<uint64_t>(end_ - at_)) return false;
    bytes = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }
  bool Fixed32(uint32_t& value) {
    if (end_ - at_ < 4) return false;
    std::memcpy(&value, at_,
                4);  // little-endian, as this machine (static_assert in the .cc of the parser)
    at_ += 4;
    return true;
  }
  // Past the value of a field that nobody asked for; a group with all that is in it.
  bool Skip(uint32_t field, WireType type) {
    uint64_t number = 0;
    std::string_view bytes;
    switch (type) {
      case WireType::kVarint:
        return Varint(number);
      case WireType::kLength:
        return Length(bytes);
      case WireType::kFixed32:
        return Advance(4);
      case WireType::kFixed64:
        return Advance(8);
      case WireType::kGroup:
        return SkipGroup(field);
      default:
        return false;
    }
  }

 private:
  static constexpr int kMaxDepth = 100;  // protobuf's own limit

  bool Advance(ptrdiff_t bytes) {
    if (end_ - at_ < bytes) return false;
    at_ += bytes;
    return true;
  }
  bool SkipGroup(uint32_t field) {
    uint32_t open[kMaxDepth];
    int depth = 0;
    open[depth++] = field;
    while (depth > 0) {
      WireType type{};
      if (!Tag(field, type)) return false;
      if (type == WireType::kGroup) {
        if (depth == kMaxDepth) return false;
        open[depth++] = field;
      } else if (type == WireType::kEndGroup) {
        if (open[--depth] != field) return false;
      } else if (!Skip(field, type)) {
        return false;
      }
    }
    return true;
  }

  const char* at_;
  const char* end_;
};

}  // namespace headrace
