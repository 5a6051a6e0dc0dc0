#include "run/matching/matching_statement.h"

#include <fmt/format.h>

#include "base/text_table.h"
#include "run/matching/matching_plan.h"
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
  // Places for keys of pools take guesses as well.
  return FormatCount(file.parties[party].rows * NumPasses(file) + 2 * PoolSize(file.noise));
}

bool CountIsNoisy(const MatchingFile& file) { return file.level == match::Level::kHiddenNoisy; }

std::string NoiseText(const MatchingFile& file) {
  const std::string epsilon = fmt::format("epsilon {}", file.noise.epsilon);
  return file.linked() ? epsilon : epsilon + fmt::format(", delta {:.0e}", file.noise.delta);
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

// ---- two holders without a linker, level hidden

std::vector<std::string> HiddenFromPeer(const MatchingFile& file, size_t party) {
  const MatchingParty& peer = file.parties[1 - party];
  return {
      CountIsNoisy(file)
          ? fmt::format("how many people are in both lists with noise that {} drew ({}), if {} "
                        "follows the protocol, whatever the minimum",
                        peer.name, NoiseText(file), file.parties[party].name)
          : "how many people are in both lists, whatever the minimum",
      "not which of its own rows match, if both follow the protocol: each gets a position in an "
      "order "
      "that tells nothing",
      fmt::format("no key and no other row of {}, and not how long its list is: it is padded to {} "
                  "rows",
                  peer.name, FormatCount(peer.rows)),
      fmt::format("the minimum that {} asks for, when and for how many runs it approved, and if it "
                  "stops, a reason out of a fixed list",
                  peer.name)};
}

std::vector<std::string> NotPreventedOfPositions(const MatchingFile& file) {
  std::vector<std::string> sentences = {
      std::string("A party that does not follow the protocol can find which of its own rows match, "
                  "as at level matched-ids, and the other does not notice: it sees a smaller "
                  "number of matches at most. Where that must not be, let a linker match."),
      std::string("The minimum binds who follows the protocol. One that does not can find which of "
                  "its keys match whatever their number, and the other does not notice. It can "
                  "also join rows of different people."),
      fmt::format(
          "Nothing proves that a list is genuine: who lists people of whom it knows "
          "whether they are in the other list, and one more, learns from the number of "
          "matches {}.",
          CountIsNoisy(file) ? "of that one what the noise lets through" : "whether that one is"),
      std::string("Every column of a key can be guessed: who knows the rest of a person's key and "
                  "lists all values of one column learns how many of them the other's table has "
                  "for that person. Name no column of which that must not become known."),
      std::string("A party that keeps back its last message leaves the other without a result.")};
  if (CountIsNoisy(file)) {
    sentences.emplace_back(
        "A party that does not follow the protocol can leave out the keys by which the other's "
        "noise "
        "counts: it then sees the number of matches itself, and the other does not notice. Where "
        "that must not be, let a linker match.");
  }
  for (size_t party = 0; party < file.parties.size(); ++party) {
    sentences.push_back(fmt::format(
        "A party that does not follow the protocol can learn in one such run of up to {} people "
        "whether they are in the list of {}, if it is {}.",
        MostGuesses(file, party), OtherHolders(file, party), file.parties[party].name));
  }
  sentences.push_back(fmt::format(
      "{} whose lists differ in one person tell by their numbers whether that person is in the "
      "other list. Neither can see by how many people two joins differ: every party keeps a "
      "record "
      "of past matchings of its table, with a limit.",
      CountIsNoisy(file) ? "Many matchings, whose noise wears off with every one,"
                         : "Two matchings"));
  sentences.push_back(fmt::format(
      "That the two match their lists, when, how long the lists are at most, whether the minimum "
      "was reached, and if so how many people match{} is seen by whoever watches the network: the "
      "messages tell by their sizes. A study of these rows names the number of positions, which "
      "tells it, too.",
      CountIsNoisy(file) ? ", with the noise of both," : ""));
  return sentences;
}

// ---- with a linker

bool CountIsOpen(const MatchingFile& file) { return file.level == match::Level::kHiddenExact; }

std::vector<std::string> HiddenFromHolder(const MatchingFile& file, size_t party) {
  const uint64_t all = LinkTaskOf(file).Positions(0);
  std::vector<std::string> learns;
  if (CountIsOpen(file)) {
    learns.push_back(
        fmt::format("how many people are in all lists, all passes together, if at least {} are; "
                    "with fewer, that they are fewer",
                    FormatCount(file.minimum)));
  } else if (CountIsNoisy(file)) {
    learns.push_back(
        fmt::format("how many people are in all lists, with noise that {} draws ({}), if that is "
                    "at least {}; else that it is less",
                    file.linker, NoiseText(file), FormatCount(file.minimum)));
  } else {
    learns.emplace_back(
        "nothing of how many people are in all lists before a study of these rows, whose checks "
        "tell all whether there are as many as it asks for");
  }
  learns.push_back(fmt::format(
      "not which of its own rows match: each gets a position that is drawn out of {}{}, "
      "and what stands there of other lists no holder knows by itself",
      CountIsOpen(file) ? "at most " : "", FormatCount(all)));
  learns.push_back(
      fmt::format("no key and no row of {}, not how long a list is, and not who is in "
                  "some of the lists only",
                  OtherHolders(file, party)));
  learns.push_back(fmt::format(
      "{}when and for how many runs each other party approved, and if one stops, a reason out of a "
      "fixed list",
      file.minimum > 0 ? "the minimum that each other party asks for, " : ""));
  return learns;
}

std::vector<std::string> NotPreventedOfHidden(const MatchingFile& file) {
  std::vector<std::string> sentences = {
      fmt::format(
          "Which rows match stays hidden as long as {0} tells nobody: {0} and any one holder "
          "together know which of that holder's rows are in all lists, and can try any key "
          "against the lists of all others, since that holder has the key of the pseudonyms. "
          "Let no holder govern the linker.",
          file.linker),
      std::string(
          "A linker that matches wrongly is not noticed: it can leave out matches, join rows "
          "of different people, and so choose whose rows a study is about. No holder can see "
          "which rows were joined."),
      std::string("A holder that keeps back its last messages, or a linker that answers one holder "
                  "and not another, leaves others without a result.")};
  sentences.emplace_back(
      "Any two holders together know at which positions both have a row: of two lists these are "
      "the "
      "matches, of more the people of all lists, so that they learn which of their rows are in the "
      "others' lists. Whoever gets two holders' results of the matching knows it, too.");
  if (CountIsOpen(file)) {
    sentences.emplace_back(
        "Nothing proves that a list is genuine: who lists people of whom it knows whether they are "
        "in "
        "all other lists, and one more, learns from the number of matches whether that one is, if "
        "the "
        "minimum is reached. That there are fewer than the minimum can be made up by the linker, "
        "and "
        "by a holder with a list of nobody.");
  } else if (CountIsNoisy(file)) {
    sentences.push_back(fmt::format(
        "Nothing proves that a list is genuine, and that {} draws the noise that it should is not "
        "seen: who lists people of whom it knows whether they are in all other lists, and one "
        "more, "
        "learns of that one what the noise lets through.",
        file.linker));
  } else {
    sentences.emplace_back(
        "Nothing proves that a list is genuine, and nothing is tested of the number of matches: a "
        "study of these rows opens what its plan lists, which can be the number of rows, and tests "
        "its min_rows on shares if its results are exact.");
  }
  sentences.emplace_back(
      "Every column of a key can be guessed: who knows the rest of a person's key and lists one "
      "value "
      "of one column learns from what opens, here or in a study, whether all other tables have it "
      "for "
      "that person. Name no column of which that must not become known.");
  sentences.push_back(fmt::format(
      "Two matchings whose lists differ in one person, each followed by an exact study{}, tell "
      "whether that person is in all other lists, and its values. No holder can see by how many "
      "people two joins differ: every holder keeps a record of past matchings of its lists, with a "
      "limit.",
      CountIsOpen(file)    ? ", or the two numbers of matches"
      : CountIsNoisy(file) ? ", or many numbers of matches, whose noise wears off with every one"
                           : ""));
  if (CountIsOpen(file)) {
    sentences.emplace_back(
        "A study of these rows names the number of positions, which tells the number of matches to "
        "everybody who gets the study file.");
  }
  sentences.emplace_back(
      "That these parties match lists, when, how long the lists are at most, and how many passes "
      "there are is seen by whoever watches the network. The messages have the same sizes whatever "
      "matches.");
  return sentences;
}

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
  return {
      fmt::format("no key: pseudonyms under a key that it does not have, of lists in random "
                  "order that are padded to as many rows as are declared ({})",
                  study::Join(bounds)),
      "which rows of different lists have one key, in each pass, as numbers of rows in random "
      "order; so how many people are in every choice of the lists, by which passes, and how "
      "passes hang together, whatever the minimum",
      fmt::format("{}when and for how many runs each holder approved, and if one stops, a reason "
                  "out of a fixed list",
                  file.level == match::Level::kHiddenNobody
                      ? ""
                      : "the minimum that each holder asks for, ")};
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
  if (!file.linked()) return file.hidden() ? HiddenFromPeer(file, party) : LearnsOfTwo(file, party);
  if (party == file.parties.size()) return LearnsOfLinker(file);
  return file.hidden() ? HiddenFromHolder(file, party) : LearnsOfHolder(file, party);
}

