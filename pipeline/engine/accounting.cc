#include "pipeline/engine/accounting.h"

#include <algorithm>

#include "common/status.h"
#include "pipeline/formats/reading/file_run.h"

namespace headrace {

void MergeRuns(std::vector<Run>& runs) {
  if (runs.size() < 2) return;
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::tie(a.split, a.pass, a.parts, a.part, a.first) <
           std::tie(b.split, b.pass, b.parts, b.part, b.first);
  });
  size_t kept = 0;
  for (size_t i = 1; i < runs.size(); ++i) {
    Run& last = runs[kept];
    const Run& run = runs[i];
    if (last.split == run.split && last.pass == run.pass && last.parts == run.parts &&
        last.part == run.part && last.first + last.count == run.first) {
      last.count += run.count;
    } else {
      runs[++kept] = run;
    }
  }
  runs.resize(kept + 1);
}

void Accounting::Book::AddDone(uint32_t parts, uint64_t count) {
  if (parts <= 1) {
    whole_done += count;
    return;
  }
  for (auto& [n, done] : parts_done) {
    if (n == parts) {
      done += count;
      return;
    }
  }
  parts_done.push_back({parts, count});
}

uint64_t Accounting::Book::Done(bool& exact) const {
  // Each record adds at most one to the sum of done(n) / n, so the sum reaches `entered` only when
  // all are done.
  uint64_t done = whole_done;
  exact = true;
  for (const auto& [n, elements] : parts_done) {
    done += elements / n;
    exact = exact && elements % n == 0;
  }
  return done;
}

bool Accounting::Book::complete() const {
  bool exact = false;
  const uint64_t done = Done(exact);
  return ended && exact && done == entered;
}

absl::StatusOr<bool> Accounting::Open(const v1::Lease& lease, std::shared_ptr<const SkipSet> skip,
                                      uint64_t generation) {
  absl::MutexLock lock(&mutex_);
  if (by_lease_.contains(lease.number())) return false;
  const uint64_t end = lease.end_record() == 0 ? UINT64_MAX : lease.end_record();
  const Key key{lease.split().id(), lease.pass(), lease.first_record()};
  const Book* other = FindLocked(lease.split().id(), lease.pass(), lease.first_record());
  if (const auto next = books_.lower_bound(key); other == nullptr && next != books_.end()) {
    const Book& book = *next->second;
    const bool same = book.split.id() == lease.split().id() && book.pass == lease.pass();
    if (same && (book.first < end || book.first == lease.first_record())) other = &book;
  }
  if (other != nullptr) {
    return FailedPrecondition(
        "lease {}: split {} (pass {}) of {} is still under way under lease {}", lease.number(),
        lease.split().id(), lease.pass(), lease.split().path(), other->lease);
  }
  auto book = std::make_unique<Book>();
  book->lease = lease.number();
  book->split = lease.split();
  book->pass = lease.pass();
  book->first = lease.first_record();
  book->end = end;
  book->skip = std::move(skip);
  book->generation = generation;
  if (book->skip->has_parts()) ++part_skips_;
  if (options_.replay && !book->skip->empty()) ++replays_;
  by_lease_[lease.number()] = book.get();
  books_[key] = std::move(book);
  return true;
}

Accounting::Book* Accounting::FindLocked(uint64_t split, uint32_t pass, uint64_t record) {
  if (last_ != nullptr && last_->Has(split, pass, record)) return last_;
  auto at = books_.upper_bound(Key{split, pass, record});
  if (at == books_.begin()) return nullptr;
  Book* book = (--at)->second.get();
  if (!book->Has(split, pass, record)) return nullptr;
  last_ = book;
  return book;
}

void Accounting::ForEachLocked(const Run& run, absl::FunctionRef<void(Book&, const Run&)> each) {
  Run part = run;
  for (uint64_t left = run.count; left > 0; left -= part.count) {
    Book* book = FindLocked(run.split, run.pass, part.first);
    uint64_t end = UINT64_MAX;
    if (book != nullptr) {
      end = book->end;
    } else if (const auto next = books_.upper_bound(Key{run.split, run.pass, part.first});
               next != books_.end() && next->second->split.id() == run.split &&
               next->second->pass == run.pass) {
      end = next->second->first;
    }
    part.count = std::min(left, end - part.first);
    if (book != nullptr) each(*book, part);
    part.first += part.count;
  }
}

void Accounting::DirtyLocked(Book& book) {
  if (book.dirty) return;
  book.dirty = true;
  dirty_.push_back(book.key());
}

