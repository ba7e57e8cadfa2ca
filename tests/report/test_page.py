"""The page of a report: what it says is true, whatever is in it stays text, and it needs nothing beside itself."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    precision_recall_fscore_support,
    roc_auc_score,
)
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, label_binarize

import slackwater
from html_page import Page
from slackwater import SVC, SBPClassifier
from slackwater.baselines import FourierSVC, KernelPerceptron, PegasosClassifier, SIMBAClassifier, SMOClassifier
from slackwater.evaluation import evaluate_predictions
from slackwater.report.sections.margins import training_slack
from slackwater.report.subject import see

SECTIONS = [
    "measures", "confusion", "curves", "margins", "water", "convergence", "decisions", "certificate", "parameters",
    "environment",
]  # fmt: skip


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer()
    X = StandardScaler().fit_transform(data.data)
    return train_test_split(X, data.target_names[data.target], test_size=0.4, random_state=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X[:900] / 16.0, y[:900], test_size=0.5, random_state=0)


@pytest.fixture
def report(tmp_path):
    def make(model, X, y, **options):
        path = tmp_path / "report.html"
        model.report(X, y, path, **options)
        return path.read_text(encoding="utf-8")

    return make


def row(page, table, name):
    (found,) = [cells for cells in page.tables[table] if cells[0] == name]
    return found


# ---- numbers


def test_the_numbers_of_two_classes_are_those_of_scikit_learn(cancer, report):
    X, X_test, y, y_test = cancer
    model = SVC(C=2.0).fit(X, y)
    page = Page(report(model, X_test, y_test))
    predicted, scores = model.predict(X_test), model.decision_function(X_test)
    table = "Measures over all classes"
    expected = {
        "Accuracy": accuracy_score(y_test, predicted),
        "Balanced accuracy": balanced_accuracy_score(y_test, predicted),
        "Macro F1": f1_score(y_test, predicted, average="macro"),
        "ROC AUC": roc_auc_score(y_test == "malignant", scores),
    }
    for name, value in expected.items():
        assert row(page, table, name)[1] == f"{value:.4f}"
    area = evaluate_predictions(y_test, predicted, model.classes_, scores).overall["ROC AUC"]
    assert row(page, table, "ROC AUC")[2:4] == [f"{area.low:.4f}", f"{area.high:.4f}"]
    assert f"Average precision is {average_precision_score(y_test == 'malignant', scores):.4f}" in page.text
    matrix = [cells[1:] for cells in page.tables["Confusion matrix"][1:]]
    found = [[0 if cell == "·" else int(cell) for cell in cells] for cells in matrix]
    assert found == confusion_matrix(y_test, predicted).tolist()


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_the_numbers_of_several_classes_are_those_of_scikit_learn(digits, report, scheme):
    X, X_test, y, y_test = digits
    model = SVC(C=10.0, multi_class=scheme).fit(X, y)
    page = Page(report(model, X_test, y_test))
    predicted, scores = model.predict(X_test), model.decision_function(X_test)
    parts = precision_recall_fscore_support(y_test, predicted)
    one_hot = label_binarize(y_test, classes=model.classes_)
    for k, label in enumerate(model.classes_):
        cells = row(page, "Measures class by class", str(label))
        expected = [*(part[k] for part in parts[:3]), roc_auc_score(one_hot[:, k], scores[:, k]),
                    average_precision_score(one_hot[:, k], scores[:, k])]  # fmt: skip
        assert [cells[i] for i in (2, 4, 6, 7, 8)] == [f"{value:.4f}" for value in expected]
        assert int(cells[1]) == (y_test == label).sum()
    macro = roc_auc_score(one_hot, scores, average="macro")
    assert f"area under the ROC curve {macro:.4f}" in page.text
    assert page.facts["In short"]["ROC AUC"].startswith(f"{macro:.4f}")
    assert ("one-vs-one" if scheme == "ovo" else "one-vs-rest") in page.facts["The fitted model"]["classes"]


def test_the_water_of_two_classes_is_the_hinge_loss(cancer, report):
    X, X_test, y, y_test = cancer
    model = SVC().fit(X, y)
    facts = Page(report(model, X_test, y_test)).facts["Water"]
    margins = np.where(y_test == "malignant", 1, -1) * model.decision_function(X_test)
    assert facts["slack an example (mean hinge loss)"] == f"{np.maximum(0, 1 - margins).mean():.3g}"
    assert facts["under water"].startswith(f"{(margins < 1).sum()} ")
    assert facts["on the wrong side"].startswith(f"{(margins < 0).sum()} ")
    level = float(facts["level that this slack reaches here"])
    slack = float(facts["slack in training, an example of weight 1"])
    assert np.maximum(0, level - margins).mean() == pytest.approx(slack, rel=0.02)


@pytest.mark.parametrize(
    "model",
    [
        SVC(), SVC(kernel="linear", C=0.1), SBPClassifier(0.02, gamma=0.03, max_iter=500),
        SBPClassifier(0.05, kernel="linear", fit_intercept=True, max_iter=500), SIMBAClassifier(0.1, max_iter=2000),
        PegasosClassifier(1e-2, max_iter=2000), SMOClassifier(),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.kernel}",
)  # fmt: skip
def test_the_slack_in_training_is_the_mean_hinge_loss_of_the_training_examples(cancer, model):
    X, _, y, _ = cancer
    subject = see(fitted(model, X, y), X, y, 0.95)
    assert training_slack(subject) == pytest.approx(np.maximum(0, 1 - subject.margins).mean(), rel=1e-4)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_the_slack_of_each_problem_is_that_of_its_own_decision_values(digits, scheme):
    X, X_test, y, y_test = digits
    model = SVC(multi_class=scheme).fit(X, y)
    subject = see(model, X_test, y_test, 0.95)
    assert len(subject.problems) == (45 if scheme == "ovo" else 10)
    if scheme == "ovo":
        values = SVC(decision_function_shape="ovo").fit(X, y).decision_function(X_test)
        of_pair = np.isin(y_test, (3, 9))
        number = subject.scheme.problem_names.index("3 against 9")
        margins = np.where(y_test == 3, 1, -1)[of_pair] * values[of_pair, number]
    else:
        number = 3
        margins = np.where(y_test == 3, 1, -1) * model.decision_function(X_test)[:, 3]
    problem = subject.problems[number]
    assert (problem.n, problem.wet, problem.wrong) == (len(margins), (margins < 1).sum(), (margins < 0).sum())
    assert problem.slack == pytest.approx(np.maximum(0, 1 - margins).sum())
    worst = subject.problems[subject.worst_problem]
    assert np.maximum(0, 1 - subject.worst).sum() == pytest.approx(worst.slack)
    right = model.predict(X_test) == y_test
    assert right[subject.margins > 0].all()
    if scheme == "ovr":
        assert np.array_equal(right, subject.margins > 0)


def test_margins_do_not_depend_on_how_many_rows_are_looked_at_at_a_time(digits, monkeypatch):
    X, X_test, y, y_test = digits
    model = SVC().fit(X, y)
    whole = see(model, X_test, y_test, 0.95)
    monkeypatch.setattr("slackwater.report.subject._ROWS_AT_ONCE", 37)
    monkeypatch.setattr("slackwater.report.subject._MAX_VALUES", 500)
    parts = see(model, scipy.sparse.coo_matrix(X_test), y_test, 0.95)
    assert parts.margins == pytest.approx(whole.margins, abs=1e-6)
    assert parts.worst == pytest.approx(whole.worst, abs=1e-6)
    assert [p[:4] for p in parts.problems] == [p[:4] for p in whole.problems]


# ---- structure


MODELS = {
    "SVC": SVC(),
    "SVC one-vs-rest": SVC(multi_class="ovr"),
    "SVC linear with ties broken": SVC(kernel="linear", break_ties=True),
    "SBP": SBPClassifier(0.05, max_iter=200),
    "SBP without a margin": SBPClassifier(0.0, kernel="linear", max_iter=2),
    "Pegasos": PegasosClassifier(max_iter=500),
    "Perceptron": KernelPerceptron(),
    "Fourier": FourierSVC(n_pairs=32),
    "SIMBA": SIMBAClassifier(max_iter=200),
}


@pytest.mark.parametrize("problem", ["two", "several"])
@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_has_every_section(name, problem, cancer, digits, report):
    X, X_test, y, y_test = cancer if problem == "two" else digits
    content = report(fitted(MODELS[name], X, y), X_test, y_test)
    page = Page(content)
    assert list(page.sections) == SECTIONS
    assert {found["href"] for tag, found in page.tags if tag == "a"} == {f"#{anchor}" for anchor in SECTIONS}
    assert page.count("h1") == 1
    assert page.count("polyline", "line") >= 2
    for tag, found in page.tags:
        if tag == "svg":
            assert found.get("aria-label") or found.get("aria-hidden") == "true"
    numbers = re.findall(r'(?:points|d|x|y|x1|x2|y1|y2|cx|cy|width|height)="([^"]*)"', content)
    assert not any("nan" in each or "inf" in each for each in numbers)
    ids = [found["id"] for _, found in page.tags if "id" in found]
    assert len(ids) == len(set(ids))


def test_the_page_loads_nothing_and_runs_nothing(cancer, report):
    X, X_test, y, y_test = cancer
    content = report(SVC().fit(X, y), X_test, y_test)
    page = Page(content)
    assert not {"script", "link", "img", "iframe", "object", "image", "use"} & {tag for tag, _ in page.tags}
    assert not re.search(r"https?:|//[a-z]|@import|url\(", content)
    assert all(found["href"].startswith("#") for _, found in page.tags if "href" in found)
    assert not any(name.startswith("on") for _, found in page.tags for name in found)
    assert len(content) < 300_000


def test_sections_that_a_model_has_nothing_for_say_why(cancer, digits, report, tmp_path):
    X, X_test, y, y_test = digits
    model = SVC().fit(X, y)
    model.to_libsvm(tmp_path / "model")
    page = Page(report(slackwater.load(tmp_path / "model"), X_test, y_test))
    for anchor in ("convergence", "decisions", "certificate"):
        assert "LIBSVM's text" in page.sections[anchor]
    assert "relative gap" not in page.facts["In short"]
    page = Page(report(model, X_test, y_test))
    assert "assessed once" in page.sections["convergence"]
    X, X_test, y, y_test = cancer
    page = Page(report(KernelPerceptron().fit(X, y), X_test, y_test))
    assert "has no margin" in page.sections["water"]
    assert "does not bound" in page.sections["certificate"]
    assert "nothing to decide" in page.sections["decisions"]
    page = Page(report(FourierSVC().fit(X, y), X_test, y_test))
    assert "keeps no history" in page.sections["convergence"]


def test_a_model_says_how_near_it_is_and_whether_that_is_proven(cancer, report):
    X, X_test, y, y_test = cancer
    model = SVC(tol=1e-2).fit(X, y)
    page = Page(report(model, X_test, y_test))
    assert "This is a proof" in page.sections["certificate"]
    assert page.facts["Certificate"]["proven (certified_)"] == "yes"
    model.certified_, model.gap_, model.strategy_ = False, 0.02, "screening"
    page = Page(report(model, X_test, y_test))
    assert "This is an estimate" in page.sections["certificate"]
    assert "at most 2.00\u00a0% lower" in page.sections["certificate"]
    page = Page(report(model.compress(max_support=5), X_test, y_test))
    assert "compressed after training" in page.sections["certificate"]
    with pytest.warns(UserWarning, match="semi-definite"):
        model = SVC(kernel="sigmoid", gamma=0.1).fit(X, y)
    assert "not positive semi-definite" in Page(report(model, X_test, y_test)).sections["certificate"]


def test_convergence_is_drawn_where_there_is_a_history(cancer, report):
    X, X_test, y, y_test = cancer
    model = fitted(SBPClassifier(0.02, max_iter=300, early_stopping=True), X, y)
    page = Page(report(model, X_test, y_test))
    assert "Relative gap" in page.sections["convergence"]
    assert "Hold-out error" in page.sections["convergence"]
    assert f"{model.n_kernel_evals_:,} kernel evaluations" in page.sections["convergence"]


def test_decisions_are_those_of_the_fit(digits, report):
    X, X_test, y, y_test = digits
    model = SVC().fit(X, y)
    rows = Page(report(model, X_test, y_test)).tables["Decisions"][1:]
    assert [(cells[0], cells[1], cells[2]) for cells in rows] == [
        (each.strategy, each.measured, each.outcome) for each in model.decisions_
    ]


def test_parameters_that_are_not_the_default_are_in_bold(cancer, report):
    X, X_test, y, y_test = cancer
    content = report(SVC(C=3.5, gamma=0.03, max_iter=10_000).fit(X, y), X_test, y_test)
    bold = re.findall(r"<td class=\"word\"><strong>(.*?)</strong>", content)
    assert bold == ["3.5", "0.03"]


def test_classes_without_examples_have_no_curve(digits, report):
    X, X_test, y, y_test = digits
    few = y_test < 3
    page = Page(report(SVC().fit(X, y), X_test[few], y_test[few]))
    assert "7 classes have no examples here" in page.sections["curves"]
    assert row(page, "Measures class by class", "7")[4:9] == ["–", "", "–", "–", "–"]
    one = y_test == 4
    page = Page(report(SVC().fit(X, y), X_test[one], y_test[one]))
    assert "All examples are of one class" in page.sections["curves"]


def test_one_example_is_enough(cancer, report):
    X, X_test, y, y_test = cancer
    page = Page(report(SVC().fit(X, y), X_test[:1], y_test[:1]))
    assert list(page.sections) == SECTIONS


def test_many_classes_are_listed_instead_of_drawn(report):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, 5))
    y = np.repeat(np.arange(40), 8)
    X = centres[y] + 0.5 * rng.normal(size=(len(y), 5))
    page = Page(report(SVC().fit(X, y), X, y))
    assert "could not be read" in page.sections["confusion"]
    assert len(page.tables["Most frequent confusions"]) <= 21


# ---- hostile and odd input


@pytest.mark.parametrize("n_classes", [2, 3])
def test_whatever_comes_from_users_stays_text(n_classes, report):
    pandas = pytest.importorskip("pandas")
    attack = "<script>alert('x')</script>\"&"
    rng = np.random.default_rng(0)
    labels = np.array([attack, "</td></table><img src=x onerror=alert(1)>", "ordinary"])[:n_classes]
    y = labels[np.arange(90) % n_classes]
    X = rng.normal(size=(90, 2)) + 2.0 * (np.arange(90) % n_classes)[:, None]
    frame = pandas.DataFrame(X, columns=[attack, "<b>b</b>"])
    model = SVC(class_weight={attack: 2.0}).fit(frame, y)
    content = report(model, frame, y, title=f"</title>{attack}")
    page = Page(content)
    assert not {"script", "img", "b"} & {tag for tag, _ in page.tags}
    assert content.count("<title>") >= 1
    assert attack in page.text
    assert any(attack in found.get("title", "") for _, found in page.tags)  # of the confusion matrix


def test_long_labels_are_shortened(report):
    y = np.array(["a" * 5000, "b"])[np.arange(40) % 2]
    X = np.arange(40)[:, None] % 2 + np.linspace(0, 0.3, 40)[:, None]
    assert "a" * 201 not in report(SVC().fit(X, y), X, y)


def test_numbers_that_are_labels_may_come_as_other_types(cancer, report):
    X, X_test, y, y_test = cancer
    model = SVC().fit(X, (y == "benign").astype(int))
    first = report(model, X_test, (y_test == "benign").astype(float))
    second = report(model, X_test, list((y_test == "benign").astype(np.int8)))
    assert Page(first).tables["Confusion matrix"] == Page(second).tables["Confusion matrix"]


def test_a_precomputed_kernel_is_reported_too(cancer, report):
    X, X_test, y, y_test = cancer
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    page = Page(report(model, X_test @ X.T, y_test))
    assert row(page, "Measures over all classes", "Accuracy")[1] == f"{model.score(X_test @ X.T, y_test):.4f}"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": ["other"] * 10}, "y must have labels of the model's classes \\(benign, malignant\\), got other"),
        ({"y": ["benign"] * 9}, "one label for each row of X"),
        ({"X": np.empty((0, 30)), "y": []}, "one row at least"),
        ({"confidence": 1.0}, "confidence must be from 0.5 to below 1, got 1.0"),
    ],
)
def test_mistakes_are_named_and_leave_no_file(cancer, tmp_path, change, words):
    X, X_test, y, y_test = cancer
    arguments = {"X": X_test[:10], "y": y_test[:10], "path": tmp_path / "report.html"} | change
    with pytest.raises(ValueError, match=words):
        SVC().fit(X, y).report(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_named_before_the_work(cancer, tmp_path):
    X, _, y, _ = cancer
    model = SVC().fit(X, y)
    with pytest.raises(FileNotFoundError, match="folder that exists"):
        model.report(None, None, tmp_path / "nowhere" / "report.html")


def test_an_interrupted_report_leaves_the_old_page(cancer, tmp_path, monkeypatch):
    X, X_test, y, y_test = cancer
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("slackwater.report.page.environment", lambda subject: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        SVC().fit(X, y).report(X_test, y_test, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        SVC().report([[1.0]], [1], tmp_path / "report.html")
