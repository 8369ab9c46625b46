"""Compares what `bench/fixtures/outside_worlds.rs` wrote with scikit-learn, and with the textbook's formulas in numpy."""

import json
import sys
import warnings

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.tree import DecisionTreeRegressor

with open(sys.argv[1], encoding="utf-8") as file:
    written = json.load(file)
inputs, targets = np.array(written["inputs"]), np.array(written["targets"])
asked = inputs[written["unseen"]]
truth = targets[written["unseen"]]


def kernel_of(covariance, bounds):
    smooth = ConstantKernel(covariance["smooth"], bounds) * RBF(covariance["lengths"], bounds)
    straight = ConstantKernel(covariance["straight"], bounds) * DotProduct(1.0, "fixed")
    return smooth, straight, WhiteKernel(covariance["noise"], bounds)


def exact_process():
    ours = written["exact"]
    x, y = inputs[: ours["rows"]], targets[: ours["rows"]]
    smooth, straight, noise = kernel_of(ours["process"]["covariance"], "fixed")
    theirs = GaussianProcessRegressor(smooth + straight + noise, alpha=0.0, optimizer=None).fit(x, y)
    mean, deviation = theirs.predict(asked, return_std=True)
    # The means agree to far below the noise, the variances to rounding.
    assert np.abs(mean - ours["mean"]).max() < 1e-7, np.abs(mean - ours["mean"]).max()
    assert np.abs(deviation**2 / ours["variance"] - 1).max() < 1e-5
    # Their own search for the covariance finds nothing likelier than ours, but for a little.
    reached = theirs.log_marginal_likelihood_value_
    best = -np.inf
    for length, start_noise in [(1.0, 1e-2), (3.0, 1e-3)]:
        start = {"smooth": 1.0, "lengths": [length] * 3, "straight": 1.0, "noise": start_noise}
        smooth, straight, noise = kernel_of(start, (1e-7, 1e3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            searched = GaussianProcessRegressor(smooth + straight + noise, alpha=0.0).fit(x, y)
        best = max(best, searched.log_marginal_likelihood_value_)
    assert reached > best - 0.5, (reached, best)
    return f"likelihood {reached:.2f} (theirs {best:.2f})"


def sparse_process():
    ours = written["sparse"]
    process, covariance = ours["process"], ours["process"]["covariance"]
    x, y = inputs[: ours["rows"]], targets[: ours["rows"]]
    smooth, straight, noise = kernel_of(covariance, "fixed")
    centres = np.array(process["centres"])
    assert len(centres) <= 120
    # The covariance as the centres see it, in its full size: Q = K_fu K_uu⁻¹ K_uf, and the straight part as it is.
    of_centres = smooth(centres) + process["nugget"] * covariance["smooth"] * np.eye(len(centres))

    def seen(a, b):
        return smooth(a, centres) @ np.linalg.solve(of_centres, smooth(centres, b)) + straight(a, b)

    whole = seen(x, x) + covariance["noise"] * np.eye(len(x))
    between = seen(asked, x)
    mean = between @ np.linalg.solve(whole, y)
    prior = np.diag(smooth(asked)) + np.diag(straight(asked)) + covariance["noise"]
    variance = prior - np.einsum("ij,ji->i", between, np.linalg.solve(whole, between.T))
    assert np.abs(mean - ours["mean"]).max() < 1e-5, np.abs(mean - ours["mean"]).max()
    assert np.abs(variance / ours["variance"] - 1).max() < 1e-3, np.abs(variance / ours["variance"] - 1).max()
    # And what few centres lose against all rows.
    theirs = GaussianProcessRegressor(smooth + straight + noise, alpha=0.0, optimizer=None).fit(x, y)
    lost = np.sqrt(np.mean((theirs.predict(asked) - ours["mean"]) ** 2))
    assert lost < 0.3 * np.sqrt(covariance["noise"]), lost
    return f"{len(centres)} centres for {len(x)} rows, {lost:.1e} from exact"


def single_tree():
    ours = written["tree"]
    theirs = DecisionTreeRegressor(min_samples_leaf=ours["leaf"], random_state=0)
    theirs.fit(inputs[: ours["rows"]], targets[: ours["rows"]])
    assert theirs.get_n_leaves() == ours["leaves"][0], (theirs.get_n_leaves(), ours["leaves"])
    # The same rows stand in the same leaves. Of divisions that part the same rows by different inputs each takes another, so
    # that rows in between may go elsewhere.
    same = np.mean(np.abs(theirs.predict(inputs[: ours["rows"]]) - ours["seen"]) < 1e-6)
    assert same > 0.99, same
    equal = np.mean(np.abs(theirs.predict(asked) - ours["mean"]) < 1e-6)
    assert equal > 0.9, equal
    return f"the same for {100 * same:.0f} % of the rows seen, {100 * equal:.0f} % of others"


def forest():
    ours = written["forest"]
    error = np.mean((np.array(ours["mean"]) - truth) ** 2)
    errors = []
    for seed in range(5):
        theirs = RandomForestRegressor(50, min_samples_leaf=ours["leaf"], random_state=seed)
        theirs.fit(inputs[: ours["rows"]], targets[: ours["rows"]])
        errors.append(np.mean((theirs.predict(asked) - truth) ** 2))
    assert 0.85 * min(errors) < error < 1.15 * max(errors), (error, errors)
    return f"error {error:.4f} (theirs {min(errors):.4f} to {max(errors):.4f})"


for check in [exact_process, sparse_process, single_tree, forest]:
    print(f"{check.__name__.replace('_', ' ')}: {check()}")
