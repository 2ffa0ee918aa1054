// shuffle: rows leave in random order. A buffer of `buffer` rows; each row that enters a full
// buffer sends a uniformly chosen one out. Rows are packed when they enter, so one row never keeps
// a whole block alive.
#include <algorithm>
#include <optional>
#include <utility>

#include "common/status.h"
#include "element/packed_row.h"
#include "pipeline/collate/ends.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

constexpr int64_t kMaxBuffer = int64_t{1} << 32;
constexpr size_t kRowsPerBlock = 64;

struct ShuffleParams {
  int64_t buffer = 0;
  std::optional<int64_t> seed;
};

class ShuffleState final : public OpState {
 public:
  ShuffleState(SchemaPtr schema, size_t buffer, const RandomKey& key)
      : schema_(std::move(schema)), buffer_(buffer), key_(key) {}

  absl::Status Push(Block block, Emit emit) override {
    ends_.TakeFrom(block);
    for (size_t row = 0; row < block.rows(); ++row) {
      // The draws depend on the first record of the stretch besides the key: the same rows leave in
      // the same order on any worker, and two stretches of one epoch in unlike ones.
      if (!random_)
        random_.emplace(key_, block.provenance(row).empty() ? Run{} : block.provenance(row)[0]);
      PackedRow packed(block, row);
      held_bytes_ += packed.bytes();
      if (rows_.size() < buffer_) {
        rows_.push_back(std::move(packed));
        continue;
      }
      std::swap(rows_[random_->Below(rows_.size())], packed);
      Send(std::move(packed), emit);
    }
    Flush(emit);
    return absl::OkStatus();
  }

  absl::Status Finish(Emit emit) override {
    while (!rows_.empty()) {
      std::swap(rows_[random_->Below(rows_.size())], rows_.back());
      PackedRow last = std::move(rows_.back());
      rows_.pop_back();
      Send(std::move(last), emit);
    }
    Flush(emit);
    random_.reset();
    rows_.shrink_to_fit();
    return absl::OkStatus();
  }

  size_t held_bytes() const override {
    return held_bytes_ + (rows_.capacity() - rows_.size()) * sizeof(PackedRow);
  }

 private:
  void Send(PackedRow row, Emit emit) {
    held_bytes_ -= row.bytes();
    if (!out_) {
      out_.emplace(schema_);
      out_->Reserve(kRowsPerBlock);
    }
    std::move(row).AppendTo(*out_, scratch_);
    if (out_->rows() == kRowsPerBlock) Flush(emit);
  }

  void Flush(Emit emit) {
    if (!out_ && ends_.empty()) return;
    if (!out_) out_.emplace(schema_);
    ends_.GiveTo(*out_);
    Block out = *std::move(out_);
    out_.reset();
    emit(std::move(out));
  }

  SchemaPtr schema_;
  size_t buffer_;
  RandomKey key_;
  std::optional<RandomStream> random_;  // none before the first row
  std::vector<PackedRow> rows_;
  size_t held_bytes_ = 0;     // of rows_
  std::optional<Block> out_;  // within a call only
  Ends ends_;
  std::vector<Cell> scratch_;
};

class Shuffle final : public StatefulOp {
 public:
  explicit Shuffle(ShuffleParams params) : params_(params) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    schema_ = std::make_shared<const Schema>(input);
    return input;
  }
  OpTraits traits() const override { return {.random = true}; }
  std::unique_ptr<OpState> NewState(const StepContext& context) const override {
    RandomKey key = context.random;
    if (params_.seed) key.seed = static_cast<uint64_t>(*params_.seed);
    return std::make_unique<ShuffleState>(schema_, static_cast<size_t>(params_.buffer), key);
  }

 private:
  ShuffleParams params_;
  SchemaPtr schema_;
};

}  // namespace

void Register_shuffle(OpRegistry& registry) {
  ParamSet<ShuffleParams> params;
  params
      .Required("buffer", &ShuffleParams::buffer,
                "rows to choose from, 1 or more; memory grows with it")
      .Optional("seed", &ShuffleParams::seed, "of this step; default: the pipeline's");
  registry
      .Add<ShuffleParams>(
          "shuffle", "Rows leave in random order, chosen from a buffer.", std::move(params),
          [](ShuffleParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
            if (p.buffer < 1 || p.buffer > kMaxBuffer) {
              return InvalidArgument("buffer: expected 1 to {}, got {}", kMaxBuffer, p.buffer);
            }
            return std::make_unique<Shuffle>(p);
          })
      .bare_param = "buffer";
}

}  // namespace headrace
