"""Types of API requests and responses: plain dicts, one `<Noun>View` for each response object.

The API renders these types and openapi.json describes them. Describe every field with `Annotated[type, Doc("…")]`:
the text becomes the field's description in openapi.json.
"""
