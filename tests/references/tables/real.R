# Writes real.json: tables that R and its packages MASS and survival come with, and what R makes of them by group, for
# tests/methods/describe: counts, means, deviations, quantiles of type 1, and the comparisons of groups.
# Rscript tests/references/tables/real.R > tests/references/tables/real.json
number <- function(x) ifelse(is.na(x) | !is.finite(x), "null", sprintf("%.15g", x))
quoted <- function(x) sprintf("\"%s\"", x)
listed <- function(x) paste0("[", paste(x, collapse = ","), "]")
object <- function(fields, pad) paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")
one_line <- function(fields) paste0("{", paste0("\"", names(fields), "\": ", fields, collapse = ", "), "}")

# Numbers and integers with bounds that were chosen for their meaning, factors with the order of their levels.
numeric <- function(values, lower, upper) list(values = values, type = "numeric", lower = lower, upper = upper)
integer <- function(values, lower, upper) list(values = values, type = "integer", lower = lower, upper = upper)
levels_of <- function(values) list(values = factor(as.character(values)), type = "factor")
written <- function(of) {
  if (of$type != "factor") stopifnot(all(of$values >= of$lower & of$values <= of$upper, na.rm = TRUE))
  one_line(c(type = quoted(of$type),
             if (of$type == "factor") c(levels = listed(quoted(levels(of$values)))) else c(lower = of$lower, upper = of$upper),
             values = listed(if (of$type == "factor") ifelse(is.na(of$values), "null", as.integer(of$values)) else number(of$values))))
}

is_counted <- function(of) of$type == "factor" || of$type == "integer" && of$lower == 0 && of$upper == 1
values_of <- function(of) if (of$type == "factor") levels(of$values) else 0:1
column <- function(of, rows) {
  x <- of$values[rows]
  there <- x[!is.na(x)]
  fields <- c(n = length(there), missing = sum(is.na(x)))
  one_line(if (is_counted(of)) c(fields, counts = listed(table(factor(there, values_of(of)))))
           else c(fields, mean = number(mean(there)), sd = number(sd(there)), quantiles = listed(number(quantile(there, c(0.25, 0.5, 0.75), type = 1)))))
}
# Yang and Dalton (2012).
distance <- function(a, b) {
  there <- a + b > 0
  p <- (a / sum(a))[there][-1]
  q <- (b / sum(b))[there][-1]
  if (length(p) == 0) return(0)
  covariance <- (diag(p, length(p)) - p %*% t(p) + diag(q, length(q)) - q %*% t(q)) / 2
  if (rcond(covariance) < 1e-14) return(NA)
  sqrt(drop(t(p - q) %*% solve(covariance, p - q)))
}
largest <- function(k, f) {
  all <- apply(combn(k, 2), 2, function(pair) f(pair[1], pair[2]))
  if (any(is.na(all))) NA else max(all)
}
of_numbers <- function(of, group) {
  keep <- !is.na(of$values) & !is.na(group)
  y <- of$values[keep]
  g <- droplevels(group[keep])
  m <- tapply(y, g, mean)
  s <- tapply(y, g, sd)
  # Values of one cell are tied.
  cells <- if (of$type == "integer") y else floor((y - of$lower) / ((of$upper - of$lower) / 4096))
  classic <- oneway.test(y ~ g, var.equal = TRUE)
  welch <- if (nlevels(g) == 2) t.test(y ~ g) else oneway.test(y ~ g)
  fields <- c(difference = number(largest(nlevels(g), function(i, j) abs(m[i] - m[j]) / sqrt((s[i]^2 + s[j]^2) / 2))),
              welch = listed(number(c(welch$statistic, welch$parameter, welch$p.value))),
              anova = listed(number(c(classic$statistic, classic$parameter, classic$p.value))),
              ranks = number(unname(kruskal.test(cells, g)$statistic)))
  if (nlevels(g) == 2) fields <- c(fields, of_means = listed(number(c(-diff(m), welch$conf.int))), wilcoxon = number(wilcox.test(cells ~ g, exact = FALSE, correct = FALSE)$p.value))
  one_line(fields)
}
of_counts <- function(of, group) {
  m <- table(group, factor(of$values, values_of(of)))
  kept <- m[rowSums(m) > 0, colSums(m) > 0, drop = FALSE]
  chi <- suppressWarnings(chisq.test(kept))
  fields <- c(difference = number(largest(nrow(kept), function(i, j) distance(kept[i, ], kept[j, ]))), chi_square = listed(number(c(chi$statistic, chi$parameter, chi$p.value))),
              fisher = number(fisher.test(kept, workspace = 2e7)$p.value))
  if (all(dim(m) == 2)) {
    c0 <- m[1, 2]; n0 <- sum(m[1, ]); c1 <- m[2, 2]; n1 <- sum(m[2, ])
    interval <- function(e, s) c(e, e * exp(c(-1, 1) * qnorm(0.975) * s))
    fields <- c(fields, odds_ratio = listed(number(interval((c1 / (n1 - c1)) / (c0 / (n0 - c0)), sqrt(1 / c1 + 1 / (n1 - c1) + 1 / c0 + 1 / (n0 - c0))))),
                risk_ratio = listed(number(interval((c1 / n1) / (c0 / n0), sqrt(1 / c1 - 1 / n1 + 1 / c0 - 1 / n0)))),
                risk_difference = listed(number(c(c1 / n1 - c0 / n0, suppressWarnings(prop.test(c(c1, c0), c(n1, n0), correct = FALSE))$conf.int))))
  }
  one_line(fields)
}
described <- function(source, group, ...) {
  columns <- list(...)
  g <- columns[[group]]$values
  there <- !is.na(g)  # rows without a group are left out
  variables <- setdiff(names(columns), group)
  of <- function(name) {
    v <- columns[[name]]
    one_line(c(columns = listed(c(sapply(levels(g), function(level) column(v, there & g == level)), column(v, there))),
               comparison = if (is_counted(v)) of_counts(v, g) else of_numbers(v, g)))
  }
  object(c(source = quoted(source), group = quoted(group), rows = sum(there), variables = object(sapply(variables, of), "    "),
           columns = object(sapply(columns, written), "    ")), "  ")
}

