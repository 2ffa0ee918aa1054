// How words seen before were cut: texts repeat their words, and finding one is ten times as fast as
// cutting it up. Bounded; forgets everything when full. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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

  // Valid until the next Add.
  Word Find(std::string_view word, uint64_t hash) const {
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.ids_size == 0) return {};
      if (slot.hash == hash && word == std::string_view(text_.data() + slot.text, slot.text_size))
        return {{ids_.data() + slot.ids, slot.ids_size},
                {scores_.data() + slot.scores, slot.scores_size},
                slot.lead};
    }
  }
  // A word that Find did not find, of at most kMaxWordBytes; one without ids is not kept.
  void Add(std::string_view word, uint64_t hash, const Word& cut);

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t text = 0;  // where in text_
    uint32_t ids = 0;
    uint32_t scores = 0;
    float lead = 0;
    uint16_t text_size = 0;
    uint16_t ids_size = 0;  // 0: empty slot
    uint16_t scores_size = 0;
  };
  void Clear(size_t slots);
  void Place(const Slot& slot);

  std::vector<Slot> slots_;
  std::string text_;
  std::vector<int32_t> ids_;
  std::vector<float> scores_;
  size_t mask_ = 0;
  size_t words_ = 0;
};

}  // namespace headrace
