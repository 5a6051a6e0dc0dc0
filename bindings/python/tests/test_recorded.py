"""Results of all methods, as the program prints them."""

from __future__ import annotations

import json
import math
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

import partita as pt

from partita.design import linear_predictor, rows_of

from .recorded import FOLDER, result

METHODS: dict[str, type[pt.Fit]] = {
    "glm": pt.GLMFit, "glm-aggregates": pt.GLMFit, "survival": pt.CurvesFit, "cox": pt.CoxFit, "mixed": pt.MixedFit, "meta": pt.MetaFit,
    "describe": pt.DescribeFit, "mcmc": pt.DrawsFit, "classify": pt.PrivateClassifier, "mixture": pt.MixtureFit,
    "marginals": pt.MarginalsFit,
}


def as_float(cell: object) -> float:
    assert isinstance(cell, float)
    return cell


class EveryMethod(unittest.TestCase):
    def test_has_a_class_a_summary_and_html(self) -> None:
        for name, kind in METHODS.items():
            with self.subTest(name):
                read = result(name)
                self.assertIs(type(read.fit), kind)
                text = str(read.fit.summary())
                self.assertIn(read.raw["study"]["title"], text)
                self.assertGreater(len(text.splitlines()), 3)
                self.assertIn("<table>", read._repr_html_())
                self.assertTrue(read.learned())
                self.assertIn("rounds", read.traffic().columns)
                self.assertEqual(read[next(iter(read))], read.fit)

    def test_is_among_the_methods_of_the_schema(self) -> None:
        recorded = {result(name).raw["plan"]["method"] for name in [*METHODS, "mle"]}
        schema = FOLDER.parents[1] / "docs" / "schemas" / "plan.json"
        if schema.exists():
            self.assertEqual(recorded, set(json.loads(schema.read_text())["properties"]["method"]["enum"]))

    def test_survives_writing_and_reading(self) -> None:
        read = result("glm")
        with tempfile.TemporaryDirectory() as folder:
            read.save(Path(folder) / "result.json")
            self.assertEqual(pt.read_result(Path(folder) / "result.json").raw, read.raw)
            os.chmod(Path(folder) / "result.json", 0o644)
            read.save(Path(folder) / "result.json")
            self.assertEqual((Path(folder) / "result.json").stat().st_mode & 0o777, 0o600)

    def test_a_newer_method_has_the_tables_of_its_report(self) -> None:
        raw = json.loads(json.dumps(result("meta").raw))
        raw["plan"]["method"] = "newer"
        fit = pt.Result(raw).fit
        self.assertIs(type(fit), pt.Fit)
        self.assertTrue(fit.tables())
        raw["schema_version"] = 4
        with self.assertRaises(pt.ProgramError):
            pt.Result(raw)

    def test_names_are_escaped(self) -> None:
        raw = json.loads(json.dumps(result("glm").raw))
        raw["study"]["title"] = "<script>"
        raw["result"]["coefficients"][0]["term"] = "<b>"
        html = pt.Result(raw)._repr_html_()
        self.assertNotIn("<script>", html)
        self.assertNotIn("<b>", html)

    def test_what_did_not_converge_warns_and_says_so_first(self) -> None:
        raw = json.loads(json.dumps(result("glm").raw))
        raw["result"].update(converged=False, fit=None)
        with tempfile.TemporaryDirectory() as folder:
            pt.Result(raw).save(Path(folder) / "result.json")
            with self.assertWarns(pt.NotConvergedWarning):
                read = pt.read_result(Path(folder) / "result.json")
        self.assertTrue(str(read.fit).splitlines()[2].startswith("NOT CONVERGED"))
        with self.assertRaises(pt.NotReleasedError):
            read.fit.llf


