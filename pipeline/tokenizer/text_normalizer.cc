#include "pipeline/tokenizer/text_normalizer.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/status.h"

namespace headrace {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool IsTrail(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

// Bytes of the valid UTF-8 character at the front; 0: there is none.
size_t ValidCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (!IsTrail(text[i])) return 0;
  }
  if (size == 2) return 2;
  uint32_t code = first & (size == 3 ? 0x0f : 0x07);
  for (size_t i = 1; i < size; ++i) code = code << 6 | (byte(i) & 0x3f);
  if (size == 3) return code >= 0x800 && (code < 0xd800 || code > 0xdfff) ? 3 : 0;
  return code >= 0x10000 && code <= 0x10ffff ? 4 : 0;
}

// darts-clone (github.com/s-yata/darts-clone): what the bits of a unit mean.
uint32_t Label(uint32_t unit) { return unit & ((1u << 31) | 0xff); }
uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Value(uint32_t unit) { return unit & ((1u << 31) - 1); }

}  // namespace

size_t CharacterBytes(std::string_view text) {
  constexpr uint8_t kBytes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  return std::min<size_t>(kBytes[static_cast<uint8_t>(text[0]) >> 4], text.size());
}

absl::StatusOr<TextNormalizer> TextNormalizer::Create(const SentenceModel& model) {
  TextNormalizer out;
  if (const std::string_view map = model.charsmap; !map.empty()) {
    uint32_t size = 0;  // little-endian
    if (map.size() >= 4) std::memcpy(&size, map.data(), 4);
    if (map.size() < 4 || size > map.size() - 4 || size < 4 || size % 4 != 0)
      return DataLoss("the SentencePiece model has a damaged character map of {} bytes",
                      map.size());
    out.units_ = map.substr(4, size);
    out.values_ = map.substr(4 + size);
    if (out.values_.empty() || out.values_.back() != '\0') out.values_.push_back('\0');
  }
  std::vector<std::pair<std::string_view, int32_t>> user_defined;
  for (const SentenceModel::Piece& piece : model.pieces) {
    if (piece.type == SentenceModel::Type::kUserDefined) user_defined.emplace_back(piece.text, 0);
  }
  out.user_defined_ = PieceTrie(std::move(user_defined));
  out.add_prefix_ = model.add_dummy_prefix;
  out.collapse_ = model.remove_extra_whitespaces;
  out.suffix_ = model.whitespace_as_suffix;
  if (!model.escape_whitespaces) out.space_ = " ";
  out.IndexAscii();
  return out;
}

void TextNormalizer::IndexAscii() {
  for (int b = 1; b < 128; ++b) {
    const char byte = static_cast<char>(b);
    if (user_defined_.Next(PieceTrie::kRoot, byte) != PieceTrie::kNone) continue;
    bool longer = false;  // a rule about it and an ASCII byte behind it
    if (uint32_t node = 0; !units_.empty() && Follow(node = Offset(Unit(0)), byte)) {
      for (int next = 0; next < 128; ++next) {
        uint32_t behind = node;
        longer |= Follow(behind, static_cast<char>(next));
      }
    }
    const Step step = Next({&byte, 1});
    if (!longer && step.to.size() == 1) ascii_[static_cast<size_t>(b)] = step.to[0];
  }
  plain_ascii_ = space_ == kSpaceMark;
  for (char c = ' '; c < 127; ++c) plain_ascii_ &= ascii_[static_cast<size_t>(c)] == c;
}

uint32_t TextNormalizer::Unit(size_t at) const {
  uint32_t unit = 0;
  if (at < units_.size() / 4) std::memcpy(&unit, units_.data() + 4 * at, 4);
  return unit;
}

// `node`: where the labels behind it are reckoned from. False when nothing goes on with `byte`.
bool TextNormalizer::Follow(uint32_t& node, char byte) const {
  const uint32_t at = node ^ static_cast<uint8_t>(byte);
  const uint32_t unit = Unit(at);
  // A zero byte's label is that of an empty unit too.
  if (Label(unit) != static_cast<uint8_t>(byte) || unit == 0) return false;
  node = at ^ Offset(unit);
  return true;
}

TextNormalizer::Step TextNormalizer::Next(std::string_view text) const {
  if (!user_defined_.empty()) {
    const size_t bytes = user_defined_.LongestPrefix(text);
    if (bytes > 0) return {text.substr(0, bytes), bytes};
  }
  size_t longest = 0;
  uint32_t value = 0;
  if (!units_.empty()) {
    uint32_t node = Offset(Unit(0));
    for (size_t i = 0; i < text.size(); ++i) {
      const uint32_t at = node ^ static_cast<uint8_t>(text[i]);
      const bool leaf = HasLeaf(Unit(at));
      if (!Follow(node, text[i])) break;
      if (leaf) {
        longest = i + 1;
        value = Value(Unit(node));
      }
    }
  }
  if (longest > 0) {
    if (value >= values_.size()) return {kReplacement, longest};
    return {values_.c_str() + value, longest};
  }
  const size_t bytes = ValidCharacter(text);
  if (bytes == 0) return {kReplacement, 1};
  return {text.substr(0, bytes), bytes};
}

