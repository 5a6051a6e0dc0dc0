# Writes real.json: tables that R's packages survival, MASS and boot come with, and what R's survfit, survdiff, coxph, cox.zph,
# concordance and basehaz make of them, for tests/methods/survival. Times are those of the ends of cells (cell), as the studies count them.
# Rscript tests/references/survival/real.R > tests/references/survival/real.json
suppressMessages(library(survival))

number <- function(x) ifelse(is.na(x) | !is.finite(x), "null", sprintf("%.15g", x))
quoted <- function(x) sprintf("\"%s\"", x)
listed <- function(x) paste0("[", paste(x, collapse = ","), "]")
object <- function(fields, pad) paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")
one_line <- function(fields) paste0("{", paste0("\"", names(fields), "\": ", fields, collapse = ", "), "}")

# Columns of a table: numbers and integers with bounds that were chosen for their meaning, factors with the order of their levels.
numeric <- function(values, lower, upper) list(values = values, type = "numeric", lower = lower, upper = upper)
integer <- function(values, lower, upper) list(values = values, type = "integer", lower = lower, upper = upper)
levels_of <- function(values) list(values = factor(values), type = "factor")
from_1 <- function(x) match(x, unique(x))
table_of <- function(package, upper, ..., lower = 0) {
  columns <- list(...)
  for (column in columns) {
    if (column$type == "factor") next
    stopifnot(all(column$values >= column$lower & column$values <= column$upper, na.rm = TRUE))
  }
  list(package = package, lower = lower, upper = upper, columns = columns, data = as.data.frame(lapply(columns, `[[`, "values")))
}
written <- function(table) {
  column <- function(of) one_line(c(
    type = quoted(of$type),
    if (of$type == "factor") c(levels = listed(quoted(levels(of$values)))) else c(lower = of$lower, upper = of$upper),
    values = listed(if (of$type == "factor") ifelse(is.na(of$values), "null", as.integer(of$values)) else number(of$values))))
  object(c(source = quoted(table$package), lower = table$lower, upper = table$upper,
           columns = object(sapply(table$columns, column), "      ")), "    ")
}

d <- pbc
tables <- list(pbc = table_of("survival pbc", 4800, time = integer(d$time, 0, 4800), dead = integer(+(d$status == 2), 0, 1), age = numeric(round(d$age, 2), 20, 80),
  edema = numeric(d$edema, 0, 1), bili = numeric(d$bili, 0.1, 50), albumin = numeric(d$albumin, 1, 6), protime = numeric(d$protime, 8, 20), stage = levels_of(d$stage)))
d <- subset(colon, etype == 2)
tables$colon <- table_of("survival colon", 3360, time = integer(d$time, 0, 3360), dead = integer(d$status, 0, 1), rx = levels_of(as.character(d$rx)), sex = integer(d$sex, 0, 1),
  age = integer(d$age, 18, 90), nodes = integer(d$nodes, 0, 40), extent = levels_of(d$extent))
d <- ovarian
tables$ovarian <- table_of("survival ovarian", 1260, time = integer(d$futime, 0, 1260), dead = integer(d$fustat, 0, 1), age = numeric(d$age, 30, 80), rx = levels_of(d$rx), resid = levels_of(d$resid.ds))
d <- bladder
tables$bladder <- table_of("survival bladder", 60, id = integer(d$id, 1, 85), rx = integer(d$rx, 1, 2), number = integer(d$number, 1, 8), size = integer(d$size, 1, 8),
  time = integer(d$stop, 0, 60), recurs = integer(d$event, 0, 1), enum = levels_of(d$enum))
d <- bladder1
tables$bladder1 <- table_of("survival bladder1", 64, id = integer(d$id, 1, 118), treatment = levels_of(as.character(d$treatment)), number = integer(d$number, 1, 8), size = integer(d$size, 1, 8),
  start = integer(d$start, 0, 64), time = integer(d$stop, 0, 64), recurs = integer(+(d$status == 1), 0, 1))
