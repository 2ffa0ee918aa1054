// One rank's stream of a job: epochs of elements, each handed over once.
//
// Next, StartEpoch and Close may be called from any thread, one Next or StartEpoch at a time. A
// thread of its own beats to the dispatcher; transport threads bring frames. Everything is bounded:
// memory by prefetch_bytes, each wait by its timeout.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/element.h"
#include "client/stream_options.h"
#include "common/clock.h"
#include "element/schema.h"
#include "headrace/v1/dispatcher.pb.h"
#include "headrace/v1/pipeline.pb.h"
#include "rpc/dispatcher_client.h"
#include "transport/frame_connector.h"

namespace headrace {

struct LoaderStats {
  absl::Duration step = absl::ZeroDuration();    // the trainer's own time between elements
  absl::Duration wait = absl::ZeroDuration();    // it asked and had nothing
  absl::Duration paused = absl::ZeroDuration();  // did something else: evaluated, saved
  absl::Duration longest_wait = absl::ZeroDuration();
  absl::Duration usual_step = absl::ZeroDuration();  // what a step takes at present
  uint64_t steps = 0;
  double stall_fraction = 0;  // wait / (step + wait)
  uint64_t elements = 0;
  uint64_t bytes = 0;
  uint64_t held_bytes = 0;  // prefetched, now
};

class LoaderCore;

class Loader {
 public:
  struct Deps {
    std::shared_ptr<ConsumerCalls> dispatcher;
    std::shared_ptr<FrameConnector> connector;
    const Clock* clock;
  };
  // Opens or joins the job. ALREADY_EXISTS: a job of that name runs with another pipeline;
  // INVALID_ARGUMENT, NOT_FOUND: the pipeline's own errors.
  static absl::StatusOr<std::unique_ptr<Loader>> Open(const v1::PipelineDef& pipeline,
                                                      const StreamOptions& options,
                                                      const ClientOptions& client, Deps deps);
  ~Loader();  // Close(2 s)
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Begins `epoch`, or the one after the last (the job's next one at first); goes on with the one
  // that is being read. An epoch that was left early is ended where it is once all its readers have
  // left it. DEADLINE_EXCEEDED after `timeout` (call again): it says what is waited for.
  absl::Status StartEpoch(std::optional<uint64_t> epoch = std::nullopt,
                          absl::Duration timeout = absl::Minutes(10));
  // The next element; nothing at the end of the epoch. DEADLINE_EXCEEDED after `timeout` (call
  // again), the job's error when it failed or was cancelled, UNAVAILABLE when the dispatcher stayed
  // away for outage_timeout, FAILED_PRECONDITION after Close.
  absl::StatusOr<std::optional<Element>> Next(absl::Duration timeout);
  // Says goodbye and reports what was handed over. Wakes a Next that waits. Bounded by `timeout`
  // and the call under way. Idempotent.
  void Close(absl::Duration timeout);

  // What a checkpoint keeps of this reader: what Next handed over, not what was prefetched. Changes
  // nothing; may be called between any two calls of Next, and after Close. Small (docs/resume.md).
  v1::LoaderState State() const;
  // The next StartEpoch goes on from these: the states of all readers that saved, or this reader's
  // own where as many read on as saved and each loads its own. INVALID_ARGUMENT for damaged ones;
  // what only the dispatcher can tell (another pipeline, missing states) is Restore's to say.
  absl::Status LoadStates(std::vector<v1::LoaderState> states);
  // Waits until all readers have handed in their states; StartEpoch does so too. Nothing to do
  // where none was loaded. DEADLINE_EXCEEDED says who is waited for: call again.
  absl::Status Restore(absl::Duration timeout);
  // Which reader this is, of how many that save and restore together; at first the rank, of
  // world_size. For ranks with several readers (a DataLoader's workers). Before the first epoch.
  absl::Status SetPlace(uint32_t reader, uint32_t readers);

  // Ordering deterministic: where this reader stands. Of batches that were handed over, not of
  // those that wait; at an epoch's end the start of the next. FAILED_PRECONDITION for other jobs.
  absl::StatusOr<v1::OrderedPosition> position() const;
  // The next StartEpoch begins there: `position` of any rank, of a job over the same pipeline,
  // dataset and global batch, of any number of ranks.
  absl::Status SetPosition(const v1::OrderedPosition& position);

  uint64_t epoch() const;
  const Schema& schema() const;  // of the elements
  bool batched() const;
  const std::string& job_name() const;
  const std::string& fingerprint() const;
  LoaderStats stats() const;
  // Of the last epoch that ended.
  v1::EpochSummary summary() const;
  // Why nothing comes, in the dispatcher's words; empty while things move.
  std::string waiting() const;

 private:
  Loader(std::shared_ptr<FrameConnector> connector, std::shared_ptr<LoaderCore> core)
      : connector_(std::move(connector)), core_(std::move(core)) {}
  // Ours alone: a receiver may be the last to let go of the core, in a thread that the connector
  // would wait for.
  const std::shared_ptr<FrameConnector> connector_;
  const std::shared_ptr<LoaderCore> core_;  // shared with receivers
};

}  // namespace headrace
