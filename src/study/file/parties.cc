// [[party]], [[rows]], [table], [engine], [network], and what they must agree on.
#include <algorithm>
#include <unordered_set>

#include "study/file/limits.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

constexpr int64_t kMaxRows = 10'000'000'000;

void ReadRoles(const TableReader& reader, Party& party) {
  const auto roles = reader.Texts("roles", "roles = [\"holder\"]");
  if (roles.empty()) {
    reader.Fail(reader.PositionOf("roles"), "party " + Quote(party.name) + " has no role",
                "write one or more of: holder, receiver, dealer");
  }
  CheckDistinct(reader, roles, "role");
  for (const LocatedText& role : roles) {
    reader.Choice(role, "roles", {"holder", "receiver", "dealer"});
    if (role.value == "holder") party.holder = true;
    if (role.value == "receiver") party.receiver = true;
    if (role.value == "dealer") party.dealer = true;
  }
  if (party.dealer && roles.size() > 1) {
    reader.Fail(roles[1].position, "the dealer " + Quote(party.name) + " has another role",
                "the dealer must not hold data or receive results: let somebody else be the "
                "dealer");
  }
}

// The names listed under `key`, in the order of `known`; all of `known` if the key is absent.
std::vector<std::string> ReadSelection(const TableReader& reader, std::string_view key,
                                       const std::vector<std::string>& known) {
  const auto texts = reader.OptionalTexts(key);
  if (!texts) return known;
  if (texts->empty()) {
    reader.Fail(reader.PositionOf(key), "'" + std::string(key) + "' is empty",
                "a holder contributes something: list it, or leave the key out to mean all");
  }
  CheckDistinct(reader, *texts, key);
  const std::unordered_set<std::string_view> known_set(known.begin(), known.end());
  std::unordered_set<std::string_view> listed;
  for (const LocatedText& text : *texts) {
    if (!known_set.contains(text.value)) reader.Choice(text, key, known);
    listed.insert(text.value);
  }
  std::vector<std::string> selection;
  for (const std::string& name : known) {
    if (listed.contains(name)) selection.push_back(name);
  }
  return selection;
}

size_t CountHolders(const std::vector<Party>& parties, const std::string& block) {
  return static_cast<size_t>(std::count_if(parties.begin(), parties.end(), [&](const Party& p) {
    return std::find(p.rows.begin(), p.rows.end(), block) != p.rows.end();
  }));
}

// `choices`: the characters that are possible; `hint` lists them.
char ReadCharacter(const TableReader& reader, std::string_view key, std::string_view choices,
                   const std::string& hint) {
  const auto text = reader.OptionalText(key);
  if (!text) return choices[0];
  if (text->value.size() == 1 && choices.find(text->value) != std::string_view::npos) {
    return text->value[0];
  }
  reader.Fail(text->position,
              "'" + std::string(key) + "' in [table] cannot be " + Quote(text->value), hint);
}

void RefuseSurvivalColumn(const TableReader& reader, const LocatedText& name,
                          const data::Schema& dictionary) {
  for (const data::ColumnSchema& variable : dictionary.columns) {
    if (name.value != variable.time_column && name.value != variable.event_column) continue;
    reader.Fail(name.position,
                "the column " + Quote(name.value) + " already belongs to the variable " +
                    Quote(variable.name),
                "use another column");
  }
}

constexpr size_t kMostMatchedParties = 5;

// 64 hexadecimal digits.
crypto::Digest ReadRecord(const TableReader& reader) {
  const LocatedText text = reader.Text("record", "record = \"3f8a...\"");
  crypto::Digest record{};
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  bool good = text.value.size() == 2 * record.size();
  for (size_t i = 0; good && i < record.size(); ++i) {
    const int high = digit(text.value[2 * i]), low = digit(text.value[2 * i + 1]);
    good = high >= 0 && low >= 0;
    if (good) record[i] = static_cast<uint8_t>(16 * high + low);
  }
  if (good) return record;
  reader.Fail(text.position, Quote(text.value) + " is no record of a matching",
              "write the 64 hexadecimal digits that partita match run printed at both holders");
}

