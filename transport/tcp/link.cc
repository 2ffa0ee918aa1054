#include "transport/tcp/link.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace headrace::tcp {
namespace {

constexpr size_t kMostPieces = 64;

absl::Duration Now() { return RealClock().Steady(); }

}  // namespace

Link::Link(std::unique_ptr<Wire> wire, const MessageReader::Options& reading,
           const LinkTimes& times)
    : wire_(std::move(wire)),
      times_(times),
      peer_(wire_->peer()),
      secure_(wire_->secure()),
      reader_(reading),
      started_(Now()),
      heard_(started_),
      said_(started_),
      ticked_(started_),
      busy_since_(started_) {}

void Link::Start(std::shared_ptr<LinkOwner> owner) {
  owner_ = std::move(owner);
  Read();
  Tick();
}

void Link::Read() {
  iovec pieces[2];
  const size_t n = reader_.Space(pieces);
  wire_->Read({pieces, n}, [self = shared_from_this()](const absl::Status& status, size_t got) {
    self->OnRead(status, got);
  });
}

void Link::OnRead(const absl::Status& status, size_t n) {
  if (down()) return;
  if (!status.ok() || n == 0) return Down(status);
  heard_ = Now();
  const std::shared_ptr<LinkOwner> owner = owner_;  // Down may let it go
  if (absl::Status received = reader_.Received(n, *owner); !received.ok()) return Down(received);
  if (!down()) Read();
}

void Link::Flush() {
  if (writing_ || down()) return;
  iovec pieces[kMostPieces];
  const size_t n = queue_.Fill(pieces);
  if (n == 0) {
    idle_since_ = true;
    if (ending_) wire_->EndWriting();
    return;
  }
  writing_ = true;
  wire_->Write({pieces, n}, [self = shared_from_this()](const absl::Status& status, size_t sent) {
    self->OnWritten(status, sent);
  });
}

void Link::OnWritten(const absl::Status& status, size_t n) {
  writing_ = false;
  if (down()) return;
  if (!status.ok()) return Down(status);
  said_ = Now();
  busy_bytes_ += n;
  const std::shared_ptr<LinkOwner> owner = owner_;
  owner->OnSent(queue_.Consume(n));
  Flush();
}

std::pair<size_t, absl::Duration> Link::BusySince() {
  const absl::Duration now = Now();
  const std::pair<size_t, absl::Duration> busy(idle_since_ ? 0 : busy_bytes_, now - busy_since_);
  busy_since_ = now;
  busy_bytes_ = 0;
  idle_since_ = false;
  return busy;
}

void Link::EndWriting(absl::Duration timeout) {
  if (ending_) return;
  ending_ = true;
  end_by_ = Now() + timeout;
  Flush();
}

void Link::Tick() {
  if (down()) return;
  const absl::Duration now = Now();
  const absl::Duration period =
      std::min({times_.alive / 2, times_.handshake / 4, times_.dead / 4, absl::Seconds(1)});
  // This process was held up itself: that says nothing about the peer.
  if (now - ticked_ > 2 * period + absl::Seconds(1)) heard_ = now;
  ticked_ = now;
  if (!established_ && now - started_ > times_.handshake)
    return Down(Unavailable("no handshake within {}", absl::FormatDuration(times_.handshake)));
  if (now - heard_ > times_.dead) {
    return Down(Unavailable("nothing was heard for {}: the peer or the way to it is dead",
                            absl::FormatDuration(times_.dead)));
  }
  if (now > end_by_) return Down(Unavailable("the peer did not end its stream"));
  if (established_ && !ending_ && !writing_ && now - said_ > times_.alive) {
    const Head head = EncodeHead({});
    queue_.Push(std::string(reinterpret_cast<const char*>(head.data()), head.size()));
    Flush();
  }
  wire_->After(period, [self = shared_from_this()] { self->Tick(); });
}

void Link::Down(const absl::Status& status) {
  if (down()) return;
  const std::shared_ptr<LinkOwner> owner = std::exchange(owner_, nullptr);
  wire_->Close();
  // What is out still points into the reader and the queue: both stay with the callbacks' `self`.
  owner->OnDown(status);
}

}  // namespace headrace::tcp
