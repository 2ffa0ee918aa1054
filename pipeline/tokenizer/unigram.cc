#include <algorithm>
#include <cmath>
#include <limits>

#include "pipeline/tokenizer/segment.h"
#include "pipeline/tokenizer/text_normalizer.h"

namespace headrace {
namespace {

// What libsentencepiece takes off the lowest score for a character that is no piece.
constexpr float kUnknownPenalty = 10.0f;

}  // namespace

float UnigramSegmenter::Run(const Vocabulary& vocabulary, std::string_view text, float before,
                            std::vector<TextPiece>& out) {
  const SentenceModel& model = vocabulary.model;
  const float unknown = vocabulary.lowest - kUnknownPenalty;
  double closest = std::numeric_limits<float>::max();
  best_.assign(text.size() + 1, {});
  best_[0].score = before;
  const auto offer = [&](size_t from, size_t to, int32_t id, double score) {
    Best& best = best_[to];
    const double candidate = score + static_cast<double>(best_[from].score);
    if (best.from != -1) {
      const double lead = candidate - static_cast<double>(best.score);
      closest = std::min(closest, std::abs(lead));
      if (lead <= 0) return;
    }
    best = {id, static_cast<float>(candidate), static_cast<float>(score),
            static_cast<int32_t>(from)};
  };
  for (size_t from = 0; from < text.size();) {
    const size_t character = CharacterBytes(text.substr(from));
    bool character_is_piece = false;
    int32_t node = PieceTrie::kRoot;
    for (size_t to = from; to < text.size();) {
      node = vocabulary.in_text.Next(node, text[to++]);
      if (node == PieceTrie::kNone) break;
      const int32_t id = vocabulary.in_text.At(node);
      if (id == PieceTrie::kNone) continue;
      const SentenceModel::Piece& piece = model.pieces[static_cast<size_t>(id)];
      if (piece.type == SentenceModel::Type::kUnused) continue;
      const size_t bytes = to - from;
      // A user-defined piece beats any way of cutting it.
      const double score =
          piece.type == SentenceModel::Type::kUserDefined
              ? static_cast<double>(static_cast<float>(bytes) * vocabulary.highest) - 0.1
              : static_cast<double>(piece.score);
      offer(from, to, id, score);
      character_is_piece |= bytes == character;
    }
    if (!character_is_piece) offer(from, from + character, model.unk, static_cast<double>(unknown));
    from += character;
  }
  const size_t first = out.size();
  for (size_t to = text.size(); to > 0;) {
    const Best& best = best_[to];
    const auto from = static_cast<size_t>(best.from);
    out.push_back({best.id, static_cast<uint32_t>(to - from), best.piece});
    to = from;
  }
  std::reverse(out.begin() + static_cast<ptrdiff_t>(first), out.end());
  return static_cast<float>(closest);
}

}  // namespace headrace
