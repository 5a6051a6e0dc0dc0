# Fits of method mle, with lavaan's names. `coefficients` are the free parameters.

parameter_estimates <- function(fit, standardized = FALSE) {
  if (!inherits(fit, "partita_sem")) no_such(fit, "table of parameters")
  table <- fit$parameters
  columns <- c("lhs", "op", "rhs", if (any(table$group > 1)) "group", if (any(nzchar(table$label))) "label",
               "est", "se", "z", "pvalue", "ci.lower", "ci.upper", if (standardized) c("std.lv", "std.all"))
  table[columns]
}

fit_measures <- function(fit, names = NULL) {
  if (!inherits(fit, "partita_sem")) no_such(fit, "fit measures")
  if (is.null(names)) fit$measures else fit$measures[names]
}

measure <- function(fit, name) unname(fit$measures[name])

vcov.partita_sem <- function(object, ...) object$vcov

logLik.partita_sem <- function(object, ...) {
  value <- measure(object, "logl")
  log_likelihood(if (is.na(value)) NULL else value, measure(object, "npar"), object$nobs)
}

tidy.partita_sem <- function(x, conf.int = TRUE, conf.level = x$confidence, exponentiate = FALSE, ...) {
  if (exponentiate) refuse("usage", "parameters of these models are no logarithms", "leave exponentiate out")
  table <- x$parameters
  if (conf.level != x$confidence) {
    # What is fixed keeps its value at both ends.
    half <- normal_quantile(conf.level) * ifelse(is.na(table$se), 0, table$se)
    table$ci.lower <- ifelse(is.na(table$ci.lower), NA, table$est - half)
    table$ci.upper <- ifelse(is.na(table$ci.upper), NA, table$est + half)
  }
  frame <- data.frame(term = paste(table$lhs, table$op, table$rhs), op = table$op)
  if (any(table$group > 1)) frame$group <- table$group
  if (any(nzchar(table$label))) frame$label <- table$label
  tests <- data.frame(estimate = table$est, std.error = table$se, statistic = table$z, p.value = table$pvalue)
  frame <- cbind(frame, tests)
  if (conf.int) frame <- cbind(frame, data.frame(conf.low = table$ci.lower, conf.high = table$ci.upper))
  cbind(frame, table[c("std.lv", "std.all")])
}

# Of robust fits the scaled chi-square, as its table has robust errors, and the robust indices.
glance.partita_sem <- function(x, ...) {
  of <- function(name) {
    kinds <- if (x$robust) paste0(name, c(".robust", ".scaled", ""))
    measure(x, c(intersect(kinds, names(x$measures)), name)[1])
  }
  data.frame(nobs = x$nobs, npar = of("npar"), df = of("df"), logLik = of("logl"), AIC = of("aic"), BIC = of("bic"),
             chisq = of("chisq"), p.value = of("pvalue"), cfi = of("cfi"), tli = of("tli"), rmsea = of("rmsea"),
             rmsea.conf.low = of("rmsea.ci.lower"), rmsea.conf.high = of("rmsea.ci.upper"), srmr = of("srmr"),
             estimator = x$body$model$estimator, ngroups = length(x$body$model$groups), converged = x$converged)
}

# lavaan's table: models by degrees of freedom, differences of their chi-squares.
anova.partita_sem <- function(object, ...) {
  fits <- model_list(object, ..., class = "partita_sem")
  if (any(vapply(fits, function(fit) fit$robust, NA))) {
    not_released("the difference of scaled chi-squares needs both models at once",
                 "name the larger model in the study file: nested_of = \"...\"")
  }
  observed <- lapply(fits, function(fit) sort(as.character(unlist(fit$body$model$observed))))
  estimators <- lapply(fits, function(fit) fit$body$model$estimator)
  if (length(unique(observed)) > 1 || length(unique(estimators)) > 1) {
    refuse("usage", "these models are of other observed variables or estimators", "compare models of the same ones")
  }
  of <- function(name) vapply(fits, measure, 0, name)
  order <- order(of("df"))
  chisq <- of("chisq")[order]
  df <- of("df")[order]
  table <- anova_table(list("Df" = df, "AIC" = of("aic")[order], "BIC" = of("bic")[order], "Chisq" = chisq,
                            "Chisq diff" = c(NA, diff(chisq)), "Df diff" = c(NA, diff(df)),
                            "Pr(>Chisq)" = chi_square_p(c(NA, diff(chisq)), c(NA, diff(df)))),
                       "Chi-Squared Difference Test\n")
  rownames(table) <- make.unique(vapply(fits, function(fit) fit$name, ""))[order]
  table
}

