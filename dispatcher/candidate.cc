#include "dispatcher/candidate.h"

#include <algorithm>
#include <utility>

#include "common/backoff.h"
#include "common/logging/logging.h"
#include "common/status.h"
#include "common/sync/periodic_task.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

constexpr absl::Duration kResignTimeout = absl::Seconds(1);
constexpr absl::Duration kSnapshotPeriod = absl::Seconds(1);

}  // namespace

Candidate::Candidate(const DispatcherConfig& config, std::string address, Deps deps)
    : config_(config),
      address_(std::move(address)),
      deps_(deps),
      // Often enough that nobody waits for the look, seldom enough that etcd does not notice.
      poll_(std::clamp(config.journal.lease_ttl / 20, absl::Milliseconds(100),
                       absl::Milliseconds(500))),
      election_({.key = config.journal.prefix + "/leader",
                 .address = address_,
                 .ttl = config.journal.lease_ttl},
                *deps.etcd, *deps.clock),
      trouble_(Unavailable("it has just started")) {
  thread_ = Thread("hr-candidate", [this] { Run(); });
}

Candidate::~Candidate() { Stop(); }

void Candidate::Stop() {
  stop_.Cancel();
  {
    absl::MutexLock lock(&mutex_);
    if (term_ != nullptr) term_->leadership->Lose("");
  }
  thread_.Join();
}

std::string Candidate::Role() const {
  absl::MutexLock lock(&mutex_);
  if (leads_) return "leader";
  if (!leader_.empty()) return "follower; the leader is at " + leader_;
  if (!trouble_.ok()) return "follower; no leader is known: " + OneLine(trouble_);
  return "follower; a leader is being elected";
}

absl::StatusOr<std::string> Candidate::Ready() const {
  {
    absl::MutexLock lock(&mutex_);
    if (!leads_ && leader_.empty()) {
      return trouble_.ok() ? Unavailable("a leader is being elected") : trouble_;
    }
  }
  return Role();
}

absl::StatusOr<std::string> Candidate::Leads() const {
  {
    absl::MutexLock lock(&mutex_);
    if (leads_) return std::string("leader");
  }
  return Unavailable("{}", Role());
}

void Candidate::SetRole(bool leads, std::string leader, absl::Status trouble) {
  deps_.gate->SetLeader(leader);
  if (deps_.metrics != nullptr) deps_.metrics->SetLeads(leads);
  absl::MutexLock lock(&mutex_);
  if (leader != leader_ && !leader.empty()) LogInfo("follower: the leader is at {}", leader);
  leads_ = leads;
  leader_ = std::move(leader);
  trouble_ = std::move(trouble);
}

void Candidate::Run() {
  LogLimiter limiter(absl::Seconds(10));
  while (!stop_.Cancelled()) {
    std::erase_if(retired_,
                  [](const std::shared_ptr<Term>& term) { return term.use_count() == 1; });
    auto leadership = election_.Try();
    if (!leadership.ok()) {
      LogLimited(limiter, LogLevel::kWarning, "waiting for etcd: {}", OneLine(leadership.status()));
      SetRole(false, "", leadership.status());
    } else if (*leadership != nullptr) {
      Lead(MakeTerm(*std::move(leadership)));
      continue;
    } else {
      const std::string leader = election_.leader();
      // Our own key, left over: not for long.
      SetRole(false, leader == address_ ? "" : leader, absl::OkStatus());
    }
    stop_.token().Wait(poll_);
  }
}

std::shared_ptr<Candidate::Term> Candidate::MakeTerm(std::unique_ptr<Leadership> leadership) {
  auto term = std::make_shared<Term>();
  term->leadership = std::move(leadership);
  EtcdJournal::Options options;
  options.prefix = config_.journal.prefix;
  options.snapshot_after = config_.journal.snapshot_after;
  options.compact_history = config_.journal.compact_history;
  term->journal = std::make_unique<EtcdJournal>(options, *term->leadership, *deps_.etcd,
                                                *deps_.journal_metrics);
  DispatcherService::Deps service;
  service.journal = term->journal.get();
  service.resolver = deps_.resolver;
  service.clock = deps_.clock;
  service.metrics = deps_.metrics;
  service.new_cluster = deps_.new_cluster;
  term->service = std::make_unique<DispatcherService>(config_, service);
  return term;
}

void Candidate::Lead(std::shared_ptr<Term> term) {
  SetRole(false, "", Unavailable("this dispatcher is taking over"));
  {
    absl::MutexLock lock(&mutex_);
    term_ = term;
  }
  LogInfo("taking over at {}", address_);
  absl::Status failure = Annotate(term->service->Recover(), "cannot take over");
  if (failure.ok()) failure = Serve(*term);
  if (!failure.ok() && !stop_.Cancelled()) LogError("{}", OneLine(failure));
  {
    absl::MutexLock lock(&mutex_);
    term_ = nullptr;
  }
  term->leadership->Resign(kResignTimeout);
  retired_.push_back(std::move(term));
  if (failure.ok() || stop_.Cancelled()) return;
  SetRole(false, "", failure);
  // Another may be able to: it needs a moment to notice.
  stop_.token().Wait(10 * poll_);
}

absl::Status Candidate::Serve(Term& term) {
  {
    absl::MutexLock lock(&mutex_);
    deps_.gate->Open({term_, term_->service.get()}, {term_, term_->service.get()});
  }
  SetRole(true, "", absl::OkStatus());
  LogInfo("leader at {}", address_);
  {
    PeriodicTask snapshots("hr-disp-snap", kSnapshotPeriod, [&term] {
      if (term.leadership->Holds()) term.service->CompactIfWorthwhile();
    });
    // Where etcd refused a write (it is full) the service has ended, though the term has not.
    while (term.leadership->Holds() && term.service->health().ok() &&
           !stop_.token().Wait(config_.background_period)) {
      term.service->RunDuties();
    }
    deps_.gate->Close();
    SetRole(false, "", absl::OkStatus());
    term.leadership->Lose("");  // a snapshot that is being made ends
  }
  if (deps_.metrics != nullptr) deps_.metrics->Update(dispatch::State());
  LogInfo("no longer the leader");
  const absl::Status health = term.service->health();
  return LeaderNamedBy(health).has_value() ? absl::OkStatus() : health;
}

}  // namespace headrace
