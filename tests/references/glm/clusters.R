# Writes clusters.json: R's glm with errors of clusters that lie across holders, as where columns are split, on
# tables of tests/tables, for tests/methods/glm. Sandwiches are computed here from scores, as
# sandwich::vcovCL(fit, cluster, type = "HC0") has them, with G / (G - 1); sampling weights as survey::svyglm over
# svydesign(ids = ~cluster).
# Rscript tests/references/glm/clusters.R > tests/references/glm/clusters.json
source("tests/references/glm/tests_of.R")
read <- function(name) read.csv(file.path("tests/tables", name), stringsAsFactors = TRUE)
tables <- list("gpl/birthwt.csv" = read("gpl/birthwt.csv"), "abalone.csv" = read("abalone.csv"))

b <- "gpl/birthwt.csv"
a <- "abalone.csv"
cases <- list(
  logistic = list(low ~ age + smoke + ht, "binomial", b, cluster = "age"),
  logistic_factor = list(low ~ lwt + factor(race), "binomial", b, cluster = "age"),
  gaussian = list(lwt ~ smoke + ht, "gaussian", b, cluster = "age"),
  gaussian_many = list(length ~ sex + shell_weight, "gaussian", a, cluster = "rings"),
  counts = list(ftv ~ smoke + lwt, "poisson", b, cluster = "age"),
  risks = list(low ~ smoke + age, "modified-poisson", b, cluster = "age"),
  gamma = list(lwt ~ smoke + age, "gamma", b, cluster = "age"),
  sampling = list(low ~ smoke + ht, "binomial", b, weights = "lwt", cluster = "age"))

laws <- list(binomial = binomial("logit"), poisson = poisson("log"), gaussian = gaussian("identity"),
  gamma = Gamma("log"), "modified-poisson" = poisson("log"))

number <- function(x) if (is.null(x) || is.na(x)) "null" else sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(sapply(x, number), collapse = ", "), "]")
quoted <- function(x) if (is.null(x)) "null" else paste0("\"", x, "\"")

fitted_case <- function(case) {
  data <- tables[[case[[3]]]]
  sampled <- !is.null(case$weights)
  data$w <- if (sampled) data[[case$weights]] / mean(data[[case$weights]]) else 1
  formula <- case[[1]]
  environment(formula) <- environment()
  fit <- suppressWarnings(glm(formula, laws[[case[[2]]]], data, weights = w,
    control = glm.control(epsilon = 1e-14, maxit = 200)))
  n <- nrow(data)
  p <- length(coef(fit))
  scores <- rowsum(model.matrix(fit) * (residuals(fit, "working") * fit$weights), data[[case$cluster]])
  groups <- nrow(scores)
  bread <- solve(crossprod(model.matrix(fit) * sqrt(fit$weights)))
  covariance <- groups / (groups - 1) * bread %*% crossprod(scores) %*% bread
  dispersed <- case[[2]] %in% c("gaussian", "gamma")
  df <- if (sampled) groups - p else if (dispersed) n - p else NA
  likelihood <- !sampled && case[[2]] != "modified-poisson"
  fields <- c(
    formula = quoted(paste(deparse(case[[1]], 200), collapse = "")), family = quoted(case[[2]]),
    data = quoted(case[[3]]), errors = quoted("cluster"), weights = quoted(case$weights),
    weights_type = quoted(if (sampled) "sampling"), cluster = quoted(case$cluster),
    rows = number(n), clusters = number(groups), df = number(df),
    estimate = listed(coef(fit)), standard_error = listed(sqrt(diag(covariance))),
    tests = tests_of(fit, coef(fit), covariance, rep(TRUE, p), df),
    dispersion = number(if (!sampled && dispersed) summary(fit)$dispersion),
    deviance = number(if (!sampled) fit$deviance), aic = number(if (likelihood) fit$aic))
  paste0("    ", "\"", names(fields), "\": ", fields, collapse = ",\n")
}
cat("{\n", paste0("  \"", names(cases), "\": {\n", sapply(cases, fitted_case), "\n  }", collapse = ",\n"), "\n}\n", sep = "")