d <- kidney
tables$kidney <- table_of("survival kidney", 570, id = integer(d$id, 1, 38), time = integer(d$time, 0, 570), infected = integer(d$status, 0, 1), age = integer(d$age, 10, 70), sex = levels_of(c("male", "female")[d$sex]),
  disease = levels_of(as.character(d$disease)))
d <- mgus
tables$mgus <- table_of("survival mgus", 14400, time = integer(d$futime, 0, 14400), dead = integer(d$death, 0, 1), age = integer(d$age, 30, 90), sex = levels_of(as.character(d$sex)), hgb = numeric(d$hgb, 5, 20), alb = numeric(d$alb, 1, 6))
d <- mgus2
tables$mgus2 <- table_of("survival mgus2", 430, time = integer(d$futime, 0, 430), dead = integer(d$death, 0, 1), age = integer(d$age, 20, 100), sex = levels_of(as.character(d$sex)), hgb = numeric(d$hgb, 5, 20), mspike = numeric(d$mspike, 0, 4))
d <- rats
tables$rats <- table_of("survival rats", 104, litter = integer(d$litter, 1, 100), rx = levels_of(d$rx), time = integer(d$time, 0, 104), tumour = integer(d$status, 0, 1), sex = levels_of(d$sex))
d <- retinopathy
tables$retinopathy <- table_of("survival retinopathy", 75, id = integer(from_1(d$id), 1, 197), type = levels_of(as.character(d$type)), trt = levels_of(d$trt), risk = integer(d$risk, 6, 12),
  time = numeric(d$futime, 0, 75), blind = integer(d$status, 0, 1))
d <- stanford2
tables$stanford2 <- table_of("survival stanford2", 3710, time = numeric(d$time, 0, 3710), dead = integer(d$status, 0, 1), age = integer(d$age, 10, 70), t5 = numeric(d$t5, 0, 4))
d <- transplant
tables$transplant <- table_of("survival transplant", 2070, time = integer(d$futime, 0, 2070), ltx = integer(+(d$event == "ltx"), 0, 1), age = integer(d$age, 10, 80), sex = levels_of(as.character(d$sex)), abo = levels_of(as.character(d$abo)))
d <- heart
tables$heart <- table_of("survival heart", 1800, id = integer(d$id, 1, 103), start = numeric(d$start, 0, 1800), time = numeric(d$stop, 0, 1800), dead = integer(d$event, 0, 1), age = numeric(round(d$age, 3), -40, 20),
  year = numeric(round(d$year, 3), -1, 7), surgery = integer(d$surgery, 0, 1), transplant = levels_of(as.character(d$transplant)))
d <- myeloid
tables$myeloid <- table_of("survival myeloid", 2430, time = integer(d$futime, 0, 2430), dead = integer(d$death, 0, 1), trt = levels_of(d$trt), sex = levels_of(as.character(d$sex)))
d <- gbsg
tables$gbsg <- table_of("survival gbsg", 2670, time = integer(d$rfstime, 0, 2670), recurs = integer(d$status, 0, 1), age = integer(d$age, 20, 80), meno = levels_of(d$meno), size = integer(d$size, 0, 120), grade = levels_of(d$grade),
  nodes = integer(d$nodes, 1, 60), pgr = integer(d$pgr, 0, 2400), hormon = levels_of(d$hormon))
d <- cgd
tables$cgd <- table_of("survival cgd", 441, id = integer(from_1(d$id), 1, 128), treat = levels_of(as.character(d$treat)), inherit = levels_of(as.character(d$inherit)), age = integer(d$age, 0, 50), steroids = integer(d$steroids, 0, 1),
  start = integer(d$tstart, 0, 441), time = integer(d$tstop, 0, 441), infected = integer(d$status, 0, 1))
