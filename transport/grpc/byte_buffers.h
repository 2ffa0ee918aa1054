// Between our bytes and gRPC's, without a copy outwards and with one inwards.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/frame.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/status.h"
#include "transport/frame_pool.h"

namespace headrace {

// gRPC's messages are under 2 GiB, ours need not be.
inline constexpr size_t kMaxMessageBytes = size_t{1} << 30;

// The frame's header and slices, in order, as one message; or, when that would be over `most`
// bytes, an announcement (magic "HRS1", 4 bytes of nothing, little-endian uint64 size of the frame)
// and as many messages as it takes. The frame's owners live until gRPC has let go of every slice.
std::deque<grpc::ByteBuffer> ToByteBuffers(Frame frame, size_t most = kMaxMessageBytes);

// The other side of it, for one stream. Thread-compatible.
class FrameAssembly {
 public:
  FrameAssembly(FramePool& pool, size_t max_frame_bytes)
      : pool_(pool), max_frame_bytes_(max_frame_bytes) {}

  // A received message. A whole frame, in one piece of the pool's memory; nothing while parts of it
  // are still to come. OUT_OF_RANGE: the frame is over the limit; DATA_LOSS: parts that do not fit
  // what was announced; RESOURCE_EXHAUSTED: no memory. After an error the stream is of no use.
  absl::StatusOr<std::optional<FrameBuffer>> Add(const grpc::ByteBuffer& message);

 private:
  FramePool& pool_;
  const size_t max_frame_bytes_;
  // The frame under way, of `size_` bytes, of which `filled_` are here; null between frames.
  std::shared_ptr<std::byte> memory_;
  size_t size_ = 0;
  size_t filled_ = 0;
};

// Small messages (StreamRequest).
grpc::ByteBuffer SerializeMessage(const google::protobuf::MessageLite& message);
bool ParseMessage(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message);

// rpc/grpc_status.h does the same for calls; rooms on one level do not share code.
grpc::Status GrpcStatusOf(const absl::Status& status);
absl::Status StatusOfGrpc(const grpc::Status& status);

}  // namespace headrace
