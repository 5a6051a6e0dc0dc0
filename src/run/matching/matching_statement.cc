#include "run/matching/matching_statement.h"

#include <fmt/format.h>

#include "base/text_table.h"
#include "study/file/text.h"

namespace partita::run {
namespace {

// "clinic, registry and office", but for one of them.
std::string OtherHolders(const MatchingFile& file, size_t self) {
  std::vector<std::string> names;
  for (size_t party = 0; party < file.parties.size(); ++party) {
    if (party != self) names.push_back(file.parties[party].name);
  }
  if (names.size() < 2) return study::Join(names);
  const std::string last = names.back();
  names.pop_back();
  return study::Join(names) + " and " + last;
}

size_t NumPasses(const MatchingFile& file) { return file.parties[0].keys.passes.size(); }

// How many people a holder may list.
std::string MostGuesses(const MatchingFile& file, size_t party) {
  return FormatCount(file.parties[party].rows * NumPasses(file));
}

// ---- two holders without a linker

std::vector<std::string> LearnsOfTwo(const MatchingFile& file, size_t party) {
  const MatchingParty& peer = file.parties[1 - party];
  const size_t passes = NumPasses(file);
  std::vector<std::string> learns = {
      fmt::format("how many people are in both lists{}, whatever the minimum",
                  passes > 1 ? ", of every pass" : ""),
      fmt::format("which of its own rows match, if there are at least {} matches{}",
                  FormatCount(file.minimum), passes > 1 ? " in the first pass" : ""),
      fmt::format("no key and no other row of {}, and not how long its list is: it is padded to {} "
                  "rows",
                  peer.name, FormatCount(peer.rows)),
      fmt::format("the minimum that {} asks for, when and for how many runs it approved, and if it "
                  "stops, a reason out of a fixed list",
                  peer.name)};
  if (passes > 1) learns.insert(learns.begin() + 2, "by which pass each of these rows matched");
  return learns;
}

std::vector<std::string> NotPreventedOfTwo(const MatchingFile& file) {
  std::vector<std::string> sentences = {
      "The minimum binds who follows the protocol. One that does not can find which of its keys "
      "match whatever their number, and the other does not notice.",
      "Nothing proves that a list is genuine: who lists people that it only guesses learns whether "
      "they are in the other list.",
      "Every column of a key can be guessed: who knows the rest of a person's key and lists all "
      "values of one column learns which of them the other's table has for that person. Name no "
      "column of which that must not become known.",
      "A party that keeps back its last message learns alone which of its rows match."};
  for (size_t party = 0; party < file.parties.size(); ++party) {
    sentences.push_back(
        fmt::format("In one such run {} can learn of up to {} people whether they are in the list "
                    "of {}.",
                    file.parties[party].name, MostGuesses(file, party), OtherHolders(file, party)));
  }
  sentences.push_back(
      "Two matchings whose lists differ in one person tell whether that person is in the other "
      "list. Every party keeps a record of past matchings of its table, with a limit.");
  sentences.push_back(
      "That the two match their lists, when, how long the lists are at most, how many passes there "
      "are, and whether the minimum was reached is seen by whoever watches the network: the "
      "messages of a pass tell by their sizes.");
  return sentences;
}

// ---- with a linker

std::vector<std::string> LearnsOfHolder(const MatchingFile& file, size_t party) {
  std::vector<std::string> learns = {
      fmt::format("which of its own rows are in all lists, if at least {} are, all passes "
                  "together; with fewer, that they are fewer",
                  FormatCount(file.minimum)),
      fmt::format("no key and no other row of {}, not how long a list is, and not who is in some "
                  "of the lists only",
                  OtherHolders(file, party)),
      "the minimum that each other party asks for, when and for how many runs it approved, and if "
      "one stops, a reason out of a fixed list"};
  if (NumPasses(file) > 1)
    learns.insert(learns.begin() + 1, "by which pass each of these rows matched");
  return learns;
}

std::vector<std::string> LearnsOfLinker(const MatchingFile& file) {
  std::vector<std::string> bounds;
  for (const MatchingParty& holder : file.parties)
    bounds.push_back(fmt::format("{} of {}", FormatCount(holder.rows), holder.name));
  return {fmt::format("no key: pseudonyms under a key that it does not have, of lists in random "
                      "order that are padded to as many rows as are declared ({})",
                      study::Join(bounds)),
          "which rows of different lists have one key, in each pass, as numbers of rows in random "
          "order; so how many people are in every choice of the lists, by which passes, and how "
          "passes hang together, whatever the minimum",
          "the minimum that each holder asks for, when and for how many runs it approved, and if "
          "one stops, a reason out of a fixed list"};
}

std::vector<std::string> NotPreventedWithLinker(const MatchingFile& file) {
  std::vector<std::string> sentences = {
      fmt::format("{} and any one holder together can try any key against the lists of all others, "
                  "since that holder has the key of the pseudonyms: they know all names, numbers "
                  "and dates that can be guessed. Let no holder govern the linker.",
                  file.linker),
      std::string(
          "A linker that leaves out matches is not noticed, and rows that it leaves out of a pass "
          "can match others in a later one. One that joins rows whose keys of that pass differ is: "
          "the holders compare the keys of the rows that were joined, without showing them."),
      std::string(
          "A holder that keeps back its last messages, or a linker that answers one holder and not "
          "another, leaves others without a result and keeps what was learnt. That there are fewer "
          "matches than the minimum can be made up by the linker, unnoticed, and by a holder with "
          "a list of nobody."),
      std::string(
          "Nothing proves that a list is genuine: who lists people that it only guesses learns of "
          "each whether it is in all other lists."),
      std::string("Every column of a key can be guessed: who knows the rest of a person's key and "
                  "lists all "
                  "values of one column learns which of them all other tables have for that "
                  "person. Name no "
                  "column of which that must not become known.")};
  for (size_t party = 0; party < file.parties.size(); ++party) {
    sentences.push_back(
        fmt::format("In one such run {} can learn of up to {} people whether they are in the lists "
                    "of all others.",
                    file.parties[party].name, MostGuesses(file, party)));
  }
  sentences.push_back(
      "Two matchings whose lists differ in one person tell whether that person is in all other "
      "lists. Every holder keeps a record of past matchings of its lists, with a limit.");
  sentences.push_back(
      "That these parties match lists, when, how long the lists are at most, and how many passes "
      "there are is seen by whoever watches the network. The messages have the same sizes whether "
      "or not the minimum was reached; nothing hides how long a holder takes before it sends its "
      "last ones, which also the linker can see.");
  return sentences;
}

}  // namespace

std::vector<std::string> MatchingLearns(const MatchingFile& file, size_t party) {
  if (!file.linked()) return LearnsOfTwo(file, party);
  return party < file.parties.size() ? LearnsOfHolder(file, party) : LearnsOfLinker(file);
}

std::vector<std::string> MatchingNotPrevented(const MatchingFile& file) {
  return file.linked() ? NotPreventedWithLinker(file) : NotPreventedOfTwo(file);
}

std::string MatchingAim(const MatchingFile& file) {
  const std::string holders = OtherHolders(file, file.parties.size());
  if (!file.linked()) {
    return fmt::format(
        "{} find which of their rows are the same person. Level matched-ids: each learns which of "
        "its own rows match.",
        holders);
  }
  return fmt::format(
      "{} find which of their rows are the same person, by pseudonyms that {} compares. Level "
      "matched-ids: each holder learns which of its own rows are in all lists.",
      holders, file.linker);
}

}  // namespace partita::run
