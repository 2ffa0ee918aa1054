#include "transport/tcp/tcp_frame_server.h"

#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/auth_token.h"
#include "common/logging/logging.h"
#include "common/net_address.h"
#include "common/status.h"
#include "transport/credit_window.h"

namespace headrace {
namespace {

using tcp::Codec;
using tcp::Hello;
using tcp::Link;
using tcp::MessageHead;
using tcp::MessageType;

// Enough for the kernel to go on with while the next frames are prepared.
constexpr size_t kQueuedBytes = size_t{2} << 20;
constexpr size_t kMeasureBytes = size_t{1} << 20;
constexpr absl::Duration kMeasureTime = absl::Milliseconds(50);
constexpr absl::Duration kByeTimeout = absl::Seconds(5);

std::string Message(const MessageHead& head, std::string_view body) {
  const tcp::Head bytes = tcp::EncodeHead(head);
  std::string out(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out.append(body);
}

bool Loopback(const std::string& peer) {
  const absl::StatusOr<NetAddress> address = ParseNetAddress(peer);
  return address.ok() && address->IsLoopback();
}

class TcpServing;

// One client: its connection's owner and the worker's FrameStream. What the worker's threads touch
// is under mutex_; the rest belongs to the connection's thread, which also makes all calls of the
// handler.
class ServingStream final : public FrameStream,
                            public tcp::LinkOwner,
                            public std::enable_shared_from_this<ServingStream> {
 public:
  ServingStream(TcpServing& serving, tcp::IoLoop& loop, std::shared_ptr<Link> link);

  const v1::StreamOpen& open() const override { return open_; }
  std::string peer() const override { return peer_; }
  std::string_view transport() const override { return "tcp"; }

  bool TryWrite(Frame& frame) override {
    absl::MutexLock lock(&mutex_);
    if (!Writable()) return false;
    credit_.Take(frame.bytes);
    unsent_bytes_ += frame.bytes;
    last_bytes_ = frame.bytes;
    waiting_.push_back(std::move(frame));
    Wake();
    return true;
  }
  bool ready() override {
    absl::MutexLock lock(&mutex_);
    return Writable();
  }
  void Finish(absl::Status status) override {
    absl::MutexLock lock(&mutex_);
    if (ending_) return;
    ending_ = true;
    status_ = std::move(status);
    Wake();
  }

  absl::Status OnHello(Hello hello) override;
  absl::Status OnMessage(const MessageHead& head, std::string_view body) override;
  absl::Status OnFrame(FrameBuffer) override { return Internal("a client sent a frame"); }
  void OnSent(size_t frame_bytes) override;
  void OnDown(const absl::Status& status) override;
  // The server shuts down.
  void BreakOff() {
    if (link_ != nullptr) std::shared_ptr<Link>(link_)->Down(Cancelled("the worker shuts down"));
  }
  tcp::IoLoop& loop() { return loop_; }

 private:
  bool Writable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ending_ || down_) return false;
    armed_ = !credit_.open() || unsent_bytes_ >= max_waiting_bytes_ + last_bytes_;
    return !armed_;
  }
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (woken_ || down_) return;
    woken_ = true;
    loop_.Post([self = shared_from_this()] { self->Pump(); });
  }
  void Pump();
  void Queue(Frame frame);
  void TellReady();
  absl::Status Open(const MessageHead& head, std::string_view body);

  TcpServing& serving_;
  tcp::IoLoop& loop_;
  const std::string peer_;
  const size_t max_waiting_bytes_;
  std::shared_ptr<Link> link_;  // until it is down
  v1::StreamOpen open_;         // set once, before OnOpen
  bool opened_ = false;         // the handler took it
  bool end_queued_ = false;
  bool bye_ = false;
  bool checksums_ = false;
  std::unique_ptr<tcp::CodecChooser> codecs_;
  tcp::FrameHash hash_;
  size_t measured_bytes_ = 0;  // of the link, without a pause
  absl::Duration measured_time_ = absl::ZeroDuration();

  absl::Mutex mutex_;
  CreditWindow credit_ ABSL_GUARDED_BY(mutex_);
  std::deque<Frame> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t unsent_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // waiting or queued in the link
  size_t last_bytes_ ABSL_GUARDED_BY(mutex_) = 0;    // of the frame that was taken last
  absl::Status status_ ABSL_GUARDED_BY(mutex_);      // how it ends
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool armed_ ABSL_GUARDED_BY(mutex_) = false;  // the handler was told false
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool down_ ABSL_GUARDED_BY(mutex_) = false;
};

// What the streams of a server share.
class TcpServing {
 public:
  TcpServing(const TcpFrameServerOptions& options, StreamHandler& handler)
      : options_(options), handler_(handler) {}

  const TcpFrameServerOptions& options() const { return options_; }
  StreamHandler& handler() const { return handler_; }
  LogLimiter& limiter() { return limiter_; }

