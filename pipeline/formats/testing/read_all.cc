#include "pipeline/formats/testing/read_all.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "common/status.h"

namespace headrace::testing_formats {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", OneLine(value.status()).c_str());
    std::abort();
  }
  return *std::move(value);
}

// Every index from 0 on is a row or settled, once.
void CheckIndices(const ReadOutcome& outcome, size_t first_row, size_t first_settled) {
  std::vector<uint64_t> indices;
  for (size_t i = first_row; i < outcome.rows.size(); ++i)
    indices.push_back(outcome.rows[i].run.first);
  for (size_t i = first_settled; i < outcome.settled.size(); ++i) {
    for (uint64_t k = 0; k < outcome.settled[i].count; ++k)
      indices.push_back(outcome.settled[i].first + k);
  }
  std::sort(indices.begin(), indices.end());
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == i) continue;
    std::fprintf(stderr, "record %zu is missing or there twice\n", i);
    std::abort();
  }
}

void ReadInto(Format& format, FileSystem& files, const v1::Split& split, SchemaPtr schema,
              const ReadLimits& limits, ReadOutcome& out) {
  auto reader = format.Open(files, split, schema);
  if (!reader.ok()) {
    out.error = reader.status();
    return;
  }
  const size_t first_row = out.rows.size();
  const size_t first_settled = out.settled.size();
  bool more = true;
  while (more) {
    Block block(schema);
    const absl::StatusOr<bool> read = (*reader)->Read(limits, block);
    if (!read.ok()) {
      out.error = read.status();
      return;
    }
    more = *read;
    for (size_t row = 0; row < block.rows(); ++row) {
      ReadRow& copy = out.rows.emplace_back();
      copy.run = block.provenance(row)[0];
      for (const auto& column : block.columns()) copy.cells.emplace_back(column[row].string());
    }
    out.failures.insert(out.failures.end(), block.failures().begin(), block.failures().end());
    out.settled.insert(out.settled.end(), block.settled().begin(), block.settled().end());
  }
  out.lost = out.lost || (*reader)->records_lost();
  CheckIndices(out, first_row, first_settled);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Format>> MakeFormat(std::string_view name, Params params) {
  FormatRegistry registry;
  RegisterAll_formats(registry);
  HR_ASSIGN_OR_RETURN(const FormatSpec* spec, registry.Find(name));
  v1::ValueMap values;
  for (const auto& [key, value] : params) {
    v1::NamedValue* entry = values.add_entries();
    entry->set_name(std::string(key));
    *entry->mutable_value() = value;
  }
  return spec->make(values);
}

std::unique_ptr<Format> NewFormat(std::string_view name, Params params) {
  return OrDie(MakeFormat(name, params));
}

std::vector<std::string> ReadOutcome::Column(size_t column) const {
  std::vector<std::string> out;
  for (const ReadRow& row : rows) out.push_back(row.cells[column]);
  return out;
}

std::string ReadOutcome::Messages() const {
  std::string out;
  for (const RowFailure& failure : failures) out += OneLine(failure.status) + "\n";
  return out;
}

ReadOutcome ReadSplit(Format& format, FileSystem& files, const v1::Split& split, SchemaPtr schema,
                      const ReadLimits& limits) {
  ReadOutcome out;
  ReadInto(format, files, split, std::move(schema), limits, out);
  return out;
}

std::vector<v1::Split> SplitsOf(Format& format, FileSystem& files, const std::string& pattern,
                                uint64_t target_bytes) {
  const Listing listing{OrDie(files.List(pattern)), ""};
  std::vector<v1::Split> splits = OrDie(format.SplitListing(files, listing, {target_bytes}));
  for (size_t i = 0; i < splits.size(); ++i) splits[i].set_id(i);
  return splits;
}

ReadOutcome ReadFiles(Format& format, FileSystem& files, const std::string& pattern,
                      uint64_t target_bytes, const ReadLimits& limits) {
  ReadOutcome out;
  const auto schema =
      std::make_shared<const Schema>(OrDie(format.RecordSchema(files, OrDie(files.List(pattern)))));
  for (const v1::Split& split : SplitsOf(format, files, pattern, target_bytes)) {
    ReadInto(format, files, split, schema, limits, out);
    if (!out.error.ok()) break;
  }
  return out;
}

}  // namespace headrace::testing_formats
