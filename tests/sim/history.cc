#include "tests/sim/history.h"

#include <array>

#include "fmt/format.h"
#include "tests/sim/random.h"

namespace headrace::sim {

std::string History::Describe() const {
  return fmt::format(
      "seed {}: {} {} slots {} splits {} (x{} a file) records<={} passes {} epochs {} workers {} "
      "clients {} batch {} shuffle {} take {} skip {} filter {} fail {} parts {} drop {} slow "
      "trainer {} | calls lost {} doubled {} slow {} | worker crashes {} pauses {} cuts {} breaks "
      "{} errors {} drains {} | client leaves {} crashes {} pauses {} cuts {} wait {} | dispatcher "
      "crashes {} restores {} snapshots {} | ordered {} lanes {} window {} cuts {} caches {}",
      seed, v1::Sharding_Name(sharding), v1::Visitation_Name(visitation), slots, splits,
      splits_per_file, max_records, passes, epochs, workers, clients, batch, shuffle, take, skip,
      filter, fail, parts, drop_remainder, slow_trainer, lose_call, double_call, slow_call,
      worker_crashes, worker_pauses, worker_cuts, stream_breaks, task_errors, drains, client_leaves,
      client_crashes, client_pauses, client_cuts, wait, dispatcher_crashes, restores, snapshots,
      ordered, lanes, window, cuts, caches);
}

History DrawHistory(uint64_t seed, Faults faults) {
  Random random(Mix(seed, 1));
  History history;
  history.seed = seed;
  constexpr std::array kShardings = {v1::SHARDING_DYNAMIC,     v1::SHARDING_DYNAMIC,
                                     v1::SHARDING_DYNAMIC,     v1::SHARDING_STATIC_FILE,
                                     v1::SHARDING_STATIC_DATA, v1::SHARDING_STATIC_FILE_OR_DATA,
                                     v1::SHARDING_STATIC_HINT, v1::SHARDING_OFF};
  history.sharding = kShardings[random.Between(0, kShardings.size() - 1)];
  history.splits = random.Between(0, 8);
  history.splits_per_file = random.Between(1, 3);
  history.max_records = random.Between(1, 12);
  history.passes = random.Chance(0.2) ? 2 : 1;
  history.epochs = random.Between(1, 2);
  history.workers = random.Between(1, 3);
  history.clients = random.Between(1, 3);
  history.slots = random.Between(0, 4);
  history.batch = random.Between(1, 4);
  history.shuffle = random.Chance(0.5) ? random.Between(1, 10) : 0;
  history.filter = random.Chance(0.4);
  history.fail = random.Chance(0.2);
  history.parts = random.Chance(0.3);
  history.drop_remainder = random.Chance(0.3);
  history.slow_trainer = random.Chance(0.4);
  if (history.sharding == v1::SHARDING_DYNAMIC && random.Chance(0.15)) {
    history.take = random.Between(1, 20);
    history.skip = random.Chance(0.5) ? random.Between(1, 5) : 0;
    history.shuffle = 0;  // the order must be the same in a replay
    history.drop_remainder = false;
  }
  // What one worker leaves, others read: where they share a lane.
  if (history.sharding == v1::SHARDING_DYNAMIC && history.take == 0) {
    Random cuts(Mix(seed, 7));
    if (cuts.Chance(0.5)) history.cuts = cuts.Chance(0.5) ? 0.02 : 0.2;
  }
  Random caches(Mix(seed, 8));
  if (caches.Chance(0.5)) history.caches = caches.Chance(0.5) ? 0.2 : 0.6;
  if (faults == Faults::kNone) return history;
  history.lose_call = random.Chance(0.5) ? 0.05 : 0;
  history.double_call = random.Chance(0.5) ? 0.1 : 0;
  history.slow_call = random.Chance(0.3) ? 0.02 : 0;
  history.worker_crashes = random.Between(0, 2);
  history.worker_pauses = random.Between(0, 2);
  history.worker_cuts = random.Between(0, 2);
  history.stream_breaks = random.Between(0, 2);
  history.task_errors = random.Chance(0.3) ? random.Between(1, 2) : 0;
  history.drains = random.Chance(0.2) ? 1 : 0;
  history.client_leaves = random.Chance(0.3) ? random.Between(1, 2) : 0;
  history.dispatcher_crashes = random.Chance(0.3) ? 1 : 0;
  history.snapshots = seed % 2 == 0 ? 0.2 : 0;
  if (faults == Faults::kRestores) {
    history.client_leaves = 0;
    history.restores = random.Between(1, 2);
    if (history.sharding == v1::SHARDING_OFF) history.sharding = v1::SHARDING_DYNAMIC;
    return history;
  }
  if (faults == Faults::kWorkers) return history;
  history.client_crashes = random.Between(0, 2);
  history.client_cuts = random.Between(0, 2);
  history.client_pauses = random.Between(history.client_crashes == 0 ? 1 : 0, 2);
  history.wait = history.client_crashes == 0 && random.Chance(0.5);
  return history;
}

History DrawHistoryOfAnyLevel(uint64_t seed) {
  Random random(Mix(seed, 4));
  if (random.Chance(0.5)) {
    constexpr std::array kFaults = {Faults::kNone, Faults::kWorkers, Faults::kClients};
    History history = DrawHistory(seed, kFaults[random.Between(0, kFaults.size() - 1)]);
    history.visitation = v1::VISITATION_AT_LEAST_ONCE;
    return history;
  }
  constexpr std::array kFaults = {Faults::kNone, Faults::kWorkers, Faults::kClients};
  History history = DrawHistory(seed, kFaults[random.Between(0, kFaults.size() - 1)]);
  history.visitation = v1::VISITATION_AT_MOST_ONCE;
  // What counts rows is made again from the start, what a lost client had with it (docs/python.md).
  if (history.client_crashes + history.client_pauses + history.client_cuts > 0) {
    history.take = history.skip = 0;
  }
  return history;
}

History DrawOrderedHistory(uint64_t seed) {
  Random random(Mix(seed, 6));
  constexpr std::array kFaults = {Faults::kNone, Faults::kWorkers, Faults::kClients,
                                  Faults::kRestores};
  History history = DrawHistory(seed, kFaults[random.Between(0, kFaults.size() - 1)]);
  history.ordered = true;
  history.cuts = 0;
  history.lanes = static_cast<uint32_t>(random.Between(1, 4));
  history.window = random.Between(1, 3);
  history.sharding = v1::SHARDING_DYNAMIC;
  history.batch = random.Between(1, 2);
  history.take = history.skip = 0;
  history.drop_remainder = false;
  // A rank that begins anew in mid-epoch goes on from a checkpoint, together with all others.
  history.client_crashes = history.client_leaves = 0;
  return history;
}

History Calm(History history) {
  history.workers = history.clients = 1;
  history.slow_trainer = false;
  history.lose_call = history.double_call = history.slow_call = history.snapshots = 0;
  history.worker_crashes = history.worker_pauses = history.worker_cuts = 0;
  history.stream_breaks = history.task_errors = history.drains = 0;
  history.client_leaves = history.client_crashes = history.client_pauses = 0;
  history.client_cuts = history.dispatcher_crashes = history.restores = 0;
  return history;
}

History DrawHistoryOfAnyKind(uint64_t seed) {
  switch (Mix(seed, 5) % 12) {
    case 0:
      return DrawHistory(seed, Faults::kNone);
    case 1:
      return DrawHistory(seed, Faults::kRestores);
    case 2:
      return DrawHistoryOfAnyLevel(seed);
    case 10:
    case 11:
      return DrawOrderedHistory(seed);
    case 3:
    case 4:
    case 5:
      return DrawHistory(seed, Faults::kClients);
    default:
      return DrawHistory(seed, Faults::kWorkers);
  }
}

uint64_t RecordsOf(const History& history, uint64_t split) {
  return Mix(history.seed ^ 0xA1, split) % (history.max_records + 1);
}

bool Filtered(const History& history, uint64_t split, uint64_t record) {
  return history.filter && Mix(Mix(history.seed ^ 0xB2, split), record) % 3 == 0;
}

bool Failing(const History& history, uint64_t split, uint64_t record) {
  return history.fail && Mix(Mix(history.seed ^ 0xC3, split), record) % 7 == 0;
}

uint32_t PartsOf(const History& history, uint64_t split, uint64_t record) {
  if (!history.parts) return 1;
  return 1 + static_cast<uint32_t>(Mix(Mix(history.seed ^ 0xD4, split), record) % 3);
}

}  // namespace headrace::sim
