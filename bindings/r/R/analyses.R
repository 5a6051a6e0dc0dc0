# What a study computes: the method and its keys of [[analysis]] in a study file.

formula_text <- function(formula) {
  if (inherits(formula, "formula")) paste(deparse(formula, width.cutoff = 500L), collapse = " ") else formula
}

# As --set takes it: a text is taken as it is, everything else is TOML.
setting_text <- function(value) {
  if (is.character(value) && length(value) == 1) return(value)
  if (is.list(value) || length(value) > 1) return(toml_list(value))
  toml_scalar(value)
}

setting_words <- function(settings) {
  words <- character()
  for (key in names(settings)) {
    value <- settings[[key]]
    if (is.null(value)) next
    if (is.list(value) && !is.null(names(value))) {
      for (part in names(value)) {
        # A single cut is a list, too.
        of <- if (part == "cuts") as.list(value[[part]]) else value[[part]]
        words <- c(words, "--set", paste0(key, ".", part, "=", setting_text(of)))
      }
    } else {
      words <- c(words, "--set", paste0(key, "=", setting_text(value)))
    }
  }
  words
}

partita_analysis <- function(study, method, ...) {
  if (!is.null(study$text)) {
    refuse("usage", "this study has its analysis", "write several analyses into a study file, and read_study() it")
  }
  with_folder(function(folder) {
    file <- file.path(folder, "study.toml")
    columns <- study$columns
    if (is.null(columns)) columns <- list(names(study$variables))
    dictionaries <- character()
    for (i in seq_along(columns)) {
      path <- file.path(folder, paste0("dictionary-", i, ".toml"))
      writeLines(dictionary_text(study$variables[columns[[i]]]), path, useBytes = TRUE)
      party <- names(columns)[i]
      dictionaries <- c(dictionaries, "--dictionary", paste0(if (!is.null(party)) paste0(party, "="), path))
    }
    parties <- rbind("--party", study$parties)
    data <- call_program(c("study", "new", file, "--name", study$name, "--yes", parties, dictionaries, study$options,
                           "--method", method, setting_words(list(...))))
    study$text <- paste(readLines(file, encoding = "UTF-8", warn = FALSE), collapse = "\n")
    study$remarks <- as.character(unlist(c(data$taken, data$warnings)))
    study
  })
}

partita_sem <- function(study, model, ..., fun = "sem") {
  partita_analysis(study, "mle", model = formula_text(model), "function" = fun, ...)
}
partita_cfa <- function(study, model, ...) partita_sem(study, model, ..., fun = "cfa")
partita_growth <- function(study, model, ...) partita_sem(study, model, ..., fun = "growth")
partita_regression <- function(study, model, ...) partita_sem(study, model, ..., fun = "regression")

# R's names of families that the program calls otherwise, and the links that it takes without being told.
family_names <- c(quasibinomial = "quasi-binomial", quasipoisson = "quasi-poisson")
own_links <- c(binomial = "logit", "quasi-binomial" = "logit", poisson = "log", "quasi-poisson" = "log",
               gaussian = "identity", gamma = "log")

partita_glm <- function(study, formula, family = "binomial", ...) {
  settings <- list(...)
  if (is.function(family)) family <- family()
  if (inherits(family, "family")) {
    link <- family$link
    family <- family$family
  } else {
    link <- NULL
  }
  family <- tolower(family)
  if (family %in% names(family_names)) family <- family_names[[family]]
  # The link that the program takes anyway need not be said; any other it takes or refuses.
  if (!is.null(link) && !identical(unname(own_links[family]), link) && is.null(settings$link)) settings$link <- link
  do.call(partita_analysis, c(list(study, "glm", formula = formula_text(formula), family = family), settings))
}

partita_survival <- function(study, formula, report, ...) {
  partita_analysis(study, "survival", formula = formula_text(formula), report = as.list(report), ...)
}
partita_cox <- function(study, formula, ...) {
  partita_analysis(study, "survival", model = "cox", formula = formula_text(formula), ...)
}

partita_describe <- function(study, variables = NULL, group = NULL, ...) {
  partita_analysis(study, "describe", variables = if (!is.null(variables)) as.list(variables), group = group, ...)
}

# One row each, unless the study says otherwise.
partita_meta <- function(study, estimate, standard_error, ...) {
  if (!"--rows" %in% study$options) study$options <- c(study$options, rbind("--rows", paste0(study$parties, "=1")))
  partita_analysis(study, "meta", estimate = estimate, standard_error = standard_error, ...)
}

partita_classify <- function(study, outcome, predictors, epsilon, delta, ...) {
  partita_analysis(study, "classify", outcome = outcome, predictors = as.list(predictors),
                   privacy = list(epsilon = epsilon, delta = delta), ...)
}
