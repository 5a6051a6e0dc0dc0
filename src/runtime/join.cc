#include "runtime/join.h"

#include <fmt/format.h>

#include "crypto/certificate.h"
#include "net/delayed_transport.h"
#include "net/roster.h"
#include "net/tls_transport.h"

namespace partita::runtime {
