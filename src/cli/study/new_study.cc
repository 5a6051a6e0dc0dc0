#include "cli/study/new_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <regex>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/trim.h"
#include "data/schema.h"
#include "methods/all.h"
#include "run/matching/matched_rows.h"
#include "run/matching/matching_file.h"
#include "study/file/text.h"
#include "study/file/toml_text.h"

namespace partita::cli {
namespace {

using study::DictionaryDraft;
using study::DraftVariable;
using study::SaidAs;
using study::ShortParty;
using study::ShortStudy;

[[noreturn]] void RefuseWords(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kUsage, what, hint);
}

// "a, b" as its parts; spaces alone divide as well where `spaces`. Where `quotes`, the commas between
// two " do not divide, and these " go.
std::vector<std::string> SplitWords(const std::string& text, bool spaces = false,
                                    bool quotes = false) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (char c : text) {
    if (quotes && c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ',' || (spaces && c == ' '))) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = std::string(Trim(part));
  std::erase(parts, "");
  return parts;
}

// "x1,x2=0..10" as names and the rest.
struct NamedWords {
  std::vector<std::string> names;
  std::string rest;
};
NamedWords SplitNamed(const std::string& option, const std::string& text,
                      const std::string& example) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    RefuseWords(fmt::format("{} {} is not NAME=...", option, study::Quote(text)),
                fmt::format("for example {} {}", option, example));
  return {SplitWords(text.substr(0, equals)), text.substr(equals + 1)};
}

uint64_t ReadCount(const std::string& text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && end == text.data() + text.size() && count > 0) return count;
  RefuseWords(fmt::format("{} is no number of rows", study::Quote(text)), "write a whole number");
}

// A name for the study: small letters, digits and -.
std::string NameFromFile(const std::string& file) {
  std::string name;
  for (char c : std::filesystem::path(file).stem().string()) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool fits = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (fits || (!name.empty() && name.back() != '-')) name += fits ? lower : '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "study" : name;
}

// --------------------------------------------------------------------------------- who takes part

std::vector<ShortParty> AskParties(const NewStudyOptions& options, Interview& interview) {
  const std::vector<std::string> names =
      SplitWords(interview.Say(fmt::format("{}", fmt::join(options.parties, ",")),
                               "--party NAME for each", "Who holds data (names; two or more)"),
                 true);
  const std::string receiver = interview.Say(options.receiver, "--receiver", "Who gets the result",
                                             names.empty() ? "" : names.front());
  std::vector<ShortParty> parties;
  bool found = false;
  for (const std::string& name : names) {
    parties.push_back({name, true, name == receiver, {}, {}});
    found = found || name == receiver;
  }
  if (!names.empty() && !found) {
    // Of rows that match one without data may get the result, of hidden ones nobody else.
    if (options.matched.empty())
      RefuseWords(fmt::format("the receiver {} is no --party", study::Quote(receiver)),
                  study::KnownNamesHint(receiver, names));
    parties.push_back({receiver, false, true, {}, {}});
  }
  const std::string helper =
      interview.Say(options.helper, "--helper",
                    "Who deals randomness and sees no data (nothing: nobody does)", "");
  if (!helper.empty() && helper == receiver)
    RefuseWords(fmt::format("{} cannot deal randomness and get the result", study::Quote(helper)),
                "name another --receiver or --helper");
  if (!helper.empty()) parties.push_back({helper, false, false, {}, {}});
  return parties;
}

std::string ChooseEngine(const std::vector<ShortParty>& parties) {
  if (parties.empty()) return "";
  if (!parties.back().holder && !parties.back().receiver) return "dealer";
  if (parties.size() == 2) return "ot";
  if (parties.size() == 3) return "replicated";
  if (parties.size() <= 7) return "shamir";
  RefuseWords(fmt::format("{} parties need a helper, who deals randomness and sees no data",
                          parties.size()),
              "name one: --helper NAME");
}

// ----------------------------------------------------------------------------------- dictionaries

// With the party that it is of; none: all have its columns.
struct PartyDictionary {
  std::string party;
  DictionaryDraft draft;
};

