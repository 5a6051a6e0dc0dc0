// PostgreSQL's client library, opened when a connection is made: whoever keeps uploads in SQLite needs
// neither it nor the libraries below it (LDAP, Kerberos, GnuTLS).
#pragma once

#include <libpq-fe.h>

namespace partita::sums {

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
  decltype(&PQflush) flush;
  decltype(&PQfreemem) freemem;
  decltype(&PQgetResult) getResult;
  decltype(&PQgetisnull) getisnull;
  decltype(&PQgetlength) getlength;
  decltype(&PQgetvalue) getvalue;
  decltype(&PQisBusy) isBusy;
  decltype(&PQntuples) ntuples;
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

}  // namespace partita::sums
