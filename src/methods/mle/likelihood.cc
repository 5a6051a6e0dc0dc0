#include "methods/mle/likelihood.h"
