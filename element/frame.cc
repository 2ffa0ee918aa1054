#include "element/frame.h"

#include <cstdlib>
#include <cstring>

#include "common/status.h"

namespace headrace {

absl::StatusOr<std::shared_ptr<std::byte>> AllocateFrameBytes(size_t size) {
  const size_t rounded = (size + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
  void* memory = std::aligned_alloc(kFrameAlignment, rounded == 0 ? kFrameAlignment : rounded);
  if (memory == nullptr) return ResourceExhausted("no memory for a frame of {} bytes", size);
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                    [](std::byte* p) { std::free(p); });
}

void CopyFrame(const Frame& frame, std::byte* to) {
  std::memcpy(to, frame.header.data(), frame.header.size());
  to += frame.header.size();
  for (const FrameSlice& slice : frame.payload) {
    std::memcpy(to, slice.data, slice.size);
    to += slice.size;
  }
}

void CopyFrame(const FrameBuffer& frame, std::byte* to) {
  if (frame.pieces.empty()) std::memcpy(to, frame.data.get(), frame.size);
  for (const FrameSlice& piece : frame.pieces) {
    std::memcpy(to, piece.data, piece.size);
    to += piece.size;
  }
}

}  // namespace headrace