class Regressions(unittest.TestCase):
    def setUp(self) -> None:
        self.fit: pt.GLMFit = result("glm").fit

    def test_names_of_statsmodels(self) -> None:
        fit = self.fit
        terms = list(fit.params)
        self.assertEqual(terms[0], "(Intercept)")
        for numbers in (fit.bse, fit.tvalues, fit.zvalues, fit.pvalues):
            self.assertEqual(list(numbers), terms)
        self.assertEqual(list(fit.conf_int()), terms)
        for term in terms:
            self.assertAlmostEqual(fit.params[term] / fit.bse[term], fit.zvalues[term], delta=1e-6)
        self.assertAlmostEqual((fit.aic + 2 * fit.llf) / 2, len(terms), delta=1e-6)
        self.assertEqual(fit.nobs, fit.raw["result"]["rows"])
        self.assertFalse(fit.use_t)

    def test_intervals_of_other_levels(self) -> None:
        own, narrow = self.fit.conf_int(), self.fit.conf_int(alpha=0.2)
        for term, (low, high) in own.items():
            self.assertAlmostEqual(high - low, 2 * 1.959963984540054 * self.fit.bse[term], delta=1e-6)
            self.assertAlmostEqual(narrow[term][1] - narrow[term][0], 2 * 1.2815515655446 * self.fit.bse[term],
                                   delta=1e-9)
        self.assertEqual(self.fit.conf_int(alpha=0.05), own)

    def test_predictions_are_coefficients_by_columns(self) -> None:
        row = {"age": 70, "sex": "male", "smoker": 1, "ward": "surgery", "days": 5, "earlier_stays": 2}
        p = self.fit.params
        product = next(value for term, value in p.items() if ":" in term)
        eta = (p["(Intercept)"] + 70 * p["age"] + p["sex.male"] + p["smoker"] + p["ward.surgery"]
               + math.log(5) * p["log(days)"] + 2 * p["earlier_stays"] + product)
        self.assertAlmostEqual(self.fit.predict([row], which="linear")[0], eta, delta=1e-12)
        self.assertAlmostEqual(self.fit.predict({key: [value] for key, value in row.items()})[0],
                               1 / (1 + math.exp(-eta)), delta=1e-12)
        with self.assertRaisesRegex(ValueError, "cannot be made"):
            self.fit.predict([{"age": 70}])

    def test_the_covariance_is_known_at_level_aggregates(self) -> None:
        with self.assertRaises(pt.NotReleasedError):
            self.fit.cov_params()
        fit: pt.GLMFit = result("glm-aggregates").fit
        table = fit.cov_params()
        self.assertEqual(list(table.columns), ["", *fit.params])
        for at, (term, error) in enumerate(fit.bse.items()):
            self.assertEqual(table.rows[at][0], term)
            self.assertAlmostEqual(as_float(table.rows[at][at + 1]), error ** 2, delta=1e-6 * error ** 2)
        # Of the reference of everything at the age of 0 a prediction is the intercept's.
        row = {"age": 0, "sex": "female", "smoker": 0, "ward": "medicine", "days": 1, "earlier_stays": 0}
        mean, spread, lower, upper = map(as_float, fit.get_prediction([row]).rows[0])
        eta, error_of_eta = fit.params["(Intercept)"], fit.bse["(Intercept)"]
        logistic = [1 / (1 + math.exp(-(eta + by * 1.959963984540054 * error_of_eta))) for by in (0, -1, 1)]
        for value, wanted in zip((mean, lower, upper), logistic, strict=True):
            self.assertAlmostEqual(value, wanted, delta=1e-6)
        self.assertAlmostEqual(spread, logistic[0] * (1 - logistic[0]) * error_of_eta, delta=1e-6)
        # Of a year more it has the covariance with the age in it.
        names = list(fit.params)
        age = names.index("age")
        both = [as_float(table.rows[0][1]), as_float(table.rows[0][age + 1]), as_float(table.rows[age][age + 1])]
        chance, error = map(as_float, fit.get_prediction([{**row, "age": 50}]).rows[0][:2])
        by_hand = math.sqrt(both[0] + 100 * both[1] + 2500 * both[2])
        self.assertAlmostEqual(error, chance * (1 - chance) * by_hand, delta=1e-9)

    def test_a_covariance_that_opened_rounded(self) -> None:
        # R of the pooled rows: tests/references/glm/covariance.R. Estimates are within 2^-7 standard errors.
        fit: pt.GLMFit = result("glm-covariance").fit
        table = fit.cov_params()
        for at, (term, error) in enumerate(fit.bse.items()):
            self.assertAlmostEqual(as_float(table.rows[at][at + 1]), error ** 2, delta=1e-12 * error ** 2)
        rows = {"age": [70, 40], "sex": ["female", "male"], "smoker": [1, 0], "ward": ["surgery", "medicine"],
                "days": [5, 12], "earlier_stays": [2, 0]}
        chances = fit.get_prediction(rows).rows
        for row, wanted in zip(chances, (0.0503839847445545, 0.0319452865727741), strict=True):
            self.assertAlmostEqual(as_float(row[1]), wanted, delta=0.02 * wanted)
        equal = [[0, 0, 0, 0, 1, -1, 0, 0, 0], [0, 0, 1, -1, 0, 0, 0, 0, 0]]
        test = fit.wald_test(equal)
        self.assertAlmostEqual(test.statistic, 33.6381909879822, delta=1)
        self.assertEqual((test.df_num, test.df_denom), (2, None))
        # Of a term the statistic that opened, which is on a grid of 2^-6.
        opened = {row[0]: as_float(row[2]) for row in fit.wald_test_terms().rows}
        of_ward = fit.wald_test(["ward.surgery", "ward.cardiology"]).statistic
        self.assertAlmostEqual(of_ward, opened["ward"], delta=0.01 * opened["ward"])
        smoker = fit.wald_test(["smoker"])
        self.assertAlmostEqual(smoker.p_value, fit.pvalues["smoker"], delta=1e-9)
        self.assertEqual(fit.wald_test(["smoker"], fit.params["smoker"]).statistic, 0)
        with self.assertRaisesRegex(ValueError, "no coefficient 'nobody'"):
            fit.wald_test(["nobody"])
        with self.assertRaisesRegex(ValueError, "2 numbers"):
            fit.wald_test([[1, 2]])
        with self.assertRaisesRegex(ValueError, "no hypothesis"):
            fit.wald_test([])
        with self.assertRaisesRegex(pt.NotReleasedError, "follows from the others"):
            fit.wald_test([equal[0], equal[0]])
        # Of a variance that rounding may be all of there is none.
        raw = json.loads(json.dumps(fit.raw))
        raw["result"]["vcov"]["steps"] = [1.0] * 9
        coarse: pt.GLMFit = pt.Result(raw).fit
        self.assertTrue(all(math.isnan(as_float(row[1])) for row in coarse.get_prediction(rows).rows))

    def test_intercepts_of_the_institutions_are_at_none_of_them(self) -> None:
        raw = json.loads(json.dumps(self.fit.raw))
        raw["result"]["sites"] = 3
        raw["result"]["coefficients"] = raw["result"]["coefficients"][1:]
        row = {"age": 70, "sex": "male", "smoker": 1, "ward": "surgery", "days": 5, "earlier_stays": 2}
        with self.assertRaisesRegex(pt.NotReleasedError, "no intercept"):
            pt.Result(raw).fit.predict([row])

    def test_levels_are_coded_as_the_result_says(self) -> None:
        row = {"age": 70, "sex": "female", "smoker": 1, "ward": "surgery", "days": 5, "earlier_stays": 2}
        p = self.fit.params
        male = self.fit.predict([{**row, "sex": "male"}], which="linear")[0]
        female = self.fit.predict([row], which="linear")[0]
        self.assertEqual(self.fit.predict([row], which="linear", reference={"sex": "female"})[0], female)
        self.assertAlmostEqual(male - female, p["sex.male"] + p["sex.male:smoker"], delta=1e-12)
        with self.assertRaisesRegex(ValueError, "no level 'Male'; there are: female, male"):
            self.fit.predict([{**row, "sex": "Male"}])
        with self.assertRaisesRegex(ValueError, "no factor"):
            self.fit.predict([row], reference={"smoker": 0})
        with self.assertRaisesRegex(ValueError, "not the reference"):
            self.fit.predict([row], reference={"sex": "male"})
        with self.assertRaisesRegex(ValueError, "names no columns"):
            self.fit.predict([row], reference={"gender": "male"})
        for missing in (None, math.nan):
            both = self.fit.predict([{**row, "sex": "male"}, {**row, "sex": missing}])
            self.assertEqual([math.isnan(value) for value in both], [False, True])

    def test_other_contrasts_than_treatment(self) -> None:
        codings: list[dict[str, Any]] = [
            {"name": "g", "variable": "g", "contrasts": "sum", "levels": ["a", "b", "c"], "reference": None,
             "columns": [{"name": "g.a", "values": [1, 0, -1]}, {"name": "g.b", "values": [0, 1, -1]}]},
            {"name": "stage", "variable": "stage", "contrasts": "scores", "levels": ["0", "1", "2"], "reference": None,
             "columns": [{"name": "stage", "values": [1, 2, 3]}]},
            {"name": "factor(k)", "variable": "k", "contrasts": "treatment", "levels": ["1", "2"], "reference": "1",
             "columns": [{"name": "factor(k).2", "values": [0, 1]}]}]
        rows = {"g": ["a", "c"], "stage": [0, 2], "k": [2, 1]}
        self.assertEqual(rows_of(["g.a", "g.b"], rows, None, codings), [[1, 0], [-1, -1]])
        self.assertEqual(rows_of(["stage", "stage:factor(k).2"], rows, None, codings), [[1, 1], [3, 0]])
        wrongs: list[tuple[dict[str, Any], str]] = [({"g": "a"}, "its contrasts are sum"), ({"k": 2}, "not the reference")]
        for reference, text in wrongs:
            with self.assertRaisesRegex(ValueError, text):
                rows_of(["g.a"], rows, reference, codings)
        # Columns that no factor has are no levels, whatever they are called.
        with self.assertRaisesRegex(ValueError, "cannot be made"):
            rows_of(["g.x"], rows, None, codings)

    def test_columns_of_levels(self) -> None:
        def of(terms: list[str], rows: object, **reference: object) -> list[float]:
            return linear_predictor({term: 1.0 for term in terms}, rows, reference)

        self.assertEqual(of(["g.not_known"], {"g": ["not known"]}), [1])
        self.assertEqual(of(["g.gr_n"], {"g": ["gr\u00fcn"]}), [1])
        self.assertEqual(of(["factor(k).2", "factor(k).3"], {"k": [3.0, 1, 2]}, k=1), [1, 0, 1])
        with self.assertRaisesRegex(ValueError, "same column"):
            of(["g.a_b"], {"g": ["a b", "a-b"]})
        # "L" is a level of a size, or a slope of an ordered one.
        for terms, value in ((["s.L", "s.Q"], "L"), (["s.1", "s.2"], 2)):
            with self.assertRaisesRegex(pt.NotReleasedError, "polynomials"):
                of(terms, {"s": [value]})
        self.assertEqual(of(["s.1", "s.2"], {"s": ["2"]}), [1])

    def test_rows_have_one_value_for_each_column(self) -> None:
        row = {"age": 70, "sex": "male", "smoker": 1, "ward": "surgery", "days": 5, "earlier_stays": 2}
        columns: dict[str, Any] = {name: [value, value] for name, value in row.items()}
        self.assertEqual(len(self.fit.predict(columns)), 2)
        wrongs: tuple[Any, ...] = (
            {**columns, "sex": "male"}, {**columns, "sex": ["male"]}, {**columns, "age": 70}, [row, {"age": 1}],
            {**columns, "smoker": ["1", "1"]}, [1, 2])
        for wrong in wrongs:
            with self.assertRaises(ValueError):
                self.fit.predict(wrong)

    def test_what_did_not_open_says_so(self) -> None:
        with self.assertRaises(pt.NotReleasedError) as caught:
            self.fit.cov_params()
        self.assertIn("nested model", caught.exception.hint)
        self.assertIn("covariance = true", caught.exception.hint)
        with self.assertRaises(pt.NotReleasedError):
            self.fit.resid()

    def test_likelihood_ratio(self) -> None:
        raw = json.loads(json.dumps(self.fit.raw))
        raw["result"]["coefficients"] = raw["result"]["coefficients"][:-2]
        raw["result"]["fit"]["log_likelihood"] -= 3
        smaller: pt.GLMFit = pt.Result(raw).fit
        statistic, p, df = self.fit.compare_lr_test(smaller)
        self.assertAlmostEqual(statistic, 6, delta=1e-9)
        self.assertAlmostEqual(p, math.exp(-3), delta=1e-9)
        self.assertEqual(df, 2)
        with self.assertRaises(ValueError):
            smaller.compare_lr_test(self.fit)
        raw["result"]["fit"]["log_likelihood"] += 6
        with self.assertRaisesRegex(ValueError, "fits better"):
            self.fit.compare_lr_test(pt.Result(raw).fit)

        def both(**changed: object) -> tuple[pt.GLMFit, pt.GLMFit]:
            changed_raws = [json.loads(json.dumps(of)) for of in (self.fit.raw, raw)]
            for of in changed_raws:
                of["result"].update(changed)
            return pt.Result(changed_raws[0]).fit, pt.Result(changed_raws[1]).fit

        unlikely: tuple[dict[str, Any], ...] = (
            {"errors": "robust"}, {"errors": "cluster"}, {"ridge": 0.01}, {"firth": True},
            {"family": "modified-poisson"}, {"family": "quasi-poisson"})
        for changed in unlikely:
            larger, other = both(**changed)
            with self.subTest(changed), self.assertRaises(pt.NotReleasedError):
                larger.compare_lr_test(other)
        others: tuple[dict[str, Any], ...] = (
            {"family": "poisson"}, {"link": "probit"}, {"weights": "frequency"}, {"formula": "died ~ age"})
        for changed in others:
            with self.subTest(changed), self.assertRaisesRegex(ValueError, "differ"):
                self.fit.compare_lr_test(both(**changed)[1])

    def test_cox_mixed_meta(self) -> None:
        cox: pt.CoxFit = result("cox").fit
        for term, ratio in cox.ratios().items():
            assert ratio.value is not None
            self.assertAlmostEqual(math.log(ratio.value), cox.params[term], delta=1e-6)
        self.assertGreater(cox.llf, cox.llnull)
        fewer = json.loads(json.dumps(cox.raw))
        fewer["result"]["coefficients"].pop()
        fewer["result"]["fit"]["log_likelihood"] -= 3
        self.assertAlmostEqual(cox.compare_lr_test(pt.Result(fewer).fit)[0], 6, delta=1e-9)
        fewer["result"]["errors"] = "robust"
        for larger, other in ((cox, pt.Result(fewer).fit), (pt.Result(fewer).fit, cox)):
            with self.assertRaisesRegex(pt.NotReleasedError, "robust"):
                larger.compare_lr_test(other)
        mixed: pt.MixedFit = result("mixed").fit
        self.assertEqual(mixed.fe_params, mixed.params)
        assert mixed.between.value is not None and mixed.within.value is not None
        self.assertAlmostEqual(mixed.between.value / (mixed.between.value + mixed.within.value),
                               mixed.intraclass_correlation.value or 0, delta=1e-3)
        raw = json.loads(json.dumps(mixed.raw))
        raw["result"]["log_likelihood"] = None
        with self.assertRaisesRegex(pt.NotReleasedError, "no log likelihood"):
            pt.Result(raw).fit.llf
        meta: pt.MetaFit = result("meta").fit
        self.assertEqual(meta.nobs, 5)
        self.assertTrue(0 <= meta.i2 <= 1)
        raw = json.loads(json.dumps(meta.raw))
        raw["result"]["tau_squared"] = None
        self.assertTrue(math.isnan(pt.Result(raw).fit.tau2))

    def test_covariances_of_cox_and_mixed(self) -> None:
        # R of the pooled rows: tests/references/survival/covariance.R and mixed/covariance.R. Estimates are within 2^-6
        # standard errors.
        cox: pt.CoxFit = result("cox-covariance").fit
        table = cox.cov_params()
        self.assertEqual(list(table.columns), ["", *cox.params])
        for at, error in enumerate(cox.bse.values()):
            self.assertAlmostEqual(as_float(table.rows[at][at + 1]), error ** 2, delta=1e-12 * error ** 2)
        rows = {"arm": ["treated", "control"], "age": [70, 55], "sex": ["female", "male"], "stage": ["II", "III"]}
        hazards = cox.get_prediction(rows).rows
        for row, eta, wanted in zip(hazards, cox.predict(rows), (0.347813100892471, 0.286876515775621), strict=True):
            self.assertEqual(row[0], eta)
            self.assertAlmostEqual(as_float(row[1]), wanted, delta=0.02 * wanted)
            self.assertAlmostEqual(as_float(row[3]) - eta, 1.959963984540054 * as_float(row[1]), delta=1e-9)
        test = cox.wald_test([[1, 0, 0, 0, 0], [0, 0, 0, 1, -1]])
        self.assertAlmostEqual(test.statistic, 59.3000839853942, delta=1)
        mixed: pt.MixedFit = result("mixed-covariance").fit
        patients = {"age": [70, 45], "therapy": ["new", "usual"], "severity": ["severe", "moderate"]}
        means = mixed.get_prediction(patients).rows
        for row, wanted in zip(means, (0.9419142498, 0.909066391649), strict=True):
            self.assertAlmostEqual(as_float(row[1]), wanted, delta=0.001 * wanted)
        severity = mixed.wald_test(["severity.moderate", "severity.severe"])
        self.assertAlmostEqual(severity.statistic, 270.415453187, delta=1)
        for plain in ("cox", "mixed"):
            with self.assertRaisesRegex(pt.NotReleasedError, "did not open"):
                result(plain).fit.cov_params()
            with self.assertRaises(pt.NotReleasedError):
                result(plain).fit.get_prediction(rows if plain == "cox" else patients)
        with self.assertRaisesRegex(ValueError, "alpha"):
            cox.get_prediction(rows, alpha=1)

    def test_private_sums(self) -> None:
        fit = pt.SumsRegressionFit(json.loads((FOLDER / "sums.json").read_text())["data"])
        self.assertEqual(fit.confidence, 0.95)
        for term, (low, high) in fit.conf_int().items():
            self.assertTrue(low < fit.params[term] < high)
        self.assertIn("residual standard deviation", str(fit))


