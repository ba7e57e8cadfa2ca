"""Which of scikit-learn's own tests do not hold for our SVC, each with the reason."""

from __future__ import annotations

# By the beginning of a test's name with its parameters. Each is expected to fail: one that passes is an error, too, so
# that the list cannot outlive its reasons.
DO_NOT_HOLD = {
    "test_tweak_params": "writes to a private attribute, _dual_coef_, and expects predictions to follow it",
    "test_svc_raises_error_internal_representation": "writes to a private attribute, _n_support",
    "test_libsvm_convergence_warnings": "expects two steps not to suffice: ours move whole working sets, and one does",
    "test_timeout": "expects one step not to suffice: ours move whole working sets, and one does",
    "test_bad_input": "expects sparse rows to be refused by a model of dense ones: ours predicts them",
    "test_svc_nonfinite_params": "expects an error after training: values near 1e308 are refused before it, by name",
    "test_custom_kernel_not_array_input": "its kernel is right for square blocks only, which is refused with a remedy",
    "test_precomputed": "compares dual variables of two ways to train to six digits: ours stop at 1e-3, as LIBSVM does",
    "test_probability_raises_futurewarning": "expects probability to be deprecated: here it stays",
    "test_svc_nusvc_probA_probB_deprecated": "expects Platt's parameters: CalibratedClassifierCV has its own",
}


def reason_not_to_hold(name: str) -> str | None:
    """Why a test, by its name with parameters, does not hold; None if it has to."""
    return next((reason for start, reason in DO_NOT_HOLD.items() if name.split("[")[0] == start), None)