std::vector<std::string> MatchingNotPrevented(const MatchingFile& file) {
  if (!file.linked())
    return file.hidden() ? NotPreventedOfPositions(file) : NotPreventedOfTwo(file);
  return file.hidden() ? NotPreventedOfHidden(file) : NotPreventedWithLinker(file);
}

std::optional<privacy::Statement> MatchingPrivacy(const MatchingFile& file) {
  if (!CountIsNoisy(file)) return std::nullopt;
  privacy::Statement statement;
  const auto add = [&](privacy::AdversaryKind kind, const std::string& name,
                       const std::string& because, bool unlimited) {
    privacy::StatementRow row;
    row.adversary.kind = kind;
    row.adversary.party = name;
    row.reason = because;
    row.loss.infinite = unlimited;
    if (!unlimited) {
      row.loss.epsilon_upper = file.noise.epsilon;
      row.loss.delta = file.noise.delta;
      row.loss.beta_at_5_percent = privacy::BetaAt5Percent(file.noise.epsilon, file.noise.delta);
    }
    statement.rows.push_back(std::move(row));
  };
  using privacy::AdversaryKind;
  if (file.linked()) {
    statement.mechanism = fmt::format(
        "{} adds a draw of the discrete Laplace law of scale {:.4g} to the number of matches.",
        file.linker, 1 / file.noise.epsilon);
    add(AdversaryKind::kOutsideAnalyst, "", "sees no more than the noisy number", false);
    for (const MatchingParty& holder : file.parties)
      add(AdversaryKind::kParty, holder.name, file.linker + " alone knows the noise", false);
    add(AdversaryKind::kParty, file.linker,
        "sees which rows agree, as pseudonyms; with any holder, keys that can be guessed", true);
  } else {
    statement.mechanism = fmt::format(
        "Each holder lists a random number of {} keys that nobody has and the other lists, by the "
        "discrete Laplace law of scale {:.4g} about the middle; {} of all these are taken off the "
        "number of matches.",
        PoolSize(file.noise), 1 / file.noise.epsilon, PoolSize(file.noise));
    add(AdversaryKind::kOutsideAnalyst, "", "knows neither holder's noise", false);
    for (size_t party = 0; party < file.parties.size(); ++party) {
      add(AdversaryKind::kParty, file.parties[party].name,
          fmt::format("does not know the noise of {}, if it follows the protocol",
                      file.parties[1 - party].name),
          false);
    }
  }
  statement.caveats.emplace_back(
      "This is about the number of matches alone, of one matching: what studies of these rows open "
      "comes beside it, and several matchings add up. A list without a repeated key takes part; "
      "that "
      "one with a repeated key stops the run is seen.");
  return statement;
}

