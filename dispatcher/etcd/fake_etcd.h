// etcd in memory, for the part of its API that we use: revisions, guarded transactions, leases that
// end by a handed-in clock; and a network that loses, and delivers late, what its faults say. For
// tests; no binary links it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/status.h"
#include "dispatcher/etcd/etcd_client.h"

namespace headrace {

class FakeEtcd final : public EtcdClient {
 public:
  enum class Fault {
    kNone,
    kLoseRequest,  // etcd never sees it
    kLoseReply,    // etcd does it, the caller does not learn
    kLate,         // the caller gets no answer; etcd does it at DeliverLate()
    kFull,         // etcd refuses it for want of room
  };
  // Asked before each call with the method's name, under the mutex.
  using Faults = std::function<Fault(std::string_view method)>;

  explicit FakeEtcd(const Clock& clock) : clock_(clock) {}

  void SetFaults(Faults faults) {
    absl::MutexLock lock(&mutex_);
    faults_ = std::move(faults);
  }
  void SetDown(bool down) {
    SetFaults([down](std::string_view) { return down ? Fault::kLoseRequest : Fault::kNone; });
  }
  void DeliverLate() {
    absl::MutexLock lock(&mutex_);
    for (auto& deliver : std::exchange(late_, {})) deliver();
  }
  // Keys and values as they are now.
  std::map<std::string, std::string> Contents() {
    absl::MutexLock lock(&mutex_);
    ExpireLeases();
    std::map<std::string, std::string> contents;
    for (const auto& [key, kv] : kvs_) contents[key] = kv.value();
    return contents;
  }
  void Set(const std::string& key, const std::string& value) {
    absl::MutexLock lock(&mutex_);
    ++revision_;
    DoPut(key, value, 0);
  }
  void Erase(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    ++revision_;
    kvs_.erase(key);
  }
  size_t largest_txn() {
    absl::MutexLock lock(&mutex_);
    return largest_txn_;
  }
  int64_t compacted() {
    absl::MutexLock lock(&mutex_);
    return compacted_;
  }

  absl::StatusOr<etcd::RangeResponse> Range(const etcd::RangeRequest& request,
                                            absl::Duration) override {
    return Send<etcd::RangeResponse>("Range", [this, request] { return DoRange(request); });
  }
  absl::StatusOr<etcd::TxnResponse> Txn(const etcd::TxnRequest& request, absl::Duration) override {
    return Send<etcd::TxnResponse>("Txn", [this, request] { return DoTxn(request); });
  }
  absl::StatusOr<etcd::CompactionResponse> Compact(const etcd::CompactionRequest& request,
                                                   absl::Duration) override {
    return Send<etcd::CompactionResponse>("Compact", [this, request] {
      compacted_ = std::max(compacted_, request.revision());
      return etcd::CompactionResponse();
    });
  }
  absl::StatusOr<etcd::LeaseGrantResponse> Grant(const etcd::LeaseGrantRequest& request,
                                                 absl::Duration) override {
    return Send<etcd::LeaseGrantResponse>("Grant", [this, request] {
      etcd::LeaseGrantResponse response;
      response.set_id(++lease_ids_);
      response.set_ttl(request.ttl());
      leases_[response.id()] = {absl::Seconds(request.ttl()),
                                clock_.Steady() + absl::Seconds(request.ttl())};
      return response;
    });
  }
  absl::StatusOr<etcd::LeaseRevokeResponse> Revoke(const etcd::LeaseRevokeRequest& request,
                                                   absl::Duration) override {
    return Send<etcd::LeaseRevokeResponse>("Revoke", [this, request] {
      EndLease(request.id());
      return etcd::LeaseRevokeResponse();
    });
  }
  absl::StatusOr<etcd::LeaseKeepAliveResponse> KeepAlive(const etcd::LeaseKeepAliveRequest& request,
                                                         absl::Duration) override {
    return Send<etcd::LeaseKeepAliveResponse>("KeepAlive", [this, request] {
      etcd::LeaseKeepAliveResponse response;
      const auto lease = leases_.find(request.id());
      if (lease == leases_.end()) return response;
      lease->second.second = clock_.Steady() + lease->second.first;
      response.set_ttl(absl::ToInt64Seconds(lease->second.first));
      return response;
    });
  }

