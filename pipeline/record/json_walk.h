// One record's walk through simdjson's cursor. For json_parser.cc only: nothing else sees simdjson.
#pragma once

#include <simdjson.h>

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/record/json_parser.h"

namespace headrace {

struct JsonParser::Scratch::State {
  simdjson::ondemand::parser parser;
  std::vector<char> padded;               // a copy with room behind it, where the record has none
  std::vector<bool> found;                // per field
  std::vector<std::string_view> strings;  // of one list
  std::vector<std::byte> numbers;         // of one list
};

class JsonWalk {
 public:
  JsonWalk(const JsonParser& parser, std::string_view json, Arena& arena,
           JsonParser::Scratch::State& state, std::span<Cell> cells)
      : parser_(parser), json_(json), arena_(arena), state_(state), cells_(cells) {}

  // Fills cells and state.found with what is there.
  absl::Status Record(simdjson::ondemand::document& document);
  // The keys of the record, for a message.
  std::string Keys(simdjson::ondemand::document& document) const;

 private:
  using Node = JsonParser::Node;

  absl::Status Object(simdjson::ondemand::object object, const Node& node);
  absl::Status Array(simdjson::ondemand::array array, const Node& node);
  absl::Status Value(simdjson::ondemand::value value, const Node& node);
  absl::Status Leaf(simdjson::ondemand::value value, size_t field);
  template <typename T>
  absl::Status Scalar(simdjson::ondemand::value value, const JsonParser::Field& field, Cell& cell);
  // T's items of a list into state_ (strings or numbers), `count` of the outermost dimension.
  template <typename T>
  absl::Status List(simdjson::ondemand::value value, const JsonParser::Field& field, size_t dim,
                    size_t& count);
  template <typename T>
  absl::Status ListCell(simdjson::ondemand::value value, const JsonParser::Field& field,
                        Cell& cell);

  absl::Status NotJson(simdjson::error_code error, const char* at) const;
  // "field 'x': expected int64, found a string at byte 17"
  absl::Status Unexpected(const JsonParser::Field& field, std::string_view expected,
                          const char* at) const;
  std::string Found(const char* at) const;

  const JsonParser& parser_;
  std::string_view json_;  // as simdjson sees it: positions are counted from its beginning
  Arena& arena_;
  JsonParser::Scratch::State& state_;
  std::span<Cell> cells_;
};

}  // namespace headrace
