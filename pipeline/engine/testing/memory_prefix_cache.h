// For tests of the engine: a PrefixCache over rows of a CountingFormat, in memory.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "common/status.h"
#include "gtest/gtest.h"
#include "pipeline/engine/prefix_cache.h"

namespace headrace::testing_engine {

class MemoryPrefixCache final : public PrefixCache {
 public:
  struct Row {
    uint64_t record = 0;
    int64_t x = 0;
  };
  struct Piece {
    uint64_t count = 0;
    std::vector<Row> rows;
  };
  struct Kept {
    std::map<uint64_t, Piece> pieces;  // by first record
    uint64_t records = 0;
  };

  // Readers of this split fail after so many pieces, if set.
  std::map<uint64_t, size_t> damaged = {};

  const std::map<uint64_t, Kept>& kept() const { return kept_; }
  int hits() const { return hits_; }
  int broken() const { return broken_; }

  std::unique_ptr<CachedRows> Open(const v1::Split& split, uint32_t) override {
    absl::MutexLock lock(&mutex_);
    const auto it = kept_.find(split.id());
    if (it == kept_.end()) return nullptr;
    ++hits_;
    const auto limit = damaged.find(split.id());
    return std::make_unique<Reader>(it->second, split.id(),
                                    limit == damaged.end() ? SIZE_MAX : limit->second);
  }

  std::shared_ptr<PrefixFill> Fill(const v1::Split& split, uint32_t) override {
    return std::make_shared<Filler>(*this, split.id());
  }

 private:
  class Reader final : public CachedRows {
   public:
    Reader(Kept kept, uint64_t split, size_t limit)
        : kept_(std::move(kept)), split_(split), limit_(limit), next_(kept_.pieces.begin()) {}
    absl::StatusOr<std::optional<Block>> Next() override {
      if (next_ == kept_.pieces.end()) return std::optional<Block>();
      if (limit_-- == 0) return DataLoss("damaged");
      Block block(std::make_shared<const Schema>(
          Schema({{"x", DType::kInt64, Shape()}, {"pad", DType::kBytes, Shape()}})));
      uint64_t record = next_->first;
      const auto settle = [&](uint64_t to) {
        if (record < to)
          AppendRun(block.settled(), Run{.split = split_, .first = record, .count = to - record});
      };
      for (const Row& row : next_->second.rows) {
        settle(row.record);
        const Cell cells[] = {MakeScalarCell<int64_t>(block.arena(), row.x),
                              MakeBytesCell(block.arena(), "")};
        block.AppendRow({Run{.split = split_, .first = row.record, .count = 1}}, cells);
        record = row.record + 1;
      }
      settle(next_->first + next_->second.count);
      ++next_;
      return std::optional<Block>(std::move(block));
    }

   private:
    const Kept kept_;
    const uint64_t split_;
    size_t limit_;
    std::map<uint64_t, Piece>::const_iterator next_;
  };

  class Filler final : public PrefixFill {
   public:
    Filler(MemoryPrefixCache& cache, uint64_t split) : cache_(cache), split_(split) {}
    void Deposit(uint64_t first, uint64_t count, const Block& block) override {
      absl::MutexLock lock(&cache_.mutex_);
      Piece& piece = kept_.pieces[first];
      EXPECT_EQ(piece.count, 0u) << "deposited twice";
      piece.count = count;
      for (size_t row = 0; row < block.rows(); ++row) {
        piece.rows.push_back({block.provenance(row).front().first,
                              block.column(block.schema().Find("x"))[row].as<int64_t>()[0]});
      }
      deposited_ += count;
      End();
    }
    void ReadToEnd(uint64_t records) override {
      absl::MutexLock lock(&cache_.mutex_);
      kept_.records = records;
      ended_ = true;
      End();
    }
    void Break() override {
      absl::MutexLock lock(&cache_.mutex_);
      if (!std::exchange(broken_, true)) ++cache_.broken_;
    }

   private:
    void End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(cache_.mutex_) {
      if (ended_ && !broken_ && deposited_ == kept_.records) cache_.kept_[split_] = kept_;
    }

    MemoryPrefixCache& cache_;
    const uint64_t split_;
    Kept kept_;
    uint64_t deposited_ = 0;
    bool ended_ = false;
    bool broken_ = false;
  };

  absl::Mutex mutex_;
  std::map<uint64_t, Kept> kept_;
  int hits_ = 0;
  int broken_ = 0;
};

}  // namespace headrace::testing_engine
