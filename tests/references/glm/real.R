# Writes tables of R's packages to tests/tables/gpl and tests/tables/lgpl, and real.json: R's fits of them by glm, MASS, nnet and
# sandwich, for tests/methods/glm/real_tables_test.cc.
# Rscript tests/references/glm/real.R > tests/references/glm/real.json
# Errors are those of the model, "robust" (vcovHC, type = "HC0"), "HC1", or "cluster" (vcovCL, type = "HC0").
suppressPackageStartupMessages({
  library(MASS)
  library(sandwich)
  library(splines)
})
source("tests/references/glm/tests_of.R")
source("tests/references/glm/newton.R")

# ---- the tables: rows in the order of the package, columns renamed so that names have no dots

from <- function(package, name) {
  space <- new.env()
  data(list = name, package = package, envir = space)
  as.data.frame(get(name, space))
}
complete <- function(data) data[complete.cases(data), ]
plain <- function(factor) factor(as.character(factor), levels(factor))
yes <- function(factor) as.integer(factor == levels(factor)[2])

infert <- with(from("datasets", "infert"), data.frame(education, age, parity, induced, case, spontaneous, stratum))
# A row for the cases and one for the controls of each cell.
esoph <- local({
  cells <- from("datasets", "esoph")
  with(cells[rep(seq_len(nrow(cells)), each = 2), ], data.frame(agegp = plain(agegp), alcgp = plain(alcgp), tobgp = plain(tobgp),
    case = rep(1:0, nrow(cells)), people = as.vector(rbind(cells$ncases, cells$ncontrols))))
})
warpbreaks <- from("datasets", "warpbreaks")
sprays <- from("datasets", "InsectSprays")
teeth <- from("datasets", "ToothGrowth")
swiss <- with(from("datasets", "swiss"), data.frame(fertility = Fertility, agriculture = Agriculture, examination = Examination,
  education = Education, catholic = Catholic, infants = Infant.Mortality))
air <- with(complete(from("datasets", "airquality")), data.frame(ozone = Ozone, solar = Solar.R, wind = Wind, temp = Temp, month = Month))
quakes <- from("datasets", "quakes")[, c("depth", "mag", "stations")]
pima <- with(rbind(from("MASS", "Pima.tr"), from("MASS", "Pima.te")), data.frame(npreg, glu, bp, skin, bmi, ped, age, diabetes = yes(type)))
bacteria <- with(from("MASS", "bacteria"), data.frame(present = yes(y), trt, week, child = as.integer(ID)))
epil <- with(from("MASS", "epil"), data.frame(y, trt, base, age, v4 = V4, subject, lbase, lage))
insurance <- with(from("MASS", "Insurance"), data.frame(district = District, group = plain(Group), age = plain(Age), holders = Holders,
  claims = Claims))
# A row for those who have reached it and one for the others of each age.
menarche <- local({
  cells <- from("MASS", "menarche")
  data.frame(age = rep(cells$Age, each = 2), reached = rep(1:0, nrow(cells)),
    girls = as.vector(rbind(cells$Menarche, cells$Total - cells$Menarche)))
})
housing <- with(from("MASS", "housing"), data.frame(sat = plain(Sat), infl = Infl, type = Type, cont = Cont, freq = Freq))
cars <- with(from("MASS", "Cars93"), data.frame(price = Price, mpg = MPG.city, airbags = AirBags, horsepower = Horsepower,
  manual = yes(Man.trans.avail), weight = Weight, origin = Origin))
salaries <- with(from("carData", "Salaries"), data.frame(rank, discipline, since_phd = yrs.since.phd, service = yrs.service, sex, salary))
womenlf <- with(from("carData", "Womenlf"), data.frame(partic = factor(partic, c("not.work", "parttime", "fulltime")), hincome, children))
cowles <- with(from("carData", "Cowles"), data.frame(neuroticism, extraversion, sex, volunteer = yes(volunteer)))
mroz <- with(from("carData", "Mroz"), data.frame(lfp = yes(lfp), k5, k618, age, wc, hc, lwg, inc))
prestige <- complete(from("carData", "Prestige"))[, c("education", "income", "women", "prestige", "type")]
articles <- from("AER", "PhDPublications")
attributes(articles) <- attributes(articles)[c("names", "class", "row.names")]
trips <- from("AER", "RecreationDemand")
pbc <- complete(with(survival::pbc, data.frame(trt, age, sex, hepato, bili, albumin, protime)))
colon <- complete(with(survival::colon[survival::colon$etype == 2, ], data.frame(rx, sex, age, obstruct, adhere, nodes, dead = status,
  extent, node4)))

