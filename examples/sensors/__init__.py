"""Sensors: windows by Spark, alerts by a worker."""
