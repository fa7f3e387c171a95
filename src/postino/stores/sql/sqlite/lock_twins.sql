-- There is one writer: nobody to wait for.
SELECT 1 WHERE json_array_length(:names) < 0
