#include "transport/grpc/grpc_frame_connector.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "common/status.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "transport/frame_pool.h"
#include "transport/grpc/byte_buffers.h"
#include "transport/grpc/completion_threads.h"

namespace headrace {
namespace {

constexpr int kWindowBytes = 16 << 20;
constexpr int kHttpFrameBytes = 1 << 20;  // 16 KiB unless asked for
constexpr char kMethod[] = "/headrace.v1.Worker/StreamFrames";

class ReceivingCall;

// What the streams of a connector share.
struct Streams {
  explicit Streams(const GrpcFrameConnectorOptions& options)
      : max_frame_bytes(options.max_frame_bytes),
        token(options.token),
        pool(options.pooled_bytes) {}

  const size_t max_frame_bytes;
  const std::string token;
  FramePool pool;
  grpc::CompletionQueue queue;
  absl::Mutex mutex;
  absl::flat_hash_set<ReceivingCall*> open ABSL_GUARDED_BY(mutex);
};

// One call. Start, then at most one read and one write are out at a time, then Finish. Keeps itself
// alive until the receiver has been told of the end.
class ReceivingCall final : public std::enable_shared_from_this<ReceivingCall> {
 public:
  ReceivingCall(Streams& streams, std::string address, std::shared_ptr<FrameReceiver> receiver)
      : streams_(streams),
        address_(std::move(address)),
        receiver_(std::move(receiver)),
        assembly_(streams.pool, streams.max_frame_bytes) {}

  void Start(std::shared_ptr<grpc::Channel> channel, const v1::StreamOpen& open, uint64_t credit) {
    {
      absl::MutexLock lock(&streams_.mutex);
      streams_.open.insert(this);
    }
    absl::MutexLock lock(&mutex_);
    self_ = shared_from_this();
    open_ = open;
    open_.set_protocol(1);
    credit_ = credit;
    wire_ = std::make_unique<Wire>(std::move(channel));
    if (!streams_.token.empty()) wire_->context.AddMetadata("authorization", streams_.token);
    wire_->stream = wire_->stub.PrepareCall(&wire_->context, kMethod, &streams_.queue);
    wire_->stream->StartCall(&started_tag_);
  }

  void Grant(uint64_t bytes) {
    absl::MutexLock lock(&mutex_);
    credit_ += bytes;
    SendCredit();
  }

  void Close() {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
    if (wire_ != nullptr) wire_->context.TryCancel();
  }

 private:
  struct Wire {
    explicit Wire(std::shared_ptr<grpc::Channel> channel) : stub(std::move(channel)) {}

    grpc::GenericStub stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    grpc::ByteBuffer read;   // gRPC's while a read is out
    grpc::ByteBuffer write;  // gRPC's while writing_
    grpc::Status status;     // gRPC's while finishing
  };

  void OnStarted(bool ok) {
    const auto keep = shared_from_this();
    absl::MutexLock lock(&mutex_);
    if (!ok) {
      ended_ = true;
      FinishWhenIdle();
      return;
    }
    started_ = true;
    v1::StreamRequest request;
    *request.mutable_open() = open_;
    request.set_credit_bytes(std::exchange(credit_, 0));
    Send(request);
    wire_->stream->Read(&wire_->read, &read_tag_);
  }

  void OnRead(bool ok) {
    const auto keep = shared_from_this();
    const bool wanted = !closing();  // the mutex also orders this read after the one before
    if (ok) {
      absl::StatusOr<std::optional<FrameBuffer>> frame = assembly_.Add(wire_->read);
      wire_->read.Clear();
      if (frame.ok() && frame->has_value() && wanted) {
        receiver_->OnFrame(**std::move(frame));
      } else if (!frame.ok()) {
        BreakOff(std::move(frame).status());
      }
    }
    absl::MutexLock lock(&mutex_);
    if (ok) {
      wire_->stream->Read(&wire_->read, &read_tag_);
    } else {
      ended_ = true;
      FinishWhenIdle();
    }
  }

  void OnWritten(bool ok) {
    const auto keep = shared_from_this();
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (ok) SendCredit();
    FinishWhenIdle();
  }

  void OnFinished(bool) {
    const auto keep = shared_from_this();
    std::unique_ptr<Wire> wire;
    {
      absl::MutexLock lock(&mutex_);
      wire = std::move(wire_);
    }
    std::exchange(receiver_, nullptr)->OnClosed(Outcome(wire->status));
    wire.reset();
    Streams& streams = streams_;
    absl::MutexLock lock(&streams.mutex);
    streams.open.erase(this);
    self_.reset();  // `keep` is the last
  }

  absl::Status Outcome(const grpc::Status& status) {
    absl::MutexLock lock(&mutex_);
    if (!broken_.ok()) return Annotate(broken_, "worker " + address_);
    if (closing_ && !status.ok())
      return Cancelled("the stream from worker {} was closed", address_);
    absl::Status converted = StatusOfGrpc(status);
    // gRPC's words for a message over the limit; a worker's own RESOURCE_EXHAUSTED passes as it is.
    if (converted.code() == absl::StatusCode::kResourceExhausted &&
        status.error_message().find("larger than max") != std::string::npos) {
      converted = OutOfRange(
          "a frame is over transport.max_frame_bytes = {}; raise it for this client ({})",
          streams_.max_frame_bytes, status.error_message());
    }
    converted = Annotate(converted, "worker " + address_);
    // What was never started has not left this host: the request goes out after that.
    return started_ ? converted : Unreached(std::move(converted));
  }

