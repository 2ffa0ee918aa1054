#include "transport/shm/shm_frame_connector.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/status.h"
#include "common/sync/thread.h"
#include "transport/shm/receiving_link.h"

namespace headrace {
namespace {

constexpr absl::Duration kConnectPeriod = absl::Milliseconds(10);
constexpr absl::Duration kTick = absl::Seconds(10);  // only a safety net: events wake it
constexpr absl::Duration kReturnPeriod = absl::Milliseconds(100);
constexpr absl::Duration kLastWords = absl::Seconds(1);

class ShmIncomingFrames final : public IncomingFrames {
 public:
  explicit ShmIncomingFrames(std::shared_ptr<ReceivingLink> link) : link_(std::move(link)) {}
  ~ShmIncomingFrames() override { link_->Close(); }
  void Grant(uint64_t bytes) override { link_->Grant(bytes); }
  void Close() override { link_->Close(); }

 private:
  const std::shared_ptr<ReceivingLink> link_;
};

class ShmFrameConnector final : public FrameConnector {
 public:
  ShmFrameConnector(const ShmFrameConnectorOptions& options, const Clock& clock, Poller poller)
      : options_(options),
        clock_(clock),
        receiving_{options.max_frame_bytes, FramePool(options.pooled_bytes), std::move(poller)},
        thread_("hr-shm-read", [this] { Run(); }) {}

  ~ShmFrameConnector() override {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    receiving_.poller.Wake();
    thread_.Join();
  }

  std::unique_ptr<IncomingFrames> Open(const WorkerEndpoint& worker, const v1::StreamOpen& open,
                                       uint64_t credit,
                                       std::shared_ptr<FrameReceiver> receiver) override {
    std::shared_ptr<ReceivingLink> link;
    {
      absl::MutexLock lock(&mutex_);
      const uint64_t token = next_token_++;
      link = std::make_shared<ReceivingLink>(receiving_, token, worker.address, open, credit,
                                             std::move(receiver),
                                             clock_.Steady() + options_.connect_timeout);
      opened_.emplace_back(token, link);
    }
    receiving_.poller.Wake();
    return std::make_unique<ShmIncomingFrames>(std::move(link));
  }

 private:
  void Run() {
    absl::Duration stop_by = absl::InfiniteDuration();
    while (true) {
      const bool stopping = Admit();
      const absl::Duration now = clock_.Steady();
      if (stopping && stop_by == absl::InfiniteDuration()) {
        stop_by = now + kLastWords;
        for (auto& [token, link] : links_) link->Close();
      }
      const bool connecting = Advance(now);
      if (stopping && (links_.empty() || now >= stop_by)) break;
      const bool returning = SendReturns(now);
      const absl::Duration patience = connecting || stopping ? kConnectPeriod
                                      : returning            ? kReturnPeriod
                                                             : kTick;
      for (const Poller::Event& event : receiving_.poller.Wait(patience)) {
        const auto it = links_.find(event.token);
        if (it == links_.end()) continue;
        if ((event.events & EPOLLOUT) != 0) it->second->Write();
        if ((event.events & ~uint32_t{EPOLLOUT}) != 0) it->second->Read();
      }
    }
    for (auto& [token, link] : links_) link->Abandon();
    links_.clear();
  }

  // Takes over what Open made. True: the connector is to end.
  bool Admit() {
    absl::MutexLock lock(&mutex_);
    for (auto& [token, link] : opened_) links_.emplace(token, std::move(link));
    opened_.clear();
    return stopping_;
  }

  // True: some stream is being connected.
  bool Advance(absl::Duration now) {
    bool connecting = false;
    for (auto it = links_.begin(); it != links_.end();) {
      it->second->Connect(now);
      connecting = connecting || it->second->connecting();
      it = it->second->Settle() ? links_.erase(it) : std::next(it);
    }
    return connecting;
  }

  // Frames that were dropped go back once in a while, though their trainer takes no others. True:
  // some may wait.
  bool SendReturns(absl::Duration now) {
    const bool due = now >= next_returns_;
    if (due) next_returns_ = now + kReturnPeriod;
    bool waiting = false;
    for (auto& [token, link] : links_) waiting = link->SendReturns(due) || waiting;
    return waiting;
  }

  const ShmFrameConnectorOptions options_;
  const Clock& clock_;
  ShmReceiving receiving_;
  // The thread's.
  std::map<uint64_t, std::shared_ptr<ReceivingLink>> links_;
  absl::Duration next_returns_ = absl::ZeroDuration();

  absl::Mutex mutex_;
  std::vector<std::pair<uint64_t, std::shared_ptr<ReceivingLink>>> opened_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_token_ ABSL_GUARDED_BY(mutex_) = 1;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameConnector>> MakeShmFrameConnector(
    const ShmFrameConnectorOptions& options, const Clock& clock) {
  HR_ASSIGN_OR_RETURN(Poller poller, Poller::Make());
  return std::make_unique<ShmFrameConnector>(options, clock, std::move(poller));
}

}  // namespace headrace
