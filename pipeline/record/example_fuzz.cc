// Any bytes as a tf.train.Example: no read beyond them, no cell that is not whole.
#include <cstdlib>

#include "element/dtype.h"
#include "pipeline/record/example_parser.h"

namespace {

const headrace::ExampleParser& Parser() {
  static const auto* parser = [] {
    using headrace::ParseFieldType;
    std::vector<headrace::ExampleParser::Feature> features;
    const char* const types[] = {"bytes=x",    "int64=1",   "float32=0.5",
                                 "bytes[]=",   "int64[]=",  "float32[]=",
                                 "int64[2]=3", "bytes[2]=", "float32[?, 2]="};
    char name = 'a';
    for (const char* type : types)
      features.push_back({std::string(1, name++), *ParseFieldType(type)});
    return new headrace::ExampleParser(*headrace::ExampleParser::Create(features));
  }();
  return *parser;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto& features = Parser().features();
  headrace::Arena arena;
  headrace::ExampleParser::Scratch scratch;
  std::vector<headrace::Cell> cells(features.size());
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!Parser().Parse(bytes, arena, scratch, cells).ok()) return 0;
  uint64_t sum = 0;  // touches every byte of every cell
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto& type = features[i].type;
    if (!type.shape.Admits(cells[i].shape)) std::abort();
    const auto items = static_cast<size_t>(cells[i].shape.items());
    if (type.dtype == headrace::DType::kBytes) {
      for (size_t k = 0; k < items; ++k) {
        for (char c : cells[i].string(k)) sum += static_cast<uint8_t>(c);
      }
      continue;
    }
    if (cells[i].bytes != items * headrace::ItemSize(type.dtype)) std::abort();
    for (std::byte b : cells[i].as<std::byte>()) sum += static_cast<uint8_t>(b);
  }
  return sum == UINT64_MAX ? 1 : 0;
}
