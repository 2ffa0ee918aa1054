#include "tests/model/rules.h"

#include "fmt/format.h"

namespace headrace::model {

std::string Bound::Describe() const {
  return fmt::format(
      "{} workers, {} clients, {} splits of {} records in batches of {}{}; {} {}; worker deaths {} "
      "false alarms {} stream breaks {} lost answers {} late calls {} client deaths {} silences {} "
      "leaves {} restores {}",
      workers, clients, splits, records, batch, filter ? ", filtered" : "",
      v1::Visitation_Name(visitation), v1::OnClientLoss_Name(on_client_loss), worker_deaths,
      false_alarms, stream_breaks, lost_answers, late_calls, client_deaths, client_silences,
      client_leaves, restores);
}

std::vector<Action> Rules::Enabled(const Node& node) const {
  std::vector<Action> out;
  if (!node.fault.empty()) return out;
  for (uint8_t w = 0; w < node.workers.size(); ++w) EnabledOfWorker(node, w, out);
  for (uint8_t c = 0; c < node.clients.size(); ++c) EnabledOfClient(node, c, out);
  for (uint8_t g = 0; g < node.ghosts.size(); ++g) out.push_back({Step::kGhostLost, g});
  for (uint8_t i = 0; i < node.late.size(); ++i) out.push_back({Step::kLateArrives, i});
  out.push_back({Step::kDuties});
  if (node.left.restores != 0) out.push_back({node.saved.there ? Step::kRestore : Step::kSave});
  return out;
}

Node Rules::After(const Node& before, Action action) const {
  Node node = before;
  switch (action.step) {
    case Step::kLease:
    case Step::kRead:
    case Step::kFlush:
    case Step::kWorkerBeat:
    case Step::kWorkerComesBack:
    case Step::kWorkerLost:
    case Step::kWorkerDies:
    case Step::kFalseAlarm:
    case Step::kLeaseAnswerLost:
    case Step::kWorkerAnswerLost:
    case Step::kLateLease:
    case Step::kLateWorkerBeat:
      WorkerStep(node, action);
      break;
    case Step::kGhostLost:
      Lose(node, node.ghosts[action.a].owed);
      calls_.ExpireClient(node, node.ghosts[action.a].id);
      // Waited for: it stays.
      if ((*node.dispatcher)->clients().Find(ClientId(node.ghosts[action.a].id)) == nullptr) {
        node.ghosts.erase(node.ghosts.begin() + action.a);
      }
      break;
    case Step::kDuties:
      calls_.Duties(node);
      break;
    case Step::kSave:
      node.saved = {true, node.delivered, node.may_double, {}};
      for (const ClientNow& client : node.clients) node.saved.handed.push_back(client.handed);
      break;
    case Step::kRestore:
      --node.left.restores;
      calls_.Restore(node);
      node.delivered = node.saved.delivered;
      node.may_double = node.saved.may_double;
      node.saved = {};
      break;
    case Step::kLateArrives:
      Arrive(node, node.late[action.a]);
      break;
    default:
      ClientStep(node, action);
  }
  Check(node);
  return node;
}

// After every step: what the ledger counts as done was handed over (or gives no output), and the
// epoch's end means that all was.
void Rules::Check(Node& node) const {
  if (!node.fault.empty() || bound_.visitation == v1::VISITATION_AT_MOST_ONCE) return;
  Elements without_output = 0;
  for (uint32_t e = 0; e < bound_.elements(); ++e) {
    if (bound_.filtered(e % bound_.records)) without_output |= Elements{1} << e;
  }
  const Elements missing = DoneOf(bound_, node) & ~node.delivered & ~without_output;
  if (missing != 0) node.fault = fmt::format("LOST elements {:#b}", missing);
}

bool Rules::Finished(const Node& node) const {
  const dispatch::Job* job = (*node.dispatcher)->jobs().Find(JobId(1));
  if (job == nullptr || job->epoch.has_value()) return false;
  for (const ClientNow& client : node.clients) {
    if (client.phase != Phase::kDone && client.phase != Phase::kDead &&
        client.phase != Phase::kLeft) {
      return false;
    }
  }
  return true;
}

std::string Rules::Describe(const Node& before, Action action, const Node& after) const {
  const auto task = [&] { return before.workers[action.a].tasks[action.b].task; };
  const auto leased = [&]() -> std::string {
    const WorkerNow& now = after.workers[action.a];
    if (action.b >= now.tasks.size()) return "and is told to drop it";
    if (now.tasks[action.b].exhausted) return "and gets nothing";
    for (const Lent& lent : now.tasks[action.b].lent) {
      if (&lent == &now.tasks[action.b].lent.back())
        return fmt::format("and gets split {}", lent.split);
    }
    return "of which nothing is to be read";
  };
  const auto fences = [&] { return before.clients[action.a].answer.fences; };
  switch (action.step) {
    case Step::kLease:
      return fmt::format("worker {} leases for task {}, {}", action.a, task(), leased());
    case Step::kRead:
      return fmt::format("worker {} reads a record for task {}, to client {}", action.a, task(),
                         action.c);
    case Step::kFlush:
      return fmt::format("worker {} flushes task {} to client {}", action.a, task(), action.c);
    case Step::kWorkerBeat:
      return fmt::format("worker {} beats with {} reports", action.a,
                         before.workers[action.a].told.size());
    case Step::kWorkerComesBack:
      return fmt::format("another process comes up at worker {}'s address", action.a);
    case Step::kWorkerLost:
      return fmt::format("the dispatcher takes dead worker {} for lost", action.a);
    case Step::kClientBeat:
      return fmt::format("client {} beats, confirming tasks {:#b}", action.a,
                         before.clients[action.a].to_confirm);
    case Step::kClientHears:
      return fmt::format("client {} hears the answer, with fences {:#b}", action.a, fences());
    case Step::kHandOver:
      return fmt::format("client {} hands over a frame of task {}: delivered {:#b}", action.a,
                         action.b, after.delivered);
    case Step::kClientReopens:
      return fmt::format("client {}, unknown by now, opens the job again", action.a);
    case Step::kClientLost:
      return fmt::format("the dispatcher takes silent client {} for lost", action.a);
    case Step::kGhostLost:
      return "the dispatcher takes a dead client for lost";
    case Step::kClientComesBack:
      return fmt::format("another process reads in client {}'s place", action.a);
    case Step::kDuties:
      return "the dispatcher's duties";
    case Step::kLateArrives:
      return fmt::format("late call {} arrives", action.a);
    case Step::kWorkerDies:
      return fmt::format("worker {} dies", action.a);
    case Step::kFalseAlarm:
      return fmt::format("the dispatcher takes worker {} for lost, which goes on", action.a);
    case Step::kLeaseAnswerLost:
      return fmt::format("worker {} leases for task {}; the answer is lost", action.a, task());
    case Step::kWorkerAnswerLost:
      return fmt::format("worker {} beats; the answer is lost", action.a);
    case Step::kClientAnswerLost:
      return fmt::format("the answer to client {} is lost", action.a);
    case Step::kStreamBreaks:
      return fmt::format("client {}'s stream of task {} breaks", action.a, action.b);
    case Step::kClientDies:
      return fmt::format("client {} dies", action.a);
    case Step::kClientFallsSilent:
      return fmt::format("client {} has had no answer for its time-out", action.a);
    case Step::kClientLeaves:
      return fmt::format("client {} leaves", action.a);
    case Step::kSave:
      return fmt::format("all clients save, with {:#b} delivered", before.delivered);
    case Step::kRestore:
      return fmt::format("all clients die and go on from {:#b}", before.saved.delivered);
    case Step::kLateLease:
      return fmt::format("worker {}'s call for a lease is under way for long: call {}", action.a,
                         before.late.size());
    case Step::kLateWorkerBeat:
      return fmt::format("worker {}'s beat is under way for long: call {}", action.a,
                         before.late.size());
    case Step::kLateClientBeat:
      return fmt::format("client {}'s beat is under way for long: call {}", action.a,
                         before.late.size());
  }
  return "";
}

}  // namespace headrace::model
