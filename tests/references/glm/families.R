# Writes families.json: R's glm on tables of tests/tables, for tests/stats/glm and tests/methods/glm.
# Rscript tests/references/glm/families.R > tests/references/glm/families.json
source("tests/references/glm/tests_of.R")
read <- function(name) read.csv(file.path("tests/tables", name), stringsAsFactors = TRUE)
birthwt <- read("gpl/birthwt.csv")
quine <- read("gpl/quine.csv")
abalone <- read("abalone.csv")
red <- read("winequality_red.csv")
white <- read("winequality_white.csv")
cancer <- read("breast_cancer_wdbc.csv")

fits <- list(
  birthwt = list(low ~ age + lwt + factor(race) + smoke + ht + ui, binomial(), birthwt, "gpl/birthwt.csv"),
  birthwt_interaction = list(low ~ age * smoke + ht, binomial(), birthwt, "gpl/birthwt.csv"),
  birthwt_offset = list(low ~ smoke + offset(log(lwt)), binomial(), birthwt, "gpl/birthwt.csv"),
  birthwt_plain = list(low ~ age + ht - 1, binomial(), birthwt, "gpl/birthwt.csv"),
  quine = list(Days ~ Sex + Age + Eth + Lrn, poisson(), quine, "gpl/quine.csv"),
  abalone_rates = list(rings ~ sex + whole_weight + offset(log(length)), poisson(), abalone, "abalone.csv"),
  abalone_counts_plain = list(rings ~ length + shell_weight - 1, poisson(), abalone, "abalone.csv"),
  abalone = list(rings ~ sex + length + I(length^2) + shell_weight, gaussian(), abalone, "abalone.csv"),
  abalone_plain = list(rings ~ length + shell_weight - 1, gaussian(), abalone, "abalone.csv"),
  abalone_offset = list(rings ~ sex + offset(length), gaussian(), abalone, "abalone.csv"),
  abalone_gamma = list(rings ~ sex * shell_weight + log(length), Gamma("log"), abalone, "abalone.csv"),
  abalone_gamma_offset = list(rings ~ shell_weight + offset(log(length)), Gamma("log"), abalone, "abalone.csv"),
  red = list(quality ~ volatile_acidity * alcohol + sulphates, gaussian(), red, "winequality_red.csv"),
  white = list(residual_sugar ~ alcohol + citric_acid + volatile_acidity, gaussian(), white, "winequality_white.csv"),
  cancer = list(benign ~ mean_texture + mean_smoothness + mean_symmetry, binomial(), cancer, "breast_cancer_wdbc.csv"))

number <- function(x) sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
quoted <- function(x) paste0("\"", x, "\"")
one <- function(name) {
  spec <- fits[[name]]
  fit <- glm(spec[[1]], spec[[2]], spec[[3]], control = glm.control(epsilon = 1e-14, maxit = 100))
  table <- coef(summary(fit))
  interval <- confint.default(fit)
  if (spec[[2]]$family %in% c("gaussian", "Gamma")) {
    width <- qt(0.975, fit$df.residual) * table[, 2]
    interval <- cbind(table[, 1] - width, table[, 1] + width)
  }
  fields <- c(
    formula = quoted(paste(deparse(spec[[1]], 200), collapse = "")),
    family = quoted(tolower(spec[[2]]$family)), data = quoted(spec[[4]]),
    terms = listed(quoted(rownames(table))), estimate = listed(number(table[, 1])),
    standard_error = listed(number(table[, 2])), statistic = listed(number(table[, 3])),
    p_value = listed(number(table[, 4])), lower = listed(number(interval[, 1])),
    upper = listed(number(interval[, 2])), dispersion = number(summary(fit)$dispersion),
    deviance = number(fit$deviance), null_deviance = number(fit$null.deviance),
    df_residual = number(fit$df.residual), df_null = number(fit$df.null), aic = number(fit$aic),
    log_likelihood = number(as.numeric(logLik(fit))),
    tests = tests_of(fit, coef(fit), vcov(fit), rep(TRUE, length(coef(fit))),
      if (spec[[2]]$family %in% c("gaussian", "Gamma")) fit$df.residual else NA))
  body <- paste0("    ", quoted(names(fields)), ": ", fields, collapse = ",\n")
  paste0("  ", quoted(name), ": {\n", body, "\n  }")
}
cat("{\n", paste0(sapply(names(fits), one), collapse = ",\n"), "\n}\n", sep = "")
