// Any bytes as a subprocess's answer: nothing but a status may come of them, and a cell that is
// accepted can be read from end to end.
#include <cstdint>
#include <cstring>
#include <vector>

#include "pipeline/udf/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  if (size < 2) return 0;
  FunctionSpec spec;
  spec.kind = static_cast<FunctionKind>(data[0] % 3);
  spec.inputs = {{"a", DType::kInt32, Shape{-1}}, {"b", DType::kBytes, {}}};
  spec.outputs = {{"a", DType::kInt32, Shape{-1}},
                  {"b", DType::kBytes, Shape::Unknown()},
                  {"c", DType::kFloat64, Shape{2}}};
  const size_t rows = data[1] % 5;
  std::vector<int64_t> aligned(size / 8 + 1);
  std::memcpy(aligned.data(), data + 2, size - 2);
  Arena arena;
  const auto answer =
      udf::ReadAnswer(std::as_bytes(std::span(aligned)).first(size - 2), spec, rows, arena);
  if (!answer.ok()) return 0;
  uint64_t sum = 0;
  for (size_t f = 0; f < answer->columns.size(); ++f) {
    for (const Cell& cell : answer->columns[f].cells) {
      for (size_t i = 0; i < cell.bytes; ++i) sum += static_cast<uint8_t>(cell.data[i]);
      if (spec.outputs[f].dtype != DType::kBytes) continue;
      for (int64_t i = 0; i < cell.shape.items(); ++i) {
        for (const char c : cell.string(static_cast<size_t>(i))) sum += static_cast<uint8_t>(c);
      }
    }
  }
  return static_cast<int>(sum & 0);
}