class Models(unittest.TestCase):
    def setUp(self) -> None:
        self.fits = result("mle")

    def test_lavaans_columns(self) -> None:
        self.assertEqual(list(self.fits), ["free", "equal", "robust", "regression"])
        with self.assertRaises(KeyError):
            self.fits.fit
        free: pt.SEMFit = self.fits["free"]
        self.assertEqual(list(free.parameter_estimates(standardized=True).columns),
                         ["lhs", "op", "rhs", "est", "se", "z", "pvalue", "ci.lower", "ci.upper", "std.lv", "std.all"])
        self.assertIn("label", self.fits["equal"].parameter_estimates().columns)
        self.assertIn("visual=~x2", free.params)

    def test_standard_errors_are_roots_of_the_diagonal(self) -> None:
        for name in ("free", "equal", "robust"):
            fit: pt.SEMFit = self.fits[name]
            matrix = fit.cov_params()
            self.assertEqual([of.term for of in fit.coefficients], list(matrix.columns)[1:])
            for i, of in enumerate(fit.coefficients):
                self.assertAlmostEqual(math.sqrt(float(str(matrix.rows[i][i + 1]))), of.std_error, delta=1e-9)

    def test_nested_models(self) -> None:
        free, equal = self.fits["free"], self.fits["equal"]
        statistic, p, df = free.compare_lr_test(equal)
        self.assertEqual(df, 1)
        self.assertAlmostEqual(statistic, equal.fit_measures()["chisq"] - free.fit_measures()["chisq"], delta=1e-12)
        self.assertAlmostEqual(p, math.erfc(math.sqrt(statistic / 2)), delta=1e-12)
        with self.assertRaises(pt.NotReleasedError):
            free.compare_lr_test(self.fits["robust"])
        raw = json.loads(json.dumps(self.fits.raw))
        for analysis in raw["analyses"]:
            if analysis["name"] == "equal":
                analysis["fit"]["chisq"] = free.fit_measures()["chisq"] - 1
        with self.assertRaisesRegex(ValueError, "fits better"):
            free.compare_lr_test(pt.Result(raw)["equal"])

    def test_regression_predicts(self) -> None:
        fit: pt.SEMFit = self.fits["regression"]
        moments = fit.body["moments"]
        means = dict(zip(moments["variables"], moments["groups"][0]["mean"]))
        self.assertAlmostEqual(fit.predict([means])[0], means["x9"], delta=1e-6)
        self.assertTrue(fit.least_squares())
        body = json.loads(json.dumps(fit.body))
        body["least_squares"][0]["terms"] = [
            term for term in body["least_squares"][0]["terms"] if term["name"] != "(Intercept)"]
        with self.assertRaisesRegex(pt.NotReleasedError, "no intercept"):
            pt.SEMFit(fit.name, fit.raw, body).predict([means])
        with self.assertRaises(pt.NotReleasedError):
            self.fits["free"].predict([means])