# name, licence's folder, rows, source, bounds where those of pretty() will not do (logarithms; numbers far from 0), derived columns
table <- function(folder, source, data, bounds = list(), derived = list())
  list(folder = folder, source = source, data = data, bounds = bounds, derived = derived)
tables <- list(
  infert = table("gpl", "datasets infert", infert),
  esoph = table("gpl", "datasets esoph", esoph),
  warpbreaks = table("gpl", "datasets warpbreaks", warpbreaks),
  insect_sprays = table("gpl", "datasets InsectSprays", sprays),
  tooth_growth = table("gpl", "datasets ToothGrowth", teeth, list(len = c(1, 40), dose = c(0.25, 4))),
  swiss = table("gpl", "datasets swiss", swiss),
  airquality = table("gpl", "datasets airquality", air, list(ozone = c(1, 200)),
    list(temp_ns = list(from = "temp", transform = "ns", knots = c(70, 80), boundary = c(60, 95)))),
  quakes = table("gpl", "datasets quakes", quakes, list(depth = c(10, 700)),
    list(size = list(from = "mag", transform = "scale", centre = 5, scale = 1))),
  pima = table("gpl", "MASS Pima.tr, Pima.te", pima,
    derived = list(years = list(from = "age", transform = "cut", points = c(30, 45), labels = c("young", "middle", "old")))),
  bacteria = table("gpl", "MASS bacteria", bacteria,
    derived = list(time = list(from = "week", transform = "cut", points = c(2), labels = c("early", "late")))),
  epil = table("gpl", "MASS epil", epil),
  insurance = table("gpl", "MASS Insurance", insurance, list(holders = c(1, 4000))),
  menarche = table("gpl", "MASS menarche", menarche,
    derived = list(years = list(from = "age", transform = "scale", centre = 13, scale = 1))),
  housing = table("gpl", "MASS housing", housing),
  cars93 = table("gpl", "MASS Cars93", cars, list(price = c(5, 80), horsepower = c(50, 400))),
  salaries = table("gpl", "carData Salaries", salaries, list(salary = c(40000, 250000))),
  womenlf = table("gpl", "carData Womenlf", womenlf),
  cowles = table("gpl", "carData Cowles", cowles),
  mroz = table("gpl", "carData Mroz", mroz,
    derived = list(age_poly = list(from = "age", transform = "poly", degree = 2, centre = 45, scale = 15))),
  prestige = table("gpl", "carData Prestige", prestige, list(income = c(500, 30000))),
  publications = table("gpl", "AER PhDPublications", articles),
  recreation = table("gpl", "AER RecreationDemand", trips),
  pbc = table("lgpl", "survival pbc", pbc, list(bili = c(0.1, 30), protime = c(5, 25))),
  colon = table("lgpl", "survival colon", colon))

