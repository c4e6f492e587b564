-- Shared mailboxes count bytes as stored, and how much of each a sender's network holds.

alter table message add column stored integer;      -- bytes at intake; only in shared mailboxes
alter table message add column sender_network text; -- whose share it counts towards; null where there is none

update message
set stored = coalesce((select length(zstd) from raw_bytes where raw_id = message.raw_id), size),
  sender_network = (select sender_network(client_ip) from raw_mail where raw_mail.id = message.raw_id)
where mailbox <= 2;

update shared_mailbox
set bytes = (select coalesce(sum(stored), 0) from message where mailbox = shared_mailbox.id);

create table sender_share (
  sender_network text    not null,
  mailbox        integer not null,
  count          integer not null,
  bytes          integer not null,
  primary key (sender_network, mailbox)
) strict, without rowid;

insert into sender_share (sender_network, mailbox, count, bytes)
select sender_network, mailbox, count(*), sum(stored) from message
where mailbox <= 2 and sender_network is not null group by sender_network, mailbox;
