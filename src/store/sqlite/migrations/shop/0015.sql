-- Sign-ins to the admin page, by the hash of their cookie.
create table admin_session (
  hash       text    primary key,
  expires_at integer not null
) strict, without rowid;
