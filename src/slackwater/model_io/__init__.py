"""Models as files, one format a file: our own archives, LIBSVM's text, ONNX.

What is written and read here are plain descriptions of models (``model.py``). Estimators turn themselves into these and
back (``estimators/portable.py``), so that no format knows an estimator's class.
"""
