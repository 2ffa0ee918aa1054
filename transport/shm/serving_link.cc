#include "transport/shm/serving_link.h"

#include <iterator>
#include <utility>

#include "common/status.h"
#include "fmt/core.h"

namespace headrace {
namespace {

constexpr int kReadsAtOnce = 16;  // then other clients have their turn

}  // namespace

ServingLink::ServingLink(ShmServing& serving, uint64_t token, FileDescriptor socket,
                         PeerIdentity peer, absl::Duration since)
    : serving_(serving),
      pool_(serving.pool),
      token_(token),
      peer_(fmt::format("shm:pid {}", peer.pid)),
      since_(since),
      socket_(std::move(socket)) {}

void ServingLink::Greet(FileDescriptor nonce) {
  absl::MutexLock lock(&mutex_);
  out_.Push(Outgoing{WelcomeMessage(), std::move(nonce), {}, {}});
  Flush();
}

bool ServingLink::TryWrite(Frame& frame) {
  {
    absl::MutexLock lock(&mutex_);
    if (!Writable()) return false;
  }
  // Without the lock: it may copy. Nobody else takes credit meanwhile.
  PlacedFrame placed = PlaceFrame(frame, *pool_);
  Frame taken;  // let go of after the lock
  absl::MutexLock lock(&mutex_);
  if (ending_ || closed_) return false;
  if (placed.notice.lent() && !Announce(placed.notice)) placed = PlaceInline(frame);
  placed.notice.number = frames_++;
  credit_.Take(frame.bytes);
  taken = std::move(frame);
  if (placed.notice.lent()) {
    auto& owners = lent_[placed.notice.number];
    if (placed.copy != nullptr) {
      owners.push_back(std::move(placed.copy));
    } else {
      owners = taken.owners;
    }
  }
  Outgoing message{FrameMessage(placed.notice), {}, std::move(placed.parts), {}};
  if (!message.parts.empty()) message.keep = std::move(taken);
  out_.Push(std::move(message));
  Flush();
  return true;
}

bool ServingLink::ready() {
  absl::MutexLock lock(&mutex_);
  return Writable();
}

void ServingLink::Finish(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  EndWith(std::move(status));
}

bool ServingLink::Writable() {
  if (ending_ || closed_) return false;
  const bool room = out_.empty() || out_.bytes() < serving_.max_waiting_bytes;
  armed_ = !room || !credit_.open();
  return !armed_;
}

bool ServingLink::Announce(const FrameNotice& notice) {
  for (const FramePlace& place : notice.places) {
    if (place.segment == FramePlace::kInline || known_.contains(place.segment)) continue;
    std::optional<ShmPool::Sharing> sharing = pool_->Share(place.segment);
    if (!sharing) return false;
    out_.Push(Outgoing{
        SegmentMessage({place.segment, sharing->bytes}), std::move(sharing->memory), {}, {}});
    known_.insert(place.segment);
  }
  return true;
}

void ServingLink::Flush() {
  if (closed_) return;
  if (!out_.Flush(socket_)) out_.Clear();  // the poller will say that the client has gone
  if (blocked_ == !out_.empty()) return;
  blocked_ = !blocked_;
  serving_.poller.Change(socket_.get(), token_, EPOLLIN | (blocked_ ? EPOLLOUT : 0u));
}

void ServingLink::EndWith(absl::Status status) {
  if (ending_ || closed_) return;
  ending_ = true;
  out_.Push(EndMessage(status));
  status_ = std::move(status);
  Flush();
}

bool ServingLink::Read() {
  std::vector<std::shared_ptr<const void>> freed;  // let go of after the lock
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const Received got = ReceiveSome(socket_, reader_.Space(), nullptr);
    if (got.over) return false;
    if (got.bytes == 0) return true;
    reader_.Committed(got.bytes);
    absl::MutexLock lock(&mutex_);
    while (true) {
      absl::StatusOr<std::optional<ShmMessageReader::Message>> message = reader_.Next();
      absl::Status status = message.status();
      if (status.ok() && !*message) break;
      if (status.ok()) status = Take(**message, freed);
      if (status.ok()) continue;
      EndWith(status);
      status_ = std::move(status);
      return false;
    }
  }
  return true;
}

