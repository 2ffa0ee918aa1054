#include "bench/transport/raw_stream.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "headrace/v1/worker.grpc.pb.h"

namespace headrace {
namespace {

using Service = v1::Worker::WithRawCallbackMethod_StreamFrames<v1::Worker::Service>;

// Writes one slice again and again.
class Sender final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Sender(const grpc::Slice& slice, size_t messages) : buffer_(&slice, 1), left_(messages) {
    Next();
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      Next();
    } else {
      Finish(grpc::Status::CANCELLED);
    }
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (left_-- == 0) {
      Finish(grpc::Status::OK);
    } else {
      StartWrite(&buffer_);
    }
  }
  grpc::ByteBuffer buffer_;
  size_t left_;
};

class RawService final : public Service {
 public:
  RawService(size_t bytes, size_t messages) : memory_(bytes, 'x'), messages_(messages) {}
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StreamFrames(
      grpc::CallbackServerContext*) override {
    return new Sender(grpc::Slice(memory_.data(), memory_.size(), grpc::Slice::STATIC_SLICE),
                      messages_);
  }

 private:
  std::string memory_;
  size_t messages_;
};

}  // namespace

absl::StatusOr<double> RawStreamBytesPerSecond(size_t bytes, size_t messages) {
  RawService service(bytes, messages);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return Unavailable("the raw stream's server did not start");

  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  // The window and the HTTP/2 frames of transport/grpc/: what is compared is what we add to a
  // stream, not its settings.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 16 << 20);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
  grpc::GenericStub stub(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                                   grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  auto call = stub.PrepareCall(&context, "/headrace.v1.Worker/StreamFrames", &queue);
  call->StartCall(&call);
  queue.Next(&tag, &ok);
  size_t received = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (ok) {
    grpc::ByteBuffer buffer;
    call->Read(&buffer, &queue);
    queue.Next(&tag, &ok);
    if (ok) received += buffer.Length();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  grpc::Status status;
  call->Finish(&status, &queue);
  queue.Next(&tag, &ok);
  server->Shutdown(std::chrono::system_clock::now());
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  if (received != bytes * messages) return DataLoss("the raw stream lost bytes");
  return static_cast<double>(received) / seconds.count();
}

}  // namespace headrace
