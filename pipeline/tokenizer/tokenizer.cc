#include "pipeline/tokenizer/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/status.h"
#define XXH_INLINE_ALL
#include "xxhash.h"

namespace headrace {
namespace {

// Whether `text` goes on with a space mark after something else.
bool HoldsAWordStart(std::string_view text) {
  for (size_t at = text.find(kSpaceMark); at != std::string_view::npos;
       at = text.find(kSpaceMark, at + kSpaceMark.size())) {
    if (at > 0 && !text.substr(0, at).ends_with(kSpaceMark)) return true;
  }
  return false;
}

// By how much the sums of two cuts of a word may be off because of what stands before it: half a
// unit in the last place for each piece; and as much again for what is not counted here.
float RoundingError(size_t bytes, float sum) {
  constexpr float kUnit = std::numeric_limits<float>::epsilon();
  constexpr float kWord = 1000;  // no word adds more
  return 2 * static_cast<float>(bytes) * kUnit * (std::abs(sum) + kWord);
}

}  // namespace

absl::StatusOr<Tokenizer> Tokenizer::Create(std::string_view bytes) {
  Vocabulary vocabulary;
  HR_ASSIGN_OR_RETURN(vocabulary.model, ParseSentenceModel(bytes));
  HR_ASSIGN_OR_RETURN(TextNormalizer normalizer, TextNormalizer::Create(vocabulary.model));
  return Tokenizer(std::move(vocabulary), std::move(normalizer));
}

Tokenizer::Tokenizer(Vocabulary vocabulary, TextNormalizer normalizer)
    : vocabulary_(std::move(vocabulary)), normalizer_(std::move(normalizer)) {
  using Type = SentenceModel::Type;
  std::vector<std::pair<std::string_view, int32_t>> in_text, user_defined;
  vocabulary_.lowest = std::numeric_limits<float>::max();
  vocabulary_.highest = std::numeric_limits<float>::lowest();
  int32_t id = 0;
  for (const SentenceModel::Piece& piece : vocabulary_.model.pieces) {
    if (piece.type == Type::kNormal) {
      vocabulary_.lowest = std::min(vocabulary_.lowest, piece.score);
      vocabulary_.highest = std::max(vocabulary_.highest, piece.score);
    }
    if (piece.in_text()) in_text.emplace_back(piece.text, id);
    if (piece.type == Type::kUserDefined) user_defined.emplace_back(piece.text, id);
    if (piece.in_text() && HoldsAWordStart(piece.text)) by_word_ = false;
    ++id;
  }
  if (!vocabulary_.model.escape_whitespaces) by_word_ = false;
  // Of unknown characters too (see UnigramSegmenter).
  worst_score_ = std::max(std::abs(vocabulary_.lowest), std::abs(vocabulary_.highest)) + 10;
  vocabulary_.in_text = PieceTrie(std::move(in_text));
  vocabulary_.user_defined = PieceTrie(std::move(user_defined));
}

// Unknown characters in a row are one unknown piece.
void Tokenizer::Append(std::span<const int32_t> ids, std::vector<int32_t>& out,
                       size_t first) const {
  const int32_t unk = vocabulary_.model.unk;
  if (!ids.empty() && ids.front() == unk && out.size() > first && out.back() == unk)
    ids = ids.subspan(1);
  out.insert(out.end(), ids.begin(), ids.end());
}

// Cuts `part` up; the result lies in `scratch`.
WordCache::Word Tokenizer::Cut(std::string_view part, float before, Scratch& scratch) const {
  const SentenceModel& model = vocabulary_.model;
  std::vector<int32_t>& ids = scratch.part_ids_;
  ids.clear();
  scratch.part_scores_.clear();
  scratch.segments_.clear();
  float lead = std::numeric_limits<float>::max();
  if (model.kind == SentenceModel::Kind::kUnigram) {
    lead = scratch.unigram_.Run(vocabulary_, part, before, scratch.segments_);
    for (const TextPiece& segment : scratch.segments_)
      scratch.part_scores_.push_back(segment.score);
  } else {
    scratch.bpe_.Run(vocabulary_, part, scratch.segments_);
  }
  for (const TextPiece& segment : scratch.segments_) {
    if (segment.id == model.unk && model.byte_fallback) {
      for (const char c : part.substr(0, segment.bytes))
        ids.push_back(model.bytes[static_cast<uint8_t>(c)]);
    } else {
      Append({&segment.id, 1}, ids, 0);
    }
    part.remove_prefix(segment.bytes);
  }
  return {ids, scratch.part_scores_, lead};
}

// Puts `ids` behind those of the text from `begin` on, at `out`; there is room. Unknown characters
// in a row are one unknown piece.
int32_t* Tokenizer::Put(std::span<const int32_t> ids, const int32_t* begin, int32_t* out) const {
  const int32_t unk = vocabulary_.model.unk;
  if (!ids.empty() && ids.front() == unk && out > begin && out[-1] == unk) ids = ids.subspan(1);
  for (const int32_t id : ids) *out++ = id;
  return out;
}

// The sum of the scores of all pieces so far, rounded as libsentencepiece rounds it. It is seldom
// asked for, and each addition waits for the one before.
float Tokenizer::Scratch::Sum() {
  for (const float score : scores_) sum_ = AddScore(sum_, static_cast<double>(score));
  scores_.clear();
  return sum_;
}

void Tokenizer::Encode(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const {
  normalizer_.Normalize(text, scratch.normalized_, scratch.word_starts_);
  const std::string_view all = scratch.normalized_;
  if (!by_word_) scratch.word_starts_.clear();
  scratch.word_starts_.push_back(static_cast<uint32_t>(all.size()));
  scratch.hashes_.clear();
  size_t begin = 0;
  for (const size_t end : scratch.word_starts_) {
    const std::string_view part = all.substr(begin, end - begin);
    const bool kept = part.size() <= WordCache::kMaxWordBytes;
    scratch.hashes_.push_back(kept ? XXH3_64bits(part.data(), part.size()) : 0);
    scratch.words_.Prefetch(scratch.hashes_.back());
    begin = end;
  }
  scratch.sum_ = 0;
  scratch.scores_.clear();
  const size_t had = ids.size();
  ids.resize(had + all.size());  // a piece has a byte at least
  int32_t* const first = ids.data() + had;
  int32_t* out = first;
  begin = 0;
  for (size_t word = 0; word < scratch.hashes_.size(); ++word) {
    const std::string_view part = all.substr(begin, scratch.word_starts_[word] - begin);
    const uint64_t hash = scratch.hashes_[word];
    const bool kept = part.size() <= WordCache::kMaxWordBytes;
    begin = scratch.word_starts_[word];
    WordCache::Word cut = kept ? scratch.words_.Find(part, hash) : WordCache::Word();
    const bool found = !cut.ids.empty();
    // No piece adds more than that, so most words need no exact sum.
    const float at_most = worst_score_ * static_cast<float>(begin);
    if (!found || (cut.lead <= RoundingError(part.size(), at_most) &&
                   cut.lead <= RoundingError(part.size(), scratch.Sum()))) {
      const float sum = scratch.Sum();
      cut = Cut(part, sum, scratch);
      if (kept && !found && cut.lead > RoundingError(part.size(), sum))
        scratch.words_.Add(part, hash, cut);
    }
    out = Put(cut.ids, first, out);
    scratch.scores_.insert(scratch.scores_.end(), cut.scores.begin(), cut.scores.end());
  }
  ids.resize(static_cast<size_t>(out - ids.data()));
}

}  // namespace headrace
