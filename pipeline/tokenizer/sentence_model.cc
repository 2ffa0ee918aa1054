#include "pipeline/tokenizer/sentence_model.h"

#include <bit>
#include <unordered_set>

#include "common/status.h"
#include "pipeline/record/wire_reader.h"

namespace headrace {
namespace {

constexpr uint64_t kMaxPieces = 1 << 24;

absl::Status Damaged(std::string_view what) {
  return DataLoss("this is no SentencePiece model, or a damaged one: {}", what);
}

// Calls on(field, type, reader) for every field; on() reads the value or returns false to have it
// skipped. Sets `ok` to false for damaged bytes.
template <typename On>
bool ForEachField(std::string_view bytes, On&& on) {
  WireReader reader(bytes);
  while (!reader.done()) {
    uint32_t field = 0;
    WireType type{};
    if (!reader.Tag(field, type)) return false;
    bool ok = true;
    if (!on(field, type, reader, ok)) ok = reader.Skip(field, type);
    if (!ok) return false;
  }
  return true;
}

bool ReadBool(WireReader& reader, bool& out) {
  uint64_t value = 0;
  if (!reader.Varint(value)) return false;
  out = value != 0;
  return true;
}

bool ReadPiece(std::string_view bytes, SentenceModel::Piece& piece, bool& known_type) {
  return ForEachField(bytes, [&](uint32_t field, WireType type, WireReader& reader, bool& ok) {
    if (field == 1 && type == WireType::kLength) {
      std::string_view text;
      ok = reader.Length(text);
      piece.text = text;
    } else if (field == 2 && type == WireType::kFixed32) {
      uint32_t bits = 0;
      ok = reader.Fixed32(bits);
      piece.score = std::bit_cast<float>(bits);
    } else if (field == 3 && type == WireType::kVarint) {
      uint64_t value = 0;
      ok = reader.Varint(value);
      known_type = value >= 1 && value <= 6;
      if (known_type) piece.type = static_cast<SentenceModel::Type>(value);
    } else {
      return false;
    }
    return true;
  });
}

struct Trainer {
  uint64_t model_type = 1;
  std::string bos = "<s>", eos = "</s>";
};

bool ReadTrainer(std::string_view bytes, Trainer& trainer, SentenceModel& model) {
  return ForEachField(bytes, [&](uint32_t field, WireType type, WireReader& reader, bool& ok) {
    if (type == WireType::kVarint && field == 3) {
      ok = reader.Varint(trainer.model_type);
    } else if (type == WireType::kVarint && field == 24) {
      ok = ReadBool(reader, model.whitespace_as_suffix);
    } else if (type == WireType::kVarint && field == 35) {
      ok = ReadBool(reader, model.byte_fallback);
    } else if (type == WireType::kLength && (field == 46 || field == 47)) {
      std::string_view text;
      ok = reader.Length(text);
      (field == 46 ? trainer.bos : trainer.eos) = text;
    } else {
      return false;
    }
    return true;
  });
}

bool ReadNormalizer(std::string_view bytes, SentenceModel& model) {
  return ForEachField(bytes, [&](uint32_t field, WireType type, WireReader& reader, bool& ok) {
    if (field == 2 && type == WireType::kLength) {
      std::string_view map;
      ok = reader.Length(map);
      model.charsmap = map;
    } else if (type == WireType::kVarint && field == 3) {
      ok = ReadBool(reader, model.add_dummy_prefix);
    } else if (type == WireType::kVarint && field == 4) {
      ok = ReadBool(reader, model.remove_extra_whitespaces);
    } else if (type == WireType::kVarint && field == 5) {
      ok = ReadBool(reader, model.escape_whitespaces);
    } else {
      return false;
    }
    return true;
  });
}

// Finds the special pieces; refuses what libsentencepiece refuses.
absl::Status Index(const Trainer& trainer, SentenceModel& model) {
  using Type = SentenceModel::Type;
  std::unordered_set<std::string_view> seen;
  model.bytes.fill(-1);
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const SentenceModel::Piece& piece = model.pieces[i];
    const auto id = static_cast<int32_t>(i);
    if (piece.text.empty()) return Damaged(fmt::format("piece {} is empty", id));
    if (!seen.insert(piece.text).second)
      return Damaged(fmt::format("piece {} '{}' is there twice", id, piece.text));
    if (piece.type == Type::kUnknown) {
      if (model.unk >= 0) return Damaged("it has two unknown pieces");
      model.unk = id;
    } else if (piece.type == Type::kControl) {
      if (piece.text == trainer.bos) model.bos = id;
      if (piece.text == trainer.eos) model.eos = id;
    } else if (piece.type == Type::kByte) {
      int value = -1;
      for (int b = 0; b < 256 && value < 0; ++b) {
        if (piece.text == fmt::format("<0x{:02X}>", b)) value = b;
      }
      if (value < 0) return Damaged(fmt::format("byte piece '{}'", piece.text));
      model.bytes[static_cast<size_t>(value)] = id;
    }
  }
  if (model.unk < 0) return Damaged("it has no unknown piece");
  for (size_t b = 0; model.byte_fallback && b < 256; ++b) {
    if (model.bytes[b] < 0) return Damaged(fmt::format("it has no piece for byte {:#04x}", b));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SentenceModel> ParseSentenceModel(std::string_view bytes) {
  SentenceModel model;
  Trainer trainer;
  bool known_types = true;
  const bool whole = ForEachField(bytes, [&](uint32_t field, WireType type, WireReader& reader,
                                             bool& ok) {
    if (type != WireType::kLength || field < 1 || field > 3) return false;
    std::string_view value;
    ok = reader.Length(value);
    if (!ok) return true;
    if (field == 1) {
      bool known = true;
      ok = model.pieces.size() < kMaxPieces && ReadPiece(value, model.pieces.emplace_back(), known);
      known_types &= known;
    } else if (field == 2) {
      ok = ReadTrainer(value, trainer, model);
    } else {
      ok = ReadNormalizer(value, model);
    }
    return true;
  });
  if (!whole) return Damaged("its fields do not add up");
  if (model.pieces.empty()) return Damaged("it has no pieces");
  if (!known_types) return Damaged("a piece is of no known type");
  if (trainer.model_type != 1 && trainer.model_type != 2) {
    return Unimplemented("SentencePiece models of type {} are not read; unigram and bpe are",
                         trainer.model_type == 3   ? "word"
                         : trainer.model_type == 4 ? "char"
                                                   : fmt::format("{}", trainer.model_type));
  }
  model.kind = static_cast<SentenceModel::Kind>(trainer.model_type);
  HR_RETURN_IF_ERROR(Index(trainer, model));
  return model;
}

}  // namespace headrace
