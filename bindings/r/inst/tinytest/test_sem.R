# lavaan's table, measures and test of nested models; lavaan itself, of the moments that the study released.
fits <- read_result(partita_recorded("mle"))
expect_equal(names(fits), c("free", "equal", "robust", "regression"))
free <- fits$free
table <- parameter_estimates(free, standardized = TRUE)
expect_equal(names(table), c("lhs", "op", "rhs", "est", "se", "z", "pvalue", "ci.lower", "ci.upper", "std.lv", "std.all"))
expect_true("label" %in% names(parameter_estimates(fits$equal)))
expect_equal(sqrt(diag(vcov(free))), setNames(tidy(free, conf.int = FALSE)$std.error[free$parameters$free > 0], names(coef(free))))
expect_equal(unname(confint(free)["visual=~x2", ]), unname(unlist(table[2, c("ci.lower", "ci.upper")])))
expect_equal(unname(confint(free, level = 0.9)[, 1]),
             unname(coef(free) - qnorm(0.95) * sqrt(diag(vcov(free)))))
expect_equal(length(coef(fits$equal)), nrow(vcov(fits$equal)))
expect_equal(as.numeric(logLik(free)), unname(fit_measures(free, "logl")))
expect_equal(BIC(free), unname(fit_measures(free, "bic")))
expect_true("chisq.scaled" %in% names(fit_measures(fits$robust)))
expect_error(anova(free, fits$robust), class = "partita_not_released")
nested <- anova(fits$equal, free)
expect_equal(rownames(nested), c("free", "equal"))
expect_equal(nested[["Chisq diff"]][2], unname(fit_measures(fits$equal, "chisq") - fit_measures(free, "chisq")))
expect_equal(nested[["Df diff"]][2], 1)

narrow <- tidy(free, conf.level = 0.5)
expect_equal(narrow$conf.high, free$parameters$est + qnorm(0.75) * free$parameters$se, tolerance = 1e-12)
expect_error(tidy(free, exponentiate = TRUE), class = "partita_usage")
expect_equal(glance(fits$robust)$chisq, unname(fit_measures(fits$robust, "chisq.scaled")))
expect_equal(glance(free)$chisq, unname(fit_measures(free, "chisq")))
# Models of the same df, or one that fits better with fewer parameters, are not nested.
same <- free
same$measures["chisq"] <- same$measures["chisq"] + 5
expect_equal(anova(free, same)[["Pr(>Chisq)"]], c(NA_real_, NA))
better <- fits$equal
better$measures["chisq"] <- free$measures["chisq"] - 1
expect_equal(anova(free, better)[["Pr(>Chisq)"]], c(NA_real_, NA))
other <- free
other$body$model$observed <- other$body$model$observed[-1]
expect_error(anova(other, free), class = "partita_usage")

# Least squares of a regression: what lm gives from the same moments.
regression <- fits$regression
moments <- regression$body$moments$groups[[1]]
names <- unlist(regression$body$moments$variables)
covariance <- matrix(unlist(moments$covariance), length(names), dimnames = list(names, names))
means <- setNames(unlist(moments$mean), names)
x <- c("x1", "x4", "x7")
slopes <- solve(covariance[x, x], covariance[x, "x9"])
expect_equal(predict(regression, as.data.frame(as.list(means))), unname(means["x9"]), tolerance = 1e-6)
terms <- partita:::rows_frame(regression$body$least_squares[[1]]$terms, c("name", "est"))
expect_equal(terms$est[match(x, terms$name)], unname(slopes), tolerance = 1e-6)
expect_error(predict(free, data.frame(x1 = 1)), class = "partita_not_released")
# Without the intercept there is no mean.
without <- regression
without$body$least_squares[[1]]$terms <- Filter(function(term) term$name != "(Intercept)",
                                                regression$body$least_squares[[1]]$terms)
expect_error(predict(without, as.data.frame(as.list(means))), "no intercept", class = "partita_not_released")
expect_error(augment(without, as.data.frame(as.list(means))), "no intercept", class = "partita_not_released")

if (!requireNamespace("lavaan", quietly = TRUE)) exit_file("lavaan is not installed")
models <- list(
  free = "visual =~ x1 + x2 + x3\n textual =~ x4 + x5 + x6\n speed =~ x7 + x8 + x9",
  equal = "visual =~ x1 + a*x2 + a*x3\n textual =~ x4 + x5 + x6\n speed =~ x7 + x8 + x9")
lavaan_fit <- function(name) {
  of <- fits[[name]]$body$moments
  observed <- unlist(of$variables)
  group <- of$groups[[1]]
  covariance <- matrix(unlist(group$covariance), length(observed), dimnames = list(observed, observed))
  fit_from <- function(start) {
    lavaan::cfa(models[[name]], sample.nobs = group$n, sample.cov.rescale = FALSE, sample.cov = covariance, start = start)
  }
  fit_from(fit_from("default"))  # its optimiser stops early: once more from there
}
for (name in names(models)) {
  fitted <- lavaan_fit(name)
  wanted <- as.data.frame(lavaan::parameterEstimates(fitted, standardized = TRUE))
  wanted <- wanted[wanted$op != "==", ]
  table <- parameter_estimates(fits[[name]], standardized = TRUE)
  table <- table[table$op != "==", ]
  keys <- function(rows) paste(rows$lhs, rows$op, rows$rhs)
  expect_equal(keys(table), keys(wanted), info = name)
  for (column in c("est", "se", "z", "pvalue", "ci.lower", "ci.upper", "std.lv", "std.all")) {
    ours <- table[[column]]
    theirs <- as.numeric(wanted[[column]])
    expect_equal(is.na(ours), is.na(theirs), info = paste(name, column))
    # Absolute, and of z relative above 1: estimates that differ by 1e-7 have z that differ by more.
    expect_true(max(abs(ours - theirs) / pmax(1, abs(theirs)), na.rm = TRUE) < 1e-6, info = paste(name, column))
  }
  measures <- c("chisq", "df", "pvalue", "cfi", "tli", "rmsea", "srmr", "logl", "aic", "bic")
  expect_equal(unname(fit_measures(fits[[name]], measures)), unname(as.numeric(lavaan::fitMeasures(fitted, measures))),
               tolerance = 1e-6)
  expect_equal(names(coef(fits[[name]])), names(lavaan::coef(fitted)))
  expect_true(max(abs(vcov(fits[[name]]) - unclass(lavaan::vcov(fitted)))) < 1e-6)
}
