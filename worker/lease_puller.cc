#include "worker/lease_puller.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr absl::Duration kFirstBackoff = absl::Milliseconds(50);

}  // namespace

std::optional<v1::LeaseSplitsRequest> LeasePuller::Next(uint32_t wanted, absl::Duration now) {
  if (in_flight_ || now < retry_at_) return std::nullopt;
  if (!unanswered_) {
    if (exhausted_ || wanted == 0) return std::nullopt;
    ++number_;
    want_ = wanted;
    unanswered_ = true;
  }
  in_flight_ = true;
  v1::LeaseSplitsRequest request;
  request.set_worker(worker_);
  request.set_task(task_);
  request.set_request_number(number_);
  request.set_want(want_);
  request.set_tells_cached(tells_);
  return request;
}

LeasePuller::Answer LeasePuller::OnReply(uint64_t request_number, const v1::LeaseSplitsReply& reply,
                                         absl::Duration now) {
  Answer answer;
  if (request_number != number_ || !unanswered_) return answer;
  in_flight_ = false;
  backoff_ = kFirstBackoff;
  tells_ = reply.tell_cached();
  if (reply.wait()) {
    retry_at_ = now + kFirstBackoff;
    return answer;
  }
  unanswered_ = false;
  answer.gone = reply.unknown_task();
  answer.leases.assign(reply.leases().begin(), reply.leases().end());
  if (reply.exhausted() || reply.unknown_task()) {
    exhausted_ = true;
    answer.flush = true;
  }
  return answer;
}

void LeasePuller::OnFailure(uint64_t request_number, absl::Duration now) {
  if (request_number != number_ || !unanswered_) return;
  in_flight_ = false;
  retry_at_ = now + backoff_;
  backoff_ = std::min(backoff_ * 2, absl::Seconds(2));
}

}  // namespace headrace
