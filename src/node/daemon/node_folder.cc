#include "node/daemon/node_folder.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/files.h"
#include "net/roster.h"
#include "node/parties/inner_address.h"
#include "node/port/route.h"
#include "study/approval/persons.h"
#include "study/file/sections.h"
#include "study/file/text.h"
#include "study/file/toml_reader.h"
#include "study/file/toml_text.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = 1 << 20;
constexpr size_t kMaxCatalogue = 1000;
constexpr int64_t kConfigFormat = 1;

constexpr char kConfigText[] =
    R"(# What this site decides for its node. `partita node serve` reads it when it starts.
partita_node = 1
name = "{name}"

# Where the nodes of other sites reach this one, and, if that is another, where to listen.
address = "{address}"
# listen = "0.0.0.0:7400"

# Other sites say where they are. Hosts inside of this network are called only if they stand here.
inner_hosts = [{inner}]

# The certificate of the site's steward (`partita node steward`). Its key is not needed here.
stewards = "stewards.pem"

# Studies that the steward took back, which do not run whatever the node says. The steward's signer writes
# it, jobs read it.
ended = {ended}

# The sites that the steward accepted, likewise: what is revoked there counts for no job, whatever the node says.
parties = {parties}

# The socket of the steward's signer, where `--sign` does not start it: it is asked whether a policy approves a study.
{signer}

# The privacy budgets of the tables (`partita ledger open`). Without one, private studies are refused here.
# ledger = "ledger.sqlite"

# Take only studies that name an ethics reference (`partita study new --ethics`).
# ethics_required = true

# How long things of studies that are over are kept (`partita node retention`): results, if not for as long as
# study files, offers, approvals and messages, and these. Frozen rows go when a study is over.
# [retention]
# results_days = 365
# documents_years = 10

# Where the node keeps its state: in a file of its folder, or in a PostgreSQL database (15 or later) of its own. See
# docs/node-guide.md before you change it.
# [state]
# database = "postgresql://partita_west@db.example.org/partita_west"
# credentials = "state.pass"   # the password, in a file that only its owner reads
# timeout_seconds = 30         # of one statement

{services}[limits]
jobs = 1                 # runs at a time
memory_gib = 4           # of all of them
longest_run_hours = 24

# Tables that studies may use: one of these parts for each. `data` is a CSV file with a header, a file of
# another program, or a source file that says where in a database the rows are (docs/sources.md).
# [[table]]
# name = "asthma"
# data = "/srv/tables/asthma.csv"
# account = "asthma"     # its name in the ledger, if that has several
# stewards_needed = 2    # two persons sign for it: the steward and a deputy, or two deputies
)";

std::string FileText(const fs::path& file) { return file.string(); }

std::string SignerLine(const fs::path& signer) {
  if (signer.empty()) return "# signer = \"/run/partita/sign.sock\"";
  return "signer = " + study::TomlText(signer.string());
}

std::string ServicesPart(const std::optional<ServiceNames>& services) {
  if (!services) return "";
  return fmt::format(
      "# The users of this site's processes, and the socket by which the node starts jobs.\n"
      "[services]\nnode = {}\npages = {}\njobs = {}\njob_socket = {}\n\n",
      study::TomlText(services->node), study::TomlText(services->pages),
      study::TomlText(services->jobs), study::TomlText(services->job_socket.string()));
}

void CheckConfigAddress(const study::TableReader& reader, const study::LocatedText& text,
                        const std::string& key) {
  try {
    net::ParseAddress(text.value);
  } catch (const Error& error) {
    reader.Fail(text.position, fmt::format("'{}' is no address: {}", key, error.message()),
                fmt::format("{} = \"west.example.org:7400\"", key));
  }
}

int64_t Within(const study::TableReader& reader, const std::string& key, int64_t otherwise,
               int64_t most) {
  const auto number = reader.OptionalInteger(key);
  if (!number) return otherwise;
  if (number->value >= 1 && number->value <= most) return number->value;
  reader.Fail(number->position, fmt::format("'{}' is not from 1 to {}", key, most),
              fmt::format("{} = {}", key, otherwise));
}

void ReadLimits(const study::TableReader& root, Limits& limits) {
  const auto reader = root.OptionalTable("limits", {"jobs", "memory_gib", "longest_run_hours"});
  if (!reader) return;
  limits.jobs = static_cast<uint32_t>(Within(*reader, "jobs", limits.jobs, 64));
  limits.memory_bytes =
      static_cast<uint64_t>(
          Within(*reader, "memory_gib", static_cast<int64_t>(limits.memory_bytes >> 30), 4096))
      << 30;
  limits.seconds = static_cast<uint32_t>(
      Within(*reader, "longest_run_hours", limits.seconds / 3600, 24 * 30) * 3600);
}

