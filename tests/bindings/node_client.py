"""node_client.py STEP NODE: a step of node_client_test.sh, by the Python package."""

from __future__ import annotations

import sys
import time

import partita as pt

NAMES = ["north", "south", "west"]


def study(name: str) -> pt.Study:
    made = pt.Study(name, NAMES, {"readmitted": pt.Variable("integer", 0, 1), "age": (18, 98), "sex": ["female", "male"]},
                    engine="replicated", min_rows=1000)
    return made.add(pt.GLM("readmitted ~ age + sex"))


def refused(kind: type[pt.PartitaError], words: str, act: object) -> None:
    assert callable(act)
    try:
        act()
    except kind as error:
        assert words in str(error) and error.hint, str(error)
        return
    raise AssertionError(f"no {kind.__name__} with {words!r}")


def expect_fit(fit: pt.GLMFit) -> None:
    assert isinstance(fit, pt.GLMFit) and fit.converged, fit
    # R's glm of the pooled rows, and its standard errors; estimates open within 2^-7 of these.
    for term, estimate, error in (("(Intercept)", -2.75967963, 0.331452973), ("age", 0.0258672056, 0.00488089784), ("sex.male", 0.277778458, 0.125839254)):
        assert abs(fit.params[term] - estimate) < 0.02 * error, (term, fit.params[term])


def main(step: str, at: str) -> None:
    node = pt.Node(at)
    if step == "run":
        news: list[str] = []
        expect_fit(node.run(study("from-the-package"), progress=lambda now: news.append(now.phase)).fit)
        assert any("proposed" in line for line in news), news
    elif step == "follow":
        expect_fit(node.follow("from-the-package").fit)
        assert [of.name for of in node.studies()] == []
        over, = node.studies(over=True)
        assert (over.name, over.proposer, over.state) == ("from-the-package", "north", "finished"), over
        expect_fit(node.follow(over).fit)
    elif step == "elsewhere":
        refused(pt.NotReleasedError, "went to others", lambda: node.follow("from-the-package"))
    elif step == "withdraw":
        run = node.start(study("not-wanted"))
        while not (at_node := [of for of in node.studies() if of.name == "not-wanted"]):
            assert run.running
            time.sleep(0.05)
        node.withdraw(at_node[0], "we found a better question")
        refused(pt.RefusedError, "we found a better question", run.wait)
        assert run.progress is not None
    elif step == "mistakes":
        refused(pt.UsageError, "no study", lambda: node.follow("nobody-knows-it"))
        refused(pt.PartitaError, "no node", lambda: pt.Node("nowhere").studies())
        other = pt.Study("others", ["east", "south", "west"], {"age": (18, 98), "bmi": (10, 60)}, engine="replicated",
                         min_rows=1000).add(pt.GLM("bmi ~ age", "gaussian"))
        refused(pt.UsageError, "has no part in this study", lambda: node.run(other))


main(*sys.argv[1:])
