// mixup: each row of a batch becomes a weighted mean of itself and the row before it, and so do the
// labels (Zhang et al., "mixup: Beyond Empirical Risk Minimization", 2018): torchvision's MixUp.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/batch_mix.h"
#include "pipeline/ops/class_numbers.h"
#include "pipeline/ops/image_field.h"

namespace headrace {
namespace {

constexpr std::string_view kName = "mixup";

struct MixupParams {
  std::string field;
  std::string label;
  std::optional<int64_t> num_classes;
  double alpha = 1.0;
  double probability = 1.0;
  std::optional<int64_t> seed;
};

class Mixup final : public StatelessOp {
 public:
  explicit Mixup(MixupParams params)
      : params_(std::move(params)), labels_(params_.label, params_.num_classes) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = true;
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, RequireBatch(input, params_.field, 2, kName));
    dtype_ = input[at_].dtype;
    if (dtype_ != DType::kFloat32 && dtype_ != DType::kUInt8) {
      return InvalidArgument("field '{}' is {}; {} takes float32 or uint8 (cast it first)",
                             params_.field, Name(dtype_), kName);
    }
    Schema out = input;
    HR_RETURN_IF_ERROR(labels_.Bind(input, kName, out));
    return out;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    const RandomKey key = WithSeed(context.random, params_.seed);
    for (size_t row = 0; row < block.rows(); ++row) {
      RandomStream random = BatchStream(key, block.provenance(row));
      const bool mixed = random.Uniform() < params_.probability;
      const double drawn = DrawBeta(params_.alpha, random);
      const double share = mixed ? drawn : 1.0;
      absl::Status status =
          MixBatch(block.column(at_)[row], block.column(labels_.at())[row], share, block.arena());
      if (!status.ok()) block.Fail(row, std::move(status));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status MixBatch(Cell& data, Cell& labels, double share, Arena& arena) const {
    const int64_t rows = data.shape[0];
    if (labels.shape[0] != rows) {
      return InvalidArgument("field '{}' has {} rows, field '{}' has {}", params_.field, rows,
                             params_.label, labels.shape[0]);
    }
    HR_RETURN_IF_ERROR(labels_.Mix(labels, share, arena));
    if (share == 1.0 || rows == 0) return absl::OkStatus();
    std::byte* out = arena.Allocate(data.bytes);
    const int64_t row_items = data.shape.items() / rows;
    if (dtype_ == DType::kUInt8) {
      MixRows(data.as<uint8_t>().data(), rows, row_items, share, reinterpret_cast<uint8_t*>(out));
    } else {
      MixRows(data.as<float>().data(), rows, row_items, share, reinterpret_cast<float*>(out));
    }
    data.data = out;
    return absl::OkStatus();
  }

  MixupParams params_;
  BatchLabels labels_;
  DType dtype_ = DType::kInvalid;
  size_t at_ = 0;
};

}  // namespace

void Register_mixup(OpRegistry& registry) {
  ParamSet<MixupParams> params;
  params.Required("field", &MixupParams::field,
                  "float32 or uint8 [rows, ...], behind batch; uint8 is rounded");
  DeclareMixing(params);
  params.Optional("seed", &MixupParams::seed, "of this step; default: the pipeline's");
  registry.Add<MixupParams>(
      "mixup",
      "Mix each row of a batch, and its label, with the row before it, as torchvision does.",
      std::move(params), [](MixupParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
        HR_RETURN_IF_ERROR(CheckMixing(p));
        return std::make_unique<Mixup>(std::move(p));
      });
}

}  // namespace headrace