void ReadRetention(const study::TableReader& root, RetentionRules& rules) {
  const auto reader = root.OptionalTable("retention", {"results_days", "documents_years"});
  if (!reader) return;
  if (reader->Has("results_days"))
    rules.results_days = Within(*reader, "results_days", 365, kMostResultsDays);
  rules.documents_years =
      Within(*reader, "documents_years", rules.documents_years, kMostDocumentsYears);
}

void ReadState(const study::TableReader& root, const fs::path& folder, StatePlace& state) {
  const auto reader = root.OptionalTable("state", {"database", "credentials", "timeout_seconds"});
  if (!reader) return;
  const study::LocatedText database = reader->Text(
      "database", "database = \"postgresql://partita_west@db.example.org/partita_west\"");
  if (database.value.empty())
    reader->Fail(database.position, "'database' names none", "leave [state] out for a file");
  state.database = database.value;
  if (const auto credentials = reader->OptionalText("credentials"))
    state.credentials = folder / credentials->value;
  state.timeout_seconds = Within(*reader, "timeout_seconds", state.timeout_seconds, 3600);
}

void ReadServices(const study::TableReader& root, NodeConfig& config) {
  const auto reader = root.OptionalTable("services", {"node", "pages", "jobs", "job_socket"});
  if (!reader) return;
  const auto text = [&](const char* key, const char* example) {
    return reader->Text(key, fmt::format("{} = \"{}\"", key, example)).value;
  };
  const study::LocatedText socket =
      reader->Text("job_socket", "job_socket = \"/run/partita-job.sock\"");
  if (!fs::path(socket.value).is_absolute())
    reader->Fail(socket.position, "'job_socket' is no absolute path",
                 "job_socket = \"/run/partita-job.sock\"");
  config.services = ServiceNames{text("node", "partita-node"), text("pages", "partita-web"),
                                 text("jobs", "partita-job"), socket.value};
}

void ReadCatalogue(const study::TableReader& root, const fs::path& folder, NodeConfig& config) {
  for (const study::TableReader& reader :
       root.Tables("table", {"name", "data", "account", "stewards_needed"})) {
    const study::LocatedText name = reader.Text("name", "name = \"asthma\"");
    if (!crypto::IsPartyName(name.value)) {
      reader.Fail(name.position, "'name' is no name of a table: " + study::Quote(name.value),
                  "use 1 to 32 small letters, digits and '-', a letter or digit first");
    }
    for (const CatalogueTable& other : config.tables) {
      if (other.name == name.value)
        reader.Fail(name.position, "two tables are called " + name.value, "give each its own name");
    }
    const study::LocatedText data = reader.Text("data", "data = \"/srv/tables/asthma.csv\"");
    if (data.value.find("://") != std::string::npos) {
      reader.Fail(
          data.position, "'data' is an address, not a file",
          "write the address into a source file (docs/sources.md), and name that here: data = "
          "\"registry.toml\"");
    }
    const auto account = reader.OptionalText("account");
    config.tables.push_back(
        {name.value, (folder / data.value).string(), account ? account->value : "",
         static_cast<uint64_t>(Within(reader, "stewards_needed", 1, study::kMostStewards))});
    if (config.tables.size() > kMaxCatalogue)
      reader.Fail(name.position, "too many tables", "a node keeps at most 1000");
  }
}

}  // namespace

NodeConfig ParseNodeConfig(const std::string& text, const fs::path& folder) {
  const std::string file = FileText(NodeFolder(folder).config());
  const toml::table tree = study::ParseToml(text, file);
  const study::TableReader root(
      file, tree, "node.toml",
      {"partita_node", "name", "address", "listen", "inner_hosts", "stewards", "ended", "parties",
       "ledger", "signer", "ethics_required", "retention", "state", "services", "limits", "table"});
  study::CheckFormat(root, "partita_node", kConfigFormat);
  NodeConfig config;
  const study::LocatedText name = root.Text("name", "name = \"west\"");
  if (!crypto::IsPartyName(name.value))
    root.Fail(name.position, "'name' is no name of a party: " + study::Quote(name.value),
              crypto::kPartyNameHint);
  config.name = name.value;
  const study::LocatedText address = root.Text("address", "address = \"west.example.org:7400\"");
  CheckConfigAddress(root, address, "address");
  config.address = address.value;
  try {
    CheckPortHost(net::ParseAddress(config.address).host);
  } catch (const Error& error) {
    root.Fail(address.position, error.message(), error.hint());
  }
  config.listen = config.address;
  if (const auto listen = root.OptionalText("listen")) {
    CheckConfigAddress(root, *listen, "listen");
    config.listen = listen->value;
  }
  if (const auto hosts = root.OptionalTexts("inner_hosts")) {
    for (const study::LocatedText& host : *hosts) config.inner_hosts.push_back(host.value);
  }
  config.stewards = folder / root.Text("stewards", "stewards = \"stewards.pem\"").value;
  if (const auto ended = root.OptionalText("ended")) config.ended = folder / ended->value;
  config.parties = folder / root.Text("parties", "parties = \"parties\"").value;
  if (const auto ledger = root.OptionalText("ledger")) config.ledger = folder / ledger->value;
  if (const auto signer = root.OptionalText("signer")) config.signer = folder / signer->value;
  config.ethics_required = root.OptionalBool("ethics_required").value_or(false);
  ReadRetention(root, config.retention);
  ReadState(root, folder, config.state);
  ReadServices(root, config);
  ReadLimits(root, config.limits);
  ReadCatalogue(root, folder, config);
  return config;
}

