"""Data as people have them: svmlight, CSV and TSV, Parquet, NumPy's files."""

from slackwater.data_io.read import FORMATS, format_of, read_data
from slackwater.data_io.table import LabelledData

__all__ = ["FORMATS", "LabelledData", "format_of", "read_data"]
