#include "client/loader_core.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "client/may_pass.h"
#include "common/backoff.h"
#include "common/logging/logging.h"
#include "common/status.h"
#include "element/pipeline_sketch.h"
#include "element/schema_proto.h"

namespace headrace {
namespace {

constexpr absl::Duration kOpenTimeout = absl::Minutes(5);
// How long a rank that has had its batches waits for the others' before it says so.
constexpr absl::Duration kEndPatience = absl::Milliseconds(500);
// A trainer that waits for longer than it usually does may be at the end, which may hang on its
// report: that goes out then. One whose input is slow waits for every batch, and hurries nobody.
constexpr absl::Duration kLeastPatience = absl::Milliseconds(10);
constexpr absl::Duration kWaitStep = absl::Milliseconds(200);

// Another rank may still have to report the end of the epoch before; a client that is not known is
// opened again by the beats.
bool MayBeginLater(const absl::Status& status) {
  return MayPass(status) || absl::IsFailedPrecondition(status) || absl::IsNotFound(status);
}

}  // namespace

uint64_t LoaderCore::FreshUid() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device() | 1;
}

LoaderCore::LoaderCore(v1::PipelineDef pipeline, StreamOptions options, ClientOptions client,
                       const Loader::Deps& deps)
    : pipeline_(std::move(pipeline)),
      options_(std::move(options)),
      client_(client),
      dispatcher_(deps.dispatcher),
      connector_(deps.connector.get()),
      clock_(deps.clock),
      sketch_(SketchOf(pipeline_)),
      merger_(options_.prefetch_bytes),
      gate_(options_.job_options.uneven() > v1::UNEVEN_FREE),
      uid_(FreshUid()),
      reader_(options_.rank),
      readers_(std::max({1u, options_.rank + 1, options_.job_options.world_size()})) {}

absl::Status LoaderCore::Open() {
  uint64_t uid = 0;
  {
    absl::MutexLock lock(&mutex_);
    uid = uid_;
  }
  const absl::Duration deadline = clock_->Steady() + client_.connect_timeout;
  Backoff backoff({}, uid);
  while (true) {
    // Listing a large dataset takes its time.
    absl::StatusOr<v1::OpenJobReply> reply = CallOpenJob(uid, kOpenTimeout);
    const absl::Duration pause = backoff.Next();
    if (!reply.ok() && IsTransient(reply.status()) && clock_->Steady() + pause < deadline) {
      absl::SleepFor(pause);
      continue;
    }
    HR_ASSIGN_OR_RETURN(job_, std::move(reply));
    break;
  }
  HR_ASSIGN_OR_RETURN(schema_, SchemaFromDef(job_.schema()));
  absl::MutexLock lock(&mutex_);
  client_id_ = job_.client();
  next_epoch_ = job_.next_epoch();
  incarnation_ = job_.incarnation();
  if (job_.has_ordered()) {
    sequence_ = std::make_unique<OrderedSequence>(job_.ordered(), options_.rank,
                                                  std::max(1u, options_.job_options.world_size()));
    lanes_ = std::make_unique<LaneFrames>(merger_, *sequence_);
  }
  answered_ = clock_->Steady();
  return absl::OkStatus();
}

void LoaderCore::StartBeats() {
  beats_ = Thread("hr-client-beat", [this] { BeatLoop(); });
}

absl::StatusOr<v1::StartEpochReply> LoaderCore::TryStartEpoch(uint64_t epoch,
                                                              absl::Duration timeout) {
  v1::StartEpochRequest request;
  bool reading = false;
  bool away = false;
  {
    absl::MutexLock lock(&mutex_);
    reading = in_epoch_ && !epoch_finished_;
    left_early_ = left_early_ || reading;
    away = client_id_ == 0;  // a try before this one left, and did not come back
  }
  if (away) HR_RETURN_IF_ERROR(LeaveEpoch(timeout));
  {
    absl::MutexLock lock(&mutex_);
    request.set_client(client_id_);
    request.set_abandon_unfinished(left_early_);
    request.set_incarnation(incarnation_);
    if (const v1::OrderedPosition* at = ResumeAt(epoch)) *request.mutable_position() = *at;
  }
  request.set_job(job_.job());
  request.set_cluster(job_.cluster());
  request.set_epoch(epoch);
  absl::StatusOr<v1::StartEpochReply> reply = dispatcher_->StartEpoch(request, timeout);
  if (absl::IsNotFound(reply.status())) {
    absl::MutexLock lock(&mutex_);
    beat_now_ = true;
    beat_.Signal();
  } else if (absl::IsFailedPrecondition(reply.status()) && reading) {
    // Others read it still. What we hold of it is theirs.
    HR_RETURN_IF_ERROR(LeaveEpoch(timeout));
  }
  return reply;
}

