#include "pipeline/engine/source_stage.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kPaceSplits = 32;          // pace is measured over so many splits
constexpr uint64_t kFirstWindowBlocks = 4;  // read ahead at first
constexpr size_t kCalmPops = 1024;          // without running dry, after which the window shrinks
constexpr absl::Duration kSlowRead = absl::Milliseconds(2);
constexpr absl::Duration kLeaseAhead = absl::Seconds(1);
constexpr size_t kFirstLeases = 2;  // while no pace is known
// Without a block for so long the task waits for its files: more of them at once may help.
constexpr absl::Duration kDry = absl::Milliseconds(100);

}  // namespace

SourceStage::SourceStage(Deps deps, Options options, Callbacks callbacks)
    : deps_(std::move(deps)),
      options_(options),
      sizer_(options.target_block_nanos, options.max_block_rows),
      callbacks_(std::move(callbacks)),
      window_bytes_(std::min(options_.read_bytes, kFirstWindowBlocks * options_.max_block_bytes)) {}

void SourceStage::AddLease(const v1::Lease& lease, RecordSieve::Rule rule) {
  auto lane = std::make_shared<Lane>();
  lane->lease = lease;
  lane->popped = lease.first_record();
  if (lease.end_record() != 0) lane->end = lease.end_record();
  lane->sieve.emplace(std::move(rule));
  absl::MutexLock lock(&mutex_);
  if (stopped_) return;
  lanes_.push_back(std::move(lane));
  ++held_;
  if (ends_.empty()) {
    ends_.push_back(deps_.clock->Steady());
    pops_.emplace_back(ends_.front(), 0);
  }
  NoteDryLocked();
  ScheduleLocked();
}

void SourceStage::NoteDryLocked() {
  const bool dry = !lanes_.empty() && lanes_.front()->items.empty();
  if (!dry) {
    dry_since_.reset();
  } else if (!dry_since_) {
    dry_since_ = deps_.clock->Steady();
  }
}

void SourceStage::AddFlush(uint64_t generation) {
  auto lane = std::make_shared<Lane>();
  lane->done = true;
  lane->items.emplace_back().flush = generation;
  absl::MutexLock lock(&mutex_);
  if (!stopped_) lanes_.push_back(std::move(lane));
}

std::optional<SourceStage::Item> SourceStage::Pop() {
  absl::MutexLock lock(&mutex_);
  if (lanes_.empty() || lanes_.front()->items.empty()) return std::nullopt;
  Lane& lane = *lanes_.front();
  Item item = std::move(lane.items.front());
  lane.items.pop_front();
  if (item.block) bytes_ -= item.block->bytes();
  if (!item.flush) {
    NotePopLocked(item.until - std::min(item.until, lane.popped));
    lane.begun = true;
    lane.popped = std::max(lane.popped, item.until);
  }
  if (item.end) {
    --held_;
    ends_.push_back(deps_.clock->Steady());
    if (ends_.size() > kPaceSplits + 1) ends_.pop_front();
  }
  if (lane.done && lane.items.empty()) lanes_.pop_front();
  NoteDryLocked();
  if (++calm_pops_ == kCalmPops) ShrinkWindowLocked();
  ScheduleLocked();
  return item;
}

void SourceStage::GrowWindowLocked() {
  window_bytes_ = std::min(2 * window_bytes_, options_.read_bytes);
  calm_pops_ = 0;
}

void SourceStage::ShrinkWindowLocked() {
  const uint64_t least = kFirstWindowBlocks * options_.max_block_bytes;
  window_bytes_ = std::min(std::max(window_bytes_ / 2, least), options_.read_bytes);
  calm_pops_ = 0;
}

bool SourceStage::HasItem() const {
  absl::MutexLock lock(&mutex_);
  return !lanes_.empty() && !lanes_.front()->items.empty();
}

bool SourceStage::MayReadLocked(Lane& lane, bool first) const {
  // Lanes behind the first keep to half of the bytes, so that the first is never left with none.
  const uint64_t bound = first ? window_bytes_ : window_bytes_ / 2;
  // Half full, then full again: a thread that woke for every block would spend its time on waking.
  lane.filling = bytes_ < (lane.filling ? bound : bound / 2);
  return lane.filling || (first && lane.items.empty());
}

void SourceStage::ScheduleLocked() {
  size_t open = 0;
  for (size_t i = 0; i < lanes_.size() && open < std::max<size_t>(options_.open_splits, 1); ++i) {
    const std::shared_ptr<Lane>& lane = lanes_[i];
    if (lane->done) continue;
    ++open;
    if (lane->reading || !MayReadLocked(*lane, i == 0)) continue;
    lane->reading = true;
    deps_.io->Submit([self = shared_from_this(), lane] { self->ReadLane(lane); });
  }
}