d <- genfan
tables$genfan <- table_of("survival genfan", 12000, time = integer(d$hours, 0, 12000), fails = integer(d$status, 0, 1))
d <- aml
tables$aml <- table_of("survival aml", 170, time = integer(d$time, 0, 170), relapse = integer(d$status, 0, 1), x = levels_of(as.character(d$x)))
d <- MASS::Melanoma
tables$melanoma <- table_of("MASS Melanoma", 5580, time = integer(d$time, 0, 5580), dead = integer(+(d$status == 1), 0, 1), sex = integer(d$sex, 0, 1), age = integer(d$age, 0, 100), thickness = numeric(d$thickness, 0.1, 20), ulcer = levels_of(d$ulcer))
d <- MASS::gehan
tables$gehan <- table_of("MASS gehan", 36, pair = integer(d$pair, 1, 21), time = integer(d$time, 0, 36), relapse = integer(d$cens, 0, 1), treat = levels_of(as.character(d$treat)))
d <- MASS::leuk
tables$leuk <- table_of("MASS leuk", 160, wbc = integer(d$wbc, 500, 200000), ag = levels_of(as.character(d$ag)), time = integer(d$time, 0, 160), dead = integer(rep(1, nrow(d)), 0, 1))
d <- boot::channing
tables$channing <- table_of("boot channing", 1210, lower = 720, sex = levels_of(as.character(d$sex)), entry = integer(d$entry, 720, 1210), time = integer(d$exit, 720, 1210), dead = integer(d$cens, 0, 1))

at_ends <- function(table, x, cell) table$lower + cell * ceiling((x - table$lower) / cell)

# ---- curves

# The first time at which a falling line is at one half or below; R takes the middle of a level part at exactly one half.
half_of <- function(time, line, by_r) {
  below <- which(line <= 0.5 + 1e-9)
  first <- if (length(below) == 0) NA else time[below[1]]
  stopifnot(is.na(first) && is.na(by_r) || first == by_r || abs(line[below[1]] - 0.5) < 1e-9)
  first
}
curve <- function(of, report) {
  fit <- survfit(Surv(time, event) ~ 1, of)
  at <- summary(fit, times = report, extend = TRUE)
  median <- summary(fit)$table
  lower <- ifelse(is.na(fit$lower), 0, fit$lower)
  upper <- ifelse(is.na(fit$upper), 1, fit$upper)
  one_line(c(rows = nrow(of), events = listed(at$n.event), remaining = listed(sapply(report, function(t) sum(of$time > t))), survival = listed(number(at$surv)),
             error_of_log = listed(number(at$std.err / at$surv)), lower = listed(number(at$lower)), upper = listed(number(at$upper)),
             median = listed(number(c(half_of(fit$time, fit$surv, median[["median"]]), half_of(fit$time, lower, median[["0.95LCL"]]), half_of(fit$time, upper, median[["0.95UCL"]]))))))
}
curves <- function(name, formula, cell, report) {
  table <- tables[[name]]
  used <- all.vars(as.formula(formula))
  data <- table$data[complete.cases(table$data[used]), used]
  data$time <- at_ends(table, data[[used[1]]], cell)
  data$event <- data[[used[2]]]
  data$group <- if (length(used) == 2) factor("all") else factor(data[[used[3]]])
  fields <- c(table = quoted(name), formula = quoted(formula), used = listed(quoted(used[-(1:2)])), time = quoted(used[1]), event = quoted(used[2]), cell = number(cell), rows = nrow(data), report = listed(number(report)),
              groups = listed(quoted(levels(data$group))),
              curves = listed(sapply(levels(data$group), function(g) paste0("\n      ", curve(data[data$group == g, ], report)))))
  if (nlevels(data$group) > 1) {
    test <- survdiff(Surv(time, event) ~ group, data)
    fields <- c(fields, log_rank = one_line(c(observed = listed(test$obs), expected = listed(number(test$exp)), error = listed(number(sqrt(diag(test$var)))), chi_square = number(test$chisq))))
  }
  object(fields, "    ")
}

# ---- hazard ratios

