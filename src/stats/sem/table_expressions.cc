#include "stats/sem/table_expressions.h"
