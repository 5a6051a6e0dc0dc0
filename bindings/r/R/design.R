# Columns of a model, by the names of its terms, of rows that the caller has. Results of glm, Cox's and mixed models say
# how the levels of each factor became columns. Others say no more of levels than the names of their columns: there a
# level with a column of its own is 1 there and 0 in the others, by treatment contrasts and by sums, and any other level
# needs the reference from the caller.

reference_hint <- function(column) {
  paste0("name the reference of the study file: predict(fit, rows, reference = c(", column, " = \"...\")), ",
         "which says that its contrasts are treatment contrasts; or give the columns of the model themselves")
}

number_column <- function(name, rows) {
  values <- rows[[name]]
  if (inherits(values, "POSIXt")) values <- as.Date(format(values, "%Y-%m-%d"))
  if (inherits(values, "integer64")) values <- as.numeric(integer64_texts(values))
  known <- (is.numeric(values) && !inherits(values, "difftime")) || is.logical(values) || inherits(values, "Date")
  if (!known || !is.null(dim(values))) {
    refuse("usage", paste0("the column ", name, " is of class ", class(values)[1], ", and the model has it as a number"),
           "give it numbers; of a factor of digits as.numeric(as.character(...))")
  }
  as.numeric(values)
}

level_texts <- function(column, rows) {
  values <- rows[[column]]
  if (inherits(values, "integer64")) return(integer64_texts(values))
  if (is.numeric(values) && is.null(dim(values))) return(ifelse(is.na(values), NA, number_texts(values)))
  if (!is.atomic(values) || !is.null(dim(values))) {
    refuse("usage", paste0("the column ", column, " is no column of levels"), "give it a factor or texts")
  }
  as.character(values)
}

# As the program names the column of a level.
level_part <- function(level) gsub("[^A-Za-z0-9._]", "_", enc2utf8(level), perl = TRUE)

# Whether the columns may as well be polynomials of an ordered variable or of a number.
may_be_polynomial <- function(suffixes, numeric) {
  degrees <- as.character(seq_along(suffixes))
  ordered <- replace(degrees, seq_len(min(3, length(degrees))), c("L", "Q", "C")[seq_len(min(3, length(degrees)))])
  setequal(suffixes, ordered) || (numeric && length(suffixes) > 1 && setequal(suffixes, degrees))
}

# 1 in the rows whose value of `column` is the level that is called `part` in the model. `suffixes`: all such parts.
level_column <- function(part, column, suffixes, rows, reference, made_by_factor) {
  values <- level_texts(column, rows)
  levels <- unique(values[!is.na(values)])
  base <- reference[column]
  if (is.na(base)) {
    if (!made_by_factor && may_be_polynomial(suffixes, is.numeric(rows[[column]]))) {
      not_released(paste0("the result does not say whether ", column, " has levels or polynomials"),
                   reference_hint(column))
    }
  } else if (level_part(base) %in% suffixes) {
    refuse("usage", paste0(base, " is not the reference of ", column, ": it has a column of its own"),
           "name the level that has none")
  }
  others <- setdiff(levels, base)
  parts <- level_part(others)
  if (anyDuplicated(parts)) {
    refuse("usage", paste0("two levels of ", column, " have the same column in the model: ",
                           paste(others[parts %in% parts[duplicated(parts)]], collapse = ", ")),
           "write levels exactly as in the study file")
  }
  unknown <- others[!parts %in% suffixes]
  if (length(unknown)) {
    what <- paste0(column, " has no column for ", paste(unknown, collapse = ", "), "; there are: ",
                   paste(suffixes, collapse = ", "))
    if (is.na(base)) {
      not_released(paste0(what, ". Which other level is the reference the result does not say"), reference_hint(column))
    }
    refuse("usage", what, "write levels exactly as in the study file")
  }
  as.numeric(level_part(values) == part)
}

# Of `factors` the one that the column is of, or NULL.
coding_of <- function(name, factors) {
  Find(function(coding) any(vapply(coding$columns, function(column) column$name == name, NA)), factors)
}

# The column `name` of a factor.
coded_column <- function(name, coding, rows) {
  values <- level_texts(coding$variable, rows)
  levels <- unlist(coding$levels)
  unknown <- setdiff(values[!is.na(values)], levels)
  if (length(unknown)) {
    refuse("usage", paste0(coding$variable, " has no level ", paste(unknown, collapse = ", "), "; there are: ",
                           paste(levels, collapse = ", ")),
           "write levels exactly as in the study file")
  }
  column <- Find(function(column) column$name == name, coding$columns)
  unlist(column$values)[match(values, levels)]
}

