-- Since when a webhook is paused by its holder; null if it is not.
alter table webhook add column paused_at integer;
-- How often its holder has changed it.
alter table webhook add column changes integer not null default 0;