cumulative <- function(fit, report) {
  hazard <- basehaz(fit, centered = FALSE)
  strata <- if (is.null(hazard$strata)) rep("all", nrow(hazard)) else as.character(hazard$strata)
  sapply(unique(strata), function(s) sapply(report, function(t) {
    before <- hazard$hazard[strata == s & hazard$time <= t]
    if (length(before) == 0) 0 else before[length(before)]
  }))
}
cox <- function(name, formula, ties, cell = 1, report = NULL, cluster = NULL) {
  table <- tables[[name]]
  f <- as.formula(formula)
  used <- c(all.vars(f), cluster)
  data <- table$data[complete.cases(table$data[used]), used]
  enters <- length(f[[2]]) == 4  # Surv(entry, time, event)
  last <- as.character(f[[2]][[if (enters) 3 else 2]])
  event <- as.character(f[[2]][[if (enters) 4 else 3]])
  data[[last]] <- at_ends(table, data[[last]], cell)
  if (enters) {
    first <- as.character(f[[2]][[2]])
    data[[first]] <- at_ends(table, data[[first]], cell)
    data <- data[data[[first]] < data[[last]], ]
  }
  strata <- attr(terms(f, specials = "strata"), "specials")$strata
  layer <- if (is.null(strata)) rep(1, nrow(data)) else data[[all.vars(attr(terms(f, specials = "strata"), "variables")[[strata + 1]])]]
  tied <- max(table(layer[data[[event]] == 1], data[[last]][data[[event]] == 1]))
  environment(f) <- environment()  # where cox.zph looks for the data
  fit <- coxph(f, data, ties = ties, eps = 1e-12, toler.chol = 1e-14, iter.max = 50)
  data$own <- seq_len(nrow(data))
  data$of_cluster <- if (is.null(cluster)) data$own else data[[cluster]]
  robust <- vcov(update(fit, cluster = own))
  clustered <- vcov(update(fit, cluster = of_cluster))
  wald <- function(v) number(drop(coef(fit) %*% solve(v, coef(fit))))
  object(c(table = quoted(name), formula = quoted(formula), used = listed(quoted(setdiff(used, c(last, event)))), time = quoted(last), event = quoted(event), ties = quoted(ties), most_ties = tied, cell = number(cell), rows = nrow(data), events = sum(data[[event]]),
           columns = listed(quoted(names(coef(fit)))), estimate = listed(number(coef(fit))), standard_error = listed(number(sqrt(diag(vcov(fit))))),
           log_likelihood = listed(number(fit$loglik)), score = number(fit$score), wald = wald(vcov(fit)),
           robust_error = listed(number(sqrt(diag(robust)))), robust_wald = wald(robust),
           if (!is.null(cluster)) c(cluster = quoted(cluster), clusters = length(unique(data[[cluster]])), cluster_error = listed(number(sqrt(diag(clustered)))), cluster_wald = wald(clustered)),
           proportional = listed(number(cox.zph(fit, transform = "identity", terms = FALSE)$table[, 1])), concordance = number(concordance(fit, timefix = FALSE)$concordance),
           if (!is.null(report)) c(report = listed(number(report)), hazard = listed(number(cumulative(fit, report))))), "    ")
}