std::optional<RowMatch> ReadMatch(const TableReader& block) {
  const auto reader = block.OptionalTable(
      "match", {"level", "matching", "record", "linker", "count"}, "[rows.match]");
  if (!reader) return std::nullopt;
  RowMatch match;
  match.hidden = reader->Choice(reader->Text("level", "level = \"matched-ids\""), "level",
                                {"matched-ids", "hidden"}) == "hidden";
  if (!match.hidden && reader->Has("count")) {
    reader->Fail(reader->PositionOf("count"), "'count' of [rows.match] is for level \"hidden\"",
                 "remove it; the number of rows stands in [[rows]]");
  }
  if (match.hidden) {
    const std::vector<std::string>& names = MatchCountNames();
    const std::string count =
        reader->Choice(reader->Text("count", "count = \"exact\""), "count", names);
    match.count =
        static_cast<MatchCount>(std::find(names.begin(), names.end(), count) - names.begin());
  }
  const LocatedText matching = reader->Text("matching", "matching = \"cohort-2026\"");
  CheckName(*reader, matching, kStudyName);
  match.matching = matching.value;
  match.record = ReadRecord(*reader);
  if (const auto linker = reader->OptionalText("linker")) {
    CheckName(*reader, *linker, kPartyName);
    match.linker = linker->value;
  }
  return match;
}

// Without a linker the number of matches is known. A matching is of whole tables; without a linker it is between two, and a holder does not link.
void CheckMatch(const TableReader& root, const std::vector<Party>& parties, const RowBlock& block) {
  const size_t holders = CountHolders(parties, block.name);
  const bool linked = !block.match->linker.empty();
  if (block.match->hidden && !linked && block.match->count == MatchCount::kNobody) {
    root.Fail(block.position,
              "row block " + Quote(block.name) + " has count = \"nobody\" and no linker",
              "write the linker as partita match run printed it (linker = \"trust\"): without one "
              "both holders know how many match");
  }
  if (holders < 2 || holders > kMostMatchedParties || (holders > 2 && !linked)) {
    root.Fail(block.position,
              "row block " + Quote(block.name) + " is matched, and " + std::to_string(holders) +
                  " parties hold it",
              linked ? "lists are matched between two to five holders"
                     : "without a linker lists are matched between two holders: name the party "
                       "that linked them (linker = \"trust\"), or give the others blocks of "
                       "their own");
  }
  for (const Party& party : parties) {
    if (std::find(party.rows.begin(), party.rows.end(), block.name) == party.rows.end()) continue;
    if (party.name == block.match->linker) {
      root.Fail(party.position,
                "party " + Quote(party.name) + " holds the row block " + Quote(block.name) +
                    " and linked it",
                "who links brings no table: write the linker of the matching's record");
    }
    if (party.rows.size() == 1) continue;
    root.Fail(party.position,
              "party " + Quote(party.name) + " holds the matched row block " + Quote(block.name) +
                  " and another one",
              "a matching is of a whole table: let the holder of a matched block hold no other");
  }
}

}  // namespace

const std::vector<std::string>& MatchCountNames() {
  static const std::vector<std::string> names = {"nobody", "exact", "noisy"};
  return names;
}

const std::string& MatchCountName(MatchCount count) {
  return MatchCountNames()[static_cast<size_t>(count)];
}

std::vector<RowBlock> ReadBlocks(const TableReader& root) {
  const auto tables = root.Tables("rows", {"name", "count", "match"});
  if (tables.size() > kMaxRowBlocks) {
    root.Fail(tables[kMaxRowBlocks].position(), "there are too many row blocks",
              "a study has at most " + std::to_string(kMaxRowBlocks));
  }
  std::vector<RowBlock> blocks;
  std::vector<LocatedText> names;
  for (const TableReader& reader : tables) {
    names.push_back(reader.Text("name", "name = \"pasteur\""));
    CheckName(reader, names.back(), kBlockName);
    RowBlock block{names.back().value, std::nullopt, reader.position()};
    if (const auto count = reader.OptionalInteger("count")) {
      if (count->value < 1 || count->value > kMaxRows) {
        reader.Fail(count->position, "'count' must be between 1 and " + std::to_string(kMaxRows),
                    "write the number of rows of the block");
      }
      block.count = static_cast<uint64_t>(count->value);
    }
    block.match = ReadMatch(reader);
    blocks.push_back(std::move(block));
  }
  CheckDistinct(root, names, "row block");
  if (blocks.empty()) blocks.push_back({"all", std::nullopt, root.position()});
  return blocks;
}