void Accounting::CloseIfDoneLocked(Book& book) {
  if (book.dirty || !(book.abandoned || book.given_up() || book.complete())) return;
  if (book.skip->has_parts()) --part_skips_;
  if (options_.replay && !book.skip->empty()) --replays_;
  if (last_ == &book) last_ = nullptr;
  by_lease_.erase(book.lease);
  books_.erase(book.key());
}

void Accounting::Cut(uint64_t lease, std::vector<uint64_t> cuts) {
  absl::MutexLock lock(&mutex_);
  const auto at = by_lease_.find(lease);
  if (at == by_lease_.end() || cuts.empty()) return;
  Book& book = *at->second;
  book.end = cuts.front();
  cuts.insert(cuts.end(), book.cuts.begin(), book.cuts.end());
  book.cuts = std::move(cuts);
  DirtyLocked(book);
}

void Accounting::Enter(uint64_t lease, uint64_t entered) {
  if (entered == 0) return;
  absl::MutexLock lock(&mutex_);
  const auto at = by_lease_.find(lease);
  if (at != by_lease_.end()) at->second->entered += entered;
}

void Accounting::EnterPart(uint64_t lease, uint32_t parts, uint64_t count) {
  absl::MutexLock lock(&mutex_);
  const auto at = by_lease_.find(lease);
  if (at != by_lease_.end()) at->second->AddDone(parts, count);
}

void Accounting::ReadToEnd(uint64_t lease, uint64_t records) {
  absl::MutexLock lock(&mutex_);
  const auto at = by_lease_.find(lease);
  if (at == by_lease_.end()) return;
  at->second->ended = true;
  at->second->records = records;
  DirtyLocked(*at->second);
}

void Accounting::Settle(std::span<const Run> runs) {
  if (runs.empty()) return;
  absl::MutexLock lock(&mutex_);
  for (const Run& run : runs) {
    ForEachLocked(run, [this](Book& book, const Run& own) {
      mutex_.AssertHeld();
      AppendRun(book.settled, own);
      book.AddDone(own.parts, own.count);
      if (own.parts <= 1 && !options_.replay && book.skip->has_parts()) {
        // It ended whole this time: the parts that were to be left out do not come either.
        for (uint64_t i = 0; i < own.count; ++i) {
          const auto [parts, count] = book.skip->PartsOf(own.first + i);
          if (count > 0) book.AddDone(parts, -count);
        }
      }
      DirtyLocked(book);
    });
  }
}

void Accounting::Leave(std::span<const Run> runs) {
  if (runs.empty()) return;
  absl::MutexLock lock(&mutex_);
  for (const Run& run : runs) {
    ForEachLocked(run, [this](Book& book, const Run& own) {
      mutex_.AssertHeld();
      book.AddDone(own.parts, own.count);
      if (book.ended) CloseIfDoneLocked(book);
    });
  }
}

std::string Accounting::Fail(std::span<const RowFailure> failures, std::string_view where,
                             std::string_view step) {
  std::string first;
  absl::MutexLock lock(&mutex_);
  for (const RowFailure& failure : failures) {
    Book* book = FindLocked(failure.record.split, failure.record.pass, failure.record.first);
    if (book != nullptr) {
      book->failed += failure.records;
      DirtyLocked(*book);
    }
    const bool sample = samples_ < options_.max_samples && book != nullptr;
    if (!sample && !first.empty()) continue;
    const std::string_view message(failure.status.message().data(),
                                   failure.status.message().size());
    std::string words;
    if (where.empty()) {  // the reader's own message says it all
      words = std::string(message);
    } else if (book == nullptr || book->split.path().empty()) {
      words = fmt::format("{}: record {} of split {}: {}", where, failure.record.first,
                          failure.record.split, message);
    } else if (book->split.has_more_files()) {  // as the reader of such splits says it
      words = fmt::format("{}: {}: byte 0, record {} of split {}: {}", where,
                          FileOfRecord(book->split, failure.record.first), failure.record.first,
                          failure.record.split, message);
    } else {
      words =
          fmt::format("{}: {}: record {} of the split at {} to {}: {}", where, book->split.path(),
                      failure.record.first, book->split.begin(), book->split.end(), message);
    }
    if (sample) {
      v1::FailureSample& kept = book->samples.emplace_back();
      kept.set_message(words);
      kept.set_step(std::string(step));
      kept.set_code(static_cast<uint32_t>(failure.status.code()));
      ++samples_;
    }
    if (first.empty()) first = std::move(words);
  }
  return first;
}

void Accounting::EmitRowLocked(const Provenance& provenance) {
  for (const Run& run : provenance) {
    ForEachLocked(run, [this](Book& book, const Run& own) {
      mutex_.AssertHeld();
      book.AddDone(own.parts, own.count);
      if (options_.keep_emitted) AppendRun(book.emitted, own);
      if (book.ended) CloseIfDoneLocked(book);
    });
  }
}