  void Accept(std::unique_ptr<tcp::Wire> wire) {
    tcp::IoLoop& loop = wire->loop();
    auto link =
        std::make_shared<Link>(std::move(wire), tcp::MessageReader::Options{}, options_.times);
    auto stream = std::make_shared<ServingStream>(*this, loop, link);
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_ || streams_.size() >= options_.max_connections) return;
      streams_.insert(stream);
    }
    link->Start(std::move(stream));
  }
  void Left(const std::shared_ptr<ServingStream>& stream) {
    absl::MutexLock lock(&mutex_);
    streams_.erase(stream);
  }
  // Waits up to `grace`, then breaks off what is left and waits for that.
  void Stop(absl::Duration grace) {
    std::set<std::shared_ptr<ServingStream>> left;
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
      const auto none = [this] {
        mutex_.AssertHeld();
        return streams_.empty();
      };
      mutex_.AwaitWithTimeout(absl::Condition(&none), grace);
      left = streams_;
    }
    for (const auto& stream : left) stream->loop().Post([stream] { stream->BreakOff(); });
    left.clear();
    absl::MutexLock lock(&mutex_);
    const auto none = [this] {
      mutex_.AssertHeld();
      return streams_.empty();
    };
    mutex_.Await(absl::Condition(&none));
  }

 private:
  const TcpFrameServerOptions options_;
  StreamHandler& handler_;
  LogLimiter limiter_{absl::Seconds(10)};
  absl::Mutex mutex_;
  std::set<std::shared_ptr<ServingStream>> streams_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

ServingStream::ServingStream(TcpServing& serving, tcp::IoLoop& loop, std::shared_ptr<Link> link)
    : serving_(serving),
      loop_(loop),
      peer_(link->peer()),
      max_waiting_bytes_(serving.options().max_waiting_bytes),
      link_(std::move(link)) {}

absl::Status ServingStream::OnHello(Hello hello) {
  const TcpFrameServerOptions& options = serving_.options();
  Hello answer;
  if (hello.version != tcp::kVersion) {
    answer.value = static_cast<uint64_t>(absl::StatusCode::kUnimplemented);
    answer.body = fmt::format("the worker speaks version {} of the tcp transport, the client {}",
                              tcp::kVersion, hello.version);
  } else if (!options.token.empty() && !ConstantTimeEquals(hello.body, options.token)) {
    answer.value = static_cast<uint64_t>(absl::StatusCode::kUnauthenticated);
    answer.body = "the worker wants a token, and this is not it: set the client's token_file";
  }
  const bool wanted =
      options.checksums == TcpChecksums::kAlways ||
      (options.checksums == TcpChecksums::kNetwork && !link_->secure() && !Loopback(peer_));
  checksums_ = wanted && (hello.features & tcp::kChecksums) != 0;
  codecs_ = std::make_unique<tcp::CodecChooser>(options.compression, hello.features);
  answer.features = checksums_ ? tcp::kChecksums : 0;
  link_->queue().Push(EncodeHello(answer));
  link_->Flush();
  if (answer.value != 0) link_->EndWriting(absl::Seconds(1));
  return absl::OkStatus();
}

absl::Status ServingStream::OnMessage(const MessageHead& head, std::string_view body) {
  if (codecs_ == nullptr) return InvalidArgument("a message before the hello");
  switch (head.type) {
    case MessageType::kOpen:
      return Open(head, body);
    case MessageType::kCredit: {
      if (!opened_) return InvalidArgument("credit for no stream");
      {
        absl::MutexLock lock(&mutex_);
        credit_.Grant(head.value);
      }
      TellReady();
      return absl::OkStatus();
    }
    case MessageType::kBye:
      bye_ = end_queued_;
      return absl::OkStatus();
    case MessageType::kAlive:
      return absl::OkStatus();
    default:
      return InvalidArgument("a message that clients do not send");
  }
}

absl::Status ServingStream::Open(const MessageHead& head, std::string_view body) {
  if (opened_ || end_queued_) return InvalidArgument("a second stream on one connection");
  if (!open_.ParseFromArray(body.data(), static_cast<int>(body.size())))
    return InvalidArgument("a StreamOpen that cannot be read");
  link_->Established();
  {
    absl::MutexLock lock(&mutex_);
    credit_.Grant(head.value);
  }
  absl::Status taken = serving_.handler().OnOpen(shared_from_this());
  opened_ = taken.ok();
  if (!taken.ok()) {
    Finish(std::move(taken));
    return absl::OkStatus();
  }
  TellReady();
  return absl::OkStatus();
}

// OnReady until the handler has had its say.
void ServingStream::TellReady() {
  {
    absl::MutexLock lock(&mutex_);
    if (!armed_ || !Writable()) return;
  }
  if (opened_) serving_.handler().OnReady(shared_from_this());
}

