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
constexpr size_t kAhead = 8;  // rows whose memory is asked for before they are needed

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
    if (block.rows() > 0 && !random_) Begin(block);
    const size_t filling = std::min(buffer_ - rows_.size(), block.rows());
    for (size_t row = 0; row < filling; ++row) {
      rows_.emplace_back(block, row);
      held_bytes_ += rows_.back().bytes();
    }
    DrawLeaving(block.rows() - filling);
    for (size_t i = 0; i < leaving_.size(); ++i) {
      if (i + kAhead < leaving_.size()) rows_[leaving_[i + kAhead]].Prefetch();
      PackedRow& place = rows_[leaving_[i]];
      held_bytes_ -= place.bytes();
      Send(place, emit);
      place.Pack(block, filling + i);
      held_bytes_ += place.bytes();
    }
    Flush(emit);
    return absl::OkStatus();
  }

  absl::Status Finish(Emit emit) override {
    while (!rows_.empty()) {
      std::swap(rows_[random_->Below(rows_.size())], rows_.back());
      held_bytes_ -= rows_.back().bytes();
      Send(rows_.back(), emit);
      rows_.pop_back();
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
  // The draws depend on the first record of the stretch besides the key: the same rows leave in the
  // same order on any worker, and two stretches of one epoch in unlike ones.
  void Begin(const Block& block) {
    random_.emplace(key_, block.provenance(0).empty() ? Run{} : block.provenance(0)[0]);
  }

  // Which rows of the full buffer make room for the next `count`. Drawn ahead, because each is a
  // miss of every cache: asked for early, the misses overlap.
  void DrawLeaving(size_t count) {
    leaving_.clear();
    for (size_t i = 0; i < count; ++i) {
      leaving_.push_back(random_->Below(buffer_));
      __builtin_prefetch(&rows_[leaving_.back()]);
    }
  }

  void Send(PackedRow& row, Emit emit) {
    if (!out_) {
      out_.emplace(schema_);
      out_->Reserve(kRowsPerBlock);
    }
    row.AppendTo(*out_, scratch_);
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
  std::vector<size_t> leaving_;  // kept for their memory
  std::vector<Cell> scratch_;
};

class Shuffle final : public StatefulOp {
 public:
  explicit Shuffle(ShuffleParams params) : params_(params) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    schema_ = std::make_shared<const Schema>(input);
    return input;
  }
  OpTraits traits() const override {
    OpTraits traits;
    traits.random = true;
    traits.fields.emplace();  // none: order and draws hang on records alone
    return traits;
  }
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
