// Four sites with their keys, lists, tables and ports, and a daemon in memory that does what the life of
// a study asks of it: offers, roster, approvals.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/job/ended_list.h"
#include "node/job/job.h"
#include "node/job/wire.h"
#include "node/parties/party_list.h"
#include "node/service/key_trust.h"
#include "node/study/roster_check.h"
#include "run/simulate/temporary_folder.h"
#include "study/approval/approval.h"
#include "tests/node/port/port_world.h"
#include "tests/paths.h"

namespace partita::node::job_world {

namespace fs = std::filesystem;

inline const std::vector<std::string> kSites = {"north", "south", "west", "helper"};
inline const std::string kExample = "examples/three_factor/horizontal/";

inline Digest PrintOf(const crypto::Identity& identity) {
  return crypto::Sha256Of(crypto::EncodeCertificate(*identity.certificate));
}

// What one job said: all its reports, and how it ended.
struct Said {
  std::vector<JobReport> reports;
  int exit_code = -1;

  // Null unless the last word is of this kind.
  template <typename T>
  const T* Last() const {
    return reports.empty() ? nullptr : std::get_if<T>(&reports.back().event);
  }
};

struct Site {
  std::string name;
  crypto::Identity node = crypto::MakeIdentity({.name = "x"}), steward = node, jobs = node;
  JobSettings settings;
  Study study;
  std::unique_ptr<PortWorld> port = std::make_unique<PortWorld>("127.0.0.1");
};

class World {
 public:
  explicit World(const std::string& study_file = ReadFile(SourcePath(kExample + "study.toml"),
                                                          1 << 20, "the study")) {
    for (const std::string& name : kSites) {
      Site& site = sites_[name];
      site.name = name;
      site.node = crypto::MakeIdentity({.name = name});
      site.steward = crypto::MakeIdentity({.name = name});
      site.jobs = crypto::MakeIdentity({.name = name});
    }
    Nonce nonce{};
    nonce.fill(7);
    const int64_t expires = NowUtc() + 86'400;
    for (auto& [name, site] : sites_) {
      const fs::path folder = folder_.path() / name;
      fs::create_directories(folder / "studies");
      site.settings.self = name;
      site.settings.studies = folder / "studies";
      site.settings.stewards = folder / "stewards.pem";
      site.settings.parties = folder / "parties";
      site.settings.node_certificate = folder / "node.pem";
      site.settings.address = site.port->address();
      site.settings.job_certificate = folder / "jobs.pem";
      site.settings.job_key = folder / "jobs.key";
      crypto::SaveIdentity(site.jobs, site.settings.job_certificate, site.settings.job_key);
      site.settings.ended = folder / "ended";
      EndedList none;
      none.owner = name;
      none.serial = 1;
      WriteEnded(site, none);
      WriteFileAtomically(site.settings.stewards.string(),
                          crypto::FormatCertificate(*site.steward.certificate));
      WriteFileAtomically(site.settings.node_certificate.string(),
                          crypto::FormatCertificate(*site.node.certificate));
      WriteList(site, ListOf(name));
      if (name != "helper") {
        fs::copy_file(SourcePath(kExample + name + "/data.csv"), folder / "data.csv");
        site.settings.catalogue["pupils"] = {folder / "data.csv", ""};
      }
      site.study.file = study_file;
      site.study.proposer = "north";
      site.study.nonce = nonce;
      site.study.expires = expires;
      site.study.id = StudyIdOf(study_file, "north", nonce, expires);
    }
  }

  Site& at(const std::string& name) { return sites_.at(name); }
  std::map<std::string, Site>& all() { return sites_; }
  const fs::path& folder() const { return folder_.path(); }

