"""How fast Spark reads, archives and writes streams; see bench/README.md."""
