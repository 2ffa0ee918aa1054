#include "transport/fake_frame_network.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/status.h"
#include "transport/credit_window.h"

namespace headrace {

// Both ends of a stream. `network.mutex_` guards everything that changes.
class FakeLink final : public FrameStream, public std::enable_shared_from_this<FakeLink> {
 public:
  FakeLink(FakeFrameNetwork& network, std::string address, v1::StreamOpen open, uint64_t credit,
           std::shared_ptr<FrameReceiver> receiver)
      : network_(network),
        address_(std::move(address)),
        open_(std::move(open)),
        receiver_(std::move(receiver)) {
    open_.set_protocol(1);
    granted_ = credit;
  }

  const std::string& address() const { return address_; }
  const v1::StreamOpen& open() const override { return open_; }
  std::string peer() const override { return "fake:client-" + std::to_string(open_.client()); }
  std::string_view transport() const override { return "fake"; }

  bool TryWrite(Frame& frame) override {
    absl::MutexLock lock(&network_.mutex_);
    if (!Writable()) return false;
    credit_.Take(frame.bytes);
    waiting_bytes_ += frame.bytes;
    waiting_.push_back(std::move(frame));
    return true;
  }
  bool ready() override {
    absl::MutexLock lock(&network_.mutex_);
    return Writable();
  }
  void Finish(absl::Status status) override {
    absl::MutexLock lock(&network_.mutex_);
    if (!finish_) finish_ = std::move(status);
  }
  void Grant(uint64_t bytes) {
    absl::MutexLock lock(&network_.mutex_);
    granted_ += bytes;
  }
  void Close() {
    absl::MutexLock lock(&network_.mutex_);
    Break(Cancelled("the stream from worker {} was closed", address_),
          Cancelled("client {} broke its stream off", peer()));
  }
  // Both ends are told, in their turn; what is on its way is lost.
  void Break(absl::Status client, absl::Status server) {
    if (!client_status_) client_status_ = std::move(client);
    if (!server_status_) server_status_ = std::move(server);
    waiting_.clear();
    waiting_bytes_ = 0;
  }
  void KillServer() {
    handler_ = nullptr;
    Break(Unavailable("worker {}: connection reset", address_), absl::OkStatus());
  }
  bool over() const { return client_told_ && (server_told_ || handler_ == nullptr); }

  // The next call that is due, to be made without the lock; null: nothing is due.
  std::function<void()> Due();

 private:
  friend class FakeFrameNetwork;

  bool Writable() {
    if (finish_ || server_status_) return false;
    const bool room = waiting_.empty() ||
                      waiting_bytes_ < network_.options_.max_waiting_bytes + waiting_.front().bytes;
    armed_ = !room || !credit_.open();
    return !armed_;
  }
  std::function<void()> DueAtServer();
  std::function<void()> DueAtClient();

  FakeFrameNetwork& network_;
  const std::string address_;
  v1::StreamOpen open_;
  std::shared_ptr<FrameReceiver> receiver_;
  StreamHandler* handler_ = nullptr;
  uint64_t granted_ = 0;  // on its way to the server
  CreditWindow credit_;
  std::deque<Frame> waiting_;
  size_t waiting_bytes_ = 0;
  std::optional<absl::Status> finish_;         // the worker's
  std::optional<absl::Status> client_status_;  // what the client will be told
  std::optional<absl::Status> server_status_;
  bool connected_ = false;
  bool opened_ = false;  // the handler took it
  bool armed_ = false;
  bool client_told_ = false;
  bool server_told_ = false;
};

std::function<void()> FakeLink::DueAtServer() {
  if (handler_ == nullptr || server_told_) return nullptr;
  auto self = shared_from_this();
  if (!connected_) {
    connected_ = true;
    if (server_status_) {
      server_told_ = true;  // closed before it arrived
      return nullptr;
    }
    return [self, handler = handler_] {
      absl::Status taken = handler->OnOpen(self);
      absl::MutexLock lock(&self->network_.mutex_);
      self->opened_ = taken.ok();
      if (taken.ok()) return;
      self->server_told_ = true;
      self->Break(Annotate(taken, "worker " + self->address_), taken);
    };
  }
  if (server_status_) {
    server_told_ = true;
    if (!opened_) return nullptr;
    return
        [self, handler = handler_, status = *server_status_] { handler->OnClosed(self, status); };
  }
  credit_.Grant(std::exchange(granted_, 0));
  if (armed_ && Writable()) {
    return [self, handler = handler_] { handler->OnReady(self); };
  }
  return nullptr;
}

std::function<void()> FakeLink::DueAtClient() {
  if (client_told_) return nullptr;
  if (!client_status_ && !waiting_.empty()) {
    auto frame = std::make_shared<Frame>(std::move(waiting_.front()));
    waiting_.pop_front();
    waiting_bytes_ -= frame->bytes;
    if (frame->bytes > network_.options_.max_frame_bytes) {
      Break(OutOfRange("worker {}: a frame is over transport.max_frame_bytes = {}", address_,
                       network_.options_.max_frame_bytes),
            Cancelled("client broke off"));
      return DueAtClient();
    }
    return [receiver = receiver_, frame] {
      auto bytes = AllocateFrameBytes(frame->bytes);
      if (!bytes.ok()) return;
      CopyFrame(*frame, bytes->get());
      receiver->OnFrame({*std::move(bytes), frame->bytes});
    };
  }
  if (!client_status_ && finish_) {
    Break(finish_->ok() ? absl::OkStatus() : Annotate(*finish_, "worker " + address_), *finish_);
  }
  if (!client_status_) return nullptr;
  client_told_ = true;
  return
      [receiver = std::move(receiver_), status = *client_status_] { receiver->OnClosed(status); };
}

std::function<void()> FakeLink::Due() {
  if (auto call = DueAtServer()) return call;
  return DueAtClient();
}

class FakeFrameServer final : public FrameServer {
 public:
  FakeFrameServer(FakeFrameNetwork& network, std::string address)
      : network_(network), address_(std::move(address)) {}
  ~FakeFrameServer() override { Shutdown(absl::ZeroDuration()); }
  std::string address() const override { return address_; }
  std::string transport() const override { return "fake"; }
  void Shutdown(absl::Duration) override { network_.Stop(address_); }

