#include "dispatcher/etcd/leadership.h"

#include <algorithm>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "dispatcher/etcd/etcd_requests.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

// Shares of the lease's time: how often it is renewed, and how long before its end we stop to lead.
constexpr int64_t kRenewals = 5;
constexpr int64_t kMargin = 5;

}  // namespace

Leadership::Leadership(Term term, EtcdClient& etcd, const Clock& clock)
    : term_(std::move(term)),
      etcd_(etcd),
      clock_(clock),
      holds_until_(term_.granted_at + term_.ttl - term_.ttl / kMargin) {
  renewals_ =
      std::make_unique<PeriodicTask>("hr-lease-renew", term_.ttl / kRenewals, [this] { Renew(); });
}

Leadership::~Leadership() { renewals_ = nullptr; }

etcd::Compare Leadership::Guard() const { return CreatedAt(term_.key, term_.created); }

bool Leadership::IsOurs(const etcd::KeyValue* leader) const {
  return leader != nullptr && leader->create_revision() == term_.created;
}

absl::Duration Leadership::Left() const {
  if (lost_.Cancelled()) return absl::ZeroDuration();
  absl::MutexLock lock(&mutex_);
  return holds_until_ - clock_.Steady();
}

absl::Status Leadership::Check() const {
  return Left() > absl::ZeroDuration() ? absl::OkStatus() : NotTheLeader("");
}

void Leadership::Lose(std::string_view why) {
  if (lost_.Cancelled()) return;
  if (!why.empty()) LogWarning("leadership lost: {}", why);
  lost_.Cancel();
}

void Leadership::Renew() {
  // Once over, it stays over: what we said meanwhile was that we do not lead.
  const absl::Duration left = Left();
  if (left <= absl::ZeroDuration()) {
    Lose("the lease could not be renewed in time");
    return;
  }
  etcd::LeaseKeepAliveRequest request;
  request.set_id(term_.lease);
  const absl::Duration sent = clock_.Steady();
  const auto reply = etcd_.KeepAlive(request, std::min(left, term_.ttl / kRenewals));
  if (!reply.ok()) {
    LogWarning("the lease of the leadership was not renewed, {} are left: {}",
               absl::FormatDuration(absl::Trunc(Left(), absl::Milliseconds(1))),
               OneLine(reply.status()));
    return;
  }
  if (reply->ttl() <= 0) {
    Lose("the lease has expired");
    return;
  }
  const absl::Duration ttl = std::min(term_.ttl, absl::Seconds(reply->ttl()));
  absl::MutexLock lock(&mutex_);
  // An answer that comes after our time was over does not bring it back.
  if (clock_.Steady() >= holds_until_) return;
  holds_until_ = std::max(holds_until_, sent + ttl - ttl / kMargin);
}

void Leadership::Resign(absl::Duration timeout) {
  renewals_->Stop();
  lost_.Cancel();
  etcd::LeaseRevokeRequest request;
  request.set_id(term_.lease);
  const auto reply = etcd_.Revoke(request, timeout);
  if (!reply.ok() && !absl::IsNotFound(reply.status())) {
    LogDebug("the lease was not revoked, it runs out by itself: {}", OneLine(reply.status()));
  }
}

}  // namespace headrace
