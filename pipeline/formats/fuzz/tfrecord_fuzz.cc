#include <algorithm>
#include <cstring>

#include "pipeline/formats/fuzz/reader_fuzz.h"
#include "pipeline/formats/reading/tfrecord_framing.h"

namespace {

// Records of the lengths that the bytes name, as far as they fit.
void Repair(std::string& bytes) {
  using namespace headrace;
  auto* data = reinterpret_cast<std::byte*>(bytes.data());
  for (size_t at = 0; bytes.size() - at >= kTfrecordHeaderBytes + kTfrecordFooterBytes;) {
    const size_t most = bytes.size() - at - kTfrecordHeaderBytes - kTfrecordFooterBytes;
    const size_t length = std::min<size_t>(LoadU64(data + at) % 512, most);
    WriteTfrecordHeader(length, data + at);
    const uint32_t crc = MaskedCrc32c({data + at + kTfrecordHeaderBytes, length});
    std::memcpy(data + at + kTfrecordHeaderBytes + length, &crc, sizeof(crc));
    at += length + kTfrecordHeaderBytes + kTfrecordFooterBytes;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  headrace::FuzzReader("tfrecord", "/a.tfrecord", data, size, Repair);
  return 0;
}
