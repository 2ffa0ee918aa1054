#include "transport/grpc/byte_buffers.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "common/status.h"
#include "grpcpp/support/slice.h"

namespace headrace {
namespace {

// A frame that gRPC holds slices of; deletes itself with the last of them.
struct LentFrame {
  Frame frame;
  std::atomic<size_t> slices{0};

  static void Return(void* lent) {
    auto* self = static_cast<LentFrame*>(lent);
    if (self->slices.fetch_sub(1, std::memory_order_acq_rel) == 1) delete self;
  }
};

constexpr size_t kMaxStatusBytes = 4096;  // gRPC puts it into headers, which have 8 KiB

// Before the parts of a frame that is too large for one message.
static_assert(std::endian::native == std::endian::little);
constexpr char kAnnouncementMagic[8] = {'H', 'R', 'S', '1', 0, 0, 0, 0};
constexpr size_t kAnnouncementBytes = sizeof(kAnnouncementMagic) + sizeof(uint64_t);

grpc::ByteBuffer Announcement(uint64_t frame_bytes) {
  char bytes[kAnnouncementBytes];
  std::memcpy(bytes, kAnnouncementMagic, sizeof(kAnnouncementMagic));
  std::memcpy(bytes + sizeof(kAnnouncementMagic), &frame_bytes, sizeof(frame_bytes));
  const grpc::Slice slice(bytes, sizeof(bytes));
  return grpc::ByteBuffer(&slice, 1);
}

std::optional<uint64_t> AnnouncedSize(const std::vector<grpc::Slice>& slices, size_t size) {
  if (size != kAnnouncementBytes) return std::nullopt;
  char bytes[kAnnouncementBytes];
  char* to = bytes;
  for (const grpc::Slice& slice : slices) to = std::copy(slice.begin(), slice.end(), to);
  if (std::memcmp(bytes, kAnnouncementMagic, sizeof(kAnnouncementMagic)) != 0) return std::nullopt;
  uint64_t frame_bytes = 0;
  std::memcpy(&frame_bytes, bytes + sizeof(kAnnouncementMagic), sizeof(frame_bytes));
  return frame_bytes;
}

}  // namespace

std::deque<grpc::ByteBuffer> ToByteBuffers(Frame frame, size_t most) {
  auto* lent = new LentFrame{std::move(frame)};
  const Frame& f = lent->frame;
  lent->slices = 1;  // ours, until all are made
  std::deque<grpc::ByteBuffer> messages;
  if (f.bytes > most) messages.push_back(Announcement(f.bytes));
  std::vector<grpc::Slice> slices;
  size_t size = 0;
  const auto flush = [&] {
    messages.emplace_back(slices.data(), slices.size());
    slices.clear();
    size = 0;
  };
  const auto add = [&](const std::byte* data, size_t bytes) {
    while (bytes > 0) {
      if (size == most) flush();
      const size_t part = std::min(bytes, most - size);
      lent->slices.fetch_add(1, std::memory_order_relaxed);
      slices.emplace_back(const_cast<std::byte*>(data), part, &LentFrame::Return, lent);
      size += part;
      data += part;
      bytes -= part;
    }
  };
  add(reinterpret_cast<const std::byte*>(f.header.data()), f.header.size());
  for (const FrameSlice& slice : f.payload) add(slice.data, slice.size);
  flush();
  LentFrame::Return(lent);
  return messages;
}

absl::StatusOr<std::optional<FrameBuffer>> FrameAssembly::Add(const grpc::ByteBuffer& message) {
  const size_t size = message.Length();
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return Internal("gRPC gave an unreadable message");
  if (memory_ == nullptr) {
    const std::optional<uint64_t> announced = AnnouncedSize(slices, size);
    if (announced.value_or(size) > max_frame_bytes_) {
      return OutOfRange(
          "a frame of {} bytes is over transport.max_frame_bytes = {}; raise it for this client",
          announced.value_or(size), max_frame_bytes_);
    }
    size_ = announced.value_or(size);
    HR_ASSIGN_OR_RETURN(memory_, pool_.Take(size_));
    filled_ = 0;
    if (announced) return std::nullopt;
  }
  if (size == 0 || size > size_ - filled_) {
    return DataLoss("a frame of {} bytes came in parts that do not fit: {} bytes after {}", size_,
                    size, filled_);
  }
  for (const grpc::Slice& slice : slices) {
    std::memcpy(memory_.get() + filled_, slice.begin(), slice.size());
    filled_ += slice.size();
  }
  if (filled_ < size_) return std::nullopt;
  return FrameBuffer{std::move(memory_), size_};
}

grpc::ByteBuffer SerializeMessage(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

bool ParseMessage(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message) {
  grpc::Slice slice;
  if (!buffer.DumpToSingleSlice(&slice).ok()) return false;
  return message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
}

grpc::Status GrpcStatusOf(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string message(status.message());
  if (message.size() > kMaxStatusBytes) message.resize(kMaxStatusBytes);
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()), std::move(message));
}

absl::Status StatusOfGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace headrace
