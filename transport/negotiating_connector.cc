#include "transport/negotiating_connector.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/logging/logging.h"
#include "common/status.h"
#include "fmt/ranges.h"

namespace headrace {
namespace {

constexpr size_t kMostRemembered = 10'000;  // workers

// A driver's name and what it dials.
struct Candidate {
  std::string name;
  std::string address;
  bool best = false;  // of those that may be tried
};

std::string Offers(const WorkerEndpoint& worker) {
  if (worker.transports.empty()) return "grpc";
  std::vector<std::string_view> names;
  for (const std::string& transport : worker.transports)
    names.push_back(std::string_view(transport).substr(0, transport.find(':')));
  return fmt::format("{}", fmt::join(names, ", "));
}

// What the streams of a connector share.
class Negotiation {
 public:
  Negotiation(std::shared_ptr<const TransportRegistry> drivers, const NegotiationOptions& options,
              const Clock& clock)
      : drivers_(std::move(drivers)), options_(options), clock_(clock) {}

  bool forced() const { return options_.transport != kAutoTransport; }
  const std::string& transport() const { return options_.transport; }

  // In the order in which they are to be tried.
  std::vector<Candidate> Candidates(const WorkerEndpoint& worker) {
    std::vector<Candidate> candidates;
    const auto add = [&](std::string_view transport) {
      const size_t colon = transport.find(':');
      std::string name(transport.substr(0, colon));
      if (drivers_->Find(name) == nullptr || (forced() && name != options_.transport)) return;
      std::string address = colon == std::string_view::npos
                                ? worker.address
                                : std::string(transport.substr(colon + 1));
      candidates.push_back({std::move(name), std::move(address), candidates.empty()});
    };
    for (const std::string& transport : worker.transports) add(transport);
    if (worker.transports.empty()) add("grpc");  // a worker that says nothing
    absl::MutexLock lock(&mutex_);
    const auto known = known_.find(worker.address);
    if (known == known_.end() || clock_.Steady() >= known->second.until) return candidates;
    std::stable_partition(candidates.begin(), candidates.end(),
                          [&](const Candidate& c) { return c.name == known->second.name; });
    return candidates;
  }

  absl::StatusOr<std::unique_ptr<IncomingFrames>> Open(const Candidate& candidate,
                                                       const v1::StreamOpen& open, uint64_t credit,
                                                       std::shared_ptr<FrameReceiver> receiver) {
    FrameConnector* connector = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return Cancelled("the connector is being closed");
      std::unique_ptr<FrameConnector>& own = connectors_[candidate.name];
      if (own == nullptr) {
        HR_ASSIGN_OR_RETURN(own, drivers_->Find(candidate.name)->MakeConnector(options_.connect));
      }
      connector = own.get();
      ++opening_;
    }
    auto frames = connector->Open(candidate.address, open, credit, std::move(receiver));
    absl::MutexLock lock(&mutex_);
    --opening_;
    return frames;
  }

  // The worker was reached; `failed` are the errors of better ways.
  void Reached(const std::string& worker, const Candidate& candidate,
               const std::vector<absl::Status>& failed) {
    bool news = false;
    {
      absl::MutexLock lock(&mutex_);
      absent_.erase(worker);
      if (known_.size() >= kMostRemembered) known_.clear();
      Known& known = known_[worker];
      news = known.name != candidate.name;
      const absl::Duration now = clock_.Steady();
      if (news || now >= known.until) {
        known.name = candidate.name;
        // The best one comes first anyway.
        known.until = candidate.best ? now : now + options_.remember;
      }
    }
    if (!news) return;
    if (failed.empty()) {
      LogInfo("worker {}: frames come over {}", worker, candidate.name);
      return;
    }
    std::vector<std::string> why;
    bool expected = true;  // another host than the worker's is no surprise
    for (const absl::Status& status : failed) {
      why.emplace_back(status.message());
      expected = expected && absl::IsUnimplemented(status);
    }
    if (expected) {
      LogInfo("worker {}: frames come over {} ({})", worker, candidate.name, fmt::join(why, "; "));
    } else {
      LogWarning("worker {}: frames come over {} ({})", worker, candidate.name,
                 fmt::join(why, "; "));
    }
  }

