// The Loader's insides: one mutex around thread-free parts, a beat thread, and receivers that
// transport threads call.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/delivery_tracker.h"
#include "client/frame_merger.h"
#include "client/lane_frames.h"
#include "client/loader.h"
#include "client/ordered_sequence.h"
#include "client/step_clock.h"
#include "client/step_gate.h"
#include "client/task_streams.h"
#include "common/sync/thread.h"
#include "element/delivered_set.h"

namespace headrace {

class LoaderCore : public std::enable_shared_from_this<LoaderCore> {
 public:
  LoaderCore(v1::PipelineDef pipeline, StreamOptions options, ClientOptions client,
             const Loader::Deps& deps);

  absl::Status Open();  // once, before anything else
  void StartBeats();
  absl::Status StartEpoch(std::optional<uint64_t> epoch, absl::Duration timeout);
  absl::StatusOr<std::optional<Element>> Next(absl::Duration timeout);
  void Close(absl::Duration timeout);
  v1::LoaderState State() ABSL_LOCKS_EXCLUDED(mutex_, delivered_mutex_);
  absl::Status LoadStates(std::vector<v1::LoaderState> states) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Restore(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_, delivered_mutex_);
  absl::Status SetPlace(uint32_t reader, uint32_t readers) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::OrderedPosition> position() const;
  absl::Status SetPosition(const v1::OrderedPosition& position);

  // From receivers.
  void OnFrame(uint64_t task, uint64_t attempt, FrameBuffer buffer);
  void OnClosed(uint64_t task, uint64_t attempt, const absl::Status& status);

  LoaderStats stats() const;
  uint64_t epoch() const;
  v1::EpochSummary summary() const;
  std::string waiting() const;
  const Schema& schema() const { return schema_; }
  const v1::OpenJobReply& job() const { return job_; }

 private:
  // What a beat or a change of tasks leaves to do without the mutex.
  struct Chores {
    TaskStreams::Handles dropped;
    std::vector<TaskStreams::Opening> openings;
  };

