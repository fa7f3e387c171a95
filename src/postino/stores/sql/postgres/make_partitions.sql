SELECT postino.make_partitions(9) AS made
