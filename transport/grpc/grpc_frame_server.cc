#include "transport/grpc/grpc_frame_server.h"

#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/auth_token.h"
#include "common/status.h"
#include "grpcpp/grpcpp.h"
#include "headrace/v1/worker.grpc.pb.h"
#include "transport/credit_window.h"
#include "transport/grpc/byte_buffers.h"
#include "transport/grpc/completion_threads.h"

namespace headrace {
namespace {

// Requests are a StreamOpen or a number.
constexpr int kMaxRequestBytes = 64 << 10;

// Calls that are open or wait for a client: Shutdown waits for them.
class OpenCount {
 public:
  void Enter() {
    absl::MutexLock lock(&mutex_);
    ++open_;
  }
  void Leave() {
    absl::MutexLock lock(&mutex_);
    --open_;
  }
  void AwaitNone() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(+[](size_t* open) { return *open == 0; }, &open_));
  }

 private:
  absl::Mutex mutex_;
  size_t open_ ABSL_GUARDED_BY(mutex_) = 0;
};

using RawService = v1::Worker::WithRawMethod_StreamFrames<v1::Worker::Service>;

// What all calls of a server share.
struct Serving {
  StreamHandler& handler;
  const size_t max_waiting_bytes;
  const size_t max_message_bytes;
  const std::string token;
  OpenCount calls;
  RawService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
};

// One call, from waiting for a client to its end. Operations complete on several threads at once;
// everything is decided under mutex_, and the handler is called by one thread at a time (Deliver)
// without it. Keeps itself alive until no operation is out.
class ServingCall final : public FrameStream, public std::enable_shared_from_this<ServingCall> {
 public:
  explicit ServingCall(Serving& serving) : serving_(serving), wire_(std::make_unique<Wire>()) {}

  // Waits for a client. OnAccept makes the next call that waits, so there is always one until the
  // server shuts down.
  static void Await(Serving& serving) {
    auto call = std::make_shared<ServingCall>(serving);
    serving.calls.Enter();
    call->self_ = call;
    call->wire_->context.AsyncNotifyWhenDone(&call->gone_tag_);
    serving.service.RequestStreamFrames(&call->wire_->context, &call->wire_->stream,
                                        serving.queue.get(), serving.queue.get(),
                                        &call->accept_tag_);
  }

  const v1::StreamOpen& open() const override { return open_; }
  std::string peer() const override { return peer_; }
  std::string_view transport() const override { return "grpc"; }

  bool TryWrite(Frame& frame) override {
    absl::MutexLock lock(&mutex_);
    if (!Writable()) return false;
    credit_.Take(frame.bytes);
    waiting_bytes_ += frame.bytes;
    waiting_.push_back(std::move(frame));
    Pump();
    return true;
  }

  bool ready() override {
    absl::MutexLock lock(&mutex_);
    return Writable();
  }

  void Finish(absl::Status status) override {
    absl::MutexLock lock(&mutex_);
    EndWith(std::move(status));
    Pump();
  }

 private:
  struct Wire {
    grpc::ServerContext context;
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream{&context};
    grpc::ByteBuffer read;   // gRPC's while a read is out
    grpc::ByteBuffer write;  // gRPC's while writing_
  };

  void OnAccept(bool ok) {
    if (!ok) {  // the server shuts down; no other operation was started
      Release();
      return;
    }
    Await(serving_);
    const auto keep = shared_from_this();
    {
      absl::MutexLock lock(&mutex_);
      peer_ = wire_->context.peer();
      // A client that left at once: another thread may have seen that first.
      if (ending_) {
        --pending_;
      } else {
        wire_->stream.Read(&wire_->read, &read_tag_);  // takes the place of the accept in pending_
      }
    }
    Deliver();
  }

  void OnRead(bool ok) {
    const auto keep = shared_from_this();
    {
      absl::MutexLock lock(&mutex_);
      --pending_;
      if (ok && !ending_) {
        TakeRequest();
      } else if (!ending_) {
        BreakOff();  // the client has gone, or half-closed, which no client of ours does
      }
      Pump();
    }
    Deliver();
  }

