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

namespace {

// An empty slice may have no memory behind it, which memcpy must not be given.
std::byte* Append(const void* data, size_t size, std::byte* to) {
  if (size > 0) std::memcpy(to, data, size);
  return to + size;
}

}  // namespace

void CopyFrame(const Frame& frame, std::byte* to) {
  to = Append(frame.header.data(), frame.header.size(), to);
  for (const FrameSlice& slice : frame.payload) to = Append(slice.data, slice.size, to);
}

void CopyFrame(const FrameBuffer& frame, std::byte* to) {
  if (frame.pieces.empty()) Append(frame.data.get(), frame.size, to);
  for (const FrameSlice& piece : frame.pieces) to = Append(piece.data, piece.size, to);
}

}  // namespace headrace
