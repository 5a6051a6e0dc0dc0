# What all fits have, and fits that are a list of coefficients.

title_of <- function(fit) {
  study <- fit$raw$study
  if (is.null(study)) return(fit$formula)
  if (nzchar(study$title)) study$title else study$name
}

print_head <- function(fit) {
  cat(title_of(fit), "\n", sep = "")
  if (!fit$converged) cat("NOT CONVERGED: these numbers are no estimates.\n")
  if (identical(fit$raw$status, "not-trained")) {
    cat("NOT TRAINED: interruptions took openings that the model was to be made from.\n")
  }
  if (!is.null(fit$formula) && fit$formula != title_of(fit)) cat(fit$formula, "\n", sep = "")
  cat("\n")
}

print_warnings <- function(fit) {
  for (text in fit$warnings) cat("", strwrap(paste("Warning:", text), exdent = 2), sep = "\n")
}

# The tables of the report: of methods that have no table of their own here.
report_tables <- function(raw) {
  tables <- unlist(lapply(raw$document$sections, function(section) section$tables), recursive = FALSE)
  frames <- lapply(tables, function(table) {
    columns <- lapply(seq_along(table$columns), function(i) {
      cells <- lapply(table$rows, function(row) if (is.null(row[[i]])) NA else row[[i]])
      if (length(cells)) unlist(cells) else logical()
    })
    as.data.frame(setNames(columns, unlist(table$columns)), check.names = FALSE, stringsAsFactors = FALSE)
  })
  setNames(frames, vapply(tables, function(table) table$title, ""))
}

fit_table <- function(object, ...) UseMethod("fit_table")

fit_table.partita_fit <- function(object, ...) {
  tables <- report_tables(object$raw)
  if (length(tables) == 1) tables[[1]] else tables
}

print.partita_fit <- function(x, ...) {
  print_head(x)
  # A Table 1 reads better as the report has it.
  tables <- if (inherits(x, "partita_describe")) report_tables(x$raw) else fit_table(x)
  if (is.data.frame(tables)) tables <- list(tables)
  for (name in seq_along(tables)) {
    if (!is.null(names(tables)) && nzchar(names(tables)[name])) cat(names(tables)[name], ":\n", sep = "")
    print(tables[[name]], row.names = FALSE, digits = 4, right = !inherits(x, "partita_describe"), na.print = "")
  }
  print_warnings(x)
  invisible(x)
}

summary.partita_fit <- function(object, ...) structure(class = "summary.partita_fit", list(fit = object))

print.summary.partita_fit <- function(x, ...) {
  fit <- x$fit
  print(fit)
  cat("\nWhat was learned:\n")
  for (party in fit$raw$learned) {
    text <- if (length(party$learns)) unlist(party$learns) else "nothing beyond the plan"
    print_item(paste0(party$party, ": ", paste(text, collapse = "; ")))
  }
  invisible(x)
}

tidy.partita_fit <- function(x, ...) fit_table(x)

glance.partita_fit <- function(x, ...) {
  data.frame(nobs = if (is.null(x$nobs)) NA else x$nobs, converged = x$converged)
}

no_rows_back <- function() {
  not_released("there are no residuals and no fitted values: no row leaves its holder",
               "predict() takes rows of your own")
}

augment.partita_fit <- function(x, newdata = NULL, ...) {
  if (is.null(newdata)) no_rows_back()
  newdata$.fitted <- predict(x, newdata, ...)
  newdata
}
residuals.partita_fit <- function(object, ...) no_rows_back()
fitted.partita_fit <- function(object, ...) no_rows_back()

no_such <- function(object, what) {
  not_released(paste0("a fit of method ", object$method, " has no ", what), "fit_table() and tidy() have what it has")
}
plot.partita_fit <- function(x, ...) no_such(x, "plot")
predict.partita_fit <- function(object, ...) no_such(object, "predictions")

coef.partita_fit <- function(object, ...) {
  if (is.null(object$coefficients)) no_such(object, "coefficients")
  setNames(object$coefficients$estimate, object$coefficients$term)
}

vcov.partita_fit <- function(object, ...) {
  not_released("the covariance matrix of the estimates did not open, only standard errors did",
               paste("a test of several coefficients is a test of a term, or of a nested model, which the study file",
                     "asks for; methods glm, survival (Cox's model) and mixed open the matrix with covariance = TRUE, and",
                     "methods mle, and glm at level aggregates, have it"))
}

