// Makes tf.train.Examples: what TFRecord files hold by custom, a map of named lists of bytes, int64
// or float.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "element/block.h"
#include "headrace/v1/example.pb.h"

namespace headrace {

// One Example at a time, used again for the next. Adding a name a second time replaces it.
class ExampleEncoder {
 public:
  void AddBytes(std::string_view name, std::span<const std::string_view> values);
  void AddBytes(std::string_view name, std::string_view value) { AddBytes(name, {&value, 1}); }
  void AddInt64(std::string_view name, std::span<const int64_t> values);
  void AddFloat(std::string_view name, std::span<const float> values);
  // Bools and integers become int64, float32 and float64 float (float64 loses digits), bytes bytes;
  // the shape is not kept. INVALID_ARGUMENT for other types, and for a uint64 that is no int64.
  absl::Status AddCell(const Field& field, const Cell& cell);

  // The wire format, features sorted by name: equal Examples give equal bytes. Starts over.
  // OUT_OF_RANGE past 2 GiB, which no reader of Examples takes.
  absl::StatusOr<std::string> Take();

 private:
  v1::Feature& Feature(std::string_view name);

  v1::Example example_;
};

// A whole record.
absl::StatusOr<std::string> EncodeExample(const Schema& schema, std::span<const Cell> cells);

}  // namespace headrace
