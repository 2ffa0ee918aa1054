#include "tests/model/key.h"

#include <xxhash.h>

#include <algorithm>
#include <span>

#include "tests/model/calls.h"

namespace headrace::model {
namespace {

bool Has(Tasks tasks, uint64_t task) { return (tasks >> task & 1) != 0; }

Tasks MaskOf(const google::protobuf::RepeatedField<uint64_t>& tasks) {
  Tasks mask = 0;
  for (const uint64_t task : tasks) mask |= Tasks{1} << task;
  return mask;
}

Elements All(const ByTask& by_task) {
  Elements all = 0;
  for (const Elements elements : by_task) all |= elements;
  return all;
}

class KeyWriter {
 public:
  KeyWriter(const Bound& bound, const Node& node);

  // Machine w (client c) is written in the place that the order gives it.
  Key Write(std::span<const uint8_t> workers, std::span<const uint8_t> clients);

 private:
  Tasks Used() const;
  bool Active(uint64_t task) const;
  // Of late calls, what may still have an effect.
  bool Matters(const LateCall& call) const;
  Tasks TasksOf(const LateCall& call) const;

  template <typename T>
  void Put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void PutTasks(Tasks tasks);
  uint8_t NameOf(uint64_t task) const;
  uint8_t PlaceOf(ClientId client) const;
  void PutDispatcher();
  void PutTask(const dispatch::Task& task);
  void PutFences();
  void PutWorker(const WorkerNow& worker);
  void PutClient(const ClientNow& client);
  void PutByTask(const ByTask& by_task);
  void PutLate();
  std::string LateText(const LateCall& call);

