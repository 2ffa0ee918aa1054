#include "transport/tcp/gather_queue.h"

#include <algorithm>
#include <utility>

namespace headrace::tcp {
namespace {

constexpr size_t kSmallHeader = 4 << 10;

}  // namespace

void GatherQueue::Push(std::string bytes) {
  Item item;
  item.head = std::move(bytes);
  item.size = item.head.size();
  bytes_ += item.size;
  items_.push_back(std::move(item));
}

void GatherQueue::Push(const Head& head, Frame frame, CodedFrame coded) {
  Item item;
  item.frame_bytes = frame.bytes;
  item.head.assign(reinterpret_cast<const char*>(head.data()), head.size());
  if (coded.bytes != nullptr) {
    item.coded = std::move(coded);
    item.size = item.head.size() + item.coded.size;
  } else {
    item.size = head.size() + frame.bytes;
    item.frame = std::move(frame);
    if (item.frame.header.size() <= kSmallHeader) {  // one piece less
      item.head += item.frame.header;
      item.frame.header.clear();
    }
  }
  bytes_ += item.size;
  items_.push_back(std::move(item));
}

size_t GatherQueue::Fill(std::span<iovec> pieces) const {
  size_t n = 0;
  size_t skip = done_;
  const auto add = [&](const void* data, size_t size) {
    const size_t skipped = std::min(skip, size);
    skip -= skipped;
    if (skipped == size || n == pieces.size()) return;
    pieces[n++] = {static_cast<char*>(const_cast<void*>(data)) + skipped, size - skipped};
  };
  for (const Item& item : items_) {
    if (n == pieces.size()) break;
    add(item.head.data(), item.head.size());
    if (item.coded.bytes != nullptr) add(item.coded.bytes.get(), item.coded.size);
    add(item.frame.header.data(), item.frame.header.size());
    for (const FrameSlice& slice : item.frame.payload) {
      if (n == pieces.size()) break;
      add(slice.data, slice.size);
    }
  }
  return n;
}

size_t GatherQueue::Consume(size_t n) {
  size_t frames = 0;
  bytes_ -= n;
  done_ += n;
  while (!items_.empty() && done_ >= items_.front().size) {
    done_ -= items_.front().size;
    frames += items_.front().frame_bytes;
    items_.pop_front();
  }
  return frames;
}

}  // namespace headrace::tcp