TableSpec ReadTable(const TableReader& root, const data::Schema& dictionary,
                    const std::vector<RowBlock>& blocks) {
  root.RefuseMoved("table", "missing",
                   "write it in [design], where it says what the analyses do about missing cells");
  root.RefuseMoved("table", "max_rows_per_person", "write it in [population]");
  TableSpec table;
  const auto optional = root.OptionalTable("table", {"key", "block", "separator", "decimal"});
  if (!optional) return table;
  const TableReader& reader = *optional;
  table.separator =
      ReadCharacter(reader, "separator", ",;\t", "write \",\", \";\" or \"\\t\" (a tab)");
  table.decimal = ReadCharacter(reader, "decimal", ".,", "write \".\" or \",\"");
  if (table.separator == table.decimal) {
    reader.Fail(reader.PositionOf("decimal"), "'separator' and 'decimal' are the same character",
                "tables with decimal commas have separator = \";\"");
  }
  if (const auto key = reader.OptionalText("key")) {
    CheckPlainText(reader, *key, "key", kMaxColumnNameBytes);
    table.key = key->value;
    if (dictionary.Find(table.key) != nullptr) {
      reader.Fail(key->position, "the key " + Quote(table.key) + " is also a variable",
                  "the key only names rows: remove it from the dictionary, or use another column");
    }
    RefuseSurvivalColumn(reader, *key, dictionary);
  }
  const auto block = reader.OptionalText("block");
  if (!block) return table;
  CheckPlainText(reader, *block, "block", kMaxColumnNameBytes);
  table.block = block->value;
  RefuseSurvivalColumn(reader, *block, dictionary);
  if (table.block == table.key) {
    reader.Fail(block->position, "'block' and 'key' are the same column",
                "'key' names the row, 'block' names the row block that it belongs to");
  }
  const data::ColumnSchema* variable = dictionary.Find(table.block);
  if (variable == nullptr) return table;
  for (const RowBlock& row_block : blocks) {
    const auto& levels = variable->levels;
    if (std::find(levels.begin(), levels.end(), row_block.name) != levels.end()) continue;
    reader.Fail(
        block->position,
        "row block " + Quote(row_block.name) + " is no level of the variable " + Quote(table.block),
        "where the block column is also a variable it must be a factor and each row block "
        "must have the name of one of its levels");
  }
  return table;
}

