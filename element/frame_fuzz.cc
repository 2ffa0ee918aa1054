// Any bytes: FrameView::Parse refuses them or gives views that stay inside of the frame.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "element/frame_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  auto bytes = AllocateFrameBytes(size);
  if (!bytes.ok()) return 0;
  if (size != 0) std::memcpy(bytes->get(), data, size);
  auto view = FrameView::Parse({*bytes, size}, {.max_rows = 1 << 16});
  if (!view.ok()) return 0;
  volatile uint8_t sink = 0;
  for (size_t row = 0; row < (*view)->rows(); ++row) {
    for (size_t i = 0; i < (*view)->columns(); ++i) {
      const TensorView t = (*view)->at(i, row);
      const size_t items = static_cast<size_t>(t.shape.items());
      if (t.dtype == DType::kBytes && items > 0 && !t.string(items - 1).empty()) {
        sink = static_cast<uint8_t>(t.string(items - 1).back());
      } else if (t.bytes > 0) {
        sink = static_cast<uint8_t>(t.data[t.bytes - 1]);
      }
    }
  }
  std::vector<Run> runs;
  (*view)->AppendRuns(0, (*view)->rows(), runs);
  return 0;
}
