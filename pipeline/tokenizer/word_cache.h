// How words seen before were cut: texts repeat their words, and finding one is ten times as fast as
// cutting it up. Bounded; forgets everything when full. One thread at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace headrace {

class WordCache {
 public:
  static constexpr size_t kMaxWordBytes = 64;
  static constexpr size_t kMaxWords = 1 << 16;

  struct Word {
    std::span<const int32_t> ids;   // empty: not known
    std::span<const float> scores;  // of its pieces
    float lead = 0;                 // see UnigramSegmenter::Run
  };

  WordCache() { Clear(1 << 10); }

  // Find(hash) will come soon: a table of some megabytes is not in the nearest cache.
  void Prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }
  // Valid until the next Add.
  Word Find(std::string_view word, uint64_t hash) const {
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.ids == 0) return {};
      if (slot.hash != hash || slot.bytes != word.size()) continue;
      const uint32_t* ids = items_.data() + slot.items;
      const uint32_t* scores = ids + slot.ids;
      if (!Same(word.data(), reinterpret_cast<const char*>(scores + slot.scores), word.size()))
        continue;
      return {{reinterpret_cast<const int32_t*>(ids), slot.ids},
              {reinterpret_cast<const float*>(scores), slot.scores},
              slot.lead};
    }
  }
  // A word that Find did not find, of at most kMaxWordBytes; one without ids is not kept.
  void Add(std::string_view word, uint64_t hash, const Word& cut);

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t items = 0;  // where in items_: ids, scores, text
    float lead = 0;
    uint16_t bytes = 0;
    uint16_t ids = 0;  // 0: empty slot
    uint16_t scores = 0;
  };
  // memcmp for a few bytes, without the call.
  static bool Same(const char* a, const char* b, size_t bytes) {
    uint64_t x = 0, y = 0;
    for (; bytes > 8; bytes -= 8, a += 8, b += 8) {
      std::memcpy(&x, a, 8);
      std::memcpy(&y, b, 8);
      if (x != y) return false;
    }
    for (size_t i = 0; i < bytes; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  void Clear(size_t slots);
  void Place(const Slot& slot);

  std::vector<Slot> slots_;
  std::vector<uint32_t> items_;
  size_t mask_ = 0;
  size_t words_ = 0;
};

}  // namespace headrace
