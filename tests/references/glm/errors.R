# Writes errors.json: R's glm with other errors than the model's, with weights, and with other links, on
# tables of tests/tables, for tests/methods/glm. Sandwiches are computed here from scores:
# HC0 as sandwich::sandwich(fit), HC1 that times n / (n - p), clusters G / (G - 1) as
# sandwich::vcovCL(fit, type = "HC0"), sampling weights as survey::svyglm over svydesign(ids = ~1 or the cluster).
# Clusters lie within holders: row r is at holder (r - 1) %% 2.
# Rscript tests/references/glm/errors.R > tests/references/glm/errors.json
source("tests/references/glm/tests_of.R")
read <- function(name) read.csv(file.path("tests/tables", name), stringsAsFactors = TRUE)
birthwt <- read("gpl/birthwt.csv")
quine <- read("gpl/quine.csv")
abalone <- read("abalone.csv")

b <- "gpl/birthwt.csv"
q <- "gpl/quine.csv"
a <- "abalone.csv"
low <- low ~ age + smoke + ht
cases <- list(
  robust = list(low, "binomial", b, errors = "robust"),
  adjusted = list(rings ~ sex + length, "gaussian", a, errors = "HC1"),
  clusters = list(low, "binomial", b, errors = "cluster", cluster = "age"),
  gaussian_clusters = list(lwt ~ smoke + ht, "gaussian", b, errors = "cluster", cluster = "age"),
  modified = list(low ~ smoke + age, "modified-poisson", b, errors = "robust"),
  gamma_robust = list(rings ~ length, "gamma", a, errors = "robust"),
  frequency = list(low ~ age + smoke, "binomial", b, weights = "ftv", type = "frequency"),
  frequency_rates = list(age ~ smoke, "poisson", b, weights = "ftv", type = "frequency"),
  frequency_robust = list(lwt ~ age + smoke, "gaussian", b, weights = "ftv", type = "frequency", errors = "robust"),
  sampling = list(low, "binomial", b, weights = "lwt", type = "sampling", errors = "robust"),
  sampling_gaussian = list(age ~ smoke + ht, "gaussian", b, weights = "lwt", type = "sampling", errors = "robust"),
  sampling_clusters = list(low ~ smoke + ht, "binomial", b, weights = "lwt", type = "sampling",
    errors = "cluster", cluster = "age"),
  precision = list(rings ~ sex + length, "gaussian", a, weights = "whole_weight", type = "precision"),
  precision_robust = list(rings ~ sex + length, "gaussian", a, weights = "whole_weight", type = "precision",
    errors = "robust"),
  quasi_binomial = list(low, "quasi-binomial", b),
  quasi_poisson = list(Days ~ Sex + Age + Eth + Lrn, "quasi-poisson", q),
  quasi_plain = list(Days ~ Sex, "quasi-poisson", q, errors = "robust"),
  probit = list(low, "binomial", b, link = "probit"),
  cloglog = list(low ~ age + smoke, "binomial", b, link = "cloglog"),
  sites = list(low, "binomial", b, site = "fixed"),
  sites_robust = list(age ~ smoke + lwt, "gaussian", b, site = "fixed", errors = "HC1"),
  sites_rates = list(rings ~ sex + whole_weight + offset(log(length)), "poisson", a, site = "fixed"),
  sites_gamma = list(rings ~ shell_weight, "gamma", a, site = "fixed"),
  sites_clusters = list(low ~ age + smoke, "modified-poisson", b, site = "fixed", errors = "cluster", cluster = "age"),
  clusters_factor = list(low ~ age + factor(race), "binomial", b, errors = "cluster", cluster = "age"),
  sampling_factor = list(low ~ factor(race) + smoke, "binomial", b, weights = "lwt", type = "sampling",
    errors = "robust"),
  log_binomial = list(low ~ smoke + ui, "binomial", b, link = "log"))

laws <- list(binomial = binomial, poisson = poisson, gaussian = gaussian, gamma = Gamma,
  "quasi-binomial" = quasibinomial, "quasi-poisson" = quasipoisson, "modified-poisson" = poisson)
links <- c(binomial = "logit", poisson = "log", gaussian = "identity", gamma = "log", "quasi-binomial" = "logit",
  "quasi-poisson" = "log", "modified-poisson" = "log")

