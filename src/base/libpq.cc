#include "base/libpq.h"

#include <dlfcn.h>

#include "base/error.h"

namespace partita::postgres {

Libpq OpenLibpq(const char* file_name) {
  void* library = ::dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
  const auto load = [&](const char* name, auto& function) {
    void* address = library == nullptr ? nullptr : ::dlsym(library, name);
    if (address == nullptr) {
      throw Error(ErrorCode::kUsage, "PostgreSQL's client library is not on this machine",
                  "Install it (on Debian: apt install libpq5).");
    }
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  Libpq pq{};
  load("PQclear", pq.clear);
  load("PQcmdStatus", pq.cmdStatus);
  load("PQcmdTuples", pq.cmdTuples);
  load("PQconnectdbParams", pq.connectdbParams);
  load("PQconninfoFree", pq.conninfoFree);
  load("PQconninfoParse", pq.conninfoParse);
  load("PQconsumeInput", pq.consumeInput);
  load("PQerrorMessage", pq.errorMessage);
  load("PQfinish", pq.finish);
  load("PQdescribePrepared", pq.describePrepared);
  load("PQexec", pq.exec);
  load("PQexecParams", pq.execParams);
  load("PQflush", pq.flush);
  load("PQfname", pq.fname);
  load("PQfreemem", pq.freemem);
  load("PQftype", pq.ftype);
  load("PQgetCopyData", pq.getCopyData);
  load("PQgetResult", pq.getResult);
  load("PQgetisnull", pq.getisnull);
  load("PQgetlength", pq.getlength);
  load("PQgetvalue", pq.getvalue);
  load("PQisBusy", pq.isBusy);
  load("PQnfields", pq.nfields);
  load("PQntuples", pq.ntuples);
  load("PQprepare", pq.prepare);
  load("PQresultErrorField", pq.resultErrorField);
  load("PQresultErrorMessage", pq.resultErrorMessage);
  load("PQresultStatus", pq.resultStatus);
  load("PQsendPrepare", pq.sendPrepare);
  load("PQsendQuery", pq.sendQuery);
  load("PQsendQueryPrepared", pq.sendQueryPrepared);
  load("PQsetNoticeProcessor", pq.setNoticeProcessor);
  load("PQsetnonblocking", pq.setnonblocking);
  load("PQsocket", pq.socket);
  load("PQstatus", pq.status);
  return pq;
}

const Libpq& Pq() {
  static const Libpq pq = OpenLibpq("libpq.so.5");
  return pq;
}

}  // namespace partita::postgres
