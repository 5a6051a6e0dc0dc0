# Results: JSON to fits.

# A list of objects as a data frame; null is NA.
rows_frame <- function(rows, columns) {
  values <- lapply(columns, function(column) {
    cells <- lapply(rows, function(row) if (is.null(row[[column]])) NA else row[[column]])
    if (length(cells)) unlist(cells) else logical()
  })
  as.data.frame(setNames(values, columns), stringsAsFactors = FALSE, check.names = FALSE)
}

number <- function(value) if (is.null(value)) NA_real_ else as.numeric(value)
numbers <- function(values) vapply(values, number, 0)

# A square matrix from its rows.
matrix_of <- function(rows, names) {
  names <- as.character(unlist(names))
  matrix(numbers(unlist(lapply(rows, function(row) lapply(row, number)), recursive = FALSE)), length(names),
         byrow = TRUE, dimnames = list(names, names))
}

new_fit <- function(class, name, raw, body, ...) {
  structure(class = c(class, "partita_fit"),
            list(name = name, method = raw$plan$method, converged = !identical(body$converged, FALSE),
                 warnings = as.character(unlist(body$warnings)), body = body, raw = raw, ...))
}

coefficient_frame <- function(rows) {
  frame <- rows_frame(rows, c("term", "estimate", "standard_error", "statistic", "p_value", "lower", "upper"))
  names(frame) <- c("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")
  frame$term <- as.character(frame$term)
  frame[-1] <- lapply(frame[-1], as.numeric)
  frame
}

coefficient_fit <- function(class, name, raw, body, rows = body$coefficients, nobs = body$rows) {
  new_fit(c(class, "partita_coefs"), name, raw, body, coefficients = coefficient_frame(rows), nobs = nobs,
          df = if (is.null(body$df)) Inf else body$df, confidence = body$confidence, formula = body$formula)
}

fit_of_method <- function(raw) {
  method <- raw$plan$method
  body <- raw$result
  switch(method,
    glm = coefficient_fit("partita_glm", method, raw, body),
    survival = if (is.null(body$model)) new_fit("partita_curves", method, raw, body)
               else coefficient_fit("partita_coxph", method, raw, body),
    mixed = coefficient_fit("partita_mixed", method, raw, body),
    meta = coefficient_fit("partita_meta", method, raw, body, list(c(list(term = body$of), body)), body$sites),
    describe = new_fit("partita_describe", method, raw, body),
    mcmc = new_fit("partita_mcmc", method, raw, body),
    classify = new_fit("partita_classify", method, raw, body),
    mixture = new_fit("partita_mixture", method, raw, body),
    marginals = new_fit("partita_marginals", method, raw, body),
    new_fit(character(), method, raw, body)  # newer than this package: the report's tables
  )
}

sem_fit <- function(raw, body) {
  shown <- if (is.null(body$robust)) body else body$robust
  columns <- c("lhs", "op", "rhs", "group", "label", "free", "user", "exo", "est", "se", "z", "pvalue", "ci.lower",
               "ci.upper", "std.lv", "std.all")
  table <- rows_frame(shown$parameters, columns)
  table[9:16] <- lapply(table[9:16], as.numeric)
  vcov <- matrix_of(if (is.null(body$robust)) body$vcov$values else body$robust$vcov, body$vcov$names)
  fit <- new_fit("partita_sem", if (nzchar(body$name)) body$name else "mle", raw, body, parameters = table,
                 vcov = vcov, robust = !is.null(body$robust), nobs = number(body$fit$ntotal), confidence = 0.95)
  fit$converged <- isTRUE(body$convergence$converged)
  fit$measures <- unlist(lapply(c(body$fit, body$robust$fit), number))
  fit$coefficients <- sem_coefficients(fit)
  class(fit) <- c("partita_sem", "partita_coefs", "partita_fit")
  fit
}

# The free parameters in the order of their numbers.
sem_coefficients <- function(fit) {
  table <- fit$parameters
  free <- table[match(seq_len(nrow(fit$vcov)), table$free), ]
  data.frame(term = rownames(fit$vcov), estimate = free$est, std.error = free$se, statistic = free$z,
             p.value = free$pvalue, conf.low = free$ci.lower, conf.high = free$ci.upper)
}

