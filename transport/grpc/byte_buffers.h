// Between our bytes and gRPC's, without a copy outwards and with one inwards.
#pragma once

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/frame.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/status.h"
#include "transport/frame_pool.h"

namespace headrace {

// The frame's header and slices as one message; its owners live until gRPC has let go of every
// slice.
grpc::ByteBuffer ToByteBuffer(Frame frame);
// A received message in one piece, in memory of `pool`.
absl::StatusOr<FrameBuffer> FromByteBuffer(const grpc::ByteBuffer& buffer, FramePool& pool);

// Small messages (StreamRequest).
grpc::ByteBuffer SerializeMessage(const google::protobuf::MessageLite& message);
bool ParseMessage(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message);

// rpc/grpc_status.h does the same for calls; rooms on one level do not share code.
grpc::Status GrpcStatusOf(const absl::Status& status);
absl::Status StatusOfGrpc(const grpc::Status& status);

}  // namespace headrace
