-- Shared mailboxes count bytes as stored, and how much of each a sender's network holds.

alter table mail.message
  add column stored integer,                 -- bytes at intake; only in shared mailboxes
  add column sender_network text collate "C"; -- whose share it counts towards; null where there is none

-- As senderNetwork of core/ip.ts writes it.
create function mail.sender_network(client_ip text) returns text language plpgsql immutable as $$
declare
  ip inet;
begin
  ip := split_part(client_ip, '%', 1)::inet;
  if family(ip) = 6 and ip << '::ffff:0:0/96' then
    ip := '0.0.0.0'::inet + (ip - '::ffff:0:0'::inet);
  end if;
  return case family(ip) when 4 then host(ip) else network(set_masklen(ip, 48))::text end;
exception when invalid_text_representation then
  return 'unknown';
end
$$;

update mail.message
set stored = octet_length(zstd), sender_network = sender.network
from mail.raw_mail as raw join (
  select client_ip, mail.sender_network(client_ip) as network
  from (select distinct client_ip from mail.raw_mail) as known
) as sender using (client_ip)
where mailbox <= 2 and raw.bucket = message.bucket and raw.serial = message.serial;

drop function mail.sender_network;

create table mail.sender_share (
  sender_network text    collate "C",
  mailbox        bigint,
  count          integer not null,
  bytes          bigint  not null,
  primary key (sender_network, mailbox)
) with (fillfactor = 50);

insert into mail.sender_share (sender_network, mailbox, count, bytes)
select sender_network, mailbox, count(*), sum(stored)
from mail.message join mail.shared_mailbox as box on box.id = mailbox
where mailbox <= 2 and sender_network is not null
  and not (received_at <= box.gone_at and message.id <= box.gone_id)
group by sender_network, mailbox;

update mail.shared_mailbox as box set bytes = (
  select coalesce(sum(stored), 0) from mail.message
  where mailbox = box.id and not (received_at <= box.gone_at and message.id <= box.gone_id)
);