# steps: where the study's default takes too few, or determines all rows at level aggregates.
fit <- function(data, formula, family, ...) list(data = data, formula = formula, family = family, ...)
fits <- list(
  fit("infert", case ~ spontaneous + induced + age + education, "binomial"),
  fit("infert", case ~ spontaneous + induced, "binomial", errors = "cluster", cluster = "stratum"),
  fit("infert", case ~ spontaneous + induced + parity, "binomial", link = "probit"),
  fit("esoph", case ~ agegp + alcgp + tobgp, "binomial", weights = "people", type = "frequency", steps = c(iterates = 6)),
  fit("esoph", case ~ alcgp + tobgp, "binomial", link = "cloglog", weights = "people", type = "frequency"),
  fit("warpbreaks", breaks ~ wool * tension, "poisson"),
  fit("warpbreaks", breaks ~ wool + tension, "quasi-poisson"),
  fit("warpbreaks", breaks ~ wool + tension, "negative-binomial"),
  fit("insect_sprays", count ~ spray, "poisson", errors = "robust"),
  fit("insect_sprays", count ~ spray, "negative-binomial"),
  fit("tooth_growth", len ~ supp * log(dose), "gaussian"),
  fit("tooth_growth", len ~ supp + log(dose), "gamma", errors = "robust"),
  fit("swiss", fertility ~ agriculture + education + catholic + infants, "gaussian"),
  fit("swiss", fertility ~ education + catholic, "gaussian", errors = "HC1"),
  fit("airquality", ozone ~ solar + wind + temp, "gamma", steps = c(iterates = 6)),
  fit("airquality", ozone ~ wind + I(wind^2) + temp_ns, "gaussian"),
  fit("airquality", log(ozone) ~ solar + wind + temp, "gaussian"),
  fit("quakes", stations ~ size + log(depth), "poisson", errors = "robust"),
  fit("quakes", stations ~ size + log(depth), "negative-binomial"),
  fit("pima", diabetes ~ npreg + glu + bmi + ped + years, "binomial", steps = c(iterates = 6)),
  fit("pima", diabetes ~ glu + bmi, "binomial", link = "probit", errors = "robust"),
  fit("pima", diabetes ~ glu + bmi + years, "quasi-binomial"),
  fit("bacteria", present ~ trt + time, "binomial", errors = "cluster", cluster = "child"),
  fit("bacteria", present ~ trt * time, "binomial"),
  fit("epil", y ~ lbase * trt + lage + v4, "poisson", errors = "cluster", cluster = "subject"),
  fit("epil", y ~ lbase * trt + lage, "negative-binomial", errors = "robust"),
  fit("insurance", claims ~ district + group + age + offset(log(holders)), "poisson"),
  fit("insurance", claims ~ group + age + offset(log(holders)), "quasi-poisson"),
  fit("menarche", reached ~ years, "binomial", weights = "girls", type = "frequency"),
  fit("menarche", reached ~ years, "binomial", link = "probit", weights = "girls", type = "frequency"),
  fit("housing", sat ~ infl + type + cont, "ordinal", weights = "freq", type = "frequency", steps = c(aggregates = 8)),
  fit("housing", sat ~ infl + cont, "multinomial", weights = "freq", type = "frequency", steps = c(aggregates = 8)),
  fit("cars93", price ~ log(horsepower) + origin + airbags, "gamma"),
  fit("cars93", mpg ~ weight + I(weight^2) + origin, "gaussian", errors = "HC1"),
  fit("cars93", manual ~ weight + origin, "binomial", steps = c(iterates = 6)),
  fit("salaries", salary ~ rank + discipline + service + sex, "gaussian", errors = "HC1"),
  fit("salaries", salary ~ rank * discipline + sex, "gamma", steps = c(iterates = 6)),
  fit("womenlf", partic ~ hincome + children, "multinomial"),
  fit("womenlf", partic ~ hincome + children, "ordinal", errors = "robust"),
  fit("cowles", volunteer ~ sex + neuroticism * extraversion, "binomial"),
  fit("cowles", volunteer ~ sex + extraversion, "modified-poisson", errors = "robust"),
  fit("mroz", lfp ~ k5 + k618 + age + wc + hc + lwg + inc, "binomial"),
  fit("mroz", lfp ~ k5 + age_poly + wc + lwg + inc, "binomial", link = "probit"),
  fit("prestige", prestige ~ education + log(income) + type, "gaussian"),
  fit("prestige", prestige ~ log(income) * type, "gaussian", errors = "robust"),
  fit("publications", articles ~ gender + married + kids + prestige + mentor, "poisson", errors = "robust"),
  fit("publications", articles ~ gender + married + kids + prestige + mentor, "negative-binomial"),
  fit("recreation", trips ~ quality + ski + income, "poisson", errors = "HC1"),
  fit("pbc", bili ~ albumin + log(protime) + sex + factor(trt), "gamma", steps = c(iterates = 6)),
  fit("pbc", hepato ~ log(bili) + albumin + age, "binomial", errors = "robust"),
  fit("colon", dead ~ rx + node4 + extent + obstruct, "binomial"),
  fit("colon", dead ~ rx + node4 + adhere, "modified-poisson", errors = "robust"),
  fit("colon", dead ~ rx + node4, "binomial", link = "log"))