std::vector<PartyDictionary> AskDictionaries(const NewStudyOptions& options,
                                             const std::vector<ShortParty>& parties,
                                             Interview& interview) {
  std::vector<std::string> texts = options.dictionaries;
  if (texts.empty()) {
    texts = SplitWords(interview.Say("", "--dictionary FILE",
                                     "The dictionary that partita init drafted (FILE; or "
                                     "PARTY=FILE for each, where they hold other columns of the "
                                     "same rows)"));
  }
  std::vector<PartyDictionary> dictionaries;
  std::vector<std::string> names;
  for (const ShortParty& party : parties) {
    if (party.holder) names.push_back(party.name);
  }
  if (names.empty()) return {};
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string party = equals == std::string::npos ? "" : text.substr(0, equals);
    if (!party.empty() && std::find(names.begin(), names.end(), party) == names.end())
      RefuseWords(fmt::format("--dictionary is of {}, who is no --party", study::Quote(party)),
                  study::KnownNamesHint(party, names));
    dictionaries.push_back(
        {party, study::LoadDictionaryDraft(party.empty() ? text : text.substr(equals + 1))});
  }
  const auto named = std::count_if(dictionaries.begin(), dictionaries.end(),
                                   [](const PartyDictionary& of) { return !of.party.empty(); });
  if (named == 0 ? dictionaries.size() > 1 : dictionaries.size() != names.size())
    RefuseWords("there is one dictionary for all parties, or one for each of them",
                "say --dictionary FILE, or where columns are split --dictionary PARTY=FILE for "
                "each party");
  return dictionaries;
}

// Whether a text names the variable, or one of its columns as in "sex.male".
bool Names(const std::string& text, const std::string& variable) {
  const auto part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  for (size_t at = text.find(variable); at != std::string::npos; at = text.find(variable, at + 1)) {
    const size_t end = at + variable.size();
    if (at > 0 && part(text[at - 1])) continue;
    if (end == text.size() || !part(text[end]) || text[end] == '.') return true;
  }
  return false;
}

bool SaysName(const study::Said& said, const std::string& name) {
  return std::any_of(said.begin(), said.end(),
                     [&](const auto& entry) { return Names(entry.second, name); });
}

// Their variables and the form of the tables; each party's columns where columns are split. What
// several have and the analysis does not name is left out: the columns that people were matched by
// have one name everywhere. null: the analysis is of all columns.
DictionaryDraft JoinDictionaries(std::vector<PartyDictionary> dictionaries, const study::Said* said,
                                 std::vector<ShortParty>& parties) {
  if (dictionaries.empty()) return {};
  DictionaryDraft all = dictionaries.front().draft;
  if (dictionaries.front().party.empty()) return all;
  all.variables.clear();
  const auto in_several = [&](const std::string& name) {
    return std::count_if(dictionaries.begin(), dictionaries.end(), [&](const PartyDictionary& of) {
             return std::any_of(of.draft.variables.begin(), of.draft.variables.end(),
                                [&](const DraftVariable& v) { return v.name == name; });
           }) > 1;
  };
  for (ShortParty& party : parties) {
    for (PartyDictionary& dictionary : dictionaries) {
      if (dictionary.party != party.name) continue;
      const DictionaryDraft& draft = dictionary.draft;
      if (draft.separator != all.separator || draft.decimal != all.decimal)
        RefuseWords(
            fmt::format("the tables of {} and {} have other separators or decimal marks",
                        dictionaries.front().party, party.name),
            "write the tables in one form; or leave separator and decimal out of a dictionary "
            "and give that party's table as a source file, which says how it is written "
            "(docs/sources.md)");
      if (all.key.empty()) all.key = draft.key;
      for (const DraftVariable& variable : draft.variables) {
        if (said != nullptr && !SaysName(*said, variable.name) && in_several(variable.name))
          continue;
        const auto same = [&](const DraftVariable& other) { return other.name == variable.name; };
        if (std::any_of(all.variables.begin(), all.variables.end(), same))
          RefuseWords(
              fmt::format("{} is in the dictionaries of two parties", study::Quote(variable.name)),
              "a column has one holder: take it out of the other's dictionary");
        all.variables.push_back(variable);
        party.columns.push_back(variable.name);
      }
    }
  }
  return all;
}

