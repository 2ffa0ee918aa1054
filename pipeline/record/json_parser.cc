#include "pipeline/record/json_parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_replace.h"
#include "common/status.h"
#include "pipeline/record/json_walk.h"

namespace headrace {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEADRACE_JSON_COPIES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEADRACE_JSON_COPIES 1
#endif
#endif

// simdjson loads up to 64 bytes past the end and does not use what it finds there. Within the page
// of the last byte such a load cannot fail, whoever owns those bytes; so most records need no copy.
// (A sanitizer would object.)
bool MayReadBeyond([[maybe_unused]] std::string_view json) {
#if defined(HEADRACE_JSON_COPIES)
  return false;
#else
  constexpr uintptr_t kSmallestPage = 4096;
  const auto end = reinterpret_cast<uintptr_t>(json.data() + json.size());
  return !json.empty() && (end - 1) % kSmallestPage + simdjson::SIMDJSON_PADDING < kSmallestPage;
#endif
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// "a.b" or "/a/b" -> keys. Of a pointer, "~1" is '/' and "~0" is '~'.
absl::StatusOr<std::vector<std::string>> KeysOf(std::string_view path) {
  if (path.starts_with('/')) {
    std::vector<std::string> keys = Split(path.substr(1), '/');
    for (std::string& key : keys) key = absl::StrReplaceAll(key, {{"~1", "/"}, {"~0", "~"}});
    return keys;
  }
  std::vector<std::string> keys = Split(path, '.');
  for (const std::string& key : keys) {
    if (key.empty())
      return InvalidArgument("field '{}': an empty key; for keys with dots write /key", path);
  }
  return keys;
}

}  // namespace

JsonParser::Scratch::Scratch() : state_(std::make_unique<State>()) {}
JsonParser::Scratch::~Scratch() = default;
JsonParser::Scratch::Scratch(Scratch&&) noexcept = default;

absl::StatusOr<JsonParser> JsonParser::Create(std::vector<Field> fields) {
  JsonParser parser(std::move(fields));
  for (size_t i = 0; i < parser.fields_.size(); ++i) HR_RETURN_IF_ERROR(parser.Insert(i));
  return parser;
}

absl::Status JsonParser::Insert(size_t field) {
  const std::string& path = fields_[field].path;
  HR_ASSIGN_OR_RETURN(const std::vector<std::string> keys, KeysOf(path));
  size_t at = 0;
  for (const std::string& key : keys) {
    if (nodes_[at].field != kNoField) {
      return InvalidArgument("field '{}' lies inside field '{}'", path, nodes_[at].path);
    }
    if (const Node* child = Child(nodes_[at], key)) {
      at = static_cast<size_t>(child - nodes_.data());
      continue;
    }
    const std::string prefix = at == 0 ? "" : nodes_[at].path + ".";
    nodes_[at].children.emplace_back(key, nodes_.size());
    at = nodes_.size();
    nodes_.push_back({.path = prefix + key, .field = kNoField, .children = {}});
  }
  if (nodes_[at].field != kNoField) return InvalidArgument("field '{}' stands twice", path);
  if (!nodes_[at].children.empty()) {
    return InvalidArgument("field '{}.{}' lies inside field '{}'", path,
                           nodes_[at].children[0].first, path);
  }
  nodes_[at].field = field;
  return absl::OkStatus();
}

const JsonParser::Node* JsonParser::Child(const Node& node, std::string_view key) const {
  for (const auto& [name, position] : node.children) {
    if (name == key) return &nodes_[position];
  }
  return nullptr;
}

absl::Status JsonParser::Parse(std::string_view json, Arena& arena, Scratch& scratch,
                               std::span<Cell> cells) const {
  Scratch::State& state = *scratch.state_;
  state.found.assign(fields_.size(), false);
  size_t readable = json.size() + simdjson::SIMDJSON_PADDING;
  if (!MayReadBeyond(json)) {
    if (state.padded.size() < readable)
      state.padded.resize(std::max(readable, 2 * state.padded.size()));
    if (!json.empty()) std::memcpy(state.padded.data(), json.data(), json.size());
    json = {state.padded.data(), json.size()};
  }
  if (json.size() > state.parser.capacity()) {
    if (state.parser.allocate(std::max(json.size(), 2 * state.parser.capacity()))) {
      return ResourceExhausted("no memory to parse a JSON record of {} bytes", json.size());
    }
  }
  simdjson::ondemand::document document;
  const simdjson::padded_string_view padded(json.data(), json.size(), readable);
  if (const simdjson::error_code error = state.parser.iterate(padded).get(document)) {
    return DataLoss("the record is no JSON: {} ({} bytes)", simdjson::error_message(error),
                    json.size());
  }
  JsonWalk walk(*this, json, arena, state, cells);
  HR_RETURN_IF_ERROR(walk.Record(document));
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (state.found[i]) continue;
    if (!fields_[i].type.default_text) {
      return InvalidArgument("no field '{}' in the record, or it is null (keys: {})",
                             fields_[i].path, walk.Keys(document));
    }
    cells[i] = DefaultCell(fields_[i].type, arena);
  }
  return absl::OkStatus();
}

}  // namespace headrace
