# Writes survival.json: R's survfit, survdiff and coxph on tables of tests/tables, for tests/stats/survival and tests/methods/survival.
# Rscript tests/references/survival/survival.R > tests/references/survival/survival.json
library(survival)
lung <- read.csv("tests/tables/lgpl/lung.csv")
veteran <- read.csv("tests/tables/lgpl/veteran.csv")
lung$group <- lung$sex
veteran$group <- veteran$celltype
# Times in whole months tie many events.
lung_months <- transform(lung, time = ceiling(time / 30))
lung_one <- transform(lung, group = 1)

number <- function(x) ifelse(is.na(x), "null", sprintf("%.15g", x))
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
object <- function(fields, indent) {
  pad <- strrep(" ", indent)
  paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")
}
curve <- function(data, report) {
  fit <- survfit(Surv(time, status) ~ 1, data)
  at <- summary(fit, times = report, extend = TRUE)
  median <- summary(fit)$table
  object(c(time = listed(number(fit$time)), at_risk = listed(fit$n.risk), events = listed(fit$n.event),
           survival = listed(number(fit$surv)), error_of_log = listed(ifelse(is.finite(fit$std.err), number(fit$std.err), "null")),
           report = listed(report), survival_at = listed(number(at$surv)), lower_at = listed(number(at$lower)),
           upper_at = listed(number(at$upper)), median = number(median[["median"]]),
           median_lower = number(median[["0.95LCL"]]), median_upper = number(median[["0.95UCL"]])), 4)
}
curves <- function(data, file, report) {
  groups <- sort(unique(data$group))
  fields <- c(data = paste0("\"", file, "\""),
              groups = listed(paste0("\"", groups, "\"")),
              curves = listed(sapply(groups, function(g) curve(data[data$group == g, ], report))))
  if (length(groups) > 1) {
    test <- survdiff(Surv(time, status) ~ group, data)
    fields <- c(fields, observed = listed(test$obs), expected = listed(number(test$exp)),
                variance = listed(number(as.vector(test$var))), chi_square = number(test$chisq))
  }
  object(fields, 2)
}
# The groups are those of R's formula with several factors.
veteran_factors <- transform(veteran, group = paste(trt, prior, sep = ", "))
stopifnot(all.equal(survfit(Surv(time, status) ~ trt + prior, veteran_factors)$surv,
                    survfit(Surv(time, status) ~ group, veteran_factors)$surv))
# Of each stratum at each report time.
cumulative <- function(fit, report) {
  hazard <- basehaz(fit, centered = FALSE)
  strata <- if (is.null(hazard$strata)) rep("all", nrow(hazard)) else as.character(hazard$strata)
  sapply(unique(strata), function(s) sapply(report, function(t) {
    before <- hazard$hazard[strata == s & hazard$time <= t]
    if (length(before) == 0) 0 else before[length(before)]
  }))
}
cox <- function(formula, data, file, ties) {
  report <- if (grepl("months", file)) c(6, 12, 18) else if (grepl("veteran", file)) c(60, 180) else c(180, 365, 540)
  environment(formula) <- environment()  # where cox.zph looks for the data
  fit <- coxph(formula, data, ties = ties, eps = 1e-12, toler.chol = 1e-14, iter.max = 50)
  test <- summary(fit)
  data$own <- seq_len(nrow(data))
  robust <- vcov(update(fit, cluster = own))  # every row by itself
  # Institutions of lung, some of which have a single row.
  clusters <- if (is.null(data$inst)) c() else {
    of_clusters <- vcov(update(fit, cluster = inst))
    c(cluster_error = listed(number(sqrt(diag(of_clusters)))),
      cluster_wald = number(drop(coef(fit) %*% solve(of_clusters, coef(fit)))))
  }
  object(c(data = paste0("\"", file, "\""), ties = paste0("\"", ties, "\""),
           formula = paste0("\"", paste(deparse(formula, 300), collapse = ""), "\""),
           estimate = listed(number(coef(fit))), standard_error = listed(number(sqrt(diag(vcov(fit))))),
           log_likelihood = listed(number(fit$loglik)), score = number(test$sctest[[1]]),
           wald = number(fit$wald.test[[1]]),
           robust_error = listed(number(sqrt(diag(robust)))),
           robust_wald = number(drop(coef(fit) %*% solve(robust, coef(fit)))),
           concordance = number(concordance(fit)$concordance),
           pairs = listed(number(colSums(rbind(concordance(fit, timefix = FALSE)$count)))),
           hazard = object(c(report = listed(report), cumulated = listed(number(cumulative(fit, report)))), 4),
           proportional = listed(number(cox.zph(fit, transform = "identity", terms = FALSE)$table[, 1])),
           clusters), 2)
}
plain <- Surv(time, status) ~ age + sex + ph.ecog
layered <- Surv(time, status) ~ age + ph.ecog + strata(sex)
many <- Surv(time, status) ~ trt + karno + age + strata(celltype)
# Who is older than the median enters later, so that some are never at risk and left out.
lung_late <- transform(lung, enter = ifelse(age > 63, 40, 0))
lung_late <- subset(lung_late, enter < time)
late <- Surv(enter, time, status) ~ age + sex + ph.ecog
fits <- c(
  lung = curves(lung, "lgpl/lung.csv", c(90, 180, 365, 730)),
  lung_months = curves(lung_months, "months of lgpl/lung.csv", c(3, 6, 12, 24)),
  lung_one = curves(lung_one, "one group of lgpl/lung.csv", c(90, 180, 365, 730)),
  veteran = curves(veteran, "lgpl/veteran.csv", c(30, 90, 180, 365)),
  veteran_factors = curves(veteran_factors, "two factors of lgpl/veteran.csv", c(30, 90, 180, 365)),
  cox_lung_breslow = cox(plain, lung, "lgpl/lung.csv", "breslow"),
  cox_lung_efron = cox(plain, lung, "lgpl/lung.csv", "efron"),
  cox_months_breslow = cox(plain, lung_months, "months of lgpl/lung.csv", "breslow"),
  cox_months_efron = cox(plain, lung_months, "months of lgpl/lung.csv", "efron"),
  cox_strata_breslow = cox(layered, lung, "lgpl/lung.csv", "breslow"),
  cox_late_breslow = cox(late, lung_late, "late entries of lgpl/lung.csv", "breslow"),
  cox_late_efron = cox(late, lung_late, "late entries of lgpl/lung.csv", "efron"),
  cox_veteran_breslow = cox(many, veteran, "lgpl/veteran.csv", "breslow"),
  cox_veteran_efron = cox(many, veteran, "lgpl/veteran.csv", "efron"))
cat("{\n", paste0("  \"", names(fits), "\": ", fits, collapse = ",\n"), "\n}\n", sep = "")
