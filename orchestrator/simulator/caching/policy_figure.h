// What a simulated suite shows: one figure, what it was compared with, and what it should reach.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::orchestrate {

struct PolicyFigure {
  std::string suite;  // placement, capacity, sharing, tiering
  std::string name;
  double value = 0;
  std::string unit;
  std::optional<double> target;
  bool at_least = true;  // else at most
  std::string note;      // what it was measured on, or why it falls short

  bool Reached() const {
    return !target.has_value() || (at_least ? value >= *target : value <= *target);
  }
};

// How much is simulated: a test takes a part of the runs, the printed table all of them.
struct FigureEffort {
  double share = 1;  // of the runs, in (0, 1]
  uint64_t seed = 1000;
};

std::vector<PolicyFigure> PlacementFigures(const FigureEffort& effort);
std::vector<PolicyFigure> CapacityFigures(const FigureEffort& effort);
std::vector<PolicyFigure> SharingFigures(const FigureEffort& effort);
std::vector<PolicyFigure> TieringFigures(const FigureEffort& effort);

}  // namespace headrace::orchestrate
