# Results that are no list of coefficients: curves, tables, draws, classifiers, synthetic rows.

level_name <- function(level) if (is.null(level)) "all" else level

# --------------------------------------------------------------------------------------------- curves

fit_table.partita_curves <- function(object, ...) {
  shown <- Filter(function(curve) !curve$withheld, object$body$curves)
  columns <- c("time", "remaining", "events", "censored", "survival", "standard_error", "lower", "upper")
  frames <- lapply(shown, function(curve) {
    cbind(strata = level_name(curve$group), rows_frame(curve$points, columns))
  })
  table <- if (length(frames)) do.call(rbind, frames) else cbind(strata = character(), rows_frame(list(), columns))
  names(table) <- c("strata", "time", "n.after", "n.event", "n.censor", "estimate", "std.error", "conf.low", "conf.high")
  table
}

plot.partita_curves <- function(x, xlab = "time", ylab = "survival", main = title_of(x), ...) {
  table <- fit_table(x)
  groups <- unique(table$strata)
  if (length(groups) == 0) not_released("all curves are withheld", "see the result's warnings")
  plot.default(NA, xlim = c(0, max(table$time)), ylim = c(0, 1), xlab = xlab, ylab = ylab, main = main)
  for (i in seq_along(groups)) {
    of <- table[table$strata == groups[i], ]
    lines(c(0, of$time), c(1, of$estimate), type = "b", pch = 18 + i, col = i)
    segments(of$time, of$conf.low, of$time, of$conf.high, col = i)
  }
  legend("bottomleft", groups, col = seq_along(groups), pch = 18 + seq_along(groups), lty = 1, bty = "n")
  invisible(x)
}

# ------------------------------------------------------------------------------------------- describe

# Of a table with noise a row per number, with its interval.
noised_table <- function(entries) {
  rows <- list()
  for (entry in entries) {
    add <- function(value, statistic, of) {
      rows[[length(rows) + 1]] <<- list(variable = entry$column, value = value, group = level_name(entry$group),
                                        statistic = statistic, estimate = of$estimate, lower = of$lower,
                                        upper = of$upper)
    }
    add(NA_character_, "n", entry$n)
    half <- 1.96 * entry$noise_stddev
    for (i in seq_along(entry$counts)) {
      count <- entry$counts[[i]]
      add(entry$levels[[i]], "count", list(estimate = count, lower = count - half, upper = count + half))
    }
    for (i in seq_along(entry$shares)) add(entry$levels[[i]], "share", entry$shares[[i]])
    for (statistic in c("mean", "sd"))
      if (!is.null(entry[[statistic]])) add(NA_character_, statistic, entry[[statistic]])
    for (quartile in entry$quartiles) add(NA_character_, paste0("q", 100 * quartile$probability), quartile)
  }
  rows_frame(rows, c("variable", "value", "group", "statistic", "estimate", "lower", "upper"))
}

fit_table.partita_describe <- function(object, ...) {
  if (!is.null(object$body$table_one)) return(noised_table(object$body$table_one))
  quantiles <- unlist(object$body$quantiles)
  columns <- c("n", "missing", "count", "mean", "sd", if (length(quantiles)) paste0("q", 100 * quantiles))
  rows <- list()
  for (variable in object$body$variables) {
    for (cell in variable$columns) {
      base <- list(variable = variable$name, value = NA_character_, group = level_name(cell$group),
                   withheld = cell$withheld)
      if (cell$withheld || is.null(cell$counts)) {
        values <- list(n = cell$n, missing = cell$missing, mean = cell$mean, sd = cell$sd)
        if (length(cell$quantiles)) values <- c(values, setNames(cell$quantiles, paste0("q", 100 * quantiles)))
        rows[[length(rows) + 1]] <- c(base, values)
      } else {
        for (i in seq_along(cell$counts)) {
          base$value <- variable$values[[i]]
          rows[[length(rows) + 1]] <- c(base, list(n = cell$n, missing = cell$missing, count = cell$counts[[i]]))
        }
      }
    }
  }
  rows_frame(rows, c("variable", "value", "group", "withheld", columns))
}

# ----------------------------------------------------------------------------------------------- mcmc

fit_table.partita_mcmc <- function(object, ...) {
  columns <- c("name", "mean", "sd", "mcse_mean", "q2_5", "median", "q97_5", "rhat", "bulk_ess", "tail_ess")
  rows_frame(object$body$parameters, columns)
}
coef.partita_mcmc <- function(object, ...) {
  table <- fit_table(object)
  setNames(table$mean, table$name)
}
tidy.partita_mcmc <- function(x, ...) {
  table <- fit_table(x)
  data.frame(term = table$name, estimate = table$mean, std.error = table$sd, conf.low = table$q2_5,
             conf.high = table$q97_5, rhat = table$rhat, ess = table$bulk_ess)
}
plot.partita_mcmc <- function(x, main = title_of(x), ...) {
  table <- fit_table(x)
  draw_intervals(table$name, table$mean, table$q2_5, table$q97_5, FALSE, main, "posterior mean, 95 %")
  invisible(x)
}

# ------------------------------------------------------------------------------------------- classify

# A column per level whose chance is modelled.
coef.partita_classify <- function(object, ...) {
  if (is.null(object$body$coefficients)) {
    not_released("each party keeps its own classifier with protocol single-party",
                 "take another protocol to have a common one")
  }
  values <- vapply(object$body$coefficients, numbers, numeric(length(object$body$columns)))
  matrix(values, length(object$body$columns),
         dimnames = list(unlist(object$body$columns), names(object$body$coefficients)))
}
fit_table.partita_classify <- function(object, ...) {
  values <- coef(object)
  data.frame(column = rownames(values), values, row.names = NULL, check.names = FALSE)
}
predict.partita_classify <- function(object, newdata, reference = NULL, ...) {
  if (missing(newdata)) no_rows_back()
  values <- coef(object)
  scores <- vapply(colnames(values), function(level) {
    linear_predictor(rownames(values), values[, level], newdata, reference)
  }, numeric(NROW(newdata)))
  matrix(scores, nrow(newdata), dimnames = list(NULL, colnames(values)))
}

# ------------------------------------------------------------------------------ mixture and marginals

fit_table.partita_mixture <- function(object, ...) {
  data.frame(component = seq_along(object$body$weights), weight = numbers(object$body$weights))
}

fit_table.partita_marginals <- function(object, ...) {
  do.call(rbind, lapply(object$body$counts, function(column) {
    data.frame(column = column$column, level = as.character(unlist(column$levels)), count = numbers(column$counts))
  }))
}