  void OnWritten(bool ok) {
    const auto keep = shared_from_this();
    {
      absl::MutexLock lock(&mutex_);
      --pending_;
      writing_ = false;
      wire_->write.Clear();
      if (!ok) BreakOff();
      Pump();
    }
    Deliver();
  }

  void OnFinished(bool) {
    const auto keep = shared_from_this();
    {
      absl::MutexLock lock(&mutex_);
      --pending_;
    }
    Deliver();
  }

  // The client has the status, or will never have it.
  void OnGone(bool) {
    const auto keep = shared_from_this();
    {
      absl::MutexLock lock(&mutex_);
      --pending_;
      if (wire_->context.IsCancelled()) BreakOff();
      Pump();
    }
    Deliver();
  }

  void TakeRequest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    v1::StreamRequest request;
    if (!ParseMessage(wire_->read, request)) {
      return EndWith(InvalidArgument("a StreamRequest from {} is not readable", peer_));
    }
    if (!opened_ && !Admitted()) {
      return EndWith(absl::UnauthenticatedError(
          "the worker wants a token, and this is not it: set the client's token_file"));
    }
    if (!opened_) {
      if (!request.has_open()) {
        return EndWith(InvalidArgument("the first StreamRequest from {} has no `open`", peer_));
      }
      open_ = request.open();
      opened_ = true;
      open_due_ = true;
    }
    credit_.Grant(request.credit_bytes());
    ++pending_;
    wire_->stream.Read(&wire_->read, &read_tag_);
  }

  bool Admitted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (serving_.token.empty()) return true;
    const auto shown = wire_->context.client_metadata().find("authorization");
    return shown != wire_->context.client_metadata().end() &&
           ConstantTimeEquals({shown->second.data(), shown->second.size()}, serving_.token);
  }

  bool Writable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ending_) return false;
    const bool room = !writing_ || waiting_bytes_ < serving_.max_waiting_bytes;
    armed_ = !room || !credit_.open();
    return !armed_;
  }

  // Sends what waits, then the status.
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finish_sent_) return;
    if (parts_.empty() && !waiting_.empty()) {
      Frame frame = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= frame.bytes;
      parts_ = ToByteBuffers(std::move(frame), serving_.max_message_bytes);
    }
    if (!parts_.empty()) {
      writing_ = true;
      ++pending_;
      wire_->write = std::move(parts_.front());
      parts_.pop_front();
      // No buffer hint: a hinted write may complete only when something else is sent, a keep-alive
      // ping if nothing sooner, and the next write waits for it.
      wire_->stream.Write(wire_->write, &write_tag_);
    } else if (ending_) {
      finish_sent_ = true;
      ++pending_;
      wire_->stream.Finish(GrpcStatusOf(status_), &finish_tag_);
    }
  }

  void EndWith(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ending_) return;
    ending_ = true;
    status_ = std::move(status);
  }

  void BreakOff() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    waiting_.clear();
    parts_.clear();
    waiting_bytes_ = 0;
    if (!ending_ || status_.ok())
      status_ = Cancelled("client {} at {} broke its stream off", open_.client(), peer_);
    ending_ = true;
  }

  // Calls the handler for what is due. Only one thread is in here beyond the first line; what
  // others make due meanwhile, it takes with it.
  void Deliver() {
    mutex_.Lock();
    if (delivering_) {
      mutex_.Unlock();
      return;
    }
    delivering_ = true;
    bool last = false;
    while (!last) {
      if (open_due_) {
        open_due_ = false;
        mutex_.Unlock();
        absl::Status taken = serving_.handler.OnOpen(shared_from_this());
        mutex_.Lock();
        refused_ = !taken.ok();
        if (refused_) EndWith(std::move(taken));
        Pump();
      } else if (armed_ && !refused_ && Writable()) {
        mutex_.Unlock();
        serving_.handler.OnReady(shared_from_this());
        mutex_.Lock();
      } else if (pending_ == 0) {
        last = true;
      } else {
        break;
      }
    }
    delivering_ = last;  // nobody follows the last one
    const bool tell = last && opened_ && !refused_;
    const absl::Status status = status_;
    mutex_.Unlock();
    if (!last) return;
    if (tell) serving_.handler.OnClosed(shared_from_this(), status);
    Release();
  }

  // Lets go of what is gRPC's; the worker may hold the rest for longer than the server lives.
  void Release() {
    wire_.reset();
    Serving& serving = serving_;
    const std::shared_ptr<ServingCall> self = std::move(self_);
    serving.calls.Leave();
  }

  Serving& serving_;
  std::shared_ptr<ServingCall> self_;
  v1::StreamOpen open_;  // set once, before OnOpen
  std::string peer_;
  MemberTag<ServingCall> accept_tag_{this, &ServingCall::OnAccept};
  MemberTag<ServingCall> read_tag_{this, &ServingCall::OnRead};
  MemberTag<ServingCall> write_tag_{this, &ServingCall::OnWritten};
  MemberTag<ServingCall> finish_tag_{this, &ServingCall::OnFinished};
  MemberTag<ServingCall> gone_tag_{this, &ServingCall::OnGone};

  absl::Mutex mutex_;
  std::unique_ptr<Wire> wire_;  // until Release
  CreditWindow credit_ ABSL_GUARDED_BY(mutex_);
  std::deque<Frame> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<grpc::ByteBuffer> parts_ ABSL_GUARDED_BY(mutex_);  // of the frame under way, unsent
  // Operations that are out; at first the accept and the notice that the client has gone.
  size_t pending_ ABSL_GUARDED_BY(mutex_) = 2;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // how it ends
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;
  bool open_due_ ABSL_GUARDED_BY(mutex_) = false;
  bool refused_ ABSL_GUARDED_BY(mutex_) = false;
  bool armed_ ABSL_GUARDED_BY(mutex_) = false;  // the handler was told false
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool finish_sent_ ABSL_GUARDED_BY(mutex_) = false;
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;
};

