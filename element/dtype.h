// The element types that Headrace moves, with their names and sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace headrace {

// Values are the wire's (proto/headrace/v1/frame.proto); never renumber.
enum class DType : uint8_t {
  kInvalid = 0,
  kBool = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUInt8 = 6,
  kUInt16 = 7,
  kUInt32 = 8,
  kUInt64 = 9,
  kFloat16 = 10,
  kBFloat16 = 11,
  kFloat32 = 12,
  kFloat64 = 13,
  kBytes = 14,
};

// Bytes per item; 0 for kBytes (its items differ) and kInvalid.
size_t ItemSize(DType dtype);
// "float32", "bytes", ...; "invalid" for kInvalid.
std::string_view Name(DType dtype);
// The type called `name`, or INVALID_ARGUMENT that lists the known names.
absl::StatusOr<DType> ParseDType(std::string_view name);

}  // namespace headrace