  bool closing() {
    absl::MutexLock lock(&mutex_);
    return closing_;
  }
  void BreakOff(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
    broken_ = std::move(status);
    wire_->context.TryCancel();
  }

  void SendCredit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!started_ || ended_ || writing_ || credit_ == 0) return;
    v1::StreamRequest request;
    request.set_credit_bytes(std::exchange(credit_, 0));
    Send(request);
  }
  void Send(const v1::StreamRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_ = true;
    wire_->write = SerializeMessage(request);
    wire_->stream->Write(wire_->write, &write_tag_);
  }
  void FinishWhenIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ended_ && !writing_) wire_->stream->Finish(&wire_->status, &finished_tag_);
  }

  Streams& streams_;
  const std::string address_;
  std::shared_ptr<FrameReceiver> receiver_;
  FrameAssembly assembly_;  // of the one read that is out
  std::shared_ptr<ReceivingCall> self_;
  v1::StreamOpen open_;
  MemberTag<ReceivingCall> started_tag_{this, &ReceivingCall::OnStarted};
  MemberTag<ReceivingCall> read_tag_{this, &ReceivingCall::OnRead};
  MemberTag<ReceivingCall> write_tag_{this, &ReceivingCall::OnWritten};
  MemberTag<ReceivingCall> finished_tag_{this, &ReceivingCall::OnFinished};

  absl::Mutex mutex_;
  std::unique_ptr<Wire> wire_;                   // while it runs
  uint64_t credit_ ABSL_GUARDED_BY(mutex_) = 0;  // granted, not sent yet
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);  // why we ended it
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more will be read
};

class GrpcIncomingFrames final : public IncomingFrames {
 public:
  explicit GrpcIncomingFrames(std::shared_ptr<ReceivingCall> call) : call_(std::move(call)) {}
  ~GrpcIncomingFrames() override { Close(); }
  void Grant(uint64_t bytes) override { call_->Grant(bytes); }
  void Close() override { call_->Close(); }

 private:
  const std::shared_ptr<ReceivingCall> call_;
};

class GrpcFrameConnector final : public FrameConnector {
 public:
  explicit GrpcFrameConnector(const GrpcFrameConnectorOptions& options)
      : options_(options), streams_(options), threads_(streams_.queue, options.threads, "frames") {}

  ~GrpcFrameConnector() override {
    absl::MutexLock lock(&streams_.mutex);
    for (ReceivingCall* call : streams_.open) call->Close();
    streams_.mutex.Await(absl::Condition(
        +[](Streams* s) ABSL_NO_THREAD_SAFETY_ANALYSIS { return s->open.empty(); }, &streams_));
  }

  std::unique_ptr<IncomingFrames> Open(const WorkerEndpoint& worker, const v1::StreamOpen& open,
                                       uint64_t credit,
                                       std::shared_ptr<FrameReceiver> receiver) override {
    auto call = std::make_shared<ReceivingCall>(streams_, worker.address, std::move(receiver));
    call->Start(ChannelTo(worker.address), open, credit);
    return std::make_unique<GrpcIncomingFrames>(std::move(call));
  }

 private:
  // One connection per worker while streams use it.
  std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
    absl::MutexLock lock(&mutex_);
    for (auto it = channels_.begin(); it != channels_.end();) {
      it = it->second.expired() ? channels_.erase(it) : std::next(it);
    }
    std::weak_ptr<grpc::Channel>& known = channels_[address];
    std::shared_ptr<grpc::Channel> channel = known.lock();
    if (channel == nullptr) {
      channel = Connect(address);
      known = channel;
    }
    return channel;
  }

  std::shared_ptr<grpc::Channel> Connect(const std::string& address) const {
    grpc::ChannelArguments arguments;
    // Larger frames come in parts, whose sum FrameAssembly checks.
    arguments.SetMaxReceiveMessageSize(
        static_cast<int>(std::min(options_.max_frame_bytes, kMaxMessageBytes)));
    arguments.SetMaxSendMessageSize(-1);
    // A fixed, large window: what gRPC works out by its bandwidth probes lets a large message wait
    // for the next probe, up to 10 s, when nothing else is to be sent. Our own credit bounds
    // memory.
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttpFrameBytes);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // A proxy from the environment would break cluster traffic.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    if (!options_.server_name.empty()) arguments.SetSslTargetNameOverride(options_.server_name);
    auto credentials =
        options_.credentials != nullptr ? options_.credentials : grpc::InsecureChannelCredentials();
    return grpc::CreateCustomChannel(address, credentials, arguments);
  }

  const GrpcFrameConnectorOptions options_;
  Streams streams_;
  CompletionThreads threads_;  // goes before streams_
  absl::Mutex mutex_;
  std::map<std::string, std::weak_ptr<grpc::Channel>> channels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<FrameConnector> MakeGrpcFrameConnector(const GrpcFrameConnectorOptions& options) {
  return std::make_unique<GrpcFrameConnector>(options);
}

}  // namespace headrace
