// The Loader's conversation with the dispatcher, and what its answers do to the streams.
#include <algorithm>
#include <utility>

#include "client/loader_core.h"
#include "client/may_pass.h"
#include "common/logging/logging.h"
#include "common/status.h"

namespace headrace {
namespace {

// Between beats: however urgent; and for a trainer that waits, which may be the rule (a slow
// input).
constexpr absl::Duration kLeastPause = absl::Milliseconds(2);
constexpr absl::Duration kWaitingPause = absl::Milliseconds(25);
constexpr absl::Duration kGrantPause = absl::Milliseconds(5);  // for a batch that is there
// After beats without an answer: a step more for each, up to the most.
constexpr absl::Duration kAwayStep = absl::Milliseconds(20);
constexpr absl::Duration kAwayPause = absl::Milliseconds(300);
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
  request.set_cluster(job_.cluster());
  request.set_epoch(epoch_);
  request.set_tasks_version(tasks_version_);
  request.set_needs_seen(needs_seen_);
  // While a restore waits, the life that this belongs to may end at any time.
  request.set_incarnation(restore_ == nullptr ? incarnation_ : 0);
  tracker_.Fill(request);
  if (gate_.on()) {
    gate_.Fill(merger_, *request.mutable_steps());
    // What was granted is handed over first.
    google::protobuf::RepeatedField<uint64_t>& confirmed = *request.mutable_confirmed_fences();
    confirmed.erase(std::remove_if(confirmed.begin(), confirmed.end(),
                                   [this](uint64_t task) {
                                     mutex_.AssertHeld();
                                     return gate_.Keeps(task);
                                   }),
                    confirmed.end());
  }
  for (uint64_t task : streams_.Broken()) request.add_broken_tasks(task);
  if (sequence_ != nullptr && in_epoch_) AddWindows(request);
  v1::ClientLoad& load = *request.mutable_load();
  load.set_step_seconds(absl::ToDoubleSeconds(meter_.step()));
  load.set_wait_seconds(absl::ToDoubleSeconds(meter_.wait()));
  load.set_elements(stats_.elements);
  load.set_bytes(stats_.bytes);
  load.set_queue_fill(merger_.fill());
  return request;
}

absl::Duration LoaderCore::NextBeat() const {
  absl::Duration pause = period_;
  if (beat_soon_)
    pause = std::min(pause, gate_.on() && gate_.starved() ? kGrantPause : kWaitingPause);
  if (beat_now_) pause = kLeastPause;
  // A dispatcher that is away has enough to do when it comes back.
  if (unanswered_ > 0) pause = std::max(pause, std::min(unanswered_ * kAwayStep, kAwayPause));
  return last_beat_ + pause;
}

void LoaderCore::MergeReports() {
  std::vector<std::shared_ptr<const DeliveryTracker::Runs>> reports;
  {
    absl::MutexLock lock(&mutex_);
    reports = tracker_.Unmerged();
  }
  for (const auto& runs : reports) {
    std::shared_ptr<const DeliveryTracker::Runs> merged = DeliveryTracker::Merged(*runs);
    absl::MutexLock lock(&mutex_);
    tracker_.Replace(runs, std::move(merged));
  }
}

void LoaderCore::BeatLoop() {
  while (true) {
    v1::ClientBeatRequest request;
    absl::Duration sent_at;
    Chores retries;
    {
      absl::MutexLock lock(&mutex_);
      while (!closed_) {
        const absl::Duration now = clock_->Steady();
        const absl::Duration due =
            client_id_ == 0 ? absl::InfiniteDuration() : std::min(NextBeat(), streams_.NextDue());
        if (now >= due) break;
        beat_.WaitWithTimeout(&mutex_, std::min(due - now, absl::Seconds(60)));
      }
      if (closed_) return;
      retries.openings = streams_.TakeDue(clock_->Steady());
    }
    if (!retries.openings.empty()) {
      Do(std::move(retries));
      continue;
    }
    MergeReports();
    {
      absl::MutexLock lock(&mutex_);
      if (closed_) return;
      if (client_id_ == 0) continue;  // it has left
      beat_now_ = beat_soon_ = false;
      sent_at = last_beat_ = clock_->Steady();
      request = MakeBeat();
    }
    KeepDelivered();
    const absl::StatusOr<v1::ClientBeatReply> reply =
        dispatcher_->ClientBeat(request, kBeatTimeout);
    Chores chores;
    bool unknown = false;
    {
      absl::MutexLock lock(&mutex_);
      unanswered_ = reply.ok() ? 0 : std::min(unanswered_ + 1, 100);
      if (!reply.ok()) {
        LogDebug("client beat: {}", OneLine(reply.status()));
        // An answer that says no says it again; what may pass is ridden through: streams go on,
        // reports wait.
        if (!MayPass(reply.status()))
          Fail(Annotate(reply.status(), "the dispatcher refuses beats"));
      } else if (request.client() == client_id_ &&
                 request.incarnation() == (restore_ == nullptr ? incarnation_ : 0)) {
        unknown = reply->unknown_client();
        if (!unknown && !closed_ && request.epoch() == epoch_) TakeReply(*reply, sent_at, chores);
      }
    }
    Do(std::move(chores));
    if (!unknown) continue;
    const absl::Status status = Reopen();
    if (status.ok()) continue;
    LogDebug("opening job '{}' again: {}", job_.job_name(), OneLine(status));
    absl::MutexLock lock(&mutex_);
    if (!MayPass(status)) Fail(status);
  }
}

void LoaderCore::TakeReply(const v1::ClientBeatReply& reply, absl::Duration sent_at,
                           Chores& chores) {
  answered_ = sent_at;
  period_ = absl::Milliseconds(std::clamp<uint32_t>(reply.beat_milliseconds(), 5, 60'000));
  waiting_ = reply.waiting();
  if (reply.has_failure()) {
    const auto code = static_cast<absl::StatusCode>(reply.failure().code());
    Fail(absl::Status(code == absl::StatusCode::kOk ? absl::StatusCode::kCancelled : code,
                      reply.failure().message()));
  }
  if (gate_.on()) gate_.Grant(reply, merger_);
  for (uint64_t task : tracker_.OnReply(reply)) {
    merger_.RemoveTask(task);
    streams_.Remove(task, chores.dropped);
  }
  needs_.insert(needs_.end(), reply.needs().begin(), reply.needs().end());
  needs_seen_ = reply.needs_seen();
  if ((tracker_.must_confirm() && (!gate_.on() || gate_.starved())) || tracker_.backlog()) {
    beat_now_ = true;
  }
  if (gate_.on() && merger_.rows() != 0) beat_soon_ = true;  // there is something to be granted
  if (reply.tasks_changed() && in_epoch_) TakeTasks(reply.tasks(), reply.tasks_version(), chores);
  if (reply.epoch_finished()) summary_ = reply.summary();
  if (reply.epoch_finished() && in_epoch_) {
    epoch_finished_ = true;
    streams_.Clear(chores.dropped);
  }
  GrantCredit();
  changed_.SignalAll();
}

void LoaderCore::TakeTasks(const google::protobuf::RepeatedPtrField<v1::TaskAddress>& tasks,
                           uint64_t version, Chores& chores) {
  tasks_version_ = version;
  const absl::Duration now = clock_->Steady();
  const auto fenced = [this](uint64_t task) {
    mutex_.AssertHeld();
    return tracker_.fenced(task);
  };
  if (lanes_ != nullptr) {
    for (const v1::TaskAddress& task : tasks) lanes_->Listed(task.task(), task.lane());
  }
  const TaskStreams::Change change = streams_.SetTasks(tasks, fenced, now, chores.dropped);
  for (uint64_t task : change.added) merger_.AddTask(task);
  for (uint64_t task : change.gone) merger_.EndTask(task);
  for (TaskStreams::Opening& opening : streams_.TakeDue(now)) {
    chores.openings.push_back(std::move(opening));
  }
}

void LoaderCore::Do(Chores chores) {
  chores.dropped.clear();
  for (const TaskStreams::Opening& opening : chores.openings) OpenStream(opening);
}

void LoaderCore::OpenStream(const TaskStreams::Opening& opening) {
  v1::StreamOpen open;
  uint64_t credit = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || !streams_.Wanted(opening)) return;
    open.set_client(client_id_);
    open.set_epoch(epoch_);
    open.set_rank(options_.rank);
    merger_.ForgetCredit(opening.task);  // a refused attempt used none of its own
    credit = merger_.TakeCredit(opening.task);
  }
  open.set_job(job_.job());
  open.set_cluster(job_.cluster());
  open.set_task(opening.task);
  std::unique_ptr<IncomingFrames> handle =
      connector_->Open(opening.worker, open, credit,
                       std::make_shared<Receiver>(weak_from_this(), opening.task, opening.attempt));
  absl::MutexLock lock(&mutex_);
  streams_.Opened(opening, handle);
  GrantCredit();  // its frames may have been used up before there was a handle to grant more by
  if (handle == nullptr) return;
  mutex_.Unlock();
  handle.reset();
  mutex_.Lock();
}

void LoaderCore::OnFrame(uint64_t task, uint64_t attempt, FrameBuffer buffer) {
  absl::StatusOr<std::shared_ptr<const FrameView>> frame = FrameView::Parse(std::move(buffer));
  absl::MutexLock lock(&mutex_);
  if (closed_ || tracker_.fenced(task)) return;
  if (!frame.ok()) {
    Fail(Annotate(frame.status(), fmt::format("a frame of task {}", task)));
  } else if ((*frame)->epoch() != epoch_ || (*frame)->task() != task) {
    return;  // of an epoch that is over
  } else if (streams_.Received(task, attempt, (*frame)->sequence())) {
    if (lanes_ != nullptr && lanes_->Known(**frame)) {  // made again by another task
      merger_.Discard(task, (*frame)->bytes());
      return GrantCredit();
    }
    // Ordered: who waits, waits for one lane.
    const bool wanted =
        sequence_ == nullptr || !(*frame)->place() || sequence_->lane() == (*frame)->place()->lane;
    merger_.Push(task, *std::move(frame));
    if (wanted) changed_.Signal();
    if (gate_.on() && !beat_soon_) {
      beat_soon_ = true;
      beat_.Signal();
    }
  } else {
    beat_now_ = true;  // to say that the stream is broken
    beat_.Signal();
  }
}

void LoaderCore::OnClosed(uint64_t task, uint64_t attempt, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (closed_ || !streams_.Closed(task, attempt, status, clock_->Steady())) return;
  if (streams_.ended(task)) merger_.EndTask(task);
  merger_.ForgetCredit(task);
  GrantCredit();
  // What another stream to the same worker would meet again.
  if (!status.ok() && !MayPass(status) && !absl::IsFailedPrecondition(status)) {
    // OUT_OF_RANGE is an epoch's word here; a frame over the limit is a matter of resources.
    Fail(absl::IsOutOfRange(status) ? absl::ResourceExhaustedError(status.message()) : status);
  }
  beat_now_ = beat_now_ || streams_.AnyBroken();
  beat_.Signal();
}

absl::StatusOr<v1::OpenJobReply> LoaderCore::CallOpenJob(uint64_t uid, absl::Duration timeout) {
  v1::OpenJobRequest request;
  request.set_job_name(options_.job.empty() ? job_.job_name() : options_.job);
  *request.mutable_pipeline() = pipeline_;
  *request.mutable_options() = options_.job_options;
  request.set_client_uid(uid);
  request.set_rank(options_.rank);
  return dispatcher_->OpenJob(request, timeout);
}

absl::Status LoaderCore::SameJob(const v1::OpenJobReply& reply) {
  absl::Status status;
  if (reply.cluster() != job_.cluster()) {
    status = FailedPrecondition(
        "job '{}': the dispatcher that answers now does not have the journal of the one that this "
        "job began with: what was delivered is not known any more; bring the journal back, or go "
        "on from a checkpoint",
        job_.job_name());
  } else if (reply.job() != job_.job()) {
    status = FailedPrecondition(
        "job '{}' was over when this client came back: its records were given to others",
        job_.job_name());
  }
  if (status.ok()) return status;
  // What was opened by that is not wanted.
  v1::CloseClientRequest goodbye;
  goodbye.set_client(reply.client());
  goodbye.set_job(reply.job());
  goodbye.set_cluster(reply.cluster());
  (void)dispatcher_->CloseClient(goodbye, client_.call_timeout);
  return status;
}

absl::Status LoaderCore::Reopen() {
  uint64_t uid = 0;
  Chores chores;
  {
    absl::MutexLock lock(&mutex_);
    // The dispatcher gave us up and gives out again what we had not reported: nothing that we hold
    // may be handed over.
    streams_.Clear(chores.dropped);
    merger_.Clear();
    uid = uid_;
  }
  Do(std::move(chores));
  LogWarning("the dispatcher gave this client of job '{}' up; opening the job again",
             job_.job_name());
  const absl::Duration asked_at = clock_->Steady();
  HR_ASSIGN_OR_RETURN(const v1::OpenJobReply reply, CallOpenJob(uid, client_.call_timeout));
  {
    absl::MutexLock lock(&mutex_);
    const bool same = reply.cluster() == job_.cluster() && reply.job() == job_.job();
    const bool other = same && reply.incarnation() != incarnation_;
    if (other && (restore_ != nullptr || !began_)) {  // nothing of ours is lost with it
      incarnation_ = reply.incarnation();
      client_id_ = reply.client();
      next_epoch_ = reply.next_epoch();
      states_sent_ = false;
      answered_ = asked_at;
      changed_.SignalAll();
      return absl::OkStatus();
    }
    if (other) {
      Replaced();
      return absl::OkStatus();
    }
    if (gate_.on() && in_epoch_ && !epoch_finished_) {
      return FailedPrecondition(
          "job '{}' is `uneven` other than free, and the dispatcher gave this rank up: the others "
          "ended the epoch without it; restore a checkpoint on all ranks",
          job_.job_name());
    }
  }
  HR_RETURN_IF_ERROR(SameJob(reply));
  v1::StartEpochRequest start;
  start.set_client(reply.client());
  start.set_job(job_.job());
  start.set_cluster(job_.cluster());
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || !in_epoch_ || epoch_finished_) {
      client_id_ = reply.client();
      answered_ = asked_at;
      changed_.SignalAll();
      return absl::OkStatus();
    }
    start.set_epoch(epoch_);
    start.set_incarnation(incarnation_);
    if (sequence_ != nullptr) *start.mutable_position() = sequence_->position();
    start.set_continues(true);
  }
  const absl::StatusOr<v1::StartEpochReply> started =
      dispatcher_->StartEpoch(start, client_.call_timeout);
  if (absl::IsNotFound(started.status())) return absl::UnavailableError(started.status().message());
  // Over: the others had the rest of it.
  const bool over = absl::IsOutOfRange(started.status());
  if (!started.ok() && !over) return started.status();
  {
    absl::MutexLock lock(&mutex_);
    client_id_ = reply.client();
    answered_ = asked_at;
    tracker_.Reincarnate();
    epoch_finished_ = over;
    if (!over) EnterEpoch(start.epoch(), *started, chores);
    changed_.SignalAll();
  }
  Do(std::move(chores));
  return absl::OkStatus();
}

