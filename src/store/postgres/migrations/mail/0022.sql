-- Mail domains of key holders. A claim becomes the holder of its name when it is verified, and is not pending from then on.
create table mail.own_domain (
  id            text    collate "C" primary key,
  key_id        text    collate "C" not null,
  name          text    collate "C" not null,
  token         text    not null, -- of its TXT record
  state         text    not null, -- pending, active or suspended
  reason        text,             -- of the state
  created_at    bigint  not null,
  verified_at   bigint,
  checked_at    bigint,
  missing_since bigint,           -- the TXT record
  lapsed_since  bigint,           -- the key
  catch_all     boolean not null default true,
  taken         bigint  not null default 0, -- mails
  refused       bigint  not null default 0,
  unique (key_id, name)
);
create unique index own_domain_holder on mail.own_domain (name) where state <> 'pending';

alter table mail.mail_domain add column owner text collate "C";  -- the key that holds it; null: the operator's

alter table mail.session add column own_domain text collate "C"; -- the name, if its address is at a domain of its key
create index session_of_own_domain on mail.session (own_domain) where own_domain is not null;

-- Mail of mailboxes that do not expire, which is deleted by its own age.
alter table mail.message add column permanent boolean; -- true, or null
create index message_permanent on mail.message (mailbox, recipient, id) where permanent is not null;
create index message_permanent_age on mail.message (received_at) where permanent is not null;

-- Of all mail at domains of the key. Counted where the version is: whatever changes the mail of a session changes its version.
alter table mail.key_view add column own_bytes bigint not null default 0;
create or replace function mail.note_seen() returns trigger language plpgsql as $$
begin
  insert into mail.key_view as view (key_id, version, own_bytes)
  values (new.key_id, 1, case when new.own_domain is null then 0 else new.bytes - old.bytes end)
  on conflict (key_id) do update
  set version = view.version + 1, own_bytes = view.own_bytes + excluded.own_bytes;
  return null;
end
$$;
