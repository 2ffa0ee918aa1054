// What the two sides of a shm stream say to each other over their Unix socket. Numbers are this
// host's own; a message is a ShmMessageHead and its body.
//
//   worker -> client                         client -> worker
//   kWelcome + descriptor of a nonce         kOpen: the nonce, credit, a v1::StreamOpen
//   kSegment + descriptor                    kGrant
//   kFrame, then its inline bytes            kReturn: frames whose memory nobody reads any more
//   kRetire: a segment may be unmapped       kClose: frames from `received` on will not be read
//   kEnd: the status; last                   kBye: kEnd has arrived; last
//
// A descriptor travels with the first byte of its message. Bytes may come from anyone: every parser
// here checks sizes and ranges before it answers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "headrace/v1/worker.pb.h"

namespace headrace {

inline constexpr uint32_t kShmProtocol = 1;
inline constexpr size_t kShmMaxBody = 64 << 10;
inline constexpr size_t kShmMaxPieces = 1024;
inline constexpr size_t kShmMaxReturns = 4096;  // in one message

enum class ShmMessage : uint32_t {
  kWelcome = 1,
  kSegment,
  kFrame,
  kRetire,
  kEnd,
  kOpen = 16,
  kGrant,
  kReturn,
  kClose,
  kBye,
};

struct ShmMessageHead {
  ShmMessage type;
  uint32_t bytes;  // of the body
};

// Proves that both sides see the same memory: the worker puts it into a segment, the client reads
// it there and sends it back.
using ShmNonce = std::array<uint8_t, 32>;
inline constexpr size_t kShmNonceSegment = 4096;

struct SegmentNotice {
  uint32_t id = 0;
  uint64_t bytes = 0;
};

// Where the bytes of a frame lie, in the frame's order.
struct FramePlace {
  static constexpr uint32_t kInline = 0;  // no segment has this id
  uint32_t segment = kInline;
  uint32_t unused = 0;
  uint64_t offset = 0;  // in the segment, or in the frame's inline bytes
  uint64_t size = 0;
};

struct FrameNotice {
  uint64_t number = 0;  // counts the stream's frames from 0
  uint64_t size = 0;
  // They follow the message. The bytes of a place that begins at byte k of the frame lie at k
  // modulo 64 of them.
  uint64_t inline_bytes = 0;
  std::vector<FramePlace> places;  // their sizes add up to `size`
  bool lent() const {
    for (const FramePlace& place : places) {
      if (place.segment != FramePlace::kInline) return true;
    }
    return false;
  }
};

struct OpenRequest {
  ShmNonce nonce = {};
  uint64_t credit = 0;
  v1::StreamOpen open;
};

// Whole messages, head included.
std::string WelcomeMessage();
std::string SegmentMessage(const SegmentNotice& notice);
std::string FrameMessage(const FrameNotice& notice);
std::string RetireMessage(uint32_t segment);
std::string EndMessage(const absl::Status& status);
std::string OpenMessage(const OpenRequest& request);
std::string GrantMessage(uint64_t bytes);
std::string ReturnMessage(std::span<const uint64_t> frames);
std::string CloseMessage(uint64_t received);
std::string ByeMessage();

// INVALID_ARGUMENT says what is wrong with a body.
using Body = std::span<const std::byte>;
absl::Status ParseWelcome(Body body);
absl::StatusOr<SegmentNotice> ParseSegment(Body body);
absl::StatusOr<FrameNotice> ParseFrame(Body body, size_t max_frame_bytes);
absl::StatusOr<uint32_t> ParseRetire(Body body);
// The worker's status is in `out`.
absl::Status ParseEnd(Body body, absl::Status& out);
absl::StatusOr<OpenRequest> ParseOpen(Body body);
absl::StatusOr<uint64_t> ParseGrant(Body body);
absl::StatusOr<std::vector<uint64_t>> ParseReturn(Body body);
absl::StatusOr<uint64_t> ParseClose(Body body);

// Cuts a stream of bytes into messages. One thread.
class ShmMessageReader {
 public:
  ShmMessageReader();
  // Where received bytes go; never empty while Next() gives what it has. Committed(n) says how many
  // came.
  std::span<std::byte> Space();
  void Committed(size_t n) { end_ += n; }
  // The next whole message; its body is valid until Space() is called. INVALID_ARGUMENT: a body
  // over kShmMaxBody.
  struct Message {
    ShmMessage type;
    Body body;
  };
  absl::StatusOr<std::optional<Message>> Next();
  // Bytes that are no message: moves up to `most` that have come to `to`.
  size_t TakeRaw(std::byte* to, size_t most);

 private:
  static constexpr size_t kCapacity = 2 * (kShmMaxBody + sizeof(ShmMessageHead));
  std::unique_ptr<std::byte[]> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace headrace
