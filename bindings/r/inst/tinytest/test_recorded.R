# Every recorded result reads, prints, summarises and has a table; the classes are those of the manual.
recorded <- setdiff(partita_recorded(), c("plan", "error"))
expect_true(length(recorded) >= 12)
fits <- unlist(lapply(recorded, function(name) {
  result <- suppressWarnings(read_result(partita_recorded(name)))
  if (inherits(result, "partita_fit")) list(result) else unclass(result)
}), recursive = FALSE)
classes <- vapply(fits, function(fit) class(fit)[1], "")
expect_true(setequal(classes, paste0("partita_", c("sem", "glm", "curves", "coxph", "mixed", "meta", "describe", "mcmc",
                                                   "classify", "mixture", "marginals", "sums"))))
for (fit in fits) {
  expect_stdout(print(fit))
  expect_stdout(print(summary(fit)))
  expect_true(is.data.frame(tidy(fit)), info = fit$method)
  expect_true(nrow(tidy(fit)) > 0, info = fit$method)
  expect_equal(nrow(glance(fit)), 1)
  expect_error(residuals(fit), class = "partita_not_released")
}

# broom's names and columns.
fit <- read_result(partita_recorded("glm"))
expect_equal(names(tidy(fit)), c("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high"))
expect_equal(names(glance(fit))[1:8],
             c("null.deviance", "df.null", "logLik", "AIC", "BIC", "deviance", "df.residual", "nobs"))
expect_equal(coef(fit), setNames(tidy(fit)$estimate, tidy(fit)$term))
expect_equal(tidy(fit, exponentiate = TRUE)$estimate, exp(unname(coef(fit))))

# The study's intervals are the normal ones that another level gives, up to their grid.
own <- confint(fit)
wald <- cbind(coef(fit) - qnorm(0.975) * tidy(fit)$std.error, coef(fit) + qnorm(0.975) * tidy(fit)$std.error)
expect_equal(unname(own), unname(wald), tolerance = 1e-6)
expect_true(all(confint(fit, level = 0.8)[, 1] > own[, 1]))
expect_equal(dimnames(confint(fit, "age")), list("age", c("2.5 %", "97.5 %")))
expect_equal(ratios(fit)$ratio, exp(unname(coef(fit)[ratios(fit)$term])), tolerance = 1e-6)
expect_equal(AIC(fit), glance(fit)$AIC)
expect_equal(attr(logLik(fit), "df"), length(coef(fit)), tolerance = 1e-6)
expect_equal(rownames(anova(fit)), "ward")
expect_error(vcov(fit), class = "partita_not_released")
# Level aggregates has the covariance.
all_of_it <- read_result(partita_recorded("glm-aggregates"))
expect_equal(dimnames(vcov(all_of_it)), list(names(coef(all_of_it)), names(coef(all_of_it))))
expect_equal(unname(sqrt(diag(vcov(all_of_it)))), tidy(all_of_it)$std.error, tolerance = 1e-6)
at_50 <- data.frame(age = 50, sex = "male", smoker = 0, ward = "surgery", days = 1, earlier_stays = 0)
of_50 <- predict(all_of_it, at_50, se.fit = TRUE)
columns <- c("(Intercept)", "age", "sex.male", "ward.surgery")
expect_equal(of_50$se.fit, sqrt(sum(outer(c(1, 50, 1, 1), c(1, 50, 1, 1)) * vcov(all_of_it)[columns, columns])))
expect_equal(predict(all_of_it, at_50, "response", se.fit = TRUE)$se.fit, of_50$se.fit * dlogis(of_50$fit))
expect_error(predict(fit, at_50, se.fit = TRUE), class = "partita_not_released")
expect_error(augment(fit), class = "partita_not_released")

# Predictions are the coefficients by the caller's columns.
row <- data.frame(age = 70, sex = "male", smoker = 1, ward = factor("surgery"), days = 5, earlier_stays = 2)
by_hand <- sum(coef(fit)[c("(Intercept)", "sex.male", "smoker", "ward.surgery")]) + 70 * coef(fit)[["age"]] +
  log(5) * coef(fit)[["log(days)"]] + 2 * coef(fit)[["earlier_stays"]] + coef(fit)[[grep(":", names(coef(fit)))]]
