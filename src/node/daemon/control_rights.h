// What each user may ask a node over its control socket (control.h says what requests mean).
//
// The node's own user, root, and commands that they run may ask everything. The user of the pages, where it is another
// one (`[services]` of node.toml), may ask what the pages have buttons for, and has to say for which account: what it
// does is never written into the audit log as somebody at the terminal.
#pragma once

#include <string>

namespace partita::node {

enum class Asker { kOwn, kPages };

// Throws kRefused unless `asker` may ask `what`. account: for whom it is asked, as the request says; empty: for nobody.
// action: of a `note`; else empty.
void RequireMayAsk(Asker asker, const std::string& what, const std::string& account,
                   const std::string& action);

}  // namespace partita::node
