// A SentencePiece model (the .model file that spm_train writes), read into plain data. The file is
// a protobuf message of github.com/google/sentencepiece (sentencepiece_model.proto); why it is read
// here and not by libsentencepiece: docs/design/012-tokenizer.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace headrace {

struct SentenceModel {
  enum class Kind : uint8_t { kUnigram = 1, kBpe = 2 };
  enum class Type : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::kNormal;

    // What a text may be cut into; the others stand for no text of their own.
    bool in_text() const {
      return type == Type::kNormal || type == Type::kUserDefined || type == Type::kUnused;
    }
  };

  Kind kind = Kind::kUnigram;
  std::vector<Piece> pieces;  // the position is the id
  int32_t unk = -1;
  int32_t bos = -1;  // -1: the model has none
  int32_t eos = -1;
  bool byte_fallback = false;        // unknown characters become their bytes' pieces
  std::array<int32_t, 256> bytes{};  // their ids, when byte_fallback

  // Of the normalizer.
  std::string charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool whitespace_as_suffix = false;
};

// DATA_LOSS when the bytes are no such message, UNIMPLEMENTED for the model types WORD and CHAR.
absl::StatusOr<SentenceModel> ParseSentenceModel(std::string_view bytes);

}  // namespace headrace
