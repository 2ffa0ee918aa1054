// A worker and a client for tests of transports: they record what they are told. Not linked into
// any binary.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "transport/frame_connector.h"
#include "transport/frame_stream.h"

namespace headrace {

// Wakes whoever waits for something that another thread records.
class Recording {
 public:
  template <typename Change>
  void Record(Change change) {
    absl::MutexLock lock(&mutex_);
    change();
    ++changes_;
  }
  template <typename Read>
  auto Look(Read read) {
    absl::MutexLock lock(&mutex_);
    return read();
  }
  // Returns when something was recorded since `seen`, or after a moment.
  size_t AwaitChange(size_t seen) {
    absl::MutexLock lock(&mutex_);
    const auto changed = [this, seen] { return changes_ != seen; };
    mutex_.AwaitWithTimeout(absl::Condition(&changed), absl::Milliseconds(20));
    return changes_;
  }

 private:
  absl::Mutex mutex_;
  size_t changes_ = 0;
};

// A frame with `size` payload bytes that all say `mark`; `owner`, when given, lives as long as the
// frame is borrowed.
inline Frame MarkedFrame(uint8_t mark, size_t size, std::shared_ptr<void> owner = nullptr) {
  auto payload = std::make_shared<std::vector<std::byte>>(size, static_cast<std::byte>(mark));
  Frame frame;
  frame.header.assign(64, static_cast<char>(mark));
  // Two slices, so that drivers have to put them together.
  const size_t half = size / 2;
  frame.payload = {{payload->data(), half}, {payload->data() + half, size - half}};
  frame.owners.push_back(std::move(payload));
  if (owner != nullptr) frame.owners.push_back(std::move(owner));
  frame.bytes = 64 + size;
  return frame;
}

// The same 64 MiB again and again, all 9: only the receiver has all of it.
inline Frame FrameOverTwoGibibytes() {
  constexpr size_t kPart = size_t{64} << 20;
  auto part = std::make_shared<std::vector<std::byte>>(kPart, std::byte{9});
  Frame frame;
  frame.header.assign(64, 9);
  for (int i = 0; i < 33; ++i) frame.payload.push_back({part->data(), kPart});
  frame.bytes = 64 + 33 * kPart;
  frame.owners.push_back(std::move(part));
  return frame;
}

// Sends the frames of its queue to the stream of each task as they may go.
class TestSender final : public StreamHandler {
 public:
  explicit TestSender(Recording& recording) : recording_(recording) {}

  // What a stream of `task` will be given. Call before the stream opens, or Push later.
  void Push(uint64_t task, Frame frame) {
    {
      absl::MutexLock lock(&mutex_);
      queues_[task].push_back(std::move(frame));
    }
    Flush(task);
  }
  // The stream of `task` ends with OK after its last frame.
  void FinishAfterLast(uint64_t task) {
    {
      absl::MutexLock lock(&mutex_);
      finish_[task] = true;
    }
    Flush(task);
  }
  void Refuse(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    refusal_ = std::move(status);
  }
  std::shared_ptr<FrameStream> stream(uint64_t task) {
    absl::MutexLock lock(&mutex_);
    return streams_[task];
  }
  size_t queued(uint64_t task) {
    absl::MutexLock lock(&mutex_);
    return queues_[task].size();
  }

  size_t opened = 0;  // read through Recording::Look
  std::vector<absl::Status> closed;

  absl::Status OnOpen(std::shared_ptr<FrameStream> stream) override {
    const uint64_t task = stream->open().task();
    {
      absl::MutexLock lock(&mutex_);
      if (!refusal_.ok()) return refusal_;
      streams_[task] = std::move(stream);
    }
    recording_.Record([this] { ++opened; });
    Flush(task);
    return absl::OkStatus();
  }
  void OnReady(const std::shared_ptr<FrameStream>& stream) override {
    Flush(stream->open().task());
  }
  void OnClosed(const std::shared_ptr<FrameStream>& stream, const absl::Status& status) override {
    {
      absl::MutexLock lock(&mutex_);
      auto it = streams_.find(stream->open().task());
      if (it != streams_.end() && it->second == stream) streams_.erase(it);
    }
    recording_.Record([&] { closed.push_back(status); });
  }

 private:
  void Flush(uint64_t task) {
    absl::MutexLock lock(&mutex_);
    auto stream = streams_.find(task);
    if (stream == streams_.end()) return;
    std::deque<Frame>& queue = queues_[task];
    while (!queue.empty() && stream->second->TryWrite(queue.front())) queue.pop_front();
    if (queue.empty() && finish_[task]) stream->second->Finish(absl::OkStatus());
  }

  Recording& recording_;
  absl::Mutex mutex_;  // held while the stream is called, as a worker's lock is
  absl::Status refusal_;
  std::map<uint64_t, std::shared_ptr<FrameStream>> streams_;
  std::map<uint64_t, std::deque<Frame>> queues_;
  std::map<uint64_t, bool> finish_;
};

class TestReceiver final : public FrameReceiver {
 public:
  explicit TestReceiver(Recording& recording) : recording_(recording) {}

  void OnFrame(FrameBuffer frame) override {
    const auto mark = static_cast<uint8_t>(frame.data.get()[0]);
    bool whole = reinterpret_cast<uintptr_t>(frame.data.get()) % kFrameAlignment == 0;
    for (size_t i = 0; i < frame.size; ++i)
      whole &= static_cast<uint8_t>(frame.data.get()[i]) == mark;
    recording_.Record([&] {
      marks.push_back(mark);
      sizes.push_back(frame.size - 64);
      damaged += whole ? 0 : 1;
      after_close += closed.empty() ? 0 : 1;
    });
  }
  void OnClosed(const absl::Status& status) override {
    recording_.Record([&] { closed.push_back(status); });
  }

  // Read through Recording::Look.
  std::vector<uint8_t> marks;
  std::vector<size_t> sizes;
  size_t damaged = 0;
  size_t after_close = 0;
  std::vector<absl::Status> closed;

 private:
  Recording& recording_;
};

// Looks at a frame's ends only.
class EndsReceiver final : public FrameReceiver {
 public:
  explicit EndsReceiver(Recording& recording) : recording_(recording) {}
  void OnFrame(FrameBuffer frame) override {
    recording_.Record([&] {
      size = frame.size;
      first = frame.data.get()[0];
      last = frame.data.get()[frame.size - 1];
    });
  }
  void OnClosed(const absl::Status&) override {}
  size_t size = 0;
  std::byte first{};
  std::byte last{};

 private:
  Recording& recording_;
};

}  // namespace headrace
