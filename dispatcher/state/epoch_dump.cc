#include "dispatcher/state/epoch.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace headrace::dispatch {
namespace {

template <typename Ids>
std::vector<uint64_t> Values(const Ids& ids) {
  std::vector<uint64_t> values;
  for (const auto id : ids) values.push_back(id.value);
  return values;
}

std::string LaneText(size_t index, const Lane& lane) {
  v1::KeptLane kept;
  lane.Keep(kept);
  std::string out =
      fmt::format(" lane {} pending {} {{{}}}\n", index, lane.pending(), kept.ShortDebugString());
  lane.KeepLedgers([&](const v1::KeptLedger& ledger) {
    const SplitLedger& found = *lane.Find({ledger.split(), ledger.pass()});
    out +=
        fmt::format("  split {}:{} of {} abandoned {} awaited {}:", ledger.split(), ledger.pass(),
                    found.total().value_or(0), found.abandoned(), ledger.awaited_size());
    google::protobuf::RepeatedPtrField<v1::Run> done;
    found.AppendSkip(ledger.split(), ledger.pass(), &done);
    for (const v1::Run& run : done) {
      out += fmt::format(" {}+{}:{}/{}", run.first(), run.count(), run.part(), run.parts());
    }
    out += '\n';
  });
  return out;
}

std::string TaskText(const Task& task, const LeaseTable& leases) {
  std::string out = fmt::format(
      " task {} worker {} lane {} replay {} fenced {} request {} exhausted {} answer {} leases",
      task.id.value, task.worker.value, task.lane, task.replay, task.fenced, task.last_request,
      task.exhausted, Values(task.last_answer));
  for (const LeaseNumber number : task.leases) {
    const Lease& lease = *leases.Find(number);
    out += fmt::format(" {}:{}/{}:{}{}", number.value, lease.lane, lease.item.split,
                       lease.item.pass, lease.read_to_end ? "." : "");
    if (!lease.item.whole()) out += fmt::format("[{},{})", lease.item.first, lease.item.end);
  }
  return out + '\n';
}

}  // namespace

std::string Epoch::Dump() const {
  std::string out = fmt::format(
      "epoch {} tasks_version {} delivered {} settled {} failed {} given up {} retired {} restored "
      "{} "
      "{} skipped {} errors {} samples {} readers {} active {} read to end {}\n",
      number_, tasks_version_, counts_.delivered, counts_.settled, counts_.failed, counts_.given_up,
      counts_.retired, restored_, counts_.restored, counts_.skipped, task_errors_, failures_.size(),
      Values(readers_), active_tasks_, leases_.read_to_end());
  out += fmt::format(" steps {}{}{}{}{} dropped {} padded {} pieces {}\n", steps_granted_,
                     steps_final_ ? " final" : "", rebalanced_ ? " rebalanced" : "",
                     reader_left_ ? " a reader left" : "", cuts_records_ ? " parts" : "",
                     counts_.dropped, counts_.padded, counts_.pieces);
  for (size_t i = 0; i < lanes_.size(); ++i) out += LaneText(i, lanes_[i]);
  for (const auto& [id, task] : tasks_) out += TaskText(task, leases_);
  for (const auto& [worker, strikes] : strikes_) {
    out += fmt::format(" worker {} strikes {}\n", worker.value, strikes);
  }
  for (const auto& [worker, tasks] : active_of_) {
    out += fmt::format(" worker {} runs {}\n", worker.value, Values(tasks));
  }
  for (const auto& [client, needs] : needs_) {
    out += fmt::format(" client {} needs from {}:", client.value, needs.first);
    for (const SplitNeed& need : needs.list) {
      out += fmt::format(" {}:{}:{}", need.item.split, need.item.pass, need.need);
    }
    out += '\n';
  }
  for (const FenceRound& round : fences_) {
    out += fmt::format(" fence of {} cause {} give up {} '{}' awaits", Values(round.tasks),
                       static_cast<int>(round.cause), round.give_up, round.reason);
    for (const auto& [client, tasks] : round.awaited) {
      out += fmt::format(" {}:{}", client.value, Values(tasks));
    }
    out += '\n';
  }
  return out;
}

}  // namespace headrace::dispatch
