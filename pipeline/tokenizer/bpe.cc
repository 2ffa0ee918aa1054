#include <algorithm>

#include "pipeline/tokenizer/segment.h"
#include "pipeline/tokenizer/text_normalizer.h"

namespace headrace {

void BpeSegmenter::Propose(const Vocabulary& vocabulary, std::string_view text, int32_t left,
                           int32_t right) {
  if (left == -1 || right == -1) return;
  const Symbol& a = symbols_[static_cast<size_t>(left)];
  const Symbol& b = symbols_[static_cast<size_t>(right)];
  if (a.frozen || b.frozen) return;
  const std::string_view whole = text.substr(a.at, a.bytes + b.bytes);
  const int32_t id = vocabulary.in_text.Find(whole);
  if (id == PieceTrie::kNone) return;
  const SentenceModel::Piece& piece = vocabulary.model.pieces[static_cast<size_t>(id)];
  heap_.push_back({piece.score, left, right, a.bytes + b.bytes});
  std::push_heap(heap_.begin(), heap_.end());
  if (piece.type == SentenceModel::Type::kUnused) joins_.push_back({whole, a.bytes});
}

void BpeSegmenter::Emit(const Vocabulary& vocabulary, std::string_view piece,
                        std::vector<TextPiece>& out) const {
  const int32_t id = vocabulary.in_text.Find(piece);
  if (id == PieceTrie::kNone) {
    out.push_back({vocabulary.model.unk, static_cast<uint32_t>(piece.size()), 0});
    return;
  }
  if (vocabulary.model.pieces[static_cast<size_t>(id)].type == SentenceModel::Type::kUnused) {
    for (auto join = joins_.rbegin(); join != joins_.rend(); ++join) {
      if (join->whole != piece) continue;
      Emit(vocabulary, piece.substr(0, join->left), out);
      Emit(vocabulary, piece.substr(join->left), out);
      return;
    }
  }
  out.push_back({id, static_cast<uint32_t>(piece.size()), 0});
}

void BpeSegmenter::Run(const Vocabulary& vocabulary, std::string_view text,
                       std::vector<TextPiece>& out) {
  symbols_.clear();
  heap_.clear();
  joins_.clear();
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const size_t whole =
        vocabulary.user_defined.empty() ? 0 : vocabulary.user_defined.LongestPrefix(rest);
    const size_t bytes = whole > 0 ? whole : CharacterBytes(rest);
    const auto index = static_cast<int32_t>(symbols_.size());
    at += bytes;
    symbols_.push_back({index - 1, at == text.size() ? -1 : index + 1,
                        static_cast<uint32_t>(at - bytes), static_cast<uint32_t>(bytes),
                        whole > 0});
  }
  for (int32_t i = 1; i < static_cast<int32_t>(symbols_.size()); ++i)
    Propose(vocabulary, text, i - 1, i);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Pair pair = heap_.back();
    heap_.pop_back();
    Symbol& left = symbols_[static_cast<size_t>(pair.left)];
    Symbol& right = symbols_[static_cast<size_t>(pair.right)];
    if (left.bytes == 0 || right.bytes == 0 || left.bytes + right.bytes != pair.bytes) continue;
    left.bytes = pair.bytes;
    left.after = right.after;
    if (right.after >= 0) symbols_[static_cast<size_t>(right.after)].before = pair.left;
    right.bytes = 0;
    Propose(vocabulary, text, left.before, pair.left);
    Propose(vocabulary, text, pair.left, left.after);
  }
  for (int32_t i = symbols_.empty() ? -1 : 0; i != -1; i = symbols_[static_cast<size_t>(i)].after) {
    const Symbol& symbol = symbols_[static_cast<size_t>(i)];
    Emit(vocabulary, text.substr(symbol.at, symbol.bytes), out);
  }
}

}  // namespace headrace