absl::Status LoaderCore::LeaveEpoch(absl::Duration timeout) {
  v1::CloseClientRequest goodbye;
  uint64_t uid = 0;
  Chores chores;
  {
    absl::MutexLock lock(&mutex_);
    if (client_id_ != 0) {
      v1::ClientBeatRequest last;
      tracker_.Fill(last);
      *goodbye.mutable_delivered() = last.delivered();
      goodbye.set_client(client_id_);
      goodbye.set_epoch(epoch_);
      goodbye.set_incarnation(incarnation_);
      client_id_ = 0;
      uid_ = FreshUid();
    }
    left_ = left_ || in_epoch_;
    in_epoch_ = false;
    uid = uid_;
    streams_.Clear(chores.dropped);
    merger_.Clear();
    meter_.Pause();
  }
  Do(std::move(chores));
  if (goodbye.client() != 0) {
    goodbye.set_job(job_.job());
    goodbye.set_cluster(job_.cluster());
    // Unheard, our silence says the same later.
    if (auto reply = dispatcher_->CloseClient(goodbye, timeout); !reply.ok()) {
      LogDebug("leaving an epoch: {}", OneLine(reply.status()));
    }
  }
  const absl::Duration asked_at = clock_->Steady();
  HR_ASSIGN_OR_RETURN(const v1::OpenJobReply reply, CallOpenJob(uid, timeout));
  HR_RETURN_IF_ERROR(SameJob(reply));
  absl::MutexLock lock(&mutex_);
  if (reply.incarnation() != incarnation_) {
    Replaced();
    return Ended();
  }
  client_id_ = reply.client();
  answered_ = asked_at;
  beat_.Signal();
  return absl::OkStatus();
}

}  // namespace headrace
