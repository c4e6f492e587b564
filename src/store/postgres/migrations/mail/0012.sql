-- What each node counted in a minute, and in an hour once its minutes are rolled up: see core/series.ts.
create table mail.series (
  name    text    collate "C" not null,
  seconds integer not null, -- 60 or 3600
  at      bigint  not null,
  node    text    collate "C" not null, -- empty: of the whole installation
  counts  text    not null, -- JSON: numbers by label
  primary key (name, seconds, at, node)
);