// Of each holder's dictionary the columns that its people were matched by: they say who somebody is, and
// are variables only where the analysis names them.
void LeaveOutMatchedKeys(const std::string& matched, const study::Said& said,
                         std::vector<PartyDictionary>& dictionaries) {
  if (matched.empty()) return;
  run::RequireOwnersResult(matched);
  const run::MatchingFile file =
      run::ParseMatchingFile(run::LoadMatchedRows(matched).file_text, "the matching file");
  for (const run::MatchingParty& party : file.parties) {
    for (PartyDictionary& dictionary : dictionaries) {
      if (dictionary.party != party.name) continue;
      std::erase_if(dictionary.draft.variables, [&](const DraftVariable& variable) {
        return std::count(party.headers.begin(), party.headers.end(), variable.name) > 0 &&
               !SaysName(said, variable.name);
      });
    }
  }
}

std::string WithoutQuotes(const std::string& text) {
  return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

// What the analysis and [design] name.
study::Said AllNames(const NewStudyOptions& options, study::Said said) {
  said["weights"] = options.weights;
  said["cluster"] = options.cluster;
  return said;
}

// Errors of clusters are asked of the method, too, where it has them.
study::Said WithClusters(const NewStudyOptions& options, const methods::Method& method) {
  study::Said said = options.said;
  if (options.cluster.empty()) return said;
  const auto [key, value] = method.start(said).clusters;
  if (key.empty())
    RefuseWords("--cluster is for errors of groups of rows, which this analysis does not have",
                "leave it out, or take --method glm, survival with --model cox, or mle");
  said.emplace(key, value);
  return said;
}

void TakeDesign(const NewStudyOptions& options, ShortStudy& study) {
  if (options.weights.empty() != options.weights_type.empty())
    RefuseWords(
        fmt::format("--{} without --{}", options.weights.empty() ? "weights-type" : "weights",
                    options.weights.empty() ? "weights" : "weights-type"),
        "say both, or none of them");
  study.weights = options.weights;
  study.weights_type = options.weights_type;
  study.cluster = options.cluster;
}

void RequireVariables(const std::string& option, const std::vector<std::string>& names,
                      const DictionaryDraft& dictionary) {
  std::vector<std::string> known;
  for (const DraftVariable& variable : dictionary.variables) known.push_back(variable.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      RefuseWords(fmt::format("{} names {}, which the dictionary does not have", option,
                              study::Quote(name)),
                  study::KnownNamesHint(name, known));
  }
}

void LeaveOut(const std::set<std::string>& names, DictionaryDraft& dictionary,
              std::vector<ShortParty>& parties) {
  std::erase_if(dictionary.variables,
                [&](const DraftVariable& variable) { return names.contains(variable.name); });
  for (ShortParty& party : parties)
    std::erase_if(party.columns, [&](const std::string& name) { return names.contains(name); });
  dictionary.unused.insert(dictionary.unused.end(), names.begin(), names.end());
}

// Those that the analysis names stay, and are refused by it with the reason.
void LeaveOutDates(const study::Said& said, DictionaryDraft& dictionary,
                   std::vector<ShortParty>& parties) {
  std::set<std::string> dates;
  for (const DraftVariable& variable : dictionary.variables) {
    if (variable.type == data::ColumnTypeName(data::ColumnType::kDate) &&
        !SaysName(said, variable.name))
      dates.insert(variable.name);
  }
  LeaveOut(dates, dictionary, parties);
}

// What --without names, which the analysis must not name.
void TakeWithout(const std::vector<std::string>& names, const study::Said& said,
                 DictionaryDraft& dictionary, std::vector<ShortParty>& parties) {
  RequireVariables("--without", names, dictionary);
  for (const std::string& name : names) {
    if (SaysName(said, name))
      RefuseWords(
          fmt::format("--without leaves out {}, which the analysis names", study::Quote(name)),
          "take it out of one of them");
  }
  LeaveOut({names.begin(), names.end()}, dictionary, parties);
}

// Leaves what the analysis names.
void KeepNamed(const study::Said& said, DictionaryDraft& dictionary,
               std::vector<ShortParty>& parties) {
  const auto named = [&](const std::string& name) { return SaysName(said, name); };
  std::vector<std::string> known;
  std::set<std::string> kept;
  for (const DraftVariable& variable : dictionary.variables) {
    known.push_back(variable.name);
    // A survival time is named by the column of its times: Surv(days, died).
    const auto time = variable.values.find("time");
    const bool as_time = time != variable.values.end() && named(WithoutQuotes(time->second));
    if (as_time || named(variable.name)) {
      kept.insert(variable.name);
    } else {
      dictionary.unused.push_back(variable.name);
    }
  }
  std::erase_if(dictionary.variables,
                [&](const DraftVariable& variable) { return !kept.contains(variable.name); });
  if (dictionary.variables.empty())
    RefuseWords("the analysis names no variable of the dictionary",
                fmt::format("there are: {}", fmt::join(known, ", ")));
  for (ShortParty& party : parties) {
    if (party.columns.empty()) continue;
    std::erase_if(party.columns, [&](const std::string& name) { return !kept.contains(name); });
    if (party.columns.empty())
      RefuseWords(fmt::format("the analysis names no variable of {}", party.name),
                  "leave this party out, or name one of its variables");
  }
}

void SetBounds(DraftVariable& variable, const std::string& text) {
  if (variable.type == "factor" || variable.type == "ordered")
    RefuseWords(fmt::format("{} is a factor, which has levels instead of bounds",
                            study::Quote(variable.name)),
                "leave it out of --bounds (--levels makes a factor of a number)");
  const size_t dots = text.find("..");
  const std::string lower(Trim(text.substr(0, dots)));
  const std::string upper(dots == std::string::npos ? "" : Trim(text.substr(dots + 2)));
  const bool date = variable.type == "date";
  if (!study::IsTomlBound(lower, date) || !study::IsTomlBound(upper, date))
    RefuseWords(fmt::format("the bounds {} of {} are not LOWER..UPPER", study::Quote(text),
                            study::Quote(variable.name)),
                date ? "for example 2000-01-01..2030-12-31" : "for example 0..10, or 0.5..1.5");
  // Whole numbers of one table may be others elsewhere: bounds with a point say so.
  if (variable.type == "integer" && (lower + upper).find('.') != std::string::npos)
    variable.type = "numeric";
  variable.values["lower"] = lower;
  variable.values["upper"] = upper;
}

// Whoever lists levels means a factor. One with a comma stands between quotes.
void SetLevels(DraftVariable& variable, const std::string& text) {
  if (std::count(text.begin(), text.end(), '"') % 2 != 0)
    RefuseWords(
        fmt::format("a quote is missing in the levels {} of {}", text, study::Quote(variable.name)),
        "for example sex=female,male, or of levels with a comma stage='\"I, early\",II'");
  if (variable.type != "ordered") variable.type = "factor";
  for (const char* key : {"lower", "upper", "unit"}) variable.values.erase(key);
  variable.levels = SplitWords(text, false, true);
}

// As SetLevels reads them.
std::string LevelsText(const std::vector<std::string>& levels) {
  std::string text;
  for (const std::string& level : levels) {
    const bool comma = level.find(',') != std::string::npos;
    text += (text.empty() ? "" : ",") + (comma ? "\"" + level + "\"" : level);
  }
  return text;
}

// "days" and "died" of the survival variable "days_died" as its parts: how its owner knows them.
bool IsColumnOf(const DraftVariable& variable, const char* key, const std::string& name) {
  const auto column = variable.values.find(key);
  return column != variable.values.end() && WithoutQuotes(column->second) == name;
}

// The names of variables for what was said: a survival time may be named by its column of times. Its
// event has no bounds but 0 and 1.
std::vector<std::string> NamedVariables(std::vector<std::string> names, const std::string& bounds,
                                        const DictionaryDraft& dictionary) {
  std::erase_if(names, [&](const std::string& name) {
    return bounds == "0..1" && std::any_of(dictionary.variables.begin(), dictionary.variables.end(),
                                           [&](const DraftVariable& variable) {
                                             return variable.name != name &&
                                                    IsColumnOf(variable, "event", name);
                                           });
  });
  for (std::string& name : names) {
    for (const DraftVariable& variable : dictionary.variables) {
      if (IsColumnOf(variable, "time", name)) name = variable.name;
    }
  }
  return names;
}

// What the options say of bounds and levels, before any is asked for; the factors whose levels they
// say.
std::set<std::string> TakeBoundsAndLevels(const NewStudyOptions& options,
                                          DictionaryDraft& dictionary) {
  std::set<std::string> said;
  for (const bool bounds : {false, true}) {
    const std::string option = bounds ? "--bounds" : "--levels";
    for (const std::string& text : bounds ? options.bounds : options.levels) {
      NamedWords words = SplitNamed(option, text, bounds ? "age=18..100" : "sex=female,male");
      if (bounds) {
        words.names = NamedVariables(std::move(words.names), words.rest, dictionary);
      } else {
        said.insert(words.names.begin(), words.names.end());
      }
      RequireVariables(option, words.names, dictionary);
      for (DraftVariable& variable : dictionary.variables) {
        if (std::find(words.names.begin(), words.names.end(), variable.name) == words.names.end())
          continue;
        bounds ? SetBounds(variable, words.rest) : SetLevels(variable, words.rest);
      }
    }
  }
  return said;
}

// said: the factors whose levels an option says. all: no variable is one that the analysis names.
void AskBoundsAndLevels(const std::set<std::string>& said, bool all, DictionaryDraft& dictionary,
                        Interview& interview) {
  for (DraftVariable& variable : dictionary.variables) {
    if (study::LacksLevels(variable)) {
      const std::string levels = interview.Say(
          "",
          fmt::format("--levels {}=A,B{}", variable.name,
                      all ? " (or --without " + variable.name + ")" : ""),
          fmt::format("All levels that {} can have, the reference first (A,B)", variable.name));
      if (!levels.empty()) SetLevels(variable, levels);
    } else if (!variable.levels.empty() && !said.contains(variable.name)) {
      // From one holder's table, perhaps: whoever reads it knows which others there are.
      interview.Took("--levels " + variable.name + "=", LevelsText(variable.levels));
    }
    if (!study::LacksBounds(variable)) continue;
    const std::string bounds = interview.Say(
        "", fmt::format("--bounds {}=LOWER..UPPER", variable.name),
        fmt::format("Between what and what {} can be; everybody sees it, so not from the data "
                    "(LOWER..UPPER)",
                    variable.name));
    if (!bounds.empty()) SetBounds(variable, bounds);
  }
}

// Drafted dictionaries have the two columns of a survival time as variables of their own: where the
// analysis says Surv(TIME, EVENT) or Surv(ENTRY, TIME, EVENT) of two such, they become the variable TIME_EVENT with TIME's bounds.
void JoinSurvivalTimes(const study::Said& said, DictionaryDraft& dictionary,
                       std::vector<ShortParty>& parties) {
  static const std::regex kSurv(
      R"(\bSurv\(\s*(?:[^\s,()]+\s*,\s*)?([^\s,()]+)\s*,\s*([^\s,()]+)\s*\))");
  std::smatch match;
  const std::string formula = study::SaidOr(said, "formula", "");
  if (!std::regex_search(formula, match, kSurv)) return;
  const std::string time = match[1], event = match[2];
  const auto find = [&](const std::string& name) {
    return std::find_if(dictionary.variables.begin(), dictionary.variables.end(),
                        [&](const DraftVariable& variable) { return variable.name == name; });
  };
  const auto times = find(time);
  if (times == dictionary.variables.end() || find(event) == dictionary.variables.end()) return;
  times->type = data::ColumnTypeName(data::ColumnType::kSurvival);
  const std::string name = fmt::format("{}_{}", time, event);
  times->name = name;
  times->values["time"] = study::TomlText(time);
  times->values["event"] = study::TomlText(event);
  std::erase_if(dictionary.variables,
                [&](const DraftVariable& variable) { return variable.name == event; });
  for (ShortParty& party : parties) {
    std::erase(party.columns, event);
    std::replace(party.columns.begin(), party.columns.end(), time, name);
  }
}

// ------------------------------------------------------------------------------------------- rows

void AskRows(const NewStudyOptions& options, const study::AnalysisStart& start,
             Interview& interview, ShortStudy& study) {
  const bool split_columns =
      std::any_of(study.parties.begin(), study.parties.end(),
                  [](const ShortParty& party) { return !party.columns.empty(); });
  if (!options.matched.empty()) {
    if (!split_columns || !options.key.empty() || !options.rows.empty()) {
      RefuseWords("--matched is for parties that hold other columns of the rows that match",
                  "say --dictionary PARTY=FILE for each party, and neither --key nor --rows");
    }
    run::RequireOwnersResult(options.matched);
    const run::MatchedRows matched = run::LoadMatchedRows(options.matched);
    study.common_rows = matched.rows.size();
    study.match = study::RowMatch{matched.matching, matched.record, matched.linker,
                                  matched.hidden(), run::CountOf(matched.level)};
    study.dictionary.key.clear();
    return;
  }
  if (split_columns) {
    const std::string rows = interview.Say(options.rows.empty() ? "" : options.rows.front(),
                                           "--rows COUNT", "How many rows they have in common");
    study.common_rows = rows.empty() ? 0 : ReadCount(rows);
    study.dictionary.key =
        interview.Say(options.key.empty() ? study.dictionary.key : options.key, "--key COLUMN",
                      "The column by which they bring their rows into one order");
    return;
  }
  if (!options.key.empty())
    RefuseWords("--key is for parties that hold other columns of the same rows",
                "leave it out, or say --dictionary PARTY=FILE for each party");
  study.dictionary.key.clear();
  study::Said counts;
  for (const std::string& text : options.rows) {
    const NamedWords words = SplitNamed("--rows", text, "north=120");
    for (const std::string& name : words.names) {
      const auto same = [&](const ShortParty& party) { return party.holder && party.name == name; };
      if (std::none_of(study.parties.begin(), study.parties.end(), same))
        RefuseWords(fmt::format("--rows names {}, who is no --party", study::Quote(name)),
                    "write PARTY=COUNT");
      counts[name] = words.rest;
    }
  }
  for (ShortParty& party : study.parties) {
    if (!party.holder) continue;
    const std::string said = study::SaidOr(counts, party.name, "");
    const std::string option = fmt::format("--rows {}=", party.name);
    const std::string question =
        fmt::format("How many rows {} has, which becomes public", party.name);
    std::string count = said;
    if (start.needs_counts && start.count.empty()) {
      count = interview.Say(said, option + "COUNT", question);
    } else if (start.needs_counts) {
      count = interview.Say(said, option, question, start.count);
    }
    if (!count.empty()) party.rows = ReadCount(count);
  }
}

// --------------------------------------------------------------------------------------- analysis

std::string AsSaid(const std::string& text, SaidAs as) {
  if (as == SaidAs::kTexts && !text.starts_with('[')) return study::TomlTexts(SplitWords(text));
  if (as != SaidAs::kText && study::IsTomlValue(text)) return text;
  // 90, 365 as [90, 365].
  std::string list = "[" + text + "]";
  if (as == SaidAs::kValue && text.find(',') != std::string::npos && study::IsTomlValue(list))
    return list;
  return study::TomlText(text);
}

// "--model " or "--set batch.size=", before a value.
std::string OptionOfKey(std::string key) {
  if (key.find('.') != std::string::npos) return fmt::format("--set {}=", key);
  std::replace(key.begin(), key.end(), '_', '-');
  return fmt::format("--{} ", key);
}

// [analysis.privacy], if there is to be one. Not possible: the method refuses it, so nobody is asked.
void AskPrivacy(bool possible, bool required, study::Said& said, Interview& interview) {
  const std::string delta = study::SaidOr(said, "privacy.delta", "");
  if (!possible && study::SaidOr(said, "privacy.epsilon", "").empty() && delta.empty()) return;
  const std::string epsilon =
      interview.Say(study::SaidOr(said, "privacy.epsilon", ""), "--epsilon NUMBER",
                    "Epsilon, to promise every person differential privacy (nothing: no promise)",
                    required ? std::nullopt : std::optional<std::string>(""));
  if (epsilon.empty() && !required) {
    if (delta.empty()) return;
    RefuseWords("--delta without --epsilon", "say both, or none of them");
  }
  said["privacy.epsilon"] = epsilon;
  said["privacy.delta"] =
      interview.Say(delta, "--delta NUMBER", "Delta, well below one over the number of persons");
  said.emplace("privacy.adjacency", "replace");
}

// What was said of the analysis and what is answered, also written into the study. What a method
// asks for depends on what was said before.
study::Said AskAnalysis(const methods::Method& method, study::Said said, Interview& interview,
                        ShortStudy& study) {
  const std::vector<study::StudyTemplate> templates = method.templates();
  const bool possible = std::any_of(templates.begin(), templates.end(),
                                    [](const study::StudyTemplate& of) { return of.is_private; });
  AskPrivacy(possible, method.start(said).is_private, said, interview);
  std::set<std::string> written;
  const auto write = [&](const std::string& key, SaidAs as) {
    if (written.insert(key).second && !said[key].empty())
      study.analysis.emplace_back(key, AsSaid(said[key], as));
  };
  study.analysis.emplace_back("method", study::TomlText(method.section.method));
  for (size_t i = 0; i < method.start(said).keys.size(); ++i) {
    const study::StartKey key = method.start(said).keys[i];
    const std::string option = OptionOfKey(key.key);
    said[key.key] =
        interview.Say(study::SaidOr(said, key.key, ""), key.otherwise ? option : option + "VALUE",
                      fmt::format("{}: {}", key.key, key.question), key.otherwise);
    write(key.key, key.as);
  }
  for (const char* key : {"privacy.epsilon", "privacy.delta"}) write(key, SaidAs::kValue);
  for (const auto& entry : study::Said(said)) write(entry.first, SaidAs::kValue);
  return said;
}

}  // namespace

