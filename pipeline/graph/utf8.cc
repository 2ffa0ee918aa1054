#include "pipeline/graph/utf8.h"

#include <cstdint>

namespace headrace {
namespace {

// Length of the well-formed sequence that `bytes` begins with, or 0.
size_t SequenceLength(std::string_view bytes) {
  const auto at = [&](size_t i) {
    return i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : uint8_t{0};
  };
  const uint8_t lead = at(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : (lead & 0xF0) == 0xE0        ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && at(1) < 0xA0) || (lead == 0xF0 && at(1) < 0x90);
  const bool surrogate = lead == 0xED && at(1) >= 0xA0;
  const bool beyond = lead == 0xF4 && at(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

size_t FirstNonUtf8(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const size_t length = SequenceLength(bytes.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

size_t FirstNonText(std::string_view bytes) {
  const size_t bad = FirstNonUtf8(bytes);
  for (size_t i = 0; i < bytes.size() && i < bad; ++i) {
    const auto c = static_cast<uint8_t>(bytes[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) return i;
  }
  return bad;
}

}  // namespace headrace
