#include "transport/shm/shm_messages.h"

#include <algorithm>
#include <cstring>

#include "common/status.h"
#include "element/frame.h"

namespace headrace {
namespace {

constexpr size_t kMaxStatusText = 4096;

struct FrameFixed {
  uint64_t number;
  uint64_t size;
  uint64_t inline_bytes;
};

template <typename T>
void Put(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Reads values off the front of a body.
class Cursor {
 public:
  explicit Cursor(Body body) : rest_(body) {}
  template <typename T>
  bool Get(T& value) {
    if (rest_.size() < sizeof(T)) return false;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return true;
  }
  Body rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  Body rest_;
};

std::string Begin(ShmMessage type, size_t body) {
  std::string out;
  out.reserve(sizeof(ShmMessageHead) + body);
  Put(out, ShmMessageHead{type, static_cast<uint32_t>(body)});
  return out;
}

template <typename T>
std::string OneValue(ShmMessage type, const T& value) {
  std::string out = Begin(type, sizeof(value));
  Put(out, value);
  return out;
}

template <typename T>
absl::StatusOr<T> ParseOne(Body body, std::string_view what) {
  T value;
  Cursor cursor(body);
  if (!cursor.Get(value) || !cursor.empty())
    return InvalidArgument("a {} message of {} bytes", what, body.size());
  return value;
}

bool AddUp(const std::vector<FramePlace>& places, const FrameNotice& frame) {
  uint64_t total = 0;
  for (const FramePlace& place : places) {
    if (place.size == 0 || place.size > frame.size - total) return false;
    uint64_t end = 0;
    if (__builtin_add_overflow(place.offset, place.size, &end)) return false;
    if (place.offset % kFrameAlignment != total % kFrameAlignment) return false;
    if (place.segment == FramePlace::kInline && end > frame.inline_bytes) return false;
    total += place.size;
  }
  return total == frame.size;
}

}  // namespace

std::string WelcomeMessage() { return OneValue(ShmMessage::kWelcome, kShmProtocol); }

std::string SegmentMessage(const SegmentNotice& notice) {
  std::string out = Begin(ShmMessage::kSegment, sizeof(notice.id) + sizeof(notice.bytes));
  Put(out, notice.id);
  Put(out, notice.bytes);
  return out;
}

std::string FrameMessage(const FrameNotice& notice) {
  std::string out =
      Begin(ShmMessage::kFrame, sizeof(FrameFixed) + notice.places.size() * sizeof(FramePlace));
  Put(out, FrameFixed{notice.number, notice.size, notice.inline_bytes});
  for (const FramePlace& place : notice.places) Put(out, place);
  return out;
}

std::string RetireMessage(uint32_t segment) { return OneValue(ShmMessage::kRetire, segment); }

std::string EndMessage(const absl::Status& status) {
  const std::string_view text(status.message().data(),
                              std::min<size_t>(status.message().size(), kMaxStatusText));
  std::string out = Begin(ShmMessage::kEnd, sizeof(int32_t) + text.size());
  Put(out, static_cast<int32_t>(status.raw_code()));
  out += text;
  return out;
}

std::string OpenMessage(const OpenRequest& request) {
  const std::string open = request.open.SerializeAsString();
  std::string out = Begin(ShmMessage::kOpen, sizeof(ShmNonce) + sizeof(uint64_t) + open.size());
  Put(out, request.nonce);
  Put(out, request.credit);
  out += open;
  return out;
}

std::string GrantMessage(uint64_t bytes) { return OneValue(ShmMessage::kGrant, bytes); }

std::string ReturnMessage(std::span<const uint64_t> frames) {
  std::string out = Begin(ShmMessage::kReturn, frames.size_bytes());
  out.append(reinterpret_cast<const char*>(frames.data()), frames.size_bytes());
  return out;
}

std::string CloseMessage(uint64_t received) { return OneValue(ShmMessage::kClose, received); }

std::string ByeMessage() { return Begin(ShmMessage::kBye, 0); }

absl::Status ParseWelcome(Body body) {
  HR_ASSIGN_OR_RETURN(const uint32_t protocol, ParseOne<uint32_t>(body, "welcome"));
  if (protocol == kShmProtocol) return absl::OkStatus();
  return Unimplemented("it speaks shm protocol {}, we speak {}", protocol, kShmProtocol);
}

absl::StatusOr<SegmentNotice> ParseSegment(Body body) {
  SegmentNotice notice;
  Cursor cursor(body);
  if (!cursor.Get(notice.id) || !cursor.Get(notice.bytes) || !cursor.empty() ||
      notice.id == FramePlace::kInline) {
    return InvalidArgument("a segment message of {} bytes", body.size());
  }
  return notice;
}

absl::StatusOr<FrameNotice> ParseFrame(Body body, size_t max_frame_bytes) {
  FrameFixed fixed = {};
  Cursor cursor(body);
  if (!cursor.Get(fixed)) return InvalidArgument("a frame message of {} bytes", body.size());
  FrameNotice frame{fixed.number, fixed.size, fixed.inline_bytes, {}};
  if (frame.size > max_frame_bytes) {
    return OutOfRange(
        "a frame of {} bytes is over transport.max_frame_bytes = {}; raise it for this client",
        frame.size, max_frame_bytes);
  }
  const size_t places = cursor.rest().size() / sizeof(FramePlace);
  if (places == 0 || places > kShmMaxPieces || cursor.rest().size() % sizeof(FramePlace) != 0 ||
      frame.inline_bytes > frame.size + places * kFrameAlignment) {
    return InvalidArgument("frame {}: {} places, {} inline bytes of {}", frame.number, places,
                           frame.inline_bytes, frame.size);
  }
  frame.places.resize(places);
  for (FramePlace& place : frame.places) cursor.Get(place);
  if (!AddUp(frame.places, frame)) {
    return InvalidArgument("frame {}: its places do not make {} bytes", frame.number, frame.size);
  }
  return frame;
}

absl::StatusOr<uint32_t> ParseRetire(Body body) { return ParseOne<uint32_t>(body, "retire"); }

absl::Status ParseEnd(Body body, absl::Status& out) {
  int32_t code = 0;
  Cursor cursor(body);
  if (!cursor.Get(code) || code < 0 || code > static_cast<int>(absl::StatusCode::kUnauthenticated))
    return InvalidArgument("an end message of {} bytes", body.size());
  const Body text = cursor.rest();
  out = absl::Status(static_cast<absl::StatusCode>(code),
                     absl::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
  return absl::OkStatus();
}

absl::StatusOr<OpenRequest> ParseOpen(Body body) {
  OpenRequest request;
  Cursor cursor(body);
  if (!cursor.Get(request.nonce) || !cursor.Get(request.credit))
    return InvalidArgument("an open message of {} bytes", body.size());
  if (!request.open.ParseFromArray(cursor.rest().data(), static_cast<int>(cursor.rest().size())))
    return InvalidArgument("an open message without a StreamOpen");
  return request;
}

absl::StatusOr<uint64_t> ParseGrant(Body body) { return ParseOne<uint64_t>(body, "grant"); }

absl::StatusOr<std::vector<uint64_t>> ParseReturn(Body body) {
  const size_t count = body.size() / sizeof(uint64_t);
  if (count == 0 || count > kShmMaxReturns || body.size() % sizeof(uint64_t) != 0)
    return InvalidArgument("a return message of {} bytes", body.size());
  std::vector<uint64_t> frames(count);
  std::memcpy(frames.data(), body.data(), body.size());
  return frames;
}

absl::StatusOr<uint64_t> ParseClose(Body body) { return ParseOne<uint64_t>(body, "close"); }

ShmMessageReader::ShmMessageReader() : buffer_(new std::byte[kCapacity]) {}

std::span<std::byte> ShmMessageReader::Space() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (kCapacity - end_ < kCapacity / 2) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return {buffer_.get() + end_, kCapacity - end_};
}

absl::StatusOr<std::optional<ShmMessageReader::Message>> ShmMessageReader::Next() {
  ShmMessageHead head = {};
  if (end_ - begin_ < sizeof(head)) return std::nullopt;
  std::memcpy(&head, buffer_.get() + begin_, sizeof(head));
  if (head.bytes > kShmMaxBody) {
    return InvalidArgument("a message (type {}) of {} bytes", static_cast<uint32_t>(head.type),
                           head.bytes);
  }
  if (end_ - begin_ - sizeof(head) < head.bytes) return std::nullopt;
  const Body body(buffer_.get() + begin_ + sizeof(head), head.bytes);
  begin_ += sizeof(head) + head.bytes;
  return Message{head.type, body};
}

size_t ShmMessageReader::TakeRaw(std::byte* to, size_t most) {
  const size_t n = std::min(most, end_ - begin_);
  if (n > 0) std::memcpy(to, buffer_.get() + begin_, n);
  begin_ += n;
  return n;
}

}  // namespace headrace
