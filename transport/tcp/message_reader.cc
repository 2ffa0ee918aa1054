#include "transport/tcp/message_reader.h"

#include <algorithm>
#include <cstring>

#include "common/status.h"
#include "transport/tcp/codecs.h"

namespace headrace::tcp {
namespace {

constexpr size_t kBufferBytes = 64 << 10;
// While a frame comes into its own memory, only the next head and a little more come here: what
// comes here is copied once more.
constexpr size_t kBehindFrame = 4 << 10;
static_assert(kBufferBytes >= kHeadBytes + kMaxBodyBytes);

}  // namespace

MessageReader::MessageReader(const Options& options)
    : options_(options), buffer_(new std::byte[kBufferBytes]) {}

MessageReader::~MessageReader() = default;

size_t MessageReader::Space(std::span<iovec, 2> pieces) {
  if (!in_frame_) {
    pieces[0] = {buffer_.get() + end_, kBufferBytes - end_};
    return 1;
  }
  pieces[0] = {frame_.memory.get() + frame_.filled, frame_.head.size - frame_.filled};
  pieces[1] = {buffer_.get(), kBehindFrame};
  return 2;
}

absl::Status MessageReader::Received(size_t n, MessageSink& sink) {
  if (in_frame_) {
    const size_t own = std::min<size_t>(n, frame_.head.size - frame_.filled);
    Fill(own);
    begin_ = 0;
    end_ = n - own;
    if (frame_.filled < frame_.head.size) return absl::OkStatus();
    HR_RETURN_IF_ERROR(FinishFrame(sink));
  } else {
    end_ += n;
  }
  HR_RETURN_IF_ERROR(Process(sink));
  // Room for the largest message, whatever is left of it.
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return absl::OkStatus();
}

absl::Status MessageReader::Process(MessageSink& sink) {
  while (end_ - begin_ >= kHeadBytes) {
    const std::byte* at = buffer_.get() + begin_;
    const size_t have = end_ - begin_ - kHeadBytes;
    if (!greeted_) {
      size_t size = 0;
      HR_ASSIGN_OR_RETURN(Hello hello, ParseHello(HeadView(at, kHeadBytes), size));
      if (have < size) return absl::OkStatus();
      hello.body.assign(reinterpret_cast<const char*>(at) + kHeadBytes, size);
      begin_ += kHeadBytes + size;
      greeted_ = true;
      HR_RETURN_IF_ERROR(sink.OnHello(std::move(hello)));
      continue;
    }
    const uint64_t most = options_.pool == nullptr ? 0 : options_.max_frame_bytes;
    HR_ASSIGN_OR_RETURN(const MessageHead head, ParseHead(HeadView(at, kHeadBytes), most));
    if (head.type == MessageType::kFrame) {
      begin_ += kHeadBytes;
      HR_RETURN_IF_ERROR(StartFrame(head));
      const size_t own = std::min<size_t>(have, head.size);
      std::memcpy(frame_.memory.get(), buffer_.get() + begin_, own);
      begin_ += own;
      Fill(own);
      if (frame_.filled < head.size) return absl::OkStatus();
      HR_RETURN_IF_ERROR(FinishFrame(sink));
      continue;
    }
    if (have < head.size) return absl::OkStatus();
    begin_ += kHeadBytes + head.size;
    HR_RETURN_IF_ERROR(sink.OnMessage(
        head, std::string_view(reinterpret_cast<const char*>(at) + kHeadBytes, head.size)));
  }
  return absl::OkStatus();
}

absl::Status MessageReader::StartFrame(const MessageHead& head) {
  HR_ASSIGN_OR_RETURN(frame_.memory, options_.pool->Take(head.size));
  frame_.head = head;
  frame_.filled = 0;
  in_frame_ = true;
  hash_.Reset();
  return absl::OkStatus();
}

// Hashed as it comes, while it is still in the cache.
void MessageReader::Fill(size_t n) {
  if (checksums_ && frame_.head.codec == Codec::kNone)
    hash_.Update(frame_.memory.get() + frame_.filled, n);
  frame_.filled += n;
}

absl::Status MessageReader::FinishFrame(MessageSink& sink) {
  in_frame_ = false;
  const MessageHead& head = frame_.head;
  FrameBuffer frame{std::move(frame_.memory), head.size};
  if (head.codec != Codec::kNone) {
    HR_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> plain, options_.pool->Take(head.value));
    HR_RETURN_IF_ERROR(Decompress(head.codec, {frame.data.get(), frame.size},
                                  {plain.get(), static_cast<size_t>(head.value)}));
    if (checksums_) hash_.Update(plain.get(), head.value);
    frame = {std::move(plain), head.value};
  }
  if (checksums_ && hash_.Digest() != head.checksum) {
    return DataLoss("a frame of {} bytes was damaged on its way: its checksum is wrong",
                    head.value);
  }
  return sink.OnFrame(std::move(frame));
}

}  // namespace headrace::tcp