  // How long the worker has been out of reach, time and again.
  absl::Duration Absent(const std::string& worker) {
    absl::MutexLock lock(&mutex_);
    known_.erase(worker);
    if (absent_.size() >= kMostRemembered) absent_.clear();
    const absl::Duration now = clock_.Steady();
    Absence& absence = absent_.try_emplace(worker, Absence{now, now}).first->second;
    if (now - absence.last > options_.patience) absence.first = now;  // another one
    absence.last = now;
    return now - absence.first;
  }
  absl::Duration patience() const { return options_.patience; }

  void Stop() {
    std::map<std::string, std::unique_ptr<FrameConnector>> connectors;
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
      mutex_.Await(absl::Condition(+[](int* opening) { return *opening == 0; }, &opening_));
      connectors.swap(connectors_);
    }
  }

 private:
  struct Known {
    std::string name;
    absl::Duration until = absl::ZeroDuration();
  };
  struct Absence {
    absl::Duration first;
    absl::Duration last;
  };

  const std::shared_ptr<const TransportRegistry> drivers_;
  const NegotiationOptions options_;
  const Clock& clock_;
  absl::Mutex mutex_;
  std::map<std::string, std::unique_ptr<FrameConnector>> connectors_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);  // by worker address
  std::map<std::string, Absence> absent_ ABSL_GUARDED_BY(mutex_);
  int opening_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

// One stream: at most one try of it is alive at a time. The try holds it, the driver holds the try.
class NegotiatedStream : public std::enable_shared_from_this<NegotiatedStream> {
 public:
  NegotiatedStream(std::shared_ptr<Negotiation> negotiation, WorkerEndpoint worker,
                   v1::StreamOpen open, uint64_t credit, std::shared_ptr<FrameReceiver> receiver)
      : negotiation_(std::move(negotiation)),
        worker_(std::move(worker)),
        open_(std::move(open)),
        receiver_(std::move(receiver)),
        candidates_(negotiation_->Candidates(worker_)),
        granted_(credit) {}

  // Tries the next candidate; tells the receiver when there is none. No two calls at a time: a try
  // ends before the next.
  void Try();

  void Grant(uint64_t bytes) {
    absl::MutexLock lock(&mutex_);
    granted_ += bytes;
    PassCredit();
  }
  void Close() {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
    if (handle_ != nullptr) handle_->Close();
  }

  // From the driver, of the present try.
  void OnFrame(FrameBuffer frame) {
    if (!reached_) MarkReached();
    receiver_->OnFrame(std::move(frame));
  }
  void OnClosed(const absl::Status& status);

 private:
  void PassCredit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (handle_ != nullptr && granted_ > passed_)
      handle_->Grant(granted_ - std::exchange(passed_, granted_));
  }
  void MarkReached() {
    reached_ = true;
    negotiation_->Reached(worker_.address, candidates_[next_ - 1], failed_);
  }
  void Tell(const absl::Status& status) {
    std::unique_ptr<IncomingFrames> handle;
    {
      absl::MutexLock lock(&mutex_);
      handle = std::move(handle_);
    }
    std::exchange(receiver_, nullptr)->OnClosed(status);
  }
  absl::Status Outcome() const;

  const std::shared_ptr<Negotiation> negotiation_;
  const WorkerEndpoint worker_;
  const v1::StreamOpen open_;
  // Touched by the present try only.
  std::shared_ptr<FrameReceiver> receiver_;
  const std::vector<Candidate> candidates_;
  size_t next_ = 0;
  std::vector<absl::Status> failed_;
  bool reached_ = false;

  absl::Mutex mutex_;
  std::unique_ptr<IncomingFrames> handle_ ABSL_GUARDED_BY(mutex_);
  uint64_t granted_ ABSL_GUARDED_BY(mutex_);
  uint64_t passed_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t attempt_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
};

class TryReceiver final : public FrameReceiver {
 public:
  explicit TryReceiver(std::shared_ptr<NegotiatedStream> stream) : stream_(std::move(stream)) {}
  void OnFrame(FrameBuffer frame) override { stream_->OnFrame(std::move(frame)); }
  void OnClosed(const absl::Status& status) override { stream_->OnClosed(status); }

 private:
  const std::shared_ptr<NegotiatedStream> stream_;
};

