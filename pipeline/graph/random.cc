#include "pipeline/graph/random.h"

#include <cmath>
#include <numbers>

namespace headrace {
namespace {

// SplitMix64's finaliser: spreads structured ids over all bits.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

std::array<uint32_t, 2> Key(const RandomKey& key) {
  const uint64_t k = Mix(Mix(Mix(key.seed) ^ key.epoch) ^ key.step);
  return {static_cast<uint32_t>(k), static_cast<uint32_t>(k >> 32)};
}

// Words 1 to 3 carry 96 bits of identity; word 0 counts blocks of the stream.
std::array<uint32_t, 4> Counter(uint64_t a, uint64_t b) {
  const uint64_t low = Mix(a ^ Mix(b));
  const uint64_t high = Mix(b + 0x632BE59BD9B4E019ull * a);
  return {0, static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
          static_cast<uint32_t>(high)};
}

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 0xD2511F53ull * c[0];
    const uint64_t p1 = 0xCD9E8D57ull * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

RandomStream::RandomStream(const RandomKey& key, const Run& run)
    : counter_(
          Counter(Mix(run.split) ^ run.first, (static_cast<uint64_t>(run.part) << 32) | run.pass)),
      key_(Key(key)) {}

RandomStream::RandomStream(const RandomKey& key, uint64_t a, uint64_t b)
    : counter_(Counter(a, b)), key_(Key(key)) {}

uint32_t RandomStream::Next32() {
  if (used_ == 4) {
    block_ = Philox4x32(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[static_cast<size_t>(used_++)];
}

uint64_t RandomStream::Below(uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(Next64()) * n;
  if (static_cast<uint64_t>(product) < n) {
    const uint64_t threshold = (0 - n) % n;
    while (static_cast<uint64_t>(product) < threshold) product = static_cast<Wide>(Next64()) * n;
  }
  return static_cast<uint64_t>(product >> 64);
}

double RandomStream::Normal() {
  const double u = 1.0 - Uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * Uniform());
}

}  // namespace headrace
