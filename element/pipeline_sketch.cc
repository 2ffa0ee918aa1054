#include "element/pipeline_sketch.h"

#include <string>

#include "fmt/format.h"

namespace headrace {
namespace {

constexpr size_t kLongText = 200;
constexpr size_t kLongList = 1000;  // bytes of the files' names, all together

// FNV-1a, 64 bits: the same in every process. Not against adversaries, who write their own state.
uint64_t HashOf(const std::string& text, uint64_t hash = 0xcbf29ce484222325ull) {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return hash;
}

void Shorten(v1::ValueMap& map);

void Shorten(v1::Value& value) {
  if (value.kind_case() == v1::Value::kText && value.text().size() > kLongText) {
    value.set_text(
        fmt::format("{} bytes, hash {:016x}", value.text().size(), HashOf(value.text())));
  } else if (value.kind_case() == v1::Value::kList) {
    for (v1::Value& item : *value.mutable_list()->mutable_items()) Shorten(item);
  } else if (value.kind_case() == v1::Value::kMap) {
    Shorten(*value.mutable_map());
  }
}

void Shorten(v1::ValueMap& map) {
  for (v1::NamedValue& entry : *map.mutable_entries()) Shorten(*entry.mutable_value());
}

}  // namespace

v1::PipelineDef SketchOf(const v1::PipelineDef& pipeline) {
  v1::PipelineDef sketch = pipeline;
  sketch.clear_name();
  sketch.clear_errors();
  v1::Source& source = *sketch.mutable_source();
  source.clear_location();
  size_t length = 0;
  uint64_t hash = HashOf("");
  for (const std::string& file : source.files()) {
    length += file.size();
    hash = HashOf(file + '\n', hash);
  }
  if (length > kLongList) {
    const int count = source.files_size();
    source.clear_files();
    source.add_files(fmt::format("{} names, hash {:016x}", count, hash));
  }
  Shorten(*source.mutable_params());
  for (v1::Step& step : *sketch.mutable_steps()) {
    step.clear_location();
    Shorten(*step.mutable_params());
  }
  return sketch;
}

}  // namespace headrace
