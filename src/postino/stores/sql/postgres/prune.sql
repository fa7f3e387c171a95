SELECT postino.make_partitions(9) AS made,
       postino.drop_partitions('finished', coalesce(:now::timestamptz, now()) - make_interval(days => :finished_days))
     + postino.drop_partitions('attempts', coalesce(:now::timestamptz, now()) - make_interval(days => :finished_days))
     + postino.drop_partitions('events', coalesce(:now::timestamptz, now()) - make_interval(days => :event_days)) AS pruned