expect_equal(predict(fit, row), by_hand)
expect_identical(predict(fit, row[0, ]), numeric())
expect_equal(predict(fit, row, type = "response"), plogis(by_hand))
expect_equal(augment(fit, row)$.fitted, by_hand)
expect_error(predict(fit, row["age"]), "cannot be made", class = "partita_usage")

# Intercepts that institutions keep are in no prediction.
of_sites <- fit
of_sites$body$sites <- 3
of_sites$coefficients <- fit$coefficients[-1, ]
expect_error(predict(of_sites, row), "no intercept", class = "partita_not_released")
expect_error(predict(of_sites, row, type = "response"), "no intercept", class = "partita_not_released")

# Levels as the result says that they are coded; a reference that the caller names is that one, or refused.
female <- transform(row, sex = "female")
expect_equal(predict(fit, female), by_hand - coef(fit)[["sex.male"]] - coef(fit)[["sex.male:smoker"]])
expect_equal(predict(fit, female, reference = c(sex = "female")), predict(fit, female))
expect_equal(augment(fit, female)$.fitted, predict(fit, female))
expect_error(predict(fit, transform(row, sex = "Male")), "no level Male; there are: female, male", class = "partita_usage")
expect_error(predict(fit, row, reference = c(sex = "male")), "not the reference", class = "partita_usage")
expect_error(predict(fit, row, reference = c(gender = "male")), class = "partita_usage")
expect_error(predict(fit, row, reference = c(smoker = 0)), "no factor", class = "partita_usage")
expect_equal(predict(fit, cbind(row[names(row) != "sex"], sex.male = 0)), predict(fit, female))
expect_equal(is.na(predict(fit, rbind(row, transform(row, ward = NA)))), c(FALSE, TRUE))
of <- function(terms, rows, ...) partita:::linear_predictor(terms, rep(1, length(terms)), rows, ...)
expect_equal(of("g.not_known", data.frame(g = c("not known", NA))), c(1, NA))
expect_equal(of("g.gr_n", data.frame(g = "gr\u00fcn")), 1)
expect_error(of("g.a_b", data.frame(g = c("a b", "a-b"))), "same column", class = "partita_usage")
expect_equal(of(c("factor(k).2", "factor(k).3"), data.frame(k = c(3, 1)), reference = c(k = 1)), c(1, 0))
# "L" is a level of a size, or a slope of an ordered one.
expect_error(of(c("size.L", "size.Q"), data.frame(size = "L")), "polynomials", class = "partita_not_released")
expect_error(of(c("x.1", "x.2"), data.frame(x = 2)), "polynomials", class = "partita_not_released")
expect_equal(of(c("x.1", "x.2"), data.frame(x = "2")), 1)

# Of other contrasts than treatment a row has values in all columns; scores have the name of their variable.
codings <- list(
  list(name = "g", variable = "g", contrasts = "sum", levels = list("a", "b", "c"), reference = NULL,
       columns = list(list(name = "g.a", values = list(1, 0, -1)), list(name = "g.b", values = list(0, 1, -1)))),
  list(name = "stage", variable = "stage", contrasts = "scores", levels = list("0", "1", "2"), reference = NULL,
       columns = list(list(name = "stage", values = list(1, 2, 3)))),
  list(name = "factor(k)", variable = "k", contrasts = "treatment", levels = list("1", "2"), reference = "1",
       columns = list(list(name = "factor(k).2", values = list(0, 1)))))
rows <- data.frame(g = c("a", "c", NA), stage = c(0, 2, 1), k = c(2, 1, 1))
coded <- function(terms, ...) partita:::design_matrix(terms, rows, factors = codings, ...)
expect_equal(coded(c("g.a", "g.b")), cbind(c(1, -1, NA), c(0, -1, NA)))
expect_equal(coded(c("stage", "factor(k).2", "stage:factor(k).2")), cbind(c(1, 3, 2), c(1, 0, 0), c(1, 0, 0)))
expect_error(coded("g.a", reference = c(g = "a")), "no reference: its contrasts are sum", class = "partita_usage")
expect_error(coded("factor(k).2", reference = c(k = 2)), "not the reference", class = "partita_usage")
# Columns that no factor has are no levels, whatever they are called.
expect_error(coded("g.x"), "cannot be made", class = "partita_usage")