absl::StatusOr<v1::StartEpochReply> LoaderCore::CallStartEpoch(uint64_t epoch,
                                                               absl::Duration give_up_after) {
  const absl::Duration deadline = clock_->Steady() + give_up_after;
  Backoff backoff({.initial = absl::Milliseconds(20), .max = absl::Seconds(1)}, epoch);
  while (true) {
    const absl::Duration left = deadline - clock_->Steady();
    absl::StatusOr<v1::StartEpochReply> reply =
        TryStartEpoch(epoch, std::clamp(left, absl::Milliseconds(100), client_.call_timeout));
    absl::MutexLock lock(&mutex_);
    HR_RETURN_IF_ERROR(Ended());
    if (reply.ok() || !MayBeginLater(reply.status())) return reply;
    const absl::Duration pause = backoff.Next();
    if (clock_->Steady() + pause > deadline) {
      return DeadlineExceeded("epoch {} of job '{}' was not begun within {}: {}", epoch,
                              job_.job_name(), absl::FormatDuration(give_up_after),
                              std::string(reply.status().message()));
    }
    changed_.WaitWithTimeout(&mutex_, pause);
  }
}

absl::Status LoaderCore::StartEpoch(std::optional<uint64_t> asked, absl::Duration timeout) {
  uint64_t epoch = 0;
  {
    absl::MutexLock lock(&mutex_);
    HR_RETURN_IF_ERROR(Ended());
    if (restore_ == nullptr && in_epoch_ && !epoch_finished_ && asked == epoch_) {
      return absl::OkStatus();
    }
  }
  const absl::Duration asked_at = clock_->Steady();
  HR_RETURN_IF_ERROR(Restore(timeout));
  {
    absl::MutexLock lock(&mutex_);
    epoch = asked.value_or(next_epoch_);
  }
  HR_ASSIGN_OR_RETURN(const v1::StartEpochReply reply,
                      CallStartEpoch(epoch, asked_at + timeout - clock_->Steady()));
  Chores chores;
  {
    absl::MutexLock saving(&delivered_mutex_);
    absl::MutexLock lock(&mutex_);
    tracker_.Reset();
    delivered_.Clear();
    needs_.clear();
    needs_seen_ = epoch_elements_ = 0;
    // Of an earlier epoch nothing is carried on.
    if (carried_.has_value() && epoch == next_epoch_) delivered_ = *std::move(carried_);
    carried_.reset();
    left_ = false;
    began_ = true;
    answered_ = std::max(answered_, asked_at);
    HR_RETURN_IF_ERROR(BeginSequence(epoch, reply));
    EnterEpoch(epoch, reply, chores);
  }
  Do(std::move(chores));
  return absl::OkStatus();
}

void LoaderCore::EnterEpoch(uint64_t epoch, const v1::StartEpochReply& reply, Chores& chores) {
  streams_.Clear(chores.dropped);
  merger_.Clear();
  gate_.Reset();
  if (gate_.on()) merger_.SetFrameLimit(1);
  if (lanes_ != nullptr) lanes_->Clear();
  epoch_ = epoch;
  next_epoch_ = epoch + 1;
  in_epoch_ = true;
  epoch_finished_ = false;
  left_early_ = false;
  waits_since_ = absl::InfiniteDuration();
  meter_.Pause();
  for (uint64_t task : reply.fenced_tasks()) tracker_.Fence(task);
  TakeTasks(reply.tasks(), reply.tasks_version(), chores);
  beat_now_ = true;
  beat_.Signal();
}

absl::Status LoaderCore::Ended() const {
  if (closed_) return FailedPrecondition("the loader of job '{}' is closed", job_.job_name());
  return failure_;
}

void LoaderCore::Fail(absl::Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  changed_.SignalAll();
}

bool LoaderCore::Silent() const {
  const uint32_t limit = job_.client_timeout_milliseconds();
  return limit != 0 && clock_->Steady() - answered_ > absl::Milliseconds(limit);
}

void LoaderCore::GrantCredit() {
  merger_.GiveCredit([this](uint64_t task, uint64_t bytes) {
    mutex_.AssertHeld();
    IncomingFrames* stream = streams_.Find(task);
    if (stream != nullptr) stream->Grant(bytes);
    return stream != nullptr;
  });
}

absl::StatusOr<std::optional<Element>> LoaderCore::TakeElement() {
  if (sequence_ != nullptr) return TakeOrdered();
  std::optional<FrameMerger::Row> row = gate_.on() ? gate_.Take() : merger_.Pop();
  if (row) return HandOver(*std::move(row));
  std::optional<Element> again = gate_.Repeat();
  if (again) ++stats_.elements;
  return again;
}

Element LoaderCore::HandOver(FrameMerger::Row row) {
  tracker_.Delivered(*row.frame, row.row);
  ++epoch_elements_;
  Element element(std::move(row.frame), row.row);
  ++stats_.elements;
  stats_.bytes += element.frame()->bytes() / element.frame()->rows();
  if (row.row + 1 == element.frame()->rows()) GrantCredit();
  return element;
}

