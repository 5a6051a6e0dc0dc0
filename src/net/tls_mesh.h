// How the connections of tls_transport.h come about.
#pragma once

#include <memory>
#include <vector>

#include "net/tls_stream.h"
#include "net/tls_transport.h"

namespace partita::net {

// Established streams by party; empty at our own place.
std::vector<std::unique_ptr<TlsStream>> ConnectMesh(TlsOptions& options, Deadline deadline,
                                                    Progress* progress);

}  // namespace partita::net
