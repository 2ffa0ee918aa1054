#include "transport/tcp/checksum.h"

#define XXH_STATIC_LINKING_ONLY  // the state's size
#include <xxhash.h>
#ifdef __x86_64__
#include <xxh_x86dispatch.h>  // AVX2 and AVX-512 where there are, chosen when it runs
#endif

namespace headrace::tcp {

struct FrameHash::State {
  XXH3_state_t xxh;
};

FrameHash::FrameHash() : state_(std::make_unique<State>()) { Reset(); }
FrameHash::~FrameHash() = default;

void FrameHash::Reset() { XXH3_64bits_reset(&state_->xxh); }
void FrameHash::Update(const void* data, size_t size) {
  XXH3_64bits_update(&state_->xxh, data, size);
}
uint64_t FrameHash::Digest() const { return XXH3_64bits_digest(&state_->xxh); }

uint64_t FrameHash::Of(const Frame& frame) {
  Reset();
  Update(frame.header.data(), frame.header.size());
  for (const FrameSlice& slice : frame.payload) Update(slice.data, slice.size);
  return Digest();
}

}  // namespace headrace::tcp
