"""Where the documentation of an estimator is: scikit-learn puts a link to it on the page that shows one."""

from __future__ import annotations

from typing import ClassVar

_PAGES = "https://slackwater.readthedocs.io/en/latest/generated/{estimator_module}.{estimator_name}.html"


class Documented:
    """An estimator with a page of its own, under its public name."""

    _doc_link_module: ClassVar[str] = "slackwater"
    _doc_link_template: ClassVar[str] = _PAGES

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        is_baseline = ".baselines." in type(self).__module__
        return {
            "estimator_module": "slackwater.baselines" if is_baseline else "slackwater",
            "estimator_name": type(self).__name__,
        }
