"""The contents of fields, and the columns that are made of them.

schema.py, entry_columns.py     the columns of the source, and those about the entry itself
pairs.py                        fields as they arrived: every name and value, in order
values.py, nested.py            bytes to typed columns, flat ones and records
payloads.py                     fields that hold Avro, Protobuf or JSON
exact.py, canonical.py          rows from which the entry can be rebuilt, byte for byte
"""
