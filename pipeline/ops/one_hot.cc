// one_hot: class numbers to rows of zeros with a one.
#include <cstring>
#include <utility>

#include "common/status.h"
#include "element/numeric.h"
#include "pipeline/collate/padded_column.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/class_numbers.h"

namespace headrace {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;  // of one row's result

struct OneHotParams {
  std::string field;
  int64_t num_classes = 0;
  std::string dtype = "float32";
};

class OneHot final : public StatelessOp {
 public:
  OneHot(OneHotParams params, DType dtype, PadItem one)
      : params_(std::move(params)), dtype_(dtype), one_(one) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, input.Require(params_.field));
    const Field& field = input[at_];
    from_ = field.dtype;
    if (!IsInteger(from_)) {
      return InvalidArgument(
          "field '{}' is {} {}; one_hot takes class numbers of an integer type (cast it first)",
          params_.field, Name(from_), field.shape.ToString());
    }
    if (field.shape.has_rank() && field.shape.rank() >= Shape::kMaxRank) {
      return InvalidArgument("field '{}' {} has {} dimensions already; one_hot adds one",
                             params_.field, field.shape.ToString(), field.shape.rank());
    }
    Schema out = input;
    out[at_] = {field.name, dtype_, WithClasses(field.shape)};
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    std::vector<Cell>& cells = block.column(at_);
    for (size_t row = 0; row < cells.size(); ++row) {
      if (absl::Status s = Spread(cells[row], block.arena()); !s.ok())
        block.Fail(row, Annotate(s, fmt::format("field '{}'", params_.field)));
    }
    return absl::OkStatus();
  }

 private:
  Shape WithClasses(const Shape& shape) const {
    if (!shape.has_rank()) return shape;
    std::array<int64_t, Shape::kMaxRank> dims{};
    std::copy(shape.dims().begin(), shape.dims().end(), dims.begin());
    dims[shape.rank()] = params_.num_classes;
    return Shape(std::span<const int64_t>(dims.data(), shape.rank() + 1));
  }

  absl::Status Spread(Cell& cell, Arena& arena) const {
    const int64_t items = cell.shape.items();
    const auto item_bytes = static_cast<int64_t>(ItemSize(dtype_));
    if (cell.shape.rank() >= Shape::kMaxRank ||
        items > kMaxBytes / item_bytes / params_.num_classes) {
      return OutOfRange("{} numbers of {} classes are over the limit of {} bytes or {} dimensions",
                        items, params_.num_classes, kMaxBytes, Shape::kMaxRank);
    }
    const auto bytes = static_cast<size_t>(items * params_.num_classes * item_bytes);
    std::byte* out = arena.AllocatePacked(bytes, static_cast<size_t>(item_bytes));
    std::memset(out, 0, bytes);
    HR_RETURN_IF_ERROR(ForEachClass(cell, from_, params_.num_classes, [&](int64_t i, int64_t c) {
      std::memcpy(out + (i * params_.num_classes + c) * item_bytes, one_.data(),
                  static_cast<size_t>(item_bytes));
    }));
    cell = {out, bytes, WithClasses(cell.shape)};
    return absl::OkStatus();
  }

  OneHotParams params_;
  DType dtype_;
  PadItem one_;
  DType from_ = DType::kInvalid;
  size_t at_ = 0;
};

}  // namespace

void Register_one_hot(OpRegistry& registry) {
  ParamSet<OneHotParams> params;
  params.Required("field", &OneHotParams::field, "class numbers, of an integer type and any shape")
      .Required("num_classes", &OneHotParams::num_classes,
                "how many classes; numbers are 0 to one less")
      .Optional("dtype", &OneHotParams::dtype, "of the result, any numeric type");
  registry.Add<OneHotParams>(
      "one_hot", "Class numbers become rows of zeros with a one; a last dimension is added.",
      std::move(params), [](OneHotParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
        HR_RETURN_IF_ERROR(CheckNumClasses(p.num_classes));
        const auto dtype = ParseDType(p.dtype);
        if (!dtype.ok()) return Annotate(dtype.status(), "dtype");
        if (*dtype == DType::kBytes) return InvalidArgument("dtype: expected a numeric type");
        HR_ASSIGN_OR_RETURN(const PadItem one, MakePadItem(1, *dtype));
        return std::make_unique<OneHot>(std::move(p), *dtype, one);
      });
}

}  // namespace headrace
