#include "methods/mle/robust.h"