# ---- text

number <- function(x) ifelse(is.na(x), "null", sprintf("%.15g", x))
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
quoted <- function(x) paste0("\"", x, "\"")
object <- function(fields, pad, inner) paste0("{\n", paste0(pad, inner, quoted(names(fields)), ": ", fields, collapse = ",\n"), "\n", pad, "}")
optional <- function(x, text) if (is.null(x)) "null" else text(x)
# The fewest digits that give the same double.
shortest <- function(x) vapply(x, function(one) {
  for (digits in 1:17) if (as.numeric(text <- sprintf("%.*g", digits, one)) == one) return(if (one == round(one)) sprintf("%.0f", one) else text)
}, "")

cells <- function(column) if (is.factor(column)) gsub("[^A-Za-z0-9.<>+-]", "_", as.character(column)) else shortest(column)
write_table <- function(name, table) {
  lines <- c(paste(names(table$data), collapse = ","), do.call(paste, c(lapply(table$data, cells), sep = ",")))
  writeLines(lines, file.path("tests/tables", table$folder, paste0(name, ".csv")))
}

column_text <- function(name, table) {
  column <- table$data[[name]]
  if (is.factor(column)) return(sprintf("{\"name\": \"%s\", \"levels\": %s}", name, listed(quoted(cells(factor(levels(column), levels(column)))))))
  bounds <- table$bounds[[name]]
  if (is.null(bounds)) bounds <- signif(range(pretty(column, 4)), 6)
  whole <- all(column == round(column)) && !(name %in% names(table$bounds) && any(bounds != round(bounds)))
  sprintf("{\"name\": \"%s\", \"type\": \"%s\", \"lower\": %s, \"upper\": %s}", name, if (whole) "integer" else "numeric",
    shortest(bounds[1]), shortest(bounds[2]))
}
value_text <- function(x) {
  text <- if (is.character(x)) quoted(x) else shortest(x)
  if (length(x) > 1) listed(text) else text
}
derived_text <- function(name, spec) {
  for (key in intersect(names(spec), c("points", "labels", "knots"))) spec[[key]] <- as.list(spec[[key]])
  values <- vapply(spec, function(x) if (is.list(x)) listed(vapply(x, value_text, "")) else value_text(x), "")
  paste0("{\"name\": ", quoted(name), ", ", paste0(quoted(names(values)), ": ", values, collapse = ", "), "}")
}
table_text <- function(name) {
  table <- tables[[name]]
  object(c(file = quoted(paste0(table$folder, "/", name, ".csv")), source = quoted(table$source), rows = nrow(table$data),
    columns = paste0("[", paste0("\n        ", vapply(names(table$data), column_text, "", table), collapse = ","), "]"),
    derived = listed(vapply(names(table$derived), function(n) derived_text(n, table$derived[[n]]), ""))), "    ", "  ")
}

# ---- the fits

derive <- function(x, spec) switch(spec$transform,
  ns = unclass(ns(x, knots = spec$knots, Boundary.knots = spec$boundary)),
  scale = (x - spec$centre) / spec$scale,
  cut = cut(x, c(-Inf, spec$points, Inf), spec$labels),
  poly = outer((x - spec$centre) / spec$scale, seq_len(spec$degree), "^"))

rows_of <- function(case) {
  table <- tables[[case$data]]
  data <- table$data
  for (name in names(table$derived)) data[[name]] <- derive(data[[table$derived[[name]]$from]], table$derived[[name]])
  if (is.null(case$weights)) data else data[rep(seq_len(nrow(data)), data[[case$weights]]), ]
}

laws <- list(binomial = binomial, poisson = poisson, gaussian = gaussian, gamma = Gamma, "quasi-binomial" = quasibinomial,
  "quasi-poisson" = quasipoisson, "modified-poisson" = poisson)
links <- c(binomial = "logit", poisson = "log", gaussian = "identity", gamma = "log", "quasi-binomial" = "logit",
  "quasi-poisson" = "log", "modified-poisson" = "log")