ShortStudy NewStudy(const NewStudyOptions& options, Interview& interview) {
  ShortStudy study;
  const methods::Method& method = methods::MethodByName(options.method);
  study.name = options.name.empty() ? NameFromFile(options.file) : options.name;
  study.title = options.title;
  study.declared = options.declared;
  study.parties = AskParties(options, interview);
  std::vector<PartyDictionary> dictionaries = AskDictionaries(options, study.parties, interview);
  TakeDesign(options, study);
  const study::Said said = AskAnalysis(method, WithClusters(options, method), interview, study);
  interview.RequireAll();
  const study::AnalysisStart start = method.start(said);
  const study::Said names = AllNames(options, said);
  LeaveOutMatchedKeys(options.matched, names, dictionaries);
  study.dictionary =
      JoinDictionaries(std::move(dictionaries), start.uses_all ? nullptr : &names, study.parties);
  JoinSurvivalTimes(said, study.dictionary, study.parties);
  TakeWithout(options.without, names, study.dictionary, study.parties);
  const std::set<std::string> levels_of = TakeBoundsAndLevels(options, study.dictionary);
  if (!start.uses_all) KeepNamed(names, study.dictionary, study.parties);
  if (start.uses_all && !start.takes_dates) LeaveOutDates(names, study.dictionary, study.parties);
  AskBoundsAndLevels(levels_of, start.uses_all, study.dictionary, interview);
  AskRows(options, start, interview, study);
  study.site =
      interview.Say(options.site, "--site", "How institutions enter: ignore or fixed", "ignore");
  study.missing = interview.Say(
      options.missing, "--missing",
      fmt::format("Rows with missing cells: complete ({}) or refuse", start.complete_means),
      start.missing);
  if (start.needs_min_rows || !options.min_rows.empty()) {
    const std::string rows =
        interview.Say(options.min_rows, "--min-rows COUNT",
                      "How many rows there surely are in all; fewer open nothing");
    if (!rows.empty()) study.min_rows = ReadCount(rows);
  }
  study.accept = options.accept;
  if (study.common_rows) study.min_cell = start.split_min_cell;
  study.engine =
      interview.Say(options.engine, "--engine", "The engine", ChooseEngine(study.parties));
  for (const auto& [key, value] : options.engine_said)
    study.engine_keys.emplace_back(key, AsSaid(value, SaidAs::kValue));
  interview.RequireAll();
  return study;
}

}  // namespace partita::cli
