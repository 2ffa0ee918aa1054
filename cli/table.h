// A table for people: columns as wide as their widest cell, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace headrace {

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  // Cells beyond the header are dropped, missing ones are blank.
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  std::string ToString() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

// "1.2 M", "34.5 k", "812": three significant digits.
std::string Count(double n);
// "1.21 GB": powers of 1,000, as network and disk speeds are told.
std::string Bytes(double n);

}  // namespace headrace
