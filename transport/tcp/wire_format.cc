#include "transport/tcp/wire_format.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/status.h"

namespace headrace::tcp {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

constexpr char kMagic[4] = {'H', 'R', 'T', '1'};

template <typename T>
void Put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}
template <typename T>
T Get(HeadView head, size_t at) {
  T value;
  std::memcpy(&value, head.data() + at, sizeof(T));
  return value;
}

}  // namespace

std::string EncodeHello(const Hello& hello) {
  const size_t size = std::min(hello.body.size(), kMaxBodyBytes);
  Head head{};
  std::memcpy(head.data(), kMagic, sizeof(kMagic));
  Put(head.data() + 4, hello.version);
  Put(head.data() + 8, hello.features);
  Put(head.data() + 12, static_cast<uint32_t>(size));
  Put(head.data() + 16, hello.value);
  std::string out(reinterpret_cast<const char*>(head.data()), head.size());
  out.append(hello.body, 0, size);
  return out;
}

absl::StatusOr<Hello> ParseHello(HeadView head, size_t& body_size) {
  if (std::memcmp(head.data(), kMagic, sizeof(kMagic)) != 0)
    return InvalidArgument("the peer does not speak Headrace's tcp transport");
  Hello hello;
  hello.version = Get<uint16_t>(head, 4);
  hello.features = Get<uint32_t>(head, 8);
  hello.value = Get<uint64_t>(head, 16);
  body_size = Get<uint32_t>(head, 12);
  if (body_size > kMaxBodyBytes)
    return InvalidArgument("a hello of {} bytes; at most {} are allowed", body_size, kMaxBodyBytes);
  return hello;
}

Head EncodeHead(const MessageHead& head) {
  Head out{};
  out[0] = static_cast<std::byte>(head.type);
  out[1] = static_cast<std::byte>(head.codec);
  Put(out.data() + 8, head.size);
  Put(out.data() + 16, head.value);
  Put(out.data() + 24, head.checksum);
  return out;
}

absl::StatusOr<MessageHead> ParseHead(HeadView head, uint64_t max_frame_bytes) {
  MessageHead out;
  const auto type = static_cast<uint8_t>(head[0]);
  const auto codec = static_cast<uint8_t>(head[1]);
  if (type < static_cast<uint8_t>(MessageType::kOpen) ||
      type > static_cast<uint8_t>(MessageType::kAlive) || Get<uint16_t>(head, 2) != 0 ||
      Get<uint32_t>(head, 4) != 0) {
    return InvalidArgument("bytes that are no message of the tcp transport");
  }
  out.type = static_cast<MessageType>(type);
  out.codec = static_cast<Codec>(codec);
  out.size = Get<uint64_t>(head, 8);
  out.value = Get<uint64_t>(head, 16);
  out.checksum = Get<uint64_t>(head, 24);
  if (out.type != MessageType::kFrame) {
    if (out.size > kMaxBodyBytes || codec != 0)
      return InvalidArgument("a message of {} bytes; at most {} are allowed", out.size,
                             kMaxBodyBytes);
    return out;
  }
  if (max_frame_bytes == 0) return InvalidArgument("a frame where none is expected");
  if (codec > static_cast<uint8_t>(Codec::kZstd))
    return InvalidArgument("a frame with the unknown codec {}", codec);
  if (out.value > max_frame_bytes) {
    return OutOfRange(
        "a frame of {} bytes is over transport.max_frame_bytes = {}; raise it for "
        "this client",
        out.value, max_frame_bytes);
  }
  // Compressed frames are smaller than plain ones, or they would not be sent so.
  if (codec == 0 ? out.size != out.value : out.size >= out.value)
    return InvalidArgument("a frame's sizes contradict each other: {} bytes for {}", out.size,
                           out.value);
  return out;
}

}  // namespace headrace::tcp
