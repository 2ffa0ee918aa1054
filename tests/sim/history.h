// What happens in one history: all of it drawn from one seed, so that a failing one can be
// replayed.
#pragma once

#include <cstdint>
#include <string>

#include "headrace/v1/dispatcher.pb.h"

namespace headrace::sim {

struct History {
  uint64_t seed = 0;
  v1::Sharding sharding = v1::SHARDING_DYNAMIC;
  v1::Visitation visitation = v1::VISITATION_EXACTLY_ONCE;
  uint64_t splits = 3;
  uint64_t splits_per_file = 1;
  uint64_t max_records = 8;  // of a split; each has a number of its own, perhaps 0
  uint64_t passes = 1;
  uint64_t epochs = 1;
  uint64_t workers = 2;
  uint64_t clients = 2;
  uint64_t slots = 0;
  uint64_t batch = 2;
  uint64_t shuffle = 0;  // elements that a task holds before it emits
  uint64_t take = 0;     // 0: all
  uint64_t skip = 0;     // with take
  bool filter = false;   // a third of the records
  bool fail = false;     // some records fail and are skipped
  bool parts = false;    // some records are cut into several elements
  bool drop_remainder = false;
  double caches = 0;  // chance that a task tells of a split that its worker has it cached
  double cuts = 0;    // chance, per look at its work, that a worker gives something up unasked
  bool slow_trainer = false;  // frames wait in the client
  bool ordered = false;       // ordering deterministic
  uint32_t lanes = 0;
  uint64_t window = 1;  // splits

  // Faults, and until when they come.
  double lose_call = 0;
  double double_call = 0;
  double slow_call = 0;  // by up to 3 s, a few by 12 s: overtakes and outlives time-outs
  uint64_t worker_crashes = 0;
  uint64_t worker_pauses = 0;
  uint64_t worker_cuts = 0;  // from the dispatcher, a client, or all
  uint64_t stream_breaks = 0;
  uint64_t task_errors = 0;  // passing ones
  uint64_t drains = 0;
  uint64_t client_leaves = 0;   // says goodbye in mid-epoch, another takes its place
  uint64_t client_crashes = 0;  // with what it did not report
  uint64_t client_pauses = 0;
  uint64_t client_cuts = 0;  // from the dispatcher, or all
  bool wait = false;         // for silent clients; else what they had goes to others
  uint64_t dispatcher_crashes = 0;
  uint64_t restores = 0;  // all clients crash, and go on from what they saved together before
  double snapshots = 0;   // chance that the journal is compacted, ten times a second

  // Mutations, each of which must be found out.
  bool confirmations_not_awaited = false;
  bool clients_keep_fenced_frames = false;
  bool leases_lose_their_skip_sets = false;
  bool clients_hide_broken_streams = false;
  bool replays_begin_anew = false;
  bool clients_report_on_arrival = false;  // before they hand over
  bool workers_settle_what_they_emit = false;
  bool workers_read_past_their_cuts = false;
  bool workers_shuffle_anew = false;  // ordered: by something else than the data

  // Only then may a record come twice: what a lost client did not report.
  bool MayDouble() const {
    return !ordered && !wait && client_crashes + client_pauses + client_cuts > 0 &&
           visitation != v1::VISITATION_AT_MOST_ONCE;
  }
  // At most once: what was under way when something was lost.
  bool MayMiss() const {
    return visitation == v1::VISITATION_AT_MOST_ONCE &&
           worker_crashes + worker_pauses + worker_cuts + stream_breaks + task_errors +
                   client_crashes + client_pauses + client_cuts + dispatcher_crashes >
               0;
  }
  // Ordered: of a global batch; all numbers of ranks divide it.
  uint64_t batch_rows() const { return 6 * batch; }
  std::string Describe() const;
};

// Which faults a drawn history may have.
enum class Faults { kNone, kWorkers, kClients, kRestores };

History DrawHistory(uint64_t seed, Faults faults);
// The same under another promise, drawn too.
History DrawHistoryOfAnyLevel(uint64_t seed);
// ordering: deterministic, under faults of workers and clients, or restores.
History DrawOrderedHistory(uint64_t seed);
// The same data, read by one rank from one worker, and nothing fails.
History Calm(History history);
// Any of all these.
History DrawHistoryOfAnyKind(uint64_t seed);

// What the records are, for workers and for the truth.
uint64_t RecordsOf(const History& history, uint64_t split);
bool Filtered(const History& history, uint64_t split, uint64_t record);
bool Failing(const History& history, uint64_t split, uint64_t record);
uint32_t PartsOf(const History& history, uint64_t split, uint64_t record);

}  // namespace headrace::sim
