// What one exploration covers: how large the cluster and its dataset are, which faults may come and
// how often in one history, and, for the exploration's own test, which part of the protocol is left
// out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/v1/dispatcher.pb.h"

namespace headrace::model {

// Each must be found out.
enum class Mutation {
  kNone,
  kNoConfirmation,         // splits are leased again without waiting for clients
  kFencedFramesKept,       // clients hand over frames of fenced tasks
  kNoSkipSets,             // workers read again what was delivered
  kConfirmedWithoutRuns,   // a confirmation does not carry what it must
  kBrokenStreamsHidden,    // clients do not say that a stream broke
  kSilentClientsHandOver,  // a client goes on though it may be taken for lost
  kReportsForgotten,       // a worker does not repeat what was lost
};

struct Bound {
  uint32_t workers = 2;
  uint32_t clients = 2;
  uint32_t splits = 3;
  uint32_t records = 1;  // of a split
  uint32_t batch = 1;    // records of a frame, of any leases of its task
  bool filter = false;   // the last record of each split gives no output
  v1::Visitation visitation = v1::VISITATION_EXACTLY_ONCE;
  v1::OnClientLoss on_client_loss = v1::ON_CLIENT_LOSS_REASSIGN;

  // How often, in one history.
  uint32_t worker_deaths = 0;    // and another process comes up at its address
  uint32_t false_alarms = 0;     // a worker is taken for lost and goes on
  uint32_t stream_breaks = 0;    // frames on their way are lost
  uint32_t lost_answers = 0;     // the dispatcher acted, the caller does not know
  uint32_t late_calls = 0;       // arrive any time later, any number of times
  uint32_t client_deaths = 0;    // and another process takes its place
  uint32_t client_silences = 0;  // cut off from the dispatcher for longer than its time-out
  uint32_t client_leaves = 0;    // in mid-epoch, with a goodbye; it comes back
  uint32_t restores = 0;         // all clients die, and go on from what they saved before

  Mutation mutation = Mutation::kNone;

  uint32_t elements() const { return splits * records; }
  bool filtered(uint32_t record) const { return filter && record + 1 == records; }
  std::string Describe() const;
};

}  // namespace headrace::model
