#include "pipeline/graph/yaml/yaml_document.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "absl/strings/escaping.h"
#include "common/status.h"
#include "pipeline/graph/utf8.h"

namespace headrace {
namespace {

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

bool OneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  for (std::string_view w : words) {
    if (word == w) return true;
  }
  return false;
}

bool IsNull(std::string_view word) { return OneOf(word, {"", "~", "null", "Null", "NULL"}); }

std::optional<bool> AsBool(std::string_view word) {
  if (OneOf(word, {"true", "True", "TRUE"})) return true;
  if (OneOf(word, {"false", "False", "FALSE"})) return false;
  return std::nullopt;
}

bool AllDigits(std::string_view word, std::string_view digits) {
  return !word.empty() && word.find_first_not_of(digits) == std::string_view::npos;
}

// [-+]?[0-9]+ | 0o[0-7]+ | 0x[0-9a-fA-F]+; the base, or 0.
int IntegerBase(std::string_view word) {
  if (word.starts_with("0x")) return AllDigits(word.substr(2), "0123456789abcdefABCDEF") ? 16 : 0;
  if (word.starts_with("0o")) return AllDigits(word.substr(2), "01234567") ? 8 : 0;
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  return AllDigits(word, "0123456789") ? 10 : 0;
}

std::optional<int64_t> ParseInteger(std::string_view word, int base) {
  if (base != 10) word.remove_prefix(2);
  if (word.starts_with('+')) word.remove_prefix(1);
  int64_t out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out, base);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return out;
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? | [-+]?\.inf | \.nan
std::optional<double> AsFloat(std::string_view word) {
  if (OneOf(word, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  double sign = 1;
  if (word.starts_with('-') || word.starts_with('+')) {
    sign = word[0] == '-' ? -1 : 1;
    word.remove_prefix(1);
  }
  if (OneOf(word, {".inf", ".Inf", ".INF"})) return sign * std::numeric_limits<double>::infinity();
  if (word.empty() || !(word[0] == '.' || (word[0] >= '0' && word[0] <= '9'))) return std::nullopt;
  double out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (end != word.data() + word.size() || error == std::errc::invalid_argument) return std::nullopt;
  // Too big or too small for a double: as strtod, infinity or zero; such a number is no mistake of
  // the syntax.
  if (error == std::errc::result_out_of_range)
    out = std::strtod(std::string(word).c_str(), nullptr);
  return sign * out;
}

// Tabs before the first word of a line: YAML forbids them as indentation, and yaml-cpp's message
// for them misleads.
size_t LineWithTab(std::string_view text) {
  size_t line = 1;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    const size_t word = row.find_first_not_of(" \t\r");
    if (word != std::string_view::npos && row[word] != '#' &&
        row.substr(0, word).find('\t') != row.npos)
      return line;
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
  }
  return 0;
}

// Counts documents, keeps nothing else.
class DocumentStarts final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { last_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
  const YAML::Mark& last() const { return last_; }

 private:
  YAML::Mark last_;
};

// Where the second document of `text` starts; line -1 when there is none. (YAML::LoadAll would not
// come back from a text that begins with a comma: it makes empty documents of it for ever.)
YAML::Mark SecondDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  YAML::Mark none;
  none.line = -1;
  if (!parser.HandleNextDocument(starts)) return none;
  return parser.HandleNextDocument(starts) ? starts.last() : none;
}

}  // namespace

bool PlainIsText(std::string_view word) {
  return !IsNull(word) && !AsBool(word) && IntegerBase(word) == 0 && !AsFloat(word);
}

absl::StatusOr<YamlDocument> YamlDocument::Parse(std::string_view text, std::string_view file) {
  if (text.size() > kMaxBytes) {
    return OutOfRange("{}: {} bytes; a pipeline has at most {}", file, text.size(), kMaxBytes);
  }
  if (const size_t bad = FirstNonText(text); bad != std::string_view::npos) {
    return InvalidArgument("{}: byte {} is not UTF-8 text; save the file as UTF-8", file, bad);
  }
  if (const size_t line = LineWithTab(text); line != 0) {
    return InvalidArgument("{}:{}:1: a tab in the indentation; YAML indents with spaces", file,
                           line);
  }
  YamlDocument out(file);
  try {
    const std::string copy(text);
    out.root_.reset(YAML::Load(copy));
    const YAML::Mark second = SecondDocument(copy);
    if (second.line >= 0) {
      return InvalidArgument(
          "{}:{}:{}: {}", file, second.line + 1, second.column + 1,
          out.root_.IsNull() ? "this is no YAML" : "a second document; a file holds one pipeline");
    }
    if (out.root_.IsNull()) {
      return InvalidArgument(
          "{}: empty; a pipeline begins with `source: {{files: ..., format: ...}}`", file);
    }
  } catch (const YAML::Exception& e) {
    const std::string message =
        dynamic_cast<const YAML::DeepRecursion*>(&e) != nullptr ? "nested too deep" : e.msg;
    if (e.mark.is_null()) return InvalidArgument("{}: {}", file, message);
    return InvalidArgument("{}:{}:{}: {}", file, e.mark.line + 1, e.mark.column + 1, message);
  }
  return out;
}

absl::Status YamlDocument::Error(const YAML::Node& at, std::string_view message) const {
  const YAML::Mark mark = at.Mark();
  if (mark.is_null()) return InvalidArgument("{}: {}", file_, message);
  return InvalidArgument("{}:{}:{}: {}", file_, mark.line + 1, mark.column + 1, message);
}

