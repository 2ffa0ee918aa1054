// DispatcherClient over several dispatchers of which one leads. A call goes to the one that
// answered last; when that one is gone, or says that it is not the leader, it goes on to the leader
// that was named, or to the next address. Every call is idempotent, so one that may have happened
// may be made again.
//
// A call tries each address once at most and never sleeps: it returns within its timeout, sooner
// when all have refused it. Callers try again (common/sync/retry.h), as they do for one dispatcher
// that restarts. Owned by a role; thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "rpc/call_observer.h"
#include "rpc/channels.h"
#include "rpc/dispatcher_client.h"

namespace headrace {

// "host1:5050, host2:5050" -> its parts, each once, in their order. INVALID_ARGUMENT for an address
// that is none, for none at all and for more than 16.
absl::StatusOr<std::vector<std::string>> ParseDispatchers(std::string_view text);

// Over gRPC. `dispatchers` as ParseDispatchers takes them; its errors. No connection is made before
// the first call. `clock` outlives the client.
absl::StatusOr<std::unique_ptr<DispatcherClient>> DialDispatchers(
    std::string_view dispatchers, const Clock& clock, const ChannelOptions& options = {},
    CallObserver observer = nullptr);

class FailoverDispatcherClient final : public DispatcherClient {
 public:
  using Dial = std::function<std::shared_ptr<DispatcherClient>(const std::string& address)>;

  // `addresses`: at least one. `dial` is called once per address, also for leaders that are named
  // and not among them; it must not block.
  FailoverDispatcherClient(std::vector<std::string> addresses, Dial dial, const Clock& clock);

  absl::StatusOr<v1::OpenJobReply> OpenJob(const v1::OpenJobRequest& request,
                                           absl::Duration timeout) override;
  absl::StatusOr<v1::StartEpochReply> StartEpoch(const v1::StartEpochRequest& request,
                                                 absl::Duration timeout) override;
  absl::StatusOr<v1::ClientBeatReply> ClientBeat(const v1::ClientBeatRequest& request,
                                                 absl::Duration timeout) override;
  absl::StatusOr<v1::CloseClientReply> CloseClient(const v1::CloseClientRequest& request,
                                                   absl::Duration timeout) override;
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(const v1::RegisterWorkerRequest& request,
                                                         absl::Duration timeout) override;
  absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(const v1::WorkerBeatRequest& request,
                                                 absl::Duration timeout) override;
  absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(const v1::LeaseSplitsRequest& request,
                                                   absl::Duration timeout) override;
  absl::StatusOr<v1::RestoreJobReply> RestoreJob(const v1::RestoreJobRequest& request,
                                                 absl::Duration timeout) override;
  absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(const v1::ReleaseJobRequest& request,
                                                 absl::Duration timeout) override;
  absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest& request,
                                             absl::Duration timeout) override;
  absl::StatusOr<v1::ListWorkersReply> ListWorkers(const v1::ListWorkersRequest& request,
                                                   absl::Duration timeout) override;
  absl::StatusOr<v1::CancelJobReply> CancelJob(const v1::CancelJobRequest& request,
                                               absl::Duration timeout) override;
  absl::StatusOr<v1::DrainWorkerReply> DrainWorker(const v1::DrainWorkerRequest& request,
                                                   absl::Duration timeout) override;

 private:
  struct Target {
    std::string address;
    std::shared_ptr<DispatcherClient> client;
  };
  // Face: one of those that DispatcherClient is made of.
  template <typename Face, typename Request, typename Reply>
  absl::StatusOr<Reply> Call(absl::StatusOr<Reply> (Face::*method)(const Request&, absl::Duration),
                             const Request& request, absl::Duration timeout);
  Target Current();
  // After `failed` answered with `status`: where later calls begin. Another thread that has moved
  // on already is followed.
  Target Next(const std::string& failed, const absl::Status& status);
  std::shared_ptr<DispatcherClient> ClientOf(const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::string> addresses_;
  const Dial dial_;
  const Clock& clock_;
  absl::Mutex mutex_;
  std::string current_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<DispatcherClient>> clients_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
