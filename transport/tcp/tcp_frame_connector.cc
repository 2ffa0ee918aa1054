#include "transport/tcp/tcp_frame_connector.h"

#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/status.h"
#include "transport/frame_pool.h"

namespace headrace {
namespace {

using tcp::Hello;
using tcp::Link;
using tcp::MessageHead;
using tcp::MessageType;

std::string Message(const MessageHead& head, std::string_view body = "") {
  const tcp::Head bytes = tcp::EncodeHead(head);
  std::string out(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out.append(body);
}

absl::Status StatusOfCode(uint64_t code, std::string_view message) {
  if (code == 0) return absl::OkStatus();
  const bool known = code <= static_cast<uint64_t>(absl::StatusCode::kUnauthenticated);
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                      absl::string_view(message.data(), message.size()));
}

class ReceivingStream;

// What the streams of a connector share.
struct Receiving {
  explicit Receiving(const TcpFrameConnectorOptions& o) : options(o), pool(o.pooled_bytes) {}

  const TcpFrameConnectorOptions options;
  std::shared_ptr<tcp::TlsContext> tls;
  FramePool pool;
  absl::Mutex mutex;
  std::set<std::shared_ptr<ReceivingStream>> open ABSL_GUARDED_BY(mutex);
};

// One stream: connect, hello, open, frames, end. All of it on one loop's thread, but for Grant and
// Close.
class ReceivingStream final : public tcp::LinkOwner,
                              public std::enable_shared_from_this<ReceivingStream> {
 public:
  ReceivingStream(Receiving& receiving, tcp::IoLoop& loop, std::string address,
                  const v1::StreamOpen& open, uint64_t credit,
                  std::shared_ptr<FrameReceiver> receiver)
      : receiving_(receiving),
        loop_(loop),
        address_(std::move(address)),
        open_(open),
        receiver_(std::move(receiver)),
        credit_(credit) {
    open_.set_protocol(1);
  }

  void Connect(tcp::IoThreads& threads) {
    threads.Connect(loop_, address_, receiving_.tls, receiving_.options.connect_timeout,
                    [self = shared_from_this()](absl::StatusOr<std::unique_ptr<tcp::Wire>> wire) {
                      self->OnConnected(std::move(wire));
                    });
  }

  void Grant(uint64_t bytes) {
    absl::MutexLock lock(&mutex_);
    credit_ += bytes;
    if (woken_ || over_) return;
    woken_ = true;
    loop_.Post([self = shared_from_this()] { self->SendCredit(); });
  }
  void Close() {
    absl::MutexLock lock(&mutex_);
    if (closing_ || over_) return;
    closing_ = true;
    loop_.Post([self = shared_from_this()] { self->End(absl::OkStatus()); });
  }

  absl::Status OnHello(Hello hello) override;
  absl::Status OnMessage(const MessageHead& head, std::string_view body) override;
  absl::Status OnFrame(FrameBuffer frame) override {
    if (!open_sent_) return InvalidArgument("a frame before the stream was opened");
    if (closing()) return Cancelled("closed");
    receiver_->OnFrame(std::move(frame));
    return absl::OkStatus();
  }
  void OnSent(size_t) override {}
  void OnDown(const absl::Status& status) override {
    link_ = nullptr;
    End(status.ok() ? Unavailable("the connection was closed by the worker's side") : status);
  }

 private:
  void OnConnected(absl::StatusOr<std::unique_ptr<tcp::Wire>> wire);
  void SendCredit();
  // Tells the receiver, once. `status`: why the connection ended; OK: it is us who end it.
  void End(const absl::Status& status);
  bool closing() {
    absl::MutexLock lock(&mutex_);
    return closing_;
  }

  Receiving& receiving_;
  tcp::IoLoop& loop_;
  const std::string address_;
  v1::StreamOpen open_;
  std::shared_ptr<FrameReceiver> receiver_;  // until it was told of the end
  std::shared_ptr<Link> link_;
  bool open_sent_ = false;
  bool ended_ = false;  // the worker's last word is here:
  absl::Status outcome_;

  absl::Mutex mutex_;
  uint64_t credit_ ABSL_GUARDED_BY(mutex_);  // granted, not sent yet
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

void ReceivingStream::OnConnected(absl::StatusOr<std::unique_ptr<tcp::Wire>> wire) {
  if (receiver_ == nullptr) return;  // closed meanwhile
  if (!wire.ok()) return End(wire.status());
  const TcpFrameConnectorOptions& options = receiving_.options;
  link_ = std::make_shared<Link>(
      *std::move(wire), tcp::MessageReader::Options{options.max_frame_bytes, &receiving_.pool},
      options.times);
  Hello hello;
  hello.features = tcp::kChecksums | tcp::kLz4 | tcp::kZstd;
  hello.value = options.max_frame_bytes;
  hello.body = options.token;
  link_->queue().Push(EncodeHello(hello));
  link_->Start(shared_from_this());
  if (link_ != nullptr) link_->Flush();
}

absl::Status ReceivingStream::OnHello(Hello hello) {
  HR_RETURN_IF_ERROR(StatusOfCode(hello.value, hello.body));
  if (hello.version != tcp::kVersion) {
    return Unimplemented("the worker speaks version {} of the tcp transport, this client {}",
                         hello.version, tcp::kVersion);
  }
  link_->reader().set_checksums((hello.features & tcp::kChecksums) != 0);
  link_->Established();
  uint64_t credit = 0;
  {
    absl::MutexLock lock(&mutex_);
    credit = std::exchange(credit_, 0);
  }
  const std::string body = open_.SerializeAsString();
  link_->queue().Push(
      Message({.type = MessageType::kOpen, .size = body.size(), .value = credit}, body));
  open_sent_ = true;
  link_->Flush();
  return absl::OkStatus();
}

absl::Status ReceivingStream::OnMessage(const MessageHead& head, std::string_view body) {
  if (head.type == MessageType::kAlive) return absl::OkStatus();
  if (head.type != MessageType::kEnd || !open_sent_ || ended_)
    return InvalidArgument("a message that workers do not send");
  ended_ = true;
  outcome_ = StatusOfCode(head.value, body);
  link_->queue().Push(Message({.type = MessageType::kBye}));
  link_->EndWriting(absl::Seconds(1));  // the worker closes when it has read it
  // Told now, not when the connection is down: all frames are here.
  End(absl::OkStatus());
  return absl::OkStatus();
}

void ReceivingStream::SendCredit() {
  uint64_t credit = 0;
  {
    absl::MutexLock lock(&mutex_);
    woken_ = false;
    if (link_ == nullptr || !open_sent_ || ended_) return;  // goes along with the open
    credit = std::exchange(credit_, 0);
  }
  if (credit == 0) return;
  link_->queue().Push(Message({.type = MessageType::kCredit, .value = credit}));
  link_->Flush();
}

void ReceivingStream::End(const absl::Status& status) {
  if (receiver_ != nullptr) {
    absl::Status outcome;
    {
      absl::MutexLock lock(&mutex_);
      over_ = true;
      if (ended_) {
        outcome = Annotate(outcome_, "worker " + address_);
      } else if (closing_) {
        outcome = Cancelled("the stream from worker {} was closed", address_);
      } else {
        outcome = Annotate(status, "worker " + address_);
        if (absl::IsInvalidArgument(status))  // not the caller's words, the peer's
          outcome = Unavailable("{}", std::string(outcome.message()));
        if (!open_sent_) outcome = Unreached(std::move(outcome));
      }
    }
    std::exchange(receiver_, nullptr)->OnClosed(outcome);
  }
  if (link_ != nullptr && !ended_) std::shared_ptr<Link>(link_)->Down(absl::OkStatus());
  if (link_ != nullptr) return;  // the worker has yet to close
  absl::MutexLock lock(&receiving_.mutex);
  receiving_.open.erase(shared_from_this());
}

class TcpIncomingFrames final : public IncomingFrames {
 public:
  explicit TcpIncomingFrames(std::shared_ptr<ReceivingStream> stream)
      : stream_(std::move(stream)) {}
  ~TcpIncomingFrames() override { Close(); }
  void Grant(uint64_t bytes) override { stream_->Grant(bytes); }
  void Close() override { stream_->Close(); }

 private:
  const std::shared_ptr<ReceivingStream> stream_;
};

class TcpFrameConnector final : public FrameConnector {
 public:
  explicit TcpFrameConnector(const TcpFrameConnectorOptions& options) : receiving_(options) {}
  ~TcpFrameConnector() override {
    absl::MutexLock lock(&receiving_.mutex);
    for (const auto& stream : receiving_.open) stream->Close();
    receiving_.mutex.Await(absl::Condition(
        +[](Receiving* r) ABSL_NO_THREAD_SAFETY_ANALYSIS { return r->open.empty(); }, &receiving_));
  }

  absl::Status Start() {
    HR_ASSIGN_OR_RETURN(receiving_.tls, tcp::IoThreads::LoadTls(receiving_.options.tls, false));
    threads_ = std::make_unique<tcp::IoThreads>(receiving_.options.threads, "hr-tcp");
    return absl::OkStatus();
  }

  std::unique_ptr<IncomingFrames> Open(const WorkerEndpoint& worker, const v1::StreamOpen& open,
                                       uint64_t credit,
                                       std::shared_ptr<FrameReceiver> receiver) override {
    auto stream = std::make_shared<ReceivingStream>(receiving_, threads_->Next(), worker.address,
                                                    open, credit, std::move(receiver));
    {
      absl::MutexLock lock(&receiving_.mutex);
      receiving_.open.insert(stream);
    }
    stream->Connect(*threads_);
    return std::make_unique<TcpIncomingFrames>(std::move(stream));
  }

 private:
  Receiving receiving_;
  std::unique_ptr<tcp::IoThreads> threads_;  // goes before receiving_
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameConnector>> MakeTcpFrameConnector(
    const TcpFrameConnectorOptions& options) {
  auto connector = std::make_unique<TcpFrameConnector>(options);
  HR_RETURN_IF_ERROR(connector->Start());
  return connector;
}

}  // namespace headrace
