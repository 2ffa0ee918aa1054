// Text as a SentencePiece model wants it: its character map (NFKC and the like) applied, spaces
// collapsed and written as U+2581. Byte for byte what libsentencepiece does. Immutable, any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/tokenizer/piece_trie.h"
#include "pipeline/tokenizer/sentence_model.h"

namespace headrace {

inline constexpr std::string_view kSpaceMark = "\xe2\x96\x81";

// Bytes of the UTF-8 character that `text` starts with, as its first byte says; at most
// text.size().
size_t CharacterBytes(std::string_view text);

class TextNormalizer {
 public:
  // DATA_LOSS for a damaged character map.
  static absl::StatusOr<TextNormalizer> Create(const SentenceModel& model);

  // `out` is replaced, and so is `word_starts`: where in `out` a space became a mark behind
  // something else than a mark. (A mark that the text itself holds begins no word here.)
  void Normalize(std::string_view text, std::string& out, std::vector<uint32_t>& word_starts) const;

 private:
  struct Step {  // what the first characters of a text become
    std::string_view to;
    size_t bytes;
  };

  TextNormalizer() = default;
  void IndexAscii();
  size_t PlainBytes(std::string_view text) const;
  // Takes words and the spaces between them from the front of `text`, as long as they are of
  // printable ASCII and more follows; a part of it, perhaps none. Returns how many bytes it took.
  size_t TakePlainWords(std::string_view text, std::string& out, std::vector<uint32_t>& word_starts,
                        bool& after_space) const;
  void AddSpace(std::string& out, std::vector<uint32_t>& word_starts) const;
  uint32_t Unit(size_t at) const;
  bool Follow(uint32_t& node, char byte) const;
  Step Next(std::string_view text) const;

  std::string units_;   // a darts-clone double array, 4 bytes a unit
  std::string values_;  // zero-terminated texts that it points at
  PieceTrie user_defined_;
  // What an ASCII byte becomes that is not followed by a non-ASCII one, where that is one byte;
  // else 0.
  std::array<char, 128> ascii_{};
  bool add_prefix_ = true;
  bool collapse_ = true;
  bool suffix_ = false;
  bool plain_ascii_ = false;  // printable ASCII stays as it is, and a space becomes a mark
  std::string_view space_ = kSpaceMark;
};

}  // namespace headrace
