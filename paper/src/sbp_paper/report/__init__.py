"""The reproduction as a page, tables and a figure, drawn from stored records only: nothing is computed anew here."""