absl::Status Accounting::Emit(Block& block) {
  absl::MutexLock lock(&mutex_);
  for (size_t row = 0; row < block.rows(); ++row) {
    const Provenance& provenance = block.provenance(row);
    if (replays_ > 0 || part_skips_ > 0) {
      uint64_t elements = 0;
      uint64_t skipped = 0;
      for (const Run& run : provenance) {
        elements += run.count;
        ForEachLocked(run, [&skipped](Book& book, const Run& own) {
          skipped += book.skip->CountElements(own);
        });
      }
      if (skipped > 0 && skipped < elements) {
        const Run& run = provenance.front();
        return Internal(
            "an output row that begins with record {} of split {} holds {} elements that were "
            "delivered "
            "before and {} that were not",
            run.first, run.split, skipped, elements - skipped);
      }
      if (skipped > 0) {
        block.Drop(row);
        if (!options_.replay) continue;  // its parts were counted when the record entered
      }
    }
    EmitRowLocked(provenance);
  }
  return absl::OkStatus();
}

absl::Status Accounting::DropSkippedParts(Block& block) {
  absl::MutexLock lock(&mutex_);
  if (part_skips_ == 0 || options_.replay) return absl::OkStatus();
  for (size_t row = 0; row < block.rows(); ++row) {
    const Provenance& provenance = block.provenance(row);
    if (provenance.size() != 1 || provenance[0].parts <= 1) continue;
    const Book* book = FindLocked(provenance[0].split, provenance[0].pass, provenance[0].first);
    if (book != nullptr && book->skip->CountElements(provenance[0]) == provenance[0].count)
      block.Drop(row);
  }
  return absl::OkStatus();
}

absl::Status Accounting::Flushed(uint64_t generation) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, book] : books_) {
    if (book->generation > generation || book->abandoned || book->given_up() || book->complete()) {
      continue;
    }
    bool exact = false;
    const uint64_t done = book->Done(exact);
    return Internal(
        "a step {} records: of {} records of split {} ({}) that entered, {} came out or were "
        "settled{}",
        done > book->entered ? "doubled" : "lost", book->entered, book->split.id(),
        book->split.path(), done, exact ? "" : ", and some in part");
  }
  return absl::OkStatus();
}

void Accounting::Abandon() {
  absl::MutexLock lock(&mutex_);
  for (auto& [key, book] : books_) {
    if (book->complete() || book->given_up()) continue;
    book->abandoned = true;
    DirtyLocked(*book);
  }
}

namespace {

void AddRun(const Run& run, v1::Run& out) {
  out.set_split(run.split);
  out.set_first(run.first);
  out.set_count(run.count);
  if (run.parts > 1) {
    out.set_part(run.part);
    out.set_parts(run.parts);
  }
  out.set_pass(run.pass);
}

}  // namespace

v1::SplitReport Accounting::ReportLocked(Book& book) {
  v1::SplitReport report;
  report.set_lease(book.lease);
  report.set_split(book.split.id());
  report.set_pass(book.pass);
  report.set_read_to_end(book.ended);
  if (book.ended) report.set_records(book.records);
  MergeRuns(book.settled);
  for (const Run& run : book.settled) AddRun(run, *report.add_settled());
  report.set_failed(book.failed);
  report.mutable_cuts()->Assign(book.cuts.begin(), book.cuts.end());
  for (v1::FailureSample& sample : book.samples) *report.add_samples() = std::move(sample);
  if (book.abandoned) {
    report.set_abandoned(true);
    MergeRuns(book.emitted);
    for (const Run& run : book.emitted) AddRun(run, *report.add_emitted());
  }
  book.settled = {};
  book.cuts.clear();
  book.failed = 0;
  book.samples.clear();
  book.dirty = false;
  return report;
}

std::vector<v1::SplitReport> Accounting::TakeReports() {
  absl::MutexLock lock(&mutex_);
  std::vector<v1::SplitReport> reports;
  reports.reserve(dirty_.size());
  for (const Key& key : std::exchange(dirty_, {})) {
    const auto at = books_.find(key);
    if (at == books_.end()) continue;
    Book& book = *at->second;
    reports.push_back(ReportLocked(book));
    CloseIfDoneLocked(book);
  }
  return reports;
}

bool Accounting::AllClosed() const {
  absl::MutexLock lock(&mutex_);
  return books_.empty();
}

size_t Accounting::open() const {
  absl::MutexLock lock(&mutex_);
  return books_.size();
}

}  // namespace headrace
