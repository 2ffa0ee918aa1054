// One state of the whole system: the real dispatcher's State, and abstract workers, clients and
// network. Values: copied for every step; the dispatcher's part is shared between nodes that it
// does not tell apart.
//
// What is left out, and why nothing is lost by it. Frames held by a client and frames under way are
// one list: a held one is dropped or handed over by the same rules as one that arrives later. An
// answer to a worker is taken in the step that made it: until then the worker could only have done
// what it could do before as well. A client's beat takes two steps, since records handed over
// between them matter. Time is a choice: whoever may be taken for lost may be so at any moment.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "tests/model/replayed.h"

namespace headrace::model {

using Elements = uint32_t;                // bit split * records + record
using Tasks = uint32_t;                   // bit task id
inline constexpr size_t kMostTasks = 24;  // of one history, with id 0 for none
using ByTask = std::array<Elements, kMostTasks>;

// A lease as its holder sees it.
struct Lent {
  uint64_t number = 0;
  uint8_t split = 0;
  Elements todo = 0;
};

struct RunningTask {
  uint8_t task = 0;
  uint8_t request = 0;      // number of the last request
  bool unanswered = false;  // which is sent again as it was
  bool exhausted = false;
  absl::InlinedVector<Lent, 2> lent;
  Elements held = 0;  // read, waiting to be batched
};

// A report that was not acknowledged yet.
struct Told {
  uint64_t lease = 0;
  uint8_t task = 0;
  uint8_t split = 0;
  bool end = false;
  Elements settled = 0;
};

struct WorkerNow {
  bool alive = false;
  uint64_t id = 0;
  uint64_t uid = 0;
  absl::InlinedVector<RunningTask, 2> tasks;
  absl::InlinedVector<Told, 4> told;
};

struct Frame {
  uint8_t task = 0;
  Elements elements = 0;
};

template <typename List, typename Condition>
void EraseIf(List& list, Condition condition) {
  list.erase(std::remove_if(list.begin(), list.end(), condition), list.end());
}

enum class Phase : uint8_t { kReading, kUnknown, kDead, kLeft, kDone };

// The dispatcher's answer to a client's beat, under way.
struct Answer {
  bool there = false;
  bool stale = false;  // the client was taken for lost since: says nothing about being known
  bool unknown = false;
  bool finished = false;
  Tasks fences = 0;
  Tasks known = 0;
  ByTask carried{};  // what the beat reported
};

struct ClientNow {
  Phase phase = Phase::kReading;
  bool silent = false;  // its time-out has passed without an answer
  uint64_t id = 0;
  uint64_t uid = 0;
  uint64_t incarnation = 0;
  Tasks fenced = 0;
  Tasks to_confirm = 0;
  Tasks cut = 0;        // streams that broke
  Tasks known = 0;      // it was told of them, and has streams
  ByTask owed{};        // handed over, not acknowledged
  Elements handed = 0;  // ever: what it would save
  Answer answer;
  absl::InlinedVector<Frame, 4> coming;  // in order within a task
};

// A client that died and is not taken for lost yet.
struct Ghost {
  uint64_t id = 0;
  ByTask owed{};
};

// A call that was given up by its caller and will arrive.
struct LateCall {
  std::shared_ptr<const v1::ClientBeatRequest> client_beat;
  std::shared_ptr<const v1::WorkerBeatRequest> worker_beat;
  std::shared_ptr<const v1::LeaseSplitsRequest> lease;
};

// A checkpoint that all clients made at one moment.
struct Saved {
  bool there = false;
  Elements delivered = 0;
  Elements may_double = 0;
  absl::InlinedVector<Elements, 2> handed;  // by client
};

// What is left of each fault.
struct Budget {
  uint8_t worker_deaths = 0, false_alarms = 0, stream_breaks = 0, lost_answers = 0, late_calls = 0,
          client_deaths = 0, client_silences = 0, client_leaves = 0, restores = 0;
};

struct Node {
  std::shared_ptr<const Replayed> dispatcher;
  absl::InlinedVector<WorkerNow, 2> workers;
  absl::InlinedVector<ClientNow, 2> clients;
  absl::InlinedVector<Ghost, 1> ghosts;
  absl::InlinedVector<LateCall, 1> late;
  Saved saved;
  Budget left;
  uint64_t uids = 0;
  std::array<uint8_t, kMostTasks> machine_of{};  // by task: the worker's index, counted from 1
  // The truth.
  Elements delivered = 0;
  Elements may_double = 0;  // a lost client had handed them over unreported
  std::string fault;        // "": no promise is broken
};

// One step. What a, b and c are depends on the kind.
enum class Step : uint8_t {
  kLease,            // worker, task
  kRead,             // worker, task, client that gets the frame
  kFlush,            // worker, task, client
  kWorkerBeat,       // worker
  kWorkerComesBack,  // worker
  kWorkerLost,       // worker: taken for lost, rightly
  kClientBeat,       // client
  kClientHears,      // client
  kHandOver,         // client, task
  kClientReopens,    // client
  kClientLost,       // client: taken for lost
  kGhostLost,        // ghost
  kClientComesBack,  // client
  kDuties,
  kLateArrives,  // late call
  // Faults.
  kWorkerDies,
  kFalseAlarm,
  kLeaseAnswerLost,
  kWorkerAnswerLost,
  kClientAnswerLost,
  kStreamBreaks,
  kClientDies,
  kClientFallsSilent,
  kClientLeaves,
  kSave,
  kRestore,
  kLateLease,
  kLateWorkerBeat,
  kLateClientBeat,
};
inline bool IsFault(Step step) { return step >= Step::kWorkerDies; }

struct Action {
  Step step = Step::kDuties;
  uint8_t a = 0, b = 0, c = 0;
};

}  // namespace headrace::model