# A fit of a study with one analysis, else a list of them by name.
results_of <- function(raw) {
  if (!is.numeric(raw$schema_version)) refuse("program", "this is no result", "give it a result.json")
  if (!identical(as.numeric(raw$schema_version), result_version)) {
    refuse("program", paste0("this result has version ", raw$schema_version, "; this package reads ", result_version),
           "install a package and a program of the same version")
  }
  fits <- if (!is.null(raw$analyses)) {
    lapply(raw$analyses, function(body) sem_fit(raw, body))
  } else if (!is.null(raw$result)) {
    list(fit_of_method(raw))
  } else {
    list()
  }
  names(fits) <- vapply(fits, function(fit) fit$name, "")
  for (fit in fits) if (!fit$converged) warn_not_converged(fit$name)
  if (length(fits) == 1) return(fits[[1]])
  structure(class = "partita_results", fits, raw = raw)
}

print.partita_results <- function(x, ...) {
  raw <- attr(x, "raw")
  if (length(x) == 0) {
    cat("Study ", raw$study$name, ": finished; the result is at the receiver\n", sep = "")
    return(invisible(x))
  }
  cat("Study ", raw$study$name, ": ", length(x), " analyses: ", paste(names(x), collapse = ", "), "\n", sep = "")
  for (fit in x) {
    cat("\n")
    print(fit)
  }
  invisible(x)
}

raw_of <- function(x) if (inherits(x, "partita_fit")) x$raw else attr(x, "raw")

read_result <- function(file) {
  if (!file.exists(file)) refuse("usage", paste("there is no result", file), "check the path")
  text <- paste(readLines(file, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  raw <- tryCatch(parse_json(text), error = function(e) {
    refuse("program", paste(file, "is no JSON"), "give it a result.json")
  })
  if (!is.list(raw) || is.null(names(raw))) refuse("program", paste(file, "is no result"), "give it a result.json")
  if (!is.null(raw$error_code) || !is.null(raw$data)) raw <- read_output(text)
  if (!is.null(raw$residual_stddev) || !is.null(raw$negative_eigenvalues)) return(sums_fit(raw))
  results_of(raw)
}

# With all digits, and whole numbers that are no integers with a point: what is read again is the same.
json_text <- function(value, indent = "\n") {
  if (is.null(value)) return("null")
  if (is.list(value)) {
    named <- !is.null(names(value))
    inner <- paste0(indent, "  ")
    parts <- vapply(value, json_text, "", inner, USE.NAMES = FALSE)
    if (named) parts <- paste0(vapply(names(value), json_text, ""), ": ", parts)
    sides <- if (named) c("{", "}") else c("[", "]")
    if (length(value) == 0) return(paste(sides, collapse = ""))
    return(paste0(sides[1], paste0(inner, parts, collapse = ","), indent, sides[2]))
  }
  if (is.double(value)) {
    text <- number_texts(value)
    # Larger ones are doubles in R whether there is a point or not.
    return(if (grepl("[.e]", text) || abs(value) >= 2^31) text else paste0(text, ".0"))
  }
  as.character(jsonlite::toJSON(value, auto_unbox = TRUE))
}

# Readable by its owner only: it may hold moments.
write_result <- function(x, file) {
  if (!file.exists(file)) file.create(file)
  Sys.chmod(file, "0600", use_umask = FALSE)
  writeLines(json_text(raw_of(x)), file, useBytes = TRUE)
  invisible(file)
}

# Regression on private sums: what `partita regression fit --format json` prints.
sums_fit <- function(raw) {
  rows <- lapply(raw$coefficients, function(row) {
    list(term = row$name, estimate = row$mean, standard_error = row$stddev, lower = row$lower, upper = row$upper)
  })
  body <- c(raw, list(confidence = raw$level, formula = paste("regression of", raw$outcome, "on private sums")))
  fit <- coefficient_fit("partita_sums", "regression", raw, body, rows)
  fit$method <- "regression"
  fit
}

partita_recorded <- function(name = NULL) {
  folder <- system.file("recorded", package = "partita")
  if (is.null(name)) return(sub("\\.json$", "", list.files(folder, "\\.json$")))
  file <- file.path(folder, paste0(name, ".json"))
  if (!file.exists(file)) refuse("usage", paste("there is no recorded result", name), "see partita_recorded()")
  file
}