nobs.partita_fit <- function(object, ...) {
  if (is.null(object$nobs)) no_such(object, "number of rows")
  object$nobs
}

formula.partita_fit <- function(x, ...) {
  if (is.null(x$formula)) no_such(x, "formula")
  stats::as.formula(x$formula, env = globalenv())
}

# ------------------------------------------------------------------------------------- coefficients

vcov.partita_coefs <- function(object, ...) {
  vcov <- object$body$vcov
  if (is.null(vcov)) NextMethod() else matrix_of(vcov$values, vcov$names)
}

check_level <- function(level) {
  if (!is.numeric(level) || length(level) != 1 || is.na(level) || level <= 0 || level >= 1) {
    refuse("usage", "a level is a number between 0 and 1", "for example level = 0.95")
  }
}

normal_quantile <- function(level) {
  check_level(level)
  qt(1 - (1 - level) / 2, Inf)
}

# Without `level`, or at that of the study, the study's own intervals.
confint.partita_coefs <- function(object, parm, level = object$confidence, ...) {
  table <- object$coefficients
  check_level(level)
  if (!isTRUE(all.equal(level, object$confidence))) {
    half <- qt(1 - (1 - level) / 2, if (is.null(object$df)) Inf else object$df) * table$std.error
    table$conf.low <- table$estimate - half
    table$conf.high <- table$estimate + half
  }
  sides <- c((1 - level) / 2, 1 - (1 - level) / 2)
  limits <- cbind(table$conf.low, table$conf.high)
  dimnames(limits) <- list(table$term, paste(format(100 * sides, trim = TRUE, digits = 3), "%"))
  if (missing(parm)) limits else limits[parm, , drop = FALSE]
}

tidy.partita_coefs <- function(x, conf.int = TRUE, conf.level = x$confidence, exponentiate = FALSE, ...) {
  table <- x$coefficients
  limits <- confint.partita_coefs(x, level = conf.level)
  table$conf.low <- unname(limits[, 1])
  table$conf.high <- unname(limits[, 2])
  if (exponentiate) table[c("estimate", "conf.low", "conf.high")] <- exp(table[c("estimate", "conf.low", "conf.high")])
  if (conf.int) table else table[c("term", "estimate", "std.error", "statistic", "p.value")]
}

coefficient_matrix <- function(fit) {
  table <- fit$coefficients
  letter <- if (is.null(fit$df) || is.infinite(fit$df)) "z" else "t"
  matrix <- as.matrix(table[c("estimate", "std.error", "statistic", "p.value")])
  dimnames(matrix) <- list(table$term,
                           c("Estimate", "Std. Error", paste(letter, "value"), paste0("Pr(>|", letter, "|)")))
  matrix
}

print.partita_coefs <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_head(x)
  cat("Coefficients:\n")
  print(format(coef(x), digits = digits), quote = FALSE)
  if (!is.null(x$nobs)) cat("\n", x$nobs, if (x$method == "meta") " sites\n" else " rows\n", sep = "")
  print_warnings(x)
  invisible(x)
}

summary.partita_coefs <- function(object, ...) structure(class = "summary.partita_coefs", list(fit = object))

print.summary.partita_coefs <- function(x, digits = max(3L, getOption("digits") - 3L),
                                        signif.stars = getOption("show.signif.stars"), ...) {
  fit <- x$fit
  print_head(fit)
  matrix <- coefficient_matrix(fit)
  if (all(is.na(matrix[, 4]))) {
    print(cbind(matrix[, 1:2, drop = FALSE], confint(fit)), digits = digits)
  } else {
    printCoefmat(matrix, digits = digits, signif.stars = signif.stars, na.print = "NA")
  }
  of_ratios <- ratios(fit)
  if (!is.null(of_ratios)) {
    cat("\n")
    print(of_ratios, row.names = FALSE, digits = digits)
  }
  tests <- fit$body$tests
  if (length(tests)) {
    cat("\nTests of terms:\n")
    print(rows_frame(tests, c("term", "columns", "statistic", "p_value")), row.names = FALSE, digits = digits)
  }
  facts <- fit_facts(fit)
  if (length(facts)) {
    cat("\n")
    for (name in names(facts)) cat(name, ": ", format(facts[[name]], digits = digits + 1L), "\n", sep = "")
  }
  print_warnings(fit)
  invisible(x)
}

