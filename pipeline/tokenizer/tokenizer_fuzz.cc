// Any bytes as a model, any bytes as a text: the first byte says where one ends.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pipeline/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t cut = all.size() * data[0] / 256;
  const auto tokenizer = headrace::Tokenizer::Create(all.substr(0, cut));
  if (!tokenizer.ok()) return 0;
  headrace::Tokenizer::Scratch scratch;
  std::vector<int32_t> ids;
  tokenizer->Encode(all.substr(cut), scratch, ids);
  return 0;
}