# A covariance matrix that opened rounded: what R computes of the pooled rows (tests/references/glm/covariance.R), to what
# the grid allows, estimates being within 2^-7 standard errors.
expect_error(vcov(fit), "covariance = TRUE", class = "partita_not_released")
asked <- read_result(partita_recorded("glm-covariance"))
expect_equal(sqrt(diag(vcov(asked))), setNames(asked$coefficients$std.error, asked$coefficients$term), tolerance = 1e-12)
expect_equal(vcov(asked), t(vcov(asked)), tolerance = 1e-14)
rows <- data.frame(age = c(70, 40), sex = c("female", "male"), smoker = c(1, 0), ward = c("surgery", "medicine"),
                   days = c(5, 12), earlier_stays = c(2, 0))
expect_equal(predict(asked, rows, se.fit = TRUE)$se.fit, c(0.23183637113446, 0.197066426839644), tolerance = 0.02)
expect_equal(predict(asked, rows, "response", se.fit = TRUE)$se.fit, c(0.0503839847445545, 0.0319452865727741), tolerance = 0.02)
equal <- rbind(c(0, 0, 0, 0, 1, -1, 0, 0, 0), c(0, 0, 1, -1, 0, 0, 0, 0, 0))
test <- wald_test(asked, equal)
expect_equal(test$Chisq, 33.6381909879822, tolerance = 0.03)
expect_equal(test$Df, 2)
# Of a term the statistic that opened, which is on a grid of 2^-6.
expect_equal(wald_test(asked, c("ward.surgery", "ward.cardiology"))$Chisq, anova(asked)["ward", "Chisq"], tolerance = 0.01)
expect_equal(wald_test(asked, "smoker")$`Pr(>Chisq)`, tidy(asked)$p.value[4], tolerance = 1e-9)
expect_equal(wald_test(asked, "smoker", rhs = coef(asked)[["smoker"]])$Chisq, 0)
expect_error(wald_test(asked, "nobody"), "there are: \\(Intercept\\), age", class = "partita_usage")
expect_error(wald_test(asked, c(1, 2)), "9 columns", class = "partita_usage")
expect_error(wald_test(asked, equal[c(1, 1), ]), "follows from the others", class = "partita_not_released")
expect_error(wald_test(fit, "smoker"), class = "partita_not_released")
# Of a variance that rounding may be all of there is none.
coarse <- asked
coarse$body$vcov$steps <- as.list(rep(1, 9))
expect_warning(errors <- predict(coarse, rows, se.fit = TRUE)$se.fit, "opened rounded")
expect_identical(errors, c(NA_real_, NA_real_))

# Numbers are numbers.
for (wrong in list(factor("1", levels = c("0", "1")), "1", as.difftime(1, units = "days"))) {
  other <- row
  other$smoker <- wrong
  expect_error(predict(fit, other), "as a number", class = "partita_usage")
}
other <- row
other$smoker <- matrix(1, 1, 2)
expect_error(predict(fit, other), class = "partita_usage")
expect_error(predict(fit, as.list(row)), class = "partita_usage")

# An analysis of deviance of a model without some terms.
smaller <- fit
smaller$coefficients <- fit$coefficients[1:5, ]
smaller$body$fit$deviance <- fit$body$fit$deviance + 12
smaller$body$fit$df_residual <- fit$body$fit$df_residual + 4
table <- anova(smaller, fit)
expect_equal(table[["Pr(>Chi)"]][2], pchisq(12, 4, lower.tail = FALSE))
# None without a coefficient more, or where the larger model fits worse: the convention of stats::anova.
expect_equal(anova(fit, fit)[["Pr(>Chi)"]], c(NA_real_, NA))
worse <- fit
worse$body$fit$deviance <- smaller$body$fit$deviance + 1
expect_equal(anova(smaller, worse)[["Pr(>Chi)"]], c(NA_real_, NA))
expect_error(confint(fit, level = 95), class = "partita_usage")
with_body <- function(fit, ...) {
  fit$body <- utils::modifyList(fit$body, list(...))
  fit
}
for (changed in list(list(family = "modified-poisson"), list(errors = "robust"), list(errors = "cluster"),
                     list(ridge = 0.01), list(firth = TRUE), list(family = "quasi-poisson"))) {
  expect_error(anova(do.call(with_body, c(list(smaller), changed)), do.call(with_body, c(list(fit), changed))),
               class = "partita_not_released", info = names(changed))
}
for (changed in list(list(family = "poisson"), list(link = "probit"), list(weights = "frequency"))) {
  expect_error(anova(do.call(with_body, c(list(smaller), changed)), fit), "differ", class = "partita_usage")
}
renamed <- smaller
renamed$formula <- sub("readmitted", "died", renamed$formula)
expect_error(anova(renamed, fit), "differ", class = "partita_usage")

