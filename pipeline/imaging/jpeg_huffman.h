// Huffman tables of a JPEG, prepared for jpeg_entropy.h: what the next bits mean in one look-up,
// and how far several symbols lead. ITU-T T.81, annexes C and F.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace headrace {

// One symbol: a code, the value bits behind it, and the coefficients from the last one to this one
// (1 for a DC difference).
struct HuffmanSymbol {
  static constexpr uint32_t kEndOfBlock = 64;  // as an advance
  static constexpr uint32_t kUnknown = 255;    // as an advance: no code, or a long one

  uint32_t packed = kUnknown << 24;

  static constexpr HuffmanSymbol Make(uint32_t code_bits, uint32_t value_bits, uint32_t advance) {
    return {(code_bits + value_bits) | code_bits << 8 | (63 - value_bits) << 16 | advance << 24};
  }
  constexpr uint32_t bits() const { return packed & 63; }  // of code and value
  constexpr uint32_t code_bits() const { return packed >> 8 & 63; }
  // Brings the value down, which code_bits() and 1 brought to the top but one of 64 bits; without
  // value bits nothing is left.
  constexpr uint32_t shift() const { return packed >> 16 & 63; }
  constexpr uint32_t advance() const { return packed >> 24; }
};

// How far one look-up leads when no values are wanted: over as many symbols as there are.
struct HuffmanHop {
  uint16_t packed = 0;

  // A block's last coefficient is 63, so the sum of a place (0 to 62) and an advance tells all:
  // below 63 the block goes on, 63 is its end, kEnd to kEnd + 62 an end by symbol. Anything else
  // has to be gone through symbol by symbol.
  static constexpr uint32_t kEnd = 256;  // more than any look-up's coefficients
  static constexpr uint32_t kUnknown = 1000;

  constexpr uint32_t bits() const { return packed & 63; }
  constexpr uint32_t advance() const { return packed >> 6; }
};

class HuffmanTable {
 public:
  static constexpr uint32_t kLookupBits = 10;
  static constexpr uint32_t kHopBits = 12;
  // More value bits than an 8-bit sequential file can have are not taken, so that no symbol is
  // longer than these: what the reader's arithmetic relies on.
  static constexpr uint32_t kMostAcValueBits = 10;
  static constexpr uint32_t kMostAcBits = 16 + kMostAcValueBits;
  static constexpr uint32_t kMostDcBits = 16 + 11;

  enum class Kind { kDc, kAc };

  // `counts`: codes of each length 1 to 16; `values` in the order of their codes.
  HuffmanTable(Kind kind, const uint8_t* counts, const uint8_t* values);

  bool Holds(Kind kind, const uint8_t* counts, const uint8_t* values) const;
  // False for what is not a proper prefix code, or has symbols that 8-bit sequential files have
  // not.
  bool Validate();
  // What the look-ups need; some microseconds each the first time, then nothing.
  void BuildLookup();
  void BuildHops();

  // By as many bits as the table's, the first one at the top.
  const HuffmanSymbol* lookup() const { return lookup_.data(); }
  const HuffmanHop* hops() const { return hops_.data(); }
  // Any code, slowly; kUnknown when there is none.
  HuffmanSymbol Find(uint64_t bits) const;

 private:
  struct Code {
    uint32_t first;  // bits of the code, at the top of 16
    HuffmanSymbol symbol;
  };
  HuffmanSymbol SymbolOf(uint8_t value, uint32_t code_bits) const;
  void BuildHopsOf(uint32_t bits, const HuffmanHop* const* shorter, HuffmanHop* out) const;

  Kind kind_;
  std::array<uint8_t, 16> counts_{};
  std::array<uint8_t, 256> values_{};
  size_t size_ = 0;
  std::vector<Code> codes_;  // by length, which is by code too
  std::vector<HuffmanSymbol> lookup_;
  std::vector<HuffmanHop> hops_;
};

// The tables that a thread used last. Many files have tables of their own, which are built if the
// file is large enough to gain by it; others must be seen twice.
class HuffmanTableCache {
 public:
  // To be called before the tables of a file are asked for: these stay until the next file.
  void BeginFile() { ++file_; }
  // Null: not worth it, or nothing that HuffmanTable takes.
  HuffmanTable* Get(HuffmanTable::Kind kind, const uint8_t* counts, const uint8_t* values,
                    bool worth_building);

 private:
  struct Slot {
    std::unique_ptr<HuffmanTable> table;
    bool valid = false;
    bool wanted = false;  // by a file that is large enough, or by a second one
    uint64_t used = 0;    // by which file, last
  };
  static constexpr size_t kSlots = 16;  // a file has at most eight

  std::array<Slot, kSlots> slots_;
  uint64_t file_ = 0;
};

}  // namespace headrace
