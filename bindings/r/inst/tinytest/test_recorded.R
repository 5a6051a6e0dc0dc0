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
expect_error(augment(fit), class = "partita_not_released")

# Predictions are the coefficients by the caller's columns.
row <- data.frame(age = 70, sex = "male", smoker = 1, ward = factor("surgery"), days = 5, earlier_stays = 2)
by_hand <- sum(coef(fit)[c("(Intercept)", "sex.male", "smoker", "ward.surgery")]) + 70 * coef(fit)[["age"]] +
  log(5) * coef(fit)[["log(days)"]] + 2 * coef(fit)[["earlier_stays"]] + coef(fit)[[grep(":", names(coef(fit)))]]
expect_equal(predict(fit, row), by_hand)
expect_equal(predict(fit, row, type = "response"), plogis(by_hand))
expect_equal(augment(fit, row)$.fitted, by_hand)
expect_error(predict(fit, row["age"]), "cannot be made", class = "partita_usage")

# An analysis of deviance of a model without some terms.
smaller <- fit
smaller$coefficients <- fit$coefficients[1:5, ]
smaller$body$fit$deviance <- fit$body$fit$deviance + 12
smaller$body$fit$df_residual <- fit$body$fit$df_residual + 4
table <- anova(smaller, fit)
expect_equal(table[["Pr(>Chi)"]][2], pchisq(12, 4, lower.tail = FALSE))
smaller$nobs <- 10
expect_error(anova(smaller, fit), "same rows")

# Survival, mixed, meta.
curves <- fit_table(read_result(partita_recorded("survival")))
expect_equal(names(curves)[1:6], c("strata", "time", "n.risk", "n.event", "n.censor", "estimate"))
expect_equal(unique(curves$strata), c("control", "treated"))
cox <- read_result(partita_recorded("cox"))
expect_equal(as.numeric(logLik(cox)), cox$body$fit$log_likelihood)
mixed <- read_result(partita_recorded("mixed"))
expect_equal(AIC(mixed), mixed$body$aic, tolerance = 1e-3)
expect_error(anova(mixed, mixed), class = "partita_not_released")
meta <- read_result(partita_recorded("meta"))
expect_equal(ratios(meta)$ratio, exp(unname(coef(meta))))
expect_error(predict(meta, data.frame(x = 1)), class = "partita_not_released")

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

# A result survives writing and reading.
copy <- tempfile()
write_result(fit, copy)
expect_equal(read_result(copy)$raw, fit$raw)