# A reference that the caller names is the one of the study, or refused.
check_references <- function(reference, factors) {
  for (variable in names(reference)) {
    coding <- Find(function(coding) coding$variable == variable, factors)
    if (is.null(coding)) {
      refuse("usage", paste0("reference names ", variable, ", which is no factor of this model"),
             "leave reference out: the result says how its factors are coded")
    }
    if (is.null(coding$reference)) {
      refuse("usage", paste0(variable, " has no reference: its contrasts are ", coding$contrasts),
             "leave reference out: the result says how its factors are coded")
    }
    if (coding$reference != reference[[variable]]) {
      refuse("usage", paste0(reference[[variable]], " is not the reference of ", variable, ": that is ", coding$reference),
             "leave reference out: the result says how its factors are coded")
    }
  }
}

# `names`: of all columns of the model. factors: how these are coded, or NULL where the result does not say.
one_column <- function(name, rows, names = name, reference = character(), factors = NULL) {
  coding <- coding_of(name, factors)
  # Scores have the name of their variable.
  if (!is.null(coding) && coding$variable %in% names(rows) && (name == coding$variable || !name %in% names(rows))) {
    return(coded_column(name, coding, rows))
  }
  if (name %in% names(rows)) return(number_column(name, rows))
  found <- regmatches(name, regexec("^(log|log1p|sqrt)\\(([A-Za-z0-9._]+)\\)$", name))[[1]]
  if (length(found) && found[3] %in% names(rows)) {
    return(get(found[2], baseenv())(number_column(found[3], rows)))
  }
  found <- regmatches(name, regexec("^I\\(([A-Za-z0-9._]+) *\\^ *([0-9]+)\\)$", name))[[1]]
  if (length(found) && found[2] %in% names(rows)) return(number_column(found[2], rows)^as.numeric(found[3]))
  found <- regmatches(name, regexec("^I\\(([A-Za-z0-9._]+) *\\* *([A-Za-z0-9._]+)\\)$", name))[[1]]
  if (length(found) && all(found[2:3] %in% names(rows))) {
    return(number_column(found[2], rows) * number_column(found[3], rows))
  }
  # The column of a level: "sex.male", "factor(k).3".
  for (column in if (is.null(factors)) names(rows)[order(-nchar(names(rows)))]) {
    for (before in c(paste0(column, "."), paste0("factor(", column, ")."))) {
      if (!startsWith(name, before)) next
      suffixes <- substring(names[startsWith(names, before)], nchar(before) + 1)
      return(level_column(substring(name, nchar(before) + 1), column, suffixes, rows, reference,
                          startsWith(before, "factor(")))
    }
  }
  refuse("usage", paste0("the column ", name, " of the model cannot be made from the columns ",
                         paste(names(rows), collapse = ", ")),
         "add the variable that it comes from, or a column of that name")
}

factors_of <- function(term) strsplit(term, ":", fixed = TRUE)[[1]]

model_column <- function(term, rows, names, reference, factors) {
  if (term %in% c("(Intercept)", "(intercept)")) return(rep(1, nrow(rows)))
  if (term %in% names(rows) && is.null(coding_of(term, factors))) return(number_column(term, rows))
  Reduce(`*`, lapply(factors_of(term), one_column, rows, names, reference, factors))
}

# reference: NULL, or by variable the level that the others are compared with. factors: as of one_column.
linear_predictor <- function(terms, estimates, rows, reference = NULL, factors = NULL) {
  as.vector(design_matrix(terms, rows, reference, factors) %*% estimates)
}

# A column for each term, a row for each row.
design_matrix <- function(terms, rows, reference = NULL, factors = NULL) {
  if (!is.data.frame(rows)) refuse("usage", "these rows are no data frame", "give it data.frame(...)")
  reference <- vapply(as.list(reference), as.character, "")
  strange <- setdiff(names(reference), names(rows))
  if (length(reference) && (is.null(names(reference)) || length(strange))) {
    refuse("usage", "reference names no columns of these rows", "for example reference = c(sex = \"female\")")
  }
  if (!is.null(factors)) check_references(reference, factors)
  names <- unique(unlist(lapply(terms, factors_of)))
  columns <- vapply(terms, model_column, numeric(nrow(rows)), rows, names, reference, factors)
  matrix(columns, nrow(rows), length(terms))
}

predict.partita_coefs <- function(object, newdata, reference = NULL, se.fit = FALSE, ...) {
  if (missing(newdata)) no_rows_back()
  if (object$method == "meta") no_such(object, "predictions")
  fit <- linear_predictor(object$coefficients$term, object$coefficients$estimate, newdata, reference, object$body$factors)
  if (!se.fit) return(fit)
  columns <- design_matrix(object$coefficients$term, newdata, reference, object$body$factors)
  list(fit = fit, se.fit = combination_errors(object, columns))
}
