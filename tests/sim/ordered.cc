#include "tests/sim/ordered.h"

#include <algorithm>

#include "element/frame_writer.h"
#include "fmt/format.h"
#include "tests/sim/random.h"

namespace headrace::sim {
namespace {

std::shared_ptr<const FrameView> ViewOf(const Frame& frame) {
  std::shared_ptr<std::byte> bytes = *AllocateFrameBytes(frame.bytes);
  CopyFrame(frame, bytes.get());
  return *FrameView::Parse({bytes, frame.bytes});
}

uint64_t KeyOf(const RecordId& id) { return Mix(Mix(Mix(id.split, id.index), id.part), id.pass); }

}  // namespace

LaneModel::LaneModel(const History& history, const v1::TaskDef& def)
    : task_(def.task()), lane_(def.ordered()), taken_(std::max(1u, def.ordered().ranks())) {
  if (history.shuffle != 0) order_ = Mix(Mix(history.seed, def.epoch()), lane_.lane()) | 1;
  if (history.workers_shuffle_anew) order_ = Mix(order_, def.task()) | 1;
}

void LaneModel::Add(uint64_t window, const RecordId& element) {
  rows_.push_back(element);
  if (order_ == 0) Cut(window, /*all=*/false);
}

void LaneModel::EndWindow(uint64_t window) {
  if (order_ != 0) {
    std::ranges::sort(rows_, {}, [this](const RecordId& id) { return Mix(order_, KeyOf(id)); });
  }
  Cut(window, /*all=*/true);
  pieces_.push_back(
      {{.lane = lane_.lane(), .window = window, .piece = piece_, .window_end = true}, {}});
  piece_ = 0;
}

void LaneModel::Cut(uint64_t window, bool all) {
  const size_t size = lane_.batch_rows();
  while (rows_.size() >= size || (all && !rows_.empty())) {
    const size_t count = std::min(size, rows_.size());
    const auto end = rows_.begin() + static_cast<ptrdiff_t>(count);
    pieces_.push_back(
        {{.lane = lane_.lane(), .window = window, .piece = piece_++, .rest = count < size},
         {rows_.begin(), end}});
    rows_.erase(rows_.begin(), end);
  }
}

std::shared_ptr<const FrameView> LaneModel::FrameFor(uint64_t next, uint32_t rank) const {
  if (next < first_ || next >= first_ + pieces_.size()) return nullptr;
  const Piece& piece = pieces_[next - first_];
  FrameMeta meta;
  meta.task = task_;
  meta.batched = true;
  meta.place = piece.place;
  if (piece.place.window_end) return ViewOf(WriteWindowEnd(meta));
  const size_t ranks = piece.place.rest ? 1 : taken_.size();
  const size_t part = piece.rows.size() / ranks;
  const size_t begin = ranks == 1 ? 0 : rank * part;
  Block block(std::make_shared<Schema>(std::vector<Field>{{"x", DType::kInt64, Shape{-1}}}));
  std::vector<int64_t> x;
  Provenance runs;
  for (size_t i = begin; i < begin + part; ++i) {
    x.push_back(static_cast<int64_t>(KeyOf(piece.rows[i])));
    AppendRun(runs, RunOf(piece.rows[i]));
  }
  const std::vector<Cell> cells = {
      MakeCell<int64_t>(block.arena(), x, Shape{static_cast<int64_t>(part)})};
  block.AppendRow(std::move(runs), cells);
  return ViewOf(*WriteFrame(block, meta));
}

void LaneModel::Taken(uint32_t rank, uint64_t next) {
  taken_[rank] = std::max(taken_[rank], next);
  while (first_ < *std::ranges::min_element(taken_)) {
    pieces_.pop_front();
    ++first_;
  }
}

bool OrderedHand::Begin(uint64_t epoch, const v1::StartEpochReply& reply,
                        const v1::OrderedPosition* at) {
  held_.Clear();
  frames_.Clear();
  const std::vector<uint64_t> windows(reply.lane_windows().begin(), reply.lane_windows().end());
  return sequence_.Begin(epoch, windows, at).ok();
}

void OrderedHand::Listed(uint64_t task, uint32_t lane) {
  held_.AddTask(task);
  frames_.Listed(task, lane);
}

std::optional<OrderedHand::Batch> OrderedHand::Next(std::set<uint64_t>& broken,
                                                    std::vector<uint64_t>& used) {
  const auto use = [&](uint64_t task) { used.push_back(task); };
  while (failure_.empty()) {
    absl::StatusOr<std::optional<OrderedSequence::Ready>> ready = sequence_.Pop();
    if (!ready.ok()) {
      failure_ = fmt::format("ORDER {}", std::string(ready.status().message()));
      break;
    }
    if (ready->has_value()) {
      return Batch{(*ready)->frame != nullptr, sequence_.position().batch() - 1,
                   std::move((*ready)->delivered), std::move((*ready)->dropped)};
    }
    const std::optional<uint32_t> lane = sequence_.lane();
    if (!lane.has_value()) break;
    absl::StatusOr<std::shared_ptr<const FrameView>> frame =
        frames_.Next(*lane, use, [&](uint64_t task) { broken.insert(task); });
    absl::Status status = frame.status();
    if (status.ok() && *frame == nullptr) break;
    if (status.ok()) status = sequence_.Take(*std::move(frame));
    if (!status.ok()) failure_ = fmt::format("ORDER {}", std::string(status.message()));
    frames_.LetGo(*lane, use);
  }
  return std::nullopt;
}

}  // namespace headrace::sim
