-- Mail domains of key holders. A claim becomes the holder of its name when it is verified, and is not pending from then on.
create table own_domain (
  id            text    primary key,
  key_id        text    not null,
  name          text    not null,
  token         text    not null, -- of its TXT record
  state         text    not null, -- pending, active or suspended
  reason        text,             -- of the state
  created_at    integer not null,
  verified_at   integer,
  checked_at    integer,
  missing_since integer,          -- the TXT record
  lapsed_since  integer,          -- the key
  catch_all     integer not null default 1,
  taken         integer not null default 0, -- mails
  refused       integer not null default 0,
  unique (key_id, name)
) strict;
create unique index own_domain_holder on own_domain (name) where state <> 'pending';

alter table mail_domain add column owner text;  -- the key that holds it; null: the operator's

alter table session add column own_domain text; -- the name, if its address is at a domain of its key
create index session_of_own_domain on session (own_domain) where own_domain is not null;

-- Mail of mailboxes that do not expire, which is deleted by its own age.
alter table message add column permanent integer; -- 1, or null
create index message_permanent on message (mailbox, recipient, id) where permanent is not null;
create index message_permanent_age on message (received_at) where permanent is not null;

-- Of all mail at domains of the key. Counted where the version is: whatever changes the mail of a session changes its version.
alter table key_view add column own_bytes integer not null default 0;
drop trigger session_seen;
create trigger session_seen after update of version, token_hash on session
when new.key_id is not null
begin
  insert into key_view (key_id, version, own_bytes)
  values (new.key_id, 1, iif(new.own_domain is null, 0, new.bytes - old.bytes))
  on conflict (key_id) do update set version = version + 1, own_bytes = own_bytes + excluded.own_bytes;
end;
