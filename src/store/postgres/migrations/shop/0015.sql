-- Sign-ins to the admin page, by the hash of their cookie.
create table shop.admin_session (
  hash       text   collate "C" primary key,
  expires_at bigint not null
);
