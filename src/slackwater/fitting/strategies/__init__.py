"""The strategies of ``SVC``: peers, tried in the order that ``fitting/fit.py`` states.

- ``low_rank``: a linear kernel of few features. The dual by an interior-point method on the features.
- ``sparse_kernel``: a kernel that is narrow compared with the spread of the data. The dual on sparse rows.
- ``subspace``: noisy labels or a smooth kernel. The best function in the span of some hundred landmarks.
- ``screening``: a sample's solution grows with the examples; those far beyond the margin are set aside.
- ``exact``: the dual over all examples.

``attempt`` returns models, or None where a measurement, recorded as a decision, speaks against the strategy.
"""