std::string YamlDocument::Location(const YAML::Node& at) const {
  return fmt::format("{}:{}", file_, at.Mark().line + 1);
}

absl::Status YamlDocument::Spend(const YAML::Node& at, int depth) {
  if (depth > kMaxDepth) return Error(at, fmt::format("nested more than {} deep", kMaxDepth));
  if (++values_ > kMaxValues) {
    return Error(
        at, fmt::format("the pipeline expands to more than {} values (aliases inside aliases?)",
                        kMaxValues));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<YamlEntry>> YamlDocument::Entries(const YAML::Node& map,
                                                             std::string_view what) {
  std::vector<YamlEntry> out;
  HR_RETURN_IF_ERROR(AddEntries(map, what, 0, false, out));
  return out;
}

absl::Status YamlDocument::AddEntries(const YAML::Node& map, std::string_view what, int depth,
                                      bool merged, std::vector<YamlEntry>& out) {
  HR_RETURN_IF_ERROR(Spend(map, depth));
  if (!map.IsMap()) return Error(map, fmt::format("{} is a map of name: value", what));
  std::set<std::string> keys;
  for (const YamlEntry& entry : out) keys.insert(entry.key);
  std::vector<YAML::Node> merges;
  for (const auto& pair : map) {
    HR_RETURN_IF_ERROR(Spend(pair.first, depth));
    if (!pair.first.IsScalar() || pair.first.Scalar().empty()) {
      return Error(pair.first.IsNull() ? map : pair.first,
                   fmt::format("a name in {} must be a word", what));
    }
    const std::string& key = pair.first.Scalar();
    if (key == "<<" && pair.first.Tag() != "!") {
      merges.push_back(pair.second);
      continue;
    }
    const bool known = !keys.insert(key).second;
    if (known && merged) continue;  // what is nearer wins
    if (known) return Error(pair.first, fmt::format("'{}' is given twice in {}", key, what));
    out.push_back({key, pair.first, pair.second});
  }
  for (const YAML::Node& value : merges) HR_RETURN_IF_ERROR(Merge(value, what, depth + 1, out));
  return absl::OkStatus();
}

absl::Status YamlDocument::Merge(const YAML::Node& value, std::string_view what, int depth,
                                 std::vector<YamlEntry>& out) {
  if (!value.IsSequence())
    return AddEntries(value, fmt::format("what '<<' merges into {}", what), depth, true, out);
  for (const auto& item : value) HR_RETURN_IF_ERROR(Merge(item, what, depth + 1, out));
  return absl::OkStatus();
}

absl::StatusOr<v1::Value> YamlDocument::Value(const YAML::Node& node) { return ValueAt(node, 0); }

absl::StatusOr<v1::Value> YamlDocument::ValueAt(const YAML::Node& node, int depth) {
  HR_RETURN_IF_ERROR(Spend(node, depth));
  if (node.IsScalar() || node.IsNull()) return Scalar(node);
  v1::Value out;
  if (node.IsSequence()) {
    out.mutable_list();
    for (const auto& item : node) {
      HR_ASSIGN_OR_RETURN(*out.mutable_list()->add_items(), ValueAt(item, depth + 1));
    }
    return out;
  }
  out.mutable_map();
  std::vector<YamlEntry> entries;
  HR_RETURN_IF_ERROR(AddEntries(node, "the map", depth, false, entries));
  for (const YamlEntry& entry : entries) {
    v1::NamedValue* named = out.mutable_map()->add_entries();
    named->set_name(entry.key);
    HR_ASSIGN_OR_RETURN(*named->mutable_value(), ValueAt(entry.value, depth + 1));
  }
  return out;
}

absl::StatusOr<v1::Value> YamlDocument::Scalar(const YAML::Node& node) const {
  v1::Value out;
  if (node.IsNull()) {
    out.set_none(true);
    return out;
  }
  const std::string& word = node.Scalar();
  std::string_view tag = node.Tag();
  if (tag.starts_with(kCoreTag)) tag.remove_prefix(kCoreTag.size());
  if (tag == "!" || tag == "str") {
    out.set_text(word);
    return out;
  }
  if (tag == "binary") {
    std::string bytes;
    if (!absl::Base64Unescape(word, &bytes))
      return Error(node, "!!binary is followed by base64, this is not");
    out.set_text(std::move(bytes));
    return out;
  }
  const bool plain = tag.empty() || tag == "?";
  if (!plain && !OneOf(tag, {"null", "bool", "int", "float"})) {
    return Error(
        node,
        fmt::format("unknown tag '{}'; known: !!str, !!binary, !!null, !!bool, !!int, !!float",
                    node.Tag()));
  }
  const int base = IntegerBase(word);
  if ((plain || tag == "null") && IsNull(word)) {
    out.set_none(true);
  } else if (const auto boolean = AsBool(word); boolean && (plain || tag == "bool")) {
    out.set_boolean(*boolean);
  } else if (base != 0 && (plain || tag == "int")) {
    const std::optional<int64_t> integer = ParseInteger(word, base);
    if (!integer) return Error(node, fmt::format("the integer {} does not fit into 64 bits", word));
    out.set_integer(*integer);
  } else if (const auto number = AsFloat(word); number && (plain || tag == "float")) {
    out.set_number(*number);
  } else if (plain) {
    out.set_text(word);
  } else {
    return Error(node, fmt::format("'{}' is not of the type that its tag !!{} says", word, tag));
  }
  return out;
}

}  // namespace headrace
