// partita study new
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/study/new_study.h"
#include "cli/terminal/new_file.h"
#include "methods/all.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"

namespace partita::cli {
namespace {

struct NewCommand {
  NewStudyOptions study;
  std::vector<std::string> settings;  // KEY=VALUE
  std::string partition;              // of a commented file
  bool commented = false, is_private = false;
  std::vector<const CLI::Option*> of_tables;  // that an example does not take
};

// --------------------------------------------------------------------------- to start from: --commented

std::string TemplateName(const study::StudyTemplate& start) {
  return fmt::format("{}{}", data::PartitionKindName(start.partition),
                     start.is_private ? ", private" : "");
}

std::string TemplateNames(const methods::Method& method) {
  std::vector<std::string> names;
  for (const auto& start : method.templates()) names.push_back(TemplateName(start));
  return fmt::format("{}", fmt::join(names, "; "));
}

// partition: empty: any.
study::StudyTemplate ChooseTemplate(const methods::Method& method, const std::string& partition,
                                    bool is_private) {
  for (study::StudyTemplate& start : method.templates()) {
    if (!partition.empty() && data::PartitionKindName(start.partition) != partition) continue;
    if (start.is_private || !is_private) return std::move(start);
  }
  throw Error(
      ErrorCode::kUsage,
      fmt::format("there is no such file to start from for method '{}'", method.section.method),
      fmt::format("there is: {}", TemplateNames(method)));
}

// For sharing: readable by others as the user's mask allows.
void WriteStudy(const OutputOptions& output, const std::string& file, const std::string& text) {
  WriteOutput(output, file, text, 0666, "the study file");
}

int WriteTemplate(const OutputOptions& output, const NewCommand& command) {
  const std::string& file = command.study.file;
  for (const CLI::Option* option : command.of_tables) {
    if (option->count() == 0) continue;
    throw Error(ErrorCode::kUsage, option->get_name() + " is not for --commented",
                "leave one of them out: an example has parties and variables of its own");
  }
  WriteStudy(output, file,
             ChooseTemplate(methods::MethodByName(command.study.method), command.partition,
                            command.is_private)
                 .text);
  PrintResult(output, fmt::format("wrote {}; edit it, then: partita study validate {}", file, file),
              nlohmann::ordered_json{{"file", file},
                                     {"taken", nlohmann::ordered_json::array()},
                                     {"warnings", nlohmann::ordered_json::array()}}
                  .dump());
  return kDone;
}

// ------------------------------------------------------------------------------- of one's own tables

struct Drafted {
  study::ShortStudy study;
  std::vector<std::string> taken;  // "--receiver north"
};

// As it can be typed.
std::string ForShell(const std::string& value) {
  if (value.find_first_of(" ;|&$`\"'<>()*?[]{}~#\\!") == std::string::npos) return value;
  std::string quoted = "'";
  for (const char letter : value)
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

Drafted DraftWith(const NewStudyOptions& options, Interview& interview) {
  Drafted drafted{NewStudy(options, interview), {}};
  for (const auto& [option, value] : interview.taken()) {
    const bool separated = option.ends_with(' ') || option.ends_with('=');
    drafted.taken.push_back(fmt::format("{}{}{}", option, separated ? "" : " ", ForShell(value)));
  }
  return drafted;
}

// Asks only if something is missing, then for everything that was not said.
Drafted DraftStudy(const NewStudyOptions& options, const Interview::Ask& ask) {
  Interview silent({});
  try {
    return DraftWith(options, silent);
  } catch (const Error&) {
    if (silent.missing().empty() || !ask) throw;
  }
  Interview asking(ask);
  return DraftWith(options, asking);
}

// The study is prepared and planned before its file is there, so that places in it say nothing.
std::vector<std::string> CheckDraft(const std::string& text, const std::string& file,
                                    const std::vector<std::string>& unused) {
  try {
    const auto study = methods::PrepareStudy(methods::ParseStudyFile(text, file));
    run::BuildPlan(*study);
    return study->Warnings();
  } catch (const Error& error) {
    std::string what = error.what();
    if (what.starts_with(file + ":")) what = what.substr(what.find(": ", file.size()) + 2);
    const std::string also = unused.empty()
                                 ? ""
                                 : fmt::format("\nnot named, and so left out of the dictionary: {}",
                                               fmt::join(unused, ", "));
    throw Error(error.code(), "this makes no valid study: " + what, error.hint() + also);
  }
}

constexpr char kOfEngine[] = "engine.";

void TakeSettings(NewCommand& command) {
  for (const std::string& setting : command.settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == setting.size()) {
      throw Error(ErrorCode::kUsage, fmt::format("--set {} is not KEY=VALUE", setting),
                  "for example --set robust=true, or --set privacy.norm=1.5");
    }
    const std::string key = setting.substr(0, equals), value = setting.substr(equals + 1);
    if (key.starts_with(kOfEngine)) {
      command.study.engine_said[key.substr(std::size(kOfEngine) - 1)] = value;
    } else {
      command.study.said[key] = value;
    }
  }
}

int WriteShort(const OutputOptions& output, NewCommand command) {
  TakeSettings(command);
  const std::string& file = command.study.file;
  const Drafted drafted = DraftStudy(command.study, output.yes ? Interview::Ask() : TerminalAsk());
  const std::string text = study::ShortStudyText(drafted.study);
  const std::vector<std::string> warnings = CheckDraft(text, file, drafted.study.dictionary.unused);
  WriteStudy(output, file, text);
  std::string said = fmt::format("wrote {}: {} parties, {} variables, engine {}\n", file,
                                 drafted.study.parties.size(),
                                 drafted.study.dictionary.variables.size(), drafted.study.engine);
  if (!drafted.taken.empty())
    said += fmt::format("\nNot said, and taken:\n  {}\n", fmt::join(drafted.taken, "\n  "));
  for (const std::string& warning : warnings) said += WrapText("Warning: " + warning, 0);
  said += fmt::format(
      "\nNext: partita study plan {}, then partita study bundle {} --card ..., or where the "
      "institutions have nodes partita study run {}",
      file, file, file);
  PrintResult(
      output, said,
      nlohmann::ordered_json{{"file", file}, {"taken", drafted.taken}, {"warnings", warnings}}
          .dump());
  return kDone;
}

// An option for every key that a method asks for; those of its tables are for --set.
void AddMethodKeys(CLI::App& command, study::Said& said) {
  std::vector<std::pair<std::string, std::string>> described;
  for (const methods::Method& method : methods::AllMethods()) {
    for (const study::StartKey& key : method.start({}).keys) {
      if (key.key.find('.') != std::string::npos) continue;
      auto known = std::find_if(described.begin(), described.end(),
                                [&](const auto& other) { return other.first == key.key; });
      if (known == described.end()) known = described.insert(described.end(), {key.key, ""});
      known->second += fmt::format("{}{}: {}", known->second.empty() ? "" : "; ",
                                   method.section.method, key.question);
    }
  }
  for (const auto& [key, description] : described) {
    std::string option = "--" + key;
    std::replace(option.begin(), option.end(), '_', '-');
    command.add_option(option, said[key], description);
  }
}

CLI::Option* AddRepeated(CLI::App& command, const std::string& name,
                         std::vector<std::string>& values, const std::string& what) {
  return command.add_option(name, values, what)->allow_extra_args(false);
}

void AddShortOptions(CLI::App& command, NewCommand& options) {
  NewStudyOptions& study = options.study;
  command.add_option("--name", study.name, "The study's name (default: the file's)");
  command.add_option("--title", study.title, "Its title");
  command.add_option("--purpose", study.declared.purpose,
                     "The question, for all parties' records of processing; public");
  command.add_option("--ethics", study.declared.ethics,
                     "Reference of the ethics committee's decision; public");
  command.add_option("--legal-basis", study.declared.legal_basis,
                     "On what ground the rows are used; public");
  command.add_option("--contact", study.declared.contact, "Whom to ask about the study; public");
  AddRepeated(command, "--party", study.parties,
              "A party that holds data, once for each; the first gets the result")
      ->delimiter(',');
  command.add_option(
      "--receiver", study.receiver,
      "The party that gets the result instead; with --matched also one without data");
  command.add_option("--helper", study.helper,
                     "A party that sees no data and deals randomness (engine dealer)");
  command
      .add_option("--engine", study.engine,
                  "Default: dealer with a helper; else ot for two parties, replicated for three, "
                  "shamir for four to seven")
      ->check(CLI::IsMember({"dealer", "replicated", "shamir", "ot"}));
  AddRepeated(command, "--dictionary", study.dictionaries,
              "The dictionary that partita init drafted, or a study file; PARTY=FILE for each "
              "party where they hold other columns of the same rows");
  AddRepeated(command, "--bounds", study.bounds,
              "NAMES=LOWER..UPPER: what variables can be; public, so not from the data");
  AddRepeated(command, "--levels", study.levels,
              "NAMES=A,B: all levels that factors can have, the reference first; one with a comma "
              "between quotes, as in stage='\"I, early\",II'");
  AddRepeated(command, "--without", study.without,
              "Variables of the dictionary that the study leaves out (methods that take all)")
      ->delimiter(',');
  AddRepeated(command, "--rows", study.rows,
              "PARTY=COUNT: a party's number of rows, made public; COUNT where columns are split");
  command.add_option(
      "--min-rows", study.min_rows,
      "So many rows there surely are in all; fewer open nothing (glm, describe, survival "
      "and mixed ask for it; of others 20)");
  command
      .add_option("--accept", study.accept,
                  "What all holders accept beyond the release rule: accept in [release]")
      ->check(CLI::IsMember({"table of covariates", "checked cells"}));
  command.add_option(
      "--key", study.key,
      "Where columns are split: the column by which rows are brought into one order");
  command.add_option("--matched", study.matched,
                     "Where lists were matched: NAME.matched of partita match run, instead of "
                     "--key and --rows");
  command.add_option("--site", study.site, "How institutions enter: ignore, fixed, ...");
  command.add_option("--cluster", study.cluster,
                     "A variable that says which rows belong together: a family, a ward; the "
                     "errors are of such clusters");
  command.add_option("--weights", study.weights, "A variable that says how much a row counts");
  command.add_option("--weights-type", study.weights_type,
                     "What the weights are: frequency, precision or sampling");
  command.add_option("--missing", study.missing,
                     "Rows with missing cells: complete (they are left out), refuse, ...");
  AddMethodKeys(command, study.said);
  command.add_option("--epsilon", study.said["privacy.epsilon"],
                     "Promise every person differential privacy");
  command.add_option("--delta", study.said["privacy.delta"], "Delta of the promise");
  AddRepeated(
      command, "--set", options.settings,
      "KEY=VALUE: another key of [[analysis]]; TABLE.KEY of one of its tables; engine.KEY of "
      "[engine]");
}

}  // namespace

void AddNewCommand(CLI::App& study, Invocation& invocation) {
  auto options = std::make_shared<NewCommand>();
  options->study.method = methods::AllMethods().front().section.method;
  CLI::App* command =
      AddCommand(&study, "new", "study new",
                 "Write a study file: of one's own tables, from options or by asking", invocation,
                 [&invocation, options] {
                   return options->commented ? WriteTemplate(invocation.output, *options)
                                             : WriteShort(invocation.output, *options);
                 });
  std::vector<std::string> names, described;
  for (const methods::Method& method : methods::AllMethods()) {
    names.push_back(method.section.method);
    described.push_back(fmt::format("{}: {} ({})", method.section.method, method.description,
                                    TemplateNames(method)));
  }
  AddNewFile(*command, invocation, "FILE", options->study.file, "The study file to write")
      ->required();
  command
      ->add_option("--method", options->study.method, fmt::format("{}", fmt::join(described, "; ")))
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  const size_t common = command->get_options({}).size();
  AddShortOptions(*command, *options);
  const std::vector<CLI::Option*> all = command->get_options({});
  CLI::Option* commented = command->add_flag(
      "--commented", options->commented, "Write an example with comments instead, to be edited");
  options->of_tables.assign(all.begin() + static_cast<std::ptrdiff_t>(common), all.end());
  command->add_option("--partition", options->partition, "How the example's data is split")
      ->check(CLI::IsMember({"horizontal", "vertical"}))
      ->needs(commented);
  command
      ->add_flag("--private", options->is_private,
                 "An example with [analysis.privacy]: what opens gets noise")
      ->needs(commented);
  command->footer(
      "At a terminal, what is missing is asked for. Example:\n"
      "partita study new study.toml --party north --party south --helper helper \\\n"
      "  --dictionary dictionary.toml --model 'y ~ x1 + x2' --bounds x1,x2=0..10 --bounds y=0..50");
}

}  // namespace partita::cli