fits <- c(
  pbc = cox("pbc", "Surv(time, dead) ~ age + edema + log(bili) + log(albumin) + log(protime)", "efron"),
  pbc_months = cox("pbc", "Surv(time, dead) ~ age + log(bili) + log(albumin) + strata(stage)", "breslow", 30, c(1080, 2520)),
  colon = cox("colon", "Surv(time, dead) ~ rx + sex + age + log1p(nodes) + strata(extent)", "efron", 30),
  ovarian = cox("ovarian", "Surv(time, dead) ~ age + rx + resid", "efron", 10),
  bladder = cox("bladder", "Surv(time, recurs) ~ rx + number + size + strata(enum)", "efron", 1, NULL, "id"),
  bladder1 = cox("bladder1", "Surv(start, time, recurs) ~ treatment + number + size", "breslow", 1, NULL, "id"),
  kidney = cox("kidney", "Surv(time, infected) ~ age + sex + disease", "efron", 5, NULL, "id"),
  mgus = cox("mgus", "Surv(time, dead) ~ age + sex + hgb + alb", "breslow", 30, c(3600, 7200)),
  mgus2 = cox("mgus2", "Surv(time, dead) ~ age + sex + hgb + mspike", "breslow"),
  rats = cox("rats", "Surv(time, tumour) ~ rx + strata(sex)", "efron", 1, NULL, "litter"),
  retinopathy = cox("retinopathy", "Surv(time, blind) ~ trt + type + trt:type + risk", "breslow", 1, NULL, "id"),
  stanford2 = cox("stanford2", "Surv(time, dead) ~ age + I(age^2) + t5", "efron", 10),
  transplant = cox("transplant", "Surv(time, ltx) ~ age + sex + abo", "breslow", 15, c(90, 360)),
  heart = cox("heart", "Surv(start, time, dead) ~ age + year + surgery + transplant", "efron", 10),
  heart_days = cox("heart", "Surv(start, time, dead) ~ age + year + surgery + transplant", "breslow", 1),
  myeloid = cox("myeloid", "Surv(time, dead) ~ trt + sex", "efron", 10),
  gbsg = cox("gbsg", "Surv(time, recurs) ~ hormon + age + sqrt(size) + grade + log(nodes) + log1p(pgr) + strata(meno)", "breslow", 30),
  cgd = cox("cgd", "Surv(start, time, infected) ~ treat + inherit + age + steroids", "efron", 7, NULL, "id"),
  melanoma = cox("melanoma", "Surv(time, dead) ~ sex + age + log(thickness) + ulcer", "efron", 10),
  gehan = cox("gehan", "Surv(time, relapse) ~ treat", "efron", 1, c(10, 20), "pair"),
  channing = cox("channing", "Surv(entry, time, dead) ~ sex", "breslow"))
lines <- c(
  pbc = curves("pbc", "Surv(time, dead) ~ stage", 1, c(1000, 2000, 3000)),
  colon = curves("colon", "Surv(time, dead) ~ rx", 1, c(500, 1000, 2000)),
  ovarian = curves("ovarian", "Surv(time, dead) ~ rx", 1, c(365, 500)),
  mgus = curves("mgus", "Surv(time, dead) ~ sex", 30, c(1800, 3600, 7200)),
  mgus2 = curves("mgus2", "Surv(time, dead) ~ sex", 1, c(60, 120, 240)),
  rats = curves("rats", "Surv(time, tumour) ~ rx", 1, c(80, 100)),
  retinopathy = curves("retinopathy", "Surv(time, blind) ~ trt", 0.01, c(12, 24, 48)),
  stanford2 = curves("stanford2", "Surv(time, dead) ~ 1", 0.5, c(100, 1000, 2000)),
  transplant = curves("transplant", "Surv(time, ltx) ~ abo", 1, c(90, 180, 365)),
  myeloid = curves("myeloid", "Surv(time, dead) ~ trt", 1, c(365, 730, 1460)),
  gbsg = curves("gbsg", "Surv(time, recurs) ~ grade", 1, c(500, 1000, 2000)),
  genfan = curves("genfan", "Surv(time, fails) ~ 1", 10, c(3000, 8000)),
  aml = curves("aml", "Surv(time, relapse) ~ x", 1, c(13, 30)),
  melanoma = curves("melanoma", "Surv(time, dead) ~ ulcer", 1, c(1000, 2000, 3000)),
  gehan = curves("gehan", "Surv(time, relapse) ~ treat", 1, c(6, 12, 20)),
  leuk = curves("leuk", "Surv(time, dead) ~ ag", 1, c(10, 40)))
cat(object(c(tables = object(sapply(tables, written), "  "), cox = object(fits, "  "), curves = object(lines, "  ")), ""), "\n", sep = "")
