"""sklearn/svm/tests/test_sparse.py with our SVC."""

from peers.scikit_learn import load, tests_of

globals().update(tests_of(load("test_sparse")))
