// What a keeper does about a subprocess that is no more.
#include <algorithm>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "pipeline/udf/function_group.h"
#include "pipeline/udf/keeper.h"

namespace headrace::udf {
namespace {

constexpr size_t kMaxKills = 16;  // by one block; then its rest is not tried

}  // namespace

void Keeper::Bury(const Loss& given) {
  Loss loss = given;
  if (!loss.lied) Harvest();
  if (pieces_.empty()) {  // all that it had is answered
    if (loss.why.empty()) group_.counters().died.fetch_add(1, std::memory_order_relaxed);
    Drain();
    return EndProcess();
  }
  const int64_t progress = Progress(pieces_.front());
  seen_progress_ = progress;
  if (loss.why.empty()) {
    loss.why = "ended its process: it " + process_->Ending();
    loss.by_itself = true;
    group_.counters().died.fetch_add(1, std::memory_order_relaxed);
  } else {
    process_->Kill();
  }
  Drain();
  loss.why = output_.WithLastWords(loss.why);
  EndProcess();
  loss.alone = pieces_.size() == 1 && pieces_.front().rows.size() == 1 && process_blocks_ == 0;
  Piece first = std::move(pieces_.front());
  pieces_.pop_front();
  for (Piece& piece : pieces_) piece.job->todo.push_front(std::move(piece.rows));
  pieces_.clear();
  Blame(std::move(first), loss);
}

void Keeper::Blame(Piece piece, const Loss& loss) {
  Job& job = *piece.job;
  if (job.delivery->stopped()) return;
  const std::string& function = group_.spec().function;
  if (++job.kills == 1) LogWarning("python {}: {}", function, loss.why);
  if (job.kills > kMaxKills) {
    for (const uint32_t row : piece.rows) {
      job.failed.emplace_back(row, InvalidArgument("not tried: '{}' has ended {} processes over "
                                                   "records of the same block",
                                                   function, kMaxKills));
    }
    return;
  }
  if (loss.by_itself && seen_progress_ < 0) {  // died before it came to this
    job.todo.push_front(std::move(piece.rows));
    return;
  }
  if (group_.spec().batched && !job.single) {  // one of them all; which one, single calls will tell
    job.single = true;
    job.todo.push_front(std::move(piece.rows));
    return;
  }
  if (seen_progress_ < 0 && piece.rows.size() > 1) {  // it said nothing: in halves
    const auto half = piece.rows.begin() + static_cast<ptrdiff_t>(piece.rows.size() / 2);
    job.todo.emplace_front(half, piece.rows.end());
    job.todo.emplace_front(piece.rows.begin(), half);
    return;
  }
  const auto at =
      std::clamp<int64_t>(seen_progress_, 0, static_cast<int64_t>(piece.rows.size()) - 1);
  const uint32_t suspect = piece.rows[static_cast<size_t>(at)];
  piece.rows.erase(piece.rows.begin() + at);
  if (!piece.rows.empty()) job.todo.push_front(std::move(piece.rows));
  // Alone in a fresh process: what ends that one is to blame, and nothing else is.
  if (loss.row_is_known || loss.alone) {
    job.failed.emplace_back(suspect, InvalidArgument("'{}' {}", function, loss.why));
  } else {
    job.todo.push_front({suspect});
  }
}

}  // namespace headrace::udf
