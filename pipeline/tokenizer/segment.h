// How a normalized text is cut into pieces: by the two model types. Used by Tokenizer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/tokenizer/piece_trie.h"
#include "pipeline/tokenizer/sentence_model.h"

namespace headrace {

// A piece of a text: its id (the unknown piece's where there is none), its bytes, and what it adds
// to a unigram cut's score.
struct TextPiece {
  int32_t id;
  uint32_t bytes;
  float score;
};

// The vocabulary as the two algorithms use it. Immutable, any thread.
struct Vocabulary {
  SentenceModel model;
  PieceTrie in_text;       // pieces that a text may be cut into
  PieceTrie user_defined;  // of these, the ones that are never cut
  float lowest = 0;        // score of a normal piece
  float highest = 0;
};

// A sum of scores as libsentencepiece rounds it.
inline float AddScore(float sum, double score) {
  return static_cast<float>(score + static_cast<double>(sum));
}

// The most likely cut (Viterbi). Sums are float32 like libsentencepiece's, so that ties, which are
// common ("000" is "0 00" or "00 0"), fall alike.
class UnigramSegmenter {
 public:
  // Appends to `out`. `before`: the sum of what stands before this text. Returns by how much the
  // closest decision on the way was won.
  float Run(const Vocabulary& vocabulary, std::string_view text, float before,
            std::vector<TextPiece>& out);

 private:
  struct Best {  // the best way to a position
    int32_t id = -1;
    float score = 0;  // the sum up to here
    float piece = 0;  // the last piece's part of it
    int32_t from = -1;
  };
  std::vector<Best> best_;
};

// Joins neighbours, the pair with the best score first.
class BpeSegmenter {
 public:
  void Run(const Vocabulary& vocabulary, std::string_view text, std::vector<TextPiece>& out);

 private:
  struct Symbol {
    int32_t before, after;  // neighbours, -1: none
    uint32_t at, bytes;     // bytes 0: joined to another
    bool frozen;
  };
  struct Pair {
    float score;
    int32_t left, right;
    uint32_t bytes;
    // The heap's front: best score, then leftmost.
    bool operator<(const Pair& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };
  void Propose(const Vocabulary& vocabulary, std::string_view text, int32_t left, int32_t right);
  void Emit(const Vocabulary& vocabulary, std::string_view piece,
            std::vector<TextPiece>& out) const;

  std::vector<Symbol> symbols_;
  std::vector<Pair> heap_;
  // Unused pieces that were made: cut up again in the end.
  struct Join {
    std::string_view whole;
    size_t left;
  };
  std::vector<Join> joins_;
};

}  // namespace headrace