predict.partita_sem <- function(object, newdata, reference = NULL, ...) {
  if (missing(newdata)) no_rows_back()
  fits <- object$body$least_squares
  if (length(fits) != 1) {
    not_released("predict() is of regressions with one outcome and one group", "compute it from parameter_estimates()")
  }
  terms <- fits[[1]]$terms
  of <- rows_frame(terms, c("name", "est"))
  if (!"(Intercept)" %in% of$name) {
    not_released("predict() has no intercept: it is not among what was released",
                 "compare rows by coef(), or release it: protocol = \"pooled-moments\", meanstructure, site = \"ignore\"")
  }
  linear_predictor(of$name, of$est, newdata, reference)
}

print.partita_sem <- function(x, ...) {
  print_head(x)
  model <- x$body$model
  cat(model$estimator, " fit of a ", model[["function"]], " model to ", x$nobs, " rows, ", measure(x, "npar"),
      " free parameters\n", sep = "")
  chisq <- measure(x, if (x$robust) "chisq.scaled" else "chisq")
  if (!is.na(chisq) && measure(x, "df") > 0) {
    cat("Chi-square ", format(chisq, digits = 5), " on ", measure(x, "df"), " degrees of freedom, p = ",
        format(measure(x, if (x$robust) "pvalue.scaled" else "pvalue"), digits = 3), "\n", sep = "")
  }
  print_warnings(x)
  invisible(x)
}

summary.partita_sem <- function(object, fit.measures = FALSE, standardized = FALSE, ...) {
  structure(class = "summary.partita_sem",
            list(fit = object, fit.measures = fit.measures, standardized = standardized))
}

section_names <- c("=~" = "Latent Variables", "<~" = "Composites", "~" = "Regressions", "~~" = "Covariances",
                   "~1" = "Intercepts", "variances" = "Variances", ":=" = "Defined Parameters")

print.summary.partita_sem <- function(x, digits = 3L, ...) {
  fit <- x$fit
  print(fit)
  if (x$fit.measures) {
    cat("\n")
    shown <- c("cfi", "tli", "logl", "aic", "bic", "rmsea", "rmsea.ci.lower", "rmsea.ci.upper", "srmr", "cfi.robust",
               "tli.robust", "rmsea.robust")
    for (name in intersect(shown, names(fit$measures))) {
      cat(formatC(name, width = -18), formatC(measure(fit, name), digits = digits, format = "f", width = 12), "\n")
    }
  }
  for (of in fit$body$least_squares) {
    cat("\nLeast squares of ", of$outcome, ":\n", sep = "")
    terms <- rows_frame(of$terms, c("name", "est", "se", "t", "pvalue"))
    matrix <- as.matrix(terms[-1])
    dimnames(matrix) <- list(terms$name, c("Estimate", "Std. Error", "t value", "Pr(>|t|)"))
    printCoefmat(matrix)
    cat("R-squared ", format(of$r2, digits = 4), ", residual standard error ", format(of$sigma, digits = 4), " on ",
        of$df, " degrees of freedom\n", sep = "")
  }
  # Moments of fixed covariates that only the receiver has are no rows to read.
  table <- fit$parameters[!is.na(fit$parameters$est), ]
  section <- ifelse(table$op == "~~" & table$lhs == table$rhs, "variances", table$op)
  for (group in sort(unique(table$group))) {
    if (any(table$group > 1) && group > 0) {
      cat("\nGroup ", group, " [", fit$body$model$groups[[group]]$label, "]:\n", sep = "")
    }
    for (op in names(section_names)) {
      rows <- table[section == op & table$group == group, ]
      if (nrow(rows) == 0) next
      cat("\n", section_names[[op]], ":\n", sep = "")
      print_parameters(rows, op, x$standardized, digits)
    }
  }
  invisible(x)
}

print_parameters <- function(rows, op, standardized, digits) {
  left <- rows$op %in% c("=~", "<~", "~") | (rows$op == "~~" & op == "~~")
  labels <- ifelse(left, paste(rows$lhs, rows$op, rows$rhs), rows$lhs)
  text <- function(values) ifelse(is.na(values), "", formatC(values, digits = digits, format = "f"))
  columns <- cbind(Estimate = text(rows$est), Std.Err = text(rows$se), "z-value" = text(rows$z),
                   "P(>|z|)" = text(rows$pvalue))
  fixed <- is.na(rows$z)
  columns[fixed, 2:4] <- ""
  if (standardized) columns <- cbind(columns, Std.lv = text(rows$std.lv), Std.all = text(rows$std.all))
  rownames(columns) <- paste0("  ", labels)
  print(columns, quote = FALSE, right = TRUE)
}