fitted_by_glm <- function(case, data) {
  law <- laws[[case$family]](if (is.null(case$link)) links[[case$family]] else case$link)
  start <- if (identical(case$link, "log")) c(log(mean(data[[all.vars(case$formula)[1]]])), rep(0, ncol(model.matrix(case$formula, data)) - 1))
  fit <- glm(case$formula, law, data, start = start, control = glm.control(epsilon = 1e-14, maxit = 200))
  # Once more from there: the deviance stops moving before the estimates do.
  fit <- suppressWarnings(glm(case$formula, law, data, start = coef(fit), control = glm.control(epsilon = 1e-16, maxit = 20)))
  errors <- if (is.null(case$errors)) "model" else case$errors
  covariance <- switch(errors, model = vcov(fit), robust = vcovHC(fit, type = "HC0"), HC1 = vcovHC(fit, type = "HC1"),
    cluster = vcovCL(fit, data[[case$cluster]], type = "HC0"))
  dispersed <- case$family %in% c("gaussian", "gamma", "quasi-binomial", "quasi-poisson")
  df <- if (dispersed) fit$df.residual else NA
  likelihood <- !grepl("quasi|modified", case$family)
  null <- !is.null(model.offset(model.frame(fit))) && fit$family$family == "binomial"
  list(b = coef(fit), covariance = covariance, df = df, dispersion = if (dispersed) summary(fit)$dispersion else NA,
    deviance = fit$deviance, null_deviance = if (null) NA else fit$null.deviance, df_residual = fit$df.residual,
    log_likelihood = if (likelihood) as.numeric(logLik(fit)) else NA, aic = if (likelihood) fit$aic else NA, theta = NA,
    theta_error = NA, tests = tests_of(fit, coef(fit), covariance, rep(TRUE, length(coef(fit))), df))
}

close <- function(a, b, within) stopifnot(length(a) == length(b), all(abs(a - b) <= within))

# By Newton's method, which the packages' own fits are close to: these stop earlier.
fitted_by_newton <- function(case, data) {
  x <- model.matrix(case$formula, data)
  y <- model.response(model.frame(case$formula, data))
  assigned <- attr(x, "assign")
  classes <- nlevels(y)
  if (case$family == "ordinal") {
    x <- x[, assigned > 0, drop = FALSE]
    assigned <- assigned[assigned > 0]
  }
  if (is.factor(y)) y <- as.integer(y) - 1
  fit <- switch(case$family, "negative-binomial" = negative_binomial, ordinal = ordinal, multinomial = multinomial)(x, y, rep(0, length(y)))
  model_error <- sqrt(diag(fit$covariance))
  if (case$family == "negative-binomial") {
    # Its standard errors are as glm's, of the weights before the last step.
    own <- suppressWarnings(glm.nb(case$formula, data, control = glm.control(epsilon = 1e-13, maxit = 200)))
    close(coef(own), fit$b, 1e-4 * model_error)
    close(sqrt(diag(vcov(own))), model_error, 1e-4 * model_error)
    close(c(own$theta, own$SE.theta), c(fit$theta, fit$theta_error), 1e-3 * fit$theta_error)
    close(own$deviance, fit$deviance, 1e-3)
    close(as.numeric(logLik(own)), fit$loglik, 1e-6)
  } else if (case$family == "ordinal") {
    own <- polr(case$formula, data, Hess = TRUE, control = list(reltol = 1e-15, maxit = 1000))
    close(c(own$coefficients, own$zeta), fit$b, 1e-3 * model_error)
    close(sqrt(diag(vcov(own))), model_error, 1e-3 * model_error)
    close(as.numeric(logLik(own)), fit$loglik, 1e-6)
  } else {
    own <- nnet::multinom(case$formula, data, Hess = TRUE, reltol = 1e-15, abstol = 0, maxit = 1000, trace = FALSE)
    close(as.vector(t(coef(own))), fit$b, 1e-3 * model_error)
    close(sqrt(diag(solve(own$Hessian))), model_error, 1e-3 * model_error)
    close(as.numeric(logLik(own)), fit$loglik, 1e-6)
  }
  if (!is.null(case$errors)) {
    stopifnot(case$errors == "robust")
    fit$covariance <- fit$covariance %*% crossprod(fit$scores) %*% fit$covariance
    if (case$family != "multinomial") close(sqrt(diag(sandwich(own))), sqrt(diag(fit$covariance)), 1e-3 * model_error)
  }
  label <- attr(terms(case$formula), "term.labels")
  times <- if (case$family == "multinomial") classes - 1 else 1
  one <- function(term) {
    at <- as.vector(outer(which(assigned == term), (seq_len(times) - 1) * ncol(x), "+"))
    if (length(at) == 1) return(NULL)
    solved <- solve(fit$covariance[at, at], fit$b[at])
    w <- sum(fit$b[at] * solved)
    sprintf("{\"term\": \"%s\", \"columns\": %d, \"statistic\": %.15g, \"p_value\": %.15g, \"slope\": %.6g}", label[term], length(at), w,
      pchisq(w, length(at), lower.tail = FALSE), 2 * sum(abs(solved) * sqrt(diag(fit$covariance)[at])))
  }
  c(fit[c("b", "covariance", "deviance", "theta", "theta_error")], list(df = NA, dispersion = NA, null_deviance = NA,
    df_residual = length(y) - length(fit$b), log_likelihood = fit$loglik, aic = 2 * fit$parameters - 2 * fit$loglik,
    tests = paste0("[", paste(unlist(lapply(seq_along(label), one)), collapse = ", "), "]")))
}