EngineSpec ReadEngine(const TableReader& root) {
  const TableReader reader = root.Table(
      "engine", {"name", "fraction_bits", "input_bits", "correlations", "threshold", "stripes"},
      "[engine] name = \"dealer\"");
  EngineSpec engine;
  engine.name = reader.Choice(reader.Text("name", "name = \"dealer\""), "name",
                              {"dealer", "replicated", "shamir", "ot"});
  if (const auto correlations = reader.OptionalText("correlations")) {
    engine.stored_correlations =
        reader.Choice(*correlations, "correlations", {"live", "stored"}) == "stored";
    if (engine.stored_correlations && engine.name != "dealer" && engine.name != "ot") {
      reader.Fail(correlations->position, "the engine '" + engine.name + "' has nothing to store",
                  "leave the key out: its parties make all randomness without a message");
    }
  }
  if (const auto threshold = reader.OptionalInteger("threshold")) {
    if (engine.name != "shamir") {
      reader.Fail(threshold->position,
                  "the engine '" + engine.name + "' has no threshold to choose",
                  "leave the key out, or write name = \"shamir\"");
    }
    if (threshold->value < 1 || threshold->value > 3) {
      reader.Fail(threshold->position, "'threshold' must be between 1 and 3",
                  "leave the key out to withstand as many parties as can be");
    }
    engine.threshold = static_cast<uint32_t>(threshold->value);
  }
  if (const auto input = reader.OptionalInteger("input_bits")) {
    if (input->value < 20 || input->value > 50) {
      reader.Fail(input->position, "'input_bits' must be between 20 and 50",
                  "30 lets a database add up; leave the key out for the finest grid");
    }
    engine.input_bits = static_cast<int>(input->value);
    engine.input_bits_position = input->position;
  }
  if (const auto stripes = reader.OptionalInteger("stripes")) {
    if (stripes->value < 1 || stripes->value > static_cast<int64_t>(kMaxStripes)) {
      reader.Fail(stripes->position,
                  "'stripes' must be between 1 and " + std::to_string(kMaxStripes),
                  "leave the key out for one, which suits tables that one machine computes");
    }
    engine.stripes = static_cast<size_t>(stripes->value);
    engine.stripes_position = stripes->position;
  }
  const auto bits = reader.OptionalInteger("fraction_bits");
  if (!bits) return engine;
  if (bits->value < 20 || bits->value > 50) {
    reader.Fail(bits->position, "'fraction_bits' must be between 20 and 50",
                "40 suits nearly every study; leave the key out to get it");
  }
  engine.fraction_bits = static_cast<int>(bits->value);
  return engine;
}

NetworkSpec ReadNetwork(const TableReader& root) {
  NetworkSpec network;
  const auto reader = root.OptionalTable("network", {"timeout_seconds"});
  if (!reader) return network;
  const auto timeout = reader->OptionalNumber("timeout_seconds");
  if (!timeout) return network;
  // Also refuses NaN.
  if (!(timeout->value >= 1 && timeout->value <= 86400)) {
    reader->Fail(timeout->position, "'timeout_seconds' must be between 1 and 86400",
                 "60 suits most networks; leave the key out to get it");
  }
  network.timeout_seconds = timeout->value;
  return network;
}

std::vector<Party> ReadParties(const TableReader& root, const data::Schema& dictionary,
                               const std::vector<RowBlock>& blocks) {
  const auto tables = root.Tables("party", {"name", "roles", "columns", "rows"});
  if (tables.empty()) root.FailMissing("party", "[[party]] name = \"north\" roles = [\"holder\"]");
  if (tables.size() > kMaxParties) {
    root.Fail(tables[kMaxParties].position(), "there are too many parties",
              "a study has at most " + std::to_string(kMaxParties));
  }
  std::vector<Party> parties;
  std::vector<LocatedText> names;
  for (const TableReader& reader : tables) {
    Party party;
    names.push_back(reader.Text("name", "name = \"north\""));
    CheckName(reader, names.back(), kPartyName);
    party.name = names.back().value;
    party.position = reader.position();
    ReadRoles(reader, party);
    if (party.holder) {
      party.columns = ReadSelection(reader, "columns", Names(dictionary));
      party.rows = ReadSelection(reader, "rows", Names(blocks));
    } else if (reader.Has("columns") || reader.Has("rows")) {
      reader.Fail(reader.PositionOf(reader.Has("columns") ? "columns" : "rows"),
                  "party " + Quote(party.name) + " holds no data",
                  "add the role \"holder\", or remove 'columns' and 'rows'");
    }
    parties.push_back(std::move(party));
  }
  CheckDistinct(root, names, "party");
  return parties;
}

// The engines that work among so many computing parties.
std::string EnginesFor(size_t parties) {
  const std::string dealer =
      "name = \"dealer\" with one dealer beside any number of parties, in [engine]";
  if (parties == 2) return "write name = \"ot\", which is for two parties, or " + dealer;
  if (parties == 3) return "write name = \"replicated\", which is for three parties, or " + dealer;
  if (parties > 3 && parties <= 7)
    return "write name = \"shamir\", which is for three to seven parties, or " + dealer;
  return "write " + dealer;
}

