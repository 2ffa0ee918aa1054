// What mixup and cutmix share. Both work on whole batches, behind `batch`: row i is mixed with row
// i - 1 (the first with the last), as torchvision.transforms.v2 does; the labels become shares of
// classes. Immutable after Bind, used by any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status.h"
#include "element/block.h"
#include "element/schema.h"
#include "pipeline/graph/params.h"
#include "pipeline/graph/random.h"
#include "pipeline/imaging/image.h"
#include "pipeline/ops/class_numbers.h"
#include "pipeline/ops/image_field.h"

namespace headrace {

// Numbers for a batch, keyed by all the records in it and their order: the same batch draws the
// same on any worker.
RandomStream BatchStream(const RandomKey& key, const Provenance& batch);

// Beta(alpha, alpha), within [0, 1]. alpha > 0.
double DrawBeta(double alpha, RandomStream& random);

// INVALID_ARGUMENT, under the parameter's name, for anything but 0.001 to 1000.
absl::Status CheckAlpha(double alpha);

// The parameters that both have, behind the field.
template <typename P>
void DeclareMixing(ParamSet<P>& params) {
  params
      .Required("label", &P::label,
                "class numbers [rows], or float32 [rows, classes]; comes out as the latter")
      .Optional("num_classes", &P::num_classes, "needed for class numbers")
      .Optional("alpha", &P::alpha, "shares are drawn from Beta(alpha, alpha), one a batch")
      .Optional("probability", &P::probability, "that a batch is mixed");
}
template <typename P>
absl::Status CheckMixing(const P& p) {
  if (p.num_classes) HR_RETURN_IF_ERROR(CheckNumClasses(*p.num_classes));
  HR_RETURN_IF_ERROR(CheckAlpha(p.alpha));
  return CheckProbability(p.probability);
}

// out = share * row + (1 - share) * the row before, over rows of `row_items` items; uint8 is
// rounded to the nearest level.
template <typename T>
void MixRows(const T* in, int64_t rows, int64_t row_items, double share, T* out);

// Replaces `images`, a batch of shape [rows, height, width, channels] or, with chw, [rows,
// channels, height, width], by one in which `cut` of each image is taken from the image before.
void PasteFromRowBefore(Cell& images, size_t item_bytes, bool chw, const Region& cut, Arena& arena);

// The labels of a batch: class numbers [rows] (num_classes says how many there are), or float32
// shares [rows, classes].
class BatchLabels {
 public:
  BatchLabels(std::string field, std::optional<int64_t> num_classes)
      : field_(std::move(field)), num_classes_(num_classes) {}

  // Finds the field and makes it float32 [rows, classes] in `out`.
  absl::Status Bind(const Schema& input, std::string_view step, Schema& out);
  size_t at() const { return at_; }

  // Replaces `cell` by each row's shares, mixed with those of the row before: `share` of its own.
  absl::Status Mix(Cell& cell, double share, Arena& arena) const;

 private:
  std::string field_;
  std::optional<int64_t> num_classes_;
  DType dtype_ = DType::kInvalid;
  size_t at_ = 0;
};

// The field, which must be a batch of tensors of at least `rank` dimensions, the first one
// included. INVALID_ARGUMENT tells to put the step behind batch.
absl::StatusOr<size_t> RequireBatch(const Schema& schema, const std::string& field, size_t rank,
                                    std::string_view step);

}  // namespace headrace
