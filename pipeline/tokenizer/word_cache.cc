#include "pipeline/tokenizer/word_cache.h"

#include <utility>

namespace headrace {

void WordCache::Clear(size_t slots) {
  slots_.assign(slots, {});
  mask_ = slots - 1;
  words_ = 0;
  text_.clear();
  ids_.clear();
  scores_.clear();
}

void WordCache::Place(const Slot& slot) {
  size_t at = slot.hash & mask_;
  while (slots_[at].ids_size != 0) at = (at + 1) & mask_;
  slots_[at] = slot;
}

void WordCache::Add(std::string_view word, uint64_t hash, const Word& cut) {
  if (cut.ids.empty() || cut.ids.size() > UINT16_MAX || word.size() > kMaxWordBytes) return;
  if (words_ == kMaxWords) Clear(slots_.size());
  if (2 * (words_ + 1) > slots_.size()) {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.ids_size != 0) Place(slot);
    }
  }
  Place({.hash = hash,
         .text = static_cast<uint32_t>(text_.size()),
         .ids = static_cast<uint32_t>(ids_.size()),
         .scores = static_cast<uint32_t>(scores_.size()),
         .lead = cut.lead,
         .text_size = static_cast<uint16_t>(word.size()),
         .ids_size = static_cast<uint16_t>(cut.ids.size()),
         .scores_size = static_cast<uint16_t>(cut.scores.size())});
  text_ += word;
  ids_.insert(ids_.end(), cut.ids.begin(), cut.ids.end());
  scores_.insert(scores_.end(), cut.scores.begin(), cut.scores.end());
  ++words_;
}

}  // namespace headrace
