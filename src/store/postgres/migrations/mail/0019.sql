-- Chosen by the owner of the session; null: none.
alter table mail.session add column label text;

-- Live sessions of a key, in the order in which they are listed.
create index session_listed on mail.session (key_id, id)
where key_id is not null and token_hash is not null and not cleared;