  PartyList ListOf(const std::string& owner) {
    PartyList list;
    list.owner = owner;
    list.serial = ++serial_;
    for (const auto& [name, site] : sites_) {
      if (name == owner) continue;
      ListedParty& party = list.parties.emplace_back();
      party.name = name;
      party.node_key = PrintOf(site.node);
      party.steward_key = PrintOf(site.steward);
    }
    return list;
  }
  static void WriteList(const Site& site, const PartyList& list) {
    const Bytes bytes = EncodeSignedList(SignPartyList(list, site.steward));
    WriteFileAtomically(site.settings.parties.string(),
                        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  static void WriteEnded(const Site& site, const EndedList& list) {
    const Bytes bytes = Encode(SignEndedList(list, site.steward));
    WriteFileAtomically(site.settings.ended.string(),
                        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  KeyTrust TrustOf(const std::string& name) {
    const Site& site = at(name);
    return KeyTrust({name, site.node, PrintOf(site.steward), [this, name] { return ListOf(name); },
                     [] { return NowUtc(); }});
  }

  // What a daemon does for one job, until it ends.
  static Said Do(Site& site, JobKind kind, uint32_t attempt = 1,
                 const std::atomic<bool>* stop = nullptr) {
    auto [daemon, job] = MakeJobChannel();
    Said said;
    std::thread thread([&said, &site, stop, end = std::move(job)]() mutable {
      said.exit_code = RunJob(site.settings, std::move(end), stop);
    });
    net::Socket arrivals;
    if (kind == JobKind::kRun) {
      auto [port_end, job_end] = MakeSocketPair();
      site.port->port().Expect(site.study.tag, std::move(port_end));
      arrivals = std::move(job_end);
    }
    SendOrder(daemon, {{kind, attempt}, site.study}, arrivals);
    arrivals = net::Socket();
    while (auto report = ReceiveReport(daemon)) said.reports.push_back(*std::move(report));
    thread.join();
    return said;
  }

  // check: the offer of each site that says "valid here", at all of them.
  void Check() {
    for (auto& [name, site] : sites_) {
      const Said said = Do(site, JobKind::kCheck, 0);
      const Checked* checked = said.Last<Checked>();
      if (checked == nullptr || !checked->refusal.empty())
        throw Error(ErrorCode::kInternal, name + ": " + (checked ? checked->refusal : "silent"));
      site.study.facts = checked->facts;
      Offer offer;
      offer.run_certificate = checked->run_certificate;
      offer.steward = PrintOf(site.steward);
      offer.address = checked->address;
      offer.plan_hash = checked->facts.plan_hash;
      PutOffer(name, offer);
    }
    Settle();
  }
  void PutOffer(const std::string& name, const Offer& offer) {
    const Bytes bytes = OfferMessage(name, offer);
    at(name).study.own_offer = bytes;
    for (auto& [other, site] : sites_) site.study.offers[name] = bytes;
  }
  Bytes OfferMessage(const std::string& name, const Offer& offer) {
    SignedMessage message;
    message.message.kind = Kind::kOffer;
    message.message.from = name;
    message.message.to = "north";
    message.message.study = at(name).study.id;
    message.message.number = ++number_;
    message.message.time = NowUtc();
    SetBody(message.message, Encode(offer));
    message.signature = TrustOf(name).SignMessage(message.message);
    return EncodeMessage(message);
  }
  // The roster of the offers, at all sites.
  void Settle() {
    const KeyTrust trust = TrustOf("north");
    const RosterFile roster = MakeRoster(at("north").study, trust);
    for (auto& [name, site] : sites_) {
      site.study.roster = roster.text;
      site.study.parties = CheckRoster(site.study, roster, name, TrustOf(name));
    }
  }
  // commit: the drafts, signed by the own stewards.
  void Approve() {
    for (auto& [name, site] : sites_) {
      const Said said = Do(site, JobKind::kCommit, 0);
      if (said.Last<Committed>() == nullptr) throw Error(ErrorCode::kInternal, Problem(site));
      site.study.agreement_hash = said.Last<Committed>()->agreement_hash;
      const std::string text = SignDraft(said.reports.back().draft, site.steward);
      for (auto& [other, at] : sites_) at.study.approvals[name] = text;
    }
  }
  static std::string SignDraft(const std::string& draft, const crypto::Identity& steward) {
    return study::RenderApproval(
        study::SignApproval(study::ParseApproval(draft, "draft").approval, steward));
  }
  void Schedule(uint8_t tag) {
    for (auto& [name, site] : sites_) site.study.tag.fill(tag);
  }

  // run, at all sites at once.
  std::map<std::string, Said> Run(uint32_t attempt) {
    std::map<std::string, Said> all;
    for (const std::string& name : kSites) all[name];
    std::vector<std::thread> threads;
    for (const std::string& name : kSites) {
      threads.emplace_back([&, name] { all.at(name) = Do(at(name), JobKind::kRun, attempt); });
    }
    for (std::thread& thread : threads) thread.join();
    return all;
  }

  static fs::path FolderOf(const Site& site) {
    return site.settings.studies / ToHex(site.study.id);
  }
  static std::string Problem(const Site& site) {
    const fs::path file = FolderOf(site) / "problem.txt";
    return fs::exists(file) ? ReadFile(file, 1 << 20, "the problem") : "";
  }
  Bytes RunCertificate(const std::string& name) {
    for (const RosterParty& party : at(name).study.parties) {
      if (party.name == name) return party.run_certificate;
    }
    return {};
  }
  // Whether the run key of the site's offer signed this.
  bool Signed(const Site& site, const Ended& ended) {
    return TrustOf(site.name).SignedByRunKey(RunCertificate(site.name), kEndedDomain,
                                             EndedFields(site.study.id, site.name, ended),
                                             ended.signature);
  }

 private:
  run::TemporaryFolder folder_;
  uint64_t serial_ = 0, number_ = 0;
  std::map<std::string, Site> sites_;
};

}  // namespace partita::node::job_world
