#include <cstdio>
#include <cstring>

#include "pipeline/formats/fuzz/reader_fuzz.h"
#include "pipeline/formats/reading/tar_header.h"

namespace {

// Right checksums for all blocks that say they are headers.
void Repair(std::string& bytes) {
  for (size_t at = 0; at + headrace::kTarBlock <= bytes.size(); at += headrace::kTarBlock) {
    char* block = bytes.data() + at;
    if (std::memcmp(block + 257, "ustar", 5) != 0) continue;
    unsigned sum = 8 * ' ';
    for (size_t i = 0; i < headrace::kTarBlock; ++i) {
      if (i < 148 || i >= 156) sum += static_cast<unsigned char>(block[i]);
    }
    std::snprintf(block + 148, 7, "%06o", sum);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  headrace::FuzzReader("webdataset", "/a.tar", data, size, Repair,
                       {{"missing", headrace::ToValue(std::string("empty"))}});
  return 0;
}
