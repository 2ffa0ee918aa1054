// For tests: the bytes of a tf.train.Example, written field by field, right or wrong as the test
// wants.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::test_example {

inline std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string Tag(uint32_t field, uint32_t wire_type) {
  return Varint(field << 3 | wire_type);
}
inline std::string Message(uint32_t field, std::string_view bytes) {
  return Tag(field, 2) + Varint(bytes.size()) + std::string(bytes);
}
inline std::string Raw(const void* data, size_t bytes) {
  return {static_cast<const char*>(data), bytes};
}

// The Feature messages.
inline std::string BytesFeature(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += Message(1, value);
  return Message(1, list);
}
inline std::string FloatFeature(const std::vector<float>& values, bool packed = true) {
  std::string list;
  for (float value : values) list += (packed ? "" : Tag(1, 5)) + Raw(&value, sizeof(value));
  return Message(2, packed ? Message(1, list) : list);
}
inline std::string Int64Feature(const std::vector<int64_t>& values, bool packed = true) {
  std::string list;
  for (int64_t value : values)
    list += (packed ? "" : Tag(1, 0)) + Varint(static_cast<uint64_t>(value));
  return Message(3, packed ? Message(1, list) : list);
}

inline std::string Entry(std::string_view name, std::string_view feature) {
  return Message(1, Message(1, name) + Message(2, feature));
}
// Of entries.
inline std::string Example(const std::vector<std::string>& entries) {
  std::string features;
  for (const std::string& entry : entries) features += entry;
  return Message(1, features);
}

}  // namespace headrace::test_example