class Others(unittest.TestCase):
    def test_curves(self) -> None:
        fit: pt.CurvesFit = result("survival").fit
        self.assertEqual(fit.groups, ["control", "treated"])
        self.assertEqual(len(fit.curves()), 8)
        test = fit.log_rank()
        assert test is not None
        self.assertEqual(test[2], 1)

    def test_table_1(self) -> None:
        fit: pt.DescribeFit = result("describe").fit
        self.assertEqual(fit.group, "arm")
        self.assertIn("q50", fit.table().columns)
        self.assertTrue(len(fit.comparisons()) > 3)

    def test_classifier(self) -> None:
        fit: pt.PrivateClassifier = result("classify").fit
        self.assertEqual(len(fit.coef_[0]), len(fit.columns))
        rows = [{name: 1.0 for name in fit.columns}]
        scores = fit.decision_function(rows)
        self.assertAlmostEqual(scores[fit.classes_[0]][0], sum(fit.coef_[0]), delta=1e-12)

    def test_draws_and_synthetic_rows(self) -> None:
        draws: pt.DrawsFit = result("mcmc").fit
        self.assertEqual(list(draws.params), draws.posterior().column("name"))
        mixture: pt.MixtureFit = result("mixture").fit
        self.assertAlmostEqual(sum(mixture.weights), 1, delta=1e-6)
        self.assertTrue(result("marginals").fit.counts())

    def test_plan_and_error(self) -> None:
        plan = pt.Plan(json.loads((FOLDER / "plan.json").read_text())["data"])
        self.assertEqual(set(plan.learns()), {"north", "south", "west"})
        self.assertIn("north", str(plan))
        text = " ".join(str(plan).split())
        self.assertIn("Gives away:", text)
        self.assertIn("at most half of the bits of the table of covariates", text)
        self.assertIn("no bound: the releases are exact", text)
        self.assertIn("also written as coefficients.csv", text)
        self.assertIn("<table>", plan._repr_html_())
        self.assertEqual(len(plan.hash), 64)
        with self.assertRaises(pt.BadInputError) as caught:
            pt.read_result(FOLDER / "error.json")
        self.assertTrue(caught.exception.hint)
