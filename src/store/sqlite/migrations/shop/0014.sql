-- Up to this id it is known whether mail has expired undelivered: then it is in gap_since. Webhooks from before begin now.
alter table webhook add column checked_id integer not null default 0;
update webhook set checked_id = unixepoch() * 1000 * 1024;