void NegotiatedStream::Try() {
  while (next_ < candidates_.size()) {
    const Candidate& candidate = candidates_[next_++];
    uint64_t credit = 0;
    size_t attempt = 0;
    bool closing = false;
    {
      absl::MutexLock lock(&mutex_);
      closing = closing_;
      attempt = ++attempt_;
      credit = passed_ = granted_;
    }
    if (closing) return Tell(Cancelled("the stream from worker {} was closed", worker_.address));
    auto handle = negotiation_->Open(candidate, open_, credit,
                                     std::make_shared<TryReceiver>(shared_from_this()));
    if (!handle.ok()) {
      if (absl::IsCancelled(handle.status())) return Tell(handle.status());
      failed_.push_back(Annotate(handle.status(), candidate.name));
      continue;
    }
    absl::MutexLock lock(&mutex_);    // goes before `handle`
    if (attempt_ != attempt) return;  // it is over already
    handle_ = *std::move(handle);
    PassCredit();
    if (closing_) handle_->Close();
    return;
  }
  Tell(Outcome());
}

void NegotiatedStream::OnClosed(const absl::Status& status) {
  if (!IsUnreached(status)) {
    if (!reached_ && (status.ok() || absl::IsFailedPrecondition(status))) MarkReached();
    Tell(status);
    return;
  }
  failed_.push_back(Annotate(status, candidates_[next_ - 1].name));
  std::unique_ptr<IncomingFrames> handle;
  {
    absl::MutexLock lock(&mutex_);
    handle = std::move(handle_);
    ++attempt_;
  }
  handle.reset();
  Try();
}

// Of a worker that nothing reached.
absl::Status NegotiatedStream::Outcome() const {
  const std::string offers = Offers(worker_);
  if (failed_.empty()) {
    return InvalidArgument(
        "worker {} does not serve {}: it offers {}; choose one of these, or add it to "
        "`transports` in the worker's config",
        worker_.address,
        negotiation_->forced() ? fmt::format("transport '{}'", negotiation_->transport())
                               : std::string("any transport that this client has"),
        offers);
  }
  std::vector<std::string> why;
  absl::Status outcome = failed_.back();
  for (const absl::Status& status : failed_) {
    why.emplace_back(status.message());
    if (absl::IsUnavailable(status)) outcome = status;
  }
  absl::StatusCode code = outcome.code();
  std::string hint;
  const absl::Duration absent = negotiation_->Absent(worker_.address);
  if (negotiation_->forced()) {
    if (absl::IsUnavailable(outcome) && absent > negotiation_->patience()) {
      code = absl::StatusCode::kUnimplemented;
      hint =
          fmt::format(" (for {} now)", absl::FormatDuration(absl::Trunc(absent, absl::Seconds(1))));
    }
    hint += fmt::format("; transport '{}' is forced, the worker offers {}",
                        negotiation_->transport(), offers);
  }
  return Unreached(absl::Status(
      code, fmt::format("worker {}: {}{}", worker_.address, fmt::join(why, "; "), hint)));
}

class NegotiatedFrames final : public IncomingFrames {
 public:
  explicit NegotiatedFrames(std::shared_ptr<NegotiatedStream> stream)
      : stream_(std::move(stream)) {}
  ~NegotiatedFrames() override { stream_->Close(); }
  void Grant(uint64_t bytes) override { stream_->Grant(bytes); }
  void Close() override { stream_->Close(); }

 private:
  const std::shared_ptr<NegotiatedStream> stream_;
};

class NegotiatingConnector final : public FrameConnector {
 public:
  explicit NegotiatingConnector(std::shared_ptr<Negotiation> negotiation)
      : negotiation_(std::move(negotiation)) {}
  ~NegotiatingConnector() override { negotiation_->Stop(); }

  std::unique_ptr<IncomingFrames> Open(const WorkerEndpoint& worker, const v1::StreamOpen& open,
                                       uint64_t credit,
                                       std::shared_ptr<FrameReceiver> receiver) override {
    auto stream =
        std::make_shared<NegotiatedStream>(negotiation_, worker, open, credit, std::move(receiver));
    stream->Try();
    return std::make_unique<NegotiatedFrames>(std::move(stream));
  }

 private:
  const std::shared_ptr<Negotiation> negotiation_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameConnector>> MakeNegotiatingConnector(
    std::shared_ptr<const TransportRegistry> drivers, const NegotiationOptions& options,
    const Clock& clock) {
  if (options.transport != kAutoTransport) HR_RETURN_IF_ERROR(drivers->Check(options.transport));
  return std::make_unique<NegotiatingConnector>(
      std::make_shared<Negotiation>(std::move(drivers), options, clock));
}

}  // namespace headrace
