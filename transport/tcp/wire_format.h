// What the two ends of a tcp stream say to each other, as bytes. Little-endian, every part begins
// with 32 bytes of known layout, so that nothing that a peer names is believed before it is
// checked.
//
//   hello (client, then server): magic "HRT1" | version u16 | 0 u16 | features u32 | body size u32
//   |
//                                value u64 | 0 u64, then the body
//     client: value = largest frame it takes, body = bearer token
//     server: value = 0, or the absl::StatusCode of a refusal, body = its message
//   message: type u8 | codec u8 | 0 u16 | 0 u32 | size u64 | value u64 | checksum u64, then `size`
//   bytes
//     kOpen (client)   value = credit, body = StreamOpen; only after the server's hello
//     kCredit (client) value = more credit
//     kFrame (server)  value = bytes of the frame when decoded, checksum = xxh3 of the decoded
//     frame kEnd (server)    value = absl::StatusCode, body = message; nothing follows kBye
//     (client)    has read kEnd kAlive (both)    sent when nothing else was for a while
// Pure functions; docs/design/015-transports.md says why it looks so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace headrace::tcp {

inline constexpr uint16_t kVersion = 1;
inline constexpr size_t kHeadBytes = 32;
// Of hellos and of every message but a frame.
inline constexpr size_t kMaxBodyBytes = 8 << 10;

// Features: a client offers, the server answers with those that it will use.
inline constexpr uint32_t kChecksums = 1;
inline constexpr uint32_t kLz4 = 2;
inline constexpr uint32_t kZstd = 4;

enum class Codec : uint8_t { kNone = 0, kLz4 = 1, kZstd = 2 };

using Head = std::array<std::byte, kHeadBytes>;
using HeadView = std::span<const std::byte, kHeadBytes>;

struct Hello {
  uint16_t version = kVersion;
  uint32_t features = 0;
  uint64_t value = 0;
  std::string body;
};
// The head; `hello.body` follows it on the wire. A body over kMaxBodyBytes is cut.
std::string EncodeHello(const Hello& hello);
// Fills all but the body, whose size is in `body_size`. INVALID_ARGUMENT: no hello of ours.
absl::StatusOr<Hello> ParseHello(HeadView head, size_t& body_size);

enum class MessageType : uint8_t {
  kOpen = 1,
  kCredit = 2,
  kFrame = 3,
  kEnd = 4,
  kBye = 5,
  kAlive = 6,
};

struct MessageHead {
  MessageType type = MessageType::kAlive;
  Codec codec = Codec::kNone;
  uint64_t size = 0;
  uint64_t value = 0;
  uint64_t checksum = 0;
};
Head EncodeHead(const MessageHead& head);
// INVALID_ARGUMENT: no message of ours, or a body that is too large for its kind; OUT_OF_RANGE: a
// frame over `max_frame_bytes` (0: none is expected).
absl::StatusOr<MessageHead> ParseHead(HeadView head, uint64_t max_frame_bytes);

}  // namespace headrace::tcp
