-- Since when a webhook is paused by its holder; null if it is not.
alter table shop.webhook add column paused_at bigint;
-- How often its holder has changed it.
alter table shop.webhook add column changes integer not null default 0;
