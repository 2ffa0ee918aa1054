#include "client/loader_core.h"

#include <random>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "element/schema_proto.h"

namespace headrace {
namespace {

uint64_t RandomUid() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device() | 1;
}

}  // namespace

LoaderCore::LoaderCore(v1::PipelineDef pipeline, StreamOptions options, ClientOptions client,
                       Loader::Deps deps)
    : pipeline_(std::move(pipeline)),
      options_(std::move(options)),
      client_(client),
      deps_(std::move(deps)),
      uid_(RandomUid()),
      merger_(options_.prefetch_bytes) {}

absl::Status LoaderCore::Open() {
  v1::OpenJobRequest request;
  request.set_job_name(options_.job);
  *request.mutable_pipeline() = pipeline_;
  *request.mutable_options() = options_.job_options;
  request.set_client_uid(uid_);
  request.set_rank(options_.rank);
  // Listing a large dataset takes its time.
  HR_ASSIGN_OR_RETURN(job_, deps_.dispatcher->OpenJob(request, absl::Minutes(5)));
  HR_ASSIGN_OR_RETURN(schema_, SchemaFromDef(job_.schema()));
  absl::MutexLock lock(&mutex_);
  client_id_ = job_.client();
  next_epoch_ = job_.next_epoch();
  answered_ = deps_.clock->Steady();
  return absl::OkStatus();
}

void LoaderCore::StartBeats() {
  beats_ = Thread("hr-client-beat", [this] { BeatLoop(); });
}

absl::StatusOr<v1::StartEpochReply> LoaderCore::CallStartEpoch(uint64_t epoch,
                                                               absl::Duration give_up_after) {
  const absl::Duration deadline = deps_.clock->Steady() + give_up_after;
  absl::Duration wait = absl::Milliseconds(20);
  while (true) {
    v1::StartEpochRequest request;
    {
      absl::MutexLock lock(&mutex_);
      if (closed_) return FailedPrecondition("the loader of job '{}' is closed", job_.job_name());
      request.set_client(client_id_);
      request.set_abandon_unfinished(in_epoch_ && !epoch_finished_);
    }
    request.set_job(job_.job());
    request.set_epoch(epoch);
    absl::StatusOr<v1::StartEpochReply> reply =
        deps_.dispatcher->StartEpoch(request, client_.call_timeout);
    if (absl::IsNotFound(reply.status())) {
      HR_RETURN_IF_ERROR(Reopen());
      continue;
    }
    // Another rank may still have to report the end of the epoch before.
    const bool passes = IsTransient(reply.status()) || absl::IsFailedPrecondition(reply.status());
    if (reply.ok() || !passes || deps_.clock->Steady() + wait > deadline) return reply;
    absl::MutexLock lock(&mutex_);
    changed_.WaitWithTimeout(&mutex_, wait);
    wait = std::min(wait * 2, absl::Seconds(1));
  }
}

absl::Status LoaderCore::StartEpoch(std::optional<uint64_t> asked) {
  uint64_t epoch = 0;
  {
    absl::MutexLock lock(&mutex_);
    HR_RETURN_IF_ERROR(failure_);
    epoch = asked.value_or(next_epoch_);
  }
  HR_ASSIGN_OR_RETURN(const v1::StartEpochReply reply,
                      CallStartEpoch(epoch, client_.outage_timeout));
  Chores chores;
  {
    absl::MutexLock lock(&mutex_);
    EnterEpoch(epoch, reply, chores);
  }
  Do(std::move(chores));
  return absl::OkStatus();
}

void LoaderCore::EnterEpoch(uint64_t epoch, const v1::StartEpochReply& reply, Chores& chores) {
  streams_.Clear(chores.dropped);
  merger_.Clear();
  tracker_.Reset();
  epoch_ = epoch;
  next_epoch_ = epoch + 1;
  in_epoch_ = true;
  epoch_finished_ = false;
  meter_.Pause();
  for (uint64_t task : reply.fenced_tasks()) tracker_.Fence(task);
  v1::ClientBeatReply tasks;
  tasks.set_tasks_version(reply.tasks_version());
  *tasks.mutable_tasks() = reply.tasks();
  TakeTasks(tasks, chores);
  beat_now_ = true;
  beat_.Signal();
}

bool LoaderCore::Silent() const {
  const uint32_t limit = job_.client_timeout_milliseconds();
  return limit != 0 && deps_.clock->Steady() - answered_ > absl::Milliseconds(limit);
}

void LoaderCore::GrantCredit(uint64_t task) {
  IncomingFrames* stream = streams_.Find(task);
  if (stream == nullptr) return;
  if (const uint64_t credit = merger_.TakeCredit(task); credit > 0) stream->Grant(credit);
}

std::optional<Element> LoaderCore::TakeElement() {
  std::optional<FrameMerger::Row> row = merger_.Pop();
  if (!row) return std::nullopt;
  tracker_.Delivered(*row->frame, row->row);
  Element element(std::move(row->frame), row->row);
  ++stats_.elements;
  stats_.bytes += element.frame()->bytes() / element.frame()->rows();
  if (row->row + 1 == element.frame()->rows()) GrantCredit(row->task);
  return element;
}

absl::StatusOr<std::optional<Element>> LoaderCore::Next(absl::Duration timeout) {
  const absl::Duration deadline = deps_.clock->Steady() + timeout;
  absl::MutexLock lock(&mutex_);
  if (!in_epoch_ && !closed_) return FailedPrecondition("no epoch is begun: call StartEpoch first");
  meter_.Asked(deps_.clock->Steady());
  while (true) {
    const absl::Duration now = deps_.clock->Steady();
    if (closed_) return FailedPrecondition("the loader of job '{}' is closed", job_.job_name());
    HR_RETURN_IF_ERROR(failure_);
    if (now - answered_ > client_.outage_timeout) {
      return Unavailable("the dispatcher has not answered for {}",
                         absl::FormatDuration(now - answered_));
    }
    if (!Silent()) {
      if (std::optional<Element> element = TakeElement()) {
        meter_.Answered(now);
        return element;
      }
    }
    if (epoch_finished_) {
      meter_.Answered(now);
      meter_.Pause();
      in_epoch_ = false;
      return std::nullopt;
    }
    if (now >= deadline) {
      meter_.Answered(now);
      return DeadlineExceeded("no element within {}{}", absl::FormatDuration(timeout),
                              waiting_.empty() ? "" : ": " + waiting_);
    }
    if (tracker_.unsent()) {  // nothing left to hand over: the end may hang on this report
      beat_now_ = true;
      beat_.Signal();
    }
    changed_.WaitWithTimeout(&mutex_, std::min(deadline - now, absl::Milliseconds(200)));
  }
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
    streams_.Clear(dropped);
    merger_.Clear();
    changed_.SignalAll();
    beat_.SignalAll();
  }
  request.set_job(job_.job());
  if (request.client() != 0) {
    if (auto reply =
            deps_.dispatcher->CloseClient(request, std::max(timeout, absl::Milliseconds(100)));
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
  return waiting_;
}

}  // namespace headrace