 private:
  template <typename Response, typename Do>
  absl::StatusOr<Response> Send(std::string_view method, Do&& act) {
    absl::MutexLock lock(&mutex_);
    switch (faults_ ? faults_(method) : Fault::kNone) {
      case Fault::kNone:
        ExpireLeases();
        return act();
      case Fault::kLoseReply:
        ExpireLeases();
        (void)act();
        return DeadlineExceeded("{}: reply lost", method);
      case Fault::kLate:
        late_.push_back([this, act] {
          ExpireLeases();
          (void)act();
        });
        return DeadlineExceeded("{}: on its way", method);
      case Fault::kFull:
        return absl::ResourceExhaustedError("etcdserver: mvcc: database space exceeded");
      case Fault::kLoseRequest:
        break;
    }
    return Unavailable("{}: request lost", method);
  }

  void ExpireLeases() {
    std::vector<int64_t> over;
    for (const auto& [id, lease] : leases_) {
      if (lease.second <= clock_.Steady()) over.push_back(id);
    }
    for (int64_t id : over) EndLease(id);
  }
  void EndLease(int64_t id) {
    if (leases_.erase(id) == 0) return;
    ++revision_;
    std::erase_if(kvs_, [id](const auto& entry) { return entry.second.lease() == id; });
  }
  void DoPut(const std::string& key, const std::string& value, int64_t lease) {
    etcd::KeyValue& kv = kvs_[key];
    if (kv.create_revision() == 0) kv.set_create_revision(revision_);
    kv.set_key(key);
    kv.set_value(value);
    kv.set_mod_revision(revision_);
    kv.set_version(kv.version() + 1);
    kv.set_lease(lease);
  }
  etcd::RangeResponse DoRange(const etcd::RangeRequest& request) {
    etcd::RangeResponse response;
    response.mutable_header()->set_revision(revision_);
    for (auto it = kvs_.lower_bound(request.key()); it != kvs_.end(); ++it) {
      if (request.range_end().empty() ? it->first != request.key()
                                      : it->first >= request.range_end()) {
        break;
      }
      if (request.limit() != 0 && response.kvs_size() == request.limit()) {
        response.set_more(true);
        break;
      }
      *response.add_kvs() = it->second;
    }
    return response;
  }
  bool Holds(const etcd::Compare& compare) const {
    const auto it = kvs_.find(compare.key());
    if (compare.target() == etcd::Compare::VALUE) {
      return it != kvs_.end() && it->second.value() == compare.value();
    }
    return (it == kvs_.end() ? 0 : it->second.create_revision()) == compare.create_revision();
  }
  absl::StatusOr<etcd::TxnResponse> DoTxn(const etcd::TxnRequest& request) {
    largest_txn_ = std::max(largest_txn_, request.ByteSizeLong());
    const bool holds = std::all_of(request.compare().begin(), request.compare().end(),
                                   [this](const etcd::Compare& c) { return Holds(c); });
    const auto& ops = holds ? request.success() : request.failure();
    for (const etcd::RequestOp& op : ops) {
      const int64_t lease = op.request_put().lease();
      if (lease != 0 && !leases_.contains(lease)) return NotFound("requested lease not found");
    }
    if (std::any_of(ops.begin(), ops.end(), [](auto& op) { return !op.has_request_range(); })) {
      ++revision_;
    }
    etcd::TxnResponse response;
    response.set_succeeded(holds);
    for (const etcd::RequestOp& op : ops) {
      etcd::ResponseOp& done = *response.add_responses();
      if (op.has_request_range()) {
        *done.mutable_response_range() = DoRange(op.request_range());
      } else if (op.has_request_put()) {
        DoPut(op.request_put().key(), op.request_put().value(), op.request_put().lease());
        done.mutable_response_put();
      } else {
        const auto& range = op.request_delete_range();
        const auto first = kvs_.lower_bound(range.key());
        const auto end = range.range_end().empty() ? kvs_.upper_bound(range.key())
                                                   : kvs_.lower_bound(range.range_end());
        done.mutable_response_delete_range()->set_deleted(std::distance(first, end));
        kvs_.erase(first, end);
      }
    }
    response.mutable_header()->set_revision(revision_);
    return response;
  }

  const Clock& clock_;
  absl::Mutex mutex_;
  Faults faults_;
  std::map<std::string, etcd::KeyValue> kvs_;
  std::map<int64_t, std::pair<absl::Duration, absl::Duration>> leases_;  // TTL, end
  std::vector<std::function<void()>> late_;
  int64_t revision_ = 1;
  int64_t lease_ids_ = 1000;
  int64_t compacted_ = 0;
  size_t largest_txn_ = 0;
};

}  // namespace headrace