fit_text <- function(case) {
  data <- rows_of(case)
  environment(case$formula) <- globalenv()
  made <- (if (case$family %in% names(laws)) fitted_by_glm else fitted_by_newton)(case, data)
  error <- sqrt(diag(made$covariance))
  statistic <- made$b / error
  p_value <- 2 * (if (is.na(made$df)) pnorm(-abs(statistic)) else pt(-abs(statistic), made$df))
  object(c(table = quoted(case$data), formula = quoted(paste(deparse(case$formula, 200), collapse = "")), family = quoted(case$family),
    link = optional(case$link, quoted), errors = optional(case$errors, quoted), weights = optional(case$weights, quoted),
    weights_type = optional(case$type, quoted), cluster = optional(case$cluster, quoted), steps = paste0("{", paste0(quoted(names(case$steps)), ": ", case$steps, collapse = ", ", recycle0 = TRUE), "}"),
    rows = nrow(data), clusters = optional(case$cluster, function(name) length(unique(data[[name]]))), df = number(made$df), estimate = listed(number(made$b)),
    standard_error = listed(number(error)), p_value = listed(number(p_value)), dispersion = number(made$dispersion),
    deviance = number(made$deviance), null_deviance = number(made$null_deviance), df_residual = made$df_residual,
    log_likelihood = number(made$log_likelihood), aic = number(made$aic), theta = number(made$theta), theta_error = number(made$theta_error),
    tests = made$tests), "    ", "  ")
}

# Only what some model has.
used <- function(name) unlist(lapply(fits[vapply(fits, function(case) case$data == name, NA)], function(case)
  c(all.vars(case$formula), case$weights, case$cluster, vapply(tables[[name]]$derived, function(spec) spec$from, ""))))
for (name in names(tables)) {
  data <- tables[[name]]$data
  tables[[name]]$data <- data[, names(data) %in% used(name)]
}

for (name in names(tables)) write_table(name, tables[[name]])
cat("{\n  \"r\": ", quoted(paste(R.version$major, R.version$minor, sep = ".")), ",\n  \"packages\": {",
  paste0(quoted(c("MASS", "carData", "AER", "survival", "sandwich", "nnet")), ": ",
    quoted(vapply(c("MASS", "carData", "AER", "survival", "sandwich", "nnet"), function(p) as.character(packageVersion(p)), "")), collapse = ", "),
  "},\n  \"tables\": {\n", paste0("    ", quoted(names(tables)), ": ", vapply(names(tables), table_text, ""), collapse = ",\n"),
  "\n  },\n  \"fits\": [\n", paste0("    ", vapply(fits, fit_text, ""), collapse = ",\n"), "\n  ]\n}\n", sep = "")
