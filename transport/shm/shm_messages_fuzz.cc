// Any bytes on the Unix socket: the reader and the parsers refuse them, or give messages whose
// numbers can be relied on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "transport/shm/shm_messages.h"

namespace {

constexpr size_t kMaxFrame = 1 << 20;

void ParseAny(const headrace::ShmMessageReader::Message& message) {
  using namespace headrace;
  absl::Status status;
  switch (message.type) {
    case ShmMessage::kWelcome:
      (void)ParseWelcome(message.body);
      break;
    case ShmMessage::kSegment:
      (void)ParseSegment(message.body);
      break;
    case ShmMessage::kFrame: {
      const auto frame = ParseFrame(message.body, kMaxFrame);
      if (!frame.ok()) break;
      uint64_t total = 0;
      for (const FramePlace& place : frame->places) {
        if (place.segment == FramePlace::kInline && place.offset + place.size > frame->inline_bytes)
          std::abort();
        total += place.size;
      }
      if (total != frame->size || frame->size > kMaxFrame) std::abort();
      break;
    }
    case ShmMessage::kRetire:
      (void)ParseRetire(message.body);
      break;
    case ShmMessage::kEnd:
      (void)ParseEnd(message.body, status);
      break;
    case ShmMessage::kOpen:
      (void)ParseOpen(message.body);
      break;
    case ShmMessage::kGrant:
      (void)ParseGrant(message.body);
      break;
    case ShmMessage::kReturn:
      (void)ParseReturn(message.body);
      break;
    case ShmMessage::kClose:
      (void)ParseClose(message.body);
      break;
    case ShmMessage::kBye:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  ShmMessageReader reader;
  const size_t step = size > 0 ? 1 + data[0] * 16 : 1;  // how the bytes come in
  while (size > 0) {
    const std::span<std::byte> space = reader.Space();
    if (space.empty()) std::abort();
    const size_t n = std::min({space.size(), size, step});
    std::memcpy(space.data(), data, n);
    reader.Committed(n);
    data += n;
    size -= n;
    while (true) {
      const auto message = reader.Next();
      if (!message.ok()) return 0;
      if (!*message) break;
      ParseAny(**message);
    }
  }
  return 0;
}
