#include "dispatcher/etcd/election.h"

#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "dispatcher/etcd/etcd_requests.h"

namespace headrace {

Election::Election(Options options, EtcdClient& etcd, const Clock& clock)
    : options_(std::move(options)), etcd_(etcd), clock_(clock) {}

std::string Election::leader() const {
  absl::MutexLock lock(&mutex_);
  return leader_;
}

void Election::SetLeader(std::string leader) {
  absl::MutexLock lock(&mutex_);
  leader_ = std::move(leader);
}

void Election::Revoke(int64_t lease) {
  etcd::LeaseRevokeRequest request;
  request.set_id(lease);
  (void)etcd_.Revoke(request, options_.call_timeout);  // else it runs out by itself
}

absl::StatusOr<std::unique_ptr<Leadership>> Election::Try() {
  etcd::RangeRequest request;
  request.set_key(options_.key);
  auto found = etcd_.Range(request, options_.call_timeout);
  if (!found.ok()) {
    SetLeader("");
    return found.status();
  }
  if (found->kvs_size() == 0) return Campaign();
  const etcd::KeyValue& leader = found->kvs(0);
  if (last_lease_ != 0 && leader.lease() == last_lease_) {
    // Our own key, of a term that we gave up or a try whose answer was lost: it must not keep the
    // others waiting.
    Revoke(last_lease_);
    SetLeader("");
    return nullptr;
  }
  SetLeader(leader.value());
  return nullptr;
}

absl::StatusOr<std::unique_ptr<Leadership>> Election::Campaign() {
  SetLeader("");
  etcd::LeaseGrantRequest grant;
  grant.set_ttl(absl::ToInt64Seconds(absl::Ceil(options_.ttl, absl::Seconds(1))));
  const absl::Duration granted_at = clock_.Steady();
  HR_ASSIGN_OR_RETURN(const etcd::LeaseGrantResponse lease,
                      etcd_.Grant(grant, options_.call_timeout));
  last_lease_ = lease.id();
  etcd::TxnRequest txn;
  *txn.add_compare() = IsAbsent(options_.key);
  *txn.add_success() = Put(options_.key, options_.address, lease.id());
  *txn.add_failure() = Get(options_.key);
  HR_ASSIGN_OR_RETURN(const etcd::TxnResponse won, etcd_.Txn(txn, options_.call_timeout));
  if (!won.succeeded()) {
    if (const etcd::KeyValue* other = KeyValueOf(won, 0)) SetLeader(other->value());
    Revoke(lease.id());
    return nullptr;
  }
  SetLeader(options_.address);
  return std::make_unique<Leadership>(Leadership::Term{.key = options_.key,
                                                       .created = won.header().revision(),
                                                       .lease = lease.id(),
                                                       .ttl = absl::Seconds(lease.ttl()),
                                                       .granted_at = granted_at},
                                      etcd_, clock_);
}

}  // namespace headrace
