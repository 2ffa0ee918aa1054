#include "element/dtype.h"

#include <array>
#include <string>

#include "common/status.h"

namespace headrace {
namespace {

struct Row {
  std::string_view name;
  size_t size;
};

constexpr std::array<Row, 15> kTypes = {{{"invalid", 0},
                                         {"bool", 1},
                                         {"int8", 1},
                                         {"int16", 2},
                                         {"int32", 4},
                                         {"int64", 8},
                                         {"uint8", 1},
                                         {"uint16", 2},
                                         {"uint32", 4},
                                         {"uint64", 8},
                                         {"float16", 2},
                                         {"bfloat16", 2},
                                         {"float32", 4},
                                         {"float64", 8},
                                         {"bytes", 0}}};

}  // namespace

size_t ItemSize(DType dtype) { return kTypes[static_cast<size_t>(dtype)].size; }

std::string_view Name(DType dtype) { return kTypes[static_cast<size_t>(dtype)].name; }

absl::StatusOr<DType> ParseDType(std::string_view name) {
  for (size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<DType>(i);
  }
  std::string known;
  for (size_t i = 1; i < kTypes.size(); ++i) {
    known += (i > 1 ? ", " : "") + std::string(kTypes[i].name);
  }
  return InvalidArgument("unknown dtype '{}'; known: {}", name, known);
}

}  // namespace headrace
