// random_crop: a part of an image at a random place, of the image as it is or with a black border
// added.
#include <algorithm>
#include <cstring>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/image_crop.h"
#include "pipeline/ops/image_params.h"

namespace headrace {
namespace {

struct RandomCropParams {
  std::string field;
  std::vector<int64_t> size;
  int64_t pad = 0;
  std::optional<int64_t> seed;
};

// Cuts a region that may reach over the image's edges; what lies outside is 0.
void CropPadded(Cell& cell, DType dtype, const Region& region, Arena& arena) {
  const int64_t pixel_bytes = cell.shape[2] * static_cast<int64_t>(ItemSize(dtype));
  const int64_t left = std::max<int64_t>(region.left, 0),
                right = std::min(region.right(), cell.shape[1]);
  const auto row_bytes = static_cast<size_t>(region.width * pixel_bytes);
  const size_t bytes = row_bytes * static_cast<size_t>(region.height);
  std::byte* out = arena.Allocate(bytes);
  std::memset(out, 0, bytes);
  for (int64_t y = std::max<int64_t>(region.top, 0);
       y < std::min(region.bottom(), cell.shape[0]) && left < right; ++y) {
    std::memcpy(out + static_cast<size_t>(y - region.top) * row_bytes +
                    static_cast<size_t>((left - region.left) * pixel_bytes),
                cell.data + (y * cell.shape[1] + left) * pixel_bytes,
                static_cast<size_t>((right - left) * pixel_bytes));
  }
  cell = {out, bytes, Shape{region.height, region.width, cell.shape[2]}};
}

class RandomCrop final : public StatelessOp {
 public:
  RandomCrop(RandomCropParams params, ImageSize size) : params_(std::move(params)), size_(size) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = true;
    traits.fields = {params_.field};
    // What is padded is 0 and stays so, whatever the values become.
    if (params_.pad == 0) traits.work = FieldWork::kPlaces;
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "random_crop"));
    Schema out = input;
    out[image_.at].shape = {size_.height, size_.width, image_.channels};
    return out;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    const RandomKey key = WithSeed(context.random, params_.seed);
    ForEachImage(block, image_, [&](size_t row, Cell& cell) -> absl::Status {
      RandomStream random(key, block.provenance(row).front());
      HR_ASSIGN_OR_RETURN(const Region region,
                          RandomRegion(cell.shape[0], cell.shape[1], size_, params_.pad, random));
      if (params_.pad > 0) {
        CropPadded(cell, image_.dtype, region, block.arena());
      } else {
        CropCell(cell, image_.dtype, region, block.arena());
      }
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  RandomCropParams params_;
  ImageSize size_;
  ImageField image_;
};

}  // namespace

void Register_random_crop(OpRegistry& registry) {
  ParamSet<RandomCropParams> params;
  DeclareImage(params);
  DeclareCropSize(params);
  params.Optional("pad", &RandomCropParams::pad, "zero pixels added on each side before the cut");
  DeclareSeed(params);
  registry.Add<RandomCropParams>(
      "random_crop", "Cut a part of a fixed size out of an image at a random place.",
      std::move(params), [](RandomCropParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
        HR_ASSIGN_OR_RETURN(const ImageSize size, ParseImageSize(p.size));
        if (p.pad < 0 || p.pad > 65'535)
          return InvalidArgument("pad: expected 0 to 65535, got {}", p.pad);
        return std::make_unique<RandomCrop>(std::move(p), size);
      });
}

}  // namespace headrace
