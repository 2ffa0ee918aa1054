// How webdataset reads the names of members: "images/0001.seg.png" is field "seg.png" of the record
// "images/0001".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headrace {

struct MemberName {
  std::string_view key;
  std::string_view extension;  // in the name's own case
};

// Nothing for names that belong to no record: without extension, hidden (the last component starts
// with a dot: macOS's
// "._x.jpg", which webdataset itself would take for a record of the folder's name), or webdataset's
// own ("__x__" first).
std::optional<MemberName> SplitMemberName(std::string_view name);

// `text` in lower case (ASCII only), into `out`.
void AssignLower(std::string_view text, std::string& out);

}  // namespace headrace
