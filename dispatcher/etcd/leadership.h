// One term of leading: a key in etcd that lives as long as our lease on it. Made by Election
// (election.h), shared by the journal of the term, which guards each of its writes by it.
//
// Two clocks keep two leaders apart. etcd's: nothing is written under a guard after the key is
// gone, whatever we believe (fencing). Ours, the steady clock: we stop to believe a margin before
// the lease can expire, counted from when the last answered renewal was *sent*; so no answer leaves
// that another leader could contradict. A process that was stopped (SIGSTOP) finds its time over as
// soon as it looks.
//
// Thread-safe. Its thread renews the lease; nothing is left running after the destructor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/sync/cancellation.h"
#include "common/sync/periodic_task.h"
#include "dispatcher/etcd/etcd_client.h"

namespace headrace {

class Leadership {
 public:
  struct Term {
    std::string key;
    int64_t created = 0;  // the key's create revision: no other term has it
    int64_t lease = 0;
    absl::Duration ttl;
    absl::Duration granted_at;  // steady: when the lease was asked for
  };
  // `etcd` and `clock` outlive it.
  Leadership(Term term, EtcdClient& etcd, const Clock& clock);
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // For a Txn: this term has not ended.
  etcd::Compare Guard() const;
  // True for the key-value of Guard's key in this term.
  bool IsOurs(const etcd::KeyValue* leader) const;

  // OK, or NotTheLeader (rpc/leader_redirect.h).
  absl::Status Check() const;
  bool Holds() const { return Check().ok(); }
  // How long it will hold if no renewal succeeds from now on. Not positive: it is over.
  absl::Duration Left() const;

  // It has come out that the term is over: `why` goes to the log, if it says anything.
  void Lose(std::string_view why);
  // Cancelled when the term is lost; not yet when its time is merely over.
  CancellationToken lost() const { return lost_.token(); }

  // Ends it, so that another can lead at once: the lease is revoked. Waits for `timeout` at most.
  void Resign(absl::Duration timeout);

  const std::string& key() const { return term_.key; }
  int64_t created() const { return term_.created; }
  int64_t lease() const { return term_.lease; }
  absl::Duration ttl() const { return term_.ttl; }

 private:
  void Renew();

  const Term term_;
  EtcdClient& etcd_;
  const Clock& clock_;
  CancellationSource lost_;
  mutable absl::Mutex mutex_;
  absl::Duration holds_until_ ABSL_GUARDED_BY(mutex_);
  // Last: its thread uses everything above.
  std::unique_ptr<PeriodicTask> renewals_;
};

}  // namespace headrace
