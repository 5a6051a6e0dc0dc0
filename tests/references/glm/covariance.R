# Writes covariance.json: covariance matrices of the estimates of R's glm on tables of tests/tables and on the
# pooled rows of examples/readmission, of the model and of sandwiches, with what is computed from them: standard
# errors of predictions (predict(se.fit = TRUE)) and Wald's test of a linear hypothesis (as car::linearHypothesis).
# Clusters lie within holders: row r is at holder (r - 1) %% 2.
# Rscript tests/references/glm/covariance.R > tests/references/glm/covariance.json
read <- function(name) read.csv(file.path("tests/tables", name), stringsAsFactors = TRUE)
readmission <- do.call(rbind, lapply(c("north", "south", "west"), function(clinic) {
  read.csv(file.path("examples/readmission", clinic, "data.csv"), na.strings = c("NA", ""), stringsAsFactors = FALSE)
}))
readmission$sex <- factor(readmission$sex, c("female", "male"))
readmission$ward <- factor(readmission$ward, c("medicine", "surgery", "cardiology"))
tables <- list("gpl/birthwt.csv" = read("gpl/birthwt.csv"), "gpl/quine.csv" = read("gpl/quine.csv"),
               "abalone.csv" = read("abalone.csv"), readmission = readmission)

cases <- list(
  binomial = list(low ~ age + smoke, "binomial", "gpl/birthwt.csv"),
  poisson = list(Days ~ Sex + Eth + Lrn, "poisson", "gpl/quine.csv"),
  quasi_poisson = list(Days ~ Sex + Eth, "quasi-poisson", "gpl/quine.csv"),
  gaussian = list(rings ~ sex + length, "gaussian", "abalone.csv"),
  interaction = list(rings ~ sex * length, "gaussian", "abalone.csv"),
  gamma = list(rings ~ sex + shell_weight, "gamma", "abalone.csv"),
  robust = list(low ~ age + smoke, "binomial", "gpl/birthwt.csv", errors = "robust"),
  adjusted = list(rings ~ sex + length, "gaussian", "abalone.csv", errors = "HC1"),
  clusters = list(lwt ~ smoke + age, "gaussian", "gpl/birthwt.csv", errors = "cluster", cluster = "age"),
  readmission = list(readmitted ~ age + sex * smoker + ward + log(days) + earlier_stays, "binomial", "readmission",
    rows = data.frame(age = c(70, 40), sex = factor(c("female", "male"), c("female", "male")), smoker = c(1, 0),
                      ward = factor(c("surgery", "medicine"), c("medicine", "surgery", "cardiology")),
                      days = c(5, 12), earlier_stays = c(2, 0)),
    hypothesis = list(c("ward.surgery", "ward.cardiology"), c("sex.male", "smoker"))))

laws <- list(binomial = binomial(), poisson = poisson(), gaussian = gaussian(), gamma = Gamma("log"),
             "quasi-poisson" = quasipoisson())
listed <- function(x) paste0("[", paste(sprintf("%.15g", x), collapse = ", "), "]")
matrix_text <- function(m) paste0("[", paste(apply(m, 1, listed), collapse = ", "), "]")
quoted <- function(x) paste0("[", paste0("\"", x, "\"", collapse = ", "), "]")

fitted_case <- function(case) {
  data <- tables[[case[[3]]]]
  data <- data[stats::complete.cases(data[all.vars(case[[1]])]), ]
  fit <- glm(case[[1]], laws[[case[[2]]]], data, control = glm.control(epsilon = 1e-14, maxit = 200))
  n <- nrow(data)
  p <- length(coef(fit))
  errors <- if (is.null(case$errors)) "model" else case$errors
  covariance <- vcov(fit)
  if (errors != "model") {
    scores <- model.matrix(fit) * (residuals(fit, "working") * fit$weights)
    small <- if (errors == "HC1") n / (n - p) else 1
    if (errors == "cluster") {
      scores <- rowsum(scores, paste(data[[case$cluster]], (seq_len(n) - 1) %% 2))
      small <- nrow(scores) / (nrow(scores) - 1)
    }
    bread <- solve(crossprod(model.matrix(fit) * sqrt(fit$weights)))
    covariance <- small * bread %*% crossprod(scores) %*% bread
  }
  text <- sprintf("\"data\": \"%s\", \"family\": \"%s\", \"formula\": \"%s\", \"errors\": \"%s\"", case[[3]], case[[2]],
                  paste(deparse(case[[1]], width.cutoff = 500), collapse = ""), errors)
  if (!is.null(case$cluster)) text <- paste0(text, sprintf(", \"cluster\": \"%s\"", case$cluster))
  text <- paste0(text, sprintf(", \"rows\": %d, \"terms\": %s, \"estimate\": %s, \"vcov\": %s", n,
                               quoted(sub("^(sex|ward|Sex|Eth|Lrn)(?=[A-Za-z])", "\\1.", names(coef(fit)), perl = TRUE)),
                               listed(coef(fit)), matrix_text(covariance)))
  if (!is.null(case$rows)) {
    link <- predict(fit, case$rows, se.fit = TRUE)
    response <- predict(fit, case$rows, "response", se.fit = TRUE)
    text <- paste0(text, sprintf(", \"link\": %s, \"link_se\": %s, \"response\": %s, \"response_se\": %s",
                                 listed(link$fit), listed(link$se.fit), listed(response$fit), listed(response$se.fit)))
  }
  if (!is.null(case$hypothesis)) {
    # That each two are equal.
    names <- sub("^(sex|ward)(?=[A-Za-z])", "\\1.", names(coef(fit)), perl = TRUE)
    difference <- t(sapply(case$hypothesis, function(two) (names == two[1]) - (names == two[2])))
    value <- difference %*% coef(fit)
    statistic <- drop(t(value) %*% solve(difference %*% covariance %*% t(difference), value))
    text <- paste0(text, sprintf(", \"hypothesis\": %s, \"statistic\": %.15g, \"p_value\": %.15g", matrix_text(difference),
                                 statistic, pchisq(statistic, nrow(difference), lower.tail = FALSE)))
  }
  paste0("{", text, "}")
}

cat("{\n", paste(sprintf("  \"%s\": %s", names(cases), sapply(cases, fitted_case)), collapse = ",\n"), "\n}\n", sep = "")
