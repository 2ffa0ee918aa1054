#include "pipeline/imaging/scratch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace headrace {
namespace {
constexpr std::align_val_t kAlignment{64};
constexpr size_t kSpare = 64;
}  // namespace

void Scratch::Free::operator()(std::byte* p) const { ::operator delete(p, kAlignment); }

std::byte* Scratch::Get(size_t bytes) {
  const size_t need = bytes + kSpare;
  if (need > size_ || (size_ > kKept && need <= kKept)) {
    data_.reset();
    size_ = 0;
    // A quarter more than asked, so that slowly growing sizes do not allocate each time.
    const size_t size = std::max(need, std::min(need + need / 4, kKept));
    data_.reset(static_cast<std::byte*>(::operator new(size, kAlignment)));
    std::memset(data_.get(), 0, size);
    size_ = size;
  }
  return data_.get();
}

Scratch& ThreadScratch(ScratchUse use) {
  thread_local std::array<Scratch, static_cast<size_t>(ScratchUse::kUses)> scratch;
  return scratch[static_cast<size_t>(use)];
}

}  // namespace headrace
