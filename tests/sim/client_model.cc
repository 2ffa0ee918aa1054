#include "tests/sim/client_model.h"

#include <algorithm>
#include <limits>

#include "element/pipeline_sketch.h"
#include "tests/sim/worker_model.h"

namespace headrace::sim {
namespace {

v1::PipelineDef PipelineOf() {
  v1::PipelineDef pipeline;
  pipeline.mutable_errors()->set_on_error(v1::ON_ERROR_SKIP);
  return pipeline;
}

}  // namespace

void ClientModel::Start() {
  Live();
  ++lives_;
  uid_ = world_.next_uid++;
  phase_ = Phase::kOpening;
  tasks_.clear();
  held_.clear();
  tracker_ = DeliveryTracker();
  delivered_.Clear();
  lost_in_.reset();
  hand_ = nullptr;
  resume_.reset();
  Open();
}

v1::LoaderState ClientModel::State() const {
  v1::LoaderState state;
  state.set_version(1);
  *state.mutable_pipeline() = SketchOf(PipelineOf());
  state.set_fingerprint(fingerprint_);
  state.set_dataset_version(version_);
  state.set_epoch(epoch_);
  state.set_reader(rank_);
  state.set_readers(static_cast<uint32_t>(world_.history.clients));
  *state.mutable_delivered() = delivered_.Encode();
  return state;
}

void ClientModel::StartFrom(std::vector<v1::LoaderState> states) {
  states_ = std::move(states);
  send_states_ = true;
  done_ = false;
  Start();
}

void ClientModel::Restore() {
  v1::RestoreJobRequest request;
  request.set_client(client_);
  request.set_job(job_);
  request.set_reader(rank_);
  request.set_readers(static_cast<uint32_t>(world_.history.clients));
  request.set_incarnation(incarnation_);
  if (send_states_) request.mutable_states()->Assign(states_.begin(), states_.end());
  world_.network.Call<v1::RestoreJobRequest, v1::RestoreJobReply>(
      this, &DispatcherService::RestoreJob, request, absl::Seconds(1),
      GuardReply<v1::RestoreJobReply>([this](absl::StatusOr<v1::RestoreJobReply> reply) {
        if (absl::IsNotFound(reply.status())) return Open();
        if (!reply.ok()) return After(absl::Milliseconds(100), [this] { Restore(); });
        send_states_ = reply->send_states();
        if (!reply->ready()) return After(absl::Milliseconds(100), [this] { Restore(); });
        states_.clear();
        incarnation_ = reply->incarnation();
        epoch_ = reply->epoch();
        if (reply->has_ordered()) resume_ = reply->ordered();
        delivered_.Clear();
        (void)delivered_.Merge(reply->carried());
        StartEpoch();
      }));
}

void ClientModel::DropStreams() {
  for (auto& [id, connection] : tasks_) {
    if (connection.stream == nullptr) continue;
    connection.stream->broken = true;
    world_.network.Deliver(world_.network.Delay(), this, connection.stream->worker,
                           [stream = connection.stream] { stream->worker->OnClosed(stream); });
  }
  tasks_.clear();
}

void ClientModel::Crash() {
  LoseReports();
  Die();
  DropStreams();
}

void ClientModel::Open() {
  v1::OpenJobRequest request;
  request.set_job_name("job");
  *request.mutable_pipeline() = PipelineOf();
  request.mutable_options()->set_sharding(world_.history.sharding);
  // At least once, fences await nobody.
  request.mutable_options()->set_visitation(world_.history.confirmations_not_awaited
                                                ? v1::VISITATION_AT_LEAST_ONCE
                                                : world_.history.visitation);
  if (world_.history.caches > 0) request.mutable_options()->set_cache(v1::CACHING_AUTO);
  request.mutable_options()->set_static_slots(static_cast<uint32_t>(world_.history.slots));
  request.mutable_options()->set_on_client_loss(world_.history.wait ? v1::ON_CLIENT_LOSS_WAIT
                                                                    : v1::ON_CLIENT_LOSS_REASSIGN);
  if (world_.history.ordered) {
    request.mutable_options()->set_ordering(v1::ORDERING_DETERMINISTIC);
    request.mutable_options()->set_ordered_lanes(world_.history.lanes);
    // The made-up splits have no bytes: as many splits.
    request.mutable_options()->set_ordered_window_bytes(world_.history.window);
    request.mutable_options()->set_world_size(static_cast<uint32_t>(world_.history.clients));
  }
  request.set_client_uid(uid_);
  request.set_rank(rank_);
  world_.network.Call<v1::OpenJobRequest, v1::OpenJobReply>(
      this, &DispatcherService::OpenJob, request, absl::Seconds(1),
      GuardReply<v1::OpenJobReply>([this](absl::StatusOr<v1::OpenJobReply> reply) {
        if (reply.ok()) return OnOpenedJob(*reply);
        After(absl::Milliseconds(100), [this] { Open(); });
      }));
}

void ClientModel::OnOpenedJob(const v1::OpenJobReply& reply) {
  client_ = reply.client();
  job_ = reply.job();
  if (epoch_ != reply.next_epoch()) delivered_.Clear();
  epoch_ = reply.next_epoch();
  incarnation_ = reply.incarnation();
  fingerprint_ = reply.fingerprint();
  version_ = reply.dataset_version();
  timeout_ = absl::Milliseconds(reply.client_timeout_milliseconds());
  if (reply.has_ordered() && hand_ == nullptr) {
    hand_ = std::make_unique<OrderedHand>(reply.ordered(), rank_,
                                          static_cast<uint32_t>(world_.history.clients));
  }
  if (!states_.empty()) return Restore();
  StartEpoch();
}

void ClientModel::StartEpoch() {
  // What was left unreported of another epoch is told to nobody.
  if (lost_in_ != epoch_) tracker_.Reset();
  if (epoch_ >= world_.history.epochs) return Close();
  v1::StartEpochRequest request;
  request.set_client(client_);
  request.set_job(job_);
  request.set_epoch(epoch_);
  request.set_incarnation(incarnation_);
  if (Continues()) {
    *request.mutable_position() = hand_->position();
    request.set_continues(true);
  } else if (Resumes()) {
    *request.mutable_position() = *resume_;
  }
  world_.network.Call<v1::StartEpochRequest, v1::StartEpochReply>(
      this, &DispatcherService::StartEpoch, request, absl::Seconds(1),
      GuardReply<v1::StartEpochReply>(
          [this, sent = scheduler_.now()](absl::StatusOr<v1::StartEpochReply> reply) {
            if (reply.status().code() == absl::StatusCode::kNotFound) return Lost();
            if (reply.status().code() == absl::StatusCode::kOutOfRange) {
              ++epoch_;
              return StartEpoch();
            }
            if (!reply.ok()) return After(absl::Milliseconds(100), [this] { StartEpoch(); });
            phase_ = Phase::kReading;
            heard_ = sent;
            lost_in_ == epoch_ ? tracker_.Reincarnate() : tracker_.Reset();
            Continues() ? hand_->DropAll() : BeginSequence(*reply);
            lost_in_.reset();
            for (const uint64_t task : reply->fenced_tasks()) tracker_.Fence(task);
            broken_.clear();
            tasks_.clear();
            held_.clear();
            tasks_version_ = reply->tasks_version();
            TakeTasks(reply->tasks());
            ++readings_;
            Tick(readings_);
            Beat(readings_);
          }));
}

void ClientModel::Tick(uint64_t reading) {
  if (phase_ != Phase::kReading || reading != readings_) return;
  Connect();
  HandOver();
  After(world_.random.Between(absl::Milliseconds(3), absl::Milliseconds(20)),
        [this, reading] { Tick(reading); });
}

void ClientModel::TakeTasks(const google::protobuf::RepeatedPtrField<v1::TaskAddress>& tasks) {
  std::set<uint64_t> listed;
  for (const v1::TaskAddress& task : tasks) {
    if (tracker_.fenced(task.task())) continue;
    listed.insert(task.task());
    tasks_[task.task()].address = task.address();
    if (hand_ != nullptr) hand_->Listed(task.task(), task.lane());
  }
  std::erase_if(tasks_, [&](const auto& entry) {
    if (listed.contains(entry.first)) return false;
    broken_.erase(entry.first);
    // What it still sends is fenced; those frames are told apart by their task.
    return entry.second.stream == nullptr;
  });
}

void ClientModel::Connect() {
  for (auto& [id, connection] : tasks_) {
    if (connection.stream != nullptr || connection.over || broken_.contains(id) ||
        tracker_.fenced(id) || scheduler_.now() < connection.retry_at) {
      continue;
    }
    const auto worker = std::ranges::find_if(
        world_.workers, [&](const auto& w) { return w->address() == connection.address; });
    auto stream = std::make_shared<SimStream>();
    stream->task = id;
    stream->client = this;
    stream->client_life = lives_;
    stream->rank = rank_;
    stream->worker = worker->get();
    connection.stream = stream;
    scheduler_.After(world_.network.Delay(), [this, stream] {
      // Nobody answers: the connection's time-out.
      const bool cut = world_.network.IsCut(this, stream->worker);
      if (stream->worker->alive() && !cut) return stream->worker->OnOpen(stream);
      scheduler_.After(cut ? absl::Seconds(1) : world_.network.Delay(),
                       [stream] { stream->client->OnRefused(stream); });
    });
  }
}

void ClientModel::OnOpened(const std::shared_ptr<SimStream>& stream) {
  if (!Mine(*stream)) return;
  Guard([this, stream] {
    const auto it = tasks_.find(stream->task);
    if (it == tasks_.end() || it->second.stream != stream) return;
    it->second.opened = true;
    it->second.failing_since = absl::InfiniteDuration();
  })();
}

void ClientModel::OnRefused(const std::shared_ptr<SimStream>& stream) {
  if (!Mine(*stream)) return;
  Guard([this, stream] {
    const auto it = tasks_.find(stream->task);
    if (it == tasks_.end() || it->second.stream != stream) return;
    Connection& connection = it->second;
    connection.stream = nullptr;
    connection.retry_at = scheduler_.now() + absl::Milliseconds(100);
    connection.failing_since = std::min(connection.failing_since, scheduler_.now());
    if (scheduler_.now() - connection.failing_since > absl::Milliseconds(1500)) {
      broken_.insert(stream->task);
    }
  })();
}

void ClientModel::OnBroken(const std::shared_ptr<SimStream>& stream) {
  if (!Mine(*stream)) return;
  Guard([this, stream] {
    const auto it = tasks_.find(stream->task);
    if (it == tasks_.end() || it->second.stream != stream || it->second.over) return;
    it->second.over = true;
    if (!tracker_.fenced(stream->task)) broken_.insert(stream->task);
  })();
}

void ClientModel::OnEnded(const std::shared_ptr<SimStream>& stream) {
  if (!Mine(*stream) || stream->broken) return;
  Guard([this, stream] {
    const auto it = tasks_.find(stream->task);
    if (it != tasks_.end() && it->second.stream == stream) it->second.over = true;
  })();
}

void ClientModel::OnFrame(const std::shared_ptr<SimStream>& stream, const SimFrame& frame) {
  if (!Mine(*stream)) return;
  Guard([this, stream, frame] {
    if (phase_ != Phase::kReading) return;
    if (hand_ != nullptr) {
      if (broken_.contains(frame.task)) return;
      if (!hand_->Known(*frame.view)) return hand_->Hold(frame.task, frame.view);
      ++stream->credit;
      return;
    }
    const bool fenced = tracker_.fenced(frame.task);
    if (!fenced || world_.history.clients_keep_fenced_frames) held_.emplace_back(stream, frame);
    if (!fenced && world_.history.clients_report_on_arrival) Report(frame);
    if (fenced) ++stream->credit;
  })();
}

void ClientModel::HandOver() {
  // Taken for lost by now, perhaps: nothing may be handed over before the dispatcher answers again.
  if (scheduler_.now() - heard_ >= timeout_) return;
  if (world_.history.slow_trainer && world_.random.Chance(0.9)) return;
  const uint64_t frames = world_.random.Between(0, 2);
  if (hand_ != nullptr) return HandOverBatches(frames);
  for (uint64_t i = 0; i < frames && !held_.empty(); ++i) {
    auto [stream, frame] = std::move(held_.front());
    held_.pop_front();
    ++stream->credit;
    for (const RecordId& element : frame.elements) {
      world_.truth.Deliver(epoch_, element);
    }
    Report(frame);
  }
}

void ClientModel::Report(const SimFrame& frame) {
  std::vector<Run> runs;
  for (const RecordId& element : frame.elements) AppendRun(runs, RunOf(element));
  tracker_.Delivered(frame.task, runs);
  for (const Run& run : runs) delivered_.Add(run);
}

void ClientModel::Beat(uint64_t reading) {
  if (phase_ != Phase::kReading || reading != readings_) return;
  v1::ClientBeatRequest request;
  request.set_client(client_);
  request.set_job(job_);
  request.set_epoch(epoch_);
  request.set_incarnation(incarnation_);
  tracker_.Fill(request);
  if (hand_ != nullptr) AddWindows(request);
  if (!world_.history.clients_hide_broken_streams) {
    for (const uint64_t task : broken_) request.add_broken_tasks(task);
  }
  request.set_tasks_version(tasks_version_);
  world_.network.Call<v1::ClientBeatRequest, v1::ClientBeatReply>(
      this, &DispatcherService::ClientBeat, request, absl::Milliseconds(500),
      GuardReply<v1::ClientBeatReply>(
          [this, reading, sent = scheduler_.now()](absl::StatusOr<v1::ClientBeatReply> reply) {
            if (phase_ != Phase::kReading || reading != readings_) return;
            if (!reply.ok()) {
              return After(absl::Milliseconds(50), [this, reading] { Beat(reading); });
            }
            heard_ = sent;
            OnBeat(*reply, reading);
          }));
}

void ClientModel::OnBeat(const v1::ClientBeatReply& reply, uint64_t reading) {
  if (reply.unknown_client()) return Lost();
  for (const uint64_t task : tracker_.OnReply(reply)) {
    broken_.erase(task);
    if (world_.history.clients_keep_fenced_frames) continue;
    std::erase_if(held_, [&](const auto& entry) { return entry.second.task == task; });
  }
  if (reply.epoch_finished()) return FinishEpoch();
  if (reply.tasks_changed()) {
    tasks_version_ = reply.tasks_version();
    TakeTasks(reply.tasks());
  }
  After(absl::Milliseconds(reply.beat_milliseconds()), [this, reading] { Beat(reading); });
}

void ClientModel::LoseReports() {
  v1::ClientBeatRequest owed;
  DeliveryTracker(tracker_).Fill(owed);
  for (const v1::TaskRuns& runs : owed.delivered()) {
    for (const v1::Run& run : runs.runs()) {
      for (uint64_t i = run.first(); i < run.first() + run.count(); ++i) {
        world_.truth.Lose(epoch_, {run.split(), i, run.part(), run.parts(), run.pass()});
      }
    }
  }
}

void ClientModel::Lost() {
  LoseReports();
  held_.clear();
  if (hand_ != nullptr) hand_->DropAll();
  DropStreams();
  phase_ = Phase::kOpening;
  // The same epoch under a new id, as far as it still runs.
  lost_in_ = epoch_;
  Open();
}

void ClientModel::FinishEpoch() {
  // All of it was delivered, so nothing can be held; if something is, handing it over shows the
  // mistake.
  for (const auto& [stream, frame] : held_) {
    for (const RecordId& element : frame.elements) world_.truth.Deliver(epoch_, element);
  }
  if (hand_ != nullptr) HandOverBatches(std::numeric_limits<uint64_t>::max());
  held_.clear();
  tracker_.Reset();
  DropStreams();
  phase_ = Phase::kOpening;
  ++epoch_;
  delivered_.Clear();
  StartEpoch();
}

void ClientModel::Leave() {
  DropStreams();
  held_.clear();
  Close();
}

void ClientModel::Close() {
  phase_ = Phase::kClosing;
  v1::CloseClientRequest request;
  request.set_client(client_);
  request.set_job(job_);
  request.set_epoch(epoch_);
  v1::ClientBeatRequest owed;
  tracker_.Fill(owed);
  *request.mutable_delivered() = owed.delivered();
  world_.network.Call<v1::CloseClientRequest, v1::CloseClientReply>(
      this, &DispatcherService::CloseClient, request, absl::Seconds(1),
      GuardReply<v1::CloseClientReply>([this](absl::StatusOr<v1::CloseClientReply> reply) {
        if (!reply.ok()) return After(absl::Milliseconds(100), [this] { Close(); });
        done_ = epoch_ >= world_.history.epochs;
        // The dispatcher may have lost patience before it heard of them (a pause while closing).
        LoseReports();
        Die();
      }));
}

std::vector<std::shared_ptr<SimStream>> ClientModel::OpenStreams() const {
  std::vector<std::shared_ptr<SimStream>> open;
  for (const auto& [id, connection] : tasks_) {
    if (connection.opened && !connection.over && connection.stream != nullptr) {
      open.push_back(connection.stream);
    }
  }
  return open;
}

std::vector<std::shared_ptr<SimStream>> ClientModel::Streams() const {
  std::vector<std::shared_ptr<SimStream>> streams;
  for (const auto& [id, connection] : tasks_) {
    if (connection.stream != nullptr) streams.push_back(connection.stream);
  }
  return streams;
}

std::string ClientModel::Describe() const {
  std::string text = fmt::format(
      "client model rank {} id {} alive {} paused {} phase {} epoch {} tasks {} held {} "
      "unacknowledged {} broken {} done {}",
      rank_, client_, alive(), paused(), static_cast<int>(phase_), epoch_, tasks_.size(),
      held_.size(), tracker_.unsent(), broken_.size(), done_);
  if (hand_ == nullptr) return text;
  text += fmt::format(" held bytes {} at {}", hand_->held_bytes(),
                      hand_->position().ShortDebugString());
  for (const auto& [id, connection] : tasks_) {
    const SimStream* stream = connection.stream.get();
    text += fmt::format("\n  task {} opened {} over {} credit {} next {} under way {}", id,
                        connection.opened, connection.over, stream ? stream->credit : -1,
                        stream ? stream->next : 0, stream ? stream->under_way.size() : 0);
  }
  return text;
}

}  // namespace headrace::sim