std::string MatchingAim(const MatchingFile& file) {
  const std::string holders = OtherHolders(file, file.parties.size());
  if (!file.linked() && file.hidden()) {
    return fmt::format(
        "{} put rows of the same person at one position of a common order. Level hidden: neither "
        "learns which of its rows match, if both follow the protocol; both learn how many do{}. "
        "Studies "
        "of these rows use those at whose position both have a row, without showing which they "
        "are.",
        holders, CountIsNoisy(file) ? ", with noise" : "");
  }
  if (!file.linked()) {
    return fmt::format(
        "{} find which of their rows are the same person. Level matched-ids: each learns which of "
        "its own rows match.",
        holders);
  }
  if (file.hidden()) {
    return fmt::format(
        "{} put rows of the same person at one position of a common order, by pseudonyms that {} "
        "compares. Level hidden: no holder learns which of its rows match{}. Studies of these rows "
        "use those at whose position all holders have a row, without showing which they are.",
        holders, file.linker,
        CountIsOpen(file)    ? "; all learn how many do"
        : CountIsNoisy(file) ? "; all learn how many do, with noise"
                             : ", or how many");
  }
  return fmt::format(
      "{} find which of their rows are the same person, by pseudonyms that {} compares. Level "
      "matched-ids: each holder learns which of its own rows are in all lists.",
      holders, file.linker);
}

}  // namespace partita::run