void SourceStage::LookUp(Lane& lane) {
  lane.looked_up = true;
  if (deps_.cache == nullptr) return;
  lane.cached = deps_.cache->Open(lane.lease.split(), lane.lease.pass());
  // Only whole splits are kept.
  if (lane.cached == nullptr && lane.sieve->passes_all())
    lane.fill = deps_.cache->Fill(lane.lease.split(), lane.lease.pass());
}

absl::StatusOr<bool> SourceStage::Fill(Lane& lane, Block& block) {
  if (!lane.looked_up) LookUp(lane);
  if (lane.cached == nullptr) return ReadSplit(lane, block);
  absl::StatusOr<std::optional<Block>> rows = lane.cached->Next();
  if (rows.ok()) {
    if (*rows) block = **std::move(rows);
    return rows->has_value();
  }
  // The rest is read from the file, and made.
  lane.cached.reset();
  lane.sieve->StartAt(lane.records);
  lane.records = 0;
  return ReadSplit(lane, block);
}

absl::StatusOr<bool> SourceStage::ReadSplit(Lane& lane, Block& block) {
  if (lane.reader == nullptr) {
    HR_ASSIGN_OR_RETURN(lane.reader,
                        deps_.format->Open(*deps_.files, lane.lease.split(), deps_.schema));
  }
  ReadLimits limits;
  limits.max_rows = sizer_.rows();
  // What comes before a piece of a split is read and left out.
  if (const uint64_t first = lane.lease.first_record(); lane.records < first) {
    limits.max_rows = std::min<uint64_t>(first - lane.records, options_.max_block_rows);
  }
  limits.max_bytes =
      std::max<uint64_t>(1, std::min(options_.max_block_bytes, options_.read_bytes / 2));
  limits.max_record_bytes = options_.max_record_bytes;
  return lane.reader->Read(limits, block);
}

void SourceStage::Keep(Lane& lane, const Block& block, Item& item, bool more) {
  if (!block.failures().empty()) lane.fill->Break();
  if (item.passed.records > 0) {
    item.passage.fill = std::make_shared<FillPiece>(lane.fill, lane.records, item.passed.records);
  }
  if (more) return;
  if (lane.reader->records_lost()) lane.fill->Break();
  lane.fill->ReadToEnd(lane.records + item.passed.records);
  lane.fill.reset();
}

uint64_t SourceStage::Claim(Lane& lane, const Block& block) {
  uint64_t until = lane.records + block.rows();
  for (const Run& run : block.settled()) until += run.count;
  absl::MutexLock lock(&mutex_);
  lane.claimed = std::max(lane.claimed, until);
  return lane.end;
}

SourceStage::Item SourceStage::Sift(Lane& lane, Block block, bool more, uint64_t end) {
  Item item;
  item.lease = lane.lease.number();
  if (end != UINT64_MAX) {
    lane.sieve->EndAt(end);
    if (lane.fill != nullptr) lane.fill->Break();
    lane.fill.reset();
  }
  item.passed = lane.sieve->Sift(block);
  item.passage.cached = lane.cached != nullptr;
  (item.passage.cached ? cached_tally_ : tally_).Out(block.rows(), block.live_bytes());
  if (lane.fill != nullptr) Keep(lane, block, item, more);
  lane.records += item.passed.records;
  item.until = std::min(lane.records, end);
  if (!more || lane.records >= end) {
    item.end = item.until;
    lane.reader.reset();
    lane.cached.reset();
  }
  if (block.rows() > 0 || !block.settled().empty()) item.block = std::move(block);
  return item;
}

bool SourceStage::KeepLocked(Lane& lane, Item item) {
  lane.reading = false;
  if (lane.dropped || lane.done || stopped_) return false;  // done: it was cut before this
  if (!item.end && item.until >= lane.end) item.end = item.until;
  lane.kept = std::max(lane.kept, item.until);
  if (item.end) {
    lane.done = true;
    if (lane.end == UINT64_MAX) {
      whole_records_ += *item.end;
      whole_size_ += lane.lease.split().end() - lane.lease.split().begin();
    }
  }
  if (item.block) {
    bytes_ += item.block->bytes();
    read_records_ += item.passed.records;
    read_size_ += item.block->bytes();
    peak_bytes_ = std::max(peak_bytes_, bytes_);
  }
  if (item.block || item.end) lane.items.push_back(std::move(item));
  NoteDryLocked();
  return true;
}

