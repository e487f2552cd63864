"""Facts for Prometheus, under the names that redis_exporter uses."""