number <- function(x) if (is.null(x) || is.na(x)) "null" else sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(sapply(x, number), collapse = ", "), "]")
quoted <- function(x) if (is.null(x)) "null" else paste0("\"", x, "\"")

fitted_case <- function(case) {
  data <- get(sub("\\.csv", "", basename(case[[3]])))
  data$holder <- (seq_len(nrow(data)) - 1) %% 2
  link <- if (is.null(case$link)) links[[case[[2]]]] else case$link
  data$w <- if (is.null(case$weights)) 1 else data[[case$weights]]
  data <- data[data$w > 0, ]
  if (identical(case$type, "frequency")) {
    data <- data[rep(seq_len(nrow(data)), data$w), ]
    data$w <- 1
  }
  # As svyglm: with large weights glm's starting values are next to 0 and 1.
  if (identical(case$type, "sampling")) data$w <- data$w / mean(data$w)
  law <- laws[[case[[2]]]](link)
  formula <- case[[1]]
  if (!is.null(case$site)) formula <- update(formula, . ~ . + factor(holder))
  environment(formula) <- environment()
  fit <- suppressWarnings(glm(formula, law, data, weights = w, control = glm.control(epsilon = 1e-14, maxit = 200)))
  n <- nrow(data)
  p <- length(coef(fit))
  errors <- if (is.null(case$errors)) "model" else case$errors
  sampled <- identical(case$type, "sampling")
  dispersed <- case[[2]] %in% c("gaussian", "gamma", "quasi-binomial", "quasi-poisson")
  df <- if (dispersed) n - p else NA
  groups <- NULL
  if (errors == "model") {
    se <- coef(summary(fit))[, 2]
    covariance <- vcov(fit)
  } else {
    scores <- model.matrix(fit) * (residuals(fit, "working") * fit$weights)
    if (errors == "cluster") {
      scores <- rowsum(scores, paste(data[[case$cluster]], data$holder))
      groups <- nrow(scores)
    }
    bread <- solve(crossprod(model.matrix(fit) * sqrt(fit$weights)))
    factor <- if (errors == "cluster") groups / (groups - 1) else if (sampled) n / (n - 1) else
      if (errors == "HC1") n / (n - p) else 1
    covariance <- factor * bread %*% crossprod(scores) %*% bread
    se <- sqrt(diag(covariance))
    if (sampled) df <- (if (errors == "cluster") groups else n) - p
  }
  # Intercepts of sites do not open.
  kept <- if (is.null(case$site)) rep(TRUE, p) else !grepl("Intercept|holder", names(coef(fit)))
  estimate <- coef(fit)[kept]
  se <- se[kept]
  statistic <- estimate / se
  p_value <- 2 * (if (is.na(df)) pnorm(-abs(statistic)) else pt(-abs(statistic), df))
  width <- se * (if (is.na(df)) qnorm(0.975) else qt(0.975, df))
  whole <- !sampled
  likelihood <- whole && !identical(case$type, "precision") && !grepl("quasi|modified", case[[2]])
  fields <- c(
    formula = quoted(paste(deparse(case[[1]], 200), collapse = "")), family = quoted(case[[2]]),
    link = quoted(link), data = quoted(case[[3]]), errors = quoted(errors),
    weights = quoted(case$weights), weights_type = quoted(case$type), site = quoted(case$site), cluster = quoted(case$cluster),
    rows = number(n), clusters = number(groups), df = number(df),
    estimate = listed(estimate), standard_error = listed(se), p_value = listed(p_value),
    tests = tests_of(fit, estimate, covariance[kept, kept], kept, df),
    lower = listed(estimate - width), upper = listed(estimate + width),
    dispersion = number(if (whole && dispersed) summary(fit)$dispersion),
    deviance = number(if (whole) fit$deviance), null_deviance = number(if (whole) fit$null.deviance),
    aic = number(if (likelihood) fit$aic))
  paste0("    ", "\"", names(fields), "\": ", fields, collapse = ",\n")
}
cat("{\n", paste0("  \"", names(cases), "\": {\n", sapply(cases, fitted_case), "\n  }", collapse = ",\n"), "\n}\n", sep = "")
