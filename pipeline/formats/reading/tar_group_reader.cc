#include "pipeline/formats/reading/tar_group_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/status.h"
#include "pipeline/formats/reading/member_name.h"
#include "pipeline/formats/reading/split_file.h"
#include "pipeline/formats/reading/tar_stream.h"

namespace headrace {
namespace {

// A name for a message, whatever bytes it is made of.
std::string Quoted(std::string_view name) {
  return "'" + absl::Utf8SafeCEscape(absl::string_view(name.data(), name.size())) + "'";
}

class TarGroupReader final : public RecordReader {
 public:
  TarGroupReader(const v1::Split& split, Codec codec, std::unique_ptr<RecordBuffer> buffer,
                 SchemaPtr schema, bool missing_is_empty)
      : schema_(std::move(schema)),
        missing_is_empty_(missing_is_empty),
        cursor_(split, codec),
        buffer_(std::move(buffer)),
        tar_(*buffer_),
        cells_(schema_->size()),
        present_(schema_->size()) {}

  absl::StatusOr<bool> Read(const ReadLimits& limits, Block& block) override {
    const RecordBuffer::Lending lending(*buffer_, block.arena());
    const uint64_t begin = buffer_->offset();
    for (size_t rows = 0; rows < limits.max_rows && buffer_->offset() - begin < limits.max_bytes;
         ++rows) {
      if (ended_) return false;
      HR_RETURN_IF_ERROR(ReadGroup(limits.max_record_bytes, block));
    }
    return !ended_;
  }

  bool records_lost() const override { return lost_; }

 private:
  // One record, a failed one, or the end. The first member of the group behind it stays pending:
  // its data are taken under the lending of the block that they go to.
  absl::Status ReadGroup(uint64_t max_bytes, Block& block) {
    bool open = false;
    while (true) {
      if (!pending_) {
        const absl::StatusOr<bool> next = tar_.Next();
        if (!next.ok()) return Damaged(next.status(), open, block);
        if (!*next) {
          ended_ = true;
          if (open) Emit(block);
          return absl::OkStatus();
        }
      }
      pending_ = false;
      const auto name = SplitMemberName(tar_.member().name);
      if (!tar_.member().regular || !name) continue;
      if (open && name->key != key_) {
        pending_ = true;
        Emit(block);
        return absl::OkStatus();
      }
      if (!open) Start(name->key);
      open = true;
      const absl::StatusOr<bool> added = AddMember(name->extension, max_bytes);
      if (!added.ok() && added.status().code() != absl::StatusCode::kDataLoss)
        return added.status();
      if (added.ok() && *added) continue;
      // The group in progress is the one that is damaged.
      std::fill(present_.begin(), present_.end(), false);
      return Damaged(added.ok() ? CutOff() : added.status(), open, block);
    }
  }

  void Start(std::string_view key) {
    key_ = key;
    offset_ = tar_.offset();
    bytes_ = 0;
    std::fill(present_.begin(), present_.end(), false);
    present_[0] = true;
    failure_.clear();
    failure_code_ = absl::StatusCode::kOk;
  }

  // Puts the present member's data into its column; false when the archive ends in the middle of
  // them.
  absl::StatusOr<bool> AddMember(std::string_view extension, uint64_t max_bytes) {
    AssignLower(extension, extension_);
    const size_t column = schema_->Find(extension_);
    const TarMember& member = tar_.member();
    if (column == Schema::kNone || column == 0 || failure_code_ != absl::StatusCode::kOk)
      return true;
    bytes_ += member.size;
    if (present_[column]) {
      Refuse(absl::StatusCode::kDataLoss,
             fmt::format(
                 "two members of {} have the extension {}; names within an archive must differ",
                 Quoted(key_), extension_));
    } else if (member.sparse) {
      Refuse(absl::StatusCode::kUnimplemented,
             fmt::format("{} is stored as a sparse file; pack the archive again without --sparse",
                         Quoted(member.name)));
    } else if (bytes_ > max_bytes) {
      Refuse(absl::StatusCode::kOutOfRange,
             fmt::format("the fields of {} are over the limit of {} bytes; raise max_record_bytes",
                         Quoted(key_), max_bytes));
    } else {
      HR_ASSIGN_OR_RETURN(present_[column], tar_.Take(cells_[column]));
      return bool{present_[column]};
    }
    return true;
  }

  // Fails the group once it is whole; its other members are passed over.
  void Refuse(absl::StatusCode code, std::string what) {
    failure_code_ = code;
    failure_ = std::move(what);
  }

  void Emit(Block& block) {
    if (failure_code_ != absl::StatusCode::kOk) {
      cursor_.Fail(block, failure_code_, offset_, failure_);
      return;
    }
    cells_[0] = MakeBytesCell(block.arena(), key_);
    for (size_t i = 1; i < cells_.size(); ++i) {
      if (present_[i]) continue;
      if (!missing_is_empty_) {
        cursor_.Fail(block, absl::StatusCode::kInvalidArgument, offset_, Missing(i));
        return;
      }
      cells_[i] = {cells_[0].data, 0, Shape()};
    }
    cursor_.Append(block, cells_);
  }

  std::string Missing(size_t column) const {
    std::string there;
    for (size_t i = 1; i < present_.size(); ++i) {
      if (present_[i]) there += (there.empty() ? "" : ", ") + (*schema_)[i].name;
    }
    return fmt::format(
        "{} has no field '{}' (of the fields it has {}); list the fields that all records have, or "
        "set "
        "missing: empty",
        Quoted(key_), (*schema_)[column].name, there.empty() ? "none" : there);
  }

  // A whole group in front of the damage is still good; a part of one is the failed record.
  absl::Status Damaged(const absl::Status& status, bool open, Block& block) {
    if (status.code() != absl::StatusCode::kDataLoss) return status;
    const bool whole = std::find(present_.begin(), present_.end(), false) == present_.end();
    if (open && (whole || failure_code_ != absl::StatusCode::kOk)) Emit(block);
    const std::string_view what(status.message().data(), status.message().size());
    cursor_.Fail(block, absl::StatusCode::kDataLoss, tar_.offset(), what);
    lost_ = ended_ = true;
    return absl::OkStatus();
  }
  absl::Status CutOff() const {
    return DataLoss("the archive ends in the middle of {}; it was cut off, copy it again",
                    Quoted(tar_.member().name));
  }

  const SchemaPtr schema_;
  const bool missing_is_empty_;
  RecordCursor cursor_;
  const std::unique_ptr<RecordBuffer> buffer_;
  TarStream tar_;
  bool pending_ = false;  // tar_ stands at a member that belongs to the next group
  bool ended_ = false;
  bool lost_ = false;
  // The group in progress.
  std::string key_;
  std::string extension_;
  uint64_t offset_ = 0;
  uint64_t bytes_ = 0;
  std::vector<Cell> cells_;
  std::vector<bool> present_;
  absl::StatusCode failure_code_ = absl::StatusCode::kOk;
  std::string failure_;
};

}  // namespace

std::unique_ptr<RecordReader> NewTarGroupReader(const v1::Split& split, Codec codec,
                                                std::unique_ptr<RecordBuffer> buffer,
                                                SchemaPtr schema, bool missing_is_empty) {
  return std::make_unique<TarGroupReader>(split, codec, std::move(buffer), std::move(schema),
                                          missing_is_empty);
}

}  // namespace headrace