  const Bound& bound_;
  const Node& node_;
  const dispatch::Epoch* epoch_ = nullptr;
  Tasks used_ = 0;
  Elements done_ = 0;
  std::span<const uint8_t> clients_;
  absl::InlinedVector<uint8_t, kMostTasks> order_;  // used tasks, in the order of their names
  std::string out_;
};

KeyWriter::KeyWriter(const Bound& bound, const Node& node) : bound_(bound), node_(node) {
  const dispatch::Job* job = (*node.dispatcher)->jobs().Find(JobId(1));
  if (job->epoch.has_value()) epoch_ = &*job->epoch;
  used_ = Used();
  done_ = DoneOf(bound, node);
}

bool KeyWriter::Active(uint64_t task) const {
  return epoch_ != nullptr && epoch_->FindActiveTask(TaskId(task)) != nullptr;
}

bool KeyWriter::Matters(const LateCall& call) const {
  if (epoch_ == nullptr) return false;
  if (call.client_beat != nullptr) {
    return (*node_.dispatcher)->clients().Find(ClientId(call.client_beat->client())) != nullptr;
  }
  return TasksOf(call) != 0;
}

Tasks KeyWriter::TasksOf(const LateCall& call) const {
  Tasks tasks = 0;
  if (call.client_beat != nullptr) {
    tasks = MaskOf(call.client_beat->broken_tasks()) | MaskOf(call.client_beat->confirmed_fences());
  } else if (call.worker_beat != nullptr) {
    const dispatch::Worker* worker =
        (*node_.dispatcher)->workers().Find(WorkerId(call.worker_beat->worker()));
    if (worker == nullptr || !worker->live()) return 0;
    for (const v1::SplitReport& report : call.worker_beat->splits()) {
      if (Active(report.task())) tasks |= Tasks{1} << report.task();
    }
  } else if (Active(call.lease->task()) &&
             call.lease->request_number() >
                 epoch_->FindTask(TaskId(call.lease->task()))->last_request) {
    tasks = Tasks{1} << call.lease->task();
  }
  return tasks;
}

Tasks KeyWriter::Used() const {
  Tasks used = 0;
  if (epoch_ != nullptr) {
    for (const auto& [id, task] : epoch_->tasks()) {
      if (!task.fenced) used |= Tasks{1} << id.value;
    }
    for (const dispatch::FenceRound& round : epoch_->fences()) {
      for (const TaskId task : round.tasks) used |= Tasks{1} << task.value;
    }
  }
  for (const WorkerNow& worker : node_.workers) {
    for (const RunningTask& task : worker.tasks) used |= Tasks{1} << task.task;
  }
  for (const ClientNow& client : node_.clients) {
    for (const Frame& frame : client.coming) used |= Tasks{1} << frame.task;
  }
  for (const LateCall& call : node_.late) {
    if (Matters(call)) used |= TasksOf(call);
  }
  return used;
}

Key KeyWriter::Write(std::span<const uint8_t> workers, std::span<const uint8_t> clients) {
  out_.clear();
  order_.clear();
  clients_ = clients;
  for (const uint8_t w : workers) {
    for (uint8_t task = 1; task < kMostTasks; ++task) {
      if (Has(used_, task) && node_.machine_of[task] == w + 1) order_.push_back(task);
    }
    Put<uint8_t>(static_cast<uint8_t>(order_.size()));
  }
  Put(node_.left);
  Put(node_.delivered);
  Put(node_.may_double);
  Put(node_.saved.there);
  Put(node_.saved.delivered);
  Put(node_.saved.may_double);
  if (node_.saved.there) {
    for (const uint8_t c : clients) Put(node_.saved.handed[c]);
  }
  PutDispatcher();
  for (const uint8_t w : workers) PutWorker(node_.workers[w]);
  for (const uint8_t c : clients) PutClient(node_.clients[c]);
  for (const Ghost& ghost : node_.ghosts) Put(All(ghost.owed));
  Put<uint8_t>(0xEE);
  PutLate();
  const XXH128_hash_t hash = XXH3_128bits(out_.data(), out_.size());
  return {hash.high64, hash.low64};
}

void KeyWriter::PutTasks(Tasks tasks) {
  Tasks renamed = 0;
  for (size_t i = 0; i < order_.size(); ++i) {
    if (Has(tasks, order_[i])) renamed |= Tasks{1} << i;
  }
  Put(renamed);
}

uint8_t KeyWriter::NameOf(uint64_t task) const {
  return static_cast<uint8_t>(std::ranges::find(order_, task) - order_.begin());
}

uint8_t KeyWriter::PlaceOf(ClientId client) const {
  for (size_t place = 0; place < clients_.size(); ++place) {
    if (node_.clients[clients_[place]].id == client.value) return static_cast<uint8_t>(place);
  }
  for (size_t g = 0; g < node_.ghosts.size(); ++g) {
    if (node_.ghosts[g].id == client.value) return static_cast<uint8_t>(0x80 + g);
  }
  return 0xFF;
}

void KeyWriter::PutDispatcher() {
  Put(epoch_ != nullptr);
  if (epoch_ == nullptr) return;
  const dispatch::Lane& lane = epoch_->lanes().front();
  for (const dispatch::SplitPass& item : lane.Next(bound_.splits)) {
    Put(static_cast<uint8_t>(item.split));
  }
  Put<uint8_t>(0xFF);
  Put(done_);
  for (uint32_t split = 0; split < bound_.splits; ++split) {
    const dispatch::SplitPass item{split, 0};
    const dispatch::SplitLedger* ledger = lane.Find(item);
    const absl::Span<const LeaseNumber> at = epoch_->leases().At(0, item);
    const dispatch::Lease* lease = at.empty() ? nullptr : epoch_->leases().Find(at.front());
    Put<uint8_t>(ledger == nullptr ? 2 : ledger->total().has_value());
    Put<uint8_t>(lease == nullptr ? 0xFF : NameOf(lease->task.value));
    Put<uint8_t>(lease == nullptr ? 2 : lease->read_to_end);
  }
  for (const uint8_t id : order_) {
    // None: of the epoch before a restore.
    if (const dispatch::Task* task = epoch_->FindTask(TaskId(id))) PutTask(*task);
    Put<uint8_t>(0xFA);
  }
  PutFences();
  Tasks readers = 0;
  for (const ClientId reader : epoch_->readers()) {
    const uint8_t place = PlaceOf(reader);
    readers |= Tasks{1} << (place < 0x80 ? place : 16 + (place & 0x7F));
  }
  Put(readers);
}

void KeyWriter::PutTask(const dispatch::Task& task) {
  Put(task.fenced);
  if (task.fenced) return;
  Put(static_cast<uint8_t>(task.last_request));
  Put(task.exhausted);
  for (const LeaseNumber number : task.last_answer) {
    const dispatch::Lease* lease = epoch_->leases().Find(number);
    Put<uint8_t>(lease == nullptr ? 0xFE : static_cast<uint8_t>(lease->item.split));
  }
  Put<uint8_t>(0xFF);
}

void KeyWriter::PutFences() {
  for (const dispatch::FenceRound& round : epoch_->fences()) {
    Tasks tasks = 0;
    for (const TaskId task : round.tasks) tasks |= Tasks{1} << task.value;
    PutTasks(tasks);
    std::array<Tasks, 8> awaited{};
    for (const auto& [client, of] : round.awaited) {
      const uint8_t place = PlaceOf(client);
      for (const TaskId task : of) {
        awaited[place < 0x80 ? place : 4 + (place & 0x3)] |= Tasks{1} << task.value;
      }
    }
    for (const Tasks of : awaited) PutTasks(of);
    Put(round.give_up);
  }
  Put<uint8_t>(0xFD);
}

void KeyWriter::PutWorker(const WorkerNow& worker) {
  const dispatch::Worker* known = (*node_.dispatcher)->workers().Find(WorkerId(worker.id));
  Put<uint8_t>(
      static_cast<uint8_t>((worker.alive ? 1 : 0) | (known != nullptr && known->live() ? 2 : 0)));
  for (const uint8_t id : order_) {
    const auto task = std::ranges::find(worker.tasks, id, &RunningTask::task);
    if (task == worker.tasks.end()) continue;
    Put(NameOf(id));
    Put(task->request);
    Put(task->unanswered);
    Put(task->exhausted);
    Put(task->held);
    for (const Lent& lent : task->lent) {
      Put(lent.split);
      Put(lent.todo);
    }
    Put<uint8_t>(0xFC);
  }
  for (const Told& told : worker.told) {
    if (!Active(told.task)) continue;
    Put(NameOf(told.task));
    Put(told.split);
    Put(told.end);
    Put(told.settled);
  }
  Put<uint8_t>(0xFB);
}

void KeyWriter::PutByTask(const ByTask& by_task) {
  if (bound_.mutation == Mutation::kConfirmedWithoutRuns) {
    for (const uint8_t id : order_) Put(by_task[id]);
  }
  Put(All(by_task));
}

void KeyWriter::PutClient(const ClientNow& client) {
  Put(client.phase);
  Put(client.silent);
  Put((*node_.dispatcher)->clients().Find(ClientId(client.id)) != nullptr);
  PutTasks(client.fenced);
  PutTasks(client.to_confirm);
  PutTasks(client.cut);
  PutTasks(client.known);
  PutByTask(client.owed);
  if (node_.left.restores != 0) Put(client.handed);
  Put(static_cast<uint8_t>((client.answer.there ? 1 : 0) | (client.answer.stale ? 2 : 0) |
                           (client.answer.unknown ? 4 : 0) | (client.answer.finished ? 8 : 0)));
  if (client.answer.there) {
    PutTasks(client.answer.fences);
    PutTasks(client.answer.known);
    PutByTask(client.answer.carried);
  }
  for (const uint8_t id : order_) {
    for (const Frame& frame : client.coming) {
      if (frame.task == id) Put(frame.elements);
    }
    Put<Elements>(0);
  }
}

std::string KeyWriter::LateText(const LateCall& call) {
  const std::string before = std::exchange(out_, {});
  if (call.client_beat != nullptr) {
    Elements owed = 0;
    for (const v1::TaskRuns& runs : call.client_beat->delivered()) {
      owed |= ElementsOf(bound_, runs.runs());
    }
    Put<uint8_t>(1);
    Put(PlaceOf(ClientId(call.client_beat->client())));
    Put(owed);
    PutTasks(MaskOf(call.client_beat->broken_tasks()));
    PutTasks(MaskOf(call.client_beat->confirmed_fences()));
  } else if (call.worker_beat != nullptr) {
    Put<uint8_t>(2);
    for (const v1::SplitReport& report : call.worker_beat->splits()) {
      if (!Active(report.task())) continue;
      Put(NameOf(report.task()));
      Put(static_cast<uint8_t>(report.split()));
      Put(report.read_to_end());
      Put(ElementsOf(bound_, report.settled()));
    }
  } else {
    Put<uint8_t>(3);
    Put(NameOf(call.lease->task()));
    Put(static_cast<uint8_t>(call.lease->request_number()));
  }
  std::string text = std::exchange(out_, before);
  return text;
}

void KeyWriter::PutLate() {
  absl::InlinedVector<std::string, 2> texts;
  for (const LateCall& call : node_.late) {
    if (Matters(call)) texts.push_back(LateText(call));
  }
  std::ranges::sort(texts);
  for (const std::string& text : texts) {
    Put(static_cast<uint8_t>(text.size()));
    out_ += text;
  }
}

}  // namespace

Key KeyOf(const Bound& bound, const Node& node) {
  KeyWriter writer(bound, node);
  absl::InlinedVector<uint8_t, 4> workers(node.workers.size());
  absl::InlinedVector<uint8_t, 4> clients(node.clients.size());
  for (uint8_t i = 0; i < workers.size(); ++i) workers[i] = i;
  for (uint8_t i = 0; i < clients.size(); ++i) clients[i] = i;
  Key least{~uint64_t{0}, ~uint64_t{0}};
  do {
    do {
      least = std::min(least, writer.Write(workers, clients));
    } while (std::ranges::next_permutation(clients).found);
  } while (std::ranges::next_permutation(workers).found);
  return least;
}

}  // namespace headrace::model
