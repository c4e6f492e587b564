-- Messages are one table, and only raw mail is partitioned: see docs/decisions/0039-one-sql-for-mail.md. A message names its raw mail as
-- the program does, by bucket * 2^38 + serial. Nodes of earlier versions fail from here on: senders retry. Should one still run, its
-- mail is waited for: what it commits after the copy below would be lost.
select pg_advisory_xact_lock(1296125281, 2);
lock table mail.session, mail.shared_mailbox, mail.raw_mail, mail.message in access exclusive mode;

create table mail.message_plain (
  mailbox        bigint  not null,
  id             bigint  not null,
  raw_id         bigint  not null,
  recipient      text    collate "C" not null,
  sender_name    text    not null,
  sender_email   text    not null,
  subject        text    not null,
  received_at    bigint  not null,
  size           integer not null,
  key_id         text    collate "C", -- of the key that the mailbox's session was created with
  stored         integer,             -- bytes at intake; only in shared mailboxes
  sender_network text    collate "C", -- whose share it counts towards; null where there is none
  code           text,                -- the likeliest one; '' if it has none, null until it was scanned
  preview        text,
  attachments    integer
) with (autovacuum_vacuum_scale_factor = 0.05); -- rows are deleted as fast as they are inserted

-- Without mail that has expired and was waiting for its partition to be dropped.
insert into mail.message_plain
select mailbox, message.id, (message.bucket::bigint << 38) + serial, recipient, sender_name, sender_email, subject,
  received_at, size, message.key_id, stored, sender_network, code, preview, attachments
from mail.message
left join mail.session on session.id = mailbox and session.bucket = message.bucket and not cleared
left join mail.shared_mailbox as box on box.id = mailbox and not (received_at <= gone_at and message.id <= gone_id)
where session.id is not null or box.id is not null;

-- The mail left out above is dropped with its partition; the last one is never dropped.
update mail.raw_mail as raw set refs = found.refs
from (
  select serial, count(message.raw_id) as refs from mail.raw_mail
  left join mail.message_plain as message on message.raw_id = (32767::bigint << 38) + serial
  where bucket = 32767 group by serial
) as found
where raw.bucket = 32767 and raw.serial = found.serial and raw.refs <> found.refs;
delete from mail.raw_mail where bucket = 32767 and refs = 0;

drop table mail.message;
alter table mail.message_plain rename to message;
alter table mail.message add primary key (mailbox, id);
create index message_of_key on mail.message (key_id, id) where key_id is not null;
create index message_in_pool on mail.message (recipient, id) where mailbox <= 1;
-- Whether a partition of raw mail is still needed.
create index message_raw on mail.message (raw_id) where mailbox <= 2;

alter table mail.session drop column bucket;
alter table mail.shared_mailbox drop column buckets, drop column gone_at, drop column gone_id;
