// Any bytes as a JSON record: no read beyond them, no cell that is not whole.
#include <cstdlib>

#include "element/dtype.h"
#include "pipeline/record/json_parser.h"

namespace {

const headrace::JsonParser& Parser() {
  static const auto* parser = [] {
    std::vector<headrace::JsonParser::Field> fields;
    const std::pair<const char*, const char*> all[] = {
        {"a", "int64=0"},       {"b", "bytes="},       {"c", "float32[]="},
        {"d.e", "bool=false"},  {"/d/0", "bytes[]="},  {"f", "uint8[2]=1"},
        {"g.h.i", "float16=0"}, {"j", "int32[?, 2]="}, {"k", "bytes[1]="}};
    for (const auto& [path, type] : all) fields.push_back({path, *headrace::ParseFieldType(type)});
    return new headrace::JsonParser(*headrace::JsonParser::Create(fields));
  }();
  return *parser;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto& fields = Parser().fields();
  headrace::Arena arena;
  headrace::JsonParser::Scratch scratch;
  std::vector<headrace::Cell> cells(fields.size());
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!Parser().Parse(bytes, arena, scratch, cells).ok()) return 0;
  uint64_t sum = 0;  // touches every byte of every cell
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto& type = fields[i].type;
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
