// Who of several dispatchers leads: the one whose key is there. A candidate looks at the key again
// and again; when it is gone, each that notices tries to create it under a lease of its own, and
// etcd lets one. Owned by the candidate (dispatcher/candidate.h), used by its thread; leader() by
// any.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "dispatcher/etcd/etcd_client.h"
#include "dispatcher/etcd/leadership.h"

namespace headrace {

class Election {
 public:
  struct Options {
    std::string key;
    std::string address;  // ours, which others are told when we lead
    absl::Duration ttl = absl::Seconds(5);
    absl::Duration call_timeout = absl::Seconds(1);
  };
  // `etcd` and `clock` outlive it.
  Election(Options options, EtcdClient& etcd, const Clock& clock);

  // One look, and a try where nobody leads. Null: another leads. An error (of etcd) changes nothing
  // that a later call does not put right.
  absl::StatusOr<std::unique_ptr<Leadership>> Try();

  // Who led at the last look; empty: nobody.
  std::string leader() const;

 private:
  absl::StatusOr<std::unique_ptr<Leadership>> Campaign();
  void Revoke(int64_t lease);
  void SetLeader(std::string leader);

  const Options options_;
  EtcdClient& etcd_;
  const Clock& clock_;
  // Of our last try: a key under it is ours, of a term that is over.
  int64_t last_lease_ = 0;
  mutable absl::Mutex mutex_;
  std::string leader_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