# Negative binomial models have a theta each: the test is of log-likelihoods (here of MASS::glm.nb, quine).
nb <- function(log_likelihood, deviance, df, parameters) {
  new <- fit
  new$body$family <- "negative-binomial"
  new$body$fit <- list(log_likelihood = log_likelihood, deviance = deviance, df_residual = df,
                       aic = 2 * parameters - 2 * log_likelihood)
  new
}
table <- anova(nb(-553.4, 168.0, 144, 3), nb(-546.6, 167.9, 139, 8))
expect_equal(table[["Chisq"]][2], 13.6)
expect_equal(table[["Pr(>|Chi|)"]][2], pchisq(13.6, 5, lower.tail = FALSE))
expect_equal(anova(nb(-546.6, 168.0, 144, 3), nb(-553.4, 167.9, 139, 8))[["Pr(>|Chi|)"]], c(NA_real_, NA))
expect_equal(anova(nb(-553.4, 168.0, 144, 3), nb(-546.6, 167.9, 144, 3))[["Pr(>|Chi|)"]], c(NA_real_, NA))
smaller$nobs <- 10
expect_error(anova(smaller, fit), "same rows")

# Survival, mixed, meta.
curves <- fit_table(read_result(partita_recorded("survival")))
expect_equal(names(curves)[1:6], c("strata", "time", "n.after", "n.event", "n.censor", "estimate"))
expect_equal(unique(curves$strata), c("control", "treated"))
cox <- read_result(partita_recorded("cox"))
expect_equal(as.numeric(logLik(cox)), cox$body$fit$log_likelihood)
mixed <- read_result(partita_recorded("mixed"))
expect_equal(AIC(mixed), mixed$body$aic, tolerance = 1e-8)
expect_error(anova(mixed, mixed), class = "partita_not_released")
# Covariance matrices of Cox's and mixed models: what R computes of the pooled rows (tests/references/survival/covariance.R,
# mixed/covariance.R), to what the grid allows, estimates being within 2^-6 standard errors.
for (plain in list(cox, mixed)) expect_error(vcov(plain), "covariance = TRUE", class = "partita_not_released")
of_cox <- read_result(partita_recorded("cox-covariance"))
expect_equal(sqrt(diag(vcov(of_cox))), setNames(of_cox$coefficients$std.error, of_cox$coefficients$term), tolerance = 1e-12)
patients <- data.frame(arm = c("treated", "control"), age = c(70, 55), sex = c("female", "male"), stage = c("II", "III"))
expect_equal(predict(of_cox, patients, se.fit = TRUE)$se.fit, c(0.347813100892471, 0.286876515775621), tolerance = 0.02)
expect_equal(predict(of_cox, patients, se.fit = TRUE)$fit, predict(of_cox, patients))
expect_error(predict(cox, patients, se.fit = TRUE), class = "partita_not_released")
expect_equal(wald_test(of_cox, rbind(c(1, 0, 0, 0, 0), c(0, 0, 0, 1, -1)))$Chisq, 59.3000839853942, tolerance = 0.02)
of_mixed <- read_result(partita_recorded("mixed-covariance"))
expect_equal(dimnames(vcov(of_mixed)), list(names(coef(of_mixed)), names(coef(of_mixed))))
wards <- data.frame(age = c(70, 45), therapy = c("new", "usual"), severity = c("severe", "moderate"))
expect_equal(predict(of_mixed, wards, se.fit = TRUE)$se.fit, c(0.9419142498, 0.909066391649), tolerance = 0.001)
expect_equal(wald_test(of_mixed, c("severity.moderate", "severity.severe"))$Chisq, 270.415453187, tolerance = 0.004)
meta <- read_result(partita_recorded("meta"))
expect_equal(ratios(meta)$ratio, exp(unname(coef(meta))))
expect_error(predict(meta, data.frame(x = 1)), class = "partita_not_released")
meta$body["tau_squared"] <- list(NULL)
expect_true(is.na(glance(meta)$tau.squared))
expect_error(anova(with_body(cox, ties = "breslow"), cox), class = "partita_usage")
for (fits in list(list(with_body(cox, errors = "robust"), cox), list(cox, with_body(cox, errors = "robust")))) {
  expect_error(do.call(anova, fits), "robust", class = "partita_not_released")
}

