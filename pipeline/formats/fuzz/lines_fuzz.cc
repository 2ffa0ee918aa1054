#include "pipeline/formats/fuzz/reader_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  headrace::FuzzReader("text", "/a.txt", data, size);
  headrace::FuzzReader("jsonl", "/a.jsonl", data, size);
  return 0;
}
