#include "tests/model/calls.h"

#include "common/status.h"
#include "dispatcher/fake_pipeline_resolver.h"
#include "element/pipeline_sketch.h"

namespace headrace::model {
namespace {

constexpr absl::Duration kNow = absl::Hours(100);

}  // namespace

Calls::Calls(const Bound& bound) : bound_(bound) {
  // Nothing of this model is about workers that fail too often.
  config_.max_strikes = 1000;
  config_.max_task_errors = 1000;
}

template <typename Op>
auto Calls::Run(Node& node, Op&& op, uint64_t silent_worker, uint64_t silent_client) const {
  dispatch::Changes changes(node.dispatcher->Get(), 0);
  dispatch::Liveness liveness;
  if (silent_worker != 0) {
    liveness.Saw(WorkerId(silent_worker), kNow - config_.worker_timeout - absl::Seconds(1));
  }
  if (silent_client != 0) {
    liveness.Saw(ClientId(silent_client), kNow - config_.client_timeout - absl::Seconds(1));
  }
  dispatch::Telemetry telemetry;
  dispatch::Restores restores;
  dispatch::Stragglers stragglers;  // nobody is slow: cuts are for tests/sim
  dispatch::Holdings holdings;
  dispatch::OpContext context{changes,  liveness, telemetry, stragglers,
                              restores, holdings, config_,   kNow};
  auto answer = op(context);
  if (!changes.status().ok() && node.fault.empty()) {
    node.fault = "REFUSED " + OneLine(changes.status());
  }
  if (std::vector<v1::Event> events = changes.Take(); !events.empty()) {
    node.dispatcher = std::make_shared<const Replayed>(*node.dispatcher, std::move(events),
                                                       node.dispatcher->Release());
    NameTasks(node);
  }
  return answer;
}

void Calls::NameTasks(Node& node) const {
  const dispatch::Job* job = (*node.dispatcher)->jobs().Find(JobId(1));
  if (job == nullptr || !job->epoch.has_value()) return;
  for (const auto& [id, task] : job->epoch->tasks()) {
    if (id.value >= kMostTasks) {
      node.fault = "BOUND too many tasks for this model";
      return;
    }
    if (node.machine_of[id.value] != 0) continue;
    for (size_t w = 0; w < node.workers.size(); ++w) {
      if (node.workers[w].id == task.worker.value) {
        node.machine_of[id.value] = static_cast<uint8_t>(w + 1);
      }
    }
  }
}

Node Calls::Start() const {
  Node node;
  node.dispatcher = std::make_shared<const Replayed>();
  node.left = {
      static_cast<uint8_t>(bound_.worker_deaths),   static_cast<uint8_t>(bound_.false_alarms),
      static_cast<uint8_t>(bound_.stream_breaks),   static_cast<uint8_t>(bound_.lost_answers),
      static_cast<uint8_t>(bound_.late_calls),      static_cast<uint8_t>(bound_.client_deaths),
      static_cast<uint8_t>(bound_.client_silences), static_cast<uint8_t>(bound_.client_leaves),
      static_cast<uint8_t>(bound_.restores)};
  node.workers.resize(bound_.workers);
  node.clients.resize(bound_.clients);
  for (size_t w = 0; w < node.workers.size(); ++w) {
    node.workers[w].alive = true;
    node.workers[w].uid = ++node.uids;
    Register(node, w);
  }
  for (ClientNow& client : node.clients) {
    client.uid = ++node.uids;
    (void)Enter(node, client);
  }
  return node;
}

v1::LeaseSplitsReply Calls::Lease(Node& node, const v1::LeaseSplitsRequest& request) const {
  const auto reply = Run(
      node, [&](dispatch::OpContext& context) { return dispatch::LeaseSplits(context, request); });
  return reply.value_or(v1::LeaseSplitsReply());
}

v1::WorkerBeatReply Calls::WorkerBeat(Node& node, const v1::WorkerBeatRequest& request) const {
  const auto reply = Run(
      node, [&](dispatch::OpContext& context) { return dispatch::WorkerBeat(context, request); });
  return reply.value_or(v1::WorkerBeatReply());
}

v1::ClientBeatReply Calls::ClientBeat(Node& node, const v1::ClientBeatRequest& request) const {
  const auto reply = Run(
      node, [&](dispatch::OpContext& context) { return dispatch::ClientBeat(context, request); });
  return reply.value_or(v1::ClientBeatReply());
}

void Calls::CloseClient(Node& node, const v1::CloseClientRequest& request) const {
  (void)Run(node,
            [&](dispatch::OpContext& context) { return dispatch::CloseClient(context, request); });
}

void Calls::Register(Node& node, size_t worker) const {
  v1::RegisterWorkerRequest request;
  request.set_worker_uid(node.workers[worker].uid);
  request.set_address(fmt::format("w{}:1", worker));
  // Known before the call, so that its tasks can be named.
  node.workers[worker].id = (*node.dispatcher)->next_worker().value;
  const auto reply = Run(node, [&](dispatch::OpContext& context) {
    return dispatch::RegisterWorker(context, request);
  });
  if (reply.ok()) node.workers[worker].id = reply->worker();
}

v1::OpenJobReply Calls::Open(dispatch::OpContext& context, uint64_t uid) const {
  v1::OpenJobRequest open;
  open.set_job_name("job");
  open.mutable_options()->set_sharding(v1::SHARDING_DYNAMIC);
  open.mutable_options()->set_visitation(bound_.mutation == Mutation::kNoConfirmation
                                             ? v1::VISITATION_AT_LEAST_ONCE
                                             : bound_.visitation);
  open.mutable_options()->set_on_client_loss(bound_.on_client_loss);
  open.set_client_uid(uid);
  FakePipelineResolver resolver(FakePipelineResolver::Shape{.splits = bound_.splits});
  ResolvedPipeline resolved = *resolver.Resolve(open.pipeline(), 0);
  dispatch::SplitPieces pieces = dispatch::PiecesOf(resolved.splits);
  const auto reply =
      dispatch::OpenResolvedJob(context, open, std::move(resolved), std::move(pieces));
  return reply.value_or(v1::OpenJobReply());
}

bool Calls::Begin(dispatch::OpContext& context, ClientNow& client) const {
  v1::StartEpochRequest start;
  start.set_client(client.id);
  start.set_job(1);
  start.set_incarnation(client.incarnation);
  const auto started = dispatch::StartEpoch(context, start);
  client.silent = false;
  client.answer = {};
  client.fenced = client.to_confirm = client.cut = client.known = 0;
  client.coming.clear();
  client.phase = started.ok() ? Phase::kReading : Phase::kDone;
  if (!started.ok()) return false;
  for (const v1::TaskAddress& task : started->tasks()) client.known |= Tasks{1} << task.task();
  for (const uint64_t task : started->fenced_tasks()) client.fenced |= Tasks{1} << task;
  return true;
}

bool Calls::Enter(Node& node, ClientNow& client) const {
  return Run(node, [&](dispatch::OpContext& context) {
    const v1::OpenJobReply opened = Open(context, client.uid);
    client.id = opened.client();
    client.incarnation = opened.incarnation();
    return Begin(context, client);
  });
}

void Calls::Restore(Node& node) const {
  for (ClientNow& client : node.clients) {
    client = {};
    client.uid = ++node.uids;
  }
  (void)Run(node, [&](dispatch::OpContext& context) {
    std::vector<std::shared_ptr<const dispatch::SavedState>> states;
    for (size_t c = 0; c < node.clients.size(); ++c) {
      const v1::OpenJobReply opened = Open(context, node.clients[c].uid);
      node.clients[c].id = opened.client();
      node.clients[c].incarnation = opened.incarnation();
      node.clients[c].handed = node.saved.handed[c];
      states.push_back(StateOf(opened, c, node.saved.handed[c]));
    }
    // All hand theirs in, and ask once more; the first to do so begins the new life.
    for (int round = 0; round < 3; ++round) {
      for (size_t c = 0; c < node.clients.size(); ++c) {
        v1::RestoreJobRequest request;
        request.set_client(node.clients[c].id);
        request.set_job(1);
        request.set_reader(static_cast<uint32_t>(c));
        request.set_readers(static_cast<uint32_t>(node.clients.size()));
        request.set_incarnation(node.clients[c].incarnation);
        const auto reply = dispatch::RestoreJob(
            context, request,
            round == 0 ? states : std::vector<std::shared_ptr<const dispatch::SavedState>>());
        if (!reply.ok() && node.fault.empty()) node.fault = "RESTORE " + OneLine(reply.status());
        if (reply.ok() && reply->ready()) node.clients[c].incarnation = reply->incarnation();
      }
    }
    for (ClientNow& client : node.clients) (void)Begin(context, client);
    return true;
  });
}

std::shared_ptr<const dispatch::SavedState> Calls::StateOf(const v1::OpenJobReply& opened,
                                                           size_t reader, Elements handed) const {
  auto saved = std::make_shared<dispatch::SavedState>();
  for (uint32_t e = 0; e < bound_.elements(); ++e) {
    if ((handed >> e & 1) != 0) saved->delivered.Add({e / bound_.records, e % bound_.records, 1});
  }
  v1::LoaderState& state = saved->state;
  state.set_version(1);
  *state.mutable_pipeline() = SketchOf(v1::PipelineDef());
  state.set_fingerprint(opened.fingerprint());
  state.set_dataset_version(opened.dataset_version());
  state.set_reader(static_cast<uint32_t>(reader));
  state.set_readers(bound_.clients);
  *state.mutable_delivered() = saved->delivered.Encode();
  return saved;
}

void Calls::ExpireWorker(Node& node, uint64_t id) const {
  (void)Run(
      node,
      [&](dispatch::OpContext& context) {
        dispatch::ExpireWorkers(context);
        return true;
      },
      id);
}

void Calls::ExpireClient(Node& node, uint64_t id) const {
  (void)Run(
      node,
      [&](dispatch::OpContext& context) {
        dispatch::ExpireClients(context);
        return true;
      },
      0, id);
}

void Calls::Duties(Node& node) const {
  (void)Run(node, [&](dispatch::OpContext& context) {
    dispatch::RunDuties(context);
    return true;
  });
}

v1::Run RunOf(const Bound& bound, uint32_t element) {
  v1::Run run;
  run.set_split(element / bound.records);
  run.set_first(element % bound.records);
  run.set_count(1);
  run.set_parts(1);
  return run;
}

Elements DoneOf(const Bound& bound, const Node& node) {
  const Elements all = (Elements{1} << bound.elements()) - 1;
  const dispatch::Job* job = (*node.dispatcher)->jobs().Find(JobId(1));
  if (job == nullptr || !job->epoch.has_value()) return all;
  const dispatch::Lane& lane = job->epoch->lanes().front();
  Elements done = 0;
  const std::vector<dispatch::Piece> pending = lane.Next(bound.splits);
  for (uint32_t split = 0; split < bound.splits; ++split) {
    const dispatch::SplitPass item{split, 0};
    if (const dispatch::SplitLedger* ledger = lane.Find(item)) {
      google::protobuf::RepeatedPtrField<v1::Run> skip;
      ledger->AppendSkip(split, 0, &skip);
      done |= ElementsOf(bound, skip);
    } else if (std::ranges::find(pending, dispatch::Piece{item}) == pending.end()) {
      done |= ((Elements{1} << bound.records) - 1) << (split * bound.records);
    }
  }
  return done;
}

}  // namespace headrace::model