# A row of one missing cell is a row, also the last one.
one_column <- tempfile()
partita:::write_table(data.frame(x = c(NA, 1, NA)), one_column)
expect_equal(readLines(one_column), c("x", "\"\"", "1", "\"\""))

# A run that nobody looks at comes to its end: what it prints is more than any pipe holds.
folder <- tempfile()
dir.create(folder)
talker <- file.path(folder, "talker")
writeLines(c("#!/bin/sh", "i=0", "while [ $i -lt 20000 ]; do i=$((i + 1))",
             "echo '{\"phase\": \"p\", \"done\": 0, \"total\": 1, \"seconds\": 0}' >&2; done", "echo remark >&2",
             "echo '{\"schema_version\": 1, \"status\": \"error\", \"error_code\": \"timeout\",'",
             "echo '\"message\": \"gr\u00fcn\", \"hint\": \"\"}'", "exit 9"), talker, useBytes = TRUE)
Sys.chmod(talker, "0700")
study <- file.path(folder, "study.toml")
writeLines("name = \"s\"", study)
kept <- options(partita.path = talker)
handle <- partita_run(read_study(study), folder, wait = FALSE)
handle$process$wait(30000)
expect_false(handle$process$is_alive())
expect_false(partita_status(handle)$running)
expect_equal(partita_status(handle)$phase, "p")
expect_equal(handle$state$remarks, "remark")
error <- tryCatch(partita_wait(handle), partita_timeout = identity)
expect_equal(conditionMessage(error), "gr\u00fcn")
expect_equal(error$exit_code, 9)
expect_false(partita_status(handle)$running)
expect_false(dir.exists(handle$folder))
options(kept)

# Curves that are withheld are an empty table; a model that was not trained says so first.
withheld <- read_result(partita_recorded("survival"))
withheld$body$curves <- lapply(withheld$body$curves, function(curve) replace(curve, "withheld", TRUE))
expect_equal(c(nrow(fit_table(withheld)), ncol(fit_table(withheld))), c(0, ncol(curves)))
expect_error(plot(withheld), class = "partita_not_released")
mixture <- read_result(partita_recorded("mixture"))
mixture$raw$status <- "not-trained"
expect_stdout(print(mixture), "NOT TRAINED")

table <- fit_table(read_result(partita_recorded("describe")))
expect_true(all(c("control", "treated", "all") %in% table$group))
expect_true(all(table$count[!is.na(table$count)] >= 0))

# Plots are drawn.
file <- tempfile(fileext = ".pdf")
grDevices::pdf(file)
for (name in c("glm", "cox", "mixed", "meta", "survival", "mcmc")) plot(suppressWarnings(read_result(partita_recorded(name))))
plot(read_result(partita_recorded("mle"))$free)
invisible(grDevices::dev.off())
expect_true(file.size(file) > 5000)

# Classifiers score rows with their own columns.
classifier <- read_result(partita_recorded("classify"))
rows <- as.data.frame(setNames(rep(list(c(0.5, 1)), nrow(coef(classifier))), rownames(coef(classifier))), check.names = FALSE)
rows[["(Intercept)"]] <- NULL
expect_equal(dim(predict(classifier, rows)), c(2L, ncol(coef(classifier))))

# A result survives writing and reading, and is its owner's only.
copy <- tempfile()
writeLines("", copy)
Sys.chmod(copy, "0644", use_umask = FALSE)
for (name in setdiff(recorded, "sums")) {
  result <- suppressWarnings(read_result(partita_recorded(name)))
  write_result(result, copy)
  expect_identical(partita:::raw_of(suppressWarnings(read_result(copy))), partita:::raw_of(result), info = name)
}
expect_equal(format(file.info(copy)$mode), "600")
for (text in c("3", "[]", "{\"a\": 1}", "[{\"a\": 1}]")) {
  writeLines(text, copy)
  expect_error(read_result(copy), class = "partita_program")
}
