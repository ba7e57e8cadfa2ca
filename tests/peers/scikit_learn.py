"""scikit-learn's own tests of its SVC, loaded from the installed package with our class in SVC's place."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn import svm
from sklearn.base import BaseEstimator

from slackwater import SVC

_NAMED = re.compile(r"\bsvm\.SVC\b")


class _WithOurs(ModuleType):
    """``sklearn.svm`` as a test sees it."""

    SVC = SVC

    def __getattr__(self, name: str) -> Any:
        return getattr(svm, name)


def load(name: str) -> ModuleType:
    """A module of ``sklearn/svm/tests``, whose ``svm.SVC`` is ours: when it is imported and when its tests run."""
    path = Path(svm.__file__).parent / "tests" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"slackwater_peers_{name}", path)
    module = importlib.util.module_from_spec(spec)
    theirs = svm.SVC
    svm.SVC = SVC  # parameters of tests are made while the module is imported
    try:
        spec.loader.exec_module(module)
    finally:
        svm.SVC = theirs
    module.svm = _WithOurs("svm")
    return module


def tests_of(module: ModuleType) -> dict[str, Any]:
    """Its test functions that name SVC, by name."""
    found = {name: value for name, value in vars(module).items() if name.startswith("test_")}
    return {name: test for name, test in found.items() if inspect.isfunction(test) and _NAMED.search(_source(test))}


def is_about_svc(item: Any) -> bool:
    """Whether a collected test has to do with SVC: it is given the class or a model, or its body names it."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    classes = [p if isinstance(p, type) else type(p) for p in parameters]
    estimators = [c for c in classes if issubclass(c, BaseEstimator)]
    if estimators:
        return SVC in estimators
    source = _source(item.function)
    return bool(_NAMED.search(source, source.index("def ")))


def _source(test: Any) -> str:
    return inspect.getsource(test)
