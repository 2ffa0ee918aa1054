#include "cli/table.h"

#include <algorithm>
#include <cctype>

#include "fmt/core.h"

namespace headrace {
namespace {

bool LooksNumeric(const std::string& cell) {
  return !cell.empty() &&
         (std::isdigit(static_cast<unsigned char>(cell[0])) != 0 || cell[0] == '-');
}

std::string Scaled(double n, const char* const* units, size_t count) {
  size_t i = 0;
  while (n >= 999.5 && i + 1 < count) {
    n /= 1000;
    ++i;
  }
  const int digits = i == 0 || n >= 100 ? 0 : n >= 10 ? 1 : 2;
  const std::string unit = units[i];
  return fmt::format("{:.{}f}{}{}", n, digits, unit.empty() ? "" : " ", unit);
}

}  // namespace

std::string Table::ToString() const {
  std::vector<size_t> widths;
  for (const std::string& name : header_) widths.push_back(name.size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < std::min(row.size(), widths.size()); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells, bool is_header) {
    std::string text;
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string cell = i < cells.size() ? cells[i] : "";
      const bool right = is_header
                             ? !rows_.empty() && i < rows_[0].size() && LooksNumeric(rows_[0][i])
                             : LooksNumeric(cell);
      text +=
          right ? fmt::format("{:>{}}", cell, widths[i]) : fmt::format("{:<{}}", cell, widths[i]);
      if (i + 1 < widths.size()) text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line(header_, true);
  for (const auto& row : rows_) line(row, false);
  return out;
}

std::string Count(double n) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  return Scaled(n, kUnits, 5);
}

std::string Bytes(double n) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  return Scaled(n, kUnits, 6);
}

}  // namespace headrace
