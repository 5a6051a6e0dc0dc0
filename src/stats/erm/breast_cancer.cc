#include "stats/erm/breast_cancer.h"

namespace partita::stats::erm {

std::vector<std::string> BreastCancerColumns() {
  const std::vector<std::string> measured = {
      "radius",      "texture",   "perimeter",      "area",     "smoothness",
      "compactness", "concavity", "concave_points", "symmetry", "fractal_dimension"};
  std::vector<std::string> names;
  for (const std::string& name : measured) names.push_back("mean_" + name);
  for (const std::string& name : measured) names.push_back(name + "_error");
  for (const std::string& name : measured) names.push_back("worst_" + name);
  return names;
}

UnitBallScaling BreastCancerScaling() {
  return {{{6, 24},     {8, 32},   {40, 160},    {100, 1500},  {0.06, 0.13}, {0, 0.25},
           {0, 0.3},    {0, 0.15}, {0.12, 0.25}, {0.05, 0.08}, {0, 1.2},     {0, 2.5},
           {0, 8},      {0, 120},  {0, 0.015},   {0, 0.08},    {0, 0.1},     {0, 0.03},
           {0, 0.04},   {0, 0.01}, {6, 30},      {10, 45},     {40, 200},    {100, 2000},
           {0.07, 0.2}, {0, 0.7},  {0, 0.8},     {0, 0.3},     {0.15, 0.45}, {0.05, 0.13}},
          1.5,
          true};
}

}  // namespace partita::stats::erm
