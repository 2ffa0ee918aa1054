// Any bytes, as if from a peer: hellos, heads and frames are refused or whole, and nothing larger
// than the limits is asked of the pool.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "transport/tcp/message_reader.h"

namespace {

using namespace headrace;
using namespace headrace::tcp;

constexpr size_t kMaxFrame = 64 << 10;

class Sink final : public MessageSink {
 public:
  absl::Status OnHello(Hello hello) override {
    if (hello.body.size() > kMaxBodyBytes) std::abort();
    return absl::OkStatus();
  }
  absl::Status OnMessage(const MessageHead& head, std::string_view body) override {
    if (head.size != body.size() || body.size() > kMaxBodyBytes) std::abort();
    return absl::OkStatus();
  }
  absl::Status OnFrame(FrameBuffer frame) override {
    if (frame.size > kMaxFrame) std::abort();
    volatile std::byte last{};
    if (frame.size > 0) last = frame.data.get()[frame.size - 1];
    (void)last;
    return absl::OkStatus();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t chunk = 1 + data[0] * 16;
  FramePool pool(1 << 20);
  MessageReader reader({.max_frame_bytes = kMaxFrame, .pool = &pool});
  reader.set_checksums((data[1] & 1) != 0);
  Sink sink;
  // A hello that is in order, so that the rest is looked at, too.
  std::string wire = (data[1] & 2) != 0 ? EncodeHello({}) : "";
  wire.append(reinterpret_cast<const char*>(data) + 2, size - 2);
  for (std::string_view left = wire; !left.empty();) {
    iovec pieces[2];
    const size_t n = reader.Space(pieces);
    size_t fed = 0;
    for (size_t i = 0; i < n && fed < chunk; ++i) {
      const size_t part = std::min({chunk - fed, left.size(), pieces[i].iov_len});
      if (pieces[i].iov_len == 0) std::abort();
      std::memcpy(pieces[i].iov_base, left.data(), part);
      left.remove_prefix(part);
      fed += part;
    }
    if (!reader.Received(fed, sink).ok()) return 0;
  }
  return 0;
}
