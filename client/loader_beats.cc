// The Loader's conversation with the dispatcher, and what its answers do to the streams.
#include <algorithm>
#include <utility>

#include "client/loader_core.h"
#include "common/logging/logging.h"
#include "common/status.h"

namespace headrace {
namespace {

constexpr absl::Duration kLeastPause = absl::Milliseconds(2);  // between beats, however urgent
constexpr absl::Duration kBeatTimeout = absl::Seconds(1);

// Hands what arrives to the core, as long as there is one.
class Receiver final : public FrameReceiver {
 public:
  Receiver(std::weak_ptr<LoaderCore> core, uint64_t task, uint64_t attempt)
      : core_(std::move(core)), task_(task), attempt_(attempt) {}
  void OnFrame(FrameBuffer frame) override {
    if (auto core = core_.lock()) core->OnFrame(task_, attempt_, std::move(frame));
  }
  void OnClosed(const absl::Status& status) override {
    if (auto core = core_.lock()) core->OnClosed(task_, attempt_, status);
  }

 private:
  const std::weak_ptr<LoaderCore> core_;
  const uint64_t task_;
  const uint64_t attempt_;
};

}  // namespace

v1::ClientBeatRequest LoaderCore::MakeBeat() {
  v1::ClientBeatRequest request;
  request.set_client(client_id_);
  request.set_job(job_.job());
  request.set_epoch(epoch_);
  request.set_tasks_version(tasks_version_);
  tracker_.Fill(request);
  for (uint64_t task : streams_.Broken()) request.add_broken_tasks(task);
  v1::ClientLoad& load = *request.mutable_load();
  load.set_step_seconds(absl::ToDoubleSeconds(meter_.step()));
  load.set_wait_seconds(absl::ToDoubleSeconds(meter_.wait()));
  load.set_elements(stats_.elements);
  load.set_bytes(stats_.bytes);
  load.set_queue_fill(merger_.fill());
  return request;
}

void LoaderCore::BeatLoop() {
  absl::Duration last = deps_.clock->Steady();
  while (true) {
    v1::ClientBeatRequest request;
    absl::Duration sent_at;
    {
      absl::MutexLock lock(&mutex_);
      while (!closed_) {
        const absl::Duration now = deps_.clock->Steady();
        const absl::Duration due =
            std::min(beat_now_ ? last + kLeastPause : last + period_, streams_.NextDue());
        if (now >= due) break;
        beat_.WaitWithTimeout(&mutex_, due - now);
      }
      if (closed_) return;
      Chores retries;
      retries.openings = streams_.TakeDue(deps_.clock->Steady());
      if (!retries.openings.empty()) {
        mutex_.Unlock();
        Do(std::move(retries));
        mutex_.Lock();
        continue;
      }
      beat_now_ = false;
      sent_at = last = deps_.clock->Steady();
      request = MakeBeat();
    }
    const absl::StatusOr<v1::ClientBeatReply> reply =
        deps_.dispatcher->ClientBeat(request, kBeatTimeout);
    if (!reply.ok()) {
      LogDebug("client beat: {}", OneLine(reply.status()));
      continue;  // ride through: streams go on, reports wait
    }
    if (reply->unknown_client()) {
      if (absl::Status status = Reopen(); !status.ok() && !IsTransient(status)) {
        absl::MutexLock lock(&mutex_);
        failure_ = status;
        changed_.SignalAll();
      }
      continue;
    }
    Chores chores;
    {
      absl::MutexLock lock(&mutex_);
      if (!closed_ && request.client() == client_id_ && request.epoch() == epoch_)
        TakeReply(*reply, sent_at, chores);
    }
    Do(std::move(chores));
  }
}

void LoaderCore::TakeReply(const v1::ClientBeatReply& reply, absl::Duration sent_at,
                           Chores& chores) {
  answered_ = sent_at;
  period_ = absl::Milliseconds(std::clamp<uint32_t>(reply.beat_milliseconds(), 5, 60'000));
  waiting_ = reply.waiting();
  if (reply.has_failure() && failure_.ok()) {
    failure_ = absl::Status(static_cast<absl::StatusCode>(reply.failure().code()),
                            reply.failure().message());
  }
  for (uint64_t task : tracker_.OnReply(reply)) {
    merger_.RemoveTask(task);
    streams_.Remove(task, chores.dropped);
  }
  if (tracker_.must_confirm()) beat_now_ = true;
  if (reply.tasks_changed()) TakeTasks(reply, chores);
  if (reply.epoch_finished()) {
    epoch_finished_ = true;
    summary_ = reply.summary();
  }
  changed_.SignalAll();
}

void LoaderCore::TakeTasks(const v1::ClientBeatReply& reply, Chores& chores) {
  tasks_version_ = reply.tasks_version();
  const absl::Duration now = deps_.clock->Steady();
  const auto fenced = [this](uint64_t task) {
    mutex_.AssertHeld();
    return tracker_.fenced(task);
  };
  for (uint64_t task : streams_.SetTasks(reply, fenced, now, chores.dropped)) merger_.AddTask(task);
  for (TaskStreams::Opening& opening : streams_.TakeDue(now))
    chores.openings.push_back(std::move(opening));
}

void LoaderCore::Do(Chores chores) {
  chores.dropped.clear();
  for (const TaskStreams::Opening& opening : chores.openings) {
    v1::StreamOpen open;
    uint64_t credit = 0;
    {
      absl::MutexLock lock(&mutex_);
      if (closed_) return;
      open.set_client(client_id_);
      open.set_epoch(epoch_);
      // A refused attempt used none of its credit.
      merger_.RemoveTask(opening.task);
      merger_.AddTask(opening.task);
      credit = merger_.TakeCredit(opening.task);
    }
    open.set_job(job_.job());
    open.set_task(opening.task);
    std::unique_ptr<IncomingFrames> handle = deps_.connector->Open(
        opening.address, open, credit,
        std::make_shared<Receiver>(weak_from_this(), opening.task, opening.attempt));
    absl::MutexLock lock(&mutex_);
    const bool wanted = streams_.Opened(opening, handle);
    if (!wanted) merger_.RemoveTask(opening.task);
    if (handle != nullptr) {
      mutex_.Unlock();
      handle.reset();
      mutex_.Lock();
    }
  }
}

void LoaderCore::OnFrame(uint64_t task, uint64_t /*attempt*/, FrameBuffer buffer) {
  absl::StatusOr<std::shared_ptr<const FrameView>> frame = FrameView::Parse(std::move(buffer));
  absl::MutexLock lock(&mutex_);
  if (closed_ || tracker_.fenced(task)) return;
  if (!frame.ok()) {
    failure_.Update(Annotate(frame.status(), fmt::format("a frame of task {}", task)));
  } else if ((*frame)->epoch() != epoch_ || !merger_.Push(task, *std::move(frame))) {
    return;  // of an epoch or a task that is over
  }
  changed_.Signal();
}

void LoaderCore::OnClosed(uint64_t task, uint64_t attempt, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return;
  streams_.Closed(task, attempt, status, deps_.clock->Steady());
  if (streams_.ended(task)) merger_.EndTask(task);
  beat_now_ = beat_now_ || !status.ok();
  beat_.Signal();
}

absl::Status LoaderCore::Reopen() {
  uint64_t epoch = 0;
  bool in_epoch = false;
  Chores dropped;
  {
    absl::MutexLock lock(&mutex_);
    epoch = epoch_;
    in_epoch = in_epoch_ && !epoch_finished_;
    // The dispatcher gave us up and gives out again what we had not reported: nothing that we hold
    // may be handed over.
    streams_.Clear(dropped.dropped);
    merger_.Clear();
  }
  Do(std::move(dropped));
  LogWarning("the dispatcher gave this client of job '{}' up; opening the job again",
             job_.job_name());
  v1::OpenJobRequest request;
  request.set_job_name(job_.job_name());
  *request.mutable_pipeline() = pipeline_;
  *request.mutable_options() = options_.job_options;
  request.set_client_uid(uid_);
  request.set_rank(options_.rank);
  HR_ASSIGN_OR_RETURN(const v1::OpenJobReply reply,
                      deps_.dispatcher->OpenJob(request, client_.call_timeout));
  if (reply.job() != job_.job()) {
    return Aborted("job '{}' was over when this client came back: its records were given to others",
                   job_.job_name());
  }
  {
    absl::MutexLock lock(&mutex_);
    client_id_ = reply.client();
    answered_ = deps_.clock->Steady();
  }
  if (!in_epoch) return absl::OkStatus();
  v1::StartEpochRequest start;
  start.set_client(reply.client());
  start.set_job(job_.job());
  start.set_epoch(epoch);
  HR_ASSIGN_OR_RETURN(const v1::StartEpochReply started,
                      deps_.dispatcher->StartEpoch(start, client_.call_timeout));
  Chores chores;
  {
    absl::MutexLock lock(&mutex_);
    EnterEpoch(epoch, started, chores);
  }
  Do(std::move(chores));
  return absl::OkStatus();
}

}  // namespace headrace