// Bytes at the front that stay as they are, none of them a space.
size_t TextNormalizer::PlainBytes(std::string_view text) const {
  size_t bytes = 0;
  while (bytes < text.size()) {
    const auto byte = static_cast<uint8_t>(text[bytes]);
    if (byte >= 0x80) return bytes == 0 ? 0 : bytes - 1;  // the one before may belong to it
    if (ascii_[byte] != text[bytes] || byte == ' ') return bytes;
    ++bytes;
  }
  return bytes;
}

size_t TextNormalizer::TakePlainWords([[maybe_unused]] std::string_view text,
                                      [[maybe_unused]] std::string& out,
                                      [[maybe_unused]] std::vector<uint32_t>& word_starts,
                                      [[maybe_unused]] bool& after_space) const {
#if defined(__SSE2__)
  constexpr ptrdiff_t kStep = sizeof(__m128i), kMost = 512;
  const char* from = text.data();
  const char* const end = from + text.size();
  if (!plain_ascii_ || end - from <= kStep || *from < ' ' || *from > '~') return 0;
  const char* const most = std::min(end - kStep, from + kMost);
  const size_t had = out.size();
  out.resize(had + 3 * static_cast<size_t>(most - from + kStep) + kStep);  // all of it spaces
  char* const base = out.data();
  char* to = base + had;
  const __m128i space = _mm_set1_epi8(' '), del = _mm_set1_epi8(127);
  while (from < most) {
    const char* const word = from;
    const bool behind_space = after_space;
    int plain = 0;  // bytes of the last step
    do {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      // Signed: bytes over 127 are no larger than a space.
      const __m128i printable =
          _mm_and_si128(_mm_cmpgt_epi8(bytes, space), _mm_cmplt_epi8(bytes, del));
      plain = std::countr_one(static_cast<uint32_t>(_mm_movemask_epi8(printable)));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
      from += plain;
      to += plain;
    } while (plain == kStep && from < most);
    if (from > word) after_space = false;
    const auto next = static_cast<uint8_t>(*from);
    if (plain == kStep || next != ' ' || static_cast<uint8_t>(from[1]) >= 0x80) {
      if (next >= 0x80 && from > word) {  // it may belong to the byte before it
        --from;
        --to;
        if (from == word) after_space = behind_space;
      }
      break;
    }
    const bool begins_word =
        from > word ||
        (to > base &&
         !std::string_view(base, static_cast<size_t>(to - base)).ends_with(kSpaceMark));
    ++from;
    if (!after_space) {
      if (begins_word) word_starts.push_back(static_cast<uint32_t>(to - base));
      std::memcpy(to, kSpaceMark.data(), kSpaceMark.size());
      to += kSpaceMark.size();
    }
    after_space = collapse_;
  }
  out.resize(static_cast<size_t>(to - base));
  return static_cast<size_t>(from - text.data());
#else
  return 0;
#endif
}

void TextNormalizer::AddSpace(std::string& out, std::vector<uint32_t>& word_starts) const {
  if (!out.empty() && !out.ends_with(kSpaceMark))
    word_starts.push_back(static_cast<uint32_t>(out.size()));
  out += space_;
}

void TextNormalizer::Normalize(std::string_view text, std::string& out,
                               std::vector<uint32_t>& word_starts) const {
  out.clear();
  word_starts.clear();
  if (collapse_) {
    while (!text.empty()) {
      const Step step = Next(text);
      if (step.to != " ") break;
      text.remove_prefix(step.bytes);
    }
  }
  if (text.empty()) return;
  if (add_prefix_ && !suffix_) out += space_;
  bool after_space = collapse_;
  for (size_t at = 0; at < text.size();) {
    at += TakePlainWords(text.substr(at), out, word_starts, after_space);
    if (const size_t plain = PlainBytes(text.substr(at)); plain > 0) {
      out.append(text, at, plain);
      at += plain;
      after_space = false;
      continue;
    }
    const bool alone = at + 1 == text.size() || static_cast<uint8_t>(text[at + 1]) < 0x80;
    if (text[at] == ' ' && alone && ascii_[' '] == ' ') {
      ++at;
      if (!after_space) AddSpace(out, word_starts);
      after_space = collapse_;
      continue;
    }
    Step step = Next(text.substr(at));
    at += step.bytes;
    while (after_space && step.to.starts_with(' ')) step.to.remove_prefix(1);
    if (step.to.empty()) continue;
    for (const char c : step.to) {
      if (c == ' ') {
        AddSpace(out, word_starts);
      } else {
        out.push_back(c);
      }
    }
    after_space = collapse_ && step.to.ends_with(' ');
  }
  if (collapse_) {
    while (out.ends_with(space_)) out.resize(out.size() - space_.size());
    while (!word_starts.empty() && word_starts.back() >= out.size()) word_starts.pop_back();
  }
  if (add_prefix_ && suffix_) out += space_;
}

}  // namespace headrace