absl::Status ServingLink::Take(const ShmMessageReader::Message& message,
                               std::vector<std::shared_ptr<const void>>& freed) {
  if (message.type == ShmMessage::kOpen) return TakeOpen(message.body);
  if (state_ == State::kGreeting) return InvalidArgument("{} did not open a stream first", peer_);
  switch (message.type) {
    case ShmMessage::kGrant: {
      HR_ASSIGN_OR_RETURN(const uint64_t bytes, ParseGrant(message.body));
      credit_.Grant(bytes);
      return absl::OkStatus();
    }
    case ShmMessage::kReturn:
      return TakeReturns(message.body, freed);
    case ShmMessage::kClose: {
      HR_ASSIGN_OR_RETURN(const uint64_t received, ParseClose(message.body));
      TakeClose(received, freed);
      return absl::OkStatus();
    }
    case ShmMessage::kBye:
      if (!ending_) return InvalidArgument("{} said goodbye to a stream that goes on", peer_);
      close_due_ = true;
      return absl::OkStatus();
    default:
      return InvalidArgument("{} sent a message of type {}", peer_,
                             static_cast<uint32_t>(message.type));
  }
}

absl::Status ServingLink::TakeOpen(Body body) {
  if (state_ != State::kGreeting) return InvalidArgument("{} opened its stream twice", peer_);
  HR_ASSIGN_OR_RETURN(OpenRequest request, ParseOpen(body));
  if (request.nonce != serving_.nonce)
    return InvalidArgument("{} does not see the memory of this worker", peer_);
  open_ = std::move(request.open);
  credit_.Grant(request.credit);
  state_ = State::kOpen;
  open_due_ = true;
  pool_->AddReader();
  return absl::OkStatus();
}

absl::Status ServingLink::TakeReturns(Body body, std::vector<std::shared_ptr<const void>>& freed) {
  HR_ASSIGN_OR_RETURN(const std::vector<uint64_t> frames, ParseReturn(body));
  for (uint64_t number : frames) {
    const auto it = lent_.find(number);
    if (it == lent_.end()) return InvalidArgument("{} returned frame {} twice", peer_, number);
    std::move(it->second.begin(), it->second.end(), std::back_inserter(freed));
    lent_.erase(it);
  }
  return absl::OkStatus();
}

void ServingLink::TakeClose(uint64_t received, std::vector<std::shared_ptr<const void>>& freed) {
  for (auto it = lent_.lower_bound(received); it != lent_.end(); it = lent_.erase(it)) {
    std::move(it->second.begin(), it->second.end(), std::back_inserter(freed));
  }
  out_.Clear();
  if (!ending_ || status_.ok())
    status_ = Cancelled("client {} at {} closed its stream", open_.client(), peer_);
  ending_ = true;
  close_due_ = true;
}

void ServingLink::Write() {
  absl::MutexLock lock(&mutex_);
  Flush();
}

void ServingLink::Deliver() {
  while (true) {
    bool open = false, close = false;
    absl::Status status;
    {
      absl::MutexLock lock(&mutex_);
      if (state_ != State::kOpen) return;
      open = std::exchange(open_due_, false);
      close = !open && close_due_;
      if (close) state_ = State::kOver;
      if (!open && !close && !(armed_ && Writable())) return;
      status = status_;
    }
    if (open) {
      const absl::Status taken = serving_.handler.OnOpen(shared_from_this());
      if (taken.ok()) {
        told_open_ = true;
        continue;
      }
      absl::MutexLock lock(&mutex_);
      EndWith(taken);
      state_ = State::kOver;
      pool_->RemoveReader();
    } else if (close) {
      pool_->RemoveReader();
      if (told_open_) serving_.handler.OnClosed(shared_from_this(), status);
    } else {
      serving_.handler.OnReady(shared_from_this());
    }
  }
}

void ServingLink::Over(absl::Status status) {
  std::map<uint64_t, std::vector<std::shared_ptr<const void>>> lent;  // let go of after the lock
  SendQueue out;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    closed_ = true;
    // A client that has said goodbye, or closed, has ended its stream before it went.
    if (!close_due_ && (!ending_ || status_.ok())) status_ = std::move(status);
    ending_ = true;
    close_due_ = true;
    serving_.poller.Forget(socket_.get());
    socket_.Close();
    lent.swap(lent_);
    std::swap(out, out_);
  }
  lent.clear();  // whoever hears of the end may count on that
  out.Clear();
  Deliver();
}

void ServingLink::Forget(uint32_t segment) {
  absl::MutexLock lock(&mutex_);
  if (closed_ || known_.erase(segment) == 0) return;
  out_.Push(RetireMessage(segment));
  Flush();
}

bool ServingLink::IdleSince(absl::Duration time) {
  absl::MutexLock lock(&mutex_);
  return state_ == State::kGreeting && since_ < time;
}

bool ServingLink::streaming() {
  absl::MutexLock lock(&mutex_);
  return state_ == State::kOpen;
}

}  // namespace headrace