void ServingStream::Queue(Frame frame) {
  MessageHead head;
  head.type = MessageType::kFrame;
  head.size = head.value = frame.bytes;
  if (checksums_) head.checksum = hash_.Of(frame);
  const Codec codec = codecs_->Choose(frame.bytes);
  tcp::CodedFrame coded;
  if (codec != Codec::kNone) {
    const absl::Duration begin = RealClock().Steady();
    coded = tcp::Compress(codec, frame);
    const size_t size = coded.bytes == nullptr ? frame.bytes : coded.size;
    codecs_->OnCompressed(codec, frame.bytes, size, RealClock().Steady() - begin);
    if (coded.bytes != nullptr) {
      head.codec = codec;
      head.size = coded.size;
    }
  }
  link_->queue().Push(EncodeHead(head), std::move(frame), std::move(coded));
}

void ServingStream::Pump() {
  {
    absl::MutexLock lock(&mutex_);
    woken_ = false;
  }
  if (link_ == nullptr) return;
  while (link_->queue().bytes() < kQueuedBytes) {
    std::optional<Frame> frame;
    absl::Status status;
    bool end = false;
    {
      absl::MutexLock lock(&mutex_);
      if (!waiting_.empty()) {
        frame = std::move(waiting_.front());
        waiting_.pop_front();
      } else if (ending_ && !end_queued_) {
        end = true;
        status = status_;
      }
    }
    if (frame) {
      Queue(*std::move(frame));
      continue;
    }
    if (end) {
      end_queued_ = true;
      std::string message(status.message().substr(0, 4096));
      link_->queue().Push(Message({.type = MessageType::kEnd,
                                   .size = message.size(),
                                   .value = static_cast<uint64_t>(status.raw_code())},
                                  message));
      link_->EndWriting(kByeTimeout);
    }
    break;
  }
  link_->Flush();
}

void ServingStream::OnSent(size_t frame_bytes) {
  const auto [bytes, took] = link_->BusySince();
  measured_bytes_ += bytes;
  measured_time_ = bytes == 0 ? absl::ZeroDuration() : measured_time_ + took;
  if (bytes == 0) measured_bytes_ = 0;
  if (measured_bytes_ >= kMeasureBytes && measured_time_ >= kMeasureTime) {
    codecs_->OnSent(std::exchange(measured_bytes_, 0),
                    std::exchange(measured_time_, absl::ZeroDuration()));
  }
  {
    absl::MutexLock lock(&mutex_);
    unsent_bytes_ -= frame_bytes;
  }
  Pump();
  if (frame_bytes > 0) TellReady();
}

void ServingStream::OnDown(const absl::Status& why) {
  link_ = nullptr;
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    down_ = true;
    waiting_.clear();
    if (ending_ && bye_) {
      status = status_;
    } else if (ending_ && !status_.ok()) {
      status = status_;
    } else {
      status = Cancelled("client {} at {} broke its stream off{}{}", open_.client(), peer_,
                         why.ok() ? "" : ": ", why.ok() ? "" : std::string(why.message()));
    }
    ending_ = true;
  }
  if (opened_) {
    serving_.handler().OnClosed(shared_from_this(), status);
  } else if (absl::IsInvalidArgument(why)) {
    LogLimited(serving_.limiter(), LogLevel::kWarning, "tcp: {} was sent away: {}", peer_,
               OneLine(why));
  }
  serving_.Left(shared_from_this());
}

class TcpFrameServer final : public FrameServer {
 public:
  TcpFrameServer(const TcpFrameServerOptions& options, StreamHandler& handler)
      : serving_(options, handler),
        threads_(std::make_unique<tcp::IoThreads>(options.threads, "hr-tcp")) {}
  ~TcpFrameServer() override { Shutdown(absl::ZeroDuration()); }

  absl::Status Start() {
    const TcpFrameServerOptions& options = serving_.options();
    HR_ASSIGN_OR_RETURN(auto tls, tcp::IoThreads::LoadTls(options.tls, true));
    HR_ASSIGN_OR_RETURN(listener_,
                        threads_->Listen(options.address, std::move(tls),
                                         [this](auto wire) { serving_.Accept(std::move(wire)); }));
    address_ = listener_->address();
    return absl::OkStatus();
  }
  std::string address() const override { return address_; }
  std::string transport() const override { return "tcp:" + address_; }
  void Shutdown(absl::Duration grace) override {
    listener_.reset();
    serving_.Stop(grace);
    threads_.reset();
  }

 private:
  TcpServing serving_;
  std::unique_ptr<tcp::IoThreads> threads_;
  std::unique_ptr<tcp::Listener> listener_;
  std::string address_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameServer>> StartTcpFrameServer(
    const TcpFrameServerOptions& options, StreamHandler& handler) {
  auto server = std::make_unique<TcpFrameServer>(options, handler);
  HR_RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace headrace
