// What the API does, a function a route (routes.cc). Each answers or throws Error; none is called before
// the server has looked at session, role, origin and token (server.h).
#pragma once

#include "node/web/site.h"

namespace partita::node::web {

// account_api.cc
net::HttpResponse LookAtSetUp(Site& site, const Call& call);
net::HttpResponse SetUp(Site& site, const Call& call);
net::HttpResponse LogIn(Site& site, const Call& call);
net::HttpResponse LookAtSession(Site& site, const Call& call);
net::HttpResponse LogOut(Site& site, const Call& call);
net::HttpResponse ListAccounts(Site& site, const Call& call);
net::HttpResponse MakeAccount(Site& site, const Call& call);
net::HttpResponse SetPassword(Site& site, const Call& call);
net::HttpResponse DeleteAccount(Site& site, const Call& call);

// node_api.cc
net::HttpResponse LookAtNode(Site& site, const Call& call);
net::HttpResponse StopNode(Site& site, const Call& call);
net::HttpResponse GoOn(Site& site, const Call& call);
net::HttpResponse LookAtHealth(Site& site, const Call& call);
net::HttpResponse LookWhetherReady(Site& site, const Call& call);

// study_api.cc
net::HttpResponse ListStudies(Site& site, const Call& call);
net::HttpResponse LookAtStudy(Site& site, const Call& call);
net::HttpResponse CheckStudy(Site& site, const Call& call);
net::HttpResponse ProposeStudy(Site& site, const Call& call);
net::HttpResponse ShowSteward(Site& site, const Call& call);
net::HttpResponse ApproveStudy(Site& site, const Call& call);
net::HttpResponse RejectStudy(Site& site, const Call& call);
net::HttpResponse WithdrawStudy(Site& site, const Call& call);
net::HttpResponse ShowReport(Site& site, const Call& call);
net::HttpResponse ShowResult(Site& site, const Call& call);
// One study with its tag, and the tag of everything: what long polls look at (waiting.h).
WebJson StudyNow(Site& site, const std::string& study);
WebJson NodeNow(Site& site);

// The names in a study's file, which is asked for once.
StudyNames::Names NamesOf(Site& site, const std::string& study);
// The names of all that are listed, of which nothing is known: their files from the node, a few at a time.
void LearnNames(Site& site, const WebJson& listed);
// A number of the query. Throws kUsage for another text.
size_t NumberIn(const Call& call, const char* name, size_t low, size_t high, size_t otherwise);

// policy_api.cc
net::HttpResponse ListPolicies(Site& site, const Call& call);
net::HttpResponse EndPolicy(Site& site, const Call& call);

// table_api.cc
net::HttpResponse ListTables(Site& site, const Call& call);
net::HttpResponse ShowBudgets(Site& site, const Call& call);

// dictionary_api.cc
net::HttpResponse CheckDictionary(Site& site, const Call& call);
net::HttpResponse SaveDictionary(Site& site, const Call& call);
net::HttpResponse DraftDictionary(Site& site, const Call& call);
// As pages have it; kept: the node's words, text and version. Null where there is none.
WebJson SiteDictionaryJson(const WebJson& kept);

// audit_api.cc
net::HttpResponse ShowAudit(Site& site, const Call& call);

// record_api.cc
net::HttpResponse ShowRecord(Site& site, const Call& call);

// party_api.cc
net::HttpResponse ListParties(Site& site, const Call& call);
net::HttpResponse InviteSite(Site& site, const Call& call);
net::HttpResponse JoinSite(Site& site, const Call& call);
net::HttpResponse LookAtPairing(Site& site, const Call& call);
net::HttpResponse EnterDigits(Site& site, const Call& call);
net::HttpResponse ConfirmPairing(Site& site, const Call& call);
net::HttpResponse AcceptParty(Site& site, const Call& call);
net::HttpResponse RevokeParty(Site& site, const Call& call);

// "a3f..." of a JSON answer: another where anything in it is another.
std::string TagOf(const WebJson& json);
// Of the route's fields.
inline constexpr size_t kMaxPassphraseBytes = 1024;

}  // namespace partita::node::web
