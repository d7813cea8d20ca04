"""Tables in files, as people have them: CSV of any kind, Parquet, Feather, Excel, Stata, SPSS and SAS."""
