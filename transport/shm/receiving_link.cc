#include "transport/shm/receiving_link.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/status.h"
#include "transport/shm/host_tag.h"

namespace headrace {
namespace {

constexpr int kReadsAtOnce = 16;  // then other streams have their turn
constexpr size_t kMostDescriptors = 16;
// Frames are given back several at a time, for each message wakes a thread of the worker.
constexpr size_t kReturnsAtOnce = 16;
constexpr uint64_t kReturnBytes = 4 << 20;
static_assert(kReturnsAtOnce <= kShmMaxReturns);

}  // namespace

// A frame whose memory is the worker's, or lies in pieces.
struct ReceivingLink::LentFrame {
  LentFrame(std::shared_ptr<ReceivingLink> l, uint64_t n, uint64_t b)
      : link(std::move(l)), number(n), bytes(b) {}
  LentFrame(const LentFrame&) = delete;
  LentFrame& operator=(const LentFrame&) = delete;
  ~LentFrame() { link->Return(number, bytes); }

  const std::shared_ptr<ReceivingLink> link;
  const uint64_t number;
  const uint64_t bytes;
  std::vector<std::shared_ptr<const void>> owners;
};

ReceivingLink::ReceivingLink(ShmReceiving& receiving, uint64_t token, std::string address,
                             const v1::StreamOpen& open, uint64_t credit,
                             std::shared_ptr<FrameReceiver> receiver, absl::Duration give_up_at)
    : receiving_(receiving),
      token_(token),
      address_(std::move(address)),
      pid_(::getpid()),
      give_up_at_(give_up_at),
      open_([&open] {
        v1::StreamOpen filled = open;
        filled.set_protocol(1);
        return filled;
      }()),
      receiver_(std::move(receiver)),
      credit_(credit) {}

void ReceivingLink::Grant(uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (over_) return;
  if (state_ == State::kOpen) {
    PushReturns();
    out_.Push(GrantMessage(bytes));
    Flush();
  } else {
    credit_ += bytes;
  }
}

void ReceivingLink::Close() {
  absl::MutexLock lock(&mutex_);
  if (over_) return;
  BreakOff(Cancelled("the stream from worker {} was closed", address_));
  receiving_.poller.Wake();
}

void ReceivingLink::Return(uint64_t number, uint64_t bytes) {
  if (::getpid() != pid_) return;
  absl::MutexLock lock(&mutex_);
  --lent_;
  if (detached_ && lent_ == 0) socket_.Close();  // by which the worker has it back
  if (!socket_.valid()) return;
  returned_.push_back(number);
  returned_bytes_ += bytes;
  // Whoever holds nothing more, or whom nobody will remind, does not wait for others.
  const bool now = lent_ == 0 || detached_ || over_ || returned_.size() >= kReturnsAtOnce ||
                   returned_bytes_ >= kReturnBytes;
  if (!now) return;
  PushReturns();
  Flush();
}

bool ReceivingLink::SendReturns(bool due) {
  absl::MutexLock lock(&mutex_);
  if (due && !returned_.empty()) {
    PushReturns();
    Flush();
  }
  return lent_ > 0 || !returned_.empty();
}

void ReceivingLink::PushReturns() {
  if (returned_.empty()) return;
  if (socket_.valid()) out_.Push(ReturnMessage(returned_));
  returned_.clear();
  returned_bytes_ = 0;
}

void ReceivingLink::BreakOff(absl::Status status) {
  if (over_) return;
  over_ = true;
  status_ = std::move(status);
  if (state_ != State::kOpen) {
    if (absl::IsCancelled(status_)) return;
    // No stream was asked for: another transport may be tried.
    if (!absl::IsUnimplemented(status_))
      status_ = Unavailable("{}", std::string(status_.message()));
    status_ = Unreached(std::move(status_));
    return;
  }
  PushReturns();
  out_.Push(CloseMessage(received_));
  Flush();
}

void ReceivingLink::Flush() {
  if (!socket_.valid()) return;
  if (!out_.Flush(socket_)) out_.Clear();  // the worker has gone
  if (blocked_ == !out_.empty() || detached_) return;
  blocked_ = !blocked_;
  receiving_.poller.Change(socket_.get(), token_, EPOLLIN | (blocked_ ? EPOLLOUT : 0u));
}

void ReceivingLink::Connect(absl::Duration now) {
  absl::MutexLock lock(&mutex_);
  if (over_ || state_ == State::kOpen) return;
  if (now > give_up_at_) {
    return BreakOff(Unavailable("worker {} took the connection and does not answer", address_));
  }
  if (state_ == State::kGreeting) return;
  const size_t at = std::min(address_.find_first_of("@/"), address_.size());
  const std::string name = address_.substr(at);
  if (at > 0 && address_.substr(0, at) != HostTag(name))
    return BreakOff(Unimplemented("worker {} is not on this host", address_));
  absl::StatusOr<FileDescriptor> socket = ConnectUnix(name);
  if (absl::IsAborted(socket.status())) return;  // its queue is full: again, soon
  if (!socket.ok()) return BreakOff(Annotate(socket.status(), "worker " + address_));
  const absl::StatusOr<PeerIdentity> peer = PeerOf(*socket);
  if (!peer.ok() || peer->uid != ::geteuid())
    return BreakOff(Unimplemented("worker {} is another user's: no shared memory", address_));
  if (!receiving_.poller.Watch(socket->get(), token_, EPOLLIN))
    return BreakOff(Unavailable("worker {}: the system cannot watch one more socket", address_));
  socket_ = *std::move(socket);
  state_ = State::kGreeting;
}

bool ReceivingLink::connecting() {
  absl::MutexLock lock(&mutex_);
  return !over_ && state_ != State::kOpen;
}

void ReceivingLink::Read() {
  for (int i = 0; i < kReadsAtOnce; ++i) {
    if (receiver_ == nullptr) return;
    const size_t left = frame_.inline_bytes - inline_filled_;
    const Received got = filling_
                             ? ReceiveSome(socket_, {inline_.get() + inline_filled_, left}, nullptr)
                             : ReceiveSome(socket_, reader_.Space(), &descriptors_);
    absl::Status status;
    if (got.over) {
      status = Unavailable("worker {}: it closed the connection, or was killed", address_);
    } else if (got.lost) {
      status = ResourceExhausted("worker {}: no descriptor is left to map its memory; raise nofile",
                                 address_);
    } else if (got.bytes == 0) {
      return;
    } else if (filling_) {
      inline_filled_ += got.bytes;
      if (got.bytes == left) status = DeliverFrame();
    } else {
      reader_.Committed(got.bytes);
      status = TakeRead();
    }
    absl::MutexLock lock(&mutex_);
    if (!status.ok()) BreakOff(std::move(status));
    if (got.over) {
      out_.Clear();
      receiving_.poller.Forget(socket_.get());
      socket_.Close();
    }
    if (over_) return;
  }
}

absl::Status ReceivingLink::TakeRead() {
  while (true) {
    if (filling_) {
      inline_filled_ +=
          reader_.TakeRaw(inline_.get() + inline_filled_, frame_.inline_bytes - inline_filled_);
      if (inline_filled_ < frame_.inline_bytes) return absl::OkStatus();
      HR_RETURN_IF_ERROR(DeliverFrame());
    }
    HR_ASSIGN_OR_RETURN(const std::optional<ShmMessageReader::Message> message, reader_.Next());
    if (!message) break;
    if (absl::Status status = Take(*message); !status.ok())
      return Annotate(status, "worker " + address_);
  }
  if (descriptors_.size() > kMostDescriptors)
    return InvalidArgument("worker {} sends descriptors without a message", address_);
  return absl::OkStatus();
}

absl::Status ReceivingLink::Take(const ShmMessageReader::Message& message) {
  State state;
  {
    absl::MutexLock lock(&mutex_);
    state = state_;
  }
  if (message.type == ShmMessage::kEnd) return TakeEnd(message.body);
  if (state == State::kGreeting && message.type == ShmMessage::kWelcome)
    return TakeWelcome(message.body);
  if (state == State::kOpen) {
    if (message.type == ShmMessage::kFrame) return TakeFrame(message.body);
    if (message.type == ShmMessage::kSegment) return TakeSegment(message.body);
    if (message.type == ShmMessage::kRetire) {
      HR_ASSIGN_OR_RETURN(const uint32_t segment, ParseRetire(message.body));
      segments_.erase(segment);
      return absl::OkStatus();
    }
  }
  return InvalidArgument("a message of type {} is out of place",
                         static_cast<uint32_t>(message.type));
}

absl::Status ReceivingLink::TakeWelcome(Body body) {
  HR_RETURN_IF_ERROR(ParseWelcome(body));
  if (descriptors_.empty()) return FailedPrecondition("no memory came with its welcome");
  const FileDescriptor memory = std::move(descriptors_.front());
  descriptors_.erase(descriptors_.begin());
  HR_ASSIGN_OR_RETURN(const auto mapped, MappedMemory::Map(memory, kShmNonceSegment));
  OpenRequest request;
  std::memcpy(request.nonce.data(), mapped->data(), request.nonce.size());
  request.open = open_;
  absl::MutexLock lock(&mutex_);
  if (over_) return absl::OkStatus();
  request.credit = std::exchange(credit_, 0);
  state_ = State::kOpen;
  out_.Push(OpenMessage(request));
  Flush();
  return absl::OkStatus();
}

absl::Status ReceivingLink::TakeSegment(Body body) {
  HR_ASSIGN_OR_RETURN(const SegmentNotice notice, ParseSegment(body));
  if (descriptors_.empty()) return InvalidArgument("segment {} came without memory", notice.id);
  const FileDescriptor memory = std::move(descriptors_.front());
  descriptors_.erase(descriptors_.begin());
  HR_ASSIGN_OR_RETURN(segments_[notice.id], MappedMemory::Map(memory, notice.bytes));
  return absl::OkStatus();
}

absl::Status ReceivingLink::TakeFrame(Body body) {
  HR_ASSIGN_OR_RETURN(frame_, ParseFrame(body, receiving_.max_frame_bytes));
  inline_.reset();
  inline_filled_ = 0;
  if (frame_.inline_bytes == 0) return DeliverFrame();
  HR_ASSIGN_OR_RETURN(inline_, receiving_.pool.Take(frame_.inline_bytes));
  filling_ = true;
  return absl::OkStatus();
}

absl::Status ReceivingLink::Resolve(std::vector<FrameSlice>& pieces,
                                    std::vector<std::shared_ptr<const void>>& owners) const {
  for (const FramePlace& place : frame_.places) {
    if (place.segment == FramePlace::kInline) {
      pieces.push_back({inline_.get() + place.offset, place.size});
      continue;
    }
    const auto it = segments_.find(place.segment);
    if (it == segments_.end() || place.offset + place.size > it->second->bytes()) {
      return InvalidArgument("frame {} lies at {} + {} of segment {}, which is not there",
                             frame_.number, place.offset, place.size, place.segment);
    }
    pieces.push_back({it->second->data() + place.offset, place.size});
    if (owners.empty() || owners.back() != it->second) owners.push_back(it->second);
  }
  if (inline_ != nullptr) owners.push_back(inline_);
  return absl::OkStatus();
}

absl::Status ReceivingLink::DeliverFrame() {
  filling_ = false;
  FrameBuffer buffer;
  buffer.size = frame_.size;
  std::vector<std::shared_ptr<const void>> owners;
  HR_RETURN_IF_ERROR(Resolve(buffer.pieces, owners));
  const bool lent = frame_.lent();
  {
    absl::MutexLock lock(&mutex_);
    if (over_) return absl::OkStatus();  // CloseMessage said that it is not received
    if (frame_.number != received_)
      return InvalidArgument("frame {} came, {} was expected", frame_.number, received_);
    ++received_;
    if (lent) ++lent_;
  }
  std::shared_ptr<const void> keep = inline_;
  if (lent) {
    auto frame = std::make_shared<LentFrame>(shared_from_this(), frame_.number, frame_.size);
    frame->owners = std::move(owners);
    keep = std::move(frame);
  }
  buffer.data = std::shared_ptr<const std::byte>(std::move(keep), buffer.pieces[0].data);
  if (buffer.pieces.size() == 1) buffer.pieces.clear();
  inline_.reset();
  receiver_->OnFrame(std::move(buffer));
  return absl::OkStatus();
}

absl::Status ReceivingLink::TakeEnd(Body body) {
  absl::Status status;
  HR_RETURN_IF_ERROR(ParseEnd(body, status));
  absl::MutexLock lock(&mutex_);
  if (over_) return absl::OkStatus();
  if (state_ != State::kOpen) {
    BreakOff(Annotate(status, "worker " + address_));
    return absl::OkStatus();
  }
  over_ = true;
  status_ = Annotate(status, "worker " + address_);
  PushReturns();
  out_.Push(ByeMessage());
  Flush();
  return absl::OkStatus();
}

void ReceivingLink::Write() {
  absl::MutexLock lock(&mutex_);
  Flush();
}

bool ReceivingLink::Settle() {
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    if (!over_) return false;
    status = status_;
  }
  if (receiver_ != nullptr) {
    std::exchange(receiver_, nullptr)->OnClosed(status);
    segments_.clear();
    descriptors_.clear();
    inline_.reset();
  }
  absl::MutexLock lock(&mutex_);
  if (socket_.valid() && !out_.empty()) return false;
  Detach();
  return true;
}

void ReceivingLink::Abandon() {
  absl::MutexLock lock(&mutex_);
  Detach();
}

void ReceivingLink::Detach() {
  if (detached_) return;
  PushReturns();
  Flush();
  detached_ = true;
  if (!socket_.valid()) return;
  receiving_.poller.Forget(socket_.get());
  if (lent_ == 0) socket_.Close();
}

}  // namespace headrace