absl::StatusOr<std::optional<Element>> LoaderCore::Next(absl::Duration timeout) {
  const absl::Duration deadline = clock_->Steady() + timeout;
  absl::MutexLock lock(&mutex_);
  HR_RETURN_IF_ERROR(Ended());
  if (!in_epoch_) return FailedPrecondition("no epoch is begun: call StartEpoch first");
  absl::Duration now = clock_->Steady();
  const absl::Duration asked = now;
  meter_.Asked(now);
  bool left_waiting = false;
  const absl::Cleanup answered = [&] {
    left_waiting ? meter_.LeftWaiting(now) : meter_.Answered(now);
  };
  while (true) {
    HR_RETURN_IF_ERROR(Ended());
    if (now - answered_ > client_.outage_timeout) {
      return Unavailable("the dispatcher has not answered for {}",
                         absl::FormatDuration(now - answered_));
    }
    if (!Silent()) {
      HR_ASSIGN_OR_RETURN(std::optional<Element> element, TakeElement());
      if (element) {
        NoteWait(now);
        return element;
      }
    }
    // The same number of batches for all ranks; the summary comes when all have had them.
    const bool ended = gate_.AtEnd() && now - asked > kEndPatience;
    if (epoch_finished_ || ended) {
      in_epoch_ = false;
      return std::nullopt;
    }
    if (now >= deadline) {
      left_waiting = true;
      return DeadlineExceeded("no element within {}{}", absl::FormatDuration(timeout),
                              waiting_.empty() ? "" : ": " + waiting_);
    }
    const absl::Duration patience = HurryIfLate(now);
    changed_.WaitWithTimeout(&mutex_, std::min(deadline - now, patience));
    now = clock_->Steady();
  }
}

void LoaderCore::NoteWait(absl::Duration now) {
  if (waits_since_ == absl::InfiniteDuration()) return;
  const absl::Duration wait = now - std::exchange(waits_since_, absl::InfiniteDuration());
  if (epoch_elements_ > 1) usual_wait_ += (wait - usual_wait_) / 8;
}

absl::Duration LoaderCore::HurryIfLate(absl::Duration now) {
  if (waits_since_ == absl::InfiniteDuration()) waits_since_ = now;
  const absl::Duration late =
      waits_since_ + std::clamp(2 * usual_wait_, kLeastPatience, std::max(kLeastPatience, period_));
  if (now < late && !gate_.on()) return late - now;
  const bool moved = sequence_ != nullptr && sequence_->windows() != windows_told_;
  if (!beat_soon_ && (tracker_.unsent() || moved || gate_.on())) {
    beat_soon_ = true;
    beat_.Signal();
  }
  return kWaitStep;
}

void LoaderCore::Close(absl::Duration timeout) {
  v1::CloseClientRequest request;
  TaskStreams::Handles dropped;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    closed_ = true;
    v1::ClientBeatRequest last;
    tracker_.Fill(last);
    *request.mutable_delivered() = last.delivered();
    request.set_client(client_id_);
    request.set_epoch(epoch_);
    request.set_incarnation(incarnation_);
    streams_.Clear(dropped);
    merger_.Clear();
    changed_.SignalAll();
    beat_.SignalAll();
  }
  request.set_job(job_.job());
  request.set_cluster(job_.cluster());
  if (request.client() != 0) {
    if (auto reply = dispatcher_->CloseClient(request, std::max(timeout, absl::Milliseconds(100)));
        !reply.ok()) {
      LogDebug("close: {}", OneLine(reply.status()));  // it will find out by our silence
    }
  }
  dropped.clear();
  beats_.Join();
}

LoaderStats LoaderCore::stats() const {
  absl::MutexLock lock(&mutex_);
  LoaderStats stats = stats_;
  stats.step = meter_.step();
  stats.wait = meter_.wait();
  stats.paused = meter_.paused();
  stats.longest_wait = meter_.longest_wait();
  stats.usual_step = meter_.usual_step();
  stats.steps = meter_.steps();
  stats.stall_fraction = meter_.stall_fraction();
  stats.held_bytes = merger_.held_bytes();
  return stats;
}

uint64_t LoaderCore::epoch() const {
  absl::MutexLock lock(&mutex_);
  return epoch_;
}

v1::EpochSummary LoaderCore::summary() const {
  absl::MutexLock lock(&mutex_);
  return summary_;
}

std::string LoaderCore::waiting() const {
  absl::MutexLock lock(&mutex_);
  const absl::Duration silence = clock_->Steady() - answered_;
  if (silence > 2 * period_ + absl::Seconds(2)) {
    return fmt::format("the dispatcher has not answered for {} (given up after {})",
                       absl::FormatDuration(absl::Trunc(silence, absl::Seconds(1))),
                       absl::FormatDuration(client_.outage_timeout));
  }
  return waiting_;
}

}  // namespace headrace
