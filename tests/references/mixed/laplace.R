# Writes laplace.json: logistic and Poisson models with a random intercept by lme4's glmer (Laplace's approximation), of
# tables that lme4 comes with, of the example examples/ward_recovery and of made-up ones, for tests/stats/mixed and
# tests/methods/mixed.
# Rscript tests/references/mixed/laplace.R > tests/references/mixed/laplace.json
suppressMessages(library(lme4))
number <- function(x) sprintf("%.12g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
object <- function(fields, pad) paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")
table <- function(source, family, formula, group, data) {
  data$cluster <- match(data[[group]], unique(data[[group]]))
  full <- update(formula, . ~ . + (1 | cluster))
  fit <- glmer(full, data, family, control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12,
                                                          optCtrl = list(rhobeg = 0.01, rhoend = 1e-9, maxfun = 100000)))
  # Once more from there.
  fit <- update(fit, start = getME(fit, c("theta", "fixef")))
  y <- model.response(model.frame(formula, data))
  x <- model.matrix(formula, data)
  object(c(source = paste0("\"", source, "\""), family = paste0("\"", family, "\""), formula = paste0("\"", deparse(formula, 300), "\""),
           columns = listed(paste0("\"", colnames(x), "\"")), x = listed(number(t(x))), y = listed(number(y)), cluster = listed(data$cluster - 1),
           estimate = listed(number(fixef(fit))), standard_error = listed(number(sqrt(diag(as.matrix(vcov(fit, use.hessian = TRUE)))))),
           tau = number(unname(getME(fit, "theta"))), log_likelihood = number(as.numeric(logLik(fit))),
           aic = number(AIC(fit)), bic = number(BIC(fit))), "  ")
}
rows_of_herds <- do.call(rbind, lapply(seq_len(nrow(cbpp)), function(i) {
  herd <- cbpp[i, ]
  data.frame(ill = rep(c(1, 0), c(herd$incidence, herd$size - herd$incidence)), period = herd$period, herd = herd$herd)
}))
ticks <- transform(grouseticks, height = (HEIGHT - 460) / 80)
wards <- do.call(rbind, lapply(c("north", "south", "west"), function(site) {
  rows <- read.csv(file.path("examples/ward_recovery", site, "data.csv"))
  rows$group <- paste(site, rows$ward)
  rows
}))
wards <- wards[complete.cases(wards), ]
wards$good <- as.integer(wards$score > 60)
wards$therapy <- factor(wards$therapy, c("usual", "new"))
wards$severity <- factor(wards$severity, c("mild", "moderate", "severe"))
RNGversion("4.2.0")
set.seed(1)
made <- data.frame(group = rep(1:30, each = 12), x = runif(360, -1, 1))
made$y <- rpois(360, exp(1 + 0.5 * made$x + rnorm(30, 0, 0.4)[made$group]))
set.seed(3)
alike <- data.frame(group = rep(1:25, each = 8), x = runif(200, -1, 1))
alike$y <- rbinom(200, 1, plogis(0.3 + alike$x))
tables <- c(herds = table("lme4 cbpp, a row for each animal", "binomial", ill ~ period, "herd", rows_of_herds),
            ticks = table("lme4 grouseticks", "poisson", TICKS ~ YEAR + height, "BROOD", ticks),
            wards = table("examples/ward_recovery", "binomial", good ~ age + therapy + severity, "group", wards),
            counts = table("made up", "poisson", y ~ x, "group", made),
            alike = table("made up, groups alike", "binomial", y ~ x, "group", alike))
cat(object(tables, ""), "\n", sep = "")