  static uint64_t FreshUid();
  void BeatLoop();
  absl::Duration NextBeat() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::ClientBeatRequest MakeBeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts reports' runs in their order; without the mutex, which the trainer waits for.
  void MergeReports() ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeReply(const v1::ClientBeatReply& reply, absl::Duration sent_at, Chores& chores)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeTasks(const google::protobuf::RepeatedPtrField<v1::TaskAddress>& tasks, uint64_t version,
                 Chores& chores) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(Chores chores) ABSL_LOCKS_EXCLUDED(mutex_);
  void OpenStream(const TaskStreams::Opening& opening) ABSL_LOCKS_EXCLUDED(mutex_);
  // The dispatcher knows us no more: opens the job again, enters the epoch again. By the beat
  // thread.
  absl::Status Reopen() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<bool> TryRestore(absl::Duration timeout)
      ABSL_LOCKS_EXCLUDED(mutex_, delivered_mutex_);
  // Loaded and not begun: the same again.
  v1::LoaderState LoadedState() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves what was handed over since the last time into the set. By the beat thread, not the
  // trainer's.
  void KeepDelivered() ABSL_LOCKS_EXCLUDED(mutex_, delivered_mutex_);
  void AddDelivered(const std::vector<std::shared_ptr<const DeliveryTracker::Runs>>& reports)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(delivered_mutex_);
  // Other trainers went on from a checkpoint.
  void Replaced() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The answer to opening the job again: not OK when it is another one, or one of a dispatcher that
  // lost its journal; the client that it made is closed then.
  absl::Status SameJob(const v1::OpenJobReply& reply) ABSL_LOCKS_EXCLUDED(mutex_);
  // Leaves an epoch that others still read: says goodbye and comes back as a new client.
  absl::Status LeaveEpoch(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::OpenJobReply> CallOpenJob(uint64_t uid, absl::Duration timeout)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::StartEpochReply> CallStartEpoch(uint64_t epoch, absl::Duration give_up_after)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // One try of it.
  absl::StatusOr<v1::StartEpochReply> TryStartEpoch(uint64_t epoch, absl::Duration timeout)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void EnterEpoch(uint64_t epoch, const v1::StartEpochReply& reply, Chores& chores)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The trainer has what it waited for.
  void NoteWait(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // It waits; when to look again.
  absl::Duration HurryIfLate(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts it as the trainer's.
  Element HandOver(FrameMerger::Row row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::optional<Element>> TakeElement() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // --- Ordering deterministic (loader_ordered.cc).
  absl::StatusOr<std::optional<Element>> TakeOrdered() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The lane's next frame, from whichever task has it.
  absl::StatusOr<std::shared_ptr<const FrameView>> NextOf(uint32_t lane)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BeginSequence(uint64_t epoch, const v1::StartEpochReply& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where `epoch` is to be begun; null: at its start.
  const v1::OrderedPosition* ResumeAt(uint64_t epoch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::OrderedPosition Place() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddWindows(v1::ClientBeatRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The dispatcher may have given us up: nothing may be handed over before it has answered.
  bool Silent() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GrantCredit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // closed or failed
  void Fail(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const v1::PipelineDef pipeline_;
  const StreamOptions options_;
  const ClientOptions client_;
  const std::shared_ptr<ConsumerCalls> dispatcher_;
  FrameConnector* const connector_;  // the Loader's; not used after Close
  const Clock* const clock_;
  const v1::PipelineDef sketch_;
  v1::OpenJobReply job_;  // written by Open
  Schema schema_;

  // What was handed over of epoch_, for saved states; taken before mutex_.
  absl::Mutex delivered_mutex_;
  DeliveredSet delivered_ ABSL_GUARDED_BY(delivered_mutex_);

  mutable absl::Mutex mutex_;
  absl::CondVar changed_;  // an element, the end, an error, a new client id: for Next, StartEpoch
  absl::CondVar beat_;     // for the beat thread
  FrameMerger merger_ ABSL_GUARDED_BY(mutex_);
  DeliveryTracker tracker_ ABSL_GUARDED_BY(mutex_);
  TaskStreams streams_ ABSL_GUARDED_BY(mutex_);
  StepGate gate_ ABSL_GUARDED_BY(mutex_);
  StepClock meter_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<OrderedSequence> sequence_ ABSL_GUARDED_BY(mutex_);  // ordering deterministic
  std::unique_ptr<LaneFrames> lanes_ ABSL_GUARDED_BY(mutex_);          // the same
  std::optional<v1::OrderedPosition> resume_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> windows_told_ ABSL_GUARDED_BY(mutex_);
  LoaderStats stats_ ABSL_GUARDED_BY(mutex_);
  uint64_t uid_ ABSL_GUARDED_BY(mutex_);
  uint64_t client_id_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: we have left; nobody beats
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t tasks_version_ ABSL_GUARDED_BY(mutex_) = 0;
  bool in_epoch_ ABSL_GUARDED_BY(mutex_) = false;
  bool epoch_finished_ ABSL_GUARDED_BY(mutex_) = false;
  // It left an epoch in its midst, which may end there once its other readers have left it too.
  bool left_early_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // Why the next beat should not wait for its time.
  bool beat_now_ ABSL_GUARDED_BY(mutex_) = false;  // a fence to confirm, a broken stream, an epoch
  bool beat_soon_ ABSL_GUARDED_BY(mutex_) =
      false;  // the trainer waits: the end may hang on a report
  absl::Duration waits_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  absl::Duration usual_wait_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  absl::Duration last_beat_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  int unanswered_ ABSL_GUARDED_BY(mutex_) = 0;  // beats in a row
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  absl::Duration period_ ABSL_GUARDED_BY(mutex_) = absl::Milliseconds(500);
  absl::Duration answered_ ABSL_GUARDED_BY(mutex_);  // when the last answered beat was sent
  std::vector<v1::SplitSpan> needs_ ABSL_GUARDED_BY(mutex_);
  uint64_t needs_seen_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t epoch_elements_ ABSL_GUARDED_BY(mutex_) = 0;
  bool began_ ABSL_GUARDED_BY(mutex_) = false;  // an epoch of this incarnation
  bool left_ ABSL_GUARDED_BY(mutex_) = false;   // in mid-epoch, and began no other since
  uint64_t incarnation_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t reader_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t readers_ ABSL_GUARDED_BY(mutex_) = 1;
  // States that were loaded, until they are restored.
  std::unique_ptr<v1::RestoreJobRequest> restore_ ABSL_GUARDED_BY(mutex_);
  bool states_sent_ ABSL_GUARDED_BY(mutex_) = false;
  // This reader's share of what was restored, until the epoch begins.
  std::optional<DeliveredSet> carried_ ABSL_GUARDED_BY(mutex_);
  v1::EpochSummary summary_ ABSL_GUARDED_BY(mutex_);
  std::string waiting_ ABSL_GUARDED_BY(mutex_);

  Thread beats_;
};

}  // namespace headrace