 private:
  FakeFrameNetwork& network_;
  const std::string address_;
};

class FakeIncomingFrames final : public IncomingFrames {
 public:
  explicit FakeIncomingFrames(std::shared_ptr<FakeLink> link) : link_(std::move(link)) {}
  ~FakeIncomingFrames() override { link_->Close(); }
  void Grant(uint64_t bytes) override { link_->Grant(bytes); }
  void Close() override { link_->Close(); }

 private:
  const std::shared_ptr<FakeLink> link_;
};

class FakeFrameConnector final : public FrameConnector {
 public:
  explicit FakeFrameConnector(FakeFrameNetwork& network) : network_(network) {}
  std::unique_ptr<IncomingFrames> Open(const WorkerEndpoint& worker, const v1::StreamOpen& open,
                                       uint64_t credit,
                                       std::shared_ptr<FrameReceiver> receiver) override {
    return network_.Connect(worker.address, open, credit, std::move(receiver));
  }

 private:
  FakeFrameNetwork& network_;
};

FakeFrameNetwork::FakeFrameNetwork(Options options) : options_(std::move(options)) {}
FakeFrameNetwork::FakeFrameNetwork() : FakeFrameNetwork(Options{}) {}
// A receiver that was never told of the end may hold its own stream.
FakeFrameNetwork::~FakeFrameNetwork() {
  std::vector<std::shared_ptr<FrameReceiver>> receivers;
  absl::MutexLock lock(&mutex_);
  for (const std::shared_ptr<FakeLink>& link : links_)
    receivers.push_back(std::move(link->receiver_));
  links_.clear();
}

std::unique_ptr<FrameServer> FakeFrameNetwork::Serve(const std::string& address,
                                                     StreamHandler& handler) {
  absl::MutexLock lock(&mutex_);
  servers_[address] = &handler;
  return std::make_unique<FakeFrameServer>(*this, address);
}

std::unique_ptr<FrameConnector> FakeFrameNetwork::Connector() {
  return std::make_unique<FakeFrameConnector>(*this);
}

std::unique_ptr<IncomingFrames> FakeFrameNetwork::Connect(const std::string& address,
                                                          const v1::StreamOpen& open,
                                                          uint64_t credit,
                                                          std::shared_ptr<FrameReceiver> receiver) {
  auto link = std::make_shared<FakeLink>(*this, address, open, credit, std::move(receiver));
  absl::MutexLock lock(&mutex_);
  auto server = servers_.find(address);
  if (server == servers_.end()) {
    link->Break(Unreached(Unavailable("worker {}: connection refused", address)), absl::OkStatus());
  } else {
    link->handler_ = server->second;
  }
  links_.push_back(link);
  return std::make_unique<FakeIncomingFrames>(std::move(link));
}

bool FakeFrameNetwork::Step() {
  std::function<void()> call;
  {
    absl::MutexLock lock(&mutex_);
    std::erase_if(links_, [](const auto& link) { return link->over(); });
    // Starts at the chosen stream and takes the first that has something due.
    const size_t n = links_.size();
    const size_t start = options_.choose && n > 0 ? options_.choose(n) % n : 0;
    for (size_t i = 0; i < n && !call; ++i) {
      const size_t at = (start + i) % n;
      std::shared_ptr<FakeLink> link = links_[at];
      call = link->Due();
      if (call) {  // to the end of the queue
        links_.erase(links_.begin() + static_cast<ptrdiff_t>(at));
        links_.push_back(std::move(link));
      }
    }
  }
  if (!call) return false;
  call();
  return true;
}

void FakeFrameNetwork::Kill(const std::string& address) {
  absl::MutexLock lock(&mutex_);
  servers_.erase(address);
  for (const auto& link : links_) {
    if (link->address() == address) link->KillServer();
  }
}

void FakeFrameNetwork::BreakStreams(const std::string& address) {
  absl::MutexLock lock(&mutex_);
  for (const auto& link : links_) {
    if (link->address() == address) {
      link->Break(Unavailable("worker {}: connection reset", address),
                  Unavailable("connection reset"));
    }
  }
}

// A server that shuts down: its open streams end with UNAVAILABLE, and the handler hears of it now.
void FakeFrameNetwork::Stop(const std::string& address) {
  std::vector<std::function<void()>> calls;
  {
    absl::MutexLock lock(&mutex_);
    servers_.erase(address);
    for (const auto& link : links_) {
      if (link->address() != address || link->handler_ == nullptr) continue;
      link->Break(Unavailable("worker {}: shut down", address), Cancelled("the server shut down"));
      if (auto call = link->DueAtServer()) calls.push_back(std::move(call));
      link->handler_ = nullptr;
    }
  }
  for (const auto& call : calls) call();
}

}  // namespace headrace
