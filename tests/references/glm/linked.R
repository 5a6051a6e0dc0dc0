# Writes linked.json: regressions of the joined table of examples/linked_outcomes, for tests/methods/glm: R's glm; with
# a ridge, by penalised scoring written here as in ridge.R; and with a column in the place of sampling weights, as
# survey::svyglm over svydesign(ids = ~1), the sandwich from scores. Incomplete rows are left out.
# Rscript tests/references/glm/linked.R > tests/references/glm/linked.json
source("tests/references/glm/tests_of.R")
read <- function(party) read.csv(file.path("examples/linked_outcomes", party, "data.csv"), stringsAsFactors = TRUE)
persons <- merge(read("clinic"), read("office"), by = "id")
persons <- persons[complete.cases(persons), ]
formula <- readmitted ~ age + sex + smoker * income + education
scale <- c(age = 100, income = 150, "smoker:income" = 150)
cases <- list(model = list(formula), ridge = list(formula, ridge = 0.01), sampling = list(formula, weights = "income"))

number <- function(x) if (is.null(x) || is.na(x)) "null" else sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(sapply(x, number), collapse = ", "), "]")
quoted <- function(x) if (is.null(x)) "null" else paste0("\"", x, "\"")

fitted_case <- function(case) {
  data <- persons
  data$w <- 1
  if (!is.null(case$weights)) {
    data$w <- data[[case$weights]] / mean(data[[case$weights]])
    data <- data[data$w > 0, ]
  }
  law <- binomial()
  x <- model.matrix(case[[1]], data)
  y <- data$readmitted
  n <- nrow(x)
  p <- ncol(x)
  penalty <- setNames(rep(if (is.null(case$ridge)) 0 else n * case$ridge, p), colnames(x))
  s <- setNames(rep(1, p), colnames(x))
  s[names(scale)[names(scale) %in% names(s)]] <- scale[names(scale) %in% names(s)]
  penalty <- penalty * s^2
  penalty["(Intercept)"] <- 0
  beta <- setNames(rep(0, p), colnames(x))
  for (step in 1:100) {
    mu <- plogis(drop(x %*% beta))
    v <- data$w * mu * (1 - mu)
    beta <- beta + drop(solve(crossprod(x, x * v) + diag(penalty), crossprod(x, data$w * (y - mu)) - penalty * beta))
  }
  mu <- plogis(drop(x %*% beta))
  covariance <- solve(crossprod(x, x * (data$w * mu * (1 - mu))) + diag(penalty))
  df <- NA
  if (!is.null(case$weights)) {
    covariance <- n / (n - 1) * covariance %*% crossprod(x * (data$w * (y - mu))) %*% covariance
    df <- n - p
  }
  se <- sqrt(diag(covariance))
  statistic <- beta / se
  fit <- list(x = x, terms = terms(case[[1]], data = data))
  deviance <- sum(law$dev.resids(y, mu, rep(1, n)))
  fields <- c(
    formula = quoted(paste(deparse(case[[1]], 200), collapse = "")), family = quoted("binomial"),
    ridge = number(case$ridge), weights = quoted(case$weights), rows = number(n), df = number(df), estimate = listed(beta),
    standard_error = listed(se), p_value = listed(2 * (if (is.na(df)) pnorm(-abs(statistic)) else pt(-abs(statistic), df))),
    tests = tests_of(fit, beta, covariance, rep(TRUE, p), df),
    deviance = number(if (is.null(case$weights)) deviance),
    aic = number(if (is.null(case$weights) && is.null(case$ridge)) deviance + 2 * p))
  paste0("    ", "\"", names(fields), "\": ", fields, collapse = ",\n")
}
cat("{\n", paste0("  \"", names(cases), "\": {\n", sapply(cases, fitted_case), "\n  }", collapse = ",\n"), "\n}\n", sep = "")
