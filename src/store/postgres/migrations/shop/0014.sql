-- Up to this id it is known whether mail has expired undelivered: then it is in gap_since. Webhooks from before begin now.
alter table shop.webhook add column checked_id bigint not null default 0;
update shop.webhook set checked_id = extract(epoch from now())::bigint * 1000 * 1024;
