#include "rpc/failover_dispatcher_client.h"

#include <algorithm>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "fmt/ranges.h"
#include "rpc/grpc_dispatcher_client.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

constexpr size_t kMostDispatchers = 16;

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool MayLeadElsewhere(const absl::Status& status) {
  // A process that dies in the middle of a call shows as CANCELLED as often as UNAVAILABLE.
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

// What a call that all have refused reports.
absl::Status AllOf(const std::vector<absl::Status>& refusals) {
  if (refusals.size() == 1) return refusals.front();
  std::vector<std::string> words;
  for (const absl::Status& status : refusals) words.emplace_back(status.message());
  return absl::Status(refusals.back().code(), fmt::format("none of {} dispatchers answers: {}",
                                                          refusals.size(), fmt::join(words, "; ")));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseDispatchers(std::string_view text) {
  std::vector<std::string> addresses;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view address = Trimmed(text.substr(0, comma));
    HR_RETURN_IF_ERROR(CheckAddress(address));
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) {
      addresses.emplace_back(address);
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (addresses.size() > kMostDispatchers) {
    return InvalidArgument("{} dispatchers: name at most {}", addresses.size(), kMostDispatchers);
  }
  return addresses;
}

absl::StatusOr<std::unique_ptr<DispatcherClient>> DialDispatchers(std::string_view dispatchers,
                                                                  const Clock& clock,
                                                                  const ChannelOptions& options,
                                                                  CallObserver observer) {
  HR_ASSIGN_OR_RETURN(std::vector<std::string> addresses, ParseDispatchers(dispatchers));
  auto dial = [options, &clock, observer = std::move(observer)](const std::string& address) {
    return std::shared_ptr<DispatcherClient>(
        MakeGrpcDispatcherClient(MakeChannel(address, options), address, clock, observer,
                                 {options.token, options.credentials != nullptr}));
  };
  return std::make_unique<FailoverDispatcherClient>(std::move(addresses), std::move(dial), clock);
}

FailoverDispatcherClient::FailoverDispatcherClient(std::vector<std::string> addresses, Dial dial,
                                                   const Clock& clock)
    : addresses_(std::move(addresses)),
      dial_(std::move(dial)),
      clock_(clock),
      current_(addresses_.front()) {}

std::shared_ptr<DispatcherClient> FailoverDispatcherClient::ClientOf(const std::string& address) {
  std::shared_ptr<DispatcherClient>& client = clients_[address];
  if (client == nullptr) client = dial_(address);
  return client;
}

FailoverDispatcherClient::Target FailoverDispatcherClient::Current() {
  absl::MutexLock lock(&mutex_);
  return {current_, ClientOf(current_)};
}

FailoverDispatcherClient::Target FailoverDispatcherClient::Next(const std::string& failed,
                                                                const absl::Status& status) {
  const std::string leader = LeaderNamedBy(status).value_or("");
  absl::MutexLock lock(&mutex_);
  if (current_ == failed) {
    const auto at = std::find(addresses_.begin(), addresses_.end(), failed);
    const bool known = at != addresses_.end();
    if (!known) clients_.erase(failed);  // a leader that was named: it may never come back
    current_ = !leader.empty() && leader != failed && CheckAddress(leader).ok() ? leader
               : known && at + 1 != addresses_.end()                            ? *(at + 1)
                                                     : addresses_.front();
    if (current_ != failed) LogDebug("dispatcher {} does not lead: trying {}", failed, current_);
  }
  return {current_, ClientOf(current_)};
}

template <typename Face, typename Request, typename Reply>
absl::StatusOr<Reply> FailoverDispatcherClient::Call(
    absl::StatusOr<Reply> (Face::*method)(const Request&, absl::Duration), const Request& request,
    absl::Duration timeout) {
  const absl::Duration deadline = clock_.Steady() + timeout;
  Target target = Current();
  std::vector<std::string> tried;
  std::vector<absl::Status> refusals;
  while (true) {
    const absl::Duration left = deadline - clock_.Steady();
    absl::StatusOr<Reply> reply = (target.client.get()->*method)(request, left);
    if (reply.ok() || !MayLeadElsewhere(reply.status())) return reply;
    tried.push_back(target.address);
    refusals.push_back(reply.status());
    target = Next(target.address, reply.status());
    const bool again = std::find(tried.begin(), tried.end(), target.address) != tried.end();
    if (again || clock_.Steady() >= deadline) return AllOf(refusals);
  }
}

absl::StatusOr<v1::OpenJobReply> FailoverDispatcherClient::OpenJob(
    const v1::OpenJobRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::OpenJob, request, timeout);
}

absl::StatusOr<v1::StartEpochReply> FailoverDispatcherClient::StartEpoch(
    const v1::StartEpochRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::StartEpoch, request, timeout);
}

absl::StatusOr<v1::ClientBeatReply> FailoverDispatcherClient::ClientBeat(
    const v1::ClientBeatRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::ClientBeat, request, timeout);
}

absl::StatusOr<v1::CloseClientReply> FailoverDispatcherClient::CloseClient(
    const v1::CloseClientRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::CloseClient, request, timeout);
}

absl::StatusOr<v1::RegisterWorkerReply> FailoverDispatcherClient::RegisterWorker(
    const v1::RegisterWorkerRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::RegisterWorker, request, timeout);
}

absl::StatusOr<v1::WorkerBeatReply> FailoverDispatcherClient::WorkerBeat(
    const v1::WorkerBeatRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::WorkerBeat, request, timeout);
}

absl::StatusOr<v1::LeaseSplitsReply> FailoverDispatcherClient::LeaseSplits(
    const v1::LeaseSplitsRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::LeaseSplits, request, timeout);
}

absl::StatusOr<v1::RestoreJobReply> FailoverDispatcherClient::RestoreJob(
    const v1::RestoreJobRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::RestoreJob, request, timeout);
}

absl::StatusOr<v1::ReleaseJobReply> FailoverDispatcherClient::ReleaseJob(
    const v1::ReleaseJobRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::ReleaseJob, request, timeout);
}

absl::StatusOr<v1::ListJobsReply> FailoverDispatcherClient::ListJobs(
    const v1::ListJobsRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::ListJobs, request, timeout);
}

absl::StatusOr<v1::ListWorkersReply> FailoverDispatcherClient::ListWorkers(
    const v1::ListWorkersRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::ListWorkers, request, timeout);
}

absl::StatusOr<v1::CancelJobReply> FailoverDispatcherClient::CancelJob(
    const v1::CancelJobRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::CancelJob, request, timeout);
}

absl::StatusOr<v1::DrainWorkerReply> FailoverDispatcherClient::DrainWorker(
    const v1::DrainWorkerRequest& request, absl::Duration timeout) {
  return Call(&DispatcherClient::DrainWorker, request, timeout);
}

}  // namespace headrace