NodeConfig LoadNodeConfig(const NodeFolder& folder) {
  return ParseNodeConfig(ReadFile(folder.config(), kMaxConfigBytes, "the node's file",
                                  "name the folder of a node; 'partita node init' makes one"),
                         folder.path());
}

void InitNodeFolder(const NodeFolder& folder, const std::string& name, const std::string& address,
                    const NodePlaces& places) {
  if (!crypto::IsPartyName(name)) {
    throw Error(ErrorCode::kUsage, fmt::format("{} is no name of a site", study::Quote(name)),
                crypto::kPartyNameHint);
  }
  const std::string host = net::ParseAddress(address).host;
  CheckPortHost(host);
  if (fs::exists(folder.config()) || fs::exists(folder.key())) {
    throw Error(ErrorCode::kUsage, fmt::format("there is a node in {}", folder.path().string()),
                "Choose another folder.");
  }
  fs::create_directories(folder.path());
  for (const fs::path& path :
       {folder.path(), folder.state(), folder.run(), folder.job_key().parent_path()}) {
    fs::create_directories(path);
    if (::chmod(path.c_str(), 0700) != 0) {
      throw Error(ErrorCode::kUsage, fmt::format("cannot close the folder {}", path.string()),
                  "Choose a folder of your own.");
    }
  }
  // A node whose own address is an inner one has neighbours there.
  const std::vector<net::Endpoint> endpoints =
      net::NumericEndpoints(host, net::ParseAddress(address).port);
  const bool inner = host == "localhost" || (!endpoints.empty() && IsInnerAddress(endpoints[0]));
  crypto::SaveIdentity(crypto::MakeIdentity({.name = name}), folder.certificate(), folder.key());
  crypto::SaveIdentity(crypto::MakeIdentity({.name = name}), folder.job_certificate(),
                       folder.job_key());
  WriteNewFile(
      folder.config(),
      fmt::format(fmt::runtime(kConfigText), fmt::arg("name", name), fmt::arg("address", address),
                  fmt::arg("inner", inner ? fmt::format("\"{}\"", host) : ""),
                  fmt::arg("ended", study::TomlText(places.ended.string())),
                  fmt::arg("parties", study::TomlText(places.parties.string())),
                  fmt::arg("signer", SignerLine(places.signer)),
                  fmt::arg("services", ServicesPart(places.services))),
      0600, "the node's file");
}

std::shared_ptr<x509_st> LoadSteward(const NodeConfig& config) {
  if (!fs::exists(config.stewards)) {
    throw Error(ErrorCode::kUsage, "this node has no steward yet: nobody could approve a study",
                "Make the steward's key: partita node steward");
  }
  const std::string text = ReadFile(config.stewards, 64 << 10, "the steward's certificate");
  const std::string begin = "-----BEGIN CERTIFICATE-----";
  const size_t first = text.find(begin);
  const bool one = first != std::string::npos && text.find(begin, first + 1) == std::string::npos;
  std::shared_ptr<x509_st> certificate = one ? crypto::ParseCertificate(text) : nullptr;
  if (certificate == nullptr || crypto::Describe(*certificate).name != config.name) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} does not hold one certificate of a steward of {}",
                            config.stewards.string(), config.name),
                "A node has one steward, whose certificate is made out to the site's name.");
  }
  return certificate;
}

void RegisterSteward(const NodeFolder& folder, const x509_st& certificate) {
  const NodeConfig config = LoadNodeConfig(folder);
  const auto own = crypto::LoadCertificate(folder.certificate());
  if (crypto::Describe(certificate).name != config.name ||
      EVP_PKEY_eq(X509_get0_pubkey(&certificate), X509_get0_pubkey(own.get())) == 1) {
    throw Error(ErrorCode::kBadInput, "this is no certificate of a steward of " + config.name,
                "Make one with 'partita node steward'.");
  }
  WriteNewFile(config.stewards, crypto::FormatCertificate(certificate), 0600,
               "the steward's certificate",
               "the node has a steward already: a new one is for all other sites to compare again");
}

}  // namespace partita::node