void SourceStage::ReadLane(const std::shared_ptr<Lane>& lane) {
  // Block after block, for a job for each would wake a thread for each; but others' jobs come
  // between.
  while (ReadOnce(lane)) {
  }
}

bool SourceStage::ReadOnce(const std::shared_ptr<Lane>& lane) {
  {
    absl::MutexLock lock(&mutex_);
    if (lane->dropped || lane->done || stopped_) return false;
  }
  const absl::Duration start = deps_.clock->Steady();
  const uint64_t before = deps_.cpu->ThreadNanos();
  Block block(deps_.schema);
  const absl::StatusOr<bool> more = Fill(*lane, block);
  std::optional<Item> item;
  if (more.ok()) {
    const uint64_t end = Claim(*lane, block);
    item = Sift(*lane, std::move(block), *more, end);
  }
  StepTally& tally = item && item->passage.cached ? cached_tally_ : tally_;
  tally.Cpu(deps_.cpu->ThreadNanos() - before, item && item->block ? item->block->rows() : 0);
  tally.Wall(static_cast<uint64_t>(absl::ToInt64Nanoseconds(deps_.clock->Steady() - start)));

  bool item_ready = false;
  bool want_leases = false;
  bool again = false;
  if (item) {
    const bool slow = deps_.clock->Steady() - start > kSlowRead;
    absl::MutexLock lock(&mutex_);
    if (slow && !lanes_.empty() && lanes_.front() == lane && lane->items.empty())
      GrowWindowLocked();
    if (!KeepLocked(*lane, *std::move(item))) return false;
    const bool first = lanes_.front() == lane;
    // Whoever takes items goes on until there is none, or no room for what they make.
    item_ready = first && lane->items.size() == 1;
    want_leases = lane->done && LeasesWantedLocked() > 0;
    again = !lane->done && MayReadLocked(*lane, first) && !deps_.io->busy();
    lane->reading = again;
    ScheduleLocked();
  }
  absl::ReaderMutexLock gate(&gate_);
  if (!more.ok() && callbacks_.on_error) {
    callbacks_.on_error(
        Annotate(more.status(), fmt::format("reading split {} of {}", lane->lease.split().id(),
                                            lane->lease.split().path())));
  }
  if (item_ready && callbacks_.on_item) callbacks_.on_item();
  if (want_leases && callbacks_.on_want_leases) callbacks_.on_want_leases();
  return again;
}

size_t SourceStage::LeasesWantedLocked() const {
  if (stopped_) return 0;
  const absl::Duration now = deps_.clock->Steady();
  double ahead = kFirstLeases;
  if (ends_.size() > 1) {
    const double bound = absl::ToDoubleSeconds(kLeaseAhead);
    const double seconds = absl::ToDoubleSeconds(now - ends_.front());
    const double pace = static_cast<double>(ends_.size() - 1) / std::max(seconds, 1e-6);
    // One that is worked on, and those that are begun within the bound: none, when the next end is
    // further off.
    const absl::Duration each = (ends_.back() - ends_.front()) / (ends_.size() - 1);
    const bool near_end = now - ends_.back() + kLeaseAhead >= each;
    ahead = std::max(1.0, std::ceil(pace * bound)) + (near_end ? 1 : 0);
  }
  if (dry_since_ && now - *dry_since_ > kDry) {
    ahead = std::max(ahead, static_cast<double>(options_.open_splits));
  }
  const double most = static_cast<double>(std::max<size_t>(options_.max_leases_ahead, 1));
  const auto wanted = static_cast<size_t>(std::min(ahead, most));
  return wanted > held_ ? wanted - held_ : 0;
}

size_t SourceStage::LeasesWanted() const {
  absl::MutexLock lock(&mutex_);
  return LeasesWantedLocked();
}

void SourceStage::Drop() {
  std::deque<std::shared_ptr<Lane>> dropped;  // goes after the lock
  absl::MutexLock lock(&mutex_);
  for (const std::shared_ptr<Lane>& lane : lanes_) lane->dropped = true;
  dropped.swap(lanes_);
  held_ = 0;
  dry_since_.reset();
  bytes_ = 0;
}

void SourceStage::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  Drop();
  absl::MutexLock gate(&gate_);
  callbacks_ = {};
}

uint64_t SourceStage::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

uint64_t SourceStage::peak_bytes() const {
  absl::MutexLock lock(&mutex_);
  return peak_bytes_;
}

uint64_t SourceStage::window_bytes() const {
  absl::MutexLock lock(&mutex_);
  return window_bytes_;
}

bool SourceStage::empty() const {
  absl::MutexLock lock(&mutex_);
  return lanes_.empty();
}

}  // namespace headrace
