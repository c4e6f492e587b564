-- What each node counted in a minute, and in an hour once its minutes are rolled up: see core/series.ts.
create table series (
  name    text    not null,
  seconds integer not null, -- 60 or 3600
  at      integer not null,
  node    text    not null, -- empty: of the whole installation
  counts  text    not null, -- JSON: numbers by label
  primary key (name, seconds, at, node)
) strict, without rowid;
