// Values over what etcd takes at once: cut into pieces under keys "BASE.PIECES.PIECE" (both in
// hexadecimal), and put together again. For EtcdJournal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fmt/format.h"

namespace headrace {

inline constexpr size_t kMostPieces = 0xffff;

inline std::string PieceKey(std::string_view base, size_t pieces, size_t piece) {
  return fmt::format("{}.{:04x}.{:04x}", base, pieces, piece);
}

// Takes keys and values in the order of the keys.
class PieceJoiner {
 public:
  // True: this was the last piece of `base()`, and `value()` is whole. Pieces of a value whose last
  // one never comes are dropped with the first of the next value. False for a key that is none,
  // too.
  bool Add(std::string_view key, std::string_view piece) {
    const std::optional<Name> name = Parse(key);
    if (!name.has_value()) return false;
    if (name->piece == 0) {
      base_ = name->base;
      value_.clear();
      pieces_ = name->pieces;
      next_ = 0;
    }
    if (name->base != base_ || name->pieces != pieces_ || name->piece != next_) {
      next_ = kMostPieces + 1;  // one is missing: this value cannot become whole
      return false;
    }
    value_ += piece;
    return ++next_ == pieces_;
  }
  const std::string& base() const { return base_; }
  const std::string& value() const { return value_; }

 private:
  struct Name {
    std::string_view base;
    size_t pieces = 0;
    size_t piece = 0;
  };
  static std::optional<size_t> Number(std::string_view text) {
    size_t number = 0;
    for (const char c : text) {
      const size_t digit = std::string_view("0123456789abcdef").find(c);
      if (digit == std::string_view::npos) return std::nullopt;
      number = number * 16 + digit;
    }
    return number;
  }
  static std::optional<Name> Parse(std::string_view key) {
    constexpr size_t kSuffix = 10;  // ".0001.0000"
    if (key.size() <= kSuffix) return std::nullopt;
    const std::string_view suffix = key.substr(key.size() - kSuffix);
    const std::optional<size_t> pieces = Number(suffix.substr(1, 4));
    const std::optional<size_t> piece = Number(suffix.substr(6));
    if (suffix[0] != '.' || suffix[5] != '.' || !pieces || !piece) return std::nullopt;
    return Name{key.substr(0, key.size() - kSuffix), *pieces, *piece};
  }

  std::string base_;
  std::string value_;
  size_t pieces_ = 0;
  size_t next_ = 0;
};

}  // namespace headrace
