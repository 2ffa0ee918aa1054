#include "tests/sim/truth.h"

#include <algorithm>

#include "fmt/format.h"

namespace headrace::sim {
namespace {

std::string Name(uint64_t epoch, const RecordId& e) {
  return fmt::format("epoch {} split {} record {} part {}/{} pass {}", epoch, e.split, e.index,
                     e.part, e.parts, e.pass);
}

}  // namespace

void Truth::Deliver(uint64_t epoch, const RecordId& element) {
  ever_delivered_.insert({epoch, element});
  if (delivered_.insert({epoch, element}).second || history_.sharding == v1::SHARDING_OFF) return;
  if (history_.visitation == v1::VISITATION_AT_LEAST_ONCE) return;
  doubled_.insert({epoch, element});
  // A lost client learns of it later than others get its records again.
  if (!history_.MayDouble()) Fail("DOUBLED " + Name(epoch, element));
}

void Truth::DeliverBatch(uint64_t epoch, uint64_t number, uint32_t rank,
                         std::vector<RecordId> elements) {
  for (const RecordId& element : elements) Deliver(epoch, element);
  if (batches_[{epoch, number}].try_emplace(rank, std::move(elements)).second) return;
  Fail(fmt::format("ORDER epoch {} batch {} comes to rank {} again", epoch, number, rank));
}

void Truth::GoBackToBatch() {
  batches_.erase(batches_.lower_bound(saved_batch_), batches_.end());
  delivered_.clear();
  for (const auto& [batch, parts] : batches_) {
    for (const auto& [rank, elements] : parts) {
      for (const RecordId& element : elements) delivered_.insert({batch.first, element});
    }
  }
  std::erase_if(dropped_,
                [this](const Key& key) { return std::get<0>(key) >= saved_batch_.first; });
  between_lives_ = true;
}

std::vector<std::vector<RecordId>> Truth::SequenceOf(uint64_t epoch) const {
  std::vector<std::vector<RecordId>> sequence;
  const auto end = batches_.lower_bound({epoch + 1, 0});
  for (auto it = batches_.lower_bound({epoch, 0}); it != end; ++it) {
    sequence.emplace_back();
    for (const auto& [rank, elements] : it->second) {
      sequence.back().insert(sequence.back().end(), elements.begin(), elements.end());
    }
  }
  return sequence;
}

std::string Truth::OutOfOrder(const Truth& calm) const {
  for (uint64_t epoch = 0; epoch < history_.epochs; ++epoch) {
    const auto have = SequenceOf(epoch);
    auto want = calm.SequenceOf(epoch);
    // So that no rank has a step without rows.
    if (!want.empty() && want.back().size() < history_.clients) want.pop_back();
    for (size_t i = 0; i < std::min(have.size(), want.size()); ++i) {
      if (have[i] == want[i]) continue;
      return fmt::format("ORDER epoch {} batch {} begins with {}, undisturbed with {}", epoch, i,
                         Name(epoch, have[i].front()), Name(epoch, want[i].front()));
    }
    if (have.size() == want.size()) continue;
    return fmt::format("ORDER epoch {} has {} batches, undisturbed {}", epoch, have.size(),
                       want.size());
  }
  return "";
}

void Truth::Drop(uint64_t epoch, const RecordId& element) {
  dropped_.insert({epoch, element});
  ever_dropped_.insert({epoch, element});
}

std::vector<RecordId> Truth::Expected() const {
  std::vector<RecordId> expected;
  for (uint32_t pass = 0; pass < history_.passes; ++pass) {
    for (uint64_t split = 0; split < history_.splits; ++split) {
      for (uint64_t record = 0; record < RecordsOf(history_, split); ++record) {
        if (Filtered(history_, split, record) || Failing(history_, split, record)) continue;
        const uint32_t parts = PartsOf(history_, split, record);
        for (uint32_t part = 0; part < parts; ++part) {
          expected.push_back({split, record, part, parts, pass});
        }
      }
    }
  }
  return expected;
}

std::string Truth::MissingIn(uint64_t epoch) const {
  const std::vector<RecordId> expected = Expected();
  uint64_t count = 0;
  for (const RecordId& element : expected) {
    const bool there = delivered_.contains({epoch, element});
    count += there ? 1 : 0;
    if (there || history_.take != 0 || dropped_.contains({epoch, element})) continue;
    return "MISSING " + Name(epoch, element);
  }
  if (history_.take == 0) return "";
  const uint64_t left = expected.size() - std::min<uint64_t>(history_.skip, expected.size());
  const uint64_t wanted = std::min<uint64_t>(history_.take, left);
  if (count == wanted) return "";
  return fmt::format("TAKE of epoch {}: {} delivered, {} wanted", epoch, count, wanted);
}

std::string Truth::Verdict() const {
  for (const auto& [epoch, element] : doubled_) {
    if (history_.visitation == v1::VISITATION_AT_MOST_ONCE || !lost_.contains({epoch, element})) {
      return "DOUBLED " + Name(epoch, element);
    }
  }
  if (history_.MayMiss()) return "";
  for (uint64_t epoch = 0; epoch < history_.epochs; ++epoch) {
    if (std::string missing = MissingIn(epoch); !missing.empty()) return missing;
  }
  return "";
}

bool Truth::WithoutOutput(uint64_t epoch, const v1::Run& run, uint64_t record) const {
  if (Filtered(history_, run.split(), record) || Failing(history_, run.split(), record)) {
    return true;
  }
  const RecordId element{run.split(), record, run.part(), std::max(1u, run.parts()), run.pass()};
  return ever_dropped_.contains({epoch, element});
}

void Truth::SeeDelivered(const v1::RunsDelivered& event) {
  for (const v1::TaskRuns& runs : event.delivered()) {
    for (const v1::Run& run : runs.runs()) {
      for (uint64_t i = run.first(); i < run.first() + run.count(); ++i) {
        const RecordId element{run.split(), i, run.part(), std::max(1u, run.parts()), run.pass()};
        if (ever_delivered_.contains({event.epoch(), element})) continue;
        Fail("LEDGER counts what nobody was handed: " + Name(event.epoch(), element));
      }
    }
  }
}

void Truth::SeeReports(const v1::SplitsReported& event) {
  for (const v1::SplitReport& report : event.splits()) {
    const auto it = epoch_of_.find(report.task());
    if (it == epoch_of_.end()) continue;
    for (const v1::Run& run : report.settled()) {
      for (uint64_t i = run.first(); i < run.first() + run.count(); ++i) {
        if (WithoutOutput(it->second, run, i)) continue;
        Fail("LEDGER settles what has output: " +
             Name(it->second, {run.split(), i, run.part(), run.parts(), run.pass()}));
      }
    }
  }
}

void Truth::See(const v1::Event& event) {
  if (event.has_task_assigned()) {
    epoch_of_[event.task_assigned().task()] = event.task_assigned().epoch();
  } else if (event.has_runs_delivered()) {
    SeeDelivered(event.runs_delivered());
  } else if (event.has_splits_reported()) {
    SeeReports(event.splits_reported());
  } else if (event.has_job_restored()) {
    between_lives_ = false;
  } else if (event.has_epoch_finished() && !event.epoch_finished().abandoned() &&
             !history_.MayMiss() && !between_lives_) {
    if (std::string missing = MissingIn(event.epoch_finished().epoch()); !missing.empty()) {
      Fail(missing + ", and the epoch is called finished");
    }
  }
}

}  // namespace headrace::sim