class GrpcFrameServer final : public FrameServer {
 public:
  GrpcFrameServer(const GrpcFrameServerOptions& options, StreamHandler& handler)
      : serving_{handler,
                 options.max_waiting_bytes,
                 options.max_message_bytes,
                 options.token,
                 {},
                 {},
                 nullptr},
        address_(options.address) {
    auto credentials =
        options.credentials != nullptr ? options.credentials : grpc::InsecureServerCredentials();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(options.address, credentials, &port);
    builder.RegisterService(&serving_.service);
    serving_.queue = builder.AddCompletionQueue();
    builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
    builder.SetMaxSendMessageSize(
        -1);  // WriteFrame refuses what is too large, with a better message
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // Finds clients whose host is gone, and lets clients look for us.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
    server_ = builder.BuildAndStart();
    if (server_ != nullptr) ServingCall::Await(serving_);
    threads_ = std::make_unique<CompletionThreads>(*serving_.queue, options.threads, "frames");
    const size_t colon = address_.rfind(':');
    if (port > 0 && !address_.starts_with("unix:"))
      address_ = address_.substr(0, colon + 1) + std::to_string(port);
  }
  ~GrpcFrameServer() override { Shutdown(absl::ZeroDuration()); }

  bool started() const { return server_ != nullptr; }
  std::string address() const override { return address_; }
  std::string transport() const override { return "grpc"; }

  void Shutdown(absl::Duration grace) override {
    if (server_ != nullptr) server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
    serving_.calls.AwaitNone();
    threads_.reset();
    server_.reset();
  }

 private:
  Serving serving_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<CompletionThreads> threads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameServer>> StartGrpcFrameServer(
    const GrpcFrameServerOptions& options, StreamHandler& handler) {
  auto server = std::make_unique<GrpcFrameServer>(options, handler);
  if (!server->started()) {
    return Unavailable(
        "cannot listen on {}: it is in use by another process, or not an address of this machine; "
        "set listen to another, or to port 0 to have a free one chosen",
        options.address);
  }
  return server;
}

}  // namespace headrace
