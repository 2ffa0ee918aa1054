// For tests only: SentencePiece models written by hand.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::tokenizer_test {

// protobuf's wire format.
inline std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
inline std::string Number(uint32_t field, uint64_t value) {
  return Varint(field << 3) + Varint(value);
}
inline std::string Bytes(uint32_t field, std::string_view value) {
  return Varint(field << 3 | 2) + Varint(value.size()) + std::string(value);
}

enum : int { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

class ModelBytes {
 public:
  // <unk> 0, <s> 1, </s> 2
  ModelBytes() { Piece("<unk>", 0, kUnknown).Piece("<s>", 0, kControl).Piece("</s>", 0, kControl); }

  ModelBytes& Piece(std::string_view text, float score = 0, int type = kNormal) {
    const auto bits = std::bit_cast<uint32_t>(score);
    std::string fixed;
    for (int i = 0; i < 4; ++i) fixed.push_back(static_cast<char>(bits >> (8 * i)));
    pieces_ += Bytes(
        1, Bytes(1, text) + Varint(2 << 3 | 5) + fixed + Number(3, static_cast<uint64_t>(type)));
    return *this;
  }
  ModelBytes& Trainer(uint32_t field, uint64_t value) {
    trainer_ += Number(field, value);
    return *this;
  }
  ModelBytes& Normalizer(uint32_t field, uint64_t value) {
    normalizer_ += Number(field, value);
    return *this;
  }
  std::string Build() const { return pieces_ + Bytes(2, trainer_) + Bytes(3, normalizer_); }

 private:
  std::string pieces_, trainer_, normalizer_;
};

// "▁the" 3, "▁" 4, "t" 5, "h" 6, "e" 7, "he" 8: in order of their scores.
inline ModelBytes TheModel() {
  ModelBytes model;
  model.Piece("\xe2\x96\x81the", -1).Piece("\xe2\x96\x81", -2).Piece("t", -3).Piece("h", -4);
  model.Piece("e", -5).Piece("he", -6);
  return model;
}

}  // namespace headrace::tokenizer_test
