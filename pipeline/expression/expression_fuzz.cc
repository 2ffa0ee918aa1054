// Any text as a condition: an error or a value, never a crash; evaluated over rows with extreme
// values.
#include <limits>

#include "pipeline/expression/expression.h"

namespace {

using namespace headrace;  // NOLINT: a program of its own

const Block& Rows() {
  static const Block* block = [] {
    auto* rows = new Block(
        std::make_shared<const Schema>(std::vector<Field>{{"i", DType::kInt64, {}},
                                                          {"u", DType::kUInt64, {}},
                                                          {"f", DType::kFloat32, {}},
                                                          {"b", DType::kBool, {}},
                                                          {"s", DType::kBytes, {}},
                                                          {"v", DType::kInt8, {Shape::kDynamic}}}));
    const int64_t integers[] = {0, -1, std::numeric_limits<int64_t>::min(),
                                std::numeric_limits<int64_t>::max()};
    for (uint64_t row = 0; row < 4; ++row) {
      Arena& arena = rows->arena();
      const Cell cells[] = {
          MakeScalarCell<int64_t>(arena, integers[row]),
          MakeScalarCell<uint64_t>(arena, static_cast<uint64_t>(integers[row])),
          MakeScalarCell<float>(arena, row == 3 ? std::numeric_limits<float>::quiet_NaN() : 1.5f),
          MakeScalarCell<bool>(arena, row % 2 == 0),
          MakeBytesCell(arena, "text"),
          MakeCell<int8_t>(arena, {}, Shape{0})};
      rows->AppendRow({RunOf({.index = row})}, cells);
    }
    return rows;
  }();
  return *block;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto condition =
      Condition::Compile({reinterpret_cast<const char*>(data), size}, Rows().schema());
  if (!condition.ok()) return 0;
  std::vector<uint8_t> holds;
  condition->Evaluate(Rows(), holds, [](size_t, absl::Status) {});
  return 0;
}
