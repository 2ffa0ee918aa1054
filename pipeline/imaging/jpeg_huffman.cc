#include "pipeline/imaging/jpeg_huffman.h"

#include <algorithm>
#include <cstring>

namespace headrace {

HuffmanTable::HuffmanTable(Kind kind, const uint8_t* counts, const uint8_t* values) : kind_(kind) {
  std::copy_n(counts, counts_.size(), counts_.begin());
  for (const uint8_t count : counts_) size_ += count;
  size_ = std::min(size_, values_.size());
  std::copy_n(values, size_, values_.begin());
}

bool HuffmanTable::Holds(Kind kind, const uint8_t* counts, const uint8_t* values) const {
  return kind == kind_ && std::memcmp(counts, counts_.data(), counts_.size()) == 0 &&
         std::memcmp(values, values_.data(), size_) == 0;
}

HuffmanSymbol HuffmanTable::SymbolOf(uint8_t value, uint32_t code_bits) const {
  if (kind_ == Kind::kDc) return HuffmanSymbol::Make(code_bits, value, 1);
  if (value == 0) return HuffmanSymbol::Make(code_bits, 0, HuffmanSymbol::kEndOfBlock);
  return HuffmanSymbol::Make(code_bits, value & 15u, (value >> 4) + 1u);
}

bool HuffmanTable::Validate() {
  codes_.clear();
  uint32_t code = 0;  // at the top of 16 bits
  size_t next = 0;
  for (uint32_t length = 1; length <= 16; ++length) {
    const uint32_t step = 1u << (16 - length);
    for (int i = 0; i < counts_[length - 1]; ++i, ++next, code += step) {
      // No code is all ones.
      if (next >= size_ || code + step >= 1u << 16) return false;
      const uint8_t value = values_[next];
      if (kind_ == Kind::kDc && value > kMostDcBits - 16) return false;
      if (kind_ == Kind::kAc) {
        // Runs without a value: the end of a block and sixteen zeros are all there is.
        const uint32_t value_bits = value & 15;
        if (value_bits == 0 && value != 0 && value != 0xf0) return false;
        if (value_bits > kMostAcValueBits) return false;
      }
      codes_.push_back({code, SymbolOf(value, length)});
    }
  }
  return !codes_.empty();
}

void HuffmanTable::BuildLookup() {
  if (!lookup_.empty()) return;
  lookup_.resize(1 << kLookupBits);  // unknown
  HuffmanSymbol* out = lookup_.data();
  for (const Code& code : codes_) {
    if (code.symbol.code_bits() > kLookupBits) break;
    out = std::fill_n(out, 1u << (kLookupBits - code.symbol.code_bits()), code.symbol);
  }
}

// Of a look-up of so many bits; what follows a symbol is a look-up of fewer.
void HuffmanTable::BuildHopsOf(uint32_t bits, const HuffmanHop* const* shorter,
                               HuffmanHop* out) const {
  HuffmanHop* const end = out + (1u << bits);
  for (const Code& code : codes_) {
    const HuffmanSymbol& symbol = code.symbol;
    if (symbol.code_bits() > bits) break;
    const uint32_t size = 1u << (bits - symbol.code_bits());
    const bool last = symbol.advance() == HuffmanSymbol::kEndOfBlock;
    const auto packed =
        static_cast<uint16_t>(symbol.bits() | (last ? HuffmanHop::kEnd : symbol.advance()) << 6);
    if (last || symbol.bits() >= bits) {
      std::fill_n(out, size, HuffmanHop{packed});
    } else {
      const uint32_t left = bits - symbol.bits();
      for (uint32_t i = 0; i < 1u << left; ++i) {
        out[i].packed = static_cast<uint16_t>(packed + shorter[left][i].packed);
      }
      for (uint32_t i = 1u << left; i < size; i += i) std::copy_n(out, i, out + i);
    }
    out += size;
  }
  const uint16_t none = bits == kHopBits ? HuffmanHop::kUnknown << 6 : 0;
  std::fill(out, end, HuffmanHop{none});
}

void HuffmanTable::BuildHops() {
  static_assert(16 * kHopBits + 62 < HuffmanHop::kEnd);
  static_assert((16 * kHopBits + HuffmanHop::kEnd) << 6 < 1 << 16);
  if (!hops_.empty()) return;
  hops_.resize(1 << kHopBits);
  std::array<HuffmanHop, 1 << kHopBits> space;
  std::array<const HuffmanHop*, kHopBits + 1> shorter;
  for (uint32_t bits = 0; bits < kHopBits; ++bits) {
    HuffmanHop* const out = &space[1u << bits];
    BuildHopsOf(bits, shorter.data(), out);
    shorter[bits] = out;
  }
  BuildHopsOf(kHopBits, shorter.data(), hops_.data());
}

HuffmanSymbol HuffmanTable::Find(uint64_t bits) const {
  const auto head = static_cast<uint32_t>(bits >> 48);
  const auto behind = std::upper_bound(codes_.begin(), codes_.end(), head,
                                       [](uint32_t h, const Code& code) { return h < code.first; });
  const Code& code = behind[-1];  // the first code is zero
  const uint32_t size = 1u << (16 - code.symbol.code_bits());
  return head < code.first + size ? code.symbol : HuffmanSymbol{};
}

HuffmanTable* HuffmanTableCache::Get(HuffmanTable::Kind kind, const uint8_t* counts,
                                     const uint8_t* values, bool worth_building) {
  Slot* oldest = &slots_[0];
  for (Slot& slot : slots_) {
    if (slot.table != nullptr && slot.table->Holds(kind, counts, values)) {
      slot.wanted = slot.wanted || worth_building || slot.used != file_;
      slot.used = file_;
      return slot.valid && slot.wanted ? slot.table.get() : nullptr;
    }
    if (slot.used < oldest->used) oldest = &slot;
  }
  *oldest = {std::make_unique<HuffmanTable>(kind, counts, values), false, worth_building, file_};
  oldest->valid = oldest->table->Validate();
  return oldest->valid && oldest->wanted ? oldest->table.get() : nullptr;
}

}  // namespace headrace
