"""What a field holds, and the columns that are made of it.

schema.py, entry_columns.py     the columns of the source, and those that tell about the entry
pairs.py                        fields as they came: every name and value, in order
values.py, nested.py            bytes to typed columns, flat ones and records
payloads.py                     fields that hold Avro, Protobuf or JSON
exact.py, canonical.py          rows from which the entry can be made again, to the byte
"""
