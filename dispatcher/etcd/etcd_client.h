// etcd, as far as the journal and the election need it: one blocking method per RPC of
// proto/etcd/v3.proto. Implementations: grpc_etcd_client.h (the network), fake_etcd.h (in memory,
// with faults).
//
// Every method is thread-safe and returns within `timeout`. After an error that may pass (MayPass)
// nothing is known: the call may or may not have happened, and may yet happen, later than other
// calls made meanwhile. So whoever makes it again guards it (etcd_requests.h), so that a late first
// try does nothing.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "etcd/v3.pb.h"

namespace headrace {

namespace etcd = ::etcdserverpb;

class EtcdClient {
 public:
  virtual ~EtcdClient() = default;
  virtual absl::StatusOr<etcd::RangeResponse> Range(const etcd::RangeRequest& request,
                                                    absl::Duration timeout) = 0;
  virtual absl::StatusOr<etcd::TxnResponse> Txn(const etcd::TxnRequest& request,
                                                absl::Duration timeout) = 0;
  virtual absl::StatusOr<etcd::CompactionResponse> Compact(const etcd::CompactionRequest& request,
                                                           absl::Duration timeout) = 0;
  virtual absl::StatusOr<etcd::LeaseGrantResponse> Grant(const etcd::LeaseGrantRequest& request,
                                                         absl::Duration timeout) = 0;
  virtual absl::StatusOr<etcd::LeaseRevokeResponse> Revoke(const etcd::LeaseRevokeRequest& request,
                                                           absl::Duration timeout) = 0;
  // TTL 0 in the answer: there is no such lease any more.
  virtual absl::StatusOr<etcd::LeaseKeepAliveResponse> KeepAlive(
      const etcd::LeaseKeepAliveRequest& request, absl::Duration timeout) = 0;

  // Of an answer: false when the same call would get it again (etcd is full, a request too large,
  // no permission).
  static bool MayPass(const absl::Status& status);
};

}  // namespace headrace
