-- Since when a webhook is paused by its holder; null if it is not.
alter table shop.webhook add column paused_at bigint;
