#include "dispatcher/ledger/lane.h"

#include <algorithm>
#include <limits>

#include "common/status.h"

namespace headrace::dispatch {

Lane::Lane(v1::LaneDef def, std::shared_ptr<const std::vector<uint32_t>> splits,
           uint64_t split_count, uint64_t passes, bool single_task)
    : def_(std::move(def)),
      splits_(std::move(splits)),
      split_count_(splits_ != nullptr ? splits_->size() : split_count),
      single_task_(single_task) {
  // Identity holds the pass in 32 bits.
  passes = std::min<uint64_t>(passes, std::numeric_limits<uint32_t>::max());
  end_ = split_count_ * passes;  // both below 2^32
  if (!ordered()) return;
  window_ = def_.ordered().window();
  const uint64_t first = def_.ordered().first_window();
  base_ = window_ == 0 ? (first == 0 ? 0 : end_)
                       : (first > end_ / window_ ? end_ : std::min(end_, first * window_));
  cursor_ = done_to_ = base_;
}

uint64_t Lane::WindowEnd(uint64_t position) const {
  return window_ == 0 ? end_ : std::min(end_, (position / window_ + 1) * window_);
}

void Lane::DropDoneWindows(bool complete) {
  while (done_to_ < cursor_) {
    const SplitPass item = At(done_to_);
    if (!done_.contains(item) && !(complete && Find(item)->Complete())) break;
    ++done_to_;
  }
  while (base_ < done_to_) {
    const uint64_t end = WindowEnd(base_);
    if (end > done_to_ || WindowOf(base_) >= passed_) return;
    for (; base_ < end; ++base_) {
      const SplitPass item = At(base_);
      if (done_.erase(item) == 0) ++retired_;
      ledgers_.erase(item);
    }
  }
}

SplitPass Lane::At(uint64_t position) const {
  const uint64_t index = position % split_count_;
  return {splits_ != nullptr ? (*splits_)[index] : static_cast<uint32_t>(index),
          static_cast<uint32_t>(position / split_count_)};
}

std::vector<Piece> Lane::Next(size_t count) const {
  std::vector<Piece> next;
  if (count == 0) return next;
  ForEachNext([&](const Piece& piece) {
    next.push_back(piece);
    return next.size() < count;
  });
  return next;
}

void Lane::ForEachNext(absl::FunctionRef<bool(const Piece&)> each) const {
  for (const Piece& piece : returned_) {
    if (!each(piece)) return;
  }
  uint64_t left = pending() - returned_.size();
  for (uint64_t at = cursor_; left != 0; ++at) {
    const SplitPass item = At(at);
    if (!restored_.empty() && restored_.contains(item)) continue;
    if (!each({item})) return;
    --left;
  }
}

uint64_t Lane::Seek(SplitPass item) const {
  const uint64_t most = def_.shared() ? kMostPassedOver : 1;
  uint64_t passed = 0;
  for (uint64_t at = cursor_; at < end_ && passed < most; ++at) {
    const SplitPass next = At(at);
    if (next == item) return at;
    if (restored_.empty() || !restored_.contains(next)) ++passed;
  }
  return end_;
}

uint64_t Lane::Restore(SplitPass item, const v1::Run& run) {
  ledgers_.try_emplace(item);
  return Cover(item, run);
}

bool Lane::RetireRestored(SplitPass item, uint64_t need) {
  // Counting steps must see every record, and other slots' records are not this lane's.
  if (single_task_ || def_.by_record()) return false;
  const SplitLedger* ledger = Find(item);
  if ((ledger == nullptr ? 0 : ledger->records_done()) < need) return false;
  if (!restored_.insert(item).second) return false;
  ledgers_.erase(item);
  ++retired_;
  return true;
}

absl::Status Lane::Take(const Piece& piece) {
  const SplitPass item = piece;
  while (!restored_.empty() && cursor_ < end_ && restored_.erase(At(cursor_)) != 0) ++cursor_;
  const auto returned = def_.shared() || returned_.empty() || returned_.front() == piece
                            ? std::ranges::find(returned_, piece)
                            : returned_.end();
  const bool ahead =
      returned == returned_.end() && piece.whole() && (def_.shared() || returned_.empty());
  const uint64_t at = ahead ? Seek(item) : end_;
  if (returned == returned_.end() && at == end_) {
    return FailedPrecondition("split {} pass {} is not the lane's next", item.split, item.pass);
  }
  if (returned != returned_.end()) {
    returned_.erase(returned);
  } else {
    for (; cursor_ < at; ++cursor_) {
      if (restored_.erase(At(cursor_)) == 0) returned_.push_back({At(cursor_)});
    }
    ++cursor_;
  }
  ledgers_.try_emplace(item);
  ++leased_;
  return absl::OkStatus();
}

void Lane::GiveBack(const std::vector<Piece>& pieces) {
  returned_.insert(returned_.begin(), pieces.begin(), pieces.end());
  leased_ -= pieces.size();
  for (const Piece& piece : pieces) {
    if (SplitLedger* ledger = Find(piece)) ledger->Reopen();
  }
}

void Lane::Cut(const std::vector<Piece>& rest, bool empty) {
  if (rest.empty()) return;
  uint64_t& open = pieces_.try_emplace(rest.front(), 1).first->second;
  open += rest.size();
  returned_.insert(returned_.begin(), rest.begin(), rest.end());
  if (!empty) return;
  --open;
  --leased_;
}

bool Lane::CloseLast(SplitPass item) {
  const auto it = pieces_.find(item);
  if (it == pieces_.end()) return true;
  if (--it->second != 0) return false;
  pieces_.erase(it);
  return true;
}

bool Lane::Retire(SplitPass item) {
  --leased_;
  if (!CloseLast(item)) return false;
  ++retired_;
  if (ordered()) {
    done_.insert(item);
    DropDoneWindows(/*complete=*/false);
    return true;
  }
  // A replay leaves out at its end what is done, so a single task's lane remembers it.
  if (!single_task_) ledgers_.erase(item);
  return true;
}

void Lane::GiveUp(SplitPass item) {
  --leased_;
  if (CloseLast(item)) ledgers_.erase(item);
}

void Lane::Rewind() {
  if (ordered()) DropDoneWindows(/*complete=*/true);
  cursor_ = done_to_ = base_;
  leased_ = 0;
  retired_ = ordered() ? retired_ - done_.size() : 0;
  done_.clear();
  returned_.clear();
  for (auto& [item, ledger] : ledgers_) ledger.Reopen();
}

void Lane::Pass(uint64_t window) {
  if (!ordered() || window <= passed_) return;
  passed_ = window;
  DropDoneWindows(/*complete=*/false);
}

void Lane::Close() {
  returned_.clear();
  restored_.clear();
  end_ = cursor_;
}

SplitLedger* Lane::Find(SplitPass item) {
  const auto it = ledgers_.find(item);
  return it == ledgers_.end() ? nullptr : &it->second;
}

const SplitLedger* Lane::Find(SplitPass item) const {
  const auto it = ledgers_.find(item);
  return it == ledgers_.end() ? nullptr : &it->second;
}

uint64_t Lane::Cover(SplitPass item, const v1::Run& run) {
  SplitLedger* ledger = Find(item);
  if (ledger == nullptr) return 0;
  const uint64_t slots = def_.slots();
  if (!def_.by_record() || slots <= 1) return ledger->Cover(run);
  // With a `shard` step, steps before it settle records of other slots too.
  const uint64_t first = run.first();
  const uint64_t ahead = (def_.slot() + slots - (item.split + first) % slots) % slots;
  v1::Run own = run;
  own.set_count(1);
  uint64_t added = 0;
  for (uint64_t i = ahead; i < run.count(); i += slots) {
    own.set_first(first + i);
    added += ledger->Cover(own);
  }
  return added;
}

void Lane::Keep(v1::KeptLane& kept) const {
  kept.set_cursor(cursor_);
  kept.set_end(end_);
  const bool all_whole = std::ranges::all_of(returned_, &Piece::whole);
  for (const Piece& piece : returned_) {
    kept.add_returned(uint64_t{piece.split} << 32 | piece.pass);
    if (all_whole) continue;
    kept.add_returned_first(piece.first);
    kept.add_returned_end(piece.end);
  }
  std::vector<SplitPass> restored(restored_.begin(), restored_.end());
  std::ranges::sort(restored);
  for (const SplitPass& item : restored) {
    kept.add_restored(uint64_t{item.split} << 32 | item.pass);
  }
  kept.set_base(base_);
  std::vector<SplitPass> done(done_.begin(), done_.end());
  std::ranges::sort(done);
  for (const SplitPass& item : done) kept.add_done(uint64_t{item.split} << 32 | item.pass);
  kept.set_leased(leased_);
  kept.set_retired(retired_);
  kept.set_task(task.value);
  kept.set_worker(worker.value);
}

void Lane::KeepLedgers(absl::FunctionRef<void(v1::KeptLedger)> each) const {
  std::vector<SplitPass> items;
  items.reserve(ledgers_.size());
  for (const auto& [item, ledger] : ledgers_) items.push_back(item);
  std::ranges::sort(items);
  for (const SplitPass& item : items) {
    v1::KeptLedger kept;
    kept.set_split(item.split);
    kept.set_pass(item.pass);
    ledgers_.at(item).Keep(kept);
    each(std::move(kept));
  }
}

absl::Status Lane::Reload(const v1::KeptLane& kept) {
  if (kept.cursor() > kept.end() || kept.end() > end_) {
    return InvalidArgument("a lane of {} splits at {} of {}", end_, kept.cursor(), kept.end());
  }
  cursor_ = kept.cursor();
  end_ = kept.end();
  const bool all_whole = kept.returned_first().empty() && kept.returned_end().empty();
  if (!all_whole && (kept.returned_first_size() != kept.returned_size() ||
                     kept.returned_end_size() != kept.returned_size())) {
    return InvalidArgument("a lane with columns of pieces that do not fit together");
  }
  returned_.clear();
  pieces_.clear();
  for (int i = 0; i < kept.returned_size(); ++i) {
    const uint64_t item = kept.returned(i);
    Piece piece{{static_cast<uint32_t>(item >> 32), static_cast<uint32_t>(item)}};
    if (!all_whole) {
      piece.first = kept.returned_first(i);
      piece.end = kept.returned_end(i);
    }
    NotePiece(piece);
    returned_.push_back(piece);
  }
  restored_.clear();
  for (const uint64_t item : kept.restored()) {
    restored_.insert({static_cast<uint32_t>(item >> 32), static_cast<uint32_t>(item)});
  }
  base_ = done_to_ = kept.base();
  done_.clear();
  for (const uint64_t item : kept.done()) {
    done_.insert({static_cast<uint32_t>(item >> 32), static_cast<uint32_t>(item)});
  }
  leased_ = kept.leased();
  retired_ = kept.retired();
  task = TaskId(kept.task());
  worker = WorkerId(kept.worker());
  return absl::OkStatus();
}

absl::Status Lane::ReloadLedger(const v1::KeptLedger& kept) {
  return ledgers_[{kept.split(), kept.pass()}].Reload(kept);
}

uint64_t Lane::Own(uint64_t split, uint64_t records) const {
  if (!def_.by_record() || def_.slots() <= 1) return records;
  const uint64_t slots = def_.slots();
  // The first index i with (split + i) % slots == slot.
  const uint64_t first = (def_.slot() + slots - split % slots) % slots;
  return records <= first ? 0 : (records - first - 1) / slots + 1;
}

}  // namespace headrace::dispatch