b <- MASS::birthwt
q <- MASS::quine
p <- MASS::Pima.tr2
m <- MASS::Melanoma
l <- subset(survival::colon, etype == 2)
pbc <- survival::pbc
mg <- survival::mgus2
tables <- c(
  birthwt = described("MASS birthwt", "smoke", smoke = levels_of(c("no", "yes")[1 + b$smoke]), age = integer(b$age, 10, 50), weight = integer(b$lwt, 50, 300), race = levels_of(c("white", "black", "other")[b$race]),
                      low = integer(b$low, 0, 1), ht = integer(b$ht, 0, 1), grams = numeric(b$bwt, 500, 5000)),
  quine = described("MASS quine", "age", age = levels_of(q$Age), eth = levels_of(q$Eth), sex = levels_of(q$Sex), lrn = levels_of(q$Lrn), days = integer(q$Days, 0, 100)),
  infert = described("R infert", "education", education = levels_of(infert$education), age = integer(infert$age, 15, 50), parity = integer(infert$parity, 1, 10), induced = levels_of(infert$induced), case = integer(infert$case, 0, 1)),
  pima = described("MASS Pima.tr2", "type", type = levels_of(p$type), npreg = integer(p$npreg, 0, 20), glu = integer(p$glu, 40, 220), bp = integer(p$bp, 20, 130), skin = integer(p$skin, 0, 110), bmi = numeric(p$bmi, 10, 70), ped = numeric(p$ped, 0, 3)),
  melanoma = described("MASS Melanoma", "ulcer", ulcer = levels_of(c("no", "yes")[1 + m$ulcer]), sex = integer(m$sex, 0, 1), age = integer(m$age, 0, 100), thickness = numeric(m$thickness, 0, 20), status = levels_of(m$status)),
  pbc = described("survival pbc", "trt", trt = levels_of(pbc$trt), age = numeric(round(pbc$age, 2), 20, 80), sex = levels_of(pbc$sex), hepato = integer(pbc$hepato, 0, 1), edema = levels_of(pbc$edema), bili = numeric(pbc$bili, 0, 30),
                  chol = integer(pbc$chol, 0, 2000), albumin = numeric(pbc$albumin, 1, 6), platelet = integer(pbc$platelet, 0, 1000), stage = levels_of(pbc$stage)),
  colon = described("survival colon", "rx", rx = levels_of(l$rx), sex = integer(l$sex, 0, 1), age = integer(l$age, 18, 90), nodes = integer(l$nodes, 0, 40), differ = levels_of(l$differ), extent = levels_of(l$extent), perfor = integer(l$perfor, 0, 1)),
  mgus2 = described("survival mgus2", "sex", sex = levels_of(mg$sex), age = integer(mg$age, 20, 100), hgb = numeric(mg$hgb, 5, 20), creat = numeric(mg$creat, 0, 25), death = integer(mg$death, 0, 1)),
  warpbreaks = described("R warpbreaks", "tension", tension = levels_of(warpbreaks$tension), wool = levels_of(warpbreaks$wool), breaks = integer(warpbreaks$breaks, 0, 100)),
  anorexia = described("MASS anorexia", "treat", treat = levels_of(MASS::anorexia$Treat), prewt = numeric(MASS::anorexia$Prewt, 60, 110), postwt = numeric(MASS::anorexia$Postwt, 60, 110)),
  chickwts = described("R chickwts", "feed", feed = levels_of(chickwts$feed), weight = integer(chickwts$weight, 50, 500)),
  teeth = described("R ToothGrowth", "supp", supp = levels_of(ToothGrowth$supp), len = numeric(ToothGrowth$len, 0, 50), dose = levels_of(ToothGrowth$dose)),
  iris = described("R iris", "species", species = levels_of(iris$Species), length = numeric(iris$Sepal.Length, 0, 10), width = numeric(iris$Sepal.Width, 0, 10)))
cat(object(tables, ""), "\n", sep = "")
