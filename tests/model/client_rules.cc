// What clients do: hand records over, beat, confirm fences, fall silent, die, leave, come back.
#include <algorithm>

#include "tests/model/rules.h"

namespace headrace::model {
namespace {

bool Has(Tasks tasks, uint8_t task) { return (tasks >> task & 1) != 0; }

ClientNow Absent(Phase phase) {
  ClientNow client;
  client.phase = phase;
  return client;
}

}  // namespace

void Rules::EnabledOfClient(const Node& node, uint8_t c, std::vector<Action>& out) const {
  const ClientNow& client = node.clients[c];
  if (client.phase == Phase::kDone) return;
  if (client.phase == Phase::kDead || client.phase == Phase::kLeft) {
    out.push_back({Step::kClientComesBack, c});
    return;
  }
  if (client.phase == Phase::kUnknown) {
    out.push_back({Step::kClientReopens, c});
  } else {
    Tasks seen = 0;
    for (const Frame& frame : client.coming) {
      if (Has(seen, frame.task)) continue;
      seen |= Tasks{1} << frame.task;
      if (!client.silent || bound_.mutation == Mutation::kSilentClientsHandOver) {
        out.push_back({Step::kHandOver, c, frame.task});
      }
      if (node.left.stream_breaks != 0 && !Has(client.cut, frame.task)) {
        out.push_back({Step::kStreamBreaks, c, frame.task});
      }
    }
    if (client.answer.there) {
      out.push_back({Step::kClientHears, c});
      if (node.left.lost_answers != 0) out.push_back({Step::kClientAnswerLost, c});
    } else {
      out.push_back({Step::kClientBeat, c});
      if (node.left.late_calls != 0) out.push_back({Step::kLateClientBeat, c});
    }
    if (node.left.client_silences != 0 && !client.silent) {
      out.push_back({Step::kClientFallsSilent, c});
    }
    if (node.left.client_leaves != 0) out.push_back({Step::kClientLeaves, c});
  }
  if (client.silent && bound_.on_client_loss != v1::ON_CLIENT_LOSS_WAIT) {
    out.push_back({Step::kClientLost, c});
  }
  if (node.left.client_deaths != 0) out.push_back({Step::kClientDies, c});
}

void Rules::ClientStep(Node& node, Action action) const {
  ClientNow& client = node.clients[action.a];
  switch (action.step) {
    case Step::kClientBeat:
      return ClientBeat(node, client);
    case Step::kClientHears:
      return Hear(node, client);
    case Step::kClientAnswerLost:
      --node.left.lost_answers;
      client.answer = {};
      return;
    case Step::kLateClientBeat:
      --node.left.late_calls;
      node.late.push_back(
          {std::make_shared<const v1::ClientBeatRequest>(BeatOf(client)), nullptr, nullptr});
      return;
    case Step::kHandOver:
      return HandOverFirst(node, client, action.b);
    case Step::kStreamBreaks:
      --node.left.stream_breaks;
      client.cut |= Tasks{1} << action.b;
      EraseIf(client.coming, [&](const Frame& f) { return f.task == action.b; });
      return;
    case Step::kClientReopens:
      (void)calls_.Enter(node, client);
      return;
    case Step::kClientFallsSilent:
      --node.left.client_silences;
      client.silent = true;
      return;
    case Step::kClientLost:
      Lose(node, client.owed);
      client.answer.stale = true;
      return calls_.ExpireClient(node, client.id);
    case Step::kClientLeaves:
      --node.left.client_leaves;
      return Leave(node, client);
    case Step::kClientDies:
      --node.left.client_deaths;
      node.ghosts.push_back({client.id, client.owed});
      client = Absent(Phase::kDead);
      return;
    default:  // comes back
      client = {};
      client.uid = ++node.uids;
      (void)calls_.Enter(node, client);
      return;
  }
}

v1::ClientBeatRequest Rules::BeatOf(const ClientNow& client) const {
  v1::ClientBeatRequest request;
  request.set_client(client.id);
  request.set_job(1);
  request.set_incarnation(client.incarnation);
  for (uint32_t task = 1; task < kMostTasks; ++task) {
    const bool left_out =
        bound_.mutation == Mutation::kConfirmedWithoutRuns && Has(client.to_confirm, task);
    if (client.owed[task] != 0 && !left_out) {
      v1::TaskRuns& runs = *request.add_delivered();
      runs.set_task(task);
      AddRuns(bound_, client.owed[task], runs.mutable_runs());
    }
    if (Has(client.to_confirm, task)) request.add_confirmed_fences(task);
    if (Has(client.cut & ~client.fenced, task) &&
        bound_.mutation != Mutation::kBrokenStreamsHidden) {
      request.add_broken_tasks(task);
    }
  }
  return request;
}

void Rules::ClientBeat(Node& node, ClientNow& client) const {
  const v1::ClientBeatReply reply = calls_.ClientBeat(node, BeatOf(client));
  Answer& answer = client.answer;
  answer = {};
  answer.there = true;
  answer.unknown = reply.unknown_client();
  answer.finished = reply.epoch_finished();
  for (const uint64_t task : reply.fences()) answer.fences |= Tasks{1} << task;
  for (const v1::TaskAddress& task : reply.tasks()) answer.known |= Tasks{1} << task.task();
  answer.carried = client.owed;
}

void Rules::Hear(Node& node, ClientNow& client) const {
  const Answer answer = client.answer;
  client.answer = {};
  if (answer.unknown) {
    client.phase = Phase::kUnknown;
    client.coming.clear();
    return;
  }
  if (!answer.stale) client.silent = false;
  for (size_t task = 0; task < kMostTasks; ++task) client.owed[task] &= ~answer.carried[task];
  client.to_confirm = answer.fences;
  client.fenced |= answer.fences;
  client.known |= answer.known;
  DropFenced(client);
  if (!answer.finished) return;
  // All of it was delivered, so nothing can be held; if something is, handing it over shows the
  // mistake.
  for (const Frame& frame : client.coming) HandOver(node, client, frame);
  client.coming.clear();
  client.phase = Phase::kDone;
}

void Rules::DropFenced(ClientNow& client) const {
  if (bound_.mutation == Mutation::kFencedFramesKept) return;
  EraseIf(client.coming, [&](const Frame& f) { return Has(client.fenced, f.task); });
}

void Rules::HandOverFirst(Node& node, ClientNow& client, uint8_t task) const {
  const auto it = std::ranges::find(client.coming, task, &Frame::task);
  const Frame frame = *it;
  client.coming.erase(it);
  HandOver(node, client, frame);
}

void Rules::HandOver(Node& node, ClientNow& client, const Frame& frame) const {
  const Elements again = frame.elements & node.delivered & ~node.may_double;
  if (again != 0 && bound_.visitation != v1::VISITATION_AT_LEAST_ONCE && node.fault.empty()) {
    node.fault = "DOUBLED";
  }
  node.delivered |= frame.elements;
  client.owed[frame.task] |= frame.elements;
  client.handed |= frame.elements;
}

// It is taken for lost: what it handed over and did not report may come again, once more.
void Rules::Lose(Node& node, const ByTask& owed) const {
  if (bound_.on_client_loss == v1::ON_CLIENT_LOSS_WAIT) return;
  const Elements done = DoneOf(bound_, node);
  for (const Elements elements : owed) node.may_double |= elements & ~done;
}

void Rules::Leave(Node& node, ClientNow& client) const {
  const v1::ClientBeatRequest last = BeatOf(client);
  v1::CloseClientRequest request;
  request.set_client(client.id);
  request.set_job(1);
  request.set_incarnation(client.incarnation);
  *request.mutable_delivered() = last.delivered();
  calls_.CloseClient(node, request);
  client = Absent(Phase::kLeft);
}

void Rules::Arrive(Node& node, const LateCall& call) const {
  if (call.client_beat != nullptr) (void)calls_.ClientBeat(node, *call.client_beat);
  if (call.worker_beat != nullptr) (void)calls_.WorkerBeat(node, *call.worker_beat);
  if (call.lease != nullptr) (void)calls_.Lease(node, *call.lease);
}

}  // namespace headrace::model