void CheckRoles(const TableReader& root, const std::vector<Party>& parties,
                const EngineSpec& engine) {
  std::vector<const Party*> holders, receivers, dealers;
  for (const Party& party : parties) {
    if (party.holder) holders.push_back(&party);
    if (party.receiver) receivers.push_back(&party);
    if (party.dealer) dealers.push_back(&party);
  }
  if (receivers.size() != 1) {
    root.Fail(receivers.empty() ? parties[0].position : receivers[1]->position,
              "a study has exactly one receiver, not " + std::to_string(receivers.size()),
              "give the role \"receiver\" to the one party that gets the result");
  }
  if (holders.size() < 2) {
    root.Fail(holders.empty() ? parties[0].position : holders[0]->position,
              "a study has two holders at least, not " + std::to_string(holders.size()),
              "give the role \"holder\" to every party that contributes data");
  }
  if (engine.name == "dealer" && dealers.size() != 1) {
    root.Fail(dealers.empty() ? parties[0].position : dealers[1]->position,
              "the engine 'dealer' needs exactly one dealer, not " + std::to_string(dealers.size()),
              "add one [[party]] with roles = [\"dealer\"], run by somebody who colludes with "
              "nobody; it sees no data");
  }
  if (engine.name != "dealer" && !dealers.empty()) {
    root.Fail(dealers[0]->position, "the engine " + Quote(engine.name) + " has no dealer",
              "remove this [[party]], or write name = \"dealer\" in [engine]");
  }
  if (engine.name == "replicated" && parties.size() != 3) {
    root.Fail(parties.back().position,
              "the engine 'replicated' works among exactly three parties, not " +
                  std::to_string(parties.size()),
              EnginesFor(parties.size()));
  }
  if (engine.name == "shamir" && (parties.size() < 3 || parties.size() > 7)) {
    root.Fail(parties.back().position,
              "the engine 'shamir' works among three to seven parties, not " +
                  std::to_string(parties.size()),
              EnginesFor(parties.size()));
  }
  if (engine.threshold && 2 * *engine.threshold >= parties.size()) {
    root.Fail(parties.back().position,
              "among " + std::to_string(parties.size()) +
                  " parties the engine 'shamir' withstands " +
                  std::to_string((parties.size() - 1) / 2) + " at most, and 'threshold' is " +
                  std::to_string(*engine.threshold),
              "leave 'threshold' out of [engine] to withstand as many as can be");
  }
  if (engine.name == "ot" && parties.size() != 2) {
    root.Fail(
        parties.back().position,
        "the engine 'ot' works between exactly two parties, not " + std::to_string(parties.size()),
        EnginesFor(parties.size()));
  }
}

void CheckSharing(const TableReader& root, const std::vector<Party>& parties,
                  const std::vector<RowBlock>& blocks, const TableSpec& table) {
  const Position table_position = root.PositionOf("table");
  for (const RowBlock& block : blocks) {
    if (block.match) CheckMatch(root, parties, block);
    const size_t holders = CountHolders(parties, block.name);
    if (holders < 2) continue;
    const std::string shared = "row block " + Quote(block.name) + " is held by " +
                               std::to_string(holders) + " parties and needs ";
    if (!block.count) {
      root.Fail(block.position, shared + "a 'count'",
                "parties that hold the same rows agree on their number: write [[rows]] with name "
                "and count. If each party has rows of its own, give each its own [[rows]] block");
    }
    if (table.key.empty() && !block.match) {
      root.Fail(table_position, shared + "a 'key'",
                "add key = \"id\" to [table]: the column by which the parties put the same rows in "
                "the same order. If their lists differ, match them first: docs/matching.md");
    }
  }
  for (const Party& party : parties) {
    if (party.rows.size() < 2 || !table.block.empty()) continue;
    root.Fail(table_position,
              "party " + Quote(party.name) + " holds " + std::to_string(party.rows.size()) +
                  " row blocks and needs a 'block' column",
              "add block = \"school\" to [table]: the column that says which block a row is in");
  }
}

}  // namespace partita::study
