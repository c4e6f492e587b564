-- By this the sweep finds lines that are due, whatever a wrong clock dated before them.
create index mail_log_time on mail.mail_log (logged_at);

-- Addresses that were forgotten: lines about them until this time, which a node has yet to write, are not stored.
create table mail.mail_log_forgotten (
  hash            text   collate "C" primary key,
  forgotten_until bigint not null
);
