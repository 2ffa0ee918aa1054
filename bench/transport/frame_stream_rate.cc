#include "bench/transport/frame_stream_rate.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/status.h"
#include "element/frame_reader.h"
#include "element/frame_writer.h"
#include "transport/grpc/grpc_frame_connector.h"
#include "transport/grpc/grpc_frame_server.h"
#include "transport/tcp/tcp_frame_connector.h"
#include "transport/tcp/tcp_frame_server.h"

namespace headrace {
namespace {

constexpr uint64_t kWindow = 64 << 20;

Block MakeBatch(size_t bytes) {
  auto schema = std::make_shared<Schema>(
      std::vector<Field>{{"data", DType::kUInt8, Shape{static_cast<int64_t>(bytes)}}});
  Block block(schema);
  std::byte* data = block.arena().Allocate(bytes);
  std::memset(data, 7, bytes);
  const Cell cell{data, bytes, Shape{static_cast<int64_t>(bytes)}};
  block.AppendRow({Run{0, 0, 64, 0, 1, 0}}, std::span(&cell, 1));
  return block;
}

// Writes the same batch until `frames` have gone, then ends the stream.
class Sender final : public StreamHandler {
 public:
  Sender(size_t bytes, size_t frames) : batch_(MakeBatch(bytes)), left_(frames) {}

  absl::Status OnOpen(std::shared_ptr<FrameStream> stream) override {
    Send(*stream);
    return absl::OkStatus();
  }
  void OnReady(const std::shared_ptr<FrameStream>& stream) override { Send(*stream); }
  void OnClosed(const std::shared_ptr<FrameStream>&, const absl::Status&) override {}

 private:
  void Send(FrameStream& stream) {
    while (left_ > 0 && stream.ready()) {
      FrameMeta meta;
      meta.batched = true;
      meta.sequence = sent_;
      absl::StatusOr<Frame> frame = WriteFrame(batch_, meta);
      if (!frame.ok() || !stream.TryWrite(*frame)) return;
      ++sent_;
      if (--left_ == 0) stream.Finish(absl::OkStatus());
    }
  }
  Block batch_;
  size_t left_;
  uint64_t sent_ = 0;
};

class Counter final : public FrameReceiver {
 public:
  void OnFrame(FrameBuffer frame) override {
    const auto view = FrameView::Parse(frame);
    if (!view.ok()) return;
    bytes_ += frame.size;
    stream_.load()->Grant(frame.size);
  }
  void OnClosed(const absl::Status& status) override {
    status_ = status;
    done_.Notify();
  }
  std::atomic<IncomingFrames*> stream_{nullptr};
  std::atomic<size_t> bytes_{0};
  absl::Status status_;
  absl::Notification done_;
};

}  // namespace

absl::StatusOr<double> FrameStreamBytesPerSecond(const RateOptions& options) {
  Sender sender(options.payload_bytes, options.frames);
  std::unique_ptr<FrameServer> server;
  std::unique_ptr<FrameConnector> connector;
  if (options.transport == "tcp") {
    TcpFrameServerOptions serving;
    if (options.checksums) serving.checksums = TcpChecksums::kAlways;
    HR_ASSIGN_OR_RETURN(server, StartTcpFrameServer(serving, sender));
    HR_ASSIGN_OR_RETURN(connector, MakeTcpFrameConnector());
  } else {
    HR_ASSIGN_OR_RETURN(server, StartGrpcFrameServer({}, sender));
    connector = MakeGrpcFrameConnector();
  }
  auto counter = std::make_shared<Counter>();
  const auto begin = std::chrono::steady_clock::now();
  std::unique_ptr<IncomingFrames> stream = connector->Open(server->address(), {}, 0, counter);
  counter->stream_ = stream.get();
  stream->Grant(kWindow);
  if (!counter->done_.WaitForNotificationWithTimeout(absl::Seconds(60))) {
    return DeadlineExceeded("{} frames did not arrive within a minute", options.frames);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  HR_RETURN_IF_ERROR(counter->status_);
  if (counter->bytes_ < options.payload_bytes * options.frames) return DataLoss("frames were lost");
  return static_cast<double>(counter->bytes_) / seconds.count();
}

}  // namespace headrace
