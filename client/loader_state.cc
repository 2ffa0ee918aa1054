// The Loader's saved states: what was handed over, and going on from what was saved.
#include <algorithm>
#include <utility>

#include "client/loader_core.h"
#include "client/may_pass.h"
#include "common/backoff.h"
#include "common/logging/logging.h"
#include "common/status.h"
#include "element/pipeline_sketch.h"

namespace headrace {
namespace {

constexpr uint32_t kStateVersion = 1;
// How often a restore that waits for other readers asks.
constexpr absl::Duration kRestorePoll = absl::Milliseconds(100);

std::string MissingWords(const v1::RestoreJobReply& reply, uint32_t readers) {
  if (reply.missing().empty()) return "waiting for the other readers to restore";
  std::string numbers;
  for (const uint32_t reader : reply.missing()) {
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", reader);
  }
  return fmt::format("waiting for readers {} of {} to call load_state_dict and begin", numbers,
                     readers);
}

}  // namespace

v1::LoaderState LoaderCore::State() {
  v1::LoaderState state;
  state.set_version(kStateVersion);
  *state.mutable_pipeline() = sketch_;
  absl::MutexLock saving(&delivered_mutex_);
  std::vector<std::shared_ptr<const DeliveryTracker::Runs>> fresh;
  {
    absl::MutexLock lock(&mutex_);
    state.set_fingerprint(job_.fingerprint());
    state.set_dataset_version(job_.dataset_version());
    state.set_reader(reader_);
    state.set_readers(readers_);
    if (restore_ != nullptr) return LoadedState();
    if (sequence_ != nullptr) {  // the place says all
      *state.mutable_ordered() = Place();
      state.set_epoch(state.ordered().epoch());
      state.set_elements(state.ordered().batch());
      return state;
    }
    if (carried_.has_value()) {
      state.set_epoch(next_epoch_);
      *state.mutable_delivered() = carried_->Encode();
      return state;
    }
    // At an epoch's end nothing of the next one was delivered.
    const bool inside = in_epoch_ || left_;
    state.set_epoch(inside ? epoch_ : next_epoch_);
    state.set_elements(inside ? epoch_elements_ : 0);
    if (!inside) return state;
    fresh = tracker_.TakeFresh();
  }
  AddDelivered(fresh);
  *state.mutable_delivered() = delivered_.Encode();
  return state;
}

v1::LoaderState LoaderCore::LoadedState() const {
  v1::LoaderState share = restore_->states(0);
  for (const v1::LoaderState& saved : restore_->states()) {
    if (saved.reader() == reader_ && saved.readers() == readers_) return saved;
    if (saved.epoch() > share.epoch()) share = saved;
  }
  // Other readers than those that saved: each keeps its part of all.
  DeliveredSet all;
  for (const v1::LoaderState& saved : restore_->states()) {
    if (saved.epoch() == share.epoch()) all.Merge(saved.delivered()).IgnoreError();  // was checked
  }
  share.set_reader(reader_);
  share.set_readers(readers_);
  *share.mutable_delivered() = all.EncodeShare(reader_, readers_);
  return share;
}

void LoaderCore::AddDelivered(
    const std::vector<std::shared_ptr<const DeliveryTracker::Runs>>& reports) {
  for (const auto& runs : reports) {
    for (const auto& [task, list] : *runs) {
      for (const Run& run : list) delivered_.Add(run);
    }
  }
}

void LoaderCore::KeepDelivered() {
  absl::MutexLock saving(&delivered_mutex_);
  std::vector<std::shared_ptr<const DeliveryTracker::Runs>> fresh;
  std::vector<v1::SplitSpan> needs;
  {
    absl::MutexLock lock(&mutex_);
    fresh = tracker_.TakeFresh();
    needs = std::exchange(needs_, {});
    if (sequence_ != nullptr) return;  // the place says all
  }
  AddDelivered(fresh);
  for (const v1::SplitSpan& span : needs) {
    for (int i = 0; i < span.numbers_size(); ++i) {
      delivered_.SetNeed(span.split() + static_cast<uint64_t>(i), span.pass(), span.numbers(i));
    }
  }
}

absl::Status LoaderCore::SetPlace(uint32_t reader, uint32_t readers) {
  if (reader >= readers) return InvalidArgument("reader {} of {}", reader, readers);
  absl::MutexLock lock(&mutex_);
  reader_ = reader;
  readers_ = readers;
  return absl::OkStatus();
}

absl::Status LoaderCore::LoadStates(std::vector<v1::LoaderState> states) {
  if (states.empty()) return InvalidArgument("no saved state was given");
  for (const v1::LoaderState& state : states) {
    if (state.version() != kStateVersion) {
      return InvalidArgument("a saved state of version {}; this headrace reads version {}",
                             state.version(), kStateVersion);
    }
    DeliveredSet check;
    if (absl::Status status = check.Merge(state.delivered()); !status.ok()) {
      return Annotate(status, fmt::format("the saved state of reader {}", state.reader()));
    }
  }
  absl::MutexLock lock(&mutex_);
  HR_RETURN_IF_ERROR(Ended());
  restore_ = std::make_unique<v1::RestoreJobRequest>();
  restore_->mutable_states()->Assign(std::make_move_iterator(states.begin()),
                                     std::make_move_iterator(states.end()));
  states_sent_ = false;
  return absl::OkStatus();
}

absl::StatusOr<bool> LoaderCore::TryRestore(absl::Duration timeout) {
  v1::RestoreJobRequest request;
  {
    absl::MutexLock lock(&mutex_);
    HR_RETURN_IF_ERROR(Ended());
    if (restore_ == nullptr) return true;
    if (!states_sent_) *request.mutable_states() = restore_->states();
    request.set_client(client_id_);
    request.set_job(job_.job());
    request.set_cluster(job_.cluster());
    request.set_reader(reader_);
    request.set_readers(readers_);
    request.set_incarnation(incarnation_);
  }
  const absl::Duration asked_at = clock_->Steady();
  HR_ASSIGN_OR_RETURN(v1::RestoreJobReply reply, dispatcher_->RestoreJob(request, timeout));
  if (!reply.ready()) {
    absl::MutexLock lock(&mutex_);
    states_sent_ = !reply.send_states();
    waiting_ = reply.send_states() ? "" : MissingWords(reply, request.readers());
    return false;
  }
  DeliveredSet carried;
  HR_RETURN_IF_ERROR(carried.Merge(reply.carried()));
  Chores chores;
  {
    absl::MutexLock saving(&delivered_mutex_);
    absl::MutexLock lock(&mutex_);
    restore_ = nullptr;
    incarnation_ = reply.incarnation();
    next_epoch_ = reply.epoch();
    answered_ = std::max(answered_, asked_at);
    waiting_.clear();
    carried_ = std::move(carried);
    if (reply.has_ordered()) resume_ = reply.ordered();
    // What was read before belongs to the life before.
    in_epoch_ = epoch_finished_ = left_early_ = left_ = false;
    tracker_.Reset();
    streams_.Clear(chores.dropped);
    merger_.Clear();
  }
  Do(std::move(chores));
  return true;
}

absl::Status LoaderCore::Restore(absl::Duration timeout) {
  const absl::Duration deadline = clock_->Steady() + timeout;
  while (true) {
    const absl::Duration left = deadline - clock_->Steady();
    const absl::StatusOr<bool> ready =
        TryRestore(std::clamp(left, absl::Milliseconds(100), client_.call_timeout));
    if (ready.ok() && *ready) return absl::OkStatus();
    if (!ready.ok() && !MayPass(ready.status()) && !absl::IsNotFound(ready.status())) {
      return Annotate(ready.status(), "restoring a saved state");
    }
    absl::MutexLock lock(&mutex_);
    HR_RETURN_IF_ERROR(Ended());
    if (absl::IsNotFound(ready.status())) {  // the beats open the job again
      states_sent_ = false;
      beat_now_ = true;
      beat_.Signal();
    }
    if (clock_->Steady() + kRestorePoll > deadline) {
      return DeadlineExceeded("job '{}' was not restored within {}: {}", job_.job_name(),
                              absl::FormatDuration(timeout),
                              ready.ok() ? waiting_ : std::string(ready.status().message()));
    }
    // The states themselves go as soon as they are asked for.
    if (ready.ok() && !states_sent_) continue;
    changed_.WaitWithTimeout(&mutex_, kRestorePoll);
  }
}

void LoaderCore::Replaced() {
  Fail(Cancelled(
      "job '{}' was restored from a checkpoint, or begun anew, by other trainers: this trainer was "
      "replaced, end it",
      job_.job_name()));
}

}  // namespace headrace
