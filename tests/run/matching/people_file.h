// A matching file of two holders that match people by number, or by name and date of birth.
#pragma once

#include <string>

namespace partita::testing {

// more: lines before the columns; parties: [[party]] of each.
inline std::string PeopleFile(const std::string& more, const std::string& parties) {
  return "matching = 1\nname = \"cohort\"\nkeys = [[\"nid\"], [\"name\", \"born\"]]\n" + more +
         "[[column]]\nname = \"nid\"\nrule = \"digits\"\nlength = 4\n"
         "[[column]]\nname = \"name\"\nrule = \"text\"\n"
         "[[column]]\nname = \"born\"\nrule = \"date\"\nformat = \"YYYY-MM-DD\"\n" +
         parties;
}

}  // namespace partita::testing
