// Text to token ids by a SentencePiece model: the same ids as libsentencepiece's, several times as
// fast. Where no piece of the vocabulary reaches over the start of a word (so of nearly every
// model), words are cut up one by one and remembered in the caller's scratch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/tokenizer/segment.h"
#include "pipeline/tokenizer/sentence_model.h"
#include "pipeline/tokenizer/text_normalizer.h"
#include "pipeline/tokenizer/word_cache.h"

namespace headrace {

// Immutable, any thread.
class Tokenizer {
 public:
  // What a thread needs to work; kept from text to text.
  class Scratch {
    friend class Tokenizer;
    float Sum();
    std::string normalized_;
    std::vector<uint32_t> word_starts_;
    std::vector<uint64_t> hashes_;  // of the words
    UnigramSegmenter unigram_;
    BpeSegmenter bpe_;
    std::vector<TextPiece> segments_;
    std::vector<int32_t> part_ids_;
    std::vector<float> part_scores_;
    float sum_ = 0;              // of the scores of all pieces so far, but for
    std::vector<float> scores_;  // these
    WordCache words_;
  };

  // From the bytes of a .model file. Errors: see ParseSentenceModel.
  static absl::StatusOr<Tokenizer> Create(std::string_view model);

  // Appends the ids of `text`: any bytes, malformed UTF-8 counts as U+FFFD.
  void Encode(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const;

  int32_t bos() const { return vocabulary_.model.bos; }  // -1: the model has none
  int32_t eos() const { return vocabulary_.model.eos; }
  size_t vocabulary_size() const { return vocabulary_.model.pieces.size(); }
  // Whether words are cut up one by one.
  bool by_word() const { return by_word_; }

 private:
  Tokenizer(Vocabulary vocabulary, TextNormalizer normalizer);
  WordCache::Word Cut(std::string_view part, float before, Scratch& scratch) const;
  void Append(std::span<const int32_t> ids, std::vector<int32_t>& out, size_t first) const;
  int32_t* Put(std::span<const int32_t> ids, const int32_t* begin, int32_t* out) const;

  Vocabulary vocabulary_;
  TextNormalizer normalizer_;
  bool by_word_ = true;
  float worst_score_ = 0;
};

}  // namespace headrace
