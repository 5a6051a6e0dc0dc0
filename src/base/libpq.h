// PostgreSQL's client library, opened when a connection is made: whoever has no such database needs
// neither it nor the libraries below it (LDAP, Kerberos, GnuTLS). Not in the library `base`: link
// partita_postgres.
#pragma once

#include <libpq-fe.h>

namespace partita::postgres {

// Its functions, without their prefix PQ; libpq's manual says what each does.
struct Libpq {
  decltype(&PQclear) clear;
  decltype(&PQcmdStatus) cmdStatus;
  decltype(&PQcmdTuples) cmdTuples;
  decltype(&PQconnectdbParams) connectdbParams;
  decltype(&PQconninfoFree) conninfoFree;
  decltype(&PQconninfoParse) conninfoParse;
  decltype(&PQconsumeInput) consumeInput;
  decltype(&PQerrorMessage) errorMessage;
  decltype(&PQfinish) finish;
  decltype(&PQdescribePrepared) describePrepared;
  decltype(&PQexec) exec;
  decltype(&PQexecParams) execParams;
  decltype(&PQflush) flush;
  decltype(&PQfname) fname;
  decltype(&PQfreemem) freemem;
  decltype(&PQftype) ftype;
  decltype(&PQgetCopyData) getCopyData;
  decltype(&PQgetResult) getResult;
  decltype(&PQgetisnull) getisnull;
  decltype(&PQgetlength) getlength;
  decltype(&PQgetvalue) getvalue;
  decltype(&PQisBusy) isBusy;
  decltype(&PQnfields) nfields;
  decltype(&PQntuples) ntuples;
  decltype(&PQprepare) prepare;
  decltype(&PQresultErrorField) resultErrorField;
  decltype(&PQresultErrorMessage) resultErrorMessage;
  decltype(&PQresultStatus) resultStatus;
  decltype(&PQsendPrepare) sendPrepare;
  decltype(&PQsendQuery) sendQuery;
  decltype(&PQsendQueryPrepared) sendQueryPrepared;
  decltype(&PQsetNoticeProcessor) setNoticeProcessor;
  decltype(&PQsetnonblocking) setnonblocking;
  decltype(&PQsocket) socket;
  decltype(&PQstatus) status;
};

// Stays open until the process ends. Throws kUsage if there is no such library, or an older one
// without one of the functions.
Libpq OpenLibpq(const char* file_name);

// The system's, opened at the first call.
const Libpq& Pq();

}  // namespace partita::postgres
