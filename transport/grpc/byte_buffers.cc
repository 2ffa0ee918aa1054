#include "transport/grpc/byte_buffers.h"

#include <atomic>
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

constexpr size_t kMaxMessageBytes = 4096;  // gRPC puts it into headers, which have 8 KiB

}  // namespace

grpc::ByteBuffer ToByteBuffer(Frame frame) {
  auto* lent = new LentFrame{std::move(frame)};
  const Frame& f = lent->frame;
  lent->slices = f.payload.size() + 1;
  std::vector<grpc::Slice> slices;
  slices.reserve(f.payload.size() + 1);
  slices.emplace_back(lent->frame.header.data(), f.header.size(), &LentFrame::Return, lent);
  for (const FrameSlice& slice : f.payload) {
    slices.emplace_back(const_cast<std::byte*>(slice.data), slice.size, &LentFrame::Return, lent);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<FrameBuffer> FromByteBuffer(const grpc::ByteBuffer& buffer, FramePool& pool) {
  const size_t size = buffer.Length();
  HR_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> bytes, pool.Take(size));
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return Internal("gRPC gave an unreadable message");
  std::byte* to = bytes.get();
  for (const grpc::Slice& slice : slices) {
    std::memcpy(to, slice.begin(), slice.size());
    to += slice.size();
  }
  return FrameBuffer{std::move(bytes), size};
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
  if (message.size() > kMaxMessageBytes) message.resize(kMaxMessageBytes);
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()), std::move(message));
}

absl::Status StatusOfGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace headrace