# exp(estimate) of coefficients that are logarithms of odds, risks, rates or hazards; NULL: none are.
ratios <- function(fit) {
  rows <- Filter(function(row) !is.null(row$ratio), fit$body$coefficients)
  if (identical(fit$method, "meta") && isTRUE(fit$body$ratios)) {
    rows <- list(list(term = fit$body$of, ratio = lapply(fit$body[c("estimate", "lower", "upper")], exp)))
  }
  if (length(rows) == 0) return(NULL)
  frame <- rows_frame(lapply(rows, function(row) c(row["term"], row$ratio)), c("term", "estimate", "lower", "upper"))
  names(frame) <- c("term", "ratio", "conf.low", "conf.high")
  frame
}

fit_facts <- function(fit) {
  body <- fit$body
  keys <- switch(fit$method,
    glm = list("Family" = paste0(body$family, " (link ", body$link, "), errors ", body$errors), "Rows" = body$rows,
               "Events" = body$events, "Clusters" = body$clusters, "Dispersion" = body$fit$dispersion,
               "Null deviance" = body$fit$null_deviance, "Residual deviance" = body$fit$deviance,
               "Residual df" = body$fit$df_residual, "AIC" = body$fit$aic),
    survival = list("Rows" = body$rows, "Events" = body$events, "Ties" = body$ties,
                    "Likelihood ratio test, p" = body$fit$likelihood_ratio$p_value,
                    "Wald test, p" = body$fit$wald$p_value, "Score test, p" = body$fit$score$p_value,
                    "Proportional hazards, p" = body$fit$proportional$all$p_value, "AIC" = body$fit$aic),
    mixed = list("Rows" = body$rows, "Groups" = paste0(body$groups, " (", body$group, ")"),
                 "Variance between groups" = body$between$value, "Variance of slopes" = body$slope$variance$value,
                 "Correlation of slopes" = body$slope$correlation$value, "Residual variance" = body$within$value,
                 "Intraclass correlation" = body$intraclass_correlation$value, "Criterion" = body$criterion,
                 "Log-likelihood" = body$log_likelihood, "AIC" = body$aic, "BIC" = body$bic),
    meta = list("Sites" = body$sites, "tau^2" = body$tau_squared, "Q" = body$q, "p of Q" = body$q_p_value,
                "I^2" = body$i_squared,
                "Another site" = if (!is.null(body$new_site)) {
                  paste(format(c(body$new_site$lower, body$new_site$upper), digits = 4), collapse = " to ")
                }),
    regression = list("Rows" = body$rows, "Estimator" = body$estimator,
                      "Residual standard deviation" = body$residual_stddev),
    list())
  keys[!vapply(keys, is.null, NA)]
}

plot.partita_coefs <- function(x, exponentiate = !is.null(ratios(x)), intercept = FALSE, main = title_of(x), ...) {
  table <- tidy(x)
  table <- table[!is.na(table$estimate) & (intercept | table$term != "(Intercept)"), ]
  draw_intervals(table$term, table$estimate, table$conf.low, table$conf.high, exponentiate, main)
  invisible(x)
}

# One line per term, from above; `ratios` on a logarithmic axis.
draw_intervals <- function(terms, middle, lower, upper, ratios = FALSE, main = "",
                           xlab = if (ratios) "ratio" else "estimate") {
  if (ratios) {
    middle <- exp(middle)
    lower <- exp(lower)
    upper <- exp(upper)
  }
  count <- length(terms)
  old <- par(mar = c(4.5, max(4, 0.55 * max(nchar(terms))), 3, 1))
  on.exit(par(old))
  plot.default(NA, xlim = range(lower, upper, if (ratios) 1 else 0, na.rm = TRUE), ylim = c(count + 0.5, 0.5),
               log = if (ratios) "x" else "", yaxt = "n", ylab = "", xlab = xlab,
               main = paste(strwrap(main, 50), collapse = "\n"))
  abline(v = if (ratios) 1 else 0, lty = 3)
  axis(2, seq_len(count), terms, las = 1)
  segments(lower, seq_len(count), upper, seq_len(count))
  points(middle, seq_len(count), pch = 19)
}
