// Random blocks for tests of what carries them. Not linked into any binary.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "element/block.h"

namespace headrace {

// A block of `rows` rows under a random schema: every dtype, scalars to rank 3, zero dims, and
// fields whose rows agree or disagree in shape. Seeded by `rng` alone.
inline Block RandomBlock(std::mt19937_64& rng, size_t rows, bool batched) {
  const auto draw = [&rng](uint64_t below) { return rng() % below; };
  Schema schema;
  std::vector<bool> ragged;
  const size_t fields = 1 + draw(5);
  for (size_t i = 0; i < fields; ++i) {
    Shape shape;
    const size_t rank = draw(4);
    std::vector<int64_t> dims;
    for (size_t d = 0; d < rank; ++d) dims.push_back(static_cast<int64_t>(draw(5)));
    ragged.push_back(rank > 0 && draw(2) == 0);
    schema.Add({"f" + std::to_string(i), static_cast<DType>(1 + draw(14)), Shape(dims)});
  }
  Block block(std::make_shared<Schema>(schema));
  for (size_t row = 0; row < rows; ++row) {
    std::vector<Cell> cells;
    for (size_t i = 0; i < fields; ++i) {
      Shape shape = schema[i].shape;
      if (ragged[i]) shape[0] = static_cast<int64_t>(draw(4));
      const auto items = static_cast<size_t>(shape.items());
      if (schema[i].dtype == DType::kBytes) {
        std::vector<std::string> values(items);
        for (std::string& value : values)
          value.assign(draw(draw(20) == 0 ? 40000 : 9), static_cast<char>(rng()));
        std::vector<std::string_view> views(values.begin(), values.end());
        cells.push_back(shape.rank() == 0 ? MakeBytesCell(block.arena(), views[0])
                                          : MakeBytesCell(block.arena(), views, shape));
      } else {
        std::vector<uint8_t> values(items * ItemSize(schema[i].dtype));
        for (uint8_t& value : values) value = static_cast<uint8_t>(draw(2));
        std::byte* data = block.arena().AllocatePacked(values.size(), 8);
        if (!values.empty()) std::memcpy(data, values.data(), values.size());
        cells.push_back({data, values.size(), shape});
      }
    }
    Provenance provenance;
    const size_t runs = batched ? draw(6) : 1;
    for (size_t i = 0; i < runs; ++i) {
      provenance.push_back(
          {draw(3), draw(3) == 0 ? draw(1000) : row, batched ? 1 + draw(50) : 1, 0, 1, 0});
    }
    block.AppendRow(std::move(provenance), cells);
  }
  return block;
}

}  // namespace headrace
